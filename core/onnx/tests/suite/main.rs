//! The page about ONNX models, and what no device is needed for: limits, mistakes, and numbers that the interpreter computes. The standard's own data are tested on devices, in
//! `nn/tests/suite/onnx.rs`.

mod functions;
mod limits;
mod mistakes;
mod models;
mod numbers;

use girih_onnx::operators::reference;

#[test]
fn the_page_lists_the_operators() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/onnx.md");
    let page = std::fs::read_to_string(path).expect(path);
    let mark = "<!-- made from core/onnx/src/operators/mod.rs -->\n";
    let (before, _) = page.split_once(mark).expect("the page has a list");
    let wanted = format!("{before}{mark}\n{}", reference());
    if std::env::var_os("GIRIH_BLESS").is_some() {
        std::fs::write(path, &wanted).expect(path);
    }
    assert!(page == wanted || std::env::var_os("GIRIH_BLESS").is_some(), "write it anew with GIRIH_BLESS=1");
}

//! The page about tensors has the table of operations as it is.

use girih_tensor::ops::reference;

#[test]
fn the_reference_is_made_from_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tensors.md");
    let page = std::fs::read_to_string(path).expect(path);
    let (before, _) = page.split_once("## Reference\n\n").expect("the page has a reference");
    let wanted = format!("{before}## Reference\n\n{}", reference());
    if std::env::var_os("GIRIH_BLESS").is_some() {
        std::fs::write(path, &wanted).expect(path);
    }
    assert!(page == wanted || std::env::var_os("GIRIH_BLESS").is_some(), "write it anew with GIRIH_BLESS=1");
}

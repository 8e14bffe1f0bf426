//! The page about Triton lists what the tables list.

use std::path::Path;

const BEGIN: &str = "<!-- the list: begin -->\n";
const END: &str = "<!-- the list: end -->";

#[test]
fn the_page_lists_what_kernels_can_call() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/triton.md");
    let text = std::fs::read_to_string(&path).expect("docs/triton.md can be read");
    let begin = text.find(BEGIN).expect("the list begins") + BEGIN.len();
    let end = text.find(END).expect("the list ends");
    let wanted = format!("{}{}{}", &text[..begin], girih_triton::reference(), &text[end..]);
    if std::env::var_os("GIRIH_BLESS").is_some() {
        std::fs::write(&path, wanted).expect("docs/triton.md can be written");
    } else {
        assert!(text == wanted, "docs/triton.md does not list what the tables do; GIRIH_BLESS=1 writes it anew");
    }
}

//! The sessions in `tests/cli`: what the command prints and how it exits. `TRYCMD=overwrite cargo test -p girih-cli` writes
//! what it prints now into them.

#[test]
fn sessions() {
    trycmd::TestCases::new().case("../tests/cli/*.md");
}

//! The `girih` command.
fn main() {}

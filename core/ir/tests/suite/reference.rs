//! The reference describes every operation.

use girih_ir::Op;
use girih_ir::reference::{form, markdown};

#[test]
fn every_operation_stands_in_it_once() {
    let text = markdown();
    for op in Op::ALL {
        let start = format!("| `{}`", form(op.row()));
        assert_eq!(text.lines().filter(|l| l.starts_with(&start)).count(), 1, "{}", op.name());
    }
    assert_eq!(
        text.lines().find(|l| l.starts_with("| `load")).map(|l| l.split('|').nth(1)),
        Some(Some(" `load.T memory[index] -> T` "))
    );
}

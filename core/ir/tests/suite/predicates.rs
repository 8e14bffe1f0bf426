//! Facts about operations agree with the rows of the table.

use girih_ir::Op;
use girih_ir::ops::{Effect, Pattern};

#[test]
fn terminators_are_control_that_gives_nothing() {
    for op in Op::ALL {
        let row = op.row();
        assert_eq!(op.is_terminator(), row.effect == Effect::Control && row.results.is_empty(), "{}", op.name());
    }
}

#[test]
fn what_writes_memory_has_an_effect_that_says_so() {
    for op in Op::ALL {
        let row = op.row();
        let stores = row.effect == Effect::Atomic && row.operands.len() > 2;
        let (must, may) = (row.effect == Effect::Write || stores, row.effect == Effect::Sync);
        let names_one = row.operands.iter().any(|p| matches!(p, Pattern::Memory(_)));
        assert!(op.writes_memory() == must || may && names_one, "{}", op.name());
    }
}

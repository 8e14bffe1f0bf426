//! Which values are the memory of opened cells.

use girih_base::span::Span;
use girih_ir::Builder;
use girih_ir::heap::LayoutId;
use girih_ir::{Function, Op, Type};
use girih_task::forkjoin::pointers::holes;
use std::collections::HashSet;

#[test]
fn holes_are_followed_through_choices() {
    let mut function = Function::new("f", Span::NONE);
    let cell = function.param("cell", Type::Term, Default::default());
    let mut b = Builder::new(function);
    let (hole, fields) = b.cell_open(LayoutId::new(0), &[Type::Term], cell);
    let condition = b.bool(true);
    let arms = b.if_else(
        condition,
        &[Type::Term, Type::Term],
        |b| b.end(Op::Yield, &[hole, fields[0]]),
        |b| {
            let none = b.no_reuse_token();
            b.end(Op::Yield, &[none, fields[0]]);
        },
    );
    b.end(Op::Return, &[]);
    let found = holes(&b.function);
    assert_eq!(found, HashSet::from([hole, arms[0]]));
}

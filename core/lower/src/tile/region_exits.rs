//! Where the ends of regions go: what the operands of a jump become.

use girih_ir::groups::{not_control, other_control, regions};
use girih_ir::{Inst, Op, ValueId};

/// Where the end of a region goes.
#[derive(Clone, Debug)]
pub(super) enum RegionExit {
    /// To the results of a branch.
    Branch(Vec<ValueId>),
    /// To the parameters or the results of a loop.
    Loop {
        params: Vec<ValueId>,
        results: Vec<ValueId>,
        /// Whether all results are carried out, or only those that somebody wants.
        carries_all: bool,
    },
    /// To whoever has the region of an operation on elements written out.
    Element,
}

/// The operands of a jump that are values, and what they become; none if the regions around it are none that it ends.
pub(super) fn targets(enclosing: &[RegionExit], jump: &Inst) -> Option<Vec<(ValueId, ValueId)>> {
    let (values, to) = match jump.op {
        Op::Yield => match enclosing.last()? {
            RegionExit::Branch(results) => (&jump.operands[..], results),
            RegionExit::Loop { .. } | RegionExit::Element => return None,
        },
        Op::Break => (&jump.operands[..], innermost_loop(enclosing)?.1),
        Op::Continue => (&jump.operands[..], innermost_loop(enclosing)?.0),
        Op::While => (&jump.operands[1..], innermost_loop(enclosing)?.0),
        regions!() | other_control!() | not_control!() => return None,
    };
    Some(values.iter().copied().zip(to.iter().copied()).collect())
}

/// Whether a jump gives all that it names, and not only what somebody wants.
pub(super) fn gives_all(enclosing: &[RegionExit], jump: Op) -> bool {
    jump != Op::Break || innermost_loop(enclosing).is_none_or(|(_, _, carries_all)| carries_all)
}

/// Parameters and results of the innermost loop, and whether it carries out all of these.
fn innermost_loop(enclosing: &[RegionExit]) -> Option<(&Vec<ValueId>, &Vec<ValueId>, bool)> {
    enclosing.iter().rev().find_map(|exit| match exit {
        RegionExit::Loop { params, results, carries_all } => Some((params, results, *carries_all)),
        RegionExit::Branch(_) | RegionExit::Element => None,
    })
}

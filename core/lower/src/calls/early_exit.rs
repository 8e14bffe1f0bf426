//! Early exits: a test at the start of a function after which the function may already return. Copying the test to the caller saves the call.

use girih_ir::{Function, Inst, InstId, Op, RegionId, ValueId};

/// A test at the start of a function, one arm of which returns.
#[derive(Clone, Copy, Debug)]
pub struct EarlyExit {
    /// How many instructions come before it.
    pub before: usize,
    /// The test.
    pub test: InstId,
    /// What it looks at.
    pub condition: ValueId,
    /// The arm in which the function is over, and what the condition is then.
    pub arm: RegionId,
    /// See [`arm`](Self::arm).
    pub holds: bool,
}

impl EarlyExit {
    /// The early exit of a function, if it has one. Before the test, and before the end in its arm, stand at most so many instructions, which are cheap to
    /// repeat.
    pub fn of(function: &Function, most: usize, is_cheap: impl Fn(&Inst) -> bool) -> Option<EarlyExit> {
        let is_cheap = |id: &InstId| function.insts[*id].regions.is_empty() && is_cheap(&function.insts[*id]);
        let insts = &function.regions[function.body].insts;
        let before = insts.iter().position(|id| !is_cheap(id))?;
        let test = insts[before];
        let inst = &function.insts[test];
        if inst.op != Op::If || before > most {
            return None;
        }
        let is_over = |region: &RegionId| match function.regions[*region].insts.split_last() {
            Some((last, others)) => {
                function.insts[*last].op == Op::Return && others.len() <= most && others.iter().all(is_cheap)
            }
            None => false,
        };
        let at = inst.regions.iter().position(is_over)?;
        Some(EarlyExit { before, test, condition: inst.operands[0], arm: inst.regions[at], holds: at == 0 })
    }
}

//! Scripts: what all instances of a call do, step by step.
//!
//! A call of a function of which something is known, by so many instances, has one script, whoever calls. A script names segments and other
//! scripts; where frames lie is said when scripts are put in line.

use super::code::{Code, Rooms, Val, Word};
use super::known::Known;
use girih_ir::{FunctionId, RegionId};

/// What is done for a call.
#[derive(Debug)]
pub(super) struct Script {
    pub items: Vec<Item>,
    /// What is known of the results. Those that are not known wholly stand in the frame's slots behind the parameters.
    pub results: Vec<Known>,
    /// How many slots a frame has.
    pub slots: u32,
}

/// A step of a script.
#[derive(Debug)]
pub(super) enum Item {
    /// A segment runs for all instances.
    Step { segment: u32, words: Vec<Word> },
    /// Another script, by 2^`widened` instances for each one.
    Call { script: usize, widened: u32 },
}

/// A function on the way, in the frame of a call.
pub(super) struct Activation {
    pub function: FunctionId,
    pub values: Vec<Option<Val>>,
    /// The regions that are being evaluated, with the position in each.
    pub path: Vec<(RegionId, usize)>,
}

/// A call that waits until somebody needs its results: others may be made together with it.
#[derive(Clone)]
pub(super) struct Call {
    pub callee: FunctionId,
    pub arguments: Vec<Val>,
    /// What is known of the arguments and decides.
    pub known: Vec<Known>,
    pub is_made: bool,
}

/// A loop that is written as one.
pub(super) struct Around {
    /// Its body, in the function that it is written from.
    pub body: RegionId,
    pub carried: Vec<Val>,
}

/// A call whose script is being written.
pub(super) struct CallScript {
    /// The binary logarithm of how many instances there are.
    pub level: u32,
    pub code: Code,
    pub activations: Vec<Activation>,
    pub items: Vec<Item>,
    pub slots: u32,
    /// The calls, by the numbers of their results.
    pub calls: Vec<Call>,
    /// The results of calls that were forked.
    pub forks: Vec<Vec<Val>>,
    /// Whether anything was forked.
    pub has_forks: bool,
    /// Values that are needed behind all calls.
    pub held: Vec<Val>,
    /// The loops around; none for those whose rounds are written one after another.
    pub loops: Vec<Option<Around>>,
}

impl CallScript {
    pub fn new(level: u32, is_written: bool, slots: u32, rooms: Rooms) -> CallScript {
        let code = Code::new(is_written, level, rooms);
        let (calls, forks, held) = (vec![], vec![], vec![]);
        CallScript {
            level,
            code,
            activations: vec![],
            items: vec![],
            slots,
            calls,
            forks,
            has_forks: false,
            held,
            loops: vec![],
        }
    }
}

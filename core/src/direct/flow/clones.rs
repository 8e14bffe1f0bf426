//! Which copies of definitions there are.

use std::collections::HashMap;

use super::answer::{Address, address};
use super::{Instance, Precision};
use crate::term::{DefId, Term};

/// The copies of definitions that calls enter.
#[derive(Default)]
pub(super) struct Copies {
    /// What calls enter that do not enter the definition's first copy.
    callees: HashMap<(Instance, Address), Instance>,
}

impl Default for Precision {
    fn default() -> Precision {
        Precision { clones: 8, clone_size: 200 }
    }
}

impl Copies {
    /// What a call enters.
    pub(super) fn callee(&self, caller: Instance, call: &Term, def: DefId) -> Instance {
        self.callees.get(&(caller, address(call))).copied().unwrap_or(def.into())
    }
}

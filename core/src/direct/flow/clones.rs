//! Which copies of definitions there are.

use std::collections::HashMap;

use super::Instance;
use super::answer::{Address, address};
use crate::term::{DefId, Term};

/// The copies of definitions that calls enter.
#[derive(Default)]
pub(super) struct Copies {
    /// What calls enter that do not enter the definition's first copy.
    callees: HashMap<(Instance, Address), Instance>,
}

impl Copies {
    /// What a call enters.
    pub(super) fn callee(&self, caller: Instance, call: &Term, def: DefId) -> Instance {
        self.callees.get(&(caller, address(call))).copied().unwrap_or(def.into())
    }
}

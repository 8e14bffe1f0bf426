//! Computes the definitions that stand in a value and have not been inspected yet, so that it can be shown.

use super::Compute;
use crate::DefId;
use crate::eval::{Machine, Value, View};
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use std::collections::HashSet;

/// The same value after all definitions in its data have been computed, recursive ones excepted.
///
/// Every computation may move the heap, and its result may hold further definitions; so the value is walked again after
/// each round, until a round finds nothing. Definitions do not contain themselves here, so rounds are few.
pub(super) fn settle(
    machine: &mut Machine,
    recursive: &IndexVec<DefId, bool>,
    value: Value,
    compute: &mut Compute<'_>,
) -> Result<Value, Diagnostic> {
    let root = machine.keep(value);
    loop {
        let waiting = waiting(machine, recursive, machine.value(&root));
        if waiting.is_empty() {
            return Ok(machine.value(&root));
        }
        for def in waiting {
            compute(machine, def)?;
        }
    }
}

/// The definitions in the data of a value that have to be computed.
fn waiting(machine: &Machine, recursive: &IndexVec<DefId, bool>, value: Value) -> Vec<DefId> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        if value.cell().is_some_and(|cell| !seen.insert(cell)) {
            continue;
        }
        match machine.view(value) {
            View::Num(_) | View::Era | View::Constructor(_) | View::Selector(_) => {}
            View::Ctor(_, fields) => pending.extend(fields),
            View::Pair(left, right) => pending.extend([left, right]),
            View::Closure { captured, .. } => pending.extend(captured.into_iter().map(|(_, value)| value)),
            View::Partial { function, args } => {
                pending.push(function);
                pending.extend(args);
            }
            View::Global(def) => match machine.computed(def) {
                _ if recursive[def] => {}
                Some(value) => pending.push(value),
                None if machine.peek(value).is_none() && !found.contains(&def) => found.push(def),
                None => {}
            },
        }
    }
    found
}

//! Routines of the math library in the form that a device takes: legal, simplified, with small ones inlined.
//!
//! A kernel needs a few of them, all kernels for a device need the same ones, and they are longer than the kernels. So each routine is
//! prepared when it is first called, and kept for the capabilities it was prepared for. Invariant: calls in kept routines name places
//! in the library.

use super::routines::Routines;
use super::subgroups::SubgroupPlan;
use super::{Context, check, legalise};
use crate::calls::inline;
use crate::simplify;
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::{Caps, Function, FunctionId, math};
use std::sync::{Mutex, PoisonError};

/// For how many devices routines are kept; those of the device that was first then go.
const DEVICES: usize = 8;

/// The routines of one device.
struct Prepared {
    caps: Caps,
    /// By their places in the library; empty functions where `ready` is not set.
    functions: IndexVec<FunctionId, Function>,
    ready: IndexVec<FunctionId, bool>,
    /// How many calls of each there are: those in the library, if it has any; passes call the others, and nobody knows how often.
    calls: IndexVec<FunctionId, usize>,
}

/// A routine for a device.
pub(super) fn routine(caps: &Caps, id: FunctionId) -> Result<Function, Diagnostic> {
    static DEVICES_PREPARED: Mutex<Vec<Prepared>> = Mutex::new(vec![]);
    // A routine is marked when it is done, so what a panic leaves behind is right.
    let mut devices = DEVICES_PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    let position = devices.iter().position(|device| device.caps == *caps).unwrap_or_else(|| {
        if devices.len() == DEVICES {
            devices.remove(0);
        }
        devices.push(Prepared::new(caps));
        devices.len() - 1
    });
    let device = &mut devices[position];
    device.prepare(id)?;
    Ok(device.functions[id].clone())
}

impl Prepared {
    fn new(caps: &Caps) -> Prepared {
        let library = &math::library().functions;
        Prepared {
            calls: inline::count_calls(math::library())
                .into_iter()
                .map(|n| if n == 0 { usize::MAX } else { n })
                .collect(),
            caps: caps.clone(),
            functions: library.iter().map(|_| Function::new("", Span::NONE)).collect(),
            ready: library.iter().map(|_| false).collect(),
        }
    }

    /// Makes a routine and all that it calls; the library is not recursive, as no module is.
    fn prepare(&mut self, id: FunctionId) -> Result<(), Diagnostic> {
        if self.ready[id] {
            return Ok(());
        }
        let routines = Routines::of_library();
        let mut cx = Context { caps: &self.caps, routines, keeps_regs: false, keeps_vectors: false };
        // Routines know nothing of subgroups.
        let function = legalise(math::library().functions[id].clone(), &mut cx, SubgroupPlan::None)?;
        debug_assert!(
            check::function(&function, &self.caps).is_empty(),
            "{:#?}",
            check::function(&function, &self.caps)
        );
        let mut callees = vec![];
        function.walk(function.body, &mut |_, inst| callees.extend(inst.callee()));
        for callee in callees {
            self.prepare(callee)?;
        }
        let mut function = inline::function(function, &self.functions, &self.calls, &self.caps)?;
        // They have no memory.
        simplify::function_to_fixpoint(&mut function, &self.caps, simplify::Accesses::Apart);
        self.functions[id] = function;
        self.ready[id] = true;
        Ok(())
    }
}

//! Routines of the math library, copied into a module once where passes call them.
//!
//! Invariant: a routine is named by its place in the module before it stands there; [`Routines::take`] gives those that do
//! not yet, in that order.

use crate::diag::{Code, Diagnostic};
use crate::ir::attrs::Attr;
use crate::ir::{Builder, Function, FunctionId, Module, ValueId, math};
use std::collections::HashMap;

/// The routines that a module has or is going to have.
#[derive(Debug)]
pub(super) struct Routines {
    /// Places in the module by places in the library.
    placed: HashMap<FunctionId, FunctionId>,
    /// Copied, but not in the module yet.
    pending: Vec<Function>,
    /// Place of the next one.
    next: usize,
}

impl Routines {
    /// None yet; the first will stand at this place.
    pub(super) fn new(next: usize) -> Routines {
        Routines { placed: HashMap::new(), pending: vec![], next }
    }

    /// Those that are to be appended to the module now.
    pub(super) fn take(&mut self) -> Vec<Function> {
        std::mem::take(&mut self.pending)
    }

    /// Calls a routine by its name; none means that the library lacks what the caller looked for.
    pub(super) fn call(
        &mut self,
        b: &mut Builder,
        name: Option<&str>,
        operands: &[ValueId],
    ) -> Result<Vec<ValueId>, Diagnostic> {
        // Read only now: a kernel that needs none of it does not wait for it.
        let library = math::library();
        let routine = name.and_then(|name| library.find(name)).ok_or_else(|| {
            let message = format!("the math library has no routine `{}`", name.unwrap_or("of this kind"));
            Diagnostic::new(Code::Internal, b.span, message)
        })?;
        let callee = self.place(library, routine);
        Ok(b.call(callee, &library.functions[routine].results, operands))
    }

    /// The place of a routine and of all that it calls.
    fn place(&mut self, library: &Module, routine: FunctionId) -> FunctionId {
        if let Some(id) = self.placed.get(&routine) {
            return *id;
        }
        let mut function = library.functions[routine].clone();
        let mut calls = vec![];
        function.walk(function.body, &mut |id, inst| calls.extend(inst.callee().map(|callee| (id, callee))));
        for (id, callee) in calls {
            // The library is not recursive, as no module is.
            let callee = self.place(library, callee);
            function.insts[id].set(Attr::Callee(callee));
        }
        let id = FunctionId::new(self.next as u32);
        self.next += 1;
        self.pending.push(function);
        self.placed.insert(routine, id);
        id
    }
}

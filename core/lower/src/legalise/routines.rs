//! Routines of the math library, copied into a module once where passes call them.
//!
//! Invariant: a routine is named by its place in the module before it is there; [`Routines::take`] gives those that are not there
//! yet, in that order, legal and simplified.

use super::legal_routines;
use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_ir::attrs::Attr;
use girih_ir::{Builder, Caps, Function, FunctionId, ValueId, math};

/// The routines that a module has or is going to have.
#[derive(Debug)]
pub(super) struct Routines<'a> {
    module: Option<Placing<'a>>,
}

/// What is put into a module for a device.
#[derive(Debug)]
struct Placing<'a> {
    caps: &'a Caps,
    /// Places in the module by places in the library.
    placed: FastMap<FunctionId, FunctionId>,
    /// Copied, but not in the module yet.
    pending: Vec<Function>,
    /// Place of the next one.
    next: usize,
}

impl<'a> Routines<'a> {
    /// None yet; the first will stand at this place.
    pub(super) fn new(caps: &'a Caps, next: usize) -> Routines<'a> {
        Routines { module: Some(Placing { caps, placed: FastMap::default(), pending: vec![], next }) }
    }

    /// Those of the library, where they stand.
    pub(super) fn of_library() -> Routines<'a> {
        Routines { module: None }
    }

    /// Those that are to be appended to the module now.
    pub(super) fn take(&mut self) -> Vec<Function> {
        self.module.as_mut().map(|placing| std::mem::take(&mut placing.pending)).unwrap_or_default()
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
        let callee = match &mut self.module {
            Some(placing) => placing.place(routine)?,
            None => routine,
        };
        Ok(b.call(callee, &library.functions[routine].results, operands))
    }
}

impl Placing<'_> {
    /// The place of a routine and of all that it calls.
    fn place(&mut self, routine: FunctionId) -> Result<FunctionId, Diagnostic> {
        if let Some(id) = self.placed.get(&routine) {
            return Ok(*id);
        }
        let mut function = legal_routines::routine(self.caps, routine)?;
        let mut calls = vec![];
        function.walk(function.body, &mut |id, inst| calls.extend(inst.callee().map(|callee| (id, callee))));
        for (id, callee) in calls {
            let callee = self.place(callee)?;
            function.insts[id].set(Attr::Callee(callee));
        }
        let id = FunctionId::new(self.next as u32);
        self.next += 1;
        self.pending.push(function);
        self.placed.insert(routine, id);
        Ok(id)
    }
}

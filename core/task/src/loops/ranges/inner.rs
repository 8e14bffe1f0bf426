//! Ranges inside of a range that has enough iterations on its own: they stay loops there, in copies of the functions that they are.
//!
//! Invariant: a copy gives what its function gives, and ends where that does.

use super::form::Form;
use super::free_name;
use super::split::always_ends;
use crate::loops::whole_loop;
use girih_base::hash::FastMap;
use girih_base::name::Name;
use girih_ir::attrs::Attr;
use girih_ir::{Function, FunctionId, Module, Op};

/// The copies that there are.
#[derive(Default)]
pub(super) struct Loops {
    /// Of which functions; none if one takes long for other reasons than ranges.
    copies: FastMap<FunctionId, Option<FunctionId>>,
    /// Functions that are being copied.
    open: Vec<FunctionId>,
}

impl Loops {
    /// The form with calls of copies, if what it calls takes long because of ranges alone.
    pub fn stay_in(&mut self, module: &mut Module, forms: &[(FunctionId, Form)], form: &Form) -> Option<Form> {
        let mut form = form.clone();
        self.change(module, forms, &mut form.function)?.then_some(form)
    }

    /// Calls copies instead, and says whether there are any.
    fn change(&mut self, module: &mut Module, forms: &[(FunctionId, Form)], function: &mut Function) -> Option<bool> {
        let mut calls = vec![];
        function.walk(function.body, &mut |id, inst| calls.extend(inst.callee().map(|callee| (id, callee, inst.op))));
        let mut changes = false;
        for (id, callee, op) in calls {
            if op == Op::Fork || op == Op::Join || op == Op::Tail {
                return None;
            }
            let copy = self.copy(module, forms, callee)?;
            if copy != callee {
                function.insts[id].set(Attr::Callee(copy));
                changes = true;
            }
        }
        Some(changes)
    }

    /// The copy of a function; itself if there are no ranges in it.
    fn copy(&mut self, module: &mut Module, forms: &[(FunctionId, Form)], id: FunctionId) -> Option<FunctionId> {
        if let Some(copy) = self.copies.get(&id) {
            return *copy;
        }
        if self.open.contains(&id) {
            return None;
        }
        self.open.push(id);
        let form = forms.iter().find(|(form, _)| *form == id).map(|(_, form)| form);
        let is_certain = |form: &Form| whole_loop(&module.functions[id]).is_some() || always_ends(form);
        let copy = match form {
            Some(form) if is_certain(form) => {
                let mut function = form.function.clone();
                self.change(module, forms, &mut function).map(|_| Some(function))
            }
            Some(_) => None,
            None => {
                let mut function = module.functions[id].clone();
                self.change(module, forms, &mut function).map(|changes| changes.then_some(function))
            }
        };
        self.open.pop();
        let copy = copy.map(|function| match function {
            Some(mut function) => {
                let name = free_name(module, &format!("{}.loop", function.name));
                function.name = Name::from(name);
                module.functions.push(function)
            }
            None => id,
        });
        self.copies.insert(id, copy);
        copy
    }
}

//! Ownership along the paths through branches and loops: what each region gives away and keeps, so that paths that come together have the same
//! values owned.

use super::{Around, Kind, Role, Walk, Wrong};
use crate::function::{Def, Inst, InstId, ValueId};
use crate::ops::Op;
use crate::types::Type;
use girih_base::diag::{Code, Diagnostic};
use std::collections::BTreeSet;

impl<'a> Walk<'a> {
    pub(super) fn choice(&mut self, inst: &'a Inst) -> Result<(), Wrong> {
        let before = self.live.clone();
        self.arms.push(None);
        for region in &inst.regions {
            self.live = before.clone();
            self.region(*region)?;
        }
        self.live = self.arms.pop().flatten();
        // The kinds of the results are those of what is yielded, by the first region that yields.
        for (i, result) in inst.results.iter().enumerate().filter(|(_, r)| self.function.ty(**r) == Type::Term) {
            let yields = inst.regions.iter().filter_map(|r| self.function.terminator(*r));
            let given: Vec<ValueId> =
                yields.filter(|end| end.op == Op::Yield).filter_map(|end| end.operands.get(i)).copied().collect();
            self.merged(inst, *result, &given)?;
        }
        Ok(())
    }

    /// Defines what several paths give: a reuse token or a chain if all do, otherwise a term.
    fn merged(&mut self, inst: &Inst, result: ValueId, given: &[ValueId]) -> Result<(), Wrong> {
        let roles: Vec<Role> = given.iter().map(|v| self.kinds[*v].role()).collect();
        let role = roles.iter().copied().find(|role| *role != Role::Term).unwrap_or(Role::Term);
        if let Some(other) = roles.iter().find(|other| **other != role) {
            let message = format!(
                "{} is {} on some paths through this `{}` and {} on others",
                self.name(result),
                role.name(),
                inst.op.name(),
                other.name()
            );
            return Err(Box::new(Diagnostic::new(Code::IrOwnership, inst.span, message).hint(role.hint())));
        }
        let lent = given.iter().filter(|v| self.kinds[**v] == Kind::Lent).count();
        if lent > 0 && given.iter().any(|v| !matches!(self.kinds[*v], Kind::Lent | Kind::Free)) {
            let message = format!(
                "{} is borrowed on some paths through this `{}` and owned on others",
                self.name(result),
                inst.op.name()
            );
            return Err(Box::new(
                Diagnostic::new(Code::IrOwnership, inst.span, message).hint("share it on the paths that borrow"),
            ));
        }
        let kind = match (role, lent) {
            (Role::Term, 0) => Kind::Owned,
            (Role::Term, _) => Kind::Lent,
            (Role::Reuse, _) => Kind::Reuse,
            (Role::Chain, _) => Kind::Chain,
        };
        self.define(result, kind);
        Ok(())
    }

    pub(super) fn repetition(&mut self, id: InstId, inst: &'a Inst) -> Result<(), Wrong> {
        let function = self.function;
        let params = &function.regions[inst.regions[0]].params;
        self.give(id, inst, &inst.operands)?;
        let entry = self.live.clone().unwrap_or_default();
        for (param, initial) in params.iter().zip(&inst.operands) {
            if function.ty(*param) == Type::Term {
                self.define(*param, self.carried(*initial));
            }
        }
        self.loops.push(Around { inst, entry, exit: None });
        self.region(inst.regions[0])?;
        self.live = self.loops.pop().and_then(|around| around.exit);
        if self.live.is_some() {
            for result in inst.results.iter().filter(|r| function.ty(**r) == Type::Term) {
                let kind = self.kinds[*result];
                self.define(*result, kind);
            }
        }
        Ok(())
    }

    /// What a value is under another name.
    fn carried(&self, value: ValueId) -> Kind {
        match self.kinds[value] {
            Kind::Reuse | Kind::Null => Kind::Reuse,
            Kind::Lent => Kind::Lent,
            Kind::Chain => Kind::Chain,
            Kind::Plain | Kind::Owned | Kind::Borrowed(_) | Kind::Free | Kind::Token => Kind::Owned,
        }
    }

    /// Consumes what goes on under other names: reuse tokens and chains too.
    fn give(&mut self, id: InstId, inst: &Inst, values: &[ValueId]) -> Result<(), Wrong> {
        values.iter().try_for_each(|value| match self.kinds[*value] {
            // Alive as long as the function, under whatever name.
            Kind::Lent => Ok(()),
            Kind::Reuse => self.take(id, inst, *value, Kind::Reuse),
            kind => self.take(id, inst, *value, kind),
        })
    }

    pub(super) fn jump(&mut self, id: InstId, inst: &'a Inst) -> Result<(), Wrong> {
        match inst.op {
            Op::Yield => {
                self.give(id, inst, &inst.operands)?;
                self.ended_inside(id, inst)?;
                let live = self.live.take();
                match self.arms.last_mut() {
                    Some(Some(first)) => {
                        let first = first.clone();
                        self.agree(inst, &first, live.as_ref())
                    }
                    Some(none) => {
                        *none = live;
                        Ok(())
                    }
                    None => Ok(()),
                }
            }
            Op::Return | Op::Tail => {
                // What an owned value of this function lends would be given back by nobody: it is left, and said to be.
                if inst.op == Op::Tail {
                    self.pass(id, inst).map(|_| ())
                } else {
                    self.consume(id, inst, &inst.operands)
                }?;
                if let Some(left) = self.live.take().and_then(|live| live.first().copied()) {
                    return Err(self.left(inst, left));
                }
                Ok(())
            }
            Op::Continue => self.again(id, inst, &inst.operands),
            Op::Break => self.leave(id, inst, &inst.operands),
            Op::While => {
                let before = self.live.clone();
                self.again(id, inst, inst.operands.get(1..).unwrap_or(&[]))?;
                self.live = before;
                let function = self.function;
                let params = self.loops.last().map(|around| &function.regions[around.inst.regions[0]].params);
                self.leave(id, inst, params.map_or(&[], |params| params))
            }
            other => unreachable!("`{}` ends no region", other.name()),
        }
    }

    /// Goes on with the next iteration: what was owned when the loop began is owned again, and nothing else.
    fn again(&mut self, id: InstId, inst: &Inst, values: &[ValueId]) -> Result<(), Wrong> {
        self.give(id, inst, values)?;
        let function = self.function;
        let Some(around) = self.loops.last() else { return Ok(()) };
        for (param, value) in function.regions[around.inst.regions[0]].params.iter().zip(values) {
            self.alike(inst, *value, *param)?;
        }
        let live = self.live.take().unwrap_or_default();
        if let Some(more) = live.difference(&around.entry).next() {
            return Err(self.left(inst, *more));
        }
        if let Some(less) = around.entry.difference(&live).next() {
            let message = format!("an iteration gives {} away, which is owned outside of the loop", self.name(*less));
            let hint = "carry it through the loop, or share it before";
            return Err(self.about(self.code(*less), inst, *less, message, hint));
        }
        Ok(())
    }

    /// Leaves the innermost loop with these values.
    fn leave(&mut self, id: InstId, inst: &Inst, values: &[ValueId]) -> Result<(), Wrong> {
        self.give(id, inst, values)?;
        let Some(around) = self.loops.last() else { return Ok(()) };
        let (results, entry, exit) = (&around.inst.results, &around.entry, around.exit.clone());
        let live = self.live.take().unwrap_or_default();
        if let Some(more) = live.difference(entry).next() {
            return Err(self.left(inst, *more));
        }
        for (result, value) in results.iter().zip(values) {
            if exit.is_some() {
                self.alike(inst, *value, *result)?;
            } else if self.function.ty(*result) == Type::Term {
                self.kinds[*result] = self.carried(*value);
            }
        }
        match exit {
            Some(first) => self.agree(inst, &first, Some(&live)),
            None => {
                if let Some(around) = self.loops.last_mut() {
                    around.exit = Some(live);
                }
                Ok(())
            }
        }
    }

    /// A value that becomes another one is a reuse token, or a chain, if that is one.
    fn alike(&self, inst: &Inst, value: ValueId, target: ValueId) -> Result<(), Wrong> {
        let role = |v: ValueId| self.kinds[v].role();
        let lent = |v: ValueId| self.kinds[v] == Kind::Lent;
        let free = self.kinds[value] == Kind::Free && role(target) == Role::Term;
        if self.function.ty(target) == Type::Term && lent(value) != lent(target) && !free {
            let (name, target) = (self.name(value), self.name(target));
            let message = format!("one of {name} and {target} is borrowed, and the other one is owned");
            return Err(self.about(Code::IrOwnership, inst, value, message, "share what is borrowed"));
        }
        let (given, taken) = (role(value), role(target));
        if self.function.ty(target) == Type::Term && given != taken {
            let (name, target) = (self.name(value), self.name(target));
            // What is no term is named first.
            let message = if given == Role::Term {
                format!("{target} is {}, but {name} is {}", taken.name(), given.name())
            } else {
                format!("{name} is {}, but {target} is {}", given.name(), taken.name())
            };
            let hint = if given == Role::Term { taken.hint() } else { given.hint() };
            return Err(self.about(Code::IrOwnership, inst, value, message, hint));
        }
        Ok(())
    }

    /// What a region that yields has defined is not owned behind it.
    fn ended_inside(&self, id: InstId, inst: &Inst) -> Result<(), Wrong> {
        let region = self.form.region_of(id);
        let inside = |value: &&ValueId| match self.function.values[**value].def {
            Def::Result(inst, _) => self.form.region_of(inst) == region,
            Def::Argument(..) | Def::Param(_) | Def::Constant(_) | Def::Specialisation(_) | Def::Memory(_) => false,
        };
        match self.live.iter().flatten().find(inside) {
            Some(left) => Err(self.left(inst, *left)),
            None => Ok(()),
        }
    }

    /// Two paths that come together have the same values owned.
    fn agree(&self, inst: &Inst, first: &BTreeSet<ValueId>, live: Option<&BTreeSet<ValueId>>) -> Result<(), Wrong> {
        let Some(live) = live else { return Ok(()) };
        let Some(value) = first.symmetric_difference(live).next().copied() else { return Ok(()) };
        let (kept, name) = (live.contains(&value), self.name(value));
        let message = if kept {
            format!("{name} is kept on this path, but consumed on another")
        } else {
            format!("{name} is consumed on this path, but kept on another")
        };
        let mut diagnostic = Diagnostic::new(self.code(value), inst.span, message);
        if let Some(consumer) = self.consumed[value].map(|id| &self.function.insts[id]) {
            diagnostic = diagnostic.label(consumer.span, "consumed here");
        }
        Err(Box::new(diagnostic.hint("consume it on all paths or on none; `term.drop` ends an ownership")))
    }
}

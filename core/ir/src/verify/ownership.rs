//! Ownership of terms: on each path through a function, an owned term is consumed exactly once.
//!
//! | a value that | is | and may be |
//! |---|---|---|
//! | is a parameter, the result of a call or region, a new cell, or made by `term.share` | *owned* | consumed once, read before |
//! | is the first result of `cell.open` | a *reuse token* | filled or freed, once |
//! | comes from `cell.get` | *borrowed* | read and shared as long as the cell is owned |
//! | comes from `term.pack` | *free* | used in any way: it names no cell |
//! | comes from `term.pack 4, 0` | *null*: the empty reuse token | filled, freed or left, any number of times |
//! | is a `borrowed` parameter, or comes from `cell.get` of one | *lent* | read, shared, passed to a borrowing parameter, carried by loops |
//! | comes from `chain.new` or `chain.grow` | a *chain* | grown or ended, once; carried by loops |
//! | comes from `fork` | a *token* | joined, once; terms that the call borrows are not consumed before |
//!
//! The regions of an `if` or `switch` from which control continues after it leave the same values owned; an iteration of a loop leaves owned what was owned when it
//! began. Only the first mistake in a function is reported, because later ones often have the same cause.

mod paths;

use super::form::Form;
use super::names;
use crate::function::{Function, Inst, InstId, Module, RegionId, ValueId};
use crate::groups::{aggregates, arithmetic, jumps, masks, memory, of_kernels};
use crate::heap::CELL;
use crate::ops::Op;
use crate::types::Type;
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use std::collections::BTreeSet;

/// Checks a function that keeps all other rules of functions.
pub(super) fn check(module: &Module, function: &Function, form: &Form, found: &mut Vec<Diagnostic>) {
    let is_fork = |inst: &Inst| inst.op == Op::Fork;
    if !function.values.iter().any(|v| v.ty == Type::Term) && !function.insts.iter().any(is_fork) {
        return;
    }
    let mut walk = Walk {
        module,
        function,
        form,
        kinds: function.values.iter().map(|_| Kind::Plain).collect(),
        consumed: function.values.iter().map(|_| None).collect(),
        live: Some(BTreeSet::new()),
        lent: vec![],
        loops: vec![],
        arms: vec![],
    };
    if let Err(diagnostic) = walk.function() {
        found.push(*diagnostic);
    }
}

/// What is known of a value for all of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A number, or something else that nobody owns.
    Plain,
    Owned,
    Reuse,
    /// Read from a cell that this value owns.
    Borrowed(ValueId),
    /// A borrowed parameter, or read from what is one: whoever called owns it until the function has ended.
    Lent,
    Free,
    /// A reuse token that is none.
    Null,
    /// Cells of which the last has a field that is open.
    Chain,
    Token,
}

/// What a word stands for: values of different roles do not become one another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Term,
    Reuse,
    Chain,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::Term => "a term",
            Role::Reuse => "a reuse token",
            Role::Chain => "a chain",
        }
    }
    /// How a mix of this and another role on different paths is put right.
    fn hint(self) -> &'static str {
        match self {
            Role::Term | Role::Reuse => "free the reuse token, or let all paths give one",
            Role::Chain => "end the chain with `chain.end`, or let all paths give one",
        }
    }
}

impl Kind {
    fn is_linear(self) -> bool {
        match self {
            Kind::Owned | Kind::Reuse | Kind::Chain | Kind::Token => true,
            Kind::Plain | Kind::Borrowed(_) | Kind::Lent | Kind::Free | Kind::Null => false,
        }
    }
    fn role(self) -> Role {
        match self {
            Kind::Reuse | Kind::Null => Role::Reuse,
            Kind::Chain => Role::Chain,
            Kind::Plain | Kind::Owned | Kind::Borrowed(_) | Kind::Lent | Kind::Free | Kind::Token => Role::Term,
        }
    }
}

/// What is owned; none where nothing comes to.
type Live = Option<BTreeSet<ValueId>>;
type Wrong = Box<Diagnostic>;

/// A loop around.
struct Around<'a> {
    inst: &'a Inst,
    /// What was owned when the first iteration began, without what the loop carries.
    entry: BTreeSet<ValueId>,
    /// What is owned behind it, as a first `break` or `while` has it.
    exit: Live,
}

struct Walk<'a> {
    module: &'a Module,
    function: &'a Function,
    form: &'a Form,
    kinds: IndexVec<ValueId, Kind>,
    /// The last instruction that consumed each value.
    consumed: IndexVec<ValueId, Option<InstId>>,
    live: Live,
    /// What forked calls look at, by their tokens.
    lent: Vec<(ValueId, ValueId)>,
    loops: Vec<Around<'a>>,
    /// What each `if` and `switch` around leaves owned, as its first region that yields has it.
    arms: Vec<Live>,
}

impl<'a> Walk<'a> {
    fn function(&mut self) -> Result<(), Wrong> {
        for param in &self.function.params {
            if self.function.ty(*param) == Type::Term {
                let borrowed = self.function.param_attrs(*param).borrowed;
                self.define(*param, if borrowed { Kind::Lent } else { Kind::Owned });
            }
        }
        self.region(self.function.body)
    }

    fn define(&mut self, value: ValueId, kind: Kind) {
        self.kinds[value] = kind;
        if let (true, Some(live)) = (kind.is_linear(), &mut self.live) {
            live.insert(value);
        }
    }

    fn region(&mut self, region: RegionId) -> Result<(), Wrong> {
        let function = self.function;
        for id in &function.regions[region].insts {
            if self.live.is_none() {
                // Nothing comes here.
                return Ok(());
            }
            self.inst(*id, &function.insts[*id])?;
        }
        Ok(())
    }

    fn inst(&mut self, id: InstId, inst: &'a Inst) -> Result<(), Wrong> {
        match inst.op {
            Op::CellGet => {
                self.look(inst, inst.operands[0])?;
                if self.function.ty(inst.results[0]) == Type::Term {
                    let lent = self.kinds[inst.operands[0]] == Kind::Lent;
                    let owner = self.owner(inst.operands[0]);
                    self.define(inst.results[0], if lent { Kind::Lent } else { Kind::Borrowed(owner) });
                }
                Ok(())
            }
            Op::CellLayout | Op::TermTag | Op::TermPayload => self.look(inst, inst.operands[0]),
            Op::TermPack => {
                let constant = |i: usize| self.function.as_constant(inst.operands[i]);
                let null = constant(0) == Some(CELL.into()) && constant(1) == Some(0);
                self.define(inst.results[0], if null { Kind::Null } else { Kind::Free });
                Ok(())
            }
            Op::TermShare => self.share(id, inst),
            Op::CellOpen => {
                self.consume(id, inst, &inst.operands)?;
                self.results(inst);
                self.define(inst.results[0], Kind::Reuse);
                Ok(())
            }
            Op::CellFill | Op::CellFree => {
                self.take(id, inst, inst.operands[0], Kind::Reuse)?;
                self.consume(id, inst, &inst.operands[1..])?;
                self.results(inst);
                Ok(())
            }
            Op::ChainNew => {
                self.define(inst.results[0], Kind::Chain);
                Ok(())
            }
            Op::ChainGrow | Op::ChainEnd => {
                self.take(id, inst, inst.operands[0], Kind::Chain)?;
                self.consume(id, inst, &inst.operands[1..])?;
                self.define(inst.results[0], if inst.op == Op::ChainGrow { Kind::Chain } else { Kind::Owned });
                Ok(())
            }
            Op::Call => {
                self.pass(id, inst)?;
                self.results(inst);
                Ok(())
            }
            Op::Fork => {
                let owners = self.pass(id, inst)?;
                let token = inst.results[0];
                self.lent.extend(owners.into_iter().map(|owner| (token, owner)));
                self.define(token, Kind::Token);
                Ok(())
            }
            Op::Join => {
                self.lent.retain(|(token, _)| *token != inst.operands[0]);
                self.take(id, inst, inst.operands[0], Kind::Token)?;
                self.results(inst);
                Ok(())
            }
            Op::If | Op::Switch => self.choice(inst),
            Op::Loop => self.repetition(id, inst),
            jumps!() | Op::Return | Op::Tail => self.jump(id, inst),
            Op::Grid
            | Op::TrapIf
            | Op::CellNew
            | Op::TermDrop
            | Op::GlobalGet
            | arithmetic!()
            | of_kernels!()
            | crate::tile_operations!()
            | memory!()
            | masks!()
            | aggregates!() => {
                self.consume(id, inst, &inst.operands)?;
                self.results(inst);
                Ok(())
            }
        }
    }

    /// The results that are terms are owned.
    fn results(&mut self, inst: &Inst) {
        for result in &inst.results {
            if self.function.ty(*result) == Type::Term {
                self.define(*result, Kind::Owned);
            }
        }
    }

    /// Passes arguments: those that the callee borrows are only looked at. Gives the owners of these.
    fn pass(&mut self, id: InstId, inst: &Inst) -> Result<Vec<ValueId>, Wrong> {
        let module = self.module;
        let callee = inst.callee().and_then(|id| module.functions.get(id));
        let borrows =
            |i: usize| callee.is_some_and(|f| f.params.get(i).is_some_and(|param| f.param_attrs(*param).borrowed));
        let (looked_at, taken): (Vec<_>, Vec<_>) = inst.operands.iter().enumerate().partition(|(i, _)| borrows(*i));
        self.consume(id, inst, &taken.into_iter().map(|(_, value)| *value).collect::<Vec<_>>())?;
        let mut owners = vec![];
        for (_, value) in looked_at {
            self.look(inst, *value)?;
            if matches!(self.kinds[*value], Kind::Owned | Kind::Borrowed(_)) {
                owners.push(self.owner(*value));
            }
        }
        Ok(owners)
    }

    // Uses.

    /// The value whose being owned keeps a value alive.
    fn owner(&self, value: ValueId) -> ValueId {
        if let Kind::Borrowed(owner) = self.kinds[value] { owner } else { value }
    }

    /// A use that leaves the value to its owner.
    fn look(&self, inst: &Inst, value: ValueId) -> Result<(), Wrong> {
        match self.kinds[value] {
            Kind::Reuse | Kind::Null | Kind::Chain => Err(self.no_term(inst, value)),
            Kind::Owned | Kind::Borrowed(_) => self.is_alive(inst, value),
            Kind::Plain | Kind::Lent | Kind::Free | Kind::Token => Ok(()),
        }
    }

    fn is_alive(&self, inst: &Inst, value: ValueId) -> Result<(), Wrong> {
        let owner = self.owner(value);
        let free = !self.kinds[owner].is_linear();
        if free || self.live.as_ref().is_none_or(|live| live.contains(&owner)) {
            return Ok(());
        }
        let name = self.name(value);
        let message = if owner == value {
            format!("{name} is used after it was consumed")
        } else {
            format!("{name} is used after the cell that it was read from was consumed")
        };
        let mut diagnostic = Diagnostic::new(self.code(owner), inst.span, message);
        if let Some(consumer) = self.consumed[owner].map(|id| &self.function.insts[id]) {
            diagnostic = diagnostic.label(consumer.span, format!("{} was consumed here", self.name(owner)));
        }
        let hint = match self.kinds[value] {
            Kind::Token => "join a forked call once, and use its results",
            Kind::Reuse => "fill or free a reuse token exactly once",
            Kind::Chain => "a chain that has grown is what `chain.grow` gives",
            _term => "make a second ownership by `term.share` before",
        };
        Err(Box::new(diagnostic.hint(hint)))
    }

    /// Consumes those values that are terms, reuse tokens and chains excepted, or tokens.
    fn consume(&mut self, id: InstId, inst: &Inst, values: &[ValueId]) -> Result<(), Wrong> {
        values.iter().try_for_each(|value| match self.kinds[*value] {
            Kind::Reuse | Kind::Null | Kind::Chain => Err(self.no_term(inst, *value)),
            kind => self.take(id, inst, *value, kind),
        })
    }

    /// Consumes a value that has to be of a kind.
    fn take(&mut self, id: InstId, inst: &Inst, value: ValueId, asked: Kind) -> Result<(), Wrong> {
        let kind = self.kinds[value];
        if kind == Kind::Lent {
            let message = format!("{} is borrowed, and `{}` takes it away", self.name(value), inst.op.name());
            let hint = "share it: the second result of `term.share` is an ownership of one's own";
            return Err(self.about(Code::IrOwnership, inst, value, message, hint));
        }
        if let Some((token, _)) = self.lent.iter().find(|(_, owner)| *owner == value) {
            let message =
                format!("{} is consumed while the forked call {} borrows it", self.name(value), self.name(*token));
            return Err(self.about(Code::IrOwnership, inst, value, message, "join the call before"));
        }
        if let Kind::Borrowed(_) = kind {
            let message = format!("{} belongs to its cell, and `{}` takes it away", self.name(value), inst.op.name());
            let hint = "share it: the second result of `term.share` is an ownership of one's own";
            return Err(self.about(Code::IrOwnership, inst, value, message, hint));
        }
        if kind != asked && !(asked == Kind::Reuse && kind == Kind::Null) {
            let role = asked.role();
            let message = format!("{} is not {}, and `{}` takes one", self.name(value), role.name(), inst.op.name());
            let hint = match role {
                Role::Term | Role::Reuse => "a reuse token is the first result of `cell.open`",
                Role::Chain => "a chain begins with `chain.new`",
            };
            return Err(self.about(Code::IrOwnership, inst, value, message, hint));
        }
        if kind.is_linear() {
            self.is_alive(inst, value)?;
            self.consumed[value] = Some(id);
            if let Some(live) = &mut self.live {
                live.remove(&value);
            }
        }
        Ok(())
    }

    /// Of two ownerships, the first is what there was before.
    fn share(&mut self, id: InstId, inst: &Inst) -> Result<(), Wrong> {
        let word = inst.operands[0];
        match self.kinds[word] {
            kind @ (Kind::Borrowed(_) | Kind::Lent | Kind::Free) => {
                self.look(inst, word)?;
                let second = if kind == Kind::Free { Kind::Free } else { Kind::Owned };
                self.define(inst.results[0], kind);
                self.define(inst.results[1], second);
                Ok(())
            }
            Kind::Plain | Kind::Owned | Kind::Reuse | Kind::Null | Kind::Chain | Kind::Token => {
                self.consume(id, inst, &inst.operands)?;
                self.results(inst);
                Ok(())
            }
        }
    }

    // Messages.

    fn name(&self, value: ValueId) -> String {
        names::value(self.function, value)
    }
    fn code(&self, value: ValueId) -> Code {
        if self.kinds[value] == Kind::Token { Code::IrJoin } else { Code::IrOwnership }
    }

    fn about(&self, code: Code, inst: &Inst, value: ValueId, message: String, hint: &str) -> Wrong {
        Box::new(names::about(code, self.function, self.form, inst, value, message).hint(hint))
    }

    /// A reuse token or a chain where a term has to stand.
    fn no_term(&self, inst: &Inst, value: ValueId) -> Wrong {
        let role = self.kinds[value].role();
        let message = format!("{} is {}, and `{}` takes a term", self.name(value), role.name(), inst.op.name());
        let hint = match role {
            Role::Term | Role::Reuse => "fill it with `cell.fill`, or free it with `cell.free`",
            Role::Chain => "end it with `chain.end`, which gives a term",
        };
        self.about(Code::IrOwnership, inst, value, message, hint)
    }

    /// A value that is owned where a path ends.
    fn left(&self, inst: &Inst, value: ValueId) -> Wrong {
        let (name, op) = (self.name(value), inst.op.name());
        let (message, hint) = match self.kinds[value] {
            Kind::Token => {
                (format!("{name} is not joined before this `{op}`"), "join each forked call once, on every path")
            }
            Kind::Reuse => (
                format!("{name} is a reuse token that is left over at this `{op}`"),
                "fill it with `cell.fill`, or free it with `cell.free`",
            ),
            Kind::Chain => (format!("{name} is a chain that is left over at this `{op}`"), "end it with `chain.end`"),
            Kind::Plain | Kind::Owned | Kind::Borrowed(_) | Kind::Lent | Kind::Free | Kind::Null => {
                (format!("{name} is still owned at this `{op}`"), "consume it, or drop it with `term.drop`")
            }
        };
        self.about(self.code(value), inst, value, message, hint)
    }
}

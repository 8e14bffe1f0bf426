//! The ways through a function in task form: which instructions are gone beyond, by which ways loops are left, and who owns what there.
//!
//! Follows the verifier (`ir/verify/ownership.rs`), of which nothing is asked again: what is wrong there is not found here.
//!
//! Invariant: nothing is said of code that is never reached.

use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_ir::heap::CELL;
use girih_ir::{Function, Inst, InstId, Module, Op, RegionId, Type, ValueId};
use std::collections::BTreeSet;

/// Who owns a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nobody: a number, or a word that names no cell.
    Plain,
    Owned,
    Hole,
    /// Read from a cell that is this value.
    Borrowed(ValueId),
    /// The caller of the function.
    Lent,
    /// A hole that is none: it may be used as one any number of times.
    Null,
    Token,
}

impl Kind {
    fn is_linear(self) -> bool {
        match self {
            Kind::Owned | Kind::Hole | Kind::Token => true,
            Kind::Plain | Kind::Borrowed(_) | Kind::Lent | Kind::Null => false,
        }
    }
    fn is_hole(self) -> bool {
        matches!(self, Kind::Hole | Kind::Null)
    }
}

/// How a loop is left, and what that means for whom.
#[derive(Clone, Debug, Default)]
pub(super) struct Repetition {
    /// Some `return` inside leaves the function.
    pub returns: bool,
    /// Some `tail` of the function itself begins it anew.
    pub again: bool,
    /// Some `break` or `while` leaves the loop alone.
    pub breaks: bool,
    /// What is owned outside, and given away on some ways out only: the loop has to carry it.
    pub carried: Vec<ValueId>,
    /// Those of the carried that are still owned behind the loop.
    pub kept: Vec<ValueId>,
    /// What was read from the carried before the loop, in order.
    pub read: Vec<ValueId>,
}

/// What an `if` or `switch` does.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Choice {
    /// Some region yields.
    pub goes_on: bool,
    /// Some region leaves the function.
    pub returns: bool,
    /// Some region holds a loop that may leave more than itself, and goes on behind it.
    pub parts: bool,
}

/// What is known of a function.
pub(super) struct Ways {
    pub kinds: IndexVec<ValueId, Kind>,
    pub loops: FastMap<InstId, Repetition>,
    pub choices: FastMap<InstId, Choice>,
}

/// Whether a call is one of the function itself.
pub(super) fn is_own(module: &Module, function: &Function, inst: &Inst) -> bool {
    inst.callee().is_some_and(|callee| module.functions[callee].name == function.name)
}

/// Walks over a function.
pub(super) fn ways(module: &Module, function: &Function) -> Ways {
    let ways = Ways {
        kinds: function.values.iter().map(|_| Kind::Plain).collect(),
        loops: FastMap::default(),
        choices: FastMap::default(),
    };
    let live = Some(BTreeSet::new());
    let (loops, arms, read) = (vec![], vec![], vec![]);
    let mut walk = Walk { module, function, ways, live, loops, arms, read, seen: Seen::default() };
    for param in &function.params {
        walk.define(*param, of_param(function, *param));
    }
    walk.region(function.body);
    walk.ways
}

/// Who owns a parameter of a function.
pub(super) fn of_param(function: &Function, param: ValueId) -> Kind {
    match (function.ty(param), function.param_attrs(param).borrowed) {
        (Type::Term, true) => Kind::Lent,
        (Type::Term, false) => Kind::Owned,
        _number => Kind::Plain,
    }
}

/// What is owned; none where nothing comes to.
type Live = Option<BTreeSet<ValueId>>;

/// A loop around.
struct Around<'a> {
    inst: &'a Inst,
    entry: BTreeSet<ValueId>,
    exit: Live,
    /// What loops inside carry.
    carried: BTreeSet<ValueId>,
}

/// How often something was come to so far.
#[derive(Clone, Copy, Default)]
struct Seen {
    returns: usize,
    again: usize,
    parts: usize,
}

struct Walk<'a> {
    module: &'a Module,
    function: &'a Function,
    ways: Ways,
    live: Live,
    loops: Vec<Around<'a>>,
    /// What each `if` and `switch` around leaves owned.
    arms: Vec<Live>,
    /// What is visible and was read from a cell that is owned here.
    read: Vec<ValueId>,
    seen: Seen,
}

impl<'a> Walk<'a> {
    fn define(&mut self, value: ValueId, kind: Kind) {
        self.ways.kinds[value] = kind;
        if let (true, Some(live)) = (kind.is_linear(), &mut self.live) {
            live.insert(value);
        }
        if let Kind::Borrowed(_) = kind {
            self.read.push(value);
        }
    }

    fn consume(&mut self, values: impl IntoIterator<Item = ValueId>) {
        if let Some(live) = &mut self.live {
            for value in values {
                live.remove(&value);
            }
        }
    }

    fn region(&mut self, region: RegionId) {
        let (function, visible) = (self.function, self.read.len());
        for id in &function.regions[region].insts {
            if self.live.is_none() {
                break;
            }
            self.inst(*id, &function.insts[*id]);
        }
        self.read.truncate(visible);
    }

    fn inst(&mut self, id: InstId, inst: &'a Inst) {
        let kind = |value: ValueId| self.ways.kinds[value];
        match inst.op {
            Op::CellGet => {
                if self.function.ty(inst.results[0]) == Type::Term {
                    let read = match kind(inst.operands[0]) {
                        Kind::Lent => Kind::Lent,
                        Kind::Borrowed(owner) => Kind::Borrowed(owner),
                        _owner => Kind::Borrowed(inst.operands[0]),
                    };
                    self.define(inst.results[0], read);
                }
            }
            Op::CellLayout | Op::TermTag | Op::TermPayload => {}
            Op::TermPack => {
                let constant = |i: usize| self.function.as_constant(inst.operands[i]);
                let is_null = constant(0) == Some(CELL.into()) && constant(1) == Some(0);
                self.define(inst.results[0], if is_null { Kind::Null } else { Kind::Plain });
            }
            Op::TermShare => match kind(inst.operands[0]) {
                first @ (Kind::Borrowed(_) | Kind::Lent) => {
                    self.define(inst.results[0], first);
                    self.define(inst.results[1], Kind::Owned);
                }
                Kind::Plain => {}
                Kind::Owned | Kind::Hole | Kind::Null | Kind::Token => self.take(inst),
            },
            Op::CellOpen => {
                self.take(inst);
                self.define(inst.results[0], Kind::Hole);
            }
            Op::Call => {
                self.pass(inst);
                self.results(inst);
            }
            Op::Fork => {
                self.pass(inst);
                self.define(inst.results[0], Kind::Token);
            }
            Op::If | Op::Switch => self.choice(id, inst),
            Op::Loop => self.repetition(id, inst),
            Op::Yield => {
                self.consume(inst.operands.iter().copied());
                let live = self.live.take();
                if let Some(arm) = self.arms.last_mut() {
                    *arm = arm.take().or(live);
                }
            }
            Op::Break => self.leave(&inst.operands),
            Op::While => {
                let params = self.loops.last().map(|around| &self.function.regions[around.inst.regions[0]].params);
                self.leave(params.map_or(&[], |params| params));
            }
            Op::Continue => self.live = None,
            Op::Return => {
                self.seen.returns += 1;
                self.live = None;
            }
            Op::Tail => {
                let own = is_own(self.module, self.function, inst);
                *(if own { &mut self.seen.again } else { &mut self.seen.returns }) += 1;
                self.live = None;
            }
            _takes_what_it_is_given => self.take(inst),
        }
    }

    fn take(&mut self, inst: &Inst) {
        self.consume(inst.operands.iter().copied());
        self.results(inst);
    }

    fn results(&mut self, inst: &Inst) {
        for result in &inst.results {
            if self.function.ty(*result) == Type::Term {
                self.define(*result, Kind::Owned);
            }
        }
    }

    /// Passes arguments: those that the callee borrows stay.
    fn pass(&mut self, inst: &Inst) {
        let callee = inst.callee().map(|id| &self.module.functions[id]);
        let is_borrowed =
            |i: usize| callee.is_some_and(|f| f.params.get(i).is_some_and(|param| f.param_attrs(*param).borrowed));
        let taken: Vec<ValueId> =
            inst.operands.iter().enumerate().filter(|(i, _)| !is_borrowed(*i)).map(|(_, value)| *value).collect();
        self.consume(taken);
    }

    fn choice(&mut self, id: InstId, inst: &'a Inst) {
        let (before, seen) = (self.live.clone(), self.seen);
        self.arms.push(None);
        for region in &inst.regions {
            self.live = before.clone();
            self.region(*region);
        }
        self.live = self.arms.pop().flatten();
        let function = self.function;
        for (i, result) in inst.results.iter().enumerate().filter(|(_, r)| function.ty(**r) == Type::Term) {
            let yields = inst.regions.iter().filter_map(|r| function.terminator(*r)).filter(|end| end.op == Op::Yield);
            let given: Vec<Kind> =
                yields.filter_map(|end| end.operands.get(i)).map(|value| self.ways.kinds[*value]).collect();
            let kind = if given.iter().any(|kind| kind.is_hole()) {
                Kind::Hole
            } else if given.contains(&Kind::Lent) {
                Kind::Lent
            } else {
                Kind::Owned
            };
            self.define(*result, kind);
        }
        let choice = Choice {
            goes_on: self.live.is_some(),
            returns: self.seen.returns + self.seen.again > seen.returns + seen.again,
            parts: self.seen.parts > seen.parts,
        };
        self.ways.choices.insert(id, choice);
    }

    fn repetition(&mut self, id: InstId, inst: &'a Inst) {
        let (function, seen) = (self.function, self.seen);
        self.consume(inst.operands.iter().copied());
        let entry = self.live.clone().unwrap_or_default();
        let read = self.read.clone();
        for (param, initial) in function.regions[inst.regions[0]].params.iter().zip(&inst.operands) {
            if function.ty(*param) == Type::Term {
                let kind = carried(self.ways.kinds[*initial]);
                self.define(*param, kind);
            }
        }
        self.loops.push(Around { inst, entry, exit: None, carried: BTreeSet::new() });
        self.region(inst.regions[0]);
        let Some(around) = self.loops.pop() else { return };
        self.live = around.exit.clone();
        let breaks = self.live.is_some();
        let again = self.seen.again > seen.again;
        // A loop without end gives whatever is asked for.
        self.seen.returns += usize::from(!breaks && !again && self.seen.returns == seen.returns);
        let returns = self.seen.returns > seen.returns;
        let parts = breaks && (returns || again);
        self.seen.parts = seen.parts + usize::from(parts);
        let mut carried: BTreeSet<ValueId> = around.carried.intersection(&around.entry).copied().collect();
        if parts {
            carried.extend(around.exit.iter().flatten());
        }
        // A forked call is joined before the function is left; it can be there only if a loop inside never ends.
        carried.retain(|value| self.ways.kinds[*value] != Kind::Token);
        let is_kept = |value: &&ValueId| self.live.as_ref().is_some_and(|live| live.contains(value));
        let kept = carried.iter().filter(is_kept).copied().collect();
        let is_carried =
            |value: &ValueId| matches!(self.ways.kinds[*value], Kind::Borrowed(owner) if carried.contains(&owner));
        let read = read.into_iter().filter(is_carried).collect();
        if let Some(outer) = self.loops.last_mut() {
            outer.carried.extend(&carried);
        }
        let carried = carried.into_iter().collect();
        self.ways.loops.insert(id, Repetition { returns, again, breaks, carried, kept, read });
        if breaks {
            for result in inst.results.iter().filter(|r| function.ty(**r) == Type::Term) {
                let kind = self.ways.kinds[*result];
                self.define(*result, kind);
            }
        }
    }

    /// Leaves the innermost loop.
    fn leave(&mut self, values: &[ValueId]) {
        self.consume(values.iter().copied());
        let live = self.live.take();
        let Some(around) = self.loops.last_mut() else { return };
        if around.exit.is_none() {
            around.exit = live;
            for (result, value) in around.inst.results.iter().zip(values) {
                if self.function.ty(*result) == Type::Term {
                    self.ways.kinds[*result] = carried(self.ways.kinds[*value]);
                }
            }
        }
    }
}

/// What a value is under another name.
fn carried(kind: Kind) -> Kind {
    match kind {
        Kind::Hole | Kind::Null => Kind::Hole,
        Kind::Lent => Kind::Lent,
        Kind::Plain | Kind::Owned | Kind::Borrowed(_) | Kind::Token => Kind::Owned,
    }
}

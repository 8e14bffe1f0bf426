//! Which calls become the callee's code: small functions within recursive ones, which run often, and a few levels of small recursive
//! functions, whose calls cost as much as what they do.

use girih_base::cycles;
use girih_base::idx::IndexVec;
use girih_ir::ops::Family;
use girih_ir::{Def, Function, FunctionId, Inst, InstId, Module, Op, ValueId};
use girih_lower::EarlyExit;
use std::collections::BTreeSet;

/// Instructions of a function that is inlined wherever it is called.
const TINY: usize = 8;
/// Instructions of a function that is inlined into recursive ones.
const SMALL: usize = 40;
/// Instructions of a recursive function that is inlined into itself.
const RECURSIVE: usize = 40;
/// What its copies weigh together at most.
const WEIGHT: usize = 600;
/// What an operation on cells weighs; others weigh 1.
const CELLS: usize = 6;
/// How many levels of a recursive function become one at most.
const LEVELS: usize = 5;
/// Instructions of a callee's entrance at most.
const ENTRANCE: usize = 12;
/// How deep a recursion is at most that is written within itself to its end.
const MOST_DEPTH: usize = 16;
/// By how much a parameter gets less in a call at most, if that counts the recursion.
const MOST_STEP: u32 = 4;
/// How deep functions are inlined into each other.
const DEPTH: usize = 8;

/// What is known of a module's functions.
pub(super) struct Inlining {
    /// Instructions of each function.
    sizes: IndexVec<FunctionId, usize>,
    /// The same with those of the tiny functions that it calls, which are written into it: rounding a number of 24 bits is one.
    written: IndexVec<FunctionId, usize>,
    /// Functions that reach each other have the same number.
    groups: IndexVec<FunctionId, usize>,
    /// Whether a function reaches itself.
    recursive: IndexVec<FunctionId, bool>,
    /// How many levels of it become one.
    levels: IndexVec<FunctionId, usize>,
    /// How many instructions of it are its entrance.
    entrances: IndexVec<FunctionId, usize>,
    /// How its recursion is counted, if it is.
    countdowns: IndexVec<FunctionId, Option<Countdown>>,
    /// Whether it forks something, or calls what does, globals apart.
    forks: IndexVec<FunctionId, bool>,
}

/// A recursion whose depth is a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Countdown {
    /// The parameter.
    pub position: usize,
    /// From here on down all calls are written within each other.
    pub bottom: u32,
}

impl Inlining {
    pub fn of(module: &Module) -> Inlining {
        let edges: IndexVec<FunctionId, Vec<FunctionId>> = module.functions.iter().map(|f| called(module, f)).collect();
        let sizes: IndexVec<FunctionId, usize> = module.functions.iter().map(size).collect();
        let countdowns: IndexVec<FunctionId, Option<Countdown>> =
            module.functions.iter_enumerated().map(|(id, function)| countdown(id, function)).collect();
        let levels = edges.iter_enumerated().map(|(id, called)| {
            let own = called.iter().filter(|callee| **callee == id).count();
            if sizes[id] > RECURSIVE || countdowns[id].is_some() {
                1
            } else {
                levels(weight(&module.functions[id]), own)
            }
        });
        let levels = levels.collect();
        let forks = forks(module);
        let entrances = module.functions.iter().map(entrance).collect();
        let (groups, recursive) = (cycles::groups(&edges), cycles::on_cycle(&edges));
        let tiny = |id: &FunctionId| if sizes[*id] <= TINY && !recursive[*id] { sizes[*id] } else { 0 };
        let with_tiny = |(id, function)| sizes[id] + called_itself(function).iter().map(tiny).sum::<usize>();
        let written = module.functions.iter_enumerated().map(with_tiny).collect();
        Inlining { sizes, written, groups, recursive, levels, entrances, countdowns, forks }
    }

    /// Whether a function forks something, or calls what does. What a global's computation forks does not count: that is done but once.
    pub fn reaches_fork(&self, id: FunctionId) -> bool {
        self.forks[id]
    }

    /// How a function's recursion is counted, if it is.
    pub fn countdown(&self, id: FunctionId) -> Option<Countdown> {
        self.countdowns[id]
    }

    /// How many instructions of a callee are written where it is called, to see whether the call can be spared: up to a choice that is over
    /// at once for the last calls of a recursion.
    pub fn entrance(&self, outermost: FunctionId, callee: FunctionId) -> Option<usize> {
        Some(self.entrances[callee]).filter(|count| *count > 0 && self.recursive[outermost])
    }

    /// Instructions that may come to a function.
    pub fn room(&self, id: FunctionId) -> usize {
        WEIGHT.max(3 * self.sizes[id])
    }
    /// Instructions of a function, with those of the tiny ones that it calls.
    pub fn size(&self, id: FunctionId) -> usize {
        self.written[id]
    }

    /// Whether a call becomes the callee's code where these functions are being written, the outermost first.
    pub fn is_worthwhile(&self, stack: &[FunctionId], callee: FunctionId, room: usize) -> bool {
        let Some(outermost) = stack.first() else { return false };
        if self.sizes[callee] <= TINY && !self.recursive[callee] {
            return stack.len() <= DEPTH;
        }
        let size = self.written[callee];
        if size > room || stack.len() > DEPTH || !self.recursive[*outermost] {
            return false;
        }
        if self.groups[callee] != self.groups[*outermost] {
            return !self.recursive[callee] && size <= SMALL;
        }
        let copies = stack.iter().filter(|id| **id == callee).count();
        if callee == *outermost { copies < self.levels[callee] } else { copies == 0 && size <= SMALL }
    }
}

/// How a function's recursion is counted: it calls itself at least twice, each time with a parameter that is less by a constant, and ends
/// when that is small.
fn countdown(id: FunctionId, function: &Function) -> Option<Countdown> {
    let mut calls: Vec<InstId> = vec![];
    let mut has_loop = false;
    function.walk(function.body, &mut |at, inst| {
        if inst.callee() == Some(id) && inst.op != Op::Join {
            calls.push(at);
        }
        has_loop |= inst.op == Op::Loop;
    });
    if calls.len() < 2 || has_loop {
        return None;
    }
    let last = last_depth(function)?;
    let steps = |position: usize| -> Option<Vec<u32>> {
        calls
            .iter()
            .map(|at| step(function, function.params[position], *function.insts[*at].operands.get(position)?))
            .collect()
    };
    let (position, steps) = (0..function.params.len()).find_map(|position| Some((position, steps(position)?)))?;
    let most = WEIGHT / weight(function).max(1);
    let mut copies: Vec<usize> = vec![1; last as usize + 1];
    loop {
        let depth = copies.len();
        let inside = steps.iter().map(|step| depth.checked_sub(*step as usize).map_or(1, |depth| copies[depth]));
        let all = 1 + inside.sum::<usize>();
        if all > most || depth > MOST_DEPTH {
            break;
        }
        copies.push(all);
    }
    let bottom = copies.len() as u32 - 1;
    (bottom > last + 1).then_some(Countdown { position, bottom })
}

/// By how much a value is less than a parameter.
fn step(function: &Function, param: ValueId, value: ValueId) -> Option<u32> {
    let Def::Result(id, 0) = function.values[value].def else { return None };
    let inst = &function.insts[id];
    let constant = || u32::try_from(function.as_constant(*inst.operands.get(1)?)?).ok();
    match inst.op {
        Op::Sub if inst.operands[0] == param => constant().filter(|step| (1..=MOST_STEP).contains(step)),
        // Only the low bits may be wanted.
        Op::And => step(function, param, inst.operands[0]).filter(|_| constant() == Some(0xff_ffff)),
        _no_rule => None,
    }
}

/// The greatest value of a parameter for which a function certainly does not call itself: it begins by comparing it with a constant.
fn last_depth(function: &Function) -> Option<u32> {
    let first = function.regions[function.body].insts.iter().map(|id| &function.insts[*id]);
    let compared = first.take(2).find(|inst| matches!(inst.op, Op::Eq | Op::Lt | Op::Le))?;
    let constant = u32::try_from(function.as_constant(*compared.operands.get(1)?)?).ok()?;
    let last = if compared.op == Op::Lt { constant.checked_sub(1)? } else { constant };
    (function.params.contains(&compared.operands[0]) && last <= MOST_STEP).then_some(last)
}

/// How many levels of a function of this weight that calls itself so often become one.
fn levels(weight: usize, calls: usize) -> usize {
    let (mut levels, mut copies, mut all) = (1, 1, weight);
    while levels < LEVELS {
        copies *= calls;
        all += copies * weight;
        if all > WEIGHT {
            break;
        }
        levels += 1;
    }
    levels
}

/// How many instructions a function begins with that are cheap to repeat, up to an `if` that returns at once or does nothing.
fn entrance(function: &Function) -> usize {
    let is_cheap = |inst: &Inst| inst.op.is_pure() || inst.op == Op::CellLayout;
    let Some(EarlyExit { before, test, arm, holds: true, .. }) = EarlyExit::of(function, ENTRANCE, is_cheap) else {
        return 0;
    };
    let test = &function.insts[test];
    let [_, otherwise] = test.regions[..] else { return 0 };
    let goes_on = match function.regions[otherwise].insts[..] {
        [end] => function.insts[end].op != Op::Return,
        _ => false,
    };
    let all = before + function.regions[arm].insts.len();
    if test.results.is_empty() && goes_on && all <= ENTRANCE { before + 1 } else { 0 }
}

/// What a function weighs.
fn weight(function: &Function) -> usize {
    let mut weight = 0;
    function.walk(function.body, &mut |_, inst| {
        weight += if inst.op.row().family == Family::Heap { CELLS } else { 1 };
    });
    weight
}

/// Instructions of a function.
fn size(function: &Function) -> usize {
    let mut size = 0;
    function.walk(function.body, &mut |_, _| size += 1);
    size
}

/// What a function calls, each as often as it does, but for globals.
fn called_itself(function: &Function) -> Vec<FunctionId> {
    let mut called = vec![];
    function.walk(function.body, &mut |_, inst| called.extend(inst.callee().filter(|_| inst.op != Op::Join)));
    called
}

/// What a function calls, each as often as it does.
fn called(module: &Module, function: &Function) -> Vec<FunctionId> {
    let mut called = called_itself(function);
    function.walk(function.body, &mut |_, inst| {
        called.extend(inst.global().map(|global| module.globals[global].function));
    });
    called
}

/// Which functions fork something, or call what does.
fn forks(module: &Module) -> IndexVec<FunctionId, bool> {
    let mut callers: IndexVec<FunctionId, Vec<FunctionId>> = module.functions.iter().map(|_| vec![]).collect();
    for (caller, function) in module.functions.iter_enumerated() {
        called_itself(function).into_iter().for_each(|callee| callers[callee].push(caller));
    }
    let mut forks: IndexVec<FunctionId, bool> = module.functions.iter().map(|_| false).collect();
    let mut todo: Vec<FunctionId> = vec![];
    for (id, function) in module.functions.iter_enumerated() {
        let mut found = false;
        function.walk(function.body, &mut |_, inst| found |= inst.op == Op::Fork);
        if found {
            todo.push(id);
        }
    }
    while let Some(id) = todo.pop() {
        if !std::mem::replace(&mut forks[id], true) {
            todo.extend(&callers[id]);
        }
    }
    forks
}

/// Functions that are forked.
pub(in crate::tasks) fn forked(module: &Module) -> Vec<FunctionId> {
    let mut forked = BTreeSet::new();
    for function in module.functions.iter() {
        function.walk(function.body, &mut |_, inst| {
            if inst.op == Op::Fork {
                forked.extend(inst.callee());
            }
        });
    }
    forked.into_iter().collect()
}

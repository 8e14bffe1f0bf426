//! Which calls become the callee's code: small functions within recursive ones, which run often, and a few levels of small recursive
//! functions, whose calls cost as much as what they do.

use girih_core::cycles;
use girih_core::idx::IndexVec;
use girih_core::ir::ops::Family;
use girih_core::ir::{Function, FunctionId, Module, Op};
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
/// How deep functions are inlined into each other.
const DEPTH: usize = 8;

/// What is known of a module's functions.
pub(super) struct Inlining {
    /// Instructions of each function.
    sizes: IndexVec<FunctionId, usize>,
    /// Functions that reach each other have the same number.
    groups: IndexVec<FunctionId, usize>,
    /// Whether a function reaches itself.
    recursive: IndexVec<FunctionId, bool>,
    /// How many levels of it become one.
    levels: IndexVec<FunctionId, usize>,
    /// Whether it forks something, or calls what does, globals apart.
    forks: IndexVec<FunctionId, bool>,
}

impl Inlining {
    pub fn of(module: &Module) -> Inlining {
        let edges: IndexVec<FunctionId, Vec<FunctionId>> = module.functions.iter().map(|f| called(module, f)).collect();
        let sizes: IndexVec<FunctionId, usize> = module.functions.iter().map(size).collect();
        let levels = edges.iter_enumerated().map(|(id, called)| {
            let own = called.iter().filter(|callee| **callee == id).count();
            if sizes[id] > RECURSIVE { 1 } else { levels(weight(&module.functions[id]), own) }
        });
        let levels = levels.collect();
        let forks = forks(module);
        Inlining { sizes, groups: cycles::groups(&edges), recursive: cycles::on_cycle(&edges), levels, forks }
    }

    /// Whether a function forks something, or calls what does. What a global's computation forks does not count: that is done but once.
    pub fn reaches_fork(&self, id: FunctionId) -> bool {
        self.forks[id]
    }

    /// Instructions that may come to a function.
    pub fn room(&self, id: FunctionId) -> usize {
        WEIGHT.max(3 * self.sizes[id])
    }
    /// Instructions of a function.
    pub fn size(&self, id: FunctionId) -> usize {
        self.sizes[id]
    }

    /// Whether a call becomes the callee's code where these functions are being written, the outermost first.
    pub fn is_worthwhile(&self, stack: &[FunctionId], callee: FunctionId, room: usize) -> bool {
        let size = self.sizes[callee];
        let Some(outermost) = stack.first() else { return false };
        if size <= TINY && !self.recursive[callee] {
            return stack.len() <= DEPTH;
        }
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
pub(super) fn forked(module: &Module) -> Vec<FunctionId> {
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

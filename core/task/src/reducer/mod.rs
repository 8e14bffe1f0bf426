//! Reducers: recursion whose result is put together by one operation in any order, `queens(..) + queens(..)`, as a bag of calls.
//!
//! What such a call gives need not come back to who made it: it is added to what the lane has found so far, and in the end all lanes' sums are
//! added up. So there are no frames and no joins. A lane has a stack of calls that have not begun, and goes down into one after the other; what
//! stands on its stack at the end of an epoch is anybody's.
//!
//! | file | its idea |
//! |---|---|
//! | [`traps`] | loops and functions that may trap |
//! | [`open`] | functions that are a loop |
//! | [`find`](mod@find) | functions that are a tally |
//! | [`code`] | what a call does until its own calls begin |
//! | [`kernel`](mod@kernel) | the kernel of an epoch |
//! | [`planner`](mod@planner) | the kernel between two |
//! | [`lane`] | what code of a lane needs the names of |
//! | [`stack`](mod@stack) | what lanes have left for later |
//! | [`memory`] | what stands where in the buffers |
//!
//! The host does what there is around a tally, on the reference machine: that must be little, and few calls.

mod code;
mod find;
mod kernel;
mod lane;
pub mod memory;
mod open;
mod planner;
pub mod runner;
mod stack;
mod traps;

use crate::{Failure, Refusal};
use find::Found;
pub use find::Monoid;
use girih_base::idx::IndexVec;
use girih_base::name::Name;
use girih_ir::{Function, FunctionId, Module, Space, Verified, verify};
use std::collections::HashSet;

/// The form of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Invocations of a workgroup.
    pub workgroup: u32,
    /// How many calls a lane's stack has room for: a power of 2.
    pub stack: u32,
    /// How many words of shared memory a lane has for the newest of them.
    pub near: u32,
    /// Steps of a round.
    pub steps: u32,
}

/// Reducers as kernels.
#[derive(Debug)]
pub struct Reducers {
    /// The kernels.
    pub module: Verified<Module>,
    /// Stands before each epoch of any tally.
    pub plan: FunctionId,
    /// One for each operation and set of functions.
    pub all: Vec<Tally>,
}

/// Functions that are a tally, as a kernel.
#[derive(Debug)]
pub struct Tally {
    /// Goes on for one epoch.
    pub run: FunctionId,
    /// How each result is put together.
    pub monoids: Vec<Monoid>,
    /// Words of a task.
    pub width: u32,
    /// Bytes of shared memory.
    pub shared: u64,
    /// The functions that are called from outside, and their numbers as heads.
    pub entries: Vec<(FunctionId, u32)>,
}

/// Lowers all tallies that a call of a function in task form gets to.
///
/// # Errors
/// If there are none.
pub fn lower(module: &Module, entry: FunctionId, form: &Form) -> Result<Reducers, Failure> {
    let before = module.functions.len();
    let is_recursive = girih_base::cycles::on_cycle(&callees(module));
    let mut module = module.clone();
    traps::as_numbers(&mut module, entry);
    open::open_loops(&mut module, |id| is_recursive[id]);
    let module = &module;
    let edges = callees(module);
    let framed = super::forkjoin::framed(module, &[entry]);
    let recursive = girih_base::cycles::on_cycle(&edges);
    let mut out = Module::default();
    let pure = super::forkjoin::copy_pure(module, &framed, &mut out);
    let (mut all, mut tried) = (vec![], HashSet::new());
    let mut why = Refusal::new("there is no recursion in it");
    let (mut seen, mut next) = (HashSet::from([entry]), vec![entry]);
    while let Some(id) = next.pop() {
        if recursive[id] {
            let ids = reached(id, &edges, &framed);
            // Functions that are new begin anew; nobody else calls them.
            let callable: Vec<FunctionId> =
                ids.iter().copied().filter(|id| id.index() < before && recursive[*id]).collect();
            let found = match tried.insert(ids.clone()) {
                true => find::find(module, &ids, &framed),
                false => continue,
            };
            match found.and_then(|found| tally(module, &found, &pure, form, (&callable, &mut out))) {
                Ok(found) => {
                    all.push(found);
                    continue;
                }
                Err(refusal) => why = refusal,
            }
        }
        next.extend(gets_to(module, id).filter(|other| seen.insert(*other)));
    }
    if all.is_empty() {
        return Err(why.into());
    }
    let plan = out.functions.push(planner::planner());
    Ok(Reducers { module: verify(out).map_err(Failure::Wrong)?, plan, all })
}

fn callees(module: &Module) -> IndexVec<FunctionId, Vec<FunctionId>> {
    module.functions.iter().map(|function| function.callees()).collect()
}

/// The functions that one calls, and those of globals that it asks for.
fn gets_to(module: &Module, id: FunctionId) -> impl Iterator<Item = FunctionId> + use<> {
    let function = &module.functions[id];
    let mut found = function.callees();
    function.walk(function.body, &mut |_, inst| {
        found.extend(inst.global().map(|global| module.globals[global].function));
    });
    found.into_iter()
}

/// What a function gets to of functions that cannot be called as plain ones, in their order.
fn reached(
    id: FunctionId,
    edges: &IndexVec<FunctionId, Vec<FunctionId>>,
    framed: &HashSet<FunctionId>,
) -> Vec<FunctionId> {
    let (mut found, mut next) = (vec![id], vec![id]);
    while let Some(id) = next.pop() {
        for callee in edges[id].iter().filter(|callee| framed.contains(callee)) {
            if !found.contains(callee) {
                found.push(*callee);
                next.push(*callee);
            }
        }
    }
    found.sort_unstable();
    found
}

/// Writes the kernel of a tally: once to see which functions must be heads, and once as it is.
fn tally(
    module: &Module,
    found: &Found,
    pure: &IndexVec<FunctionId, Option<FunctionId>>,
    form: &Form,
    (callable, out): (&[FunctionId], &mut Module),
) -> Result<Tally, Refusal> {
    let mut heads: Vec<FunctionId> = vec![];
    let calls_itself = |id: &FunctionId| module.functions[*id].callees().contains(id);
    let mut ids: Vec<FunctionId> = found.sums.keys().copied().collect();
    ids.sort_unstable();
    heads.extend(ids.iter().filter(|id| calls_itself(id)));
    while let Some(id) = uncut(module, &ids, &heads) {
        heads.push(id);
    }
    let width = 1 + ids.iter().map(|id| module.functions[*id].params.len()).max().unwrap_or(0) as u32;
    let mut pushes = 1;
    loop {
        let entries: Vec<FunctionId> =
            heads.iter().copied().chain(callable.iter().copied().filter(|id| !heads.contains(id))).collect();
        let has_heads = heads.len() > 1;
        let near = stack::Stack::near_room(form, width, has_heads, pushes);
        let near = near.ok_or(Refusal::new("its functions are given too much"))?;
        let (b, lane) = lane::Lane::new(form, width, has_heads, near);
        let (heads_now, left) = (heads.clone(), code::MOST);
        let writer = code::StepWriter {
            b,
            module,
            found,
            pure,
            heads: &heads_now,
            entries: &entries,
            lane,
            left,
            measured: code::Measured::default(),
        };
        let (mut function, measured) = kernel::kernel(writer, form, pushes)?;
        if measured.calls < 2 {
            return Err(Refusal::new("its calls are a chain"));
        }
        if let Some(missing) = measured.missing {
            heads.push(missing);
        } else if measured.pushes as u32 > pushes {
            pushes = measured.pushes as u32;
            if 2 * pushes > form.stack {
                return Err(Refusal::new("its functions call too many others"));
            }
        } else {
            let first = ids.first().map_or("", |id| module.functions[*id].name.as_str());
            function.name = free_name(&out.functions, &format!("run.{first}"));
            let run = out.functions.push(function);
            let entries = callable.iter().filter_map(|id| {
                let number = entries.iter().position(|entry| entry == id)?;
                Some((*id, number as u32))
            });
            let memories = &out.functions[run].memories;
            let shared = memories.iter().filter(|memory| memory.space == Space::Shared);
            let words = shared.filter_map(|memory| out.functions[run].as_constant(memory.length));
            let shared = 4 * words.sum::<u64>();
            return Ok(Tally { run, monoids: found.monoids.clone(), width, shared, entries: entries.collect() });
        }
    }
}

/// A name that no function has yet: two tallies may begin with the same function.
fn free_name(functions: &IndexVec<FunctionId, Function>, wanted: &str) -> Name {
    let is_free = |name: &String| functions.iter().all(|function| *function.name != **name);
    let numbered = (2u32..).map(|number| format!("{wanted}.{number}"));
    let name = std::iter::once(wanted.to_owned()).chain(numbered).find(is_free);
    Name::from(name.unwrap_or_else(|| wanted.to_owned()))
}

/// A function that gets to itself without any of the heads.
fn uncut(module: &Module, ids: &[FunctionId], heads: &[FunctionId]) -> Option<FunctionId> {
    let is_between = |id: &FunctionId| ids.contains(id) && !heads.contains(id);
    let edges: IndexVec<FunctionId, Vec<FunctionId>> = module
        .functions
        .iter_enumerated()
        .map(|(id, function)| match is_between(&id) {
            true => function.callees().into_iter().filter(is_between).collect(),
            false => vec![],
        })
        .collect();
    let on_cycle = girih_base::cycles::on_cycle(&edges);
    ids.iter().copied().find(|id| on_cycle[*id])
}

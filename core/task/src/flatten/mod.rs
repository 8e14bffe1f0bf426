//! Task form to kernel form, for programs whose calls do the same everywhere: *sweeps*.
//!
//! A recursion that forks into two calls of one function, whose course does not depend on what only the device knows (a depth that is counted
//! down, a tree of a form that is known), needs no queues and no frames that wait: all calls of one depth are *instances* of one step, and
//! instance i calls the instances 2i and 2i + 1 of the next one. So the host evaluates the program once, for all instances at a time, on
//! what it knows: numbers that decide, and the shapes of cells. What it does not know becomes code, segments, that a step runs for
//! each instance. What comes out is a plan: which segment runs when, and for how many instances.
//!
//! (Flattening of nested parallelism: Blelloch, *NESL*, 1992; the rest is partial evaluation.)
//!
//! | file | its idea |
//! |---|---|
//! | [`exits`] | functions that end in one place |
//! | [`selects`] | short choices that become selections |
//! | [`known`](mod@known) | what the host knows of a value |
//! | [`place`] | where cells stand |
//! | [`relevance`] | parameters that decide |
//! | [`evaluate`] | evaluation of functions for all instances |
//! | [`control`] | choices and loops |
//! | [`cells`] | words and cells |
//! | [`shares`] | words of cells that others have too |
//! | [`calls`] | calls in place, and calls that have frames |
//! | [`script`] | what is done for a call |
//! | [`code`] | the code of a segment |
//! | [`stores`] | its cells in memory |
//! | [`plan`] | scripts put in line |
//! | [`kernel`] | the kernel |
//! | [`memory`] | what stands where in the buffers |
//! | [`batches`] | dispatches that a device is given at once |
//! | [`runner`] | runs on a device |
//!
//! What cannot be done in step is refused before anything runs; [`epochs`](super::forkjoin) do it then.

mod batches;
mod calls;
mod cells;
mod code;
mod control;
mod evaluate;
mod exits;
mod kernel;
pub mod known;
pub mod memory;
pub mod place;
pub mod plan;
mod relevance;
pub mod runner;
mod script;
mod selects;
mod shares;
mod stores;

use crate::heap::cells::first_unit;
use crate::{Failure, Refusal};
use code::Rooms;
use evaluate::Sweeper;
use girih_ir::{Function, FunctionId, Module, Type, ValueId, Verified, heap, verify};
use known::{Known, Shapes};
use plan::Plan;
use std::cell::Cell;
use std::rc::Rc;

/// Instances for each lane at most, as a binary logarithm.
const BEYOND: u32 = 6;

/// A plan of more phases than this is refused if a phase has, on average, instances for less than one lane in so many. A phase takes a microsecond
/// on a card; where few lanes have work in it, lanes that go on by themselves are faster.
const MANY_PHASES: usize = 1 << 12;
const ONE_LANE_IN: u64 = 1 << 10;

/// How a program becomes sweeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Invocations of a workgroup, as a binary logarithm.
    pub workgroup: u32,
    /// Workgroups, likewise.
    pub groups: u32,
    /// How many instances the widest step must have at least, likewise: a phase of two is slower than a lane that goes on by itself.
    pub narrowest: u32,
    /// Most instances of a step, likewise: if there are more than lanes, each lane has several, one after another.
    pub levels: u32,
    /// The operations of a call that is made in place although it could be shared out.
    pub small: usize,
    /// The operations of a call that is made in place where there is an instance for each lane.
    pub large: usize,
    /// The operations of what an instance does on its own, at most.
    pub most: usize,
    /// The instructions that are evaluated to find out what is done, at most.
    pub work: u64,
    /// The instructions of a function that is evaluated in the frame of who calls it, although calls in it have frames.
    pub function: usize,
    /// Most rounds of a loop that has calls with frames.
    pub rounds: usize,
    /// Most calls that are nested.
    pub depth: u32,
    /// Most scripts.
    pub scripts: usize,
    /// The instructions of all segments, at most: drivers compile larger kernels for seconds, and lanes wait for their code.
    pub code: usize,
    /// Most steps.
    pub steps: usize,
    /// Whether what is known of where cells stand is used.
    pub places: bool,
    /// Whether numbers also decide where each instance can choose on its own.
    pub decide: bool,
    /// The instructions of all copies of a function that loops call, at most; it is called otherwise.
    pub copies: usize,
}

impl Options {
    /// For so many workgroups of so many invocations, as binary logarithms.
    pub fn new(workgroup: u32, groups: u32) -> Options {
        // One workgroup holds all instances of phases that are not shared out.
        let groups = groups.min(workgroup + 1);
        Options {
            workgroup,
            groups,
            narrowest: 2,
            levels: workgroup + groups + BEYOND,
            small: 48,
            large: 600,
            most: 4000,
            work: 1 << 18,
            function: 60,
            rounds: 1 << 16,
            depth: 200,
            scripts: 20_000,
            code: 1 << 14,
            steps: 1 << 20,
            places: true,
            decide: true,
            copies: 3000,
        }
    }

    /// How many lanes there are, as a binary logarithm.
    pub fn lanes(&self) -> u32 {
        self.workgroup + self.groups
    }
    /// With kernels that compile fast, for software adapters.
    #[must_use]
    pub fn small(self) -> Options {
        Options { large: 100, copies: 0, ..self }
    }
}

/// A program as sweeps.
#[derive(Debug)]
pub struct Flattened {
    /// The kernel, and what it calls.
    pub module: Verified<Module>,
    /// The kernel.
    pub kernel: FunctionId,
    /// What it does.
    pub plan: Plan,
    /// What the plan is for: what is known of the arguments. Those that are not known wholly stand in the first words of frames.
    pub arguments: Vec<Known>,
    /// What is known of the results: those that are not known wholly stand in the words of frames behind the arguments.
    pub results: Vec<Known>,
    /// The shapes that are known.
    pub shapes: Shapes,
}

impl Flattened {
    /// Whether the plan is for a call with these arguments, too.
    pub fn fits(&self, arguments: &[u32]) -> bool {
        let mut both = self.arguments.iter().zip(arguments);
        self.arguments.len() == arguments.len()
            && both.all(|(known, word)| known.bits().is_none_or(|bits| bits == *word))
    }
    /// The words of the results, as far as they are known.
    pub fn known_results(&self) -> impl Iterator<Item = Option<u32>> {
        let placed = |known: &Known| self.shapes.address(*known, 0).map(|address| address.word(0));
        self.results.iter().map(move |known| known.bits().or_else(|| placed(known)))
    }
}

/// What is known of the arguments of a call: numbers that decide, and words that name no cells.
fn known(function: &Function, decides: &[bool], arguments: &[u32]) -> Vec<Known> {
    let known = |((param, decides), word): ((&ValueId, &bool), &u32)| match function.ty(*param) {
        Type::Term if heap::tag(*word) < heap::CELL => Known::Word(*word),
        Type::U32 | Type::I32 | Type::F32 | Type::BOOL if *decides => Known::Number(*word),
        _others => Known::Unknown,
    };
    function.params.iter().zip(decides).zip(arguments).map(known).collect()
}

/// Lowers the call of a function, for these arguments and all that decide the same.
///
/// # Errors
/// If what it does depends on what only the device knows.
pub fn lower(module: &Module, entry: FunctionId, arguments: &[u32], options: &Options) -> Result<Flattened, Failure> {
    let refused = |why: &'static str| Failure::Refused(Refusal::new(why));
    let mut module = module.clone();
    super::loops::accumulate::accumulate(&mut module);
    let mut module = with_one_exit(&module);
    module.functions.iter_mut().filter(|function| function.launch.is_none()).for_each(selects::select);
    if module.functions[entry].params.len() != arguments.len() {
        return Err(refused("it is called with another number of arguments"));
    }
    // Where every call is told apart by where its cells stand, or by its numbers, there may be too many. Without the numbers there may be more to do.
    // A plan that is found late is one of a program that has little to tell apart: each attempt may take less time than the one before.
    let attempts = [(true, true, 1), (false, true, 3), (true, false, 8), (false, false, 8)];
    let mut refusal = None;
    for (places, decide, share) in attempts.into_iter().filter(|(places, ..)| *places <= options.places) {
        let (work, scripts) = (options.work / share, options.scripts / share as usize);
        let options = Options { places, decide, work, scripts, ..*options };
        match planned(&module, entry, arguments, &options) {
            Err(Failure::Refused(why)) if decide => refusal = Some(why),
            Err(Failure::Refused(_)) => {}
            done => return done,
        }
    }
    Err(Failure::Refused(refusal.unwrap_or_else(|| Refusal::new("there is nothing to try"))))
}

fn planned(module: &Module, entry: FunctionId, arguments: &[u32], options: &Options) -> Result<Flattened, Failure> {
    let mut out = Module::default();
    let pure = super::forkjoin::pure(module, entry, &mut out);
    let first = out.functions.len();
    let first_unit = u64::from(first_unit(module));
    let rooms: Rooms = options.places.then(|| Rc::new(Cell::new(first_unit)));
    let mut sweeper = Sweeper::new(module, &pure, *options, rooms.clone());
    let arguments = known(&module.functions[entry], &sweeper.relevance[entry], arguments);
    let root = sweeper.script(entry, &arguments, 0).map_err(Failure::Refused)?;
    let units = rooms.map_or(first_unit, |rooms| rooms.get());
    let plan = plan::plan(&sweeper.scripts, root, units, options.steps).map_err(Failure::Refused)?;
    let phases = plan.phases.len();
    let is_narrow = plan.instances() < (phases as u64 * (1 << options.lanes())) / ONE_LANE_IN;
    if plan.widest() < options.narrowest || (phases > MANY_PHASES && is_narrow) {
        return Err(Failure::Refused(Refusal::new("too few lanes would have work at a time")));
    }
    sweeper.fits().map_err(Failure::Refused)?;
    let results = sweeper.scripts[root].results.clone();
    let shapes = std::mem::take(&mut sweeper.shapes);
    let segments = std::mem::take(&mut sweeper.segments);
    let count = segments.len();
    for segment in segments {
        out.functions.push(segment);
    }
    let kernel = out.functions.push(kernel::kernel(1 << options.workgroup, first, count));
    for function in out.functions.iter_mut().filter(|function| function.launch.is_none()) {
        girih_lower::simplify::sinking::run(function);
    }
    girih_lower::calls::inline::in_loops(&mut out, options.copies).map_err(|error| Failure::Wrong(vec![error]))?;
    // Behind it: what loops call has loops.
    for function in out.functions.iter_mut().filter(|function| function.launch.is_none()) {
        girih_lower::simplify::merging::run(function, Some(code::FUEL));
    }
    let module = verify(out).map_err(Failure::Wrong)?;
    Ok(Flattened { module, kernel, plan, arguments, results, shapes })
}

/// The same module of functions that end in one place.
#[doc(hidden)]
pub fn with_one_exit(module: &Module) -> Module {
    let mut changed = module.clone();
    for (id, function) in module.functions.iter_enumerated() {
        // Kernels and what works on memory are not in task form.
        if function.launch.is_none() && function.memories.is_empty() {
            changed.functions[id] = exits::one_exit(module, function);
        }
    }
    changed
}

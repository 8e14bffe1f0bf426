//! Where the time and the memory of a program go, definition by definition, and which of its calls cost time because they wait for each other.
//!
//! | what | see |
//! |---|---|
//! | the run, and figures of each definition | this file |
//! | calls that ran one after another | [`chains`] |
//! | the flame graph | [`flame`] |
//!
//! Invariant: what all definitions took by themselves, with what the host took, adds up to the run's time.

mod chains;
mod flame;

pub use chains::{Chain, Link};
pub use flame::draw;

use crate::devices::cpu;
use crate::parallelism::{base, is_part, place};
use crate::run::{RunOptions, task_options};
use girih_base::diag::Diagnostic;
use girih_base::name::Name;
use girih_base::span::Sources;
use girih_ir::{Module, Verified};
use girih_runtime::{CallTree, Label};
use girih_task::flow::Root;
use girih_term::Program;
use girih_term::code::Code;
use girih_term::eval::{Limits, Machine};
use girih_term::io::Host;
use std::collections::{HashMap, HashSet};

/// What the run took outside of all definitions.
pub const HOST: &str = "(input, output, printing)";

/// A profile of a run on one core.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The program's value, as `girih run` prints it.
    pub text: String,
    /// Seconds that the run took.
    pub seconds: f64,
    /// How often it was looked what runs; the times are as exact as this number allows.
    pub samples: u64,
    /// The definitions that ran, and the host: the one that took longest by itself first.
    pub definitions: Vec<Definition>,
    /// Chains of definitions that called each other; each stands behind the one that it goes on from. The first is the host.
    pub frames: Vec<Frame>,
    /// Calls that ran one after another, because each needs what one before gives: what took longest first.
    pub chains: Vec<Chain>,
    /// Whether there were too many chains to keep: figures by definition are right by themselves, but what a definition took with others is too little.
    pub is_full: bool,
}

/// What a definition took.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its name, or [`HOST`].
    pub name: String,
    /// File, line and column; none of the host.
    pub place: Option<String>,
    /// How often it was called.
    pub calls: u64,
    /// How many cells it made: constructors and closures in memory.
    pub cells: u64,
    /// Seconds without what it called.
    pub own: f64,
    /// Seconds with what it called.
    pub total: f64,
}

/// What a chain of definitions took. A definition that is called within itself goes on in the chain that it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The last definition of the chain.
    pub name: String,
    /// The chain before it.
    pub caller: Option<usize>,
    /// How often it was called there.
    pub calls: u64,
    /// How many cells it made there.
    pub cells: u64,
    /// Seconds without what it called.
    pub own: f64,
    /// Seconds with what it called.
    pub total: f64,
}

impl Profile {
    /// Runs a program on one core, and looks what runs.
    pub(crate) fn of(
        program: &Program,
        sources: &Sources,
        host: &mut dyn Host,
        options: &RunOptions,
    ) -> Result<Profile, Vec<Diagnostic>> {
        let code = Code::new(program)?;
        let roots: Vec<Root> = code.program().entry.iter().map(|def| Root { def: *def, arguments: vec![] }).collect();
        let direct = girih_task::compile_in_order(&code, &roots)?;
        let (names, labels) = labels(code.program(), &direct.module);
        let tasks = girih_runtime::TaskOptions { profile: Some(labels.into()), ..task_options(options) };
        let mut runner = cpu::runner(&direct.module, &tasks).map_err(|error| vec![error])?;
        let limits = Limits { memory: options.memory, interrupt: options.interrupt.clone(), ..Limits::default() };
        let mut machine = Machine::new(&code, limits);
        let text = girih_task::run::run(&mut machine, &direct, &mut *runner, host, options.interrupt.clone())
            .map_err(|error| vec![error])?;
        let tree = runner.profile().unwrap_or_default();
        let mut profile = Profile::from(&tree, text, &names, code.program(), sources);
        let (found, _) = girih_task::discovered(&code, &roots);
        profile.chains = chains::chains(&profile, code.program(), &found, sources);
        Ok(profile)
    }

    fn from(tree: &CallTree, text: String, names: &[Name], program: &Program, sources: &Sources) -> Profile {
        let name = |label: Option<u32>| match label.and_then(|label| names.get(label as usize)) {
            Some(name) => name.to_string(),
            None => HOST.to_owned(),
        };
        let totals = tree.totals();
        let frames: Vec<Frame> = tree
            .frames
            .iter()
            .zip(&totals)
            .map(|(frame, total)| Frame {
                name: name(frame.label),
                caller: frame.caller,
                calls: frame.calls,
                cells: frame.cells,
                own: frame.own.as_secs_f64(),
                total: total.as_secs_f64(),
            })
            .collect();
        let definitions = by_definition(&frames, program, sources);
        let (seconds, samples, is_full) = (tree.time().as_secs_f64(), tree.samples, tree.is_full);
        Profile { text, seconds, samples, definitions, frames, chains: vec![], is_full }
    }

    /// A part of the run's time, in percent.
    pub fn percent(&self, seconds: f64) -> f64 {
        100.0 * seconds / self.seconds.max(1e-12)
    }
}

/// The names of the definitions that functions of a module are made of, and the label of each function. What is made of none, such as arithmetic, has no label.
fn labels(program: &Program, module: &Verified<Module>) -> (Vec<Name>, Vec<Option<Label>>) {
    let all: HashSet<String> = program.defs.iter().map(|def| def.name.to_string()).collect();
    let mut names: Vec<Name> = vec![];
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut label = |name: &str| {
        let def = base(name, &all);
        if !all.contains(def) {
            return None;
        }
        // What applies a program to its arguments is a part of the definition that is applied.
        let (def, is_applied) = match def.strip_suffix("__run").filter(|def| all.contains(*def)) {
            Some(applied) => (applied, true),
            None => (def, false),
        };
        let number = *numbers.entry(def.to_owned()).or_insert_with(|| {
            names.push(Name::from(def));
            names.len() as u32 - 1
        });
        Some(Label { number, is_call: !is_applied && !is_part(&name[def.len()..]) })
    };
    let labels = module.functions.iter().map(|function| label(&function.name)).collect();
    (names, labels)
}

/// What each definition took: the sums over its frames. No frame of a definition is within another one, so its totals may be added.
fn by_definition(frames: &[Frame], program: &Program, sources: &Sources) -> Vec<Definition> {
    let places: HashMap<&str, String> = program.defs.iter().map(|def| (&*def.name, place(sources, def.span))).collect();
    let mut rows: Vec<Definition> = vec![];
    let mut found: HashMap<&str, usize> = HashMap::new();
    for frame in frames {
        let at = *found.entry(&frame.name).or_insert_with(|| {
            let place = places.get(&*frame.name).cloned();
            rows.push(Definition { name: frame.name.clone(), place, calls: 0, cells: 0, own: 0.0, total: 0.0 });
            rows.len() - 1
        });
        let row = &mut rows[at];
        row.calls += frame.calls;
        row.cells += frame.cells;
        row.own += frame.own;
        // The host's is that of everything.
        row.total += if frame.caller.is_none() { frame.own } else { frame.total };
    }
    rows.sort_by(|a, b| b.own.total_cmp(&a.own).then_with(|| a.name.cmp(&b.name)));
    rows
}

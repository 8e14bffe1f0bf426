//! A program: opened, checked, printed, run.

use crate::loader::{FileLoader, TextLoader};
use crate::report::Report;
use crate::stack::on_big_stack;

use girih_core::bend::loader::Loader;
use girih_core::bend::{Compilation, Options, compile, printer};
use girih_core::diag::{Diagnostic, Severity};
use girih_core::ir::tasks::{self, TaskMachine};
use girih_core::runtime::TaskOptions;
use girih_core::term;
use girih_core::term::code::Code;
use girih_core::term::eval::{Limits, Machine};
use girih_core::term::io::Host;
use girih_core::term::readback;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A program that was read and compiled as far as its mistakes allow.
#[derive(Debug)]
pub struct Program {
    compilation: Compilation,
}

/// How a program is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The most bytes that its data may take.
    pub memory: u64,
    /// Raised from outside to stop it.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions { memory: 4 << 30, interrupt: None }
    }
}

/// What a program gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its value, as `girih run` prints it.
    pub text: String,
    /// What it took.
    pub stats: Stats,
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Seconds from the first step to the printed value.
    pub seconds: f64,
    /// What the evaluator did.
    pub machine: girih_core::term::eval::Stats,
}

impl std::fmt::Display for Stats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let m = &self.machine;
        writeln!(f, "time:        {:.3} s", self.seconds)?;
        writeln!(
            f,
            "calls:       {} ({:.1} million a second)",
            m.calls,
            m.calls as f64 / self.seconds.max(1e-9) / 1e6
        )?;
        writeln!(f, "allocated:   {} cells, {:.1} MiB", m.cells, mib(m.words * 8))?;
        writeln!(f, "collections: {} small, {} full", m.minor_collections, m.full_collections)?;
        write!(f, "largest:     {:.1} MiB of live data, {:.1} MiB of stack", mib(m.largest_live), mib(m.largest_stack))
    }
}

impl Program {
    /// Reads and compiles the program whose main file is at `path`. Mistakes do not stop this: [`check`](Self::check) tells.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Program {
        Program::load(&FileLoader::new(path.as_ref()), options)
    }

    /// Compiles a program that is one text, shown to people as `name`.
    pub fn from_text(name: &str, text: &str, options: &Options) -> Program {
        Program::load(&TextLoader::new(name, text), options)
    }

    /// Reads and compiles a program from anywhere.
    pub fn load(loader: &(dyn Loader + Sync), options: &Options) -> Program {
        Program { compilation: on_big_stack(|| compile(loader, options)) }
    }

    /// What the compiler says: errors and warnings.
    pub fn report(&self) -> Report {
        self.report_of(self.compilation.diagnostics.clone())
    }

    /// Whether the program can be run; if not, why.
    pub fn check(&self) -> Result<(), Report> {
        self.core_program().map(|_| ())
    }

    /// The syntax tree of the main file, printed as Bend.
    pub fn syntax(&self) -> Result<String, Report> {
        let syntax_error =
            |d: &Diagnostic| d.severity == Severity::Error && matches!(d.code.stage(), girih_core::diag::Stage::Syntax);
        match self.compilation.modules.first() {
            Some((_, module)) if !self.compilation.diagnostics.iter().any(syntax_error) => {
                Ok(on_big_stack(|| printer::print_module(module)))
            }
            Some(_) | None => Err(self.report()),
        }
    }

    /// The lambda core of the whole program, printed.
    pub fn core(&self) -> Result<String, Report> {
        let program = self.core_program()?;
        Ok(on_big_stack(|| term::print::print_program(program)))
    }

    /// The functions that the program is compiled to, as text of the IR in task form.
    pub fn ir(&self) -> Result<String, Report> {
        let program = self.core_program()?;
        let compiled = on_big_stack(|| {
            let code = Code::new(program)?;
            let direct = girih_core::direct::compile(&code)?;
            Ok(girih_core::ir::text::print(&direct.module))
        });
        compiled.map_err(|diagnostics| self.report_of(diagnostics))
    }

    /// Runs the compiled program on the reference machine of the IR: slowly, and with a look at every access.
    pub fn run_on_reference(
        &self,
        host: &mut (dyn Host + Send),
        options: &RunOptions,
        settings: &tasks::Settings,
    ) -> Result<String, Report> {
        let program = self.core_program()?;
        let run = || {
            let code = Code::new(program)?;
            let direct = girih_core::direct::compile(&code)?;
            let tasks =
                TaskOptions { memory: options.memory, interrupt: options.interrupt.clone(), ..TaskOptions::default() };
            let mut runner = TaskMachine::new(&direct.module, tasks, *settings).map_err(|error| vec![error])?;
            let limits = Limits { memory: options.memory, interrupt: options.interrupt.clone(), ..Limits::default() };
            let mut machine = Machine::new(&code, limits);
            girih_core::direct::run::run(&mut machine, &direct, &mut runner, host, options.interrupt.clone()).map_err(|error| vec![error])
        };
        on_big_stack(run).map_err(|diagnostics| self.report_of(diagnostics))
    }

    /// Runs the program. Its effects go through `host`.
    pub fn run(&self, host: &mut (dyn Host + Send), options: &RunOptions) -> Result<Outcome, Report> {
        let program = self.core_program()?;
        on_big_stack(|| run(program, host, options)).map_err(|diagnostics| self.report_of(diagnostics))
    }

    /// The core of a program without errors.
    pub fn core_program(&self) -> Result<&term::Program, Report> {
        self.compilation.program.as_ref().ok_or_else(|| self.report())
    }

    fn report_of(&self, diagnostics: Vec<Diagnostic>) -> Report {
        Report { sources: self.compilation.sources.clone(), diagnostics }
    }
}

/// Runs the entry of a program, its effects, and prints its value.
fn run(program: &term::Program, host: &mut dyn Host, options: &RunOptions) -> Result<Outcome, Vec<Diagnostic>> {
    let code = Code::new(program)?;
    let limits = Limits { memory: options.memory, interrupt: options.interrupt.clone(), ..Limits::default() };
    let started = Instant::now();
    let mut machine = Machine::new(&code, limits);
    let text = match program.entry {
        None => return Err(vec![]),
        Some(entry) => evaluate(&mut machine, entry, host).map_err(|error| vec![error])?,
    };
    Ok(Outcome { text, stats: Stats { seconds: started.elapsed().as_secs_f64(), machine: machine.stats() } })
}

fn evaluate(machine: &mut Machine, entry: term::DefId, host: &mut dyn Host) -> Result<String, Diagnostic> {
    let value = machine.call(entry, &[]).and_then(|value| machine.run_io(value, host));
    // What the program has written comes before its value, and before what is said of its failure. A reader that has gone
    // away is none of the program's mistakes.
    let _ = host.flush(1);
    readback::show(machine, value?)
}

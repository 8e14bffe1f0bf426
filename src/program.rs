//! A Bend program, which can be opened, checked, printed and run.

use crate::devices::cpu;
use crate::error::Error;
use crate::kernels::Kernels;
use crate::loader::{FileLoader, TextLoader};
#[cfg(feature = "net")]
use crate::nets::NetForm;
use crate::parallelism::Parallelism;
use crate::profile::Profile;
use crate::render::Shader;
use crate::report::Report;
use crate::run::{Executable, RunOptions, Stats, kernels_of_call};
use crate::stack::on_big_stack;

use girih_base::diag::{Diagnostic, Severity};
use girih_base::span::Sources;
use girih_bend::loader::Loader;
use girih_bend::{Compilation, Options, compile, printer};
use girih_ir::text;
use girih_task::flow::Root;
use girih_task::lower::Direct;
use girih_term::DefId;
use girih_term::code::Code;
use girih_term::io::Host;
use girih_term::reachability::reach;
use std::path::Path;
use web_time::Instant;

/// A program that was read and compiled as far as its mistakes allow.
#[derive(Debug)]
pub struct Program {
    compilation: Compilation,
    /// Seconds that reading and checking it took.
    seconds: f64,
}

/// What a program gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its value, as `girih run` prints it.
    pub text: String,
    /// What it took.
    pub stats: Stats,
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
        let started = Instant::now();
        let compilation = on_big_stack(|| compile(loader, options));
        Program { compilation, seconds: started.elapsed().as_secs_f64() }
    }

    /// What was compiled in so many seconds.
    pub(crate) fn of(compilation: Compilation, seconds: f64) -> Program {
        Program { compilation, seconds }
    }

    /// The files that the program was compiled from.
    pub fn sources(&self) -> &Sources {
        &self.compilation.sources
    }

    /// What the compiler says: errors and warnings.
    pub fn report(&self) -> Report {
        Report { sources: self.compilation.sources.clone(), diagnostics: self.compilation.diagnostics.clone() }
    }

    /// Whether the program can be run; if not, why.
    pub fn check(&self) -> Result<(), Error> {
        self.core_program().map(|_| ())
    }

    /// The syntax tree of the main file, printed as Bend.
    pub fn syntax(&self) -> Result<String, Error> {
        let syntax_error =
            |d: &Diagnostic| d.severity == Severity::Error && matches!(d.code.stage(), girih_base::diag::Stage::Syntax);
        match self.compilation.modules.first() {
            Some((_, module)) if !self.compilation.diagnostics.iter().any(syntax_error) => {
                Ok(on_big_stack(|| printer::print_module(module)))
            }
            Some(_) | None => Err(self.report().into()),
        }
    }

    /// The lambda core of the whole program, printed.
    pub fn core(&self) -> Result<String, Error> {
        let program = self.core_program()?;
        Ok(on_big_stack(|| girih_term::print::print_program(program)))
    }

    /// The functions that the program is compiled to, as text of the IR in task form.
    pub fn ir(&self) -> Result<String, Error> {
        match (self.core_program()?.entry, Shader::new(self)) {
            (None, Ok(shader)) => shader.ir(),
            (Some(_), _) | (None, Err(_)) => self.emit(|direct| Ok(text::print(&direct.module))),
        }
    }

    /// Which calls of the program run at the same time, and which stay in order and why.
    ///
    /// ```
    /// use girih::{Options, Program};
    ///
    /// let text = "def fib(n):\n  if n < 2:\n    return n\n  else:\n    return fib(n - 1) + fib(n - 2)\n\ndef main():\n  return fib(fib(7))\n";
    /// let found = Program::from_text("fib.bend", text, &Options::default()).parallelism()?;
    /// assert_eq!(found.together[0].calls, ["fib", "fib"]);
    /// assert_eq!(found.in_order[0].on, ("fib".to_owned(), "8:14".to_owned()));
    /// # Ok::<(), girih::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the program has errors, or only nets can run it.
    pub fn parallelism(&self) -> Result<Parallelism, Error> {
        let program = self.core_program()?;
        let found = on_big_stack(|| {
            let code = Code::new(program)?;
            let roots: Vec<DefId> = code.program().entry.into_iter().collect();
            let reached = reach(code.program(), &roots)?;
            let direct = girih_task::compile(&code)?;
            let whole = |def: DefId| Root { def, arguments: vec![] };
            let (found, _) = girih_task::discovered(&code, &roots.into_iter().map(whole).collect::<Vec<_>>());
            Ok(Parallelism::of(code.program(), &found, &reached, &direct.module, &self.compilation.sources))
        });
        found.map_err(|diagnostics| self.error(diagnostics))
    }

    /// The native code that the program is compiled to, as Cranelift's text.
    pub fn clif(&self) -> Result<String, Error> {
        self.emit(|direct| cpu::emit_tasks(&direct.module).map_err(|error| vec![error]))
    }

    /// The interaction net that the program is.
    ///
    /// # Errors
    /// If the program has errors.
    #[cfg(feature = "net")]
    pub fn net(&self, form: NetForm) -> Result<String, Error> {
        use girih_net::lower::{Calculus, lower};
        let program = self.core_program()?;
        let emitted = on_big_stack(|| {
            let lowered = match Code::new(program) {
                Ok(code) => lower(code.program(), Calculus::ByValue)?,
                Err(_) => lower(program, Calculus::Nets)?,
            };
            Ok(form.show(&lowered.text))
        });
        emitted.map_err(|diagnostics| self.error(diagnostics))
    }

    /// The kernels that a graphics card runs for the program, by the schedule that the program has there, and what they do, in some words. Of a file
    /// without `main` that is an image shader they are those for its pictures.
    ///
    /// # Errors
    /// If the program has errors.
    pub fn kernels(&self) -> Result<(Kernels, String), Error> {
        let program = self.core_program()?;
        let (module, about) = match (program.entry, Shader::new(self)) {
            (None, Ok(shader)) => shader.kernels()?,
            (Some(_), _) | (None, Err(_)) => on_big_stack(|| {
                let roots: Vec<Root> = program.entry.iter().map(|def| Root { def: *def, arguments: vec![] }).collect();
                let direct = girih_task::compile_for_lanes(&Code::new(program)?, &roots)?;
                kernels_of_call(&direct, direct.entry, &[])
            })
            .map_err(|diagnostics| self.error(diagnostics))?,
        };
        Ok((Kernels { sources: self.compilation.sources.clone(), module, runs: vec![] }, about))
    }

    fn emit(&self, print: impl FnOnce(&Direct) -> Result<String, Vec<Diagnostic>> + Send) -> Result<String, Error> {
        let program = self.core_program()?;
        let emitted = on_big_stack(|| print(&girih_task::compile(&Code::new(program)?)?));
        emitted.map_err(|diagnostics| self.error(diagnostics))
    }

    /// Makes the program ready to run.
    ///
    /// ```
    /// use girih::{Options, Program, RunOptions, SystemHost};
    ///
    /// let program = Program::from_text("sum.bend", "def main():\n  return 1 + 2\n", &Options::default());
    /// let mut executable = program.compile(&RunOptions::default())?;
    /// assert_eq!(executable.choice().tier, Some("direct"));
    /// assert_eq!(executable.run(&mut SystemHost::new())?, "3");
    /// assert!(executable.stats().seconds > 0.0);
    /// # Ok::<(), girih::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the program has errors, or cannot be run in the way that is asked for.
    pub fn compile(&self, options: &RunOptions) -> Result<Executable, Error> {
        let program = self.core_program()?;
        Executable::new(program, self.compilation.sources.clone(), options, self.seconds)
    }

    /// Runs the program. Its effects go through `host`.
    ///
    /// ```
    /// use girih::{Options, Program, RunDevice, RunOptions, SystemHost};
    ///
    /// let text = "def main():\n  return [x * x for x in [1, 2, 3]]\n";
    /// let program = Program::from_text("squares.bend", text, &Options::default());
    /// let compiled = program.run(&mut SystemHost::new(), &RunOptions::default())?;
    /// let oracle = RunOptions { device: RunDevice::Evaluator, ..RunOptions::default() };
    /// assert_eq!(program.run(&mut SystemHost::new(), &oracle)?.text, compiled.text);
    /// # Ok::<(), girih::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`compile`](Program::compile), and if the program fails, needs too much memory, or is interrupted.
    pub fn run(&self, host: &mut (dyn Host + Send), options: &RunOptions) -> Result<Outcome, Error> {
        let mut executable = self.compile(options)?;
        let text = executable.run(host)?;
        Ok(Outcome { text, stats: executable.stats().clone() })
    }

    /// Runs the program on one core, and finds out where its time and its memory go.
    ///
    /// ```
    /// use girih::{Options, Program, RunOptions, SystemHost};
    ///
    /// let text = "def fib(n):\n  if n < 2:\n    return n\n  else:\n    return fib(n - 1) + fib(n - 2)\n\ndef main():\n  return fib(15)\n";
    /// let program = Program::from_text("fib.bend", text, &Options::default());
    /// let profile = program.profile(&mut SystemHost::new(), &RunOptions::default())?;
    /// let fib = profile.definitions.iter().find(|row| row.name == "fib").expect("it has run");
    /// assert_eq!((fib.calls, fib.cells), (1973, 0));
    /// # Ok::<(), girih::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Program::run), and if only nets can run the program.
    pub fn profile(&self, host: &mut (dyn Host + Send), options: &RunOptions) -> Result<Profile, Error> {
        let program = self.core_program()?;
        let found = on_big_stack(|| Profile::of(program, &self.compilation.sources, host, options));
        found.map_err(|diagnostics| self.error(diagnostics))
    }

    /// The core of a program without errors.
    pub fn core_program(&self) -> Result<&girih_term::Program, Error> {
        self.compilation.program.as_ref().ok_or_else(|| self.report().into())
    }

    /// What is wrong with the program, at places of its sources.
    pub(crate) fn error(&self, diagnostics: Vec<Diagnostic>) -> Error {
        Error::new(self.compilation.sources.clone(), diagnostics)
    }
}

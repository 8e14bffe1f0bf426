//! `girih repl`: definitions and expressions, one after the other, each answered at once.
//!
//! In a terminal inputs are edited; from a file or a pipe they are read line by line, and nothing but values and errors is printed. Ctrl-C stops a computation and not the session.

mod commands;
mod lines;
mod terminal;

use crate::console::Console;
use crate::device::{self, Device};
use crate::exit::Exit;
use crate::memory;
use clap::Args;
use commands::{Next, command, load_file};
use girih::session::{Answer, Session};
use girih::{Code, Error, RunDevice, RunOptions, SystemHost};
use lines::InputLines;
use serde_json::json;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  girih repl                  definitions and expressions, each answered at once; `:help` lists commands
  girih repl sort.bend        with the definitions of a file
  girih repl < inputs.txt     reads inputs and prints values";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReplOptions {
    /// Programs whose definitions are loaded first
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The most memory for the data of an expression, for example 512M or 4G [default: 3/4 of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_size)]
    memory: Option<u64>,
    /// Where expressions are computed: cpu; wgpu, cuda, or wgpu:N, cuda:N, a graphics card; evaluator; interpreter
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = device::parse)]
    device: Device,
}

/// A session and how it is shown.
pub struct Repl<'c> {
    console: &'c Console,
    session: Arc<Mutex<Session>>,
    device: RunDevice,
    memory: Option<u64>,
    shows_time: bool,
    /// Raised by Ctrl-C.
    interrupt: Arc<AtomicBool>,
    /// Whether somebody types: else the standard input belongs to the session alone.
    is_typed: bool,
}

/// Where inputs come from.
enum Inputs {
    Typed(Box<Terminal>),
    Read(InputLines),
}

impl ReplOptions {
    /// Answers until the input ends.
    pub fn run(&self, console: &Console) -> Exit {
        let is_typed = io::stdin().is_terminal() && io::stdout().is_terminal() && !console.json();
        let session = Arc::new(Mutex::new(Session::new("")));
        let mut repl = Repl {
            console,
            session: Arc::clone(&session),
            device: self.device.for_programs(),
            memory: self.memory,
            shows_time: false,
            interrupt: Arc::default(),
            is_typed,
        };
        repl.listen();
        let mut has_failed = false;
        for file in &self.files {
            has_failed |= load_file(&mut repl, file) == Next::Failed;
        }
        let mut inputs = self.inputs(console, session, is_typed);
        loop {
            let input = match &mut inputs {
                Inputs::Typed(terminal) => terminal.read(),
                Inputs::Read(lines) => lines.read(),
            };
            let next = match input {
                Ok(Some(input)) => repl.answer(&input),
                Ok(None) => Next::End,
                Err(error) => return console.fail(Code::CannotRead, format!("cannot read the input: {error}"), None),
            };
            match next {
                Next::Continue => {}
                Next::Failed => has_failed = true,
                Next::End => break,
            }
        }
        // Who has typed has seen the errors.
        if has_failed && !is_typed { Exit::Failed } else { Exit::Ok }
    }

    fn inputs(&self, console: &Console, session: Arc<Mutex<Session>>, is_typed: bool) -> Inputs {
        if !is_typed {
            return Inputs::Read(InputLines::new());
        }
        console.note(&format!("Girih {}. `:help` lists commands; Ctrl-D ends the session.", env!("CARGO_PKG_VERSION")));
        let (terminal, problem) = Terminal::new(session, console.is_coloured());
        if let Some(why) = problem {
            console.note(&format!("There is no history: {why}."));
        }
        Inputs::Typed(Box::new(terminal))
    }
}

impl Repl<'_> {
    /// Has Ctrl-C stop a computation. If that does not help, the next Ctrl-C ends the process.
    fn listen(&self) {
        let flag = Arc::clone(&self.interrupt);
        // Without a handler, Ctrl-C ends the process at once, which is no worse than an error here would be.
        let _ = ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::Relaxed) {
                girih::leave(Exit::Interrupted.number().into());
            }
        });
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers an input.
    fn answer(&mut self, input: &str) -> Next {
        if input.trim_start().starts_with(':') {
            return command(self, input);
        }
        self.interrupt.store(false, Ordering::Relaxed);
        let mut host = SystemHost::new().interrupted_by(Arc::clone(&self.interrupt));
        if !self.is_typed {
            host = host.with_stdin(io::empty());
        }
        if self.console.json() {
            host = host.with_stdout(crate::console::output_objects());
        }
        let options = self.options();
        let answer = self.session().enter(input, &options, &mut host);
        // What Ctrl-C was to stop has ended.
        self.interrupt.store(false, Ordering::Relaxed);
        match answer {
            Ok(Answer::Nothing) => Next::Continue,
            Ok(Answer::Defined(names)) => self.defined(&names),
            Ok(Answer::Value { text, ty, stats }) => {
                if text != "*" || ty.is_none() || self.console.json() {
                    let shown = ty.as_ref().map_or(text.clone(), |ty| format!("{text} : {ty}"));
                    self.console.result(&shown, || json!({"kind": "value", "text": text, "type": ty}));
                }
                if self.shows_time {
                    let (compiled, ran) = (stats.compile_seconds, stats.seconds);
                    self.console.note(&format!("computed in {ran:.3} s, compiled in {compiled:.3} s"));
                }
                Next::Continue
            }
            Err(error) => self.fail(error),
        }
    }

    fn defined(&self, names: &[String]) -> Next {
        let names: Vec<&String> = names.iter().collect();
        self.console
            .note(&format!("defined: {}", names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")));
        self.console.object(&json!({"kind": "defined", "names": names}));
        Next::Continue
    }

    fn fail(&self, error: Error) -> Next {
        self.console.report(&error.into_report());
        Next::Failed
    }

    fn options(&self) -> RunOptions {
        let memory = self.memory.unwrap_or_else(memory::default_limit);
        RunOptions {
            device: self.device.clone(),
            memory,
            heap: self.memory,
            stack: memory.min(RunOptions::default().stack),
            interrupt: Some(Arc::clone(&self.interrupt)),
            ..RunOptions::default()
        }
    }
}

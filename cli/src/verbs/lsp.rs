//! `girih lsp`: serves an editor on standard input and output.

use crate::console::Console;
use crate::exit::Exit;
use clap::Args;
use girih::Code;

const HELP: &str = "\
Editors start this command themselves: see `editors/README.md`. It speaks the Language Server Protocol on standard input and output, for
Bend programs (.bend), kernels of the IR (.gir) and nets (.hvm).";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct Lsp {
    /// Accepted because editors pass it: standard input and output are used anyway
    #[arg(long)]
    stdio: bool,
}

impl Lsp {
    /// Serves until the editor is done.
    pub fn run(&self, console: &Console) -> Exit {
        match girih_lsp::serve() {
            Ok(()) => Exit::Ok,
            Err(message) => console.fail(Code::CannotRead, &message, None),
        }
    }
}

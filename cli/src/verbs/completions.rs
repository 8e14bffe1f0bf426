//! `girih completions SHELL`.

use crate::args::Command;
use crate::console::Console;
use crate::exit::Exit;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  girih completions bash > ~/.local/share/bash-completion/completions/girih
  girih completions zsh > \"${fpath[1]}/_girih\"
  girih completions fish > ~/.config/fish/completions/girih.fish
  girih completions powershell >> $PROFILE";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints the script.
    pub fn run(&self, console: &Console) -> Exit {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Command::command(), "girih", &mut script);
        let script = String::from_utf8_lossy(&script);
        console.result(
            script.trim_end(),
            || json!({"kind": "completions", "shell": self.shell.to_string(), "text": script}),
        );
        Exit::Ok
    }
}

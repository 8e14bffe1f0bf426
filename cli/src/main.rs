//! The `girih` command: reads the command line, runs one verb, and turns what happened into an exit code.
//!
//! A verb is a file in `verbs/`, thin over the library `girih`. Results go to standard output, everything else to standard
//! error; with `--json` both are JSON objects, one on each line, on standard output.

mod args;
mod console;
mod device;
mod exit;
mod files;
mod interrupt;
mod launch;
mod memory;
mod optimizations;
mod progress;
mod verbs;
mod warnings;

/// Compiling is thousands of short lists: the system's own allocator takes an eighth of its time.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    let command = args::Command::read(std::env::args_os());
    let console = console::Console::new(&command.global);
    let exit = console.end(command.verb.run(&console));
    console.leave(exit);
    exit.into()
}

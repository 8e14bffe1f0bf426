//! The verbs: each is a file, with its options and what it does.

mod bench;
mod bench_file;
mod check;
mod completions;
mod conform;
mod devices;
mod doc;
mod emit;
mod explain;
mod fmt;
mod kernel;
mod launch;
mod lsp;
mod man;
mod net;
mod new;
mod playground;
mod profile;
mod render;
mod repl;
mod run;
mod test;

use crate::console::Console;
use crate::exit::Exit;
use clap::Subcommand;

/// What the command does.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a program and print its result
    #[command(aliases = ["run-rs", "run-c", "run-cu"])]
    Run(run::Run),
    /// Make a folder with a program, its tests and an image shader
    New(new::New),
    /// Answer definitions and expressions one after the other
    Repl(repl::ReplOptions),
    /// Run the tests of programs
    Test(test::Test),
    /// Look for mistakes in programs without running them
    Check(check::Check),
    /// Lay programs out in one style, with their comments
    Fmt(fmt::Fmt),
    /// Write the documentation of programs and of the prelude as HTML
    Doc(doc::Doc),
    /// Show what the compiler makes of a program
    Emit(emit::Emit),
    /// Run a Triton kernel of a Python file on arrays
    Launch(launch::Launch),
    /// Serve an editor: errors, completion and navigation by the Language Server Protocol
    Lsp(lsp::Lsp),
    /// Find out where the time and the memory of a program go, and which calls keep it from being parallel
    Profile(profile::Profile),
    /// Draw an image shader into a PNG or GIF file
    Render(render::Render),
    /// Serve the playground's page, which compiles and runs programs in a browser
    Playground(playground::Playground),
    /// List the devices that kernels can run on
    Devices(devices::Devices),
    /// Compare every device with the reference machine
    Conform(conform::Conform),
    /// Measure how fast programs are
    Bench(bench::Bench),
    /// Explain an error or a warning
    Explain(explain::Explain),
    /// Print a script that completes the command line in a shell
    Completions(completions::Completions),
    /// Write manual pages for `man`
    Man(man::Man),
}

impl Verb {
    /// Does it.
    pub fn run(&self, console: &Console) -> Exit {
        match self {
            Verb::Run(verb) => verb.run(console),
            Verb::New(verb) => verb.run(console),
            Verb::Repl(verb) => verb.run(console),
            Verb::Test(verb) => verb.run(console),
            Verb::Check(verb) => verb.run(console),
            Verb::Fmt(verb) => verb.run(console),
            Verb::Doc(verb) => verb.run(console),
            Verb::Emit(verb) => verb.run(console),
            Verb::Launch(verb) => verb.run(console),
            Verb::Lsp(verb) => verb.run(console),
            Verb::Profile(verb) => verb.run(console),
            Verb::Render(verb) => verb.run(console),
            Verb::Playground(verb) => verb.run(console),
            Verb::Devices(verb) => verb.run(console),
            Verb::Conform(verb) => verb.run(console),
            Verb::Bench(verb) => verb.run(console),
            Verb::Explain(verb) => verb.run(console),
            Verb::Completions(verb) => verb.run(console),
            Verb::Man(verb) => verb.run(console),
        }
    }
}

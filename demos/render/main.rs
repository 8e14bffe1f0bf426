//! Shows image shaders written in Bend: in a window, or as picture files where there is neither a display nor a GPU.
//!
//! ```text
//! cargo run --release --example render                                      all of shaders/*.bend in a window
//! cargo run --release --example render -- my.bend                           this one
//! cargo run --release --example render -- --headless --frames 10 -o out     pictures in the folder `out`
//! ```

mod arguments;
mod blit;
mod clock;
mod gallery;
mod gpu;
mod headless;
mod input;
mod overlay;
mod window;

use arguments::Arguments;
use clap::Parser;
use gallery::Gallery;
use std::process::ExitCode;

/// Why the demo ends early.
enum Failure {
    /// A shader or a file is wrong: exit code 1.
    Failed(String),
    /// There is no display or no graphics device: exit code 3.
    NoDevice(String),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = Gallery::find(&arguments.files).and_then(|gallery| {
        if arguments.headless { headless::run(&gallery, &arguments) } else { window::run(gallery, &arguments) }
    });
    let (message, code) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => (message, 1),
        Err(Failure::NoDevice(message)) => (message, 3),
    };
    eprintln!("{}", message.trim_end());
    ExitCode::from(code)
}

//! `girih run --watch`: runs a program again whenever one of its files changes.
//!
//! Each run is a process of its own, the same command without `--watch`: a run can be stopped whatever it does, and leaves nothing behind.

use crate::console::Console;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use girih::{Code, Options, Watched};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What a run was waiting for.
enum Event {
    /// It has ended.
    Ended,
    /// A file has changed.
    Changed(String),
    /// Somebody has pressed Ctrl-C.
    Stopped,
}

/// Runs the program until Ctrl-C.
pub fn run(file: &Path, options: &Options, console: &Console) -> Exit {
    if file.as_os_str() == "-" {
        return console.fail(
            Code::BadArguments,
            "standard input cannot be watched",
            Some("name a file, or leave out `--watch`"),
        );
    }
    // The run has its own, so that it can end well before this process does.
    let interrupt = Interrupt::with_grace(None, Duration::from_secs(2), console);
    let mut watched = Watched::new(file);
    loop {
        watched.open_program(options);
        let started = Instant::now();
        let mut child = match again() {
            Ok(child) => child,
            Err(error) => return console.fail(Code::Internal, format!("cannot start a run: {error}"), None),
        };
        let mut event = wait(&mut Some(&mut child), &watched, &interrupt);
        if let Event::Ended = event {
            console.note(&format!(
                "-- ended after {:.2} s; waiting for a change of {}",
                started.elapsed().as_secs_f64(),
                file.display()
            ));
            event = wait(&mut None, &watched, &interrupt);
        }
        match event {
            Event::Ended => {}
            Event::Changed(file) => {
                stop(&mut child);
                console.note(&format!(
                    "-- {file} has changed, {:.2} s after the start of the run",
                    started.elapsed().as_secs_f64()
                ));
            }
            Event::Stopped => {
                // Ctrl-C in a terminal has reached the run, too, which passes on what it has written.
                for _ in 0..20 {
                    if matches!(child.try_wait(), Ok(None)) {
                        std::thread::sleep(LOOK);
                    }
                }
                stop(&mut child);
                return interrupt.exit();
            }
        }
    }
}

/// Starts this command again, without `--watch`.
fn again() -> std::io::Result<Child> {
    let mut is_option = true;
    let words = std::env::args_os().skip(1).filter(|word| {
        is_option &= word != "--";
        !(is_option && word == "--watch")
    });
    Command::new(std::env::current_exe()?).args(words).spawn()
}

/// Waits until a run ends, if there is one, or something else happens.
fn wait(child: &mut Option<&mut Child>, watched: &Watched, interrupt: &Interrupt) -> Event {
    loop {
        if interrupt.is_raised() {
            return Event::Stopped;
        }
        if let Some(changed) = watched.changed() {
            return Event::Changed(changed.display().to_string());
        }
        // A run whose state is not known has ended as far as anybody can tell.
        if child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None))) {
            return Event::Ended;
        }
        std::thread::sleep(LOOK);
    }
}

/// Ends a run, if it has not ended.
fn stop(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

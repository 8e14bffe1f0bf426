//! Girih as a library: open a Bend program, look at what the compiler says about it, run it.
//!
//! ```
//! use girih::{Options, Program, RunOptions, SystemHost};
//!
//! let text = "def main(x):\n  return [y * x for y in [1, 2, 3]]\n";
//! let options = Options { arguments: vec!["10".to_owned()], ..Options::default() };
//! let program = Program::from_text("example.bend", text, &options);
//! program.check().expect("nothing is wrong with this program");
//! let outcome = program.run(&mut SystemHost::new(), &RunOptions::default()).expect("it ends with a value");
//! assert_eq!(outcome.text, "[10, 20, 30]");
//! ```
//!
//! The languages and their evaluators are the crates below `core/`, which do no input and output; this crate gives them
//! files ([`FileLoader`]), effects ([`SystemHost`]) and a stack that is large enough ([`on_big_stack`]).

pub mod devices;
mod host;
pub mod kernels;
mod loader;
pub mod nets;
mod program;
pub mod render;
mod report;
mod run;
mod stack;
pub mod triton;
pub mod whole;

pub use girih_base::diag::{Code, Diagnostic, Severity, Style, WarningLevels, did_you_mean, render};
pub use girih_base::span::{Sources, Span};
pub use girih_bend::Options;
pub use girih_cpu::leave;
pub use host::SystemHost;
pub use loader::{FileLoader, TextLoader};
pub use program::{Outcome, Program};
pub use report::Report;
pub use run::{Choice, Contest, Executable, RunDevice, RunOptions, Stats, Tier, Work};
pub use stack::on_big_stack;
pub use {girih_ir as ir, girih_runtime as runtime};

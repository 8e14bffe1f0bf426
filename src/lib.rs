//! Girih as a library: open a Bend program, see what the compiler reports about it, run it.
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
//! Each language and each device is a cargo feature, on by default. If a build lacks one, the error names the [feature](features::Feature):
//!
//! | feature | without it |
//! |---|---|
//! | `bend` | no `Program` and no `render`: no Bend programs, and no pictures painted by them |
//! | `net` | no `nets`; programs that need nets are refused |
//! | `triton` | no `triton`: no kernels in Python |
//! | `tensor` | no `tensor`: no tensors, networks and optimisers |
//! | `cpu` | no native code; if there is no card either, `auto` runs programs by the evaluator |
//! | `cuda` | no CUDA cards, and no emulator of PTX on the host |
//! | `wgpu` | no adapters of Vulkan, Metal and DX12, and no shading languages |
//!
//! The languages and their evaluators are the crates in `core/`, which do no input and output. This crate provides
//! files ([`FileLoader`]), effects ([`SystemHost`]) and a stack that is large enough ([`on_big_stack`]).

pub mod atomic_file;
pub mod devices;
mod error;
pub mod features;
pub mod kernels;
mod process_exit;
mod report;
mod stack;

#[cfg(feature = "bend")]
pub mod doc;
#[cfg(feature = "bend")]
pub mod format;
#[cfg(any(feature = "bend", feature = "net"))]
mod host;
#[cfg(feature = "bend")]
mod loader;
#[cfg(feature = "net")]
pub mod nets;
#[cfg(feature = "bend")]
mod parallelism;
#[cfg(feature = "bend")]
pub mod profile;
#[cfg(feature = "bend")]
mod program;
#[cfg(feature = "bend")]
pub mod render;
#[cfg(feature = "bend")]
mod run;
#[cfg(feature = "bend")]
pub mod session;
#[cfg(feature = "tensor")]
pub mod tensor;
#[cfg(feature = "bend")]
pub mod testing;
#[cfg(feature = "triton")]
pub mod triton;
#[cfg(feature = "bend")]
pub mod typed;
#[cfg(feature = "bend")]
mod watch;

pub use girih_base::diag::{Code, Diagnostic, Errors, Severity, Style, WarningLevels, did_you_mean, render};
pub use girih_base::span::{Sources, Span};
/// The page about the library, whose examples are tests.
#[cfg(all(doctest, feature = "bend", feature = "triton", feature = "cpu"))]
#[doc = include_str!("../docs/from-rust.md")]
struct FromRust;

/// The page about tensors, whose examples are tests, too.
#[cfg(all(doctest, feature = "tensor", feature = "cpu"))]
#[doc = include_str!("../docs/tensors.md")]
struct Tensors;

pub use error::Error;
pub use process_exit::leave;
pub use report::Report;
pub use stack::on_big_stack;
pub use {girih_ir as ir, girih_runtime as runtime};

#[cfg(any(feature = "bend", feature = "net"))]
pub use host::SystemHost;

#[cfg(feature = "bend")]
pub use {
    girih_bend::Options,
    girih_bend::loader::{File, LoadError, Loader},
    girih_derive::Bend,
    loader::{FileLoader, TextLoader},
    parallelism::{InOrder, Parallelism, Together},
    program::{Outcome, Program},
    run::{Choice, Contest, Executable, RunDevice, RunOptions, Stats, Tier, Work},
    typed::{Bend, Deep, Function, Tree},
    watch::Watched,
};

//! Triton kernels: compiles Python source to functions in tile form. No Python interpreter is needed.
//!
//! The compiler walks a kernel once, statement by statement. On the way it computes everything that is known at compile time ([`value::Value`]): constants,
//! types, shapes, tuples, and which branch of an `if` it compiles. Everything else becomes operations of the IR. A pointer is a buffer and an index.
//! Functions that a kernel calls become functions of their own, one for each combination of constants and types of their arguments.
//!
//! | what | see |
//! |---|---|
//! | files, imports, what a file's names mean | [`source`] |
//! | values, pointers, addresses as numbers, type promotion | [`value`], [`mod@pointer`], [`addresses`], [`promote`] |
//! | statements, loops and branches | [`statement`], [`flow`], [`assignments`] |
//! | expressions, operators | [`expression`], [`operator`] |
//! | calls, of functions and of operations | [`call`], [`builtins`] |
//! | the operations of `triton.language` | [`shape`], [`memory`], [`blocks`], [`promises`], [`combine`], [`elementwise`], [`library`], [`extremes`], [`random`], [`assembly`] |
//! | operations in Triton's own Python, and the files that they stand in | [`written`], [`embedded`] |
//! | types, their attributes; classes | [`dtypes`], [`classes`] |
//! | ordinary Python that runs when a kernel is compiled, and what it sees of the machine | [`compile_time`], [`mod@python`], [`python_modules`], [`python_format`], [`target`] |
//! | the kernel as a whole: parameters; configurations and heuristics; what launches know about it | [`kernel`], [`decorators`], [`inductor`], [`head`] |
//!
//! Invariant: Python that the compiler does not support is an error that names it; nothing is silently ignored.

mod addresses;
mod assembly;
mod assignments;
mod atomics;
mod attributes;
mod blocks;
mod body;
mod builtins;
mod call;
mod classes;
mod combine;
mod compile_time;
mod decorators;
mod dtypes;
mod elementwise;
mod embedded;
mod expression;
mod extremes;
mod flow;
mod guard;
mod head;
mod inductor;
mod kernel;
mod library;
mod memory;
mod names;
mod operator;
mod parts;
mod pointer;
mod promises;
mod promote;
pub mod python;
mod python_builtins;
mod python_format;
mod python_math;
mod python_modules;
mod random;
mod reference;
mod shape;
mod source;
mod statement;
mod target;
mod value;
mod written;

pub use head::Head;
pub use kernel::{Argument, Compiled, Constant, Kernel, Parameter, Request, compile, kernels};
pub use reference::reference;
pub use source::{Alone, LoadedFile, Loader};
pub use target::Card;
pub use value::scalar_named;

/// Names this crate by its sources: two builds that may write different code have two names.
pub const IDENTITY: &str = env!("GIRIH_SOURCES");

//! The playground's compiler: what a worker of a page asks for, and what it is answered.
//!
//! | file | its idea |
//! |---|---|
//! | [`files`] | which language a file is in, and what can be done with it |
//! | [`check`] | what the compiler says of a text, with places as the editor counts them |
//! | [`forms`] | what a text is compiled to: core, net, IR, WGSL |
//! | [`run`] | runs programs, nets and kernels |
//! | `host` | effects in a worker: a page sees what is written, and there are no files |
//! | `kernels` | runs the run lines of a `.gir` file |
//! | `worker` | what the page's JavaScript calls, on WebAssembly alone |
//!
//! Invariant: everything but `worker` is the same on every machine, and its tests run there without a browser.

pub mod check;
pub mod files;
pub mod forms;
mod host;
mod kernels;
pub mod run;
#[cfg(target_arch = "wasm32")]
mod worker;

pub use host::PageHost;

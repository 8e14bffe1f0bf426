//! The playground's compiler: what a worker of a page asks for, and what it is answered.
//!
//! | file | its idea |
//! |---|---|
//! | [`files`] | which language a file is in, and what can be done with it |
//! | [`check`] | what the compiler says of a text, with places as the editor counts them |
//! | [`forms`] | what a text is compiled to: core, net, IR, WGSL |
//! | [`steps`] | a net in the middle of its reduction, as a picture |
//! | [`run`] | runs programs, nets and kernels |
//! | `host` | effects in a worker: a page sees what is written, and there are no files |
//! | `kernels` | runs the run lines of a `.gir` file |
//! | `launches` | reads and runs the run lines of Triton kernels |
//! | `arrays` | what run lines give to kernels and get back |
//! | `worker` | what the page's JavaScript calls, on WebAssembly alone |
//!
//! Invariant: everything but `worker` is the same on every machine, and its tests run there without a browser.

mod arrays;
pub mod check;
pub mod files;
pub mod forms;
mod host;
mod kernels;
mod launches;
pub mod run;
pub mod steps;
#[cfg(target_arch = "wasm32")]
mod worker;

pub use host::PageHost;

//! The reference machine: runs kernels workgroup by workgroup, all invocations of a workgroup in step under masks. Every device is
//! compared with its results.
//!
//! | what | see |
//! |---|---|
//! | functions made ready: steps, places of values, shared memory | [`code`], [`liveness`], [`program`] |
//! | control flow: who runs, who waits where | [`machine`] |
//! | which operation is done where | [`perform`] |
//! | vectors, positions, how undefined values spread | [`values`] |
//! | loads, stores, atomics | [`memory`] |
//! | subgroups, fragments | [`subgroup`], [`fragments`] |
//! | products of matrices in memory | [`mod@gemm`] |
//! | tiles: shapes, memory, products; regions on elements | [`tiles`], [`tile_memory`], [`elements`] |
//! | copies, mbarriers, warpgroup products | [`copies`], [`mbarriers`], [`products`] |
//! | races and undefined values: what is remembered, what is reported | [`checks`], [`fault`] |
//! | the math library | [`library`] |
//! | whole dispatches, the device | [`dispatch`], [`device`] |
//!
//! Invariant: every program that the verifier accepts ends with results or a diagnostic, never with a panic; without `fuel`
//! a loop may run forever. An access outside its memory is always an error. *Checked* mode looks for everything else that a program must not
//! do: races, asynchronous results that are used too early, undefined values that reach a buffer, a branch or
//! an address, and operations that only some of the required invocations have reached.

mod activation;
pub mod checks;
pub mod code;
mod copies;
mod device;
pub mod dispatch;
mod elements;
mod fault;
mod fragments;
mod gemm;
mod library;
mod liveness;
mod machine;
pub mod mask;
pub mod mbarriers;
mod memory;
mod perform;
mod products;
pub mod program;
mod subgroup;
mod tile_memory;
mod tiles;
mod values;

pub use device::Interpreter;
pub(crate) use library::link;
pub(crate) use liveness::last_uses;
pub use products::{accumulator_element, factor_byte};

use dispatch::Settings;
use girih_base::diag::Diagnostic;
use girih_ir::caps::Caps;
use girih_ir::verify::Verified;
use girih_ir::{FunctionId, Module};
use std::sync::Arc;
use std::time::Duration;

/// How the reference machine runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Lanes of a subgroup, 1 to 64, for kernels that do not say for which they were written.
    pub subgroup: u32,
    /// Whether faults are looked for.
    pub checked: bool,
    /// Runs workgroups in an order that this number chooses; in their own order without it.
    pub seed: Option<u64>,
    /// Instructions (for all lanes at once) that a dispatch or call may make; any number without it.
    pub fuel: Option<u64>,
    /// What time it is; without it nothing takes time.
    pub clock: Option<fn() -> Duration>,
    /// Kernels are made legal for this device first, to find out what that does to them; they run as written without it.
    pub caps: Option<Caps>,
}

impl Default for Options {
    fn default() -> Options {
        Options { subgroup: 32, checked: false, seed: None, fuel: None, clock: None, caps: None }
    }
}

/// Steps that [`call`] makes before it gives up.
const CALL_FUEL: u64 = 1 << 30;

/// Calls a function with numbers (bits, zero above the type's width; a vector takes as many places as it has elements) and gives its
/// results in the same way.
pub fn call(module: &Verified<Module>, function: FunctionId, arguments: &[u64]) -> Result<Vec<u64>, Diagnostic> {
    let options = Options { fuel: Some(CALL_FUEL), checked: true, ..Options::default() };
    let mut results = call_each(module, function, &[arguments.to_vec()], &options)?;
    Ok(results.pop().unwrap_or_default())
}

/// Calls a function once for each row of arguments, many at a time; gives a row of results for each.
pub fn call_each(
    module: &Verified<Module>,
    function: FunctionId,
    rows: &[Vec<u64>],
    options: &Options,
) -> Result<Vec<Vec<u64>>, Diagnostic> {
    let settings = Settings { checked: options.checked, seed: options.seed, fuel: options.fuel };
    let mut module = (**module).clone();
    library::link(&mut module)?;
    dispatch::call(&Arc::new(module), function, rows, settings, options.subgroup)
}

//! Tile form to threads.
//!
//! A workgroup runs a kernel in tile form as one program. Here it becomes a kernel for each invocation. There are two ways:
//!
//! * [`distributed`] gives every tile a layout that suits its uses, and keeps its elements in registers;
//! * [`fallback`] lays all tiles out in order and moves elements through shared memory. It is slower and serves every kernel. It takes those that
//!   the first way does not: kernels in which computed numbers select elements, and kernels for which registers or shared memory do not suffice.
//!
//! The first way is a pipeline:
//!
//! | step | what | see |
//! |---|---|---|
//! | 1 | loops that move a tile of indices carry the distance instead | [`carried`] |
//! | 2 | what is known about numbers along each dimension: how many are consecutive, multiples, or equal | [`axis`] |
//! | 3 | the layout of each tile, and in which layouts each is wanted | [`assign`], [`layout`], [`product`] |
//! | 4 | loops whose factors are copied ahead | [`pipeline`] |
//! | 5 | numbers on which control flow depends, buffers whose accesses must stay in order | [`control_dependence`] |
//! | 6 | the kernel, instruction by instruction | [`distributed`] |
//!
//! A loop that waits for other programs is refused where those programs need not run meanwhile ([`waits`]).
//!
//! **Layouts** are linear: each bit of the number of an invocation, or of one of its registers, corresponds to a bit of an element's number
//! ([`layout::Layout`]). A view of a tile (reshaped, permuted, broadcast) renames bits and moves nothing.
//!
//! **Homes.** A value that is loaded, reduced or multiplied is computed in one layout, its home, and so are the results of arithmetic on it. Cheap
//! values (counted numbers, arithmetic on these) are computed in each layout in which they are wanted. Elements go through shared memory only
//! where a value is wanted in another layout than its home.
//!
//! **Accesses** of 16 bytes follow from what is known about indices and conditions. A condition that is the same for a whole access guards it as a
//! whole; masked-off elements are never touched.

mod assign;
mod axis;
mod carried;
mod control_dependence;
mod distributed;
mod fallback;
mod guard;
mod layout;
mod pipeline;
mod product;
#[cfg(test)]
mod tests;
mod waits;
mod widened;

use super::legalise::limits;
use crate::calls::inline;
use assign::Assignment;
use girih_base::diag::Diagnostic;
use girih_ir::{Caps, Feature, Function, FunctionId, Module, Shape, tile_form};

/// As many elements as an invocation has where code that is written out is expensive, if there are enough invocations.
const ROLLED: u64 = 4;

/// Stages of shared memory that factors are copied into ahead.
const STAGES: u32 = 4;

/// Spreads kernels in tile form over their threads; says which those are.
pub(super) fn run(module: &mut Module, caps: &Caps) -> Result<Vec<FunctionId>, Vec<Diagnostic>> {
    let forms = tile_form(module);
    let kernels: Vec<FunctionId> = module.kernels().filter(|id| forms[*id]).collect();
    if kernels.is_empty() {
        return Ok(kernels);
    }
    let one = |d| vec![d];
    // Uniformity is not seen through calls.
    inline::run(module, &caps.clone().without(Feature::Calls)).map_err(one)?;
    for id in kernels.iter().copied() {
        let kernel = &mut module.functions[id];
        waits::check(kernel, caps).map_err(one)?;
        if let Some(error) = limits::program(kernel, caps) {
            return Err(one(error));
        }
        let threads = invocations(kernel, caps);
        if let Some(launch) = &mut kernel.launch {
            launch.workgroup = [threads, 1, 1];
        }
        let kernel = &module.functions[id];
        module.functions[id] = match in_layouts(kernel, threads, caps) {
            Some(distributed) => distributed,
            None => fallback::run(kernel, threads, caps).map_err(one)?,
        };
    }
    Ok(kernels)
}

/// How many invocations run a program: as many as it says; where code that is written out is expensive, so many more that each has few elements. Always a
/// power of two, as lengths of tiles are: then each invocation has as many elements of a tile as the others, or tiles are repeated whole.
fn invocations(kernel: &Function, caps: &Caps) -> u32 {
    let said: u32 = kernel.launch.as_ref().map_or(1, |l| l.workgroup.iter().product());
    let most = caps.invocations.min(caps.workgroup[0]);
    let mut wanted = said;
    if caps.rolled {
        let mut largest = 1;
        kernel.walk(kernel.body, &mut |_, inst| {
            let elements = inst.results.iter().filter_map(|v| kernel.ty(*v).shape()).map(Shape::elements);
            largest = elements.fold(largest, u64::max);
        });
        wanted = (largest / ROLLED).clamp(said.into(), most.into()) as u32;
    }
    wanted.checked_next_power_of_two().filter(|power| *power <= most).unwrap_or(1 << wanted.ilog2())
}

/// The kernel with a layout for each tile, if that is possible.
fn in_layouts(kernel: &Function, threads: u32, caps: &Caps) -> Option<Function> {
    let mut kernel = kernel.clone();
    carried::run(&mut kernel);
    widened::run(&mut kernel, caps);
    // Fragments need more shared memory than rectangles of sums.
    let mut without = caps.clone();
    without.coop.clear();
    let units = if caps.coop.is_empty() { vec![caps] } else { vec![caps, &without] };
    units.into_iter().flat_map(|caps| [(caps, false), (caps, true)]).find_map(|(caps, stores_stay)| {
        let plan = Assignment::of(&kernel, threads, caps, stores_stay);
        // As many stages as there is room for; at last nothing is copied ahead.
        (0..=STAGES).rev().find_map(|depth| distributed::run(&kernel, &plan, threads, caps, depth).ok())
    })
}

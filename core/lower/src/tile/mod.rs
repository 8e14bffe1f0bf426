//! Tile form to threads.
//!
//! A workgroup runs a kernel in tile form as one program. Here it becomes a kernel for each invocation. There are two ways:
//!
//! * [`distributed`] gives every tile a layout that suits its uses, and keeps its elements in registers;
//! * [`fallback`] lays all tiles out in order and moves elements through shared memory. It is slower and serves every kernel, so it takes those that
//!   the first way does not: where registers or shared memory do not suffice. A diagnostic says why a kernel goes there, and which operation
//!   is the reason ([`Code::SharedMemory`]).
//!
//! The first way is a pipeline:
//!
//! | step | what | see |
//! |---|---|---|
//! | 0 | common subexpressions, constants, dead code, loop invariants | [`canonicalise`] |
//! | 1 | loops that move a tile of indices carry the distance instead | [`carried`] |
//! | 2 | what is known about numbers along each dimension: how many are consecutive, multiples, or equal | [`axis`] |
//! | 3 | the layout of each tile, and in which layouts each is wanted | [`assign_layouts`], [`layout`], [`product`] |
//! | 4 | loops whose factors are copied ahead | [`pipeline`] |
//! | 5 | numbers on which control flow depends, buffers whose accesses must stay in order | [`control_dependence`] |
//! | 6 | the kernel, instruction by instruction | [`distributed`] |
//!
//! A loop that waits for other programs is refused where those programs need not run meanwhile ([`spin_loops`]).
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

mod assign_layouts;
mod axis;
pub mod canonicalise;
mod carried;
mod control_dependence;
mod counted_loop;
mod distributed;
pub mod fallback;
mod fp8;
mod gather;
pub mod layout;
mod loop_nest;
mod pipeline;
mod predication;
pub mod product;
mod region_exits;
pub mod spin_loops;

use super::legalise::limits;
use crate::calls::inline;
use assign_layouts::Assignment;
use girih_base::diag::{Code, Diagnostic};
use girih_ir::{Caps, Feature, Function, FunctionId, Module, Shape, tile_form};

/// As many elements as an invocation has where code that is written out is expensive, if there are enough invocations.
const ROLLED: u64 = 4;

/// Most registers of a tile that an invocation holds.
const MOST_REGISTERS: u16 = 256;

/// Stages of shared memory that factors are copied into ahead.
const STAGES: u32 = 4;

/// Kernels in tile form that are distributed over their threads.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// Which those are.
    pub kernels: Vec<FunctionId>,
    /// Why some of them left the layouts, and where.
    pub notes: Vec<Diagnostic>,
}

/// Distributes kernels in tile form over their threads.
pub(super) fn run(module: &mut Module, caps: &Caps) -> Result<Programs, Vec<Diagnostic>> {
    let forms = tile_form(module);
    let kernels: Vec<FunctionId> = module.kernels().filter(|id| forms[*id]).collect();
    let mut notes = vec![];
    if kernels.is_empty() {
        return Ok(Programs::default());
    }
    let one = |d| vec![d];
    // Uniformity is not seen through calls.
    inline::run(module, &caps.clone().without(Feature::Calls)).map_err(one)?;
    let mut functions = loop_nest::functions::Functions::default();
    for id in kernels.iter().copied() {
        let kernel = &mut module.functions[id];
        // Of the program as it is written: afterwards a loop may ask no more what stays the same.
        spin_loops::check(kernel, caps).map_err(one)?;
        canonicalise::run(kernel).map_err(one)?;
        if let Some(error) = limits::program(kernel, caps) {
            return Err(one(error));
        }
        if caps.has(Feature::Vectors) {
            match loop_nest::run(kernel, caps) {
                Ok(nest) => {
                    module.functions[id] = nest;
                    functions.run(module, id, caps).map_err(one)?;
                    continue;
                }
                Err(why) if why.code == Code::SharedMemory => notes.push(note(kernel, why)),
                Err(error) => return Err(one(error)),
            }
        }
        let kernel = &mut module.functions[id];
        let threads = invocations(kernel, caps);
        if let Some(launch) = &mut kernel.launch {
            launch.workgroup = [threads, 1, 1];
        }
        let kernel = &module.functions[id];
        module.functions[id] = match in_layouts(kernel, threads, caps) {
            Ok(distributed) => distributed,
            Err(why) => {
                notes.push(note(kernel, why));
                fallback::run(kernel, threads, caps).map_err(one)?
            }
        };
    }
    Ok(Programs { kernels, notes })
}

/// What is said of a kernel that leaves the layouts, from the reason as a clause.
fn note(kernel: &Function, why: Diagnostic) -> Diagnostic {
    let span = if why.span().is_none() { kernel.span } else { why.span() };
    let message = format!("all tiles of `@{}` go through shared memory: {}", kernel.name, why.message);
    let hint =
        why.hint.unwrap_or_else(|| "the result is the same, but slower: take smaller blocks, or more warps".into());
    Diagnostic::new(why.code, span, message).at("this keeps them out of registers").hint(hint)
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

/// The kernel with a layout for each tile; otherwise why that is not possible, even in the way that asks for the least.
pub fn in_layouts(kernel: &Function, threads: u32, caps: &Caps) -> Result<Function, Diagnostic> {
    let mut kernel = kernel.clone();
    carried::run(&mut kernel);
    fp8::run(&mut kernel, caps);
    // Fragments need more shared memory than rectangles of sums.
    let mut without = caps.clone();
    without.coop.clear();
    let units = if caps.coop.is_empty() { vec![caps] } else { vec![caps, &without] };
    let mut why = None;
    for (caps, stores_stay) in units.into_iter().flat_map(|caps| [(caps, false), (caps, true)]) {
        let plan = Assignment::of(&kernel, threads, caps, stores_stay);
        // As many stages as there is room for; at last nothing is copied ahead.
        for depth in (0..=STAGES).rev() {
            match distributed::run(&kernel, &plan, threads, caps, depth) {
                Ok(distributed) => return Ok(distributed),
                Err(reason) => why = Some(reason),
            }
        }
    }
    Err(why.unwrap_or_else(|| Diagnostic::new(Code::SharedMemory, kernel.span, "it has no layouts")))
}

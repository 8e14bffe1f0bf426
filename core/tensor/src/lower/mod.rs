//! From a graph to kernels: each group of the [`schedule`](mod@crate::schedule) becomes a function in tile form, written by the tile builder
//! ([`girih_ir::kernel`]), and stored nodes get places in memory.
//!
//! | file | its idea |
//! |---|---|
//! | this one | the order of kernels, and their arguments |
//! | `memory` | slots: memory that values share which are not needed at the same time |
//! | `kernel` | the tiles of a kernel: which elements a program computes |
//! | `value` | a node's elements at an index: read, or computed from those of its operands |
//! | `views` | indices of views |
//! | `combine` | reductions and products of matrices |
//! | `merge` | sorted halves of rows merged |

mod combine;
mod kernel;
mod memory;
mod merge;
mod value;
mod views;

pub use memory::Place;

use super::Made;
use super::decompose::decompose;
use super::graph::{Graph, Node, NodeId};
use super::integer;
use super::joins;
use super::ops::Meaning;
use super::partial;
use super::schedule::{Fusion, Group, schedule};
use super::share::share;
use super::size::TensorType;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::ops::Suffix;
use girih_ir::{Caps, Feature, FunctionId, Module, Scalar, Verified, verify};
use kernel::Largest;

/// A launch of one kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The kernel.
    pub kernel: FunctionId,
    /// The memory of each parameter; the last one is written.
    pub arguments: Vec<Place>,
    /// How many workgroups run along each dimension.
    pub grid: [u32; 3],
}

/// A graph as kernels.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The kernels, in tile form.
    pub module: Verified<Module>,
    /// Their launches, in order.
    pub launches: Vec<Launch>,
    /// Bytes of each slot.
    pub slots: Vec<u64>,
    /// Types of the inputs.
    pub inputs: Vec<TensorType>,
    /// Where outputs are, and their types.
    pub outputs: Vec<(Place, TensorType)>,
    /// The groups, for those who look at what was fused.
    pub groups: Vec<Group>,
}

/// How an element lies in memory: truth values are bytes.
pub const fn stored(element: Scalar) -> Scalar {
    match element {
        Scalar::Bool => Scalar::U8,
        other => other,
    }
}

/// Writes the kernels of a graph, which every device runs.
///
/// # Errors
/// If kernels lack an operation on a type, or a tensor is too large.
pub fn lower(graph: &Graph, fusion: Fusion) -> Made<Lowered> {
    written(graph, fusion, Largest::SHARED)
}

/// The same with tiles that suit a device.
///
/// # Errors
/// If kernels lack an operation on a type, or a tensor is too large.
pub fn lower_for(graph: &Graph, fusion: Fusion, caps: &Caps) -> Made<Lowered> {
    written(graph, fusion, if caps.has(Feature::Vectors) { Largest::OF_THREAD } else { Largest::SHARED })
}

fn written(graph: &Graph, fusion: Fusion, largest: Largest) -> Made<Lowered> {
    let graph = share(&joins::split(&partial::split(&integer::sum_products(&decompose(graph)?)?)?)?);
    let needed = graph.needed();
    graph.ids().filter(|id| needed[id.index()]).try_for_each(|id| supported(&graph, &graph.nodes[id]))?;
    let groups = schedule(&graph, fusion);
    let memory = memory::plan(&graph, &groups);
    let (mut functions, mut launches) = (vec![], vec![]);
    for group in &groups {
        if graph.shape(group.root).elements() == 0 {
            continue;
        }
        let mut kernels = vec![kernel::write(&graph, group, functions.len(), largest)?];
        if let Meaning::AddAt = graph.nodes[group.root].op.row().meaning {
            kernels.extend(kernel::write_added(&graph, group, functions.len() + 1)?);
        }
        let arguments: Vec<Place> = group.reads.iter().chain([&group.root]).map(|id| memory.places[id]).collect();
        for (function, grid) in kernels {
            let kernel = FunctionId::new(functions.len() as u32);
            launches.push(Launch { kernel, arguments: arguments.clone(), grid });
            functions.push(function);
        }
    }
    let module = verify(Module::of(functions)).map_err(|mut found| found.remove(0))?;
    let inputs = graph.inputs().iter().map(|id| graph.ty(*id).clone()).collect();
    let outputs = graph.outputs.iter().map(|id: &NodeId| (memory.places[id], graph.ty(*id).clone())).collect();
    Ok(Lowered { module, launches, slots: memory.slots, inputs, outputs, groups })
}

/// Whether kernels have the operation of a node on its type.
fn supported(graph: &Graph, node: &Node) -> Made<()> {
    let refused = |why: String| Err(Diagnostic::new(Code::TensorType, Span::NONE, why));
    match node.op.row().meaning {
        Meaning::Pointwise(op) => {
            let element = node.operands.last().map_or(node.ty.element, |operand| graph.ty(*operand).element);
            match op.row().suffix {
                Suffix::Lanes(set) | Suffix::Scalar(set) if !set.has(element) => {
                    refused(format!("kernels have no `{}` of {element}", node.op.name()))
                }
                _has => Ok(()),
            }
        }
        Meaning::Matmul
        | Meaning::Input
        | Meaning::Full
        | Meaning::Iota
        | Meaning::Convert
        | Meaning::Reduce(_)
        | Meaning::View(_)
        | Meaning::Concat
        | Meaning::Gather
        | Meaning::Scan
        | Meaning::Merge(_)
        | Meaning::AddAt
        | Meaning::Compound(_) => Ok(()),
    }
}

//! The tiles of a kernel: which elements of the root a program computes, and where it stores them.

use super::stored;
use super::value::{At, Index, Writer};
use crate::Made;
use crate::graph::{Graph, NodeId};
use crate::ops::{Meaning, Reduction};
use crate::schedule::{Group, Split, columns, reduced_axes};
use girih_ir::attrs::{Dim, ParamAttrs, Update};
use girih_ir::kernel::{Block, Buffer, TileKernel};
use girih_ir::{Function, Scalar};
use std::ops::Range;

/// Warps that run a program.
const WARPS: u32 = 4;
/// About how many elements a tile has.
const TILE: u64 = 1024;
/// The least length of a product's tile along any dimension.
const LEAST: u64 = 16;
/// So many programs keep a device busy.
const MANY_PROGRAMS: u64 = 32;

/// The greatest tiles of products of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Largest {
    /// Rows and columns.
    side: u64,
    depth: u64,
}
impl Largest {
    /// What every device has room for where invocations share a tile.
    pub const SHARED: Largest = Largest { side: 32, depth: 16 };
    /// What suits a thread that has a tile for itself: the caches are its limit.
    pub const OF_THREAD: Largest = Largest { side: 64, depth: 64 };

    /// Rows, columns and depth for a product of these lengths: as large as suits, but many programs, and a depth that fills its last step.
    fn tile(self, [rows, columns, depth]: [u64; 3], products: u64) -> [u64; 3] {
        let block = |length: u64| length.next_power_of_two().clamp(LEAST, self.side);
        let (mut height, mut width) = (block(rows), block(columns));
        let programs = |height: u64, width: u64| products * rows.div_ceil(height) * columns.div_ceil(width);
        while height.max(width) > Largest::SHARED.side && programs(height, width) < MANY_PROGRAMS {
            // Columns first: those of a convolution are gathered again for each block of rows.
            *(if width > Largest::SHARED.side { &mut width } else { &mut height }) /= 2;
        }
        let mut deep = self.depth;
        while deep > LEAST && depth.next_multiple_of(deep) - depth > depth / 8 {
            deep /= 2;
        }
        [height, width, deep]
    }
}

/// A writer with the parameters of a group: what it reads, then its result.
fn begun<'k>(graph: &'k Graph, group: &'k Group, kernel: &'k TileKernel) -> (Writer<'k>, Buffer<'k>) {
    // Two inputs may be one memory; the result is memory of its own.
    let memory = |id: NodeId| {
        let shared = ParamAttrs::default();
        kernel.buffer_with(&format!("n{}", id.index()), stored(graph.ty(id).element), shared)
    };
    let reads = group.reads.iter().map(|id| (*id, memory(*id))).collect();
    let result = kernel.buffer("result", stored(graph.ty(group.root).element));
    (Writer::new(graph, kernel, group, reads), result)
}

/// Writes the kernel that adds elements at positions to a result that holds its first operand already; none if there are no such elements.
pub(super) fn write_added(graph: &Graph, group: &Group, number: usize) -> Made<Option<(Function, [u32; 3])>> {
    let root = &graph.nodes[group.root];
    let [_, positions, added] = root.operands[..] else { return Ok(None) };
    if graph.shape(added).elements() == 0 {
        return Ok(None);
    }
    let kernel = TileKernel::new(&format!("k{number}_{}", root.op.name()), WARPS);
    let elements = Group { root: added, split: Split::Columns(vec![]), ..group.clone() };
    let programs = {
        let (mut writer, result) = begun(graph, group, &kernel);
        let (index, programs) = rows_and_columns(&mut writer, &elements, &[]);
        let (value, wanted) = (writer.value(added, &index), writer.value(positions, &index));
        let (moved, _) = writer.at_position(root.axis(), root.ty.shape.length(root.axis()), wanted, &index);
        let (at, inside) = writer.offset(group.root, &moved);
        let value = value.broadcast_to(&at.lengths());
        let inside = inside.map_or(kernel.full(&at.lengths(), kernel.constant(Scalar::Bool, true)), |inside| inside);
        result.update(Update::Add, at, value, inside);
        programs
    };
    Ok(Some((kernel.finish()?, grid(programs))))
}

/// Writes the kernel of a group; gives how many programs run along each dimension.
pub(super) fn write(graph: &Graph, group: &Group, number: usize, largest: Largest) -> Made<(Function, [u32; 3])> {
    let name = format!("k{number}_{}", graph.nodes[group.root].op.name());
    let kernel = TileKernel::new(&name, WARPS);
    let programs = {
        let (mut writer, result) = begun(graph, group, &kernel);
        let (index, programs) = match &group.split {
            Split::Columns(axes) => rows_and_columns(&mut writer, group, axes),
            Split::Matrices(rows, columns) => matrices(&mut writer, group, [rows, columns], largest),
        };
        let value = writer.value(group.root, &index);
        let (at, inside) = writer.offset(group.root, &index);
        let at = at.broadcast_to(&value.broadcast_with(at));
        let value = value.to(stored(value.element()));
        match inside {
            Some(inside) => result.store(at, value, inside.broadcast_to(&at.lengths())),
            None => result.store(at, value, girih_ir::kernel::Mask::ALL),
        }
        programs
    };
    Ok((kernel.finish()?, grid(programs)))
}

/// The shape that two tiles are repeated to.
trait Together {
    fn broadcast_with(&self, other: Self) -> Vec<u64>;
}
impl Together for Block<'_> {
    fn broadcast_with(&self, other: Self) -> Vec<u64> {
        self.lengths().iter().zip(other.lengths()).map(|(a, b)| *a.max(&b)).collect()
    }
}

/// The most programs along one dimension that every device can run.
const MOST_PROGRAMS: u64 = 65_535;

/// So many programs, or a few more where one dimension has no room for them.
fn grid(programs: u64) -> [u32; 3] {
    let layers = programs.div_ceil(MOST_PROGRAMS).max(1);
    [programs.div_ceil(layers) as u32, layers as u32, 1]
}

/// The number of a program among so many, and whether it is one of them; all are if that is not said.
fn program<'k>(writer: &Writer<'k>, programs: u64) -> (Block<'k>, Option<Block<'k>>) {
    let [width, layers, _] = grid(programs);
    let along = writer.kernel.program(Dim::X);
    if layers == 1 {
        return (along, None);
    }
    let number = writer.kernel.program(Dim::Y) * (width as i32) + along;
    let is_one = u64::from(width) * u64::from(layers) != programs;
    (number, is_one.then(|| number.lt(programs as i32)))
}

/// Rows are counted through all axes that are no columns; a program computes some rows and all columns.
fn rows_and_columns<'k>(writer: &mut Writer<'k>, group: &Group, axes: &[usize]) -> (Index<'k>, u64) {
    let node = &writer.graph.nodes[group.root];
    let lengths = node.ty.shape.lengths();
    let rows: Vec<usize> = (0..lengths.len()).filter(|axis| !axes.contains(axis)).collect();
    let width = columns(&node.ty.shape, &group.split);
    // What reductions reduce along columns counts as width, too.
    let reduced = group.members.iter().filter(|id| group.steps != Some(**id)).map(|id| {
        let node = &writer.graph.nodes[*id];
        let by = |by: Reduction| {
            reduced_axes(node, by)
                .iter()
                .map(|axis| writer.graph.shape(node.operands[0]).length(*axis as usize))
                .product()
        };
        if let Meaning::Reduce(reduction) = node.op.row().meaning { by(reduction) } else { 1 }
    });
    let widest = reduced.max().unwrap_or(1).max(width).min(TILE).next_power_of_two();
    let count: u64 = rows.iter().map(|axis| lengths[*axis]).product();
    let height = (TILE / widest).min(count.max(1).next_power_of_two()).max(1);
    let (program, is_one) = program(writer, count.div_ceil(height));
    let row = program * (height as i32) + writer.kernel.iota(height);
    let row = row.reshape(&[height, 1]);
    let is_masked = !count.is_multiple_of(height) || is_one.is_some();
    let row = At { at: row, inside: is_masked.then(|| row.lt(count as i32)) };
    let column = writer.columns(width, width.next_power_of_two(), None);
    let mut index = vec![writer.zero(); lengths.len()];
    let (first, second) = (pick(&lengths, &rows), pick(&lengths, axes));
    for (axis, at) in
        rows.iter().zip(writer.unravelled(row, &first)).chain(axes.iter().zip(writer.unravelled(column, &second)))
    {
        index[*axis] = at;
    }
    if rows.is_empty() {
        return (index, 1);
    }
    (index, count.div_ceil(height))
}

fn pick(lengths: &[u64], axes: &[usize]) -> Vec<u64> {
    axes.iter().map(|axis| lengths[*axis]).collect()
}

/// Some axes are rows, those after them columns; the axes before choose the program.
fn matrices<'k>(
    writer: &mut Writer<'k>,
    group: &Group,
    split: [&Range<usize>; 2],
    largest: Largest,
) -> (Index<'k>, u64) {
    let lengths = writer.graph.shape(group.root).lengths();
    let [rows, columns] = split.map(|axes| &lengths[axes.clone()]);
    let (m, n): (u64, u64) = (rows.iter().product(), columns.iter().product());
    let before = &lengths[..split[0].start];
    let products: u64 = before.iter().product();
    let depth = group.members.iter().filter_map(|id| writer.depth(*id)).max().unwrap_or(1);
    let [height, width, deep] = largest.tile([m, n, depth], products);
    writer.product = [height, width, deep];
    let (down, across) = (m.div_ceil(height), n.div_ceil(width));
    let programs = products * down * across;
    let (program, is_one) = program(writer, programs);
    let row = (program / (across as i32) % (down as i32)) * (height as i32) + writer.kernel.iota(height);
    let row = row.reshape(&[height, 1]);
    let column = (program % (across as i32)) * (width as i32) + writer.kernel.iota(width);
    let column = column.reshape(&[1, width]);
    let outer = program / ((down * across) as i32);
    let mut index = vec![];
    for axis in 0..before.len() {
        let after: u64 = before[axis + 1..].iter().product();
        let at = outer / (after as i32) % (before[axis] as i32);
        index.push(At { at: writer.kernel.full(&[1, 1], at), inside: None });
    }
    let inside = (!m.is_multiple_of(height)).then(|| row.lt(m as i32));
    let inside = match (inside, is_one) {
        (Some(inside), Some(is_one)) => Some(inside & is_one),
        (inside, is_one) => inside.or_else(|| is_one.map(|is_one| writer.kernel.full(&[height, 1], is_one))),
    };
    let column = At { at: column, inside: (!n.is_multiple_of(width)).then(|| column.lt(n as i32)) };
    for (at, axes) in [(At { at: row, inside }, rows), (column, columns)] {
        // A single axis keeps its mask, even if it has one element.
        index.extend(if axes.len() == 1 { vec![at] } else { writer.unravelled(at, axes) });
    }
    (index, programs)
}

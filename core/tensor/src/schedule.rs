//! Which nodes one kernel computes together.
//!
//! A kernel computes one *stored* node, its root, and on the way all nodes of its group, which have no memory of their own. Its programs are made of tiles
//! of two dimensions, rows and columns: a [`Split`] says which axes of the root run along which. A reduction may stand inside a group if the
//! kernel computes each of its results once: then it reduces along the columns, and what follows it is computed from the same tile. So softmax and
//! norms are one kernel. A product of matrices may stand inside a group if rows and columns of the root are its own: what follows it is its epilogue.
//!
//! Invariant: a group computes no reduction, no product and no function twice; views and constants cost no memory, and each kernel writes its own.

use super::attrs::AttrKind;
use super::graph::{Graph, Node, NodeId};
use super::ops::{Meaning, Op, Reduction, View};
use super::size::Shape;
use std::collections::{BTreeMap, BTreeSet};

/// The most columns of a tile that a group with reductions and more computes at once.
pub const MOST_COLUMNS: u64 = 4096;
/// The most nodes of a group: kernels that are larger take long to compile.
const MOST_NODES: usize = 192;

/// Along which dimension of a tile an index changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Along {
    /// It is 0.
    None,
    /// It is one number in a program.
    Program,
    /// Along rows.
    Rows,
    /// Along columns.
    Columns,
    /// Along both.
    Both,
}

impl Along {
    fn and(self, other: Along) -> Along {
        use Along::{Both, Columns, None, Program, Rows};
        match (self, other) {
            (None, along) | (along, None) => along,
            (Program, along) | (along, Program) => along,
            (Rows, Rows) => Rows,
            (Columns, Columns) => Columns,
            (Rows | Both, Columns | Both) | (Columns | Both, Rows | Both) => Both,
        }
    }
}

/// How axes of a root run along a kernel's tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Split {
    /// Axes of columns; all others are rows, counted through in order.
    Columns(Vec<usize>),
    /// A product of matrices: the last two axes are rows and columns, those before choose the program.
    Matrices,
}

/// A kernel that will be.
#[derive(Clone, Debug)]
pub struct Group {
    /// What it stores.
    pub root: NodeId,
    /// How its tiles lie.
    pub split: Split,
    /// All that it computes, the root included.
    pub members: BTreeSet<NodeId>,
    /// What it reads from memory.
    pub reads: BTreeSet<NodeId>,
}

/// Whether groups are made as large as possible, or each operation is a kernel of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fusion {
    /// As large as possible.
    Full,
    /// One operation each: what fused kernels are compared with.
    None,
}

/// The kernels of a graph without compound operations, in the order in which they run.
pub fn schedule(graph: &Graph, fusion: Fusion) -> Vec<Group> {
    let needed = graph.needed();
    let mut users: Vec<BTreeSet<NodeId>> = vec![BTreeSet::new(); graph.nodes.len()];
    for id in graph.ids().filter(|id| needed[id.index()]) {
        for operand in &graph.nodes[id].operands {
            users[operand.index()].insert(id);
        }
    }
    let mut stored: BTreeSet<NodeId> = graph.outputs.iter().copied().collect();
    let mut groups = vec![];
    for root in graph.ids().rev() {
        if !stored.contains(&root) || graph.nodes[root].op == Op::Input {
            continue;
        }
        let grower = Grower { graph, users: &users, stored: &stored, fusion };
        let group = grower.best(root);
        stored.extend(&group.reads);
        groups.push(group);
    }
    groups.reverse();
    groups
}

/// How the operands of a node are accessed.
#[derive(Clone, Debug, PartialEq)]
struct Access {
    along: Vec<Along>,
    /// Whether several tiles need the same elements, so that only moving them is worth it.
    repeated: bool,
}

struct Grower<'g> {
    graph: &'g Graph,
    users: &'g [BTreeSet<NodeId>],
    stored: &'g BTreeSet<NodeId>,
    fusion: Fusion,
}

impl Grower<'_> {
    /// The group of a root with the split that puts most reductions and products into it.
    fn best(&self, root: NodeId) -> Group {
        let node = &self.graph.nodes[root];
        let rank = node.ty.shape.rank();
        if let Meaning::Matmul = node.op.row().meaning {
            return self.grow(root, Split::Matrices).0;
        }
        if let Meaning::Scan = node.op.row().meaning {
            return self.grow(root, Split::Columns(vec![node.axis()])).0;
        }
        let (mut best, mut most) = self.grow(root, Split::Columns(vec![]));
        if let Meaning::AddAt = node.op.row().meaning {
            return best;
        }
        let mut tries: Vec<Split> = vec![];
        if !matches!(node.op.row().meaning, Meaning::Reduce(_)) {
            for first in 0..rank {
                let runs = (first + 1..=rank).map(|end| Split::Columns((first..end).collect()));
                tries.extend(runs.filter(|split| columns(&node.ty.shape, split) <= MOST_COLUMNS));
            }
            tries.extend((rank >= 2).then_some(Split::Matrices));
        }
        for split in tries {
            let (group, inside) = self.grow(root, split);
            if inside > most {
                (best, most) = (group, inside);
            }
        }
        best
    }

    /// The group of a root with a split, and how many reductions and products are inside it.
    fn grow(&self, root: NodeId, split: Split) -> (Group, usize) {
        let shape = &self.graph.nodes[root].ty.shape;
        let along = |axis: usize| match &split {
            // A product's dimensions count as moving even if they have one element.
            Split::Matrices if axis + 1 == shape.rank() => Along::Columns,
            Split::Matrices if axis + 2 == shape.rank() => Along::Rows,
            _ if shape.length(axis) == 1 => Along::None,
            Split::Matrices => Along::Program,
            Split::Columns(columns) if columns.contains(&axis) => Along::Columns,
            Split::Columns(_) => Along::Rows,
        };
        let first = Access { along: (0..shape.rank()).map(along).collect(), repeated: false };
        let mut group = Group { root, split, members: BTreeSet::new(), reads: BTreeSet::new() };
        let mut accesses: BTreeMap<NodeId, Vec<Access>> = BTreeMap::from([(root, vec![first])]);
        let mut inside = 0;
        while let Some((id, ways)) = accesses.pop_last() {
            let node = &self.graph.nodes[id];
            if id != root && !self.fits(&group, id, &ways) {
                group.reads.insert(id);
                continue;
            }
            group.members.insert(id);
            inside += usize::from(id != root && matches!(node.op.row().meaning, Meaning::Reduce(_) | Meaning::Matmul));
            for way in &ways {
                for (operand, access) in node.operands.iter().zip(through(self.graph, node, way)) {
                    let ways = accesses.entry(*operand).or_default();
                    if !ways.contains(&access) {
                        ways.push(access);
                    }
                }
            }
        }
        (group, inside)
    }

    /// Whether a node is computed in the group whose members access it in these ways, and not read from memory.
    fn fits(&self, group: &Group, id: NodeId, ways: &[Access]) -> bool {
        let node = &self.graph.nodes[id];
        let shape = &self.graph.nodes[group.root].ty.shape;
        if self.stored.contains(&id) || self.fusion == Fusion::None {
            return matches!(node.op.row().meaning, Meaning::Full | Meaning::Iota) && !self.stored.contains(&id);
        }
        let alone = self.users[id.index()].iter().all(|user| group.members.contains(user));
        let moved = self.users[id.index()].len() > 1
            && self.users[id.index()].iter().any(|user| moves(&self.graph.nodes[*user]));
        let small = group.members.len() < MOST_NODES;
        let repeated = ways.iter().any(|way| way.repeated);
        match node.op.row().meaning {
            // Scans and sums at positions need tiles of their own.
            Meaning::Input | Meaning::Compound(_) | Meaning::Scan | Meaning::AddAt => false,
            Meaning::Full | Meaning::Iota => true,
            Meaning::View(_) | Meaning::Concat => small && ways.len() <= 4,
            Meaning::Pointwise(_) | Meaning::Convert | Meaning::Gather => {
                small && alone && !moved && !repeated && ways.len() <= 4
            }
            Meaning::Reduce(by) => {
                let columns_only = |way: &Access| {
                    !way.along.iter().any(|a| matches!(a, Along::Columns | Along::Both | Along::Program))
                };
                let rows = shape.elements() / columns(shape, &group.split).max(1);
                let reduced =
                    reduced_axes(node, by).iter().map(|axis| self.graph.shape(node.operands[0]).length(*axis as usize));
                small
                    && alone
                    && !repeated
                    && ways.len() == 1
                    && matches!(group.split, Split::Columns(_))
                    && ways.iter().all(columns_only)
                    && rows == node.ty.shape.elements()
                    && reduced.product::<u64>() <= MOST_COLUMNS
            }
            Meaning::Matmul => {
                let rank = node.ty.shape.rank();
                let fits = |way: &Access| {
                    let before = way.along[..rank - 2].iter().all(|a| matches!(a, Along::None | Along::Program));
                    before && way.along[rank - 2] == Along::Rows && way.along[rank - 1] == Along::Columns
                };
                let same = node.ty.shape == *shape;
                small
                    && alone
                    && !repeated
                    && ways.len() == 1
                    && group.split == Split::Matrices
                    && same
                    && ways.iter().all(fits)
            }
        }
    }
}

/// Whether a node looks at elements of its operands in other places than its own.
fn moves(node: &Node) -> bool {
    match node.op.row().meaning {
        Meaning::View(View::Broadcast | View::Reshape) => false,
        Meaning::View(_) | Meaning::Concat | Meaning::Gather | Meaning::Matmul | Meaning::Scan | Meaning::AddAt => true,
        Meaning::Input
        | Meaning::Full
        | Meaning::Iota
        | Meaning::Pointwise(_)
        | Meaning::Convert
        | Meaning::Reduce(_)
        | Meaning::Compound(_) => false,
    }
}

/// The axes that a reduction reduces.
pub(crate) fn reduced_axes(node: &Node, by: Reduction) -> &[u64] {
    match by {
        Reduction::ArgMax | Reduction::ArgMin => node.list(AttrKind::Axis),
        Reduction::Sum | Reduction::Prod | Reduction::Max | Reduction::Min | Reduction::Any | Reduction::All => {
            node.list(AttrKind::Axes)
        }
    }
}

/// How many columns a split gives a root.
pub(crate) fn columns(shape: &Shape, split: &Split) -> u64 {
    match split {
        Split::Columns(axes) => axes.iter().map(|axis| shape.length(*axis)).product(),
        Split::Matrices => shape.length(shape.rank() - 1),
    }
}

/// Groups of axes of two shapes of as many elements, as few axes each as possible, so that elements of each group are the same in order.
pub(crate) fn axis_groups(from: &[u64], to: &[u64]) -> Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let (mut i, mut j, mut groups) = (0, 0, vec![]);
    while i < from.len() || j < to.len() {
        let (first, other) = (i, j);
        let (mut a, mut b) = (1u64, 1u64);
        loop {
            if a <= b && i < from.len() && (a < b || i == first || from[i] == 1) {
                a *= from[i];
                i += 1;
            } else if j < to.len() && (b < a || j == other || to[j] == 1) {
                b *= to[j];
                j += 1;
            } else {
                break;
            }
        }
        groups.push((first..i, other..j));
    }
    groups
}

/// How a node that is accessed in some way accesses its operands.
fn through(graph: &Graph, node: &Node, way: &Access) -> Vec<Access> {
    let with = |along: Vec<Along>| Access { along, repeated: way.repeated };
    let all = || way.along.iter().fold(Along::None, |a, b| a.and(*b));
    match node.op.row().meaning {
        Meaning::Input | Meaning::Full | Meaning::Iota | Meaning::Compound(_) => vec![],
        Meaning::Pointwise(_) | Meaning::Convert | Meaning::Concat | Meaning::Scan => {
            vec![way.clone(); node.operands.len()]
        }
        // Positions and what is added are read by a kernel of its own, in which each element is a row.
        Meaning::AddAt => {
            let rows = Access { along: vec![Along::Rows; way.along.len()], repeated: true };
            vec![way.clone(), rows.clone(), rows]
        }
        Meaning::View(view) => vec![with(through_view(node, view, graph.shape(node.operands[0]), &way.along))],
        Meaning::Gather => {
            let mut along = way.along.clone();
            along[node.axis()] = all();
            vec![with(along), way.clone()]
        }
        Meaning::Reduce(by) => {
            let axes = reduced_axes(node, by);
            let (mut kept, rank) = (way.along.iter(), graph.shape(node.operands[0]).rank());
            let along = |axis: u64| {
                if axes.contains(&axis) { Along::Columns } else { kept.next().copied().unwrap_or(Along::None) }
            };
            vec![with((0..rank as u64).map(along).collect())]
        }
        Meaning::Matmul => {
            let rank = way.along.len();
            let (mut a, mut b) = (way.along.clone(), way.along.clone());
            (a[rank - 1], b[rank - 2]) = (Along::Columns, Along::Rows);
            vec![Access { along: a, repeated: true }, Access { along: b, repeated: true }]
        }
    }
}

fn through_view(node: &Node, view: View, from: &Shape, along: &[Along]) -> Vec<Along> {
    match view {
        View::Broadcast => (0..along.len()).map(|i| if from.length(i) == 1 { Along::None } else { along[i] }).collect(),
        View::Reshape => {
            let mut given = vec![Along::None; from.rank()];
            for (old, new) in axis_groups(&from.lengths(), &node.ty.shape.lengths()) {
                let joined = along[new].iter().fold(Along::None, |a, b| a.and(*b));
                old.filter(|axis| from.length(*axis) != 1).for_each(|axis| given[axis] = joined);
            }
            given
        }
        View::Permute => {
            let mut given = along.to_vec();
            node.list(AttrKind::Axes).iter().zip(along).for_each(|(axis, along)| given[*axis as usize] = *along);
            given
        }
        View::Slice | View::Pad | View::Flip => along.to_vec(),
        View::Skew | View::Unskew => {
            let mut given = along.to_vec();
            given[node.axis()] = along[node.axis()].and(along[along.len() - 1]);
            given
        }
    }
}

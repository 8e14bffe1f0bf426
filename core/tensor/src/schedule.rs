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
use std::ops::Range;

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

/// So few tensors are concatenated with any number of others at once.
const FEW_JOINED: usize = 4;
/// The most elements of a result that are combined one after the other, if there are few results.
const MOST_STEPS: u64 = 256;
/// So many results keep a device busy, however many elements each has.
const MANY_RESULTS: u64 = 1 << 16;

/// How axes of a root run along a kernel's tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Split {
    /// Axes of columns; all others are rows, counted through in order.
    Columns(Vec<usize>),
    /// A product of matrices: the first axes choose the program, then come those of rows, and those of columns.
    Matrices(Range<usize>, Range<usize>),
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
    /// The reduction that takes its elements one after the other, for all results of a tile at once.
    pub steps: Option<NodeId>,
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
            return self.grow(root, Split::Matrices(rank - 2..rank - 1, rank - 1..rank), false).0;
        }
        if let Meaning::Scan = node.op.row().meaning {
            return self.grow(root, Split::Columns(vec![node.axis()]), false).0;
        }
        let (mut best, mut most) = self.grow(root, Split::Columns(vec![]), false);
        if let Meaning::Merge(_) = node.op.row().meaning {
            return best;
        }
        if let Meaning::AddAt = node.op.row().meaning {
            return best;
        }
        let mut tries: Vec<Split> = vec![];
        if !matches!(node.op.row().meaning, Meaning::Reduce(_)) {
            for first in 0..rank {
                let runs = (first + 1..=rank).map(|end| Split::Columns((first..end).collect()));
                tries.extend(runs.filter(|split| columns(&node.ty.shape, split) <= MOST_COLUMNS));
            }
            // What a convolution gives has several axes of columns.
            let columns = (1..rank).rev().take(2);
            tries.extend(columns.map(|first| Split::Matrices(first - 1..first, first..rank)));
        }
        for split in tries {
            let (group, inside) = self.grow(root, split, false);
            if inside > most {
                (best, most) = (group, inside);
            }
        }
        self.in_steps(&best).unwrap_or(best)
    }

    /// The group of the same root whose only reduction takes one element after the other, if that suits it. The last axis are columns then: windows move along it, and
    /// positions along columns need no quotients.
    fn in_steps(&self, group: &Group) -> Option<Group> {
        let is_reduction = |id: &&NodeId| matches!(self.graph.nodes[**id].op.row().meaning, Meaning::Reduce(_));
        let mut reductions = group.members.iter().filter(is_reduction);
        let (only, None) = (reductions.next()?, reductions.next()) else { return None };
        let shape = self.graph.shape(group.root);
        if self.fusion == Fusion::None || !is_stepwise(self.graph, *only) || group.split != Split::Columns(vec![]) {
            return None;
        }
        let last = (0..shape.rank()).rev().find(|axis| shape.length(*axis) > 1);
        let columns = last.filter(|axis| shape.length(*axis) <= MOST_COLUMNS);
        let stepped = self.grow(group.root, Split::Columns(columns.into_iter().collect()), true).0;
        (stepped.steps == Some(*only)).then_some(stepped)
    }

    /// The group of a root with a split, and how many reductions and products are inside it. In steps there is one reduction at most.
    fn grow(&self, root: NodeId, split: Split, in_steps: bool) -> (Group, usize) {
        let shape = &self.graph.nodes[root].ty.shape;
        let along = |axis: usize| match &split {
            // A product's dimensions count as moving even if they have one element.
            Split::Matrices(_, columns) if columns.contains(&axis) => Along::Columns,
            Split::Matrices(rows, _) if rows.contains(&axis) => Along::Rows,
            _ if shape.length(axis) == 1 => Along::None,
            Split::Matrices(..) => Along::Program,
            Split::Columns(columns) if columns.contains(&axis) => Along::Columns,
            Split::Columns(_) => Along::Rows,
        };
        let first = Access { along: (0..shape.rank()).map(along).collect(), repeated: false };
        let mut group = Group { root, split, members: BTreeSet::new(), reads: BTreeSet::new(), steps: None };
        let mut accesses: BTreeMap<NodeId, Vec<Access>> = BTreeMap::from([(root, vec![first])]);
        let mut inside = 0;
        while let Some((id, ways)) = accesses.pop_last() {
            let node = &self.graph.nodes[id];
            if id != root && !self.fits(&group, id, &ways, in_steps) {
                group.reads.insert(id);
                continue;
            }
            group.members.insert(id);
            if in_steps && matches!(node.op.row().meaning, Meaning::Reduce(_)) {
                group.steps = Some(id);
            }
            inside += usize::from(id != root && matches!(node.op.row().meaning, Meaning::Reduce(_) | Meaning::Matmul));
            for way in &ways {
                for (operand, access) in node.operands.iter().zip(through(self.graph, node, way, in_steps)) {
                    let ways = accesses.entry(*operand).or_default();
                    if !ways.contains(&access) {
                        ways.push(access);
                    }
                }
            }
        }
        (group, inside)
    }

    /// Whether many tensors that are concatenated would be looked at for each element of many others.
    fn is_joined(&self, group: &Group, node: &Node) -> bool {
        let is_long =
            |node: &Node| matches!(node.op.row().meaning, Meaning::Concat) && node.operands.len() > FEW_JOINED;
        is_long(node) && group.members.iter().any(|id| is_long(&self.graph.nodes[*id]))
    }

    /// Whether no other group needs a node, directly or through views.
    fn serves(&self, group: &Group, id: NodeId) -> bool {
        self.users[id.index()].iter().all(|user| {
            let is_view = matches!(self.graph.nodes[*user].op.row().meaning, Meaning::View(_));
            group.members.contains(user) && (!is_view || self.serves(group, *user))
        })
    }

    /// Whether a node is computed in the group whose members access it in these ways, and not read from memory.
    fn fits(&self, group: &Group, id: NodeId, ways: &[Access], in_steps: bool) -> bool {
        let node = &self.graph.nodes[id];
        let shape = &self.graph.nodes[group.root].ty.shape;
        if self.stored.contains(&id) || self.fusion == Fusion::None {
            return matches!(node.op.row().meaning, Meaning::Full | Meaning::Iota) && !self.stored.contains(&id);
        }
        if let Meaning::Merge(_) = self.graph.nodes[group.root].op.row().meaning {
            return matches!(node.op.row().meaning, Meaning::View(View::Reshape));
        }
        let alone = self.serves(group, id);
        let moved = self.users[id.index()].len() > 1
            && self.users[id.index()].iter().any(|user| moves(&self.graph.nodes[*user], id));
        let small = group.members.len() < MOST_NODES;
        let repeated = ways.iter().any(|way| way.repeated);
        match node.op.row().meaning {
            // Scans, merged rows and sums at positions need tiles of their own.
            Meaning::Input | Meaning::Compound(_) | Meaning::Scan | Meaning::Merge(_) | Meaning::AddAt => false,
            Meaning::Full | Meaning::Iota => true,
            Meaning::View(_) => small && ways.len() <= 4,
            Meaning::Concat => small && ways.len() <= 4 && !self.is_joined(group, node),
            Meaning::Pointwise(_) | Meaning::Convert | Meaning::Gather => {
                small && alone && !moved && !repeated && ways.len() <= 4
            }
            Meaning::Reduce(_) if in_steps => {
                let same = node.ty.shape.elements() == shape.elements();
                let first = group.steps.is_none() && is_stepwise(self.graph, id);
                small && alone && !repeated && ways.len() == 1 && same && first
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
                let Split::Matrices(rows, columns) = &group.split else { return false };
                let count = |axes: &Range<usize>| axes.clone().map(|axis| shape.length(axis)).product::<u64>();
                let lengths = [node.ty.shape.length(rank - 2), node.ty.shape.length(rank - 1)];
                let same = lengths == [count(rows), count(columns)] && node.ty.shape.elements() == shape.elements();
                small && alone && !repeated && ways.len() == 1 && same && ways.iter().all(fits)
            }
        }
    }
}

/// Whether a node looks at elements of an operand in other places than its own. Positions of elements are looked at in their own.
fn moves(node: &Node, operand: NodeId) -> bool {
    match node.op.row().meaning {
        Meaning::View(View::Broadcast | View::Reshape) => false,
        Meaning::Gather => node.operands[0] == operand,
        Meaning::View(_) | Meaning::Concat | Meaning::Matmul | Meaning::Scan | Meaning::Merge(_) | Meaning::AddAt => {
            true
        }
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

/// Whether a reduction may take its elements one after the other, for many results at once: those of one result do not lie beside each other, as those of a column or of a
/// window do not, and there are few of them, or many results.
fn is_stepwise(graph: &Graph, id: NodeId) -> bool {
    let node = &graph.nodes[id];
    let Meaning::Reduce(by) = node.op.row().meaning else { return false };
    let (axes, operand) = (reduced_axes(node, by), node.operands[0]);
    let from = graph.shape(operand);
    let count: u64 = axes.iter().map(|axis| from.length(*axis as usize)).product();
    let last = (0..from.rank()).rev().find(|axis| from.length(*axis) > 1);
    let mut seen = &graph.nodes[operand];
    while let Meaning::View(View::Reshape) = seen.op.row().meaning {
        seen = &graph.nodes[seen.operands[0]];
    }
    let is_window = matches!(seen.op.row().meaning, Meaning::View(View::Skew | View::Unskew));
    let is_apart = is_window || last.is_some_and(|last| !axes.contains(&(last as u64)));
    count > 1 && is_apart && (count <= MOST_STEPS || node.ty.shape.elements() >= MANY_RESULTS)
}

/// How many columns a split gives a root.
pub(crate) fn columns(shape: &Shape, split: &Split) -> u64 {
    match split {
        Split::Columns(axes) => axes.iter().map(|axis| shape.length(*axis)).product(),
        Split::Matrices(_, columns) => columns.clone().map(|axis| shape.length(axis)).product(),
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
fn through(graph: &Graph, node: &Node, way: &Access, in_steps: bool) -> Vec<Access> {
    let with = |along: Vec<Along>| Access { along, repeated: way.repeated };
    let all = || way.along.iter().fold(Along::None, |a, b| a.and(*b));
    match node.op.row().meaning {
        Meaning::Input | Meaning::Full | Meaning::Iota | Meaning::Compound(_) => vec![],
        Meaning::Pointwise(_) | Meaning::Convert | Meaning::Concat | Meaning::Scan => {
            vec![way.clone(); node.operands.len()]
        }
        // Elements are looked up all over the row, so it has to be in memory.
        Meaning::Merge(_) => vec![Access { along: vec![Along::Rows; way.along.len()], repeated: true }],
        // Positions and what is added are read by a kernel of its own, in which each element is a row.
        Meaning::AddAt => {
            let rows = Access { along: vec![Along::Rows; way.along.len()], repeated: true };
            vec![way.clone(), rows.clone(), rows]
        }
        Meaning::View(view) => {
            let from = graph.shape(node.operands[0]);
            let mut access = with(through_view(node, view, from, &way.along));
            // Windows overlap.
            access.repeated |= view == View::Skew && from.length(from.rank() - 1) > 1;
            vec![access]
        }
        Meaning::Gather => {
            let mut along = way.along.clone();
            along[node.axis()] = all();
            vec![with(along), way.clone()]
        }
        Meaning::Reduce(by) => {
            let axes = reduced_axes(node, by);
            let (mut kept, rank) = (way.along.iter(), graph.shape(node.operands[0]).rank());
            let reduced = if in_steps { Along::Program } else { Along::Columns };
            let along = |axis: u64| {
                if axes.contains(&axis) { reduced } else { kept.next().copied().unwrap_or(Along::None) }
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

//! A node's elements at an index: read from memory, or computed from elements of its operands.
//!
//! An index is a tile of positions for each axis. Tiles have two dimensions, either of which may have length 1 where a position does not change along it; the tile
//! builder repeats them. So a node is computed exactly as often as its index says, and a row's maximum is one number for the row.
//!
//! Invariant: a tile at a position that is masked off may hold anything, and is neither stored nor combined with others. Along an axis of one element a node is
//! always asked for the position 0, without a mask, so that its tile depends on no rows and columns but those of its other axes: the schedule counts on it.

use super::combine::elementwise;
use crate::attrs::{AttrKind, Number};
use crate::graph::{Graph, NodeId};
use crate::ops::{Meaning, View};
use crate::schedule::Group;
use girih_ir::kernel::{Block, Buffer, Literal, Mask, TileKernel};
use girih_ir::{Scalar, ValueId};
use std::collections::{BTreeMap, HashMap};

/// Positions along an axis, and which of them are there; all if that is not said.
#[derive(Clone, Copy, Debug)]
pub struct At<'k> {
    pub at: Block<'k>,
    pub inside: Option<Block<'k>>,
}

/// Positions along each axis.
pub type Index<'k> = Vec<At<'k>>;

/// An index by the names of its values, masks included: the same positions with other masks are another index.
type Positions = Vec<(ValueId, Option<ValueId>)>;
fn positions(index: &[At<'_>]) -> Positions {
    index.iter().map(|at| (at.at.id(), at.inside.map(Block::id))).collect()
}

/// The positions of axes of more than one element, and the lengths of these.
fn longer<'k>(index: &[At<'k>], lengths: &[u64]) -> (Index<'k>, Vec<u64>) {
    index.iter().zip(lengths).filter(|(_, length)| **length != 1).map(|(at, length)| (*at, *length)).unzip()
}

/// The writer of a kernel.
pub struct Writer<'k> {
    pub graph: &'k Graph,
    pub kernel: &'k TileKernel,
    pub group: &'k Group,
    pub reads: BTreeMap<NodeId, Buffer<'k>>,
    known: HashMap<(NodeId, Positions), Block<'k>>,
    columns: HashMap<(u64, u64), At<'k>>,
    zero: Option<At<'k>>,
    /// Positions that are quotients and remainders of one: which one, and of which lengths.
    ravelled: HashMap<Positions, (At<'k>, Vec<u64>)>,
    /// Rows and columns of a tile of a product, and the depth of a step.
    pub product: [u64; 3],
}

impl<'k> Writer<'k> {
    pub fn new(
        graph: &'k Graph,
        kernel: &'k TileKernel,
        group: &'k Group,
        reads: BTreeMap<NodeId, Buffer<'k>>,
    ) -> Writer<'k> {
        Writer {
            graph,
            kernel,
            group,
            reads,
            known: HashMap::new(),
            columns: HashMap::new(),
            zero: None,
            ravelled: HashMap::new(),
            product: [1, 1, 1],
        }
    }

    /// The position 0. It stands before all that uses it: the first call is outside of loops.
    pub fn zero(&mut self) -> At<'k> {
        let kernel = self.kernel;
        *self.zero.get_or_insert_with(|| At { at: kernel.zeros(&[1, 1], Scalar::I32), inside: None })
    }
    /// Positions along columns from 0, or from a number on.
    pub fn columns(&mut self, length: u64, block: u64, from: Option<Block<'k>>) -> At<'k> {
        if let Some(known) = self.columns.get(&(length, block)).filter(|_| from.is_none()) {
            return *known;
        }
        let at = self.kernel.iota(block).reshape(&[1, block]);
        let at = from.map_or(at, |from| at + from);
        let at = At { at, inside: (!length.is_multiple_of(block)).then(|| at.lt(length as i32)) };
        if from.is_none() {
            self.columns.insert((length, block), at);
        }
        at
    }
    /// Writes something inside a region; what it knows then is not known after.
    pub fn inside<R>(&mut self, write: impl FnOnce(&mut Writer<'k>) -> R) -> R {
        self.zero();
        let (known, columns, ravelled) = (self.known.clone(), self.columns.clone(), self.ravelled.clone());
        let result = write(self);
        (self.known, self.columns, self.ravelled) = (known, columns, ravelled);
        result
    }

    /// Positions along each of some axes whose elements are counted through by one.
    pub fn unravelled(&mut self, one: At<'k>, lengths: &[u64]) -> Index<'k> {
        let first = lengths.iter().position(|length| *length != 1);
        let mut index = vec![];
        for (axis, length) in lengths.iter().enumerate() {
            if *length == 1 {
                index.push(self.zero());
                continue;
            }
            let after: u64 = lengths[axis + 1..].iter().product();
            let quotient = if after == 1 { one.at } else { one.at / (after as i32) };
            let at = if Some(axis) == first { quotient } else { quotient % (*length as i32) };
            index.push(At { at, inside: one.inside });
        }
        let (long, lengths) = longer(&index, lengths);
        if long.len() > 1 {
            self.ravelled.insert(positions(&long), (one, lengths));
        }
        index
    }
    /// The one whose quotients and remainders positions are, if that is known. Axes of one element do not matter.
    pub fn of_one(&self, index: &[At<'k>], lengths: &[u64]) -> Option<At<'k>> {
        let (long, lengths) = longer(index, lengths);
        self.ravelled.get(&positions(&long)).filter(|(_, known)| *known == lengths).map(|(one, _)| *one)
    }
    /// One position that counts through the elements of some axes.
    pub fn ravelled(&mut self, index: &[At<'k>], lengths: &[u64]) -> At<'k> {
        let (long, long_lengths) = longer(index, lengths);
        let mut sum: Option<Block<'k>> = None;
        let mut inside: Vec<Block<'k>> = vec![];
        let mut axis = 0;
        while axis < long.len() {
            // As many axes as possible whose positions are those of one.
            let runs = (axis + 2..=long.len()).rev();
            let run = runs.map(|end| (end, self.of_one(&long[axis..end], &long_lengths[axis..end])));
            let (end, at) = run.into_iter().find_map(|(end, one)| Some((end, one?))).unwrap_or((axis + 1, long[axis]));
            let stride: u64 = long_lengths[end..].iter().product();
            let part = if stride == 1 { at.at } else { at.at * (stride as i32) };
            sum = Some(sum.map_or(part, |sum| sum + part));
            inside.extend(at.inside.filter(|mask| inside.iter().all(|known| known.id() != mask.id())));
            axis = end;
        }
        // Axes of one element of what is stored may be masked off, too: the rows of a product that has one.
        for at in index.iter().enumerate().filter(|(axis, _)| lengths[*axis] == 1).map(|(_, at)| at) {
            inside.extend(at.inside.filter(|mask| inside.iter().all(|known| known.id() != mask.id())));
        }
        let at = sum.unwrap_or(self.zero().at);
        At { at, inside: inside.into_iter().reduce(|a, b| a & b) }
    }
    /// Where the element of a node lies at an index, and whether it is there.
    pub fn offset(&mut self, id: NodeId, index: &Index<'k>) -> (Block<'k>, Option<Block<'k>>) {
        let lengths = self.graph.shape(id).lengths();
        let one = self.ravelled(index, &lengths);
        // The tile of the root has positions for all of its rows and columns, even where they do not change the offset.
        let mut at = one.at;
        for part in index {
            let wanted: Vec<u64> = at.lengths().iter().zip(part.at.lengths()).map(|(a, b)| *a.max(&b)).collect();
            at = at.broadcast_to(&wanted);
        }
        (at, one.inside.map(|inside| inside.broadcast_to(&at.lengths())))
    }

    /// The elements of a node at an index.
    pub fn value(&mut self, id: NodeId, index: &Index<'k>) -> Block<'k> {
        let (shape, zero) = (self.graph.shape(id), self.zero());
        let index = index.iter().enumerate().map(|(axis, at)| if shape.length(axis) == 1 { zero } else { *at });
        let index: Index<'k> = index.collect();
        let key = (id, positions(&index));
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let value = if self.group.members.contains(&id) { self.computed(id, &index) } else { self.read(id, &index) };
        self.known.insert(key, value);
        value
    }

    fn read(&mut self, id: NodeId, index: &Index<'k>) -> Block<'k> {
        let lengths = self.graph.shape(id).lengths();
        let one = self.ravelled(index, &lengths);
        let buffer = self.reads[&id];
        let at = match one.inside {
            Some(inside) => {
                let wanted: Vec<u64> = one.at.lengths().iter().zip(inside.lengths()).map(|(a, b)| *a.max(&b)).collect();
                one.at.broadcast_to(&wanted)
            }
            None => one.at,
        };
        let value = match one.inside {
            Some(inside) => buffer.load(at, inside.broadcast_to(&at.lengths())),
            None => buffer.load(at, Mask::ALL),
        };
        if self.graph.ty(id).element == Scalar::Bool { value.to(Scalar::Bool) } else { value }
    }

    /// One number as a tile of one element.
    pub fn number(&self, element: Scalar, number: Number) -> Block<'k> {
        let literal = match number {
            _ if element == Scalar::Bool => Literal::Bool(number.as_float() != 0.0),
            Number::Int(n) => Literal::Int(n),
            Number::Float(x) if element.is_float() => Literal::Float(x),
            Number::Float(x) => Literal::Int(x as i128),
        };
        self.kernel.full(&[1, 1], self.kernel.constant(element, literal))
    }

    fn computed(&mut self, id: NodeId, index: &Index<'k>) -> Block<'k> {
        let graph = self.graph;
        let node = &graph.nodes[id];
        match node.op.row().meaning {
            Meaning::Full => self.number(node.ty.element, node.number(AttrKind::Value)),
            Meaning::Iota => index[node.axis()].at.to(node.ty.element),
            Meaning::Pointwise(op) => {
                let operands: Vec<Block<'k>> =
                    node.operands.iter().map(|operand| self.value(*operand, index)).collect();
                elementwise(op, &operands)
            }
            Meaning::Convert => self.value(node.operands[0], index).to(node.ty.element),
            Meaning::View(view) => {
                let (moved, outside) = self.viewed(node, view, index);
                let value = self.value(node.operands[0], &moved);
                let fill = if view == View::Pad { node.number(AttrKind::Value) } else { Number::Int(0) };
                let fill = self.number(node.ty.element, fill);
                outside.map_or(value, |inside| inside.select(value, fill))
            }
            Meaning::Concat => self.concatenated(id, index),
            Meaning::Gather => self.gathered(id, index),
            Meaning::Reduce(by) if self.group.steps == Some(id) => self.stepped(id, by, index),
            Meaning::Reduce(by) => self.reduced(id, by, index),
            Meaning::Scan => self.scanned(id, index),
            Meaning::Merge(order) => self.merged(id, order, index),
            // What it starts with: another kernel adds the rest.
            Meaning::AddAt => self.value(node.operands[0], index),
            Meaning::Matmul => self.product(id, index),
            // Neither is ever a member of a group.
            Meaning::Input | Meaning::Compound(_) => self.number(node.ty.element, Number::Int(0)),
        }
    }

    fn concatenated(&mut self, id: NodeId, index: &Index<'k>) -> Block<'k> {
        let graph = self.graph;
        let (node, mut start) = (&graph.nodes[id], 0);
        let (axis, mut all): (usize, Option<Block<'k>>) = (node.axis(), None);
        for operand in &node.operands {
            let length = graph.shape(*operand).length(axis);
            let mut moved = index.clone();
            let at = index[axis].at - (start as i32);
            let is_here = at.ge(0) & at.lt(length as i32);
            moved[axis] = At { at, inside: Some(index[axis].inside.map_or(is_here, |inside| inside & is_here)) };
            let part = self.value(*operand, &moved);
            all = Some(all.map_or(part, |before| is_here.select(part, before)));
            start += length;
        }
        all.unwrap_or(self.number(node.ty.element, Number::Int(0)))
    }

    fn gathered(&mut self, id: NodeId, index: &Index<'k>) -> Block<'k> {
        let graph = self.graph;
        let node = &graph.nodes[id];
        let wanted = self.value(node.operands[1], index);
        let length = graph.shape(node.operands[0]).length(node.axis());
        let (moved, is_there) = self.at_position(node.axis(), length, wanted, index);
        let value = self.value(node.operands[0], &moved);
        is_there.select(value, self.number(node.ty.element, Number::Int(0)))
    }

    /// The index with other positions along an axis of a length, and which of these are there.
    pub fn at_position(
        &mut self,
        axis: usize,
        length: u64,
        wanted: Block<'k>,
        index: &Index<'k>,
    ) -> (Index<'k>, Block<'k>) {
        let bound = wanted.constant(length as i64);
        let mut is_there = wanted.lt(bound);
        if wanted.element().is_signed() {
            is_there = is_there & wanted.ge(0);
        }
        let at = is_there.select(wanted, wanted.constant(0)).to(Scalar::I32);
        let mut moved = index.clone();
        moved[axis] = At { at, inside: Some(index[axis].inside.map_or(is_there, |inside| inside & is_there)) };
        (moved, is_there)
    }
}

//! Graphs: nodes in an order in which each comes after what it uses.
//!
//! Invariant: [`Graph::push`] lets no node in whose operands or attributes do not fit its operation, so every graph is well typed.

use super::Made;
use super::attrs::{Attr, AttrKind, Number};
use super::infer;
use super::ops::Op;
use super::size::{Shape, TensorType};
use girih_base::idx::IndexVec;
use girih_ir::Scalar;

girih_base::index_type! {
    /// A node of a graph, and the tensor that it computes.
    pub struct NodeId;
}

/// A node: one operation and the tensor that it gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it does.
    pub op: Op,
    /// Of which tensors.
    pub operands: Vec<NodeId>,
    /// What the operation's row asks for beside operands.
    pub attrs: Vec<Attr>,
    /// What it gives.
    pub ty: TensorType,
}

impl Node {
    /// The numbers of an attribute; none if it has no such attribute.
    pub fn list(&self, kind: AttrKind) -> &[u64] {
        list(&self.attrs, kind)
    }
    /// The axis that the operation works along.
    pub fn axis(&self) -> usize {
        self.list(AttrKind::Axis).first().map_or(0, |axis| *axis as usize)
    }
    /// The number of an attribute; 0 if it has no such attribute.
    pub fn number(&self, kind: AttrKind) -> Number {
        let number = |attr: &Attr| match attr {
            Attr::Number(k, number) if *k == kind => Some(*number),
            Attr::Number(..) | Attr::List(..) | Attr::Element(..) => None,
        };
        self.attrs.iter().find_map(number).unwrap_or(Number::Int(0))
    }
}

/// The numbers of an attribute among others.
pub fn list(attrs: &[Attr], kind: AttrKind) -> &[u64] {
    let found = |attr| match attr {
        &Attr::List(k, ref list) if k == kind => Some(list.as_slice()),
        Attr::List(..) | Attr::Number(..) | Attr::Element(..) => None,
    };
    attrs.iter().find_map(found).unwrap_or(&[])
}

/// A graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The nodes; each uses earlier ones only.
    pub nodes: IndexVec<NodeId, Node>,
    /// The tensors that the graph is there for.
    pub outputs: Vec<NodeId>,
}

impl Graph {
    /// A graph without nodes.
    pub fn new() -> Graph {
        Graph::default()
    }
    /// Adds a node.
    ///
    /// # Errors
    /// If operands or attributes do not fit the operation: a sentence with the operation and all shapes.
    pub fn push(&mut self, op: Op, operands: &[NodeId], attrs: Vec<Attr>) -> Made<NodeId> {
        let types: Vec<&TensorType> = operands.iter().map(|operand| self.ty(*operand)).collect();
        let ty = infer::result(op, &types, &attrs)?;
        Ok(self.nodes.push(Node { op, operands: operands.to_vec(), attrs, ty }))
    }
    /// Adds an input, which is given from outside.
    ///
    /// # Errors
    /// If there is no tensor of such elements.
    pub fn input(&mut self, element: Scalar, lengths: &[u64]) -> Made<NodeId> {
        let attrs = vec![Attr::Element(AttrKind::To, element), Attr::List(AttrKind::Sizes, lengths.to_vec())];
        self.push(Op::Input, &[], attrs)
    }
    /// Adds the nodes of another graph, whose inputs are nodes of this one of the same types; gives what its outputs have become.
    pub(crate) fn inline(&mut self, other: &Graph, inputs: &[NodeId]) -> Vec<NodeId> {
        let mut given = inputs.iter().copied();
        let mut moved: Vec<NodeId> = vec![];
        for node in other.ids().map(|id| &other.nodes[id]) {
            let input = if node.op == Op::Input { given.next() } else { None };
            let operands = node.operands.iter().map(|operand| moved[operand.index()]).collect();
            moved.push(input.unwrap_or_else(|| self.nodes.push(Node { operands, ..node.clone() })));
        }
        other.outputs.iter().map(|output| moved[output.index()]).collect()
    }
    /// The type of a node's tensor.
    pub fn ty(&self, node: NodeId) -> &TensorType {
        &self.nodes[node].ty
    }
    /// The shape of a node's tensor.
    pub fn shape(&self, node: NodeId) -> &Shape {
        &self.nodes[node].ty.shape
    }
    /// All nodes in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId::new)
    }
    /// The inputs in order.
    pub fn inputs(&self) -> Vec<NodeId> {
        self.ids().filter(|id| self.nodes[*id].op == Op::Input).collect()
    }
    /// For each node whether an output needs it.
    pub fn needed(&self) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        self.outputs.iter().for_each(|output| needed[output.index()] = true);
        for id in self.ids().rev() {
            if needed[id.index()] {
                self.nodes[id].operands.iter().for_each(|operand| needed[operand.index()] = true);
            }
        }
        needed
    }
    /// The same graph without nodes that no output needs. Inputs stay.
    pub fn pruned(&self) -> Graph {
        let needed = self.needed();
        let mut pruned = Graph::new();
        let mut moved = vec![NodeId::new(0); self.nodes.len()];
        for id in self.ids() {
            let node = &self.nodes[id];
            if needed[id.index()] || node.op == Op::Input {
                let operands = node.operands.iter().map(|operand| moved[operand.index()]).collect();
                moved[id.index()] = pruned.nodes.push(Node { operands, ..node.clone() });
            }
        }
        pruned.outputs = self.outputs.iter().map(|output| moved[output.index()]).collect();
        pruned
    }
}

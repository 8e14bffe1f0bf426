//! From tensors back to the graph that computes them.
//!
//! Invariant: a tensor becomes one node, and inputs stand in the order in which they are found, so tensors that were written in the same way give the same graph.

use crate::tensor::{Origin, Tensor};
use girih_base::diag::Diagnostic;
use girih_tensor::{Graph, NodeId};
use std::collections::HashMap;
use std::sync::Arc;

/// A graph, and the tensors that its inputs are.
#[derive(Default)]
pub(crate) struct Trace {
    pub graph: Graph,
    pub inputs: Vec<Tensor>,
    nodes: HashMap<usize, NodeId>,
}

fn address(tensor: &Tensor) -> usize {
    Arc::as_ptr(&tensor.0).addr()
}

impl Trace {
    /// The node of a tensor, if it has one.
    pub fn node(&self, tensor: &Tensor) -> Option<NodeId> {
        self.nodes.get(&address(tensor)).copied()
    }
    /// Makes a tensor an input.
    pub fn input(&mut self, tensor: &Tensor) -> Result<NodeId, Diagnostic> {
        if let Some(known) = self.node(tensor) {
            return Ok(known);
        }
        if let Origin::Broken(mistake) = &tensor.0.origin {
            return Err(mistake.clone());
        }
        let id = self.graph.input(tensor.dtype(), &tensor.shape())?;
        self.nodes.insert(address(tensor), id);
        self.inputs.push(tensor.clone());
        Ok(id)
    }
    /// Writes what a tensor is computed from, up to tensors that `ends` picks and those that were given.
    ///
    /// # Errors
    /// The mistake that it comes from.
    pub fn write(&mut self, root: &Tensor, ends: impl Fn(&Tensor) -> bool) -> Result<NodeId, Diagnostic> {
        let mut open = vec![(root.clone(), false)];
        while let Some((tensor, operands_are_written)) = open.pop() {
            if self.node(&tensor).is_some() {
                continue;
            }
            match &tensor.0.origin {
                Origin::Broken(mistake) => return Err(mistake.clone()),
                Origin::Computed { op, attrs, operands } if !ends(&tensor) => {
                    if operands_are_written {
                        let operands: Vec<NodeId> = operands.iter().filter_map(|operand| self.node(operand)).collect();
                        let id = self.graph.push(*op, &operands, attrs.clone())?;
                        self.nodes.insert(address(&tensor), id);
                    } else {
                        open.push((tensor.clone(), true));
                        open.extend(operands.iter().rev().map(|operand| (operand.clone(), false)));
                    }
                }
                Origin::Given | Origin::Computed { .. } => {
                    self.input(&tensor)?;
                }
            }
        }
        self.input(root)
    }
}

//! Reverse-mode differentiation as a transformation of graphs: the result is a graph, which can be differentiated again.
//!
//! Invariant: the outputs of the given graph stay, and derivatives follow them.

use super::Made;
use super::attrs::Attr;
use super::decompose::replace;
use super::graph::{Graph, NodeId};
use super::ops::Op;
use super::row::Derivative;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;

/// Adds to a graph the derivatives of its output `of` with respect to its inputs at the positions `by`, one output for each, in order.
/// Inputs keep their order.
///
/// # Errors
/// If the output is not one float, or an input not a tensor of floats.
pub fn differentiate(graph: &Graph, of: usize, by: &[usize]) -> Made<Graph> {
    let mut graph = decomposed(graph)?;
    let error = |why: String| Diagnostic::new(Code::TensorGradient, Span::NONE, why);
    let inputs = graph.inputs();
    let Some(output) = graph.outputs.get(of).copied() else {
        return Err(error(format!("the graph has no output {of}")));
    };
    let ty = graph.ty(output).clone();
    if ty.shape.rank() != 0 || !ty.element.is_float() {
        return Err(error(format!("a derivative is taken of one float, not of {ty}")));
    }
    for position in by {
        match inputs.get(*position).map(|input| graph.ty(*input)) {
            None => return Err(error(format!("the graph has no input {position}"))),
            Some(ty) if !ty.element.is_float() => {
                return Err(error(format!("there is no derivative with respect to {ty}")));
            }
            Some(_) => {}
        }
    }
    let wanted: Vec<NodeId> = by.iter().map(|position| inputs[*position]).collect();
    let seed = graph.number(output, 1.0)?;
    let derivatives = backwards(&mut graph, output, seed, &wanted)?;
    graph.outputs.extend(derivatives);
    Ok(graph.pruned())
}

/// Writes the derivatives of one operation with respect to its operands at the positions `by`, given the derivative with respect to its result: a product of a vector and a
/// Jacobian matrix. The operation itself need not be in the graph.
///
/// # Errors
/// If the operation does not fit its operands, the derivative is of another type than its result, or an operand not a tensor of floats.
pub fn vector_jacobian(
    graph: &mut Graph,
    (op, operands, attrs): (Op, &[NodeId], Vec<Attr>),
    derivative: NodeId,
    by: &[usize],
) -> Made<Vec<NodeId>> {
    let mut alone = Graph::new();
    let mut inputs = vec![];
    for ty in operands.iter().map(|operand| graph.ty(*operand)) {
        inputs.push(alone.input(ty.element, &ty.shape.lengths())?);
    }
    let result = alone.push(op, &inputs, attrs)?;
    let ty = alone.ty(result).clone();
    let error = |why: String| Diagnostic::new(Code::TensorGradient, Span::NONE, why);
    if &ty != graph.ty(derivative) {
        return Err(error(format!("the derivative with respect to {ty} is not {}", graph.ty(derivative))));
    }
    if by.iter().any(|i| operands.get(*i).is_none_or(|operand| !graph.ty(*operand).element.is_float())) {
        return Err(error(format!("`{}` has no derivative with respect to the operands {by:?}", op.name())));
    }
    alone.input(ty.element, &ty.shape.lengths())?;
    alone.outputs = vec![result];
    let mut alone = decomposed(&alone)?;
    let (result, inputs) = (alone.outputs[0], alone.inputs());
    let wanted: Vec<NodeId> = by.iter().map(|position| inputs[*position]).collect();
    alone.outputs = backwards(&mut alone, result, inputs[operands.len()], &wanted)?;
    let given: Vec<NodeId> = operands.iter().copied().chain([derivative]).collect();
    Ok(graph.inline(&alone.pruned(), &given))
}

/// A graph in which each operation has a rule of its own.
fn decomposed(graph: &Graph) -> Made<Graph> {
    replace(graph, |op| matches!(op.row().derivative, Derivative::Decomposed))
}

/// Writes derivatives of a node with respect to others; `seed` is the derivative with respect to the node.
fn backwards(graph: &mut Graph, of: NodeId, seed: NodeId, wanted: &[NodeId]) -> Made<Vec<NodeId>> {
    let count = graph.nodes.len();
    let depends = dependent(graph, wanted);
    let mut derivatives: Vec<Option<NodeId>> = vec![None; count];
    derivatives[of.index()] = Some(seed);
    for id in (0..count as u32).rev().map(NodeId::new) {
        let Some(derivative) = derivatives[id.index()] else { continue };
        let node = graph.nodes[id].clone();
        let given = match node.op.row().derivative {
            _ if !depends[id.index()] => continue,
            Derivative::Rule(rule) => rule(graph, &node, id, derivative)?,
            // What is decomposed first is not here any more.
            Derivative::Zero | Derivative::Decomposed => continue,
        };
        for (operand, given) in node.operands.iter().zip(given) {
            let Some(given) = given.filter(|_| depends[operand.index()]) else { continue };
            let sum = &mut derivatives[operand.index()];
            *sum = Some(match *sum {
                Some(before) => graph.op(Op::Add, &[before, given])?,
                None => given,
            });
        }
    }
    let mut all = vec![];
    for id in wanted {
        all.push(match derivatives[id.index()] {
            Some(derivative) => derivative,
            None => graph.number(*id, 0.0)?,
        });
    }
    Ok(all)
}

/// For each node whether it is a float that depends on one of these.
fn dependent(graph: &Graph, on: &[NodeId]) -> Vec<bool> {
    let mut depends = vec![false; graph.nodes.len()];
    on.iter().for_each(|id| depends[id.index()] = true);
    for id in graph.ids() {
        let node = &graph.nodes[id];
        let through = node.operands.iter().any(|operand| depends[operand.index()]);
        depends[id.index()] |= through && node.ty.element.is_float();
    }
    depends
}

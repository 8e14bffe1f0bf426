//! The oracle: computes graphs node by node, floats in 64 bits whatever their type, integers exactly as their type wraps.
//!
//! Invariant: nothing is shared with the lowering to kernels but the table, so that a mistake of one is seen by the other. What the table composes of
//! other operations means what they mean.

mod grid;
mod moves;
mod pointwise;

use super::Made;
use super::attrs::{AttrKind, Number};
use super::decompose::decompose;
use super::graph::{Graph, Node, NodeId};
use super::ops::{Meaning, Order, Reduction, View};
use super::size::TensorType;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::Scalar;
use grid::{Grid, Place};

/// The elements of a tensor, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Floats of any width.
    Floats(Vec<f64>),
    /// Integers of any width; truth values are 0 and 1.
    Integers(Vec<i128>),
}

impl Data {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            Data::Floats(all) => all.len(),
            Data::Integers(all) => all.len(),
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// An element.
    pub fn get(&self, at: usize) -> Number {
        match self {
            Data::Floats(all) => Number::Float(all[at]),
            Data::Integers(all) => Number::Int(all[at]),
        }
    }
    /// Elements of a type.
    pub fn of(element: Scalar, numbers: impl Iterator<Item = Number>) -> Data {
        if element.is_float() {
            Data::Floats(numbers.map(Number::as_float).collect())
        } else {
            Data::Integers(numbers.map(|number| pointwise::wrapped(number, element)).collect())
        }
    }
    /// The elements as floats.
    pub fn floats(&self) -> Vec<f64> {
        (0..self.len()).map(|at| self.get(at).as_float()).collect()
    }
}

/// Computes the outputs of a graph from its inputs.
///
/// # Errors
/// If the inputs are not as many, or not as large, as the graph says.
pub fn interpret(graph: &Graph, inputs: &[Data]) -> Made<Vec<Data>> {
    let graph = decompose(graph)?;
    check(&graph, inputs)?;
    let mut values: Vec<Data> = Vec::with_capacity(graph.nodes.len());
    let mut given = inputs.iter();
    for id in graph.ids() {
        let node = &graph.nodes[id];
        let types: Vec<&TensorType> = node.operands.iter().map(|operand| graph.ty(*operand)).collect();
        let operands: Vec<&Data> = node.operands.iter().map(|operand| &values[operand.index()]).collect();
        let value = match node.op.row().meaning {
            Meaning::Input => given.next().cloned().unwrap_or(Data::Floats(vec![])),
            _computed => compute(node, &types, &operands),
        };
        values.push(value);
    }
    Ok(graph.outputs.iter().map(|output: &NodeId| values[output.index()].clone()).collect())
}

/// Whether tensors are those that a graph is given.
///
/// # Errors
/// Which is not.
pub fn check(graph: &Graph, inputs: &[Data]) -> Made<()> {
    let error = |why: String| Err(Diagnostic::new(Code::TensorData, Span::NONE, why));
    let wanted = graph.inputs();
    if wanted.len() != inputs.len() {
        return error(format!("the graph has {} inputs, and {} are given", wanted.len(), inputs.len()));
    }
    for (i, (id, data)) in wanted.iter().zip(inputs).enumerate() {
        let ty = graph.ty(*id);
        if ty.shape.elements() != data.len() as u64 {
            return error(format!("input {i} is {ty}, and {} elements are given", data.len()));
        }
        if ty.element.is_float() != matches!(data, Data::Floats(_)) {
            return error(format!("input {i} is {ty}, and elements of another kind are given"));
        }
    }
    Ok(())
}

fn compute(node: &Node, types: &[&TensorType], operands: &[&Data]) -> Data {
    let (element, shape) = (node.ty.element, &node.ty.shape);
    let count = shape.elements() as usize;
    match node.op.row().meaning {
        Meaning::Full => Data::of(element, std::iter::repeat_n(node.number(AttrKind::Value), count)),
        Meaning::Iota => {
            let (axis, grid) = (node.axis(), Grid::of(shape));
            Data::of(element, (0..count).map(|at| Number::Int(grid.places(at)[axis].into())))
        }
        Meaning::Pointwise(op) => pointwise::apply(op, types, operands),
        Meaning::Convert => pointwise::convert(operands[0], types[0].element, element),
        Meaning::Reduce(by) => reduce(node, by, types[0], operands[0]),
        Meaning::View(view) => {
            let fill = if view == View::Pad { node.number(AttrKind::Value) } else { Number::Int(0) };
            let [from, result] = [&types[0].shape, shape].map(Grid::of);
            let source = |at| moves::source(node, view, [&from, &result], result.places(at));
            let pick = |at| source(at).map_or(fill, |place| operands[0].get(from.offset(&place)));
            Data::of(element, (0..count).map(pick))
        }
        Meaning::Concat => concat(node, types, operands),
        Meaning::Gather => gather(node, types, operands),
        Meaning::Scan => scan(node, operands[0]),
        Meaning::Merge(order) => merge(node, order, types[0], operands[0]),
        Meaning::AddAt => add_at(node, types, operands),
        Meaning::Matmul => matmul(node, types, operands),
        // Inputs are given, and compound operations have been decomposed.
        Meaning::Input | Meaning::Compound(_) => Data::Floats(vec![]),
    }
}

fn concat(node: &Node, types: &[&TensorType], operands: &[&Data]) -> Data {
    let (axis, grid) = (node.axis(), Grid::of(&node.ty.shape));
    let parts: Vec<Grid> = types.iter().map(|ty| Grid::of(&ty.shape)).collect();
    let pick = |at: usize| {
        let mut place = grid.places(at);
        for (part, data) in parts.iter().zip(operands) {
            if place[axis] < part.lengths[axis] {
                return data.get(part.offset(&place));
            }
            place[axis] -= part.lengths[axis];
        }
        Number::Int(0)
    };
    Data::of(node.ty.element, (0..node.ty.shape.elements() as usize).map(pick))
}

fn gather(node: &Node, types: &[&TensorType], operands: &[&Data]) -> Data {
    let (axis, [from, grid]) = (node.axis(), [&types[0].shape, &node.ty.shape].map(Grid::of));
    let pick = |at: usize| {
        let mut place = grid.places(at);
        let wanted = operands[1].get(at).as_int();
        match u64::try_from(wanted) {
            Ok(wanted) if wanted < from.lengths[axis] => {
                place[axis] = wanted;
                operands[0].get(from.offset(&place))
            }
            _ => Number::Int(0),
        }
    };
    Data::of(node.ty.element, (0..node.ty.shape.elements() as usize).map(pick))
}

/// The sum of two numbers of one kind.
fn sum(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => Number::Int(a.wrapping_add(b)),
        (a, b) => Number::Float(a.as_float() + b.as_float()),
    }
}

fn scan(node: &Node, data: &Data) -> Data {
    let grid = Grid::of(&node.ty.shape);
    let stride = grid.strides[node.axis()] as usize;
    let mut sums: Vec<Number> = vec![];
    for at in 0..data.len() {
        let is_first = grid.places(at)[node.axis()] == 0;
        sums.push(if is_first { data.get(at) } else { sum(sums[at - stride], data.get(at)) });
    }
    Data::of(node.ty.element, sums.into_iter())
}

/// Takes again and again the first of the two elements that come next; of equal ones that of the first half.
fn merge(node: &Node, order: Order, ty: &TensorType, data: &Data) -> Data {
    let row = ty.shape.length(ty.shape.rank() - 1) as usize;
    let kept = node.ty.shape.length(ty.shape.rank() - 1);
    let mut places = vec![];
    for start in (0..data.len()).step_by(row.max(1)) {
        let (mut first, mut second) = (0, row / 2);
        for _ in 0..kept {
            let comes = || pointwise::comes_before(order, data.get(start + second), data.get(start + first));
            let is_second = first == row / 2 || (second < row && comes());
            let next = if is_second { &mut second } else { &mut first };
            places.push(Number::Int(*next as i128));
            *next += 1;
        }
    }
    Data::of(node.ty.element, places.into_iter())
}

fn add_at(node: &Node, types: &[&TensorType], operands: &[&Data]) -> Data {
    let mut sums: Vec<Number> = (0..operands[0].len()).map(|at| operands[0].get(at)).collect();
    let [added, result] = [&types[2].shape, &node.ty.shape].map(Grid::of);
    for at in 0..operands[2].len() {
        let mut place = added.places(at);
        let wanted = u64::try_from(operands[1].get(at).as_int());
        if let Some(wanted) = wanted.ok().filter(|wanted| *wanted < result.lengths[node.axis()]) {
            place[node.axis()] = wanted;
            let to = result.offset(&place);
            sums[to] = sum(sums[to], operands[2].get(at));
        }
    }
    Data::of(node.ty.element, sums.into_iter())
}

fn reduce(node: &Node, by: Reduction, ty: &TensorType, data: &Data) -> Data {
    let axes = match by {
        Reduction::ArgMax | Reduction::ArgMin => node.list(AttrKind::Axis),
        Reduction::Sum | Reduction::Prod | Reduction::Max | Reduction::Min | Reduction::Any | Reduction::All => {
            node.list(AttrKind::Axes)
        }
    };
    // Where a result's elements are, from the first one on, and where the first one of each result is.
    let grid = Grid::of(&ty.shape);
    let is_reduced = |axis: &usize| axes.contains(&(*axis as u64));
    let (reduced, kept): (Vec<usize>, Vec<usize>) = (0..ty.shape.rank()).partition(is_reduced);
    let offsets = |chosen: &[usize]| -> Vec<usize> {
        let mut all = vec![0];
        for axis in chosen {
            let (length, stride) = (grid.lengths[*axis] as usize, grid.strides[*axis] as usize);
            all = all.iter().flat_map(|start| (0..length).map(move |at| start + at * stride)).collect();
        }
        all
    };
    let own = offsets(&reduced);
    let one = |start: usize| {
        let group: Vec<Number> = own.iter().map(|offset| data.get(start + offset)).collect();
        pointwise::reduce(by, &group, ty.element)
    };
    Data::of(node.ty.element, offsets(&kept).into_iter().map(one))
}

fn matmul(node: &Node, types: &[&TensorType], operands: &[&Data]) -> Data {
    let rank = node.ty.shape.rank();
    let depth = types[0].shape.length(rank - 1);
    let [left, right, result] = [&types[0].shape, &types[1].shape, &node.ty.shape].map(Grid::of);
    let sum = |at: usize| {
        let place: Place = result.places(at);
        let factors = |k: u64| {
            let (mut a, mut b) = (place, place);
            (a[rank - 1], b[rank - 2]) = (k, k);
            (operands[0].get(left.offset(&a)), operands[1].get(right.offset(&b)))
        };
        if node.ty.element.is_float() {
            let product = |k| {
                let (a, b) = factors(k);
                a.as_float() * b.as_float()
            };
            return Number::Float((0..depth).map(product).sum());
        }
        let product = |sum: i128, k| {
            let (a, b) = factors(k);
            sum.wrapping_add(a.as_int().wrapping_mul(b.as_int()))
        };
        Number::Int((0..depth).fold(0, product))
    };
    Data::of(node.ty.element, (0..node.ty.shape.elements() as usize).map(sum))
}

//! Graphs of tensor operations: written node by node, compiled for a device, and run on memory that tensors keep.
//!
//! Invariant: a node that does not fit its operands is refused when it is added, so what is compiled is well typed.

use crate::device::Device;
use crate::error::{exception, wrong};
use crate::recorder;
use crate::storage::memories_at;
use girih::ir::Scalar;
use girih::tensor::graph::{Attr, AttrKind, Graph, Holds, NodeId, Number, Op, Plan, vector_jacobian};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A graph. Nodes have numbers in the order in which they were added.
#[pyclass(frozen, module = "girih")]
pub(crate) struct TensorGraph(Mutex<Graph>);

/// A node's number, the type of its elements and its lengths.
type Added = (u32, String, Vec<u64>);

impl TensorGraph {
    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl TensorGraph {
    #[new]
    fn new() -> TensorGraph {
        TensorGraph(Mutex::default())
    }

    /// Adds a node of an operation of the table; `attributes` are the operation's, in any order.
    #[pyo3(signature = (operation, *operands, **attributes))]
    fn add(&self, operation: &str, operands: Vec<u32>, attributes: Option<&Bound<'_, PyDict>>) -> PyResult<Added> {
        let mut graph = self.graph();
        let (op, operands) = (named(operation)?, nodes(&graph, &operands)?);
        let id = graph.push(op, &operands, attrs(op, attributes)?).map_err(exception)?;
        Ok(added(&graph, id))
    }

    /// Adds the derivatives of an operation with respect to its operands at the positions `by`, given the derivative with respect to its result.
    #[pyo3(signature = (operation, operands, derivative, by, **attributes))]
    fn add_derivatives(
        &self,
        operation: &str,
        operands: Vec<u32>,
        derivative: u32,
        by: Vec<usize>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Added>> {
        let mut graph = self.graph();
        let (op, operands) = (named(operation)?, nodes(&graph, &operands)?);
        let derivative = nodes(&graph, &[derivative])?[0];
        let written = (op, &operands[..], attrs(op, attributes)?);
        let ids = vector_jacobian(&mut graph, written, derivative, &by).map_err(exception)?;
        Ok(ids.into_iter().map(|id| added(&graph, id)).collect())
    }

    /// Compiles it for a device; it has these nodes as outputs.
    fn compile(&self, py: Python<'_>, device: &Device, outputs: Vec<u32>) -> PyResult<TensorPlan> {
        let tensors = device.tensors()?;
        let mut graph = self.graph().clone();
        graph.outputs = nodes(&graph, &outputs)?;
        let plan = py.detach(|| Plan::of(tensors, &graph)).map_err(exception)?;
        Ok(TensorPlan { plan, device: device.clone() })
    }

    fn __str__(&self) -> String {
        self.graph().to_string()
    }
}

/// A graph that was compiled for a device.
#[pyclass(frozen, module = "girih")]
pub(crate) struct TensorPlan {
    plan: Arc<Plan>,
    device: Device,
}

#[pymethods]
impl TensorPlan {
    /// How many kernels a run starts.
    #[getter]
    fn launches(&self) -> usize {
        self.plan.launches()
    }

    /// Computes the outputs from the inputs, behind all work so far, and does not wait. Both are given by their addresses in memory that tensors keep.
    fn run(&self, py: Python<'_>, inputs: Vec<u64>, outputs: Vec<u64>) -> PyResult<()> {
        recorder::spoil();
        let device = self.device.tensors()?;
        let (inputs, outputs) = (memories_at(&self.device, &inputs)?, memories_at(&self.device, &outputs)?);
        py.detach(|| self.plan.run_into(device, &inputs, &outputs)).map_err(exception)
    }
}

fn added(graph: &Graph, id: NodeId) -> Added {
    let ty = graph.ty(id);
    (id.index() as u32, ty.element.to_string(), ty.shape.lengths())
}

fn named(operation: &str) -> PyResult<Op> {
    Op::from_name(operation).ok_or_else(|| wrong(format!("there is no operation `{operation}` on tensors"), None))
}

fn nodes(graph: &Graph, numbers: &[u32]) -> PyResult<Vec<NodeId>> {
    let count = graph.nodes.len();
    let node = |number: &u32| match (*number as usize) < count {
        true => Ok(NodeId::new(*number)),
        false => Err(wrong(format!("the graph has {count} nodes, and no node {number}"), None)),
    };
    numbers.iter().map(node).collect()
}

/// The attributes of an operation, in the order of its row.
fn attrs(op: Op, given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<Attr>> {
    let kinds = op.row().attrs;
    let given = given.into_iter().flat_map(|given| given.iter());
    let mut attrs = vec![];
    for (name, value) in given {
        let name: String = name.extract()?;
        match kinds.iter().find(|kind| kind.name() == name) {
            Some(kind) => attrs.push(attr(*kind, &value)?),
            None => return Err(wrong(format!("`{}` has no attribute `{name}`", op.name()), None)),
        }
    }
    attrs.sort_by_key(|attr| kinds.iter().position(|kind| *kind == attr.kind()));
    Ok(attrs)
}

fn attr(kind: AttrKind, value: &Bound<'_, PyAny>) -> PyResult<Attr> {
    Ok(match kind.holds() {
        Holds::List => Attr::List(kind, value.extract()?),
        Holds::Number if value.is_instance_of::<PyFloat>() => Attr::Number(kind, Number::Float(value.extract()?)),
        Holds::Number => Attr::Number(kind, Number::Int(value.extract::<i64>()?.into())),
        Holds::Element => {
            let name: String = value.extract()?;
            let scalar = Scalar::from_name(&name);
            Attr::Element(kind, scalar.ok_or_else(|| wrong(format!("there is no type `{name}`"), None))?)
        }
    })
}

//! Tensors: what they are, how they are computed when elements are asked for, and how their elements are read.
//!
//! | file | its idea |
//! |---|---|
//! | this one | a tensor: given, computed from others, or a mistake |
//! | `operators` | `+ - * /`, comparisons, functions of elements, numbers as operands |
//! | `reductions` | what elements along axes become |
//! | `views` | elements moved and chosen |
//! | `products` | products of matrices, convolution, pooling |
//!
//! Invariant: a tensor's elements never change. It is computed at most once.

mod operators;
mod products;
mod reductions;
mod views;

pub use operators::Operand;
pub use views::{concat, stack};

use crate::device::Device;
use crate::trace::Trace;
use crate::{error, plan};
use girih_base::diag::Diagnostic;
use girih_ir::Scalar;
use girih_runtime::{Buffer, Element, Memory};
use girih_tensor::lower::stored;
use girih_tensor::{Attr, Graph, Made, Node, NodeId, Op, TensorType};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// A tensor: numbers of one type in a shape, on a device. It is computed when its elements are read.
///
/// An operation that does not fit gives a tensor without elements; reading it, or anything computed from it, returns the mistake with the line of the
/// operation. Clones are the same tensor.
#[derive(Clone)]
pub struct Tensor(pub(crate) Arc<Body>);

pub(crate) struct Body {
    pub device: Device,
    pub ty: TensorType,
    pub origin: Origin,
    pub value: OnceLock<Buffer>,
}

/// Where a tensor comes from.
pub(crate) enum Origin {
    /// Its elements were given.
    Given,
    /// An operation of other tensors.
    Computed { op: Op, attrs: Vec<Attr>, operands: Vec<Tensor> },
    /// A mistake.
    Broken(Diagnostic),
}

/// The last user of a long computation frees it without recursion.
impl Drop for Body {
    fn drop(&mut self) {
        let mut left = vec![];
        let take = |origin: &mut Origin, left: &mut Vec<Tensor>| match origin {
            Origin::Computed { operands, .. } => left.append(operands),
            Origin::Given | Origin::Broken(_) => {}
        };
        take(&mut self.origin, &mut left);
        while let Some(Tensor(body)) = left.pop() {
            if let Some(mut body) = Arc::into_inner(body) {
                take(&mut body.origin, &mut left);
            }
        }
    }
}

impl Tensor {
    fn with(device: &Device, ty: TensorType, origin: Origin, value: OnceLock<Buffer>) -> Tensor {
        Tensor(Arc::new(Body { device: device.clone(), ty, origin, value }))
    }
    pub(crate) fn given(device: &Device, ty: TensorType, buffer: Buffer) -> Tensor {
        Tensor::with(device, ty, Origin::Given, OnceLock::from(buffer))
    }
    pub(crate) fn computed(device: &Device, node: &Node, operands: Vec<Tensor>) -> Tensor {
        let origin = Origin::Computed { op: node.op, attrs: node.attrs.clone(), operands };
        Tensor::with(device, node.ty.clone(), origin, OnceLock::new())
    }
    pub(crate) fn broken(device: &Device, mistake: Diagnostic, at: &Location<'_>) -> Tensor {
        Tensor::failed(device, error::placed(mistake, at))
    }
    /// A mistake that names its line already.
    pub(crate) fn failed(device: &Device, mistake: Diagnostic) -> Tensor {
        let origin = Origin::Broken(mistake);
        Tensor::with(device, TensorType::of(Scalar::F32, &[0]), origin, OnceLock::new())
    }
    /// Zeros of the same type that are given, not computed: no graph is written of them.
    pub(crate) fn zeros_like(&self) -> crate::Result<Tensor> {
        let bytes = self.len() * u64::from(stored(self.dtype()).bytes());
        let buffer = self.device().runtime().zeroed(Memory::of(bytes.next_multiple_of(4).max(4)))?;
        Ok(Tensor::given(self.device(), self.0.ty.clone(), buffer))
    }
    /// What nodes give that are written of operands.
    #[track_caller]
    pub(crate) fn made(
        device: &Device,
        operands: &[&Tensor],
        write: impl FnOnce(&mut Graph, &[NodeId]) -> Made<NodeId>,
    ) -> Tensor {
        let place = Location::caller();
        if let Some(broken) = operands.iter().find(|operand| matches!(operand.0.origin, Origin::Broken(_))) {
            return Tensor::clone(broken);
        }
        if operands.iter().any(|operand| !operand.0.device.is(device)) {
            let why = "an operation needs tensors of one device, and is given tensors of several";
            return Tensor::broken(device, error::data(why.into()), place);
        }
        let mut graph = Graph::new();
        let inputs: Made<Vec<NodeId>> =
            operands.iter().map(|operand| graph.input(operand.dtype(), &operand.shape())).collect();
        match inputs.and_then(|inputs| write(&mut graph, &inputs)) {
            Ok(result) => {
                let operands: Vec<Tensor> = operands.iter().copied().cloned().collect();
                import(device, &graph, &operands, &[result]).remove(0)
            }
            Err(mistake) => Tensor::broken(device, mistake, place),
        }
    }
    /// The same of this tensor and others.
    #[track_caller]
    pub(crate) fn apply(
        &self,
        others: &[&Tensor],
        write: impl FnOnce(&mut Graph, &[NodeId]) -> Made<NodeId>,
    ) -> Tensor {
        let operands: Vec<&Tensor> = std::iter::once(self).chain(others.iter().copied()).collect();
        Tensor::made(&self.0.device, &operands, write)
    }

    /// The lengths of its dimensions, the slowest first; one dimension without elements if it comes from a mistake.
    pub fn shape(&self) -> Vec<u64> {
        self.0.ty.shape.lengths()
    }
    /// How many dimensions it has.
    pub fn rank(&self) -> usize {
        self.0.ty.shape.rank()
    }
    /// How many elements it has.
    pub fn len(&self) -> u64 {
        self.0.ty.shape.elements()
    }
    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The type of its elements.
    pub fn dtype(&self) -> Scalar {
        self.0.ty.element
    }
    /// The device that computes it.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Computes it, if that was not done before. The device may still be working when this returns.
    ///
    /// # Errors
    /// The mistake that it comes from, a limit of kernels, or what the device says.
    #[track_caller]
    pub fn realize(&self) -> crate::Result<&Tensor> {
        plan::realize(&[self])?;
        Ok(self)
    }
    /// The same elements without what they were computed from: derivatives do not go beyond it. Programs that compute a state from the one before
    /// need it, because a tensor keeps what it was computed from.
    ///
    /// # Errors
    /// As [`realize`](Self::realize).
    #[track_caller]
    pub fn detach(&self) -> crate::Result<Tensor> {
        Ok(Tensor::given(&self.0.device, self.0.ty.clone(), plan::value(self)?))
    }
    /// The graph that computes it from tensors that were given, and these, in the order of the graph's inputs.
    ///
    /// # Errors
    /// The mistake that it comes from.
    pub fn graph(&self) -> crate::Result<(Graph, Vec<Tensor>)> {
        let mut trace = Trace::default();
        let id = trace.write(self, |_| false)?;
        trace.graph.outputs.push(id);
        Ok((trace.graph, trace.inputs))
    }
    /// Its elements in order. Truth values are read as `u8`.
    ///
    /// # Errors
    /// As [`realize`](Self::realize), or if the elements are of another type.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> crate::Result<Vec<T>> {
        let place = Location::caller();
        let buffer = plan::value(self)?;
        if stored(self.dtype()) != T::SCALAR {
            let why = format!("{} is read as elements of type {}", self.0.ty, T::SCALAR);
            return Err(error::placed(error::kind(why), place));
        }
        if self.is_empty() {
            return Ok(vec![]);
        }
        self.device().runtime().numbers(&buffer.slice(0, self.len() * size_of::<T>() as u64))
    }
    /// Its one element.
    ///
    /// # Errors
    /// As [`to_vec`](Self::to_vec), or if it has another number of elements.
    #[track_caller]
    pub fn item<T: Element>(&self) -> crate::Result<T> {
        let place = Location::caller();
        match self.to_vec::<T>()?[..] {
            [item] => Ok(item),
            _ => Err(error::placed(error::shape(format!("{} is read as one element", self.0.ty)), place)),
        }
    }
    /// The bytes of its elements in order, the lowest of each first. A truth value is one byte.
    ///
    /// # Errors
    /// As [`realize`](Self::realize).
    #[track_caller]
    pub fn bytes(&self) -> crate::Result<Vec<u8>> {
        let count = self.len() as usize * stored(self.dtype()).bytes() as usize;
        let mut bytes = vec![0; count.next_multiple_of(4).max(4)];
        self.device().runtime().read(&plan::value(self)?, 0, &mut bytes)?;
        bytes.truncate(count);
        Ok(bytes)
    }
}

/// Tensors of some nodes of a graph whose inputs are these.
pub(crate) fn import(device: &Device, graph: &Graph, inputs: &[Tensor], wanted: &[NodeId]) -> Vec<Tensor> {
    let mut given = inputs.iter();
    let mut all: Vec<Tensor> = Vec::with_capacity(graph.nodes.len());
    for id in graph.ids() {
        let node = &graph.nodes[id];
        let input = if node.op == Op::Input { given.next().cloned() } else { None };
        let operands = || node.operands.iter().map(|operand| all[operand.index()].clone()).collect();
        all.push(input.unwrap_or_else(|| Tensor::computed(device, node, operands())));
    }
    wanted.iter().map(|id| all[id.index()].clone()).collect()
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.origin {
            Origin::Broken(mistake) => write!(f, "Tensor({})", mistake.message),
            Origin::Given | Origin::Computed { .. } => write!(f, "Tensor({})", self.0.ty),
        }
    }
}

//! Devices that compute tensors: a device of the runtime with the plans that were made for it, and the tensors that begin there.

use crate::error;
use crate::plan::Plans;
use crate::tensor::Tensor;
use girih_base::diag::Diagnostic;
use girih_ir::Scalar;
use girih_runtime as runtime;
use girih_runtime::Element;
use girih_tensor::lower::stored;
use girih_tensor::{Graph, Made, NodeId, Number, Shape, TensorType};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Weak};

/// A device that computes tensors. Clones are the same device.
#[derive(Clone)]
pub struct Device(Arc<Parts>);

/// A device as long as someone else has it.
#[derive(Clone)]
pub struct WeakDevice(Weak<Parts>);

impl WeakDevice {
    /// The device, if it is still there.
    pub fn upgrade(&self) -> Option<Device> {
        self.0.upgrade().map(Device)
    }
}

struct Parts {
    runtime: runtime::Device,
    plans: Plans,
}

impl Device {
    /// Tensors on a device of the runtime.
    pub fn new(runtime: runtime::Device) -> Device {
        Device(Arc::new(Parts { runtime, plans: Plans::default() }))
    }
    /// The device of the runtime.
    pub fn runtime(&self) -> &runtime::Device {
        &self.0.runtime
    }
    /// How many graphs have been compiled for it.
    pub fn compiled_graphs(&self) -> usize {
        self.0.plans.compiled()
    }
    /// How many of them it keeps: those that were used last.
    pub fn kept_graphs(&self) -> usize {
        self.0.plans.kept()
    }
    /// A number that no other device has as long as this one is there.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
    pub(crate) fn plans(&self) -> &Plans {
        &self.0.plans
    }
    /// It without keeping it.
    pub fn downgrade(&self) -> WeakDevice {
        WeakDevice(Arc::downgrade(&self.0))
    }
    /// Whether both are the same device.
    pub fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A tensor of these elements, the last dimension's beside each other.
    #[track_caller]
    pub fn tensor<T: Element>(&self, elements: &[T], shape: impl AsRef<[u64]>) -> Tensor {
        let ty = TensorType::of(T::SCALAR, shape.as_ref());
        self.given(ty, bytemuck::cast_slice(elements), elements.len())
    }
    /// A tensor of elements that are given as bytes, the lowest of each first. A truth value is one byte.
    #[track_caller]
    pub fn tensor_of_bytes(&self, element: Scalar, bytes: &[u8], shape: impl AsRef<[u64]>) -> Tensor {
        let width = stored(element).bytes() as usize;
        // A rest of an element is one too many.
        self.given(TensorType::of(element, shape.as_ref()), bytes, bytes.len().div_ceil(width))
    }
    /// A tensor of truth values.
    #[track_caller]
    pub fn truths(&self, elements: &[bool], shape: impl AsRef<[u64]>) -> Tensor {
        let bytes: Vec<u8> = elements.iter().map(|truth| u8::from(*truth)).collect();
        self.given(TensorType::of(Scalar::Bool, shape.as_ref()), &bytes, elements.len())
    }
    /// One number, which another graph may have in its place: unlike a number in a formula, it is no part of what is compiled.
    #[track_caller]
    pub fn scalar<T: Element>(&self, number: T) -> Tensor {
        self.tensor(&[number], [])
    }
    #[track_caller]
    pub(crate) fn given(&self, ty: TensorType, bytes: &[u8], count: usize) -> Tensor {
        let place = Location::caller();
        let made = check(&ty, count).and_then(|()| {
            // Devices move words.
            let mut words = bytes.to_vec();
            words.resize(bytes.len().next_multiple_of(4).max(4), 0);
            self.runtime().upload(&words)
        });
        match made {
            Ok(buffer) => Tensor::given(self, ty, buffer),
            Err(mistake) => Tensor::broken(self, mistake, place),
        }
    }

    /// Zeros, as floats of 32 bits.
    #[track_caller]
    pub fn zeros(&self, shape: impl AsRef<[u64]>) -> Tensor {
        self.full(0.0, shape)
    }
    /// Ones, as floats of 32 bits.
    #[track_caller]
    pub fn ones(&self, shape: impl AsRef<[u64]>) -> Tensor {
        self.full(1.0, shape)
    }
    /// One number everywhere, as a float of 32 bits.
    #[track_caller]
    pub fn full(&self, number: f32, shape: impl AsRef<[u64]>) -> Tensor {
        let ty = TensorType::of(Scalar::F32, shape.as_ref());
        self.made(|g| g.full(&ty, Number::Float(number.into())))
    }
    /// The numbers 0, 1, 2, .. up to before `count`, of an element type.
    #[track_caller]
    pub fn arange(&self, count: u64, element: Scalar) -> Tensor {
        self.made(|g| g.iota(element, &Shape::of(&[count]), 0))
    }
    #[track_caller]
    fn made(&self, write: impl FnOnce(&mut Graph) -> Made<NodeId>) -> Tensor {
        Tensor::made(self, &[], |g, _| write(g))
    }
}

/// Whether so many elements make a tensor of a type.
fn check(ty: &TensorType, count: usize) -> Result<(), Diagnostic> {
    // The rule of inputs refuses what no tensor is.
    Graph::new().input(ty.element, &ty.shape.lengths())?;
    if ty.shape.elements() != count as u64 {
        return Err(error::data(format!("{ty} has {} elements, and {count} are given", ty.shape.elements())));
    }
    Ok(())
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.runtime().fmt(f)
    }
}

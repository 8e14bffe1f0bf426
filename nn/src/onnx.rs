//! ONNX models on devices: read once, compiled once for each set of shapes.
//!
//! Invariant: what no input leads to is computed when the model is compiled, and weights lie on a device once, however many sets of shapes it is compiled for.

use crate::device::Device;
use crate::error::data;
use crate::plan::{Plan, value};
use crate::tensor::Tensor;
use girih_base::diag::Diagnostic;
use girih_onnx as onnx;
use girih_runtime::Buffer;
use girih_tensor::TensorType;
use girih_tensor::lower::stored;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use girih_onnx::{Dimension, Input};

/// A model that was read from an ONNX file.
///
/// ```no_run
/// # let device = girih_nn::Device::new(girih_runtime::Device::new(girih_cpu::open(&girih_cpu::Settings::default())?));
/// # let bytes = vec![];
/// use girih_nn::onnx::Model;
///
/// let model = Model::from_bytes(&bytes)?;
/// let picture = device.zeros([1, 3, 224, 224]);
/// let classes = model.run(&device, &[("input", &picture)])?.remove(0);
/// println!("{:?}", classes.argmax(-1).to_vec::<i64>()?);
/// # Ok::<(), girih_nn::Diagnostic>(())
/// ```
pub struct Model {
    model: onnx::Model,
    compiled: Mutex<Vec<Arc<Compiled>>>,
    /// Weights on devices, by the device's address and the constant's. Devices stay as long as the model.
    weights: Mutex<HashMap<(usize, usize), Buffer>>,
}

/// A model for inputs of certain types, and certain elements of those that decide about shapes.
struct Compiled {
    device: Device,
    types: Vec<TensorType>,
    fixed: Vec<(usize, onnx::Constant)>,
    plan: Arc<Plan>,
    /// What the plan takes after the inputs that are not fixed.
    weights: Vec<Buffer>,
    outputs: Vec<TensorType>,
}

impl Model {
    /// Reads a model whose weights are all in it.
    ///
    /// # Errors
    /// If the bytes are no model, or one that needs other files.
    pub fn from_bytes(bytes: &[u8]) -> crate::Result<Model> {
        let none = |file: &str, _, _| Err(format!("its elements are in the file `{file}`; open the model by its path"));
        Model::read(bytes, &mut { none })
    }
    /// Reads a model, asking for the content of files beside it: by name, first byte, and number of bytes if that is said.
    ///
    /// # Errors
    /// If the bytes are no model, or a weight cannot be read.
    pub fn read(bytes: &[u8], external: &mut onnx::External<'_>) -> crate::Result<Model> {
        let model = onnx::Model::read(bytes, external)?;
        Ok(Model { model, compiled: Mutex::default(), weights: Mutex::default() })
    }
    /// What it is given, in order.
    pub fn inputs(&self) -> &[Input] {
        self.model.inputs()
    }
    /// The names of what it gives, in order.
    pub fn outputs(&self) -> Vec<&str> {
        self.model.outputs()
    }
    /// For how many sets of shapes it was compiled.
    pub fn compiled(&self) -> usize {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Runs it on tensors of a device, by the names of its inputs. Gives its outputs in order.
    ///
    /// # Errors
    /// If the tensors are not those that the model takes, an operator is not there, or what the device says.
    pub fn run(&self, device: &Device, inputs: &[(&str, &Tensor)]) -> crate::Result<Vec<Tensor>> {
        let tensors = self.in_order(device, inputs)?;
        let given = tensors.iter().map(|tensor| value(tensor)).collect::<crate::Result<Vec<Buffer>>>()?;
        let compiled = self.compiled_for(device, &tensors)?;
        let is_fixed = |number: &usize| compiled.fixed.iter().any(|(fixed, _)| fixed == number);
        let inputs = (0..given.len()).filter(|number| !is_fixed(number)).map(|number| given[number].clone());
        let inputs: Vec<Buffer> = inputs.chain(compiled.weights.iter().cloned()).collect();
        let values = compiled.plan.run(device, &inputs)?;
        Ok(compiled.outputs.iter().zip(values).map(|(ty, value)| Tensor::given(device, ty.clone(), value)).collect())
    }

    fn in_order(&self, device: &Device, inputs: &[(&str, &Tensor)]) -> crate::Result<Vec<Tensor>> {
        let names = || self.inputs().iter().map(|input| format!("`{}`", input.name)).collect::<Vec<_>>().join(", ");
        if let Some((name, _)) = inputs.iter().find(|(name, _)| self.inputs().iter().all(|input| input.name != *name)) {
            return Err(data(format!("the model has no input `{name}`; it has {}", names())));
        }
        let one = |input: &Input| {
            let mut given = inputs.iter().filter(|(name, _)| *name == input.name);
            let name = &input.name;
            match (given.next(), given.next()) {
                (Some((_, tensor)), None) if tensor.device().is(device) => Ok(Tensor::clone(tensor)),
                (Some(_), None) => Err(data(format!("the input `{name}` is a tensor of another device"))),
                (None, _) => Err(data(format!("the model needs the input `{name}`"))),
                (Some(_), Some(_)) => Err(data(format!("the input `{name}` is given more than once"))),
            }
        };
        self.inputs().iter().map(one).collect()
    }

    fn compiled_for(&self, device: &Device, tensors: &[Tensor]) -> crate::Result<Arc<Compiled>> {
        let types: Vec<TensorType> = tensors.iter().map(|tensor| tensor.0.ty.clone()).collect();
        let known = self.compiled.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for compiled in known.iter().filter(|compiled| compiled.device.is(device) && compiled.types == types) {
            let mut same = true;
            for (number, wanted) in &compiled.fixed {
                same = same && tensors[*number].bytes()?[..] == wanted.bytes[..];
            }
            if same {
                return Ok(compiled.clone());
            }
        }
        let compiled = Arc::new(self.compile(device, tensors, types)?);
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).push(compiled.clone());
        Ok(compiled)
    }

    fn compile(&self, device: &Device, tensors: &[Tensor], types: Vec<TensorType>) -> crate::Result<Compiled> {
        let imported = self.model.graph(&types, &mut |input| {
            let tensor = &tensors[input];
            Ok(Some(onnx::Constant { ty: tensor.0.ty.clone(), bytes: tensor.bytes()?.into() }))
        })?;
        let prepared = imported.prepare()?;
        let weights =
            imported.weights.iter().map(|weight| self.weight(device, weight)).collect::<Result<Vec<_>, _>>()?;
        let computed = if prepared.once.outputs.is_empty() {
            vec![]
        } else {
            device.plans().of(device, &prepared.once)?.run(device, &weights)?
        };
        let kept = prepared.weights.iter().map(|weight| weights[*weight].clone());
        let plan = device.plans().of(device, &prepared.each)?;
        let outputs = prepared.each.outputs.iter().map(|output| prepared.each.ty(*output).clone()).collect();
        let weights = kept.chain(computed).collect();
        Ok(Compiled { device: device.clone(), types, fixed: imported.fixed, plan, weights, outputs })
    }

    /// A weight on a device.
    fn weight(&self, device: &Device, weight: &onnx::Constant) -> Result<Buffer, Diagnostic> {
        // Weights of the file have the file's address; what an operator has made has another each time.
        let key = (device.address(), Arc::as_ptr(&weight.bytes).addr());
        let is_of_file = Arc::strong_count(&weight.bytes) > 1;
        if let Some(known) =
            self.weights.lock().unwrap_or_else(PoisonError::into_inner).get(&key).filter(|_| is_of_file)
        {
            return Ok(known.clone());
        }
        debug_assert_eq!(
            weight.bytes.len() as u64,
            weight.ty.shape.elements() * u64::from(stored(weight.ty.element).bytes()),
            "as many bytes as the type says"
        );
        // Devices move words.
        let mut words = weight.bytes.to_vec();
        words.resize(weight.bytes.len().next_multiple_of(4).max(4), 0);
        let buffer = device.runtime().upload(&words)?;
        if is_of_file {
            self.weights.lock().unwrap_or_else(PoisonError::into_inner).insert(key, buffer.clone());
        }
        Ok(buffer)
    }
}

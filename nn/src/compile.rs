//! Functions of tensors that are traced once for each set of shapes.

use crate::device::Device;
use crate::error;
use crate::nn::Parameter;
use crate::plan::{Plan, value};
use crate::tensor::Tensor;
use crate::trace::Trace;
use girih_base::diag::Diagnostic;
use girih_runtime::Buffer;
use girih_tensor::TensorType;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// A function that was compiled by [`compile`].
pub struct Compiled<F> {
    function: F,
    traced: Mutex<HashMap<Key, Arc<Traced>>>,
}

/// The address of a device, which a trace keeps alive, and the types of arguments.
type Key = (usize, Vec<TensorType>);

/// What a function does with tensors of some types.
struct Traced {
    plan: Arc<Plan>,
    /// For each input of the plan the argument that it is, or a tensor that the function brings along.
    inputs: Vec<Input>,
    device: Device,
    types: Vec<TensorType>,
}
enum Input {
    Argument(usize),
    Captured(Buffer),
}

/// Makes a function of tensors one that is called once for each set of shapes: later calls run the kernels that the first one gave.
///
/// Tensors that the function uses beside its arguments keep the elements that they had in the first call. A function that changes a parameter is a mistake,
/// because later calls would not.
///
/// ```
/// # let device = girih_nn::Device::new(girih_runtime::Device::new(girih_cpu::open(&girih_cpu::Settings::default())?));
/// let line = girih_nn::compile(|x| vec![&x[0] * 2.0 + &x[1]]);
/// let (x, b) = (device.tensor(&[1.0_f32, 2.0], [2]), device.scalar(0.5_f32));
/// assert_eq!(line.call(&[&x, &b])?[0].to_vec::<f32>()?, [2.5, 4.5]);
/// # Ok::<(), girih_nn::Diagnostic>(())
/// ```
pub fn compile<F: Fn(&[Tensor]) -> Vec<Tensor>>(function: F) -> Compiled<F> {
    Compiled { function, traced: Mutex::default() }
}

impl<F: Fn(&[Tensor]) -> Vec<Tensor>> Compiled<F> {
    /// Calls it.
    ///
    /// # Errors
    /// A mistake in the function or in arguments, or what the device says.
    #[track_caller]
    pub fn call(&self, arguments: &[&Tensor]) -> crate::Result<Vec<Tensor>> {
        let Some(first) = arguments.first() else {
            return Err(error::data(
                "a compiled function needs an argument, which says on which device it runs".into(),
            ));
        };
        let device = first.device();
        if arguments.iter().any(|argument| !argument.device().is(device)) {
            let why = "a compiled function needs arguments of one device, and is given tensors of several";
            return Err(error::placed(error::data(why.into()), Location::caller()));
        }
        let given = arguments.iter().map(|argument| value(argument)).collect::<Result<Vec<Buffer>, _>>()?;
        let types = arguments.iter().map(|argument| argument.0.ty.clone()).collect();
        let key: Key = (device.address(), types);
        let known = self.traced.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let traced = match known {
            Some(traced) => traced,
            None => {
                let traced = Arc::new(self.trace(device, arguments)?);
                self.traced.lock().unwrap_or_else(PoisonError::into_inner).insert(key, traced.clone());
                traced
            }
        };
        let inputs: Vec<Buffer> = traced.inputs.iter().map(|input| input.buffer(&given)).collect();
        let values = traced.plan.run(&traced.device, &inputs)?;
        let results = traced.types.iter().zip(values);
        Ok(results.map(|(ty, value)| Tensor::given(&traced.device, ty.clone(), value)).collect())
    }

    /// For how many sets of shapes it was traced.
    pub fn traces(&self) -> usize {
        self.traced.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn trace(&self, device: &Device, arguments: &[&Tensor]) -> Result<Traced, Diagnostic> {
        let stand_ins = arguments.iter().map(|argument| argument.detach()).collect::<Result<Vec<_>, _>>()?;
        let changes = Parameter::changes();
        let results = (self.function)(&stand_ins);
        if Parameter::changes() != changes {
            return Err(error::data(
                "a compiled function changes a parameter, which only its first call would do".into(),
            ));
        }
        let mut trace = Trace::default();
        for result in &results {
            let is_argument = |tensor: &Tensor| stand_ins.iter().any(|argument| Arc::ptr_eq(&argument.0, &tensor.0));
            let id = trace.write(result, |tensor| tensor.0.value.get().is_some() || is_argument(tensor))?;
            trace.graph.outputs.push(id);
        }
        let input = |tensor: &Tensor| {
            let argument = stand_ins.iter().position(|argument| Arc::ptr_eq(&argument.0, &tensor.0));
            argument.map_or_else(|| value(tensor).map(Input::Captured), |argument| Ok(Input::Argument(argument)))
        };
        let inputs = trace.inputs.iter().map(input).collect::<Result<Vec<_>, _>>()?;
        let types = results.iter().map(|result| result.0.ty.clone()).collect();
        Ok(Traced { plan: device.plans().of(device, &trace.graph)?, inputs, device: device.clone(), types })
    }
}

impl Input {
    fn buffer(&self, arguments: &[Buffer]) -> Buffer {
        match self {
            Input::Argument(number) => arguments[*number].clone(),
            Input::Captured(buffer) => buffer.clone(),
        }
    }
}

//! Weights of modules as bytes of the format safetensors, which PyTorch and others read, too.
//!
//! Invariant: a module gets all of its parameters or none. A parameter of several paths is written by its first one, and read from a file that has it by more of them.

use crate::device::Device;
use crate::error::data;
use crate::nn::{Module, Parameter};
use crate::tensor::Tensor;
use girih_base::diag::Diagnostic;
use girih_ir::Scalar;
use girih_tensor::TensorType;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use std::collections::{HashMap, HashSet};

/// The parameters of a module by their paths.
///
/// # Errors
/// What the device says.
pub fn to_bytes(module: &impl Module) -> crate::Result<Vec<u8>> {
    let mut all = vec![];
    for (path, parameter) in module.parameters() {
        let tensor = parameter.get();
        let shape: Vec<usize> = tensor.shape().iter().map(|length| *length as usize).collect();
        all.push((path, dtype(tensor.dtype()), shape, tensor.bytes()?));
    }
    let views = all.iter().map(|(path, dtype, shape, bytes)| {
        let view = TensorView::new(*dtype, shape.clone(), bytes);
        view.map(|view| (path, view)).map_err(|error| data(format!("`{path}` cannot be saved: {error}")))
    });
    let views = views.collect::<Result<Vec<_>, Diagnostic>>()?;
    safetensors::serialize(views, None).map_err(|error| data(format!("weights cannot be saved: {error}")))
}

/// Gives a module the parameters that bytes hold.
///
/// # Errors
/// If the bytes are no weights, or not those of such a module: which one is missing, too much or of another type.
#[track_caller]
pub fn from_bytes(module: &impl Module, bytes: &[u8]) -> crate::Result<()> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| data(format!("these are no weights: {error}")))?;
    let (parameters, paths) = (module.parameters(), module.paths());
    let names: HashSet<&str> = paths.iter().map(|(path, _)| path.as_str()).collect();
    // The least of the names: the file keeps them in no order.
    if let Some(name) = file.names().into_iter().filter(|name| !names.contains(name)).min() {
        return Err(data(format!("the weights have `{name}`, which the module does not have")));
    }
    tied(&file, &paths)?;
    let read = |(path, parameter): (String, Parameter)| {
        let Ok(view) = file.tensor(&path) else {
            return Err(data(format!("the module has `{path}`, which the weights do not have")));
        };
        let value = parameter.get();
        let ty = element(view.dtype()).map(|element| {
            TensorType::of(element, &view.shape().iter().map(|length| *length as u64).collect::<Vec<_>>())
        });
        match ty {
            Some(ty) if ty == value.0.ty => Ok((parameter, tensor(value.device(), ty, view.data())?)),
            Some(ty) => Err(data(format!("`{path}` is {} in the module, and {ty} in the weights", value.0.ty))),
            None => Err(data(format!("`{path}` has elements of type {:?}, which tensors do not have", view.dtype()))),
        }
    };
    let all = parameters.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    all.into_iter().for_each(|(parameter, value)| parameter.set(value));
    Ok(())
}

/// Refuses a file that has different numbers for two paths of one parameter.
fn tied(file: &SafeTensors<'_>, paths: &[(String, Parameter)]) -> crate::Result<()> {
    let mut first: HashMap<usize, &str> = HashMap::new();
    for (path, parameter) in paths {
        let before = *first.entry(parameter.address()).or_insert(path);
        let (Ok(one), Ok(other)) = (file.tensor(before), file.tensor(path)) else { continue };
        if one.data() != other.data() {
            return Err(data(format!(
                "`{before}` and `{path}` are one parameter in the module, and differ in the weights"
            )));
        }
    }
    Ok(())
}

fn tensor(device: &Device, ty: TensorType, bytes: &[u8]) -> crate::Result<Tensor> {
    let count = ty.shape.elements() as usize;
    device.given(ty, bytes, count).detach()
}

fn dtype(element: Scalar) -> Dtype {
    match element {
        Scalar::Bool => Dtype::BOOL,
        Scalar::I8 => Dtype::I8,
        Scalar::I16 => Dtype::I16,
        Scalar::I32 => Dtype::I32,
        Scalar::I64 => Dtype::I64,
        Scalar::U8 => Dtype::U8,
        Scalar::U16 => Dtype::U16,
        Scalar::U32 => Dtype::U32,
        Scalar::U64 => Dtype::U64,
        Scalar::F8E4M3 => Dtype::F8_E4M3,
        Scalar::F8E5M2 => Dtype::F8_E5M2,
        Scalar::F16 => Dtype::F16,
        Scalar::Bf16 => Dtype::BF16,
        Scalar::F32 => Dtype::F32,
        Scalar::F64 => Dtype::F64,
    }
}
/// The element type of a file's; none if tensors have none like it.
fn element(dtype: Dtype) -> Option<Scalar> {
    Scalar::ALL.iter().copied().find(|element| self::dtype(*element) == dtype)
}

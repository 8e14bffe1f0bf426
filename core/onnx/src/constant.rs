//! Constants: the elements of tensors that a model brings with it, as bytes in the order and width in which devices keep them.
//!
//! Invariant: a constant has as many bytes as its type says. Truth values take one byte each.

use crate::error::file;
use crate::proto::TensorProto;
use girih_ir::{Scalar, eval};
use girih_tensor::{Data, Made, Number, TensorType};
use prost::Message;
use std::sync::Arc;

/// A tensor whose elements are known. Clones share them.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its type.
    pub ty: TensorType,
    /// Its elements, the last dimension's beside each other, the lowest byte first.
    pub bytes: Arc<[u8]>,
}

/// How many bytes an element takes.
fn width(element: Scalar) -> usize {
    (element.bits() as usize).div_ceil(8)
}

/// Reads the content of a file beside the model: its name, where to begin, and how many bytes if that is said.
pub type External<'a> = dyn FnMut(&str, u64, Option<u64>) -> Result<Vec<u8>, String> + 'a;

impl Constant {
    /// A constant of elements.
    pub fn of(ty: TensorType, data: &Data) -> Constant {
        let width = width(ty.element);
        let bits = |number: Number| match (number, ty.element.is_float()) {
            (number, true) => eval::narrow(number.as_float(), ty.element),
            (number, false) => number.as_int() as u64,
        };
        let bytes = (0..data.len()).flat_map(|at| bits(data.get(at)).to_le_bytes().into_iter().take(width)).collect();
        Constant { ty, bytes }
    }

    /// Its elements as numbers.
    pub fn data(&self) -> Data {
        let element = self.ty.element;
        let number = |bytes: &[u8]| {
            let mut bits = [0; 8];
            bits[..bytes.len()].copy_from_slice(bytes);
            let bits = u64::from_le_bytes(bits);
            match element {
                float if float.is_float() => Number::Float(eval::widen(bits, float)),
                Scalar::Bool => Number::Int((bits != 0).into()),
                integer => Number::Int(eval::int_value(bits, integer)),
            }
        };
        Data::of(element, self.bytes.chunks_exact(width(element)).map(number))
    }

    /// A tensor of a file of its own, as test data are: a message `TensorProto`.
    ///
    /// # Errors
    /// If the bytes are no such message, or tensors have no such elements.
    pub fn from_file(bytes: &[u8]) -> Made<Constant> {
        let tensor = TensorProto::decode(bytes).map_err(|error| file(format!("this is no tensor of ONNX: {error}")))?;
        Constant::read(&tensor, &mut |_, _, _| Err("its elements are in another file".into()))
    }

    /// The tensor of a message.
    ///
    /// # Errors
    /// If tensors have no such elements, or there are not as many as its shape says.
    pub(crate) fn read(tensor: &TensorProto, external: &mut External<'_>) -> Made<Constant> {
        let named = |why: String| match tensor.name.as_str() {
            "" => file(why),
            name => file(format!("the tensor `{name}`: {why}")),
        };
        let element = element(tensor.data_type).map_err(named)?;
        let lengths = tensor.dims.iter().map(|length| u64::try_from(*length));
        let Ok(lengths) = lengths.collect::<Result<Vec<u64>, _>>() else {
            return Err(named("it has a negative length".into()));
        };
        let ty = TensorType::of(element, &lengths);
        let bytes = match tensor.data_location {
            EXTERNAL => beside(tensor, external).map_err(named)?,
            _inside if !tensor.raw_data.is_empty() => tensor.raw_data.clone(),
            _inside => numbers(tensor, element),
        };
        let wanted = ty.shape.elements().checked_mul(width(element) as u64);
        if wanted != Some(bytes.len() as u64) {
            return Err(named(format!("it is {ty}, and its elements have {} bytes", bytes.len())));
        }
        Ok(Constant { ty, bytes: bytes.into() })
    }
}

/// The number by which messages say that elements are in another file.
const EXTERNAL: i32 = 1;

fn beside(tensor: &TensorProto, external: &mut External<'_>) -> Result<Vec<u8>, String> {
    let entry = |key: &str| tensor.external_data.iter().find(|entry| entry.key == key).map(|entry| &*entry.value);
    let number = |key: &str| match entry(key).map(str::parse::<u64>) {
        None => Ok(None),
        Some(Ok(number)) => Ok(Some(number)),
        Some(Err(_)) => Err(format!("the `{key}` of its elements in another file is no number")),
    };
    let Some(location) = entry("location") else {
        return Err("its elements are in another file, which is not named".into());
    };
    external(location, number("offset")?.unwrap_or(0), number("length")?)
}

/// Elements that are numbers of the message, not bytes. Short ones are kept in integers of 32 bits, floats as their bits.
fn numbers(tensor: &TensorProto, element: Scalar) -> Vec<u8> {
    let width = width(element);
    let all: Vec<u64> = match element {
        Scalar::F32 => tensor.float_data.iter().map(|x| u64::from(x.to_bits())).collect(),
        Scalar::F64 => tensor.double_data.iter().map(|x| x.to_bits()).collect(),
        Scalar::I64 => tensor.int64_data.iter().map(|x| *x as u64).collect(),
        Scalar::U32 | Scalar::U64 => tensor.uint64_data.clone(),
        Scalar::Bool | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::U8 | Scalar::U16 => {
            tensor.int32_data.iter().map(|x| *x as u64).collect()
        }
        Scalar::F16 | Scalar::Bf16 | Scalar::F8E4M3 | Scalar::F8E5M2 => {
            tensor.int32_data.iter().map(|x| *x as u64).collect()
        }
    };
    all.into_iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width)).collect()
}

/// The element type of a number of `TensorProto.DataType`.
///
/// # Errors
/// If tensors have no such elements.
pub fn element(number: i32) -> Result<Scalar, String> {
    Ok(match number {
        1 => Scalar::F32,
        2 => Scalar::U8,
        3 => Scalar::I8,
        4 => Scalar::U16,
        5 => Scalar::I16,
        6 => Scalar::I32,
        7 => Scalar::I64,
        9 => Scalar::Bool,
        10 => Scalar::F16,
        11 => Scalar::F64,
        12 => Scalar::U32,
        13 => Scalar::U64,
        16 => Scalar::Bf16,
        other => {
            let name = match other {
                0 => "no type",
                8 => "strings",
                14 | 15 => "complex numbers",
                17..=20 => "floats of 8 bits",
                21 | 22 => "integers of 4 bits",
                23 => "floats of 4 bits",
                _unknown => "an unknown type",
            };
            return Err(format!("its elements are {name} ({other}), which tensors do not have"));
        }
    })
}

//! `--arg NAME=VALUE`: what the values look like.

use super::Array;
use girih_base::plural::counted;
use girih_ir::{Scalar, Type, eval};
use std::path::{Path, PathBuf};

/// An argument for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The parameter's name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

/// What an argument is.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number, as it is written: its type is the parameter's.
    Number(String),
    /// An array, and the file that it is written to afterwards.
    Array(Source, Option<PathBuf>),
    /// A tensor descriptor of an array: the array, and the lengths of a block.
    Descriptor(Source, Option<PathBuf>, Vec<u64>),
}

/// Where an array comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A `.npy` file; `#bf16` after its name says that its `f32` are `bf16` on the device.
    File(PathBuf, Option<Scalar>),
    /// Zeros.
    Zeros(Scalar, Vec<u64>),
}

/// Reads `NAME=VALUE`.
pub fn named(text: &str) -> Result<Named, String> {
    let (name, value) = text.split_once('=').ok_or("an argument is written NAME=VALUE")?;
    let name = name.trim_start_matches('%').to_owned();
    Ok(Named { name, value: value_of(value)? })
}

/// Refuses a name that is given two values, because one of them would be lost.
pub fn each_once(given: &[Named]) -> Result<(), String> {
    let twice = (1..given.len()).find(|i| given[..*i].iter().any(|other| other.name == given[*i].name));
    twice.map_or(Ok(()), |i| Err(format!("`{}` is given twice", given[i].name)))
}

/// Descriptors written out as the parts that the compiler knows: the array, its lengths, its strides, the lengths of a block.
///
/// # Errors
/// If an array's file cannot be read, or its block has another number of dimensions.
pub fn in_parts(given: &[Named]) -> Result<Vec<Named>, String> {
    let mut out = vec![];
    for Named { name, value } in given {
        let Value::Descriptor(source, output, block) = value else {
            out.push(Named { name: name.clone(), value: value.clone() });
            continue;
        };
        let shape = source.shape()?;
        if shape.len() != block.len() {
            let (array, blocks) = (counted(shape.len(), "dimension"), counted(block.len(), "dimension"));
            return Err(format!(
                "the array of `{name}` has {array}, and a block of it {blocks}: a block of a matrix is written 64x32"
            ));
        }
        let strides: Vec<u64> = (1..=shape.len()).map(|i| shape[i..].iter().product()).collect();
        let array = Value::Array(source.clone(), output.clone());
        out.push(Named { name: format!("{name}.base"), value: array });
        for (part, numbers) in [("shape", &shape), ("strides", &strides), ("block_shape", block)] {
            let number = |(i, n): (usize, &u64)| Named {
                name: format!("{name}.{part}.{i}"),
                value: Value::Number(n.to_string()),
            };
            out.extend(numbers.iter().enumerate().map(number));
        }
    }
    Ok(out)
}

fn shape_of(text: &str) -> Result<Vec<u64>, String> {
    let lengths: Result<Vec<u64>, _> = text.trim().split('x').map(str::parse).collect();
    lengths.map_err(|_| format!("`{text}` is not a shape such as 1024x512"))
}

fn value_of(text: &str) -> Result<Value, String> {
    if let Some(inside) = text.strip_prefix("descriptor(") {
        let wanted = "a descriptor takes an array and the shape of a block: descriptor(@in.npy:out.npy,64x32)";
        let (array, block) = inside.strip_suffix(')').and_then(|inside| inside.rsplit_once(',')).ok_or(wanted)?;
        let Value::Array(source, output) = value_of(array.trim())? else { return Err(wanted.into()) };
        return Ok(Value::Descriptor(source, output, shape_of(block)?));
    }
    if let Some(file) = text.strip_prefix('@') {
        // A colon before `.npy` may be that of a drive.
        let after = file.find(".npy").map_or(0, |at| at + ".npy".len());
        let (input, output) = match file[after..].split_once(':') {
            Some((kind, output)) => (format!("{}{kind}", &file[..after]), Some(output)),
            None => (file.to_owned(), None),
        };
        let (path, scalar) = typed(&input)?;
        let output = output.map(|output| PathBuf::from(output.split('#').next().unwrap_or(output)));
        return Ok(Value::Array(Source::File(path, scalar), output));
    }
    if let Some(zeros) = text.strip_prefix("zeros(") {
        let (inside, rest) = zeros.split_once(')').ok_or("`zeros(` is not closed: zeros(f32,1024x512)")?;
        let (scalar, shape) = inside.split_once(',').ok_or("zeros takes a type and a shape: zeros(f32,1024x512)")?;
        let scalar = scalar_named(scalar.trim())
            .ok_or_else(|| format!("`{scalar}` is not a type of elements: write `f32`, `f16`, `i32` and the like"))?;
        let shape = shape_of(shape)?;
        let output = match rest.strip_prefix(':') {
            Some(output) => Some(PathBuf::from(output)),
            None if rest.is_empty() => None,
            None => return Err(format!("`{rest}` after `zeros(..)`: only `:file.npy` may follow")),
        };
        return Ok(Value::Array(Source::Zeros(scalar, shape), output));
    }
    if text.ends_with(".npy") {
        return Err(format!("write `@{text}` for a file's array"));
    }
    Ok(Value::Number(text.to_owned()))
}

/// A type by its name here, or by Triton's: `f16`, `fp16`, `float16`, `tl.float16`.
fn scalar_named(name: &str) -> Option<Scalar> {
    Scalar::from_name(name).or_else(|| girih::triton::scalar_named(name))
}

/// Takes the type off a number: `5:i64`.
pub fn typed_number(text: &str) -> (&str, Option<Scalar>) {
    match text.rsplit_once(':') {
        Some((number, name)) => match scalar_named(name) {
            Some(scalar) => (number, Some(scalar)),
            None => (text, None),
        },
        None => (text, None),
    }
}

fn typed(text: &str) -> Result<(PathBuf, Option<Scalar>), String> {
    match text.split_once('#') {
        None => Ok((text.into(), None)),
        Some((path, name)) => match scalar_named(name) {
            Some(scalar) if scalar.is_float() => Ok((path.into(), Some(scalar))),
            _other => Err(format!("`#{name}` is no type of floats; `#bf16` is one")),
        },
    }
}

/// What elements of a file are on the device, if they are to be something else there.
fn on_device(path: &Path, from: Scalar, to: Option<Scalar>) -> Result<Scalar, String> {
    match to {
        None => Ok(from),
        Some(to) if from == Scalar::F32 => Ok(to),
        Some(to) => Err(format!("`#{to}` needs a file of f32, but `{}` holds {from}", path.display())),
    }
}

impl Source {
    /// The array, as the device gets it.
    pub fn array(&self) -> Result<Array, String> {
        match self {
            Source::Zeros(scalar, shape) => Array::zeros(*scalar, shape.clone()),
            Source::File(path, scalar) => {
                let array = Array::read(path)?;
                let to = on_device(path, array.scalar, *scalar)?;
                Ok(if to == array.scalar { array } else { converted(&array, to) })
            }
        }
    }

    /// The lengths of the array.
    fn shape(&self) -> Result<Vec<u64>, String> {
        match self {
            Source::Zeros(_, shape) => Ok(shape.clone()),
            Source::File(path, _) => Array::shape_of(path),
        }
    }

    /// The type of the array's elements on the device.
    pub fn scalar(&self) -> Result<Scalar, String> {
        match self {
            Source::Zeros(scalar, _) => Ok(*scalar),
            Source::File(path, to) => on_device(path, Array::scalar_of(path)?, *to),
        }
    }

    /// An array that comes back from the device, as its file holds it.
    pub fn restore(&self, array: Array) -> Array {
        match self {
            Source::File(_, Some(_)) => converted(&array, Scalar::F32),
            Source::File(_, None) | Source::Zeros(..) => array,
        }
    }
}

/// Every element converted, rounded to nearest.
fn converted(array: &Array, to: Scalar) -> Array {
    let size = array.scalar.bytes() as usize;
    let one = |chunk: &[u8]| {
        let bits = chunk.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        eval::scalar(girih_ir::Op::Convert, to, array.scalar, &[bits]).unwrap_or(0)
    };
    let bytes = array.bytes.chunks_exact(size).flat_map(|c| one(c).to_le_bytes().into_iter().take(to.bytes() as usize));
    Array { scalar: to, shape: array.shape.clone(), bytes: bytes.collect() }
}

/// A written number as bits of a type.
pub fn number(text: &str, ty: Type) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a {ty}");
    let Type::Scalar(scalar) = ty else { return Err(format!("a {ty} cannot be given on the command line")) };
    if scalar == Scalar::Bool {
        return text.parse::<bool>().map(u64::from).map_err(|_| wrong());
    }
    if scalar.is_float() {
        let value: f64 = text.parse().map_err(|_| wrong())?;
        return Ok(eval::scalar(girih_ir::Op::Convert, scalar, Scalar::F64, &[value.to_bits()]).unwrap_or(0));
    }
    let value = match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).map_err(|_| wrong())?,
        None => text.parse::<i128>().map_err(|_| wrong())?,
    };
    let bits = scalar.bits();
    let (least, most) =
        if scalar.is_signed() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    if value < least || value > most {
        return Err(format!("{value} does not fit {ty}, which goes from {least} to {most}"));
    }
    Ok(value as u64 & scalar.mask())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_numbers_files_and_zeros() {
        let value = |text: &str| named(text).map(|n| n.value);
        assert_eq!(value("n=42"), Ok(Value::Number("42".into())));
        assert_eq!(value("x=@a.npy:b.npy"), Ok(Value::Array(Source::File("a.npy".into(), None), Some("b.npy".into()))));
        assert_eq!(
            value("%y=zeros(f32,2x3):out.npy"),
            Ok(Value::Array(Source::Zeros(Scalar::F32, vec![2, 3]), Some("out.npy".into())))
        );
        assert_eq!(value("x=@a.npy#bf16"), Ok(Value::Array(Source::File("a.npy".into(), Some(Scalar::Bf16)), None)));
        let written = Value::Array(Source::File("a.npy".into(), Some(Scalar::F16)), Some("b.npy".into()));
        assert_eq!(value("x=@a.npy#tl.float16:b.npy#fp16"), Ok(written));
        for name in ["f16", "fp16", "float16", "tl.float16"] {
            let zeros = Value::Array(Source::Zeros(Scalar::F16, vec![2]), None);
            assert_eq!(value(&format!("x=zeros({name},2)")), Ok(zeros), "{name}");
        }
        assert_eq!(typed_number("5:int64"), ("5", Some(Scalar::I64)));
        assert_eq!(typed_number("a:b"), ("a:b", None));
        assert!(
            value("x").is_err()
                && value("x=zeros(f99,3)").is_err()
                && value("x=@a.npy#i32").is_err()
                && value("x=a.npy").is_err()
        );
    }

    #[test]
    fn descriptors_are_written_out() {
        let given = |text: &str| named(text).and_then(|given| in_parts(&[given]));
        let parts = given("d=descriptor(zeros(f32,6x8):o.npy,2x4)").unwrap_or_default();
        let shown: Vec<String> = parts
            .iter()
            .map(|part| match &part.value {
                Value::Number(text) => format!("{}={text}", part.name),
                Value::Array(..) | Value::Descriptor(..) => part.name.clone(),
            })
            .collect();
        let wanted = "d.base d.shape.0=6 d.shape.1=8 d.strides.0=8 d.strides.1=1 d.block_shape.0=2 d.block_shape.1=4";
        assert_eq!(shown.join(" "), wanted);
        assert!(given("d=descriptor(zeros(f32,6x8),2)").is_err_and(|e| e.contains("a block of it 1 dimension")));
        assert!(given("d=descriptor(3,2)").is_err() && given("d=descriptor(zeros(f32,4)").is_err());
    }

    #[test]
    fn a_name_has_one_value() {
        let given = |texts: &[&str]| texts.iter().map(|text| named(text)).collect::<Result<Vec<_>, _>>();
        assert_eq!(given(&["n=7", "m=7"]).and_then(|given| each_once(&given)), Ok(()));
        assert_eq!(
            given(&["n=7", "m=7", "%n=8"]).and_then(|given| each_once(&given)),
            Err("`n` is given twice".into())
        );
    }

    #[test]
    fn numbers_fit_their_types() {
        assert_eq!(number("-1", Type::I32), Ok(0xffff_ffff));
        assert_eq!(number("0x10", Type::U32), Ok(16));
        assert_eq!(number("1.5", Type::F32), Ok(0x3fc0_0000));
        assert!(number("256", Type::Scalar(Scalar::U8)).unwrap_err().contains("0 to 255"));
        assert!(number("1.5", Type::U32).is_err());
    }
}

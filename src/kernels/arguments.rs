//! What a kernel is given: arrays, which it reads or writes, and numbers.

use girih_base::plural::counted;
use girih_ir::{Op, Scalar, Type, eval};
use girih_runtime::{Array, Buffer, Constant, Element};

/// An argument of a kernel: `&array` of the host is read, `&mut array` is written back, an array of the device is used where it is, a number is itself.
pub struct Arg<'a>(pub(super) Given<'a>);

pub(super) enum Given<'a> {
    /// An array of which nothing comes back.
    Read(Scalar, &'a [u8]),
    /// An array that comes back.
    Written(Scalar, &'a mut [u8]),
    /// Memory of the device, and what it consists of where that is known.
    Placed(Option<Scalar>, Buffer),
    /// An integer, and what it is in Rust.
    Int(Scalar, i128),
    /// A float, and the type that it is of where a parameter has none of its own.
    Float(Scalar, f64),
    Bool(bool),
    Text(String),
    None,
    /// An integer that the kernel is compiled for, whatever its parameter is.
    Constant(i128),
    /// What a tuple or a tensor descriptor consists of, with the names that the compiler knows them by.
    Parts(Vec<(String, Given<'a>)>),
}

/// The arguments of a launch, in order, and then some by name: see [`args!`](crate::args).
#[derive(Default)]
pub struct Args<'a> {
    pub(super) all: Vec<(Option<&'static str>, Arg<'a>)>,
}

impl<'a> Args<'a> {
    /// The same, and another one, in the place behind them or by name.
    #[must_use]
    pub fn with(mut self, name: Option<&'static str>, argument: impl Into<Arg<'a>>) -> Args<'a> {
        self.all.push((name, argument.into()));
        self
    }
}

/// The arguments of a kernel: those in order, then, behind a semicolon, those by name.
///
/// `&array` and `&mut array` are slices, arrays and vectors of numbers; all of them are copied to the device, and what stands behind `&mut` is copied back. An
/// [`Array`] or a [`Buffer`] of the device is not copied. A number becomes one of the parameter's type.
///
/// ```
/// let (x, mut y) = (vec![1.0_f32; 100], vec![0.0_f32; 100]);
/// let arguments = girih::args![&x, &mut y, 100; BLOCK = 64];
/// ```
#[macro_export]
macro_rules! args {
    ($($argument:expr),* $(,)? $(; $($name:ident = $named:expr),* $(,)?)?) => {
        $crate::kernels::Args::default()
            $(.with(::core::option::Option::None, $argument))*
            $($(.with(::core::option::Option::Some(::core::stringify!($name)), $named))*)?
    };
}

impl Arg<'_> {
    /// Memory of the device that consists of such elements.
    pub fn of_elements(scalar: Scalar, buffer: Buffer) -> Self {
        Arg(Given::Placed(Some(scalar), buffer))
    }

    /// A number of `fp64`, for a parameter of a Triton kernel.
    pub fn double(number: f64) -> Self {
        Arg(Given::Float(Scalar::F64, number))
    }

    /// The same for another launch, unless there is memory of the host in it.
    #[must_use]
    pub fn again(&self) -> Option<Arg<'static>> {
        self.0.again().map(Arg)
    }
}

impl<'a> Arg<'a> {
    /// A tuple, for a parameter of a Triton kernel. Elements may be tuples.
    ///
    /// ```
    /// use girih::devices::{Selector, open};
    /// use girih::kernels::Arg;
    /// use girih::triton::KernelFile;
    ///
    /// let text = "
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def fill(out_ptr, of, N: tl.constexpr):
    ///     at = tl.arange(0, N)
    ///     tl.store(out_ptr + at, at * of[0] + of[1][0])
    /// ";
    /// let fill = KernelFile::from_text("fill.py", text).kernel("fill")?;
    /// let mut out = vec![0; 4];
    /// let of = Arg::tuple([Arg::from(10), Arg::tuple([Arg::from(5)])]);
    /// fill.launch(&open(&Selector::Cpu, None)?, [1; 3], girih::args![&mut out, of; N = 4])?;
    /// assert_eq!(out, [5, 15, 25, 35]);
    /// # Ok::<(), girih::Error>(())
    /// ```
    pub fn tuple(elements: impl IntoIterator<Item = Arg<'a>>) -> Arg<'a> {
        let named = |(i, Arg(given)): (usize, Arg<'a>)| (i.to_string(), given);
        Arg(Given::Parts(elements.into_iter().enumerate().map(named).collect()))
    }

    /// A tensor descriptor, for a parameter of a Triton kernel: what it describes begins with the first element of `base`, has these lengths and these numbers
    /// of elements between neighbours, and is read and written in blocks of such lengths.
    ///
    /// ```
    /// use girih::devices::{Selector, open};
    /// use girih::kernels::Arg;
    /// use girih::triton::KernelFile;
    ///
    /// let text = "
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def double(matrix):
    ///     at = [tl.program_id(0) * 2, 0]
    ///     matrix.store(at, matrix.load(at) * 2)
    /// ";
    /// let double = KernelFile::from_text("double.py", text).kernel("double")?;
    /// // Three rows of three: the second block of two rows reaches beyond them.
    /// let mut matrix: Vec<f32> = (0..9_u8).map(f32::from).collect();
    /// let described = Arg::descriptor(&mut matrix, &[3, 3], &[3, 1], &[2, 4]);
    /// double.launch(&open(&Selector::Cpu, None)?, [2, 1, 1], girih::args![described])?;
    /// assert_eq!(matrix, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0]);
    /// # Ok::<(), girih::Error>(())
    /// ```
    pub fn descriptor(base: impl Into<Arg<'a>>, shape: &[i64], strides: &[i64], block_shape: &[i64]) -> Arg<'a> {
        Arg::descriptor_with(base, shape, strides, block_shape, "zero")
    }

    /// The same, which says what is read outside of the tensor: `"zero"` or `"nan"`.
    pub fn descriptor_with(
        base: impl Into<Arg<'a>>,
        shape: &[i64],
        strides: &[i64],
        block_shape: &[i64],
        padding: &str,
    ) -> Arg<'a> {
        let lengths = |all: &[i64]| Arg::tuple(all.iter().map(|n| Arg::from(*n))).0;
        let block = block_shape.iter().enumerate().map(|(i, n)| (i.to_string(), Given::Constant(i128::from(*n))));
        Arg(Given::Parts(vec![
            ("base".to_owned(), base.into().0),
            ("shape".to_owned(), lengths(shape)),
            ("strides".to_owned(), lengths(strides)),
            ("block_shape".to_owned(), Given::Parts(block.collect())),
            ("padding".to_owned(), Given::Text(padding.to_owned())),
        ]))
    }
}

impl<T: Element> From<&Array<T>> for Arg<'_> {
    fn from(array: &Array<T>) -> Self {
        Arg(Given::Placed(Some(T::SCALAR), array.buffer().clone()))
    }
}

impl From<&Buffer> for Arg<'_> {
    fn from(buffer: &Buffer) -> Self {
        Arg(Given::Placed(None, buffer.clone()))
    }
}

impl<'a, T: Element> From<&'a [T]> for Arg<'a> {
    fn from(array: &'a [T]) -> Arg<'a> {
        Arg(Given::Read(T::SCALAR, bytemuck::cast_slice(array)))
    }
}

impl<'a, T: Element> From<&'a mut [T]> for Arg<'a> {
    fn from(array: &'a mut [T]) -> Arg<'a> {
        Arg(Given::Written(T::SCALAR, bytemuck::cast_slice_mut(array)))
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for Arg<'a> {
    fn from(array: &'a Vec<T>) -> Arg<'a> {
        array[..].into()
    }
}

impl<'a, T: Element> From<&'a mut Vec<T>> for Arg<'a> {
    fn from(array: &'a mut Vec<T>) -> Arg<'a> {
        array[..].as_mut().into()
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for Arg<'a> {
    fn from(array: &'a [T; N]) -> Arg<'a> {
        array[..].into()
    }
}

impl<'a, T: Element, const N: usize> From<&'a mut [T; N]> for Arg<'a> {
    fn from(array: &'a mut [T; N]) -> Arg<'a> {
        array[..].as_mut().into()
    }
}

macro_rules! integers {
    ($($rust:ty: $scalar:ident;)*) => {$(
        impl From<$rust> for Arg<'_> {
            fn from(number: $rust) -> Self {
                Arg(Given::Int(Scalar::$scalar, number as i128))
            }
        }
    )*};
}

integers! {
    i8: I8; i16: I16; i32: I32; i64: I64;
    u8: U8; u16: U16; u32: U32; u64: U64; usize: U64;
}

impl From<f32> for Arg<'_> {
    fn from(number: f32) -> Self {
        Arg(Given::Float(Scalar::F32, number.into()))
    }
}

/// A parameter of a Triton kernel is `fp32` then, as for floats of Python; see [`Arg::double`].
impl From<f64> for Arg<'_> {
    fn from(number: f64) -> Self {
        Arg(Given::Float(Scalar::F32, number))
    }
}

impl From<bool> for Arg<'_> {
    fn from(truth: bool) -> Self {
        Arg(Given::Bool(truth))
    }
}

/// A text, for a constant of a Triton kernel; the name of a type stands for the type.
impl From<&str> for Arg<'_> {
    fn from(text: &str) -> Self {
        Arg(Given::Text(text.to_owned()))
    }
}

/// `None` of Python, for a parameter of a Triton kernel.
impl From<()> for Arg<'_> {
    fn from((): ()) -> Self {
        Arg(Given::None)
    }
}

impl Given<'_> {
    /// The same for another launch, unless there is memory of the host in it.
    fn again(&self) -> Option<Given<'static>> {
        Some(match self {
            Given::Read(..) | Given::Written(..) => return None,
            Given::Placed(scalar, buffer) => Given::Placed(*scalar, buffer.clone()),
            Given::Int(scalar, number) => Given::Int(*scalar, *number),
            Given::Float(scalar, number) => Given::Float(*scalar, *number),
            Given::Bool(truth) => Given::Bool(*truth),
            Given::Text(text) => Given::Text(text.clone()),
            Given::None => Given::None,
            Given::Constant(number) => Given::Constant(*number),
            Given::Parts(parts) => {
                let again = |(name, part): &(String, Given<'_>)| Some((name.clone(), part.again()?));
                Given::Parts(parts.iter().map(again).collect::<Option<_>>()?)
            }
        })
    }

    /// What it is, in words.
    pub fn what(&self) -> String {
        match self {
            Given::Read(scalar, bytes) => array(*scalar, bytes.len()),
            Given::Written(scalar, bytes) => array(*scalar, bytes.len()),
            Given::Placed(Some(scalar), buffer) => array(*scalar, buffer.bytes() as usize),
            Given::Placed(None, buffer) => format!("a buffer of {} bytes", buffer.bytes()),
            Given::Int(_, value) | Given::Constant(value) => format!("the integer {value}"),
            Given::Float(_, value) => format!("the float {value:?}"),
            Given::Bool(truth) => format!("the truth value {truth}"),
            Given::Text(text) => format!("the text {text:?}"),
            Given::None => "nothing".to_owned(),
            Given::Parts(parts) if parts.iter().any(|(name, _)| name == "base") => "a tensor descriptor".to_owned(),
            Given::Parts(parts) => format!("a tuple of {}", counted(parts.len(), "element")),
        }
    }

    /// The number as one of a type; none if that has no such number.
    pub fn number(&self, ty: Type) -> Option<Constant> {
        let Type::Scalar(scalar) = ty else { return None };
        let float = |value: f64| match scalar {
            Scalar::F64 => Some(value.to_bits()),
            _ => eval::scalar(Op::Convert, scalar, Scalar::F64, &[value.to_bits()]),
        };
        let bits = match self {
            Given::Int(_, value) if scalar.is_float() => float(*value as f64)?,
            Given::Int(_, value) => integer(*value, scalar)?,
            Given::Float(_, value) if scalar.is_float() => float(*value)?,
            Given::Bool(truth) if scalar == Scalar::Bool || scalar.is_integer() => u64::from(*truth),
            Given::Float(..) | Given::Bool(_) | Given::Text(_) | Given::None => return None,
            Given::Constant(_) | Given::Parts(_) => return None,
            Given::Read(..) | Given::Written(..) | Given::Placed(..) => return None,
        };
        Some(Constant { ty, bits })
    }
}

fn array(scalar: Scalar, bytes: usize) -> String {
    format!("an array of {} {}", bytes / scalar.bytes() as usize, scalar.name())
}

/// The bits of an integer of a type, if it has it.
fn integer(value: i128, scalar: Scalar) -> Option<u64> {
    let width = scalar.bits();
    let range = match scalar {
        Scalar::Bool => 0..=1,
        _ if scalar.is_signed() => -(1_i128 << (width - 1))..=(1 << (width - 1)) - 1,
        _ => 0..=(1_i128 << width) - 1,
    };
    range.contains(&value).then_some(value as u64 & (u64::MAX >> (64 - width)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_those_of_the_parameter() {
        let bits = |arg: Arg<'_>, scalar| arg.0.number(Type::Scalar(scalar)).map(|constant| constant.bits);
        assert_eq!(bits(Arg::from(-1), Scalar::I32), Some(0xFFFF_FFFF));
        assert_eq!(bits(Arg::from(-1), Scalar::U32), None);
        assert_eq!(bits(Arg::from(300), Scalar::U8), None);
        assert_eq!(bits(Arg::from(u64::MAX), Scalar::U64), Some(u64::MAX));
        assert_eq!(bits(Arg::from(3), Scalar::F32), Some(3.0_f32.to_bits().into()));
        assert_eq!(bits(Arg::from(0.1), Scalar::F32), Some(0.1_f32.to_bits().into()));
        assert_eq!(bits(Arg::from(0.5), Scalar::F16), Some(0x3800));
        assert_eq!(bits(Arg::from(0.5), Scalar::I32), None);
        assert_eq!(bits(Arg::from(true), Scalar::Bool), Some(1));
        assert_eq!(bits(Arg::from("one"), Scalar::I32), None);
    }
}

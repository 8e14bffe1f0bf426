//! Arrays in NumPy's `.npy` files: C order, little endian, numbers only.

use girih::atomic_file;
use girih_ir::Scalar;
use npyz::{DType, Endianness, NpyHeader, Order, TypeChar};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// An array of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Type of an element.
    pub scalar: Scalar,
    /// Length of each dimension, the slowest first.
    pub shape: Vec<u64>,
    /// The elements, little endian, in C order.
    pub bytes: Vec<u8>,
}

/// NumPy's letter and size of a type; types that NumPy does not have are stored as unsigned integers of their size.
fn letter(scalar: Scalar) -> (char, u32) {
    let letter = match scalar {
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => 'i',
        Scalar::F16 | Scalar::F32 | Scalar::F64 => 'f',
        Scalar::Bool => 'b',
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 | Scalar::Bf16 | Scalar::F8E4M3 | Scalar::F8E5M2 => 'u',
    };
    (letter, scalar.bytes())
}

fn scalar_of(letter: TypeChar, size: u64) -> Option<Scalar> {
    let scalar = match (letter, size) {
        (TypeChar::Int, 1) => Scalar::I8,
        (TypeChar::Int, 2) => Scalar::I16,
        (TypeChar::Int, 4) => Scalar::I32,
        (TypeChar::Int, 8) => Scalar::I64,
        (TypeChar::Uint, 1) | (TypeChar::Bool, 1) => Scalar::U8,
        (TypeChar::Uint, 2) => Scalar::U16,
        (TypeChar::Uint, 4) => Scalar::U32,
        (TypeChar::Uint, 8) => Scalar::U64,
        (TypeChar::Float, 2) => Scalar::F16,
        (TypeChar::Float, 4) => Scalar::F32,
        (TypeChar::Float, 8) => Scalar::F64,
        _ => return None,
    };
    Some(scalar)
}

/// The beginning of a file: what its elements are, and the file from the first of them on.
struct Head {
    scalar: Scalar,
    shape: Vec<u64>,
    rest: BufReader<File>,
}

impl Head {
    fn read(path: &Path) -> Result<Head, String> {
        let fail = |why: &dyn Display| unreadable(path, why);
        let mut rest = BufReader::new(File::open(path).map_err(|e| fail(&e))?);
        let header = NpyHeader::from_reader(&mut rest).map_err(|e| fail(&e))?;
        let DType::Plain(ty) = header.dtype() else {
            return Err(fail(&"its elements have fields, not one number"));
        };
        let Some(scalar) = scalar_of(ty.type_char(), ty.size_field()) else {
            return Err(fail(&format_args!("its elements, `{ty}`, are no numbers that a kernel knows")));
        };
        if ty.endianness() == Endianness::Big {
            return Err(fail(&"it is big endian; save it with `a.astype(a.dtype.newbyteorder('<'))`"));
        }
        if header.order() == Order::Fortran && header.shape().len() > 1 {
            return Err(fail(&"it is in Fortran order; save `numpy.ascontiguousarray(a)`"));
        }
        Ok(Head { scalar, shape: header.shape().to_vec(), rest })
    }
}

fn unreadable(path: &Path, why: &dyn Display) -> String {
    format!("cannot read the array `{}`: {why}", path.display())
}

/// Bytes of an array; none if no number says how many.
fn length(scalar: Scalar, shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(u64::from(scalar.bytes()), |bytes, length| bytes.checked_mul(*length))
}

impl Array {
    /// An array of zeros.
    pub fn zeros(scalar: Scalar, shape: Vec<u64>) -> Result<Array, String> {
        let room = |length: &usize| Vec::<u8>::new().try_reserve_exact(*length).is_ok();
        let length = length(scalar, &shape).and_then(|length| usize::try_from(length).ok()).filter(room);
        let length =
            length.ok_or_else(|| format!("an array of {shape:?} {scalar} is more than this machine can hold"))?;
        Ok(Array { scalar, shape, bytes: vec![0; length] })
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Array, String> {
        let Head { scalar, shape, mut rest } = Head::read(path)?;
        let wanted = length(scalar, &shape)
            .ok_or_else(|| unreadable(path, &format_args!("its shape {shape:?} is larger than any file")))?;
        let mut bytes = vec![];
        // One more byte than is wanted shows that there are more.
        let most = usize::try_from(wanted.min(rest.get_ref().metadata().map_or(0, |m| m.len()))).unwrap_or(0);
        bytes.reserve_exact(most + 1);
        rest.read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
        if bytes.len() as u64 != wanted {
            return Err(unreadable(path, &format_args!("it ends after {} of {wanted} bytes", bytes.len())));
        }
        Ok(Array { scalar, shape, bytes })
    }

    /// The type of a file's elements.
    pub fn scalar_of(path: &Path) -> Result<Scalar, String> {
        Head::read(path).map(|head| head.scalar)
    }

    /// The lengths of a file's array.
    pub fn shape_of(path: &Path) -> Result<Vec<u64>, String> {
        Head::read(path).map(|head| head.shape)
    }

    /// Writes a file: version 1.0 of the format, all or nothing.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let (letter, size) = letter(self.scalar);
        let order = if size == 1 { '|' } else { '<' };
        let comma = if self.shape.len() == 1 { "," } else { "" };
        let shape = self.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let mut header =
            format!("{{'descr': '{order}{letter}{size}', 'fortran_order': False, 'shape': ({shape}{comma}), }}");
        // Magic, version and length take ten bytes; the whole is a multiple of 64 and ends a line.
        let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
        header.push_str(&" ".repeat(padded - header.len() - 1));
        header.push('\n');
        let length = u16::try_from(header.len()).unwrap_or(u16::MAX);
        atomic_file::write(path, |file| {
            file.write_all(b"\x93NUMPY\x01\x00")?;
            file.write_all(&length.to_le_bytes())?;
            file.write_all(header.as_bytes())?;
            file.write_all(&self.bytes)
        })
        .map_err(|error| format!("cannot write the array `{}`: {error}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.npy");
        for scalar in [Scalar::F32, Scalar::U8, Scalar::I64, Scalar::F16] {
            for shape in [vec![], vec![6], vec![2, 3], vec![0, 4]] {
                let mut array = Array::zeros(scalar, shape).expect("it fits");
                array.bytes.iter_mut().enumerate().for_each(|(i, b)| *b = i as u8);
                array.write(&path).expect("it can be written");
                assert_eq!(Array::read(&path), Ok(array));
            }
        }
    }

    #[test]
    fn a_short_file_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.npy");
        Array::zeros(Scalar::F32, vec![8]).expect("it fits").write(&path).expect("it can be written");
        let bytes = std::fs::read(&path).expect("it is there");
        std::fs::write(&path, &bytes[..bytes.len() - 4]).expect("it can be written");
        assert!(Array::read(&path).unwrap_err().contains("28 of 32 bytes"));
    }

    #[test]
    fn what_no_machine_holds_is_refused() {
        for shape in [vec![u64::MAX, u64::MAX], vec![1 << 62]] {
            assert!(Array::zeros(Scalar::F32, shape).unwrap_err().contains("more than this machine can hold"));
        }
    }
}

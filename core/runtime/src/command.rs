//! Work for a device: launches of kernels, copies, clears and reads. Commands run in order, each seeing what those before it wrote.
//!
//! They are generic in how memory and programs are named: people use [`Buffer`] and [`Program`], drivers get
//! [`Slice`](crate::driver::Slice) and [`ProgramId`](crate::driver::ProgramId).

use crate::{Buffer, Program};
use girih_ir::Type;
use std::fmt;

/// A scalar argument: the value's bits, zero above the type's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// A scalar type.
    pub ty: Type,
    /// Its bits.
    pub bits: u64,
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument<B = Buffer> {
    /// Memory, from its first byte on: [`Buffer::from_byte`] begins at a later one.
    Buffer(B),
    /// A number.
    Scalar(Constant),
}

/// How many workgroups run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid<B = Buffer> {
    /// What the kernel's own `launch` region says.
    Own,
    /// This many.
    Workgroups([u32; 3]),
    /// Three `u32` at the beginning of this memory, read when the dispatch starts. Folding is the writer's task.
    Indirect(B),
}

/// One launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch<B = Buffer, P = Program> {
    /// The kernel.
    pub program: P,
    /// One for each parameter.
    pub arguments: Vec<Argument<B>>,
    /// How many workgroups.
    pub grid: Grid<B>,
}

/// A step of work.
#[derive(Clone, Debug)]
pub enum Command<B = Buffer, P = Program> {
    /// Runs a kernel.
    Dispatch(Dispatch<B, P>),
    /// Copies between memories of one size, which do not overlap. Places and sizes are multiples of 4 bytes on devices of wgpu, which move whole words.
    Copy {
        /// From here.
        from: B,
        /// To here.
        to: B,
    },
    /// Fills memory with zero; for place and size see [`Copy`](Self::Copy).
    Clear(B),
}

/// Bytes that are wanted.
#[derive(Debug)]
pub struct Read<'a, B = Buffer> {
    /// Where they stand: as many as there is room for.
    pub from: B,
    /// Where they go.
    pub bytes: &'a mut [u8],
}

impl<B> Argument<B> {
    /// The memory, if it is one.
    pub fn as_buffer(&self) -> Option<&B> {
        match self {
            Argument::Buffer(buffer) => Some(buffer),
            Argument::Scalar(_) => None,
        }
    }

    /// Whether both are memory, or numbers of one type.
    pub fn is_like(&self, other: &Argument<B>) -> bool {
        match (self, other) {
            (Argument::Buffer(_), Argument::Buffer(_)) => true,
            (Argument::Scalar(a), Argument::Scalar(b)) => a.ty == b.ty,
            (Argument::Buffer(_), Argument::Scalar(_)) | (Argument::Scalar(_), Argument::Buffer(_)) => false,
        }
    }

    /// The same with memory named otherwise.
    pub fn try_map<C, E>(&self, mut name: impl FnMut(&B) -> Result<C, E>) -> Result<Argument<C>, E> {
        Ok(match self {
            Argument::Buffer(buffer) => Argument::Buffer(name(buffer)?),
            Argument::Scalar(constant) => Argument::Scalar(*constant),
        })
    }
}

impl<B> fmt::Display for Argument<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Buffer(_) => f.write_str("a buffer"),
            Argument::Scalar(constant) => write!(f, "a number of the type `{}`", constant.ty),
        }
    }
}

impl<B> Grid<B> {
    /// The same with memory named otherwise.
    pub fn try_map<C, E>(&self, mut name: impl FnMut(&B) -> Result<C, E>) -> Result<Grid<C>, E> {
        Ok(match self {
            Grid::Own => Grid::Own,
            Grid::Workgroups(size) => Grid::Workgroups(*size),
            Grid::Indirect(buffer) => Grid::Indirect(name(buffer)?),
        })
    }
}

impl Argument {
    /// All of a buffer.
    pub fn buffer(buffer: &Buffer) -> Argument {
        Argument::Buffer(buffer.clone())
    }
}

impl From<&Buffer> for Argument {
    fn from(buffer: &Buffer) -> Argument {
        Argument::Buffer(buffer.clone())
    }
}

impl Command {
    /// Copies so many bytes from a place in one buffer to one in another, or in the same one without overlap.
    pub fn copy(from: (&Buffer, u64), to: (&Buffer, u64), bytes: u64) -> Command {
        Command::Copy { from: from.0.slice(from.1, bytes), to: to.0.slice(to.1, bytes) }
    }

    /// Fills so many bytes from a place on with zero.
    pub fn clear(buffer: &Buffer, offset: u64, bytes: u64) -> Command {
        Command::Clear(buffer.slice(offset, bytes))
    }
}

impl<'a> Read<'a> {
    /// The bytes of a buffer from a place on, as many as there is room for.
    pub fn new(buffer: &Buffer, offset: u64, bytes: &'a mut [u8]) -> Read<'a> {
        Read { from: buffer.slice(offset, bytes.len() as u64), bytes }
    }
}

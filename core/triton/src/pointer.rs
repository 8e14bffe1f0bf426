//! Pointers: a buffer and an index, never anything else. Where a kernel chooses among pointers of several buffers while it runs, a number says which it is.
//!
//! Invariant: a pointer of one buffer has no such number, and one of several buffers always has, unless it is a table of their addresses; pointers meet in the
//! buffers of both.

use super::addresses::NOWHERE;
use super::body::{Body, Made};
use super::memory::Access;
use super::value::{Dtype, Tensor};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::{Op, Scalar, Shape, Type, ValueId};

/// The most buffers that a pointer is chosen among.
pub(super) const MOST: usize = 16;

/// The buffers that a pointer may point into, each once: parameters of the function that is being written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Buffers([Option<ValueId>; MOST]);

impl Buffers {
    pub(super) fn one(buffer: ValueId) -> Buffers {
        let mut list = [None; MOST];
        list[0] = Some(buffer);
        Buffers(list)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.0.iter().map_while(|buffer| *buffer)
    }

    /// The buffer, if there is only one.
    pub(super) fn single(&self) -> Option<ValueId> {
        self.0[0].filter(|_| self.0[1].is_none())
    }

    /// These, in order; none if they are too many or one is there twice.
    fn each_once(list: &[ValueId]) -> Option<Buffers> {
        let (first, rest) = list.split_first()?;
        let fresh = |all: Buffers, next: &ValueId| match all.position(*next) {
            Some(_) => None,
            None => all.with(&Buffers::one(*next)),
        };
        rest.iter().try_fold(Buffers::one(*first), fresh)
    }

    fn position(&self, buffer: ValueId) -> Option<usize> {
        self.iter().position(|own| own == buffer)
    }

    fn holds(&self, others: &Buffers) -> bool {
        others.iter().all(|buffer| self.position(buffer).is_some())
    }

    /// These, and behind them those of others that are not among them; none if that is too many.
    fn with(mut self, others: &Buffers) -> Option<Buffers> {
        for buffer in others.iter().filter(|buffer| self.position(*buffer).is_none()).collect::<Vec<_>>() {
            *self.0.iter_mut().find(|place| place.is_none())? = Some(buffer);
        }
        Some(self)
    }

    /// Each buffer's name elsewhere. Two may have one there.
    pub(super) fn renamed(&self, mut name: impl FnMut(ValueId) -> ValueId) -> Buffers {
        Buffers(self.0.map(|buffer| buffer.map(&mut name)))
    }
}

/// What is done with a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// What it points at is loaded and stored.
    Elements,
    /// It is a number: its index counts bytes.
    Address,
    /// Its index counts the addresses of its buffers.
    Table,
}

/// A pointer, or a tile of pointers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pointer {
    /// What is done with it.
    pub role: Role,
    /// The buffers that it may point into.
    pub buffers: Buffers,
    /// Which of several buffers it points into: `i32`, a number or in the pointer's shape. A table has none.
    pub which: Option<ValueId>,
    /// What it points at.
    pub pointee: Scalar,
    /// How many elements from the beginning: `i32` or `i64`, in the pointer's shape. None is the beginning itself.
    pub index: Option<ValueId>,
    /// The shape of a tile of pointers.
    pub shape: Option<Shape>,
}

impl Pointer {
    /// The beginning of a buffer.
    pub(super) fn to(buffer: ValueId, pointee: Scalar) -> Pointer {
        let buffers = Buffers::one(buffer);
        Pointer { role: Role::Elements, buffers, which: None, pointee, index: None, shape: None }
    }

    /// A table of the addresses of buffers.
    pub(super) fn table(list: &[ValueId]) -> Option<Pointer> {
        let buffers = Buffers::each_once(list)?;
        Some(Pointer { role: Role::Table, buffers, which: None, pointee: Scalar::I64, index: None, shape: None })
    }

    pub(super) fn dtype(&self) -> Dtype {
        match self.role {
            Role::Elements | Role::Table => Dtype { scalar: self.pointee, pointer: true, shape: self.shape },
            Role::Address => Dtype { scalar: Scalar::I64, pointer: false, shape: self.shape },
        }
    }
}

/// A pointer to a block of a matrix, or a descriptor of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BlockPointer {
    /// The matrix.
    pub base: Pointer,
    /// Lengths of the matrix, `i64`.
    pub lengths: Vec<ValueId>,
    /// Elements between neighbours, `i64`.
    pub strides: Vec<ValueId>,
    /// Where the block begins, `i32`; nothing for a descriptor, which is told at each access.
    pub offsets: Vec<ValueId>,
    /// Lengths of the block.
    pub block: Vec<u64>,
    /// What a descriptor reads outside of the matrix.
    pub padding: Padding,
}

/// What stands outside of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Padding {
    /// Zeros.
    #[default]
    Zero,
    /// What is no number.
    Nan,
}

impl Body<'_, '_> {
    /// The buffers of two pointers that one is chosen of.
    pub(super) fn common_buffers(&self, a: &Pointer, b: &Pointer, span: Span) -> Made<Buffers> {
        if a.pointee != b.pointee || a.role != b.role {
            let message = format!("a pointer is chosen among `{}` and `{}`", a.dtype(), b.dtype());
            return self.fail(
                Code::KernelPointer,
                span,
                message,
                "convert one of them with `.to(tl.pointer_type(..))`",
            );
        }
        if a.role == Role::Table && a.buffers != b.buffers {
            let message = "a pointer is chosen among tables of addresses";
            return self.fail(
                Code::KernelPointer,
                span,
                message,
                "choose among the addresses that are loaded from them",
            );
        }
        match a.buffers.with(&b.buffers) {
            Some(buffers) => Ok(buffers),
            None => {
                let message = format!("a pointer is chosen among more than {MOST} buffers");
                self.fail(Code::KernelPointer, span, message, "branch with `if` around the accesses instead")
            }
        }
    }

    /// The same pointer as one of several buffers, if its own are among them; its number has the pointer's shape if asked.
    pub(super) fn among(&mut self, pointer: Pointer, buffers: Buffers, tile: bool) -> Option<Pointer> {
        if pointer.role == Role::Table {
            return Some(pointer).filter(|_| pointer.buffers == buffers);
        }
        if !buffers.holds(&pointer.buffers) {
            return None;
        }
        if buffers.single().is_some() {
            return Some(Pointer { buffers, ..pointer });
        }
        let of = |body: &mut Self, buffer: ValueId| {
            let number = body.int(Scalar::I32, buffers.position(buffer).unwrap_or(0) as i128);
            Tensor { value: number, ty: Type::I32 }
        };
        let which = match pointer.which {
            _ if pointer.buffers.single().is_some() => of(self, pointer.buffers.0[0]?),
            Some(which) if pointer.buffers.iter().zip(buffers.iter()).all(|(own, new)| own == new) => {
                Tensor { value: which, ty: self.b.ty(which) }
            }
            // The numbers of the buffers are others there.
            Some(_) => {
                let nowhere = self.int(Scalar::I32, NOWHERE);
                let mut which = Tensor { value: nowhere, ty: Type::I32 };
                for (at, buffer) in pointer.buffers.iter().enumerate() {
                    let new = of(self, buffer);
                    let here = self.points_into(&pointer, at)?;
                    let (new, here) = (self.broadcast_tensor(new, here.shape()), here);
                    which = self.broadcast_tensor(which, here.shape());
                    which = self.pick(here, new, which);
                }
                which
            }
            None => return None,
        };
        let which = if tile { self.broadcast_tensor(which, pointer.shape) } else { which };
        Some(Pointer { buffers, which: Some(which.value), ..pointer })
    }

    /// Whether the number of the buffer that a pointer points into is a tile.
    pub(super) fn chosen_by_element(&self, pointer: &Pointer) -> bool {
        pointer.which.is_some_and(|which| self.b.ty(which).shape().is_some())
    }

    /// Whether a pointer points into the buffer of a number; none if that is its only one.
    fn points_into(&mut self, pointer: &Pointer, at: usize) -> Option<Tensor> {
        let which = pointer.which?;
        let which = Tensor { value: which, ty: self.b.ty(which) };
        let number = self.int(Scalar::I32, at as i128);
        let number = self.splat(number, which.shape());
        Some(self.op(Op::Eq, which.ty, &[which.value, number]))
    }

    /// An access, once for each buffer that the pointer may point into: the buffer, which elements are accessed there, and which elements point there if
    /// there are several buffers.
    pub(super) fn by_buffer(&mut self, access: &Access) -> Vec<(ValueId, ValueId, Option<Tensor>)> {
        let pointer = access.pointer;
        let list: Vec<ValueId> = pointer.buffers.iter().collect();
        let mut out = vec![];
        for (at, buffer) in list.into_iter().enumerate() {
            let Some(here) = self.points_into(&pointer, at) else {
                out.push((buffer, access.inside, None));
                continue;
            };
            let inside = Tensor { value: access.inside, ty: self.b.ty(access.inside) };
            let (here, inside) =
                (self.broadcast_tensor(here, pointer.shape), self.broadcast_tensor(inside, pointer.shape));
            let inside = self.op(Op::And, here.ty, &[inside.value, here.value]);
            out.push((buffer, inside.value, Some(here)));
        }
        out
    }
}

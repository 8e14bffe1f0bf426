//! Values of task form as the words of 32 bits that kernels hold them in.

use girih_ir::{Builder, Op, Type, ValueId};

/// The type of the word that a value is on devices.
pub(crate) fn as_word(ty: Type) -> Type {
    if ty == Type::Term { Type::U32 } else { ty }
}

/// What writes operations, each of one result.
pub(crate) trait Write {
    fn op(&mut self, op: Op, ty: Type, operands: &[ValueId]) -> ValueId;
    fn u32(&mut self, value: u32) -> ValueId;
    fn ty(&self, value: ValueId) -> Type;
}

impl Write for Builder {
    fn op(&mut self, op: Op, ty: Type, operands: &[ValueId]) -> ValueId {
        Builder::op(self, op, ty, operands)
    }
    fn u32(&mut self, value: u32) -> ValueId {
        Builder::u32(self, value)
    }
    fn ty(&self, value: ValueId) -> Type {
        Builder::ty(self, value)
    }
}

/// The word of a value.
pub(crate) fn close(b: &mut impl Write, value: ValueId) -> ValueId {
    match b.ty(value) {
        Type::F32 | Type::I32 => b.op(Op::Bitcast, Type::U32, &[value]),
        Type::BOOL => b.op(Op::Convert, Type::U32, &[value]),
        _words => value,
    }
}

/// The value of a type that a word is.
pub(crate) fn open(b: &mut impl Write, word: ValueId, ty: Type) -> ValueId {
    match ty {
        Type::F32 | Type::I32 => b.op(Op::Bitcast, ty, &[word]),
        Type::BOOL => {
            let zero = b.u32(0);
            b.op(Op::Ne, Type::U32, &[word, zero])
        }
        _words => word,
    }
}

//! Values of task form as the words of 32 bits that kernels hold them in.

use girih_ir::{Builder, Op, Type, ValueId};

/// The type of the word that a value is on devices.
pub(crate) fn as_word(ty: Type) -> Type {
    if ty == Type::Term { Type::U32 } else { ty }
}

/// The word of a value.
pub(crate) fn close(b: &mut Builder, value: ValueId) -> ValueId {
    match b.ty(value) {
        Type::F32 | Type::I32 => b.op(Op::Bitcast, Type::U32, &[value]),
        Type::BOOL => b.op(Op::Convert, Type::U32, &[value]),
        _words => value,
    }
}

/// The value of a type that a word is.
pub(crate) fn open(b: &mut Builder, word: ValueId, ty: Type) -> ValueId {
    match ty {
        Type::F32 | Type::I32 => b.op(Op::Bitcast, ty, &[word]),
        Type::BOOL => {
            let zero = b.u32(0);
            b.op(Op::Ne, Type::U32, &[word, zero])
        }
        _words => word,
    }
}

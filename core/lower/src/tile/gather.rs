//! Elements that are found or counted by their numbers: the arithmetic that both lowerings write.
//!
//! Lengths are powers of two, so an element's number is its positions along the dimensions, side by side in bits.

use girih_ir::{Builder, Inst, Op, Scalar, Shape, ValueId};

/// For each dimension how far its position in an element's number is shifted, and its length.
pub(super) fn digits(shape: Option<Shape>) -> Vec<(u32, u32)> {
    let Some(shape) = shape else { return vec![] };
    shape
        .strides()
        .into_iter()
        .zip(shape.lengths())
        .map(|(stride, length)| (stride.trailing_zeros(), length as u32))
        .collect()
}

/// The position along one dimension of the element with a number.
pub(super) fn digit(b: &mut Builder, number: ValueId, (shift, length): (u32, u32)) -> ValueId {
    let (shift, mask) = (b.u32(shift), b.u32(length - 1));
    let shifted = b.op(Op::Shr, Scalar::U32, &[number, shift]);
    b.op(Op::And, Scalar::U32, &[shifted, mask])
}

/// The number of the element that `tile.gather` takes for the element `number` of its result, whose index is given; and whether there is
/// one. Where there is none the number is one of some element.
pub(super) fn source(
    b: &mut Builder,
    inst: &Inst,
    (index, number): (ValueId, ValueId),
    (from, to): (Option<Shape>, Option<Shape>),
) -> (ValueId, ValueId) {
    let axis = inst.axis() as usize;
    let (from, to) = (digits(from), digits(to));
    let index = b.op(Op::Convert, Scalar::I64, &[index]);
    let zero = b.constant(Scalar::I64, 0);
    let most = b.constant(Scalar::I64, u64::from(from[axis].1));
    let (above, below) = (b.op(Op::Ge, Scalar::I64, &[index, zero]), b.op(Op::Lt, Scalar::I64, &[index, most]));
    let inside = b.op(Op::And, Scalar::Bool, &[above, below]);
    let index = b.op(Op::Select, Scalar::I64, &[inside, index, zero]);
    let index = b.op(Op::Convert, Scalar::U32, &[index]);
    let mut place = b.u32(0);
    for dimension in 0..to.len() {
        let position = if dimension == axis { index } else { digit(b, number, to[dimension]) };
        let shift = b.u32(from[dimension].0);
        let moved = b.op(Op::Shl, Scalar::U32, &[position, shift]);
        place = b.op(Op::Add, Scalar::U32, &[place, moved]);
    }
    (place, inside)
}

/// The type in which `tile.histogram` compares numbers of a type with those of bins: wide enough that every bin has one, and that some number has
/// no bin.
pub(super) fn bin_type(numbers: Scalar) -> Scalar {
    match (numbers.bits() < 32, numbers.is_signed()) {
        (false, _) => numbers,
        (true, true) => Scalar::I32,
        (true, false) => Scalar::U32,
    }
}

/// The bin of a number, in the type of bins; one that there is not for what is not counted.
pub(super) fn bin(b: &mut Builder, number: ValueId, counted: ValueId, numbers: Scalar) -> ValueId {
    let to = bin_type(numbers);
    let number = if numbers == to { number } else { b.op(Op::Convert, to, &[number]) };
    let outside = b.constant(to, to.mask());
    b.op(Op::Select, to, &[counted, number, outside])
}

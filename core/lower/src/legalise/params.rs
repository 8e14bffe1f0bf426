//! A kernel's scalar parameters as the host hands them over: 32-bit words, and 64-bit numbers where the device has them.
//!
//! Invariant: the entry's slots correspond one to one to the kernel's parameters.

use super::emit::Emit;
use super::word_packing;
use crate::launch::entry::Slot;
use girih_ir::attrs::ParamAttrs;
use girih_ir::{Builder, Caps, Def, Function, Op, Scalar, Type, Value, ValueId};

/// Rewrites a kernel in place: a parameter that is split becomes a value that the body computes first.
pub(super) fn run(kernel: &mut Function, slots: &mut Vec<Slot>, caps: &Caps) {
    let (params, old_slots) = (std::mem::take(&mut kernel.params), std::mem::take(slots));
    let old_body = std::mem::take(&mut kernel.regions[kernel.body].insts);
    let function = std::mem::replace(kernel, Function::new("", kernel.span));
    let mut b = Builder::new(function);
    for (param, slot) in params.into_iter().zip(old_slots) {
        let Type::Scalar(scalar) = b.ty(param) else {
            b.function.params.push(param);
            slots.push(slot);
            continue;
        };
        let count = words_of(scalar, caps);
        if count == 0 {
            b.function.params.push(param);
            slots.push(slot);
            continue;
        }
        let new: Vec<ValueId> = (0..count).map(|i| word(&mut b, param, i, count)).collect();
        slots.extend((0..count).map(|i| part(slot, i)));
        let value = join(&mut b, scalar, &new);
        replace(&mut b.function, param, value);
    }
    let body = b.function.body;
    b.function.regions[body].insts.extend(old_body);
    *kernel = b.function;
}

/// How many words stand for a parameter; 0 if it stays.
fn words_of(scalar: Scalar, caps: &Caps) -> u8 {
    match scalar.bits() {
        32 => 0,
        64 if caps.arithmetic.has(scalar) => 0,
        64 if scalar.is_integer() => 2,
        64 => 0,
        _ => 1,
    }
}

/// A new parameter for a word of an old one.
fn word(b: &mut Builder, old: ValueId, position: u8, words: u8) -> ValueId {
    let Value { def, name, .. } = b.function.values[old].clone();
    let divisible = match def {
        // What divides both the number and 2^32 divides the lower word.
        Def::Param(attrs) if position == 0 && attrs.divisible.is_power_of_two() => attrs.divisible,
        Def::Param(_)
        | Def::Constant(_)
        | Def::Specialisation(_)
        | Def::Memory(_)
        | Def::Argument(..)
        | Def::Result(..) => 0,
    };
    let name = name.map(|n| if words == 1 { n } else { format!("{n}.{position}").into() });
    let def = Def::Param(ParamAttrs { divisible, ..ParamAttrs::default() });
    let value = b.function.values.push(Value { ty: Type::U32, def, name });
    b.function.params.push(value);
    value
}

/// What a word's slot is.
fn part(slot: Slot, position: u8) -> Slot {
    match slot {
        Slot::Scalar(scalar) => Slot::Word(scalar, position),
        // Words are split no further; buffers are no scalars.
        Slot::Word(..) | Slot::Buffer(_) | Slot::Traps => slot,
    }
}

/// The parameter's value from its words; always the result of a new instruction.
fn join(b: &mut Builder, scalar: Scalar, words: &[ValueId]) -> ValueId {
    match *words {
        [low, high] => word_packing::join(b, scalar, low, high),
        [word] if scalar == Scalar::Bool => b.compare_bits(Op::Ne, word, 0),
        [word] => word_packing::from_low_bits(b, scalar.into(), word),
        _ => unreachable!("a parameter is one word or two"),
    }
}

/// Makes the old parameter the result of the instruction that defines `new`.
fn replace(function: &mut Function, old: ValueId, new: ValueId) {
    let Def::Result(inst, position) = function.values[new].def else {
        unreachable!("a parameter's words are joined by an instruction")
    };
    function.values[old].def = Def::Result(inst, position);
    function.insts[inst].results[position as usize] = old;
}

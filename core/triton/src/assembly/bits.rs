//! Instructions of assembly that move, count and mix bits.
//!
//! Invariant: counts that go beyond a register's width do what PTX says, on every device.

use super::super::body::Body;
use super::super::value::Tensor;
use super::instructions::{Reading, shifted};
use super::registers::{Kind, Known, Registers, constant, joined, viewed, word};
use girih_ir::{Op, Scalar};

const WORD: Kind = Kind::one(Scalar::U32);

fn two(body: &mut Body<'_, '_>, op: Op, a: Tensor, b: Tensor) -> Tensor {
    body.op(op, a.ty, &[a.value, b.value])
}
fn not(body: &mut Body<'_, '_>, a: Tensor) -> Tensor {
    body.op(Op::Not, a.ty, &[a.value])
}

fn of_width(reading: &Reading<'_, '_>, widths: &[u32]) -> Known<Kind> {
    let kind = reading.kind()?;
    let is_known = kind.lanes == 1 && !kind.scalar.is_float() && widths.contains(&kind.bits());
    if is_known { Ok(kind) } else { Err("it is not known for this type".into()) }
}

/// A constant that a name is, if it is written out.
fn known(body: &Body<'_, '_>, value: Tensor) -> Option<u64> {
    let value = match body.b.function.values[value.value].def {
        girih_ir::Def::Result(id, _) if body.b.function.insts[id].op == Op::TileSplat => {
            body.b.function.insts[id].operands[0]
        }
        _others => value.value,
    };
    body.b.function.as_constant(value)
}

/// `shl` and `shr`: from the width on, all bits are gone.
pub(super) fn shift(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    let (kind, [target, a, count]) = (of_width(reading, &[16, 32, 64])?, reading.operands()?);
    reading.choice(&[])?;
    let a = registers.numbers(body, a, kind)?[0];
    let count = registers.bits(body, count, WORD)?;
    let op = if reading.instruction.name == "shl" { Op::Shl } else { Op::Shr };
    let made = shifted(body, op, a, count);
    registers.put(body, reading, target, &[made])
}

/// `popc` and `clz`.
pub(super) fn count(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    let (kind, [target, a]) = (of_width(reading, &[32, 64])?, reading.operands()?);
    reading.choice(&[])?;
    let a = registers.bits(body, a, kind)?;
    let op = if reading.instruction.name == "popc" { Op::Popc } else { Op::Clz };
    let found = body.op(op, a.ty, &[a.value]);
    let found = body.cast(found, Scalar::U32);
    registers.put(body, reading, target, &[found])
}

/// A function of two bits, by its table: bit `2 b + c` is what it gives for b and c.
fn of_two(body: &mut Body<'_, '_>, table: u64, b: Tensor, c: Tensor) -> Tensor {
    let flipped = |body: &mut Body<'_, '_>, op: Op| {
        let made = two(body, op, b, c);
        not(body, made)
    };
    match table & 0xf {
        0x0 => constant(body, b, 0),
        0x1 => flipped(body, Op::Or),
        0x2 => {
            let b = not(body, b);
            two(body, Op::And, b, c)
        }
        0x3 => not(body, b),
        0x4 => {
            let c = not(body, c);
            two(body, Op::And, b, c)
        }
        0x5 => not(body, c),
        0x6 => two(body, Op::Xor, b, c),
        0x7 => flipped(body, Op::And),
        0x8 => two(body, Op::And, b, c),
        0x9 => flipped(body, Op::Xor),
        0xa => c,
        0xb => {
            let b = not(body, b);
            two(body, Op::Or, b, c)
        }
        0xc => b,
        0xd => {
            let c = not(body, c);
            two(body, Op::Or, b, c)
        }
        0xe => two(body, Op::Or, b, c),
        _all => constant(body, b, -1),
    }
}

/// `lop3.b32 d, a, b, c, table`: any function of three bits.
pub(super) fn lop3(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    let (kind, [target, a, b, c, table]) = (of_width(reading, &[32])?, reading.operands()?);
    reading.choice(&[])?;
    let table = registers.bits(body, table, WORD)?;
    let table = known(body, table).filter(|table| *table < 256).ok_or("its table is a number below 256")?;
    let (a, b, c) = (registers.bits(body, a, kind)?, registers.bits(body, b, kind)?, registers.bits(body, c, kind)?);
    let (with, without) = (of_two(body, table >> 4, b, c), of_two(body, table, b, c));
    let with = two(body, Op::And, a, with);
    let rest = not(body, a);
    let without = two(body, Op::And, rest, without);
    let made = two(body, Op::Or, with, without);
    registers.put(body, reading, target, &[made])
}

/// `shf.l.wrap.b32 d, a, b, c`: a shift of the 64 bits of which a is the lower half; the upper half of it to the left, the lower to the right.
pub(super) fn shf(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    let (kind, [target, a, b, count]) = (of_width(reading, &[32])?, reading.operands()?);
    let own = &reading.manner.own;
    let (left, wraps) = match &own[..] {
        ["l", "wrap"] => (true, true),
        ["l", "clamp"] => (true, false),
        ["r", "wrap"] => (false, true),
        ["r", "clamp"] => (false, false),
        _others => return Err("it is `shf.l` or `shf.r`, and `.wrap` or `.clamp`".into()),
    };
    let (a, b) = (registers.bits(body, a, kind)?, registers.bits(body, b, kind)?);
    let count = registers.bits(body, count, WORD)?;
    let count = match wraps {
        true => {
            let most = constant(body, count, 31);
            two(body, Op::And, count, most)
        }
        false => {
            let most = constant(body, count, 32);
            two(body, Op::Min, count, most)
        }
    };
    let width = constant(body, count, 32);
    let rest = two(body, Op::Sub, width, count);
    let (up, down) = if left { (count, rest) } else { (rest, count) };
    let (high, low) = (shifted(body, Op::Shl, b, up), shifted(body, Op::Shr, a, down));
    let made = two(body, Op::Or, high, low);
    registers.put(body, reading, target, &[made])
}

/// Which bytes the modes of `prmt` take, by the lower two bits of its selector.
const MODES: &[(&str, [u64; 4])] = &[
    ("f4e", [0x3210, 0x4321, 0x5432, 0x6543]),
    ("b4e", [0x5670, 0x6701, 0x7012, 0x0123]),
    ("rc8", [0x0000, 0x1111, 0x2222, 0x3333]),
    ("ecl", [0x3210, 0x3211, 0x3222, 0x3333]),
    ("ecr", [0x0000, 0x1110, 0x2210, 0x3210]),
    ("rc16", [0x1010, 0x3232, 0x1010, 0x3232]),
];

/// `prmt.b32 d, a, b, c`: four of the eight bytes of a and b, of which a has the lower ones.
pub(super) fn prmt(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    let (kind, [target, a, b, selector]) = (of_width(reading, &[32])?, reading.operands()?);
    let names: Vec<&'static str> = MODES.iter().map(|(name, _)| *name).collect();
    let mode = reading.choice(&names)?;
    let (a, b) = (registers.bits(body, a, kind)?, registers.bits(body, b, kind)?);
    let mut selector = registers.bits(body, selector, kind)?;
    if let Some((_, table)) = MODES.iter().find(|(name, _)| Some(*name) == mode) {
        let lowest = constant(body, selector, 3);
        let which = two(body, Op::And, selector, lowest);
        let mut chosen = constant(body, selector, i128::from(table[0]));
        for (i, bytes) in table.iter().enumerate().skip(1) {
            let here = constant(body, which, i as i128);
            let here = two(body, Op::Eq, which, here);
            let bytes = constant(body, selector, i128::from(*bytes));
            chosen = body.pick(here, bytes, chosen);
        }
        selector = chosen;
    }
    let mut bytes = vec![];
    for i in 0..4 {
        let by = constant(body, selector, 4 * i);
        let digit = two(body, Op::Shr, selector, by);
        bytes.push(chosen_byte(body, a, b, digit));
    }
    let made = joined(body, &bytes)?;
    registers.put(body, reading, target, &[made])
}

/// The byte that a digit of a selector names; with its highest bit set, eight copies of that byte's sign.
fn chosen_byte(body: &mut Body<'_, '_>, a: Tensor, b: Tensor, digit: Tensor) -> Tensor {
    let masked = |body: &mut Body<'_, '_>, mask: i128| {
        let mask = constant(body, digit, mask);
        two(body, Op::And, digit, mask)
    };
    let zero = constant(body, digit, 0);
    let (of_b, place, copies) = (masked(body, 4), masked(body, 3), masked(body, 8));
    let of_b = two(body, Op::Ne, of_b, zero);
    let copies = two(body, Op::Ne, copies, zero);
    let whole = body.pick(of_b, b, a);
    let eight = constant(body, place, 8);
    let by = two(body, Op::Mul, place, eight);
    let moved = two(body, Op::Shr, whole, by);
    let byte = body.cast(moved, Scalar::U8);
    let signed = viewed(body, byte, Scalar::I8);
    let seven = constant(body, signed, 7);
    let sign = two(body, Op::Shr, signed, seven);
    let sign = viewed(body, sign, Scalar::U8);
    body.pick(copies, sign, byte)
}

/// So many ones, the lowest first.
fn ones(body: &mut Body<'_, '_>, count: Tensor, like: Tensor) -> Tensor {
    let one = constant(body, like, 1);
    let above = shifted(body, Op::Shl, one, count);
    two(body, Op::Sub, above, one)
}

/// A place or a length of a field: the lowest 8 bits of a word.
fn byte_of(registers: &Registers, body: &mut Body<'_, '_>, name: &str) -> Known<Tensor> {
    let value = registers.bits(body, name, WORD)?;
    let lowest = constant(body, value, 0xff);
    Ok(two(body, Op::And, value, lowest))
}

/// How many bits of a field are within the register: those from its place on.
fn inside(body: &mut Body<'_, '_>, place: Tensor, length: Tensor, bits: u32) -> Tensor {
    let width = constant(body, place, i128::from(bits));
    let place = two(body, Op::Min, place, width);
    let left = two(body, Op::Sub, width, place);
    two(body, Op::Min, length, left)
}

/// `bfe`: a field of bits, with copies of its highest one above it if it is signed.
pub(super) fn bfe(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    let (kind, [target, a, place, length]) = (of_width(reading, &[32, 64])?, reading.operands()?);
    reading.choice(&[])?;
    let a = registers.bits(body, a, kind)?;
    let (place, length) = (byte_of(registers, body, place)?, byte_of(registers, body, length)?);
    let bits = kind.bits();
    let count = inside(body, place, length, bits);
    let mask = ones(body, count, a);
    let field = shifted(body, Op::Shr, a, place);
    let mut made = two(body, Op::And, field, mask);
    if kind.scalar.is_signed() {
        let one = constant(body, place, 1);
        let end = two(body, Op::Add, place, length);
        let last = constant(body, place, i128::from(bits - 1));
        let highest = two(body, Op::Sub, end, one);
        // The length 0 has no highest bit.
        let zero = constant(body, length, 0);
        let is_empty = two(body, Op::Eq, length, zero);
        let highest = two(body, Op::Min, highest, last);
        let sign = shifted(body, Op::Shr, a, highest);
        let lowest = constant(body, a, 1);
        let sign = two(body, Op::And, sign, lowest);
        let none = constant(body, a, 0);
        let sign = body.pick(is_empty, none, sign);
        let copies = two(body, Op::Sub, none, sign);
        let above = not(body, mask);
        let above = two(body, Op::And, above, copies);
        made = two(body, Op::Or, made, above);
    }
    registers.put(body, reading, target, &[made])
}

/// `bfi.b32 d, a, b, place, length`: b with the lowest bits of a in a field of it.
pub(super) fn bfi(registers: &mut Registers, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
    let (kind, [target, a, b, place, length]) = (of_width(reading, &[32, 64])?, reading.operands()?);
    reading.choice(&[])?;
    let (a, b) = (registers.bits(body, a, kind)?, registers.bits(body, b, kind)?);
    let (place, length) = (byte_of(registers, body, place)?, byte_of(registers, body, length)?);
    let count = inside(body, place, length, kind.bits());
    let field = ones(body, count, a);
    let field = shifted(body, Op::Shl, field, place);
    let given = shifted(body, Op::Shl, a, place);
    let given = two(body, Op::And, given, field);
    let rest = not(body, field);
    let rest = two(body, Op::And, b, rest);
    let made = two(body, Op::Or, rest, given);
    debug_assert_eq!(word(kind.bits()), Some(made.element()));
    registers.put(body, reading, target, &[made])
}

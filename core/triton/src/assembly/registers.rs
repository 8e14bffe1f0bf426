//! Registers of assembly: what they hold, as tiles of one shape; their types; and numbers that are written out.
//!
//! Invariant: a register holds bits. An instruction reads as many of them as its type has, as numbers of that type.

use super::super::body::Body;
use super::super::value::Tensor;
use girih_ir::{Op, Scalar, Shape, Type};
use std::collections::HashMap;

/// Why something cannot be done: the end of a sentence.
pub(super) type Known<T> = Result<T, String>;

/// A type as an instruction names it: so many numbers side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub scalar: Scalar,
    pub lanes: u32,
}

impl Kind {
    pub(super) const fn one(scalar: Scalar) -> Kind {
        Kind { scalar, lanes: 1 }
    }

    /// The type that a suffix names.
    pub(super) fn named(text: &str) -> Option<Kind> {
        let (name, lanes) = match text.strip_suffix("x2") {
            Some(name) => (name, 2),
            None => (text, 1),
        };
        let scalar = match (name, lanes) {
            ("pred", 1) => Scalar::Bool,
            ("b8" | "u8", 1) => Scalar::U8,
            ("s8", 1) => Scalar::I8,
            ("b16" | "u16", 1) | ("u16", 2) => Scalar::U16,
            ("s16", _) => Scalar::I16,
            ("b32" | "u32", 1) => Scalar::U32,
            ("s32", 1) => Scalar::I32,
            ("b64" | "u64", 1) => Scalar::U64,
            ("s64", 1) => Scalar::I64,
            ("f16", _) => Scalar::F16,
            ("bf16", _) => Scalar::Bf16,
            ("f32", _) => Scalar::F32,
            ("f64", 1) => Scalar::F64,
            ("e4m3", 2) => Scalar::F8E4M3,
            ("e5m2", 2) => Scalar::F8E5M2,
            _ => return None,
        };
        Some(Kind { scalar, lanes })
    }

    pub(super) fn bits(self) -> u32 {
        if self.scalar == Scalar::Bool { 1 } else { self.scalar.bits() * self.lanes }
    }
}

/// The unsigned integer of a width.
pub(super) fn word(bits: u32) -> Option<Scalar> {
    match bits {
        1 => Some(Scalar::Bool),
        8 => Some(Scalar::U8),
        16 => Some(Scalar::U16),
        32 => Some(Scalar::U32),
        64 => Some(Scalar::U64),
        _none => None,
    }
}

/// A register.
#[derive(Clone, Copy, Default)]
struct Register {
    /// Its width, if it was declared or is an operand.
    bits: Option<u32>,
    value: Option<Tensor>,
}

/// Assembly that is being read.
pub(super) struct Registers {
    /// The registers of each open block, the outermost first.
    blocks: Vec<HashMap<String, Register>>,
    pub shape: Option<Shape>,
}

impl Registers {
    pub(super) fn new(shape: Option<Shape>) -> Registers {
        Registers { blocks: vec![HashMap::new()], shape }
    }

    pub(super) fn open(&mut self) {
        self.blocks.push(HashMap::new());
    }

    pub(super) fn close(&mut self) -> Known<()> {
        self.blocks.pop();
        if self.blocks.is_empty() { Err("no block is open here".into()) } else { Ok(()) }
    }

    pub(super) fn open_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// `.reg .b32 a, b<4>`.
    pub(super) fn declare(&mut self, ty: &str, names: &[&str]) -> Known<()> {
        let kind = Kind::named(ty).ok_or_else(|| format!("registers of the type `.{ty}` are not known"))?;
        let Some(block) = self.blocks.last_mut() else { return Ok(()) };
        let register = Register { bits: Some(kind.bits()), value: None };
        for name in names {
            match name.strip_suffix('>').and_then(|name| name.split_once('<')) {
                Some((stem, count)) => {
                    let count: u32 = count
                        .parse()
                        .ok()
                        .filter(|n| *n <= 1024)
                        .ok_or("at most 1024 registers are declared at once")?;
                    block.extend((0..count).map(|i| (format!("{stem}{i}"), register)));
                }
                None => drop(block.insert((*name).to_owned(), register)),
            }
        }
        Ok(())
    }

    /// An operand of the assembly, of this width.
    pub(super) fn operand(&mut self, name: String, bits: u32, value: Option<Tensor>) {
        self.blocks[0].insert(name, Register { bits: Some(bits), value });
    }

    fn find(&self, name: &str) -> Option<Register> {
        self.blocks.iter().rev().find_map(|block| block.get(name)).copied()
    }

    /// The width of a register, where that is known.
    pub(super) fn width(&self, name: &str) -> Option<u32> {
        let register = self.find(name)?;
        register.bits.or_else(|| register.value.map(width_of))
    }

    /// What a register holds, or a number that is written out, as so many bits: a word.
    pub(super) fn bits(&self, body: &mut Body<'_, '_>, name: &str, kind: Kind) -> Known<Tensor> {
        let bits = kind.bits();
        let word = word(bits).ok_or_else(|| format!("{bits} bits are no register"))?;
        let ty = Type::block(self.shape, word);
        let Some(register) = self.find(name) else {
            let number = literal(name, kind, word).ok_or_else(|| unknown(name))?;
            let number = body.b.constant(word, number);
            return Ok(Tensor { value: body.splat(number, self.shape), ty });
        };
        let value = register.value.ok_or_else(|| format!("`{name}` is read before anything is written to it"))?;
        let own = width_of(value);
        if own != bits {
            return Err(format!("`{name}` holds {own} bits, and {bits} are read"));
        }
        Ok(viewed(body, value, word))
    }

    /// The low bits of what a register of at least this width holds.
    pub(super) fn low_bits(&self, body: &mut Body<'_, '_>, name: &str, kind: Kind) -> Known<Tensor> {
        match self.find(name).and_then(|register| register.value) {
            Some(value) if width_of(value) > kind.bits() => {
                let whole = word(width_of(value)).unwrap_or(Scalar::U32);
                let low = word(kind.bits()).ok_or("it has an unknown width")?;
                let whole = viewed(body, value, whole);
                Ok(body.cast(whole, low))
            }
            _as_wide => self.bits(body, name, kind),
        }
    }

    /// The numbers that an operand holds, the lowest first.
    pub(super) fn numbers(&self, body: &mut Body<'_, '_>, name: &str, kind: Kind) -> Known<Vec<Tensor>> {
        let whole = self.bits(body, name, kind)?;
        Ok(lanes(body, whole, kind))
    }

    /// Whether a predicate holds; `!p` is its opposite.
    pub(super) fn predicate(&self, body: &mut Body<'_, '_>, name: &str) -> Known<Tensor> {
        let (name, holds) = match name.strip_prefix('!') {
            Some(name) => (name.trim_start(), false),
            None => (name, true),
        };
        let value = self.bits(body, name, Kind::one(Scalar::Bool))?;
        Ok(if holds { value } else { body.op(Op::Not, value.ty, &[value.value]) })
    }

    /// Writes to a register, where a predicate holds.
    pub(super) fn write(
        &mut self,
        body: &mut Body<'_, '_>,
        name: &str,
        mut value: Tensor,
        predicate: Option<(&str, bool)>,
    ) -> Known<()> {
        if name == "_" {
            return Ok(());
        }
        if name.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return Err(format!("`{name}` is no register"));
        }
        let known = self.find(name).unwrap_or_default();
        if let Some(bits) = known.bits.filter(|bits| *bits != width_of(value)) {
            return Err(format!("`{name}` has {bits} bits, and {} are written", width_of(value)));
        }
        if let Some((register, holds)) = predicate {
            let condition = self.predicate(body, register)?;
            // What a register holds before anything is written to it is left open.
            if let Some(before) = known.value.filter(|before| width_of(*before) == width_of(value)) {
                let before = viewed(body, before, value.element());
                value = if holds { body.pick(condition, value, before) } else { body.pick(condition, before, value) };
            }
        }
        let at = self.blocks.iter().rposition(|block| block.contains_key(name)).unwrap_or(0);
        self.blocks[at].insert(name.to_owned(), Register { bits: known.bits, value: Some(value) });
        Ok(())
    }

    /// What an output holds at the end.
    pub(super) fn output(&self, name: &str) -> Known<Tensor> {
        let value = self.find(name).and_then(|register| register.value);
        value.ok_or_else(|| format!("nothing is written to `{name}`"))
    }
}

fn unknown(name: &str) -> String {
    match name {
        "%tid.x" | "%laneid" | "%warpid" | "%smid" | "%clock" | "%clock64" | "%globaltimer" => {
            format!("`{name}` is known to one vendor's cards only")
        }
        _ if name.starts_with('%') => format!("there is no register `{name}`, and special registers are not known"),
        _ if name.starts_with('[') => "it accesses memory".into(),
        _ => format!("`{name}` is neither a register that was written to nor a number"),
    }
}

/// How many bits a value has.
pub(super) fn width_of(value: Tensor) -> u32 {
    if value.element() == Scalar::Bool { 1 } else { value.element().bits() }
}

/// The same bits as another type.
pub(super) fn viewed(body: &mut Body<'_, '_>, value: Tensor, scalar: Scalar) -> Tensor {
    if value.element() == scalar {
        return value;
    }
    body.op(Op::Bitcast, Type::block(value.shape(), scalar), &[value.value])
}

/// A constant in the shape and type of a value.
pub(super) fn constant(body: &mut Body<'_, '_>, like: Tensor, n: i128) -> Tensor {
    let number = body.int(like.element(), n);
    Tensor { value: body.splat(number, like.shape()), ty: like.ty }
}

/// The numbers that a word consists of, the lowest first.
pub(super) fn lanes(body: &mut Body<'_, '_>, whole: Tensor, kind: Kind) -> Vec<Tensor> {
    if kind.scalar == Scalar::Bool {
        return vec![whole];
    }
    parts(body, whole, kind.scalar.bits()).into_iter().map(|part| viewed(body, part, kind.scalar)).collect()
}

/// A word as words of so many bits, the lowest first.
pub(super) fn parts(body: &mut Body<'_, '_>, whole: Tensor, bits: u32) -> Vec<Tensor> {
    let Some(part) = word(bits).filter(|_| bits < width_of(whole)) else { return vec![whole] };
    let count = width_of(whole) / bits;
    let mut pieces = vec![body.cast(whole, part)];
    for i in 1..count {
        let by = constant(body, whole, i128::from(i * bits));
        let moved = body.op(Op::Shr, whole.ty, &[whole.value, by.value]);
        pieces.push(body.cast(moved, part));
    }
    pieces
}

/// Numbers side by side as one word, the lowest first.
pub(super) fn joined(body: &mut Body<'_, '_>, pieces: &[Tensor]) -> Known<Tensor> {
    let Some(first) = pieces.first().copied() else { return Err("nothing is joined".into()) };
    if first.element() == Scalar::Bool {
        return Ok(first);
    }
    let bits = width_of(first);
    let wide = word(bits * pieces.len() as u32).ok_or("so many bits are no register")?;
    let own = word(bits).unwrap_or(Scalar::U32);
    let mut whole: Option<Tensor> = None;
    for (i, piece) in pieces.iter().enumerate() {
        let piece = viewed(body, *piece, own);
        let piece = body.cast(piece, wide);
        let Some(before) = whole else {
            whole = Some(piece);
            continue;
        };
        let by = constant(body, piece, (i as i128) * i128::from(bits));
        let moved = body.op(Op::Shl, piece.ty, &[piece.value, by.value]);
        whole = Some(body.op(Op::Or, piece.ty, &[before.value, moved.value]));
    }
    whole.ok_or_else(|| "nothing is joined".into())
}

/// The bits of a number that is written out.
fn literal(text: &str, kind: Kind, word: Scalar) -> Option<u64> {
    let hexadecimal = |digits: &str, length: usize| {
        Some(digits).filter(|digits| digits.len() == length).and_then(|digits| u64::from_str_radix(digits, 16).ok())
    };
    if let Some(digits) = text.strip_prefix("0f").or_else(|| text.strip_prefix("0F")) {
        let bits = hexadecimal(digits, 8)?;
        let is_wide = kind == Kind::one(Scalar::F64);
        return Some(if is_wide { f64::from(f32::from_bits(bits as u32)).to_bits() } else { bits });
    }
    if let Some(digits) = text.strip_prefix("0d").or_else(|| text.strip_prefix("0D")) {
        let x = f64::from_bits(hexadecimal(digits, 16)?);
        return Some(girih_ir::eval::narrow(x, if kind.scalar.is_float() { kind.scalar } else { Scalar::F64 }));
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let digits = digits.trim_end_matches(['U', 'u']);
    let radix = [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2)];
    let based = radix.iter().find_map(|(prefix, radix)| Some((digits.strip_prefix(prefix)?, *radix)));
    if let Some((digits, radix)) = based {
        let n = i128::from(u64::from_str_radix(digits, radix).ok()?);
        return Some((if negative { -n } else { n }) as u64 & word.mask());
    }
    if kind.scalar.is_float() && kind.lanes == 1 {
        let digits = digits.parse::<f64>().ok()?;
        return Some(girih_ir::eval::narrow(if negative { -digits } else { digits }, kind.scalar));
    }
    let n = i128::from(digits.parse::<u64>().ok()?);
    Some((if negative { -n } else { n }) as u64 & word.mask())
}

//! What each instruction of assembly does to registers.
//!
//! Invariant: every suffix of an instruction has been understood before anything is made for it; one that is not known is named.

use super::super::body::Body;
use super::super::value::Tensor;
use super::registers::{Kind, Known, Registers, constant, joined, parts, word};
use super::text::{Instruction, Operand};
use super::{bits, convert, floats, integers};
use girih_ir::{Op, Scalar, Type};

/// How an instruction does what its name says.
#[derive(Debug, Default)]
pub(super) struct Manner<'t> {
    /// In which direction it rounds, if not to the nearest.
    pub rounding: Option<&'t str>,
    /// Whether the result is brought into 0 to 1, or into the range of integers.
    pub sat: bool,
    /// Whether what is too large for the type becomes its largest number.
    pub finite: bool,
    /// Whether what is below 0 becomes 0.
    pub relu: bool,
    /// Whether a NaN among the operands wins.
    pub nan: bool,
    /// Suffixes of the instruction's own.
    pub own: Vec<&'t str>,
}

/// Directions of rounding: as PTX names them behind a dot.
const DIRECTIONS: &[&str] = &["rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna"];

/// Why families of instructions are not known.
const OTHERS: &[(&[&str], &str)] = &[
    (
        &[
            "ld",
            "ldu",
            "st",
            "atom",
            "red",
            "cvta",
            "isspacep",
            "prefetch",
            "prefetchu",
            "cp",
            "ldmatrix",
            "stmatrix",
            "multimem",
        ],
        "it accesses memory, and only registers are known",
    ),
    (&["bra", "brx", "call", "ret", "exit", "trap", "brkpt"], "it jumps, and only straight-line code is known"),
    (
        &[
            "shfl",
            "vote",
            "match",
            "redux",
            "activemask",
            "elect",
            "bar",
            "barrier",
            "membar",
            "fence",
            "mma",
            "wgmma",
            "wmma",
            "mbarrier",
            "tcgen05",
            "setmaxnreg",
            "nanosleep",
        ],
        "it is about other threads, and each element is computed for itself",
    ),
];

/// An instruction whose suffixes have been read.
pub(super) struct Reading<'r, 't> {
    pub instruction: &'r Instruction<'t>,
    /// Its types, in order.
    pub kinds: Vec<Kind>,
    pub manner: Manner<'t>,
}

impl<'t> Reading<'_, 't> {
    /// The type that it has, if it has one.
    pub(super) fn kind(&self) -> Known<Kind> {
        match &self.kinds[..] {
            [kind] => Ok(*kind),
            [] => Err("its type is missing".into()),
            _several => Err("it has one type".into()),
        }
    }

    /// The operands, which must be so many.
    pub(super) fn operands<const N: usize>(&self) -> Known<[&'t str; N]> {
        let mut names = [""; N];
        if self.instruction.operands.len() != N {
            return Err(format!("it takes {N} operands, and {} are given", self.instruction.operands.len()));
        }
        for (name, operand) in names.iter_mut().zip(&self.instruction.operands) {
            match operand {
                Operand::One(one) => *name = one,
                Operand::Several(_) => return Err("braces stand only in `mov`".into()),
            }
        }
        Ok(names)
    }

    /// Suffixes that say what an instruction does, which must be among these; the one that is there.
    pub(super) fn choice(&self, known: &[&'static str]) -> Known<Option<&'static str>> {
        let mut found = None;
        for own in &self.manner.own {
            match known.iter().find(|known| *known == own) {
                Some(known) => found = Some(*known),
                None => return Err(format!("`.{own}` is not known there")),
            }
        }
        Ok(found)
    }
}

fn read<'r, 't>(instruction: &'r Instruction<'t>) -> Reading<'r, 't> {
    let (mut kinds, mut manner) = (vec![], Manner::default());
    for suffix in &instruction.suffixes {
        match (Kind::named(suffix), *suffix) {
            (Some(kind), _) => kinds.push(kind),
            // What is said to be inexact is exact here, and numbers that are too small to be normal are kept.
            (None, "approx" | "full" | "ftz" | "rn") => {}
            (None, "sat") => manner.sat = true,
            (None, "satfinite") => manner.finite = true,
            (None, "relu") => manner.relu = true,
            (None, "NaN") => manner.nan = true,
            (None, direction) if DIRECTIONS.contains(&direction) => manner.rounding = Some(direction),
            (None, own) => manner.own.push(own),
        }
    }
    Reading { instruction, kinds, manner }
}

impl Registers {
    /// Does what an instruction says.
    pub(super) fn step(&mut self, body: &mut Body<'_, '_>, instruction: &Instruction<'_>) -> Known<()> {
        let reading = read(instruction);
        match instruction.name {
            // A launch begins when the one before it has ended.
            "griddepcontrol" => Ok(()),
            "mov" => self.mov(body, &reading),
            "setp" => self.setp(body, &reading),
            "set" => self.set(body, &reading),
            "selp" => self.selp(body, &reading),
            "slct" => self.slct(body, &reading),
            "cvt" => convert::cvt(self, body, &reading),
            "lop3" => bits::lop3(self, body, &reading),
            "shf" => bits::shf(self, body, &reading),
            "prmt" => bits::prmt(self, body, &reading),
            "bfe" => bits::bfe(self, body, &reading),
            "bfi" => bits::bfi(self, body, &reading),
            "shl" | "shr" => bits::shift(self, body, &reading),
            "popc" | "clz" => bits::count(self, body, &reading),
            "mul" | "mad" if reading.manner.own.contains(&"wide") => integers::wide(self, body, &reading),
            "dp4a" => integers::dp4a(self, body, &reading),
            "testp" => self.testp(body, &reading),
            _arithmetic => self.arithmetic(body, &reading),
        }
    }

    /// Operands and result of one type, number by number.
    fn arithmetic(&mut self, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
        let name = reading.instruction.name;
        let family = OTHERS.iter().find(|(names, _)| names.contains(&name));
        if let Some((_, why)) = family {
            return Err((*why).to_owned());
        }
        if floats::operands(name).or(integers::operands(name)).is_none() {
            return Err("this instruction is not known".into());
        }
        let kind = reading.kind()?;
        let count = if kind.scalar.is_float() { floats::operands(name) } else { integers::operands(name) };
        let count = count.ok_or("it is not known for this type")?;
        let [target, given @ ..] = &self.all_operands(reading)?[..] else {
            return Err("its operands are missing".into());
        };
        if given.len() != count {
            return Err(format!("it takes {count} operands behind the target, and {} are given", given.len()));
        }
        let mut rows = vec![];
        for operand in given {
            rows.push(self.numbers(body, operand, kind)?);
        }
        let mut made = vec![];
        for lane in 0..rows.first().map_or(0, Vec::len) {
            let given: Vec<Tensor> = rows.iter().map(|row| row[lane]).collect();
            made.push(match kind.scalar.is_float() {
                true => floats::compute(body, name, &given, reading)?,
                false => integers::compute(body, name, &given, reading)?,
            });
        }
        self.put(body, reading, target, &made)
    }

    fn all_operands<'t>(&self, reading: &Reading<'_, 't>) -> Known<Vec<&'t str>> {
        let one = |operand: &Operand<'t>| match operand {
            Operand::One(name) => Ok(*name),
            Operand::Several(_) => Err("braces stand only in `mov`".to_owned()),
        };
        reading.instruction.operands.iter().map(one).collect()
    }

    /// Writes numbers side by side to a register.
    pub(super) fn put(
        &mut self,
        body: &mut Body<'_, '_>,
        reading: &Reading<'_, '_>,
        target: &str,
        numbers: &[Tensor],
    ) -> Known<()> {
        let whole = match numbers {
            [one] => *one,
            several => joined(body, several)?,
        };
        self.write(body, target, whole, reading.instruction.predicate)
    }

    /// `mov`, also of several registers into one and of one into several.
    fn mov(&mut self, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
        let kind = reading.kind()?;
        reading.choice(&[])?;
        let share = |names: &[&str]| {
            let bits = kind.bits() / names.len().max(1) as u32;
            word(bits)
                .map(Kind::one)
                .ok_or_else(|| format!("{} registers do not share {} bits", names.len(), kind.bits()))
        };
        match &reading.instruction.operands[..] {
            [Operand::One(target), Operand::One(from)] => {
                let value = self.bits(body, from, kind)?;
                self.put(body, reading, target, &[value])
            }
            [Operand::One(target), Operand::Several(from)] => {
                let part = share(from)?;
                let pieces = from.iter().map(|name| self.bits(body, name, part)).collect::<Known<Vec<_>>>()?;
                self.put(body, reading, target, &pieces)
            }
            [Operand::Several(targets), Operand::One(from)] => {
                let part = share(targets)?;
                let whole = self.bits(body, from, kind)?;
                let pieces = parts(body, whole, part.bits());
                targets.iter().zip(pieces).try_for_each(|(target, piece)| self.put(body, reading, target, &[piece]))
            }
            _others => Err("it takes a target and what is moved".into()),
        }
    }

    /// `setp.lt.f32 p|q, a, b`, with a predicate that is added by `and`, `or` or `xor`.
    fn setp(&mut self, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
        let kind = reading.kind()?;
        let [target, rest @ ..] = &reading.instruction.operands[..] else {
            return Err("its operands are missing".into());
        };
        let names: Vec<&str> = match target {
            Operand::One(name) => vec![name],
            Operand::Several(names) => names.clone(),
        };
        let held = self.compared(body, reading, kind, rest)?;
        let held = match (&held[..], names.len()) {
            ([one], 2) => vec![*one, body.op(Op::Not, one.ty, &[one.value])],
            (several, count) if several.len() == count => several.to_vec(),
            (several, _) => return Err(format!("it writes {} predicates, `p|q` if there are two", several.len())),
        };
        names.iter().zip(held).try_for_each(|(name, held)| self.put(body, reading, name, &[held]))
    }

    /// What a comparison says of each number, joined with the predicate behind the operands.
    fn compared(
        &mut self,
        body: &mut Body<'_, '_>,
        reading: &Reading<'_, '_>,
        kind: Kind,
        operands: &[Operand<'_>],
    ) -> Known<Vec<Tensor>> {
        let (mut comparison, mut joint) = (None, None);
        for own in &reading.manner.own {
            match *own {
                "and" => joint = Some(Op::And),
                "or" => joint = Some(Op::Or),
                "xor" => joint = Some(Op::Xor),
                other => comparison = Some(other),
            }
        }
        let comparison = comparison.ok_or("it does not say how it compares")?;
        let names: Vec<&str> = operands
            .iter()
            .filter_map(|operand| if let Operand::One(name) = operand { Some(*name) } else { None })
            .collect();
        let (a, b, other) = match (&names[..], joint) {
            ([a, b], None) => (a, b, None),
            ([a, b, c], Some(joint)) => (a, b, Some((*c, joint))),
            _wrong => {
                return Err("it compares two operands, and `and`, `or` or `xor` adds a predicate behind them".into());
            }
        };
        let (a, b) = (self.numbers(body, a, kind)?, self.numbers(body, b, kind)?);
        let other = match other {
            Some((name, joint)) => Some((self.predicate(body, name)?, joint)),
            None => None,
        };
        let mut held = vec![];
        for (a, b) in a.into_iter().zip(b) {
            let holds = compare(body, comparison, a, b)?;
            held.push(match other {
                Some((other, joint)) => body.op(joint, holds.ty, &[holds.value, other.value]),
                None => holds,
            });
        }
        Ok(held)
    }

    /// `set.lt.u32.f32 d, a, b`: all bits or 1.0 where the comparison holds.
    fn set(&mut self, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
        let [to, from] = reading.kinds[..] else {
            return Err("it has the type of its result and that of its operands".into());
        };
        let [Operand::One(target), rest @ ..] = &reading.instruction.operands[..] else {
            return Err("its operands are missing".into());
        };
        let held = self.compared(body, reading, from, rest)?;
        if to.lanes as usize != held.len() {
            return Err("its result has as many numbers as its operands".into());
        }
        let mut made = vec![];
        for holds in held {
            let one = if to.scalar.is_float() { body.float(to.scalar, 1.0) } else { body.int(to.scalar, -1) };
            let zero = body.number(to.scalar, 0.0);
            let ty = Type::block(self.shape, to.scalar);
            let [one, zero] = [one, zero].map(|n| Tensor { value: body.splat(n, self.shape), ty });
            made.push(body.pick(holds, one, zero));
        }
        self.put(body, reading, target, &made)
    }

    fn selp(&mut self, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
        let (kind, [target, a, b, predicate]) = (reading.kind()?, reading.operands()?);
        reading.choice(&[])?;
        let (a, b) = (self.bits(body, a, kind)?, self.bits(body, b, kind)?);
        let predicate = self.predicate(body, predicate)?;
        let chosen = body.pick(predicate, a, b);
        self.put(body, reading, target, &[chosen])
    }

    /// `slct.b32.s32 d, a, b, c`: a where c is not below 0.
    fn slct(&mut self, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
        let [kind, of] = reading.kinds[..] else {
            return Err("it has the type of its result and that of its condition".into());
        };
        let [target, a, b, c] = reading.operands()?;
        let (a, b) = (self.bits(body, a, kind)?, self.bits(body, b, kind)?);
        let c = self.numbers(body, c, of)?;
        let [c] = c[..] else { return Err("its condition is one number".into()) };
        let zero = body.number(of.scalar, 0.0);
        let zero = body.splat(zero, self.shape);
        let holds = body.op(Op::Ge, c.ty, &[c.value, zero]);
        let chosen = body.pick(holds, a, b);
        self.put(body, reading, target, &[chosen])
    }

    /// `testp.finite.f32 p, a`.
    fn testp(&mut self, body: &mut Body<'_, '_>, reading: &Reading<'_, '_>) -> Known<()> {
        let (kind, [target, a]) = (reading.kind()?, reading.operands()?);
        let known = ["finite", "infinite", "number", "notanumber"];
        let what = reading.choice(&known)?.ok_or("it does not say what it asks")?;
        let x = self.numbers(body, a, kind)?;
        let [x] = x[..] else { return Err("it asks about one number".into()) };
        let size = body.op(Op::Abs, x.ty, &[x.value]);
        let limit = body.float(kind.scalar, f64::INFINITY);
        let limit = body.splat(limit, self.shape);
        let answer = match what {
            "finite" => body.op(Op::Lt, x.ty, &[size.value, limit]),
            "infinite" => body.op(Op::Eq, x.ty, &[size.value, limit]),
            "number" => body.op(Op::Eq, x.ty, &[x.value, x.value]),
            _not_a_number => body.op(Op::Ne, x.ty, &[x.value, x.value]),
        };
        self.put(body, reading, target, &[answer])
    }
}

/// A comparison by its name. Those of floats that end in `u` also hold where an operand is NaN.
fn compare(body: &mut Body<'_, '_>, name: &str, a: Tensor, b: Tensor) -> Known<Tensor> {
    let scalar = a.element();
    let held = |body: &mut Body<'_, '_>, op: Op| body.op(op, a.ty, &[a.value, b.value]);
    let opposite = |body: &mut Body<'_, '_>, op: Op| {
        let holds = body.op(op, a.ty, &[a.value, b.value]);
        body.op(Op::Not, holds.ty, &[holds.value])
    };
    if scalar == Scalar::Bool && !matches!(name, "eq" | "ne") {
        return Err("predicates are not compared".into());
    }
    Ok(match (name, scalar.is_float()) {
        ("eq", _) => held(body, Op::Eq),
        ("ne", true) => {
            let (less, greater) = (held(body, Op::Lt), held(body, Op::Gt));
            body.op(Op::Or, less.ty, &[less.value, greater.value])
        }
        ("ne", false) | ("neu", true) => held(body, Op::Ne),
        ("lt", _) | ("lo", false) => held(body, Op::Lt),
        ("le", _) | ("ls", false) => held(body, Op::Le),
        ("gt", _) | ("hi", false) => held(body, Op::Gt),
        ("ge", _) | ("hs", false) => held(body, Op::Ge),
        ("equ", true) => {
            let (less, greater) = (held(body, Op::Lt), held(body, Op::Gt));
            let differ = body.op(Op::Or, less.ty, &[less.value, greater.value]);
            body.op(Op::Not, differ.ty, &[differ.value])
        }
        ("ltu", true) => opposite(body, Op::Ge),
        ("leu", true) => opposite(body, Op::Gt),
        ("gtu", true) => opposite(body, Op::Le),
        ("geu", true) => opposite(body, Op::Lt),
        ("num" | "nan", true) => {
            let [a, b] = [a, b].map(|x| body.op(Op::Eq, x.ty, &[x.value, x.value]));
            let both = body.op(Op::And, a.ty, &[a.value, b.value]);
            if name == "num" { both } else { body.op(Op::Not, both.ty, &[both.value]) }
        }
        _others => return Err(format!("it does not compare by `.{name}`")),
    })
}

/// A shift, whose result is 0, or all copies of the sign, from the width on.
pub(super) fn shifted(body: &mut Body<'_, '_>, op: Op, x: Tensor, count: Tensor) -> Tensor {
    let bits = x.element().bits();
    let count = body.cast(count, Scalar::U32);
    let width = constant(body, count, i128::from(bits));
    let last = constant(body, count, i128::from(bits - 1));
    let within = body.op(Op::Min, count.ty, &[count.value, last.value]);
    let within = body.cast(within, x.element());
    let moved = body.op(op, x.ty, &[x.value, within.value]);
    if x.element().is_signed() && op == Op::Shr {
        return moved;
    }
    let is_less = body.op(Op::Lt, count.ty, &[count.value, width.value]);
    let zero = constant(body, x, 0);
    body.pick(is_less, moved, zero)
}

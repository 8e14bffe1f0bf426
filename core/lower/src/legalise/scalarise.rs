//! Arithmetic on vectors becomes arithmetic on their elements. Vectors stay where memory is read and written, and register
//! arrays where matrix products take them.
//!
//! Invariant: afterwards no value that crosses a region's border or a call is a vector, and conversions from and to `bool`
//! are selections and comparisons. In task form, on devices that compute with vectors of four 32-bit numbers, those stay, and
//! arithmetic that is as simple on them as on one number.

use super::Context;
use super::emit::Emit;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::groups::{
    approximations, asynchronous, atomics, barriers, bits, compares, control, counts, fragments, functions,
    integer_arithmetic, library, masks, matrix_products, more_arithmetic, not_arithmetic, of_kernels, plain_arithmetic,
    positions, reductions, roundings, scans, shuffles, subgroup_positions, task_form,
};
use girih_ir::{Builder, Def, Feature, Function, Inst, Op, Scalar, ScalarSet, Type, ValueId};

pub(super) struct Scalarise<'c, 'a> {
    pub cx: &'c mut Context<'a>,
}

impl Pass for Scalarise<'_, '_> {
    fn types(&mut self, ty: Type) -> (Type, usize) {
        match ty {
            Type::Vector(s, n) if !self.keeps(ty) => (Type::Scalar(s), n.into()),
            Type::Regs(s, n) if !self.keeps(ty) => (Type::Scalar(s), n.into()),
            Type::Vector(..)
            | Type::Regs(..)
            | Type::Scalar(_)
            | Type::Coop(..)
            | Type::Tile(_)
            | Type::Token
            | Type::Term
            | Type::Memory(_) => (ty, 1),
        }
    }

    fn concerns(&self, function: &Function, inst: &Inst) -> bool {
        let is_aggregate = |v: &ValueId| matches!(function.ty(*v), Type::Vector(..) | Type::Regs(..));
        let casts = match inst.op {
            // Those from and to `bool`, and those that change nothing.
            Op::Convert | Op::Bitcast => {
                let from = function.ty(inst.operands[0]);
                inst.ty.is_some_and(|to| to == Type::BOOL || from == Type::BOOL || to == from)
            }
            Op::Select
            | not_arithmetic!()
            | functions!()
            | integer_arithmetic!()
            | compares!()
            | more_arithmetic!()
            | plain_arithmetic!() => false,
        };
        casts || inst.operands.iter().chain(&inst.results).any(is_aggregate)
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        if self.stays(r.old, inst) {
            return Ok(None);
        }
        let mut operands: Vec<Vec<ValueId>> = inst.operands.iter().map(|v| r.values(self, *v).to_vec()).collect();
        for operand in &mut operands {
            if let [one] = operand[..]
                && matches!(r.out.ty(one), Type::Vector(..))
                && !is_control(inst.op)
            {
                *operand = r.out.lanes(one);
            }
        }
        let result = match inst.op {
            Op::Vector if !self.keeps_together(inst.ty) => operands.concat(),
            Op::Splat if !self.keeps_together(inst.ty) => {
                vec![operands[0][0]; inst.ty.map_or(0, Type::lanes) as usize]
            }
            Op::Extract => vec![extract(&mut r.out, inst.element(), &operands[0], operands[1][0])],
            Op::Insert => insert(&mut r.out, &operands[0], operands[1][0], operands[2][0]),
            Op::Vector | Op::Splat => return Ok(None),
            Op::Bitcast => bitcast(&mut r.out, r.old.ty(inst.operands[0]), inst.ty, &operands[0]),
            Op::Convert => operands[0].iter().map(|x| convert(&mut r.out, inst.element(), *x)).collect(),
            Op::Load => {
                let access: Vec<ValueId> = operands.concat();
                let value = r.out.rewrite(inst, Op::Load, inst.ty, &access)[0];
                r.out.lanes(value)
            }
            Op::Store => {
                let value = r.out.vector(&operands[2]);
                return Ok(Some(void(r.out.rewrite(
                    inst,
                    Op::Store,
                    inst.ty,
                    &[operands[0][0], operands[1][0], value],
                ))));
            }
            Op::Ballot => {
                let value = r.out.rewrite(inst, Op::Ballot, None, &operands.concat())[0];
                r.out.lanes(value)
            }
            Op::Div | Op::Neg | Op::Abs | Op::Fma | Op::Mad | Op::Sqrt | Op::Select | shuffles!() => {
                each_lane(&mut r.out, inst, &operands)
            }
            Op::MaskAny => {
                let (first, rest) = (operands[0][0], &operands[0][1..]);
                let bits = rest.iter().fold(first, |bits, lane| r.out.or(bits, *lane));
                r.out.rewrite(inst, Op::MaskAny, Some(Type::U32), &[bits])
            }
            Op::MaskEq | Op::MaskLt | Op::MaskLe | Op::MaskSelect => each_lane(&mut r.out, inst, &operands),
            plain_arithmetic!() | integer_arithmetic!() | roundings!() | library!() | approximations!() => {
                each_lane(&mut r.out, inst, &operands)
            }
            compares!()
            | control!()
            | Op::UniformLoad
            | atomics!()
            | matrix_products!()
            | positions!()
            | subgroup_positions!()
            | barriers!()
            | Op::Any
            | Op::All
            | Op::Elect
            | reductions!()
            | scans!()
            | fragments!()
            | asynchronous!()
            | task_form!()
            | girih_ir::tile_operations!() => return Ok(None),
        };
        let is_kept = inst.results.first().is_some_and(|v| self.is_lanes(r.old.ty(*v)));
        Ok(Some(vec![if is_kept && result.len() > 1 { vec![r.out.vector(&result)] } else { result }]))
    }
}

impl Scalarise<'_, '_> {
    /// Whether values of a type stay together.
    fn keeps(&self, ty: Type) -> bool {
        self.is_lanes(ty) || matches!(ty, Type::Regs(s, _) if self.cx.keeps_regs && self.cx.native(s))
    }
    /// Whether values of a type are vectors that the device computes with.
    fn is_lanes(&self, ty: Type) -> bool {
        self.cx.keeps_vectors && matches!(ty, Type::Vector(Scalar::F32 | Scalar::I32 | Scalar::U32, 4))
    }
    /// Whether values of a register array's type stay together.
    fn keeps_together(&self, ty: Option<Type>) -> bool {
        ty.is_some_and(|ty| matches!(ty, Type::Regs(..)) && self.keeps(ty))
    }

    /// Whether the device does an operation on vectors as it stands.
    fn stays(&self, function: &Function, inst: &Inst) -> bool {
        let is_vector = |v: &&ValueId| matches!(function.ty(**v), Type::Vector(..) | Type::Regs(..));
        let mut vectors = inst.operands.iter().chain(&inst.results).filter(is_vector).peekable();
        if vectors.peek().is_none() || !vectors.all(|v| self.is_lanes(function.ty(*v))) {
            return false;
        }
        let element = inst.element();
        let is_float = element == Scalar::F32;
        let constant = |at: usize| inst.operands.get(at).is_some_and(|v| function.as_constant(*v).is_some());
        match inst.op {
            Op::Add | Op::Sub | Op::Mul | Op::Select | Op::Vector | Op::Splat => true,
            Op::Div | Op::Sqrt | roundings!() => is_float,
            Op::Neg | Op::Abs => element != Scalar::U32,
            Op::Load | Op::Store | Op::Min | Op::Max => true,
            Op::Fma => is_float && self.cx.caps.has(Feature::FusedFma),
            bits!() => !is_float,
            Op::Shl | Op::Shr => inst.operands.get(1).is_some_and(|count| is_short_shift(function, *count)),
            Op::Convert | Op::Bitcast => inst.operands.first().is_none_or(|v| Some(function.ty(*v)) != inst.ty),
            Op::Extract | Op::Insert => constant(1),
            masks!() | girih_ir::tile_operations!() => true,
            Op::Rem
            | Op::MulHi
            | Op::Mad
            | of_kernels!()
            | task_form!()
            | library!()
            | Op::UniformLoad
            | atomics!()
            | matrix_products!()
            | control!()
            | approximations!()
            | compares!()
            | counts!() => false,
        }
    }
}

/// Whether all lanes are shifted by the same constant, below the width.
fn is_short_shift(function: &Function, count: ValueId) -> bool {
    let Def::Result(inst, _) = function.values[count].def else { return false };
    let inst = &function.insts[inst];
    inst.op == Op::Splat && inst.operands.first().and_then(|v| function.as_constant(*v)).is_some_and(|n| n < 32)
}

/// Whether values go through an operation as they are.
fn is_control(op: Op) -> bool {
    matches!(op, control!() | task_form!())
}

/// No results.
fn void(results: Vec<ValueId>) -> Vec<Vec<ValueId>> {
    results.into_iter().map(|v| vec![v]).collect()
}

/// The operation on each lane; operands of one lane (conditions, positions) serve all.
fn each_lane(b: &mut Builder, inst: &Inst, operands: &[Vec<ValueId>]) -> Vec<ValueId> {
    let ty = inst.ty.and_then(Type::element).map(Type::Scalar);
    let lanes = inst.ty.map_or(1, |t| t.lanes().max(1)) as usize;
    let lane = |i: usize| -> Vec<ValueId> { operands.iter().map(|o| o[if o.len() == 1 { 0 } else { i }]).collect() };
    (0..lanes).flat_map(|i| b.rewrite(inst, inst.op, ty, &lane(i))).collect()
}

/// The element at a position, which need not be constant.
fn extract(b: &mut Builder, ty: Scalar, elements: &[ValueId], position: ValueId) -> ValueId {
    if let ([one], Type::Regs(_, n)) = (elements, b.ty(elements[0])) {
        // A register array that stays together.
        return match b.known(position) {
            Some(_) => b.op(Op::Extract, ty, &[*one, position]),
            None => {
                let elements: Vec<ValueId> = (0..u32::from(n)).map(|i| b.extract(*one, i)).collect();
                choose(b, &elements, position)
            }
        };
    }
    match b.known(position) {
        Some(i) => elements[(i as usize).min(elements.len() - 1)],
        None => choose(b, elements, position),
    }
}

/// The element at a position that is known only at run time.
fn choose(b: &mut Builder, elements: &[ValueId], position: ValueId) -> ValueId {
    let mut result = elements[elements.len() - 1];
    for (i, element) in elements.iter().enumerate().rev().skip(1) {
        let here = b.compare_bits(Op::Eq, position, i as u64);
        result = b.select(here, *element, result);
    }
    result
}

/// The elements with one replaced.
fn insert(b: &mut Builder, elements: &[ValueId], position: ValueId, value: ValueId) -> Vec<ValueId> {
    if let ([one], Type::Regs(s, n)) = (elements, b.ty(elements[0])) {
        if b.known(position).is_some() {
            return vec![b.op(Op::Insert, s, &[*one, position, value])];
        }
        let parts: Vec<ValueId> = (0..u32::from(n)).map(|i| b.extract(*one, i)).collect();
        let parts = insert(b, &parts, position, value);
        return vec![b.op(Op::Vector, Type::Regs(s, n), &parts)];
    }
    let known = b.known(position);
    let mut result = elements.to_vec();
    for (i, element) in result.iter_mut().enumerate() {
        *element = match known {
            Some(p) if p == i as u64 => value,
            Some(_) => *element,
            None => {
                let here = b.compare_bits(Op::Eq, position, i as u64);
                b.select(here, value, *element)
            }
        };
    }
    result
}

/// A conversion, where those from and to `bool` are other operations.
fn convert(b: &mut Builder, to: Scalar, x: ValueId) -> ValueId {
    let from = b.scalar(x);
    match (from, to) {
        _ if from == to => x,
        (_, Scalar::Bool) if ScalarSet::FLOATS8.has(from) => {
            let wider = b.convert(Scalar::F32, x);
            b.compare_bits(Op::Ne, wider, 0)
        }
        (_, Scalar::Bool) => b.compare_bits(Op::Ne, x, 0),
        (Scalar::Bool, _) if ScalarSet::FLOATS8.has(to) => {
            let (one, zero) = (b.f32(1.0), b.f32(0.0));
            let wider = b.select(x, one, zero);
            b.convert(to, wider)
        }
        (Scalar::Bool, _) => {
            let (one, zero) = (b.constant(to, to.one_bits()), b.constant(to, 0));
            b.select(x, one, zero)
        }
        _ => b.convert(to, x),
    }
}

/// The same bits as lanes of another width; lane 0 has the lowest.
fn bitcast(b: &mut Builder, from: Type, to: Option<Type>, lanes: &[ValueId]) -> Vec<ValueId> {
    let to = to.and_then(Type::element).unwrap_or(Scalar::U32);
    let from = from.element().unwrap_or(Scalar::U32);
    let (wide, narrow) = (from.bits(), to.bits());
    if wide == narrow {
        return lanes.iter().map(|x| b.bitcast(to, *x)).collect();
    }
    let lanes: Vec<ValueId> = lanes.iter().map(|x| b.bitcast(from.as_bits(), *x)).collect();
    if wide > narrow {
        return lanes.iter().flat_map(|x| split(b, *x, wide / narrow, to)).collect();
    }
    lanes.chunks((narrow / wide) as usize).map(|parts| join(b, parts, wide, to)).collect()
}

/// The parts of an unsigned integer, the lowest first.
fn split(b: &mut Builder, x: ValueId, parts: u32, to: Scalar) -> Vec<ValueId> {
    let x = at_least_word(b, x);
    (0..parts)
        .map(|i| {
            let part = b.shr_by(x, i * to.bits());
            let bits = b.convert(to.as_bits(), part);
            b.bitcast(to, bits)
        })
        .collect()
}

/// A value from unsigned integers that are its parts, the lowest first.
fn join(b: &mut Builder, parts: &[ValueId], width: u32, to: Scalar) -> ValueId {
    let work = if to.bits() < 32 { Scalar::U32 } else { to.as_bits() };
    let mut bits = b.constant(work, 0);
    for (i, part) in (0..).zip(parts) {
        let part = b.convert(work, *part);
        let part = b.shl_by(part, i * width);
        bits = b.or(bits, part);
    }
    let bits = b.convert(to.as_bits(), bits);
    b.bitcast(to, bits)
}

/// A shorter integer as a word, whose shifts are cheap.
fn at_least_word(b: &mut Builder, x: ValueId) -> ValueId {
    if b.scalar(x).bits() < 32 { b.convert(Scalar::U32, x) } else { x }
}

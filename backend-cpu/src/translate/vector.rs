//! Short vectors: put together and taken apart around memory.

use super::{Form, Result, Translator, not_legal, types};
use cranelift_codegen::ir::{InstBuilder, Type as Machine, Value};
use girih_ir::{Inst, Scalar, Type, ValueId};

/// A vector's element, how many there are, and its machine type.
struct VectorShape {
    element: Scalar,
    lanes: u32,
    machine: Machine,
}

impl VectorShape {
    fn of(ty: Type) -> Option<VectorShape> {
        let machine = types::machine_type(ty)?;
        match ty {
            Type::Vector(element, lanes) => Some(VectorShape { element, lanes: lanes.into(), machine }),
            Type::Scalar(_)
            | Type::Regs(..)
            | Type::Coop(..)
            | Type::Tile(_)
            | Type::Token
            | Type::Term
            | Type::Memory(_) => None,
        }
    }
}

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// `vector`.
    pub(super) fn vector(&mut self, inst: &Inst) -> Result<()> {
        let elements = self.get_all(&inst.operands)?;
        let shape = inst.ty.and_then(VectorShape::of).filter(|s| s.lanes as usize == elements.len());
        let shape = shape.ok_or_else(|| not_legal(inst))?;
        let value = self.join(&shape, &elements);
        self.give(inst, value)
    }

    /// `splat`.
    pub(super) fn splat(&mut self, inst: &Inst) -> Result<()> {
        let element = self.get_all(&inst.operands)?[0];
        let shape = inst.ty.and_then(VectorShape::of).ok_or_else(|| not_legal(inst))?;
        let value = if shape.machine.is_vector() {
            self.b.ins().splat(shape.machine, element)
        } else {
            self.join(&shape, &vec![element; shape.lanes as usize])
        };
        self.give(inst, value)
    }

    /// A vector of these elements.
    fn join(&mut self, shape: &VectorShape, elements: &[Value]) -> Value {
        let width = shape.element.bits();
        if shape.machine.is_vector() {
            let first = self.b.ins().splat(shape.machine, elements[0]);
            let rest = elements.iter().zip(0u8..).skip(1);
            return rest.fold(first, |vector, (element, lane)| self.b.ins().insertlane(vector, *element, lane));
        }
        let mut value = self.widened(shape, elements[0]);
        for (element, lane) in elements.iter().zip(0i64..).skip(1) {
            let wide = self.widened(shape, *element);
            let wide = self.b.ins().ishl_imm(wide, lane * i64::from(width));
            value = self.b.ins().bor(value, wide);
        }
        value
    }

    /// An element's bits in an integer as wide as the vector.
    fn widened(&mut self, shape: &VectorShape, element: Value) -> Value {
        let bits = types::bits(shape.element.bits()).unwrap_or(shape.machine);
        let bits = self.cast(bits, element);
        self.b.ins().uextend(shape.machine, bits)
    }

    /// The vector and the constant position of an `extract` or `insert`.
    fn position(&mut self, inst: &Inst) -> Result<(ValueId, VectorShape, u8)> {
        let (vector, position) = (inst.operands[0], inst.operands[1]);
        let shape = VectorShape::of(self.function.ty(vector));
        let position = self.function.as_constant(position).and_then(|p| u8::try_from(p).ok());
        match (shape, position) {
            (Some(shape), Some(position)) if u32::from(position) < shape.lanes => Ok((vector, shape, position)),
            _not_legal => Err(not_legal(inst)),
        }
    }

    /// `extract`.
    pub(super) fn extract(&mut self, inst: &Inst) -> Result<()> {
        let (vector, shape, position) = self.position(inst)?;
        let vector = self.get(vector)?;
        let value = if shape.machine.is_vector() {
            self.b.ins().extractlane(vector, position)
        } else {
            let element = types::of_scalar(shape.element);
            let shifted = self.b.ins().ushr_imm(vector, i64::from(position) * i64::from(shape.element.bits()));
            let bits = types::bits(shape.element.bits()).ok_or_else(|| not_legal(inst))?;
            let bits = self.b.ins().ireduce(bits, shifted);
            self.cast(element, bits)
        };
        self.give(inst, value)
    }

    /// `insert`.
    pub(super) fn insert(&mut self, inst: &Inst) -> Result<()> {
        let (vector, shape, position) = self.position(inst)?;
        let (vector, element) = (self.get(vector)?, self.get(inst.operands[2])?);
        let value = if shape.machine.is_vector() {
            self.b.ins().insertlane(vector, element, position)
        } else {
            let shift = i64::from(position) * i64::from(shape.element.bits());
            let hole = !((shape.element.mask() as i64) << shift);
            let rest = self.b.ins().band_imm(vector, hole);
            let wide = self.widened(&shape, element);
            let wide = self.b.ins().ishl_imm(wide, shift);
            self.b.ins().bor(rest, wide)
        };
        self.give(inst, value)
    }
}

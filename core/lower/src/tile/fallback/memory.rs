//! Loads, stores and atomic operations of single elements.

use super::super::predication::{access_attrs, atomic_where, both, operation, where_it_holds};
use super::{Block, Fallback};
use crate::rewrite::Rewriter;
use girih_base::diag::{Code, Diagnostic};
use girih_ir::attrs::Order;
use girih_ir::{Attr, AttrKind, Feature, Inst, Op, Scalar, Shape, Type, ValueId};

impl Fallback<'_> {
    /// The register of a value that may be one for all.
    fn register(block: &Block, register: usize) -> ValueId {
        if block.shape.is_some() { block.registers[register] } else { block.registers[0] }
    }

    /// The place of an element. A place that is touched fits: only wrong programs have others.
    fn place(&self, r: &mut Rewriter<'_>, index: &Block, register: usize) -> ValueId {
        let value = index.registers[register];
        let to = if index.element.bits() == 64 && self.caps.has(Feature::Index64) { Scalar::U64 } else { Scalar::U32 };
        if index.element == to { value } else { r.out.op(Op::Convert, to, &[value]) }
    }

    pub(super) fn load(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Vec<Vec<ValueId>> {
        let element = inst.element();
        let shape = inst.ty.and_then(Type::shape);
        let buffer = r.value(self, inst.operands[0]);
        let [index, inside, other] = [1, 2, 3].map(|i| self.block(r, inst.operands[i]));
        let count = shape.map_or(1, Shape::elements);
        let mut registers = vec![];
        for register in 0..self.parts_of(count) {
            let condition = Self::register(&inside, register);
            let filler = Self::register(&other, register);
            let place = self.place(r, &index, register);
            let hints = access_attrs(inst);
            let loaded = r.out.if_else(
                condition,
                &[Type::Scalar(element)],
                |b| {
                    let id = b.op_with(Op::Load, Some(Type::Scalar(element)), &[buffer, place], &hints);
                    let value = b.function.insts[id].results[0];
                    b.end(Op::Yield, &[value]);
                },
                |b| b.end(Op::Yield, &[filler]),
            );
            registers.push(loaded[0]);
        }
        if shape.is_none() {
            registers[0] = self.uniform(r, registers[0], element);
        }
        vec![registers]
    }

    pub(super) fn store(&mut self, r: &mut Rewriter<'_>, inst: &Inst) {
        let element = inst.element();
        let count = inst.ty.and_then(Type::shape).map_or(1, Shape::elements);
        let buffer = r.value(self, inst.operands[0]);
        let [index, value, inside] = [1, 2, 3].map(|i| self.block(r, inst.operands[i]));
        // What others of this program still read is not overwritten before.
        self.barrier(r, true);
        for register in 0..self.parts_of(count) {
            let owner = self.owns(r, count);
            let condition = both(r, owner, Some(Self::register(&inside, register)));
            let place = self.place(r, &index, register);
            let (stored, hints) = (value.registers[register], access_attrs(inst));
            where_it_holds(r, condition, |r| {
                r.out.op_with(Op::Store, Some(Type::Scalar(element)), &[buffer, place, stored], &hints);
            });
        }
        // A program's later accesses see it.
        self.barrier(r, true);
    }

    pub(super) fn atomic(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Vec<Vec<ValueId>>, Diagnostic> {
        let element = inst.element();
        let shape = inst.ty.and_then(Type::shape);
        let count = shape.map_or(1, Shape::elements);
        let exchange = inst.op == Op::TileCompareExchange;
        let op = if exchange { Op::AtomicCompareExchange } else { operation(inst.update()) };
        let girih_ir::ops::Suffix::Scalar(made_for) = op.row().suffix else { return Ok(vec![]) };
        if !made_for.has(element) {
            let message = format!("`{}.{element}` is more than `{}` can do in one step", op.name(), self.caps.name);
            return Err(
                Diagnostic::new(Code::NeedsFeature, inst.span, message).hint("use numbers of 16, 32 or 64 bits")
            );
        }
        let buffer = r.value(self, inst.operands[0]);
        let [index, first, second] = [1, 2, 3].map(|i| self.block(r, inst.operands[i]));
        let mut attrs: Vec<Attr> =
            inst.attrs.iter().filter(|a| matches!(a.kind(), AttrKind::Order | AttrKind::Scope)).cloned().collect();
        if !self.caps.has(Feature::OrderedAtomics) {
            // Where only the location itself is ordered, a program's barriers are all there is.
            attrs.retain(|a| !matches!(a, Attr::Order(Order::Acquire | Order::Release | Order::AcquireRelease)));
        }
        self.barrier(r, true);
        let inside = self.block(r, inst.operands[if exchange { 4 } else { 3 }]);
        let mut olds = vec![];
        for register in 0..self.parts_of(count) {
            let owner = self.owns(r, count);
            let condition = both(r, owner, Some(Self::register(&inside, register)));
            let mut operands = vec![buffer, self.place(r, &index, register), first.registers[register]];
            if exchange {
                operands.push(second.registers[register]);
            }
            olds.push(atomic_where(&mut r.out, condition, op, element, (&operands, &attrs)));
        }
        self.barrier(r, true);
        if shape.is_none() {
            olds[0] = self.uniform(r, olds[0], element);
        } else if count < u64::from(self.threads) {
            // Those who repeat an element have not done it.
            let block = Block { registers: olds.clone(), element, shape };
            let staged = self.stage(r, &[&block]);
            let at = self.element_at(r, 0, count);
            olds[0] = self.fetch(r, staged[0], at);
        }
        Ok(vec![olds])
    }
}

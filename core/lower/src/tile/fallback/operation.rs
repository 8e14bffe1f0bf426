//! Which operation becomes what; arithmetic, and operations that only move elements.

use super::super::gather::{digit, digits, source};
use super::{Block, Fallback};
use crate::rewrite::Rewriter;
use girih_base::diag::Diagnostic;
use girih_ir::ops::Family;
use girih_ir::{Attr, Inst, Op, Scalar, Shape, Type, ValueId};
use girih_runtime::assertion;

/// What stands for each result.
type Written = Result<Option<Vec<Vec<ValueId>>>, Diagnostic>;

impl Fallback<'_> {
    pub(super) fn operation(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Written {
        if inst.op.row().family != Family::Tile {
            return Ok(if matches!(inst.ty, Some(Type::Tile(_))) && inst.op.lifts() {
                Some(self.lifted(r, inst))
            } else {
                None
            });
        }
        match inst.op {
            Op::TileIota => {
                let element = inst.element();
                let count = inst.ty.and_then(Type::shape).map_or(1, Shape::elements);
                let number = |s: &mut Self, r: &mut Rewriter<'_>, register| {
                    let at = s.element_at(r, register, count);
                    if element == Scalar::U32 { at } else { r.out.op(Op::Convert, element, &[at]) }
                };
                let registers = (0..self.parts_of(count)).map(|register| number(self, r, register)).collect();
                Ok(Some(vec![registers]))
            }
            Op::TileSplat => {
                let value = self.block(r, inst.operands[0]).registers[0];
                let count = inst.ty.and_then(Type::shape).map_or(1, Shape::elements);
                Ok(Some(vec![vec![value; self.parts_of(count)]]))
            }
            Op::TileReshape | Op::TileHint => Ok(Some(vec![self.block(r, inst.operands[0]).registers])),
            Op::TileBroadcast | Op::TilePermute | Op::TileJoin | Op::TileSplit | Op::TileCat | Op::TileGather => {
                Ok(Some(self.moved(r, inst)))
            }
            Op::TileHistogram => self.histogram(r, inst).map(Some),
            Op::TileMap => self.map(r, inst).map(Some),
            Op::TileReduce => self.reduce(r, inst).map(Some),
            Op::TileScan => self.scan(r, inst).map(Some),
            Op::TileDot => self.dot(r, inst).map(Some),
            Op::TileLoad => Ok(Some(self.load(r, inst))),
            Op::TileStore => {
                self.store(r, inst);
                Ok(Some(vec![]))
            }
            Op::TileAtomic | Op::TileCompareExchange => self.atomic(r, inst).map(Some),
            Op::TileAssert => {
                let (condition, code) = (self.block(r, inst.operands[0]), assertion(&inst.text()));
                for register in condition.registers {
                    let fails = r.out.op(Op::Not, Scalar::Bool, &[register]);
                    r.out.op_with(Op::TrapIf, None, &[fails], &[Attr::Code(code)]);
                }
                Ok(Some(vec![]))
            }
            // Nobody listens to a device, and nothing depends on a promise.
            Op::TilePrint | Op::TileAssume => Ok(Some(vec![])),
            other => unreachable!("`{}` is not of the tile family", other.name()),
        }
    }

    /// Arithmetic, register by register.
    fn lifted(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Vec<Vec<ValueId>> {
        let operands: Vec<Block> = inst.operands.iter().map(|v| self.block(r, *v)).collect();
        let registers = self.parts_of(inst.ty.and_then(Type::shape).map_or(1, Shape::elements));
        let mut out = vec![];
        for register in 0..registers {
            let values: Vec<ValueId> = operands.iter().map(|block| block.registers[register]).collect();
            let id = r.out.op_with(inst.op, Some(Type::Scalar(inst.element())), &values, &inst.attrs);
            out.push(r.out.function.insts[id].results[0]);
        }
        vec![out]
    }

    /// Elements that come from elsewhere: each result's register reads its place.
    fn moved(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Vec<Vec<ValueId>> {
        let sources = if inst.op == Op::TileGather { 1 } else { inst.operands.len() };
        let blocks: Vec<Block> = inst.operands.iter().map(|v| self.block(r, *v)).collect();
        let staged = self.stage(r, &blocks.iter().take(sources).collect::<Vec<_>>());
        let mut results = vec![];
        for (which, result) in inst.results.iter().enumerate() {
            let to = r.old.ty(*result).shape();
            let count = to.map_or(1, Shape::elements);
            let mut registers = vec![];
            for register in 0..self.parts_of(count) {
                let at = self.element_at(r, register, count);
                let value = match inst.op {
                    Op::TileBroadcast | Op::TilePermute => {
                        let from = self.source_of(r, inst, at, blocks[0].shape, to);
                        self.fetch(r, staged[0], from)
                    }
                    Op::TileSplit => {
                        let (one, which) = (r.out.u32(1), r.out.u32(which as u32));
                        let twice = r.out.op(Op::Shl, Scalar::U32, &[at, one]);
                        let from = r.out.op(Op::Add, Scalar::U32, &[twice, which]);
                        self.fetch(r, staged[0], from)
                    }
                    Op::TileJoin => {
                        let one = r.out.u32(1);
                        let (from, odd) =
                            (r.out.op(Op::Shr, Scalar::U32, &[at, one]), r.out.op(Op::And, Scalar::U32, &[at, one]));
                        let (a, b) = (self.fetch(r, staged[0], from), self.fetch(r, staged[1], from));
                        let first = r.out.op(Op::Ne, Scalar::U32, &[odd, one]);
                        r.out.op(Op::Select, blocks[0].element, &[first, a, b])
                    }
                    Op::TileCat => {
                        let half = r.out.u32((count / 2) as u32);
                        let mask = r.out.u32((count / 2 - 1) as u32);
                        let from = r.out.op(Op::And, Scalar::U32, &[at, mask]);
                        let (a, b) = (self.fetch(r, staged[0], from), self.fetch(r, staged[1], from));
                        let first = r.out.op(Op::Lt, Scalar::U32, &[at, half]);
                        r.out.op(Op::Select, blocks[0].element, &[first, a, b])
                    }
                    Op::TileGather => self.gathered(r, inst, at, (&blocks, register), staged[0]),
                    other => unreachable!("`{}` moves no elements", other.name()),
                };
                registers.push(value);
            }
            // A single number is the same in all invocations, and has to be known to be.
            if to.is_none() {
                registers[0] = self.uniform(r, registers[0], blocks[0].element);
            }
            results.push(registers);
        }
        results
    }

    /// Where the element of a broadcast or permuted tile comes from.
    fn source_of(
        &self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        at: ValueId,
        from: Option<Shape>,
        to: Option<Shape>,
    ) -> ValueId {
        let (from, to) = (digits(from), digits(to));
        let permuted = |axes: Vec<u32>| axes.into_iter().map(|axis| axis as usize).collect();
        let axes: Vec<usize> =
            if inst.op == Op::TilePermute { permuted(inst.axes().to_vec()) } else { (0..to.len()).collect() };
        let mut place = r.out.u32(0);
        for (dimension, axis) in axes.into_iter().enumerate() {
            let (shift, length) = from[axis];
            if length == 1 {
                continue;
            }
            let digit = digit(&mut r.out, at, to[dimension]);
            let shift = r.out.u32(shift);
            let moved = r.out.op(Op::Shl, Scalar::U32, &[digit, shift]);
            place = r.out.op(Op::Add, Scalar::U32, &[place, moved]);
        }
        place
    }

    fn gathered(
        &mut self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        at: ValueId,
        (blocks, register): (&[Block], usize),
        staged: super::Staged,
    ) -> ValueId {
        let index = blocks[1].registers[register];
        let (place, inside) = source(&mut r.out, inst, (index, at), (blocks[0].shape, blocks[1].shape));
        let value = self.fetch(r, staged, place);
        let nothing = r.out.zero(Type::Scalar(blocks[0].element));
        r.out.op(Op::Select, blocks[0].element, &[inside, value, nothing])
    }
}

//! Arithmetic register by register, numbers counted up and repeated, and operations that only move registers.

use super::super::assign_layouts::{LayoutId, is_elementwise, view};
use super::{Distributed, Made, Registers, impossible};
use crate::rewrite::Rewriter;
use girih_base::hash::FastMap;
use girih_ir::{Attr, Inst, Op, Scalar, Type, ValueId};
use girih_runtime::assertion;

impl Distributed<'_> {
    /// The layouts in which an operation's first result is written: its home, or all in which it is wanted.
    fn written_in(&self, inst: &Inst) -> Vec<LayoutId> {
        let home = inst.results.iter().find_map(|v| self.plan.home[*v]);
        match home {
            Some(home) => vec![home],
            None => {
                let mut all: Vec<LayoutId> =
                    inst.results.iter().flat_map(|v| self.plan.demands[*v].iter().copied()).collect();
                all.sort_unstable();
                all.dedup();
                all
            }
        }
    }

    /// An operation on elements, or one that shows them in another way.
    pub(super) fn elements(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        for layout in self.written_in(inst) {
            let results = self.in_layout(r, inst, layout)?;
            for (value, registers) in inst.results.iter().zip(results) {
                if self.plan.home[*value].is_some() {
                    self.hold(r, *value, layout, registers)?;
                } else {
                    self.held.insert((*value, layout), registers);
                }
            }
        }
        Ok(())
    }

    fn in_layout(&mut self, r: &mut Rewriter<'_>, inst: &Inst, layout: LayoutId) -> Made<Vec<Registers>> {
        if is_elementwise(inst) {
            return self.computed(r, inst, layout);
        }
        let count = self.plan.layouts[layout].count();
        if let Some(back) = view(r.old, inst) {
            let shown = self.plan.layouts[layout].clone();
            let from = shown.renamed(&*back);
            let from = self.plan.layouts.iter().position(|l| *l == from);
            let from = from.ok_or_else(|| impossible("a view of a tile that is in no layout"))?;
            let registers = self.registers(r, inst.operands[0], from)?;
            return Ok(vec![(0..count).map(|register| registers[shown.renamed_part(register, &*back)]).collect()]);
        }
        match inst.op {
            Op::TileIota => Ok(vec![self.counted(r, layout, inst.element())]),
            // A tile of one element is like a number.
            Op::TileSplat | Op::TileReshape => {
                let value = r.value(self, inst.operands[0]);
                let value = match self.fragment_type(layout, inst.element()) {
                    Some(ty) => r.out.op(Op::CoopSplat, ty, &[value]),
                    None => value,
                };
                Ok(vec![vec![value; count].into()])
            }
            Op::TileJoin => {
                let half = self.plan.layouts[layout].renamed(&|bit| bit.checked_sub(1));
                let both = self.operands_in(r, inst, half)?;
                // The bit that tells which tile it is of is the first one of a register.
                Ok(vec![(0..count).map(|register| both[register & 1][register >> 1]).collect()])
            }
            Op::TileSplit => {
                let mut whole = self.plan.layouts[layout].renamed(&|bit| Some(bit + 1));
                whole.registers.insert(0, 0);
                let both = self.operands_in(r, inst, whole)?;
                let half = |which: usize| (0..count).map(|register| both[0][2 * register + which]).collect();
                Ok(vec![half(0), half(1)])
            }
            Op::TileCat => {
                let bits = self.plan.layouts[layout].registers.len() - 1;
                let top = self.plan.layouts[layout].registers[bits];
                let half = self.plan.layouts[layout].renamed(&move |bit| (bit < top).then_some(bit));
                let both = self.operands_in(r, inst, half)?;
                let low = (1 << bits) - 1;
                Ok(vec![(0..count).map(|register| both[register >> bits][register & low]).collect()])
            }
            _others => Err(impossible("an operation on tiles of another kind")),
        }
    }

    fn operands_in(
        &mut self,
        r: &mut Rewriter<'_>,
        inst: &Inst,
        layout: super::super::layout::Layout,
    ) -> Made<Vec<Registers>> {
        let id = self.plan.layouts.iter().position(|l| *l == layout);
        let id = id.ok_or_else(|| impossible("a tile of halves in no layout"))?;
        inst.operands.iter().map(|v| self.registers(r, *v, id)).collect()
    }

    /// The numbers of elements.
    pub(super) fn counted(&mut self, r: &mut Rewriter<'_>, layout: LayoutId, element: Scalar) -> Registers {
        let base = self.bases[layout];
        let base = if element == Scalar::U32 { base } else { r.out.op(Op::Convert, element, &[base]) };
        let numbers: Vec<u32> =
            (0..self.plan.layouts[layout].count()).map(|p| self.plan.layouts[layout].element(p)).collect();
        numbers
            .into_iter()
            .map(|number| {
                let number = r.out.constant(element, number.into());
                r.out.op(Op::Add, element, &[base, number])
            })
            .collect()
    }

    /// Arithmetic, register by register; what has the same operands is written once.
    fn computed(&mut self, r: &mut Rewriter<'_>, inst: &Inst, layout: LayoutId) -> Made<Vec<Registers>> {
        let mut operands = vec![];
        for operand in &inst.operands {
            let tile = r.old.ty(*operand).shape().is_some();
            operands.push((tile, self.registers(r, *operand, layout)?));
        }
        let mut results: Vec<Vec<ValueId>> = vec![vec![]; inst.results.len()];
        let mut known: FastMap<Vec<ValueId>, Vec<ValueId>> = FastMap::default();
        for register in 0..self.plan.layouts[layout].count() {
            let values: Vec<ValueId> = operands.iter().map(|(tile, p)| p[if *tile { register } else { 0 }]).collect();
            let made = match known.get(&values) {
                Some(made) => made.clone(),
                None => {
                    let made = if inst.op == Op::TileMap {
                        self.written_out(r, inst.regions[0], &values)?
                    } else {
                        let id = r.out.op_with(inst.op, Some(Type::Scalar(inst.element())), &values, &inst.attrs);
                        r.out.function.insts[id].results.to_vec()
                    };
                    known.insert(values, made.clone());
                    made
                }
            };
            results.iter_mut().zip(made).for_each(|(list, value)| list.push(value));
        }
        Ok(results.into_iter().map(Registers::from).collect())
    }

    pub(super) fn assertion(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        let registers = if r.old.ty(inst.operands[0]).shape().is_some() {
            self.at_home(r, inst.operands[0])?.1
        } else {
            [r.value(self, inst.operands[0])].into()
        };
        let code = assertion(&inst.text());
        for register in registers.iter() {
            let fails = r.out.op(Op::Not, Scalar::Bool, &[*register]);
            r.out.op_with(Op::TrapIf, None, &[fails], &[Attr::Code(code)]);
        }
        Ok(())
    }
}

//! Regions as blocks: what a region yields are parameters of the block behind it, what a loop carries those of its head.

use super::{Form, Result, Translator, not_legal};
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value};
use cranelift_frontend::Switch;
use girih_ir::{Def, Inst, Op, RegionId, ValueId};

/// Iterations that take no time worth mentioning.
const FEW: u64 = 4096;

/// A loop that is being translated.
#[derive(Clone, Debug)]
pub(super) struct LoopFrame {
    head: Block,
    exit: Block,
    params: Vec<ValueId>,
}

/// Values as a jump gives them.
pub(crate) fn arguments(values: &[Value]) -> Vec<BlockArg> {
    values.iter().map(|v| BlockArg::Value(*v)).collect()
}

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// A block with a parameter for each of these values.
    fn block_for(&mut self, values: &[ValueId]) -> Result<Block> {
        let block = self.b.create_block();
        for value in values {
            let ty = self.machine_type(*value)?;
            self.b.append_block_param(block, ty);
        }
        Ok(block)
    }

    /// Goes on in a block whose parameters are these values.
    fn enter(&mut self, block: Block, values: &[ValueId]) {
        self.b.switch_to_block(block);
        let params = self.b.block_params(block).to_vec();
        for (value, param) in values.iter().zip(params) {
            self.set(*value, param);
        }
    }

    /// Jumps to a block with the values of these.
    fn jump(&mut self, block: Block, values: &[ValueId]) -> Result<()> {
        let values = self.get_all(values)?;
        self.b.ins().jump(block, &arguments(&values));
        Ok(())
    }

    /// A region of `if` or `switch`, whose `yield` goes to `merge`.
    fn arm(&mut self, region: RegionId, block: Block, merge: Block) -> Result<()> {
        self.b.switch_to_block(block);
        self.merges.push(merge);
        self.region(region)?;
        self.merges.pop();
        self.has_left = false;
        Ok(())
    }

    /// `if`.
    pub(super) fn if_(&mut self, inst: &Inst) -> Result<()> {
        let [then, otherwise] = inst.regions[..] else { return Err(not_legal(inst)) };
        let condition = self.get(inst.operands[0])?;
        if let Some(bits) = self.known(condition) {
            return self.only(inst, if bits & 1 == 1 { then } else { otherwise });
        }
        let (yes, no) = (self.b.create_block(), self.b.create_block());
        let merge = self.block_for(&inst.results)?;
        self.b.ins().brif(condition, yes, &[], no, &[]);
        self.b.seal_block(yes);
        self.b.seal_block(no);
        self.arm(then, yes, merge)?;
        self.arm(otherwise, no, merge)?;
        self.b.seal_block(merge);
        self.enter(merge, &inst.results);
        Ok(())
    }

    /// The one region of a choice that is taken, where the choice stands.
    fn only(&mut self, inst: &Inst, region: RegionId) -> Result<()> {
        let merge = self.block_for(&inst.results)?;
        self.merges.push(merge);
        self.region(region)?;
        self.merges.pop();
        self.has_left |= self.function.terminator(region).is_none_or(|last| last.op != Op::Yield);
        if self.has_left {
            return Ok(());
        }
        self.b.seal_block(merge);
        self.enter(merge, &inst.results);
        Ok(())
    }

    /// `switch`.
    pub(super) fn switch(&mut self, inst: &Inst) -> Result<()> {
        let value = self.get(inst.operands[0])?;
        if let (Some(bits), Some(default)) = (self.known(value), inst.regions.last()) {
            let mask = inst.element().mask();
            let is_of = |cases: &&Vec<i64>| cases.iter().any(|case| *case as u64 & mask == bits & mask);
            let cases = inst.cases();
            let position = cases.iter().position(|cases| is_of(&cases));
            return self.only(inst, position.map_or(*default, |position| inst.regions[position]));
        }
        let merge = self.block_for(&inst.results)?;
        let blocks: Vec<Block> = inst.regions.iter().map(|_| self.b.create_block()).collect();
        let Some(default) = blocks.last() else { return Err(not_legal(inst)) };
        let mask = inst.element().mask();
        let mut switch = Switch::new();
        for (cases, block) in inst.cases().iter().zip(&blocks) {
            for case in cases {
                switch.set_entry(u128::from(*case as u64 & mask), *block);
            }
        }
        switch.emit(&mut self.b, value, *default);
        for (region, block) in inst.regions.iter().zip(&blocks) {
            self.b.seal_block(*block);
            self.arm(*region, *block, merge)?;
        }
        self.b.seal_block(merge);
        self.enter(merge, &inst.results);
        Ok(())
    }

    /// `yield`.
    pub(super) fn yield_(&mut self, inst: &Inst) -> Result<()> {
        let merge = *self.merges.last().ok_or_else(|| not_legal(inst))?;
        self.jump(merge, &inst.operands)
    }

    /// `loop`.
    pub(super) fn loop_(&mut self, inst: &Inst) -> Result<()> {
        let [body] = inst.regions[..] else { return Err(not_legal(inst)) };
        let params = self.function.regions[body].params.clone();
        let (head, exit) = (self.block_for(&params)?, self.block_for(&inst.results)?);
        self.jump(head, &inst.operands)?;
        self.enter(head, &params);
        F::poll(self, inst)?;
        self.loops.push(LoopFrame { head, exit, params });
        self.region(body)?;
        self.has_left = false;
        self.loops.pop();
        self.b.seal_block(head);
        self.b.seal_block(exit);
        self.enter(exit, &inst.results);
        Ok(())
    }

    /// Whether a loop counts up to a small number that is known, and holds no other one: it ends before anybody could wait for it.
    pub(crate) fn ends_soon(&self, repeats: &Inst) -> bool {
        let f = self.function;
        let [body] = repeats.regions[..] else { return false };
        let Some(counter) = f.regions[body].params.first() else { return false };
        let (mut goes_on, mut takes_long) = (0, false);
        f.walk(body, &mut |_, inst| {
            goes_on += u32::from(inst.op == Op::Continue);
            takes_long |= matches!(inst.op, Op::Loop | Op::While | Op::Call);
        });
        let counts = f.terminator(body).filter(|last| last.op == Op::Continue).is_some_and(|last| {
            let Def::Result(next, _) = f.values[last.operands[0]].def else { return false };
            let next = &f.insts[next];
            next.op == Op::Add && next.operands[0] == *counter && f.as_constant(next.operands[1]) == Some(1)
        });
        let few = self.most_counted(*counter, body).is_some_and(|most| most < FEW);
        few && counts && goes_on == 1 && !takes_long
    }

    fn innermost(&self, inst: &Inst) -> Result<LoopFrame> {
        self.loops.last().cloned().ok_or_else(|| not_legal(inst))
    }

    /// `break`.
    pub(super) fn break_(&mut self, inst: &Inst) -> Result<()> {
        let frame = self.innermost(inst)?;
        self.jump(frame.exit, &inst.operands)
    }

    /// `continue`.
    pub(super) fn continue_(&mut self, inst: &Inst) -> Result<()> {
        let frame = self.innermost(inst)?;
        self.jump(frame.head, &inst.operands)
    }

    /// `while`.
    pub(super) fn while_(&mut self, inst: &Inst) -> Result<()> {
        let frame = self.innermost(inst)?;
        let condition = self.get(inst.operands[0])?;
        let next = self.get_all(&inst.operands[1..])?;
        let now = self.get_all(&frame.params)?;
        self.b.ins().brif(condition, frame.head, &arguments(&next), frame.exit, &arguments(&now));
        Ok(())
    }

    /// `return`.
    pub(super) fn return_(&mut self, inst: &Inst) -> Result<()> {
        let results = self.get_all(&inst.operands)?;
        F::leave(self, &results)
    }
}

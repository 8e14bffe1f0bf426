//! Tiles in buffers: loads, stores and atomic operations of a program. An element whose `inside` does not hold touches no memory; one
//! that lies outside of its buffer is a fault.

use super::activation::Handle;
use super::checks::Access;
use super::code::{Slot, Step};
use super::fault::Fault;
use super::machine::Machine;
use super::memory::{read, write};
use girih_base::diag::Code;
use girih_ir::attrs::{Order, Update};
use girih_ir::eval::{self, int_value};
use girih_ir::ops::Op;
use girih_ir::types::Scalar;

/// What an access of a tile reaches: for each element its byte, if it is inside.
struct Places {
    handle: Handle,
    bytes: usize,
    at: Vec<Option<u64>>,
}

impl Machine<'_> {
    /// A value of element `i`, or the only one.
    pub(super) fn element_of(&self, slot: Slot, i: usize) -> u64 {
        self.activation.values[slot.offset + if slot.components > 1 { i } else { 0 }]
    }

    fn places_of(&mut self, step: &Step, count: usize, inside: Option<Slot>, access: Access) -> Result<Places, Fault> {
        let inst = self.inst(step);
        let function = &self.program.module.functions[self.activation.function];
        let index_type = function.ty(inst.operands[1]).element().unwrap_or(Scalar::I64);
        let handle = self.handle(step, 0);
        let bytes = u64::from(inst.element().bytes());
        let elements = handle.bytes / bytes;
        let mut at = Vec::with_capacity(count);
        for i in 0..count {
            if inside.is_some_and(|inside| self.element_of(inside, i) == 0) {
                at.push(None);
                continue;
            }
            let index = int_value(self.element_of(step.operands[1], i), index_type);
            if index < 0 || index >= i128::from(elements) {
                return Err(self
                    .outside(step, 0, 0, index, elements, bytes)
                    .hint("a mask keeps elements outside of a buffer from being touched")
                    .into());
            }
            let place = handle.start + index as u64 * bytes;
            self.touch(step, 0, handle, 0, (place, bytes), access)?;
            at.push(Some(place));
        }
        Ok(Places { handle, bytes: bytes as usize, at })
    }

    pub(super) fn tile_load(&mut self, step: &Step) -> Result<(), Fault> {
        let (result, inside, other) = (step.results[0], step.operands[2], step.operands[3]);
        let places = self.places_of(step, result.components, Some(inside), Access::of_load(self.inst(step)))?;
        for (i, at) in places.at.iter().enumerate() {
            self.activation.values[result.offset + i] = match at {
                Some(at) => read(&self.memories.buffers[places.handle.buffer], *at as usize, places.bytes),
                None => self.element_of(other, i),
            };
        }
        self.clear_origins(step);
        Ok(())
    }

    pub(super) fn tile_store(&mut self, step: &Step) -> Result<(), Fault> {
        let (value, inside) = (step.operands[2], step.operands[3]);
        let places = self.places_of(step, value.components, Some(inside), Access::Write)?;
        for (i, at) in places.at.iter().enumerate() {
            if let Some(at) = at {
                let bits = self.activation.values[value.offset + i];
                write(&mut self.memories.buffers[places.handle.buffer], *at as usize, places.bytes, bits);
            }
        }
        if self.checks.is_some() { self.written_once(step, &places) } else { Ok(()) }
    }

    /// After a store: what stands at each element's place is that element, or two went to one place.
    fn written_once(&self, step: &Step, places: &Places) -> Result<(), Fault> {
        let (buffer, mask) = (&self.memories.buffers[places.handle.buffer], self.inst(step).element().mask());
        for (i, at) in places.at.iter().enumerate() {
            let Some(at) = at else { continue };
            if read(buffer, *at as usize, places.bytes) & mask != self.element_of(step.operands[2], i) & mask {
                let byte = at - places.handle.start;
                let what = format!(
                    "element {i} is written to byte {byte} of {}, and so is a later one that differs",
                    self.operand(step, 0)
                );
                let hint = "mask off all but one of the stores, or use `tile.atomic`";
                return Err(self.fault_of(Code::Race, step, 0, what).hint(hint).into());
            }
        }
        Ok(())
    }

    pub(super) fn tile_atomic(&mut self, step: &Step) -> Result<(), Fault> {
        let result = step.results[0];
        let exchange = step.op == Op::TileCompareExchange;
        let inside = step.operands[if exchange { 4 } else { 3 }];
        let places = self.places_of(step, result.components, Some(inside), Access::AtomicWrite)?;
        if let (Order::Acquire | Order::AcquireRelease, Some(checks)) = (self.inst(step).order(), &mut self.checks) {
            checks.acquire();
        }
        let (element, update) = (self.inst(step).element(), self.inst(step).update());
        for (i, at) in places.at.iter().enumerate() {
            let Some(at) = at else {
                self.activation.values[result.offset + i] = 0;
                continue;
            };
            let operand = |k: usize| self.element_of(step.operands[k], i);
            let old = read(&self.memories.buffers[places.handle.buffer], *at as usize, places.bytes);
            let new = match (exchange, operation(update)) {
                (true, _) if old == operand(2) => operand(3),
                (true, _) => old,
                (false, Some(op)) => eval::scalar(op, element, element, &[old, operand(2)]).unwrap_or(old),
                (false, None) => operand(2),
            };
            write(&mut self.memories.buffers[places.handle.buffer], *at as usize, places.bytes, new);
            self.activation.values[result.offset + i] = old;
        }
        self.clear_origins(step);
        Ok(())
    }

    /// `tile.assume` and `tile.assert`: in a run that looks for faults, a promise is held to, too.
    pub(super) fn tile_condition(&mut self, step: &Step) -> Result<(), Fault> {
        let slot = step.operands[0];
        let wrong = (0..slot.components).find(|i| self.activation.values[slot.offset + i] == 0);
        let Some(element) = wrong else { return Ok(()) };
        let inst = self.inst(step);
        let at = if slot.components > 1 { format!(" for element {element}") } else { String::new() };
        if step.op == Op::TileAssert {
            let text = inst.text();
            let said = if text.is_empty() { String::new() } else { format!(": {text}") };
            return Err(self.fault_of(Code::AssertionFailed, step, 0, format!("the assertion fails{at}{said}")).into());
        }
        if self.checks.is_none() {
            return Ok(());
        }
        Err(self.fault_of(Code::BrokenPromise, step, 0, format!("an assumption does not hold{at}")).into())
    }
}

/// What an update computes; none if it only writes.
fn operation(update: Update) -> Option<Op> {
    match update {
        Update::Add => Some(Op::Add),
        Update::Min => Some(Op::Min),
        Update::Max => Some(Op::Max),
        Update::And => Some(Op::And),
        Update::Or => Some(Op::Or),
        Update::Xor => Some(Op::Xor),
        Update::Exchange => None,
    }
}

//! The shared-memory fallback: the elements of a tile lie in order over the invocations of a workgroup, and move among
//! them through shared memory.
//!
//! Element e of a tile of n elements is with invocation e mod W of a workgroup of W, as its register e / W; a tile of fewer elements than
//! invocations is repeated. All tiles have the same layout, so arithmetic works register by register and a reshape does nothing. Calls have been inlined before.
//!
//! Invariant: control flow depends only on numbers that are the same in the whole workgroup, because a number that is loaded, reduced or updated
//! comes from one place of shared memory. So all invocations reach every barrier.
//!
//! | what | see |
//! |---|---|
//! | registers, shared memory, regions written out | this file |
//! | which operation becomes what | [`operation`] |
//! | loads, stores, atomics | [`memory`] |
//! | regions on elements, products | [`combine`] |

mod combine;
mod memory;
mod operation;

use super::MOST_REGISTERS;
use super::predication::where_it_holds;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::attrs::Spaces;
use girih_ir::{Attr, Caps, Function, Inst, Op, RegionId, Scalar, Shape, Space, Type, ValueId};

/// The kernel for its threads.
pub fn run(kernel: &Function, threads: u32, caps: &Caps) -> Result<Function, Diagnostic> {
    too_large(kernel, threads)?;
    Rewriter::run(kernel, &mut Fallback { threads, caps })
}

/// Refuses tiles of which an invocation would hold too much.
fn too_large(kernel: &Function, threads: u32) -> Result<(), Diagnostic> {
    let registers = |v: ValueId| kernel.ty(v).shape().map_or(1, Shape::elements) / u64::from(threads);
    let mut wrong = None;
    kernel.walk(kernel.body, &mut |_, inst| {
        if wrong.is_none()
            && let Some(value) = inst.results.iter().copied().find(|v| registers(*v) > MOST_REGISTERS.into())
        {
            let message = format!(
                "`{}` is distributed over {threads} invocations, {} elements each",
                kernel.ty(value),
                registers(value)
            );
            let hint =
                format!("take smaller blocks or more warps: an invocation holds {MOST_REGISTERS} elements at most");
            wrong = Some(Diagnostic::new(Code::OverLimit, inst.span, message).hint(hint));
        }
    });
    wrong.map_or(Ok(()), Err)
}

struct Fallback<'c> {
    /// Invocations of a workgroup, a power of two.
    threads: u32,
    caps: &'c Caps,
}

/// A value of the old function: its registers, and how many elements it has.
struct Block {
    registers: Vec<ValueId>,
    element: Scalar,
    shape: Option<Shape>,
}

impl Block {
    fn count(&self) -> u64 {
        self.shape.map_or(1, Shape::elements)
    }
}

/// A tile in shared memory.
#[derive(Clone, Copy)]
struct Staged {
    handle: ValueId,
    element: Scalar,
}

/// What truth values are in memory.
fn stored(element: Scalar) -> Scalar {
    if element == Scalar::Bool { Scalar::U32 } else { element }
}

impl Fallback<'_> {
    /// How many registers a tile of so many elements has.
    fn parts_of(&self, count: u64) -> usize {
        (count / u64::from(self.threads)).max(1) as usize
    }

    fn block(&mut self, r: &mut Rewriter<'_>, old: ValueId) -> Block {
        let ty = r.old.ty(old);
        let registers = r.values(self, old).to_vec();
        Block { registers, element: ty.element().unwrap_or(Scalar::U32), shape: ty.shape() }
    }

    /// The element that a register of a tile of `count` is.
    fn element_at(&self, r: &mut Rewriter<'_>, register: usize, count: u64) -> ValueId {
        let own = r.out.op_with(Op::LocalIndex, None, &[], &[]);
        let own = r.out.function.insts[own].results[0];
        if count < u64::from(self.threads) {
            let mask = r.out.u32(count as u32 - 1);
            return r.out.op(Op::And, Scalar::U32, &[own, mask]);
        }
        let first = r.out.u32(register as u32 * self.threads);
        r.out.op(Op::Add, Scalar::U32, &[own, first])
    }

    /// Whether this invocation is the one that an element belongs to; none if every invocation has its own.
    fn owns(&self, r: &mut Rewriter<'_>, count: u64) -> Option<ValueId> {
        if count >= u64::from(self.threads) {
            return None;
        }
        let own = r.out.op_with(Op::LocalIndex, None, &[], &[]);
        let own = r.out.function.insts[own].results[0];
        let count = r.out.u32(count as u32);
        Some(r.out.op(Op::Lt, Scalar::U32, &[own, count]))
    }

    fn barrier(&self, r: &mut Rewriter<'_>, global: bool) {
        r.out.op_with(Op::Barrier, None, &[], &[Attr::Spaces(Spaces { global, shared: true })]);
    }

    /// Room in shared memory. Rooms of one number lie over each other: barriers keep their uses apart.
    fn room(&mut self, r: &mut Rewriter<'_>, element: Scalar, count: u64, number: u32) -> Staged {
        let length = r.out.u32(count as u32);
        let handle = r.out.function.memory(None, Space::Shared, Type::Scalar(stored(element)), length);
        if let Some(id) = r.out.function.memories.ids().next_back() {
            let memory = &mut r.out.function.memories[id];
            (memory.group, memory.align) = (number + 1, 16);
        }
        Staged { handle, element }
    }

    fn put(&mut self, r: &mut Rewriter<'_>, to: Staged, index: ValueId, value: ValueId) {
        let value = if to.element == Scalar::Bool { r.out.op(Op::Convert, Scalar::U32, &[value]) } else { value };
        r.out.store(stored(to.element), to.handle, index, value);
    }

    fn fetch(&mut self, r: &mut Rewriter<'_>, from: Staged, index: ValueId) -> ValueId {
        let value = r.out.load(stored(from.element), from.handle, index);
        if from.element == Scalar::Bool { r.out.op(Op::Convert, Scalar::Bool, &[value]) } else { value }
    }

    /// Brings tiles into shared memory, where every invocation sees all of them.
    fn stage(&mut self, r: &mut Rewriter<'_>, blocks: &[&Block]) -> Vec<Staged> {
        // Whoever still reads what lies there comes first.
        self.barrier(r, false);
        let mut out = vec![];
        for (number, block) in (0..).zip(blocks) {
            let count = block.count();
            let staged = self.room(r, block.element, count, number);
            let owner = self.owns(r, count);
            where_it_holds(r, owner, |r| {
                for (register, value) in block.registers.iter().enumerate() {
                    let index = self.element_at(r, register, count);
                    self.put(r, staged, index, *value);
                }
            });
            out.push(staged);
        }
        self.barrier(r, false);
        out
    }

    /// A number that every invocation has, as one that is known to be the same in all.
    fn uniform(&mut self, r: &mut Rewriter<'_>, value: ValueId, element: Scalar) -> ValueId {
        self.barrier(r, false);
        let room = self.room(r, element, 1, ROOMS);
        let first = self.owns(r, 1);
        let zero = r.out.u32(0);
        where_it_holds(r, first, |r| self.put(r, room, zero, value));
        let value = r.out.op(Op::UniformLoad, stored(element), &[room.handle, zero]);
        if element == Scalar::Bool { r.out.op(Op::Convert, Scalar::Bool, &[value]) } else { value }
    }

    /// A region written out for these arguments; gives what it yields.
    fn written_out(
        &mut self,
        r: &mut Rewriter<'_>,
        region: RegionId,
        arguments: &[ValueId],
        types: &[Type],
    ) -> Result<Vec<ValueId>, Diagnostic> {
        let old = r.old;
        for (param, argument) in old.regions[region].params.iter().zip(arguments) {
            r.set(*param, &[*argument]);
        }
        // Its `yield` needs something to yield to: an `if` that simplification takes away.
        let (then, otherwise) = (r.out.new_region(&[]), r.out.new_region(&[]));
        let outer = std::mem::replace(&mut r.out.region, then);
        let written = r.region(self, region);
        r.out.region = otherwise;
        let zeros: Vec<ValueId> = types.iter().map(|ty| r.out.zero(*ty)).collect();
        r.out.end(Op::Yield, &zeros);
        r.out.region = outer;
        written?;
        let always = r.out.bool(true);
        let mut inst = Inst::new(Op::If, None, &[always], r.out.span);
        inst.regions = [then, otherwise].into_iter().collect();
        let id = r.out.push(inst, types);
        Ok(r.out.function.insts[id].results.to_vec())
    }
}

/// Rooms that operands are staged in; the next number is for single numbers.
const ROOMS: u32 = 8;

impl Pass for Fallback<'_> {
    fn types(&mut self, ty: Type) -> (Type, usize) {
        match ty {
            Type::Tile(tile) => (Type::Scalar(tile.element), self.parts_of(tile.shape.elements())),
            other => (other, 1),
        }
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        self.operation(r, inst)
    }
}

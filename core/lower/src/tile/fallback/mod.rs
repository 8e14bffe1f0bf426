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

use super::predication::where_it_holds;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::attrs::Spaces;
use girih_ir::{Attr, Caps, Function, Inst, Op, RegionId, Scalar, Shape, Space, Type, ValueId};

/// Most registers of a tile that an invocation holds.
const PARTS: u64 = 256;

/// The kernel for its threads.
pub(super) fn run(kernel: &Function, threads: u32, caps: &Caps) -> Result<Function, Diagnostic> {
    too_large(kernel, threads)?;
    let mut distributed = Distributed { threads, caps };
    Rewriter::run(kernel, &mut distributed)
}

/// Refuses tiles of which an invocation would hold too much.
fn too_large(kernel: &Function, threads: u32) -> Result<(), Diagnostic> {
    let registers = |v: ValueId| kernel.ty(v).shape().map_or(1, Shape::elements) / u64::from(threads);
    let mut wrong = None;
    kernel.walk(kernel.body, &mut |_, inst| {
        if wrong.is_none()
            && let Some(value) = inst.results.iter().copied().find(|v| registers(*v) > PARTS)
        {
            let message = format!(
                "`{}` is distributed over {threads} invocations, {} elements each",
                kernel.ty(value),
                registers(value)
            );
            let hint = format!("take smaller blocks or more warps: an invocation holds {PARTS} elements at most");
            wrong = Some(Diagnostic::new(Code::OverLimit, inst.span, message).hint(hint));
        }
    });
    wrong.map_or(Ok(()), Err)
}

struct Distributed<'c> {
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

impl Distributed<'_> {
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

    /// Does something in those invocations where a condition holds; everywhere without one.
    fn guarded(
        &mut self,
        r: &mut Rewriter<'_>,
        condition: Option<ValueId>,
        body: impl FnOnce(&mut Self, &mut Rewriter<'_>),
    ) {
        where_it_holds(r, condition, |r| body(self, r));
    }

    fn both(&self, r: &mut Rewriter<'_>, a: Option<ValueId>, b: Option<ValueId>) -> Option<ValueId> {
        match (a, b) {
            (Some(a), Some(b)) => Some(r.out.op(Op::And, Scalar::Bool, &[a, b])),
            (a, b) => a.or(b),
        }
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
            self.guarded(r, owner, |s, r| {
                for (register, value) in block.registers.iter().enumerate() {
                    let index = s.element_at(r, register, count);
                    s.put(r, staged, index, *value);
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
        self.guarded(r, first, |s, r| s.put(r, room, zero, value));
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

    /// `for j in first..end`, with values that it carries; `body` gives the next ones.
    fn count_up(
        &mut self,
        r: &mut Rewriter<'_>,
        range: (u32, u32),
        carried: &[ValueId],
        body: impl FnOnce(&mut Self, &mut Rewriter<'_>, ValueId, &[ValueId]) -> Result<Vec<ValueId>, Diagnostic>,
    ) -> Result<Vec<ValueId>, Diagnostic> {
        let mut initial = vec![r.out.u32(range.0)];
        initial.extend_from_slice(carried);
        let types: Vec<Type> = initial.iter().map(|v| r.out.ty(*v)).collect();
        let region = r.out.new_region(&types);
        let params = r.out.function.regions[region].params.clone();
        let outer = std::mem::replace(&mut r.out.region, region);
        let end = r.out.u32(range.1);
        let over = r.out.op(Op::Ge, Scalar::U32, &[params[0], end]);
        let kept = params[1..].to_vec();
        r.out.if_else(over, &[], |b| b.end(Op::Break, &kept), |b| b.end(Op::Yield, &[]));
        let next = body(self, r, params[0], &params[1..]);
        if let Ok(next) = &next {
            let one = r.out.u32(1);
            let mut values = vec![r.out.op(Op::Add, Scalar::U32, &[params[0], one])];
            values.extend_from_slice(next);
            r.out.end(Op::Continue, &values);
        }
        r.out.region = outer;
        next?;
        let mut inst = Inst::new(Op::Loop, None, &initial, r.out.span);
        inst.regions = [region].into_iter().collect();
        let id = r.out.push(inst, &types[1..]);
        Ok(r.out.function.insts[id].results.to_vec())
    }
}

/// Rooms that operands are staged in; the next number is for single numbers.
const ROOMS: u32 = 8;

impl Pass for Distributed<'_> {
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

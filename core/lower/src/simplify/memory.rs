//! What is known about memory while it is not written: loads are not repeated, a load after a store is the stored value.
//!
//! Each memory has a version, which changes wherever something may write it: a store to it or to memory that may overlap it,
//! and any operation that orders accesses between invocations.

use super::common_subexpressions::{Key, key};
use super::forward::Forward;
use girih_ir::attrs::{Attr, Order};
use girih_ir::ops::Effect;
use girih_ir::{Def, Feature, Function, Inst, InstId, Op, RegionId, Space, Type, ValueId};

/// Whether two handles may lead to the same bytes.
pub(crate) fn may_alias(f: &Function, a: ValueId, b: ValueId) -> bool {
    if a == b {
        return true;
    }
    if f.space(a) != f.space(b) {
        return false;
    }
    match (f.values[a].def, f.values[b].def) {
        (Def::Memory(a), Def::Memory(b)) => {
            let (a, b) = (&f.memories[a], &f.memories[b]);
            a.group != 0 && a.group == b.group
        }
        (Def::Param(a), Def::Param(b)) => !(a.readonly || b.readonly || a.noalias || b.noalias),
        (_, _) => true,
    }
}

/// Whether the launch does not write a memory.
pub(super) fn is_readonly(f: &Function, handle: ValueId) -> bool {
    f.param_attrs(handle).readonly
}

/// What an instruction without regions does to memory, as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    /// Nothing.
    Nothing,
    /// Reads this one.
    Reads(ValueId),
    /// Writes this one.
    Writes(ValueId),
    /// Orders or writes what others see: all but what is private.
    Shared,
    /// May do anything.
    All,
}

/// What an instruction does to memory, its regions left out.
pub(super) fn touch(inst: &Inst) -> Touch {
    let first = inst.operands.first().copied();
    match (inst.effect(), first) {
        (Effect::Pure | Effect::Trap | Effect::Heap, _) => Touch::Nothing,
        (Effect::Read, Some(handle)) => Touch::Reads(handle),
        (Effect::Write, Some(handle)) => Touch::Writes(handle),
        (Effect::Atomic, Some(handle)) if inst.order() == Order::Relaxed => {
            if inst.op == Op::AtomicLoad {
                Touch::Reads(handle)
            } else {
                Touch::Writes(handle)
            }
        }
        (Effect::Control, _) if inst.op == Op::Call => Touch::All,
        (Effect::Control, _) => Touch::Nothing,
        // What only passes values between lanes says nothing about memory.
        (Effect::Sync, _) if inst.op.row().needs == Some(Feature::Subgroups) && inst.op.accesses() == 0 => {
            Touch::Nothing
        }
        (Effect::Sync | Effect::Atomic | Effect::Read | Effect::Write, _) => Touch::Shared,
    }
}

/// The versions of a function's memories.
pub(super) struct Versions {
    handles: Vec<(ValueId, u32)>,
    last: u32,
}

impl Versions {
    /// All memories as they are at the start.
    pub(super) fn new(f: &Function) -> Versions {
        let params = f.params.iter().copied().filter(|v| matches!(f.ty(*v), Type::Memory(_)));
        Versions { handles: params.chain(f.memories.iter().map(|m| m.value)).map(|v| (v, 0)).collect(), last: 0 }
    }

    /// The version of a memory.
    fn of(&self, handle: ValueId) -> u32 {
        self.handles.iter().find(|(v, _)| *v == handle).map_or(u32::MAX, |(_, version)| *version)
    }

    /// Notes what an instruction does.
    pub(super) fn note(&mut self, f: &Function, touch: Touch) {
        self.last += 1;
        for (handle, version) in &mut self.handles {
            let written = match touch {
                Touch::Nothing | Touch::Reads(_) => false,
                Touch::Writes(other) => may_alias(f, *handle, other),
                Touch::Shared => f.space(*handle) != Space::Private,
                Touch::All => true,
            };
            if written && !is_readonly(f, *handle) {
                *version = self.last;
            }
        }
    }

    /// Notes all that a region may do: before it, if it may run again.
    pub(super) fn note_region(&mut self, f: &Function, region: RegionId) {
        f.walk(region, &mut |_, inst| match touch(inst) {
            Touch::Nothing | Touch::Reads(_) => {}
            touch @ (Touch::Writes(_) | Touch::Shared | Touch::All) => self.note(f, touch),
        });
    }
}

impl Forward<'_> {
    /// A load: the value that the place is known to have, if it is known.
    pub(super) fn load(&mut self, id: InstId) {
        self.fold_addresses(id);
        let Some((key, result)) = self.place(id).zip(self.f.insts[id].results.first().copied()) else {
            return self.push(id);
        };
        if let Some(known) = self.recall(&key) {
            return self.replace(result, known);
        }
        self.remember(key, result);
        self.push(id);
    }

    /// A store: nothing to do if the place has the value already.
    pub(super) fn store(&mut self, id: InstId) {
        self.fold_addresses(id);
        let inst = &self.f.insts[id];
        let &[_, _, value] = &inst.operands[..] else { return self.push(id) };
        if self.place(id).is_some_and(|key| self.recall(&key) == Some(value)) {
            self.revise();
            return;
        }
        let touch = touch(&self.f.insts[id]);
        self.versions.note(self.f, touch);
        if let Some(key) = self.place(id) {
            self.remember(key, value);
        }
        self.push(id);
    }

    /// An operation that other invocations see or that waits for them.
    pub(super) fn synchronise(&mut self, id: InstId) {
        self.fold_addresses(id);
        let touch = touch(&self.f.insts[id]);
        self.versions.note(self.f, touch);
        self.push(id);
    }

    /// A trap; one that never comes is removed.
    pub(super) fn trap(&mut self, id: InstId) {
        match self.f.insts[id].operands.first().and_then(|v| self.bits(*v)) {
            Some(0) => {}
            Some(_) | None => self.push(id),
        }
    }

    /// The place of a load or store, as a load of its present version.
    fn place(&self, id: InstId) -> Option<Key> {
        let inst = &self.f.insts[id];
        let (handle, index) = (inst.operands[0], inst.operands[1]);
        key(Op::Load, inst.ty, &[handle, index], (inst.offset(), self.versions.of(handle)))
    }

    /// Constant parts of indices go into the accesses' offsets.
    fn fold_addresses(&mut self, id: InstId) {
        let accesses = self.f.insts[id].op.row().operands.iter().enumerate();
        let positions = accesses.filter(|(_, p)| matches!(p, girih_ir::ops::Pattern::Memory(_))).map(|(i, _)| i + 1);
        for (access, position) in positions.enumerate().take(2) {
            let inst = &self.f.insts[id];
            let Some(index) = inst.operands.get(position).copied() else { return };
            let before = if access == 0 { inst.offset() } else { inst.source_offset() };
            let Some((index, offset)) = self.split_index(index, before) else { continue };
            let attr = if access == 0 { Attr::Offset(offset) } else { Attr::SourceOffset(offset) };
            let inst = &mut self.f.insts[id];
            inst.operands[position] = index;
            inst.set(attr.clone());
            if offset == 0 {
                inst.remove(attr.kind());
            }
        }
    }

    /// An index without its constant part, and the offset with it; none if there is nothing to do.
    fn split_index(&mut self, mut index: ValueId, before: i32) -> Option<(ValueId, i32)> {
        let mut offset = before;
        let start = index;
        while let Some((base, part)) = self.constant_part(index) {
            let Some(sum) = i32::try_from(part).ok().and_then(|part| offset.checked_add(part)) else { break };
            (index, offset) = (base, sum);
        }
        if let Some(bits) = self.bits(index)
            && offset != 0
            && let Some(sum) = i64::try_from(bits).ok().and_then(|bits| bits.checked_add(offset.into()))
            && let (Ok(sum), Some(scalar)) = (u64::try_from(sum), self.scalar(index))
            && sum & !scalar.mask() == 0
        {
            index = self.constant(scalar, sum);
            offset = 0;
        }
        (index != start || offset != before).then_some((index, offset))
    }

    /// What an index is the exact sum of: another one and a constant.
    fn constant_part(&self, index: ValueId) -> Option<(ValueId, i64)> {
        let inst = self.def(index)?;
        let &[base, part] = &inst.operands[..] else { return None };
        let bits = self.bits(part)?;
        let scalar = self.scalar(index)?;
        let known = self.facts(base);
        let nowrap = inst.has(girih_ir::AttrKind::NoWrap);
        match inst.op {
            Op::Add if nowrap || known.max.checked_add(bits).is_some_and(|max| max <= scalar.mask()) => {
                i64::try_from(bits).ok().map(|part| (base, part))
            }
            // A sum that always wraps is a difference.
            Op::Add => {
                let less = bits.wrapping_neg() & scalar.mask();
                (known.min >= less).then_some(())?;
                i64::try_from(less).ok().map(|less| (base, -less))
            }
            Op::Sub if nowrap || known.min >= bits => i64::try_from(bits).ok().map(|part| (base, -part)),
            Op::Or if !known.zeros & bits == 0 => i64::try_from(bits).ok().map(|part| (base, part)),
            _no_rule => None,
        }
    }
}

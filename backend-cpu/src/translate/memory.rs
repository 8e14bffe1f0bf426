//! Loads and stores. Each access is checked against the bytes of its memory, unless both are constants: code that runs in this
//! process must not reach what is not its own.

use super::{Form, Result, Translator, not_legal};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AliasRegion, Endianness, InstBuilder, MemFlags, Type as Machine, Value, types};
use girih_ir::{AttrKind, Def, Inst, InstId, Op, RegionId, Space, Type, ValueId};

/// How far back a number is looked at.
const DEPTH: u32 = 12;

/// How many bytes a memory has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    /// So many.
    Known(u64),
    /// As many as this value says.
    Value(Value),
}

/// Where a memory lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Address of the first byte.
    pub base: Value,
    /// How many bytes there are.
    pub extent: Extent,
    /// In which space.
    pub space: Space,
    /// Whether the whole launch does not write it.
    pub readonly: bool,
}

impl Place {
    /// How an access of a type's own alignment is made.
    pub(super) fn flags(&self) -> MemFlags {
        self.unaligned().with_aligned()
    }

    /// How bytes from any address on are accessed: spaces do not overlap.
    pub(super) fn unaligned(&self) -> MemFlags {
        let region = match self.space {
            Space::Global => AliasRegion::Heap,
            Space::Shared => AliasRegion::Table,
            Space::Private => AliasRegion::Vmctx,
        };
        let flags = MemFlags::new().with_notrap().with_endianness(Endianness::Little).with_alias_region(Some(region));
        if self.readonly { flags.with_readonly() } else { flags }
    }
}

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// The address of an access of type `ty` to operands (memory, index), which is inside of the memory from here on.
    pub(super) fn address(&mut self, inst: &Inst, ty: Type) -> Result<(Value, Place)> {
        let [memory, index, ..] = inst.operands[..] else { return Err(not_legal(inst)) };
        let place = *self.places.get(&memory).ok_or_else(|| not_legal(inst))?;
        let bytes = u64::from(ty.bytes());
        if !bytes.is_power_of_two() {
            return Err(not_legal(inst));
        }
        let shift = i64::from(bytes.trailing_zeros());
        let offset = i64::from(inst.offset());
        if let (Some(index), Extent::Known(extent)) = (self.function.as_constant(index), place.extent) {
            let element = i128::from(index) + i128::from(offset);
            if element >= 0 && element < i128::from(extent / bytes) {
                let address = self.b.ins().iadd_imm(place.base, (element as i64) << shift);
                return Ok((address, place));
            }
        }
        if let (Extent::Known(extent), Some(most)) = (place.extent, self.most(index, DEPTH))
            && offset >= 0
            && most + (offset as u64) < extent / bytes
        {
            // A constant distance becomes part of the instruction that accesses.
            let (index, further) = self.apart(index);
            let element = self.element(index, 0)?;
            let distance = self.b.ins().ishl_imm(element, shift);
            let address = self.b.ins().iadd(place.base, distance);
            return Ok((self.b.ins().iadd_imm(address, (further as i64 + offset) << shift), place));
        }
        let element = self.element(index, offset)?;
        let outside = match place.extent {
            Extent::Known(extent) => {
                self.b.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, element, (extent / bytes) as i64)
            }
            Extent::Value(extent) => {
                let count = self.b.ins().ushr_imm(extent, shift);
                self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, element, count)
            }
        };
        F::outside(self, inst, memory, outside, element)?;
        let distance = self.b.ins().ishl_imm(element, shift);
        Ok((self.b.ins().iadd(place.base, distance), place))
    }

    /// What an unsigned number of 32 bits is at most, as far as its own operations show.
    fn most(&self, value: ValueId, depth: u32) -> Option<u64> {
        if let Some(constant) = self.function.as_constant(value) {
            return Some(constant);
        }
        if depth == 0 || self.function.ty(value) != Type::U32 {
            return None;
        }
        let id = match self.function.values[value].def {
            Def::Result(id, _) => id,
            Def::Argument(region, _) => return self.most_counted(value, region),
            Def::Param(_) | Def::Constant(_) | Def::Specialisation(_) | Def::Memory(_) => return None,
        };
        let inst = &self.function.insts[id];
        let [x, y] = inst.operands[..] else { return None };
        let constant = |v: ValueId| self.function.as_constant(v);
        let fits = |most: u64| (most <= u64::from(u32::MAX)).then_some(most);
        match inst.op {
            Op::And => match (constant(x), constant(y)) {
                (Some(mask), _) | (_, Some(mask)) => Some(mask),
                (None, None) => None,
            },
            Op::Add => fits(self.most(x, depth - 1)? + self.most(y, depth - 1)?),
            Op::Shl => fits(self.most(x, depth - 1)?.checked_shl(constant(y).filter(|n| *n < 32)? as u32)?),
            Op::Shr => Some(self.most(x, depth - 1)? >> constant(y).filter(|n| *n < 32)?),
            _no_rule => None,
        }
    }

    /// A number of which it is known what it is at most, as another one and a constant distance from that.
    fn apart(&self, value: ValueId) -> (ValueId, u64) {
        let (mut value, mut further) = (value, 0);
        while let Def::Result(id, _) = self.function.values[value].def
            && let Inst { op: Op::Add, operands, .. } = &self.function.insts[id]
            && let [x, y] = operands[..]
            && let Some(n) = self.function.as_constant(y)
        {
            further += n;
            value = x;
        }
        (value, further)
    }

    /// What a counter is at most behind the test with which its loop begins: `if counter >= end { break }`.
    pub(super) fn most_counted(&self, counter: ValueId, region: RegionId) -> Option<u64> {
        let [test, branch, ..] = self.function.regions[region].insts[..] else { return None };
        let (test, branch) = (&self.function.insts[test], &self.function.insts[branch]);
        let leaves = |region: &RegionId| {
            let insts = &self.function.regions[*region].insts;
            insts.first().is_some_and(|first| self.function.insts[*first].op == Op::Break)
        };
        let is_test = test.op == Op::Ge && branch.op == Op::If && branch.operands[..] == test.results[..];
        if !is_test || test.operands.first() != Some(&counter) || !branch.regions.first().is_some_and(leaves) {
            return None;
        }
        self.function.as_constant(*test.operands.get(1)?)?.checked_sub(1)
    }

    /// The number of an element in 64 bits. One below zero is beyond all memories.
    pub(super) fn element(&mut self, index: ValueId, offset: i64) -> Result<Value> {
        let value = self.get(index)?;
        let wide = if self.function.ty(index) == Type::U64 { value } else { self.b.ins().uextend(types::I64, value) };
        Ok(if offset == 0 { wide } else { self.b.ins().iadd_imm(wide, offset) })
    }

    /// `load`.
    pub(super) fn load(&mut self, inst: &Inst) -> Result<()> {
        let ty = inst.ty.ok_or_else(|| not_legal(inst))?;
        let machine = self.suffix_type(inst)?;
        let (address, place) = self.address(inst, ty)?;
        let value = if inst.has(AttrKind::Volatile) {
            self.volatile_load(machine, place, address)
        } else {
            self.b.ins().load(machine, place.flags(), address, 0)
        };
        self.give(inst, value)
    }

    /// A load that Cranelift neither moves nor joins with another one: it is atomic, or stands behind a fence.
    fn volatile_load(&mut self, machine: Machine, place: Place, address: Value) -> Value {
        let flags = Place { readonly: false, ..place }.flags();
        if machine.is_vector() {
            self.b.ins().fence();
            return self.b.ins().load(machine, flags, address, 0);
        }
        let word = machine.as_int();
        let value = self.b.ins().atomic_load(word, flags, address);
        if word == machine { value } else { self.b.ins().bitcast(machine, MemFlags::new(), value) }
    }

    /// `store`.
    pub(super) fn store(&mut self, inst: &Inst) -> Result<()> {
        let ty = inst.ty.ok_or_else(|| not_legal(inst))?;
        let (address, place) = self.address(inst, ty)?;
        let value = self.get(inst.operands[2])?;
        self.b.ins().store(place.flags(), value, address, 0);
        Ok(())
    }

    /// `uniform_load`: barriers on both sides of the load.
    pub(super) fn uniform_load(&mut self, id: InstId, inst: &Inst) -> Result<()> {
        F::barrier(self, id, 0)?;
        self.load(inst)?;
        F::barrier(self, id, 1)
    }
}

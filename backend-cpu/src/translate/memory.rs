//! Loads and stores. Each access is checked against the bytes of its memory, unless both are constants: code that runs in this
//! process must not reach what is not its own.

use super::{Form, Result, Translator, not_legal};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AliasRegion, Endianness, InstBuilder, MemFlags, Type as Machine, Value, types};
use girih_ir::{AttrKind, Inst, InstId, Space, Type, ValueId};

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
    /// How its bytes are accessed: spaces do not overlap.
    pub(super) fn flags(&self) -> MemFlags {
        let region = match self.space {
            Space::Global => AliasRegion::Heap,
            Space::Shared => AliasRegion::Table,
            Space::Private => AliasRegion::Vmctx,
        };
        let flags = MemFlags::trusted().with_endianness(Endianness::Little).with_alias_region(Some(region));
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

    /// The number of an element in 64 bits. One below zero is beyond all memories.
    fn element(&mut self, index: ValueId, offset: i64) -> Result<Value> {
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

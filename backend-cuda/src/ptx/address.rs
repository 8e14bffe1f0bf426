//! Addresses: a register or an array's name, and a constant number of bytes.
//!
//! The sum of a memory's start and an index is computed once for the rest of the region where it is first needed; accesses that
//! differ by a constant share it.

use super::copies::Operand;
use super::registers::{Class, Reg};
use super::render::{Renderer, ptx};
use super::shared::{DYNAMIC, Place};
use girih_ir::{Def, MemoryId, Space, ValueId};
use std::collections::HashMap;
use std::fmt;

/// What an address is counted from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Base {
    Reg(Reg),
    Name(String),
}

/// An address in a space.
#[derive(Clone, Debug)]
pub(super) struct Address {
    base: Base,
    bytes: i64,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.base {
            Base::Reg(reg) => write!(f, "[{reg}")?,
            Base::Name(name) => write!(f, "[{name}")?,
        }
        match self.bytes {
            0 => write!(f, "]"),
            bytes => write!(f, "+{bytes}]"),
        }
    }
}

/// Sums that are known in the current region and those around it.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    known: HashMap<Key, Reg>,
    /// What each enclosing region has added.
    added: Vec<Vec<Key>>,
    /// Starts of shared memories of chosen length.
    pub chosen: HashMap<MemoryId, Reg>,
}

/// A memory, an index and the bytes of an element.
type Key = (ValueId, ValueId, u32);

impl Addresses {
    /// A region begins.
    pub fn enter(&mut self) {
        self.added.push(vec![]);
    }
    /// A region ends: what it computed is not there any more.
    pub fn leave(&mut self) {
        for key in self.added.pop().unwrap_or_default() {
            self.known.remove(&key);
        }
    }
    fn get(&self, key: Key) -> Option<Reg> {
        self.known.get(&key).copied()
    }
    fn add(&mut self, key: Key, reg: Reg) {
        if let Some(region) = self.added.last_mut() {
            self.known.insert(key, reg);
            region.push(key);
        }
    }
}

/// The constant part of an instruction's address is a signed 32-bit number.
fn fits(bytes: i64) -> bool {
    i32::try_from(bytes).is_ok()
}

impl Renderer<'_> {
    /// The address of element `index + offset` of a memory whose elements have `size` bytes.
    pub fn address(&mut self, memory: ValueId, index: ValueId, offset: i32, size: u32) -> Address {
        let wide = self.function.space(memory) == Space::Global;
        let fixed = i64::from(offset) * i64::from(size);
        let (base, start) = self.start(memory);
        let mut bytes = start + fixed;
        if let Some(constant) = self.function.as_constant(index) {
            let constant = (constant as i64).wrapping_mul(size.into());
            match bytes.checked_add(constant).filter(|sum| fits(*sum)) {
                Some(sum) => return Address { base, bytes: sum },
                None => bytes = bytes.wrapping_add(constant),
            }
            return self.far(base, bytes, wide);
        }
        let key = (memory, index, size);
        let sum = match self.addresses.get(key) {
            Some(sum) => sum,
            None => {
                let sum = if wide { self.sum64(&base, index, size) } else { self.sum32(&base, index, size) };
                self.addresses.add(key, sum);
                sum
            }
        };
        if fits(bytes) { Address { base: Base::Reg(sum), bytes } } else { self.far(Base::Reg(sum), bytes, wide) }
    }

    /// The address as a number in a register, of 32 bits in shared and private memory.
    pub fn address_reg(&mut self, address: &Address, wide: bool) -> Reg {
        match (&address.base, address.bytes) {
            (Base::Reg(reg), 0) => *reg,
            (Base::Reg(reg), bytes) => {
                let (class, ty) = if wide { (Class::B64, "s64") } else { (Class::B32, "s32") };
                let sum = self.fresh(class);
                ptx!(self, "add.{ty} {sum}, {reg}, {bytes}");
                sum
            }
            (Base::Name(name), bytes) => {
                let start = self.fresh(Class::B32);
                ptx!(self, "mov.u32 {start}, {name}");
                self.address_reg(&Address { base: Base::Reg(start), bytes }, wide)
            }
        }
    }

    /// An address whose constant part is too large for an instruction.
    fn far(&mut self, base: Base, bytes: i64, wide: bool) -> Address {
        let address = Address { base, bytes };
        let reg = self.address_reg(&address, wide);
        Address { base: Base::Reg(reg), bytes: 0 }
    }

    /// Where a memory starts.
    fn start(&self, memory: ValueId) -> (Base, i64) {
        let Def::Memory(id) = self.function.values[memory].def else {
            return (Base::Reg(self.home(memory).reg(0)), 0);
        };
        if let Some(reg) = self.addresses.chosen.get(&id) {
            return (Base::Reg(*reg), 0);
        }
        match self.shared.place(id) {
            Some(Place::Array(name)) => (Base::Name(name.clone()), 0),
            Some(Place::At(byte)) => (Base::Name(DYNAMIC.into()), (*byte).into()),
            Some(Place::Chosen) => (Base::Name(DYNAMIC.into()), 0),
            None => (Base::Name(private_name(id)), 0),
        }
    }

    fn sum64(&mut self, base: &Base, index: ValueId, size: u32) -> Reg {
        let Base::Reg(base) = base else { unreachable!("buffers have registers, not names") };
        let (index, sum) = (self.reg(index), self.fresh(Class::B64));
        if index.class == Class::B32 {
            ptx!(self, "mad.wide.u32 {sum}, {index}, {size}, {base}");
        } else {
            let scaled = self.scaled(index, size);
            ptx!(self, "add.s64 {sum}, {base}, {scaled}");
        }
        sum
    }

    fn sum32(&mut self, base: &Base, index: ValueId, size: u32) -> Reg {
        let (index, sum) = (self.reg(index), self.fresh(Class::B32));
        let index = if index.class == Class::B64 {
            let low = self.fresh(Class::B32);
            ptx!(self, "cvt.u32.u64 {low}, {index}");
            low
        } else {
            index
        };
        let base = match base {
            Base::Reg(reg) => *reg,
            Base::Name(name) => {
                let start = self.fresh(Class::B32);
                ptx!(self, "mov.u32 {start}, {name}");
                start
            }
        };
        let scaled = self.scaled(index, size);
        ptx!(self, "add.s32 {sum}, {base}, {scaled}");
        sum
    }

    /// An index times the bytes of an element, a power of two.
    fn scaled(&mut self, index: Reg, size: u32) -> Reg {
        if size == 1 {
            return index;
        }
        let scaled = self.fresh(index.class);
        ptx!(self, "shl.{} {scaled}, {index}, {}", index.class.ty(), size.trailing_zeros());
        scaled
    }

    /// Gives every shared memory of chosen length its start, at the beginning of a kernel.
    pub fn place_chosen(&mut self) {
        let chosen: Vec<(MemoryId, u32)> = self.shared.chosen().collect();
        let mut end = Operand::Int(self.shared.size.asked.into());
        for (id, align) in chosen {
            let memory = &self.function.memories[id];
            let length = self.operand(memory.length);
            let [up, from, start, base, bytes, next] = [(); 6].map(|()| self.fresh(Class::B32));
            ptx!(self, "add.u32 {up}, {end}, {}", align - 1);
            ptx!(self, "and.b32 {from}, {up}, {}", -i64::from(align));
            ptx!(self, "mov.u32 {base}, {DYNAMIC}");
            ptx!(self, "add.u32 {start}, {base}, {from}");
            ptx!(self, "mul.lo.u32 {bytes}, {length}, {}", memory.element.bytes());
            ptx!(self, "add.u32 {next}, {from}, {bytes}");
            self.addresses.chosen.insert(id, start);
            end = next.into();
        }
    }
}

/// The name of a private array.
pub(super) fn private_name(memory: MemoryId) -> String {
    format!("private{}", memory.index())
}

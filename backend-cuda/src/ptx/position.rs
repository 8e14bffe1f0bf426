//! Where an invocation stands in its launch, and the kernel's own grid where that is a number in memory.

use super::copies::Operand;
use super::registers::{Class, Reg};
use super::render::{Form, Renderer, VirtualGrid, ptx};
use girih_ir::attrs::Dim;
use girih_ir::{Inst, Op};

/// Lanes of a subgroup.
pub(super) const LANES: u32 = 32;

impl Renderer<'_> {
    /// The invocations of a workgroup in each dimension, where that is known.
    pub fn workgroup(&self) -> Option<[u32; 3]> {
        match self.form {
            Form::Kernel(size) | Form::Indirect(size, _) => Some(size),
            Form::Function => None,
        }
    }

    /// A special register.
    fn special(&mut self, name: &str, dim: Dim) -> Reg {
        let reg = self.fresh(Class::B32);
        ptx!(self, "mov.u32 {reg}, %{name}.{}", dim.name());
        reg
    }

    fn workgroup_id(&mut self, dim: Dim) -> Reg {
        match self.form {
            Form::Indirect(_, grid) => grid.ids[dim as usize],
            Form::Kernel(_) | Form::Function => self.special("ctaid", dim),
        }
    }

    fn workgroup_size(&mut self, dim: Dim) -> Operand {
        match self.workgroup() {
            Some(size) => Operand::Int(size[dim as usize].into()),
            None => self.special("ntid", dim).into(),
        }
    }

    /// The position in the workgroup as one number.
    fn local_index(&mut self) -> Operand {
        let mut index = self.special("tid", Dim::X);
        let size = self.workgroup();
        if size.is_some_and(|s| s[1] == 1 && s[2] == 1) {
            return index.into();
        }
        let (x, y) = (self.workgroup_size(Dim::X), self.workgroup_size(Dim::Y));
        let (row, layer) = (self.special("tid", Dim::Y), self.special("tid", Dim::Z));
        let rows = if size.is_some_and(|s| s[2] == 1) {
            row
        } else {
            let rows = self.fresh(Class::B32);
            ptx!(self, "mad.lo.u32 {rows}, {layer}, {y}, {row}");
            rows
        };
        let sum = self.fresh(Class::B32);
        ptx!(self, "mad.lo.u32 {sum}, {rows}, {x}, {index}");
        index = sum;
        index.into()
    }

    /// The invocations of a workgroup.
    fn workgroup_count(&mut self) -> Operand {
        if let Some([x, y, z]) = self.workgroup() {
            return Operand::Int((x * y * z).into());
        }
        let [x, y, z] = Dim::ALL.map(|dim| self.special("ntid", dim));
        let [plane, all] = [(); 2].map(|()| self.fresh(Class::B32));
        ptx!(self, "mul.lo.u32 {plane}, {x}, {y}");
        ptx!(self, "mul.lo.u32 {all}, {plane}, {z}");
        all.into()
    }

    /// A position in the launch.
    pub fn launch_position(&mut self, inst: &Inst) {
        let (dim, to) = (inst.dim(), self.result(inst));
        match inst.op {
            Op::GlobalId => {
                let (group, size, local) = (self.workgroup_id(dim), self.workgroup_size(dim), self.special("tid", dim));
                ptx!(self, "mad.lo.u32 {to}, {group}, {size}, {local}");
            }
            Op::LocalId => ptx!(self, "mov.u32 {to}, %tid.{}", dim.name()),
            Op::LocalIndex => {
                let index = self.local_index();
                self.mov(to, index);
            }
            Op::WorkgroupId => {
                let id = self.workgroup_id(dim);
                self.mov(to, id.into());
            }
            Op::NumWorkgroups => match self.form {
                Form::Indirect(_, grid) => self.mov(to, grid.sizes[dim as usize].into()),
                Form::Kernel(_) | Form::Function => ptx!(self, "mov.u32 {to}, %nctaid.{}", dim.name()),
            },
            Op::WorkgroupSize => {
                let size = self.workgroup_size(dim);
                self.mov(to, size);
            }
            Op::SubgroupSize => self.mov(to, Operand::Int(LANES.into())),
            Op::SubgroupId => {
                let index = self.local_index();
                ptx!(self, "shr.u32 {to}, {index}, 5");
            }
            Op::NumSubgroups => {
                let (count, up) = (self.workgroup_count(), self.fresh(Class::B32));
                ptx!(self, "add.u32 {up}, {count}, {}", LANES - 1);
                ptx!(self, "shr.u32 {to}, {up}, 5");
            }
            Op::Lane => ptx!(self, "mov.u32 {to}, %laneid"),
            _ => self.refuse(inst, "it is no position"),
        }
    }

    /// At the beginning of a function with subgroup operations: which lanes exist, if the last subgroup may be partly empty.
    pub fn find_members(&mut self) {
        if self.workgroup().is_some_and(|[x, y, z]| (x * y * z).is_multiple_of(LANES)) {
            return;
        }
        let (index, count) = (self.local_index(), self.workgroup_count());
        let [first, left, bit, members] = [(); 4].map(|()| self.fresh(Class::B32));
        ptx!(self, "and.b32 {first}, {index}, {}", -i64::from(LANES));
        ptx!(self, "sub.u32 {left}, {count}, {first}");
        // A shift by 32 or more gives 0, and then all bits.
        ptx!(self, "shl.b32 {bit}, 1, {left}");
        ptx!(self, "sub.u32 {members}, {bit}, 1");
        self.members = Some(members);
    }

    /// Registers and the label of a grid in memory.
    pub fn virtual_grid(&mut self) -> VirtualGrid {
        let ids = [(); 3].map(|()| self.fresh(Class::B32));
        let sizes = [(); 3].map(|()| self.fresh(Class::B32));
        VirtualGrid { ids, sizes, end: self.label() }
    }
}

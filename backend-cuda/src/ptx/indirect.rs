//! Kernels whose grid stands in memory: a fixed number of workgroups runs over all positions of that grid.
//!
//! The host launches as many workgroups as the device holds at once, without knowing the grid, so that rounds of such
//! launches follow each other without a word between host and device.

use super::registers::{Class, Reg};
use super::render::{Renderer, VirtualGrid, ptx};
use super::text::Label;
use girih_ir::Space;

/// The loop over the workgroups of a grid in memory.
pub(super) struct Rounds {
    head: Label,
    exit: Label,
    number: Reg,
    grid: VirtualGrid,
}

impl Renderer<'_> {
    /// Before the kernel's body. `parameter` holds the grid's address.
    pub fn begin_rounds(&mut self, grid: VirtualGrid, parameter: &str) -> Rounds {
        let [address, total, plane, wide] = [(); 4].map(|()| self.fresh(Class::B64));
        ptx!(self, "ld.param.u64 {address}, [{parameter}]");
        ptx!(self, "cvta.to.global.u64 {address}, {address}");
        let [x, y, z] = grid.sizes;
        for (i, size) in grid.sizes.iter().enumerate() {
            ptx!(self, "ld.global.u32 {size}, [{address}+{}]", 4 * i);
        }
        ptx!(self, "mul.wide.u32 {plane}, {x}, {y}");
        ptx!(self, "cvt.u64.u32 {wide}, {z}");
        ptx!(self, "mul.lo.u64 {total}, {plane}, {wide}");
        let (number, done) = (self.fresh(Class::B64), self.fresh(Class::Pred));
        let first = self.fresh(Class::B32);
        ptx!(self, "mov.u32 {first}, %ctaid.x");
        ptx!(self, "cvt.u64.u32 {number}, {first}");
        let (head, exit) = (self.label(), self.label());
        self.text.label(head);
        ptx!(self, "setp.ge.u64 {done}, {number}, {total}");
        ptx!(self, "@{done} bra {exit}");
        self.split(number, &grid);
        Rounds { head, exit, number, grid }
    }

    /// The position of a workgroup that is a number: x fastest.
    fn split(&mut self, number: Reg, grid: &VirtualGrid) {
        let [rows, layers, width, height, part] = [(); 5].map(|()| self.fresh(Class::B64));
        ptx!(self, "cvt.u64.u32 {width}, {}", grid.sizes[0]);
        ptx!(self, "cvt.u64.u32 {height}, {}", grid.sizes[1]);
        ptx!(self, "div.u64 {rows}, {number}, {width}");
        ptx!(self, "div.u64 {layers}, {rows}, {height}");
        ptx!(self, "rem.u64 {part}, {number}, {width}");
        ptx!(self, "cvt.u32.u64 {}, {part}", grid.ids[0]);
        let part = self.fresh(Class::B64);
        ptx!(self, "rem.u64 {part}, {rows}, {height}");
        ptx!(self, "cvt.u32.u64 {}, {part}", grid.ids[1]);
        ptx!(self, "cvt.u32.u64 {}, {layers}", grid.ids[2]);
    }

    /// After the kernel's body.
    pub fn end_rounds(&mut self, rounds: &Rounds) {
        self.text.label(rounds.grid.end);
        if self.function.memories.iter().any(|m| m.space == Space::Shared) {
            // The next workgroup's shared memory is this one's.
            ptx!(self, "bar.sync 0");
        }
        let (count, step) = (self.fresh(Class::B32), self.fresh(Class::B64));
        ptx!(self, "mov.u32 {count}, %nctaid.x");
        ptx!(self, "cvt.u64.u32 {step}, {count}");
        ptx!(self, "add.u64 {0}, {0}, {step}", rounds.number);
        ptx!(self, "bra {}", rounds.head);
        self.text.label(rounds.exit);
        ptx!(self, "ret");
    }

    /// Whether functions that the kernel calls ask where their workgroup stands, which only the kernel knows then.
    pub fn callees_ask_for_workgroup(&self) -> bool {
        let mut pending = callees(self.function);
        let mut seen = vec![];
        while let Some(id) = pending.pop() {
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            let function = &self.module.functions[id];
            let mut asks = false;
            function.walk(function.body, &mut |_, inst| asks |= inst.op.asks_for_workgroup());
            if asks {
                return true;
            }
            pending.extend(callees(function));
        }
        false
    }
}

fn callees(function: &girih_ir::Function) -> Vec<girih_ir::FunctionId> {
    let mut found = vec![];
    function.walk(function.body, &mut |_, inst| found.extend(inst.callee()));
    found
}

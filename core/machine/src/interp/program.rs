//! A function and all that it calls, made ready for a team; and where shared memory lies.

use super::activation::{Handle, private};
use super::code::{self, Array, Code, Team};
use girih_base::idx::IndexVec;
use girih_ir::ops::{Op, Pattern};
use girih_ir::types::{Space, Type};
use girih_ir::{FunctionId, Module};
use std::collections::HashMap;
use std::sync::Arc;

/// A function that can be run.
#[derive(Debug)]
pub struct Program {
    /// Where its functions are.
    pub module: Arc<Module>,
    /// The kernel, or the function that is called from outside.
    pub main: FunctionId,
    /// Who runs it.
    pub team: Team,
    /// Bytes that faults are looked for by, as a power of two: no access is smaller.
    pub granule: u32,
    codes: IndexVec<FunctionId, Option<Code>>,
    /// The functions that can run, the outermost first.
    reached: Vec<FunctionId>,
}

impl Program {
    /// Makes a function and all that it calls ready for a team.
    pub fn new(module: Arc<Module>, main: FunctionId, team: Team) -> Program {
        let mut codes: IndexVec<FunctionId, Option<Code>> = module.functions.iter().map(|_| None).collect();
        let mut reached = vec![main];
        let mut next = 0;
        while let Some(id) = reached.get(next).copied() {
            next += 1;
            codes[id] = Some(code::prepare(&module, id, team));
            let function = &module.functions[id];
            function.walk(function.body, &mut |_, inst| {
                reached.extend(inst.callee().filter(|callee| !reached.contains(callee)));
            });
        }
        let granule = reached.iter().map(|id| smallest_access(&module, *id)).min().unwrap_or(4).trailing_zeros();
        Program { module, main, team, granule, codes, reached }
    }

    /// Bytes of values and private memory of all functions.
    pub(super) fn activation_bytes(&self) -> u64 {
        let bytes = |code: &Code| code.values as u64 * 8 + code.private_bytes as u64 * self.team.lanes as u64;
        self.codes.iter().flatten().map(bytes).sum()
    }

    /// A function made ready. All that can be called are.
    pub(super) fn code(&self, id: FunctionId) -> &Code {
        self.codes[id].as_ref().expect("functions that are reached were made ready")
    }
}

/// Bytes of the smallest access of a function, at most 4.
fn smallest_access(module: &Module, id: FunctionId) -> u32 {
    let function = &module.functions[id];
    let mut smallest = 4;
    function.walk(function.body, &mut |_, inst| {
        if inst.op.row().operands.iter().any(|p| matches!(p, Pattern::Memory(_))) && inst.op != Op::Wgmma {
            smallest = smallest.min(inst.ty.map_or(8, |ty| {
                if let Type::Coop(..) | Type::Tile(_) = ty { inst.element().bytes() } else { ty.bytes() }
            }));
        }
    });
    smallest.max(1)
}

/// Where the arrays of a program's functions lie, for one dispatch.
#[derive(Debug)]
pub(super) struct Layout {
    pub shared_bytes: usize,
    handles: HashMap<FunctionId, Vec<Handle>>,
}

impl Layout {
    /// `dynamic` is the bytes of each shared array of the outermost function whose length is not constant, in order.
    pub(super) fn new(program: &Program, dynamic: &[u32]) -> Layout {
        let mut layout = Layout { shared_bytes: 0, handles: HashMap::new() };
        let mut members = 0;
        for id in &program.reached {
            let arrays = &program.code(*id).arrays;
            let mut dynamic = dynamic.iter();
            let bytes: Vec<usize> =
                arrays.iter().map(|a| a.bytes.unwrap_or_else(|| dynamic.next().map_or(0, |n| *n as usize))).collect();
            let mut groups = HashMap::new();
            let mut handles = vec![];
            for (array, length) in arrays.iter().zip(&bytes) {
                handles.push(match array.space {
                    Space::Private => private(array),
                    Space::Shared | Space::Global => {
                        let start = if array.group == 0 {
                            layout.place(array.align, *length)
                        } else {
                            *groups.entry(array.group).or_insert_with(|| layout.group(arrays, &bytes, array.group))
                        };
                        members += u32::from(array.group != 0);
                        let member = if array.group == 0 { 0 } else { members };
                        Handle { space: Space::Shared, buffer: 0, start: start as u64, bytes: *length as u64, member }
                    }
                });
            }
            layout.handles.insert(*id, handles);
        }
        layout.shared_bytes = layout.shared_bytes.next_multiple_of(16);
        layout
    }

    /// The handles of a function's arrays, in order.
    pub(super) fn handles(&self, id: FunctionId) -> &[Handle] {
        self.handles.get(&id).map_or(&[], |handles| handles)
    }

    fn place(&mut self, align: usize, bytes: usize) -> usize {
        let start = self.shared_bytes.next_multiple_of(align);
        self.shared_bytes = start + bytes;
        start
    }

    /// Arrays of a group lie over each other, so that one who relies on their being apart is found out.
    fn group(&mut self, arrays: &[Array], bytes: &[usize], group: u32) -> usize {
        let members = || arrays.iter().zip(bytes).filter(|(a, _)| a.group == group && a.space == Space::Shared);
        let align = members().map(|(a, _)| a.align).max().unwrap_or(1);
        let length = members().map(|(_, n)| *n).max().unwrap_or(0);
        self.place(align, length)
    }
}

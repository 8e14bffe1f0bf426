//! Builds a perfect tree in the heap of a device out of the numbers of a buffer there, on the device: the kernel of `perfect_tree.gir`, and what it is
//! given. The other way goes [`Walker::gather`](super::Walker::gather).
//!
//! Invariant: every cell of the tree is written before the next call of the program, whose stream this is, or an error is returned.

use super::cells::units;
use crate::data::{Datum, Words};
use crate::device;
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::NumKind;
use girih_base::span::Span;
use girih_ir::{text, verify};
use girih_runtime::{Buffer, Command, Device, Dispatch, Grid, LoadOptions, Memory, Program, Read};
use girih_term::CtorId;

const KERNEL: &str = include_str!("perfect_tree.gir");

/// The kernel, loaded onto a device.
#[derive(Debug)]
pub struct TreeBuilder {
    program: Program,
    device: Device,
}

/// What the nodes of a tree are.
#[derive(Clone, Copy, Debug)]
pub struct Nodes {
    /// A constructor with two fields, which are trees.
    pub fork: CtorId,
    /// A constructor with one field, which is a number.
    pub leaf: CtorId,
    /// What the numbers are. In the buffer each takes 32 bits; those of `f24` are of `f32` there, and rounded.
    pub number: NumKind,
}

impl TreeBuilder {
    /// Loads the kernel.
    ///
    /// # Errors
    /// If the device refuses it.
    pub fn open(device: &Device) -> Result<TreeBuilder, Vec<Diagnostic>> {
        let module = verify(text::parse(Span::NONE.source, KERNEL)?.module)?;
        let kernels: Vec<_> = module.kernels().collect();
        let programs = device.load(&module, &kernels, &LoadOptions::default())?;
        let Ok([program]) = <[Program; 1]>::try_from(programs) else { return Err(vec![device::missing()]) };
        Ok(TreeBuilder { program, device: device.clone() })
    }

    /// A perfect tree over the numbers of a buffer of the program's device, the first one leftmost. It is owned, as what the host makes is. None if the heap of the program is not on
    /// this device; then the host has to build the tree.
    ///
    /// # Errors
    /// If the number of leaves is no power of two, a number is out of its kind's range, there is not enough memory, or the device fails.
    pub fn build(&self, words: &mut Words<'_>, nodes: Nodes, values: &Buffer) -> Result<Option<Datum>, Diagnostic> {
        let count = values.bytes() / 4;
        if !count.is_power_of_two() || !values.bytes().is_multiple_of(4) {
            let message = format!("a perfect tree has a power of two of leaves, and the buffer has {count} numbers");
            return Err(Diagnostic::new(Code::BadArguments, Span::NONE, message));
        }
        let headers = words.tree_cells(nodes)?;
        let (leaves, forks) = (u64::from(units(1)) * count, u64::from(units(2)) * (count - 1));
        let boxes = if headers.boxed == 0 { 0 } else { u64::from(units(1)) * count };
        let total = u32::try_from(leaves + forks + boxes).map_err(|_| too_large(count))?;
        let Some(space) = words.reserve(total)? else { return Ok(None) };
        if !space.heap.device.is(&self.device) {
            return Ok(None);
        }
        let status = self.device.zeroed(Memory::of(4))?;
        let numbers = [count as u32, space.first, headers.fork, headers.leaf, headers.boxed, headers.tag];
        let buffers = [&space.heap.buffer, values, &status].map(device::buffer);
        let arguments = buffers.into_iter().chain(numbers.map(device::number)).collect();
        let build = Dispatch { program: self.program.clone(), arguments, grid: Grid::Own };
        let mut told = [0; 4];
        self.device.submit_and_read(&[Command::Dispatch(build)], &mut [Read::new(&status, 0, &mut told)])?;
        if told != [0; 4] {
            let message = format!("a number of the buffer is out of the range of `{}`", nodes.number.name());
            return Err(Diagnostic::new(Code::BadArguments, Span::NONE, message));
        }
        let root = if count == 1 { space.first } else { space.first + leaves as u32 };
        Ok(Some(Datum::Word(girih_ir::heap::pack(girih_ir::heap::CELL, root))))
    }
}

#[cold]
fn too_large(count: u64) -> Diagnostic {
    let message = format!("a tree of {count} leaves is larger than a heap");
    Diagnostic::new(Code::OutOfMemory, Span::NONE, message)
}

//! Walks a tree that is in the heap of a device into a buffer of pixels, on the device: the kernel of `walk.gir`, and what it is given.
//!
//! Cells stand as [`supersteps`](crate::forkjoin::runner) has them: a unit is two words, the first word of a cell has its layout in the lower 16 bits, and its
//! fields follow.
//!
//! Invariant: a pixel is written for each leaf that was asked for, or the walk says that the tree is not of that form; then the pixels
//! mean nothing, and whoever wants them reads the tree by itself.

use crate::device;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::{text, verify};
use girih_runtime::DeviceHeap;
pub use girih_runtime::{Buffer, Command, Device, Dispatch, Grid, LoadOptions, Memory, Program, Read};
use std::sync::{Mutex, PoisonError};

const KERNEL: &str = include_str!("walk.gir");
/// Words of the table before the layouts: the root.
const ROOT: u64 = 3;

/// What a field of a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A word with a tag.
    Word,
    /// A whole number as it is.
    Integer,
    /// Something that is no colour.
    Other,
}

/// What leaves become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// 0xRRGGBB becomes four bytes, red, green, blue and 255.
    Pixels,
    /// They stay what they are.
    Numbers,
}

/// The fields of cells of a layout, or of the root; more than two are as good as none.
fn described(fields: impl ExactSizeIterator<Item = Field>) -> u32 {
    let count = fields.len().min(255) as u32;
    fields.take(2).zip([8, 10]).fold(count, |word, (field, place)| {
        let kind = match field {
            Field::Word => 0,
            Field::Integer => 1,
            Field::Other => 2,
        };
        word | kind << place
    })
}

/// The kernel, loaded onto a device, with buffers of its own.
#[derive(Debug)]
pub struct Walker {
    program: Program,
    table: Buffer,
    status: Buffer,
    /// One walk at a time has the root and the status.
    alone: Mutex<()>,
}

/// Where pixels go: four bytes each, red, green, blue and 255.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    buffer: Buffer,
    /// How many there is room for.
    room: u32,
}

impl Sheet {
    /// A new one on a device.
    ///
    /// # Errors
    /// If the device does not have the memory.
    pub fn new(device: &Device, room: u32) -> Result<Sheet, Diagnostic> {
        Ok(Sheet { buffer: device.zeroed(Memory::of(4 * u64::from(room)))?, room })
    }

    /// The buffer that the pixels are in.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Reads the first pixels: one copy to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self, device: &Device, pixels: &mut [[u8; 4]]) -> Result<(), Diagnostic> {
        device.read(&self.buffer, 0, pixels.as_flattened_mut())
    }
}

impl Walker {
    /// Loads the kernel for cells of these layouts, whose fields are given; those of others are left empty.
    ///
    /// # Errors
    /// If the device refuses the kernel, or does not have the memory.
    pub fn open(device: &Device, layouts: &[Vec<Field>]) -> Result<Walker, Vec<Diagnostic>> {
        let one = |diagnostic| vec![diagnostic];
        let module = verify(text::parse(Span::NONE.source, KERNEL)?.module)?;
        let kernels: Vec<_> = module.kernels().collect();
        let programs = device.load(&module, &kernels, &LoadOptions::default())?;
        let Ok([program]) = <[Program; 1]>::try_from(programs) else {
            return Err(one(Diagnostic::new(Code::Internal, Span::NONE, "the device gave no kernel")));
        };
        let table: Vec<u32> = layouts.iter().map(|fields| described(fields.iter().copied())).collect();
        let allocate = |words: u64| device.zeroed(Memory::of(4 * words)).map_err(one);
        let [table_buffer, status] = [ROOT + table.len() as u64, 1].map(allocate);
        let walker = Walker { program, table: table_buffer?, status: status?, alone: Mutex::default() };
        walker.write(device, 4 * ROOT, &table).map_err(one)?;
        Ok(walker)
    }

    /// Writes the first `count` leaves of a tree with `depth` levels of forks, from left to right, as pixels onto a sheet of the same device. The root is given as one field, or
    /// as two that are a fork without a cell. Says whether the tree was of that form.
    ///
    /// # Errors
    /// If the device fails.
    pub fn walk(
        &self,
        heap: &DeviceHeap,
        root: &[(Field, u32)],
        depth: u32,
        count: u32,
        sheet: &Sheet,
    ) -> Result<bool, Diagnostic> {
        if count > sheet.room {
            return Ok(false);
        }
        self.gather(heap, root, (depth, count), (&sheet.buffer, Leaves::Pixels))
    }

    /// The same into any buffer of the device, a word each: what other kernels are given. It is there for what is submitted to the device from then on.
    ///
    /// # Errors
    /// If the device fails, or the buffer has less room.
    pub fn gather(
        &self,
        DeviceHeap { device, buffer }: &DeviceHeap,
        root: &[(Field, u32)],
        (depth, count): (u32, u32),
        (into, leaves): (&Buffer, Leaves),
    ) -> Result<bool, Diagnostic> {
        if depth > 31 || root.len() > 2 {
            return Ok(false);
        }
        let mut words = vec![described(root.iter().map(|(field, _)| *field))];
        words.extend(root.iter().map(|(_, word)| *word));
        let _alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        self.write(device, 0, &words)?;
        let into = into.slice(0, 4 * u64::from(count));
        let buffers = [buffer, &self.table, &into, &self.status].map(device::buffer);
        let numbers = [count, depth, u32::from(leaves == Leaves::Pixels)].map(device::number);
        let arguments = buffers.into_iter().chain(numbers).collect();
        let walk = Dispatch { program: self.program.clone(), arguments, grid: Grid::Own };
        let mut status = [0; 4];
        let commands = [Command::clear(&self.status, 0, 4), Command::Dispatch(walk)];
        device.submit_and_read(&commands, &mut [Read::new(&self.status, 0, &mut status)])?;
        Ok(status == [0; 4])
    }

    fn write(&self, device: &Device, offset: u64, words: &[u32]) -> Result<(), Diagnostic> {
        device::write(device, &self.table, offset, words)
    }
}

//! What a kernel is given at its launch: an array of 64-bit words, one for each thread that runs workgroups.
//!
//! Invariant: code and launcher know its layout from here alone.

use girih_ir::{Function, MemoryId, Space};

/// Address of the `u32` that is not 0 once the launch is to end.
pub(crate) const STOP: usize = 0;
/// The grid's three dimensions.
pub(crate) const GRID: usize = 1;
/// Address of the workgroup's shared memory.
pub(crate) const SHARED: usize = 4;
/// Address of the invocations' frames.
pub(crate) const FRAMES: usize = 5;
/// Where a fault notes the element that does not exist.
pub(crate) const ELEMENT: usize = 6;
/// Where a fault notes the invocation.
pub(crate) const LANE: usize = 7;
/// The workgroup's three dimensions.
pub(crate) const SIZE: usize = 8;
const FIRST: usize = 11;

/// The words of a parameter: its bits or the address of its first byte, then how many bytes it has.
pub(crate) const fn parameter(position: usize) -> usize {
    FIRST + 2 * position
}

/// The words of a shared memory of chosen length: its first byte after the start of shared memory, then how many it has.
pub(crate) const fn chosen(parameters: usize, position: usize) -> usize {
    FIRST + 2 * (parameters + position)
}

/// How many words there are.
pub(crate) const fn words(parameters: usize, chosen: usize) -> usize {
    FIRST + 2 * (parameters + chosen)
}

/// What each memory is aligned to at least: the widest access.
const ALIGN: u64 = 16;

/// A shared memory's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SharedPlace {
    /// So many bytes after the start, and so many long.
    Fixed { at: u64, bytes: u64 },
    /// The one of this position among those of chosen length.
    Chosen(usize),
}

/// How a kernel's shared memories lie: those of known length, then those of chosen length in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedLayout {
    /// The shared memories.
    pub places: Vec<(MemoryId, SharedPlace)>,
    /// Bytes of those of known length.
    pub fixed: u64,
    /// Alignment of those of chosen length.
    pub chosen: Vec<u64>,
}

impl SharedLayout {
    /// The layout of a kernel's memories; those of a group that may overlap do.
    pub fn of(kernel: &Function) -> SharedLayout {
        let mut layout = SharedLayout::default();
        let mut groups: Vec<(u32, u64)> = vec![];
        let shared = || kernel.memories.iter_enumerated().filter(|(_, m)| m.space == Space::Shared);
        for (id, memory) in shared() {
            let align = u64::from(memory.align).max(ALIGN);
            let place = match kernel.as_constant(memory.length) {
                None => {
                    layout.chosen.push(align);
                    SharedPlace::Chosen(layout.chosen.len() - 1)
                }
                Some(length) => {
                    let bytes = length * u64::from(memory.element.bytes());
                    let found = groups.iter().find(|(group, _)| memory.group != 0 && *group == memory.group);
                    let at = match found {
                        Some((_, at)) => *at,
                        None => {
                            let (size, align) = group_shape(kernel, memory.group).unwrap_or((bytes, align));
                            let at = layout.fixed.next_multiple_of(align);
                            layout.fixed = at + size;
                            groups.push((memory.group, at));
                            at
                        }
                    };
                    SharedPlace::Fixed { at, bytes }
                }
            };
            layout.places.push((id, place));
        }
        layout
    }

    /// Where the memories of chosen length begin if they have so many bytes, and bytes in all.
    pub fn choose(&self, bytes: &[u32]) -> (Vec<u64>, u64) {
        let mut end = self.fixed;
        let mut starts = vec![];
        for (bytes, align) in bytes.iter().zip(&self.chosen) {
            let start = end.next_multiple_of(*align);
            starts.push(start);
            end = start + u64::from(*bytes);
        }
        (starts, end)
    }
}

/// Bytes and alignment of the memories of a group; none for memories that are in no group.
fn group_shape(kernel: &Function, group: u32) -> Option<(u64, u64)> {
    let members = kernel.memories.iter().filter(|m| group != 0 && m.space == Space::Shared && m.group == group);
    members.fold(None, |shape, m| {
        let (size, align) = shape.unwrap_or((0, ALIGN));
        let bytes = kernel.as_constant(m.length).unwrap_or(0) * u64::from(m.element.bytes());
        Some((bytes.max(size), align.max(m.align.into())))
    })
}

/// An invocation's frame: what it keeps from one barrier to the next, then its private memories.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrameLayout {
    /// Bytes of the frame.
    pub bytes: u64,
}

impl FrameLayout {
    /// Adds bytes; gives where they begin.
    pub fn add(&mut self, bytes: u64, align: u64) -> u64 {
        let at = self.bytes.next_multiple_of(align.max(1));
        self.bytes = at + bytes;
        at
    }

    /// Bytes from one frame to the next.
    pub fn stride(&self) -> u64 {
        self.bytes.next_multiple_of(ALIGN)
    }
}

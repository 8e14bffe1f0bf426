//! Where a kernel's shared memories lie: as arrays of their own while they fit the 48 KiB that every launch has, otherwise (and
//! where a length is chosen at launch) one after another in the memory that is asked for at launch.

use girih_base::diag::{Code, Diagnostic};
use girih_ir::{Function, MemoryId, Space};
use std::fmt::Write;

/// What a workgroup can have without asking.
const STATIC_BYTES: u32 = 48 << 10;

/// The array of the memory that is asked for at launch.
pub(super) const DYNAMIC: &str = "shared$asked";

/// A shared memory's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// An array of this name.
    Array(String),
    /// A constant number of bytes after the start of the launch's memory.
    At(u32),
    /// After the memories of constant length, and after those of chosen length before it.
    Chosen,
}

/// An array of fixed length.
#[derive(Clone, Debug)]
struct Array {
    name: String,
    bytes: u32,
    align: u32,
    group: u32,
}

/// The shared memories of a kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedLayout {
    places: Vec<(MemoryId, Place)>,
    arrays: Vec<Array>,
    /// What a launch needs.
    pub size: SharedSize,
}

/// How much shared memory a launch of a kernel has to ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedSize {
    /// Bytes of arrays that every launch has.
    pub fixed: u32,
    /// Bytes that every launch has to ask for, before memories of chosen length.
    pub asked: u32,
    /// Alignment of each memory of chosen length, in the order of the kernel's memories.
    pub chosen: Vec<u32>,
}

impl SharedSize {
    /// Bytes to ask for at a launch of a kernel where the memories of chosen length have so many bytes; an error if that is more than
    /// `most`.
    pub fn bytes(&self, chosen: &[u32], most: u32, kernel: &Function) -> Result<u32, Diagnostic> {
        let place = |end: u64, (bytes, align): (&u32, &u32)| end.next_multiple_of((*align).into()) + u64::from(*bytes);
        let bytes = chosen.iter().zip(&self.chosen).fold(self.asked.into(), place);
        if bytes <= most.into() {
            return Ok(bytes as u32);
        }
        let message = format!("a workgroup asks for {bytes} bytes of shared memory, but the device allows {most}");
        Err(Diagnostic::new(Code::OverLimit, kernel.span, message))
    }
}

impl SharedLayout {
    /// The places of a kernel's memories.
    pub fn of(kernel: &Function) -> SharedLayout {
        let mut layout = SharedLayout::default();
        let mut chosen = vec![];
        for (id, memory) in kernel.memories.iter_enumerated() {
            if memory.space != Space::Shared {
                continue;
            }
            let align = memory.align.max(memory.element.bytes()).max(4);
            match kernel.as_constant(memory.length) {
                Some(length) => {
                    let bytes = (length as u32).saturating_mul(memory.element.bytes());
                    let name = layout.array(bytes, align, memory.group);
                    layout.places.push((id, Place::Array(name)));
                }
                None => {
                    layout.size.chosen.push(align.max(16));
                    chosen.push((id, Place::Chosen));
                }
            }
        }
        layout.places.extend(chosen);
        layout.size.fixed =
            layout.arrays.iter().fold(0, |end: u32, a| end.next_multiple_of(a.align).saturating_add(a.bytes));
        if !layout.size.chosen.is_empty() || layout.size.fixed > STATIC_BYTES {
            layout.ask_for_all();
        }
        layout
    }

    /// An array for a memory: the group's, if it is in one that has an array already.
    fn array(&mut self, bytes: u32, align: u32, group: u32) -> String {
        if let Some(array) = self.arrays.iter_mut().find(|a| group != 0 && a.group == group) {
            array.bytes = array.bytes.max(bytes);
            array.align = array.align.max(align);
            return array.name.clone();
        }
        let name = format!("shared{}", self.arrays.len());
        self.arrays.push(Array { name: name.clone(), bytes, align, group });
        name
    }

    /// Moves the arrays of fixed length into the memory that is asked for.
    fn ask_for_all(&mut self) {
        let mut end = 0u32;
        for array in std::mem::take(&mut self.arrays) {
            let start = end.next_multiple_of(array.align);
            end = start.saturating_add(array.bytes);
            for (_, place) in &mut self.places {
                if *place == Place::Array(array.name.clone()) {
                    *place = Place::At(start);
                }
            }
        }
        self.size.asked = end;
        self.size.fixed = 0;
    }

    /// The place of a shared memory.
    pub fn place(&self, memory: MemoryId) -> Option<&Place> {
        self.places.iter().find(|(id, _)| *id == memory).map(|(_, place)| place)
    }
    /// Memories of chosen length, in order, with their alignment.
    pub fn chosen(&self) -> impl Iterator<Item = (MemoryId, u32)> {
        let ids = self.places.iter().filter(|(_, place)| *place == Place::Chosen).map(|(id, _)| *id);
        ids.zip(self.size.chosen.iter().copied())
    }
    /// Declarations of the arrays.
    pub fn declarations(&self) -> Vec<String> {
        let declare = |a: &Array| {
            let mut text = String::new();
            let _ = write!(text, "  .shared .align {} .b8 {}[{}];", a.align, a.name, a.bytes.max(1));
            text
        };
        self.arrays.iter().map(declare).collect()
    }
}

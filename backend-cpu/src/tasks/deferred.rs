//! Deferred decrements. Where many threads share and drop one cell, each change of its count takes the cell from the caches of all others, and they wait
//! for each other. So a thread does not subtract at once from a count that is large: it notes that it will, and when it adds an owner to the same cell, it takes such a note back instead. A thread that adds and drops the same
//! cell again and again leaves its count alone. (Levanoni, Petrank: *An On-the-Fly Reference-Counting Garbage Collector for Java*, TOPLAS 2006; Blelloch, Wei: *Turning Manual Concurrent Memory Reclamation into
//! Automatic Reference Counting*, PLDI 2022.)
//!
//! Invariant: a count is never smaller than the number of owners, for what is noted has not been subtracted. So a count of 1 still means that nobody else has the cell.

/// How many cells a thread has notes of: a power of two.
const ENTRIES: usize = 64;

/// A cell with more owners than this is noted. One that has two is often only one's soon, and a note would hide that from the other.
pub(super) const FEW: u32 = 2;

/// What is subtracted from the count of a cell later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// The cell.
    pub word: u32,
    /// How much.
    pub count: u32,
}

impl Note {
    /// A note as it stands in memory; none if nothing is to be subtracted.
    fn of(entry: u64) -> Option<Note> {
        let note = Note { word: (entry >> 32) as u32, count: entry as u32 };
        (note.count > 0).then_some(note)
    }
}

/// Which bits of a cell's word say in bytes where its note stands.
pub(super) const PLACE: u32 = ((ENTRIES - 1) * size_of::<u64>()) as u32;

/// The notes of a thread, one for all cells that share a place. In the high half of each is the cell's word, in the low half the count: so code sees by one comparison whether
/// there is a note of a cell, and also whether it may take one back: what is one less has another high half if nothing is noted.
#[repr(C)]
#[derive(Clone, Debug)]
pub(super) struct Notes([u64; ENTRIES]);

impl Notes {
    pub const NONE: Notes = Notes([0; ENTRIES]);

    fn at(&mut self, word: u32) -> &mut u64 {
        &mut self.0[(word & PLACE) as usize / size_of::<u64>()]
    }

    /// Notes that an owner of a cell is gone. The note that had to make room for it, if there was one.
    pub fn add(&mut self, word: u32) -> Option<Note> {
        let entry = self.at(word);
        if *entry >> 32 == u64::from(word) {
            *entry += 1;
            return None;
        }
        Note::of(std::mem::replace(entry, u64::from(word) << 32 | 1))
    }

    /// Takes the note of a cell out.
    pub fn remove(&mut self, word: u32) -> Option<Note> {
        let entry = self.at(word);
        if *entry >> 32 == u64::from(word) { Note::of(std::mem::take(entry)) } else { None }
    }

    /// Takes any note out.
    pub fn pop(&mut self) -> Option<Note> {
        self.0.iter_mut().find_map(|entry| Note::of(std::mem::take(entry)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_one_place_drive_each_other_out() {
        let (mut notes, far) = (Notes::NONE, 12 + size_of::<Notes>() as u32);
        assert_eq!((notes.add(12), notes.add(12), notes.add(20)), (None, None, None));
        assert_eq!(notes.add(far), Some(Note { word: 12, count: 2 }));
        assert_eq!((notes.remove(12), notes.remove(20)), (None, Some(Note { word: 20, count: 1 })));
        assert_eq!((notes.pop(), notes.pop()), (Some(Note { word: far, count: 1 }), None));
    }
}

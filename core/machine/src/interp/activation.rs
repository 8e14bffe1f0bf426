//! What a running function holds: its values, and where its memories are.

use super::code::{Array, Code, Owner, Slot, Team};
use super::mask::Mask;
use girih_ir::FunctionId;
use girih_ir::types::Space;

/// Why a value or a byte is undefined: a row of the origins in [`super::checks`]; 0 if it is defined.
pub(super) type Origin = u32;

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    pub space: Space,
    /// Of a buffer: which one.
    pub buffer: usize,
    /// First byte: of the buffer, of the workgroup's shared bytes, or of each lane's private bytes.
    pub start: u64,
    /// How many bytes it reaches.
    pub bytes: u64,
    /// Of shared memory that others may lie over: which one; else 0.
    pub member: u32,
}

impl Handle {
    /// A handle before it is bound: every access is outside of it.
    const UNBOUND: Handle = Handle { space: Space::Shared, buffer: 0, start: 0, bytes: 0, member: 0 };
}

/// Values and memories of one call of a function by the lanes that made it.
#[derive(Clone, Debug)]
pub(super) struct Activation {
    pub function: FunctionId,
    pub values: Vec<u64>,
    /// For each of the values, if faults are looked for.
    pub origins: Vec<Origin>,
    pub handles: Vec<Handle>,
    /// Lane after lane.
    pub private: Vec<u8>,
    /// For each granule of `private`.
    pub private_origins: Vec<Origin>,
}

impl Activation {
    /// A activation with the function's constants in place; handles of shared memory are bound by `shared`, the first bytes of its arrays.
    pub(super) fn new(function: FunctionId, code: &Code, team: Team, checked: bool, shared: &[Handle]) -> Activation {
        let mut activation = Activation {
            function,
            values: vec![0; code.values],
            origins: if checked { vec![0; code.values] } else { vec![] },
            handles: vec![Handle::UNBOUND; code.handles],
            private: vec![0; code.private_bytes * team.lanes],
            private_origins: vec![],
        };
        for (slot, bits) in &code.constants {
            activation.fill(*slot, *bits, team);
        }
        for (array, handle) in code.arrays.iter().zip(shared) {
            activation.handles[array.handle] = *handle;
        }
        activation
    }

    /// Gives all owners of a value the same bits.
    pub(super) fn fill(&mut self, slot: Slot, bits: u64, team: Team) {
        let count = slot.components * owners(slot, team);
        self.values[slot.offset..slot.offset + count].fill(bits);
    }
}

/// The handle of a private array.
pub(super) fn private(array: &Array) -> Handle {
    let bytes = array.bytes.unwrap_or(0) as u64;
    Handle { space: Space::Private, buffer: 0, start: array.start as u64, bytes, member: 0 }
}

/// How many have a value of their own.
pub(super) fn owners(slot: Slot, team: Team) -> usize {
    match slot.owner {
        Owner::Lane => team.lanes,
        Owner::Subgroup => team.subgroups(),
        Owner::Handle => 0,
    }
}

/// Which owners of a value some lanes are or belong to.
pub(super) fn owning(slot: Slot, lanes: &Mask, team: Team) -> Mask {
    match slot.owner {
        Owner::Lane => *lanes,
        Owner::Subgroup => {
            let mut groups = Mask::EMPTY;
            lanes.each(|lane| groups.insert(lane / team.width));
            groups
        }
        Owner::Handle => Mask::EMPTY,
    }
}

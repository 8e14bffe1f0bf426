//! The memory of a session on a device: how large its buffers are, and the buffers.

use super::calls::PIECE;
use super::{Kernels, Options};
use crate::rules::Rule;
use crate::word::INDICES;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_runtime::{Buffer, Device, Memory};

/// Invocations of a workgroup.
const WORKGROUP: u32 = 64;
/// Words that come of a counter of all lanes: two for each invocation of a workgroup.
pub(super) const SUMS: u64 = 2 * WORKGROUP as u64;
/// Bytes for each place: a node, a wire, the two lists, and half a redex of the ring.
const PLACE_BYTES: u64 = 24;
/// Places are taken in blocks of so many, each in an order of its own.
pub(super) const BLOCK: u32 = 1 << 10;
/// Fewer places than this are not worth a run.
const LEAST_PLACES: u64 = BLOCK as u64;
/// Levels of a lane's stack, at least, and at most if memory is plentiful: a lane goes depth first, so its stack is as deep as the recursion it is in.
const LEAST_DEPTH: u32 = 48;
const MOST_DEPTH: u32 = 256;
/// The part of the memory that stacks may take where they are deeper than they must be.
const STACKS: u64 = 16;

/// Words of `control`.
pub(super) mod control {
    pub const HEAD: usize = 0;
    pub const TAIL: usize = 1;
    pub const BASE: usize = 2;
    pub const LIMIT: usize = 3;
    pub const NODE: usize = 4;
    pub const NODE_END: usize = 5;
    pub const WIRE: usize = 6;
    pub const WIRE_END: usize = 7;
    pub const LISTED: usize = 8;
    pub const FAULT: usize = 10;
    pub const FULL: usize = 11;
    pub const SUPERSTEPS: usize = 12;
    pub const PATIENCE: usize = 13;
    pub const STEPS: usize = 14;
    pub const WORKED: usize = 15;
    pub const MOST: usize = 17;
    pub const OWNERS: usize = 18;
    pub const HAVE_WAITED: usize = 19;
    pub const NEVER_WAIT: usize = 20;
    pub const WOKEN: usize = 21;
    pub const WORDS: usize = 22;
}

/// How large the buffers are.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferSizes {
    pub(super) lanes: u32,
    pub(super) depth: u32,
    /// Levels that must be free before an interaction.
    pub(super) reserve: u32,
    /// Counters of a lane: for each rule, and for each way that a call takes.
    pub(super) counters: u32,
    pub(super) places: u32,
    pub(super) ring: u32,
    pub(super) chunk: u32,
    pub(super) steps: u32,
    pub(super) memory: u64,
}

impl BufferSizes {
    pub(super) fn new(
        kernels: &Kernels,
        device: &Device,
        options: &Options,
        limit: u64,
    ) -> Result<BufferSizes, Diagnostic> {
        let caps = device.caps();
        let reach = caps.binding_bytes.min(caps.buffer_bytes);
        let memory = options.memory.min(limit);
        let places = (memory / PLACE_BYTES).min(reach / 8).min(u64::from(INDICES) - 1);
        if places < LEAST_PLACES {
            let message = format!("a net on a device needs at least {} KiB", (LEAST_PLACES * PLACE_BYTES) >> 10);
            return Err(Diagnostic::new(Code::OutOfMemory, Span::NONE, message).hint("allow more with `--memory`"));
        }
        // A call leaves two links beside its redexes; one more is the redex that a lane has in hand.
        let reserve = (kernels.redexes + 1).max(4) + 2;
        let deep = memory / STACKS / (8 * u64::from(options.lanes).max(1));
        let depth = (deep.min(u64::from(MOST_DEPTH)) as u32).max(LEAST_DEPTH).max(2 * reserve);
        let counters = (Rule::ALL.len() + kernels.ways.len()) as u32;
        let row = u64::from(2 * depth + 6 + counters);
        let most = (reach / (4 * row)).min(u64::from(options.lanes)) as u32;
        let places = places as u32 / BLOCK * BLOCK;
        // Where lanes take whole pieces, there are no more of them than have some.
        let most = if kernels.in_pieces { most.min(places / PIECE / 4) } else { most };
        let lanes = (most / WORKGROUP).max(1) * WORKGROUP;
        let ring = 1 << (places / 2).ilog2();
        let chunk = if kernels.in_pieces { PIECE } else { (places / lanes / 4).clamp(4, PIECE) };
        let steps = options.steps;
        Ok(BufferSizes {
            lanes,
            depth,
            reserve,
            counters,
            places,
            ring,
            chunk,
            steps,
            memory: u64::from(places) * PLACE_BYTES,
        })
    }

    /// Where the counts of rules are in `stack`.
    pub(super) fn counts(&self) -> u64 {
        u64::from(self.lanes) * u64::from(2 * self.depth + 4)
    }

    /// Where `stack` says how many redexes and calls the stack of each lane has.
    pub(super) fn tops(&self) -> u64 {
        self.counts() + u64::from(self.lanes) * u64::from(self.counters)
    }
}

#[derive(Clone)]
pub(super) struct Buffers {
    pub(super) nodes: Buffer,
    pub(super) wires: Buffer,
    pub(super) lists: Buffer,
    pub(super) ring: Buffer,
    pub(super) stack: Buffer,
    pub(super) control: Buffer,
    pub(super) book: Buffer,
    pub(super) sums: Buffer,
    pub(super) grid: Buffer,
}

impl Buffers {
    /// Buffers of a shape, and of a book of so many words; none stays if one cannot be had.
    pub(super) fn new(device: &Device, shape: &BufferSizes, words: usize) -> Result<Buffers, Diagnostic> {
        let (places, lanes) = (u64::from(shape.places), u64::from(shape.lanes));
        // Lanes look at places a little beyond those that they need.
        let sizes = [
            2 * places,
            places,
            2 * places + u64::from(BLOCK),
            2 * u64::from(shape.ring),
            shape.tops() + 2 * lanes,
            control::WORDS as u64,
            words as u64,
            u64::from(shape.counters) * SUMS,
        ];
        let mut ids = vec![];
        let mut failed = None;
        for (count, indirect) in sizes.into_iter().map(|count| (count, false)).chain([(3, true)]) {
            match device.zeroed(Memory { bytes: 4 * count, indirect }) {
                Ok(id) => ids.push(id),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let Ok([nodes, wires, lists, ring, stack, control, book, sums, grid]) = <[Buffer; 9]>::try_from(ids) else {
            return Err(failed.unwrap_or_else(missing));
        };
        Ok(Buffers { nodes, wires, lists, ring, stack, control, book, sums, grid })
    }
}

pub(super) fn missing() -> Diagnostic {
    Diagnostic::new(Code::Internal, Span::NONE, "the device gave no kernels")
}

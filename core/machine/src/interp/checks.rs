//! What is remembered to find faults: who accessed which bytes and when, and which values and bytes are undefined.
//!
//! Time is a counter that goes up at each workgroup, barrier and acquire. For each granule (the size of the program's smallest
//! access, at most 4 bytes) of buffers and of shared memory the last writer and readers are kept with their time: two
//! accesses race if one writes, not both are atomic, and neither a barrier of the workgroup nor the end of a dispatch lies
//! between them.
//!
//! Invariant: no fault is reported in a correct program. So an `acquire` counts as ordering everything before it,
//! although it may order less.

use super::activation::{Activation, Handle, Origin};
use super::mask::Mask;
use girih_base::span::Span;
use girih_ir::attrs::Spaces;
use girih_ir::types::Space;
use girih_ir::{AttrKind, Inst};
use std::collections::HashMap;
use std::ops::Range;

/// Why something is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reason {
    /// It was read from memory that nobody has written.
    NeverWritten(Space),
    /// It was to come from a lane that is not there.
    NoLane,
    /// Arithmetic marked `nowrap` wrapped.
    Wrapped,
    /// An asynchronous copy writes there.
    Copy,
    /// A matrix product is under way.
    Product,
}

/// Why and where something became undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Row {
    pub reason: Reason,
    pub span: Span,
}

/// How bytes are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// An ordinary read.
    Read,
    /// An ordinary write.
    Write,
    /// A read that others may write beside: an atomic or a volatile one.
    AtomicRead,
    /// An atomic write.
    AtomicWrite,
}

impl Access {
    /// How a load reads: a volatile one expects that others write meanwhile.
    pub(super) fn of_load(load: &Inst) -> Access {
        if load.has(AttrKind::Volatile) { Access::AtomicRead } else { Access::Read }
    }
    fn writes(self) -> bool {
        matches!(self, Access::Write | Access::AtomicWrite)
    }
    fn atomic(self) -> bool {
        matches!(self, Access::AtomicRead | Access::AtomicWrite)
    }
}

/// Two accesses that race: the earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Whether it was in an earlier workgroup; else in this one.
    pub foreign: bool,
    /// Who it was; none if there were several or it was in another workgroup.
    pub lane: Option<usize>,
    /// Whether it wrote.
    pub wrote: bool,
}

/// An access to a granule: lane in bits 0 to 9, flags, time from bit 16. 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark(u64);

impl Mark {
    /// Lanes besides the one that is kept, in the same superstep.
    const SEVERAL: u64 = 1 << 10;
    /// All of them were atomic.
    const ATOMIC: u64 = 1 << 11;
    /// Earlier workgroups of the dispatch wrote here, too (atomically, or it would have been a race).
    const FOREIGN: u64 = 1 << 12;

    fn new(lane: usize, atomic: bool, time: u64) -> Mark {
        Mark(lane as u64 | if atomic { Mark::ATOMIC } else { 0 } | time << 16)
    }
    fn lane(self) -> usize {
        (self.0 & 1023) as usize
    }
    fn time(self) -> u64 {
        self.0 >> 16
    }
    fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }
}

/// The last accesses to a granule.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    write: Mark,
    /// Readers of the workgroup's superstep.
    read: Mark,
    /// A reader of an earlier workgroup.
    foreign: Mark,
}

/// From when on accesses count.
#[derive(Clone, Copy, Debug)]
struct Since {
    /// Those of earlier workgroups.
    foreign: u64,
    workgroup: u64,
    /// Those of other lanes.
    start: u64,
}

impl Marks {
    fn access(&mut self, access: Access, lane: usize, now: u64, since: Since) -> Option<Conflict> {
        let conflict = self.conflict(access, lane, since);
        let start = |mark: Mark| mark.time() >= since.start;
        let merged = |old: Mark| {
            let mut mark = Mark::new(lane, access.atomic(), now);
            if start(old) {
                if old.lane() != lane || old.has(Mark::SEVERAL) {
                    mark.0 |= Mark::SEVERAL;
                }
                if !old.has(Mark::ATOMIC) {
                    mark.0 &= !Mark::ATOMIC;
                }
            }
            mark
        };
        if access.writes() {
            let old = self.write;
            self.write = merged(old);
            let foreign = old.time() >= since.foreign && old.time() < since.workgroup;
            if foreign || old.time() >= since.workgroup && old.has(Mark::FOREIGN) {
                self.write.0 |= Mark::FOREIGN;
            }
        } else {
            let old = self.read;
            if old.time() >= since.foreign && old.time() < since.workgroup {
                let plain = self.foreign.time() >= since.foreign && !self.foreign.has(Mark::ATOMIC);
                self.foreign = if plain { self.foreign } else { old };
            }
            self.read = merged(old);
        }
        conflict
    }

    fn conflict(&self, access: Access, lane: usize, since: Since) -> Option<Conflict> {
        let against = |mark: Mark, wrote: bool| {
            let both_atomic = access.atomic() && mark.has(Mark::ATOMIC);
            let alone = !mark.has(Mark::SEVERAL);
            let earlier = mark.time() < since.workgroup || mark.has(Mark::FOREIGN) && !access.atomic();
            if both_atomic || mark.time() < since.foreign {
                None
            } else if earlier && since.foreign < since.workgroup {
                Some(Conflict { foreign: true, lane: None, wrote })
            } else if mark.time() >= since.start && (mark.lane() != lane || !alone) {
                Some(Conflict { foreign: false, lane: alone.then_some(mark.lane()), wrote })
            } else {
                None
            }
        };
        let reads = || against(self.read, false).or_else(|| against(self.foreign, false));
        against(self.write, true).or_else(|| if access.writes() { reads() } else { None })
    }
}

/// What a device keeps between dispatches, so that it need not be made anew: marks by buffer, and the time that it is.
#[derive(Debug, Default)]
pub struct Shadows {
    granule: u32,
    now: u64,
    buffers: Vec<Vec<Marks>>,
}

impl Shadows {
    /// The marks for granules of a size and buffers of these sizes; those of size 0 are left alone.
    fn take(&mut self, granule: u32, buffers: impl Iterator<Item = usize>) -> Vec<Vec<Marks>> {
        if self.granule != granule {
            self.buffers.clear();
        }
        self.granule = granule;
        for (buffer, bytes) in buffers.enumerate() {
            if self.buffers.len() == buffer {
                self.buffers.push(vec![]);
            }
            // A buffer never changes its size. What is left of earlier dispatches is older than this one.
            if bytes > 0 {
                self.buffers[buffer].resize(bytes.div_ceil(1 << granule), Marks::default());
            }
        }
        std::mem::take(&mut self.buffers)
    }
    /// Forgets a buffer.
    pub(super) fn forget(&mut self, buffer: usize) {
        if let Some(marks) = self.buffers.get_mut(buffer) {
            *marks = vec![];
        }
    }
}

/// What is remembered during a dispatch.
#[derive(Debug)]
pub struct Checks {
    /// Whether anything undefined has come up in the workgroup.
    pub poisoned: bool,
    /// Which bytes of each buffer are promised not to be written.
    pub readonly: Vec<Vec<Range<u64>>>,
    granule: u32,
    now: u64,
    dispatch: u64,
    workgroup: u64,
    /// From when on earlier workgroups' accesses count.
    foreign: u64,
    starts: [u64; 2],
    /// When ordinary writes were last made visible to matrix products.
    async_fence: u64,
    /// By buffer; empty for those that the dispatch does not reach.
    buffers: Vec<Vec<Marks>>,
    shared: Vec<Marks>,
    shared_origins: Vec<Origin>,
    /// Which member of a group of memories has written each granule of shared memory last.
    writers: Vec<u32>,
    /// How many products under way read each granule of shared memory.
    readers: Vec<u16>,
    origins: Vec<Row>,
    known: HashMap<Row, Origin>,
}

/// Origins of bytes that nobody has written.
const NEVER_SHARED: Origin = 1;
const NEVER_PRIVATE: Origin = 2;

impl Checks {
    /// For a dispatch on buffers of these sizes (0 for those that it does not reach).
    pub fn new(
        shadows: &mut Shadows,
        granule: u32,
        buffers: impl Iterator<Item = usize>,
        shared_bytes: usize,
    ) -> Checks {
        let granules = shared_bytes.div_ceil(1 << granule);
        let never = |space| Row { reason: Reason::NeverWritten(space), span: Span::NONE };
        let now = shadows.now + 1;
        Checks {
            poisoned: false,
            readonly: vec![],
            granule,
            now,
            dispatch: now,
            workgroup: now,
            foreign: now,
            starts: [now; 2],
            async_fence: 0,
            buffers: shadows.take(granule, buffers),
            shared: vec![Marks::default(); granules],
            shared_origins: vec![0; granules],
            writers: vec![0; granules],
            readers: vec![0; granules],
            // Row 0 stands for what is defined and is never looked at.
            origins: vec![never(Space::Global), never(Space::Shared), never(Space::Private)],
            known: HashMap::new(),
        }
    }

    /// Gives the marks back.
    pub(super) fn end(self, shadows: &mut Shadows) {
        *shadows = Shadows { granule: self.granule, now: self.now, buffers: self.buffers };
    }

    /// A workgroup begins: nothing orders what earlier ones did before what it does.
    pub fn begin_workgroup(&mut self) {
        self.now += 1;
        self.workgroup = self.now;
        self.foreign = self.dispatch;
        self.starts = [self.now; 2];
        self.shared_origins.fill(NEVER_SHARED);
        self.readers.fill(0);
        self.origins.truncate(3);
        self.known.clear();
        self.poisoned = false;
    }

    /// The values of a workgroup that begins are defined, and its private bytes are not.
    pub(super) fn begin_activation(&self, activation: &mut Activation) {
        activation.origins.fill(0);
        activation.private_origins.clear();
        activation.private_origins.resize(activation.private.len() >> self.granule, NEVER_PRIVATE);
    }

    /// A call's private bytes are new.
    pub(super) fn begin_call(&mut self, activation: &mut Activation, private_bytes: usize, mask: &Mask) {
        activation.private_origins.resize(activation.private.len() >> self.granule, NEVER_PRIVATE);
        let each = private_bytes >> self.granule;
        mask.each(|lane| activation.private_origins[lane * each..][..each].fill(NEVER_PRIVATE));
    }

    /// Orders the accesses of all lanes to these spaces before those after.
    pub fn barrier(&mut self, spaces: Spaces) {
        self.now += 1;
        if spaces.global {
            self.starts[0] = self.now;
        }
        if spaces.shared {
            self.starts[1] = self.now;
        }
    }
    /// Orders what the lane has seen, and with it everything before, ahead of what follows.
    pub fn acquire(&mut self) {
        self.barrier(Spaces { global: true, shared: true });
        self.foreign = self.workgroup;
    }
    /// Ordinary writes so far are seen by matrix products.
    pub(super) fn fence_async(&mut self) {
        self.now += 1;
        self.async_fence = self.now;
    }

    fn granules(&self, address: u64, bytes: u64) -> std::ops::Range<usize> {
        (address >> self.granule) as usize..((address + bytes).div_ceil(1 << self.granule)) as usize
    }

    /// Notes an access to a buffer (by number) or to shared memory; gives what it races with.
    pub fn access(
        &mut self,
        buffer: Option<usize>,
        address: u64,
        bytes: u64,
        lane: usize,
        access: Access,
    ) -> Option<Conflict> {
        let range = self.granules(address, bytes);
        let workgroup = self.workgroup;
        let (marks, since) = match buffer {
            Some(buffer) => {
                let since = Since { foreign: self.foreign, workgroup, start: self.starts[0] };
                (&mut self.buffers[buffer], since)
            }
            // Shared memory has no earlier workgroups.
            None => (&mut self.shared, Since { foreign: workgroup, workgroup, start: self.starts[1] }),
        };
        let mut found = None;
        for marks in marks.get_mut(range).into_iter().flatten() {
            found = found.or(marks.access(access, lane, self.now, since));
        }
        found
    }

    /// Why bytes of shared or private memory are undefined; 0 if they are not.
    pub(super) fn origin_of(&self, private: Option<&[Origin]>, address: u64, bytes: u64) -> Origin {
        let origins = private.unwrap_or(&self.shared_origins);
        origins.get(self.granules(address, bytes)).into_iter().flatten().copied().max().unwrap_or(0)
    }
    /// Why bytes of an array of shared memory are undefined. What another array that lies over it has written is nothing to this one.
    pub(super) fn shared_origin(&self, handle: Handle, address: u64, bytes: u64) -> Origin {
        let origin = self.origin_of(None, address, bytes);
        let mut writers = self.writers.get(self.granules(address, bytes)).into_iter().flatten();
        let foreign = handle.member != 0 && writers.any(|writer| *writer != handle.member);
        if origin == 0 && foreign { NEVER_SHARED } else { origin }
    }
    /// Notes a write through an array of shared memory. An atomic one goes by what it finds there, which another's write has left undefined.
    pub(super) fn written_through(&mut self, handle: Handle, address: u64, bytes: u64, access: Access) {
        if handle.member == 0 {
            return;
        }
        for granule in self.granules(address, bytes) {
            let (Some(writer), Some(origin)) = (self.writers.get_mut(granule), self.shared_origins.get_mut(granule))
            else {
                return;
            };
            if std::mem::replace(writer, handle.member) != handle.member && access.atomic() {
                *origin = NEVER_SHARED;
            }
        }
    }
    /// Says that bytes of shared or private memory are undefined, or with 0 that they are not.
    pub(super) fn set_origin(&mut self, private: Option<&mut [Origin]>, address: u64, bytes: u64, origin: Origin) {
        let range = self.granules(address, bytes);
        let origins = private.unwrap_or(&mut self.shared_origins);
        origins.get_mut(range).into_iter().flatten().for_each(|place| *place = origin);
    }
    /// The origin of a row, new if it has none.
    pub(super) fn origin(&mut self, row: Row) -> Origin {
        self.poisoned = true;
        if let Some(origin) = self.known.get(&row) {
            return *origin;
        }
        let origin = self.new_origin(row);
        self.known.insert(row, origin);
        origin
    }
    /// An origin of its own, even if its row stands already.
    pub(super) fn new_origin(&mut self, row: Row) -> Origin {
        self.poisoned = true;
        self.origins.push(row);
        (self.origins.len() - 1) as Origin
    }
    pub(super) fn row(&self, origin: Origin) -> Row {
        self.origins[origin as usize]
    }

    /// A product under way reads these bytes of shared memory, or no longer does.
    pub(super) fn set_reading(&mut self, address: u64, bytes: u64, reading: bool) {
        let range = self.granules(address, bytes);
        for count in self.readers.get_mut(range).into_iter().flatten() {
            *count = if reading { count.saturating_add(1) } else { count.saturating_sub(1) };
        }
    }
    /// Whether a product under way reads some of these bytes.
    pub(super) fn is_read(&self, address: u64, bytes: u64) -> bool {
        self.readers.get(self.granules(address, bytes)).into_iter().flatten().any(|count| *count > 0)
    }
    /// Whether some of these bytes were written after the last `fence.async`.
    pub(super) fn is_unfenced(&self, address: u64, bytes: u64) -> bool {
        let since = self.async_fence.max(self.workgroup);
        let unfenced = |marks: &Marks| marks.write.time() >= since;
        self.shared.get(self.granules(address, bytes)).into_iter().flatten().any(unfenced)
    }
}

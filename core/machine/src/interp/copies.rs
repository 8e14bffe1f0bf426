//! Asynchronous copies. A copy's data is read and lands at the last legal moment: at the wait that covers it.

use super::activation::Handle;
use super::checks::{Access, Reason, Row};
use super::code::Step;
use super::fault::Fault;
use super::machine::Machine;
use super::mask::Mask;
use girih_ir::types::Space;

/// A copy under way.
#[derive(Clone, Copy, Debug)]
struct Pending {
    lane: usize,
    /// How many were started before it.
    number: u64,
    /// Which of the lane's groups it belongs to.
    group: u32,
    to: u64,
    /// Buffer and byte; nothing for zeros.
    from: Option<(usize, u64)>,
    bytes: u64,
}

/// An arrival at an mbarrier that copies bring about.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    lane: usize,
    /// The mbarrier's byte.
    at: u64,
    /// It waits for copies with smaller numbers: later ones are none of its own.
    before: u64,
}

/// All that is under way in a workgroup.
#[derive(Debug, Default)]
pub(super) struct Copies {
    pending: Vec<Pending>,
    /// How many groups each lane has committed.
    groups: Vec<u32>,
    arrivals: Vec<Arrival>,
    /// How many have been started.
    started: u64,
}

impl Copies {
    /// Nothing is under way.
    pub(super) fn clear(&mut self, lanes: usize) {
        self.pending.clear();
        self.arrivals.clear();
        self.groups.clear();
        self.groups.resize(lanes, 0);
    }
    /// The lanes' copies since the last commit become groups.
    pub(super) fn commit(&mut self, mask: &Mask) {
        mask.each(|lane| self.groups[lane] += 1);
    }
    /// Whether a copy under way reads some of these bytes of a buffer.
    pub(super) fn read(&self, buffer: usize, address: u64, bytes: u64) -> bool {
        let overlaps = |copy: &Pending| {
            copy.from.is_some_and(|(from, at)| from == buffer && at < address + bytes && address < at + copy.bytes)
        };
        self.pending.iter().any(overlaps)
    }
}

impl Machine<'_> {
    pub(super) fn async_copy(&mut self, step: &Step) -> Result<(), Fault> {
        let bytes = u64::from(step.ty.bytes());
        self.defined(step, 4, "decides whether a copy reads")?;
        let to_handle = self.locate(step, 0, step.offset, bytes)?;
        let to = self.addresses.clone();
        let (all, inside) = (self.mask, step.operands[4].offset);
        self.mask = all.filter(|lane| self.activation.values[inside + lane] != 0);
        let source_offset = self.inst(step).source_offset().into();
        let located = self.locate(step, 2, source_offset, bytes);
        let reading = std::mem::replace(&mut self.mask, all);
        let source = located?;
        let row = Row { reason: Reason::Copy, span: self.inst(step).span };
        for lane in all.iter() {
            if reading.has(lane) {
                self.touch(step, 2, source, lane, (self.addresses[lane], bytes), Access::Read)?;
            }
            self.touch(step, 0, to_handle, lane, (to[lane], bytes), Access::Write)?;
            if let Some(checks) = &mut self.checks {
                let origin = checks.origin(row);
                checks.set_origin(None, to[lane], bytes, origin);
            }
            let from = reading.has(lane).then_some((source.buffer, self.addresses[lane]));
            let group = self.copies.groups[lane];
            let number = self.copies.started;
            self.copies.started += 1;
            self.copies.pending.push(Pending { lane, number, group, to: to[lane], from, bytes });
        }
        Ok(())
    }

    pub(super) fn async_wait(&mut self, step: &Step) -> Result<(), Fault> {
        let pending = self.inst(step).pending();
        let mask = self.mask;
        self.land(step, |copies, copy| mask.has(copy.lane) && copy.group < copies[copy.lane].saturating_sub(pending))
    }

    /// Lets copies land, in the order in which they were started.
    fn land(&mut self, step: &Step, covered: impl Fn(&[u32], &Pending) -> bool) -> Result<(), Fault> {
        let (landing, rest): (Vec<Pending>, Vec<Pending>) =
            self.copies.pending.drain(..).partition(|copy| covered(&self.copies.groups, copy));
        self.copies.pending = rest;
        for copy in landing {
            let shared = &mut self.memories.shared[copy.to as usize..][..copy.bytes as usize];
            match copy.from {
                Some((buffer, byte)) => {
                    shared.copy_from_slice(&self.memories.buffers[buffer][byte as usize..][..copy.bytes as usize]);
                }
                None => shared.fill(0),
            }
            if let Some(checks) = &mut self.checks {
                checks.set_origin(None, copy.to, copy.bytes, 0);
                let conflict = checks.access(None, copy.to, copy.bytes, copy.lane, Access::Write);
                if conflict.is_some() {
                    let handle = Handle { space: Space::Shared, buffer: 0, start: 0, bytes: 0, member: 0 };
                    let message = format!(
                        "the copy that {} waits for writes byte {} of shared memory, which others access without a barrier between",
                        self.operation(step),
                        copy.to - handle.start
                    );
                    return Err(self
                        .fault_of(girih_base::diag::Code::Race, step, copy.lane, message)
                        .hint("put a barrier between the wait and what others read")
                        .into());
                }
            }
        }
        Ok(())
    }

    /// The lanes will arrive at an mbarrier (whose bytes are in `self.addresses`) when their copies so far are done.
    pub(super) fn arrive_with_copies(&mut self) {
        for lane in self.mask.iter() {
            let before = self.copies.started;
            self.copies.arrivals.push(Arrival { lane, at: self.addresses[lane], before });
        }
    }

    /// Lets the first arrival at an mbarrier come about that copies bring; false if there is none.
    pub(super) fn force_arrival(&mut self, step: &Step, at: u64) -> Result<bool, Fault> {
        let Some(i) = self.copies.arrivals.iter().position(|arrival| arrival.at == at) else { return Ok(false) };
        let arrival = self.copies.arrivals.remove(i);
        self.land(step, |_, copy| copy.lane == arrival.lane && copy.number < arrival.before)?;
        Ok(true)
    }
}

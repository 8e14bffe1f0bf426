//! Barriers in shared memory with phases. The `u64` in memory is opaque to programs; here it holds the number of arrivals that
//! complete a phase (bits 0 to 19), how many are missing (20 to 39), and the phase (40 to 63).

use super::checks::Access;
use super::code::Step;
use super::fault::Fault;
use super::machine::Machine;
use super::memory::{read, write};
use girih_base::diag::Code;

/// What an mbarrier holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    expected: u64,
    missing: u64,
    phase: u64,
}

const FIELD: u64 = (1 << 20) - 1;

impl State {
    /// The state that stands in memory as these bits.
    pub fn of(bits: u64) -> State {
        State { expected: bits & FIELD, missing: bits >> 20 & FIELD, phase: bits >> 40 }
    }
    /// Its bits in memory.
    pub fn bits(self) -> u64 {
        self.expected | self.missing << 20 | self.phase << 40
    }
    /// One more arrives.
    pub fn arrive(self) -> State {
        if self.missing > 1 {
            State { missing: self.missing - 1, ..self }
        } else {
            State { missing: self.expected, phase: (self.phase + 1) % (1 << 24), ..self }
        }
    }
    /// Whether the phase of a parity is complete: the one that is under way has the other one.
    pub fn is_complete(self, parity: u64) -> bool {
        self.phase % 2 != parity % 2
    }
}

impl Machine<'_> {
    /// Finds the lanes' mbarriers and notes an access to them.
    fn mbarriers(&mut self, step: &Step, access: Access) -> Result<(), Fault> {
        let handle = self.locate(step, 0, step.offset, 8)?;
        if self.checks.is_some() {
            for lane in self.mask.iter() {
                self.touch(step, 0, handle, lane, (self.addresses[lane], 8), access)?;
            }
        }
        Ok(())
    }
    fn mbarrier(&self, lane: usize) -> State {
        State::of(read(&self.memories.shared, self.addresses[lane] as usize, 8))
    }
    fn set_mbarrier(&mut self, at: u64, state: State) {
        write(&mut self.memories.shared, at as usize, 8, state.bits());
    }
    /// An mbarrier that has been made one.
    fn ready(&self, step: &Step, lane: usize) -> Result<State, Fault> {
        let state = self.mbarrier(lane);
        if state.expected != 0 {
            return Ok(state);
        }
        let message = format!("{} uses an mbarrier that was not initialised", self.operation(step));
        let hint = "one invocation runs `mbarrier.init`, then all pass a `barrier`";
        Err(self.fault_of(Code::UndefinedValue, step, lane, message).hint(hint).into())
    }

    pub(super) fn mbarrier_init(&mut self, step: &Step) -> Result<(), Fault> {
        self.defined(step, 2, "counts the arrivals of an mbarrier")?;
        self.mbarriers(step, Access::Write)?;
        let count = step.operands[2].offset;
        for lane in self.mask.iter() {
            let expected = self.activation.values[count + lane];
            if expected == 0 || expected > FIELD {
                let message = format!("an mbarrier cannot wait for {expected} arrivals");
                let hint = "give a number from 1 to 1048575";
                return Err(self.fault_of(Code::OutOfBounds, step, lane, message).hint(hint).into());
            }
            let at = self.addresses[lane];
            self.set_mbarrier(at, State { expected, missing: expected, phase: 0 });
            if let Some(checks) = &mut self.checks {
                checks.set_origin(None, at, 8, 0);
            }
        }
        Ok(())
    }

    pub(super) fn mbarrier_arrive(&mut self, step: &Step) -> Result<(), Fault> {
        self.clear_origins(step);
        self.mbarriers(step, Access::AtomicWrite)?;
        for lane in self.mask.iter() {
            let state = self.ready(step, lane)?;
            self.set_mbarrier(self.addresses[lane], state.arrive());
            self.activation.values[step.results[0].offset + lane] = state.phase;
        }
        Ok(())
    }

    pub(super) fn mbarrier_arrive_copies(&mut self, step: &Step) -> Result<(), Fault> {
        self.mbarriers(step, Access::AtomicWrite)?;
        self.mask.iter().try_for_each(|lane| self.ready(step, lane).map(drop))?;
        self.arrive_with_copies();
        Ok(())
    }

    pub(super) fn mbarrier_wait(&mut self, step: &Step) -> Result<(), Fault> {
        self.defined(step, 2, "is the parity of a phase")?;
        self.mbarriers(step, Access::AtomicRead)?;
        let parity = step.operands[2].offset;
        for lane in self.mask.iter() {
            let parity = self.activation.values[parity + lane];
            let at = self.addresses[lane];
            while !self.ready(step, lane)?.is_complete(parity) {
                if !self.force_arrival(step, at)? {
                    let missing = self.mbarrier(lane).missing;
                    let message = format!("{} waits for {missing} arrivals that never come", self.operation(step));
                    let hint = "invocations that wait inside a condition cannot wait here for others outside it";
                    return Err(self.fault_of(Code::Deadlock, step, lane, message).hint(hint).into());
                }
                let state = self.mbarrier(lane).arrive();
                self.set_mbarrier(at, state);
            }
        }
        if let Some(checks) = &mut self.checks {
            checks.acquire();
        }
        Ok(())
    }

    /// Asked for the first time, a phase that only copies hold up is not complete; then they are done.
    pub(super) fn mbarrier_test(&mut self, step: &Step) -> Result<(), Fault> {
        self.clear_origins(step);
        self.mbarriers(step, Access::AtomicRead)?;
        let token = step.operands[2].offset;
        for lane in self.mask.iter() {
            let (token, at) = (self.activation.values[token + lane], self.addresses[lane]);
            let complete = self.ready(step, lane)?.phase != token;
            self.activation.values[step.results[0].offset + lane] = complete.into();
            if !complete && self.force_arrival(step, at)? {
                let state = self.mbarrier(lane).arrive();
                self.set_mbarrier(at, state);
            }
        }
        if let Some(checks) = &mut self.checks {
            checks.acquire();
        }
        Ok(())
    }
}

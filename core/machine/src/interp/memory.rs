//! Loads, stores and atomic operations: addresses of all lanes first, then the faults, then the bytes.

use super::activation::{Handle, Origin};
use super::checks::{Access, Conflict, Reason, Row};
use super::code::Step;
use super::dispatch::meet;
use super::fault::Fault;
use super::machine::Machine;
use girih_base::diag::Code;
use girih_base::plural::counted;
use girih_ir::attrs::Order;
use girih_ir::eval::{self, Function as Meaning};
use girih_ir::ops::{Convergence, Op};
use girih_ir::types::{Space, Type};

/// A number of 1, 2, 4 or 8 bytes, the lowest first. The caller has checked the bounds.
pub(super) fn read(bytes: &[u8], at: usize, size: usize) -> u64 {
    match bytes[at..at + size] {
        [a] => a.into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}
/// Writes it.
pub(super) fn write(bytes: &mut [u8], at: usize, size: usize, value: u64) {
    bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
}

/// Bytes of an element and how many of them a value has.
fn shape(ty: Type) -> (usize, usize) {
    (ty.element().map_or(4, |s| s.bytes() as usize), ty.lanes() as usize)
}

impl Machine<'_> {
    /// Byte addresses of the lanes' elements of `bytes` bytes at operands (memory, index), into `self.addresses`.
    pub(super) fn locate(&mut self, step: &Step, memory: usize, offset: i64, bytes: u64) -> Result<Handle, Fault> {
        self.defined(step, memory + 1, "is the index of an access")?;
        let handle = self.handle(step, memory);
        let index = step.operands[memory + 1].offset;
        let stride = if handle.space == Space::Private { self.private_stride() } else { 0 };
        let mut outside = None;
        let (values, addresses) = (&self.activation.values, &mut self.addresses);
        let count = handle.bytes / bytes;
        self.mask.each(|lane| {
            // Where an index has 64 bits its sum with the offset wraps, as addresses do.
            let element = i128::from(values[index + lane] as i64) + i128::from(offset);
            if element < 0 || element >= i128::from(count) {
                outside = outside.or(Some((lane, element)));
            } else {
                addresses[lane] = handle.start + lane as u64 * stride + element as u64 * bytes;
            }
        });
        match outside {
            Some((lane, element)) => Err(self.outside(step, memory, lane, element, count, bytes).into()),
            None => Ok(handle),
        }
    }

    /// Bytes between the private memories of two lanes.
    pub(super) fn private_stride(&self) -> u64 {
        (self.activation.private.len() / self.team.lanes) as u64
    }

    pub(super) fn outside(
        &self,
        step: &Step,
        memory: usize,
        lane: usize,
        element: i128,
        count: u64,
        bytes: u64,
    ) -> girih_base::diag::Diagnostic {
        let message = format!(
            "{} accesses element {element} of {}, which has {} of {bytes} bytes",
            self.operation(step),
            self.operand(step, memory),
            counted(count, "element")
        );
        self.fault_of(Code::OutOfBounds, step, lane, message)
            .hint("compare the index with the length before the access")
    }

    /// Notes an access of a lane and says what it races with.
    pub(super) fn touch(
        &mut self,
        step: &Step,
        memory: usize,
        handle: Handle,
        lane: usize,
        place: (u64, u64),
        access: Access,
    ) -> Result<(), Fault> {
        let (address, bytes) = place;
        let Some(checks) = &mut self.checks else { return Ok(()) };
        let buffer = match handle.space {
            Space::Global => Some(handle.buffer),
            Space::Shared => None,
            Space::Private => return Ok(()),
        };
        let writes = matches!(access, Access::Write | Access::AtomicWrite);
        if let Some(conflict) = checks.access(buffer, address, bytes, lane, access) {
            return Err(self.race(step, memory, handle, lane, address, conflict).into());
        }
        if !writes {
            return Ok(());
        }
        let reached = address..address + bytes;
        match buffer {
            Some(buffer)
                if checks.readonly.get(buffer).is_some_and(|kept| kept.iter().any(|kept| meet(kept, &reached))) =>
            {
                let message = format!("{} writes a buffer that is also passed as `readonly`", self.operation(step));
                let hint = "leave `readonly` out, or pass another buffer";
                Err(self.fault_of(Code::BrokenPromise, step, lane, message).hint(hint).into())
            }
            Some(buffer) if self.copies.read(buffer, address, bytes) => {
                let message =
                    format!("{} writes a buffer where an asynchronous copy under way reads", self.operation(step));
                let hint = "wait for it first (`async.wait`), then put a barrier";
                Err(self.fault_of(Code::OverwrittenInFlight, step, lane, message).hint(hint).into())
            }
            Some(_) => Ok(()),
            None => {
                let origin = checks.origin_of(None, address, bytes);
                let copying = origin != 0 && checks.row(origin).reason == Reason::Copy;
                if copying || checks.is_read(address, bytes) {
                    let by = if copying { "an asynchronous copy writes" } else { "a matrix product reads" };
                    let message = format!("{} writes shared memory that {by} at the same time", self.operation(step));
                    let hint = "wait for it first (`async.wait`, `wgmma.wait`), then put a barrier";
                    return Err(self.fault_of(Code::OverwrittenInFlight, step, lane, message).hint(hint).into());
                }
                checks.written_through(handle, address, bytes, access);
                Ok(())
            }
        }
    }

    fn race(
        &self,
        step: &Step,
        memory: usize,
        handle: Handle,
        lane: usize,
        address: u64,
        conflict: Conflict,
    ) -> girih_base::diag::Diagnostic {
        let verb = if conflict.wrote { "writes" } else { "reads" };
        let other = match (conflict.foreign, conflict.lane) {
            (true, _) => "another workgroup of the dispatch".into(),
            (false, Some(lane)) => self.invocation(lane),
            (false, None) => "another invocation of the workgroup".into(),
        };
        let byte = address - handle.start.min(address);
        let message = format!(
            "{} accesses byte {byte} of {}, which {other} {verb} without a barrier between them",
            self.operation(step),
            self.operand(step, memory)
        );
        let hint = if conflict.foreign {
            "only the end of a dispatch lies between workgroups: split the kernel, or use atomics for both"
        } else {
            "put a `barrier` that names the memory's space between them, or use atomics for both"
        };
        self.fault_of(Code::Race, step, lane, message).hint(hint)
    }

    fn touch_all(&mut self, step: &Step, handle: Handle, bytes: u64, access: Access) -> Result<(), Fault> {
        if self.checks.is_none() {
            return Ok(());
        }
        for lane in self.mask.iter() {
            self.touch(step, 0, handle, lane, (self.addresses[lane], bytes), access)?;
        }
        Ok(())
    }

    pub(super) fn load(&mut self, step: &Step) -> Result<(), Fault> {
        let (size, components) = shape(step.ty);
        let bytes = (size * components) as u64;
        let handle = self.locate(step, 0, step.offset, bytes)?;
        self.touch_all(step, handle, bytes, Access::of_load(self.inst(step)))?;
        self.read_elements(step, handle, size, components);
        Ok(())
    }

    fn read_elements(&mut self, step: &Step, handle: Handle, size: usize, components: usize) {
        let (result, lanes) = (step.results[0].offset, self.team.lanes);
        let (values, addresses) = (&mut self.activation.values, &self.addresses);
        let memory = match handle.space {
            Space::Global => &self.memories.buffers[handle.buffer],
            Space::Shared => &self.memories.shared,
            Space::Private => &self.activation.private,
        };
        for component in 0..components {
            let to = result + component * lanes;
            self.mask.each(|lane| values[to + lane] = read(memory, addresses[lane] as usize + component * size, size));
        }
        match handle.space {
            // What buffers hold is defined; the result's place may have been that of a value that was not.
            Space::Global => self.clear_origins(step),
            Space::Shared | Space::Private => self.read_origins(step, handle, size, components),
        }
    }

    fn read_origins(&mut self, step: &Step, handle: Handle, size: usize, components: usize) {
        let Some(checks) = &mut self.checks else { return };
        let (result, lanes) = (step.results[0].offset, self.team.lanes);
        for component in 0..components {
            for lane in self.mask.iter() {
                let address = self.addresses[lane] + (component * size) as u64;
                let origin = match handle.space {
                    Space::Private => checks.origin_of(Some(&self.activation.private_origins), address, size as u64),
                    Space::Global | Space::Shared => checks.shared_origin(handle, address, size as u64),
                };
                let place = result + component * lanes + lane;
                if origin != 0 {
                    // The row of memory that was never written has no place: the load is what there is to point at.
                    let row = checks.row(origin);
                    let span = if row.span.is_none() {
                        step_span(self.program, self.activation.function, step)
                    } else {
                        row.span
                    };
                    self.activation.origins[place] = checks.origin(Row { span, ..row });
                } else if checks.poisoned {
                    self.activation.origins[place] = 0;
                }
            }
        }
    }

    pub(super) fn store(&mut self, step: &Step) -> Result<(), Fault> {
        let (size, components) = shape(step.ty);
        let bytes = (size * components) as u64;
        let handle = self.locate(step, 0, step.offset, bytes)?;
        if handle.space == Space::Global {
            self.defined(step, 2, "is stored to a buffer")?;
        }
        self.touch_all(step, handle, bytes, Access::Write)?;
        let (from, lanes) = (step.operands[2].offset, self.team.lanes);
        let (values, addresses) = (&self.activation.values, &self.addresses);
        let memory = match handle.space {
            Space::Global => &mut self.memories.buffers[handle.buffer],
            Space::Shared => &mut self.memories.shared,
            Space::Private => &mut self.activation.private,
        };
        for component in 0..components {
            let from = from + component * lanes;
            self.mask.each(|lane| {
                write(memory, addresses[lane] as usize + component * size, size, values[from + lane]);
            });
        }
        if handle.space != Space::Global {
            self.write_origins(step, handle, size, components);
        }
        Ok(())
    }

    fn write_origins(&mut self, step: &Step, handle: Handle, size: usize, components: usize) {
        let Some(checks) = &mut self.checks else { return };
        let (from, lanes) = (step.operands[2].offset, self.team.lanes);
        for component in 0..components {
            for lane in self.mask.iter() {
                let origin: Origin =
                    if checks.poisoned { self.activation.origins[from + component * lanes + lane] } else { 0 };
                let private = (handle.space == Space::Private).then_some(&mut self.activation.private_origins[..]);
                let address = self.addresses[lane] + (component * size) as u64;
                checks.set_origin(private, address, size as u64, origin);
            }
        }
    }

    /// A barrier, one load for all, a barrier.
    pub(super) fn uniform_load(&mut self, step: &Step) -> Result<(), Fault> {
        self.converged(step, Convergence::Workgroup)?;
        self.same(step, 1, self.team.lanes)?;
        let spaces = girih_ir::attrs::Spaces { global: false, shared: true };
        if let Some(checks) = &mut self.checks {
            checks.barrier(spaces);
        }
        self.load(step)?;
        if let Some(checks) = &mut self.checks {
            checks.barrier(spaces);
        }
        Ok(())
    }

    /// An atomic operation, lane after lane.
    pub(super) fn atomic(&mut self, step: &Step) -> Result<(), Fault> {
        let (size, _) = shape(step.ty);
        let handle = self.locate(step, 0, step.offset, size as u64)?;
        for operand in 2..step.operands.len() {
            self.defined(step, operand, "takes part in an atomic operation")?;
        }
        let access = if step.op == Op::AtomicLoad { Access::AtomicRead } else { Access::AtomicWrite };
        self.touch_all(step, handle, size as u64, access)?;
        if handle.space == Space::Shared && !step.results.is_empty() {
            self.read_origins(step, handle, size, 1);
        }
        let ty = step.ty.element().unwrap_or(girih_ir::types::Scalar::U32);
        let combine = combination(step.op).and_then(|op| eval::function(op, ty, ty));
        let operand = |i: usize| step.operands.get(i).map(|slot| slot.offset);
        let (first, second) = (operand(2), operand(3));
        let values = &mut self.activation.values;
        let memory = match handle.space {
            Space::Global => &mut self.memories.buffers[handle.buffer],
            Space::Shared | Space::Private => &mut self.memories.shared,
        };
        for lane in self.mask.iter() {
            let at = self.addresses[lane] as usize;
            let old = read(memory, at, size);
            let a = first.map_or(0, |first| values[first + lane]);
            let new = match (second, combine) {
                (Some(second), _) => {
                    if old == a {
                        values[second + lane]
                    } else {
                        old
                    }
                }
                (None, Some(Meaning::Binary(f))) => f(old, a),
                (None, _) if first.is_some() => a,
                (None, _) => old,
            };
            write(memory, at, size, new);
            if let Some(result) = step.results.first() {
                values[result.offset + lane] = old;
            }
        }
        if matches!(step.op, Op::AtomicStore | Op::AtomicExchange)
            && handle.space == Space::Shared
            && let Some(checks) = &mut self.checks
        {
            self.mask.iter().for_each(|lane| checks.set_origin(None, self.addresses[lane], size as u64, 0));
        }
        self.ordered(self.inst(step).order());
        Ok(())
    }

    /// What an order does to what is remembered of accesses.
    pub(super) fn ordered(&mut self, order: Order) {
        if matches!(order, Order::Acquire | Order::AcquireRelease)
            && let Some(checks) = &mut self.checks
        {
            checks.acquire();
        }
    }
}

/// The scalar operation that an atomic one does on the old value and its operand; none if it replaces or only reads.
fn combination(op: Op) -> Option<Op> {
    match op {
        Op::AtomicAdd => Some(Op::Add),
        Op::AtomicMin => Some(Op::Min),
        Op::AtomicMax => Some(Op::Max),
        Op::AtomicAnd => Some(Op::And),
        Op::AtomicOr => Some(Op::Or),
        Op::AtomicXor => Some(Op::Xor),
        Op::AtomicExchange | Op::AtomicCompareExchange | Op::AtomicLoad | Op::AtomicStore => None,
        other => unreachable!("`{}` is no atomic access", other.name()),
    }
}

fn step_span(program: &super::program::Program, id: girih_ir::FunctionId, step: &Step) -> girih_base::span::Span {
    program.module.functions[id].insts[step.inst].span
}

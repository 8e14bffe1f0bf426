//! Commands: checked first, all of them, then put into the stream.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::State;
use super::driver::check;
use super::memory::{clear, copy};
use super::programs::{Indirect, Kernel, Program};
use super::queue::Queue;
use cudarc::driver::sys::{self, CUdeviceptr};
use girih_base::diag::{Code, Diagnostic};
use girih_lower::{LaunchPlan, Parameter, PlannedGrid};
use girih_runtime::driver::{Command, Dispatch, Grid, Slice};
use std::ffi::c_void;
use std::sync::Arc;

/// A launch that can be put into a stream.
pub(super) struct Ready {
    pub program: Arc<Program>,
    pub kernel: Kernel,
    pub grid: [u32; 3],
    /// The values of its parameters, and which one is the word of traps: that of the queue.
    pub values: Vec<u64>,
    pub traps: Option<usize>,
    pub shared: u32,
}

/// A command that can be put into a stream.
pub(super) enum Step {
    /// Runs a kernel.
    Launch(Ready),
    /// Reads the grid on the host, then runs it: the dispatch is planned again with what was read.
    Host {
        program: Arc<Program>,
        dispatch: Dispatch,
        grid: Slice,
    },
    Copy {
        from: CUdeviceptr,
        to: CUdeviceptr,
        bytes: u64,
    },
    Clear {
        at: CUdeviceptr,
        bytes: u64,
    },
}

impl State {
    /// Checks commands.
    pub(super) fn plan(&self, commands: &[Command]) -> Result<Vec<Step>, Diagnostic> {
        let mut steps = Vec::with_capacity(commands.len());
        for command in commands {
            steps.extend(self.plan_one(command)?);
        }
        Ok(steps)
    }

    /// Checks a command; nothing comes of one that does nothing.
    pub(super) fn plan_one(&self, command: &Command) -> Result<Option<Step>, Diagnostic> {
        Ok(match command {
            Command::Dispatch(dispatch) => self.plan_dispatch(dispatch)?,
            Command::Copy { from, to } => {
                let blocks = self.blocks();
                let step = Step::Copy { from: blocks.address(*from)?, to: blocks.address(*to)?, bytes: from.bytes };
                (from.bytes > 0).then_some(step)
            }
            Command::Clear(at) => {
                let step = Step::Clear { at: self.blocks().address(*at)?, bytes: at.bytes };
                (at.bytes > 0).then_some(step)
            }
        })
    }

    /// A launch; none if nothing runs.
    fn plan_dispatch(&self, dispatch: &Dispatch) -> Result<Option<Step>, Diagnostic> {
        let program = self.program(dispatch.program)?;
        if let Some(origin) = &program.origin {
            let load = |m: &_, k: &[_], o: &_| self.loaded(m, k, o, false).map(|(programs, _)| programs);
            if let Some(other) = origin.shifted(&program.entry, dispatch, (1, &self.card.caps), load)? {
                return self.plan_dispatch(&other);
            }
        }
        let plan = program.entry.plan(&dispatch.arguments, dispatch.grid)?;
        let mut values = self.values(&plan)?;
        let traps = plan.parameters.iter().position(|parameter| *parameter == Parameter::Traps);
        let (target, multiprocessors) = (self.card.target, self.card.multiprocessors);
        let make = |text: &crate::ptx::Ptx| self.code(text, false).map_err(super::programs::first);
        match plan.grid {
            PlannedGrid::Workgroups(grid) if grid.contains(&0) => Ok(None),
            PlannedGrid::Workgroups(grid) => {
                let kernel = program.direct(target, multiprocessors, &make)?;
                let shared = self.shared(&program, &kernel, &plan.dynamic_shared)?;
                Ok(Some(Step::Launch(Ready { program, kernel, grid, values, traps, shared })))
            }
            PlannedGrid::Indirect(slice) => {
                let address = self.blocks().address(slice)?;
                Ok(Some(match program.indirect(target, multiprocessors, &make)? {
                    Indirect::Kernel(kernel, workgroups) => {
                        let shared = self.shared(&program, &kernel, &plan.dynamic_shared)?;
                        values.push(address);
                        Step::Launch(Ready { program, kernel, grid: [workgroups, 1, 1], values, traps, shared })
                    }
                    Indirect::Host | Indirect::Unknown => {
                        Step::Host { program, dispatch: dispatch.clone(), grid: slice }
                    }
                }))
            }
        }
    }

    /// The values of a legal kernel's parameters: addresses, and numbers in 4 or 8 bytes. The word of traps is the queue's.
    fn values(&self, plan: &LaunchPlan) -> Result<Vec<u64>, Diagnostic> {
        let blocks = self.blocks();
        let value = |parameter: &Parameter| match parameter {
            Parameter::Buffer(slice) => blocks.address(*slice),
            Parameter::Traps => Ok(0),
            Parameter::Scalar(constant) => Ok(constant.bits),
        };
        plan.parameters.iter().map(value).collect()
    }

    /// Bytes of shared memory that a launch asks for.
    fn shared(&self, program: &Program, kernel: &Kernel, chosen: &[u32]) -> Result<u32, Diagnostic> {
        let most = self.card.caps.dynamic_shared_bytes;
        let bytes = kernel.shared.bytes(chosen, most, &program.entry.source)?;
        if !chosen.is_empty() {
            kernel.allow(bytes)?;
        }
        Ok(bytes)
    }

    /// Puts commands into a stream.
    pub(super) fn queue_all(&self, queue: &Queue, steps: &[Step]) -> Result<(), Diagnostic> {
        if steps.iter().any(Step::may_trap) {
            queue.expect_traps();
        }
        steps.iter().try_for_each(|step| self.queue_one(queue, step))
    }

    pub(super) fn queue_one(&self, queue: &Queue, step: &Step) -> Result<(), Diagnostic> {
        match step {
            Step::Copy { from, to, bytes } => copy(queue, *from, *to, *bytes),
            Step::Clear { at, bytes } => clear(queue, *at, *bytes),
            Step::Launch(ready) => ready.launch(queue),
            Step::Host { dispatch, grid, .. } => self.queue_after_reading(queue, dispatch, *grid),
        }
    }

    fn queue_after_reading(&self, queue: &Queue, dispatch: &Dispatch, grid: Slice) -> Result<(), Diagnostic> {
        let mut bytes = [0; 12];
        let address = self.blocks().address(grid)?;
        queue.staging().read(queue, address, &mut bytes)?;
        let word = |i: usize| u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]);
        let grid = Grid::Workgroups([word(0), word(1), word(2)]);
        match self.plan_dispatch(&Dispatch { grid, ..dispatch.clone() })? {
            Some(step) => self.queue_one(queue, &step),
            None => Ok(()),
        }
    }
}

impl Step {
    /// Whether it may note a trap.
    pub fn may_trap(&self) -> bool {
        match self {
            Step::Launch(Ready { program, .. }) | Step::Host { program, .. } => program.shape.traps,
            Step::Copy { .. } | Step::Clear { .. } => false,
        }
    }
}

impl Ready {
    /// The values of its parameters in a queue.
    pub fn values_for(&self, queue: &Queue) -> Vec<u64> {
        let mut values = self.values.clone();
        if let Some(place) = self.traps {
            values[place] = queue.traps();
        }
        values
    }

    /// Puts it into a stream.
    pub fn launch(&self, queue: &Queue) -> Result<(), Diagnostic> {
        let Ready { program, kernel, grid, shared, .. } = self;
        let mut values = self.values_for(queue);
        let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|v| std::ptr::from_mut(v).cast()).collect();
        let ([gx, gy, gz], [x, y, z]) = (*grid, program.shape.workgroup);
        let (function, stream, parameters) = (kernel.function, queue.stream(), pointers.as_mut_ptr());
        // SAFETY: there is a value for each parameter, of at least its size (numbers are little-endian in 8 bytes), which the driver
        // copies before it returns. Memory lives until the stream is done with it (see
        // `Driver::release`), and so does the code (see `Cuda::unload`). What the kernel
        // does inside of them is checked by the verifier; accesses beyond them by nobody, as on every device.
        let result = unsafe {
            if program.shape.cooperative {
                sys::cuLaunchCooperativeKernel(function, gx, gy, gz, x, y, z, *shared, stream, parameters)
            } else {
                let none = std::ptr::null_mut();
                sys::cuLaunchKernel(function, gx, gy, gz, x, y, z, *shared, stream, parameters, none)
            }
        };
        let name = &program.entry.source.name;
        check(result, &format!("launch `@{name}` on {gx} x {gy} x {gz} workgroups")).map_err(|error| {
            let span = program.entry.source.span;
            if span.is_none() || error.code != Code::DeviceCompiler { error } else { error.label(span, "this kernel") }
        })
    }
}

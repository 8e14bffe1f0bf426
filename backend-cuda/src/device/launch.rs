//! Commands: checked first, all of them, then put into the stream.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::State;
use super::context::is_permanent;
use super::driver::check;
use super::memory::{clear, copy};
use super::programs::{Indirect, Kernel, Program};
use super::queue::Queue;
use super::staging::look;
use cudarc::driver::sys::{self, CUdeviceptr};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_lower::{LaunchPlan, Parameter, PlannedGrid};
use girih_runtime::driver::{Command, Dispatch, Grid, Slice};
use std::ffi::c_void;
use std::sync::Arc;

/// How many commands that are submitted again and again are looked through for one that was planned.
const PERIOD: usize = 4;

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
#[derive(Clone)]
pub(super) enum Step {
    /// Runs a kernel.
    Launch(Arc<Ready>),
    /// Reads the grid on the host, then runs it: the dispatch is planned again with what was read.
    Host {
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
    /// Checks commands. A launch that is repeated is planned once: runners of programs submit a few of them, again and again.
    pub(super) fn plan(&self, commands: &[Command]) -> Result<Vec<Step>, Diagnostic> {
        let mut steps: Vec<Option<Step>> = Vec::with_capacity(commands.len());
        for (i, command) in commands.iter().enumerate() {
            let before = (i.saturating_sub(PERIOD)..i).rev().find(|before| is_repeated(&commands[*before], command));
            let step = match before {
                Some(before) => steps[before].clone(),
                None => self.plan_one(command)?,
            };
            steps.push(step);
        }
        Ok(steps.into_iter().flatten().collect())
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
                if program.shape.cooperative {
                    self.check_residency(&program, &kernel, grid, shared)?;
                }
                Ok(Some(Step::Launch(Arc::new(Ready { program, kernel, grid, values, traps, shared }))))
            }
            PlannedGrid::Indirect(slice) => {
                let address = self.blocks().address(slice)?;
                Ok(Some(match program.indirect(target, multiprocessors, &make)? {
                    Indirect::Kernel(kernel, workgroups) => {
                        let shared = self.shared(&program, &kernel, &plan.dynamic_shared)?;
                        values.push(address);
                        let grid = [workgroups, 1, 1];
                        Step::Launch(Arc::new(Ready { program, kernel, grid, values, traps, shared }))
                    }
                    Indirect::Host | Indirect::Unknown => Step::Host { dispatch: dispatch.clone(), grid: slice },
                }))
            }
        }
    }

    /// The values of a legal kernel's parameters: addresses, and numbers in 4 or 8 bytes. The word of traps is the queue's, filled in at the launch.
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

    /// All workgroups of a cooperative launch run at once, so the device has to hold them.
    fn check_residency(
        &self,
        program: &Program,
        kernel: &Kernel,
        grid: [u32; 3],
        shared: u32,
    ) -> Result<(), Diagnostic> {
        let asked: u128 = grid.iter().map(|n| u128::from(*n)).product();
        let most = u64::from(kernel.resident(program.shape, shared)?) * u64::from(self.card.multiprocessors);
        if asked <= most.into() {
            return Ok(());
        }
        let source = &program.entry.source;
        let message = format!(
            "all {asked} workgroups of `@{}` have to run at once, but the device holds at most {most} of them",
            source.name
        );
        let error = Diagnostic::new(Code::OverLimit, Span::NONE, message).hint("let each workgroup do more");
        Err(if source.span.is_none() { error } else { error.label(source.span, "this kernel") })
    }

    /// Puts commands into a stream. Nothing is queued if an error is returned, unless it is the end of the device: what fails later than the first
    /// command, or because of a grid that the host reads, is a failure of the stream's work, which goes no further.
    pub(super) fn queue_all<'a>(
        &self,
        queue: &Queue,
        steps: impl IntoIterator<Item = &'a Step>,
    ) -> Result<(), Diagnostic> {
        for (i, step) in steps.into_iter().enumerate() {
            match self.queue_one(queue, step) {
                Ok(()) => {}
                Err(error) if is_permanent(&error) || (i == 0 && !matches!(step, Step::Host { .. })) => {
                    return Err(error);
                }
                Err(error) => {
                    queue.traps().told.fail(error);
                    break;
                }
            }
        }
        Ok(())
    }

    fn queue_one(&self, queue: &Queue, step: &Step) -> Result<(), Diagnostic> {
        match step {
            Step::Copy { from, to, bytes } => copy(queue, *from, *to, *bytes),
            Step::Clear { at, bytes } => clear(queue, *at, *bytes),
            Step::Launch(ready) => ready.launch(queue),
            Step::Host { dispatch, grid } => self.queue_after_reading(queue, dispatch, *grid),
        }
    }

    fn queue_after_reading(&self, queue: &Queue, dispatch: &Dispatch, grid: Slice) -> Result<(), Diagnostic> {
        let mut bytes = [0; 12];
        let address = self.blocks().address(grid)?;
        look(queue, address, &mut bytes)?;
        let word = |i: usize| u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]);
        let grid = Grid::Workgroups([word(0), word(1), word(2)]);
        match self.plan_dispatch(&Dispatch { grid, ..dispatch.clone() })? {
            Some(step) => self.queue_one(queue, &step),
            None => Ok(()),
        }
    }
}

/// Whether a command is a launch, and the same as one before it.
fn is_repeated(before: &Command, command: &Command) -> bool {
    match (before, command) {
        (Command::Dispatch(before), Command::Dispatch(dispatch)) => before == dispatch,
        (Command::Copy { .. } | Command::Clear(_), _) | (_, Command::Copy { .. } | Command::Clear(_)) => false,
    }
}

impl Ready {
    /// The values of its parameters if it notes traps in a word.
    pub fn values_for(&self, word: CUdeviceptr) -> Vec<u64> {
        let mut values = self.values.clone();
        if let Some(place) = self.traps {
            values[place] = word;
        }
        values
    }

    /// Puts it into a stream.
    pub fn launch(&self, queue: &Queue) -> Result<(), Diagnostic> {
        let Ready { program, kernel, grid, shared, .. } = self;
        let mut noting = self.traps.map(|_| queue.traps().launching());
        let mut values = self.values_for(noting.as_ref().map_or(0, |noting| noting.word));
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
        if let Some(noting) = &mut noting {
            noting.may_trap = true;
        }
        let name = &program.entry.source.name;
        check(result, &format!("launch `@{name}` on {gx} x {gy} x {gz} workgroups")).map_err(|error| {
            let span = program.entry.source.span;
            if span.is_none() || error.code != Code::DeviceCompiler { error } else { error.label(span, "this kernel") }
        })
    }
}

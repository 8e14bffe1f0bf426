//! Commands: checked first, all of them, then put into the stream.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::Cuda;
use super::buffers::{clear, copy};
use super::driver::check;
use super::programs::{Indirect, Kernel, Program};
use crate::ptx::{Launches, Ptx};
use cudarc::driver::sys::{self, CUdeviceptr};
use girih_base::diag::{Code, Diagnostic};
use girih_lower::{LaunchPlan, Parameter, PlannedGrid};
use girih_runtime::{BufferId, Command, Dispatch, Grid, ProgramId};
use std::ffi::c_void;
use std::sync::Arc;

/// A command that can be put into the stream.
pub(super) enum Step {
    /// Runs a kernel on a grid of the launch.
    Launch {
        program: ProgramId,
        grid: [u32; 3],
        values: Vec<u64>,
        shared: u32,
    },
    /// Runs it on a grid at an address, without the host.
    Indirect {
        program: ProgramId,
        values: Vec<u64>,
        shared: u32,
    },
    /// Reads the grid on the host, then runs it: the dispatch is planned again with what was read.
    Host {
        dispatch: Dispatch,
        grid: (BufferId, u64),
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

impl Cuda {
    /// Checks commands.
    pub(super) fn plan(&mut self, commands: &[Command]) -> Result<Vec<Step>, Diagnostic> {
        let mut steps = Vec::with_capacity(commands.len());
        for command in commands {
            steps.extend(match command {
                Command::Dispatch(dispatch) => self.plan_dispatch(dispatch)?,
                Command::Copy { from, to, bytes } => Some(Step::Copy {
                    from: self.buffers.range(from.0, from.1, *bytes)?,
                    to: self.buffers.range(to.0, to.1, *bytes)?,
                    bytes: *bytes,
                }),
                Command::Clear { at, bytes } => {
                    Some(Step::Clear { at: self.buffers.range(at.0, at.1, *bytes)?, bytes: *bytes })
                }
            });
        }
        Ok(steps)
    }

    /// A launch; none if nothing runs.
    fn plan_dispatch(&mut self, dispatch: &Dispatch) -> Result<Option<Step>, Diagnostic> {
        let id = dispatch.program;
        let plan = self.program(id)?.entry.plan(&dispatch.arguments, dispatch.grid)?;
        let mut values = self.values(&plan)?;
        match plan.grid {
            PlannedGrid::Workgroups(grid) if grid.contains(&0) => Ok(None),
            PlannedGrid::Workgroups(grid) => {
                self.find_direct(id)?;
                let program = self.program(id)?;
                let shared = match &program.direct {
                    Some(kernel) => self.shared(program, kernel, &plan.dynamic_shared)?,
                    None => 0,
                };
                Ok(Some(Step::Launch { program: id, grid, values, shared }))
            }
            PlannedGrid::Indirect(buffer, offset) => {
                let address = self.buffers.range(buffer, offset, 12)?;
                self.find_indirect(id)?;
                let program = self.program(id)?;
                Ok(Some(match &program.indirect {
                    Indirect::Kernel(kernel, _) => {
                        let shared = self.shared(program, kernel, &plan.dynamic_shared)?;
                        values.push(address);
                        Step::Indirect { program: id, values, shared }
                    }
                    Indirect::Host | Indirect::Unknown => {
                        Step::Host { dispatch: dispatch.clone(), grid: (buffer, offset) }
                    }
                }))
            }
        }
    }

    /// The values of a legal kernel's parameters: addresses, and numbers in 4 or 8 bytes.
    fn values(&self, plan: &LaunchPlan) -> Result<Vec<u64>, Diagnostic> {
        let value = |parameter: &Parameter| match parameter {
            Parameter::Buffer(id, offset) => self.buffers.range(*id, *offset, 0),
            Parameter::Traps => Ok(self.traps),
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

    /// Compiles a kernel's form for grids in memory, once.
    fn find_indirect(&mut self, id: ProgramId) -> Result<(), Diagnostic> {
        let program = self.program(id)?;
        if !matches!(program.indirect, Indirect::Unknown) {
            return Ok(());
        }
        match program.indirect_ptx(self.card.target) {
            None => self.program_mut(id)?.indirect = Indirect::Host,
            Some(text) => self.add_form(id, &text)?,
        }
        Ok(())
    }

    /// Compiles a kernel's form for grids of the launch, once.
    fn find_direct(&mut self, id: ProgramId) -> Result<(), Diagnostic> {
        let program = self.program(id)?;
        if program.direct.is_some() {
            return Ok(());
        }
        let text = program.ptx(self.card.target, Launches::Direct).map_err(first)?;
        self.add_form(id, &text)
    }

    fn add_form(&mut self, id: ProgramId, text: &Ptx) -> Result<(), Diagnostic> {
        let code = Arc::new(self.code(text, false).map_err(first)?);
        let multiprocessors = self.card.multiprocessors;
        self.program_mut(id)?.accept(&code, &text.entries[0], multiprocessors)
    }

    /// Puts a command into the stream.
    pub(super) fn queue(&mut self, step: &Step) -> Result<(), Diagnostic> {
        match step {
            Step::Copy { from, to, bytes } => copy(&self.context, *from, *to, *bytes),
            Step::Clear { at, bytes } => clear(&self.context, *at, *bytes),
            Step::Launch { program, grid, values, shared } => {
                let program = self.program(*program)?;
                let Some(kernel) = &program.direct else { return Ok(()) };
                self.launch(program, kernel, *grid, values, *shared)
            }
            Step::Indirect { program, values, shared } => {
                let program = self.program(*program)?;
                let Indirect::Kernel(kernel, workgroups) = &program.indirect else { return Ok(()) };
                self.launch(program, kernel, [*workgroups, 1, 1], values, *shared)
            }
            Step::Host { dispatch, grid } => self.queue_after_reading(dispatch, *grid),
        }
    }

    fn queue_after_reading(&mut self, dispatch: &Dispatch, grid: (BufferId, u64)) -> Result<(), Diagnostic> {
        let mut bytes = [0; 12];
        let address = self.buffers.range(grid.0, grid.1, 12)?;
        self.staging.read(&self.context, address, &mut bytes)?;
        let word = |i: usize| u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]);
        let grid = Grid::Workgroups([word(0), word(1), word(2)]);
        match self.plan_dispatch(&Dispatch { grid, ..dispatch.clone() })? {
            Some(step) => self.queue(&step),
            None => Ok(()),
        }
    }

    fn launch(
        &self,
        program: &Program,
        kernel: &Kernel,
        grid: [u32; 3],
        values: &[u64],
        shared: u32,
    ) -> Result<(), Diagnostic> {
        let mut values = values.to_vec();
        let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|v| std::ptr::from_mut(v).cast()).collect();
        let ([gx, gy, gz], [x, y, z]) = (grid, program.shape.workgroup);
        let (function, stream, parameters) = (kernel.function, self.context.stream(), pointers.as_mut_ptr());
        // SAFETY: there is a value for each parameter, of at least its size (numbers are little-endian in 8 bytes), which the driver
        // copies before it returns. Buffers live until the stream is done with them, because freeing waits. What the kernel
        // does inside of them is checked by the verifier; accesses beyond them by nobody, as on every device.
        let result = unsafe {
            if program.shape.cooperative {
                sys::cuLaunchCooperativeKernel(function, gx, gy, gz, x, y, z, shared, stream, parameters)
            } else {
                let none = std::ptr::null_mut();
                sys::cuLaunchKernel(function, gx, gy, gz, x, y, z, shared, stream, parameters, none)
            }
        };
        let name = &program.entry.source.name;
        check(result, &format!("launch `@{name}` on {gx} x {gy} x {gz} workgroups")).map_err(|error| {
            let span = program.entry.source.span;
            if span.is_none() || error.code != Code::DeviceCompiler { error } else { error.label(span, "this kernel") }
        })
    }

    /// Whether a launch of these commands may note a trap.
    pub(super) fn may_trap(&self, steps: &[Step]) -> bool {
        let traps = |id: ProgramId| self.program(id).is_ok_and(|p| p.shape.traps);
        steps.iter().any(|step| match step {
            Step::Launch { program, .. } | Step::Indirect { program, .. } => traps(*program),
            Step::Host { dispatch, .. } => traps(dispatch.program),
            Step::Copy { .. } | Step::Clear { .. } => false,
        })
    }
}

/// The first of some errors, of which there is one at least.
fn first(mut said: Vec<Diagnostic>) -> Diagnostic {
    said.swap_remove(0)
}

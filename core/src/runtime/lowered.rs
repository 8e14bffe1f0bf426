//! The reference machine in another device's clothes: kernels are lowered for that device's [`Caps`] and then
//! interpreted. What lowering gets wrong shows here without a GPU.

use super::{Argument, BufferId, Command, Device, DeviceInfo, Dispatch, Grid, LoadOptions, Memory, ProgramId, Timing};
use crate::diag::{Code, Diagnostic};
use crate::idx::IndexVec;
use crate::ir::{Caps, FunctionId, Module, Verified};
use crate::lower::{Entry, Parameter, PlannedGrid, compile};
use crate::span::Span;

/// A device that runs on another one what is legal for its own capabilities.
pub struct Lowered {
    machine: Box<dyn Device>,
    caps: Caps,
    info: DeviceInfo,
    programs: IndexVec<ProgramId, Option<(ProgramId, Entry)>>,
    traps: BufferId,
}

impl Lowered {
    /// `machine` runs kernels as they are; `caps` says what they are lowered to.
    pub fn new(mut machine: Box<dyn Device>, caps: Caps) -> Result<Lowered, Diagnostic> {
        let traps = machine.allocate(Memory { bytes: 4, indirect: false })?;
        let mut info = machine.info().clone();
        info.name = format!("{} as {}", info.name, caps.name);
        Ok(Lowered { machine, caps, info, programs: IndexVec::new(), traps })
    }

    /// The same work in terms of the machine's programs.
    fn translate(&self, command: &Command) -> Result<Command, Diagnostic> {
        let Command::Dispatch(dispatch) = command else { return Ok(command.clone()) };
        let Some(Some((program, entry))) = self.programs.get(dispatch.program) else {
            return Err(Diagnostic::new(Code::BadArguments, Span::NONE, "the program was unloaded"));
        };
        let plan = entry.plan(&dispatch.arguments, dispatch.grid)?;
        let argument = |parameter: &Parameter| match *parameter {
            Parameter::Buffer(buffer, offset) => Argument::Buffer(buffer, offset),
            Parameter::Traps => Argument::Buffer(self.traps, 0),
            Parameter::Scalar(constant) => Argument::Scalar(constant),
        };
        let grid = match plan.grid {
            PlannedGrid::Workgroups(size) => Grid::Workgroups(size),
            PlannedGrid::Indirect(buffer, offset) => Grid::Indirect(buffer, offset),
        };
        let arguments = plan.parameters.iter().map(argument).collect();
        Ok(Command::Dispatch(Dispatch { program: *program, arguments, grid }))
    }

    fn translate_all(&self, commands: &[Command]) -> Result<Vec<Command>, Diagnostic> {
        commands.iter().map(|command| self.translate(command)).collect()
    }

    /// Reports and forgets a trap.
    fn check_traps(&mut self) -> Result<(), Diagnostic> {
        let mut word = [0; 4];
        self.machine.read(self.traps, 0, &mut word)?;
        match u32::from_le_bytes(word) {
            0 => Ok(()),
            code => {
                self.machine.write(self.traps, 0, &[0; 4])?;
                Err(super::trap(code))
            }
        }
    }
}

impl Device for Lowered {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn allocate(&mut self, memory: Memory) -> Result<BufferId, Diagnostic> {
        self.machine.allocate(memory)
    }
    fn free(&mut self, buffer: BufferId) {
        self.machine.free(buffer);
    }
    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.machine.write(buffer, offset, bytes)
    }
    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        self.machine.read(buffer, offset, bytes)
    }
    fn load(
        &mut self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let compiled = compile(module, kernels, &self.caps, options)?;
        let kernels: Vec<FunctionId> = compiled.entries.iter().map(|entry| entry.kernel).collect();
        let options = LoadOptions { specialisations: vec![], ..options.clone() };
        let programs = self.machine.load(&compiled.module, &kernels, &options)?;
        Ok(programs.into_iter().zip(compiled.entries).map(|loaded| self.programs.push(Some(loaded))).collect())
    }
    fn unload(&mut self, program: ProgramId) {
        if self.programs.get(program).is_some()
            && let Some((program, _)) = self.programs[program].take()
        {
            self.machine.unload(program);
        }
    }
    fn submit(&mut self, commands: &[Command]) -> Result<(), Diagnostic> {
        let commands = self.translate_all(commands)?;
        self.machine.submit(&commands)
    }
    fn wait(&mut self) -> Result<(), Diagnostic> {
        self.machine.wait()?;
        self.check_traps()
    }
    fn time(&mut self, commands: &[Command]) -> Result<Timing, Diagnostic> {
        let commands = self.translate_all(commands)?;
        let timing = self.machine.time(&commands)?;
        self.check_traps().map(|()| timing)
    }
}

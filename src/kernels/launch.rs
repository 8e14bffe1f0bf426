//! Launches of kernels with what they are given in one place: arrays go to the device, the kernel runs, and what it wrote comes back.
//!
//! A launch waits only if something comes back.

use super::Kernels;
use super::arguments::{Args, Given};
use super::programs::ProgramStore;
use crate::error::Error;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::{Sources, Span};
use girih_ir::Type;
use girih_runtime::{self as runtime, Command, Device, Dispatch, Grid, LoadOptions, Program, Read};

/// A kernel of a `.gir` file that a device has compiled.
#[derive(Debug)]
pub struct LoadedKernel {
    device: Device,
    program: Program,
    name: String,
    span: Span,
    parameters: Vec<(String, Type)>,
    sources: Sources,
}

impl Kernels {
    /// Compiles a kernel for a device, or takes what an earlier process has compiled of the same module; the only one, if no name is given.
    ///
    /// # Errors
    /// If there is none of that name, or the device cannot run it.
    pub fn load(&self, device: &Device, kernel: Option<&str>) -> Result<LoadedKernel, Error> {
        let programs = ProgramStore::of(crate::devices::cache_folder().as_deref(), device);
        self.load_in(&programs, device, kernel)
    }

    /// The same, kept in a store.
    pub(super) fn load_in(
        &self,
        programs: &ProgramStore,
        device: &Device,
        kernel: Option<&str>,
    ) -> Result<LoadedKernel, Error> {
        let kernel = self.kernel(kernel)?;
        let wrong = |errors| Error::new(self.sources.clone(), errors);
        let compiled = programs.load(device, &self.module, kernel, &LoadOptions::default()).map_err(wrong)?;
        let function = &self.module.functions[kernel];
        let name = |value| function.values[value].name.as_deref().unwrap_or_default().to_owned();
        Ok(LoadedKernel {
            device: device.clone(),
            program: compiled.program,
            name: function.name.to_string(),
            span: function.span,
            parameters: function.params.iter().map(|value| (name(*value), function.ty(*value))).collect(),
            sources: self.sources.clone(),
        })
    }
}

impl LoadedKernel {
    /// Runs the kernel on the device that has compiled it, on as many workgroups as its own `launch` says. With a `&mut` array of the host it waits for
    /// what comes back; otherwise the work is queued, and what it fails with is told by the device's next wait.
    ///
    /// # Errors
    /// What is wrong with the arguments, or with the run.
    pub fn launch(&self, arguments: Args<'_>) -> Result<(), Error> {
        self.launch_on(Grid::Own, arguments)
    }

    /// The same on so many workgroups.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    pub fn launch_grid(&self, grid: [u32; 3], arguments: Args<'_>) -> Result<(), Error> {
        self.launch_on(Grid::Workgroups(grid), arguments)
    }

    /// The command of a launch with arguments of the device.
    pub fn command(&self, arguments: Vec<runtime::Argument>, grid: Grid) -> Command {
        Command::Dispatch(Dispatch { program: self.program.clone(), arguments, grid })
    }

    /// An error about this kernel.
    pub(super) fn wrong(&self, error: Diagnostic) -> Error {
        Error::new(self.sources.clone(), vec![error])
    }

    fn launch_on(&self, grid: Grid, arguments: Args<'_>) -> Result<(), Error> {
        let wrong = |error| self.wrong(error);
        let names: Vec<&str> = self.parameters.iter().map(|(name, _)| name.as_str()).collect();
        let called = Called { name: &self.name, span: self.span, parameters: &names };
        let mut given = called.sorted(arguments).map_err(wrong)?;
        for (name, _) in &self.parameters {
            if !given.iter().any(|(other, _)| other == name) {
                return Err(wrong(called.wrong(&format!("the parameter `{name}` of `{}` is not given", self.name))));
            }
        }
        given.sort_by_key(|(name, _)| names.iter().position(|other| other == name));
        let types: Vec<Type> = self.parameters.iter().map(|(_, ty)| *ty).collect();
        let command = |arguments| Ok(self.command(arguments, grid));
        let given = given.into_iter().zip(types).map(|((name, given), ty)| (name, given, ty)).collect();
        run(&self.device, &called, given, command).map_err(wrong)
    }
}

/// A kernel that is launched.
pub(super) struct Called<'k> {
    pub name: &'k str,
    pub span: Span,
    pub parameters: &'k [&'k str],
}

impl<'k> Called<'k> {
    /// The arguments with the names of their parameters.
    pub fn sorted<'a>(&self, arguments: Args<'a>) -> Result<Vec<(&'k str, Given<'a>)>, Diagnostic> {
        let mut sorted: Vec<(&'k str, Given<'a>)> = vec![];
        for (position, (name, argument)) in arguments.all.into_iter().enumerate() {
            let Some(found) = name.or(self.parameters.get(position).copied()) else {
                let count = self.parameters.len();
                return Err(self.wrong(&format!("`{}` has {count} parameters, and is given more", self.name)));
            };
            let Some(found) = self.parameters.iter().copied().find(|name| *name == found) else {
                let message = format!("`{}` has no parameter `{found}`", self.name);
                let hint = format!("its parameters are {}", listed(self.parameters.iter().copied()));
                return Err(self.wrong(&message).hint(hint));
            };
            if sorted.iter().any(|(before, _)| *before == found) {
                return Err(self.wrong(&format!("the parameter `{found}` of `{}` is given twice", self.name)));
            }
            sorted.push((found, argument.0));
        }
        Ok(sorted)
    }

    /// What a device is given for a number, or for memory of its own.
    ///
    /// # Errors
    /// If it is not of the parameter's type.
    pub fn in_place(&self, name: &str, given: &Given<'_>, ty: Type) -> Result<runtime::Argument, Diagnostic> {
        if let (Given::Placed(_, buffer), Type::Memory(_)) = (given, ty) {
            return Ok(runtime::Argument::buffer(buffer));
        }
        given.number(ty).map(runtime::Argument::Scalar).ok_or_else(|| {
            let wanted = if let Type::Memory(_) = ty { "an array".to_owned() } else { format!("of the type `{ty}`") };
            self.wrong(&format!("`{name}` of `{}` is {wanted}, and is given {}", self.name, given.what()))
        })
    }

    pub fn wrong(&self, message: &str) -> Diagnostic {
        Diagnostic::new(Code::BadArguments, self.span, message)
    }
}

pub(super) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Brings arrays to a device, runs the command that is made of where they are, and brings those back that are written.
pub(super) fn run(
    device: &Device,
    called: &Called<'_>,
    given: Vec<(&str, Given<'_>, Type)>,
    command: impl FnOnce(Vec<runtime::Argument>) -> Result<Command, Diagnostic>,
) -> Result<(), Diagnostic> {
    let (mut arguments, mut written) = (Vec::with_capacity(given.len()), vec![]);
    for (name, given, ty) in given {
        arguments.push(match (given, ty) {
            (Given::Read(_, bytes), Type::Memory(_)) => runtime::Argument::Buffer(device.upload(bytes)?),
            (Given::Written(_, bytes), Type::Memory(_)) => {
                let buffer = device.upload(bytes)?;
                written.push((buffer.clone(), bytes));
                runtime::Argument::Buffer(buffer)
            }
            (given, ty) => called.in_place(name, &given, ty)?,
        });
    }
    let command = command(arguments)?;
    if written.is_empty() {
        return device.submit(&[command]);
    }
    let mut reads: Vec<Read<'_>> = written.iter_mut().map(|(buffer, bytes)| Read::new(buffer, 0, bytes)).collect();
    device.submit_and_read(&[command], &mut reads)
}

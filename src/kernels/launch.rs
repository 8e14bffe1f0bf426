//! Launches of kernels with what they are given in one place: arrays go to the device, the kernel runs, and what it wrote comes back.
//!
//! Invariant: whatever goes wrong, no buffer stays on the device.

use super::Kernels;
use super::arguments::{Args, Given};
use crate::error::Error;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::{Sources, Span};
use girih_ir::Type;
use girih_runtime::{self as runtime, BufferId, Command, Device, Dispatch, Grid, LoadOptions, Memory, ProgramId, Read};

/// A kernel of a `.gir` file that a device has compiled.
#[derive(Debug)]
pub struct LoadedKernel {
    program: ProgramId,
    name: String,
    span: Span,
    parameters: Vec<(String, Type)>,
    sources: Sources,
}

impl Kernels {
    /// Compiles a kernel for a device; the only one, if no name is given.
    ///
    /// # Errors
    /// If there is none of that name, or the device cannot run it.
    pub fn load(&self, device: &mut dyn Device, kernel: Option<&str>) -> Result<LoadedKernel, Error> {
        let kernel = self.kernel(kernel)?;
        let wrong = |errors| Error::new(self.sources.clone(), errors);
        let programs = device.load(&self.module, &[kernel], &LoadOptions::default()).map_err(wrong)?;
        let function = &self.module.functions[kernel];
        let name = |value| function.values[value].name.as_deref().unwrap_or_default().to_owned();
        Ok(LoadedKernel {
            program: programs[0],
            name: function.name.to_string(),
            span: function.span,
            parameters: function.params.iter().map(|value| (name(*value), function.ty(*value))).collect(),
            sources: self.sources.clone(),
        })
    }
}

impl LoadedKernel {
    /// Runs the kernel on the device that has compiled it, on as many workgroups as its own `launch` says.
    ///
    /// # Errors
    /// What is wrong with the arguments, or with the run.
    pub fn launch(&self, device: &mut dyn Device, arguments: Args<'_>) -> Result<(), Error> {
        self.launch_on(device, Grid::Own, arguments)
    }

    /// The same on so many workgroups.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    pub fn launch_grid(&self, device: &mut dyn Device, grid: [u32; 3], arguments: Args<'_>) -> Result<(), Error> {
        self.launch_on(device, Grid::Workgroups(grid), arguments)
    }

    fn launch_on(&self, device: &mut dyn Device, grid: Grid, arguments: Args<'_>) -> Result<(), Error> {
        let wrong = |error| Error::new(self.sources.clone(), vec![error]);
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
        let command = |arguments: Vec<(String, runtime::Argument)>| {
            let arguments = arguments.into_iter().map(|(_, argument)| argument).collect();
            Ok(Command::Dispatch(Dispatch { program: self.program, arguments, grid }))
        };
        let given = given.into_iter().zip(types).map(|((name, given), ty)| (name, given, ty)).collect();
        run(device, &called, given, command).map_err(wrong)
    }
}

/// A kernel that is launched.
pub(super) struct Called<'k> {
    pub name: &'k str,
    pub span: Span,
    pub parameters: &'k [&'k str],
}

impl Called<'_> {
    /// The arguments with the names of their parameters.
    pub fn sorted<'a>(&self, arguments: Args<'a>) -> Result<Vec<(String, Given<'a>)>, Diagnostic> {
        let mut sorted: Vec<(String, Given<'a>)> = vec![];
        for (position, (name, argument)) in arguments.all.into_iter().enumerate() {
            let Some(found) = name.or(self.parameters.get(position).copied()) else {
                let count = self.parameters.len();
                return Err(self.wrong(&format!("`{}` has {count} parameters, and is given more", self.name)));
            };
            if !self.parameters.contains(&found) {
                let message = format!("`{}` has no parameter `{found}`", self.name);
                let hint = format!("its parameters are {}", listed(self.parameters.iter().copied()));
                return Err(self.wrong(&message).hint(hint));
            }
            if sorted.iter().any(|(before, _)| before == found) {
                return Err(self.wrong(&format!("the parameter `{found}` of `{}` is given twice", self.name)));
            }
            sorted.push((found.to_owned(), argument.0));
        }
        Ok(sorted)
    }

    pub fn wrong(&self, message: &str) -> Diagnostic {
        Diagnostic::new(Code::BadArguments, self.span, message)
    }
}

pub(super) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Buffers that are given back at the end.
struct Buffers<'d> {
    device: &'d mut dyn Device,
    all: Vec<BufferId>,
}

impl Buffers<'_> {
    /// A buffer with these bytes in it.
    fn place(&mut self, bytes: &[u8]) -> Result<BufferId, Diagnostic> {
        let buffer = self.device.allocate(Memory { bytes: bytes.len() as u64, indirect: false })?;
        self.all.push(buffer);
        // Writes are of whole words.
        let (words, rest) = bytes.split_at(bytes.len() & !3);
        if !words.is_empty() {
            self.device.write(buffer, 0, words)?;
        }
        if !rest.is_empty() {
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            self.device.write(buffer, words.len() as u64, &last)?;
        }
        Ok(buffer)
    }
}

impl Drop for Buffers<'_> {
    fn drop(&mut self) {
        for buffer in self.all.drain(..) {
            self.device.free(buffer);
        }
    }
}

/// Brings arrays to a device, runs the command that is made of where they are, and brings those back that are written.
pub(super) fn run(
    device: &mut dyn Device,
    called: &Called<'_>,
    given: Vec<(String, Given<'_>, Type)>,
    command: impl FnOnce(Vec<(String, runtime::Argument)>) -> Result<Command, Diagnostic>,
) -> Result<(), Diagnostic> {
    let mut buffers = Buffers { device, all: vec![] };
    let (mut arguments, mut written) = (vec![], vec![]);
    for (name, given, ty) in given {
        let constant = given.number(ty);
        let argument = match (given, ty, constant) {
            (_, Type::Scalar(_), Some(constant)) => runtime::Argument::Scalar(constant),
            (Given::Read(_, bytes), Type::Memory(_), _) => runtime::Argument::Buffer(buffers.place(bytes)?, 0),
            (Given::Written(_, bytes), Type::Memory(_), _) => {
                let buffer = buffers.place(bytes)?;
                written.push((buffer, bytes));
                runtime::Argument::Buffer(buffer, 0)
            }
            (given, ty, _) => {
                let wanted = if let Type::Memory(_) = ty { "an array".to_owned() } else { format!("of the type `{ty}`") };
                let message = format!("`{name}` of `{}` is {wanted}, and is given {}", called.name, given.what());
                return Err(called.wrong(&message));
            }
        };
        arguments.push((name, argument));
    }
    let command = command(arguments)?;
    // Reads are of whole words.
    let mut ends: Vec<[u8; 4]> = vec![[0; 4]; written.len()];
    let mut reads = vec![];
    for ((buffer, bytes), end) in written.iter_mut().zip(&mut ends) {
        let whole = bytes.len() & !3;
        if whole < bytes.len() {
            reads.push(Read { buffer: *buffer, offset: whole as u64, bytes: end });
        }
        if whole > 0 {
            reads.push(Read { buffer: *buffer, offset: 0, bytes: &mut bytes[..whole] });
        }
    }
    buffers.device.submit_and_read(&[command], &mut reads)?;
    buffers.device.wait()?;
    for ((_, bytes), end) in written.iter_mut().zip(&ends) {
        let whole = bytes.len() & !3;
        let rest = &mut bytes[whole..];
        rest.copy_from_slice(&end[..rest.len()]);
    }
    Ok(())
}

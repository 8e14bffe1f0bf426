//! Runs the run lines of a `.gir` file, which say what a kernel is given and what must come of it.
//!
//! Invariant: a line passes only if the device gave what the line states.

use crate::arrays::{self, Placed};
use girih::ir::text::RunLine;
use girih::ir::text::run_lines::{Outcome, RunArgument};
use girih::kernels::Kernels;
use girih::runtime::{Argument, Command, Constant, Device, Dispatch, Grid, LoadOptions};
use girih::{Code, Diagnostic, Error};
use girih_base::span::Span;

/// Runs each line on a device. Gives a paragraph for each: the line, the arrays that the kernel has written, and whether they are what it states.
///
/// # Errors
/// If there is no line for a kernel, the device refuses a kernel, or one gives something else than its line states.
pub fn run(kernels: &Kernels, device: &Device) -> Result<String, Error> {
    let is_kernel = |line: &&RunLine| kernels.module.functions[line.function].launch.is_some();
    let lines: Vec<&RunLine> = kernels.runs.iter().filter(is_kernel).collect();
    if lines.is_empty() {
        let hint = "write what it is given, for example `; run: @scale(f32[1, 2] -> f32[2, 4], 2, 2.0)`";
        let message = "no line says with what a kernel is run";
        return Err(kernels.report(vec![Diagnostic::new(Code::BadArguments, Span::NONE, message).hint(hint)]));
    }
    let texts = lines.into_iter().map(|line| run_line(kernels, device, line));
    let texts = texts.collect::<Result<Vec<String>, Vec<Diagnostic>>>();
    texts.map(|texts| texts.join("\n\n")).map_err(|errors| kernels.report(errors))
}

fn run_line(kernels: &Kernels, device: &Device, line: &RunLine) -> Result<String, Vec<Diagnostic>> {
    let one = |error| vec![error];
    let options = LoadOptions { specialisations: line.specialisations.clone(), ..LoadOptions::default() };
    let program = device.load(&kernels.module, &[line.function], &options)?.remove(0);
    let mut arguments = vec![];
    let mut placed: Vec<Placed<'_>> = vec![];
    let function = &kernels.module.functions[line.function];
    for (argument, parameter) in line.arguments.iter().zip(&function.params) {
        arguments.push(match argument {
            RunArgument::Scalar(scalar, bits) => Argument::Scalar(Constant { ty: (*scalar).into(), bits: *bits }),
            RunArgument::Memory { initial, expected } => {
                let name = format!("%{}", function.values[*parameter].name.as_deref().unwrap_or_default());
                let array = Placed::new(device, name, initial, expected.as_ref()).map_err(one)?;
                let argument = (&array.buffer).into();
                placed.push(array);
                argument
            }
        });
    }
    let grid = line.grid.map_or(Grid::Own, Grid::Workgroups);
    let command = Command::Dispatch(Dispatch { program, arguments, grid });
    let text = format!("; run:{}", kernels.sources.snippet(line.span));
    match (&line.outcome, arrays::run(device, command, &placed, (text.clone(), line.span))) {
        (Outcome::Traps(code), Err(error)) if error.code == Code::Trap => Ok(format!("{text}\nreports trap {code}")),
        (_, ran) => ran.map_err(one),
    }
}

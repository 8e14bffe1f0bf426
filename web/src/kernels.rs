//! Runs the run lines of a `.gir` file, which say what a kernel is given and what must come of it.
//!
//! Invariant: a line passes only if the device gave what the line states.

use girih::ir::text::RunLine;
use girih::ir::text::run_lines::{Expectation, Outcome, RunArgument};
use girih::ir::{Scalar, eval};
use girih::kernels::Kernels;
use girih::runtime::{Buffer, Device, Grid, LoadOptions, Read};
use girih::{Code, Diagnostic, Error};
use girih_base::span::Span;

/// The most elements of an array that are shown.
const SHOWN: usize = 16;

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
    let mut arrays: Vec<(String, Buffer, Scalar, Option<&Expectation>)> = vec![];
    let function = &kernels.module.functions[line.function];
    for (argument, parameter) in line.arguments.iter().zip(&function.params) {
        arguments.push(match argument {
            RunArgument::Scalar(scalar, bits) => {
                girih::runtime::Argument::Scalar(girih::runtime::Constant { ty: (*scalar).into(), bits: *bits })
            }
            RunArgument::Memory { initial, expected } => {
                let buffer = device.upload(&initial.bytes()).map_err(one)?;
                let name = function.values[*parameter].name.as_deref().unwrap_or_default().to_owned();
                let scalar = expected.as_ref().and_then(|e| e.values.first()).map_or(initial.scalar, |(s, _)| *s);
                arrays.push((name, buffer.clone(), scalar, expected.as_ref()));
                (&buffer).into()
            }
        });
    }
    let grid = line.grid.map_or(Grid::Own, Grid::Workgroups);
    let dispatch = girih::runtime::Dispatch { program, arguments, grid };
    let mut bytes: Vec<Vec<u8>> = arrays.iter().map(|(_, buffer, ..)| vec![0; buffer.bytes() as usize]).collect();
    let mut reads: Vec<Read<'_>> =
        arrays.iter().zip(&mut bytes).map(|((_, buffer, ..), bytes)| Read::new(buffer, 0, bytes)).collect();
    let ran = device.submit_and_read(&[girih::runtime::Command::Dispatch(dispatch)], &mut reads);
    let mut text = format!("; run:{}", kernels.sources.snippet(line.span));
    match (&line.outcome, ran) {
        (Outcome::Traps(code), Err(error)) if error.code == Code::Trap => {
            text.push_str(&format!("\nreports trap {code}"));
            return Ok(text);
        }
        (_, ran) => ran.map_err(one)?,
    }
    for ((name, _, scalar, expected), bytes) in arrays.iter().zip(&bytes) {
        text.push_str(&format!("\n%{name} = {}", shown(*scalar, bytes)));
        if let Some(wrong) = expected.and_then(|expected| expected.mismatch_in(bytes)) {
            let message = format!("element {wrong} of `%{name}` is not what the run line states\n{text}");
            return Err(one(Diagnostic::new(Code::BadArguments, line.span, message)));
        }
    }
    Ok(text)
}

/// The first elements of an array.
fn shown(scalar: Scalar, bytes: &[u8]) -> String {
    let width = (scalar.bytes() as usize).max(1);
    let count = bytes.len() / width;
    let element = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        number(scalar, u64::from_le_bytes(word))
    };
    let first: Vec<String> = bytes.chunks_exact(width).take(SHOWN).map(element).collect();
    let rest = if count > SHOWN { format!(", .. {} more", count - SHOWN) } else { String::new() };
    format!("{scalar}[{}{rest}]", first.join(", "))
}

fn number(scalar: Scalar, bits: u64) -> String {
    if scalar.is_float() {
        return (eval::widen(bits, scalar) as f32).to_string();
    }
    if scalar.is_signed() {
        let unused = 64 - scalar.bits();
        return (((bits << unused) as i64) >> unused).to_string();
    }
    bits.to_string()
}

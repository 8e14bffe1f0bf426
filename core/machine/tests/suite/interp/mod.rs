//! The machine on texts: every construct, every width of subgroups, every fault, and right programs without one.

mod asynchronous;
mod checks;
mod control;
mod device;
mod dispatch;
mod faults;
mod mask;
mod mbarriers;
mod memory;
mod subgroups;
mod tiles;

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::SourceId;
use girih_base::words;
use girih_ir::{Module, Scalar, Type, Verified, text, verify};
use girih_machine::interp::{self, Interpreter, Options};
use girih_runtime::{Argument, Command, Constant, Device, Dispatch, Grid, LoadOptions, Memory};

/// A module of a text that is right.
fn module(source: &str) -> Verified<Module> {
    let parsed = text::parse(SourceId::new(0), source).unwrap_or_else(|found| panic!("{found:#?}"));
    verify(parsed.module).unwrap_or_else(|found| panic!("{found:#?}"))
}

/// Calls the first function of a text.
fn call(source: &str, arguments: &[u64]) -> Result<Vec<u64>, Diagnostic> {
    let module = module(source);
    let first = module.functions.ids().next().expect("a function");
    interp::call(&module, first, arguments)
}

fn checked() -> Options {
    Options { checked: true, fuel: Some(10_000_000), ..Options::default() }
}
fn width(subgroup: u32) -> Options {
    Options { subgroup, ..checked() }
}

/// An argument of a launch.
#[derive(Clone, Debug)]
enum Given {
    Words(Vec<u32>),
    Number(u32),
}
use Given::{Number, Words};

/// Runs the first kernel of a text once and gives what its buffers hold then.
fn launch(source: &str, options: Options, grid: [u32; 3], given: &[Given]) -> Result<Vec<Vec<u32>>, Diagnostic> {
    let module = module(source);
    let kernel = module.kernels().next().expect("a kernel");
    let device = Device::new(Interpreter::new(options));
    let program =
        device.load(&module, &[kernel], &LoadOptions::default()).map_err(|mut found| found.remove(0))?.swap_remove(0);
    let mut arguments = vec![];
    for argument in given {
        arguments.push(match argument {
            Number(n) => Argument::Scalar(Constant { ty: Type::Scalar(Scalar::U32), bits: (*n).into() }),
            Words(words) => {
                let buffer = device.zeroed(Memory::of(4 * words.len() as u64))?;
                device.write(&buffer, 0, &words::to_bytes(words))?;
                Argument::buffer(&buffer)
            }
        });
    }
    let own = module.functions[kernel].launch.as_ref().is_some_and(|l| l.prologue.is_some());
    let grid = if own { Grid::Own } else { Grid::Workgroups(grid) };
    device.submit(&[Command::Dispatch(Dispatch { program, arguments: arguments.clone(), grid })])?;
    device.wait()?;
    let mut results = vec![];
    for (argument, given) in arguments.iter().zip(given) {
        if let (Argument::Buffer(buffer), Words(words)) = (argument, given) {
            let mut bytes = vec![0; 4 * words.len()];
            device.read(buffer, 0, &mut bytes)?;
            results.push(words::from_bytes(&bytes));
        }
    }
    Ok(results)
}

/// What the only buffer holds after a run of one workgroup in checked mode.
fn run(source: &str, words: usize) -> Vec<u32> {
    launch(source, checked(), [1; 3], &[Words(vec![0; words])]).unwrap_or_else(|d| panic!("{d:#?}")).remove(0)
}

/// The code of the fault that a run of one workgroup in checked mode ends with, and its message.
fn fault(source: &str, given: &[Given]) -> (Code, String) {
    let diagnostic = launch(source, checked(), [1; 3], given).expect_err("a fault");
    assert!(!diagnostic.message.ends_with('.') && !diagnostic.labels.is_empty(), "{diagnostic:#?}");
    (diagnostic.code, diagnostic.message)
}

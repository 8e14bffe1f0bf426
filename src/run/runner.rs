//! What compiled code runs on, by device.

use super::RunDevice;
use girih_core::diag::Diagnostic;
use girih_core::ir::tasks::TaskMachine;
use girih_core::ir::{Module, Verified};
use girih_core::runtime::{Runner, TaskOptions};

/// A runner and what it is.
pub(crate) struct Opened {
    pub runner: Box<dyn Runner + Send>,
    /// The device's name on the command line.
    pub name: &'static str,
    /// How many threads it has.
    pub threads: usize,
}

/// Makes a runner for a module.
pub(crate) fn open(device: &RunDevice, module: &Verified<Module>, options: &TaskOptions) -> Result<Opened, Diagnostic> {
    match device {
        RunDevice::Auto | RunDevice::Cpu => {
            let runner = girih_cpu::tasks::open(module, options)?;
            Ok(Opened { runner: Box::new(runner), name: "cpu", threads: options.threads })
        }
        RunDevice::Interpreter(settings) => {
            let runner = TaskMachine::new(module, options.clone(), *settings)?;
            Ok(Opened { runner: Box::new(runner), name: "interpreter", threads: 1 })
        }
        RunDevice::Evaluator => unreachable!("the evaluator runs no compiled code, and is chosen before"),
    }
}

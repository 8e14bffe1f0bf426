//! What compiled code runs on, on the host.

use super::RunDevice;
use crate::devices::cpu;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::{Module, Verified};
use girih_machine::tasks::TaskMachine;
use girih_runtime::{Runner, TaskOptions};

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
            let runner = cpu::runner(module, options)?;
            Ok(Opened { runner, name: "cpu", threads: options.threads })
        }
        RunDevice::Interpreter(settings) => {
            let runner = TaskMachine::new(module, options.clone(), *settings)?;
            Ok(Opened { runner: Box::new(runner), name: "interpreter", threads: 1 })
        }
        RunDevice::Evaluator | RunDevice::Device(_) => {
            let message = format!("`{device}` does not run compiled code on the host");
            Err(Diagnostic::new(Code::Internal, Span::NONE, message))
        }
    }
}

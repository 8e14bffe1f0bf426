//! The exit codes: what a script can tell from the command's end.

use girih::Code;
use std::process::ExitCode;

/// How the command ended. What clap finds wrong with the command line exits with 2 before a verb begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: all went well.
    Ok,
    /// 1: the program has errors or failed.
    Failed,
    /// 2: the command line asks for something that does not exist.
    Usage,
    /// 3: the device that was asked for is not there.
    NoDevice,
    /// 130: Ctrl-C has ended it, as shells say of a process that SIGINT ends.
    Interrupted,
}

impl Exit {
    /// How a command ends that has failed with this error.
    pub fn of(code: Code) -> Exit {
        if [Code::BadArguments, Code::KernelEntry].contains(&code) {
            Exit::Usage
        } else if code == Code::NoDevice {
            Exit::NoDevice
        } else {
            Exit::Failed
        }
    }

    /// The number that the operating system gets.
    pub fn number(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::NoDevice => 3,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.number())
    }
}

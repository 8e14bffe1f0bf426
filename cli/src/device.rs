//! `--device`: where a program runs.

use crate::console::Console;
use crate::exit::Exit;
use girih::devices::Selector;
use girih::ir::tasks::Settings;
use girih::{Code, RunDevice};

/// Where a program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// As is best: Bend programs on the processor, kernels on the best device.
    Auto,
    /// Native code on the processor.
    Cpu,
    /// The evaluator, for Bend programs.
    Evaluator,
    /// The reference machine, of this name.
    Interpreter(String),
    /// A device that Bend programs cannot use in this version; kernels of the IR can.
    Absent(String),
}

/// Reads `auto`, `cpu`, `evaluator`, `wgpu`, `cuda`, `cuda:1`, and the names of the reference machine.
pub fn parse(text: &str) -> Result<Device, String> {
    let (kind, number) = text.split_once(':').map_or((text, None), |(kind, number)| (kind, Some(number)));
    let numbered = number.is_none_or(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    match kind {
        "auto" if number.is_none() => Ok(Device::Auto),
        "cpu" if number.is_none() => Ok(Device::Cpu),
        "evaluator" if number.is_none() => Ok(Device::Evaluator),
        "interpreter" => Selector::parse(text).map(|_| Device::Interpreter(text.to_owned())),
        "lowered" | "wgpu" => Selector::parse(text).map(|_| Device::Absent(text.to_owned())),
        "cuda" if numbered => Ok(Device::Absent(text.to_owned())),
        _ => Err("a device is `auto`, `cpu`, `evaluator` or `interpreter`".to_owned()),
    }
}

impl Device {
    /// The device for kernels of the IR, which run on more than Bend programs do in this version.
    pub fn for_kernels(&self) -> Result<Selector, String> {
        match self {
            Device::Auto => Ok(Selector::Auto),
            Device::Cpu => Ok(Selector::Cpu),
            Device::Evaluator => Err("the evaluator runs Bend programs, not kernels".to_owned()),
            Device::Interpreter(name) | Device::Absent(name) => Selector::parse(name),
        }
    }

    /// The device for Bend programs. Says so if they cannot use it.
    pub fn for_programs(&self, console: &Console) -> Result<RunDevice, Exit> {
        match self {
            Device::Auto => Ok(RunDevice::Auto),
            Device::Cpu => Ok(RunDevice::Cpu),
            Device::Evaluator => Ok(RunDevice::Evaluator),
            Device::Interpreter(_) => Ok(RunDevice::Interpreter(Settings { checked: true, seed: None, fuel: None })),
            Device::Absent(name) => {
                let hint = "leave `--device` out, or use `--device cpu`";
                console.fail(Code::NoDevice, format!("Bend programs cannot use the device `{name}` yet"), Some(hint));
                Err(Exit::NoDevice)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_known_absent_or_nonsense() {
        assert_eq!(parse("auto"), Ok(Device::Auto));
        assert_eq!(parse("cpu"), Ok(Device::Cpu));
        assert_eq!(parse("evaluator"), Ok(Device::Evaluator));
        assert_eq!(parse("interpreter:16"), Ok(Device::Interpreter("interpreter:16".to_owned())));
        assert_eq!(parse("cuda:1"), Ok(Device::Absent("cuda:1".to_owned())));
        for text in ["gpu", "cpu:1", "cuda:", "cuda:x", "evaluator:1", "interpreter:x", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

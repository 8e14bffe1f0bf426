//! `--device`: where a program runs.

use crate::console::Console;
use crate::exit::Exit;
use girih::Code;
use girih::devices::Selector;

/// Where a program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// As is best: Bend programs on the CPU, kernels on the best device.
    Auto,
    /// On the CPU.
    Cpu,
    /// On a device that Bend programs cannot use in this version; kernels of the IR can.
    Absent(String),
}

/// Reads `auto`, `cpu`, `wgpu`, `cuda`, `cuda:1`, and the names of the reference machine.
pub fn parse(text: &str) -> Result<Device, String> {
    let (kind, number) = text.split_once(':').map_or((text, None), |(kind, number)| (kind, Some(number)));
    let numbered = number.is_none_or(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    match kind {
        "auto" if number.is_none() => Ok(Device::Auto),
        "cpu" if number.is_none() => Ok(Device::Cpu),
        "interpreter" | "lowered" | "wgpu" => Selector::parse(text).map(|_| Device::Absent(text.to_owned())),
        "cuda" if numbered => Ok(Device::Absent(text.to_owned())),
        _ => Err("a device is `auto` or `cpu`".to_owned()),
    }
}

impl Device {
    /// The device for kernels of the IR, which run on more than Bend programs do in this version.
    pub fn for_kernels(&self) -> Result<Selector, String> {
        match self {
            Device::Auto => Ok(Selector::Auto),
            Device::Cpu => Ok(Selector::Cpu),
            Device::Absent(name) => Selector::parse(name),
        }
    }

    /// Says so if the device is not there.
    pub fn check(&self, console: &Console) -> Result<(), Exit> {
        match self {
            Device::Auto | Device::Cpu => Ok(()),
            Device::Absent(name) => {
                let hint = "leave `--device` out, or use `--device cpu`";
                console.fail(Code::NoDevice, format!("this version cannot use the device `{name}`"), Some(hint));
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
        assert_eq!(parse("cuda:1"), Ok(Device::Absent("cuda:1".to_owned())));
        for text in ["gpu", "cpu:1", "cuda:", "cuda:x", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

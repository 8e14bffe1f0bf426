//! `--device`: where programs and kernels run.

use crate::console::Console;
use crate::exit::Exit;
use girih::devices::{self, Profile, Selector};
use girih::{Code, RunDevice, runtime};

/// Where something runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// The evaluator, for Bend programs alone.
    Evaluator,
    /// A device by its name.
    Named(Selector),
}

/// Reads `evaluator`, or the name of a device.
pub fn parse(text: &str) -> Result<Device, String> {
    match text {
        "evaluator" => Ok(Device::Evaluator),
        name => selector(name).map(Device::Named),
    }
}

/// Reads the name of a device that runs kernels.
pub fn selector(name: &str) -> Result<Selector, String> {
    Selector::parse(name).map_err(|error| error.message().to_owned())
}

/// Reads the name of a profile.
pub fn profile(name: &str) -> Result<Profile, String> {
    Profile::parse(name).map_err(|error| error.message().to_owned())
}

/// Opens a device, held to a profile if one is given; says why if that is not possible.
pub fn open(selector: &Selector, profile: Option<Profile>, console: &Console) -> Result<runtime::Device, Exit> {
    devices::open(selector, profile).map_err(|error| {
        // A device that is found and does not open is none, either.
        match console.fail(error.code().unwrap_or(Code::NoDevice), error.message(), error.hint()) {
            Exit::Usage => Exit::Usage,
            Exit::Ok | Exit::Failed | Exit::NoDevice | Exit::Interrupted => Exit::NoDevice,
        }
    })
}

impl Device {
    /// The device for kernels of the IR.
    pub fn for_kernels(&self) -> Result<&Selector, &'static str> {
        match self {
            Device::Evaluator => Err("the evaluator runs Bend programs, not kernels"),
            Device::Named(selector) => Ok(selector),
        }
    }

    /// The device for nets; none for the cores of the host.
    pub fn for_nets(&self) -> Option<&Selector> {
        match self {
            Device::Evaluator | Device::Named(Selector::Auto) => None,
            Device::Named(selector) => Some(selector),
        }
    }

    /// The device for Bend programs.
    pub fn for_programs(&self) -> RunDevice {
        match self {
            Device::Evaluator => RunDevice::Evaluator,
            Device::Named(selector) => selector.clone().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_kernels_run_on_devices_of_the_same_names() {
        for name in ["auto", "cpu", "interpreter", "wgpu", "wgpu:1", "cuda", "cuda:1", "lowered:web"] {
            let device = parse(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(device.for_kernels().map(Selector::to_string).as_deref(), Ok(name));
            assert_eq!(device.for_programs().to_string(), name);
        }
        assert_eq!(parse("evaluator"), Ok(Device::Evaluator));
        assert!(Device::Evaluator.for_kernels().is_err());
        assert_eq!(Device::Evaluator.for_programs().to_string(), "evaluator");
        for text in ["gpu", "cpu:1", "cuda:", "cuda:x", "evaluator:1", "interpreter:x", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

//! Devices by name: lists the devices of the machine, and opens one.
//!
//! | name | device |
//! |---|---|
//! | `auto` | CUDA if there is a card, else a graphics card through wgpu, else the processor, else the reference machine |
//! | `cpu` | native code on all cores of the processor |
//! | `interpreter`, `interpreter:16` | the reference machine; the number is the width of its subgroups |
//! | `lowered:web`, `lowered:sm_80` | the reference machine, running kernels lowered for WebGPU's defaults or a CUDA card; also `lowered:cpu` |
//! | `ptx`, `ptx:sm_75` | an emulator that runs the PTX for this architecture on the host; the default is `sm_90a` |
//! | `wgpu`, `wgpu:1`, `wgpu:lavapipe` | the first hardware adapter, or the one of this number or name |
//! | `cuda`, `cuda:1` | the first CUDA card, or the card of this number |
//!
//! Each kind of device has a file. A build without this kind uses the file of the same name in `absent`, which has the same interface and
//! reports that the kind is not built.

use crate::error::Error;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::Caps;
use girih_machine::interp;
use girih_runtime::{Device, DeviceInfo, DeviceKind};
use selector::WIDTH;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg_attr(not(feature = "cpu"), path = "absent/cpu.rs")]
pub mod cpu;
#[cfg_attr(not(feature = "cuda"), path = "absent/cuda.rs")]
pub mod cuda;
mod selector;
#[cfg_attr(not(feature = "wgpu"), path = "absent/wgpu.rs")]
pub mod wgpu;

pub use selector::{Profile, Selector};
#[cfg(feature = "wgpu")]
pub use wgpu::instance_for;
#[cfg(all(feature = "wgpu", not(target_arch = "wasm32")))]
pub use wgpu::open_for;
pub use wgpu::{Context, SharedBuffer};

/// A device, and buffers of it that a screen sees, too, with what each is for.
pub type Sharing<T> = (Device, Vec<(T, Arc<SharedBuffer>)>);

/// What time it is: the clock of the reference machine.
pub fn clock() -> std::time::Duration {
    web_time::SystemTime::now().duration_since(web_time::UNIX_EPOCH).unwrap_or_default()
}

/// Opens a device, held to a profile if one is given.
///
/// # Errors
/// If it is not there, or if it is itself the device of a profile and another one is given.
pub fn open(selector: &Selector, profile: Option<Profile>) -> Result<Device, Error> {
    open_device(selector, profile).map_err(Error::from)
}

/// The same for who has sources for the error.
pub(crate) fn open_device(selector: &Selector, profile: Option<Profile>) -> Result<Device, Diagnostic> {
    let caps = profile.map(Profile::caps);
    match selector {
        Selector::Lowered(_) | Selector::Ptx(_) if profile.is_some() => {
            let message = format!("the device `{selector}` has a profile of its own");
            Err(Diagnostic::new(Code::BadArguments, Span::NONE, message).hint("name the profile behind the colon only"))
        }
        Selector::Auto => Ok(open_best(caps)),
        Selector::Interpreter(width) => Ok(interpreter(*width, caps)),
        Selector::Lowered(own) => Ok(interpreter(WIDTH, Some(own.caps()))),
        Selector::Ptx(target) => cuda::emulator(*target),
        Selector::Cpu => cpu::open(caps),
        Selector::Wgpu(number) => wgpu::open(number.as_deref().unwrap_or("auto"), caps),
        Selector::Cuda(ordinal) => cuda::open(*ordinal, caps),
    }
}

/// The devices that `auto` may be: the first one that can be opened.
pub fn candidates() -> [Selector; 4] {
    [Selector::Cuda(0), Selector::Wgpu(None), Selector::Cpu, Selector::Interpreter(WIDTH)]
}

fn open_best(caps: Option<Caps>) -> Device {
    let open = |selector: Selector| match selector {
        Selector::Cuda(ordinal) => cuda::open(ordinal, caps.clone()),
        Selector::Wgpu(_) => wgpu::open("auto", caps.clone()),
        Selector::Cpu => cpu::open(caps.clone()),
        Selector::Interpreter(_) | Selector::Auto | Selector::Lowered(_) | Selector::Ptx(_) => {
            Ok(interpreter(WIDTH, None))
        }
    };
    candidates().into_iter().find_map(|selector| open(selector).ok()).unwrap_or_else(|| interpreter(WIDTH, None))
}

fn interpreter(subgroup: u32, caps: Option<Caps>) -> Device {
    let options = interp::Options { subgroup, checked: true, clock: Some(clock), caps, ..interp::Options::default() };
    Device::new(interp::Interpreter::new(options))
}

/// Where compiled kernels are kept: `GIRIH_CACHE`, or the user's folder for caches. None if there is no such folder, or
/// `GIRIH_CACHE` is empty.
pub fn cache_folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("GIRIH_CACHE") {
        return (!folder.is_empty()).then(|| folder.into());
    }
    user_folder(|name| std::env::var_os(name)).map(|folder| folder.join("girih"))
}

/// The user's folder for caches, as the environment names it. A path that is empty or relative names none: it would lie wherever the command happens to
/// be called.
fn user_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    absolute("XDG_CACHE_HOME").or_else(home).or_else(|| absolute("LOCALAPPDATA"))
}

/// A device that was found, and why it cannot be used if that is so.
#[derive(Clone, Debug)]
pub struct Found {
    /// How it is named on a command line.
    pub name: String,
    /// What it is.
    pub info: DeviceInfo,
    /// What it has.
    pub caps: Caps,
    /// Why it cannot be used.
    pub problem: Option<Diagnostic>,
}

/// Looks for devices. The second list says why whole kinds of them are missing.
pub fn find() -> (Vec<Found>, Vec<Diagnostic>) {
    let machine = interpreter(WIDTH, None);
    let (info, caps) = (machine.info().clone(), machine.caps().clone());
    let mut found = vec![Found { name: "interpreter".into(), info, caps, problem: None }];
    let mut missing = vec![];
    for (some, why) in [cpu::find(), cuda::find(), wgpu::find()] {
        found.extend(some);
        missing.extend(why);
    }
    (found, missing)
}

/// The name of a kind of device, for people.
pub fn kind_name(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Interpreter => "reference machine",
        DeviceKind::Wgpu => "wgpu",
        DeviceKind::WgpuSoftware => "wgpu, in software",
        DeviceKind::Cuda => "CUDA",
        DeviceKind::Cpu => "processor",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_lie_in_a_folder_of_the_user() {
        let folder = |variables: &[(&str, &str)]| {
            user_folder(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
        };
        let root = std::env::temp_dir();
        let (own, home) = (root.join("own"), root.join("home"));
        let (own, home) = (own.to_str().expect("it is text"), home.to_str().expect("it is text"));
        assert_eq!(folder(&[("XDG_CACHE_HOME", own), ("HOME", home)]), Some(own.into()));
        assert_eq!(folder(&[("XDG_CACHE_HOME", "own"), ("HOME", home)]), Some(root.join("home/.cache")));
        assert_eq!(folder(&[("HOME", ""), ("LOCALAPPDATA", own)]), Some(own.into()));
        assert_eq!(folder(&[("HOME", "")]), None);
        assert_eq!(folder(&[("HOME", "home")]), None);
    }
}

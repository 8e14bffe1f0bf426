//! Devices by name: which there are, and opening one.
//!
//! | name | device |
//! |---|---|
//! | `auto` | CUDA if there is a card, else a graphics card through wgpu, else the processor, else the reference machine |
//! | `cpu` | native code on all cores of the processor |
//! | `interpreter`, `interpreter:16` | the reference machine, with subgroups of 16 |
//! | `lowered:web`, `lowered:sm_80` | the reference machine on kernels lowered for WebGPU's defaults or a CUDA card; also `lowered:cpu` |
//! | `ptx`, `ptx:sm_75` | a reading of the PTX for that architecture (`sm_90a`), on the host |
//! | `wgpu`, `wgpu:1`, `wgpu:lavapipe` | the first hardware adapter, or the one of this number or name |
//! | `cuda`, `cuda:1` | the first CUDA card, or the card of this number |

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_cuda::ptx::Target;
use girih_ir::Caps;
use girih_machine::interp;
use girih_runtime::{Device, DeviceInfo, DeviceKind};
pub use girih_wgpu::{Context, SharedBuffer, instance_for};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

/// Which device is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// The best there is, software adapters excepted.
    Auto,
    /// The reference machine with subgroups of this width.
    Interpreter(u32),
    /// The reference machine on lowered kernels.
    Lowered(Profile),
    /// A reading of the PTX for an architecture, on the host.
    Ptx(Target),
    /// Native code on the processor.
    Cpu,
    /// An adapter of wgpu, by number or part of its name.
    Wgpu(Option<String>),
    /// A CUDA card, by number.
    Cuda(usize),
}

/// A set of capabilities by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// WebGPU's defaults.
    Web,
    /// The same with the features that browsers offer: `f16` and subgroups.
    WebExtended,
    /// A CUDA card of this compute capability, 90 for 9.0.
    Cuda(u32),
    /// A processor, without what only some have.
    Cpu,
}

impl Profile {
    /// The profile of a name: `web`, `web-extended`, `cpu`, `sm_75`, `sm_90`, `sm_90a`.
    pub fn parse(name: &str) -> Result<Profile, String> {
        match name {
            "web" => Ok(Profile::Web),
            "web-extended" => Ok(Profile::WebExtended),
            "cpu" => Ok(Profile::Cpu),
            // A card of that capability has what the name with an `a` asks for; PTX gets the `a` where it needs it.
            _ => match Target::from_name(name) {
                Some(target) => Ok(Profile::Cuda(target.sm)),
                None => Err(format!("`{name}` is no profile: use `web`, `web-extended`, `cpu`, {CARDS}")),
            },
        }
    }

    /// Its name.
    fn name(self) -> Cow<'static, str> {
        match self {
            Profile::Web => "web".into(),
            Profile::WebExtended => "web-extended".into(),
            Profile::Cuda(sm) => format!("sm_{sm}").into(),
            Profile::Cpu => "cpu".into(),
        }
    }

    /// What it has.
    pub fn caps(self) -> Caps {
        match self {
            Profile::Web => Caps::web(),
            Profile::WebExtended => Caps::web_extended(),
            Profile::Cuda(sm) => Caps::cuda(sm, sm >= 90),
            Profile::Cpu => girih_cpu::caps(false),
        }
    }
}

/// Which architectures of CUDA cards there are.
const CARDS: &str = "`sm_75` or a later one, as `sm_80`, `sm_90`, `sm_90a`";

/// The width of the reference machine's subgroups if none is given.
const WIDTH: u32 = 32;

impl Selector {
    /// Reads a name of the table above.
    pub fn parse(text: &str) -> Result<Selector, String> {
        let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        let number = || match rest.map(str::parse::<usize>) {
            None => Ok(None),
            Some(Ok(n)) => Ok(Some(n)),
            Some(Err(_)) => Err(format!("`{}` is no number", rest.unwrap_or_default())),
        };
        match kind {
            "auto" if rest.is_none() => Ok(Selector::Auto),
            "cpu" if rest.is_none() => Ok(Selector::Cpu),
            "interpreter" => match number()?.unwrap_or(WIDTH as usize) {
                width @ 1..=64 if width.is_power_of_two() => Ok(Selector::Interpreter(width as u32)),
                width => Err(format!("subgroups of {width}: the width is a power of two, at most 64")),
            },
            "lowered" => Profile::parse(rest.unwrap_or("web")).map(Selector::Lowered),
            "ptx" => {
                let name = rest.unwrap_or("sm_90a");
                Target::from_name(name).map(Selector::Ptx).ok_or_else(|| format!("`{name}` is no target: use {CARDS}"))
            }
            "wgpu" if rest != Some("") => Ok(Selector::Wgpu(rest.map(str::to_owned))),
            "cuda" => number().map(|n| Selector::Cuda(n.unwrap_or(0))),
            _ => Err(format!(
                "`{text}` is no device: use auto, cpu, interpreter, lowered:web, ptx:sm_90, wgpu, wgpu:N, cuda or cuda:N"
            )),
        }
    }
}

/// What time it is: the clock of the reference machine.
pub fn clock() -> std::time::Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

impl std::fmt::Display for Selector {
    /// The shortest name of it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Selector::Auto => write!(f, "auto"),
            Selector::Interpreter(WIDTH) => write!(f, "interpreter"),
            Selector::Interpreter(width) => write!(f, "interpreter:{width}"),
            Selector::Lowered(profile) => write!(f, "lowered:{}", profile.name()),
            Selector::Ptx(target) => write!(f, "ptx:{target}"),
            Selector::Cpu => write!(f, "cpu"),
            Selector::Wgpu(None) => write!(f, "wgpu"),
            Selector::Wgpu(Some(name)) => write!(f, "wgpu:{name}"),
            Selector::Cuda(0) => write!(f, "cuda"),
            Selector::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

/// Opens a device, held to a profile if one is given.
///
/// # Errors
/// If it is not there, or if it is itself the device of a profile and another one is given.
pub fn open(selector: &Selector, profile: Option<Profile>) -> Result<Box<dyn Device>, Diagnostic> {
    let caps = profile.map(Profile::caps);
    match selector {
        Selector::Lowered(_) | Selector::Ptx(_) if profile.is_some() => {
            let message = format!("the device `{selector}` has a profile of its own");
            Err(Diagnostic::new(Code::BadArguments, Span::NONE, message).hint("name the profile behind the colon only"))
        }
        Selector::Auto => Ok(open_best(caps)),
        Selector::Interpreter(width) => Ok(interpreter(*width, caps)),
        Selector::Lowered(own) => Ok(interpreter(WIDTH, Some(own.caps()))),
        Selector::Ptx(target) => Ok(Box::new(girih_cuda::Emulator::new(*target))),
        Selector::Cpu => cpu(caps),
        Selector::Wgpu(number) => wgpu(number.as_deref().unwrap_or("auto"), caps),
        Selector::Cuda(ordinal) => cuda(*ordinal, caps),
    }
}

fn open_best(caps: Option<Caps>) -> Box<dyn Device> {
    let graphics = cuda(0, caps.clone()).or_else(|_| wgpu("auto", caps.clone()));
    graphics.or_else(|_| cpu(caps)).unwrap_or_else(|_| interpreter(WIDTH, None))
}

fn cpu(profile: Option<Caps>) -> Result<Box<dyn Device>, Diagnostic> {
    Ok(Box::new(girih_cpu::open(&girih_cpu::Settings { profile, ..girih_cpu::Settings::default() })?))
}

fn cuda(ordinal: usize, profile: Option<Caps>) -> Result<Box<dyn Device>, Diagnostic> {
    let settings = girih_cuda::Settings { profile, cache: cache_folder(), ..girih_cuda::Settings::default() };
    Ok(Box::new(girih_cuda::open_with(ordinal, &settings)?))
}

/// A device of wgpu that draws onto a surface, and on which shaders can run: the adapter that a selector means, if it can draw there.
///
/// # Errors
/// If no adapter can.
pub fn open_for(
    instance: &girih_wgpu::wgpu::Instance,
    surface: &girih_wgpu::wgpu::Surface<'_>,
    wanted: Option<&Selector>,
) -> Result<Context, Diagnostic> {
    let name = match wanted {
        Some(Selector::Wgpu(name)) => Some(name.as_deref().unwrap_or("auto")),
        _ => None,
    };
    let settings = girih_wgpu::Settings { cache: cache_folder(), ..girih_wgpu::Settings::default() };
    Context::for_surface(instance, surface, name, &settings)
}

fn wgpu(name: &str, profile: Option<Caps>) -> Result<Box<dyn Device>, Diagnostic> {
    let settings = girih_wgpu::Settings { profile, cache: cache_folder(), ..girih_wgpu::Settings::default() };
    Ok(Box::new(girih_wgpu::open_with(name, &settings)?))
}

fn interpreter(subgroup: u32, caps: Option<Caps>) -> Box<dyn Device> {
    let options = interp::Options { subgroup, checked: true, clock: Some(clock), caps, ..interp::Options::default() };
    Box::new(interp::Interpreter::new(options))
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
    match cpu(None) {
        Ok(device) => {
            let (info, caps) = (device.info().clone(), device.caps().clone());
            found.push(Found { name: "cpu".into(), info, caps, problem: None });
        }
        Err(error) => missing.push(error),
    }
    for (i, card) in girih_cuda::devices().into_iter().enumerate() {
        match card {
            Err(error) => missing.push(error),
            Ok(info) => {
                let name = format!("cuda:{i}");
                let (caps, problem) = match cuda(i, None) {
                    Ok(device) => (device.caps().clone(), None),
                    Err(problem) => (Caps::cuda(75, false), Some(problem)),
                };
                found.push(Found { name, info, caps, problem });
            }
        }
    }
    let adapters = girih_wgpu::adapters();
    if adapters.is_empty() {
        let message = "wgpu finds no adapter: no driver for Vulkan, Metal or DX12 is installed";
        missing.push(Diagnostic::new(Code::NoDevice, Span::NONE, message));
    }
    found.extend(adapters.into_iter().enumerate().map(|(i, adapter)| Found {
        name: format!("wgpu:{i}"),
        info: adapter.info,
        caps: adapter.caps,
        problem: adapter.refused,
    }));
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

    #[test]
    fn names_of_devices_are_read() {
        assert_eq!(Selector::parse("auto"), Ok(Selector::Auto));
        assert_eq!(Selector::parse("interpreter:4"), Ok(Selector::Interpreter(4)));
        assert_eq!(Selector::parse("lowered:sm_80"), Ok(Selector::Lowered(Profile::Cuda(80))));
        assert_eq!(Selector::parse("wgpu:1"), Ok(Selector::Wgpu(Some("1".into()))));
        assert_eq!(Selector::parse("cuda"), Ok(Selector::Cuda(0)));
        assert_eq!(Selector::parse("cpu"), Ok(Selector::Cpu));
        for text in ["gpu", "cpu:1", "cuda:x", "wgpu:", "interpreter:3", "interpreter:128", "auto:1", "lowered:dx", ""]
        {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn profiles_and_targets_have_the_same_cards() {
        assert_eq!(Profile::parse("sm_90a"), Ok(Profile::Cuda(90)));
        for text in ["sm_0", "sm_10", "sm_70", "sm_75a", "sm_", "sm_9x"] {
            assert!(Profile::parse(text).is_err() && Selector::parse(&format!("ptx:{text}")).is_err(), "{text}");
        }
    }

    #[test]
    fn devices_say_their_names() {
        let shortest =
            ["auto", "cpu", "interpreter", "interpreter:4", "lowered:sm_80", "ptx:sm_90a", "wgpu", "wgpu:lavapipe"];
        for name in shortest.iter().chain(&["lowered:web-extended", "cuda", "cuda:1"]) {
            assert_eq!(Selector::parse(name).map(|s| s.to_string()).as_deref(), Ok(*name));
        }
        for (long, short) in [("cuda:0", "cuda"), ("interpreter:32", "interpreter"), ("lowered", "lowered:web")] {
            assert_eq!(Selector::parse(long).map(|s| s.to_string()).as_deref(), Ok(short));
        }
    }
}

//! The names of devices and of sets of capabilities.

use crate::error::Error;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::Caps;
use girih_ir::nvidia::Target;
use std::borrow::Cow;

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
    ///
    /// # Errors
    /// If it is the name of none.
    pub fn parse(name: &str) -> Result<Profile, Error> {
        Profile::read(name).map_err(unknown)
    }

    fn read(name: &str) -> Result<Profile, String> {
        match name {
            "web" => Ok(Profile::Web),
            "web-extended" => Ok(Profile::WebExtended),
            "cpu" => Ok(Profile::Cpu),
            // A card of that capability has what the name with an `a` asks for; PTX gets the `a` where it needs it.
            _ => match Target::from_name(name) {
                Some(target) => Ok(Profile::Cuda(target.sm)),
                None => Err(format!("`{name}` is not a profile: use `web`, `web-extended`, `cpu`, {CARDS}")),
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
            Profile::Cpu => Caps::cpu(false).with(girih_ir::Feature::Vectors),
        }
    }
}

/// Which architectures of CUDA cards there are.
const CARDS: &str = "`sm_75` or a later one, as `sm_80`, `sm_90`, `sm_90a`";

/// The width of the reference machine's subgroups if none is given.
pub(super) const WIDTH: u32 = 32;

impl Selector {
    /// Reads a name of the table above.
    ///
    /// # Errors
    /// If it is the name of no device.
    pub fn parse(text: &str) -> Result<Selector, Error> {
        Selector::read(text).map_err(unknown)
    }

    fn read(text: &str) -> Result<Selector, String> {
        let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        let number = || match rest.map(str::parse::<usize>) {
            None => Ok(None),
            Some(Ok(n)) => Ok(Some(n)),
            Some(Err(_)) => Err(format!("`{}` is not a number", rest.unwrap_or_default())),
        };
        match kind {
            "auto" if rest.is_none() => Ok(Selector::Auto),
            "cpu" if rest.is_none() => Ok(Selector::Cpu),
            "interpreter" => match number()?.unwrap_or(WIDTH as usize) {
                width @ 1..=64 if width.is_power_of_two() => Ok(Selector::Interpreter(width as u32)),
                width => Err(format!("subgroups of {width}: the width is a power of two, at most 64")),
            },
            "lowered" => Profile::read(rest.unwrap_or("web")).map(Selector::Lowered),
            "ptx" => {
                let name = rest.unwrap_or("sm_90a");
                Target::from_name(name)
                    .map(Selector::Ptx)
                    .ok_or_else(|| format!("`{name}` is not a target: use {CARDS}"))
            }
            "wgpu" if rest != Some("") => Ok(Selector::Wgpu(rest.map(str::to_owned))),
            "cuda" => number().map(|n| Selector::Cuda(n.unwrap_or(0))),
            _ => Err(format!(
                "`{text}` is not a device: use auto, cpu, interpreter, lowered:web, ptx:sm_90, wgpu, wgpu:N, cuda or cuda:N"
            )),
        }
    }
}

/// That a name is none.
fn unknown(message: String) -> Error {
    Error::from(Diagnostic::new(Code::BadArguments, Span::NONE, message))
}

impl std::str::FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Selector, Error> {
        Selector::parse(text)
    }
}

impl std::str::FromStr for Profile {
    type Err = Error;

    fn from_str(name: &str) -> Result<Profile, Error> {
        Profile::parse(name)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_are_read() {
        assert_eq!(Selector::read("auto"), Ok(Selector::Auto));
        assert_eq!(Selector::read("interpreter:4"), Ok(Selector::Interpreter(4)));
        assert_eq!(Selector::read("lowered:sm_80"), Ok(Selector::Lowered(Profile::Cuda(80))));
        assert_eq!(Selector::read("wgpu:1"), Ok(Selector::Wgpu(Some("1".into()))));
        assert_eq!(Selector::read("cuda"), Ok(Selector::Cuda(0)));
        assert_eq!(Selector::read("cpu"), Ok(Selector::Cpu));
        for text in ["gpu", "cpu:1", "cuda:x", "wgpu:", "interpreter:3", "interpreter:128", "auto:1", "lowered:dx", ""]
        {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn profiles_and_targets_have_the_same_cards() {
        assert_eq!(Profile::read("sm_90a"), Ok(Profile::Cuda(90)));
        for text in ["sm_0", "sm_10", "sm_70", "sm_75a", "sm_", "sm_9x"] {
            assert!(Profile::parse(text).is_err() && Selector::parse(&format!("ptx:{text}")).is_err(), "{text}");
        }
    }

    #[test]
    fn devices_say_their_names() {
        let shortest =
            ["auto", "cpu", "interpreter", "interpreter:4", "lowered:sm_80", "ptx:sm_90a", "wgpu", "wgpu:lavapipe"];
        for name in shortest.iter().chain(&["lowered:web-extended", "cuda", "cuda:1"]) {
            assert_eq!(Selector::read(name).map(|s| s.to_string()).as_deref(), Ok(*name));
        }
        for (long, short) in [("cuda:0", "cuda"), ("interpreter:32", "interpreter"), ("lowered", "lowered:web")] {
            assert_eq!(Selector::read(long).map(|s| s.to_string()).as_deref(), Ok(short));
        }
    }
}

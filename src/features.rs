//! What this build of Girih has: each language and each device is a feature of cargo, and may be left out.
//!
//! Invariant: whoever asks for what was left out is told the name of the feature.

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;

macro_rules! features {
    ($($variant:ident $name:literal $what:literal;)*) => {
        /// A part that a build may leave out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Feature { $(#[doc = $what] $variant,)* }

        impl Feature {
            /// All of them.
            pub const ALL: &[Feature] = &[$(Feature::$variant,)*];

            /// How cargo names it.
            pub const fn name(self) -> &'static str {
                match self { $(Feature::$variant => $name,)* }
            }
            /// Whether this build has it.
            pub const fn is_built(self) -> bool {
                match self { $(Feature::$variant => cfg!(feature = $name),)* }
            }
            /// What it is, for messages.
            const fn what(self) -> &'static str {
                match self { $(Feature::$variant => $what,)* }
            }
        }
    };
}

features! {
    Bend "bend" "Bend";
    Net "net" "interaction nets";
    Triton "triton" "Triton kernels";
    Cpu "cpu" "native code for the processor";
    Cuda "cuda" "CUDA";
    Wgpu "wgpu" "wgpu";
}

impl Feature {
    /// What is said to whoever asks for it in a build without it.
    pub fn missing(self) -> Diagnostic {
        let message = format!("this build of Girih has no {}", self.what());
        Diagnostic::new(Code::NotBuilt, Span::NONE, message).hint(format!("build it with `--features {}`", self.name()))
    }
}

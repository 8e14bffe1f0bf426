//! The languages and devices that this build of Girih includes. Each of them is a cargo feature, and a build may leave it out.
//!
//! Invariant: a request for something that was left out is an error that names the feature.

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
    Tensor "tensor" "tensors";
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

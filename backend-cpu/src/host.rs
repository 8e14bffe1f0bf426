//! The processor that code is made for: the one that runs this.

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable, Flags};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::{Caps, Feature};

fn absent(why: &str) -> Diagnostic {
    let message = format!("native code cannot be made for this processor: {why}");
    Diagnostic::new(Code::NoDevice, Span::NONE, message).hint("use the device `interpreter`")
}

/// What code is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Kernels.
    Kernels,
    /// Task form, which keeps its thread's context in a register of its own.
    Tasks,
}

/// The host's instruction set, with all that its processor has.
pub(crate) fn isa(use_: Use) -> Result<OwnedTargetIsa, Diagnostic> {
    if cfg!(target_endian = "big") {
        return Err(absent("its bytes are in the other order"));
    }
    let mut flags = settings::builder();
    let wanted = [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        // Frames are small: large arrays do not lie on the stack.
        ("enable_probestack", "false"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ("enable_pinned_reg", if use_ == Use::Tasks { "true" } else { "false" }),
        // The convention of called functions asks for it.
        ("preserve_frame_pointers", "true"),
        // Results that no registers are left for go through memory of the caller's, whose address is one more argument; a tail call
        // hands on its own caller's.
        ("enable_multi_ret_implicit_sret", "true"),
    ];
    for (name, value) in wanted {
        flags.set(name, value).map_err(|e| absent(&e.to_string()))?;
    }
    let builder = cranelift_native::builder().map_err(absent)?;
    builder.finish(Flags::new(flags)).map_err(|e| absent(&e.to_string()))
}

/// Whether the processor has a fused product and sum of its own.
fn has_fma(isa: &OwnedTargetIsa) -> bool {
    let on = |name: &str| isa.isa_flags().iter().any(|flag| flag.name == name && flag.as_bool() == Some(true));
    // Of the instruction sets that Cranelift knows, only x86 is older than such an instruction.
    isa.name() != "x64" || on("has_fma")
}

/// Whether Cranelift has arithmetic on vectors of 16 bytes for the processor.
pub(crate) fn has_vectors(isa: &OwnedTargetIsa) -> bool {
    let on = |name: &str| isa.isa_flags().iter().any(|flag| flag.name == name && flag.as_bool() == Some(true));
    match isa.name() {
        "x64" => on("has_sse41"),
        "aarch64" => true,
        _not_known => false,
    }
}

/// What kernels and functions are lowered for.
pub(crate) fn caps(isa: &OwnedTargetIsa) -> Caps {
    let caps = Caps::cpu(has_fma(isa));
    if has_vectors(isa) { caps.with(Feature::Vectors) } else { caps }
}

/// The processor's name, for people.
pub(crate) fn name(isa: &OwnedTargetIsa) -> String {
    // Only Linux says it in a file.
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let said = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    said.map_or_else(|| isa.name().to_owned(), |(_, name)| name.trim().to_owned())
}

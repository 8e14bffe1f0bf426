//! Shading languages: the text or the words that a naga module is written as.
//!
//! Invariant: naga's writers may panic on what they do not know; none of that reaches the caller, or standard error.

use crate::exact_floats;
use crate::shader::{self, Places, Shader};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_base::words;
use girih_ir::{Caps, FunctionId};
use girih_lower::Compiled;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use rspirv::binary::Disassemble;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

/// What kernels can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// The language of WebGPU, as browsers accept it.
    Wgsl,
    /// Words of SPIR-V, strict about floats.
    Spirv,
    /// The same as text.
    SpirvText,
    /// Metal's language.
    Msl,
    /// Direct3D's language.
    Hlsl,
}

/// What comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Emitted {
    /// Text.
    Text(String),
    /// Words of SPIR-V.
    Words(Vec<u32>),
}

impl Emitted {
    /// What stands in a file of it.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Emitted::Text(text) => text.into_bytes(),
            Emitted::Words(words) => words::to_bytes(&words),
        }
    }
}

/// Writes legal kernels in a language. `caps` are those that they were made legal for.
pub fn emit(compiled: &Compiled, caps: &Caps, language: Language) -> Result<Emitted, Vec<Diagnostic>> {
    let strict = matches!(language, Language::Spirv | Language::SpirvText);
    let options = shader::Options { caps, strict };
    let shader = shader::render(compiled, options)?;
    written(&shader, language).map_err(|error| {
        let kernel = if error.span().is_none() { refused_kernel(compiled, options, language) } else { Span::NONE };
        vec![error.label(kernel, "")]
    })
}

/// Whether this is a page's module. It takes WGSL alone, so what writes the other languages, an eighth of the module, is left out of it.
pub(crate) const IN_A_PAGE: bool = cfg!(target_arch = "wasm32");

fn written(shader: &Shader, language: Language) -> Result<Emitted, Diagnostic> {
    if IN_A_PAGE && language != Language::Wgsl {
        let message = "a page writes kernels in WGSL alone";
        return Err(Diagnostic::new(Code::BadArguments, Span::NONE, message).hint("`girih emit` writes the others"));
    }
    let info = validate(shader)?;
    match language {
        Language::Wgsl => wgsl(shader, &info).map(Emitted::Text),
        Language::Msl => msl(shader, &info).map(Emitted::Text),
        Language::Hlsl => hlsl(shader, &info).map(Emitted::Text),
        Language::Spirv => spirv(shader, &info, Guards::None).map(Emitted::Words),
        Language::SpirvText => {
            spirv(shader, &info, Guards::None).and_then(|words| disassemble(&words)).map(Emitted::Text)
        }
    }
}

/// The place of the first kernel that cannot be written alone: writers do not say what they stumble over.
fn refused_kernel(compiled: &Compiled, options: shader::Options<'_>, language: Language) -> Span {
    let is_refused = |kernel: FunctionId| {
        let shader = shader::render_module(&compiled.module, &[kernel], options);
        shader.is_ok_and(|shader| written(&shader, language).is_err())
    };
    let kernel = compiled.entries.iter().map(|entry| entry.kernel).find(|kernel| is_refused(*kernel));
    kernel.map_or(Span::NONE, |kernel| compiled.module.functions[kernel].span)
}

/// Checks a module by naga's own rules, with every capability: legalisation answers for those of the device.
///
/// Uniformity is not checked: the verifier of the IR has done it, and naga's check is coarser.
pub fn validate(shader: &Shader) -> Result<ModuleInfo, Diagnostic> {
    let flags = ValidationFlags::all() & !ValidationFlags::CONTROL_FLOW_UNIFORMITY;
    let mut validator = Validator::new(flags, Capabilities::all());
    validator.subgroup_stages(ShaderStages::COMPUTE).subgroup_operations(SubgroupOperationSet::all());
    guard("naga's validator", || {
        validator.validate(&shader.module).map_err(|error| {
            let span = place(&shader.places, error.spans().map(|(span, _)| *span));
            refused(span, "naga", &chain(error.as_inner()))
        })
    })
}

/// What kernels are kept from, where they are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guards {
    /// Nothing.
    None,
    /// Accesses outside of shared and private memory: where that is memory of this process, it would end.
    Arrays,
    /// Accesses outside of any memory, and loops without end.
    All,
}

/// Strict SPIR-V.
pub fn spirv(shader: &Shader, info: &ModuleInfo, guards: Guards) -> Result<Vec<u32>, Diagnostic> {
    let fragments = has_fragments(shader);
    let policy = |is_kept| if is_kept { BoundsCheckPolicy::Restrict } else { BoundsCheckPolicy::Unchecked };
    let all = guards == Guards::All;
    let options = naga::back::spv::Options {
        lang_version: if fragments { (1, 6) } else { (1, 3) },
        flags: naga::back::spv::WriterFlags::empty(),
        bounds_check_policies: BoundsCheckPolicies {
            index: policy(guards != Guards::None),
            buffer: policy(all),
            image_load: policy(all),
            binding_array: policy(all),
        },
        zero_initialize_workgroup_memory: naga::back::spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: all,
        emit_int_div_checks: all,
        // There are no varyings; the capability would be asked for all the same.
        use_storage_input_output_16: false,
        ..naga::back::spv::Options::default()
    };
    let words = guard("naga's writer of SPIR-V", || {
        naga::back::spv::write_vec(&shader.module, info, &options, None).map_err(|e| said("naga", &chain(&e)))
    })?;
    exact_floats::run(&words, &shader.kernels).map_err(|e| said("the SPIR-V reader", &e))
}

/// Whether fragments are made. Their types need not stand among the module's: those of loads and products do not.
fn has_fragments(shader: &Shader) -> bool {
    use naga::Expression as E;
    let is_made = |e: &E| matches!(e, E::CooperativeLoad { .. } | E::CooperativeMultiplyAdd { .. });
    let is_type = |t: &naga::Type| matches!(t.inner, naga::TypeInner::CooperativeMatrix { .. });
    shader.module.types.iter().any(|(_, t)| is_type(t))
        || functions(&shader.module).any(|f| f.expressions.iter().any(|(_, e)| is_made(e)))
}

fn functions(module: &naga::Module) -> impl Iterator<Item = &naga::Function> {
    module.functions.iter().map(|(_, f)| f).chain(module.entry_points.iter().map(|e| &e.function))
}

/// WGSL for browsers: their compiler asks for extensions to be enabled, and has a uniformity analysis that is coarser than ours.
fn wgsl(shader: &Shader, info: &ModuleInfo) -> Result<String, Diagnostic> {
    let flags = naga::back::wgsl::WriterFlags::empty();
    let text = guard("naga's writer of WGSL", || {
        naga::back::wgsl::write_string(&shader.module, info, flags).map_err(|e| said("naga", &chain(&e)))
    })?;
    let depth = depth_of_blocks(&text);
    if depth > DEEPEST_BLOCKS {
        let message = format!("regions are nested too deeply for WGSL: {depth} nested blocks");
        let hint = format!("browsers accept {DEEPEST_BLOCKS}; join conditions by `and`, or split the kernel");
        return Err(Diagnostic::new(Code::IrNesting, Span::NONE, message).hint(hint));
    }
    let mut head = String::new();
    // naga sees to this where the module names the type, not where there are only numbers of it.
    if uses_halves(shader) && !text.contains(ENABLE_HALVES) {
        head = format!("{ENABLE_HALVES}\n");
    }
    if uses_subgroups(shader) {
        head += "enable subgroups;\ndiagnostic(off, subgroup_uniformity);\n";
    }
    Ok(head + &text)
}

/// Most blocks within each other. Statements may be nested 127 deep in WGSL, and Chromium counts both an `if` and its block.
const DEEPEST_BLOCKS: usize = 64;

fn depth_of_blocks(text: &str) -> usize {
    let (mut deepest, mut depth) = (0, 0usize);
    for byte in text.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// What stands in front of a text with numbers of 16 bits.
const ENABLE_HALVES: &str = "enable f16;";

fn uses_halves(shader: &Shader) -> bool {
    let half = |e: &naga::Expression| match e {
        naga::Expression::Literal(literal) => matches!(literal, naga::Literal::F16(_)),
        naga::Expression::As { kind, convert, .. } => *kind == naga::ScalarKind::Float && *convert == Some(2),
        _ => false,
    };
    functions(&shader.module).any(|f| f.expressions.iter().any(|(_, e)| half(e)))
}

fn uses_subgroups(shader: &Shader) -> bool {
    use naga::BuiltIn as B;
    let builtin = |a: &naga::FunctionArgument| {
        matches!(
            a.binding,
            Some(naga::Binding::BuiltIn(B::SubgroupSize | B::SubgroupId | B::NumSubgroups | B::SubgroupInvocationId))
        )
    };
    let result = |e: &naga::Expression| {
        matches!(e, naga::Expression::SubgroupBallotResult | naga::Expression::SubgroupOperationResult { .. })
    };
    functions(&shader.module).any(|f| f.arguments.iter().any(builtin) || f.expressions.iter().any(|(_, e)| result(e)))
}

fn msl(shader: &Shader, info: &ModuleInfo) -> Result<String, Diagnostic> {
    let options = naga::back::msl::Options {
        lang_version: (3, 1),
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ..naga::back::msl::Options::default()
    };
    let pipeline = naga::back::msl::PipelineOptions::default();
    guard("naga's writer of MSL", || {
        let written = naga::back::msl::write_string(&shader.module, info, &options, &pipeline);
        written.map(|(text, _)| text).map_err(|e| said("naga", &chain(&e)))
    })
}

fn hlsl(shader: &Shader, info: &ModuleInfo) -> Result<String, Diagnostic> {
    if has_fragments(shader) {
        let message = "Direct3D's language has no fragments of matrices";
        let hint = "lower the kernel for a device without them, as `web` is";
        return Err(Diagnostic::new(Code::NeedsFeature, Span::NONE, message).hint(hint));
    }
    let options = naga::back::hlsl::Options {
        shader_model: naga::back::hlsl::ShaderModel::V6_6,
        zero_initialize_workgroup_memory: false,
        restrict_indexing: false,
        force_loop_bounding: false,
        ..naga::back::hlsl::Options::default()
    };
    let pipeline = naga::back::hlsl::PipelineOptions::default();
    guard("naga's writer of HLSL", || {
        let mut text = String::new();
        let mut writer = naga::back::hlsl::Writer::new(&mut text, &options, &pipeline);
        writer.write(&shader.module, info, None).map_err(|e| said("naga", &chain(&e)))?;
        Ok(text)
    })
}

/// SPIR-V as text.
pub fn disassemble(words: &[u32]) -> Result<String, Diagnostic> {
    let module = rspirv::dr::load_words(words).map_err(|e| said("the SPIR-V reader", &e.to_string()))?;
    Ok(module.disassemble())
}

thread_local! {
    /// Whether this thread runs something under [`guard`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Has panics under [`guard`] said by the error that is made of them, and by nothing else. There is one hook for all threads, so
/// that it is not taken away again: panics elsewhere go to the one that was there before.
fn quiet_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.try_with(Cell::get).unwrap_or(false) {
                before(panic);
            }
        }));
    });
}

/// Runs what may panic although it should not.
pub(crate) fn guard<T>(who: &str, run: impl FnOnce() -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
    quiet_hook();
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    GUARDED.set(outer);
    result.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(said(who, &format!("it stopped: {text}")))
    })
}

fn said(who: &str, what: &str) -> Diagnostic {
    refused(Span::NONE, who, what)
}

/// The error of a compiler that has refused generated code.
pub(crate) fn refused(span: Span, who: &str, what: &str) -> Diagnostic {
    let what = what.trim().trim_end_matches('.');
    Diagnostic::new(Code::DeviceCompiler, span, format!("{who} refused the kernel: {what}"))
        .hint("this is a bug in girih; please report it with the kernel that shows it")
}

/// The first place that one of naga's spans leads to.
fn place(places: &Places, spans: impl Iterator<Item = naga::Span>) -> Span {
    spans.map(|span| places.find(span)).find(|span| !span.is_none()).unwrap_or(Span::NONE)
}

/// An error and what caused it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_errors_and_only_guarded_ones_are_quiet() {
        let error = guard("the writer", || -> Result<(), Diagnostic> { panic!("on {}", "purpose") });
        let message = error.expect_err("it panics").message;
        assert!(message.contains("the writer") && message.contains("on purpose"), "{message}");
        let inner = guard("the writer", || guard("its helper", || Ok(GUARDED.get())));
        assert_eq!(inner, Ok(true));
        assert!(!GUARDED.get());
    }
}

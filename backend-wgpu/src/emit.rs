//! Shading languages: the text or the words that a naga module is written as.
//!
//! Invariant: naga's writers may panic on what they do not know; none of that reaches the caller.

use crate::shader::{self, Places, Shader};
use crate::strict;
use girih_core::diag::{Code, Diagnostic};
use girih_core::ir::Caps;
use girih_core::lower::Compiled;
use girih_core::span::Span;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use rspirv::binary::Disassemble;
use std::panic::{AssertUnwindSafe, catch_unwind};

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

/// Writes legal kernels in a language. `caps` are those that they were made legal for.
pub fn emit(compiled: &Compiled, caps: &Caps, language: Language) -> Result<Emitted, Vec<Diagnostic>> {
    let strict = matches!(language, Language::Spirv | Language::SpirvText);
    let shader = shader::render(compiled, shader::Options { caps, strict })?;
    let info = validate(&shader).map_err(|e| vec![e])?;
    let text = |result: Result<String, Diagnostic>| result.map(Emitted::Text).map_err(|e| vec![e]);
    match language {
        Language::Wgsl => text(wgsl(&shader, &info)),
        Language::Msl => text(msl(&shader, &info)),
        Language::Hlsl => text(hlsl(&shader, &info)),
        Language::Spirv => spirv(&shader, &info, false).map(Emitted::Words).map_err(|e| vec![e]),
        Language::SpirvText => text(spirv(&shader, &info, false).and_then(|words| disassemble(&words))),
    }
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

/// Strict SPIR-V. `checked` keeps the guards against accesses out of bounds and endless loops.
pub fn spirv(shader: &Shader, info: &ModuleInfo, checked: bool) -> Result<Vec<u32>, Diagnostic> {
    let fragments =
        shader.module.types.iter().any(|(_, t)| matches!(t.inner, naga::TypeInner::CooperativeMatrix { .. }));
    let policy = if checked { BoundsCheckPolicy::Restrict } else { BoundsCheckPolicy::Unchecked };
    let options = naga::back::spv::Options {
        lang_version: if fragments { (1, 6) } else { (1, 3) },
        flags: naga::back::spv::WriterFlags::empty(),
        bounds_check_policies: BoundsCheckPolicies {
            index: policy,
            buffer: policy,
            image_load: policy,
            binding_array: policy,
        },
        zero_initialize_workgroup_memory: naga::back::spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: checked,
        emit_int_div_checks: checked,
        // There are no varyings; the capability would be asked for all the same.
        use_storage_input_output_16: false,
        ..naga::back::spv::Options::default()
    };
    let words = guard("naga's writer of SPIR-V", || {
        naga::back::spv::write_vec(&shader.module, info, &options, None).map_err(|e| said("naga", &chain(&e)))
    })?;
    strict::run(&words, &shader.kernels).map_err(|e| said("the SPIR-V reader", &e))
}

/// WGSL for browsers: their compiler asks for extensions to be enabled, and has a uniformity analysis that is coarser than ours.
fn wgsl(shader: &Shader, info: &ModuleInfo) -> Result<String, Diagnostic> {
    let flags = naga::back::wgsl::WriterFlags::empty();
    let text = guard("naga's writer of WGSL", || {
        naga::back::wgsl::write_string(&shader.module, info, flags).map_err(|e| said("naga", &chain(&e)))
    })?;
    Ok(if uses_subgroups(shader) {
        format!("enable subgroups;\ndiagnostic(off, subgroup_uniformity);\n{text}")
    } else {
        text
    })
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
    let module = &shader.module;
    let mut functions = module.functions.iter().map(|(_, f)| f).chain(module.entry_points.iter().map(|e| &e.function));
    functions.any(|f| f.arguments.iter().any(builtin) || f.expressions.iter().any(|(_, e)| result(e)))
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

/// Runs what may panic although it should not.
pub(crate) fn guard<T>(who: &str, run: impl FnOnce() -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
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
        .hint("this is a mistake in girih; please report it with the kernel that shows it")
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

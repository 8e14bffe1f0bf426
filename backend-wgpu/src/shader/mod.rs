//! Legal kernels become a hand-built [`naga::Module`], with one entry point for each kernel.
//!
//! | file | says |
//! |---|---|
//! | [`types`] | types and literals |
//! | [`views`] | how memories are seen as arrays |
//! | [`layout`] | where parameters are: shared with the device |
//! | [`positions`] | which ids functions need as arguments |
//! | [`shape`] | the shape of workgroups, and ids in it |
//! | [`writer`] | the state of writing one function: expressions, when they are computed, locals |
//! | [`nesting`] | how deeply expressions are nested in the text |
//! | [`control`] | `if`, `switch`, `loop`, calls |
//! | [`scalar`], [`wide`] | arithmetic; what 64-bit integers lack |
//! | [`zero_products`] | products and quotients with the constant zero |
//! | [`storage`], [`divisibility`] | memories as variables; what indices are multiples of |
//! | [`memory`], [`atomics`] | loads, stores; atomic operations |
//! | [`sync`], [`subgroups`], [`coop`] | barriers and ids; communication in a subgroup; fragments |
//!
//! Invariant: the module passes naga's validator. Each value is computed once, where the IR defines it.

mod atomics;
mod control;
mod coop;
mod divisibility;
mod error;
pub mod layout;
mod memory;
mod nesting;
mod positions;
mod rounding;
mod scalar;
mod shape;
mod storage;
mod subgroups;
mod sync;
mod types;
pub mod views;
mod wide;
mod writer;
mod zero_products;

use girih_base::diag::Diagnostic;
use girih_base::hash::FastMap;
use girih_base::span::Span;
use girih_ir::{Caps, FunctionId, Module};
use girih_lower::Compiled;
use layout::Layout;
use positions::Positions;

/// A naga module and what is to be known to launch its entry points.
#[derive(Debug)]
pub struct Shader {
    /// The module.
    pub module: naga::Module,
    /// Its kernels, in the order in which they were asked for.
    pub kernels: Vec<Kernel>,
    /// Where in the sources the module's parts come from.
    pub places: Places,
}

/// An entry point.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name in the module.
    pub entry: String,
    /// Where its parameters are.
    pub layout: Layout,
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
}

/// The way back from naga's spans: a naga span of start `i` stands for the place `i - 1`.
#[derive(Clone, Debug, Default)]
pub struct Places(Vec<Span>);

impl Places {
    fn note(&mut self, span: Span) -> naga::Span {
        if self.0.last() != Some(&span) {
            self.0.push(span);
        }
        let i = self.0.len() as u32;
        naga::Span::new(i, i)
    }
    /// The place that a naga span stands for.
    pub fn find(&self, span: naga::Span) -> Span {
        let i = span.to_range().map_or(0, |r| r.start);
        i.checked_sub(1).and_then(|i| self.0.get(i)).copied().unwrap_or(Span::NONE)
    }
}

/// What the code generator may rely on.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The device, for which the kernels were made legal.
    pub caps: &'a Caps,
    /// Whether [`crate::exact_floats`] comes after it, which makes `min` and `max` of floats return the operand that is a number.
    pub strict: bool,
}

/// Writes the kernels of a compiled module.
pub fn render(compiled: &Compiled, options: Options<'_>) -> Result<Shader, Vec<Diagnostic>> {
    let kernels: Vec<FunctionId> = compiled.entries.iter().map(|e| e.kernel).collect();
    render_module(&compiled.module, &kernels, options)
}

/// Writes kernels of a legal module.
pub fn render_module(module: &Module, kernels: &[FunctionId], options: Options<'_>) -> Result<Shader, Vec<Diagnostic>> {
    let mut context = Context {
        source: module,
        options,
        positions: Positions::find(module),
        out: naga::Module::default(),
        places: Places::default(),
        functions: FastMap::default(),
    };
    let mut errors = vec![];
    let mut done = vec![];
    for kernel in kernels {
        match writer::kernel(&mut context, *kernel) {
            Ok(kernel) => done.push(kernel),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(Shader { module: context.out, kernels: done, places: context.places })
    } else {
        Err(errors)
    }
}

/// What writing all functions of a module shares.
struct Context<'a> {
    source: &'a Module,
    options: Options<'a>,
    positions: Positions,
    out: naga::Module,
    places: Places,
    /// Functions that are written already.
    functions: FastMap<FunctionId, naga::Handle<naga::Function>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_base::diag::Code;
    use girih_base::span::SourceId;
    use girih_ir::text;

    fn rendered(source: &str) -> Result<Shader, Vec<Diagnostic>> {
        let parsed = text::parse(SourceId::new(0), source).unwrap();
        let kernels: Vec<FunctionId> = parsed.module.kernels().collect();
        render_module(&parsed.module, &kernels, Options { caps: &Caps::web(), strict: false })
    }

    #[test]
    fn what_no_shading_language_has_is_refused_where_it_stands() {
        let source =
            "kernel @k(%m: buffer) workgroup(1) {\n  %v = load.u32 %m[0]\n  store.u32 %m[0], (mulhi.u32 %v, %v)\n}";
        let errors = rendered(source).unwrap_err();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].code, Code::NeedsFeature);
        let span = errors[0].span();
        assert!(source[span.start as usize..span.end as usize].starts_with("mulhi"), "{span:?}");
    }

    #[test]
    fn naga_spans_lead_back_to_the_text() {
        let source =
            "kernel @k(%m: buffer) workgroup(1) {\n  %v = load.u32 %m[0]\n  store.u32 %m[1], (add.u32 %v, 1)\n}";
        let shader = rendered(source).unwrap();
        let function = &shader.module.entry_points[0].function;
        let sum = function.expressions.iter().find(|(_, e)| matches!(e, naga::Expression::Binary { .. })).unwrap().0;
        let span = shader.places.find(function.expressions.get_span(sum));
        assert!(source[span.start as usize..span.end as usize].starts_with("add.u32"), "{span:?}");
        assert!(shader.places.find(naga::Span::UNDEFINED).is_none());
    }

    #[test]
    fn too_many_bindings_are_refused_by_name() {
        let params: Vec<String> = (0..9).map(|i| format!("%b{i}: buffer")).collect();
        let loads: Vec<String> = (0..9).map(|i| format!("  store.u32 %b{i}[0], 1\n")).collect();
        let source = format!("kernel @many({}) workgroup(1) {{\n{}}}", params.join(", "), loads.concat());
        let errors = rendered(&source).unwrap_err();
        assert_eq!(errors[0].code, Code::OverLimit);
        assert!(errors[0].message.contains("9 buffer bindings"), "{}", errors[0].message);
    }
}

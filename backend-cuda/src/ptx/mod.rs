//! PTX: the text of legal kernels, and the place in the source from which each line comes.
//!
//! | what | where |
//! |---|---|
//! | versions of the instruction set | [`isa`] |
//! | modules: heads, order, names | `mod`, `kernel`, `call` |
//! | registers, which values share one, copies at once | `registers`, `coalesce`, `copies` |
//! | regions, jumps | `control` |
//! | numbers | `scalar`, `convert`, `math`, `aggregate` |
//! | memory | `address`, `memory`, `shared`, `atomic` |
//! | positions, subgroups | `position`, `subgroup`, `indirect` |
//! | matrices, asynchronous copies | `fragments`, `wgmma`, `asynchronous` |
//!
//! Invariant: floats are never contracted, and a line of text belongs to one instruction.

// `to_float`, `from_lane`: the names say what becomes of a value in the text, not of the renderer that writes it.
#![allow(clippy::wrong_self_convention)]

mod address;
mod aggregate;
mod asynchronous;
mod atomic;
mod call;
mod coalesce;
mod control;
mod convert;
mod copies;
mod errors;
mod fragments;
mod indirect;
pub mod isa;
mod kernel;
mod math;
mod memory;
mod op;
mod position;
mod registers;
mod render;
mod scalar;
mod shared;
mod subgroup;
mod text;
mod wgmma;

pub use errors::diagnostics;
pub use girih_ir::nvidia::Target;
pub use isa::Isa;
pub use shared::SharedSize;

use girih_base::diag::Diagnostic;
use girih_base::span::Span;
use girih_ir::{Function, FunctionId, Module, Verified};
use render::Needs;
use text::Text;

/// Which entries kernels get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launches {
    /// For grids that the launch says.
    Direct,
    /// For grids that stand in memory: as many workgroups as the device holds run over all positions.
    Indirect,
}

/// Kernels as PTX.
#[derive(Clone, Debug)]
pub struct Ptx {
    /// The module's text.
    pub text: String,
    /// Where each line of the text comes from; none for lines of the module itself.
    pub lines: Vec<Span>,
    /// One for each kernel, in the order asked for.
    pub entries: Vec<Entry>,
    /// What the text is for: the least that it needs.
    pub target: Target,
}

/// How a kernel is found in the module, and what its launch needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the text.
    pub name: String,
    /// Shared memory.
    pub shared: SharedSize,
    /// What it is launched on.
    pub launches: Launches,
}

/// Renders kernels and what they call. An error names an operation that is not legal, which the lowering leaves none of, or a kernel
/// that has no indirect form.
pub fn render(
    module: &Verified<Module>,
    kernels: &[FunctionId],
    target: Target,
    launches: Launches,
) -> Result<Ptx, Vec<Diagnostic>> {
    let kernels: Vec<_> = kernels.iter().map(|id| (*id, launches)).collect();
    render_each(module, &kernels, target)
}

/// The same where each kernel gets an entry of its own kind.
pub fn render_each(
    module: &Verified<Module>,
    kernels: &[(FunctionId, Launches)],
    target: Target,
) -> Result<Ptx, Vec<Diagnostic>> {
    let mut needs = Needs { isa: isa::least(target), specific: false, refused: vec![] };
    let mut body = Text::default();
    let ids: Vec<FunctionId> = kernels.iter().map(|(id, _)| *id).collect();
    for id in callees(module, &ids) {
        body.append(kernel::function(module, &module.functions[id], target, &mut needs));
    }
    let mut entries = Vec::with_capacity(kernels.len());
    for (id, launches) in kernels {
        let function = &module.functions[*id];
        let indirect = *launches == Launches::Indirect;
        let Some(rendered) = kernel::kernel(module, function, target, &mut needs, indirect) else {
            needs.refused.push(no_indirect_form(function));
            continue;
        };
        body.append(rendered.text);
        let name = entry_name(function);
        let name = if indirect { kernel::indirect_name(&name) } else { name };
        entries.push(Entry { name, shared: rendered.shared, launches: *launches });
    }
    if !needs.refused.is_empty() {
        return Err(needs.refused);
    }
    let target = Target { specific: needs.specific, ..target };
    let asks = entries.iter().any(|e| e.shared.asked > 0 || !e.shared.chosen.is_empty());
    let mut text = head(target, needs.isa, asks);
    text.append(body);
    let (text, lines) = text.finish();
    Ok(Ptx { text, lines, entries, target })
}

/// Directives of the module.
fn head(target: Target, isa: Isa, asks: bool) -> Text {
    let mut text = Text::default();
    text.line(format_args!(".version {isa}"));
    text.line(format_args!(".target {target}"));
    text.line(format_args!(".address_size 64"));
    if asks {
        // Swizzled matrices repeat every 1024 bytes.
        text.line(format_args!(".extern .shared .align 1024 .b8 {}[];", shared::DYNAMIC));
    }
    text
}

fn no_indirect_form(function: &Function) -> Diagnostic {
    let message = format!("`@{}` calls a function that asks for its workgroup's position", function.name);
    Diagnostic::new(girih_base::diag::Code::DeviceCompiler, function.span, message)
}

/// The functions that kernels call, each after those that it calls itself.
fn callees(module: &Module, kernels: &[FunctionId]) -> Vec<FunctionId> {
    fn visit(module: &Module, id: FunctionId, order: &mut Vec<FunctionId>) {
        let function = &module.functions[id];
        let mut called = vec![];
        function.walk(function.body, &mut |_, inst| called.extend(inst.callee()));
        for callee in called {
            if !order.contains(&callee) {
                visit(module, callee, order);
                order.push(callee);
            }
        }
    }
    let mut order = vec![];
    kernels.iter().for_each(|id| visit(module, *id, &mut order));
    order
}

/// A kernel's name in PTX.
fn entry_name(function: &Function) -> String {
    mangled(&function.name)
}

/// A function's name in PTX, apart from all kernels'.
fn function_name(function: &Function) -> String {
    format!("fn${}", mangled(&function.name))
}

/// A name in the letters that PTX allows; different names stay different.
fn mangled(name: &str) -> String {
    let mut text = String::new();
    // The sink `_`, and the only constant of PTX whose name has nothing before it: neither can be declared.
    let is_taken = matches!(name, "_" | "WARP_SZ");
    for (i, c) in name.chars().enumerate() {
        if c == '_' && !is_taken || c.is_ascii_alphabetic() || i > 0 && c.is_ascii_digit() {
            text.push(c);
        } else {
            text.push_str(&format!("${:x}$", u32::from(c)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::mangled;

    #[test]
    fn names_are_such_that_ptx_can_declare() {
        for (name, expected) in [("add_2", "add_2"), ("_x", "_x"), ("2x", "$32$x"), ("a.b", "a$2e$b"), ("é", "$e9$")] {
            assert_eq!(mangled(name), expected);
        }
        assert_eq!(mangled("_"), "$5f$");
        assert_eq!(mangled("WARP_SZ"), "WARP$5f$SZ");
    }
}

//! A kernel or function as PTX: its head, declarations and body.

use super::address::private_name;
use super::call::signature;
use super::registers::{Bank, Class, scalar_class};
use super::render::{Form, Needs, Renderer, ptx};
use super::shared::{SharedLayout, SharedSize};
use super::subgroup::communicates;
use super::text::Text;
use girih_ir::nvidia::Target;
use girih_ir::{Function, Module, Space, Type, ValueId};

/// The name of a kernel's entry whose grid stands in memory.
pub(super) fn indirect_name(name: &str) -> String {
    format!("{name}$indirect")
}

/// A rendered kernel.
pub(super) struct Kernel {
    pub text: Text,
    pub shared: SharedSize,
}

/// Renders a kernel, for a grid of the launch or in memory. None if it cannot be rendered for a grid in memory.
pub(super) fn kernel(
    module: &Module,
    function: &Function,
    target: Target,
    needs: &mut Needs,
    indirect: bool,
) -> Option<Kernel> {
    let workgroup = function.launch.as_ref().map_or([1; 3], |launch| launch.workgroup);
    let shared = SharedLayout::of(function);
    let mut r = Renderer::new(module, function, target, needs, &shared, Form::Kernel(workgroup));
    if indirect && r.callees_ask_for_workgroup() {
        return None;
    }
    let name = super::entry_name(function);
    let name = if indirect { indirect_name(&name) } else { name };
    let rounds = indirect.then(|| {
        let grid = r.virtual_grid();
        r.form = Form::Indirect(workgroup, grid);
        r.begin_rounds(grid, &format!("{name}_grid"))
    });
    r.addresses.enter();
    load_parameters(&mut r, &name);
    r.place_chosen();
    if communicates(function) {
        r.find_members();
    }
    r.region(function.body);
    r.addresses.leave();
    r.text.span = None;
    if let Some(rounds) = &rounds {
        r.end_rounds(rounds);
    }
    let (body, bank) = (std::mem::take(&mut r.text), r.bank.clone());
    let mut text = Text::default();
    text.span = Some(function.span);
    head(&mut text, function, &name, workgroup, indirect);
    declarations(&mut text, function, &bank);
    shared.declarations().iter().for_each(|line| text.line(format_args!("{line}")));
    text.append(body);
    text.line(format_args!("}}"));
    Some(Kernel { text, shared: shared.size.clone() })
}

/// Renders a function that kernels call.
pub(super) fn function(module: &Module, function: &Function, target: Target, needs: &mut Needs) -> Text {
    let shared = SharedLayout::default();
    let mut r = Renderer::new(module, function, target, needs, &shared, Form::Function);
    r.addresses.enter();
    r.load_arguments();
    if communicates(function) {
        r.find_members();
    }
    r.region(function.body);
    r.addresses.leave();
    let (body, bank) = (std::mem::take(&mut r.text), r.bank.clone());
    let mut text = Text::default();
    text.span = Some(function.span);
    text.line(format_args!("{}", signature(function, &super::function_name(function))));
    text.line(format_args!("{{"));
    declarations(&mut text, function, &bank);
    text.append(body);
    text.line(format_args!("}}"));
    text
}

fn head(text: &mut Text, function: &Function, name: &str, workgroup: [u32; 3], indirect: bool) {
    let grid = indirect.then(|| format!("  .param .u64 {name}_grid"));
    let params = function.params.iter().enumerate().map(|(i, v)| parameter(function, *v, name, i));
    let params: Vec<String> = params.chain(grid).collect();
    text.line(format_args!(".visible .entry {name}("));
    for (i, param) in params.iter().enumerate() {
        text.line(format_args!("{param}{}", if i + 1 < params.len() { "," } else { "" }));
    }
    text.line(format_args!(")"));
    let [x, y, z] = workgroup;
    text.line(format_args!(".reqntid {x}, {y}, {z}"));
    match function.launch.as_ref().and_then(|launch| launch.registers) {
        Some(most) => text.line(format_args!(".maxnreg {most}")),
        // Without a word about it, code that needs many registers may get as few as if many large workgroups were to run at once.
        None if x * y * z >= LARGE => text.line(format_args!(".minnctapersm 1")),
        None => {}
    }
    text.line(format_args!("{{"));
}

/// Invocations of a large workgroup.
const LARGE: u32 = 256;

/// A parameter's declaration: an address, or a number in 4 or 8 bytes.
fn parameter(function: &Function, value: ValueId, name: &str, i: usize) -> String {
    let ty = function.ty(value);
    if let Type::Memory(_) = ty {
        let align = function.param_attrs(value).align.max(4).next_power_of_two();
        return format!("  .param .u64 .ptr .global .align {align} {name}_{i}");
    }
    let width = ty.element().map_or(Class::B32, scalar_class);
    format!("  .param .{} {name}_{i}", if width == Class::B64 { "b64" } else { "b32" })
}

fn load_parameters(r: &mut Renderer<'_>, name: &str) {
    let function = r.function;
    for (i, value) in function.params.iter().enumerate() {
        let (ty, to) = (function.ty(*value), r.home(*value));
        let from = format!("[{name}_{i}]");
        if let Type::Memory(_) = ty {
            ptx!(r, "ld.param.u64 {}, {from}", to.reg(0));
            ptx!(r, "cvta.to.global.u64 {0}, {0}", to.reg(0));
            continue;
        }
        let Type::Scalar(scalar) = ty else { continue };
        match scalar_class(scalar) {
            Class::B32 if scalar.bits() == 32 => ptx!(r, "ld.param.b32 {}, {from}", to.reg(0)),
            Class::B64 => ptx!(r, "ld.param.b64 {}, {from}", to.reg(0)),
            Class::B32 | Class::B16 | Class::Pred => {
                let word = r.fresh(Class::B32);
                ptx!(r, "ld.param.b32 {word}, {from}");
                r.from_words(ty, to, &[word.into()]);
            }
        }
    }
}

/// Registers and private arrays.
fn declarations(text: &mut Text, function: &Function, bank: &Bank) {
    for class in Class::ALL {
        if bank.used(class) > 0 {
            text.line(format_args!("  .reg .{} {}<{}>;", class.ty(), class.prefix(), bank.used(class)));
        }
    }
    for (id, memory) in function.memories.iter_enumerated() {
        if memory.space != Space::Private {
            continue;
        }
        let align = memory.align.max(memory.element.bytes());
        let bytes = function.as_constant(memory.length).unwrap_or(1) * u64::from(memory.element.bytes());
        text.line(format_args!("  .local .align {align} .b8 {}[{}];", private_name(id), bytes.max(1)));
    }
}

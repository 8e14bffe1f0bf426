//! Prints modules: one instruction on each line, constants inline, everything else by name.
//!
//! It prints any module, even one that breaks the rules. The text of a module that keeps the rules is read back as the same module.

mod instruction;
mod names;

use super::literal;
use super::words::{is_number, quoted};
use crate::attrs::ParamAttrs;
use crate::function::{Def, Function, FunctionId, Launch, Memory, Module, RegionId, ValueId};
use crate::ops::Op;
use crate::types::{Scalar, Type};
use names::{ItemNames, Names};

/// The text of a module.
pub fn print(module: &Module) -> String {
    let items = ItemNames::new(module);
    let mut parts = vec![];
    let tables = tables(module, &items);
    if !tables.is_empty() {
        parts.push(tables);
    }
    parts.extend(module.functions.ids().map(|id| print_one(module, id, &items)));
    parts.join("\n")
}

/// Layouts and globals, one a line.
fn tables(module: &Module, items: &ItemNames) -> String {
    let mut out = String::new();
    for (layout, name) in module.layouts.iter().zip(&items.layouts) {
        let fields: Vec<String> = layout.fields.iter().map(Type::to_string).collect();
        out.push_str(&format!("layout @{}({})\n", quoted(name), fields.join(", ")));
    }
    for (global, name) in module.globals.iter().zip(&items.globals) {
        let function = items.functions.get(global.function.index()).map_or("?".into(), |name| quoted(name));
        out.push_str(&format!("global @{} = @{function}\n", quoted(name)));
    }
    out
}

/// The text of one of its functions.
pub fn print_function(module: &Module, id: FunctionId) -> String {
    print_one(module, id, &ItemNames::new(module))
}

fn print_one(module: &Module, id: FunctionId, items: &ItemNames) -> String {
    let function = &module.functions[id];
    let names = Names::new(function);
    let mut printer = Printer { module, function, items, names, out: String::new(), indent: 0, frames: vec![] };
    printer.function(&items.functions[id.index()]);
    printer.out
}

/// Lines of a header are not longer than this if they can be broken.
const WIDTH: usize = 120;

/// What a region's end gives its values to: what literals take their types from.
#[derive(Clone, Copy, Debug)]
enum RegionEnd<'a> {
    Function,
    Prologue,
    Arm(&'a [ValueId]),
    Elements(&'a [ValueId]),
    Loop { params: &'a [ValueId], results: &'a [ValueId] },
}

/// The state of printing one function.
struct Printer<'a> {
    module: &'a Module,
    function: &'a Function,
    items: &'a ItemNames,
    names: Names,
    out: String,
    indent: usize,
    frames: Vec<RegionEnd<'a>>,
}

impl<'a> Printer<'a> {
    fn line_start(&mut self) {
        self.out.extend(std::iter::repeat_n("  ", self.indent));
    }

    fn function(&mut self, name: &str) {
        let word = if self.function.launch.is_some() { "kernel" } else { "fn" };
        self.header(&format!("{word} @{}", quoted(name)));
        if let Some(prologue) = self.function.launch.as_ref().and_then(|l| l.prologue) {
            self.out.push_str(" launch ");
            // Its names are visible in the body: no scope is closed.
            self.braces(prologue, RegionEnd::Prologue, false);
        }
        self.out.push_str(" {\n");
        self.indent += 1;
        for memory in self.function.memories.iter() {
            self.memory(memory);
        }
        self.frames.push(RegionEnd::Function);
        self.region(self.function.body);
        self.indent -= 1;
        self.out.push_str("}\n");
    }

    /// Name, parameters, results, launch; on several lines if one would be too long.
    fn header(&mut self, start: &str) {
        let params: Vec<String> = self.function.params.iter().map(|p| self.param(*p)).collect();
        let mut rest = match &self.function.results[..] {
            [] => String::new(),
            results => format!(" -> {}", results.iter().map(Type::to_string).collect::<Vec<_>>().join(", ")),
        };
        if let Some(launch) = &self.function.launch {
            rest.push_str(&self.launch(launch));
        }
        let line = format!("{start}({}){rest}", params.join(", "));
        if line.chars().count() + " {".len() <= WIDTH {
            self.out.push_str(&line);
        } else {
            self.out.push_str(&format!("{start}(\n    {}\n){rest}", params.join(",\n    ")));
        }
    }

    fn param(&mut self, value: ValueId) -> String {
        let ParamAttrs { divisible, align, readonly, noalias, borrowed } = self.function.param_attrs(value);
        let mut out = format!("{}: {}", self.names.define(self.function, value), self.function.ty(value));
        for (set, word) in [(readonly, " readonly"), (noalias, " noalias"), (borrowed, " borrowed")] {
            out.push_str(if set { word } else { "" });
        }
        for (n, word) in [(align, "align"), (divisible, "divisible")] {
            if n != 0 {
                out.push_str(&format!(" {word}({n})"));
            }
        }
        if self.function.launch.as_ref().is_some_and(|l| l.traps == Some(value)) {
            out.push_str(" traps");
        }
        out
    }

    fn launch(&mut self, launch: &Launch) -> String {
        let [x, y, z] = launch.workgroup;
        let mut out = match (y, z) {
            (1, 1) => format!(" workgroup({x})"),
            (_, 1) => format!(" workgroup({x}, {y})"),
            _ => format!(" workgroup({x}, {y}, {z})"),
        };
        for (n, word) in [(launch.subgroup, "subgroup"), (launch.registers, "registers")] {
            if let Some(n) = n {
                out.push_str(&format!(" {word}({n})"));
            }
        }
        for spec in &launch.specialisations {
            let ty = self.function.ty(spec.value);
            let name = self.names.define(self.function, spec.value);
            out.push_str(&format!(" spec({name}: {ty} = {})", literal_text(ty, spec.default)));
        }
        for (set, word) in [(launch.fold, " fold"), (launch.cooperative, " cooperative")] {
            out.push_str(if set { word } else { "" });
        }
        out
    }

    fn memory(&mut self, memory: &Memory) {
        self.line_start();
        let Memory { space, value, element, length, align, group } = *memory;
        let name = self.names.define(self.function, value);
        let length = self.operand(length, Some(Type::U32));
        self.out.push_str(&format!("{} {name}: {element}[{length}]", space.name()));
        if align != element.bytes() {
            self.out.push_str(&format!(" align({align})"));
        }
        if group != 0 {
            self.out.push_str(&format!(" group({group})"));
        }
        self.out.push('\n');
    }

    /// `{`, a region's lines, `}`.
    fn braces(&mut self, region: RegionId, frame: RegionEnd<'a>, closed: bool) {
        self.frames.push(frame);
        self.out.push('{');
        let before = self.out.len();
        self.out.push('\n');
        self.indent += 1;
        let scope = self.names.enter();
        for param in &self.function.regions[region].params {
            // A loop's are named where the loop is printed.
            if !self.names.is_named(*param) {
                self.names.define(self.function, *param);
            }
        }
        self.region(region);
        if closed {
            self.names.leave(scope);
        }
        self.indent -= 1;
        if self.out.len() == before + 1 {
            // Nothing but an end that goes without saying.
            self.out.truncate(before);
            self.out.push(' ');
        } else {
            self.line_start();
        }
        self.out.push('}');
        self.frames.pop();
    }

    fn region(&mut self, region: RegionId) {
        let function = self.function;
        let insts = &function.regions[region].insts;
        for (i, id) in insts.iter().enumerate() {
            let inst = &function.insts[*id];
            let last = i + 1 == insts.len();
            if !(last && self.goes_without_saying(inst.op, &inst.operands)) {
                self.line_start();
                self.statement(inst);
                self.out.push('\n');
            }
        }
    }

    /// Whether the parser adds this terminator by itself.
    fn goes_without_saying(&self, op: Op, operands: &[ValueId]) -> bool {
        let implied = match self.frames.last() {
            Some(RegionEnd::Function) | None => op == Op::Return && self.function.results.is_empty(),
            Some(RegionEnd::Prologue) => false,
            Some(RegionEnd::Arm(results) | RegionEnd::Elements(results)) => op == Op::Yield && results.is_empty(),
            Some(RegionEnd::Loop { params, .. }) => op == Op::Continue && params.is_empty(),
        };
        implied && operands.is_empty()
    }

    /// An operand at a place where a literal would have this type.
    fn operand(&mut self, value: ValueId, expected: Option<Type>) -> String {
        let Some(found) = self.function.values.get(value) else { return "%?".into() };
        match found.def {
            Def::Constant(bits) if expected == Some(found.ty) => literal_text(found.ty, bits),
            Def::Constant(bits) => format!("(const.{} {})", found.ty, literal_text(found.ty, bits)),
            Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) | Def::Result(..) => {
                self.names.of(value)
            }
        }
    }
}

fn literal_text(ty: Type, bits: u64) -> String {
    match ty {
        Type::Scalar(scalar) => literal::write(bits, scalar),
        // No constant has such a type.
        Type::Vector(..)
        | Type::Regs(..)
        | Type::Coop(..)
        | Type::Tile(_)
        | Type::Token
        | Type::Term
        | Type::Memory(_) => literal::write(bits, Scalar::U64),
    }
}

//! Prints instructions with their operands, attributes and regions.

use super::names::name_of;
use super::{Printer, RegionEnd};
use crate::attrs::{Attr, AttrKind, SharedMatrix};
use crate::function::{Inst, ValueId};
use crate::ops::{Op, Pattern, Suffix};
use crate::text::words::{
    CACHES, EVICTIONS, LAYOUTS, ORDERS, PRECISIONS, SCOPES, Syntax, UPDATES, before_fields, is_written_behind,
    literal_type, pattern, quoted, syntax, word,
};
use crate::types::{Scalar, Type};

impl<'a> Printer<'a> {
    /// An instruction with what it defines.
    pub(super) fn statement(&mut self, inst: &'a Inst) {
        let scope = self.names.enter();
        self.results(inst);
        // Its results are not yet visible in its regions.
        let hidden = self.names.leave(scope);
        match syntax(inst.op) {
            Some(Syntax::If) => self.if_else(inst),
            Some(Syntax::Switch) => self.switch(inst),
            Some(Syntax::Loop) => self.repeat(inst),
            Some(Syntax::Call) => self.call(inst),
            Some(Syntax::Join) => self.join(inst),
            Some(Syntax::Cell) => self.cell(inst),
            Some(Syntax::Global) => self.global(inst),
            Some(Syntax::Element) => self.by_element(inst),
            Some(Syntax::While) => self.while_next(inst),
            Some(Syntax::Jump) => self.jump(inst),
            None => self.by_table(inst),
        }
        self.names.show_again(hidden);
    }

    /// The left side; nothing if there are no results, or only such that follow from the rest and have no name and no use.
    fn results(&mut self, inst: &Inst) {
        let typed = self.needs_types(inst);
        let named = |v: &ValueId| name_of(self.function, *v).is_some() || self.names.is_used(*v);
        if inst.results.is_empty() || !(typed || inst.op == Op::Loop || inst.results.iter().any(named)) {
            return;
        }
        let mut results = vec![];
        for value in &inst.results {
            let name = self.names.define(self.function, *value);
            results.push(if typed { format!("{name}: {}", self.function.ty(*value)) } else { name });
        }
        self.out.push_str(&format!("{} = ", results.join(", ")));
    }

    /// Whether types have to stand at the results' names.
    fn needs_types(&self, inst: &Inst) -> bool {
        let types = |values: &[ValueId]| values.iter().map(|v| self.function.ty(*v)).collect::<Vec<Type>>();
        match syntax(inst.op) {
            Some(Syntax::If | Syntax::Switch) => true,
            Some(Syntax::Element) => inst.op == Op::TileMap,
            Some(Syntax::Loop) => {
                let params = inst.regions.first().map_or(&[][..], |r| &self.function.regions[*r].params);
                types(&inst.results) != types(params)
            }
            Some(Syntax::Call | Syntax::Join | Syntax::Cell | Syntax::Global | Syntax::While | Syntax::Jump) | None => {
                false
            }
        }
    }

    /// The operation's name and suffix.
    fn head(&mut self, inst: &Inst) {
        self.out.push_str(inst.op.name());
        match inst.op.row().suffix {
            Suffix::None => {}
            Suffix::Dim => self.out.push_str(&format!(".{}", inst.dim().name())),
            Suffix::Scalar(_)
            | Suffix::Lanes(_)
            | Suffix::Aggregate(_)
            | Suffix::Coop
            | Suffix::Tile(_)
            | Suffix::Block(_)
            | Suffix::Any => {
                if let Some(ty) = inst.ty {
                    self.out.push_str(&format!(".{ty}"));
                }
            }
        }
    }

    fn by_table(&mut self, inst: &Inst) {
        self.head(inst);
        let operands = self.table_operands(inst);
        if !operands.is_empty() {
            self.out.push_str(&format!(" {}", operands.join(", ")));
        }
        self.attributes(inst);
    }

    /// Operands as they are written: a memory and an index are one access.
    fn table_operands(&mut self, inst: &Inst) -> Vec<String> {
        let mut offsets = [inst.offset(), inst.source_offset()].into_iter();
        let mut out: Vec<String> = vec![];
        let mut memory = None;
        for (i, value) in inst.operands.iter().enumerate() {
            let pattern = pattern(inst.op, i);
            let text = self.operand(*value, pattern.and_then(|p| literal_type(p, inst.ty)));
            match (memory.take(), pattern) {
                (Some(memory), _) => {
                    let offset = offset_text(offsets.next().unwrap_or(0));
                    out.push(format!("{memory}[{text}{offset}]"));
                }
                (None, Some(Pattern::Memory(_))) => memory = Some(text),
                (None, _) => out.push(text),
            }
        }
        out.extend(memory);
        out
    }

    fn attributes(&mut self, inst: &Inst) {
        for attr in inst.attrs.iter().filter(|a| is_written_behind(a.kind())) {
            let name = attr.kind().name();
            self.out.push_str(&match attribute_text(attr) {
                None => format!(" {name}"),
                Some(inside) => format!(" {name}({inside})"),
            });
        }
    }

    /// Values at places that have the types of other values, or none.
    fn values(&mut self, values: &[ValueId], types: &[Type]) -> String {
        let texts: Vec<String> =
            values.iter().enumerate().map(|(i, v)| self.operand(*v, types.get(i).copied())).collect();
        texts.join(", ")
    }

    fn types_of(&self, values: &[ValueId]) -> Vec<Type> {
        values.iter().map(|v| self.function.ty(*v)).collect()
    }

    fn if_else(&mut self, inst: &'a Inst) {
        let condition = self.values(&inst.operands, &[Type::BOOL]);
        self.out.push_str(&format!("if {condition} "));
        for (i, region) in inst.regions.iter().enumerate() {
            let insts = &self.function.regions[*region].insts;
            let nothing = match insts[..] {
                [] => true,
                [only] => {
                    let end = &self.function.insts[only];
                    end.op == Op::Yield && end.operands.is_empty()
                }
                _ => false,
            };
            if i == 1 && nothing && inst.results.is_empty() {
                continue;
            }
            if i > 0 {
                self.out.push_str(" else ");
            }
            self.braces(*region, RegionEnd::Arm(&inst.results), true);
        }
    }

    fn switch(&mut self, inst: &'a Inst) {
        self.head(inst);
        let ty = inst.ty.unwrap_or(Type::U32);
        let value = self.values(&inst.operands, &[ty]);
        self.out.push_str(&format!(" {value}"));
        let scalar = ty.element().unwrap_or(Scalar::I64);
        let cases = inst.cases();
        for (i, region) in inst.regions.iter().enumerate() {
            match cases.get(i).filter(|_| i + 1 < inst.regions.len()) {
                Some(values) => {
                    let values: Vec<String> = values.iter().map(|v| case_text(*v, scalar)).collect();
                    self.out.push_str(&format!(" case {} ", values.join(", ")));
                }
                None => self.out.push_str(" default "),
            }
            self.braces(*region, RegionEnd::Arm(&inst.results), true);
        }
    }

    fn repeat(&mut self, inst: &'a Inst) {
        self.out.push_str("loop ");
        let Some(region) = inst.regions.first() else { return };
        let params = &self.function.regions[*region].params;
        let types = self.types_of(params);
        let scope = self.names.enter();
        let mut carried = vec![];
        for (i, param) in params.iter().enumerate() {
            // The initial value is printed before the parameter is visible.
            let initial = inst.operands.get(i).map_or("%?".into(), |v| self.operand(*v, types.get(i).copied()));
            carried.push((*param, initial));
        }
        let texts: Vec<String> = carried
            .into_iter()
            .map(|(param, initial)| {
                let name = self.names.define(self.function, param);
                format!("{name}: {} = {initial}", self.function.ty(param))
            })
            .collect();
        if !texts.is_empty() {
            self.out.push_str(&format!("({}) ", texts.join(", ")));
        }
        if inst.has(AttrKind::Unroll) {
            self.out.push_str("unroll ");
        }
        self.braces(*region, RegionEnd::Loop { params, results: &inst.results }, true);
        self.names.leave(scope);
    }

    fn by_element(&mut self, inst: &'a Inst) {
        self.out.push_str(inst.op.name());
        let operands = self.values(&inst.operands, &[]);
        self.out.push_str(&format!(" {operands}"));
        self.attributes(inst);
        let Some(region) = inst.regions.first() else { return };
        let scope = self.names.enter();
        let mut params = vec![];
        for param in &self.function.regions[*region].params {
            let name = self.names.define(self.function, *param);
            params.push(format!("{name}: {}", self.function.ty(*param)));
        }
        self.out.push_str(&format!(" ({}) ", params.join(", ")));
        self.braces(*region, RegionEnd::Elements(&inst.results), true);
        self.names.leave(scope);
    }

    fn call(&mut self, inst: &Inst) {
        let callee = inst.callee().filter(|id| self.module.functions.get(*id).is_some());
        let params = callee.map_or(vec![], |id| {
            let f = &self.module.functions[id];
            f.params.iter().map(|p| f.ty(*p)).collect()
        });
        let name = self.callee(inst);
        let operands = self.values(&inst.operands, &params);
        self.out.push_str(&format!("{} @{name}({operands})", inst.op.name()));
    }

    fn callee(&self, inst: &Inst) -> String {
        item(&self.items.functions, inst.callee().map(|id| id.index()))
    }

    fn join(&mut self, inst: &Inst) {
        let (name, operands) = (self.callee(inst), self.values(&inst.operands, &[]));
        self.out.push_str(&format!("join @{name} {operands}"));
    }

    fn cell(&mut self, inst: &Inst) {
        let first = before_fields(inst.op);
        let layout = inst.cell().and_then(|id| self.module.layouts.get(id));
        let fields = layout.map_or(&[][..], |layout| &layout.fields);
        let types: Vec<Type> = first.iter().chain(fields).copied().collect();
        self.head(inst);
        self.out.push_str(&format!(" @{}", item(&self.items.layouts, inst.cell().map(|id| id.index()))));
        let operands = self.values(&inst.operands, &types);
        if !operands.is_empty() {
            self.out.push_str(&format!(" {operands}"));
        }
        self.attributes(inst);
    }

    fn global(&mut self, inst: &Inst) {
        let name = item(&self.items.globals, inst.global().map(|id| id.index()));
        self.out.push_str(&format!("{} @{name}", inst.op.name()));
    }

    /// The innermost loop's parameters and results.
    fn innermost_loop(&self) -> (&'a [ValueId], &'a [ValueId]) {
        let found = self.frames.iter().rev().find_map(|frame| match frame {
            RegionEnd::Loop { params, results } => Some((*params, *results)),
            RegionEnd::Function | RegionEnd::Prologue | RegionEnd::Arm(_) | RegionEnd::Elements(_) => None,
        });
        found.unwrap_or((&[], &[]))
    }

    fn while_next(&mut self, inst: &Inst) {
        let Some((condition, next)) = inst.operands.split_first() else {
            self.out.push_str("while");
            return;
        };
        let condition = self.operand(*condition, Some(Type::BOOL));
        self.out.push_str(&format!("while {condition}"));
        if !next.is_empty() {
            let types = self.types_of(self.innermost_loop().0);
            let next = self.values(next, &types);
            self.out.push_str(&format!(" next {next}"));
        }
    }

    fn jump(&mut self, inst: &Inst) {
        let types = match (inst.op, self.frames.last()) {
            (Op::Return, _) => self.function.results.clone(),
            (Op::Break, _) => self.types_of(self.innermost_loop().1),
            (Op::Continue, _) => self.types_of(self.innermost_loop().0),
            (Op::Grid, _) => vec![Type::U32; 3],
            (Op::Yield, Some(RegionEnd::Arm(results))) => self.types_of(results),
            (Op::Yield, Some(RegionEnd::Elements(results))) => {
                self.types_of(results).into_iter().filter_map(Type::element).map(Type::Scalar).collect()
            }
            (Op::Yield, Some(RegionEnd::Function | RegionEnd::Prologue | RegionEnd::Loop { .. }) | None) => vec![],
            (other, _) => unreachable!("`{}` is no jump with values", other.name()),
        };
        let values = self.values(&inst.operands, &types);
        self.out.push_str(inst.op.name());
        if !values.is_empty() {
            self.out.push_str(&format!(" {values}"));
        }
    }
}

/// The name of something that a module holds.
fn item(names: &[String], position: Option<usize>) -> String {
    position.and_then(|i| names.get(i)).map_or("?".into(), |name| quoted(name).into_owned())
}

fn offset_text(offset: i32) -> String {
    match offset {
        0 => String::new(),
        1.. => format!(" + {offset}"),
        _ => format!(" - {}", offset.unsigned_abs()),
    }
}

fn case_text(value: i64, ty: Scalar) -> String {
    if ty.is_signed() { value.to_string() } else { (value as u64 & ty.mask()).to_string() }
}

/// What stands in an attribute's parentheses, if it has any.
fn attribute_text(attr: &Attr) -> Option<String> {
    Some(match attr {
        Attr::NoWrap | Attr::Total | Attr::Volatile | Attr::Unroll | Attr::Flat | Attr::Reverse => return None,
        Attr::Axis(n) => n.to_string(),
        Attr::Update(update) => word(UPDATES, *update).into(),
        Attr::Precision(precision) => word(PRECISIONS, *precision).into(),
        Attr::Eviction(eviction) => word(EVICTIONS, *eviction).into(),
        Attr::Axes(numbers) | Attr::Multiple(numbers) | Attr::Contiguous(numbers) | Attr::Constancy(numbers) => {
            numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
        }
        Attr::Text(text) => format!("@{}", quoted(text)),
        Attr::Order(order) => word(ORDERS, *order).into(),
        Attr::Scope(scope) => word(SCOPES, *scope).into(),
        Attr::Cache(cache) => word(CACHES, *cache).into(),
        Attr::Layout(layout) => word(LAYOUTS, *layout).into(),
        Attr::Spaces(spaces) => {
            let words = [(spaces.shared, "shared"), (spaces.global, "global")];
            words.iter().filter(|(set, _)| *set).map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
        }
        Attr::Pending(n) | Attr::Code(n) | Attr::Field(n) => n.to_string(),
        Attr::Shape(shape) => shape.to_string(),
        Attr::MatrixA(matrix) => matrix_text(matrix, "m"),
        Attr::MatrixB(matrix) => matrix_text(matrix, "n"),
        // They have places of their own.
        Attr::Dim(_)
        | Attr::Callee(_)
        | Attr::Cases(_)
        | Attr::Offset(_)
        | Attr::SourceOffset(_)
        | Attr::Cell(_)
        | Attr::Global(_) => return None,
    })
}

fn matrix_text(matrix: &SharedMatrix, other: &str) -> String {
    let SharedMatrix { k_major, swizzle, leading, stride } = matrix;
    let major = if *k_major { "k" } else { other };
    format!("{major}, swizzle {swizzle}, leading {leading}, stride {stride}")
}

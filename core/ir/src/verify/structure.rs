//! The walk over a function that applies the rules to each instruction, and the rules of the structure itself: every
//! region ends with its only terminator, and a value is used only where it is visible.

use super::form::Form;
use super::{asynchronous, attributes, flow, heap, launch, memory, names, tiles, types};
use crate::function::{Def, Function, FunctionId, Inst, InstId, Module, RegionId, ValueId};
use crate::groups::{jumps, not_control, other_control};
use crate::ops::Op;
use crate::types::Type;
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;

/// Checks one function.
pub(super) fn check(module: &Module, id: FunctionId, form: &Form, found: &mut Vec<Diagnostic>) {
    let function = &module.functions[id];
    let visible = function.values.iter().map(|v| matches!(v.def, Def::Constant(_))).collect();
    let mut walk =
        Walk { cx: Context { module, function, form, found }, visible, defined: vec![], loops: vec![], launch: false };
    walk.function();
}

/// What the rules about one instruction need: where it stands, and where to put what is found.
pub(super) struct Context<'a> {
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
    pub(super) form: &'a Form,
    pub(super) found: &'a mut Vec<Diagnostic>,
}

impl Context<'_> {
    /// Reports something about an instruction.
    pub(super) fn report(&mut self, code: Code, inst: &Inst, message: impl Into<String>, hint: &str) {
        self.found.push(Diagnostic::new(code, inst.span, message).hint(hint));
    }
    /// Reports something about an instruction and one of its operands.
    pub(super) fn blame(&mut self, code: Code, inst: &Inst, operand: ValueId, message: String, hint: &str) {
        let diagnostic = names::about(code, self.function, self.form, inst, operand, message);
        self.found.push(if hint.is_empty() { diagnostic } else { diagnostic.hint(hint) });
    }
    /// A value as messages name it.
    pub(super) fn name(&self, value: ValueId) -> String {
        names::value(self.function, value)
    }
    /// Type of a value.
    pub(super) fn ty(&self, value: ValueId) -> Type {
        self.function.ty(value)
    }
}

struct Walk<'a> {
    cx: Context<'a>,
    visible: IndexVec<ValueId, bool>,
    /// What has become visible, in that order: leaving a region takes back what it defined.
    defined: Vec<ValueId>,
    /// The loops around, outermost first.
    loops: Vec<InstId>,
    /// Whether this is the `launch` region.
    launch: bool,
}

impl Walk<'_> {
    fn function(&mut self) {
        let function = self.cx.function;
        launch::signature(&mut self.cx);
        for param in &function.params {
            self.define(*param);
        }
        if let Some(launch) = &function.launch {
            for spec in &launch.specialisations {
                self.define(spec.value);
            }
            if let Some(prologue) = launch.prologue {
                self.launch = true;
                // What it defines stays visible in the body.
                self.insts(prologue);
                self.launch = false;
            }
        }
        memory::declarations(&mut self.cx);
        for memory in function.memories.iter() {
            if !self.visible[memory.length] {
                self.unknown_length(memory.length);
            }
        }
        for memory in function.memories.iter() {
            self.define(memory.value);
        }
        self.insts(function.body);
    }

    fn define(&mut self, value: ValueId) {
        self.visible[value] = true;
        self.defined.push(value);
    }

    fn region(&mut self, region: RegionId) {
        let before = self.defined.len();
        for param in &self.cx.function.regions[region].params {
            self.define(*param);
        }
        self.insts(region);
        for value in self.defined.drain(before..) {
            self.visible[value] = false;
        }
    }

    fn insts(&mut self, region: RegionId) {
        let function = self.cx.function;
        let insts = &function.regions[region].insts;
        for (i, id) in insts.iter().enumerate() {
            let inst = &function.insts[*id];
            self.inst(*id, inst);
            if inst.op.is_terminator() && i + 1 < insts.len() {
                let next = function.insts[insts[i + 1]].span;
                let message = format!("`{}` ends its region, but more follows", inst.op.name());
                let diagnostic = Diagnostic::new(Code::IrTerminator, inst.span, message);
                self.cx
                    .found
                    .push(diagnostic.label(next, "never reached").hint("remove what follows, or end the region later"));
                // What is never reached would only be wrong for the same reason.
                return;
            }
        }
        if function.terminator(region).is_none() {
            self.unterminated(region);
        }
    }

    fn unterminated(&mut self, region: RegionId) {
        let (place, end) = match self.cx.form.owner(region) {
            None if self.launch => ("the `launch` region".to_string(), "`grid`"),
            None => (format!("the body of `@{}`", self.cx.function.name), "`return`"),
            Some(owner) => match self.cx.function.insts[owner].op {
                Op::Loop => ("the body of the loop".into(), "`break`, `continue`, `while`, `return` or `tail`"),
                op @ (Op::If | Op::Switch | not_control!() | jumps!() | other_control!()) => {
                    (format!("a region of `{}`", op.name()), "`yield`, `break`, `continue` or `return`")
                }
            },
        };
        let span = self.cx.form.owner(region).map_or(self.cx.function.span, |owner| self.cx.function.insts[owner].span);
        let message = format!("{place} has no terminator");
        self.cx.found.push(Diagnostic::new(Code::IrTerminator, span, message).hint(format!("end it with {end}")));
    }

    fn inst(&mut self, id: InstId, inst: &Inst) {
        self.operands_visible(inst);
        if self.launch {
            launch::instruction(&mut self.cx, inst);
        }
        attributes::check(&mut self.cx, inst);
        if types::suffix(&mut self.cx, inst) && types::operands(&mut self.cx, inst) {
            memory::access(&mut self.cx, inst);
            asynchronous::check(&mut self.cx, inst);
            heap::check(&mut self.cx, id, inst);
            tiles::check(&mut self.cx, inst);
            if self.launch {
                launch::meaning(&mut self.cx, inst);
            }
        }
        types::results(&mut self.cx, inst);
        let around = self.loops.last().map(|id| &self.cx.function.insts[*id]);
        flow::check(&mut self.cx, id, inst, around, self.launch);
        // What an element's region leaves is no loop around it.
        let around = if inst.op.is_by_element() { std::mem::take(&mut self.loops) } else { vec![] };
        if inst.op == Op::Loop {
            self.loops.push(id);
        }
        for region in &inst.regions {
            self.region(*region);
        }
        if inst.op == Op::Loop {
            self.loops.pop();
        }
        if !around.is_empty() {
            self.loops = around;
        }
        for result in &inst.results {
            self.define(*result);
        }
    }

    fn operands_visible(&mut self, inst: &Inst) {
        for (i, operand) in inst.operands.iter().enumerate() {
            if !self.visible[*operand] && !inst.operands[..i].contains(operand) {
                let name = self.cx.name(*operand);
                let message = format!("{name} is not visible here");
                let hint = "a value is visible after its definition, in its region and in regions inside that one; let the region yield it";
                self.cx.blame(Code::IrName, inst, *operand, message, hint);
            }
        }
    }

    fn unknown_length(&mut self, value: ValueId) {
        let message = format!("{} is not known when the kernel is launched", self.cx.name(value));
        let diagnostic = Diagnostic::new(Code::IrName, self.cx.function.span_of(value), message);
        self.cx.found.push(diagnostic.hint("give the length of a memory as a constant"));
    }
}

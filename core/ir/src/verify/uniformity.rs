//! Which values and which control flow are the same for which invocations: an analysis, and the rules that use it to check
//! barriers and subgroup operations.
//!
//! The analysis is WGSL's, with warpgroups and subgroups between workgroups and invocations: a value that depends on a varying value varies, and so does a value that
//! a varying condition chooses. Control flow converges again after `if`, `switch` and `loop`, except for invocations that left by a jump:
//! after a `break` or `continue` that only some reach, the rest of the loop varies; after such a `return`, the rest of the function varies.
//!
//! Levels only get weaker, and there are five, so the iteration over loops ends.

use super::calls::{self, Calls};
use super::names;
use super::warpgroups;
use crate::attrs::Attr;
use crate::function::{Def, Function, FunctionId, Inst, InstId, Module, RegionId, ValueId};
use crate::groups::{aggregates, arithmetic, cells, masks, memory, of_kernels};
use crate::ops::{Convergence, Effect, Op, Transfer, Uniformity};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;

/// What is known of a function.
#[derive(Clone, Debug)]
pub struct Levels {
    values: IndexVec<ValueId, Uniformity>,
    control: IndexVec<InstId, Control>,
}

impl Levels {
    /// Over which invocations a value is the same.
    pub fn value(&self, value: ValueId) -> Uniformity {
        self.values[value]
    }
    /// Over which invocations it is the same whether an instruction is reached.
    pub fn control(&self, inst: InstId) -> Uniformity {
        self.control[inst].level
    }
}

/// Analyses a function. A kernel's parameters are the same in the whole launch; of a function that is called nothing is assumed.
pub fn analyse(module: &Module, id: FunctionId) -> Levels {
    let function = &module.functions[id];
    let start = if function.launch.is_some() { Uniformity::Launch } else { Uniformity::Varying };
    let context = Context { control: start, params: vec![start; function.params.len()], site: None };
    let mut calls = calls::of_module(module);
    let reached = calls::reached(&calls, std::iter::once(id));
    // What the function does not come to need not be known.
    for other in module.functions.ids().filter(|other| reached.iter().all(|(id, _)| id != other)) {
        calls[other].clear();
    }
    Analysis::run(module, id, &context, &Known::of(module, &calls))
}

/// How control flow has come to a point, and what made it vary.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Control {
    level: Uniformity,
    cause: Option<InstId>,
}

impl Control {
    const START: Control = Control { level: Uniformity::Launch, cause: None };

    /// The weaker of both.
    fn or(self, other: Control) -> Control {
        if other.level > self.level { other } else { self }
    }
    fn weakened(self, level: Uniformity, cause: InstId) -> Control {
        self.or(Control { level, cause: Some(cause) })
    }
}

/// Where the analysis stands.
#[derive(Clone, Copy)]
struct Flow {
    /// How the innermost loop was entered.
    entry: Control,
    /// How the point was reached from the start of the loop's iteration.
    local: Control,
}

impl Flow {
    fn here(self) -> Control {
        self.entry.or(self.local)
    }
}

/// Who has left a region by jumps, as the loop's iteration sees it.
#[derive(Clone, Copy, Default)]
struct Exits {
    /// By `break`, `continue` and `while`.
    jumps: Option<Control>,
    /// By `return`.
    returns: Option<Control>,
}

impl Exits {
    fn and(self, other: Exits) -> Exits {
        let both = |a: Option<Control>, b: Option<Control>| match (a, b) {
            (Some(a), Some(b)) => Some(a.or(b)),
            (a, b) => a.or(b),
        };
        Exits { jumps: both(self.jumps, other.jumps), returns: both(self.returns, other.returns) }
    }
    fn all(self) -> Control {
        [self.jumps, self.returns].into_iter().flatten().fold(Control::START, Control::or)
    }
}

/// How a function is called.
#[derive(Clone, Debug)]
struct Context {
    control: Uniformity,
    params: Vec<Uniformity>,
    /// A call that made it weaker than the launch.
    site: Option<Span>,
}

impl Context {
    /// By all of the launch, with operands that are the same in it.
    fn best(function: &Function) -> Context {
        let params = vec![Uniformity::Launch; function.params.len()];
        Context { control: Uniformity::Launch, params, site: None }
    }
}

/// What is known of functions before they are analysed.
struct Known {
    /// Over which invocations the results of each are the same if its operands are the same in the launch.
    results: IndexVec<FunctionId, Uniformity>,
    /// Which have something for warpgroups.
    warpgroups: IndexVec<FunctionId, bool>,
}

impl Known {
    fn of(module: &Module, calls: &Calls) -> Known {
        let decided = calls::decided_by_operands(module);
        let level = |decided: &bool| if *decided { Uniformity::Launch } else { Uniformity::Varying };
        let results = decided.iter().map(level).collect();
        let mut known = Known { results, warpgroups: warpgroups::speaking(module, calls) };
        let callers = calls::callers(calls);
        // Those that lead into a cycle are left out, and vary.
        for id in calls::callees_first(calls).into_iter().filter(|id| !decided[*id] && !callers[*id].is_empty()) {
            known.results[id] = known.results_of(module, id);
        }
        known
    }

    /// The weakest of a function's results. No level is made weaker by two operands than by the weakest of them, so that a call's
    /// results are as uniform as this and its operands.
    fn results_of(&self, module: &Module, id: FunctionId) -> Uniformity {
        let function = &module.functions[id];
        let levels = Analysis::run(module, id, &Context::best(function), self);
        let (mut returns, mut level, mut control) = (0, Uniformity::Launch, Uniformity::Launch);
        function.walk(function.body, &mut |id, inst| {
            if inst.op == Op::Return {
                returns += 1;
                control = control.max(levels.control(id));
                level = inst.operands.iter().map(|v| levels.values[*v]).fold(level, Uniformity::max);
            } else if inst.op == Op::Tail {
                level = Uniformity::Varying;
            }
        });
        // Which of several returns is come to decides what is returned.
        if returns > 1 { level.max(control) } else { level }
    }
}

struct Analysis<'a> {
    function: &'a Function,
    known: &'a Known,
    /// Whether it is for devices with warpgroups, which number invocations subgroup by subgroup.
    warpgroups: bool,
    levels: Levels,
    /// How each loop's iterations start: weakened by those who leave in between.
    iterations: IndexVec<RegionId, Control>,
    loops: Vec<InstId>,
    start: Control,
    changed: bool,
}

impl<'a> Analysis<'a> {
    fn run(module: &'a Module, id: FunctionId, context: &Context, known: &'a Known) -> Levels {
        let function = &module.functions[id];
        let launch = |_| Uniformity::Launch;
        let mut levels = Levels {
            values: function.values.iter().map(launch).collect(),
            control: function.insts.iter().map(|_| Control::START).collect(),
        };
        for (param, level) in function.params.iter().zip(&context.params) {
            levels.values[*param] = *level;
        }
        let mut analysis = Analysis {
            function,
            known,
            warpgroups: known.warpgroups[id],
            levels,
            iterations: function.regions.iter().map(|_| Control::START).collect(),
            loops: vec![],
            start: Control { level: context.control, cause: None },
            changed: true,
        };
        while std::mem::take(&mut analysis.changed) {
            let flow = Flow { entry: analysis.start, local: Control::START };
            analysis.region(function.body, flow);
        }
        analysis.levels
    }

    fn region(&mut self, region: RegionId, mut flow: Flow) -> Exits {
        let function = self.function;
        let mut exits = Exits::default();
        for id in &function.regions[region].insts {
            let inst = &function.insts[*id];
            self.levels.control[*id] = flow.here();
            let left = match inst.op {
                Op::If | Op::Switch => self.choice(*id, inst, flow),
                Op::Loop => self.repetition(*id, inst, flow),
                Op::Break | Op::Continue | Op::While | Op::Return | Op::Tail => self.jump(*id, inst, flow),
                Op::Call
                | Op::Yield
                | Op::Grid
                | Op::TrapIf
                | Op::Fork
                | Op::Join
                | arithmetic!()
                | of_kernels!()
                | crate::tile_operations!()
                | memory!()
                | cells!()
                | masks!()
                | aggregates!() => {
                    self.transfer(inst);
                    continue;
                }
            };
            flow.local = flow.local.or(left.all());
            exits = exits.and(left);
        }
        exits
    }

    fn transfer(&mut self, inst: &Inst) {
        let callee = inst.callee().filter(|_| inst.op == Op::Call);
        let results = callee.and_then(|callee| self.known.results.get(callee).copied());
        let level = match inst.op.row().transfer {
            Transfer::Always(level) if inst.op == Op::Call => {
                self.weakest(&inst.operands).max(results.unwrap_or(level))
            }
            // What is one number already stays it.
            Transfer::Always(level) if inst.op == Op::Broadcast => {
                level.min(self.weakest(inst.operands.get(..1).unwrap_or(&[])))
            }
            Transfer::Always(level) => level,
            Transfer::Operands if self.warpgroups && warpgroups::number(self.function, inst) => {
                self.weakest(&inst.operands).min(Uniformity::Warpgroup)
            }
            Transfer::Operands => self.weakest(&inst.operands),
            Transfer::Memory => self.loaded(inst),
            // Those are `if`, `switch` and `loop`.
            Transfer::Regions => Uniformity::Varying,
        };
        for result in &inst.results {
            self.levels.values[*result] = level;
        }
    }

    fn weakest(&self, values: &[ValueId]) -> Uniformity {
        values.iter().map(|v| self.levels.values[*v]).max().unwrap_or(Uniformity::Launch)
    }

    fn loaded(&self, inst: &Inst) -> Uniformity {
        let readonly = inst.operands.first().is_some_and(|memory| self.function.param_attrs(*memory).readonly);
        if readonly && inst.effect() == Effect::Read { self.weakest(&inst.operands) } else { Uniformity::Varying }
    }

    fn choice(&mut self, id: InstId, inst: &Inst, flow: Flow) -> Exits {
        let condition = self.weakest(&inst.operands);
        let inner = Flow { local: flow.local.weakened(condition, id), ..flow };
        let exits = inst.regions.iter().fold(Exits::default(), |exits, r| exits.and(self.region(*r, inner)));
        for (i, result) in inst.results.iter().enumerate() {
            self.levels.values[*result] = self.yielded(inst, i, condition);
        }
        exits
    }

    /// A value that an arm yields; the condition matters if several arms yield different ones.
    fn yielded(&self, inst: &Inst, position: usize, condition: Uniformity) -> Uniformity {
        let mut level = Uniformity::Launch;
        let mut first = None;
        for region in &inst.regions {
            let end = self.function.terminator(*region).filter(|end| end.op == Op::Yield);
            let Some(value) = end.and_then(|end| end.operands.get(position)).copied() else { continue };
            level = level.max(self.levels.values[value]);
            if first.replace(value).is_some_and(|first| first != value) {
                level = level.max(condition);
            }
        }
        level
    }

    fn repetition(&mut self, id: InstId, inst: &Inst, flow: Flow) -> Exits {
        let Some(region) = inst.regions.first().copied() else { return Exits::default() };
        self.carry(region, &inst.operands, Uniformity::Launch);
        self.loops.push(id);
        let inner = Flow { entry: flow.here(), local: self.iterations[region] };
        let exits = self.region(region, inner);
        self.loops.pop();
        let next = self.iterations[region].or(exits.all());
        if next.level != self.iterations[region].level {
            self.iterations[region] = next;
            self.changed = true;
        }
        // Those who broke out wait for the others after the loop; those who returned do not.
        Exits { jumps: None, returns: exits.returns }
    }

    fn jump(&mut self, id: InstId, inst: &Inst, flow: Flow) -> Exits {
        let local = flow.local;
        if inst.op.leaves_function() {
            return Exits { jumps: None, returns: Some(local) };
        }
        let Some(around) = self.loops.last().map(|l| &self.function.insts[*l]) else { return Exits::default() };
        let Some(region) = around.regions.first().copied() else { return Exits::default() };
        let mut left = local;
        match inst.op {
            Op::Break => self.leave(around, &inst.operands, local.level),
            Op::While => {
                let condition = self.weakest(inst.operands.get(..1).unwrap_or(&[]));
                left = local.weakened(condition, id);
                self.carry(region, inst.operands.get(1..).unwrap_or(&[]), local.level);
                self.leave(around, &self.function.regions[region].params, left.level);
            }
            Op::Continue => self.carry(region, &inst.operands, local.level),
            other => unreachable!("`{}` is no jump", other.name()),
        }
        Exits { jumps: Some(left), returns: None }
    }

    fn carry(&mut self, region: RegionId, values: &[ValueId], control: Uniformity) {
        let function = self.function;
        self.join(&function.regions[region].params, values, control);
    }

    fn leave(&mut self, around: &Inst, values: &[ValueId], control: Uniformity) {
        self.join(&around.results, values, control);
    }

    fn join(&mut self, targets: &[ValueId], values: &[ValueId], control: Uniformity) {
        for (target, value) in targets.iter().zip(values) {
            let level = self.levels.values[*value].max(control);
            if level > self.levels.values[*target] {
                self.levels.values[*target] = level;
                self.changed = true;
            }
        }
    }
}

/// Holds a module whose kernels are not recursive to the rules, callers before callees, so that what is known of all calls is known.
pub(super) fn check(module: &Module, task_form: &IndexVec<FunctionId, bool>, found: &mut Vec<Diagnostic>) {
    let mut calls = calls::of_module(module);
    // Nothing is done together in task form, and it may be recursive.
    for id in task_form.ids().filter(|id| task_form[*id]) {
        calls[id].clear();
    }
    let known = Known::of(module, &calls);
    let mut contexts: IndexVec<FunctionId, Option<Context>> = module.functions.iter().map(|_| None).collect();
    for id in callers_first(&calls) {
        let function = &module.functions[id];
        // Who is called by nobody may be called in any way later, and is checked then.
        let context = contexts[id].take().unwrap_or_else(|| Context::best(function));
        if calls[id].is_empty() && !communicates(function) {
            continue;
        }
        let levels = Analysis::run(module, id, &context, &known);
        hold(module, function, &levels, &context, found);
        for (inst, callee) in &calls[id] {
            call(&mut contexts[*callee], function, &levels, *inst);
        }
    }
}

/// Whether a function has an operation that must be reached together.
fn communicates(function: &Function) -> bool {
    let mut some = false;
    function.walk(function.body, &mut |_, inst| some |= inst.op.row().convergence != Convergence::Free);
    some
}

/// Weakens what is known of a callee by one call.
fn call(context: &mut Option<Context>, function: &Function, levels: &Levels, id: InstId) {
    let inst = &function.insts[id];
    let control = levels.control[id].level;
    let params: Vec<Uniformity> = inst.operands.iter().map(|v| levels.values[*v]).collect();
    let site = |weaker: bool| weaker.then_some(inst.span);
    let Some(old) = context else {
        *context = Some(Context { control, params, site: site(control > Uniformity::Launch) });
        return;
    };
    if control > old.control {
        old.control = control;
        old.site = site(true);
    }
    for (old, new) in old.params.iter_mut().zip(params) {
        *old = (*old).max(new);
    }
}

fn callers_first(calls: &IndexVec<FunctionId, Vec<(InstId, FunctionId)>>) -> Vec<FunctionId> {
    let mut waiting: IndexVec<FunctionId, usize> = calls.iter().map(|_| 0).collect();
    for (_, callee) in calls.iter().flatten() {
        waiting[*callee] += 1;
    }
    let mut order: Vec<FunctionId> = waiting.ids().filter(|id| waiting[*id] == 0).collect();
    let mut next = 0;
    while let Some(caller) = order.get(next).copied() {
        next += 1;
        for (_, callee) in &calls[caller] {
            waiting[*callee] -= 1;
            if waiting[*callee] == 0 {
                order.push(*callee);
            }
        }
    }
    order
}

/// Reports what the rules do not allow.
fn hold(module: &Module, function: &Function, levels: &Levels, context: &Context, found: &mut Vec<Diagnostic>) {
    let explain = Explain { module, function, levels, context };
    // What comes after a first divergent barrier is wrong for the same reason.
    let mut blamed: Vec<Option<InstId>> = vec![];
    function.walk(function.body, &mut |id, inst| {
        let row = inst.op.row();
        let needed = match row.convergence {
            Convergence::Free => return,
            Convergence::Subgroup => Uniformity::Subgroup,
            Convergence::Warpgroup => Uniformity::Warpgroup,
            Convergence::Workgroup => Uniformity::Workgroup,
        };
        let control = levels.control[id];
        if control.level > needed {
            if !blamed.contains(&control.cause) {
                blamed.push(control.cause);
                found.push(explain.divergent(inst, control, needed));
            }
            return;
        }
        for position in row.same {
            if let Some(operand) = inst.operands.get(*position).copied()
                && levels.values[operand] > needed
            {
                found.push(explain.not_uniform(inst, operand, needed));
            }
        }
    });
}

fn who(level: Uniformity) -> &'static str {
    match level {
        Uniformity::Launch => "launch",
        Uniformity::Workgroup => "workgroup",
        Uniformity::Warpgroup => "warpgroup",
        Uniformity::Subgroup => "subgroup",
        Uniformity::Varying => "invocation",
    }
}

struct Explain<'a> {
    module: &'a Module,
    function: &'a Function,
    levels: &'a Levels,
    context: &'a Context,
}

impl Explain<'_> {
    fn divergent(&self, inst: &Inst, control: Control, needed: Uniformity) -> Diagnostic {
        let message = format!("not all invocations of the {} reach this `{}` together", who(needed), inst.op.name());
        let mut diagnostic = Diagnostic::new(Code::IrDivergent, inst.span, message);
        match control.cause.map(|id| &self.function.insts[id]) {
            Some(cause) => {
                diagnostic = diagnostic
                    .label(cause.span, format!("whether it is reached depends on this `{}`", cause.op.name()));
                if let Some(condition) = cause.operands.first() {
                    diagnostic = self.because(diagnostic, *condition);
                }
            }
            None => {
                if let Some(site) = self.context.site {
                    let what = format!(
                        "`@{}` is called from here, and not all invocations reach this place together",
                        self.function.name
                    );
                    diagnostic = diagnostic.label(site, what);
                }
            }
        }
        let others = if self.module.functions.len() > 1 { " in every caller" } else { "" };
        diagnostic.hint(format!(
            "move it out of the condition, or make the condition the same in the {}{others}",
            who(needed)
        ))
    }

    fn not_uniform(&self, inst: &Inst, operand: ValueId, needed: Uniformity) -> Diagnostic {
        let name = names::value(self.function, operand);
        let message =
            format!("{name} may differ in the {}, but `{}` takes one number for all", who(needed), inst.op.name());
        let diagnostic = self.because(Diagnostic::new(Code::IrNotUniform, inst.span, message), operand);
        let hint = match needed {
            _any if inst.op == Op::Broadcast => "use `shuffle` where each lane names its own",
            Uniformity::Workgroup => "use a constant, a parameter or `workgroup_id`, or load it by `uniform_load`",
            Uniformity::Warpgroup => "use a constant, a parameter, `workgroup_id` or `shr (local_index), 7`",
            Uniformity::Launch | Uniformity::Subgroup | Uniformity::Varying => {
                "use a constant or a parameter, or `broadcast` it from one lane"
            }
        };
        diagnostic.hint(hint)
    }

    /// Points at what a value's weakness comes from.
    fn because(&self, diagnostic: Diagnostic, value: ValueId) -> Diagnostic {
        let level = self.levels.values[value];
        let mut at = value;
        let mut place = None;
        // A chain longer than this explains nothing.
        for _ in 0..64 {
            let Def::Result(id, _) = self.function.values[at].def else { break };
            let inst = &self.function.insts[id];
            place = Some(inst);
            let weak = |v: &&ValueId| self.levels.values[**v] == level;
            // A value that a loop carries says less than one that is computed.
            let computed = |v: &&ValueId| weak(v) && matches!(self.function.values[**v].def, Def::Result(..));
            let operand = inst.operands.iter().find(computed).or_else(|| inst.operands.iter().find(weak));
            match (inst.op.row().transfer, operand) {
                (Transfer::Operands | Transfer::Regions, Some(operand)) => at = *operand,
                (Transfer::Operands | Transfer::Regions | Transfer::Always(_) | Transfer::Memory, _) => break,
            }
        }
        match place {
            Some(inst) => {
                if inst.op.row().transfer == Transfer::Memory {
                    return diagnostic.label(inst.span, "what is loaded here may differ between invocations");
                }
                let dim = if inst.attrs.iter().any(|a| matches!(a, Attr::Dim(_))) { inst.dim().name() } else { "" };
                let dot = if dim.is_empty() { "" } else { "." };
                diagnostic.label(inst.span, format!("`{}{dot}{dim}` differs between invocations", inst.op.name()))
            }
            None => diagnostic,
        }
    }
}

//! Functions made ready: a list of steps that jump to each other, and places in a activation for values.
//!
//! Invariant: a step reads all its operands before it writes a result. A place is given to another value when its value is needed no more.

use crate::interp::last_uses;
use girih_base::diag::{Code as Error, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::attrs::AttrKind;
use girih_ir::eval;
use girih_ir::groups::{aggregates, arithmetic, jumps, masks, memory, not_control, of_kernels, other_control, regions};
use girih_ir::heap::{self, GlobalId, LayoutId};
use girih_ir::ops::Op;
use girih_ir::types::Type;
pub use girih_ir::{Def, Function, FunctionId, Inst, Module, RegionId, ValueId};
use std::collections::BTreeMap;

/// Where an operand is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arg {
    /// In the activation.
    Slot(u32),
    /// Nowhere: it is this number.
    Constant(u64),
}

/// Values and the places that they are moved to, all at once.
pub(super) type TaskMoves = Box<[(Arg, u32)]>;

/// What a step does. A step goes on with the next one unless it says otherwise.
#[derive(Debug)]
pub(super) enum TaskAction {
    Unary(fn(u64) -> u64, Arg, u32),
    Binary(fn(u64, u64) -> u64, [Arg; 2], u32),
    Ternary(fn(u64, u64, u64) -> u64, [Arg; 3], u32),
    /// Moves and goes on at a step.
    Go(TaskMoves, usize),
    /// Goes on at the step if the condition does not hold.
    Unless(Arg, usize),
    /// Goes on at the step of the value, sorted, or else at the last one.
    Table(Arg, Box<[(u64, usize)]>, usize),
    Call {
        callee: FunctionId,
        arguments: Box<[Arg]>,
        results: Box<[u32]>,
    },
    Tail {
        callee: FunctionId,
        arguments: Box<[Arg]>,
    },
    Return(Box<[Arg]>),
    Fork {
        callee: FunctionId,
        arguments: Box<[Arg]>,
        token: u32,
    },
    Join {
        token: Arg,
        results: Box<[u32]>,
    },
    Trap(Arg, u32),
    New {
        layout: LayoutId,
        fields: Box<[Arg]>,
        to: u32,
    },
    Get {
        layout: LayoutId,
        field: usize,
        cell: Arg,
        to: u32,
    },
    Layout {
        cell: Arg,
        to: u32,
    },
    Open {
        layout: LayoutId,
        cell: Arg,
        token: u32,
        fields: Box<[u32]>,
    },
    Fill {
        layout: LayoutId,
        token: Arg,
        fields: Box<[Arg]>,
        to: u32,
    },
    Free(Arg),
    Grow {
        chain: Arg,
        open: Arg,
        cell: Arg,
        field: usize,
        to: u32,
    },
    EndChain {
        chain: Arg,
        open: Arg,
        value: Arg,
        to: u32,
    },
    Share(Arg, [u32; 2]),
    Drop(Arg),
    /// Looks that a word names no cell, and gives it on.
    Flat(Arg, Box<[u32]>),
    Global(GlobalId, u32),
    /// Something that the machine cannot do; the verifier lets none of it pass.
    Impossible(Op),
}

/// A step and where it comes from.
#[derive(Debug)]
pub(super) struct TaskStep {
    pub action: TaskAction,
    pub span: Span,
}

/// A function made ready. Its parameters are the first values of the activation.
#[derive(Debug)]
pub(super) struct TaskCode {
    pub steps: Vec<TaskStep>,
    /// How many values a activation holds.
    pub slots: usize,
}

/// Makes all functions of a module ready that can be in task form.
pub(super) fn prepare_all(module: &Module) -> IndexVec<FunctionId, Option<TaskCode>> {
    let possible = |f: &Function| {
        let number = |v: &ValueId| matches!(f.ty(*v), Type::Scalar(_) | Type::Term);
        f.launch.is_none() && f.memories.is_empty() && f.params.iter().all(number)
    };
    module.functions.iter().map(|f| possible(f).then(|| prepare(f))).collect()
}

fn prepare(function: &Function) -> TaskCode {
    let mut writer = ActionWriter {
        function,
        last: last_uses(function),
        position: 0,
        slots: function.values.iter().map(|_| None).collect(),
        count: 0,
        free: vec![],
        ends: BTreeMap::new(),
        steps: vec![],
        holders: vec![],
    };
    for param in &function.params {
        writer.place(*param);
    }
    writer.region(function.body);
    TaskCode { steps: writer.steps, slots: writer.count as usize }
}

/// An instruction that holds the regions that are being written.
struct Holder<'a> {
    inst: &'a Inst,
    /// Of a loop: its first step.
    start: usize,
    /// Steps that go on behind it, once it is known where that is.
    exits: Vec<usize>,
}

struct ActionWriter<'a> {
    function: &'a Function,
    last: IndexVec<ValueId, usize>,
    /// How many instructions have been met.
    position: usize,
    slots: IndexVec<ValueId, Option<u32>>,
    count: u32,
    free: Vec<u32>,
    /// Places by the last position that needs them.
    ends: BTreeMap<usize, Vec<u32>>,
    steps: Vec<TaskStep>,
    holders: Vec<Holder<'a>>,
}

impl<'a> ActionWriter<'a> {
    /// Gives a value its place.
    fn place(&mut self, value: ValueId) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.slots[value] = Some(slot);
        if self.last[value] != usize::MAX {
            self.ends.entry(self.last[value]).or_default().push(slot);
        }
        slot
    }

    fn arg(&self, value: ValueId) -> Arg {
        match (self.function.values[value].def, self.slots[value]) {
            (Def::Constant(bits), _) => Arg::Constant(bits),
            (_, Some(slot)) => Arg::Slot(slot),
            // A value that is used before it is defined; the verifier lets none pass.
            (_, None) => Arg::Constant(0),
        }
    }
    fn args(&self, values: &[ValueId]) -> Box<[Arg]> {
        values.iter().map(|v| self.arg(*v)).collect()
    }
    fn slots_of(&self, values: &[ValueId]) -> Box<[u32]> {
        values.iter().map(|v| self.slots[*v].unwrap_or(0)).collect()
    }
    fn moves(&self, from: &[ValueId], to: &[ValueId]) -> TaskMoves {
        self.args(from).iter().copied().zip(self.slots_of(to).iter().copied()).collect()
    }

    fn push(&mut self, inst: &Inst, action: TaskAction) -> usize {
        self.steps.push(TaskStep { action, span: inst.span });
        self.steps.len() - 1
    }

    fn region(&mut self, region: RegionId) {
        let function = self.function;
        for id in &function.regions[region].insts {
            self.inst(&function.insts[*id]);
        }
    }

    fn inst(&mut self, inst: &'a Inst) {
        let at = self.position;
        self.position += 1;
        while let Some(entry) = self.ends.first_entry().filter(|entry| *entry.key() < at) {
            self.free.extend(entry.remove());
        }
        for result in &inst.results {
            self.place(*result);
        }
        match inst.op {
            Op::If => self.choose(inst, None),
            Op::Switch => self.choose(inst, Some(cases(inst))),
            Op::Loop => self.repeat(inst),
            Op::Yield => self.exit(inst, &inst.operands, self.holders.len().checked_sub(1)),
            Op::Break => self.exit(inst, &inst.operands, self.innermost_loop()),
            Op::Continue => self.again(inst, &inst.operands),
            Op::While => {
                let condition = self.arg(inst.operands[0]);
                let test = self.push(inst, TaskAction::Unless(condition, 0));
                self.again(inst, inst.operands.get(1..).unwrap_or(&[]));
                self.steps[test].action = TaskAction::Unless(condition, self.steps.len());
                let holder = self.innermost_loop();
                let params = holder.map_or(&[][..], |i| self.params(self.holders[i].inst));
                self.exit(inst, params, holder);
            }
            not_control!() | other_control!() => {
                let action = self.straight(inst).unwrap_or(TaskAction::Impossible(inst.op));
                self.push(inst, action);
            }
        }
    }

    // Regions.

    fn params(&self, inst: &Inst) -> &'a [ValueId] {
        inst.regions.first().map_or(&[], |region| &self.function.regions[*region].params)
    }
    fn innermost_loop(&self) -> Option<usize> {
        self.holders.iter().rposition(|holder| holder.inst.op == Op::Loop)
    }

    /// `if`, or `switch` with the values of its regions.
    fn choose(&mut self, inst: &'a Inst, cases: Option<Vec<(u64, usize)>>) {
        let value = self.arg(inst.operands[0]);
        let choice = self.push(inst, TaskAction::Unless(value, 0));
        self.holders.push(Holder { inst, start: 0, exits: vec![] });
        let mut starts = vec![];
        for region in &inst.regions {
            starts.push(self.steps.len());
            self.region(*region);
        }
        let last = starts.last().copied().unwrap_or(self.steps.len());
        self.steps[choice].action = match cases {
            None => TaskAction::Unless(value, last),
            Some(cases) => {
                let at = |(value, region): &(u64, usize)| (*value, starts.get(*region).copied().unwrap_or(last));
                TaskAction::Table(value, cases.iter().map(at).collect(), last)
            }
        };
        self.close();
    }

    fn repeat(&mut self, inst: &'a Inst) {
        let params = self.params(inst);
        for param in params {
            self.place(*param);
        }
        let enter = self.moves(&inst.operands, params);
        let start = self.steps.len() + 1;
        self.push(inst, TaskAction::Go(enter, start));
        self.holders.push(Holder { inst, start, exits: vec![] });
        inst.regions.iter().for_each(|region| self.region(*region));
        self.close();
    }

    /// Ends the innermost instruction with regions: its exits lead to the next step.
    fn close(&mut self) {
        let after = self.steps.len();
        for exit in self.holders.pop().into_iter().flat_map(|holder| holder.exits) {
            if let TaskAction::Go(_, to) = &mut self.steps[exit].action {
                *to = after;
            }
        }
    }

    /// Gives values to the results of a holder and goes on behind it.
    fn exit(&mut self, inst: &Inst, values: &[ValueId], holder: Option<usize>) {
        let Some(holder) = holder else { return };
        let moves = self.moves(values, &self.holders[holder].inst.results);
        let step = self.push(inst, TaskAction::Go(moves, 0));
        self.holders[holder].exits.push(step);
    }

    /// Gives values to the parameters of the innermost loop and goes on with its next iteration.
    fn again(&mut self, inst: &Inst, values: &[ValueId]) {
        let Some(holder) = self.innermost_loop() else { return };
        let (params, start) = (self.params(self.holders[holder].inst), self.holders[holder].start);
        let moves = self.moves(values, params);
        self.push(inst, TaskAction::Go(moves, start));
    }

    // Straight code.

    fn straight(&self, inst: &Inst) -> Option<TaskAction> {
        let operands = || self.args(&inst.operands);
        let operand = |i: usize| inst.operands.get(i).map(|v| self.arg(*v));
        let result = |i: usize| inst.results.get(i).and_then(|v| self.slots[*v]);
        let results = || self.slots_of(&inst.results);
        Some(match inst.op {
            Op::Call => TaskAction::Call { callee: inst.callee()?, arguments: operands(), results: results() },
            Op::Tail => TaskAction::Tail { callee: inst.callee()?, arguments: operands() },
            Op::Return => TaskAction::Return(operands()),
            Op::Fork => TaskAction::Fork { callee: inst.callee()?, arguments: operands(), token: result(0)? },
            Op::Join => TaskAction::Join { token: operand(0)?, results: results() },
            Op::TrapIf => TaskAction::Trap(operand(0)?, inst.code()),
            Op::CellNew => TaskAction::New { layout: inst.cell()?, fields: operands(), to: result(0)? },
            Op::CellGet => {
                let (field, cell, to) = (inst.field() as usize, operand(0)?, result(0)?);
                TaskAction::Get { layout: inst.cell()?, field, cell, to }
            }
            Op::CellLayout => TaskAction::Layout { cell: operand(0)?, to: result(0)? },
            Op::CellOpen => {
                let fields = self.slots_of(inst.results.get(1..)?);
                TaskAction::Open { layout: inst.cell()?, cell: operand(0)?, token: result(0)?, fields }
            }
            Op::CellFill => {
                let fields = self.args(inst.operands.get(1..)?);
                TaskAction::Fill { layout: inst.cell()?, token: operand(0)?, fields, to: result(0)? }
            }
            Op::CellFree => TaskAction::Free(operand(0)?),
            Op::ChainNew => TaskAction::Unary(|none| none, Arg::Constant(heap::NO_CHAIN.into()), result(0)?),
            Op::ChainGrow => {
                let (chain, open, cell) = (operand(0)?, operand(1)?, operand(2)?);
                TaskAction::Grow { chain, open, cell, field: inst.field() as usize, to: result(0)? }
            }
            Op::ChainEnd => {
                TaskAction::EndChain { chain: operand(0)?, open: operand(1)?, value: operand(2)?, to: result(0)? }
            }
            Op::TermShare | Op::TermDrop if inst.has(AttrKind::Flat) => TaskAction::Flat(operand(0)?, results()),
            Op::TermShare => TaskAction::Share(operand(0)?, [result(0)?, result(1)?]),
            Op::TermDrop => TaskAction::Drop(operand(0)?),
            Op::TermPack => TaskAction::Binary(
                |tag, payload| u64::from(pack(tag as u32, payload as u32)),
                [operand(0)?, operand(1)?],
                result(0)?,
            ),
            Op::TermTag => TaskAction::Unary(|word| u64::from(heap::tag(word as u32)), operand(0)?, result(0)?),
            Op::TermPayload => TaskAction::Unary(|word| u64::from(heap::payload(word as u32)), operand(0)?, result(0)?),
            Op::GlobalGet => TaskAction::Global(inst.global()?, result(0)?),
            Op::Grid
            | arithmetic!()
            | of_kernels!()
            | girih_ir::tile_operations!()
            | memory!()
            | masks!()
            | jumps!()
            | aggregates!()
            | regions!() => {
                let source = self.function.ty(*inst.operands.first()?).element()?;
                match (eval::function(inst.op, inst.ty?.element()?, source)?, &operands()[..]) {
                    (eval::Function::Unary(f), [a]) => TaskAction::Unary(f, *a, result(0)?),
                    (eval::Function::Binary(f), [a, b]) => TaskAction::Binary(f, [*a, *b], result(0)?),
                    (eval::Function::Ternary(f), [a, b, c]) => TaskAction::Ternary(f, [*a, *b, *c], result(0)?),
                    (_of_another_number, _) => return None,
                }
            }
        })
    }
}

/// The word of a tag and a payload; of a cell's tag there is the reuse token alone that is none.
fn pack(tag: u32, payload: u32) -> u32 {
    if tag == heap::CELL && payload == 0 { heap::NO_REUSE_TOKEN } else { heap::pack(tag & heap::IMMEDIATE, payload) }
}

/// Values of a switch with the number of their region, sorted.
fn cases(inst: &Inst) -> Vec<(u64, usize)> {
    let mask = inst.element().mask();
    let regions = inst.cases().into_iter().enumerate();
    let mut table: Vec<(u64, usize)> =
        regions.flat_map(|(region, values)| values.into_iter().map(move |v| (v as u64 & mask, region))).collect();
    table.sort_unstable();
    table
}

/// What cannot be run.
pub(super) fn impossible(op: Op, span: Span) -> Diagnostic {
    Diagnostic::new(Error::Internal, span, format!("task form has no meaning for `{}`", op.name()))
}

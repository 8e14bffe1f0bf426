//! The kernel: a workgroup goes through phases, with a barrier behind each, its lanes through the steps of a phase.
//!
//! A lane runs a phase for one instance, or for several, one after another. An instance of a phase of 2^n instances belongs to the workgroup that its upper bits name, so that what calls of an instance make together
//! stays within a workgroup once there are as many instances as workgroups. Phases of fewer instances run in one workgroup.

use super::memory::{control, phase, step};
use girih_base::span::Span;
use girih_ir::attrs::{Attr, Dim, Spaces};
use girih_ir::{Builder, Function, FunctionId, Inst, Launch, Op, ParamAttrs, Space, Type, ValueId};

/// Writes the kernel: segment `i` is the function `first_segment + i`.
pub(super) fn kernel(workgroup: u32, first_segment: usize, segments: usize) -> Function {
    let mut function = Function::new("sweep", Span::NONE);
    function.launch = Some(Launch { workgroup: [workgroup, 1, 1], ..Launch::default() });
    let memory = |f: &mut Function, name: &str, readonly: bool| {
        f.param(name, Type::Memory(Space::Global), ParamAttrs { readonly, ..ParamAttrs::default() })
    };
    let heap = memory(&mut function, "heap", false);
    let control = memory(&mut function, "control", false);
    let frames = memory(&mut function, "frames", false);
    let schedule = memory(&mut function, "schedule", true);
    let number = |f: &mut Function, name: &str| f.param(name, Type::U32, ParamAttrs::default());
    let begin = number(&mut function, "first");
    let end = number(&mut function, "end");
    let groups = number(&mut function, "groups");
    let steps = number(&mut function, "steps");
    let limit = number(&mut function, "limit");
    let mut k = Kernel { b: Builder::new(function), schedule, steps };
    let group = k.b.position(Op::WorkgroupId, Dim::X);
    let local = k.b.position(Op::LocalId, Dim::X);
    // What a phase is, and its first step, are read while the one before it runs; so is whether the run is over.
    let (none, first_phase) = (k.b.u32(0), k.phase(begin));
    let first_step = k.step(first_phase[phase::FIRST as usize]);
    let carried: Vec<ValueId> = [begin, none].into_iter().chain(first_phase).chain(first_step).collect();
    k.repeat(&carried, |k, carried| {
        let (number, is_over) = (carried[0], carried[1]);
        let (phase_words, step_words) = carried[2..].split_at(phase::WORDS as usize - 1);
        let ends = k.op(Op::Ge, number, end);
        k.leave_if(ends, carried);
        let one = k.b.u32(1);
        let next = k.op(Op::Add, number, one);
        let next_phase = k.phase(next);
        let next_step = k.step(phase_words[phase::END as usize]);
        let fault = k.b.u32(control::FAULT);
        let fault = k.b.op(Op::AtomicLoad, Type::U32, &[control, fault]);
        let level = phase_words[phase::LEVEL as usize];
        let own = k.op(Op::Sub, level, groups);
        let count = k.op(Op::Shl, one, own);
        let before = k.op(Op::Shl, group, own);
        let goes_on = k.op(Op::Eq, is_over, none);
        // More instances than lanes come one after another.
        k.when(goes_on, |k| {
            k.repeat(&[local], |k, carried| {
                let ends = k.op(Op::Ge, carried[0], count);
                k.leave_if(ends, carried);
                let instance = k.op(Op::Add, before, carried[0]);
                let shared = [heap, control, frames, schedule, instance, level, limit];
                k.run(phase_words, step_words, &shared, (first_segment, segments));
                let lanes = k.b.u32(workgroup);
                let next = k.op(Op::Add, carried[0], lanes);
                k.b.end(Op::Continue, &[next]);
            });
        });
        k.b.op_with(Op::Barrier, None, &[], &[Attr::Spaces(Spaces { global: true, shared: false })]);
        let next: Vec<ValueId> = [next, fault].into_iter().chain(next_phase).chain(next_step).collect();
        k.b.end(Op::Continue, &next);
    });
    k.b.end(Op::Return, &[]);
    k.b.function
}

struct Kernel {
    b: Builder,
    schedule: ValueId,
    /// Where steps begin in the schedule.
    steps: ValueId,
}

impl Kernel {
    fn op(&mut self, op: Op, x: ValueId, y: ValueId) -> ValueId {
        self.b.op(op, Type::U32, &[x, y])
    }
    /// Words of the schedule.
    fn words(&mut self, first: ValueId, count: u32) -> Vec<ValueId> {
        let word = |i: u32| {
            let word = self.b.u32(i);
            let at = self.b.op(Op::Add, Type::U32, &[first, word]);
            self.b.load(Type::U32, self.schedule, at)
        };
        (0..count).map(word).collect()
    }
    /// What a phase is.
    fn phase(&mut self, number: ValueId) -> Vec<ValueId> {
        let size = self.b.u32(phase::WORDS);
        let at = self.op(Op::Mul, number, size);
        self.words(at, phase::WORDS - 1)
    }
    /// What a step is.
    fn step(&mut self, number: ValueId) -> Vec<ValueId> {
        let size = self.b.u32(step::WORDS);
        let at = self.op(Op::Mul, number, size);
        let at = self.op(Op::Add, at, self.steps);
        self.words(at, step::WORDS - 1)
    }

    /// Runs the steps of a phase, of which the first is at hand.
    fn run(&mut self, phase_words: &[ValueId], first: &[ValueId], shared: &[ValueId; 7], segments: (usize, usize)) {
        let carried: Vec<ValueId> = [phase_words[phase::FIRST as usize]].iter().chain(first).copied().collect();
        self.repeat(&carried, |k, carried| {
            let (number, words) = (carried[0], &carried[1..]);
            let [heap, control, frames, schedule, instance, level, limit] = *shared;
            let [at, base] = [step::WORDS_AT, step::BASE].map(|word| words[word as usize]);
            let mut arguments = vec![heap, control, frames, schedule, instance, level, at, limit, base];
            arguments.extend(step::CHILD.map(|word| words[word as usize]));
            k.segment(words[step::SEGMENT as usize], segments, &arguments);
            let one = k.b.u32(1);
            let next = k.op(Op::Add, number, one);
            let ends = k.op(Op::Ge, next, phase_words[phase::END as usize]);
            k.leave_if(ends, carried);
            let step = k.step(next);
            let next: Vec<ValueId> = [next].into_iter().chain(step).collect();
            k.b.end(Op::Continue, &next);
        });
    }

    /// A loop that carries words; the body ends itself, and leaves it with as many.
    fn repeat(&mut self, initial: &[ValueId], body: impl FnOnce(&mut Kernel, &[ValueId])) {
        let types = vec![Type::U32; initial.len()];
        let region = self.b.new_region(&types);
        let params = self.b.function.regions[region].params.clone();
        let outer = std::mem::replace(&mut self.b.region, region);
        body(self, &params);
        self.b.region = outer;
        let mut inst = Inst::new(Op::Loop, None, initial, Span::NONE);
        inst.regions.extend([region]);
        self.b.push(inst, &types);
    }
    fn leave_if(&mut self, condition: ValueId, words: &[ValueId]) {
        self.b.if_else(condition, &[], |b| b.end(Op::Break, words), |b| b.end(Op::Yield, &[]));
    }
    fn when(&mut self, condition: ValueId, body: impl FnOnce(&mut Kernel)) {
        let (yes, no) = (self.b.new_region(&[]), self.b.new_region(&[]));
        let outer = std::mem::replace(&mut self.b.region, no);
        self.b.end(Op::Yield, &[]);
        self.b.region = yes;
        body(self);
        self.b.end(Op::Yield, &[]);
        self.b.region = outer;
        let mut inst = Inst::new(Op::If, None, &[condition], Span::NONE);
        inst.regions.extend([yes, no]);
        self.b.push(inst, &[]);
    }

    /// Calls the segment of a number.
    fn segment(&mut self, number: ValueId, (first, count): (usize, usize), arguments: &[ValueId]) {
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), &[number], Span::NONE);
        let outer = self.b.region;
        for i in 0..=count {
            let region = self.b.new_region(&[]);
            self.b.region = region;
            if i < count {
                self.b.call(FunctionId::new((first + i) as u32), &[], arguments);
            }
            self.b.end(Op::Yield, &[]);
            inst.regions.push(region);
        }
        self.b.region = outer;
        inst.set(Attr::Cases((0..count as i64).map(|i| vec![i]).collect()));
        self.b.push(inst, &[]);
    }
}

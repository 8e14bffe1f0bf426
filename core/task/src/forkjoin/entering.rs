//! Calls on the way of a segment: gone into while code is written, or left to the lane's stack; and the jumps to points whose values stand in
//! registers.

use super::copier::Names;
use super::points::Point;
use super::refused;
use super::segments::{Activation, Caller, Depth, Path, Segment, Way};
use girih_base::diag::Diagnostic;
use girih_ir::{Def, FunctionId, Inst, InstId, Op, Type, ValueId};

impl<'a> Segment<'a, '_, '_> {
    /// Whether a call of a function is gone into.
    pub(super) fn is_entered(&mut self, path: &Path<'a>, callee: FunctionId) -> bool {
        let size = self.w.size(callee);
        let Depth { function, recursion, callers, .. } = self.w.depth;
        if self.left <= 0 || size > function || path.tails > 2 || path.callers.len() > callers {
            return false;
        }
        let within = path.callers.iter().filter(|caller| caller.activation.id == callee);
        let most = if size <= 20 { recursion } else { recursion.saturating_sub(1) };
        within.count() <= most
    }

    pub(super) fn call(
        &mut self,
        mut path: Path<'a>,
        id: InstId,
        inst: &Inst,
        operands: &[ValueId],
    ) -> Result<(), Diagnostic> {
        let callee = self.callee(inst)?;
        path.callers.push(Caller { activation: path.here.clone(), call: id });
        self.enter(path, callee, operands)
    }

    /// Goes into a function with these arguments, or to its label.
    pub(super) fn enter(
        &mut self,
        mut path: Path<'a>,
        callee: FunctionId,
        arguments: &[ValueId],
    ) -> Result<(), Diagnostic> {
        let points = self.w.points(callee);
        let function = points.function;
        if self.is_entered(&path, callee) {
            let mut names = Names::default();
            for (param, value) in function.params.iter().zip(arguments) {
                names.set(*param, vec![*value]);
            }
            path.here = Activation { id: callee, points: points.clone(), names };
            return self.go_on(path, function.body, 0);
        }
        let label = self.w.label(callee, Point::Entry)?;
        let registers = self.as_words(arguments);
        let depth = self.push(&mut path)?;
        self.end(&path, Way::Go, label, depth, &registers);
        Ok(())
    }

    /// The value of a global if it is there already, else a call.
    pub(super) fn global(&mut self, path: Path<'a>, id: InstId, inst: &Inst) -> Result<(), Diagnostic> {
        let Some(global) = inst.global() else { return Err(refused(inst.span, "no such global".into())) };
        let (there, value) = self.lane.global(self.b, global);
        self.both(
            path,
            there,
            |s, mut path| {
                path.here.names.set(inst.results[0], vec![value]);
                let (region, position) = path.here.points.place(id);
                s.go_on(path, region, position + 1)
            },
            |s, path| s.call(path, id, inst, &[]),
        )
    }
    /// What a global gives is shown to all.
    pub(super) fn publish(&mut self, path: &mut Path<'a>, call: InstId) {
        let inst = &path.here.points.clone().function.insts[call];
        if let (Op::GlobalGet, Some(global), [result]) = (inst.op, inst.global(), &inst.results[..]) {
            let value = self.value(path, *result);
            let shared = self.lane.publish(self.b, global, value);
            path.here.names.set(*result, vec![shared]);
        }
    }

    /// Returns to whoever called.
    pub(super) fn give_back(&mut self, mut path: Path<'a>, values: &[ValueId]) -> Result<(), Diagnostic> {
        let Some(caller) = path.callers.pop() else {
            let registers = self.as_words(values);
            self.w.labels.registers = self.w.labels.registers.max(registers.len() as u32);
            self.w.labels.results = self.w.labels.results.max(registers.len() as u32);
            self.end(&path, Way::Return, 0, self.depth, &registers);
            return Ok(());
        };
        path.here = caller.activation;
        let points = path.here.points.clone();
        let inst = &points.function.insts[caller.call];
        if self.left <= 0 {
            return self.leave_behind(path, caller.call, values);
        }
        match (inst.op, &inst.results[..]) {
            (Op::Fork, [token]) => {
                let zero = self.b.u32(0);
                let token_words = [zero].iter().chain(values).copied().collect();
                path.here.names.set(*token, token_words);
            }
            (_call, results) => {
                results.iter().zip(values).for_each(|(result, value)| path.here.names.set(*result, vec![*value]));
            }
        }
        self.publish(&mut path, caller.call);
        let (region, position) = points.place(caller.call);
        self.go_on(path, region, position + 1)
    }

    /// Ends the segment at the point behind a call that is over.
    pub(super) fn leave_behind(
        &mut self,
        mut path: Path<'a>,
        call: InstId,
        values: &[ValueId],
    ) -> Result<(), Diagnostic> {
        let label = self.w.label(path.here.id, Point::After(call))?;
        let registers = self.as_words(values);
        let depth = self.push(&mut path)?;
        let mut here = path.here.clone();
        self.keep(&mut here, call, depth)?;
        self.end(&path, Way::Go, label, depth, &registers);
        Ok(())
    }

    /// Puts those who wait onto the stack; gives its new end.
    pub(super) fn push(&mut self, path: &mut Path<'a>) -> Result<ValueId, Diagnostic> {
        let mut depth = self.depth;
        let one = self.b.u32(1);
        for mut caller in std::mem::take(&mut path.callers) {
            let label = self.w.label(caller.activation.id, Point::After(caller.call))?;
            let label = self.b.u32(label);
            self.lane.store_stack(self.b, depth, 0, label);
            self.keep(&mut caller.activation, caller.call, depth)?;
            depth = self.b.op(Op::Add, Type::U32, &[depth, one]);
            path.callers.push(caller);
        }
        self.w.pushes = self.w.pushes.max(path.callers.len() as u32);
        Ok(depth)
    }
    /// Puts what is kept over a call into the frame at this depth.
    pub(super) fn keep(&mut self, here: &mut Activation<'a>, call: InstId, depth: ValueId) -> Result<(), Diagnostic> {
        let places = self.w.places(here.id, Point::After(call))?;
        if places.is_fork {
            // A call that is made at once has no frame that others know.
            let none = self.b.u32(0);
            self.lane.store_stack(self.b, depth, 1, none);
        }
        for (value, first) in &places.kept {
            let values = self.values(here, &[*value]);
            for (i, value) in (*first..).zip(values) {
                let word = self.word(value);
                self.lane.store_stack(self.b, depth, 1 + i, word);
            }
        }
        Ok(())
    }

    /// Goes to a point whose values stand in registers.
    pub(super) fn jump(&mut self, mut path: Path<'a>, point: Point, given: &[ValueId]) -> Result<(), Diagnostic> {
        let label = self.w.label(path.here.id, point)?;
        let places = self.w.places(path.here.id, point)?;
        let mut registers = self.as_words(given);
        let kept: Vec<ValueId> = places.kept.iter().map(|(value, _)| *value).collect();
        let kept = self.values(&mut path.here, &kept);
        registers.extend(self.as_words(&kept));
        let depth = self.push(&mut path)?;
        self.end(&path, Way::Go, label, depth, &registers);
        Ok(())
    }

    pub(super) fn join(&mut self, path: Path<'a>, id: InstId, token: &[ValueId]) -> Result<(), Diagnostic> {
        let zero = self.b.u32(0);
        let at_once = match self.b.function.values[token[0]].def {
            Def::Constant(bits) => self.b.bool(bits == 0),
            _loaded => self.b.op(Op::Eq, Type::U32, &[token[0], zero]),
        };
        self.both(
            path,
            at_once,
            |s, mut path| {
                let points = path.here.points.clone();
                let results = &points.function.insts[id].results;
                results.iter().zip(&token[1..]).for_each(|(r, value)| path.here.names.set(*r, vec![*value]));
                let (region, position) = points.place(id);
                s.go_on(path, region, position + 1)
            },
            |s, mut path| {
                let label = s.w.label(path.here.id, Point::After(id))?;
                let depth = s.push(&mut path)?;
                let mut here = path.here.clone();
                s.keep(&mut here, id, depth)?;
                s.end(&path, Way::Wait, label, depth, &token[..1]);
                Ok(())
            },
        )
    }
}

//! `Match` and `Switch`, and branches in general.
//!
//! An arm starts with the variables and holes that the choice had. It consumes or drops all of them that are not used after the
//! choice, and gives all holes back, so that arms agree at the join. In tail position arms end the function, and the last one stands
//! behind the others instead of inside.

use super::super::flow::{Set, ShapeId, What};
use super::Unit;
use super::applying::Callable;
use super::represent::{self, Held, Repr};
use super::traps::hint;
use super::words::{Immediate, tag};
use super::writer::{Goal, Hole, Writer};
use crate::diag::Code;
use crate::ir::attrs::Attr;
use crate::ir::{Inst, Op, RegionId, Scalar, Type, ValueId};
use crate::num::NumKind;
use crate::span::Span;
use crate::term::{CtorId, LocalId, Match, Switch, Term};

/// What a match can go on with.
#[derive(Clone, Copy, Debug)]
enum Alternative {
    /// A constructor without fields.
    Unit(CtorId),
    /// A cell of this shape.
    Cell(CtorId, ShapeId),
}

impl<'p> Writer<'_, 'p> {
    /// One of two ways.
    pub(super) fn branch(
        &mut self,
        condition: ValueId,
        goal: Goal,
        repr: Repr,
        arm: &mut dyn FnMut(&mut Self, bool, Goal) -> Option<Held>,
    ) -> Option<Held> {
        let state = self.state();
        let accept = self.b.new_region(&[]);
        let mut inst = Inst::new(Op::If, None, vec![condition], self.b.span);
        match goal {
            Goal::Result => {
                self.within(accept, |w| arm(w, true, goal));
                let reject = self.b.new_region(&[]);
                self.within(reject, |w| w.b.end(Op::Yield, &[]));
                inst.regions = vec![accept, reject];
                self.b.push(inst, &[]);
                self.restore(state);
                arm(self, false, goal)
            }
            Goal::Value => {
                let reject = self.b.new_region(&[]);
                self.yielding(accept, repr, |w| arm(w, true, goal));
                self.restore(state);
                self.yielding(reject, repr, |w| arm(w, false, goal));
                inst.regions = vec![accept, reject];
                Some(self.joined(inst, repr))
            }
        }
    }

    /// One of several ways, by a number; the last arm is the default.
    pub(super) fn ways(
        &mut self,
        selector: ValueId,
        values: &[u32],
        goal: Goal,
        repr: Repr,
        arm: &mut dyn FnMut(&mut Self, usize, Goal) -> Option<Held>,
    ) -> Option<Held> {
        if let [value] = values {
            let value = self.b.u32(*value);
            let equal = self.b.op(Op::Eq, Scalar::U32, &[selector, value]);
            return self.branch(equal, goal, repr, &mut |w, is, goal| arm(w, usize::from(!is), goal));
        }
        if values.is_empty() {
            return arm(self, 0, goal);
        }
        let state = self.state();
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), vec![selector], self.b.span);
        inst.set(Attr::Cases(values.iter().map(|v| vec![i64::from(*v)]).collect()));
        for i in 0..values.len() {
            let region = self.b.new_region(&[]);
            inst.regions.push(region);
            match goal {
                Goal::Result => _ = self.within(region, |w| arm(w, i, goal)),
                Goal::Value => self.yielding(region, repr, |w| arm(w, i, goal)),
            }
            self.restore(state.clone());
        }
        let default = self.b.new_region(&[]);
        inst.regions.push(default);
        match goal {
            Goal::Result => {
                self.within(default, |w| w.b.end(Op::Yield, &[]));
                self.b.push(inst, &[]);
                arm(self, values.len(), goal)
            }
            Goal::Value => {
                self.yielding(default, repr, |w| arm(w, values.len(), goal));
                Some(self.joined(inst, repr))
            }
        }
    }

    fn yielding(&mut self, region: RegionId, repr: Repr, arm: impl FnOnce(&mut Self) -> Option<Held>) {
        self.within(region, |w| {
            let Some(value) = arm(w) else { return };
            let id = w.hold(value, repr);
            w.free_holes(0);
            w.b.end(Op::Yield, &[id]);
        });
    }

    fn joined(&mut self, inst: Inst, repr: Repr) -> Held {
        self.holes.clear();
        let id = self.b.push(inst, &[repr.ty()]);
        Held { id: self.b.function.insts[id].results[0], repr }
    }

    // Numbers.

    pub(super) fn switch(&mut self, term: &'p Term, choice: &'p Switch, goal: Goal) -> Option<Held> {
        let span = if choice.scrutinee.span.is_none() { term.span } else { choice.scrutinee.span };
        let repr = self.repr_of(term);
        let set = self.set_of(&choice.scrutinee);
        let value = self.value(&choice.scrutinee);
        match value.repr {
            Repr::Number(kind) => self.switch_on(choice, kind, value.id, goal, repr),
            Repr::Term => {
                let word = self.forced(value.id, &set);
                let form = self.form(word);
                let era = self.b.u32(super::dynamic::ERA);
                let is_era = self.b.op(Op::Eq, Scalar::U32, &[form, era]);
                let arm = &mut |w: &mut Self, is_era: bool, goal: Goal| {
                    if is_era {
                        w.b.drop(word);
                        w.drop_all_of(choice);
                        let era = w.immediate(Immediate::Era);
                        return w.finish(era, goal);
                    }
                    let kinds = w.b.u32(NumKind::ALL.len() as u32);
                    let wrong = w.b.op(Op::Ge, Scalar::U32, &[form, kinds]);
                    let message = "`switch` needs a number".to_owned();
                    w.trap_if(wrong, Code::NotANumber, span, message, hint::NUMBER);
                    let bits = w.all.unit(Unit::Bits);
                    let number = w.b.call(bits, &[Type::U32], &[word])[0];
                    w.switch_on(choice, NumKind::U32, number, goal, repr)
                };
                if set.era { self.branch(is_era, goal, repr, arm) } else { arm(self, false, goal) }
            }
        }
    }

    /// All variables that arms of a choice would use, when none of them is run.
    fn drop_all_of(&mut self, choice: &Switch) {
        let arms: Vec<&Term> = choice.cases.iter().map(|(_, body)| body).chain([&choice.default]).collect();
        self.drop_unused(&arms);
    }

    fn switch_on(
        &mut self,
        choice: &'p Switch,
        kind: NumKind,
        number: ValueId,
        goal: Goal,
        repr: Repr,
    ) -> Option<Held> {
        let bits = self.numbers().representation(kind, number);
        let values: Vec<u32> = choice.cases.iter().map(|(value, _)| *value).collect();
        let next = values.iter().max().map_or(0, |m| m.wrapping_add(1));
        self.ways(bits, &values, goal, repr, &mut |w, i, goal| {
            let Some((_, body)) = choice.cases.get(i) else {
                w.let_die(&choice.default);
                if let Some(local) = choice.pred {
                    let pred = w.predecessor(kind, bits, next, local);
                    w.bind(local, pred);
                }
                return w.term(&choice.default, goal);
            };
            w.let_die(body);
            w.term(body, goal)
        })
    }

    /// The number minus one more than the largest case.
    fn predecessor(&mut self, kind: NumKind, bits: ValueId, next: u32, local: LocalId) -> Held {
        let by = self.b.u32(next);
        let wide = self.b.op(Op::Sub, Scalar::U32, &[bits, by]);
        let unsigned = match kind {
            NumKind::U24 | NumKind::I24 | NumKind::F24 => NumKind::U24,
            NumKind::U32 | NumKind::I32 | NumKind::F32 => NumKind::U32,
        };
        let number = self.numbers().convert(NumKind::U32, unsigned, wide);
        let repr = represent::of(self.all.flow.local(self.instance, local));
        let held = Held { id: number, repr: Repr::Number(unsigned) };
        Held { id: self.hold(held, repr), repr }
    }

    // Constructors.

    pub(super) fn matching(&mut self, term: &'p Term, choice: &'p Match, goal: Goal) -> Option<Held> {
        let span = if choice.scrutinee.span.is_none() { term.span } else { choice.scrutinee.span };
        let repr = self.repr_of(term);
        let set = self.set_of(&choice.scrutinee);
        let value = self.value(&choice.scrutinee);
        let word = self.hold(value, Repr::Term);
        let mut word = self.forced(word, &set);
        let set = self.all.flow.forced(&set);
        if Callable::of(self.all, &set).any() {
            let data = self.all.unit(Unit::Data(choice.ty));
            word = self.b.call(data, &[Type::Term], &[word])[0];
        }
        let alternatives = self.alternatives(choice, &set);
        let only_these = alternatives.len() == self.members(&set);
        if only_these && alternatives.len() == 1 {
            return self.arm(choice, alternatives[0], word, goal, span);
        }
        let selector = self.selector(word, &alternatives);
        let mut values: Vec<u32> = alternatives.iter().map(|a| self.selected(*a)).collect();
        if only_these {
            values.pop();
        }
        self.ways(selector, &values, goal, repr, &mut |w, i, goal| match alternatives.get(i) {
            Some(alternative) => w.arm(choice, *alternative, word, goal, span),
            None => w.no_arm(choice, word, &set, goal, span, repr),
        })
    }

    /// How many different things a set holds, as far as a match can tell.
    fn members(&self, set: &Set) -> usize {
        let other = usize::from(!set.numbers.is_empty() || set.era || set.external);
        set.units.len() + set.shapes.len() + other
    }

    fn alternatives(&self, choice: &Match, set: &Set) -> Vec<Alternative> {
        let of_type = |ctor: CtorId| self.all.program.ctors[ctor].ty == choice.ty;
        let units = set.units.iter().filter(|c| of_type(**c)).map(|c| Alternative::Unit(*c));
        let cells = set.shapes.iter().filter_map(|shape| match self.all.flow.shapes()[*shape].what {
            What::Ctor(ctor) if of_type(ctor) => Some(Alternative::Cell(ctor, *shape)),
            What::Ctor(_) | What::Pair | What::Closure(_) | What::Partial(..) => None,
        });
        units.chain(cells).collect()
    }

    /// The number by which the alternatives are told apart: of a cell its layout, of an immediate its word.
    fn selector(&mut self, word: ValueId, alternatives: &[Alternative]) -> ValueId {
        let is_cell = self.has_tag(word, tag::CELL);
        let units = alternatives.iter().any(|a| matches!(a, Alternative::Unit(_)));
        let region = |w: &mut Self, write: &mut dyn FnMut(&mut Self) -> ValueId| {
            let region = w.b.new_region(&[]);
            w.within(region, |w| {
                let value = write(w);
                w.b.end(Op::Yield, &[value]);
            });
            region
        };
        let cell = region(self, &mut |w| w.b.cell_layout(word));
        let other = region(self, &mut |w| {
            if !units {
                return w.b.u32(u32::MAX);
            }
            let payload = w.b.payload(word);
            let found = w.b.tag(word);
            let high = w.b.u32(29);
            let tag = w.b.op(Op::Shl, Scalar::U32, &[found, high]);
            w.b.op(Op::Or, Scalar::U32, &[payload, tag])
        });
        let mut inst = Inst::new(Op::If, None, vec![is_cell], self.b.span);
        inst.regions = vec![cell, other];
        let id = self.b.push(inst, &[Type::U32]);
        self.b.function.insts[id].results[0]
    }

    /// The selector's value for an alternative.
    fn selected(&mut self, alternative: Alternative) -> u32 {
        match alternative {
            Alternative::Unit(ctor) => Immediate::Unit(ctor).payload() | tag::IMMEDIATE << 29,
            Alternative::Cell(_, shape) => self.all.shape(shape).index() as u32,
        }
    }

    fn arm(
        &mut self,
        choice: &'p Match,
        alternative: Alternative,
        word: ValueId,
        goal: Goal,
        span: Span,
    ) -> Option<Held> {
        let ctor = match alternative {
            Alternative::Unit(ctor) | Alternative::Cell(ctor, _) => ctor,
        };
        let Some(arm) = choice.arms.iter().find(|arm| arm.ctor == ctor) else {
            let Some(default) = &choice.default else { return self.stop(choice, word, goal, span) };
            self.b.drop(word);
            self.let_die(default);
            return self.term(default, goal);
        };
        self.let_die(&arm.body);
        let mut word = word;
        if let Some(whole) = arm.whole
            && !self.liveness.is_unused(whole)
        {
            let (mine, theirs) = self.b.share(word);
            self.bind(whole, Held { id: theirs, repr: Repr::Term });
            word = mine;
        }
        match alternative {
            Alternative::Unit(_) => self.b.drop(word),
            Alternative::Cell(_, shape) => {
                let fields = self.open(shape, word);
                for (local, field) in arm.fields.iter().zip(fields) {
                    self.bind(*local, field);
                }
            }
        }
        self.term(&arm.body, goal)
    }

    /// Opens a cell that is owned; its memory is at hand afterwards.
    pub(super) fn open(&mut self, shape: ShapeId, word: ValueId) -> Vec<Held> {
        let layout = self.all.shape(shape);
        let flow = self.all.flow;
        let reprs = represent::stored(&flow.shapes()[shape]);
        let types: Vec<Type> = reprs.iter().map(|r| r.ty()).collect();
        let (hole, fields) = self.b.cell_open(layout, &types, word);
        self.holes.push(Hole { value: hole, fields: types.len() });
        fields.into_iter().zip(reprs).map(|(id, repr)| Held { id, repr }).collect()
    }

    /// None of the type's constructors that have an arm: `*`, which the choice becomes, or a mistake.
    fn no_arm(
        &mut self,
        choice: &'p Match,
        word: ValueId,
        set: &Set,
        goal: Goal,
        span: Span,
        repr: Repr,
    ) -> Option<Held> {
        if !set.era {
            return self.stop(choice, word, goal, span);
        }
        let era = self.b.u32(Immediate::Era.payload());
        let payload = self.b.payload(word);
        let same = self.b.op(Op::Eq, Scalar::U32, &[payload, era]);
        let immediate = self.has_tag(word, tag::IMMEDIATE);
        let is_era = self.b.op(Op::And, Scalar::Bool, &[same, immediate]);
        self.branch(is_era, goal, repr, &mut |w, is_era, goal| {
            if !is_era {
                return w.stop(choice, word, goal, span);
            }
            w.b.drop(word);
            let arms: Vec<&Term> = choice.arms.iter().map(|arm| &arm.body).chain(&choice.default).collect();
            w.drop_unused(&arms);
            let era = w.immediate(Immediate::Era);
            w.finish(era, goal)
        })
    }

    /// Ends the run: no arm fits.
    fn stop(&mut self, choice: &Match, word: ValueId, goal: Goal, span: Span) -> Option<Held> {
        let name = &self.all.program.types[choice.ty].name;
        let message = format!("a match on a `{name}` has no case for this value");
        let always = self.b.bool(true);
        self.trap_if(always, Code::NoMatchingCase, span, message, hint::CASE);
        self.b.drop(word);
        let arms: Vec<&Term> = choice.arms.iter().map(|arm| &arm.body).chain(&choice.default).collect();
        self.drop_unused(&arms);
        let nothing = self.nothing(if goal == Goal::Result { self.result } else { Repr::Term });
        self.finish(nothing, goal)
    }
}

//! `Match` and `Switch`, and branches in general.
//!
//! An arm starts with the variables and reuse tokens that the choice had. It consumes or drops all variables that are not used after the
//! choice, and all arms give as many reuse tokens, so that they agree at the join. In tail position arms end the function, and the last one stands
//! behind the others instead of inside.

use super::super::flow::{Set, ShapeId, What};
use super::Unit;
use super::applying::Callable;
use super::represent::{self, Held, Repr};
use super::reuse::ReuseToken;
use super::traps::hint;
use super::words::{Immediate, tag};
use super::writer::{Goal, TermWriter};
use girih_base::diag::Code;
use girih_base::num::NumKind;
use girih_base::span::Span;
use girih_ir::attrs::Attr;
use girih_ir::heap::{LayoutId, host_units};
use girih_ir::{Def, Inst, Op, Scalar, Type, ValueId};
use girih_term::{CtorId, LocalId, Match, Switch, Term, TermKind};

/// Of what kind the number is whose predecessor is wanted.
#[derive(Clone, Copy, Debug)]
enum Width {
    /// Of 24 bits.
    Small,
    /// Of 32 bits.
    Wide,
    /// Of 24 bits if this holds.
    Either { small: ValueId },
}

impl Width {
    fn of(kind: NumKind) -> Width {
        match kind {
            NumKind::U24 | NumKind::I24 | NumKind::F24 => Width::Small,
            NumKind::U32 | NumKind::I32 | NumKind::F32 => Width::Wide,
        }
    }
}

/// What a match can meet.
struct Chosen<'c, 'p> {
    choice: &'p Match,
    set: &'c Set,
    /// Constructors without fields.
    units: Vec<CtorId>,
    /// Shapes of cells.
    cells: Vec<(CtorId, ShapeId)>,
    rest: Rest,
    word: ValueId,
    /// Whether the match uses the word up.
    owned: bool,
    span: Span,
    reprs: &'c [Repr],
}

/// What else than the type's constructors may arrive.
#[derive(Clone, Copy, Debug)]
struct Rest {
    cells: bool,
    flats: bool,
}

/// Writes one of several ways; none if nothing comes behind it.
type Arm<'a, W, K> = dyn FnMut(&mut W, K, Goal) -> Option<Vec<Held>> + 'a;

impl<'p> TermWriter<'_, 'p> {
    /// One of two ways.
    pub(super) fn branch(
        &mut self,
        condition: ValueId,
        goal: Goal,
        reprs: &[Repr],
        arm: &mut Arm<'_, Self, bool>,
    ) -> Option<Vec<Held>> {
        let state = self.state.clone();
        let accept = self.b.new_region(&[]);
        let mut inst = Inst::new(Op::If, None, &[condition], self.b.span);
        match goal {
            Goal::Result => {
                self.within(accept, |w| arm(w, true, goal));
                let reject = self.b.new_region(&[]);
                self.within(reject, |w| w.b.end(Op::Yield, &[]));
                inst.regions.extend([accept, reject]);
                self.b.push(inst, &[]);
                self.state = state;
                arm(self, false, goal)
            }
            Goal::Value | Goal::Parts(_) => {
                let reject = self.b.new_region(&[]);
                let accepted = self.arm_of(accept, reprs, |w| arm(w, true, goal));
                self.state = state.clone();
                let rejected = self.arm_of(reject, reprs, |w| arm(w, false, goal));
                inst.regions.extend([accept, reject]);
                Some(self.joined(inst, reprs, state, accepted.into_iter().chain(rejected).collect()))
            }
        }
    }

    /// The condition of which a number is the truth value.
    fn truth_of(&self, number: ValueId) -> Option<ValueId> {
        let Def::Result(id, _) = self.b.function.values[number].def else { return None };
        let inst = &self.b.function.insts[id];
        let condition = *inst.operands.first()?;
        (inst.op == Op::Convert && self.b.ty(condition) == Type::BOOL).then_some(condition)
    }

    /// One of several ways, by a number; the last arm is the default.
    pub(super) fn ways(
        &mut self,
        selector: ValueId,
        values: &[u32],
        goal: Goal,
        reprs: &[Repr],
        arm: &mut Arm<'_, Self, usize>,
    ) -> Option<Vec<Held>> {
        if let [0] = values
            && let Some(condition) = self.truth_of(selector)
        {
            return self.branch(condition, goal, reprs, &mut |w, is, goal| arm(w, usize::from(is), goal));
        }
        if let [value] = values {
            let value = self.b.u32(*value);
            let equal = self.b.op(Op::Eq, Scalar::U32, &[selector, value]);
            return self.branch(equal, goal, reprs, &mut |w, is, goal| arm(w, usize::from(!is), goal));
        }
        if values.is_empty() {
            return arm(self, 0, goal);
        }
        let state = self.state.clone();
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), &[selector], self.b.span);
        inst.set(Attr::Cases(values.iter().map(|v| vec![i64::from(*v)]).collect()));
        let mut ends = vec![];
        for i in 0..values.len() {
            let region = self.b.new_region(&[]);
            inst.regions.push(region);
            match goal {
                Goal::Result => _ = self.within(region, |w| arm(w, i, goal)),
                Goal::Value | Goal::Parts(_) => ends.extend(self.arm_of(region, reprs, |w| arm(w, i, goal))),
            }
            self.state = state.clone();
        }
        let default = self.b.new_region(&[]);
        inst.regions.push(default);
        match goal {
            Goal::Result => {
                self.within(default, |w| w.b.end(Op::Yield, &[]));
                self.b.push(inst, &[]);
                arm(self, values.len(), goal)
            }
            Goal::Value | Goal::Parts(_) => {
                ends.extend(self.arm_of(default, reprs, |w| arm(w, values.len(), goal)));
                Some(self.joined(inst, reprs, state, ends))
            }
        }
    }

    // Numbers.

    pub(super) fn switch(&mut self, term: &'p Term, choice: &'p Switch, goal: Goal) -> Option<Vec<Held>> {
        let span = if choice.scrutinee.span.is_none() { term.span } else { choice.scrutinee.span };
        let reprs = &self.wanted(term, goal);
        let set = self.all.flow.forced(&self.set_of(&choice.scrutinee));
        let operand = self.operands(&[&choice.scrutinee]).remove(0);
        self.b.span = term.span;
        let wrong = "`switch` needs a number".to_owned();
        if let Some(kind) = operand.certain() {
            if let Some(other) = self.are_wrong(std::slice::from_ref(&operand), &[kind]) {
                self.trap_if(other, Code::NotANumber, span, wrong, hint::NUMBER);
            }
            let number = self.take_number(&operand, kind);
            let bits = self.numbers().representation(kind, number);
            return self.switch_on(choice, Width::of(kind), bits, goal, reprs);
        }
        let word = self.own(operand);
        let arm = &mut |w: &mut Self, is_era: bool, goal: Goal| {
            if is_era {
                w.b.drop(word);
                w.drop_all_of(choice);
                let era = w.immediate(Immediate::Era);
                return w.finish(era, goal);
            }
            let form = w.form(word);
            let kinds = w.b.u32(NumKind::ALL.len() as u32);
            let other = w.b.op(Op::Ge, Scalar::U32, &[form, kinds]);
            w.trap_if(other, Code::NotANumber, span, wrong.clone(), hint::NUMBER);
            let three = w.b.u32(tag::IMMEDIATE);
            let small = w.b.op(Op::Lt, Scalar::U32, &[form, three]);
            let bits = w.all.unit(Unit::Bits);
            let number = w.b.call(bits, &[Type::U32], &[word])[0];
            w.switch_on(choice, Width::Either { small }, number, goal, reprs)
        };
        if set.era {
            let is_era = self.is_era(word);
            self.branch(is_era, goal, reprs, arm)
        } else {
            arm(self, false, goal)
        }
    }

    /// All variables that arms of a choice would use, when none of them is run.
    fn drop_all_of(&mut self, choice: &Switch) {
        let arms: Vec<&Term> = choice.cases.iter().map(|(_, body)| body).chain([&choice.default]).collect();
        self.drop_unused(&arms);
    }

    /// Goes on by the representation of a number.
    fn switch_on(
        &mut self,
        choice: &'p Switch,
        width: Width,
        bits: ValueId,
        goal: Goal,
        reprs: &[Repr],
    ) -> Option<Vec<Held>> {
        let values: Vec<u32> = choice.cases.iter().map(|(value, _)| *value).collect();
        let next = values.iter().max().map_or(0, |m| m.wrapping_add(1));
        // Behind the cases 0 to n - 1 what is left is at least n.
        let in_order = (0..next).all(|value| values.contains(&value));
        self.ways(bits, &values, goal, reprs, &mut |w, i, goal| {
            let Some((_, body)) = choice.cases.get(i) else {
                w.let_die(&choice.default);
                if let Some(local) = choice.pred.filter(|local| !w.liveness.is_unused(*local)) {
                    let by = w.b.u32(next);
                    let pred = w.b.op(Op::Sub, Scalar::U32, &[bits, by]);
                    let pred = w.predecessor(width, pred, in_order, local);
                    w.bind(local, pred);
                }
                return w.term(&choice.default, goal);
            };
            w.let_die(body);
            w.term(body, goal)
        })
    }

    /// The number minus one more than the largest case, as the variable holds it.
    fn predecessor(&mut self, width: Width, difference: ValueId, in_range: bool, local: LocalId) -> Held {
        let repr = represent::of(self.all.flow.local(self.instance, local));
        let number = |w: &mut Self, kind: NumKind| {
            let id = if in_range { difference } else { w.numbers().convert(NumKind::U32, kind, difference) };
            Held { id, repr: Repr::Number(kind) }
        };
        let held = match width {
            Width::Small => number(self, NumKind::U24),
            Width::Wide => number(self, NumKind::U32),
            Width::Either { small } => match repr {
                Repr::Number(kind) => number(self, kind),
                Repr::Term => {
                    let reuse = std::mem::take(&mut self.state.reuse);
                    let mut inst = Inst::new(Op::If, None, &[small], self.b.span);
                    for kind in [NumKind::U24, NumKind::U32] {
                        let region = self.b.new_region(&[]);
                        self.within(region, |w| {
                            let held = number(w, kind);
                            let word = w.hold(held, Repr::Term);
                            w.b.end(Op::Yield, &[word]);
                        });
                        inst.regions.push(region);
                    }
                    self.state.reuse = reuse;
                    let id = self.b.push(inst, &[Type::Term]);
                    Held { id: self.b.function.insts[id].results[0], repr }
                }
            },
        };
        Held { id: self.hold(held, repr), repr }
    }

    // Constructors.

    pub(super) fn matching(&mut self, term: &'p Term, choice: &'p Match, goal: Goal) -> Option<Vec<Held>> {
        let span = if choice.scrutinee.span.is_none() { term.span } else { choice.scrutinee.span };
        let reprs = &self.wanted(term, goal);
        if let Some(shape) = self.matched_parts(choice) {
            return self.match_parts(choice, shape, goal);
        }
        let set = self.set_of(&choice.scrutinee);
        let lent = self.lent_word(&choice.scrutinee).filter(|_| !Callable::of(self.all, &set).any());
        let mut set = self.all.flow.forced(&set);
        let word = match lent {
            Some(word) => word,
            None => self.data(term, choice, &mut set),
        };
        let (units, cells) = self.alternatives(choice, &set);
        let layouts: Vec<LayoutId> = cells.iter().map(|(_, shape)| self.all.shape(*shape)).collect();
        let rest = Rest {
            cells: self.all.cells_of(&set).iter().any(|layout| !layouts.contains(layout)),
            flats: self.all.has_flat(&Set { units: vec![], ..set.clone() }) || set.units.len() > units.len(),
        };
        let chosen = Chosen { choice, set: &set, units, cells, rest, word, owned: lent.is_none(), span, reprs };
        let flats = !chosen.units.is_empty() || chosen.rest.flats;
        let any_cells = !chosen.cells.is_empty() || chosen.rest.cells;
        match (any_cells, flats) {
            (true, true) => {
                let is_cell = self.has_tag(word, tag::CELL);
                self.branch(is_cell, goal, reprs, &mut |w, is_cell, goal| {
                    if is_cell { w.match_cell(&chosen, goal) } else { w.match_flat(&chosen, goal) }
                })
            }
            (true, false) => self.match_cell(&chosen, goal),
            (false, _) => self.match_flat(&chosen, goal),
        }
    }

    /// The word of a variable that is borrowed, and has its value.
    pub(super) fn lent_word(&self, term: &Term) -> Option<ValueId> {
        let TermKind::Local(local) = term.kind else { return None };
        let held = self.is_lent(local).then(|| self.borrow(local))?;
        (held.repr == Repr::Term && self.set_of(term).thunks.is_empty()).then_some(held.id)
    }

    /// The value that is matched, as data.
    fn data(&mut self, term: &Term, choice: &'p Match, set: &mut Set) -> ValueId {
        let value = self.value(&choice.scrutinee);
        let word = self.hold(value, Repr::Term);
        let word = self.forced(word, &self.set_of(&choice.scrutinee));
        if !Callable::of(self.all, set).any() {
            return word;
        }
        let data = self.all.unit(Unit::Data(choice.ty));
        set.merge(&self.all.flow.forced(self.all.flow.delivered(self.instance, term)));
        self.b.call(data, &[Type::Term], &[word])[0]
    }

    /// Goes on by which cell a word names.
    fn match_cell(&mut self, chosen: &Chosen<'_, 'p>, goal: Goal) -> Option<Vec<Held>> {
        let Chosen { cells, rest, word, .. } = chosen;
        let mut values: Vec<u32> = cells.iter().map(|(_, shape)| self.all.shape(*shape).index() as u32).collect();
        if !rest.cells {
            values.pop();
        }
        let selector = if values.is_empty() { *word } else { self.b.cell_layout(*word) };
        self.ways(selector, &values, goal, chosen.reprs, &mut |w, i, goal| match cells.get(i) {
            Some((ctor, shape)) => w.arm(chosen, *ctor, Some(*shape), goal),
            None => w.no_arm(chosen, goal),
        })
    }

    /// Goes on by which small thing a word is.
    fn match_flat(&mut self, chosen: &Chosen<'_, 'p>, goal: Goal) -> Option<Vec<Held>> {
        let Chosen { units, rest, word, .. } = chosen;
        let mut values: Vec<u32> = units.iter().map(|ctor| Immediate::Unit(*ctor).payload()).collect();
        if !rest.flats {
            values.pop();
        }
        let selector = match (values.is_empty(), rest.flats) {
            (true, _) => *word,
            (false, false) => self.b.payload(*word),
            // A number's payload may be that of an immediate.
            (false, true) => {
                let payload = self.b.payload(*word);
                let found = self.b.tag(*word);
                let high = self.b.u32(29);
                let tag = self.b.op(Op::Shl, Scalar::U32, &[found, high]);
                values.iter_mut().for_each(|value| *value |= tag::IMMEDIATE << 29);
                self.b.op(Op::Or, Scalar::U32, &[payload, tag])
            }
        };
        self.ways(selector, &values, goal, chosen.reprs, &mut |w, i, goal| match units.get(i) {
            Some(ctor) => w.arm(chosen, *ctor, None, goal),
            None => w.no_arm(chosen, goal),
        })
    }

    /// The constructors that a match can go on with: those without fields, and shapes of cells.
    fn alternatives(&self, choice: &Match, set: &Set) -> (Vec<CtorId>, Vec<(CtorId, ShapeId)>) {
        let of_type = |ctor: CtorId| self.all.program.ctors[ctor].ty == choice.ty;
        let units = set.units.iter().copied().filter(|ctor| of_type(*ctor)).collect();
        let cell = |shape: &ShapeId| match self.all.flow.shapes()[*shape].what {
            What::Ctor(ctor) if of_type(ctor) => Some((ctor, *shape)),
            What::Ctor(_) | What::Pair | What::Closure(_) | What::Partial(..) => None,
        };
        (units, set.shapes.iter().filter_map(cell).collect())
    }

    fn arm(&mut self, chosen: &Chosen<'_, 'p>, ctor: CtorId, shape: Option<ShapeId>, goal: Goal) -> Option<Vec<Held>> {
        let Chosen { choice, word, owned, .. } = *chosen;
        let Some(arm) = choice.arms.iter().find(|arm| arm.ctor == ctor) else {
            let Some(default) = &choice.default else { return self.stop(chosen, goal) };
            if owned {
                self.b.drop(word);
            }
            self.let_die(default);
            return self.term(default, goal);
        };
        self.let_die(&arm.body);
        let mut word = word;
        if let Some(whole) = arm.whole
            && !self.liveness.is_unused(whole)
        {
            if owned {
                let (mine, theirs) = self.b.share(word);
                self.bind(whole, Held { id: theirs, repr: Repr::Term });
                word = mine;
            } else {
                self.lend(whole, Held { id: word, repr: Repr::Term });
            }
        }
        match shape {
            None if owned => self.b.drop_flat(word),
            None => {}
            Some(shape) if !owned => {
                let locals: Vec<Option<LocalId>> = arm.fields.iter().map(|local| Some(*local)).collect();
                self.look_into(shape, word, &locals);
            }
            Some(shape) => {
                let fields = self.open(shape, word);
                for (local, field) in arm.fields.iter().zip(fields) {
                    self.bind(*local, field);
                }
            }
        }
        self.term(&arm.body, goal)
    }

    /// A match on a cell that is not made: there are its fields.
    fn match_parts(&mut self, choice: &'p Match, shape: ShapeId, goal: Goal) -> Option<Vec<Held>> {
        let fields = self.parts(&choice.scrutinee, shape);
        let What::Ctor(ctor) = self.all.flow.shapes()[shape].what else {
            unreachable!("`matched_parts` gives constructors")
        };
        match (choice.arms.iter().find(|arm| arm.ctor == ctor), &choice.default) {
            (Some(arm), _) => {
                self.let_die(&arm.body);
                for (local, field) in arm.fields.iter().zip(fields) {
                    self.bind(*local, field);
                }
                self.term(&arm.body, goal)
            }
            (None, Some(default)) => {
                fields.into_iter().for_each(|field| self.discard(field));
                self.let_die(default);
                self.term(default, goal)
            }
            (None, None) => unreachable!("`matched_parts` has found an arm"),
        }
    }

    /// The shape of the scrutinee, if the match needs no more than the fields of such a cell, which is not made.
    fn matched_parts(&self, choice: &Match) -> Option<ShapeId> {
        let shape = self.parts_of(&choice.scrutinee)?;
        let What::Ctor(ctor) = self.all.flow.shapes()[shape].what else { return None };
        let arm = choice.arms.iter().find(|arm| arm.ctor == ctor);
        let whole = arm.and_then(|arm| arm.whole).is_some_and(|whole| !self.liveness.is_unused(whole));
        let of_type = self.all.program.ctors[ctor].ty == choice.ty;
        (of_type && !whole && (arm.is_some() || choice.default.is_some())).then_some(shape)
    }

    /// Lends the fields of a cell that is borrowed to variables.
    pub(super) fn look_into(&mut self, shape: ShapeId, word: ValueId, locals: &[Option<LocalId>]) {
        for (i, local) in locals.iter().enumerate() {
            if let Some(local) = local.filter(|local| !self.liveness.is_unused(*local)) {
                let field = self.field(shape, word, i);
                self.lend(local, field);
            }
        }
    }
    /// A field of a cell that is only looked at.
    pub(super) fn field(&mut self, shape: ShapeId, word: ValueId, i: usize) -> Held {
        let layout = self.all.shape(shape);
        let repr = represent::stored(&self.all.flow.shapes()[shape])[i];
        Held { id: self.b.cell_get(repr.ty(), layout, i as u32, word), repr }
    }

    /// Opens a cell that is owned; its memory is at hand afterwards.
    pub(super) fn open(&mut self, shape: ShapeId, word: ValueId) -> Vec<Held> {
        let layout = self.all.shape(shape);
        let flow = self.all.flow;
        let reprs = represent::stored(&flow.shapes()[shape]);
        let types: Vec<Type> = reprs.iter().map(|r| r.ty()).collect();
        let (token, fields) = self.b.cell_open(layout, &types, word);
        self.state.reuse.push(ReuseToken { value: token, layout, units: host_units(types.len()) });
        fields.into_iter().zip(reprs).map(|(id, repr)| Held { id, repr }).collect()
    }

    /// None of the type's constructors that have an arm: `*`, which the choice becomes, or a mistake.
    fn no_arm(&mut self, chosen: &Chosen<'_, 'p>, goal: Goal) -> Option<Vec<Held>> {
        let Chosen { choice, set, word, owned, reprs, .. } = *chosen;
        if !set.era {
            return self.stop(chosen, goal);
        }
        let is_era = self.is_era(word);
        self.branch(is_era, goal, reprs, &mut |w, is_era, goal| {
            if !is_era {
                return w.stop(chosen, goal);
            }
            if owned {
                w.b.drop_flat(word);
            }
            let arms: Vec<&Term> = choice.arms.iter().map(|arm| &arm.body).chain(&choice.default).collect();
            w.drop_unused(&arms);
            let era = w.immediate(Immediate::Era);
            w.finish(era, goal)
        })
    }

    /// Ends the run: no arm fits.
    fn stop(&mut self, chosen: &Chosen<'_, 'p>, goal: Goal) -> Option<Vec<Held>> {
        let Chosen { choice, word, owned, span, reprs, .. } = *chosen;
        let name = &self.all.program.types[choice.ty].name;
        let message = format!("a match on a `{name}` has no case for this value");
        let always = self.b.bool(true);
        self.trap_if(always, Code::NoMatchingCase, span, message, hint::CASE);
        if owned {
            self.b.drop(word);
        }
        let arms: Vec<&Term> = choice.arms.iter().map(|arm| &arm.body).chain(&choice.default).collect();
        self.drop_unused(&arms);
        self.finish_nowhere(goal, reprs)
    }
}

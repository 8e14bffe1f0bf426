//! One exit: a function in task form whose only `return` is the last instruction of its body.
//!
//! | what leaves the function | becomes |
//! |---|---|
//! | `return` | outside of loops, the end of an arm, and what followed the `if` goes into the arms that fell through; in a loop, `break` |
//! | `tail` of another function | `call`, and a `return` |
//! | `tail` of the function itself | another iteration of one loop around the whole body |
//!
//! A loop that may be left in several ways gives, for each way but the last, whether it was that one; then the values of every way, with
//! something that owns nothing for those that are not there. An `if` behind it tells the ways apart.
//!
//! Invariant: the function means what it meant, and each owned term is still consumed exactly once on each way. What is owned outside of a
//! loop and given away on some of the ways out is therefore carried by the loop.

mod ways;

use girih_base::idx::IndexVec;
use girih_ir::heap::IMMEDIATE;
use girih_ir::{Builder, Def, Function, Inst, InstId, Module, Op, RegionId, Type, Value, ValueId, Values};
use ways::{Kind, Repetition, Ways};

/// The same function with one exit. It is in task form, and verified.
pub(super) fn one_exit(module: &Module, function: &Function) -> Function {
    let mut copy = Function::new(function.name.clone(), function.span);
    copy.results = function.results.clone();
    let map = function.values.iter().map(|_| None).collect();
    let ways = ways::ways(module, function);
    let mut writer = ExitWriter { module, function, ways, b: Builder::new(copy), map, loops: vec![] };
    writer.write();
    writer.b.function
}

/// A way out of a loop, in the order in which they are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The function ends.
    Return,
    /// The function begins anew.
    Again,
    /// Only the loop ends.
    Own,
}

/// A value that a loop gives on one of its ways.
#[derive(Clone, Copy, Debug)]
struct Slot {
    ty: Type,
    kind: Kind,
}

/// A loop around.
#[derive(Clone, Debug)]
enum Around {
    /// The one around the whole body.
    Whole { params: Vec<ValueId> },
    /// One of the function's.
    Inner {
        /// Its parameters, those for what it carries included.
        params: Vec<ValueId>,
        /// How many of them it had before.
        own: usize,
        /// What it carries besides, by the old names.
        carried: Vec<ValueId>,
        /// Those of them that it gives when it is over.
        kept: Vec<ValueId>,
        ways: Vec<(Way, Vec<Slot>)>,
    },
}

/// What follows when an arm falls through: its values get these names, and the rest is done.
struct Then<'a, 'c> {
    results: &'a [ValueId],
    rest: &'a [InstId],
    next: Option<&'c Then<'a, 'c>>,
}

struct ExitWriter<'a> {
    module: &'a Module,
    function: &'a Function,
    ways: Ways,
    b: Builder,
    /// What stands for the old values, where the writer is.
    map: IndexVec<ValueId, Option<ValueId>>,
    /// The loops around, outermost first.
    loops: Vec<Around>,
}

impl<'a> ExitWriter<'a> {
    fn write(&mut self) {
        let function = self.function;
        for param in &function.params {
            let Value { ty, def, name } = function.values[*param].clone();
            let value = self.b.function.values.push(Value { ty, def, name });
            self.b.function.set_span(value, function.span_of(*param));
            self.b.function.params.push(value);
            self.map[*param] = Some(value);
        }
        let mut begins_anew = false;
        function.walk(function.body, &mut |_, inst| {
            begins_anew |= inst.op == Op::Tail && ways::is_own(self.module, function, inst);
        });
        let body = &function.regions[function.body].insts;
        if !begins_anew {
            return self.sequence(body, None);
        }
        self.b.span = function.span;
        let initial = self.b.function.params.clone();
        let region = self.parameters(&function.params, &[]);
        let params = self.b.function.regions[region].params.clone();
        self.loops.push(Around::Whole { params });
        self.within(region, |w| w.sequence(body, None));
        self.loops.pop();
        self.b.span = function.span;
        let mut whole = Inst::new(Op::Loop, None, &initial, function.span);
        whole.regions.push(region);
        let given = self.push(whole, &function.results);
        self.b.end(Op::Return, &given);
    }

    // Values.

    fn value(&mut self, old: ValueId) -> ValueId {
        match self.function.values[old].def {
            Def::Constant(bits) => self.b.function.constant(self.function.ty(old), bits),
            _defined => self.map[old].expect("a verified function defines values before their uses"),
        }
    }
    fn values(&mut self, old: &[ValueId]) -> Values {
        old.iter().map(|value| self.value(*value)).collect()
    }

    /// Says what stands for old values.
    fn name(&mut self, old: &[ValueId], new: &[ValueId]) {
        for (old, new) in old.iter().zip(new) {
            self.map[*old] = Some(*new);
            let slot = &mut self.b.function.values[*new];
            if slot.name.is_none() && !matches!(slot.def, Def::Constant(_)) {
                slot.name = self.function.values[*old].name.clone();
            }
        }
    }

    fn types(&self, old: &[ValueId]) -> Vec<Type> {
        old.iter().map(|value| self.function.ty(*value)).collect()
    }

    fn slots(&self, old: &[ValueId]) -> Vec<Slot> {
        old.iter().map(|v| Slot { ty: self.function.ty(*v), kind: self.ways.kinds[*v] }).collect()
    }

    /// A value that owns nothing, where one of another way stands.
    fn nothing(&mut self, slot: Slot) -> ValueId {
        if slot.ty != Type::Term {
            return self.b.zero(slot.ty);
        }
        match (slot.kind, self.lent()) {
            (Kind::Hole, _) => self.b.no_reuse_token(),
            (Kind::Lent, Some(lent)) => lent,
            _term => {
                let none = self.b.u32(0);
                self.b.pack(IMMEDIATE, none)
            }
        }
    }

    /// Something borrowed, which is there as long as the function.
    fn lent(&self) -> Option<ValueId> {
        let function = &self.b.function;
        function.params.iter().copied().find(|param| ways::of_param(function, *param) == Kind::Lent)
    }

    /// Ends the life of values that [`nothing`](Self::nothing) has made.
    fn forget(&mut self, slots: &[Slot], values: &[ValueId]) {
        for (slot, value) in slots.iter().zip(values) {
            match (slot.ty, slot.kind) {
                (Type::Term, Kind::Hole) => self.b.cell_free(*value),
                (Type::Term, Kind::Lent) => {}
                (Type::Term, _) => self.b.drop_flat(*value),
                _number => {}
            }
        }
    }

    // Writing.

    /// Writes into a region.
    fn within(&mut self, region: RegionId, write: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.b.region, region);
        write(self);
        self.b.region = outer;
    }

    /// A region whose parameters stand for old values.
    fn parameters(&mut self, params: &[ValueId], more: &[ValueId]) -> RegionId {
        let old: Vec<ValueId> = params.iter().chain(more).copied().collect();
        let region = self.b.new_region(&self.types(&old));
        let new = self.b.function.regions[region].params.clone();
        self.name(&old, &new);
        region
    }

    fn push(&mut self, inst: Inst, results: &[Type]) -> Values {
        let id = self.b.push(inst, results);
        self.b.function.insts[id].results.clone()
    }

    /// The instruction with operands of the new function, without results and regions.
    fn again(&mut self, inst: &Inst) -> Inst {
        let operands = self.values(&inst.operands);
        Inst { attrs: inst.attrs.clone(), ..Inst::new(inst.op, inst.ty, &operands, inst.span) }
    }

    fn copy(&mut self, inst: &Inst) {
        let new = self.again(inst);
        let results = self.push(new, &self.types(&inst.results));
        self.name(&inst.results, &results);
    }

    /// Writes instructions up to the end of their region, and what comes then.
    fn sequence(&mut self, insts: &'a [InstId], then: Option<&Then<'a, '_>>) {
        let function = self.function;
        for (i, id) in insts.iter().enumerate() {
            let inst = &function.insts[*id];
            self.b.span = inst.span;
            let rest = &insts[i + 1..];
            match inst.op {
                Op::Return => {
                    let values = self.values(&inst.operands);
                    return self.leave(Way::Return, &values);
                }
                Op::Tail => return self.tail(inst),
                Op::Yield => {
                    let values = self.values(&inst.operands);
                    let Some(then) = then else { return self.b.end(Op::Yield, &values) };
                    self.name(then.results, &values);
                    return self.sequence(then.rest, then.next);
                }
                Op::Break => {
                    let values = self.values(&inst.operands);
                    return self.break_off(values);
                }
                Op::Continue => {
                    let values = self.values(&inst.operands);
                    return self.next(values);
                }
                Op::While => return self.while_holds(inst),
                Op::If | Op::Switch => {
                    let choice = self.ways.choices[id];
                    if if self.loops.is_empty() { choice.returns } else { choice.parts } {
                        return self.divide(inst, &Then { results: &inst.results, rest, next: then });
                    }
                    self.choose(inst);
                    if !choice.goes_on {
                        return self.dead();
                    }
                }
                Op::Loop => {
                    if !self.repeat(*id, rest, then) {
                        return;
                    }
                }
                _stays => self.copy(inst),
            }
        }
    }

    /// Ends a region in a loop at which nothing arrives.
    fn dead(&mut self) {
        if let Some(Around::Whole { params } | Around::Inner { params, .. }) = self.loops.last() {
            self.b.end(Op::Continue, &params.clone());
        }
    }

    fn tail(&mut self, inst: &Inst) {
        let operands = self.values(&inst.operands);
        if ways::is_own(self.module, self.function, inst) {
            return self.leave(Way::Again, &operands);
        }
        let new = Inst { op: Op::Call, ..self.again(inst) };
        let results = self.push(new, &self.function.results);
        self.leave(Way::Return, &results);
    }

    /// Leaves the function, or begins it anew.
    fn leave(&mut self, way: Way, values: &[ValueId]) {
        match (self.loops.last(), way) {
            (Some(Around::Whole { .. }), Way::Again) => self.b.end(Op::Continue, values),
            (Some(Around::Whole { .. }), Way::Return | Way::Own) => self.b.end(Op::Break, values),
            (Some(Around::Inner { .. }), _) => self.break_by(way, values),
            (None, _) if self.b.region == self.b.function.body => self.b.end(Op::Return, values),
            (None, _) => self.b.end(Op::Yield, values),
        }
    }

    /// Leaves the innermost loop by one of its ways.
    fn break_by(&mut self, way: Way, values: &[ValueId]) {
        let Some(Around::Inner { ways, .. }) = self.loops.last() else { return };
        let ways = ways.clone();
        let mut given: Vec<ValueId> = ways[..ways.len() - 1].iter().map(|(w, _)| self.b.bool(*w == way)).collect();
        for (other, slots) in &ways {
            if *other == way {
                given.extend(values);
            } else {
                given.extend(slots.iter().map(|slot| self.nothing(*slot)).collect::<Vec<_>>());
            }
        }
        self.b.end(Op::Break, &given);
    }

    /// Leaves the innermost loop alone.
    fn break_off(&mut self, mut values: Values) {
        let Some(Around::Inner { kept, .. }) = self.loops.last() else { return };
        let kept = kept.clone();
        values.extend(self.values(&kept));
        self.break_by(Way::Own, &values);
    }

    /// Goes on with the next iteration of the innermost loop.
    fn next(&mut self, mut values: Values) {
        let Some(Around::Inner { carried, .. }) = self.loops.last() else { return };
        let carried = carried.clone();
        values.extend(self.values(&carried));
        self.b.end(Op::Continue, &values);
    }

    fn while_holds(&mut self, inst: &Inst) {
        let Some(Around::Inner { ways, params, own, .. }) = self.loops.last() else { return };
        if ways.len() == 1 {
            return self.copy(inst);
        }
        let params = Values::from_slice(&params[..*own]);
        let operands = self.values(&inst.operands);
        let (holds, over) = (self.b.new_region(&[]), self.b.new_region(&[]));
        self.within(holds, |w| w.b.end(Op::Yield, &[]));
        self.within(over, |w| w.break_off(params));
        self.if_else(operands[0], holds, over, &[]);
        self.next(Values::from_slice(&operands[1..]));
    }

    fn if_else(&mut self, condition: ValueId, then: RegionId, otherwise: RegionId, results: &[Type]) -> Values {
        let mut inst = Inst::new(Op::If, None, &[condition], self.b.span);
        inst.regions.extend([then, otherwise]);
        self.push(inst, results)
    }

    // Choices.

    /// An `if` or `switch` that stays one.
    fn choose(&mut self, inst: &'a Inst) {
        let mut new = self.again(inst);
        for region in &inst.regions {
            let arm = self.b.new_region(&[]);
            self.within(arm, |w| w.sequence(&w.function.regions[*region].insts, None));
            new.regions.push(arm);
        }
        let results = self.push(new, &self.types(&inst.results));
        self.name(&inst.results, &results);
    }

    /// An `if` or `switch` behind which nothing is left: all that follows is done in its arms.
    fn divide(&mut self, inst: &'a Inst, then: &Then<'a, '_>) {
        let mut new = self.again(inst);
        for region in &inst.regions {
            let arm = self.b.new_region(&[]);
            self.within(arm, |w| w.sequence(&w.function.regions[*region].insts, Some(then)));
            new.regions.push(arm);
        }
        self.b.span = inst.span;
        let given = self.push(new, &self.given());
        self.finish(&given);
    }

    /// What an `if` gives behind which nothing is left: outside of loops the function's results; in a loop its arms all jump.
    fn given(&self) -> Vec<Type> {
        if self.loops.is_empty() { self.function.results.clone() } else { vec![] }
    }
    fn finish(&mut self, given: &[ValueId]) {
        if self.loops.is_empty() { self.leave(Way::Return, given) } else { self.dead() }
    }

    // Loops.

    /// The ways out of a loop, and what it gives on each.
    fn ways_out(&self, inst: &Inst, found: &Repetition) -> Vec<(Way, Vec<Slot>)> {
        let mut ways = vec![];
        if found.returns {
            let slot = |ty: &Type| Slot { ty: *ty, kind: if *ty == Type::Term { Kind::Owned } else { Kind::Plain } };
            ways.push((Way::Return, self.function.results.iter().map(slot).collect()));
        }
        if found.again {
            let params = self.function.params.iter();
            let slot = |v: &ValueId| Slot { ty: self.function.ty(*v), kind: ways::of_param(self.function, *v) };
            ways.push((Way::Again, params.map(slot).collect()));
        }
        if found.breaks {
            let mut slots = self.slots(&inst.results);
            slots.extend(self.slots(&found.kept));
            ways.push((Way::Own, slots));
        }
        ways
    }

    /// Writes a loop, and what follows if it may leave more than itself. Says whether what follows is still to be written.
    fn repeat(&mut self, id: InstId, rest: &'a [InstId], then: Option<&Then<'a, '_>>) -> bool {
        let (function, found) = (self.function, self.ways.loops[&id].clone());
        let inst = &function.insts[id];
        let ways = self.ways_out(inst, &found);
        let renamed: Vec<ValueId> = found.carried.iter().chain(&found.read).copied().collect();
        let before: Vec<Option<ValueId>> = renamed.iter().map(|value| self.map[*value]).collect();

        let mut new = self.again(inst);
        new.operands.extend(self.values(&found.carried));
        let old = &function.regions[inst.regions[0]];
        let region = self.parameters(&old.params, &found.carried);
        let params = self.b.function.regions[region].params.clone();
        let (carried, kept, own) = (found.carried.clone(), found.kept.clone(), old.params.len());
        self.loops.push(Around::Inner { params, own, carried, kept, ways: ways.clone() });
        self.within(region, |w| {
            w.read_again(&found.read);
            w.sequence(&old.insts, None);
        });
        self.loops.pop();
        new.regions.push(region);

        self.b.span = inst.span;
        let mut types = vec![Type::BOOL; ways.len() - 1];
        types.extend(ways.iter().flat_map(|(_, slots)| slots).map(|slot| slot.ty));
        let results = self.push(new, &types);
        let (flags, mut left) = results.split_at(ways.len() - 1);
        let mut given = vec![];
        for (_, slots) in &ways {
            let (values, others) = left.split_at(slots.len());
            given.push(values);
            left = others;
        }
        if found.breaks && ways.len() == 1 {
            self.name(&inst.results, &results);
            return true;
        }
        let behind = Behind { inst, found: &found, ways: &ways, flags, given: &given, rest, then };
        self.behind(&behind, 0);
        for (old, value) in renamed.into_iter().zip(before) {
            self.map[old] = value;
        }
        false
    }

    /// Tells apart the ways out of a loop from one on, and goes on by each.
    fn behind(&mut self, loops: &Behind<'a, '_>, first: usize) {
        let Some(flag) = loops.flags.get(first) else { return self.go_on(loops, first) };
        let (this, others) = (self.b.new_region(&[]), self.b.new_region(&[]));
        self.within(this, |w| w.go_on(loops, first));
        self.b.span = loops.inst.span;
        self.within(others, |w| w.behind(loops, first + 1));
        self.b.span = loops.inst.span;
        let given = self.if_else(*flag, this, others, &self.given());
        self.finish(&given);
    }

    /// Goes on behind a loop that was left by one of its ways.
    fn go_on(&mut self, loops: &Behind<'a, '_>, position: usize) {
        for (i, (_, slots)) in loops.ways.iter().enumerate().filter(|(i, _)| *i != position) {
            self.forget(slots, loops.given[i]);
        }
        let (way, values) = (loops.ways[position].0, loops.given[position]);
        if way != Way::Own {
            return self.leave(way, values);
        }
        let (results, kept) = values.split_at(loops.inst.results.len());
        self.name(&loops.inst.results, results);
        self.name(&loops.found.kept, kept);
        let kinds = &self.ways.kinds;
        let is_kept = |v: &ValueId| matches!(kinds[*v], Kind::Borrowed(owner) if loops.found.kept.contains(&owner));
        let read: Vec<ValueId> = loops.found.read.iter().copied().filter(is_kept).collect();
        self.read_again(&read);
        self.sequence(loops.rest, loops.then);
    }

    /// Reads again what was read from cells that are now carried under other names.
    fn read_again(&mut self, read: &[ValueId]) {
        let function = self.function;
        for value in read {
            let Def::Result(id, _) = function.values[*value].def else { continue };
            let inst = &function.insts[id];
            if inst.op == Op::CellGet {
                self.copy(inst);
            } else {
                // The first of two that `term.share` makes of it is what it was.
                let same = self.value(inst.operands[0]);
                self.map[*value] = Some(same);
            }
        }
    }
}

/// What stands behind a loop that may leave more than itself.
struct Behind<'a, 'c> {
    inst: &'a Inst,
    found: &'c Repetition,
    ways: &'c [(Way, Vec<Slot>)],
    /// Whether it was left by each way but the last.
    flags: &'c [ValueId],
    /// What it gave on each.
    given: &'c [&'c [ValueId]],
    rest: &'a [InstId],
    then: Option<&'c Then<'a, 'c>>,
}

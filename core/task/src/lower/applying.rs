//! Functions that work on whatever arrives: application, computing what waits, functions in the place of data.
//!
//! They are written last, when all functions that are used as values are known, and again if writing them has made others known.

use super::super::flow::{Callee, Set, Site, What};
use super::dynamic::reason;
use super::represent::{Held, Repr};
use super::words::{FORM_BITS, Immediate, tag};
use super::writer::{Goal, TermWriter};
use super::{Lowering, Meaning, ShapeId, Unit};
use girih_base::num::NumKind;
use girih_ir::{Function, Op, Scalar, Type, ValueId};
use girih_term::{DefId, TypeId};

/// Functions that a set holds.
pub(super) struct Callable(bool);

impl Callable {
    pub(super) fn of(all: &Lowering<'_>, set: &Set) -> Callable {
        let shape = |shape: &ShapeId| match all.flow.shapes()[*shape].what {
            What::Closure(_) | What::Partial(..) => true,
            What::Ctor(_) | What::Pair => false,
        };
        Callable(
            !set.functions.is_empty()
                || !set.makers.is_empty()
                || !set.selectors.is_empty()
                || set.shapes.iter().any(shape),
        )
    }
    pub(super) fn any(&self) -> bool {
        self.0
    }
}

/// The value of the program's entry.
pub(super) fn entry(all: &mut Lowering<'_>, function: Function) -> Function {
    let mut w = TermWriter::plain(all, function);
    if let Some(entry) = w.all.program.entry {
        let value = w.definition(entry);
        let word = w.hold(value, Repr::Term);
        let force = w.all.unit(Unit::Force);
        w.b.tail(force, &[word]);
    } else {
        let era = w.immediate(Immediate::Era);
        w.finish(era, Goal::Result);
    }
    w.b.function
}

/// Computes a definition that waits to be computed.
pub(super) fn force(all: &mut Lowering<'_>, function: Function) -> Function {
    let word = function.params[0];
    let mut w = TermWriter::plain(all, function);
    let thunks = w.all.thunks();
    let selector = w.immediate_selector(word);
    let values: Vec<u32> = thunks.iter().map(|def| Immediate::Definition(*def).payload()).collect();
    w.ways(selector, &values, Goal::Result, &[Repr::Term], &mut |w, i, goal| {
        let Some(def) = thunks.get(i) else { return w.finish(Held { id: word, repr: Repr::Term }, goal) };
        w.b.drop(word);
        let global = w.all.global(*def);
        let value = w.b.global_get(global);
        // The value of a definition may be another one.
        w.call(Unit::Force, &[value], girih_base::span::Span::NONE, goal)
    });
    w.b.function
}

/// The value of a definition without parameters, computed.
pub(super) fn value(all: &mut Lowering<'_>, function: Function, def: DefId) -> Function {
    let mut w = TermWriter::plain(all, function);
    let unit = Unit::Definition(def.into());
    let (callee, repr) = (w.all.unit(unit), w.all.result_repr(unit));
    let id = w.b.call(callee, &[repr.ty()], &[])[0];
    let word = w.hold(Held { id, repr }, Repr::Term);
    w.call(Unit::Force, &[word], girih_base::span::Span::NONE, Goal::Result);
    w.b.function
}

/// Applies a word to words.
pub(super) fn apply(all: &mut Lowering<'_>, function: Function, count: u32) -> Function {
    let (f, args) = (function.params[0], function.params[1..].to_vec());
    let mut w = TermWriter::plain(all, function);
    let force = w.all.unit(Unit::Force);
    let f = w.b.call(force, &[Type::Term], &[f])[0];
    let is_cell = w.has_tag(f, tag::CELL);
    w.branch(is_cell, Goal::Result, &[Repr::Term], &mut |w, is_cell, goal| {
        if is_cell { w.apply_cell(f, &args, goal) } else { w.apply_immediate(f, &args, count, goal) }
    });
    w.b.function
}

/// The same for a word that is only lent, and that nobody has to compute.
pub(super) fn apply_lent(all: &mut Lowering<'_>, function: Function, count: u32) -> Function {
    let (f, args) = (function.params[0], function.params[1..].to_vec());
    let mut w = TermWriter::plain(all, function);
    let is_cell = w.has_tag(f, tag::CELL);
    w.branch(is_cell, Goal::Result, &[Repr::Term], &mut |w, is_cell, goal| {
        if is_cell {
            return w.apply_lent_cell(f, &args, goal);
        }
        let (_, own) = w.b.share(f);
        w.apply_immediate(own, &args, count, goal)
    });
    w.b.function
}

/// A word as data of a type.
pub(super) fn data(all: &mut Lowering<'_>, function: Function, ty: TypeId) -> Function {
    let word = function.params[0];
    let mut w = TermWriter::plain(all, function);
    let callable = w.is_callable(word);
    w.branch(callable, Goal::Result, &[Repr::Term], &mut |w, callable, goal| {
        if !callable {
            return w.finish(Held { id: word, repr: Repr::Term }, goal);
        }
        let selector = w.immediate(Immediate::Select(ty));
        let apply = w.all.unit(Unit::Apply(1));
        let made = w.b.call(apply, &[Type::Term], &[word, selector.id])[0];
        w.call(Unit::Force, &[made], girih_base::span::Span::NONE, goal)
    });
    w.b.function
}

/// Whether a number that is stored would have to be made a word: somebody would have to own that.
fn is_made(stored: &[Repr], taken: &[Repr]) -> bool {
    stored.iter().zip(taken).any(|(stored, taken)| *stored != Repr::Term && *taken == Repr::Term)
}

impl TermWriter<'_, '_> {
    /// The payload of an immediate, something else for other words.
    fn immediate_selector(&mut self, word: ValueId) -> ValueId {
        let is = self.has_tag(word, tag::IMMEDIATE);
        let payload = self.b.payload(word);
        let none = self.b.u32(u32::MAX);
        self.b.op(Op::Select, Scalar::U32, &[is, payload, none])
    }

    /// Whether a word is a function.
    fn is_callable(&mut self, word: ValueId) -> ValueId {
        let selector = self.immediate_selector(word);
        let mask = self.b.u32((1 << FORM_BITS) - 1);
        let form = self.b.op(Op::And, Scalar::U32, &[selector, mask]);
        let (least, most) = (self.b.u32(2), self.b.u32(5));
        let low = self.b.op(Op::Ge, Scalar::U32, &[form, least]);
        let high = self.b.op(Op::Le, Scalar::U32, &[form, most]);
        let by_form = self.b.op(Op::And, Scalar::Bool, &[low, high]);
        let is_cell = self.has_tag(word, tag::CELL);
        let region = self.b.new_region(&[]);
        self.within(region, |w| {
            let layout = w.b.cell_layout(word);
            let mut any = w.b.bool(false);
            for (id, meaning) in w.all.layouts() {
                let Meaning::Shape { what, .. } = meaning else { continue };
                if matches!(what, What::Closure(_) | What::Partial(..)) {
                    let id = w.b.u32(id.index() as u32);
                    let same = w.b.op(Op::Eq, Scalar::U32, &[layout, id]);
                    any = w.b.op(Op::Or, Scalar::Bool, &[any, same]);
                }
            }
            w.b.end(Op::Yield, &[any]);
        });
        let other = self.b.new_region(&[]);
        self.within(other, |w| w.b.end(Op::Yield, &[by_form]));
        let mut inst = girih_ir::Inst::new(Op::If, None, &[is_cell], self.b.span);
        inst.regions.extend([region, other]);
        let id = self.b.push(inst, &[Type::BOOL]);
        self.b.function.insts[id].results[0]
    }

    /// Applies a unit with parameters as words: the first ones, the captured values, then what is left.
    fn enter(
        &mut self,
        unit: Unit,
        arity: usize,
        args: &[ValueId],
        captured: &[Held],
        goal: Goal,
    ) -> Option<Vec<Held>> {
        let reprs = self.all.param_reprs(unit);
        let own = args[..arity].iter().map(|id| Held { id: *id, repr: Repr::Term });
        let all: Vec<Held> = own.chain(captured.iter().copied()).collect();
        let values: Vec<ValueId> = all.into_iter().zip(reprs).map(|(v, repr)| self.hold(v, repr)).collect();
        let span = girih_base::span::Span::NONE;
        if args.len() == arity {
            return self.call(unit, &values, span, goal);
        }
        self.all.result_is_applied(unit);
        let result = self.call_for_value(unit, &values, span);
        let result = self.hold(result, Repr::Term);
        let mut rest = vec![result];
        rest.extend(&args[arity..]);
        self.call(Unit::Apply(args.len() as u32 - arity as u32), &rest, span, goal)
    }

    fn no_function(&mut self, f: ValueId, args: &[ValueId], goal: Goal) -> Option<Vec<Held>> {
        self.b.drop(f);
        args.iter().for_each(|arg| self.b.drop(*arg));
        let reason = self.reason(reason::FUNCTION);
        self.finish(reason, goal)
    }

    fn apply_immediate(&mut self, f: ValueId, args: &[ValueId], count: u32, goal: Goal) -> Option<Vec<Held>> {
        let selector = self.immediate_selector(f);
        let mut known = vec![Immediate::Era];
        known.extend(self.all.functions_as_values());
        if count > 0 {
            known.extend(self.all.applied_units.iter().map(|ctor| Immediate::Unit(*ctor)));
        }
        let values: Vec<u32> = known.iter().map(|immediate| immediate.payload()).collect();
        self.ways(selector, &values, goal, &[Repr::Term], &mut |w, i, goal| match known.get(i) {
            None if count == 0 => w.finish(Held { id: f, repr: Repr::Term }, goal),
            None => w.no_function(f, args, goal),
            Some(Immediate::Era) => {
                w.b.drop(f);
                args.iter().for_each(|arg| w.b.drop(*arg));
                let era = w.immediate(Immediate::Era);
                w.finish(era, goal)
            }
            Some(Immediate::Definition(def)) => {
                w.b.drop(f);
                let arity = w.all.program.defs[*def].params.len();
                w.apply_known(Unit::Definition((*def).into()), Callee::Definition((*def).into()), arity, args, goal)
            }
            Some(Immediate::Lambda(number)) => {
                w.b.drop(f);
                let lambda = w.all.tables.lambdas[*number as usize];
                let arity = w.all.lambda_parts(lambda).0.len();
                w.apply_known(Unit::Lambda(lambda), Callee::Lambda(lambda), arity, args, goal)
            }
            Some(Immediate::Unit(ctor)) => {
                w.b.drop(f);
                w.apply_data(w.all.program.ctors[*ctor].tag, &[], args, goal)
            }
            Some(Immediate::Make(_) | Immediate::Select(_)) => w.no_function(f, args, goal),
        })
    }

    /// Applies a function without captures.
    fn apply_known(
        &mut self,
        unit: Unit,
        callee: Callee,
        arity: usize,
        args: &[ValueId],
        goal: Goal,
    ) -> Option<Vec<Held>> {
        if args.len() >= arity && (arity > 0 || matches!(unit, Unit::Lambda(_))) {
            return self.enter(unit, arity, args, &[], goal);
        }
        if args.is_empty() {
            let value = self.function_value(unit);
            return self.finish(value, goal);
        }
        let own = matches!(callee, Callee::Lambda(_)).then(|| self.function_value(unit));
        let given = args.iter().map(|id| Held { id: *id, repr: Repr::Term });
        let values: Vec<Held> = own.into_iter().chain(given).collect();
        match self.all.flow.shape(Site::Partial(callee, args.len() as u32)) {
            Some(shape) => {
                let partial = self.cell_of(shape, &values);
                self.finish(partial, goal)
            }
            None => self.no_function_left(args, goal),
        }
    }

    /// Where the flow says that control never comes.
    fn no_function_left(&mut self, args: &[ValueId], goal: Goal) -> Option<Vec<Held>> {
        args.iter().for_each(|arg| self.b.drop(*arg));
        let reason = self.reason(reason::FUNCTION);
        self.finish(reason, goal)
    }

    fn function_value(&mut self, unit: Unit) -> Held {
        match unit {
            Unit::Definition(instance) | Unit::Borrowing(instance, _) => {
                self.immediate(Immediate::Definition(instance.def))
            }
            Unit::Lambda(lambda) | Unit::LentLambda(lambda) => {
                let number = self.all.lambda(lambda);
                self.immediate(Immediate::Lambda(number))
            }
            Unit::Entry
            | Unit::Value(_)
            | Unit::Apply(_)
            | Unit::ApplyLent(_)
            | Unit::Force
            | Unit::Bits
            | Unit::Widen(_)
            | Unit::Operator(_)
            | Unit::Primitive(_)
            | Unit::Data(_) => self.immediate(Immediate::Era),
        }
    }

    fn apply_cell(&mut self, f: ValueId, args: &[ValueId], goal: Goal) -> Option<Vec<Held>> {
        self.by_shape(f, goal, |w, shape, goal| w.apply_shape(shape, f, args, goal))
    }

    /// A cell that is lent stays whole where it is a function that gets all its arguments now.
    fn apply_lent_cell(&mut self, f: ValueId, args: &[ValueId], goal: Goal) -> Option<Vec<Held>> {
        self.by_shape(f, goal, |w, shape, goal| {
            let what = shape.map(|shape| (shape, w.all.flow.shapes()[shape].what));
            if let Some((shape, What::Closure(lambda))) = what
                && w.all.lambda_parts(lambda).0.len() == args.len()
                && let Some(captured) = w.look_at_captures(shape, lambda, f)
            {
                let own = args.iter().map(|id| Held { id: *id, repr: Repr::Term });
                let values = w.given_to(Unit::LentLambda(lambda), own, captured);
                return w.call(Unit::LentLambda(lambda), &values, girih_base::span::Span::NONE, goal);
            }
            if let Some((shape, What::Partial(Callee::Definition(instance), _))) = what
                && let Some((unit, values)) = w.look_at_partial(shape, instance, f, args)
            {
                return w.call(unit, &values, girih_base::span::Span::NONE, goal);
            }
            let (_, own) = w.b.share(f);
            w.apply_shape(shape, own, args, goal)
        })
    }

    /// The call of a definition that a cell has the first arguments of, if these are the others: it borrows the first ones.
    fn look_at_partial(
        &mut self,
        shape: ShapeId,
        instance: super::Instance,
        f: ValueId,
        args: &[ValueId],
    ) -> Option<(Unit, Vec<ValueId>)> {
        let stored = super::represent::stored(&self.all.flow.shapes()[shape]);
        let taken = self.all.param_reprs(Unit::Definition(instance));
        let has_all = stored.len() + args.len() == taken.len() && taken.len() <= 32;
        if !has_all || is_made(&stored, &taken) {
            return None;
        }
        let lent = (0..stored.len()).filter(|i| taken[*i] == Repr::Term).fold(0, |bits, i| bits | 1 << i);
        let unit = if lent == 0 { Unit::Definition(instance) } else { Unit::Borrowing(instance, lent) };
        let mut values: Vec<ValueId> = vec![];
        for (i, repr) in taken.iter().enumerate().take(stored.len()) {
            let field = self.field(shape, f, i);
            values.push(self.looked_at(field, *repr));
        }
        for (id, repr) in args.iter().zip(&taken[stored.len()..]) {
            values.push(self.hold(Held { id: *id, repr: Repr::Term }, *repr));
        }
        Some((unit, values))
    }

    /// Does something for each shape that a cell may have, and for no shape that is known.
    fn by_shape(
        &mut self,
        f: ValueId,
        goal: Goal,
        each: impl Fn(&mut Self, Option<ShapeId>, Goal) -> Option<Vec<Held>>,
    ) -> Option<Vec<Held>> {
        let layout = self.b.cell_layout(f);
        let known = self.all.layouts();
        let callable: Vec<_> = known
            .into_iter()
            .filter_map(|(id, meaning)| match meaning {
                Meaning::Shape { shape, .. } => Some((id, shape)),
                Meaning::Boxed(_) => None,
            })
            .collect();
        let values: Vec<u32> = callable.iter().map(|(id, _)| id.index() as u32).collect();
        self.ways(layout, &values, goal, &[Repr::Term], &mut |w, i, goal| {
            each(w, callable.get(i).map(|(_, shape)| *shape), goal)
        })
    }

    /// Applies a cell of a shape, or of none that is known.
    fn apply_shape(&mut self, shape: Option<ShapeId>, f: ValueId, args: &[ValueId], goal: Goal) -> Option<Vec<Held>> {
        let Some(shape) = shape else { return self.no_function(f, args, goal) };
        match self.all.flow.shapes()[shape].what {
            What::Closure(lambda) => self.apply_closure(shape, lambda, f, args, goal),
            What::Partial(..) if args.is_empty() => self.finish(Held { id: f, repr: Repr::Term }, goal),
            What::Partial(callee, _) => self.apply_partial(shape, callee, f, args, goal),
            What::Ctor(ctor) if !args.is_empty() && self.all.applied_shapes.contains(&shape) => {
                let fields = self.open(shape, f);
                let words: Vec<ValueId> = fields.into_iter().map(|field| self.hold(field, Repr::Term)).collect();
                self.apply_data(self.all.program.ctors[ctor].tag, &words, args, goal)
            }
            What::Ctor(_) | What::Pair if args.is_empty() => self.finish(Held { id: f, repr: Repr::Term }, goal),
            What::Ctor(_) | What::Pair => self.no_function(f, args, goal),
        }
    }

    /// What a closure that is only looked at has captured; none if a variable that is captured as a number is a word in the body: somebody would have to own that.
    pub(super) fn look_at_captures(
        &mut self,
        shape: ShapeId,
        lambda: super::LambdaRef,
        f: ValueId,
    ) -> Option<Vec<Held>> {
        let stored = super::represent::stored(&self.all.flow.shapes()[shape]);
        let own = self.all.lambda_parts(lambda).0.len();
        let taken = self.all.param_reprs(Unit::LentLambda(lambda)).split_off(own);
        if is_made(&stored, &taken) {
            return None;
        }
        Some((0..stored.len()).map(|i| self.field(shape, f, i)).collect())
    }

    /// Arguments of a lambda that borrows what it has captured, as it takes them.
    pub(super) fn given_to(
        &mut self,
        unit: Unit,
        own: impl Iterator<Item = Held>,
        captured: Vec<Held>,
    ) -> Vec<ValueId> {
        let reprs = self.all.param_reprs(unit);
        let mut values = vec![];
        for value in own {
            values.push(self.hold(value, reprs[values.len()]));
        }
        for value in captured {
            values.push(self.looked_at(value, reprs[values.len()]));
        }
        values
    }

    /// A field that is only looked at, held in another way: not a number as a word.
    fn looked_at(&mut self, value: Held, repr: Repr) -> ValueId {
        match (value.repr, repr) {
            (Repr::Term, Repr::Number(kind)) => self.number_in(kind, value.id),
            (_, repr) => self.hold(value, repr),
        }
    }

    /// Applies a constructor: the first argument is applied to its tag and fields, and what that gives to the other arguments.
    fn apply_data(&mut self, tag: u32, fields: &[ValueId], args: &[ValueId], goal: Goal) -> Option<Vec<Held>> {
        let number = self.b.u32(tag);
        let mut words = vec![args[0], self.word_of(NumKind::U24, number)];
        words.extend(fields);
        let span = girih_base::span::Span::NONE;
        let unit = Unit::Apply(words.len() as u32 - 1);
        let [_, rest @ ..] = args else { return self.no_function_left(&words, goal) };
        if rest.is_empty() {
            return self.call(unit, &words, span, goal);
        }
        let callee = self.all.unit(unit);
        let mut words = self.b.call(callee, &[Type::Term], &words);
        words.extend(rest);
        self.call(Unit::Apply(rest.len() as u32), &words, span, goal)
    }

    /// Applies a function that has some of its arguments already.
    fn apply_partial(
        &mut self,
        shape: ShapeId,
        callee: Callee,
        f: ValueId,
        args: &[ValueId],
        goal: Goal,
    ) -> Option<Vec<Held>> {
        let stored = self.open(shape, f);
        let mut words: Vec<ValueId> = vec![];
        for held in stored {
            words.push(self.hold(held, Repr::Term));
        }
        match callee {
            Callee::Definition(instance) => {
                words.extend(args);
                let arity = self.all.program.defs[instance.def].params.len();
                self.apply_known(Unit::Definition(instance), callee, arity, &words, goal)
            }
            Callee::Lambda(lambda) => {
                let (params, captures, _) = self.all.lambda_parts(lambda);
                let closure = words.remove(0);
                words.extend(args);
                if captures.is_empty() {
                    self.b.drop(closure);
                    return self.apply_known(Unit::Lambda(lambda), callee, params.len(), &words, goal);
                }
                match self.all.closure_shape(lambda) {
                    Some(shape) => self.apply_closure(shape, lambda, closure, &words, goal),
                    None => self.no_function(closure, &words, goal),
                }
            }
            Callee::Constructor(_) => {
                words.extend(args);
                self.no_function_left(&words, goal)
            }
        }
    }

    /// Applies a closure.
    fn apply_closure(
        &mut self,
        shape: ShapeId,
        lambda: super::LambdaRef,
        f: ValueId,
        args: &[ValueId],
        goal: Goal,
    ) -> Option<Vec<Held>> {
        let arity = self.all.lambda_parts(lambda).0.len();
        if args.len() >= arity {
            let captured = self.open(shape, f);
            return self.enter(Unit::Lambda(lambda), arity, args, &captured, goal);
        }
        if args.is_empty() {
            return self.finish(Held { id: f, repr: Repr::Term }, goal);
        }
        let mut values = vec![Held { id: f, repr: Repr::Term }];
        values.extend(args.iter().map(|id| Held { id: *id, repr: Repr::Term }));
        match self.all.flow.shape(Site::Partial(Callee::Lambda(lambda), args.len() as u32)) {
            Some(shape) => {
                let partial = self.cell_of(shape, &values);
                self.finish(partial, goal)
            }
            None => self.no_function(f, args, goal),
        }
    }
}

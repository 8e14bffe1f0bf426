//! The functions that are made: what each is called, how it takes its parameters and gives its result. One is written when somebody needs it.

use super::represent::{self, Repr, Results};
use super::{Lowering, writer};
use crate::flow::{Callee, Flow, Instance, LambdaRef};
use girih_base::num::{BinOp, NumKind};
use girih_base::prim::Prim;
use girih_base::span::Span;
use girih_ir::{Function, FunctionId};
use girih_term::{DefId, TypeId};

/// A function that is made of a part of the program, or for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unit {
    /// A definition's body.
    Definition(Instance),
    /// The same, but it borrows the parameters at these bits.
    Borrowing(Instance, u32),
    /// The value of a definition without parameters.
    Value(DefId),
    /// A lambda's body; captured values stand behind the parameters.
    Lambda(LambdaRef),
    /// The same, but it borrows what is captured.
    LentLambda(LambdaRef),
    /// The value of the entry, computed and complete.
    Entry,
    /// Applies a term to so many terms.
    Apply(u32),
    /// The same, but it borrows the term that is applied.
    ApplyLent(u32),
    /// Computes what waits to be computed.
    Force,
    /// The representation of a number of any kind.
    Bits,
    /// A number of any kind as one of this kind.
    Widen(NumKind),
    /// An operator on two terms.
    Operator(BinOp),
    /// A primitive on terms.
    Primitive(Prim),
    /// A term as data of a type: a function that stands for a constructor is asked for it.
    Data(TypeId),
}

impl<'p> Lowering<'p> {
    /// Writes all units. Those that work on any function come last, and again until nothing new is known.
    pub(super) fn write_all(&mut self) {
        let is_late = |unit: &Unit| matches!(unit, Unit::Force | Unit::Apply(_) | Unit::ApplyLent(_) | Unit::Data(_));
        let mut late: Vec<Unit> = vec![];
        loop {
            while let Some(unit) = self.queue.pop_front() {
                if is_late(&unit) {
                    late.push(unit);
                } else {
                    self.write(unit);
                }
            }
            let known = self.known();
            for unit in late.clone() {
                self.write(unit);
            }
            if self.queue.is_empty() && self.known() == known {
                return;
            }
        }
    }

    fn write(&mut self, unit: Unit) {
        let id = self.units[&unit];
        let mut declared = self.declare(unit);
        declared.name = self.module.functions[id].name.clone();
        self.module.functions[id] = writer::write(self, unit, declared);
    }

    /// How much is known that the late units depend on.
    fn known(&self) -> [usize; 4] {
        let applied = self.applied_units.len() + self.applied_shapes.len();
        [self.mentioned.len(), self.tables.lambdas.len(), self.module.layouts.len(), applied]
    }

    /// The function of a unit, which will be written if it was not needed before. Its parameters and results are known at once.
    pub(crate) fn unit(&mut self, unit: Unit) -> FunctionId {
        if let Some(id) = self.units.get(&unit) {
            return *id;
        }
        let mut function = self.declare(unit);
        // A program may have a definition of any name.
        while !self.names.insert(function.name.clone()) {
            function.name = format!("{}.girih", function.name).into();
        }
        let id = self.module.functions.push(function);
        self.units.insert(unit, id);
        self.queue.push_back(unit);
        id
    }

    /// A function without a body.
    fn declare(&mut self, unit: Unit) -> Function {
        let (name, span) = self.name(unit);
        let mut function = Function::new(name, span);
        for (i, repr) in self.param_reprs(unit).into_iter().enumerate() {
            let borrowed = match unit {
                Unit::Borrowing(_, which) => which >> i & 1 == 1,
                Unit::LentLambda(lambda) => i >= self.lambda_parts(lambda).0.len() && repr == Repr::Term,
                Unit::ApplyLent(_) => i == 0,
                _owned => false,
            };
            let attrs = girih_ir::ParamAttrs { borrowed, ..girih_ir::ParamAttrs::default() };
            function.param(format!("p{i}"), repr.ty(), attrs);
        }
        function.results = self.results(unit).types();
        function
    }

    pub(super) fn name(&self, unit: Unit) -> (String, Span) {
        let definition = |def: DefId| (self.program.defs[def].name.to_string(), self.program.defs[def].span);
        match unit {
            Unit::Definition(instance) => {
                let (name, span) = definition(instance.def);
                (if instance.clone == 0 { name } else { format!("{name}.{}", instance.clone) }, span)
            }
            Unit::Borrowing(instance, which) => {
                let (name, span) = self.name(Unit::Definition(instance));
                (format!("{name}.look{which}"), span)
            }
            Unit::Value(def) => {
                let (name, span) = definition(def);
                (format!("{name}.value"), span)
            }
            Unit::Lambda(lambda) => {
                let (name, span) = definition(lambda.instance.def);
                (format!("{name}.lambda{}", lambda.ordinal), span)
            }
            Unit::LentLambda(lambda) => {
                let (name, span) = self.name(Unit::Lambda(lambda));
                (format!("{name}.look"), span)
            }
            Unit::Entry => ("entry".to_owned(), Span::NONE),
            Unit::Apply(count) => (format!("apply.{count}"), Span::NONE),
            Unit::ApplyLent(count) => (format!("apply.{count}.look"), Span::NONE),
            Unit::Force => ("force".to_owned(), Span::NONE),
            Unit::Bits => ("bits".to_owned(), Span::NONE),
            Unit::Widen(kind) => (format!("widen.{}", kind.name()), Span::NONE),
            Unit::Operator(op) => (format!("operator.{op:?}").to_lowercase(), Span::NONE),
            Unit::Primitive(prim) => (format!("primitive.{}", prim.name()), Span::NONE),
            Unit::Data(ty) => (format!("data.{}", self.program.types[ty].name), Span::NONE),
        }
    }

    /// How a unit takes its parameters.
    pub(crate) fn param_reprs(&self, unit: Unit) -> Vec<Repr> {
        let terms = |count: usize| vec![Repr::Term; count];
        match unit {
            Unit::Definition(instance) | Unit::Borrowing(instance, _) => {
                let params = self.program.defs[instance.def].params.iter();
                params.map(|p| represent::of(self.flow.local(instance, *p))).collect()
            }
            Unit::Lambda(lambda) | Unit::LentLambda(lambda) => {
                let (params, captures, _) = self.lambda_parts(lambda);
                let locals = params.iter().chain(&captures);
                locals.map(|l| represent::of(self.flow.local(lambda.instance, *l))).collect()
            }
            Unit::Entry | Unit::Value(_) => vec![],
            Unit::Apply(count) | Unit::ApplyLent(count) => terms(count as usize + 1),
            Unit::Force | Unit::Data(_) | Unit::Bits | Unit::Widen(_) => terms(1),
            Unit::Operator(_) => terms(2),
            Unit::Primitive(prim) => terms(prim.arity()),
        }
    }

    /// How a unit gives its result.
    pub(crate) fn results(&self, unit: Unit) -> Results {
        let unit = match unit {
            Unit::Borrowing(instance, _) => Unit::Definition(instance),
            Unit::LentLambda(lambda) => Unit::Lambda(lambda),
            other => other,
        };
        match self.products.get(&unit) {
            Some(shape) => Results::Parts(*shape, represent::stored(&self.flow.shapes()[*shape])),
            None => Results::One(self.result_repr(unit)),
        }
    }

    /// How the result of a unit is held as one value.
    pub(crate) fn result_repr(&self, unit: Unit) -> Repr {
        match unit {
            // What a definition without parameters gives may itself wait to be computed.
            Unit::Definition(instance) if self.is_thunk(instance.def) => Repr::Term,
            Unit::Definition(instance) | Unit::Borrowing(instance, _)
                if self.going_on.contains(&Callee::Definition(instance)) =>
            {
                Repr::Term
            }
            Unit::Lambda(lambda) | Unit::LentLambda(lambda) if self.going_on.contains(&Callee::Lambda(lambda)) => {
                Repr::Term
            }
            Unit::Definition(instance) | Unit::Borrowing(instance, _) => represent::of(self.flow.result(instance)),
            Unit::Lambda(lambda) | Unit::LentLambda(lambda) => represent::of(self.flow.lambda_result(lambda)),
            Unit::Widen(kind) => Repr::Number(kind),
            Unit::Bits => Repr::Number(NumKind::U32),
            Unit::Entry
            | Unit::Value(_)
            | Unit::Apply(_)
            | Unit::ApplyLent(_)
            | Unit::Force
            | Unit::Data(_)
            | Unit::Operator(_)
            | Unit::Primitive(_) => Repr::Term,
        }
    }

    /// Whether a reference to a definition waits to be computed.
    pub(crate) fn is_thunk(&self, def: DefId) -> bool {
        self.program.defs[def].params.is_empty() && !self.flow.is_constant(def)
    }

    /// What a unit gives is applied.
    pub(crate) fn result_is_applied(&mut self, unit: Unit) {
        let flow: &'p Flow = self.flow;
        match unit {
            Unit::Definition(instance) | Unit::Borrowing(instance, _) => self.is_applied(flow.result(instance)),
            Unit::Lambda(lambda) | Unit::LentLambda(lambda) => self.is_applied(flow.lambda_result(lambda)),
            Unit::Entry
            | Unit::Value(_)
            | Unit::Apply(_)
            | Unit::ApplyLent(_)
            | Unit::Force
            | Unit::Data(_)
            | Unit::Bits
            | Unit::Widen(_)
            | Unit::Operator(_)
            | Unit::Primitive(_) => {}
        }
    }
}

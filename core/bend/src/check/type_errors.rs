//! Errors about types: which place is to blame, where the expectation comes from, and what the user can do.

use super::hints;
use super::infer::Infer;
use super::show::Letters;
use super::types::{KindSet, Node, Ty};
use super::unify::Clash;
use crate::habits;
use girih_base::diag::{Code, Diagnostic};
use girih_base::name::Name;
use girih_base::num::BinOp;
use girih_base::plural::counted;
use girih_base::prim::Prim;
use girih_base::span::Span;
use girih_term::{CtorId, Def, DefId, Origin, Term, TermKind, TypeId};

/// Why a place asks for a type.
#[derive(Clone, Copy)]
pub(super) enum Why<'p> {
    /// It is this argument, counted from 0, of a call.
    Argument {
        head: &'p Term,
        index: usize,
    },
    /// It is this field of a constructor.
    Field {
        ctor: CtorId,
        index: usize,
    },
    /// It is what a definition returns.
    Result(DefId),
    /// It is a part of a tuple or list that is written out where one of these things is asked for.
    PartOfArgument {
        head: &'p Term,
        index: usize,
    },
    PartOfField {
        ctor: CtorId,
        index: usize,
    },
    PartOfResult(DefId),
    /// It is one of several terms that have one type, of which the first stands there.
    Among {
        first: &'p Term,
        is: &'static str,
    },
    /// It is an operand, and the other one stands there.
    Operand {
        op: BinOp,
        other: &'p Term,
    },
    /// It is an argument of a primitive.
    Primitive(Prim),
    /// It is matched against constructors of a type.
    Matched(TypeId),
    /// It is switched on, or the condition of an `if`.
    Switched,
    /// It is taken apart as a tuple.
    TuplePattern,
    /// It is applied.
    Applied,
}

impl<'p> Why<'p> {
    /// The reason for the parts of what this is the reason for.
    pub fn of_part(self) -> Why<'p> {
        match self {
            Why::Argument { head, index } => Why::PartOfArgument { head, index },
            Why::Field { ctor, index } => Why::PartOfField { ctor, index },
            Why::Result(def) => Why::PartOfResult(def),
            Why::PartOfArgument { .. } | Why::PartOfField { .. } | Why::PartOfResult(_) => self,
            Why::Among { .. } | Why::Operand { .. } | Why::Primitive(_) => self,
            Why::Matched(_) | Why::Switched | Why::TuplePattern | Why::Applied => self,
        }
    }
}

impl<'p> Infer<'p> {
    /// The error that a term of one type stands where another is needed.
    pub fn mismatch(&mut self, clash: Clash, term: &'p Term, found: Ty, expected: Ty, why: Why<'p>) -> Box<Diagnostic> {
        match clash {
            Clash::Different => {}
            Clash::Rigid(id, other) => return self.too_general(id, other, term, found, expected, why),
            Clash::Infinite(..) | Clash::TooLarge => return self.clash(clash, blame(term).span, "has"),
        }
        let letters = &mut Letters::Blank;
        let expected_name = self.show(expected, letters);
        let found_name = self.show(found, letters);
        let message = format!("expected `{expected_name}`, found `{found_name}`");
        let mut error = Diagnostic::new(Code::TypeMismatch, blame(term).span, message);
        error = error.at(self.role(why, &found_name));
        error = self.origin(error, why, &expected_name);
        if let Some(hint) = hints::mismatch(self, term, found, expected, why) {
            (error.hint, error.fix) = (Some(hint.text), hint.fix.map(Box::new));
        }
        Box::new(error)
    }

    /// The error that an annotation promises a function for every type, but this place works for one only.
    fn too_general(
        &mut self,
        id: u32,
        other: Ty,
        term: &'p Term,
        found: Ty,
        expected: Ty,
        why: Why<'p>,
    ) -> Box<Diagnostic> {
        let variable = self.rigid[id as usize];
        let letters = &mut Letters::Blank;
        let (expected_name, found_name) = (self.show(expected, letters), self.show(found, letters));
        let (name, other_name) = (self.rigid_name(id).to_string(), self.show(other, letters));
        let def = &self.program.defs[variable.def];
        let message = if expected_name == name || found_name == name {
            format!("expected `{expected_name}`, found `{found_name}`, though `{name}` stands for every type")
        } else {
            format!(
                "expected `{expected_name}`, found `{found_name}`: the variable `{name}`, which stands for every type, would have \
                 to be `{other_name}`"
            )
        };
        let mut error = Diagnostic::new(Code::AnnotationTooGeneral, blame(term).span, message);
        error = error.at(self.role(why, &found_name));
        error = error.label(def.span, format!("`{name}` comes from the annotation of `{}`", def.name));
        if let Some(hint) = habits::hint(habits::TYPES, &name) {
            return Box::new(error.hint(format!("there is no type `{name}`, so it may be any: {hint}")));
        }
        Box::new(error.hint(format!(
            "write in the annotation what `{name}` is here, or `_` to have it found, or `Any` to have it checked while the program \
             runs"
        )))
    }

    /// The error that a type cannot be built at all.
    pub fn clash(&mut self, clash: Clash, span: Span, verb: &str) -> Box<Diagnostic> {
        Box::new(match clash {
            Clash::Infinite(variable, ty) => {
                let letters = &mut Letters::Distinct(Vec::new());
                let (variable, ty) = (self.show(variable, letters), self.show(ty, letters));
                Diagnostic::new(Code::InfiniteType, span, format!("the type `{variable}` would have to be `{ty}`, which contains itself"))
                    .hint("something is applied to itself, or contains itself; leave the annotation out to have the function checked while it runs")
            }
            Clash::TooLarge => {
                Diagnostic::new(Code::TypeTooLarge, span, format!("the term {verb} a type that is too large"))
                    .hint("give inner parts a function of their own with a type annotation")
            }
            Clash::Different | Clash::Rigid(..) => {
                Diagnostic::new(Code::TypeMismatch, span, "the parts of this term have types that do not fit")
            }
        })
    }

    /// The error that a call has an argument, counted from 0, that nothing takes.
    pub fn not_a_function(
        &mut self,
        term: &'p Term,
        head: &'p Term,
        arguments: &'p [Term],
        index: usize,
        ty: Ty,
    ) -> Box<Diagnostic> {
        let shown = self.show(ty, &mut Letters::Blank);
        let name = self.name(head);
        let error = if index == 0 {
            let message = match &name {
                Some(name) => format!("`{name}` is called like a function, but is `{shown}`"),
                None => format!("this is called like a function, but is `{shown}`"),
            };
            Diagnostic::new(Code::TypeMismatch, head.span, message).at(format!("this is `{shown}`"))
        } else {
            let (takes, given) = (counted(index, "argument"), arguments.len());
            let message = match &name {
                Some(name) => format!("`{name}` takes {takes}, but {given} are given"),
                None => format!("this function takes {takes}, but {given} are given"),
            };
            let error = Diagnostic::new(Code::TypeMismatch, arguments[index].span, message);
            let error = error.at(format!("the call gives `{shown}` without this argument"));
            self.label_definition(error, head)
        };
        let is_data = self.types.is_data(ty);
        Box::new(match &term.kind {
            _ if is_data && index == 0 => error.hint("a value of a data type is taken apart with `match`"),
            _ if index == 0 && arguments.len() == 1 => {
                error.hint("an operator between the two is missing, or there are too many parentheses")
            }
            _ => error,
        })
    }

    /// The error that an operator gets something that is no number.
    pub fn not_numeric(&mut self, op: BinOp, operand: &'p Term, ty: Ty) -> Box<Diagnostic> {
        let shown = self.show(ty, &mut Letters::Blank);
        let mut error = Diagnostic::new(
            Code::NotNumeric,
            blame(operand).span,
            format!("`{}` works on numbers, and this is `{shown}`", op.symbol()),
        );
        if let Node::Rigid(id) = self.types.node(ty) {
            let def = &self.program.defs[self.rigid[id as usize].def];
            error = error.label(def.span, format!("the annotation says that `{shown}` may be every type"));
        }
        error.hint = hints::operand(self, op, operand, ty);
        Box::new(error)
    }

    /// The error that an operator does not exist for a type of numbers.
    pub fn unsupported(&mut self, term: &'p Term, op: BinOp, ty: Ty) -> Box<Diagnostic> {
        let shown = self.show(ty, &mut Letters::Blank);
        let kinds = KindSet::of_operands(op);
        let error =
            Diagnostic::new(Code::NotNumeric, term.span, format!("there is no `{}` for `{shown}`", op.symbol()));
        Box::new(error.hint(if kinds == KindSet::FLOAT {
            "it needs floats: convert with `u24/to_f24`, and write `2.0` for `2`"
        } else if kinds == KindSet::UNSIGNED {
            "it needs unsigned integers: `u24` or `u32`"
        } else {
            "it needs integers"
        }))
    }

    /// What the place to blame is.
    fn role(&self, why: Why<'p>, found: &str) -> String {
        match why {
            Why::Argument { head, index } => match self.argument(head, index) {
                Some(argument) => argument,
                None => format!("this is `{found}`"),
            },
            Why::PartOfArgument { head, index } => match self.argument(head, index) {
                Some(argument) => format!("part of {argument}"),
                None => format!("this is `{found}`"),
            },
            Why::Field { ctor, index } => self.field(ctor, index),
            Why::PartOfField { ctor, index } => format!("part of {}", self.field(ctor, index)),
            Why::Operand { op, .. } => format!("operand of `{}`", op.symbol()),
            Why::Primitive(prim) => format!("argument of `%{}`", prim.name()),
            Why::Result(_) | Why::PartOfResult(_) | Why::Among { .. } => format!("this is `{found}`"),
            Why::Matched(_) | Why::TuplePattern | Why::Applied => format!("this is `{found}`"),
            Why::Switched => format!("a condition or a number to switch on cannot be `{found}`"),
        }
    }

    /// What an argument is; none if neither the function nor the parameter has a name in the program.
    fn argument(&self, head: &Term, index: usize) -> Option<String> {
        Some(match (self.parameter(head, index), self.name(head)) {
            (Some(param), Some(name)) => format!("argument `{param}` of `{name}`"),
            (None, Some(name)) => format!("argument {} of `{name}`", index + 1),
            (Some(param), None) => format!("the value of `{param}`"),
            (None, None) => return None,
        })
    }

    fn field(&self, ctor: CtorId, index: usize) -> String {
        let ctor = &self.program.ctors[ctor];
        format!("field `{}` of `{}`", ctor.fields[index].name, ctor.name)
    }

    /// Points at where the expectation comes from.
    fn origin(&self, error: Diagnostic, why: Why<'p>, expected: &str) -> Diagnostic {
        match why {
            Why::Argument { head, index } => match self.place_of_parameter(head, index) {
                Some((span, def)) if def.origin.is_generated() => match self.parameter(head, index) {
                    Some(param) => error.label(span, format!("`{param}` is `{expected}`")),
                    None => error,
                },
                Some((span, def)) => error.label(span, format!("`{}` takes `{expected}` here", def.name)),
                None => self.label_definition(error, head),
            },
            Why::PartOfArgument { head, index } => match self.place_of_parameter(head, index) {
                Some((span, def)) if !def.origin.is_generated() => {
                    error.label(span, format!("the parameter of `{}`", def.name))
                }
                _ => self.label_definition(error, head),
            },
            Why::Result(def) | Why::PartOfResult(def) if self.program.defs[def].origin.is_generated() => error,
            Why::Result(def) => {
                let def = &self.program.defs[def];
                let verb = if def.params.is_empty() { "is" } else { "returns" };
                error.label(def.span, format!("`{}` {verb} `{expected}` by its annotation", def.name))
            }
            Why::PartOfResult(def) => {
                let def = &self.program.defs[def];
                error.label(def.span, format!("the annotation of `{}` says so", def.name))
            }
            Why::Among { first, is } => error.label(blame(first).span, format!("{is} `{expected}`")),
            Why::Operand { other, .. } => error.label(other.span, format!("the other operand is `{expected}`")),
            Why::Matched(ty) => {
                let ty = &self.program.types[ty];
                let text = format!("the arms are constructors of `{}`", ty.name);
                if ty.origin == Origin::User { error.label(ty.span, text) } else { error }
            }
            Why::Field { ctor, .. } => self.label_constructor(error, ctor, format!("the field is `{expected}` here")),
            Why::PartOfField { ctor, .. } => {
                self.label_constructor(error, ctor, "the field is defined here".to_string())
            }
            Why::Primitive(_) | Why::Switched | Why::TuplePattern | Why::Applied => error,
        }
    }

    /// Where a parameter of a definition of the program stands.
    fn place_of_parameter(&self, head: &Term, index: usize) -> Option<(Span, &'p Def)> {
        let TermKind::Global(id) = head.kind else { return None };
        let program = self.program;
        let def = &program.defs[id];
        let param = def.params.get(index).filter(|_| def.origin != Origin::Prelude)?;
        Some((def.locals[*param].span, def))
    }

    fn label_constructor(&self, error: Diagnostic, ctor: CtorId, text: String) -> Diagnostic {
        let ctor = &self.program.ctors[ctor];
        let is_user = self.program.types[ctor.ty].origin == Origin::User;
        if is_user { error.label(ctor.span, text) } else { error }
    }

    fn label_definition(&self, error: Diagnostic, head: &Term) -> Diagnostic {
        match head.kind {
            TermKind::Global(def) if self.is_user(def) => {
                let def = &self.program.defs[def];
                error.label(def.span, format!("`{}` is defined here", def.name))
            }
            _ => error,
        }
    }

    fn is_user(&self, def: DefId) -> bool {
        self.program.defs[def].origin == Origin::User
    }

    /// What a called thing is called in the program.
    fn name(&self, head: &Term) -> Option<String> {
        match &head.kind {
            TermKind::Global(def) if self.program.defs[*def].origin.is_generated() => None,
            TermKind::Global(def) => Some(self.program.defs[*def].name.to_string()),
            TermKind::Local(local) => written(&self.program.defs[self.def].locals[*local].name),
            _ => None,
        }
    }

    fn parameter(&self, head: &Term, index: usize) -> Option<String> {
        let TermKind::Global(def) = head.kind else { return None };
        let def = &self.program.defs[def];
        written(&def.locals[*def.params.get(index)?].name)
    }
}

/// A name if it was written in the program.
fn written(name: &Name) -> Option<String> {
    (!name.starts_with('%')).then(|| name.to_string())
}

/// The part of a term that its type comes from: the result of a `let`, and what follows the steps of a `with` block.
pub(super) fn blame(term: &Term) -> &Term {
    let mut at = term;
    while let Some(rest) = match &at.kind {
        TermKind::Let(_, result) => Some(&**result),
        _ => after_step(at),
    } {
        at = rest;
    }
    if at.span.is_none() { term } else { at }
}

/// What follows a step of a monad: in `bind(step, λx (x λp rest))` it is `rest`. Nobody writes such a function.
fn after_step(term: &Term) -> Option<&Term> {
    let TermKind::Apply(_, arguments) = &term.kind else { return None };
    let [_step, deferred] = arguments.as_slice() else { return None };
    let TermKind::Lambda(params, body) = &deferred.kind else { return None };
    let (TermKind::Apply(head, next), [param]) = (&body.kind, params.as_slice()) else { return None };
    let is_deferred = matches!(head.kind, TermKind::Local(local) if local == *param) && deferred.span == term.span;
    let [next] = next.as_slice() else { return None };
    match &next.kind {
        TermKind::Lambda(_, rest) if is_deferred => Some(rest),
        _ => None,
    }
}

//! Arguments: of constructors and primitives, which take all of theirs at once, and named ones.

use super::definition_scope::{Binding, apply};
use super::uses::Target as Meaning;
use super::{Entity, Lowering, invalid};
use crate::ast::{Expr, ExprKind, Ident};
use girih_base::diag::{Code, Diagnostic, did_you_mean};
use girih_base::name::Name;
use girih_base::prim::Prim;
use girih_base::span::Span;
use girih_term::{Bind, CtorId, LocalId, Target, Term, TermKind};

impl Lowering<'_> {
    /// A constructor applied to any number of arguments.
    pub(super) fn construct(&mut self, ctor: CtorId, args: Vec<Term>, span: Span) -> Term {
        let names = self.program.ctors[ctor].fields.iter().map(|f| f.name.clone()).collect();
        self.saturate(names, args, span, |args| TermKind::Ctor(ctor, args))
    }

    /// A primitive applied to any number of arguments.
    pub(super) fn primitive(&mut self, prim: Prim, args: Vec<Term>, span: Span) -> Term {
        let names = (0..prim.arity()).map(|i| Name::from(format!("x{i}"))).collect();
        self.saturate(names, args, span, |args| TermKind::Prim(prim, args))
    }

    /// Builds what takes exactly the parameters `names`: a function of those that are missing; what it builds is applied to
    /// those that are too many.
    fn saturate(
        &mut self,
        names: Vec<Name>,
        mut args: Vec<Term>,
        span: Span,
        build: impl FnOnce(Vec<Term>) -> TermKind,
    ) -> Term {
        if args.len() >= names.len() {
            let extra = args.split_off(names.len());
            let built = Term::new(build(args), span);
            return if extra.is_empty() { built } else { apply(built, extra, span) };
        }
        // Given arguments are computed once, not at every call of the function.
        let mut binds = vec![];
        let mut all = vec![];
        for (name, arg) in names.iter().zip(args) {
            let local = self.local(name.clone(), arg.span);
            all.push(Term::new(TermKind::Local(local), arg.span));
            binds.push(Bind { target: Target::Var(local), value: arg });
        }
        let params: Vec<LocalId> = names[all.len()..].iter().map(|name| self.local(name.clone(), span)).collect();
        all.extend(params.iter().map(|p| Term::new(TermKind::Local(*p), span)));
        let lambda = Term::new(TermKind::Lambda(params, Box::new(Term::new(build(all), span))), span);
        if binds.is_empty() { lambda } else { Term::new(TermKind::Let(binds, Box::new(lambda)), span) }
    }

    /// A call with arguments in order.
    pub(super) fn call(&mut self, function: &Expr, args: &[Expr], span: Span) -> Term {
        let head = self.head(function);
        let args = args.iter().map(|arg| self.expression(arg)).collect();
        self.apply_head(head, function, args, span)
    }

    /// What a call calls, as far as it is no ordinary value.
    fn head(&mut self, function: &Expr) -> Option<Head> {
        let ExprKind::Var(name) = &function.node else { return None };
        let head = match self.find(name) {
            Some(Binding::Ctor(ctor)) => Some(Head::Ctor(ctor)),
            Some(_) => None,
            None => match self.find_entity(name) {
                Some(Entity::Ctor(ctor)) => Some(Head::Ctor(ctor)),
                Some(Entity::Def(_) | Entity::Tag(_)) => None,
                None => name.strip_prefix('%').and_then(Prim::find).map(Head::Prim),
            },
        };
        // Of any other head the use is noted when its value is made.
        if let Some(Head::Ctor(_)) = head {
            self.note_use(name, function.span);
        }
        head
    }

    fn apply_head(&mut self, head: Option<Head>, function: &Expr, args: Vec<Term>, span: Span) -> Term {
        match head {
            Some(Head::Ctor(ctor)) => self.construct(ctor, args, span),
            Some(Head::Prim(prim)) => self.primitive(prim, args, span),
            None => apply(self.expression(function), args, span),
        }
    }

    /// `f(a, x = b)`.
    pub(super) fn call_named(&mut self, function: &Expr, args: &[Expr], named: &[(Ident, Expr)], span: Span) -> Term {
        let Some((what, parameters)) = self.parameters_of(function) else {
            let message = "named arguments work in calls of a definition or constructor by its name only";
            let hint = "give the arguments in order, without names";
            self.report(Diagnostic::new(Code::NotNamed, function.span, message).hint(hint));
            return invalid(span);
        };
        let head = self.head(function);
        match self.order(&what, &parameters, args, named, span) {
            Some(args) => self.apply_head(head, function, args, span),
            None => invalid(span),
        }
    }

    /// `T/C { x: a }`.
    pub(super) fn record(&mut self, ctor: &Ident, fields: &[(Ident, Expr)], span: Span) -> Term {
        let function = Expr::new(ExprKind::Var(ctor.node.clone()), ctor.span);
        match self.parameters_of(&function) {
            Some((what, parameters)) => {
                let head = self.head(&function);
                match self.order(&what, &parameters, &[], fields, span) {
                    Some(args) => self.apply_head(head, &function, args, span),
                    None => invalid(span),
                }
            }
            None => {
                self.unknown_constructor(&ctor.node, ctor.span);
                invalid(span)
            }
        }
    }

    pub(super) fn unknown_constructor(&mut self, name: &Name, span: Span) {
        let mut diagnostic =
            Diagnostic::new(Code::UnboundConstructor, span, format!("there is no constructor `{name}`"));
        let (module, may_search) = (self.module(), self.may_search());
        let scopes = self.scopes[module].values.iter().chain(&self.prelude.values);
        let ctors = scopes.filter(|(_, e)| matches!(e, Entity::Ctor(_))).map(|(n, _)| n.as_str());
        let near = if may_search { did_you_mean(name, ctors) } else { None };
        let owner = name.rsplit_once('/').filter(|_| may_search).and_then(|(owner, _)| self.constructors_of(owner));
        let define =
            || "a constructor is defined by its type: `type Shape:`, and below it `Circle { radius }`".to_owned();
        diagnostic = match near {
            Some(near) => diagnostic.hint(format!("did you mean `{near}`?")).fix(span, near),
            None => diagnostic.hint(owner.unwrap_or_else(define)),
        };
        self.report(diagnostic);
    }

    /// What constructors a type has; none if there is no type of this name.
    fn constructors_of(&self, owner: &str) -> Option<String> {
        let ty = self.find_type(self.module(), &Name::from(owner))?;
        let ctors = &self.program.types[ty].ctors;
        let names: Vec<String> = ctors.iter().map(|ctor| format!("`{}`", self.program.ctors[*ctor].name)).collect();
        Some(match names.as_slice() {
            [only] => format!("the constructor of `{owner}` is {only}"),
            some => format!("the constructors of `{owner}` are {}", some.join(", ")),
        })
    }

    /// The parameter names of what is called; none if they are not known.
    fn parameters_of(&mut self, function: &Expr) -> Option<(Callee, Vec<Option<Ident>>)> {
        let ExprKind::Var(name) = &function.node else { return None };
        let entity = match self.find(name) {
            Some(Binding::Closed(TermKind::Global(def)) | Binding::Function(def, _) | Binding::Itself(def)) => {
                Entity::Def(def)
            }
            Some(Binding::Ctor(ctor)) => Entity::Ctor(ctor),
            Some(_) => return None,
            None => self.find_entity(name)?,
        };
        let parameters = match entity {
            Entity::Def(def) => self.parameters.get(&def).filter(|p| !p.is_empty())?.clone(),
            Entity::Ctor(ctor) => {
                let fields = self.program.ctors[ctor].fields.iter();
                fields.map(|field| Some(Ident::new(field.name.clone(), Span::NONE))).collect()
            }
            Entity::Tag(_) => return None,
        };
        Some((Callee { name: name.clone(), entity }, parameters))
    }

    /// Arguments in the order of the parameters. They are computed in that order.
    fn order(
        &mut self,
        callee: &Callee,
        parameters: &[Option<Ident>],
        args: &[Expr],
        named: &[(Ident, Expr)],
        span: Span,
    ) -> Option<Vec<Term>> {
        let what = &callee.name;
        let mut given: Vec<Option<&Expr>> = args.iter().map(Some).collect();
        if given.len() > parameters.len() {
            let message = format!("`{what}` takes {} arguments, not {}", parameters.len(), given.len() + named.len());
            self.error(Code::UnknownField, span, message);
            return None;
        }
        given.resize(parameters.len(), None);
        let mut right = true;
        for (name, value) in named {
            let place = parameters.iter().position(|p| p.as_ref().is_some_and(|p| p.node == name.node));
            if let Some(place) = place {
                self.note_parameter(callee, parameters, place, name.span);
            }
            match place.map(|place| given[place].replace(value)) {
                Some(None) => {}
                Some(Some(_)) => {
                    right = false;
                    self.error(Code::DuplicateField, name.span, format!("`{}` is given twice", name.node));
                }
                None => {
                    right = false;
                    self.unknown_parameter(what, parameters, name);
                }
            }
        }
        let missing: Vec<String> = std::iter::zip(parameters, &given)
            .filter(|(_, value)| value.is_none())
            .map(|(name, _)| format!("`{}`", name.as_ref().map_or("_", |name| name.node.as_str())))
            .collect();
        if right && !missing.is_empty() {
            right = false;
            let message = match missing.as_slice() {
                [only] => format!("an argument of `{what}` is missing: {only}"),
                several => format!("arguments of `{what}` are missing: {}", several.join(", ")),
            };
            let hint = "name every parameter exactly once";
            self.report(Diagnostic::new(Code::MissingField, span, message).hint(hint));
        }
        if !right {
            return None;
        }
        Some(given.into_iter().flatten().map(|value| self.expression(value)).collect())
    }

    /// Notes what the name of a named argument stands for.
    fn note_parameter(&mut self, callee: &Callee, parameters: &[Option<Ident>], place: usize, span: Span) {
        let target = match (callee.entity, &parameters[place]) {
            (Entity::Ctor(ctor) | Entity::Tag(ctor), _) => Meaning::Field(ctor, place),
            (Entity::Def(_), Some(parameter)) => Meaning::Local(parameter.span),
            (Entity::Def(_), None) => return,
        };
        self.uses.note(span, target);
    }

    fn unknown_parameter(&mut self, what: &Name, parameters: &[Option<Ident>], name: &Ident) {
        let known: Vec<&str> = parameters.iter().flatten().map(|name| name.node.as_str()).collect();
        let message = format!("`{what}` has no parameter `{}`", name.node);
        let diagnostic = Diagnostic::new(Code::UnknownField, name.span, message);
        let diagnostic = match did_you_mean(&name.node, known.iter().copied()) {
            Some(near) => diagnostic.hint(format!("did you mean `{near}`?")).fix(name.span, near),
            None => {
                let known: Vec<String> = known.iter().map(|k| format!("`{k}`")).collect();
                diagnostic.hint(format!("it has {}", known.join(", ")))
            }
        };
        self.report(diagnostic);
    }
}

/// What a call with named arguments calls.
struct Callee {
    name: Name,
    entity: Entity,
}

/// What takes all its arguments at once.
#[derive(Clone, Copy)]
enum Head {
    Ctor(CtorId),
    Prim(Prim),
}

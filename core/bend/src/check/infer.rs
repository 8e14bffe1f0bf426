//! Finds the type of a term, or checks it against a type that its place asks for.
//!
//! [`Infer::check`] carries the wanted type inwards, to the branch, field or element that is to blame or to be widened;
//! [`Infer::infer`] is for places that ask for nothing. The first error ends the work on a definition.

use super::annotation::Mode;
use super::place::{Edits, Place};
use super::show::Letters;
use super::type_errors::Why;
use super::types::{KindSet, Node, Ty, Types, Variable, wider};
use super::unify::Clash;
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_base::num::NumKind;
use girih_term::ty::Scheme;
use girih_term::{Bind, CtorId, DefId, LocalId, Program, Target, Term, TermKind, TypeId};
use std::collections::HashMap;

/// What is the case, or the error that was met.
pub(super) type Checked<T> = Result<T, Box<Diagnostic>>;

/// The types of local variables, in the notation of annotations.
pub type Locals = HashMap<(DefId, LocalId), String>;

/// The type of a definition that has been checked.
#[derive(Clone, Debug)]
pub(super) struct Global {
    pub scheme: Scheme,
    /// For each parameter of the scheme: the numbers that it may be, if it must be a number.
    pub kinds: Vec<Option<KindSet>>,
}

/// A variable of an annotation.
#[derive(Clone, Copy, Debug)]
pub(super) struct RigidVariable {
    /// Whose annotation it is.
    pub def: DefId,
    /// Which parameter of its scheme it is.
    pub index: u32,
}

/// The type of a local variable.
#[derive(Clone, Copy)]
enum LocalType {
    /// One type.
    Mono(Ty),
    /// A type for every choice of its generic variables.
    Poly(Ty),
}

/// A term of a number type in a place that needs a 32-bit number.
struct Widening {
    place: Place,
    found: Ty,
    to: NumKind,
}

/// The inference of one group of definitions.
pub(super) struct Infer<'p> {
    pub program: &'p Program,
    pub mode: Mode,
    /// The definitions whose types are known.
    pub globals: &'p IndexVec<DefId, Option<Global>>,
    pub types: Types,
    /// The types of the definitions of the group, which they use among themselves.
    pub group: HashMap<DefId, Ty>,
    pub rigid: Vec<RigidVariable>,
    /// The definition that is being inferred.
    pub def: DefId,
    locals: Vec<Option<LocalType>>,
    literals: Vec<(Place, Ty)>,
    widenings: Vec<Widening>,
    /// Variables that take their 24-bit kind if nothing else decides.
    defaults: Vec<Ty>,
    /// The types of the local variables of the definitions that have been left.
    left: Vec<(DefId, Vec<Option<LocalType>>)>,
}

impl<'p> Infer<'p> {
    pub fn new(program: &'p Program, globals: &'p IndexVec<DefId, Option<Global>>, mode: Mode) -> Infer<'p> {
        Infer {
            program,
            mode,
            globals,
            types: Types::new(),
            group: HashMap::new(),
            rigid: Vec::new(),
            def: DefId::new(0),
            locals: Vec::new(),
            literals: Vec::new(),
            widenings: Vec::new(),
            defaults: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Begins a definition, whose parameters have these types.
    pub fn enter(&mut self, def: DefId, params: &[Ty]) {
        self.def = def;
        let def = &self.program.defs[def];
        self.locals.clear();
        self.locals.resize(def.locals.len(), None);
        self.types.level = 0;
        for (param, ty) in def.params.iter().zip(params) {
            self.set_local(*param, *ty);
        }
    }

    /// Ends a definition: the types of its variables are kept.
    pub fn leave(&mut self) {
        self.left.push((self.def, std::mem::take(&mut self.locals)));
    }

    /// The types of the variables of all definitions that were left, as text.
    pub fn shown_locals(&mut self, shown: &mut Locals) {
        for (def, locals) in std::mem::take(&mut self.left) {
            let letters = &mut Letters::Distinct(Vec::new());
            for (index, ty) in locals.into_iter().enumerate() {
                if let Some(LocalType::Mono(ty) | LocalType::Poly(ty)) = ty {
                    let text = self.show(ty, letters);
                    shown.insert((def, LocalId::new(index as u32)), text);
                }
            }
        }
    }

    /// Gives a variable one type.
    pub fn set_local(&mut self, local: LocalId, ty: Ty) {
        self.locals[local.index()] = Some(LocalType::Mono(ty));
    }

    /// A number variable that takes its 24-bit kind if nothing else decides.
    pub fn default_number(&mut self, kinds: KindSet) -> Ty {
        let ty = self.types.fresh_number(kinds, true);
        self.defaults.push(ty);
        ty
    }

    /// The type that a term has by itself.
    pub fn infer(&mut self, term: &'p Term) -> Checked<Ty> {
        match &term.kind {
            TermKind::Local(local) => self.local(*local, term),
            TermKind::Global(def) => Ok(self.global(*def)),
            TermKind::Num(number) => Ok(Types::number(number.kind())),
            TermKind::Literal(value) => {
                let ty = self.default_number(KindSet::of_literal(*value));
                self.literals.push((Place::of(term), ty));
                Ok(ty)
            }
            TermKind::Str(_) => Ok(self.known_type(self.program.known.string_cons, &[])),
            TermKind::List(elements) => {
                let element = self.infer_joined(elements.iter(), "the first element is")?;
                Ok(self.known_type(self.program.known.list_cons, &[element]))
            }
            TermKind::Era => Ok(Types::NONE),
            TermKind::Ctor(ctor, fields) => {
                let ty = self.program.ctors[*ctor].ty;
                let arguments = self.types.fresh_many(self.program.types[ty].vars.len());
                self.check_fields(*ctor, fields, &arguments)?;
                Ok(self.types.data(ty, &arguments))
            }
            TermKind::Tuple(parts) => {
                let parts: Vec<Ty> = parts.iter().map(|p| self.infer(p)).collect::<Checked<_>>()?;
                Ok(self.types.tuple(&parts))
            }
            TermKind::Lambda(params, body) => self.lambda(params, body),
            TermKind::Apply(head, arguments) => self.apply(term, head, arguments),
            TermKind::Op(op, left, right) => self.operator(term, *op, left, right),
            TermKind::Prim(prim, arguments) => self.primitive(*prim, arguments),
            TermKind::Let(binds, result) => {
                self.bind_all(binds)?;
                self.infer(result)
            }
            TermKind::Match(_) | TermKind::Switch(_) => {
                let branches = self.branches(term)?;
                self.infer_joined(branches.into_iter(), "another branch gives")
            }
            // The definition has been refused for the first two already, and an error been reported for the third.
            TermKind::Sup(_) | TermKind::Link(_) | TermKind::Invalid => Ok(Types::ANY),
        }
    }

    /// Checks that a term has the type that its place asks for, or can be widened to it.
    pub fn check(&mut self, term: &'p Term, expected: Ty, why: Why<'p>) -> Checked<()> {
        match (&term.kind, self.types.node(expected)) {
            (TermKind::Let(binds, result), _) => {
                self.bind_all(binds)?;
                self.check(result, expected, why)
            }
            (TermKind::Lambda(params, body), _) => self.check_lambda(term, params, body, expected, why),
            (TermKind::Match(_) | TermKind::Switch(_), node) if !matches!(node, Node::Variable(_)) => {
                self.check_branches(term, expected, why)
            }
            (TermKind::Ctor(ctor, fields), Node::Data(ty, arguments)) if self.program.ctors[*ctor].ty == ty => {
                let arguments = self.types.parts(arguments).to_vec();
                self.check_fields(*ctor, fields, &arguments)
            }
            (TermKind::Tuple(parts), Node::Tuple(expected)) if parts.len() == expected.len() => {
                let expected = self.types.parts(expected).to_vec();
                parts.iter().zip(expected).try_for_each(|(part, expected)| self.check(part, expected, why.of_part()))
            }
            (TermKind::Apply(head, arguments), node) if !matches!(node, Node::Variable(_)) => {
                let result = self.infer(head)?;
                self.expect_result(head, result, arguments.len(), expected);
                let found = self.apply_as(term, head, result, arguments)?;
                self.coerce(term, found, expected, why).map(|_| ())
            }
            (TermKind::List(elements), Node::Data(ty, arguments)) if self.is_list(ty) => {
                let element = self.types.part(arguments, 0);
                if let Node::Variable(_) = self.types.node(element) {
                    let found = self.infer(term)?;
                    self.coerce(term, found, expected, why).map(|_| ())
                } else {
                    elements.iter().try_for_each(|e| self.check(e, element, why.of_part()))
                }
            }
            _ => {
                let found = self.infer(term)?;
                self.coerce(term, found, expected, why).map(|_| ())
            }
        }
    }

    /// Makes the type of a term the type that its place asks for. A 24-bit number in the place of a 32-bit one of its
    /// family is marked to be widened.
    pub fn coerce(&mut self, term: &'p Term, found: Ty, expected: Ty, why: Why<'p>) -> Checked<Ty> {
        if self.widen(term, found, expected) {
            return Ok(expected);
        }
        self.types.unify(expected, found).map_err(|clash| self.mismatch(clash, term, found, expected, why))
    }

    fn widen(&mut self, term: &'p Term, found: Ty, expected: Ty) -> bool {
        let Node::Number(to) = self.types.node(expected) else { return false };
        let widens = self.types.number_kind(found).and_then(wider) == Some(to);
        if widens {
            if let Node::Variable(known) = self.types.node(found) {
                let found = self.types.resolve(found);
                self.types.set_variable(found, Variable { wide: true, ..known });
            }
            self.widenings.push(Widening { place: Place::of(term), found, to });
        }
        widens
    }

    fn local(&mut self, local: LocalId, term: &'p Term) -> Checked<Ty> {
        match self.locals[local.index()] {
            Some(LocalType::Mono(ty)) => Ok(ty),
            Some(LocalType::Poly(ty)) => {
                self.types.instantiate(ty).map_err(|clash| self.clash(clash, term.span, "is used here"))
            }
            // Only in a program with errors: a name that is used outside its scope.
            None => Ok(Types::ANY),
        }
    }

    fn global(&mut self, def: DefId) -> Ty {
        if let Some(ty) = self.group.get(&def) {
            return *ty;
        }
        let globals = self.globals;
        let Some(global) = &globals[def] else { return Types::ANY };
        let params: Vec<Ty> = global
            .kinds
            .iter()
            .map(|kinds| match kinds {
                Some(kinds) => self.types.fresh_number(*kinds, false),
                None => self.types.fresh(),
            })
            .collect();
        self.types.import(&global.scheme.ty, &params)
    }

    /// The data type of a constructor that the compiler itself knows. Without the prelude there is none.
    fn known_type(&mut self, ctor: Option<CtorId>, arguments: &[Ty]) -> Ty {
        match ctor {
            Some(ctor) => self.types.data(self.program.ctors[ctor].ty, arguments),
            None => Types::ANY,
        }
    }

    fn is_list(&self, ty: TypeId) -> bool {
        self.program.known.list_cons.is_some_and(|cons| self.program.ctors[cons].ty == ty)
            && self.program.types[ty].vars.len() == 1
    }

    fn check_fields(&mut self, ctor: CtorId, fields: &'p [Term], arguments: &[Ty]) -> Checked<()> {
        let program = self.program;
        for (index, (field, info)) in fields.iter().zip(&program.ctors[ctor].fields).enumerate() {
            let expected = self.types.import(&info.ty, arguments);
            self.check(field, expected, Why::Field { ctor, index })?;
        }
        Ok(())
    }

    fn lambda(&mut self, params: &[LocalId], body: &'p Term) -> Checked<Ty> {
        let tys = self.types.fresh_many(params.len());
        for (param, ty) in params.iter().zip(&tys) {
            self.set_local(*param, *ty);
        }
        let result = self.infer(body)?;
        Ok(tys.into_iter().rev().fold(result, |result, param| self.types.arrow(param, result)))
    }

    fn check_lambda(
        &mut self,
        term: &'p Term,
        params: &[LocalId],
        body: &'p Term,
        expected: Ty,
        why: Why<'p>,
    ) -> Checked<()> {
        let mut rest = expected;
        for (i, param) in params.iter().enumerate() {
            let Node::Arrow(from, to) = self.types.node(rest) else {
                let found = self.lambda(&params[i..], body)?;
                if self.types.unify(rest, found).is_ok() {
                    return Ok(());
                }
                let whole = self.applied_prefix(expected, i, found);
                return self.coerce(term, whole, expected, why).map(|_| ());
            };
            self.set_local(*param, from);
            rest = to;
        }
        self.check(body, rest, why)
    }

    /// The type of a function whose first parameters are those of `expected` and whose remainder is `rest`.
    fn applied_prefix(&mut self, expected: Ty, count: usize, rest: Ty) -> Ty {
        let (mut params, mut at) = (Vec::new(), expected);
        while params.len() < count
            && let Node::Arrow(from, to) = self.types.node(at)
        {
            params.push(from);
            at = to;
        }
        params.into_iter().rev().fold(rest, |result, param| self.types.arrow(param, result))
    }

    fn apply(&mut self, term: &'p Term, head: &'p Term, arguments: &'p [Term]) -> Checked<Ty> {
        let ty = self.infer(head)?;
        self.apply_as(term, head, ty, arguments)
    }

    /// Where a function that is still being inferred is called for a known result, what is known of the result is known
    /// inside of the function too. The steps of a `with` block and the functions that are made of a `fold` are such.
    fn expect_result(&mut self, head: &Term, function: Ty, arguments: usize, expected: Ty) {
        match &head.kind {
            TermKind::Local(_) => {}
            TermKind::Global(def) if self.group.contains_key(def) => {}
            _ => return,
        }
        let mut result = function;
        for _ in 0..arguments {
            let Node::Arrow(_, to) = self.types.node(result) else { return };
            result = to;
        }
        if let Node::Variable(_) = self.types.node(result) {
            // A clash is reported when the result of the call is compared.
            let _ = self.types.unify(result, expected);
        }
    }

    /// The result of calling something of a type. A lambda without parameters and its application to no arguments have the
    /// type of the body.
    fn apply_as(&mut self, term: &'p Term, head: &'p Term, function: Ty, arguments: &'p [Term]) -> Checked<Ty> {
        let mut ty = function;
        for (index, argument) in arguments.iter().enumerate() {
            ty = match self.types.node(ty) {
                Node::Arrow(from, to) => {
                    self.check(argument, from, Why::Argument { head, index })?;
                    to
                }
                Node::Variable(_) | Node::Any => {
                    let from = self.infer(argument)?;
                    let to = self.types.fresh();
                    let function = self.types.arrow(from, to);
                    let why = Why::Applied;
                    self.types.unify(ty, function).map_err(|clash| self.mismatch(clash, head, ty, function, why))?;
                    to
                }
                Node::None | Node::Number(_) | Node::Rigid(_) | Node::Data(..) | Node::Tuple(_) => {
                    return Err(self.not_a_function(term, head, arguments, index, ty));
                }
                Node::Link(_) => unreachable!("a resolved type is not a link"),
            };
        }
        Ok(ty)
    }

    fn bind_all(&mut self, binds: &'p [Bind]) -> Checked<()> {
        binds.iter().try_for_each(|bind| self.bind(bind))
    }

    fn bind(&mut self, bind: &'p Bind) -> Checked<()> {
        match &bind.target {
            Target::Var(local) => {
                self.types.level += 1;
                let ty = self.infer(&bind.value)?;
                self.types.level -= 1;
                let generalised = self.types.generalise(ty);
                let poly = generalised.map_err(|clash| self.clash(clash, bind.value.span, "has"))?;
                self.locals[local.index()] = Some(if poly { LocalType::Poly(ty) } else { LocalType::Mono(ty) });
            }
            Target::Tuple(locals) => {
                let ty = self.infer(&bind.value)?;
                let parts = self.types.fresh_many(locals.len());
                let tuple = self.types.tuple(&parts);
                self.coerce(&bind.value, ty, tuple, Why::TuplePattern)?;
                for (local, ty) in locals.iter().zip(parts) {
                    local.iter().for_each(|local| self.set_local(*local, ty));
                }
            }
            Target::Dup(locals) => {
                let ty = self.infer(&bind.value)?;
                locals.iter().flatten().for_each(|local| self.set_local(*local, ty));
            }
            Target::Link(_) => {} // The definition has been refused for it already.
        }
        Ok(())
    }

    /// A name for a constructor's value that is generalised where its type says nothing about the fields.
    pub fn set_generalised(&mut self, local: LocalId, make: impl FnOnce(&mut Self) -> Ty) -> Result<(), Clash> {
        self.types.level += 1;
        let ty = make(self);
        self.types.level -= 1;
        let poly = self.types.generalise(ty)?;
        self.locals[local.index()] = Some(if poly { LocalType::Poly(ty) } else { LocalType::Mono(ty) });
        Ok(())
    }

    /// Decides what has been left open once all definitions of the group are inferred: which literals have 32 bits and
    /// what is widened.
    pub fn settle(&mut self, edits: &mut Edits) {
        for Widening { place, found, to } in std::mem::take(&mut self.widenings) {
            match self.types.node(found) {
                Node::Variable(_) => {
                    let found = self.types.resolve(found);
                    self.types.link(found, Types::number(to));
                }
                Node::Number(kind) if kind == to => {}
                _ => drop(edits.widenings.insert(place, to)),
            }
        }
        for ty in std::mem::take(&mut self.defaults) {
            if let (Node::Variable(_), Some(kind)) = (self.types.node(ty), self.types.number_kind(ty)) {
                let ty = self.types.resolve(ty);
                self.types.link(ty, Types::number(kind));
            }
        }
        for (place, ty) in std::mem::take(&mut self.literals) {
            if let Node::Number(kind @ (NumKind::U32 | NumKind::I32 | NumKind::F32)) = self.types.node(ty) {
                edits.literals.insert(place, kind);
            }
        }
    }
}

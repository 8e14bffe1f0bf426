//! The definition being lowered: its local variables, what is in scope, and what it captures of the definition around it.
//!
//! A generated definition is lowered in a scope on top of its parent's. A name that is found further down becomes a
//! parameter of every scope in between; the scope remembers the term that its parent passes for it.

use super::monads::Monad;
use super::{Entity, Lowering};
use crate::modules::ModuleId;
use girih_base::idx::IndexVec;
use girih_base::name::Name;
use girih_base::num::Num;
use girih_base::prim::Prim;
use girih_base::span::Span;
use girih_term::{CtorId, DefId, Local, LocalId, Term, TermKind};
use std::collections::HashMap;

/// A definition being lowered.
pub(super) struct DefinitionScope {
    pub(super) def: DefId,
    pub(super) module: ModuleId,
    pub(super) locals: IndexVec<LocalId, Local>,
    /// Captured variables first, then the definition's own.
    pub(super) params: Vec<LocalId>,
    /// What the parent passes for each captured variable, in the parent's terms.
    pub(super) captured: Vec<Term>,
    captures: HashMap<Name, Binding>,
    scope: LocalNames,
    /// The monads of the enclosing `with` blocks, innermost last.
    pub(super) monads: Vec<Monad>,
    /// How many definitions have been generated inside it.
    pub(super) generated: usize,
}

/// What a local name means.
#[derive(Clone)]
pub(super) enum Binding {
    Local(LocalId),
    /// A delayed term (`use`): the name stands for its value, computed where it is used.
    Delayed(LocalId),
    /// A term that means the same in every scope.
    Closed(TermKind),
    /// Another name for a constructor (`use C = T/C`).
    Ctor(CtorId),
    /// A generated definition and what it captures here.
    Function(DefId, Vec<Term>),
    /// The generated definition being lowered in this scope. Its captures are added when they are all known.
    Itself(DefId),
    /// An error was reported for it.
    Poisoned,
}

/// The names in scope. The last binding of a name counts; all end in the reverse of the order in which they began.
#[derive(Default)]
struct LocalNames {
    bindings: HashMap<Name, Vec<Binding>>,
    order: Vec<Name>,
}

impl LocalNames {
    fn bind(&mut self, name: Name, binding: Binding) {
        self.bindings.entry(name.clone()).or_default().push(binding);
        self.order.push(name);
    }

    fn find(&self, name: &str) -> Option<&Binding> {
        self.bindings.get(name)?.last()
    }

    /// Ends all bindings but the first `count`.
    fn truncate(&mut self, count: usize) {
        for name in self.order.drain(count.min(self.order.len())..) {
            self.bindings.get_mut(&name).and_then(Vec::pop);
        }
    }
}

impl DefinitionScope {
    pub(super) fn new(def: DefId, module: ModuleId) -> DefinitionScope {
        DefinitionScope {
            def,
            module,
            locals: IndexVec::new(),
            params: vec![],
            captured: vec![],
            captures: HashMap::new(),
            scope: LocalNames::default(),
            monads: vec![],
            generated: 0,
        }
    }
}

impl Lowering<'_> {
    pub(super) fn innermost(&mut self) -> &mut DefinitionScope {
        self.enclosing.last_mut().expect("definitions are lowered inside a scope")
    }

    pub(super) fn module(&self) -> ModuleId {
        self.enclosing.last().expect("definitions are lowered inside a scope").module
    }

    /// A new local variable, not in scope yet.
    pub(super) fn local(&mut self, name: impl Into<Name>, span: Span) -> LocalId {
        self.innermost().locals.push(Local { name: name.into(), span })
    }

    /// Brings a name into scope, until [`leave`](Self::leave) is given the mark of an [`enter`](Self::enter) before it.
    pub(super) fn bind(&mut self, name: Name, binding: Binding) {
        self.innermost().scope.bind(name, binding);
    }

    /// A new local variable in scope.
    pub(super) fn bind_local(&mut self, name: &Name, span: Span) -> LocalId {
        let local = self.local(name.clone(), span);
        self.bind(name.clone(), Binding::Local(local));
        local
    }

    /// A new parameter of the definition, in scope.
    pub(super) fn bind_param(&mut self, name: &Name, span: Span) -> LocalId {
        let local = self.bind_local(name, span);
        self.innermost().params.push(local);
        local
    }

    /// The names in scope, innermost definition last.
    pub(super) fn local_names(&self) -> impl Iterator<Item = &Name> {
        self.enclosing.iter().flat_map(|scope| &scope.scope.order)
    }

    pub(super) fn enter(&mut self) -> usize {
        self.innermost().scope.order.len()
    }

    pub(super) fn leave(&mut self, mark: usize) {
        self.innermost().scope.truncate(mark);
    }

    /// What a local name means in the scope at `depth`.
    pub(super) fn find_local(&mut self, depth: usize, name: &str) -> Option<Binding> {
        let scope = &self.enclosing[depth];
        if let Some(binding) = scope.scope.find(name) {
            return Some(binding.clone());
        }
        if let Some(binding) = scope.captures.get(name) {
            return Some(binding.clone());
        }
        let outer = self.find_local(depth.checked_sub(1)?, name)?;
        let (passed, delayed, span) = match &outer {
            Binding::Closed(_) | Binding::Ctor(_) | Binding::Poisoned => return Some(outer),
            Binding::Local(local) => (TermKind::Local(*local), false, self.enclosing[depth - 1].locals[*local].span),
            Binding::Delayed(local) => (TermKind::Local(*local), true, self.enclosing[depth - 1].locals[*local].span),
            Binding::Itself(def) => (TermKind::Global(*def), false, self.program.defs[*def].span),
            Binding::Function(def, captured) => {
                let span = self.program.defs[*def].span;
                (partial(*def, captured.clone(), span), false, span)
            }
        };
        let scope = &mut self.enclosing[depth];
        let local = scope.locals.push(Local { name: Name::new(name), span });
        let place = scope.captured.len();
        scope.params.insert(place, local);
        scope.captured.push(Term::new(passed, span));
        let binding = if delayed { Binding::Delayed(local) } else { Binding::Local(local) };
        scope.captures.insert(Name::new(name), binding.clone());
        Some(binding)
    }

    /// A local name in the current scope.
    pub(super) fn find(&mut self, name: &str) -> Option<Binding> {
        self.find_local(self.enclosing.len().checked_sub(1)?, name)
    }

    /// A top-level name.
    pub(super) fn find_entity(&self, name: &str) -> Option<Entity> {
        let own = self.scopes[self.module()].values.get(name);
        own.or_else(|| self.prelude.values.get(name)).copied()
    }

    /// The constructor of a name in a pattern. Local variables hide none there, but another name for one counts.
    pub(super) fn find_ctor(&self, name: &str) -> Option<CtorId> {
        let local = self.enclosing.iter().rev().find_map(|scope| scope.scope.find(name));
        if let Some(Binding::Ctor(ctor)) = local {
            return Some(*ctor);
        }
        match self.find_entity(name) {
            Some(Entity::Ctor(ctor)) => Some(ctor),
            Some(Entity::Def(_) | Entity::Tag(_)) | None => None,
        }
    }

    /// The value of a name.
    pub(super) fn name(&mut self, name: &Name, span: Span) -> Term {
        if let Some(binding) = self.find(name) {
            return self.bound(binding, span);
        }
        if let Some(entity) = self.find_entity(name) {
            return self.entity(entity, span);
        }
        if let Some(prim) = name.strip_prefix('%').and_then(Prim::find) {
            return self.primitive(prim, vec![], span);
        }
        self.unbound(name, span)
    }

    pub(super) fn bound(&mut self, binding: Binding, span: Span) -> Term {
        let kind = match binding {
            Binding::Local(local) => TermKind::Local(local),
            Binding::Delayed(local) => TermKind::Apply(Box::new(Term::new(TermKind::Local(local), span)), vec![]),
            Binding::Closed(kind) => kind,
            Binding::Ctor(ctor) => return self.construct(ctor, vec![], span),
            Binding::Function(def, captured) => partial(def, captured, span),
            Binding::Itself(def) => TermKind::Global(def),
            Binding::Poisoned => TermKind::Invalid,
        };
        Term::new(kind, span)
    }

    fn entity(&mut self, entity: Entity, span: Span) -> Term {
        match entity {
            Entity::Def(def) => Term::new(TermKind::Global(def), span),
            Entity::Ctor(ctor) => self.construct(ctor, vec![], span),
            Entity::Tag(ctor) => Term::new(TermKind::Num(Num::U24(self.program.ctors[ctor].tag)), span),
        }
    }
}

/// A generated definition applied to what it captures.
pub(super) fn partial(def: DefId, captured: Vec<Term>, span: Span) -> TermKind {
    match captured.is_empty() {
        true => TermKind::Global(def),
        false => TermKind::Apply(Box::new(Term::new(TermKind::Global(def), span)), captured),
    }
}

/// An application; the arguments join those of a generated definition that is applied to its captures.
pub(super) fn apply(function: Term, args: Vec<Term>, span: Span) -> Term {
    match function.kind {
        TermKind::Apply(head, mut first) if matches!(head.kind, TermKind::Global(_)) && !first.is_empty() => {
            first.extend(args);
            Term::new(TermKind::Apply(head, first), span)
        }
        _ => Term::new(TermKind::Apply(Box::new(function), args), span),
    }
}

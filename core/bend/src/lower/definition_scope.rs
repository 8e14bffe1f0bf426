//! The definition being lowered: its local variables, what is in scope, and what it captures of the definition around it.
//!
//! A generated definition is lowered in a scope on top of its parent's. A name that is found further down becomes a
//! parameter of every scope in between; the scope remembers the term that its parent passes for it.

use super::monads::Monad;
use super::uses::{Target, Variable, Visible};
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
    captures: HashMap<Name, Bound>,
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

/// What a local name means, and where its name stands; at no place if the program does not write it.
#[derive(Clone)]
pub(super) struct Bound {
    pub(super) binding: Binding,
    pub(super) at: Span,
}

/// The names in scope. The last binding of a name counts; all end in the reverse of the order in which they began.
#[derive(Default)]
struct LocalNames {
    bindings: HashMap<Name, Vec<Bound>>,
    order: Vec<Name>,
}

impl LocalNames {
    fn bind(&mut self, name: Name, bound: Bound) {
        self.bindings.entry(name.clone()).or_default().push(bound);
        self.order.push(name);
    }

    fn find(&self, name: &str) -> Option<&Bound> {
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

    /// Brings a name into scope that stands at `at`, until [`leave`](Self::leave) is given the mark of an [`enter`](Self::enter)
    /// before it.
    pub(super) fn bind(&mut self, name: Name, at: Span, binding: Binding) {
        let variable = self.variable(&binding);
        self.uses.bind(&name, at, variable);
        self.innermost().scope.bind(name, Bound { binding, at });
    }

    /// The variable that a binding of the innermost scope is.
    fn variable(&self, binding: &Binding) -> Option<Variable> {
        let def = self.enclosing.last()?.def;
        match binding {
            Binding::Local(local) | Binding::Delayed(local) => Some((def, *local)),
            Binding::Closed(_) | Binding::Ctor(_) | Binding::Function(..) | Binding::Itself(_) | Binding::Poisoned => {
                None
            }
        }
    }

    /// A new local variable in scope.
    pub(super) fn bind_local(&mut self, name: &Name, span: Span) -> LocalId {
        let local = self.local(name.clone(), span);
        self.bind(name.clone(), span, Binding::Local(local));
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
    pub(super) fn find_local(&mut self, depth: usize, name: &str) -> Option<Bound> {
        let scope = &self.enclosing[depth];
        if let Some(binding) = scope.scope.find(name) {
            return Some(binding.clone());
        }
        if let Some(binding) = scope.captures.get(name) {
            return Some(binding.clone());
        }
        let outer = self.find_local(depth.checked_sub(1)?, name)?;
        let at = outer.at;
        let (passed, delayed, span) = match &outer.binding {
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
        let bound = Bound { binding, at };
        scope.captures.insert(Name::new(name), bound.clone());
        Some(bound)
    }

    /// A local name in the current scope.
    pub(super) fn find(&mut self, name: &str) -> Option<Binding> {
        self.find_bound(name).map(|bound| bound.binding)
    }

    fn find_bound(&mut self, name: &str) -> Option<Bound> {
        self.find_local(self.enclosing.len().checked_sub(1)?, name)
    }

    /// Notes what a name stands for that is used at `span`.
    pub(super) fn note_use(&mut self, name: &Name, span: Span) {
        if !self.uses.are_wanted() {
            return;
        }
        if self.uses.is_probed(span) {
            let visible = self.visible();
            self.uses.see(visible);
        }
        if let Some(bound) = self.find_bound(name) {
            let variable = self.variable(&bound.binding);
            match bound.binding {
                Binding::Closed(TermKind::Global(def)) if bound.at.is_none() => {
                    self.uses.note(span, Target::Def(def));
                }
                _local => self.uses.mention(name, span, bound.at, variable),
            }
        } else if let Some(entity) = self.find_entity(name) {
            self.note_entity(entity, span);
        }
    }

    /// Notes that a name stands for a constructor or a definition.
    pub(super) fn note_entity(&mut self, entity: Entity, span: Span) {
        let target = match entity {
            Entity::Def(def) => Target::Def(def),
            Entity::Ctor(ctor) | Entity::Tag(ctor) => Target::Ctor(ctor),
        };
        self.uses.note(span, target);
    }

    /// Notes which constructor a name of a pattern stands for, if it stands for one.
    pub(super) fn note_constructor(&mut self, name: &Name, span: Span) {
        if let Some(ctor) = self.find_ctor(name) {
            self.uses.note(span, Target::Ctor(ctor));
        }
    }

    /// All local names in scope; of several bindings of a name the last.
    fn visible(&self) -> Vec<Visible> {
        let names = self.enclosing.iter().enumerate().flat_map(|(depth, scope)| {
            let of_scope = scope.scope.bindings.iter().filter_map(|(name, bound)| Some((name, bound.last()?)));
            of_scope.map(move |(name, bound)| (depth, name, bound))
        });
        let mut innermost: HashMap<&Name, (usize, &Bound)> = HashMap::new();
        for (depth, name, bound) in names.filter(|(_, name, _)| !name.contains('%')) {
            innermost.insert(name, (depth, bound));
        }
        let visible = innermost.into_iter().map(|(name, (depth, bound))| {
            let variable = match &bound.binding {
                Binding::Local(local) | Binding::Delayed(local) => Some((self.enclosing[depth].def, *local)),
                _closed => None,
            };
            Visible { name: name.clone(), at: bound.at, variable }
        });
        visible.collect()
    }

    /// A top-level name.
    pub(super) fn find_entity(&self, name: &str) -> Option<Entity> {
        let own = self.scopes[self.module()].values.get(name);
        own.or_else(|| self.prelude.values.get(name)).copied()
    }

    /// The constructor of a name in a pattern. Local variables hide none there, but another name for one counts.
    pub(super) fn find_ctor(&self, name: &str) -> Option<CtorId> {
        let local = self.enclosing.iter().rev().find_map(|scope| scope.scope.find(name));
        if let Some(Bound { binding: Binding::Ctor(ctor), .. }) = local {
            return Some(*ctor);
        }
        match self.find_entity(name) {
            Some(Entity::Ctor(ctor)) => Some(ctor),
            Some(Entity::Def(_) | Entity::Tag(_)) | None => None,
        }
    }

    /// The value of a name.
    pub(super) fn name(&mut self, name: &Name, span: Span) -> Term {
        self.note_use(name, span);
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

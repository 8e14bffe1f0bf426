//! Syntax trees to the lambda core: resolves names, removes sugar, makes decision trees of patterns.
//!
//! [`declare`] gives every top-level item its place in the [`Program`], [`types`] reads annotations, and then each definition
//! is lowered in a [`DefinitionScope`] of its own. `fold`, `bend`, comprehensions and local functions become
//! generated definitions, lowered in a scope on top of their parent's ([`generated`]); the parent's variables that they use become
//! parameters. A definition with errors gets [`TermKind::Invalid`] at their places, and lowering goes on with the others.

mod arguments;
mod arms;
mod blocks;
mod choices;
mod declare;
mod definition_scope;
mod entry;
mod equations;
mod expressions;
mod folds;
mod generated;
mod literals;
mod matrix;
mod monads;
mod nets;
mod patterns;
mod scopeless;
mod types;
mod unbound;
pub(crate) mod uses;

use super::ast::{Ident, Item};
use super::lint::steps::BoundInIo;
use super::modules::{ModuleId, Modules};
use definition_scope::DefinitionScope;
use girih_base::diag::{Code, Diagnostic, Diagnostics};
use girih_base::idx::IndexVec;
use girih_base::name::Name;
use girih_base::span::{Sources, Span};
use girih_term::{Body, CtorId, DefId, Program, Term, TermKind, TypeId};
use std::collections::{HashMap, HashSet};
use uses::{Target, Uses};

pub(super) use entry::Entry;

/// What a top-level name means where an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entity {
    Def(DefId),
    Ctor(CtorId),
    /// `Type/Ctor/tag`: the position of a constructor.
    Tag(CtorId),
}

/// The top-level names that are visible in a module, or that the prelude has.
#[derive(Clone, Debug, Default)]
struct Scope {
    values: HashMap<Name, Entity>,
    types: HashMap<Name, TypeId>,
}

/// The state of lowering a program.
struct Lowering<'a> {
    modules: &'a Modules,
    diags: &'a mut Diagnostics,
    program: Program,
    scopes: IndexVec<ModuleId, Scope>,
    prelude: Scope,
    /// The full names of the program's own definitions and constructors.
    full_names: HashMap<Name, Span>,
    /// The parameter names of definitions, for named arguments; none where patterns stand instead.
    parameters: HashMap<DefId, Vec<Option<Ident>>>,
    /// The definitions being lowered: a top-level one, then those generated inside it.
    enclosing: Vec<DefinitionScope>,
    /// Names that were reported as unbound in the top-level definition at hand.
    unbound: HashSet<Name>,
    /// Whether a name that is a key in `{ key: value }` is being lowered.
    in_key: bool,
    /// For how many unknown names a similar one was looked for.
    searches: usize,
    /// How many `open`s and steps of monads the term at hand stands in.
    nesting: usize,
    /// Which name stands for what, if that is wanted.
    uses: Uses,
    /// The variables that are bound by `=` inside `with IO:`.
    bound_in_io: BoundInIo,
    /// Whether two types have one name. All that would be said of its constructors and fields follows from that.
    is_ambiguous: bool,
}

/// A lowered program, and what is known of its names.
pub(super) struct Lowered {
    pub(super) program: Program,
    /// The top-level names that the main file sees, in no order: first its own and those that it imports, then the prelude's.
    pub(super) names: Vec<(Name, Target)>,
    pub(super) uses: Uses,
    pub(super) bound_in_io: BoundInIo,
    /// Whether nothing but the names of items was looked at, because two types have one name.
    pub(super) is_ambiguous: bool,
}

/// Lowers a program. Errors are in `diags`; with errors the program is complete, but for [`TermKind::Invalid`].
pub(super) fn lower(
    modules: &Modules,
    entry: &Entry<'_>,
    sources: &mut Sources,
    diags: &mut Diagnostics,
    uses: Uses,
) -> Lowered {
    let mut lowering = Lowering {
        modules,
        diags,
        program: Program::default(),
        scopes: modules.iter().map(|_| Scope::default()).collect(),
        prelude: Scope::default(),
        full_names: HashMap::new(),
        parameters: HashMap::new(),
        enclosing: vec![],
        unbound: HashSet::new(),
        in_key: false,
        searches: 0,
        nesting: 0,
        uses,
        bound_in_io: BoundInIo::default(),
        is_ambiguous: false,
    };
    let declared = lowering.declare();
    // An editor wants to know all that can be known; whoever compiles has to rename a type first.
    let is_ambiguous = lowering.is_ambiguous && !lowering.uses.are_wanted();
    if !is_ambiguous {
        lowering.read_types(&declared);
        declared.iter().for_each(|item| lowering.lower_item(item));
        lowering.set_entry(entry, sources);
    }
    let names = lowering.names_of_main();
    Lowered { names, program: lowering.program, uses: lowering.uses, bound_in_io: lowering.bound_in_io, is_ambiguous }
}

/// A top-level item with its place in the program.
struct Declared<'a> {
    module: ModuleId,
    item: &'a Item,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    Type(TypeId),
    Def(DefId),
}

impl Lowering<'_> {
    /// The top-level names that the main file sees, if anybody wants to know.
    fn names_of_main(&self) -> Vec<(Name, Target)> {
        let scopes = [self.scopes.get(ModuleId::new(0)), Some(&self.prelude)].into_iter().flatten();
        let names = scopes.filter(|_| self.uses.are_wanted()).flat_map(|scope| {
            let types = scope.types.iter().map(|(name, ty)| (name.clone(), Target::Type(*ty)));
            let values = scope.values.iter().filter_map(|(name, entity)| match entity {
                Entity::Def(def) => Some((name.clone(), Target::Def(*def))),
                Entity::Ctor(ctor) => Some((name.clone(), Target::Ctor(*ctor))),
                Entity::Tag(_) => None,
            });
            types.chain(values)
        });
        names.collect()
    }

    fn lower_item(&mut self, declared: &Declared<'_>) {
        let Place::Def(def) = declared.place else { return };
        self.unbound.clear();
        match declared.item {
            Item::Def(item) => {
                self.enclosing.push(DefinitionScope::new(def, declared.module));
                let body = self.function(item);
                self.finish_top_level(body);
            }
            Item::Equations(item) => {
                self.enclosing.push(DefinitionScope::new(def, declared.module));
                let body = self.equations(item);
                self.finish_top_level(body);
            }
            Item::Hvm(item) => self.program.defs[def].body = Body::Net(self.net(declared.module, item)),
            Item::Type(_) | Item::Import(_) => {}
        }
    }

    /// Ends the scope of a top-level definition, whose body is lowered.
    fn finish_top_level(&mut self, body: Term) {
        let Some(mut scope) = self.enclosing.pop() else { return };
        self.check_scopeless(&body);
        // `f = λx …` is a function of x: its calls need no closure.
        let body = match body.kind {
            TermKind::Lambda(params, inner) if !params.is_empty() => {
                scope.params.extend(params);
                *inner
            }
            kind => Term::new(kind, body.span),
        };
        let def = &mut self.program.defs[scope.def];
        (def.params, def.locals, def.body) = (scope.params, scope.locals, Body::Term(body));
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::new(code, span, message));
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diags.push(diagnostic);
    }
}

fn invalid(span: Span) -> Term {
    Term::new(TermKind::Invalid, span)
}

//! The entry point, and the arguments that it is applied to.

use super::definition_scope::{DefinitionScope, apply};
use super::{Entity, Lowering};
use crate::ast::{FunBody, Item, PatternKind};
use crate::modules::ModuleId;
use crate::parser::parse_expr;
use girih_base::diag::{Code, Diagnostic, did_you_mean};
use girih_base::name::Name;
use girih_base::span::{Sources, Span};
use girih_term::ty::{Scheme, Type};
use girih_term::{Body, Def, DefId, Origin, Term, TermKind};

/// What a run is to start with.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Another entry point than `main`.
    pub name: Option<&'a Name>,
    /// Bend expressions, to which it is applied.
    pub arguments: &'a [String],
}

/// The names that are entry points without being asked for.
const MAINS: [&str; 2] = ["main", "Main"];

impl Lowering<'_> {
    pub(super) fn set_entry(&mut self, entry: &Entry<'_>, sources: &mut Sources) {
        let Some(def) = self.find_main(entry.name) else { return };
        self.check_main(def);
        self.check_references(def);
        self.program.entry = Some(if entry.arguments.is_empty() { def } else { self.applied(def, entry, sources) });
    }

    /// The definition that was asked for, else `main` or `Main`.
    fn find_main(&mut self, wanted: Option<&Name>) -> Option<DefId> {
        let values = &self.scopes[ModuleId::new(0)].values;
        let names = wanted.map_or_else(|| MAINS.map(Name::new).to_vec(), |name| vec![name.clone()]);
        let found: Vec<(&Name, DefId)> = names
            .iter()
            .filter_map(|name| match values.get(name) {
                Some(Entity::Def(def)) => Some((name, *def)),
                _ => None,
            })
            .collect();
        match found.as_slice() {
            [] => {
                let name = &names[0]; // There is one that was asked for, or there are two.
                let message = format!("there is no definition `{name}` to start from");
                let near = did_you_mean(name, values.keys().map(Name::as_str)).filter(|_| wanted.is_some());
                let hint = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("write `def {name}(): …`, or name another entry point with `--entrypoint`"),
                };
                self.report(Diagnostic::new(Code::MissingMain, Span::NONE, message).hint(hint));
                None
            }
            [(_, def)] => Some(*def),
            [(first, def), (second, other), ..] => {
                let message = format!("both `{first}` and `{second}` are entry points");
                let (at, also) = (self.program.defs[*other].span, self.program.defs[*def].span);
                let hint = "keep one, or say which one with `--entrypoint`";
                self.report(Diagnostic::new(Code::ManyMains, at, message).label(also, "the other one").hint(hint));
                Some(*def)
            }
        }
    }

    /// The entry point has one rule, whose patterns are variables.
    fn check_main(&mut self, def: DefId) {
        let span = self.program.defs[def].span;
        let modules = self.modules;
        for item in &modules[ModuleId::new(0)].module.items {
            let Item::Equations(item) = item else { continue };
            let FunBody::Rules(rules) = &item.body else { continue };
            if item.name.span != span {
                continue;
            }
            let is_plain = |kind: &PatternKind| matches!(kind, PatternKind::Var(_) | PatternKind::Wild);
            let odd = rules[0].patterns.iter().find(|p| !is_plain(&p.node)).map(|p| p.span);
            if let Some(at) = rules.get(1).map(|rule| rule.span).or(odd) {
                let message = format!("the entry point `{}` has patterns", item.name.node);
                self.report(
                    Diagnostic::new(Code::MainPatterns, at, message)
                        .hint("give it one rule with variables, and match on them inside"),
                );
            }
        }
    }

    /// Nothing in the program uses the entry point.
    fn check_references(&mut self, main: DefId) {
        let mut found = None;
        for def in self.program.defs.iter() {
            let Body::Term(body) = &def.body else { continue };
            let mut pending = vec![body];
            while let Some(term) = pending.pop() {
                if term.kind == TermKind::Global(main) {
                    found = found.or(Some(term.span));
                }
                pending.extend(term.children());
            }
        }
        if let Some(at) = found {
            let message =
                format!("`{}` is the entry point and cannot be used inside the program", self.program.defs[main].name);
            let hint = "move what is needed here into a function of its own";
            self.report(Diagnostic::new(Code::MainReferenced, at, message).hint(hint));
        }
    }

    /// A definition that applies the entry point to the arguments.
    fn applied(&mut self, main: DefId, entry: &Entry<'_>, sources: &mut Sources) -> DefId {
        let span = self.program.defs[main].span;
        let def = self.program.defs.push(Def {
            name: Name::from(format!("{}__run", self.program.defs[main].name)),
            span,
            origin: Origin::Generated(main),
            check: false,
            ty: Scheme::mono(Type::Any),
            params: vec![],
            locals: Default::default(),
            body: Body::Term(super::invalid(span)),
        });
        self.unbound.clear();
        self.enclosing.push(DefinitionScope::new(def, ModuleId::new(0)));
        let mut args: Vec<Term> = vec![];
        for (i, text) in entry.arguments.iter().enumerate() {
            let source = sources.add(format!("<argument {}>", i + 1), text);
            if let Some(arg) = parse_expr(source, text, self.diags) {
                args.push(self.expression(&arg));
            }
        }
        let body = apply(Term::new(TermKind::Global(main), span), args, span);
        self.finish_top_level(body);
        def
    }
}

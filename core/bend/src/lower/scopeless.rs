//! Scopeless variables: each is bound once and used once in its definition, and does not cross into a generated one.

use super::Lowering;
use girih_base::diag::{Code, Diagnostic};
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::{Target, Term, TermKind};
use std::collections::BTreeMap;

/// Where a scopeless variable is bound and used.
#[derive(Default)]
struct Places {
    bound: Vec<Span>,
    used: Vec<Span>,
}

fn places(body: &Term) -> BTreeMap<Name, Places> {
    let mut found: BTreeMap<Name, Places> = BTreeMap::new();
    let mut pending = vec![body];
    while let Some(term) = pending.pop() {
        match &term.kind {
            TermKind::Link(name) => found.entry(name.clone()).or_default().used.push(term.span),
            TermKind::Let(binds, _) => {
                for bind in binds {
                    if let Target::Link(name) = &bind.target {
                        found.entry(name.clone()).or_default().bound.push(bind.value.span);
                    }
                }
            }
            _ => {}
        }
        pending.extend(term.children());
    }
    found
}

/// The name under which an error of a scopeless variable is remembered.
fn with_dollar(name: &Name) -> Name {
    Name::from(format!("${name}"))
}

impl Lowering<'_> {
    /// Checks the variables of a top-level definition.
    pub(super) fn check_scopeless(&mut self, body: &Term) {
        for (name, Places { bound, used }) in places(body) {
            if self.unbound.contains(&with_dollar(&name)) {
                continue;
            }
            let message = match (bound.len(), used.len()) {
                (1, 1) => continue,
                (0, _) => format!("the scopeless variable `${name}` is never bound"),
                (1, 0) => format!("the scopeless variable `${name}` is never used"),
                (1, _) => format!("the scopeless variable `${name}` is used more than once"),
                (_, _) => format!("the scopeless variable `${name}` is bound more than once"),
            };
            let all: Vec<Span> = bound.iter().chain(&used).copied().collect();
            let at = if bound.len() > 1 { bound[1] } else { used.last().copied().unwrap_or(all[0]) };
            let hint = "bind it once and use it once; bind what you do not use to `*`";
            self.report(Diagnostic::new(Code::UnboundScopeless, at, message).hint(hint));
        }
    }

    /// Checks the variables of a generated definition: none may be bound inside and used outside, or the other way.
    pub(super) fn check_captured_links(&mut self, body: &Term) {
        for (name, Places { bound, used }) in places(body) {
            if bound.len() == 1 && used.len() == 1 {
                continue;
            }
            let at = bound.first().or(used.first()).copied().unwrap_or(body.span);
            let message = format!("the scopeless variable `${name}` leaves the `fold`, `bend` or `def` that it is in");
            let hint = "bind and use it inside";
            self.unbound.insert(with_dollar(&name));
            self.report(Diagnostic::new(Code::ScopelessCapture, at, message).hint(hint));
        }
    }
}

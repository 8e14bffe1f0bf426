//! Writes what the checker has found into the terms: literals become numbers, 24-bit numbers are widened.

use super::place::{Edits, Place};
use girih_base::diag::{Code, Diagnostic, Diagnostics};
use girih_base::num::{LiteralValue, Num, NumKind};
use girih_base::prim::Prim;
use girih_base::span::Span;
use girih_term::{Term, TermKind};

/// Settles a term. The terms must still lie where they did when the edits were made.
pub(super) struct Elaborate<'a> {
    pub edits: &'a Edits,
    /// Where literals that do not fit are reported; none in a definition that has an error already.
    pub diags: Option<&'a mut Diagnostics>,
}

impl Elaborate<'_> {
    /// Changes a term and all terms in it.
    pub fn term(&mut self, term: &mut Term) {
        let place = Place::of(term);
        if let TermKind::Literal(value) = term.kind {
            let kind = self.edits.literals.get(&place).copied().unwrap_or(value.default_kind());
            term.kind = TermKind::Num(self.literal(value, kind, term.span));
        }
        term.children_mut().into_iter().for_each(|child| self.term(child));
        if let Some(kind) = self.edits.widenings.get(&place) {
            let inner = std::mem::replace(term, Term::new(TermKind::Era, term.span));
            term.kind = TermKind::Prim(Prim::To(*kind), vec![inner]);
        }
    }

    fn literal(&mut self, value: LiteralValue, kind: NumKind, span: Span) -> Num {
        if let Some(number) = value.as_num(kind) {
            return number;
        }
        if let Some(diags) = &mut self.diags {
            diags.push(out_of_range(value, kind, span));
        }
        Num::U24(0)
    }
}

fn out_of_range(value: LiteralValue, kind: NumKind, span: Span) -> Diagnostic {
    let error =
        Diagnostic::new(Code::LiteralRange, span, format!("`{value}` is out of the range of `{}`", kind.name()));
    let wide = kind.widened();
    if value.as_num(wide).is_some() {
        error.hint(format!("write `{value}{}` for a number of 32 bits", wide.name()))
    } else {
        error.hint("the largest numbers have 32 bits")
    }
}

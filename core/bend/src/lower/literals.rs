//! Literals and the data that sugar stands for.

use super::expressions::with_binds;
use super::{Lowering, invalid};
use crate::ast::{Expr, ExprKind, Literal};
use girih_base::diag::Code;
use girih_base::name::Name;
use girih_base::num::{LiteralValue, Num, NumKind};
use girih_base::span::Span;
use girih_term::{Bind, CtorId, Target, Term, TermKind};

/// The longest chain of `Nat/Succ` that is written out.
const WRITTEN_NAT: u32 = 100;

impl Lowering<'_> {
    pub(super) fn number(&mut self, literal: &Literal, span: Span) -> Term {
        let Some(kind) = literal.suffix else {
            return Term::new(TermKind::Literal(literal.value), span);
        };
        let number = match (kind, literal.value) {
            (NumKind::U24, LiteralValue::Unsigned(n)) if n < 1 << 24 => Num::U24(n),
            (NumKind::U32, LiteralValue::Unsigned(n)) => Num::U32(n),
            (NumKind::I24, LiteralValue::Unsigned(n)) if n < 1 << 23 => Num::I24(n as i32),
            (NumKind::I24, LiteralValue::Signed(n)) if (-(1 << 23)..1 << 23).contains(&n) => Num::I24(n as i32),
            (NumKind::I32, LiteralValue::Unsigned(n)) if n <= i32::MAX as u32 => Num::I32(n as i32),
            (NumKind::I32, LiteralValue::Signed(n)) => Num::I32(n as i32),
            (NumKind::F24, LiteralValue::Float(x)) => Num::f24(x),
            (NumKind::F32, LiteralValue::Float(x)) => Num::F32(x),
            (NumKind::F24, LiteralValue::Unsigned(n)) => Num::f24(n as f32),
            (NumKind::F32, LiteralValue::Unsigned(n)) => Num::F32(n as f32),
            (NumKind::F24, LiteralValue::Signed(n)) => Num::f24(n as f32),
            (NumKind::F32, LiteralValue::Signed(n)) => Num::F32(n as f32),
            _ => {
                let message = format!("`{}` is not a number of type {}", literal.text, kind.name());
                self.error(Code::LiteralRange, span, message);
                return invalid(span);
            }
        };
        Term::new(TermKind::Num(number), span)
    }

    /// Up to four base64 characters, six bits each.
    pub(super) fn symbol(text: &str) -> u32 {
        text.bytes().fold(0, |value, c| {
            let digit = match c {
                b'A'..=b'Z' => c - b'A',
                b'a'..=b'z' => c - b'a' + 26,
                b'0'..=b'9' => c - b'0' + 52,
                b'+' => 62,
                _ => 63,
            };
            (value << 6) | u32::from(digit)
        })
    }

    /// `#n`. A long chain would nest as deeply as it is long, so it is made when the program runs.
    pub(super) fn nat(&mut self, n: u32, span: Span) -> Term {
        let (Some(zero), Some(succ)) = (self.program.known.nat_zero, self.program.known.nat_succ) else {
            return invalid(span);
        };
        if n <= WRITTEN_NAT {
            let zero = Term::new(TermKind::Ctor(zero, vec![]), span);
            return (0..n).fold(zero, |n, _| Term::new(TermKind::Ctor(succ, vec![n]), span));
        }
        if n >= 1 << 24 {
            let message = format!("`#{n}` is not below #{}", 1 << 24);
            self.error(Code::LiteralRange, span, message);
            return invalid(span);
        }
        self.prelude_call("u24/to_nat", vec![Term::new(TermKind::Num(Num::U24(n)), span)], span)
    }

    /// A constructor of the prelude with all its fields.
    pub(super) fn known_ctor(&mut self, ctor: Option<CtorId>, args: Vec<Term>, span: Span) -> Term {
        match ctor {
            Some(ctor) => self.construct(ctor, args, span),
            None => invalid(span),
        }
    }

    /// A call of a definition of the prelude.
    pub(super) fn prelude_call(&mut self, name: &str, args: Vec<Term>, span: Span) -> Term {
        match self.prelude_def(name) {
            Some(def) if args.is_empty() => Term::new(TermKind::Global(def), span),
            Some(def) => super::definition_scope::apply(Term::new(TermKind::Global(def), span), args, span),
            None => invalid(span),
        }
    }

    /// `{ k: v, … }`: a sequence of bindings, since nested calls would nest as deeply as the map is long.
    pub(super) fn map(&mut self, entries: &[(Expr, Expr)], span: Span) -> Term {
        let mut map = self.prelude_call("Map/empty", vec![], span);
        let mut binds = vec![];
        for (key, value) in entries {
            let known = self.unbound.len();
            self.in_key = matches!(key.node, ExprKind::Var(_));
            let key = self.expression(key);
            if std::mem::take(&mut self.in_key) && self.unbound.len() > known {
                // One error says it of all keys.
                self.unbound.extend(entries.iter().filter_map(|(key, _)| match &key.node {
                    ExprKind::Var(name) => Some(name.clone()),
                    _other => None,
                }));
            }
            let value = self.expression(value);
            let at = key.span.to(value.span);
            let next = self.prelude_call("Map/set", vec![map, key, value], at);
            let local = self.local(hidden("map"), at);
            binds.push(Bind { target: Target::Var(local), value: next });
            map = self.local_term(local, span);
        }
        with_binds(binds, map)
    }
}

/// A name that no program can write.
pub(super) fn hidden(name: &str) -> Name {
    Name::from(format!("%{name}"))
}

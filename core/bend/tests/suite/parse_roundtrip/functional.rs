//! Terms and equations of the functional syntax.

use super::tape::Maker;
use girih_base::num::BinOp;
use girih_base::span::Span;
use girih_bend::ast::*;

impl Maker<'_> {
    /// A term.
    pub fn term(&mut self, depth: u32) -> Expr {
        if depth == 0 {
            return self.leaf();
        }
        let inner = depth - 1;
        let boxed = |m: &mut Self| Box::new(m.term(inner));
        let kind = match self.choose(20) {
            0..=2 => return self.leaf(),
            3 => ExprKind::Nat(self.pick(&[0, 12, u32::MAX])),
            4 | 5 => {
                let op = self.pick(&BinOp::ALL);
                ExprKind::Op(self.counted(op), boxed(self), boxed(self))
            }
            6 => ExprKind::List(self.several(0, 4, |m| m.term(inner))),
            7 => ExprKind::Tuple(self.several(2, 4, |m| m.term(inner))),
            8 => ExprKind::Sup(self.several(2, 4, |m| m.term(inner))),
            9 => ExprKind::TreeNode(boxed(self), boxed(self)),
            10 => ExprKind::TreeLeaf(boxed(self)),
            11 => return self.fun_lambda(inner),
            12 | 13 => ExprKind::Call(boxed(self), self.several(1, 4, |m| m.term(inner))),
            14 => return self.bindings(inner),
            15 => {
                let branches = self.several(1, 3, |m| (m.term(inner), m.term(inner)));
                ExprKind::If(Box::new(If { branches, otherwise: self.term(inner) }))
            }
            16 if self.flip() => ExprKind::Match(Box::new(self.fun_match(inner))),
            16 => ExprKind::Fold(Box::new(self.fun_match(inner))),
            17 => {
                let (bind, arg) = (self.maybe(Maker::variable), self.term(inner));
                let with = self.state(0, |m| m.term(inner));
                let cases = self.several(1, 3, |m| m.term(inner));
                ExprKind::Switch(Box::new(Switch { bind, arg, with, cases, default: self.term(inner) }))
            }
            18 => {
                let (state, condition) = (self.state(0, |m| m.term(inner)), self.term(inner));
                let (step, base) = (self.term(inner), self.term(inner));
                ExprKind::Bend(Box::new(Bend { state, condition, step, base }))
            }
            _ => ExprKind::With(Box::new(With { monad: self.type_ident(), body: self.term(inner) })),
        };
        self.node(kind)
    }

    /// The parser joins lambdas that follow each other.
    fn fun_lambda(&mut self, depth: u32) -> Expr {
        let patterns = self.several(1, 3, |m| m.simple_pattern(2));
        match self.term(depth) {
            Node { node: ExprKind::Lambda(more, body), .. } => {
                self.node(ExprKind::Lambda(patterns.into_iter().chain(more).collect(), body))
            }
            body => self.node(ExprKind::Lambda(patterns, Box::new(body))),
        }
    }

    /// The parser joins bindings that follow each other.
    fn bindings(&mut self, depth: u32) -> Expr {
        let bindings = self.several(1, 3, |m| m.binding(depth));
        match self.term(depth) {
            Node { node: ExprKind::Let(more, body), .. } => {
                self.node(ExprKind::Let(bindings.into_iter().chain(more).collect(), body))
            }
            body => self.node(ExprKind::Let(bindings, Box::new(body))),
        }
    }

    fn binding(&mut self, depth: u32) -> FunBind {
        let binding = match self.choose(5) {
            0 => FunBind::Let(self.simple_pattern(2), self.term(depth)),
            1 => FunBind::Use(self.variable(), self.term(depth)),
            2 => FunBind::Ask(self.simple_pattern(2), self.term(depth)),
            3 => FunBind::Open(self.type_ident(), self.variable()),
            // Not a fresh name: what follows may start with the same word.
            _ => {
                let name = self.ident(&["x", "f", "let", "match", "g/h"]);
                FunBind::Def(self.equations(name, depth))
            }
        };
        self.counted(binding)
    }

    fn fun_match(&mut self, depth: u32) -> Match<Expr> {
        let (bind, arg) = (self.maybe(Maker::variable), self.term(depth));
        let with = self.state(0, |m| m.term(depth));
        let arms = self.several(1, 3, |m| Arm { name: m.arm_name(), span: Span::NONE, body: m.term(depth) });
        Match { bind, arg, with, arms }
    }

    /// A functional definition.
    pub fn equations(&mut self, name: Ident, depth: u32) -> FunDef {
        let signature = self.maybe(|m| Signature {
            params: m.several(0, 3, |m| Param { name: m.variable(), ty: m.maybe(|m| m.ty(true, 2)) }),
            ty: m.ty(true, 3),
        });
        let body = if signature.is_some() && self.flip() {
            FunBody::Equation(self.term(depth))
        } else {
            FunBody::Rules(self.several(1, 3, |m| Rule {
                span: Span::NONE,
                patterns: m.several(0, 3, |m| m.rule_pattern(3)),
                body: m.term(depth),
            }))
        };
        FunDef { span: Span::NONE, check: self.check(), name, signature, body: self.counted(body) }
    }
}

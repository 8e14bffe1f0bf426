//! Expressions and statements of the imperative syntax.

use super::tape::Maker;
use girih_base::num::BinOp;
use girih_base::span::Span;
use girih_bend::ast::*;

/// Operators that have an in-place form.
const IN_PLACE: &[BinOp] = &[BinOp::Add, BinOp::Sub, BinOp::Mul, BinOp::Div, BinOp::And, BinOp::Or, BinOp::Xor];

impl Maker<'_> {
    /// An expression.
    pub fn imp_expr(&mut self, depth: u32) -> Expr {
        if depth == 0 {
            return self.leaf();
        }
        let inner = depth - 1;
        let boxed = |m: &mut Self| Box::new(m.imp_expr(inner));
        let kind = match self.choose(17) {
            0..=2 => return self.leaf(),
            3..=5 => {
                let op = self.pick(&BinOp::ALL);
                ExprKind::Op(self.counted(op), boxed(self), boxed(self))
            }
            6 => ExprKind::List(self.several(0, 4, |m| m.imp_expr(inner))),
            7 => ExprKind::Tuple(self.several(2, 4, |m| m.imp_expr(inner))),
            8 => ExprKind::Sup(self.several(2, 4, |m| m.imp_expr(inner))),
            9 => ExprKind::TreeNode(boxed(self), boxed(self)),
            10 => ExprKind::TreeLeaf(boxed(self)),
            11 => ExprKind::Lambda(self.several(1, 3, Maker::lambda_variable), boxed(self)),
            12 => ExprKind::Call(boxed(self), self.several(1, 4, |m| m.imp_expr(inner))),
            13 => {
                let (callee, positional) = (boxed(self), self.several(0, 2, |m| m.imp_expr(inner)));
                ExprKind::CallNamed(callee, positional, self.several(1, 2, |m| (m.variable(), m.imp_expr(inner))))
            }
            14 => {
                let constructor = self.variable();
                ExprKind::Record(constructor, self.several(0, 3, |m| (m.field_ident(), m.imp_expr(inner))))
            }
            15 => {
                let (element, var, list) = (self.imp_expr(inner), self.variable(), self.imp_expr(inner));
                let condition = self.maybe(|m| m.imp_expr(inner));
                ExprKind::Comprehension(Box::new(Comprehension { element, var, list, condition }))
            }
            _ if self.flip() => ExprKind::MapGet(self.variable(), boxed(self)),
            _ => ExprKind::Map(self.several(0, 3, |m| (m.imp_expr(inner), m.imp_expr(inner)))),
        };
        self.node(kind)
    }

    fn lambda_variable(&mut self) -> Pattern {
        let name = self.variable().node;
        let kind = if self.flip() { PatternKind::Link(name) } else { PatternKind::Var(name) };
        self.node(kind)
    }

    /// A definition at the top level or in a block.
    pub fn imp_def(&mut self, depth: u32) -> ImpDef {
        ImpDef {
            span: Span::NONE,
            check: self.check(),
            name: self.fresh("imp/"),
            params: self.several(0, 3, |m| Param { name: m.variable(), ty: m.maybe(|m| m.ty(false, 2)) }),
            ret: self.maybe(|m| m.ty(false, 3)),
            body: self.block(depth),
        }
    }

    fn block(&mut self, depth: u32) -> Block {
        self.several(1, 3, |m| m.statement(depth))
    }

    fn statement(&mut self, depth: u32) -> Stmt {
        let inner = depth.saturating_sub(1);
        let kind = match self.choose(if depth == 0 { 7 } else { 14 }) {
            0 => StmtKind::Return(self.imp_expr(2)),
            1 | 2 => {
                let target = self.target();
                StmtKind::Assign(self.counted(target), self.imp_expr(3))
            }
            3 => StmtKind::Ask(self.simple_pattern(2), self.imp_expr(2)),
            4 => self.in_place(),
            5 => StmtKind::Use(self.variable(), self.imp_expr(2)),
            6 => StmtKind::Open(self.type_ident(), self.variable()),
            7 => StmtKind::Def(self.imp_def(inner)),
            8 => {
                let branches = self.several(1, 3, |m| (m.imp_expr(2), m.block(inner)));
                StmtKind::If(If { branches, otherwise: self.block(inner) })
            }
            9 => StmtKind::Match(self.imp_match(inner)),
            10 => StmtKind::Fold(self.imp_match(inner)),
            11 => {
                let (bind, arg) = (self.maybe(Maker::variable), self.imp_expr(2));
                let with = self.state(0, |m| m.imp_expr(2));
                let cases = self.several(1, 3, |m| m.block(inner));
                StmtKind::Switch(Switch { bind, arg, with, cases, default: self.block(inner) })
            }
            12 => {
                let (state, condition) = (self.state(1, |m| m.imp_expr(2)), self.imp_expr(2));
                StmtKind::Bend(Bend { state, condition, step: self.block(inner), base: self.block(inner) })
            }
            _ => StmtKind::With(With { monad: self.type_ident(), body: self.block(inner) }),
        };
        self.node(kind)
    }

    fn target(&mut self) -> Target {
        if self.flip() {
            Target::MapSlot(self.variable(), self.imp_expr(1))
        } else {
            Target::Pattern(self.simple_pattern(3))
        }
    }

    fn in_place(&mut self) -> StmtKind {
        let target = if self.flip() {
            InPlaceTarget::MapSlot(self.variable(), self.imp_expr(1))
        } else {
            InPlaceTarget::Var(self.variable())
        };
        let op = if self.flip() { InPlaceOp::Map } else { InPlaceOp::Op(self.pick(IN_PLACE)) };
        StmtKind::InPlace(self.counted(target), self.counted(op), self.imp_expr(2))
    }

    fn imp_match(&mut self, depth: u32) -> Match<Block> {
        let (bind, arg) = (self.maybe(Maker::variable), self.imp_expr(2));
        let with = self.state(0, |m| m.imp_expr(2));
        let arms = self.several(1, 3, |m| Arm { name: m.arm_name(), span: Span::NONE, body: m.block(depth) });
        Match { bind, arg, with, arms }
    }
}

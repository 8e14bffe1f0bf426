//! Blocks of the imperative syntax.
//!
//! A block ends by returning, or by assigning a pattern. A statement with branches ends as its branches do, all alike; if
//! they assign, the statement has the value that they assign, and what follows it sees the pattern.

use super::Lowering;
use super::choices::LowerBody;
use super::expressions::with_binds;
use super::literals::hidden;
use crate::ast::{
    Block, Expr, Ident, ImpDef, InPlaceOp, InPlaceTarget, Pattern, PatternKind, Stmt, StmtKind, Target as TargetSyntax,
};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_term::{Bind, LocalId, Target, Term, TermKind};

/// How a block ends.
#[derive(Clone, PartialEq)]
enum End {
    Return,
    /// With `pattern = value`, or with `pattern <- value`.
    Assign {
        pattern: Pattern,
        asks: bool,
    },
    /// With an error that was reported.
    Broken,
}

/// A block: how it ends, and the value that it returns or assigns.
struct Flow {
    end: End,
    value: Term,
}

impl<'l> Lowering<'l> {
    /// The parameters and the body of a function.
    pub(super) fn function(&mut self, def: &ImpDef) -> Term {
        self.check_repeated(def.params.iter().map(|p| (&p.name.node, p.name.span)));
        for param in &def.params {
            self.bind_param(&param.name.node, param.name.span);
        }
        let flow = self.block(&def.body);
        if let End::Assign { .. } = flow.end {
            let at = def.body.last().map_or(def.span, |stmt| stmt.span);
            let hint = match def.body.last().map(|stmt| &stmt.node) {
                Some(StmtKind::With(_)) => "end the `with` block with `return wrap(value)`",
                _ => "end every branch of the function with `return`",
            };
            self.report(
                Diagnostic::new(Code::MissingReturn, at, format!("`{}` ends without a `return`", def.name.node))
                    .hint(hint),
            );
        }
        flow.value
    }

    fn block(&mut self, block: &[Stmt]) -> Flow {
        let mark = self.enter();
        let flow = self.statements(block);
        self.leave(mark);
        flow
    }

    /// The body of a branch; notes how it ends.
    fn branch(&mut self, block: &Block, ends: &mut Vec<(End, Span)>) -> Term {
        let flow = self.block(block);
        ends.push((flow.end, block.last().map_or(Span::NONE, |stmt| stmt.span)));
        flow.value
    }

    fn statements(&mut self, stmts: &[Stmt]) -> Flow {
        let mut binds = vec![];
        for (i, stmt) in stmts.iter().enumerate() {
            let rest = &stmts[i + 1..];
            if let Some(flow) = self.statement(stmt, rest, &mut binds) {
                return Flow { end: flow.end, value: with_binds(binds, flow.value) };
            }
        }
        let at = stmts.last().map_or(Span::NONE, |stmt| stmt.span);
        let hint = ending_hint(stmts.last());
        self.report(Diagnostic::new(Code::MissingReturn, at, "the block ends here without a value").hint(hint));
        Flow { end: End::Broken, value: with_binds(binds, super::invalid(at)) }
    }

    /// Lowers a statement. It ends the block if it gives a flow, and has lowered the rest of it then.
    fn statement(&mut self, stmt: &Stmt, rest: &[Stmt], binds: &mut Vec<Bind>) -> Option<Flow> {
        let span = stmt.span;
        match &stmt.node {
            StmtKind::Assign(TargetSyntax::Pattern(pattern), value) => {
                let value = self.expression(value);
                return self.assign(pattern, value, false, rest, binds);
            }
            StmtKind::Assign(TargetSyntax::MapSlot(map, key), value) => {
                let key = self.expression(key);
                let value = self.expression(value);
                self.rebind_map("Map/set", map, key, value, binds);
            }
            StmtKind::Ask(pattern, value) => {
                let value = self.expression(value);
                return self.assign(pattern, value, true, rest, binds);
            }
            StmtKind::InPlace(target, op, value) => self.in_place(target, *op, value, span, binds),
            StmtKind::Use(name, value) => self.use_bind(name, value, binds),
            StmtKind::Def(def) => self.local_imp(def),
            StmtKind::Open(ty, var) => return Some(self.open_rest(ty, var, rest, span)),
            StmtKind::Return(value) => {
                let value = self.expression(value);
                self.check_last("return", rest);
                return Some(Flow { end: End::Return, value });
            }
            StmtKind::If(i) => {
                return self.branches("if", span, rest, binds, |this, body| this.if_(i, span, body));
            }
            StmtKind::Match(m) => {
                return self.branches("match", span, rest, binds, |this, body| this.match_(m, span, body));
            }
            StmtKind::Switch(s) => {
                return self.branches("switch", span, rest, binds, |this, body| this.switch_(s, span, body));
            }
            StmtKind::Fold(f) => {
                return self.branches("fold", span, rest, binds, |this, body| this.fold_(f, span, body));
            }
            StmtKind::Bend(b) => {
                return self.branches("bend", span, rest, binds, |this, body| this.bend_(b, span, body));
            }
            StmtKind::With(w) => {
                return self.branches("with", span, rest, binds, |this, body| this.with_(w, body));
            }
        }
        None
    }

    /// Binds a pattern for the rest of the block; as the last statement it ends the block.
    fn assign(
        &mut self,
        pattern: &Pattern,
        value: Term,
        asks: bool,
        rest: &[Stmt],
        binds: &mut Vec<Bind>,
    ) -> Option<Flow> {
        if rest.is_empty() {
            return Some(Flow { end: End::Assign { pattern: pattern.clone(), asks }, value });
        }
        if !asks {
            self.bind_pattern(pattern, value, binds);
            return None;
        }
        let mut end = End::Broken;
        let span = value.span;
        let value = self.ask_value(pattern, value, span, |this| {
            let flow = this.statements(rest);
            end = flow.end;
            flow.value
        });
        Some(Flow { end, value })
    }

    /// A statement with branches.
    fn branches(
        &mut self,
        what: &str,
        span: Span,
        rest: &[Stmt],
        binds: &mut Vec<Bind>,
        lower: impl FnOnce(&mut Self, LowerBody<'_, 'l, Block>) -> Term,
    ) -> Option<Flow> {
        let mut ends = vec![];
        let value = lower(self, &mut |this, block| this.branch(block, &mut ends));
        match self.join(what, &ends) {
            End::Return => {
                self.check_last(what, rest);
                Some(Flow { end: End::Return, value })
            }
            End::Broken => Some(Flow { end: End::Broken, value: super::invalid(span) }),
            End::Assign { pattern, asks } => self.assign(&pattern, value, asks, rest, binds),
        }
    }

    /// How all branches end, if they end alike.
    fn join(&mut self, what: &str, ends: &[(End, Span)]) -> End {
        if ends.iter().any(|(end, _)| *end == End::Broken) {
            return End::Broken;
        }
        let Some(((first, first_span), others)) = ends.split_first() else { return End::Broken };
        for (end, span) in others {
            let message = match (first, end) {
                (first, end) if first == end => {
                    self.note_same(first, end);
                    continue;
                }
                (End::Return, _) => format!("this branch of `{what}` assigns, but the first one returns"),
                (_, End::Return) => format!("this branch of `{what}` returns, but the first one assigns"),
                (End::Assign { pattern: a, .. }, End::Assign { pattern: b, .. }) if a == b => {
                    format!("one branch of `{what}` ends with `=`, another with `<-`")
                }
                (_, _) => format!("the branches of `{what}` assign different variables"),
            };
            self.report(
                Diagnostic::new(Code::BranchMismatch, *span, message)
                    .label(*first_span, "the first branch ends here")
                    .hint("let all branches return, or all assign the same pattern"),
            );
            return End::Broken;
        }
        first.clone()
    }

    /// Notes that a branch assigns the variables that the first one assigns.
    fn note_same(&mut self, first: &End, other: &End) {
        let (End::Assign { pattern: first, .. }, End::Assign { pattern: other, .. }) = (first, other) else { return };
        let mut pending = vec![(first, other)];
        while let Some((first, other)) = pending.pop() {
            match (&first.node, &other.node) {
                (PatternKind::Var(name), PatternKind::Var(_)) => self.uses.mention(name, other.span, first.span, None),
                (PatternKind::Tuple(first), PatternKind::Tuple(other))
                | (PatternKind::Sup(first), PatternKind::Sup(other)) => pending.extend(first.iter().zip(other)),
                _without_variables => {}
            }
        }
    }

    fn check_last(&mut self, what: &str, rest: &[Stmt]) {
        if let Some(next) = rest.first() {
            let message = match what {
                "return" => "this statement comes after a `return`".to_string(),
                _ => format!("all branches of the `{what}` above return, so this is never reached"),
            };
            self.report(Diagnostic::new(Code::UnreachableStatement, next.span, message).hint("remove it"));
        }
    }

    fn rebind_map(&mut self, function: &str, map: &Ident, key: Term, value: Term, binds: &mut Vec<Bind>) {
        let old = self.name(&map.node, map.span);
        let span = map.span.to(value.span);
        let value = self.prelude_call(function, vec![old, key, value], span);
        let local = self.bind_local(&map.node, map.span);
        binds.push(Bind { target: Target::Var(local), value });
    }

    fn in_place(&mut self, target: &InPlaceTarget, op: InPlaceOp, value: &Expr, span: Span, binds: &mut Vec<Bind>) {
        match (target, op) {
            (InPlaceTarget::Var(name), op) => {
                let old = self.name(&name.node, name.span);
                let operand = self.expression(value);
                let new = match op {
                    InPlaceOp::Op(op) => Term::new(TermKind::Op(op, Box::new(old), Box::new(operand)), span),
                    InPlaceOp::Map => super::definition_scope::apply(operand, vec![old], span),
                };
                let local = self.bind_local(&name.node, name.span);
                binds.push(Bind { target: Target::Var(local), value: new });
            }
            (InPlaceTarget::MapSlot(map, key), InPlaceOp::Map) => {
                let key = self.expression(key);
                let function = self.expression(value);
                self.rebind_map("Map/map", map, key, function, binds);
            }
            (InPlaceTarget::MapSlot(map, key), InPlaceOp::Op(op)) => {
                let key = self.expression(key);
                let operand = self.expression(value);
                let slot: LocalId = self.local(hidden("slot"), span);
                let old = self.local_term(slot, span);
                let new = Term::new(TermKind::Op(op, Box::new(old), Box::new(operand)), span);
                let function = Term::new(TermKind::Lambda(vec![slot], Box::new(new)), span);
                self.rebind_map("Map/map", map, key, function, binds);
            }
        }
    }

    /// `open T: x`: the rest of the block sees the fields of x.
    fn open_rest(&mut self, ty: &Ident, var: &Ident, rest: &[Stmt], span: Span) -> Flow {
        let mut end = End::Broken;
        let value = self.open(ty, var, span, |this| {
            let flow = this.statements(rest);
            end = flow.end;
            flow.value
        });
        Flow { end, value }
    }
}

/// How to write a block that ends with this statement so that it has a value.
fn ending_hint(last: Option<&Stmt>) -> String {
    match last.map(|stmt| &stmt.node) {
        Some(
            StmtKind::Assign(TargetSyntax::MapSlot(map, _), _) | StmtKind::InPlace(InPlaceTarget::MapSlot(map, _), ..),
        ) => {
            let map = &map.node;
            format!("a branch ends with the assignment of a variable: `{map} = Map/set({map}, key, value)`")
        }
        Some(StmtKind::InPlace(InPlaceTarget::Var(name), InPlaceOp::Op(op), _)) => {
            let name = &name.node;
            format!("a branch ends with the assignment of a variable: `{name} = {name} {} ..`", op.symbol())
        }
        _other => "end it with `return`, or with the assignment of a variable that is used afterwards".to_owned(),
    }
}

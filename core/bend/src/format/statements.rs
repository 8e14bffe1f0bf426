//! Statements of the imperative syntax: a line each, or a line that opens a block and the block.

use super::expressions::Lines;
use super::lists::{Brackets, Separator};
use super::types::Syntax;
use super::walker::Walker;
use crate::ast::*;
use crate::doc::{Doc, concat, nest, nothing, text};

/// How much deeper a block stands.
pub const INDENTATION: usize = 2;

impl Walker<'_> {
    /// `def f(x: T) -> R:` in `column`, and its block.
    pub fn imp_def(&mut self, def: &ImpDef, column: usize) -> Doc {
        let mut docs = vec![self.token("def"), text(" "), self.check(def.check), self.token(&def.name.node)];
        if self.comes("(") {
            docs.push(self.list(Brackets::ROUND, &def.params, Walker::param));
        }
        if let Some(ty) = &def.ret {
            docs.extend([text(" "), self.token("->"), text(" "), self.ty(ty, Syntax::Imperative)]);
        }
        docs.push(self.block(&def.body, column));
        concat(docs)
    }

    fn param(&mut self, param: &Param) -> Doc {
        let name = self.token(&param.name.node);
        let Some(ty) = &param.ty else { return name };
        concat([name, self.token(":"), text(" "), self.ty(ty, Syntax::Imperative)])
    }

    /// `checked`, `unchecked` or nothing, with a space behind it.
    pub fn check(&mut self, check: Check) -> Doc {
        match check {
            Check::Default => nothing(),
            Check::Checked => concat([self.token("checked"), text(" ")]),
            Check::Unchecked => concat([self.token("unchecked"), text(" ")]),
        }
    }

    /// The colon of a line that stands in `column`, and the block that it opens.
    fn block(&mut self, block: &Block, column: usize) -> Doc {
        let column = column + INDENTATION;
        self.lines(block, column, |walker, statement| walker.statement(statement, column))
    }

    /// The colon of a line, and the lines behind it, which stand in `column`.
    pub fn lines<T>(&mut self, lines: &[T], column: usize, mut each: impl FnMut(&mut Self, &T) -> Doc) -> Doc {
        let mut docs = vec![self.token(":")];
        self.open();
        for line in lines {
            docs.extend([self.next_line(), each(self, line)]);
        }
        docs.push(self.comments_below(column));
        nest(concat(docs))
    }

    fn statement(&mut self, statement: &Stmt, column: usize) -> Doc {
        match &statement.node {
            StmtKind::Assign(target, value) => {
                let target = match target {
                    Target::Pattern(pattern) => self.pattern(pattern, Syntax::Imperative),
                    Target::MapSlot(map, key) => self.map_slot(map, key),
                };
                self.assigned(target, "=", value)
            }
            StmtKind::Ask(pattern, value) => {
                let target = self.pattern(pattern, Syntax::Imperative);
                self.assigned(target, "<-", value)
            }
            StmtKind::InPlace(target, op, value) => {
                let target = match target {
                    InPlaceTarget::Var(name) => self.token(&name.node),
                    InPlaceTarget::MapSlot(map, key) => self.map_slot(map, key),
                };
                self.assigned(target, op.symbol(), value)
            }
            StmtKind::Use(name, value) => {
                let target = concat([self.token("use"), text(" "), self.token(&name.node)]);
                self.assigned(target, "=", value)
            }
            StmtKind::Open(ty, var) => {
                let head = [self.token("open"), text(" "), self.token(&ty.node), self.token(":"), text(" ")];
                let var = self.token(&var.node);
                concat([concat(head), var, self.drop_token(";")])
            }
            StmtKind::Def(def) => self.imp_def(def, column),
            StmtKind::Return(value) => {
                let word = self.token("return");
                concat([word, text(" "), self.expression(value, Lines::Fixed), self.drop_token(";")])
            }
            StmtKind::If(parts) => self.imp_if(parts, column),
            StmtKind::Match(parts) => self.imp_match("match", parts, column),
            StmtKind::Switch(parts) => self.imp_switch(parts, column),
            StmtKind::Fold(parts) => self.imp_match("fold", parts, column),
            StmtKind::Bend(parts) => self.imp_bend(parts, column),
            StmtKind::With(parts) => {
                let head = [self.token("with"), text(" "), self.token(&parts.monad.node)];
                concat([concat(head), self.block(&parts.body, column)])
            }
        }
    }

    fn assigned(&mut self, target: Doc, symbol: &str, value: &Expr) -> Doc {
        let symbol = [text(" "), self.token(symbol), text(" ")];
        let value = self.expression(value, Lines::Fixed);
        concat([target, concat(symbol), value, self.drop_token(";")])
    }

    fn imp_if(&mut self, parts: &If<Block>, column: usize) -> Doc {
        let mut docs = vec![];
        for (i, (condition, block)) in parts.branches.iter().enumerate() {
            if i > 0 {
                docs.push(self.next_line());
            }
            docs.extend([self.token(if i == 0 { "if" } else { "elif" }), text(" ")]);
            docs.extend([self.expression(condition, Lines::Fixed), self.block(block, column)]);
        }
        docs.extend([self.next_line(), self.token("else"), self.block(&parts.otherwise, column)]);
        concat(docs)
    }

    /// `x = e with a, b = c` behind the word of a `match`, `switch` or `fold`.
    fn imp_head(&mut self, word: &str, bind: &Option<Ident>, arg: &Expr, with: &[(Ident, Option<Expr>)]) -> Doc {
        let mut docs = vec![self.token(word), text(" ")];
        if let Some(bind) = bind {
            docs.extend([self.token(&bind.node), text(" "), self.token("="), text(" ")]);
        }
        docs.push(self.expression(arg, Lines::Fixed));
        if !with.is_empty() {
            docs.extend([text(" "), self.token("with"), text(" "), self.state(with, Syntax::Imperative)]);
        }
        concat(docs)
    }

    /// `a, b = c`.
    pub fn state(&mut self, variables: &[(Ident, Option<Expr>)], syntax: Syntax) -> Doc {
        let mut docs = vec![];
        for (i, (name, value)) in variables.iter().enumerate() {
            if i > 0 {
                docs.extend([self.separator(Separator::Comma), text(" ")]);
            }
            docs.push(self.token(&name.node));
            if let Some(value) = value {
                docs.extend([text(" "), self.token("="), text(" ")]);
                docs.push(match syntax {
                    Syntax::Imperative => self.expression(value, Lines::Fixed),
                    Syntax::Functional => self.term(value),
                });
            }
        }
        docs.push(self.drop_token(","));
        concat(docs)
    }

    fn imp_match(&mut self, word: &str, parts: &Match<Block>, column: usize) -> Doc {
        let head = self.imp_head(word, &parts.bind, &parts.arg, &parts.with);
        let column = column + INDENTATION;
        let arms = self.lines(&parts.arms, column, |walker, arm| {
            let name = arm.name.as_ref().map_or("_", |name| name.node.as_str());
            let head = [walker.token("case"), text(" "), walker.token(name)];
            concat([concat(head), walker.block(&arm.body, column)])
        });
        concat([head, arms])
    }

    fn imp_switch(&mut self, parts: &Switch<Block>, column: usize) -> Doc {
        let head = self.imp_head("switch", &parts.bind, &parts.arg, &parts.with);
        let column = column + INDENTATION;
        let blocks: Vec<&Block> = parts.cases.iter().chain([&parts.default]).collect();
        let cases = self.lines(&blocks, column, |walker, block| {
            let head = [walker.token("case"), text(" "), walker.label()];
            concat([concat(head), walker.block(block, column)])
        });
        concat([head, cases])
    }

    /// The number or the `_` of a case.
    pub fn label(&mut self) -> Doc {
        if self.comes("_") { self.token("_") } else { self.natural() }
    }

    fn imp_bend(&mut self, parts: &Bend<Block>, column: usize) -> Doc {
        let head = concat([self.token("bend"), text(" "), self.state(&parts.state, Syntax::Imperative)]);
        let column = column + INDENTATION;
        let branches = [("when", Some(&parts.condition), &parts.step), ("else", None, &parts.base)];
        let branches = self.lines(&branches, column, |walker, (word, condition, block)| {
            let mut docs = vec![walker.token(word)];
            if let Some(condition) = condition {
                docs.extend([text(" "), walker.expression(condition, Lines::Fixed)]);
            }
            docs.push(walker.block(block, column));
            concat(docs)
        });
        concat([head, branches])
    }
}

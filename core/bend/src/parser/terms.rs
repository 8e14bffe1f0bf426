//! Terms: the expressions of the functional syntax. A line end means nothing in them.

use super::statements::IF_NEEDS_ELSE;
use super::{Parsed, Parser, Separator};
use crate::ast::*;
use girih_base::diag::{Code, Diagnostic};

impl Parser<'_, '_> {
    /// A term.
    pub(super) fn term(&mut self) -> Parsed<Expr> {
        self.nested(|p| {
            p.with_free_lines(|p| {
                p.skip();
                let start = p.cursor.at();
                let kind = p.term_kind()?;
                Ok(Node::new(kind, p.cursor.span_from(start)))
            })
        })
    }

    fn boxed_term(&mut self) -> Parsed<Box<Expr>> {
        Ok(Box::new(self.term()?))
    }

    fn term_kind(&mut self) -> Parsed<ExprKind> {
        match self.cursor.peek() {
            Some('λ' | '@') => self.fun_lambda(),
            Some('(') => self.bracketed("(", ")", Parser::parenthesised_term),
            Some('[') => {
                Ok(ExprKind::List(self.bracketed("[", "]", |p| p.elements(Separator::OptionalComma, Parser::term))?))
            }
            Some('{') => self.fun_superposition(),
            Some('!') => self.fun_tree(),
            Some('$') => self.link(),
            Some('*') => {
                self.cursor.advance("*".len());
                Ok(ExprKind::Era)
            }
            Some('#') => {
                self.cursor.advance("#".len());
                Ok(ExprKind::Nat(self.natural()?))
            }
            Some(_) => self.literal_keyword_or_variable(),
            None => Err(self.expected("an expression")),
        }
    }

    fn literal_keyword_or_variable(&mut self) -> Parsed<ExprKind> {
        if self.cursor.starts_with("+ ") {
            return Err(self.no_term());
        }
        if let Some(literal) = self.literal()? {
            return Ok(literal);
        }
        if self.at_binding() {
            return self.bindings();
        }
        if self.cursor.eat_keyword("if") {
            return self.fun_if();
        }
        if self.cursor.eat_keyword("match") {
            return Ok(ExprKind::Match(Box::new(self.fun_match()?)));
        }
        if self.cursor.eat_keyword("fold") {
            return Ok(ExprKind::Fold(Box::new(self.fun_match()?)));
        }
        if self.cursor.eat_keyword("switch") {
            return self.fun_switch();
        }
        if self.cursor.eat_keyword("bend") {
            return self.fun_bend();
        }
        if self.cursor.eat_keyword("with") {
            let monad = self.name("the name of a type")?;
            let body = self.braced_term()?;
            return Ok(ExprKind::With(Box::new(With { monad, body })));
        }
        if self.cursor.word().is_empty() && !self.at_primitive() {
            return Err(self.no_term());
        }
        self.reference()
    }

    /// `λx λy e`: one lambda of all its patterns, also where parentheses stand between them.
    fn fun_lambda(&mut self) -> Parsed<ExprKind> {
        let mut patterns = vec![];
        while self.eat("λ") || self.eat("@") {
            patterns.push(self.simple_pattern()?);
            self.skip();
        }
        let body = self.term()?;
        let ExprKind::Lambda(more, body) = body.node else { return Ok(ExprKind::Lambda(patterns, Box::new(body))) };
        patterns.extend(more);
        Ok(ExprKind::Lambda(patterns, body))
    }

    /// What stands between parentheses: an operation, a tuple, a call, or one term.
    fn parenthesised_term(&mut self) -> Parsed<ExprKind> {
        self.skip();
        if let Some(op) = self.cursor.operator().filter(|op| !self.starts_operand(*op)) {
            self.cursor.advance(op.symbol().len());
            let left = self.boxed_term()?;
            let right = self.boxed_term()?;
            self.close("")?;
            return Ok(ExprKind::Op(op, left, right));
        }
        let head = self.term()?;
        if self.closes() {
            return Ok(head.node);
        }
        if let Some(op) = self.infix_operator() {
            return Err(self.infix_operation(op, &head));
        }
        if self.eat(",") {
            let mut parts = vec![head, self.term()?];
            self.separate(Separator::Comma)?;
            parts.extend(self.elements(Separator::Comma, Parser::term)?);
            return Ok(ExprKind::Tuple(parts));
        }
        let arguments = self.elements(Separator::None, |p| {
            p.no_infix("an argument or `)`")?;
            p.term()
        })?;
        Ok(ExprKind::Call(Box::new(head), arguments))
    }

    /// Whether an operator's symbol behind `(` is the start of an operand: `(+1 2)`, `(*, 1)`, `(*)`, `(%sin x)`.
    fn starts_operand(&self, op: BinOp) -> bool {
        let mut behind = self.cursor;
        behind.advance(op.symbol().len());
        match op {
            BinOp::Add | BinOp::Sub => behind.peek().is_some_and(|c| c.is_ascii_digit()),
            BinOp::Rem => self.at_primitive(),
            BinOp::Mul => {
                behind.skip_trivia();
                behind.starts_with(",") || behind.starts_with(")")
            }
            _ => false,
        }
    }

    fn fun_superposition(&mut self) -> Parsed<ExprKind> {
        let start = self.cursor.at();
        let parts = self.bracketed("{", "}", |p| p.elements(Separator::OptionalComma, Parser::term))?;
        if parts.len() >= 2 {
            return Ok(ExprKind::Sup(parts));
        }
        let span = self.cursor.span_from(start);
        let message = "expected two or more expressions in a superposition";
        Err(if parts.is_empty() {
            self.error_with_hint(Code::UnexpectedText, span, message, "an empty map is `Map/empty`")
        } else {
            self.error(Code::UnexpectedText, span, message)
        })
    }

    /// `![l, r]` or `!x`.
    fn fun_tree(&mut self) -> Parsed<ExprKind> {
        self.cursor.advance("!".len());
        if !self.cursor.starts_with("[") {
            return Ok(ExprKind::TreeLeaf(self.boxed_term()?));
        }
        self.bracketed("[", "]", |p| {
            let left = p.boxed_term()?;
            p.eat(",");
            let right = p.boxed_term()?;
            p.eat(",");
            p.close("")?;
            Ok(ExprKind::TreeNode(left, right))
        })
    }

    fn at_binding(&self) -> bool {
        ["let", "use", "ask", "open", "def"].into_iter().any(|keyword| self.cursor.at_keyword(keyword))
    }

    /// A chain of bindings and what they scope over.
    fn bindings(&mut self) -> Parsed<ExprKind> {
        let mut bindings = vec![];
        while self.at_binding() {
            let keyword = self.cursor.word();
            bindings.push(self.binding()?);
            if !self.eat(";") && keyword != "def" {
                self.binding_is_over(keyword)?;
            }
            self.skip();
        }
        let body = self.term()?;
        let ExprKind::Let(more, body) = body.node else { return Ok(ExprKind::Let(bindings, Box::new(body))) };
        bindings.extend(more);
        Ok(ExprKind::Let(bindings, body))
    }

    fn binding(&mut self) -> Parsed<FunBind> {
        if self.cursor.eat_keyword("let") {
            let pattern = self.simple_pattern()?;
            self.expect("=")?;
            return Ok(FunBind::Let(pattern, self.term()?));
        }
        if self.cursor.eat_keyword("ask") {
            let pattern = self.simple_pattern()?;
            self.expect("=")?;
            return Ok(FunBind::Ask(pattern, self.term()?));
        }
        if self.cursor.eat_keyword("use") {
            let name = self.variable("the name of a variable")?;
            self.expect("=")?;
            return Ok(FunBind::Use(name, self.term()?));
        }
        if self.cursor.eat_keyword("open") {
            let ty = self.name("the name of a type")?;
            return Ok(FunBind::Open(ty, self.variable("the name of a variable")?));
        }
        self.expect_keyword("def")?;
        Ok(FunBind::Def(self.equations()?))
    }

    /// `{ e }`.
    fn braced_term(&mut self) -> Parsed<Expr> {
        self.bracketed("{", "}", |p| {
            let term = p.term()?;
            p.close("")?;
            Ok(term)
        })
    }

    fn fun_if(&mut self) -> Parsed<ExprKind> {
        let mut branches = vec![self.fun_branch()?];
        while self.eat_keyword("elif") {
            branches.push(self.fun_branch()?);
        }
        if !self.eat_keyword("else") {
            return Err(self.expected_with_hint("`elif` or `else`", IF_NEEDS_ELSE));
        }
        let otherwise = self.braced_term()?;
        Ok(ExprKind::If(Box::new(If { branches, otherwise })))
    }

    /// A condition and what it guards.
    fn fun_branch(&mut self) -> Parsed<(Expr, Expr)> {
        let condition = self.term()?;
        self.no_infix("`{`")?;
        Ok((condition, self.braced_term()?))
    }

    /// What stands behind `match` or `fold`.
    fn fun_match(&mut self) -> Parsed<Match<Expr>> {
        let (bind, arg) = self.fun_match_arg()?;
        let with = self.fun_with_clause()?;
        let arms = self.bracketed("{", "}", |p| p.elements(Separator::OptionalSemicolon, Parser::fun_arm))?;
        if arms.is_empty() {
            let end = self.cursor.at();
            let span = self.cursor.span(end - "}".len(), end);
            return Err(self.error(Code::UnexpectedText, span, "expected the name of a constructor, found `}`"));
        }
        Ok(Match { bind, arg, with, arms })
    }

    /// `x = e` or `e`.
    fn fun_match_arg(&mut self) -> Parsed<(Option<Ident>, Expr)> {
        let arg = self.term()?;
        self.skip();
        if !self.cursor.starts_with("=") {
            return Ok((None, arg));
        }
        let bind = self.variable_of(arg)?;
        self.expect("=")?;
        Ok((Some(bind), self.term()?))
    }

    /// The name that an expression is, in front of a `=`.
    pub(super) fn variable_of(&mut self, expr: Expr) -> Parsed<Ident> {
        match expr.node {
            ExprKind::Var(name) => Ok(Node::new(name, expr.span)),
            _ => {
                let message = "expected the name of a variable before `=`, found an expression";
                let diagnostic = Diagnostic::new(Code::UnexpectedText, expr.span, message);
                let text = &self.cursor.text()[expr.span.start as usize..expr.span.end as usize];
                Err(match self.brackets.last().copied().filter(|_| text.contains('\n')) {
                    Some(bracket) => self.fail(diagnostic.label(bracket.opened, "this is still open")),
                    None => self.fail(diagnostic.hint("`==` compares two values")),
                })
            }
        }
    }

    /// `with a, b = e`, up to the brace.
    fn fun_with_clause(&mut self) -> Parsed<Vec<(Ident, Option<Expr>)>> {
        if !self.eat_keyword("with") {
            return Ok(vec![]);
        }
        let mut clause = vec![self.fun_state_variable()?];
        while !self.at_brace() {
            clause.push(self.fun_state_variable()?);
        }
        Ok(clause)
    }

    fn at_brace(&mut self) -> bool {
        self.skip();
        self.cursor.starts_with("{")
    }

    /// `x` or `x = e`, and a comma if there is one.
    fn fun_state_variable(&mut self) -> Parsed<(Ident, Option<Expr>)> {
        let name = self.variable("the name of a variable or `{`")?;
        let value = if self.eat("=") { Some(self.term()?) } else { None };
        self.eat(",");
        Ok((name, value))
    }

    fn fun_arm(&mut self) -> Parsed<Arm<Expr>> {
        self.eat("|");
        self.skip();
        let start = self.cursor.at();
        let name = if self.cursor.eat("*") { None } else { Some(self.name("the name of a constructor, `_` or `*`")?) };
        let span = self.cursor.span_from(start);
        self.expect(":")?;
        let body = self.term()?;
        Ok(Arm { name: name.filter(|name| name.node != *"_"), span, body })
    }

    fn fun_switch(&mut self) -> Parsed<ExprKind> {
        let (bind, arg) = self.fun_match_arg()?;
        let with = self.fun_with_clause()?;
        let (cases, default) = self.bracketed("{", "}", Parser::fun_cases)?;
        Ok(ExprKind::Switch(Box::new(Switch { bind, arg, with, cases, default })))
    }

    fn fun_cases(&mut self) -> Parsed<(Vec<Expr>, Expr)> {
        let mut cases = vec![];
        loop {
            self.eat("|");
            let last = self.switch_label(cases.len())?;
            self.expect(":")?;
            let body = self.term()?;
            self.eat(";");
            if last {
                self.close("")?;
                return Ok((cases, body));
            }
            cases.push(body);
        }
    }

    /// The number or the `_` of a case behind `before` others. Returns whether it is the `_`.
    pub(super) fn switch_label(&mut self, before: usize) -> Parsed<bool> {
        self.skip();
        let start = self.cursor.at();
        let hint = "the cases of a `switch` are 0, 1, 2 and so on without a gap, and `_` at the end";
        if self.cursor.eat_keyword("_") {
            if before > 0 {
                return Ok(true);
            }
            let span = self.cursor.span_from(start);
            return Err(self.error_with_hint(Code::SwitchOrder, span, "expected the case 0 first, found `_`", hint));
        }
        if !self.cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
            let what = if before == 0 { "the case `0`".to_owned() } else { format!("the case `{before}` or `_`") };
            return Err(self.expected_with_hint(&what, hint));
        }
        let number = self.natural()?;
        if usize::try_from(number) == Ok(before) {
            return Ok(false);
        }
        let span = self.cursor.span_from(start);
        let message = format!("expected the case {before}, found {number}");
        Err(self.error_with_hint(Code::SwitchOrder, span, message, hint))
    }

    fn fun_bend(&mut self) -> Parsed<ExprKind> {
        let mut state = vec![];
        while !self.at_brace() {
            state.push(self.fun_state_variable()?);
        }
        let (condition, step, base) = self.bracketed("{", "}", |p| {
            p.expect_keyword("when")?;
            let condition = p.term()?;
            p.expect(":")?;
            let step = p.term()?;
            p.eat(";");
            p.expect_keyword("else")?;
            p.expect(":")?;
            let base = p.term()?;
            p.eat(";");
            p.close("")?;
            Ok((condition, step, base))
        })?;
        Ok(ExprKind::Bend(Box::new(Bend { state, condition, step, base })))
    }
}

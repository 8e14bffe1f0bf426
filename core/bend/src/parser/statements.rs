//! Statements of the imperative syntax, and the definitions that they make up.
//!
//! Each statement finishes its last line: behind it the cursor stands at the next token and `column` says in which column.

use super::blocks::INDENTATION;
use super::{Parsed, Parser, Separator};
use crate::ast::*;
use girih_base::diag::Code;
use girih_base::lexer::Cursor;

/// The operators of in-place statements.
const IN_PLACE: [(&str, InPlaceOp); 8] = [
    ("+=", InPlaceOp::Op(BinOp::Add)),
    ("-=", InPlaceOp::Op(BinOp::Sub)),
    ("*=", InPlaceOp::Op(BinOp::Mul)),
    ("/=", InPlaceOp::Op(BinOp::Div)),
    ("&=", InPlaceOp::Op(BinOp::And)),
    ("|=", InPlaceOp::Op(BinOp::Or)),
    ("^=", InPlaceOp::Op(BinOp::Xor)),
    ("@=", InPlaceOp::Map),
];

/// Words that cannot start a statement unless they are the name of a variable that is assigned.
const NOT_STATEMENTS: [&str; 11] =
    ["for", "while", "class", "pass", "else", "elif", "case", "when", "let", "var", "ask"];

/// Why an `else` is missed.
pub(super) const IF_NEEDS_ELSE: &str = "an `if` has an `else`, because it must give a value in every case";

impl InPlaceOp {
    /// Its symbol, `=` included.
    pub fn symbol(self) -> &'static str {
        IN_PLACE.iter().find(|(_, op)| *op == self).map_or("@=", |(symbol, _)| symbol)
    }
}

impl Parser<'_, '_> {
    /// `def f(x: T) -> R: …` in `column`.
    pub(super) fn imp_def(&mut self, column: usize) -> Parsed<ImpDef> {
        let start = self.cursor.at();
        self.expect_keyword("def")?;
        let check = self.check();
        let name = self.name("the name of a function")?;
        self.skip();
        if self.cursor.starts_with("<") || self.cursor.starts_with("[") {
            let hint = "a function is not told its types: a name such as `T` in a type stands for every type";
            return Err(self.expected_with_hint("`(`", hint));
        }
        let params = if self.cursor.starts_with("(") {
            self.bracketed("(", ")", |p| p.elements(Separator::Comma, Parser::param))?
        } else {
            self.skip();
            if !self.cursor.at_keyword("return") && self.cursor.word().starts_with(|c: char| c.is_ascii_lowercase()) {
                let hint = format!("parameters stand in parentheses: `def {}({}):`", name.node, self.cursor.word());
                return Err(self.expected_with_hint("`(`, `->` or `:`", &hint));
            }
            vec![]
        };
        let ret = if self.eat("->") { Some(self.imp_type()?) } else { None };
        self.colon(if ret.is_some() { "`:`" } else { "`->` or `:`" })?;
        let body = self.block(column + INDENTATION)?;
        Ok(ImpDef { span: self.cursor.span_from(start), check, name, params, ret, body })
    }

    fn param(&mut self) -> Parsed<Param> {
        if self.cursor.starts_with("*") {
            let hint = "a function takes a fixed number of arguments: pass a list";
            return Err(self.expected_with_hint("the name of a parameter", hint));
        }
        let name = self.variable("the name of a parameter")?;
        let ty = if self.eat(":") { Some(self.imp_type()?) } else { None };
        if self.eat("=") {
            let hint = "a parameter has no value of its own: every call gives all arguments";
            let span = self.cursor.span_from(self.cursor.at() - "=".len());
            return Err(self.error_with_hint(Code::UnexpectedText, span, "expected `,` or `)`, found `=`", hint));
        }
        Ok(Param { name, ty })
    }

    /// The colon that opens a block.
    fn colon(&mut self, what: &str) -> Parsed<()> {
        if self.eat(":") {
            return Ok(());
        }
        let hint = if self.foreign_symbol().is_some() {
            return Err(self.expected(what));
        } else if self.cursor.starts_with("=") {
            "`==` compares two values; the body of a function stands below a `:`, with `return` in front of its value"
        } else if self.cursor.starts_with(",") && what == "`:`" {
            "one `case` stands for one constructor or number: write one more for the other"
        } else if self.cursor.starts_with("{") {
            "blocks have no braces: they start after a `:` and are indented by two spaces"
        } else if self.cursor.is_at_line_end() {
            "a line that opens a block ends with `:`"
        } else {
            return Err(self.expected(what));
        };
        Err(self.expected_with_hint(what, hint))
    }

    /// A statement in `column`.
    pub(super) fn statement(&mut self, column: usize) -> Parsed<Stmt> {
        let start = self.cursor.at();
        let kind = self.nested(|p| p.statement_kind(column))?;
        Ok(Node::new(kind, self.cursor.span_from(start)))
    }

    fn statement_kind(&mut self, column: usize) -> Parsed<StmtKind> {
        self.reserved_as_name()?;
        if self.cursor.at_keyword("def") {
            return Ok(StmtKind::Def(self.imp_def(column)?));
        }
        if self.cursor.eat_keyword("return") {
            self.skip();
            if self.cursor.peek().is_none_or(|c| c == '\n') {
                let hint =
                    "every function gives a value: write it behind `return`; `return *` returns nothing in particular";
                return Err(self.expected_with_hint("an expression", hint));
            }
            let value = self.tuple_expression()?;
            self.end_of_statement()?;
            return Ok(StmtKind::Return(value));
        }
        if self.cursor.eat_keyword("if") {
            return Ok(StmtKind::If(self.imp_if(column)?));
        }
        if self.cursor.eat_keyword("match") {
            return Ok(StmtKind::Match(self.imp_match(column)?));
        }
        if self.cursor.eat_keyword("fold") {
            return Ok(StmtKind::Fold(self.imp_match(column)?));
        }
        if self.cursor.eat_keyword("switch") {
            return Ok(StmtKind::Switch(self.imp_switch(column)?));
        }
        if self.cursor.eat_keyword("bend") {
            return Ok(StmtKind::Bend(self.imp_bend(column)?));
        }
        if self.cursor.eat_keyword("with") {
            let monad = self.name("the name of a type")?;
            if self.cursor.starts_with("(") {
                let hint =
                    "`with` has the type of its steps, as in `with IO:`; inside of it `IO/FS/read_file` reads a file";
                return Err(self.expected_with_hint("`:`", hint));
            }
            self.colon("`:`")?;
            return Ok(StmtKind::With(With { monad, body: self.block(column + INDENTATION)? }));
        }
        if self.cursor.eat_keyword("open") {
            let ty = self.name("the name of a type")?;
            self.colon("`:` and a variable")?;
            let var = self.variable("the name of a variable")?;
            self.end_of_statement()?;
            return Ok(StmtKind::Open(ty, var));
        }
        if self.cursor.eat_keyword("use") {
            let name = self.variable("the name of a variable")?;
            self.expect("=")?;
            let value = self.tuple_expression()?;
            self.end_of_statement()?;
            return Ok(StmtKind::Use(name, value));
        }
        self.assignment(column)
    }

    /// Goes over a `;`, if there is one, to the next line.
    fn end_of_statement(&mut self) -> Parsed<()> {
        self.eat(";");
        self.skip();
        let hint = if self.foreign_symbol().is_some() {
            return self.end_of_line("an operator or the end of the line");
        } else if self.cursor.at_keyword("if") {
            "`if` is a statement: assign in its branches, and use the variable after it"
        } else if self.cursor.starts_with(")") || self.cursor.starts_with("]") || self.cursor.starts_with("}") {
            "no bracket is open here"
        } else if self.cursor.starts_with("=") {
            "`==` compares two values; a lambda has one expression behind its `:`"
        } else {
            return self.end_of_line("an operator or the end of the line");
        };
        Err(self.expected_with_hint("an operator or the end of the line", hint))
    }

    /// `p = e`, `p <- e`, `x += e`.
    fn assignment(&mut self, column: usize) -> Parsed<StmtKind> {
        let start = self.cursor;
        if NOT_STATEMENTS.contains(&self.cursor.word()) && !starts_assignment(self.cursor) {
            return Err(self.expected("a statement"));
        }
        if self.at_value() {
            return Err(self.no_statement(start, column, "a statement"));
        }
        let target = self.target()?;
        self.skip();
        if self.cursor.eat("<-") {
            let pattern =
                self.pattern_of(target, "`<-` binds a pattern; assign to the map in a statement of its own")?;
            let value = self.tuple_expression()?;
            self.end_of_statement()?;
            return Ok(StmtKind::Ask(pattern, value));
        }
        if self.cursor.starts_with("=") && !self.cursor.starts_with("==") {
            self.cursor.advance("=".len());
            let value = self.tuple_expression()?;
            self.end_of_statement()?;
            return Ok(StmtKind::Assign(target, value));
        }
        if let Some((symbol, op)) = IN_PLACE.into_iter().find(|(symbol, _)| self.cursor.starts_with(symbol)) {
            self.cursor.advance(symbol.len());
            let target = self.in_place_target(target)?;
            let value = self.expression()?;
            self.end_of_statement()?;
            return Ok(StmtKind::InPlace(target, op, value));
        }
        Err(self.no_statement(start, column, "`=`, `<-` or an operator such as `+=`"))
    }

    /// `p` or `m[k]`.
    fn target(&mut self) -> Parsed<Target> {
        if !self.cursor.starts_with("*") && !self.cursor.starts_with("$") && self.at_no_pattern() {
            return Err(self.expected("a statement"));
        }
        let pattern = self.assignment_pattern()?;
        self.skip();
        match pattern.node {
            PatternKind::Var(name) if self.cursor.starts_with("[") => {
                let map = Node::new(name, pattern.span);
                Ok(Target::MapSlot(map, self.key()?))
            }
            _ => Ok(Target::Pattern(pattern)),
        }
    }

    fn at_no_pattern(&self) -> bool {
        self.cursor.word().is_empty() && !self.cursor.starts_with("(") && !self.cursor.starts_with("{")
    }

    fn pattern_of(&mut self, target: Target, hint: &str) -> Parsed<Pattern> {
        match target {
            Target::Pattern(pattern) => Ok(pattern),
            Target::MapSlot(map, _) => {
                let message = format!("expected a pattern, found an entry of the map `{}`", map.node);
                Err(self.error_with_hint(Code::UnexpectedText, map.span, message, hint))
            }
        }
    }

    fn in_place_target(&mut self, target: Target) -> Parsed<InPlaceTarget> {
        match target {
            Target::MapSlot(map, key) => Ok(InPlaceTarget::MapSlot(map, key)),
            Target::Pattern(Node { node: PatternKind::Var(name), span }) => {
                Ok(InPlaceTarget::Var(Node::new(name, span)))
            }
            Target::Pattern(pattern) => {
                let message = "expected a variable or an entry of a map on the left of this operator, found a pattern";
                Err(self.error(Code::UnexpectedText, pattern.span, message))
            }
        }
    }

    fn imp_if(&mut self, column: usize) -> Parsed<If<Block>> {
        let mut branches = vec![self.imp_branch(column)?];
        while self.continues(column, "elif")? {
            branches.push(self.imp_branch(column)?);
        }
        if !self.continues(column, "else")? {
            let hint = else_hint(branches.last().and_then(|(_, body)| body.last()));
            return Err(self.expected_with_hint("`elif` or `else` for this `if`", &hint));
        }
        self.skip();
        if self.cursor.at_keyword("if") {
            return Err(self.expected_with_hint("`:`", "write `elif` for a further condition"));
        }
        self.colon("`:`")?;
        Ok(If { branches, otherwise: self.block(column + INDENTATION)? })
    }

    /// A condition and what it guards.
    fn imp_branch(&mut self, column: usize) -> Parsed<(Expr, Block)> {
        let condition = self.tuple_expression()?;
        self.colon("an operator or `:`")?;
        Ok((condition, self.block(column + INDENTATION)?))
    }

    /// What stands behind `match` or `fold`.
    fn imp_match(&mut self, column: usize) -> Parsed<Match<Block>> {
        let (bind, arg) = self.imp_match_arg()?;
        let with = self.imp_with_clause()?;
        let column = column + INDENTATION;
        self.start_block(column, "a `case`")?;
        let mut arms = vec![];
        while self.column == Some(column) {
            arms.push(self.imp_arm(column)?);
        }
        Ok(Match { bind, arg, with, arms })
    }

    /// `x = e` or `e`.
    fn imp_match_arg(&mut self) -> Parsed<(Option<Ident>, Expr)> {
        let arg = self.expression()?;
        self.skip();
        if !self.cursor.starts_with("=") {
            return Ok((None, arg));
        }
        let bind = self.variable_of(arg)?;
        self.expect("=")?;
        Ok((Some(bind), self.expression()?))
    }

    /// `with a, b = e:`, or the colon alone.
    fn imp_with_clause(&mut self) -> Parsed<Vec<(Ident, Option<Expr>)>> {
        if self.eat_keyword("with") {
            return self.with_free_lines(Parser::imp_state);
        }
        self.colon("an operator, `with` or `:`")?;
        Ok(vec![])
    }

    /// Variables with or without values, up to the colon.
    fn imp_state(&mut self) -> Parsed<Vec<(Ident, Option<Expr>)>> {
        let mut state = vec![];
        loop {
            let name = self.variable("the name of a variable")?;
            let value = if self.eat("=") { Some(self.expression()?) } else { None };
            let has_value = value.is_some();
            state.push((name, value));
            let more = self.eat(",");
            if self.eat(":") {
                return Ok(state);
            }
            if !more {
                return Err(self.expected(if has_value { "an operator, `,` or `:`" } else { "`=`, `,` or `:`" }));
            }
        }
    }

    fn imp_arm(&mut self, column: usize) -> Parsed<Arm<Block>> {
        self.case_keyword()?;
        self.skip();
        let start = self.cursor.at();
        if self.cursor.starts_with("[") {
            let hint = "the cases of a list `xs` are `List/Nil`, and `List/Cons` with `xs.head` and `xs.tail`";
            return Err(self.expected_with_hint("the name of a constructor or `_`", hint));
        }
        let name = self.name("the name of a constructor or `_`")?;
        let span = self.cursor.span_from(start);
        if self.cursor.starts_with("(") || self.cursor.starts_with("{") {
            let hint =
                "leave the fields out: below `case List/Cons:` of a `match xs:` they are `xs.head` and `xs.tail`";
            return Err(self.expected_with_hint("`:`", hint));
        }
        self.colon("`:`")?;
        let body = self.block(column + INDENTATION)?;
        Ok(Arm { name: Some(name).filter(|name| name.node != *"_"), span, body })
    }

    fn case_keyword(&mut self) -> Parsed<()> {
        if self.cursor.eat_keyword("case") {
            return Ok(());
        }
        let hint = "an arm is a line `case List/Nil:`, and what it gives stands below, indented by two more spaces";
        Err(self.expected_with_hint("`case`", hint))
    }

    fn imp_switch(&mut self, column: usize) -> Parsed<Switch<Block>> {
        let (bind, arg) = self.imp_match_arg()?;
        let with = self.imp_with_clause()?;
        let column = column + INDENTATION;
        self.start_block(column, "a `case`")?;
        let mut cases = vec![];
        loop {
            if !self.continues(column, "case")? {
                let hint = "a `switch` ends with `case _`, which matches all other numbers";
                return Err(self.expected_with_hint(&format!("`case {}` or `case _`", cases.len()), hint));
            }
            let last = self.switch_label(cases.len())?;
            self.colon("`:`")?;
            let body = self.block(column + INDENTATION)?;
            if last {
                return Ok(Switch { bind, arg, with, cases, default: body });
            }
            cases.push(body);
        }
    }

    fn imp_bend(&mut self, column: usize) -> Parsed<Bend<Block>> {
        let state = self.with_free_lines(Parser::imp_state)?;
        let column = column + INDENTATION;
        self.start_block(column, "a `when`")?;
        self.expect_keyword("when")?;
        let (condition, step) = self.imp_branch(column)?;
        if !self.continues(column, "else")? {
            let hint = "a `bend` has an `else`, in the column of its `when`, where it ends";
            return Err(self.expected_with_hint("`else` for this `bend`", hint));
        }
        self.colon("`:`")?;
        let base = self.block(column + INDENTATION)?;
        Ok(Bend { state, condition, step, base })
    }
}

/// What to write below an `if` without an `else` whose last branch ends so.
fn else_hint(last: Option<&Stmt>) -> String {
    match last.map(|stmt| &stmt.node) {
        Some(StmtKind::Return(_)) => format!("{IF_NEEDS_ELSE}: indent what follows below an `else:`"),
        Some(
            StmtKind::Assign(Target::Pattern(Node { node: PatternKind::Var(name), .. }), _)
            | StmtKind::InPlace(InPlaceTarget::Var(Node { node: name, .. }), ..),
        ) => {
            format!("{IF_NEEDS_ELSE}: below an `else:`, `{name} = {name}` leaves the variable as it is")
        }
        _ => IF_NEEDS_ELSE.to_owned(),
    }
}

/// Whether a name comes next that is assigned.
fn starts_assignment(mut cursor: Cursor) -> bool {
    cursor.advance(cursor.word().len());
    cursor.skip_inline();
    let in_place = IN_PLACE.iter().any(|(symbol, _)| cursor.starts_with(symbol));
    in_place || ["=", "<-", ",", "["].into_iter().any(|symbol| cursor.starts_with(symbol))
}

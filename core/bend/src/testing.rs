//! The tests of a program: functions `test_*` without parameters, and examples in comments.
//!
//! An example is a line `# >>> EXPRESSION` of a comment, as of Python's doctest; the line below says what the expression gives, as `girih run` prints it. [`add`]
//! turns what a test looks at into definitions of their own: an example's expression, and the two sides of the comparison that a test ends with. So a failing test can show both values.
//!
//! Invariant: nodes keep their places, so that errors point into the test or into the comment. The names of added definitions contain `__`, which no name in a text does.

use crate::ast::*;
use crate::modules::{ModuleId, Modules};
use crate::parser::parse_example;
use girih_base::diag::{Code, Diagnostic, Diagnostics};
use girih_base::name::Name;
use girih_base::span::{SourceId, Sources, Span};

/// What a name starts with that is a test's.
pub(crate) const PREFIX: &str = "test_";

/// What a line of a comment starts with that is an example.
const EXAMPLE: &str = "# >>> ";

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The function's name, or an example's expression.
    pub name: String,
    /// Where that stands.
    pub span: Span,
    /// When it passes.
    pub passes: Passes,
}

/// When a test passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passes {
    /// If the definition gives a number other than 0.
    True(Name),
    /// If its two sides compare so.
    Compares {
        /// The definition that gives the comparison's result.
        whole: Name,
        /// The comparison.
        op: BinOp,
        /// The left side, then the right one.
        sides: [Side; 2],
    },
    /// If the definition gives what is written in a comment.
    Shows {
        /// The definition that gives the expression's value.
        def: Name,
        /// The value, as it is printed.
        expected: String,
        /// Where that stands.
        at: Span,
    },
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The definition that gives its value.
    pub def: Name,
    /// Where it stands.
    pub span: Span,
}

/// Finds the tests of the main file in the order of the text, and adds the definitions that they need.
pub(crate) fn add(modules: &mut Modules, sources: &Sources, diags: &mut Diagnostics) -> Vec<Test> {
    let main = &mut modules[ModuleId::new(0)];
    let mut added = vec![];
    let mut tests: Vec<Test> = main.module.items.iter().filter_map(|item| test(item, &mut added)).collect();
    let text = sources.get(main.source).map_or("", |source| &source.text);
    for example in examples(main.source, text, diags) {
        let name = Ident::new(Name::from(format!("example__{}", example.span.start)), example.span);
        tests.push(Test {
            name: sources.snippet(example.span).to_owned(),
            span: example.span,
            passes: Passes::Shows { def: name.node.clone(), expected: example.expected, at: example.at },
        });
        added.push(constant(name, example.expression));
    }
    tests.sort_by_key(|test| test.span);
    main.module.items.extend(added);
    tests
}

/// The test that an item is.
fn test(item: &Item, added: &mut Vec<Item>) -> Option<Test> {
    let (name, tail) = match item {
        Item::Def(def) if def.params.is_empty() => (&def.name, block_tail(&def.body)),
        Item::Equations(def) if is_constant(def) => (&def.name, body(def).and_then(expression_tail)),
        Item::Def(_) | Item::Equations(_) | Item::Import(_) | Item::Type(_) | Item::Hvm(_) => return None,
    };
    if !name.node.starts_with(PREFIX) {
        return None;
    }
    let passes = match tail {
        Some((op, left, right)) => Passes::Compares {
            whole: name.node.clone(),
            op,
            sides: [("left", left), ("right", right)].map(|(side, expression)| {
                let def = Ident::new(Name::from(format!("{}__{side}", name.node)), name.span);
                let span = expression.span;
                added.push(with_tail(item, def.clone(), expression));
                Side { def: def.node, span }
            }),
        },
        None => Passes::True(name.node.clone()),
    };
    Some(Test { name: name.node.to_string(), span: name.span, passes })
}

fn is_constant(def: &FunDef) -> bool {
    let takes_nothing = |signature: &Signature| signature.params.is_empty();
    def.signature.as_ref().is_none_or(takes_nothing) && body(def).is_some()
}

/// The body of a functional definition without parameters.
fn body(def: &FunDef) -> Option<&Expr> {
    match &def.body {
        FunBody::Equation(body) => Some(body),
        FunBody::Rules(rules) => match &rules[..] {
            [rule] if rule.patterns.is_empty() => Some(&rule.body),
            _ => None,
        },
    }
}

/// The comparison that a block ends with, in whatever way it is left.
fn block_tail(block: &Block) -> Option<(BinOp, &Expr, &Expr)> {
    match &block.last()?.node {
        StmtKind::Return(expression) => comparison(expression),
        _ => None,
    }
}

/// The comparison that an expression ends with.
fn expression_tail(expression: &Expr) -> Option<(BinOp, &Expr, &Expr)> {
    match &expression.node {
        ExprKind::Let(_, body) => expression_tail(body),
        _ => comparison(expression),
    }
}

fn comparison(expression: &Expr) -> Option<(BinOp, &Expr, &Expr)> {
    match &expression.node {
        ExprKind::Op(op, left, right) if op.is_comparison() => Some((*op, left, right)),
        _ => None,
    }
}

/// A test that ends with a side of its comparison. It is not checked: the test itself is.
fn with_tail(item: &Item, name: Ident, side: &Expr) -> Item {
    let check = Check::Unchecked;
    match item {
        Item::Def(def) => {
            let mut body = def.body.clone();
            if let Some(last) = body.last_mut() {
                last.node = StmtKind::Return(side.clone());
            }
            Item::Def(ImpDef { check, name, ret: None, body, ..def.clone() })
        }
        Item::Equations(def) => {
            let mut whole = body(def).cloned().unwrap_or_else(|| side.clone());
            replace_tail(&mut whole, side);
            let rule = Rule { span: def.span, patterns: vec![], body: whole };
            Item::Equations(FunDef { check, name, signature: None, body: FunBody::Rules(vec![rule]), span: def.span })
        }
        Item::Import(_) | Item::Type(_) | Item::Hvm(_) => item.clone(),
    }
}

fn replace_tail(expression: &mut Expr, side: &Expr) {
    if let ExprKind::Let(_, body) = &mut expression.node {
        replace_tail(body, side);
    } else {
        *expression = side.clone();
    }
}

/// A definition without parameters that gives an expression.
fn constant(name: Ident, expression: Expr) -> Item {
    let span = expression.span;
    let body = vec![Stmt::new(StmtKind::Return(expression), span)];
    Item::Def(ImpDef { span, check: Check::Default, name, params: vec![], ret: None, body })
}

/// An example of a comment.
struct Example {
    expression: Expr,
    span: Span,
    expected: String,
    at: Span,
}

/// The examples of a file. Those without a value are reported, and so are those that are no expression.
fn examples(source: SourceId, text: &str, diags: &mut Diagnostics) -> Vec<Example> {
    let mut found = vec![];
    let mut lines = lines(text).peekable();
    while let Some((start, line)) = lines.next() {
        let Some(written) = line.strip_prefix(EXAMPLE) else { continue };
        let from = start + EXAMPLE.len();
        let span = Span::new(source, from, from + written.len());
        let value = |(start, line): &(usize, &str)| {
            let value = line.strip_prefix('#').map(str::trim_start).filter(|value| !value.is_empty())?;
            (!line.starts_with(EXAMPLE)).then(|| (start + line.len() - value.len(), value.to_owned()))
        };
        let Some((at, expected)) = lines.peek().and_then(value) else {
            let message = "this example does not say what it gives";
            let hint = "write its value in a comment on the next line, as `girih run` prints it: `# 6`";
            diags.push(Diagnostic::new(Code::UnexpectedText, span, message).hint(hint));
            continue;
        };
        if let Some(expression) = parse_example(source, text, from..from + written.len(), diags) {
            let at = Span::new(source, at, at + expected.len());
            found.push(Example { expression, span, expected, at });
        }
    }
    found
}

/// The lines of a text without the space around them, each with the byte at which it starts.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split_inclusive('\n').map(move |whole| {
        let line = whole.trim();
        let start = next + whole.len() - whole.trim_start().len();
        next += whole.len();
        (start, line)
    })
}

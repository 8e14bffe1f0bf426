//! The rows of the rule table as nets: what meets, and what takes its place. Pictures and the documentation are made of these.

use super::layout::Drawing;
use super::svg::Svg;
use crate::rules::{Effect, Made, Outcome, Part, ROWS, Row};
use crate::word::Kind;
use girih_base::name::Name;
use girih_base::num::{BinOp, Num};
use girih_term::hvm::ast::{Operator, Redex, Tree};
use std::fmt::Write;

/// A row for one pair of kinds.
pub struct Example {
    /// The row.
    pub row: &'static Row,
    /// The kinds that meet.
    pub kinds: (Kind, Kind),
    /// What meets.
    pub before: Redex,
    /// What takes its place, case by case.
    pub after: Vec<(&'static str, Vec<Redex>)>,
}

/// One example of each row that something comes of, with the first of its kinds.
pub fn examples() -> Vec<Example> {
    ROWS.iter().filter_map(example).collect()
}

fn example(row: &'static Row) -> Option<Example> {
    let (left, right) = (*row.left.first()?, *row.right.iter().find(|kind| Some(*kind) != row.left.first())?);
    let right = if row.left.len() == 1 && row.right.contains(&left) && row.right.len() == 1 { left } else { right };
    example_of(row, left, right)
}

fn example_of(row: &'static Row, left: Kind, right: Kind) -> Option<Example> {
    let Effect::Rewrite(outcomes) = row.effect else { return None };
    let before = Redex { parallel: false, left: port(left, "a1", "a2"), right: port(right, "b1", "b2") };
    let after = outcomes.iter().map(|outcome| (outcome.when.says(), links(outcome, left, right))).collect();
    Some(Example { row, kinds: (left, right), before, after })
}

fn links(outcome: &Outcome, left: Kind, right: Kind) -> Vec<Redex> {
    let tree = |part: Part| made(outcome, part, left, right);
    outcome.links.iter().map(|(a, b)| Redex { parallel: false, left: tree(*a), right: tree(*b) }).collect()
}

fn made(outcome: &Outcome, part: Part, left: Kind, right: Kind) -> Tree {
    match part {
        Part::A => port(left, "a1", "a2"),
        Part::B => port(right, "b1", "b2"),
        Part::A1 => var("a1"),
        Part::A2 => var("a2"),
        Part::B1 => var("b1"),
        Part::B2 => var("b2"),
        Part::Wire(i) => var(["w", "x", "y", "z"][usize::from(i) % 4]),
        Part::Era => Tree::Era,
        Part::Result => var("result"),
        Part::Predecessor => var("n-1"),
        Part::New(i) => match outcome.nodes.get(usize::from(i)) {
            Some((kind, [first, second])) => {
                let kind = match kind {
                    Made::Of(kind) => *kind,
                    Made::LikeA => left,
                    Made::LikeB => right,
                };
                let (first, second) = (made(outcome, *first, left, right), made(outcome, *second, left, right));
                node(kind, first, second)
            }
            None => Tree::Era,
        },
    }
}

fn var(name: &str) -> Tree {
    Tree::Var(Name::new(name))
}

/// A port of a kind, with names for what stands at its parts.
fn port(kind: Kind, first: &str, second: &str) -> Tree {
    match kind {
        Kind::Var => var("v"),
        Kind::Ref => Tree::Ref(Name::new("f")),
        Kind::Era => Tree::Era,
        Kind::Num => Tree::Num(Num::U24(7)),
        Kind::Box => Tree::Num(Num::U32(7)),
        kind => node(kind, var(first), var(second)),
    }
}

fn node(kind: Kind, first: Tree, second: Tree) -> Tree {
    let (a, b) = (Box::new(first), Box::new(second));
    match kind {
        Kind::Con => Tree::Con(a, b),
        Kind::Dup => Tree::Dup(a, b),
        Kind::Opr => Tree::Opr(a, b),
        Kind::Swi => Tree::Swi(a, b),
        Kind::Copy => Tree::Copy(a, b),
        Kind::Clo => Tree::Closure(a, b),
        Kind::Box => Tree::Num(Num::U32(7)),
        Kind::Var | Kind::Ref | Kind::Era | Kind::Num => Tree::Operator(Operator::Symbol(BinOp::Add)),
    }
}

/// The whole table as a page of documentation.
pub fn page() -> String {
    let mut page = String::from(PAGE_HEAD);
    page.push_str("| rule | meet | become |\n|---|---|---|\n");
    for row in ROWS {
        let kinds = |kinds: &[Kind]| kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        let becomes = match row.effect {
            Effect::Link => "the two ends are joined".to_owned(),
            Effect::Call => "the definition's net is put in its place".to_owned(),
            Effect::Broken => "nothing: no program makes them meet".to_owned(),
            Effect::Rewrite(_) => example(row).map_or_else(String::new, |example| example.text()),
        };
        let mistake = row.mistake.map_or_else(String::new, |code| format!(" (in a Bend program the error {code})"));
        let meet = format!("{} ~ {}", kinds(row.left), kinds(row.right));
        let _ = writeln!(page, "| {} | {meet} | {becomes}{mistake} |", row.rule.name());
    }
    page.push_str(PAGE_PICTURES);
    page
}

const PAGE_HEAD: &str = "\
# Interaction nets

This page is made from the table of rules in `core/net/src/rules.rs`, and a test compares the two. [Nets](architecture/nets.md) explains how nets are reduced.

A net is made of nodes with three ports. Nodes meet at their principal ports; the trees at a node's other two ports are its parts. Two
linked principal ports interact, and the table says how: it has one row for each pair of kinds.

| text | kind | |
|---|---|---|
| `x` | VAR | an end of a wire; the other end has the same name |
| `@f` | REF | a definition |
| `*` | ERA | erases |
| `5`, `+5`, `5.0`, `[+]`, `[-5]`, `[:-5]`, `[u24]` | NUM | a number of 24 bits, an operator, an operator with its left or right operand, a conversion |
| `5u32`, `+5i32`, `5.0f32` | BOX | a number of 32 bits, or a function on numbers with its first operand |
| `(a b)` | CON | a pair; a function; a call |
| `{a b}` | DUP | a superposition, or an explicit duplication |
| `^{a b}` | COPY | an implicit duplication: it copies a value |
| `$(a b)` | OPR | an operation: the number that meets it is an operand, `a` is the other operand or the operator, `b` the result |
| `?(a b)` | SWI | a choice: a number decides what meets `a`; `b` is the result |
| `<@f a>` | CLO | a function with what it has captured; called with `a` and its argument |
| `[.<=]`, `[.sin]` | NUM | a Bend function: it checks the kinds of its operands |

In the table, `a1` and `a2` are the parts of the left node, `b1` and `b2` those of the right one. Where a row has several kinds, it shows the first.

";

const PAGE_PICTURES: &str = "
The rules as pictures; a triangle's tip is its principal port:

![the rules of interaction nets](images/net-rules.svg)
";

impl Example {
    /// What takes the place of what meets, as text.
    fn text(&self) -> String {
        let case = |(when, redexes): &(&str, Vec<Redex>)| {
            let links: Vec<String> =
                redexes.iter().map(|redex| format!("`{} ~ {}`", redex.left, redex.right)).collect();
            let links = if links.is_empty() { "nothing".to_owned() } else { links.join(", ") };
            if when.is_empty() { links } else { format!("{when}: {links}") }
        };
        let after: Vec<String> = self.after.iter().map(case).collect();
        format!("`{} ~ {}` becomes {}", self.before.left, self.before.right, after.join("; "))
    }
}

/// All rows in one picture.
pub fn picture() -> String {
    let mut svg = Svg::new();
    let mut top = 40.0;
    for example in examples() {
        let name = format!("{}: {} ~ {}", example.row.rule.name(), example.kinds.0.name(), example.kinds.1.name());
        svg.text(150.0, top - 24.0, &name);
        let before = Drawing::new(None, std::slice::from_ref(&example.before));
        svg.drawing(&before, 30.0, top + 10.0);
        let mut left = before.width.max(140.0) + 110.0;
        let mut height = before.height;
        for (when, redexes) in &example.after {
            svg.text(left - 40.0, top + 24.0, "→");
            let after = Drawing::new(None, redexes);
            svg.drawing(&after, left, top + 10.0);
            if redexes.is_empty() {
                svg.text(left + 20.0, top + 24.0, "nothing");
            }
            if !when.is_empty() {
                svg.text(left + 70.0, top - 24.0, when);
            }
            left += after.width.max(90.0) + 110.0;
            height = height.max(after.height);
        }
        top += height + 84.0;
    }
    svg.finish()
}

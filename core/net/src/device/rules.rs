//! The table of rules for kernels: a word for each pair of kinds, and a function that says what takes the place of two ports.
//!
//! Both are written from [`ROWS`](crate::rules::ROWS); nothing here knows a rule.

use crate::book::Semantics;
use crate::rules::{Effect, Made, Outcome, Part, Row, Rule, meeting};
use crate::word::Kind;
use std::fmt::Write;

/// What a redex comes to that is a link or a call; outcomes of the table follow.
const LINK: u32 = 0;
const CALL: u32 = 1;
const FIRST: u32 = 2;

/// Bits of a word of the table, beside the number of the first outcome (0 to 7), the rule (9 to 12) and how many nodes (16 to 18) and wires (19
/// to 21) are made at most.
mod bit {
    pub const SWAPPED: u32 = 1 << 8;
    /// The left port's definition is looked up. No outcome has so high a number.
    pub const DEFINITION: u32 = 1 << 14;
    pub const MISTAKE: u32 = 1 << 15;
    pub const OPERATES: u32 = 1 << 22;
    pub const CHOOSES: u32 = 1 << 23;
    pub const LEFT_NODE: u32 = 1 << 24;
    pub const RIGHT_NODE: u32 = 1 << 25;
}

/// Outcomes of the table, each once, by their numbers from [`FIRST`] on. Those of a row follow each other.
#[derive(Debug, Default)]
pub struct Outcomes {
    all: Vec<&'static [Outcome]>,
}

impl Outcomes {
    /// The number of the first outcome of a row.
    fn number(&mut self, outcomes: &'static [Outcome]) -> u32 {
        let at = self.all.iter().position(|known| *known == outcomes).unwrap_or_else(|| {
            self.all.push(outcomes);
            self.all.len() - 1
        });
        FIRST + self.all[..at].iter().map(|outcomes| outcomes.len() as u32).sum::<u32>()
    }

    /// The words for each pair of kinds, 16 times 16 of them.
    pub fn table(&mut self, semantics: Semantics, boxed: bool) -> Vec<u32> {
        // The lower bits of a word: two of them are numbers, and some are of no kind.
        let kind = |bits: usize| Kind::ALL.get(bits).copied().unwrap_or(Kind::Num);
        (0..256).map(|pair| self.word(kind(pair >> 4), kind(pair & 15), semantics, boxed)).collect()
    }

    fn word(&mut self, a: Kind, b: Kind, semantics: Semantics, boxed: bool) -> u32 {
        let (row, swapped) = meeting(a, b);
        let (left, right) = if swapped { (b, a) } else { (a, b) };
        let first = match row.effect {
            Effect::Link => LINK,
            Effect::Call => CALL,
            Effect::Rewrite(outcomes) => self.number(outcomes),
            Effect::Broken => FIRST,
        };
        let flag = |condition: bool, bit: u32| if condition { bit } else { 0 };
        let mistaken = semantics == Semantics::Values && row.mistake.is_some() || matches!(row.effect, Effect::Broken);
        let copies = row.rule == Rule::Erase && left == Kind::Ref && right == Kind::Dup;
        let calls = matches!(row.effect, Effect::Call);
        first
            | (row.rule as u32) << 9
            | flag(swapped, bit::SWAPPED)
            | flag(calls || copies && semantics == Semantics::Net, bit::DEFINITION)
            | flag(mistaken, bit::MISTAKE)
            | made(row, boxed)
            | flag(row.rule == Rule::Operate, bit::OPERATES)
            | flag(row.rule == Rule::Switch, bit::CHOOSES)
            | flag(left.is_node(), bit::LEFT_NODE)
            | flag(right.is_node(), bit::RIGHT_NODE)
    }

    /// `@rewrite`: what an outcome, by its number, makes of what stands at the ports. It stores the nodes, and gives how many nodes, wires and links there are (4 bits each; bits 12
    /// and 13 say that the left and the right node stay), and the ends of four links.
    ///
    /// Places are looked up where an outcome needs them: most need none.
    pub fn function(&self) -> String {
        let results = ["u32"; RESULTS].join(", ");
        let mut text = format!(
            "fn @rewrite(%nodes: buffer, %lists: buffer, %node_count: u32, %listed: bool, %np: u32, %wp: u32, %case: u32, \
             %x: u32, %y: u32, %x1: u32, %x2: u32, %y1: u32, %y2: u32, %number: u32) -> {results} {{\n"
        );
        let names: Vec<String> = (0..RESULTS).map(|i| format!("%r{i}")).collect();
        let typed: Vec<String> = names.iter().map(|name| format!("{name}: u32")).collect();
        let _ = writeln!(text, "  {} = switch.u32 %case", typed.join(", "));
        let _ = writeln!(text, "  case {LINK} {{\n    yield 0x3100, %x, %y, 0, 0, 0, 0, 0, 0\n  }}");
        for (number, outcome) in (FIRST..).zip(self.all.iter().flat_map(|outcomes| outcomes.iter())) {
            let _ = writeln!(text, "  case {number} {{\n{}  }}", case(outcome));
        }
        let _ = writeln!(text, "  default {{\n    yield {}\n  }}", ["0"; RESULTS].join(", "));
        let _ = writeln!(text, "  return {}\n}}", names.join(", "));
        text
    }
}

/// What `@rewrite` gives: a size, and the ends of four links.
const RESULTS: usize = 9;

/// How many nodes and wires a row's outcomes make at most. A number that needs a node is made where nothing else is, or beside what a choice makes.
fn made(row: &Row, boxed: bool) -> u32 {
    let Effect::Rewrite(outcomes) = row.effect else { return 0 };
    let nodes = outcomes.iter().map(|outcome| outcome.nodes.len() as u32).max().unwrap_or(0);
    let wires = outcomes.iter().map(|outcome| u32::from(outcome.wires)).max().unwrap_or(0);
    let nodes = if boxed && row.rule == Rule::Switch { nodes + 1 } else { nodes };
    nodes << 16 | wires << 19
}

/// The code of an outcome.
fn case(outcome: &Outcome) -> String {
    let mut text = String::new();
    for i in 0..outcome.nodes.len() {
        let _ = writeln!(text, "    %s{i} = call @slot(%lists, 0, (add.u32 %np, {i}), %listed)");
    }
    for i in 0..outcome.wires {
        let _ = writeln!(text, "    %w{i} = call @slot(%lists, %node_count, (add.u32 %wp, {i}), %listed)");
    }
    for (i, (_, [first, second])) in outcome.nodes.iter().enumerate() {
        let parts = [*first, *second].map(|part| operand(part, outcome)).join(", ");
        let _ = writeln!(text, "    call @store_node(%nodes, %s{i}, {parts})");
    }
    let flag = |part: Part, bit: u32| if outcome.keeps(part) { bit } else { 0 };
    let size = outcome.nodes.len() as u32
        | u32::from(outcome.wires) << 4
        | (outcome.links.len() as u32) << 8
        | flag(Part::A, 0x1000)
        | flag(Part::B, 0x2000);
    let links = outcome.links.iter().flat_map(|(a, b)| [*a, *b]).map(|part| operand(part, outcome));
    let mut results: Vec<String> = [size.to_string()].into_iter().chain(links).collect();
    results.resize(RESULTS, "0".to_owned());
    let _ = writeln!(text, "    yield {}", results.join(", "));
    text
}

/// The word of a part as an operand.
fn operand(part: Part, outcome: &Outcome) -> String {
    let new = |i: u8| match outcome.nodes[usize::from(i)].0 {
        Made::Of(kind) => format!("(or.u32 (shl.u32 %s{i}, 4), {})", kind as u32),
        Made::LikeA => format!("(or.u32 (shl.u32 %s{i}, 4), (and.u32 %x, 15))"),
        Made::LikeB => format!("(or.u32 (shl.u32 %s{i}, 4), (and.u32 %y, 15))"),
    };
    match part {
        Part::A => "%x".to_owned(),
        Part::B => "%y".to_owned(),
        Part::A1 => "%x1".to_owned(),
        Part::A2 => "%x2".to_owned(),
        Part::B1 => "%y1".to_owned(),
        Part::B2 => "%y2".to_owned(),
        Part::New(i) => new(i),
        Part::Wire(i) => format!("(shl.u32 %w{i}, 4)"),
        Part::Era => (Kind::Era as u32).to_string(),
        Part::Result | Part::Predecessor => "%number".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{ROWS, When};

    /// Kernels take the first outcome of a row, or the second one in the case that an operand is missing or a number is not zero.
    #[test]
    fn rows_with_two_outcomes_are_those_that_kernels_know() {
        for row in ROWS {
            let Effect::Rewrite(outcomes) = row.effect else { continue };
            let cases: Vec<When> = outcomes.iter().map(|outcome| outcome.when).collect();
            let expected: &[When] = match row.rule {
                Rule::Operate => &[When::Ready, When::Waiting],
                Rule::Switch => &[When::Zero, When::Positive],
                _ => &[When::Always],
            };
            assert_eq!(cases, expected, "{row:?}");
            let fits = |outcome: &Outcome| outcome.nodes.len() <= 4 && outcome.wires <= 4 && outcome.links.len() <= 4;
            assert!(outcomes.iter().all(fits), "{row:?}");
        }
        assert!(ROWS.iter().filter(|row| matches!(row.effect, Effect::Rewrite(_))).count() < 100);
    }
}

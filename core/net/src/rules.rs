//! THE rule table: what happens when two ports meet. One row is one interaction.
//!
//! A row says which kinds of ports meet and what takes their place, as a picture in words: new nodes, new wires and links. The
//! machine ([`super::reduce`]) does what the picture says, [`super::picture`] draws it, and a kernel is to be written from it too; so none
//! of them can disagree. Every pair of kinds has exactly one row; a test holds the table to that.
//!
//! Reduction of interaction nets is confluent, step for step: whatever the order, the same interactions happen the same number of times.

use super::word::{Kind, Word};
use girih_base::diag::Code;

/// What an interaction is called and counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rule {
    /// Two ends of a wire are joined. Not counted.
    Link,
    /// A definition takes the place of its name.
    Call,
    /// Two ports without parts vanish.
    Void,
    /// A port without parts is copied to both parts of a node.
    Erase,
    /// Nodes of one kind join their parts.
    Annihilate,
    /// Nodes of different kinds pass through each other.
    Commute,
    /// A number meets an operation.
    Operate,
    /// A number meets a choice.
    Switch,
    /// A function with captured values is called.
    Apply,
    /// A function with captured values, or a boxed number, is copied.
    Replicate,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 10] = [
        Rule::Link,
        Rule::Call,
        Rule::Void,
        Rule::Erase,
        Rule::Annihilate,
        Rule::Commute,
        Rule::Operate,
        Rule::Switch,
        Rule::Apply,
        Rule::Replicate,
    ];

    /// Its name in statistics and pictures.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Link => "link",
            Rule::Call => "call",
            Rule::Void => "void",
            Rule::Erase => "erase",
            Rule::Annihilate => "annihilate",
            Rule::Commute => "commute",
            Rule::Operate => "operate",
            Rule::Switch => "switch",
            Rule::Apply => "apply",
            Rule::Replicate => "replicate",
        }
    }

    /// Whether it is done before others: it makes the net smaller.
    pub const fn is_urgent(self) -> bool {
        match self {
            Rule::Link | Rule::Void | Rule::Erase | Rule::Annihilate => true,
            Rule::Call | Rule::Commute | Rule::Operate | Rule::Switch | Rule::Apply | Rule::Replicate => false,
        }
    }
}

/// A part of the picture that takes the place of two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The left port itself. A node that is mentioned stays; one that is not is freed.
    A,
    /// The right port itself.
    B,
    /// What stood at the first part of the left node.
    A1,
    /// What stood at the second part of the left node.
    A2,
    /// What stood at the first part of the right node.
    B1,
    /// What stood at the second part of the right node.
    B2,
    /// A new node's principal port.
    New(u8),
    /// An end of a new wire.
    Wire(u8),
    /// `*`.
    Era,
    /// What the numbers give.
    Result,
    /// The number less one.
    Predecessor,
}

impl Part {
    /// Whether both are the left port, or both the right one.
    const fn is(self, own: Part) -> bool {
        matches!((self, own), (Part::A, Part::A) | (Part::B, Part::B))
    }
}

/// The kind of a new node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// This one.
    Of(Kind),
    /// That of the left node.
    LikeA,
    /// That of the right node.
    LikeB,
}

/// Where an interaction depends on numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// It does not.
    Always,
    /// The number is zero.
    Zero,
    /// The number is not zero.
    Positive,
    /// The other operand is a number.
    Ready,
    /// The other operand is still to come.
    Waiting,
}

impl When {
    /// A few words below a picture.
    pub const fn says(self) -> &'static str {
        match self {
            When::Always => "",
            When::Zero => "if the number is 0",
            When::Positive => "if it is not",
            When::Ready => "if the operand is a number",
            When::Waiting => "if it is still to come",
        }
    }
}

/// What takes the place of two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// In which case.
    pub when: When,
    /// The new nodes, with their two parts.
    pub nodes: &'static [(Made, [Part; 2])],
    /// How many new wires there are.
    pub wires: u8,
    /// What is linked with what.
    pub links: &'static [(Part, Part)],
}

impl Made {
    /// The kind, of a node that takes the place of these two.
    #[inline]
    pub const fn kind(self, left: Word, right: Word) -> Kind {
        match self {
            Made::Of(kind) => kind,
            Made::LikeA => left.kind(),
            Made::LikeB => right.kind(),
        }
    }
}

impl Outcome {
    /// Whether the left ([`Part::A`]) or right node ([`Part::B`]) stays: it is mentioned.
    pub const fn keeps(&self, own: Part) -> bool {
        let mut at = 0;
        while at < self.links.len() {
            if self.links[at].0.is(own) || self.links[at].1.is(own) {
                return true;
            }
            at += 1;
        }
        let mut at = 0;
        while at < self.nodes.len() {
            if self.nodes[at].1[0].is(own) || self.nodes[at].1[1].is(own) {
                return true;
            }
            at += 1;
        }
        false
    }
}

/// What an interaction does.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// Two ends of a wire are joined.
    Link,
    /// The body of the left definition takes its place.
    Call,
    /// What the first of these that fits says.
    Rewrite(&'static [Outcome]),
    /// No program makes these two meet: two values, without anybody to ask for one.
    Broken,
}

/// An interaction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What it is called.
    pub rule: Rule,
    /// The kinds of the left port.
    pub left: &'static [Kind],
    /// The kinds of the right port.
    pub right: &'static [Kind],
    /// What happens.
    pub effect: Effect,
    /// The mistake that it is in a Bend program, where values are not just nodes.
    pub mistake: Option<Code>,
}

const LEAVES: &[Kind] = &[Kind::Ref, Kind::Era, Kind::Num];
const DUPLICATORS: &[Kind] = &[Kind::Dup, Kind::Copy];
const TAKERS: &[Kind] = &[Kind::Con, Kind::Opr, Kind::Swi];

const NOTHING: Effect = Effect::Rewrite(&[Outcome { when: When::Always, nodes: &[], wires: 0, links: &[] }]);

const ERASE: Effect = Effect::Rewrite(&[Outcome {
    when: When::Always,
    nodes: &[],
    wires: 0,
    links: &[(Part::A, Part::B1), (Part::A, Part::B2)],
}]);

const ANNIHILATE: Effect = Effect::Rewrite(&[Outcome {
    when: When::Always,
    nodes: &[],
    wires: 0,
    links: &[(Part::A1, Part::B1), (Part::A2, Part::B2)],
}]);

const COMMUTE: Effect = Effect::Rewrite(&[Outcome {
    when: When::Always,
    nodes: &[
        (Made::LikeB, [Part::Wire(0), Part::Wire(1)]),
        (Made::LikeB, [Part::Wire(2), Part::Wire(3)]),
        (Made::LikeA, [Part::Wire(0), Part::Wire(2)]),
        (Made::LikeA, [Part::Wire(1), Part::Wire(3)]),
    ],
    wires: 4,
    links: &[(Part::New(0), Part::A1), (Part::New(1), Part::A2), (Part::New(2), Part::B1), (Part::New(3), Part::B2)],
}]);

const OPERATE: Effect = Effect::Rewrite(&[
    Outcome { when: When::Ready, nodes: &[], wires: 0, links: &[(Part::Result, Part::B2)] },
    Outcome {
        when: When::Waiting,
        nodes: &[(Made::LikeB, [Part::A, Part::B2])],
        wires: 0,
        links: &[(Part::B1, Part::New(0))],
    },
]);

const SWITCH: Effect = Effect::Rewrite(&[
    Outcome {
        when: When::Zero,
        nodes: &[(Made::Of(Kind::Con), [Part::B2, Part::Era])],
        wires: 0,
        links: &[(Part::New(0), Part::B1)],
    },
    Outcome {
        when: When::Positive,
        nodes: &[
            (Made::Of(Kind::Con), [Part::Era, Part::New(1)]),
            (Made::Of(Kind::Con), [Part::Predecessor, Part::B2]),
        ],
        wires: 0,
        links: &[(Part::New(0), Part::B1)],
    },
]);

const APPLY: Effect = Effect::Rewrite(&[Outcome {
    when: When::Always,
    nodes: &[(Made::LikeB, [Part::A2, Part::B])],
    wires: 0,
    links: &[(Part::A1, Part::New(0))],
}]);

const COPY_CLOSURE: Effect = Effect::Rewrite(&[Outcome {
    when: When::Always,
    nodes: &[
        (Made::LikeA, [Part::A1, Part::Wire(0)]),
        (Made::LikeA, [Part::A1, Part::Wire(1)]),
        (Made::LikeB, [Part::Wire(0), Part::Wire(1)]),
    ],
    wires: 2,
    links: &[(Part::New(0), Part::B1), (Part::New(1), Part::B2), (Part::New(2), Part::A2)],
}]);

const COPY_BOX: Effect = Effect::Rewrite(&[Outcome {
    when: When::Always,
    nodes: &[(Made::LikeA, [Part::A1, Part::A2])],
    wires: 0,
    links: &[(Part::A, Part::B1), (Part::New(0), Part::B2)],
}]);

const ERASE_CLOSURE: Effect =
    Effect::Rewrite(&[Outcome { when: When::Always, nodes: &[], wires: 0, links: &[(Part::A, Part::B2)] }]);

const fn row(rule: Rule, left: &'static [Kind], right: &'static [Kind], effect: Effect) -> Row {
    Row { rule, left, right, effect, mistake: None }
}

const fn wrong(mistake: Code, row: Row) -> Row {
    Row { mistake: Some(mistake), ..row }
}

/// The table.
pub const ROWS: &[Row] = &[
    row(Rule::Link, &[Kind::Var], &Kind::ALL, Effect::Link),
    row(Rule::Call, &[Kind::Ref], TAKERS, Effect::Call),
    row(Rule::Erase, LEAVES, DUPLICATORS, ERASE),
    row(Rule::Void, LEAVES, LEAVES, NOTHING),
    row(Rule::Void, LEAVES, &[Kind::Box], NOTHING),
    row(Rule::Void, &[Kind::Box], &[Kind::Box], NOTHING),
    row(Rule::Erase, &[Kind::Era], TAKERS, ERASE),
    wrong(Code::NotAFunction, row(Rule::Erase, &[Kind::Num], &[Kind::Con], ERASE)),
    row(Rule::Erase, &[Kind::Era], &[Kind::Clo], ERASE_CLOSURE),
    row(Rule::Annihilate, &[Kind::Con], &[Kind::Con], ANNIHILATE),
    row(Rule::Annihilate, &[Kind::Dup], &[Kind::Dup], ANNIHILATE),
    row(Rule::Annihilate, &[Kind::Copy], &[Kind::Copy], ANNIHILATE),
    row(Rule::Annihilate, &[Kind::Opr], &[Kind::Opr], ANNIHILATE),
    row(Rule::Annihilate, &[Kind::Swi], &[Kind::Swi], ANNIHILATE),
    row(Rule::Commute, &[Kind::Dup], &[Kind::Copy], COMMUTE),
    row(Rule::Commute, TAKERS, DUPLICATORS, COMMUTE),
    wrong(Code::NotANumber, row(Rule::Commute, &[Kind::Con], &[Kind::Opr, Kind::Swi], COMMUTE)),
    row(Rule::Commute, &[Kind::Opr], &[Kind::Swi], COMMUTE),
    row(Rule::Operate, &[Kind::Num, Kind::Box], &[Kind::Opr], OPERATE),
    row(Rule::Switch, &[Kind::Num, Kind::Box], &[Kind::Swi], SWITCH),
    row(Rule::Apply, &[Kind::Clo], &[Kind::Con], APPLY),
    row(Rule::Replicate, &[Kind::Clo], DUPLICATORS, COPY_CLOSURE),
    row(Rule::Replicate, &[Kind::Box], DUPLICATORS, COPY_BOX),
    wrong(Code::NotAFunction, row(Rule::Void, &[Kind::Box], &[Kind::Con], Effect::Broken)),
    wrong(Code::NotANumber, row(Rule::Void, &[Kind::Clo], &[Kind::Opr, Kind::Swi], Effect::Broken)),
    row(Rule::Void, &[Kind::Clo], &[Kind::Ref, Kind::Num, Kind::Box, Kind::Clo], Effect::Broken),
];

/// Which row tells what happens when two kinds of ports meet, and whether they stand the other way round in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The position of the row.
    pub row: u8,
    /// Whether the first of the two is the right port of the row.
    pub swapped: bool,
}

const KINDS: usize = Kind::ALL.len();

/// For each pair of kinds, its row.
pub static TABLE: [[Entry; KINDS]; KINDS] = table();

const fn table() -> [[Entry; KINDS]; KINDS] {
    let mut table = [[Entry { row: 0, swapped: false }; KINDS]; KINDS];
    let mut row = ROWS.len();
    while row > 0 {
        row -= 1;
        let (left, right) = (ROWS[row].left, ROWS[row].right);
        let mut i = 0;
        while i < left.len() {
            let mut j = 0;
            while j < right.len() {
                let (a, b) = (left[i] as usize, right[j] as usize);
                table[b][a] = Entry { row: row as u8, swapped: true };
                table[a][b] = Entry { row: row as u8, swapped: false };
                j += 1;
            }
            i += 1;
        }
    }
    table
}

/// The row for two kinds of ports, and whether they stand the other way round in it.
#[inline]
pub fn meeting(a: Kind, b: Kind) -> (&'static Row, bool) {
    let entry = TABLE[a as usize][b as usize];
    (&ROWS[entry.row as usize], entry.swapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_kinds_has_one_row() {
        for a in Kind::ALL {
            for b in Kind::ALL {
                let fits = |row: &&Row| {
                    row.left.contains(&a) && row.right.contains(&b) || row.left.contains(&b) && row.right.contains(&a)
                };
                let rows: Vec<&Row> = ROWS.iter().filter(fits).collect();
                assert_eq!(rows.len(), 1, "{} meets {}: {rows:?}", a.name(), b.name());
                let (row, swapped) = meeting(a, b);
                let (left, right) = if swapped { (b, a) } else { (a, b) };
                assert!(row.left.contains(&left) && row.right.contains(&right));
            }
        }
    }

    /// Each part of the two nodes goes to exactly one place, each end of a new wire too, unless something without wires is copied.
    #[test]
    fn outcomes_keep_wires_together() {
        for row in ROWS {
            let Effect::Rewrite(outcomes) = row.effect else { continue };
            for outcome in outcomes {
                let mut parts: Vec<Part> = outcome.links.iter().flat_map(|(a, b)| [*a, *b]).collect();
                parts.extend(outcome.nodes.iter().flat_map(|(_, parts)| parts));
                let count = |part: Part| parts.iter().filter(|other| **other == part).count();
                for wire in 0..outcome.wires {
                    assert_eq!(count(Part::Wire(wire)), 2, "{row:?}");
                }
                for node in 0..outcome.nodes.len() {
                    assert_eq!(count(Part::New(node as u8)), 1, "{row:?}");
                }
                let wired =
                    |kinds: &[Kind]| kinds.iter().all(|kind| kind.is_node() && !matches!(kind, Kind::Box | Kind::Clo));
                for (kinds, own, halves) in
                    [(row.left, Part::A, [Part::A1, Part::A2]), (row.right, Part::B, [Part::B1, Part::B2])]
                {
                    if wired(kinds) {
                        // An operand that is there is a number: it goes into the result.
                        let is_used = |half: Part| outcome.when == When::Ready && half == Part::B1;
                        let expected = |half| usize::from(count(own) != 1 && !is_used(half));
                        assert_eq!(halves.map(count), halves.map(expected), "{row:?}");
                    }
                }
            }
        }
    }
}

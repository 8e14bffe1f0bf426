//! Random nets, which hold machines to each other: small books whose definitions call only those behind them, with all kinds of nodes, leaves and
//! operators on 24-bit numbers.
//!
//! Some have no end, and some come to an operation without a result; most come to a normal form.

use girih_base::name::Name;
use girih_base::num::{BinOp, Num, NumKind};
use girih_base::span::Span;
use girih_term::hvm::ast::{Book, Definition, Net, Operator, Redex, Tree};

/// How deep trees are at most.
const DEPTH: u32 = 4;
/// The most redexes of a definition.
const REDEXES: u32 = 3;
/// The most definitions beside `main`.
const DEFINITIONS: u32 = 4;

const OPERATORS: [BinOp; 13] = [
    BinOp::Add,
    BinOp::Sub,
    BinOp::Mul,
    BinOp::Div,
    BinOp::Rem,
    BinOp::Eq,
    BinOp::Ne,
    BinOp::Lt,
    BinOp::Gt,
    BinOp::And,
    BinOp::Or,
    BinOp::Xor,
    BinOp::Shl,
];

/// The net of a seed.
pub fn book(seed: u64) -> Book {
    let mut random = Random { state: seed ^ 0x9E37_79B9_7F4A_7C15, ends: 0, callees: 0..0 };
    (0..4).for_each(|_| {
        random.below(2);
    });
    let count = 1 + random.below(DEFINITIONS);
    let definitions = (0..=count).map(|i| {
        random.callees = i + 1..count + 1;
        Definition { name: name(i), span: Span::NONE, net: random.net(), mentions: vec![] }
    });
    Book { definitions: definitions.collect() }
}

fn name(definition: u32) -> Name {
    if definition == 0 { Name::new("main") } else { Name::from(format!("d{definition}")) }
}

struct Random {
    state: u64,
    /// Ends of wires in the net so far, to be joined in pairs.
    ends: u32,
    /// The definitions that may be named.
    callees: std::ops::Range<u32>,
}

impl Random {
    /// A number below a bound that is not 0.
    fn below(&mut self, bound: u32) -> u32 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) % u64::from(bound)) as u32
    }

    fn net(&mut self) -> Net {
        self.ends = 0;
        let root = self.tree(DEPTH - 2);
        let redexes = (0..=self.below(REDEXES))
            .map(|_| Redex { parallel: false, left: self.tree(DEPTH - 1), right: self.tree(DEPTH) })
            .collect();
        let mut net = Net { root, redexes };
        self.join(&mut net);
        net
    }

    fn tree(&mut self, depth: u32) -> Tree {
        let is_leaf = depth == 0 || self.below(4) == 0;
        if is_leaf {
            return self.leaf();
        }
        let kind = self.below(10);
        let first = if kind == 8 { Tree::Operator(self.operator()) } else { self.tree(depth - 1) };
        let (a, b) = (Box::new(first), Box::new(self.tree(depth - 1)));
        match kind {
            0..=3 => Tree::Con(a, b),
            4 | 5 => Tree::Dup(a, b),
            6 => Tree::Copy(a, b),
            7 => Tree::Swi(a, b),
            _ => Tree::Opr(a, b),
        }
    }

    fn leaf(&mut self) -> Tree {
        match self.below(12) {
            0 => Tree::Era,
            1 | 2 => Tree::Num(self.number()),
            3 | 4 if !self.callees.is_empty() => {
                let count = self.callees.end - self.callees.start;
                Tree::Ref(name(self.callees.start + self.below(count)))
            }
            5 => Tree::Operator(self.operator()),
            _ => {
                self.ends += 1;
                Tree::Var(Name::new(""))
            }
        }
    }

    fn number(&mut self) -> Num {
        let small = self.below(4);
        match self.below(4) {
            0 => Num::I24(small as i32 - 2),
            1 => Num::f24(small as f32 * 0.75),
            _ => Num::U24(small),
        }
    }

    fn operator(&mut self) -> Operator {
        let op = OPERATORS[self.below(OPERATORS.len() as u32) as usize];
        let has_flipped = matches!(op, BinOp::Sub | BinOp::Div | BinOp::Rem | BinOp::Shl);
        match self.below(6) {
            0 if has_flipped => Operator::FlippedSymbol(op),
            1 => Operator::Partial(op, self.number()),
            2 if has_flipped => Operator::Flipped(op, self.number()),
            3 => Operator::Cast([NumKind::U24, NumKind::I24, NumKind::F24][self.below(3) as usize]),
            _ => Operator::Symbol(op),
        }
    }

    /// Joins the ends in pairs; one that is left over is erased.
    fn join(&mut self, net: &mut Net) {
        let mut names: Vec<Option<Name>> =
            (0..self.ends).map(|end| (end ^ 1 < self.ends).then(|| Name::from(format!("w{}", end / 2)))).collect();
        for end in (1..names.len()).rev() {
            let other = self.below(end as u32 + 1) as usize;
            names.swap(end, other);
        }
        let redexes = net.redexes.iter_mut().flat_map(|redex| [&mut redex.left, &mut redex.right]);
        let mut pending: Vec<&mut Tree> = std::iter::once(&mut net.root).chain(redexes).collect();
        while let Some(tree) = pending.pop() {
            if let Tree::Var(_) = tree {
                *tree = names.pop().flatten().map_or(Tree::Era, Tree::Var);
            } else {
                pending.extend(tree.parts_mut());
            }
        }
    }
}

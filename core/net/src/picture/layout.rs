//! Where the trees of a net stand in a picture: leaves below nodes, the two trees of a redex beside each other, wires between leaves of
//! the same name.

use crate::word::Kind;
use girih_term::hvm::ast::{Redex, Tree};

/// The distance between leaves.
const STEP: f64 = 34.0;
/// The distance between a node and what hangs at it.
const DROP: f64 = 44.0;
/// The distance between trees.
const GAP: f64 = 26.0;
/// The least space of a tree.
const LEAST: f64 = 44.0;

/// Something that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Where its principal port is.
    pub x: f64,
    /// The same.
    pub y: f64,
    /// What it is.
    pub shape: Figure,
}

/// What is drawn at a place.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A node; its parts are marks.
    Node(Kind, [usize; 2]),
    /// A text: a number, a name, `*`.
    Leaf(String),
    /// An end of a wire.
    End(String),
}

/// A drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// What stands where.
    pub marks: Vec<Mark>,
    /// The principal ports that are linked.
    pub redexes: Vec<(usize, usize)>,
    /// The mark of the root, if there is one.
    pub root: Option<usize>,
    /// How wide it is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
}

impl Drawing {
    /// A net: its root, if it has one, and its redexes, from left to right.
    pub fn new(root: Option<&Tree>, redexes: &[Redex]) -> Drawing {
        let mut drawing = Drawing::default();
        drawing.root = root.map(|tree| drawing.beside(tree));
        for redex in redexes {
            let left = drawing.beside(&redex.left);
            let right = drawing.beside(&redex.right);
            drawing.redexes.push((left, right));
        }
        drawing
    }

    /// Puts a tree to the right of what is there.
    fn beside(&mut self, tree: &Tree) -> usize {
        let space = width(tree).max(LEAST);
        let left = self.width + if self.width > 0.0 { GAP } else { 0.0 };
        self.width = left + space;
        self.put(tree, left, space, 0.0)
    }

    fn put(&mut self, tree: &Tree, left: f64, space: f64, y: f64) -> usize {
        self.height = self.height.max(y + DROP);
        let own = self.marks.len();
        let shape = match tree {
            Tree::Var(name) => Figure::End(name.to_string()),
            tree => Figure::Leaf(tree_text(tree)),
        };
        self.marks.push(Mark { x: left + space / 2.0, y, shape });
        let parts: Vec<&Tree> = tree.parts().collect();
        if let [first, second] = parts[..] {
            let (one, two) = (width(first), width(second));
            let share = space * one / (one + two);
            let below = y + DROP;
            let parts = [self.put(first, left, share, below), self.put(second, left + share, space - share, below)];
            self.marks[own].shape = Figure::Node(kind(tree), parts);
        }
        own
    }
}

fn width(tree: &Tree) -> f64 {
    let below: f64 = tree.parts().map(width).sum();
    let text = match tree {
        Tree::Ref(name) => 14.0 + 7.0 * name.len() as f64,
        _ => STEP,
    };
    below.max(text)
}

fn kind(tree: &Tree) -> Kind {
    match tree {
        Tree::Var(_) => Kind::Var,
        Tree::Ref(_) => Kind::Ref,
        Tree::Era => Kind::Era,
        Tree::Num(_) | Tree::Operator(_) => Kind::Num,
        Tree::Con(..) => Kind::Con,
        Tree::Dup(..) => Kind::Dup,
        Tree::Opr(..) => Kind::Opr,
        Tree::Swi(..) => Kind::Swi,
        Tree::Copy(..) => Kind::Copy,
        Tree::Closure(..) => Kind::Clo,
    }
}

/// The text of a leaf; nodes are drawn.
fn tree_text(tree: &Tree) -> String {
    if tree.parts().next().is_some() { String::new() } else { tree.to_string() }
}

//! The text form of interaction nets (`.hvm`, and the bodies of `hvm` definitions) as a tree.

use crate::name::Name;
use crate::num::{BinOp, Num, NumKind};

/// `root & [!]a ~ b …`.
#[derive(Clone, Debug, PartialEq)]
pub struct Net {
    /// The tree at the root.
    pub root: Tree,
    /// The redexes.
    pub redexes: Vec<Redex>,
}

/// `& a ~ b`.
#[derive(Clone, Debug, PartialEq)]
pub struct Redex {
    /// `!`: to be reduced in parallel.
    pub parallel: bool,
    /// The left tree.
    pub left: Tree,
    /// The right tree.
    pub right: Tree,
}

/// A tree of nodes whose leaves are wires.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// `x`: one end of a wire.
    Var(Name),
    /// `@f`.
    Ref(Name),
    /// `*`.
    Era,
    /// `5`, `-3`, `1.5`.
    Num(Num),
    /// `[+]`, `[*2]`, `[:-1]`, `[u24]`.
    Operator(Operator),
    /// `(a b)`.
    Con(Box<Tree>, Box<Tree>),
    /// `{a b}`.
    Dup(Box<Tree>, Box<Tree>),
    /// `$(a b)`.
    Opr(Box<Tree>, Box<Tree>),
    /// `?(a b)`.
    Swi(Box<Tree>, Box<Tree>),
}

/// A number that acts as an operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operator {
    /// `[+]`.
    Symbol(BinOp),
    /// `[:-]`: with exchanged operands.
    FlippedSymbol(BinOp),
    /// `[*2]`: the right operand is known.
    Partial(BinOp, Num),
    /// `[:-1]`: the left operand is known, `1 - x`.
    Flipped(BinOp, Num),
    /// `[u24]`: a conversion.
    Cast(NumKind),
}

impl Net {
    /// The names after `@`.
    pub fn references(&self) -> Vec<&Name> {
        let redexes = self.redexes.iter().flat_map(|redex| [&redex.left, &redex.right]);
        let mut pending: Vec<&Tree> = std::iter::once(&self.root).chain(redexes).collect();
        let mut found = vec![];
        while let Some(tree) = pending.pop() {
            match tree {
                Tree::Ref(name) => found.push(name),
                Tree::Con(a, b) | Tree::Dup(a, b) | Tree::Opr(a, b) | Tree::Swi(a, b) => pending.extend([&**a, &**b]),
                Tree::Var(_) | Tree::Era | Tree::Num(_) | Tree::Operator(_) => {}
            }
        }
        found
    }

    /// The names after `@`, to be changed.
    pub fn references_mut(&mut self) -> Vec<&mut Name> {
        let redexes = self.redexes.iter_mut().flat_map(|redex| [&mut redex.left, &mut redex.right]);
        let mut pending: Vec<&mut Tree> = std::iter::once(&mut self.root).chain(redexes).collect();
        let mut found = vec![];
        while let Some(tree) = pending.pop() {
            match tree {
                Tree::Ref(name) => found.push(name),
                Tree::Con(a, b) | Tree::Dup(a, b) | Tree::Opr(a, b) | Tree::Swi(a, b) => {
                    pending.extend([&mut **a, &mut **b]);
                }
                Tree::Var(_) | Tree::Era | Tree::Num(_) | Tree::Operator(_) => {}
            }
        }
        found
    }
}

//! The text form of interaction nets (`.hvm`, and the bodies of `hvm` definitions) as a tree.

use super::function::Function;
use girih_base::name::Name;
use girih_base::num::{BinOp, Num, NumKind};
use girih_base::span::Span;

/// A text of definitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Book {
    /// The definitions, in the order of the text.
    pub definitions: Vec<Definition>,
}

/// `@name = net`.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its name, without the `@`.
    pub name: Name,
    /// Where its name stands.
    pub span: Span,
    /// What it is.
    pub net: Net,
    /// The names in its net and where they stand, in the order of the text; none of a net that was made, not read.
    pub mentions: Vec<Mention>,
}

/// A name in a net.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// The name of a wire, or of a definition without its `@`.
    pub name: Name,
    /// Whether it is that of a definition.
    pub definition: bool,
    /// Where it stands.
    pub span: Span,
}

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
    /// `[+]`, `[*2]`, `[:-1]`, `[u24]`, `[.<=]`.
    Operator(Operator),
    /// `(a b)`.
    Con(Box<Tree>, Box<Tree>),
    /// `{a b}`.
    Dup(Box<Tree>, Box<Tree>),
    /// `$(a b)`.
    Opr(Box<Tree>, Box<Tree>),
    /// `?(a b)`.
    Swi(Box<Tree>, Box<Tree>),
    /// `^{a b}`: copies a value. Two of them that meet annihilate, but it commutes with `{a b}`.
    Copy(Box<Tree>, Box<Tree>),
    /// `<@f a>`: a function and what it has captured. Copies are whole: nothing goes into the function.
    Closure(Box<Tree>, Box<Tree>),
}

/// A number that acts as an operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operator {
    /// `[+]`.
    Symbol(BinOp),
    /// `[:-]`: with exchanged operands.
    FlippedSymbol(BinOp),
    /// `[-1]`: the left operand is known, `1 - x`.
    Partial(BinOp, Num),
    /// `[:-1]`: the right operand is known, `x - 1`.
    Flipped(BinOp, Num),
    /// `[u24]`: a conversion.
    Cast(NumKind),
    /// `[.<=]`, `[.sin]`: a function as Bend has it, with its kinds of numbers checked.
    Checked(Function),
}

impl Tree {
    /// The trees directly below this one.
    pub fn parts(&self) -> impl Iterator<Item = &Tree> {
        let parts = match self {
            Tree::Var(_) | Tree::Ref(_) | Tree::Era | Tree::Num(_) | Tree::Operator(_) => None,
            Tree::Con(a, b)
            | Tree::Dup(a, b)
            | Tree::Opr(a, b)
            | Tree::Swi(a, b)
            | Tree::Copy(a, b)
            | Tree::Closure(a, b) => Some([&**a, &**b]),
        };
        parts.into_iter().flatten()
    }

    /// The trees directly below this one, to be changed.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Tree> {
        let parts = match self {
            Tree::Var(_) | Tree::Ref(_) | Tree::Era | Tree::Num(_) | Tree::Operator(_) => None,
            Tree::Con(a, b)
            | Tree::Dup(a, b)
            | Tree::Opr(a, b)
            | Tree::Swi(a, b)
            | Tree::Copy(a, b)
            | Tree::Closure(a, b) => Some([&mut **a, &mut **b]),
        };
        parts.into_iter().flatten()
    }
}

impl Net {
    /// All trees, from the root on.
    pub fn trees(&self) -> impl Iterator<Item = &Tree> {
        std::iter::once(&self.root).chain(self.redexes.iter().flat_map(|redex| [&redex.left, &redex.right]))
    }

    /// The names after `@`.
    pub fn references(&self) -> Vec<&Name> {
        let mut pending: Vec<&Tree> = self.trees().collect();
        let mut found = vec![];
        while let Some(tree) = pending.pop() {
            if let Tree::Ref(name) = tree {
                found.push(name);
            }
            pending.extend(tree.parts());
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
                tree => pending.extend(tree.parts_mut()),
            }
        }
        found
    }
}

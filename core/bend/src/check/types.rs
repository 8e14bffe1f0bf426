//! The checker's own representation of types: nodes in one arena, with variables that are solved in place.
//!
//! A [`Ty`] is an index of a node. A solved variable is a link to what it stands for; [`Types::resolve`] follows links,
//! and every function here takes types that may be links. Variables know the *level* of the `let` in whose value they
//! were made; those deeper than the present level are free to be generalised, and generalised ones have the level
//! [`GENERIC`] and are only ever copied. A variable that must be a number has a [`KindSet`] of what it may be.

use girih_base::num::{BinOp, LiteralValue, NumKind};
use girih_term::TypeId;
use girih_term::ty::Type;

/// A type in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ty(u32);

/// The level of variables that stand for every type.
pub(super) const GENERIC: u32 = u32::MAX;

/// A node of the arena.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    Any,
    None,
    Number(NumKind),
    /// The variable of this index of the annotation of the definition that is being checked: equal to itself only.
    Rigid(u32),
    Variable(Variable),
    /// A variable that has been solved.
    Link(Ty),
    Data(TypeId, Parts),
    Tuple(Parts),
    Arrow(Ty, Ty),
}

/// An unsolved variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub level: u32,
    /// If it must be a number: which kinds it may be.
    pub kinds: Option<KindSet>,
    /// Whether it becomes the 24-bit kind of its set when nothing else decides: the variables of literals and of the
    /// values that are switched on. Such a variable is never generalised.
    pub defaults: bool,
    /// Whether it stood in the place of a 32-bit number already. Then it has 32 bits among 24-bit numbers too, unless
    /// something needs it to have 24.
    pub wide: bool,
}

/// Several types that lie side by side in the arena.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    start: u32,
    len: u32,
}

/// A set of kinds of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KindSet(u8);

impl KindSet {
    pub const NUMBER: KindSet = KindSet::of(&NumKind::ALL);
    pub const UNSIGNED: KindSet = KindSet::of(&[NumKind::U24, NumKind::U32]);
    pub const SIGNED: KindSet = KindSet::of(&[NumKind::I24, NumKind::I32]);
    pub const FLOAT: KindSet = KindSet::of(&[NumKind::F24, NumKind::F32]);

    const fn of(kinds: &[NumKind]) -> KindSet {
        let (mut bits, mut i) = (0, 0);
        while i < kinds.len() {
            bits |= 1 << kinds[i] as u8;
            i += 1;
        }
        KindSet(bits)
    }

    /// What the operands of an operator may be.
    pub fn of_operands(op: BinOp) -> KindSet {
        let bits =
            NumKind::ALL.into_iter().filter(|kind| op.supports(*kind)).fold(0, |bits, kind| bits | 1 << kind as u8);
        KindSet(bits)
    }

    /// What a literal may become.
    pub fn of_literal(value: LiteralValue) -> KindSet {
        match value {
            LiteralValue::Unsigned(_) => KindSet::UNSIGNED,
            LiteralValue::Signed(_) => KindSet::SIGNED,
            LiteralValue::Float(_) => KindSet::FLOAT,
        }
    }

    pub fn contains(self, kind: NumKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// The kinds of both sets; none if there is none.
    pub fn meet(self, other: KindSet) -> Option<KindSet> {
        let both = self.0 & other.0;
        (both != 0).then_some(KindSet(both))
    }

    /// The first kind in the order of [`NumKind::ALL`], where the 24-bit kinds come first.
    pub fn first(self) -> NumKind {
        NumKind::ALL.into_iter().find(|k| self.contains(*k)).unwrap_or(NumKind::U24)
    }
}

/// The 32-bit kind of the same family, if this one has 24 bits.
pub(super) fn wider(kind: NumKind) -> Option<NumKind> {
    Some(kind.widened()).filter(|wide| *wide != kind)
}

/// The arena.
pub(super) struct Types {
    nodes: Vec<Node>,
    parts: Vec<Ty>,
    /// How many `let` values enclose the term that is being inferred.
    pub level: u32,
    /// Steps that the running operation may still take; see [`super::unify`].
    pub fuel: u32,
}

impl Types {
    pub const ANY: Ty = Ty(0);
    pub const NONE: Ty = Ty(1);

    pub fn new() -> Types {
        let mut nodes = vec![Node::Any, Node::None];
        nodes.extend(NumKind::ALL.map(Node::Number));
        Types { nodes, parts: Vec::new(), level: 0, fuel: 0 }
    }

    pub fn number(kind: NumKind) -> Ty {
        Ty(2 + kind as u32)
    }

    fn add(&mut self, node: Node) -> Ty {
        let ty = Ty(u32::try_from(self.nodes.len()).expect("a group of definitions has less than 2^32 types"));
        self.nodes.push(node);
        ty
    }

    fn add_parts(&mut self, parts: &[Ty]) -> Parts {
        let start = u32::try_from(self.parts.len()).expect("a group of definitions has less than 2^32 types");
        self.parts.extend_from_slice(parts);
        Parts { start, len: parts.len() as u32 }
    }

    pub fn data(&mut self, ty: TypeId, arguments: &[Ty]) -> Ty {
        let parts = self.add_parts(arguments);
        self.add(Node::Data(ty, parts))
    }

    pub fn tuple(&mut self, parts: &[Ty]) -> Ty {
        let parts = self.add_parts(parts);
        self.add(Node::Tuple(parts))
    }

    pub fn arrow(&mut self, from: Ty, to: Ty) -> Ty {
        self.add(Node::Arrow(from, to))
    }

    pub fn rigid(&mut self, index: u32) -> Ty {
        self.add(Node::Rigid(index))
    }

    pub fn variable(&mut self, variable: Variable) -> Ty {
        self.add(Node::Variable(variable))
    }

    /// A new variable about which nothing is known.
    pub fn fresh(&mut self) -> Ty {
        self.variable(Variable { level: self.level, kinds: None, defaults: false, wide: false })
    }

    /// As many new variables.
    pub fn fresh_many(&mut self, count: usize) -> Vec<Ty> {
        (0..count).map(|_| self.fresh()).collect()
    }

    /// A new variable for a number.
    pub fn fresh_number(&mut self, kinds: KindSet, defaults: bool) -> Ty {
        self.variable(Variable { level: self.level, kinds: Some(kinds), defaults, wide: false })
    }

    /// What a type stands for. Links on the way are shortened.
    pub fn resolve(&mut self, ty: Ty) -> Ty {
        let mut end = ty;
        while let Node::Link(next) = self.nodes[end.0 as usize] {
            end = next;
        }
        let mut at = ty;
        while let Node::Link(next) = self.nodes[at.0 as usize] {
            self.nodes[at.0 as usize] = Node::Link(end);
            at = next;
        }
        end
    }

    /// The node that a type stands for; never a link.
    pub fn node(&mut self, ty: Ty) -> Node {
        let ty = self.resolve(ty);
        self.nodes[ty.0 as usize]
    }

    pub fn parts(&self, parts: Parts) -> &[Ty] {
        &self.parts[parts.start as usize..(parts.start + parts.len) as usize]
    }

    /// One of several types.
    pub fn part(&self, parts: Parts, index: usize) -> Ty {
        self.parts(parts)[index]
    }

    /// Solves a variable.
    pub fn link(&mut self, variable: Ty, to: Ty) {
        debug_assert!(matches!(self.nodes[variable.0 as usize], Node::Variable(_)) && variable != to);
        self.nodes[variable.0 as usize] = Node::Link(to);
    }

    /// Changes what is known of an unsolved variable.
    pub fn set_variable(&mut self, ty: Ty, variable: Variable) {
        self.nodes[ty.0 as usize] = Node::Variable(variable);
    }

    /// A finished type with these types for its parameters. What is a hole in it becomes `Any`.
    pub fn import(&mut self, ty: &Type, params: &[Ty]) -> Ty {
        match ty {
            Type::Any | Type::Hole | Type::Var(_) => Types::ANY,
            Type::None => Types::NONE,
            Type::Num(kind) => Types::number(*kind),
            Type::Param(i) => params.get(*i as usize).copied().unwrap_or(Types::ANY),
            Type::Data(ty, arguments) => {
                let arguments: Vec<Ty> = arguments.iter().map(|a| self.import(a, params)).collect();
                self.data(*ty, &arguments)
            }
            Type::Tuple(parts) => {
                let parts: Vec<Ty> = parts.iter().map(|p| self.import(p, params)).collect();
                self.tuple(&parts)
            }
            Type::Arrow(from, to) => {
                let (from, to) = (self.import(from, params), self.import(to, params));
                self.arrow(from, to)
            }
        }
    }
}

impl Parts {
    pub fn len(self) -> usize {
        self.len as usize
    }
}

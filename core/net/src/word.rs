//! A port of a net as a word of 32 bits: what stands at the end of a wire.
//!
//! The low four bits say what it is, the upper 28 which one. Numbers take two of the sixteen tags, so that 29 bits are left
//! for them: a kind of five bits below 24 bits of value (see [`super::number`]). A processor of any kind can keep, compare and
//! exchange such words atomically.

/// What a port belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A wire whose other end is elsewhere: an index of a wire.
    Var = 0,
    /// A definition that has not been called: an index of a definition.
    Ref = 1,
    /// `*`: erases what it meets.
    Era = 2,
    /// A number of 24 bits, or an operator.
    Num = 3,
    /// A pair, a function, or a call: the principal port of a node.
    Con = 4,
    /// An explicit duplication or a superposition.
    Dup = 5,
    /// An operation that waits for an operand.
    Opr = 6,
    /// A choice that waits for a number.
    Swi = 7,
    /// An implicit duplication: it copies a value.
    Copy = 8,
    /// A function with the values that it has captured. The first part is a definition.
    Clo = 9,
    /// A number of 32 bits, or a function on numbers with its first operand: two plain words.
    Box = 10,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 11] = [
        Kind::Var,
        Kind::Ref,
        Kind::Era,
        Kind::Num,
        Kind::Con,
        Kind::Dup,
        Kind::Opr,
        Kind::Swi,
        Kind::Copy,
        Kind::Clo,
        Kind::Box,
    ];

    /// Whether it is a node, with two parts in memory.
    #[inline]
    pub const fn is_node(self) -> bool {
        match self {
            Kind::Var | Kind::Ref | Kind::Era | Kind::Num => false,
            Kind::Con | Kind::Dup | Kind::Opr | Kind::Swi | Kind::Copy | Kind::Clo | Kind::Box => true,
        }
    }

    /// Its name in texts and pictures.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Var => "VAR",
            Kind::Ref => "REF",
            Kind::Era => "ERA",
            Kind::Num => "NUM",
            Kind::Con => "CON",
            Kind::Dup => "DUP",
            Kind::Opr => "OPR",
            Kind::Swi => "SWI",
            Kind::Copy => "COPY",
            Kind::Clo => "CLO",
            Kind::Box => "BOX",
        }
    }
}

/// A port.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Word(pub u32);

/// How many wires, nodes or definitions words can name.
pub const INDICES: u32 = 1 << 28;

impl Word {
    /// Nothing: a wire that has not been connected yet. No port has this word, since wire 0 is never used.
    pub const NONE: Word = Word(0);
    /// `*`.
    pub const ERA: Word = Word::new(Kind::Era, 0);

    /// The port of a wire, node or definition. Indices are below [`INDICES`].
    #[inline]
    pub const fn new(kind: Kind, index: u32) -> Word {
        Word(index << 4 | kind as u32)
    }

    /// A number of 29 bits, its kind included.
    #[inline]
    pub const fn number(payload: u32) -> Word {
        Word(payload << 3 | Kind::Num as u32)
    }

    /// What it is.
    #[inline]
    pub const fn kind(self) -> Kind {
        match self.0 & 15 {
            0 => Kind::Var,
            1 => Kind::Ref,
            2 => Kind::Era,
            4 => Kind::Con,
            5 => Kind::Dup,
            6 => Kind::Opr,
            7 => Kind::Swi,
            8 => Kind::Copy,
            9 => Kind::Clo,
            10 => Kind::Box,
            3 | 11 => Kind::Num,
            // No such word is made; it would be a number of no kind.
            _ => Kind::Num,
        }
    }

    /// Which wire, node or definition it is.
    #[inline]
    pub const fn index(self) -> usize {
        (self.0 >> 4) as usize
    }

    /// The 29 bits of a number.
    #[inline]
    pub const fn payload(self) -> u32 {
        self.0 >> 3
    }
}

impl std::fmt::Debug for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind() {
            Kind::Num => write!(f, "NUM:{:x}", self.payload()),
            kind => write!(f, "{}:{}", kind.name(), self.index()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_what_they_are_made_of() {
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Num) {
            for index in [1, 77, INDICES - 1] {
                let word = Word::new(kind, index);
                assert_eq!((word.kind(), word.index()), (kind, index as usize));
            }
        }
        for payload in [0, 1, 12345, (1 << 29) - 1] {
            let word = Word::number(payload);
            assert_eq!((word.kind(), word.payload()), (Kind::Num, payload));
        }
    }
}

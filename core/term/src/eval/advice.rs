//! What to write instead, where a value has met something that is not made for it: the habits of other languages that end here.
//!
//! The checker says the same of annotated functions before they run (`check/hints.rs` of `girih-bend`).

use super::Machine;
use super::value::Word;

const ANNOTATE: &str = "annotate the types of the function, so that the checker finds this before it runs";

/// What a value is, as far as hints tell it apart.
enum Found<'p> {
    Number,
    Tuple,
    /// Of the data type of this name.
    Data(&'p str),
    Other,
}

impl Machine {
    /// A hint for a match on the type `expected` that has met something else.
    pub(super) fn advice_for_match(&self, expected: &str, word: Word) -> &'static str {
        match (expected, self.found(word)) {
            ("Map", Found::Data("List" | "String")) => {
                "`x[key]` reads a map; `match` takes a list apart into `x.head` and `x.tail`, and a function that calls itself finds the nth element"
            }
            ("Map", Found::Tuple) => "`x[key]` reads a map; a tuple is taken apart by `(a, b) = x`",
            ("Map", Found::Data(_)) => "`x[key]` reads a map; `match` takes other values apart",
            ("String", Found::Number) => {
                "`u24/to_string(n)` makes text of a number, as its siblings do for other kinds"
            }
            ("List", Found::Number) => "`[n]` is the list of one number",
            ("List", Found::Tuple) => "a list is written `[a, b]`, a tuple `(a, b)`",
            ("IO", Found::Number | Found::Tuple | Found::Data(_)) => {
                "`wrap(…)` inside `with IO:` makes an IO of a value; a line without a step is written `x = …`, not `x <- …`"
            }
            _ => ANNOTATE,
        }
    }

    /// A hint for an operation on numbers that has met something else.
    pub(super) fn advice_for_number(&self, operation: &str, word: Word) -> &'static str {
        match (operation.trim_matches('`'), self.found(word)) {
            ("the operator `+", Found::Data("String")) => {
                "text is joined by `String/concat(a, b)`, and `u24/to_string(n)` makes text of a number"
            }
            ("the operator `+", Found::Data("List")) => "lists are joined by `List/concat(a, b)`",
            ("the operator `+", Found::Data("Map")) => "`Map/set(map, key, value)` adds an entry",
            ("the operator `==" | "the operator `!=", Found::Data("String")) => {
                "texts are compared by `String/equals(a, b)`; the keys of a map are numbers, never text"
            }
            ("the operator `==" | "the operator `!=", Found::Data(_)) => {
                "`match` tells constructors apart; only numbers are compared by operators"
            }
            (_, Found::Data("String")) => {
                "text is no number; `match` takes it apart into characters, and `String/concat(a, b)` joins it"
            }
            (_, Found::Data("Tree")) => "`!x` makes a leaf of a tree: write `x == 0` for the opposite of a condition",
            (_, Found::Data("IO")) => "inside `with IO:`, `x <- step` gives a name to what a step gives",
            (_, Found::Data("Maybe" | "Result")) => {
                "`match` takes it apart; `Maybe/unwrap` and `Result/unwrap` give what is inside"
            }
            (_, Found::Tuple) => "a tuple is taken apart by `(a, b) = x`, as is what `List/length` gives",
            (_, Found::Data(_)) => "`match` takes a value apart, and operators work on the numbers inside",
            (_, Found::Number | Found::Other) => {
                "a function is called with all its arguments before its result is a number"
            }
        }
    }

    fn found(&self, word: Word) -> Found<'_> {
        let program = &self.code.tables.program;
        match word {
            Word::Unit(ctor) | Word::Data(ctor, _) => {
                let ctor = program.ctors.get(crate::CtorId::new(u32::from(ctor)));
                ctor.map_or(Found::Other, |ctor| Found::Data(&program.types[ctor.ty].name))
            }
            Word::Pair(_) => Found::Tuple,
            Word::U24(_) | Word::I24(_) | Word::F24(_) | Word::U32(_) | Word::I32(_) | Word::F32(_) => Found::Number,
            Word::Era
            | Word::Make(_)
            | Word::Global(_)
            | Word::Partial(..)
            | Word::Lambda(_)
            | Word::Closure(_)
            | Word::Select(_)
            | Word::Header(_)
            | Word::Moved(_) => Found::Other,
        }
    }
}

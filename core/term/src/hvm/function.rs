//! The functions on numbers that nets compute as Bend does: operators and primitives, on all six kinds of numbers, with an error where
//! the kinds do not fit.
//!
//! Upstream's operators on 24-bit numbers are `number` of the crate of nets; these are beside them, because the nets of Bend programs may not
//! take the bits of one kind for another.

use girih_base::num::{BinOp, Num, NumError};
use girih_base::prim::Prim;

/// A function on numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Of two numbers.
    Op(BinOp),
    /// Of one or two.
    Prim(Prim),
}

impl Function {
    /// All functions; their position here is their number in a net.
    pub fn all() -> impl Iterator<Item = Function> {
        BinOp::ALL.into_iter().map(Function::Op).chain(Prim::ALL.iter().copied().map(Function::Prim))
    }

    /// Its number in a net.
    pub fn number(self) -> u32 {
        match self {
            // In the order of their list.
            Function::Op(op) => op as u32,
            Function::Prim(prim) => {
                let position = Prim::ALL.iter().position(|known| *known == prim);
                // Each primitive stands in the list.
                (BinOp::ALL.len() + position.unwrap_or(0)) as u32
            }
        }
    }

    /// The function of this number.
    pub fn numbered(number: u32) -> Option<Function> {
        match BinOp::ALL.get(number as usize) {
            Some(op) => Some(Function::Op(*op)),
            None => Prim::ALL.get(number as usize - BinOp::ALL.len()).copied().map(Function::Prim),
        }
    }

    /// How it is written: as in Bend, a conversion by its kind.
    pub fn symbol(self) -> &'static str {
        match self {
            Function::Op(op) => op.symbol(),
            Function::Prim(Prim::To(kind)) => kind.name(),
            Function::Prim(prim) => prim.name(),
        }
    }

    /// How many numbers it takes.
    pub fn arity(self) -> usize {
        match self {
            Function::Op(_) => 2,
            Function::Prim(prim) => prim.arity(),
        }
    }

    /// What it gives.
    ///
    /// # Errors
    /// As [`Num::apply`] and [`Prim::apply`].
    pub fn apply(self, args: &[Num]) -> Result<Num, NumError> {
        match (self, args) {
            (Function::Op(op), [a, b]) => Num::apply(op, *a, *b),
            (Function::Op(_), _) => Err(NumError::ArgumentCount(args.len())),
            (Function::Prim(prim), _) => prim.apply(args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_symbols_tell_functions_apart() {
        let all: Vec<Function> = Function::all().collect();
        for (i, &function) in all.iter().enumerate() {
            assert_eq!((function.number() as usize, Function::numbered(function.number())), (i, Some(function)));
            assert!(all[i + 1..].iter().all(|other| other.symbol() != function.symbol()), "{}", function.symbol());
        }
    }
}

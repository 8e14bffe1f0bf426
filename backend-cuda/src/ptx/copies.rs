//! Parallel copies: several registers get new values at once, as at the back edge of a loop.
//!
//! Invariant: every source is read before it is overwritten, cycles (a swap) included.

use super::registers::{Bank, Reg};
use std::fmt;

/// What an instruction reads: a register, or a number in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// A register.
    Reg(Reg),
    /// An integer, or the bits of a short float.
    Int(i64),
    /// Bits of an `f32`.
    F32(u32),
    /// Bits of an `f64`.
    F64(u64),
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Reg(reg) => write!(f, "{reg}"),
            Operand::Int(value) => write!(f, "{value}"),
            Operand::F32(bits) => write!(f, "0f{bits:08X}"),
            Operand::F64(bits) => write!(f, "0d{bits:016X}"),
        }
    }
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Operand {
        Operand::Reg(reg)
    }
}

/// An order of single moves that does what the copies do at once; `bank` gives a register where there is a cycle.
pub(super) fn order(copies: &[(Reg, Operand)], bank: &mut Bank) -> Vec<(Reg, Operand)> {
    let mut pending: Vec<(Reg, Operand)> =
        copies.iter().copied().filter(|(to, from)| Operand::Reg(*to) != *from).collect();
    let mut moves = Vec::with_capacity(pending.len());
    while !pending.is_empty() {
        let before = pending.len();
        let mut i = 0;
        while i < pending.len() {
            let (to, from) = pending[i];
            if pending.iter().any(|(_, other)| *other == Operand::Reg(to)) {
                i += 1;
            } else {
                moves.push((to, from));
                pending.swap_remove(i);
            }
        }
        if pending.len() == before {
            // Only cycles are left: the old value of one register is kept aside.
            let (to, _) = pending[0];
            let kept = bank.fresh(to.class);
            moves.push((kept, to.into()));
            for (_, from) in pending.iter_mut().filter(|(_, from)| *from == Operand::Reg(to)) {
                *from = kept.into();
            }
        }
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::super::registers::Class;
    use super::*;
    use std::collections::HashMap;

    /// Runs moves on registers that hold their own number at the start.
    fn run(copies: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let mut bank = Bank::default();
        bank.home(Class::B32, 8);
        let reg = |number| Reg { class: Class::B32, number };
        let wanted: Vec<(Reg, Operand)> = copies.iter().map(|(to, from)| (reg(*to), reg(*from).into())).collect();
        let mut state: HashMap<Reg, u32> = HashMap::new();
        for (to, from) in order(&wanted, &mut bank) {
            let Operand::Reg(from) = from else { unreachable!("only registers were copied") };
            let value = state.get(&from).copied().unwrap_or(from.number);
            state.insert(to, value);
        }
        copies.iter().map(|(to, _)| (*to, state.get(&reg(*to)).copied().unwrap_or(*to))).collect()
    }

    #[test]
    fn copies_happen_at_once() {
        let cases: [&[(u32, u32)]; 6] = [
            &[(0, 1), (1, 0)],
            &[(0, 1), (1, 2), (2, 0)],
            &[(0, 1), (1, 2), (2, 3)],
            &[(0, 0), (1, 0), (2, 0)],
            &[(0, 1), (1, 0), (2, 0), (3, 4), (4, 3)],
            &[(1, 0), (2, 1), (3, 2), (0, 3), (4, 0)],
        ];
        for copies in cases {
            assert_eq!(run(copies), copies, "{copies:?}");
        }
    }
}

//! Words of cells that others have too.
//!
//! What a call gives can be shared before the call has been made: nobody looks at it yet. If the cell stands in a place that is known, so does the shared one.

use super::code::{Code, Dev, Val};
use super::evaluate::Sweeper;
use super::known::Known;
use super::place::Address;
use super::script::CallScript;
use crate::heap::cells::SHARED;
use girih_ir::heap::CELL;
use girih_ir::{Op, Type, ValueId};

impl Sweeper<'_> {
    /// The same word, of a cell that others have too.
    pub fn shared(&mut self, f: &mut CallScript, val: Val) -> Val {
        if !has_owner(val) {
            return val;
        }
        let known = val.known.shared();
        if let Dev::Result(call, i) = val.dev
            && f.code.result(call, i).is_none()
        {
            return Val { known, dev: Dev::Shared(call, i) };
        }
        let word = f.code.value(val, Type::Term);
        let fresh = self.fresh(f, val).known.shared();
        if fresh.is_whole() && matches!(fresh, Known::Cell { .. }) {
            return self.whole(f, fresh);
        }
        Val { known, dev: Dev::Here(share(&mut f.code, word, val.known)) }
    }
}

impl Code {
    /// The word of a result of a call that has been made, of a cell that others have too.
    pub fn shared_word(&mut self, call: usize, i: usize) -> ValueId {
        if let Some(word) = self.shares.get(&(call, i)) {
            return *word;
        }
        let Some(found) = self.result(call, i) else { return self.zero };
        let word = self.value(found, Type::Term);
        let word = self.at_head_if_written(|code| share(code, word, found.known));
        if self.is_written {
            self.heads.insert(word);
        }
        self.shares.insert((call, i), word);
        word
    }

    /// Whether a word names a cell that nobody else has.
    pub fn is_owned(&mut self, word: ValueId) -> ValueId {
        let (seven, cell) = (self.u32(7), self.u32(CELL));
        let tag = self.op(Op::And, Type::U32, &[word, seven]);
        self.op(Op::Eq, Type::U32, &[tag, cell])
    }
}

/// A result of a call that has been made, shared: where that is, or else the word that [`Code::shared_word`] computes.
pub(super) fn shared(found: Val, result: Val) -> Val {
    let known = if found.known == Known::Unknown { result.known } else { found.known.shared() };
    match found.dev {
        Dev::Placed(address) => Val { known, dev: Dev::Placed(Address { shared: true, ..address }) },
        _word if has_owner(found) => Val { known, dev: result.dev },
        _number => found,
    }
}

/// Whether a value may be a cell that nobody else has.
fn has_owner(val: Val) -> bool {
    let is_shared = matches!(val.dev, Dev::Shared(..));
    match val.known {
        Known::Cell { owned, .. } => owned,
        Known::Unknown => !is_shared,
        Known::Number(_) | Known::Word(_) | Known::Tagged(_) | Known::Hole { .. } | Known::Linear { .. } => false,
    }
}

/// The word of a cell that others have too.
fn share(code: &mut Code, word: ValueId, known: Known) -> ValueId {
    let others = match known {
        Known::Cell { owned: true, .. } => code.u32(SHARED - CELL),
        Known::Unknown => {
            let is_owned = code.is_owned(word);
            code.op(Op::Convert, Type::U32, &[is_owned])
        }
        Known::Cell { owned: false, .. }
        | Known::Number(_)
        | Known::Word(_)
        | Known::Tagged(_)
        | Known::Hole { .. }
        | Known::Linear { .. } => return word,
    };
    code.op(Op::Add, Type::U32, &[word, others])
}

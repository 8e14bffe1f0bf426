//! Operators where it is not known which numbers arrive.
//!
//! The *form* of a word is the position of its number's kind in [`NumKind::ALL`], [`ERA`], or [`OTHER`]. A function that has no value to
//! give gives a word that says the [`reason`]; who calls it ends the run with the place ([`TermWriter::checked_call`]).

use super::numbers::scalar;
use super::represent::{Held, Repr, Results};
use super::words::{FORM_BITS, Immediate, REASON, tag};
use super::writer::{Goal, TermWriter};
use super::{Lowering, Unit};
use girih_base::num::{BinOp, NumKind};
use girih_base::prim::Prim;
use girih_ir::{Function, Inst, Op, Scalar, Type, ValueId};

/// The form of `*`.
pub(super) const ERA: u32 = 6;
/// The form of everything that is neither a number nor `*`.
pub(super) const OTHER: u32 = 7;

/// Why there is no value.
pub(super) mod reason {
    use super::super::traps::hint;
    use girih_base::diag::Code;

    /// Something else than a number.
    pub(in super::super) const NUMBER: u32 = 1;
    /// A divisor is zero.
    pub(in super::super) const DIVISION: u32 = 2;
    /// Kinds that do not go together.
    pub(in super::super) const MIXED: u32 = 3;
    /// Numbers of the kind have no such operator.
    pub(in super::super) const UNSUPPORTED: u32 = 4;
    /// An integer where a float is needed.
    pub(in super::super) const FLOAT: u32 = 5;
    /// Something that is no function is applied.
    pub(in super::super) const FUNCTION: u32 = 6;

    /// The error that a reason is, where this is what was tried.
    pub(in super::super) fn told(reason: u32, what: &str) -> (Code, String, &'static str) {
        match reason {
            NUMBER => (Code::NotANumber, format!("{what} needs a number"), hint::NUMBER),
            DIVISION => (Code::DivisionByZero, "division by zero".to_owned(), hint::DIVISION),
            MIXED => (Code::MixedNumbers, "numbers of two kinds meet".to_owned(), hint::MIXED),
            UNSUPPORTED => {
                (Code::UnsupportedOperation, format!("numbers of this kind do not have {what}"), hint::UNSUPPORTED)
            }
            FLOAT => {
                let message = "a float is needed, and this is an integer".to_owned();
                (Code::UnsupportedOperation, message, hint::FLOAT)
            }
            _function => (Code::NotAFunction, format!("{what} is called, but it is not a function"), hint::FUNCTION),
        }
    }
}

fn position(kind: NumKind) -> u32 {
    NumKind::ALL.iter().position(|k| *k == kind).map_or(OTHER, |p| p as u32)
}

impl TermWriter<'_, '_> {
    /// An `if` that gives a number of 32 bits.
    fn choose(
        &mut self,
        condition: ValueId,
        then: impl FnOnce(&mut Self) -> ValueId,
        otherwise: impl FnOnce(&mut Self) -> ValueId,
    ) -> ValueId {
        let mut inst = Inst::new(Op::If, None, &[condition], self.b.span);
        let (accept, reject) = (self.b.new_region(&[]), self.b.new_region(&[]));
        self.within(accept, |w| {
            let value = then(w);
            w.b.end(Op::Yield, &[value]);
        });
        self.within(reject, |w| {
            let value = otherwise(w);
            w.b.end(Op::Yield, &[value]);
        });
        inst.regions.extend([accept, reject]);
        let id = self.b.push(inst, &[Type::U32]);
        self.b.function.insts[id].results[0]
    }

    /// The form of a word.
    pub(super) fn form(&mut self, word: ValueId) -> ValueId {
        let found = self.b.tag(word);
        let three = self.b.u32(tag::IMMEDIATE);
        let small = self.b.op(Op::Lt, Scalar::U32, &[found, three]);
        self.choose(
            small,
            |_| found,
            |w| {
                let cell = w.b.u32(tag::CELL);
                let is_cell = w.b.op(Op::Eq, Scalar::U32, &[found, cell]);
                w.choose(
                    is_cell,
                    |w| {
                        let layout = w.b.cell_layout(word);
                        let mut form = w.b.u32(OTHER);
                        for kind in [NumKind::U32, NumKind::I32, NumKind::F32] {
                            let boxed = w.all.boxed(kind).index() as u32;
                            let (boxed, own) = (w.b.u32(boxed), w.b.u32(position(kind)));
                            let same = w.b.op(Op::Eq, Scalar::U32, &[layout, boxed]);
                            form = w.b.op(Op::Select, Scalar::U32, &[same, own, form]);
                        }
                        form
                    },
                    |w| {
                        let payload = w.b.payload(word);
                        let [era, is, other] = [Immediate::Era.payload(), ERA, OTHER].map(|x| w.b.u32(x));
                        let same = w.b.op(Op::Eq, Scalar::U32, &[payload, era]);
                        w.b.op(Op::Select, Scalar::U32, &[same, is, other])
                    },
                )
            },
        )
    }

    /// The word of a reason.
    pub(super) fn reason(&mut self, reason: u32) -> Held {
        let payload = self.b.u32(reason << FORM_BITS | REASON);
        Held { id: self.b.pack(tag::IMMEDIATE, payload), repr: Repr::Term }
    }

    fn equals(&mut self, value: ValueId, constant: u32) -> ValueId {
        let constant = self.b.u32(constant);
        self.b.op(Op::Eq, Scalar::U32, &[value, constant])
    }
    fn at_least(&mut self, value: ValueId, constant: u32) -> ValueId {
        let constant = self.b.u32(constant);
        self.b.op(Op::Ge, Scalar::U32, &[value, constant])
    }
    /// The position of the 32-bit kind of a kind's family.
    fn widened(&mut self, form: ValueId) -> ValueId {
        let three = self.b.u32(3);
        self.b.op(Op::Rem, Scalar::U32, &[form, three])
    }

    /// Gives up with a reason, having dropped the operands.
    fn refuse(&mut self, words: &[ValueId], reason: u32, goal: Goal) -> Option<Vec<Held>> {
        words.iter().for_each(|word| self.b.drop(*word));
        let reason = self.reason(reason);
        self.finish(reason, goal)
    }

    /// Goes on with operands that are numbers; `*` gives `*`, anything else is refused.
    fn with_numbers(
        &mut self,
        words: &[ValueId],
        forms: &[ValueId],
        then: &mut dyn FnMut(&mut Self, Goal) -> Option<Vec<Held>>,
    ) -> Option<Vec<Held>> {
        let Some((form, rest)) = forms.split_first() else { return then(self, Goal::Result) };
        let number = self.at_least(*form, NumKind::ALL.len() as u32);
        self.branch(number, Goal::Result, &[Repr::Term], &mut |w, other, goal| {
            if !other {
                return w.with_numbers(words, rest, then);
            }
            let era = w.equals(*form, ERA);
            w.branch(era, goal, &[Repr::Term], &mut |w, era, goal| {
                if !era {
                    return w.refuse(words, reason::NUMBER, goal);
                }
                words.iter().for_each(|word| w.b.drop(*word));
                let era = w.immediate(Immediate::Era);
                w.finish(era, goal)
            })
        })
    }

    fn force_all(&mut self, words: &[ValueId]) -> Vec<ValueId> {
        let force = self.all.unit(Unit::Force);
        words.iter().map(|word| self.b.call(force, &[Type::Term], &[*word])[0]).collect()
    }

    fn as_kind(&mut self, kind: NumKind, word: ValueId) -> ValueId {
        let widen = self.all.unit(Unit::Widen(kind));
        self.b.call(widen, &[Type::Scalar(scalar(kind))], &[word])[0]
    }
}

/// An operator on two words.
pub(super) fn operator(all: &mut Lowering<'_>, function: Function, op: BinOp) -> Function {
    let params = function.params.clone();
    let mut w = TermWriter::plain(all, function);
    let words = w.force_all(&params);
    let forms: Vec<ValueId> = words.iter().map(|word| w.form(*word)).collect();
    w.with_numbers(&words, &forms, &mut |w, goal| {
        let families: Vec<ValueId> = forms.iter().map(|form| w.widened(*form)).collect();
        let apart = w.b.op(Op::Ne, Scalar::U32, &families);
        w.branch(apart, goal, &[Repr::Term], &mut |w, apart, goal| {
            if apart {
                return w.refuse(&words, reason::MIXED, goal);
            }
            // Of one family: of one kind, or else of the wider one, which stands behind the other.
            let kind = w.b.op(Op::Max, Scalar::U32, &forms);
            let kinds: Vec<u32> = (0..NumKind::ALL.len() as u32 - 1).collect();
            w.ways(kind, &kinds, goal, &[Repr::Term], &mut |w, i, goal| operate(w, op, NumKind::ALL[i], &words, goal))
        })
    });
    w.b.function
}

fn operate(w: &mut TermWriter<'_, '_>, op: BinOp, kind: NumKind, words: &[ValueId], goal: Goal) -> Option<Vec<Held>> {
    if !op.is_defined_on(kind) {
        return w.refuse(words, reason::UNSUPPORTED, goal);
    }
    let (a, b) = (w.as_kind(kind, words[0]), w.as_kind(kind, words[1]));
    let result = |w: &mut TermWriter<'_, '_>, goal: Goal| {
        let (id, kind) = w.numbers().operate(op, kind, a, b);
        w.finish(Held { id, repr: Repr::Number(kind) }, goal)
    };
    match w.numbers().divides_by_zero(op, kind, b) {
        None => result(w, goal),
        Some(zero) => w.branch(zero, goal, &[Repr::Term], &mut |w, zero, goal| {
            if zero { w.refuse(&[], reason::DIVISION, goal) } else { result(w, goal) }
        }),
    }
}

/// A primitive on words.
pub(super) fn primitive(all: &mut Lowering<'_>, function: Function, prim: Prim) -> Function {
    let params = function.params.clone();
    let mut w = TermWriter::plain(all, function);
    let words = w.force_all(&params);
    let forms: Vec<ValueId> = words.iter().map(|word| w.form(*word)).collect();
    w.with_numbers(&words, &forms, &mut |w, goal| kinds_of(w, prim, &words, &forms, &mut vec![], goal));
    w.b.function
}

/// Finds the kind of each operand in turn.
fn kinds_of(
    w: &mut TermWriter<'_, '_>,
    prim: Prim,
    words: &[ValueId],
    forms: &[ValueId],
    found: &mut Vec<NumKind>,
    goal: Goal,
) -> Option<Vec<Held>> {
    let Some(form) = forms.get(found.len()) else {
        let kinds = found.clone();
        if !super::numbers::takes(prim, &kinds) {
            return w.refuse(words, reason::FLOAT, goal);
        }
        let ids: Vec<ValueId> = kinds.iter().zip(words).map(|(kind, word)| w.number_of(*kind, *word)).collect();
        let (id, kind) = w.numbers().primitive(prim, &kinds, &ids)?;
        return w.finish(Held { id, repr: Repr::Number(kind) }, goal);
    };
    let kinds: Vec<u32> = (0..NumKind::ALL.len() as u32 - 1).collect();
    w.ways(*form, &kinds, goal, &[Repr::Term], &mut |w, i, goal| {
        found.push(NumKind::ALL[i]);
        let result = kinds_of(w, prim, words, forms, found, goal);
        found.pop();
        result
    })
}

/// A number of any kind as one of a kind.
pub(super) fn widen(all: &mut Lowering<'_>, function: Function, to: NumKind) -> Function {
    let word = function.params[0];
    let mut w = TermWriter::plain(all, function);
    w.results = Results::One(Repr::Number(to));
    let form = w.form(word);
    let kinds: Vec<u32> = (0..NumKind::ALL.len() as u32 - 1).collect();
    w.ways(form, &kinds, Goal::Result, &[Repr::Number(to)], &mut |w, i, goal| {
        let kind = NumKind::ALL[i];
        let id = w.number_of(kind, word);
        w.finish(Held { id, repr: Repr::Number(kind) }, goal)
    });
    w.b.function
}

/// The representation of a number of any kind, as a switch looks at it.
pub(super) fn bits(all: &mut Lowering<'_>, function: Function) -> Function {
    let word = function.params[0];
    let mut w = TermWriter::plain(all, function);
    w.results = Results::One(Repr::Number(NumKind::U32));
    let form = w.form(word);
    let kinds: Vec<u32> = (0..NumKind::ALL.len() as u32 - 1).collect();
    w.ways(form, &kinds, Goal::Result, &[Repr::Number(NumKind::U32)], &mut |w, i, goal| {
        let kind = NumKind::ALL[i];
        let number = w.number_of(kind, word);
        let id = w.numbers().representation(kind, number);
        w.finish(Held { id, repr: Repr::Number(NumKind::U32) }, goal)
    });
    w.b.function
}

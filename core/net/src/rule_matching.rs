//! What all machines on the host do alike: whether two ports may meet, which outcome of a row fits, and the number that it gives; and what is
//! said when a net cannot go on.

use super::book::{Book, DefinitionId, Semantics};
use super::boxed::{self, Computed, Operand};
use super::heap::Full;
use super::number;
use super::rules::{Effect, Outcome, Part, Row, Rule, When};
use super::word::{Kind, Word};
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::{BinOp, Num, NumError};
use girih_base::span::Span;

/// Why a run has ended before its net was in normal form.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stop {
    Memory,
    Interactions,
    Interrupted,
    Mistake(Code, Kind, Kind),
    Number(NumError),
    Copied(DefinitionId),
}

impl From<Full> for Stop {
    fn from(_: Full) -> Stop {
        Stop::Memory
    }
}

/// How large a net was when it stopped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub nodes: usize,
    pub wires: usize,
    pub waiting: usize,
    /// Bytes that it may take.
    pub limit: u64,
    pub interactions: u64,
}

/// Whether a row is no mistake in a net of this meaning, and its ports may meet.
pub(super) fn allowed(book: &Book, row: &Row, a: Word, b: Word) -> Result<(), Stop> {
    let mistake = match (row.mistake, row.effect) {
        (Some(mistake), _) if book.semantics == Semantics::Values => Some(mistake),
        (mistake, Effect::Broken) => Some(mistake.unwrap_or(Code::Internal)),
        (_, Effect::Link | Effect::Call | Effect::Rewrite(_)) => None,
    };
    if let Some(mistake) = mistake {
        return Err(Stop::Mistake(mistake, a.kind(), b.kind()));
    }
    if row.rule == Rule::Erase && a.kind() == Kind::Ref && b.kind() == Kind::Dup {
        let id = DefinitionId::new(a.index() as u32);
        if book.semantics == Semantics::Net && !book.definitions[id].affine {
            return Err(Stop::Copied(id));
        }
    }
    Ok(())
}

/// The case that two ports of a row come to, and the number that they give. `parts` are those of the left and of the right node, `node`
/// gives those of a boxed number that is an operand.
pub(super) fn decide(
    book: &Book,
    row: &Row,
    ports: [Word; 2],
    parts: [boxed::Words; 2],
    node: impl FnOnce(Word) -> boxed::Words,
) -> Result<(When, Computed), Stop> {
    let nothing = Computed::Word(Word::NONE);
    match row.rule {
        Rule::Operate => {
            let other = parts[1][0];
            match other.kind() {
                Kind::Num => Ok((When::Ready, operate(ports[0], parts[0], other, [Word::NONE; 2])?)),
                Kind::Box => Ok((When::Ready, operate(ports[0], parts[0], other, node(other))?)),
                Kind::Var
                | Kind::Ref
                | Kind::Era
                | Kind::Con
                | Kind::Dup
                | Kind::Opr
                | Kind::Swi
                | Kind::Copy
                | Kind::Clo => Ok((When::Waiting, nothing)),
            }
        }
        Rule::Switch => choice(book, ports[0], parts[0]),
        Rule::Link
        | Rule::Call
        | Rule::Void
        | Rule::Erase
        | Rule::Annihilate
        | Rule::Commute
        | Rule::Apply
        | Rule::Replicate => Ok((When::Always, nothing)),
    }
}

/// What happens in a case. Each row has an outcome for each case that its rule can come to.
pub(super) fn fitting(outcomes: &'static [Outcome], when: When) -> &'static Outcome {
    const NOTHING: Outcome = Outcome { when: When::Always, nodes: &[], wires: 0, links: &[] };
    outcomes.iter().find(|outcome| outcome.when == when).unwrap_or(&NOTHING)
}

/// The bits of a number that chooses, and the number before it: in a Bend program of the same kind, else a u24.
fn choice(book: &Book, word: Word, words: boxed::Words) -> Result<(When, Computed), Stop> {
    let when = |choice: u32| if choice == 0 { When::Zero } else { When::Positive };
    let number = match (word.kind(), boxed::plain(word, words)) {
        (Kind::Box, Some(Operand::Number(number))) => number,
        (Kind::Box, _) => return Err(Stop::Mistake(Code::NotANumber, Kind::Box, Kind::Swi)),
        (_, Some(Operand::Number(number))) if book.semantics != Semantics::Net => number,
        _ => {
            let choice = number::choice(word);
            return Ok((when(choice), Computed::Word(number::unsigned(choice.wrapping_sub(1)))));
        }
    };
    let one = Num::U24(1).to(number.kind());
    let before = Num::apply(BinOp::Sub, number, one).map_err(Stop::Number)?;
    Ok((when(number.bits()), boxed::packed(before)))
}

/// The number that two operands give, each with its words if it is a node.
fn operate(a: Word, left: boxed::Words, b: Word, right: boxed::Words) -> Result<Computed, Stop> {
    let (first, second) = (boxed::plain(a, left), boxed::plain(b, right));
    match (first, second) {
        // A function with its first operand, and the second one, which stands on either side.
        (Some(Operand::Partial(function, first)), Some(Operand::Number(second)))
        | (Some(Operand::Number(second)), Some(Operand::Partial(function, first))) => {
            Ok(boxed::packed(function.apply(&[first, second]).map_err(Stop::Number)?))
        }
        (Some(Operand::Number(number)), None) | (None, Some(Operand::Number(number))) => {
            let symbol = if first.is_none() { a } else { b };
            match number::function(symbol) {
                Some(function) => boxed::give(function, number).map_err(Stop::Number),
                None if number::number(number).is_none() => boxed::operate(symbol, number).map_err(Stop::Number),
                None => upstream(a, b),
            }
        }
        _ => upstream(a, b),
    }
}

/// What upstream's operators give.
fn upstream(a: Word, b: Word) -> Result<Computed, Stop> {
    if [a, b].iter().any(|word| word.kind() != Kind::Num) {
        return Err(Stop::Mistake(Code::NotANumber, a.kind(), b.kind()));
    }
    number::operate(a, b).map(Computed::Word).map_err(Stop::Number)
}

impl Stop {
    /// What is said of it.
    pub fn diagnostic(self, book: &Book, size: &Size) -> Diagnostic {
        let (code, message, hint) = match self {
            Stop::Memory => {
                let Size { nodes, wires, waiting, limit, .. } = size;
                let message = format!(
                    "out of memory: {nodes} nodes, {wires} wires and {waiting} waiting redexes do not fit into {:.1} MiB",
                    *limit as f64 / f64::from(1 << 20)
                );
                (Code::OutOfMemory, message, "allow more with `--memory`, if the net has an end")
            }
            Stop::Interactions => {
                let message = format!("the net is not in normal form after {} interactions", size.interactions);
                (Code::TooManySteps, message, "allow more, if the net has an end")
            }
            Stop::Interrupted => {
                let message = format!("stopped after {} interactions", size.interactions);
                (Code::Interrupted, message, "the net may have no end")
            }
            Stop::Mistake(code, a, b) => {
                let what = match code {
                    Code::NotAFunction => "a number is called, or matched as if it were data".to_owned(),
                    Code::NotANumber => "a number is needed, and this is a function or data".to_owned(),
                    _ => format!("a {} meets a {}, which no program makes", a.name(), b.name()),
                };
                (Code::NotAValue, what, "a program without types may take one kind of data for another")
            }
            Stop::Number(error) => {
                let code = match error {
                    NumError::DivisionByZero => Code::DivisionByZero,
                    NumError::Mixed(..) => Code::MixedNumbers,
                    NumError::Unsupported(..) | NumError::NotFloat(_) => Code::UnsupportedOperation,
                    NumError::ArgumentCount(_) => Code::Internal,
                };
                (code, error.to_string(), "look at the operands before the operation")
            }
            Stop::Copied(id) => {
                let definition = &book.definitions[id];
                let message = format!("`@{}` duplicates, and is itself duplicated", definition.name);
                let hint = "all duplications have one label, so a definition that duplicates may be used only once";
                return Diagnostic::new(Code::CopiedDuplicator, definition.span, message).hint(hint);
            }
        };
        Diagnostic::new(code, Span::NONE, message).hint(hint)
    }
}

/// The ports of an interaction, and what takes their place.
#[derive(Default)]
pub(super) struct Ports {
    pub a: Word,
    pub b: Word,
    pub left: [Word; 2],
    pub right: [Word; 2],
    pub made: [Word; 4],
    pub wires: [Word; 4],
}

impl Ports {
    /// The word of a part; `number` is what numbers give.
    #[inline(always)]
    pub fn word(&self, part: Part, number: Word) -> Word {
        match part {
            Part::A => self.a,
            Part::B => self.b,
            Part::A1 => self.left[0],
            Part::A2 => self.left[1],
            Part::B1 => self.right[0],
            Part::B2 => self.right[1],
            Part::New(i) => self.made[usize::from(i)],
            Part::Wire(i) => self.wires[usize::from(i)],
            Part::Era => Word::ERA,
            Part::Result | Part::Predecessor => number,
        }
    }
}

//! Effects of nets of a file: what their normal form asks for is performed, as upstream's reducer does it.
//!
//! Data is made of functions, as upstream's compiler makes it: a constructor with tag `t` and two fields is `((t (a (b r))) r)`, a list or a string
//! is the end `((0 r) r)` or an item `((1 (head (tail r))) r)`, and a pair is `(a b)`. Wherever a definition stands there, it is called to see what it is.
//! A normal form is an effect if it is a constructor whose first field is the pair of the two numbers of [`IO_MAGIC`]; with tag 1 it has the name of a
//! function of the host, its argument, and what the answer is given to.
//!
//! A book that does not name both numbers asks for no effect, and nothing of its normal form is looked at.

use super::book::{Book, DefinitionId};
use super::boxed::{self, Operand};
use super::number;
use super::reduce::{Machine, Reducer};
use super::word::{Kind, Word};
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::Num;
use girih_base::span::Span;
use girih_term::io::{Data, Host, Seen, run_io};
use girih_term::{CtorId, IO_MAGIC, Known};
use std::sync::atomic::Ordering;

/// Whether a book has what every effect carries.
pub fn may_ask(book: &Book) -> bool {
    let named = |value: u32| {
        let wanted = number::unsigned(value);
        book.definitions.iter().any(|definition| {
            let template = &definition.template;
            let nodes = template.nodes.iter().flat_map(|(_, parts)| *parts);
            let links = template.links.iter().flat_map(|(a, b)| [*a, *b]);
            nodes.chain(links).chain([template.root]).any(|word| word == wanted)
        })
    };
    named(IO_MAGIC.0) && named(IO_MAGIC.1)
}

/// Performs the effects that a port's normal form asks for, one after the other, and gives the port of what is left when there is no more of them.
///
/// # Errors
/// If a limit is met, an operation has no result, or what reduces the net fails.
pub fn perform(
    machine: &mut Machine<'_>,
    reducer: &mut dyn Reducer,
    root: Word,
    host: &mut dyn Host,
) -> Result<Word, Diagnostic> {
    if !may_ask(machine.book()) {
        return Ok(root);
    }
    let mut net = Net { machine, reducer, called: vec![], known: known() };
    let result = run_io(&mut net, root, host);
    // What the net has written comes before its normal form, and before what is said of its failure.
    let _ = host.flush(1);
    result
}

/// A kind of constructor: its tag and how many fields it has.
struct ConstructorKind {
    tag: u32,
    fields: usize,
}

const fn shape(tag: u32, fields: usize) -> ConstructorKind {
    ConstructorKind { tag, fields }
}

/// The constructors that effects know, by the numbers that `partial_reduction` gives them. The first ones are told by their shapes; those of answers are made here
/// and never looked at.
const SHAPES: [ConstructorKind; 9] = [
    shape(0, 0),
    shape(1, 2),
    shape(0, 2),
    shape(1, 4),
    shape(0, 1),
    shape(1, 1),
    shape(0, 0),
    shape(1, 0),
    shape(2, 1),
];
/// How many of them are looked at.
const SEEN: usize = 4;

fn known() -> Known {
    let ctor = |number: u32| Some(CtorId::new(number));
    Known {
        list_nil: ctor(0),
        string_nil: ctor(0),
        list_cons: ctor(1),
        string_cons: ctor(1),
        io_done: ctor(2),
        io_call: ctor(3),
        result_ok: ctor(4),
        result_err: ctor(5),
        io_error_type: ctor(6),
        io_error_name: ctor(7),
        io_error_inner: ctor(8),
        ..Known::default()
    }
}

/// A net whose normal form may ask for effects.
struct Net<'n, 'b> {
    machine: &'n mut Machine<'b>,
    reducer: &'n mut dyn Reducer,
    /// What definitions came to that were called to be looked at, since the last effect.
    called: Vec<Word>,
    known: Known,
}

impl Net<'_, '_> {
    /// What is at a port, after definitions that stand there have been called.
    fn force(&mut self, word: Word) -> Result<Word, Diagnostic> {
        let mut word = self.machine.heap.look(word);
        while word.kind() == Kind::Ref {
            let root = self.machine.place(DefinitionId::new(word.index() as u32))?;
            self.reducer.reduce(self.machine)?;
            // Nobody else has this end.
            word = self.machine.heap.enter(root);
            self.called.push(word);
        }
        Ok(word)
    }

    /// The parts of a pair, or of a function.
    fn con(&mut self, word: Word) -> Result<Option<[Word; 2]>, Diagnostic> {
        let word = self.force(word)?;
        Ok((word.kind() == Kind::Con).then(|| self.machine.heap.parts(word)))
    }

    fn num(&mut self, word: Word) -> Result<Option<Num>, Diagnostic> {
        let word = self.force(word)?;
        let node = if word.kind() == Kind::Box { self.machine.heap.parts(word) } else { [Word::NONE; 2] };
        Ok(match boxed::plain(word, node) {
            Some(Operand::Number(number)) => Some(number),
            Some(Operand::Partial(..)) | None => None,
        })
    }

    /// The tag of a constructor, and its fields.
    fn tagged(&mut self, word: Word) -> Result<Option<(u32, Vec<Word>)>, Diagnostic> {
        let Some([inner, _]) = self.con(word)? else { return Ok(None) };
        let Some([tag, mut rest]) = self.con(inner)? else { return Ok(None) };
        let Some(tag) = self.num(tag)? else { return Ok(None) };
        let mut fields = vec![];
        while let Some([field, next]) = self.con(rest)? {
            fields.push(self.force(field)?);
            rest = next;
        }
        Ok(Some((tag.bits(), fields)))
    }

    fn made(&mut self, ctor: CtorId, fields: &[Word]) -> Result<Word, Diagnostic> {
        let Some(ConstructorKind { tag, .. }) = SHAPES.get(ctor.index()) else { return Err(unknown()) };
        let result = self.machine.wire()?;
        let mut inner = result;
        for part in fields.iter().rev().chain([&number::unsigned(*tag)]) {
            inner = self.machine.node(Kind::Con, [*part, inner])?;
        }
        self.machine.node(Kind::Con, [inner, result])
    }

    fn list(&mut self, items: impl DoubleEndedIterator<Item = u32>) -> Result<Word, Diagnostic> {
        let mut list = self.made(CtorId::new(0), &[])?;
        for item in items.rev() {
            list = self.made(CtorId::new(1), &[number::unsigned(item), list])?;
        }
        Ok(list)
    }
}

#[cold]
fn unknown() -> Diagnostic {
    Diagnostic::new(Code::Internal, Span::NONE, "an effect has answered with a constructor that nets do not have")
}

/// How [`Data`] of a net with a `machine` makes what programs of every kind have alike.
macro_rules! plain_data {
    () => {
        fn era(&mut self) -> Word {
            Word::ERA
        }

        fn number(&mut self, number: Num) -> Word {
            // Effects give numbers of 24 bits, which are words.
            number::number(number).unwrap_or(Word::ERA)
        }

        fn pair(&mut self, first: Word, second: Word) -> Result<Word, Diagnostic> {
            self.machine.node(Kind::Con, [first, second])
        }
    };
}
pub(crate) use plain_data;

impl Data for Net<'_, '_> {
    type Value = Word;

    fn known(&self) -> &Known {
        &self.known
    }

    /// Upstream's reducer answers with an `i24`, and a file has no types that say otherwise.
    fn error_number(&mut self, number: i32) -> Word {
        self.number(Num::i24(number))
    }

    fn look(&mut self, value: &Word) -> Result<Seen<Word>, Diagnostic> {
        // It is computed once.
        let value = self.force(*value)?;
        if let Some(number) = self.num(value)? {
            return Ok(Seen::Number(number));
        }
        let Some((tag, fields)) = self.tagged(value)? else { return Ok(Seen::Other) };
        let ctor = SHAPES[..SEEN].iter().position(|shape| (shape.tag, shape.fields) == (tag, fields.len()));
        Ok(ctor.map_or(Seen::Other, |ctor| Seen::Ctor(CtorId::new(ctor as u32), fields)))
    }

    fn parts(&mut self, value: &Word) -> Result<Option<[Word; 2]>, Diagnostic> {
        let Some([first, second]) = self.con(*value)? else { return Ok(None) };
        Ok(Some([self.force(first)?, self.force(second)?]))
    }

    /// The items before the first one that is none: whatever is there ends a list.
    fn numbers(&mut self, value: &Word) -> Result<Option<Vec<u32>>, Diagnostic> {
        let (mut numbers, mut rest) = (vec![], *value);
        // The tag of an item.
        while let Some((1, fields)) = self.tagged(rest)? {
            let [head, tail] = fields[..] else { break };
            let Some(head) = self.num(head)? else { break };
            numbers.push(head.bits());
            rest = tail;
        }
        Ok(Some(numbers))
    }

    plain_data!();

    fn ctor(&mut self, ctor: CtorId, fields: &[Word]) -> Result<Word, Diagnostic> {
        self.made(ctor, fields)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<Word, Diagnostic> {
        self.list(bytes.iter().map(|byte| u32::from(*byte)))
    }

    fn text(&mut self, text: &str) -> Result<Word, Diagnostic> {
        self.list(text.chars().map(u32::from))
    }

    fn check_interrupt(&self) -> Result<(), Diagnostic> {
        if self.machine.limits().interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Diagnostic::new(Code::Interrupted, Span::NONE, "the net was stopped"));
        }
        Ok(())
    }

    fn resume(&mut self, call: Word, next: Word, answer: Word) -> Result<Word, Diagnostic> {
        let call = self.machine.heap.enter(call);
        let looked_at = std::mem::take(&mut self.called);
        [call].into_iter().chain(looked_at).for_each(|value| self.machine.release(value, next));
        let result = self.machine.wire()?;
        let call = self.machine.node(Kind::Con, [answer, result])?;
        self.machine.link(next, call);
        // Nothing else of the net is needed any more.
        let result = self.reducer.reduce_for(self.machine, result)?;
        Ok(self.machine.heap.enter(result))
    }
}

//! The values of a Bend program that runs as a net: looked at, made and applied from outside, and given to the evaluator, which prints them.
//!
//! A value is the word at its port. Looking at it changes nothing, except that a definition that has not been called is called.

use super::book::DefinitionId;
use super::boxed::{self, Operand};
use super::effects::plain_data;
use super::lower::{Lowered, Meaning};
use super::number;
use super::reduce::{Counts, Limits, Machine, Reducer};
use super::word::{Kind, Word};
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::Num;
use girih_base::span::Span;
use girih_term::eval::{self, Value};
use girih_term::io::{Data, Host, Seen, run_io};
use girih_term::readback::show_with;
use girih_term::{CtorId, DefId, Known, Program};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A program that runs as a net.
pub struct Values<'l> {
    pub(super) program: &'l Program,
    pub(super) lowered: &'l Lowered,
    /// The net.
    pub machine: Machine<'l>,
    /// What reduces it.
    reducer: &'l mut dyn Reducer,
    interrupt: Option<Arc<AtomicBool>>,
}

/// What stands at a port, one level deep.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    Number(Num),
    Era,
    Ctor(CtorId, Vec<Word>),
    Pair(Word, Word),
    /// A definition, with its captured values and arguments.
    Function(DefinitionId, Vec<Word>),
    /// Something that is no value: a wire, an operation, a superposition.
    Other,
}

impl<'l> Values<'l> {
    /// A net without anything in it, and what is to reduce it.
    pub fn new(program: &'l Program, lowered: &'l Lowered, limits: Limits, reducer: &'l mut dyn Reducer) -> Values<'l> {
        let interrupt = limits.interrupt.clone();
        Values { program, lowered, machine: Machine::new(&lowered.book, limits), reducer, interrupt }
    }

    /// Reduces the net until nothing is left to be done.
    pub(super) fn reduce(&mut self) -> Result<(), Diagnostic> {
        self.reducer.reduce(&mut self.machine)
    }

    /// What was done so far.
    pub fn counts(&self) -> Counts {
        self.machine.counts()
    }

    /// Computes the entry, and performs the effects that it asks for.
    ///
    /// # Errors
    /// If the program fails or a limit is met.
    pub fn run(&mut self, host: &mut dyn Host) -> Result<Word, Diagnostic> {
        let start = self.force(Word::new(Kind::Ref, self.lowered.entry.index() as u32));
        let value = start.and_then(|value| run_io(self, value, host));
        // What the program has written comes before its value, and before what is said of its failure.
        let _ = host.flush(1);
        value
    }

    /// A value as the evaluator prints it; the machine has the same program.
    ///
    /// # Errors
    /// If there is no room, or the net holds what is no value.
    pub fn show(&mut self, printer: &mut eval::Machine, word: Word) -> Result<String, Diagnostic> {
        let value = self.value(printer, word)?;
        show_with(printer, value, &mut |printer, def| {
            let name = &self.program.defs[def].name;
            let id = self.lowered.book.named(name).ok_or_else(broken)?;
            let word = self.force(Word::new(Kind::Ref, id.index() as u32))?;
            let value = self.value(printer, word)?;
            printer.supply(def, value);
            Ok(())
        })
    }

    /// What is at a port, after definitions without parameters that stand there have been called.
    pub(super) fn force(&mut self, word: Word) -> Result<Word, Diagnostic> {
        let mut word = self.machine.heap.look(word);
        while self.waits(word) {
            let root = self.machine.place(DefinitionId::new(word.index() as u32))?;
            self.reduce()?;
            // Nobody else has this end.
            word = self.machine.heap.enter(root);
        }
        Ok(word)
    }

    /// Whether a port is a definition without parameters that has not been called; the tag of a constructor tells which one it is.
    pub(super) fn is_waiting(&self, word: Word) -> bool {
        let is_tag = matches!(self.meaning(word), Some(Meaning::Tag(_)));
        self.waits(word) && !is_tag
    }

    /// What a definition stands for.
    pub(super) fn meaning(&self, word: Word) -> Option<&'l Meaning> {
        let id = DefinitionId::new(word.index() as u32);
        (word.kind() == Kind::Ref).then(|| self.lowered.meanings.get(&id)).flatten()
    }

    /// Whether a definition is a value that has not been computed.
    fn waits(&self, word: Word) -> bool {
        match self.meaning(word) {
            Some(Meaning::Definition(def, _)) => self.program.defs[*def].params.is_empty(),
            Some(Meaning::Tag(_)) => true,
            Some(Meaning::Lambda { .. } | Meaning::Constructor(_) | Meaning::Arm) | None => false,
        }
    }

    pub(super) fn form(&self, word: Word) -> Form {
        let heap = &self.machine.heap;
        let word = heap.look(word);
        let node = if word.kind().is_node() { heap.parts(word) } else { [Word::NONE; 2] };
        match word.kind() {
            Kind::Era => Form::Era,
            Kind::Num | Kind::Box => match boxed::plain(word, node) {
                Some(Operand::Number(number)) => Form::Number(number),
                Some(Operand::Partial(..)) | None => Form::Other,
            },
            Kind::Con => match self.ctor(node) {
                Some((ctor, fields)) => Form::Ctor(ctor, fields),
                None => Form::Pair(node[0], node[1]),
            },
            Kind::Ref => match self.lowered.meanings.get(&DefinitionId::new(word.index() as u32)) {
                Some(Meaning::Tag(ctor)) => Form::Number(Num::u24(self.program.ctors[*ctor].tag)),
                _ => Form::Function(DefinitionId::new(word.index() as u32), vec![]),
            },
            Kind::Clo => self.closure(node).unwrap_or(Form::Other),
            Kind::Var | Kind::Dup | Kind::Opr | Kind::Swi | Kind::Copy => Form::Other,
        }
    }

    /// The constructor that `((@T/C/tag (a (b r))) r)` is.
    fn ctor(&self, [inner, result]: [Word; 2]) -> Option<(CtorId, Vec<Word>)> {
        let heap = &self.machine.heap;
        let inner = heap.look(inner);
        if inner.kind() != Kind::Con {
            return None;
        }
        let [tag, mut rest] = heap.parts(inner);
        let tag = heap.look(tag);
        let Some(Meaning::Tag(ctor)) = self.lowered.meanings.get(&DefinitionId::new(tag.index() as u32)) else {
            return None;
        };
        if tag.kind() != Kind::Ref {
            return None;
        }
        let mut fields = vec![];
        for _ in &self.program.ctors[*ctor].fields {
            rest = heap.look(rest);
            if rest.kind() != Kind::Con {
                return None;
            }
            let [field, next] = heap.parts(rest);
            fields.push(field);
            rest = next;
        }
        let (end, result) = (heap.look(rest), heap.look(result));
        (end == result && end.kind() == Kind::Var).then_some((*ctor, fields))
    }

    fn closure(&self, [function, held]: [Word; 2]) -> Option<Form> {
        let id = DefinitionId::new(function.index() as u32);
        let count = match self.lowered.meanings.get(&id)? {
            Meaning::Definition(_, given) => *given,
            Meaning::Lambda { captured, given, .. } => captured + given,
            Meaning::Tag(_) | Meaning::Constructor(_) | Meaning::Arm => return None,
        };
        let mut rest = held;
        let mut values = vec![];
        for _ in 1..count {
            rest = self.machine.heap.look(rest);
            if rest.kind() != Kind::Con {
                return None;
            }
            let [value, next] = self.machine.heap.parts(rest);
            values.push(value);
            rest = next;
        }
        values.push(rest);
        Some(Form::Function(id, values))
    }

    /// A value of the evaluator. Data may be as deep as it likes.
    fn value(&mut self, printer: &mut eval::Machine, word: Word) -> Result<Value, Diagnostic> {
        let mut done: Vec<Value> = vec![];
        let mut tasks = vec![Task::Read(word)];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Read(word) => {
                    let (what, parts) = self.what(word)?;
                    tasks.push(Task::Build(what, parts.len()));
                    tasks.extend(parts.into_iter().rev().map(Task::Read));
                }
                Task::Build(what, count) => {
                    let parts = done.split_off(done.len().saturating_sub(count));
                    done.push(build(printer, what, &parts)?);
                }
            }
        }
        done.pop().ok_or_else(broken)
    }

    fn what(&self, word: Word) -> Result<(What, Vec<Word>), Diagnostic> {
        Ok(match self.form(word) {
            Form::Number(number) => (What::Number(number), vec![]),
            Form::Era => (What::Era, vec![]),
            Form::Ctor(ctor, fields) => (What::Ctor(ctor), fields),
            Form::Pair(first, second) => (What::Pair, vec![first, second]),
            Form::Function(id, held) => match self.lowered.meanings.get(&id) {
                Some(Meaning::Definition(def, _)) => (What::Definition(*def), held),
                Some(Meaning::Lambda { def, ordinal, captured, .. }) => {
                    (What::Lambda { def: *def, ordinal: *ordinal, captured: *captured }, held)
                }
                Some(Meaning::Constructor(ctor)) => (What::Maker(*ctor), held),
                Some(Meaning::Tag(_) | Meaning::Arm) | None => return Err(broken()),
            },
            Form::Other => return Err(broken()),
        })
    }

    fn known_ctor(&mut self, ctor: Option<CtorId>, fields: &[Word]) -> Result<Word, Diagnostic> {
        self.data(ctor.ok_or_else(broken)?, fields)
    }

    /// A value of a data type.
    fn data(&mut self, ctor: CtorId, fields: &[Word]) -> Result<Word, Diagnostic> {
        let tag = self.lowered.tags.get(&ctor).ok_or_else(broken)?;
        let tag = Word::new(Kind::Ref, tag.index() as u32);
        let result = self.machine.wire()?;
        let mut inner = result;
        for part in fields.iter().rev().chain([&tag]) {
            inner = self.machine.node(Kind::Con, [*part, inner])?;
        }
        self.machine.node(Kind::Con, [inner, result])
    }

    fn list(
        &mut self,
        chain: [Option<CtorId>; 2],
        items: impl DoubleEndedIterator<Item = u32>,
    ) -> Result<Word, Diagnostic> {
        let [cons, nil] = chain;
        let mut list = self.known_ctor(nil, &[])?;
        for item in items.rev() {
            list = self.known_ctor(cons, &[super::number::unsigned(item), list])?;
        }
        Ok(list)
    }
}

enum Task {
    Read(Word),
    Build(What, usize),
}

#[derive(Clone, Copy)]
enum What {
    Number(Num),
    Era,
    Ctor(CtorId),
    Pair,
    Definition(DefId),
    Lambda { def: DefId, ordinal: usize, captured: usize },
    Maker(CtorId),
}

fn build(printer: &mut eval::Machine, what: What, parts: &[Value]) -> Result<Value, Diagnostic> {
    let with = |printer: &mut eval::Machine, function: Value, args: &[Value]| match args {
        [] => Ok(function),
        args => printer.given(function, args),
    };
    match (what, parts) {
        (What::Number(number), _) => Ok(number.into()),
        (What::Era, _) => Ok(Value::ERA),
        (What::Ctor(ctor), fields) => printer.ctor(ctor, fields),
        (What::Pair, [first, second]) => printer.pair(*first, *second),
        (What::Pair, _) => Err(broken()),
        (What::Definition(def), args) => {
            let function = printer.definition(def);
            with(printer, function, args)
        }
        (What::Maker(ctor), args) => {
            let function = printer.maker(ctor);
            with(printer, function, args)
        }
        (What::Lambda { def, ordinal, captured }, held) => {
            let lambda = printer.code().lambda_at(def, ordinal).ok_or_else(broken)?;
            let (captured, args) = held.split_at(captured.min(held.len()));
            let function = printer.closure(lambda, captured)?;
            with(printer, function, args)
        }
    }
}

#[cold]
pub(super) fn broken() -> Diagnostic {
    let message = "the net has reached something that is not a value of the program";
    Diagnostic::new(Code::NotAValue, Span::NONE, message)
        .hint("an unchecked program may take one kind of data for another; `--tier direct` says where")
}

impl Data for Values<'_> {
    type Value = Word;

    fn known(&self) -> &Known {
        &self.program.known
    }

    fn look(&mut self, value: &Word) -> Result<Seen<Word>, Diagnostic> {
        let word = self.force(*value)?;
        Ok(match self.form(word) {
            Form::Number(number) => Seen::Number(number),
            Form::Pair(first, second) => Seen::Pair(first, second),
            Form::Ctor(ctor, fields) => Seen::Ctor(ctor, fields),
            Form::Era | Form::Function(..) | Form::Other => Seen::Other,
        })
    }

    fn numbers(&mut self, value: &Word) -> Result<Option<Vec<u32>>, Diagnostic> {
        let known = self.program.known.clone();
        let (mut numbers, mut rest) = (vec![], *value);
        loop {
            let Seen::Ctor(ctor, fields) = self.look(&rest)? else { return Ok(None) };
            match fields[..] {
                [] if known.is_end(ctor) => return Ok(Some(numbers)),
                [head, tail] if known.is_link(ctor) => {
                    let Seen::Number(head) = self.look(&head)? else { return Ok(None) };
                    numbers.push(head.bits());
                    rest = tail;
                }
                _ => return Ok(None),
            }
        }
    }

    plain_data!();

    fn ctor(&mut self, ctor: CtorId, fields: &[Word]) -> Result<Word, Diagnostic> {
        self.data(ctor, fields)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<Word, Diagnostic> {
        let Known { list_cons, list_nil, .. } = self.program.known;
        self.list([list_cons, list_nil], bytes.iter().map(|byte| u32::from(*byte)))
    }

    fn text(&mut self, text: &str) -> Result<Word, Diagnostic> {
        let Known { string_cons, string_nil, .. } = self.program.known;
        self.list([string_cons, string_nil], text.chars().map(u32::from))
    }

    fn check_interrupt(&self) -> Result<(), Diagnostic> {
        if self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Diagnostic::new(Code::Interrupted, Span::NONE, "the program was stopped"));
        }
        Ok(())
    }

    fn resume(&mut self, call: Word, next: Word, answer: Word) -> Result<Word, Diagnostic> {
        self.machine.release(call, next);
        let result = self.machine.wire()?;
        let call = self.machine.node(Kind::Con, [answer, result])?;
        self.machine.link(next, call);
        self.reduce()?;
        let result = self.machine.heap.enter(result);
        self.force(result)
    }
}

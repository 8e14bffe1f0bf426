//! The words of a compiled program as effects read and make them.
//!
//! A value that is read is only looked at: its cell belongs to the call that is being performed, or to a global. A value that is
//! made is owned, until it becomes a part of another one or is given to the program.

use super::lower::represent::Repr;
use super::lower::words::{self, Immediate, tag};
use super::lower::{Called, Direct};
use super::run::diagnostic;
use super::{flow::What, lower::Meaning};
use crate::heap::cells::header;
use crate::heap::{Field, Nodes};
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::{Num, NumKind};
use girih_base::span::Span;
use girih_ir::heap::{self, LayoutId};
use girih_runtime::{Fault, Reserved, Runner};
use girih_term::io::{Data, Seen};
use girih_term::{CtorId, DefId, Known, Program};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A compiled program that runs.
pub struct Words<'r> {
    /// The program that was compiled.
    pub program: &'r Program,
    /// What it was compiled to.
    pub direct: &'r Direct,
    /// What runs it.
    pub runner: &'r mut dyn Runner,
    /// Raised to stop it.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// A value of the compiled program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum {
    /// A word.
    Word(u32),
    /// A number that stands in a cell without a tag.
    Number(Num),
}

/// First words of cells, as the heap of a device has them. That of boxes is 0 if numbers stand in the leaf, above the tag.
pub(crate) struct TreeCells {
    pub fork: u32,
    pub leaf: u32,
    pub boxed: u32,
    pub tag: u32,
}

/// What the host gives to a function that it calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// A number of 24 bits.
    Number(Num),
    /// A definition as a value.
    Definition(DefId),
    /// What a root has given in one piece, with its ownership.
    Value(Datum),
}

/// What a value of a tree is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Piece {
    /// A number.
    Number(Num),
    /// A pair.
    Pair,
    /// A constructor with fields.
    Ctor(CtorId),
    /// A constructor without fields.
    Unit(CtorId),
    /// `*`.
    Era,
    /// A function.
    Function,
}

impl Words<'_> {
    /// Calls a root with as many arguments as it was compiled for. What it gives is owned, and computed; several values are the
    /// parts of a pair or a constructor.
    ///
    /// # Errors
    /// If the program fails, needs too much memory, or is interrupted.
    pub fn call_root(&mut self, root: &Called, arguments: &[Argument]) -> Result<Vec<Datum>, Diagnostic> {
        let words = self.passed_to(root, arguments)?;
        let results = self.runner.call(root.function, &words).map_err(|fault| self.failed(&fault))?;
        let value = |(word, repr): (u32, &Repr)| match repr {
            Repr::Number(kind) => Ok(Datum::Number(unboxed(*kind, word))),
            Repr::Term if words::is_reason(word) => Err(no_function()),
            // A cell has been computed; whoever runs the program need not be asked.
            Repr::Term if heap::tag(word) == tag::CELL => Ok(Datum::Word(word)),
            Repr::Term => self.call(self.direct.force, &[word]).map(Datum::Word),
        };
        results.into_iter().zip(&root.results).map(value).collect()
    }

    /// The value of the entry, which is owned.
    ///
    /// # Errors
    /// As [`call_root`](Self::call_root).
    pub fn call_entry(&mut self) -> Result<Datum, Diagnostic> {
        self.call(self.direct.entry, &[]).map(Datum::Word)
    }

    /// The words that a root is called with.
    ///
    /// # Errors
    /// If it takes other arguments, or a number has to be in a cell and there is no memory.
    pub fn passed_to(&mut self, root: &Called, arguments: &[Argument]) -> Result<Vec<u32>, Diagnostic> {
        let applied = root.applied.map(Argument::Definition);
        let given: Vec<(&Argument, &Repr)> = applied.iter().chain(arguments).zip(&root.params).collect();
        given.into_iter().map(|(argument, repr)| self.passed(*argument, *repr)).collect()
    }

    /// Gives back what a root gave.
    pub fn give_back(&mut self, value: Datum) {
        if let Datum::Word(word) = value {
            self.runner.drop(word);
        }
    }

    /// Makes two ownerships of what a root gave.
    pub fn share(&mut self, value: Datum) {
        if let Datum::Word(word) = value {
            self.runner.share(word);
        }
    }

    /// What a value is, one level deep. If it has parts, they are pushed onto a stack, the first one last.
    ///
    /// # Errors
    /// If it has to be computed and that fails.
    pub fn piece(&mut self, value: Datum, stack: &mut Vec<Datum>) -> Result<Piece, Diagnostic> {
        let word = match value {
            Datum::Number(number) => return Ok(Piece::Number(number)),
            Datum::Word(word) => self.computed(word)?,
        };
        if let Some(number) = immediate_number(word) {
            return Ok(Piece::Number(number));
        }
        match self.immediate(word) {
            Some(Immediate::Era) => return Ok(Piece::Era),
            Some(Immediate::Unit(ctor)) => return Ok(Piece::Unit(ctor)),
            Some(Immediate::Make(_) | Immediate::Definition(_) | Immediate::Lambda(_) | Immediate::Select(_)) => {
                return Ok(Piece::Function);
            }
            None => {}
        }
        let meaning = self.meaning(word).ok_or_else(broken)?;
        Ok(match meaning {
            Meaning::Boxed(kind) => Piece::Number(unboxed(*kind, self.runner.field(word, 0))),
            Meaning::Shape { what, fields, .. } => {
                let piece = match what {
                    What::Pair => Piece::Pair,
                    What::Ctor(ctor) => Piece::Ctor(*ctor),
                    What::Closure(_) | What::Partial(..) => return Ok(Piece::Function),
                };
                stack.extend((0..fields.len()).rev().map(|position| self.field(meaning, word, position)));
                piece
            }
        })
    }

    /// An argument as its parameter is passed.
    fn passed(&mut self, argument: Argument, repr: Repr) -> Result<u32, Diagnostic> {
        match (argument, repr) {
            (Argument::Number(number) | Argument::Value(Datum::Number(number)), Repr::Number(kind))
                if number.kind() == kind =>
            {
                Ok(bits(number))
            }
            (Argument::Number(number) | Argument::Value(Datum::Number(number)), Repr::Term) => self.boxed(number),
            (Argument::Definition(def), Repr::Term) => Ok(Immediate::Definition(def).word()),
            (Argument::Value(Datum::Word(word)), Repr::Term) => Ok(word),
            (Argument::Number(_) | Argument::Definition(_) | Argument::Value(_), Repr::Number(_)) => Err(broken()),
        }
    }

    /// A number as a word: one of 32 bits is in a cell.
    fn boxed(&mut self, number: Num) -> Result<u32, Diagnostic> {
        if words::tag_of(number.kind()).is_some() {
            return Ok(small(number));
        }
        let is_box = |meaning: &Meaning| matches!(meaning, Meaning::Boxed(kind) if *kind == number.kind());
        let layouts = &self.direct.tables.layouts;
        let layout = layouts.ids().find(|id| is_box(&layouts[*id]));
        self.new_cell(layout, &[bits(number)])
    }

    /// The word of a value that the host made.
    fn word(&mut self, datum: Datum) -> Result<u32, Diagnostic> {
        match datum {
            Datum::Word(word) => Ok(word),
            Datum::Number(number) => self.boxed(number),
        }
    }

    /// The fields of cells of each layout as a walk over the heap of a device has to know them: of pairs and constructors, and boxed numbers.
    pub fn described(direct: &Direct) -> Vec<Vec<Field>> {
        let field = |repr: &Repr| match repr {
            Repr::Term => Field::Word,
            Repr::Number(kind) => field_of(*kind),
        };
        let fields = |meaning: &Meaning| match meaning {
            Meaning::Boxed(kind) => vec![field_of(*kind)],
            Meaning::Shape { what: What::Pair | What::Ctor(_), fields, .. } => fields.iter().map(field).collect(),
            Meaning::Shape { what: What::Closure(_) | What::Partial(..), .. } => vec![],
        };
        direct.tables.layouts.iter().map(fields).collect()
    }

    /// The headers of the cells of a tree that a kernel builds.
    pub(crate) fn tree_cells(&self, nodes: Nodes) -> Result<TreeCells, Diagnostic> {
        let number = nodes.number;
        let tag = words::tag_of(number);
        let is_box = |meaning: &Meaning| matches!(meaning, Meaning::Boxed(kind) if *kind == number);
        let layouts = &self.direct.tables.layouts;
        let made = |ctor: CtorId, fields: usize| {
            let layout = *self.direct.host.ctors.get(&ctor).ok_or_else(broken)?;
            match &layouts[layout] {
                Meaning::Shape { fields: its, .. } if its[..] == vec![Repr::Term; fields] => Ok(header(layout, fields)),
                Meaning::Shape { .. } | Meaning::Boxed(_) => Err(broken()),
            }
        };
        let boxed = match tag {
            Some(_) => 0,
            None => header(layouts.ids().find(|id| is_box(&layouts[*id])).ok_or_else(broken)?, 1),
        };
        Ok(TreeCells { fork: made(nodes.fork, 2)?, leaf: made(nodes.leaf, 1)?, boxed, tag: tag.unwrap_or(0) })
    }

    /// Memory for cells: see [`Runner::reserve`].
    pub(crate) fn reserve(&mut self, units: u32) -> Result<Option<Reserved>, Diagnostic> {
        self.runner.reserve(units).map_err(|fault| self.failed(&fault))
    }

    /// A value as the root of such a walk.
    pub fn root(value: Datum) -> (Field, u32) {
        match value {
            Datum::Word(word) => (Field::Word, word),
            Datum::Number(number) => (field_of(number.kind()), bits(number)),
        }
    }

    /// Calls a function that takes and gives words.
    pub(super) fn call(&mut self, function: girih_ir::FunctionId, words: &[u32]) -> Result<u32, Diagnostic> {
        let results = self.runner.call(function, words).map_err(|fault| self.failed(&fault))?;
        results.first().copied().ok_or_else(broken)
    }

    /// The word, or what a definition gives that waits to be computed; the definition keeps that.
    fn computed(&mut self, word: u32) -> Result<u32, Diagnostic> {
        if !self.waits(word) {
            return Ok(word);
        }
        let value = self.call(self.direct.force, &[word])?;
        self.runner.drop(value);
        Ok(value)
    }

    fn waits(&self, word: u32) -> bool {
        match self.immediate(word) {
            Some(Immediate::Definition(def)) => self.program.defs[def].params.is_empty(),
            _ => false,
        }
    }

    fn immediate(&self, word: u32) -> Option<Immediate> {
        let is_immediate = heap::tag(word) == tag::IMMEDIATE;
        Immediate::of(heap::payload(word), &self.direct.tables).filter(|_| is_immediate)
    }

    fn failed(&self, fault: &Fault) -> Diagnostic {
        diagnostic(self.direct, fault)
    }

    /// A field of a cell.
    fn field(&self, meaning: &Meaning, cell: u32, position: usize) -> Datum {
        let word = self.runner.field(cell, position);
        match meaning {
            Meaning::Boxed(kind) => Datum::Number(unboxed(*kind, word)),
            Meaning::Shape { fields, .. } => match fields.get(position) {
                Some(Repr::Number(kind)) => Datum::Number(unboxed(*kind, word)),
                Some(Repr::Term) | None => Datum::Word(word),
            },
        }
    }

    /// What the cell of a word means.
    fn meaning(&self, word: u32) -> Option<&Meaning> {
        self.direct.tables.layouts.get(self.runner.layout(word)?)
    }

    fn new_cell(&mut self, layout: Option<LayoutId>, fields: &[u32]) -> Result<u32, Diagnostic> {
        let layout = layout.ok_or_else(broken)?;
        self.runner.new_cell(layout, fields).map_err(|fault| self.failed(&fault))
    }

    /// A chain of numbers, as lists and strings are.
    fn chain(
        &mut self,
        ctors: (Option<CtorId>, Option<CtorId>),
        items: impl DoubleEndedIterator<Item = u32>,
    ) -> Result<Datum, Diagnostic> {
        let (Some(cons), Some(nil)) = ctors else { return Err(broken()) };
        let layout = self.direct.host.ctors.get(&cons).copied();
        let mut chain = Immediate::Unit(nil).word();
        for item in items.rev() {
            chain = self.new_cell(layout, &[small(Num::u24(item)), chain])?;
        }
        Ok(Datum::Word(chain))
    }
}

/// The bits of a number as a parameter of its kind.
fn bits(number: Num) -> u32 {
    match number {
        Num::U24(value) | Num::U32(value) => value,
        Num::I24(value) | Num::I32(value) => value as u32,
        Num::F24(value) | Num::F32(value) => value.to_bits(),
    }
}

/// What a number is for a walk over pixels.
fn field_of(kind: NumKind) -> Field {
    match kind {
        NumKind::U24 | NumKind::I24 | NumKind::U32 | NumKind::I32 => Field::Integer,
        NumKind::F24 | NumKind::F32 => Field::Other,
    }
}

fn no_function() -> Diagnostic {
    Diagnostic::new(Code::NotAFunction, Span::NONE, "the called value is not a function")
        .hint("check how many arguments the function takes")
}

/// The word of a number of 24 bits.
fn small(number: Num) -> u32 {
    words::tag_of(number.kind()).map_or(0, |tag| heap::pack(tag, number.bits()))
}

/// A number as the IR holds it.
pub(super) fn unboxed(kind: NumKind, bits: u32) -> Num {
    match kind {
        NumKind::U24 => Num::U24(bits),
        NumKind::I24 => Num::I24(bits as i32),
        NumKind::F24 => Num::F24(f32::from_bits(bits)),
        NumKind::U32 => Num::U32(bits),
        NumKind::I32 => Num::I32(bits as i32),
        NumKind::F32 => Num::F32(f32::from_bits(bits)),
    }
}

/// The number that a word without a cell is.
pub(super) fn immediate_number(word: u32) -> Option<Num> {
    let kind = match heap::tag(word) {
        tag::U24 => NumKind::U24,
        tag::I24 => NumKind::I24,
        tag::F24 => NumKind::F24,
        _ => return None,
    };
    Some(Num::from_bits(kind, heap::payload(word)))
}

impl Data for Words<'_> {
    type Value = Datum;

    fn known(&self) -> &Known {
        &self.program.known
    }

    fn look(&mut self, value: &Datum) -> Result<Seen<Datum>, Diagnostic> {
        let word = match *value {
            Datum::Number(number) => return Ok(Seen::Number(number)),
            Datum::Word(word) => self.computed(word)?,
        };
        if let Some(number) = immediate_number(word) {
            return Ok(Seen::Number(number));
        }
        if let Some(Immediate::Unit(ctor)) = self.immediate(word) {
            return Ok(Seen::Ctor(ctor, vec![]));
        }
        let Some(meaning) = self.meaning(word) else { return Ok(Seen::Other) };
        let field = |position| self.field(meaning, word, position);
        Ok(match meaning {
            Meaning::Boxed(kind) => Seen::Number(unboxed(*kind, self.runner.field(word, 0))),
            Meaning::Shape { what: What::Pair, .. } => Seen::Pair(field(0), field(1)),
            Meaning::Shape { what: What::Ctor(ctor), fields, .. } => {
                Seen::Ctor(*ctor, (0..fields.len()).map(field).collect())
            }
            Meaning::Shape { what: What::Closure(_) | What::Partial(..), .. } => Seen::Other,
        })
    }

    fn numbers(&mut self, value: &Datum) -> Result<Option<Vec<u32>>, Diagnostic> {
        let mut numbers = vec![];
        let mut rest = *value;
        loop {
            let Seen::Ctor(ctor, fields) = self.look(&rest)? else { return Ok(None) };
            match fields[..] {
                [] if self.program.known.is_end(ctor) => return Ok(Some(numbers)),
                [head, tail] if self.program.known.is_link(ctor) => {
                    let Seen::Number(head) = self.look(&head)? else { return Ok(None) };
                    numbers.push(head.bits());
                    rest = tail;
                }
                _ => return Ok(None),
            }
        }
    }

    fn era(&mut self) -> Datum {
        Datum::Word(Immediate::Era.word())
    }

    fn number(&mut self, number: Num) -> Datum {
        Datum::Number(number)
    }

    fn pair(&mut self, first: Datum, second: Datum) -> Result<Datum, Diagnostic> {
        let (first, second) = (self.word(first)?, self.word(second)?);
        self.new_cell(self.direct.host.pair, &[first, second]).map(Datum::Word)
    }

    fn ctor(&mut self, ctor: CtorId, fields: &[Datum]) -> Result<Datum, Diagnostic> {
        if fields.is_empty() {
            return Ok(Datum::Word(Immediate::Unit(ctor).word()));
        }
        let fields: Vec<u32> = fields.iter().map(|field| self.word(*field)).collect::<Result<_, _>>()?;
        self.new_cell(self.direct.host.ctors.get(&ctor).copied(), &fields).map(Datum::Word)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<Datum, Diagnostic> {
        let known = &self.program.known;
        self.chain((known.list_cons, known.list_nil), bytes.iter().map(|byte| u32::from(*byte)))
    }

    fn text(&mut self, text: &str) -> Result<Datum, Diagnostic> {
        let known = &self.program.known;
        self.chain((known.string_cons, known.string_nil), text.chars().map(u32::from))
    }

    fn tidy(&mut self, value: Datum) -> Result<Datum, Diagnostic> {
        let Datum::Word(word) = value else { return Ok(value) };
        if !self.runner.is_crowded() {
            return Ok(value);
        }
        let kept = self.runner.keep_only(&[word]).map_err(|fault| self.failed(&fault))?;
        Ok(kept.and_then(|kept| kept.first().copied()).map_or(value, Datum::Word))
    }

    fn check_interrupt(&self) -> Result<(), Diagnostic> {
        match &self.interrupt {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(self.failed(&Fault::Interrupted)),
            Some(_) | None => Ok(()),
        }
    }

    fn resume(&mut self, call: Datum, next: Datum, answer: Datum) -> Result<Datum, Diagnostic> {
        let (call, next, answer) = (self.word(call)?, self.word(next)?, self.word(answer)?);
        self.runner.share(next);
        self.runner.drop(call);
        let result = self.call(self.direct.apply, &[next, answer])?;
        if words::is_reason(result) {
            let message = "the continuation of an `IO/Call` is not a function";
            return Err(Diagnostic::new(Code::NotAFunction, Span::NONE, message)
                .hint("its last field takes the answer and gives the next `IO`"));
        }
        self.call(self.direct.force, &[result]).map(Datum::Word)
    }
}

/// The error of a word that the compiler never makes.
pub(super) fn broken() -> Diagnostic {
    Diagnostic::new(Code::Internal, Span::NONE, "the compiled program gave a word that means nothing")
        .hint("please report it with the program")
}

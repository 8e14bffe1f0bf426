//! Values from outside: what a value is made of, and how one is made.

use super::Machine;
use super::heap::Heap;
use super::value::{Packed, Position, Value, Word};
use crate::code::{Chain, LambdaId, SmallCtor};
use crate::{CtorId, DefId, LocalId, TypeId};
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::Num;
use girih_base::span::Span;

/// What a value is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum View {
    /// A number.
    Num(Num),
    /// `*`.
    Era,
    /// A constructor with its fields.
    Ctor(CtorId, Vec<Value>),
    /// A pair.
    Pair(Value, Value),
    /// A function made by a lambda, and the values of the variables that it captured.
    Closure {
        /// The definition that the lambda stands in.
        def: DefId,
        /// The lambda; see [`Code::lambda`](crate::code::Code::lambda).
        lambda: LambdaId,
        /// What it captured.
        captured: Vec<(LocalId, Value)>,
    },
    /// A function with some of its arguments, fewer than it has parameters. The function is a [`View::Closure`], a
    /// [`View::Global`] or a [`View::Constructor`].
    Partial {
        /// The function.
        function: Value,
        /// The arguments.
        args: Vec<Value>,
    },
    /// A definition: a function, or a value that has not been computed.
    Global(DefId),
    /// A constructor as a function of its fields. Arises only where a function is matched as if it were data.
    Constructor(CtorId),
    /// The function that a match applies to a function that stands for a constructor of this type.
    Selector(TypeId),
}

impl Machine {
    /// What a value is made of.
    pub fn view(&self, value: Value) -> View {
        let values = |words: &[Packed]| words.iter().map(|word| Value(word.word())).collect::<Vec<Value>>();
        let ctor_id = |ctor: SmallCtor| CtorId::new(u32::from(ctor));
        match value.0 {
            Word::U24(_) | Word::I24(_) | Word::F24(_) | Word::U32(_) | Word::I32(_) | Word::F32(_) => {
                View::Num(value.num().expect("these words are the numbers"))
            }
            Word::Era => View::Era,
            Word::Global(def) => View::Global(def),
            Word::Lambda(lambda) => View::Closure { def: self.code.lambda_def(lambda), lambda, captured: vec![] },
            Word::Unit(ctor) => View::Ctor(ctor_id(ctor), vec![]),
            Word::Make(ctor) => View::Constructor(ctor_id(ctor)),
            Word::Select(ty) => View::Selector(ty),
            Word::Data(ctor, cell) => {
                let fields = usize::from(self.code.tables.fields[usize::from(ctor)]);
                View::Ctor(ctor_id(ctor), values(self.heap.slice(cell, fields)))
            }
            Word::Pair(cell) => View::Pair(Value(self.heap.word(cell)), Value(self.heap.word(cell + 1))),
            Word::Closure(cell) => match self.heap.word(cell) {
                Word::Header(lambda) => {
                    let captures = &self.code.tables.lambdas[lambda].captures;
                    let captured = values(self.heap.slice(cell + 1, captures.len()));
                    let captured = captures.iter().copied().zip(captured).collect();
                    View::Closure { def: self.code.lambda_def(lambda), lambda, captured }
                }
                other => unreachable!("a closure starts with its code, not {other:?}"),
            },
            Word::Partial(count, cell) => View::Partial {
                function: Value(self.heap.word(cell)),
                args: values(self.heap.slice(cell + 1, usize::from(count))),
            },
            Word::Header(_) | Word::Moved(_) => unreachable!("this is no value but a part of a cell"),
        }
    }

    /// A constructor with its fields. Making values from outside never moves the heap.
    ///
    /// # Errors
    /// If the memory limit is reached.
    pub fn ctor(&mut self, ctor: CtorId, fields: &[Value]) -> Result<Value, Diagnostic> {
        let expected = self.code.tables.fields.get(ctor.index()).map_or(0, |&count| usize::from(count));
        assert_eq!(fields.len(), expected, "a constructor is given all its fields");
        let small = ctor.index() as SmallCtor;
        if fields.is_empty() {
            return Ok(Value(Word::Unit(small)));
        }
        self.check_outside(fields.len())?;
        let (cell, words) = self.heap.space(fields.len());
        for (word, field) in words.iter_mut().zip(fields) {
            *word = field.0.into();
        }
        Ok(Value(Word::Data(small, cell)))
    }

    /// A pair.
    ///
    /// # Errors
    /// If the memory limit is reached.
    pub fn pair(&mut self, first: Value, second: Value) -> Result<Value, Diagnostic> {
        self.check_outside(2)?;
        let (cell, words) = self.heap.space(2);
        words.copy_from_slice(&[first.0.into(), second.0.into()]);
        Ok(Value(Word::Pair(cell)))
    }

    /// A string.
    ///
    /// # Errors
    /// If the memory limit is reached, or the program has no strings.
    pub fn string(&mut self, text: &str) -> Result<Value, Diagnostic> {
        let chain = Chain::text(&self.code.tables.program.known).ok_or_else(|| missing("strings"))?;
        self.check_outside(2 * text.len())?;
        Ok(Value(make_text(&mut self.heap, chain, text)))
    }

    /// A list.
    ///
    /// # Errors
    /// If the memory limit is reached, or the program has no lists.
    pub fn list(&mut self, items: impl IntoIterator<Item = Value>) -> Result<Value, Diagnostic> {
        let chain = Chain::list(&self.code.tables.program.known).ok_or_else(|| missing("lists"))?;
        let mut words: Vec<Packed> = vec![];
        for item in items {
            words.push(item.0.into());
            // Looked at now and then, so that not even the list of the items outgrows the limit by much.
            if words.len().is_power_of_two() {
                self.check_outside(2 * words.len())?;
            }
        }
        self.check_outside(2 * words.len())?;
        Ok(Value(make_chain(&mut self.heap, chain, words.into_iter())))
    }

    /// A definition: a function, or a value that is computed when it is inspected.
    pub fn definition(&self, def: DefId) -> Value {
        Value(Word::Global(def))
    }

    /// A constructor as a function of its fields.
    pub fn maker(&self, ctor: CtorId) -> Value {
        Value(Word::Make(ctor.index() as SmallCtor))
    }

    /// The function that a match applies to a function that stands for a constructor of this type.
    pub fn selector(&self, ty: TypeId) -> Value {
        Value(Word::Select(ty))
    }

    /// A lambda with the values that it captures.
    ///
    /// # Errors
    /// If the memory limit is reached.
    pub fn closure(&mut self, lambda: LambdaId, captured: &[Value]) -> Result<Value, Diagnostic> {
        assert_eq!(
            captured.len(),
            self.code.tables.lambdas[lambda].captures.len(),
            "a lambda is given all it captures"
        );
        if captured.is_empty() {
            return Ok(Value(Word::Lambda(lambda)));
        }
        let cell = self.headed(Word::Header(lambda), captured)?;
        Ok(Value(Word::Closure(cell)))
    }

    /// A function with fewer arguments than it has parameters.
    ///
    /// # Errors
    /// If the memory limit is reached.
    pub fn given(&mut self, function: Value, args: &[Value]) -> Result<Value, Diagnostic> {
        let cell = self.headed(function.0, args)?;
        Ok(Value(Word::Partial(args.len() as u16, cell)))
    }

    /// A cell of a word and values.
    fn headed(&mut self, head: Word, values: &[Value]) -> Result<Position, Diagnostic> {
        self.check_outside(1 + values.len())?;
        let (cell, words) = self.heap.space(1 + values.len());
        words[0] = head.into();
        for (word, value) in words[1..].iter_mut().zip(values) {
            *word = value.0.into();
        }
        Ok(cell)
    }

    fn check_outside(&mut self, words: usize) -> Result<(), Diagnostic> {
        match self.room_outside(words) {
            true => Ok(()),
            false => Err(Diagnostic::new(
                Code::OutOfMemory,
                Span::NONE,
                format!("out of memory: a value of {} MiB does not fit", (words * 8).div_ceil(1 << 20)),
            )
            .hint("raise `--memory`")),
        }
    }
}

fn missing(what: &str) -> Diagnostic {
    let message = format!("the program has no {what}");
    Diagnostic::new(Code::Internal, Span::NONE, message).hint("compile it together with the prelude")
}

/// A string, for which there is room: two words for each character.
pub(super) fn make_text(heap: &mut Heap, chain: Chain, text: &str) -> Word {
    let characters: Vec<Packed> = text.chars().map(|c| Word::U24(u32::from(c)).into()).collect();
    make_chain(heap, chain, characters.into_iter())
}

/// A chain of cells, for which there is room: two words for each item.
pub(super) fn make_chain(heap: &mut Heap, chain: Chain, items: impl ExactSizeIterator<Item = Packed>) -> Word {
    let Chain { cons, nil } = chain;
    let count = items.len();
    if count == 0 {
        return Word::Unit(nil);
    }
    let end = Packed::from(Word::Unit(nil));
    let (cell, words) = heap.space(2 * count);
    for (position, item) in items.enumerate() {
        words[2 * position] = item;
        let next = cell + 2 * (position as Position + 1);
        words[2 * position + 1] = if position + 1 == count { end } else { Word::Data(cons, next).into() };
    }
    Word::Data(cons, cell)
}

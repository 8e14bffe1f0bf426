//! Application of whatever is applied, to any number of arguments.

use super::collect::Top;
use super::value::{Packed, Value, Word};
use super::{Activation, Global, Machine, Place, Step, Trap};
use crate::code::{Address, Entry, SmallCtor, stub};
use crate::{CtorId, TypeId};
use girih_base::diag::Code;

/// How many slots stand before the arguments in a frame of the `Resume` stub.
pub(super) const RESUME_HEAD: usize = 2;

impl Machine {
    /// Applies `function` to the `count` arguments that stand on the stack from `at` on, above all waiting frames. The
    /// result will arrive at `at`, for the last waiting frame. `pc` is to blame.
    pub(super) fn enter(&mut self, function: Word, at: usize, count: usize, pc: Address) -> Result<Place, Trap> {
        let (mut function, mut count) = (function, count);
        loop {
            self.ensure_stack(at + count, pc)?;
            let entry = match function {
                // Nothing is asked of a value that is applied to no arguments, unless it is a delayed term.
                Word::Global(def) if count == 0 && self.global(def).is_none() => return Ok(self.give(function, at)),
                Word::Global(def) => match self.global(def) {
                    None => self.code.tables.definitions[def].expect("a function without code is not a function"),
                    Some(Global::Done(value)) => {
                        function = value;
                        continue;
                    }
                    Some(_) => return self.force_function(function, at, count, pc),
                },
                Word::Lambda(lambda) => self.code.tables.lambdas[lambda].entry,
                Word::Closure(cell) => match self.heap.word(cell) {
                    Word::Header(lambda) => self.code.tables.lambdas[lambda].entry,
                    other => unreachable!("a closure starts with its code, not {other:?}"),
                },
                Word::Partial(stored, cell) => {
                    let stored = usize::from(stored);
                    self.ensure_stack(at + count + stored, pc)?;
                    self.stack.copy_within(at..at + count, at + stored);
                    self.stack[at..at + stored].copy_from_slice(self.heap.slice(cell + 1, stored));
                    function = self.heap.word(cell);
                    count += stored;
                    continue;
                }
                Word::Era => return Ok(self.give(Word::Era, at)),
                _ if count == 0 => return Ok(self.give(function, at)),
                Word::Make(ctor) => {
                    let fields = usize::from(self.code.tables.fields[usize::from(ctor)]);
                    if count < fields {
                        return self.partial(function, at, count, pc);
                    }
                    function = self.construct(ctor, at, count, pc)?;
                    self.stack.copy_within(at + fields..at + count, at);
                    count -= fields;
                    continue;
                }
                Word::Select(ty) => {
                    let tag = match self.argument(function, at, count, pc)? {
                        Step::Value(tag) => tag,
                        Step::Enter(place) => return Ok(place),
                    };
                    function = self.select(ty, tag, pc)?;
                    self.stack.copy_within(at + 1..at + count, at);
                    count -= 1;
                    continue;
                }
                Word::Unit(_) | Word::Data(..) => {
                    (function, count) = self.coerce(function, at, count, pc)?;
                    continue;
                }
                Word::Pair(_) | Word::Header(_) | Word::Moved(_) => return Err(self.not_a_function(function, pc)),
                Word::U24(_) | Word::I24(_) | Word::F24(_) | Word::U32(_) | Word::I32(_) | Word::F32(_) => {
                    return Err(self.not_a_function(function, pc));
                }
            };
            return self.enter_code(function, entry, at, count, pc);
        }
    }

    /// Applies a function that has code.
    fn enter_code(
        &mut self,
        function: Word,
        entry: Entry,
        at: usize,
        count: usize,
        pc: Address,
    ) -> Result<Place, Trap> {
        let arity = entry.arity as usize;
        if count == 0 && arity > 0 {
            return Ok(self.give(function, at));
        }
        if count < arity {
            return self.partial(function, at, count, pc);
        }
        let mut at = at;
        if count > arity {
            at = self.put_aside(at, arity, count, pc)?;
        }
        self.ensure_stack(at + entry.frame as usize, pc)?;
        if let Word::Closure(cell) = function
            && let Word::Header(lambda) = self.heap.word(cell)
        {
            let captured = self.code.tables.lambdas[lambda].captures.len();
            let values = self.heap.slice(cell + 1, captured);
            self.stack[at + arity..at + arity + captured].copy_from_slice(values);
        }
        Ok(Place { pc: entry.entry, base: at })
    }

    /// Leaves the arguments behind the first `arity` in a frame of the stub that will apply the result to them. Returns
    /// where the others are now.
    fn put_aside(&mut self, at: usize, arity: usize, count: usize, pc: Address) -> Result<usize, Trap> {
        let rest = count - arity;
        self.ensure_stack(at + count + RESUME_HEAD, pc)?;
        self.stack[at..at + count].rotate_left(arity);
        self.begin_resume(at, rest, count, pc);
        self.frames.push(Activation { pc: stub::RESUME, base: at as u32 });
        Ok(at + RESUME_HEAD + rest)
    }

    /// Makes a frame for the [`Resume`](crate::code::Instruction::Resume) stub of the `moved` values at `at`,
    /// of which the first `count` are the arguments.
    fn begin_resume(&mut self, at: usize, count: usize, moved: usize, pc: Address) {
        self.stack.copy_within(at..at + moved, at + RESUME_HEAD);
        self.stack[at] = Packed::from(Word::U32(count as u32));
        self.stack[at + 1] = Packed::from(Word::U32(pc));
    }

    /// The [`Resume`](crate::code::Instruction::Resume) stub: slot 0 says how many arguments follow, slot 1 which
    /// instruction is to blame; behind the arguments stands what is applied to them.
    pub(super) fn resume(&mut self, base: usize) -> Result<Place, Trap> {
        let (Word::U32(count), Word::U32(pc)) = (self.stack[base].word(), self.stack[base + 1].word()) else {
            unreachable!("the stub's frame starts with a count and an address")
        };
        let args = base + RESUME_HEAD;
        let after = args + count as usize;
        let function = self.stack[after].word();
        self.stack.copy_within(args..after, base);
        self.enter(function, base, count as usize, pc)
    }

    /// Computes a definition, and then applies it.
    fn force_function(&mut self, function: Word, at: usize, count: usize, pc: Address) -> Result<Place, Trap> {
        match self.compute_first(function, function, at, count, pc)? {
            Step::Enter(place) => Ok(place),
            Step::Value(_) => Ok(Place { pc: stub::RESUME, base: at }),
        }
    }

    /// The first argument, computed. If it has to be computed first, the application will be done again then.
    fn argument(&mut self, function: Word, at: usize, count: usize, pc: Address) -> Result<Step, Trap> {
        let word = self.stack[at].word();
        match self.peek(Value(word)) {
            Some(Value(word)) => Ok(Step::Value(word)),
            None => self.compute_first(word, function, at, count, pc),
        }
    }

    /// Computes a definition, and does the application after that.
    fn compute_first(
        &mut self,
        needed: Word,
        function: Word,
        at: usize,
        count: usize,
        pc: Address,
    ) -> Result<Step, Trap> {
        let above = at + RESUME_HEAD + count + 1;
        self.ensure_stack(above, pc)?;
        self.begin_resume(at, count, count, pc);
        self.stack[above - 1] = Packed::from(function);
        match needed {
            Word::Global(def) if matches!(self.global(def), Some(Global::Waiting)) => {
                self.frames.push(Activation { pc: stub::RESUME, base: at as u32 });
                self.begin(def, pc, above).map(Step::Enter)
            }
            // What is being computed is needed to compute it.
            _ => self.inspect(needed, pc, at),
        }
    }

    /// Returns a value to the last waiting frame.
    pub(super) fn give(&mut self, value: Word, at: usize) -> Place {
        self.stack[at] = Packed::from(value);
        let frame = self.frames.pop().expect("the lowest frame ends the run");
        self.untouched = self.untouched.min(self.frames.len());
        Place { pc: frame.pc, base: frame.base as usize }
    }

    fn partial(&mut self, function: Word, at: usize, count: usize, pc: Address) -> Result<Place, Trap> {
        self.stack[at + count] = Packed::from(function);
        self.reserve(1 + count, at, count + 1, pc)?;
        let function = self.stack[at + count].word();
        let (cell, words) = self.heap.space(1 + count);
        words[0] = function.into();
        words[1..].copy_from_slice(&self.stack[at..at + count]);
        Ok(self.give(Word::Partial(count as u16, cell), at))
    }

    fn construct(&mut self, ctor: SmallCtor, at: usize, count: usize, pc: Address) -> Result<Word, Trap> {
        let fields = usize::from(self.code.tables.fields[usize::from(ctor)]);
        if fields == 0 {
            return Ok(Word::Unit(ctor));
        }
        self.reserve(fields, at, count, pc)?;
        let (cell, words) = self.heap.space(fields);
        words.copy_from_slice(&self.stack[at..at + fields]);
        Ok(Word::Data(ctor, cell))
    }

    /// The constructor that a tag stands for, as a function of its fields.
    fn select(&mut self, ty: TypeId, tag: Word, pc: Address) -> Result<Word, Trap> {
        let ty = &self.code.tables.program.types[ty];
        let ctor = tag.num().and_then(|tag| ty.ctors.get(tag.bits() as usize));
        match ctor {
            Some(ctor) => {
                let ctor = ctor.index() as SmallCtor;
                let fields = self.code.tables.fields[usize::from(ctor)];
                Ok(if fields == 0 { Word::Unit(ctor) } else { Word::Make(ctor) })
            }
            None => {
                let found = self.describe(tag);
                let message = format!("a match on a function that stands for a `{}` got {found} as its tag", ty.name);
                Err(self.trap(Code::NoMatchingCase, pc, message, "the tags of a type are named `Type/Constructor/tag`"))
            }
        }
    }

    /// A constructor applied to `k` and more: `k` is applied to the tag, the fields and the rest.
    fn coerce(&mut self, data: Word, at: usize, count: usize, pc: Address) -> Result<(Word, usize), Trap> {
        let (ctor, cell) = match data {
            Word::Data(ctor, cell) => (ctor, Some(cell)),
            Word::Unit(ctor) => (ctor, None),
            other => return Err(self.not_a_function(other, pc)),
        };
        let tables = self.tables();
        let fields = cell.map_or(0, |_| usize::from(tables.fields[usize::from(ctor)]));
        self.ensure_stack(at + count + fields, pc)?;
        let function = self.stack[at].word();
        self.stack.copy_within(at + 1..at + count, at + 1 + fields);
        let tag = tables.program.ctors[CtorId::new(u32::from(ctor))].tag;
        self.stack[at] = Packed::from(Word::U24(tag));
        if let Some(cell) = cell {
            self.stack[at + 1..at + 1 + fields].copy_from_slice(self.heap.slice(cell, fields));
        }
        Ok((function, count + fields))
    }

    #[cold]
    fn not_a_function(&self, word: Word, pc: Address) -> Trap {
        let message = format!("{} is called, but it is not a function", self.describe(word));
        self.trap(Code::NotAFunction, pc, message, "check how many arguments the function takes")
    }

    /// Makes room for a cell while `count` slots from `base` on are needed.
    fn reserve(&mut self, words: usize, base: usize, count: usize, pc: Address) -> Result<(), Trap> {
        if self.heap.has_room(words) {
            return Ok(());
        }
        self.collect(words, Top { pc, base, count, live: u64::MAX })
    }
}

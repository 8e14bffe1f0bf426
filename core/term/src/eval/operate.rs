//! Operators and choices where they meet something else than the numbers and constructors that they are made for.

use super::value::{Packed, Word};
use super::{Activation, Global, Machine, Place, Step, Trap, not_compiled};
use crate::code::{Address, SmallCtor, stub};
use crate::{CtorId, DefId};
use girih_base::diag::Code;
use girih_base::num::{BinOp, Num};
use girih_base::prim::Prim;

/// The result of an operator on numbers; none if an operand is no number, or there is no result.
#[inline(always)]
pub(super) fn operate(op: BinOp, a: Word, b: Word) -> Option<Word> {
    if let (Word::U24(a), Word::U24(b)) = (a, b) {
        return Num::apply(op, Num::U24(a), Num::U24(b)).ok().map(Word::from);
    }
    if let (Word::F24(a), Word::F24(b)) = (a, b) {
        return Num::apply(op, Num::F24(a), Num::F24(b)).ok().map(Word::from);
    }
    operate_any(op, a, b)
}

#[inline(never)]
fn operate_any(op: BinOp, a: Word, b: Word) -> Option<Word> {
    Num::apply(op, a.num()?, b.num()?).ok().map(Word::from)
}

impl Machine {
    /// The word that stands for a value: itself, or the value of the definition it names. A definition that waits to be
    /// computed is entered, and the instruction at `pc` is run again when it returns.
    pub(super) fn inspect(&mut self, word: Word, pc: Address, base: usize) -> Result<Step, Trap> {
        let Word::Global(def) = word else { return Ok(Step::Value(word)) };
        match self.global(def) {
            None => Ok(Step::Value(word)),
            Some(Global::Done(value)) => Ok(Step::Value(value)),
            Some(Global::Waiting) => {
                let above = self.above(pc, base);
                self.frames.push(Activation { pc, base: base as u32 });
                self.begin(def, pc, above).map(Step::Enter)
            }
            Some(Global::Running) => Err(self.self_dependent(def, pc)),
        }
    }

    #[cold]
    fn self_dependent(&self, def: DefId, pc: Address) -> Trap {
        let def = &self.code.tables.program.defs[def];
        let message = format!("the value of `{}` is needed to compute it", def.name);
        let hint = "give the definition a parameter, or let it refer to itself inside of data or a function only";
        let mut trap = self.trap(Code::SelfDependent, pc, message, hint);
        *trap = trap.label(def.span, "this definition");
        trap
    }

    /// Starts the computation of a definition in a frame at `at`, above all waiting ones.
    pub(super) fn begin(&mut self, def: DefId, pc: Address, at: usize) -> Result<Place, Trap> {
        let Some(&Some(entry)) = self.code.tables.definitions.get(def) else {
            let name = self.code.tables.program.defs.get(def).map_or("?", |def| &def.name);
            return Err(Box::new(not_compiled(name)));
        };
        self.ensure_stack(at + 1 + entry.frame as usize, pc)?;
        self.stack[at] = Packed::from(Word::Global(def));
        self.frames.push(Activation { pc: stub::STORE, base: at as u32 });
        self.globals[def] = Global::Running;
        self.running.push(def);
        Ok(Place { pc: entry.entry, base: at + 1 })
    }

    /// The [`Store`](crate::code::Instruction::Store) stub: the value of the definition in slot 0 has arrived in
    /// slot 1.
    pub(super) fn store(&mut self, base: usize) -> Result<Step, Trap> {
        let value = match self.inspect(self.stack[base + 1].word(), stub::STORE, base)? {
            Step::Value(value) => value,
            enter => return Ok(enter),
        };
        if let Word::Global(def) = self.stack[base].word() {
            self.globals[def] = Global::Done(value);
            self.running.retain(|&running| running != def);
            self.done.push(def);
        }
        Ok(Step::Value(value))
    }

    /// Where the frames of calls can begin while the instruction waits.
    fn above(&self, pc: Address, base: usize) -> usize {
        base + self.code.tables.heights[pc as usize] as usize
    }

    /// An operator whose operands are not just two numbers with a result.
    #[cold]
    pub(super) fn operate_slowly(
        &mut self,
        op: BinOp,
        a: Word,
        b: Word,
        pc: Address,
        base: usize,
    ) -> Result<Step, Trap> {
        let mut numbers = [Num::U24(0); 2];
        for (number, operand) in numbers.iter_mut().zip([a, b]) {
            match self.operand(operand, pc, base, || format!("the operator `{}`", op.symbol()))? {
                Ok(operand) => *number = operand,
                Err(step) => return Ok(step),
            }
        }
        let [a, b] = numbers;
        match Num::apply(op, a, b) {
            Ok(result) => Ok(Step::Value(Word::from(result))),
            Err(error) => Err(self.number_trap(error, pc)),
        }
    }

    /// A primitive.
    pub(super) fn primitive(
        &mut self,
        prim: Prim,
        operands: [Word; 2],
        pc: Address,
        base: usize,
    ) -> Result<Step, Trap> {
        let mut numbers = [Num::U24(0); 2];
        let operands = &operands[..prim.arity()];
        for (number, &operand) in numbers.iter_mut().zip(operands) {
            match self.operand(operand, pc, base, || format!("`{}`", prim.name()))? {
                Ok(operand) => *number = operand,
                Err(step) => return Ok(step),
            }
        }
        match prim.apply(&numbers[..prim.arity()]) {
            Ok(result) => Ok(Step::Value(Word::from(result))),
            Err(error) => Err(self.number_trap(error, pc)),
        }
    }

    /// The number that an operation takes, or what its result is without one.
    fn operand(
        &mut self,
        word: Word,
        pc: Address,
        base: usize,
        operation: impl FnOnce() -> String,
    ) -> Result<Result<Num, Step>, Trap> {
        let word = match self.inspect(word, pc, base)? {
            Step::Value(Word::Era) => return Ok(Err(Step::Value(Word::Era))),
            Step::Value(word) => word,
            enter => return Ok(Err(enter)),
        };
        match word.num() {
            Some(number) => Ok(Ok(number)),
            None => {
                let operation = operation();
                let message = format!("{operation} needs a number, and this is {}", self.describe(word));
                Err(self.trap(Code::NotANumber, pc, message, self.advice_for_number(&operation, word)))
            }
        }
    }

    /// The number that a switch in slot `src` looks at. A definition is replaced by its value, and the switch run again.
    #[cold]
    pub(super) fn switch_slowly(&mut self, src: usize, pc: Address, base: usize) -> Result<Place, Trap> {
        match self.operand(self.stack[base + src].word(), pc, base, || "`switch`".to_string())? {
            Ok(number) => {
                self.stack[base + src] = Packed::from(Word::from(number));
                Ok(Place { pc, base })
            }
            Err(Step::Enter(place)) => Ok(place),
            Err(Step::Value(_)) => Ok(self.absorb(pc, base)),
        }
    }

    /// The choice at `pc` has met `*`.
    #[cold]
    pub(super) fn absorb(&mut self, pc: Address, base: usize) -> Place {
        let absorb = self.code.tables.absorb(pc).expect("every choice says what it does with `*`");
        self.stack[base + absorb.dst as usize] = Packed::ERA;
        Place { pc: absorb.join, base }
    }

    /// A match on something else than a constructor of its type, in slot `src`.
    #[cold]
    pub(super) fn match_slowly(
        &mut self,
        src: usize,
        first: SmallCtor,
        count: u16,
        pc: Address,
        base: usize,
    ) -> Result<Place, Trap> {
        let before = self.stack[base + src].word();
        let word = match self.inspect(before, pc, base)? {
            Step::Value(Word::Era) => return Ok(self.absorb(pc, base)),
            Step::Value(word) => word,
            Step::Enter(place) => return Ok(place),
        };
        let ty = self.code.tables.program.ctors.get(CtorId::new(u32::from(first))).map(|ctor| ctor.ty);
        match (word, ty) {
            (Word::Unit(_) | Word::Data(..), _) if word != before => {
                self.stack[base + src] = Packed::from(word);
                Ok(Place { pc, base })
            }
            (Word::Lambda(_) | Word::Closure(_) | Word::Partial(..) | Word::Global(_), Some(ty)) if count > 0 => {
                let above = self.above(pc, base);
                self.ensure_stack(above + 2, pc)?;
                self.frames.push(Activation { pc, base: base as u32 });
                self.stack[above] = Packed::from(Word::U32(src as u32));
                self.frames.push(Activation { pc: stub::DELIVER, base: above as u32 });
                self.stack[above + 1] = Packed::from(Word::Select(ty));
                self.enter(word, above + 1, 1, pc)
            }
            _ => Err(self.no_matching_case(word, pc, first)),
        }
    }

    /// The error of a match that has no arm for a value.
    #[cold]
    pub(super) fn no_matching_case(&self, word: Word, pc: Address, first: SmallCtor) -> Trap {
        let program = &self.code.tables.program;
        let ty = program.ctors.get(CtorId::new(u32::from(first))).map(|ctor| &program.types[ctor.ty].name);
        let expected = ty.map_or("a type without constructors".to_string(), |name| format!("a `{name}`"));
        let message = format!("a match on {expected} has no case for {}", self.describe(word));
        let hint = self.advice_for_match(ty.map_or("", |name| name), word);
        self.trap(Code::NoMatchingCase, pc, message, hint)
    }

    /// The [`Deliver`](crate::code::Instruction::Deliver) stub: a function was applied to [`Word::Select`], and
    /// what it gave has arrived in slot 1.
    pub(super) fn deliver(&mut self, base: usize) -> Result<Step, Trap> {
        let value = match self.inspect(self.stack[base + 1].word(), stub::DELIVER, base)? {
            Step::Value(value) => value,
            enter => return Ok(enter),
        };
        let waiting = *self.frames.last().expect("a match waits below the stub");
        match (self.stack[base].word(), value) {
            (Word::U32(src), Word::Unit(_) | Word::Data(..) | Word::Era) => {
                self.stack[waiting.base as usize + src as usize] = Packed::from(value);
                Ok(Step::Value(value))
            }
            _ => {
                let message =
                    format!("a match met a function that stands for no constructor: it gave {}", self.describe(value));
                let hint = "annotate the types of the function, so that the checker finds this before it runs";
                Err(self.trap(Code::NoMatchingCase, waiting.pc, message, hint))
            }
        }
    }
}

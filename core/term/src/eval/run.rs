//! The loop over instructions.
//!
//! An instruction does what it is made for right here; whatever is rarer is a method of its own that says where to go
//! on, often at the same instruction again.

use std::sync::atomic::Ordering;

use super::collect::Top;
use super::operate::operate;
use super::value::{Packed, Position, Word};
use super::view::{make_chain, make_text};
use super::{Activation, Machine, Place, Step, Trap};
use crate::code::{Address, Chain, Instruction, Tables, stub};
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::{BinOp, Num};
use girih_base::span::Span;

/// After how many calls the interrupt flag is looked at.
pub(super) const POLL_INTERVAL: u32 = 4096;

const INTERRUPTED: &str = "the program was stopped";

impl Machine {
    /// Runs until the call that was started at `place` has returned, and gives its result.
    pub(super) fn run(&mut self, place: Place) -> Result<Word, Trap> {
        let tables = self.tables();
        let code = &tables.instructions[..];
        let Place { mut pc, mut base } = place;
        let mut frame = &mut self.stack[base..];

        /// Goes on at a place.
        macro_rules! go {
            ($place:expr) => {{
                let place: Place = $place;
                (pc, base) = (place.pc, place.base);
                frame = &mut self.stack[base..];
            }};
        }
        /// Writes a value that was computed slowly, or goes where it has to be computed.
        macro_rules! finish {
            ($dst:expr, $step:expr) => {
                match $step {
                    Step::Value(value) => {
                        frame = &mut self.stack[base..];
                        frame[$dst as usize] = value.into();
                    }
                    Step::Enter(place) => go!(place),
                }
            };
        }
        /// Makes sure that a cell of this many words can be made.
        macro_rules! reserve {
            ($words:expr) => {
                if !self.heap.has_room($words) {
                    self.collect_in_function($words, pc - 1, base, &tables)?;
                    frame = &mut self.stack[base..];
                }
            };
        }
        /// One more call. The frame is not used after it.
        macro_rules! count_call {
            () => {
                self.fuel -= 1;
                if self.fuel == 0 {
                    self.poll(pc - 1)?;
                }
            };
        }
        /// Goes on with a call whose frame is at `$base`.
        macro_rules! call {
            ($base:expr, $entry:expr, $size:expr) => {{
                base = $base;
                self.ensure_stack(base + $size as usize, pc - 1)?;
                pc = $entry;
                frame = &mut self.stack[base..];
            }};
        }

        loop {
            let instruction = code[pc as usize];
            pc += 1;
            match instruction {
                Instruction::Move { dst, src } => frame[dst as usize] = frame[src as usize],
                Instruction::Const { dst, value } => frame[dst as usize] = value,
                Instruction::Text { dst, text } => {
                    self.text(dst, text, pc - 1, base, &tables)?;
                    frame = &mut self.stack[base..];
                }
                Instruction::Data1 { ctor, dst, field } => {
                    reserve!(1);
                    let cell = self.heap.cell([frame[field as usize]]);
                    frame[dst as usize] = Word::Data(ctor, cell).into();
                }
                Instruction::Data2 { ctor, dst, first, second } => {
                    reserve!(2);
                    let cell = self.heap.cell([frame[first as usize], frame[second as usize]]);
                    frame[dst as usize] = Word::Data(ctor, cell).into();
                }
                Instruction::Data { ctor, count, dst, at } => {
                    let (at, count) = (at as usize, usize::from(count));
                    reserve!(count);
                    let (cell, words) = self.heap.space(count);
                    words.copy_from_slice(&frame[at..at + count]);
                    frame[dst as usize] = Word::Data(ctor, cell).into();
                }
                Instruction::Pair { dst, first, second } => {
                    reserve!(2);
                    let cell = self.heap.cell([frame[first as usize], frame[second as usize]]);
                    frame[dst as usize] = Word::Pair(cell).into();
                }
                Instruction::Tuple { dst, at, count } => {
                    let (at, pairs) = (at as usize, count as usize - 1);
                    reserve!(2 * pairs);
                    let mut rest = frame[at + pairs];
                    let (cell, words) = self.heap.space(2 * pairs);
                    for pair in (0..pairs).rev() {
                        words[2 * pair] = frame[at + pair];
                        words[2 * pair + 1] = rest;
                        rest = Word::Pair(cell + 2 * pair as Position).into();
                    }
                    frame[dst as usize] = rest;
                }
                Instruction::List { dst, at, count } => {
                    self.list_literal(dst, at, count, pc - 1, base, &tables)?;
                    frame = &mut self.stack[base..];
                }
                Instruction::Closure { dst, lambda } => {
                    let slots = &tables.lambdas[lambda].slots;
                    reserve!(1 + slots.len());
                    let (cell, words) = self.heap.space(1 + slots.len());
                    words[0] = Word::Header(lambda).into();
                    for (word, &slot) in words[1..].iter_mut().zip(slots) {
                        *word = frame[slot as usize];
                    }
                    frame[dst as usize] = Word::Closure(cell).into();
                }
                Instruction::Partial { count, dst, at, def } => {
                    let (at, size) = (at as usize, usize::from(count));
                    reserve!(1 + size);
                    let (cell, words) = self.heap.space(1 + size);
                    words[0] = Word::Global(def).into();
                    words[1..].copy_from_slice(&frame[at..at + size]);
                    frame[dst as usize] = Word::Partial(count, cell).into();
                }
                Instruction::Op { op, dst, a, b } => {
                    let (a, b) = (frame[a as usize].word(), frame[b as usize].word());
                    match operate(op, a, b) {
                        Some(result) => frame[dst as usize] = result.into(),
                        None => finish!(dst, self.operate_slowly(op, a, b, pc - 1, base)?),
                    }
                }
                Instruction::OpConst { op, kind, dst, a, bits } => {
                    let a = frame[a as usize].word();
                    let b = Word::from(Num::from_bits(kind, bits));
                    match operate(op, a, b) {
                        Some(result) => frame[dst as usize] = result.into(),
                        None => finish!(dst, self.operate_slowly(op, a, b, pc - 1, base)?),
                    }
                }
                Instruction::Prim { prim, dst, a, b } => {
                    let operands = [frame[a as usize].word(), frame[b as usize].word()];
                    finish!(dst, self.primitive(prim, operands, pc - 1, base)?);
                }
                Instruction::Jump { to } => pc = to,
                Instruction::IfZero { src, zero } => match bits(frame[src as usize].word()) {
                    Some(0) => pc = zero,
                    Some(_) => {}
                    None => go!(self.switch_slowly(src as usize, pc - 1, base)?),
                },
                Instruction::Branch { op, a, b, zero } => {
                    let (a, b) = (frame[a as usize].word(), frame[b as usize].word());
                    match operate(op, a, b).and_then(bits) {
                        Some(0) => pc = zero,
                        Some(_) => {}
                        None => go!(self.branch_slowly(op, a, b, zero, pc - 1, base)?),
                    }
                }
                Instruction::BranchConst { op, kind, a, bits: constant, zero } => {
                    let a = frame[a as usize].word();
                    let b = Word::from(Num::from_bits(kind, constant));
                    match operate(op, a, b).and_then(bits) {
                        Some(0) => pc = zero,
                        Some(_) => {}
                        None => go!(self.branch_slowly(op, a, b, zero, pc - 1, base)?),
                    }
                }
                Instruction::Switch { src, table, count } => match bits(frame[src as usize].word()) {
                    Some(bits) => pc = tables.targets[(table + bits.min(count)) as usize],
                    None => go!(self.switch_slowly(src as usize, pc - 1, base)?),
                },
                Instruction::Search { src, keys, table } => match bits(frame[src as usize].word()) {
                    Some(bits) => {
                        let keys = &tables.keys[keys as usize];
                        let position = keys.binary_search(&bits).unwrap_or(keys.len());
                        pc = tables.targets[table as usize + position];
                    }
                    None => go!(self.switch_slowly(src as usize, pc - 1, base)?),
                },
                Instruction::Predecessor { dst, src, by } => {
                    frame[dst as usize] = before(frame[src as usize].word(), by).into()
                }
                Instruction::Match { first, count, src, table } => {
                    let word = frame[src as usize].word();
                    let tag = match word {
                        Word::Data(ctor, _) | Word::Unit(ctor) => ctor.wrapping_sub(first),
                        _ => u16::MAX,
                    };
                    if tag < count {
                        pc = tables.targets[table as usize + usize::from(tag)];
                        if pc == stub::STOP {
                            return Err(self.no_matching_case(word, pc - 1, first));
                        }
                    } else {
                        go!(self.match_slowly(src as usize, first, count, pc - 1, base)?);
                    }
                }
                Instruction::Fields { first, count, src, dst } => {
                    if let Word::Data(_, cell) = frame[src as usize].word() {
                        let (dst, count) = (dst as usize, usize::from(count));
                        let fields = self.heap.slice(cell + Position::from(first), count);
                        match fields {
                            [field] => frame[dst] = *field,
                            [first, second] => {
                                frame[dst] = *first;
                                frame[dst + 1] = *second;
                            }
                            fields => frame[dst..dst + count].copy_from_slice(fields),
                        }
                    }
                }
                Instruction::Untuple { src, dst, count } => {
                    let (src, dst) = (src as usize, dst as usize);
                    match frame[src].word() {
                        Word::Pair(cell) if count == 2 => {
                            (frame[dst], frame[dst + 1]) = self.heap.pair(cell);
                        }
                        _ => go!(self.untuple(src, dst, count as usize, pc, base)?),
                    }
                }
                Instruction::Call { count: _, entry, at, frame: size } => {
                    count_call!();
                    self.frames.push(Activation { pc, base: base as u32 });
                    call!(base + at as usize, entry, size);
                }
                Instruction::TailCall { count, entry, at, frame: size } => {
                    let (at, count) = (at as usize, usize::from(count));
                    move_down(frame, at, count);
                    count_call!();
                    call!(base, entry, size);
                }
                Instruction::Apply { function, at, count } => {
                    let function = frame[function as usize].word();
                    count_call!();
                    self.frames.push(Activation { pc, base: base as u32 });
                    go!(self.enter_fast(function, base + at as usize, count as usize, pc - 1, &tables)?);
                }
                Instruction::TailApply { function, at, count } => {
                    let function = frame[function as usize].word();
                    let (at, count) = (at as usize, count as usize);
                    move_down(frame, at, count);
                    count_call!();
                    go!(self.enter_fast(function, base, count, pc - 1, &tables)?);
                }
                Instruction::Return { src } => {
                    frame[0] = frame[src as usize];
                    let waiting = self.frames.pop().expect("the lowest frame ends the run");
                    self.untouched = self.untouched.min(self.frames.len());
                    (pc, base) = (waiting.pc, waiting.base as usize);
                    frame = &mut self.stack[base..];
                }
                Instruction::Force { dst, src } => {
                    let word = frame[src as usize].word();
                    finish!(dst, self.inspect(word, pc - 1, base)?);
                }
                Instruction::Stop => return Ok(frame[0].word()),
                Instruction::Resume => go!(self.resume(base)?),
                Instruction::Store => match self.store(base)? {
                    Step::Value(value) => go!(self.give(value, base)),
                    Step::Enter(place) => go!(place),
                },
                Instruction::Deliver => match self.deliver(base)? {
                    Step::Value(value) => go!(self.give(value, base)),
                    Step::Enter(place) => go!(place),
                },
                Instruction::Refused => {
                    let message = "a term that cannot be run was not refused".to_string();
                    return Err(self.trap(Code::Internal, pc - 1, message, "please report it with the program"));
                }
            }
        }
    }

    /// Applies a function to exactly its arguments, or does what [`enter`](Machine::enter) does.
    #[inline]
    fn enter_fast(
        &mut self,
        function: Word,
        at: usize,
        count: usize,
        pc: Address,
        tables: &Tables,
    ) -> Result<Place, Trap> {
        if let Word::Closure(cell) = function
            && let Word::Header(lambda) = self.heap.word(cell)
        {
            let lambda = &tables.lambdas[lambda];
            if lambda.entry.arity as usize == count {
                self.ensure_stack(at + lambda.entry.frame as usize, pc)?;
                let values = self.heap.slice(cell + 1, lambda.captures.len());
                let captured = &mut self.stack[at + count..at + count + values.len()];
                captured.copy_from_slice(values);
                return Ok(Place { pc: lambda.entry.entry, base: at });
            }
        }
        self.enter(function, at, count, pc)
    }

    fn collect_in_function(&mut self, words: usize, pc: Address, base: usize, tables: &Tables) -> Result<(), Trap> {
        let count = tables.heights[pc as usize] as usize;
        let live = tables.live[pc as usize];
        self.collect(words, Top { pc, base, count, live })
    }

    /// Every few thousand calls: looks whether the run is to end.
    #[cold]
    fn poll(&mut self, pc: Address) -> Result<(), Trap> {
        self.fuel = POLL_INTERVAL;
        self.stats.calls += u64::from(POLL_INTERVAL);
        if self.is_interrupted() {
            return Err(self.trap(Code::Interrupted, pc, INTERRUPTED.to_string(), "it was still running"));
        }
        self.check_frames(pc)
    }

    fn is_interrupted(&self) -> bool {
        let is_raised = self.limits.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        is_raised || self.stats.calls > self.limits.calls
    }

    /// Fails if the machine is to stop. For what happens between runs.
    ///
    /// # Errors
    /// If the interrupt flag is set, or there were too many calls.
    pub fn check_interrupt(&self) -> Result<(), Diagnostic> {
        if self.is_interrupted() { Err(Diagnostic::new(Code::Interrupted, Span::NONE, INTERRUPTED)) } else { Ok(()) }
    }

    #[cold]
    fn branch_slowly(
        &mut self,
        op: BinOp,
        a: Word,
        b: Word,
        zero: Address,
        pc: Address,
        base: usize,
    ) -> Result<Place, Trap> {
        match self.operate_slowly(op, a, b, pc, base)? {
            Step::Enter(place) => Ok(place),
            Step::Value(value) => match bits(value) {
                Some(0) => Ok(Place { pc: zero, base }),
                Some(_) => Ok(Place { pc: pc + 1, base }),
                None => Ok(self.absorb(pc, base)),
            },
        }
    }

    /// Takes a tuple apart; `*` has parts that are `*`. `pc` is the next instruction.
    fn untuple(&mut self, src: usize, dst: usize, count: usize, pc: Address, base: usize) -> Result<Place, Trap> {
        let mut rest = self.stack[base + src].word();
        for _ in 1..count {
            rest = match self.inspect(rest, pc - 1, base)? {
                Step::Value(Word::Pair(cell)) => self.heap.word(cell + 1),
                Step::Value(Word::Era) => break,
                Step::Value(other) => {
                    let found = self.describe(other);
                    let message = format!("a tuple of {count} parts is taken apart, and this is {found}");
                    return Err(self.trap(Code::NotATuple, pc - 1, message, "check what the function gives"));
                }
                Step::Enter(place) => return Ok(place),
            };
        }
        // All that has to be computed is there now.
        let mut rest = self.stack[base + src].word();
        for part in 0..count - 1 {
            let (first, second) = match self.inspect(rest, pc - 1, base)? {
                Step::Value(Word::Pair(cell)) => (self.heap.word(cell), self.heap.word(cell + 1)),
                _ => (Word::Era, Word::Era),
            };
            self.stack[base + dst + part] = first.into();
            rest = second;
        }
        self.stack[base + dst + count - 1] = rest.into();
        Ok(Place { pc, base })
    }

    fn text(&mut self, dst: u32, text: u32, pc: Address, base: usize, tables: &Tables) -> Result<(), Trap> {
        let text = &tables.texts[text as usize];
        let words = 2 * text.chars().count();
        if !self.heap.has_room(words) {
            self.collect_in_function(words, pc, base, tables)?;
        }
        let chain = Chain::text(&tables.program.known).expect("code with strings was compiled with a prelude");
        let value = make_text(&mut self.heap, chain, text);
        self.stack[base + dst as usize] = value.into();
        Ok(())
    }

    fn list_literal(
        &mut self,
        dst: u32,
        at: u32,
        count: u32,
        pc: Address,
        base: usize,
        tables: &Tables,
    ) -> Result<(), Trap> {
        let words = 2 * count as usize;
        if !self.heap.has_room(words) {
            self.collect_in_function(words, pc, base, tables)?;
        }
        let at = base + at as usize;
        let chain = Chain::list(&tables.program.known).expect("code with lists was compiled with a prelude");
        let items = self.stack[at..at + count as usize].iter().copied();
        let value = make_chain(&mut self.heap, chain, items);
        self.stack[base + dst as usize] = value.into();
        Ok(())
    }
}

/// Moves the `count` values from `at` on to the start of the frame.
#[inline(always)]
fn move_down(frame: &mut [Packed], at: usize, count: usize) {
    // A call of the system's copying function costs more than these few moves.
    match count {
        0 => {}
        1 => frame[0] = frame[at],
        2 => (frame[0], frame[1]) = (frame[at], frame[at + 1]),
        3 => (frame[0], frame[1], frame[2]) = (frame[at], frame[at + 1], frame[at + 2]),
        _ => frame.copy_within(at..at + count, 0),
    }
}

/// The bits of a number.
#[inline(always)]
fn bits(word: Word) -> Option<u32> {
    match word {
        Word::U24(x) => Some(x),
        other => other.num().map(Num::bits),
    }
}

/// A number that a switch has looked at, minus `by`, as an unsigned number of its width.
#[inline(always)]
fn before(word: Word, by: u32) -> Word {
    match word {
        Word::U24(x) => Word::from(Num::u24(x.wrapping_sub(by))),
        Word::U32(x) => Word::U32(x.wrapping_sub(by)),
        Word::I32(x) => Word::U32((x as u32).wrapping_sub(by)),
        Word::F32(x) => Word::U32(Num::F32(x).bits().wrapping_sub(by)),
        other => Word::from(Num::u24(bits(other).unwrap_or(0).wrapping_sub(by))),
    }
}

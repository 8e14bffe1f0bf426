//! The code of a segment while it is written: a function of the IR that runs for one instance.
//!
//! What stands in frames and in the schedule is read at the function's head, before anything is written. A cell that the segment makes is
//! *pending* until somebody must find it in memory: if it is opened before that, it never gets there. Cells of which the place is known are
//! found by it (`reach`), others by their words; if one is found at the head, its fields are read there too, all at once.
//!
//! Code can also be written to be measured alone; then nothing is written and only counted.

use super::known::Known;
use super::memory::control;
use super::place::Address;
use super::shares::shared;
use crate::heap::cells::SHARED;
use crate::word::{self, as_word};
use girih_base::hash::FastMap;
use girih_base::span::Span;
use girih_ir::attrs::Attr;
use girih_ir::heap::{CELL, LayoutId};
use girih_ir::ops::Effect;
use girih_ir::{Builder, Function, FunctionId, Inst, Op, ParamAttrs, RegionId, Space, Type, ValueId};
use std::cell::Cell;
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

/// How many times a segment's loops go round at most, all together.
pub(super) const FUEL: u32 = 1 << 20;
/// What a loop counts for, whose rounds nobody knows.
pub(super) const LOOP: usize = 200;

/// A value: what is known of it, and where the device has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Val {
    pub known: Known,
    pub dev: Dev,
}

/// Where the device has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dev {
    /// Nowhere: it is known wholly.
    Nowhere,
    /// It is a constant of the program.
    Literal,
    /// The segment has it.
    Here(ValueId),
    /// A slot of the frame.
    Slot(u32),
    /// A slot of a frame of calls that have just ended: the slot, which one of those of the instance, and the binary logarithm of how many.
    Child(u32, u32, u32),
    /// A cell that the segment has made.
    Cell(usize),
    /// A cell or hole that is found by its place.
    Placed(Address),
    /// A number that is computed as places are.
    Linear(Address),
    /// A result of a call that waits, or that has been made.
    Result(usize, usize),
    /// The same word, of a cell that others have too.
    Shared(usize, usize),
    /// The results of a call that was forked.
    Fork(usize),
    /// A computation on what is not there yet.
    Later(usize),
}

/// A word of the schedule that a segment reads: the same for all instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Word {
    /// A number.
    Number(u32),
    /// The first of new cells, of so many units each.
    Room(u32),
}

/// Memory that a cell is made in: the hole, its units and the layout in its header.
pub(super) type Place = (Val, u32, LayoutId);

/// How many units of the heap have been given out; none if that is done when scripts are put in line.
pub(super) type Rooms = Option<Rc<Cell<u64>>>;

/// What is known of a word in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Unknown,
    Bits(u32),
    Word(Address),
}

/// A computation on results of calls that wait.
#[derive(Clone, Debug)]
pub(super) struct Later {
    pub inst: Inst,
    pub callee: Option<FunctionId>,
    pub operands: Vec<(Val, Type)>,
    pub ty: Type,
    /// Its value, once that is there.
    pub value: Option<Val>,
}

/// A cell that the segment makes.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// Its memory, if it is made in a hole.
    pub place: Option<Place>,
    pub layout: LayoutId,
    pub units: u32,
    pub fields: Vec<(Val, Type)>,
    pub state: State,
    /// What stands in its memory before it is written.
    pub before: Vec<Content>,
    /// Its first unit for the first instance, if it is one of a row.
    pub row: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not in memory yet.
    Pending,
    /// It is in memory: its place or its word.
    Stored(Dev),
    /// Opened or given back.
    Gone,
}

/// Code in the making.
pub(super) struct Code {
    pub b: Builder,
    /// Whether it is written, or measured alone.
    pub is_written: bool,
    /// The binary logarithm of how many instances there are.
    pub level: u32,
    pub rooms: Rooms,
    /// How many operations it has.
    pub count: usize,
    pub cells: Vec<Made>,
    pub later: Vec<Later>,
    /// The results of calls, as soon as they have been made.
    pub results: Vec<Option<Vec<Val>>>,
    /// Memory of cells that were given back.
    pub spare: Vec<Place>,
    /// Rounds of loops that are left.
    pub fuel: ValueId,
    /// The words of the schedule that it reads, in order.
    pub words: Vec<Word>,
    /// Where the cells begin that were made in the innermost arm of a choice, or in the segment: others may be another arm's.
    pub own: usize,
    /// How deep the code is in choices that instances make on their own.
    pub confined: u32,
    head: RegionId,
    main: RegionId,
    pub places: Places,
    read: FastMap<(u32, u32, u32, bool), ValueId>,
    /// Words of shared results.
    pub shares: FastMap<(usize, usize), ValueId>,
    numbers: FastMap<u32, ValueId>,
    /// Places that have been computed.
    places_at: Vec<(Address, ValueId)>,
    /// The same by words, outside of choices.
    indices: FastMap<ValueId, ValueId>,
    /// What is there at the function's head.
    pub heads: HashSet<ValueId>,
    /// The cells that have been written, by the indices of their first fields; none once it is not known which.
    pub written: Option<HashSet<ValueId>>,
    /// Fields as they stand in memory.
    pub fields: FastMap<(ValueId, u32), ValueId>,
    pub zero: ValueId,
}

/// The parameters of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub heap: ValueId,
    pub control: ValueId,
    pub frames: ValueId,
    pub schedule: ValueId,
    pub instance: ValueId,
    pub level: ValueId,
    pub words: ValueId,
    pub limit: ValueId,
    pub base: ValueId,
    pub child: [ValueId; 4],
}

impl word::Write for Code {
    fn op(&mut self, op: Op, ty: Type, operands: &[ValueId]) -> ValueId {
        Code::op(self, op, ty, operands)
    }
    fn u32(&mut self, value: u32) -> ValueId {
        Code::u32(self, value)
    }
    fn ty(&self, value: ValueId) -> Type {
        self.b.ty(value)
    }
}

impl Code {
    pub fn new(is_written: bool, level: u32, rooms: Rooms) -> Code {
        let mut function = Function::new("segment", Span::NONE);
        let plain = ParamAttrs::default();
        let memory = |f: &mut Function, name: &str, readonly: bool| {
            f.param(name, Type::Memory(Space::Global), ParamAttrs { readonly, ..plain })
        };
        let heap = memory(&mut function, "heap", false);
        let control = memory(&mut function, "control", false);
        let frames = memory(&mut function, "frames", false);
        let schedule = memory(&mut function, "schedule", true);
        let number = |f: &mut Function, name: &str| f.param(name, Type::U32, plain);
        let instance = number(&mut function, "instance");
        let log = number(&mut function, "level");
        let words = number(&mut function, "words");
        let limit = number(&mut function, "limit");
        let base = number(&mut function, "base");
        let child = ["same", "twice", "fourfold", "eightfold"].map(|name| number(&mut function, name));
        let places = Places { heap, control, frames, schedule, instance, level: log, words, limit, base, child };
        let mut b = Builder::new(function);
        let (head, main, zero, fuel) = (b.region, b.new_region(&[]), b.u32(0), b.u32(FUEL));
        b.region = main;
        Code {
            b,
            is_written,
            level,
            rooms,
            count: 0,
            cells: vec![],
            later: vec![],
            results: vec![],
            spare: vec![],
            fuel,
            words: vec![],
            own: 0,
            confined: 0,
            head,
            main,
            places,
            read: FastMap::default(),
            shares: FastMap::default(),
            numbers: FastMap::default(),
            places_at: vec![],
            indices: FastMap::default(),
            heads: HashSet::new(),
            written: Some(HashSet::new()),
            fields: FastMap::default(),
            zero,
        }
    }

    /// The function, ended, with the words that it reads, and the next one on the way: it knows of the same cells and calls.
    pub fn finish(mut self) -> (Function, Vec<Word>, Code) {
        let (cells, later) = (std::mem::take(&mut self.cells), std::mem::take(&mut self.later));
        let next = Code {
            cells,
            later,
            results: std::mem::take(&mut self.results),
            own: self.own,
            ..Code::new(true, self.level, self.rooms.clone())
        };
        self.b.region = self.main;
        self.b.end(Op::Return, &[]);
        let main = std::mem::take(&mut self.b.function.regions[self.main].insts);
        self.b.function.regions[self.head].insts.extend(main);
        (self.b.function, self.words, next)
    }

    /// Does something at the function's head.
    pub fn at_head<R>(&mut self, write: impl FnOnce(&mut Code) -> R) -> R {
        let outer = std::mem::replace(&mut self.b.region, self.head);
        let result = write(self);
        self.b.region = outer;
        result
    }

    /// An operation of one result.
    pub fn op(&mut self, op: Op, ty: Type, operands: &[ValueId]) -> ValueId {
        self.count += 1;
        if self.is_written { self.b.op(op, ty, operands) } else { self.zero }
    }
    pub fn u32(&mut self, value: u32) -> ValueId {
        self.b.u32(value)
    }
    /// A copy of a pure instruction.
    pub fn copy(
        &mut self,
        inst: &Inst,
        callee: Option<FunctionId>,
        operands: &[ValueId],
        results: &[Type],
    ) -> Vec<ValueId> {
        debug_assert!(inst.op == Op::Call || inst.op.row().effect == Effect::Pure, "{}", inst.op.name());
        self.count += 1;
        if !self.is_written {
            return vec![self.zero; results.len()];
        }
        let mut new =
            Inst { attrs: inst.attrs.clone(), ..Inst::new(inst.op, inst.ty.map(as_word), operands, inst.span) };
        if let Some(callee) = callee {
            new.set(Attr::Callee(callee));
        }
        let id = self.b.push(new, results);
        self.b.function.insts[id].results.to_vec()
    }

    /// A word of the schedule.
    pub fn word(&mut self, word: Word) -> ValueId {
        let at = self.words.len() as u32;
        self.words.push(word);
        if !self.is_written {
            self.count += 1;
            return self.zero;
        }
        self.at_head(|code| {
            let at = code.u32(at);
            let at = code.op(Op::Add, Type::U32, &[code.places.words, at]);
            code.b.load(Type::U32, code.places.schedule, at)
        })
    }
    /// A number that is known when the schedule is made.
    fn number(&mut self, bits: u32) -> ValueId {
        if let Some(value) = self.numbers.get(&bits) {
            return *value;
        }
        let value = self.word(Word::Number(bits));
        self.numbers.insert(bits, value);
        value
    }

    /// Where a slot of the frame, or of a frame of calls, stands.
    fn slot_place(&mut self, slot: u32, child: Option<(u32, u32)>) -> ValueId {
        let Places { level, base, child: below, instance, .. } = self.places;
        let (first, level, number) = match child {
            None => (base, level, instance),
            Some((which, widened)) => {
                let (by, which) = (self.u32(widened), self.u32(which));
                let level = self.op(Op::Add, Type::U32, &[level, by]);
                let number = self.op(Op::Shl, Type::U32, &[instance, by]);
                let number = self.op(Op::Add, Type::U32, &[number, which]);
                (below[widened as usize], level, number)
            }
        };
        let first = self.op(Op::Add, Type::U32, &[first, number]);
        let slot = self.u32(slot);
        let before = self.op(Op::Shl, Type::U32, &[slot, level]);
        self.op(Op::Add, Type::U32, &[first, before])
    }
    fn read_slot(&mut self, slot: u32, child: Option<(u32, u32)>) -> ValueId {
        let (which, widened) = child.unwrap_or((0, 0));
        let key = (slot, which, widened, child.is_some());
        if let Some(value) = self.read.get(&key) {
            return *value;
        }
        let value = if self.is_written {
            self.at_head(|code| {
                let at = code.slot_place(slot, child);
                let value = code.b.load(Type::U32, code.places.frames, at);
                code.heads.insert(value);
                value
            })
        } else {
            self.count += 2;
            self.zero
        };
        self.read.insert(key, value);
        value
    }
    /// Writes a word to a slot.
    pub fn write_slot(&mut self, slot: u32, child: Option<(u32, u32)>, value: ValueId) {
        let word = word::close(self, value);
        let at = self.slot_place(slot, child);
        self.count += 1;
        if self.is_written {
            self.b.store(Type::U32, self.places.frames, at, word);
        }
    }

    /// What a value is, if it is the result of a call that has been made.
    pub fn found(&self, mut value: Val) -> Val {
        loop {
            let found = match value.dev {
                Dev::Result(call, i) => self.result(call, i),
                Dev::Shared(call, i) => return self.result(call, i).map_or(value, |found| shared(found, value)),
                Dev::Later(later) => self.later.get(later).and_then(|later| later.value),
                _here => None,
            };
            let Some(found) = found else { return value };
            let known = if found.known == Known::Unknown { value.known } else { found.known };
            value = Val { known, dev: found.dev };
        }
    }
    /// A result of a call that has been made.
    pub fn result(&self, call: usize, i: usize) -> Option<Val> {
        self.results.get(call).and_then(|results| results.as_ref()?.get(i)).copied()
    }
    /// Whether a value is not there before calls have been made.
    pub fn waits(&self, value: Val) -> bool {
        self.waits_beyond(value, &mut BTreeSet::new())
    }
    /// The same, apart from operations that were looked at: one may be an operand of many, and these of each other.
    fn waits_beyond(&self, value: Val, seen: &mut BTreeSet<usize>) -> bool {
        match self.found(value).dev {
            Dev::Result(..) => true,
            Dev::Shared(call, i) => self.result(call, i).is_none(),
            Dev::Later(later) => {
                let mut operands = self.later[later].operands.iter();
                seen.insert(later) && operands.any(|(val, _)| self.waits_beyond(*val, seen))
            }
            Dev::Cell(made) => self.cells.get(made).is_some_and(|cell| {
                let mut fields = cell.fields.iter();
                cell.state == State::Pending
                    && (fields.any(|(val, _)| self.waits_beyond(*val, seen))
                        || cell.place.is_some_and(|(val, ..)| self.waits_beyond(val, seen)))
            }),
            Dev::Nowhere
            | Dev::Literal
            | Dev::Here(_)
            | Dev::Slot(_)
            | Dev::Child(..)
            | Dev::Placed(_)
            | Dev::Linear(_)
            | Dev::Fork(_) => false,
        }
    }
    pub fn cell_waits(&self, cell: &Made) -> bool {
        cell.fields.iter().any(|(val, _)| self.waits(*val)) || cell.place.is_some_and(|(val, ..)| self.waits(val))
    }

    /// What stands for a value on the device.
    pub fn value(&mut self, value: Val, ty: Type) -> ValueId {
        let value = self.found(value);
        match (value.dev, value.known.bits()) {
            (Dev::Literal, Some(bits)) => self.b.function.constant(as_word(ty), u64::from(bits)),
            (Dev::Here(value), _) => value,
            (Dev::Cell(made), _) => self.stored_word(made),
            (Dev::Placed(address), _) => self.placed_word(address),
            (Dev::Linear(address), _) => self.placed(address),
            (Dev::Later(later), None) => self.compute(later),
            (Dev::Shared(call, i), None) => self.shared_word(call, i),
            (_, Some(bits)) => {
                let word = self.number(bits);
                self.at_head_if_written(|code| word::open(code, word, ty))
            }
            (Dev::Slot(slot), None) => {
                let word = self.read_slot(slot, None);
                self.at_head_if_written(|code| word::open(code, word, ty))
            }
            (Dev::Child(slot, which, widened), None) => {
                let word = self.read_slot(slot, Some((which, widened)));
                self.at_head_if_written(|code| word::open(code, word, ty))
            }
            (Dev::Nowhere | Dev::Literal | Dev::Fork(_) | Dev::Result(..), None) => self.b.zero(as_word(ty)),
        }
    }
    /// The word of a cell that is found by its place.
    pub fn placed_word(&mut self, address: Address) -> ValueId {
        let index = self.placed(address);
        self.at_head_if_written(|code| {
            let two = code.u32(2);
            let word = code.op(Op::Shl, Type::U32, &[index, two]);
            if !address.shared {
                return word;
            }
            let others = code.u32(SHARED - CELL);
            code.op(Op::Add, Type::U32, &[word, others])
        })
    }
    /// The index of a cell's first field, by its place. All its parts are read from the schedule, so that places of other calls are the same code.
    fn placed(&mut self, address: Address) -> ValueId {
        if !self.is_written {
            self.count += 1;
            return self.zero;
        }
        let alike = self.places_at.iter().find(|(other, _)| other.terms == address.terms).copied();
        let same = self.places_at.iter().find(|(other, _)| other.terms == address.terms && other.base == address.base);
        let index = match (same, alike) {
            (Some((_, index)), _) => return *index,
            // What the instance adds is known already.
            (None, Some((other, index))) => {
                let from = self.word(Word::Number(address.base.wrapping_sub(other.base)));
                self.at_head(|code| code.op(Op::Add, Type::U32, &[index, from]))
            }
            (None, None) => self.sum(&address),
        };
        self.places_at.push((address, index));
        self.heads.insert(index);
        index
    }
    fn sum(&mut self, address: &Address) -> ValueId {
        let mut index = self.word(Word::Number(address.base));
        for (shift, factor) in address.some_terms() {
            let [shift, factor] = [*shift, *factor].map(|word| self.word(Word::Number(word)));
            index = self.at_head(|code| {
                let number = code.op(Op::Shr, Type::U32, &[code.places.instance, shift]);
                let offset = code.op(Op::Mul, Type::U32, &[number, factor]);
                code.op(Op::Add, Type::U32, &[index, offset])
            });
        }
        index
    }
    /// The index of a cell's first field.
    pub fn reach(&mut self, cell: Val) -> ValueId {
        let cell = self.found(cell);
        let dev = match cell.dev {
            Dev::Cell(made) => self.store(made),
            other => other,
        };
        match dev {
            Dev::Placed(address) => self.placed(address),
            _word => {
                let word = self.value(Val { known: cell.known, dev }, Type::Term);
                if let Some(index) = self.indices.get(&word) {
                    return *index;
                }
                let is_head = self.heads.contains(&word);
                let index = if is_head { self.at_head(|code| code.index(word)) } else { self.index(word) };
                if is_head {
                    self.heads.insert(index);
                }
                if self.is_written && (self.confined == 0 || is_head) {
                    self.indices.insert(word, index);
                }
                index
            }
        }
    }

    /// Computes what could not be computed before.
    fn compute(&mut self, number: usize) -> ValueId {
        let Later { inst, callee, operands, ty, .. } = self.later[number].clone();
        let operands: Vec<ValueId> = operands.iter().map(|(val, ty)| self.value(*val, *ty)).collect();
        let value = self.copy(&inst, callee, &operands, &[ty])[0];
        if self.confined == 0 {
            self.later[number].value = Some(Val { known: Known::Unknown, dev: Dev::Here(value) });
        }
        value
    }
    /// A computation, which is done later if something that it takes waits.
    pub fn operation(&mut self, inst: Inst, callee: Option<FunctionId>, operands: Vec<(Val, Type)>, ty: Type) -> Val {
        if operands.iter().any(|(val, _)| self.waits(*val)) {
            self.later.push(Later { inst, callee, operands, ty, value: None });
            return Val { known: Known::Unknown, dev: Dev::Later(self.later.len() - 1) };
        }
        let operands: Vec<ValueId> = operands.iter().map(|(val, ty)| self.value(*val, *ty)).collect();
        Val { known: Known::Unknown, dev: Dev::Here(self.copy(&inst, callee, &operands, &[ty])[0]) }
    }
    pub fn at_head_if_written(&mut self, write: impl FnOnce(&mut Code) -> ValueId) -> ValueId {
        if self.is_written { self.at_head(write) } else { write(self) }
    }

    /// Ends the run if a condition holds, once this step is over.
    pub fn fault_if(&mut self, condition: ValueId, why: u32) {
        self.count += 2;
        if !self.is_written {
            return;
        }
        let control = self.places.control;
        self.b.if_else(
            condition,
            &[],
            |b| {
                let (at, none, why) = (b.u32(control::FAULT), b.u32(0), b.u32(why));
                b.op(Op::AtomicCompareExchange, Type::U32, &[control, at, none, why]);
                b.end(Op::Yield, &[]);
            },
            |b| b.end(Op::Yield, &[]),
        );
    }

    /// An `if` of two regions that are written.
    pub fn choice(&mut self, condition: ValueId, regions: (RegionId, RegionId), results: &[Type]) -> Vec<ValueId> {
        self.count += 1;
        if !self.is_written {
            return vec![self.zero; results.len()];
        }
        let mut inst = Inst::new(Op::If, None, &[condition], Span::NONE);
        inst.regions.extend([regions.0, regions.1]);
        let id = self.b.push(inst, results);
        self.b.function.insts[id].results.to_vec()
    }
    /// A loop of a region that is written.
    pub fn repeat(&mut self, initial: &[ValueId], body: RegionId, results: &[Type]) -> Vec<ValueId> {
        self.count += LOOP;
        if !self.is_written {
            return vec![self.zero; results.len()];
        }
        let mut inst = Inst::new(Op::Loop, None, initial, Span::NONE);
        inst.regions.extend([body]);
        let id = self.b.push(inst, results);
        self.b.function.insts[id].results.to_vec()
    }
    /// Ends a region.
    pub fn end(&mut self, op: Op, values: &[ValueId]) {
        if self.is_written {
            self.b.end(op, values);
        }
    }
}

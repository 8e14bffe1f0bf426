//! Cells of the device's heap, and words.
//!
//! A cell is a header (its layout, and its size in units of 8 bytes above bit 16) and its fields, a word each. New ones come from the lane's
//! lists of free cells, or else from its workgroup's chunk, beside those that its neighbours take. A cell that is free has the number of the
//! next one in its header's place.

use super::lane::Lane;
use super::memory::lane;
use crate::heap::cells::{SHARED, units};
use crate::word::as_word;
use girih_ir::heap::{CELL, LayoutId, NO_CHAIN, NO_REUSE_TOKEN};
use girih_ir::{Builder, Def, Function, Inst, Op, Type, ValueId};

/// Where a cell's size stands in its header.
const SIZE: u32 = 16;

/// Writes an operation on cells or words; gives its results. None for other operations.
pub(super) fn operation(
    b: &mut Builder,
    lane: Option<&Lane>,
    function: &Function,
    inst: &Inst,
    x: &[ValueId],
) -> Option<Vec<ValueId>> {
    let mut w = Words { b };
    Some(match (inst.op, lane) {
        (Op::TermPack, _) => {
            let three = w.b.u32(3);
            let high = w.op(Op::Shl, x[1], three);
            let seven = w.b.u32(7);
            let low = w.op(Op::And, x[0], seven);
            vec![w.op(Op::Or, high, low)]
        }
        (Op::TermTag, _) => {
            let seven = w.b.u32(7);
            let tag = w.op(Op::And, x[0], seven);
            let cell = w.b.u32(CELL);
            vec![w.op(Op::Min, tag, cell)]
        }
        (Op::TermPayload, _) => vec![w.place(x[0])],
        (Op::TermShare, _) => {
            let shared = w.shared(x[0]);
            vec![shared, shared]
        }
        // What nobody owns any more is found by tracing.
        (Op::TermDrop, _) => vec![],
        (Op::CellNew, Some(lane)) => {
            let units = units(x.len());
            let place = w.take(lane, units);
            vec![w.fill(lane, inst.cell()?, place, units, x)]
        }
        (Op::CellFill, Some(lane)) => {
            let least = least_units(function, inst.operands[0]);
            vec![w.refill(lane, inst.cell()?, (x[0], least), &x[1..])]
        }
        (Op::CellFree, Some(lane)) => {
            w.free(lane, x[0]);
            vec![]
        }
        (Op::ChainNew, _) => vec![w.b.u32(NO_CHAIN)],
        (Op::ChainGrow, Some(lane)) => {
            let first = w.put(lane, x[0], x[1], x[2]);
            w.open_field(lane, x[2], inst.field(), first);
            vec![x[2]]
        }
        (Op::ChainEnd, Some(lane)) => vec![w.put(lane, x[0], x[1], x[2])],
        (Op::CellOpen, Some(lane)) => {
            let types: Vec<Type> = inst.results[1..].iter().map(|v| function.ty(*v)).collect();
            w.open(lane, x[0], &types)
        }
        (Op::CellGet, Some(lane)) => {
            let place = w.place(x[0]);
            vec![w.field(lane, place, inst.field(), inst.ty?)]
        }
        (Op::CellLayout, Some(lane)) => {
            let place = w.place(x[0]);
            let header = w.header(lane, place);
            let low = w.b.u32((1 << SIZE) - 1);
            vec![w.op(Op::And, header, low)]
        }
        _other => return None,
    })
}

/// How many units a hole has at least, if it is one: a cell that is taken apart right here has room for its fields.
fn least_units(function: &Function, hole: ValueId) -> u32 {
    match function.values[hole].def {
        Def::Result(id, 0) if function.insts[id].op == Op::CellOpen => units(function.insts[id].results.len() - 1),
        Def::Result(..) | Def::Param(_) | Def::Argument(..) => 0,
        Def::Constant(_) | Def::Specialisation(_) | Def::Memory(_) => 0,
    }
}

/// A word of the same cell that says that others may have it.
pub(super) fn as_shared(b: &mut Builder, word: ValueId) -> ValueId {
    Words { b }.shared(word)
}

/// Writes code that works on words.
struct Words<'a> {
    b: &'a mut Builder,
}

impl Words<'_> {
    fn op(&mut self, op: Op, x: ValueId, y: ValueId) -> ValueId {
        self.b.op(op, Type::U32, &[x, y])
    }

    /// The number of the unit where the cell of a word begins.
    fn place(&mut self, word: ValueId) -> ValueId {
        let three = self.b.u32(3);
        self.op(Op::Shr, word, three)
    }
    /// The place of a word of a cell.
    fn index(&mut self, place: ValueId, word: u32) -> ValueId {
        let one = self.b.u32(1);
        let first = self.op(Op::Shl, place, one);
        let word = self.b.u32(word);
        self.op(Op::Add, first, word)
    }
    fn header(&mut self, lane: &Lane, place: ValueId) -> ValueId {
        let at = self.index(place, 0);
        self.b.load(Type::U32, lane.heap, at)
    }
    fn size(&mut self, lane: &Lane, place: ValueId) -> ValueId {
        let header = self.header(lane, place);
        let bits = self.b.u32(SIZE);
        self.op(Op::Shr, header, bits)
    }
    fn field(&mut self, lane: &Lane, place: ValueId, field: u32, ty: Type) -> ValueId {
        let at = self.index(place, 1 + field);
        self.b.load(as_word(ty), lane.heap, at)
    }

    /// Puts a word into the open field of a chain, in the place of the first cell's, which it gives. Of the chain without cells it gives the word.
    fn put(&mut self, lane: &Lane, chain: ValueId, open: ValueId, word: ValueId) -> ValueId {
        let place = self.place(chain);
        let zero = self.b.u32(0);
        let is_there = self.op(Op::Ne, place, zero);
        let first = self.b.if_else(
            is_there,
            &[Type::U32],
            |b| {
                let mut w = Words { b };
                let fields = w.index(place, 1);
                let at = w.op(Op::Add, fields, open);
                let first = w.b.load(Type::U32, lane.heap, at);
                w.b.store(Type::U32, lane.heap, at, word);
                w.b.end(Op::Yield, &[first]);
            },
            |b| b.end(Op::Yield, &[word]),
        );
        first[0]
    }
    /// Writes the word of a chain's first cell into the field of the last one that is open. Who found no memory for the cell leaves the one
    /// that is none as it is.
    fn open_field(&mut self, lane: &Lane, cell: ValueId, field: u32, first: ValueId) {
        let place = self.place(cell);
        let zero = self.b.u32(0);
        let is_there = self.op(Op::Ne, place, zero);
        self.b.if_else(
            is_there,
            &[],
            |b| {
                let mut w = Words { b };
                let at = w.index(place, 1 + field);
                w.b.store(Type::U32, lane.heap, at, first);
                w.b.end(Op::Yield, &[]);
            },
            |b| b.end(Op::Yield, &[]),
        );
    }

    /// The same word, of a cell that others may have.
    fn shared(&mut self, word: ValueId) -> ValueId {
        let is_owned = self.is_owned(word);
        let mark = self.b.u32(SHARED - CELL);
        let marked = self.op(Op::Add, word, mark);
        self.b.op(Op::Select, Type::U32, &[is_owned, marked, word])
    }
    fn is_owned(&mut self, word: ValueId) -> ValueId {
        let seven = self.b.u32(7);
        let tag = self.op(Op::And, word, seven);
        let cell = self.b.u32(CELL);
        self.op(Op::Eq, tag, cell)
    }

    /// A place for a cell.
    fn take(&mut self, lane: &Lane, units: u32) -> ValueId {
        if units > lane::CLASSES {
            return lane.new_units(self.b, units);
        }
        let list = self.b.u32(units - 1);
        let first = self.b.load(Type::U32, lane.own, list);
        let zero = self.b.u32(0);
        let is_there = self.op(Op::Ne, first, zero);
        let results = self.b.if_else(
            is_there,
            &[Type::U32],
            |b| {
                let mut w = Words { b };
                let behind = w.header(lane, first);
                w.b.store(Type::U32, lane.own, list, behind);
                w.b.end(Op::Yield, &[first]);
            },
            |b| {
                let place = lane.new_units(b, units);
                b.end(Op::Yield, &[place]);
            },
        );
        results[0]
    }

    /// Writes a cell, which has so many units; gives its word.
    fn fill(&mut self, lane: &Lane, layout: LayoutId, place: ValueId, units: u32, fields: &[ValueId]) -> ValueId {
        let header = self.b.u32(layout.index() as u32 | units << SIZE);
        self.fill_with(lane, header, place, fields)
    }
    fn fill_with(&mut self, lane: &Lane, header: ValueId, place: ValueId, fields: &[ValueId]) -> ValueId {
        let at = self.index(place, 0);
        self.b.store(Type::U32, lane.heap, at, header);
        for (i, field) in (1..).zip(fields) {
            let at = self.index(place, i);
            let ty = self.b.ty(*field);
            self.b.store(ty, lane.heap, at, *field);
        }
        let three = self.b.u32(3);
        let high = self.op(Op::Shl, place, three);
        let tag = self.b.u32(CELL);
        let word = self.op(Op::Or, high, tag);
        // Who found no memory gets the cell that is none, all of whose fields are 0: nothing leads out of the heap from there.
        let is_there = self.op(Op::Lt, place, lane.heap_end);
        let none = self.b.u32(NO_REUSE_TOKEN);
        self.b.op(Op::Select, Type::U32, &[is_there, word, none])
    }

    /// A cell in a hole that has so many units at least if it is one; in another place if it is none, or too small.
    fn refill(&mut self, lane: &Lane, layout: LayoutId, (hole, least): (ValueId, u32), fields: &[ValueId]) -> ValueId {
        let needed = units(fields.len());
        let place = self.place(hole);
        let (zero, count) = (self.b.u32(0), self.b.u32(needed));
        let is_one = self.op(Op::Ne, place, zero);
        let found = if needed <= least {
            self.b.if_else(
                is_one,
                &[Type::U32, Type::U32],
                |b| {
                    let size = Words { b }.size(lane, place);
                    b.end(Op::Yield, &[place, size]);
                },
                |b| {
                    let taken = Words { b }.take(lane, needed);
                    b.end(Op::Yield, &[taken, count]);
                },
            )
        } else {
            self.fitting(lane, (hole, place, is_one), needed)
        };
        let bits = self.b.u32(SIZE);
        let high = self.op(Op::Shl, found[1], bits);
        let low = self.b.u32(layout.index() as u32);
        let header = self.op(Op::Or, high, low);
        self.fill_with(lane, header, found[0], fields)
    }

    /// The place of a hole and its size, if it is one and has so many units; or else those of another place, and the hole is freed.
    fn fitting(
        &mut self,
        lane: &Lane,
        (hole, place, is_one): (ValueId, ValueId, ValueId),
        needed: u32,
    ) -> Vec<ValueId> {
        let zero = self.b.u32(0);
        let size = self.b.if_else(
            is_one,
            &[Type::U32],
            |b| {
                let size = Words { b }.size(lane, place);
                b.end(Op::Yield, &[size]);
            },
            |b| b.end(Op::Yield, &[zero]),
        )[0];
        let count = self.b.u32(needed);
        let fits = self.op(Op::Ge, size, count);
        self.b.if_else(
            fits,
            &[Type::U32, Type::U32],
            |b| b.end(Op::Yield, &[place, size]),
            |b| {
                let mut w = Words { b };
                w.free(lane, hole);
                let taken = w.take(lane, needed);
                w.b.end(Op::Yield, &[taken, count]);
            },
        )
    }

    /// Puts a hole into the list of free cells of its size.
    fn free(&mut self, lane: &Lane, hole: ValueId) {
        let place = self.place(hole);
        let zero = self.b.u32(0);
        let is_one = self.op(Op::Ne, place, zero);
        self.b.if_else(
            is_one,
            &[],
            |b| {
                let mut w = Words { b };
                let size = w.size(lane, place);
                let most = w.b.u32(lane::CLASSES);
                let fits = w.op(Op::Le, size, most);
                w.b.if_else(
                    fits,
                    &[],
                    |b| {
                        let mut w = Words { b };
                        let one = w.b.u32(1);
                        let list = w.op(Op::Sub, size, one);
                        let first = w.b.load(Type::U32, lane.own, list);
                        w.b.store(Type::U32, lane.own, list, place);
                        let at = w.index(place, 0);
                        w.b.store(Type::U32, lane.heap, at, first);
                        w.b.end(Op::Yield, &[]);
                    },
                    |b| b.end(Op::Yield, &[]),
                );
                w.b.end(Op::Yield, &[]);
            },
            |b| b.end(Op::Yield, &[]),
        );
    }

    /// The hole and the fields of a cell: the cell itself if the word has the only ownership; else none, and fields are shared too.
    fn open(&mut self, lane: &Lane, word: ValueId, types: &[Type]) -> Vec<ValueId> {
        let is_owned = self.is_owned(word);
        let none = self.b.u32(NO_REUSE_TOKEN);
        let mut given = vec![self.b.op(Op::Select, Type::U32, &[is_owned, word, none])];
        let place = self.place(word);
        for (i, ty) in (0..).zip(types) {
            let field = self.field(lane, place, i, *ty);
            given.push(if *ty == Type::Term {
                let shared = self.shared(field);
                self.b.op(Op::Select, Type::U32, &[is_owned, field, shared])
            } else {
                field
            });
        }
        given
    }
}

//! Cells and words. What is frequent stands in the code: taking a free cell, the count of a cell with one owner. The rest is the
//! runtime's.

use super::form::{TaskTranslator, block, branch_away, cold_block, context, count, help, of_context};
use super::{Helper, Result, frames};
use crate::kernels::refused;
use crate::tasks::{context as at, deferred, heap};
use crate::translate::{arguments, not_legal};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AliasRegion, AtomicRmwOp, Block, BlockArg, InstBuilder, MemFlags, Type as Machine, Value, types,
};
use girih_ir::attrs::AttrKind;
use girih_ir::heap::{CELL, IMMEDIATE, LayoutId, NO_CHAIN, NO_REUSE_TOKEN, host_units};
use girih_ir::{Def, Inst, Op, RegionId, Type, ValueId};

/// How cells are accessed.
fn of_cells() -> MemFlags {
    MemFlags::trusted().with_alias_region(Some(AliasRegion::Heap))
}

/// An operation on cells or words.
pub(super) fn operation(t: &mut TaskTranslator<'_, '_>, inst: &Inst) -> Result<()> {
    match inst.op {
        Op::CellNew => {
            let layout = inst.cell().ok_or_else(|| not_legal(inst))?;
            let word = new(t, layout);
            set_fields(t, word, &inst.operands)?;
            t.give(inst, word)
        }
        Op::CellGet => {
            let word = t.get(inst.operands[0])?;
            let ty = t.machine_type(inst.results[0])?;
            let value = field(t, word, inst.field(), ty);
            t.give(inst, value)
        }
        Op::CellLayout => {
            let word = t.get(inst.operands[0])?;
            let cell = address(t, word);
            let layout = t.b.ins().load(types::I32, of_cells(), cell, heap::LAYOUT);
            t.give(inst, layout)
        }
        Op::CellOpen => open(t, inst),
        Op::CellFill => fill(t, inst),
        Op::CellFree => free(t, inst.operands[0]),
        Op::ChainNew => {
            let none = t.b.ins().iconst(types::I32, i64::from(NO_CHAIN));
            t.give(inst, none)
        }
        Op::ChainGrow => {
            let (cell, field) = (t.get(inst.operands[2])?, inst.field() as i32);
            let first = put(t, inst, cell)?;
            let at = address(t, cell);
            t.b.ins().store(of_cells(), first, at, heap::FIELDS + 4 * field);
            t.give(inst, cell)
        }
        Op::ChainEnd => {
            let value = t.get(inst.operands[2])?;
            let first = put(t, inst, value)?;
            t.give(inst, first)
        }
        Op::TermShare => {
            let word = t.get(inst.operands[0])?;
            if may_be_cell(t, inst.operands[0]) && !inst.has(AttrKind::Flat) {
                share(t, word);
            }
            inst.results.iter().for_each(|result| t.set(*result, word));
            Ok(())
        }
        Op::TermDrop => {
            let word = t.get(inst.operands[0])?;
            if may_be_cell(t, inst.operands[0]) && !inst.has(AttrKind::Flat) {
                drop_word(t, word);
            }
            Ok(())
        }
        Op::TermPack => {
            let [tag, payload] = inst.operands[..] else { return Err(not_legal(inst)) };
            if t.function.as_constant(tag) == Some(CELL.into()) {
                // The reuse token that is none.
                let none = t.b.ins().iconst(types::I32, i64::from(NO_REUSE_TOKEN));
                return t.give(inst, none);
            }
            let (tag, payload) = (t.get(tag)?, t.get(payload)?);
            // A word that is made names no cell, whatever the tag.
            let tag = t.b.ins().band_imm(tag, i64::from(IMMEDIATE));
            let payload = t.b.ins().ishl_imm(payload, 3);
            let word = t.b.ins().bor(payload, tag);
            t.give(inst, word)
        }
        Op::TermTag => {
            let word = t.get(inst.operands[0])?;
            let tag = t.b.ins().band_imm(word, 7);
            t.give(inst, tag)
        }
        Op::TermPayload => {
            let word = t.get(inst.operands[0])?;
            let payload = t.b.ins().ushr_imm(word, 3);
            t.give(inst, payload)
        }
        _of_something_else => Err(not_legal(inst)),
    }
}

/// Whether a word may name a cell, as far as it is seen here.
fn may_be_cell(t: &TaskTranslator<'_, '_>, word: ValueId) -> bool {
    match t.function.values[word].def {
        Def::Result(inst, _) => t.function.insts[inst].op != Op::TermPack,
        Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) => true,
    }
}

/// The address of a cell's header.
fn address(t: &mut TaskTranslator<'_, '_>, word: Value) -> Value {
    let offset = t.b.ins().uextend(types::I64, word);
    t.b.ins().iadd_imm(offset, t.form.plan.base)
}

/// A field of a cell.
fn field(t: &mut TaskTranslator<'_, '_>, word: Value, field: u32, ty: Machine) -> Value {
    let cell = address(t, word);
    t.b.ins().load(ty, of_cells(), cell, heap::FIELDS + 4 * field as i32)
}

fn set_fields(t: &mut TaskTranslator<'_, '_>, word: Value, fields: &[ValueId]) -> Result<()> {
    let values = t.get_all(fields)?;
    let cell = address(t, word);
    for (i, value) in (0..).zip(values) {
        t.b.ins().store(of_cells(), value, cell, heap::FIELDS + 4 * i);
    }
    Ok(())
}

/// Puts a word into the open field of a chain, in the place of the first cell's, which it gives. Of the chain without cells it gives the word.
fn put(t: &mut TaskTranslator<'_, '_>, inst: &Inst, word: Value) -> Result<Value> {
    let [chain, open, _] = inst.operands[..] else { return Err(not_legal(inst)) };
    let last = t.get(chain)?;
    let is_empty = t.b.ins().icmp_imm(IntCC::Equal, last, i64::from(NO_CHAIN));
    let (none, some, on) = (cold_block(t), block(t), block(t));
    let first = t.b.append_block_param(on, types::I32);
    t.b.ins().brif(is_empty, none, &[], some, &[]);
    t.b.switch_to_block(none);
    t.b.ins().jump(on, &[BlockArg::Value(word)]);
    t.b.switch_to_block(some);
    let cell = address(t, last);
    let (cell, offset) = match t.function.as_constant(open) {
        Some(open) => (cell, heap::FIELDS + 4 * open as i32),
        None => {
            let open = t.get(open)?;
            let open = t.b.ins().uextend(types::I64, open);
            let bytes = t.b.ins().ishl_imm(open, 2);
            (t.b.ins().iadd(cell, bytes), heap::FIELDS)
        }
    };
    let old = t.b.ins().load(types::I32, of_cells(), cell, offset);
    t.b.ins().store(of_cells(), word, cell, offset);
    t.b.ins().jump(on, &[BlockArg::Value(old)]);
    t.b.switch_to_block(on);
    Ok(first)
}

fn set_header(t: &mut TaskTranslator<'_, '_>, word: Value, layout: LayoutId) {
    let cell = address(t, word);
    let one = t.b.ins().iconst(types::I32, 1);
    t.b.ins().store(of_cells(), one, cell, 0);
    set_layout(t, cell, layout);
}

fn set_layout(t: &mut TaskTranslator<'_, '_>, cell: Value, layout: LayoutId) {
    let layout = t.b.ins().iconst(types::I32, layout.index() as i64);
    t.b.ins().store(of_cells(), layout, cell, heap::LAYOUT);
}

fn units(t: &TaskTranslator<'_, '_>, layout: LayoutId) -> u32 {
    host_units(t.form.plan.module.layouts[layout].fields.len())
}

/// A cell whose fields are not set.
fn new(t: &mut TaskTranslator<'_, '_>, layout: LayoutId) -> Value {
    let units = units(t, layout);
    let word = take(t, units);
    if t.form.plan.variant.count {
        count(t, at::ALLOCATED);
    }
    frames::count_cell(t);
    set_header(t, word, layout);
    word
}

/// Memory of so many units.
fn take(t: &mut TaskTranslator<'_, '_>, units: u32) -> Value {
    let size = t.b.ins().iconst(types::I32, i64::from(units));
    if t.form.plan.variant.careful {
        return help(t, Helper::Take, &[size]).unwrap_or(size);
    }
    let list = context(t);
    let first = t.b.ins().load(types::I32, of_context(), list, at::free(units));
    let is_empty = t.b.ins().icmp_imm(IntCC::Equal, first, i64::from(NO_REUSE_TOKEN));
    let (away, on) = (cold_block(t), t.b.create_block());
    let word = t.b.append_block_param(on, types::I32);
    branch_away(t, is_empty, away);
    let cell = address(t, first);
    let next = t.b.ins().load(types::I32, of_cells(), cell, heap::LINK);
    t.b.ins().store(of_context(), next, list, at::free(units));
    t.b.ins().jump(on, &[BlockArg::Value(first)]);
    t.b.switch_to_block(away);
    let taken = help(t, Helper::Take, &[size]).unwrap_or(size);
    t.b.ins().jump(on, &[BlockArg::Value(taken)]);
    t.b.switch_to_block(on);
    word
}

/// Gives the memory of a reuse token of so many units back.
fn give_back(t: &mut TaskTranslator<'_, '_>, token: Value, units: u32) {
    if t.form.plan.variant.count {
        count(t, at::FREED);
    }
    let list = context(t);
    let first = t.b.ins().load(types::I32, of_context(), list, at::free(units));
    let cell = address(t, token);
    t.b.ins().store(of_cells(), first, cell, heap::LINK);
    t.b.ins().store(of_context(), token, list, at::free(units));
}

/// `cell.open`.
fn open(t: &mut TaskTranslator<'_, '_>, inst: &Inst) -> Result<()> {
    let layout = inst.cell().ok_or_else(|| not_legal(inst))?;
    let (Some((token, fields)), variant) = (inst.results.split_first(), t.form.plan.variant) else {
        return Err(not_legal(inst));
    };
    let word = t.get(inst.operands[0])?;
    let (mut values, types) = (vec![], &t.form.plan.module.layouts[layout].fields);
    for (i, result) in (0..).zip(fields) {
        let ty = t.machine_type(*result)?;
        values.push(field(t, word, i, ty));
    }
    let cell = address(t, word);
    // Needs no order: whoever had the cell besides has only read it, and what is written to it is only written if the count is found to be 1.
    let owners = t.b.ins().load(types::I32, of_cells(), cell, 0);
    let is_shared = t.b.ins().icmp_imm(IntCC::NotEqual, owners, 1);
    let (shared, unique, on) = (cold_block(t), block(t), t.b.create_block());
    let result = t.b.append_block_param(on, types::I32);
    t.b.ins().brif(is_shared, shared, &[], unique, &[]);
    t.b.switch_to_block(unique);
    let none = t.b.ins().iconst(types::I32, i64::from(NO_REUSE_TOKEN));
    let given = if variant.reuse {
        word
    } else {
        let size = units(t, layout);
        give_back(t, word, size);
        none
    };
    t.b.ins().jump(on, &[BlockArg::Value(given)]);
    t.b.switch_to_block(shared);
    if variant.parallel {
        settle(t, word, owners, unique);
    }
    let terms: Vec<Value> =
        values.iter().zip(types).filter(|(_, ty)| **ty == Type::Term).map(|(value, _)| *value).collect();
    let alone = |t: &mut TaskTranslator<'_, '_>| {
        terms.iter().for_each(|value| if_cell(t, *value, |t, cell| add(t, cell, 1)));
        add(t, cell, -1);
    };
    let together = |t: &mut TaskTranslator<'_, '_>| {
        terms.iter().for_each(|value| if_cell(t, *value, |t, cell| add_one_together(t, *value, cell)));
        let owners = t.b.ins().load(types::I32, of_cells(), cell, 0);
        lose_together(t, word, cell, owners);
    };
    alone_or_together(t, alone, together);
    let none = t.b.ins().iconst(types::I32, i64::from(NO_REUSE_TOKEN));
    t.b.ins().jump(on, &[BlockArg::Value(none)]);
    t.b.switch_to_block(on);
    t.set(*token, result);
    fields.iter().zip(values).for_each(|(result, value)| t.set(*result, value));
    Ok(())
}

/// Adds to the count of a cell that no other thread has.
fn add(t: &mut TaskTranslator<'_, '_>, cell: Value, change: i64) {
    let owners = t.b.ins().load(types::I32, of_cells(), cell, 0);
    let changed = t.b.ins().iadd_imm(owners, change);
    t.b.ins().store(of_cells(), changed, cell, 0);
}

/// Two ways to change a count, by whether other threads may have the same cells.
fn alone_or_together(
    t: &mut TaskTranslator<'_, '_>,
    alone: impl FnOnce(&mut TaskTranslator<'_, '_>),
    together: impl FnOnce(&mut TaskTranslator<'_, '_>),
) {
    if !t.form.plan.variant.parallel {
        return alone(t);
    }
    let context = context(t);
    let is_together = t.b.ins().load(types::I32, of_context(), context, at::TOGETHER);
    let (apart, on) = (block(t), block(t));
    branch_away(t, is_together, apart);
    alone(t);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(apart);
    together(t);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(on);
}

/// One owner less of a cell that has so many.
fn lose(t: &mut TaskTranslator<'_, '_>, word: Value, owners: Value) {
    let cell = address(t, word);
    alone_or_together(t, |t| add(t, cell, -1), |t| lose_together(t, word, cell, owners));
}

fn lose_together(t: &mut TaskTranslator<'_, '_>, word: Value, cell: Value, owners: Value) {
    let are_many = t.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, owners, i64::from(deferred::FEW));
    let (few, many, on) = (block(t), block(t), block(t));
    t.b.ins().brif(are_many, many, &[], few, &[]);
    t.b.switch_to_block(few);
    let one = t.b.ins().iconst(types::I32, 1);
    let before = t.b.ins().atomic_rmw(types::I32, of_cells(), AtomicRmwOp::Sub, cell, one);
    let is_last = t.b.ins().icmp_imm(IntCC::Equal, before, 1);
    let last = cold_block(t);
    t.b.ins().brif(is_last, last, &[], on, &[]);
    t.b.switch_to_block(last);
    help(t, Helper::Last, &[word]);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(many);
    let (place, note) = note(t, word);
    let is_noted = is_of(t, note, word);
    let (noted, other) = (block(t), cold_block(t));
    t.b.ins().brif(is_noted, noted, &[], other, &[]);
    t.b.switch_to_block(noted);
    let more = t.b.ins().iadd_imm(note, 1);
    t.b.ins().store(of_context(), more, place, at::DEFERRED);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(other);
    help(t, Helper::DropLater, &[word]);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(on);
}

/// One owner more of a cell that other threads may have.
fn add_one_together(t: &mut TaskTranslator<'_, '_>, word: Value, cell: Value) {
    let (place, note) = note(t, word);
    let less = t.b.ins().iadd_imm(note, -1);
    let is_noted = is_of(t, less, word);
    let (noted, other, on) = (block(t), block(t), block(t));
    t.b.ins().brif(is_noted, noted, &[], other, &[]);
    t.b.switch_to_block(other);
    let one = t.b.ins().iconst(types::I32, 1);
    t.b.ins().atomic_rmw(types::I32, of_cells(), AtomicRmwOp::Add, cell, one);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(noted);
    t.b.ins().store(of_context(), less, place, at::DEFERRED);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(on);
}

/// Where the note of a cell stands, and what stands there.
fn note(t: &mut TaskTranslator<'_, '_>, word: Value) -> (Value, Value) {
    let place = t.b.ins().band_imm(word, i64::from(deferred::PLACE));
    let (place, context) = (t.b.ins().uextend(types::I64, place), context(t));
    let place = t.b.ins().iadd(context, place);
    let note = t.b.ins().load(types::I64, of_context(), place, at::DEFERRED);
    (place, note)
}

/// Whether a note is of a cell.
fn is_of(t: &mut TaskTranslator<'_, '_>, note: Value, word: Value) -> Value {
    let noted = t.b.ins().ushr_imm(note, 32);
    let noted = t.b.ins().ireduce(types::I32, noted);
    t.b.ins().icmp(IntCC::Equal, noted, word)
}

/// Goes to a block if a cell with so many owners has one when what was noted of it is subtracted; the other block is behind.
fn settle(t: &mut TaskTranslator<'_, '_>, word: Value, owners: Value, unique: Block) {
    let (_, note) = note(t, word);
    let is_noted = is_of(t, note, word);
    let count = t.b.ins().ireduce(types::I32, note);
    let left = t.b.ins().isub(owners, count);
    let is_one = t.b.ins().icmp_imm(IntCC::Equal, left, 1);
    let may_be_unique = t.b.ins().band(is_noted, is_one);
    let (noted, on) = (cold_block(t), block(t));
    t.b.ins().brif(may_be_unique, noted, &[], on, &[]);
    t.b.switch_to_block(noted);
    let owners = help(t, Helper::Settle, &[word]).unwrap_or(word);
    let is_unique = t.b.ins().icmp_imm(IntCC::Equal, owners, 1);
    t.b.ins().brif(is_unique, unique, &[], on, &[]);
    t.b.switch_to_block(on);
}

/// Goes on in a block of its own, with the cell's address, if a word names a cell; the other block is behind.
fn if_cell(t: &mut TaskTranslator<'_, '_>, word: Value, then: impl FnOnce(&mut TaskTranslator<'_, '_>, Value)) {
    let is_cell = t.b.ins().band_imm(word, i64::from(CELL));
    let (cell, on) = (block(t), block(t));
    t.b.ins().brif(is_cell, cell, &[], on, &[]);
    t.b.switch_to_block(cell);
    let address = address(t, word);
    then(t, address);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(on);
}

/// One owner more, if the word names a cell.
pub(super) fn share(t: &mut TaskTranslator<'_, '_>, word: Value) {
    if_cell(t, word, |t, cell| {
        alone_or_together(t, |t| add(t, cell, 1), |t| add_one_together(t, word, cell));
    });
}

/// `term.drop`.
fn drop_word(t: &mut TaskTranslator<'_, '_>, word: Value) {
    if_cell(t, word, |t, cell| {
        let owners = t.b.ins().load(types::I32, of_cells(), cell, 0);
        let is_last = t.b.ins().icmp_imm(IntCC::Equal, owners, 1);
        let (last, on) = (block(t), block(t));
        branch_away(t, is_last, last);
        lose(t, word, owners);
        t.b.ins().jump(on, &[]);
        t.b.switch_to_block(last);
        help(t, Helper::Drop, &[word]);
        t.b.ins().jump(on, &[]);
        t.b.switch_to_block(on);
    });
}

/// What is known of a reuse token where it is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReuseToken {
    /// It is none.
    None,
    /// A cell of this layout, if it is one.
    Of(LayoutId),
    /// A cell of so many units, if it is one.
    Units(u32),
    Unknown,
}

impl ReuseToken {
    fn units(self, t: &TaskTranslator<'_, '_>) -> Option<u32> {
        match self {
            ReuseToken::Of(layout) => Some(units(t, layout)),
            ReuseToken::Units(units) => Some(units),
            ReuseToken::None | ReuseToken::Unknown => None,
        }
    }

    /// What is known of one that is this or the other.
    fn or(self, other: ReuseToken, t: &TaskTranslator<'_, '_>) -> ReuseToken {
        match (self, other) {
            (ReuseToken::None, known) | (known, ReuseToken::None) => known,
            (a, b) if a == b => a,
            (a, b) => match (a.units(t), b.units(t)) {
                (Some(a), Some(b)) if a == b => ReuseToken::Units(a),
                _different => ReuseToken::Unknown,
            },
        }
    }
}

/// What is known of a reuse token.
fn token(t: &TaskTranslator<'_, '_>, value: ValueId) -> ReuseToken {
    let Def::Result(id, position) = t.function.values[value].def else { return ReuseToken::Unknown };
    let inst = &t.function.insts[id];
    match inst.op {
        Op::CellOpen => inst.cell().map_or(ReuseToken::Unknown, ReuseToken::Of),
        Op::TermPack => ReuseToken::None,
        Op::If | Op::Switch => {
            let arms = inst.regions.iter().map(|region| yielded(t, *region, position as usize));
            arms.fold(ReuseToken::None, |known, arm| known.or(arm, t))
        }
        _no_rule => ReuseToken::Unknown,
    }
}

/// What is known of a reuse token that a region yields.
fn yielded(t: &TaskTranslator<'_, '_>, region: RegionId, position: usize) -> ReuseToken {
    let Some(end) = t.function.regions[region].insts.last().map(|id| &t.function.insts[*id]) else {
        return ReuseToken::Unknown;
    };
    if end.op != Op::Yield {
        // It does not come here.
        return ReuseToken::None;
    }
    end.operands.get(position).map_or(ReuseToken::Unknown, |value| token(t, *value))
}

/// `cell.fill`.
fn fill(t: &mut TaskTranslator<'_, '_>, inst: &Inst) -> Result<()> {
    let layout = inst.cell().ok_or_else(|| not_legal(inst))?;
    let Some((place, fields)) = inst.operands.split_first() else { return Err(not_legal(inst)) };
    let known = token(t, *place);
    let place = t.get(*place)?;
    let word = if known == ReuseToken::None || !t.form.plan.variant.reuse {
        new(t, layout)
    } else if known.units(t) == Some(units(t, layout)) {
        let is_none = t.b.ins().icmp_imm(IntCC::Equal, place, i64::from(NO_REUSE_TOKEN));
        let (fresh, on) = (t.b.create_block(), t.b.create_block());
        let word = t.b.append_block_param(on, types::I32);
        branch_away(t, is_none, fresh);
        if t.form.plan.variant.count {
            count(t, at::REUSED);
        }
        frames::count_cell(t);
        if known != ReuseToken::Of(layout) {
            let cell = address(t, place);
            set_layout(t, cell, layout);
        }
        t.b.ins().jump(on, &arguments(&[place]));
        t.b.switch_to_block(fresh);
        let taken = new(t, layout);
        t.b.ins().jump(on, &arguments(&[taken]));
        t.b.switch_to_block(on);
        word
    } else {
        let layout = t.b.ins().iconst(types::I32, layout.index() as i64);
        let filled = help(t, Helper::Fill, &[place, layout]);
        filled.ok_or_else(|| refused(inst.span, "the runtime gives no cell"))?
    };
    set_fields(t, word, fields)?;
    t.give(inst, word)
}

/// `cell.free`.
fn free(t: &mut TaskTranslator<'_, '_>, place: ValueId) -> Result<()> {
    let known = token(t, place);
    let place = t.get(place)?;
    if known == ReuseToken::None || !t.form.plan.variant.reuse {
        return Ok(());
    }
    let Some(units) = known.units(t) else {
        help(t, Helper::Release, &[place]);
        return Ok(());
    };
    let is_none = t.b.ins().icmp_imm(IntCC::Equal, place, i64::from(NO_REUSE_TOKEN));
    let on = t.b.create_block();
    branch_away(t, is_none, on);
    give_back(t, place, units);
    t.b.ins().jump(on, &[]);
    t.b.switch_to_block(on);
    Ok(())
}

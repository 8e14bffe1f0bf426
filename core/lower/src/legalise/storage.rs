//! Accesses to memory become accesses of types that the device can store, in a view that it can have.
//!
//! A [`View`] is chosen for each memory from all accesses to it. `vector`, `extract` and `bitcast` assemble values from what is read and split them for
//! what is written; later passes turn these into arithmetic on words.
//!
//! Invariant: an access reads and writes the same bytes as before, and changes no other byte, not even when other invocations
//! access its neighbours. Only widened shared and private memory has another layout, which no program can observe.

use super::Context;
use super::atomics;
use super::emit::Emit;
use super::short_integers::NARROW;
use super::word_packing::{from_low_bits, to_low_bits};
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::{FastMap, FastSet};
use girih_ir::attrs::Attr;
use girih_ir::groups::{
    accesses, aggregates, arithmetic, asynchronous, atomics, barriers, control, fragments, masks, matrix_products,
    positions, reductions, scans, shuffles, subgroup_positions, task_form, votes,
};
use girih_ir::ops::Pattern;
use girih_ir::{
    AttrKind, Builder, Caps, Feature, Function, Inst, Memory, Op, Scalar, ScalarSet, Space, Type, ValueId, Values,
};
use std::collections::BTreeSet;

/// As what a memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// Each access as its own type where that can be stored, else as words.
    Any,
    /// All accesses as one type.
    One(Type),
    /// Elements of so many bits stand in a word each: shared and private memory is accessed as its own element only.
    Widened(u32),
}

/// How one access is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// As one or several accesses of a type, which together cover it.
    Parts(Type),
    /// As a part of a word of a buffer.
    SubWord(Scalar),
    /// As words that hold an element each.
    Widened,
}

/// Rewrites the accesses of a function.
pub(super) fn run(function: Function, cx: &mut Context<'_>) -> Result<Function, Diagnostic> {
    let views = Views::of(&function, cx.caps);
    // Every memory that is accessed or held has a view.
    if views.views.is_empty() {
        return Ok(function);
    }
    Rewriter::run(&function, &mut Storage { caps: cx.caps, views })
}

/// What a device can store in a space.
fn storable(caps: &Caps, space: Space) -> ScalarSet {
    if space == Space::Global { caps.storage } else { caps.local_storage }
}

/// Whether a memory may be accessed as several types.
fn many_views(caps: &Caps, space: Space) -> bool {
    if space == Space::Global { caps.buffer_views } else { caps.local_views }
}

/// The type of the accesses that make an access, if each stands alone; `None` if it is smaller than a word and cannot be
/// made as it is.
pub(super) fn parts(caps: &Caps, space: Space, ty: Type) -> Option<Type> {
    let scalar = ty.element()?;
    let stored = storable(caps, space);
    let vectors = space == Space::Global || caps.local_views;
    let most = |s: Scalar| if vectors { (caps.access_bytes / s.bytes()).min(caps.vector_lanes).max(1) } else { 1 };
    let of = |s: Scalar, lanes: u32| if lanes == 1 { Type::Scalar(s) } else { Type::Vector(s, lanes as u8) };
    let native = caps.arithmetic.has(scalar);
    let lanes = ty.lanes();
    if stored.has(scalar) && (native || caps.local_views || lanes == 1 && NARROW.has(scalar)) {
        return Some(of(scalar, most(scalar).min(lanes)));
    }
    match ty.bytes() {
        1 => stored.has(Scalar::U8).then_some(Type::Scalar(Scalar::U8)),
        2 => stored.has(Scalar::U16).then_some(Type::Scalar(Scalar::U16)),
        bytes => Some(of(Scalar::U32, most(Scalar::U32).min(bytes / 4))),
    }
}

/// How an access of a type is made.
fn how(caps: &Caps, view: View, space: Space, ty: Type) -> How {
    match view {
        View::Any => parts(caps, space, ty).map_or(How::SubWord(Scalar::U32), How::Parts),
        View::One(base) if ty.bytes() < base.bytes() => How::SubWord(base.element().unwrap_or(Scalar::U32)),
        View::One(base) => How::Parts(base),
        View::Widened(_) => How::Widened,
    }
}

/// The views of a function's memories.
#[derive(Debug, Default)]
struct Views {
    views: FastMap<ValueId, View>,
    /// Memories of which parts of words are written, by atomic updates of the words.
    partly_written: FastSet<ValueId>,
}

/// All accesses to one memory.
#[derive(Debug, Default)]
struct Uses {
    /// Types of plain accesses.
    plain: BTreeSet<Type>,
    /// Those of plain stores among them.
    stored: BTreeSet<Type>,
    /// Elements of fragments.
    fragments: BTreeSet<Scalar>,
    /// Types of atomic accesses.
    updated: BTreeSet<Scalar>,
    /// The same as the device makes them.
    atomic: BTreeSet<Scalar>,
    /// Whether `i32` atomics tell signs apart.
    signed: bool,
    /// Whether atomics change parts of words.
    parts: bool,
}

impl Views {
    fn of(function: &Function, caps: &Caps) -> Views {
        let mut uses: FastMap<ValueId, Uses> =
            function.memories.iter().map(|memory| (memory.value, Uses::default())).collect();
        function.walk(function.body, &mut |_, inst| {
            for (pattern, operand) in inst.op.row().operands.iter().zip(&inst.operands) {
                if matches!(pattern, Pattern::Memory(_)) {
                    uses.entry(*operand).or_default().add(inst, caps);
                }
            }
        });
        let mut views = Views::default();
        for (memory, uses) in &uses {
            let space = function.space(*memory);
            let view = uses.view(caps, space);
            let is_part = |ty: &Type| matches!(how(caps, view, space, *ty), How::SubWord(_));
            if uses.parts || uses.stored.iter().any(is_part) {
                views.partly_written.insert(*memory);
            }
            views.views.insert(*memory, view);
        }
        views
    }

    fn get(&self, memory: ValueId) -> View {
        self.views.get(&memory).copied().unwrap_or(View::Any)
    }
}

impl Uses {
    fn add(&mut self, inst: &Inst, caps: &Caps) {
        match (inst.op, inst.element()) {
            (accesses!(), _) => {
                self.plain.extend(inst.ty);
                self.stored.extend(inst.ty.filter(|_| inst.op == Op::Store));
            }
            (atomics!(), scalar) => {
                self.signed |= scalar == Scalar::I32 && matches!(inst.op, Op::AtomicMin | Op::AtomicMax);
                let view = atomics::view(caps, inst.op, scalar);
                self.updated.insert(scalar);
                self.atomic.insert(view);
                self.parts |= view.bits() > scalar.bits();
            }
            (fragments!(), scalar) => drop(self.fragments.insert(scalar)),
            // Asynchronous operations and products of matrices exist only where memory is bytes; the rest has no memory.
            (
                asynchronous!()
                | matrix_products!()
                | arithmetic!()
                | aggregates!()
                | control!()
                | task_form!()
                | masks!()
                | girih_ir::tile_operations!(),
                _,
            ) => {}
            (
                positions!() | subgroup_positions!() | barriers!() | votes!() | shuffles!() | reductions!() | scans!(),
                _,
            ) => {}
        }
    }

    fn view(&self, caps: &Caps, space: Space) -> View {
        if many_views(caps, space) && self.parts {
            // Whoever reads a part of a word that others update as a whole reads it as a whole, too.
            return View::One(Type::U32);
        }
        if many_views(caps, space) {
            // An array of a workgroup is accessed as its own element only, buffers as anything.
            let bits = self.atomic.first().filter(|_| space != Space::Global && self.atomic != self.updated);
            return bits.map_or(View::Any, |scalar| View::One(scalar.as_bits().into()));
        }
        let stored = storable(caps, space);
        // What each access would be alone. Fragments lie in arrays of their element, or of words if nothing else accesses a part of a word.
        let mut alone: BTreeSet<Type> = self.atomic.iter().map(|s| Type::Scalar(*s)).collect();
        alone.extend(self.plain.iter().map(|ty| parts(caps, space, *ty).unwrap_or(Type::U32)));
        if space == Space::Shared && caps.has(Feature::StrictFloats) && !self.fragments.is_empty() {
            let words = !alone.is_empty() && alone.iter().all(|ty| *ty == Type::U32);
            if words {
                return View::One(Type::U32);
            }
        }
        alone.extend(self.fragments.iter().map(|s| Type::Scalar(*s)));
        let scalars: BTreeSet<Scalar> = alone.iter().filter_map(|t| t.element()).collect();
        let elements = self.plain.iter().filter_map(|t| t.element()).chain(self.fragments.iter().copied());
        let widths: BTreeSet<u32> = elements.chain(self.updated.iter().copied()).map(Scalar::bits).collect();
        let short = |width: &u32| *width < 32 && !scalars.iter().all(|s| s.bits() == *width);
        match (alone.len(), widths.first()) {
            (0 | 1, _) if space == Space::Global => View::One(alone.pop_first().unwrap_or(Type::U32)),
            (_, Some(width)) if space != Space::Global && widths.len() == 1 && short(width) => View::Widened(*width),
            _ if scalars.len() == 1 && scalars.iter().all(|s| stored.has(*s)) => {
                View::One(scalars.into_iter().next().unwrap_or(Scalar::U32).into())
            }
            _ if self.is_wide() => View::One(Type::Scalar(Scalar::U64)),
            _ if self.signed && stored.has(Scalar::I32) => View::One(Type::I32),
            _ => View::One(same_lanes(&alone, &self.atomic).map_or(Type::U32, |n| Type::Vector(Scalar::U32, n))),
        }
    }
}

impl Uses {
    /// Whether atomics are of 64 bits, and whatever else is accessed has a multiple of them.
    fn is_wide(&self) -> bool {
        let elements = self.plain.iter().filter_map(|ty| ty.element());
        let mut all = self.updated.iter().copied().chain(elements).chain(self.fragments.iter().copied());
        !self.updated.is_empty() && all.all(|scalar| scalar.bits() == 64)
    }
}

/// The lanes of all accesses, if they are vectors of words of one length and nothing is atomic.
fn same_lanes(alone: &BTreeSet<Type>, atomic: &BTreeSet<Scalar>) -> Option<u8> {
    let lanes: BTreeSet<Option<u8>> = alone
        .iter()
        .map(|ty| match ty {
            Type::Vector(s, n) if s.bits() == 32 => Some(*n),
            _ => None,
        })
        .collect();
    lanes.first().copied().flatten().filter(|_| lanes.len() == 1 && atomic.is_empty())
}

struct Storage<'a> {
    caps: &'a Caps,
    views: Views,
}

/// Place of an access: a memory and an index in units of the access's type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    memory: ValueId,
    index: ValueId,
    offset: i32,
}

impl Pass for Storage<'_> {
    fn concerns(&self, _: &Function, inst: &Inst) -> bool {
        inst.op.accesses() > 0
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let operands = self.operands(r, inst);
        let memory = inst.operands[0];
        let (view, space) = (self.views.get(memory), r.old.space(memory));
        let place = Place { memory: operands[0], index: operands[1], offset: inst.offset() };
        match inst.op {
            Op::Load | Op::UniformLoad => {
                let how = how(self.caps, view, space, inst.ty.unwrap_or(Type::U32));
                let whole = self.whole_word(inst);
                Ok(Some(vec![vec![read(&mut r.out, inst, place, how, whole)]]))
            }
            Op::Store => {
                let how = how(self.caps, view, space, inst.ty.unwrap_or(Type::U32));
                write(&mut r.out, inst, place, how, operands[2]);
                Ok(Some(vec![]))
            }
            atomics!() => {
                let result = self.atomic(&mut r.out, inst, view, (place, &operands[2..]))?;
                Ok(Some(result.into_iter().map(|v| vec![v]).collect()))
            }
            fragments!() | asynchronous!() | matrix_products!() => {
                // These take memory as it is.
                let fits = |base: Type| base == inst.element().into() || base == Type::U32 && space == Space::Shared;
                if matches!((inst.op, view), (fragments!(), View::One(base)) if !fits(base)) {
                    let what = "a fragment in memory that is accessed as other types too";
                    return Err(super::lacks(self.caps, inst.span, what, "give it a memory of its own"));
                }
                let results: Vec<Type> = inst.results.iter().map(|v| r.old.ty(*v)).collect();
                let id =
                    r.out.push(Inst { operands: operands.into(), results: Values::new(), ..inst.clone() }, &results);
                Ok(Some(r.out.function.insts[id].results.iter().map(|v| vec![*v]).collect()))
            }
            arithmetic!() | aggregates!() | control!() | positions!() | subgroup_positions!() | barriers!() => Ok(None),
            votes!()
            | shuffles!()
            | reductions!()
            | scans!()
            | task_form!()
            | masks!()
            | girih_ir::tile_operations!() => Ok(None),
        }
    }

    fn memory(&mut self, r: &mut Rewriter<'_>, old: &Memory, new: &mut Memory) -> Result<(), Diagnostic> {
        let (element, bytes) = match self.views.get(old.value) {
            View::Any => return Ok(()),
            View::One(ty) => (ty, old.element.bytes()),
            View::Widened(width) => (Type::U32, old.element.bytes() * 32 / width),
        };
        new.element = element;
        new.align = new.align.max(element.bytes());
        if bytes == element.bytes() {
            return Ok(());
        }
        let Some(length) = r.out.function.as_constant(new.length) else {
            let what = "shared memory of a length that is chosen at launch is accessed as another type";
            return Err(super::lacks(self.caps, r.old.span, what, "make its length a constant"));
        };
        let total = length * u64::from(bytes);
        let length = total.div_ceil(u64::from(element.bytes()));
        let length = u32::try_from(length).map_err(|_| {
            let message = format!("a shared or private array of {total} bytes");
            Diagnostic::new(Code::OverLimit, r.old.span, message).hint("use a buffer")
        })?;
        new.length = r.out.u32(length);
        Ok(())
    }
}

impl Storage<'_> {
    /// The operands, with indices of the width that the device has.
    fn operands(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Vec<ValueId> {
        let patterns = inst.op.row().operands;
        let mut operands: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
        for (operand, pattern) in operands.iter_mut().zip(patterns) {
            if matches!(pattern, Pattern::Index) && !self.caps.has(Feature::Index64) {
                *operand = r.out.convert(Scalar::U32, *operand);
            }
        }
        operands
    }

    /// How a load of a part of a word reads the word, whose other parts others may write meanwhile by atomic updates: atomically too. A
    /// uniform load stands between barriers of its own, so that nobody does.
    fn whole_word(&self, load: &Inst) -> Op {
        let is_written = self.views.partly_written.contains(&load.operands[0]);
        if load.op == Op::Load && is_written { Op::AtomicLoad } else { load.op }
    }

    /// An atomic access, in terms of those that the device has on this view.
    fn atomic(
        &self,
        b: &mut Builder,
        inst: &Inst,
        view: View,
        (place, values): (Place, &[ValueId]),
    ) -> Result<Option<ValueId>, Diagnostic> {
        let ty = inst.element();
        let own = atomics::view(self.caps, inst.op, ty);
        let base = match view {
            View::One(base) => base.element().unwrap_or(own),
            View::Any => own,
            View::Widened(_) => Scalar::U32,
        };
        let packed = !matches!(view, View::Widened(_));
        if (ty.bits() == 64) != (base.bits() == 64) {
            let what = format!("`{}.{ty}` on memory that is accessed as other types too", inst.op.name());
            return Err(super::lacks(self.caps, inst.span, &what, "use one type, or two memories"));
        }
        Ok(atomics::lower(b, self.caps, inst, (base, packed), place, values))
    }
}

/// One of the accesses that make `inst`: `position`-th of those that element `place.index` consists of, `count` in all.
fn nth(b: &mut Builder, place: Place, count: u32, position: u32) -> Place {
    let factor = b.like(place.index, u64::from(count));
    let index = match b.known(place.index) {
        Some(known) => b.like(place.index, known.wrapping_mul(u64::from(count))),
        None => b.mul(place.index, factor),
    };
    let offset = i64::from(place.offset) * i64::from(count) + i64::from(position);
    match i32::try_from(offset) {
        Ok(offset) => Place { index, offset, ..place },
        Err(_) => {
            let offset = b.like(index, offset as u64);
            Place { index: b.add(index, offset), offset: 0, ..place }
        }
    }
}

/// An access of another type or at another place.
pub(super) fn access(
    b: &mut Builder,
    inst: &Inst,
    op: Op,
    ty: Type,
    place: Place,
    values: &[ValueId],
) -> Option<ValueId> {
    let is_kept = |a: &&Attr| a.kind() != AttrKind::Offset && op.row().attrs.contains(&a.kind());
    let mut attrs: Vec<Attr> = inst.attrs.iter().filter(is_kept).cloned().collect();
    if place.offset != 0 {
        attrs.push(Attr::Offset(place.offset));
    }
    let operands: Vec<ValueId> = [place.memory, place.index].into_iter().chain(values.iter().copied()).collect();
    b.with_attrs(op, Some(ty), &operands, &attrs).first().copied()
}

fn load(b: &mut Builder, inst: &Inst, ty: Type, place: Place) -> ValueId {
    access(b, inst, inst.op, ty, place, &[]).expect("a load gives a value")
}

/// The value of a load; `whole` reads a word of which it is a part.
fn read(b: &mut Builder, inst: &Inst, place: Place, how: How, whole: Op) -> ValueId {
    let ty = inst.ty.unwrap_or(Type::U32);
    match how {
        How::Parts(part) if part == ty => load(b, inst, ty, place),
        How::Parts(part) => {
            let count = ty.bytes() / part.bytes();
            let mut lanes = vec![];
            for i in 0..count {
                let place = nth(b, place, count, i);
                let loaded = load(b, inst, part, place);
                lanes.extend(if count == 1 { vec![loaded] } else { b.lanes(loaded) });
            }
            let value = b.vector(&lanes);
            b.bitcast(ty, value)
        }
        How::SubWord(base) => {
            let (place, shift) = sub_word(b, place, ty.bytes());
            let word = access(b, inst, whole, base.into(), place, &[]).expect("a load gives a value");
            let word = b.bitcast(Scalar::U32, word);
            let word = b.same(Op::Shr, &[word, shift]);
            from_low_bits(b, ty, word)
        }
        How::Widened => {
            let count = ty.lanes();
            let element = Type::Scalar(inst.element());
            let lanes: Vec<ValueId> = (0..count)
                .map(|i| {
                    let place = nth(b, place, count, i);
                    let word = load(b, inst, Type::U32, place);
                    from_low_bits(b, element, word)
                })
                .collect();
            b.vector(&lanes)
        }
    }
}

/// Writes a value.
fn write(b: &mut Builder, inst: &Inst, place: Place, how: How, value: ValueId) {
    let ty = inst.ty.unwrap_or(Type::U32);
    match how {
        How::Parts(part) if part == ty => drop(access(b, inst, Op::Store, ty, place, &[value])),
        How::Parts(part) => {
            let scalar = part.element().unwrap_or(Scalar::U32);
            let lanes = ty.bytes() / scalar.bytes();
            let all = if lanes == 1 { Type::Scalar(scalar) } else { Type::Vector(scalar, lanes as u8) };
            let value = b.bitcast(all, value);
            let elements = b.lanes(value);
            let count = ty.bytes() / part.bytes();
            for (i, elements) in (0..).zip(elements.chunks(part.lanes() as usize)) {
                let place = nth(b, place, count, i);
                let value = b.vector(elements);
                access(b, inst, Op::Store, part, place, &[value]);
            }
        }
        How::SubWord(base) => {
            let (place, shift) = sub_word(b, place, ty.bytes());
            let word = to_low_bits(b, value);
            let word = b.same(Op::Shl, &[word, shift]);
            let mask = b.u32(u32::MAX >> (32 - 8 * ty.bytes()));
            let mask = b.same(Op::Shl, &[mask, shift]);
            let others = b.not(mask);
            // Bits of the word that others write at the same time stay as they are.
            let (others, word) = (b.bitcast(base, others), b.bitcast(base, word));
            access(b, inst, Op::AtomicAnd, base.into(), place, &[others]);
            access(b, inst, Op::AtomicOr, base.into(), place, &[word]);
        }
        How::Widened => {
            let elements = b.lanes(value);
            let count = elements.len() as u32;
            for (i, value) in (0..).zip(elements) {
                let place = nth(b, place, count, i);
                let word = to_low_bits(b, value);
                access(b, inst, Op::Store, Type::U32, place, &[word]);
            }
        }
    }
}

/// The word in which an access of 1 or 2 bytes lies, and how far up.
pub(super) fn sub_word(b: &mut Builder, place: Place, bytes: u32) -> (Place, ValueId) {
    let offset = b.like(place.index, i64::from(place.offset) as u64);
    let element = b.add(place.index, offset);
    // Elements a word: 4 or 2.
    let log = (4 / bytes).trailing_zeros();
    let index = b.shr_by(element, log);
    let position = b.convert(Scalar::U32, element);
    let position = b.and_bits(position, u64::from(4 / bytes - 1));
    let shift = b.shl_by(position, (8 * bytes).trailing_zeros());
    (Place { index, offset: 0, ..place }, shift)
}

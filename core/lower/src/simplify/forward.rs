//! The forward walk: one pass over a function in the order of its text that maps operands to what replaced them, applies the
//! rules of folding and identities, finds expressions that have been computed before, and uses what conditions imply.
//!
//! Everything that is only true in a region (replacements, facts, available expressions) is written to a log and undone at the region's
//! end. A value is replaced only by one that is visible wherever it is.

use super::common_subexpressions::{Available, is_commutative, key};
use super::facts::{self, Facts};
use super::memory::Versions;
use girih_base::hash::FastMap;
use girih_base::span::Span;
use girih_ir::attrs::AttrKind;
use girih_ir::ops::{Effect, Pattern};
use girih_ir::{Attr, Caps, Def, Function, Inst, InstId, Op, RegionId, Scalar, Type, Value, ValueId, Values, eval};

/// How deep rules may write operations that rules apply to.
const DEPTH: u32 = 12;

/// What the walks over one function learn and keep from one to the next.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// What loops' parameters are known to be.
    pub(super) loops: FastMap<ValueId, Facts>,
    /// Whether the last walk learnt or did something that would let it do more if it came again. A walk comes to uses after
    /// definitions, so this can only be what loops lead back to: see [`Forward::revise`].
    pub(super) again: bool,
    /// Whether the last walk met a loop.
    pub(super) has_loops: bool,
    /// Nothing between two walks; the next one finds the room of the last one.
    available: Available,
}

/// Something to take back at the end of a region.
#[derive(Debug)]
pub(super) enum Undo {
    Map(ValueId, ValueId),
    Facts(ValueId, Option<Facts>),
}

/// What was known when a region began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    log: usize,
    available: usize,
}

/// A loop around the current place.
#[derive(Debug)]
pub(super) struct Around {
    pub(super) inst: InstId,
    /// What its parameters are in later iterations.
    pub(super) next: Vec<Option<Facts>>,
}

/// The walk's state.
pub(super) struct Forward<'a> {
    pub(super) f: &'a mut Function,
    pub(super) caps: &'a Caps,
    pub(super) memo: &'a mut Memo,
    pub(super) versions: Versions,
    pub(super) loops: Vec<Around>,
    /// Instructions of the region under way.
    pub(super) out: Vec<InstId>,
    /// How often each value is used, as it was before the walk.
    uses: Vec<u32>,
    map: Vec<ValueId>,
    pub(super) facts: Vec<Option<Facts>>,
    /// When a value was defined: those of a region are younger than what stands before it.
    born: Vec<u32>,
    clock: u32,
    pub(super) available: Available,
    pub(super) log: Vec<Undo>,
    span: Span,
    depth: u32,
}

impl<'a> Forward<'a> {
    /// Walks over a function; whether another walk may find more.
    pub(super) fn run(f: &'a mut Function, caps: &'a Caps, memo: &'a mut Memo) -> bool {
        (memo.again, memo.has_loops) = (false, false);
        let mut available = std::mem::take(&mut memo.available);
        let values = f.values.len();
        let mut uses = vec![0; values];
        let mut insts = 0;
        f.walk(f.body, &mut |_, inst| {
            insts += 1;
            inst.operands.iter().for_each(|v| uses[v.index()] += 1);
        });
        available.begin(2 * insts);
        let mut walk = Forward {
            versions: Versions::new(f),
            f,
            caps,
            memo,
            loops: vec![],
            out: vec![],
            uses,
            map: (0..values as u32).map(ValueId::new).collect(),
            facts: vec![None; values],
            born: vec![0; values],
            clock: 1,
            available,
            log: Vec::with_capacity(2 * insts),
            span: Span::NONE,
            depth: 0,
        };
        // Nothing comes after the body: what is known there is not taken back.
        walk.instructions(walk.f.body);
        walk.memo.available = walk.available;
        walk.memo.again
    }

    // Places.

    /// Walks over a region and writes it anew.
    pub(super) fn region(&mut self, region: RegionId) {
        let mark = self.open();
        self.instructions(region);
        self.close(mark);
    }
    fn instructions(&mut self, region: RegionId) {
        let insts = std::mem::take(&mut self.f.regions[region].insts);
        let outer = std::mem::replace(&mut self.out, Vec::with_capacity(insts.len()));
        for id in insts {
            if self.inst(id) {
                break;
            }
        }
        self.f.regions[region].insts = std::mem::replace(&mut self.out, outer);
    }

    /// Begins a part whose knowledge is to be taken back.
    pub(super) fn open(&mut self) -> Mark {
        Mark { log: self.log.len(), available: self.available.len() }
    }

    /// Takes back what was learnt since.
    pub(super) fn close(&mut self, mark: Mark) {
        self.available.back_to(mark.available);
        for undo in self.log.drain(mark.log..).rev() {
            match undo {
                Undo::Map(value, old) => self.map[value.index()] = old,
                Undo::Facts(value, old) => self.facts[value.index()] = old,
            }
        }
    }

    /// Walks over one instruction; whether it ends the region.
    pub(super) fn inst(&mut self, id: InstId) -> bool {
        let inst = &mut self.f.insts[id];
        self.span = inst.span;
        self.clock += 1;
        let mut changed = false;
        for operand in &mut inst.operands {
            let new = self.map[operand.index()];
            changed |= new != *operand;
            *operand = new;
        }
        let op = inst.op;
        if changed && op.ends_iteration() {
            self.revise();
        }
        match self.f.insts[id].effect() {
            Effect::Pure => self.pure(id),
            Effect::Read => self.load(id),
            Effect::Write => self.store(id),
            Effect::Atomic | Effect::Sync | Effect::Heap => self.synchronise(id),
            Effect::Trap => self.trap(id),
            Effect::Control => return self.control(id),
        }
        false
    }

    // Values.

    /// What stands for a value here.
    pub(super) fn mapped(&self, value: ValueId) -> ValueId {
        self.map[value.index()]
    }

    /// From here to the end of the region, one value stands for another.
    pub(super) fn stands_for(&mut self, value: ValueId, new: ValueId) {
        let old = std::mem::replace(&mut self.map[value.index()], new);
        self.log.push(Undo::Map(value, old));
    }

    /// Replaces a result wherever it is used; the definition becomes dead.
    pub(super) fn replace(&mut self, value: ValueId, new: ValueId) {
        self.stands_for(value, new);
        if self.f.values[value].name.is_some()
            && let slot = &self.f.values[new]
            && slot.name.is_none()
            && matches!(slot.def, Def::Result(..))
        {
            self.f.values[new].name = self.f.values[value].name.clone();
        }
    }

    /// What was done here changes what a loop around it was taken for: its jumps, what it writes. What only computes values differently
    /// does not.
    pub(super) fn revise(&mut self) {
        self.memo.again |= !self.loops.is_empty();
    }

    /// When a value was defined.
    pub(super) fn born(&self, value: ValueId) -> u32 {
        self.born.get(value.index()).copied().unwrap_or(0)
    }
    /// The time.
    pub(super) fn now(&self) -> u32 {
        self.clock
    }
    /// Notes that values are defined here.
    pub(super) fn define(&mut self, values: &[ValueId]) {
        for value in values {
            self.born[value.index()] = self.clock;
        }
    }

    /// Appends an instruction and notes what it defines.
    pub(super) fn push(&mut self, id: InstId) {
        self.out.push(id);
        self.clock += 1;
        for i in 0..self.f.insts[id].results.len() {
            let value = self.f.insts[id].results[i];
            self.born[value.index()] = self.clock;
        }
    }

    /// The instruction that defines a value, if one does.
    pub(super) fn def(&self, value: ValueId) -> Option<&Inst> {
        match self.f.values[value].def {
            Def::Result(id, _) => Some(&self.f.insts[id]),
            Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) => None,
        }
    }
    /// The operands of the operation that defines a value, if it is this one (of two operands) on this type.
    pub(super) fn is_binary(&self, value: ValueId, op: Op) -> Option<(ValueId, ValueId, bool)> {
        let inst = self.def(value).filter(|inst| inst.op == op)?;
        match inst.operands[..] {
            [a, b] => Some((a, b, inst.has(AttrKind::NoWrap))),
            _ => None,
        }
    }
    /// The operand of the operation that defines a value, if it is this one (of one operand).
    pub(super) fn is_unary(&self, value: ValueId, op: Op) -> Option<ValueId> {
        match self.def(value).filter(|inst| inst.op == op)?.operands[..] {
            [a] => Some(a),
            _ => None,
        }
    }
    /// The bits of a constant.
    pub(super) fn bits(&self, value: ValueId) -> Option<u64> {
        self.f.as_constant(value)
    }
    /// A constant.
    pub(super) fn constant(&mut self, ty: impl Into<Type>, bits: u64) -> ValueId {
        let value = self.f.constant(ty.into(), bits);
        self.grow();
        value
    }
    /// The scalar type of a value; none for others.
    pub(super) fn scalar(&self, value: ValueId) -> Option<Scalar> {
        match self.f.ty(value) {
            Type::Scalar(s) => Some(s),
            Type::Vector(..)
            | Type::Regs(..)
            | Type::Coop(..)
            | Type::Tile(_)
            | Type::Token
            | Type::Term
            | Type::Memory(_) => None,
        }
    }
    /// Whether a value had one use at most when the walk began.
    pub(super) fn is_single(&self, value: ValueId) -> bool {
        self.uses.get(value.index()).is_none_or(|n| *n <= 1)
    }

    /// Whether a value had a use when the walk began.
    pub(super) fn is_used(&self, value: ValueId) -> bool {
        self.uses.get(value.index()).is_none_or(|n| *n > 0)
    }

    /// Makes room in the tables for values that are new.
    fn grow(&mut self) {
        for i in self.map.len()..self.f.values.len() {
            self.map.push(ValueId::new(i as u32));
            self.facts.push(None);
            self.born.push(0);
        }
    }

    // Expressions.

    fn pure(&mut self, id: InstId) {
        let inst = &self.f.insts[id];
        let &[result] = &inst.results[..] else { return self.push(id) };
        let (op, ty, nowrap) = (inst.op, inst.ty, inst.has(AttrKind::NoWrap));
        let is_position = inst.operands.is_empty();
        if is_position && let Some(known) = self.position(op, id) {
            return self.replace(result, known);
        }
        // No rule looks at the instruction itself.
        let operands = std::mem::take(&mut self.f.insts[id].operands);
        let simpler = self.rules(op, ty, &operands, nowrap);
        self.f.insts[id].operands = operands;
        if let Some(new) = simpler {
            return self.replace(result, new);
        }
        self.order_operands(id);
        let nowrap = nowrap || self.infer_nowrap(id);
        let inst = &self.f.insts[id];
        let operands = &inst.operands;
        // An approximation that keeps its bound everywhere is another one.
        let other = if inst.has(AttrKind::Total) { -2 } else { -1 };
        let dim = inst.has(AttrKind::Dim).then(|| inst.dim() as i32);
        // Register arrays are updated in place: two that start alike are two all the same.
        let in_place = matches!(self.f.ty(result), Type::Regs(..));
        let key = key(op, ty, operands, (dim.unwrap_or(other), nowrap.into())).filter(|_| !in_place);
        if let Some(known) = key.as_ref().and_then(|key| self.same(key)) {
            return self.replace(result, known);
        }
        if let Some(key) = key {
            self.remember(key, result);
        }
        self.push(id);
        self.conclude(id, nowrap, result);
        if is_position && let Some(known) = self.range_of_position(op, id) {
            self.learn(result, known);
        }
    }

    /// An operation on values, simplified; a new instruction if nothing simpler stands for it.
    pub(super) fn emit(&mut self, op: Op, ty: impl Into<Type>, operands: &[ValueId], nowrap: bool) -> ValueId {
        let ty = ty.into();
        let mut operands = Values::from_slice(operands);
        if let Some(known) = self.rules(op, Some(ty), &operands, nowrap) {
            return known;
        }
        if is_commutative(op) && self.bits(operands[0]).is_some() {
            operands.swap(0, 1);
        }
        if let Some(known) = key(op, Some(ty), &operands, (-1, nowrap.into())).and_then(|key| self.same(&key)) {
            return known;
        }
        let mut inst = Inst::new(op, Some(ty), &operands, self.span);
        if nowrap {
            inst.set(Attr::NoWrap);
        }
        let (id, result) = self.append(inst);
        let nowrap = nowrap || self.infer_nowrap(id);
        if let Some(key) = key(op, Some(ty), &self.f.insts[id].operands, (-1, nowrap.into())) {
            self.remember(key, result);
        }
        self.conclude(id, nowrap, result);
        result
    }

    /// Appends a new instruction of one result.
    pub(super) fn append(&mut self, mut inst: Inst) -> (InstId, ValueId) {
        let first = inst.operands.first().map(|v| self.f.ty(*v));
        let ty = match inst.op.row().results.first() {
            Some(Pattern::Bool) => Type::BOOL,
            Some(Pattern::U32) => Type::U32,
            Some(Pattern::First) => first.unwrap_or(Type::U32),
            _ => inst.ty.unwrap_or(Type::U32),
        };
        let id = self.f.insts.next_id();
        let result = self.f.values.push(Value { ty, def: Def::Result(id, 0), name: None });
        self.grow();
        inst.results.push(result);
        self.f.insts.push(inst);
        self.push(id);
        (id, result)
    }

    /// Folding and identities: the value that stands for an operation.
    fn rules(&mut self, op: Op, ty: Option<Type>, operands: &[ValueId], nowrap: bool) -> Option<ValueId> {
        if self.depth >= DEPTH {
            return None;
        }
        self.depth += 1;
        let found = self.folded(op, ty, operands).or_else(|| self.identity(op, ty, operands, nowrap));
        self.depth -= 1;
        found
    }

    /// What constants give, and what facts decide.
    fn folded(&mut self, op: Op, ty: Option<Type>, operands: &[ValueId]) -> Option<ValueId> {
        let Some(Type::Scalar(s)) = ty else { return None };
        if operands.is_empty() || operands.len() > 3 {
            return None;
        }
        let result = match op.row().results {
            [Pattern::Bool] => Type::BOOL,
            [Pattern::T] => Type::Scalar(s),
            _ => return None,
        };
        let source = self.scalar(operands[0])?;
        let mut bits = [0; 3];
        let known = operands.iter().zip(&mut bits).all(|(v, slot)| self.bits(*v).map(|b| *slot = b).is_some());
        if known && let Some(bits) = eval::scalar(op, s, source, &bits[..operands.len()]) {
            return Some(self.constant(result, bits));
        }
        let mut facts = [Facts::exactly(0); 3];
        for (slot, v) in facts.iter_mut().zip(operands) {
            *slot = self.facts(*v);
        }
        if let [a, b] = operands[..]
            && result == Type::BOOL
            && self.scalar(a) == self.scalar(b)
            && let Some(known) = facts::compare(op, s, facts[0], facts[1])
        {
            return Some(self.constant(Scalar::Bool, known.into()));
        }
        if result == Type::Scalar(s)
            && (s.is_integer() || s == Scalar::Bool)
            && let Some(bits) =
                facts::transfer(op, s, source, &facts[..operands.len()], false).and_then(Facts::constant)
        {
            return Some(self.constant(result, bits));
        }
        None
    }

    /// Constants stand right.
    fn order_operands(&mut self, id: InstId) {
        let inst = &self.f.insts[id];
        if is_commutative(inst.op) && self.bits(inst.operands[0]).is_some() && self.bits(inst.operands[1]).is_none() {
            self.f.insts[id].operands.swap(0, 1);
        }
    }
}

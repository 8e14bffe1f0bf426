//! Which functions are a tally: each number that a call gives is put together by *one* operation, in whatever order, from numbers that are found on the way.
//!
//! A recursive function and all that it gets to, but for plain functions, are one if they work on numbers alone, and if what their calls of each other give is used once, on the same way, and for
//! nothing but that operation and the end. (A *catamorphism into a commutative monoid*; Steele, *Organizing functional code for parallel
//! execution*, 2009.) Numbers of 24 bits are not in the way: within such functions they wrap around late.

use super::memory;
use crate::Refusal;
use crate::loops::neutral;
use crate::loops::parts::{Places, Search};
use girih_ir::ops::Effect;
use girih_ir::{Builder, Function, FunctionId, Inst, Module, Op, RegionId, Scalar, Type, ValueId};
use std::collections::{HashMap, HashSet};

/// The operation of a reducer: associative and commutative. It works on words, as on natural numbers. So numbers with signs
/// become words in the same order where the order matters: their highest bit is turned over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monoid {
    op: Op,
    turned: bool,
}

impl Monoid {
    fn new(op: Op, scalar: Scalar) -> Monoid {
        Monoid { op, turned: scalar == Scalar::I32 && matches!(op, Op::Min | Op::Max) }
    }
    /// The word that changes nothing.
    pub fn neutral(self) -> u32 {
        neutral(self.op, Scalar::U32).map_or(0, |bits| bits as u32)
    }
    /// The operation on words.
    pub fn op(self) -> Op {
        self.op
    }
    /// Puts a word together with what stands in memory.
    pub fn add_to(self, b: &mut Builder, memory: ValueId, at: ValueId, word: ValueId) {
        if let Some(atomic) = atomic(self.op) {
            b.op(atomic, Type::U32, &[memory, at, word]);
            return;
        }
        // There is no atomic of it: it is tried until nobody has come between.
        let neutral = b.u32(self.neutral());
        let changes = b.op(Op::Ne, Type::U32, &[word, neutral]);
        let tries = |b: &mut Builder| {
            let first = b.op(Op::AtomicLoad, Type::U32, &[memory, at]);
            b.loop_with(&[first], &[Type::U32], |b, params| {
                let new = b.op(self.op, Type::U32, &[params[0], word]);
                let found = b.op(Op::AtomicCompareExchange, Type::U32, &[memory, at, params[0], new]);
                let again = b.op(Op::Ne, Type::U32, &[found, params[0]]);
                b.end(Op::While, &[again, found]);
            });
            b.end(Op::Yield, &[]);
        };
        b.if_else(changes, &[], tries, |b| b.end(Op::Yield, &[]));
    }
    /// What turns a number into its word, and back: an exclusive or with this.
    pub fn turn(self) -> u32 {
        if self.turned { 1 << 31 } else { 0 }
    }
    /// The word of a number.
    pub fn turned(self, b: &mut Builder, number: ValueId) -> ValueId {
        match self.turn() {
            0 => number,
            turn => {
                let turn = b.u32(turn);
                b.op(Op::Xor, Type::U32, &[number, turn])
            }
        }
    }
}

/// Whether numbers can be put together by an operation in any order.
fn is_op(op: Op) -> bool {
    neutral(op, Scalar::U32).is_some()
}

/// The operation on memory, if there is one.
fn atomic(op: Op) -> Option<Op> {
    match op {
        Op::Add => Some(Op::AtomicAdd),
        Op::And => Some(Op::AtomicAnd),
        Op::Or => Some(Op::AtomicOr),
        Op::Xor => Some(Op::AtomicXor),
        Op::Min => Some(Op::AtomicMin),
        Op::Max => Some(Op::AtomicMax),
        _other => None,
    }
}

/// Functions that are a tally.
#[derive(Debug)]
pub(super) struct Found {
    /// How each result is put together.
    pub monoids: Vec<Monoid>,
    /// The functions, and which of their values are parts of which result.
    pub sums: HashMap<FunctionId, HashMap<ValueId, usize>>,
}

impl Found {
    pub fn has(&self, function: FunctionId) -> bool {
        self.sums.contains_key(&function)
    }
    /// The result of which a value is a part, if it is one: it is added up where it is found.
    pub fn part(&self, function: FunctionId, value: ValueId) -> Option<usize> {
        self.sums.get(&function)?.get(&value).copied()
    }
    /// Whether an instruction calls one of the functions, or has to do with such a call.
    pub fn is_own(&self, inst: &Inst) -> bool {
        is_call(inst) && inst.callee().is_some_and(|callee| self.has(callee))
    }
}

fn is_call(inst: &Inst) -> bool {
    matches!(inst.op, Op::Call | Op::Fork | Op::Join | Op::Tail)
}

/// Looks at a function and all that it gets to; `framed` are those that cannot be called as plain functions.
pub(super) fn find(module: &Module, ids: &[FunctionId], framed: &HashSet<FunctionId>) -> Result<Found, Refusal> {
    let types: HashSet<&[Type]> = ids.iter().map(|id| &module.functions[*id].results[..]).collect();
    let is_whole = |ty: &Type| matches!(*ty, Type::U32 | Type::I32);
    let types = types.into_iter().next().filter(|types| ids.iter().all(|id| module.functions[*id].results == *types));
    let types = types.filter(|types| (1..=memory::SUMS as usize).contains(&types.len()) && types.iter().all(is_whole));
    let types = types.ok_or(Refusal::new("its functions give no whole numbers"))?;
    let scalars: Vec<Scalar> = types.iter().filter_map(|ty| ty.element()).collect();
    let mut sums = HashMap::new();
    let mut ops = vec![None; scalars.len()];
    for id in ids {
        let function = &module.functions[*id];
        check(function, ids, framed)?;
        sums.insert(*id, parts(function, ids, &scalars, &mut ops)?);
    }
    let monoids = ops.into_iter().zip(scalars).map(|(op, scalar)| Some(Monoid::new(op?, scalar)));
    let monoids = monoids.collect::<Option<_>>().ok_or(Refusal::new("its calls are a chain"))?;
    Ok(Found { monoids, sums })
}

/// Whether a function works on numbers alone.
fn check(function: &Function, ids: &[FunctionId], framed: &HashSet<FunctionId>) -> Result<(), Refusal> {
    let is_number = |ty: Type| matches!(ty, Type::U32 | Type::I32 | Type::F32 | Type::BOOL);
    if function.launch.is_some() {
        return Err(Refusal::new("it has kernels"));
    }
    if !function.params.iter().all(|param| is_number(function.ty(*param))) {
        return Err(Refusal::new("its functions are given more than numbers"));
    }
    let mut fine = Ok(());
    function.walk(function.body, &mut |_, inst| {
        let own = inst.callee().is_some_and(|callee| ids.contains(&callee));
        let is_fine = match inst.op {
            Op::Fork | Op::Join | Op::Tail => own,
            Op::Call => own || inst.callee().is_some_and(|callee| !framed.contains(&callee)),
            Op::TrapIf => true,
            Op::Loop => !inst.regions.iter().any(|region| leaves(function, *region, ids)),
            _other => {
                let row = inst.op.row();
                row.effect == Effect::Pure && inst.results.iter().all(|v| is_number(function.ty(*v)))
                    || row.effect == Effect::Control
            }
        };
        if !is_fine {
            fine = Err(Refusal::new("its functions do more than to compute numbers"));
        }
    });
    fine
}

/// Whether code in a region does something that a loop which stays within a step must not do.
fn leaves(function: &Function, region: RegionId, ids: &[FunctionId]) -> bool {
    let mut found = false;
    function.walk(region, &mut |_, inst| {
        let own = is_call(inst) && inst.callee().is_some_and(|callee| ids.contains(&callee));
        found |= own || matches!(inst.op, Op::Return | Op::TrapIf);
    });
    found
}

/// The values of a function that become part of one of its results and of nothing else, from its calls of these functions on; and of which result.
fn parts(
    function: &Function,
    ids: &[FunctionId],
    scalars: &[Scalar],
    ops: &mut [Option<Op>],
) -> Result<HashMap<ValueId, usize>, Refusal> {
    let places = Places::of(function);
    let own = |inst: &&Inst| {
        matches!(inst.op, Op::Call | Op::Join) && inst.callee().is_some_and(|callee| ids.contains(&callee))
    };
    let mut found = HashMap::new();
    for (position, (scalar, op)) in scalars.iter().zip(ops).enumerate() {
        let starts: Vec<ValueId> = places.insts().filter(own).map(|inst| inst.results[position]).collect();
        let search = Search { is_op, ty: *scalar, carried: None, given: Some(position), ignored: &HashSet::new() };
        let parts = places.parts(&starts, &search, op);
        let parts = parts.ok_or(Refusal::new("what its calls give is not just put together"))?;
        for part in parts {
            // What is a part of two results is put together twice.
            if found.insert(part, position).is_some() {
                return Err(Refusal::new("what its calls give is not just put together"));
            }
        }
    }
    Ok(found)
}

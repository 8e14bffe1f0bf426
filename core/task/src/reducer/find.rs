//! Which functions are a tally: what a call gives is one number, put together by *one* operation, in whatever order, from numbers that are found on
//! the way.
//!
//! A recursive function and all that it gets to, but for plain functions, are one if they work on numbers alone, and if what their calls of each other give is used once, on the same way, and for
//! nothing but that operation and the end. (A *catamorphism into a commutative monoid*; Steele, *Organizing functional code for parallel
//! execution*, 2009.) Numbers of 24 bits are not in the way: within such functions they wrap around late.

use crate::Refusal;
use crate::loops::parts::{Places, Search};
use girih_ir::ops::Effect;
use girih_ir::{Function, FunctionId, Inst, Module, Op, RegionId, Scalar, Type, ValueId};
use std::collections::{HashMap, HashSet};

/// The operation of a tally: associative and commutative, and there are atomics of it. It works on words; signs do not matter to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monoid(Op);

impl Monoid {
    /// The number that changes nothing.
    pub fn neutral(self) -> u32 {
        if self.0 == Op::And { u32::MAX } else { 0 }
    }
    /// The operation on words.
    pub fn op(self) -> Op {
        self.0
    }
    /// The operation on memory.
    pub fn atomic(self) -> Op {
        atomic(self.0).unwrap_or(Op::AtomicAdd)
    }
}

fn atomic(op: Op) -> Option<Op> {
    match op {
        Op::Add => Some(Op::AtomicAdd),
        Op::And => Some(Op::AtomicAnd),
        Op::Or => Some(Op::AtomicOr),
        Op::Xor => Some(Op::AtomicXor),
        _other => None,
    }
}

/// Functions that are a tally.
#[derive(Debug)]
pub(super) struct Found {
    pub monoid: Monoid,
    /// The functions, and which of their values are parts of what is put together.
    pub sums: HashMap<FunctionId, HashSet<ValueId>>,
}

impl Found {
    pub fn has(&self, function: FunctionId) -> bool {
        self.sums.contains_key(&function)
    }
    /// Whether a value is a part of what is put together, and is added up where it is found.
    pub fn is_part(&self, function: FunctionId, value: ValueId) -> bool {
        self.sums.get(&function).is_some_and(|sums| sums.contains(&value))
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
    let mut found = Found { monoid: Monoid(Op::Add), sums: HashMap::new() };
    let types: HashSet<Type> = ids.iter().flat_map(|id| module.functions[*id].results.clone()).collect();
    let ty = if types == HashSet::from([Type::U32]) {
        Scalar::U32
    } else if types == HashSet::from([Type::I32]) {
        Scalar::I32
    } else {
        return Err(Refusal::new("its functions give no whole number"));
    };
    let mut op = None;
    for id in ids {
        let function = &module.functions[*id];
        check(function, ids, framed)?;
        found.sums.insert(*id, sums(function, ids, ty, &mut op)?);
    }
    found.monoid = Monoid(op.ok_or(Refusal::new("its calls are a chain"))?);
    Ok(found)
}

/// Whether a function works on numbers alone.
fn check(function: &Function, ids: &[FunctionId], framed: &HashSet<FunctionId>) -> Result<(), Refusal> {
    let is_number = |ty: Type| matches!(ty, Type::U32 | Type::I32 | Type::F32 | Type::BOOL);
    if function.launch.is_some() || function.results.len() != 1 {
        return Err(Refusal::new("its functions give no whole number"));
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

/// The values of a function that become part of what it gives and of nothing else, from its calls of these functions on.
fn sums(
    function: &Function,
    ids: &[FunctionId],
    ty: Scalar,
    found: &mut Option<Op>,
) -> Result<HashSet<ValueId>, Refusal> {
    let places = Places::of(function);
    let own = |inst: &&Inst| {
        matches!(inst.op, Op::Call | Op::Join) && inst.callee().is_some_and(|callee| ids.contains(&callee))
    };
    let starts: Vec<ValueId> = places.insts().filter(own).flat_map(|inst| inst.results.iter().copied()).collect();
    let search = Search { is_op: |op| atomic(op).is_some(), ty, carried: None, ignored: &HashSet::new() };
    places.parts(&starts, &search, found).ok_or(Refusal::new("what its calls give is not just put together"))
}

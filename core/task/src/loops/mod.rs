//! Recursion that is a loop: functions that call themselves where little is left to do become loops, and no frames of theirs wait.
//!
//! | file | what is left to do |
//! |---|---|
//! | [`accumulate`] | to add to the result, or to combine it by another operation of that kind |
//! | [`chains`] | to put the result into a new cell |
//!
//! And the other way round: loops whose iterations only have a sum in common become recursion ([`ranges`](mod@ranges)), for that runs in parallel. What
//! only becomes part of a result is found by [`parts`].
//!
//! Invariant: a function gives what it gave.

pub(crate) mod accumulate;
pub mod chains;
pub(crate) mod parts;
pub mod ranges;

use girih_base::hash::FastMap;
use girih_ir::{Def, Function, Inst, InstId, Op, RegionId, Scalar, Type, Value, ValueId};

/// Visits a region and all that are inside of it.
fn walk_regions(function: &Function, region: RegionId, visit: &mut impl FnMut(RegionId)) {
    visit(region);
    for id in &function.regions[region].insts {
        for inner in &function.insts[*id].regions {
            walk_regions(function, *inner, visit);
        }
    }
}

/// The loop that is all of a function.
pub(crate) fn whole_loop(function: &Function) -> Option<InstId> {
    let [around, end] = function.regions[function.body].insts[..] else { return None };
    let (inst, end) = (&function.insts[around], &function.insts[end]);
    (inst.op == Op::Loop && end.op == Op::Return && end.operands == inst.results).then_some(around)
}

/// Makes a function's body a loop that carries the parameters and gives the results; gives the loop. No loop inside may return.
fn enter_loop(function: &mut Function) -> InstId {
    let inner = function.body;
    let mut stands: FastMap<ValueId, ValueId> = FastMap::default();
    let params = function.params.clone();
    for (i, param) in (0..).zip(&params) {
        let ty = function.ty(*param);
        let value = function.values.push(Value { ty, name: None, def: Def::Argument(inner, i) });
        function.regions[inner].params.push(value);
        stands.insert(*param, value);
    }
    for inst in function.insts.iter_mut() {
        inst.operands.iter_mut().for_each(|v| *v = stands.get(v).copied().unwrap_or(*v));
        if inst.op == Op::Return {
            *inst = Inst::new(Op::Break, None, &inst.operands, inst.span);
        }
    }
    let span = function.span;
    let mut around = Inst::new(Op::Loop, None, &params, span);
    around.regions.push(inner);
    let around = function.insts.push(around);
    let types = function.results.clone();
    let results = add_results(function, around, &types);
    let end = function.insts.push(Inst::new(Op::Return, None, &results, span));
    function.body = function.regions.push(Default::default());
    function.regions[function.body].insts = vec![around, end];
    around
}

/// The whole number of 32 bits that an operation does not change anything with; none if it is not associative and commutative.
pub(crate) fn neutral(op: Op, scalar: Scalar) -> Option<u64> {
    let (least, most) = match scalar {
        Scalar::U32 => (u32::MIN, u32::MAX),
        Scalar::I32 => (i32::MIN as u32, i32::MAX as u32),
        _other => return None,
    };
    let bits = match op {
        Op::Add | Op::Or | Op::Xor => 0,
        Op::Mul => 1,
        Op::And => u32::MAX,
        Op::Max => least,
        Op::Min => most,
        _no_rule => return None,
    };
    Some(u64::from(bits))
}

/// More results of an instruction.
pub(crate) fn add_results(function: &mut Function, inst: InstId, types: &[Type]) -> Vec<ValueId> {
    let first = function.insts[inst].results.len() as u32;
    let values: Vec<ValueId> = (first..)
        .zip(types)
        .map(|(i, ty)| function.values.push(Value { ty: *ty, name: None, def: Def::Result(inst, i) }))
        .collect();
    function.insts[inst].results.extend(values.iter().copied());
    values
}

//! Communication in a subgroup: on 32-bit words where the device has it, through shared memory or not at all where it does not.
//!
//! Invariant: afterwards shuffles, reductions and scans are on `i32`, `u32` and `f32` only, and gone unless the device has
//! [`Feature::Subgroups`] in the width that the kernel was written for.

use super::emit::Emit;
use super::{Context, emulated, lacks, word_packing};
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::attrs::Attr;
use girih_ir::groups::{
    accesses, aggregates, arithmetic, asynchronous, atomics, barriers, control, exclusive_scans, fragments,
    inclusive_scans, masks, matrix_products, positions, reductions, scans, shuffles, subgroup_positions, task_form,
    votes,
};
use girih_ir::{Builder, Caps, Feature, Function, Inst, Op, Scalar, ScalarSet, Type, ValueId};

/// Rewrites a kernel's subgroup operations. `levels` comes from the module as it was before any pass.
pub(super) fn run(function: Function, cx: &mut Context<'_>, plan: SubgroupPlan) -> Result<Function, Diagnostic> {
    match plan {
        SubgroupPlan::None => Ok(function),
        SubgroupPlan::Native => Rewriter::run(&function, &mut Native { caps: cx.caps }),
        SubgroupPlan::Emulated(width) => emulated::run(&function, width),
    }
}

/// How a function's subgroups are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubgroupPlan {
    /// It has none.
    None,
    /// By the device's own.
    Native,
    /// As so many consecutive invocations that share memory; 1 means that each is alone.
    Emulated(u32),
}

/// Whether an operation is about subgroups.
pub(super) fn concerns(op: Op) -> bool {
    matches!(op, subgroup_positions!() | votes!() | shuffles!() | reductions!() | scans!())
}

/// Chooses how a function's subgroups are made. `together` says whether all invocations of a workgroup reach each of its
/// subgroup operations together, for a workgroup that is one subgroup and for one that is several.
pub(super) fn plan(
    function: &Function,
    caps: &Caps,
    together: impl Fn(bool) -> bool,
) -> Result<SubgroupPlan, Diagnostic> {
    let mut first = None;
    function.walk(function.body, &mut |_, inst| {
        if first.is_none() && concerns(inst.op) {
            first = Some(inst.span);
        }
    });
    let asked = function.launch.as_ref().and_then(|l| l.subgroup);
    let Some(span) = first else { return Ok(SubgroupPlan::None) };
    let native = caps.has(Feature::Subgroups);
    let fixed = (caps.subgroup.min == caps.subgroup.max).then_some(caps.subgroup.min);
    if native && (asked.is_none() || asked == fixed) {
        return Ok(SubgroupPlan::Native);
    }
    let Some(launch) = &function.launch else {
        return Err(lacks(
            caps,
            span,
            "a function that is called uses subgroups",
            "call it from a kernel without calls",
        ));
    };
    let invocations: u32 = launch.workgroup.iter().product();
    let width = asked.unwrap_or_else(|| invocations.next_power_of_two().min(caps.subgroup.max).min(32));
    let possible = width.is_power_of_two() && width <= 128;
    if possible && (width == 1 || together(width >= invocations)) {
        return Ok(SubgroupPlan::Emulated(width));
    }
    match asked {
        None => Ok(SubgroupPlan::Emulated(1)),
        Some(width) => {
            let what = format!("`subgroup({width})` asks for subgroups of {width}");
            let hint = "leave `subgroup` out, or let all invocations of the workgroup reach each subgroup operation";
            Err(lacks(caps, span, &what, hint))
        }
    }
}

/// On devices that have subgroups.
struct Native<'a> {
    caps: &'a Caps,
}

/// What devices move between lanes and reduce.
const WORDS: ScalarSet = ScalarSet::of(&[Scalar::I32, Scalar::U32, Scalar::F32]);

impl Pass for Native<'_> {
    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let ty = inst.element();
        let moves = matches!(inst.op, shuffles!());
        if !(moves || matches!(inst.op, reductions!() | scans!())) || WORDS.has(ty) {
            return Ok(None);
        }
        let x: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
        let b = &mut r.out;
        let result = if moves {
            shuffle(b, inst.op, x[0], x[1])
        } else {
            in_work_type(b, ty, x[0], |b, x| collective(b, self.caps, inst, x))
        };
        Ok(Some(vec![vec![result]]))
    }
}

/// The value of another lane, word by word.
fn shuffle(b: &mut Builder, op: Op, x: ValueId, lane: ValueId) -> ValueId {
    let ty = b.ty(x);
    let words: Vec<ValueId> =
        word_packing::to_words(b, x).into_iter().map(|w| b.op(op, Type::U32, &[w, lane])).collect();
    word_packing::from_words(b, ty, &words)
}

/// Short floats are reduced in `f32` and rounded at the end.
pub(super) fn in_work_type(
    b: &mut Builder,
    ty: Scalar,
    x: ValueId,
    reduce: impl FnOnce(&mut Builder, ValueId) -> ValueId,
) -> ValueId {
    if !super::floats::SHORT.has(ty) {
        return reduce(b, x);
    }
    let wide = b.convert(Scalar::F32, x);
    let result = reduce(b, wide);
    b.convert(ty, result)
}

/// A reduction or scan.
fn collective(b: &mut Builder, caps: &Caps, inst: &Inst, x: ValueId) -> ValueId {
    let ty = b.scalar(x);
    if WORDS.has(ty) {
        return b.same(inst.op, &[x]);
    }
    if matches!(inst.op, Op::SubgroupAnd | Op::SubgroupOr | Op::SubgroupXor) {
        let words = word_packing::to_words(b, x);
        let words: Vec<ValueId> = words.into_iter().map(|w| b.same(inst.op, &[w])).collect();
        return word_packing::from_words(b, ty.into(), &words);
    }
    let through = inclusive(b, caps, fold(inst.op), x);
    match inst.op {
        exclusive_scans!() => {
            let one = b.u32(1);
            let below = shuffle(b, Op::ShuffleUp, through, one);
            let lane = position(b, Op::Lane);
            let first = b.compare_bits(Op::Eq, lane, 0);
            let neutral = neutral(b, inst.op, ty);
            b.select(first, neutral, below)
        }
        inclusive_scans!() => through,
        reductions!() => {
            let last = last_lane(b);
            shuffle(b, Op::Broadcast, through, last)
        }
        votes!() | shuffles!() | not_of_a_subgroup!() => unreachable!("{}", not_collective(inst.op)),
    }
}

/// What two lanes' values are made one by.
pub(super) fn fold(op: Op) -> Op {
    match op {
        Op::SubgroupMul | Op::InclusiveMul | Op::ExclusiveMul => Op::Mul,
        Op::SubgroupMin | Op::InclusiveMin => Op::Min,
        Op::SubgroupMax | Op::InclusiveMax => Op::Max,
        Op::SubgroupAnd => Op::And,
        Op::SubgroupOr => Op::Or,
        Op::SubgroupXor => Op::Xor,
        Op::SubgroupAdd | Op::InclusiveAdd | Op::ExclusiveAdd => Op::Add,
        votes!() | shuffles!() | not_of_a_subgroup!() => unreachable!("{}", not_collective(op)),
    }
}

fn not_collective(op: Op) -> String {
    format!("`{}` is neither a reduction nor a scan", op.name())
}

/// What the first lane of an exclusive scan gets.
pub(super) fn neutral(b: &mut Builder, op: Op, ty: Scalar) -> ValueId {
    let bits = if fold(op) == Op::Mul { ty.one_bits() } else { 0 };
    b.constant(ty, bits)
}

/// A position without a dimension.
pub(super) fn position(b: &mut Builder, op: Op) -> ValueId {
    b.with_attrs(op, None, &[], &[] as &[Attr])[0]
}

/// The highest lane that takes part: the last subgroup of a workgroup may lack upper ones.
fn last_lane(b: &mut Builder) -> ValueId {
    let yes = b.bool(true);
    let ballot = b.with_attrs(Op::Ballot, None, &[yes], &[])[0];
    let mut count = b.u32(u32::MAX);
    for word in b.lanes(ballot) {
        let ones = b.same(Op::Popc, &[word]);
        count = b.add(count, ones);
    }
    count
}

/// An inclusive scan: in step d each lane adds what the lane d below has added so far.
fn inclusive(b: &mut Builder, caps: &Caps, fold: Op, x: ValueId) -> ValueId {
    let lane = position(b, Op::Lane);
    if caps.subgroup.min == caps.subgroup.max {
        let steps = (0..7).map(|i| 1 << i).take_while(|d| *d < caps.subgroup.max);
        return steps.fold(x, |sum, distance| {
            let distance = b.u32(distance);
            step(b, fold, lane, sum, distance)
        });
    }
    let size = position(b, Op::SubgroupSize);
    let one = b.u32(1);
    let types = [Type::U32, b.ty(x)];
    b.loop_with(&[one, x], &types, |b, params| {
        let (distance, sum) = (params[0], params[1]);
        let done = b.compare(Op::Ge, distance, size);
        b.if_else(done, &[], |b| b.end(Op::Break, params), |b| b.end(Op::Yield, &[]));
        let sum = step(b, fold, lane, sum, distance);
        let twice = b.add(distance, distance);
        b.end(Op::Continue, &[twice, sum]);
    })[1]
}

fn step(b: &mut Builder, fold: Op, lane: ValueId, sum: ValueId, distance: ValueId) -> ValueId {
    let other = shuffle(b, Op::ShuffleUp, sum, distance);
    let both = b.same(fold, &[other, sum]);
    let exists = b.compare(Op::Ge, lane, distance);
    b.select(exists, both, sum)
}

//! Operations on tiles: that the shapes of operands and results fit together, and what regions that work by element take and give.

use super::calls;
use super::names;
use super::structure::Context;
use crate::attrs::Attr;
use crate::function::{Function, FunctionId, Inst, InstId, Module, ValueId};
use crate::groups::{by_element, not_of_tiles, tile_accesses};
use crate::ops::{Family, Op};
use crate::types::{Scalar, Shape, Type};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;

/// Checks an instruction whose operands are those that the row asks for.
pub(super) fn check(cx: &mut Context<'_>, inst: &Inst) {
    if inst.op.row().family != Family::Tile {
        return;
    }
    let wrong = match inst.op {
        by_element!() => by_element(cx, inst).err(),
        Op::TileDot => dot(cx, inst),
        Op::TileGather => gather(cx, inst),
        Op::TileAssume | Op::TileAssert => {
            let bools = cx.ty(inst.operands[0]).element() == Some(Scalar::Bool);
            (!bools).then(|| "a condition is `bool`, or a tile of them".into())
        }
        Op::TilePrint => {
            let fits = |v: &ValueId| matches!(cx.ty(*v), Type::Scalar(_) | Type::Tile(_));
            (!inst.operands.iter().all(fits)).then(|| "what is printed is scalars and tiles".into())
        }
        Op::TileHint => hint(inst),
        Op::TileHistogram => histogram(cx, inst),
        Op::TileIota
        | Op::TileSplat
        | Op::TileBroadcast
        | Op::TileReshape
        | Op::TilePermute
        | Op::TileJoin
        | Op::TileSplit
        | Op::TileCat
        | tile_accesses!()
        | not_of_tiles!() => shapes(cx, inst),
    };
    if let Some(wrong) = wrong {
        let message = format!("{} breaks a rule: {wrong}", names::operation(inst));
        cx.report(Code::IrShape, inst, message, "see its row in the reference");
    }
}

/// The shape that an operand has.
fn shape_of(cx: &Context<'_>, inst: &Inst, operand: usize) -> Option<Shape> {
    inst.operands.get(operand).and_then(|v| cx.ty(*v).shape())
}

/// Operations that move elements: what is wrong with the shapes, if something is.
fn shapes(cx: &Context<'_>, inst: &Inst) -> Option<String> {
    let to = inst.ty.and_then(Type::shape)?.to_vec();
    let from = shape_of(cx, inst, 0).map(Shape::to_vec);
    let no_tile = ("the operand is a tile", false);
    let (asked, fits) = match inst.op {
        Op::TileIota => ("the result has one dimension", to.len() == 1),
        Op::TileBroadcast => from.map_or(no_tile, |from| {
            let fits = from.len() == to.len() && from.iter().zip(&to).all(|(f, t)| f == t || *f == 1);
            ("a dimension of the operand is as long as the result's, or 1", fits)
        }),
        Op::TileReshape => {
            let elements = from.map_or(1, |from| from.iter().product());
            ("the result has as many elements as the operand", to.iter().product::<u64>() == elements)
        }
        Op::TilePermute => from.map_or(no_tile, |from| {
            let axes = inst.axes();
            let mut seen = axes.clone();
            seen.sort_unstable();
            let order = seen.iter().copied().eq(0..from.len() as u32) && to.len() == from.len();
            let fits = order && axes.iter().zip(&to).all(|(axis, length)| from[*axis as usize] == *length);
            ("`axes` names each dimension once, and the result is as long in each", fits)
        }),
        Op::TileJoin => {
            let mut joined = from.unwrap_or_default();
            joined.push(2);
            ("both operands have the result's shape without its last dimension of 2", joined == to && same(cx, inst))
        }
        Op::TileSplit => ("the last dimension has length 2", to.last() == Some(&2)),
        Op::TileCat => from.map_or(no_tile, |from| {
            let twice = from.len() == to.len() && from[0] * 2 == to[0] && from[1..] == to[1..];
            ("the result is twice as long as each operand in its first dimension", same(cx, inst) && twice)
        }),
        // Their rows say that operands and result have one shape, or they have rules of their own.
        Op::TileSplat
        | Op::TileGather
        | Op::TileHistogram
        | Op::TileDot
        | Op::TileHint
        | Op::TileAssume
        | Op::TilePrint
        | Op::TileAssert
        | tile_accesses!()
        | by_element!()
        | not_of_tiles!() => return None,
    };
    (!fits).then(|| asked.to_owned())
}

fn same(cx: &Context<'_>, inst: &Inst) -> bool {
    shape_of(cx, inst, 0) == shape_of(cx, inst, 1)
}

fn dot(cx: &Context<'_>, inst: &Inst) -> Option<String> {
    let ty = |operand: usize| cx.ty(inst.operands[operand]);
    let (a, b, c) = (ty(0), ty(1), ty(2));
    let (Some(left), Some(right), Some(out)) = (a.shape(), b.shape(), c.shape()) else {
        return Some("both factors are tiles".into());
    };
    let (left, right, out) = (left.to_vec(), right.to_vec(), out.to_vec());
    let batch = match out.len() {
        2 => 0,
        3 => 1,
        _ => return Some("factors have two dimensions, or three".into()),
    };
    let fits = left.len() == out.len()
        && right.len() == out.len()
        && left[..batch] == out[..batch]
        && right[..batch] == out[..batch]
        && left[batch] == out[batch]
        && right[batch + 1] == out[batch + 1]
        && left[batch + 1] == right[batch];
    if !fits {
        return Some(format!("`{a}` times `{b}` is no `{c}`"));
    }
    let (a, b, c) = (a.element()?, b.element()?, c.element()?);
    let products = (a.is_float() && b.is_float() && c.is_float())
        || (a.is_integer() && a.bits() == 8 && b.bits() == 8 && c == Scalar::I32);
    let factors = a == b || (a.bits() == 8 && b.bits() == 8 && a.is_float() == b.is_float());
    (!(products && factors)).then(|| {
        format!("factors of `{a}` and `{b}` are not summed in `{c}`: both are floats of one type, or integers of 8 bits for `i32`")
    })
}

fn gather(cx: &Context<'_>, inst: &Inst) -> Option<String> {
    let axis = inst.axis() as usize;
    let to = inst.ty.and_then(Type::shape)?.to_vec();
    let index = cx.ty(inst.operands[1]);
    let Some(from) = shape_of(cx, inst, 0).map(Shape::to_vec) else { return Some("the operand is a tile".into()) };
    if !index.element().is_some_and(Scalar::is_integer) || index.shape() != inst.ty.and_then(Type::shape) {
        return Some("the index is a tile of integers of the result's shape".into());
    }
    let others = from.len() == to.len() && (0..to.len()).all(|i| i == axis || from[i] == to[i]);
    (axis >= to.len() || !others).then(|| "the operand and the result differ in the axis only".into())
}

fn histogram(cx: &Context<'_>, inst: &Inst) -> Option<String> {
    let found = cx.ty(inst.operands[0]);
    let inside = cx.ty(inst.operands[1]);
    let one = inst.ty.and_then(Type::shape).is_some_and(|s| s.rank() == 1);
    let fits = one && found.element().is_some_and(Scalar::is_integer) && found.shape().is_some_and(|s| s.rank() == 1);
    let masked = inside == Type::BOOL || inside == found.truth();
    (!fits || !masked).then(|| "integers of one dimension are counted in one dimension".into())
}

fn hint(inst: &Inst) -> Option<String> {
    let rank = inst.ty.and_then(Type::shape).map_or(1, Shape::rank);
    let wrong = inst.attrs.iter().any(|attr| match attr {
        Attr::Multiple(n) | Attr::Contiguous(n) | Attr::Constancy(n) => n.len() != rank,
        _says_nothing_by_dimension => false,
    });
    wrong.then(|| "a promise has one number for each dimension".into())
}

/// The shape of the results of an operation that works by element, or what is wrong.
fn by_element(cx: &Context<'_>, inst: &Inst) -> Result<(), String> {
    let Some(first) = inst.operands.first() else { return Err("it has at least one operand".into()) };
    let Some(shape) = cx.ty(*first).shape() else { return Err("its operands are tiles".into()) };
    if inst.operands.iter().any(|v| cx.ty(*v).shape() != Some(shape)) {
        return Err("its operands have one shape".into());
    }
    let elements: Vec<Type> = inst.operands.iter().filter_map(|v| cx.ty(*v).element()).map(Type::Scalar).collect();
    let [region] = inst.regions[..] else { return Err("it has one region".into()) };
    let params: Vec<Type> = cx.function.regions[region].params.iter().map(|v| cx.ty(*v)).collect();
    let times = if inst.op == Op::TileMap { 1 } else { 2 };
    if !params.iter().eq(elements.iter().cycle().take(elements.len() * times)) {
        let asked = if times == 1 { "an element" } else { "two elements" };
        return Err(format!("its region takes {asked} of each operand"));
    }
    let axis = inst.axis() as usize;
    if inst.op != Op::TileMap && axis >= shape.rank() {
        return Err(format!("a tile of {} dimensions has no axis {axis}", shape.rank()));
    }
    let gives = if inst.op == Op::TileReduce { shape.without(axis) } else { Some(shape) };
    let results: Vec<Type> = inst.results.iter().map(|v| cx.ty(*v)).collect();
    let like_operands = || elements.iter().filter_map(|ty| ty.element()).map(|element| Type::block(gives, element));
    let fits = if inst.op == Op::TileMap {
        results.iter().all(|ty| ty.shape() == gives)
    } else {
        results.iter().copied().eq(like_operands())
    };
    if !fits {
        return Err("its results have the shape that is left, and the operands' elements".into());
    }
    let pure = inst.regions.iter().all(|region| {
        let mut pure = true;
        cx.function.walk(*region, &mut |_, inner| {
            pure &= inner.op.is_pure()
                || matches!(inner.op, Op::If | Op::Switch | Op::Loop | Op::Call)
                || (inner.op.is_terminator() && inner.op != Op::Return);
        });
        pure
    });
    if pure { Ok(()) } else { Err("its region has no effects".into()) }
}

/// Reports calls in regions that work by element of functions that do more than compute: elements are computed in any order and number,
/// and by any invocation.
pub(super) fn called_by_element(module: &Module, found: &mut Vec<Diagnostic>) {
    let mut inner: Vec<(&Function, InstId, FunctionId)> = module.functions.iter().flat_map(calls_by_element).collect();
    // A callee that is not there has been reported already.
    inner.retain(|(_, _, callee)| module.functions.get(*callee).is_some());
    if inner.is_empty() {
        return;
    }
    let calls = calls::of_module(module);
    let computes: IndexVec<FunctionId, bool> = module.functions.iter().map(only_computes).collect();
    for (function, id, callee) in inner {
        let reached = calls::reached(&calls, std::iter::once(callee));
        let Some((culprit, _)) = reached.into_iter().find(|(id, _)| !computes[*id]) else { continue };
        let (inst, culprit) = (&function.insts[id], &module.functions[culprit]);
        let message =
            format!("`@{}` is called for each element, so it must not have effects", module.functions[callee].name);
        let diagnostic = Diagnostic::new(Code::IrShape, inst.span, message)
            .label(culprit.span, format!("`@{}` does more than compute", culprit.name));
        found.push(
            diagnostic.hint("move loads, stores, and operations that invocations do together, out of the region"),
        );
    }
}

/// The calls in regions that work by element.
fn calls_by_element(function: &Function) -> Vec<(&Function, InstId, FunctionId)> {
    let mut found = vec![];
    function.walk(function.body, &mut |_, inst| {
        if !inst.op.is_by_element() {
            return;
        }
        for region in &inst.regions {
            function.walk(*region, &mut |id, inner| {
                found.extend(inner.callee().filter(|_| inner.op == Op::Call).map(|callee| (function, id, callee)));
            });
        }
    });
    found
}

/// Whether a function computes and calls, and does nothing else. A trap may be reported by whoever computes an element.
fn only_computes(function: &Function) -> bool {
    let mut only = true;
    function.walk(function.body, &mut |_, inst| {
        only &= inst.op.is_pure()
            || matches!(inst.op, Op::If | Op::Switch | Op::Loop | Op::Call | Op::TrapIf)
            || inst.op.is_terminator();
    });
    only
}

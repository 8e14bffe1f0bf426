//! The decorators of PyTorch's Inductor, `@triton_heuristics.pointwise(size_hints=..)` and the like: what they say of a kernel's sizes, from which
//! its blocks are chosen.
//!
//! A size hint is the least power of two that a number of elements fits in. Blocks never exceed it, so a kernel that covers everything with one
//! program is right for any block.

use super::body::{Body, Made};
use super::decorators::{Chosen, is_given, passed};
use super::kernel::Request;
use super::value::Value;
use crate::python::ast::{Argument, Expr, ExprKind, FunctionDef};

/// What kinds of kernels the decorators are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Each element by itself.
    Pointwise,
    /// A loop over what is reduced.
    Reduction,
    /// All that is reduced is in one block, which the kernel itself names.
    Persistent,
    /// Blocks are constants of the kernel's file.
    Fixed,
}

/// The kind that a decorator's name says.
pub(super) fn kind(decorator: &str) -> Option<Kind> {
    match decorator {
        "pointwise" => Some(Kind::Pointwise),
        "reduction" | "split_scan" => Some(Kind::Reduction),
        "persistent_reduction" | "cooperative_reduction" => Some(Kind::Persistent),
        "template" | "foreach" | "fixed_config" | "user_autotune" => Some(Kind::Fixed),
        _ => None,
    }
}

/// Whether a decorator is one of a module that is called `triton_heuristics`.
pub(super) fn is_of(decorator: &Expr) -> bool {
    let ExprKind::Call(callee, _) = &decorator.kind else { return false };
    let ExprKind::Attribute(of, _) = &callee.kind else { return false };
    match &of.kind {
        ExprKind::Name(name) => name == "triton_heuristics",
        ExprKind::Attribute(_, name) => name.name == "triton_heuristics",
        _others => false,
    }
}

/// Elements that a program of a pointwise kernel handles.
const ELEMENTS: u64 = 1024;
/// Elements that a program of a reduction handles at once.
const REDUCED: u64 = 2048;
/// Elements of a lane, by which the number of warps is chosen.
const EACH: u64 = 8;

/// A block of a kernel: its name, and how many elements there are, to the next power of two.
struct Block {
    name: String,
    hint: u64,
    reduced: bool,
}

/// The hints by the prefixes of blocks: `x`, `y`, `z`, `r0_`, `r1_`. Older files list them in that order, what is reduced last.
fn hints(value: &Value) -> Vec<(String, u64)> {
    let number = |v: &Value| if let Value::Int(n) = v { u64::try_from(*n).ok() } else { None };
    match value {
        Value::Dict(items) => items.iter().filter_map(|(key, n)| Some((key.to_string(), number(n)?))).collect(),
        Value::Tuple(items) => {
            let names = ["x", "y", "z"].iter().map(|n| (*n).to_owned());
            names.zip(items).filter_map(|(name, n)| Some((name, number(n)?))).collect()
        }
        _no_hints => vec![],
    }
}

/// The blocks that a kernel is to be given, with their hints.
fn blocks(def: &FunctionDef, value: &Value, kind: Kind, request: &Request) -> Vec<Block> {
    let hints = hints(value);
    let listed = matches!(value, Value::Tuple(_));
    let names = def.parameters.list.iter().map(|p| p.name.name.clone()).filter(|name| name.ends_with("BLOCK"));
    names
        .filter(|name| !is_given(request, name))
        .map(|name| {
            let prefix = name.trim_end_matches("BLOCK").to_lowercase();
            let reduced = prefix.starts_with('r');
            let named =
                hints.iter().find(|(hint, _)| *hint == prefix).or_else(|| hints.last().filter(|_| listed && reduced));
            let hint = named.map_or(1, |(_, n)| n.checked_next_power_of_two().unwrap_or(1 << 63));
            Block { name, hint, reduced: reduced && kind != Kind::Pointwise }
        })
        .collect()
}

/// Chooses blocks and warps for what a decorator says.
pub(super) fn choose(
    body: &mut Body<'_, '_>,
    (kind, arguments): (Kind, &[Argument]),
    def: &FunctionDef,
    request: &Request,
    chosen: &mut Chosen,
) -> Made<()> {
    let hints: Option<&Expr> = passed(arguments, "size_hints", true);
    let (Some(hints), false) = (hints, kind == Kind::Fixed) else {
        return fixed(body, arguments, chosen);
    };
    let value = body.expr(hints)?;
    let blocks = blocks(def, &value, kind, request);
    let (mut elements, mut reduced) = (ELEMENTS, REDUCED);
    let mut all = 1;
    // What is reduced first gets its room; in what is not reduced, x gets what y and z leave.
    let across = blocks.iter().filter(|block| !block.reduced).count() as u32;
    for block in &blocks {
        let size = match (block.reduced, kind) {
            (true, _) => {
                let size = block.hint.min(reduced);
                reduced = (reduced / size).max(1);
                size
            }
            (false, Kind::Pointwise) if across > 1 => block.hint.min(if across == 2 { 32 } else { 8 }),
            (false, Kind::Pointwise) => block.hint.min(elements),
            (false, _) => 1,
        };
        elements = (elements / size).max(1);
        all *= size;
        chosen.constants.push((block.name.clone(), Value::Int(i128::from(size))));
    }
    chosen.grid = grid(body, arguments, &blocks)?;
    let warps = (all / (32 * EACH)).clamp(1, 8).next_power_of_two();
    chosen.num_warps = Some(if kind == Kind::Pointwise { warps as u32 } else { warps.max(4) as u32 });
    Ok(())
}

/// The grid that `inductor_meta` names, where each dimension is covered by its blocks.
fn grid(body: &mut Body<'_, '_>, arguments: &[Argument], blocks: &[Block]) -> Made<Option<String>> {
    let Some(meta) = passed(arguments, "inductor_meta", false) else { return Ok(None) };
    let Value::Dict(items) = body.expr(meta)? else { return Ok(None) };
    let kind = items.iter().find(|(key, _)| key.to_string() == "grid_type").map(|(_, kind)| kind.to_string());
    let dimensions = match kind.as_deref() {
        Some("Grid1D") => 1,
        Some("Grid2D") => 2,
        Some("Grid3D") => 3,
        _others => return Ok(None),
    };
    let covered = ["x", "y", "z"].into_iter().take(dimensions).map(|name| {
        let block = format!("{}BLOCK", name.to_uppercase());
        if blocks.iter().any(|b| b.name == block) {
            format!("cdiv({name}numel, {block})")
        } else {
            format!("{name}numel")
        }
    });
    Ok(Some(covered.collect::<Vec<_>>().join(",")))
}

/// The warps of a kernel whose blocks are constants.
fn fixed(body: &mut Body<'_, '_>, arguments: &[Argument], chosen: &mut Chosen) -> Made<()> {
    if let Some(warps) = passed(arguments, "num_warps", false)
        && let Value::Int(warps) = body.expr(warps)?
    {
        chosen.num_warps = u32::try_from(warps).ok();
    }
    Ok(())
}

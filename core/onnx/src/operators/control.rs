//! Operators with subgraphs: choices and loops. A graph has neither, so what decides has to be known when the model is compiled, and loops are written out.
//!
//! Invariant: a loop is written out at most so many times as [`MOST_TURNS`].

use crate::call::{self, Call};
use crate::error::{file, operator};
use girih_base::diag::Diagnostic;
use girih_tensor::{Made, NodeId, Op};

type Given = Made<Vec<NodeId>>;

/// The most times that a loop is written out.
pub const MOST_TURNS: i64 = 10_000;

/// The error for a loop of more turns.
fn too_long() -> Diagnostic {
    operator(format!("a loop has more than {MOST_TURNS} turns"))
        .hint("give it fewer turns, and run the model again on what it gives")
}

pub fn choice(call: &mut Call<'_, '_>) -> Given {
    let holds = call.single_int(0)? != 0;
    let graph = call.subgraph(if holds { "then_branch" } else { "else_branch" })?;
    call.importer.subgraph(graph, &[])
}

/// What the turns of a loop give, one after the other, in a new dimension.
fn stacked(call: &mut Call<'_, '_>, turns: &[NodeId], axis: usize) -> Made<NodeId> {
    let mut slices = vec![];
    for turn in turns {
        let mut lengths = call.lengths(*turn);
        if axis > lengths.len() {
            return Err(operator(format!("it puts results along axis {axis} of {} dimensions", lengths.len() + 1)));
        }
        lengths.insert(axis, 1);
        slices.push(call.shaped(*turn, &lengths)?);
    }
    if slices.is_empty() {
        return Err(operator("a loop without a turn has results whose shape nobody knows"));
    }
    call.at_axis(Op::Concat, &slices, axis)
}

pub fn repeat(call: &mut Call<'_, '_>) -> Given {
    let body = call.subgraph("body")?;
    let most = call.optional_int(0)?.unwrap_or(i64::MAX);
    let mut goes_on = call.optional_int(1)?.is_none_or(|holds| holds != 0);
    let mut carried = (2..call.inputs.len()).map(|number| call.input(number)).collect::<Made<Vec<NodeId>>>()?;
    let scans =
        body.output.len().checked_sub(1 + carried.len()).ok_or_else(|| file("its body gives too few results"))?;
    let mut turns: Vec<Vec<NodeId>> = vec![vec![]; scans];
    let mut turn = 0;
    while goes_on && turn < most {
        if turn == MOST_TURNS {
            return Err(too_long());
        }
        let (number, condition) = (call.integers_of(&[], [turn])?, call.one(girih_ir::Scalar::Bool, 1.0)?);
        let given = [&[number, condition], &carried[..]].concat();
        let results = call.importer.subgraph(body, &given)?;
        carried = results[1..=carried.len()].to_vec();
        results[1 + carried.len()..].iter().zip(&mut turns).for_each(|(result, turns)| turns.push(*result));
        turn += 1;
        // Whether it goes on matters only where another turn could follow.
        if turn < most {
            goes_on = call.integers(results[0])?.first().is_some_and(|holds| *holds != 0);
        }
    }
    let mut given = carried;
    for turns in turns {
        given.push(stacked(call, &turns, 0)?);
    }
    Ok(given)
}

pub fn scan(call: &mut Call<'_, '_>) -> Given {
    let body = call.subgraph("body")?;
    if call.version < 9 {
        return Err(operator("versions before 9, which have a dimension for batches, are not there"));
    }
    let scanned = call.int("num_scan_inputs", 0)?.max(0) as usize;
    let inputs = call.all()?;
    let Some(states) = inputs.len().checked_sub(scanned) else { return Err(file("it scans more inputs than it has")) };
    let list = |call: &Call<'_, '_>, name: &str, count: usize| -> Made<Vec<i64>> {
        Ok(call.ints(name)?.filter(|all| all.len() == count).unwrap_or_else(|| vec![0; count]))
    };
    let (axes, back) = (list(call, "scan_input_axes", scanned)?, list(call, "scan_input_directions", scanned)?);
    let mut carried = inputs[..states].to_vec();
    let results = body.output.len().checked_sub(states).ok_or_else(|| file("its body gives too few results"))?;
    let mut sources = vec![];
    for (number, node) in inputs[states..].iter().enumerate() {
        sources.push((*node, call::axis(axes[number], call.rank(*node))?, back[number] == 1));
    }
    let length = sources.first().map_or(0, |(node, axis, _)| call.shape(*node).length(*axis));
    if length > MOST_TURNS as u64 {
        return Err(too_long());
    }
    let mut turns: Vec<Vec<NodeId>> = vec![vec![]; results];
    for turn in 0..length {
        let mut given = carried.clone();
        for (node, axis, back) in &sources {
            let at = if *back { length - 1 - turn } else { turn };
            let slice = call.part(*node, *axis, at, at + 1)?;
            let shape = call.shape(slice).without(&[*axis as u64]);
            given.push(call.reshape(slice, &shape)?);
        }
        let found = call.importer.subgraph(body, &given)?;
        carried = found[..states].to_vec();
        found[states..].iter().zip(&mut turns).for_each(|(result, turns)| turns.push(*result));
    }
    let (axes, back) = (list(call, "scan_output_axes", results)?, list(call, "scan_output_directions", results)?);
    let mut given = carried;
    for (number, mut turns) in turns.into_iter().enumerate() {
        if back[number] == 1 {
            turns.reverse();
        }
        let rank = turns.first().map_or(1, |turn| call.rank(*turn) + 1);
        let axis = call::axis(axes[number], rank)?;
        given.push(stacked(call, &turns, axis)?);
    }
    Ok(given)
}

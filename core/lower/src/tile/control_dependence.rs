//! What the lowering has to know about a kernel besides layouts: the numbers on which control flow depends, the buffers that are both written and
//! otherwise accessed, and which values are used at all.

use girih_base::idx::IndexVec;
use girih_ir::groups::{not_control, not_of_tiles, other_control};
use girih_ir::{Def, Function, Op, ValueId};

/// The numbers on which it depends where control goes.
pub(super) fn control_dependent(f: &Function) -> IndexVec<ValueId, bool> {
    let mut marked: IndexVec<ValueId, bool> = f.values.iter().map(|_| false).collect();
    let mut todo = vec![];
    let sources = sources(f);
    f.walk(f.body, &mut |_, inst| {
        if inst.op.decides_control() {
            todo.push(inst.operands[0]);
        }
    });
    while let Some(value) = todo.pop() {
        if std::mem::replace(&mut marked[value], true) {
            continue;
        }
        todo.extend(&sources[value]);
        if let Def::Result(id, _) = f.values[value].def {
            let inst = &f.insts[id];
            // What comes out of tiles is made the same for all where it comes out.
            if f.ty(value).shape().is_none() && inst.regions.is_empty() {
                todo.extend(inst.operands.iter().filter(|v| f.ty(**v).shape().is_none()));
            }
        }
    }
    marked
}

/// What region parameters and the results of branches and loops are made of.
pub(super) fn sources(f: &Function) -> IndexVec<ValueId, Vec<ValueId>> {
    let mut sources: IndexVec<ValueId, Vec<ValueId>> = f.values.iter().map(|_| vec![]).collect();
    collect(f, f.body, &mut vec![], &mut sources);
    sources
}

/// The results of the constructs around a jump: of a branch, or parameters and results of a loop.
type Around = (bool, Vec<ValueId>, Vec<ValueId>);

fn collect(
    f: &Function,
    region: girih_ir::RegionId,
    around: &mut Vec<Around>,
    sources: &mut IndexVec<ValueId, Vec<ValueId>>,
) {
    for id in &f.regions[region].insts {
        let inst = &f.insts[*id];
        let innermost = |around: &Vec<Around>| around.iter().rev().find(|a| a.0).cloned().unwrap_or_default();
        let mut link = |to: &[ValueId], from: &[ValueId]| {
            to.iter().zip(from).for_each(|(to, from)| sources[*to].push(*from));
        };
        match inst.op {
            Op::If | Op::Switch => {
                around.push((false, vec![], inst.results.to_vec()));
                inst.regions.iter().for_each(|r| collect(f, *r, around, sources));
                around.pop();
            }
            Op::Loop => {
                let params = f.regions[inst.regions[0]].params.clone();
                link(&params, &inst.operands);
                around.push((true, params, inst.results.to_vec()));
                collect(f, inst.regions[0], around, sources);
                around.pop();
            }
            Op::Yield => {
                if let Some((_, _, results)) = around.last() {
                    link(results, &inst.operands);
                }
            }
            Op::Break => link(&innermost(around).2, &inst.operands),
            Op::Continue => link(&innermost(around).1, &inst.operands),
            Op::While => {
                let (_, params, results) = innermost(around);
                link(&params, &inst.operands[1..]);
                link(&results, &params);
            }
            not_control!() | other_control!() => {}
        }
    }
}

/// Buffers that one access writes and another one reaches. Two buffers of a kernel are taken for two, as Triton does.
pub(super) fn written_and_read(f: &Function) -> Vec<ValueId> {
    let mut accesses: Vec<(ValueId, u32, bool)> = vec![];
    f.walk(f.body, &mut |_, inst| {
        let write = match inst.op {
            Op::TileLoad => false,
            Op::TileStore | Op::TileAtomic | Op::TileCompareExchange => true,
            Op::TileIota
            | Op::TileSplat
            | Op::TileBroadcast
            | Op::TileReshape
            | Op::TilePermute
            | Op::TileJoin
            | Op::TileSplit
            | Op::TileCat
            | Op::TileGather
            | Op::TileHistogram
            | Op::TileMap
            | Op::TileReduce
            | Op::TileScan
            | Op::TileDot
            | Op::TileHint
            | Op::TileAssume
            | Op::TilePrint
            | Op::TileAssert
            | not_of_tiles!() => return,
        };
        let handle = inst.operands[0];
        match accesses.iter_mut().find(|a| a.0 == handle) {
            Some(known) => *known = (handle, known.1 + 1, known.2 | write),
            None => accesses.push((handle, 1, write)),
        }
    });
    accesses.into_iter().filter(|(_, count, write)| *count > 1 && *write).map(|(handle, ..)| handle).collect()
}

/// Which values are operands of something.
pub(super) fn used(f: &Function) -> IndexVec<ValueId, bool> {
    let mut used: IndexVec<ValueId, bool> = f.values.iter().map(|_| false).collect();
    f.walk(f.body, &mut |_, inst| inst.operands.iter().for_each(|v| used[*v] = true));
    used
}

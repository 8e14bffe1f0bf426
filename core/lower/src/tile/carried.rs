//! Loops that move a tile of indices by the same amount each time carry the amount instead: one number in place of a tile.
//!
//! `p = loop (p = first) { .. continue (add p, splat s) }` becomes a loop that carries a number c, which starts as 0, where p is
//! `add first, splat c`. So everything known about the first indices is known about all of them, and they need no registers across iterations.

use girih_ir::groups::{not_control, other_control};
use girih_ir::{Def, Function, Inst, InstId, Op, RegionId, Type, Value, ValueId};

/// Rewrites the loops of a kernel.
pub(super) fn run(f: &mut Function) {
    region(f, f.body);
}

fn region(f: &mut Function, id: RegionId) {
    for inst in f.regions[id].insts.clone() {
        let inner = f.insts[inst].regions.clone();
        inner.iter().for_each(|r| region(f, *r));
        if f.insts[inst].op == Op::Loop {
            loop_(f, inst);
        }
    }
}

/// The instructions that go on with a loop's next iteration, and whether one of them is no plain `continue`.
fn jumps(f: &Function, region: RegionId, out: &mut Vec<(RegionId, InstId)>) -> bool {
    let mut plain = true;
    for id in &f.regions[region].insts {
        let inst = &f.insts[*id];
        match inst.op {
            Op::Continue => out.push((region, *id)),
            Op::While => plain = false,
            Op::If | Op::Switch => plain &= inst.regions.iter().all(|r| jumps(f, *r, out)),
            // A loop within keeps its own jumps.
            Op::Loop | Op::Yield | Op::Break | not_control!() | other_control!() => {}
        }
    }
    plain
}

fn loop_(f: &mut Function, id: InstId) {
    let body = f.insts[id].regions[0];
    let mut continues = vec![];
    if !jumps(f, body, &mut continues) {
        return;
    }
    for slot in 0..f.regions[body].params.len() {
        let param = f.regions[body].params[slot];
        let Type::Tile(tile) = f.ty(param) else { continue };
        if !tile.element.is_integer() {
            continue;
        }
        let steps: Option<Vec<(RegionId, InstId, ValueId)>> = continues
            .iter()
            .map(|(r, jump)| step(f, param, f.insts[*jump].operands[slot]).map(|by| (*r, *jump, by)))
            .collect();
        let Some(steps) = steps.filter(|steps| !steps.is_empty()) else { continue };
        let ty = Type::Scalar(tile.element);
        let moved = f.values.push(Value { ty, def: Def::Argument(body, slot as u32), name: None });
        f.regions[body].params[slot] = moved;
        let first = std::mem::replace(&mut f.insts[id].operands[slot], ValueId::new(0));
        let zero = f.constant(ty, 0);
        f.insts[id].operands[slot] = zero;
        let span = f.insts[id].span;
        let distributed = Inst::new(Op::TileSplat, Some(Type::Tile(tile)), &[moved], span);
        let distributed = put(f, distributed, Type::Tile(tile), body, 0);
        let sum = Inst::new(Op::Add, Some(Type::Tile(tile)), &[first, distributed], span);
        let inst = f.insts.push(sum);
        f.insts[inst].results.push(param);
        f.values[param].def = Def::Result(inst, 0);
        f.regions[body].insts.insert(1, inst);
        for (r, jump, by) in steps {
            let sum = Inst::new(Op::Add, Some(ty), &[moved, by], span);
            let before = f.regions[r].insts.len() - 1;
            let next = put(f, sum, ty, r, before);
            f.insts[jump].operands[slot] = next;
        }
    }
}

/// Puts an instruction of one result into a region.
fn put(f: &mut Function, inst: Inst, ty: Type, region: RegionId, at: usize) -> ValueId {
    let id = f.insts.push(inst);
    let value = f.values.push(Value { ty, def: Def::Result(id, 0), name: None });
    f.insts[id].results.push(value);
    f.regions[region].insts.insert(at, id);
    value
}

/// The number by which a value is more than the parameter everywhere.
fn step(f: &Function, param: ValueId, value: ValueId) -> Option<ValueId> {
    let Def::Result(id, _) = f.values[value].def else { return None };
    let inst = &f.insts[id];
    if inst.op != Op::Add {
        return None;
    }
    let splat = |v: ValueId| match f.values[v].def {
        Def::Result(id, _) if f.insts[id].op == Op::TileSplat => Some(f.insts[id].operands[0]),
        _no_splat => None,
    };
    let (a, b) = (inst.operands[0], inst.operands[1]);
    match (a == param, b == param) {
        (true, _) => splat(b),
        (false, true) => splat(a),
        (false, false) => None,
    }
}

//! Factors of eight-bit floats become `f16` where a matrix unit takes those: all of their numbers are numbers of `f16`, so products are the same.

use girih_ir::{Caps, Def, Feature, Function, Inst, Op, RegionId, Scalar, Type, Value, ValueId};

/// Rewrites the products of a kernel.
pub(super) fn run(f: &mut Function, caps: &Caps) {
    let unit = caps.coop.iter().any(|p| (p.factor, p.acc) == (Scalar::F16, Scalar::F32));
    if unit || caps.has(Feature::Wgmma) {
        region(f, f.body);
    }
}

fn region(f: &mut Function, id: RegionId) {
    let mut at = 0;
    while at < f.regions[id].insts.len() {
        let inst = f.regions[id].insts[at];
        f.insts[inst].regions.clone().iter().for_each(|r| region(f, *r));
        let operands = f.insts[inst].operands.clone();
        let floats = f.insts[inst].op == Op::TileDot && f.insts[inst].element() == Scalar::F32;
        for (i, value) in operands.into_iter().enumerate().take(if floats { 2 } else { 0 }) {
            if let Type::Tile(tile) = f.ty(value)
                && matches!(tile.element, Scalar::F8E4M3 | Scalar::F8E5M2)
            {
                f.insts[inst].operands[i] = converted(f, value, id, at);
                at += 1;
            }
        }
        at += 1;
    }
}

/// A tile as `f16`, made right before a place of a region.
fn converted(f: &mut Function, value: ValueId, region: RegionId, at: usize) -> ValueId {
    let (ty, span) = (f.ty(value).with_element(Scalar::F16), f.span_of(value));
    let id = f.insts.push(Inst::new(Op::Convert, Some(ty), &[value], span));
    let result = f.values.push(Value { ty, def: Def::Result(id, 0), name: None });
    f.insts[id].results.push(result);
    f.regions[region].insts.insert(at, id);
    result
}

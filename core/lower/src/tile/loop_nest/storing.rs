//! Which tiles have arrays.
//!
//! A tile that is used once is computed by its user, element by element, if the user asks for each element once. A tile that is used more often is computed
//! by all of its users if that costs next to nothing, and otherwise kept in an array.

use super::{LoopNest, is_tile};
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_ir::groups::{
    aggregates, approximations, bits, compares, conversions, counts, library, not_arithmetic, of_kernels,
    plain_arithmetic,
};
use girih_ir::{AttrKind, Def, Function, Inst, InstId, Op, RegionId, ValueId};

/// Where values are used and defined.
#[derive(Debug)]
pub(super) struct Uses {
    of: IndexVec<ValueId, Vec<(InstId, RegionId)>>,
    home: FastMap<InstId, RegionId>,
}

impl Uses {
    pub fn of(function: &Function) -> Uses {
        let of = function.values.iter().map(|_| vec![]).collect();
        let mut uses = Uses { of, home: FastMap::default() };
        uses.region(function, function.body);
        uses
    }

    fn region(&mut self, function: &Function, region: RegionId) {
        for id in &function.regions[region].insts {
            let inst = &function.insts[*id];
            self.home.insert(*id, region);
            for operand in &inst.operands {
                self.of[*operand].push((*id, region));
            }
            inst.regions.iter().for_each(|inner| self.region(function, *inner));
        }
    }
}

/// What a value may cost and still be computed by each of its users.
const CHEAP: u32 = 2;
/// What a load costs.
const LOAD: u32 = 8;
/// How far behind a value its uses are looked at.
const PLACES: u32 = 8;

impl LoopNest<'_> {
    /// Whether a load may happen where its value is used: once, in the same region.
    pub(super) fn may_wait(&self, f: &Function, inst: &Inst) -> bool {
        let result = inst.results[0];
        is_tile(f, result) && !inst.has(AttrKind::Volatile) && self.is_for_one(f, result)
    }

    /// Whether a value has one user, in its own region, that takes each element once.
    fn is_for_one(&self, f: &Function, value: ValueId) -> bool {
        let Def::Result(own, _) = f.values[value].def else { return false };
        let [(user, region)] = self.uses.of[value][..] else { return self.uses.of[value].is_empty() };
        let user = &f.insts[user];
        let repeats = matches!(user.op, Op::TileBroadcast | Op::TileGather | Op::TilePermute)
            || user.results.len() > 1 && matches!(user.op, Op::TileSplit | Op::TileMap)
            || user.op == Op::TileDot && user.operands.last() != Some(&value);
        self.uses.home.get(&own) == Some(&region) && !repeats
    }

    /// Whether an instruction may change the array of a value that the loop around it carries: nothing else reads that value but jumps out of the loop
    /// before it.
    pub(super) fn takes_over(&self, f: &Function, inst: &Inst, carried: ValueId) -> bool {
        let (Def::Argument(body, _), Def::Result(own, _)) = (f.values[carried].def, f.values[inst.results[0]].def)
        else {
            return false;
        };
        // `while` ends a loop with what it carried into the iteration.
        let mut goes_on = f.terminator(body).is_some_and(|last| last.op == Op::Continue);
        f.walk(body, &mut |_, inst| goes_on &= inst.op != Op::While);
        if self.uses.home.get(&own) != Some(&body) || !goes_on {
            return false;
        }
        let mut left_before = vec![];
        for id in f.regions[body].insts.iter().take_while(|id| **id != own) {
            for region in &f.insts[*id].regions {
                f.walk(*region, &mut |id, inst| left_before.extend((inst.op == Op::Break).then_some(id)));
            }
        }
        let (here, elsewhere): (Vec<InstId>, Vec<InstId>) =
            self.uses.of[carried].iter().map(|(user, _)| *user).partition(|user| *user == own);
        here.len() == 1 && elsewhere.iter().all(|user| left_before.contains(user))
    }

    /// Whether the results of an instruction that is computed element by element are kept in arrays.
    pub(super) fn is_worth_an_array(&self, f: &Function, inst: &Inst) -> bool {
        inst.results.iter().any(|v| {
            let most = || if self.only_places(f, *v, PLACES) { LOAD - 1 } else { CHEAP };
            is_tile(f, *v) && !self.is_for_one(f, *v) && self.cost(f, *v) > most()
        })
    }

    /// Whether a value only says where buffers are accessed, or whether: one element in four is asked for then, and what is the same along a row is computed once
    /// for the row.
    fn only_places(&self, f: &Function, value: ValueId, depth: u32) -> bool {
        let places = |user: &Inst| match user.op {
            Op::TileLoad => user.operands[1..3].contains(&value),
            Op::TileStore => user.operands[2] != value,
            Op::Add | Op::Mul | Op::Convert | Op::And | Op::Lt | Op::TileBroadcast | Op::TileReshape | Op::TileHint => {
                self.only_places(f, user.results[0], depth - 1)
            }
            _no_rule => false,
        };
        depth > 0 && self.uses.of[value].iter().all(|(user, _)| places(&f.insts[*user]))
    }

    /// What it costs to compute an element.
    fn cost(&self, f: &Function, value: ValueId) -> u32 {
        if !is_tile(f, value) {
            return 0;
        }
        let Def::Result(id, _) = f.values[value].def else { return 0 };
        if self.arrays.contains_key(&value) {
            return 0;
        }
        let inst = &f.insts[id];
        let own = match inst.op {
            Op::TileIota | Op::TileSplat | Op::TileBroadcast | Op::TileReshape | Op::TileHint | Op::TilePermute => 0,
            Op::TileJoin | Op::TileSplit => 1,
            Op::TileLoad | Op::TileGather | Op::TileMap => LOAD,
            conversions!()
            | compares!()
            | plain_arithmetic!()
            | bits!()
            | Op::Shl
            | Op::Shr
            | Op::Neg
            | Op::Abs
            | Op::Mad => 1,
            library!() | approximations!() | Op::Div | Op::Rem | Op::Sqrt | Op::Fma | counts!() | Op::MulHi => LOAD,
            Op::Floor | Op::Ceil | Op::Round | Op::Trunc => 2,
            aggregates!() | not_arithmetic!() | of_kernels!() => LOAD,
        };
        if own >= LOAD {
            return own;
        }
        // What is expensive has an array, so this does not go deep.
        inst.operands.iter().fold(own, |sum, operand| sum.saturating_add(self.cost(f, *operand)).min(LOAD))
    }
}

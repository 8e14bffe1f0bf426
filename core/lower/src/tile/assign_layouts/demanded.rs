//! The second walk, from the end: the layouts in which each tile is wanted.

use super::super::layout::bits_of;
use super::super::region_exits::{RegionExit, targets};
use super::{Assign, LayoutId, is_elementwise, view};
use girih_ir::groups::{jumps, not_control, not_of_tiles, other_control};
use girih_ir::ops::Family;
use girih_ir::{Def, Inst, InstId, Op, RegionId, ValueId};

impl Assign<'_> {
    fn want(&mut self, value: ValueId, layout: LayoutId) {
        // Fragments are made of one number, or of elements that are there.
        let repeated = matches!(self.f.values[value].def, Def::Result(id, _) if self.f.insts[id].op == Op::TileSplat);
        let made = repeated || self.plan.home[value].is_some();
        let layout = if made { layout } else { self.plan.shown(layout) };
        if self.shape(value).is_some() && !self.plan.demands[value].contains(&layout) {
            self.plan.demands[value].push(layout);
        }
    }

    fn want_home(&mut self, value: ValueId, to: ValueId) {
        if let Some(layout) = self.plan.home[to] {
            self.want(value, layout);
        }
    }

    /// Collects the demands of a region.
    pub(super) fn wants(&mut self, region: RegionId) {
        let f = self.f;
        for id in f.regions[region].insts.iter().rev() {
            let inst = &f.insts[*id];
            match inst.op {
                Op::Loop => {
                    let params = f.regions[inst.regions[0]].params.clone();
                    for (param, initial) in params.iter().zip(&inst.operands) {
                        self.want_home(*initial, *param);
                    }
                    let results = inst.results.to_vec();
                    self.enclosing.push(RegionExit::Loop { params, results, carries_all: true });
                    self.wants(inst.regions[0]);
                    self.enclosing.pop();
                }
                Op::If | Op::Switch => {
                    self.enclosing.push(RegionExit::Branch(inst.results.to_vec()));
                    inst.regions.iter().rev().for_each(|r| self.wants(*r));
                    self.enclosing.pop();
                }
                jumps!() => {
                    for (value, to) in targets(&self.enclosing, inst).unwrap_or_default() {
                        // Nothing is carried out for nobody.
                        if inst.op != Op::Break || self.uses.is_used(to) {
                            self.want_home(value, to);
                        }
                    }
                }
                not_control!() | other_control!() => self.wants_of(*id, inst),
            }
        }
    }

    fn wants_of(&mut self, id: InstId, inst: &Inst) {
        let f = self.f;
        // An operation on elements whose layouts are all known.
        let all = |s: &mut Self, layout: LayoutId| inst.operands.iter().for_each(|v| s.want(*v, layout));
        if let Some(back) = view(f, inst) {
            for layout in self.plan.demands[inst.results[0]].clone() {
                let from = self.plan.renamed(layout, &*back);
                self.want(inst.operands[0], from);
            }
            return;
        }
        let unwanted = inst.results.iter().all(|v| self.shape(*v).is_some() && self.plan.demands[*v].is_empty());
        if unwanted && inst.op.row().family == Family::Tile && inst.op.only_gives_results() {
            return;
        }
        match inst.op {
            Op::TileStore | Op::TileAtomic | Op::TileCompareExchange => all(self, self.plan.access[&id]),
            Op::TileAssert | Op::TileAssume | Op::TilePrint => {
                for operand in &inst.operands {
                    let layout = self.suggested(*operand).unwrap_or_else(|| self.usual(self.shape(*operand)));
                    self.want(*operand, layout);
                }
            }
            Op::TileLoad | Op::TileReduce | Op::TileScan => all(self, self.plan.access[&id]),
            Op::TileGather | Op::TileHistogram => {
                let tile = inst.operands[0];
                let from = self.suggested(tile).unwrap_or_else(|| self.usual(self.shape(tile)));
                self.plan.sources.insert(id, from);
                self.want(tile, from);
                let beside = if inst.op == Op::TileGather { self.plan.access[&id] } else { from };
                self.want(inst.operands[1], beside);
            }
            Op::TileDot => {
                let made = self.plan.products[&id].clone();
                self.want(inst.operands[0], made.left);
                self.want(inst.operands[1], made.right);
                self.want(inst.operands[2], made.sums);
            }
            Op::TileJoin => {
                if let Some(layout) = self.plan.home[inst.results[0]] {
                    let half = self.plan.layouts[layout].renamed(&|bit| bit.checked_sub(1));
                    let half = self.plan.id(half);
                    all(self, half);
                }
            }
            Op::TileSplit => {
                if let Some(layout) = self.plan.home[inst.results[0]] {
                    let both = self.joined(layout);
                    all(self, both);
                }
            }
            Op::TileCat => {
                if let Some(layout) = self.plan.home[inst.results[0]] {
                    let bits = bits_of(self.shape(inst.operands[0]));
                    let half = self.plan.renamed(layout, &move |bit| (bit < bits).then_some(bit));
                    all(self, half);
                }
            }
            Op::TileMap | not_of_tiles!() if is_elementwise(inst) => {
                let home = inst.results.iter().find_map(|v| self.plan.home[*v]);
                let wanted = match home {
                    Some(home) if inst.results.iter().any(|v| !self.plan.demands[*v].is_empty()) => vec![home],
                    Some(_) => vec![],
                    None => inst.results.iter().flat_map(|v| self.plan.demands[*v].clone()).collect(),
                };
                wanted.into_iter().for_each(|layout| all(self, layout));
            }
            Op::TileIota
            | Op::TileSplat
            | Op::TileBroadcast
            | Op::TileReshape
            | Op::TilePermute
            | Op::TileMap
            | Op::TileHint
            | not_of_tiles!() => {}
        }
    }
}

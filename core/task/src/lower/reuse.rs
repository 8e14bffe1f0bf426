//! Reuse tokens: the memory of cells that were taken apart, from which the next ones are made; and the tokens that the arms of a choice leave.
//!
//! Invariant: each reuse token at hand is filled, given to a choice's end, or freed exactly once on every path.

use super::represent::{Held, Repr};
use super::writer::{State, TermWriter};
use girih_ir::heap::{LayoutId, host_units};
use girih_ir::{Inst, Op, RegionId, Type, ValueId};
use girih_term::LocalId;
use std::iter::repeat_n;

/// Memory of a cell that has been opened, for the next cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReuseToken {
    pub(super) value: ValueId,
    /// The layout of the cell that it was.
    pub(super) layout: LayoutId,
    /// How large it is, as runners on the host count it.
    pub(super) units: u32,
}

/// Most reuse tokens that a choice gives out of its arms.
const MOST: usize = 6;

/// An arm of a choice that goes on behind it.
pub(super) struct End {
    region: RegionId,
    values: Vec<ValueId>,
    state: State,
}

impl TermWriter<'_, '_> {
    /// A new cell, in a reuse token if one is at hand that is large enough.
    pub(super) fn new_cell(&mut self, layout: LayoutId, fields: &[ValueId]) -> ValueId {
        let like = self.state.reuse.iter().position(|token| token.layout == layout);
        let units = host_units(fields.len());
        match like.or_else(|| self.state.reuse.iter().position(|token| token.units == units)) {
            Some(at) => {
                let token = self.state.reuse.remove(at);
                self.b.cell_fill(layout, token.value, fields)
            }
            None => self.b.cell_new(layout, fields),
        }
    }
    /// Gives all reuse tokens back but the first `kept`.
    pub(super) fn free_reuse_tokens(&mut self, kept: usize) {
        while self.state.reuse.len() > kept {
            if let Some(token) = self.state.reuse.pop() {
                self.b.cell_free(token.value);
            }
        }
    }

    /// Writes an arm that gives values, whose end follows when all arms are known.
    pub(super) fn arm_of(
        &mut self,
        region: RegionId,
        reprs: &[Repr],
        arm: impl FnOnce(&mut Self) -> Option<Vec<Held>>,
    ) -> Option<End> {
        self.within(region, |w| {
            let given = arm(w)?;
            let values = given.into_iter().zip(reprs).map(|(value, repr)| w.hold(value, *repr)).collect();
            Some(End { region, values, state: std::mem::take(&mut w.state) })
        })
    }

    /// Ends the arms of a choice, which began with the state `before`, and gives its values. A reuse token that some arm has left is at hand behind the
    /// choice; other arms give one that is none. A variable that lives on stands in another word behind it if some arm has shared it.
    pub(super) fn joined(&mut self, inst: Inst, reprs: &[Repr], before: State, ends: Vec<End>) -> Vec<Held> {
        let first = ends.first().map_or(vec![], |end| end.state.reuse.clone());
        let untouched: Vec<ReuseToken> =
            first.into_iter().filter(|token| ends.iter().all(|end| end.state.reuse.contains(token))).collect();
        let own = |end: &End| end.state.reuse.iter().copied().filter(|token| !untouched.contains(token)).collect();
        let mut left: Vec<Vec<ReuseToken>> = ends.iter().map(own).collect();
        let mut given: Vec<(ReuseToken, Vec<Option<ReuseToken>>)> = vec![];
        while let Some(first) = left.iter().find_map(|reuse| reuse.first().copied()).filter(|_| given.len() < MOST) {
            let mut alike = |reuse: &mut Vec<ReuseToken>| {
                let same = reuse.iter().position(|token| token.layout == first.layout);
                let at = same.or_else(|| reuse.iter().position(|token| token.units == first.units))?;
                Some(reuse.remove(at))
            };
            given.push((first, left.iter_mut().map(&mut alike).collect()));
        }
        self.state = before;
        self.state.reuse = untouched;
        self.state.spent.extend(ends.iter().flat_map(|end| &end.state.spent));
        let shared = self.shared_in(&ends);
        for (i, End { region, mut values, state }) in ends.into_iter().enumerate() {
            self.within(region, |w| {
                left[i].iter().for_each(|token| w.b.cell_free(token.value));
                values.extend(shared.iter().map(|local| state.variables[local].id));
                for (_, reuse) in &given {
                    values.push(reuse[i].map_or_else(|| w.b.no_reuse_token(), |token| token.value));
                }
                w.b.end(Op::Yield, &values);
            });
        }
        let words = shared.len() + given.len();
        let types: Vec<Type> = reprs.iter().map(|repr| repr.ty()).chain(repeat_n(Type::Term, words)).collect();
        let id = self.b.push(inst, &types);
        let results = self.b.function.insts[id].results.clone();
        let (values, words) = results.split_at(reprs.len());
        let (variables, reuse) = words.split_at(shared.len());
        for (local, word) in shared.into_iter().zip(variables) {
            self.rebind(local, Held { id: *word, repr: Repr::Term });
        }
        let reuse = given.iter().zip(reuse).map(|((first, _), value)| ReuseToken { value: *value, ..*first });
        self.state.reuse.extend(reuse);
        values.iter().zip(reprs).map(|(id, repr)| Held { id: *id, repr: *repr }).collect()
    }

    /// The variables that live on behind a choice, and that stand in another word at the end of some arm than before it.
    fn shared_in(&self, ends: &[End]) -> Vec<LocalId> {
        let State { variables, spent, .. } = &self.state;
        let is_shared = |(local, held): &(&LocalId, &Held)| {
            let lives = !spent.contains(local) && !self.is_lent(**local);
            lives && ends.iter().any(|end| end.state.variables[local].id != held.id)
        };
        let mut shared: Vec<LocalId> = variables.iter().filter(is_shared).map(|(local, _)| *local).collect();
        shared.sort_unstable();
        shared
    }
}

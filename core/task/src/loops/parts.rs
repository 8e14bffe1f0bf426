//! What ends up in a function's result by *one* operation alone: `x` and `x + 1` in `if c: x + 1 else: x`.
//!
//! Invariant: on each path from where such a value is defined to the end, it is used exactly once: by the operation, by an arm that gives it, or by what
//! ends the path. So the operation's other operands can be put together in another order, wherever they are found, if the operation is associative and
//! commutative.

use girih_ir::{Def, Function, Inst, InstId, Op, RegionId, Scalar, Type, ValueId};
use std::collections::{HashMap, HashSet};

/// Where a function's instructions stand, and where its values are used.
pub(crate) struct Places<'m> {
    function: &'m Function,
    region: HashMap<InstId, RegionId>,
    around: HashMap<RegionId, InstId>,
    uses: HashMap<ValueId, Vec<(InstId, usize)>>,
}

/// How the values are looked for.
pub(crate) struct Search<'a> {
    /// The operations that count.
    pub is_op: fn(Op) -> bool,
    /// The type of what is put together.
    pub ty: Scalar,
    /// The position at which `continue` takes it on, if a loop carries it.
    pub carried: Option<usize>,
    /// The position at which it ends the function, if that matters.
    pub given: Option<usize>,
    /// Instructions whose uses do not count: how a loop's last value is used.
    pub ignored: &'a HashSet<InstId>,
}

impl<'m> Places<'m> {
    pub fn of(function: &'m Function) -> Places<'m> {
        let (region, around, uses) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut places = Places { function, region, around, uses };
        places.visit(function.body);
        places
    }

    fn visit(&mut self, region: RegionId) {
        let function = self.function;
        for id in &function.regions[region].insts {
            self.region.insert(*id, region);
            let inst = &function.insts[*id];
            for (i, operand) in inst.operands.iter().enumerate() {
                self.uses.entry(*operand).or_default().push((*id, i));
            }
            for inner in &inst.regions {
                self.around.insert(*inner, *id);
                self.visit(*inner);
            }
        }
    }

    /// All instructions.
    pub fn insts(&self) -> impl Iterator<Item = &'m Inst> {
        self.region.keys().map(|id| &self.function.insts[*id])
    }

    /// Where a value is used, and as which operand.
    pub fn uses(&self, value: ValueId) -> impl Iterator<Item = (InstId, usize)> {
        self.uses.get(&value).into_iter().flatten().copied()
    }

    /// The values that `starts` become part of, they among them; `None` if one is used for anything else, or with another operation than `found`, which
    /// becomes the first one that is met.
    pub fn parts(&self, starts: &[ValueId], search: &Search<'_>, found: &mut Option<Op>) -> Option<HashSet<ValueId>> {
        let (mut parts, mut next) = (HashSet::new(), starts.to_vec());
        while let Some(value) = next.pop() {
            if parts.insert(value) {
                self.is_used_once(value, search).then_some(())?;
                for (user, position) in self.uses(value) {
                    if !search.ignored.contains(&user) {
                        next.extend(self.becomes((user, position), search, found)?);
                    }
                }
            }
        }
        Some(parts)
    }

    /// What a part that is used here becomes part of: `Some(None)` at the end.
    fn becomes(
        &self,
        (user, position): (InstId, usize),
        search: &Search<'_>,
        found: &mut Option<Op>,
    ) -> Option<Option<ValueId>> {
        let inst = &self.function.insts[user];
        let is_op = (search.is_op)(inst.op)
            && inst.ty == Some(Type::Scalar(search.ty))
            && found.is_none_or(|found| found == inst.op);
        match inst.op {
            Op::Return | Op::Break => search.given.is_none_or(|given| given == position).then_some(None),
            Op::Continue => (search.carried == Some(position)).then_some(None),
            Op::Yield => {
                let around = &self.function.insts[*self.around.get(self.region.get(&user)?)?];
                let is_choice = matches!(around.op, Op::If | Op::Switch);
                is_choice.then(|| around.results.get(position).copied())
            }
            _no_rule if is_op => {
                *found = Some(inst.op);
                Some(inst.results.first().copied())
            }
            _no_rule => None,
        }
    }

    fn is_used_once(&self, value: ValueId, search: &Search<'_>) -> bool {
        let (region, from) = match self.function.values[value].def {
            Def::Result(inst, _) => {
                let Some(region) = self.region.get(&inst) else { return false };
                let insts = &self.function.regions[*region].insts;
                (*region, insts.iter().position(|id| *id == inst).map_or(0, |at| at + 1))
            }
            Def::Argument(region, _) => (region, 0),
            Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) => return false,
        };
        match self.paths(value, region, from, 0, search) {
            Some(Way::Falls(uses)) => uses == 1,
            Some(Way::Ends) => true,
            None => false,
        }
    }

    /// How the paths through a region go on, each of which has used a value so often before; `None` if one ends without using it, or uses it again.
    fn paths(&self, value: ValueId, region: RegionId, from: usize, before: usize, search: &Search<'_>) -> Option<Way> {
        let mut uses = before;
        for id in &self.function.regions[region].insts[from..] {
            let inst = &self.function.insts[*id];
            if search.ignored.contains(id) {
                if inst.op == Op::Break {
                    return Some(Way::Ends);
                }
                continue;
            }
            uses += inst.operands.iter().filter(|operand| **operand == value).count();
            match inst.op {
                Op::Yield => return Some(Way::Falls(uses)),
                Op::Return | Op::Break | Op::Continue | Op::While | Op::Tail => {
                    return (uses == 1).then_some(Way::Ends);
                }
                Op::Loop => {
                    let mut is_inside = false;
                    self.function.walk(inst.regions[0], &mut |_, inst| is_inside |= inst.operands.contains(&value));
                    if is_inside {
                        return None;
                    }
                }
                _no_rule => {
                    let ways: Option<Vec<Way>> =
                        inst.regions.iter().map(|inner| self.paths(value, *inner, 0, uses, search)).collect();
                    let falls = ways?.into_iter().filter_map(|way| match way {
                        Way::Falls(uses) => Some(uses),
                        Way::Ends => None,
                    });
                    let falls: HashSet<usize> = falls.collect();
                    match (inst.regions.is_empty(), falls.len()) {
                        (true, _) => {}
                        (false, 0) => return Some(Way::Ends),
                        (false, 1) => uses = falls.into_iter().next().unwrap_or(uses),
                        (false, _) => return None,
                    }
                }
            }
            if uses > 1 {
                return None;
            }
        }
        Some(Way::Falls(uses))
    }
}

/// How paths through a region go on.
enum Way {
    /// Behind the region, with so many uses.
    Falls(usize),
    /// None of them does.
    Ends,
}

//! Code sinking: code that a loop runs only when it ends is moved behind the loop.
//!
//! Invocations that run in step leave a loop one after another. While one invocation runs the code before its `break`, all others wait, and
//! run the same code themselves some iterations later: the colour of one ray would be computed while other rays still look for what they hit. Behind the
//! loop, all invocations run this code together. So the loop gives the exit path that was taken and the values needed there, and a choice behind it does the rest.
//!
//! Invariant: nothing happens between `break` and the code after the loop, so the order of effects stays the same.

use super::control::loops;
use girih_base::hash::{FastMap, FastSet};
use girih_ir::groups::{not_control, other_control};
use girih_ir::{Builder, Def, Function, Inst, InstId, Op, RegionId, Type, Value, ValueId};

/// Instructions that are worth it; a call counts as many.
const LEAST: usize = 48;

/// Does behind each loop of a function what can be done there.
pub fn run(function: &mut Function) {
    let (name, span) = (function.name.clone(), function.span);
    let taken = std::mem::replace(function, Function::new(name, span));
    let loops = loops(&taken, taken.body);
    let mut b = Builder::new(taken);
    for (id, region) in loops {
        sink(&mut b, id, region);
    }
    *function = b.function;
}

/// How a loop is left.
#[derive(Default)]
struct Exits {
    /// Its `break`s, and the regions that they end.
    breaks: Vec<(InstId, RegionId)>,
    /// Regions that end with its `while`.
    whiles: Vec<RegionId>,
    /// Regions that end with a `break`, and the first instruction of what can be done behind the loop.
    late: Vec<(RegionId, usize)>,
}

impl Exits {
    fn look(&mut self, f: &Function, region: RegionId) {
        let insts = &f.regions[region].insts;
        let mut first = 0;
        for (i, id) in insts.iter().enumerate() {
            let inst = &f.insts[*id];
            match inst.op {
                Op::Break => self.breaks.push((*id, region)),
                Op::While => self.whiles.push(region),
                Op::If | Op::Switch => inst.regions.iter().for_each(|inner| self.look(f, *inner)),
                Op::Loop | Op::Yield | Op::Continue | not_control!() | other_control!() => {}
            }
            if i + 1 < insts.len() && jumps(f, inst, false) {
                first = i + 1;
            }
        }
        let ends = insts.last().is_some_and(|last| f.insts[*last].op == Op::Break);
        let weight: usize = insts[first..].iter().map(|id| weight(f, *id)).sum();
        if ends && weight >= LEAST {
            self.late.push((region, first));
        }
    }
}

/// Whether an instruction may end the loop or the function around it.
fn jumps(f: &Function, inst: &Inst, in_loop: bool) -> bool {
    let in_loop = in_loop || inst.op == Op::Loop;
    let within = inst.regions.iter().flat_map(|region| &f.regions[*region].insts);
    let mut within = within.map(|id| &f.insts[*id]);
    within.any(|inner| inner.op.ends_iteration() && !in_loop || inner.op.leaves_function() || jumps(f, inner, in_loop))
}

fn weight(f: &Function, id: InstId) -> usize {
    let inst = &f.insts[id];
    let own = if inst.op == Op::Call { LEAST } else { 1 };
    let within = inst.regions.iter().flat_map(|region| &f.regions[*region].insts);
    within.fold(own, |sum, inner| sum + weight(f, *inner))
}

/// An exit path, and what of it is done behind the loop.
struct Late {
    region: RegionId,
    insts: Vec<InstId>,
    /// What the loop gives on this path.
    gives: Vec<ValueId>,
    /// What is needed of the loop, and as which of the values that it gives besides.
    needs: Vec<(ValueId, usize)>,
}

fn sink(b: &mut Builder, id: InstId, parent: RegionId) {
    let body = b.function.insts[id].regions[0];
    let mut exits = Exits::default();
    exits.look(&b.function, body);
    let results = b.function.insts[id].results.clone();
    let types: Vec<Type> = results.iter().map(|v| b.ty(*v)).collect();
    if exits.late.is_empty() || !types.iter().all(|ty| is_plain(*ty)) {
        return;
    }
    let inside = defined(&b.function, body);
    let mut slots: Vec<Type> = vec![];
    let mut late = vec![];
    for (region, first) in exits.late {
        if let Some(found) = taken_out(&b.function, (region, first), &inside, &mut slots) {
            late.push(found);
        }
    }
    if late.is_empty() {
        return;
    }
    for region in exits.whiles {
        exits.breaks.push(without_while(b, region, body));
    }
    // The loop says by which exit path it was left; 0 is any other.
    for (leaves, region) in exits.breaks {
        let path = late
            .iter()
            .position(|late| late.region == region && b.function.regions[region].insts.last() == Some(&leaves));
        let mut gives: Vec<ValueId> = match path {
            Some(_) => types.iter().map(|ty| b.zero(*ty)).collect(),
            None => b.function.insts[leaves].operands.to_vec(),
        };
        gives.push(b.u32(path.map_or(0, |path| path as u32 + 1)));
        let mut besides: Vec<ValueId> = slots.iter().map(|ty| b.zero(*ty)).collect();
        if let Some(path) = path {
            late[path].needs.iter().for_each(|(value, slot)| besides[*slot] = *value);
            let keeps = b.function.regions[region].insts.len() - 1 - late[path].insts.len();
            b.function.regions[region].insts.truncate(keeps);
            b.function.regions[region].insts.push(leaves);
        }
        b.function.insts[leaves].operands = gives.into_iter().chain(besides).collect();
    }
    let all: Vec<Type> = types.iter().copied().chain([Type::U32]).chain(slots).collect();
    let value = |(i, ty): (u32, &Type)| Value { ty: *ty, def: Def::Result(id, i), name: None };
    let given: Vec<ValueId> = (0..).zip(&all).map(value).map(|value| b.function.values.push(value)).collect();
    b.function.insts[id].results = given.iter().copied().collect();

    // What follows the loop goes behind the choice.
    let at = b.function.regions[parent].insts.iter().position(|inst| *inst == id).map_or(0, |at| at + 1);
    let rest = b.function.regions[parent].insts.split_off(at);
    let outer = std::mem::replace(&mut b.region, parent);
    let last = choose(b, &late, 1, &given, &types);
    b.function.insts[last].results = results.iter().copied().collect();
    for (i, result) in (0..).zip(results) {
        b.function.values[result].def = Def::Result(last, i);
    }
    b.region = outer;
    b.function.regions[parent].insts.extend(rest);
    b.function.simplified = false;
}

/// Writes the choice between one of the exit paths and those behind it.
fn choose(b: &mut Builder, late: &[Late], path: u32, given: &[ValueId], types: &[Type]) -> InstId {
    let (which, besides) = (given[types.len()], &given[types.len() + 1..]);
    let number = b.u32(path);
    let is_it = b.op(Op::Eq, Type::U32, &[which, number]);
    let (yes, no) = (b.new_region(&[]), b.new_region(&[]));
    let (this, others) = (&late[0], &late[1..]);
    let names: FastMap<ValueId, ValueId> = this.needs.iter().map(|(value, slot)| (*value, besides[*slot])).collect();
    let outer = std::mem::replace(&mut b.region, yes);
    b.function.regions[yes].insts = this.insts.clone();
    rename(&mut b.function, yes, &names);
    let gives: Vec<ValueId> = this.gives.iter().map(|value| names.get(value).copied().unwrap_or(*value)).collect();
    b.end(Op::Yield, &gives);
    b.region = no;
    let otherwise: Vec<ValueId> = match others {
        [] => given[..types.len()].to_vec(),
        _more => {
            let inner = choose(b, others, path + 1, given, types);
            let value = |(i, ty): (u32, &Type)| Value { ty: *ty, def: Def::Result(inner, i), name: None };
            let results: Vec<ValueId> =
                (0..).zip(types).map(value).map(|value| b.function.values.push(value)).collect();
            b.function.insts[inner].results = results.iter().copied().collect();
            results
        }
    };
    b.end(Op::Yield, &otherwise);
    b.region = outer;
    let mut inst = Inst::new(Op::If, None, &[is_it], b.span);
    inst.regions.extend([yes, no]);
    b.push(inst, &[])
}

/// What a region does from an instruction on until it leaves the loop; none if that cannot be told outside.
fn taken_out(
    f: &Function,
    (region, first): (RegionId, usize),
    inside: &FastSet<ValueId>,
    slots: &mut Vec<Type>,
) -> Option<Late> {
    let (leaves, insts) = f.regions[region].insts[first..].split_last()?;
    let (mut own, mut needs) = (FastSet::default(), vec![]);
    let mut look = |inst: &Inst| {
        needs.extend(inst.operands.iter().copied());
        own.extend(inst.results.iter().copied());
        inst.regions.iter().for_each(|region| own.extend(f.regions[*region].params.iter().copied()));
    };
    for id in insts {
        look(&f.insts[*id]);
        f.insts[*id].regions.iter().for_each(|inner| f.walk(*inner, &mut |_, inst| look(inst)));
    }
    let gives = f.insts[*leaves].operands.to_vec();
    needs.extend(&gives);
    needs.retain(|value| inside.contains(value) && !own.contains(value));
    needs.sort_unstable();
    needs.dedup();
    if !needs.iter().all(|value| is_plain(f.ty(*value))) {
        return None;
    }
    // Exit paths share what the loop gives: only one of them is taken.
    let mut used = vec![false; slots.len()];
    let mut place = |value: ValueId| {
        let ty = f.ty(value);
        let free = (0..slots.len()).find(|slot| slots[*slot] == ty && !used[*slot]).unwrap_or_else(|| {
            slots.push(ty);
            used.push(false);
            slots.len() - 1
        });
        used[free] = true;
        (value, free)
    };
    let needs = needs.into_iter().map(&mut place).collect();
    Some(Late { region, insts: insts.to_vec(), gives, needs })
}

/// Writes a `while` as a choice between leaving the loop with its parameters and going on.
fn without_while(b: &mut Builder, region: RegionId, body: RegionId) -> (InstId, RegionId) {
    let outer = std::mem::replace(&mut b.region, region);
    let last = b.function.regions[region].insts.pop();
    let operands = last.map_or(vec![], |last| b.function.insts[last].operands.to_vec());
    let (holds, over) = (b.new_region(&[]), b.new_region(&[]));
    b.region = holds;
    b.end(Op::Yield, &[]);
    b.region = over;
    let params = b.function.regions[body].params.clone();
    let leaves = b.push(Inst::new(Op::Break, None, &params, b.span), &[]);
    b.region = region;
    if let Some((condition, next)) = operands.split_first() {
        let mut inst = Inst::new(Op::If, None, &[*condition], b.span);
        inst.regions.extend([holds, over]);
        b.push(inst, &[]);
        b.end(Op::Continue, next);
    }
    b.region = outer;
    (leaves, over)
}

/// Values that a loop can give.
fn is_plain(ty: Type) -> bool {
    matches!(ty, Type::Scalar(_))
}

/// All that is defined in a loop's body.
fn defined(f: &Function, body: RegionId) -> FastSet<ValueId> {
    let mut all: FastSet<ValueId> = f.regions[body].params.iter().copied().collect();
    f.walk(body, &mut |_, inst| {
        all.extend(inst.results.iter().copied());
        inst.regions.iter().for_each(|region| all.extend(f.regions[*region].params.iter().copied()));
    });
    all
}

/// Gives values other names in a region.
fn rename(f: &mut Function, region: RegionId, names: &FastMap<ValueId, ValueId>) {
    let mut insts = vec![];
    f.walk(region, &mut |id, _| insts.push(id));
    for id in insts {
        for operand in &mut f.insts[id].operands {
            *operand = names.get(operand).copied().unwrap_or(*operand);
        }
    }
}

//! Recursion of which only cells are left to make becomes a loop: `f(x) = Cons(a, f(y))` makes the cell before the call, with a field that is
//! open, and goes on with `y`; what comes next goes into that field. A list of a million elements needs no frames.
//!
//! What is made so far is a *chain* ([`ChainNew`](Op::ChainNew)), one for each result that grows: a call of the function itself becomes the next
//! iteration if nothing is done with its results but to give them, or to give cells in which they stand. Results may change places, as in
//! `deal` below, if always the same ones do; then a number says whether they stand exchanged.
//!
//! ```text
//! deal([])     = ([], [])
//! deal(h :: t) = (a, b) = deal(t); (h :: b, a)
//! ```
//!
//! (Tail recursion modulo cons: Wadler 1984; holes as values that are used once: Minamide 1998; fields that are known late: Bour, Clément and
//! Scherer 2021.)
//!
//! Invariant: nothing that can be noticed changes its place: between such a call and the function's end there are no calls, traps or globals.

mod rewrite;

use super::{enter_loop, walk_regions, whole_loop};
use girih_base::cycles;
use girih_base::diag::Diagnostic;
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_ir::ops::Effect;
use girih_ir::{Def, Function, FunctionId, Inst, InstId, Module, Op, RegionId, Type, ValueId, Verified};

/// Changes all functions of which that is true.
pub fn chains(module: &mut Module) {
    let edges: IndexVec<FunctionId, Vec<FunctionId>> = module.functions.iter().map(Function::callees).collect();
    let groups = cycles::groups(&edges);
    for id in module.functions.ids().filter(|id| edges[*id].contains(id)) {
        let mut looped = module.functions[id].clone();
        let is_near = |callee: FunctionId| callee != id && groups[callee] == groups[id];
        if let Some(found) = enter(&mut looped).and_then(|around| find(&looped, id, around, is_near)) {
            let results = |callee: FunctionId| module.functions[callee].results.clone();
            rewrite::rewrite(&mut looped, id, &found, results);
            module.functions[id] = looped;
        }
    }
}

/// The same for a module that stays verified, as native code runs it.
///
/// # Errors
/// If the changed module is wrong: a mistake of this pass.
pub fn with_chains(module: &Verified<Module>) -> Result<Verified<Module>, Vec<Diagnostic>> {
    let mut changed = Module::clone(module);
    chains(&mut changed);
    Verified::by_passes(changed)
}

/// A cell on the way from a call's result to what the function gives, and the field that leads there.
#[derive(Clone, Copy, Debug)]
struct Link {
    cell: InstId,
    field: u32,
}

/// What becomes of a call's result: which of the function's results it is, in these cells, the outermost first.
#[derive(Debug)]
struct Way {
    to: usize,
    links: Vec<Link>,
}

/// A call that becomes the next iteration: what becomes of each of its results.
#[derive(Debug)]
struct Site {
    region: RegionId,
    call: InstId,
    ways: Vec<Way>,
}

impl Site {
    fn exchanges(&self) -> bool {
        self.ways.iter().enumerate().any(|(i, way)| way.to != i)
    }
}

/// What a function becomes.
#[derive(Debug)]
struct Found {
    /// The loop that is all of the function.
    around: InstId,
    /// The regions from which its iterations end.
    regions: Vec<RegionId>,
    sites: Vec<Site>,
    /// Which results grow.
    grows: Vec<bool>,
    /// Where results stand if they stand exchanged, if they ever do.
    exchange: Option<Vec<usize>>,
    /// The field that is open, if it is always the same one.
    field: Option<u32>,
}

/// The loop that carries the parameters and is all of the function, which it may become here.
fn enter(function: &mut Function) -> Option<InstId> {
    if function.launch.is_some() || !function.results.contains(&Type::Term) {
        return None;
    }
    if let Some(around) = whole_loop(function)
        && function.insts[around].operands[..] == function.params[..]
    {
        return Some(around);
    }
    let mut returns = false;
    function.walk(function.body, &mut |_, inst| {
        let inner = inst.regions.iter().filter(|_| inst.op == Op::Loop);
        inner.for_each(|region| function.walk(*region, &mut |_, inst| returns |= inst.op == Op::Return));
    });
    (!returns).then(|| enter_loop(function))
}

fn find(function: &Function, id: FunctionId, around: InstId, is_near: impl Fn(FunctionId) -> bool) -> Option<Found> {
    let regions = ends(function, around, is_near)?;
    let mut uses: FastMap<ValueId, usize> = FastMap::default();
    function.walk(function.body, &mut |_, inst| {
        inst.operands.iter().for_each(|value| *uses.entry(*value).or_default() += 1);
    });
    let site = |region: &RegionId| site(function, id, around, *region, &uses);
    let sites: Vec<Site> = regions.iter().filter_map(site).collect();
    let places = |site: &Site| site.ways.iter().map(|way| way.to).collect::<Vec<_>>();
    let exchange = sites.iter().find(|site| site.exchanges()).map(places);
    if let Some(exchange) = &exchange {
        let is_its_own = exchange.iter().enumerate().all(|(i, to)| exchange[*to] == i);
        if !is_its_own || sites.iter().any(|site| site.exchanges() && places(site) != *exchange) {
            return None;
        }
    }
    let ways = || sites.iter().flat_map(|site| &site.ways);
    let grown = |i: usize| ways().any(|way| way.to == i && !way.links.is_empty());
    let all = 0..function.results.len();
    let grows: Vec<bool> = all.map(|i| grown(i) || exchange.as_ref().is_some_and(|to| grown(to[i]))).collect();
    let mut fields: Vec<u32> = ways().filter_map(|way| Some(way.links.last()?.field)).collect();
    fields.sort_unstable();
    fields.dedup();
    let field = if fields.len() == 1 { fields.first().copied() } else { None };
    (!fields.is_empty()).then_some(Found { around, regions, sites, grows, exchange, field })
}

/// The regions from which iterations of a loop end; none if an end is of another kind. A call in place of a function's end needs a frame, so
/// it is left if it may lead back: a recursion that has none would get some.
fn ends(function: &Function, around: InstId, is_near: impl Fn(FunctionId) -> bool) -> Option<Vec<RegionId>> {
    let (mut regions, mut inner) = (vec![], vec![]);
    walk_regions(function, function.insts[around].regions[0], &mut |region| {
        let loops = function.regions[region].insts.iter().filter(|id| function.insts[**id].op == Op::Loop);
        loops.for_each(|id| {
            walk_regions(function, function.insts[*id].regions[0], &mut |region| inner.push(region));
        });
        regions.push(region);
    });
    let mut are_known = true;
    for region in &regions {
        let end = function.terminator(*region)?;
        let is_inner = inner.contains(region);
        are_known &= match end.op {
            Op::Return => !is_inner,
            Op::Tail => !is_inner && !end.callee().is_none_or(&is_near),
            Op::While => is_inner,
            Op::Yield | Op::Break | Op::Continue => true,
            _no_rule => false,
        };
    }
    regions.retain(|region| !inner.contains(region));
    are_known.then_some(regions)
}

/// The call whose results a region gives in the end.
fn site(
    function: &Function,
    id: FunctionId,
    around: InstId,
    region: RegionId,
    uses: &FastMap<ValueId, usize>,
) -> Option<Site> {
    let (last, insts) = function.regions[region].insts.split_last()?;
    let end = &function.insts[*last];
    if !matches!(end.op, Op::Break | Op::Return) {
        return None;
    }
    let is_own = |inst: &InstId| function.insts[*inst].op == Op::Call && function.insts[*inst].callee() == Some(id);
    let position = insts.iter().rposition(is_own)?;
    let (call, behind) = (insts[position], &insts[position + 1..]);
    let lends = function.params.iter().zip(&function.insts[call].operands);
    let mut lends = lends.filter(|(param, _)| function.param_attrs(**param).borrowed);
    let can_go = behind.iter().all(|inst| may_come_before(&function.insts[*inst]));
    if !can_go || !lends.all(|(_, value)| is_lent(function, around, *value)) {
        return None;
    }
    let is_used_once = |value: &ValueId| uses.get(value) == Some(&1);
    let way = |value: &ValueId| way(function, *value, behind, end, &is_used_once);
    let ways: Vec<Way> = function.insts[call].results.iter().map(way).collect::<Option<_>>()?;
    let mut reached: Vec<usize> = ways.iter().map(|way| way.to).collect();
    reached.sort_unstable();
    (reached.into_iter().eq(0..end.operands.len())).then_some(Site { region, call, ways })
}

/// Whether an instruction behind a call may as well stand before it: it does not end the run, and the call does not notice it.
fn may_come_before(inst: &Inst) -> bool {
    let works_on_cells = matches!(
        inst.op,
        Op::CellNew
            | Op::CellGet
            | Op::CellLayout
            | Op::CellOpen
            | Op::CellFill
            | Op::CellFree
            | Op::TermShare
            | Op::TermDrop
    );
    works_on_cells || inst.op.row().effect == Effect::Pure && inst.regions.is_empty()
}

/// Whether who calls the function owns a word until it ends, so that the next iteration may look at it, too.
fn is_lent(function: &Function, around: InstId, value: ValueId) -> bool {
    match function.values[value].def {
        Def::Param(_) => function.param_attrs(value).borrowed,
        Def::Argument(region, i) => {
            let inst = &function.insts[around];
            inst.regions[0] == region && is_lent(function, around, inst.operands[i as usize])
        }
        Def::Result(inst, i) => {
            let inst = &function.insts[inst];
            match inst.op {
                Op::CellGet => is_lent(function, around, inst.operands[0]),
                Op::TermShare => i == 0 && is_lent(function, around, inst.operands[0]),
                Op::TermPack => true,
                _no_rule => false,
            }
        }
        Def::Constant(_) | Def::Specialisation(_) | Def::Memory(_) => false,
    }
}

/// Follows a result to what the function gives.
fn way(
    function: &Function,
    mut value: ValueId,
    behind: &[InstId],
    end: &Inst,
    is_used_once: &impl Fn(&ValueId) -> bool,
) -> Option<Way> {
    let mut links = vec![];
    while is_used_once(&value) {
        if let Some(to) = end.operands.iter().position(|given| *given == value) {
            links.reverse();
            return Some(Way { to, links });
        }
        let holds = |id: &&InstId| function.insts[**id].operands.contains(&value);
        let cell = *behind.iter().find(holds)?;
        let inst = &function.insts[cell];
        let first = match inst.op {
            Op::CellNew => 0,
            Op::CellFill => 1,
            _no_rule => return None,
        };
        let at = inst.operands.iter().position(|field| *field == value)?;
        if at < first || function.ty(value) != Type::Term {
            return None;
        }
        links.push(Link { cell, field: (at - first) as u32 });
        value = inst.results[0];
    }
    None
}

//! Which results are made on each way that a function ends.
//!
//! It is the greatest set that agrees with itself: a function that ends with what another one gives has the form of that one's result, and a function
//! that ends by calling another one gives exactly what that one gives.

use girih_base::cycles;
use girih_base::idx::IndexVec;
use girih_ir::heap::{CELL, LayoutId};
use girih_ir::{Def, Function, FunctionId, Inst, InstId, Module, Op, RegionId, Type, ValueId};
use std::collections::{HashMap, HashSet};

/// Results of a function at most, all parts counted.
const MOST: usize = 6;

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A word of this tag, of a number.
    Number(u32),
    Cell(LayoutId),
}

impl Form {
    /// The types of its parts.
    pub fn parts(self, module: &Module) -> Vec<Type> {
        match self {
            Form::Number(_) => vec![Type::U32],
            Form::Cell(layout) => module.layouts[layout].fields.clone(),
        }
    }
}

/// The form of each result that has one.
pub(super) type Forms = HashMap<(FunctionId, usize), Form>;

/// Where a value comes from.
pub(super) enum Source {
    Made(Form),
    /// What another function gives at a position.
    Call(FunctionId, usize),
    /// One of these, of which each is used for nothing else.
    Merge(Vec<ValueId>),
    Other,
}

/// Where a function's values are used.
pub(super) struct Uses(HashMap<ValueId, Vec<InstId>>);

impl Uses {
    pub fn of(function: &Function) -> Uses {
        let mut uses: HashMap<ValueId, Vec<InstId>> = HashMap::new();
        function.walk(function.body, &mut |id, inst| {
            inst.operands.iter().for_each(|operand| uses.entry(*operand).or_default().push(id));
        });
        Uses(uses)
    }
    pub fn all(&self, value: ValueId) -> &[InstId] {
        self.0.get(&value).map_or(&[], |uses| &uses[..])
    }
    pub fn is_single(&self, value: ValueId) -> bool {
        self.all(value).len() == 1
    }
}

/// The instructions that end the regions of a choice, or a loop, with its results; none if one ends in another way.
pub(super) fn givers(function: &Function, inst: InstId) -> Option<Vec<InstId>> {
    let end = match function.insts[inst].op {
        Op::If | Op::Switch => Op::Yield,
        Op::Loop => Op::Break,
        _no_rule => return None,
    };
    let (mut found, mut is_fine) = (vec![], true);
    let mut next: Vec<RegionId> = function.insts[inst].regions.iter().copied().collect();
    while let Some(region) = next.pop() {
        for id in &function.regions[region].insts {
            let inner = &function.insts[*id];
            if end == Op::Break {
                is_fine &= inner.op != Op::While;
                found.extend((inner.op == Op::Break).then_some(*id));
                next.extend(inner.regions.iter().filter(|_| inner.op != Op::Loop));
            } else {
                found.extend((inner.op == Op::Yield).then_some(*id));
            }
        }
    }
    is_fine.then_some(found)
}

/// Where a value comes from, which is used once, or is a number.
pub(super) fn source(function: &Function, uses: &Uses, value: ValueId) -> Source {
    let Def::Result(id, position) = function.values[value].def else { return Source::Other };
    let inst = &function.insts[id];
    let is_single = uses.is_single(value);
    match inst.op {
        Op::TermPack => match function.as_constant(inst.operands[0]) {
            Some(tag) if tag < u64::from(CELL) => Source::Made(Form::Number(tag as u32)),
            _other => Source::Other,
        },
        Op::CellNew | Op::CellFill if is_single => {
            inst.cell().map_or(Source::Other, |cell| Source::Made(Form::Cell(cell)))
        }
        Op::Call | Op::Join => inst.callee().map_or(Source::Other, |callee| Source::Call(callee, position as usize)),
        Op::If | Op::Switch | Op::Loop if is_single => match givers(function, id) {
            Some(ends) => {
                Source::Merge(ends.iter().map(|end| function.insts[*end].operands[position as usize]).collect())
            }
            None => Source::Other,
        },
        _no_rule => Source::Other,
    }
}

/// What is known of a function's result before others are looked at.
struct Ends {
    made: Vec<Form>,
    calls: Vec<(FunctionId, usize)>,
}

/// The values that a result may be; none if one of them is not made, or has to be kept.
fn ends(function: &Function, uses: &Uses, position: usize, grows: &dyn Fn(&Inst) -> bool) -> Option<Ends> {
    let mut found = Ends { made: vec![], calls: vec![] };
    let mut next = vec![];
    function.walk(function.body, &mut |_, inst| match inst.op {
        Op::Return => next.push(inst.operands[position]),
        Op::Tail => found.calls.extend(inst.callee().map(|callee| (callee, position))),
        _no_rule => {}
    });
    let mut seen = HashSet::new();
    while let Some(value) = next.pop() {
        if !seen.insert(value) {
            continue;
        }
        match source(function, uses, value) {
            Source::Made(form) => {
                let Def::Result(id, _) = function.values[value].def else { return None };
                if matches!(form, Form::Cell(_)) && grows(&function.insts[id]) {
                    return None;
                }
                found.made.push(form);
            }
            Source::Call(callee, at) => found.calls.push((callee, at)),
            Source::Merge(values) => next.extend(values),
            Source::Other => return None,
        }
    }
    Some(found)
}

/// The forms of all results, but for those of functions that others than these functions call.
pub(super) fn forms(module: &Module, is_outer: &IndexVec<FunctionId, bool>) -> Forms {
    let edges: IndexVec<FunctionId, Vec<FunctionId>> = module.functions.iter().map(Function::callees).collect();
    let recursive = cycles::on_cycle(&edges);
    let mut all: HashMap<(FunctionId, usize), Ends> = HashMap::new();
    for (id, function) in module.functions.iter_enumerated().filter(|(id, _)| !is_outer[*id]) {
        let uses = Uses::of(function);
        let grows = |inst: &Inst| recursive[id] && inst.operands.iter().any(|field| is_own(function, *field, id));
        for position in (0..function.results.len()).filter(|at| function.results[*at] == Type::Term) {
            if let Some(ends) = ends(function, &uses, position, &grows) {
                all.insert((id, position), ends);
            }
        }
    }
    let mut found = agreed(&all);
    loop {
        let before = found.len();
        keep_chains_of_calls(module, &mut found);
        keep_few(module, &mut found);
        keep_useful(module, &recursive, &mut found);
        all.retain(|place, _| found.contains_key(place));
        found = agreed(&all);
        if found.len() == before {
            return found;
        }
    }
}

/// Whether a value is what a call of a function gives.
fn is_own(function: &Function, value: ValueId, id: FunctionId) -> bool {
    let Def::Result(inst, _) = function.values[value].def else { return false };
    let inst = &function.insts[inst];
    matches!(inst.op, Op::Call | Op::Join) && inst.callee() == Some(id) && function.ty(value) == Type::Term
}

/// The results whose ends agree on a form.
fn agreed(all: &HashMap<(FunctionId, usize), Ends>) -> Forms {
    let mut forms: Forms = HashMap::new();
    let mut out: HashSet<(FunctionId, usize)> = HashSet::new();
    let mut changed = true;
    while changed {
        changed = false;
        for (place, ends) in all.iter().filter(|(place, _)| !out.contains(*place)).collect::<Vec<_>>() {
            let is_known = |call: &(FunctionId, usize)| all.contains_key(call) && !out.contains(call);
            let of_calls = ends.calls.iter().filter_map(|call| forms.get(call));
            let mut given = ends.made.iter().chain(of_calls).copied();
            let form = given.next();
            let agrees = ends.calls.iter().all(is_known) && given.all(|other| Some(other) == form);
            let is_new = agrees && form.is_some() && !forms.contains_key(place);
            let is_other = form.is_some() && forms.get(place).is_some_and(|old| Some(*old) != form);
            if !agrees || is_other {
                forms.remove(place);
                out.insert(*place);
                changed = true;
            } else if let (true, Some(form)) = (is_new, form) {
                forms.insert(*place, form);
                changed = true;
            }
        }
    }
    forms.retain(|place, _| !out.contains(place));
    // Calls that are not known to end make nothing.
    let lasting: HashSet<(FunctionId, usize)> = forms.keys().copied().collect();
    let is_whole = |place: &(FunctionId, usize)| all[place].calls.iter().all(|call| lasting.contains(call));
    forms.retain(|place, _| is_whole(place));
    forms
}

/// Who ends by calling another function gives what that one gives, in the same form.
fn keep_chains_of_calls(module: &Module, found: &mut Forms) {
    for (id, function) in module.functions.iter_enumerated() {
        function.walk(function.body, &mut |_, inst| {
            let Some(callee) = inst.callee().filter(|_| inst.op == Op::Tail) else { return };
            for position in 0..function.results.len() {
                if found.get(&(id, position)) != found.get(&(callee, position)) {
                    found.remove(&(id, position));
                    found.remove(&(callee, position));
                }
            }
        });
    }
}

/// No function has many results.
fn keep_few(module: &Module, found: &mut Forms) {
    let mut places: Vec<(FunctionId, usize)> = found.keys().copied().collect();
    places.sort_unstable();
    let mut counts: HashMap<FunctionId, usize> = HashMap::new();
    for place in places {
        let count = counts.entry(place.0).or_insert_with(|| module.functions[place.0].results.len());
        let more = found[&place].parts(module).len();
        if *count + more > MOST + 1 || more == 0 {
            found.remove(&place);
        } else {
            *count += more - 1;
        }
    }
}

/// Cells are given in parts where some call takes them apart, and none within a recursion makes them again. A cell that is taken apart on one way and kept
/// whole on another one is made: it has one owner, and so have its parts.
fn keep_useful(module: &Module, recursive: &IndexVec<FunctionId, bool>, found: &mut Forms) {
    let mut opened: HashSet<(FunctionId, usize)> = HashSet::new();
    let mut made: HashSet<(FunctionId, usize)> = HashSet::new();
    for (id, function) in module.functions.iter_enumerated() {
        let uses = Uses::of(function);
        function.walk(function.body, &mut |_, inst| {
            let (Op::Call | Op::Join, Some(callee)) = (inst.op, inst.callee()) else { return };
            for (position, value) in inst.results.iter().enumerate() {
                let opens = matches!(uses.all(*value), [user] if function.insts[*user].op == Op::CellOpen);
                let ends = matches!(uses.all(*value), [user] if matches!(function.insts[*user].op, Op::Return | Op::Yield | Op::Break));
                opened.extend(opens.then_some((callee, position)));
                let users = uses.all(*value);
                let differ = users.len() > 1 && users.iter().any(|user| function.insts[*user].op != Op::CellOpen);
                made.extend((differ || recursive[id] && !opens && !ends).then_some((callee, position)));
            }
        });
    }
    found.retain(|place, form| match form {
        Form::Number(_) => true,
        Form::Cell(_) => opened.contains(place) && !made.contains(place),
    });
}

//! Numbers of 24 bits wrap around where that can be seen, and not before.
//!
//! A sum, a product or a shift to the left has the right low 24 bits whatever stands above them in its operands. So the instruction that
//! brings a number into its normal form (a mask; for signed numbers, a shift to the left and back) is left out wherever only the low bits
//! of its result are *needed*. What a function gives may then be wrong above; a caller that needs all of it makes it normal. Recursion that needs all of what
//! its own calls give, as `max(f(a), f(b))` does, gives all of it: a mask between the calls and the operation would keep them from being put together in any
//! order.
//!
//! Three analyses over the whole module come before, all monotone and repeated until nothing changes: which values are *odd*, not in
//! normal form as written; which bits of each value are needed; which values will *differ* from what they were.
//!
//! Invariant: a value of which all bits are needed is the same as before.

use super::dead_code;
use girih_base::cycles;
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_ir::groups::{aggregates, arithmetic, cells, masks, memory, of_kernels};
use girih_ir::{Def, Function, FunctionId, Inst, InstId, Module, Op, RegionId, Scalar, Type, Value, ValueId};
use std::collections::HashMap;

/// The bits of a number.
const LOW: u64 = 0xff_ffff;
/// How many bits a word has above them.
const ABOVE: u64 = 8;

index_type! {
    /// A value of a function, or what it gives at a position.
    pub struct Node;
}

/// What is needed of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    Nothing,
    /// The low 24 bits.
    Low,
    All,
}

/// A module's values, and how they flow.
struct Graph<'m> {
    module: &'m Module,
    /// The first of a function's values, and of its results, which stand behind them.
    values: IndexVec<FunctionId, u32>,
    results: IndexVec<FunctionId, u32>,
    nodes: u32,
    /// From, to: by a choice, a loop, an argument, a `return`, a `tail`.
    copies: Vec<(Node, Node)>,
    /// From what a function gives to what a call of it gives.
    calls: Vec<(Node, Node)>,
    /// Those of them that are part of a recursion.
    own_calls: Vec<(Node, Node)>,
    /// Functions that call each other are of one group.
    groups: IndexVec<FunctionId, usize>,
    /// Other instructions, in the order of the text.
    insts: Vec<(FunctionId, InstId)>,
}

impl<'m> Graph<'m> {
    fn of(module: &'m Module) -> Graph<'m> {
        let (mut values, mut results, mut nodes) = (IndexVec::new(), IndexVec::new(), 0);
        for function in module.functions.iter() {
            values.push(nodes);
            results.push(nodes + function.values.len() as u32);
            nodes += (function.values.len() + function.results.len()) as u32;
        }
        let edges: IndexVec<FunctionId, Vec<FunctionId>> = module.functions.iter().map(Function::callees).collect();
        let (groups, own_calls) = (cycles::groups(&edges), vec![]);
        let (copies, calls, insts) = (vec![], vec![], vec![]);
        let mut graph = Graph { module, values, results, nodes, copies, calls, own_calls, groups, insts };
        for f in module.functions.ids() {
            graph.region(f, module.functions[f].body, None, None);
        }
        graph
    }

    fn value(&self, f: FunctionId, value: ValueId) -> Node {
        Node::new(self.values[f] + value.index() as u32)
    }
    fn result(&self, f: FunctionId, position: usize) -> Node {
        Node::new(self.results[f] + position as u32)
    }
    fn known<T: Clone>(&self, initial: T) -> IndexVec<Node, T> {
        (0..self.nodes).map(|_| initial.clone()).collect()
    }

    fn copy(&mut self, f: FunctionId, from: &[ValueId], to: &[ValueId]) {
        let edges = from.iter().zip(to).map(|(from, to)| (self.value(f, *from), self.value(f, *to)));
        let edges: Vec<(Node, Node)> = edges.collect();
        self.copies.extend(edges);
    }

    /// `choice` is the instruction around, `around` the loop.
    fn region(&mut self, f: FunctionId, region: RegionId, choice: Option<InstId>, around: Option<InstId>) {
        let function = &self.module.functions[f];
        let results = |inst: Option<InstId>| inst.map_or(&[][..], |inst| &function.insts[inst].results[..]);
        let carried = |inst: Option<InstId>| match inst.and_then(|inst| function.insts[inst].regions.first()) {
            Some(region) => &function.regions[*region].params[..],
            None => &[],
        };
        for id in &function.regions[region].insts {
            let inst = &function.insts[*id];
            match inst.op {
                Op::Call | Op::Fork | Op::Join | Op::Tail => self.call(f, inst),
                Op::Return => {
                    let edges = inst.operands.iter().enumerate().map(|(i, v)| (self.value(f, *v), self.result(f, i)));
                    let edges: Vec<(Node, Node)> = edges.collect();
                    self.copies.extend(edges);
                }
                Op::Yield => self.copy(f, &inst.operands, results(choice)),
                Op::Break => self.copy(f, &inst.operands, results(around)),
                Op::Continue => self.copy(f, &inst.operands, carried(around)),
                Op::While => {
                    self.insts.push((f, *id));
                    self.copy(f, inst.operands.get(1..).unwrap_or_default(), carried(around));
                    self.copy(f, carried(around), results(around));
                }
                Op::Loop => self.copy(f, &inst.operands, carried(Some(*id))),
                Op::If
                | Op::Switch
                | Op::Grid
                | Op::TrapIf
                | arithmetic!()
                | of_kernels!()
                | girih_ir::tile_operations!()
                | memory!()
                | cells!()
                | masks!()
                | aggregates!() => self.insts.push((f, *id)),
            }
            let inside = if inst.op == Op::Loop { Some(*id) } else { around };
            inst.regions.iter().for_each(|inner| self.region(f, *inner, Some(*id), inside));
        }
    }

    fn call(&mut self, f: FunctionId, inst: &Inst) {
        let Some(callee) = inst.callee() else { return };
        if inst.op != Op::Join {
            let params = &self.module.functions[callee].params;
            let edges = inst.operands.iter().zip(params).map(|(v, p)| (self.value(f, *v), self.value(callee, *p)));
            let edges: Vec<(Node, Node)> = edges.collect();
            self.copies.extend(edges);
        }
        match inst.op {
            Op::Tail => {
                let positions = 0..self.module.functions[callee].results.len();
                let edges: Vec<(Node, Node)> = positions.map(|i| (self.result(callee, i), self.result(f, i))).collect();
                self.copies.extend(edges);
            }
            // The call's results are those of what joins it.
            Op::Fork => {}
            Op::Call | Op::Join => {
                let edges = inst.results.iter().enumerate().map(|(i, v)| (self.result(callee, i), self.value(f, *v)));
                let edges: Vec<(Node, Node)> = edges.collect();
                if self.groups[f] == self.groups[callee] {
                    self.own_calls.extend(&edges);
                }
                self.calls.extend(edges);
            }
            // Nothing else calls.
            _no_rule => {}
        }
    }
}

fn is_word(ty: Type) -> bool {
    ty == Type::Scalar(Scalar::U32) || ty == Type::Scalar(Scalar::I32)
}

fn is_normal(ty: Type, bits: u64) -> bool {
    match ty {
        Type::Scalar(Scalar::I32) => ((bits as u32 as i32) << ABOVE >> ABOVE) as u32 == bits as u32,
        _natural => bits <= LOW,
    }
}

/// The operand that an instruction brings into normal form, if it does that.
fn wrapped(function: &Function, inst: &Inst) -> Option<ValueId> {
    match (inst.op, inst.element(), &inst.operands[..]) {
        (Op::And, Scalar::U32, [a, b]) if function.as_constant(*b) == Some(LOW) => Some(*a),
        (Op::Shr, Scalar::I32, [shifted, b]) if function.as_constant(*b) == Some(ABOVE) => {
            let Def::Result(id, 0) = function.values[*shifted].def else { return None };
            let left = &function.insts[id];
            let is_left = left.op == Op::Shl && function.as_constant(left.operands[1]) == Some(ABOVE);
            is_left.then(|| left.operands[0])
        }
        _no_rule => None,
    }
}

/// Whether the low bits of an instruction's result depend on nothing but the low bits of its operands.
fn is_low(inst: &Inst) -> bool {
    !low_operands(inst).is_empty()
}

/// The operands whose low bits become the low bits of the result of an instruction that [is low](is_low); none of any other.
fn low_operands(inst: &Inst) -> &[ValueId] {
    if !inst.ty.is_some_and(is_word) {
        return &[];
    }
    match inst.op {
        Op::Add | Op::Sub | Op::Mul | Op::Neg | Op::Not | Op::And | Op::Or | Op::Xor | Op::Bitcast => &inst.operands,
        Op::Select => &inst.operands[1..],
        Op::Shl => &inst.operands[..1],
        _no_rule => &[],
    }
}

/// Which values may not be in normal form: a `u32` from 2^24 on, an `i32` of more than 24 bits, what is no word.
fn odd(graph: &Graph<'_>, exported: &[FunctionId]) -> IndexVec<Node, bool> {
    let mut odd = graph.known(false);
    for (f, function) in graph.module.functions.iter_enumerated() {
        for (value, data) in function.values.iter_enumerated() {
            odd[graph.value(f, value)] = match data.def {
                _ if !is_word(data.ty) => true,
                Def::Constant(bits) => !is_normal(data.ty, bits),
                Def::Param(_) => exported.contains(&f),
                Def::Argument(..) | Def::Result(..) => false,
                Def::Specialisation(_) | Def::Memory(_) => true,
            };
        }
        for (i, ty) in function.results.iter().enumerate() {
            odd[graph.result(f, i)] = !is_word(*ty);
        }
    }
    until_nothing_changes(|| {
        let mut changed = false;
        for (from, to) in graph.copies.iter().chain(&graph.calls) {
            changed |= odd[*from] && !std::mem::replace(&mut odd[*to], true);
        }
        for (f, id) in &graph.insts {
            let function = &graph.module.functions[*f];
            let inst = &function.insts[*id];
            let is = |v: &ValueId| odd[graph.value(*f, *v)];
            let becomes = wrapped(function, inst).is_none()
                && match (inst.op, &inst.operands[..]) {
                    (Op::And, [a, b]) => is(a) && is(b),
                    (Op::Or | Op::Xor, [a, b]) | (Op::Select, [_, a, b]) => is(a) || is(b),
                    (Op::Shr, [a, _]) => is(a),
                    _no_rule => true,
                };
            for result in inst.results.iter().filter(|_| becomes) {
                changed |= !std::mem::replace(&mut odd[graph.value(*f, *result)], true);
            }
        }
        changed
    });
    odd
}

fn until_nothing_changes(mut pass: impl FnMut() -> bool) {
    while pass() {}
}

/// Which bits of each value are needed.
fn needs(graph: &Graph<'_>, exported: &[FunctionId], odd: &IndexVec<Node, bool>) -> IndexVec<Node, Need> {
    let mut needs = graph.known(Need::Nothing);
    for (f, function) in graph.module.functions.iter_enumerated() {
        for i in 0..function.results.len() {
            let node = graph.result(f, i);
            needs[node] = if odd[node] || exported.contains(&f) { Need::All } else { Need::Low };
        }
    }
    let mut pass = |decides: bool| {
        let mut changed = false;
        for (f, id) in graph.insts.iter().rev() {
            let function = &graph.module.functions[*f];
            for (value, need) in operand_needs(graph, *f, &function.insts[*id], (&needs, odd), decides) {
                let node = graph.value(*f, value);
                changed |= need > needs[node];
                needs[node] = need.max(needs[node]);
            }
        }
        for (from, to) in graph.copies.iter().rev() {
            changed |= needs[*to] > needs[*from];
            needs[*from] = needs[*to].max(needs[*from]);
        }
        for (from, to) in &graph.own_calls {
            if needs[*to] == Need::All {
                changed |= std::mem::replace(&mut needs[*from], Need::All) != Need::All;
            }
        }
        changed
    };
    // Which operand of an `and` hides what stands above in the other one is decided when the other needs are known.
    until_nothing_changes(|| pass(false));
    until_nothing_changes(|| pass(true));
    needs
}

/// What an instruction needs of its operands, when so much is needed of its result.
fn operand_needs(
    graph: &Graph<'_>,
    f: FunctionId,
    inst: &Inst,
    (needs, odd): (&IndexVec<Node, Need>, &IndexVec<Node, bool>),
    decides: bool,
) -> Vec<(ValueId, Need)> {
    let need = |v: ValueId| needs[graph.value(f, v)];
    let all = || inst.operands.iter().map(|v| (*v, Need::All)).collect::<Vec<_>>();
    let ([result], true) = (&inst.results[..], is_low(inst)) else { return all() };
    let function = &graph.module.functions[f];
    let wanted = need(*result);
    if let Some(wrapped) = wrapped(function, inst)
        && inst.op == Op::And
    {
        return vec![(wrapped, wanted.min(Need::Low))];
    }
    let shifts_out = |count: ValueId| function.as_constant(count).is_some_and(|count| (ABOVE..32).contains(&count));
    match (inst.op, &inst.operands[..]) {
        // One operand that is in normal form hides what stands above in the other one.
        (Op::And, [a, b]) if wanted == Need::All => {
            let masks = |v: &ValueId| !odd[graph.value(f, *v)];
            if !decides && (masks(a) || masks(b)) {
                return vec![(*a, Need::Low), (*b, Need::Low)];
            }
            let (mask, other) = if masks(b) && (!masks(a) || need(*a) != Need::All) { (b, a) } else { (a, b) };
            vec![(*mask, Need::All), (*other, if masks(mask) { Need::Low } else { Need::All })]
        }
        (Op::Select, [condition, a, b]) => vec![(*condition, Need::All), (*a, wanted), (*b, wanted)],
        (Op::Shl, [a, count]) if shifts_out(*count) => vec![(*a, wanted.min(Need::Low)), (*count, Need::All)],
        (Op::Shl, [a, count]) => vec![(*a, wanted), (*count, Need::All)],
        (Op::Bitcast, [a]) if !is_word(function.ty(*a)) => vec![(*a, Need::All)],
        (Op::Add | Op::Sub | Op::Mul | Op::Neg | Op::Not | Op::And | Op::Or | Op::Xor | Op::Bitcast, operands) => {
            operands.iter().map(|v| (*v, wanted)).collect()
        }
        _no_rule => all(),
    }
}

/// Which values will not be what they were: only their low bits are.
fn differs(graph: &Graph<'_>, needs: &IndexVec<Node, Need>) -> IndexVec<Node, bool> {
    let mut differs = graph.known(false);
    until_nothing_changes(|| {
        let mut changed = false;
        for (from, to) in &graph.copies {
            changed |= differs[*from] && !std::mem::replace(&mut differs[*to], true);
        }
        for (from, to) in &graph.calls {
            changed |= differs[*from] && needs[*to] != Need::All && !std::mem::replace(&mut differs[*to], true);
        }
        for (f, id) in &graph.insts {
            let function = &graph.module.functions[*f];
            let inst = &function.insts[*id];
            let [result] = inst.results[..] else { continue };
            let node = graph.value(*f, result);
            let becomes = needs[node] != Need::All
                && (wrapped(function, inst).is_some()
                    || low_operands(inst).iter().any(|v| differs[graph.value(*f, *v)]));
            changed |= becomes && !std::mem::replace(&mut differs[node], true);
        }
        changed
    });
    differs
}

/// Leaves out what need not be done. Functions of `exported` are called by others too, who need all of what they give.
pub(super) fn wrap_late(module: &mut Module, exported: &[FunctionId]) {
    let graph = Graph::of(module);
    let odd = odd(&graph, exported);
    let needs = needs(&graph, exported, &odd);
    let differs = differs(&graph, &needs);
    let mut left_out: IndexVec<FunctionId, HashMap<ValueId, ValueId>> =
        module.functions.iter().map(|_| HashMap::new()).collect();
    for (f, id) in &graph.insts {
        let function = &module.functions[*f];
        let inst = &function.insts[*id];
        if let (Some(operand), [result]) = (wrapped(function, inst), &inst.results[..])
            && needs[graph.value(*f, *result)] != Need::All
        {
            left_out[*f].insert(*result, operand);
        }
    }
    let mut normal: IndexVec<FunctionId, Vec<ValueId>> = module.functions.iter().map(|_| vec![]).collect();
    for (f, function) in module.functions.iter_enumerated() {
        function.walk(function.body, &mut |_, inst| {
            let Some(callee) = inst.callee().filter(|_| matches!(inst.op, Op::Call | Op::Join)) else { return };
            let given = inst.results.iter().enumerate();
            let made =
                given.filter(|(i, v)| differs[graph.result(callee, *i)] && needs[graph.value(f, **v)] == Need::All);
            normal[f].extend(made.map(|(_, v)| *v));
        });
    }
    for f in module.functions.ids() {
        rewrite(&mut module.functions[f], &left_out[f], &normal[f]);
    }
}

/// Puts operands in the place of what is left out, and makes what calls give normal.
fn rewrite(function: &mut Function, left_out: &HashMap<ValueId, ValueId>, normal: &[ValueId]) {
    if left_out.is_empty() && normal.is_empty() {
        return;
    }
    let mut stands = left_out.clone();
    let old = function.insts.len();
    let mut made: HashMap<InstId, Vec<InstId>> = HashMap::new();
    for value in normal {
        let first = function.insts.len();
        stands.insert(*value, make_normal(function, *value));
        if let Def::Result(call, _) = function.values[*value].def {
            made.entry(call).or_default().extend((first..function.insts.len()).map(|i| InstId::new(i as u32)));
        }
    }
    for inst in function.insts.iter_mut().take(old) {
        for operand in &mut inst.operands {
            while let Some(other) = stands.get(operand) {
                *operand = *other;
            }
        }
    }
    for region in function.regions.iter_mut() {
        let followed = |id: InstId| std::iter::once(id).chain(made.get(&id).into_iter().flatten().copied());
        region.insts = region.insts.iter().flat_map(|id| followed(*id)).collect();
    }
    while dead_code::remove_unused(function) {}
}

/// Instructions, in no region yet, that bring a value into normal form.
fn make_normal(function: &mut Function, value: ValueId) -> ValueId {
    let ty = function.ty(value);
    let span = function.span_of(value);
    let mut write = |op: Op, operand: ValueId, constant: u64| {
        let constant = function.constant(ty, constant);
        let id = function.insts.next_id();
        let result = function.values.push(Value { ty, def: Def::Result(id, 0), name: None });
        let mut inst = Inst::new(op, Some(ty), &[operand, constant], span);
        inst.results.push(result);
        function.insts.push(inst);
        result
    };
    match ty {
        Type::Scalar(Scalar::I32) => {
            let shifted = write(Op::Shl, value, ABOVE);
            write(Op::Shr, shifted, ABOVE)
        }
        _natural => write(Op::And, value, LOW),
    }
}

//! Loops and functions that may trap say so by a number, so that a step of a lane has them as a whole: what would end the program ends the loop or the
//! function, and whoever runs it looks at the number and traps.
//!
//! Functions that only loop are not worth a task beside recursion: forks of them become calls.
//!
//! Invariant: a call gives what it gave, and traps with the code with which it trapped.

use crate::forkjoin::framed;
use crate::loops::{add_results, whole_loop};
use girih_base::idx::IndexVec;
use girih_ir::attrs::Attr;
use girih_ir::{Builder, Def, Function, FunctionId, Inst, InstId, Module, Op, RegionId, Type, ValueId};
use std::collections::{BTreeSet, HashSet};

/// Changes all functions of a module that `entry` gets to.
pub(super) fn as_numbers(module: &mut Module, entry: FunctionId) {
    let edges: IndexVec<FunctionId, Vec<FunctionId>> = module.functions.iter().map(Function::callees).collect();
    let recursive = girih_base::cycles::on_cycle(&edges);
    let plain = plain(module, entry);
    call_instead_of_fork(module, &plain);
    let codes = codes(module, &plain);
    for id in module.functions.ids() {
        let gives = plain.contains(&id) && !codes[id].is_empty();
        let function = std::mem::replace(&mut module.functions[id], Function::new("", girih_base::span::Span::NONE));
        let mut b = Builder::new(function);
        check_calls(&mut b, &plain, &codes);
        let body = b.function.body;
        // Recursion that is one loop is opened: its iterations are steps, and may trap.
        if !(recursive[id] && whole_loop(&b.function).is_some()) {
            out_of_loops(&mut b, body);
        }
        if gives {
            b.function.results.push(Type::U32);
            give_codes(&mut b, body);
        }
        module.functions[id] = b.function;
    }
}

/// The functions that need no frame but for their traps.
fn plain(module: &Module, entry: FunctionId) -> HashSet<FunctionId> {
    let mut without = module.clone();
    let forked: HashSet<FunctionId> = callees(module, Op::Tail);
    for function in without.functions.iter_mut() {
        for inst in function.insts.iter_mut() {
            match inst.op {
                // A test without consequences, and a call: neither needs a frame.
                Op::TrapIf => *inst = Inst::new(Op::Not, Some(Type::BOOL), &inst.operands, inst.span),
                Op::Fork => inst.op = Op::Call,
                _other => {}
            }
        }
    }
    let framed = framed(&without, &[entry]);
    module.functions.ids().filter(|id| !framed.contains(id) && !forked.contains(id)).collect()
}

fn callees(module: &Module, op: Op) -> HashSet<FunctionId> {
    let mut found = HashSet::new();
    for function in module.functions.iter() {
        function.walk(function.body, &mut |_, inst| found.extend(inst.callee().filter(|_| inst.op == op)));
    }
    found
}

fn call_instead_of_fork(module: &mut Module, plain: &HashSet<FunctionId>) {
    for function in module.functions.iter_mut() {
        let mut joins = vec![];
        function.walk(function.body, &mut |id, inst| {
            let is_plain = inst.callee().is_some_and(|callee| plain.contains(&callee));
            joins.extend((inst.op == Op::Join && is_plain).then_some(id));
        });
        let mut gone = HashSet::new();
        for join in joins {
            let Def::Result(fork, _) = function.values[function.insts[join].operands[0]].def else { continue };
            let operands = function.insts[fork].operands.clone();
            function.insts[join].op = Op::Call;
            function.insts[join].operands = operands;
            gone.insert(fork);
        }
        for region in function.regions.iter_mut() {
            region.insts.retain(|id| !gone.contains(id));
        }
    }
}

/// With which codes a call of each plain function may trap.
fn codes(module: &Module, plain: &HashSet<FunctionId>) -> IndexVec<FunctionId, BTreeSet<u32>> {
    let mut codes: IndexVec<FunctionId, BTreeSet<u32>> = module.functions.iter().map(|_| BTreeSet::new()).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for id in plain {
            let function = &module.functions[*id];
            let mut found = BTreeSet::new();
            function.walk(function.body, &mut |_, inst| {
                found.extend((inst.op == Op::TrapIf).then(|| inst.code()));
                found.extend(inst.callee().iter().flat_map(|callee| &codes[*callee]));
            });
            changed |= found.len() > codes[*id].len();
            codes[*id] = found;
        }
    }
    codes
}

/// Behind each call of a plain function: a trap for each code that it may give.
fn check_calls(b: &mut Builder, plain: &HashSet<FunctionId>, codes: &IndexVec<FunctionId, BTreeSet<u32>>) {
    for (region, call) in places(&b.function, b.function.body, |inst| inst.op == Op::Call) {
        let Some(callee) = b.function.insts[call].callee().filter(|callee| plain.contains(callee)) else { continue };
        if codes[callee].is_empty() {
            continue;
        }
        let code = add_results(&mut b.function, call, &[Type::U32])[0];
        trap_behind(b, (region, call), code, &codes[callee]);
    }
}

/// Traps with a code that is not 0.
fn trap_behind(b: &mut Builder, (region, after): (RegionId, InstId), code: ValueId, codes: &BTreeSet<u32>) {
    let at = b.function.regions[region].insts.iter().position(|id| *id == after).map_or(0, |at| at + 1);
    let rest = b.function.regions[region].insts.split_off(at);
    b.span = b.function.insts[after].span;
    b.within(region, |b| {
        for known in codes {
            let number = b.u32(*known);
            let is_it = b.op(Op::Eq, Type::U32, &[code, number]);
            b.op_with(Op::TrapIf, None, &[is_it], &[Attr::Code(*known)]);
        }
    });
    b.function.regions[region].insts.extend(rest);
}

/// Loops, the innermost first, end with a code instead of trapping.
fn out_of_loops(b: &mut Builder, region: RegionId) {
    for id in b.function.regions[region].insts.clone() {
        for inner in b.function.insts[id].regions.clone() {
            out_of_loops(b, inner);
        }
        if b.function.insts[id].op == Op::Loop {
            out_of_loop(b, region, id);
        }
    }
}

fn out_of_loop(b: &mut Builder, region: RegionId, around: InstId) {
    let body = b.function.insts[around].regions[0];
    let traps = places(&b.function, body, |inst| inst.op == Op::TrapIf);
    if traps.is_empty() || !places(&b.function, body, |inst| inst.op == Op::While).is_empty() {
        return;
    }
    let codes: BTreeSet<u32> = traps.iter().map(|(_, id)| b.function.insts[*id].code()).collect();
    let types: Vec<Type> = b.function.insts[around].results.iter().map(|value| b.ty(*value)).collect();
    let none = b.u32(0);
    for (_, end) in places(&b.function, body, |inst| inst.op == Op::Break) {
        b.function.insts[end].operands.push(none);
    }
    for (inner, trap) in traps {
        leave_instead(b, (inner, trap), Op::Break, &types);
    }
    let code = add_results(&mut b.function, around, &[Type::U32])[0];
    trap_behind(b, (region, around), code, &codes);
}

/// A function's traps are results.
fn give_codes(b: &mut Builder, body: RegionId) {
    let mut types = b.function.results.clone();
    types.pop();
    let none = b.u32(0);
    let mut all = vec![];
    everywhere(&b.function, body, &mut |region, id| all.push((region, id)));
    for (region, id) in all {
        match b.function.insts[id].op {
            Op::Return => b.function.insts[id].operands.push(none),
            Op::TrapIf => leave_instead(b, (region, id), Op::Return, &types),
            _other => {}
        }
    }
}

/// In the place of a trap: ends the loop or the function with its code.
fn leave_instead(b: &mut Builder, (region, trap): (RegionId, InstId), end: Op, types: &[Type]) {
    let inst = b.function.insts[trap].clone();
    let mut given: Vec<ValueId> = types.iter().map(|ty| b.zero(*ty)).collect();
    given.push(b.u32(inst.code()));
    b.span = inst.span;
    let (leaves, stays) = (b.new_region(&[]), b.new_region(&[]));
    b.within(leaves, |b| b.end(end, &given));
    b.within(stays, |b| b.end(Op::Yield, &[]));
    let mut branch = Inst::new(Op::If, None, &inst.operands, inst.span);
    branch.regions.extend([leaves, stays]);
    b.function.insts[trap] = branch;
    debug_assert!(b.function.regions[region].insts.contains(&trap));
}

/// The instructions of a loop's body, or of a function, that are not inside of another loop, as far as they are asked for.
fn places(function: &Function, region: RegionId, wanted: impl Fn(&Inst) -> bool) -> Vec<(RegionId, InstId)> {
    let is_body = region == function.body;
    let (mut found, mut next) = (vec![], vec![region]);
    while let Some(region) = next.pop() {
        for id in &function.regions[region].insts {
            let inst = &function.insts[*id];
            found.extend(wanted(inst).then_some((region, *id)));
            if is_body || inst.op != Op::Loop {
                next.extend(inst.regions.iter().copied());
            }
        }
    }
    found
}

fn everywhere(function: &Function, region: RegionId, visit: &mut impl FnMut(RegionId, InstId)) {
    for id in &function.regions[region].insts {
        visit(region, *id);
        function.insts[*id].regions.iter().for_each(|inner| everywhere(function, *inner, visit));
    }
}

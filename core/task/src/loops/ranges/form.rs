//! Whether a function is a loop over a range: its inductions, its sums, and the test that ends it.
//!
//! Recursion with one call of itself, whose result only becomes part of the function's, is made such a loop first.
//!
//! Invariant: the loop of a [`Form`] gives what the function gives, and its body ends by `continue` except where the test ends it.

use super::super::enter_loop;
use super::super::parts::{Places, Search};
use super::super::whole_loop;
use girih_ir::{Def, Function, FunctionId, Inst, InstId, Op, RegionId, Scalar, Type, Value, ValueId};
use std::collections::HashSet;

/// The bits of a number.
pub(super) const LOW: u64 = 0xff_ffff;

/// What becomes of a number that a loop carries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    Stays,
    /// Goes up by `step`, down if that is negative; brought back to 24 bits if `masked`.
    Induction {
        step: i64,
        masked: bool,
    },
    Sum(Op),
}

/// When a loop ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exit {
    /// The comparison that holds then, with the induction on the left.
    pub test: Op,
    /// Which carried number is compared.
    pub induction: usize,
    /// What it is compared with: not defined in the loop, or a carried number that stays.
    pub with: ValueId,
    /// The branch, and the region that ends the loop.
    pub branch: InstId,
    pub ends: usize,
}

/// A loop over a range.
#[derive(Clone, Debug)]
pub(super) struct Form {
    /// The function, which is one loop.
    pub function: Function,
    pub around: InstId,
    pub roles: Vec<Role>,
    pub exit: Exit,
    /// The instructions that end an iteration.
    pub again: Vec<InstId>,
}

impl Form {
    pub fn of(function: &Function, id: FunctionId) -> Option<Form> {
        let is_number = |ty: Type| matches!(ty, Type::U32 | Type::I32 | Type::F32 | Type::BOOL);
        let numbers = function.params.iter().all(|param| is_number(function.ty(*param)));
        if function.launch.is_some() || function.results.is_empty() || !numbers {
            return None;
        }
        let (function, around) = match whole_loop(function) {
            Some(around) => (function.clone(), around),
            None => as_loop(function, id)?,
        };
        let body = function.insts[around].regions[0];
        let exit_at = function.regions[body].insts.iter().position(|id| !function.insts[*id].regions.is_empty())?;
        let branch = function.regions[body].insts[exit_at];
        let before = &function.regions[body].insts[..exit_at];
        let plain = |id: &InstId| function.insts[*id].op.is_pure() && function.insts[*id].regions.is_empty();
        if !before.iter().all(plain) {
            return None;
        }
        let (ends, compared) = ends(&function, branch)?;
        let ending = &function.regions[function.insts[branch].regions[ends]].insts;
        if !ending[..ending.len() - 1].iter().all(plain) {
            return None;
        }
        let ignored: HashSet<InstId> = ending.iter().copied().collect();
        let again = again(&function, body, &ignored)?;
        let roles = roles(&function, (around, body), &again, &ignored)?;
        let exit = exit(&function, body, &roles, compared, (branch, ends))?;
        let has_sum = roles.iter().any(|role| matches!(role, Role::Sum(_)));
        has_sum.then_some(Form { function, around, roles, exit, again })
    }

    /// The loop's body.
    pub fn body(&self) -> RegionId {
        self.function.insts[self.around].regions[0]
    }
    /// The function's parameters that it reads.
    pub fn captured(&self) -> Vec<ValueId> {
        let mut found = vec![];
        self.function.walk(self.body(), &mut |_, inst| {
            for value in &inst.operands {
                if self.function.params.contains(value) && !found.contains(value) {
                    found.push(*value);
                }
            }
        });
        found
    }
    /// The numbers that it carries.
    pub fn carried(&self) -> &[ValueId] {
        &self.function.regions[self.body()].params
    }
}

fn is_op(op: Op) -> bool {
    super::super::neutral(op).is_some()
}

/// The number from which a sum by an operation begins.
pub(super) fn neutral(op: Op) -> u64 {
    super::super::neutral(op).unwrap_or(0)
}

/// A function that calls itself once as a loop that carries the sum.
fn as_loop(function: &Function, id: FunctionId) -> Option<(Function, InstId)> {
    let [ty] = function.results[..] else { return None };
    let scalar = ty.element().filter(|_| matches!(ty, Type::U32 | Type::I32))?;
    let places = Places::of(function);
    let mut own = vec![];
    let mut is_fine = true;
    function.walk(function.body, &mut |at, inst| {
        let is_own = inst.callee() == Some(id);
        if is_own && inst.op != Op::Join {
            own.push(at);
        }
        is_fine &= inst.op != Op::Tail && !(inst.op == Op::Loop && returns(function, inst.regions[0]));
    });
    let [call] = own[..] else { return None };
    let join = match function.insts[call].op {
        Op::Call => call,
        Op::Fork => joined(function, call)?,
        _no_rule => return None,
    };
    let result = *function.insts[join].results.first()?;
    let mut op = None;
    let search = Search { is_op, ty: scalar, carried: None, ignored: &HashSet::new() };
    let parts = places.parts(&[result], &search, &mut op).filter(|_| is_fine)?;
    let op = op?;

    let mut looped = function.clone();
    for region in looped.regions.iter_mut() {
        region.insts.retain(|id| *id != call && *id != join);
    }
    call_the_last_fork(&mut looped);
    let around = enter_loop(&mut looped);
    let body = looped.insts[around].regions[0];
    let start = looped.constant(ty, neutral(op) & scalar.mask());
    looped.insts[around].operands.push(start);
    let position = looped.regions[body].params.len() as u32;
    let sum = looped.values.push(Value { ty, name: None, def: Def::Argument(body, position) });
    looped.regions[body].params.push(sum);
    let arguments = looped.insts[call].operands.clone();
    let mut ends = vec![];
    in_loop(&looped, body, &mut |region, id| ends.extend((looped.insts[id].op == Op::Break).then_some((region, id))));
    for inst in looped.insts.iter_mut() {
        inst.operands.iter_mut().filter(|v| **v == result).for_each(|v| *v = sum);
    }
    for (region, end) in ends {
        let given = looped.insts[end].operands[0];
        if given == sum || parts.contains(&given) {
            let mut operands = arguments.clone();
            operands.push(given);
            looped.insts[end] = Inst::new(Op::Continue, None, &operands, looped.insts[end].span);
        } else {
            let combined = looped.insts.push(Inst::new(op, Some(ty), &[sum, given], looped.insts[end].span));
            let value = looped.values.push(Value { ty, name: None, def: Def::Result(combined, 0) });
            looped.insts[combined].results.push(value);
            looped.insts[end].operands[0] = value;
            let at = looped.regions[region].insts.len() - 1;
            looped.regions[region].insts.insert(at, combined);
        }
    }
    Some((looped, around))
}

fn returns(function: &Function, region: RegionId) -> bool {
    let mut found = false;
    function.walk(region, &mut |_, inst| found |= inst.op == Op::Return);
    found
}

/// The join of a fork.
fn joined(function: &Function, fork: InstId) -> Option<InstId> {
    let token = *function.insts[fork].results.first()?;
    let mut found = None;
    function.walk(function.body, &mut |id, inst| {
        if inst.op == Op::Join && inst.operands.contains(&token) {
            found = Some(id);
        }
    });
    found
}

/// The only call that is still forked has nothing beside it any more.
fn call_the_last_fork(function: &mut Function) {
    let mut forks = vec![];
    function.walk(function.body, &mut |id, inst| forks.extend((inst.op == Op::Fork).then_some(id)));
    let [fork] = forks[..] else { return };
    let Some(join) = joined(function, fork) else { return };
    let (operands, attrs) = (function.insts[fork].operands.clone(), function.insts[fork].attrs.clone());
    let made = Inst { op: Op::Call, operands, attrs, ..function.insts[join].clone() };
    function.insts[join] = made;
    for region in function.regions.iter_mut() {
        region.insts.retain(|id| *id != fork);
    }
}

/// Visits the instructions of a loop's body that are not inside of another loop.
fn in_loop(function: &Function, region: RegionId, visit: &mut impl FnMut(RegionId, InstId)) {
    for id in &function.regions[region].insts {
        visit(region, *id);
        let inst = &function.insts[*id];
        if inst.op != Op::Loop {
            inst.regions.iter().for_each(|inner| in_loop(function, *inner, visit));
        }
    }
}

/// Which arm of the branch ends the loop, while the other one does nothing; and the comparison.
fn ends(function: &Function, branch: InstId) -> Option<(usize, InstId)> {
    let inst = &function.insts[branch];
    if inst.op != Op::If || !inst.results.is_empty() {
        return None;
    }
    let last = |region: RegionId| function.terminator(region).map(|inst| inst.op);
    let is_empty = |region: RegionId| function.regions[region].insts.len() == 1 && last(region) == Some(Op::Yield);
    let ends = (0..2).find(|i| last(inst.regions[*i]) == Some(Op::Break) && is_empty(inst.regions[1 - *i]))?;
    let Def::Result(compared, _) = function.values[inst.operands[0]].def else { return None };
    Some((ends, compared))
}

/// The instructions that begin the next iteration; `None` if the loop ends or goes on in another way, too.
fn again(function: &Function, body: RegionId, ending: &HashSet<InstId>) -> Option<Vec<InstId>> {
    let (mut again, mut is_fine) = (vec![], true);
    in_loop(function, body, &mut |_, id| match function.insts[id].op {
        Op::Continue => again.push(id),
        Op::Break | Op::While | Op::Return | Op::Tail if !ending.contains(&id) => is_fine = false,
        _no_rule => {}
    });
    (is_fine && !again.is_empty()).then_some(again)
}

fn roles(
    function: &Function,
    (around, body): (InstId, RegionId),
    again: &[InstId],
    ignored: &HashSet<InstId>,
) -> Option<Vec<Role>> {
    let places = Places::of(function);
    let params = &function.regions[body].params;
    if function.insts[around].operands.len() != params.len() {
        return None;
    }
    let role = |position: usize, param: ValueId| {
        let next: Vec<ValueId> = again.iter().map(|id| function.insts[*id].operands[position]).collect();
        if next.iter().all(|value| *value == param) {
            return Some(Role::Stays);
        }
        let steps: Option<Vec<(i64, bool)>> = next.iter().map(|value| step(function, param, *value)).collect();
        if let Some([(step, masked), others @ ..]) = steps.as_deref()
            && others.iter().all(|other| *other == (*step, *masked))
        {
            return Some(Role::Induction { step: *step, masked: *masked });
        }
        let ty = function.ty(param);
        let scalar = ty.element().filter(|_| matches!(ty, Type::U32 | Type::I32))?;
        let mut op = None;
        let search = Search { is_op, ty: scalar, carried: Some(position), ignored };
        places.parts(&[param], &search, &mut op)?;
        op.map(Role::Sum)
    };
    params.iter().enumerate().map(|(position, param)| role(position, *param)).collect()
}

/// By how much a number is changed, and whether it is brought back to 24 bits.
fn step(function: &Function, param: ValueId, value: ValueId) -> Option<(i64, bool)> {
    let made = |value: ValueId| match function.values[value].def {
        Def::Result(inst, 0) => Some(&function.insts[inst]),
        _other => None,
    };
    let inst = made(value)?;
    let masked = inst.op == Op::And && function.as_constant(inst.operands[1]) == Some(LOW);
    let inst = if masked { made(inst.operands[0])? } else { inst };
    if inst.ty != Some(Type::U32) || inst.operands[0] != param {
        return None;
    }
    let by =
        i64::try_from(function.as_constant(*inst.operands.get(1)?)?).ok().filter(|by| (1..1 << 20).contains(by))?;
    match inst.op {
        Op::Add => Some((by, masked)),
        Op::Sub => Some((-by, masked)),
        _no_rule => None,
    }
}

/// The end of a loop whose number of iterations can be computed.
fn exit(
    function: &Function,
    body: RegionId,
    roles: &[Role],
    compared: InstId,
    (branch, ends): (InstId, usize),
) -> Option<Exit> {
    let inst = &function.insts[compared];
    let params = &function.regions[body].params;
    if inst.ty != Some(Type::Scalar(Scalar::U32)) {
        return None;
    }
    let [x, y] = inst.operands[..] else { return None };
    let induction = |value: ValueId| {
        let at = params.iter().position(|param| *param == value)?;
        matches!(roles[at], Role::Induction { masked: true, .. }).then_some(at)
    };
    let stays = |value: ValueId| match function.values[value].def {
        Def::Constant(_) | Def::Param(_) => true,
        Def::Argument(region, at) => region == body && matches!(roles[at as usize], Role::Stays),
        Def::Result(..) | Def::Specialisation(_) | Def::Memory(_) => false,
    };
    let mirrored = |op: Op| match op {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        _no_rule => op,
    };
    let (induction, with, test) = match (induction(x), induction(y)) {
        (Some(at), None) if stays(y) => (at, y, inst.op),
        (None, Some(at)) if stays(x) => (at, x, mirrored(inst.op)),
        _neither => return None,
    };
    let opposite = |op: Op| match op {
        Op::Lt => Op::Ge,
        Op::Le => Op::Gt,
        Op::Gt => Op::Le,
        Op::Ge => Op::Lt,
        Op::Eq => Op::Ne,
        Op::Ne => Op::Eq,
        _no_rule => op,
    };
    let test = if ends == 0 { test } else { opposite(test) };
    let Role::Induction { step, .. } = roles[induction] else { return None };
    let one = step.abs() == 1;
    let known = function.as_constant(with);
    // Numbers that pass by the one they are compared with begin again at the other end of the range.
    let is_met = match (test, step < 0) {
        (Op::Eq, _) => one,
        (Op::Lt, true) => one || known.is_some_and(|k| k as i64 >= -step),
        (Op::Le, true) => one || known.is_some_and(|k| k as i64 >= -step - 1),
        (Op::Ge, false) => one || known.is_some_and(|k| k as i64 <= LOW as i64 + 1 - step),
        (Op::Gt, false) => one || known.is_some_and(|k| k as i64 <= LOW as i64 - step),
        _no_rule => false,
    };
    is_met.then_some(Exit { test, induction, with, branch, ends })
}

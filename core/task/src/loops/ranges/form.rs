//! Whether a function is a loop over a range: its inductions, its sums, and the test that ends it.
//!
//! Recursion with one call of itself, whose results only become part of the function's, is made such a loop first ([`recursion`]).
//!
//! Invariant: the loop of a [`Form`] gives what the function gives, and its body ends by `continue` except where the test ends it.

use super::super::parts::{Places, Search};
use super::super::whole_loop;
use super::recursion;
use girih_ir::{Def, Function, FunctionId, InstId, Op, RegionId, Scalar, Type, ValueId};
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
    /// Of what decided about a sum: that of a later iteration where `later test earlier` holds for the numbers at position `by`, of which the sum keeps
    /// the larger or the smaller one.
    Chosen {
        by: usize,
        test: Op,
    },
}

impl Role {
    /// Whether each part of a range finds one of its own.
    pub fn is_found(&self) -> bool {
        matches!(self, Role::Sum(_) | Role::Chosen { .. })
    }
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
            None => recursion::as_loop(function, id)?,
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

pub(super) fn is_op(op: Op) -> bool {
    super::super::neutral(op, Scalar::U32).is_some()
}

/// The number from which a sum by an operation begins, which is of a type of whole numbers.
pub(super) fn neutral(op: Op, ty: Type) -> u64 {
    ty.element().and_then(|scalar| super::super::neutral(op, scalar)).unwrap_or(0)
}

/// Visits the instructions of a loop's body that are not inside of another loop.
pub(super) fn in_loop(function: &Function, region: RegionId, visit: &mut impl FnMut(RegionId, InstId)) {
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
    let next = |position: usize| again.iter().map(move |id| function.insts[*id].operands[position]);
    let chosen: Vec<Option<Chosen>> =
        (0..params.len()).map(|position| chosen(function, &places, (params, position), again, ignored)).collect();
    // What decides about something else, too, is no matter of the range's parts alone.
    let selects: HashSet<InstId> = chosen.iter().flatten().flat_map(|chosen| chosen.selects.iter().copied()).collect();
    let is_for_these = |test: &InstId| {
        places
            .uses(function.insts[*test].results[0])
            .all(|(user, _)| selects.contains(&user) || ignored.contains(&user))
    };
    if !chosen.iter().flatten().flat_map(|chosen| &chosen.tests).all(is_for_these) {
        return None;
    }
    let role = |position: usize, param: ValueId| {
        if next(position).all(|value| value == param) {
            return Some(Role::Stays);
        }
        let steps: Option<Vec<(i64, bool)>> = next(position).map(|value| step(function, param, value)).collect();
        if let Some([(step, masked), others @ ..]) = steps.as_deref()
            && others.iter().all(|other| *other == (*step, *masked))
        {
            return Some(Role::Induction { step: *step, masked: *masked });
        }
        if let Some(Chosen { by, test, .. }) = &chosen[position] {
            return Some(Role::Chosen { by: *by, test: *test });
        }
        let ty = function.ty(param);
        let scalar = ty.element().filter(|_| matches!(ty, Type::U32 | Type::I32))?;
        let mut op = None;
        let deciding = chosen.iter().flatten().filter(|chosen| chosen.by == position);
        let ignored = ignored.iter().chain(deciding.flat_map(|chosen| &chosen.tests)).copied().collect();
        let search = Search { is_op, ty: scalar, carried: Some(position), given: None, ignored: &ignored };
        places.parts(&[param], &search, &mut op)?;
        op.map(Role::Sum)
    };
    let roles: Option<Vec<Role>> = params.iter().enumerate().map(|(position, param)| role(position, *param)).collect();
    let is_decided = |role: &Role| match role {
        Role::Chosen { by, .. } => matches!(roles.as_ref().map(|roles| roles[*by]), Some(Role::Sum(Op::Max | Op::Min))),
        Role::Stays | Role::Induction { .. } | Role::Sum(_) => true,
    };
    roles.as_ref()?.iter().all(is_decided).then(|| roles.clone()).flatten()
}

/// A number that goes with the largest or smallest of others.
struct Chosen {
    by: usize,
    test: Op,
    /// The comparisons that decide, and the selections.
    tests: Vec<InstId>,
    selects: Vec<InstId>,
}

/// Whether what a loop carries at a position is chosen by a comparison of another number that it carries.
fn chosen(
    function: &Function,
    places: &Places<'_>,
    (params, position): (&[ValueId], usize),
    again: &[InstId],
    ignored: &HashSet<InstId>,
) -> Option<Chosen> {
    let param = params[position];
    let mut found: Option<Chosen> = None;
    for id in again {
        let operands = &function.insts[*id].operands;
        if operands[position] == param {
            continue;
        }
        let Def::Result(select, 0) = function.values[operands[position]].def else { return None };
        let decided = decided(function, select)?;
        let (by, earlier) = params.iter().enumerate().find_map(|(at, key)| Some((at, decided.side_of(*key)?)))?;
        let test = decided.taken_over(earlier, param)?;
        let is_kept = decided.keeps(function, operands[by], test);
        let is_alone = places.uses(operands[position]).all(|(user, at)| user == *id && at == position);
        if !is_kept || !is_alone || found.as_ref().is_some_and(|found| (found.by, found.test) != (by, test)) {
            return None;
        }
        let found = found.get_or_insert(Chosen { by, test, tests: vec![], selects: vec![] });
        found.tests.push(decided.compared);
        found.selects.push(select);
    }
    let found = found.filter(|found| found.by != position)?;
    let is_chosen = |(user, at): (InstId, usize)| {
        ignored.contains(&user) || found.selects.contains(&user) || again.contains(&user) && at == position
    };
    places.uses(param).all(is_chosen).then_some(found)
}

/// A selection by a comparison of whole numbers.
pub(super) struct Decided {
    pub compared: InstId,
    pub test: Op,
    pub x: ValueId,
    pub y: ValueId,
    pub yes: ValueId,
    pub no: ValueId,
}

/// What a selection is decided by.
pub(super) fn decided(function: &Function, select: InstId) -> Option<Decided> {
    let inst = &function.insts[select];
    let (Op::Select, [condition, yes, no]) = (inst.op, &inst.operands[..]) else { return None };
    let Def::Result(compared, 0) = function.values[*condition].def else { return None };
    let comparison = &function.insts[compared];
    let ([x, y], true) = (&comparison.operands[..], matches!(comparison.ty, Some(Type::U32 | Type::I32))) else {
        return None;
    };
    let is_ordered = matches!(comparison.op, Op::Lt | Op::Le | Op::Gt | Op::Ge) && x != y;
    let (x, y, yes, no) = (*x, *y, *yes, *no);
    is_ordered.then_some(Decided { compared, test: comparison.op, x, y, yes, no })
}

impl Decided {
    /// On which side of the comparison a value stands.
    pub fn side_of(&self, value: ValueId) -> Option<Side> {
        match (self.x == value, self.y == value) {
            (true, _) => Some(Side::Left),
            (_, true) => Some(Side::Right),
            (false, false) => None,
        }
    }

    /// The test of the other number with the one on a side that holds where `kept` is not chosen; none if that is no arm, or both.
    pub fn taken_over(&self, side: Side, kept: ValueId) -> Option<Op> {
        let test = match (self.yes == kept, self.no == kept) {
            (false, true) => self.test,
            (true, false) => opposite(self.test),
            _neither => return None,
        };
        Some(if side == Side::Left { mirrored(test) } else { test })
    }

    /// Whether a value is the larger or the smaller one of the numbers that are compared: the one that a later iteration's takes the place of where `test`
    /// holds between them.
    pub fn keeps(&self, function: &Function, value: ValueId, test: Op) -> bool {
        let Def::Result(inst, 0) = function.values[value].def else { return false };
        let inst = &function.insts[inst];
        let is_kept = match inst.op {
            Op::Max => matches!(test, Op::Gt | Op::Ge),
            Op::Min => matches!(test, Op::Lt | Op::Le),
            _no_rule => false,
        };
        is_kept && [[self.x, self.y], [self.y, self.x]].iter().any(|pair| inst.operands[..] == *pair)
    }

    /// Which operand of the comparison the number is that is compared with the one on a side, and which of the selection is selected where `kept` is not.
    pub fn others(&self, side: Side, kept: ValueId) -> (usize, usize) {
        (usize::from(side == Side::Left), if self.yes == kept { 2 } else { 1 })
    }
}

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// The comparison of two numbers that stand the other way round.
pub(super) fn mirrored(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        _no_rule => op,
    }
}

/// The comparison of whole numbers that holds where another one does not.
pub(super) fn opposite(op: Op) -> Op {
    match op {
        Op::Lt => Op::Ge,
        Op::Le => Op::Gt,
        Op::Gt => Op::Le,
        Op::Ge => Op::Lt,
        Op::Eq => Op::Ne,
        Op::Ne => Op::Eq,
        _no_rule => op,
    }
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
    let (induction, with, test) = match (induction(x), induction(y)) {
        (Some(at), None) if stays(y) => (at, y, inst.op),
        (None, Some(at)) if stays(x) => (at, x, mirrored(inst.op)),
        _neither => return None,
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

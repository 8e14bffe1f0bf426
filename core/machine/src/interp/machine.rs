//! The machine that runs a workgroup: all invocations in step, each instruction once for all lanes that take part.
//!
//! Control flow is a stack of places where lanes wait for others. The lanes in `mask` run; a lane that comes to the end of
//! a region is noted with the join or loop that it goes on from, and when no lane is left the top of the stack says who
//! runs next. Nothing recurses, so nesting and call depth are bounded by memory only.

use super::activation::{Activation, Handle, Origin, owners, owning};
use super::checks::Checks;
use super::code::{Action, Code, Moves, Slot, Step, Team};
use super::copies::Copies;
use super::elements::Elements;
use super::fault::Fault;
use super::mask::Mask;
use super::products::Products;
use super::program::{Layout, Program};
use girih_base::diag::Code as Kind;
use girih_base::span::Span;
use girih_ir::eval::Function as Meaning;
use girih_ir::types::Space;
use girih_ir::{FunctionId, Inst};

/// Most calls that may be under way at once, and the most numbers that they may hold if all were like the last.
const CALL_DEPTH: usize = 100_000;
const CALL_VALUES: usize = 1 << 27;

/// The memories of a device that a dispatch reaches.
#[derive(Debug, Default)]
pub(super) struct Memories {
    /// Buffers, by their id.
    pub buffers: Vec<Vec<u8>>,
    /// The workgroup's shared bytes.
    pub shared: Vec<u8>,
}

/// A place where lanes wait.
#[derive(Clone, Debug)]
enum Wait {
    /// Behind an `if` or `switch`.
    Join {
        end: usize,
        /// Who has come.
        out: Mask,
        /// The regions that have not run yet lie above this in `pending`.
        pending: usize,
    },
    /// At a loop.
    Loop { start: usize, end: usize, again: Mask, out: Mask },
}

/// A call under way.
#[derive(Debug)]
struct Caller {
    activation: Activation,
    /// The step behind the call.
    next: usize,
    /// Where the call's results go.
    results: Vec<Slot>,
    mask: Mask,
    /// How high the stack was.
    waits: usize,
}

/// A workgroup that runs.
#[derive(Debug)]
pub(super) struct Machine<'a> {
    pub program: &'a Program,
    pub layout: &'a Layout,
    pub team: Team,
    pub memories: Memories,
    pub activation: Activation,
    pub mask: Mask,
    /// All invocations of the workgroup.
    pub all: Mask,
    /// Those that have not ended.
    pub alive: Mask,
    pub workgroup: [u32; 3],
    pub grid: [u32; 3],
    pub checks: Option<Box<Checks>>,
    pub copies: Copies,
    pub products: Products,
    /// Operations that work by element and are under way, the outermost first.
    pub elements: Vec<Elements>,
    /// What programs have printed.
    pub printed: Vec<String>,
    /// The first trap of the dispatch.
    pub trap: Option<(u32, Span)>,
    /// Steps that may still be made.
    pub fuel: u64,
    /// Byte addresses of an access, by lane.
    pub addresses: Vec<u64>,
    /// What the outermost function returned: component after component, lane after lane.
    pub returned: Vec<Vec<u64>>,
    pub code: &'a Code,
    pub next: usize,
    waits: Vec<Wait>,
    pending: Vec<(usize, Mask)>,
    callers: Vec<Caller>,
    /// Frames of functions that have returned, to be used again.
    spare: Vec<Activation>,
    /// Numbers that are copied as if at once, and their origins.
    scratch: (Vec<u64>, Vec<Origin>),
}

impl<'a> Machine<'a> {
    /// A machine for the workgroups of one dispatch; the program's outermost function has its parameters still to be set.
    pub(super) fn new(
        program: &'a Program,
        layout: &'a Layout,
        memories: Memories,
        checks: Option<Box<Checks>>,
    ) -> Self {
        let team = program.team;
        let code = program.code(program.main);
        let activation = Activation::new(program.main, code, team, checks.is_some(), layout.handles(program.main));
        let mut machine = Machine {
            program,
            layout,
            team,
            memories,
            activation,
            mask: Mask::EMPTY,
            all: Mask::first(team.lanes),
            alive: Mask::EMPTY,
            workgroup: [0; 3],
            grid: [1; 3],
            checks,
            copies: Copies::default(),
            products: Products::default(),
            elements: vec![],
            printed: vec![],
            trap: None,
            fuel: u64::MAX,
            addresses: vec![0; team.lanes],
            returned: vec![],
            code,
            next: 0,
            waits: vec![],
            pending: vec![],
            callers: vec![],
            spare: vec![],
            scratch: (vec![], vec![]),
        };
        machine.memories.shared = vec![0; layout.shared_bytes];
        machine
    }

    /// Runs a workgroup from beginning to end.
    pub(super) fn run(&mut self, workgroup: [u32; 3]) -> Result<(), Fault> {
        self.begin(workgroup);
        let program = self.program;
        loop {
            let code: &'a Code = self.code;
            let Some(step) = code.steps.get(self.next) else {
                // A region ends with a terminator, so only a function without steps comes here.
                self.mask = Mask::EMPTY;
                if self.resume() { continue } else { return Ok(()) }
            };
            self.next += 1;
            self.fuel = self.fuel.checked_sub(1).ok_or_else(|| self.out_of_fuel(step))?;
            match &step.action {
                Action::Apply(meaning) => self.apply(step, *meaning),
                Action::Perform => self.perform(step)?,
                Action::Call(callee) => self.call(program, step, *callee)?,
                Action::Elements { params, end } => self.begin_elements(step, params, *end),
                Action::Give => self.give_elements(step),
                Action::If { .. } | Action::Switch { .. } => self.split(step)?,
                Action::Loop { enter, end } => {
                    self.moves(enter);
                    let (again, out) = (Mask::EMPTY, Mask::EMPTY);
                    self.waits.push(Wait::Loop { start: self.next, end: *end, again, out });
                }
                Action::Yield(_) | Action::Break(_) | Action::Continue(_) | Action::While { .. } | Action::Return => {
                    self.terminate(step)?;
                    if !self.resume() {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn begin(&mut self, workgroup: [u32; 3]) {
        self.workgroup = workgroup;
        self.mask = self.all;
        self.alive = self.all;
        self.next = 0;
        self.memories.shared.fill(0);
        self.activation.private.fill(0);
        self.copies.clear(self.team.lanes);
        self.products.clear(self.team.lanes);
        self.elements.clear();
        if let Some(checks) = &mut self.checks {
            // What was undefined in the last workgroup is not in this one.
            self.spare.clear();
            checks.begin_workgroup();
            checks.begin_activation(&mut self.activation);
        }
    }

    /// Ends a region for the lanes that run.
    fn terminate(&mut self, step: &'a Step) -> Result<(), Fault> {
        let mask = self.mask;
        match &step.action {
            Action::Yield(moves) => {
                self.moves(moves);
                if let Some(Wait::Join { out, .. }) = self.waits.last_mut() {
                    *out = out.or(mask);
                }
            }
            Action::Break(moves) => {
                self.moves(moves);
                self.leave(mask);
            }
            Action::Continue(moves) => {
                self.moves(moves);
                self.again(mask);
            }
            Action::While { next, exit } => {
                let going = self.condition(step)?;
                self.mask = mask.without(going);
                self.moves(exit);
                self.leave(self.mask);
                self.mask = going;
                self.moves(next);
                self.again(going);
            }
            Action::Return => self.give_results(step),
            Action::Apply(_)
            | Action::Perform
            | Action::Call(_)
            | Action::Elements { .. }
            | Action::Give
            | Action::If { .. }
            | Action::Switch { .. }
            | Action::Loop { .. } => {}
        }
        self.mask = Mask::EMPTY;
        Ok(())
    }

    /// The innermost loop of the function that runs.
    fn innermost_loop(&mut self) -> Option<(&mut Mask, &mut Mask)> {
        self.waits.iter_mut().rev().find_map(|wait| match wait {
            Wait::Loop { again, out, .. } => Some((again, out)),
            Wait::Join { .. } => None,
        })
    }
    fn leave(&mut self, mask: Mask) {
        if let Some((_, out)) = self.innermost_loop() {
            *out = out.or(mask);
        }
    }
    fn again(&mut self, mask: Mask) {
        if let Some((again, _)) = self.innermost_loop() {
            *again = again.or(mask);
        }
    }

    /// No lane runs: finds those that go on. False if the workgroup has ended.
    fn resume(&mut self) -> bool {
        loop {
            let bottom = self.callers.last().map_or(0, |caller| caller.waits);
            if self.waits.len() == bottom {
                return self.end_call();
            }
            match self.waits.last_mut() {
                Some(Wait::Join { pending, .. }) if self.pending.len() > *pending => {
                    if let Some((next, mask)) = self.pending.pop() {
                        (self.next, self.mask) = (next, mask);
                        return true;
                    }
                }
                Some(Wait::Loop { start, again, .. }) if !again.is_empty() => {
                    self.mask = std::mem::replace(again, Mask::EMPTY);
                    self.next = *start;
                    return true;
                }
                Some(Wait::Join { end, out, .. } | Wait::Loop { end, out, .. }) => {
                    (self.next, self.mask) = (*end, *out);
                    self.waits.pop();
                    if !self.mask.is_empty() {
                        return true;
                    }
                }
                None => return false,
            }
        }
    }

    /// Splits the lanes that run among the regions of a step.
    fn split(&mut self, step: &'a Step) -> Result<(), Fault> {
        let mask = self.mask;
        let pending = self.pending.len();
        let (end, out) = match &step.action {
            Action::If { then, otherwise, end } => {
                let holds = self.condition(step)?;
                let fails = mask.without(holds);
                let mut out = Mask::EMPTY;
                match otherwise {
                    Some(otherwise) if !fails.is_empty() => self.pending.push((*otherwise, fails)),
                    Some(_) => {}
                    None => out = fails,
                }
                if !holds.is_empty() {
                    self.pending.push((*then, holds));
                }
                (*end, out)
            }
            Action::Switch { table, regions, end } => {
                self.defined(step, 0, "decides a `switch`")?;
                let value = step.operands[0].offset;
                let region = |lane: usize| {
                    let bits = self.activation.values[value + lane];
                    table.binary_search_by_key(&bits, |row| row.0).map_or(regions.len() - 1, |row| table[row].1)
                };
                let mut rest = mask;
                let mut found = vec![];
                while let Some(lane) = rest.iter().next() {
                    let here = region(lane);
                    let lanes = rest.filter(|lane| region(lane) == here);
                    rest = rest.without(lanes);
                    found.push((here, lanes));
                }
                found.sort_unstable_by_key(|(region, _)| std::cmp::Reverse(*region));
                self.pending.extend(found.into_iter().map(|(region, lanes)| (regions[region], lanes)));
                (*end, Mask::EMPTY)
            }
            Action::Apply(_)
            | Action::Perform
            | Action::Call(_)
            | Action::Elements { .. }
            | Action::Give
            | Action::Loop { .. }
            | Action::Yield(_)
            | Action::Break(_)
            | Action::Continue(_)
            | Action::While { .. }
            | Action::Return => return Ok(()),
        };
        self.waits.push(Wait::Join { end, out, pending });
        self.mask = Mask::EMPTY;
        self.resume();
        Ok(())
    }

    /// Of the lanes that run, those whose first operand holds.
    fn condition(&mut self, step: &Step) -> Result<Mask, Fault> {
        self.defined(step, 0, "decides a branch")?;
        let offset = step.operands[0].offset;
        Ok(self.mask.filter(|lane| self.activation.values[offset + lane] != 0))
    }

    /// Copies values as if at once.
    pub(super) fn moves(&mut self, moves: &Moves) {
        let (mask, team) = (self.mask, self.team);
        if mask.is_empty() {
            return;
        }
        if !moves.overlap {
            moves.pairs.iter().for_each(|(from, to)| copy(&mut self.activation, *from, *to, &mask, team));
            return;
        }
        let (values, origins) = (&mut self.activation.values, &mut self.activation.origins);
        let (saved, saved_origins) = &mut self.scratch;
        saved.clear();
        saved_origins.clear();
        for (from, _) in &moves.pairs {
            places(*from, &mask, team, |place| saved.push(values[place]));
            if !origins.is_empty() {
                places(*from, &mask, team, |place| saved_origins.push(origins[place]));
            }
        }
        let (mut saved, mut saved_origins) = (saved.drain(..), saved_origins.drain(..));
        for (_, to) in &moves.pairs {
            places(*to, &mask, team, |place| values[place] = saved.next().unwrap_or(0));
            if !origins.is_empty() {
                places(*to, &mask, team, |place| origins[place] = saved_origins.next().unwrap_or(0));
            }
        }
    }

    /// Applies scalar arithmetic to every component of the lanes that run.
    fn apply(&mut self, step: &Step, meaning: Meaning) {
        if self.team.program {
            self.apply_to_tiles(step, meaning);
            return self.spread(step);
        }
        let (mask, lanes) = (self.mask, self.team.lanes);
        let values = &mut self.activation.values;
        let result = step.results[0];
        for component in 0..result.components {
            let shift = component * lanes;
            let to = result.offset + shift;
            match (meaning, &step.operands[..]) {
                (Meaning::Unary(f), [a]) => {
                    let a = a.offset + shift;
                    mask.each(|lane| values[to + lane] = f(values[a + lane]));
                }
                (Meaning::Binary(f), [a, b]) => {
                    let (a, b) = (a.offset + shift, b.offset + shift);
                    mask.each(|lane| values[to + lane] = f(values[a + lane], values[b + lane]));
                }
                (Meaning::Ternary(f), [a, b, c]) => {
                    let (a, b, c) = (a.offset + shift, b.offset + shift, c.offset + shift);
                    mask.each(|lane| values[to + lane] = f(values[a + lane], values[b + lane], values[c + lane]));
                }
                // The verifier counts operands.
                (Meaning::Unary(_) | Meaning::Binary(_) | Meaning::Ternary(_), _) => {}
            }
        }
        self.spread(step);
    }

    fn call(&mut self, program: &'a Program, step: &'a Step, callee: FunctionId) -> Result<(), Fault> {
        let code = program.code(callee);
        let depth = self.callers.len();
        if depth >= CALL_DEPTH || depth * (code.values + code.private_bytes * self.team.lanes / 8) > CALL_VALUES {
            let message = format!("{depth} calls of `@{}` and others are under way", self.name(callee));
            return Err(self.fault(Kind::OutOfFuel, step, message).hint("recursion must end").into());
        }
        let mut activation = self.spare_activation(callee, code);
        let (mask, team) = (self.mask, self.team);
        for (from, to) in step.operands.iter().zip(&code.params) {
            if from.owner == super::code::Owner::Handle {
                activation.handles[to.offset] = self.activation.handles[from.offset];
            } else {
                copy_between(&self.activation, *from, &mut activation, *to, &mask, team);
            }
        }
        if let Some(checks) = &mut self.checks {
            checks.begin_call(&mut activation, code.private_bytes, &mask);
        }
        if code.private_bytes > 0 {
            mask.each(|lane| activation.private[lane * code.private_bytes..][..code.private_bytes].fill(0));
        }
        let activation = std::mem::replace(&mut self.activation, activation);
        let waits = self.waits.len();
        self.callers.push(Caller { activation, next: self.next, results: step.results.clone(), mask, waits });
        self.code = code;
        self.next = 0;
        Ok(())
    }

    fn spare_activation(&mut self, callee: FunctionId, code: &Code) -> Activation {
        match self.spare.iter().position(|activation| activation.function == callee) {
            Some(i) => self.spare.swap_remove(i),
            None => Activation::new(callee, code, self.team, self.checks.is_some(), self.layout.handles(callee)),
        }
    }

    /// The lanes that run return their operands.
    fn give_results(&mut self, step: &Step) {
        let (mask, team) = (self.mask, self.team);
        match self.callers.last_mut() {
            Some(caller) => {
                for (from, to) in step.operands.iter().zip(&caller.results) {
                    copy_between(&self.activation, *from, &mut caller.activation, *to, &mask, team);
                }
            }
            None => {
                self.alive = self.alive.without(mask);
                self.returned.resize(step.operands.len(), vec![]);
                for (from, to) in step.operands.iter().zip(&mut self.returned) {
                    let count = from.components * owners(*from, team);
                    to.resize(count, 0);
                    places(Slot { offset: 0, ..*from }, &mask, team, |place| {
                        to[place] = self.activation.values[from.offset + place];
                    });
                }
            }
        }
    }

    /// All lanes of a call have returned. False if there was no call: the workgroup has ended.
    fn end_call(&mut self) -> bool {
        let Some(caller) = self.callers.pop() else { return false };
        let activation = std::mem::replace(&mut self.activation, caller.activation);
        self.spare.push(activation);
        self.code = self.program.code(self.activation.function);
        self.next = caller.next;
        self.mask = caller.mask;
        true
    }

    /// The instruction that a step was made from.
    pub(super) fn inst(&self, step: &Step) -> &'a Inst {
        let program: &'a Program = self.program;
        &program.module.functions[self.activation.function].insts[step.inst]
    }
    /// The handle that is a step's operand.
    pub(super) fn handle(&self, step: &Step, operand: usize) -> Handle {
        self.activation.handles[step.operands[operand].offset]
    }
    /// The bytes that a handle leads into, and the distance between those of two lanes.
    pub(super) fn bytes(&self, handle: Handle) -> &[u8] {
        match handle.space {
            Space::Global => &self.memories.buffers[handle.buffer],
            Space::Shared => &self.memories.shared,
            Space::Private => &self.activation.private,
        }
    }
}

/// Calls `f` with the place of each component for each lane (or subgroup) that takes part.
pub(super) fn places(slot: Slot, mask: &Mask, team: Team, mut f: impl FnMut(usize)) {
    if team.program {
        return (slot.offset..slot.offset + slot.components).for_each(f);
    }
    let (stride, mask) = (owners(slot, team), owning(slot, mask, team));
    for component in 0..slot.components {
        let start = slot.offset + component * stride;
        mask.each(|owner| f(start + owner));
    }
}

/// Copies a value within a activation.
fn copy(activation: &mut Activation, from: Slot, to: Slot, mask: &Mask, team: Team) {
    let values = &mut activation.values;
    places(to, mask, team, |place| values[place] = values[place - to.offset + from.offset]);
    let origins = &mut activation.origins;
    if !origins.is_empty() {
        places(to, mask, team, |place| origins[place] = origins[place - to.offset + from.offset]);
    }
}

fn copy_between(source: &Activation, from: Slot, target: &mut Activation, to: Slot, mask: &Mask, team: Team) {
    places(to, mask, team, |place| target.values[place] = source.values[place - to.offset + from.offset]);
    if !source.origins.is_empty() {
        places(to, mask, team, |place| target.origins[place] = source.origins[place - to.offset + from.offset]);
    }
}

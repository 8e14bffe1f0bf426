//! Calls: small ones are made in place; others have a script of their own, and what is needed behind them stands in slots of the caller's frame
//! meanwhile.
//!
//! A call that is not made in place waits until somebody needs what it gives on the device; what is known of its results is known before. Then
//! all that wait are made, those of one function together, by two, four or eight instances for each one, as long as there are not too many
//! instances; after that one after another. Of three calls of numbers the last is made twice, if lanes are free. Arguments of which the host knows where they stand need no slots.

use super::code::{Code, Dev, State, Val};
use super::evaluate::{Cost, Sweeper, somewhere};
use super::known::Known;
use super::script::{Call, CallScript, Item, Script};
use crate::Refusal;
use girih_ir::{Def, Function, FunctionId, Inst, InstId, Op, RegionId, Type, ValueId};
use std::collections::BTreeSet;
use std::fmt::Write;

impl<'a> Sweeper<'a> {
    pub fn call(
        &mut self,
        f: &mut CallScript,
        callee: FunctionId,
        arguments: Vec<Val>,
        inst: Option<&Inst>,
    ) -> Result<Vec<Val>, Refusal> {
        let mut known: Vec<Known> = arguments.iter().map(|val| self.fresh(f, *val).known).collect();
        if let (Some(new), Some(inst)) = (self.pure[callee], inst)
            && !known.iter().all(|known| known.bits().is_some())
        {
            return Ok(self.operation(f, inst, Some(new)));
        }
        self.forget(callee, &mut known);
        let cost = self.cost(callee, &known)?;
        if f.code.confined > 0 && cost.count > self.options.most {
            return Err(Refusal::new("there is too much to do on one's own"));
        }
        if !f.code.is_written {
            f.code.count = f.code.count.saturating_add(cost.count);
            f.has_forks |= cost.forks;
            return Ok(cost.results.iter().map(|known| somewhere(f, *known)).collect());
        }
        let waits = arguments.iter().any(|val| f.code.waits(*val));
        if f.code.confined > 0 || self.is_in_place(f, callee, &cost, waits) {
            return self.inline(f, callee, arguments);
        }
        let number = f.calls.len();
        f.calls.push(Call { callee, arguments, known, is_made: false });
        f.code.results.push(None);
        let result = |(i, known): (usize, &Known)| Val {
            known: *known,
            dev: if known.is_whole() { Dev::Nowhere } else { Dev::Result(number, i) },
        };
        Ok(cost.results.iter().enumerate().map(result).collect())
    }

    /// Whether a call is made in place: it is small, or its own calls shall be made together with those of others.
    fn is_in_place(&self, f: &CallScript, callee: FunctionId, cost: &Cost, waits: bool) -> bool {
        let room = self.options.lanes().saturating_sub(f.level);
        let limit = if room == 0 { self.options.large } else { self.options.small };
        if cost.count <= limit {
            return true;
        }
        // Work that is not small and shares nothing out is shared out itself.
        if room > 0 && !cost.forks {
            return false;
        }
        // What looks at an argument that waits would have it made alone. Of a recursion each level has a frame: what one looks at would have its calls made
        // apart from those of its neighbours.
        let is_within = f.activations.iter().any(|around| around.function == callee);
        !waits && !is_within && self.module.functions[callee].insts.len() <= self.options.function
    }

    /// Makes all calls that wait.
    pub fn flush(&mut self, f: &mut CallScript) -> Result<(), Refusal> {
        if !f.code.is_written {
            return Ok(());
        }
        while let Some(first) = (0..f.calls.len()).find(|call| is_ready(f, *call)) {
            let Call { callee, known, .. } = f.calls[first].clone();
            let known: Vec<Known> = known.iter().map(|known| self.shapes.bare(*known)).collect();
            let mut alike = |call: &usize| {
                let other = &f.calls[*call];
                let mut both = other.known.iter().zip(&known);
                other.callee == callee && both.all(|(other, known)| self.shapes.bare(*other) == *known)
            };
            let mut all: Vec<usize> = (first..f.calls.len()).filter(|i| is_ready(f, *i)).filter(&mut alike).collect();
            let lanes = self.options.lanes();
            let most = if f.level < lanes { lanes } else { self.options.levels };
            let room = most.saturating_sub(f.level).min(3);
            all.truncate(1 << room);
            // Of three calls two would be made together and the third alone, in each level of a recursion. While lanes are free, some do nothing of use.
            let spare = all.len().next_power_of_two().ilog2();
            if f.level + spare > lanes || !self.can_be_made_twice(callee) {
                all.truncate(1 << all.len().ilog2());
            }
            self.frames(f, &all)?;
        }
        Ok(())
    }

    /// Whether a call takes and gives numbers alone: then it may be made once more, in a lane whose results nobody reads.
    fn can_be_made_twice(&self, callee: FunctionId) -> bool {
        let function = &self.module.functions[callee];
        let params = function.params.iter().map(|param| function.ty(*param));
        params.chain(function.results.iter().copied()).all(|ty| ty != Type::Term)
    }

    /// Makes calls of one function together. If they are no power of two, the last one is made several times.
    fn frames(&mut self, f: &mut CallScript, calls: &[usize]) -> Result<(), Refusal> {
        let callee = f.calls[calls[0]].callee;
        let function = &self.module.functions[callee];
        let widened = calls.len().next_power_of_two().trailing_zeros();
        let level = f.level + widened;
        let mut arguments: Vec<Vec<Val>> = vec![];
        for call in calls {
            f.calls[*call].is_made = true;
            let given = std::mem::take(&mut f.calls[*call].arguments);
            arguments.push(given.into_iter().map(|val| self.in_memory(f, val)).collect());
        }
        while arguments.len() < 1 << widened {
            arguments.extend(arguments.last().cloned());
        }
        let mut known = f.calls[calls[0]].known.clone();
        for (i, known) in known.iter_mut().enumerate() {
            let is_number = function.ty(function.params[i]) == Type::U32;
            let all: Vec<Known> = arguments.iter().map(|given| self.sayable(given[i], is_number)).collect();
            if !matches!(known, Known::Number(_)) {
                let together = self.shapes.together(&all, f.level);
                *known = self.shapes.sayable(together, level);
            }
        }
        let script = self.script(callee, &known, level)?;
        for (which, arguments) in (0..).zip(&arguments) {
            for ((slot, val), (known, param)) in (0..).zip(arguments).zip(known.iter().zip(&function.params)) {
                if !known.is_whole() {
                    let ty = function.ty(*param);
                    fits(ty)?;
                    let word = f.code.value(*val, ty);
                    f.code.write_slot(slot, Some((which, widened)), word);
                }
            }
        }
        self.end_segment(f)?;
        f.items.push(Item::Call { script, widened });
        let results = self.scripts[script].results.clone();
        let first = function.params.len() as u32;
        for (which, call) in (0..).zip(calls) {
            let mut given = vec![];
            for (i, known) in (0..).zip(&results) {
                let here = self.shapes.one_of(*known, f.level, which, widened);
                let here = self.shapes.sayable(here, f.level);
                let dev = Dev::Child(first + i, which, widened);
                given.push(match (known.is_whole(), here.is_whole()) {
                    (true, true) => self.whole(f, here),
                    (false, _) => Val { known: here, dev },
                    (true, false) => return Err(Refusal::new("a place that takes too much to say")),
                });
            }
            f.code.results[*call] = Some(given);
        }
        Ok(())
    }
    /// What is known of an argument. Numbers that are computed would be other ones each time; those of the program's text are few.
    fn sayable(&mut self, val: Val, is_number: bool) -> Known {
        match val.known {
            Known::Number(number) if is_number && val.dev == Dev::Literal && self.rooms.is_some() => {
                self.shapes.linear(number)
            }
            Known::Number(_) => Known::Unknown,
            known => known,
        }
    }
    /// A value that stands in memory if it is a cell.
    fn in_memory(&mut self, f: &mut CallScript, val: Val) -> Val {
        let val = f.code.found(val);
        if let Dev::Cell(made) = val.dev {
            f.code.store(made);
        }
        self.fresh(f, val)
    }

    /// Forgets numbers that decide nothing.
    fn forget(&self, callee: FunctionId, known: &mut [Known]) {
        for (known, decides) in known.iter_mut().zip(&self.relevance[callee]) {
            if let (Known::Number(_), false) = (*known, *decides) {
                *known = Known::Unknown;
            }
        }
    }

    /// The script of a call.
    pub fn script(&mut self, callee: FunctionId, known: &[Known], level: u32) -> Result<usize, Refusal> {
        let key = (callee, known.to_vec(), level);
        match self.found.get(&key) {
            Some(Some(script)) => return Ok(*script),
            Some(None) => return Err(Refusal::new("a recursion whose end is not known")),
            None => {}
        }
        if self.found.len() > self.options.scripts {
            return Err(Refusal::new("there is too much that differs"));
        }
        self.found.insert(key.clone(), None);
        let function = &self.module.functions[callee];
        let first = function.params.len() as u32;
        let mut f = CallScript::new(level, true, first + function.results.len() as u32, self.rooms.clone());
        let given = self.rooms.as_ref().map(|rooms| rooms.get());
        let argument = |(slot, known): (u32, &Known)| {
            if known.is_whole() { self.whole(&mut f, *known) } else { Val { known: *known, dev: Dev::Slot(slot) } }
        };
        let arguments = (0..).zip(known).map(argument).collect();
        f.held = self.inline(&mut f, callee, arguments)?;
        self.flush(&mut f)?;
        let results: Vec<Val> =
            std::mem::take(&mut f.held).into_iter().map(|val| self.in_memory(&mut f, val)).collect();
        for ((slot, val), ty) in (first..).zip(&results).zip(&function.results) {
            if !val.known.is_whole() {
                fits(*ty)?;
                let word = f.code.value(*val, *ty);
                f.code.write_slot(slot, None, word);
            }
        }
        self.end_segment(&mut f)?;
        let results = results.iter().map(|val| val.known).collect();
        self.scripts.push(Script { items: f.items, results, slots: f.slots });
        let script = self.scripts.len() - 1;
        if self.rooms.as_ref().map(|rooms| rooms.get()) == given {
            self.found.insert(key, Some(script));
        } else {
            // What it makes stands where it stands: another call is another script.
            self.found.remove(&key);
        }
        Ok(script)
    }

    /// Ends the segment: what is needed later goes to slots.
    fn end_segment(&mut self, f: &mut CallScript) -> Result<(), Refusal> {
        f.code.store_all();
        let level = f.level;
        let mut live = Live::default();
        for i in 0..f.activations.len() {
            let function = &self.module.functions[f.activations[i].function];
            let is_last = i + 1 == f.activations.len();
            let needed = needed(function, &f.activations[i].path, is_last);
            for value in 0..f.activations[i].values.len() {
                let id = ValueId::new(value as u32);
                let Some(val) = f.activations[i].values[value] else { continue };
                if !needed.contains(&id) {
                    f.activations[i].values[value] = None;
                    continue;
                }
                let kept = self.keep(f, val, function.ty(id), &mut live)?;
                f.activations[i].values[value] = Some(kept);
            }
        }
        for i in 0..f.held.len() {
            f.held[i] = self.keep(f, f.held[i], Type::Term, &mut live)?;
        }
        for i in 0..f.calls.len() {
            let function = &self.module.functions[f.calls[i].callee];
            for (argument, param) in function.params.iter().enumerate().take(f.calls[i].arguments.len()) {
                let val = f.calls[i].arguments[argument];
                f.calls[i].arguments[argument] = self.keep(f, val, function.ty(*param), &mut live)?;
            }
        }
        // What nobody names any more is not kept.
        for i in 0..f.code.results.len() {
            if !live.calls.contains(&i) && f.calls[i].is_made {
                f.code.results[i] = Some(vec![]);
            }
        }
        for (i, cell) in f.code.cells.iter_mut().enumerate() {
            if cell.state == State::Pending && !live.cells.contains(&i) {
                cell.state = State::Gone;
            }
        }
        let code = std::mem::replace(&mut f.code, Code::new(true, level, None));
        let (segment, words, next) = code.finish();
        f.code = next;
        if segment.regions[segment.body].insts.len() > 1 {
            let segment = self.segment(segment);
            f.items.push(Item::Step { segment, words });
        }
        Ok(())
    }

    /// Puts a value where it stays while others run.
    fn keep(&mut self, f: &mut CallScript, val: Val, ty: Type, live: &mut Live) -> Result<Val, Refusal> {
        let val = self.fresh(f, val);
        if val.known.bits().is_some() {
            let dev = if val.dev == Dev::Literal { Dev::Literal } else { Dev::Nowhere };
            return Ok(Val { known: val.known, dev });
        }
        match val.dev {
            Dev::Slot(_) | Dev::Nowhere | Dev::Literal | Dev::Placed(_) | Dev::Linear(_) => return Ok(val),
            Dev::Fork(fork) => {
                for i in 0..f.forks[fork].len() {
                    f.forks[fork][i] = self.keep(f, f.forks[fork][i], Type::Term, live)?;
                }
                return Ok(val);
            }
            Dev::Result(call, i) | Dev::Shared(call, i) => {
                // It stays a result: others may name it too.
                if let Some(found) = f.code.results[call].as_ref().and_then(|results| results.get(i).copied()) {
                    let kept = self.keep(f, found, ty, live)?;
                    if let Some(results) = &mut f.code.results[call] {
                        results[i] = kept;
                    }
                }
                live.calls.insert(call);
                return Ok(val);
            }
            // An operation may be an operand of many: what it takes is kept once.
            Dev::Later(later) if live.later.contains(&later) => return Ok(val),
            Dev::Later(later) if f.code.waits(val) => {
                live.later.insert(later);
                for i in 0..f.code.later[later].operands.len() {
                    let (operand, ty) = f.code.later[later].operands[i];
                    f.code.later[later].operands[i].0 = self.keep(f, operand, ty, live)?;
                }
                return Ok(val);
            }
            Dev::Cell(made) => match f.code.cells[made].state {
                State::Gone => return Ok(Val { known: Known::Unknown, dev: Dev::Nowhere }),
                // It waits for calls: what it is made of is kept.
                State::Pending => {
                    live.cells.insert(made);
                    if let Some((hole, units, layout)) = f.code.cells[made].place {
                        let hole = self.keep(f, hole, Type::Term, live)?;
                        f.code.cells[made].place = Some((hole, units, layout));
                    }
                    for i in 0..f.code.cells[made].fields.len() {
                        let (field, ty) = f.code.cells[made].fields[i];
                        f.code.cells[made].fields[i].0 = self.keep(f, field, ty, live)?;
                    }
                    return Ok(val);
                }
                State::Stored(_) => {}
            },
            Dev::Here(_) | Dev::Child(..) | Dev::Later(_) => {}
        }
        fits(ty)?;
        let word = f.code.value(val, ty);
        let slot = f.slots;
        f.slots += 1;
        f.code.write_slot(slot, None, word);
        Ok(Val { known: val.known, dev: Dev::Slot(slot) })
    }

    /// The number of a segment; the same code has the same number.
    fn segment(&mut self, mut function: Function) -> u32 {
        let mut text = String::new();
        describe(&function, function.body, &mut text);
        let next = self.segments.len() as u32;
        let number = *self.segment_numbers.entry(text).or_insert(next);
        if number == next {
            function.name = format!("segment.{number}").as_str().into();
            self.code += function.insts.len();
            self.segments.push(function);
        }
        number
    }

    /// Refuses a kernel that has grown too large.
    pub fn fits(&self) -> Result<(), Refusal> {
        if self.code > self.options.code {
            return Err(Refusal::new("its kernel would have too much code"));
        }
        Ok(())
    }
}

/// Whether a call waits and all that it takes is there.
fn is_ready(f: &CallScript, call: usize) -> bool {
    let call = &f.calls[call];
    !call.is_made && call.arguments.iter().all(|val| !f.code.waits(*val))
}

/// What values that are kept name.
#[derive(Default)]
struct Live {
    calls: BTreeSet<usize>,
    cells: BTreeSet<usize>,
    later: BTreeSet<usize>,
}

/// Slots hold words.
fn fits(ty: Type) -> Result<(), Refusal> {
    match ty {
        Type::BOOL | Type::U32 | Type::I32 | Type::F32 | Type::Term => Ok(()),
        other => Err(Refusal::new(format!("a value of type `{other}` lives across a call"))),
    }
}

/// The values that code behind a path needs, or code from its last instruction on.
fn needed(function: &Function, path: &[(RegionId, usize)], with_last: bool) -> BTreeSet<ValueId> {
    let mut found = BTreeSet::new();
    let owner = |region: RegionId| function.insts.iter_enumerated().find(|(_, inst)| inst.regions.contains(&region));
    for (i, (region, position)) in path.iter().enumerate() {
        let is_last = with_last && i + 1 == path.len();
        let is_loop = owner(*region).is_some_and(|(_, inst)| inst.op == Op::Loop);
        let from = if is_loop { 0 } else { position + usize::from(!is_last) };
        for id in &function.regions[*region].insts[from..] {
            uses(function, *id, &mut found);
        }
        if is_loop {
            found.extend(&function.regions[*region].params);
        }
    }
    found
}
fn uses(function: &Function, id: InstId, found: &mut BTreeSet<ValueId>) {
    let inst = &function.insts[id];
    found.extend(&inst.operands);
    for region in &inst.regions {
        for inner in &function.regions[*region].insts {
            uses(function, *inner, found);
        }
    }
}

/// What a region does, as text that is the same for the same code.
fn describe(function: &Function, region: RegionId, text: &mut String) {
    for param in &function.regions[region].params {
        let _ = write!(text, "({} {})", param.index(), function.ty(*param));
    }
    for id in &function.regions[region].insts {
        let inst = &function.insts[*id];
        let _ = write!(text, "{} {:?} {:?}", inst.op.name(), inst.ty, inst.attrs);
        for operand in &inst.operands {
            let _ = match function.values[*operand].def {
                Def::Constant(bits) => write!(text, " {}:{bits}", function.ty(*operand)),
                _computed => write!(text, " {}", operand.index()),
            };
        }
        for result in &inst.results {
            let _ = write!(text, " >{}", result.index());
        }
        for inner in &inst.regions {
            text.push('{');
            describe(function, *inner, text);
            text.push('}');
        }
        text.push('\n');
    }
}

//! Choices and loops: those whose course is known are evaluated on the way, others become choices and loops of the segment.

use super::code::{Dev, Place, State, Val};
use super::evaluate::{End, Sweeper, unknown};
use super::known::Known;
use super::memory::fault;
use super::script::{Around, CallScript};
use crate::Refusal;
use crate::word::as_word;
use girih_base::span::Span;
use girih_ir::attrs::Attr;
use girih_ir::heap::LayoutId;
use girih_ir::{Function, Inst, Op, RegionId, Type, ValueId};

/// An arm of a choice that has been evaluated.
struct Arm {
    region: RegionId,
    /// What it yields; none if it left the loop around.
    yields: Option<Vec<Val>>,
    fuel: ValueId,
}

impl<'a> Sweeper<'a> {
    pub fn choose(&mut self, f: &mut CallScript, inst: &Inst) -> Result<Option<End>, Refusal> {
        if let Known::Number(bits) = self.get(f, inst.operands[0]).known {
            let region = chosen(inst, bits).ok_or_else(|| Refusal::new("a choice without arms"))?;
            return Ok(match self.region(f, region)? {
                End::Yield(values) => {
                    self.give(f, inst, values);
                    None
                }
                end @ (End::Return(_) | End::Break(_) | End::Continue(_)) => Some(end),
            });
        }
        self.flush(f)?;
        let condition = self.dev(f, inst.operands[0]);
        f.code.store_all();
        let (outer, fuel, own) = (f.code.b.region, f.code.fuel, f.code.own);
        f.code.confined += 1;
        let mut arms = vec![];
        for region in &inst.regions {
            f.code.own = f.code.cells.len();
            arms.push(self.arm(f, *region)?);
            f.code.fuel = fuel;
        }
        let function = self.function(f);
        let results = self.meet(f, inst, function, &mut arms, fuel)?;
        f.code.confined -= 1;
        (f.code.b.region, f.code.own) = (outer, own);
        let types: Vec<Type> = results.iter().flat_map(|r| r.types.clone()).collect();
        let burns = arms.iter().any(|arm| arm.fuel != fuel);
        let all: Vec<Type> = types.iter().copied().chain(burns.then_some(Type::U32)).collect();
        let regions: Vec<RegionId> = arms.iter().map(|arm| arm.region).collect();
        let mut given = write_choice(f, inst, condition, &regions, &all);
        if burns && let Some(left) = given.pop() {
            f.code.fuel = left;
        }
        let mut given = given.into_iter();
        for (result, met) in inst.results.iter().zip(results) {
            let val = self.as_value(f, met, &mut given);
            self.set(f, *result, val);
        }
        // If no arm goes on, nothing behind the choice is reached.
        if arms.iter().all(|arm| arm.yields.is_none()) {
            return Err(Refusal::new("a choice of which no arm goes on"));
        }
        Ok(None)
    }

    fn arm(&mut self, f: &mut CallScript, region: RegionId) -> Result<Arm, Refusal> {
        let written = f.code.b.new_region(&[]);
        f.code.b.region = written;
        let top = f.activations.len() - 1;
        let values = f.activations[top].values.clone();
        let yields = match self.region(f, region)? {
            End::Yield(values) => Some(values),
            End::Break(values) => {
                self.leave_loop(f, &values, Op::Break)?;
                None
            }
            End::Continue(values) => {
                self.leave_loop(f, &values, Op::Continue)?;
                None
            }
            End::Return(_) => return Err(Refusal::new("a function that ends within a choice")),
        };
        f.activations[top].values = values;
        Ok(Arm { region: written, yields, fuel: f.code.fuel })
    }

    /// Ends the arms; says what their results are together.
    fn meet(
        &mut self,
        f: &mut CallScript,
        inst: &Inst,
        function: &Function,
        arms: &mut [Arm],
        fuel: ValueId,
    ) -> Result<Vec<Met>, Refusal> {
        let burns = arms.iter().any(|arm| arm.fuel != fuel);
        let mut results: Vec<Met> = vec![];
        let mut words: Vec<Vec<ValueId>> = vec![vec![]; arms.len()];
        for (i, result) in inst.results.iter().enumerate() {
            let ty = function.ty(*result);
            let vals: Vec<Option<Val>> = arms.iter().map(|arm| arm.yields.as_ref().map(|y| y[i])).collect();
            let met = self.meeting(f, &vals, ty);
            for ((arm, val), words) in arms.iter().zip(&vals).zip(&mut words) {
                let Some(val) = val else { continue };
                f.code.b.region = arm.region;
                words.extend(self.as_words(f, &met, *val));
            }
            results.push(met);
        }
        for (arm, mut words) in arms.iter().zip(words).filter(|(arm, _)| arm.yields.is_some()) {
            f.code.b.region = arm.region;
            if burns {
                words.push(arm.fuel);
            }
            f.code.end(Op::Yield, &words);
        }
        Ok(results)
    }

    /// What values of several arms are together.
    fn meeting(&mut self, f: &mut CallScript, vals: &[Option<Val>], ty: Type) -> Met {
        let mut there = vals.iter().flatten();
        let Some(first) = there.next().copied() else {
            return Met { known: Known::Unknown, types: vec![as_word(ty)], cell: None };
        };
        let known = there.fold(first.known, |known, val| self.shapes.either(known, val.known));
        if known.bits().is_some()
            || vals.iter().flatten().all(|val| matches!(val.dev, Dev::Placed(_) | Dev::Linear(_)) && val.known == known)
        {
            return Met { known, types: vec![], cell: None };
        }
        let known = self.shapes.bare(known);
        let cells: Option<Vec<_>> = vals
            .iter()
            .flatten()
            .map(|val| match val.dev {
                Dev::Cell(made) => {
                    let cell = &f.code.cells[made];
                    let types: Vec<Type> = cell.fields.iter().map(|(_, ty)| *ty).collect();
                    (cell.state == State::Pending).then_some((cell.place, cell.layout, types))
                }
                _others => None,
            })
            .collect();
        match cells {
            // Cells of one kind in one place: only what they hold differs.
            Some(cells) if f.code.confined == 1 && cells.iter().all(|cell| *cell == cells[0]) => {
                let (place, layout, types) = cells[0].clone();
                let words = types.iter().map(|ty| as_word(*ty)).collect();
                Met { known, types: words, cell: Some((place, layout, types)) }
            }
            _others => Met { known, types: vec![as_word(ty)], cell: None },
        }
    }

    /// What an arm yields for a value.
    fn as_words(&mut self, f: &mut CallScript, met: &Met, val: Val) -> Vec<ValueId> {
        match (&met.cell, val.dev) {
            (Some(_), Dev::Cell(made)) => {
                f.code.cells[made].state = State::Gone;
                let fields = f.code.cells[made].fields.clone();
                fields.iter().map(|(val, ty)| f.code.value(*val, *ty)).collect()
            }
            _word => met.types.first().map(|ty| f.code.value(val, *ty)).into_iter().collect(),
        }
    }
    fn as_value(&mut self, f: &mut CallScript, met: Met, given: &mut impl Iterator<Item = ValueId>) -> Val {
        match met.cell {
            _ if met.known.is_whole() => self.whole(f, met.known),
            Some((place, layout, types)) => {
                let known = match met.known {
                    Known::Cell { shape, path, .. } => self.shapes.fields(shape, path),
                    _others => vec![],
                };
                let field = |(i, (value, ty)): (usize, (ValueId, Type))| {
                    let known = known.get(i).copied().unwrap_or(Known::Unknown);
                    let dev = if known.bits().is_some() { Dev::Nowhere } else { Dev::Here(value) };
                    (Val { known, dev }, ty)
                };
                let fields = given.take(types.len()).zip(types.clone()).enumerate().map(field).collect();
                let before = self.before(f, place);
                Val { known: met.known, dev: f.code.make(place, layout, fields, before) }
            }
            None => Val { known: met.known, dev: given.next().map_or(Dev::Nowhere, Dev::Here) },
        }
    }

    // Loops.

    pub fn go_round(&mut self, f: &mut CallScript, inst: &Inst) -> Result<End, Refusal> {
        let next = self.gets(f, &inst.operands[1..]);
        match (self.get(f, inst.operands[0]).known, f.loops.last()) {
            (Known::Number(0), _) => {
                let function = self.function(f);
                let region = f.activations.last().and_then(|top| innermost_loop(function, &top.path));
                let region = region.ok_or_else(|| Refusal::new("no loop is around"))?;
                Ok(End::Break(self.gets(f, &function.regions[region].params)))
            }
            (Known::Number(_), _) => Ok(End::Continue(next)),
            (_, Some(Some(around))) => {
                let carried = around.carried.clone();
                let condition = self.dev(f, inst.operands[0]);
                f.code.store_all();
                let (outer, goes, stops) = (f.code.b.region, f.code.b.new_region(&[]), f.code.b.new_region(&[]));
                f.code.b.region = goes;
                f.code.end(Op::Yield, &[]);
                f.code.b.region = stops;
                self.leave_loop(f, &carried, Op::Break)?;
                f.code.b.region = outer;
                f.code.choice(condition, (goes, stops), &[]);
                Ok(End::Continue(next))
            }
            _unknown => Err(endless()),
        }
    }

    pub fn repeat(&mut self, f: &mut CallScript, inst: &Inst) -> Result<(), Refusal> {
        if f.code.confined > 0 {
            return self.whole_loop(f, inst);
        }
        // Whether instances can go round on their own is found out by trying it.
        match self.attempt(f, inst, Sweeper::whole_loop) {
            // What such a loop gives is known if its rounds are, and more may depend on that.
            Ok(()) if self.ends_in_break(f, inst) && self.attempt(f, inst, Sweeper::unrolled).is_ok() => {
                self.unrolled(f, inst)
            }
            Ok(()) => self.whole_loop(f, inst),
            // Why they cannot says more than that the end is not known.
            Err(own) => self.unrolled(f, inst).map_err(|why| if why == endless() { own } else { why }),
        }
    }

    /// Whether the last that a round comes to is the loop's end: whoever goes round has said so before.
    fn ends_in_break(&self, f: &CallScript, inst: &Inst) -> bool {
        self.function(f).terminator(inst.regions[0]).is_some_and(|end| end.op == Op::Break)
    }

    /// Whether a loop can be written in a way.
    fn attempt(
        &mut self,
        f: &CallScript,
        inst: &Inst,
        way: impl Fn(&mut Self, &mut CallScript, &Inst) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut trial = CallScript::new(f.level, false, f.slots, None);
        for activation in &f.activations {
            let values = activation.values.iter().map(|val| val.map(|val| trial_value(&mut trial, val))).collect();
            let (function, path) = (activation.function, activation.path.clone());
            trial.activations.push(super::script::Activation { function, values, path });
        }
        let depth = self.depth;
        let found = way(self, &mut trial, inst);
        self.depth = depth;
        found
    }

    /// Writes a loop as one.
    fn whole_loop(&mut self, f: &mut CallScript, inst: &Inst) -> Result<(), Refusal> {
        let function = self.function(f);
        let body = inst.regions[0];
        let params = &function.regions[body].params;
        self.flush(f)?;
        let mut initial: Vec<ValueId> = inst.operands.iter().map(|v| self.dev(f, *v)).collect();
        f.code.store_all();
        initial.push(f.code.fuel);
        let types: Vec<Type> = params.iter().map(|v| as_word(function.ty(*v))).chain([Type::U32]).collect();
        let results: Vec<Type> = inst.results.iter().map(|v| as_word(function.ty(*v))).chain([Type::U32]).collect();
        let written = f.code.b.new_region(&types);
        let values = f.code.b.function.regions[written].params.clone();
        let top = f.activations.len() - 1;
        let before = f.activations[top].values.clone();
        let (carried, left) = values.split_at(params.len());
        let carried: Vec<Val> = carried.iter().map(|v| unknown(*v)).collect();
        for (param, val) in params.iter().zip(&carried) {
            self.set(f, *param, *val);
        }
        let outer = std::mem::replace(&mut f.code.b.region, written);
        let own = std::mem::replace(&mut f.code.own, f.code.cells.len());
        f.code.confined += 1;
        f.loops.push(Some(Around { body, carried }));
        burn(f, left[0], &results);
        match self.region(f, body)? {
            End::Break(values) => self.leave_loop(f, &values, Op::Break)?,
            End::Continue(values) => self.leave_loop(f, &values, Op::Continue)?,
            End::Yield(_) | End::Return(_) => return Err(Refusal::new("a loop that does not go round")),
        }
        f.loops.pop();
        f.code.confined -= 1;
        (f.code.b.region, f.code.own) = (outer, own);
        f.activations[top].values = before;
        let mut given = f.code.repeat(&initial, written, &results);
        if let Some(left) = given.pop() {
            f.code.fuel = left;
        }
        self.give(f, inst, given.into_iter().map(unknown).collect());
        Ok(())
    }

    /// Evaluates the rounds of a loop one after another.
    fn unrolled(&mut self, f: &mut CallScript, inst: &Inst) -> Result<(), Refusal> {
        let function = self.function(f);
        let body = inst.regions[0];
        let mut carried = self.gets(f, &inst.operands);
        f.loops.push(None);
        for _round in 0..self.options.rounds {
            for (param, val) in function.regions[body].params.iter().zip(&carried) {
                self.set(f, *param, *val);
            }
            match self.region(f, body)? {
                End::Continue(next) => carried = next,
                End::Break(results) => {
                    f.loops.pop();
                    self.give(f, inst, results);
                    return Ok(());
                }
                End::Yield(_) | End::Return(_) => return Err(Refusal::new("a loop that does not go round")),
            }
        }
        Err(Refusal::new("a loop goes round too often"))
    }

    /// Ends a region that leaves the loop around, or goes round.
    fn leave_loop(&mut self, f: &mut CallScript, values: &[Val], op: Op) -> Result<(), Refusal> {
        let function = self.function(f);
        let Some(Some(Around { body: region, .. })) = f.loops.last() else {
            return Err(endless());
        };
        let region = *region;
        let types: Vec<Type> = match op {
            Op::Continue => function.regions[region].params.iter().map(|v| function.ty(*v)).collect(),
            _break => {
                owner(function, region).map_or(vec![], |inst| inst.results.iter().map(|v| function.ty(*v)).collect())
            }
        };
        let mut words: Vec<ValueId> = values.iter().zip(types).map(|(val, ty)| f.code.value(*val, ty)).collect();
        f.code.store_all();
        words.push(f.code.fuel);
        f.code.end(op, &words);
        Ok(())
    }
}

/// What a result of a choice is: what is known, the words that arms yield, and the kind of the cell that they are the fields of.
struct Met {
    known: Known,
    types: Vec<Type>,
    cell: Option<(Option<Place>, LayoutId, Vec<Type>)>,
}

/// The region that is taken.
fn chosen(inst: &Inst, bits: u32) -> Option<RegionId> {
    if inst.op == Op::If {
        return inst.regions.get(usize::from(bits == 0)).copied();
    }
    let number = i64::from(bits);
    let at = inst.cases().iter().position(|cases| cases.contains(&number) || cases.contains(&i64::from(bits as i32)));
    at.map_or(inst.regions.last(), |at| inst.regions.get(at)).copied()
}

fn write_choice(
    f: &mut CallScript,
    inst: &Inst,
    condition: ValueId,
    regions: &[RegionId],
    types: &[Type],
) -> Vec<ValueId> {
    f.code.count += 1;
    if !f.code.is_written {
        let zero = f.code.u32(0);
        return vec![zero; types.len()];
    }
    let mut new = Inst::new(inst.op, inst.ty, &[condition], Span::NONE);
    new.regions.extend(regions.iter().copied());
    if inst.op == Op::Switch {
        new.set(Attr::Cases(inst.cases()));
    }
    let id = f.code.b.push(new, types);
    f.code.b.function.insts[id].results.to_vec()
}

/// A round takes one of what is left; if there is none, the run ends.
fn burn(f: &mut CallScript, left: ValueId, results: &[Type]) {
    let zero = f.code.u32(0);
    let over = f.code.op(Op::Eq, Type::U32, &[left, zero]);
    f.code.fault_if(over, fault::LONG);
    if f.code.is_written {
        let zeros: Vec<ValueId> = results.iter().map(|ty| f.code.b.zero(*ty)).collect();
        f.code.b.if_else(over, &[], |b| b.end(Op::Break, &zeros), |b| b.end(Op::Yield, &[]));
    }
    let less = f.code.u32(u32::MAX);
    f.code.fuel = f.code.op(Op::Add, Type::U32, &[left, less]);
}

/// A value in code that is measured.
fn trial_value(trial: &mut CallScript, val: Val) -> Val {
    let dev = match val.dev {
        Dev::Literal | Dev::Nowhere => val.dev,
        Dev::Here(_)
        | Dev::Slot(_)
        | Dev::Child(..)
        | Dev::Cell(_)
        | Dev::Placed(_)
        | Dev::Linear(_)
        | Dev::Result(..)
        | Dev::Shared(..)
        | Dev::Fork(_)
        | Dev::Later(_) => Dev::Here(trial.code.u32(0)),
    };
    Val { known: val.known, dev }
}

/// A loop goes round as often as only the device knows.
fn endless() -> Refusal {
    Refusal::new("a loop with calls whose end is not known")
}

fn owner(function: &Function, region: RegionId) -> Option<&Inst> {
    function.insts.iter().find(|inst| inst.regions.contains(&region))
}

/// The body of the innermost loop on a path.
fn innermost_loop(function: &Function, path: &[(RegionId, usize)]) -> Option<RegionId> {
    path.iter()
        .rev()
        .map(|(region, _)| *region)
        .find(|region| owner(function, *region).is_some_and(|i| i.op == Op::Loop))
}

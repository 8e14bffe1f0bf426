//! Functions give parts, and their callers take parts.
//!
//! Invariant: all results that [`forms`](mod@super::forms) has found are changed at once, so callers and callees agree again.

use super::super::dead_code;
use super::forms::{Form, Forms, Source, Uses, givers, source};
use girih_base::hash::FastMap;
use girih_ir::attrs::Attr;
use girih_ir::heap::CELL;
use girih_ir::{Def, Function, FunctionId, Inst, InstId, Module, Op, RegionId, Type, Value, ValueId};
use std::collections::HashMap;

/// Changes all functions.
pub(super) fn expand(module: &mut Module, forms: &Forms) {
    let parts: HashMap<(FunctionId, usize), Vec<Type>> =
        forms.iter().map(|(place, form)| (*place, form.parts(module))).collect();
    for id in module.functions.ids() {
        let mut work = Work { function: module.functions[id].clone(), forms, parts: &parts, calls: FastMap::default() };
        let calls = work.calls();
        work.ends(id);
        for (form, value, place) in calls {
            work.take(form, value, place);
        }
        work.free_no_empty_tokens();
        while dead_code::remove_unused(&mut work.function) {}
        module.functions[id] = work.function;
    }
}

struct Work<'a> {
    function: Function,
    forms: &'a Forms,
    parts: &'a HashMap<(FunctionId, usize), Vec<Type>>,
    /// What stands for a result of a call: the parts that it gives.
    calls: FastMap<ValueId, Vec<ValueId>>,
}

impl Work<'_> {
    /// Calls give parts; gives what was there before, and where.
    fn calls(&mut self) -> Vec<(Form, ValueId, (RegionId, InstId))> {
        let (mut found, mut changed) = (vec![], vec![]);
        places(&self.function, self.function.body, &mut |region, id| found.push((region, id)));
        for (region, id) in found {
            let inst = &self.function.insts[id];
            let (Op::Call | Op::Join, Some(callee)) = (inst.op, inst.callee()) else { continue };
            let old = inst.results.clone();
            let mut results = vec![];
            for (position, value) in old.iter().enumerate() {
                let place = (callee, position);
                let (Some(form), Some(types)) = (self.forms.get(&place), self.parts.get(&place)) else {
                    results.push(*value);
                    continue;
                };
                let new: Vec<ValueId> = types.iter().map(|ty| self.value(*ty, id)).collect();
                results.extend(&new);
                self.calls.insert(*value, new);
                changed.push((*form, *value, (region, id)));
            }
            if results.len() != old.len() || changed.last().is_some_and(|(.., (_, last))| *last == id) {
                self.set_results(id, &results);
            }
        }
        changed
    }

    fn value(&mut self, ty: Type, inst: InstId) -> ValueId {
        self.function.values.push(Value { ty, name: None, def: Def::Result(inst, 0) })
    }

    fn set_results(&mut self, inst: InstId, results: &[ValueId]) {
        self.function.insts[inst].results = results.into();
        for (position, value) in (0..).zip(results) {
            self.function.values[*value].def = Def::Result(inst, position);
        }
    }

    fn replace(&mut self, old: ValueId, new: ValueId) {
        for inst in self.function.insts.iter_mut() {
            inst.operands.iter_mut().filter(|value| **value == old).for_each(|value| *value = new);
        }
    }

    fn remove(&mut self, inst: InstId) {
        for region in self.function.regions.iter_mut() {
            region.insts.retain(|id| *id != inst);
        }
    }

    /// Whoever takes a call's result apart has the parts; for others it is put together behind the call.
    fn take(&mut self, form: Form, value: ValueId, place: (RegionId, InstId)) {
        let uses: Vec<InstId> = Uses::of(&self.function).all(value).to_vec();
        let opens = uses.iter().all(|user| self.function.insts[*user].op == Op::CellOpen);
        let parts = self.calls[&value].clone();
        for user in uses {
            let results = self.function.insts[user].results.clone();
            match (form, self.function.insts[user].op) {
                (Form::Number(_), Op::TermPayload) => {
                    self.replace(results[0], parts[0]);
                    self.remove(user);
                }
                (Form::Number(_), Op::TermDrop) => self.remove(user),
                // A cell has one owner: all of its users take it apart, or none.
                (Form::Cell(_), Op::CellOpen) if opens => {
                    let none = self.no_token(user);
                    self.replace(results[0], none);
                    for (field, part) in results[1..].iter().zip(&parts) {
                        self.replace(*field, *part);
                    }
                    self.remove(user);
                }
                _no_rule => {}
            }
        }
        self.put_together(form, value, place);
    }

    /// An empty reuse token, made before an instruction.
    fn no_token(&mut self, before: InstId) -> ValueId {
        let (tag, zero) = (self.function.constant(Type::U32, u64::from(CELL)), self.function.constant(Type::U32, 0));
        let inst = Inst::new(Op::TermPack, None, &[tag, zero], self.function.insts[before].span);
        let inst = self.function.insts.push(inst);
        let value = self.value(Type::Term, inst);
        self.function.insts[inst].results.push(value);
        for region in self.function.regions.iter_mut() {
            if let Some(at) = region.insts.iter().position(|id| *id == before) {
                region.insts.insert(at, inst);
            }
        }
        value
    }

    /// The word or the cell of a call's parts, if it is still used.
    fn put_together(&mut self, form: Form, value: ValueId, (region, behind): (RegionId, InstId)) {
        if Uses::of(&self.function).all(value).is_empty() {
            return;
        }
        let span = self.function.insts[behind].span;
        let parts = self.calls[&value].clone();
        let inst = match form {
            Form::Number(tag) => {
                let tag = self.function.constant(Type::U32, u64::from(tag));
                Inst::new(Op::TermPack, None, &[tag, parts[0]], span)
            }
            Form::Cell(layout) => {
                let mut inst = Inst::new(Op::CellNew, None, &parts, span);
                inst.set(Attr::Cell(layout));
                inst
            }
        };
        let inst = self.function.insts.push(inst);
        self.function.insts[inst].results.push(value);
        self.function.values[value].def = Def::Result(inst, 0);
        let insts = &mut self.function.regions[region].insts;
        let at = insts.iter().position(|id| *id == behind).map_or(0, |at| at + 1);
        insts.insert(at, inst);
    }

    /// The function's own results.
    fn ends(&mut self, id: FunctionId) {
        let count = self.function.results.len();
        if !(0..count).any(|position| self.forms.contains_key(&(id, position))) {
            return;
        }
        let mut returns = vec![];
        self.function.walk(self.function.body, &mut |id, inst| {
            returns.extend((inst.op == Op::Return).then_some(id));
        });
        for end in returns {
            let mut operands = vec![];
            for (position, value) in self.function.insts[end].operands.clone().into_iter().enumerate() {
                match self.parts.get(&(id, position)) {
                    None => operands.push(value),
                    Some(types) => operands.extend(self.parts(value, &types.clone())),
                }
            }
            self.function.insts[end].operands = operands[..].into();
        }
        let results = self.function.results.clone();
        self.function.results = results
            .iter()
            .enumerate()
            .flat_map(|(position, ty)| self.parts.get(&(id, position)).cloned().unwrap_or_else(|| vec![*ty]))
            .collect();
    }

    /// The parts of a value that is made nowhere any more.
    fn parts(&mut self, value: ValueId, types: &[Type]) -> Vec<ValueId> {
        if let Some(parts) = self.calls.get(&value) {
            return parts.clone();
        }
        let Def::Result(inst, position) = self.function.values[value].def else { return vec![value] };
        match source(&self.function, &Uses::of(&self.function), value) {
            Source::Made(Form::Number(_)) => vec![self.function.insts[inst].operands[1]],
            Source::Made(Form::Cell(_)) => self.fields(inst),
            Source::Merge(_) => self.merged(inst, position as usize, types),
            Source::Call(..) | Source::Other => vec![value],
        }
    }

    /// The fields of a cell, which is not made; its memory is given back.
    fn fields(&mut self, made: InstId) -> Vec<ValueId> {
        let operands = self.function.insts[made].operands.to_vec();
        if self.function.insts[made].op == Op::CellNew {
            self.remove(made);
            return operands;
        }
        let (token, fields) = (operands[0], operands[1..].to_vec());
        self.function.insts[made] = Inst::new(Op::CellFree, None, &[token], self.function.insts[made].span);
        fields
    }

    /// Where no memory is at hand, nobody frees it.
    fn free_no_empty_tokens(&mut self) {
        let Function { insts, regions, values, .. } = &mut self.function;
        let is_empty = |token: ValueId| match values[token].def {
            Def::Result(inst, _) => insts[inst].op == Op::TermPack,
            Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) => false,
        };
        for region in regions.iter_mut() {
            region.insts.retain(|id| insts[*id].op != Op::CellFree || !is_empty(insts[*id].operands[0]));
        }
    }

    /// A choice or a loop gives parts.
    fn merged(&mut self, inst: InstId, position: usize, types: &[Type]) -> Vec<ValueId> {
        for end in givers(&self.function, inst).unwrap_or_default() {
            let value = self.function.insts[end].operands[position];
            let parts = self.parts(value, types);
            let mut operands = self.function.insts[end].operands.to_vec();
            operands.splice(position..=position, parts);
            self.function.insts[end].operands = operands[..].into();
        }
        let new: Vec<ValueId> = types.iter().map(|ty| self.value(*ty, inst)).collect();
        let mut results = self.function.insts[inst].results.to_vec();
        results.splice(position..=position, new.iter().copied());
        self.set_results(inst, &results);
        new
    }
}

/// Visits the instructions of a region and of those inside of it, with their regions.
fn places(function: &Function, region: RegionId, visit: &mut impl FnMut(RegionId, InstId)) {
    for id in &function.regions[region].insts {
        visit(region, *id);
        function.insts[*id].regions.iter().for_each(|inner| places(function, *inner, visit));
    }
}

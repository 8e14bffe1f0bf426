//! Regions as labels and branches; small ones as guarded instructions or selections.

use super::copies::Operand;
use super::registers::Class;
use super::render::{Form, LoopFrame, Renderer, name, ptx};
use girih_ir::{Inst, Op, RegionId, Type, ValueId};

/// An arm of at most so many simple instructions is guarded, not jumped over.
const GUARDED: usize = 4;
/// Results of empty arms are selected up to this many registers.
const SELECTED: usize = 8;
/// From so many cases on a dense switch is a table.
const TABLE: usize = 6;

impl Renderer<'_> {
    /// The instructions of a region, its terminator included.
    pub fn region(&mut self, region: RegionId) {
        self.addresses.enter();
        let outer = self.region.replace(region);
        let function = self.function;
        for id in &function.regions[region].insts {
            self.inst(&function.insts[*id]);
        }
        self.region = outer;
        self.addresses.leave();
    }

    /// A region of `if` or `switch` whose `yield` gives these results.
    fn arm(&mut self, region: RegionId, results: &[ValueId]) {
        self.yields.push(results.to_vec());
        self.region(region);
        self.yields.pop();
    }

    /// Whether control goes on after a region of `if` or `switch`.
    fn goes_on(&self, region: RegionId) -> bool {
        self.function.terminator(region).is_none_or(|t| t.op == Op::Yield)
    }

    /// Whether a region has nothing to do but to leave the results where they are.
    fn does_nothing(&self, region: RegionId, results: &[ValueId]) -> bool {
        let last = self.only_yield(region);
        last.is_some_and(|inst| self.copies_nothing(&inst.operands, results))
    }

    /// The `yield` of a region that has no other instruction.
    fn only_yield(&self, region: RegionId) -> Option<&Inst> {
        match self.function.regions[region].insts[..] {
            [only] => Some(&self.function.insts[only]).filter(|inst| inst.op == Op::Yield),
            _ => None,
        }
    }

    /// `if`.
    pub fn if_(&mut self, inst: &Inst) {
        let (then, otherwise) = (inst.regions[0], inst.regions[1]);
        let condition = self.reg(inst.operands[0]);
        if self.selects(condition, inst) {
            return;
        }
        if self.guarded_load(condition, inst) || self.guarded_stores(condition, inst) {
            return;
        }
        if self.text.guard.is_none() && self.is_small(then) && self.is_small(otherwise) {
            for (region, wanted) in [(then, true), (otherwise, false)] {
                self.text.guard = Some((condition, wanted));
                self.arm(region, &inst.results);
            }
            self.text.guard = None;
            return;
        }
        let end = self.label();
        if self.does_nothing(then, &inst.results) {
            ptx!(self, "@{condition} bra {end}");
            self.arm(otherwise, &inst.results);
        } else if self.does_nothing(otherwise, &inst.results) {
            ptx!(self, "@!{condition} bra {end}");
            self.arm(then, &inst.results);
        } else {
            let other = self.label();
            ptx!(self, "@!{condition} bra {other}");
            self.arm(then, &inst.results);
            if self.goes_on(then) {
                ptx!(self, "bra {end}");
            }
            self.text.label(other);
            self.arm(otherwise, &inst.results);
        }
        self.text.label(end);
    }

    /// Arms that only yield are selections.
    fn selects(&mut self, condition: super::registers::Reg, inst: &Inst) -> bool {
        let (Some(then), Some(otherwise)) = (self.only_yield(inst.regions[0]), self.only_yield(inst.regions[1])) else {
            return false;
        };
        let (then, otherwise) = (then.operands.clone(), otherwise.operands.clone());
        let registers: usize = inst.results.iter().map(|v| self.home(*v).count as usize).sum();
        if registers > SELECTED {
            return false;
        }
        self.chosen(condition, inst, &then, &otherwise);
        true
    }

    /// Each result is the one value or the other.
    fn chosen(&mut self, condition: super::registers::Reg, inst: &Inst, then: &[ValueId], otherwise: &[ValueId]) {
        let mut selected = vec![];
        for ((to, a), b) in inst.results.iter().zip(then).zip(otherwise) {
            let home = self.home(*to);
            let (a, b) = if home.class == Class::Pred || home.class == Class::B16 {
                (vec![self.operand(*a)], vec![self.operand(*b)])
            } else {
                (self.parts(*a), self.parts(*b))
            };
            selected.extend(home.regs().zip(a.into_iter().zip(b)).map(|(to, (a, b))| (to, a, b)));
        }
        // A result may lie in the register of a value that another one is made of.
        let reads = |to| {
            selected.iter().any(|(other, a, b)| *other != to && (*a == Operand::Reg(to) || *b == Operand::Reg(to)))
        };
        let apart = selected.iter().any(|(to, _, _)| reads(*to));
        let mut moves = vec![];
        for (to, a, b) in selected {
            let target = if apart { self.fresh(to.class) } else { to };
            if a == b {
                self.mov(target, a);
            } else if to.class == Class::Pred {
                self.select_bool(target, condition, a, b);
            } else {
                self.select_part(target, condition, a, b);
            }
            moves.push((to, target));
        }
        moves.iter().for_each(|(to, from)| self.mov(*to, (*from).into()));
    }

    /// An arm that loads, where the other one only says what stands there otherwise: one guarded load.
    ///
    /// Only the load itself is guarded. What a guarded instruction writes would be kept from before it otherwise, in a loop from one iteration to
    /// the next, and take a register all the time.
    fn guarded_load(&mut self, condition: super::registers::Reg, inst: &Inst) -> bool {
        let function = self.function;
        let Some(otherwise) = self.only_yield(inst.regions[1]).map(|end| end.operands.clone()) else { return false };
        let insts = &function.regions[inst.regions[0]].insts;
        let insts: Vec<&Inst> = insts.iter().map(|id| &function.insts[*id]).collect();
        let Some((end, body)) = insts.split_last() else { return false };
        let is_pure = |op: Op| is_simple(op) && !matches!(op, Op::Load | Op::Store);
        let loads = body.iter().filter(|i| i.op == Op::Load).count();
        let simple = body.iter().all(|i| i.op == Op::Load || is_pure(i.op));
        if self.text.guard.is_some() || end.op != Op::Yield || loads != 1 || !simple {
            return false;
        }
        let Some(load) = body.iter().find(|i| i.op == Op::Load) else { return false };
        let home = self.home(load.results[0]);
        let fillers: Vec<Operand> = otherwise.iter().flat_map(|v| self.parts(*v)).collect();
        if home.regs().any(|reg| fillers.contains(&Operand::Reg(reg))) {
            return false;
        }
        let filled = self.filled(body, load, end, &otherwise);
        self.addresses.enter();
        for inner in body {
            if inner.op != Op::Load {
                self.inst(inner);
                continue;
            }
            let bytes = function.ty(inner.results[0]).bytes();
            // The address is known from here on.
            let _ = self.address(inner.operands[0], inner.operands[1], inner.offset(), bytes);
            let before = filled.unwrap_or(Operand::Int(0));
            home.regs().for_each(|reg| self.mov(reg, before));
            self.text.guard = Some((condition, true));
            self.inst(inner);
            self.text.guard = None;
        }
        if filled.is_some() {
            self.copy(&end.operands, &inst.results);
        } else {
            self.chosen(condition, inst, &end.operands, &otherwise);
        }
        self.addresses.leave();
        true
    }

    /// An arm that stores something and gives nothing: only the stores are guarded, for the same reason.
    fn guarded_stores(&mut self, condition: super::registers::Reg, inst: &Inst) -> bool {
        let function = self.function;
        let body = function.regions[inst.regions[0]].insts.split_last();
        let body: Vec<&Inst> = body.map_or(vec![], |(_, body)| body.iter().map(|id| &function.insts[*id]).collect());
        let ends = function.terminator(inst.regions[0]).is_some_and(|end| end.op == Op::Yield);
        let simple = body.len() <= GUARDED && body.iter().all(|i| is_simple(i.op) && i.op != Op::Load);
        let other = self.only_yield(inst.regions[1]).is_some();
        if self.text.guard.is_some() || !inst.results.is_empty() || !ends || !simple || !other {
            return false;
        }
        self.addresses.enter();
        for inner in body {
            if inner.op == Op::Store {
                let bytes = function.ty(inner.operands[2]).bytes();
                let _ = self.address(inner.operands[0], inner.operands[1], inner.offset(), bytes);
                self.text.guard = Some((condition, true));
            }
            self.inst(inner);
            self.text.guard = None;
        }
        self.addresses.leave();
        true
    }

    /// What the registers of a load hold before it, so that they hold the fillers if nothing is loaded: these are one constant, and the arm
    /// does nothing but load, and gives nothing but what is loaded.
    fn filled(&self, body: &[&Inst], load: &Inst, end: &Inst, fillers: &[ValueId]) -> Option<Operand> {
        let element = self.element(load.results[0]);
        let bits = self.function.as_constant(*fillers.first()?)?;
        let same = fillers.iter().all(|v| self.function.as_constant(*v) == Some(bits));
        let extracts = |i: &Inst| i.op == Op::Extract && i.operands[0] == load.results[0];
        let only = body.iter().all(|i| i.op == Op::Load || extracts(i));
        let loaded = |v: &ValueId| body.iter().any(|i| i.results.contains(v));
        if !same || !only || !end.operands.iter().all(loaded) {
            return None;
        }
        let scalar = matches!(self.function.ty(load.results[0]), Type::Scalar(_));
        match (element.bits(), scalar) {
            (_, true) | (32 | 64, false) => self.parts(fillers[0]).first().copied(),
            (16, false) => Some(Operand::Int((bits << 16 | bits) as i64)),
            (_, false) => (bits == 0).then_some(Operand::Int(0)),
        }
    }

    /// Whether a region is a few instructions that can run under a guard.
    fn is_small(&self, region: RegionId) -> bool {
        let insts = &self.function.regions[region].insts;
        let Some((last, simple)) = insts.split_last() else { return true };
        let last = &self.function.insts[*last];
        let moved: usize = last.operands.iter().map(|v| self.parts(*v).len()).sum();
        last.op == Op::Yield
            && simple.len() + moved <= GUARDED
            && simple.iter().all(|id| is_simple(self.function.insts[*id].op))
    }

    /// `yield`.
    pub fn yield_(&mut self, inst: &Inst) {
        let results = self.yields.last().cloned().unwrap_or_default();
        self.copy(&inst.operands, &results);
    }

    /// `loop`.
    pub fn loop_(&mut self, inst: &Inst) {
        let body = inst.regions[0];
        let params = self.function.regions[body].params.clone();
        let (head, exit) = (self.label(), self.label());
        self.copy(&inst.operands, &params);
        self.text.label(head);
        self.loops.push(LoopFrame { head, exit, body, params, results: inst.results.to_vec() });
        self.region(body);
        self.loops.pop();
        self.text.label(exit);
    }

    /// The innermost loop. The verifier lets its jumps stand nowhere else.
    fn innermost(&self) -> LoopFrame {
        self.loops.last().cloned().expect("a jump of a loop stands in one")
    }

    /// `break`.
    pub fn break_(&mut self, inst: &Inst) {
        let innermost = self.innermost();
        self.copy(&inst.operands, &innermost.results);
        self.leave(&innermost);
    }

    /// Jumps to the end of a loop, unless that comes next.
    fn leave(&mut self, innermost: &LoopFrame) {
        if self.region != Some(innermost.body) {
            ptx!(self, "bra {}", innermost.exit);
        }
    }

    /// `continue`.
    pub fn continue_(&mut self, inst: &Inst) {
        let innermost = self.innermost();
        self.copy(&inst.operands, &innermost.params);
        ptx!(self, "bra {}", innermost.head);
    }

    /// `while`.
    pub fn while_(&mut self, inst: &Inst) {
        let innermost = self.innermost();
        let (condition, next) = (self.reg(inst.operands[0]), &inst.operands[1..]);
        if self.copies_nothing(next, &innermost.params) {
            ptx!(self, "@{condition} bra {}", innermost.head);
        } else if self.copies_nothing(&innermost.params, &innermost.results) {
            ptx!(self, "@!{condition} bra {}", innermost.exit);
            self.copy(next, &innermost.params);
            return ptx!(self, "bra {}", innermost.head);
        } else {
            let stop = self.label();
            ptx!(self, "@!{condition} bra {stop}");
            self.copy(next, &innermost.params);
            ptx!(self, "bra {}", innermost.head);
            self.text.label(stop);
        }
        self.copy(&innermost.params, &innermost.results);
        self.leave(&innermost);
    }

    /// `switch`.
    pub fn switch(&mut self, inst: &Inst) {
        let end = self.label();
        let labels: Vec<_> = inst.regions.iter().map(|_| self.label()).collect();
        let (default, cases) = (labels[labels.len() - 1], inst.cases());
        let targets: Vec<(i64, _)> =
            cases.iter().zip(&labels).flat_map(|(values, label)| values.iter().map(|v| (*v, *label))).collect();
        self.dispatch(inst, &targets, default);
        for (position, (region, label)) in inst.regions.iter().zip(&labels).enumerate() {
            self.text.label(*label);
            self.arm(*region, &inst.results);
            if self.goes_on(*region) && position + 1 < inst.regions.len() {
                ptx!(self, "bra {end}");
            }
        }
        self.text.label(end);
    }

    /// Jumps to the label of a switch's value.
    fn dispatch(&mut self, inst: &Inst, targets: &[(i64, super::text::Label)], default: super::text::Label) {
        let ty = inst.element();
        let value = self.reg(inst.operands[0]);
        let least = targets.iter().map(|(v, _)| *v).min().unwrap_or(0);
        let most = targets.iter().map(|(v, _)| *v).max().unwrap_or(0);
        let span = most.wrapping_sub(least) as u64;
        if targets.len() < TABLE || value.class == Class::B64 || span >= 3 * targets.len() as u64 {
            let is = self.fresh(Class::Pred);
            for (case, label) in targets {
                ptx!(self, "setp.eq.{} {is}, {value}, {case}", name(ty));
                ptx!(self, "@{is} bra {label}");
            }
            return ptx!(self, "bra {default}");
        }
        let (from, outside, table) = (self.fresh(Class::B32), self.fresh(Class::Pred), self.label());
        ptx!(self, "sub.u32 {from}, {value}, {least}");
        ptx!(self, "setp.gt.u32 {outside}, {from}, {span}");
        ptx!(self, "@{outside} bra {default}");
        let label = |v: i64| targets.iter().find(|(case, _)| *case == v).map_or(default, |(_, label)| *label);
        let list: Vec<String> = (least..=most).map(|v| label(v).to_string()).collect();
        self.text.line(format_args!("{table}: .branchtargets {};", list.join(", ")));
        ptx!(self, "brx.idx {from}, {table}");
    }

    /// `return`.
    pub fn return_(&mut self, inst: &Inst) {
        match self.form {
            Form::Kernel(_) => ptx!(self, "ret"),
            // The workgroup's thread goes on with another one.
            Form::Indirect(_, grid) if self.region == Some(self.function.body) => {
                let _ = grid;
            }
            Form::Indirect(_, grid) => ptx!(self, "bra {}", grid.end),
            Form::Function => {
                self.store_results(&inst.operands);
                ptx!(self, "ret");
            }
        }
    }
}

/// Whether an operation renders to a few instructions without a jump.
fn is_simple(op: Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Sub
            | Op::Mul
            | Op::MulHi
            | Op::Neg
            | Op::Abs
            | Op::Min
            | Op::Max
            | Op::Fma
            | Op::Mad
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Not
            | Op::Shl
            | Op::Shr
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
            | Op::Select
            | Op::Convert
            | Op::Bitcast
            | Op::Vector
            | Op::Splat
            | Op::Extract
            | Op::Load
            | Op::Store
    )
}

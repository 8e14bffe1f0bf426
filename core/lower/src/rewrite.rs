//! The walk that all passes share: copies a function instruction by instruction into a new one, where a pass may write
//! something else. A value may become several (a 64-bit integer two words).
//!
//! Invariant: operands are mapped before a pass sees them; regions are copied in the order of the text, so a value's copy exists
//! before its first use.

use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_ir::{Builder, Def, Function, Inst, InstId, Memory, RegionId, Type, Value, ValueId, Values};
use std::iter::repeat_n;

/// A pass over one function.
pub trait Pass {
    /// The type of the values that stand for a value of a type, and how many they are (at least one): a value of the same type,
    /// unless the pass splits or replaces it.
    fn types(&mut self, ty: Type) -> (Type, usize) {
        (ty, 1)
    }

    /// Whether [`inst`](Self::inst) is to be asked about an instruction; others are copied with mapped operands (and rewritten regions). A
    /// function without any, of whose types none changes, stays as it is.
    fn concerns(&self, _function: &Function, _inst: &Inst) -> bool {
        true
    }

    /// Writes what stands for an instruction through [`Rewriter::out`] and gives, for each of its results, the values that
    /// stand for it. `None` copies it.
    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic>;

    /// The values that stand for a constant, if it is not copied.
    fn constant(&mut self, _r: &mut Rewriter<'_>, _ty: Type, _bits: u64) -> Option<Vec<ValueId>> {
        None
    }

    /// Changes what stands for a shared or private memory; its length is mapped already.
    fn memory(&mut self, _r: &mut Rewriter<'_>, _old: &Memory, _new: &mut Memory) -> Result<(), Diagnostic> {
        Ok(())
    }
}

/// The walk's state.
#[derive(Debug)]
pub struct Rewriter<'a> {
    /// The function that is read.
    pub old: &'a Function,
    /// The function that is written, at the place where the current instruction's replacement goes.
    pub out: Builder,
    map: IndexVec<ValueId, Stand>,
    /// Values that stand for old ones, those for one beside each other.
    stands: Vec<ValueId>,
}

/// What stands for an old value, as a part of [`Rewriter::stands`]; empty if nothing does yet.
#[derive(Clone, Copy, Debug, Default)]
struct Stand {
    start: u32,
    len: u32,
}

impl<'a> Rewriter<'a> {
    /// Rewrites a whole function.
    pub fn run(old: &'a Function, pass: &mut dyn Pass) -> Result<Function, Diagnostic> {
        let mut r = Rewriter::begin(old, pass)?;
        r.region(pass, old.body)?;
        Ok(r.out.function)
    }

    /// Copies what stands before a function's body.
    pub(super) fn begin(old: &'a Function, pass: &mut dyn Pass) -> Result<Rewriter<'a>, Diagnostic> {
        let mut function = Function::new(old.name.clone(), old.span);
        function.results = old
            .results
            .iter()
            .flat_map(|t| {
                let (ty, n) = pass.types(*t);
                repeat_n(ty, n)
            })
            .collect();
        let stands = Vec::with_capacity(old.values.len());
        let mut r = Rewriter { old, out: Builder::new(function), map: unmapped(old), stands };
        r.out.function.reserve_like(old);
        let body = r.out.function.body;
        r.out.function.regions[body].insts.reserve(old.regions[old.body].insts.len());
        r.head(pass)?;
        Ok(r)
    }

    /// Goes on with another function at the place where `outer` stands; [`give_back`](Self::give_back) ends that.
    pub(super) fn continued(old: &'a Function, outer: &mut Rewriter<'_>, arguments: &[ValueId]) -> Rewriter<'a> {
        let nothing = Builder::new(Function::new("", girih_base::span::Span::NONE));
        let out = std::mem::replace(&mut outer.out, nothing);
        let mut r = Rewriter { old, out, map: unmapped(old), stands: Vec::with_capacity(old.values.len()) };
        for (param, argument) in old.params.iter().zip(arguments) {
            r.set(*param, &[*argument]);
        }
        r
    }
    pub(super) fn give_back(self, outer: &mut Rewriter<'_>) {
        outer.out = self.out;
    }

    fn head(&mut self, pass: &mut dyn Pass) -> Result<(), Diagnostic> {
        self.params(pass);
        self.launch(pass)?;
        self.memories(pass)
    }

    /// The values that stand for an old value: one, unless the pass splits its type.
    pub fn values(&mut self, pass: &mut dyn Pass, old: ValueId) -> &[ValueId] {
        let Stand { start, len } = self.find(pass, old);
        &self.stands[start as usize..(start + len) as usize]
    }
    fn find(&mut self, pass: &mut dyn Pass, old: ValueId) -> Stand {
        let known = self.map[old];
        if known.len > 0 {
            return known;
        }
        let value = &self.old.values[old];
        let Def::Constant(bits) = value.def else {
            unreachable!("a verified function defines values before their uses")
        };
        let ty = value.ty;
        match pass.constant(self, ty, bits) {
            Some(values) => self.set(old, &values),
            None => {
                let value = self.out.function.constant(ty, bits);
                self.set(old, &[value]);
            }
        }
        self.map[old]
    }
    /// The value that stands for an old value, for passes that split none.
    pub fn value(&mut self, pass: &mut dyn Pass, old: ValueId) -> ValueId {
        self.values(pass, old)[0]
    }
    /// What stands for an instruction's operands, for passes that split nothing and replace no constants.
    pub fn operands(&mut self, inst: &Inst) -> Values {
        inst.operands.iter().map(|v| self.value(&mut Compact, *v)).collect()
    }
    /// Says what stands for an old value.
    pub fn set(&mut self, old: ValueId, new: &[ValueId]) {
        self.map[old] = Stand { start: self.stands.len() as u32, len: new.len() as u32 };
        self.stands.extend_from_slice(new);
    }

    /// Copies an instruction with mapped operands and rewritten regions, and maps its results.
    pub fn copy(&mut self, pass: &mut dyn Pass, inst: &Inst) -> Result<InstId, Diagnostic> {
        let mut new = Inst { attrs: inst.attrs.clone(), ..Inst::new(inst.op, inst.ty, &[], inst.span) };
        for operand in &inst.operands {
            new.operands.extend_from_slice(self.values(pass, *operand));
        }
        for region in &inst.regions {
            new.regions.push(self.inner(pass, *region)?);
        }
        let id = self.out.function.insts.next_id();
        new.results.reserve_exact(inst.results.len());
        for result in &inst.results {
            let (ty, n) = pass.types(self.old.ty(*result));
            let start = self.stands.len();
            for _ in 0..n {
                let def = Def::Result(id, new.results.len() as u32);
                let value = self.out.function.values.push(Value { ty, def, name: None });
                new.results.push(value);
                self.stands.push(value);
            }
            self.map_last(*result, start);
        }
        self.out.append(new);
        Ok(id)
    }

    /// The values from `start` on, which were put last, stand for an old value.
    fn map_last(&mut self, old: ValueId, start: usize) {
        let new = &self.stands[start..];
        self.map[old] = Stand { start: start as u32, len: new.len() as u32 };
        rename(self.old, old, &mut self.out.function, new);
    }

    /// Rewrites a region into a new one that nothing holds yet.
    pub fn inner(&mut self, pass: &mut dyn Pass, old: RegionId) -> Result<RegionId, Diagnostic> {
        let region = self.out.new_region(&[]);
        self.out.function.regions[region].insts.reserve(self.old.regions[old].insts.len());
        self.arguments(pass, old, region);
        let outer = std::mem::replace(&mut self.out.region, region);
        let result = self.region(pass, old);
        self.out.region = outer;
        result.map(|()| region)
    }

    /// Rewrites the instructions of a region to where the output stands.
    pub fn region(&mut self, pass: &mut dyn Pass, old: RegionId) -> Result<(), Diagnostic> {
        let source = self.old;
        for id in &source.regions[old].insts {
            let inst = &source.insts[*id];
            self.out.span = inst.span;
            let replaced = if pass.concerns(source, inst) { pass.inst(self, inst)? } else { None };
            match replaced {
                None => drop(self.copy(pass, inst)?),
                Some(results) => {
                    debug_assert_eq!(results.len(), inst.results.len(), "{}: each result is replaced", inst.op.name());
                    for (old, new) in inst.results.iter().zip(results) {
                        self.stand(*old, &new);
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives a new region the parameters that stand for those of an old one.
    pub fn arguments(&mut self, pass: &mut dyn Pass, old: RegionId, new: RegionId) {
        let source = self.old;
        for param in &source.regions[old].params {
            let (ty, n) = pass.types(source.ty(*param));
            let start = self.stands.len();
            for _ in 0..n {
                let value = self.argument(new, ty);
                self.stands.push(value);
            }
            self.map_last(*param, start);
        }
    }
    /// Adds a parameter to a new region.
    pub fn argument(&mut self, region: RegionId, ty: Type) -> ValueId {
        let position = self.out.function.regions[region].params.len() as u32;
        let value = self.out.function.values.push(Value { ty, def: Def::Argument(region, position), name: None });
        self.out.function.regions[region].params.push(value);
        value
    }

    /// Says what stands for an old value, and names it after that.
    fn stand(&mut self, old: ValueId, new: &[ValueId]) {
        let start = self.stands.len();
        self.stands.extend_from_slice(new);
        self.map_last(old, start);
    }

    fn params(&mut self, pass: &mut dyn Pass) {
        let source = self.old;
        for param in &source.params {
            let Value { ty, def, .. } = source.values[*param];
            let (ty, n) = pass.types(ty);
            let start = self.stands.len();
            for _ in 0..n {
                let value = self.out.function.values.push(Value { ty, def, name: None });
                self.out.function.params.push(value);
                self.stands.push(value);
            }
            self.map_last(*param, start);
        }
    }

    fn launch(&mut self, pass: &mut dyn Pass) -> Result<(), Diagnostic> {
        let Some(launch) = &self.old.launch else { return Ok(()) };
        let mut new = launch.clone();
        for spec in &mut new.specialisations {
            // Specialisations keep their type: they are constants before any pass that splits types runs.
            let value = self.out.function.values.push(self.old.values[spec.value].clone());
            self.set(spec.value, &[value]);
            spec.value = value;
        }
        if let Some(traps) = launch.traps {
            new.traps = Some(self.value(pass, traps));
        }
        if let Some(prologue) = launch.prologue {
            new.prologue = Some(self.inner(pass, prologue)?);
        }
        self.out.function.launch = Some(new);
        Ok(())
    }

    pub(super) fn memories(&mut self, pass: &mut dyn Pass) -> Result<(), Diagnostic> {
        for memory in self.old.memories.iter() {
            let length = self.value(pass, memory.length);
            let id = self.out.function.memories.next_id();
            let Value { ty, name, .. } = self.old.values[memory.value].clone();
            let value = self.out.function.values.push(Value { ty, def: Def::Memory(id), name });
            let mut new = Memory { value, length, ..memory.clone() };
            pass.memory(self, memory, &mut new)?;
            self.out.function.memories.push(new);
            self.set(memory.value, &[value]);
        }
        Ok(())
    }
}

/// Names what stands for an old value after it, if it has no name yet.
fn rename(source: &Function, old: ValueId, out: &mut Function, new: &[ValueId]) {
    let Some(name) = &source.values[old].name else { return };
    for (i, value) in new.iter().enumerate() {
        let slot = &mut out.values[*value];
        if slot.name.is_none() && !matches!(slot.def, Def::Constant(_)) {
            slot.name = Some(if new.len() == 1 { name.clone() } else { format!("{name}.{i}").into() });
        }
    }
}

fn unmapped(function: &Function) -> IndexVec<ValueId, Stand> {
    std::iter::repeat_n(Stand::default(), function.values.len()).collect()
}

/// A pass that changes nothing: copies a function, leaving out what no region holds.
#[derive(Debug, Default)]
pub struct Compact;

impl Pass for Compact {
    fn inst(&mut self, _: &mut Rewriter<'_>, _: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        Ok(None)
    }
}

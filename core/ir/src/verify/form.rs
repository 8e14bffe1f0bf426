//! Whether a function's tables fit together: every id refers to something, each value's definition is the place that
//! defines it, each region and instruction is in exactly one place.
//!
//! All other rules index freely into a function that has passed, and recurse into its regions, whose depth is bounded.

use crate::function::{Def, Function, InstId, RegionId, ValueId};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use std::collections::HashSet;

/// How deep regions may be nested.
const DEPTH: usize = 256;

/// Who holds what.
#[derive(Debug)]
pub(super) struct Form {
    owners: IndexVec<RegionId, Option<InstId>>,
    held: IndexVec<InstId, Option<RegionId>>,
}

impl Form {
    /// The instruction that holds a region; none for the body and the `launch` region.
    pub(super) fn owner(&self, region: RegionId) -> Option<InstId> {
        self.owners.get(region).copied().flatten()
    }
    /// The region in which an instruction stands; none if the function does not hold it.
    pub(super) fn region_of(&self, inst: InstId) -> Option<RegionId> {
        self.held.get(inst).copied().flatten()
    }
}

/// Checks the tables; the first thing that does not fit is an error.
pub(super) fn check(function: &Function) -> Result<Form, Diagnostic> {
    let mut walk = Walk {
        function,
        seen: function.regions.iter().map(|_| false).collect(),
        form: Form {
            owners: function.regions.iter().map(|_| None).collect(),
            held: function.insts.iter().map(|_| None).collect(),
        },
        open: vec![],
    };
    walk.signature()?;
    while let Some((region, depth, span)) = walk.open.pop() {
        if depth > DEPTH {
            return Err(Diagnostic::new(Code::IrNesting, span, format!("regions are nested more than {DEPTH} deep"))
                .hint("put the inner part into a function of its own"));
        }
        walk.region(region, depth)?;
    }
    Ok(walk.form)
}

struct Walk<'a> {
    function: &'a Function,
    form: Form,
    seen: IndexVec<RegionId, bool>,
    open: Vec<(RegionId, usize, Span)>,
}

impl Walk<'_> {
    fn signature(&mut self) -> Result<(), Diagnostic> {
        let function = self.function;
        let span = function.span;
        let mut params = HashSet::new();
        for param in &function.params {
            if !params.insert(*param) {
                return Err(self.malformed(span, format!("value {} is two parameters", param.index())));
            }
            self.defined(*param, |def| matches!(def, Def::Param(_)), "a parameter", span)?;
        }
        for (id, memory) in function.memories.iter_enumerated() {
            self.defined(memory.value, |def| def == Def::Memory(id), "a memory", span)?;
            self.exists(memory.length, span)?;
        }
        if let Some(launch) = &function.launch {
            for (i, spec) in (0..).zip(&launch.specialisations) {
                self.defined(spec.value, |def| def == Def::Specialisation(i), "a specialisation constant", span)?;
            }
            if let Some(traps) = launch.traps {
                self.exists(traps, span)?;
            }
            if let Some(prologue) = launch.prologue {
                self.enter(prologue, None, 0, span)?;
            }
        }
        self.enter(function.body, None, 0, span)
    }

    fn enter(&mut self, region: RegionId, owner: Option<InstId>, depth: usize, span: Span) -> Result<(), Diagnostic> {
        let Some(_) = self.function.regions.get(region) else {
            return Err(self.malformed(span, format!("region {} does not exist", region.index())));
        };
        if std::mem::replace(&mut self.seen[region], true) {
            return Err(self.malformed(span, format!("region {} is held twice", region.index())));
        }
        self.form.owners[region] = owner;
        self.open.push((region, depth, span));
        Ok(())
    }

    fn region(&mut self, region: RegionId, depth: usize) -> Result<(), Diagnostic> {
        let function = self.function;
        for (i, param) in (0..).zip(&function.regions[region].params) {
            let def = Def::Argument(region, i);
            self.defined(*param, |d| d == def, "a parameter of a region", function.span)?;
        }
        for id in &function.regions[region].insts {
            self.inst(*id, region, depth)?;
        }
        Ok(())
    }

    fn inst(&mut self, id: InstId, region: RegionId, depth: usize) -> Result<(), Diagnostic> {
        let function = self.function;
        let Some(inst) = function.insts.get(id) else {
            return Err(self.malformed(function.span, format!("instruction {} does not exist", id.index())));
        };
        if self.form.held[id].replace(region).is_some() {
            return Err(self.malformed(inst.span, format!("one `{}` stands in two places", inst.op.name())));
        }
        for operand in &inst.operands {
            self.exists(*operand, inst.span)?;
        }
        for (i, result) in (0..).zip(&inst.results) {
            self.defined(*result, |def| def == Def::Result(id, i), "a result", inst.span)?;
        }
        for region in &inst.regions {
            self.enter(*region, Some(id), depth + 1, inst.span)?;
        }
        Ok(())
    }

    fn exists(&self, value: ValueId, span: Span) -> Result<(), Diagnostic> {
        match self.function.values.get(value) {
            Some(_) => Ok(()),
            None => Err(self.malformed(span, format!("value {} does not exist", value.index()))),
        }
    }

    fn defined(&self, value: ValueId, fits: impl Fn(Def) -> bool, what: &str, span: Span) -> Result<(), Diagnostic> {
        self.exists(value, span)?;
        if fits(self.function.values[value].def) {
            return Ok(());
        }
        Err(self.malformed(span, format!("value {} stands as {what} and is defined elsewhere", value.index())))
    }

    fn malformed(&self, span: Span, what: String) -> Diagnostic {
        Diagnostic::new(Code::IrMalformed, span, format!("`@{}` does not fit together: {what}", self.function.name))
            .hint("this is a mistake in the program that built the function")
    }
}

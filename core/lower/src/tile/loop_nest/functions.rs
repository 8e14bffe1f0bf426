//! Functions of vectors: the math library's routines, four lanes at once.
//!
//! Invariant: each lane gets the bits that the routine gives for it alone.

use super::{Made, rare_lanes};
use crate::rewrite::{Pass, Rewriter};
use crate::spmd::{self, LANES, MASK};
use girih_base::diag::Diagnostic;
use girih_base::hash::FastMap;
use girih_base::span::Span;
use girih_ir::ops::Class;
use girih_ir::{Attr, Caps, Feature, Function, FunctionId, Inst, Module, Op, Scalar, Type, ValueId, math};

/// Routines of the library that are in the module, and their versions for vectors.
#[derive(Debug, Default)]
pub struct Functions {
    placed: FastMap<FunctionId, FunctionId>,
    versions: FastMap<Op, Option<FunctionId>>,
}

/// The exact operation of an instruction on vectors of `f32` that is a function.
fn exact(inst: &Inst) -> Option<Op> {
    let row = inst.op.row();
    let function = row.approximates.or(matches!(row.class, Class::Library(_)).then_some(inst.op))?;
    (inst.ty == Some(Type::Vector(Scalar::F32, LANES))).then_some(function)
}

/// Whether vectors have an instruction for a function, with the same bits as the routine.
fn is_own(op: Op, caps: &Caps) -> bool {
    caps.has(Feature::ExactDivision) && matches!(op, Op::Div | Op::Sqrt)
}

impl Functions {
    /// Makes functions of vectors in a kernel calls of routines.
    pub fn run(&mut self, module: &mut Module, kernel: FunctionId, caps: &Caps) -> Made<()> {
        let mut needed = vec![];
        let function = &module.functions[kernel];
        function.walk(function.body, &mut |_, inst| needed.extend(exact(inst)));
        if needed.is_empty() {
            return Ok(());
        }
        for op in needed.into_iter().filter(|op| !is_own(*op, caps)) {
            if !self.versions.contains_key(&op) {
                let version = self.version(module, op);
                self.versions.insert(op, version);
            }
        }
        let whole = std::mem::replace(&mut module.functions[kernel], Function::new("", Span::NONE));
        let results = |id: FunctionId| module.functions[id].results.clone();
        let calls = self.versions.iter().filter_map(|(op, id)| id.map(|id| (*op, (id, results(id))))).collect();
        module.functions[kernel] = Rewriter::run(&whole, &mut Calls { calls, caps })?;
        Ok(())
    }

    /// The version for vectors of a routine, if it can be one.
    fn version(&mut self, module: &mut Module, op: Op) -> Option<FunctionId> {
        let library = math::library();
        let routine = library.find(math::routine(op, Scalar::F32)?)?;
        let varies = vec![true; library.functions[routine].params.len()];
        let routine = self.place(module, routine);
        let before = module.functions.len();
        let version = spmd::vectorise(module, routine, &varies).ok()?;
        let made: Vec<FunctionId> = module.functions.ids().skip(before).collect();
        for id in made {
            module.functions[id] = rare_lanes::run(&module.functions[id]).ok()?;
        }
        Some(version)
    }

    /// A routine in the module, with all that it calls.
    fn place(&mut self, module: &mut Module, routine: FunctionId) -> FunctionId {
        if let Some(placed) = self.placed.get(&routine) {
            return *placed;
        }
        let mut function = math::library().functions[routine].clone();
        let mut calls = vec![];
        function.walk(function.body, &mut |id, inst| calls.extend(inst.callee().map(|callee| (id, callee))));
        for (id, callee) in calls {
            let callee = self.place(module, callee);
            function.insts[id].set(Attr::Callee(callee));
        }
        function.simplified = false;
        let placed = module.functions.push(function);
        self.placed.insert(routine, placed);
        placed
    }
}

struct Calls<'c> {
    calls: FastMap<Op, (FunctionId, Vec<Type>)>,
    caps: &'c Caps,
}

impl Pass for Calls<'_> {
    fn concerns(&self, _: &Function, inst: &Inst) -> bool {
        inst.ty == Some(Type::Vector(Scalar::F32, LANES)) && (exact(inst).is_some() || inst.op == Op::RcpApprox)
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let operands: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
        let vector = Type::Vector(Scalar::F32, LANES);
        let native = self.caps.has(Feature::ExactDivision);
        let value = if let Some(op) = exact(inst).filter(|op| is_own(*op, self.caps)) {
            r.out.op(op, vector, &operands)
        } else if let Some((callee, results)) = exact(inst).and_then(|op| self.calls.get(&op)) {
            let ones = r.out.u32(u32::MAX);
            let mut arguments = vec![r.out.op(Op::Splat, MASK, &[ones])];
            arguments.extend(operands);
            r.out.call(*callee, results, &arguments)[0]
        } else if native && inst.op == Op::RcpApprox {
            let one = r.out.f32(1.0);
            let ones = r.out.op(Op::Splat, vector, &[one]);
            r.out.op(Op::Div, vector, &[ones, operands[0]])
        } else {
            return Ok(None);
        };
        Ok(Some(vec![vec![value]]))
    }
}

//! A kernel for each operation of the table and each type that it is made for, so that no row is forgotten.

use girih_base::diag::Diagnostic;
use girih_base::span::Span;
use girih_ir::attrs::{Attr, Dim, ParamAttrs};
use girih_ir::ops::{Family, Pattern, Row, Suffix};
use girih_ir::types::{Scalar, ScalarSet, Space, Type};
use girih_ir::{Builder, Feature, Function, Launch, Module, Op, Verified, verify};

/// An operation on a type; conversions also have the type of what they take.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The operation.
    pub op: Op,
    /// Its suffix.
    pub ty: Type,
    /// What it takes, where its row leaves that open.
    pub source: Scalar,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{} of {}", self.op.name(), self.ty, self.source)
    }
}

/// All cases whose operands are scalars, and accesses to memory.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for op in Op::ALL.iter().copied() {
        let row = op.row();
        let all = |set: ScalarSet| set.iter().collect::<Vec<_>>();
        let types = match row.suffix {
            Suffix::Scalar(set) | Suffix::Lanes(set) => all(set),
            Suffix::None
            | Suffix::Dim
            | Suffix::Aggregate(_)
            | Suffix::Coop
            | Suffix::Tile(_)
            | Suffix::Block(_)
            | Suffix::Any => vec![Scalar::U32],
        };
        if !is_simple(op, row) {
            continue;
        }
        for ty in types {
            let open = row.operands.contains(&Pattern::Source);
            let sources = if open { all(ScalarSet::ALL) } else { vec![ty] };
            let fits = |s: &Scalar| op != Op::Bitcast || (s.bits() == ty.bits() && *s != Scalar::Bool);
            cases.extend(sources.into_iter().filter(fits).map(|source| Case { op, ty: ty.into(), source }));
        }
    }
    cases
}

fn is_simple(op: Op, row: &Row) -> bool {
    let plain = |p: &Pattern| {
        matches!(p, Pattern::T | Pattern::Bool | Pattern::U32 | Pattern::Source | Pattern::Memory(_) | Pattern::Index)
    };
    let foreign = [Feature::AsyncCopy, Feature::Mbarrier, Feature::Wgmma, Feature::OrderedAtomics];
    if row.needs.is_some_and(|feature| foreign.contains(&feature)) {
        return false;
    }
    let family = matches!(row.family, Family::Scalar | Family::Memory | Family::Sync);
    family
        && row.operands.iter().all(plain)
        && !matches!(row.suffix, Suffix::Aggregate(_) | Suffix::Coop)
        && op.accesses() < 2
}

/// A kernel that loads the operands from a buffer, does the operation, and stores what it gives.
pub fn kernel(case: Case) -> Result<Verified<Module>, Vec<Diagnostic>> {
    let mut function = Function::new("case", Span::NONE);
    let buffer = |f: &mut Function, name: &str| f.param(name, Type::Memory(Space::Global), ParamAttrs::default());
    let (input, output) = (buffer(&mut function, "in"), buffer(&mut function, "out"));
    function.launch = Some(Launch { workgroup: [32, 1, 1], ..Launch::default() });
    let length = function.constant(Type::U32, 64);
    let ty = case.ty.element().filter(|s| *s != Scalar::Bool).unwrap_or(Scalar::U32);
    let shared = function.memory(Some("tile".into()), Space::Shared, ty.into(), length);
    let mut b = Builder::new(function);
    let index = b.position(Op::GlobalId, Dim::X);
    let row = case.op.row();
    let (mut operands, mut next) = (vec![], 0);
    for pattern in row.operands {
        operands.push(match pattern {
            Pattern::Memory(spaces) if spaces.contains(&Space::Global) => output,
            Pattern::Memory(_) => shared,
            // A uniform number where one is asked for.
            Pattern::Index | Pattern::U32 => b.u32(1),
            Pattern::Bool => load(&mut b, input, index, Scalar::Bool, &mut next),
            Pattern::Source => load(&mut b, input, index, case.source, &mut next),
            _ => load(&mut b, input, index, case.ty.element().unwrap_or(Scalar::U32), &mut next),
        });
    }
    let suffix = (!matches!(row.suffix, Suffix::None | Suffix::Dim)).then_some(case.ty);
    let attrs = if row.suffix == Suffix::Dim { vec![Attr::Dim(Dim::Y)] } else { vec![] };
    let inst = b.op_with(case.op, suffix, &operands, &attrs);
    if let [result] = b.function.insts[inst].results[..] {
        match b.ty(result) {
            Type::BOOL => {
                let word = b.op(Op::Convert, Type::U32, &[result]);
                b.store(Type::U32, output, index, word);
            }
            ty => b.store(ty, output, index, result),
        }
    }
    b.end(Op::Return, &[]);
    verify(Module::of([b.function]))
}

fn load(
    b: &mut Builder,
    memory: girih_ir::ValueId,
    index: girih_ir::ValueId,
    ty: Scalar,
    next: &mut u32,
) -> girih_ir::ValueId {
    let offset = b.u32(*next * 32);
    *next += 1;
    let at = b.op(Op::Add, Type::U32, &[index, offset]);
    if ty != Scalar::Bool {
        return b.load(ty, memory, at);
    }
    let word = b.load(Scalar::U32, memory, at);
    b.op(Op::Convert, Type::BOOL, &[word])
}

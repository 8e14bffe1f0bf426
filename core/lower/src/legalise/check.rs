//! What *legal* means, as a check: the contract between legalisation and the code generators.
//!
//! It holds for modules that [`super::run`] has just made. Later simplification keeps it, except that it may remove a guard that it proves needless.

use super::library;
use super::storage;
use super::{floats::SHORT, short_integers::NARROW};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::groups::{
    accesses, approximations, asynchronous, atomics, barriers, bits, control, counts, fragments, library, masks,
    matrix_products, plain_arithmetic, positions, reductions, roundings, scans, shuffles, subgroup_positions,
    task_form, votes,
};
use girih_ir::ops::{Class, Pattern};
use girih_ir::{Caps, Def, Feature, Function, Inst, Module, Op, Scalar, ScalarSet, Space, Type, ValueId};

/// Everything in a module that is not legal for a device. Each is a mistake of legalisation, not of the program. Routines that
/// come simplified were checked when they were made.
pub fn check(module: &Module, caps: &Caps) -> Vec<Diagnostic> {
    module.functions.iter().filter(|f| !f.simplified).flat_map(|f| function(f, caps)).collect()
}

/// The same for a function.
pub(super) fn function(function: &Function, caps: &Caps) -> Vec<Diagnostic> {
    let rules = Rules { function, caps };
    let memories = rules.memories();
    let mut found: Vec<Diagnostic> =
        memories.into_iter().map(|m| Diagnostic::new(Code::Internal, function.span, m)).collect();
    function.walk(function.body, &mut |_, inst| {
        if let Some(message) = rules.instruction(inst) {
            let message = format!("@{}: `{}`: {message}", function.name, inst.op.name());
            found.push(Diagnostic::new(Code::Internal, inst.span, message));
        }
    });
    found
}

struct Rules<'a> {
    function: &'a Function,
    caps: &'a Caps,
}

impl Rules<'_> {
    fn memories(&self) -> Vec<String> {
        let mut found = vec![];
        for memory in self.function.memories.iter() {
            if memory.element.element().is_none_or(|s| !self.caps.local_storage.has(s)) {
                found.push(format!("memory of `{}`", memory.element));
            }
            if self.function.as_constant(memory.length).is_none() && !self.caps.has(Feature::DynamicShared) {
                found.push("memory of unknown length".into());
            }
        }
        if self.function.launch.is_some() {
            for param in &self.function.params {
                let ty = self.function.ty(*param);
                if !matches!(ty, Type::Memory(Space::Global)) && (ty.bytes() < 4 || !self.native(ty)) {
                    found.push(format!("a kernel's parameter of type `{ty}`"));
                }
            }
        }
        found
    }

    fn native(&self, ty: Type) -> bool {
        ty.element().is_none_or(|s| self.caps.arithmetic.has(s))
    }

    /// What is wrong with an instruction.
    fn instruction(&self, inst: &Inst) -> Option<String> {
        let row = inst.op.row();
        let masks = matches!(inst.op, masks!()) && self.caps.has(Feature::Vectors);
        if !(row.family.is_kernel_form() || masks) || inst.op == Op::TrapIf || matches!(row.class, Class::Library(_)) {
            return Some("is to be gone".into());
        }
        if let Some(feature) = row.needs.filter(|f| !self.caps.has(*f)) {
            return Some(format!("needs `{}`", feature.name()));
        }
        self.types(inst).or_else(|| self.access(inst)).or_else(|| self.operation(inst))
    }

    /// Types that the device does not have stand beside memory and conversions only.
    fn types(&self, inst: &Inst) -> Option<String> {
        let beside = matches!(
            inst.op,
            Op::Load
                | Op::UniformLoad
                | Op::Store
                | Op::Convert
                | Op::Bitcast
                | Op::Vector
                | Op::Splat
                | Op::Extract
                | atomics!()
        );
        let vectors = matches!(
            inst.op,
            Op::Load | Op::Store | Op::Vector | Op::Splat | Op::Extract | Op::Insert | Op::Bitcast | Op::Ballot
        );
        for value in inst.operands.iter().chain(&inst.results) {
            let ty = self.function.ty(*value);
            match ty {
                Type::Scalar(s) if !self.native(ty) && !(beside && (NARROW.has(s) || SHORT.has(s))) => {
                    return Some(format!("has a `{ty}`"));
                }
                Type::Vector(Scalar::F32 | Scalar::I32 | Scalar::U32, 4) if self.caps.has(Feature::Vectors) => {}
                Type::Vector(..) if !vectors || !(self.native(ty) || self.caps.local_views) => {
                    return Some(format!("has a `{ty}`"));
                }
                _ => {}
            }
        }
        None
    }

    fn access(&self, inst: &Inst) -> Option<String> {
        for (pattern, operand) in inst.op.row().operands.iter().zip(&inst.operands) {
            let ty = self.function.ty(*operand);
            if *pattern == Pattern::Index && ty != Type::U32 && !self.caps.has(Feature::Index64) {
                return Some(format!("has an index of `{ty}`"));
            }
        }
        let (accesses!(), Some(ty)) = (inst.op, inst.ty) else { return None };
        let space = self.function.space(inst.operands[0]);
        if storage::parts(self.caps, space, ty) != Some(ty) {
            return Some(format!("accesses {} memory as `{ty}`", space.name()));
        }
        let memory = self.function.memories.iter().find(|m| m.value == inst.operands[0]);
        match memory {
            Some(memory) if !self.caps.local_views && memory.element != ty => {
                Some(format!("accesses memory of `{}` as `{ty}`", memory.element))
            }
            _ => None,
        }
    }

    /// Whether a value is a constant or comes from one of these operations.
    fn comes_from(&self, value: ValueId, ops: &[Op]) -> bool {
        match self.function.values[value].def {
            Def::Constant(_) => true,
            Def::Result(inst, _) => ops.contains(&self.function.insts[inst].op),
            Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) => false,
        }
    }

    fn operation(&self, inst: &Inst) -> Option<String> {
        let ty = inst.element();
        let caps = self.caps;
        let lacks = |feature: Feature| !caps.has(feature);
        let source = inst.operands.first().and_then(|v| self.function.ty(*v).element()).unwrap_or(ty);
        let bad = match inst.op {
            // All lanes of a vector are shifted by one constant.
            Op::Shl | Op::Shr => !self.comes_from(inst.operands[1], &[Op::And, Op::Splat]),
            Op::Rem if ty.is_signed() && ty.is_integer() && lacks(Feature::SignedRemainder) => true,
            Op::Div | Op::Rem if ty.is_integer() => {
                lacks(Feature::TotalDivision) && !self.comes_from(inst.operands[1], &[Op::Select])
            }
            Op::Div | Op::Sqrt => SHORT.has(ty) || ty == Scalar::F32 && lacks(Feature::ExactDivision),
            Op::Fma => lacks(Feature::FusedFma),
            Op::Mad => true,
            Op::MulHi => lacks(Feature::MulHi),
            counts!() => ty.bits() != 32,
            approximations!() => SHORT.has(ty) || library::is_refined(inst, caps),
            roundings!() => SHORT.has(ty),
            Op::Convert if source == Scalar::Bool || ty == Scalar::Bool => true,
            Op::Convert if source.is_float() && ty.is_integer() => {
                SHORT.has(source)
                    || NARROW.has(ty)
                    || lacks(Feature::ExactConversions) && !self.comes_from(inst.operands[0], &[Op::Select])
            }
            Op::Convert if ty.is_float() => {
                let short = |s: Scalar| SHORT.has(s) && !(caps.arithmetic.has(s) || caps.conversions.has(s));
                let other = |s: Scalar, o: Scalar| SHORT.has(s) && o != Scalar::F32;
                short(ty) || short(source) || other(ty, source) || other(source, ty)
            }
            Op::Extract | Op::Insert => self.function.as_constant(inst.operands[1]).is_none(),
            Op::Eq | Op::Ne => ty == Scalar::Bool,
            shuffles!() | reductions!() | scans!() => {
                !ScalarSet::WORDS.or(ScalarSet::of(&[Scalar::F32])).has(ty) || inst.ty.is_some_and(|t| t.lanes() != 1)
            }
            // Complete with what has a condition above, these are as they are.
            plain_arithmetic!() | bits!() | library!() | Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Rem | Op::Neg => false,
            Op::Abs | Op::Select | Op::Convert | Op::Bitcast | Op::Vector | Op::Splat => false,
            atomics!() => {
                let base = inst.element();
                !super::atomics::is_direct(caps, inst.op, base, base)
            }
            control!() | accesses!() | matrix_products!() | positions!() | subgroup_positions!() | barriers!() => false,
            votes!() | fragments!() | asynchronous!() | task_form!() | masks!() | girih_ir::tile_operations!() => false,
        };
        bad.then(|| format!("is not as it should be for `{ty}`"))
    }
}

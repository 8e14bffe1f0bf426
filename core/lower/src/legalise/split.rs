//! Kernels on buffers that are too large for a single binding: such a buffer is split into parts, and an access goes to the part in
//! which the index lies.
//!
//! All parts except the last have one size, a power of two, so the upper bits of the index are the number of the part. A kernel is
//! not changed if nothing is split.
//!
//! Invariant: the first part takes the place of the parameter that was split; the others follow behind all parameters, in order.

use crate::calls::inline;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_ir::ops::Effect;
use girih_ir::{AttrKind, Caps, Function, FunctionId, Inst, Module, Op, Scalar, Type, ValueId, Verified, verify};

/// A kernel of a module with the buffers split of some parameters, each into so many parts of `bytes` (the last one may be smaller): one number for each
/// parameter, where 1 leaves it whole. A part is a power of two, and so is the number.
///
/// # Errors
/// If the kernel reaches such a buffer by an operation that is no load, store or atomic access.
pub fn split(
    module: &Verified<Module>,
    kernel: FunctionId,
    parts: &[u32],
    bytes: u64,
    caps: &Caps,
) -> Result<Verified<Module>, Vec<Diagnostic>> {
    let one = |d| vec![d];
    let mut module: Module = (**module).clone();
    // Afterwards no memory is handed to a function.
    inline::run(&mut module, caps).map_err(one)?;
    let function = &module.functions[kernel];
    module.functions[kernel] = split_kernel(function, parts, bytes).map_err(one)?;
    verify(module)
}

fn split_kernel(old: &Function, parts: &[u32], bytes: u64) -> Result<Function, Diagnostic> {
    let mut pass = Split { parts: FastMap::default(), bytes };
    let mut r = Rewriter::begin(old, &mut pass)?;
    for (i, (param, count)) in old.params.iter().zip(parts).enumerate() {
        if *count > 1 {
            let mut all = vec![r.out.function.params[i]];
            let (ty, attrs) = (old.ty(*param), old.param_attrs(*param));
            let name = old.values[*param].name.as_deref().unwrap_or("part");
            all.extend((1..*count).map(|part| r.out.function.param(format!("{name}_part{part}"), ty, attrs)));
            pass.parts.insert(*param, all);
        }
    }
    r.region(&mut pass, old.body)?;
    Ok(r.out.function)
}

struct Split {
    /// The parts that stand for each buffer that is split.
    parts: FastMap<ValueId, Vec<ValueId>>,
    bytes: u64,
}

/// An access whose part is to be found.
struct Access<'a> {
    inst: &'a Inst,
    /// The part, the index in it, and the operands behind.
    which: ValueId,
    index: ValueId,
    rest: &'a [ValueId],
    results: Vec<Type>,
    scalar: Scalar,
}

impl Pass for Split {
    fn concerns(&self, _: &Function, inst: &Inst) -> bool {
        inst.operands.iter().any(|operand| self.parts.contains_key(operand))
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let refused = |what: &str| {
            let message =
                format!("`{}` {what}, and the buffer is larger than what one binding reaches", inst.op.name());
            Err(Diagnostic::new(Code::OverLimit, inst.span, message))
        };
        let effect = inst.op.row().effect;
        if !matches!(effect, Effect::Read | Effect::Write | Effect::Atomic) || inst.op.accesses() != 1 {
            return refused("needs all of a buffer");
        }
        let Some(width) = inst.ty.map(|ty| u64::from(ty.bytes())).filter(|width| width.is_power_of_two()) else {
            return refused("is of a width that is no power of two");
        };
        let operands = r.operands(inst);
        let (Some(parts), [_, index, rest @ ..]) = (self.parts.get(&inst.operands[0]), &operands[..]) else {
            return refused("needs a buffer as a value");
        };
        let Type::Scalar(scalar) = r.out.ty(*index) else { return refused("has many indices") };
        // How many elements a part has.
        let length = self.bytes / width;
        let mut index = *index;
        if inst.offset() != 0 {
            let offset = r.out.constant(scalar, i64::from(inst.offset()) as u64 & scalar.mask());
            index = r.out.op(Op::Add, scalar, &[index, offset]);
        }
        let shift = r.out.u32(length.trailing_zeros());
        let shift = if scalar == Scalar::U32 { shift } else { r.out.constant(scalar, length.trailing_zeros().into()) };
        let mask = r.out.constant(scalar, length - 1);
        let which = r.out.op(Op::Shr, scalar, &[index, shift]);
        let index = r.out.op(Op::And, scalar, &[index, mask]);
        let results = inst.results.iter().map(|result| r.old.ty(*result)).collect();
        let access = Access { inst, which, index, rest, results, scalar };
        let given = access.to(r, parts, 0);
        Ok(Some(given.into_iter().map(|value| vec![value]).collect()))
    }
}

impl Access<'_> {
    /// The access to one of these parts, the first of which has this number.
    fn to(&self, r: &mut Rewriter<'_>, parts: &[ValueId], first: u64) -> Vec<ValueId> {
        if let [part] = parts {
            let mut inst =
                Inst { attrs: self.inst.attrs.clone(), ..Inst::new(self.inst.op, self.inst.ty, &[], self.inst.span) };
            inst.remove(AttrKind::Offset);
            inst.operands.extend([*part, self.index].into_iter().chain(self.rest.iter().copied()));
            let id = r.out.push(inst, &self.results);
            return r.out.function.insts[id].results.to_vec();
        }
        let (low, high) = parts.split_at(parts.len() / 2);
        let middle = first + low.len() as u64;
        let limit = r.out.constant(self.scalar, middle);
        let is_low = r.out.op(Op::Lt, self.scalar, &[self.which, limit]);
        let regions = [(low, first), (high, middle)].map(|(parts, first)| {
            let region = r.out.new_region(&[]);
            let outer = std::mem::replace(&mut r.out.region, region);
            let given = self.to(r, parts, first);
            r.out.end(Op::Yield, &given);
            r.out.region = outer;
            region
        });
        let mut choice = Inst::new(Op::If, None, &[is_low], self.inst.span);
        choice.regions.extend(regions);
        let id = r.out.push(choice, &self.results);
        r.out.function.insts[id].results.to_vec()
    }
}

//! Buffers that begin at places that a kernel's bindings or widest accesses do not allow. The kernel gets the buffer from the last allowed place before that, and the distance in
//! bytes from there, which is added to every index.
//!
//! A kernel is rewritten for this, and compiled again, at the first such launch; the original kernel is not changed.
//!
//! Invariant: the distance is a multiple of the size of each access through the parameter, so it is a whole number of elements in every index.

use super::entry::Entry;
use crate::calls::inline;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_ir::ops::Effect;
use girih_ir::{Caps, Function, FunctionId, Inst, Module, Op, ParamAttrs, Scalar, Type, ValueId, Verified, verify};
use girih_runtime::driver::{Argument, Dispatch, ProgramId, Slice};
use girih_runtime::{Constant, LoadOptions};
use std::sync::{Arc, Mutex, PoisonError};

/// A kernel of a module where each buffer with a number has a parameter more, behind all others: the bytes from its beginning to where the kernel is to begin, a
/// multiple of that number.
///
/// # Errors
/// If the kernel reaches such a buffer by an operation that takes no index.
pub fn shift(
    module: &Verified<Module>,
    kernel: FunctionId,
    multiples: &[u32],
    caps: &Caps,
) -> Result<Verified<Module>, Vec<Diagnostic>> {
    let one = |d| vec![d];
    let mut module: Module = (**module).clone();
    // Afterwards no memory is handed to a function.
    inline::run(&mut module, caps).map_err(one)?;
    let function = &module.functions[kernel];
    module.functions[kernel] = shift_kernel(function, multiples).map_err(one)?;
    verify(module)
}

fn shift_kernel(old: &Function, multiples: &[u32]) -> Result<Function, Diagnostic> {
    let mut pass = Shift { bytes: FastMap::default() };
    let mut r = Rewriter::begin(old, &mut pass)?;
    for (param, multiple) in old.params.iter().zip(multiples).filter(|(_, multiple)| **multiple > 0) {
        let name = old.values[*param].name.as_deref().unwrap_or("buffer");
        let attrs = ParamAttrs { divisible: *multiple, ..ParamAttrs::default() };
        pass.bytes.insert(*param, r.out.function.param(format!("{name}_from"), Type::U32, attrs));
    }
    r.region(&mut pass, old.body)?;
    Ok(r.out.function)
}

struct Shift {
    /// Of each buffer that is shifted, the parameter that says by how many bytes.
    bytes: FastMap<ValueId, ValueId>,
}

impl Pass for Shift {
    fn concerns(&self, _: &Function, inst: &Inst) -> bool {
        inst.operands.iter().any(|operand| self.bytes.contains_key(operand))
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let refused = |what: &str| {
            let message = format!("`{}` {what}, and the buffer begins between its elements", inst.op.name());
            Err(Diagnostic::new(Code::OverLimit, inst.span, message)
                .hint("pass the buffer from a multiple of 256 bytes on"))
        };
        if !matches!(inst.op.row().effect, Effect::Read | Effect::Write | Effect::Atomic) || inst.op.accesses() != 1 {
            return refused("needs all of a buffer");
        }
        let Some(width) = width(inst) else { return refused("is of a width that is no power of two") };
        let operands = r.operands(inst);
        let (Some(bytes), [memory, index, rest @ ..]) = (self.bytes.get(&inst.operands[0]).copied(), &operands[..])
        else {
            return refused("needs a buffer as a value");
        };
        let log = r.out.u32(width.trailing_zeros());
        let elements = r.out.op(Op::Shr, Scalar::U32, &[bytes, log]);
        let ty = r.out.ty(*index);
        let Some(scalar) = ty.element() else { return refused("takes no index") };
        let elements = if scalar == Scalar::U32 { elements } else { r.out.op(Op::Convert, scalar, &[elements]) };
        let elements = match ty {
            Type::Scalar(_) => elements,
            Type::Tile(_) => r.out.op(Op::TileSplat, ty, &[elements]),
            Type::Vector(..) | Type::Regs(..) | Type::Coop(..) | Type::Token | Type::Term | Type::Memory(_) => {
                return refused("takes many indices");
            }
        };
        let index = r.out.op(Op::Add, ty, &[*index, elements]);
        let mut access = Inst { attrs: inst.attrs.clone(), ..Inst::new(inst.op, inst.ty, &[], inst.span) };
        access.operands.extend([*memory, index].into_iter().chain(rest.iter().copied()));
        let results: Vec<Type> = inst.results.iter().map(|result| r.old.ty(*result)).collect();
        let id = r.out.push(access, &results);
        Ok(Some(r.out.function.insts[id].results.iter().map(|value| vec![*value]).collect()))
    }
}

/// Bytes of what an access reaches by one index; none if that is no power of two.
pub(crate) fn width(inst: &Inst) -> Option<u32> {
    let bytes = match inst.ty? {
        Type::Tile(tile) => tile.element.bytes(),
        ty @ (Type::Scalar(_) | Type::Vector(..)) => ty.bytes(),
        Type::Regs(..) | Type::Coop(..) | Type::Token | Type::Term | Type::Memory(_) => return None,
    };
    bytes.is_power_of_two().then_some(bytes)
}

/// What a program was made of, and what it became for buffers that begin elsewhere.
#[derive(Debug)]
pub struct Origin {
    module: Arc<Verified<Module>>,
    kernel: FunctionId,
    options: LoadOptions,
    /// By the multiples of what its buffers are shifted by.
    made: Mutex<FastMap<Vec<u32>, ProgramId>>,
}

impl Origin {
    /// Those of kernels of a module that are loaded together.
    pub fn all(module: &Verified<Module>, kernels: &[FunctionId], options: &LoadOptions) -> Vec<Arc<Origin>> {
        let module = Arc::new(module.clone());
        let one = |kernel: &FunctionId| {
            let (module, options) = (module.clone(), options.clone());
            Arc::new(Origin { module, kernel: *kernel, options, made: Mutex::default() })
        };
        kernels.iter().map(one).collect()
    }

    /// The launch that stands for one of which a buffer begins where the program cannot take it, on a device that binds at multiples of `least`; none if all of them can be taken, or
    /// the launch is wrong, which its plan says. `load` loads a module for the device.
    ///
    /// # Errors
    /// If the kernel cannot be made for it.
    pub fn shifted(
        &self,
        entry: &Entry,
        dispatch: &Dispatch,
        (least, caps): (u32, &Caps),
        load: impl FnOnce(&Verified<Module>, &[FunctionId], &LoadOptions) -> Result<Vec<ProgramId>, Vec<Diagnostic>>,
    ) -> Result<Option<Dispatch>, Diagnostic> {
        let multiple = |(i, argument): (usize, &Argument)| match argument {
            Argument::Buffer(slice) => entry.shift_of(i, *slice, least),
            Argument::Scalar(_) => 0,
        };
        let multiples: Vec<u32> = dispatch.arguments.iter().enumerate().map(multiple).collect();
        if multiples.iter().all(|multiple| *multiple == 0) {
            return Ok(None);
        }
        let (mut arguments, mut behind) = (vec![], vec![]);
        for (i, (argument, multiple)) in dispatch.arguments.iter().zip(&multiples).enumerate() {
            arguments.push(match argument {
                Argument::Buffer(slice) if *multiple > 0 => {
                    let align = entry.align(i).max(least);
                    // Blocks begin at multiples of more than that, so a place in one is as good as an address.
                    let bits = slice.offset % u64::from(align);
                    behind.push(Argument::Scalar(Constant { ty: Type::U32, bits }));
                    Argument::Buffer(Slice { offset: slice.offset - bits, bytes: slice.bytes + bits, align, ..*slice })
                }
                Argument::Buffer(_) | Argument::Scalar(_) => *argument,
            });
        }
        arguments.extend(behind);
        let program = self.program(multiples, caps, load)?;
        Ok(Some(Dispatch { program, arguments, grid: dispatch.grid }))
    }

    fn program(
        &self,
        multiples: Vec<u32>,
        caps: &Caps,
        load: impl FnOnce(&Verified<Module>, &[FunctionId], &LoadOptions) -> Result<Vec<ProgramId>, Vec<Diagnostic>>,
    ) -> Result<ProgramId, Diagnostic> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = made.get(&multiples) {
            return Ok(*program);
        }
        let lost = || Diagnostic::new(Code::Internal, girih_base::span::Span::NONE, "the device gave no kernel");
        let first = |errors: Vec<Diagnostic>| errors.into_iter().next().unwrap_or_else(lost);
        let module = shift(&self.module, self.kernel, &multiples, caps).map_err(first)?;
        let programs = load(&module, &[self.kernel], &self.options).map_err(first)?;
        let program = *programs.first().ok_or_else(lost)?;
        made.insert(multiples, program);
        Ok(program)
    }

    /// The programs that were made: they go with the one that they stand for.
    pub fn made(&self) -> Vec<ProgramId> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).values().copied().collect()
    }
}

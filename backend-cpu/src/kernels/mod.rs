//! Kernel form as native code: legal kernels and what they call become functions in executable memory.

mod barriers;
mod code;
pub(crate) mod context;
mod lanes;
mod routine;

pub(crate) use code::{Code, Entry, Kernel, compile, guarded, refused, text, why};
pub(crate) use lanes::{KernelShape, STOPPED};

use crate::translate::Callees;
use cranelift_codegen::Context;
use cranelift_frontend::FunctionBuilderContext;
use cranelift_module::Module;
use girih_base::span::Span;
use girih_ir::{Function, Inst, ValueId};

/// A function that is being written.
pub(crate) struct Compiling<'a> {
    /// Its code.
    pub context: &'a mut Context,
    /// What the builder keeps from one function to the next.
    pub builder: &'a mut FunctionBuilderContext,
    /// Where it goes.
    pub module: &'a mut dyn Module,
    /// What it may call.
    pub callees: &'a Callees,
}

/// An access that can be outside of its memory.
#[derive(Clone, Debug)]
pub(crate) struct FaultPlace {
    /// Where it stands in the text.
    pub span: Span,
    /// The operation.
    pub operation: String,
    /// The memory.
    pub memory: String,
}

impl FaultPlace {
    fn of(function: &Function, inst: &Inst, memory: ValueId) -> FaultPlace {
        let ty = inst.ty.map_or(String::new(), |ty| format!(".{ty}"));
        let memory = match &function.values[memory].name {
            Some(name) => format!("`%{name}`"),
            None => format!("{} memory", function.space(memory).name()),
        };
        FaultPlace { span: inst.span, operation: format!("`{}{ty}`", inst.op.name()), memory }
    }
}

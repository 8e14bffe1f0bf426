//! Operations of the IR as Cranelift's: one file for each family. An operation asks a [`Form`] about its surroundings (where a barrier goes, which
//! invocation this is, how to leave a function), so that kernels and plain functions share everything else.
//!
//! Invariant: functions are legal for [`Caps::cpu`](girih_ir::Caps::cpu). An operation that cannot occur there ends in an internal error, never in wrong code.

mod atomics;
mod calls;
mod control;
mod convert;
mod float;
mod gemm;
mod integer;
mod masks;
mod memory;
mod native;
mod neighbours;
mod operation;
mod types;
mod values;
mod vector;

pub(crate) use calls::{Callee, Callees};
pub(crate) use control::arguments;
pub(crate) use memory::{Extent, Place};
pub(crate) use native::symbols;
pub(crate) use types::machine_type;

use control::LoopFrame;
use cranelift_codegen::ir::{Block, Value};
use cranelift_frontend::FunctionBuilder;
use cranelift_module::Module;
use girih_base::diag::{Code, Diagnostic};
use girih_ir::{Function, FunctionId, Inst, InstId, ValueId};
use neighbours::Neighbours;
use std::collections::HashMap;
use values::Values;

/// The result of translating something.
pub(crate) type Result<T> = std::result::Result<T, Diagnostic>;

/// What operations ask of where they run.
pub(crate) trait Form<'a>: Sized {
    /// Waits for all invocations of the workgroup: the barrier of this position at an instruction that may have several.
    fn barrier(t: &mut Translator<'a, '_, Self>, at: InstId, position: usize) -> Result<()>;
    /// A position in the launch.
    fn position(t: &mut Translator<'a, '_, Self>, inst: &Inst) -> Result<Value>;
    /// Leaves the function with these results.
    fn leave(t: &mut Translator<'a, '_, Self>, results: &[Value]) -> Result<()>;
    /// What a callee is given before its own arguments.
    fn hidden(t: &mut Translator<'a, '_, Self>, callee: FunctionId) -> Result<Vec<Value>>;
    /// Leaves the function if an access is outside of its memory.
    fn outside(t: &mut Translator<'a, '_, Self>, inst: &Inst, memory: ValueId, is: Value, element: Value)
    -> Result<()>;
    /// Stands at the start of each iteration of a loop, so that endless ones can be stopped.
    fn poll(t: &mut Translator<'a, '_, Self>, repeats: &Inst) -> Result<()>;
    /// Calls a function of the module.
    fn call(t: &mut Translator<'a, '_, Self>, inst: &Inst) -> Result<()> {
        t.call(inst)
    }
    /// An operation of task form.
    fn task(_: &mut Translator<'a, '_, Self>, inst: &Inst) -> Result<()> {
        Err(not_legal(inst))
    }
}

/// A function on its way.
pub(crate) struct Translator<'a, 'b, F> {
    /// Writes the code.
    pub b: FunctionBuilder<'b>,
    /// What is translated.
    pub function: &'a Function,
    /// Where callees are declared.
    pub module: &'a mut dyn Module,
    /// The functions that can be called.
    pub callees: &'a Callees,
    /// Where memories lie.
    pub places: HashMap<ValueId, Place>,
    /// Where it runs.
    pub form: F,
    values: Values,
    neighbours: Neighbours,
    loops: Vec<LoopFrame>,
    /// Where `yield` of the regions around goes.
    merges: Vec<Block>,
    /// Whether nothing comes behind the last instruction: the choice that it makes is known, and leads away.
    has_left: bool,
}

/// A function whose translation waits for that of another one in its midst.
pub(crate) struct Outer<'a> {
    function: &'a Function,
    values: Values,
    neighbours: Neighbours,
    loops: Vec<LoopFrame>,
    merges: Vec<Block>,
}

impl<'a, 'b, F: Form<'a>> Translator<'a, 'b, F> {
    /// Nothing is written yet.
    pub fn new(
        b: FunctionBuilder<'b>,
        function: &'a Function,
        module: &'a mut dyn Module,
        callees: &'a Callees,
        form: F,
    ) -> Self {
        let (places, values, loops, merges) = (HashMap::new(), Values::default(), vec![], vec![]);
        let neighbours = Neighbours::of(function);
        Translator { b, function, module, callees, places, form, values, neighbours, loops, merges, has_left: false }
    }

    /// Translates the body where the builder stands, and ends the function.
    pub fn body(&mut self) -> Result<()> {
        self.region(self.function.body)?;
        self.has_left = false;
        Ok(())
    }

    /// Translates another function from here on, until [`Translator::resume`].
    pub fn suspend(&mut self, function: &'a Function) -> Outer<'a> {
        Outer {
            function: std::mem::replace(&mut self.function, function),
            values: std::mem::take(&mut self.values),
            neighbours: std::mem::replace(&mut self.neighbours, Neighbours::of(function)),
            loops: std::mem::take(&mut self.loops),
            merges: std::mem::take(&mut self.merges),
        }
    }

    /// Goes on with what has waited.
    pub fn resume(&mut self, outer: Outer<'a>) {
        Outer {
            function: self.function,
            values: self.values,
            neighbours: self.neighbours,
            loops: self.loops,
            merges: self.merges,
        } = outer;
    }

    /// Seals and ends the function.
    pub fn finish(mut self) {
        self.b.seal_all_blocks();
        self.b.finalize();
    }
}

/// An operation that legalisation was to remove, or a type that it was to change.
pub(crate) fn not_legal(inst: &Inst) -> Diagnostic {
    let ty = inst.ty.map_or(String::new(), |ty| format!(".{ty}"));
    Diagnostic::new(Code::Internal, inst.span, format!("`{}{ty}` is not legal for native code", inst.op.name()))
}

//! Functions in task form as native code.
//!
//! | file | its idea |
//! |---|---|
//! | this one | a module's functions, declared and defined |
//! | [`form`] | how a function begins, ends and calls |
//! | [`inline`] | which calls become the callee's code |
//! | [`cells`] | cells and words |
//! | [`tasks`] | forks, joins, globals |
//! | [`frames`] | which frame of a profile runs |
//!
//! Invariant: code accesses only the memory of its thread's context, of cells for which it has a word, and of its own frame.

mod cells;
mod entry;
mod form;
mod frames;
mod inline;
mod tasks;

use super::heap::Heap;
use super::profile::Profiler;
use super::runtime_calls::Helper;
use crate::host;
use crate::kernels::{self, refused};
use crate::translate::{Result, machine_type, symbols};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, Signature};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{FuncId, Module as Target, default_libcall_names};
use girih_base::cycles;
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::groups::{aggregates, arithmetic, jumps, masks, memory, of_kernels, regions};
use girih_ir::{Function, FunctionId, Module, Op, Type};
use girih_lower::legalise;
use inline::Inlining;
use std::collections::BTreeMap;
use std::iter::repeat_n;
use std::mem::ManuallyDrop;

pub(super) use super::work_stealing::Entry;
pub(super) use entry::slots;
pub(super) use inline::forked;

/// Bytes of addresses that are reserved for code.
const CODE: usize = 256 << 20;

/// What code is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    /// Several threads run it: counts are atomic, and forked calls can be taken.
    pub parallel: bool,
    /// Whether cells are used again in place.
    pub reuse: bool,
    /// Whether cells and calls are counted.
    pub count: bool,
    /// Whether each new cell is asked of the runtime.
    pub careful: bool,
}

/// Executable memory with a module's functions.
pub(super) struct Code {
    target: ManuallyDrop<JITModule>,
    module: Module,
    versions: Versions,
    /// How functions are called from outside, as far as they have been.
    entries: BTreeMap<FunctionId, Entry>,
}

impl Drop for Code {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: it is taken once, here. Whoever runs code of it holds it.
        unsafe { ManuallyDrop::take(&mut self.target).free_memory() }
    }
}

/// Which code of a function. What a function calls has the same version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// Forked calls can be taken by others. As soon as enough of them wait, the rest is left to the other version.
    Open,
    /// Forked calls are calls, until another thread has nothing to do.
    Closed,
}

/// The code of a function; the same twice if it reaches no fork.
#[derive(Clone, Copy, Debug)]
struct Declared {
    open: FuncId,
    closed: FuncId,
}

impl Declared {
    fn version(self, version: Version) -> FuncId {
        match version {
            Version::Open => self.open,
            Version::Closed => self.closed,
        }
    }
    fn has_both(self) -> bool {
        self.open != self.closed
    }
}

/// The code of each function in task form.
type Versions = IndexVec<FunctionId, Option<Declared>>;

/// What a function's translation reads besides the function.
struct TranslationInput<'a> {
    module: &'a Module,
    variant: Variant,
    /// Who finds out where time and memory go.
    profiler: Option<&'a Profiler>,
    /// The address that added to a cell's word gives its header's.
    base: i64,
    helpers: BTreeMap<Helper, FuncId>,
    /// How functions are called by tasks.
    tasks: BTreeMap<FunctionId, FuncId>,
    /// Which functions lead to each other and back: those of one number.
    groups: IndexVec<FunctionId, usize>,
    versions: Versions,
    inlining: Inlining,
}

/// Whether a function can be in task form.
fn is_possible(function: &Function) -> bool {
    let plain =
        |ty: Type| matches!(ty, Type::Scalar(_) | Type::Term) || machine_type(ty).is_some_and(|ty| ty.is_vector());
    function.launch.is_none()
        && function.memories.is_empty()
        && function.params.iter().all(|v| plain(function.ty(*v)))
        && function.results.iter().all(|ty| plain(*ty))
}

fn signature(function: &Function) -> Result<Signature> {
    // The one convention with calls that take no stack.
    let mut signature = Signature::new(CallConv::Tail);
    let machine =
        |ty| machine_type(ty).map(AbiParam::new).ok_or_else(|| refused(function.span, "a type of its signature"));
    for param in &function.params {
        signature.params.push(machine(function.ty(*param))?);
    }
    for result in &function.results {
        signature.returns.push(machine(*result)?);
    }
    Ok(signature)
}

fn fresh(isa: OwnedTargetIsa) -> Result<JITModule> {
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    // Functions that are added later must be near the others.
    let memory = ArenaMemoryProvider::new_with_size(CODE).map_err(|e| refused(Span::NONE, &e.to_string()))?;
    builder.memory_provider(Box::new(memory));
    builder.symbols(symbols());
    builder.symbols(Helper::ALL.map(|helper| (helper.row().symbol, helper.row().address)));
    Ok(JITModule::new(builder))
}

/// The module as the processor has it.
fn legal(module: &Module, isa: &OwnedTargetIsa) -> Result<Module> {
    let mut module = module.clone();
    legalise::tasks(&mut module, &host::caps(isa)).map_err(|mut errors| errors.swap_remove(0))?;
    Ok(module)
}

/// Compiles all functions in task form.
pub(super) fn compile(
    module: &Module,
    variant: Variant,
    heap: &Heap,
    profiler: Option<&Profiler>,
    isa: OwnedTargetIsa,
) -> Result<Code> {
    let module = legal(module, &isa)?;
    let target = ManuallyDrop::new(fresh(isa)?);
    let mut code = Code { target, module: Module::default(), versions: Versions::default(), entries: BTreeMap::new() };
    code.versions = write(&module, (variant, profiler), heap.base().addr() as i64, &mut *code.target, None)?;
    code.module = module;
    code.finalize()?;
    // What nothing calls is there for the host.
    let mut called = vec![false; code.module.functions.len()];
    for function in code.module.functions.iter() {
        function.callees().into_iter().for_each(|callee| called[callee.index()] = true);
    }
    for id in code.module.functions.ids().filter(|id| !called[id.index()]) {
        code.entry(id)?;
    }
    Ok(code)
}

/// All functions in task form in Cranelift's own text, as they are before it optimises them.
pub(super) fn text(module: &Module, isa: OwnedTargetIsa) -> Result<String> {
    let variant = Variant { parallel: false, reuse: true, count: false, careful: false };
    let module = legal(module, &isa)?;
    let target = ManuallyDrop::new(fresh(isa)?);
    let mut code = Code { target, module: Module::default(), versions: Versions::default(), entries: BTreeMap::new() };
    let mut text = String::new();
    write(&module, (variant, None), 0, &mut *code.target, Some(&mut text))?;
    Ok(text)
}

impl Code {
    fn finalize(&mut self) -> Result<()> {
        self.target.finalize_definitions().map_err(|e| refused(Span::NONE, &e.to_string()))
    }

    /// Which bits of a slot each result of a function has; a vector takes a slot for each lane.
    pub fn masks(&self, function: FunctionId) -> Vec<u64> {
        let results = self.module.functions.get(function).map_or(&[][..], |function| &function.results);
        let bits = |ty: Type| machine_type(ty).map_or(0, |machine| machine.lane_bits());
        let mask = |ty: &Type| repeat_n(u64::MAX.checked_shr(64 - bits(*ty)).unwrap_or(0), entry::slots(*ty));
        results.iter().flat_map(mask).collect()
    }

    /// How a function is called from outside.
    #[allow(unsafe_code)]
    pub fn entry(&mut self, function: FunctionId) -> Result<Option<Entry>> {
        if let Some(entry) = self.entries.get(&function) {
            return Ok(Some(*entry));
        }
        let Some(declared) = self.versions.get(function).copied().flatten() else { return Ok(None) };
        let id = entry::declare(&mut *self.target, &self.module.functions[function])?;
        let mut context = self.target.make_context();
        let mut builder = FunctionBuilderContext::new();
        entry::write(&mut *self.target, &self.module.functions[function], declared.open, &mut context, &mut builder)?;
        define(&mut *self.target, &self.module.functions[function], id, &mut context)?;
        self.finalize()?;
        let address = self.target.get_finalized_function(id);
        // SAFETY: the function was defined with the signature of an entry.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
        self.entries.insert(function, entry);
        Ok(Some(entry))
    }
}

fn define(target: &mut dyn Target, function: &Function, id: FuncId, context: &mut Context) -> Result<()> {
    kernels::guarded(function, || {
        target.define_function(id, context).map_err(|e| refused(function.span, &kernels::why(&e)))
    })
}

/// Defines all functions in task form; gives their declarations.
fn write(
    module: &Module,
    (variant, profiler): (Variant, Option<&Profiler>),
    base: i64,
    target: &mut dyn Target,
    mut text: Option<&mut String>,
) -> Result<Versions> {
    let inlining = Inlining::of(module);
    let versions = declare(module, target, |id| variant.parallel && inlining.reaches_fork(id))?;
    let forked = if variant.parallel { inline::forked(module) } else { vec![] };
    let mut tasks = BTreeMap::new();
    for id in forked.into_iter().filter(|id| versions[*id].is_some()) {
        tasks.insert(id, entry::declare(target, &module.functions[id])?);
    }
    let helpers = Helper::ALL.into_iter().map(|helper| Ok((helper, entry::import(target, helper)?)));
    let helpers = helpers.collect::<Result<BTreeMap<_, _>>>()?;
    let edges: IndexVec<FunctionId, Vec<FunctionId>> = module.functions.iter().map(Function::callees).collect();
    let groups = cycles::groups(&edges);
    let plan = TranslationInput { module, variant, profiler, base, helpers, tasks, groups, versions, inlining };
    let mut context = target.make_context();
    let mut builder = FunctionBuilderContext::new();
    for (id, function) in module.functions.iter_enumerated() {
        let Some(declared) = plan.versions[id] else { continue };
        let both = [Version::Closed, Version::Open];
        for version in &both[..if declared.has_both() { 2 } else { 1 }] {
            target.clear_context(&mut context);
            context.func.signature = signature(function)?;
            let own = declared.version(*version);
            context.func.name = cranelift_codegen::ir::UserFuncName::user(0, own.as_u32());
            form::write(&plan, id, *version, target, &mut context, &mut builder)?;
            if let Some(text) = &mut text {
                text.push_str(&format!("; @{}\n{}\n", function.name, context.func.display()));
            }
            define(target, function, own, &mut context)?;
        }
    }
    for (id, task) in &plan.tasks {
        let (function, Some(declared)) = (&module.functions[*id], plan.versions[*id]) else { continue };
        target.clear_context(&mut context);
        entry::write(target, function, declared.open, &mut context, &mut builder)?;
        define(target, function, *task, &mut context)?;
    }
    Ok(plan.versions)
}

fn declare(module: &Module, target: &mut dyn Target, has_both: impl Fn(FunctionId) -> bool) -> Result<Versions> {
    let mut versions = Versions::default();
    for (id, function) in module.functions.iter_enumerated() {
        let mut one = || {
            let id = target.declare_anonymous_function(&signature(function)?);
            id.map_err(|e| refused(function.span, &e.to_string()))
        };
        versions.push(if is_possible(function) {
            let closed = one()?;
            Some(Declared { closed, open: if has_both(id) { one()? } else { closed } })
        } else {
            None
        });
    }
    Ok(versions)
}

/// Whether a function calls something that takes stack of its own.
fn calls(function: &Function) -> bool {
    let mut calls = false;
    function.walk(function.body, &mut |_, inst| {
        calls |= match inst.op {
            // A global is computed on first use.
            Op::Call | Op::Tail | Op::Fork | Op::GlobalGet => true,
            // What is joined was forked in the same function.
            Op::Join
            | Op::CellNew
            | Op::CellGet
            | Op::CellLayout
            | Op::CellOpen
            | Op::CellFill
            | Op::CellFree
            | Op::ChainNew
            | Op::ChainGrow
            | Op::ChainEnd
            | Op::TermShare
            | Op::TermDrop
            | Op::TermPack
            | Op::TermTag
            | Op::TermPayload
            | Op::Return
            | Op::Grid
            | Op::TrapIf
            | regions!()
            | jumps!()
            | arithmetic!()
            | aggregates!()
            | memory!()
            | of_kernels!()
            | masks!()
            | girih_ir::tile_operations!() => false,
        };
    });
    calls
}

//! A module of legal kernels compiled as one piece of code, and the text of what is compiled.

use super::lanes::{self, KernelShape, broken};
use super::{Compiling, routine};
use crate::translate::{Callee, Callees, Result, symbols};
use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{FuncId, Module as Target, default_libcall_names};
use girih_base::diag::{self, Diagnostic};
use girih_ir::{Function, FunctionId, Module, Op};
use girih_lower::Compiled;
use std::mem::ManuallyDrop;
use std::sync::{Mutex, PoisonError};

/// The code of a workgroup: `(context, x, y, z)` gives the number of a fault, or 0.
pub(crate) type Entry = unsafe extern "C" fn(*mut u64, u32, u32, u32) -> u32;

/// Executable memory with the functions of a module; given back when it is dropped.
pub(crate) struct Code {
    /// Behind a lock that nobody takes: what makes code may not be shared between threads, what is made is.
    module: Mutex<ManuallyDrop<JITModule>>,
}

/// Bytes of addresses that are reserved for code: parts of it that call each other must be near.
const CODE: usize = 256 << 20;

impl Code {
    fn new(isa: OwnedTargetIsa) -> Result<Code> {
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        let memory = ArenaMemoryProvider::new_with_size(CODE);
        let memory = memory.map_err(|e| refused(girih_base::span::Span::NONE, &e.to_string()))?;
        builder.memory_provider(Box::new(memory));
        builder.symbols(symbols());
        Ok(Code { module: Mutex::new(ManuallyDrop::new(JITModule::new(builder))) })
    }

    fn module(&mut self) -> &mut ManuallyDrop<JITModule> {
        self.module.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Code")
    }
}

impl Drop for Code {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: it is taken once, here. Nothing of it runs any more: launches end before the device's methods return, and whoever
        // holds an address of a function holds this, too.
        unsafe { ManuallyDrop::take(self.module()).free_memory() }
    }
}

/// A kernel's code.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// Where it begins.
    pub entry: Entry,
    /// What it needs.
    pub shape: KernelShape,
}

/// Compiles the kernels of a module; gives them in the order of its entries.
pub(crate) fn compile(compiled: &Compiled, isa: OwnedTargetIsa) -> Result<(Code, Vec<Kernel>)> {
    let mut code = Code::new(isa)?;
    let module = code.module();
    let written = write(compiled, &mut **module, None)?;
    let span = compiled.entries.first().map_or(girih_base::span::Span::NONE, |e| e.source.span);
    module.finalize_definitions().map_err(|e| refused(span, &e.to_string()))?;
    let kernel = |(id, shape)| Kernel { entry: entry(module, id), shape };
    let kernels = written.into_iter().map(kernel).collect();
    Ok((code, kernels))
}

#[allow(unsafe_code)]
fn entry(module: &JITModule, id: FuncId) -> Entry {
    let address = module.get_finalized_function(id);
    // SAFETY: the function was defined with `kernel_signature`, which is this type in the host's calling convention.
    unsafe { std::mem::transmute::<*const u8, Entry>(address) }
}

/// The functions of a module in Cranelift's own text, as they are before it optimises them.
pub(crate) fn text(compiled: &Compiled, isa: OwnedTargetIsa) -> Result<String> {
    let mut code = Code::new(isa)?;
    let mut text = String::new();
    write(compiled, &mut **code.module(), Some(&mut text))?;
    Ok(text)
}

/// An error of Cranelift.
pub(crate) fn refused(span: girih_base::span::Span, what: &str) -> Diagnostic {
    Diagnostic::new(diag::Code::DeviceCompiler, span, format!("Cranelift refuses the code: {what}"))
}

/// Defines all functions of a module; gives its kernels in the order of the entries.
fn write(
    compiled: &Compiled,
    target: &mut dyn Target,
    mut text: Option<&mut String>,
) -> Result<Vec<(FuncId, KernelShape)>> {
    let module = &compiled.module;
    let callees = declare(module, target)?;
    let mut context = target.make_context();
    let mut builder = FunctionBuilderContext::new();
    let mut define = |target: &mut dyn Target,
                      function: &Function,
                      id: FuncId,
                      signature: Signature,
                      write: &mut dyn FnMut(&mut Compiling<'_>) -> Result<()>|
     -> Result<()> {
        target.clear_context(&mut context);
        context.func.signature = signature;
        context.func.name = cranelift_codegen::ir::UserFuncName::user(0, id.as_u32());
        write(&mut Compiling { context: &mut context, builder: &mut builder, module: target, callees: &callees })?;
        if let Some(text) = &mut text {
            text.push_str(&format!("; @{}\n{}\n", function.name, context.func.display()));
        }
        guarded(function, || target.define_function(id, &mut context).map_err(|e| refused(function.span, &why(&e))))
    };
    for (id, function) in module.functions.iter_enumerated() {
        if let Some(callee) = callees[id] {
            let signature = routine_signature(target, function, callee)?;
            define(target, function, callee.id, signature, &mut |c| routine::write(c, function, callee))?;
        }
    }
    let mut kernels = vec![];
    for entry in &compiled.entries {
        let kernel = &module.functions[entry.kernel];
        let signature = kernel_signature(target);
        let id = target.declare_anonymous_function(&signature).map_err(|e| refused(kernel.span, &e.to_string()))?;
        let mut shape = None;
        define(target, kernel, id, signature, &mut |c| {
            shape = Some(lanes::write(c, kernel)?);
            Ok(())
        })?;
        kernels.extend(shape.map(|shape| (id, shape)));
    }
    Ok(kernels)
}

/// What Cranelift says about an error; its own text repeats the whole function.
pub(crate) fn why(error: &cranelift_module::ModuleError) -> String {
    match error {
        cranelift_module::ModuleError::Compilation(inner) => format!("{inner:?}"),
        other => other.to_string(),
    }
}

/// Cranelift's own mistakes are errors, too.
pub(crate) fn guarded(function: &Function, work: impl FnOnce() -> Result<()>) -> Result<()> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(refused(function.span, "it has made a mistake of its own")))
}

/// A kernel's signature in the host's calling convention: [`Entry`].
fn kernel_signature(target: &dyn Target) -> Signature {
    let mut signature = Signature::new(target.isa().default_call_conv());
    signature.params.push(AbiParam::new(target.isa().pointer_type()));
    signature.params.extend([AbiParam::new(types::I32); 3]);
    signature.returns.push(AbiParam::new(types::I32));
    signature
}

fn routine_signature(target: &dyn Target, function: &Function, callee: Callee) -> Result<Signature> {
    // The convention that returns most values in registers; the others go through memory, which the host's flags ask for.
    let mut signature = Signature::new(CallConv::Tail);
    if callee.context {
        signature.params.push(AbiParam::new(target.isa().pointer_type()));
    }
    if callee.position {
        signature.params.extend([AbiParam::new(types::I32); routine::POSITIONS]);
    }
    let machine = |ty| {
        crate::translate::machine_type(ty)
            .map(AbiParam::new)
            .ok_or_else(|| broken(function, "its signature has a type without a machine type"))
    };
    for param in &function.params {
        signature.params.push(machine(function.ty(*param))?);
    }
    for result in &function.results {
        signature.returns.push(machine(*result)?);
    }
    Ok(signature)
}

/// Declares the functions that are called.
fn declare(module: &Module, target: &mut dyn Target) -> Result<Callees> {
    let needs = needs(module);
    let mut callees: Callees = module.functions.iter().map(|_| None).collect();
    for (id, function) in module.functions.iter_enumerated() {
        if function.launch.is_some() {
            continue;
        }
        let (context, position) = needs[id.index()];
        let mut callee = Callee { id: FuncId::from_u32(0), context, position };
        let signature = routine_signature(target, function, callee)?;
        callee.id =
            target.declare_anonymous_function(&signature).map_err(|e| refused(function.span, &e.to_string()))?;
        callees[id] = Some(callee);
    }
    Ok(callees)
}

/// Whether each function needs the launch's context and the invocation's position, for itself or for what it calls.
fn needs(module: &Module) -> Vec<(bool, bool)> {
    let mut needs = vec![(false, false); module.functions.len()];
    // Calls are not recursive, so this ends after as many rounds as calls are deep.
    loop {
        let before = needs.clone();
        for (id, function) in module.functions.iter_enumerated() {
            let (mut context, mut position) = needs[id.index()];
            function.walk(function.body, &mut |_, inst| {
                let called: Option<FunctionId> = inst.callee();
                let (its_context, its_position) = called.map_or((false, false), |c| needs[c.index()]);
                let reads = lanes::is_position(inst.op);
                context |= inst.op == Op::Loop || reads || its_context;
                position |= reads || its_position;
            });
            needs[id.index()] = (context, position);
        }
        if needs == before {
            return needs;
        }
    }
}

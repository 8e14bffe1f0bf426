//! A kernel as a whole: which there are in a file, and the function that one becomes for given arguments.

use super::body::{Body, Made, Module};
use super::call::constant_of;
use super::decorators::{self, Chosen};
use super::head::Head;
use super::parts::{self, Parts};
use super::pointer::Pointer;
use super::source::{Binding, FileId, Files, Loader};
use super::statement::{Flow, is_constexpr};
use super::target::{self, CAPABILITY, Card};
use super::value::{Function, Tensor, Value};
use crate::python::ast::{Expr, ExprKind, FunctionDef};
use girih_base::diag::{Code, Diagnostic, did_you_mean};
use girih_base::span::{Sources, Span};
use girih_ir::{FunctionId, Launch, Op, ParamAttrs, Scalar, Space, Type, Verified, verify};
use std::collections::HashMap;
use std::sync::Arc;

/// A constant that is given to a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
    /// A text; the name of a type stands for the type.
    Text(String),
}

impl std::fmt::Display for Constant {
    /// As Python has it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        constant(self).fmt(f)
    }
}

/// What a kernel is given for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Something that is known when it is compiled.
    Constant(Constant),
    /// A number. Its bits decide only what may be assumed of it: whether it is 1, or a multiple of 16.
    Scalar(Scalar, u64),
    /// A buffer of such elements, which begins at a multiple of 16 bytes.
    Buffer(Scalar),
    /// A buffer of such elements, which begins at any of them.
    UnalignedBuffer(Scalar),
}

impl Argument {
    /// An argument for which a kernel becomes the same code, unless it looks at the number itself ([`Head::exact`]): all numbers that the same may be
    /// assumed of have one.
    pub fn representative(&self) -> Argument {
        match self {
            Argument::Scalar(scalar, bits) if scalar.is_integer() => match bits {
                1 => Argument::Scalar(*scalar, 1),
                bits => Argument::Scalar(*scalar, if bits.is_multiple_of(DIVISIBLE) { 0 } else { 2 }),
            },
            Argument::Scalar(scalar, _) => Argument::Scalar(*scalar, 0),
            Argument::Constant(_) | Argument::Buffer(_) | Argument::UnalignedBuffer(_) => self.clone(),
        }
    }
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Whether it is a `tl.constexpr`.
    pub constexpr: bool,
    /// Whether it need not be given.
    pub optional: bool,
}

/// A kernel of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// What is compiled.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The kernel's name.
    pub kernel: String,
    /// What its parameters are given, by name. A tuple `t` is given as its elements `t.0`, `t.1` and so on; a tensor descriptor `d` as `d.base`, `d.shape.0` ..,
    /// `d.strides.0` .., the constants `d.block_shape.0` .., and `d.padding`, which may be left out.
    pub arguments: Vec<(String, Argument)>,
    /// Groups of 32 lanes that run a program; what the decorators say, or 4, if absent.
    pub num_warps: Option<u32>,
    /// Steps of a loop that are under way at once: a hint, which changes no result.
    pub num_stages: Option<u32>,
    /// Whether `device_assert` is kept.
    pub debug: bool,
    /// Whether no two memories that are given overlap: what is stored to one is then not loaded from another.
    pub apart: bool,
    /// Which of the configurations that `@triton.autotune` leaves to choose from is taken, from 0.
    pub configuration: usize,
    /// The compute capability of the CUDA card that ordinary Python of the file is told of, (9, 0) for 9.0; 8.0 if absent. It changes nothing but
    /// what that code makes of it.
    pub capability: Option<(u32, u32)>,
    /// What else that code is told of the card; what cards of the capability usually have if absent.
    pub card: Option<Card>,
}

/// A compiled kernel.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The kernel and the functions that it calls, in tile form.
    pub module: Verified<girih_ir::Module>,
    /// The kernel.
    pub kernel: FunctionId,
    /// What a launch has to know of it.
    pub head: Head,
}

/// Steps that code which is run when a kernel is compiled may make.
const FUEL: u64 = 1 << 20;
/// Bytes that a buffer's address is a multiple of, unless it is said to be unaligned: what the widest access of a thread needs.
const ALIGNED: u32 = 16;
/// Of a number that is a multiple of this, it is known.
const DIVISIBLE: u64 = 16;
/// A program is run by this many groups of lanes unless something else is said.
const WARPS: u32 = 4;

/// Whether a decorator is `triton.jit` or `girih.jit`, in whatever way it is written.
pub(super) fn is_jit(decorator: &Expr) -> bool {
    match &decorator.kind {
        ExprKind::Name(name) => name == "jit",
        ExprKind::Attribute(of, name) => {
            name.name == "jit" && matches!(&of.kind, ExprKind::Name(n) if n == "triton" || n == "girih")
        }
        ExprKind::Call(callee, _) => is_jit(callee),
        _others => false,
    }
}

/// The kernels of a file, in order.
///
/// # Errors
/// If it is no Python.
pub fn kernels(sources: &mut Sources, name: &str, text: &str, loader: &dyn Loader) -> Result<Vec<Kernel>, Diagnostic> {
    let mut files = Files::new(sources, loader);
    let file = files.add(name, text)?;
    Ok(defined(&files, file).into_iter().map(|def| described(&def)).collect())
}

/// Functions with the decorator, and those that `triton.jit` is called with.
fn defined(files: &Files<'_>, file: FileId) -> Vec<Arc<FunctionDef>> {
    let file = &files.files[file];
    let wrapped = |def: &Arc<FunctionDef>| {
        let is_wrapped = |binding: &Binding| match binding {
            Binding::Value(e) => match &e.kind {
                ExprKind::Call(callee, arguments) => {
                    let first = arguments.first().map(|a| &a.value.kind);
                    is_jit(callee) && matches!(first, Some(ExprKind::Name(name)) if *name == def.name.name)
                }
                _others => false,
            },
            _others => false,
        };
        file.names.values().flatten().any(|(_, binding)| binding.any(&is_wrapped))
    };
    file.functions.iter().filter(|def| def.decorators.iter().any(is_jit) || wrapped(def)).cloned().collect()
}

fn described(def: &FunctionDef) -> Kernel {
    let parameters = def.parameters.list.iter().map(|p| Parameter {
        name: p.name.name.clone(),
        constexpr: p.annotation.as_ref().is_some_and(is_constexpr),
        optional: p.default.is_some(),
    });
    Kernel { name: def.name.name.clone(), span: def.name.span, parameters: parameters.collect() }
}

/// Compiles a kernel of a file for what it is given.
///
/// # Errors
/// What is wrong with the kernel, or with what it is given.
pub fn compile(
    sources: &mut Sources,
    name: &str,
    text: &str,
    loader: &dyn Loader,
    request: &Request,
) -> Result<Compiled, Vec<Diagnostic>> {
    let one = |d| vec![d];
    let mut files = Files::new(sources, loader);
    let file = files.add(name, text).map_err(one)?;
    let def = find(&files, file, &request.kernel).map_err(one)?;
    let mut module = Module {
        files,
        functions: vec![],
        named: HashMap::new(),
        instances: HashMap::new(),
        constants: HashMap::new(),
        depth: 0,
        writing: vec![],
        warps: WARPS,
        fuel: FUEL,
        notes: vec![],
        debug: request.debug,
        kernel: request.kernel.clone(),
        assertions: vec![],
        apart: request.apart,
        capability: request.capability.unwrap_or(CAPABILITY),
        card: target::card(request.card, request.capability.unwrap_or(CAPABILITY)),
    };
    let chosen = decorators::read(&mut module, file, &def, request).map_err(one)?;
    let parameters = write(&mut module, file, &def, request, &chosen).map_err(one)?;
    let kernel = FunctionId::new(module.functions.len() as u32 - 1);
    let written = girih_ir::Module::of(std::mem::take(&mut module.functions));
    let named = chosen.constants.iter().map(|(name, value)| (name.clone(), known(value))).collect();
    // What is wrong in a kernel has been said: the rules of the IR only find mistakes of this stage.
    let module_ir = verify(written).map_err(|found| found.into_iter().map(internal).collect::<Vec<_>>())?;
    let function = &module_ir.functions[kernel];
    let head = Head {
        name: def.name.name.clone(),
        span: function.span,
        types: function.params.iter().map(|p| function.ty(*p)).collect(),
        parameters,
        all: def.parameters.list.iter().map(|p| p.name.name.clone()).collect(),
        chosen: named,
        grid: chosen.grid,
        configurations: chosen.configurations,
        notes: module.notes,
        exact: exact(&def, request),
        assertions: module.assertions,
        prints: module_ir.functions.iter().any(|function| function.insts.iter().any(|inst| inst.op == Op::TilePrint)),
    };
    Ok(Compiled { module: module_ir, kernel, head })
}

/// The numbers that are looked at when the kernel is compiled.
fn exact(def: &FunctionDef, request: &Request) -> Vec<String> {
    let by_decorators = decorators::look_at_arguments(def);
    let constant = |name: &str| {
        let name = name.split('.').next();
        let parameter = def.parameters.list.iter().find(|p| Some(p.name.name.as_str()) == name);
        parameter.is_some_and(|p| p.annotation.as_ref().is_some_and(is_constexpr))
    };
    let numbers = request.arguments.iter().filter(|(_, argument)| matches!(argument, Argument::Scalar(..)));
    numbers.filter(|(name, _)| by_decorators || constant(name)).map(|(name, _)| name.clone()).collect()
}

fn internal(found: Diagnostic) -> Diagnostic {
    Diagnostic::new(Code::Internal, found.span(), format!("the kernel became wrong code: {}", found.message))
}

fn find(files: &Files<'_>, file: FileId, name: &str) -> Made<Arc<FunctionDef>> {
    let kernels = defined(files, file);
    if let Some(def) = kernels.iter().find(|def| def.name.name == name) {
        return Ok(def.clone());
    }
    let message = format!("the file has no kernel `{name}`");
    let plain = files.files[file].functions.iter().find(|def| def.name.name == name);
    if let Some(def) = plain {
        return Err(
            Diagnostic::new(Code::KernelEntry, def.name.span, message).hint("write `@triton.jit` above the function")
        );
    }
    let names: Vec<&str> = kernels.iter().map(|def| def.name.name.as_str()).collect();
    let hint = match did_you_mean(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "a kernel is a function with `@triton.jit`".into(),
        None => format!("its kernels are {}", names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    };
    Err(Diagnostic::new(Code::KernelEntry, Span::NONE, message).hint(hint))
}

/// A constant as callers know it.
fn known(value: &Value) -> Constant {
    match value {
        Value::None => Constant::None,
        Value::Bool(b) => Constant::Bool(*b),
        Value::Int(n) => Constant::Int(*n),
        Value::Float(x) => Constant::Float(*x),
        other => Constant::Text(other.to_string()),
    }
}

/// A constant that a caller has given.
pub(super) fn constant(value: &Constant) -> Value {
    match value {
        Constant::None => Value::None,
        Constant::Bool(b) => Value::Bool(*b),
        Constant::Int(n) => Value::Int(*n),
        Constant::Float(x) => Value::Float(*x),
        Constant::Text(text) => match super::value::scalar_of_name(text.trim_start_matches("tl.")) {
            Some(scalar) => Value::Dtype(super::value::Dtype::of(scalar)),
            None => Value::text(text),
        },
    }
}

/// Writes the kernel; gives the names of the parameters that are left.
fn write(
    module: &mut Module<'_>,
    file: FileId,
    def: &Arc<FunctionDef>,
    request: &Request,
    chosen: &Chosen,
) -> Made<Vec<String>> {
    let named: Vec<&str> = def.parameters.list.iter().map(|p| p.name.name.as_str()).collect();
    // `t.0` is a part of `t`.
    let base = |name: &str| name.split_once('.').map_or(name.to_owned(), |(base, _)| base.to_owned());
    if let Some((name, _)) = request.arguments.iter().find(|(name, _)| !named.contains(&base(name).as_str())) {
        let list = named.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let message = format!("`{}` has no parameter `{name}`", def.name.name);
        return Err(
            Diagnostic::new(Code::BadArguments, def.name.span, message).hint(format!("its parameters are {list}"))
        );
    }
    let warps = request.num_warps.or(chosen.num_warps).unwrap_or(WARPS);
    if !warps.is_power_of_two() || warps > 32 {
        let message = format!("{warps} warps cannot run a program");
        return Err(Diagnostic::new(Code::BadArguments, def.name.span, message)
            .hint("their number is a power of two, at most 32"));
    }
    module.warps = warps;
    let mut function = girih_ir::Function::new(module.unique(&def.name.name), def.name.span);
    function.launch = Some(Launch { workgroup: [32 * warps, 1, 1], ..Launch::default() });
    let mut body = Body::new(module, file, function);
    let own = Function { file, def: def.clone(), jit: true, scope: HashMap::new() };
    body.function = Some(Arc::new(own));
    let mut left = vec![];
    for p in &def.parameters.list {
        let name = &p.name.name;
        let given = request.arguments.iter().find(|(n, _)| n == name).map(|(_, argument)| argument);
        let picked = chosen.constants.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
        let constexpr = p.annotation.as_ref().is_some_and(is_constexpr);
        let class = parts::class_of(&mut body, p.annotation.as_ref().filter(|_| given.is_none()));
        let parts = Parts { request, constexpr, span: p.name.span, class }.of(&mut body, name, &mut left)?;
        let value = match (given, picked, &p.default) {
            (Some(argument), _, _) => parameter(&mut body, name, argument, constexpr, p.name.span, &mut left)?,
            (None, _, _) if parts.is_some() => parts.unwrap_or(Value::None),
            (None, Some(value), _) => value,
            (None, None, Some(default)) => body.expr(default)?,
            (None, None, None) => {
                let message = format!("the parameter `{name}` of `{}` is not given", def.name.name);
                let what = if constexpr { "a constant" } else { "a number or an array" };
                let hint = match &chosen.unread {
                    Some(why) if constexpr => format!("give it {what}; {why}"),
                    _read if constexpr => format!("give it {what}, as in `--arg {name}=64` of `girih launch`"),
                    _read => format!("give it {what}"),
                };
                return body.fail(Code::BadArguments, p.name.span, message, &hint);
            }
        };
        body.scope.insert(name.clone(), value);
    }
    if body.statements(&def.body)? == Flow::Next {
        body.give_back(Value::None, def.name.span)?;
    }
    let written = body.b.function;
    module.functions.push(written);
    Ok(left)
}

/// What a parameter is in the kernel.
pub(super) fn parameter(
    body: &mut Body<'_, '_>,
    name: &str,
    argument: &Argument,
    constexpr: bool,
    span: Span,
    left: &mut Vec<String>,
) -> Made<Value> {
    match argument {
        // `Color.RED` names a member of a class of the file.
        Argument::Constant(c) => match c {
            Constant::Text(text) => Ok(body.named_constant(text)?.unwrap_or_else(|| constant(c))),
            _other => Ok(constant(c)),
        },
        Argument::Scalar(scalar, bits) if constexpr => Ok(constant_of(*scalar, *bits)),
        // As Triton does: 1 is known, because strides are 1 so often.
        Argument::Scalar(scalar, 1) if scalar.is_integer() => Ok(Value::Int(1)),
        Argument::Scalar(scalar, bits) => {
            let ty = Type::Scalar(*scalar);
            let divisible = if scalar.is_integer() && bits.is_multiple_of(DIVISIBLE) { DIVISIBLE as u32 } else { 0 };
            let attrs = ParamAttrs { divisible, ..ParamAttrs::default() };
            left.push(name.to_owned());
            Ok(Value::Tensor(Tensor { value: body.b.function.param(name, ty, attrs), ty }))
        }
        Argument::Buffer(_) | Argument::UnalignedBuffer(_) if constexpr => body.fail(
            Code::BadArguments,
            span,
            format!("`{name}` is a `tl.constexpr` and is given an array"),
            "give it a constant",
        ),
        Argument::Buffer(scalar) | Argument::UnalignedBuffer(scalar) => {
            let is_aligned = matches!(argument, Argument::Buffer(_));
            let align = if is_aligned { ALIGNED } else { scalar.bytes() };
            let attrs = ParamAttrs { align, noalias: body.module.apart, ..ParamAttrs::default() };
            left.push(name.to_owned());
            let buffer = body.b.function.param(name, Type::Memory(Space::Global), attrs);
            Ok(Value::Pointer(Pointer::to(buffer, *scalar)))
        }
    }
}

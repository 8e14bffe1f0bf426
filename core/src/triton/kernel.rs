//! A kernel as a whole: which there are in a file, what their decorators say, and the function that one becomes for given arguments.

use super::body::{Body, Made, Module};
use super::call::constant_of;
use super::pointer::Pointer;
use super::source::{Binding, FileId, Files, Loader};
use super::statement::{Flow, is_constexpr};
use super::value::{Function, Placed, Tensor, Value};
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::ir::{self, FunctionId, Launch, ParamAttrs, Scalar, Space, Type, Verified, verify};
use crate::python::ast::{Expr, ExprKind, FunctionDef};
use crate::span::{Sources, Span};
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

/// What a kernel is given for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Something that is known when it is compiled.
    Constant(Constant),
    /// A number. Its bits decide only what may be assumed of it: whether it is 1, or a multiple of 16.
    Scalar(Scalar, u64),
    /// A buffer of such elements.
    Buffer(Scalar),
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
    /// What its parameters are given, by name.
    pub arguments: Vec<(String, Argument)>,
    /// Groups of 32 lanes that run a program; what the decorators say, or 4, if absent.
    pub num_warps: Option<u32>,
    /// Steps of a loop that are under way at once: a hint, which changes no result.
    pub num_stages: Option<u32>,
    /// Whether `device_assert` is kept.
    pub debug: bool,
}

/// A compiled kernel.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The kernel and the functions that it calls, in tile form.
    pub module: Verified<ir::Module>,
    /// The kernel.
    pub kernel: FunctionId,
    /// Which of the kernel's Python parameters the function's parameters are, in order: those that are not constants.
    pub parameters: Vec<String>,
    /// Constants that decorators chose.
    pub chosen: Vec<(String, String)>,
    /// What was said on the way: by `tl.static_print`, and about decorators that could not be read.
    pub notes: Vec<String>,
}

/// Steps that code which is run when a kernel is compiled may make.
const FUEL: u64 = 1 << 20;
/// A program is run by this many groups of lanes unless something else is said.
const WARPS: u32 = 4;

/// Whether a decorator is `triton.jit`, in whatever way it is written.
pub(super) fn is_jit(decorator: &Expr) -> bool {
    match &decorator.kind {
        ExprKind::Name(name) => name == "jit",
        ExprKind::Attribute(of, name) => name.name == "jit" && matches!(&of.kind, ExprKind::Name(n) if n == "triton"),
        ExprKind::Call(callee, _) => is_jit(callee),
        _others => false,
    }
}

/// What a decorator is called.
fn decorator_name(decorator: &Expr) -> &str {
    match &decorator.kind {
        ExprKind::Name(name) => name,
        ExprKind::Attribute(_, name) => &name.name,
        ExprKind::Call(callee, _) => decorator_name(callee),
        _others => "",
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
        file.names.values().any(|binding| match binding {
            Binding::Value(e) => match &e.kind {
                ExprKind::Call(callee, arguments) => {
                    let first = arguments.first().map(|a| &a.value.kind);
                    is_jit(callee) && matches!(first, Some(ExprKind::Name(name)) if *name == def.name.name)
                }
                _others => false,
            },
            _others => false,
        })
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
        instances: HashMap::new(),
        constants: HashMap::new(),
        depth: 0,
        fuel: FUEL,
        notes: vec![],
        debug: request.debug,
    };
    let mut chosen = Chosen { constants: vec![], num_warps: None };
    decorators(&mut module, file, &def, request, &mut chosen).map_err(one)?;
    let parameters = write(&mut module, file, &def, request, &chosen).map_err(one)?;
    let kernel = FunctionId::new(module.functions.len() as u32 - 1);
    let written = ir::Module::of(std::mem::take(&mut module.functions));
    let chosen = chosen.constants.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
    // What is wrong in a kernel has been said: the rules of the IR only find mistakes of this stage.
    let module_ir = verify(written).map_err(|found| found.into_iter().map(internal).collect::<Vec<_>>())?;
    Ok(Compiled { module: module_ir, kernel, parameters, chosen, notes: module.notes })
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

/// What decorators have chosen.
struct Chosen {
    constants: Vec<(String, Value)>,
    num_warps: Option<u32>,
}

fn constant(value: &Constant) -> Value {
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

/// Reads `@triton.autotune` and `@triton.heuristics`; what was given explicitly goes before what they say.
fn decorators(
    module: &mut Module<'_>,
    file: FileId,
    def: &FunctionDef,
    request: &Request,
    chosen: &mut Chosen,
) -> Made<()> {
    for decorator in &def.decorators {
        let name = decorator_name(decorator);
        let ExprKind::Call(_, arguments) = &decorator.kind else { continue };
        let wanted = match name {
            "autotune" => "configs",
            "heuristics" => "values",
            _unknown => continue,
        };
        let argument = arguments
            .iter()
            .find(|a| a.name.as_ref().is_some_and(|n| n.name == wanted))
            .or_else(|| arguments.first().filter(|a| a.name.is_none()));
        let Some(argument) = argument else { continue };
        let mut body = Body::new(module, file, ir::Function::new(name, decorator.span));
        body.host = true;
        let read = body.expr(&argument.value).and_then(|value| match name {
            "autotune" => tuned(&body, value, argument.value.span, request, chosen),
            _heuristics => heuristics(&mut body, value, argument.value.span, request, chosen),
        });
        if let Err(error) = read {
            module.notes.push(format!("`@triton.{name}` of `{}` cannot be read: {}", def.name.name, error.message));
        }
    }
    Ok(())
}

fn is_given(request: &Request, name: &str) -> bool {
    request.arguments.iter().any(|(n, _)| n == name)
}

/// The first configuration that agrees with what was given.
fn tuned(body: &Body<'_, '_>, configs: Value, span: Span, request: &Request, chosen: &mut Chosen) -> Made<()> {
    let Value::Tuple(configs) = configs else {
        return body.fail(Code::KernelArgument, span, "configurations are a list", "");
    };
    let field = |config: &Value, name: &str| match config {
        Value::Dict(items) => {
            items.iter().find(|(k, _)| k.equals(&Value::text(name)) == Some(true)).map(|(_, v)| v.clone())
        }
        _no_config => None,
    };
    let agrees = |config: &&Value| {
        let Some(Value::Dict(items)) = field(config, "kwargs") else { return false };
        items.iter().all(|(key, value)| {
            let given = request.arguments.iter().find(|(name, _)| *name == key.to_string());
            match given {
                Some((_, Argument::Constant(c))) => constant(c).equals(value) == Some(true),
                _not_given => true,
            }
        })
    };
    let Some(config) = configs.iter().find(agrees).or(configs.first()) else { return Ok(()) };
    if let Some(Value::Dict(items)) = field(config, "kwargs") {
        for (key, value) in items {
            let key = key.to_string();
            if !is_given(request, &key) {
                chosen.constants.push((key, value));
            }
        }
    }
    if let Some(Value::Int(warps)) = field(config, "num_warps") {
        chosen.num_warps = u32::try_from(warps).ok();
    }
    Ok(())
}

/// Constants that functions of the arguments compute.
fn heuristics(body: &mut Body<'_, '_>, values: Value, span: Span, request: &Request, chosen: &mut Chosen) -> Made<()> {
    let Value::Dict(items) = values else {
        return body.fail(Code::KernelArgument, span, "heuristics are a dictionary", "");
    };
    for (key, function) in items {
        let name = key.to_string();
        if is_given(request, &name) {
            continue;
        }
        let mut arguments: Vec<(Value, Value)> = vec![];
        for (name, argument) in &request.arguments {
            let value = match argument {
                Argument::Constant(c) => constant(c),
                Argument::Scalar(scalar, bits) => constant_of(*scalar, *bits),
                Argument::Buffer(scalar) => {
                    Value::Dtype(super::value::Dtype { pointer: true, ..super::value::Dtype::of(*scalar) })
                }
            };
            arguments.push((Value::text(name), value));
        }
        arguments.extend(chosen.constants.iter().map(|(name, value)| (Value::text(name), value.clone())));
        let given = vec![Placed { value: Value::Dict(arguments), span }];
        let value = body.call(&function, given, vec![], span)?;
        match (&*name, value) {
            ("num_warps", Value::Int(n)) => chosen.num_warps = u32::try_from(n).ok(),
            (_, value) => chosen.constants.push((name, value)),
        }
    }
    Ok(())
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
    if let Some((name, _)) = request.arguments.iter().find(|(name, _)| !named.contains(&name.as_str())) {
        let list = named.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let message = format!("`{}` has no parameter `{name}`", def.name.name);
        return Err(
            Diagnostic::new(Code::KernelArgument, def.name.span, message).hint(format!("its parameters are {list}"))
        );
    }
    let warps = request.num_warps.or(chosen.num_warps).unwrap_or(WARPS);
    if !warps.is_power_of_two() || warps > 32 {
        let message = format!("a program is not run by {warps} warps");
        return Err(Diagnostic::new(Code::KernelArgument, def.name.span, message)
            .hint("their number is a power of two, at most 32"));
    }
    let mut function = ir::Function::new(def.name.name.as_str(), def.name.span);
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
        let value = match (given, picked, &p.default) {
            (Some(argument), _, _) => parameter(&mut body, name, argument, constexpr, p.name.span, &mut left)?,
            (None, Some(value), _) => value,
            (None, None, Some(default)) => body.expr(default)?,
            (None, None, None) => {
                let message = format!("the parameter `{name}` of `{}` is not given", def.name.name);
                let what = if constexpr { "a constant" } else { "a number or an array" };
                return body.fail(Code::KernelArgument, p.name.span, message, &format!("give it {what}"));
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
fn parameter(
    body: &mut Body<'_, '_>,
    name: &str,
    argument: &Argument,
    constexpr: bool,
    span: Span,
    left: &mut Vec<String>,
) -> Made<Value> {
    match argument {
        Argument::Constant(c) => Ok(constant(c)),
        Argument::Scalar(scalar, bits) if constexpr => Ok(constant_of(*scalar, *bits)),
        // As Triton does: 1 is known, because strides are 1 so often.
        Argument::Scalar(scalar, 1) if scalar.is_integer() => Ok(Value::Int(1)),
        Argument::Scalar(scalar, bits) => {
            let ty = Type::Scalar(*scalar);
            let divisible = if scalar.is_integer() && bits.is_multiple_of(16) { 16 } else { 0 };
            let attrs = ParamAttrs { divisible, ..ParamAttrs::default() };
            left.push(name.to_owned());
            Ok(Value::Tensor(Tensor { value: body.b.function.param(name, ty, attrs), ty }))
        }
        Argument::Buffer(_) if constexpr => body.fail(
            Code::KernelArgument,
            span,
            format!("`{name}` is a `tl.constexpr` and is given an array"),
            "give it a constant",
        ),
        Argument::Buffer(scalar) => {
            let attrs = ParamAttrs { align: 16, ..ParamAttrs::default() };
            left.push(name.to_owned());
            let buffer = body.b.function.param(name, Type::Memory(Space::Global), attrs);
            Ok(Value::Pointer(Pointer { buffer, pointee: *scalar, index: None, shape: None }))
        }
    }
}

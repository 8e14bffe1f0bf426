//! `@triton.autotune` and `@triton.heuristics`: ordinary Python that chooses constants of a kernel. What was given explicitly goes before what they say.
//!
//! Where they cannot be read, that is noted, and said where a constant is missing.

use super::body::{Body, Made, Module};
use super::call::constant_of;
use super::inductor;
use super::kernel::{Argument, Request, constant};
use super::source::FileId;
use super::value::{Dtype, Placed, Value};
use crate::python::ast::{Argument as Passed, Expr, ExprKind, FunctionDef};
use girih_base::diag::Code;
use girih_base::span::Span;

/// What decorators have chosen.
pub(super) struct Chosen {
    pub constants: Vec<(String, Value)>,
    pub num_warps: Option<u32>,
    /// How many configurations there were to choose from.
    pub configurations: usize,
    /// The grid that they say.
    pub grid: Option<String>,
    /// Why a decorator could not be read.
    pub unread: Option<String>,
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

/// Whether decorators may look at the numbers that a kernel is given.
pub(super) fn look_at_arguments(def: &FunctionDef) -> bool {
    def.decorators.iter().any(|decorator| matches!(decorator_name(decorator), "autotune" | "heuristics"))
}

/// The argument of a name, or the first one.
pub(super) fn passed<'a>(arguments: &'a [Passed], name: &str, first: bool) -> Option<&'a Expr> {
    let named = arguments.iter().find(|a| a.name.as_ref().is_some_and(|n| n.name == name));
    let by_place = || arguments.first().filter(|a| first && a.name.is_none());
    named.or_else(by_place).map(|a| &a.value)
}

/// Reads what decorators say of a kernel for a request.
pub(super) fn read(module: &mut Module<'_>, file: FileId, def: &FunctionDef, request: &Request) -> Made<Chosen> {
    let mut chosen = Chosen { constants: vec![], num_warps: None, configurations: 1, grid: None, unread: None };
    for decorator in &def.decorators {
        let ExprKind::Call(_, arguments) = &decorator.kind else { continue };
        let name = decorator_name(decorator);
        let wanted = match name {
            "autotune" => "configs",
            "heuristics" => "values",
            other => {
                if let Some(kind) = inductor::kind(other).filter(|_| inductor::is_of(decorator)) {
                    let mut body = Body::new(module, file, girih_ir::Function::new(name, decorator.span));
                    (body.host, body.now) = (true, (file, decorator.span.start));
                    if let Err(error) = inductor::choose(&mut body, (kind, arguments), def, request, &mut chosen) {
                        chosen.unread.get_or_insert(format!("`@{name}` cannot be read: {}", error.message));
                    }
                }
                continue;
            }
        };
        let Some(argument) = passed(arguments, wanted, true) else { continue };
        let mut body = Body::new(module, file, girih_ir::Function::new(name, decorator.span));
        (body.host, body.now) = (true, (file, decorator.span.start));
        let read = body.expr(argument).and_then(|value| match name {
            "autotune" => {
                let prune = passed(arguments, "prune_configs_by", false);
                tuned(&mut body, value, (argument.span, prune), request, &mut chosen)
            }
            _heuristics => heuristics(&mut body, value, argument.span, request, &mut chosen),
        });
        if let Err(error) = read {
            let place = module.files.sources.get(error.span().source).map_or(String::new(), |source| {
                let before = source.text.get(..error.span().start as usize).unwrap_or_default();
                format!(", line {}", before.matches('\n').count() + 1)
            });
            let why = format!("`@triton.{name}` of `{}` cannot be read{place}: {}", def.name.name, error.message);
            module.notes.push(why.clone());
            chosen.unread.get_or_insert(why);
        }
    }
    if request.configuration >= chosen.configurations {
        let message = format!(
            "`{}` has {} configurations to choose from, and number {} is asked for",
            def.name.name, chosen.configurations, request.configuration
        );
        return Err(girih_base::diag::Diagnostic::new(Code::KernelArgument, def.name.span, message));
    }
    Ok(chosen)
}

pub(super) fn is_given(request: &Request, name: &str) -> bool {
    request.arguments.iter().any(|(n, _)| n == name)
}

/// What a kernel is given, as its file's own code sees it: of a buffer the type of its elements.
fn given(request: &Request) -> Vec<(String, Value)> {
    let value = |argument: &Argument| match argument {
        Argument::Constant(c) => constant(c),
        Argument::Scalar(scalar, bits) => constant_of(*scalar, *bits),
        Argument::Buffer(scalar) | Argument::UnalignedBuffer(scalar) => {
            Value::Dtype(Dtype { pointer: true, ..Dtype::of(*scalar) })
        }
    };
    request.arguments.iter().map(|(name, argument)| (name.clone(), value(argument))).collect()
}

/// A field of a configuration.
fn field<'v>(config: &'v Value, name: &str) -> Option<&'v Value> {
    match config {
        Value::Record(record) => record.field(name),
        _no_config => None,
    }
}

/// One of the configurations that agree with what was given.
fn tuned(
    body: &mut Body<'_, '_>,
    configs: Value,
    (span, prune): (Span, Option<&Expr>),
    request: &Request,
    chosen: &mut Chosen,
) -> Made<()> {
    let Value::Tuple(all) = &configs else {
        return body.fail(Code::KernelArgument, span, "configurations are a list", "");
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
    let pruned = match prune {
        Some(prune) => pruned(body, configs.clone(), prune, request)?,
        None => all.clone(),
    };
    let mut left: Vec<&Value> = pruned.iter().filter(agrees).collect();
    if left.is_empty() {
        left = pruned.first().into_iter().collect();
    }
    chosen.configurations = left.len().max(1);
    let Some(config) = left.get(request.configuration) else { return Ok(()) };
    if let Some(Value::Dict(items)) = field(config, "kwargs") {
        for (key, value) in items {
            let key = key.to_string();
            if !is_given(request, &key) {
                chosen.constants.push((key, value.clone()));
            }
        }
    }
    if let Some(Value::Int(warps)) = field(config, "num_warps") {
        chosen.num_warps = u32::try_from(*warps).ok();
    }
    Ok(())
}

/// The configurations that the function under `early_config_prune` leaves.
fn pruned(body: &mut Body<'_, '_>, configs: Value, prune: &Expr, request: &Request) -> Made<Vec<Value>> {
    let early = match body.expr(prune)? {
        Value::Dict(items) => {
            items.into_iter().find(|(key, _)| key.equals(&Value::text("early_config_prune")) == Some(true))
        }
        _none => None,
    };
    let Some((_, function)) = early else { return body.iterate(configs, prune.span) };
    let placed = |value| Placed { value, span: prune.span };
    let given = given(request);
    let dictionary = given.iter().map(|(name, value)| (Value::text(name), value.clone())).collect();
    let positional = vec![placed(configs), placed(Value::Dict(dictionary))];
    let named = given.into_iter().map(|(name, value)| (name, placed(value))).collect();
    let left = body.call(&function, positional, named, prune.span)?;
    body.iterate(left, prune.span)
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
        let known = given(request).into_iter().chain(chosen.constants.iter().cloned());
        let arguments = known.map(|(name, value)| (Value::text(&name), value)).collect();
        let given = vec![Placed { value: Value::Dict(arguments), span }];
        let value = body.call(&function, given, vec![], span)?;
        match (&*name, value) {
            ("num_warps", Value::Int(n)) => chosen.num_warps = u32::try_from(n).ok(),
            (_, value) => chosen.constants.push((name, value)),
        }
    }
    Ok(())
}

//! Attributes: what values have, and the names of modules.

use super::body::{Body, Made};
use super::builtins;
use super::names::is_triton;
use super::source::FileId;
use super::target;
use super::value::{Dtype, Value, scalar_of_name};
use crate::python::ast::Ident;
use girih_base::diag::Code;
use girih_base::idx::Idx;
use girih_base::span::Span;

/// Parts of Triton that hold nothing but other names.
const PARTS: &[&str] = &[
    "language",
    "math",
    "extra",
    "cuda",
    "hip",
    "intel",
    "libdevice",
    "standard",
    "core",
    "random",
    "runtime",
    "jit",
    "testing",
    "tools",
    "compiler",
    "autotune",
    "heuristics",
    "semantic",
    "target_info",
    "driver",
    "active",
    "PropagateNan",
    "dtype",
    "tensor",
    "autotuner",
    "experimental",
    "tensor_descriptor",
    "block_type",
    "tensor_descriptor_base",
];

impl Body<'_, '_> {
    pub(super) fn attribute(&mut self, value: Value, name: &Ident, span: Span) -> Made<Value> {
        match &value {
            Value::Library(path) => return self.member(&path.clone(), name),
            Value::Record(record) => {
                return match record.field(&name.name) {
                    Some(field) => Ok(field.clone()),
                    None => {
                        let message = format!("{} has no attribute `{}`", record.what, name.name);
                        self.fail(Code::KernelName, name.span, message, "")
                    }
                };
            }
            Value::Dtype(ty) => {
                let found = match &*name.name {
                    "element_ty" | "scalar" => Some(Value::Dtype(Dtype { pointer: false, shape: None, ..*ty })),
                    "primitive_bitwidth" | "int_bitwidth" => Some(Value::Int(i128::from(ty.scalar.bits()))),
                    "itemsize" => Some(Value::Int(i128::from(ty.scalar.bytes()))),
                    "name" => Some(Value::text(&ty.to_string())),
                    "shape" => Some(shape_value(ty.shape)),
                    _ => None,
                };
                if let Some(found) = found {
                    return Ok(found);
                }
            }
            Value::Tensor(_) | Value::Pointer(_) => {
                let ty = value.dtype().unwrap_or(Dtype::of(girih_ir::Scalar::I32));
                match &*name.name {
                    "dtype" => return Ok(Value::Dtype(Dtype { shape: None, ..ty })),
                    "type" => return Ok(Value::Dtype(ty)),
                    "shape" => return Ok(shape_value(ty.shape)),
                    "numel" => return Ok(Value::Int(ty.shape.map_or(1, |s| i128::from(s.elements())))),
                    "T" => return self.permute_value(&value, &[1, 0], span),
                    _ => {}
                }
            }
            Value::Block(block) => match &*name.name {
                "dtype" => return Ok(Value::Dtype(Dtype::of(block.base.pointee))),
                "block_shape" => {
                    return Ok(Value::Tuple(block.block.iter().map(|n| Value::Int(i128::from(*n))).collect()));
                }
                "load" | "store" if block.offsets.is_empty() => {
                    let row = builtins::find(&format!("{}_tensor_descriptor", name.name));
                    if let Some(row) = row {
                        return Ok(Value::Builtin(row, Some(Box::new(value))));
                    }
                }
                _ => {}
            },
            Value::Function(function) if name.name == "__name__" => return Ok(Value::text(&function.def.name.name)),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) if name.name == "value" => {
                return Ok(value);
            }
            _others => {}
        }
        match builtins::find(&name.name) {
            Some(row) => Ok(Value::Builtin(row, Some(Box::new(value)))),
            None => {
                let message = format!("{} has no attribute `{}`", value.kind(), name.name);
                self.fail(Code::KernelName, name.span, message, &builtins::like(&name.name))
            }
        }
    }

    /// A name of a module.
    fn member(&mut self, path: &str, name: &Ident) -> Made<Value> {
        if let Some(id) = path.strip_prefix('#').and_then(|id| id.parse().ok()) {
            let found = self.global(FileId::from_usize(id), &name.name, name.span)?;
            return match found {
                Some(value) => Ok(value),
                None => self.fail(Code::KernelName, name.span, format!("the imported file has no `{}`", name.name), ""),
            };
        }
        if path == "math" {
            let constant = match &*name.name {
                "pi" => Some(std::f64::consts::PI),
                "e" => Some(std::f64::consts::E),
                "tau" => Some(std::f64::consts::TAU),
                "inf" => Some(f64::INFINITY),
                "nan" => Some(f64::NAN),
                _ => None,
            };
            if let Some(x) = constant {
                return Ok(Value::Float(x));
            }
            if let Some(row) = builtins::find(&name.name) {
                return Ok(Value::Builtin(row, None));
            }
        }
        if let Some(value) = target::constant(path, &name.name) {
            return Ok(value);
        }
        if !is_triton(path) || path == "triton.runtime.driver.active" {
            return Ok(Value::Library(format!("{path}.{}", name.name)));
        }
        if path.ends_with("PropagateNan") {
            return Ok(Value::text(&name.name));
        }
        if let Some(scalar) = scalar_of_name(&name.name) {
            return Ok(Value::Dtype(Dtype::of(scalar)));
        }
        if name.name.starts_with("float8") {
            let message = format!("the type `{}` is not available", name.name);
            return self.fail(Code::KernelRefused, name.span, message, "`tl.float8e4nv` and `tl.float8e5` are");
        }
        if PARTS.contains(&&*name.name) {
            return Ok(Value::Library(format!("{path}.{}", name.name)));
        }
        let fast = name.name.starts_with("fast_").then(|| name.name.trim_end_matches('f'));
        let alias = match fast.and_then(|n| n.strip_prefix("fast_")) {
            Some("divide") => Some("fdiv"),
            other => other,
        };
        match builtins::find(&name.name).or_else(|| builtins::find(fast?)).or_else(|| builtins::find(alias?)) {
            Some(row) => Ok(Value::Builtin(row, None)),
            None => {
                let message = format!("`{path}` has no `{}` here", name.name);
                self.fail(Code::KernelRefused, name.span, message, &builtins::like(&name.name))
            }
        }
    }
}

fn shape_value(shape: Option<girih_ir::Shape>) -> Value {
    Value::Tuple(shape.map_or(vec![], |s| s.lengths().map(|n| Value::Int(i128::from(n))).collect()))
}

//! Attributes: what values have, and the names of modules.

use super::body::{Body, Made};
use super::builtins;
use super::dtypes::{self, shape_value};
use super::embedded;
use super::names::is_triton;
use super::source::FileId;
use super::target;
use super::value::{Dtype, Tensor, Value, scalar_of_name};
use crate::python::ast::Ident;
use girih_base::diag::Code;
use girih_base::idx::Idx;
use girih_base::span::Span;
use girih_ir::{Scalar, Type, ValueId};

/// Parts of Triton whose names stand for themselves.
const ENUMERATIONS: &[&str] = &["PropagateNan", "dtype.SIGNEDNESS", "dtype.KIND"];

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
    "SIGNEDNESS",
    "KIND",
    "dtype",
    "tensor",
    "autotuner",
    "experimental",
    "tensor_descriptor",
    "block_type",
    "tensor_descriptor_base",
];

/// Names that `libdevice` and `math` give other operations than the rest of Triton does.
const QUALIFIED: &[(&str, &str, &str)] =
    &[("libdevice", "round", "libdevice.round"), ("math", "max", "maximum"), ("math", "min", "minimum")];

/// Whether a name is that of a part of Triton.
pub(super) fn is_part(name: &str) -> bool {
    PARTS.contains(&name)
}

impl Body<'_, '_> {
    /// An operation by its name in a part of Triton, or a constant or a function of `triton.language.core` and `standard` that is no operation.
    fn operation(&mut self, path: &str, name: &str) -> Made<Option<Value>> {
        let part = path.rsplit('.').next().unwrap_or_default();
        let row = QUALIFIED.iter().find(|(of, short, _)| *of == part && *short == name).map(|(_, _, row)| *row);
        if let Some(row) = row.and_then(builtins::find) {
            return Ok(Some(Value::Builtin(row, None)));
        }
        if builtins::find(name).is_some() {
            return Ok(None);
        }
        let file = self.module.files.embedded("standard")?;
        self.global(file, name, Span::NONE)
    }

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
            Value::Class(class) => return self.class_attribute(class, name),
            Value::Named(class, items) => return self.object_attribute(class, items, name),
            Value::Dtype(ty) => {
                if let Some(found) = dtypes::attribute(*ty, &name.name) {
                    return Ok(found);
                }
            }
            Value::Tensor(_) | Value::Pointer(_) => {
                let ty = value.dtype().unwrap_or(Dtype::of(Scalar::I32));
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
                "type" => return Ok(Value::Dtype(Dtype { shape: None, ..block.base.dtype() })),
                "block_shape" => {
                    return Ok(Value::Tuple(block.block.iter().map(|n| Value::Int(i128::from(*n))).collect()));
                }
                // As Triton has them.
                "shape" if block.offsets.is_empty() => return Ok(self.integers_of(&block.lengths, Scalar::I32)),
                "strides" if block.offsets.is_empty() => return Ok(self.integers_of(&block.strides, Scalar::I64)),
                "load" | "store" | "gather" | "scatter" | "atomic_add" | "atomic_max" | "atomic_min" | "atomic_and"
                | "atomic_or" | "atomic_xor"
                    if block.offsets.is_empty() =>
                {
                    let row = builtins::find(&format!("{}_tensor_descriptor", name.name));
                    if let Some(row) = row {
                        return Ok(Value::Builtin(row, Some(Box::new(value))));
                    }
                }
                _ => {}
            },
            // Tiles have operations of these names.
            Value::Str(_) if matches!(&*name.name, "split" | "join") => {
                let row = builtins::find(if name.name == "split" { "split_text" } else { "join_texts" });
                if let Some(row) = row {
                    return Ok(Value::Builtin(row, Some(Box::new(value))));
                }
            }
            Value::Function(function) if name.name == "__name__" => return Ok(Value::text(&function.def.name.name)),
            constant if name.name == "value" && constant.is_constant() => return Ok(value),
            _others => {}
        }
        match builtins::find(&name.name) {
            Some(row) if !matches!(value, Value::None) => Ok(Value::Builtin(row, Some(Box::new(value)))),
            _no_method => {
                let message = format!("{} has no attribute `{}`", value.kind(), name.name);
                self.fail(Code::KernelName, name.span, message, &builtins::like(&name.name))
            }
        }
    }

    /// Integers of 64 bits as a tuple of such a type.
    fn integers_of(&mut self, values: &[ValueId], scalar: Scalar) -> Value {
        let whole = |value: &ValueId| Tensor { value: *value, ty: Type::Scalar(Scalar::I64) };
        Value::Tuple(values.iter().map(|value| Value::Tensor(self.cast(whole(value), scalar))).collect())
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
        if let Some(value) = target::constant(path, &name.name) {
            return Ok(value);
        }
        let whole = format!("{path}.{}", name.name);
        if let Some(file) = embedded::of_module(&whole) {
            let file = self.module.files.embedded(file)?;
            return Ok(Value::Library(format!("#{}", file.index())));
        }
        if !is_triton(path) || path.starts_with("triton.runtime.driver.active") || path.ends_with(".target_info") {
            return Ok(Value::Library(whole));
        }
        if ENUMERATIONS.iter().any(|enumeration| path.ends_with(enumeration)) {
            return Ok(Value::text(&name.name));
        }
        if let Some(scalar) = scalar_of_name(&name.name) {
            return Ok(Value::Dtype(Dtype::of(scalar)));
        }
        if name.name.starts_with("float8") {
            let message = format!("the type `{}` is not available", name.name);
            return self.fail(Code::KernelRefused, name.span, message, "`tl.float8e4nv` and `tl.float8e5` are");
        }
        if is_part(&name.name) {
            return Ok(Value::Library(whole));
        }
        if let Some(found) = self.operation(path, &name.name)? {
            return Ok(found);
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

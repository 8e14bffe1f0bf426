//! The function that is being written: its builder, its variables, and the small things that all stages need.

use super::guard::Guard;
use super::pointer::Buffers;
use super::source::{FileId, Files};
use super::target::Card;
use super::value::{Dtype, Function, Tensor, Value, scalar_name};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::{Builder, FunctionId, Op, Scalar, Shape, Type, ValueId};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) type Made<T> = Result<T, Diagnostic>;

/// What is written once for each combination of constants and types.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub id: FunctionId,
    /// What it returns, in terms of its own parameters and results.
    pub returned: Value,
    /// Its own buffers, in the order in which calls give them.
    pub buffers: Vec<ValueId>,
}

/// What outlives a single function.
pub(super) struct Module<'a> {
    pub files: Files<'a>,
    pub functions: Vec<girih_ir::Function>,
    /// How many functions of a name there are, those included that are still being written.
    pub named: HashMap<String, usize>,
    /// Written functions, by what they were written for.
    pub instances: HashMap<String, Instance>,
    /// Constants of files that have been computed.
    pub constants: HashMap<(FileId, String, usize), Value>,
    /// What the functions that are being written are written for, the outermost first.
    pub writing: Vec<String>,
    /// How many calls deep it is.
    pub depth: usize,
    /// By how many groups of 32 lanes a program is run.
    pub warps: u32,
    /// Steps that code which is run when a kernel is compiled may still make.
    pub fuel: u64,
    /// What was said on the way and is no error.
    pub notes: Vec<String>,
    /// Whether `device_assert` is written.
    pub debug: bool,
    /// The name of the kernel.
    pub kernel: String,
    /// The texts of the assertions that were written.
    pub assertions: Vec<String>,
    /// Whether no two memories that are given overlap.
    pub apart: bool,
    /// The compute capability of the card that a file's own code is told of.
    pub capability: (u32, u32),
    /// What else it is told of that card.
    pub card: Card,
}

impl Module<'_> {
    /// A name that no other function has: the first one of a name keeps it. No name of Python has a dot.
    pub(super) fn unique(&mut self, name: &str) -> String {
        let before = self.named.entry(name.to_owned()).or_default();
        *before += 1;
        if *before == 1 { name.to_owned() } else { format!("{name}.{}", *before - 1) }
    }
}

/// What a function returns.
#[derive(Clone, Debug)]
pub(super) struct Returned {
    pub value: Value,
    pub span: Span,
}

/// A function that is being written.
pub(super) struct Body<'m, 'a> {
    pub module: &'m mut Module<'a>,
    pub b: Builder,
    pub file: FileId,
    pub scope: HashMap<String, Value>,
    /// The function around it, if it is a nested one.
    pub function: Option<Arc<Function>>,
    /// What was returned first.
    pub returned: Option<Returned>,
    /// The assertions that stand before what is written next, and hold there.
    pub guards: Vec<Guard>,
    /// How many conditions of the device are around.
    pub branches: usize,
    /// How many loops of the device are around.
    pub loops: usize,
    /// The buffers that a pointer would have to be chosen among, and whether by element, where that is why an error was made.
    pub wanted: Option<(Buffers, bool)>,
    /// Variables that loops carry, by the loop's place, with the buffers that they turned out to be chosen among, and whether by element.
    pub widened: Vec<(Span, String, (Buffers, bool))>,
    /// Whether this is ordinary Python, which must not make anything for the device.
    pub host: bool,
    /// The file's code up to this byte has run; names mean what they mean there.
    pub now: (FileId, u32),
}

/// How deep calls may go.
const DEPTH: usize = 32;

impl<'m, 'a> Body<'m, 'a> {
    pub(super) fn new(module: &'m mut Module<'a>, file: FileId, function: girih_ir::Function) -> Body<'m, 'a> {
        Body {
            module,
            b: Builder::new(function),
            file,
            scope: HashMap::new(),
            function: None,
            returned: None,
            guards: vec![],
            branches: 0,
            loops: 0,
            wanted: None,
            widened: vec![],
            host: false,
            now: (file, u32::MAX),
        }
    }

    pub(super) fn fail<T>(&self, code: Code, span: Span, message: impl Into<String>, hint: &str) -> Made<T> {
        let diagnostic = Diagnostic::new(code, span, message);
        Err(if hint.is_empty() { diagnostic } else { diagnostic.hint(hint) })
    }

    /// Calls are nested; too many are an error.
    pub(super) fn deeper(&mut self, name: &str, span: Span) -> Made<()> {
        if self.module.depth >= DEPTH {
            let message = format!("`{name}` is called {DEPTH} calls deep");
            return self.fail(Code::KernelSyntax, span, message, "kernels cannot recur: write a loop");
        }
        self.module.depth += 1;
        Ok(())
    }

    pub(super) fn int(&mut self, scalar: Scalar, n: i128) -> ValueId {
        self.b.constant(scalar, n as u64 & scalar.mask())
    }
    pub(super) fn float(&mut self, scalar: Scalar, x: f64) -> ValueId {
        self.b.constant(scalar, girih_ir::eval::narrow(x, scalar))
    }
    /// A number of any type.
    pub(super) fn number(&mut self, scalar: Scalar, x: f64) -> ValueId {
        if scalar.is_float() { self.float(scalar, x) } else { self.int(scalar, x as i128) }
    }

    /// An operation that gives one value of the type that its row says.
    pub(super) fn op(&mut self, op: Op, ty: Type, operands: &[ValueId]) -> Tensor {
        let value = self.b.op(op, ty, operands);
        Tensor { value, ty: self.b.ty(value) }
    }

    /// A constant as a tile, or itself where there is no shape.
    pub(super) fn splat(&mut self, value: ValueId, shape: Option<Shape>) -> ValueId {
        match shape {
            None => value,
            Some(shape) => {
                let element = self.b.ty(value).element().unwrap_or(Scalar::I32);
                self.b.op(Op::TileSplat, Type::tile(shape, element), &[value])
            }
        }
    }

    /// Converts a number or a tile to an element type.
    pub(super) fn cast(&mut self, tensor: Tensor, to: Scalar) -> Tensor {
        let from = tensor.element();
        if from == to {
            return tensor;
        }
        let ty = Type::block(tensor.shape(), to);
        if let Some(bits) = self.b.function.as_constant(tensor.value)
            && let Some(bits) = girih_ir::eval::scalar(Op::Convert, to, from, &[bits])
        {
            return Tensor { value: self.b.constant(to, bits), ty };
        }
        // Whether it is not 0 is asked of the number itself.
        self.op(Op::Convert, ty, &[tensor.value])
    }

    /// Floats of 8 bits have no arithmetic: they are computed with as `fp16`, as operators do.
    pub(super) fn computable(&mut self, tensor: Tensor) -> Tensor {
        let is_short = tensor.element().is_float() && tensor.element().bits() == 8;
        if is_short { self.cast(tensor, Scalar::F16) } else { tensor }
    }

    /// A number of Python as a number of the device, by its size.
    pub(super) fn tensor_of_constant(&mut self, value: &Value, span: Span) -> Made<Tensor> {
        let (value, scalar) = match value {
            Value::Bool(b) => (self.int(Scalar::Bool, i128::from(*b)), Scalar::Bool),
            Value::Int(n) => match super::promote::of_int(*n) {
                Some(scalar) => (self.int(scalar, *n), scalar),
                None => {
                    return self.fail(
                        Code::KernelType,
                        span,
                        format!("{n} fits no integer of the device"),
                        "integers of kernels have up to 64 bits; a float holds larger numbers, `1e30`",
                    );
                }
            },
            Value::Float(x) => {
                let scalar = super::promote::of_float(*x);
                (self.float(scalar, *x), scalar)
            }
            other => {
                let message = format!("expected a number or a tile, found {}", other.kind());
                return self.fail(Code::KernelType, span, message, other.hint());
            }
        };
        Ok(Tensor { value, ty: Type::Scalar(scalar) })
    }

    /// A value as a number or a tile of the device.
    pub(super) fn tensor(&mut self, value: &Value, span: Span) -> Made<Tensor> {
        match value {
            Value::Tensor(t) => Ok(*t),
            Value::Pointer(_) | Value::Block(_) => {
                let message = format!("expected a number, found {}", value.kind());
                self.fail(
                    Code::KernelPointer,
                    span,
                    message,
                    "load from it, or index by an integer: a pointer is not a number here",
                )
            }
            constant => self.tensor_of_constant(constant, span),
        }
    }

    /// A value as a tensor of an element type; Python's numbers take it directly.
    pub(super) fn tensor_as(&mut self, value: &Value, scalar: Scalar, span: Span) -> Made<Tensor> {
        let number = match value {
            Value::Bool(b) => Some(f64::from(u8::from(*b))),
            Value::Float(x) => Some(*x),
            Value::Int(n) if scalar.is_float() => Some(*n as f64),
            Value::Int(n) => {
                let value = self.int(scalar, if scalar == Scalar::Bool { i128::from(*n != 0) } else { *n });
                return Ok(Tensor { value, ty: Type::Scalar(scalar) });
            }
            _no_number => None,
        };
        if let Some(x) = number {
            let value =
                if scalar == Scalar::Bool { self.int(scalar, i128::from(x != 0.0)) } else { self.number(scalar, x) };
            return Ok(Tensor { value, ty: Type::Scalar(scalar) });
        }
        let tensor = self.tensor(value, span)?;
        Ok(self.cast(tensor, scalar))
    }

    /// What stands at a place of a file, if it is short.
    pub(super) fn written_text(&self, span: Span) -> Option<&str> {
        let source = self.module.files.sources.get(span.source)?;
        let text = source.text.get(span.start as usize..span.end as usize)?;
        (text.len() <= 60 && !text.contains('\n')).then_some(text)
    }

    /// A condition that decides a branch: one number of the device.
    pub(super) fn condition(&mut self, value: &Value, span: Span) -> Made<ValueId> {
        let tensor = self.tensor(value, span)?;
        if tensor.shape().is_some() {
            let message = format!("this condition is {}, a whole tile", value.kind());
            return self.fail(
                Code::KernelShape,
                span,
                message,
                "a condition is a single number; choose element by element with `tl.where`",
            );
        }
        Ok(self.cast(tensor, Scalar::Bool).value)
    }

    /// An integer that is known when the kernel is compiled.
    pub(super) fn constant_int(&self, value: &Value, what: &str, span: Span) -> Made<i128> {
        match value {
            Value::Int(n) => Ok(*n),
            Value::Bool(b) => Ok(i128::from(*b)),
            Value::Tensor(_) => {
                let message = format!("{what} must be known when the kernel is compiled");
                self.fail(Code::KernelConstant, span, message, &self.constexpr_hint(span))
            }
            other => self.fail(
                Code::KernelArgument,
                span,
                format!("{what} is an integer, not {}", other.kind()),
                other.hint(),
            ),
        }
    }

    /// How what stands there becomes known when the kernel is compiled.
    fn constexpr_hint(&self, span: Span) -> String {
        let parameters = self.function.as_ref().map_or(&[][..], |function| &function.def.parameters.list);
        let written = self.written_text(span).filter(|text| parameters.iter().any(|p| p.name.name == *text));
        match written {
            Some(name) => format!("write `{name}: tl.constexpr` among the parameters"),
            None => "make it a `tl.constexpr`: a parameter with that annotation, or `NAME: tl.constexpr = ..`".into(),
        }
    }

    pub(super) fn constant_bool(&self, value: &Value, what: &str, span: Span) -> Made<bool> {
        match value.truth() {
            Some(truth) if value.is_constant() => Ok(truth),
            _ => self.fail(
                Code::KernelConstant,
                span,
                format!("{what} must be known when the kernel is compiled"),
                "make it a `tl.constexpr`",
            ),
        }
    }

    /// Lengths of a shape: integers, or a tuple of them.
    pub(super) fn constant_ints(&self, value: &Value, what: &str, span: Span) -> Made<Vec<i128>> {
        match value {
            Value::Tuple(items) => items.iter().map(|item| self.constant_int(item, what, span)).collect(),
            one => Ok(vec![self.constant_int(one, what, span)?]),
        }
    }

    /// A shape of these lengths; none for a single number.
    pub(super) fn shape_of(&self, lengths: &[i128], span: Span) -> Made<Option<Shape>> {
        if lengths.is_empty() {
            return Ok(None);
        }
        let sizes: Option<Vec<u64>> = lengths.iter().map(|n| u64::try_from(*n).ok()).collect();
        if let Some(shape) = sizes.as_deref().and_then(Shape::of) {
            return Ok(Some(shape));
        }
        let shown = lengths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let message = format!("there is no tile of the shape [{shown}]");
        let odd = lengths.iter().find_map(|n| u64::try_from(*n).ok().filter(|n| !n.is_power_of_two()));
        let hint = match odd.and_then(|n| Some((n, n.checked_next_power_of_two()?))) {
            Some((n, next)) => format!("lengths are powers of two: take {next} for {n}, and mask off what is too much"),
            None => "lengths are powers of two, at most 8 of them and 1048576 elements in all".to_owned(),
        };
        self.fail(Code::KernelShape, span, message, &hint)
    }

    pub(super) fn dtype_of(&self, value: &Value, span: Span) -> Made<Dtype> {
        match value {
            Value::Dtype(ty) => Ok(*ty),
            other => self.fail(
                Code::KernelArgument,
                span,
                format!("a type is needed here, not {}", other.kind()),
                "types are `tl.float32`, `tl.int32` and so on",
            ),
        }
    }

    /// A name of a shape for messages.
    pub(super) fn shown(shape: Option<Shape>) -> String {
        shape.map_or("a single number".into(), |shape| format!("[{}]", super::value::lengths(shape)))
    }

    pub(super) fn scalar_shown(scalar: Scalar) -> &'static str {
        scalar_name(scalar)
    }
}

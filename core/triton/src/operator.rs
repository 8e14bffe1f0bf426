//! Operators: on constants as Python has them, on numbers and tiles of the device by Triton's rules, on pointers.

use super::body::{Body, Made};
use super::pointer::Pointer;
use super::promote::{self, Operand};
use super::value::{Tensor, Value};
use crate::python::ast::{BinaryOp, BooleanOp, CompareOp, UnaryOp};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::{Attr, Op, Scalar, Shape, Type, ValueId};

/// What an operator is on `int1`, an integer of one bit: sums and differences wrap around, as in Triton.
fn of_one_bit(op: BinaryOp) -> Option<Op> {
    match op {
        BinaryOp::And | BinaryOp::Mul => Some(Op::And),
        BinaryOp::Or => Some(Op::Or),
        BinaryOp::Xor | BinaryOp::Add | BinaryOp::Sub => Some(Op::Xor),
        BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::Pow => None,
        BinaryOp::MatMul | BinaryOp::Shl | BinaryOp::Shr => None,
    }
}

impl Body<'_, '_> {
    /// How an operand takes part in finding the common type.
    fn operand(&self, value: &Value, span: Span) -> Made<Operand> {
        let python = |scalar| Ok(Operand { scalar, python: true });
        match value {
            Value::Bool(_) => python(Scalar::Bool),
            Value::Int(n) => match promote::of_int(*n) {
                Some(scalar) => python(scalar),
                None => self.fail(
                    Code::KernelType,
                    span,
                    format!("{n} fits no integer of the device"),
                    "integers of kernels have up to 64 bits; a float holds larger numbers, `1e30`",
                ),
            },
            Value::Float(x) => python(promote::of_float(*x)),
            Value::Tensor(t) => Ok(Operand { scalar: t.element(), python: false }),
            other => {
                self.fail(Code::KernelType, span, format!("{} cannot be computed with", other.kind()), other.hint())
            }
        }
    }

    /// Two operands in one type and one shape.
    pub(super) fn meet(&mut self, a: &Value, b: &Value, divides: bool, span: Span) -> Made<(Tensor, Tensor)> {
        let (left, right) = (self.operand(a, span)?, self.operand(b, span)?);
        let scalar = match promote::meet(left, right, divides) {
            Ok(scalar) => scalar,
            Err(why) => return self.fail(Code::KernelType, span, why, "convert one of them with `.to(..)`"),
        };
        for (value, operand) in [(a, left), (b, right)] {
            if let Value::Int(n) = value
                && operand.python
                && !scalar.is_float()
                && !fits(*n, scalar)
            {
                let message = format!("{n} does not fit `{}`, the other operand's type", Self::scalar_shown(scalar));
                return self.fail(Code::KernelType, span, message, "convert the other operand to a wider type");
            }
        }
        let (a, b) = (self.tensor_as(a, scalar, span)?, self.tensor_as(b, scalar, span)?);
        self.broadcast_together(a, b, span)
    }

    pub(super) fn broadcast_together(&mut self, a: Tensor, b: Tensor, span: Span) -> Made<(Tensor, Tensor)> {
        let shape = self.common_shape(a.shape(), b.shape(), span)?;
        Ok((self.broadcast_tensor(a, shape), self.broadcast_tensor(b, shape)))
    }

    /// The shape that two shapes are repeated to.
    pub(super) fn common_shape(&self, a: Option<Shape>, b: Option<Shape>, span: Span) -> Made<Option<Shape>> {
        let (Some(left), Some(right)) = (a, b) else { return Ok(a.or(b)) };
        let rank = left.rank().max(right.rank());
        let padded = |shape: Shape| {
            let mut lengths = vec![1; rank - shape.rank()];
            lengths.extend(shape.lengths());
            lengths
        };
        let mut lengths = vec![];
        for (i, (l, r)) in padded(left).into_iter().zip(padded(right)).enumerate() {
            if l != r && l != 1 && r != 1 {
                let message = format!(
                    "shapes {} and {} do not fit together: in dimension {i} one has {l} elements, the other {r}",
                    Self::shown(a),
                    Self::shown(b)
                );
                return self.fail(
                    Code::KernelShape,
                    span,
                    message,
                    "only dimensions of length 1 are repeated; add one with `[:, None]`",
                );
            }
            lengths.push(i128::from(l.max(r)));
        }
        self.shape_of(&lengths, span)
    }

    /// Repeats a tensor to a shape that it fits.
    pub(super) fn broadcast_tensor(&mut self, tensor: Tensor, shape: Option<Shape>) -> Tensor {
        let Some(shape) = shape else { return tensor };
        let ty = Type::tile(shape, tensor.element());
        let Some(own) = tensor.shape() else { return Tensor { value: self.splat(tensor.value, Some(shape)), ty } };
        if own == shape {
            return tensor;
        }
        let mut padded = vec![1; shape.rank() - own.rank().min(shape.rank())];
        padded.extend(own.lengths());
        let mut value = tensor.value;
        if let Some(padded) = Shape::of(&padded).filter(|padded| *padded != own) {
            value = self.b.op(Op::TileReshape, Type::tile(padded, tensor.element()), &[value]);
            if padded == shape {
                return Tensor { value, ty };
            }
        }
        Tensor { value: self.b.op(Op::TileBroadcast, ty, &[value]), ty }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: &Value, b: &Value, span: Span) -> Made<Value> {
        if let Some(result) = self.constant_binary(op, a, b, span)? {
            return Ok(result);
        }
        if op == BinaryOp::Add {
            for (of, by) in [(a, b), (b, a)] {
                if let (Value::Tuple(_), Some(table)) = (of, self.table(of, span)?) {
                    return self.pointer_add(table, by, false, span);
                }
            }
        }
        if let (Value::Pointer(pointer), BinaryOp::Add | BinaryOp::Sub) = (a, op) {
            return self.pointer_add(*pointer, b, op == BinaryOp::Sub, span);
        }
        if let (Value::Pointer(pointer), BinaryOp::Add) = (b, op) {
            return self.pointer_add(*pointer, a, false, span);
        }
        self.tensor_binary(op, a, b, span).map(Value::Tensor)
    }

    fn tensor_binary(&mut self, op: BinaryOp, a: &Value, b: &Value, span: Span) -> Made<Tensor> {
        let divides = matches!(op, BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod);
        if matches!(op, BinaryOp::Pow | BinaryOp::MatMul) {
            let hint = if op == BinaryOp::Pow { "use `libdevice.pow`, or multiply" } else { "use `tl.dot`" };
            return self.fail(Code::KernelSyntax, span, format!("tensors have no operator `{}`", op.text()), hint);
        }
        let (mut a, mut b) = self.meet(a, b, divides, span)?;
        let scalar = a.element();
        let float = scalar.is_float();
        if op == BinaryOp::Div && !float {
            (a, b) = (self.cast(a, Scalar::F32), self.cast(b, Scalar::F32));
        } else if let (Scalar::Bool, Some(of_bits)) = (scalar, of_one_bit(op)) {
            return Ok(self.op(of_bits, a.ty, &[a.value, b.value]));
        } else if scalar == Scalar::Bool {
            (a, b) = (self.cast(a, Scalar::I32), self.cast(b, Scalar::I32));
        } else {
            (a, b) = (self.computable(a), self.computable(b));
        }
        let ty = a.ty;
        let integers_only = matches!(
            op,
            BinaryOp::FloorDiv | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr
        );
        if integers_only && float {
            let message = format!("`{}` is for integers, not for `{}`", op.text(), Self::scalar_shown(scalar));
            return self.fail(
                Code::KernelType,
                span,
                message,
                if op == BinaryOp::FloorDiv { "use `tl.floor(a / b)`" } else { "" },
            );
        }
        let made = match op {
            BinaryOp::Add => Op::Add,
            BinaryOp::Sub => Op::Sub,
            BinaryOp::Mul => Op::Mul,
            // Triton's own quotient of `fp32` is not rounded correctly, and much faster.
            BinaryOp::Div if a.element() == Scalar::F32 => Op::DivApprox,
            BinaryOp::Div | BinaryOp::FloorDiv => Op::Div,
            BinaryOp::Mod if float => return Ok(self.float_remainder(a, b)),
            BinaryOp::Mod => Op::Rem,
            BinaryOp::And => Op::And,
            BinaryOp::Or => Op::Or,
            BinaryOp::Xor => Op::Xor,
            BinaryOp::Shl => Op::Shl,
            BinaryOp::Shr => Op::Shr,
            BinaryOp::Pow | BinaryOp::MatMul => Op::Mul,
        };
        if made == Op::DivApprox {
            // It keeps its bound where a card does: a number divided by 0 or by an infinity is not left open.
            let id = self.b.op_with(made, Some(ty), &[a.value, b.value], &[Attr::Total]);
            return Ok(Tensor { value: self.b.function.insts[id].results[0], ty });
        }
        Ok(self.op(made, ty, &[a.value, b.value]))
    }

    /// a - trunc(a / b) * b, for quotients that the type holds: what is left has the sign of a, and is nearer to zero than b.
    pub(super) fn float_remainder(&mut self, a: Tensor, b: Tensor) -> Tensor {
        let quotient = self.op(Op::Div, a.ty, &[a.value, b.value]);
        let whole = self.op(Op::Trunc, a.ty, &[quotient.value]);
        let negative = self.op(Op::Neg, a.ty, &[whole.value]);
        let rest = self.op(Op::Fma, a.ty, &[negative.value, b.value, a.value]);
        // The quotient may have been rounded up to a whole number: 1 / 0.1 is 10, and what is left is just below 0.
        let [size, most] = [a, b].map(|x| self.op(Op::Abs, a.ty, &[x.value]));
        let turned = self.op(Op::Neg, a.ty, &[most.value]);
        let zero = self.float(a.element(), 0.0);
        let zero = self.splat(zero, a.shape());
        let is_below = self.op(Op::Lt, a.ty, &[a.value, zero]);
        let step = self.pick(is_below, turned, most);
        let above = self.op(Op::Gt, a.ty, &[rest.value, zero]);
        let below = self.op(Op::Lt, a.ty, &[rest.value, zero]);
        let is_beyond = self.pick(is_below, above, below);
        let back = self.op(Op::Add, a.ty, &[rest.value, step.value]);
        let rest = self.pick(is_beyond, back, rest);
        // Also where b is infinite.
        let is_less = self.op(Op::Lt, a.ty, &[size.value, most.value]);
        self.pick(is_less, a, rest)
    }

    /// A pointer moved by elements.
    pub(super) fn pointer_add(&mut self, pointer: Pointer, by: &Value, back: bool, span: Span) -> Made<Value> {
        if let Value::Pointer(_) = by {
            return self.fail(
                Code::KernelPointer,
                span,
                "two pointers are neither added nor subtracted",
                "add an integer to a pointer",
            );
        }
        let mut offset = self.tensor(by, span)?;
        if offset.element().is_float() {
            let message = format!("a pointer moves by integers, not by {}", by.kind());
            return self.fail(Code::KernelType, span, message, "");
        }
        if offset.element().bits() < 32 {
            offset = self.cast(offset, Scalar::I32);
        }
        if back || pointer.index.is_some() || !matches!(offset.element(), Scalar::I32 | Scalar::I64) {
            offset = self.cast(offset, Scalar::I64);
        }
        if back {
            offset = self.op(Op::Neg, offset.ty, &[offset.value]);
        }
        let shape = self.common_shape(pointer.shape, offset.shape(), span)?;
        let offset = self.broadcast_tensor(offset, shape);
        let index = match pointer.index {
            None => offset,
            Some(index) => {
                let index = Tensor { value: index, ty: self.b.ty(index) };
                let index = self.cast(index, Scalar::I64);
                let index = self.broadcast_tensor(index, shape);
                self.op(Op::Add, offset.ty, &[index.value, offset.value])
            }
        };
        let mut moved = Pointer { index: Some(index.value), shape, ..pointer };
        if let Some(which) = pointer.which.filter(|_| self.chosen_by_element(&pointer)) {
            let which = Tensor { value: which, ty: self.b.ty(which) };
            moved.which = Some(self.broadcast_tensor(which, shape).value);
        }
        Ok(Value::Pointer(moved))
    }

    /// The index of a pointer as `i64`, in its shape.
    pub(super) fn wide_index(&mut self, pointer: &Pointer) -> ValueId {
        match pointer.index {
            Some(index) => {
                let index = Tensor { value: index, ty: self.b.ty(index) };
                self.cast(index, Scalar::I64).value
            }
            None => {
                let zero = self.int(Scalar::I64, 0);
                self.splat(zero, pointer.shape)
            }
        }
    }

    pub(super) fn compare(&mut self, op: CompareOp, a: &Value, b: &Value, span: Span) -> Made<Value> {
        if matches!(op, CompareOp::Is | CompareOp::IsNot) {
            let same = match (a, b) {
                (Value::None, Value::None) => true,
                (Value::None, _) | (_, Value::None) => false,
                (a, b) => a.equals(b).unwrap_or(false),
            };
            return Ok(Value::Bool(same == (op == CompareOp::Is)));
        }
        if matches!(op, CompareOp::In | CompareOp::NotIn) {
            let found = self.contains(b, a, span)?;
            return Ok(Value::Bool(found == (op == CompareOp::In)));
        }
        if a.is_constant() && b.is_constant() {
            return self.constant_compare(op, a, b, span);
        }
        if matches!(a, Value::None) || matches!(b, Value::None) {
            return Ok(Value::Bool(op == CompareOp::Ne));
        }
        let (a, b) = self.meet(a, b, false, span)?;
        let (a, b) = (self.computable(a), self.computable(b));
        let (a, b) = if a.element() == Scalar::Bool && !matches!(op, CompareOp::Eq | CompareOp::Ne) {
            (self.cast(a, Scalar::I32), self.cast(b, Scalar::I32))
        } else {
            (a, b)
        };
        let made = match op {
            CompareOp::Eq => Op::Eq,
            CompareOp::Ne => Op::Ne,
            CompareOp::Lt => Op::Lt,
            CompareOp::Le => Op::Le,
            CompareOp::Gt => Op::Gt,
            CompareOp::Ge | CompareOp::Is | CompareOp::IsNot | CompareOp::In | CompareOp::NotIn => Op::Ge,
        };
        Ok(Value::Tensor(self.op(made, a.ty, &[a.value, b.value])))
    }

    fn contains(&mut self, whole: &Value, part: &Value, span: Span) -> Made<bool> {
        match (whole, part) {
            (Value::Class(class), part) => {
                let members = class.enumerated().unwrap_or_default();
                Ok(members.iter().any(|item| item.equals(part) == Some(true)))
            }
            (Value::Tuple(items) | Value::Named(_, items), part) => {
                Ok(items.iter().any(|item| item.equals(part) == Some(true)))
            }
            (Value::Dict(items), part) => Ok(items.iter().any(|(key, _)| key.equals(part) == Some(true))),
            (Value::Str(text), Value::Str(part)) => Ok(text.contains(&**part)),
            // No variable is set there.
            (Value::Library(path), _) if path == "os.environ" => Ok(false),
            (other, _) => {
                self.fail(Code::KernelType, span, format!("nothing is looked for in {}", other.kind()), other.hint())
            }
        }
    }

    fn constant_compare(&mut self, op: CompareOp, a: &Value, b: &Value, span: Span) -> Made<Value> {
        if let CompareOp::Eq | CompareOp::Ne = op {
            return Ok(Value::Bool(a.equals(b).unwrap_or(false) == (op == CompareOp::Eq)));
        }
        let ordering = match (a, b) {
            (Value::Tuple(x), Value::Tuple(y)) => Some(crate::python_builtins::tuple_order(self, x, y, span)?),
            (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
            (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
            (a, b) => match (float_of(a), float_of(b)) {
                (Some(a), Some(b)) => a.partial_cmp(&b),
                (_, _) => {
                    let message = format!("{} and {} have no order", a.kind(), b.kind());
                    return self.fail(Code::KernelType, span, message, "");
                }
            },
        };
        let Some(ordering) = ordering else { return Ok(Value::Bool(false)) };
        Ok(Value::Bool(match op {
            CompareOp::Lt => ordering.is_lt(),
            CompareOp::Le => ordering.is_le(),
            CompareOp::Gt => ordering.is_gt(),
            _at_least => ordering.is_ge(),
        }))
    }

    pub(super) fn unary(&mut self, op: UnaryOp, a: &Value, span: Span) -> Made<Value> {
        match (op, a) {
            (UnaryOp::Not, a) if a.is_constant() => match a.truth() {
                Some(truth) => Ok(Value::Bool(!truth)),
                None => self.fail(Code::KernelType, span, format!("{} is neither true nor false", a.kind()), a.hint()),
            },
            (UnaryOp::Neg, Value::Int(n)) => Ok(Value::Int(n.wrapping_neg())),
            (UnaryOp::Neg, Value::Bool(b)) => Ok(Value::Int(-i128::from(*b))),
            (UnaryOp::Neg, Value::Float(x)) => Ok(Value::Float(-x)),
            (UnaryOp::Plus, Value::Int(_) | Value::Float(_) | Value::Tensor(_)) => Ok(a.clone()),
            (UnaryOp::Invert, Value::Int(n)) => Ok(Value::Int(!n)),
            (UnaryOp::Not, a) => {
                let tensor = self.tensor(a, span)?;
                let truth = self.cast(tensor, Scalar::Bool);
                Ok(Value::Tensor(self.op(Op::Not, truth.ty, &[truth.value])))
            }
            (UnaryOp::Neg, a) => {
                let t = self.tensor(a, span)?;
                let t = self.computable(t);
                let element = t.element();
                // 0 minus a number of one bit is that number.
                if element == Scalar::Bool {
                    return Ok(Value::Tensor(t));
                }
                if element.is_float() || element.is_signed() {
                    return Ok(Value::Tensor(self.op(Op::Neg, t.ty, &[t.value])));
                }
                let zero = self.int(element, 0);
                let zero = self.splat(zero, t.shape());
                Ok(Value::Tensor(self.op(Op::Sub, t.ty, &[zero, t.value])))
            }
            (UnaryOp::Invert, a) => {
                let t = self.tensor(a, span)?;
                if t.element().is_float() {
                    return self.fail(
                        Code::KernelType,
                        span,
                        format!("`~` is for integers, not for {}", a.kind()),
                        a.hint(),
                    );
                }
                Ok(Value::Tensor(self.op(Op::Not, t.ty, &[t.value])))
            }
            (UnaryOp::Plus, a) => self.fail(Code::KernelType, span, format!("`+` is not for {}", a.kind()), a.hint()),
        }
    }

    /// `and` and `or` of values one of which is of the device.
    pub(super) fn logical(&mut self, op: BooleanOp, a: &Value, b: &Value, span: Span) -> Made<Value> {
        let (a, b) = (self.tensor(a, span)?, self.tensor(b, span)?);
        let (a, b) = (self.cast(a, Scalar::Bool), self.cast(b, Scalar::Bool));
        let (a, b) = self.broadcast_together(a, b, span)?;
        let made = if op == BooleanOp::And { Op::And } else { Op::Or };
        Ok(Value::Tensor(self.op(made, a.ty, &[a.value, b.value])))
    }

    /// What Python computes; nothing if an operand is of the device.
    fn constant_binary(&mut self, op: BinaryOp, a: &Value, b: &Value, span: Span) -> Made<Option<Value>> {
        if let (Some(x), Some(y), BinaryOp::Add) = (a.elements(), b.elements(), op) {
            return Ok(Some(Value::Tuple(x.iter().chain(y).cloned().collect())));
        }
        if let (Value::Dict(x), Value::Dict(y), BinaryOp::Or) = (a, b, op) {
            return Ok(Some(crate::python_builtins::united(x, y)));
        }
        if let (Value::Tuple(x), Value::Int(n), BinaryOp::Mul) = (a, b, op) {
            let times = usize::try_from(*n).unwrap_or(0).min(1 << 16);
            return Ok(Some(Value::Tuple(std::iter::repeat_n(x, times).flatten().cloned().collect())));
        }
        if let (Value::Str(text), BinaryOp::Mod) = (a, op) {
            let values = b.elements().map_or_else(|| vec![b.clone()], <[Value]>::to_vec);
            return match crate::python_format::percent(text, &values) {
                Ok(text) => Ok(Some(Value::text(&text))),
                Err(why) => self.fail(Code::KernelArgument, span, why, ""),
            };
        }
        if let (Value::Str(x), Value::Int(n), BinaryOp::Mul) = (a, b, op) {
            return Ok(Some(Value::text(&x.repeat(usize::try_from(*n).unwrap_or(0).min(1 << 10)))));
        }
        if let (Value::Str(x), Value::Str(y), BinaryOp::Add) = (a, b, op) {
            return Ok(Some(Value::text(&format!("{x}{y}"))));
        }
        let integer = |v: &Value| match v {
            Value::Int(n) => Some(*n),
            Value::Bool(b) => Some(i128::from(*b)),
            _no_integer => None,
        };
        if let (Some(x), Some(y)) = (integer(a), integer(b)) {
            if let (Value::Bool(x), Value::Bool(y)) = (a, b) {
                match op {
                    BinaryOp::And => return Ok(Some(Value::Bool(x & y))),
                    BinaryOp::Or => return Ok(Some(Value::Bool(x | y))),
                    BinaryOp::Xor => return Ok(Some(Value::Bool(x ^ y))),
                    _arithmetic => {}
                }
            }
            return match integer_binary(op, x, y) {
                Ok(value) => Ok(Some(value)),
                Err(why) => self.fail(Code::KernelConstant, span, format!("`{x} {} {y}` {why}", op.text()), ""),
            };
        }
        let (Some(x), Some(y)) = (float_of(a), float_of(b)) else { return Ok(None) };
        let value = match op {
            BinaryOp::Add => x + y,
            BinaryOp::Sub => x - y,
            BinaryOp::Mul => x * y,
            BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod if y == 0.0 => {
                return self.fail(Code::KernelConstant, span, format!("`{x} {} {y}` divides by zero", op.text()), "");
            }
            BinaryOp::Div => x / y,
            BinaryOp::FloorDiv => (x / y).floor(),
            BinaryOp::Mod => x - y * (x / y).floor(),
            BinaryOp::Pow => x.powf(y),
            BinaryOp::MatMul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => {
                return self.fail(Code::KernelType, span, format!("`{}` is not for floats", op.text()), "");
            }
        };
        Ok(Some(Value::Float(value)))
    }
}

/// A constant number as a float.
pub(super) fn float_of(value: &Value) -> Option<f64> {
    match value {
        Value::Int(n) => Some(*n as f64),
        Value::Bool(b) => Some(f64::from(u8::from(*b))),
        Value::Float(x) => Some(*x),
        _no_number => None,
    }
}

/// Whether an integer is one of a type.
fn fits(n: i128, scalar: Scalar) -> bool {
    let bits = scalar.bits();
    if scalar.is_signed() { n >= -(1 << (bits - 1)) && n < 1 << (bits - 1) } else { n >= 0 && n < 1 << bits }
}

fn integer_binary(op: BinaryOp, x: i128, y: i128) -> Result<Value, &'static str> {
    const LARGE: &str = "is larger than 128 bits";
    if matches!(op, BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod) && y == 0 {
        return Err("divides by zero");
    }
    let shift = || u32::try_from(y).ok().filter(|n| *n < 127).ok_or("shifts too far");
    let integer = match op {
        BinaryOp::Add => x.checked_add(y),
        BinaryOp::Sub => x.checked_sub(y),
        BinaryOp::Mul => x.checked_mul(y),
        BinaryOp::Div => return Ok(Value::Float(x as f64 / y as f64)),
        BinaryOp::FloorDiv => x.checked_div(y).map(|q| if x % y != 0 && (x < 0) != (y < 0) { q - 1 } else { q }),
        BinaryOp::Mod => x.checked_rem(y).map(|r| if r != 0 && (r < 0) != (y < 0) { r + y } else { r }),
        BinaryOp::Pow if y < 0 => return Ok(Value::Float((x as f64).powf(y as f64))),
        BinaryOp::Pow => u32::try_from(y).ok().and_then(|y| x.checked_pow(y)),
        BinaryOp::And => Some(x & y),
        BinaryOp::Or => Some(x | y),
        BinaryOp::Xor => Some(x ^ y),
        BinaryOp::Shl => {
            let by = shift()?;
            x.checked_mul(1 << by)
        }
        BinaryOp::Shr => Some(x >> shift()?),
        BinaryOp::MatMul => return Err("is for matrices"),
    };
    integer.map(Value::Int).ok_or(LARGE)
}

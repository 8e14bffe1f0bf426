//! Reductions, scans, matrix products.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::value::{Tensor, Value};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::attrs::Precision;
use girih_ir::{Attr, Inst, Op, Scalar, Shape, Type};

/// How two elements become one.
enum Combine<'v> {
    /// By an operation.
    Op(Op),
    /// The first is kept if this comparison of values holds, or if they are equal and its index is lower.
    Best(Op, bool),
    /// By a function of the kernel's file.
    Function(&'v Value),
}

impl Body<'_, '_> {
    /// Writes a reduction or a scan of several tensors of one shape.
    fn combined(
        &mut self,
        op: Op,
        attrs: &[Attr],
        operands: &[Tensor],
        shape: Option<Shape>,
        combine: &Combine<'_>,
        span: Span,
    ) -> Made<Vec<Tensor>> {
        let elements: Vec<Scalar> = operands.iter().map(|t| t.element()).collect();
        let params: Vec<Type> = elements.iter().cycle().take(2 * elements.len()).map(|s| Type::Scalar(*s)).collect();
        let region = self.b.new_region(&params);
        let outer = std::mem::replace(&mut self.b.region, region);
        let params: Vec<Tensor> = self.b.function.regions[region]
            .params
            .clone()
            .into_iter()
            .map(|value| Tensor { value, ty: self.b.ty(value) })
            .collect();
        let given = self.combine_elements(combine, &params, &elements, span);
        let given = match given {
            Ok(given) => given,
            Err(error) => {
                self.b.region = outer;
                return Err(error);
            }
        };
        let values: Vec<_> = given.iter().map(|t| t.value).collect();
        self.b.end(Op::Yield, &values);
        self.b.region = outer;
        let mut inst = Inst::new(op, None, &operands.iter().map(|t| t.value).collect::<Vec<_>>(), span);
        attrs.iter().for_each(|attr| inst.set(attr.clone()));
        inst.regions = [region].into_iter().collect();
        let results: Vec<Type> = elements.iter().map(|s| Type::block(shape, *s)).collect();
        let id = self.b.push(inst, &results);
        let values = self.b.function.insts[id].results.clone();
        Ok(values.into_iter().zip(results).map(|(value, ty)| Tensor { value, ty }).collect())
    }

    fn combine_elements(
        &mut self,
        combine: &Combine<'_>,
        params: &[Tensor],
        elements: &[Scalar],
        span: Span,
    ) -> Made<Vec<Tensor>> {
        match combine {
            Combine::Op(op) => Ok(vec![self.op(*op, params[0].ty, &[params[0].value, params[1].value])]),
            Combine::Best(compare, left) => {
                let [a, i, b, j] = params[..] else { return Ok(vec![]) };
                let (better, equal) = self.compared_elements(*compare, a, b);
                let earlier = self.op(Op::Lt, i.ty, &[i.value, j.value]);
                let tied = if *left { self.op(Op::And, Type::BOOL, &[equal.value, earlier.value]) } else { equal };
                let first = self.op(Op::Or, Type::BOOL, &[better.value, tied.value]);
                let value = self.op(Op::Select, a.ty, &[first.value, a.value, b.value]);
                let index = self.op(Op::Select, i.ty, &[first.value, i.value, j.value]);
                Ok(vec![value, index])
            }
            Combine::Function(function) => {
                let given: Vec<Value> = params.iter().map(|t| Value::Tensor(*t)).collect();
                let value = self.call_value(function, given, span)?;
                let items = match value {
                    Value::Tuple(items) => items,
                    one => vec![one],
                };
                if items.len() != elements.len() {
                    let message = format!("the function gives {} values instead of {}", items.len(), elements.len());
                    return self.fail(Code::KernelArgument, span, message, "it gives as many values as it combines");
                }
                items.iter().zip(elements).map(|(item, element)| self.tensor_as(item, *element, span)).collect()
            }
        }
    }

    /// Whether the first element is better, and whether both are equally good. NaN is worse than every number, so that the result does not depend
    /// on the order in which elements meet.
    fn compared_elements(&mut self, compare: Op, a: Tensor, b: Tensor) -> (Tensor, Tensor) {
        let better = self.op(compare, a.ty, &[a.value, b.value]);
        let equal = self.op(Op::Eq, a.ty, &[a.value, b.value]);
        if !a.element().is_float() {
            return (better, equal);
        }
        let is_number = self.op(Op::Eq, a.ty, &[a.value, a.value]);
        let is_nan = self.op(Op::Ne, b.ty, &[b.value, b.value]);
        let by_kind = self.op(Op::And, Type::BOOL, &[is_number.value, is_nan.value]);
        let better = self.op(Op::Or, Type::BOOL, &[better.value, by_kind.value]);
        let no_number = self.op(Op::Not, Type::BOOL, &[is_number.value]);
        let both = self.op(Op::And, Type::BOOL, &[no_number.value, is_nan.value]);
        (better, self.op(Op::Or, Type::BOOL, &[equal.value, both.value]))
    }

    /// The number that a tile of one element holds.
    pub(super) fn only_element(&mut self, tile: Tensor, span: Span) -> Made<Tensor> {
        if tile.element().is_float() && tile.element().bits() == 8 {
            // Floats of 8 bits have no arithmetic.
            let bits = self.op(Op::Bitcast, Type::block(tile.shape(), Scalar::U8), &[tile.value]);
            let only = self.only_element(bits, span)?;
            return Ok(self.op(Op::Bitcast, Type::Scalar(tile.element()), &[only.value]));
        }
        let op = if tile.element() == Scalar::Bool { Op::Or } else { Op::Add };
        let results = self.combined(Op::TileReduce, &[Attr::Axis(0)], &[tile], None, &Combine::Op(op), span)?;
        Ok(results[0])
    }

    /// Reduces along an axis, or all of a tile.
    fn reduced(
        &mut self,
        operands: &[Tensor],
        axis: &Value,
        keep: bool,
        combine: &Combine<'_>,
        span: Span,
    ) -> Made<Vec<Tensor>> {
        let Some(shape) = operands[0].shape() else {
            return self.fail(Code::KernelShape, span, "a single number is not reduced", "reduce a tile");
        };
        let (mut operands, mut line, mut axis_number) = (operands.to_vec(), shape, 0);
        match axis {
            Value::None => {
                let flat = self.shape_of(&[i128::from(shape.elements())], span)?;
                for operand in &mut operands {
                    *operand = self.reshape_tensor(*operand, flat, span)?;
                }
                line = flat.unwrap_or(shape);
            }
            axis => {
                let n = self.constant_int(axis, "the axis", span)?;
                axis_number = self.axis(n, shape.rank(), span)?;
            }
        }
        let left = line.without(axis_number);
        let attrs = [Attr::Axis(axis_number as u32)];
        let results = self.combined(Op::TileReduce, &attrs, &operands, left, combine, span)?;
        if !keep {
            return Ok(results);
        }
        let mut lengths: Vec<i128> = shape.lengths().map(i128::from).collect();
        match axis {
            Value::None => lengths.fill(1),
            _one => lengths[axis_number] = 1,
        }
        let kept = self.shape_of(&lengths, span)?;
        results
            .into_iter()
            .map(|t| {
                if t.shape().is_none() {
                    Ok(self.broadcast_tensor(t, kept))
                } else {
                    self.reshape_tensor(t, kept, span)
                }
            })
            .collect()
    }

    fn scanned(
        &mut self,
        operands: &[Tensor],
        a: &Arguments,
        reverse: usize,
        combine: &Combine<'_>,
    ) -> Made<Vec<Tensor>> {
        let Some(shape) = operands[0].shape() else {
            return self.fail(Code::KernelShape, a.call, "a single number is not scanned", "scan a tile");
        };
        let axis = self.constant_int(a.value(1), "the axis", a.span(1))?;
        let axis = self.axis(axis, shape.rank(), a.span(1))?;
        let mut attrs = vec![Attr::Axis(axis as u32)];
        if a.flag(self, reverse, "`reverse`")? {
            attrs.push(Attr::Reverse);
        }
        self.combined(Op::TileScan, &attrs, operands, Some(shape), combine, a.call)
    }

    /// The type in which elements are summed: integers in 32 bits at least.
    fn sum_operand(&mut self, a: &Arguments, dtype: usize) -> Made<Tensor> {
        let x = a.tensor(self, 0)?;
        if !matches!(a.value(dtype), Value::None) {
            let to = self.dtype_of(a.value(dtype), a.span(dtype))?;
            return Ok(self.cast(x, to.scalar));
        }
        let element = x.element();
        let to = match element {
            s if s.is_float() && s.bits() > 8 => s,
            s if s.is_float() => Scalar::F32,
            Scalar::Bool => Scalar::U32,
            s if s.bits() < 32 && s.is_signed() => Scalar::I32,
            s if s.bits() < 32 => Scalar::U32,
            wide => wide,
        };
        Ok(self.cast(x, to))
    }

    /// Short numbers are compared in 32 bits.
    fn wide_operand(&mut self, a: &Arguments) -> Made<Tensor> {
        let x = a.tensor(self, 0)?;
        Ok(match x.element() {
            s if s.bits() >= 32 => x,
            s if s.is_float() => self.cast(x, Scalar::F32),
            _short => self.cast(x, Scalar::I32),
        })
    }

    /// Beside their positions, numbers keep their type, but for `bf16` and for what is not compared.
    fn kept_operand(&mut self, a: &Arguments) -> Made<Tensor> {
        let x = a.tensor(self, 0)?;
        Ok(match x.element() {
            Scalar::Bf16 => self.cast(x, Scalar::F32),
            Scalar::Bool => self.cast(x, Scalar::I32),
            _number => self.computable(x),
        })
    }

    /// The position of each element along an axis; of all elements, without one.
    fn positions(&mut self, x: Tensor, axis: &Value, span: Span) -> Made<Tensor> {
        let Some(shape) = x.shape() else {
            return self.fail(Code::KernelShape, span, "a single number is not reduced", "reduce a tile");
        };
        let (length, along) = match axis {
            Value::None => (shape.elements(), shape.to_vec()),
            axis => {
                let n = self.constant_int(axis, "the axis", span)?;
                let axis = self.axis(n, shape.rank(), span)?;
                let mut along = vec![1; shape.rank()];
                along[axis] = shape.length(axis);
                (shape.length(axis), along)
            }
        };
        let line = self.shape_of(&[i128::from(length)], span)?;
        let numbers = self.op(Op::TileIota, Type::block(line, Scalar::I32), &[]);
        let numbers = self.reshape_tensor(numbers, Shape::of(&along), span)?;
        Ok(self.broadcast_tensor(numbers, Some(shape)))
    }
}

fn one(mut tensors: Vec<Tensor>) -> Value {
    tensors.pop().map_or(Value::None, Value::Tensor)
}

/// `tl.sum`.
pub(super) fn sum(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = body.sum_operand(a, 3)?;
    let x = body.computable(x);
    let keep = a.flag(body, 2, "`keep_dims`")?;
    // A sum of one bit wraps around.
    let add = if x.element() == Scalar::Bool { Op::Xor } else { Op::Add };
    body.reduced(&[x], a.value(1), keep, &Combine::Op(add), a.call).map(one)
}

fn extreme(body: &mut Body<'_, '_>, a: &Arguments, op: Op, better: Op) -> Made<Value> {
    let (indices, left) = (a.flag(body, 2, "`return_indices`")?, a.flag(body, 3, "the rule for ties")?);
    let keep = a.flag(body, 4, "`keep_dims`")?;
    if !indices {
        let x = body.wide_operand(a)?;
        return body.reduced(&[x], a.value(1), keep, &Combine::Op(op), a.call).map(one);
    }
    let x = body.kept_operand(a)?;
    let positions = body.positions(x, a.value(1), a.call)?;
    let mut found = body.reduced(&[x, positions], a.value(1), keep, &Combine::Best(better, left), a.call)?;
    if a.tensor(body, 0)?.element() == Scalar::Bool {
        found[0] = body.cast(found[0], Scalar::Bool);
    }
    Ok(Value::Tuple(found.into_iter().map(Value::Tensor).collect()))
}

/// `tl.max`.
pub(super) fn max(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    extreme(body, a, Op::Max, Op::Gt)
}
/// `tl.min`.
pub(super) fn min(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    extreme(body, a, Op::Min, Op::Lt)
}

fn position_of(body: &mut Body<'_, '_>, a: &Arguments, better: Op) -> Made<Value> {
    let x = body.kept_operand(a)?;
    let (left, keep) = (a.flag(body, 2, "the rule for ties")?, a.flag(body, 3, "`keep_dims`")?);
    let positions = body.positions(x, a.value(1), a.call)?;
    body.reduced(&[x, positions], a.value(1), keep, &Combine::Best(better, left), a.call).map(one)
}

/// `tl.argmax`.
pub(super) fn argmax(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    position_of(body, a, Op::Gt)
}
/// `tl.argmin`.
pub(super) fn argmin(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    position_of(body, a, Op::Lt)
}

fn bitwise(body: &mut Body<'_, '_>, a: &Arguments, op: Op) -> Made<Value> {
    let x = a.tensor(body, 0)?;
    if x.element().is_float() {
        return body.fail(Code::KernelType, a.call, "floats have no bitwise operations", "");
    }
    let keep = a.flag(body, 2, "`keep_dims`")?;
    body.reduced(&[x], a.value(1), keep, &Combine::Op(op), a.call).map(one)
}

/// `tl.xor_sum`.
pub(super) fn xor_sum(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    bitwise(body, a, Op::Xor)
}
/// `tl.reduce_or`.
pub(super) fn reduce_or(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    bitwise(body, a, Op::Or)
}

/// Tensors of one shape: what a function combines.
fn operands(body: &mut Body<'_, '_>, a: &Arguments) -> Made<(Vec<Tensor>, bool)> {
    let (items, several) = match a.value(0) {
        Value::Tuple(items) => (items.clone(), true),
        one => (vec![one.clone()], false),
    };
    let mut tensors: Vec<Tensor> = vec![];
    for item in &items {
        tensors.push(body.tensor(item, a.span(0))?);
    }
    if tensors.is_empty() || tensors.iter().any(|t| t.shape() != tensors[0].shape()) {
        return body.fail(Code::KernelShape, a.span(0), "the combined tiles must have one shape", "");
    }
    Ok((tensors, several))
}

fn several(tensors: Vec<Tensor>, several: bool) -> Value {
    if several { Value::Tuple(tensors.into_iter().map(Value::Tensor).collect()) } else { one(tensors) }
}

/// `tl.reduce`.
pub(super) fn reduce(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (tensors, many) = operands(body, a)?;
    let keep = a.flag(body, 3, "`keep_dims`")?;
    let found = body.reduced(&tensors, a.value(1), keep, &Combine::Function(a.value(2)), a.call)?;
    Ok(several(found, many))
}

/// `tl.associative_scan`.
pub(super) fn associative_scan(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (tensors, many) = operands(body, a)?;
    let found = body.scanned(&tensors, a, 3, &Combine::Function(a.value(2)))?;
    Ok(several(found, many))
}

/// `tl.cumsum`.
pub(super) fn cumsum(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let mut x = body.sum_operand(a, 3)?;
    if x.element() == Scalar::Bf16 {
        x = body.cast(x, Scalar::F32);
    }
    // A sum of one bit wraps around.
    let add = if x.element() == Scalar::Bool { Op::Xor } else { Op::Add };
    x = body.computable(x);
    body.scanned(&[x], a, 2, &Combine::Op(add)).map(one)
}

/// `tl.cumprod`.
pub(super) fn cumprod(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let mut x = a.tensor(body, 0)?;
    if x.element() == Scalar::Bf16 {
        x = body.cast(x, Scalar::F32);
    }
    // A product of one bit is 1 if both are.
    let multiply = if x.element() == Scalar::Bool { Op::And } else { Op::Mul };
    x = body.computable(x);
    body.scanned(&[x], a, 2, &Combine::Op(multiply)).map(one)
}

/// `tl.histogram`.
pub(super) fn histogram(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = a.tensor(body, 0)?;
    let bins = body.constant_int(a.value(1), "the number of bins", a.span(1))?;
    if !x.element().is_integer() || x.shape().is_none_or(|s| s.rank() != 1) {
        return body.fail(Code::KernelShape, a.span(0), "a histogram counts integers in a tile of one dimension", "");
    }
    let inside = match a.value(2) {
        Value::None => body.b.bool(true),
        mask => {
            let mask = body.tensor(mask, a.span(2))?;
            let mask = body.cast(mask, Scalar::Bool);
            body.broadcast_tensor(mask, x.shape()).value
        }
    };
    let shape = body.shape_of(&[bins], a.span(1))?;
    Ok(Value::Tensor(body.op(Op::TileHistogram, Type::block(shape, Scalar::I32), &[x.value, inside])))
}

/// `tl.dot`.
pub(super) fn dot(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (x, y) = (a.tensor(body, 0)?, a.tensor(body, 1)?);
    let (Some(left), Some(right)) = (x.shape(), y.shape()) else {
        return body.fail(Code::KernelShape, a.call, "`dot` multiplies tiles of two or three dimensions", "");
    };
    let shown = format!("{} times {}", Body::shown(Some(left)), Body::shown(Some(right)));
    let rank = left.rank();
    if rank != right.rank() || !(2..=3).contains(&rank) {
        return body.fail(
            Code::KernelShape,
            a.call,
            format!("{shown} is not a product of matrices"),
            "both must have two dimensions, or three",
        );
    }
    let (m, k, n) = (left.length(rank - 2), left.length(rank - 1), right.length(rank - 1));
    if right.length(rank - 2) != k || (rank == 3 && left.length(0) != right.length(0)) {
        let message = format!(
            "{shown} is not a product of matrices: the first has {k} columns, the second {} rows",
            right.length(rank - 2)
        );
        return body.fail(Code::KernelShape, a.call, message, "");
    }
    let short = |s: Scalar| s.is_float() && s.bits() == 8;
    if x.element() != y.element() && !(short(x.element()) && short(y.element())) {
        let message = format!("`dot` multiplies one type, not {} and {}", a.value(0).kind(), a.value(1).kind());
        return body.fail(Code::KernelType, a.call, message, "convert one of them with `.to(..)`");
    }
    let element = x.element();
    let precision = precision(body, a, element)?;
    let out = match (element, a.value(6)) {
        (Scalar::I8 | Scalar::U8, _) => Scalar::I32,
        (_, Value::None) if element == Scalar::F64 => Scalar::F64,
        (_, Value::None) => Scalar::F32,
        (_, dtype) => body.dtype_of(dtype, a.span(6))?.scalar,
    };
    if !element.is_float() && element.bits() != 8 {
        let message = format!("there are no matrix products of `{}`", Body::scalar_shown(element));
        return body.fail(Code::KernelType, a.call, message, "floats and integers of 8 bits are multiplied");
    }
    let mut lengths = vec![i128::from(m), i128::from(n)];
    if rank == 3 {
        lengths.insert(0, i128::from(left.length(0)));
    }
    let shape = body.shape_of(&lengths, a.call)?;
    let acc = match a.value(2) {
        Value::None => {
            let zero = body.number(out, 0.0);
            Tensor { value: body.splat(zero, shape), ty: Type::block(shape, out) }
        }
        given => {
            let acc = body.tensor(given, a.span(2))?;
            if acc.shape() != shape || acc.element() != out {
                let message = format!(
                    "the accumulator is {}, but the product is {}",
                    given.kind(),
                    Value::Tensor(Tensor { ty: Type::block(shape, out), ..acc }).kind()
                );
                return body.fail(
                    Code::KernelType,
                    a.span(2),
                    message,
                    "give an accumulator of the product's type, or `out_dtype`",
                );
            }
            acc
        }
    };
    let attrs = [Attr::Precision(precision)];
    let id = body.b.op_with(Op::TileDot, Some(acc.ty), &[x.value, y.value, acc.value], &attrs);
    Ok(Value::Tensor(Tensor { value: body.b.function.insts[id].results[0], ty: acc.ty }))
}

fn precision(body: &mut Body<'_, '_>, a: &Arguments, element: Scalar) -> Made<Precision> {
    if element != Scalar::F32 {
        return Ok(Precision::Ieee);
    }
    if !matches!(a.value(4), Value::None) {
        return Ok(if a.flag(body, 4, "`allow_tf32`")? { Precision::Tf32 } else { Precision::Ieee });
    }
    match a.value(3) {
        Value::None => Ok(Precision::Tf32),
        Value::Str(text) => match &**text {
            "tf32" => Ok(Precision::Tf32),
            "tf32x3" => Ok(Precision::Tf32x3),
            // Sums of products of short floats that stand for these are no more exact.
            "bf16x3" => Ok(Precision::Tf32x3),
            "bf16x6" | "ieee" => Ok(Precision::Ieee),
            other => body.fail(
                Code::KernelArgument,
                a.span(3),
                format!("there is no input precision `{other}`"),
                "it is tf32, tf32x3, bf16x3, bf16x6 or ieee",
            ),
        },
        other => body.fail(
            Code::KernelArgument,
            a.span(3),
            format!("the input precision is a text, not {}", other.kind()),
            "",
        ),
    }
}

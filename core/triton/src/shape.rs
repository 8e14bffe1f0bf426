//! Making tiles and changing their shapes.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::pointer::Pointer;
use super::value::{Dtype, Tensor, Value};
use girih_base::diag::Code;
use girih_base::plural::counted;
use girih_base::span::Span;
use girih_ir::{Attr, Op, Scalar, Shape, Type};

/// `tl.arange(start, end)`.
pub(super) fn arange(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let start = body.constant_int(a.value(0), "the start of `arange`", a.span(0))?;
    let end = body.constant_int(a.value(1), "the end of `arange`", a.span(1))?;
    if end <= start || i32::try_from(start).is_err() || i32::try_from(end).is_err() {
        let message = format!("there is nothing from {start} to {end}");
        return body.fail(Code::KernelShape, a.call, message, "the end of `arange` is greater than its start");
    }
    let length = end - start;
    if !length.cast_unsigned().is_power_of_two() {
        let message =
            format!("the {length} numbers from {start} to {end} do not form a tile: their count is not a power of two");
        return body.fail(
            Code::KernelShape,
            a.call,
            message,
            "take the next power of two and mask off what is too much",
        );
    }
    let shape = body.shape_of(&[length], a.call)?;
    let ty = Type::block(shape, Scalar::I32);
    let numbers = body.op(Op::TileIota, ty, &[]);
    if start == 0 {
        return Ok(Value::Tensor(numbers));
    }
    let start = body.int(Scalar::I32, start);
    let start = body.splat(start, shape);
    Ok(Value::Tensor(body.op(Op::Add, ty, &[numbers.value, start])))
}

/// `tl.full(shape, value, dtype)`.
pub(super) fn full(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (shape, dtype) = (a.shape(body, 0)?, body.dtype_of(a.value(2), a.span(2))?);
    filled(body, shape, dtype, a.value(1), a.span(1))
}

/// `tl.zeros(shape, dtype)`.
pub(super) fn zeros(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (shape, dtype) = (a.shape(body, 0)?, body.dtype_of(a.value(1), a.span(1))?);
    filled(body, shape, dtype, &Value::Int(0), a.call)
}

/// `tl.zeros_like(x)`.
pub(super) fn zeros_like(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = a.tensor(body, 0)?;
    filled(body, x.shape(), Dtype::of(x.element()), &Value::Int(0), a.call)
}

fn filled(body: &mut Body<'_, '_>, shape: Option<Shape>, dtype: Dtype, value: &Value, span: Span) -> Made<Value> {
    if dtype.pointer {
        return body.fail(
            Code::KernelPointer,
            span,
            "a tile of pointers cannot be made of numbers",
            "add offsets to a pointer",
        );
    }
    let one = body.tensor_as(value, dtype.scalar, span)?;
    if one.shape().is_some() {
        return body.fail(Code::KernelShape, span, "a tile is filled with one number", "");
    }
    let value = body.splat(one.value, shape);
    Ok(Value::Tensor(Tensor { value, ty: Type::block(shape, dtype.scalar) }))
}

impl Body<'_, '_> {
    /// Does the same to a tile of numbers, or to the indices of a tile of pointers.
    fn each_block(
        &mut self,
        value: &Value,
        span: Span,
        change: impl Fn(&mut Self, Tensor) -> Made<Tensor>,
    ) -> Made<Value> {
        let Value::Pointer(pointer) = value else {
            let tensor = self.tensor(value, span)?;
            return change(self, tensor).map(Value::Tensor);
        };
        let index = match pointer.index {
            Some(index) => index,
            None => self.wide_index(pointer),
        };
        let index = Tensor { value: index, ty: self.b.ty(index) };
        let index = change(self, index)?;
        let mut pointer = Pointer { index: Some(index.value), shape: index.shape(), ..*pointer };
        if let Some(which) = pointer.which.filter(|_| self.chosen_by_element(&pointer)) {
            let which = Tensor { value: which, ty: self.b.ty(which) };
            pointer.which = Some(change(self, which)?.value);
        }
        Ok(Value::Pointer(pointer))
    }

    /// The same elements, in order, in another shape.
    pub(super) fn reshape_tensor(&mut self, tensor: Tensor, shape: Option<Shape>, span: Span) -> Made<Tensor> {
        let elements = |shape: Option<Shape>| shape.map_or(1, Shape::elements);
        if elements(tensor.shape()) != elements(shape) {
            let message = format!(
                "{} elements do not fit the shape {}, which has {}",
                elements(tensor.shape()),
                Self::shown(shape),
                elements(shape)
            );
            return self.fail(Code::KernelShape, span, message, "");
        }
        if tensor.shape() == shape {
            return Ok(tensor);
        }
        let Some(shape) = shape else {
            return self.fail(Code::KernelShape, span, "a tile has at least one dimension", "");
        };
        Ok(self.op(Op::TileReshape, Type::tile(shape, tensor.element()), &[tensor.value]))
    }

    /// A dimension counted from 0, of `rank`; negative ones count from the end.
    pub(super) fn axis(&self, axis: i128, rank: usize, span: Span) -> Made<usize> {
        let found = if axis < 0 { axis + rank as i128 } else { axis };
        match usize::try_from(found) {
            Ok(found) if found < rank => Ok(found),
            _ => {
                let message = format!("there is no dimension {axis} in a tile with {}", counted(rank, "dimension"));
                self.fail(Code::KernelShape, span, message, "dimensions count from 0, or backwards from -1")
            }
        }
    }

    /// `x[..]` of a tile: dimensions that stay and new ones of length 1.
    pub(super) fn index_block(&mut self, value: &Value, items: &[Value], span: Span) -> Made<Value> {
        let whole =
            |item: &Value| matches!(item, Value::Slice(parts) if parts.iter().all(|p| matches!(p, Value::None)));
        let is_element = |item: &Value| !whole(item) && !matches!(item, Value::None);
        if matches!(value, Value::Pointer(_)) && items.iter().any(is_element) {
            let message = "a pointer has no elements in brackets";
            let written = self.written_text(span).and_then(|text| text.strip_suffix(']')?.split_once('['));
            let hint = match written {
                Some((pointer, index)) => format!("write `tl.load({pointer} + {index})`"),
                None => "`tl.load(x_ptr + i)` loads the element `i` of `x_ptr`".to_owned(),
            };
            return self.fail(Code::KernelSyntax, span, message, &hint);
        }
        if let Some(wrong) = items.iter().find(|item| is_element(item)) {
            let message = match wrong {
                Value::Slice(_) => "a tile is not cut into parts: it is indexed by `:` and `None` only".to_owned(),
                wrong => format!("a tile has no element {wrong}: it is indexed by `:` and `None` only"),
            };
            return self.fail(
                Code::KernelSyntax,
                span,
                message,
                "to take single elements, use a mask and `tl.sum`, or `tl.gather`",
            );
        }
        let stay = items.iter().filter(|item| whole(item)).count();
        self.each_block(value, span, |body, tensor| {
            let lengths = tensor.shape().map_or(vec![], Shape::to_vec);
            // Of a number, `:` stands for nothing.
            if tensor.shape().is_none() {
                let ones = vec![1; items.len() - stay];
                let shape = body.shape_of(&ones, span)?;
                return Ok(body.broadcast_tensor(tensor, shape));
            }
            if stay > lengths.len() {
                let message = format!("{stay} dimensions are named, but the tile has {}", lengths.len());
                return body.fail(Code::KernelShape, span, message, "");
            }
            let mut rest = lengths.into_iter();
            let mut sizes: Vec<i128> =
                items.iter().map(|item| if whole(item) { rest.next().map_or(1, i128::from) } else { 1 }).collect();
            sizes.extend(rest.map(i128::from));
            let shape = body.shape_of(&sizes, span)?;
            body.reshape_tensor(tensor, shape, span)
        })
    }

    pub(super) fn permute_value(&mut self, value: &Value, axes: &[i128], span: Span) -> Made<Value> {
        let axes = axes.to_vec();
        self.each_block(value, span, |body, tensor| {
            let Some(shape) = tensor.shape() else {
                return body.fail(Code::KernelShape, span, "a single number has no dimensions", "");
            };
            let rank = shape.rank();
            let axes: Vec<usize> = axes.iter().map(|a| body.axis(*a, rank, span)).collect::<Made<_>>()?;
            let mut sorted = axes.clone();
            sorted.sort_unstable();
            if !sorted.into_iter().eq(0..rank) {
                let message = format!("the order must name each of the {rank} dimensions once");
                return body.fail(Code::KernelShape, span, message, "");
            }
            let lengths: Vec<u64> = axes.iter().map(|axis| shape.length(*axis)).collect();
            let Some(to) = Shape::of(&lengths) else { return Ok(tensor) };
            let ty = Type::tile(to, tensor.element());
            let axes = axes.iter().map(|a| *a as u32).collect();
            let id = body.b.op_with(Op::TilePermute, Some(ty), &[tensor.value], &[Attr::Axes(axes)]);
            Ok(Tensor { value: body.b.function.insts[id].results[0], ty })
        })
    }
}

/// `tl.broadcast_to(x, shape)`.
pub(super) fn broadcast_to(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let shape = a.rest_shape(body, 1)?;
    body.each_block(a.value(0), a.call, |body, tensor| {
        let common = body.common_shape(tensor.shape(), shape, a.call)?;
        if common != shape {
            let message = format!("{} cannot be repeated to {}", Body::shown(tensor.shape()), Body::shown(shape));
            return body.fail(Code::KernelShape, a.call, message, "only dimensions of length 1 are repeated");
        }
        Ok(body.broadcast_tensor(tensor, shape))
    })
}

/// `tl.broadcast(a, b)`.
pub(super) fn broadcast(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (x, y) = (a.tensor(body, 0)?, a.tensor(body, 1)?);
    let (x, y) = body.broadcast_together(x, y, a.call)?;
    Ok(Value::Tuple(vec![Value::Tensor(x), Value::Tensor(y)]))
}

/// `tl.expand_dims(x, axis)`.
pub(super) fn expand_dims(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let axes = body.constant_ints(a.value(1), "an axis", a.span(1))?;
    body.each_block(a.value(0), a.call, |body, tensor| {
        let mut lengths: Vec<i128> = tensor.shape().map_or(vec![], |s| s.lengths().map(i128::from).collect());
        let rank = lengths.len() + axes.len();
        let mut places: Vec<usize> = axes.iter().map(|n| body.axis(*n, rank, a.call)).collect::<Made<_>>()?;
        places.sort_unstable();
        for place in places {
            lengths.insert(place.min(lengths.len()), 1);
        }
        let shape = body.shape_of(&lengths, a.call)?;
        if tensor.shape().is_none() {
            return Ok(body.broadcast_tensor(tensor, shape));
        }
        body.reshape_tensor(tensor, shape, a.call)
    })
}

/// `tl.reshape(x, shape)`.
pub(super) fn reshape(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let shape = a.rest_shape(body, 1)?;
    body.each_block(a.value(0), a.call, |body, tensor| body.reshape_tensor(tensor, shape, a.call))
}

/// `tl.ravel(x)`.
pub(super) fn ravel(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    body.each_block(a.value(0), a.call, |body, tensor| {
        let elements = tensor.shape().map_or(1, Shape::elements);
        let shape = body.shape_of(&[i128::from(elements)], a.call)?;
        body.reshape_tensor(tensor, shape, a.call)
    })
}

/// `tl.permute(x, dims)` and `tl.trans(x, dims)`.
pub(super) fn trans(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let given = a.rest(1);
    let axes = if matches!(&given, Value::Tuple(items) if items.is_empty()) {
        vec![1, 0]
    } else {
        body.constant_ints(&given, "a dimension", a.call)?
    };
    body.permute_value(a.value(0), &axes, a.call)
}

fn tile_op(
    body: &mut Body<'_, '_>,
    op: Op,
    element: Scalar,
    lengths: &[i128],
    operands: &[Tensor],
    span: Span,
) -> Made<Tensor> {
    let shape = body.shape_of(lengths, span)?;
    let values: Vec<_> = operands.iter().map(|t| t.value).collect();
    Ok(body.op(op, Type::block(shape, element), &values))
}

fn pair(body: &mut Body<'_, '_>, a: &Arguments) -> Made<(Tensor, Tensor)> {
    let (x, y) = body.meet(a.value(0), a.value(1), false, a.call)?;
    Ok((x, y))
}

fn lengths_of(tensor: Tensor) -> Vec<i128> {
    tensor.shape().map_or(vec![], |s| s.lengths().map(i128::from).collect())
}

/// `tl.join(a, b)`.
pub(super) fn join(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (x, y) = pair(body, a)?;
    let mut lengths = lengths_of(x);
    lengths.push(2);
    tile_op(body, Op::TileJoin, x.element(), &lengths, &[x, y], a.call).map(Value::Tensor)
}

/// `tl.interleave(a, b)`.
pub(super) fn interleave(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (x, y) = pair(body, a)?;
    let mut lengths = lengths_of(x);
    lengths.push(2);
    let joined = tile_op(body, Op::TileJoin, x.element(), &lengths, &[x, y], a.call)?;
    let Some(last) = lengths.len().checked_sub(2) else { return Ok(Value::Tensor(joined)) };
    lengths.pop();
    lengths[last] *= 2;
    let shape = body.shape_of(&lengths, a.call)?;
    body.reshape_tensor(joined, shape, a.call).map(Value::Tensor)
}

/// `tl.split(x)`.
pub(super) fn split(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = a.tensor(body, 0)?;
    let Some(half) = x.ty.half() else {
        let message = format!("{} has no last dimension of length 2", Body::shown(x.shape()));
        return body.fail(Code::KernelShape, a.call, message, "reshape it first: `split` undoes `join`");
    };
    // A tile of two elements becomes two numbers, by way of tiles of one.
    let is_pair = half.shape().is_none();
    let whole = if is_pair { body.shape_of(&[1, 2], a.call)? } else { x.shape() };
    let x = body.reshape_tensor(x, whole, a.call)?;
    let half = x.ty.half().unwrap_or(half);
    let id = body.b.op_with(Op::TileSplit, Some(x.ty), &[x.value], &[]);
    let mut halves = vec![];
    for value in body.b.function.insts[id].results.clone() {
        let half = Tensor { value, ty: half };
        halves.push(Value::Tensor(if is_pair { body.only_element(half, a.call)? } else { half }));
    }
    Ok(Value::Tuple(halves))
}

/// `tl.cat(a, b, can_reorder, dim)`: the elements stay in order, also where they need not.
pub(super) fn cat(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (x, y) = (a.tensor(body, 0)?, a.tensor(body, 1)?);
    let rank = x.shape().map_or(0, Shape::rank);
    let dim = body.constant_int(a.value(3), "the dimension", a.span(3))?;
    if rank > 0 && body.axis(dim, rank, a.span(3))? != 0 {
        // The dimension changes places with the first one.
        let dim = body.axis(dim, rank, a.span(3))?;
        let mut order: Vec<i128> = (0..rank as i128).collect();
        order.swap(0, dim);
        let mut turned = vec![];
        for side in [x, y] {
            let side = body.permute_value(&Value::Tensor(side), &order, a.call)?;
            turned.push(body.tensor(&side, a.call)?);
        }
        let whole = catenated(body, a, turned[0], turned[1])?;
        return body.permute_value(&whole, &order, a.call);
    }
    catenated(body, a, x, y)
}

/// One tile behind the other, along the first dimension.
fn catenated(body: &mut Body<'_, '_>, a: &Arguments, x: Tensor, y: Tensor) -> Made<Value> {
    if x.ty != y.ty || x.shape().is_none() {
        let message = format!("{} and {} cannot be concatenated", a.value(0).kind(), a.value(1).kind());
        return body.fail(Code::KernelShape, a.call, message, "both must have the same type and shape");
    }
    let mut lengths = lengths_of(x);
    lengths[0] *= 2;
    tile_op(body, Op::TileCat, x.element(), &lengths, &[x, y], a.call).map(Value::Tensor)
}

/// `tl.gather(x, index, axis)`.
pub(super) fn gather(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (x, index) = (a.tensor(body, 0)?, a.tensor(body, 1)?);
    let axis = body.constant_int(a.value(2), "the axis", a.span(2))?;
    let rank = x.shape().map_or(0, Shape::rank);
    let axis = body.axis(axis, rank, a.span(2))?;
    gathered(body, x, index, axis, a.call).map(Value::Tensor)
}

fn gathered(body: &mut Body<'_, '_>, x: Tensor, index: Tensor, axis: usize, span: Span) -> Made<Tensor> {
    let (Some(from), Some(to)) = (x.shape(), index.shape()) else {
        return body.fail(Code::KernelShape, span, "`gather` takes a tile and a tile of positions", "");
    };
    let fits = from.rank() == to.rank() && (0..from.rank()).all(|i| i == axis || from.length(i) == to.length(i));
    if !fits || !index.element().is_integer() {
        let message = format!("{} is not gathered by positions of {}", Body::shown(Some(from)), Body::shown(Some(to)));
        return body.fail(
            Code::KernelShape,
            span,
            message,
            "positions are integers, and the shapes differ in the axis only",
        );
    }
    let ty = Type::tile(to, x.element());
    let id = body.b.op_with(Op::TileGather, Some(ty), &[x.value, index.value], &[Attr::Axis(axis as u32)]);
    Ok(Tensor { value: body.b.function.insts[id].results[0], ty })
}

/// `tl.flip(x, dim)`.
pub(super) fn flip(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let x = a.tensor(body, 0)?;
    let Some(shape) = x.shape() else { return Ok(Value::Tensor(x)) };
    let axis = match a.value(1) {
        Value::None => shape.rank() - 1,
        other => {
            let axis = body.constant_int(other, "the dimension", a.span(1))?;
            body.axis(axis, shape.rank(), a.span(1))?
        }
    };
    let length = i128::from(shape.length(axis));
    let line = body.shape_of(&[length], a.call)?;
    let numbers = body.op(Op::TileIota, Type::block(line, Scalar::I32), &[]);
    let last = body.int(Scalar::I32, length - 1);
    let last = body.splat(last, line);
    let back = body.op(Op::Sub, numbers.ty, &[last, numbers.value]);
    let mut lengths = vec![1; shape.rank()];
    lengths[axis] = length;
    let along = body.shape_of(&lengths, a.call)?;
    let back = body.reshape_tensor(back, along, a.call)?;
    let index = body.broadcast_tensor(back, Some(shape));
    gathered(body, x, index, axis, a.call).map(Value::Tensor)
}

/// `tl.cast(x, dtype, fp_downcast_rounding, bitcast)` and `x.to(..)`.
pub(super) fn cast(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let dtype = body.dtype_of(a.value(1), a.span(1))?;
    let cuts = match a.value(2) {
        Value::Str(rounding) if &**rounding == "rtz" => true,
        Value::None => false,
        Value::Str(rounding) if &**rounding == "rtne" => false,
        other => {
            let message = format!("there is no rounding {other}");
            let hint = "numbers are rounded to nearest, ties to even (`rtne`), or towards zero (`rtz`)";
            return body.fail(Code::KernelArgument, a.span(2), message, hint);
        }
    };
    let bits = body.constant_bool(a.value(3), "`bitcast`", a.span(3))?;
    let table = body.table(a.value(0), a.span(0))?.map(Value::Pointer);
    if let Value::Pointer(pointer) = table.as_ref().unwrap_or(a.value(0)) {
        return body.cast_pointer(pointer, dtype, a.call);
    }
    if dtype.pointer {
        let hint = "give the parameter that it comes from an array, or a tuple of arrays if it is a table of addresses";
        return body.fail(Code::KernelPointer, a.call, "an integer cannot become a pointer", hint);
    }
    let x = a.tensor(body, 0)?;
    if !bits {
        let floats = x.element().is_float() && dtype.scalar.is_float();
        return Ok(Value::Tensor(match cuts && floats && dtype.scalar.bits() < x.element().bits() {
            true => toward_zero(body, x, dtype.scalar),
            false => body.cast(x, dtype.scalar),
        }));
    }
    if x.element() == dtype.scalar {
        return Ok(Value::Tensor(x));
    }
    if x.element().bits() != dtype.scalar.bits() || dtype.scalar == Scalar::Bool {
        let message = format!("the bits of {} are not those of `{dtype}`", a.value(0).kind());
        return body.fail(Code::KernelType, a.call, message, "a bitcast keeps the width");
    }
    Ok(Value::Tensor(body.op(Op::Bitcast, Type::block(x.shape(), dtype.scalar), &[x.value])))
}

/// A float as a shorter one that is not farther from zero: where the nearest one is, the one before it.
pub(super) fn toward_zero(body: &mut Body<'_, '_>, x: Tensor, to: Scalar) -> Tensor {
    let nearest = body.cast(x, to);
    let back = body.cast(nearest, x.element());
    let [size, limit] = [back, x].map(|number| body.op(Op::Abs, x.ty, &[number.value]).value);
    let beyond = body.op(Op::Gt, x.ty, &[size, limit]);
    let whole = if to.bits() == 8 {
        Scalar::U8
    } else if to.bits() == 16 {
        Scalar::U16
    } else {
        Scalar::U32
    };
    let ty = Type::block(x.shape(), whole);
    let bits = body.op(Op::Bitcast, ty, &[nearest.value]);
    let one = body.cast(beyond, whole);
    let bits = body.op(Op::Sub, ty, &[bits.value, one.value]);
    body.op(Op::Bitcast, nearest.ty, &[bits.value])
}

//! Pointers to blocks of matrices, and descriptors of matrices: what they are made of, and the accesses to a block.
//!
//! Invariant: an access by a descriptor touches nothing outside of its matrix. One by a block pointer checks the dimensions that it names.

use super::body::{Body, Made};
use super::builtins::{self, Arguments};
use super::memory::Access;
use super::pointer::{BlockPointer, Padding, Pointer};
use super::value::{Placed, Tensor, Value};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::{Attr, Op, Scalar, Shape, Type, ValueId};

impl Body<'_, '_> {
    /// Integers of the device, of one type.
    pub(super) fn integers(&mut self, value: &Value, scalar: Scalar, what: &str, span: Span) -> Made<Vec<ValueId>> {
        let items = match value {
            Value::Tuple(items) => items.clone(),
            one => vec![one.clone()],
        };
        let mut out = vec![];
        for item in items {
            let tensor = self.tensor(&item, span)?;
            if tensor.shape().is_some() || tensor.element().is_float() {
                let message = format!("{what} are integers, not {}", item.kind());
                return self.fail(Code::KernelArgument, span, message, "");
            }
            out.push(self.cast(tensor, scalar).value);
        }
        Ok(out)
    }

    fn block(&mut self, a: &Arguments, offsets: Option<usize>, block_shape: usize) -> Made<BlockPointer> {
        let base = self.pointer(a.value(0), "a block pointer", a.span(0))?;
        if base.shape.is_some() {
            return self.fail(
                Code::KernelShape,
                a.span(0),
                "a block pointer is made of one pointer, not of a tile",
                "",
            );
        }
        let lengths = self.integers(a.value(1), Scalar::I64, "the lengths of a matrix", a.span(1))?;
        let strides = self.integers(a.value(2), Scalar::I64, "strides", a.span(2))?;
        let offsets = match offsets {
            Some(i) => self.integers(a.value(i), Scalar::I32, "offsets", a.span(i))?,
            None => vec![],
        };
        let shape = a.shape(self, block_shape)?;
        let block = shape.map_or(vec![], Shape::to_vec);
        let rank = block.len();
        let fits = lengths.len() == rank && strides.len() == rank && (offsets.len() == rank || offsets.is_empty());
        if !fits {
            let message = "lengths, strides, offsets and the block have different numbers of dimensions";
            return self.fail(Code::KernelShape, a.call, message, "give one of each for every dimension");
        }
        Ok(BlockPointer { base, lengths, strides, offsets, block, padding: Padding::Zero })
    }

    /// A descriptor is told at each access where the block begins.
    pub(super) fn no_descriptor(&self, block: &BlockPointer, operation: &str, span: Span) -> Made<()> {
        if !block.offsets.is_empty() || block.block.is_empty() {
            return Ok(());
        }
        let rest = if operation == "store" { ", value" } else { "" };
        let shown = self.written_text(span).unwrap_or("desc");
        let zeros = vec!["0"; block.block.len()].join(", ");
        let message = format!("`tl.{operation}` takes a pointer, and this is a descriptor");
        let hint = format!("write `{shown}.{operation}([{zeros}]{rest})`, with the offsets of the block");
        self.fail(Code::KernelPointer, span, message, &hint)
    }

    pub(super) fn checked_dimensions(&mut self, value: &Value, block: &BlockPointer, span: Span) -> Made<Vec<bool>> {
        let mut checked = vec![false; block.block.len()];
        for n in self.constant_ints(value, "a dimension to be checked", span)? {
            let axis = self.axis(n, checked.len(), span)?;
            checked[axis] = true;
        }
        Ok(checked)
    }

    /// What `padding_option` says.
    pub(super) fn padding_of(&self, value: &Value, scalar: Scalar, span: Span) -> Made<Padding> {
        match value {
            Value::Str(text) if &**text == "nan" && scalar.is_float() => Ok(Padding::Nan),
            Value::Str(text) if matches!(&**text, "" | "zero") => Ok(Padding::Zero),
            Value::None => Ok(Padding::Zero),
            other => self.fail(
                Code::KernelArgument,
                span,
                format!("there is no padding {other} for this type"),
                "it is `zero` or `nan`",
            ),
        }
    }

    pub(super) fn padded(&mut self, padding: Padding, scalar: Scalar) -> ValueId {
        match padding {
            Padding::Zero => self.number(scalar, 0.0),
            Padding::Nan => self.float(scalar, f64::NAN),
        }
    }

    /// Pointers to the elements of a block, and the mask of those that are inside of the matrix.
    fn block_pointers(
        &mut self,
        block: &BlockPointer,
        offsets: &[ValueId],
        checked: &[bool],
        span: Span,
    ) -> Made<(Pointer, Value)> {
        let lengths: Vec<i128> = block.block.iter().map(|n| i128::from(*n)).collect();
        let shape = self.shape_of(&lengths, span)?;
        let mut index = Tensor { value: self.wide_index(&block.base), ty: Type::Scalar(Scalar::I64) };
        index = self.broadcast_tensor(index, shape);
        let mut inside: Option<Tensor> = None;
        for (i, length) in lengths.iter().enumerate() {
            let line = self.shape_of(&[*length], span)?;
            let numbers = self.op(Op::TileIota, Type::block(line, Scalar::I64), &[]);
            let offset = Tensor { value: offsets[i], ty: self.b.ty(offsets[i]) };
            let offset = self.cast(offset, Scalar::I64);
            let offset = self.splat(offset.value, line);
            let at = self.op(Op::Add, numbers.ty, &[numbers.value, offset]);
            let mut along = vec![1; lengths.len()];
            along[i] = *length;
            let along = self.shape_of(&along, span)?;
            if checked[i] {
                let (zero, most) = (self.int(Scalar::I64, 0), block.lengths[i]);
                let (zero, most) = (self.splat(zero, line), self.splat(most, line));
                let above = self.op(Op::Ge, at.ty, &[at.value, zero]);
                let below = self.op(Op::Lt, at.ty, &[at.value, most]);
                let here = self.op(Op::And, above.ty, &[above.value, below.value]);
                let here = self.reshape_tensor(here, along, span)?;
                let here = self.broadcast_tensor(here, shape);
                inside = Some(match inside {
                    Some(before) => self.op(Op::And, here.ty, &[before.value, here.value]),
                    None => here,
                });
            }
            let stride = self.splat(block.strides[i], line);
            let by = self.op(Op::Mul, at.ty, &[at.value, stride]);
            let by = self.reshape_tensor(by, along, span)?;
            let by = self.broadcast_tensor(by, shape);
            index = self.op(Op::Add, index.ty, &[index.value, by.value]);
        }
        let pointer = Pointer { index: Some(index.value), shape, ..block.base };
        Ok((pointer, inside.map_or(Value::None, Value::Tensor)))
    }

    /// An access to a block.
    fn block_access(
        &mut self,
        block: &BlockPointer,
        offsets: &[ValueId],
        checked: &[bool],
        span: Span,
    ) -> Made<Access> {
        let (pointer, mask) = self.block_pointers(block, offsets, checked, span)?;
        self.access(pointer, &mask, span)
    }

    pub(super) fn block_load(
        &mut self,
        block: &BlockPointer,
        offsets: &[ValueId],
        checked: &[bool],
        padding: ValueId,
        attrs: &[Attr],
        span: Span,
    ) -> Made<Tensor> {
        let access = self.block_access(block, offsets, checked, span)?;
        let element = access.stored.element().unwrap_or(Scalar::U8);
        let padding = Tensor { value: padding, ty: self.b.ty(padding) };
        let padding = self.cast(padding, element);
        Ok(self.load_access(&access, padding.value, attrs))
    }

    pub(super) fn block_store(
        &mut self,
        block: &BlockPointer,
        offsets: &[ValueId],
        checked: &[bool],
        value: &Value,
        attrs: &[Attr],
        span: Span,
    ) -> Made<()> {
        let access = self.block_access(block, offsets, checked, span)?;
        let value = self.fitting(&access, value, span)?;
        self.store_access(&access, value, attrs);
        Ok(())
    }

    fn descriptor<'v>(&self, value: &'v Value, span: Span) -> Made<&'v BlockPointer> {
        match value {
            Value::Block(block) => Ok(block),
            other => self.fail(
                Code::KernelArgument,
                span,
                format!("a descriptor is needed here, not {}", other.kind()),
                other.hint(),
            ),
        }
    }
}

/// `tl.make_block_ptr`.
pub(super) fn make_block_ptr(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(Value::Block(Box::new(body.block(a, Some(3), 4)?)))
}

/// `tl.make_tensor_descriptor`.
pub(super) fn make_descriptor(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let block = body.block(a, None, 3)?;
    let padding = body.padding_of(a.value(4), block.base.pointee, a.span(4))?;
    Ok(Value::Block(Box::new(BlockPointer { padding, ..block })))
}

/// `tl.advance(base, offsets)`.
pub(super) fn advance(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let mut block = body.descriptor(a.value(0), a.span(0))?.clone();
    let by = body.integers(a.value(1), Scalar::I32, "offsets", a.span(1))?;
    if by.len() != block.offsets.len() {
        return body.fail(Code::KernelShape, a.call, "there is one offset for each dimension of the block", "");
    }
    for (offset, by) in block.offsets.iter_mut().zip(by) {
        *offset = body.op(Op::Add, Type::I32, &[*offset, by]).value;
    }
    Ok(Value::Block(Box::new(block)))
}

/// A descriptor, and the offsets of the block that is accessed.
fn described(body: &mut Body<'_, '_>, a: &Arguments) -> Made<(BlockPointer, Vec<ValueId>)> {
    let block = body.descriptor(a.value(0), a.span(0))?.clone();
    let offsets = body.integers(a.value(1), Scalar::I32, "offsets", a.span(1))?;
    if offsets.len() != block.block.len() {
        let (given, wanted) = (offsets.len(), block.block.len());
        let message = format!("there is one offset for each dimension of the block: {wanted}, not {given}");
        return body.fail(Code::KernelShape, a.span(1), message, "give them as a list: `[row, column]`");
    }
    Ok((block, offsets))
}

/// `descriptor.load(offsets)`.
pub(super) fn descriptor_load(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (block, offsets) = described(body, a)?;
    let (checked, padding) = (vec![true; offsets.len()], body.padded(block.padding, block.base.pointee));
    body.block_load(&block, &offsets, &checked, padding, &[], a.call).map(Value::Tensor)
}

/// `descriptor.store(offsets, value)`.
pub(super) fn descriptor_store(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (block, offsets) = described(body, a)?;
    let checked = vec![true; offsets.len()];
    body.block_store(&block, &offsets, &checked, a.value(2), &[], a.call)?;
    Ok(Value::None)
}

/// `descriptor.atomic_add(offsets, value)` and the like: the operation on each element inside of the matrix, whose old value nobody sees.
fn descriptor_atomic(body: &mut Body<'_, '_>, a: &Arguments, operation: &str) -> Made<Value> {
    let (block, offsets) = described(body, a)?;
    let checked = vec![true; offsets.len()];
    let (pointer, mask) = body.block_pointers(&block, &offsets, &checked, a.call)?;
    // The value has the descriptor's type, as in a store.
    let value = body.tensor_as(a.value(2), pointer.pointee, a.span(2))?;
    if body.common_shape(value.shape(), pointer.shape, a.span(2))? != pointer.shape {
        let (value, block) = (Body::shown(value.shape()), Body::shown(pointer.shape));
        let message = format!("a value of shape {value} does not fit a block of shape {block}");
        return body.fail(Code::KernelShape, a.span(2), message, "");
    }
    let value = body.broadcast_tensor(value, pointer.shape);
    let Some(row) = builtins::find(operation) else { return Ok(Value::None) };
    let placed = |value: Value, i: usize| Placed { value, span: a.span(i) };
    let given = vec![placed(Value::Pointer(pointer), 0), placed(Value::Tensor(value), 2), placed(mask, 1)];
    let named = vec![("sem".to_owned(), Placed { value: Value::text("relaxed"), span: a.call })];
    body.builtin(row, given, named, a.call)?;
    Ok(Value::None)
}

macro_rules! descriptor_atomics {
    ($($name:ident: $operation:literal;)*) => {
        $(#[doc = concat!("`descriptor.", $operation, "(offsets, value)`.")]
        pub(super) fn $name(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
            descriptor_atomic(body, a, $operation)
        })*
    };
}

descriptor_atomics! {
    descriptor_add: "atomic_add";
    descriptor_max: "atomic_max";
    descriptor_min: "atomic_min";
    descriptor_and: "atomic_and";
    descriptor_or: "atomic_or";
    descriptor_xor: "atomic_xor";
}

/// A descriptor of rows, the numbers of some of them, and where they begin: pointers to the elements, and which are inside of the matrix.
fn rows(body: &mut Body<'_, '_>, a: &Arguments, [rows, column]: [usize; 2]) -> Made<Access> {
    let block = body.descriptor(a.value(0), a.span(0))?.clone();
    let numbers = a.tensor(body, rows)?;
    let (&[1, width], Some(1)) = (&block.block[..], numbers.shape().map(Shape::rank)) else {
        let message = "rows are gathered by a descriptor of blocks of one row, and by a line of their numbers";
        return body.fail(Code::KernelShape, a.call, message, "its block is `[1, N]`");
    };
    let count = numbers.shape().map_or(1, Shape::elements);
    let column = body.integers(a.value(column), Scalar::I32, "a column", a.span(column))?;
    let line = body.shape_of(&[i128::from(width)], a.call)?;
    let along = body.op(Op::TileIota, Type::block(line, Scalar::I64), &[]);
    let first = body.cast(Tensor { value: column[0], ty: Type::I32 }, Scalar::I64);
    let first = body.splat(first.value, line);
    let along = body.op(Op::Add, along.ty, &[along.value, first]);
    let numbers = body.cast(numbers, Scalar::I64);
    let shape = body.shape_of(&[i128::from(count), i128::from(width)], a.call)?;
    let sides = [(numbers, [i128::from(count), 1]), (along, [1, i128::from(width)])];
    let mut index = Tensor { value: body.wide_index(&block.base), ty: Type::Scalar(Scalar::I64) };
    index = body.broadcast_tensor(index, shape);
    let mut inside: Option<Tensor> = None;
    for (i, (at, lengths)) in sides.into_iter().enumerate() {
        let lengths = body.shape_of(&lengths, a.call)?;
        let at = body.reshape_tensor(at, lengths, a.call)?;
        let at = body.broadcast_tensor(at, shape);
        let zero = body.int(Scalar::I64, 0);
        let [zero, most, stride] = [zero, block.lengths[i], block.strides[i]].map(|value| body.splat(value, shape));
        let above = body.op(Op::Ge, at.ty, &[at.value, zero]);
        let below = body.op(Op::Lt, at.ty, &[at.value, most]);
        let here = body.op(Op::And, above.ty, &[above.value, below.value]);
        inside = Some(match inside {
            Some(before) => body.op(Op::And, here.ty, &[before.value, here.value]),
            None => here,
        });
        let by = body.op(Op::Mul, at.ty, &[at.value, stride]);
        index = body.op(Op::Add, index.ty, &[index.value, by.value]);
    }
    let pointer = Pointer { index: Some(index.value), shape, ..block.base };
    let mask = inside.map_or(Value::None, Value::Tensor);
    body.access(pointer, &mask, a.call)
}

/// `descriptor.gather(x_offsets, y_offset)`.
pub(super) fn descriptor_gather(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let access = rows(body, a, [1, 2])?;
    let padding = body.descriptor(a.value(0), a.span(0))?.padding;
    let element = access.stored.element().unwrap_or(Scalar::U8);
    let other = body.padded(padding, element);
    Ok(Value::Tensor(body.load_access(&access, other, &[])))
}

/// `descriptor.scatter(value, x_offsets, y_offset)`.
pub(super) fn descriptor_scatter(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let access = rows(body, a, [2, 3])?;
    let value = body.fitting(&access, a.value(1), a.span(1))?;
    body.store_access(&access, value, &[]);
    Ok(Value::None)
}

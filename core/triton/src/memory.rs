//! Loads and stores; pointers to blocks and descriptors; promises about indices.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::pointer::{BlockPointer, Padding, Pointer, Role};
use super::value::{Tensor, Value};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::attrs::{Cache, Eviction, Order, Scope};
use girih_ir::{Attr, Inst, Op, Scalar, Shape, Type, ValueId};

/// An access made ready: where, of what type, and which elements.
pub(super) struct Access {
    pub pointer: Pointer,
    pub index: ValueId,
    /// Type of what is loaded or stored, as the kernel has it.
    pub ty: Type,
    /// The type in memory: truth values are bytes.
    pub stored: Type,
    pub inside: ValueId,
}

impl Body<'_, '_> {
    pub(super) fn pointer(&self, value: &Value, what: &str, span: Span) -> Made<Pointer> {
        match value {
            Value::Pointer(pointer) if pointer.role == Role::Elements => Ok(*pointer),
            Value::Pointer(_) => {
                let hint = "`.to(tl.pointer_type(tl.float32))` makes a pointer of an address, which `tl.load` takes from a table";
                self.fail(Code::KernelPointer, span, format!("`{what}` takes a pointer, not {}", value.kind()), hint)
            }
            Value::Block(_) => {
                let message = format!("`{what}` takes no block pointer");
                self.fail(Code::KernelPointer, span, message, "")
            }
            Value::Tensor(t) if t.element().bits() == 64 => {
                let hint =
                    "an address is a number only to a device: give an array, or a tuple of arrays for a table of them";
                self.fail(Code::KernelPointer, span, format!("`{what}` takes a pointer, not {}", value.kind()), hint)
            }
            other => {
                let message = format!("`{what}` takes a pointer, not {}", other.kind());
                let hint = match self.number_within(span) {
                    Some(name) => format!("the parameter `{name}` was given a number: pass an array"),
                    None => "a pointer is a parameter of the kernel plus offsets".into(),
                };
                self.fail(Code::KernelPointer, span, message, &hint)
            }
        }
    }

    /// The first parameter in an expression that is given a number.
    fn number_within(&self, span: Span) -> Option<String> {
        let text = self.module.files.sources.get(span.source)?.text.get(span.start as usize..span.end as usize)?;
        let parameters = &self.function.as_ref()?.def.parameters.list;
        let is_number = |name: &&str| {
            let is_parameter = parameters.iter().any(|p| p.name.name == *name);
            is_parameter && matches!(self.scope.get(*name), Some(Value::Tensor(_) | Value::Int(_) | Value::Float(_)))
        };
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.find(is_number).map(str::to_owned)
    }

    pub(super) fn access(&mut self, pointer: Pointer, mask: &Value, mask_span: Span) -> Made<Access> {
        let inside = match mask {
            Value::None => self.b.bool(true),
            mask => {
                let mask = self.tensor(mask, mask_span)?;
                let mask = self.cast(mask, Scalar::Bool);
                let shape = self.common_shape(mask.shape(), pointer.shape, mask_span)?;
                if shape != pointer.shape {
                    let message = format!(
                        "a mask of shape {} does not fit a pointer of shape {}",
                        Self::shown(mask.shape()),
                        Self::shown(pointer.shape)
                    );
                    return self.fail(Code::KernelShape, mask_span, message, "make the pointer a tile of that shape");
                }
                if mask.shape().is_none() { mask.value } else { self.broadcast_tensor(mask, shape).value }
            }
        };
        let index = match pointer.index {
            Some(index) => index,
            None => {
                let zero = self.int(Scalar::I32, 0);
                self.splat(zero, pointer.shape)
            }
        };
        let inside = self.guarded(inside, index, pointer.shape)?;
        let stored = if pointer.pointee == Scalar::Bool { Scalar::U8 } else { pointer.pointee };
        let (ty, stored) = (Type::block(pointer.shape, pointer.pointee), Type::block(pointer.shape, stored));
        Ok(Access { pointer, index, ty, stored, inside })
    }

    /// A value in the type and shape of an access.
    pub(super) fn fitting(&mut self, access: &Access, value: &Value, span: Span) -> Made<ValueId> {
        let value = self.tensor_as(value, access.pointer.pointee, span)?;
        let shape = self.common_shape(value.shape(), access.pointer.shape, span)?;
        if shape != access.pointer.shape {
            let message = format!(
                "a value of shape {} does not fit a pointer of shape {}",
                Self::shown(value.shape()),
                Self::shown(access.pointer.shape)
            );
            return self.fail(Code::KernelShape, span, message, "make the pointer a tile of that shape");
        }
        let value = self.broadcast_tensor(value, shape);
        let element = access.stored.element().unwrap_or(Scalar::U8);
        Ok(self.cast(value, element).value)
    }

    fn hints(&mut self, cache: &Value, eviction: &Value, span: Span) -> Made<Vec<Attr>> {
        let mut attrs = vec![];
        match cache {
            Value::Str(text) => match &**text {
                "" | ".ca" | ".wb" => {}
                ".cg" | ".cv" | ".wt" => attrs.push(Attr::Cache(Cache::Global)),
                ".cs" => attrs.push(Attr::Cache(Cache::Streaming)),
                other => {
                    return self.fail(Code::KernelArgument, span, format!("there is no cache modifier `{other}`"), "");
                }
            },
            _none => {}
        }
        match eviction {
            Value::Str(text) => match &**text {
                "" => {}
                "evict_first" => attrs.push(Attr::Eviction(Eviction::First)),
                "evict_last" => attrs.push(Attr::Eviction(Eviction::Last)),
                other => {
                    return self.fail(Code::KernelArgument, span, format!("there is no eviction policy `{other}`"), "");
                }
            },
            _none => {}
        }
        Ok(attrs)
    }

    fn load_access(&mut self, access: &Access, other: ValueId, attrs: &[Attr]) -> Tensor {
        // What is not loaded from one buffer is what the next one gives.
        let mut loaded = Tensor { value: other, ty: access.stored };
        for (buffer, inside, _) in self.by_buffer(access) {
            let operands = [buffer, access.index, inside, loaded.value];
            let id = self.b.op_with(Op::TileLoad, Some(access.stored), &operands, attrs);
            loaded.value = self.b.function.insts[id].results[0];
        }
        let element = access.ty.element().unwrap_or(Scalar::I32);
        self.cast(loaded, element)
    }

    fn store_access(&mut self, access: &Access, value: ValueId, attrs: &[Attr]) {
        for (buffer, inside, _) in self.by_buffer(access) {
            let operands = [buffer, access.index, value, inside];
            self.b.op_with(Op::TileStore, Some(access.stored), &operands, attrs);
        }
    }

    pub(super) fn order(&mut self, a: &Arguments, sem: usize, scope: usize) -> Made<Vec<Attr>> {
        let mut attrs = vec![];
        match a.value(sem) {
            Value::None => attrs.push(Attr::Order(Order::AcquireRelease)),
            Value::Str(text) => match &**text {
                "relaxed" => {}
                "acquire" => attrs.push(Attr::Order(Order::Acquire)),
                "release" => attrs.push(Attr::Order(Order::Release)),
                "acq_rel" => attrs.push(Attr::Order(Order::AcquireRelease)),
                other => {
                    return self.fail(
                        Code::KernelArgument,
                        a.span(sem),
                        format!("there is no memory order `{other}`"),
                        "it is relaxed, acquire, release or acq_rel",
                    );
                }
            },
            other => {
                return self.fail(
                    Code::KernelArgument,
                    a.span(sem),
                    format!("`sem` is a text, not {}", other.kind()),
                    "",
                );
            }
        }
        match a.value(scope) {
            Value::None => {}
            Value::Str(text) => match &**text {
                "gpu" => {}
                "cta" => attrs.push(Attr::Scope(Scope::Workgroup)),
                other => {
                    return self.fail(
                        Code::KernelRefused,
                        a.span(scope),
                        format!("the scope `{other}` is not available"),
                        "it is gpu or cta",
                    );
                }
            },
            other => {
                return self.fail(
                    Code::KernelArgument,
                    a.span(scope),
                    format!("`scope` is a text, not {}", other.kind()),
                    "",
                );
            }
        }
        Ok(attrs)
    }
}

/// `tl.load`.
pub(super) fn load(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let mut attrs = body.hints(a.value(5), a.value(6), a.call)?;
    let is_uncached = matches!(a.value(5), Value::Str(text) if &**text == ".cv");
    if a.flag(body, 7, "`volatile`")? || is_uncached {
        attrs.push(Attr::Volatile);
    }
    if let Value::Block(block) = a.value(0) {
        if !matches!(a.value(1), Value::None) || !matches!(a.value(2), Value::None) {
            let message = "a block pointer has no mask";
            return body.fail(
                Code::KernelArgument,
                a.call,
                message,
                "name the dimensions to be checked: `boundary_check=(0, 1)`",
            );
        }
        let checked = body.checked_dimensions(a.value(3), block, a.span(3))?;
        let padding = body.padding_of(a.value(4), block.base.pointee, a.span(4))?;
        let padding = body.padded(padding, block.base.pointee);
        let offsets = block.offsets.clone();
        let loaded = body.block_load(block, &offsets, &checked, padding, &attrs, a.call)?;
        return Ok(Value::Tensor(loaded));
    }
    if let Some(table) = body.table(a.value(0), a.span(0))? {
        return body.load_address(table, (a.value(1), a.span(1)), (a.value(2), a.span(2)));
    }
    let pointer = body.pointer(a.value(0), "load", a.span(0))?;
    if matches!(a.value(1), Value::None) && !matches!(a.value(2), Value::None) {
        return body.fail(
            Code::KernelArgument,
            a.span(2),
            "`other` is given without `mask`",
            "give a mask, or leave `other` out",
        );
    }
    let access = body.access(pointer, a.value(1), a.span(1))?;
    let other = match a.value(2) {
        // What stands there is not said by Triton; here it is 0.
        Value::None => {
            let element = access.stored.element().unwrap_or(Scalar::U8);
            body.number(element, 0.0)
        }
        constant if constant.is_constant() => {
            let value = body.tensor_as(constant, pointer.pointee, a.span(2))?;
            let element = access.stored.element().unwrap_or(Scalar::U8);
            body.cast(value, element).value
        }
        other => body.fitting(&access, other, a.span(2))?,
    };
    Ok(Value::Tensor(body.load_access(&access, other, &attrs)))
}

/// `tl.store`.
pub(super) fn store(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let attrs = body.hints(a.value(4), a.value(5), a.call)?;
    if let Value::Block(block) = a.value(0) {
        if !matches!(a.value(2), Value::None) {
            return body.fail(
                Code::KernelArgument,
                a.span(2),
                "a block pointer has no mask",
                "name the dimensions to be checked: `boundary_check=(0, 1)`",
            );
        }
        let checked = body.checked_dimensions(a.value(3), block, a.span(3))?;
        let offsets = block.offsets.clone();
        body.block_store(block, &offsets, &checked, a.value(1), &attrs, a.call)?;
        return Ok(Value::None);
    }
    let pointer = body.pointer(a.value(0), "store", a.span(0))?;
    let access = body.access(pointer, a.value(2), a.span(2))?;
    let value = body.fitting(&access, a.value(1), a.span(1))?;
    body.store_access(&access, value, &attrs);
    Ok(Value::None)
}

// Pointers to blocks.

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

    fn checked_dimensions(&mut self, value: &Value, block: &BlockPointer, span: Span) -> Made<Vec<bool>> {
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

    fn padded(&mut self, padding: Padding, scalar: Scalar) -> ValueId {
        match padding {
            Padding::Zero => self.number(scalar, 0.0),
            Padding::Nan => self.float(scalar, f64::NAN),
        }
    }

    /// Where the elements of a block are, and which are inside of the matrix.
    fn block_access(
        &mut self,
        block: &BlockPointer,
        offsets: &[ValueId],
        checked: &[bool],
        span: Span,
    ) -> Made<Access> {
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
        let mut access = self.access(pointer, &Value::None, span)?;
        if let Some(inside) = inside {
            access.inside = inside.value;
        }
        Ok(access)
    }

    fn block_load(
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

    fn block_store(
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

/// `descriptor.load(offsets)`.
pub(super) fn descriptor_load(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let block = body.descriptor(a.value(0), a.span(0))?.clone();
    let offsets = body.integers(a.value(1), Scalar::I32, "offsets", a.span(1))?;
    if offsets.len() != block.block.len() {
        return body.fail(Code::KernelShape, a.call, "there is one offset for each dimension of the block", "");
    }
    let (checked, padding) = (vec![true; offsets.len()], body.padded(block.padding, block.base.pointee));
    body.block_load(&block, &offsets, &checked, padding, &[], a.call).map(Value::Tensor)
}

/// `descriptor.store(offsets, value)`.
pub(super) fn descriptor_store(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let block = body.descriptor(a.value(0), a.span(0))?.clone();
    let offsets = body.integers(a.value(1), Scalar::I32, "offsets", a.span(1))?;
    if offsets.len() != block.block.len() {
        return body.fail(Code::KernelShape, a.call, "there is one offset for each dimension of the block", "");
    }
    let checked = vec![true; offsets.len()];
    body.block_store(&block, &offsets, &checked, a.value(2), &[], a.call)?;
    Ok(Value::None)
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

// Promises.

fn promise(body: &mut Body<'_, '_>, a: &Arguments, attr: fn(Vec<u32>) -> Attr) -> Made<Value> {
    let numbers = body.constant_ints(a.value(1), "a promise", a.span(1))?;
    let numbers: Option<Vec<u32>> = numbers.into_iter().map(|n| u32::try_from(n).ok().filter(|n| *n > 0)).collect();
    let (value, ty) = match a.value(0) {
        Value::Pointer(Pointer { index: Some(index), .. }) => (*index, body.b.ty(*index)),
        Value::Tensor(t) => (t.value, t.ty),
        // Nothing is promised that is not known already.
        other => return Ok(other.clone()),
    };
    let rank = ty.shape().map_or(1, Shape::rank);
    let Some(numbers) = numbers.filter(|n| n.len() == rank) else {
        let message = format!("a promise about this has {rank} positive numbers, one for each dimension");
        return body.fail(Code::KernelArgument, a.span(1), message, "");
    };
    let mut inst = Inst::new(Op::TileHint, Some(ty), &[value], a.call);
    inst.set(attr(numbers));
    let id = body.b.push(inst, &[ty]);
    let value = body.b.function.insts[id].results[0];
    Ok(match a.value(0) {
        Value::Pointer(pointer) => Value::Pointer(Pointer { index: Some(value), ..*pointer }),
        _tensor => Value::Tensor(Tensor { value, ty }),
    })
}

pub(super) fn multiple_of(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    promise(body, a, Attr::Multiple)
}
pub(super) fn max_contiguous(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    promise(body, a, Attr::Contiguous)
}
pub(super) fn max_constancy(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    promise(body, a, Attr::Constancy)
}

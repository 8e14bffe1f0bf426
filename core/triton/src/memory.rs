//! Loads and stores, and what is common to all accesses: the place, the mask, the order of memory.
//!
//! Invariant: an access is made for the elements alone that its mask and the assertions before it leave.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::pointer::{Pointer, Role};
use super::value::{Tensor, Value};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::attrs::{Cache, Eviction, Order, Scope};
use girih_ir::{Attr, Op, Scalar, Type, ValueId};

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
                    _ if matches!(other, Value::None) => other.hint().into(),
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

    pub(super) fn hints(&mut self, a: &Arguments, [cache, eviction]: [usize; 2]) -> Made<Vec<Attr>> {
        let mut attrs = vec![];
        match a.value(cache) {
            Value::Str(text) => match &**text {
                "" | ".ca" | ".wb" => {}
                ".cg" | ".cv" | ".wt" => attrs.push(Attr::Cache(Cache::Global)),
                ".cs" => attrs.push(Attr::Cache(Cache::Streaming)),
                other => {
                    let message = format!("there is no cache modifier `{other}`");
                    let hint = "it is .ca, .cg, .cv or .cs, of a store .wb, .cg, .cs or .wt";
                    return self.fail(Code::KernelArgument, a.span(cache), message, hint);
                }
            },
            _none => {}
        }
        match a.value(eviction) {
            Value::Str(text) => match &**text {
                "" => {}
                "evict_first" => attrs.push(Attr::Eviction(Eviction::First)),
                "evict_last" => attrs.push(Attr::Eviction(Eviction::Last)),
                other => {
                    let message = format!("there is no eviction policy `{other}`");
                    let hint = "it is evict_first or evict_last, or left out";
                    return self.fail(Code::KernelArgument, a.span(eviction), message, hint);
                }
            },
            _none => {}
        }
        Ok(attrs)
    }

    pub(super) fn load_access(&mut self, access: &Access, other: ValueId, attrs: &[Attr]) -> Tensor {
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

    pub(super) fn store_access(&mut self, access: &Access, value: ValueId, attrs: &[Attr]) {
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
    let mut attrs = body.hints(a, [5, 6])?;
    let is_uncached = matches!(a.value(5), Value::Str(text) if &**text == ".cv");
    if a.flag(body, 7, "`volatile`")? || is_uncached {
        attrs.push(Attr::Volatile);
    }
    if let Value::Block(block) = a.value(0) {
        body.no_descriptor(block, "load", a.span(0))?;
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
    let attrs = body.hints(a, [4, 5])?;
    if let Value::Block(block) = a.value(0) {
        body.no_descriptor(block, "store", a.span(0))?;
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

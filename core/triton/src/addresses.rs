//! Addresses as numbers. A kernel may take a pointer as an integer, count bytes with it and make a pointer of it again; and it may load pointers from a table of
//! addresses, which a launch gives as a tuple of arrays.
//!
//! Invariant: an address is a pointer whose index counts bytes. Which buffer it points into is known as it is of every pointer, so it means the same on every
//! device. An entry that a mask leaves out, and one that is not in the table, points nowhere: nothing is loaded there, and nothing is stored.

use super::body::{Body, Made};
use super::pointer::{MOST, Pointer, Role};
use super::value::{Dtype, Tensor, Value};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::{Op, Scalar, Type};

/// The number of the buffer that a pointer has which points nowhere.
pub(super) const NOWHERE: i128 = -1;

/// Whether a type can hold an address.
fn holds_addresses(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::I64 | Scalar::U64)
}

impl Body<'_, '_> {
    /// A table of addresses: one that is moved already, or a tuple of arrays that is used as one.
    pub(super) fn table(&self, value: &Value, span: Span) -> Made<Option<Pointer>> {
        let items = match value {
            Value::Pointer(pointer) if pointer.role == Role::Table => return Ok(Some(*pointer)),
            Value::Tuple(items) if !items.is_empty() => items,
            _no_table => return Ok(None),
        };
        let mut buffers = vec![];
        for item in items {
            match item {
                Value::Pointer(p) if p.role == Role::Elements && p.index.is_none() && p.shape.is_none() => {
                    buffers.extend(p.buffers.single());
                }
                _no_array => return Ok(None),
            }
        }
        match Pointer::table(&buffers) {
            Some(table) if buffers.len() == items.len() => Ok(Some(table)),
            _none => {
                let message = format!("a table of {} addresses is not available", items.len());
                let hint = format!("a table is a tuple of up to {MOST} arrays, each of them once");
                self.fail(Code::KernelPointer, span, message, &hint)
            }
        }
    }

    /// What a table holds at a place.
    pub(super) fn load_address(&mut self, table: Pointer, mask: (&Value, Span), other: (&Value, Span)) -> Made<Value> {
        if !matches!(other.0, Value::None | Value::Int(0)) {
            let message = "what is loaded in the place of an address is 0";
            return self.fail(Code::KernelPointer, other.1, message, "leave `other` out, or make it 0");
        }
        let address = Pointer { role: Role::Address, pointee: Scalar::U8, index: None, ..table };
        if table.buffers.single().is_some() {
            return Ok(Value::Pointer(address));
        }
        let index = self.wide_index(&table);
        let mut which = self.cast(Tensor { value: index, ty: self.b.ty(index) }, Scalar::I32);
        if !matches!(mask.0, Value::None) {
            let inside = self.tensor(mask.0, mask.1)?;
            let inside = self.cast(inside, Scalar::Bool);
            let shape = self.common_shape(inside.shape(), table.shape, mask.1)?;
            if shape != table.shape {
                let message = format!(
                    "a mask of shape {} does not fit a table's places of shape {}",
                    Self::shown(inside.shape()),
                    Self::shown(table.shape)
                );
                return self.fail(Code::KernelShape, mask.1, message, "make the pointer a tile of that shape");
            }
            let nowhere = self.int(Scalar::I32, NOWHERE);
            let nowhere = self.splat(nowhere, shape);
            let inside = self.broadcast_tensor(inside, shape);
            which = self.pick(inside, which, Tensor { value: nowhere, ty: which.ty });
        }
        Ok(Value::Pointer(Pointer { which: Some(which.value), ..address }))
    }

    /// A pointer in another type: to other elements, or as a number.
    pub(super) fn cast_pointer(&mut self, pointer: &Pointer, dtype: Dtype, span: Span) -> Made<Value> {
        let number = holds_addresses(dtype.scalar);
        match pointer.role {
            Role::Table if dtype.pointer && number => Ok(Value::Pointer(*pointer)),
            Role::Table => {
                let message = format!("a table of addresses cannot become `{dtype}`");
                self.fail(Code::KernelPointer, span, message, "load from it, and convert the address")
            }
            Role::Elements | Role::Address if dtype.pointer => {
                Ok(Value::Pointer(Pointer { role: Role::Elements, ..self.counted_in(pointer, dtype.scalar) }))
            }
            Role::Elements | Role::Address if number => {
                Ok(Value::Pointer(Pointer { role: Role::Address, ..self.counted_in(pointer, Scalar::U8) }))
            }
            Role::Elements | Role::Address => {
                let message = format!("a pointer cannot become `{dtype}`");
                self.fail(Code::KernelPointer, span, message, "an address has 64 bits: `.to(tl.int64)`")
            }
        }
    }

    /// A pointer whose index counts elements of another size.
    fn counted_in(&mut self, pointer: &Pointer, scalar: Scalar) -> Pointer {
        let (from, to) = (i128::from(pointer.pointee.bytes()), i128::from(scalar.bytes()));
        let mut index = pointer.index;
        if from != to && index.is_some() {
            let wide = self.wide_index(pointer);
            let ty: Type = self.b.ty(wide);
            let (op, factor) = if from > to { (Op::Mul, from / to) } else { (Op::Div, to / from) };
            let factor = self.int(Scalar::I64, factor);
            let factor = self.splat(factor, pointer.shape);
            index = Some(self.op(op, ty, &[wide, factor]).value);
        }
        Pointer { pointee: scalar, index, ..*pointer }
    }
}

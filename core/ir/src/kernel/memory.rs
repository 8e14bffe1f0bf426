//! Buffers of a kernel: elements of them are loaded, stored and updated by index.

use super::{Block, TileKernel};
use crate::attrs::{Attr, Order, Scope, Update};
use crate::function::ValueId;
use crate::ops::Op;
use crate::types::{Scalar, Type};

/// Memory that a kernel is given, with elements of one type. Indices count elements from its beginning, in `i32` or `i64`.
#[derive(Clone, Copy, Debug)]
pub struct Buffer<'k> {
    kernel: &'k TileKernel,
    value: ValueId,
    element: Scalar,
}

/// Which elements are accessed: all, or those where a condition holds.
#[derive(Clone, Copy, Debug)]
pub struct Mask<'k>(Option<Block<'k>>);

impl Mask<'_> {
    /// All elements: written as [`Mask::ALL`].
    pub const ALL: Mask<'static> = Mask(None);
}

impl<'k> Mask<'k> {
    /// The condition, which is `true` for all elements.
    #[track_caller]
    pub(super) fn value(self, kernel: &'k TileKernel) -> ValueId {
        let Some(condition) = self.0 else { return kernel.with(|b| b.bool(true)) };
        let condition = kernel.own(condition);
        if condition.element() != Scalar::Bool {
            kernel.wrong(format!("a {} is no mask", condition.describe()), "compare it with something");
        }
        condition.value
    }
}

impl<'k> From<Block<'k>> for Mask<'k> {
    fn from(condition: Block<'k>) -> Mask<'k> {
        Mask(Some(condition))
    }
}

impl<'k> Buffer<'k> {
    pub(super) fn new(kernel: &'k TileKernel, value: ValueId, element: Scalar) -> Buffer<'k> {
        Buffer { kernel, value, element }
    }

    /// What its elements are.
    pub fn element(self) -> Scalar {
        self.element
    }

    /// The value of the function that is written.
    pub fn id(self) -> ValueId {
        self.value
    }

    /// The elements at these places; zeros where they are masked off.
    #[track_caller]
    pub fn load(self, index: Block<'k>, mask: impl Into<Mask<'k>>) -> Block<'k> {
        let zero = self.kernel.with(|b| b.constant(self.element, 0));
        self.load_or(index, mask, self.kernel.block(zero))
    }

    /// The elements at these places, and others where they are masked off.
    #[track_caller]
    pub fn load_or(self, index: Block<'k>, mask: impl Into<Mask<'k>>, other: Block<'k>) -> Block<'k> {
        self.load_with(index, mask, other, &[])
    }

    /// The elements at these places as others may just have written them: each load asks memory, and stays where it is among other accesses.
    #[track_caller]
    pub fn load_volatile(self, index: Block<'k>, mask: impl Into<Mask<'k>>) -> Block<'k> {
        let zero = self.kernel.with(|b| b.constant(self.element, 0));
        self.load_with(index, mask, self.kernel.block(zero), &[Attr::Volatile])
    }

    /// The same with hints for caches, or [`Attr::Volatile`].
    #[track_caller]
    pub fn load_with(self, index: Block<'k>, mask: impl Into<Mask<'k>>, other: Block<'k>, attrs: &[Attr]) -> Block<'k> {
        let ty = Type::block(index.shape(), self.element);
        let inside = self.mask(index, mask.into());
        let other = self.kernel.own(other);
        let filler = if other.ty() == Type::Scalar(self.element) { other } else { self.fitted(index, other) };
        self.kernel.push(Op::TileLoad, ty, &[self.value, self.index(index), inside, filler.value], attrs)
    }

    /// Writes elements to these places, except where they are masked off.
    #[track_caller]
    pub fn store(self, index: Block<'k>, value: Block<'k>, mask: impl Into<Mask<'k>>) {
        self.store_with(index, value, mask, &[]);
    }

    /// The same with hints for caches.
    #[track_caller]
    pub fn store_with(self, index: Block<'k>, value: Block<'k>, mask: impl Into<Mask<'k>>, attrs: &[Attr]) {
        let ty = Type::block(index.shape(), self.element);
        let (inside, value) = (self.mask(index, mask.into()), self.fitted(index, value));
        let operands = [self.value, self.index(index), value.value, inside];
        self.kernel.with(|b| b.op_with(Op::TileStore, Some(ty), &operands, attrs));
    }

    /// Updates the elements at these places, each in one step, and gives what they were. Other accesses are not ordered by it.
    #[track_caller]
    pub fn update(self, update: Update, index: Block<'k>, value: Block<'k>, mask: impl Into<Mask<'k>>) -> Block<'k> {
        self.update_with(update, index, value, mask, &[])
    }

    /// The same, which orders the accesses around it for who is in a scope.
    #[track_caller]
    pub fn update_ordered(
        self,
        update: Update,
        index: Block<'k>,
        value: Block<'k>,
        mask: impl Into<Mask<'k>>,
        (order, scope): (Order, Scope),
    ) -> Block<'k> {
        self.update_with(update, index, value, mask, &[Attr::Order(order), Attr::Scope(scope)])
    }

    #[track_caller]
    fn update_with(
        self,
        update: Update,
        index: Block<'k>,
        value: Block<'k>,
        mask: impl Into<Mask<'k>>,
        attrs: &[Attr],
    ) -> Block<'k> {
        let ty = Type::block(index.shape(), self.element);
        let (inside, value) = (self.mask(index, mask.into()), self.fitted(index, value));
        let operands = [self.value, self.index(index), value.value, inside];
        self.kernel.push(Op::TileAtomic, ty, &operands, &[&[Attr::Update(update)], attrs].concat())
    }

    /// Replaces the elements at these places that are as expected, each in one step, and gives what they were. Other accesses are not ordered by it.
    #[track_caller]
    pub fn compare_exchange(self, index: Block<'k>, expected: Block<'k>, new: Block<'k>) -> Block<'k> {
        self.compare_exchange_with(index, expected, new, &[])
    }

    /// The same, which orders the accesses around it for who is in a scope.
    #[track_caller]
    pub fn compare_exchange_ordered(
        self,
        index: Block<'k>,
        expected: Block<'k>,
        new: Block<'k>,
        (order, scope): (Order, Scope),
    ) -> Block<'k> {
        self.compare_exchange_with(index, expected, new, &[Attr::Order(order), Attr::Scope(scope)])
    }

    #[track_caller]
    fn compare_exchange_with(self, index: Block<'k>, expected: Block<'k>, new: Block<'k>, attrs: &[Attr]) -> Block<'k> {
        let ty = Type::block(index.shape(), self.element);
        let (expected, new) = (self.fitted(index, expected), self.fitted(index, new));
        let inside = self.mask(index, Mask::ALL);
        let operands = [self.value, self.index(index), expected.value, new.value, inside];
        self.kernel.push(Op::TileCompareExchange, ty, &operands, attrs)
    }

    #[track_caller]
    fn index(self, index: Block<'k>) -> ValueId {
        let index = self.kernel.own(index);
        if !(index.element().is_integer() && index.element().bits() >= 32) {
            let hint = "use `to(Scalar::I32)` or `to(Scalar::I64)`";
            self.kernel.wrong(format!("a {} is no index", index.describe()), hint);
        }
        index.value
    }

    #[track_caller]
    fn mask(self, index: Block<'k>, mask: Mask<'k>) -> ValueId {
        let value = mask.value(self.kernel);
        let condition = self.kernel.block(value);
        if condition.shape().is_some() { self.shaped(index, condition).value } else { value }
    }

    /// A value of the buffer's element in the shape of an index.
    #[track_caller]
    fn fitted(self, index: Block<'k>, value: Block<'k>) -> Block<'k> {
        let value = self.kernel.own(value);
        if value.element() != self.element {
            let message = format!("a {} meets a buffer of `{}`", value.describe(), self.element);
            self.kernel.wrong(message, "convert it with `to`");
        }
        self.shaped(index, value)
    }

    #[track_caller]
    fn shaped(self, index: Block<'k>, value: Block<'k>) -> Block<'k> {
        match index.shape() {
            Some(shape) => value.broadcast_to(&shape.to_vec()),
            None => value,
        }
    }
}

//! Tests of words of which the flow says what they may be: none where it leaves no choice, the cheapest one otherwise.

use super::super::flow::{Set, What};
use super::Lowering;
use super::words::{tag, tag_of};
use super::writer::TermWriter;
use girih_ir::heap::LayoutId;
use girih_ir::{Op, Scalar, ValueId};

impl Lowering<'_> {
    /// The layouts of the cells that a set holds.
    pub(crate) fn cells_of(&mut self, set: &Set) -> Vec<LayoutId> {
        let shapes = set.shapes.iter().filter(|shape| !self.is_flat(**shape)).copied().collect::<Vec<_>>();
        let boxes = set.numbers.iter().filter(|kind| tag_of(*kind).is_none()).collect::<Vec<_>>();
        let mut layouts: Vec<LayoutId> = shapes.into_iter().map(|shape| self.shape(shape)).collect();
        layouts.extend(boxes.into_iter().map(|kind| self.boxed(kind)));
        layouts
    }

    /// Whether a set holds something that is no cell.
    pub(crate) fn has_flat(&self, set: &Set) -> bool {
        let Set { numbers, era, units, shapes, functions, thunks, makers, selectors, external: _ } = set;
        *era || !units.is_empty()
            || !(functions.is_empty() && thunks.is_empty() && makers.is_empty() && selectors.is_empty())
            || numbers.iter().any(|kind| tag_of(kind).is_some())
            || shapes.iter().any(|shape| self.is_flat(*shape))
    }

    /// Whether what is of a shape needs no cell: a function that captures nothing.
    fn is_flat(&self, shape: super::ShapeId) -> bool {
        match self.flow.shapes()[shape].what {
            What::Closure(lambda) => self.lambda_parts(lambda).1.is_empty(),
            What::Ctor(_) | What::Pair | What::Partial(..) => false,
        }
    }
}

impl TermWriter<'_, '_> {
    /// Whether a word of a set is, or by `Op::Ne` is not, a cell of a layout. None if it always is.
    pub(super) fn is_layout(&mut self, op: Op, word: ValueId, set: &Set, layout: LayoutId) -> Option<ValueId> {
        let only = self.all.cells_of(set).into_iter().all(|other| other == layout);
        let (found, wanted) = match (only, self.all.has_flat(set)) {
            (true, false) => return None,
            (true, true) => (self.b.tag(word), tag::CELL),
            (false, false) => (self.b.cell_layout(word), layout.index() as u32),
            (false, true) => (self.layout_or_none(word), layout.index() as u32),
        };
        let wanted = self.b.u32(wanted);
        Some(self.b.op(op, Scalar::U32, &[found, wanted]))
    }
}

//! Guards: an access whose place follows from what an assertion has looked at is made only for the elements for which that assertion holds.
//!
//! A failed assertion is reported, and does not end the program. Without a guard, a kernel that asserts the range of an index would still read, or write, beyond it.
//! Invariant: a guard only takes elements away from an access, and only where an assertion has failed; so kernels whose assertions hold do the same without guards.

use super::body::{Body, Made};
use super::value::Tensor;
use girih_base::span::Span;
use girih_ir::ops::Effect;
use girih_ir::{Def, Op, Scalar, Shape, Type, ValueId};
use std::collections::BTreeSet;

/// An assertion that stands before what is written next.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    condition: Tensor,
    /// What the condition was computed from.
    sources: BTreeSet<ValueId>,
}

impl Body<'_, '_> {
    /// What is accessed from here on, until the end of the region, is guarded by a condition.
    pub(super) fn guard(&mut self, condition: Tensor) {
        let sources = self.sources(condition.value);
        self.guards.push(Guard { condition, sources });
    }

    /// The mask of an access at these places, without the elements for which an assertion about them has failed.
    pub(super) fn guarded(&mut self, mut inside: ValueId, places: ValueId, shape: Option<Shape>) -> Made<ValueId> {
        if self.guards.is_empty() {
            return Ok(inside);
        }
        let sources = self.sources(places);
        for Guard { condition, sources: looked_at } in self.guards.clone() {
            // A condition of another shape is not about these places.
            let fits = self.common_shape(condition.shape(), shape, Span::NONE).is_ok_and(|common| common == shape);
            if !fits || !looked_at.is_empty() && looked_at.is_disjoint(&sources) {
                continue;
            }
            let (condition, mask) = (self.whole(condition, shape), Tensor { value: inside, ty: self.b.ty(inside) });
            let (mask, ty) = (self.whole(mask, shape), Type::block(shape, Scalar::Bool));
            inside = self.op(Op::And, ty, &[mask, condition]).value;
        }
        Ok(inside)
    }

    /// A truth value, or a tile of them, in a shape.
    fn whole(&mut self, tensor: Tensor, shape: Option<Shape>) -> ValueId {
        if shape.is_none() { tensor.value } else { self.broadcast_tensor(tensor, shape).value }
    }

    /// What a value was computed from that is known to no other program: what was loaded, and what loops and branches have given.
    fn sources(&self, value: ValueId) -> BTreeSet<ValueId> {
        let function = &self.b.function;
        let (mut found, mut seen, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![value]);
        while let Some(value) = open.pop() {
            if !seen.insert(value) {
                continue;
            }
            match function.values[value].def {
                Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) => {}
                Def::Argument(..) => drop(found.insert(value)),
                Def::Result(id, _) => {
                    let inst = &function.insts[id];
                    if inst.regions.is_empty() && inst.op.row().effect == Effect::Pure {
                        open.extend(inst.operands.iter().copied());
                    } else {
                        found.insert(value);
                    }
                }
            }
        }
        found
    }
}

//! Where each element of a view comes from.

use super::grid::{Grid, Place};
use crate::attrs::AttrKind;
use crate::graph::Node;
use crate::ops::View;

/// The operand's place that an element of the result is taken from; none where the view has a number of its own.
pub fn source(node: &Node, view: View, [from, result]: [&Grid; 2], place: Place) -> Option<Place> {
    let number = |kind| node.list(kind).first().copied().unwrap_or(1);
    let mut to = place;
    match view {
        View::Broadcast => Some(Place::of((0..place.len()).map(|i| if from.lengths[i] == 1 { 0 } else { place[i] }))),
        View::Reshape => {
            let at = result.offset(&place);
            Some(from.places(at))
        }
        View::Permute => {
            node.list(AttrKind::Axes).iter().zip(&*place).for_each(|(axis, at)| to[*axis as usize] = *at);
            Some(to)
        }
        View::Slice => {
            let (start, step) = (node.list(AttrKind::Start), node.list(AttrKind::Step));
            Some(Place::of((0..place.len()).map(|i| start[i] + place[i] * step[i])))
        }
        View::Pad => {
            let low = node.list(AttrKind::Low);
            for (i, at) in to.iter_mut().enumerate() {
                *at = place[i].checked_sub(low[i]).filter(|at| *at < from.lengths[i])?;
            }
            Some(to)
        }
        View::Flip => {
            node.list(AttrKind::Axes).iter().for_each(|axis| {
                let axis = *axis as usize;
                to[axis] = from.lengths[axis] - 1 - place[axis];
            });
            Some(to)
        }
        View::Skew => {
            let row = place[place.len() - 1];
            to[node.axis()] = place[node.axis()] * number(AttrKind::Stride) + row * number(AttrKind::Dilation);
            Some(to)
        }
        View::Unskew => {
            let row = place[place.len() - 1];
            let along = place[node.axis()].checked_sub(row * number(AttrKind::Dilation))?;
            let stride = number(AttrKind::Stride);
            to[node.axis()] = along / stride;
            (along % stride == 0 && to[node.axis()] < from.lengths[node.axis()]).then_some(to)
        }
    }
}

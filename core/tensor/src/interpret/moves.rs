//! Where each element of a view comes from.

use crate::attrs::AttrKind;
use crate::graph::Node;
use crate::ops::View;
use crate::size::TensorType;

/// The operand's place that an element is taken from; none where the view has a number of its own.
pub fn source(node: &Node, view: View, from: &TensorType, place: &[u64]) -> Option<Vec<u64>> {
    let number = |kind| node.list(kind).first().copied().unwrap_or(1);
    let mut to = place.to_vec();
    match view {
        View::Broadcast => {
            Some((0..place.len()).map(|i| if from.shape.length(i) == 1 { 0 } else { place[i] }).collect())
        }
        View::Reshape => {
            let at = super::offset(place, &node.ty.shape) as u64;
            Some(super::places(at, &from.shape))
        }
        View::Permute => {
            node.list(AttrKind::Axes).iter().zip(place).for_each(|(axis, at)| to[*axis as usize] = *at);
            Some(to)
        }
        View::Slice => {
            let (start, step) = (node.list(AttrKind::Start), node.list(AttrKind::Step));
            Some((0..place.len()).map(|i| start[i] + place[i] * step[i]).collect())
        }
        View::Pad => {
            let low = node.list(AttrKind::Low);
            let inside = |i: usize| place[i].checked_sub(low[i]).filter(|at| *at < from.shape.length(i));
            (0..place.len()).map(inside).collect()
        }
        View::Flip => {
            node.list(AttrKind::Axes).iter().for_each(|axis| {
                let axis = *axis as usize;
                to[axis] = from.shape.length(axis) - 1 - place[axis];
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
            (along % stride == 0 && to[node.axis()] < from.shape.length(node.axis())).then_some(to)
        }
    }
}

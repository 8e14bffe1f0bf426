//! Layouts hold every element, and views rename bits.

use girih_ir::Shape;
use girih_lower::tile::layout::{FREE, Layout, before_broadcast, permuted, without_axis};

fn shape(lengths: &[u64]) -> Option<Shape> {
    Shape::of(lengths)
}

/// The elements that an invocation holds, in the order of its registers.
fn held(layout: &Layout, thread: u32) -> Vec<u32> {
    let own: u32 =
        layout.threads.iter().enumerate().filter(|(_, b)| **b != FREE).map(|(i, b)| (thread >> i & 1) << b).sum();
    (0..layout.count()).map(|register| own + layout.element(register)).collect()
}

#[test]
fn blocked_layouts_give_neighbours_to_an_invocation() {
    let layout = Layout::blocked(shape(&[4, 16]), &[1, 0], 2, 3);
    assert_eq!(held(&layout, 0), [0, 1, 2, 3, 32, 33, 34, 35]);
    assert_eq!(held(&layout, 5), [20, 21, 22, 23, 52, 53, 54, 55]);
    // The first dimension is the fastest: a matrix by columns.
    let layout = Layout::blocked(shape(&[4, 16]), &[0, 1], 2, 3);
    assert_eq!(held(&layout, 1)[..5], [1, 17, 33, 49, 9]);
    // Fewer elements than invocations: some hold the same.
    let layout = Layout::blocked(shape(&[4]), &[0], 0, 3);
    assert_eq!((layout.free(), held(&layout, 6)), (4, vec![2]));
}

#[test]
fn every_element_is_held() {
    for (lengths, order, vector) in [(&[8, 4, 2][..], &[2, 1, 0][..], 1), (&[64], &[0], 3), (&[2, 32], &[0, 1], 1)] {
        let layout = Layout::blocked(shape(lengths), order, vector, 4);
        let mut all: Vec<u32> = (0..16).flat_map(|t| held(&layout, t)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len() as u64, lengths.iter().product::<u64>());
    }
}

#[test]
fn views_rename_bits() {
    let (from, to) = (shape(&[4, 1]), shape(&[4, 8]));
    let map = before_broadcast(from, to);
    assert_eq!((0..5).map(&map).collect::<Vec<_>>(), [None, None, None, Some(0), Some(1)]);
    // 4 x 8 becomes 8 x 4: the lowest two bits are the old rows.
    let back = permuted(shape(&[8, 4]), &[1, 0], true);
    assert_eq!((0..5).map(&back).collect::<Vec<_>>(), [Some(3), Some(4), Some(0), Some(1), Some(2)]);
    let forth = permuted(shape(&[8, 4]), &[1, 0], false);
    assert!((0..5).all(|bit| forth(back(bit).unwrap_or(9)) == Some(bit)));
    let sliced = without_axis(shape(&[4, 8, 2]), 1);
    assert_eq!((0..6).map(&sliced).collect::<Vec<_>>(), [Some(0), None, None, None, Some(1), Some(2)]);
}

//! Shapes of cells, and what is known of one of two values.

use girih_ir::heap::{self, LayoutId};
use girih_task::flatten::known::{Known, Shapes};

fn leaf(shapes: &mut Shapes, units: Option<u32>) -> Known {
    let shape = shapes.of(LayoutId::new(1), units, [Known::Number(7)]);
    Known::Cell { shape, owned: true, path: None }
}

#[test]
fn trees_of_one_form_have_one_shape() {
    let mut shapes = Shapes::default();
    let (a, b) = (leaf(&mut shapes, Some(1)), leaf(&mut shapes, Some(1)));
    assert_eq!(a, b);
    let node = |shapes: &mut Shapes, fields: [Known; 2]| shapes.of(LayoutId::new(0), Some(2), fields);
    let (x, y) = (node(&mut shapes, [a, b]), node(&mut shapes, [b, a]));
    assert_eq!(x, y);
    assert_ne!(x, node(&mut shapes, [a, Known::Unknown]));
}

#[test]
fn of_two_values_the_same_is_known() {
    let mut shapes = Shapes::default();
    let (small, large, shared) =
        (leaf(&mut shapes, Some(1)), leaf(&mut shapes, Some(2)), leaf(&mut shapes, Some(1)).shared());
    assert_eq!(shapes.either(small, small), small);
    assert_eq!(shapes.either(small, large), leaf(&mut shapes, None));
    assert_eq!(shapes.either(small, shared), Known::Unknown);
    assert_eq!(shapes.either(Known::Number(1), Known::Number(2)), Known::Unknown);
    assert_eq!(shapes.either(Known::Word(heap::pack(3, 1)), Known::Tagged(3)), Known::Tagged(3));
    assert_eq!(shapes.either(Known::Word(heap::NO_REUSE_TOKEN), Known::Tagged(3)), Known::Unknown);
}

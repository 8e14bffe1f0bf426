//! Shapes of tiles.

use girih_ir::Shape;

#[test]
fn shapes_have_powers_of_two() {
    let shape = Shape::of(&[4, 1, 16]).expect("a shape");
    assert_eq!((shape.rank(), shape.elements(), shape.to_string()), (3, 64, "4x1x16".into()));
    assert_eq!((shape.strides(), shape.length(2), shape.length(7)), (vec![16, 16, 1], 16, 1));
    assert_eq!(shape.without(1), Shape::of(&[4, 16]));
    for bad in [&[][..], &[3], &[0], &[1 << 21], &[1 << 20, 2], &[1; 9]] {
        assert_eq!(Shape::of(bad), None, "{bad:?}");
    }
    assert_eq!(Shape::of(&[8]).and_then(|s| s.without(0)), None);
}

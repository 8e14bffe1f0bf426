//! Paths and the addresses that they give.

use girih_task::flatten::place::{BITS, Bit, PathId, Paths, Stand};

/// The path of a cell by bits: 0 and 1 are constants, letters bits of the instance.
fn path(paths: &mut Paths, text: &str) -> PathId {
    let bit = |c| match c {
        '0' => Bit::Const(false),
        '1' => Bit::Const(true),
        letter => Bit::Of(letter as u8 - b'a'),
    };
    paths.of(text.chars().map(bit).collect())
}

#[test]
fn a_row_is_side_by_side() {
    let mut paths = Paths::default();
    let number = paths.number(4);
    let address = paths.address(&Stand::row(10, 2, 4), number, 4).unwrap();
    assert_eq!((0..4).map(|i| address.word(i) >> 3).collect::<Vec<_>>(), [10, 12, 14, 16]);
    assert_eq!(address.terms[1], (0, 0));
}

#[test]
fn halves_of_a_tree_are_two_terms() {
    let mut paths = Paths::default();
    let row = Stand::row(100, 1, 5);
    let left = path(&mut paths, "ab0cd");
    let right = path(&mut paths, "ab1cd");
    let (a, b) = (paths.address(&row, left, 4).unwrap(), paths.address(&row, right, 4).unwrap());
    for i in 0..16 {
        assert_eq!(a.word(i) >> 3, 100 + (i >> 2) * 8 + (i & 3));
        assert_eq!(b.word(i) >> 3, 104 + (i >> 2) * 8 + (i & 3));
    }
    assert_eq!(a.terms, b.terms);
    assert_eq!(a.terms[2], (0, 0));
}

#[test]
fn too_many_terms_are_no_address() {
    let mut paths = Paths::default();
    let scattered = path(&mut paths, "a0b0c0d0e0f0");
    assert_eq!(paths.address(&Stand::row(0, 1, 12), scattered, 6), None);
}

#[test]
fn paths_go_into_calls_and_come_back() {
    let mut paths = Paths::default();
    let [a, b] = ["ab10", "ab00"].map(|text| path(&mut paths, text));
    let both = paths.pair(a, b, Bit::Of(2)).unwrap();
    assert_eq!([0, 1].map(|which| paths.one_of(both, 2, which, 1)), [a, b]);
    let both_of_two = paths.pair(a, b, Bit::Of(3)).unwrap();
    assert_eq!([0, 1, 2, 3].map(|which| paths.one_of(both_of_two, 2, which, 2)), [a, b, a, b]);
    let [a, c] = ["ab", "ba"].map(|text| path(&mut paths, text));
    assert_eq!(paths.pair(a, c, Bit::Of(2)), None);
}

#[test]
fn a_path_grows_no_longer_than_its_bits_can_be_counted() {
    let mut paths = Paths::default();
    let mut path = paths.number(3);
    while let Some(longer) = paths.and(path, Bit::Const(false)) {
        path = longer;
    }
    let mut longest = vec![Bit::Of(0), Bit::Of(1), Bit::Of(2)];
    longest.resize(BITS, Bit::Const(false));
    assert_eq!(path, paths.of(longest));
}

#[test]
fn what_is_relative_is_found_again() {
    let mut paths = Paths::default();
    let cell = path(&mut paths, "ab0");
    for text in ["ab01", "ab10", "b0", "1"] {
        let field = path(&mut paths, text);
        let relative = paths.relative(field, cell).unwrap();
        assert_eq!(paths.by(relative, cell), field, "{text}");
    }
    let field = path(&mut paths, "ab00");
    let relative = paths.relative(field, cell).unwrap();
    assert_eq!(relative, path(&mut paths, "abc0"));
    let stranger = path(&mut paths, "d");
    assert_eq!(paths.relative(stranger, cell), None);
}

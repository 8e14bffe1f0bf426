//! Sets of invocations: all ways to look at one agree.

use girih_machine::interp::mask::{LANES, Mask};

/// How many invocations are in a set, each looked up.
fn count_of(mask: &Mask) -> usize {
    (0..LANES).filter(|lane| mask.has(*lane)).count()
}

#[test]
fn sets_of_invocations() {
    for count in [0, 1, 63, 64, 65, 1000, 1024] {
        let mask = Mask::first(count);
        assert_eq!(count_of(&mask), count);
        assert!(mask.iter().eq(0..count));
        let mut seen = vec![];
        mask.each(|lane| seen.push(lane));
        assert!(seen.into_iter().eq(0..count));
        let even = mask.filter(|lane| lane % 2 == 0);
        assert_eq!(even.or(mask.without(even)), mask);
        assert_eq!(count_of(&even), count.div_ceil(2));
        assert!(!even.has(1) && !mask.has(count));
    }
}

//! The phases of an mbarrier.

use girih_machine::interp::mbarriers::State;

#[test]
fn phases_follow_each_other() {
    // Three arrivals complete a phase, and three are missing.
    let mut state = State::of(3 | 3 << 20);
    let mut complete = vec![];
    for _ in 0..7 {
        complete.push((state.is_complete(0), state.is_complete(1)));
        state = State::of(state.arrive().bits());
    }
    let (under_way, odd) = ((false, true), (true, false));
    assert_eq!(complete, [under_way, under_way, under_way, odd, odd, odd, under_way]);
}

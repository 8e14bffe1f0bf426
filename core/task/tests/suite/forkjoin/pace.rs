//! How much is submitted at once, by a clock that the tests set.

use girih_task::forkjoin::runner::ForkJoinOptions;
use girih_task::forkjoin::runner::pace::Pace;
use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

fn options() -> ForkJoinOptions {
    ForkJoinOptions { steps: 1024, batch: 64, ..ForkJoinOptions::default() }
}
fn pace() -> Pace {
    Pace::new(&options(), Some(|| NOW.get()))
}
/// A submission whose supersteps take so many microseconds each.
fn pass(pace: &mut Pace, each: u64) {
    let (began, supersteps) = (pace.now(), pace.batch() as u32);
    NOW.set(began + Duration::from_micros(each) * supersteps);
    pace.note(began, supersteps, true);
}

#[test]
fn without_a_clock_submissions_grow_and_steps_stay() {
    let mut pace = Pace::new(&options(), None);
    let mut batches = vec![];
    for _ in 0..6 {
        batches.push(pace.batch());
        pace.note(pace.now(), 1, true);
    }
    assert_eq!((batches, pace.steps()), (vec![4, 8, 16, 32, 64, 64], 1024));
    pace.begin();
    assert_eq!(pace.batch(), 4);
}

#[test]
fn the_host_looks_often() {
    let mut pace = pace();
    for each in [10, 10, 10, 10, 10, 5_000, 900, 900, 40_000, 40_000] {
        pass(&mut pace, each);
    }
    assert_eq!(pace.batch(), 1);
    for _ in 0..10 {
        pass(&mut pace, 1_000);
    }
    assert_eq!(pace.batch(), 25);
}

#[test]
fn long_dispatches_become_shorter_and_short_ones_longer_again() {
    let mut pace = pace();
    // A lane's segment takes 80 microseconds.
    for _ in 0..4 {
        let each = 80 * u64::from(pace.steps());
        pass(&mut pace, each);
    }
    let each = 80 * u64::from(pace.steps());
    assert!((1_000..=10_000).contains(&each), "{each} us");
    for _ in 0..20 {
        let each = u64::from(pace.steps());
        pass(&mut pace, each);
    }
    assert_eq!(pace.steps(), 1024);
    // Something that is slow whatever is done is not made smaller without end.
    for _ in 0..20 {
        pass(&mut pace, 1_000_000);
    }
    assert_eq!((pace.steps(), pace.batch()), (16, 1));
}

#[test]
fn dispatches_without_work_left_need_no_more_steps() {
    let mut pace = pace();
    pass(&mut pace, 100_000);
    let steps = pace.steps();
    assert!(steps < 1024);
    for _ in 0..5 {
        let began = pace.now();
        pace.note(began, 1, false);
    }
    assert_eq!(pace.steps(), steps);
}

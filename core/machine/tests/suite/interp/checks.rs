//! Which accesses race, in a superstep, over barriers and over workgroups.

use Access::{AtomicRead, AtomicWrite, Read, Write};
use girih_ir::attrs::Spaces;
use girih_machine::interp::checks::{Access, Checks, Conflict, Shadows};

fn checks() -> Checks {
    Checks::new(&mut Shadows::default(), 2, [64].into_iter(), 64)
}

/// Accesses (lane, how) in one superstep; whether the last one races and no earlier one does.
fn races(accesses: &[(usize, Access)]) -> bool {
    let mut checks = checks();
    checks.begin_workgroup();
    let found: Vec<bool> =
        accesses.iter().map(|(lane, access)| checks.access(None, 8, 4, *lane, *access).is_some()).collect();
    assert!(!found[..found.len() - 1].contains(&true));
    found[found.len() - 1]
}

#[test]
fn since_its_start() {
    assert!(races(&[(0, Write), (1, Read)]));
    assert!(races(&[(0, Read), (1, Write)]));
    assert!(races(&[(0, Write), (1, Write)]));
    assert!(races(&[(0, Read), (1, Read), (1, Write)]));
    assert!(races(&[(0, Read), (1, Read), (0, Write)]));
    assert!(races(&[(0, AtomicWrite), (1, Read)]));
    assert!(races(&[(0, AtomicWrite), (1, AtomicWrite), (1, Read)]));
    assert!(races(&[(0, Read), (1, AtomicRead), (1, AtomicWrite)]));
    assert!(races(&[(0, AtomicRead), (1, Write)]));
    assert!(!races(&[(0, Write), (0, Read), (0, Write)]));
    assert!(!races(&[(0, Read), (1, Read), (2, Read)]));
    assert!(!races(&[(0, AtomicWrite), (1, AtomicWrite), (2, AtomicRead)]));
    assert!(!races(&[(0, AtomicRead), (1, Read)]));
}

#[test]
fn barriers_order_the_spaces_they_name() {
    let mut checks = checks();
    checks.begin_workgroup();
    for buffer in [None, Some(0)] {
        assert_eq!(checks.access(buffer, 0, 16, 0, Write), None);
    }
    checks.barrier(Spaces { global: false, shared: true });
    assert_eq!(checks.access(None, 12, 4, 1, Read), None);
    let conflict = Conflict { foreign: false, lane: Some(0), wrote: true };
    assert_eq!(checks.access(Some(0), 12, 4, 1, Read), Some(conflict));
    assert_eq!(checks.access(Some(0), 16, 4, 1, Write), None);
}

#[test]
fn across_workgroups_nothing_orders_but_an_acquire() {
    let other = |first: Access, then: Access, acquired: bool| {
        let mut checks = checks();
        checks.begin_workgroup();
        checks.access(Some(0), 4, 4, 0, first);
        checks.barrier(Spaces { global: true, shared: true });
        checks.begin_workgroup();
        if acquired {
            checks.acquire();
        }
        checks.access(Some(0), 4, 4, 0, then).map(|c| c.foreign)
    };
    for (first, then, race) in [
        (Write, Read, true),
        (Read, Write, true),
        (Write, Write, true),
        (AtomicWrite, Read, true),
        (Read, Read, false),
        (AtomicWrite, AtomicWrite, false),
        (AtomicWrite, AtomicRead, false),
    ] {
        assert_eq!(other(first, then, false), race.then_some(true), "{first:?}, {then:?}");
        assert_eq!(other(first, then, true), None, "{first:?}, {then:?} after an acquire");
    }
}

#[test]
fn readers_and_atomics_of_earlier_workgroups_are_not_forgotten() {
    let mut checks = checks();
    checks.begin_workgroup();
    checks.access(Some(0), 0, 4, 3, Read);
    checks.access(Some(0), 4, 4, 3, AtomicWrite);
    checks.begin_workgroup();
    assert_eq!(checks.access(Some(0), 0, 4, 3, Read), None);
    assert_eq!(checks.access(Some(0), 4, 4, 3, AtomicWrite), None);
    assert!(checks.access(Some(0), 0, 4, 3, Write).is_some_and(|c| c.foreign));
    assert!(checks.access(Some(0), 4, 4, 3, Read).is_some_and(|c| c.foreign));
}

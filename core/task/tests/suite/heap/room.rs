//! How the sizes of buffers are fitted to what a device has room for.

use girih_base::diag::{Code, Diagnostic};
use girih_ir::Caps;
use girih_task::forkjoin::Form;
use girih_task::forkjoin::memory::ProgramSizes;
use girih_task::forkjoin::runner::ForkJoinOptions;
use girih_task::heap::room::{FRAMES_OF_LANE, MOST_HEAP, fitted, formed, more_frames, room_behind, sizes};

const SHAPE: ProgramSizes = ProgramSizes {
    workgroup: 128,
    registers: 10,
    results: 2,
    kept: 6,
    stack: 16,
    near: 0,
    pushes: 2,
    largest: 2,
    reserve: 2,
    globals: 0,
};

fn caps(bytes: u64) -> Caps {
    let mut caps = Caps::web();
    (caps.binding_bytes, caps.buffer_bytes) = (bytes, bytes);
    caps
}

fn fit(options: ForkJoinOptions, shape: &ProgramSizes, caps: &Caps) -> Result<ForkJoinOptions, Diagnostic> {
    fitted(options, shape, caps, caps.binding_bytes)
}

#[test]
fn what_fits_stays() {
    let options = ForkJoinOptions { lanes: 1 << 10, frames: 1 << 15, heap: 8 << 20, ..ForkJoinOptions::default() };
    assert_eq!(fit(options, &SHAPE, &caps(128 << 20)), Ok(options));
}

#[test]
fn lanes_and_frames_are_fewer_where_bindings_are_small() {
    let options = ForkJoinOptions { lanes: 1 << 18, frames: 5 << 20, heap: 8 << 20, ..ForkJoinOptions::default() };
    let found = fit(options, &SHAPE, &caps(128 << 20)).expect("there is room");
    assert!(found.frames.is_power_of_two() && found.frames < 1 << 23 && found.lanes < 1 << 18, "{found:?}");
    assert!(sizes(&found, &SHAPE).iter().all(|bytes| *bytes <= 128 << 20), "{found:?}");
    // Nothing is smaller than it needs to be.
    assert!(sizes(&ForkJoinOptions { frames: 2 * found.frames, ..found }, &SHAPE).iter().any(|b| *b > 128 << 20));
    let lanes = 2 * found.lanes;
    let more = ForkJoinOptions { lanes, frames: found.frames.max(FRAMES_OF_LANE * lanes), ..found };
    assert!(sizes(&more, &SHAPE).iter().any(|b| *b > 128 << 20));
}

#[test]
fn a_heap_that_is_too_large_is_refused() {
    let options = |heap| ForkJoinOptions { heap, most_heap: heap, ..ForkJoinOptions::default() };
    let refused = |heap, reach| fit(options(heap), &SHAPE, &caps(reach)).map_err(|d| d.code).err();
    assert_eq!(refused(129 << 20, 128 << 20), Some(Code::OverLimit));
    assert_eq!(refused(128 << 20, 128 << 20), None);
    let large = caps(1 << 40);
    assert_eq!(fit(options(MOST_HEAP + 8), &SHAPE, &large).map_err(|d| d.code).err(), Some(Code::OverLimit));
    // Behind it lanes have room that find no memory.
    let behind = room_behind(ForkJoinOptions::default().lanes, &SHAPE);
    assert_eq!(fit(options(MOST_HEAP), &SHAPE, &large).map(|o| o.most_heap), Ok(MOST_HEAP - behind));
}

#[test]
fn a_heap_may_be_larger_than_a_binding() {
    let options = ForkJoinOptions { heap: 300 << 20, most_heap: 512 << 20, ..ForkJoinOptions::default() };
    let found = fitted(options, &SHAPE, &caps(128 << 20), 512 << 20).expect("there is room");
    let behind = room_behind(found.lanes, &SHAPE);
    assert_eq!((found.heap, found.most_heap), (300 << 20, (512 << 20) - behind));
    assert!(fitted(options, &SHAPE, &caps(128 << 20), 511 << 20).is_err());
}

#[test]
fn pools_grow_as_far_as_options_and_bindings_allow() {
    let options = |frames| ForkJoinOptions { frames, most_frames: 1 << 20, ..ForkJoinOptions::default() };
    let more = |frames, reach| more_frames(&options(frames), &SHAPE, &caps(reach));
    assert_eq!(
        (more(1 << 14, 1 << 30), more(1 << 19, 1 << 30), more(1 << 20, 1 << 30)),
        (Some(1 << 16), Some(1 << 20), None)
    );
    // A queue has two tasks of 12 words for each frame, and rings.
    assert_eq!((more(1 << 18, 64 << 20), more(1 << 18, 32 << 20)), (Some(1 << 19), None));
}

#[test]
fn functions_that_keep_too_much_are_refused() {
    let shape = ProgramSizes { kept: 1 << 20, ..SHAPE };
    let options = ForkJoinOptions { heap: 1 << 20, ..ForkJoinOptions::default() };
    assert_eq!(fit(options, &shape, &caps(1 << 20)).map_err(|d| d.code).err(), Some(Code::OverLimit));
}

/// Frames, the ring of free ones and the words of a workgroup stand in shared memory together.
#[test]
fn newest_frames_have_the_shared_memory_that_there_is() {
    let near = |bytes: u32| {
        let mut caps = Caps::web();
        caps.shared_bytes = bytes;
        formed(Form::FAST, &caps).near
    };
    assert_eq!((near(16 << 10), near(32 << 10), near(48 << 10)), (27, 48, 48));
    assert_eq!((near(2000), Caps::web().shared_bytes), (0, 16 << 10));
}

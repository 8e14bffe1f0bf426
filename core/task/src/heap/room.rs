//! How large the buffers of a program by fork-join are, and what of that a device has room for.

use crate::forkjoin::Form;
use crate::forkjoin::memory::{ProgramSizes, group, lane};
use crate::forkjoin::runner::ForkJoinOptions;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::Caps;
use girih_runtime::Device;

/// Most bytes of a heap: words have 29 bits for the number of a unit of 8 bytes.
pub const MOST_HEAP: u64 = 1 << 32;
/// Frames that a pool has at least for each lane: workgroups keep some for themselves.
pub const FRAMES_OF_LANE: u32 = 8;

/// Bytes of the buffers, in the order of [`Buffers`](crate::forkjoin::memory::Buffers).
pub fn sizes(options: &ForkJoinOptions, shape: &ProgramSizes) -> [u64; 5] {
    let (lanes, frames) = (u64::from(options.lanes), u64::from(options.frames));
    let groups = options.lanes / options.form.workgroup;
    let rings = u64::from(groups) * u64::from(shape.ring());
    let words = [
        options.heap / 4 + room_behind(options.lanes, shape) / 4,
        frames * u64::from(shape.pool_frame() + 2) + lanes * u64::from(lane::CLASSES),
        frames,
        (2 * frames + rings) * u64::from(shape.task()),
        u64::from(shape.control(groups)),
    ];
    words.map(|count| 4 * count)
}

/// The form with no more frames in shared memory than a device has room for beside what a workgroup needs.
pub fn formed(form: Form, caps: &Caps) -> Form {
    let shape = ProgramSizes { workgroup: form.workgroup, ..ProgramSizes::default() };
    // A word more says what the workgroup does next.
    let others = shape.spare() + group::WORDS + 1;
    let each = (caps.shared_bytes / 4).saturating_sub(others) / form.workgroup;
    Form { near: form.near.min(each), ..form }
}

/// Bytes behind the heap's end, where lanes write that found no memory: a cell each.
pub fn room_behind(lanes: u32, shape: &ProgramSizes) -> u64 {
    8 * u64::from(lanes) * u64::from(shape.largest)
}

/// A larger pool, as far as the options allow and the device's bindings reach; none if it is as large already.
pub fn more_frames(options: &ForkJoinOptions, shape: &ProgramSizes, caps: &Caps) -> Option<u32> {
    let reach = caps.binding_bytes.min(caps.buffer_bytes);
    let mut frames = options.frames.saturating_mul(4).min(options.most_frames);
    while frames > options.frames {
        let [_, pool, pending, queue, _] = sizes(&ForkJoinOptions { frames, ..*options }, shape);
        if pool.max(pending).max(queue) <= reach {
            return Some(frames);
        }
        frames /= 2;
    }
    None
}

/// Bytes that calls which others share take in the pool.
pub fn pool_bytes(options: &ForkJoinOptions, shape: &ProgramSizes) -> u64 {
    4 * u64::from(options.frames) * u64::from(shape.pool_frame())
}

/// Whether kernels reach a heap of so many bytes.
///
/// # Errors
/// If they do not.
pub fn reaches(heap: u64, device: &Device) -> Result<(), Diagnostic> {
    within(heap, device.reach(), &device.caps().name)
}

fn within(heap: u64, reach: u64, name: &str) -> Result<(), Diagnostic> {
    let most = reach.min(MOST_HEAP);
    if heap <= most {
        return Ok(());
    }
    let (wanted, most) = (heap >> 20, most >> 20);
    let message = format!("a heap of {wanted} MiB, but kernels reach at most {most} MiB of it on `{name}`");
    Err(Diagnostic::new(Code::OverLimit, Span::NONE, message).hint("allow less with `--memory`"))
}

/// The options with as many lanes and frames as the device's bindings reach; `most` are the bytes that it reaches of a heap.
///
/// # Errors
/// If they do not reach the heap, or not even a few lanes and frames.
pub fn fitted(
    options: ForkJoinOptions,
    shape: &ProgramSizes,
    caps: &Caps,
    most: u64,
) -> Result<ForkJoinOptions, Diagnostic> {
    let reach = caps.binding_bytes.min(caps.buffer_bytes);
    within(options.most_heap, most, &caps.name)?;
    let most = most.min(MOST_HEAP);
    let workgroup = options.form.workgroup.max(1);
    let (mut groups, mut frames) = (options.lanes.div_ceil(workgroup).max(1), options.frames);
    loop {
        let lanes = groups * workgroup;
        // Rings take the low bits of a count as the place, and each lane has its share of them.
        let least = (FRAMES_OF_LANE * lanes).next_power_of_two();
        let frames_now = frames.next_power_of_two().max(least);
        let most_frames = options.most_frames.next_power_of_two().max(frames_now);
        // What comes before the first cell is there in any case.
        let least_heap = 8 * u64::from(shape.first_unit());
        let room = most.saturating_sub(room_behind(lanes, shape)) / 8 * 8;
        let most_heap = options.most_heap.min(room).max(least_heap);
        let heap = options.heap.clamp(least_heap, most_heap);
        let fitted = ForkJoinOptions { lanes, frames: frames_now, most_frames, heap, most_heap, ..options };
        let [_, pool, pending, queue, control] = sizes(&fitted, shape);
        let of_frames = pool.max(pending).max(queue);
        if of_frames.max(control) <= reach {
            return Ok(fitted);
        } else if of_frames > reach && fitted.frames > least {
            frames = fitted.frames / 2;
        } else if groups > 1 {
            groups /= 2;
        } else {
            let message = format!("the program's functions keep too much for the {} MiB of a buffer", reach >> 20);
            return Err(Diagnostic::new(Code::OverLimit, Span::NONE, message).hint("run it with `--device cpu`"));
        }
    }
}

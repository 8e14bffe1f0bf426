//! Compiled programs on devices that run kernels: how large everything is there.

use super::sweeps::DeviceRunner;
use girih_core::diag::{Code, Diagnostic};
use girih_core::direct::lower::Direct;
use girih_core::ir::{Caps, FunctionId, Module};
use girih_core::lower::epochs::Form;
use girih_core::lower::{sweep, tally};
use girih_core::runtime::epochs::{EpochOptions, EpochRunner};
use girih_core::runtime::tallies::TallyOptions;
use girih_core::runtime::{Device, DeviceKind, MOST_HEAP, Memory, TaskOptions};
use girih_core::term::Program;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Bytes of heap for each frame of the pool: deep recursion gets its share of what `--memory` says.
const HEAP_PER_FRAME: u64 = 1 << 8;
/// Heaps are multiples of this, as buffers are.
const GRAIN: u64 = 256;
/// A heap that is smaller than this is not worth looking for.
const LEAST_HEAP: u64 = 1 << 20;

/// What suits a kind of device.
#[derive(Clone, Copy)]
pub(super) struct Measures {
    /// Invocations that tasks are spread over.
    lanes: u32,
    /// Steps that a lane goes in an epoch at most; they become fewer where that takes long.
    steps: u32,
    /// What the kernels look like.
    form: Form,
    /// Bytes of heap if none are asked for, at most.
    heap: u64,
    /// How programs in sweeps are spread.
    pub sweeps: sweep::Options,
    /// How large everything is for programs that are tallies.
    pub tallies: TallyOptions,
}

/// Tallies on cards: a round is short beside what a task is, and a dispatch over in some milliseconds.
const CARD: TallyOptions = TallyOptions {
    lanes: 1 << 17,
    rounds: 1 << 9,
    form: tally::Form { workgroup: 128, stack: 32, near: 64, steps: 12 },
};
/// And where lanes are loops of a processor.
const SOFTWARE: TallyOptions =
    TallyOptions { lanes: 1 << 9, rounds: 1 << 6, form: tally::Form { workgroup: 32, stack: 32, near: 64, steps: 64 } };

impl Measures {
    fn of(kind: DeviceKind) -> Measures {
        match kind {
            // A card keeps 10^5 invocations busy, and hides the time that memory takes behind them. It says how much memory it has.
            DeviceKind::Cuda => Measures {
                lanes: 1 << 17,
                steps: 1 << 14,
                form: Form::FAST,
                heap: MOST_HEAP,
                sweeps: sweep::Options::new(8, 8),
                tallies: CARD,
            },
            // The same cards, but wgpu says nothing of their memory, and some have that of the host.
            DeviceKind::Wgpu => Measures {
                lanes: 1 << 17,
                steps: 1 << 14,
                form: Form::FAST,
                heap: 1 << 30,
                sweeps: sweep::Options::new(8, 8),
                tallies: TallyOptions {
                    lanes: 1 << 16,
                    form: tally::Form { near: 32, steps: 16, ..CARD.form },
                    ..CARD
                },
            },
            // Some invocations for each of the processor's vectors: a lane more is work and no gain, for it has to be looked at in each epoch.
            // Their compilers take seconds for what calls would become that are gone into.
            DeviceKind::WgpuSoftware | DeviceKind::Cpu => Measures {
                lanes: 1 << 9,
                steps: 1 << 12,
                form: Form::SMALL,
                heap: 128 << 20,
                sweeps: sweep::Options::new(5, 4).small(),
                tallies: SOFTWARE,
            },
            // For finding faults: slow, so that programs are small.
            DeviceKind::Interpreter => Measures {
                lanes: 1 << 6,
                steps: 1 << 11,
                form: Form::SMALL,
                heap: 16 << 20,
                sweeps: sweep::Options::new(3, 2).small(),
                tallies: TallyOptions { lanes: 1 << 6, ..SOFTWARE },
            },
        }
    }

    fn options(&self, heap: u64) -> EpochOptions {
        let frames = (heap / HEAP_PER_FRAME).clamp(1 << 16, 1 << 22) as u32;
        let batch = EpochOptions::default().batch;
        EpochOptions { lanes: self.lanes, frames, heap, steps: self.steps, form: self.form, batch }
    }
}

impl Measures {
    /// Loads a program that runs in epochs.
    pub fn epochs(
        &self,
        module: &Module,
        called: &[FunctionId],
        device: Box<dyn Device>,
        tasks: &TaskOptions,
        heap: u64,
    ) -> Result<EpochRunner, Vec<Diagnostic>> {
        Ok(EpochRunner::open(module, called, device, tasks, self.options(heap))?.timed_by(clock))
    }
}

/// Loads a program that was compiled without loans onto a device.
///
/// # Errors
/// If the device refuses it, or does not reach a heap that was asked for.
pub(super) fn open(
    direct: &Direct,
    program: &Program,
    mut device: Box<dyn Device>,
    tasks: &TaskOptions,
    heap: Option<u64>,
) -> Result<DeviceRunner, Vec<Diagnostic>> {
    let (measures, heap) = measured(&mut *device, heap)?;
    DeviceRunner::open(direct, program, device, tasks, (measures, heap))
}

/// Makes ready what the roots of a program need, so that each of them can be called.
///
/// # Errors
/// If the device has no room for a heap.
pub(crate) fn open_roots(
    direct: &Direct,
    mut device: Box<dyn Device>,
    tasks: &TaskOptions,
) -> Result<DeviceRunner, Vec<Diagnostic>> {
    let measured = measured(&mut *device, None)?;
    let roots = direct.roots.iter().map(|root| root.function);
    let called: Vec<FunctionId> = [direct.entry, direct.apply, direct.force].into_iter().chain(roots).collect();
    Ok(DeviceRunner::new(direct, called, device, tasks, measured))
}

/// What suits a device, and the heap that it has room for.
fn measured(device: &mut dyn Device, heap: Option<u64>) -> Result<(Measures, u64), Vec<Diagnostic>> {
    let measures = Measures::of(device.info().kind);
    let heap = match heap {
        Some(heap) => heap.next_multiple_of(GRAIN),
        None => {
            let most = usual(&measures, device.caps());
            let mut allocate =
                |bytes| device.allocate(Memory { bytes, indirect: false }).map(|buffer| device.free(buffer));
            room(most, &mut allocate).map_err(|error| vec![error])?
        }
    };
    Ok((measures, heap))
}

/// The heap that nobody asked for: four fifths of the memory where it is known, and what one binding reaches.
fn usual(measures: &Measures, caps: &Caps) -> u64 {
    let heap = measures.heap.min(caps.buffer_bytes / 5 * 4).min(caps.binding_bytes);
    heap / GRAIN * GRAIN
}

/// What of a heap there is room for, tried out: others may have a part of the device's memory.
fn room(mut heap: u64, allocate: &mut dyn FnMut(u64) -> Result<(), Diagnostic>) -> Result<u64, Diagnostic> {
    loop {
        match allocate(heap) {
            Ok(()) => return Ok(heap),
            Err(error) if error.code == Code::DeviceMemory && heap / 2 >= LEAST_HEAP => heap /= 2,
            Err(error) => return Err(error),
        }
    }
}

/// The time since it was asked for first.
fn clock() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_core::span::Span;

    #[test]
    fn the_usual_heap_is_what_the_device_has_and_reaches() {
        let card = Measures::of(DeviceKind::Cuda);
        let mut caps = Caps::cuda(90, true);
        assert_eq!(usual(&card, &caps), MOST_HEAP);
        caps.buffer_bytes = 4 << 30;
        assert_eq!(usual(&card, &caps) >> 20, 3276);
        assert_eq!(usual(&Measures::of(DeviceKind::WgpuSoftware), &Caps::web()), 128 << 20);
        // A binding of NVIDIA's Vulkan driver ends 4 bytes before 2 GiB.
        caps.binding_bytes = (2 << 30) - 4;
        assert_eq!(usual(&card, &caps), (2 << 30) - 256);
    }

    #[test]
    fn frames_grow_with_the_heap() {
        let frames = |heap| Measures::of(DeviceKind::Cuda).options(heap).frames;
        assert_eq!((frames(1 << 20), frames(1 << 28), frames(1 << 32)), (1 << 16, 1 << 20, 1 << 22));
    }

    #[test]
    fn a_heap_that_does_not_fit_becomes_smaller() {
        let error = |code| Err(Diagnostic::new(code, Span::NONE, "not that much"));
        let card =
            |free: u64| room(1 << 30, &mut |bytes| if bytes <= free { Ok(()) } else { error(Code::DeviceMemory) });
        assert_eq!(card(1 << 30), Ok(1 << 30));
        assert_eq!(card(300 << 20), Ok(256 << 20));
        assert_eq!(card(0).map_err(|error| error.code), Err(Code::DeviceMemory));
        let lost = room(1 << 30, &mut |_| error(Code::DeviceLost));
        assert_eq!(lost.map_err(|error| error.code), Err(Code::DeviceLost));
    }
}

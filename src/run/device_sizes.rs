//! Compiled programs on devices that run kernels: how large everything is there.

use super::on_device::DeviceRunner;
use girih_base::diag::Diagnostic;
use girih_ir::{Caps, FunctionId, Module};
use girih_runtime::{Device, DeviceKind, TaskOptions};
use girih_task::flow::{Outside, Root};
use girih_task::forkjoin::Form;
use girih_task::forkjoin::runner::{ForkJoinOptions, ForkJoinRunner};
use girih_task::heap::{MOST_HEAP, Segmented, reaches};
use girih_task::lower::Direct;
use girih_task::reducer::runner::ReducerOptions;
use girih_task::{flatten, reducer};
use girih_term::Program;
use girih_term::ty::Type;
use std::sync::OnceLock;
use std::time::Duration;
use web_time::Instant;

/// Bytes of heap for each frame of the pool: deep recursion gets its share of what `--memory` says.
const HEAP_PER_FRAME: u64 = 1 << 8;
/// Heaps are multiples of this, as buffers are.
const GRAIN: u64 = 256;

/// What suits a kind of device.
#[derive(Clone, Copy)]
pub(super) struct Measures {
    /// Invocations that tasks are spread over.
    lanes: u32,
    /// Steps that a lane goes in a superstep at most; they become fewer where that takes long.
    steps: u32,
    /// What the kernels look like.
    pub form: Form,
    /// Frames of the pool at the beginning, and at most.
    frames: [u64; 2],
    /// Bytes of heap at the beginning.
    begin: u64,
    /// Bytes that it grows to at most, if nobody says how many.
    heap: u64,
    /// How programs that are flattened are spread.
    pub flattened: flatten::Options,
    /// How large everything is for programs that are reducers.
    pub reducers: ReducerOptions,
}

/// Reducers on cards: a round is short beside what a task is, and a dispatch over in some milliseconds.
const CARD: ReducerOptions = ReducerOptions {
    lanes: 1 << 17,
    rounds: 1 << 9,
    form: reducer::Form { workgroup: 128, stack: 32, near: 64, steps: 12 },
};
/// And where lanes are loops of a processor.
const SOFTWARE: ReducerOptions = ReducerOptions {
    lanes: 1 << 9,
    rounds: 1 << 6,
    form: reducer::Form { workgroup: 32, stack: 32, near: 64, steps: 64 },
};

impl Measures {
    pub(super) fn of(kind: DeviceKind) -> Measures {
        match kind {
            // A card keeps 10^5 invocations busy, and hides the time that memory takes behind them. It says how much memory it has.
            DeviceKind::Cuda => Measures {
                lanes: 1 << 17,
                steps: 1 << 14,
                form: Form::FAST,
                frames: [1 << 22, 1 << 24],
                begin: 256 << 20,
                heap: MOST_HEAP,
                flattened: flatten::Options::new(8, 8),
                reducers: CARD,
            },
            // The same cards, but wgpu says nothing of their memory: what is asked for and not there ends the growth. Through Vulkan an H200 runs
            // kernels of much shared memory twice as long.
            DeviceKind::Wgpu => Measures {
                lanes: 1 << 17,
                steps: 1 << 14,
                form: Form { near: 0, ..Form::FAST },
                frames: [1 << 21, 1 << 24],
                begin: 256 << 20,
                heap: MOST_HEAP,
                flattened: flatten::Options::new(8, 8),
                reducers: ReducerOptions {
                    lanes: 1 << 16,
                    form: reducer::Form { near: 32, steps: 16, ..CARD.form },
                    ..CARD
                },
            },
            // Some invocations for each of the processor's vectors: a lane more is work and no gain, for it has to be looked at in each superstep.
            // Their compilers take seconds for what calls would become that are gone into.
            DeviceKind::WgpuSoftware | DeviceKind::Cpu => Measures {
                lanes: 1 << 9,
                steps: 1 << 12,
                form: Form::SMALL,
                frames: [1 << 16, 1 << 22],
                begin: 8 << 20,
                heap: MOST_HEAP,
                flattened: flatten::Options::new(5, 4).small(),
                reducers: SOFTWARE,
            },
            // For finding faults: slow, so that programs are small.
            DeviceKind::Interpreter => Measures {
                lanes: 1 << 6,
                steps: 1 << 11,
                form: Form::SMALL,
                frames: [1 << 16, 1 << 22],
                begin: 1 << 20,
                heap: 16 << 20,
                flattened: flatten::Options::new(3, 2).small(),
                reducers: ReducerOptions { lanes: 1 << 6, ..SOFTWARE },
            },
        }
    }

    /// With a heap of so many bytes at most.
    fn options(&self, most_heap: u64) -> ForkJoinOptions {
        let [begin, most] = self.frames;
        let most = (most_heap / HEAP_PER_FRAME).clamp(1 << 16, most);
        let heap = self.begin.min(most_heap);
        ForkJoinOptions {
            lanes: self.lanes,
            frames: begin.min(most) as u32,
            most_frames: most as u32,
            heap,
            most_heap,
            steps: self.steps,
            form: self.form,
            batch: ForkJoinOptions::default().batch,
        }
    }
}

impl Measures {
    /// Loads a program that runs by fork-join.
    pub fn fork_join(
        &self,
        module: &Module,
        called: &[FunctionId],
        device: Device,
        tasks: &TaskOptions,
        heap: u64,
    ) -> Result<ForkJoinRunner, Vec<Diagnostic>> {
        Ok(ForkJoinRunner::open(module, called, device, tasks, self.options(heap))?.timed_by(clock))
    }
}

/// Loads a program that was compiled without loans onto a device.
///
/// # Errors
/// If the device refuses it, or does not reach a heap that was asked for.
pub(super) fn open(
    direct: &Direct,
    program: &Program,
    device: Device,
    tasks: &TaskOptions,
    heap: Option<u64>,
) -> Result<DeviceRunner, Vec<Diagnostic>> {
    let device = Segmented::over(device);
    let measured = measured(&device, heap);
    reaches(measured.1, &device).map_err(|error| vec![error])?;
    DeviceRunner::open(direct, program, device, tasks, measured)
}

/// Loads a function that the host calls with arguments, compiled without loans. Where these can be cells, all cells stay where they are: it runs by
/// fork-join.
///
/// # Errors
/// If the device refuses it, or does not reach a heap that was asked for.
pub(super) fn open_function(
    direct: &Direct,
    root: &Root,
    device: Device,
    tasks: &TaskOptions,
    heap: Option<u64>,
) -> Result<DeviceRunner, Vec<Diagnostic>> {
    let device = Segmented::over(device);
    let measured = measured(&device, heap);
    reaches(measured.1, &device).map_err(|error| vec![error])?;
    let roots = direct.roots.iter().map(|root| root.function);
    let called: Vec<FunctionId> = [direct.entry, direct.apply, direct.force].into_iter().chain(roots).collect();
    let runner = DeviceRunner::new(direct, called, device, tasks, measured);
    let is_number = |given: &Outside| match given {
        Outside::Number(_) => true,
        Outside::Typed(ty) => matches!(ty, Type::Num(_)),
        Outside::Anything | Outside::Definition(_) | Outside::Result(_) => false,
    };
    match root.arguments.iter().all(is_number) {
        true => Ok(runner),
        false => runner.by_fork_join("the host gives it more than numbers"),
    }
}

/// Makes ready what the roots of a program need, so that each of them can be called.
pub(crate) fn open_roots(direct: &Direct, device: Device, tasks: &TaskOptions) -> DeviceRunner {
    let measured = measured(&device, None);
    let roots = direct.roots.iter().map(|root| root.function);
    let called: Vec<FunctionId> = [direct.entry, direct.apply, direct.force].into_iter().chain(roots).collect();
    DeviceRunner::new(direct, called, device, tasks, measured)
}

/// The same, for calls that are given what others gave: all cells stay where they are.
///
/// # Errors
/// If the device refuses the kernels, or does not have the memory.
pub(crate) fn open_roots_by_fork_join(
    direct: &Direct,
    device: Device,
    tasks: &TaskOptions,
) -> Result<DeviceRunner, Vec<Diagnostic>> {
    open_roots(direct, device, tasks).by_fork_join("a state is carried from picture to picture")
}

/// What suits a device, and the bytes that its heap may take at most.
fn measured(device: &Device, heap: Option<u64>) -> (Measures, u64) {
    let measures = Measures::of(device.info().kind);
    let heap =
        heap.map_or_else(|| usual(&measures, device.caps(), device.reach()), |heap| heap.next_multiple_of(GRAIN));
    (measures, heap)
}

/// The heap that nobody asked for: four fifths of the memory where it is known, and what kernels reach.
fn usual(measures: &Measures, caps: &Caps, reach: u64) -> u64 {
    let heap = measures.heap.min(caps.buffer_bytes.max(reach) / 5 * 4).min(reach);
    heap / GRAIN * GRAIN
}

/// The time since it was asked for first.
fn clock() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_heap_is_what_the_device_has_and_reaches() {
        let card = Measures::of(DeviceKind::Cuda);
        let usual =
            |measures: &Measures, caps: &Caps| super::usual(measures, caps, caps.binding_bytes.min(caps.buffer_bytes));
        let mut caps = Caps::cuda(90, true);
        assert_eq!(usual(&card, &caps), MOST_HEAP);
        caps.buffer_bytes = 4 << 30;
        assert_eq!(usual(&card, &caps) >> 20, 3276);
        assert_eq!(usual(&Measures::of(DeviceKind::WgpuSoftware), &Caps::web()), 128 << 20);
        // A binding of NVIDIA's Vulkan driver ends 4 bytes before 2 GiB.
        caps.binding_bytes = (2 << 30) - 4;
        assert_eq!(usual(&card, &caps), (2 << 30) - 256);
        // In parts it is larger than that.
        assert_eq!(super::usual(&card, &caps, 4 << 30) >> 20, 3276);
    }

    #[test]
    fn frames_grow_with_the_heap() {
        let options = |heap| Measures::of(DeviceKind::Cuda).options(heap);
        let most = |heap| options(heap).most_frames;
        assert_eq!((most(1 << 20), most(1 << 28), most(1 << 32)), (1 << 16, 1 << 20, 1 << 24));
        assert_eq!(
            (options(1 << 20).heap, options(1 << 32).heap, options(1 << 32).frames),
            (1 << 20, 1 << 28, 1 << 22)
        );
    }
}

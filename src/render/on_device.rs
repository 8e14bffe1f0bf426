//! Pictures painted on a device: their trees are built in its heap, and walked there into pixels, which come to the host in one copy.
//!
//! Where the runner does not show its heap, or a tree is not a perfect one of forks and whole numbers, the host reads the tree cell by cell: that is slower,
//! and says what is wrong with it.

use super::branch::Branch;
use super::contract::Kind;
use super::frame::Pixel;
use super::leaves;
use super::tree::Evaluated;
use super::workers::Painter;
use crate::devices::{self, Selector};
use crate::run::{DeviceRunner, explain, open_roots};
use girih_core::diag::{Code as ErrorCode, Diagnostic};
use girih_core::direct::data::Words;
use girih_core::direct::lower::Direct;
use girih_core::runtime::{DeviceHeap, DeviceKind, Runner, TaskOptions, Walker};
use girih_core::span::Span;
use girih_core::term::code::Code;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A shader compiled for a device.
pub(super) struct OnDevice {
    pub code: Code,
    pub direct: Arc<Direct>,
    pub selector: Selector,
    pub tasks: TaskOptions,
    pub evaluated: Evaluated,
    /// None before the first branch, and after one that failed.
    pub loaded: Option<Loaded>,
    /// How long the last branch took until its pixels stood on the device.
    pub evaluation: Duration,
}

/// A device that is ready to paint.
pub(super) struct Loaded {
    runner: DeviceRunner,
    /// None before the first picture, and if the runner does not show its heap.
    walker: Option<Walker>,
}

/// Refuses a shader that carries a state: nothing outlives a picture in a device's heap.
pub(super) fn accepts(kind: Kind, selector: &Selector) -> Result<(), Diagnostic> {
    match kind {
        Kind::Pixel { .. } | Kind::Tree { .. } => Ok(()),
        Kind::Play { .. } => {
            let message = format!("a shader that carries a state is painted by the processor, not by `{selector}`");
            let hint = "leave `--device` out, or use `--device cpu`";
            Err(Diagnostic::new(ErrorCode::NoDevice, Span::NONE, message).hint(hint))
        }
    }
}

impl OnDevice {
    fn load(&self) -> Result<Loaded, Diagnostic> {
        let device = devices::open(&self.selector, None)?;
        let runner = open_roots(&self.direct, device, &self.tasks);
        Ok(Loaded { runner, walker: None })
    }

    /// The walk over trees, once there is a heap.
    fn walker(&self, loaded: &mut Loaded) -> Result<(), Diagnostic> {
        if let (None, Some(DeviceHeap { device, .. })) = (&loaded.walker, loaded.runner.device_heap()) {
            let opened = Walker::open(device, &Words::described(&self.direct), self.evaluated.size.pixels());
            loaded.walker = Some(opened.map_err(super::contract::first)?);
        }
        Ok(())
    }

    fn paint_there(&mut self, branch: Branch, time: f32, pixels: &mut Vec<Pixel>) -> Result<u64, Diagnostic> {
        let mut loaded = match self.loaded.take() {
            Some(loaded) => loaded,
            None => self.load()?,
        };
        let begun = Instant::now();
        let (program, direct) = (self.code.program(), &*self.direct);
        // The heap is filled by each picture anew.
        let failed = |fault| girih_core::direct::run::diagnostic(direct, &fault);
        loaded.runner.renew().map_err(failed)?;
        let Evaluated { kind, size, .. } = self.evaluated;
        let interrupt = self.tasks.interrupt.clone();
        let mut words = Words { program, direct, runner: &mut loaded.runner, interrupt: interrupt.clone() };
        let tree = words.call_root(&direct.roots[0], &kind.arguments(branch, size, time))?;
        let count = branch.pixels(size).len();
        let root: Vec<_> = tree.iter().map(|part| Words::root(*part)).collect();
        self.walker(&mut loaded)?;
        let mut words = Words { program, direct, runner: &mut loaded.runner, interrupt };
        let walked = match (&loaded.walker, words.runner.device_heap()) {
            (Some(walker), Some(heap)) => walker.walk(heap, &root, branch.depth, count as u32)?,
            (None, _) | (_, None) => false,
        };
        // The walk has been waited for.
        self.evaluation = begun.elapsed();
        let cells = if let (true, Some(walker), Some(heap)) = (walked, &loaded.walker, words.runner.device_heap()) {
            let start = pixels.len();
            pixels.resize(start + count, [0; 4]);
            walker.read(heap.device, &mut pixels[start..])?;
            (count as u64).saturating_sub(1)
        } else {
            let place = program.defs[kind.made_by()].span;
            leaves::read(&mut words, &tree, count, place, pixels)?
        };
        if let Some(trouble) = words.runner.trouble() {
            return Err(trouble);
        }
        self.loaded = Some(loaded);
        Ok(cells)
    }
}

/// How many pictures a device paints at the same time: while the pixels of one come to the host, a card is at the next one.
pub(super) fn in_flight(selector: &Selector) -> NonZeroUsize {
    let is_card = match selector {
        Selector::Cuda(_) => true,
        Selector::Wgpu(name) => girih_wgpu::kind(name.as_deref().unwrap_or("auto")) == Some(DeviceKind::Wgpu),
        Selector::Auto | Selector::Interpreter(_) | Selector::Lowered(_) | Selector::Ptx(_) | Selector::Cpu => false,
    };
    if is_card { NonZeroUsize::MIN.saturating_add(1) } else { NonZeroUsize::MIN }
}

impl Painter for OnDevice {
    fn evaluation(&self) -> Option<Duration> {
        Some(self.evaluation)
    }
    fn how(&self) -> Option<String> {
        self.loaded.as_ref().map(|loaded| loaded.runner.how())
    }

    fn paint(&mut self, branch: Branch, time: f32, pixels: &mut Vec<Pixel>) -> Result<u64, Diagnostic> {
        self.paint_there(branch, time, pixels).map_err(|error| {
            let evaluated = self.evaluated;
            explain(&self.code, self.tasks.memory, error, |machine| {
                evaluated.paint(machine, branch, time, &mut None, &mut vec![]).map(drop)
            })
        })
    }
}

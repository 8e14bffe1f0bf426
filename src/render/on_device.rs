//! Pictures painted on a device: their trees are built in its heap, and walked there into pixels. These stay where they are if the screen is the device's
//! own, and come to the host in one copy if not.
//!
//! Where the runner does not show its heap, or a tree is not a perfect one of forks and whole numbers, the host reads the tree cell by cell: that is slower,
//! and says what is wrong with it.

use super::branch::Branch;
use super::frame::Pixel;
use super::read_pixels;
use super::signature::Kind;
use super::tree::{Carried, Evaluated};
use super::workers::Painter;
use crate::devices::{self, Context, Selector, SharedBuffer, wgpu};
use crate::run::{DeviceRunner, explain, open_roots, open_roots_by_fork_join};
use girih_base::diag::Diagnostic;
use girih_runtime::{Device, DeviceHeap, DeviceKind, Runner, TaskOptions};
use girih_task::data::{Argument, Datum, Words};
use girih_task::heap::{Segmented, Sheet, Walker};
use girih_task::lower::Direct;
use girih_term::code::Code;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use web_time::Instant;

/// Which part of a heap may be taken before it is tidied: it grows when half of it is.
const FULL: u64 = 4;
/// How many pictures of a painter may be on their way to the screen: three that were asked for, one that is seen and one that takes its place.
const SHEETS: usize = 5;

/// A shader compiled for a device.
pub(super) struct OnDevice {
    pub code: Code,
    pub direct: Arc<Direct>,
    pub selector: Selector,
    pub tasks: TaskOptions,
    pub evaluated: Evaluated,
    /// Where pictures are shown, if that may be the device.
    pub screen: Option<Context>,
    /// None before the first branch, and after one that failed.
    pub loaded: Option<Loaded>,
    /// The last state, if one is carried: it is in the device's heap.
    pub carried: Option<Carried<Datum>>,
    /// How long the last branch took until its pixels stood on the device.
    pub evaluation: Duration,
    /// The pixels of the last branch, if they have stayed there.
    pub kept: Option<Arc<SharedBuffer>>,
}

/// A device that is ready to paint.
pub(super) struct Loaded {
    runner: DeviceRunner,
    /// None before the first picture, and if the runner does not show its heap.
    walker: Option<Walker>,
    sheets: Sheets,
}

/// Where a painter's pixels go.
enum Sheets {
    /// Onto one sheet, and to the host.
    Host(Sheet),
    /// Onto one that nobody looks at any more, to stay there.
    Screen(Vec<(Sheet, Arc<SharedBuffer>)>),
}

impl Sheets {
    /// One that is free, with what others see of it; a new one, which is not kept, if whoever takes the pictures keeps them all.
    fn free(&self, device: &Device, room: u32) -> Result<Taken, Diagnostic> {
        match self {
            Sheets::Host(sheet) => Ok(Taken::Read(sheet.clone())),
            Sheets::Screen(sheets) => match sheets.iter().find(|(_, shared)| Arc::strong_count(shared) == 1) {
                Some((sheet, shared)) => Ok(Taken::Kept(sheet.clone(), Arc::clone(shared))),
                None => Ok(Taken::Extra(Sheet::new(device, room)?)),
            },
        }
    }
}

/// A sheet for one picture.
enum Taken {
    /// Its pixels are read.
    Read(Sheet),
    /// They stay.
    Kept(Sheet, Arc<SharedBuffer>),
    /// They are read, and the sheet is given back.
    Extra(Sheet),
}

impl Taken {
    fn sheet(&self) -> &Sheet {
        match self {
            Taken::Read(sheet) | Taken::Kept(sheet, _) | Taken::Extra(sheet) => sheet,
        }
    }

    /// Brings the pixels to where they are wanted: gives them if they stay.
    fn keep(
        self,
        device: &Device,
        count: usize,
        pixels: &mut Vec<Pixel>,
    ) -> Result<Option<Arc<SharedBuffer>>, Diagnostic> {
        let sheet = match self {
            Taken::Kept(_, shared) => return Ok(Some(shared)),
            Taken::Read(sheet) | Taken::Extra(sheet) => sheet,
        };
        // Memory that is zero already, where there is none yet.
        *pixels = vec![[0; 4]; count];
        sheet.read(device, pixels)?;
        Ok(None)
    }
}

impl OnDevice {
    fn load(&self) -> Result<Loaded, Diagnostic> {
        let (device, sheets) = self.open()?;
        let runner = match self.evaluated.kind {
            Kind::Pixel { .. } | Kind::Tree { .. } => open_roots(&self.direct, device, &self.tasks),
            Kind::Play { .. } => {
                open_roots_by_fork_join(&self.direct, device, &self.tasks).map_err(super::signature::first)?
            }
        };
        Ok(Loaded { runner, walker: None, sheets })
    }

    /// The device, and where its pixels go: it is the screen's own if that is the one that was named.
    fn open(&self) -> Result<(Device, Sheets), Diagnostic> {
        let room = self.evaluated.size.pixels();
        let screen = match (&self.selector, &self.screen) {
            (Selector::Wgpu(name), Some(screen)) => Some(screen).filter(|it| it.is(name.as_deref().unwrap_or("auto"))),
            (_, _) => None,
        };
        let Some(screen) = screen else {
            let device = devices::open_device(&self.selector, None)?;
            let sheet = Sheet::new(&device, room)?;
            return Ok((Segmented::over(device), Sheets::Host(sheet)));
        };
        let make = |device: &Device| {
            let sheet = Sheet::new(device, room)?;
            let buffer = sheet.buffer().clone();
            Ok((sheet, buffer))
        };
        let (device, sheets) = wgpu::sharing(screen, SHEETS, make)?;
        Ok((Segmented::over(device), Sheets::Screen(sheets)))
    }

    /// The walk over trees, once there is a heap.
    fn walker(&self, loaded: &mut Loaded) -> Result<(), Diagnostic> {
        if let (None, Some(DeviceHeap { device, .. })) = (&loaded.walker, loaded.runner.device_heap()) {
            let opened = Walker::open(&device, &Words::described(&self.direct));
            loaded.walker = Some(opened.map_err(super::signature::first)?);
        }
        Ok(())
    }

    fn paint_there(&mut self, branch: Branch, time: f32, pixels: &mut Vec<Pixel>) -> Result<u64, Diagnostic> {
        // What was carried by a run that has failed is gone with its heap.
        let carried = self.carried.take();
        self.kept = None;
        let (mut loaded, carried) = match self.loaded.take() {
            Some(loaded) => (loaded, carried),
            None => (self.load()?, None),
        };
        let (program, direct) = (self.code.program(), &*self.direct);
        let Evaluated { kind, size, .. } = self.evaluated;
        let interrupt = self.tasks.interrupt.clone();
        let mut arguments = kind.arguments(branch, size, time);
        if !matches!(kind, Kind::Play { .. }) {
            let mut words = Words { program, direct, runner: &mut loaded.runner, interrupt: interrupt.clone() };
            let given = words.passed_to(&direct.roots[0], &arguments)?;
            loaded.runner.make_ready(direct.roots[0].function, &given).map_err(super::signature::first)?;
        }
        self.walker(&mut loaded)?;
        let begun = Instant::now();
        if !matches!(kind, Kind::Play { .. }) {
            // The heap is filled by each picture anew.
            loaded.runner.renew().map_err(|fault| girih_task::run::diagnostic(direct, &fault))?;
        }
        let mut words = Words { program, direct, runner: &mut loaded.runner, interrupt: interrupt.clone() };
        let mut carried = self.evaluated.carry_compiled(&mut words, branch, time, carried, &mut tidy)?;
        if let Some(now) = &mut carried {
            now.state = tidy(&mut words, now.state)?;
        }
        arguments.extend(carried.iter().map(|now| Argument::Value(now.state)));
        let tree = words.call_root(&direct.roots[0], &arguments)?;
        let count = branch.pixels(size).len();
        let root: Vec<_> = tree.iter().map(|part| Words::root(*part)).collect();
        let mut words = Words { program, direct, runner: &mut loaded.runner, interrupt };
        let room = size.pixels();
        let mut walked = None;
        if let (Some(walker), Some(heap)) = (&loaded.walker, words.runner.device_heap()) {
            let taken = loaded.sheets.free(&heap.device, room)?;
            let is_whole = walker.walk(&heap, &root, branch.depth, count as u32, taken.sheet())?;
            walked = Some(taken).filter(|_| is_whole);
        }
        // The walk has been waited for.
        self.evaluation = begun.elapsed();
        let cells = if let (Some(taken), Some(heap)) = (walked, words.runner.device_heap()) {
            self.kept = taken.keep(&heap.device, count, pixels)?;
            (count as u64).saturating_sub(1)
        } else {
            let place = program.defs[kind.made_by()].span;
            read_pixels::read(&mut words, &tree, count, place, pixels)?
        };
        if let Some(trouble) = words.runner.trouble() {
            return Err(trouble);
        }
        (self.loaded, self.carried) = (Some(loaded), carried);
        Ok(cells)
    }
}

/// Keeps the state alone where much of the heap is taken: states and pictures that nobody sees any more are not given back otherwise.
fn tidy(words: &mut Words<'_>, state: Datum) -> Result<Datum, Diagnostic> {
    let stats = words.runner.stats();
    let heap = stats.steps.map_or(u64::MAX, |steps| steps.heap);
    if stats.live_bytes <= heap / FULL {
        return Ok(state);
    }
    let direct = words.direct;
    let named = match state {
        Datum::Word(word) => vec![word],
        Datum::Number(_) => vec![],
    };
    let kept = words.runner.keep_only(&named);
    let kept = kept.map_err(|fault| girih_task::run::diagnostic(direct, &fault))?;
    Ok(kept.and_then(|kept| kept.first().copied()).map_or(state, Datum::Word))
}

/// How many pictures a device paints at the same time: while the pixels of one come to the host, a card is at the next one.
pub(super) fn in_flight(selector: &Selector) -> NonZeroUsize {
    let is_card = match selector {
        Selector::Cuda(_) => true,
        Selector::Wgpu(name) => wgpu::kind(name.as_deref().unwrap_or("auto")) == Some(DeviceKind::Wgpu),
        Selector::Auto | Selector::Interpreter(_) | Selector::Lowered(_) | Selector::Ptx(_) | Selector::Cpu => false,
    };
    if is_card { NonZeroUsize::MIN.saturating_add(1) } else { NonZeroUsize::MIN }
}

impl Painter for OnDevice {
    fn evaluation(&self) -> Option<Duration> {
        Some(self.evaluation)
    }

    fn kept(&mut self) -> Option<Arc<SharedBuffer>> {
        self.kept.take()
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

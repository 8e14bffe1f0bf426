//! A file that makes pictures, and the renderer that has all cores make them.

use super::frame::{Frame, Size};
use super::on_device;
use super::picture::Picture;
use super::signature::{self, Kind};
use super::tree::{self, Resources, Tree};
use super::workers::Workers;
use crate::devices::{self, Context, Selector};
use crate::error::Error;
use crate::features::Feature;
use crate::program::Program;
use crate::report::Report;
use crate::run::RunDevice;
use girih_base::diag::{Code, Diagnostic};
use girih_base::plural::counted;
use girih_base::span::{Sources, Span};
use girih_bend::Options;
use girih_ir::{Module, Verified};
use girih_runtime::DeviceKind;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a renderer waits before it looks at the flag that stops it.
const GLANCE: Duration = Duration::from_millis(20);

/// A program that makes pictures: it defines `shader(x: u24, y: u24, t: f24) -> u24`, which gives the colour 0xRRGGBB of a
/// pixel, or `render(depth: u24, t: f24)`, which gives the tree of all pixels, or `render(depth: u24, t: f24, state)` with `init(depth: u24)` and
/// `step(state, t: f24)`, which give the first state and the one that follows.
#[derive(Clone, Debug)]
pub struct Shader {
    pub(super) program: girih_term::Program,
    pub(super) sources: Sources,
    warnings: Report,
    pub(super) kind: Kind,
    pub(super) size: Size,
    rate: u32,
}

/// What can paint on this machine: native code first, then cards, and the evaluator, which says what shaders mean. Adapters that compute
/// in software are no faster than native code, and are not among them.
pub fn devices() -> Vec<RunDevice> {
    let (found, _) = devices::find();
    let is_card = |found: &devices::Found| matches!(found.info.kind, DeviceKind::Wgpu | DeviceKind::Cuda);
    let cards = found.into_iter().filter(|found| is_card(found) && found.problem.is_none());
    let cards = cards.filter_map(|found| Selector::parse(&found.name).ok().map(RunDevice::from));
    Feature::Cpu.is_built().then_some(RunDevice::Cpu).into_iter().chain(cards).chain([RunDevice::Evaluator]).collect()
}

/// What paints where this is asked for: nobody has to name the evaluator in a build that has nothing else.
fn painting(device: &RunDevice) -> RunDevice {
    match device {
        RunDevice::Auto if !Feature::Cpu.is_built() => RunDevice::Evaluator,
        named => named.clone(),
    }
}

/// How a shader's pictures are made.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    /// Their size; the shader's own if none. A shader's definitions `width` and `height` become this size.
    pub size: Option<Size>,
    /// How many threads paint; as many as there are cores if none.
    pub threads: Option<NonZeroUsize>,
    /// The most bytes that the data of all threads together may take.
    pub memory: u64,
    /// Raised from outside to stop.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// What runs the shader.
    pub device: RunDevice,
    /// Whether compiled code computes several pixels in step, where it can.
    pub in_step: bool,
    /// Where the pictures are shown: those that `device` paints stay there if it is the same adapter.
    pub screen: Option<Context>,
}

impl Default for RenderOptions {
    fn default() -> RenderOptions {
        RenderOptions {
            size: None,
            threads: None,
            memory: 4 << 30,
            interrupt: None,
            device: RunDevice::Auto,
            in_step: true,
            screen: None,
        }
    }
}

impl Shader {
    /// Opens a file, compiled with [`Shader::options`].
    pub fn open(path: impl AsRef<Path>) -> Result<Shader, Error> {
        Shader::new(&Program::open(path, &Shader::options()))
    }

    /// How a shader is compiled: it needs no `main`.
    pub fn options() -> Options {
        Options::library()
    }

    /// Takes a program as a shader.
    pub fn new(program: &Program) -> Result<Shader, Error> {
        let core = program.core_program()?;
        let warnings = program.report();
        let sources = warnings.sources.clone();
        let open = || {
            let kind = signature::kind(core)?;
            let rate = if matches!(kind, Kind::Play { .. }) { signature::rate(core)? } else { 0 };
            Ok((kind, signature::size(core)?, rate))
        };
        match open() {
            Ok((kind, size, rate)) => Ok(Shader { program: core.clone(), sources, warnings, kind, size, rate }),
            Err(diagnostic) => Err(Error::new(sources, vec![diagnostic])),
        }
    }

    /// What the compiler said.
    pub fn warnings(&self) -> &Report {
        &self.warnings
    }

    /// The size that it has by itself.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Its functions in the intermediate representation, as text: those that devices run.
    pub(crate) fn ir(&self) -> Result<String, Error> {
        tree::ir(&self.program, self.kind).map_err(|diagnostics| Error::new(self.sources.clone(), diagnostics))
    }

    /// The kernel that a graphics card runs for a picture, and what it does, in some words.
    pub(crate) fn kernels(&self) -> Result<(Verified<Module>, String), Error> {
        let planned = tree::planned(&self.program, self.kind, self.size);
        planned.map_err(|diagnostics| Error::new(self.sources.clone(), diagnostics))
    }

    /// One picture. For several, make a [`renderer`](Shader::renderer).
    pub fn frame(&self, size: Size, time: f32) -> Result<Frame, Error> {
        self.renderer(&RenderOptions { size: Some(size), ..RenderOptions::default() })?.frame(time)
    }

    /// What is painted, compiled for whoever paints it.
    pub(super) fn motif(&self, size: Size, resources: &Resources, options: &RenderOptions) -> Result<Tree, Error> {
        let compile = || {
            let mut program = signature::resized(&self.program, size).map_err(|diagnostic| vec![diagnostic])?;
            // What a `main` does is of no interest to the picture.
            program.entry = None;
            Tree::new(&program, self.kind, size, self.rate, resources, options)
        };
        compile().map_err(|diagnostics| Error::new(self.sources.clone(), diagnostics))
    }

    /// Starts threads that make pictures.
    pub fn renderer(&self, options: &RenderOptions) -> Result<Renderer, Error> {
        self.renderer_that_calls(options, || {})
    }

    /// As [`renderer`](Shader::renderer); `on_done` is called on some thread whenever a picture is done.
    pub fn renderer_that_calls(
        &self,
        options: &RenderOptions,
        on_done: impl Fn() + Send + Sync + 'static,
    ) -> Result<Renderer, Error> {
        let report = |diagnostics| Error::new(self.sources.clone(), diagnostics);
        let options = &RenderOptions { device: painting(&options.device), ..options.clone() };
        let size = options.size.unwrap_or(self.size);
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = options.threads.unwrap_or(cores);
        // A state is carried by one painter, whose runner uses all threads.
        let painters = match (self.kind, &options.device) {
            (Kind::Play { .. }, _) => NonZeroUsize::MIN,
            (Kind::Pixel { .. } | Kind::Tree { .. }, RunDevice::Device(selector)) => on_device::in_flight(selector),
            (Kind::Pixel { .. } | Kind::Tree { .. }, _host) => threads,
        };
        let memory = options.memory / painters.get() as u64;
        let motif = self.motif(size, &Resources { memory, threads }, options)?;
        let workers = Workers::start(motif, size, painters, Box::new(on_done)).map_err(|error| {
            let message = format!("the {threads} threads for painting cannot be started: {error}");
            report(vec![Diagnostic::new(Code::Internal, Span::NONE, message)])
        })?;
        let ahead = match self.kind {
            Kind::Pixel { .. } | Kind::Tree { .. } if matches!(options.device, RunDevice::Device(_)) => {
                painters.get() + 1
            }
            Kind::Pixel { .. } => 2,
            Kind::Tree { .. } => threads.get() + 1,
            Kind::Play { .. } => 2,
        };
        let (sources, interrupt) = (self.sources.clone(), options.interrupt.clone());
        let device = options.device.clone();
        Ok(Renderer { workers, sources, size, device, threads, ahead, interrupt })
    }
}

/// Makes pictures on many threads, several of them at the same time if that helps.
pub struct Renderer {
    workers: Workers,
    sources: Sources,
    size: Size,
    device: RunDevice,
    threads: NonZeroUsize,
    ahead: usize,
    interrupt: Option<Arc<AtomicBool>>,
}

impl Renderer {
    /// The size of the pictures.
    pub fn size(&self) -> Size {
        self.size
    }

    /// What paints, in a few words.
    pub fn device(&self) -> String {
        let (device, threads) = (&self.device, counted(self.threads.get(), "thread"));
        match device {
            RunDevice::Auto => format!("{}, {threads}", RunDevice::Cpu),
            RunDevice::Cpu | RunDevice::Evaluator | RunDevice::Interpreter(_) => format!("{device}, {threads}"),
            RunDevice::Device(_) => device.to_string(),
        }
    }

    /// In which way a device evaluates the pictures, in some words; none before the first one, and for the processor.
    pub fn how(&self) -> Option<String> {
        self.workers.how()
    }

    /// How many threads paint.
    pub fn threads(&self) -> usize {
        self.threads.get()
    }

    /// Asks for the picture at a time, in seconds.
    pub fn submit(&mut self, time: f32) {
        self.workers.submit(time);
    }

    /// Whether the threads are busy enough: asking for more would only make what comes next older.
    pub fn is_busy(&self) -> bool {
        self.workers.waiting() >= self.ahead
    }

    /// Takes the oldest picture that was asked for, if it is done, and leaves its pixels where they are.
    pub fn poll(&mut self) -> Option<Result<Picture, Error>> {
        let result = self.workers.take(Duration::ZERO)?;
        Some(self.reported(result))
    }

    /// Waits for the oldest picture that was asked for. None if there is none.
    pub fn wait(&mut self) -> Option<Result<Frame, Error>> {
        while self.workers.waiting() > 0 {
            if self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                self.workers.interrupt();
            }
            if let Some(result) = self.workers.take(GLANCE) {
                return Some(self.reported(result.and_then(Picture::brought)));
            }
        }
        None
    }

    /// The picture at a time. Pictures that were asked for before are dropped.
    pub fn frame(&mut self, time: f32) -> Result<Frame, Error> {
        self.submit(time);
        let mut last = None;
        while let Some(result) = self.wait() {
            last = Some(result);
        }
        last.expect("a picture was asked for")
    }

    /// The pictures at these times, in order; those that follow are painted while one is looked at.
    pub fn frames(&mut self, times: impl IntoIterator<Item = f32>) -> impl Iterator<Item = Result<Frame, Error>> {
        let mut times = times.into_iter();
        std::iter::from_fn(move || {
            while !self.is_busy() {
                let Some(time) = times.next() else { break };
                self.submit(time);
            }
            self.wait()
        })
    }

    fn reported<T>(&self, result: Result<T, Diagnostic>) -> Result<T, Error> {
        result.map_err(|diagnostic| Error::new(self.sources.clone(), vec![diagnostic]))
    }
}

/// The times of the pictures of an animation that starts at a time and shows so many of them in a second.
pub fn times(start: f32, rate: f32, count: usize) -> impl Iterator<Item = f32> {
    (0..count).map(move |number| start + number as f32 / rate)
}

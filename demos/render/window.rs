//! The window: shows the current shader as fast as its pictures come, follows its file, and obeys the keys.

use crate::Failure;
use crate::arguments::Arguments;
use crate::clock::{Clock, Pace};
use crate::gallery::Gallery;
use crate::gpu::{Drawn, Gpu};
use crate::input::Action;
use crate::overlay;
use girih::devices::Selector;
use girih::render::{Frame, Picture, RenderOptions, Renderer, Size, devices, write_png};
use girih::{Report, RunDevice, Severity};
use girih_runtime::DeviceKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use winit::application::ApplicationHandler;
use winit::dpi::LogicalSize;
use winit::error::EventLoopError;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::window::{Fullscreen, Window, WindowId};

/// How often the shader's files are looked at, and how often the title is written at most.
const GLANCE: Duration = Duration::from_millis(250);
/// No display shows more than this; the cores need not paint it.
const SHORTEST_FRAME: Duration = Duration::from_micros(8_000);
/// How far a step goes.
const STEP: Duration = Duration::from_nanos(1_000_000_000 / 30);
/// The window as it opens, in which pictures have the size that their shaders say.
const OPENING: LogicalSize<u32> = LogicalSize::new(768, 576);
/// The shortest side of pictures.
const SHORTEST_SIDE: u32 = 8;
/// How many devices may break within [`BREAKING`] before the demo gives up.
const MOST_BROKEN: usize = 3;
const BREAKING: Duration = Duration::from_secs(20);

/// Some thread has finished a picture.
#[derive(Debug)]
struct PictureDone;

/// Opens the window and stays until it is closed.
pub fn run(gallery: Gallery, arguments: &Arguments) -> Result<(), Failure> {
    let no_display = |error: EventLoopError| {
        Failure::NoDevice(format!(
            "error: no window can be opened: {error}\n`--headless` writes pictures without a display"
        ))
    };
    let events = EventLoop::<PictureDone>::with_user_event().build().map_err(no_display)?;
    let mut viewer = Viewer::new(gallery, arguments, events.create_proxy());
    events.run_app(&mut viewer).map_err(no_display)?;
    viewer.close();
    viewer.failure.map_or(Ok(()), Err)
}

/// What the window shows.
enum Stage {
    /// Pictures come.
    Playing(Renderer),
    /// The shader is wrong.
    Failed(Report),
}

struct Viewer {
    gallery: Gallery,
    options: RenderOptions,
    /// Whether pictures have a size that was asked for, rather than one that follows the window.
    is_fixed: bool,
    /// How many times as many pixels a side has as the window and the shader say.
    detail: f64,
    /// The size that the shader says.
    own: Option<Size>,
    /// What can paint, once somebody has asked.
    devices: Option<Vec<RunDevice>>,
    folder: PathBuf,
    proxy: EventLoopProxy<PictureDone>,
    screen: Option<Screen>,
    stage: Stage,
    /// The last picture, also if the shader has gone wrong since.
    shown: Option<Picture>,
    /// How many pictures were shown, and how many of those came from the host.
    counts: Counts,
    says_counts: bool,
    /// A picture is wanted although the clock stands still.
    stale: bool,
    clock: Clock,
    pace: Pace,
    next_submit: Instant,
    next_glance: Instant,
    /// When devices broke, the latest last.
    broken: Vec<Instant>,
    failure: Option<Failure>,
}

/// What the window has shown.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    shown: u64,
    copied: u64,
    /// Bytes that the host has read from the window's device.
    read: u64,
}

struct Screen {
    window: Arc<Window>,
    gpu: Gpu,
}

impl Viewer {
    fn new(gallery: Gallery, arguments: &Arguments, proxy: EventLoopProxy<PictureDone>) -> Viewer {
        let now = Instant::now();
        Viewer {
            gallery,
            options: arguments.render_options(),
            is_fixed: arguments.size.is_some(),
            detail: 1.0,
            own: None,
            devices: None,
            folder: arguments.output.clone(),
            proxy,
            screen: None,
            stage: Stage::Failed(Report::default()),
            shown: None,
            counts: Counts::default(),
            says_counts: arguments.stats,
            stale: false,
            clock: Clock::start(),
            pace: Pace::default(),
            next_submit: now,
            next_glance: now,
            broken: vec![],
            failure: None,
        }
    }

    /// The end: says what was shown, if somebody wants to know.
    fn close(&mut self) {
        // What still paints may use the device.
        self.stage = Stage::Failed(Report::default());
        self.shown = None;
        if let Some(Screen { window: _, gpu }) = self.screen.take() {
            self.count(&gpu);
        }
        let Counts { shown, copied, read } = self.counts;
        if self.says_counts {
            eprintln!(
                "{shown} pictures, {copied} of them by way of the host, which has read {read} bytes of the window's device"
            );
        }
    }

    /// Takes over what a device has done that is going to be closed.
    fn count(&mut self, gpu: &Gpu) {
        self.counts.copied += gpu.copied();
        self.counts.read += gpu.context().bytes_read();
    }

    /// Opens the current shader anew.
    fn load(&mut self) {
        let proxy = self.proxy.clone();
        let on_done = move || {
            // The loop is gone when the window has been closed.
            let _ = proxy.send_event(PictureDone);
        };
        let shader = self.gallery.current().open_shader();
        self.options.screen = self.screen.as_ref().map(|screen| screen.gpu.context().clone());
        self.own = shader.as_ref().ok().map(|shader| shader.size());
        if !self.is_fixed {
            self.options.size = self.fitting();
        }
        let renderer = shader.and_then(|shader| {
            report_warnings(shader.warnings());
            shader.renderer_that_calls(&self.options, on_done)
        });
        match renderer {
            Ok(renderer) => self.stage = Stage::Playing(renderer),
            Err(report) => self.fail(report),
        }
        self.pace = Pace::default();
        self.stale = true;
        self.next_submit = Instant::now();
        self.refresh();
    }

    /// The size of pictures that suits the window: that of the shader where the window is as it opened, and in proportion to it. None if that
    /// cannot be a size.
    fn fitting(&self) -> Option<Size> {
        let (own, screen) = (self.own?, self.screen.as_ref()?);
        let (window, opening) = (screen.window.inner_size(), OPENING.to_physical::<u32>(screen.window.scale_factor()));
        let [width, height] = [own.width(), own.height()].map(f64::from);
        let scale = |w: u32, h: u32| (f64::from(w) / width).min(f64::from(h) / height);
        let factor = self.detail * scale(window.width, window.height) / scale(opening.width, opening.height);
        let largest = screen.gpu.largest_side();
        let side = |own: f64| ((own * factor).round() as u32).clamp(SHORTEST_SIDE, largest);
        Size::new(side(width), side(height))
    }

    /// Has pictures of another size painted if the window has another one.
    fn fit(&mut self) {
        let Stage::Playing(renderer) = &self.stage else { return };
        if !self.is_fixed && self.fitting().is_some_and(|size| size != renderer.size()) {
            self.load();
        }
    }

    /// Paints with the next device.
    fn change_device(&mut self) {
        // Looking for cards takes time, and is done once.
        let devices = self.devices.get_or_insert_with(devices);
        let name = |device: &RunDevice| device.to_string();
        let current = devices.iter().position(|device| name(device) == name(&self.options.device));
        let next = current.map_or(0, |current| (current + 1) % devices.len());
        self.options.device = devices[next].clone();
        self.load();
    }

    /// Shows what is wrong, until the shader is changed.
    fn fail(&mut self, report: impl Into<Report>) {
        let report = report.into();
        eprint!("{report}");
        self.stage = Stage::Failed(report);
        self.refresh();
    }

    /// Goes to another shader.
    fn show_another(&mut self) {
        self.clock.reset();
        self.shown = None;
        if let Some(screen) = &mut self.screen {
            screen.gpu.set_picture(None);
        }
        self.load();
    }

    /// Brings the title and the text over the picture up to date.
    fn refresh(&mut self) {
        let title = self.title();
        let Some(screen) = &mut self.screen else { return };
        screen.window.set_title(&title);
        let inner = screen.window.inner_size();
        let text = match &self.stage {
            Stage::Playing(_) => None,
            Stage::Failed(report) => {
                Size::new(inner.width, inner.height).map(|size| overlay::draw(&report.to_string(), size))
            }
        };
        let largest = screen.gpu.largest_side();
        let fits = |frame: &Frame| frame.size.width().max(frame.size.height()) <= largest;
        screen.gpu.set_overlay(text.as_ref().filter(|frame| fits(frame)));
        screen.window.request_redraw();
    }

    fn title(&self) -> String {
        let name = self.gallery.name();
        let state = match &self.stage {
            Stage::Failed(report) => summary(report),
            Stage::Playing(renderer) => {
                let rate = self.pace.rate().map_or_else(String::new, |rate| format!(" - {rate:.1} fps"));
                let cells = self.shown.as_ref().map_or(0, |frame| frame.cells);
                let paused = if self.clock.is_stopped() { " - paused" } else { "" };
                format!("{} - {}{rate} - {cells} cells{paused}", renderer.size(), renderer.device())
            }
        };
        format!("{name} - {state} - girih")
    }

    /// Takes the pictures that are done; the newest is shown.
    fn collect(&mut self) {
        let Stage::Playing(renderer) = &mut self.stage else { return };
        let mut newest = None;
        while let Some(result) = renderer.poll() {
            match result {
                Ok(frame) => newest = Some(frame),
                Err(report) => return self.fail(report),
            }
            self.pace.tick();
        }
        let Some(frame) = newest else { return };
        let Some(screen) = &mut self.screen else { return };
        let largest = screen.gpu.largest_side();
        if frame.size.width().max(frame.size.height()) > largest {
            return self.fail(too_large(frame.size, largest));
        }
        screen.gpu.set_picture(Some(&frame));
        screen.window.request_redraw();
        self.shown = Some(frame);
        self.counts.shown += 1;
    }

    /// Keeps the cores busy.
    fn submit(&mut self, now: Instant) {
        let Stage::Playing(renderer) = &mut self.stage else { return };
        let moving = !self.clock.is_stopped() && now >= self.next_submit;
        if (moving || self.stale) && !renderer.is_busy() {
            renderer.submit(self.clock.time());
            self.stale = false;
            self.next_submit = now + SHORTEST_FRAME;
        }
    }

    fn act(&mut self, action: Action, events: &ActiveEventLoop) {
        match action {
            Action::Quit => events.exit(),
            Action::Step(by) => {
                self.gallery.step(by);
                self.show_another();
            }
            Action::GoTo(number) => {
                if self.gallery.go_to(number) {
                    self.show_another();
                }
            }
            Action::Pause => {
                self.clock.toggle();
                self.refresh();
            }
            Action::Advance => {
                self.clock.step(STEP);
                self.stale = true;
                self.refresh();
            }
            Action::Device => self.change_device(),
            Action::Restart => {
                self.clock.reset();
                self.stale = true;
            }
            Action::Finer => self.scale(2.0),
            Action::Coarser => self.scale(0.5),
            Action::Save => self.save(),
            Action::FullScreen => {
                if let Some(screen) = &self.screen {
                    let other = screen.window.fullscreen().is_none().then_some(Fullscreen::Borderless(None));
                    screen.window.set_fullscreen(other);
                }
            }
        }
    }

    /// Changes the size of the pictures, if there can be pictures of the other size.
    fn scale(&mut self, by: f64) {
        let Stage::Playing(renderer) = &self.stage else { return };
        let old = renderer.size();
        if self.is_fixed {
            let largest = self.screen.as_ref().map_or(u32::MAX, |screen| screen.gpu.largest_side());
            let side = |side: u32| ((f64::from(side) * by) as u32).clamp(SHORTEST_SIDE, largest);
            self.options.size = Size::new(side(old.width()), side(old.height())).or(self.options.size);
            return self.load();
        }
        self.detail *= by;
        match self.fitting() {
            Some(size) if size != old => self.load(),
            Some(_) | None => self.detail /= by,
        }
    }

    /// Saves the picture that is shown, under the first name that is free.
    fn save(&self) {
        let Some(picture) = &self.shown else { return };
        let frame = match picture.frame() {
            Ok(frame) => frame,
            Err(error) => return eprint!("{}", error.into_report()),
        };
        let name = self.gallery.name();
        let path = (1..)
            .map(|number| self.folder.join(format!("{name}-{number}.png")))
            .find(|path| !path.exists())
            .expect("some number is free");
        match write_png(&path, &frame) {
            Ok(()) => println!("saved {}", path.display()),
            Err(report) => eprint!("{report}"),
        }
    }

    /// Opens the window, or gives an open one a new device.
    fn open(&mut self, events: &ActiveEventLoop) -> Result<(), Failure> {
        let window = match self.screen.take() {
            Some(Screen { window, gpu }) => {
                // What was painted there is gone with it.
                self.stage = Stage::Failed(Report::default());
                self.shown = None;
                self.count(&gpu);
                drop(gpu);
                window
            }
            None => {
                let attributes = Window::default_attributes().with_title("girih").with_inner_size(OPENING);
                let window = events
                    .create_window(attributes)
                    .map_err(|error| Failure::NoDevice(format!("error: no window can be opened: {error}")))?;
                Arc::new(window)
            }
        };
        let wanted = match &self.options.device {
            RunDevice::Device(selector) => Some(selector),
            RunDevice::Auto | RunDevice::Cpu | RunDevice::Interpreter(_) | RunDevice::Evaluator => None,
        };
        let gpu = Gpu::new(Arc::clone(&window), events.owned_display_handle(), wanted)?;
        if let RunDevice::Auto = self.options.device {
            self.options.device = best(&gpu);
        }
        self.screen = Some(Screen { window, gpu });
        Ok(())
    }

    /// Ends the demo if this went wrong.
    fn demand(&mut self, result: Result<(), Failure>, events: &ActiveEventLoop) {
        if let Err(failure) = result {
            self.failure = Some(failure);
            events.exit();
        }
    }

    /// Replaces a device that has broken, unless that happens too often.
    fn replace_device(&mut self, events: &ActiveEventLoop) {
        let now = Instant::now();
        self.broken.retain(|&then| now - then < BREAKING);
        self.broken.push(now);
        let result = if self.broken.len() > MOST_BROKEN {
            Err(Failure::NoDevice("error: the GPU keeps failing".to_owned()))
        } else {
            self.open(events)
        };
        self.demand(result, events);
        self.load();
    }

    fn draw(&mut self, events: &ActiveEventLoop) {
        let Some(screen) = &mut self.screen else { return };
        match screen.gpu.draw() {
            Drawn::Shown | Drawn::Skipped => {}
            Drawn::Again => screen.window.request_redraw(),
            Drawn::Broken => self.replace_device(events),
        }
    }
}

impl ApplicationHandler<PictureDone> for Viewer {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        if self.screen.is_none() {
            let result = self.open(events);
            self.demand(result, events);
            self.load();
        }
    }

    fn user_event(&mut self, _: &ActiveEventLoop, PictureDone: PictureDone) {
        self.collect();
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        match event {
            WindowEvent::CloseRequested => events.exit(),
            WindowEvent::RedrawRequested => self.draw(events),
            WindowEvent::Resized(_) | WindowEvent::ScaleFactorChanged { .. } => {
                if let Some(screen) = &mut self.screen {
                    screen.gpu.resize();
                }
                self.refresh();
            }
            WindowEvent::KeyboardInput { event, is_synthetic: false, .. } => {
                if let Some(action) = Action::of(&event) {
                    self.act(action, events);
                }
            }
            _ => {}
        }
    }

    fn about_to_wait(&mut self, events: &ActiveEventLoop) {
        let now = Instant::now();
        if now >= self.next_glance {
            self.next_glance = now + GLANCE;
            if self.gallery.current().changed().is_some() {
                self.load();
            } else {
                self.fit();
            }
            let title = self.title();
            if let Some(screen) = &self.screen {
                screen.window.set_title(&title);
            }
        }
        self.submit(now);
        let hurry = matches!(&self.stage, Stage::Playing(renderer) if !renderer.is_busy()) && !self.clock.is_stopped();
        let wake = if hurry { self.next_submit.min(self.next_glance) } else { self.next_glance };
        events.set_control_flow(ControlFlow::WaitUntil(wake));
    }
}

/// What paints best: the card that draws into the window, from which pictures need not be copied, or the processor.
fn best(gpu: &Gpu) -> RunDevice {
    let (info, refused) = (gpu.context().info(), gpu.context().refused());
    match (info.kind, refused) {
        (DeviceKind::Wgpu, None) => RunDevice::Device(Selector::Wgpu(Some(info.name.clone()))),
        (_, _) => RunDevice::Cpu,
    }
}

/// The first error, in one line.
fn summary(report: &Report) -> String {
    let error = report.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
    let Some(error) = error else { return "loading".to_owned() };
    let place = error.span();
    let line = report.sources.get(place.source).map_or_else(String::new, |source| {
        format!(" ({}:{})", source.name, report.sources.line_column(place.source, place.start).0)
    });
    format!("{}: {}{line}", error.code, error.message)
}

fn report_warnings(report: &Report) {
    if !report.diagnostics.is_empty() {
        eprint!("{report}");
    }
}

fn too_large(size: Size, largest: u32) -> Report {
    let message =
        format!("a picture of {size} pixels is too large for this GPU, whose pictures have at most {largest} a side");
    let diagnostic = girih::Diagnostic::new(girih::Code::NotAShader, girih::Span::NONE, message);
    Report { diagnostics: vec![diagnostic.hint("choose a smaller `--size`")], ..Report::default() }
}

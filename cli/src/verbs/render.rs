//! `girih render FILE`: frames of an image shader, as PNG or GIF.

use crate::console::Console;
use crate::exit::Exit;
use crate::interrupt::{self, Interrupt};
use crate::{device, memory};
use clap::Args;
use girih::render::{Output, RenderOptions, Renderer, Shader, Size, times};
use girih::{Error, RunDevice};
use girih_base::plural::counted;
use girih_runtime::median;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  girih render shaders/plasma.bend                                     one frame, into plasma.png
  girih render shaders/plasma.bend -o plasma.gif                       an animation of two seconds
  girih render shaders/julia.bend --size 640x480 --start 2 -o j.png    the frame at two seconds
  girih render shaders/julia.bend --frames 10 -o j.png                 j-0000.png to j-0009.png
  girih render shaders/mandelbrot256.bend --measure --frames 100       how fast it is; no picture";

/// How many frames are painted before it counts how fast that is.
const WARM: usize = 4;

/// How many frames an animation has if nothing is said.
const ANIMATION: usize = 60;

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Render {
    /// The shader: a file that defines `shader(x, y, t)` or `render(depth, t)`
    file: PathBuf,
    /// The picture: NAME.png, or NAME.gif for an animation [default: the shader's name with .png]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Width and height, for example 640x480 [default: the shader's own]
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,
    /// How many frames [default: 1 for a PNG, 60 for a GIF]
    #[arg(long, value_name = "N")]
    frames: Option<NonZeroUsize>,
    /// The time of the first frame, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, value_parser = time)]
    start: f32,
    /// How many frames a second has
    #[arg(long, value_name = "N", default_value_t = 30.0, value_parser = rate)]
    fps: f32,
    /// Write nothing: say how many frames a second are painted [default: 60 frames]
    #[arg(long, conflicts_with = "output")]
    measure: bool,
    /// How many threads paint [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// The most memory that the shader's data may take, for example 512M or 4G [default: 3/4 of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_size)]
    memory: Option<u64>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = interrupt::seconds)]
    timeout: Option<Duration>,
    /// Where to run it: auto; cpu, native code on all cores; evaluator, which says what programs mean; wgpu,
    /// wgpu:N, cuda, cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device::parse)]
    device: device::Device,
}

/// Reads `--start`. A negative number has a space before it by now.
fn time(text: &str) -> Result<f32, String> {
    text.trim().parse().ok().filter(|time: &f32| time.is_finite()).ok_or("expected a number of seconds".to_owned())
}

/// Reads `--fps`.
fn rate(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(rate) if (0.01..=1000.0).contains(&rate) => Ok(rate),
        Ok(_) | Err(_) => Err("expected a number from 0.01 to 1000".to_owned()),
    }
}

impl Render {
    /// Draws the frames.
    pub fn run(&self, console: &Console) -> Exit {
        let device = self.device.for_programs();
        let interrupt = Interrupt::new(self.timeout, console);
        match self.draw(device, &interrupt, console) {
            Ok(()) => Exit::Ok,
            Err(report) => {
                console.report(&report);
                interrupt.exit_of(&report)
            }
        }
    }

    fn draw(&self, device: RunDevice, interrupt: &Interrupt, console: &Console) -> Result<(), Error> {
        let shader = Shader::open(&self.file)?;
        console.report(shader.warnings());
        let mut renderer = shader.renderer(&RenderOptions {
            size: self.size,
            threads: self.threads,
            memory: self.memory.unwrap_or_else(memory::default_limit),
            interrupt: Some(interrupt.flag()),
            device,
            ..RenderOptions::default()
        })?;
        if self.measure {
            return self.measure(&mut renderer, console);
        }
        let path = self.output.clone().unwrap_or_else(|| default_output(&self.file));
        let animated = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gif"));
        let count = self.frames.map_or(if animated { ANIMATION } else { 1 }, NonZeroUsize::get);
        let size = renderer.size();
        console.detail(|| format!("{} of {size} on {} threads", counted(count, "frame"), renderer.threads()));
        let bar = progress(console, count);
        let started = Instant::now();
        let mut output = Output::create(&path, count, self.fps)?;
        let mut evaluation = vec![];
        let drawn = renderer.frames(times(self.start, self.fps, count)).try_for_each(|frame| {
            let frame = frame?;
            evaluation.push(frame.evaluation);
            output.add(&frame)?;
            bar.inc(1);
            Ok::<(), Error>(())
        });
        bar.finish_and_clear();
        drawn?;
        say_how(&renderer, console);
        let files = output.finish()?;
        let seconds = started.elapsed().as_secs_f64();
        for file in files {
            let file = file.display().to_string();
            console.result(&file, || json!({"kind": "picture", "file": file, "size": size.to_string()}));
        }
        console.note(&format!(
            "{} of {size} in {seconds:.2} s, {:.1} a second; {} of evaluation each",
            counted(count, "frame"),
            count as f64 / seconds,
            milliseconds(median(&evaluation))
        ));
        Ok(())
    }

    /// Paints frames, after some first ones, and says how long they took.
    fn measure(&self, renderer: &mut Renderer, console: &Console) -> Result<(), Error> {
        let count = self.frames.map_or(ANIMATION, NonZeroUsize::get);
        // All that paints, which may be two heaps of a card, gets something to do, and is loaded then.
        renderer.frames(times(self.start, self.fps, WARM)).try_for_each(|frame| frame.map(drop))?;
        let started = Instant::now();
        let mut evaluation = vec![];
        for frame in renderer.frames(times(self.start, self.fps, count)) {
            evaluation.push(frame?.evaluation);
        }
        let seconds = started.elapsed().as_secs_f64();
        say_how(renderer, console);
        let (size, rate, evaluation) = (renderer.size(), count as f64 / seconds, median(&evaluation));
        let (frames, each) = (counted(count, "frame"), milliseconds(evaluation));
        let text = format!("{frames} of {size} in {seconds:.2} s, {rate:.1} a second; {each} of evaluation each");
        console.result(&text, || {
            json!({
                "kind": "rate", "frames": count, "size": size.to_string(), "threads": renderer.threads(), "seconds": seconds, "rate": rate,
                "evaluation": evaluation.as_secs_f64(),
            })
        });
        Ok(())
    }
}

/// Says in which way a device has evaluated.
fn say_how(renderer: &Renderer, console: &Console) {
    if let Some(how) = renderer.how() {
        console.detail(|| format!("{} runs it {how}", renderer.device()));
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", 1e3 * time.as_secs_f64())
}

/// The shader's name with `.png`, in the current folder.
fn default_output(file: &Path) -> PathBuf {
    Path::new(file.file_stem().unwrap_or("shader".as_ref())).with_extension("png")
}

/// A bar on a terminal, nothing elsewhere.
fn progress(console: &Console, count: usize) -> ProgressBar {
    if !console.shows_progress() || count < 2 {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {per_sec} {eta}");
    ProgressBar::new(count as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_called_as_its_shader() {
        assert_eq!(default_output(Path::new("shaders/julia.bend")), Path::new("julia.png"));
        assert_eq!(default_output(Path::new("-")), Path::new("-.png"));
    }

    #[test]
    fn a_rate_is_not_nothing() {
        assert_eq!(rate("12.5"), Ok(12.5));
        for text in ["0", "-1", "NaN", "x", "1e9"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}

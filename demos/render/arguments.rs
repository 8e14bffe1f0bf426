//! The command line of the demo.

use clap::Parser;
use girih::RunDevice;
use girih::devices::Selector;
use girih::render::{RenderOptions, Size};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Shows image shaders written in Bend.
#[derive(Debug, Parser)]
#[command(name = "render", after_help = crate::input::HELP)]
pub struct Arguments {
    /// The shaders [default: all of shaders/*.bend]
    pub files: Vec<PathBuf>,
    /// Write pictures instead of opening a window
    #[arg(long)]
    pub headless: bool,
    /// How many pictures of each shader to write
    #[arg(long, value_name = "N", default_value = "1", requires = "headless")]
    pub frames: NonZeroUsize,
    /// How many pictures of an animation are shown in a second
    #[arg(long, value_name = "F", default_value = "30", value_parser = rate, requires = "headless")]
    pub fps: f32,
    /// The folder for pictures
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
    /// The size of the picture [default: what the shader says]
    #[arg(long, value_name = "WxH")]
    pub size: Option<Size>,
    /// What paints: auto, the card that draws into the window, else the processor; cpu, native code on all cores; evaluator, which says what
    /// shaders mean; or another device
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: RunDevice,
    /// How many threads paint [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Say at the end how many pictures were shown, and what has come from the device to the host
    #[arg(long, conflicts_with = "headless")]
    pub stats: bool,
}

impl Arguments {
    /// What they say about how pictures are made.
    pub fn render_options(&self) -> RenderOptions {
        let device = self.device.clone();
        RenderOptions { size: self.size, threads: self.threads, device, ..RenderOptions::default() }
    }
}

fn device(text: &str) -> Result<RunDevice, String> {
    match text {
        "evaluator" => Ok(RunDevice::Evaluator),
        name => Selector::parse(name).map(RunDevice::from).map_err(|error| error.message().to_owned()),
    }
}

fn rate(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(rate) if (0.01..=1000.0).contains(&rate) => Ok(rate),
        Ok(_) | Err(_) => Err("expected a number between 0.01 and 1000".to_owned()),
    }
}

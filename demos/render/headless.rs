//! Pictures as files, without a display and without a GPU.

use crate::Failure;
use crate::arguments::Arguments;
use crate::gallery::{Gallery, name};
use girih::Report;
use girih::render::{Output, Shader, times};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::Path;

/// Writes the pictures of all shaders. A shader that is wrong does not keep the others from being written.
pub fn run(gallery: &Gallery, arguments: &Arguments) -> Result<(), Failure> {
    let mut failures = String::new();
    for path in gallery.paths() {
        if let Err(report) = write(path, arguments) {
            failures.push_str(&report.to_string());
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(Failure::Failed(failures)) }
}

fn write(path: &Path, arguments: &Arguments) -> Result<(), Report> {
    let shader = Shader::open(path)?;
    let name = name(path);
    let count = arguments.frames.get();
    let mut renderer = shader.renderer(&arguments.render_options())?;
    let mut output = Output::folder(&arguments.output, &name, count)?;
    let bar = progress(count, &name);
    for frame in renderer.frames(times(0.0, arguments.fps, count)) {
        output.add(&frame?)?;
        bar.inc(1);
    }
    let written = output.finish()?;
    bar.finish_and_clear();
    if let (Some(first), Some(last)) = (written.first(), written.last()) {
        let range = if count == 1 { String::new() } else { format!(" to {}", last.display()) };
        println!("{}{range}: {} on {}", first.display(), renderer.size(), renderer.device());
    }
    Ok(())
}

/// A bar on stderr; none is drawn where that is no terminal.
fn progress(count: usize, name: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} {per_sec} {eta}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
    ProgressBar::new(count as u64).with_style(style).with_message(name.to_owned())
}

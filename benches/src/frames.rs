//! The suite `render`: how many frames a second the image shaders of the folder `shaders` have, at several sizes.

use super::figures::{Row, Run, Size, Work};
use super::spread::Spread;
use super::suite::{Bench, Scale, Session};
use girih::render::{self, RenderOptions, Shader, times};
use girih::{Program, Report};
use girih_bend::loader::{File, LoadError, Loader};
use std::num::NonZeroUsize;
use std::time::Instant;

macro_rules! shaders {
    ($($name:literal)*) => {
        /// All shaders: the name and the text of each.
        const SHADERS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../shaders/", $name, ".bend"))),)*];
    };
}

shaders! {
    "branches" "checker" "julia" "mandelbrot" "mandelbrot256" "plasma" "shadows" "spheres" "spirals" "voronoi"
}

/// What shaders import.
const LIBRARY: &[(&str, &str)] = &[("lib/colour", include_str!("../../shaders/lib/colour.bend"))];

/// Frames that are painted for a sample, one after the other, those that follow while one is looked at.
const FRAMES: usize = 4;
const RATE: f32 = 30.0;
/// When the first one is.
const START: f32 = 1.0;

/// Lists shaders and sizes.
pub(super) fn open(bench: &mut Bench) -> Result<Box<dyn Session>, Report> {
    let sides: &[u32] = match bench.program_scale()? {
        Scale::Tiny => &[16],
        Scale::Small => &[16, 64],
        Scale::Full if bench.plan.is_on_device() => &[256, 512, 1024],
        Scale::Full => &[64, 256],
    };
    let jobs = SHADERS.iter().flat_map(|(name, _)| sides.iter().map(|side| (*name, *side))).collect();
    Ok(Box::new(Shaders { jobs }))
}

struct Shaders {
    jobs: Vec<(&'static str, u32)>,
}

impl Session for Shaders {
    fn titles(&self) -> Vec<String> {
        self.jobs.iter().map(|(name, side)| format!("{name} {side}")).collect()
    }

    fn row(&mut self, bench: &mut Bench, position: usize) -> Result<Row, Report> {
        let ((name, side), plan) = (self.jobs[position], bench.plan);
        let begun = Instant::now();
        let shader = Shader::new(&Program::load(&Shelf(name), &Shader::options()))?;
        let opening = begun.elapsed().as_secs_f64();
        // Contenders take turns.
        let threads: Vec<Option<usize>> = plan.threads.iter().copied().map(Some).collect();
        let threads = if threads.is_empty() { vec![None] } else { threads };
        let mut contenders = vec![];
        for threads in threads {
            let begun = Instant::now();
            let renderer = shader.renderer(&RenderOptions {
                size: render::Size::new(side, side),
                threads: threads.and_then(NonZeroUsize::new),
                memory: plan.memory,
                interrupt: plan.interrupt.clone(),
                device: plan.device.clone(),
                ..RenderOptions::default()
            })?;
            contenders.push((threads, renderer, opening + begun.elapsed().as_secs_f64(), vec![]));
        }
        for round in 0..=plan.samples {
            if round > 1 && bench.patience.is_short() {
                break;
            }
            for (_, renderer, _, samples) in &mut contenders {
                let begun = Instant::now();
                renderer.frames(times(START, RATE, FRAMES)).try_for_each(|frame| frame.map(drop))?;
                if round > 0 {
                    samples.push(begun.elapsed().as_secs_f64() / FRAMES as f64);
                }
            }
        }
        let run = |threads, samples: &[f64]| Some(Run { threads, time: Spread::of(samples)? });
        Ok(Row {
            suite: "render".to_owned(),
            name: name.to_owned(),
            size: Size::of(side as usize, side as usize),
            compile: contenders.first().map(|(_, _, compile, _)| *compile),
            runs: contenders.iter().filter_map(|(threads, _, _, samples)| run(*threads, samples)).collect(),
            bytes: None,
            way: None,
            calls: None,
            work: Some(Work::Frames(1.0)),
            peers: vec![],
        })
    }
}

/// Loads the shader of a name and what it imports.
struct Shelf(&'static str);

fn text(shelf: &[(&str, &str)], wanted: &str) -> Option<File> {
    let (name, text) = shelf.iter().find(|(name, _)| *name == wanted)?;
    Some(File { name: format!("{name}.bend"), text: (*text).to_owned() })
}

impl Loader for Shelf {
    fn main(&self) -> Result<File, LoadError> {
        text(SHADERS, self.0).ok_or_else(|| LoadError { message: format!("there is no shader `{}`", self.0) })
    }

    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        Ok(text(LIBRARY, path))
    }

    fn folder(&self, _path: &str) -> Option<Vec<String>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::SHADERS;

    #[test]
    fn all_shaders_are_measured() {
        let entries = std::fs::read_dir("../shaders").expect("the project has shaders");
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".bend").map(str::to_owned))
            .collect();
        names.sort();
        assert_eq!(SHADERS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
    }
}

//! Pictures painted by whoever asks for them: for a worker of a browser, which has no threads.
//!
//! Invariant: one picture is painted at a time, and all of it by one painter; so the state that some shaders carry is in one place.

use super::frame::{Frame, Size};
use super::shader::{RenderOptions, Shader};
use super::tree::{Resources, Tree};
use super::workers::{Motif, Painter};
use crate::error::Error;
use girih_base::span::Sources;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use web_time::Instant;

/// A shader that is ready to paint, on the caller's thread.
pub struct Painting {
    motif: Tree,
    painter: Box<dyn Painter>,
    sources: Sources,
    size: Size,
    /// The picture that is painted in parts.
    begun: Option<Begun>,
}

/// A picture, its time, and how many of its branches are painted.
struct Begun {
    frame: Frame,
    time: f32,
    branches: usize,
}

impl Shader {
    /// Compiles the shader for pictures that the caller's own thread makes; `options.threads` is not looked at.
    ///
    /// # Errors
    /// If the shader cannot be compiled for the device.
    pub fn painting(&self, options: &RenderOptions) -> Result<Painting, Error> {
        let size = options.size.unwrap_or(self.size());
        let resources = Resources { memory: options.memory, threads: NonZeroUsize::MIN };
        let motif = self.motif(size, &resources, options)?;
        let interrupt: Arc<AtomicBool> = options.interrupt.clone().unwrap_or_default();
        let painter = motif.painter(&interrupt);
        Ok(Painting { motif, painter, sources: self.warnings().sources.clone(), size, begun: None })
    }
}

impl Painting {
    /// The size of the pictures.
    pub fn size(&self) -> Size {
        self.size
    }

    /// In which way a device evaluates the pictures, in some words; none before the first one, and for the evaluator.
    pub fn how(&self) -> Option<String> {
        self.painter.how()
    }

    /// The picture at a time, in seconds.
    ///
    /// # Errors
    /// If the program fails, or the device does.
    pub fn frame(&mut self, time: f32) -> Result<Frame, Error> {
        self.begun = None;
        loop {
            if let Some(frame) = self.part(time, Duration::MAX)? {
                return Ok(frame);
            }
        }
    }

    /// Paints the picture at a time for about so long, and gives it when it is done; none if it goes on with the next call. A call for another time begins that picture.
    ///
    /// # Errors
    /// As [`frame`](Self::frame).
    pub fn part(&mut self, time: f32, limit: Duration) -> Result<Option<Frame>, Error> {
        let started = Instant::now();
        let begun = self.begun.take().filter(|begun| begun.time.to_bits() == time.to_bits());
        let empty = Frame { size: self.size, pixels: vec![], cells: 0, evaluation: Duration::ZERO };
        let mut now = begun.unwrap_or(Begun { frame: empty, time, branches: 0 });
        let frame = &mut now.frame;
        for branch in self.motif.branches().into_iter().skip(now.branches) {
            if started.elapsed() >= limit {
                self.begun = Some(now);
                return Ok(None);
            }
            let mut pixels = Vec::with_capacity(branch.pixels(self.size).len());
            let begun = Instant::now();
            let painted = self.painter.paint(branch, time, &mut pixels);
            frame.cells += painted.map_err(|error| Error::new(self.sources.clone(), vec![error]))?;
            frame.evaluation += self.painter.evaluation().unwrap_or_else(|| begun.elapsed());
            frame.pixels.append(&mut pixels);
            now.branches += 1;
        }
        Ok(Some(now.frame))
    }
}

impl std::fmt::Debug for Painting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Painting").field("size", &self.size).finish_non_exhaustive()
    }
}

//! Previews: a coarse picture of a shader at once, for who would wait for a device's compiler.
//!
//! Invariant: each pixel of a preview is one of the picture, in full precision; only those between are left out.

use super::frame::{Frame, Size};
use super::read_pixels;
use super::shader::{RenderOptions, Shader};
use super::signature::{self, Kind};
use crate::error::Error;
use crate::stack::on_big_stack;
use girih_base::diag::Diagnostic;
use girih_base::num::Num;
use girih_term::code::Code;
use girih_term::eval::{Limits, Machine};
use std::time::Duration;
use web_time::Instant;

/// The most pixels that a preview has.
const MOST: u32 = 4096;

/// How far apart the pixels of a picture are that its preview shows, in both directions: the smallest power of two at which there are few enough.
fn distance(size: Size) -> u32 {
    let pixels = |every: u32| size.width().div_ceil(every) * size.height().div_ceil(every);
    (0..).map(|power| 1 << power).find(|&every| pixels(every) <= MOST).unwrap_or(1)
}

impl Shader {
    /// A preview of the picture at a time, in seconds: the evaluator makes it on the caller's thread, so of `options` only the size, the memory and the interrupt count. There
    /// is one of shaders that give each pixel by itself; the pictures of others are trees, of which there is no part without the whole.
    ///
    /// # Errors
    /// If the program fails at a pixel.
    pub fn preview(&self, options: &RenderOptions, time: f32) -> Result<Option<Frame>, Error> {
        let Kind::Pixel { shader, .. } = self.kind else { return Ok(None) };
        let size = options.size.unwrap_or(self.size);
        let limits = Limits { memory: options.memory, interrupt: options.interrupt.clone(), ..Limits::default() };
        let paint = || {
            let one = |diagnostic: Diagnostic| vec![diagnostic];
            let mut program = signature::resized(&self.program, size).map_err(one)?;
            program.entry = None;
            let place = program.defs[shader].span;
            let mut machine = Machine::new(&Code::for_roots(&program, &[shader])?, limits);
            let (every, mut pixels) = (distance(size), vec![]);
            let begun = Instant::now();
            // The middle of what a pixel stands for, unless that lies beyond the edge.
            let middles =
                |length: u32| (0..length).step_by(every as usize).map(move |at| (at + every / 2).min(length - 1));
            for y in middles(size.height()) {
                for x in middles(size.width()) {
                    let given = [Num::u24(x).into(), Num::u24(y).into(), Num::f24(time).into()];
                    let value = machine.call(shader, &given).map_err(one)?;
                    let wanted = pixels.len() + 1;
                    read_pixels::read(&mut machine, &[value], wanted, place, &mut pixels).map_err(one)?;
                }
            }
            let evaluation: Duration = begun.elapsed();
            let coarse = Size::new(size.width().div_ceil(every), size.height().div_ceil(every)).unwrap_or(size);
            Ok(Frame { size: coarse, pixels, cells: 0, evaluation })
        };
        on_big_stack(paint).map(Some).map_err(|diagnostics| Error::new(self.sources.clone(), diagnostics))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;

    fn shader(text: &str) -> Shader {
        let program = Program::from_text("shader.bend", text, &Shader::options());
        Shader::new(&program).expect("it is a shader")
    }

    fn preview(shader: &Shader, size: Size, time: f32) -> Result<Option<Frame>, Error> {
        shader.preview(&RenderOptions { size: Some(size), ..RenderOptions::default() }, time)
    }

    #[test]
    fn a_preview_has_pixels_of_the_picture() {
        let shader = shader("def shader(x: u24, y: u24, t: f24) -> u24:\n  return x * 256 + y + f24/to_u24(t)\n");
        for (width, height) in [(1, 1), (64, 64), (65, 64), (257, 193), (4096, 4096), (1, 16_777_215)] {
            let size = Size::new(width, height).expect("a size within the limit");
            let preview = preview(&shader, size, 3.0).expect("it paints").expect("it has pixels by themselves");
            let every = distance(size);
            assert!(preview.size.pixels() <= MOST);
            assert_eq!(preview.pixels.len(), preview.size.pixels() as usize, "{size}");
            for (number, pixel) in preview.pixels.iter().enumerate() {
                let at = |number: u32, length: u32| (number * every + every / 2).min(length - 1);
                let (across, down) = (number as u32 % preview.size.width(), number as u32 / preview.size.width());
                let colour =
                    at(across, width).wrapping_mul(256).wrapping_add(at(down, height)).wrapping_add(3) & 0xff_ffff;
                assert_eq!(*pixel, read_pixels::pixel(colour), "pixel {number} of {size}");
            }
        }
    }

    #[test]
    fn what_is_a_tree_has_no_preview_and_what_fails_says_so() {
        let size = Size::new(8, 8).expect("a size within the limit");
        let tree = "def render(depth: u24, t: f24):\n  bend d = 0:\n    when d < depth:\n      picture = ![fork(d + 1), fork(d + 1)]\n    else:\n      picture = !d\n  return picture\n";
        assert!(preview(&shader(tree), size, 0.0).expect("it paints").is_none());
        let failing = shader("def shader(x: u24, y: u24, t: f24) -> u24:\n  return 1 / (x - x)\n");
        assert!(preview(&failing, size, 0.0).is_err());
    }
}

//! Image shaders: Bend programs whose value is a picture.
//!
//! A picture is an immutable tree that Bend builds anew for every frame: leaf number i, from left to right, is the
//! pixel at column i mod width and row i div width. If the file gives a function of one pixel, the tree is perfect,
//! and all cores grow its branches.
//!
//! | if a file defines | its picture is |
//! |---|---|
//! | `shader(x: u24, y: u24, t: f24) -> u24` | the colour 0xRRGGBB of each pixel at the time t, in seconds |
//! | `render(depth: u24, t: f24)` | the tree that the function gives; a perfect tree of this depth has enough leaves |
//! | `render(depth: u24, t: f24, state)`, `init(depth: u24)`, `step(state, t: f24)` | such a tree, made from a state that is carried from picture to picture: `init` gives the first state, and `step` gives each of the others, at the time at which it begins |
//!
//! The file may define its size by `width` and `height`, and the number of states in a second by `rate`; the defaults are 256 by 256, and 30.
//! The state of a picture depends only on its time: it is the first state after `rate * time` applications of `step`.
//!
//! ```no_run
//! use girih::render::{Output, RenderOptions, Shader, times};
//!
//! let shader = Shader::open("shaders/plasma.bend")?;
//! let mut renderer = shader.renderer(&RenderOptions::default())?;
//! let mut output = Output::create("plasma.gif".as_ref(), 60, 30.0)?;
//! for frame in renderer.frames(times(0.0, 30.0, 60)) {
//!     output.add(&frame?)?;
//! }
//! # Ok::<(), girih::Error>(())
//! ```

mod branch;
mod frame;
mod on_device;
mod output;
mod painting;
mod picture;
mod preview;
mod read_pixels;
mod shader;
mod signature;
mod tree;
mod workers;

pub use frame::{Frame, MOST_PIXELS, Pixel, Size};
pub use output::{Output, png_bytes, write_png};
pub use painting::Painting;
pub use picture::{Picture, Pixels};
pub(crate) use read_pixels::Source;
pub use shader::{RenderOptions, Renderer, Shader, devices, times};

//! Image shaders: Bend programs whose value is a picture.
//!
//! A picture is an immutable tree that Bend builds anew for every frame: the leaf number i, from left to right, is the
//! pixel at column i mod width and row i div width. Where the file gives a function of one pixel, the tree is perfect,
//! and its branches are grown on all cores.
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
//! # Ok::<(), girih::Report>(())
//! ```

mod branch;
mod contract;
mod frame;
mod leaves;
mod output;
mod shader;
mod tree;
mod watch;
mod workers;

pub use frame::{Frame, MOST_PIXELS, Pixel, Size};
pub use output::{Output, write_png};
pub use shader::{RenderOptions, Renderer, Shader, times};
pub use watch::Watched;

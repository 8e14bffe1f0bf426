//! Pictures as painters leave them: their pixels are on the host, or still on the device that is the screen's.

use super::frame::{Frame, Pixel, Size};
use crate::devices::SharedBuffer;
use crate::error::Error;
use girih_base::diag::Diagnostic;
use std::sync::Arc;
use std::time::Duration;

/// A picture that is done, wherever its pixels are.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Its size.
    pub size: Size,
    /// Its pixels.
    pub pixels: Pixels,
    /// How many cells the tree has that it was read from: its forks.
    pub cells: u64,
    /// How long it took to evaluate: see [`Frame::evaluation`].
    pub evaluation: Duration,
}

/// Where the pixels of a picture are: four bytes for each, row after row.
#[derive(Clone, Debug)]
pub enum Pixels {
    /// On the host; as many as the size says.
    Host(Vec<Pixel>),
    /// On the screen's device, from the first byte of a buffer on. The painter uses the buffer again when nobody has it any more.
    Device(Arc<SharedBuffer>),
}

impl Picture {
    /// The picture with its pixels on the host.
    ///
    /// # Errors
    /// If they are on a device that fails.
    pub fn frame(&self) -> Result<Frame, Error> {
        self.clone().into_frame()
    }

    /// The same, without a copy of what is on the host already.
    ///
    /// # Errors
    /// If the pixels are on a device that fails.
    pub fn into_frame(self) -> Result<Frame, Error> {
        self.brought().map_err(Error::from)
    }

    /// The same for who has sources for the error.
    pub(super) fn brought(self) -> Result<Frame, Diagnostic> {
        let Picture { size, pixels, cells, evaluation } = self;
        let pixels = match pixels {
            Pixels::Host(pixels) => pixels,
            Pixels::Device(buffer) => {
                let bytes = buffer.read()?;
                let (pixels, _) = bytes.as_chunks();
                pixels.iter().copied().take(size.pixels() as usize).collect()
            }
        };
        Ok(Frame { size, pixels, cells, evaluation })
    }
}

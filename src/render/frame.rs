//! Pictures: their sizes and their pixels.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A colour: red, green, blue, opacity.
pub type Pixel = [u8; 4];

/// The most pixels of a picture: their numbers are u24.
pub const MOST_PIXELS: u32 = 1 << 24;

/// The width and height of a picture: neither is zero, and there are at most [`MOST_PIXELS`] pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    width: u32,
    height: u32,
}

impl Size {
    /// The size of a picture, if there can be a picture of this size.
    pub fn new(width: u32, height: u32) -> Option<Size> {
        let pixels = u64::from(width) * u64::from(height);
        (1..=u64::from(MOST_PIXELS)).contains(&pixels).then_some(Size { width, height })
    }

    /// The same, for sizes that people give.
    ///
    /// # Errors
    /// In a sentence, what sizes there are.
    pub fn checked(width: u32, height: u32) -> Result<Size, String> {
        let sentence =
            || format!("there is no picture of {width} by {height} pixels: one has between 1 and {MOST_PIXELS}");
        Size::new(width, height).ok_or_else(sentence)
    }

    /// Pixels in a row.
    pub fn width(self) -> u32 {
        self.width
    }

    /// Rows.
    pub fn height(self) -> u32 {
        self.height
    }

    /// Pixels in all.
    pub fn pixels(self) -> u32 {
        self.width * self.height
    }

    /// The depth of the smallest perfect binary tree that has a leaf for every pixel.
    pub fn depth(self) -> u32 {
        self.pixels().next_power_of_two().trailing_zeros()
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// Reads `320x240`.
impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let numbers = text.split_once(['x', 'X']).and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        let Some((width, height)) = numbers else {
            return Err("expected a size such as 320x240".to_owned());
        };
        Size::checked(width, height)
    }
}

/// A picture that is done. Two are the same if they look the same and have as many cells.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its size.
    pub size: Size,
    /// Its pixels, row after row; as many as the size says.
    pub pixels: Vec<Pixel>,
    /// How many cells the tree has that it was read from: its forks.
    pub cells: u64,
    /// How long it took to evaluate, until its pixels were there: on a device, without bringing them to the host, and without loading the shader; on the
    /// processor the time of all threads together.
    pub evaluation: Duration,
}

impl PartialEq for Frame {
    fn eq(&self, other: &Frame) -> bool {
        (self.size, self.cells, &self.pixels) == (other.size, other.cells, &other.pixels)
    }
}

impl Eq for Frame {}

impl Frame {
    /// The pixels as bytes: four for each.
    pub fn bytes(&self) -> &[u8] {
        self.pixels.as_flattened()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_bounded() {
        assert_eq!("320x240".parse(), Ok(Size { width: 320, height: 240 }));
        assert!("4096x4096".parse::<Size>().is_ok());
        for text in ["", "320", "x", "0x5", "5x0", "4097x4096", "4294967295x4294967295", "-1x5", "1.5x2"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_tree_of_the_depth_has_room_for_all_pixels_and_is_the_smallest_such() {
        for (width, height, depth) in
            [(1, 1, 0), (2, 1, 1), (3, 1, 2), (256, 256, 16), (320, 240, 17), (4096, 4096, 24)]
        {
            assert_eq!(Size { width, height }.depth(), depth, "{width}x{height}");
        }
    }
}

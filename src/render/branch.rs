//! Branches of the perfect binary tree that a picture is: how it is cut into pieces of work.

use super::frame::Size;
use std::ops::Range;

/// A perfect branch of the tree of a picture, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Branch {
    /// The way to it from the root, read as a binary number: left is 0, right is 1.
    pub path: u32,
    /// Its depth.
    pub depth: u32,
}

impl Branch {
    /// The whole tree of a picture.
    pub fn whole(size: Size) -> Branch {
        Branch { path: 0, depth: size.depth() }
    }

    /// The pixels of a picture that its leaves are. It starts inside of the picture.
    pub fn pixels(self, size: Size) -> Range<usize> {
        let start = self.path << self.depth;
        let end = (start + (1 << self.depth)).min(size.pixels());
        start as usize..end as usize
    }

    /// Branches that together have exactly the pixels of a picture: none has a leaf beyond the last pixel, and none is
    /// deeper than `deepest`.
    pub fn cover(size: Size, deepest: u32) -> Vec<Branch> {
        let pixels = size.pixels();
        let mut branches = vec![];
        let mut start = 0;
        while start < pixels {
            let fits = (pixels - start).ilog2();
            let aligned = if start == 0 { u32::MAX } else { start.trailing_zeros() };
            let depth = deepest.min(fits).min(aligned);
            branches.push(Branch { path: start >> depth, depth });
            start += 1 << depth;
        }
        branches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_cover_every_pixel_once_and_nothing_else() {
        for (width, height) in [(1, 1), (3, 1), (7, 5), (320, 240), (256, 256), (4096, 4096), (1, 16_777_215)] {
            let size = Size::new(width, height).expect("a size within the limit");
            for deepest in [4, 10, 24] {
                let mut next = 0;
                for branch in Branch::cover(size, deepest) {
                    assert!(branch.depth <= deepest);
                    let pixels = branch.pixels(size);
                    assert_eq!((pixels.start, pixels.len()), (next, 1 << branch.depth), "{size} {branch:?}");
                    next = pixels.end;
                }
                assert_eq!(next, size.pixels() as usize);
            }
        }
    }

    #[test]
    fn the_whole_tree_is_cut_off_behind_the_last_pixel() {
        let size = Size::new(5, 3).expect("a size within the limit");
        assert_eq!(Branch::whole(size).depth, 4);
        assert_eq!(Branch::whole(size).pixels(size), 0..15);
    }
}

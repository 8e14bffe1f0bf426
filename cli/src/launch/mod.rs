//! Arguments of a kernel that is launched by hand: numbers, and arrays that come from and go to `.npy` files.

mod array;
mod grid;
mod outputs;
mod value;

pub use array::Array;
pub use grid::{GridText, grid_text};
pub use outputs::writable;
pub use value::{Named, Source, Value, each_once, in_parts, named, number, typed_number};

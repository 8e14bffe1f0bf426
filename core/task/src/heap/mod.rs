//! The heap of a program in task form on a device: how cells stand in buffers, how many there may be, and kernels that walk over them.

pub mod cells;
mod perfect_tree;
pub mod room;
mod split_buffers;
mod walk;

pub use perfect_tree::{Nodes, TreeBuilder};
pub use room::{MOST_HEAP, reaches};
pub use split_buffers::{PARTS, Segmented};
pub use walk::{Field, Leaves, Sheet, Walker};

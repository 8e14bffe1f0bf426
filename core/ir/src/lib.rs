//! The intermediate representation: Bend programs, interaction nets and Triton kernels all become modules of it, and
//! the code generators read nothing else.
//!
//! # A tour
//!
//! A [`Module`] holds [`Function`]s; a function with a [`Launch`] is a *kernel*. A function is structured SSA: every
//! [`Value`] is defined once, and control flow is regions, not jumps: `if` and `switch` yield values, `loop` carries
//! them. An [`Inst`] is an operation of the [table](ops), an optional type suffix, operands, attributes and regions.
//! Nothing is implicit: an access states its type, a barrier states the spaces that it orders, and a wait states what it waits for.
//!
//! Memory is accessed through handles: parameters of type `buffer`, and a function's shared and private arrays. Handles are
//! not numbers. An access is a pair (handle, index), and the index counts elements of the access's own type. So an access
//! is always aligned to its size and never leads from one buffer into another.
//!
//! Operations mean the same on every device: arithmetic is total, nothing is contracted, and the numeric class of each operation
//! states how closely devices must agree. `girih_lower` rewrites operations that a device lacks, according to its
//! [`Caps`], until only operations are left that a code generator renders one by one.
//!
//! | to | see |
//! |---|---|
//! | write a function from Rust | [`Builder`]; a kernel in tile form, [`kernel::TileKernel`] |
//! | read and print text (`.gir`) | [`text`] |
//! | check the rules | [`verify`](mod@verify) |
//! | run on the reference machine | `girih_machine::interp`, for task form `girih_machine::tasks` |
//! | find the routine that replaces an operation of the math library | [`math`] |
//! | compute the result of one scalar operation | [`eval`] |

pub mod attrs;
mod builder;
pub mod caps;
pub mod eval;
mod function;
pub mod groups;
pub mod heap;
pub mod kernel;
pub mod math;
pub mod nvidia;
pub mod ops;
mod predicates;
pub mod reference;
mod row;
pub mod text;
pub mod tile;
pub mod types;
pub mod verify;

pub use attrs::{Attr, AttrKind, ParamAttrs};
pub use builder::Builder;
pub use caps::{Caps, Feature};
pub use function::{
    Def, Function, FunctionId, Inst, InstId, Launch, LaunchPlaces, Memory, MemoryId, Module, Region, RegionId, Regions,
    Specialisation, Value, ValueId, Values,
};
pub use heap::{Global, GlobalId, Layout, LayoutId};
pub use ops::Op;
pub use types::{FloatFormat, Scalar, ScalarSet, Shape, Space, Tile, Type};
pub use verify::{Verified, task_form, tile_form, verify};

/// Names this crate by its sources: two builds that may write different code have two names.
pub const IDENTITY: &str = env!("GIRIH_SOURCES");

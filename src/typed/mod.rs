//! Functions of Bend programs as Rust functions, and Rust types as Bend types. Values do not pass through text: they are written directly into
//! the program's memory, and read directly from there.
//!
//! | what | see |
//! |---|---|
//! | a function of a program, and its calls | [`Function`] |
//! | Rust types that are Bend types | [`Bend`] |
//! | trees; boxes for types that contain themselves | [`Tree`], [`Deep`] |
//! | which Rust type stands for which Bend type; decided when a function is looked up | [`Planner`] |
//! | passes values into a program | [`Giver`] |
//! | takes values out of a program | [`Taker`] |
//! | values whose types are known only when the program is, for other languages | [`Value`] |
//!
//! A type of your own gets `Bend` by a derive macro:
//!
//! ```
//! use girih::{Bend, Function, Options, Program};
//!
//! #[derive(Bend, Debug, PartialEq)]
//! enum Shape {
//!     Circle { radius: f32 },
//!     Rectangle { width: f32, height: f32 },
//! }
//!
//! let text = "
//! type Shape:
//!   Circle { radius: f24 }
//!   Rectangle { width: f24, height: f24 }
//!
//! def twice(shape: Shape) -> Shape:
//!   match shape:
//!     case Shape/Circle:
//!       return Shape/Circle { radius: shape.radius * 2.0 }
//!     case Shape/Rectangle:
//!       return Shape/Rectangle { width: shape.width * 2.0, height: shape.height * 2.0 }
//! ";
//! let program = Program::from_text("shapes.bend", text, &Options::library());
//! let twice: Function<(Shape,), Shape> = program.function("twice")?;
//! assert_eq!(twice.call((Shape::Circle { radius: 1.5 },))?, Shape::Circle { radius: 3.0 });
//! # Ok::<(), girih::Error>(())
//! ```

mod bend;
mod dynamic;
mod from_bend;
mod function;
mod names;
mod plan;
mod store;
mod to_bend;
mod tree;

pub use bend::{Arguments, Bend};
pub use dynamic::{Constructor, Signature, Value, Values};
pub use from_bend::{Build, Misfit, Read, Seen, Slot, Slots, Taker};
pub use function::Function;
pub use girih_term::{CtorId, ty::Type};
pub use plan::{FieldOf, Mismatch, PlanId, Planner, Shape, VariantOf};
pub use to_bend::{Give, Giver};
pub use tree::{Deep, Tree};

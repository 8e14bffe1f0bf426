//! Kernels in tile form, written from Rust: values are [`Block`]s, which add and compare like numbers and know their types.
//!
//! ```
//! use girih_ir::kernel::TileKernel;
//! use girih_ir::{Scalar, attrs::Dim};
//!
//! let k = TileKernel::new("axpy", 4);
//! let (x, y) = (k.buffer("x", Scalar::F32), k.buffer("y", Scalar::F32));
//! let (a, n) = (k.number("a", Scalar::F32), k.number("n", Scalar::I32));
//! let at = k.program(Dim::X) * 1024 + k.iota(1024);
//! let inside = at.lt(n);
//! let sum = a * x.load(at, inside) + y.load(at, inside);
//! y.store(at, sum, inside);
//! let module = k.into_module().expect("it is right");
//! assert_eq!(module.functions.len(), 1);
//! ```
//!
//! A program that depends on `girih` alone has these names in `girih::kernels`.
//!
//! Operands of different shapes are broadcast as in NumPy and Triton: a scalar goes to every element, and a dimension of length 1 is repeated. Elements are not
//! converted unless [`Block::to`] says so; a literal becomes what the other operand consists of.
//!
//! Invariant: nothing panics for what a kernel gets wrong. The first mistake is kept with the line of Rust that made it, a value of zeros stands in for its result,
//! and [`TileKernel::into_module`] gives it as an error.
//!
//! | file | its idea |
//! |---|---|
//! | this one | a kernel: its parameters, positions, constants, and its end |
//! | `block` | values: arithmetic and comparisons by element |
//! | `literal` | numbers of Rust as operands |
//! | `shapes` | broadcasting, and the same elements in other shapes |
//! | `memory` | buffers: loads, stores, atomic updates |
//! | `combine` | reductions, scans, products of matrices, functions of each element |
//! | `control` | loops, branches, promises |

mod block;
mod combine;
mod control;
mod literal;
mod memory;
mod shapes;

pub use block::Block;
pub use combine::Product;
pub use literal::{Literal, Operand};
pub use memory::{Buffer, Mask};

use crate::attrs::{Attr, Dim, ParamAttrs};
use crate::builder::Builder;
use crate::function::{Function, Inst, Launch, Module, RegionId, ValueId};
use crate::ops::Op;
use crate::types::{Scalar, Shape, Space, Type};
use crate::verify::{Verified, check, verify};
use girih_base::diag::{Code, Diagnostic, Errors};
use girih_base::span::{SourceId, Span};
use std::cell::RefCell;
use std::panic::Location;

/// Invocations of a warp.
const WARP: u32 = 32;

/// A kernel that is being written.
#[derive(Debug)]
pub struct TileKernel {
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    builder: Builder,
    /// The first mistake.
    wrong: Option<Diagnostic>,
    /// The lines of Rust that instructions come from: the spans of these count them.
    places: Vec<&'static Location<'static>>,
    /// The line that counts for what this module writes in a function of its own, which has no caller in Rust.
    place: Option<&'static Location<'static>>,
}

impl TileKernel {
    /// A kernel whose programs run on so many warps of 32 invocations each: 1, 2, 4, ..
    pub fn new(name: &str, warps: u32) -> TileKernel {
        let mut function = Function::new(name, Span::NONE);
        function.launch = Some(Launch { workgroup: [WARP.saturating_mul(warps), 1, 1], ..Launch::default() });
        let builder = Builder::new(function);
        TileKernel { state: RefCell::new(State { builder, wrong: None, places: vec![], place: None }) }
    }

    /// A parameter: memory of the device with elements of a type, which no other parameter reaches.
    #[track_caller]
    pub fn buffer(&self, name: &str, element: Scalar) -> Buffer<'_> {
        self.buffer_with(name, element, ParamAttrs { noalias: true, ..ParamAttrs::default() })
    }

    /// The same with promises of its own: whether it is only read, how its first byte is aligned.
    #[track_caller]
    pub fn buffer_with(&self, name: &str, element: Scalar, attrs: ParamAttrs) -> Buffer<'_> {
        let value = self.parameter(name, Type::Memory(Space::Global), attrs);
        Buffer::new(self, value, element)
    }

    /// A parameter: a number.
    #[track_caller]
    pub fn number(&self, name: &str, scalar: Scalar) -> Block<'_> {
        self.number_with(name, scalar, ParamAttrs::default())
    }

    /// The same with a promise: what it is a multiple of.
    #[track_caller]
    pub fn number_with(&self, name: &str, scalar: Scalar, attrs: ParamAttrs) -> Block<'_> {
        let value = self.parameter(name, Type::Scalar(scalar), attrs);
        self.block(value)
    }

    #[track_caller]
    fn parameter(&self, name: &str, ty: Type, attrs: ParamAttrs) -> ValueId {
        let is_called = |b: &mut Builder| {
            let values = &b.function.values;
            b.function.params.iter().any(|param| values[*param].name.as_deref() == Some(name))
        };
        if self.with(is_called) {
            self.wrong(format!("a second parameter is called `{name}`"), "each parameter has a name of its own");
        }
        self.with(|b| b.function.param(name, ty, attrs))
    }

    /// The program's place in the grid, an `i32`.
    #[track_caller]
    pub fn program(&self, dim: Dim) -> Block<'_> {
        self.position(Op::WorkgroupId, dim)
    }

    /// How many programs the grid has in a dimension, an `i32`.
    #[track_caller]
    pub fn programs(&self, dim: Dim) -> Block<'_> {
        self.position(Op::NumWorkgroups, dim)
    }

    #[track_caller]
    fn position(&self, op: Op, dim: Dim) -> Block<'_> {
        let value = self.with(|b| {
            let found = b.position(op, dim);
            b.op(Op::Convert, Scalar::I32, &[found])
        });
        self.block(value)
    }

    /// A number of a type. One that the type does not have is a mistake.
    #[track_caller]
    pub fn constant(&self, scalar: Scalar, number: impl Into<Literal>) -> Block<'_> {
        let literal = number.into();
        let Some(bits) = literal.bits(scalar) else {
            self.wrong(format!("{literal} is no `{scalar}`"), "write a number that the type has");
            let zero = self.with(|b| b.constant(scalar, 0));
            return self.block(zero);
        };
        let value = self.with(|b| b.constant(scalar, bits));
        self.block(value)
    }

    /// The numbers 0, 1, .., as a tile of one dimension of `i32`.
    #[track_caller]
    pub fn iota(&self, length: u64) -> Block<'_> {
        let shape = self.shape_of(&[length]);
        let value = self.with(|b| b.op(Op::TileIota, Type::tile(shape, Scalar::I32), &[]));
        self.block(value)
    }

    /// A tile of these lengths, all of whose elements are a number.
    #[track_caller]
    pub fn full<'k>(&'k self, lengths: &[u64], number: Block<'k>) -> Block<'k> {
        let number = self.own(number);
        if number.shape().is_some() {
            self.wrong(
                format!("a tile is filled with a number, not with a {}", number.describe()),
                "use `broadcast_to`",
            );
        }
        number.in_shape(self.shape_of(lengths))
    }

    /// A tile of these lengths of zeros.
    #[track_caller]
    pub fn zeros(&self, lengths: &[u64], scalar: Scalar) -> Block<'_> {
        let zero = self.with(|b| b.constant(scalar, 0));
        self.full(lengths, self.block(zero))
    }

    /// The function, not yet verified.
    ///
    /// # Errors
    /// The first mistake that was made in writing it.
    #[track_caller]
    pub fn finish(self) -> Result<Function, Diagnostic> {
        let (mut function, _) = self.ended()?;
        function.insts.iter_mut().for_each(|inst| inst.span = Span::NONE);
        Ok(function)
    }

    /// The function, and the lines that the spans of its instructions count.
    #[track_caller]
    fn ended(self) -> Result<(Function, Vec<&'static Location<'static>>), Diagnostic> {
        self.with(|b| b.end(Op::Return, &[]));
        let State { builder, wrong, places, place: _ } = self.state.into_inner();
        wrong.map_or(Ok((builder.function, places)), Err)
    }

    /// A module of this kernel alone, verified.
    ///
    /// # Errors
    /// The first mistake that was made in writing it, or what else breaks a rule of the IR, with the line of Rust that has written it.
    #[track_caller]
    pub fn into_module(self) -> Result<Verified<Module>, Errors> {
        let (function, places) = self.ended()?;
        let mut module = Module::default();
        module.functions.push(function);
        let found = check(&module);
        if !found.is_empty() {
            return Err(found.into_iter().map(|d| placed(d, &places)).collect::<Vec<_>>().into());
        }
        let insts = module.functions.iter_mut().flat_map(|function| function.insts.iter_mut());
        insts.for_each(|inst| inst.span = Span::NONE);
        Ok(verify(module)?)
    }

    // What the other files write with.

    /// Writes instructions that come from the caller's line.
    #[track_caller]
    fn with<R>(&self, write: impl FnOnce(&mut Builder) -> R) -> R {
        let state = &mut *self.state.borrow_mut();
        let place = state.place.unwrap_or(Location::caller());
        if state.places.last() != Some(&place) {
            state.places.push(place);
        }
        let number = state.places.len() - 1;
        state.builder.span = Span::new(SourceId::new(0), number, number + 1);
        write(&mut state.builder)
    }

    /// What a function of this module writes comes from the line of the function that it is written for.
    fn written_for<R>(&self, place: &'static Location<'static>, write: impl FnOnce() -> R) -> R {
        let before = self.state.borrow_mut().place.replace(place);
        let result = write();
        self.state.borrow_mut().place = before;
        result
    }

    /// A block as one of this kernel. One of another kernel is a mistake, and zeros of its type stand in for it.
    #[track_caller]
    fn own<'k>(&'k self, block: Block<'k>) -> Block<'k> {
        if std::ptr::eq(block.kernel, self) {
            return block;
        }
        let (other, ty) = (block.kernel.name(), block.ty());
        let message = format!("a `{ty}` of the kernel `{other}` is used in the kernel `{}`", self.name());
        self.wrong(message, "a kernel computes with its own blocks: get them from this one");
        let zero = self.with(|b| b.zero(ty));
        self.block(zero)
    }

    /// The same for some blocks.
    #[track_caller]
    fn own_all<'k>(&'k self, blocks: &[Block<'k>]) -> Vec<Block<'k>> {
        let mut own = vec![];
        for block in blocks {
            own.push(self.own(*block));
        }
        own
    }

    fn name(&self) -> String {
        self.state.borrow().builder.function.name.to_string()
    }

    fn block(&self, value: ValueId) -> Block<'_> {
        Block { kernel: self, value }
    }

    fn ty(&self, value: ValueId) -> Type {
        self.state.borrow().builder.ty(value)
    }

    /// Notes a mistake of the caller's caller, unless there is one already.
    #[track_caller]
    fn wrong(&self, message: impl Into<String>, hint: &str) {
        let caller = Location::caller();
        let state = &mut *self.state.borrow_mut();
        let at = state.place.unwrap_or(caller);
        let message = format!("{}:{}: {}", at.file(), at.line(), message.into());
        state.wrong.get_or_insert_with(|| Diagnostic::new(Code::IrShape, Span::NONE, message).hint(hint));
    }

    /// The shape of these lengths.
    #[track_caller]
    fn shape_of(&self, lengths: &[u64]) -> Shape {
        if let Some(shape) = Shape::of(lengths) {
            return shape;
        }
        let most = crate::tile::MAX_ELEMENTS;
        let hint = format!("lengths are powers of two, with at most {most} elements in all");
        self.wrong(format!("{lengths:?} is no shape"), &hint);
        Shape::of(&[1]).unwrap_or_else(|| unreachable!("1 is a power of two"))
    }

    /// A region with parameters of these types, which ends with what its body gives.
    #[track_caller]
    fn region<'k>(
        &'k self,
        params: &[Type],
        body: impl FnOnce(&[Block<'k>]) -> Vec<Block<'k>>,
        end: Op,
    ) -> (RegionId, Vec<Block<'k>>) {
        let (region, outer, params) = self.with(|b| {
            let region = b.new_region(params);
            let params = b.function.regions[region].params.clone();
            (region, std::mem::replace(&mut b.region, region), params)
        });
        let params: Vec<Block<'k>> = params.iter().map(|value| self.block(*value)).collect();
        let given = self.own_all(&body(&params));
        let values: Vec<ValueId> = given.iter().map(|block| block.value).collect();
        self.with(|b| {
            b.end(end, &values);
            b.region = outer;
        });
        (region, given)
    }

    /// Appends an operation that holds regions, and gives its results, which are of these types.
    #[track_caller]
    fn holding<'k>(
        &'k self,
        op: Op,
        attrs: &[Attr],
        operands: &[Block<'k>],
        regions: &[RegionId],
        results: &[Type],
    ) -> Vec<Block<'k>> {
        let operands: Vec<ValueId> = operands.iter().map(|block| block.value).collect();
        let results = self.with(|b| {
            let mut inst = Inst::new(op, None, &operands, b.span);
            attrs.iter().for_each(|attr| inst.set(attr.clone()));
            inst.regions = regions.iter().copied().collect();
            let id = b.push(inst, results);
            b.function.insts[id].results.to_vec()
        });
        results.into_iter().map(|value| self.block(value)).collect()
    }

    /// Appends an operation and gives its first result.
    #[track_caller]
    fn push(&self, op: Op, ty: Type, operands: &[ValueId], attrs: &[Attr]) -> Block<'_> {
        let value = self.with(|b| {
            let id = b.op_with(op, Some(ty), operands, attrs);
            b.function.insts[id].results[0]
        });
        self.block(value)
    }
}

/// A diagnostic with the line of Rust that the instruction comes from before its sentence, and those of other instructions behind it.
fn placed(mut diagnostic: Diagnostic, places: &[&'static Location<'static>]) -> Diagnostic {
    for (number, label) in std::mem::take(&mut diagnostic.labels).into_iter().enumerate() {
        let Some(at) = places.get(label.span.start as usize) else { continue };
        let line = format!("{}:{}", at.file(), at.line());
        diagnostic.message = match number {
            0 => format!("{line}: {}", diagnostic.message),
            _ => format!("{}; {line}: {}", diagnostic.message, label.text),
        };
    }
    diagnostic
}

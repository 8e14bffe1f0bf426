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
#[cfg(test)]
mod tests;

pub use block::Block;
pub use combine::Product;
pub use literal::{Literal, Operand};
pub use memory::{Buffer, Mask};

use crate::attrs::{Attr, Dim, ParamAttrs};
use crate::builder::Builder;
use crate::function::{Function, Inst, Launch, Module, RegionId, ValueId};
use crate::ops::Op;
use crate::types::{Scalar, Shape, Space, Type};
use crate::verify::{Verified, verify};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
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
}

impl TileKernel {
    /// A kernel whose programs run on so many warps of 32 invocations each: 1, 2, 4, ..
    pub fn new(name: &str, warps: u32) -> TileKernel {
        let mut function = Function::new(name, Span::NONE);
        function.launch = Some(Launch { workgroup: [WARP.saturating_mul(warps), 1, 1], ..Launch::default() });
        TileKernel { state: RefCell::new(State { builder: Builder::new(function), wrong: None }) }
    }

    /// A parameter: memory of the device with elements of a type, which no other parameter reaches.
    pub fn buffer(&self, name: &str, element: Scalar) -> Buffer<'_> {
        self.buffer_with(name, element, ParamAttrs { noalias: true, ..ParamAttrs::default() })
    }

    /// The same with promises of its own: whether it is only read, how its first byte is aligned.
    pub fn buffer_with(&self, name: &str, element: Scalar, attrs: ParamAttrs) -> Buffer<'_> {
        let value = self.with(|b| b.function.param(name, Type::Memory(Space::Global), attrs));
        Buffer::new(self, value, element)
    }

    /// A parameter: a number.
    pub fn number(&self, name: &str, scalar: Scalar) -> Block<'_> {
        self.number_with(name, scalar, ParamAttrs::default())
    }

    /// The same with a promise: what it is a multiple of.
    pub fn number_with(&self, name: &str, scalar: Scalar, attrs: ParamAttrs) -> Block<'_> {
        let value = self.with(|b| b.function.param(name, Type::Scalar(scalar), attrs));
        self.block(value)
    }

    /// The program's place in the grid, an `i32`.
    pub fn program(&self, dim: Dim) -> Block<'_> {
        self.position(Op::WorkgroupId, dim)
    }

    /// How many programs the grid has in a dimension, an `i32`.
    pub fn programs(&self, dim: Dim) -> Block<'_> {
        self.position(Op::NumWorkgroups, dim)
    }

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
    pub fn full(&self, lengths: &[u64], number: Block<'_>) -> Block<'_> {
        let number = self.block(number.value);
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
    pub fn finish(self) -> Result<Function, Diagnostic> {
        let State { mut builder, wrong } = self.state.into_inner();
        builder.end(Op::Return, &[]);
        wrong.map_or(Ok(builder.function), Err)
    }

    /// A module of this kernel alone, verified.
    ///
    /// # Errors
    /// The first mistake that was made in writing it, or what else breaks a rule of the IR.
    pub fn into_module(self) -> Result<Verified<Module>, Vec<Diagnostic>> {
        let mut module = Module::default();
        module.functions.push(self.finish().map_err(|wrong| vec![wrong])?);
        verify(module)
    }

    // What the other files write with.

    fn with<R>(&self, write: impl FnOnce(&mut Builder) -> R) -> R {
        write(&mut self.state.borrow_mut().builder)
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
        let at = Location::caller();
        let message = format!("{}:{}: {}", at.file(), at.line(), message.into());
        let state = &mut *self.state.borrow_mut();
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
        let given = body(&params);
        let values: Vec<ValueId> = given.iter().map(|block| block.value).collect();
        self.with(|b| {
            b.end(end, &values);
            b.region = outer;
        });
        (region, given)
    }

    /// Appends an operation that holds regions, and gives its results, which are of these types.
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
            let mut inst = Inst::new(op, None, &operands, Span::NONE);
            attrs.iter().for_each(|attr| inst.set(attr.clone()));
            inst.regions = regions.iter().copied().collect();
            let id = b.push(inst, results);
            b.function.insts[id].results.to_vec()
        });
        results.into_iter().map(|value| self.block(value)).collect()
    }

    /// Appends an operation and gives its first result.
    fn push(&self, op: Op, ty: Type, operands: &[ValueId], attrs: &[Attr]) -> Block<'_> {
        let value = self.with(|b| {
            let id = b.op_with(op, Some(ty), operands, attrs);
            b.function.insts[id].results[0]
        });
        self.block(value)
    }
}

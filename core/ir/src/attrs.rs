//! Attributes: the fixed properties of an instruction or a parameter, besides its operands.
//!
//! Each kind appears at most once on an instruction, and only on operations whose row in [`super::ops`] names it. An absent
//! kind has the default that its documentation states.

use super::function::FunctionId;
use super::heap::{GlobalId, LayoutId};
use super::types::MatrixShape;
use girih_base::name::Name;

/// A dimension of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// The fastest.
    X,
    /// The middle one.
    Y,
    /// The slowest.
    Z,
}

impl Dim {
    /// All three.
    pub const ALL: [Dim; 3] = [Dim::X, Dim::Y, Dim::Z];
    /// The printed name.
    pub const fn name(self) -> &'static str {
        ["x", "y", "z"][self as usize]
    }
}

/// How an atomic operation or a fence orders the accesses around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Only the location itself is ordered. The default, and all that WebGPU has.
    Relaxed,
    /// Later accesses stay later.
    Acquire,
    /// Earlier accesses stay earlier.
    Release,
    /// Both.
    AcquireRelease,
}

/// Who sees an atomic operation or a fence in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The invocations of the workgroup.
    Workgroup,
    /// The whole device. The default of atomics.
    Device,
}

/// A set of memory spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spaces {
    /// Device buffers.
    pub global: bool,
    /// Workgroup memory.
    pub shared: bool,
}

/// Whether consecutive elements of a matrix in memory run along its rows or its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixLayout {
    /// Element (i, j) at i * stride + j.
    Row,
    /// Element (i, j) at i + j * stride.
    Column,
}

/// How a tensor core finds a factor in shared memory (`wgmma`): byte strides between groups of eight rows, and the
/// permutation of 16-byte chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedMatrix {
    /// Whether the depth K is the fastest dimension in memory; otherwise M (of A) or N (of B) is.
    pub k_major: bool,
    /// Bytes of a swizzled row: 0 (none), 32, 64 or 128. Chunks of 16 bytes are exchanged by their address in shared memory: its
    /// bits 4 to 6 are xored with bits 7 to 9 (128), 4 and 5 with 7 and 8 (64), 4 with 7 (32). So chunk c of row r of 128 bytes
    /// stands at chunk c xor (r mod 8). `factor_byte` has the whole layout.
    pub swizzle: u16,
    /// The descriptor's leading byte offset.
    pub leading: u32,
    /// The descriptor's stride byte offset: between groups of eight rows.
    pub stride: u32,
}

/// A hint on how long data is worth keeping in caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cache {
    /// Read or written once: do not displace other data.
    Streaming,
    /// Skip the cache nearest to the lanes.
    Global,
}

/// What an atomic operation on a tile makes of the old element and its operand's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Update {
    /// Their sum.
    Add,
    /// The lesser.
    Min,
    /// The greater.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The operand's.
    Exchange,
}

/// How exactly factors of `f32` are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// As `f32`.
    Ieee,
    /// Rounded to `tf32` (10 bits behind the point) first, where the device has a unit for that.
    Tf32,
    /// As the sum of three products of `tf32`.
    Tf32x3,
}

/// A hint on how early a cache may give up what an access has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Eviction {
    /// Before other data.
    First,
    /// After other data.
    Last,
}

macro_rules! attrs {
    ($($variant:ident $(($ty:ty))? $name:literal $doc:literal;)*) => {
        /// An attribute.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Attr { $(#[doc = $doc] $variant $(($ty))?,)* }

        /// The kind of an attribute.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AttrKind { $(#[doc = $doc] $variant,)* }

        impl AttrKind {
            /// All kinds, in the order in which they are printed.
            pub const ALL: &[AttrKind] = &[$(AttrKind::$variant,)*];
            /// The printed name.
            pub const fn name(self) -> &'static str {
                match self { $(AttrKind::$variant => $name,)* }
            }
            /// What it means.
            pub const fn doc(self) -> &'static str {
                match self { $(AttrKind::$variant => $doc,)* }
            }
        }

        impl Attr {
            /// The attribute's kind.
            pub const fn kind(&self) -> AttrKind {
                match self { $(Attr::$variant $((attrs!(@ignore $ty)))? => AttrKind::$variant,)* }
            }
        }
    };
    (@ignore $ty:ty) => { _ };
}

attrs! {
    Dim(Dim) "dim" "The dimension of the grid; printed as the suffix `.x`, `.y` or `.z`.";
    Callee(FunctionId) "callee" "The function that is called; printed as `@name`.";
    Cases(Vec<Vec<i64>>) "case" "The values of each region of a switch but the last, which is the default; printed before the regions.";
    Offset(i32) "offset" "A constant added to the index of the (first) access, in elements; printed inside its brackets.";
    SourceOffset(i32) "source_offset" "The same for the second access of a copy.";
    NoWrap "nowrap" "The exact result fits the type (signedness as the type says); if it does not, the result is undefined. Lets index arithmetic fold into addresses.";
    Total "total" "The approximation keeps its bound for every argument, infinities and NaN included; what is below the least normal number may be 0. A device whose own function does not (`native_math`) computes the exact operation.";
    Order(Order) "order" "How accesses around an atomic or a fence are ordered; relaxed if absent.";
    Scope(Scope) "scope" "Who sees the order; the device if absent.";
    Spaces(Spaces) "spaces" "The memories whose accesses a barrier orders; shared memory if absent.";
    Cache(Cache) "cache" "A caching hint for an access to a buffer; changes no result.";
    Volatile "volatile" "Others may write meanwhile what the load reads: it asks memory each time that it runs, and stays where it is relative to other effects.";
    Unroll "unroll" "Unroll this loop of constant trip count fully, up to 65,536 instructions. A longer loop stays a loop, and so does every loop under the rolled profile.";
    Pending(u32) "pending" "How many of the latest groups may still be under way after the wait; 0 if absent.";
    Shape(MatrixShape) "shape" "Rows, columns and depth of a matrix product.";
    MatrixA(SharedMatrix) "a" "How the left factor lies in shared memory.";
    MatrixB(SharedMatrix) "b" "How the right factor lies in shared memory.";
    Layout(MatrixLayout) "layout" "How a fragment's matrix lies in memory; by rows if absent.";
    Code(u32) "code" "The trap that is reported; not 0.";
    Cell(LayoutId) "cell" "The layout of a cell; printed as `@name` behind the operation.";
    Field(u32) "field" "Which field of the cell, counted from 0.";
    Global(GlobalId) "global" "The global; printed as `@name` behind the operation.";
    Flat "flat" "The word is known to name no cell: there is no owner to count.";
    Axis(u32) "axis" "The dimension along which a tile is reduced, scanned or gathered; 0 if absent.";
    Axes(Vec<u32>) "axes" "For each dimension of the result, the dimension of the operand that it comes from.";
    Reverse "reverse" "The scan goes from the last element to the first.";
    Update(Update) "update" "What an atomic operation writes.";
    Precision(Precision) "precision" "How exactly factors of `f32` are multiplied; as `f32` if absent.";
    Multiple(Vec<u32>) "multiple" "A promise for each dimension: the first of each run of `contiguous` elements is a multiple of this.";
    Contiguous(Vec<u32>) "contiguous" "A promise for each dimension: elements come in runs of this length, in which each is one more than the element before.";
    Constancy(Vec<u32>) "constancy" "A promise for each dimension: elements come in runs of this length that are all equal.";
    Eviction(Eviction) "eviction" "How early a cache may evict the data; changes no result.";
    Text(Name) "text" "The text that is printed before the values, or reported if a condition fails.";
}

/// What is known about a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParamAttrs {
    /// A number that is a multiple of this; 0 or 1 if nothing is known.
    pub divisible: u32,
    /// A buffer whose first byte is aligned to this many bytes; 0 means 4.
    pub align: u32,
    /// A buffer that the whole launch does not write, through this or any other parameter.
    pub readonly: bool,
    /// A buffer of which no byte is reached through another parameter.
    pub noalias: bool,
    /// A term that the function only looks at: it stays with who calls, for as long as the call takes.
    pub borrowed: bool,
}

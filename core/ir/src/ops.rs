//! The one table of operations. A row says all that passes need to know about an operation; printer, parser, verifier,
//! test generator and the reference in the book are made from it. What a row can say stands in [`Row`].
//!
//! Invariant: an operation's meaning does not depend on the device. What a device may do differently is stated by the
//! row's numeric [`Class`].

use super::attrs::AttrKind::*;
use super::caps::Feature;
pub use super::row::{Class, Convergence, Effect, Family, Pattern, Row, Suffix, Transfer, Uniformity};
use super::types::{Scalar, ScalarSet, Space};
use girih_base::hash::FastMap;
use std::sync::LazyLock;

/// Arithmetic on lanes: (T, T, ..) to T.
const fn lanes(name: &'static str, set: ScalarSet, operands: &'static [Pattern], class: Class) -> Row {
    Row::new(name, Family::Scalar, Suffix::Lanes(set)).takes(operands).gives(&[Pattern::T]).class(class)
}
const fn unary(name: &'static str, set: ScalarSet, class: Class) -> Row {
    lanes(name, set, &[Pattern::T], class)
}
const fn binary(name: &'static str, set: ScalarSet, class: Class) -> Row {
    lanes(name, set, &[Pattern::T, Pattern::T], class)
}
/// The device's own function near an exact one.
const fn approximation(name: &'static str, operands: &'static [Pattern], class: Class, exact: Op) -> Row {
    lanes(name, ScalarSet::MATH, operands, class).approximates(exact)
}
/// Comparison of scalars.
const fn compare(name: &'static str, set: ScalarSet) -> Row {
    Row::new(name, Family::Scalar, Suffix::Scalar(set))
        .takes(&[Pattern::T, Pattern::T])
        .gives(&[Pattern::Bool])
        .class(Class::Exact)
}
/// A position in the launch.
const fn position(name: &'static str, suffix: Suffix, uniformity: Uniformity) -> Row {
    let row = Row::new(name, Family::Sync, suffix).gives(&[Pattern::U32]).transfer(Transfer::Always(uniformity));
    if let Suffix::Dim = suffix { row.attrs(&[Dim]) } else { row }
}
/// Any memory.
const ANY_SPACE: &[Space] = Space::ALL;
const GLOBAL_OR_SHARED: &[Space] = &[Space::Global, Space::Shared];
const SHARED: &[Space] = &[Space::Shared];
const GLOBAL: &[Space] = &[Space::Global];
/// Integers of 32 and 64 bits.
const WORDS: ScalarSet = ScalarSet::WORDS.or(ScalarSet::WIDE);
/// What atomics read, write and combine bit by bit: integers of 16 bits and more.
const ATOMIC: ScalarSet = WORDS.or(ScalarSet::of(&[Scalar::I16, Scalar::U16]));
/// What they compute with, exchange and compare: floats of 16 bits and more, too.
const ATOMIC_NUMBER: ScalarSet = ATOMIC.or(ScalarSet::FLOATS);

const fn atomic(name: &'static str, set: ScalarSet) -> Row {
    Row::new(name, Family::Memory, Suffix::Scalar(set))
        .takes(&[Pattern::Memory(GLOBAL_OR_SHARED), Pattern::Index, Pattern::T])
        .gives(&[Pattern::T])
        .attrs(&[Offset, Order, Scope])
        .effect(Effect::Atomic)
        .transfer(Transfer::Always(Uniformity::Varying))
}
/// Communication in a subgroup; all its invocations take part.
const fn subgroup(name: &'static str, suffix: Suffix) -> Row {
    Row::new(name, Family::Sync, suffix)
        .effect(Effect::Sync)
        .convergence(Convergence::Subgroup)
        .needs(Feature::Subgroups)
        .transfer(Transfer::Always(Uniformity::Varying))
}
/// What crosses lanes: 32-bit and 64-bit words; shorter types go through 32 bits.
const SHUFFLED: ScalarSet = ScalarSet::NUMBERS.or(ScalarSet::BOOL);
const fn shuffle(name: &'static str) -> Row {
    subgroup(name, Suffix::Lanes(SHUFFLED)).takes(&[Pattern::T, Pattern::U32]).gives(&[Pattern::T])
}
const fn reduce(name: &'static str, set: ScalarSet) -> Row {
    subgroup(name, Suffix::Scalar(set))
        .takes(&[Pattern::T])
        .gives(&[Pattern::T])
        .transfer(Transfer::Always(Uniformity::Subgroup))
}
const fn scan(name: &'static str, set: ScalarSet) -> Row {
    subgroup(name, Suffix::Scalar(set)).takes(&[Pattern::T]).gives(&[Pattern::T])
}
/// Integers of 32 and 64 bits, and floats that have arithmetic.
const REDUCED: ScalarSet = WORDS.or(ScalarSet::FLOATS);
const fn asynchronous(name: &'static str, suffix: Suffix, feature: Feature) -> Row {
    Row::new(name, Family::Sync, suffix)
        .effect(Effect::Sync)
        .needs(feature)
        .transfer(Transfer::Always(Uniformity::Varying))
}
const fn control(name: &'static str, suffix: Suffix) -> Row {
    Row::new(name, Family::Control, suffix).effect(Effect::Control)
}

/// Work on cells.
const fn heap(name: &'static str) -> Row {
    Row::new(name, Family::Heap, Suffix::None)
        .effect(Effect::Heap)
        .transfer(Transfer::Always(Uniformity::Varying))
        .class(Class::Exact)
}
/// Calls that are no plain ones.
const fn task(name: &'static str) -> Row {
    Row::new(name, Family::Task, Suffix::None)
        .attrs(&[Callee])
        .effect(Effect::Heap)
        .transfer(Transfer::Always(Uniformity::Varying))
}
/// An operation on tiles without effects.
const fn tile(name: &'static str, suffix: Suffix) -> Row {
    Row::new(name, Family::Tile, suffix).gives(&[Pattern::T]).class(Class::Exact)
}
/// A tile, or scalar, in a buffer.
const fn tile_access(name: &'static str) -> Row {
    Row::new(name, Family::Tile, Suffix::Block(ScalarSet::STORED)).transfer(Transfer::Memory)
}
/// An operation that runs its region on elements of its operands.
const fn by_element(name: &'static str) -> Row {
    Row::new(name, Family::Tile, Suffix::None).takes(&[Pattern::Rest]).gives(&[Pattern::Rest]).effect(Effect::Control)
}
/// Numbers as wide as a lane of a mask.
const MASKED: ScalarSet = ScalarSet::WORDS.or(ScalarSet::of(&[Scalar::F32]));
/// Comparison lane by lane.
const fn mask(name: &'static str) -> Row {
    lanes(name, MASKED, &[Pattern::T, Pattern::T], Class::Exact).gives(&[Pattern::Mask]).family(Family::Mask)
}

macro_rules! ops {
    ($($variant:ident: $row:expr, $doc:literal;)*) => {
        /// An operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op { $(#[doc = $doc] $variant,)* }

        impl Op {
            /// All operations, in the table's order.
            pub const ALL: &[Op] = &[$(Op::$variant,)*];
        }

        const TABLE: &[Row] = &[$($row.doc($doc),)*];
    };
}

/// The operations of the tile family, as a pattern: kernels on a device have none, and every code generator says so.
#[macro_export]
macro_rules! tile_operations {
    () => {
        $crate::Op::TileIota
            | $crate::Op::TileSplat
            | $crate::Op::TileBroadcast
            | $crate::Op::TileReshape
            | $crate::Op::TilePermute
            | $crate::Op::TileJoin
            | $crate::Op::TileSplit
            | $crate::Op::TileCat
            | $crate::Op::TileGather
            | $crate::Op::TileHistogram
            | $crate::Op::TileMap
            | $crate::Op::TileReduce
            | $crate::Op::TileScan
            | $crate::Op::TileDot
            | $crate::Op::TileLoad
            | $crate::Op::TileStore
            | $crate::Op::TileAtomic
            | $crate::Op::TileCompareExchange
            | $crate::Op::TileHint
            | $crate::Op::TileAssume
            | $crate::Op::TilePrint
            | $crate::Op::TileAssert
    };
}

use Class::{Bounded, Exact, Library, Rounded};
use Pattern as P;

ops! {
    // Control.
    If: control("if", Suffix::None).takes(&[P::Bool]).gives(&[P::Rest]).transfer(Transfer::Regions),
        "Runs the first region if the condition holds, else the second, and gives what that region yields.";
    Switch: control("switch", Suffix::Scalar(ScalarSet::INTEGERS)).takes(&[P::T]).gives(&[P::Rest]).attrs(&[Cases]).transfer(Transfer::Regions),
        "Runs the region whose `case` lists the value, else the `default` one, and gives what that region yields.";
    Loop: control("loop", Suffix::None).takes(&[P::Rest]).gives(&[P::Rest]).attrs(&[Unroll]).transfer(Transfer::Regions),
        "Runs its region again and again; the region's parameters start as the operands and are what `continue` or `while` gave last. Ends by `break`, whose values it gives.";
    Call: control("call", Suffix::None).takes(&[P::Rest]).gives(&[P::Rest]).attrs(&[Callee]).transfer(Transfer::Always(Uniformity::Varying)),
        "Calls a function. Kernels and what they call are not recursive.";
    Yield: control("yield", Suffix::None).takes(&[P::Rest]),
        "Ends a region of `if` or `switch` and gives its values.";
    Break: control("break", Suffix::None).takes(&[P::Rest]),
        "Leaves the innermost loop, which gives these values.";
    Continue: control("continue", Suffix::None).takes(&[P::Rest]),
        "Begins the next iteration of the innermost loop with these values as its parameters.";
    While: control("while", Suffix::None).takes(&[P::Bool, P::Rest]),
        "`while c next v..`: if c holds, begins the next iteration with these values; else leaves the innermost loop, which gives its current parameters.";
    Return: control("return", Suffix::None).takes(&[P::Rest]),
        "Ends the function with these results, or the invocation of a kernel.";
    Grid: control("grid", Suffix::None).takes(&[P::U32, P::U32, P::U32]),
        "Ends a kernel's `launch` region: the number of workgroups in each dimension.";
    TrapIf: Row::new("trap_if", Family::Control, Suffix::None).takes(&[P::Bool]).attrs(&[Code]).effect(Effect::Trap),
        "If the condition holds, the launch reports this trap. The invocation goes on: arithmetic is total, so it can. Of several traps any one is reported.";

    // Arithmetic.
    Add: binary("add", ScalarSet::NUMBERS, Rounded).attrs(&[NoWrap]), "Sum; integers wrap.";
    Sub: binary("sub", ScalarSet::NUMBERS, Rounded).attrs(&[NoWrap]), "Difference; integers wrap.";
    Mul: binary("mul", ScalarSet::NUMBERS, Rounded).attrs(&[NoWrap]), "Product; integers wrap.";
    Div: binary("div", ScalarSet::NUMBERS, Rounded),
        "Quotient; integers truncate towards zero, x / 0 is x, the least integer / -1 is itself. Floats round correctly.";
    Rem: binary("rem", ScalarSet::INTEGERS, Exact),
        "Remainder of `div`, with the dividend's sign: x rem 0 is 0.";
    MulHi: binary("mulhi", ScalarSet::INTEGERS, Exact), "The upper half of the product of twice the width.";
    Neg: unary("neg", ScalarSet::NEGATABLE, Exact), "Negation; the least integer is its own. Floats flip the sign bit.";
    Abs: unary("abs", ScalarSet::NEGATABLE, Exact), "Magnitude; the least integer is its own. Floats clear the sign bit.";
    Min: binary("min", ScalarSet::NUMBERS, Rounded), "The lesser; if one float is NaN, the other one.";
    Max: binary("max", ScalarSet::NUMBERS, Rounded), "The greater; if one float is NaN, the other one.";
    Fma: lanes("fma", ScalarSet::FLOATS, &[P::T, P::T, P::T], Rounded), "a * b + c, rounded once.";
    Mad: lanes("mad", ScalarSet::NUMBERS, &[P::T, P::T, P::T], Bounded(2, -149)).attrs(&[NoWrap]),
        "a * b + c, rounded once or twice as the device likes; exact for integers, which wrap.";
    And: binary("and", ScalarSet::BITS, Exact), "Bitwise and.";
    Or: binary("or", ScalarSet::BITS, Exact), "Bitwise or.";
    Xor: binary("xor", ScalarSet::BITS, Exact), "Bitwise exclusive or.";
    Not: unary("not", ScalarSet::BITS, Exact), "Bitwise complement.";
    Shl: binary("shl", ScalarSet::INTEGERS, Exact).attrs(&[NoWrap]), "Shift left; the count is taken modulo the width.";
    Shr: binary("shr", ScalarSet::INTEGERS, Exact),
        "Shift right, of signed integers with copies of the sign; the count is taken modulo the width.";
    Clz: unary("clz", ScalarSet::INTEGERS, Exact), "How many leading zero bits; the width for 0.";
    Ctz: unary("ctz", ScalarSet::INTEGERS, Exact), "How many trailing zero bits; the width for 0.";
    Popc: unary("popc", ScalarSet::INTEGERS, Exact), "How many bits are one.";
    ReverseBits: unary("reverse_bits", ScalarSet::INTEGERS, Exact), "The bits in reverse order.";
    Eq: compare("eq", ScalarSet::NUMBERS.or(ScalarSet::BOOL)), "Equal; NaN equals nothing.";
    Ne: compare("ne", ScalarSet::NUMBERS.or(ScalarSet::BOOL)), "Not equal: the opposite of `eq`, so true for NaN.";
    Lt: compare("lt", ScalarSet::NUMBERS), "Less; false for NaN.";
    Le: compare("le", ScalarSet::NUMBERS), "Less or equal; false for NaN.";
    Gt: compare("gt", ScalarSet::NUMBERS), "Greater; false for NaN.";
    Ge: compare("ge", ScalarSet::NUMBERS), "Greater or equal; false for NaN.";
    Select: Row::new("select", Family::Scalar, Suffix::Lanes(ScalarSet::ALL)).takes(&[P::Bool, P::T, P::T]).gives(&[P::T]).class(Exact),
        "The first value if the condition holds, else the second.";
    Convert: Row::new("convert", Family::Scalar, Suffix::Lanes(ScalarSet::ALL)).takes(&[P::Source]).gives(&[P::T]).class(Exact),
        "The same number in another type. Integers keep their low bits; floats to integers truncate and saturate, NaN is 0; to floats the nearest, ties to even; to 8-bit floats the nearest finite one (NaN stays); to `bool` whether it is not 0.";
    Bitcast: Row::new("bitcast", Family::Scalar, Suffix::Lanes(ScalarSet::STORED)).takes(&[P::Source]).gives(&[P::T]).class(Exact),
        "The same bits as another type of the same width in all; lane 0 has the lowest bits.";

    // Rounding and the math library.
    Floor: unary("floor", ScalarSet::FLOATS, Rounded), "The nearest integer not above.";
    Ceil: unary("ceil", ScalarSet::FLOATS, Rounded), "The nearest integer not below.";
    Round: unary("round", ScalarSet::FLOATS, Rounded), "The nearest integer, ties to even.";
    Trunc: unary("trunc", ScalarSet::FLOATS, Rounded), "The nearest integer towards zero.";
    Sqrt: unary("sqrt", ScalarSet::FLOATS, Rounded), "Square root, correctly rounded; NaN below zero.";
    Rsqrt: unary("rsqrt", ScalarSet::MATH, Library(1)), "1 / square root.";
    Exp: unary("exp", ScalarSet::MATH, Library(1)), "e to the power of x.";
    Exp2: unary("exp2", ScalarSet::MATH, Library(1)), "2 to the power of x.";
    Log: unary("log", ScalarSet::MATH, Library(1)), "Natural logarithm.";
    Log2: unary("log2", ScalarSet::MATH, Library(1)), "Logarithm to base 2.";
    Sin: unary("sin", ScalarSet::MATH, Library(1)), "Sine of an angle in radians, of any size.";
    Cos: unary("cos", ScalarSet::MATH, Library(1)), "Cosine of an angle in radians, of any size.";
    Tan: unary("tan", ScalarSet::MATH, Library(2)), "Tangent of an angle in radians, of any size.";
    Asin: unary("asin", ScalarSet::MATH, Library(1)), "Arc sine, in radians.";
    Acos: unary("acos", ScalarSet::MATH, Library(1)), "Arc cosine, in radians.";
    Atan: unary("atan", ScalarSet::MATH, Library(1)), "Arc tangent, in radians.";
    Atan2: binary("atan2", ScalarSet::MATH, Library(1)), "`atan2 y, x`: the angle of the point (x, y), in radians.";
    Tanh: unary("tanh", ScalarSet::MATH, Library(2)), "Hyperbolic tangent.";
    Pow: binary("pow", ScalarSet::MATH, Library(2)), "x to the power of y, with C99's special cases.";

    // The device's own functions.
    DivApprox: approximation("div.approx", &[P::T, P::T], Bounded(4, -149), Op::Div).attrs(&[Total]), "Native quotient; divisors of magnitude 2^-126 to 2^126.";
    RcpApprox: unary("rcp.approx", ScalarSet::MATH, Bounded(4, -149)), "Native 1 / x; magnitudes 2^-126 to 2^126.";
    SqrtApprox: approximation("sqrt.approx", &[P::T], Bounded(4, -149), Op::Sqrt), "Native square root.";
    RsqrtApprox: approximation("rsqrt.approx", &[P::T], Bounded(4, -149), Op::Rsqrt).attrs(&[Total]), "Native 1 / square root.";
    ExpApprox: approximation("exp.approx", &[P::T], Bounded(128, -149), Op::Exp).attrs(&[Total]), "Native e^x; arguments -80 to 80.";
    Exp2Approx: approximation("exp2.approx", &[P::T], Bounded(128, -149), Op::Exp2).attrs(&[Total]), "Native 2^x; arguments -120 to 120.";
    LogApprox: approximation("log.approx", &[P::T], Bounded(8192, -20), Op::Log).attrs(&[Total]), "Native natural logarithm; positive normal numbers.";
    Log2Approx: approximation("log2.approx", &[P::T], Bounded(8192, -20), Op::Log2).attrs(&[Total]), "Native logarithm to base 2; positive normal numbers.";
    SinApprox: approximation("sin.approx", &[P::T], Bounded(16, -11), Op::Sin), "Native sine; arguments of magnitude up to pi, within 2^-11 absolutely.";
    CosApprox: approximation("cos.approx", &[P::T], Bounded(16, -11), Op::Cos), "Native cosine; arguments of magnitude up to pi, within 2^-11 absolutely.";
    TanhApprox: approximation("tanh.approx", &[P::T], Bounded(16, -10), Op::Tanh), "Native hyperbolic tangent; arguments of magnitude up to 10, within 2^-10 absolutely.";

    // Short vectors and register arrays.
    Vector: Row::new("vector", Family::Scalar, Suffix::Aggregate(ScalarSet::STORED)).takes(&[P::Parts]).gives(&[P::T]).class(Exact),
        "A vector or register array of these elements.";
    Splat: Row::new("splat", Family::Scalar, Suffix::Aggregate(ScalarSet::STORED)).takes(&[P::Element]).gives(&[P::T]).class(Exact),
        "A vector or register array in which every element is the operand.";
    Extract: Row::new("extract", Family::Scalar, Suffix::Scalar(ScalarSet::STORED)).takes(&[P::Aggregate, P::U32]).gives(&[P::T]).class(Exact),
        "An element. Its position must be a constant once loops are unrolled.";
    Insert: Row::new("insert", Family::Scalar, Suffix::Scalar(ScalarSet::STORED)).takes(&[P::Aggregate, P::U32, P::T]).gives(&[P::First]).class(Exact),
        "The same with one element replaced. Its position must be a constant once loops are unrolled.";

    // Memory.
    Load: Row::new("load", Family::Memory, Suffix::Lanes(ScalarSet::STORED)).takes(&[P::Memory(ANY_SPACE), P::Index]).gives(&[P::T])
        .attrs(&[Offset, Cache, Volatile]).effect(Effect::Read).transfer(Transfer::Memory),
        "Reads element `i` of the memory seen as an array of T: the access is aligned to T's whole size.";
    Store: Row::new("store", Family::Memory, Suffix::Lanes(ScalarSet::STORED)).takes(&[P::Memory(ANY_SPACE), P::Index, P::T])
        .attrs(&[Offset, Cache]).effect(Effect::Write),
        "Writes element `i` of the memory seen as an array of T.";
    UniformLoad: Row::new("uniform_load", Family::Memory, Suffix::Scalar(ScalarSet::STORED)).takes(&[P::Memory(SHARED), P::Index]).gives(&[P::T])
        .attrs(&[Offset]).effect(Effect::Sync).convergence(Convergence::Workgroup).same(&[1]).transfer(Transfer::Always(Uniformity::Workgroup)),
        "A barrier on shared memory, a load that all invocations make at one index, and a barrier again: the value is uniform in the workgroup.";
    AtomicLoad: Row::new("atomic.load", Family::Memory, Suffix::Scalar(ATOMIC)).takes(&[P::Memory(GLOBAL_OR_SHARED), P::Index]).gives(&[P::T])
        .attrs(&[Offset, Order, Scope]).effect(Effect::Atomic).transfer(Transfer::Always(Uniformity::Varying)),
        "Reads in one step.";
    AtomicStore: Row::new("atomic.store", Family::Memory, Suffix::Scalar(ATOMIC)).takes(&[P::Memory(GLOBAL_OR_SHARED), P::Index, P::T])
        .attrs(&[Offset, Order, Scope]).effect(Effect::Atomic),
        "Writes in one step.";
    AtomicAdd: atomic("atomic.add", ATOMIC_NUMBER), "Adds in one step; gives the old value.";
    AtomicMin: atomic("atomic.min", ATOMIC_NUMBER), "Keeps the lesser in one step; gives the old value.";
    AtomicMax: atomic("atomic.max", ATOMIC_NUMBER), "Keeps the greater in one step; gives the old value.";
    AtomicAnd: atomic("atomic.and", ATOMIC), "Bitwise and in one step; gives the old value.";
    AtomicOr: atomic("atomic.or", ATOMIC), "Bitwise or in one step; gives the old value.";
    AtomicXor: atomic("atomic.xor", ATOMIC), "Bitwise exclusive or in one step; gives the old value.";
    AtomicExchange: atomic("atomic.exchange", ATOMIC_NUMBER), "Writes in one step; gives the old value.";
    AtomicCompareExchange: atomic("atomic.compare_exchange", ATOMIC_NUMBER).takes(&[P::Memory(GLOBAL_OR_SHARED), P::Index, P::T, P::T]),
        "`atomic.compare_exchange m[i], expected, new`: writes `new` if the old value has the bits of `expected`, in one step; gives the old value. Never fails spuriously.";
    Gemm: Row::new("gemm", Family::Memory, Suffix::Scalar(ScalarSet::of(&[Scalar::F32, Scalar::F64])))
        .takes(&[P::Memory(SHARED), P::Index, P::Memory(GLOBAL_OR_SHARED), P::Index, P::Memory(GLOBAL_OR_SHARED), P::Index, P::U32, P::U32, P::U32, P::U32, P::U32, P::U32, P::U32, P::U32])
        .effect(Effect::Sync).needs(Feature::Gemm),
        "`gemm.f32 c[i], a[j], b[k], rows, columns, depth, c_row, a_row, a_column, b_row, b_column`: c += a * b on matrices in memory, for this invocation alone. The last five numbers count elements from one row or column to the next; the columns of c are neighbours. Sums are in any order, and rounded after each step or after some.";

    // Positions.
    GlobalId: position("global_id", Suffix::Dim, Uniformity::Varying), "`workgroup_id * workgroup_size + local_id`.";
    LocalId: position("local_id", Suffix::Dim, Uniformity::Varying), "The invocation's position in its workgroup.";
    LocalIndex: position("local_index", Suffix::None, Uniformity::Varying), "The same as one number: x fastest.";
    WorkgroupId: position("workgroup_id", Suffix::Dim, Uniformity::Workgroup), "The workgroup's position in the grid.";
    NumWorkgroups: position("num_workgroups", Suffix::Dim, Uniformity::Launch), "How many workgroups the grid has.";
    WorkgroupSize: position("workgroup_size", Suffix::Dim, Uniformity::Launch), "How many invocations a workgroup has.";
    SubgroupSize: position("subgroup_size", Suffix::None, Uniformity::Subgroup).needs(Feature::Subgroups),
        "How many lanes a subgroup has; the workgroup's last subgroup may be partly empty.";
    SubgroupId: position("subgroup_id", Suffix::None, Uniformity::Subgroup).needs(Feature::Subgroups), "Which subgroup of the workgroup it is.";
    NumSubgroups: position("num_subgroups", Suffix::None, Uniformity::Workgroup).needs(Feature::Subgroups), "How many subgroups the workgroup has.";
    Lane: position("lane", Suffix::None, Uniformity::Varying).needs(Feature::Subgroups), "The invocation's position in its subgroup.";

    // Synchronisation.
    Barrier: Row::new("barrier", Family::Sync, Suffix::None).attrs(&[Spaces]).effect(Effect::Sync).convergence(Convergence::Workgroup),
        "Waits for all invocations of the workgroup; after it, all of them see the accesses to the named spaces from before it.";
    Fence: Row::new("fence", Family::Sync, Suffix::None).attrs(&[Order, Scope]).effect(Effect::Sync).needs(Feature::OrderedAtomics),
        "Orders the invocation's accesses before and after it, as seen by the whole scope.";

    // Subgroups.
    Ballot: subgroup("ballot", Suffix::None).takes(&[P::Bool]).gives(&[P::Ballot]).transfer(Transfer::Always(Uniformity::Subgroup)),
        "One bit a lane, lane 0 the lowest of the first word: whether the condition holds there.";
    Any: subgroup("any", Suffix::None).takes(&[P::Bool]).gives(&[P::Bool]).transfer(Transfer::Always(Uniformity::Subgroup)), "Whether it holds in some lane.";
    All: subgroup("all", Suffix::None).takes(&[P::Bool]).gives(&[P::Bool]).transfer(Transfer::Always(Uniformity::Subgroup)), "Whether it holds in every lane.";
    Elect: subgroup("elect", Suffix::None).gives(&[P::Bool]), "True in exactly one lane of the subgroup, the lowest that takes part.";
    Shuffle: shuffle("shuffle"), "The value of that lane; undefined if there is no such lane.";
    ShuffleXor: shuffle("shuffle_xor").same(&[1]), "The value of the lane whose number differs by these bits. The mask is the same in all lanes.";
    ShuffleUp: shuffle("shuffle_up").same(&[1]), "The value of the lane that is the given distance below; undefined where there is none. The distance is the same in all lanes.";
    ShuffleDown: shuffle("shuffle_down").same(&[1]), "The value of the lane that is the given distance above; undefined where there is none. The distance is the same in all lanes.";
    Broadcast: shuffle("broadcast").same(&[1]).transfer(Transfer::Always(Uniformity::Subgroup)), "The value of that lane, which is the same number in all lanes.";
    SubgroupAdd: reduce("subgroup.add", REDUCED), "Sum over the subgroup, in any order.";
    SubgroupMul: reduce("subgroup.mul", REDUCED), "Product over the subgroup, in any order.";
    SubgroupMin: reduce("subgroup.min", REDUCED), "Least over the subgroup.";
    SubgroupMax: reduce("subgroup.max", REDUCED), "Greatest over the subgroup.";
    SubgroupAnd: reduce("subgroup.and", WORDS), "Bitwise and over the subgroup.";
    SubgroupOr: reduce("subgroup.or", WORDS), "Bitwise or over the subgroup.";
    SubgroupXor: reduce("subgroup.xor", WORDS), "Bitwise exclusive or over the subgroup.";
    InclusiveAdd: scan("inclusive.add", REDUCED), "Sum of the lanes up to and with this one, in any order.";
    ExclusiveAdd: scan("exclusive.add", REDUCED), "Sum of the lanes below this one; 0 in the first.";
    InclusiveMul: scan("inclusive.mul", REDUCED), "Product of the lanes up to and with this one, in any order.";
    ExclusiveMul: scan("exclusive.mul", REDUCED), "Product of the lanes below this one; 1 in the first.";
    InclusiveMin: scan("inclusive.min", REDUCED), "Least of the lanes up to and with this one.";
    InclusiveMax: scan("inclusive.max", REDUCED), "Greatest of the lanes up to and with this one.";

    // Fragments.
    CoopLoad: subgroup("coop.load", Suffix::Coop).takes(&[P::Memory(GLOBAL_OR_SHARED), P::Index, P::U32]).gives(&[P::T]).attrs(&[Offset, Layout]).same(&[1, 2]),
        "`coop.load m[i], stride`: a fragment from memory; index and stride count elements. Shared memory may hold them in words (`u32`).";
    CoopStore: subgroup("coop.store", Suffix::Coop).takes(&[P::Memory(GLOBAL_OR_SHARED), P::Index, P::T, P::U32]).attrs(&[Offset, Layout]).same(&[1, 3]),
        "`coop.store m[i], f, stride`: a fragment to memory; index and stride count elements.";
    CoopSplat: subgroup("coop.splat", Suffix::Coop).takes(&[P::Element]).gives(&[P::T]), "A fragment in which every element is the operand.";
    CoopMma: subgroup("coop.mma", Suffix::Coop).takes(&[P::Fragment, P::Fragment, P::T]).gives(&[P::T]).attrs(&[Precision]),
        "`coop.mma a, b, c`: a * b + c on fragments of one shape; products are exact, sums rounded in any order. With `precision(tf32)`, factors of `f32` are rounded to `tf32` first; with `precision(tf32x3)`, they are taken as sums of two such numbers, and the product of both second ones is left out.";

    // Asynchronous operations.
    AsyncCopy: asynchronous("async.copy", Suffix::Lanes(ScalarSet::STORED), Feature::AsyncCopy)
        .takes(&[P::Memory(SHARED), P::Index, P::Memory(GLOBAL), P::Index, P::Bool]).attrs(&[Offset, SourceOffset]),
        "`async.copy shared[i], buffer[j], inside`: starts to copy one T (4, 8 or 16 bytes); writes zeros and reads nothing if `inside` does not hold.";
    AsyncCommit: asynchronous("async.commit", Suffix::None, Feature::AsyncCopy), "The invocation's copies since the last one become a group.";
    AsyncWait: asynchronous("async.wait", Suffix::None, Feature::AsyncCopy).attrs(&[Pending]),
        "Waits until at most `pending` of the invocation's latest groups are under way. Others see the data after a barrier.";
    MbarrierInit: asynchronous("mbarrier.init", Suffix::None, Feature::Mbarrier).takes(&[P::Memory(SHARED), P::Index, P::U32]).attrs(&[Offset]),
        "Makes the `u64` in shared memory a barrier; the operand says how many arrivals complete a phase.";
    MbarrierArrive: asynchronous("mbarrier.arrive", Suffix::None, Feature::Mbarrier).takes(&[P::Memory(SHARED), P::Index]).gives(&[P::Token]).attrs(&[Offset]),
        "Arrives; gives the phase to wait for.";
    MbarrierArriveCopies: asynchronous("mbarrier.arrive_copies", Suffix::None, Feature::Mbarrier).takes(&[P::Memory(SHARED), P::Index]).attrs(&[Offset]),
        "Arrives automatically when all copies that the invocation has started are done.";
    MbarrierWait: asynchronous("mbarrier.wait", Suffix::None, Feature::Mbarrier).takes(&[P::Memory(SHARED), P::Index, P::U32]).attrs(&[Offset]),
        "Waits until the phase of this parity (0, 1) is complete.";
    MbarrierTest: asynchronous("mbarrier.test", Suffix::None, Feature::Mbarrier).takes(&[P::Memory(SHARED), P::Index, P::Token]).gives(&[P::Bool]).attrs(&[Offset]),
        "Whether the phase of the token is complete.";
    FenceAsync: asynchronous("fence.async", Suffix::None, Feature::Wgmma),
        "Matrix products and bulk copies after it see ordinary writes to shared memory before it.";
    WgmmaFence: asynchronous("wgmma.fence", Suffix::None, Feature::Wgmma).convergence(Convergence::Warpgroup),
        "Orders accesses to accumulator registers before it with products after it.";
    Wgmma: asynchronous("wgmma", Suffix::Scalar(ScalarSet::of(&[Scalar::F16, Scalar::Bf16])), Feature::Wgmma).convergence(Convergence::Warpgroup)
        .takes(&[P::Aggregate, P::Memory(SHARED), P::Index, P::Memory(SHARED), P::Index]).gives(&[P::First]).attrs(&[Offset, SourceOffset, Shape, MatrixA, MatrixB]).same(&[2, 4]),
        "`wgmma.f16 acc, a[i], b[j]`: 128 invocations start acc + a * b on matrices in shared memory; the result is in flight until `wgmma.wait`. Indices count elements of T.";
    WgmmaCommit: asynchronous("wgmma.commit", Suffix::None, Feature::Wgmma).convergence(Convergence::Warpgroup), "The products since the last one become a group.";
    WgmmaWait: asynchronous("wgmma.wait", Suffix::None, Feature::Wgmma).convergence(Convergence::Warpgroup).takes(&[P::Rest]).gives(&[P::Rest]).attrs(&[Pending]),
        "Waits until at most `pending` of the latest groups are under way, and gives its operands, accumulators, as finished values.";

    // Cells.
    CellNew: heap("cell.new").takes(&[P::Rest]).gives(&[P::Term]).attrs(&[Cell]),
        "A new cell of the layout that owns these fields. Ends the run if there is no memory left.";
    CellGet: Row::new("cell.get", Family::Heap, Suffix::Any).takes(&[P::Term]).gives(&[P::T]).attrs(&[Cell, Field])
        .effect(Effect::Heap).transfer(Transfer::Always(Uniformity::Varying)).class(Exact),
        "A field of the cell, which is only read. Reading a `term` does not make the reader its owner: share it to keep it.";
    CellLayout: heap("cell.layout").takes(&[P::Term]).gives(&[P::U32]),
        "The number of the cell's layout, counted from 0 in the text's order. The cell is only read.";
    CellOpen: heap("cell.open").takes(&[P::Term]).gives(&[P::Term, P::Rest]).attrs(&[Cell]),
        "Takes one ownership of the cell and gives a reuse token and all fields, owned. If it was the last one, the reuse token is the cell's memory; else the reuse token is empty and the fields are shared.";
    CellFill: heap("cell.fill").takes(&[P::Term, P::Rest]).gives(&[P::Term]).attrs(&[Cell]),
        "`cell.new` in a reuse token. If the token is empty or too small, the cell gets memory of its own, and the token's is freed.";
    CellFree: heap("cell.free").takes(&[P::Term]),
        "Frees the memory of a reuse token, if it has any.";
    ChainNew: heap("chain.new").gives(&[P::Term]),
        "The chain without cells. A *chain* is a value that is not finished: cells, each a field of the one before, and one field of the last that is open, which the chain's owner knows the number of. It is carried, grown and ended, and nothing else.";
    ChainGrow: heap("chain.grow").takes(&[P::Term, P::U32, P::Term]).gives(&[P::Term]).attrs(&[Cell, Field]),
        "`chain.grow @cons chain, open, cell field(1)`: puts a cell into the field of the chain's last cell that is open. The cell, which this function has made with a word that names no cell in its field 1, is the last one then, and that field is open.";
    ChainEnd: heap("chain.end").takes(&[P::Term, P::U32, P::Term]).gives(&[P::Term]),
        "`chain.end chain, open, value`: puts a value into the open field and gives the first cell, which is finished. Of the chain without cells it gives the value.";
    TermShare: heap("term.share").takes(&[P::Term]).gives(&[P::Term, P::Term]).attrs(&[Flat]),
        "Turns one ownership into two. Words that name no cell have no count.";
    TermDrop: heap("term.drop").takes(&[P::Term]).attrs(&[Flat]),
        "Ends an ownership. A cell without owners is freed, and its fields are dropped, to any depth.";
    TermPack: Row::new("term.pack", Family::Heap, Suffix::None).takes(&[P::U32, P::U32]).gives(&[P::Term]).class(Exact),
        "`term.pack tag, payload`: the word of a 3-bit tag, which is not that of cells, and a 29-bit payload; higher bits are dropped. It may be used any number of times. `term.pack 4, 0` is the empty reuse token.";
    TermTag: Row::new("term.tag", Family::Heap, Suffix::None).takes(&[P::Term]).gives(&[P::U32]).class(Exact),
        "The tag of a word, which is only read: 0 `u24`, 1 `i24`, 2 `f24`, 3 immediate, 4 cell.";
    TermPayload: Row::new("term.payload", Family::Heap, Suffix::None).takes(&[P::Term]).gives(&[P::U32]).class(Exact),
        "The 29 bits of payload of a word, which is only read. The payload of a cell means nothing and differs from run to run.";
    GlobalGet: heap("global.get").gives(&[P::Term]).attrs(&[Global]),
        "An ownership of the value of a global, which is computed on first use. Ends the run if the global is already being computed.";

    // Tasks.
    Fork: task("fork").takes(&[P::Rest]).gives(&[P::Token]),
        "Calls a function, which may run in parallel until it is joined.";
    Join: task("join").takes(&[P::Token]).gives(&[P::Rest]),
        "Waits for a forked call and gives its results. Each is joined exactly once, in the region that forked it.";
    Tail: task("tail").takes(&[P::Rest]).effect(Effect::Control),
        "Ends the function with the results of a call that takes no stack. It may stand wherever `return` may.";

    // Tiles.
    TileIota: tile("tile.iota", Suffix::Tile(ScalarSet::INTEGERS)), "The numbers from 0 on, in a tile of one dimension.";
    TileSplat: tile("tile.splat", Suffix::Tile(ScalarSet::ALL)).takes(&[P::Element]), "A tile in which every element is the operand.";
    TileBroadcast: tile("tile.broadcast", Suffix::Tile(ScalarSet::ALL)).takes(&[P::Block]),
        "The tile with dimensions of length 1 repeated.";
    TileReshape: tile("tile.reshape", Suffix::Tile(ScalarSet::ALL)).takes(&[P::Block]),
        "The same elements, in order, in another shape of the same size.";
    TilePermute: tile("tile.permute", Suffix::Tile(ScalarSet::ALL)).takes(&[P::Block]).attrs(&[Axes]),
        "The tile with its dimensions in another order.";
    TileJoin: tile("tile.join", Suffix::Tile(ScalarSet::ALL)).takes(&[P::Block, P::Block]),
        "Two tiles of one shape beside each other in a new last dimension.";
    TileSplit: tile("tile.split", Suffix::Tile(ScalarSet::ALL)).takes(&[P::T]).gives(&[P::Block, P::Block]),
        "The two tiles that `tile.join` would join into this one.";
    TileCat: tile("tile.cat", Suffix::Tile(ScalarSet::ALL)).takes(&[P::Block, P::Block]),
        "The elements of the first tile, then those of the second, along the first dimension.";
    TileGather: tile("tile.gather", Suffix::Tile(ScalarSet::ALL)).takes(&[P::Block, P::AnyBlock]).attrs(&[Axis]),
        "`tile.gather x, index`: along the axis, the elements of x at these positions; an element beyond the end is 0.";
    TileHistogram: tile("tile.histogram", Suffix::Tile(ScalarSet::WORDS)).takes(&[P::AnyBlock, P::Inside]),
        "`tile.histogram x, inside`: how often each number from 0 on occurs in x where `inside` holds; others are not counted.";
    TileMap: by_element("tile.map"),
        "Runs its region on each element of tiles of one shape; gives tiles of what it yields.";
    TileReduce: by_element("tile.reduce").attrs(&[Axis]),
        "Combines the elements along an axis by its region, which takes two elements of each operand and is associative, in any grouping.";
    TileScan: by_element("tile.scan").attrs(&[Axis, Reverse]),
        "Combines each element with all before it along an axis by its region, which is associative, in any grouping.";
    TileDot: tile("tile.dot", Suffix::Tile(ScalarSet::NUMBERS)).takes(&[P::AnyBlock, P::AnyBlock, P::T]).attrs(&[Precision]).class(Bounded(8192, -149)),
        "`tile.dot a, b, c`: the matrix product of a and b, added to c; with three dimensions, of each pair of matrices. Products of short floats are exact, sums are rounded in any order.";
    TileLoad: tile_access("tile.load").takes(&[P::Memory(GLOBAL), P::Indices, P::Inside, P::Filler]).gives(&[P::T]).attrs(&[Cache, Eviction, Volatile]).effect(Effect::Read),
        "`tile.load m[i], inside, other`: reads the elements at these places; where `inside` does not hold, nothing is touched and the element is `other`.";
    TileStore: tile_access("tile.store").takes(&[P::Memory(GLOBAL), P::Indices, P::T, P::Inside]).attrs(&[Cache, Eviction]).effect(Effect::Write),
        "`tile.store m[i], x, inside`: writes the elements to these places; where `inside` does not hold, nothing is touched. Elements that go to the same place must be equal.";
    TileAtomic: tile_access("tile.atomic").takes(&[P::Memory(GLOBAL), P::Indices, P::T, P::Inside]).gives(&[P::T]).attrs(&[Update, Order, Scope]).effect(Effect::Atomic),
        "`tile.atomic m[i], x, inside`: updates each element in one step; gives the old ones, and 0 where `inside` does not hold.";
    TileCompareExchange: tile_access("tile.compare_exchange").takes(&[P::Memory(GLOBAL), P::Indices, P::T, P::T, P::Inside]).gives(&[P::T]).attrs(&[Order, Scope]).effect(Effect::Atomic),
        "`tile.compare_exchange m[i], expected, new, inside`: writes each new element where the old one is the expected one, in one step; gives the old ones, and 0 where `inside` does not hold.";
    TileHint: tile("tile.hint", Suffix::Block(ScalarSet::ALL)).takes(&[P::T]).attrs(&[Multiple, Contiguous, Constancy]),
        "The operand, with a promise about it that makes accesses faster.";
    TileAssume: Row::new("tile.assume", Family::Tile, Suffix::None).takes(&[P::AnyBlock]).effect(Effect::Sync),
        "Promises that the condition holds.";
    TilePrint: Row::new("tile.print", Family::Tile, Suffix::None).takes(&[P::Rest]).attrs(&[Text]).effect(Effect::Sync),
        "Prints the text and the values, if printing is enabled.";
    TileAssert: Row::new("tile.assert", Family::Tile, Suffix::None).takes(&[P::AnyBlock]).attrs(&[Text]).effect(Effect::Trap),
        "Ends the launch with an error if some element is false.";

    // Masks.
    MaskEq: mask("mask.eq"), "Where the lanes are equal; NaN equals nothing.";
    MaskLt: mask("mask.lt"), "Where a lane is less; nowhere for NaN.";
    MaskLe: mask("mask.le"), "Where a lane is less or equal; nowhere for NaN.";
    MaskSelect: lanes("mask.select", MASKED, &[P::Mask, P::T, P::T], Exact).family(Family::Mask),
        "Each bit from the first value where the mask's bit is one, else from the second.";
    MaskAny: lanes("mask.any", ScalarSet::of(&[Scalar::U32]), &[P::T], Exact).gives(&[P::Bool]).family(Family::Mask),
        "Whether any bit of any lane is one.";
}

impl Op {
    /// The operation's row.
    pub const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
    /// The printed name, without the suffix.
    pub const fn name(self) -> &'static str {
        self.row().name
    }
    /// The operation of this printed name.
    pub fn from_name(name: &str) -> Option<Op> {
        static NAMES: LazyLock<FastMap<&str, Op>> =
            LazyLock::new(|| Op::ALL.iter().map(|op| (op.name(), *op)).collect());
        NAMES.get(name).copied()
    }
    /// Whether it also works on tiles, element by element: arithmetic on scalars does.
    pub fn lifts(self) -> bool {
        let row = self.row();
        let by_lane = matches!(row.suffix, Suffix::Lanes(_) | Suffix::Scalar(_));
        row.family == Family::Scalar && by_lane && !row.operands.contains(&Pattern::Aggregate)
    }
    /// Whether it may be removed if unused, repeated and moved.
    pub const fn is_pure(self) -> bool {
        matches!(self.row().effect, Effect::Pure)
    }
    /// How many accesses to memory it makes: each is a memory operand followed by an index.
    pub fn accesses(self) -> usize {
        self.row().operands.iter().filter(|p| matches!(p, Pattern::Memory(_))).count()
    }
}

//! What a row of the table of operations can say: its columns, and how one is written.
//!
//! Invariant: a column has no value for "see elsewhere"; what a pass needs to know about an operation in general is a column, and what the
//! operation gives is not one.

use super::attrs::AttrKind;
use super::caps::Feature;
use super::ops::Op;
use super::types::{ScalarSet, Space};

/// Which part of the IR an operation belongs to. Families are lowered away from the last to the first until only
/// those of *kernel form* are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Regions, jumps, calls. Kernel form.
    Control,
    /// Arithmetic on numbers and short vectors. Kernel form.
    Scalar,
    /// Loads, stores, atomics. Kernel form.
    Memory,
    /// Positions, barriers, subgroups, fragments, asynchronous operations. Kernel form.
    Sync,
    /// Blocks of elements distributed over a workgroup; lowered to threads. Tile form.
    Tile,
    /// Cells with owners, and words that may name one. Task form.
    Heap,
    /// Forks, joins, calls that take no stack. Task form.
    Task,
    /// Truth and choice lane by lane, for code that does several times the same in step. Task form.
    Mask,
}

impl Family {
    /// Whether code generators know the family.
    pub const fn is_kernel_form(self) -> bool {
        (self as u8) <= Family::Sync as u8
    }
}

/// Which types may stand behind an operation's name, as `add.f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix {
    /// None.
    None,
    /// A dimension of the grid.
    Dim,
    /// A scalar of the set.
    Scalar(ScalarSet),
    /// A scalar of the set, or a short vector of it.
    Lanes(ScalarSet),
    /// A short vector or `regs` of the set.
    Aggregate(ScalarSet),
    /// A fragment.
    Coop,
    /// A tile of the set.
    Tile(ScalarSet),
    /// A scalar of the set, or a tile of it.
    Block(ScalarSet),
    /// Any type that a region can yield: everything but memory.
    Any,
}

/// What an operand or a result is, in terms of the suffix type T.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// T itself.
    T,
    /// The element of T.
    Element,
    /// `bool`; a `bool` for each element if T is a tile.
    Bool,
    /// `u32`.
    U32,
    /// `u32x4`: one bit a lane of the subgroup.
    Ballot,
    /// A `u32` for each lane of T: all ones where something holds, 0 where it does not.
    Mask,
    /// A `u32` or `u64` that counts elements of T.
    Index,
    /// A memory in one of these spaces.
    Memory(&'static [Space]),
    /// Any scalar or short vector of the stated lanes of T: the source of a conversion.
    Source,
    /// A short vector or `regs` whose element is T.
    Aggregate,
    /// The type of the first operand.
    First,
    /// A fragment of any kind.
    Fragment,
    /// A state of an asynchronous operation, or a call that is forked.
    Token,
    /// A word that may name a cell.
    Term,
    /// Any number of values whose types something else fixes: the region, the callee, the function, the layout.
    Rest,
    /// One element of T for each of its lanes.
    Parts,
    /// A tile, or a scalar, of T's element; of which shape is said by the operation.
    Block,
    /// A tile, or a scalar, of any element.
    AnyBlock,
    /// An integer of 32 or 64 bits for each element of T: counts elements from the beginning of a buffer.
    Indices,
    /// One `bool`, or one for each element of T.
    Inside,
    /// One element of T, or one for each of T's.
    Filler,
}

/// What an operation does besides giving results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it may be removed, repeated, moved.
    Pure,
    /// Reads memory.
    Read,
    /// Writes memory.
    Write,
    /// Reads and writes memory in one step.
    Atomic,
    /// Orders, waits or communicates: stays where it is relative to other effects.
    Sync,
    /// Ends a region, or holds regions, or calls.
    Control,
    /// Reports a trap.
    Trap,
    /// Makes, reads or gives back cells: stays where it is relative to other effects.
    Heap,
}

/// Which invocations must reach an operation together. The verifier holds kernels to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Convergence {
    /// None.
    Free,
    /// Those of the subgroup.
    Subgroup,
    /// Those of the warpgroup: 128 neighbours by `local_index`.
    Warpgroup,
    /// Those of the workgroup.
    Workgroup,
}

/// Over which invocations a value is the same; also over which control flow is. Ordered: the first is the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Uniformity {
    /// All of the launch.
    Launch,
    /// All of a workgroup.
    Workgroup,
    /// All of a warpgroup, which is whole subgroups.
    Warpgroup,
    /// All of a subgroup.
    Subgroup,
    /// Nothing is known.
    Varying,
}

/// How the uniformity of results follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// The weakest of the operands'.
    Operands,
    /// Always this.
    Always(Uniformity),
    /// The operands' for memory that the launch does not write; otherwise varying.
    Memory,
    /// Of the regions' yields, weakened by the control flow that chooses among them.
    Regions,
}

/// How exactly devices must agree with the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It has no result to compare by itself.
    None,
    /// Bit for bit (NaN is any NaN).
    Exact,
    /// Integers bit for bit; floats correctly rounded, where a denormal may be flushed to zero and the sign of zero is
    /// ignored.
    Rounded,
    /// The math library: bit-identical on all devices up to flushed denormals, within this many units in the last
    /// place of the true value.
    Library(u32),
    /// Native: within this many units in the last place of `f32` for arguments in the range that the row's doc says, or
    /// within two to the power of the second number absolutely.
    Bounded(u32, i32),
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Printed name, without the suffix.
    pub name: &'static str,
    /// Its family.
    pub family: Family,
    /// Which types it is made for.
    pub suffix: Suffix,
    /// What it takes.
    pub operands: &'static [Pattern],
    /// What it gives.
    pub results: &'static [Pattern],
    /// Which attributes it can have.
    pub attrs: &'static [AttrKind],
    /// What it does.
    pub effect: Effect,
    /// Who must come together.
    pub convergence: Convergence,
    /// Positions of the operands that are the same in all who come together.
    pub same: &'static [usize],
    /// How uniform its results are.
    pub transfer: Transfer,
    /// Without which feature it is rewritten or refused.
    pub needs: Option<Feature>,
    /// How exact it is.
    pub class: Class,
    /// For an approximation the operation that it is near to.
    pub approximates: Option<Op>,
    /// What it means.
    pub doc: &'static str,
}

impl Row {
    pub(super) const fn new(name: &'static str, family: Family, suffix: Suffix) -> Row {
        Row {
            name,
            family,
            suffix,
            operands: &[],
            results: &[],
            attrs: &[],
            effect: Effect::Pure,
            convergence: Convergence::Free,
            same: &[],
            transfer: Transfer::Operands,
            needs: None,
            class: Class::None,
            approximates: None,
            doc: "",
        }
    }
    pub(super) const fn takes(mut self, operands: &'static [Pattern]) -> Row {
        self.operands = operands;
        self
    }
    pub(super) const fn gives(mut self, results: &'static [Pattern]) -> Row {
        self.results = results;
        self
    }
    pub(super) const fn family(mut self, family: Family) -> Row {
        self.family = family;
        self
    }
    pub(super) const fn attrs(mut self, attrs: &'static [AttrKind]) -> Row {
        self.attrs = attrs;
        self
    }
    pub(super) const fn effect(mut self, effect: Effect) -> Row {
        self.effect = effect;
        self
    }
    pub(super) const fn convergence(mut self, convergence: Convergence) -> Row {
        self.convergence = convergence;
        self
    }
    pub(super) const fn same(mut self, operands: &'static [usize]) -> Row {
        self.same = operands;
        self
    }
    pub(super) const fn transfer(mut self, transfer: Transfer) -> Row {
        self.transfer = transfer;
        self
    }
    pub(super) const fn needs(mut self, feature: Feature) -> Row {
        self.needs = Some(feature);
        self
    }
    pub(super) const fn class(mut self, class: Class) -> Row {
        self.class = class;
        self
    }
    pub(super) const fn approximates(mut self, exact: Op) -> Row {
        self.approximates = Some(exact);
        self
    }
    pub(super) const fn doc(mut self, doc: &'static str) -> Row {
        self.doc = doc;
        self
    }
}

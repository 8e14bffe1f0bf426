//! The instructions of compiled code: a register machine whose registers are the slots of the current call's frame.
//!
//! An instruction has 16 bytes. All slots below the window of a call have been written when the call happens, and
//! nothing above the window is read after it; the collector relies on both.

use super::LambdaId;
use crate::DefId;
use crate::eval::Packed;
use girih_base::num::{BinOp, NumKind};
use girih_base::prim::Prim;

/// A register: a position in the frame of the current call.
pub(crate) type Slot = u32;

/// A position in the code.
pub(crate) type Address = u32;

/// A constructor as instructions and values hold it: its `CtorId` in 16 bits.
pub(crate) type SmallCtor = u16;

/// An instruction. `dst` is the slot that is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instruction {
    /// `dst = src`.
    Move { dst: Slot, src: Slot },
    /// `dst = value`.
    Const { dst: Slot, value: Packed },
    /// Builds the string with this index in the table of texts.
    Text { dst: Slot, text: u32 },
    /// A constructor of one field.
    Data1 { ctor: SmallCtor, dst: Slot, field: Slot },
    /// A constructor of two fields.
    Data2 { ctor: SmallCtor, dst: Slot, first: Slot, second: Slot },
    /// A constructor whose fields stand in the slots from `at`.
    Data { ctor: SmallCtor, count: u16, dst: Slot, at: Slot },
    /// A pair.
    Pair { dst: Slot, first: Slot, second: Slot },
    /// Nested pairs of `count` parts, which stand in the slots from `at`.
    Tuple { dst: Slot, at: Slot, count: u32 },
    /// A list of `count` elements, which stand in the slots from `at`.
    List { dst: Slot, at: Slot, count: u32 },
    /// A closure; the table of lambdas says which slots it captures.
    Closure { dst: Slot, lambda: LambdaId },
    /// A definition with fewer arguments than it has parameters; they stand in the slots from `at`.
    Partial { count: u16, dst: Slot, at: Slot, def: DefId },
    /// `dst = a op b`.
    Op { op: BinOp, dst: Slot, a: Slot, b: Slot },
    /// `dst = a op constant`; the constant is `bits` of `kind`.
    OpConst { op: BinOp, kind: NumKind, dst: Slot, a: Slot, bits: u32 },
    /// `dst = prim(a)` or `prim(a, b)`.
    Prim { prim: Prim, dst: Slot, a: Slot, b: Slot },
    /// Goes on at `to`.
    Jump { to: Address },
    /// Goes on at `zero` if the number is zero.
    IfZero { src: Slot, zero: Address },
    /// Goes on at `zero` if `a op b` is zero.
    Branch { op: BinOp, a: Slot, b: Slot, zero: Address },
    /// Goes on at `zero` if `a op constant` is zero.
    BranchConst { op: BinOp, kind: NumKind, a: Slot, bits: u32, zero: Address },
    /// Goes on at the entry of the table of targets that the number says, or at the last entry if it is `count` or more.
    Switch { src: Slot, table: u32, count: u32 },
    /// Looks the number up in a table of sorted keys; targets as for `Switch`.
    Search { src: Slot, keys: u32, table: u32 },
    /// `dst = src - by` as an unsigned number.
    Predecessor { dst: Slot, src: Slot, by: u32 },
    /// Goes on at the entry of the table of targets that belongs to the constructor; the constructors of the type are
    /// `count` from `first`.
    Match { first: SmallCtor, count: u16, src: Slot, table: u32 },
    /// Loads `count` fields from the field `first` into the slots from `dst`.
    Fields { first: u16, count: u16, src: Slot, dst: Slot },
    /// Loads the `count` parts of a tuple into the slots from `dst`.
    Untuple { src: Slot, dst: Slot, count: u32 },
    /// Calls code with its `count` arguments in the slots from `at`, where the result arrives.
    Call { count: u16, entry: Address, at: Slot, frame: u32 },
    /// Replaces this call by another one.
    TailCall { count: u16, entry: Address, at: Slot, frame: u32 },
    /// Applies a value to `count` arguments in the slots from `at`, where the result arrives.
    Apply { function: Slot, at: Slot, count: u32 },
    /// Replaces this call by the application of a value.
    TailApply { function: Slot, at: Slot, count: u32 },
    /// Ends this call.
    Return { src: Slot },
    /// Computes `src` if it is a definition that waits to be computed.
    Force { dst: Slot, src: Slot },
    /// Ends the run. Part of the stubs.
    Stop,
    /// Applies a value to arguments that were put aside. Slot 0 has their number, slot 1 the address that is to blame,
    /// then come they, then the value.
    Resume,
    /// Stores the value of the definition in slot 0, which has arrived in slot 1.
    Store,
    /// Gives the constructor that has arrived in slot 1 to the match that waits for it, in the slot of the waiting call
    /// that slot 0 names.
    Deliver,
    /// Stands for a term that `reach` refuses, so it never runs.
    Refused,
}

const _: () = assert!(size_of::<Instruction>() == 16);

/// The stubs at the start of all code: what runs when a call that the machine itself began returns.
pub(crate) mod stub {
    use super::Address;

    /// [`super::Instruction::Stop`].
    pub(crate) const STOP: Address = 0;
    /// [`super::Instruction::Resume`].
    pub(crate) const RESUME: Address = 1;
    /// [`super::Instruction::Store`].
    pub(crate) const STORE: Address = 2;
    /// [`super::Instruction::Deliver`].
    pub(crate) const DELIVER: Address = 3;
    /// [`super::Instruction::Force`] of slot 0, then its return.
    pub(crate) const FORCE: Address = 4;
    /// Where the code of functions starts.
    pub(crate) const END: Address = 6;
}

/// The code of the stubs.
pub(crate) const STUBS: [Instruction; stub::END as usize] = [
    Instruction::Stop,
    Instruction::Resume,
    Instruction::Store,
    Instruction::Deliver,
    Instruction::Force { dst: 0, src: 0 },
    Instruction::Return { src: 0 },
];

/// How many slots of a stub's frame have been written when it runs. That of `Resume` counts them itself.
pub(crate) const STUB_HEIGHTS: [u32; stub::END as usize] = [0, 0, 2, 2, 1, 1];

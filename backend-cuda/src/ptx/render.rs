//! The state in which a function is rendered, and how values are read and written.
//!
//! Invariant: an instruction's result is written by the last line that it renders to, or after every line that reads a register that
//! it could share, because a result may lie in an operand's register (see [`super::coalesce`]).

use super::address::Addresses;
use super::coalesce::{self, Homes};
use super::copies::{self, Operand};
use super::fragments;
use super::isa::Isa;
use super::registers::{Bank, Class, Home, Reg, scalar_class};
use super::shared::SharedLayout;
use super::text::{Label, Text};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::nvidia::Target;
use girih_ir::{Function, Inst, Module, RegionId, Scalar, ValueId};

/// Writes an instruction.
macro_rules! ptx {
    ($renderer:expr, $($format:tt)*) => { $renderer.text.instruction(format_args!($($format)*)) };
}
pub(super) use ptx;

/// What a whole module needs, found while its functions are rendered.
#[derive(Debug)]
pub(super) struct Needs {
    /// The least version of the instruction set.
    pub isa: Isa,
    /// Whether an instruction of this very architecture is used.
    pub specific: bool,
    /// Operations that are not legal. The lowering never leaves one.
    pub refused: Vec<Diagnostic>,
}

/// What is being rendered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// A kernel, whose workgroups are those of the grid.
    Kernel([u32; 3]),
    /// A kernel whose workgroups are numbers up to a grid that stands in memory.
    Indirect([u32; 3], VirtualGrid),
    /// A function that kernels call.
    Function,
}

/// Registers of a workgroup that is a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct VirtualGrid {
    /// Its position.
    pub ids: [Reg; 3],
    /// The grid.
    pub sizes: [Reg; 3],
    /// Where it ends.
    pub end: Label,
}

/// Where `break` and `continue` of a loop go.
#[derive(Clone, Debug)]
pub(super) struct LoopFrame {
    pub head: Label,
    pub exit: Label,
    pub body: RegionId,
    pub params: Vec<ValueId>,
    pub results: Vec<ValueId>,
}

/// A function that is being rendered.
pub(super) struct Renderer<'a> {
    pub module: &'a Module,
    pub function: &'a Function,
    pub target: Target,
    pub needs: &'a mut Needs,
    pub shared: &'a SharedLayout,
    pub form: Form,
    pub text: Text,
    pub bank: Bank,
    /// The region that is being rendered.
    pub region: Option<RegionId>,
    /// Loops around, innermost last.
    pub loops: Vec<LoopFrame>,
    /// What `if` and `switch` around give, innermost last.
    pub yields: Vec<Vec<ValueId>>,
    pub addresses: Addresses,
    /// Lanes of the subgroup that exist, where that is not all 32 of them.
    pub members: Option<Reg>,
    /// Whether each value is an operand of some instruction.
    pub used: Vec<bool>,
    /// Whether a product takes factors of `f32` as sums of two numbers of `tf32`.
    pub splits: bool,
    homes: Homes,
    labels: u32,
}

impl<'a> Renderer<'a> {
    pub fn new(
        module: &'a Module,
        function: &'a Function,
        target: Target,
        needs: &'a mut Needs,
        shared: &'a SharedLayout,
        form: Form,
    ) -> Renderer<'a> {
        let mut bank = Bank::default();
        let homes = coalesce::homes(function, &mut bank);
        Renderer {
            module,
            function,
            target,
            needs,
            shared,
            form,
            text: Text::default(),
            bank,
            region: None,
            loops: vec![],
            yields: vec![],
            addresses: Addresses::default(),
            members: None,
            used: used(function),
            splits: fragments::splits(function),
            homes,
            labels: 0,
        }
    }

    /// A new label.
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }
    /// A new register.
    pub fn fresh(&mut self, class: Class) -> Reg {
        self.bank.fresh(class)
    }
    /// Says that an instruction needs this version of the instruction set.
    pub fn isa(&mut self, isa: Isa) {
        self.needs.isa = self.needs.isa.max(isa);
    }
    /// Notes that an operation should not have come here.
    pub fn refuse(&mut self, inst: &Inst, why: &str) {
        let message = format!("`{}` cannot be written as PTX for {}: {why}", inst.op.name(), self.target);
        let refusal = Diagnostic::new(Code::DeviceCompiler, inst.span, message);
        if self.needs.refused.last() != Some(&refusal) {
            self.needs.refused.push(refusal);
        }
    }

    /// The scalar that a value is made of.
    pub fn element(&self, value: ValueId) -> Scalar {
        self.function.ty(value).element().unwrap_or(Scalar::U32)
    }
    /// The registers of a value that is not a constant.
    pub fn home(&self, value: ValueId) -> Home {
        self.homes[value].expect("only constants have no registers, and they are read as operands")
    }
    /// The register of an instruction's only result, of one register.
    pub fn result(&self, inst: &Inst) -> Reg {
        self.home(inst.results[0]).reg(0)
    }

    /// A scalar as an operand: a register, or a number where PTX takes one.
    pub fn operand(&mut self, value: ValueId) -> Operand {
        let Some(bits) = self.function.as_constant(value) else { return self.home(value).reg(0).into() };
        let scalar = self.element(value);
        let (class, number) = (scalar_class(scalar), immediate(scalar, bits));
        match class {
            Class::B32 | Class::B64 => number,
            Class::Pred | Class::B16 => self.into_reg(class, number).into(),
        }
    }
    /// A scalar in a register.
    pub fn reg(&mut self, value: ValueId) -> Reg {
        let operand = self.operand(value);
        self.into_reg(scalar_class(self.element(value)), operand)
    }
    /// An operand in a register.
    pub fn into_reg(&mut self, class: Class, operand: Operand) -> Reg {
        match operand {
            Operand::Reg(reg) => reg,
            Operand::Int(_) | Operand::F32(_) | Operand::F64(_) => {
                let reg = self.fresh(class);
                self.mov(reg, operand);
                reg
            }
        }
    }
    /// Every register of a value; a constant is one operand.
    pub fn parts(&self, value: ValueId) -> Vec<Operand> {
        match self.function.as_constant(value) {
            Some(bits) => vec![immediate(self.element(value), bits)],
            None => self.home(value).regs().map(Operand::Reg).collect(),
        }
    }

    /// Moves one register.
    pub fn mov(&mut self, to: Reg, from: Operand) {
        if from != Operand::Reg(to) {
            ptx!(self, "mov.{} {to}, {from}", to.class.ty());
        }
    }
    /// Gives values to others, all at once.
    pub fn copy(&mut self, from: &[ValueId], to: &[ValueId]) {
        let mut moves = vec![];
        for (from, to) in from.iter().zip(to) {
            moves.extend(self.home(*to).regs().zip(self.parts(*from)));
        }
        for (to, from) in copies::order(&moves, &mut self.bank) {
            self.mov(to, from);
        }
    }
    /// Whether giving values to others takes no instruction.
    pub fn copies_nothing(&self, from: &[ValueId], to: &[ValueId]) -> bool {
        from.iter()
            .zip(to)
            .all(|(from, to)| self.function.as_constant(*from).is_none() && self.home(*from) == self.home(*to))
    }
}

/// Which values instructions read.
fn used(function: &Function) -> Vec<bool> {
    let mut used = vec![false; function.values.len()];
    function.walk(function.body, &mut |_, inst| inst.operands.iter().for_each(|v| used[v.index()] = true));
    used
}

/// A constant in PTX.
pub(super) fn immediate(scalar: Scalar, bits: u64) -> Operand {
    match scalar {
        Scalar::F32 => Operand::F32(bits as u32),
        Scalar::F64 => Operand::F64(bits),
        Scalar::I8 => Operand::Int((bits as i8).into()),
        Scalar::I16 => Operand::Int((bits as i16).into()),
        Scalar::I32 => Operand::Int((bits as i32).into()),
        Scalar::Bool
        | Scalar::U8
        | Scalar::U16
        | Scalar::U32
        | Scalar::F8E4M3
        | Scalar::F8E5M2
        | Scalar::F16
        | Scalar::Bf16
        | Scalar::I64
        | Scalar::U64 => Operand::Int(bits as i64),
    }
}

/// The name of a scalar's type in arithmetic instructions.
pub(super) fn name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "pred",
        Scalar::I8 | Scalar::I16 | Scalar::I32 => "s32",
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::F8E4M3 | Scalar::F8E5M2 => "u32",
        Scalar::I64 => "s64",
        Scalar::U64 => "u64",
        Scalar::F16 => "f16",
        Scalar::Bf16 => "bf16",
        Scalar::F32 => "f32",
        Scalar::F64 => "f64",
    }
}

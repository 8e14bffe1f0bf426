//! What the machine says when a program does what it must not.

use super::activation::owning;
use super::checks::{Reason, Row};
use super::code::Step;
use super::machine::{Machine, places};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::types::{Space, Type};
use girih_ir::{FunctionId, ValueId};

/// The end of a run.
pub(super) type Fault = Box<Diagnostic>;

impl Machine<'_> {
    /// A fault at a step.
    pub(super) fn fault(&self, code: Code, step: &Step, message: String) -> Diagnostic {
        Diagnostic::new(code, self.inst(step).span, message)
    }
    /// A fault at a step that one invocation is to blame for; the message goes on with who it is.
    pub(super) fn fault_of(&self, code: Code, step: &Step, lane: usize, message: String) -> Diagnostic {
        self.fault(code, step, format!("{message}, in {}", self.invocation(lane)))
    }
    /// Which invocation a lane is.
    pub(super) fn invocation(&self, lane: usize) -> String {
        let ([x, y, z], [gx, gy, gz]) = (self.team.position(lane), self.workgroup);
        if self.team.program {
            return format!("program ({gx}, {gy}, {gz})");
        }
        format!("invocation ({x}, {y}, {z}) of workgroup ({gx}, {gy}, {gz})")
    }
    /// A function's name, without `@`.
    pub(super) fn name(&self, id: FunctionId) -> &str {
        &self.program.module.functions[id].name
    }
    /// A step's operation as it is printed.
    pub(super) fn operation(&self, step: &Step) -> String {
        match self.inst(step).ty {
            Some(ty) => format!("`{}.{ty}`", step.op.name()),
            None => format!("`{}`", step.op.name()),
        }
    }
    /// A step's operand as it is printed.
    pub(super) fn operand(&self, step: &Step, operand: usize) -> String {
        let function = &self.program.module.functions[self.activation.function];
        let value: ValueId = self.inst(step).operands[operand];
        match &function.values[value].name {
            Some(name) => format!("`%{name}`"),
            None => match function.ty(value) {
                Type::Memory(Space::Global) => "a buffer".into(),
                Type::Memory(Space::Shared) => "shared memory".into(),
                Type::Memory(Space::Private) => "private memory".into(),
                _value => format!("operand {}", operand + 1),
            },
        }
    }

    pub(super) fn out_of_fuel(&self, step: &Step) -> Fault {
        let message = format!("the step limit was reached in `@{}`", self.name(self.activation.function));
        self.fault(Code::OutOfFuel, step, message)
            .hint("a loop may not end; otherwise raise the limit, or run less at once")
            .into()
    }

    /// A value of the lanes that run is defined where it decides something that cannot be taken back.
    pub(super) fn defined(&self, step: &Step, operand: usize, what: &str) -> Result<(), Fault> {
        let Some(checks) = self.checks.as_ref().filter(|checks| checks.poisoned) else { return Ok(()) };
        let slot = step.operands[operand];
        let mut found = None;
        places(slot, &self.mask, self.team, |place| {
            let origin = self.activation.origins[place];
            if origin != 0 && found.is_none() {
                found = Some((place, origin));
            }
        });
        let Some((place, origin)) = found else { return Ok(()) };
        let owners = super::activation::owners(slot, self.team).max(1);
        let owner = (place - slot.offset) % owners;
        let lane = self.mask.iter().find(|lane| {
            let mut one = super::mask::Mask::EMPTY;
            one.insert(*lane);
            owning(slot, &one, self.team).has(owner)
        });
        let what = format!("{} {what}", self.operand(step, operand));
        Err(self.undefined(step, lane.unwrap_or(0), &what, checks.row(origin)).into())
    }

    /// Something undefined is used.
    pub(super) fn undefined(&self, step: &Step, lane: usize, what: &str, row: Row) -> Diagnostic {
        let (code, why, hint) = match row.reason {
            Reason::NeverWritten(Space::Private) => {
                (Code::UndefinedValue, "was read from private memory that was never written", "write it first")
            }
            Reason::NeverWritten(_) => (
                Code::UndefinedValue,
                "was read from shared memory that this workgroup never wrote",
                "write it first, and put a barrier between",
            ),
            Reason::NoLane => (
                Code::UndefinedValue,
                "comes from a lane that does not exist or does not take part",
                "choose another value there by `select`",
            ),
            Reason::Wrapped => {
                (Code::UndefinedValue, "comes from arithmetic that is marked `nowrap` and wraps", "leave `nowrap` out")
            }
            Reason::Copy => (
                Code::NotFinished,
                "was read from where an asynchronous copy is under way",
                "put `async.wait`, then a barrier, before the load",
            ),
            Reason::Product => (
                Code::NotFinished,
                "is a matrix product that is under way",
                "use the result of a `wgmma.wait` that takes it as an operand",
            ),
        };
        let message = format!("{what} but {why}");
        self.fault_of(code, step, lane, message).label(row.span, "it comes from here").hint(hint)
    }
}

//! Where values of a program are: the heap of what a program was compiled to, or the evaluator's.

use crate::render::Source;
use girih_base::diag::Diagnostic;
use girih_base::num::Num;
use girih_task::data::{Datum, Words};
use girih_term::CtorId;
use girih_term::eval::{Machine, Value};
use girih_term::io::Data;

/// What makes values and, as a [`Source`], looks at them.
pub(crate) trait Store: Source {
    /// A number.
    fn number(&mut self, number: Num) -> Self::Value;
    /// `*`.
    fn era(&mut self) -> Self::Value;
    /// A pair.
    fn pair(&mut self, first: Self::Value, second: Self::Value) -> Result<Self::Value, Diagnostic>;
    /// A constructor with all its fields.
    fn ctor(&mut self, ctor: CtorId, fields: &[Self::Value]) -> Result<Self::Value, Diagnostic>;
    /// Gives back what was made.
    fn give_back(&mut self, value: Self::Value);
}

impl Store for Words<'_> {
    fn number(&mut self, number: Num) -> Datum {
        Datum::Number(number)
    }
    fn era(&mut self) -> Datum {
        Data::era(self)
    }
    fn pair(&mut self, first: Datum, second: Datum) -> Result<Datum, Diagnostic> {
        Data::pair(self, first, second)
    }
    fn ctor(&mut self, ctor: CtorId, fields: &[Datum]) -> Result<Datum, Diagnostic> {
        Data::ctor(self, ctor, fields)
    }
    fn give_back(&mut self, value: Datum) {
        Words::give_back(self, value);
    }
}

/// Making values never moves others.
impl Store for Machine {
    fn number(&mut self, number: Num) -> Value {
        number.into()
    }
    fn era(&mut self) -> Value {
        Value::ERA
    }
    fn pair(&mut self, first: Value, second: Value) -> Result<Value, Diagnostic> {
        Machine::pair(self, first, second)
    }
    fn ctor(&mut self, ctor: CtorId, fields: &[Value]) -> Result<Value, Diagnostic> {
        Machine::ctor(self, ctor, fields)
    }
    fn give_back(&mut self, _value: Value) {}
}

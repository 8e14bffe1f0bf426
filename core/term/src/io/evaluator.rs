//! The evaluator's values as effects read and make them.

use super::{Data, Host, Seen, run_io};
use crate::eval::{Machine, Root, Value, View};
use crate::{CtorId, Known};
use girih_base::diag::Diagnostic;
use girih_base::num::Num;

impl Machine {
    /// Performs the effects that a value asks for: see [`run_io`].
    ///
    /// # Errors
    /// As [`call`](Machine::call).
    pub fn run_io(&mut self, value: Value, host: &mut dyn Host) -> Result<Value, Diagnostic> {
        let value = self.force(value)?;
        let value = self.keep(value);
        let done = run_io(self, value, host)?;
        Ok(self.value(&done))
    }

    fn kept<const N: usize>(&mut self, values: [Value; N]) -> [Root; N] {
        values.map(|value| self.keep(value))
    }
}

impl Data for Machine {
    type Value = Root;

    fn known(&self) -> &Known {
        &self.code().program().known
    }

    fn look(&mut self, value: &Root) -> Result<Seen<Root>, Diagnostic> {
        let value = self.value(value);
        let value = self.force(value)?;
        Ok(match self.view(value) {
            View::Num(number) => Seen::Number(number),
            View::Pair(first, second) => {
                let [first, second] = self.kept([first, second]);
                Seen::Pair(first, second)
            }
            View::Ctor(ctor, fields) => Seen::Ctor(ctor, fields.into_iter().map(|field| self.keep(field)).collect()),
            View::Era
            | View::Closure { .. }
            | View::Partial { .. }
            | View::Global(_)
            | View::Constructor(_)
            | View::Selector(_) => Seen::Other,
        })
    }

    fn numbers(&mut self, value: &Root) -> Result<Option<Vec<u32>>, Diagnostic> {
        let known = Data::known(self).clone();
        let mut numbers = vec![];
        let mut rest = self.value(value);
        loop {
            rest = self.force(rest)?;
            let View::Ctor(ctor, fields) = self.view(rest) else { return Ok(None) };
            match fields[..] {
                [] if known.is_end(ctor) => return Ok(Some(numbers)),
                [head, tail] if known.is_link(ctor) => {
                    // Only where the head has to be computed can the tail move.
                    let (head, tail) = match self.peek(head) {
                        Some(head) => (head, tail),
                        None => {
                            let tail = self.keep(tail);
                            (self.force(head)?, self.value(&tail))
                        }
                    };
                    let Some(head) = head.num() else { return Ok(None) };
                    numbers.push(head.bits());
                    rest = tail;
                }
                _ => return Ok(None),
            }
        }
    }

    fn era(&mut self) -> Root {
        self.keep(Value::ERA)
    }

    fn number(&mut self, number: Num) -> Root {
        self.keep(number.into())
    }

    fn pair(&mut self, first: Root, second: Root) -> Result<Root, Diagnostic> {
        let (first, second) = (self.value(&first), self.value(&second));
        let pair = Machine::pair(self, first, second)?;
        Ok(self.keep(pair))
    }

    fn ctor(&mut self, ctor: CtorId, fields: &[Root]) -> Result<Root, Diagnostic> {
        let fields: Vec<Value> = fields.iter().map(|field| self.value(field)).collect();
        let made = Machine::ctor(self, ctor, &fields)?;
        Ok(self.keep(made))
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<Root, Diagnostic> {
        let list = self.list(bytes.iter().map(|&byte| Num::U24(byte.into()).into()))?;
        Ok(self.keep(list))
    }

    fn text(&mut self, text: &str) -> Result<Root, Diagnostic> {
        let string = self.string(text)?;
        Ok(self.keep(string))
    }

    fn check_interrupt(&self) -> Result<(), Diagnostic> {
        Machine::check_interrupt(self)
    }

    fn resume(&mut self, _call: Root, next: Root, answer: Root) -> Result<Root, Diagnostic> {
        let (next, answer) = (self.value(&next), self.value(&answer));
        let result = self.apply(next, &[answer])?;
        let value = self.force(result)?;
        Ok(self.keep(value))
    }
}

//! Values taken apart: bindings of patterns, and which arm of a match or a switch goes on.

use super::{Activation, Interpreter, Outcome, Result, Stop, Value};
use girih_base::num::{Num, NumKind};
use girih_task::flow::{Set, What};
use girih_term::{Bind, Match, Switch, Target, Term};

impl<'p, 'f> Interpreter<'p, 'f> {
    pub(super) fn bind_target(&mut self, frame: &mut Activation<'p>, Bind { target, value }: &'p Bind) -> Result<()> {
        match target {
            Target::Tuple(targets) => {
                let mut rest = self.eval(frame, value)?;
                for (position, target) in targets.iter().enumerate() {
                    let part = if position + 1 == targets.len() {
                        rest.clone()
                    } else {
                        match self.force(rest)? {
                            Value::Era => {
                                rest = Value::Era;
                                Value::Era
                            }
                            Value::Cell(cell) if cell.what == What::Pair => {
                                rest = cell.fields[1].clone();
                                cell.fields[0].clone()
                            }
                            _ => return Err(Stop::Trap),
                        }
                    };
                    target.iter().for_each(|&local| self.bind(frame, local, part.clone()));
                }
            }
            Target::Var(local) => {
                let value = self.eval(frame, value)?;
                self.bind(frame, *local, value);
            }
            Target::Dup(copies) => {
                let value = self.eval(frame, value)?;
                for &local in copies.iter().flatten() {
                    self.bind(frame, local, value.clone());
                }
            }
            Target::Link(_) => panic!("a program with this is refused"),
        }
        Ok(())
    }

    pub(super) fn choose(
        &mut self,
        frame: &mut Activation<'p>,
        term: &'p Term,
        choice: &'p Match,
        sets: &mut Vec<&'f Set>,
    ) -> Result<Outcome<'p>> {
        let value = self.eval(frame, &choice.scrutinee)?;
        let mut value = self.force(value)?;
        let is_function = match &value {
            Value::Function(_) => true,
            Value::Cell(cell) => matches!(cell.what, What::Closure(_) | What::Partial(..)),
            _ => false,
        };
        if is_function {
            let given = self.apply(value, vec![Value::Selector(choice.ty)])?;
            value = self.force(given)?;
            let is_data = match &value {
                Value::Unit(_) | Value::Era => true,
                Value::Cell(cell) => matches!(cell.what, What::Ctor(_)),
                _ => false,
            };
            if !is_data {
                return Err(Stop::Trap);
            }
            let set = self.flow.forced(self.flow.delivered(frame.instance, term));
            self.check(&value, &set, || "what a matched function gives".to_string());
        }
        let (ctor, fields) = match &value {
            Value::Era => return Ok(Outcome::Value(Value::Era)),
            Value::Unit(ctor) => (*ctor, &[][..]),
            Value::Cell(cell) => match cell.what {
                What::Ctor(ctor) => (ctor, &cell.fields[..]),
                _ => return Err(Stop::Trap),
            },
            _ => return Err(Stop::Trap),
        };
        if self.program.ctors[ctor].ty != choice.ty {
            return Err(Stop::Trap);
        }
        match choice.arms.iter().find(|arm| arm.ctor == ctor) {
            None => self.tail(frame, choice.default.as_ref().ok_or(Stop::Trap)?, sets),
            Some(arm) => {
                if let Some(whole) = arm.whole {
                    self.bind(frame, whole, value.clone());
                }
                for (&local, field) in arm.fields.iter().zip(fields) {
                    self.bind(frame, local, field.clone());
                }
                self.tail(frame, &arm.body, sets)
            }
        }
    }

    pub(super) fn choose_number(
        &mut self,
        frame: &mut Activation<'p>,
        choice: &'p Switch,
        sets: &mut Vec<&'f Set>,
    ) -> Result<Outcome<'p>> {
        let value = self.eval(frame, &choice.scrutinee)?;
        let Some(number) = self.numbers(vec![value])? else { return Ok(Outcome::Value(Value::Era)) };
        let number = number[0];
        if let Some((_, body)) = choice.cases.iter().find(|(key, _)| *key == number.bits()) {
            return self.tail(frame, body, sets);
        }
        if let Some(pred) = choice.pred {
            let by = choice.cases.iter().map(|&(key, _)| key).max().map_or(0, |key| key.wrapping_add(1));
            let bits = number.bits().wrapping_sub(by);
            let pred_value = match number.kind() {
                NumKind::U24 | NumKind::I24 | NumKind::F24 => Num::u24(bits),
                NumKind::U32 | NumKind::I32 | NumKind::F32 => Num::U32(bits),
            };
            self.bind(frame, pred, Value::Num(pred_value));
        }
        self.tail(frame, &choice.default, sets)
    }
}

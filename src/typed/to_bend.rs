//! Rust values as values of a program, by a list of what is still to be made: nothing here recurses, so data may be as deep and as long as it
//! likes.

use super::bend::Bend;
use super::from_bend::Misfit;
use super::plan::{Chain, Form, Plan, PlanId};
use super::store::Store;
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_base::num::{Num, NumKind};
use girih_term::CtorId;

/// A value of some [`Bend`] type.
pub trait Give {
    /// Says what the value is made of.
    #[doc(hidden)]
    fn give_to<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit>;
}

impl<T: Bend> Give for T {
    fn give_to<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
        self.give(to)
    }
}

/// The items of a list.
trait Items {
    fn give_item<'a>(&'a self, position: usize, to: &mut Giver<'a>) -> Result<(), Misfit>;
}

impl<T: Bend> Items for Vec<T> {
    fn give_item<'a>(&'a self, position: usize, to: &mut Giver<'a>) -> Result<(), Misfit> {
        self.get(position).map_or(Ok(()), |item| item.give(to))
    }
}

/// What is told what values are made of.
pub struct Giver<'a> {
    plans: &'a IndexVec<PlanId, Plan>,
    /// What is being given now.
    at: PlanId,
    /// What is still to be made, the next one last.
    tasks: Vec<Task<'a>>,
}

/// A step: it takes values that were made before, and makes one.
enum Task<'a> {
    Value(&'a dyn Give, PlanId),
    Number(Num),
    Era,
    Text(&'a str, Chain),
    /// A pair of the last two.
    Pair,
    /// A constructor of as many as it has fields.
    Ctor(CtorId, usize),
    /// A link of the last one, the head, and the one before, the rest.
    Link(CtorId),
    /// Links of so many items from the beginning onto the last one.
    Items(&'a dyn Items, usize, PlanId, Chain),
}

impl<'a> Giver<'a> {
    /// An integer of the kind that is wanted here.
    ///
    /// # Errors
    /// If it is out of the kind's range.
    pub fn integer(&mut self, value: i64) -> Result<(), Misfit> {
        let Form::Number(kind) = self.form() else { return Err(Misfit::broken()) };
        let number = match kind {
            NumKind::U24 if (0..1 << 24).contains(&value) => Num::U24(value as u32),
            NumKind::I24 if (-(1 << 23)..1 << 23).contains(&value) => Num::I24(value as i32),
            NumKind::U32 if u32::try_from(value).is_ok() => Num::U32(value as u32),
            NumKind::I32 if i32::try_from(value).is_ok() => Num::I32(value as i32),
            NumKind::U24 | NumKind::I24 | NumKind::U32 | NumKind::I32 => return Err(out_of_range(&value, *kind)),
            NumKind::F24 | NumKind::F32 => return Err(Misfit::broken()),
        };
        self.tasks.push(Task::Number(number));
        Ok(())
    }

    /// A float of the kind that is wanted here: the nearest one.
    ///
    /// # Errors
    /// If it is finite and the nearest one is not.
    pub fn float(&mut self, value: f32) -> Result<(), Misfit> {
        let number = match self.form() {
            Form::Number(NumKind::F24) => Num::f24(value),
            Form::Number(NumKind::F32) => Num::F32(value),
            _ => return Err(Misfit::broken()),
        };
        match number {
            Num::F24(rounded) if value.is_finite() && !rounded.is_finite() => Err(out_of_range(&value, NumKind::F24)),
            _ => {
                self.tasks.push(Task::Number(number));
                Ok(())
            }
        }
    }

    /// `*`.
    pub fn era(&mut self) -> Result<(), Misfit> {
        self.tasks.push(Task::Era);
        Ok(())
    }

    /// Text.
    pub fn text(&mut self, text: &'a str) -> Result<(), Misfit> {
        let Form::Text(chain) = self.form() else { return Err(Misfit::broken()) };
        self.tasks.push(Task::Text(text, *chain));
        Ok(())
    }

    /// A list of these items.
    pub fn list<T: Bend>(&mut self, items: &'a Vec<T>) -> Result<(), Misfit> {
        let Form::List(chain, item) = *self.form() else { return Err(Misfit::broken()) };
        self.tasks.extend([Task::Items(items, items.len(), item, chain), Task::Ctor(chain.nil, 0)]);
        Ok(())
    }

    /// A tuple of these parts.
    pub fn tuple(&mut self, parts: &[&'a dyn Give]) -> Result<(), Misfit> {
        let plans = self.plans;
        let Form::Tuple(parts_plans) = &plans[self.at].form else { return Err(Misfit::broken()) };
        self.tasks.extend(parts.iter().skip(1).map(|_| Task::Pair));
        self.tasks.extend(parts.iter().zip(parts_plans).rev().map(|(part, plan)| Task::Value(*part, *plan)));
        Ok(())
    }

    /// A variant, by its number in Rust, with its fields in the order of Rust.
    pub fn variant(&mut self, number: usize, fields: &[&'a dyn Give]) -> Result<(), Misfit> {
        let plans = self.plans;
        let Form::Data(_, _, variants) = &plans[self.at].form else { return Err(Misfit::broken()) };
        let variant = variants.get(number).ok_or_else(Misfit::broken)?;
        self.tasks.push(Task::Ctor(variant.ctor, fields.len()));
        for (number, plan) in variant.fields.iter().rev() {
            let field = fields.get(*number).ok_or_else(Misfit::broken)?;
            self.tasks.push(Task::Value(*field, *plan));
        }
        Ok(())
    }

    /// A number of this kind, where any type is.
    pub(super) fn untyped_number(&mut self, number: Num) -> Result<(), Misfit> {
        self.tasks.push(Task::Number(number));
        Ok(())
    }

    /// Text, where any type is.
    pub(super) fn untyped_text(&mut self, text: &'a str, chain: Chain) -> Result<(), Misfit> {
        self.tasks.push(Task::Text(text, chain));
        Ok(())
    }

    /// A list, where any type is.
    pub(super) fn untyped_list<T: Bend>(&mut self, items: &'a Vec<T>, chain: Chain) -> Result<(), Misfit> {
        self.tasks.extend([Task::Items(items, items.len(), self.at, chain), Task::Ctor(chain.nil, 0)]);
        Ok(())
    }

    /// A tuple, or a constructor with its fields, where any type is.
    pub(super) fn untyped_parts<T: Bend>(&mut self, parts: &'a [T], ctor: Option<CtorId>) -> Result<(), Misfit> {
        match ctor {
            Some(ctor) => self.tasks.push(Task::Ctor(ctor, parts.len())),
            None => self.tasks.extend(parts.iter().skip(1).map(|_| Task::Pair)),
        }
        self.tasks.extend(parts.iter().rev().map(|part| Task::Value(part, self.at)));
        Ok(())
    }

    /// What is wanted here.
    pub(super) fn form(&self) -> &'a Form {
        let plans = self.plans;
        &plans[self.at].form
    }

    /// The Bend type that is wanted here, as it is written.
    pub(super) fn wanted(&self) -> &'a str {
        let plans = self.plans;
        &plans[self.at].bend
    }
}

fn out_of_range(value: &dyn std::fmt::Display, kind: NumKind) -> Misfit {
    let range = match kind {
        NumKind::U24 => "from 0 to 16777215",
        NumKind::I24 => "from -8388608 to 8388607",
        NumKind::U32 => "from 0 to 4294967295",
        NumKind::I32 => "from -2147483648 to 2147483647",
        NumKind::F24 | NumKind::F32 => "as far as f32 with 16 bits of precision",
    };
    Misfit(format!("{value} is out of the range of `{}`, which goes {range}", kind.name()))
}

/// Why a value was not given.
pub(crate) enum Failure {
    /// It is not one of its Bend type.
    Misfit(Misfit),
    /// What keeps the values of the program has failed.
    Run(Diagnostic),
}

impl From<Misfit> for Failure {
    fn from(misfit: Misfit) -> Failure {
        Failure::Misfit(misfit)
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Failure {
        Failure::Run(diagnostic)
    }
}

/// Makes a value of a program, which is owned.
pub(crate) fn give<S: Store>(
    store: &mut S,
    plans: &IndexVec<PlanId, Plan>,
    value: &dyn Give,
    plan: PlanId,
) -> Result<S::Value, Failure> {
    let mut giver = Giver { plans, at: plan, tasks: vec![Task::Value(value, plan)] };
    let mut made: Vec<S::Value> = vec![];
    let mut run = || {
        while let Some(task) = giver.tasks.pop() {
            let next = step(store, &mut giver, task, &mut made)?;
            made.extend(next);
        }
        made.pop().ok_or_else(|| Failure::Misfit(Misfit::broken()))
    };
    let result = run();
    if let Err(Failure::Misfit(_)) = &result {
        made.into_iter().for_each(|value| store.give_back(value));
    }
    result
}

fn step<'a, S: Store>(
    store: &mut S,
    giver: &mut Giver<'a>,
    task: Task<'a>,
    made: &mut Vec<S::Value>,
) -> Result<Option<S::Value>, Failure> {
    let mut parts = |count: usize| made.split_off(made.len().saturating_sub(count));
    Ok(Some(match task {
        Task::Value(value, plan) => {
            giver.at = plan;
            value.give_to(giver)?;
            return Ok(None);
        }
        Task::Items(_, 0, _, _) => return Ok(None),
        Task::Items(items, count, plan, chain) => {
            giver.tasks.extend([Task::Items(items, count - 1, plan, chain), Task::Link(chain.cons)]);
            giver.at = plan;
            items.give_item(count - 1, giver)?;
            return Ok(None);
        }
        Task::Number(number) => store.number(number),
        Task::Era => store.era(),
        Task::Text(text, chain) => {
            let mut rest = store.ctor(chain.nil, &[])?;
            for character in text.chars().rev() {
                let head = store.number(Num::U24(u32::from(character)));
                rest = store.ctor(chain.cons, &[head, rest])?;
            }
            rest
        }
        Task::Pair => match parts(2)[..] {
            [first, second] => store.pair(first, second)?,
            _ => return Err(Misfit::broken().into()),
        },
        Task::Ctor(ctor, count) => store.ctor(ctor, &parts(count))?,
        Task::Link(cons) => match parts(2)[..] {
            [rest, head] => store.ctor(cons, &[head, rest])?,
            _ => return Err(Misfit::broken().into()),
        },
    }))
}

//! Values of a program as Rust values, by a list of what is still to be read and made: nothing here recurses, so data may be as deep and as
//! long as it likes.
//!
//! Values that were made wait in slots, each of its own type, until what they are parts of is made of them. A value that is wanted in a
//! box is made in the box that it stays in.

use super::bend::Bend;
use super::dynamic::Value;
use super::plan::{Chain, Form, Plan, PlanId};
use super::store::Store;
use super::to_bend::Failure;
use girih_base::idx::IndexVec;
use girih_base::num::Num;
use girih_task::data::Piece;
use girih_term::{CtorId, Program};
use std::any::Any;

/// What a value is, without its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    /// A number.
    Number(Num),
    /// A pair.
    Pair,
    /// A constructor.
    Ctor(CtorId),
    /// `*`.
    Era,
    /// A function.
    Function,
}

impl From<Piece> for Seen {
    fn from(piece: Piece) -> Seen {
        match piece {
            Piece::Number(number) => Seen::Number(number),
            Piece::Pair => Seen::Pair,
            Piece::Ctor(ctor) | Piece::Unit(ctor) => Seen::Ctor(ctor),
            Piece::Era => Seen::Era,
            Piece::Function => Seen::Function,
        }
    }
}

/// Why a value is none of the type on the other side.
#[derive(Clone, Debug)]
pub struct Misfit(pub(crate) String);

impl Misfit {
    /// A mistake in an implementation of [`Bend`].
    pub(crate) fn broken() -> Misfit {
        Misfit("its implementation of `Bend` says one thing of its type and another of its values".to_owned())
    }
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// [`Bend::take`] of a type.
pub type Read = fn(Seen, &mut Taker<'_>) -> Result<(), Misfit>;
/// Makes a value of those in the last slots; none if they are not what they have to be.
pub type Build = fn(&mut Slots) -> Option<()>;

/// A value that was made.
pub struct Slot(Held);

enum Held {
    Number(Num),
    Boxed(Box<dyn Any>),
}

impl Slot {
    pub(crate) fn number(self) -> Option<Num> {
        match self.0 {
            Held::Number(number) => Some(number),
            Held::Boxed(_) => None,
        }
    }

    /// The value of a type that is not Rust's: numbers, text and lists are made as those of Rust are.
    pub(super) fn value(self) -> Option<Value> {
        let boxed = match self.0 {
            Held::Number(number) => return Some(number.into()),
            Held::Boxed(boxed) => boxed,
        };
        let boxed = match boxed.downcast::<Value>() {
            Ok(value) => return Some(*value),
            Err(boxed) => boxed,
        };
        match boxed.downcast::<String>() {
            Ok(text) => Some(Value::Text(*text)),
            Err(boxed) => boxed.downcast().ok().map(|items| Value::List(*items)),
        }
    }

    pub(crate) fn boxed<T: 'static>(self) -> Option<Box<T>> {
        match self.0 {
            Held::Number(_) => None,
            Held::Boxed(value) => value.downcast().ok(),
        }
    }
}

/// Values that were made, the last one on top.
#[derive(Default)]
pub struct Slots {
    all: Vec<Slot>,
}

impl Slots {
    /// The last value, which is of this type.
    pub fn pop<T: Bend>(&mut self) -> Option<T> {
        self.all.pop().and_then(T::unpack)
    }

    /// Another value. It is no number.
    pub fn push<T: Bend>(&mut self, value: T) -> Option<()> {
        self.all.push(Slot(Held::Boxed(Box::new(value))));
        Some(())
    }

    /// The values behind the last [beginning](Taker::begin), in order, and of which constructor it is.
    pub(super) fn since_beginning<T: Bend>(&mut self) -> Option<(Option<CtorId>, Vec<T>)> {
        let is_beginning = |slot: &Slot| matches!(&slot.0, Held::Boxed(value) if value.is::<Beginning>());
        let at = self.all.iter().rposition(is_beginning)?;
        let parts = self.all.drain(at + 1..).map(T::unpack).collect::<Option<Vec<T>>>()?;
        let Beginning(ctor) = *self.all.pop()?.boxed()?;
        Some((ctor, parts))
    }

    /// The value on top, which stays there.
    fn top<T: 'static>(&mut self) -> Option<&mut T> {
        match self.all.last_mut()? {
            Slot(Held::Boxed(value)) => value.downcast_mut(),
            Slot(Held::Number(_)) => None,
        }
    }

    /// Puts the last ones, which are in the order of Bend, into that of Rust.
    fn arrange(&mut self, order: &[(usize, PlanId)]) {
        let from = self.all.len().saturating_sub(order.len());
        let mut taken: Vec<(usize, Slot)> =
            order.iter().map(|(number, _)| *number).zip(self.all.drain(from..)).collect();
        taken.sort_by_key(|(number, _)| *number);
        self.all.extend(taken.into_iter().map(|(_, slot)| slot));
    }
}

/// Stands below the parts of a value whose number Rust's types do not say.
struct Beginning(Option<CtorId>);

/// Puts the last value at the end of the list below it.
fn append<T: Bend>(slots: &mut Slots) -> Option<()> {
    let item: T = slots.pop()?;
    slots.top::<Vec<T>>()?.push(item);
    Some(())
}

/// What is told what to make of values.
pub struct Taker<'p> {
    plans: &'p IndexVec<PlanId, Plan>,
    program: &'p Program,
    /// What is being taken now.
    at: PlanId,
    /// What is still to be done, the next step last. Each step that reads takes the last value that waits to be read.
    tasks: Vec<Task<'p>>,
    slots: Slots,
}

#[derive(Clone, Copy)]
enum Task<'p> {
    Read(Read, PlanId),
    Build(Build),
    /// Puts fields into the order of Rust.
    Arrange(&'p [(usize, PlanId)]),
    /// The rest of a tuple.
    Tuple(&'static [Read], &'p [PlanId]),
    /// The rest of a list.
    List(ListOf),
    /// The rest of a text, and whose.
    Text(Chain, PlanId),
}

#[derive(Clone, Copy)]
struct ListOf {
    list: PlanId,
    chain: Chain,
    read: Read,
    item: PlanId,
    append: Build,
}

impl<'p> Taker<'p> {
    /// The value is this number.
    pub fn number(&mut self, number: Num) -> Result<(), Misfit> {
        self.slots.all.push(Slot(Held::Number(number)));
        Ok(())
    }

    /// What is wanted here.
    pub(super) fn form(&self) -> &'p Form {
        let plans = self.plans;
        &plans[self.at].form
    }

    /// The parts of a tuple, or the fields of a constructor, are read from here on.
    pub(super) fn begin(&mut self, ctor: Option<CtorId>) {
        self.slots.all.push(Slot(Held::Boxed(Box::new(Beginning(ctor)))));
    }

    /// How many fields a constructor has.
    pub(super) fn field_count(&self, ctor: CtorId) -> usize {
        self.program.ctors[ctor].fields.len()
    }

    /// The value has parts whose types are not known, either.
    pub(super) fn untyped_parts(&mut self, reads: &[Read], build: Build) -> Result<(), Misfit> {
        self.tasks.push(Task::Build(build));
        self.tasks.extend(reads.iter().rev().map(|read| Task::Read(*read, self.at)));
        Ok(())
    }

    /// The value is this.
    pub fn done<T: Bend>(&mut self, value: T) -> Result<(), Misfit> {
        self.slots.push(value).ok_or_else(Misfit::broken)
    }

    /// Which variant of the Rust type it is.
    ///
    /// # Errors
    /// If it is none.
    pub fn variant(&self, seen: Seen) -> Result<usize, Misfit> {
        let found = match (seen, &self.plans[self.at].form) {
            (Seen::Ctor(ctor), Form::Data(_, _, variants)) => variants.iter().position(|variant| variant.ctor == ctor),
            _ => None,
        };
        found.ok_or_else(|| self.misfit(seen))
    }

    /// The value is a variant: its fields are read, and it is built of them. All in the order of Rust.
    pub fn fields(&mut self, number: usize, reads: &[Read], build: Build) -> Result<(), Misfit> {
        let plans = self.plans;
        let Form::Data(_, _, variants) = &plans[self.at].form else { return Err(Misfit::broken()) };
        let variant = variants.get(number).ok_or_else(Misfit::broken)?;
        self.tasks.push(Task::Build(build));
        if !variant.is_in_order() {
            self.tasks.push(Task::Arrange(&variant.fields));
        }
        for (number, plan) in variant.fields.iter().rev() {
            let read = reads.get(*number).ok_or_else(Misfit::broken)?;
            self.tasks.push(Task::Read(*read, *plan));
        }
        Ok(())
    }

    /// The value is a tuple.
    pub fn tuple(&mut self, seen: Seen, reads: &'static [Read], build: Build) -> Result<(), Misfit> {
        let plans = self.plans;
        match (seen, &plans[self.at].form) {
            (Seen::Pair, Form::Tuple(parts)) => {
                self.tasks.push(Task::Build(build));
                self.pair(reads, parts)
            }
            _ => Err(self.misfit(seen)),
        }
    }

    /// The first part of a pair, and the rest.
    fn pair(&mut self, reads: &'static [Read], parts: &'p [PlanId]) -> Result<(), Misfit> {
        match (reads, parts) {
            ([first, second], [a, b]) => {
                self.tasks.extend([Task::Read(*second, *b), Task::Read(*first, *a)]);
                Ok(())
            }
            ([first, reads @ ..], [a, parts @ ..]) => {
                self.tasks.extend([Task::Tuple(reads, parts), Task::Read(*first, *a)]);
                Ok(())
            }
            _ => Err(Misfit::broken()),
        }
    }

    /// The value is a list.
    pub fn list<T: Bend>(&mut self, seen: Seen) -> Result<(), Misfit> {
        let (chain, item) = match self.plans[self.at].form {
            Form::List(chain, item) => (chain, item),
            Form::Any(_, Some(chain)) => (chain, self.at),
            _ => return Err(self.misfit(seen)),
        };
        let list = ListOf { list: self.at, chain, read: T::take, item, append: append::<T> };
        self.done::<Vec<T>>(vec![])?;
        self.rest_of_list(seen, list)
    }

    fn rest_of_list(&mut self, seen: Seen, list: ListOf) -> Result<(), Misfit> {
        match seen {
            Seen::Ctor(ctor) if ctor == list.chain.nil => Ok(()),
            Seen::Ctor(ctor) if ctor == list.chain.cons => {
                self.tasks.extend([Task::List(list), Task::Build(list.append), Task::Read(list.read, list.item)]);
                Ok(())
            }
            other => {
                self.at = list.list;
                Err(self.misfit(other))
            }
        }
    }

    /// The value is a text.
    pub fn text(&mut self, seen: Seen) -> Result<(), Misfit> {
        let chain = match self.plans[self.at].form {
            Form::Text(chain) | Form::Any(Some(chain), _) => chain,
            _ => return Err(self.misfit(seen)),
        };
        self.done(String::new())?;
        self.rest_of_text(seen, chain, self.at)
    }

    fn rest_of_text(&mut self, seen: Seen, chain: Chain, text: PlanId) -> Result<(), Misfit> {
        match seen {
            Seen::Ctor(ctor) if ctor == chain.nil => Ok(()),
            Seen::Ctor(ctor) if ctor == chain.cons => {
                let character: Read = |seen, taker| match seen {
                    Seen::Number(Num::U24(code) | Num::U32(code)) => {
                        let Some(character) = char::from_u32(code) else {
                            return Err(Misfit(format!(
                                "{code} is no character, so there is no `String` of it in Rust"
                            )));
                        };
                        taker.slots.top::<String>().ok_or_else(Misfit::broken)?.push(character);
                        Ok(())
                    }
                    other => Err(taker.misfit(other)),
                };
                self.tasks.extend([Task::Text(chain, text), Task::Read(character, text)]);
                Ok(())
            }
            other => {
                self.at = text;
                Err(self.misfit(other))
            }
        }
    }

    /// That something is no value of what is wanted here.
    pub fn misfit(&self, seen: Seen) -> Misfit {
        let Plan { rust, bend, .. } = &self.plans[self.at];
        let what = match seen {
            Seen::Number(number) => format!("the {} {number}", number.kind().name()),
            Seen::Pair => "a tuple".to_owned(),
            Seen::Ctor(ctor) => format!("`{}`", self.program.ctors[ctor].name),
            Seen::Era => "`*`".to_owned(),
            Seen::Function => "a function".to_owned(),
        };
        Misfit(format!("{what} came where Rust has `{rust}`, which is `{bend}`"))
    }
}

/// What is to be taken.
pub(crate) enum Whole<V> {
    /// A value.
    One(V),
    /// What a value is, and its parts.
    Parts(Seen, Vec<V>),
}

/// Makes the Rust value that a value of a program stands for, which is only looked at.
pub(crate) fn take<S: Store, R: Bend>(
    store: &mut S,
    program: &Program,
    plans: &IndexVec<PlanId, Plan>,
    whole: Whole<S::Value>,
    plan: PlanId,
) -> Result<R, Failure> {
    let mut taker = Taker { plans, program, at: plan, tasks: vec![], slots: Slots::default() };
    let mut values: Vec<S::Value> = vec![];
    match whole {
        Whole::One(value) => {
            values.push(value);
            taker.tasks.push(Task::Read(R::take, plan));
        }
        Whole::Parts(seen, parts) => {
            values.extend(parts.into_iter().rev());
            R::take(seen, &mut taker)?;
        }
    }
    while let Some(task) = taker.tasks.pop() {
        let mut seen = || -> Result<Seen, Failure> {
            let value = values.pop().ok_or_else(Misfit::broken)?;
            Ok(store.piece(value, &mut values)?.into())
        };
        match task {
            Task::Read(read, plan) => {
                let seen = seen()?;
                taker.at = plan;
                read(seen, &mut taker)?;
            }
            Task::Build(build) => build(&mut taker.slots).ok_or_else(Misfit::broken)?,
            Task::Arrange(order) => taker.slots.arrange(order),
            Task::Tuple(reads, parts) => match seen()? {
                Seen::Pair => taker.pair(reads, parts)?,
                other => return Err(taker.misfit(other).into()),
            },
            Task::List(list) => taker.rest_of_list(seen()?, list)?,
            Task::Text(chain, text) => taker.rest_of_text(seen()?, chain, text)?,
        }
    }
    taker.slots.pop().ok_or_else(|| Misfit::broken().into())
}

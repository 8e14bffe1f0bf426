//! Values whose types are known only when a program is: what languages without Rust's types give to functions and get from them.
//!
//! The types of a call are those of the function; where it leaves one open, what it is given decides. Nothing here recurses into the depth of a value but the look
//! at the types that are left open, which is done on a large stack.

use super::bend::Bend;
use super::from_bend::{Misfit, Read, Seen, Slot, Slots, Taker};
use super::function::Function;
use super::plan::{Chain, FieldOf, Form, Mismatch, Planner, Shape};
use super::to_bend::{Give, Giver};
use crate::error::Error;
use crate::program::Program;
use crate::run::RunOptions;
use girih_base::num::{Num, NumKind};
use girih_term as term;
use girih_term::print::show_scheme;
use girih_term::ty::Type;
use girih_term::{CtorId, Origin};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `*`.
    None,
    /// A number that is whole.
    Integer(i64),
    /// A float; whole numbers are taken for floats, too, where these are wanted.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A constructor of a data type, with its fields in order.
    Data(CtorId, Vec<Value>),
}

/// Arguments of a call whose types are not Rust's.
#[derive(Debug)]
pub struct Values;

/// The most parts of a tuple.
const MOST_PARTS: usize = 64;
const READS: [Read; MOST_PARTS] = [Value::take; MOST_PARTS];

/// The numbers that are [`Value::Integer`] and [`Value::Float`].
const NUMBERS: [NumKind; 6] = [NumKind::U24, NumKind::I24, NumKind::U32, NumKind::I32, NumKind::F24, NumKind::F32];

impl Value {
    /// What it is, in words.
    fn what(&self) -> &'static str {
        match self {
            Value::None => "`None`",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Tuple(_) => "a tuple",
            Value::Data(..) => "a value of a data type",
        }
    }

    /// Takes its parts out.
    fn parts(&mut self) -> Vec<Value> {
        match self {
            Value::List(parts) | Value::Tuple(parts) | Value::Data(_, parts) => std::mem::take(parts),
            Value::None | Value::Integer(_) | Value::Float(_) | Value::Text(_) => vec![],
        }
    }
}

/// However deep it is.
impl Drop for Value {
    fn drop(&mut self) {
        let mut waiting = self.parts();
        while let Some(mut value) = waiting.pop() {
            waiting.append(&mut value.parts());
        }
    }
}

impl From<Num> for Value {
    fn from(number: Num) -> Value {
        match number {
            Num::U24(value) | Num::U32(value) => Value::Integer(value.into()),
            Num::I24(value) | Num::I32(value) => Value::Integer(value.into()),
            Num::F24(value) | Num::F32(value) => Value::Float(value.into()),
        }
    }
}

impl Bend for Value {
    fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
        match ty {
            Type::Num(_) => planner.number::<Value>(ty, &NUMBERS),
            Type::None => planner.era::<Value>(ty),
            Type::Tuple(parts) if parts.len() <= MOST_PARTS => {
                let parts: Vec<FieldOf> = parts.iter().map(|_| FieldOf::unnamed::<Value>()).collect();
                planner.tuple::<Value>(ty, &parts)
            }
            Type::Data(..) => {
                planner.text::<Value>(ty).or_else(|_| planner.list::<Value, Value>(ty)).or_else(|mismatch| {
                    if planner.is_list(ty) { Err(mismatch) } else { planner.all_of_data::<Value>(ty) }
                })
            }
            Type::Tuple(_) => Err(planner.mismatch::<Value>(ty, "a tuple has at most 64 parts")),
            Type::Arrow(..) => Err(planner.mismatch::<Value>(ty, "functions cannot be given or taken")),
            Type::Any | Type::Hole | Type::Var(_) | Type::Param(_) => Ok(planner.any()),
        }
    }

    fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
        match (self, to.form()) {
            (Value::Integer(value), Form::Number(NumKind::F24 | NumKind::F32)) => to.float(*value as f32),
            (Value::Integer(value), Form::Number(_)) => to.integer(*value),
            (Value::Float(value), Form::Number(NumKind::F24 | NumKind::F32)) => to.float(*value as f32),
            (Value::None, Form::Era) => to.era(),
            (Value::Text(text), Form::Text(_)) => to.text(text),
            (Value::List(items), Form::List(..)) => to.list(items),
            (Value::Tuple(parts), Form::Tuple(wanted)) if parts.len() == wanted.len() => {
                let parts: Vec<&dyn Give> = parts.iter().map(|part| part as &dyn Give).collect();
                to.tuple(&parts)
            }
            (Value::Data(ctor, fields), Form::Data(_, _, variants)) => {
                let found = variants.iter().position(|v| v.ctor == *ctor && v.fields.len() == fields.len());
                let fields: Vec<&dyn Give> = fields.iter().map(|field| field as &dyn Give).collect();
                let Some(number) = found else { return Err(self.unwanted(to)) };
                to.variant(number, &fields)
            }
            (value, Form::Any(text, list)) => value.give_as_it_is(to, *text, *list),
            _ => Err(self.unwanted(to)),
        }
    }

    fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
        match (from.form(), seen) {
            (Form::Number(_), Seen::Number(number)) => from.number(number),
            (Form::Era, Seen::Era) => from.done(Value::None),
            (Form::Text(_), _) => from.text(seen),
            (Form::List(..), _) => from.list::<Value>(seen),
            (Form::Tuple(parts), _) => {
                let count = parts.len();
                from.begin(None);
                from.tuple(seen, &READS[..count], gather)
            }
            (Form::Data(_, _, variants), Seen::Ctor(ctor)) => {
                let number = from.variant(seen)?;
                let count = variants.get(number).map_or(0, |variant| variant.fields.len());
                from.begin(Some(ctor));
                from.fields(number, &vec![Value::take as Read; count], gather)
            }
            (Form::Any(text, list), _) => take_as_it_is(seen, from, *text, *list),
            _ => Err(from.misfit(seen)),
        }
    }

    fn unpack(slot: Slot) -> Option<Value> {
        slot.value()
    }
}

/// Makes a tuple, or a value of a data type, of the values behind the last beginning of one.
fn gather(slots: &mut Slots) -> Option<()> {
    let (ctor, parts) = slots.since_beginning::<Value>()?;
    slots.push(match ctor {
        Some(ctor) => Value::Data(ctor, parts),
        None => Value::Tuple(parts),
    })
}

/// Makes a tuple of the two values behind the last beginning; what is a tuple in the last place is the rest of it, as it is for Bend.
fn gather_pair(slots: &mut Slots) -> Option<()> {
    let (_, mut parts) = slots.since_beginning::<Value>()?;
    if let Some(Value::Tuple(rest)) = parts.last_mut() {
        let rest = std::mem::take(rest);
        parts.pop();
        parts.extend(rest);
    }
    slots.push(Value::Tuple(parts))
}

/// Takes what has come, where its type is not known.
fn take_as_it_is(seen: Seen, from: &mut Taker<'_>, text: Option<Chain>, list: Option<Chain>) -> Result<(), Misfit> {
    let is_of = |chain: Option<Chain>, ctor| chain.is_some_and(|chain| [chain.cons, chain.nil].contains(&ctor));
    match seen {
        Seen::Number(number) => from.number(number),
        Seen::Era => from.done(Value::None),
        Seen::Function => Err(from.misfit(seen)),
        Seen::Pair => {
            from.begin(None);
            from.untyped_parts(&READS[..2], gather_pair)
        }
        Seen::Ctor(ctor) if is_of(text, ctor) => from.text(seen),
        Seen::Ctor(ctor) if is_of(list, ctor) => from.list::<Value>(seen),
        Seen::Ctor(ctor) => {
            from.begin(Some(ctor));
            let count = from.field_count(ctor);
            from.untyped_parts(&vec![Value::take as Read; count], gather)
        }
    }
}

impl Value {
    /// Gives it where its type is not known.
    fn give_as_it_is<'a>(&'a self, to: &mut Giver<'a>, text: Option<Chain>, list: Option<Chain>) -> Result<(), Misfit> {
        match self {
            Value::None => to.era(),
            Value::Integer(value) => match (u32::try_from(*value), i32::try_from(*value)) {
                (Ok(value), _) if value < 1 << 24 => to.untyped_number(Num::U24(value)),
                (_, Ok(value)) if (-(1 << 23)..0).contains(&value) => to.untyped_number(Num::I24(value)),
                _ => Err(Misfit(format!("{value} has more than the 24 bits of a number without a type"))),
            },
            Value::Float(value) => to.untyped_number(Num::f24(*value as f32)),
            Value::Text(value) => {
                let chain = text.ok_or_else(|| self.unwanted(to))?;
                to.untyped_text(value, chain)
            }
            Value::List(items) => {
                let chain = list.ok_or_else(|| self.unwanted(to))?;
                to.untyped_list(items, chain)
            }
            Value::Tuple(parts) => to.untyped_parts(parts, None),
            Value::Data(ctor, fields) => to.untyped_parts(fields, Some(*ctor)),
        }
    }

    /// That something else is wanted in its place.
    fn unwanted(&self, to: &Giver<'_>) -> Misfit {
        Misfit(format!("{} stands where `{}` is wanted", self.what(), to.wanted()))
    }
}

impl Program {
    /// A function of the program for such values; its types are the function's own, and where these are open, those of the values. Calls are given
    /// values of the same types: see [`types_of`](Self::types_of).
    ///
    /// # Errors
    /// If the program has errors or no such function, if a type is not known, or if it cannot be run as the options say.
    pub fn dynamic_function(
        &self,
        name: &str,
        arguments: &[Type],
        options: &RunOptions,
    ) -> Result<Function<Values, Value>, Error> {
        self.function_of_types(name, arguments, options)
    }

    /// The types of a function's arguments where it is given these.
    ///
    /// # Errors
    /// If the program has errors or no such function, or if the function takes another number of arguments.
    pub fn types_of(&self, name: &str, values: &[Value]) -> Result<Vec<Type>, Error> {
        let program = self.core_program()?;
        let found = crate::stack::on_big_stack(|| {
            let def = super::function::found(program, name)?;
            let scheme = &program.defs[def].ty;
            let mut open = Open { program, bound: vec![None; scheme.params.len()] };
            let (mut ty, mut types) = (&scheme.ty, vec![]);
            for value in values {
                let Type::Arrow(given, rest) = ty else {
                    return Err(super::function::miscounted(program, def, values.len()));
                };
                types.push(open.seen(given, value));
                ty = rest;
            }
            match ty {
                Type::Arrow(..) => Err(super::function::miscounted(program, def, values.len())),
                Type::Any | Type::Hole | Type::Var(_) | Type::Param(_) | Type::None => Ok(types),
                Type::Num(_) | Type::Data(..) | Type::Tuple(_) => Ok(types),
            }
        });
        found.map_err(|diagnostic| Error::new(self.report().sources, vec![diagnostic]))
    }
}

/// A function of a program, for people.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Its name.
    pub name: String,
    /// Its type, as Bend writes it.
    pub ty: String,
}

/// A constructor of a data type.
#[derive(Clone, Debug)]
pub struct Constructor {
    /// By which values are known.
    pub ctor: CtorId,
    /// Its full name: `Tree/Node`.
    pub name: String,
    /// The names of its fields, in order.
    pub fields: Vec<String>,
}

impl Program {
    /// The functions of the program's own files.
    ///
    /// # Errors
    /// If the program has errors.
    pub fn signatures(&self) -> Result<Vec<Signature>, Error> {
        let program = self.core_program()?;
        let own = program.defs.iter().filter(|def| def.origin == Origin::User);
        let signature = |def: &term::Def| Signature { name: def.name.to_string(), ty: show_scheme(program, &def.ty) };
        Ok(own.map(signature).collect())
    }

    /// All constructors of all data types, the prelude's included.
    ///
    /// # Errors
    /// If the program has errors.
    pub fn constructors(&self) -> Result<Vec<Constructor>, Error> {
        let program = self.core_program()?;
        let of = |ctor: CtorId| {
            let own = &program.ctors[ctor];
            let fields = own.fields.iter().map(|field| field.name.to_string()).collect();
            Constructor { ctor, name: own.name.to_string(), fields }
        };
        Ok(program.ctors.ids().map(of).collect())
    }
}

/// Types that values decide.
struct Open<'p> {
    program: &'p term::Program,
    bound: Vec<Option<Type>>,
}

impl Open<'_> {
    /// A type, with what a value says of what is left open.
    fn seen(&mut self, ty: &Type, value: &Value) -> Type {
        match (ty, value) {
            (Type::Param(number), _) => {
                let known = self.bound.get(*number as usize).cloned().flatten();
                let ty = known.unwrap_or_else(|| self.own(value));
                if let Some(bound) = self.bound.get_mut(*number as usize) {
                    bound.get_or_insert(ty.clone());
                }
                ty
            }
            (Type::Any | Type::Hole | Type::Var(_), _) => self.own(value),
            (Type::Tuple(types), Value::Tuple(parts)) if types.len() == parts.len() => {
                Type::Tuple(types.iter().zip(parts).map(|(ty, part)| self.seen(ty, part)).collect())
            }
            (Type::Data(id, arguments), Value::List(items)) if arguments.len() == 1 => {
                let item = items.first().map_or(Type::Num(NumKind::U24), |first| self.seen(&arguments[0], first));
                Type::Data(*id, vec![item])
            }
            (Type::Data(id, arguments), Value::Data(ctor, fields)) if !arguments.is_empty() => {
                let own = self.arguments(*ctor, fields);
                let each = |(argument, own): (&Type, &Type)| match argument {
                    Type::Param(number) => {
                        let bound = self.bound.get_mut(*number as usize);
                        bound.map_or_else(|| own.clone(), |bound| bound.get_or_insert(own.clone()).clone())
                    }
                    Type::Any | Type::Hole | Type::Var(_) => own.clone(),
                    Type::None | Type::Num(_) | Type::Data(..) | Type::Tuple(_) | Type::Arrow(..) => argument.clone(),
                };
                Type::Data(*id, arguments.iter().zip(&own).map(each).collect())
            }
            (Type::None | Type::Num(_) | Type::Data(..) | Type::Tuple(_) | Type::Arrow(..), _) => ty.clone(),
        }
    }

    /// The type of a value by itself.
    fn own(&mut self, value: &Value) -> Type {
        let known = &self.program.known;
        let of = |ctor: Option<CtorId>, arguments| match ctor {
            Some(ctor) => Type::Data(self.program.ctors[ctor].ty, arguments),
            None => Type::Any,
        };
        match value {
            Value::None => Type::None,
            Value::Integer(value) if *value < 0 => Type::Num(NumKind::I24),
            Value::Integer(_) => Type::Num(NumKind::U24),
            Value::Float(_) => Type::Num(NumKind::F24),
            Value::Text(_) => of(known.string_cons, vec![]),
            Value::List(items) => {
                let cons = known.list_cons;
                let item = items.first().map_or(Type::Num(NumKind::U24), |first| self.own(first));
                cons.map_or(Type::Any, |cons| Type::Data(self.program.ctors[cons].ty, vec![item]))
            }
            Value::Tuple(parts) => Type::Tuple(parts.iter().map(|part| self.own(part)).collect()),
            Value::Data(ctor, fields) => Type::Data(self.program.ctors[*ctor].ty, self.arguments(*ctor, fields)),
        }
    }

    /// The arguments of a data type, as the fields of one of its values say; `u24` where they say nothing, so no value can be there.
    fn arguments(&self, ctor: CtorId, fields: &[Value]) -> Vec<Type> {
        let ctor = &self.program.ctors[ctor];
        let count = self.program.types[ctor.ty].vars.len();
        let mut open = Open { program: self.program, bound: vec![None; count] };
        for (field, value) in ctor.fields.iter().zip(fields) {
            if open.bound.iter().all(Option::is_some) {
                break;
            }
            open.seen(&field.ty, value);
        }
        open.bound.into_iter().map(|bound| bound.unwrap_or(Type::Num(NumKind::U24))).collect()
    }
}

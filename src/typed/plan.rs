//! What Rust types are in a program: found when a function is looked up, and followed by each of its calls.
//!
//! Each pair of a Rust type and a Bend type that stand for each other has a [`Plan`]; a type that contains itself has a plan that refers
//! to itself. Type variables of the function become what the first Rust type that meets them is.

use super::bend::Bend;
use super::names::rust_name;
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_base::name::Name;
use girih_base::num::NumKind;
use girih_base::plural::counted;
use girih_term::print::show_scheme;
use girih_term::ty::{Scheme, Type};
use girih_term::{CtorId, Program, TypeId};
use std::any::TypeId as RustId;
use std::collections::HashMap;

index_type! {
    /// A Rust type as a Bend type.
    pub struct PlanId;
}

/// How values of a Rust type stand for values of a Bend type.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The Bend type.
    pub ty: Type,
    /// The same, as it is written.
    pub bend: String,
    /// How the Rust type is written.
    pub rust: String,
    pub form: Form,
}

/// What values are made of; made by a [`Planner`].
#[derive(Clone, Debug)]
pub struct Shape(Form);

#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// Not known yet: the type is still being looked at.
    Open,
    Number(NumKind),
    /// `*`.
    Era,
    Text(Chain),
    List(Chain, PlanId),
    Tuple(Vec<PlanId>),
    /// Whatever comes, as the program's own values are: texts, lists, tuples, data.
    Any(Option<Chain>, Option<Chain>),
    /// In the order of the variants in Rust.
    Data(TypeId, Vec<Type>, Vec<Variant>),
}

/// The constructors of lists, or of strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    pub cons: CtorId,
    pub nil: CtorId,
}

/// A constructor, and for each of its fields the number of the field in Rust and its plan.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub ctor: CtorId,
    pub fields: Vec<(usize, PlanId)>,
}

impl Variant {
    /// Whether the fields stand in the same order in Rust.
    pub fn is_in_order(&self) -> bool {
        self.fields.iter().enumerate().all(|(position, (field, _))| position == *field)
    }
}

/// A Rust type and a Bend type that do not stand for each other, and why.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The Rust type.
    pub rust: String,
    /// The Bend type.
    pub bend: String,
    /// Why; may be empty.
    pub why: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let colon = if self.why.is_empty() { "" } else { ": " };
        write!(f, "`{}` does not fit `{}`{colon}{}", self.rust, self.bend, self.why)
    }
}

/// A variant of a Rust type, as [`Planner::data`] is told of it.
pub struct VariantOf {
    /// The constructor's name without its type's; none if it is the only one, whatever its name.
    pub name: Option<&'static str>,
    /// Its fields, in the order of Rust.
    pub fields: Vec<FieldOf>,
}

/// A field of such a variant.
pub struct FieldOf {
    /// Its name in Bend; none if only its position counts.
    pub name: Option<&'static str>,
    plan: fn(&mut Planner<'_>, &Type) -> Result<PlanId, Mismatch>,
}

impl FieldOf {
    /// A field with a name.
    pub fn named<T: Bend>(name: &'static str) -> FieldOf {
        FieldOf { name: Some(name), plan: |planner, ty| planner.plan::<T>(ty) }
    }

    pub(crate) fn plan(&self, planner: &mut Planner<'_>, ty: &Type) -> Result<PlanId, Mismatch> {
        (self.plan)(planner, ty)
    }

    /// A field that has its position alone.
    pub fn unnamed<T: Bend>() -> FieldOf {
        FieldOf { name: None, plan: |planner, ty| planner.plan::<T>(ty) }
    }
}

/// Finds plans.
pub struct Planner<'p> {
    program: &'p Program,
    plans: IndexVec<PlanId, Plan>,
    found: HashMap<(RustId, Type), PlanId>,
    /// What the type variables are.
    bound: Vec<Option<Type>>,
    /// What the function's own are called.
    names: Vec<Name>,
}

impl<'p> Planner<'p> {
    pub(crate) fn new(program: &'p Program, scheme: &Scheme) -> Planner<'p> {
        let (bound, names) = (vec![None; scheme.params.len()], scheme.params.clone());
        Planner { program, plans: IndexVec::new(), found: HashMap::new(), bound, names }
    }

    /// All plans, whose types have no variables any more.
    pub(crate) fn finish(mut self) -> IndexVec<PlanId, Plan> {
        let types: Vec<Type> = self.plans.iter().map(|plan| self.closed(&plan.ty)).collect();
        for (plan, ty) in self.plans.iter_mut().zip(types) {
            plan.ty = ty;
        }
        self.plans
    }

    /// The plan of a Rust type that is to stand for a Bend type.
    ///
    /// # Errors
    /// If it does not.
    pub fn plan<T: Bend>(&mut self, ty: &Type) -> Result<PlanId, Mismatch> {
        let mut ty = ty;
        let known;
        let mut free = None;
        match ty {
            Type::Param(number) => match self.bound.get(*number as usize) {
                Some(Some(found)) => {
                    known = found.clone();
                    ty = &known;
                }
                Some(None) => (free, ty) = (Some(*number as usize), &Type::Any),
                None => ty = &Type::Any,
            },
            Type::Hole | Type::Var(_) => ty = &Type::Any,
            Type::Any | Type::None | Type::Num(_) | Type::Data(..) | Type::Tuple(_) | Type::Arrow(..) => {}
        }
        let plan = self.plan_of::<T>(ty)?;
        if let Some(variable) = free {
            self.bound[variable] = Some(self.plans[plan].ty.clone());
        }
        Ok(plan)
    }

    fn plan_of<T: Bend>(&mut self, ty: &Type) -> Result<PlanId, Mismatch> {
        let key = (RustId::of::<T>(), ty.clone());
        if let Some(found) = self.found.get(&key) {
            return Ok(*found);
        }
        let plan = Plan { ty: ty.clone(), bend: self.show(ty), rust: rust_name::<T>(), form: Form::Open };
        let id = self.plans.push(plan);
        // Before its parts, which may be of the same type.
        self.found.insert(key, id);
        let Shape(form) = T::shape(ty, self)?;
        let ty = self.type_of(&form);
        let bend = self.show(&ty);
        let plan = &mut self.plans[id];
        (plan.ty, plan.bend, plan.form) = (ty, bend, form);
        Ok(id)
    }

    /// A number of one of these kinds, the first one where any would do.
    ///
    /// # Errors
    /// If the type is another one. So with the methods below.
    pub fn number<T: Bend>(&mut self, ty: &Type, kinds: &[NumKind]) -> Result<Shape, Mismatch> {
        match (ty, kinds) {
            (Type::Num(kind), _) if kinds.contains(kind) => Ok(Shape(Form::Number(*kind))),
            (Type::Any, [kind, ..]) => Ok(Shape(Form::Number(*kind))),
            _ => Err(self.mismatch::<T>(ty, "")),
        }
    }

    /// `*`.
    pub fn era<T: Bend>(&mut self, ty: &Type) -> Result<Shape, Mismatch> {
        match ty {
            Type::None | Type::Any => Ok(Shape(Form::Era)),
            _ => Err(self.mismatch::<T>(ty, "")),
        }
    }

    /// Text.
    pub fn text<T: Bend>(&mut self, ty: &Type) -> Result<Shape, Mismatch> {
        let known = &self.program.known;
        let (Some(cons), Some(nil)) = (known.string_cons, known.string_nil) else {
            return Err(self.mismatch::<T>(ty, "the program has no strings"));
        };
        match ty {
            Type::Any => Ok(Shape(Form::Text(Chain { cons, nil }))),
            Type::Data(id, _) if *id == self.program.ctors[cons].ty => Ok(Shape(Form::Text(Chain { cons, nil }))),
            _ => Err(self.mismatch::<T>(ty, "")),
        }
    }

    /// A list of items of a Rust type.
    pub fn list<T: Bend, Item: Bend>(&mut self, ty: &Type) -> Result<Shape, Mismatch> {
        let known = &self.program.known;
        let (Some(cons), Some(nil)) = (known.list_cons, known.list_nil) else {
            return Err(self.mismatch::<T>(ty, "the program has no lists"));
        };
        let item = match ty {
            Type::Any => self.fresh(),
            Type::Data(id, items) if *id == self.program.ctors[cons].ty => items.first().cloned().unwrap_or(Type::Any),
            _ => return Err(self.mismatch::<T>(ty, "")),
        };
        let item = self.plan::<Item>(&item)?;
        Ok(Shape(Form::List(Chain { cons, nil }, item)))
    }

    /// A tuple of these parts.
    pub fn tuple<T: Bend>(&mut self, ty: &Type, parts: &[FieldOf]) -> Result<Shape, Mismatch> {
        let types = match ty {
            Type::Any => vec![Type::Any; parts.len()],
            Type::Tuple(types) if types.len() == parts.len() => types.clone(),
            _ => return Err(self.mismatch::<T>(ty, "")),
        };
        let plans = parts.iter().zip(&types).map(|(part, ty)| (part.plan)(self, ty));
        Ok(Shape(Form::Tuple(plans.collect::<Result<_, _>>()?)))
    }

    /// A data type of this name, with all its constructors: these.
    pub fn data<T: Bend>(&mut self, ty: &Type, name: &str, variants: &[VariantOf]) -> Result<Shape, Mismatch> {
        let program = self.program;
        let full = |id: TypeId| program.types[id].name.as_str();
        let is_named =
            |id: TypeId| full(id) == name || full(id).strip_suffix(name).is_some_and(|before| before.ends_with('/'));
        let (id, arguments) = match ty {
            Type::Any => {
                let all: Vec<TypeId> = program.types.ids().filter(|id| is_named(*id)).collect();
                // A full name is that of one type, even if others end with it.
                let id = match (all.iter().find(|id| full(**id) == name), &all[..]) {
                    (Some(id), _) | (None, [id]) => *id,
                    (None, []) => return Err(self.mismatch::<T>(ty, &format!("the program has no type `{name}`"))),
                    (None, several) => {
                        let list: Vec<String> = several.iter().map(|id| format!("`{}`", full(*id))).collect();
                        let why = format!(
                            "several types are called `{name}`: {}; write the full name: `#[bend(name = \"{}\")]`",
                            list.join(", "),
                            full(several[0])
                        );
                        return Err(self.mismatch::<T>(ty, &why));
                    }
                };
                (id, program.types[id].vars.iter().map(|_| self.fresh()).collect())
            }
            Type::Data(id, arguments) if is_named(*id) => (*id, arguments.clone()),
            Type::Data(..) => {
                let why = format!("it stands for the type `{name}`; `#[bend(name = \"..\")]` names another one");
                return Err(self.mismatch::<T>(ty, &why));
            }
            _ => return Err(self.mismatch::<T>(ty, "")),
        };
        let all = &program.types[id].ctors;
        let last = |ctor: CtorId| program.ctors[ctor].name.as_str().rsplit('/').next().unwrap_or_default();
        let mut planned: Vec<Variant> = vec![];
        for variant in variants {
            let found = match (variant.name, &all[..]) {
                (None, [only]) => Some(*only),
                (None, _) => {
                    let why = format!("a struct has one constructor, and `{name}` has {}", all.len());
                    return Err(self.mismatch::<T>(ty, &why));
                }
                (Some(name), _) => all.iter().copied().find(|ctor| last(*ctor) == name),
            };
            let Some(ctor) = found else {
                let why = format!("it has no constructor `{}`", variant.name.unwrap_or_default());
                return Err(self.mismatch::<T>(ty, &why));
            };
            if planned.iter().any(|before| before.ctor == ctor) {
                let why = format!("two variants in Rust are `{}`", program.ctors[ctor].name);
                return Err(self.mismatch::<T>(ty, &why));
            }
            planned.push(Variant { ctor, fields: self.fields::<T>(ty, ctor, &arguments, &variant.fields)? });
        }
        if let Some(missing) = all.iter().find(|ctor| planned.iter().all(|variant| variant.ctor != **ctor)) {
            return Err(self.mismatch::<T>(ty, &format!("`{}` is no variant in Rust", program.ctors[*missing].name)));
        }
        Ok(Shape(Form::Data(id, arguments, planned)))
    }

    /// What the variables of a type are where it is this one.
    pub(super) fn bind(&mut self, ty: &Type, own: &Type) {
        let mut waiting = vec![(ty, own)];
        while let Some(pair) = waiting.pop() {
            match pair {
                (Type::Param(number), own) => {
                    if let Some(bound) = self.bound.get_mut(*number as usize) {
                        bound.get_or_insert(own.clone());
                    }
                }
                (Type::Data(_, types), Type::Data(_, owns)) | (Type::Tuple(types), Type::Tuple(owns)) => {
                    waiting.extend(types.iter().zip(owns));
                }
                _others_have_no_variables => {}
            }
        }
    }

    /// A type with what its variables are; those of which nothing is known are `u24`, for no value can be of them.
    pub(super) fn bound_in(&self, ty: &Type) -> Type {
        let types: Vec<Type> = self.bound.iter().map(|ty| ty.clone().unwrap_or(Type::Num(NumKind::U24))).collect();
        ty.with(&types)
    }

    /// Whatever comes.
    pub(super) fn any(&self) -> Shape {
        let known = &self.program.known;
        let chain = |cons: Option<CtorId>, nil: Option<CtorId>| Some(Chain { cons: cons?, nil: nil? });
        Shape(Form::Any(chain(known.string_cons, known.string_nil), chain(known.list_cons, known.list_nil)))
    }

    /// Whether a type is that of lists.
    pub(super) fn is_list(&self, ty: &Type) -> bool {
        let list = self.program.known.list_cons.map(|cons| self.program.ctors[cons].ty);
        matches!(ty, Type::Data(id, _) if Some(*id) == list)
    }

    /// A data type with all its constructors, whatever they are called.
    pub(super) fn all_of_data<T: Bend>(&mut self, ty: &Type) -> Result<Shape, Mismatch> {
        let Type::Data(id, arguments) = ty else { return Err(self.mismatch::<T>(ty, "")) };
        let program = self.program;
        let mut variants = vec![];
        for ctor in &program.types[*id].ctors {
            let fields: Vec<FieldOf> = program.ctors[*ctor].fields.iter().map(|_| FieldOf::unnamed::<T>()).collect();
            variants.push(Variant { ctor: *ctor, fields: self.fields::<T>(ty, *ctor, arguments, &fields)? });
        }
        Ok(Shape(Form::Data(*id, arguments.clone(), variants)))
    }

    /// The fields of a constructor, each with its number in Rust.
    fn fields<T: Bend>(
        &mut self,
        ty: &Type,
        ctor: CtorId,
        arguments: &[Type],
        fields: &[FieldOf],
    ) -> Result<Vec<(usize, PlanId)>, Mismatch> {
        let ctor = &self.program.ctors[ctor];
        if fields.len() != ctor.fields.len() {
            let own = counted(ctor.fields.len(), "field");
            let why = format!("`{}` has {own}, and in Rust {}", ctor.name, fields.len());
            return Err(self.mismatch::<T>(ty, &why));
        }
        let mut found = vec![];
        for (position, field) in ctor.fields.iter().enumerate() {
            let is_it = |(number, own): (usize, &FieldOf)| match own.name {
                Some(name) => field.name == name,
                None => number == position,
            };
            let Some(number) = fields.iter().enumerate().position(is_it) else {
                let why = format!("the field `{}` of `{}` is not there in Rust", field.name, ctor.name);
                return Err(self.mismatch::<T>(ty, &why));
            };
            let plan = (fields[number].plan)(self, &field.ty.with(arguments)).map_err(|inner| {
                self.mismatch::<T>(ty, &format!("in the field `{}` of `{}`, {inner}", field.name, ctor.name))
            })?;
            found.push((number, plan));
        }
        Ok(found)
    }

    /// That a Rust type does not stand for a Bend type.
    pub fn mismatch<T: Bend>(&self, ty: &Type, why: &str) -> Mismatch {
        Mismatch { rust: rust_name::<T>(), bend: self.show(ty), why: why.to_owned() }
    }

    /// A type that can still be anything.
    fn fresh(&mut self) -> Type {
        self.bound.push(None);
        Type::Param(self.bound.len() as u32 - 1)
    }

    fn type_of(&self, form: &Form) -> Type {
        match form {
            Form::Open | Form::Any(..) => Type::Any,
            Form::Number(kind) => Type::Num(*kind),
            Form::Era => Type::None,
            Form::Text(chain) => Type::Data(self.program.ctors[chain.cons].ty, vec![]),
            Form::List(chain, item) => {
                Type::Data(self.program.ctors[chain.cons].ty, vec![self.plans[*item].ty.clone()])
            }
            Form::Tuple(parts) => Type::Tuple(parts.iter().map(|part| self.plans[*part].ty.clone()).collect()),
            Form::Data(id, arguments, _) => Type::Data(*id, arguments.clone()),
        }
    }

    /// The type with what is known of its variables; those of which nothing is known can be anything.
    fn closed(&self, ty: &Type) -> Type {
        let all = |types: &[Type]| types.iter().map(|ty| self.closed(ty)).collect();
        match ty {
            // What a variable is may have variables of its own, but never itself.
            Type::Param(number) => match self.bound.get(*number as usize) {
                Some(Some(found)) => self.closed(found),
                Some(None) | None => Type::Any,
            },
            Type::Any | Type::Hole | Type::Var(_) => Type::Any,
            Type::None | Type::Num(_) => ty.clone(),
            Type::Data(id, arguments) => Type::Data(*id, all(arguments)),
            Type::Tuple(parts) => Type::Tuple(all(parts)),
            Type::Arrow(from, to) => Type::Arrow(Box::new(self.closed(from)), Box::new(self.closed(to))),
        }
    }

    /// A type as it is written, with what is known of its variables.
    fn show(&self, ty: &Type) -> String {
        let known = |(number, bound): (u32, &Option<Type>)| bound.clone().unwrap_or(Type::Param(number));
        let known: Vec<Type> = (0..).zip(&self.bound).map(known).collect();
        show_scheme(self.program, &Scheme { params: self.names.clone(), ty: ty.with(&known) })
    }
}

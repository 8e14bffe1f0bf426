//! Annotations to types. Names that no type has are type variables of the annotation they stand in; those of a data type
//! are declared.

use super::uses::Target;
use super::{Declared, Lowering, Place};
use crate::ast::{FunDef, Ident, ImpDef, Item, Param, TypeDef, TypeExpr, TypeKind};
use crate::habits;
use crate::modules::ModuleId;
use girih_base::diag::{Code, Diagnostic, did_you_mean};
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::ty::{Scheme, Type};
use girih_term::{CtorId, FieldInfo, TypeId};
use std::collections::{HashMap, HashSet};

/// The type variables of an annotation.
struct Variables {
    names: Vec<Name>,
    /// Where each name stands among them; of two that are alike the first counts.
    places: HashMap<Name, u32>,
    unknown: Unknown,
}

impl Variables {
    fn new(names: Vec<Name>, unknown: Unknown) -> Variables {
        let mut places = HashMap::new();
        for (name, place) in names.iter().zip(0..) {
            places.entry(name.clone()).or_insert(place);
        }
        Variables { names, places, unknown }
    }

    fn find(&self, name: &Name) -> Option<Type> {
        self.places.get(name).map(|place| Type::Param(*place))
    }

    fn add(&mut self, name: &Name) -> Type {
        let place = self.names.len() as u32;
        self.names.push(name.clone());
        self.places.insert(name.clone(), place);
        Type::Param(place)
    }
}

/// What a name becomes that no type and no variable has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    /// An error: the variables of a data type are declared.
    Error,
    /// A new variable.
    Variable,
    /// To be inferred: it may be a variable of the function around.
    Hole,
}

impl Lowering<'_> {
    /// Reads the fields of all data types and the annotations of all definitions.
    pub(super) fn read_types(&mut self, declared: &[Declared<'_>]) {
        for Declared { module, item, place } in declared {
            match (item, place) {
                (Item::Type(item), Place::Type(ty)) => self.read_fields(*module, item, *ty),
                (Item::Def(item), Place::Def(def)) => self.program.defs[*def].ty = self.imp_type(*module, item),
                (Item::Equations(item), Place::Def(def)) => self.program.defs[*def].ty = self.fun_type(*module, item),
                (Item::Hvm(item), Place::Def(def)) => {
                    self.program.defs[*def].ty = self.scheme(*module, [], item.ty.as_ref());
                }
                (Item::Import(_), _) | (Item::Type(_), _) | (_, Place::Type(_)) => {}
            }
        }
    }

    fn read_fields(&mut self, module: ModuleId, item: &TypeDef, ty: TypeId) {
        let mut vars = Variables::new(self.program.types[ty].vars.clone(), Unknown::Error);
        let by_place: HashMap<Span, CtorId> =
            self.program.types[ty].ctors.iter().map(|id| (self.program.ctors[*id].span, *id)).collect();
        for ctor in &item.ctors {
            let Some(&id) = by_place.get(&ctor.name.span) else { continue };
            let mut fields: Vec<FieldInfo> = vec![];
            let mut names: HashSet<&Name> = HashSet::new();
            for (index, field) in ctor.fields.iter().enumerate() {
                self.uses.note(field.name.span, Target::Field(id, index));
                if !names.insert(&field.name.node) {
                    let message = format!("the field `{}` appears twice in `{}`", field.name.node, ctor.name.node);
                    self.error(Code::DuplicateField, field.name.span, message);
                }
                let ty = field.ty.as_ref().map_or(Type::Any, |ty| self.type_of(module, ty, &mut vars));
                fields.push(FieldInfo { name: field.name.node.clone(), ty, recursive: field.recursive });
            }
            self.program.ctors[id].fields = fields;
        }
    }

    fn imp_type(&mut self, module: ModuleId, def: &ImpDef) -> Scheme {
        self.scheme(module, def.params.iter(), def.ret.as_ref())
    }

    fn fun_type(&mut self, module: ModuleId, def: &FunDef) -> Scheme {
        match &def.signature {
            Some(signature) => self.scheme(module, signature.params.iter(), Some(&signature.ty)),
            None => Scheme::mono(Type::Any),
        }
    }

    /// The type of a function inside another one, after its captured parameters; what is not annotated is to be inferred.
    pub(super) fn local_type(
        &mut self,
        module: ModuleId,
        captured: usize,
        params: &[Param],
        ret: Option<&TypeExpr>,
    ) -> Scheme {
        let mut vars = Variables::new(vec![], Unknown::Hole);
        let mut read = |ty: Option<&TypeExpr>| ty.map_or(Type::Hole, |ty| self.type_of(module, ty, &mut vars));
        let params: Vec<Type> = params.iter().map(|p| read(p.ty.as_ref())).collect();
        let ret = read(ret);
        let captured = std::iter::repeat_n(Type::Hole, captured);
        Scheme::mono(Type::function(captured.chain(params).collect::<Vec<_>>(), ret))
    }

    /// The type of a function with these parameters; what is not annotated is `Any`.
    fn scheme<'p>(
        &mut self,
        module: ModuleId,
        params: impl IntoIterator<Item = &'p Param>,
        ret: Option<&TypeExpr>,
    ) -> Scheme {
        let mut vars = Variables::new(vec![], Unknown::Variable);
        let mut read = |ty: Option<&TypeExpr>| ty.map_or(Type::Any, |ty| self.type_of(module, ty, &mut vars));
        let params: Vec<Type> = params.into_iter().map(|p| read(p.ty.as_ref())).collect();
        let ret = read(ret);
        Scheme { params: vars.names, ty: Type::function(params, ret) }
    }

    fn type_of(&mut self, module: ModuleId, ty: &TypeExpr, vars: &mut Variables) -> Type {
        match &ty.node {
            TypeKind::Any => Type::Any,
            TypeKind::Hole => Type::Hole,
            TypeKind::None => Type::None,
            TypeKind::Number(kind) => Type::Num(*kind),
            TypeKind::Name(name) => self.named_type(module, name, ty.span, vars),
            TypeKind::Apply(name, args) => self.applied_type(module, name, args, vars),
            TypeKind::Tuple(parts) => Type::Tuple(parts.iter().map(|p| self.type_of(module, p, vars)).collect()),
            TypeKind::Arrow(from, to) => {
                let from = self.type_of(module, from, vars);
                Type::Arrow(Box::new(from), Box::new(self.type_of(module, to, vars)))
            }
        }
    }

    pub(super) fn find_type(&self, module: ModuleId, name: &Name) -> Option<TypeId> {
        self.scopes[module].types.get(name).or_else(|| self.prelude.types.get(name)).copied()
    }

    /// A variable, or a type without arguments. A declared variable hides a type of its name.
    fn named_type(&mut self, module: ModuleId, name: &Name, span: Span, vars: &mut Variables) -> Type {
        if vars.unknown == Unknown::Error
            && let Some(variable) = vars.find(name)
        {
            return variable;
        }
        if let Some(ty) = self.find_type(module, name) {
            self.uses.note(span, Target::Type(ty));
            let expected = self.program.types[ty].vars.len();
            if expected > 0 {
                self.wrong_arity(ty, name, span, 0);
            }
            return Type::Data(ty, (0..expected).map(|_| Type::Any).collect());
        }
        if let Some(variable) = vars.find(name) {
            return variable;
        }
        match vars.unknown {
            Unknown::Variable => vars.add(name),
            Unknown::Hole => Type::Hole,
            Unknown::Error => {
                self.unknown_type(module, name, span);
                Type::Any
            }
        }
    }

    fn applied_type(&mut self, module: ModuleId, name: &Ident, args: &[TypeExpr], vars: &mut Variables) -> Type {
        let mut args: Vec<Type> = args.iter().map(|arg| self.type_of(module, arg, vars)).collect();
        let Some(ty) = self.find_type(module, &name.node) else {
            self.unknown_type(module, &name.node, name.span);
            return Type::Any;
        };
        self.uses.note(name.span, Target::Type(ty));
        let expected = self.program.types[ty].vars.len();
        if args.len() != expected {
            self.wrong_arity(ty, &name.node, name.span, args.len());
            args.resize(expected, Type::Any);
        }
        Type::Data(ty, args)
    }

    fn wrong_arity(&mut self, ty: TypeId, name: &Name, span: Span, found: usize) {
        let vars: Vec<&str> = self.program.types[ty].vars.iter().map(Name::as_str).collect();
        let expected = vars.len();
        let plural = if expected == 1 { "argument" } else { "arguments" };
        let message = format!("the type `{name}` takes {expected} {plural}, not {found}");
        let hint =
            if vars.is_empty() { format!("write `{name}`") } else { format!("write `{name}({})`", vars.join(", ")) };
        self.report(Diagnostic::new(Code::TypeArity, span, message).hint(hint));
    }

    fn unknown_type(&mut self, module: ModuleId, name: &Name, span: Span) {
        let hint = "type variables of a `type` are declared after its name: `type Box(T): …`";
        self.report_unknown_type(module, name, span, Some(hint));
    }

    /// `hint` says what to do where no type has a similar name.
    pub(super) fn report_unknown_type(&mut self, module: ModuleId, name: &Name, span: Span, hint: Option<&str>) {
        let mut diagnostic = Diagnostic::new(Code::UnboundType, span, format!("there is no type `{name}`"));
        let may_search = self.may_search();
        let known = self.scopes[module].types.keys().chain(self.prelude.types.keys());
        let builtin = ["u24", "i24", "f24", "u32", "i32", "f32", "Any", "None"];
        let near = if may_search { did_you_mean(name, known.map(Name::as_str).chain(builtin)) } else { None };
        diagnostic = match (habits::hint(habits::TYPES, name), near) {
            (Some(habit), _) => diagnostic.hint(habit),
            (None, Some(near)) => diagnostic.hint(format!("there is `{near}`")).fix(span, near),
            (None, None) => hint.into_iter().fold(diagnostic, Diagnostic::hint),
        };
        self.report(diagnostic);
    }
}

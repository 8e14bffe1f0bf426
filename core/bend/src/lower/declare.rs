//! Gives every type, constructor and definition its place in the program, and fills the scopes of the modules.

use super::uses::Target;
use super::{Declared, Entity, Lowering, Place, Scope};
use crate::ast::{Check, FunBody, FunDef, Ident, ImpDef, Item, Pattern, PatternKind, TypeDef};
use crate::modules::{Bound, ModuleId, Role};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::Idx;
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::ty::{Scheme, Type};
use girih_term::{Body, Ctor, CtorId, DataType, Def, DefId, Known, Origin, Term, TermKind, TypeId};
use std::collections::BTreeSet;

impl<'a> Lowering<'a> {
    /// Declares all items. The prelude comes first, so that programs are told when they define one of its names.
    pub(super) fn declare(&mut self) -> Vec<Declared<'a>> {
        let modules = self.modules;
        let is_prelude = |id: &ModuleId| modules[*id].is_prelude();
        let mut declared = vec![];
        for id in modules.ids().filter(is_prelude).chain(modules.ids().filter(|id| !is_prelude(id))) {
            for item in &modules[id].module.items {
                self.declare_item(id, item, &mut declared);
            }
        }
        self.program.known = self.known();
        for id in modules.ids() {
            self.bind_imports(id);
        }
        for id in modules.ids() {
            self.bind_full_names(id);
        }
        declared
    }

    fn declare_item(&mut self, module: ModuleId, item: &'a Item, declared: &mut Vec<Declared<'a>>) {
        let place = match item {
            Item::Import(_) => return,
            Item::Type(ty) => self.declare_type(module, ty).map(Place::Type),
            Item::Def(def) => {
                self.declare_def(module, &def.name, is_checked(def.check, imp_is_annotated(def)), imp_parameters(def))
            }
            Item::Equations(def) => {
                self.declare_def(module, &def.name, is_checked(def.check, def.signature.is_some()), fun_parameters(def))
            }
            Item::Hvm(def) => self.declare_def(module, &def.name, false, vec![]),
        };
        if let Some(place) = place {
            declared.push(Declared { module, item, place });
        }
    }

    fn origin(&self, module: ModuleId) -> Origin {
        match self.modules[module].role {
            Role::Main | Role::Imported => Origin::User,
            Role::Prelude { .. } => Origin::Prelude,
        }
    }

    /// The full name of an item: that of an imported file's starts with the file's path.
    fn full_name(&self, module: ModuleId, name: &Name) -> Name {
        match self.modules[module].path.as_str() {
            "" => name.clone(),
            path => Name::from(format!("{path}/{name}")),
        }
    }

    fn scope_mut(&mut self, module: ModuleId) -> &mut Scope {
        match self.modules[module].role {
            Role::Prelude { .. } => &mut self.prelude,
            Role::Main | Role::Imported => &mut self.scopes[module],
        }
    }

    fn declare_def(
        &mut self,
        module: ModuleId,
        name: &Ident,
        check: bool,
        parameters: Vec<Option<Ident>>,
    ) -> Option<Place> {
        if self.is_taken(module, name) || self.clashes(module, name) {
            return None;
        }
        let def = self.program.defs.push(Def {
            name: self.full_name(module, &name.node),
            span: name.span,
            origin: self.origin(module),
            check,
            ty: Scheme::mono(Type::Any),
            params: vec![],
            locals: Default::default(),
            body: Body::Term(Term::new(TermKind::Invalid, name.span)),
        });
        self.parameters.insert(def, parameters);
        self.uses.note(name.span, Target::Def(def));
        self.scope_mut(module).values.insert(name.node.clone(), Entity::Def(def));
        Some(Place::Def(def))
    }

    fn declare_type(&mut self, module: ModuleId, ty: &TypeDef) -> Option<TypeId> {
        let scope = self.scope_mut(module);
        let own = scope.types.get(&ty.name.node).copied();
        let earlier = own.or_else(|| self.fixed_prelude_type(module, &ty.name.node));
        if let Some(earlier) = earlier {
            let at = self.program.types[earlier].span;
            self.redefined("type", &ty.name, at);
            self.is_ambiguous = true;
            return None;
        }
        let id = self.program.types.push(DataType {
            name: self.full_name(module, &ty.name.node),
            span: ty.name.span,
            origin: self.origin(module),
            vars: ty.vars.iter().map(|v| v.node.clone()).collect(),
            ctors: vec![],
        });
        self.scope_mut(module).types.insert(ty.name.node.clone(), id);
        self.uses.note(ty.name.span, Target::Type(id));
        for ctor in &ty.ctors {
            let name = Ident::new(ty.full_name(ctor), ctor.name.span);
            if self.is_taken(module, &name) || self.clashes(module, &name) {
                continue;
            }
            let tag = self.program.types[id].ctors.len() as u32;
            let full = self.full_name(module, &name.node);
            let ctor = self.program.ctors.push(Ctor { name: full, span: name.span, ty: id, tag, fields: vec![] });
            self.program.types[id].ctors.push(ctor);
            // The constructor of an object stands where its type does.
            if name.span != ty.name.span {
                self.uses.note(name.span, Target::Ctor(ctor));
            }
            let scope = self.scope_mut(module);
            scope.values.insert(Name::from(format!("{}/tag", name.node)), Entity::Tag(ctor));
            scope.values.insert(name.node, Entity::Ctor(ctor));
        }
        Some(id)
    }

    /// A type of the prelude that a module may not define again.
    fn fixed_prelude_type(&self, module: ModuleId, name: &Name) -> Option<TypeId> {
        let ty = *self.prelude.types.get(name).filter(|_| !self.has_own_names(module))?;
        (!self.is_overridable(self.program.types[ty].span)).then_some(ty)
    }

    /// Whether the names of a module are its own: the full ones start with its path, so none can be the prelude's.
    fn has_own_names(&self, module: ModuleId) -> bool {
        match self.modules[module].role {
            Role::Imported => true,
            Role::Main | Role::Prelude { .. } => false,
        }
    }

    /// Whether what stands at a place belongs to a part of the prelude that programs may replace.
    fn is_overridable(&self, span: Span) -> bool {
        let stands_in = |id: &ModuleId| self.modules[*id].source == span.source;
        let role = self.modules.ids().find(stands_in).map(|id| self.modules[id].role);
        matches!(role, Some(Role::Prelude { overridable: true }))
    }

    /// Whether a name is a definition or constructor already; reports it.
    fn is_taken(&mut self, module: ModuleId, name: &Ident) -> bool {
        let own = self.scope_mut(module).values.get(&name.node).copied();
        let fixed = |this: &Self, entity: &Entity| {
            !this.has_own_names(module) && !this.is_overridable(this.entity_span(*entity))
        };
        let earlier = own.or_else(|| self.prelude.values.get(&name.node).copied().filter(|e| fixed(self, e)));
        match earlier {
            None | Some(Entity::Tag(_)) => false,
            Some(earlier) => {
                let kind = if matches!(earlier, Entity::Ctor(_)) { "constructor" } else { "definition" };
                let at = self.entity_span(earlier);
                self.redefined(kind, name, at);
                true
            }
        }
    }

    /// Whether the full name of an item is that of an item in another file; reports it.
    fn clashes(&mut self, module: ModuleId, name: &Ident) -> bool {
        if self.modules[module].is_prelude() {
            return false;
        }
        let full = self.full_name(module, &name.node);
        let Some(earlier) = self.full_names.insert(full.clone(), name.span) else { return false };
        let message = format!("`{full}` is the full name of two things");
        let diagnostic = Diagnostic::new(Code::ImportConflict, name.span, message);
        self.report(diagnostic.label(earlier, "the other one").hint("give one of them another name"));
        true
    }

    fn entity_span(&self, entity: Entity) -> Span {
        match entity {
            Entity::Def(def) => self.program.defs[def].span,
            Entity::Ctor(ctor) | Entity::Tag(ctor) => self.program.ctors[ctor].span,
        }
    }

    fn redefined(&mut self, kind: &str, name: &Ident, earlier: Span) {
        let in_prelude = self.modules.iter().any(|m| m.source == earlier.source && m.is_prelude());
        let message = match in_prelude {
            true => format!("the prelude has a {kind} `{}` already", name.node),
            false => format!("the {kind} `{}` is defined twice", name.node),
        };
        let mut diagnostic = Diagnostic::new(Code::Redefinition, name.span, message).hint("give it another name");
        if !in_prelude {
            diagnostic = diagnostic.at("again here").label(earlier, "first defined here");
        }
        self.report(diagnostic);
    }

    /// Imported names join the scope of the importing module, unless it defines them itself.
    fn bind_imports(&mut self, module: ModuleId) {
        for import in &self.modules[module].imports {
            let from = &self.scopes[import.module];
            let (value, ty) = (from.values.get(&import.name).copied(), from.types.get(&import.name).copied());
            let tag = Name::from(format!("{}/tag", import.name));
            let tag_value = from.values.get(&tag).copied();
            let own = self.scopes[module].values.get(&import.local).copied();
            let own = own.map(|own| self.entity_span(own)).filter(|own| own.source == self.modules[module].source);
            if let (Some(own), Some(_), true) = (own, value, import.how == Bound::Named) {
                let message = format!("`{}` is imported and defined in the same file", import.local);
                self.diags.push(
                    Diagnostic::new(Code::ImportConflict, import.span, message)
                        .label(own, "defined here")
                        .hint(format!("import it under another name: `{} as …`", import.name)),
                );
            }
            let scope = &mut self.scopes[module];
            let mut bind = |local: Name, value: Entity| {
                scope.values.entry(local).or_insert(value);
            };
            let target = match (ty, value) {
                (Some(ty), _) => Some(Target::Type(ty)),
                (None, Some(Entity::Def(def))) => Some(Target::Def(def)),
                (None, Some(Entity::Ctor(ctor) | Entity::Tag(ctor))) => Some(Target::Ctor(ctor)),
                (None, None) => None,
            };
            let target = match import.how {
                Bound::Named => target,
                Bound::Among | Bound::Shortcut => Some(Target::Module(import.module)),
            };
            if let Some(target) = target {
                self.uses.note(import.span, target);
            }
            if let Some(value) = value {
                bind(import.local.clone(), value);
            }
            if let Some(tag) = tag_value {
                bind(Name::from(format!("{}/tag", import.local)), tag);
            }
            if let Some(ty) = ty {
                self.scopes[module].types.entry(import.local.clone()).or_insert(ty);
            }
        }
    }

    /// A module sees all of the files that it imports under their full names, also what another import hides.
    fn bind_full_names(&mut self, module: ModuleId) {
        let files: BTreeSet<usize> = self.modules[module].imports.iter().map(|import| import.module.index()).collect();
        for file in files.into_iter().map(ModuleId::from_usize) {
            let path = &self.modules[file].path;
            let source = self.modules[file].source;
            let is_own = |entity: &Entity| self.entity_span(*entity).source == source;
            let values = self.scopes[file].values.iter().filter(|(_, entity)| is_own(entity));
            let values: Vec<(Name, Entity)> = values.map(|(n, e)| (Name::from(format!("{path}/{n}")), *e)).collect();
            let types = self.scopes[file].types.iter().filter(|(_, ty)| self.program.types[**ty].span.source == source);
            let types: Vec<(Name, TypeId)> = types.map(|(n, ty)| (Name::from(format!("{path}/{n}")), *ty)).collect();
            let scope = &mut self.scopes[module];
            values.into_iter().for_each(|(name, entity)| _ = scope.values.entry(name).or_insert(entity));
            types.into_iter().for_each(|(name, ty)| _ = scope.types.entry(name).or_insert(ty));
        }
    }

    fn known(&self) -> Known {
        let ctor = |name: &str| -> Option<CtorId> {
            match self.prelude.values.get(name) {
                Some(Entity::Ctor(ctor)) => Some(*ctor),
                Some(Entity::Def(_) | Entity::Tag(_)) | None => None,
            }
        };
        Known {
            string_nil: ctor("String/Nil"),
            string_cons: ctor("String/Cons"),
            list_nil: ctor("List/Nil"),
            list_cons: ctor("List/Cons"),
            nat_zero: ctor("Nat/Zero"),
            nat_succ: ctor("Nat/Succ"),
            tree_node: ctor("Tree/Node"),
            tree_leaf: ctor("Tree/Leaf"),
            map_node: ctor("Map/Node"),
            map_leaf: ctor("Map/Leaf"),
            result_ok: ctor("Result/Ok"),
            result_err: ctor("Result/Err"),
            io_done: ctor("IO/Done"),
            io_call: ctor("IO/Call"),
            io_error_type: ctor("IOError/Type"),
            io_error_name: ctor("IOError/Name"),
            io_error_inner: ctor("IOError/Inner"),
        }
    }

    /// A definition of the prelude that lowering itself needs.
    pub(super) fn prelude_def(&self, name: &str) -> Option<DefId> {
        match self.prelude.values.get(name) {
            Some(Entity::Def(def)) => Some(*def),
            Some(Entity::Ctor(_) | Entity::Tag(_)) | None => None,
        }
    }
}

/// Whether a function is type-checked: if it says so, or has an annotation and does not say otherwise.
fn is_checked(check: Check, annotated: bool) -> bool {
    match check {
        Check::Default => annotated,
        Check::Checked => true,
        Check::Unchecked => false,
    }
}

/// Whether a parameter or the result of a function has a type.
pub(super) fn imp_is_annotated(def: &ImpDef) -> bool {
    def.ret.is_some() || def.params.iter().any(|p| p.ty.is_some())
}

fn imp_parameters(def: &ImpDef) -> Vec<Option<Ident>> {
    def.params.iter().map(|p| Some(p.name.clone())).collect()
}

fn fun_parameters(def: &FunDef) -> Vec<Option<Ident>> {
    match (&def.body, &def.signature) {
        (FunBody::Equation(_), Some(signature)) => signature.params.iter().map(|p| Some(p.name.clone())).collect(),
        (FunBody::Rules(rules), _) => match rules.as_slice() {
            [rule] => {
                let name = |pattern: &Pattern| match &pattern.node {
                    PatternKind::Var(name) => Some(Ident::new(name.clone(), pattern.span)),
                    _ => None,
                };
                rule.patterns.iter().map(name).collect()
            }
            _ => vec![],
        },
        (FunBody::Equation(_), None) => vec![],
    }
}

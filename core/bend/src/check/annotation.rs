//! What an annotation says: the types with which the inference of a definition begins, and the definition's type in the end.
//!
//! `_` is to be found. A parameter or a result that is annotated with `Any`, or not at all, is inferred inside its
//! definition as if it were `_`, and is `Any` for the callers; `Any` elsewhere is `Any` inside too.

use super::infer::{Global, Infer, RigidVariable};
use super::show::free_letters;
use super::types::{KindSet, Node, Ty};
use super::unify::Clash;
use girih_base::name::Name;
use girih_term::ty::{Scheme, Type};
use girih_term::{Def, DefId};
use std::collections::HashMap;

/// How much an annotation counts inside its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// What it says is known from the start, and its variables are equal to themselves only.
    Annotated,
    /// The definition is inferred without it and compared with it afterwards. This accepts more where `Any` makes the
    /// inference forget what the annotation says.
    Inferred,
}

/// The types with which the inference of a definition begins.
pub(super) struct Seed {
    pub params: Vec<Ty>,
    pub result: Ty,
    /// The type of the definition: from the parameters to the result.
    pub whole: Ty,
    /// The type that calls of the definition in its own group give it: the same, or one that is compared with it
    /// afterwards, so that `Any` can come in between.
    pub in_group: Ty,
}

/// Whether an annotation alone says what the type of a definition is, inside and outside.
pub(super) fn is_closed(def: &Def) -> bool {
    let mut ty = &def.ty.ty;
    for _ in &def.params {
        match ty {
            Type::Arrow(from, to) if **from != Type::Any => ty = to,
            _ => return false,
        }
    }
    *ty != Type::Any && !has_hole(&def.ty.ty)
}

fn has_hole(ty: &Type) -> bool {
    match ty {
        Type::Hole => true,
        Type::Any | Type::None | Type::Num(_) | Type::Param(_) | Type::Var(_) => false,
        Type::Data(_, parts) | Type::Tuple(parts) => parts.iter().any(has_hole),
        Type::Arrow(from, to) => has_hole(from) || has_hole(to),
    }
}

/// The type that a definition has by its annotation alone, with `Any` for what is not said.
pub(super) fn as_global(def: &Def) -> Global {
    let scheme = Scheme { params: def.ty.params.clone(), ty: without_holes(&def.ty.ty) };
    Global { kinds: vec![None; scheme.params.len()], scheme }
}

fn without_holes(ty: &Type) -> Type {
    match ty {
        Type::Hole | Type::Var(_) => Type::Any,
        Type::Any | Type::None | Type::Num(_) | Type::Param(_) => ty.clone(),
        Type::Data(id, parts) => Type::Data(*id, parts.iter().map(without_holes).collect()),
        Type::Tuple(parts) => Type::Tuple(parts.iter().map(without_holes).collect()),
        Type::Arrow(from, to) => Type::Arrow(Box::new(without_holes(from)), Box::new(without_holes(to))),
    }
}

impl Infer<'_> {
    /// The types with which the inference of a definition begins. None if the annotation has fewer parameters than the
    /// definition.
    pub fn seed(&mut self, id: DefId) -> Option<Seed> {
        let def = &self.program.defs[id];
        let (mut params, result) = (
            Vec::with_capacity(def.params.len()),
            match self.mode {
                Mode::Inferred => None,
                Mode::Annotated => Some(&def.ty.ty),
            },
        );
        let rigid: Vec<Ty> = (0..def.ty.params.len()).map(|index| self.new_rigid(id, index as u32)).collect();
        let mut rest = result;
        for _ in &def.params {
            params.push(match rest {
                Some(Type::Arrow(from, to)) => {
                    rest = Some(to);
                    self.seed_position(from, &rigid)
                }
                Some(Type::Any | Type::Hole) | None => self.types.fresh(),
                Some(_) => return None,
            });
        }
        let result = match rest {
            Some(rest) => self.seed_position(rest, &rigid),
            None => self.types.fresh(),
        };
        let whole = params.iter().rev().fold(result, |to, from| self.types.arrow(*from, to));
        let in_group = match self.mode {
            Mode::Annotated => whole,
            Mode::Inferred => self.types.fresh(),
        };
        Some(Seed { params, result, whole, in_group })
    }

    fn seed_position(&mut self, ty: &Type, rigid: &[Ty]) -> Ty {
        if *ty == Type::Any { self.types.fresh() } else { self.with_holes(ty, rigid) }
    }

    fn new_rigid(&mut self, def: DefId, index: u32) -> Ty {
        let id = self.rigid.len() as u32;
        self.rigid.push(RigidVariable { def, index });
        self.types.rigid(id)
    }

    /// An annotation with variables for its holes.
    fn with_holes(&mut self, ty: &Type, params: &[Ty]) -> Ty {
        match ty {
            Type::Hole => self.types.fresh(),
            Type::Data(id, parts) => {
                let parts: Vec<Ty> = parts.iter().map(|p| self.with_holes(p, params)).collect();
                self.types.data(*id, &parts)
            }
            Type::Tuple(parts) => {
                let parts: Vec<Ty> = parts.iter().map(|p| self.with_holes(p, params)).collect();
                self.types.tuple(&parts)
            }
            Type::Arrow(from, to) => {
                let (from, to) = (self.with_holes(from, params), self.with_holes(to, params));
                self.types.arrow(from, to)
            }
            Type::Any | Type::None | Type::Num(_) | Type::Param(_) | Type::Var(_) => self.types.import(ty, params),
        }
    }

    /// The type of a definition after inference: what the annotation says, with what was found in place of holes.
    pub fn conclude(&mut self, id: DefId, found: Ty) -> Result<Global, Clash> {
        let program = self.program;
        let is_generated = program.defs[id].origin.is_generated();
        let unsaid = Scheme::mono(Type::Hole);
        // Bend does not look at the annotations of local functions.
        let annotation = if is_generated && self.mode == Mode::Inferred { &unsaid } else { &program.defs[id].ty };
        let found = match self.mode {
            Mode::Annotated => found,
            Mode::Inferred => {
                let params = self.types.fresh_many(annotation.params.len());
                let wanted = self.with_holes(&annotation.ty, &params);
                self.types.unify(found, wanted)?
            }
        };
        self.types.start();
        let mut export = Export::new(annotation.params.clone());
        self.relate(found, &annotation.ty, &mut export)?;
        let ty = self.merge(found, &annotation.ty, &mut export)?;
        Ok(Global { scheme: Scheme { params: export.params, ty }, kinds: export.kinds })
    }

    /// Finds which variables of an inferred type are the variables of the annotation.
    fn relate(&mut self, found: Ty, annotation: &Type, export: &mut Export) -> Result<(), Clash> {
        let found = self.types.resolve(found);
        match (self.types.node(found), annotation) {
            (_, Type::Hole | Type::Any | Type::Var(_)) | (Node::Any, _) => Ok(()),
            (Node::Variable(v), Type::Param(_)) if v.kinds.is_some() => Err(Clash::Different),
            (Node::Variable(_) | Node::Rigid(_), Type::Param(i)) => {
                let known = export.known.entry(found).or_insert(Type::Param(*i));
                if *known == Type::Param(*i) { Ok(()) } else { Err(Clash::Different) }
            }
            (Node::Arrow(from, to), Type::Arrow(a, b)) => {
                self.relate(from, a, export)?;
                self.relate(to, b, export)
            }
            (Node::Data(_, parts), Type::Data(_, annotations)) | (Node::Tuple(parts), Type::Tuple(annotations)) => {
                for (i, annotation) in annotations.iter().enumerate().take(parts.len()) {
                    self.relate(self.types.part(parts, i), annotation, export)?;
                }
                Ok(())
            }
            (Node::None, Type::None) | (Node::Number(_), Type::Num(_)) => Ok(()),
            _ => Err(Clash::Different),
        }
    }

    /// The annotation with its holes filled.
    fn merge(&mut self, found: Ty, annotation: &Type, export: &mut Export) -> Result<Type, Clash> {
        Ok(match (self.types.node(found), annotation) {
            (_, Type::Hole | Type::Var(_)) => self.export(found, export, 0)?,
            (_, Type::Any | Type::None | Type::Num(_) | Type::Param(_)) => annotation.clone(),
            (Node::Arrow(from, to), Type::Arrow(a, b)) => {
                Type::Arrow(Box::new(self.merge(from, a, export)?), Box::new(self.merge(to, b, export)?))
            }
            (Node::Data(_, parts), Type::Data(id, annotations)) => {
                Type::Data(*id, self.merge_parts(self.types.parts(parts).to_vec(), annotations, export)?)
            }
            (Node::Tuple(parts), Type::Tuple(annotations)) => {
                Type::Tuple(self.merge_parts(self.types.parts(parts).to_vec(), annotations, export)?)
            }
            (_, Type::Arrow(..) | Type::Data(..) | Type::Tuple(_)) => without_holes(annotation),
        })
    }

    fn merge_parts(&mut self, found: Vec<Ty>, annotations: &[Type], export: &mut Export) -> Result<Vec<Type>, Clash> {
        found.into_iter().zip(annotations).map(|(found, annotation)| self.merge(found, annotation, export)).collect()
    }

    /// An inferred type as one of a finished program. Its variables become parameters.
    fn export(&mut self, ty: Ty, export: &mut Export, depth: u32) -> Result<Type, Clash> {
        self.types.step(depth)?;
        let ty = self.types.resolve(ty);
        Ok(match self.types.node(ty) {
            Node::Any => Type::Any,
            Node::None => Type::None,
            Node::Number(kind) => Type::Num(kind),
            Node::Variable(variable) => export.param(ty, variable.kinds),
            Node::Rigid(_) => export.param(ty, None),
            Node::Data(id, parts) => {
                Type::Data(id, self.export_parts(self.types.parts(parts).to_vec(), export, depth)?)
            }
            Node::Tuple(parts) => Type::Tuple(self.export_parts(self.types.parts(parts).to_vec(), export, depth)?),
            Node::Arrow(from, to) => {
                let from = self.export(from, export, depth + 1)?;
                Type::Arrow(Box::new(from), Box::new(self.export(to, export, depth + 1)?))
            }
            Node::Link(_) => unreachable!("a resolved type is not a link"),
        })
    }

    fn export_parts(&mut self, parts: Vec<Ty>, export: &mut Export, depth: u32) -> Result<Vec<Type>, Clash> {
        parts.into_iter().map(|part| self.export(part, export, depth + 1)).collect()
    }
}

/// The parameters of a scheme while it is made: first those of the annotation, then one for each variable that was found.
struct Export {
    params: Vec<Name>,
    kinds: Vec<Option<KindSet>>,
    known: HashMap<Ty, Type>,
}

impl Export {
    fn new(params: Vec<Name>) -> Export {
        Export { kinds: vec![None; params.len()], params, known: HashMap::new() }
    }

    fn param(&mut self, variable: Ty, kinds: Option<KindSet>) -> Type {
        if let Some(known) = self.known.get(&variable) {
            return known.clone();
        }
        let param = Type::Param(self.params.len() as u32);
        let name = free_letters(self.params.clone()).next().unwrap_or_default();
        self.params.push(Name::from(name));
        self.kinds.push(kinds);
        self.known.insert(variable, param.clone());
        param
    }
}

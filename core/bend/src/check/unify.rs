//! Makes two types equal by solving variables in place, or says why that cannot be.
//!
//! `Any` fits every type and spreads: the variables of the other type become `Any` too, save those of literals, and so
//! does the type of the whole, which [`Types::unify`] returns. An operation takes a bounded number of steps ([`STEPS`], [`DEPTH`]), since the types of
//! small programs can grow exponentially.

use super::types::{GENERIC, KindSet, Node, Parts, Ty, Types, Variable};
use girih_base::num::NumKind;
use std::collections::HashMap;

/// How many nodes one operation on types may look at.
const STEPS: u32 = 1 << 16;
/// How deeply types may be nested.
const DEPTH: u32 = 1000;

/// Why two types cannot be made equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clash {
    /// They differ.
    Different,
    /// A variable of an annotation, which stands for every type, would be this type.
    Rigid(u32, Ty),
    /// The variable would be a part of itself, as it is of this type.
    Infinite(Ty, Ty),
    /// They are too large to look at.
    TooLarge,
}

impl Types {
    /// Allows the operation that begins now its steps.
    pub fn start(&mut self) {
        self.fuel = STEPS;
    }

    /// Takes a step of the running operation.
    pub fn step(&mut self, depth: u32) -> Result<(), Clash> {
        if self.fuel == 0 || depth > DEPTH {
            return Err(Clash::TooLarge);
        }
        self.fuel -= 1;
        Ok(())
    }

    /// Makes two types equal. The result is both of them, with `Any` where either says so.
    pub fn unify(&mut self, a: Ty, b: Ty) -> Result<Ty, Clash> {
        self.start();
        self.unify_at(a, b, 0)
    }

    fn unify_at(&mut self, a: Ty, b: Ty, depth: u32) -> Result<Ty, Clash> {
        self.step(depth)?;
        let (a, b) = (self.resolve(a), self.resolve(b));
        if a == b {
            return Ok(a);
        }
        match (self.node(a), self.node(b)) {
            (Node::Variable(va), Node::Variable(vb)) => self.unify_variables(a, va, b, vb),
            (Node::Variable(v), _) => self.bind(a, v, b, depth).map(|()| b),
            (_, Node::Variable(v)) => self.bind(b, v, a, depth).map(|()| a),
            (Node::Any, _) => self.spread(b, depth).map(|()| Types::ANY),
            (_, Node::Any) => self.spread(a, depth).map(|()| Types::ANY),
            (Node::Rigid(i), Node::Rigid(j)) if i == j => Ok(a),
            (Node::Rigid(i), _) => Err(Clash::Rigid(i, b)),
            (_, Node::Rigid(i)) => Err(Clash::Rigid(i, a)),
            (Node::Arrow(a1, a2), Node::Arrow(b1, b2)) => {
                let from = self.unify_at(a1, b1, depth + 1)?;
                let to = self.unify_at(a2, b2, depth + 1)?;
                Ok(if (from, to) == (a1, a2) { a } else { self.arrow(from, to) })
            }
            (Node::Data(ta, pa), Node::Data(tb, pb)) if ta == tb && pa.len() == pb.len() => {
                let both = self.unify_parts(pa, pb, depth)?;
                Ok(if both == self.parts(pa) { a } else { self.data(ta, &both) })
            }
            (Node::Tuple(pa), Node::Tuple(pb)) if pa.len() == pb.len() => {
                let both = self.unify_parts(pa, pb, depth)?;
                Ok(if both == self.parts(pa) { a } else { self.tuple(&both) })
            }
            (Node::Number(x), Node::Number(y)) if x == y => Ok(a),
            (Node::None, Node::None) => Ok(a),
            (Node::None | Node::Number(_) | Node::Arrow(..) | Node::Data(..) | Node::Tuple(_), _) => {
                Err(Clash::Different)
            }
            (Node::Link(_), _) => unreachable!("a resolved type is not a link"),
        }
    }

    fn unify_parts(&mut self, a: Parts, b: Parts, depth: u32) -> Result<Vec<Ty>, Clash> {
        let mut both = Vec::with_capacity(a.len());
        for i in 0..a.len() {
            let part = self.unify_at(self.part(a, i), self.part(b, i), depth + 1)?;
            both.push(part);
        }
        Ok(both)
    }

    fn unify_variables(&mut self, a: Ty, va: Variable, b: Ty, vb: Variable) -> Result<Ty, Clash> {
        let kinds = match (va.kinds, vb.kinds) {
            (Some(x), Some(y)) => Some(x.meet(y).ok_or(Clash::Different)?),
            (one, other) => one.or(other),
        };
        let level = va.level.min(vb.level);
        let (defaults, wide) = (va.defaults || vb.defaults, va.wide || vb.wide);
        self.set_variable(a, Variable { level, kinds, defaults, wide });
        self.link(b, a);
        Ok(a)
    }

    /// Solves a variable by something that is not a variable.
    fn bind(&mut self, variable: Ty, known: Variable, to: Ty, depth: u32) -> Result<(), Clash> {
        match (known.kinds, self.node(to)) {
            (_, Node::Any) if known.defaults => return Ok(()),
            (_, Node::Any) | (None, _) => {}
            (Some(kinds), Node::Number(kind)) if kinds.contains(kind) => {}
            (Some(_), Node::Rigid(i)) => return Err(Clash::Rigid(i, variable)),
            (Some(_), _) => return Err(Clash::Different),
        }
        self.enter(variable, known.level, to, depth)?;
        self.link(variable, to);
        Ok(())
    }

    /// Prepares a type for being what `variable` stands for: the variable may not be part of it, and its own variables
    /// live at least as long.
    fn enter(&mut self, variable: Ty, level: u32, ty: Ty, depth: u32) -> Result<(), Clash> {
        let whole = ty;
        self.each_variable(ty, depth, &mut |types, part, known| {
            if part == variable {
                return Err(Clash::Infinite(variable, whole));
            }
            if known.level > level {
                types.set_variable(part, Variable { level, ..known });
            }
            Ok(())
        })
    }

    /// Makes `Any` of all variables of a type but those of literals.
    fn spread(&mut self, ty: Ty, depth: u32) -> Result<(), Clash> {
        self.each_variable(ty, depth, &mut |types, part, known| {
            if !known.defaults {
                types.link(part, Types::ANY);
            }
            Ok(())
        })
    }

    /// Visits the unsolved variables of a type, those that occur several times several times unless the visit solves
    /// them.
    pub fn each_variable(
        &mut self,
        ty: Ty,
        depth: u32,
        visit: &mut dyn FnMut(&mut Types, Ty, Variable) -> Result<(), Clash>,
    ) -> Result<(), Clash> {
        self.step(depth)?;
        let ty = self.resolve(ty);
        match self.node(ty) {
            Node::Variable(known) => visit(self, ty, known),
            Node::Any | Node::None | Node::Number(_) | Node::Rigid(_) => Ok(()),
            Node::Arrow(from, to) => {
                self.each_variable(from, depth + 1, visit)?;
                self.each_variable(to, depth + 1, visit)
            }
            Node::Data(_, parts) | Node::Tuple(parts) => {
                for i in 0..parts.len() {
                    self.each_variable(self.part(parts, i), depth + 1, visit)?;
                }
                Ok(())
            }
            Node::Link(_) => unreachable!("a resolved type is not a link"),
        }
    }

    /// Narrows a type to these kinds of numbers. False if it is none of them.
    pub fn constrain(&mut self, ty: Ty, kinds: KindSet) -> bool {
        let ty = self.resolve(ty);
        match self.node(ty) {
            Node::Any => true,
            Node::Number(kind) => kinds.contains(kind),
            Node::Variable(known) => match known.kinds.map_or(Some(kinds), |k| k.meet(kinds)) {
                Some(kinds) => {
                    self.set_variable(ty, Variable { kinds: Some(kinds), ..known });
                    true
                }
                None => false,
            },
            Node::None | Node::Rigid(_) | Node::Arrow(..) | Node::Data(..) | Node::Tuple(_) => false,
            Node::Link(_) => unreachable!("a resolved type is not a link"),
        }
    }

    /// The kind of number that a type is, or becomes if nothing else decides.
    pub fn number_kind(&mut self, ty: Ty) -> Option<NumKind> {
        match self.node(ty) {
            Node::Number(kind) => Some(kind),
            Node::Variable(Variable { kinds: Some(kinds), defaults: true, .. }) => Some(kinds.first()),
            _ => None,
        }
    }

    /// Generalises a type: its variables that are deeper than the present level stand for every type from now on. False
    /// if there is none such.
    pub fn generalise(&mut self, ty: Ty) -> Result<bool, Clash> {
        self.start();
        let level = self.level;
        let mut any = false;
        self.each_variable(ty, 0, &mut |types, part, known| {
            if known.level > level && known.level != GENERIC {
                let level = if known.defaults { level } else { GENERIC };
                types.set_variable(part, Variable { level, ..known });
            }
            any |= known.level > level && !known.defaults;
            Ok(())
        })?;
        Ok(any)
    }

    /// A copy of a generalised type with new variables.
    pub fn instantiate(&mut self, ty: Ty) -> Result<Ty, Clash> {
        self.start();
        self.copy(ty, &mut HashMap::new(), 0)
    }

    fn copy(&mut self, ty: Ty, made: &mut HashMap<Ty, Ty>, depth: u32) -> Result<Ty, Clash> {
        self.step(depth)?;
        let ty = self.resolve(ty);
        match self.node(ty) {
            Node::Variable(known) if known.level == GENERIC => {
                if let Some(copy) = made.get(&ty) {
                    return Ok(*copy);
                }
                let copy = self.variable(Variable { level: self.level, ..known });
                made.insert(ty, copy);
                Ok(copy)
            }
            Node::Variable(_) | Node::Any | Node::None | Node::Number(_) | Node::Rigid(_) => Ok(ty),
            Node::Arrow(a, b) => {
                let (from, to) = (self.copy(a, made, depth + 1)?, self.copy(b, made, depth + 1)?);
                Ok(if (from, to) == (a, b) { ty } else { self.arrow(from, to) })
            }
            Node::Data(id, parts) => {
                let copies = self.copy_parts(parts, made, depth)?;
                Ok(if copies == self.parts(parts) { ty } else { self.data(id, &copies) })
            }
            Node::Tuple(parts) => {
                let copies = self.copy_parts(parts, made, depth)?;
                Ok(if copies == self.parts(parts) { ty } else { self.tuple(&copies) })
            }
            Node::Link(_) => unreachable!("a resolved type is not a link"),
        }
    }

    fn copy_parts(&mut self, parts: Parts, made: &mut HashMap<Ty, Ty>, depth: u32) -> Result<Vec<Ty>, Clash> {
        (0..parts.len()).map(|i| self.copy(self.part(parts, i), made, depth + 1)).collect()
    }
}

//! Loads and stores: an access becomes one or several elements of a view.

use super::types;
use super::views::{AccessKind, View};
use super::writer::{Expr, ShaderWriter};
use super::{error, sync};
use girih_base::diag::Diagnostic;
use girih_ir::attrs::Spaces;
use girih_ir::{Inst, Scalar, Type, ValueId};
use naga::{BinaryOperator as B, Expression, Literal, Statement};

/// A view of a memory, and where in it an access begins.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The view.
    pub view: View,
    /// The pointer to its array.
    array: Expr,
    /// How many elements it has; unknown for a buffer.
    length: Option<u32>,
    /// The index, counting accesses, and the constant part of it.
    index: Expr,
    offset: i32,
    /// How many elements an access is.
    pub elements: u32,
}

impl ShaderWriter<'_, '_> {
    /// Where an access goes.
    pub(super) fn place(
        &mut self,
        memory: ValueId,
        kind: AccessKind,
        index: ValueId,
        offset: i32,
    ) -> Result<Place, Diagnostic> {
        let known = self.memory(memory)?;
        let chosen = known.views.choose(kind, self.caps());
        let position = chosen.ok_or_else(|| error::internal(self.span, "an access fits no view"))?;
        let known = self.memory(memory)?;
        let (view, array, length) = (known.views.all()[position], known.arrays[position], known.lengths[position]);
        let bytes = match kind {
            AccessKind::Plain(s, n) => s.bytes() * n,
            AccessKind::Atomic(s, _) | AccessKind::Fragment(s) => s.bytes(),
        };
        let index = match self.source.ty(index) {
            Type::U32 => self.one(index)?,
            ty => {
                let wide = self.one(index)?;
                self.number(ty.element().unwrap_or(Scalar::U64), Scalar::U32, wide)?
            }
        };
        Ok(Place { view, array, length, index, offset, elements: bytes / view.bytes() })
    }

    /// The pointer to where a fragment begins, and how many of its elements one of the view's is, as a logarithm.
    pub(super) fn fragment_place(
        &mut self,
        memory: ValueId,
        scalar: Scalar,
        index: ValueId,
        offset: i32,
    ) -> Result<(Expr, u32), Diagnostic> {
        let kind = AccessKind::Fragment(scalar);
        let known = self.memory(memory)?;
        let chosen = known.views.choose(kind, self.caps());
        let position = chosen.ok_or_else(|| error::internal(self.span, "a fragment fits no view"))?;
        let known = self.memory(memory)?;
        let (view, length) = (known.views.all()[position], known.lengths[position]);
        let array = known.shadow.filter(|_| view.scalar != scalar).unwrap_or(known.arrays[position]);
        let log = (view.bytes() / scalar.bytes()).trailing_zeros();
        let index = self.one(index)?;
        let index = self.divided(index, log);
        let place = Place { view, array, length, index, offset: offset >> log, elements: 1 };
        Ok((self.pointers(place)[0], log))
    }

    /// A number divided by a power of two that it is a multiple of.
    pub(super) fn divided(&mut self, value: Expr, log: u32) -> Expr {
        match self.as_u32(value) {
            _ if log == 0 => value,
            Some(n) => self.u32(n >> log),
            None => {
                let by = self.u32(log);
                self.binary(B::ShiftRight, value, by)
            }
        }
    }

    /// The pointers to the elements of an access.
    pub(super) fn pointers(&mut self, place: Place) -> Vec<Expr> {
        let Place { array, index, offset, elements, .. } = place;
        let first = (offset as u32).wrapping_mul(elements);
        let constant = self.as_u32(index);
        let scaled = match constant {
            None if elements > 1 => {
                let factor = self.u32(elements);
                self.binary(B::Multiply, index, factor)
            }
            _ => index,
        };
        (0..elements)
            .map(|j| {
                let add = first.wrapping_add(j);
                let index = match constant {
                    Some(n) => self.constant_index(n.wrapping_mul(elements).wrapping_add(add), place.length),
                    None if add == 0 => scaled,
                    None => {
                        let add = self.u32(add);
                        self.binary(B::Add, scaled, add)
                    }
                };
                self.add(Expression::Access { base: array, index })
            })
            .collect()
    }

    /// A constant index outside of an array would be refused, also where it is never reached.
    fn constant_index(&mut self, index: u32, length: Option<u32>) -> Expr {
        if length.is_some_and(|n| index >= n) { self.opaque(Literal::U32(index)) } else { self.u32(index) }
    }

    pub(super) fn load_op(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let (kind, lanes) = plain(inst);
        let place = self.place(inst.operands[0], kind, inst.operands[1], inst.offset())?;
        let mut units = vec![];
        for pointer in self.pointers(place) {
            units.push(self.load(pointer));
        }
        let parts = self.assemble(place.view, &units, inst.element(), lanes)?;
        self.define(inst.results[0], parts);
        Ok(())
    }

    pub(super) fn store_op(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let (kind, _) = plain(inst);
        let parts = self.parts(inst.operands[2])?;
        let place = self.place(inst.operands[0], kind, inst.operands[1], inst.offset())?;
        let units = self.take_apart(place.view, &parts, inst.element())?;
        let pointers = self.pointers(place);
        for (pointer, unit) in pointers.into_iter().zip(units) {
            self.store(pointer, unit);
        }
        Ok(())
    }

    /// A load by the whole workgroup, between two barriers.
    pub(super) fn uniform_load(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let (kind, lanes) = plain(inst);
        let place = self.place(inst.operands[0], kind, inst.operands[1], inst.offset())?;
        let pointers = self.pointers(place);
        let units = match pointers[..] {
            [pointer] => {
                let scalar = types::legal_scalar(place.view.scalar, inst.span)?;
                let ty = self.scalar_type(scalar);
                let statement = |result| Statement::WorkGroupUniformLoad { pointer, result };
                vec![self.result_of(Expression::WorkGroupUniformLoadResult { ty }, statement)]
            }
            _ => {
                let shared = Spaces { global: false, shared: true };
                sync::barrier(self, shared);
                let units = pointers.into_iter().map(|p| self.load(p)).collect();
                sync::barrier(self, shared);
                units
            }
        };
        let parts = self.assemble(place.view, &units, inst.element(), lanes)?;
        self.define(inst.results[0], parts);
        Ok(())
    }

    /// The lanes of a value, from the elements of a view that it was read as.
    fn assemble(&mut self, view: View, units: &[Expr], to: Scalar, lanes: u32) -> Result<Vec<Expr>, Diagnostic> {
        let own = types::legal_scalar(view.scalar, self.span)?;
        let target = types::legal_scalar(to, self.span)?;
        let mut pieces = vec![];
        for unit in units {
            match view.lanes {
                1 => pieces.push(*unit),
                n => pieces
                    .extend((0..u32::from(n)).map(|index| self.add(Expression::AccessIndex { base: *unit, index }))),
            }
        }
        let parts: Vec<Expr> = if own.width == target.width {
            pieces.into_iter().map(|p| self.bitcast(p, own, target)).collect()
        } else if own.width == 4 && target.width == 8 {
            let words: Vec<Expr> = pieces.into_iter().map(|p| self.bitcast(p, own, naga::Scalar::U32)).collect();
            let mut parts = vec![];
            for pair in words.chunks_exact(2) {
                let wide = self.join(pair[0], pair[1]);
                parts.push(self.bitcast(wide, naga::Scalar::U64, target));
            }
            parts
        } else {
            vec![]
        };
        if parts.len() == lanes as usize {
            Ok(parts)
        } else {
            Err(error::internal(self.span, format!("a `{to}` is read as `{}`", view.scalar)))
        }
    }

    /// The elements of a view as which a value is written.
    fn take_apart(&mut self, view: View, parts: &[Expr], from: Scalar) -> Result<Vec<Expr>, Diagnostic> {
        let own = types::legal_scalar(view.scalar, self.span)?;
        let source = types::legal_scalar(from, self.span)?;
        let mut pieces = vec![];
        for part in parts {
            if own.width == source.width {
                pieces.push(self.bitcast(*part, source, own));
            } else if own.width == 4 && source.width == 8 {
                let wide = self.bitcast(*part, source, naga::Scalar::U64);
                let (low, high) = self.split(wide);
                pieces.push(self.bitcast(low, naga::Scalar::U32, own));
                pieces.push(self.bitcast(high, naga::Scalar::U32, own));
            } else {
                return Err(error::internal(self.span, format!("a `{from}` is written as `{}`", view.scalar)));
            }
        }
        if view.lanes == 1 {
            return Ok(pieces);
        }
        let ty = types::lanes_type(&mut self.context.out.types, own, u32::from(view.lanes));
        let compose = |w: &mut Self, chunk: &[Expr]| w.add(Expression::Compose { ty, components: chunk.to_vec() });
        Ok(pieces.chunks_exact(usize::from(view.lanes)).map(|chunk| compose(self, chunk)).collect())
    }
}

/// What a load or store accesses, and how many lanes it has.
fn plain(inst: &Inst) -> (AccessKind, u32) {
    let lanes = inst.ty.map_or(1, Type::lanes).max(1);
    (AccessKind::Plain(inst.element(), lanes), lanes)
}

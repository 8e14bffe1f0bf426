//! Canonicalisation of tile form, before anything is decided about threads: what is the same is computed once, what is constant is a constant, what does not
//! change in a loop stands before it, and what nobody needs goes. Tiles of integers stay in their loops: they are indices.
//!
//! | step | what it does |
//! |---|---|
//! | the walk | arithmetic on tiles that are one number everywhere becomes arithmetic on that number; constants are folded; views of views are one view; an expression that is available is used again |
//! | [`dead`] | what no effect needs, combining regions included |
//! | [`invariant`] | loop invariants leave their loops |
//!
//! Control flow stays as it is: loops are what pipelines are made of.
//!
//! Invariant: values stay the same, bit by bit. An expression is replaced only by one that is defined in a region around it.

use crate::rewrite::{Pass, Rewriter};
use crate::simplify::{dead, invariant};
use girih_base::diag::Diagnostic;
use girih_base::hash::FastMap;
use girih_ir::ops::Family;
use girih_ir::{Attr, Def, Function, Inst, InstId, Op, Scalar, Type, ValueId, eval};

/// Canonicalises a kernel in tile form, after which no call is left in it.
///
/// # Errors
/// None of its own.
pub fn run(kernel: &mut Function) -> Result<(), Diagnostic> {
    *kernel = Rewriter::run(kernel, &mut Canonical::default())?;
    dead::run(kernel);
    while invariant::run(kernel) {
        // What has left one loop may be the same as what stands before it.
        *kernel = Rewriter::run(kernel, &mut Canonical::default())?;
        dead::run(kernel);
    }
    Ok(())
}

/// What makes two pure operations the same.
type Key = (Op, Option<Type>, Vec<ValueId>, Vec<Attr>);

/// The walk.
#[derive(Default)]
struct Canonical {
    /// Expressions of the regions around the current place, with their results.
    available: FastMap<Key, Vec<ValueId>>,
    /// The same in the order in which they came, so that those of a region go with it.
    order: Vec<Key>,
    /// Whether the place is in a region that works by element.
    by_element: bool,
}

impl Pass for Canonical {
    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        if !inst.regions.is_empty() {
            return self.holder(r, inst).map(Some);
        }
        if !inst.op.is_pure() || inst.results.is_empty() {
            return Ok(None);
        }
        let operands = r.operands(inst);
        let attrs: Vec<Attr> = inst.attrs.to_vec();
        let results = match inst.results[..] {
            [_] => vec![self.expression(r, inst.op, inst.ty, operands.to_vec(), attrs)],
            _ => self.available(r, inst.op, inst.ty, operands.to_vec(), attrs),
        };
        Ok(Some(results.into_iter().map(|value| vec![value]).collect()))
    }
}

impl Canonical {
    /// An instruction that holds regions: each knows what stands before, and what it computes is known in it alone.
    fn holder(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Vec<Vec<ValueId>>, Diagnostic> {
        let mut new = Inst { attrs: inst.attrs.clone(), ..Inst::new(inst.op, inst.ty, &r.operands(inst), inst.span) };
        if inst.op.row().family == Family::Tile {
            // What an element is computed from stays within the region.
            for region in &inst.regions {
                new.regions.push(r.inner(&mut Canonical { by_element: true, ..Canonical::default() }, *region)?);
            }
        } else {
            for region in &inst.regions {
                let mark = self.order.len();
                new.regions.push(r.inner(self, *region)?);
                for key in self.order.drain(mark..) {
                    self.available.remove(&key);
                }
            }
        }
        let types: Vec<Type> = inst.results.iter().map(|value| r.old.ty(*value)).collect();
        let id = r.out.push(new, &types);
        Ok(r.out.function.insts[id].results.iter().map(|value| vec![*value]).collect())
    }

    /// An expression of one result in its simplest form.
    fn expression(
        &mut self,
        r: &mut Rewriter<'_>,
        op: Op,
        ty: Option<Type>,
        operands: Vec<ValueId>,
        attrs: Vec<Attr>,
    ) -> ValueId {
        if let Some(simpler) = self.simpler(r, op, ty, &operands, &attrs) {
            return simpler;
        }
        self.available(r, op, ty, operands, attrs)[0]
    }

    /// The results of a pure operation: those that it had before, if it was there.
    fn available(
        &mut self,
        r: &mut Rewriter<'_>,
        op: Op,
        ty: Option<Type>,
        operands: Vec<ValueId>,
        attrs: Vec<Attr>,
    ) -> Vec<ValueId> {
        let key = (op, ty, operands, attrs);
        if let Some(known) = self.available.get(&key) {
            return known.clone();
        }
        let id = r.out.op_with(op, ty, &key.2, &key.3);
        let results = r.out.function.insts[id].results.to_vec();
        self.available.insert(key.clone(), results.clone());
        self.order.push(key);
        results
    }

    /// What stands for an expression, if something simpler does.
    fn simpler(
        &mut self,
        r: &mut Rewriter<'_>,
        op: Op,
        ty: Option<Type>,
        operands: &[ValueId],
        attrs: &[Attr],
    ) -> Option<ValueId> {
        if let Some(known) = folded(r, op, ty, operands).or_else(|| identity(r, op, ty, operands)) {
            return Some(known);
        }
        let Type::Tile(tile) = ty? else { return None };
        if op.row().family == Family::Scalar && !self.by_element {
            // The same number everywhere.
            let numbers: Vec<ValueId> = operands.iter().map(|v| splat_of(r, *v)).collect::<Option<_>>()?;
            let number = self.expression(r, op, Some(tile.element.into()), numbers, attrs.to_vec());
            let result = Type::block(Some(tile.shape), r.out.ty(number).element()?);
            return Some(self.expression(r, Op::TileSplat, Some(result), vec![number], vec![]));
        }
        self.view(r, op, Type::Tile(tile), operands)
    }

    /// A view of a number, of itself, or of another view.
    fn view(&mut self, r: &mut Rewriter<'_>, op: Op, ty: Type, operands: &[ValueId]) -> Option<ValueId> {
        let &[source] = operands else { return None };
        if !matches!(op, Op::TileReshape | Op::TileBroadcast | Op::TilePermute) {
            return None;
        }
        if let Some(number) = splat_of(r, source) {
            return Some(self.expression(r, Op::TileSplat, Some(ty), vec![number], vec![]));
        }
        if matches!(op, Op::TileReshape | Op::TileBroadcast) {
            if r.out.ty(source) == ty {
                return Some(source);
            }
            if let Some(inner) = defined_by(r, source).filter(|inner| inner.op == op) {
                let inner = inner.operands[0];
                return Some(self.expression(r, op, Some(ty), vec![inner], vec![]));
            }
        }
        None
    }
}

/// The instruction that defines a new value.
fn defined_by<'r>(r: &'r Rewriter<'_>, value: ValueId) -> Option<&'r Inst> {
    match r.out.function.values[value].def {
        Def::Result(id, _) => Some(instruction(r, id)),
        Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) => None,
    }
}

fn instruction<'r>(r: &'r Rewriter<'_>, id: InstId) -> &'r Inst {
    &r.out.function.insts[id]
}

/// The number that a value is: itself, or the one of which all elements of a tile are.
fn splat_of(r: &Rewriter<'_>, value: ValueId) -> Option<ValueId> {
    match r.out.ty(value) {
        Type::Scalar(_) => Some(value),
        Type::Tile(_) => defined_by(r, value).filter(|inst| inst.op == Op::TileSplat).map(|inst| inst.operands[0]),
        Type::Vector(..) | Type::Regs(..) | Type::Coop(..) | Type::Token | Type::Term | Type::Memory(_) => None,
    }
}

/// The bits of a number that is constant.
fn bits(r: &Rewriter<'_>, value: ValueId) -> Option<u64> {
    r.out.function.as_constant(splat_of(r, value)?)
}

/// What an operation on constants gives.
fn folded(r: &mut Rewriter<'_>, op: Op, ty: Option<Type>, operands: &[ValueId]) -> Option<ValueId> {
    let Some(Type::Scalar(scalar)) = ty else { return None };
    let source = r.out.ty(*operands.first()?).element()?;
    let known: Vec<u64> = operands.iter().map(|v| r.out.function.as_constant(*v)).collect::<Option<_>>()?;
    let bits = eval::scalar(op, scalar, source, &known)?;
    let [Type::Scalar(result)] = r.out.result_types(op, ty, operands)[..] else { return None };
    Some(r.out.constant(result, bits))
}

/// The operand that an operation leaves as it is.
fn identity(r: &Rewriter<'_>, op: Op, ty: Option<Type>, operands: &[ValueId]) -> Option<ValueId> {
    let ty = ty?;
    let scalar = ty.element()?;
    let is = |value: ValueId, wanted: u64| bits(r, value) == Some(wanted & scalar.mask());
    match (op, operands) {
        (Op::Convert, [x]) if r.out.ty(*x) == ty => Some(*x),
        (Op::Select, [condition, a, b]) => match bits(r, *condition) {
            Some(0) => Some(*b),
            Some(_) => Some(*a),
            None => (a == b).then_some(*a),
        },
        // A float that is not a number, or a negative zero, is not what such an operation leaves as it is.
        _no_rule if !(scalar.is_integer() || scalar == Scalar::Bool) => None,
        (Op::Add | Op::Or | Op::Xor, [x, zero] | [zero, x]) if is(*zero, 0) => Some(*x),
        (Op::Sub | Op::Shl | Op::Shr, [x, zero]) if is(*zero, 0) => Some(*x),
        (Op::Mul, [x, one] | [one, x]) if is(*one, 1) => Some(*x),
        (Op::Div, [x, one]) if is(*one, 1) => Some(*x),
        (Op::And, [x, ones] | [ones, x]) if is(*ones, u64::MAX) => Some(*x),
        (Op::Mul | Op::And, [_, zero] | [zero, _]) if is(*zero, 0) => Some(*zero),
        (Op::And | Op::Or | Op::Min | Op::Max, [a, b]) if a == b => Some(*a),
        _no_rule => None,
    }
}

//! Atomic operations. What a view's own type cannot do (a signed minimum on unsigned elements, a sum of floats) is a loop of
//! compare-and-exchange.

use super::error;
use super::types;
use super::views::AccessKind;
use super::writer::{Expr, ShaderWriter};
use girih_base::diag::Diagnostic;
use girih_ir::groups::atomic_updates;
use girih_ir::{Inst, Op, Scalar};
use naga::{AtomicFunction, BinaryOperator as B, Block, Expression, PredeclaredType, Statement};

impl ShaderWriter<'_, '_> {
    pub(super) fn atomic(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let scalar = inst.element();
        let kind = AccessKind::Atomic(scalar, inst.op);
        let place = self.place(inst.operands[0], kind, inst.operands[1], inst.offset())?;
        let held = place.view.scalar;
        let (from, to) = (types::legal_scalar(scalar, inst.span)?, types::legal_scalar(held, inst.span)?);
        let mut values = vec![];
        for operand in &inst.operands[2..] {
            values.push(self.one(*operand)?);
        }
        let pointer = self.pointers(place)[0];
        let old = match (inst.op, &values[..]) {
            (Op::AtomicLoad, _) => self.load(pointer),
            (Op::AtomicStore, [value]) => {
                let value = self.bitcast(*value, from, to);
                self.store(pointer, value);
                return Ok(());
            }
            (Op::AtomicCompareExchange, [expected, new]) => {
                let expected = self.bitcast(*expected, from, to);
                let new = self.bitcast(*new, from, to);
                self.exchange_if(pointer, to, expected, new)?
            }
            (op @ (atomic_updates!()), [value]) => match native(op, scalar, held) {
                Some(fun) => {
                    let value = self.bitcast(*value, from, to);
                    let ty = self.scalar_type(to);
                    let statement = |result| Statement::Atomic { pointer, fun, value, result: Some(result) };
                    self.result_of(Expression::AtomicResult { ty, comparison: false }, statement)
                }
                None => self.by_exchange(pointer, op, scalar, (from, to), *value)?,
            },
            _ => return Err(error::operation(inst.span, inst.op)),
        };
        let old = self.bitcast(old, to, from);
        self.define(inst.results[0], vec![old]);
        Ok(())
    }

    /// Compare and exchange. Shading languages allow it to fail for no reason; it is tried again then, except where it is known not to.
    fn exchange_if(
        &mut self,
        pointer: Expr,
        scalar: naga::Scalar,
        expected: Expr,
        new: Expr,
    ) -> Result<Expr, Diagnostic> {
        if self.context.options.strict {
            return Ok(self.try_exchange(pointer, scalar, expected, new).0);
        }
        let ty = self.scalar_type(scalar);
        let place = self.local(Some("old".into()), ty, None);
        let body = self.block(|w| {
            let (old, exchanged) = w.try_exchange(pointer, scalar, expected, new);
            w.store(place, old);
            let equal = w.binary(B::NotEqual, old, expected);
            let done = w.binary(B::LogicalOr, exchanged, equal);
            w.break_if(done)
        })?;
        self.repeat(body);
        Ok(self.load(place))
    }

    fn by_exchange(
        &mut self,
        pointer: Expr,
        op: Op,
        scalar: Scalar,
        (from, to): (naga::Scalar, naga::Scalar),
        value: Expr,
    ) -> Result<Expr, Diagnostic> {
        let ty = self.scalar_type(to);
        let place = self.local(Some("old".into()), ty, None);
        let body = self.block(|w| {
            let old = w.load(pointer);
            let number = w.bitcast(old, to, from);
            let new = match op {
                Op::AtomicMin | Op::AtomicMax => w.extreme(op == Op::AtomicMin, scalar, number, value)?,
                Op::AtomicAdd => w.binary(B::Add, number, value),
                other => return Err(error::operation(w.span, other)),
            };
            let new = w.bitcast(new, from, to);
            let (_, exchanged) = w.try_exchange(pointer, to, old, new);
            w.store(place, old);
            w.break_if(exchanged)
        })?;
        self.repeat(body);
        Ok(self.load(place))
    }

    /// Gives the old value, and whether the new one was written.
    fn try_exchange(&mut self, pointer: Expr, scalar: naga::Scalar, expected: Expr, new: Expr) -> (Expr, Expr) {
        let ty = self.context.out.generate_predeclared_type(PredeclaredType::AtomicCompareExchangeWeakResult(scalar));
        let fun = AtomicFunction::Exchange { compare: Some(expected) };
        let statement = |result| Statement::Atomic { pointer, fun, value: new, result: Some(result) };
        let both = self.result_of(Expression::AtomicResult { ty, comparison: true }, statement);
        let old = self.add(Expression::AccessIndex { base: both, index: 0 });
        (old, self.add(Expression::AccessIndex { base: both, index: 1 }))
    }

    pub(super) fn break_if(&mut self, condition: Expr) -> Result<(), Diagnostic> {
        let accept = self.block(|w| {
            w.statement(Statement::Break);
            Ok(())
        })?;
        self.statement(Statement::If { condition, accept, reject: Block::new() });
        Ok(())
    }

    pub(super) fn repeat(&mut self, body: Block) {
        self.statement(Statement::Loop { body, continuing: Block::new(), break_if: None });
    }
}

/// The native function for an operation on numbers of one type that are held as another.
fn native(op: Op, scalar: Scalar, held: Scalar) -> Option<AtomicFunction> {
    let bits = scalar != Scalar::F32;
    match op {
        Op::AtomicAdd if bits || held == scalar => Some(AtomicFunction::Add),
        Op::AtomicMin if held == scalar => Some(AtomicFunction::Min),
        Op::AtomicMax if held == scalar => Some(AtomicFunction::Max),
        Op::AtomicAnd => Some(AtomicFunction::And),
        Op::AtomicOr => Some(AtomicFunction::InclusiveOr),
        Op::AtomicXor => Some(AtomicFunction::ExclusiveOr),
        Op::AtomicExchange => Some(AtomicFunction::Exchange { compare: None }),
        _no_rule => None,
    }
}

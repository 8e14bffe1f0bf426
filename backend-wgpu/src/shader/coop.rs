//! Matrix fragments, by naga's cooperative matrices.

use super::error;
use super::types;
use super::writer::{Expr, ShaderWriter};
use girih_base::diag::Diagnostic;
use girih_base::span::Span;
use girih_ir::attrs::MatrixLayout;
use girih_ir::types::{CoopUse, MatrixShape};
use girih_ir::{Inst, Op, Scalar, Type};
use naga::{BinaryOperator, CooperativeData, CooperativeRole, CooperativeSize, Expression, Statement, TypeInner};

/// The naga type of a fragment.
pub fn fragment(usage: CoopUse, shape: MatrixShape, scalar: Scalar, span: Span) -> Result<TypeInner, Diagnostic> {
    let (rows, columns, role) = match usage {
        CoopUse::A => (shape.m, shape.k, CooperativeRole::A),
        CoopUse::B => (shape.k, shape.n, CooperativeRole::B),
        CoopUse::Acc => (shape.m, shape.n, CooperativeRole::C),
    };
    let side = |n: u16| match n {
        8 => Ok(CooperativeSize::Eight),
        16 => Ok(CooperativeSize::Sixteen),
        _ => Err(error::illegal(span, format!("fragments of the shape {shape}"))),
    };
    Ok(TypeInner::CooperativeMatrix {
        columns: side(columns)?,
        rows: side(rows)?,
        scalar: types::legal_scalar(scalar, span)?,
        role,
    })
}

impl ShaderWriter<'_, '_> {
    pub(super) fn coop(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let Some(Type::Coop(usage, shape, scalar)) = inst.ty else {
            return Err(error::operation(inst.span, inst.op));
        };
        let inner = fragment(usage, shape, scalar, inst.span)?;
        let value = match inst.op {
            Op::CoopLoad => {
                let stride = self.one(inst.operands[2])?;
                let data = self.fragment_data(inst, scalar, stride)?;
                let TypeInner::CooperativeMatrix { columns, rows, role, .. } = inner else {
                    return Err(error::internal(inst.span, "a fragment is no matrix"));
                };
                self.add(Expression::CooperativeLoad { columns, rows, role, data })
            }
            Op::CoopStore => {
                let target = self.one(inst.operands[2])?;
                let stride = self.one(inst.operands[3])?;
                let data = self.fragment_data(inst, scalar, stride)?;
                self.statement(Statement::CooperativeStore { target, data });
                return Ok(());
            }
            Op::CoopMma => {
                let (a, b) = (self.one(inst.operands[0])?, self.one(inst.operands[1])?);
                let c = self.one(inst.operands[2])?;
                self.add(Expression::CooperativeMultiplyAdd { a, b, c })
            }
            Op::CoopSplat => self.filled(inst, inner, scalar)?,
            other => return Err(error::operation(inst.span, other)),
        };
        self.define(inst.results[0], vec![value]);
        Ok(())
    }

    /// A fragment of equal elements. naga has one of zeros; [`crate::exact_floats`] takes its product with a scalar for the fragment that
    /// is filled with the scalar.
    fn filled(&mut self, inst: &Inst, inner: TypeInner, scalar: Scalar) -> Result<Expr, Diagnostic> {
        let ty = self.ty(inner);
        let zeros = self.add(Expression::ZeroValue(ty));
        if self.source.as_constant(inst.operands[0]).is_some_and(|bits| bits & (scalar.mask() >> 1) == 0) {
            return Ok(zeros);
        }
        if !self.context.options.strict {
            return Err(error::illegal(inst.span, "fragments that are filled with anything but 0")
                .hint("load the fragment from memory"));
        }
        let element = self.one(inst.operands[0])?;
        Ok(self.add(Expression::Binary { op: BinaryOperator::Multiply, left: zeros, right: element }))
    }

    fn fragment_data(&mut self, inst: &Inst, scalar: Scalar, stride: Expr) -> Result<CooperativeData, Diagnostic> {
        let (pointer, log) = self.fragment_place(inst.operands[0], scalar, inst.operands[1], inst.offset())?;
        // Counted in what the pointer points to.
        let stride = self.divided(stride, log);
        Ok(CooperativeData { pointer, stride, row_major: inst.layout() == MatrixLayout::Row })
    }
}

//! Rounding by a large sum, for browsers: `(x + m) - m` with m = 1.5 * 2^23 is the whole number nearest to x.
//!
//! WGSL lets compilers reorder sums of floats, and Chromium's software adapter takes such a difference for x itself. So it is written as what it
//! means. Both are the same number where |x| < 2^22, which is where the IR's library rounds so.

use super::writer::{Expr, ShaderWriter};
use naga::{BinaryOperator, Expression, Literal, MathFunction};

/// 1.5 * 2^23: numbers near it are whole.
const LARGE: f32 = 12_582_912.0;

impl ShaderWriter<'_, '_> {
    /// `left - right` as a rounding, if it is one and a browser compiles it.
    pub(super) fn rounding(&mut self, left: Expr, right: Expr) -> Option<Expr> {
        let is_large = |expr| matches!(self.out.expressions[expr], Expression::Literal(Literal::F32(x)) if x == LARGE);
        let Expression::Binary { op: BinaryOperator::Add, left: x, right: m } = self.out.expressions[left] else {
            return None;
        };
        let is_rounding = cfg!(target_arch = "wasm32") && is_large(right) && is_large(m);
        is_rounding.then(|| self.math(MathFunction::Round, &[x]))
    }
}

//! How deep expressions stand within each other where a module becomes text.
//!
//! naga's writers put an expression that is used once into the one that uses it. A sum of a hundred numbers is a hundred parentheses
//! then, and compilers stop there: Tint at 128, clang, which reads Metal's and Direct3D's languages, at 256.
//!
//! Invariant: no expression without a name holds more than [`DEEPEST`] others within each other.

use super::writer::Expr;
use naga::Expression;

/// Most expressions within each other: each is up to three parentheses.
const DEEPEST: u8 = 32;
/// What those that get a name for their depth are called.
pub const NAME: &str = "part";

/// For each expression of a function, how many stand within each other where it is written.
#[derive(Debug, Default)]
pub struct Nesting {
    depths: Vec<u8>,
}

impl Nesting {
    /// Takes note of an expression that is appended; says whether it needs a name.
    pub fn append(&mut self, expression: &Expression) -> bool {
        let depth = self.deepest_operand(expression).map_or(0, |deepest| deepest + 1);
        let is_too_deep = depth > DEEPEST;
        self.depths.push(if is_too_deep { 0 } else { depth });
        is_too_deep
    }

    /// How deep the deepest operand is; none where the writers have a name in its place, or nothing to put in.
    fn deepest_operand(&self, expression: &Expression) -> Option<u8> {
        let deepest = |operands: &[Option<Expr>]| operands.iter().flatten().map(|e| self.depths[e.index()]).max();
        match *expression {
            Expression::Unary { expr, .. } | Expression::As { expr, .. } => deepest(&[Some(expr)]),
            Expression::Binary { left, right, .. } => deepest(&[Some(left), Some(right)]),
            Expression::Select { condition, accept, reject } => deepest(&[Some(condition), Some(accept), Some(reject)]),
            Expression::Math { arg, arg1, arg2, arg3, .. } => deepest(&[Some(arg), arg1, arg2, arg3]),
            Expression::Access { base, index } => deepest(&[Some(base), Some(index)]),
            Expression::AccessIndex { base, .. } => deepest(&[Some(base)]),
            Expression::Splat { value, .. } => deepest(&[Some(value)]),
            Expression::Compose { ref components, .. } => components.iter().map(|e| self.depths[e.index()]).max(),
            // Loads and what statements give have names; the rest has no operands, or is not made here.
            _ => None,
        }
    }
}

//! What one scalar operation gives: the meaning of arithmetic, shared by the interpreter and constant folding.
use super::{Op, Scalar};
/// x
pub fn scalar(_op: Op, _ty: Scalar, _source: Scalar, _operands: &[u64]) -> Option<u64> {
    None
}

//! The mathematical functions of Bend on f32: log, atan2, sin, cos, tan, pow, and the remainder of `%`.
//!
//! Invariant: they are made of integer operations of 32 bits alone (multiplication to the upper and the lower half,
//! addition with carry, shifts, comparison, leading zeros; what stands here as a `u64` is a pair of words), apart from
//! one division in [`log`] and one square root in [`pow`], which IEEE 754 rounds correctly. So their results do not
//! depend on a machine's library, on fused or reordered float operations, nor on denormals that a device flushes: the
//! same steps give the same bits everywhere.
//!
//! A float is taken apart into sign, exponent and a significand of 32 bits (`float`), the function is a polynomial in
//! fixed point on a reduced argument (`fixed`), and the result, 31 bits and more of it right, is rounded once. So it is
//! the f32 nearest to the exact value but where that lies within 0.004 units of the middle between two of them, or
//! 0.0005 for powers and arc tangents: no result is off by more than 0.504 units in the last place. Special values
//! (zeros, infinities, NaN) are those that C demands of the functions.
//!
//! The coefficients are minimax polynomials found by Remez' exchange algorithm with 60 digits, then rounded.

mod arc_tangent;
mod fixed;
mod float;
mod logarithm;
mod power;
mod remainder;
mod trigonometry;

pub use arc_tangent::atan2;
pub use logarithm::{ln, log};
pub use power::pow;
pub use remainder::remainder;
pub use trigonometry::{cos, sin, tan};

//! Number literals before their kind is settled: the exact value that was written.

/// The value of a number literal, before its type is settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LiteralValue {
    /// Without a sign: u24 or u32.
    Unsigned(u32),
    /// With a sign: i24 or i32.
    Signed(i64),
    /// With a point: f24 or f32. The value is the nearest f32, not rounded to f24 yet.
    Float(f32),
}

//! Numbers of things, as messages say them.

use std::fmt::Display;

/// `0 values`, `1 value`, `2 values`.
pub fn counted<N: Display + PartialEq + From<u8>>(n: N, thing: &str) -> String {
    let plural = if n == N::from(1) { "" } else { "s" };
    format!("{n} {thing}{plural}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn only_one_is_singular() {
        assert_eq!([0u32, 1, 2].map(|n| counted(n, "value")), ["0 values", "1 value", "2 values"]);
    }
}

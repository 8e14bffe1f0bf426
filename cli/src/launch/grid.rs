//! `--grid` of `girih launch`: numbers, or sums and products of the kernel's arguments and constants, as in `cdiv(m, BLOCK_M) * cdiv(n, BLOCK_N)`.

use std::fmt;

/// A grid as it is written, a text for each dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct GridText(Vec<String>);

/// Reads `X[,Y[,Z]]`, or the same as a tuple of Python; commas between other parentheses belong to `cdiv`.
pub fn grid_text(text: &str) -> Result<GridText, String> {
    let text = without_tuple(text.trim());
    let mut parts = vec![String::new()];
    let mut depth = 0i32;
    for c in text.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    // 8x8 is 8,8.
    let numbers = |part: &String| part.chars().all(|c| c.is_ascii_digit() || c == 'x' || c == ' ');
    if let [only] = &parts[..]
        && numbers(only)
    {
        parts = only.split('x').map(str::to_owned).collect();
    }
    if parts.len() > 3 {
        return Err("a grid has at most three dimensions".into());
    }
    let grid = GridText(parts);
    // Names are looked up later; what is no expression is said now.
    grid.programs(&|_| Some(1)).map(|_| grid.clone())
}

/// What stands in a tuple of Python: `4` of `(4,)`, `4, 8` of `(4, 8)`.
fn without_tuple(text: &str) -> &str {
    let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).map(str::trim);
    // `(a) * (b)` is no tuple.
    let is_tuple = |inside: &&str| inside.contains(',') && !inside.contains(['(', ')']);
    inside.filter(is_tuple).map_or(text, |inside| inside.strip_suffix(',').unwrap_or(inside))
}

impl GridText {
    /// Whether it depends on what the kernel is given.
    pub fn has_names(&self) -> bool {
        self.0.iter().any(|part| part.contains(|c: char| c.is_ascii_alphabetic()))
    }

    /// The programs in each dimension, where names have these values.
    pub fn programs(&self, named: &dyn Fn(&str) -> Option<i128>) -> Result<[u32; 3], String> {
        let mut grid = [1; 3];
        for (slot, part) in grid.iter_mut().zip(&self.0) {
            let mut reader = Reader { rest: part.trim(), named };
            let value = reader.sum()?;
            if !reader.rest.is_empty() {
                return Err(format!("`{}` in `{part}` is not understood", reader.rest));
            }
            *slot = u32::try_from(value).map_err(|_| {
                format!("`{part}` is {value}: a grid has from 0 to {} programs in a dimension", u32::MAX)
            })?;
        }
        Ok(grid)
    }
}

impl fmt::Display for GridText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

struct Reader<'a> {
    rest: &'a str,
    named: &'a dyn Fn(&str) -> Option<i128>,
}

impl Reader<'_> {
    fn takes(&mut self, symbol: &str) -> bool {
        let found = self.rest.strip_prefix(symbol);
        self.rest = found.unwrap_or(self.rest).trim_start();
        found.is_some()
    }

    fn sum(&mut self) -> Result<i128, String> {
        let mut value = self.product()?;
        loop {
            let over = || "the grid is larger than any number".to_owned();
            if self.takes("+") {
                value = value.checked_add(self.product()?).ok_or_else(over)?;
            } else if self.takes("-") {
                value = value.checked_sub(self.product()?).ok_or_else(over)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<i128, String> {
        let mut value = self.atom()?;
        loop {
            if self.takes("*") {
                value = value.checked_mul(self.atom()?).ok_or("the grid is larger than any number")?;
            } else if self.takes("//") || self.takes("/") {
                value = divided(value, self.atom()?)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn atom(&mut self) -> Result<i128, String> {
        if self.takes("(") {
            let value = self.sum()?;
            return if self.takes(")") { Ok(value) } else { Err("`(` is not closed".into()) };
        }
        let end =
            self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        if let Ok(number) = word.parse() {
            return Ok(number);
        }
        if word.is_empty() {
            return Err("a number or a name is missing in the grid".into());
        }
        if matches!(word, "cdiv" | "triton.cdiv" | "tl.cdiv") && self.takes("(") {
            let (a, comma, b) = (self.sum()?, self.takes(","), self.sum()?);
            if !comma || !self.takes(")") {
                return Err("`cdiv` is written cdiv(a, b)".into());
            }
            return divided(a.saturating_add(b - 1), b);
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!("`{word}` is not a whole number"));
        }
        (self.named)(word).ok_or_else(|| format!("`{word}` in the grid is not an argument or constant of the kernel"))
    }
}

fn divided(a: i128, b: i128) -> Result<i128, String> {
    if b == 0 { Err("the grid divides by 0".into()) } else { Ok(a.div_euclid(b)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_numbers_or_arithmetic_on_what_a_kernel_is_given() {
        let named = |name: &str| match name {
            "m" => Some(1000),
            "BLOCK_M" => Some(128),
            _unknown => None,
        };
        let programs = |text: &str| grid_text(text).and_then(|grid| grid.programs(&named));
        assert_eq!(programs("64"), Ok([64, 1, 1]));
        assert_eq!(programs("8,8"), Ok([8, 8, 1]));
        assert_eq!(programs("4x4x4"), Ok([4, 4, 4]));
        assert_eq!((programs("(4,)"), programs("(4, 8)")), (Ok([4, 1, 1]), Ok([4, 8, 1])));
        assert_eq!(programs("cdiv(m, BLOCK_M) * 2, (m + 24) // 2"), Ok([16, 512, 1]));
        assert_eq!(programs("triton.cdiv(m, 100) - 1"), Ok([9, 1, 1]));
        for wrong in ["", "8,", "1,2,3,4", "m / (1 - 1)", "cdiv(m)", "n", "3 - 4", "4294967296", "(2", "2 2"] {
            assert!(programs(wrong).is_err(), "{wrong}");
        }
        assert!(grid_text("cdiv(m, 2)").is_ok_and(|g| g.has_names()) && grid_text("8x8").is_ok_and(|g| !g.has_names()));
    }
}

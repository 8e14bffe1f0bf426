//! What an f-string makes of a value: `{x!r:>8.3f}`, Python's formats of numbers and texts.
//!
//! Invariant: a format that is not understood is an error, never left out.

use super::operator::float_of;
use super::value::Value;

/// What stands behind the colon: `[[fill]align][sign][#][0][width][,][.precision][letter]`.
struct Format {
    fill: char,
    align: Option<char>,
    sign: char,
    prefix: bool,
    width: usize,
    groups: Option<char>,
    precision: Option<usize>,
    letter: Option<char>,
}

impl Format {
    fn read(text: &str) -> Option<Format> {
        let letters: Vec<char> = text.chars().collect();
        let is_align = |c: Option<&char>| c.filter(|c| matches!(c, '<' | '>' | '^' | '=')).copied();
        let mut format = Format {
            fill: ' ',
            align: None,
            sign: '-',
            prefix: false,
            width: 0,
            groups: None,
            precision: None,
            letter: None,
        };
        let mut at = 0;
        if let Some(align) = is_align(letters.get(1)) {
            (format.fill, format.align, at) = (letters[0], Some(align), 2);
        } else if let Some(align) = is_align(letters.first()) {
            (format.align, at) = (Some(align), 1);
        }
        if let Some(sign) = letters.get(at).filter(|c| matches!(c, '+' | '-' | ' ')) {
            (format.sign, at) = (*sign, at + 1);
        }
        if letters.get(at) == Some(&'#') {
            (format.prefix, at) = (true, at + 1);
        }
        if letters.get(at) == Some(&'0') {
            at += 1;
            if format.align.is_none() {
                (format.fill, format.align) = ('0', Some('='));
            }
        }
        let digits = |at: &mut usize| {
            let from = *at;
            *at += letters[from..].iter().take_while(|c| c.is_ascii_digit()).count();
            letters[from..*at].iter().collect::<String>()
        };
        let width = digits(&mut at);
        format.width = if width.is_empty() { 0 } else { width.parse().ok().filter(|width| *width <= 1024)? };
        if let Some(groups) = letters.get(at).filter(|c| matches!(c, ',' | '_')) {
            (format.groups, at) = (Some(*groups), at + 1);
        }
        if letters.get(at) == Some(&'.') {
            at += 1;
            format.precision = Some(digits(&mut at).parse().ok().filter(|precision| *precision <= 64)?);
        }
        if let Some(letter) = letters.get(at) {
            (format.letter, at) = (Some(*letter), at + 1);
        }
        (at == letters.len()).then_some(format)
    }

    /// A text in its width.
    fn padded(&self, sign: &str, text: &str, default: char) -> String {
        let missing = self.width.saturating_sub(sign.chars().count() + text.chars().count());
        let fill = |n: usize| self.fill.to_string().repeat(n);
        match self.align.unwrap_or(default) {
            '<' => format!("{sign}{text}{}", fill(missing)),
            '^' => format!("{}{sign}{text}{}", fill(missing / 2), fill(missing - missing / 2)),
            '=' => format!("{sign}{}{text}", fill(missing)),
            _right => format!("{}{sign}{text}", fill(missing)),
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.sign) {
            (true, _) => "-",
            (false, '+') => "+",
            (false, ' ') => " ",
            (false, _) => "",
        }
    }

    /// Digits in groups of three.
    fn grouped(&self, digits: String) -> String {
        let Some(groups) = self.groups else { return digits };
        let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
        let mut out = String::new();
        for (i, digit) in whole.chars().enumerate() {
            if i > 0 && (whole.len() - i).is_multiple_of(3) {
                out.push(groups);
            }
            out.push(digit);
        }
        out + rest
    }

    fn integer(&self, n: i128) -> Option<String> {
        let size = n.unsigned_abs();
        let digits = match (self.letter, self.prefix) {
            (None | Some('d'), _) => self.grouped(size.to_string()),
            (Some('x'), false) => format!("{size:x}"),
            (Some('x'), true) => format!("{size:#x}"),
            (Some('X'), _) => format!("{size:X}"),
            (Some('b'), false) => format!("{size:b}"),
            (Some('b'), true) => format!("{size:#b}"),
            (Some('o'), _) => format!("{size:o}"),
            (Some(_), _) => return self.float(n as f64),
        };
        Some(self.padded(self.sign(n < 0), &digits, '>'))
    }

    fn float(&self, x: f64) -> Option<String> {
        let (size, precision) = (x.abs(), self.precision.unwrap_or(6));
        let digits = match self.letter {
            Some('f' | 'F') => format!("{size:.precision$}"),
            Some('%') => format!("{:.precision$}%", size * 100.0),
            Some('e') => exponent(&format!("{size:.precision$e}")),
            Some('g') | None if self.precision.is_some() => general(size, precision.max(1)),
            Some('g') => general(size, 6),
            None => format!("{size:?}"),
            Some(_) => return None,
        };
        Some(self.padded(self.sign(x.is_sign_negative() && !x.is_nan()), &self.grouped(digits), '>'))
    }

    fn text(&self, text: &str) -> Option<String> {
        if !matches!(self.letter, None | Some('s')) {
            return None;
        }
        let cut: String = text.chars().take(self.precision.unwrap_or(usize::MAX)).collect();
        Some(self.padded("", &cut, '<'))
    }
}

/// An exponent as Python writes it: with a sign and two digits.
fn exponent(text: &str) -> String {
    let Some((digits, power)) = text.split_once('e') else { return text.to_owned() };
    let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
    format!("{digits}e{sign}{power:0>2}")
}

/// So many digits in all, without zeros at the end.
fn general(x: f64, digits: usize) -> String {
    if !x.is_finite() || x == 0.0 {
        return if x == 0.0 { "0".into() } else { format!("{x}").to_lowercase() };
    }
    let shown = format!("{x:.*e}", digits - 1);
    let power: i32 = shown.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    let cut = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if power < -4 || power >= digits as i32 {
        let (mantissa, power) = shown.split_once('e').unwrap_or((&shown, "0"));
        return exponent(&format!("{}e{power}", cut(mantissa)));
    }
    let behind = (digits as i32 - 1 - power).max(0) as usize;
    cut(&format!("{x:.behind$}"))
}

/// A value as Python's `repr` has it.
fn represented(value: &Value) -> String {
    match value {
        Value::Str(text) => format!("'{text}'"),
        Value::Tuple(items) if items.len() == 1 => format!("({},)", represented(&items[0])),
        Value::Tuple(items) => format!("({})", items.iter().map(represented).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// What `{value!letter:format}` is; or why it is nothing, as a sentence.
pub(super) fn shown(value: &Value, letter: Option<char>, format: &str) -> Result<String, String> {
    let text = match letter {
        None | Some('s') => value.to_string(),
        Some('r' | 'a') => represented(value),
        Some(other) => return Err(format!("an f-string has no conversion `!{other}`")),
    };
    if format.is_empty() {
        return Ok(text);
    }
    let wrong = || format!("the format `{format}` is not known for {}", value.kind());
    let read = Format::read(format).ok_or_else(wrong)?;
    let made = match (value, letter) {
        (Value::Int(n), None) => read.integer(*n),
        (Value::Bool(b), None) if read.letter.is_some() => read.integer(i128::from(*b)),
        (Value::Float(_), None) => float_of(value).and_then(|x| read.float(x)),
        (_, _) => read.text(&text),
    };
    made.ok_or_else(wrong)
}

/// What `text % values` is; or why it is nothing, as a sentence.
pub(super) fn percent(text: &str, values: &[Value]) -> Result<String, String> {
    let (mut out, mut rest, mut values) = (String::new(), text, values.iter());
    while let Some((before, behind)) = rest.split_once('%') {
        out.push_str(before);
        let end = behind.find(|c: char| c.is_ascii_alphabetic() || c == '%');
        let Some((format, letter)) = end.and_then(|end| Some((&behind[..end], behind[end..].chars().next()?))) else {
            return Err(format!("the format `%{behind}` has no letter"));
        };
        rest = &behind[format.len() + 1..];
        if letter == '%' {
            out.push('%');
            continue;
        }
        let value = values.next().ok_or_else(|| format!("there is no value for `%{format}{letter}`"))?;
        // A minus puts the value to the left there; numbers and texts stand at the right without it.
        let format = match format.strip_prefix('-') {
            Some(format) => format!("<{format}"),
            None if matches!(letter, 's' | 'r') && !format.is_empty() => format!(">{format}"),
            None => format.to_owned(),
        };
        out.push_str(&match letter {
            's' => shown(value, Some('s'), &format)?,
            'r' => shown(value, Some('r'), &format)?,
            'i' | 'u' => shown(value, None, &format!("{format}d"))?,
            other => shown(value, None, &format!("{format}{other}"))?,
        });
    }
    match values.next() {
        Some(_) => Err(format!("`{text}` has fewer formats than there are values")),
        None => Ok(out + rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_have_pythons_formats() {
        let cases = [
            (Value::Int(42), None, ">5", "   42"),
            (Value::Int(42), None, "05d", "00042"),
            (Value::Int(-42), None, "06", "-00042"),
            (Value::Int(1_234_567), None, ",", "1,234,567"),
            (Value::Int(255), None, "#x", "0xff"),
            (Value::Int(5), None, "08b", "00000101"),
            (Value::Int(3), None, ".2f", "3.00"),
            (Value::Float(2.71501), None, ".2f", "2.72"),
            (Value::Float(2.71501), None, "8.3f", "   2.715"),
            (Value::Float(-0.5), None, "+.1%", "-50.0%"),
            (Value::Float(12345.678), None, ".3e", "1.235e+04"),
            (Value::Float(12345.678), None, "g", "12345.7"),
            (Value::Float(1e-7), None, "g", "1e-07"),
            (Value::text("ab"), None, "^6", "  ab  "),
            (Value::text("ab"), Some('r'), "*<6", "'ab'**"),
            (Value::text("abc"), None, ".2", "ab"),
            (Value::Tuple(vec![Value::text("a")]), Some('r'), "", "('a',)"),
        ];
        for (value, letter, format, expected) in cases {
            assert_eq!(shown(&value, letter, format).as_deref(), Ok(expected), "{value} {format}");
        }
        let values = [Value::text("a"), Value::Int(5), Value::Float(0.5)];
        assert_eq!(percent("%s: %03d%% %-6.2f|", &values).as_deref(), Ok("a: 005% 0.50  |"));
        assert!(percent("%d", &[]).is_err() && percent("a", &values).is_err());
        assert!(shown(&Value::text("a"), None, "d").is_err() && shown(&Value::Int(1), None, "{w}").is_err());
    }
}

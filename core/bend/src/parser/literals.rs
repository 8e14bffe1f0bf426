//! Literals: numbers with their signs, bases, fractions and suffixes; characters, strings and symbols.

use super::{Failed, Parsed, Parser};
use crate::ast::{Literal, LiteralValue};
use girih_base::diag::Code;
use girih_base::lexer::is_name_char;
use girih_base::name::Name;
use girih_base::num::NumKind;
use girih_base::span::Span;

/// The digits of a number, before they mean something.
struct Digits<'t> {
    negative: bool,
    signed: bool,
    base: u32,
    whole: &'t str,
    fraction: Option<&'t str>,
}

impl<'t> Parser<'t, '_> {
    /// Whether a number comes next, or a sign that should have been one.
    pub(super) fn at_number(&self) -> bool {
        self.cursor.peek().is_some_and(|c| c.is_ascii_digit() || c == '+' || c == '-')
    }

    /// A number with all that may belong to it.
    pub(super) fn number(&mut self) -> Parsed<Literal> {
        let start = self.cursor.at();
        let digits = self.digits()?;
        let suffix = self.suffix(start)?;
        let span = self.cursor.span_from(start);
        let text = Name::new(&self.cursor.text()[start..start + (span.end - span.start) as usize]);
        let value = match (digits.fraction, suffix) {
            (Some(_), None | Some(NumKind::F24 | NumKind::F32)) | (None, Some(NumKind::F24 | NumKind::F32)) => {
                LiteralValue::Float(self.float(&digits, span)?)
            }
            (Some(_), Some(kind @ (NumKind::U24 | NumKind::I24 | NumKind::U32 | NumKind::I32))) => {
                let message = format!("`{text}` has a point, so it cannot be of the type `{}`", kind.name());
                return Err(self.error_with_hint(
                    Code::BadLiteral,
                    span,
                    message,
                    "numbers with a point are `f24` or `f32`",
                ));
            }
            (None, None | Some(NumKind::U24 | NumKind::I24 | NumKind::U32 | NumKind::I32)) => {
                self.integer(&digits, suffix, span)?
            }
        };
        Ok(Literal { text, value, suffix })
    }

    /// An unsigned number without a suffix: a pattern, a case of `switch`, or behind a `#`.
    pub(super) fn natural(&mut self) -> Parsed<u32> {
        let start = self.cursor.at();
        let base = self.base();
        let whole = self.digits_of(base)?;
        self.end_of_number(start)?;
        match u32::from_str_radix(&without_underscores(whole), base) {
            Ok(value) => Ok(value),
            Err(_) => Err(self.out_of_range(self.cursor.span_from(start), "from 0 to 4294967295")),
        }
    }

    fn digits(&mut self) -> Parsed<Digits<'t>> {
        let negative = self.cursor.starts_with("-");
        let signed = self.cursor.eat("+") || self.cursor.eat("-");
        let base = self.base();
        let whole = self.digits_of(base)?;
        let fraction = if self.cursor.eat(".") { Some(self.digits_of(base)?) } else { None };
        Ok(Digits { negative, signed, base, whole, fraction })
    }

    fn base(&mut self) -> u32 {
        if self.cursor.eat("0x") {
            16
        } else if self.cursor.eat("0b") {
            2
        } else {
            10
        }
    }

    fn digits_of(&mut self, base: u32) -> Parsed<&'t str> {
        let digits = self.cursor.take_while(|c| c.is_digit(base) || c == '_');
        if digits.chars().all(|c| c == '_') {
            return Err(self.bad_digit(base));
        }
        Ok(digits)
    }

    fn bad_digit(&mut self, base: u32) -> Failed {
        let kind = match base {
            2 => "a binary digit",
            16 => "a hexadecimal digit",
            _ => "a digit",
        };
        let start = self.cursor.at();
        let (length, found) = match self.cursor.peek() {
            Some('\r' | '\n') | None => (0, "the end of the line".to_owned()),
            Some(c) if c.is_whitespace() => (c.len_utf8(), "a space".to_owned()),
            Some(c) => (c.len_utf8(), format!("`{c}`")),
        };
        let span = self.cursor.span(start, start + length);
        let message = format!("expected {kind}, found {found}");
        if self.cursor.starts_with(".") {
            let hint =
                "there are no ranges: a function that calls itself, or a `bend`, makes the numbers one after the other";
            return self.error_with_hint(Code::BadLiteral, span, message, hint);
        }
        let before = &self.cursor.text()[..start];
        if base == 10 && before.ends_with(['-', '+']) && self.cursor.peek().is_some_and(is_name_char) {
            let hint = "only a number has a sign: write `0 - x`, and `+0 - x` for an `i24`";
            return self.error_with_hint(Code::BadLiteral, span, message, hint);
        }
        self.error(Code::BadLiteral, span, message)
    }

    fn suffix(&mut self, start: usize) -> Parsed<Option<NumKind>> {
        let mut ahead = self.cursor;
        let word = ahead.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let suffix = NumKind::find(word);
        if suffix.is_some() {
            self.cursor = ahead;
        }
        self.end_of_number(start)?;
        Ok(suffix)
    }

    /// Checks that no letter, digit or point follows a number directly.
    fn end_of_number(&mut self, start: usize) -> Parsed<()> {
        let number = self.cursor.span_from(start);
        let tail = self.cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if tail.is_empty() {
            return Ok(());
        }
        let span = self.cursor.span_from(number.end as usize);
        let spelling = &self.cursor.text()[start..number.end as usize];
        let message = format!("`{tail}` cannot directly follow the number `{spelling}`");
        let hint = if tail.starts_with(['e', 'E']) && tail[1..].bytes().all(|b| b.is_ascii_digit()) {
            return Err(self.exponent(span, message, spelling, tail));
        } else {
            "a number may be followed by a type, as in `5u32`, `-3i32` or `1.5f32`; put a space before anything else"
        };
        Err(self.error_with_hint(Code::BadLiteral, span, message, hint))
    }

    fn exponent(&mut self, span: Span, message: String, spelling: &str, tail: &str) -> Failed {
        let value = format!("{spelling}{tail}").parse::<f32>().ok().filter(|value| *value < 1e9);
        let hint = match value {
            Some(value) => format!("there are no exponents: write `{value:?}`"),
            None => "there are no exponents: write the number out".to_owned(),
        };
        self.error_with_hint(Code::BadLiteral, span, message, hint)
    }

    fn float(&mut self, digits: &Digits, span: Span) -> Parsed<f32> {
        let whole = without_underscores(digits.whole);
        let fraction = without_underscores(digits.fraction.unwrap_or("0"));
        let magnitude = match digits.base {
            10 => format!("{whole}.{fraction}").parse::<f32>().unwrap_or(f32::INFINITY),
            base => scaled(base, &whole, &fraction),
        };
        if magnitude.is_infinite() {
            return Err(self.out_of_range(span, "up to 3.4 × 10^38"));
        }
        Ok(if digits.negative { -magnitude } else { magnitude })
    }

    fn integer(&mut self, digits: &Digits, suffix: Option<NumKind>, span: Span) -> Parsed<LiteralValue> {
        let magnitude = u64::from_str_radix(&without_underscores(digits.whole), digits.base).unwrap_or(u64::MAX);
        let kind = suffix.unwrap_or(if digits.signed { NumKind::I32 } else { NumKind::U32 });
        let (low, high) = match kind {
            NumKind::U24 => (0, 0xff_ffff),
            NumKind::U32 => (0, i64::from(u32::MAX)),
            NumKind::I24 => (-0x80_0000, 0x7f_ffff),
            NumKind::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            NumKind::F24 | NumKind::F32 => return Ok(LiteralValue::Float(self.float(digits, span)?)),
        };
        let unsigned = matches!(kind, NumKind::U24 | NumKind::U32);
        if unsigned && digits.signed {
            let message = format!("a number of the type `{}` has no sign", kind.name());
            return Err(self.error_with_hint(Code::BadLiteral, span, message, "signed numbers are `i24` or `i32`"));
        }
        let value = i64::try_from(magnitude).unwrap_or(i64::MAX);
        let value = if digits.negative { -value } else { value };
        if value < low || value > high {
            return Err(self.out_of_range(span, &format!("from {low} to {high}")));
        }
        Ok(if unsigned { LiteralValue::Unsigned(value as u32) } else { LiteralValue::Signed(value) })
    }

    fn out_of_range(&mut self, span: Span, range: &str) -> Failed {
        self.error(Code::LiteralRange, span, format!("this number is out of range: numbers of its type go {range}"))
    }

    /// `'c'`.
    pub(super) fn char_literal(&mut self) -> Parsed<char> {
        let start = self.cursor.at();
        self.cursor.advance("'".len());
        let c = self.char_or_escape(start, "character")?;
        if !self.cursor.eat("'") {
            let line = self.cursor.rest().lines().next().unwrap_or_default();
            if let Some(length) = line.find('\'') {
                let span = self.cursor.span(start, self.cursor.at() + length + "'".len());
                let text = &self.cursor.text()[start + "'".len()..self.cursor.at() + length];
                let hint = format!("text stands between `\"`: write `\"{text}\"`");
                return Err(self.error_with_hint(Code::BadLiteral, span, "this is more than one character", hint));
            }
            let span = self.cursor.span(start, self.cursor.at());
            let hint = "a character is one character or escape sequence between `'`; text stands between `\"`";
            return Err(self.error_with_hint(Code::BadLiteral, span, "expected `'` after the character", hint));
        }
        Ok(c)
    }

    /// `"text"`.
    pub(super) fn string_literal(&mut self) -> Parsed<String> {
        let start = self.cursor.at();
        self.cursor.advance("\"".len());
        let mut text = String::new();
        loop {
            text.push_str(self.cursor.take_while(|c| c != '"' && c != '\\'));
            if self.cursor.eat("\"") {
                return Ok(text);
            }
            text.push(self.char_or_escape(start, "string")?);
        }
    }

    fn char_or_escape(&mut self, literal: usize, what: &str) -> Parsed<char> {
        let start = self.cursor.at();
        let c = match self.cursor.next_char() {
            Some('\\') => return self.escape(start, literal, what),
            Some(c) => c,
            None => {
                let span = self.cursor.span(literal, literal + 1);
                return Err(self.never_closed(span, what));
            }
        };
        Ok(c)
    }

    fn never_closed(&mut self, span: Span, what: &str) -> Failed {
        let quote = if what == "string" { '"' } else { '\'' };
        let hint = format!("it ends with `{quote}`; a `{quote}` inside of it is written `\\{quote}`");
        self.error_with_hint(Code::BadLiteral, span, format!("this {what} is never closed"), hint)
    }

    fn escape(&mut self, start: usize, literal: usize, what: &str) -> Parsed<char> {
        let c = match self.cursor.next_char() {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('0') => '\0',
            Some(c @ ('\'' | '"' | '\\')) => c,
            Some('u') => return self.unicode_escape(start),
            Some(c) => {
                let span = self.cursor.span_from(start);
                let hint = "the escape sequences are `\\n`, `\\r`, `\\t`, `\\0`, `\\'`, `\\\"`, `\\\\` and `\\u{hex}`";
                return Err(self.error_with_hint(
                    Code::BadLiteral,
                    span,
                    format!("`\\{c}` is not an escape sequence"),
                    hint,
                ));
            }
            None => {
                let span = self.cursor.span(literal, literal + 1);
                return Err(self.never_closed(span, what));
            }
        };
        Ok(c)
    }

    fn unicode_escape(&mut self, start: usize) -> Parsed<char> {
        let opened = self.cursor.eat("{");
        let digits = self.cursor.take_while(|c| c.is_ascii_hexdigit());
        let closed = opened && self.cursor.eat("}");
        let span = self.cursor.span_from(start);
        if !closed {
            let message = "expected hexadecimal digits in braces, as in `\\u{1F600}`";
            return Err(self.error(Code::BadLiteral, span, message));
        }
        match u32::from_str_radix(digits, 16).ok().and_then(char::from_u32) {
            Some(c) => Ok(c),
            None => Err(self.error(Code::BadLiteral, span, format!("`{digits}` is not the number of a character"))),
        }
    }

    /// `` `abcd` ``.
    pub(super) fn symbol_literal(&mut self) -> Parsed<Name> {
        let start = self.cursor.at();
        self.cursor.advance("`".len());
        let text = self.cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '+' || c == '/');
        let closed = self.cursor.eat("`");
        if !closed || text.len() > 4 {
            let span = self.cursor.span(start, self.cursor.at());
            let hint = "a symbol has up to four letters, digits, `+` and `/` between two `` ` ``; text stands between `\"`, \
                        and `String/concat(\"n = \", u24/to_string(n))` puts text together";
            return Err(self.error_with_hint(Code::BadLiteral, span, "this is not a symbol", hint));
        }
        Ok(Name::new(text))
    }
}

fn without_underscores(digits: &str) -> String {
    digits.chars().filter(|c| *c != '_').collect()
}

/// The nearest f32 of a number with binary or hexadecimal digits on both sides of the point.
fn scaled(base: u32, whole: &str, fraction: &str) -> f32 {
    let bits = base.trailing_zeros() as i32;
    let mut mantissa: u64 = 0;
    let mut exponent: i32 = 0;
    for digit in whole.chars().chain(fraction.chars()).filter_map(|c| c.to_digit(base)) {
        if mantissa >> 58 == 0 {
            mantissa = mantissa << bits | u64::from(digit);
        } else {
            // Far behind the last bit that counts: only whether there is something left matters for rounding.
            mantissa |= u64::from(digit != 0);
            exponent = exponent.saturating_add(bits);
        }
    }
    let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    exponent = exponent.saturating_sub(places.saturating_mul(bits));
    // A multiplication by a power of two is exact in f64 as long as the result is not subnormal there, and every f32
    // that is not zero lies far above that; the mantissa is cut to f64 with its sticky bit kept odd.
    let mantissa = sticky_f64(mantissa);
    (mantissa * 2f64.powi(exponent.clamp(-1000, 1000))) as f32
}

/// A u64 as an f64 that rounds to the same f32: bits that f64 does not have are kept as one sticky bit.
fn sticky_f64(value: u64) -> f64 {
    let spare = (64 - value.leading_zeros()).saturating_sub(53);
    let kept = value >> spare;
    let sticky = u64::from(kept << spare != value);
    (kept | sticky) as f64 * 2f64.powi(spare as i32)
}

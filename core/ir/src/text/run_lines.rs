//! Run lines: what a `.gir` file says about itself. A test is a file with such lines; who runs them stands elsewhere.
//!
//! ```text
//! run      = "; run:" @name { "grid" "(" x ["," y ["," z]] ")" | "spec(" %name "=" literal ")" } "(" [ argument {"," argument} ] ")"
//!            [ outcome ] [ "checked" ]
//! outcome  = "==" literal {"," literal} [ tolerance ]      what a function gives
//!          | "traps(" n ")"                                the trap that is reported
//!          | "error" code                                  the error that ends the run
//! argument = literal                                       of the parameter's type
//!          | memory [ "->" memory [ tolerance ] ]          what a buffer holds before and after; without `->` devices are only
//!                                                          compared with the interpreter
//! memory   = scalar "[" [ literal {"," literal} ] "]" | scalar ".zeros(" n ")" | scalar ".iota(" n ")"
//!          | scalar ".fill(" n "," literal ")" | scalar ".random(" n "," seed ")"
//! tolerance= "~" number                                    relative
//! ```
//!
//! `checked` lines are for the checked interpreter alone. `random` is the same on every machine: integers have all bits random, floats lie in [-1, 1).

use super::lexer::{Kind, lex};
use super::parser::cursor::{Cursor, Parse, counted};
use super::words::unquoted;
use crate::eval::{narrow, widen};
use crate::function::{Function, FunctionId, Module, ValueId};
use crate::types::{Scalar, Space, Type};
use girih_base::diag::{Code, Diagnostic};
use girih_base::name::Name;
use girih_base::span::{SourceId, Span};

/// A run line.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLine {
    /// Where it stands, without `; run:`.
    pub span: Span,
    /// The function or kernel.
    pub function: FunctionId,
    /// How many workgroups run; the kernel's own grid if absent.
    pub grid: Option<[u32; 3]>,
    /// Values of specialisation constants, by name without `%`.
    pub specialisations: Vec<(String, u64)>,
    /// One for each parameter.
    pub arguments: Vec<RunArgument>,
    /// What is to come of it.
    pub outcome: Outcome,
    /// Whether it is for the checked interpreter alone.
    pub checked: bool,
}

/// An argument of a run line.
#[derive(Clone, Debug, PartialEq)]
pub enum RunArgument {
    /// A number: its type and bits.
    Scalar(Scalar, u64),
    /// A buffer.
    Memory {
        /// What it holds before.
        initial: MemoryInit,
        /// What it holds after; anything on which all devices agree if absent.
        expected: Option<Expectation>,
    },
}

/// What is to come of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It ends.
    Ends,
    /// A function gives these values.
    Gives(Expectation),
    /// It reports this trap.
    Traps(u32),
    /// It ends with this error.
    Fails(Code),
}

/// Values and how near others have to be to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Each with its type.
    pub values: Vec<(Scalar, u64)>,
    /// Relative tolerance of floats; 0 asks for the same number, where a denormal may be zero and NaN is any NaN.
    pub tolerance: f64,
}

/// What a memory holds.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryInit {
    /// Type of its elements.
    pub scalar: Scalar,
    /// The elements.
    pub elements: Elements,
}

/// The elements of a memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// These bits.
    Listed(Vec<u64>),
    /// So many zeros.
    Zeros(u32),
    /// 0, 1, 2, .. so many; integers wrap, floats are the nearest ones.
    Iota(u32),
    /// So many times these bits.
    Fill(u32, u64),
    /// So many random ones, by seed.
    Random(u32, u64),
}

/// A memory of a run line is not larger than this, in bytes.
const MOST_BYTES: u64 = 1 << 30;

impl MemoryInit {
    /// How many elements.
    pub fn len(&self) -> usize {
        match &self.elements {
            Elements::Listed(bits) => bits.len(),
            Elements::Zeros(n) | Elements::Iota(n) | Elements::Fill(n, _) | Elements::Random(n, _) => *n as usize,
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The elements' bits.
    pub fn bits(&self) -> Vec<u64> {
        let all = 0..self.len() as u64;
        match &self.elements {
            Elements::Listed(bits) => bits.clone(),
            Elements::Zeros(_) => all.map(|_| 0).collect(),
            Elements::Fill(_, bits) => all.map(|_| *bits).collect(),
            Elements::Iota(_) if self.scalar.is_float() => all.map(|i| narrow(i as f64, self.scalar)).collect(),
            Elements::Iota(_) => all.map(|i| i & self.scalar.mask()).collect(),
            Elements::Random(_, seed) => all.map(|i| random(self.scalar, *seed, i)).collect(),
        }
    }
    /// The bytes, least significant first, without padding.
    pub fn bytes(&self) -> Vec<u8> {
        let width = self.scalar.bytes() as usize;
        self.bits().iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width)).collect()
    }
}

/// The element of a random memory at a place: SplitMix64.
fn random(scalar: Scalar, seed: u64, place: u64) -> u64 {
    let mut x = seed.wrapping_add(place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    let Some(format) = scalar.float_format() else { return x >> (64 - scalar.bits()) };
    let digits = format.mantissa + 1;
    // Exact: so many digits are what the type has.
    let half = (1u64 << (digits - 1)) as f64;
    narrow((x >> (64 - digits)) as f64 / half - 1.0, scalar)
}

impl Expectation {
    /// The first of the found values that is not as expected: its position. A different number of values is seen at the first one
    /// that the other side lacks.
    pub fn mismatch(&self, found: &[u64]) -> Option<usize> {
        let wrong =
            |((scalar, expected), found): (&(Scalar, u64), &u64)| !agrees(*scalar, *expected, *found, self.tolerance);
        let first = self.values.iter().zip(found).position(wrong);
        first.or((self.values.len() != found.len()).then_some(self.values.len().min(found.len())))
    }
    /// The same for a memory's bytes.
    pub fn mismatch_in(&self, bytes: &[u8]) -> Option<usize> {
        let mut rest = bytes;
        let mut found = vec![];
        for (scalar, _) in &self.values {
            let Some((element, behind)) = rest.split_at_checked(scalar.bytes() as usize) else { break };
            let mut word = [0; 8];
            word[..element.len()].copy_from_slice(element);
            found.push(u64::from_le_bytes(word));
            rest = behind;
        }
        self.mismatch(&found)
    }
}

/// Whether a device's value is as good as the expected one.
pub fn agrees(scalar: Scalar, expected: u64, found: u64, tolerance: f64) -> bool {
    if expected == found || !scalar.is_float() {
        return expected == found;
    }
    let (a, b) = (widen(expected, scalar), widen(found, scalar));
    if a.is_nan() || b.is_nan() || a.is_infinite() || b.is_infinite() {
        return a.is_nan() && b.is_nan();
    }
    let least_normal = scalar.float_format().map_or(0.0, |format| widen(format.least_normal(), scalar));
    let flushed = b == 0.0 && a.abs() < least_normal;
    a == b || flushed || (a - b).abs() <= tolerance * a.abs()
}

/// Reads the run line at these bytes of a text.
pub(super) fn parse(
    source: SourceId,
    text: &str,
    (start, end): (usize, usize),
    module: &Module,
) -> Result<RunLine, Vec<Diagnostic>> {
    let lexed = lex(text, start, end);
    let mut cursor = Cursor::new(source, text, &lexed.tokens, "run line");
    run(&mut cursor, module).map_err(|_| cursor.errors)
}

fn run(cursor: &mut Cursor<'_>, module: &Module) -> Parse<RunLine> {
    let start = cursor.peek();
    let (written, span) = cursor.name(Kind::Function, "the function's name")?;
    let name = unquoted(written);
    let Some(function) = module.find(&name) else {
        let message = format!("there is no function `@{written}`");
        let known = module.functions.iter().map(|f| f.name.as_str());
        return cursor.unknown(Code::IrName, span, message, &name, known, "@");
    };
    let f = &module.functions[function];
    let (mut grid, mut specialisations) = (None, vec![]);
    while !cursor.at_sign(b'(') {
        match cursor.one_of(&[("grid", true), ("spec", false)], "how a kernel is launched")? {
            true => grid = Some(cursor.extent()?),
            false => specialisations.push(specialisation(cursor, f)?),
        }
    }
    let arguments = arguments(cursor, f, span)?;
    let outcome = outcome(cursor, f)?;
    let checked = cursor.eat_word("checked");
    if cursor.peek().kind != Kind::End {
        return cursor.unexpected("nothing more on the run line");
    }
    let span = cursor.span_since(start);
    if f.launch.is_none() && (grid.is_some() || !specialisations.is_empty()) {
        return cursor.fail(Code::IrRun, span, format!("`@{written}` is a function and has no grid"), "");
    }
    Ok(RunLine { span, function, grid, specialisations, arguments, outcome, checked })
}

fn specialisation(cursor: &mut Cursor<'_>, function: &Function) -> Parse<(String, u64)> {
    cursor.expect(b'(', "after `spec`")?;
    let (written, span) = cursor.name(Kind::Value, "the name of a specialisation constant")?;
    let name = unquoted(written);
    let constants: &[_] = function.launch.as_ref().map_or(&[], |l| &l.specialisations);
    let name_of = |value: ValueId| function.values[value].name.as_ref().map_or("", Name::as_str);
    let Some(found) = constants.iter().find(|s| name_of(s.value) == name) else {
        let message = format!("`@{}` has no specialisation constant `%{written}`", function.name);
        let known: Vec<&str> = constants.iter().map(|s| name_of(s.value)).collect();
        return cursor.unknown(Code::IrName, span, message, &name, known, "%");
    };
    cursor.expect(b'=', "after the name")?;
    let scalar = function.ty(found.value).element().unwrap_or(Scalar::U32);
    let bits = cursor.literal_of(scalar)?;
    cursor.expect(b')', "after the value")?;
    Ok((name.into_owned(), bits))
}

fn arguments(cursor: &mut Cursor<'_>, function: &Function, name: Span) -> Parse<Vec<RunArgument>> {
    cursor.expect(b'(', "before the arguments")?;
    let mut arguments = vec![];
    while !cursor.at_sign(b')') {
        if !arguments.is_empty() {
            cursor.expect(b',', "between the arguments")?;
        }
        let Some(param) = function.params.get(arguments.len()) else { break };
        arguments.push(argument(cursor, function.ty(*param))?);
    }
    if arguments.len() < function.params.len() || !cursor.at_sign(b')') {
        let takes = counted(function.params.len(), "argument");
        let message = format!("`@{}` takes {takes}", function.name);
        return cursor.fail(Code::IrArity, name, message, "");
    }
    cursor.next();
    Ok(arguments)
}

/// A memory as an argument, and what it holds afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryArgument {
    /// What it holds before.
    pub initial: MemoryInit,
    /// What it holds after, if that is said.
    pub expected: Option<Expectation>,
}

/// Reads `memory [ "->" memory [ tolerance ] ]` at these bytes of a text in whatever language: so other run lines write arrays as these do.
///
/// # Errors
/// What is wrong there.
pub fn memory_argument(
    source: SourceId,
    text: &str,
    (start, end): (usize, usize),
) -> Result<MemoryArgument, Vec<Diagnostic>> {
    let lexed = lex(text, start, end);
    let mut cursor = Cursor::new(source, text, &lexed.tokens, "run line");
    let read = memory_and_after(&mut cursor).and_then(|argument| match cursor.peek().kind {
        Kind::End => Ok(argument),
        _ => cursor.unexpected("nothing more behind the array"),
    });
    read.map_err(|_| cursor.errors)
}

fn memory_and_after(cursor: &mut Cursor<'_>) -> Parse<MemoryArgument> {
    let initial = memory(cursor)?;
    if cursor.peek().kind != Kind::Arrow {
        return Ok(MemoryArgument { initial, expected: None });
    }
    let arrow = cursor.next();
    let after = memory(cursor)?;
    if after.len() as u64 * u64::from(after.scalar.bytes()) != initial.bytes_len() {
        let span = cursor.span_since(arrow);
        let message = "a memory has as many bytes after the run as before";
        return cursor.fail(Code::IrRun, span, message, "");
    }
    let values = after.bits().into_iter().map(|bits| (after.scalar, bits)).collect();
    let expected = Some(Expectation { values, tolerance: tolerance(cursor)? });
    Ok(MemoryArgument { initial, expected })
}

fn argument(cursor: &mut Cursor<'_>, ty: Type) -> Parse<RunArgument> {
    match ty {
        Type::Scalar(scalar) => Ok(RunArgument::Scalar(scalar, cursor.literal_of(scalar)?)),
        Type::Memory(Space::Global) => {
            let MemoryArgument { initial, expected } = memory_and_after(cursor)?;
            Ok(RunArgument::Memory { initial, expected })
        }
        Type::Vector(..)
        | Type::Regs(..)
        | Type::Coop(..)
        | Type::Tile(_)
        | Type::Token
        | Type::Term
        | Type::Memory(Space::Shared | Space::Private) => {
            let span = cursor.span(cursor.peek());
            cursor.fail(Code::IrRun, span, format!("a run line cannot give a value of type `{ty}`"), "")
        }
    }
}

impl MemoryInit {
    fn bytes_len(&self) -> u64 {
        self.len() as u64 * u64::from(self.scalar.bytes())
    }
}

fn memory(cursor: &mut Cursor<'_>) -> Parse<MemoryInit> {
    let (word, span) = cursor.word("a memory such as `f32[1, 2]` or `u32.zeros(16)`")?;
    let (scalar, generator) = word.split_once('.').map_or((word, None), |(scalar, name)| (scalar, Some(name)));
    let Some(scalar) = Scalar::from_name(scalar).filter(|s| *s != Scalar::Bool) else {
        let message = format!("`{scalar}` is not a type that memory can hold");
        let hint = "write a scalar type: `f32[1, 2]`, `u32.zeros(16)`";
        return cursor.fail(Code::IrUnknown, span, message, hint);
    };
    let elements = match generator {
        None => listed(cursor, scalar)?,
        Some(name) => generated(cursor, scalar, name, span)?,
    };
    let memory = MemoryInit { scalar, elements };
    if memory.bytes_len() > MOST_BYTES {
        return cursor.fail(Code::IrRun, span, "a memory of a run line has 1 GiB at most", "");
    }
    Ok(memory)
}

fn listed(cursor: &mut Cursor<'_>, scalar: Scalar) -> Parse<Elements> {
    cursor.expect(b'[', "before the elements")?;
    let bits = if cursor.at_sign(b']') { vec![] } else { cursor.list(|c| c.literal_of(scalar))? };
    cursor.expect(b']', "after the elements")?;
    Ok(Elements::Listed(bits))
}

fn generated(cursor: &mut Cursor<'_>, scalar: Scalar, name: &str, span: Span) -> Parse<Elements> {
    cursor.expect(b'(', "after the generator's name")?;
    let n = cursor.count("how many elements")?;
    let elements = match name {
        "zeros" => Elements::Zeros(n),
        "iota" => Elements::Iota(n),
        "fill" => {
            cursor.expect(b',', "before the element")?;
            Elements::Fill(n, cursor.literal_of(scalar)?)
        }
        "random" => {
            cursor.expect(b',', "before the seed")?;
            Elements::Random(n, cursor.count64("the seed")?.0)
        }
        _ => {
            let known = ["zeros", "iota", "fill", "random"];
            return cursor.unknown(Code::IrUnknown, span, format!("there is no generator `{name}`"), name, known, "");
        }
    };
    cursor.expect(b')', "after the generator")?;
    Ok(elements)
}

fn tolerance(cursor: &mut Cursor<'_>) -> Parse<f64> {
    if !cursor.eat(b'~') {
        return Ok(0.0);
    }
    cursor.literal_of(Scalar::F64).map(f64::from_bits)
}

fn outcome(cursor: &mut Cursor<'_>, function: &Function) -> Parse<Outcome> {
    if cursor.peek().kind == Kind::Same {
        cursor.next();
        return gives(cursor, function);
    }
    if cursor.eat_word("traps") {
        return cursor.in_parentheses("traps").map(Outcome::Traps);
    }
    if !cursor.eat_word("error") {
        return Ok(Outcome::Ends);
    }
    let (code, span) = cursor.word("a code such as `B0780`")?;
    match Code::find(code) {
        Some(code) => Ok(Outcome::Fails(code)),
        None => cursor.fail(Code::IrUnknown, span, format!("there is no error `{code}`"), ""),
    }
}

fn gives(cursor: &mut Cursor<'_>, function: &Function) -> Parse<Outcome> {
    let mut values = vec![];
    for (i, ty) in function.results.iter().enumerate() {
        if i > 0 {
            cursor.expect(b',', "before the next result")?;
        }
        let Type::Scalar(scalar) = *ty else {
            let span = cursor.span(cursor.peek());
            return cursor.fail(Code::IrRun, span, format!("a run line cannot compare a result of type `{ty}`"), "");
        };
        values.push((scalar, cursor.literal_of(scalar)?));
    }
    if values.is_empty() || cursor.at_sign(b',') {
        let span = cursor.span(cursor.peek());
        let gives = counted(function.results.len(), "result");
        let message = format!("`@{}` gives {gives}", function.name);
        return cursor.fail(Code::IrArity, span, message, "");
    }
    Ok(Outcome::Gives(Expectation { values, tolerance: tolerance(cursor)? }))
}

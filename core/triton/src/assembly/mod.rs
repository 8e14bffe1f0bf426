//! `tl.inline_asm_elementwise` where the assembly is straight-line PTX on registers: it becomes the operations that it means, and runs on every device.
//!
//! | what | see |
//! |---|---|
//! | the text: comments, blocks, instructions | [`text`] |
//! | what registers hold | [`registers`] |
//! | what instructions do | [`instructions`], [`integers`], [`floats`], [`bits`], [`convert`] |
//!
//! Invariant: assembly with anything else in it is refused by the name of the instruction, since that means something on one vendor's cards only. Approximations are
//! computed as exactly as their operations are; numbers that are too small to be normal are kept.

mod bits;
mod convert;
mod floats;
mod instructions;
mod integers;
mod registers;
mod text;

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::value::{Dtype, Tensor, Value};
use girih_base::diag::{Code, Diagnostic};
use girih_base::plural::counted;
use girih_base::span::Span;
use girih_ir::{Scalar, Shape, Type};
use registers::{Registers, joined, parts, viewed, width_of, word};
use text::{Statement, Wrong, statements, without_comments};

const HINT: &str = "straight-line PTX on registers is known: moves, arithmetic, comparisons, bits and conversions, such as `ex2.approx.f32 $0, $1;`";

/// What the constraints say of the operands.
struct Constraints {
    /// The width of each output.
    outputs: Vec<Option<u32>>,
    /// The width of each input, and the output whose register it is in.
    inputs: Vec<(Option<u32>, Option<usize>)>,
}

impl Constraints {
    fn read(text: &str) -> Constraints {
        let width = |letter: &str| match letter.trim_start_matches(['=', '&', '+']) {
            "h" => Some(16),
            "r" | "f" => Some(32),
            "l" | "d" => Some(64),
            _other => None,
        };
        let mut read = Constraints { outputs: vec![], inputs: vec![] };
        for one in text.split(',').map(str::trim).filter(|one| !one.is_empty() && !one.starts_with('~')) {
            match one.starts_with('=') {
                true => read.outputs.push(width(one)),
                false => read.inputs.push((width(one), one.parse().ok())),
            }
        }
        read
    }
}

/// How elements of a type share registers: how many are in one, and its width.
fn sharing(scalar: Scalar, pack: usize) -> (usize, u32) {
    let bits = scalar.bits().max(8);
    let per = (32 / bits as usize).clamp(1, pack);
    (per, bits * per as u32)
}

/// What `tl.inline_asm_elementwise` is given.
struct Request<'a> {
    a: &'a Arguments,
    text: String,
    constraints: Constraints,
    given: Vec<Tensor>,
    results: Vec<Scalar>,
    pack: usize,
    shape: Option<Shape>,
}

impl Request<'_> {
    /// The elements of each pack as tiles of their own; a tile that has no packs is one, whose elements all stand for themselves.
    fn neighbours(&self, body: &mut Body<'_, '_>, tile: Tensor) -> Made<Vec<Tensor>> {
        if self.splits() { body.neighbours(tile, self.pack, self.a.call) } else { Ok(vec![tile; self.pack]) }
    }

    /// Whether the last dimension has packs.
    fn splits(&self) -> bool {
        self.shape.is_some_and(|shape| shape.length(shape.rank() - 1) >= self.pack as u64)
    }

    /// The number of registers that inputs and outputs take.
    fn counts(&self) -> (usize, usize) {
        let count = |scalar: Scalar| self.pack / sharing(scalar, self.pack).0;
        (self.results.iter().map(|s| count(*s)).sum(), self.given.iter().map(|t| count(t.element())).sum())
    }

    /// Gives the registers `$0`, `$1` .. their widths, and inputs what they hold.
    fn operands(&self, body: &mut Body<'_, '_>) -> Made<Registers> {
        let mut inputs = vec![];
        for tile in &self.given {
            let per = sharing(tile.element(), self.pack).0;
            let elements = self.neighbours(body, *tile)?;
            for group in elements.chunks(per) {
                let whole = joined(body, group);
                inputs.push(self.known(body, whole)?);
            }
        }
        let shape = match inputs.first() {
            Some(first) => first.shape(),
            None => self.shape,
        };
        let mut registers = Registers::new(shape);
        let mut own = vec![];
        for scalar in &self.results {
            let (per, bits) = sharing(*scalar, self.pack);
            own.extend(vec![bits; self.pack / per]);
        }
        let outputs = self.constraints.outputs.len();
        for (i, bits) in own.iter().enumerate() {
            let bits = self.constraints.outputs[i].map_or(*bits, |wide| wide.max(*bits));
            registers.operand(format!("${i}"), bits, None);
        }
        for (i, (value, (wide, tied))) in inputs.into_iter().zip(&self.constraints.inputs).enumerate() {
            let bits = wide.map_or(width_of(value), |wide| wide.max(width_of(value)));
            let value = match word(bits).filter(|_| bits > width_of(value)) {
                Some(wide) => {
                    let own = viewed(body, value, word(width_of(value)).unwrap_or(wide));
                    body.cast(own, wide)
                }
                None => value,
            };
            registers.operand(format!("${}", outputs + i), bits, Some(value));
            if let Some(tied) = tied {
                registers.operand(format!("${tied}"), bits, Some(value));
            }
        }
        Ok(registers)
    }

    /// The results in the tile's shape.
    fn results(&self, body: &mut Body<'_, '_>, registers: &Registers) -> Made<Vec<Tensor>> {
        let (mut made, mut next) = (vec![], 0);
        for scalar in &self.results {
            let (per, bits) = sharing(*scalar, self.pack);
            let mut pieces = vec![];
            for _ in 0..self.pack / per {
                let whole = registers.output(&format!("${next}"));
                let whole = self.known(body, whole)?;
                next += 1;
                let all = viewed(body, whole, word(width_of(whole)).unwrap_or(Scalar::U32));
                let low = match word(bits).filter(|_| bits < width_of(all)) {
                    Some(low) => body.cast(all, low),
                    None => all,
                };
                for piece in parts(body, low, bits / per as u32) {
                    pieces.push(viewed(body, piece, *scalar));
                }
            }
            made.push(match self.splits() {
                true => body.side_by_side(pieces, self.shape, self.a.call)?,
                false => pieces[0],
            });
        }
        Ok(made)
    }

    /// What is known, or an error at the assembly.
    fn known<T>(&self, body: &Body<'_, '_>, found: Result<T, String>) -> Made<T> {
        found.or_else(|why| {
            let message = format!("`inline_asm_elementwise` is not available for this assembly: {why}");
            body.fail(Code::KernelRefused, self.a.span(0), message, HINT)
        })
    }

    /// Runs the assembly.
    fn translate(&self, body: &mut Body<'_, '_>) -> Made<Vec<Tensor>> {
        let text = without_comments(&self.text);
        let statements = statements(&text).map_err(|wrong| self.wrong(body, &wrong))?;
        let mut registers = self.operands(body)?;
        for statement in &statements {
            let (text, done) = match statement {
                Statement::Open => {
                    registers.open();
                    continue;
                }
                Statement::Close => ("}", registers.close()),
                Statement::Declare { text, ty, names } => (*text, registers.declare(ty, names)),
                Statement::Do(instruction) => (instruction.text, registers.step(body, instruction)),
            };
            done.map_err(|why| self.wrong(body, &Wrong { text, why }))?;
        }
        if registers.open_blocks() > 1 {
            return Err(self.wrong(body, &Wrong { text: "{", why: "the block is not closed".into() }));
        }
        self.results(body, &registers)
    }

    /// What is wrong with an instruction, which is underlined where the file has its text.
    fn wrong(&self, body: &Body<'_, '_>, wrong: &Wrong<'_>) -> Diagnostic {
        let place = place_of(body, wrong.text, self.a.span(0));
        let name = wrong.text.split_once(char::is_whitespace).map_or(wrong.text, |(name, _)| name);
        let name = if name.starts_with('@') { wrong.text } else { name };
        let message = format!("`inline_asm_elementwise` is not available for `{name}`: {}", wrong.why);
        let found = Diagnostic::new(Code::KernelRefused, place.unwrap_or(self.a.span(0)), message).hint(HINT);
        if place.is_some_and(|place| place.start < self.a.call.start || place.end > self.a.call.end) {
            return found.label(self.a.call, "this is the assembly of this call");
        }
        found
    }
}

/// Where a text stands within an expression, or else elsewhere in its file.
fn place_of(body: &Body<'_, '_>, text: &str, within: Span) -> Option<Span> {
    let source = &body.module.files.sources.get(within.source)?.text;
    let (start, end) = (within.start as usize, within.end as usize);
    let at = match source.get(start..end)?.find(text) {
        Some(at) => start + at,
        None => source.find(text)?,
    };
    Some(Span::new(within.source, at, at + text.len()))
}

/// `tl.inline_asm_elementwise(asm, constraints, args, dtype, is_pure, pack)`.
pub(super) fn inline(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let scalar = |value: &Value| match value {
        Value::Dtype(Dtype { scalar, pointer: false, shape: None }) if *scalar != Scalar::Bool => Ok(*scalar),
        other => body.fail(
            Code::KernelArgument,
            a.span(3),
            format!("the results of assembly are numbers, not {}", other.kind()),
            "`dtype` is a type, or a tuple of types, such as `tl.int32`",
        ),
    };
    let (results, is_single) = match a.value(3) {
        Value::Tuple(items) => (items.iter().map(scalar).collect::<Made<Vec<Scalar>>>()?, false),
        one => (vec![scalar(one)?], true),
    };
    let pack = body.constant_int(a.value(5), "`pack`", a.span(5))?;
    let Some(pack) = usize::try_from(pack).ok().filter(|pack| pack.is_power_of_two() && *pack <= 64) else {
        return body.fail(Code::KernelArgument, a.span(5), "`pack` is a power of two, at most 64", "");
    };
    let (mut given, mut shape) = (vec![], None);
    for item in body.iterate(a.value(2).clone(), a.span(2))? {
        let tensor = body.tensor(&item, a.span(2))?;
        if tensor.element() == Scalar::Bool {
            let message = "assembly takes numbers, no truth values";
            return body.fail(Code::KernelType, a.span(2), message, "convert it with `.to(tl.int32)`");
        }
        shape = body.common_shape(shape, tensor.shape(), a.call)?;
        given.push(tensor);
    }
    let given: Vec<Tensor> = given.into_iter().map(|tensor| body.broadcast_tensor(tensor, shape)).collect();
    let (text, constraints) = (a.value(0).to_string(), Constraints::read(&a.value(1).to_string()));
    let request = Request { a, text, constraints, given, results, pack, shape };
    let (outputs, inputs) = request.counts();
    let found = (request.constraints.outputs.len(), request.constraints.inputs.len());
    if found != (outputs, inputs) {
        let message = format!(
            "the constraints name {} and {}, but `dtype`, `args` and `pack` make {outputs} and {inputs}",
            counted(found.0, "output"),
            counted(found.1, "input")
        );
        let hint = "one constraint stands for each register, the outputs first: `\"=r,r,r\"`; numbers of less than 32 bits share registers by `pack`";
        return body.fail(Code::KernelArgument, a.span(1), message, hint);
    }
    let made = request.translate(body)?;
    debug_assert!(
        made.iter().zip(&request.results).all(|(made, scalar)| made.ty == Type::block(made.shape(), *scalar))
    );
    let mut values: Vec<Value> = made.into_iter().map(Value::Tensor).collect();
    Ok(if is_single { values.pop().unwrap_or(Value::None) } else { Value::Tuple(values) })
}

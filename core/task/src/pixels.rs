//! Pixels of a picture side by side: a function of a place and a time, called for many places at once, four of them in step.

use super::lower::Direct;
use super::lower::represent::Repr;
use girih_base::diag::Diagnostic;
use girih_base::num::NumKind;
use girih_base::span::Span;
use girih_ir::{Builder, Function, FunctionId, Op, ParamAttrs, Scalar, Type, ValueId, verify};
use girih_lower::spmd::{LANES, MASK, Why, vectorise};

/// How many pixels a call gives.
pub const PIXELS: usize = 32;

/// Adds to a compiled program the function that gives pixels of a root `(x: u24, y: u24, t: f24)`. It takes the number of a pixel, that of the
/// last one that may be asked for, the pixels of a row, and the time, and gives the [`PIXELS`] whole numbers for that pixel and those behind
/// it, row after row; behind the last one all are the last one.
///
/// # Errors
/// If the root is not of numbers alone, or cannot be [vectorised](girih_lower::spmd::vectorise).
pub fn pixels(direct: &mut Direct, root: usize) -> Result<FunctionId, Why> {
    let unfit = |what: &str| Why { function: "shader".into(), what: what.into(), span: Span::NONE };
    let Some(called) = direct.roots.get(root) else { return Err(unfit("no function")) };
    let takes = [NumKind::U24, NumKind::U24, NumKind::F24].map(Repr::Number);
    let gives = match called.results[..] {
        [Repr::Number(kind @ (NumKind::U24 | NumKind::I24 | NumKind::U32 | NumKind::I32))] => kind,
        _ => return Err(unfit("a result that is no whole number of one kind")),
    };
    if called.params != takes || called.applied.is_some() {
        return Err(unfit("other parameters than two whole numbers and a float"));
    }
    let mut module = (*direct.module).clone();
    let name = format!("{}.pixels", module.functions[called.function].name);
    let shader = vectorise(&mut module, called.function, &[true, true, false])?;
    let function = row(&name, shader, matches!(gives, NumKind::I24 | NumKind::I32));
    let id = module.functions.push(function);
    // Names of programs have no two dots in a row.
    module.functions[id].name = format!("{name}..{}", id.index()).into();
    direct.module = verify(module).map_err(|errors| broken(&errors))?;
    Ok(id)
}

/// A mistake of the compiler, which is no reason to show nothing.
fn broken(errors: &[Diagnostic]) -> Why {
    let what = errors.first().map_or_else(String::new, |error| error.message.clone());
    Why { function: "shader".into(), what: format!("a form in step that is broken: {what}"), span: Span::NONE }
}

/// The function of many pixels, by the one of four.
fn row(name: &str, shader: FunctionId, is_signed: bool) -> Function {
    let lanes = Type::Vector(Scalar::U32, LANES);
    let mut function = Function::new(name, Span::NONE);
    let [first, last, width] =
        ["first", "last", "width"].map(|name| function.param(name, Type::U32, ParamAttrs::default()));
    let time = function.param("t", Type::F32, ParamAttrs::default());
    function.results = vec![lanes; PIXELS / usize::from(LANES)];
    let mut b = Builder::new(function);
    let splat = |b: &mut Builder, value: ValueId| b.op(Op::Splat, lanes, &[value]);
    let (first, last, width) = (splat(&mut b, first), splat(&mut b, last), splat(&mut b, width));
    let ones = b.u32(u32::MAX);
    let everyone = b.op(Op::Splat, MASK, &[ones]);
    let mut results = vec![];
    for group in 0..PIXELS as u32 / u32::from(LANES) {
        let steps: Vec<ValueId> = (0..u32::from(LANES)).map(|lane| b.u32(group * u32::from(LANES) + lane)).collect();
        let steps = b.op(Op::Vector, lanes, &steps);
        let next = b.op(Op::Add, lanes, &[first, steps]);
        let number = b.op(Op::Min, lanes, &[next, last]);
        let (x, y) = (b.op(Op::Rem, lanes, &[number, width]), b.op(Op::Div, lanes, &[number, width]));
        let given = Type::Vector(if is_signed { Scalar::I32 } else { Scalar::U32 }, LANES);
        let mut colours = b.call(shader, &[given], &[everyone, x, y, time])[0];
        if is_signed {
            colours = b.op(Op::Bitcast, lanes, &[colours]);
        }
        results.push(colours);
    }
    b.end(Op::Return, &results);
    b.function
}

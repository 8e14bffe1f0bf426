//! What a file must define to be shown as a shader, and what is said if it does not.

use super::frame::Size;
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::{Num, NumKind};
use girih_base::plural::counted;
use girih_base::span::Span;
use girih_term::code::Code as Compiled;
use girih_term::eval::{Limits, Machine};
use girih_term::ty::Type;
use girih_term::{Body, Def, DefId, Program, Term, TermKind};

/// The size of a picture whose file does not say one.
const DEFAULT_SIDE: u32 = 256;

/// How many calls the computation of `width` and `height` may make.
const CALLS: u64 = 100_000_000;

/// How a file says what its pictures are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// `shader(x, y, t)` gives one pixel; the definition of the prelude gives a branch of them.
    Pixel { shader: DefId, frame: DefId },
    /// `render(depth, t)` gives the whole tree.
    Tree { render: DefId },
    /// `render(depth, t, state)` gives the whole tree of a state: `init(depth)` is the first one, and `step(state, t)` the next.
    Play { init: DefId, step: DefId, render: DefId },
}

/// What a parameter of a definition must be.
#[derive(Clone, Copy)]
enum Wanted {
    Number(NumKind, &'static str),
    /// The state that is carried from picture to picture, whatever it is.
    State,
}

const U24: Wanted = Wanted::Number(NumKind::U24, "u24");
const F24: Wanted = Wanted::Number(NumKind::F24, "f24");

/// Finds the definition that makes pictures.
pub(super) fn kind(program: &Program) -> Result<Kind, Diagnostic> {
    if let Some(shader) = program.def_named("shader") {
        accepts(&program.defs[shader], &[("x", U24), ("y", U24), ("t", F24)])?;
        gives_a_colour(&program.defs[shader])?;
        let frame = program
            .def_named("Render/frame")
            .ok_or_else(|| Diagnostic::new(Code::Internal, Span::NONE, "the prelude does not define `Render/frame`"))?;
        Ok(Kind::Pixel { shader, frame })
    } else if let Some(render) = program.def_named("render") {
        // Whoever does not carry a state may have definitions of these names for other things.
        if program.defs[render].params.len() == 3 {
            return play(program, render);
        }
        accepts(&program.defs[render], &[("depth", U24), ("t", F24)])?;
        Ok(Kind::Tree { render })
    } else {
        let message = "this file defines neither `shader` nor `render`";
        let hint = "define `shader(x: u24, y: u24, t: f24) -> u24`, which gives the colour 0xRRGGBB of a pixel";
        Err(Diagnostic::new(Code::NotAShader, Span::NONE, message).hint(hint))
    }
}

/// Finds what makes the states that a picture is made of.
fn play(program: &Program, render: DefId) -> Result<Kind, Diagnostic> {
    accepts(&program.defs[render], &[("depth", U24), ("t", F24), ("state", Wanted::State)])?;
    let named = |name: &str, what: &str| {
        program.def_named(name).ok_or_else(|| {
            let message = format!("`render` takes a state, but this file does not define `{name}`");
            Diagnostic::new(Code::NotAShader, program.defs[render].span, message).hint(what)
        })
    };
    let init = named("init", "define `init(depth: u24)`, which gives the first state")?;
    let step = named("step", "define `step(state, t: f24)`, which gives the state that follows")?;
    accepts(&program.defs[init], &[("depth", U24)])?;
    accepts(&program.defs[step], &[("state", Wanted::State), ("t", F24)])?;
    Ok(Kind::Play { init, step, render })
}

/// Refuses a definition that cannot be applied to these arguments.
fn accepts(def: &Def, wanted: &[(&str, Wanted)]) -> Result<(), Diagnostic> {
    let signature: Vec<String> = wanted
        .iter()
        .map(|(name, wanted)| match wanted {
            Wanted::Number(_, kind) => format!("{name}: {kind}"),
            Wanted::State => (*name).to_owned(),
        })
        .collect();
    let hint = format!("it is called as `{}({})`", def.name, signature.join(", "));
    let count = def.params.len();
    // A definition without parameters may have a function as its value. One that gives a state may have more: the state is a function then.
    let gives_state = matches!(def.name.as_str(), "init" | "step");
    if count != 0 && count != wanted.len() && !(gives_state && count > wanted.len()) {
        let message = format!("`{}` has {} instead of {}", def.name, counted(count, "parameter"), wanted.len());
        return Err(Diagnostic::new(Code::NotAShader, def.span, message).hint(hint));
    }
    let mut ty = &def.ty.ty;
    for (position, (name, wanted)) in wanted.iter().enumerate() {
        let Type::Arrow(parameter, rest) = ty else { break };
        ty = rest;
        let Wanted::Number(kind, kind_name) = wanted else { continue };
        if matches!(**parameter, Type::Num(_) | Type::Tuple(_) | Type::Data(..) | Type::None | Type::Arrow(..))
            && **parameter != Type::Num(*kind)
        {
            let local = def.params.get(position).map(|&local| &def.locals[local]);
            let (name, place) = local.map_or((*name, def.span), |local| (local.name.as_str(), local.span));
            let message = format!("the parameter `{name}` of `{}` cannot be a {kind_name}", def.name);
            return Err(Diagnostic::new(Code::NotAShader, place, message).hint(hint));
        }
    }
    Ok(())
}

/// Refuses a shader whose result is known to be no colour.
fn gives_a_colour(def: &Def) -> Result<(), Diagnostic> {
    let mut ty = &def.ty.ty;
    for _ in 0..3 {
        let Type::Arrow(_, rest) = ty else { return Ok(()) };
        ty = rest;
    }
    match ty {
        Type::Num(NumKind::U24 | NumKind::I24 | NumKind::U32 | NumKind::I32)
        | Type::Any
        | Type::Hole
        | Type::Param(_)
        | Type::Var(_) => Ok(()),
        Type::Num(NumKind::F24 | NumKind::F32) | Type::None | Type::Data(..) | Type::Tuple(_) | Type::Arrow(..) => {
            let message = format!("the result of `{}` is not a colour", def.name);
            Err(Diagnostic::new(Code::NotAShader, def.span, message).hint("give a u24, 0xRRGGBB"))
        }
    }
}

/// The size that the definitions `width` and `height` say; what they leave open is the default.
pub(super) fn size(program: &Program) -> Result<Size, Diagnostic> {
    let side = |name| match side_definition(program, name) {
        None => Ok((DEFAULT_SIDE, Span::NONE)),
        Some(def) => Ok((whole_number(program, def)?, program.defs[def].span)),
    };
    let ((width, width_span), (height, height_span)) = (side("width")?, side("height")?);
    Size::new(width, height).ok_or_else(|| {
        let message = format!("there is no picture of {width} by {height} pixels");
        let place = if width_span.is_none() { height_span } else { width_span };
        let hint = format!("a picture has between 1 and {} pixels", super::frame::MOST_PIXELS);
        Diagnostic::new(Code::NotAShader, place, message).label(height_span, "").hint(hint)
    })
}

/// How many states follow in a second if the file does not say it.
const DEFAULT_RATE: u32 = 30;
/// Most states that follow in a second: their numbers are floats of 24 bits, which have 16 significant bits.
const MOST_RATE: u32 = 1000;

/// How many states follow in a second: what the definition `rate` says.
pub(super) fn rate(program: &Program) -> Result<u32, Diagnostic> {
    let Some(def) = side_definition(program, "rate") else { return Ok(DEFAULT_RATE) };
    match whole_number(program, def)? {
        rate @ 1..=MOST_RATE => Ok(rate),
        rate => {
            let message = format!("a second cannot have {rate} states");
            let hint = format!("`rate` is between 1 and {MOST_RATE}");
            Err(Diagnostic::new(Code::NotAShader, program.defs[def].span, message).hint(hint))
        }
    }
}

/// The program with another size: its own `width` and `height`, if it has them, become these numbers, so that a shader
/// that is written in terms of them fills any picture.
pub(super) fn resized(program: &Program, size: Size) -> Result<Program, Diagnostic> {
    let mut resized = program.clone();
    for (name, side) in [("width", size.width()), ("height", size.height())] {
        let Some(id) = side_definition(program, name) else { continue };
        let kind = number(program, id)?.kind();
        let def = &mut resized.defs[id];
        def.body = Body::Term(Term::new(TermKind::Num(Num::U24(side).to(kind)), def.span));
    }
    Ok(resized)
}

/// `width`, `height` or `rate`, if it is a definition without parameters.
fn side_definition(program: &Program, name: &str) -> Option<DefId> {
    program.def_named(name).filter(|&def| program.defs[def].params.is_empty())
}

fn whole_number(program: &Program, def: DefId) -> Result<u32, Diagnostic> {
    match number(program, def)? {
        Num::U24(side) | Num::U32(side) => Ok(side),
        Num::I24(side) | Num::I32(side) => Ok(u32::try_from(side).unwrap_or(0)),
        Num::F24(_) | Num::F32(_) => Err(no_side(&program.defs[def])),
    }
}

/// The value of a definition that is a number.
fn number(program: &Program, id: DefId) -> Result<Num, Diagnostic> {
    let def = &program.defs[id];
    let code = Compiled::for_roots(program, &[id]).map_err(first)?;
    let mut machine = Machine::new(&code, Limits { memory: 64 << 20, calls: CALLS, ..Limits::default() });
    match machine.call(id, &[]).map(|value| value.num()) {
        Ok(number) => number.ok_or_else(|| no_side(def)),
        Err(error) if error.code == Code::Interrupted => {
            let message = format!("`{}` is not computed within {} million calls", def.name, CALLS / 1_000_000);
            Err(Diagnostic::new(Code::NotAShader, def.span, message).hint("write the number itself"))
        }
        Err(error) => Err(error),
    }
}

fn no_side(def: &Def) -> Diagnostic {
    Diagnostic::new(Code::NotAShader, def.span, format!("`{}` is not a whole number", def.name))
        .hint("`width` and `height` are the size of the picture in pixels, `rate` how many states a second has; give other things other names")
}

/// The first of several errors; there is at least one where this is called.
pub(super) fn first(diagnostics: Vec<Diagnostic>) -> Diagnostic {
    let none = || Diagnostic::new(Code::Internal, Span::NONE, "an error without a diagnostic");
    diagnostics.into_iter().next().unwrap_or_else(none)
}

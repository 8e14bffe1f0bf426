//! What a file must define to be shown as a shader, and what is said if it does not.

use super::frame::Size;
use girih_core::diag::{Code, Diagnostic};
use girih_core::num::{Num, NumKind};
use girih_core::span::Span;
use girih_core::term::code::Code as Compiled;
use girih_core::term::eval::{Limits, Machine};
use girih_core::term::ty::Type;
use girih_core::term::{Body, Def, DefId, Program, Term, TermKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The size of a picture whose file does not say one.
const DEFAULT_SIDE: u32 = 256;

/// How long the computation of `width` and `height` may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// How a file says what its pictures are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// `shader(x, y, t)` gives one pixel; the definition of the prelude gives a branch of them.
    Pixel { shader: DefId, frame: DefId },
    /// `render(depth, t)` gives the whole tree.
    Tree { render: DefId },
}

/// Finds the definition that makes pictures.
pub(super) fn kind(program: &Program) -> Result<Kind, Diagnostic> {
    let u24 = (NumKind::U24, "u24");
    let f24 = (NumKind::F24, "f24");
    if let Some(shader) = program.def_named("shader") {
        accepts(&program.defs[shader], &[("x", u24), ("y", u24), ("t", f24)])?;
        gives_a_colour(&program.defs[shader])?;
        let frame = program
            .def_named("Render/frame")
            .ok_or_else(|| Diagnostic::new(Code::Internal, Span::NONE, "the prelude does not define `Render/frame`"))?;
        Ok(Kind::Pixel { shader, frame })
    } else if let Some(render) = program.def_named("render") {
        accepts(&program.defs[render], &[("depth", u24), ("t", f24)])?;
        Ok(Kind::Tree { render })
    } else {
        let message = "this file defines neither `shader` nor `render`";
        let hint = "define `shader(x: u24, y: u24, t: f24) -> u24`, which gives the colour 0xRRGGBB of a pixel";
        Err(Diagnostic::new(Code::NotAShader, Span::NONE, message).hint(hint))
    }
}

/// Refuses a definition that cannot be applied to these arguments.
fn accepts(def: &Def, wanted: &[(&str, (NumKind, &str))]) -> Result<(), Diagnostic> {
    let signature: Vec<String> = wanted.iter().map(|(name, (_, kind))| format!("{name}: {kind}")).collect();
    let hint = format!("it is called as `{}({})`", def.name, signature.join(", "));
    let count = def.params.len();
    // A definition without parameters may have a function as its value.
    if count != 0 && count != wanted.len() {
        let plural = if count == 1 { "" } else { "s" };
        let message = format!("`{}` has {count} parameter{plural} instead of {}", def.name, wanted.len());
        return Err(Diagnostic::new(Code::NotAShader, def.span, message).hint(hint));
    }
    let mut ty = &def.ty.ty;
    for (position, (name, (kind, kind_name))) in wanted.iter().enumerate() {
        let Type::Arrow(parameter, rest) = ty else { break };
        if matches!(**parameter, Type::Num(_) | Type::Tuple(_) | Type::Data(..) | Type::None | Type::Arrow(..))
            && **parameter != Type::Num(*kind)
        {
            let local = def.params.get(position).map(|&local| &def.locals[local]);
            let (name, place) = local.map_or((*name, def.span), |local| (local.name.as_str(), local.span));
            let message = format!("the parameter `{name}` of `{}` cannot be a {kind_name}", def.name);
            return Err(Diagnostic::new(Code::NotAShader, place, message).hint(hint));
        }
        ty = rest;
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

/// `width` or `height`, if it is a definition without parameters.
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

/// The value of a definition that is a number. It is computed on a thread of its own, so that nothing hangs if it does not end.
fn number(program: &Program, id: DefId) -> Result<Num, Diagnostic> {
    let def = &program.defs[id];
    let code = Compiled::for_roots(program, &[id]).map_err(first)?;
    let interrupt = Arc::new(AtomicBool::new(false));
    let limits = Limits { memory: 64 << 20, interrupt: Some(Arc::clone(&interrupt)), ..Limits::default() };
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut machine = Machine::new(&code, limits);
            // Nobody listens any more if it took too long.
            let _ = sender.send(machine.call(id, &[]).map(|value| value.num()));
        });
        match receiver.recv_timeout(PATIENCE) {
            Ok(result) => result?.ok_or_else(|| no_side(def)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                interrupt.store(true, Ordering::Relaxed);
                let message = format!("`{}` is not computed within {} seconds", def.name, PATIENCE.as_secs());
                Err(Diagnostic::new(Code::NotAShader, def.span, message).hint("write the number itself"))
            }
        }
    })
}

fn no_side(def: &Def) -> Diagnostic {
    Diagnostic::new(Code::NotAShader, def.span, format!("`{}` is not a whole number", def.name))
        .hint("`width` and `height` are the size of the picture in pixels; give other things other names")
}

/// The first of several errors; there is at least one where this is called.
pub(super) fn first(diagnostics: Vec<Diagnostic>) -> Diagnostic {
    let none = || Diagnostic::new(Code::Internal, Span::NONE, "an error without a diagnostic");
    diagnostics.into_iter().next().unwrap_or_else(none)
}

//! Reads a tree of pixels from left to right.

use super::frame::Pixel;
use girih_core::diag::{Code, Diagnostic};
use girih_core::num::Num;
use girih_core::span::Span;
use girih_core::term::eval::{Machine, Value, View};

/// Appends the colours of a tree's leaves, until there are `wanted` pixels. A leaf is a whole number 0xRRGGBB; everything
/// else that has parts, pairs and constructors, is a branch, whatever its name.
pub(super) fn read(
    machine: &mut Machine,
    tree: Value,
    wanted: usize,
    place: Span,
    pixels: &mut Vec<Pixel>,
) -> Result<(), Diagnostic> {
    let mut stack = vec![tree];
    while pixels.len() < wanted {
        let Some(value) = stack.pop() else {
            let message = format!("the tree has {} leaves, but the picture has {wanted} pixels", pixels.len());
            let hint = "a tree of the depth that `render` is given has 2^depth leaves";
            return Err(Diagnostic::new(Code::NotAShader, place, message).hint(hint));
        };
        match machine.view(value) {
            View::Num(number) => pixels.push(colour(number, place)?),
            View::Pair(left, right) => stack.extend([right, left]),
            View::Ctor(_, parts) if !parts.is_empty() => stack.extend(parts.iter().rev()),
            View::Global(_) => {
                let computed = compute(machine, value, &mut stack, place)?;
                stack.push(computed);
            }
            View::Ctor(ctor, _) => {
                let name = machine.code().program().ctors[ctor].name.clone();
                return Err(not_a_pixel(&format!("`{name}`"), place));
            }
            View::Era => return Err(not_a_pixel("`*`", place)),
            View::Closure { .. } | View::Partial { .. } | View::Constructor(_) | View::Selector(_) => {
                return Err(not_a_pixel("a function", place));
            }
        }
    }
    Ok(())
}

/// Computes a part of the tree that is a definition without parameters. The rest of the tree may move meanwhile.
fn compute(machine: &mut Machine, value: Value, rest: &mut [Value], place: Span) -> Result<Value, Diagnostic> {
    let roots: Vec<_> = rest.iter().map(|&value| machine.keep(value)).collect();
    let computed = machine.force(value)?;
    for (value, root) in rest.iter_mut().zip(&roots) {
        *value = machine.value(root);
    }
    match machine.view(computed) {
        View::Global(_) => Err(not_a_pixel("a function", place)),
        _ => Ok(computed),
    }
}

fn colour(number: Num, place: Span) -> Result<Pixel, Diagnostic> {
    let bits = match number {
        Num::U24(bits) | Num::U32(bits) => bits,
        Num::I24(bits) | Num::I32(bits) => bits as u32,
        Num::F24(value) | Num::F32(value) => return Err(not_a_pixel(&format!("the float {value}"), place)),
    };
    let [_, red, green, blue] = bits.to_be_bytes();
    Ok([red, green, blue, 255])
}

fn not_a_pixel(what: &str, place: Span) -> Diagnostic {
    Diagnostic::new(Code::NotAShader, place, format!("a pixel is {what}, not a colour"))
        .hint("a colour is a whole number 0xRRGGBB, of type u24")
}

//! Reads a tree of pixels from left to right.

use super::frame::Pixel;
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::Num;
use girih_base::span::Span;
use girih_task::data::{Datum, Piece, Words};
use girih_term::eval::{Machine, Value, View};
use girih_term::{CtorId, Program};

/// Where a tree stands.
pub(crate) trait Source {
    /// A tree.
    type Value: Copy;

    /// The program.
    fn program(&self) -> &Program;
    /// What a value is, computed if need be. Its parts are pushed onto the stack of what is still to be read, the first one last.
    fn piece(&mut self, value: Self::Value, stack: &mut Vec<Self::Value>) -> Result<Piece, Diagnostic>;
}

/// Appends the colours of the leaves of a tree, or of its parts, until there are `wanted` pixels, and says how many forks it has met: branches with several parts. A leaf is a whole number 0xRRGGBB; everything
/// else that has parts, pairs and constructors, is a branch, whatever its name.
pub(super) fn read<S: Source>(
    source: &mut S,
    tree: &[S::Value],
    wanted: usize,
    place: Span,
    pixels: &mut Vec<Pixel>,
) -> Result<u64, Diagnostic> {
    // A fork that was given in parts is met, too.
    let mut forks = u64::from(tree.len() > 1);
    let mut stack: Vec<S::Value> = tree.iter().rev().copied().collect();
    while pixels.len() < wanted {
        let Some(value) = stack.pop() else {
            let message = format!("the tree has {} leaves, but the picture has {wanted} pixels", pixels.len());
            let hint = "a tree of the depth that `render` is given has 2^depth leaves";
            return Err(Diagnostic::new(Code::NotAShader, place, message).hint(hint));
        };
        let others = stack.len();
        match source.piece(value, &mut stack)? {
            Piece::Number(number) => pixels.push(colour(number, place)?),
            Piece::Pair | Piece::Ctor(_) => forks += u64::from(stack.len() > others + 1),
            Piece::Unit(ctor) => return Err(not_a_pixel(&name(source.program(), ctor), place)),
            Piece::Era => return Err(not_a_pixel("`*`", place)),
            Piece::Function => return Err(not_a_pixel("a function", place)),
        }
    }
    Ok(forks)
}

fn name(program: &Program, ctor: CtorId) -> String {
    format!("`{}`", program.ctors[ctor].name)
}

impl Source for Words<'_> {
    type Value = Datum;

    fn program(&self) -> &Program {
        self.program
    }

    fn piece(&mut self, value: Datum, stack: &mut Vec<Datum>) -> Result<Piece, Diagnostic> {
        Words::piece(self, value, stack)
    }
}

impl Source for Machine {
    type Value = Value;

    fn program(&self) -> &Program {
        self.code().program()
    }

    fn piece(&mut self, value: Value, stack: &mut Vec<Value>) -> Result<Piece, Diagnostic> {
        Ok(match self.view(value) {
            View::Num(number) => Piece::Number(number),
            View::Pair(left, right) => {
                stack.extend([right, left]);
                Piece::Pair
            }
            View::Ctor(ctor, parts) if parts.is_empty() => Piece::Unit(ctor),
            View::Ctor(ctor, parts) => {
                stack.extend(parts.iter().rev());
                Piece::Ctor(ctor)
            }
            View::Global(_) => {
                let computed = compute(self, value, stack)?;
                match self.view(computed) {
                    View::Global(_) => Piece::Function,
                    _ => self.piece(computed, stack)?,
                }
            }
            View::Era => Piece::Era,
            View::Closure { .. } | View::Partial { .. } | View::Constructor(_) | View::Selector(_) => Piece::Function,
        })
    }
}

/// Computes a part of the tree that is a definition without parameters. The rest of the tree may move meanwhile.
fn compute(machine: &mut Machine, value: Value, rest: &mut [Value]) -> Result<Value, Diagnostic> {
    let roots: Vec<_> = rest.iter().map(|&value| machine.keep(value)).collect();
    let computed = machine.force(value)?;
    for (value, root) in rest.iter_mut().zip(&roots) {
        *value = machine.value(root);
    }
    Ok(computed)
}

fn colour(number: Num, place: Span) -> Result<Pixel, Diagnostic> {
    let bits = match number {
        Num::U24(bits) | Num::U32(bits) => bits,
        Num::I24(bits) | Num::I32(bits) => bits as u32,
        Num::F24(value) | Num::F32(value) => return Err(not_a_pixel(&format!("the float {value}"), place)),
    };
    Ok(pixel(bits))
}

/// The colour 0xRRGGBB.
pub(super) fn pixel(bits: u32) -> Pixel {
    let [_, red, green, blue] = bits.to_be_bytes();
    [red, green, blue, 255]
}

fn not_a_pixel(what: &str, place: Span) -> Diagnostic {
    Diagnostic::new(Code::NotAShader, place, format!("a pixel is {what}, not a colour"))
        .hint("a colour is a whole number 0xRRGGBB, of type u24")
}

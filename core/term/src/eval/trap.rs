//! Errors of running programs: what went wrong, where, and on which way the program came there.

use super::value::Word;
use super::{Machine, Trap};
use crate::code::{Address, stub};
use crate::{DefId, Origin};
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::{BinOp, NumError, NumKind};
use girih_base::span::Span;

/// How many calls the way to an error shows.
const SHOWN_CALLS: usize = 3;

impl Machine {
    /// An error at an instruction.
    #[cold]
    pub(super) fn trap(&self, code: Code, pc: Address, message: String, hint: &str) -> Trap {
        let traced = self.traced(Diagnostic::new(code, self.span(pc), message).hint(hint));
        Box::new(self.blame_program(traced))
    }

    /// An error inside the prelude is the fault of the program's own call that led there, if the trace shows one.
    fn blame_program(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        let defs = &self.code.tables.program.defs;
        let is_prelude =
            |span: Span| defs.iter().any(|def| def.origin == Origin::Prelude && def.span.source == span.source);
        let own = diagnostic.labels.iter().position(|label| !is_prelude(label.span));
        if let Some(own @ 1..) = own {
            diagnostic.labels[0].text = "found here, in the prelude".to_string();
            let mut call = diagnostic.labels.remove(own);
            call.text.clear();
            diagnostic.labels.insert(0, call);
        }
        diagnostic
    }

    /// The place of an instruction. A stub has none; to blame is the call that the machine will return to.
    pub(super) fn span(&self, pc: Address) -> Span {
        if pc >= stub::END {
            return self.code.tables.spans[pc as usize];
        }
        let waiting = self.frames.iter().rev().find(|frame| frame.pc >= stub::END);
        waiting.map_or(Span::NONE, |frame| self.call_span(frame.pc))
    }

    /// The place of the call that a waiting frame has made. It waits either behind the call or, where the machine itself
    /// had to compute something first, at the instruction that needs it.
    fn call_span(&self, pc: Address) -> Span {
        use crate::code::Instruction::{Apply, Call};
        let tables = &self.code.tables;
        let before = pc as usize - 1;
        match tables.instructions[before] {
            Call { .. } | Apply { .. } => tables.spans[before],
            _ => tables.spans[pc as usize],
        }
    }

    /// Adds the last calls that lead to an error, one for each definition.
    pub(super) fn traced(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        let mut shown: Vec<DefId> = vec![];
        for frame in self.frames.iter().rev().filter(|frame| frame.pc >= stub::END) {
            let Some(function) = self.code.tables.function_at(frame.pc) else { continue };
            let span = self.call_span(frame.pc);
            if shown.contains(&function.def) || span == diagnostic.span() {
                continue;
            }
            shown.push(function.def);
            let name = &self.code.tables.program.defs[function.def].name;
            diagnostic = diagnostic.label(span, format!("`{name}` came here"));
            if shown.len() == SHOWN_CALLS {
                break;
            }
        }
        diagnostic
    }

    #[cold]
    pub(super) fn number_trap(&self, error: NumError, pc: Address) -> Trap {
        let (code, hint) = match error {
            NumError::DivisionByZero => {
                (Code::DivisionByZero, "compare the divisor with 0 before; floats divide to infinity instead")
            }
            NumError::Mixed(left, right) => {
                return self.trap(Code::MixedNumbers, pc, error.to_string(), &conversion(left, right));
            }
            NumError::Unsupported(BinOp::Pow, _) => {
                (Code::UnsupportedOperation, "powers are for floats: convert with `u24/to_f24` and its siblings")
            }
            NumError::Unsupported(..) => (
                Code::UnsupportedOperation,
                "bit operators are for integers, shifts for unsigned ones: convert with `i24/to_u24` and its siblings",
            ),
            NumError::NotFloat(_) => (Code::UnsupportedOperation, "convert it, for example with `u24/to_f24`"),
            NumError::ArgumentCount(_) => (Code::Internal, "please report it with the program"),
        };
        self.trap(code, pc, error.to_string(), hint)
    }

    /// A few words that say what a value is.
    pub(super) fn describe(&self, word: Word) -> String {
        let tables = &self.code.tables;
        match word {
            Word::Era => "`*`".to_string(),
            Word::Unit(ctor) | Word::Data(ctor, _) => format!("a `{}`", tables.ctor_name(ctor)),
            Word::Make(ctor) => format!("the constructor `{}` without its fields", tables.ctor_name(ctor)),
            Word::Pair(_) => "a tuple".to_string(),
            Word::Global(def) => match tables.program.defs.get(def) {
                Some(def) => format!("the function `{}`", def.name),
                None => "a definition".to_string(),
            },
            Word::Partial(..) => "a function that waits for more arguments".to_string(),
            Word::Lambda(_) | Word::Closure(_) | Word::Select(_) => "a function".to_string(),
            Word::Header(_) | Word::Moved(_) => "a broken value".to_string(),
            Word::U24(_) | Word::I24(_) | Word::F24(_) | Word::U32(_) | Word::I32(_) | Word::F32(_) => {
                match word.num() {
                    Some(number) => format!("the number {number} of kind `{}`", number.kind().name()),
                    None => "a number".to_string(),
                }
            }
        }
    }
}

/// How numbers of two kinds are made alike: of an integer and a float the integer is converted.
fn conversion(left: NumKind, right: NumKind) -> String {
    let convert = |from: NumKind, to: NumKind| format!("`{}/to_{}`", from.name(), to.name());
    match (left.is_float(), right.is_float()) {
        (false, true) => format!("convert the left side with {}", convert(left, right)),
        (true, false) => format!("convert the right side with {}", convert(right, left)),
        (true, true) | (false, false) => {
            format!(
                "convert the left side with {} or the right one with {}",
                convert(left, right),
                convert(right, left)
            )
        }
    }
}

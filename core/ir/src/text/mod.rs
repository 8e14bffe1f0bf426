//! The text form of the IR, `.gir`: reading and printing. `print(parse(print(module)))` is `print(module)`.
//!
//! # Grammar
//!
//! In this grammar, `[ ]` encloses optional parts, `{ }` encloses parts that may be repeated any number of times or be absent, and quotes enclose literal text.
//!
//! ```text
//! module    = { function | kernel | layout | global }
//! layout    = "layout" @name "(" [ type {"," type} ] ")"   what a cell holds: term, u32, i32, f32
//! global    = "global" @name "=" @name                     a value that the function computes once
//! function  = "fn" @name "(" params ")" [ "->" type {"," type} ] body
//! kernel    = "kernel" @name "(" params ")" { launch } [ "launch" body ] body
//! params    = [ param {"," param} ]
//! param     = %name ":" type { param-attr }                type `buffer`, `shared`, `private` or that of a number
//! param-attr= "divisible(" n ")" | "align(" n ")" | "readonly" | "noalias" | "borrowed" | "traps"
//! launch    = "workgroup(" n ["," n ["," n]] ")" | "spec(" %name ":" scalar "=" literal ")" | "fold" | "cooperative"
//!           | "subgroup(" n ")" | "registers(" n ")"
//! body      = "{" { memory } { statement } "}"             memories only in the outermost body
//! memory    = ("shared"|"private") %name ":" type "[" operand "]" { "align(" n ")" | "group(" n ")" }
//! statement = [ result {"," result} "=" ] instruction
//!           | %name "=" "const" "." scalar literal          a name for a constant
//! result    = %name [ ":" type ]
//! instruction = operation [ "." suffix ] [ @name ] [ operands ] { attribute } | if | switch | loop | call | while
//!                                                          the name is that of a layout (`cell.new`, `cell.get`, `cell.open`,
//!                                                          `cell.fill`), a global (`global.get`) or a function (`join`)
//! suffix    = type | "x" | "y" | "z"                       add.f32, load.f32x4, splat.regs<f32, 8>, global_id.x
//! operands  = operand {"," operand}
//! operand   = %name | literal | access | "(" instruction ")" | "(" "const" "." scalar literal ")"
//! access    = %name "[" operand [ ("+"|"-") n ] "]"        %m[%i], %m[%i + 4], %m[%i - 1], %m[7]
//! literal   = 42 | -1 | 0xff | 1.5 | -2.0e-3 | inf | -inf | nan | true | false | bits(0x7fc00001)
//! attribute = name [ "(" .. ")" ]                          nowrap, pending(2), spaces(shared, global), order(acquire), scope(device),
//!                                                          cache(streaming), shape(64x256x16), layout(column), code(7), field(1),
//!                                                          a(k, swizzle 128, leading 16, stride 1024), b(n, ..)
//! if        = "if" operand body [ "else" body ]
//! switch    = "switch" [ "." type ] operand { "case" literal {"," literal} body } "default" body
//! loop      = "loop" [ "(" %name ":" type "=" operand {"," ..} ")" ] [ "unroll" ] body
//! call      = ("call" | "fork" | "tail") @name "(" [ operands ] ")"
//! while     = "while" operand [ "next" operands ]          yield, break, continue, return take operands
//! type      = scalar | scalar "x" lanes | "regs<" scalar "," n ">" | "coop<" ("a"|"b"|"acc") "," MxNxK "," scalar ">"
//!           | "buffer" | "shared" | "private" | "token" | "term"
//! name      = letters, digits, `_` `.` `/` `$`, or any text in quotes: %"a b"
//! ```
//!
//! `;` starts a comment, which ends with its line; `; run: ..` lines are kept, and [`run_lines`] has their grammar. A statement ends with its line,
//! unless the line ends with a comma or an open bracket; braces, `else`, `case` and `default` may be on lines of their own.
//!
//! # Rules
//!
//! - **Names.** A value is visible after its definition, in the region that defines it and in regions inside that one. A visible name cannot be defined
//!   again. Values that `launch` defines are visible in the body. A value whose name is a number has no name: numbers are assigned anew when it is printed.
//! - **Types.** If a suffix is left out, it is the type of the first operand whose type is known: `and (lt.u32 %a, %b), %c` is `and.bool`. A result's type is
//!   written where nothing else determines it: for results of `if` and `switch`, and of a `loop` that does not give its parameters' types.
//! - **Literals** have the type that the table requires at their place, the parameter's type in a call, or the types of the loop, `if` or function that a jump
//!   leads to. Where nothing requires a type, `(const.f32 1.0)` names it. A decimal number is rounded once to its type.
//! - **Ends.** A region without a terminator gets `yield`, `continue` or `return` without values. An `if` without `else` gives nothing.
//! - **Results without names.** A statement may leave out all names. A `loop` without names gives its parameters' types if it ends with `while`, otherwise the types of its
//!   first `break`.
//! - The host runs `launch { .. grid %x, 1, 1 }` at each launch.

mod format;
pub mod lexer;
pub mod literal;
mod parser;
mod printer;
pub mod run_lines;
mod words;

pub use format::format;
pub use printer::{print, print_function};
pub use run_lines::RunLine;
pub use words::{Syntax, syntax};

use super::function::Module;
use girih_base::diag::Diagnostic;
use girih_base::span::SourceId;

/// What a text holds.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// Its functions and kernels.
    pub module: Module,
    /// Its `; run:` lines.
    pub runs: Vec<RunLine>,
}

/// Reads a text. All errors that are found in one go, in the text's order; the module has still to be verified.
pub fn parse(source: SourceId, text: &str) -> Result<Parsed, Vec<Diagnostic>> {
    parser::parse(source, text)
}

//! The text form of the IR, `.gir`: reading and printing. `parse(print(module))` is the module again.
//!
//! # Grammar
//!
//! ```text
//! module    = { function | kernel }                               `;` starts a comment; `; run: ..` lines are kept
//! function  = "fn" @name "(" params ")" [ "->" type {"," type} ] body
//! kernel    = "kernel" @name "(" params ")" { launch } [ "launch" body ] body
//! params    = [ %name ":" type { param-attr } {"," ..} ]           type `buffer`, `shared` or a scalar, vector, ..
//! param-attr= "divisible(" n ")" | "align(" n ")" | "readonly" | "noalias"
//! launch    = "workgroup(" n ["," n ["," n]] ")" | "spec(" %name ":" scalar "=" literal ")" | "fold" | "cooperative"
//!           | "subgroup(" n ")" | "registers(" n ")"
//! body      = "{" { memory } { statement } "}"
//! memory    = ("shared"|"private") %name ":" type "[" value "]" [ "align(" n ")" ] [ "group(" n ")" ]
//! statement = [ result {"," result} "=" ] instruction
//! result    = %name [ ":" type ]                                   the type is needed where the table does not fix it: on
//!                                                                  `if`, `switch`; a loop without types gives its parameters' types
//! instruction = operation [ "." suffix ] [ operands ] { attribute } [ regions ]
//! suffix    = type | "x" | "y" | "z"                                add.f32, load.f32x4, splat.regs<f32, 8>, global_id.x
//! operands  = operand {"," operand}                                an access is one operand: %m[%i], %m[%i + 4], %m[%i - 1], %m[7]
//! operand   = %name | literal | "(" instruction ")" | "(" "const" "." scalar literal ")"
//! literal   = 42 | -1 | 0xff | 1.5 | -2e-3 | inf | -inf | nan | true | false | bits(0x7fc00001)
//! attribute = name [ "(" .. ")" ]                                  nowrap, pending(2), spaces(shared, global), order(acquire), cache(streaming),
//!                                                                  shape(64x256x16), a(k, swizzle 128, leading 16, stride 1024), layout(column), code(7)
//! if        = "if" operand body [ "else" body ]
//! switch    = "switch" "." type operand { "case" int {"," int} body } "default" body
//! loop      = "loop" [ "(" %name ":" type "=" operand {"," ..} ")" ] [ "unroll" ] body
//! call      = "call" @name "(" operands ")"
//! while     = "while" operand [ "next" operands ]                  yield, break, continue, return take operands
//! ```
//!
//! A literal has the type that the table asks for at its place; where the table asks for none, `(const.f32 1.0)` says it.
//! A float literal is rounded once to its type. A region without a terminator gets `yield`, `continue` or `return` without values
//! where that is allowed. `launch { .. grid x, y, z }` is run by the host at each launch; its values are visible in the body.

//! What people write who come from Python, JavaScript, Rust or Haskell, and what to write here: one table for each kind of place.
//!
//! The tables are only asked where something is wrong already, so nothing that Bend has is refused because of them. A hint says what Bend has instead.

/// A word or symbol of another language, and the hint.
type Habit = (&'static str, &'static str);

/// The hint of a table for a word.
pub(crate) fn hint(table: &[Habit], word: &str) -> Option<&'static str> {
    table.iter().find(|(habit, _)| *habit == word).map(|(_, hint)| *hint)
}

/// Operators that begin like one of Bend's.
pub(crate) const OPERATORS: &[Habit] = &[
    ("&&", "write `&`: a condition is a number, and comparisons give 1 or 0"),
    ("||", "write `|`: a condition is a number, and comparisons give 1 or 0"),
    ("===", "write `==`"),
    ("!==", "write `!=`"),
    ("/=", "write `!=` to compare; `x /= 2` is a statement of its own"),
    ("<>", "write `!=` to compare; text is joined by `String/concat(a, b)`"),
    ("//", "write `/`: the division of integers gives an integer; a comment starts with `#`"),
    ("++", "text is joined by `String/concat(a, b)`, lists by `List/concat(a, b)`; `x += 1` counts"),
    ("--", "write `x -= 1` in a line of its own; a comment starts with `#`"),
];

/// Statements, and how they are written in the place of an expression.
pub(crate) const EXPRESSIONS: &[Habit] = &[
    ("if", "assign in the branches, and use the variable after them:\n  if c:\n    x = 1\n  else:\n    x = 2"),
    (
        "match",
        "assign in the cases, and use the variable after them:\n  match m:\n    case Maybe/Some:\n      x = m.value\n    case Maybe/None:\n      x = 0",
    ),
    (
        "switch",
        "assign in the cases, and use the variable after them:\n  switch n:\n    case 0:\n      x = 1\n    case _:\n      x = 2",
    ),
    (
        "fold",
        "assign in the cases, and use the variable after them:\n  fold xs:\n    case List/Nil:\n      x = 0\n    case List/Cons:\n      x = xs.head + xs.tail",
    ),
    (
        "bend",
        "assign in the branches, and use the variable after them:\n  bend n = 0:\n    when n < 3:\n      x = ![fork(n + 1), fork(n + 1)]\n    else:\n      x = !n",
    ),
];

/// What stands where nothing of the kind fits.
pub(crate) const TOKENS: &[Habit] = &[
    ("and", "write `&`: a condition is a number, and comparisons give 1 or 0"),
    ("or", "write `|`: a condition is a number, and comparisons give 1 or 0"),
    ("in", "there is no operator `in`: `fold` looks through a list, and `Map/contains` asks a map"),
    ("is", "write `==` to compare numbers; constructors are told apart by `match`"),
    ("not", "write `x == 0`: a condition is a number, and 0 is false"),
    ("then", "in the functional syntax write `if c { a } else { b }`"),
    ("of", "in the functional syntax write `match x { List/Nil: a; List/Cons: b }`"),
    ("as", "a name stands on the left: `y = x`; `as` belongs to imports"),
    (
        "=>",
        "a lambda is written `lambda x: …` in the imperative syntax and `λx …` in the functional one; the type of a result stands behind `->`",
    ),
    ("->", "a body follows a `:` and stands on a line of its own; a lambda is written `lambda x: …`"),
    ("::", "write `/` in names, as in `List/Nil`; a type follows one `:`"),
    ("?", "`if` is a statement: assign in its branches, and use the variable after it"),
    (":=", "a variable is bound in a line of its own, by `x = …`"),
    ("|", "there are no guards and no `|x|`: write `if`, and `lambda x: …` for a function without a name"),
    ("\\", "a lambda is written `λx …` in the functional syntax and `lambda x: …` in the imperative one"),
    ("&", "there are no references: every value can be used as often as you like"),
    ("$", "a call is written `f(x)` in the imperative syntax and `(f x)` in the functional one"),
    ("@", "there are no decorators: call the function on the other function"),
    ("/*", "a comment starts with `#` and ends with the line"),
    ("“", "text stands between straight quotes: `\"text\"`"),
    ("”", "text stands between straight quotes: `\"text\"`"),
    ("„", "text stands between straight quotes: `\"text\"`"),
    ("‘", "a character stands between straight quotes, as in `'c'`, and text between `\"`"),
    ("’", "a character stands between straight quotes, as in `'c'`, and text between `\"`"),
    ("for", LOOPS),
    ("while", LOOPS),
    ("class", "write `object` for a type with one constructor, `type` for one with several"),
    ("pass", "a block must return or assign something: write a value of its type for the moment, such as `return 0`"),
    ("else", "an `else` belongs to an `if` or a `bend` with the same indentation"),
    ("elif", "an `elif` belongs to an `if` with the same indentation"),
    ("case", "a `case` belongs to a `match`, `switch` or `fold` and is indented by two more spaces"),
    ("let", "in the imperative syntax a variable is bound by `x = …`"),
    ("var", "a variable is bound by `x = …`"),
    ("ask", "in the imperative syntax a step of a `with` block is written `x <- …`"),
    ("when", "a `when` belongs to a `bend` and is indented by two more spaces"),
];

const LOOPS: &str = "there are no loops: a function that calls itself repeats a step, `bend` builds a structure and `fold` consumes one. \
     The sum of the numbers below n:\n  def sum(n):\n    switch n:\n      case 0:\n        return 0\n      case _:\n        \
     return n-1 + sum(n-1)\n`[x + 1 for x in xs]` maps a list";

/// Words before which something stands that Bend has no word for.
pub(crate) const PREFIXES: &[Habit] = &[
    ("not", "write `x == 0`: a condition is a number, and 0 is false"),
    ("new", "leave out `new`: a constructor is called like a function, as in `Point(1, 2)`"),
    ("await", "leave out `await`: inside `with IO:`, `x <- step` waits for a step"),
    ("typeof", "the type of a value is known before the program runs: `match` tells constructors apart"),
    ("return", "a lambda has one expression behind its `:`, and no `return`"),
    ("f", "there are no f-strings: `String/concat(\"n = \", u24/to_string(n))` puts text together"),
    ("r", "there are no raw strings: write `\\\\` for a backslash"),
    ("b", "there are no byte strings: `String/encode_utf8(\"text\")` gives a list of bytes"),
];

/// Words that begin a statement of another language.
pub(crate) const STATEMENTS: &[Habit] = &[
    ("const", "a variable is bound by `x = …`"),
    ("val", "a variable is bound by `x = …`"),
    ("global", GLOBALS),
    ("nonlocal", GLOBALS),
    (
        "break",
        "there are no loops to leave: the `else` of a `bend` says where it ends, and `return` stands at the end of a branch",
    ),
    ("continue", "there are no loops: a function goes on by calling itself"),
    ("assert", "write an `if` whose branches return different values, such as `Result/Ok(x)` and `Result/Err(why)`"),
    ("raise", ERRORS),
    ("throw", ERRORS),
    ("try", ERRORS),
    ("except", ERRORS),
    ("catch", ERRORS),
    ("yield", "a function returns once: let it return a list"),
    ("del", "a value that is not used any more is freed by itself"),
    ("do", "steps follow each other inside `with IO:`, each written `x <- step`"),
    ("until", LOOPS),
    ("loop", LOOPS),
    ("import", "an `import` stands outside of functions, in the first column"),
    ("from", "an import stands outside of functions, in the first column"),
];

const GLOBALS: &str = "nothing changes from inside a function: take the value as a parameter, and return the new one";
const ERRORS: &str =
    "there are no exceptions: return `Result/Ok(x)` or `Result/Err(why)`, and tell them apart by `match`";

/// Words that begin a top-level item of another language.
pub(crate) const ITEMS: &[Habit] = &[
    ("class", TYPES_OF_FIELDS),
    ("struct", TYPES_OF_FIELDS),
    ("interface", TYPES_OF_FIELDS),
    ("record", TYPES_OF_FIELDS),
    ("enum", TYPES_OF_CASES),
    ("data", TYPES_OF_CASES),
    ("newtype", TYPES_OF_CASES),
    ("trait", "there are no traits: a function takes the functions that it needs as parameters"),
    ("impl", "functions stand outside of types: `def norm(p): …`, called as `norm(p)`"),
    ("fn", FUNCTIONS),
    ("fun", FUNCTIONS),
    ("func", FUNCTIONS),
    ("function", FUNCTIONS),
    ("async", FUNCTIONS),
    ("public", FUNCTIONS),
    ("static", FUNCTIONS),
    ("export", "leave it out: other files can import every definition of this one"),
    ("pub", "leave it out: other files can import every definition of this one"),
    ("use", "another file is read by `import folder/file` or `from folder/file import name`"),
    ("using", "another file is read by `import folder/file` or `from folder/file import name`"),
    ("mod", "a file is a module: `import folder/file` reads it"),
    ("module", "a file is a module: `import folder/file` reads it"),
    ("let", CONSTANTS),
    ("const", CONSTANTS),
    ("var", CONSTANTS),
    ("if", STATEMENT_OUTSIDE),
    ("for", STATEMENT_OUTSIDE),
    ("while", STATEMENT_OUTSIDE),
    ("return", STATEMENT_OUTSIDE),
    ("match", STATEMENT_OUTSIDE),
    ("with", STATEMENT_OUTSIDE),
    ("print", STATEMENT_OUTSIDE),
];

const TYPES_OF_FIELDS: &str = "a type with named fields is an `object`, and functions stand outside of it:\n  object Point { x, y }\n\n  \
     def norm(p):\n    open Point: p\n    return p.x * p.x + p.y * p.y\n`Point(3, 4)` makes one";
const TYPES_OF_CASES: &str = "a type with several constructors is a `type`:\n  type Shape:\n    Circle { radius }\n    Square { side }\n\
     `Shape/Circle(1)` makes one, and `match` tells them apart";
const FUNCTIONS: &str = "a function is written\n  def name(x, y):\n    return x + y";
const CONSTANTS: &str = "outside of functions write `x = …` for a name that stands for one value";
pub(crate) const STATEMENT_OUTSIDE: &str =
    "statements stand inside a function: a program starts at `def main():` by itself";

/// Functions that print.
pub(crate) const PRINTERS: &[&str] = &[
    "print",
    "println",
    "printf",
    "puts",
    "echo",
    "putStrLn",
    "putStr",
    "console.log",
    "console.error",
    "cout",
    "eprintln",
    "process.stdout.write",
    "sys.stdout.write",
];

/// Methods that change what they are called on.
pub(crate) const ADDING_METHODS: &[&str] = &["append", "push", "push_back", "add", "extend"];

/// Functions and values under names that Bend does not have.
pub(crate) const NAMES: &[Habit] = &[
    ("True", "truth values are numbers in Bend: write 1"),
    ("true", "truth values are numbers in Bend: write 1"),
    ("False", "truth values are numbers in Bend: write 0"),
    ("false", "truth values are numbers in Bend: write 0"),
    ("null", NOTHING),
    ("nil", NOTHING),
    ("undefined", NOTHING),
    ("None", NOTHING),
    ("Nothing", NOTHING),
    ("Some", "write `Maybe/Some(x)`"),
    ("Just", "write `Maybe/Some(x)`"),
    ("Ok", "write `Result/Ok(x)`"),
    ("Right", "write `Result/Ok(x)`"),
    ("Err", "write `Result/Err(why)`"),
    ("Left", "write `Result/Err(why)`"),
    ("range", "there are no ranges: a function that calls itself, or a `bend`, makes the numbers one after the other"),
    ("len", "`(n, xs) = List/length(xs)` gives the length of a list"),
    ("length", "`(n, xs) = List/length(xs)` gives the length of a list"),
    ("str", CONVERSIONS),
    ("String", CONVERSIONS),
    ("toString", CONVERSIONS),
    ("show", CONVERSIONS),
    ("sorted", SORTING),
    ("sort", SORTING),
    ("int", CONVERSIONS),
    ("float", CONVERSIONS),
    ("sum", "`fold` adds up a list: in its arm `case List/Cons:` write `return xs.head + xs.tail`"),
    ("map", "write `[f(x) for x in xs]`"),
    ("filter", "write `[x for x in xs if c(x)]`, or `List/filter(xs, c)`"),
    ("reduce", "`fold` combines the elements of a list"),
    ("foldr", "`fold` combines the elements of a list"),
    ("sqrt", "write `Math/sqrt(x)`"),
    ("sin", "write `Math/sin(x)`"),
    ("cos", "write `Math/cos(x)`"),
    ("floor", "write `Math/floor(x)`"),
    ("pi", "write `Math/PI`"),
    ("min", "write it as a function with an `if`"),
    ("max", "write it as a function with an `if`"),
    ("abs", "write it as a function with an `if`"),
    ("input", "inside `with IO:`, `line <- IO/input()` reads a line"),
    ("print", PRINT),
    ("println", PRINT),
    ("printf", PRINT),
    ("console.log", PRINT),
    ("putStrLn", PRINT),
    ("not", "write `x == 0`: a condition is a number, and 0 is false"),
    ("self", "there are no methods: a function takes the value as a parameter"),
    ("this", "there are no methods: a function takes the value as a parameter"),
];

const NOTHING: &str =
    "write `*` for a value that nobody looks at; a value that may be missing is a `Maybe/Some(x)` or `Maybe/None`";
const CONVERSIONS: &str = "numbers are converted by functions such as `u24/to_string`, `u24/to_f24` and `f24/to_u24`";
/// The types of numbers, which are no values.
pub(crate) const NUMBERS: &[&str] = &["u24", "i24", "f24", "u32", "i32", "f32"];
pub(crate) const NUMBER_AS_VALUE: &str =
    "this is a type, and no value: numbers are converted by functions such as `f24/to_u24` and `u24/to_f24`";
const SORTING: &str = "there is no function that sorts: `examples/bend/merge_sort.bend` has one to copy";
const PRINT: &str = "a program prints inside `with IO:`, by `* <- IO/print(text)`";

/// Methods and attributes of values.
pub(crate) const METHODS: &[Habit] = &[
    ("length", "`(n, xs) = List/length(xs)` gives the length of a list"),
    ("len", "`(n, xs) = List/length(xs)` gives the length of a list"),
    ("size", "`(n, xs) = List/length(xs)` gives the length of a list"),
    ("map", "write `[f(x) for x in xs]`"),
    ("filter", "write `[x for x in xs if c(x)]`, or `List/filter(xs, c)`"),
    ("reduce", "`fold` combines the elements of a list"),
    ("reverse", "write `List/reverse(xs)`"),
    ("append", "write `List/concat(xs, [x])`"),
    ("push", "write `List/concat(xs, [x])`"),
    ("concat", "write `List/concat(xs, ys)`, or `String/concat(a, b)`"),
    ("join", "text is joined by `String/concat(a, b)`"),
    ("format", "text is joined by `String/concat(a, b)`, and `u24/to_string` makes text of a number"),
    ("split", "write `String/split(text, ' ')`"),
    ("get", "write `map[key]`"),
    ("unwrap", "write `Maybe/unwrap(x)` or `Result/unwrap(x)`"),
    ("sqrt", "write `Math/sqrt(x)`"),
];

/// Types under names that Bend does not have.
pub(crate) const TYPES: &[Habit] = &[
    ("int", INTEGERS),
    ("Int", INTEGERS),
    ("integer", INTEGERS),
    ("Integer", INTEGERS),
    ("number", INTEGERS),
    ("isize", INTEGERS),
    ("i8", INTEGERS),
    ("i16", INTEGERS),
    ("i64", INTEGERS),
    ("usize", INTEGERS),
    ("u8", INTEGERS),
    ("u16", INTEGERS),
    ("u64", INTEGERS),
    ("float", FLOATS),
    ("Float", FLOATS),
    ("double", FLOATS),
    ("Double", FLOATS),
    ("f64", FLOATS),
    ("f16", FLOATS),
    ("bool", "truth values are numbers: write `u24`"),
    ("Bool", "truth values are numbers: write `u24`"),
    ("boolean", "truth values are numbers: write `u24`"),
    ("char", "characters are numbers: write `u24`"),
    ("Char", "characters are numbers: write `u24`"),
    ("str", "write `String`"),
    ("string", "write `String`"),
    ("list", "write `List(T)`, for example `List(u24)`"),
    ("array", "write `List(T)`, for example `List(u24)`"),
    ("Array", "write `List(T)`, for example `List(u24)`"),
    ("Vec", "write `List(T)`, for example `List(u24)`"),
    ("dict", "write `Map(T)`: its keys are `u24`"),
    ("HashMap", "write `Map(T)`: its keys are `u24`"),
    ("Dict", "write `Map(T)`: its keys are `u24`"),
    ("Option", "write `Maybe(T)`"),
    ("Optional", "write `Maybe(T)`"),
    ("Either", "write `Result(T, E)`"),
    ("void", "write `None`"),
    ("Unit", "write `None`"),
];

const INTEGERS: &str =
    "write `u24` for numbers from 0 to 16777215, `i24` for numbers with a sign; `u32` and `i32` have 32 bits";
const FLOATS: &str = "write `f24`, or `f32` for 32 bits";

/// What begins a definition in other languages, and makes one of a strange name here: `const N = 10` defines a function `const` of `N`.
pub(crate) const MISREAD: &[Habit] = &[
    ("const", CONSTANTS),
    ("let", CONSTANTS),
    ("var", CONSTANTS),
    ("val", CONSTANTS),
    ("static", CONSTANTS),
    ("where", "there is no `where`: bind the name before the expression, by `let x = …; …` or by `x = …`"),
];

/// Modules of other languages.
pub(crate) const MODULES: &[Habit] = &[
    (
        "math",
        "nothing is to be imported: `Math/sqrt`, `Math/sin`, `Math/floor`, `Math/PI` and others are there in every program",
    ),
    (
        "random",
        "there are no random numbers of the machine: a function makes the next one of the one before, as in `seed * 1103 + 12345`",
    ),
    ("time", "nothing is to be imported: inside `with IO:`, `t <- IO/get_time()` asks for the time"),
    ("os", FILES),
    ("sys", FILES),
    ("io", FILES),
    ("fs", FILES),
    (
        "numpy",
        "Bend has no arrays: a `List(T)` or a `Tree(T)` holds many values; Triton kernels work on arrays (`girih launch`)",
    ),
    (
        "torch",
        "Bend has no arrays: a `List(T)` or a `Tree(T)` holds many values; Triton kernels work on arrays (`girih launch`)",
    ),
    ("typing", "types need no import: `List(T)`, `Maybe(T)`, `Map(T)` and `String` are there in every program"),
];

const FILES: &str = "nothing is to be imported: inside `with IO:`, `IO/print`, `IO/input` and `IO/FS/read_file` are there in every program";

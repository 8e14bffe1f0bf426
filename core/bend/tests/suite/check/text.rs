//! Whole programs as text, with the prelude: which are accepted, which are refused, and what the errors look like.

use girih_base::diag::{Severity, Style, render};
use girih_bend::loader::{File, LoadError, Loader};
use girih_bend::{Compilation, Options, compile};

/// A program of one file.
struct Text<'a>(&'a str);

impl Loader for Text<'_> {
    fn main(&self) -> Result<File, LoadError> {
        Ok(File { name: "main.bend".to_string(), text: self.0.to_string() })
    }
    fn file(&self, _: &str) -> Result<Option<File>, LoadError> {
        Ok(None)
    }
    fn folder(&self, _: &str) -> Option<Vec<String>> {
        None
    }
}

pub fn compiled(text: &str) -> Compilation {
    let has_main = text.contains("main");
    let text = if has_main { text.to_string() } else { format!("{text}\ndef main() -> u24:\n  return 0\n") };
    compile(&Text(&text), &Options::default())
}

/// All errors of a program as people see them.
fn errors(text: &str) -> String {
    let compilation = compiled(text);
    let errors = compilation.diagnostics.iter().filter(|d| d.severity == Severity::Error);
    errors.map(|d| render(d, &compilation.sources, Style::Plain)).collect()
}

#[track_caller]
fn accepted(text: &str) {
    let found = errors(text);
    assert!(found.is_empty(), "refused:\n{text}\n{found}");
}

macro_rules! refused {
    ($($name:ident: $text:literal;)*) => {
        $(#[test]
        fn $name() {
            let found = errors($text);
            assert!(!found.is_empty(), "accepted: {}", $text);
            insta::assert_snapshot!(stringify!($name), format!("{}\n{found}", $text.trim_end()));
        })*
    };
}

#[test]
fn the_prelude_has_no_errors() {
    accepted("");
}

#[test]
fn what_the_annotation_leaves_open_is_found() {
    accepted(
        "
def push(list: List(T), value) -> List(T):
  match list:
    case List/Nil:
      return List/Cons(value, List/Nil)
    case List/Cons:
      return List/Cons(list.head, push(list.tail, value))

def twice(f: _, x: _) -> _:
  return f(f(x))

def three() -> u24:
  return twice(lambda x: x + 1, 1)

def tail(list: List(T)) -> _:
  match list:
    case List/Nil:
      return List/Nil
    case List/Cons:
      return list.tail

def text() -> String:
  match l = tail([\"a\", \"b\"]):
    case List/Nil:
      return \"\"
    case List/Cons:
      return l.head
",
    );
}

#[test]
fn a_function_without_annotation_takes_and_gives_anything() {
    accepted(
        "
def same(x):
  return x

def number() -> u24:
  return same(1) + 1

def text() -> String:
  return same(1)

def apply(f: u24 -> u24) -> u24:
  return f(same(\"a\"))
",
    );
}

#[test]
fn what_bend_accepts_because_any_forgets_is_accepted() {
    accepted(
        "
def same(x):
  return x

def wrong(x: u24) -> String:
  y = same(x)
  return x

def open(res: Result(A, B)) -> Any:
  match res:
    case Result/Ok:
      return res.val
    case Result/Err:
      return res.val
",
    );
}

#[test]
fn folds_bends_and_local_functions_are_inferred() {
    accepted(
        "
def sum(tree: Tree(u24)) -> u24:
  fold tree:
    case Tree/Leaf:
      return tree.value
    case Tree/Node:
      return tree.left + tree.right

def build(depth: u24, x: T) -> Tree(T):
  bend d = 0:
    when d < depth:
      tree = ![fork(d + 1), fork(d + 1)]
    else:
      tree = !x
  return tree

def count(n: u24) -> String:
  def go(n: u24, acc: String) -> String:
    switch n:
      case 0:
        return acc
      case _:
        return go(n-1, String/Cons('x', acc))
  return go(n, \"\")

def fill(list: List(T), with_: T) -> List(T):
  return [with_ for x in list]
",
    );
}

#[test]
fn io_and_monads_are_typed() {
    accepted(
        "
def ask(name: String) -> IO(u24):
  with IO:
    * <- IO/print(name)
    line <- IO/input()
    match line:
      case Result/Ok:
        (length, *) = List/length(String/encode_utf8(line.val))
        return wrap(length)
      case Result/Err:
        return wrap(line.val)

def Result/bind(res: Result(A, E), f: ((Id -> Id) -> A -> Result(B, E))) -> Result(B, E):
  match res:
    case Result/Ok:
      return undefer(f, res.val)
    case Result/Err:
      return res

def add(a: Result(u24, String), b: Result(u24, String)) -> Result(u24, String):
  with Result:
    x <- a
    y <- b
    return Result/Ok(x + y)
",
    );
}

#[test]
fn numbers_of_32_bits_mix_with_those_of_24() {
    accepted(
        "
def mix(a: u24, b: u32) -> u32:
  return a * b + 4000000000

def scale(x: f24, by: f32) -> f32:
  return x * by + 0.5

def both(x: i24, y: i32) -> u24:
  return x < y

type Point:
  Point { x: f32, y: f32 }

def point(x: f24) -> Point:
  return Point/Point(x, 1.0)

def list(x: u24) -> List(u32):
  return [x, 3000000000, 5u32]

def hash(n: u32) -> u32:
  switch n:
    case 0:
      return 2166136261
    case _:
      return (hash(n-1) ^ n) * 16777619

def width() -> u32:
  return 256
",
    );
}

#[test]
fn parts_of_a_definition_know_what_the_definition_knows() {
    accepted(
        "
def hash(bytes: List(u24)) -> u32:
  fold bytes with h=2166136261:
    case List/Nil:
      return h
    case List/Cons:
      return bytes.tail((h ^ bytes.head) * 16777619)

def powers(x: u32) -> List(u32):
  bend x, i=0:
    when i < 10:
      return List/Cons(x, fork(x * 4000000000, i + 1))
    else:
      return List/Nil

def sum(numbers: List(u24)) -> u32:
  fold numbers with total=0:
    case List/Cons:
      return numbers.tail(total + numbers.head)
    case List/Nil:
      return total

def local(n: u32) -> u32:
  def step(x: u32, times: u24) -> u32:
    switch times:
      case 0:
        return x
      case _:
        return step(x * 2654435761, times-1)
  return step(n, 3) + step(3000000000, 4)

def steps(x: u32) -> IO(u32):
  with IO:
    time <- IO/get_time()
    (high, low) = time
    * <- IO/print(\"\")
    return wrap(x * 4000000000 + low)
",
    );
}

#[test]
fn a_local_function_is_generalised() {
    accepted(
        "
def both() -> (u24, String):
  def same(x):
    return x
  return (same(1), same(\"a\"))

def nested(d: List(List(u24))) -> List(List(u24)):
  return [[x + 1 for x in row] for row in d]
",
    );
}

#[test]
fn what_bend_does_not_read_is_not_held_against_a_program() {
    accepted(
        "
def f(x: u24) -> u24:
  def wrong(y: String) -> String:
    return y + 1
  return wrong(x)
",
    );
}

#[test]
fn recursion_at_another_type_needs_an_annotation() {
    accepted(
        "
type Nested(T):
  Flat { value: T }
  Deep { ~inner: Nested((T, T)) }

def depth(n: Nested(T)) -> u24:
  match n:
    case Nested/Flat:
      return 0
    case Nested/Deep:
      return depth(n.inner) + 1
",
    );
}

refused! {
    too_many_arguments: "
def add(a: u24, b: u24) -> u24:
  return a + b

def main() -> u24:
  return add(1, 2, 3)
";
    missing_argument: "
def add(a: u24, b: u24) -> u24:
  return a + b

def main() -> u24:
  return add(1) + 1
";
    missing_argument_of_an_argument: "
def add(a: u24, b: u24) -> u24:
  return a + b

def main() -> u24:
  return add(1, add(2))
";
    wrong_argument: "
def shout(text: String, times: u24) -> String:
  return text

def main() -> String:
  return shout(3, \"hello\")
";
    float_and_integer: "
def area(w: u24, h: f24) -> f24:
  return w * h
";
    integer_literal_for_a_float: "
def half(x: f24) -> f24:
  return x / 2
";
    unsigned_literal_for_a_signed: "
def next(x: i24) -> i24:
  return x + 1
";
    wide_number_in_a_narrow_place: "
def low(x: u32) -> u24:
  return x
";
    text_plus_number: "
def label(n: u24) -> String:
  return \"n = \" + n
";
    text_compared_with_equals_sign: "
def is_yes(s: String) -> u24:
  return s == \"yes\"
";
    branches_that_differ: "
def f(x: u24) -> _:
  if x == 0:
    return \"none\"
  else:
    return x
";
    a_branch_against_the_annotation: "
def f(x: u24) -> u24:
  if x == 0:
    return \"none\"
  else:
    return x
";
    elements_that_differ: "
def f() -> _:
  return [1, 2, \"three\"]
";
    tree_of_two_types: "
def my_tree() -> _:
  return ![!1, !\"a\"]
";
    tuple_for_a_tree: "
def tree() -> Tree(u24):
  return (1, 2)
";
    tuples_of_different_sizes: "
def f(p: (u24, u24)) -> u24:
  (a, b, c) = p
  return a + b + c
";
    annotation_too_general: "
def append_num(list: List(T), num: u24) -> List(T):
  return List/Cons(num, list)
";
    annotation_that_makes_two_of_one: "
def pick(a: A, b: B) -> A:
  if 1:
    return a
  else:
    return b
";
    arithmetic_on_every_type: "
def double(x: T) -> T:
  return x + x
";
    self_application: "
def omega() -> _:
  return lambda x: x(x)
";
    superposition_in_a_checked_function: "
def both() -> u24:
  return {1 2}
";
    scopeless_variable_in_a_checked_function: "
def channel(x: u24) -> (u24 -> u24, u24):
  return (lambda $a: x, $a)
";
    number_that_is_called: "
def f(x: u24) -> u24:
  return x(1)
";
    match_on_a_number: "
type Opt(T):
  Some { value: T }
  None

def f(x: u24) -> u24:
  match x:
    case Opt/Some:
      return x.value
    case Opt/None:
      return 0
";
    condition_that_is_text: "
def f(s: String) -> u24:
  if s:
    return 1
  else:
    return 0
";
    io_used_as_a_value: "
def main() -> IO(None):
  with IO:
    name = IO/input()
    * <- IO/print(name)
    return wrap(*)
";
    field_of_a_constructor: "
type Point:
  Point { x: u24, y: u24 }

def p() -> Point:
  return Point/Point(1, 2.5)
";
    literal_out_of_range: "
def f() -> u24:
  return 16777216
def g() -> i24:
  return -8388609
def h() -> u32:
  return 4294967295
";
    power_of_integers: "
def f(x: u24) -> u24:
  return x ** 2
";
    shift_of_signed: "
def f(x: i24) -> i24:
  return x << +1
";
    maybe_used_as_a_value: "
def f(m: Maybe(u24)) -> u24:
  return m
";
    eraser_for_a_number: "
def f() -> u24:
  return *
";
    several_definitions_with_errors: "
def f() -> u24:
  return \"a\"

def g() -> String:
  return f()

def h(x: f24) -> u24:
  return f() + g()
";
    a_fold_with_a_wrong_arm: "
def sum(list: List(u24)) -> u24:
  fold list:
    case List/Nil:
      return 0
    case List/Cons:
      return list.head + \"a\"
";
    functional_syntax: "
Add : u24 -> f24 -> u24
Add a b = (+ a b)
";
    part_of_a_result: "
def pair(x: f24) -> (u24, List(u24)):
  return (1, [2, x])
";
    part_of_an_argument: "
def first(pair: (u24, String)) -> u24:
  (a, *) = pair
  return a

def main() -> u24:
  return first((1, 2))
";
    argument_of_equations: "
Second : u24 -> String -> String
Second 0 s = s
Second n s = \"\"

main : String
main = (Second \"a\" \"b\")
";
    state_of_a_fold: "
def sum(list: List(u24)) -> u24:
  fold list with acc=0:
    case List/Nil:
      return acc
    case List/Cons:
      return list.tail(\"x\")
";
    state_of_a_bend: "
def build(n: u24) -> Tree(u24):
  bend d = n:
    when d > 0:
      return ![fork(d - 1), fork(\"b\")]
    else:
      return !d
";
    local_function_against_its_annotation: "
def count(n: u24) -> String:
  def go(n: u24, acc: String) -> String:
    switch n:
      case 0:
        return acc
      case _:
        return go(n-1, 5)
  return go(n, \"\")
";
    a_comprehension_over_text: "
def codes(names: List(String)) -> List(u24):
  return [name + 1 for name in names]
";
    forgotten_wrap: "
def five() -> IO(u24):
  with IO:
    * <- IO/print(\"a\")
    return 5
";
}

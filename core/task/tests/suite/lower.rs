//! What small programs become: the functions of the IR, as text.

use girih_bend::loader::{File, LoadError, Loader};
use girih_bend::{Options, compile};
use girih_ir::{Module, Verified, text};
use girih_term::code::Code;

struct Text(&'static str);

impl Loader for Text {
    fn main(&self) -> Result<File, LoadError> {
        Ok(File { name: "test".into(), text: self.0.into() })
    }
    fn file(&self, _path: &str) -> Result<Option<File>, LoadError> {
        Ok(None)
    }
    fn folder(&self, _path: &str) -> Option<Vec<String>> {
        None
    }
}

/// The functions of a program.
pub(super) fn module(program: &'static str) -> Verified<Module> {
    let build = || {
        let compilation = compile(&Text(program), &Options { check_types: false, ..Options::default() });
        let program = compilation.program.as_ref().unwrap_or_else(|| panic!("{:?}", compilation.diagnostics));
        let code = Code::new(program).expect("it can be run by value");
        girih_task::compile(&code).expect("it becomes functions that verify").module
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(1 << 28).spawn_scoped(scope, build);
        thread.expect("a thread").join().expect("it is compiled")
    })
}

/// The text of some functions of a program.
pub(super) fn functions(program: &'static str, names: &[&str]) -> String {
    let printed = text::print(&module(program));
    let is_wanted = |text: &&str| names.iter().any(|name| text.starts_with(&format!("fn @{name}(")));
    let found: Vec<&str> = printed.split("\n\n").filter(is_wanted).collect();
    assert_eq!(found.len(), names.len(), "{printed}");
    found.join("\n\n")
}

fn snapshot(name: &str, program: &'static str, names: &[&str]) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, functions(program, names)));
}

/// Trees whose depth is a number: what is taken apart is a pair or a number.
const SORT: &str = "
def gen(d, x):
  switch d:
    case 0:
      return x
    case _:
      return (gen(d-1, x * 2 + 1), gen(d-1, x * 2))

def sum(d, t):
  switch d:
    case 0:
      return t
    case _:
      (t.a, t.b) = t
      return sum(d-1, t.a) + sum(d-1, t.b)

def swap(s, a, b):
  switch s:
    case 0:
      return (a, b)
    case _:
      return (b, a)

def warp(d, s, a, b):
  switch d:
    case 0:
      return swap(s ^ (a > b), a, b)
    case _:
      (a.a, a.b) = a
      (b.a, b.b) = b
      (A.a, A.b) = warp(d-1, s, a.a, b.a)
      (B.a, B.b) = warp(d-1, s, a.b, b.b)
      return ((A.a, B.a), (A.b, B.b))

def flow(d, s, t):
  switch d:
    case 0:
      return t
    case _:
      (t.a, t.b) = t
      return down(d, s, warp(d-1, s, t.a, t.b))

def down(d, s, t):
  switch d:
    case 0:
      return t
    case _:
      (t.a, t.b) = t
      return (flow(d-1, s, t.a), flow(d-1, s, t.b))

def sort(d, s, t):
  switch d:
    case 0:
      return t
    case _:
      (t.a, t.b) = t
      return flow(d, s, (sort(d-1, 0, t.a), sort(d-1, 1, t.b)))

def main:
  return sum(5, sort(5, 0, gen(5, 0)))
";

#[test]
fn what_only_one_kind_can_be_is_tested_once() {
    snapshot("tested_once", SORT, &["sum"]);
}

#[test]
fn pairs_that_are_taken_apart_are_not_made() {
    snapshot("not_made", SORT, &["swap", "warp", "flow"]);
}

#[test]
fn cells_are_made_of_cells() {
    snapshot("made_of_cells", SORT, &["sort", "down"]);
    for name in ["sort", "down", "flow", "warp", "swap"] {
        let text = functions(SORT, &[name]);
        assert!(!text.contains("cell.new") && !text.contains("cell.free"), "{text}");
    }
}

#[test]
fn the_likely_kind_comes_first() {
    let program = "
def pick(n):
  switch n:
    case 0:
      return 2.5
    case _:
      return n

def double(n):
  x = pick(n)
  return x + x

def main:
  return (double(0), double(2))
";
    snapshot("likely_first", program, &["double"]);
}

#[test]
fn a_reuse_token_comes_out_of_a_choice() {
    let program = "
type Two:
  Left { a, b }
  Right { a, b }

def turn(two, x):
  match two:
    case Two/Left:
      y = two.a + two.b + x
    case Two/Right:
      y = two.a - x
  if y:
    return Two/Left { a: y, b: x }
  else:
    return Two/Right { a: x, b: y }

def main:
  match two = turn(turn(Two/Left { a: 1, b: 2 }, 3), 6):
    case Two/Left:
      return two.a
    case Two/Right:
      return two.b
";
    snapshot("reuse_token_of_a_choice", program, &["turn"]);
}

#[test]
fn calls_that_may_take_long_fork_where_they_are_independent() {
    let program = "
def fib(n):
  if n < 2:
    return n
  else:
    return fib(n - 1) + 1 + fib(n - 2)

def small(x):
  return x + 1

def three(n):
  a = fib(n)
  b = small(n)
  c = fib(n + b)
  d = fib(a)
  return a + b + c + d

def named(n):
  here = fib(n)
  return (here * here, here + fib(n + 1))

def nested(n):
  return fib(n) + fib(fib(n + 1))

def main:
  return (three(5), named(5), nested(5))
";
    snapshot("forks", program, &["fib", "three", "named", "nested"]);
}

#[test]
fn what_is_only_read_is_borrowed_while_it_lives_on() {
    let program = "
def contains(list, x):
  match list:
    case List/Nil:
      return 0
    case List/Cons:
      if list.head == x:
        return 1
      else:
        return contains(list.tail, x)

def count(n, list):
  switch n:
    case 0:
      return 0
    case _:
      found = contains(list, n)
      return found + count(n-1, list)

def from(list, x):
  match list:
    case List/Nil:
      return list
    case List/Cons:
      if list.head == x:
        return list
      else:
        return from(list.tail, x)

def twice(list):
  return (from(list, 3), from(list, 5))

def main:
  return (count(6, [1, 3, 5, 9]), twice([1, 3, 5, 9]))
";
    snapshot("borrowed", program, &["contains.look1", "count", "from.look1"]);
}

/// A function that is stored or applied again is lent to its applications, and what it has captured to its body: nobody counts.
#[test]
fn functions_that_live_on_are_lent() {
    let program = "
def compose(f, g):
  return lambda x: f(g(x))

def build(n):
  switch n:
    case 0:
      return lambda x: x + 1
    case _:
      return compose(build(n-1), build(n-1))

def each(list, x):
  match list:
    case List/Nil:
      return 0
    case List/Cons:
      f = list.head
      return f(x) + each(list.tail, x)

def times(n, list):
  switch n:
    case 0:
      return 0
    case _:
      return each(list, n) ^ times(n-1, list)

def by(n):
  return lambda x: x * n

def main():
  f = build(3)
  return (f(1) * f(2), times(3, [build(1), build(2), by(3)]))
";
    for name in ["each.look1", "compose.look3"] {
        let text = functions(program, &[name]);
        assert!(!text.contains("term.share") && !text.contains("cell.open"), "{text}");
        assert!(text.contains("@apply.1.look("), "{text}");
    }
    assert!(functions(program, &["compose"]).contains("@apply.1("));
}

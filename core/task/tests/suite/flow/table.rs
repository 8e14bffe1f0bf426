//! How precise the analysis is: tables of some programs.

use super::member::entry;
use super::programs::{of_text, on_large_stack};
use girih_task::flow::{Flow, Numbers, Outside, Precision, Root, flow_with};
use girih_term::{Origin, Program};

fn own(program: &Program) -> impl Fn(girih_term::DefId) -> bool {
    |def| {
        let mut origin = program.defs[def].origin;
        while let Origin::Generated(parent) = origin {
            origin = program.defs[parent].origin;
        }
        origin == Origin::User
    }
}

fn analysed(text: &str) -> (Program, Flow) {
    on_large_stack(|| {
        let program = of_text(text);
        let flow = flow_with(&program, &[entry(&program)], Precision::default());
        (program, flow)
    })
}

/// Compares the table of a program's own definitions with the snapshot of this name.
fn table(name: &str, text: &str) {
    let (program, flow) = analysed(text);
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, flow.print(&program, own(&program))));
}

/// Every variable of a program's own definitions is a number of one kind, or a constructor.
fn one_kind_everywhere(text: &str) {
    let (program, flow) = analysed(text);
    let is_own = own(&program);
    for &instance in flow.instances().iter().filter(|instance| is_own(instance.def)) {
        let def = &program.defs[instance.def];
        for (local, known) in def.locals.iter_enumerated() {
            let set = flow.local(instance, local);
            assert!(set.is_empty() || set.number().is_some(), "`{}` of `{}`: {set:?}", known.name, def.name);
        }
        assert!(flow.result(instance).number().is_some());
    }
}

/// A program whose size is an argument, with this size.
fn of_size(text: &str, size: u32) -> String {
    let (before, main) = text.split_once("def main(").expect("its main function has an argument");
    let (name, body) = main.split_once("):\n").expect("and one only");
    format!("{before}def main:\n  {name} = {size}\n{body}")
}

#[test]
fn first_order_numbers_have_one_kind() {
    one_kind_everywhere(&of_size(include_str!("../../../../../benches/bend/mandelbrot.bend"), 8));
    one_kind_everywhere(&of_size(include_str!("../../../../../benches/bend/sum.bend"), 8));
}

#[test]
fn bitonic_sort() {
    table("bitonic_sort", &of_size(include_str!("../../../../../benches/bend/bitonic.bend"), 8));
}

#[test]
fn queens() {
    table(
        "queens",
        "
def safe(column, distance, others):
  match others:
    case List/Nil:
      return 1
    case List/Cons:
      if others.head == column:
        return 0
      elif others.head == column + distance:
        return 0
      elif others.head + distance == column:
        return 0
      else:
        return safe(column, distance + 1, others.tail)

def place(size, row, others):
  if row == size:
    return 1
  else:
    return try(size, row, 0, others)

def try(size, row, column, others):
  if column == size:
    return 0
  else:
    rest = try(size, row, column + 1, others)
    if safe(column, 1, others):
      return rest + place(size, row + 1, List/Cons(column, others))
    else:
      return rest

def main():
  return place(6, 0, [])
",
    );
}

#[test]
fn mapped_lists() {
    table(
        "mapped_lists",
        "
def map(xs, f):
  match xs:
    case List/Nil:
      return List/Nil
    case List/Cons:
      return List/Cons(f(xs.head), map(xs.tail, f))

def sum(xs):
  fold xs:
    case List/Nil:
      return 0
    case List/Cons:
      return xs.head + xs.tail

def total(xs):
  fold xs:
    case List/Nil:
      return 0.0
    case List/Cons:
      return xs.head + xs.tail

def main():
  offset = 10
  ints = map([1, 2, 3], lambda x: x + offset)
  floats = map([1.5, 2.5], lambda x: x * 2.0)
  pairs = map(map([1, 2], lambda x: (x, x)), lambda p: p)
  match pairs:
    case List/Nil:
      return (0, 0.0)
    case List/Cons:
      (a, b) = pairs.head
      return (sum(ints) + a + b, total(floats))
",
    );
}

#[test]
fn trees_of_unknown_depth() {
    table(
        "trees_of_unknown_depth",
        "
gen 0 x = x
gen d x = ((gen (- d 1) (+ (* x 2) 1)), (gen (- d 1) (* x 2)))

sum 0 x = x
sum d (a, b) = (+ (sum (- d 1) a) (sum (- d 1) b))

main = (sum 8 (gen 8 0))
",
    );
}

#[test]
fn loops() {
    table(
        "loops",
        "
def main():
  bend depth = 0:
    when depth < 4:
      tree = ![fork(depth + 1), fork(depth + 1)]
    else:
      tree = !depth
  fold tree:
    case Tree/Node:
      total = tree.left + tree.right
    case Tree/Leaf:
      total = tree.value
  bend i = 0, sum = 0.0:
    when i < total:
      result = fork(i + 1, sum + 0.5)
    else:
      result = sum
  return result
",
    );
}

#[test]
fn effects() {
    table(
        "effects",
        "
def main() -> IO(u24):
  with IO:
    time <- IO/get_time()
    (high, low) = time
    text <- IO/input()
    * <- IO/print(\"done\\n\")
    return wrap(low)
",
    );
}

#[test]
fn thunks_and_partial_applications() {
    table(
        "thunks_and_partial_applications",
        "
width = 256
half = (/ width 2)
slow = (count 10)
count 0 = 0
count n = (+ 1 (count (- n 1)))
ones = (List/Cons 1 ones)
take 0 xs = List/Nil
take n (List/Cons x xs) = (List/Cons x (take (- n 1) xs))
take n List/Nil = List/Nil
add x y z = (+ x (+ y z))
apply f x = (f x)
main = (take (+ (apply (add half 1) slow) width) ones)
",
    );
}

#[test]
fn the_host_gives_what_the_root_says() {
    let (program, shader) = on_large_stack(|| {
        let program = of_text("def shader(x, y, t):\n  return x + y\ndef main():\n  return shader(1, 2, 3)\n");
        let shader = program.def_named("shader").expect("a definition");
        (program, shader)
    });
    let integer = Outside::Number(Numbers::one(girih_base::num::NumKind::U24));
    let float = Outside::Number(Numbers::one(girih_base::num::NumKind::F24));
    let root = |arguments| [Root { def: shader, arguments }];
    let flow = flow_with(&program, &root(vec![integer.clone(), integer, float]), Precision::default());
    insta::assert_snapshot!(flow.print(&program, own(&program)), @r"
    shader -> u24
      x: u24
      y: u24
      t: f24
    ");
    let flow = girih_task::flow::flow(&program, &[shader]);
    let params = &program.defs[shader].params;
    assert!(flow.local(shader, params[0]).external);
    assert_eq!(flow.local(shader, params[0]).numbers, Numbers::ALL);
    assert_eq!(flow.result(shader).numbers, Numbers::ALL);
    assert!(flow.result(shader).era && flow.result(shader).shapes.is_empty());
}

//! Functions of Bend programs called from Rust: each kind of type there and back, on native code, on the reference machine and by the
//! evaluator, and what is said of types and values that do not fit.

use girih::typed::{Arguments, Bend as Type, Giver, Misfit, Mismatch, Planner, Seen, Shape, Taker, VariantOf};
use girih::{Bend, Code, Contest, Deep, Error, Function, Options, Program, RunDevice, RunOptions, Tree};
use girih_term::io::{Host, Whence};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn program(text: &str) -> Program {
    let program = Program::from_text("typed.bend", text, &Options::library());
    program.check().expect("the program is right");
    program
}

/// What a function is called on.
fn devices() -> [RunOptions; 2] {
    [RunDevice::Cpu, RunDevice::Evaluator].map(|device| RunOptions { device, ..RunOptions::default() })
}

fn on<A: Arguments, R: Type>(program: &Program, name: &str) -> [Function<A, R>; 2] {
    devices().map(|options| program.function_with(name, &options).expect("it is looked up with its own types"))
}

/// What a function gives, everywhere the same.
#[track_caller]
fn call<A: Arguments, R: Type + PartialEq + Debug>(program: &Program, name: &str, arguments: &A) -> R {
    let mut found: Option<R> = None;
    for function in on::<A, R>(program, name) {
        let here = function.call_with(arguments, &mut girih::SystemHost::new()).expect("it gives a value");
        if let Some(before) = &found {
            assert_eq!(*before, here, "{:?}", function.choice());
        }
        found = Some(here);
    }
    found.expect("there is a device")
}

fn wrong<A: Arguments, R: Type>(text: &str, name: &str) -> Error {
    program(text).function::<A, R>(name).expect_err("these are not its types")
}

const ECHO: &str = "
type Colour:
  Red
  Green
  Grey { level: u24 }
  Mix { first: Colour, second: Colour, share: f24 }

object Point { x: f24, y: f24 }

type Wrapped(A, B):
  Both { a: A, b: B }
  One { a: A }

def u24s(x: u24) -> u24:
  return x
def i24s(x: i24) -> i24:
  return x
def f24s(x: f24) -> f24:
  return x
def u32s(x: u32) -> u32:
  return x
def i32s(x: i32) -> i32:
  return x
def f32s(x: f32) -> f32:
  return x
def any(x):
  return x
def none(x: None) -> None:
  return x
def lists(x: List(u24)) -> List(u24):
  return x
def nested(x: List(List(i24))) -> List(List(i24)):
  return x
def wide(x: List((u32, f32, i32))) -> List((u32, f32, i32)):
  return x
def texts(x: String) -> String:
  return x
def maybes(x: Maybe(Maybe(u24))) -> Maybe(Maybe(u24)):
  return x
def results(x: Result(u24, String)) -> Result(u24, String):
  return x
def tuples(x: (u24, f24, i24)) -> (u24, f24, i24):
  return x
def trees(x: Tree(u24)) -> Tree(u24):
  return x
def colours(x: Colour) -> Colour:
  return x
def points(x: Point) -> Point:
  return x
def wrapped(x: Wrapped(u24, List(f24))) -> Wrapped(u24, List(f24)):
  return x
def poly(x: T) -> T:
  return x
";

#[derive(Bend, Clone, Debug, PartialEq)]
enum Colour {
    Red,
    Green,
    #[bend(name = "Grey")]
    Gray {
        level: u32,
    },
    Mix {
        share: f32,
        first: Box<Colour>,
        second: Deep<Colour>,
    },
}

#[derive(Bend, Clone, Debug, PartialEq)]
#[bend(name = "Point")]
struct Place {
    #[bend(name = "y")]
    up: f32,
    #[bend(name = "x")]
    right: f32,
}

#[derive(Bend, Clone, Debug, PartialEq)]
enum Wrapped<A, B> {
    Both(A, B),
    One(A),
}

fn colour() -> impl Strategy<Value = Colour> {
    let leaf =
        prop_oneof![Just(Colour::Red), Just(Colour::Green), (0..1_u32 << 24).prop_map(|level| Colour::Gray { level })];
    leaf.prop_recursive(6, 64, 2, |inner| {
        (inner.clone(), inner, 0_u8..=200).prop_map(|(first, second, share)| Colour::Mix {
            share: f32::from(share) / 4.0,
            first: Box::new(first),
            second: Deep::new(second),
        })
    })
}

fn tree() -> impl Strategy<Value = Tree<u32>> {
    (0..1_u32 << 24)
        .prop_map(Tree::Leaf)
        .prop_recursive(8, 128, 2, |inner| (inner.clone(), inner).prop_map(|(left, right)| Tree::node(left, right)))
}

fn small() -> impl Strategy<Value = u32> {
    0..1_u32 << 24
}

/// Floats that f24 has.
fn short() -> impl Strategy<Value = f32> {
    any::<i16>().prop_map(|number| f32::from(number) / 8.0)
}

/// Functions are looked up once for all cases.
struct Echo<T>(&'static str, [Function<(T,), T>; 2]);

impl<T: Type + Clone + PartialEq + Debug> Echo<T> {
    fn new(program: &Program, name: &'static str) -> Echo<T> {
        Echo(name, on(program, name))
    }

    fn check(&self, value: &T) {
        for function in &self.1 {
            let back = function.call((value.clone(),)).expect("it gives what it is given");
            assert_eq!(back, *value, "{}", self.0);
        }
    }
}

/// Cases of a strategy, each there and back.
fn echo<T: Type + Clone + PartialEq + Debug>(name: &'static str, cases: u32, strategy: impl Strategy<Value = T>) {
    let echo = Echo::new(&program(ECHO), name);
    proptest!(ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }, |(value in strategy)| {
        echo.check(&value);
    });
}

#[test]
fn numbers_there_and_back() {
    echo("u24s", 64, small());
    echo("i24s", 64, -(1_i32 << 23)..1 << 23);
    echo("f24s", 64, short());
    echo("u32s", 64, any::<u32>());
    echo("i32s", 64, any::<i32>());
    echo("f32s", 64, any::<i32>().prop_map(|number| number as f32 / 3.0));
    echo("u24s", 16, any::<u8>());
    echo("u32s", 16, any::<u16>());
    echo("i24s", 16, any::<i8>());
    echo("i32s", 16, any::<i16>());
    echo("u24s", 16, any::<bool>());
    echo("u24s", 16, any::<char>());
    echo("none", 1, Just(()));
}

#[test]
fn lists_and_texts_there_and_back() {
    echo("lists", 64, proptest::collection::vec(small(), 0..100));
    echo("nested", 64, proptest::collection::vec(proptest::collection::vec(-1000_i32..1000, 0..10), 0..10));
    echo("wide", 64, proptest::collection::vec((any::<u32>(), any::<i16>().prop_map(f32::from), any::<i32>()), 0..20));
    echo("texts", 64, any::<String>());
}

#[test]
fn data_there_and_back() {
    echo("maybes", 32, proptest::option::of(proptest::option::of(small())));
    echo("results", 32, proptest::result::maybe_ok(small(), any::<String>()));
    echo("tuples", 32, (small(), short(), -5_i32..5));
    echo("trees", 64, tree());
    echo("colours", 64, colour());
    echo("points", 32, (short(), short()).prop_map(|(up, right)| Place { up, right }));
    let pair = (small(), proptest::collection::vec(short(), 0..5));
    echo("wrapped", 32, prop_oneof![pair.prop_map(|(a, b)| Wrapped::Both(a, b)), small().prop_map(Wrapped::One)]);
}

#[test]
fn what_has_no_type_is_what_rust_says() {
    echo("any", 32, proptest::collection::vec((small(), any::<String>()), 0..5));
    echo("any", 32, colour());
    echo("poly", 32, proptest::option::of(tree()));
    echo("any", 8, any::<bool>());
}

#[test]
fn fields_go_by_their_names() {
    let text =
        "object Point { x: f24, y: f24 }\ndef x_of(point: Point) -> f24:\n  open Point: point\n  return point.x\n";
    assert_eq!(call::<_, f32>(&program(text), "x_of", &(Place { up: 1.0, right: 2.0 },)), 2.0);
}

#[test]
fn functions_compute() {
    let text = "
def sort(xs: List(u24)) -> List(u24):
  match xs:
    case List/Nil:
      return []
    case List/Cons:
      return insert(xs.head, sort(xs.tail))

def insert(x: u24, xs: List(u24)) -> List(u24):
  match xs:
    case List/Nil:
      return [x]
    case List/Cons:
      if x < xs.head:
        return List/Cons(x, List/Cons(xs.head, xs.tail))
      else:
        return List/Cons(xs.head, insert(x, xs.tail))

def divide(a: i24, b: i24) -> Result(i24, String):
  if b == +0:
    return Result/Err(\"nothing divides by zero\")
  else:
    return Result/Ok(a / b)

def fortytwo() -> u24:
  return 42

def both(x: u24, y: f24) -> (f24, u24):
  return (y, x)

def sum(tree: Tree(u24)) -> u24:
  fold tree:
    case Tree/Node:
      return tree.left + tree.right
    case Tree/Leaf:
      return tree.value

def grow(depth: u24) -> Tree(u24):
  bend depth:
    when depth > 0:
      tree = ![fork(depth - 1), fork(depth - 1)]
    else:
      tree = !1
  return tree
";
    let program = program(text);
    assert_eq!(call::<_, Vec<u32>>(&program, "sort", &(vec![3_u32, 1, 2],)), [1, 2, 3]);
    assert_eq!(call::<_, Result<i32, String>>(&program, "divide", &(-7, 2)), Ok(-3));
    assert_eq!(call::<_, Result<i32, String>>(&program, "divide", &(1, 0)), Err("nothing divides by zero".to_owned()));
    assert_eq!(call::<(), u32>(&program, "fortytwo", &()), 42);
    assert_eq!(call::<_, (f32, u32)>(&program, "both", &(1_u32, 0.5_f32)), (0.5, 1));
    let tree = Tree::balanced(0..1000_u32).expect("it has leaves");
    assert_eq!(call::<_, u32>(&program, "sum", &(tree,)), 499_500);
    let grown: Tree<u32> = call(&program, "grow", &(10_u32,));
    assert_eq!(grown.leaves().count(), 1024);
}

#[test]
fn types_that_do_not_fit_are_named() {
    let shown = |error: &Error| {
        assert_eq!(error.code(), Some(Code::RustType), "{error:#}");
        format!("{error:#}")
    };
    let lists = "def f(x: List(u24)) -> List(u24):\n  return x\n";
    let error = shown(&wrong::<(Vec<f32>,), Vec<u32>>(lists, "f"));
    assert!(
        error.contains("`f` is `List(u24) -> List(u24)` in Bend, and `Function<(Vec<f32>,), Vec<u32>>` in Rust"),
        "{error}"
    );
    assert!(error.contains("argument 1: `f32` does not fit `u24`"), "{error}");
    assert!(error.contains("look it up as `Function<(Vec<u32>,), Vec<u32>>`"), "{error}");
    assert!(error.contains("typed.bend:1:5"), "{error}");
    let error = shown(&wrong::<(Vec<u32>,), u32>(lists, "f"));
    assert!(error.contains("result: `u32` does not fit `List(u24)`"), "{error}");
    let error = shown(&wrong::<(Vec<u32>, u32), u32>(lists, "f"));
    assert!(error.contains("it takes 1 argument, not 2"), "{error}");
    let error = shown(&wrong::<(), u32>(lists, "f"));
    assert!(error.contains("result: `u32` does not fit `List(u24) -> List(u24)`"), "{error}");
    let poly = "def f(x: T, y: T) -> T:\n  return x\n";
    let error = shown(&wrong::<(u32, f32), u32>(poly, "f"));
    assert!(error.contains("argument 2: `f32` does not fit `u24`"), "{error}");
    let error = shown(&wrong::<(u32, u32), String>(poly, "f"));
    assert!(error.contains("result: `String` does not fit `u24`"), "{error}");
    let pairs = "def f(x: (u24, u24)) -> u24:\n  return 1\n";
    let error = shown(&wrong::<((u32, u32, u32),), u32>(pairs, "f"));
    assert!(error.contains("`(u32, u32, u32)` does not fit `(u24, u24)`"), "{error}");
}

#[test]
fn data_types_that_do_not_fit_are_named() {
    #[derive(Bend)]
    enum Switch {
        On,
        Off,
    }
    let why = |text: &str| {
        let text = format!("{text}\ndef f(x: u24) -> Switch:\n  return Switch/On\n");
        let error = wrong::<(u32,), Switch>(&text, "f");
        assert_eq!(error.code(), Some(Code::RustType));
        format!("{error:#}")
    };
    let _unused = [Switch::On, Switch::Off];
    let error = why("type Switch:\n  On\n  Off\n  Broken { why: u24 }");
    assert!(error.contains("`Switch` does not fit `Switch`: `Switch/Broken` is no variant in Rust"), "{error}");
    let error = why("type Switch:\n  On\n  Out");
    assert!(error.contains("it has no constructor `Off`"), "{error}");
    let error = why("type Switch:\n  On\n  Off { why: u24 }");
    assert!(error.contains("`Switch/Off` has 1 field, and in Rust 0"), "{error}");
    let points = "object Point { x: f24, z: f24 }\ndef f(x: Point) -> u24:\n  return 1\n";
    let error = format!("{:#}", wrong::<(Place,), u32>(points, "f"));
    assert!(
        error.contains("the field `z` of `Point/Point` is not there in Rust")
            || error.contains("the field `z` of `Point`"),
        "{error}"
    );
    let points = "object Point { x: f24, y: u24 }\ndef f(x: Point) -> u24:\n  return 1\n";
    let error = format!("{:#}", wrong::<(Place,), u32>(points, "f"));
    assert!(error.contains("`Place` does not fit `Point`: in the field `y`"), "{error}");
    let error = format!("{:#}", wrong::<(Colour,), u32>(points, "f"));
    assert!(error.contains("it stands for the type `Colour`"), "{error}");
}

#[test]
fn a_function_that_is_not_there_is_looked_for() {
    let error = wrong::<(), u32>("def answer() -> u24:\n  return 1\n", "anwser");
    assert_eq!(error.code(), Some(Code::UnboundName));
    assert!(format!("{error:#}").contains("did you mean `answer`?"), "{error:#}");
    let error = Program::from_text("a.bend", "def f(:\n", &Options::library()).function::<(), u32>("f").err();
    assert!(error.expect("it has no syntax").to_string().starts_with("B01"));
}

#[test]
fn values_out_of_range_are_errors_and_the_function_goes_on() {
    let program = program(ECHO);
    for function in on::<(Vec<u32>,), Vec<u32>>(&program, "lists") {
        let error = function.call((vec![1, 1 << 24],)).expect_err("u24 ends before");
        assert_eq!(error.code(), Some(Code::RustValue));
        assert!(
            error.to_string().contains("16777216 is out of the range of `u24`, which goes from 0 to 16777215"),
            "{error}"
        );
        assert_eq!(function.call((vec![1, (1 << 24) - 1],)).expect("it fits"), [1, (1 << 24) - 1]);
    }
    for function in on::<(i32,), i32>(&program, "i24s") {
        assert_eq!(function.call((1 << 23,)).expect_err("too large").code(), Some(Code::RustValue));
        assert_eq!(function.call((-(1 << 23),)).expect("it fits"), -(1 << 23));
    }
    for function in on::<(f32,), f32>(&program, "f24s") {
        assert_eq!(function.call((f32::MAX,)).expect_err("too large").code(), Some(Code::RustValue));
        assert_eq!(function.call((f32::INFINITY,)).expect("f24 has it"), f32::INFINITY);
        assert!(function.call((f32::NAN,)).expect("f24 has it").is_nan());
        assert_eq!(function.call((0.1,)).expect("the nearest one"), 0.100_000_38);
    }
    for function in on::<(u32,), u8>(&program, "u24s") {
        let error = function.call((256,)).expect_err("u8 ends before");
        assert!(error.to_string().contains("the u24 256 came where Rust has `u8`, which is `u24`"), "{error}");
    }
}

#[test]
fn results_without_a_type_are_looked_at() {
    let program = program(ECHO);
    for function in on::<(u32,), String>(&program, "any") {
        let error = function.call((5,)).expect_err("that is no text");
        assert_eq!(error.code(), Some(Code::RustValue));
        assert!(error.to_string().contains("the u24 5 came where Rust has `String`, which is `String`"), "{error}");
    }
    for function in on::<(Vec<u32>,), (u32, u32)>(&program, "any") {
        let error = function.call((vec![1, 2],)).expect_err("that is no tuple");
        assert!(error.to_string().contains("`List/Cons` came where Rust has `(u32, u32)`"), "{error}");
    }
    for function in on::<(u32,), u32>(&program, "any") {
        assert_eq!(function.call((7,)).expect("it is one"), 7);
    }
    let functions = self::program("def curried(x):\n  return lambda y: x + y\n");
    for function in on::<(u32,), u32>(&functions, "curried") {
        let error = function.call((5,)).expect_err("that is a function");
        assert!(error.to_string().contains("a function came where Rust has `u32`"), "{error}");
    }
    for function in on::<(u32, u32), u32>(&functions, "curried") {
        assert_eq!(function.call((5, 6)).expect("it is applied to both"), 11);
    }
}

#[test]
fn failures_of_the_program_say_where_and_the_function_goes_on() {
    let text = "def f(x: u24) -> u24:\n  return 100 / x\n";
    for function in on::<(u32,), u32>(&program(text), "f") {
        for _ in 0..3 {
            let error = function.call((0,)).expect_err("it divides by zero");
            assert_eq!(error.code(), Some(Code::DivisionByZero), "{error:#}");
            assert!(format!("{error:#}").contains("typed.bend:2:"), "{error:#}");
            assert_eq!(function.call((7,)).expect("it divides"), 14);
        }
    }
    let text = "def f(x: u24) -> List(u24):\n  if x == 0:\n    return []\n  else:\n    return List/Cons(x, f(x - 1))\n";
    for device in [RunDevice::Cpu, RunDevice::Evaluator] {
        let options = RunOptions { device, memory: 8 << 20, ..RunOptions::default() };
        let function: Function<(u32,), Vec<u32>> = program(text).function_with("f", &options).expect("its types");
        for _ in 0..3 {
            let error = function.call((5_000_000,)).expect_err("it has too little memory");
            assert!(matches!(error.code(), Some(Code::OutOfMemory | Code::TooManyCalls)), "{error:#}");
            assert_eq!(function.call((1000,)).expect("it has enough").len(), 1000);
        }
    }
}

#[test]
fn long_and_deep_data_takes_no_stack() {
    #[derive(Bend)]
    enum Chain {
        End,
        Link(u32, Deep<Chain>),
    }
    let text = "
type Chain:
  End
  Link { head: u24, tail: Chain }
def chains(x: Chain) -> Chain:
  return x
def lists(x: List(u24)) -> List(u24):
  return x
def trees(x: Tree(u24)) -> Tree(u24):
  return x
def texts(x: String) -> String:
  return x
";
    let count = 200_000;
    let work = move || {
        let program = program(text);
        let chain = (0..count).fold(Chain::End, |rest, number| Chain::Link(number, Deep::new(rest)));
        for function in on::<(Chain,), Chain>(&program, "chains") {
            let mut rest = function.call_with(&(chain_of(&chain),), &mut girih::SystemHost::new()).expect("it fits");
            let mut length = 0;
            while let Chain::Link(number, next) = rest {
                length += 1;
                assert_eq!(number, count - length);
                rest = next.into_inner();
            }
            assert_eq!(length, count);
        }
        let list: Vec<u32> = (0..count).collect();
        assert_eq!(call::<_, Vec<u32>>(&program, "lists", &(list.clone(),)), list);
        let tree = (0..count).fold(Tree::Leaf(0), |tree, number| Tree::node(tree, Tree::Leaf(number)));
        for function in on::<(Tree<u32>,), Tree<u32>>(&program, "trees") {
            let back = function.call((Tree::node(Tree::Leaf(1), tree_of(&tree)),)).expect("it fits");
            assert_eq!(back.leaves().count(), count as usize + 2);
        }
        let text = "häß€𝄞".repeat(20_000);
        assert_eq!(call::<_, String>(&program, "texts", &(text.clone(),)), text);
    };
    // A quarter of what a thread has by itself.
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(work).expect("there are threads");
    assert!(thread.join().is_ok());

    /// A copy, without a recursion.
    fn chain_of(chain: &Chain) -> Chain {
        let (mut numbers, mut rest) = (vec![], chain);
        while let Chain::Link(number, next) = rest {
            numbers.push(*number);
            rest = next;
        }
        numbers.into_iter().rev().fold(Chain::End, |rest, number| Chain::Link(number, Deep::new(rest)))
    }
    fn tree_of(tree: &Tree<u32>) -> Tree<u32> {
        let mut leaves = tree.leaves().copied();
        let first = Tree::Leaf(leaves.next().expect("a tree has a leaf"));
        leaves.fold(first, |tree, number| Tree::node(tree, Tree::Leaf(number)))
    }
}

#[test]
fn effects_are_performed() {
    let text = "
def greet(name: String) -> IO(u24):
  with IO:
    * <- IO/print(name)
    return wrap(7)

def pure(x: u24) -> IO((u24, u24)):
  return IO/wrap((x, x))
";
    let program = program(text);
    for function in on::<(String,), u32>(&program, "greet") {
        assert_eq!(function.call(("typed calls\n".to_owned(),)).expect("it writes"), 7);
    }
    assert_eq!(call::<_, (u32, u32)>(&program, "pure", &(3_u32,)), (3, 3));
}

#[test]
fn a_function_is_shared_by_threads() {
    let program = program("def double(x: u24) -> u24:\n  return x * 2\n");
    let function: Function<(u32,), u32> = program.function("double").expect("its types");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let function = &function;
            scope.spawn(move || assert_eq!(function.call((number,)).expect("it doubles"), 2 * number));
        }
    });
}

#[test]
fn the_reference_machine_finds_no_leak() {
    let settings =
        girih_machine::tasks::TaskSettings { checked: true, ..girih_machine::tasks::TaskSettings::default() };
    let options = RunOptions { device: RunDevice::Interpreter(settings), ..RunOptions::default() };
    let program = program(ECHO);
    let colours: Function<(Colour,), Colour> = program.function_with("colours", &options).expect("its types");
    let mix = Colour::Mix { share: 0.5, first: Box::new(Colour::Red), second: Deep::new(Colour::Gray { level: 3 }) };
    let lists: Function<(Vec<u32>,), Vec<u32>> = program.function_with("lists", &options).expect("its types");
    for _ in 0..3 {
        assert_eq!(colours.call((mix.clone(),)).expect("it fits"), mix);
        assert_eq!(lists.call((vec![1, 2, 3],)).expect("it fits"), [1, 2, 3]);
        assert!(lists.call((vec![1, 1 << 30],)).is_err());
    }
}

#[test]
fn functions_run_on_kernels() {
    let text = "
def sums(xs: List(u24)) -> (u24, u24):
  match xs:
    case List/Nil:
      return (0, 0)
    case List/Cons:
      (sum, count) = sums(xs.tail)
      return (sum + xs.head, count + 1)

def tree(depth: u24) -> Tree(u24):
  switch depth:
    case 0:
      return !7
    case _:
      return ![tree(depth-1), tree(depth-1)]
";
    let selector = girih::devices::Selector::Lowered(girih::devices::Profile::Web);
    let options = RunOptions { device: RunDevice::Device(selector), ..RunOptions::default() };
    let program = program(text);
    let sums: Function<(Vec<u32>,), (u32, u32)> = program.function_with("sums", &options).expect("it runs");
    for count in [0, 1, 20] {
        assert_eq!(sums.call(((0..count).collect(),)).expect("it runs"), ((0..count).sum(), count));
    }
    let tree: Function<(u32,), Tree<u32>> = program.function_with("tree", &options).expect("it runs");
    for depth in [3, 5] {
        assert_eq!(tree.call((depth,)).expect("it runs").leaves().filter(|leaf| **leaf == 7).count(), 1 << depth);
    }
}

#[test]
fn a_contest_of_programs_leaves_functions_alone() {
    let text = "
def count(tree: Tree(u24), at: u24) -> u24:
  fold tree:
    case Tree/Node:
      return tree.left + tree.right
    case Tree/Leaf:
      return tree.value + at

def grow(depth: u24) -> u24:
  bend d = depth:
    when d > 0:
      tree = ![fork(d - 1), fork(d - 1)]
    else:
      tree = !1
  return count(tree, depth)

def fixed() -> u24:
  return grow(5)
";
    let program = program(text);
    let contest = Contest { cards: vec![], ..Contest::default() };
    let interrupt = Arc::new(AtomicBool::new(false));
    let options = RunOptions { contest: Some(contest), interrupt: Some(interrupt.clone()), ..RunOptions::default() };
    let grow: Function<(u32,), u32> = program.function_with("grow", &options).expect("it is looked up");
    assert_eq!(grow.call((5,)).expect("it runs"), 32 * 6);
    let fixed: Function<(), u32> = program.function_with("fixed", &options).expect("it is looked up");
    assert_eq!(fixed.call(()).expect("it runs"), 32 * 6);
    // The user's flag is the one that stops it.
    interrupt.store(true, Ordering::Relaxed);
    let stopped = grow.call((22,)).expect_err("it is stopped");
    assert_eq!(stopped.code(), Some(Code::Interrupted), "{stopped:#}");
}

#[test]
fn two_variants_are_not_one_constructor() {
    // The derive refuses it; an implementation by hand may do it, too.
    #[derive(Debug)]
    struct Twice;
    impl Type for Twice {
        fn shape(ty: &girih::typed::Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
            let red = || VariantOf { name: Some("Red"), fields: vec![] };
            planner.data::<Self>(ty, "Colour", &[red(), red()])
        }
        fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
            to.variant(1, &[])
        }
        fn take(_: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
            from.done(Twice)
        }
    }
    let text = "type Colour:\n  Red\ndef f(x: Colour) -> Colour:\n  return x\n";
    let error = wrong::<(Twice,), Twice>(text, "f");
    assert!(format!("{error:#}").contains("two variants in Rust are `Colour/Red`"), "{error:#}");
}

#[test]
fn a_name_that_several_types_have_is_written_in_full() {
    #[derive(Bend, Clone, Debug, PartialEq)]
    struct Point {
        x: f32,
    }
    #[derive(Bend, Clone, Debug, PartialEq)]
    #[bend(name = "b/Point")]
    struct PointOfB {
        x: f32,
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in [
        ("a", "object Point { x: f24 }\ndef same(x):\n  return x\n"),
        (
            "b",
            "object Point { x: f24 }\ndef twice(p: Point) -> Point:\n  open Point: p\n  return Point { x: p.x * 2.0 }\n",
        ),
        ("main", "from ./a import *\nfrom ./b import (twice)\nimport ./b\ndef any(p):\n  return b/twice(p)\n"),
    ] {
        std::fs::write(folder.path().join(format!("{name}.bend")), text).expect("it is written");
    }
    let program = Program::open(folder.path().join("main.bend"), &Options::library());
    program.check().expect("the program is right");
    let error = program.function::<(Point,), Point>("any").expect_err("two types have this name");
    assert_eq!(error.code(), Some(Code::RustType));
    let shown = format!("{error:#}");
    assert!(shown.contains("several types are called `Point`: `a/Point`, `b/Point`"), "{shown}");
    assert!(shown.contains("#[bend(name = \"a/Point\")]"), "{shown}");
    assert_eq!(call::<_, PointOfB>(&program, "any", &(PointOfB { x: 1.5 },)), PointOfB { x: 3.0 });
}

mod engine {
    pub use girih as bend;
}

#[derive(Bend, Debug, PartialEq)]
#[bend(crate = engine::bend, name = "Point")]
struct Elsewhere {
    x: f32,
    y: f32,
}

#[test]
fn the_crate_is_found_under_another_name() {
    let program = program(ECHO);
    assert_eq!(
        call::<_, Elsewhere>(&program, "points", &(Elsewhere { x: 1.0, y: 2.0 },)),
        Elsewhere { x: 1.0, y: 2.0 }
    );
}

/// A host that calls the function whose effects it performs.
struct Again<'f> {
    function: &'f Function<(String,), u32>,
    said: Vec<Error>,
    system: girih::SystemHost,
}

impl Host for Again<'_> {
    fn open(&mut self, path: &str, mode: &str) -> Result<u32, i32> {
        self.system.open(path, mode)
    }
    fn close(&mut self, file: u32) -> Result<(), i32> {
        self.system.close(file)
    }
    fn read(&mut self, file: u32, count: usize) -> Result<Vec<u8>, i32> {
        self.system.read(file, count)
    }
    fn write(&mut self, _: u32, _: &[u8]) -> Result<(), i32> {
        self.said.extend(self.function.call(("again".to_owned(),)).err());
        Ok(())
    }
    fn flush(&mut self, file: u32) -> Result<(), i32> {
        self.system.flush(file)
    }
    fn seek(&mut self, file: u32, offset: i64, from: Whence) -> Result<(), i32> {
        self.system.seek(file, offset, from)
    }
    fn now(&mut self) -> u64 {
        self.system.now()
    }
    fn sleep(&mut self, nanoseconds: u64) {
        self.system.sleep(nanoseconds);
    }
}

#[test]
fn a_function_that_its_own_host_calls_says_so() {
    let text = "def greet(name: String) -> IO(u24):\n  with IO:\n    * <- IO/print(name)\n    return wrap(7)\n";
    for function in on::<(String,), u32>(&program(text), "greet") {
        let mut host = Again { function: &function, said: vec![], system: girih::SystemHost::new() };
        assert_eq!(function.call_with(&("hello".to_owned(),), &mut host).expect("it ends"), 7);
        let error = host.said.first().expect("the host has called it");
        assert_eq!(error.code(), Some(Code::BadArguments));
        assert!(error.message().contains("`greet` is called by what performs the effects of its own call"), "{error}");
        assert_eq!(function.call(("after it\n".to_owned(),)).expect("the call is over"), 7);
    }
}

//! Random blocks of calls that may take long: of numbers that are written there, of a parameter, and of what calls before them give.

use crate::support::random::Random;
use girih::{Options, Program, RunDevice, RunOptions, SystemHost};
use girih_workbench::sample;
use std::fmt::Write;

const LIBRARY: &str = "
def sum(xs):
  match xs:
    case List/Nil:
      return 0
    case List/Cons:
      return xs.head + sum(xs.tail)

def up(n):
  switch n:
    case 0:
      return []
    case _:
      return List/Cons(n-1, up(n-1))

def both(xs):
  match xs:
    case List/Nil:
      return (0, 0)
    case List/Cons:
      (count, total) = both(xs.tail)
      return (count + 1, total + xs.head)

def three(n):
  if n == 0:
    return (0, 1, 2)
  else:
    (a, b, c) = three(n - 1)
    return (b, c, (a + b) % 97)

def read(n):
  map = {0: n, 1: sum(up(n))}
  a = map[0]
  b = map[1]
  return a + b
";

/// A block that is being made.
struct Block {
    random: Random,
    text: String,
    /// Numbers that are there.
    known: Vec<String>,
    names: usize,
}

impl Block {
    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("x{}", self.names)
    }

    /// A small number: one that is there, or one that is written.
    fn number(&mut self) -> String {
        if !self.known.is_empty() && self.random.chance(50) {
            format!("({} % 7)", self.random.pick(&self.known))
        } else {
            (2 + self.random.below(5)).to_string()
        }
    }

    fn list(&mut self) -> String {
        if self.random.chance(70) {
            format!("up({})", self.number())
        } else {
            format!("[{}, {}]", self.number(), self.number())
        }
    }

    fn statement(&mut self) {
        let (count, value) = match self.random.below(4) {
            0 => (1, format!("sum({})", self.list())),
            1 => (2, format!("both({})", self.list())),
            2 => (3, format!("three({})", self.number())),
            _ => (1, format!("read({})", self.number())),
        };
        let names: Vec<String> = (0..count).map(|_| self.fresh()).collect();
        let target = if count == 1 { names[0].clone() } else { format!("({})", names.join(", ")) };
        writeln!(self.text, "  {target} = {value}").expect("a string takes all");
        self.known.extend(names);
    }

    fn result(&mut self) -> String {
        match self.random.below(3) {
            0 => self.number(),
            1 => format!("sum({})", self.list()),
            _ => format!("{} + sum({})", self.number(), self.list()),
        }
    }

    fn all(mut self) -> String {
        (0..2 + self.random.below(4)).for_each(|_| self.statement());
        let results: Vec<String> = (0..1 + self.random.below(3)).map(|_| self.result()).collect();
        format!("{}  return ({})\n", self.text, results.join(", "))
    }
}

/// The program of a number. In every third one the block knows a number from its caller.
fn program(number: u64) -> String {
    let block = |known: &[&str]| Block {
        random: Random::new(number),
        text: String::new(),
        known: known.iter().map(|&name| name.into()).collect(),
        names: 0,
    };
    if number.is_multiple_of(3) {
        format!("{LIBRARY}\ndef start(n):\n{}\ndef main():\n  return start(5)\n", block(&["n"]).all())
    } else {
        format!("{LIBRARY}\ndef main():\n{}", block(&[]).all())
    }
}

#[test]
fn random_blocks_of_calls_do_what_the_evaluator_does() {
    for number in 0..sample("GIRIH_BLOCKS", 60, 600) {
        let text = program(number);
        let program = Program::from_text("block.bend", &text, &Options::default());
        let run = |device: RunDevice| {
            let options = RunOptions { device, ..RunOptions::default() };
            let outcome = program.run(&mut SystemHost::new(), &options);
            outcome.map(|outcome| outcome.text).map_err(|report| report.to_string())
        };
        let expected = run(RunDevice::Evaluator);
        assert!(expected.is_ok(), "{number}: {expected:?}\n{text}");
        assert_eq!(run(RunDevice::Cpu), expected, "{number}:\n{text}");
    }
}

//! Random programs on trees of one form: maps, zips and exchanges whose branches are turned, doubled and mixed. Where their cells stand is known
//! as long as they keep that form, and nothing about it may be wrong when they do not.

use super::random::Random;

/// A program: a tree is made, some passes change it, and a digest of it depends on every leaf's place.
pub fn program(random: &mut Random) -> String {
    let mut text = String::from(MAKE);
    let kinds = (0..1 + random.below(4)).map(|i| pass(random, &mut text, i)).collect::<Vec<_>>();
    text += DIGEST;
    let depth = 1 + random.below(6);
    text += &format!("def main():\n  t0 = make({depth}, {})\n", random.below(100));
    let mut trees = 1;
    for _step in 0..1 + random.below(4) {
        let pass = random.below(kinds.len());
        let (a, b, k) = (trees - 1, random.below(trees), random.below(2));
        text += &match kinds[pass] {
            Kind::Map => format!("  t{trees} = pass{pass}({k}, t{a})\n"),
            Kind::Zip => format!("  t{trees} = pass{pass}({k}, t{a}, t{b})\n"),
            Kind::Exchange => {
                format!("  (x{trees}, y{trees}) = pass{pass}({k}, t{a}, t{b})\n  t{trees} = ![x{trees}, y{trees}]\n")
            }
        };
        trees += 1;
    }
    text + &format!("  return digest(t{})\n", trees - 1)
}

const MAKE: &str = "\
def make(d: u24, s: u24) -> Tree(u24):
  switch d:
    case 0:
      return !((s * 75 + 74) % 65537)
    case _:
      return ![make(d-1, s * 5 + 3), make(d-1, s * 7 + 1)]

";

const DIGEST: &str = "\
def digest(t: Tree(u24)) -> u24:
  match t:
    case Tree/Leaf:
      return t.value
    case Tree/Node:
      return digest(t.left) * 31 + digest(t.right)

";

#[derive(Clone, Copy)]
enum Kind {
    /// From a tree to one.
    Map,
    /// From two trees to one.
    Zip,
    /// From two trees to two.
    Exchange,
}

fn one_of<'a>(random: &mut Random, all: &[&'a str]) -> &'a str {
    all[random.below(all.len())]
}
/// A number from others.
fn number(random: &mut Random, others: &[&str]) -> String {
    let (x, op, y) = (one_of(random, others), one_of(random, &["+", "*", "^", "-"]), one_of(random, others));
    format!("({x} {op} {y})")
}
/// What is handed down: the same, a number of the text, or another one.
fn down(random: &mut Random) -> &'static str {
    match random.below(6) {
        0 => "0",
        1 => "1",
        2 => "(k + 1)",
        3 => "(1 - k)",
        _same => "k",
    }
}
/// Some of these, each once as long as that is enough.
fn mixed<'a>(random: &mut Random, all: &[&'a str], count: usize) -> Vec<&'a str> {
    let mut left = all.to_vec();
    let is_each_once = random.below(4) > 0;
    let mut take = |_| {
        let at = random.below(left.len());
        if is_each_once && left.len() > 1 { left.swap_remove(at) } else { left[at] }
    };
    (0..count).map(&mut take).collect()
}

/// Writes a function that goes down its trees.
fn pass(random: &mut Random, text: &mut String, name: usize) -> Kind {
    match random.below(3) {
        0 => {
            let (leaf, k, l) = (number(random, &["k", "t.value", "7"]), down(random), down(random));
            let branches = mixed(random, &["t.left", "t.right"], 2);
            *text += &format!(
                "def pass{name}(k: u24, t: Tree(u24)) -> Tree(u24):
  match t:
    case Tree/Leaf:
      return !{leaf}
    case Tree/Node:
      return ![pass{name}({k}, {}), pass{name}({l}, {})]

",
                branches[0], branches[1]
            );
            Kind::Map
        }
        1 => {
            let values = ["k", "a.value", "b.value", "3"];
            let (leaf, other) = (number(random, &values), number(random, &values));
            let (k, l) = (down(random), down(random));
            let branches = mixed(random, &["a.left", "a.right", "b.left", "b.right"], 4);
            *text += &format!(
                "def pass{name}(k: u24, a: Tree(u24), b: Tree(u24)) -> Tree(u24):
  match a:
    case Tree/Leaf:
      match b:
        case Tree/Leaf:
          if (a.value > b.value) ^ (k & 1):
            return !{leaf}
          else:
            return !{other}
        case Tree/Node:
          return !a.value
    case Tree/Node:
      match b:
        case Tree/Leaf:
          return !b.value
        case Tree/Node:
          return ![pass{name}({k}, {}, {}), pass{name}({l}, {}, {})]

",
                branches[0], branches[1], branches[2], branches[3]
            );
            Kind::Zip
        }
        _two => {
            let (k, l) = (down(random), down(random));
            let branches = mixed(random, &["a.left", "a.right", "b.left", "b.right"], 4);
            let results = mixed(random, &["p", "q", "r", "s"], 4);
            *text += &format!(
                "def pass{name}(k: u24, a: Tree(u24), b: Tree(u24)) -> (Tree(u24), Tree(u24)):
  match a:
    case Tree/Leaf:
      match b:
        case Tree/Leaf:
          if (a.value > b.value) ^ (k & 1):
            return (!b.value, !a.value)
          else:
            return (!a.value, !b.value)
        case Tree/Node:
          return (!a.value, ![b.left, b.right])
    case Tree/Node:
      match b:
        case Tree/Leaf:
          return (![a.left, a.right], !b.value)
        case Tree/Node:
          (p, q) = pass{name}({k}, {}, {})
          (r, s) = pass{name}({l}, {}, {})
          return (![{}, {}], ![{}, {}])

",
                branches[0], branches[1], branches[2], branches[3], results[0], results[1], results[2], results[3]
            );
            Kind::Exchange
        }
    }
}

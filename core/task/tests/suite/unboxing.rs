//! Which functions are given the parts of their arguments, and what is left of the cells.

use super::lower::functions;

const VECTORS: &str = "
object Vector { x: u24, y: u24 }

def plus(a: Vector, b: Vector) -> Vector:
  open Vector: a
  open Vector: b
  return Vector { x: a.x + b.x, y: a.y + b.y }

def walk(n: u24, at: Vector) -> u24:
  if n == 0:
    open Vector: at
    return at.x * at.y
  else:
    there = plus(at, Vector { x: 2, y: n })
    return walk(n - 1, there)

def main():
  return walk(8, Vector { x: 0, y: 4 })
";

const PAIRS: &str = "
def step(n: u24, pair: (u24, u24)) -> u24:
  (a, b) = pair
  if n == 0:
    return a
  else:
    return step(n - 1, (b, a + b))

def whole(n: u24, pair: (u24, u24)) -> (u24, u24):
  (a, b) = pair
  if n == 0:
    return pair
  else:
    return whole(n - 1, (b, a + b))

def from_list(pairs: List((u24, u24))) -> u24:
  match pairs:
    case List/Nil:
      return 0
    case List/Cons:
      return difference(pairs.head) + from_list(pairs.tail)

def difference(pair: (u24, u24)) -> u24:
  (a, b) = pair
  return sum(a, 0) - b

def sum(n: u24, s: u24) -> u24:
  switch n:
    case 0:
      return s
    case _:
      return sum(n-1, s + n)

def main():
  return (step(9, (0, 1)), whole(9, (0, 1)), from_list([(5, 3)]), difference((9, 3)))
";

fn head(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

#[test]
fn no_cell_is_left_of_an_object_that_is_only_given_on() {
    let text = functions(VECTORS, &["walk", "plus"]);
    assert!(!text.contains("cell."), "{text}");
    assert!(text.contains("fn @plus(%p0: u32, %p1: u32, %p2: u32, %p3: u32) -> u32, u32"), "{text}");
}

#[test]
fn the_state_of_a_loop_is_its_parts() {
    let step = functions(PAIRS, &["step"]);
    assert_eq!(head(&step), "fn @step(%p0: u32, %p1: u32, %p2: u32) -> u32 {");
    assert!(!step.contains("cell."), "{step}");
}

#[test]
fn what_is_needed_in_one_piece_is_given_in_one_piece() {
    let whole = functions(PAIRS, &["whole"]);
    assert!(head(&whole).starts_with("fn @whole(%p0: u32, %p1: term) ->"), "{whole}");
}

#[test]
fn what_some_caller_does_not_make_is_given_in_one_piece() {
    let difference = functions(PAIRS, &["difference"]);
    assert!(head(&difference).starts_with("fn @difference(%p0: term) ->"), "{difference}");
}

/// A search whose calls give several values, which `main` gives on.
const TUPLES: &str = "
def better(a: (u24, u24), b: (u24, u24)) -> (u24, u24):
  (x, m) = a
  (y, n) = b
  if x > y:
    return (x, m + n)
  else:
    return (y, m + n)

def turned(a: (u24, u24)) -> (u24, u24):
  (x, m) = a
  return (999 - x, m)

def play(depth: u24, at: u24) -> (u24, u24):
  switch depth:
    case 0:
      return (at % 101, 1)
    case _:
      a = turned(play(depth-1, at * 3))
      b = turned(play(depth-1, at * 5 + 1))
      return better(a, b)

def main():
  return play(9, 12345)
";

const OBJECTS: &str = "
object Found { best: u24, count: u24 }

def better(a: Found, b: Found) -> Found:
  open Found: a
  open Found: b
  if a.best > b.best:
    return Found { best: a.best, count: a.count + b.count }
  else:
    return Found { best: b.best, count: a.count + b.count }

def turned(a: Found) -> Found:
  open Found: a
  return Found { best: 999 - a.best, count: a.count }

def play(depth: u24, at: u24) -> Found:
  switch depth:
    case 0:
      return Found { best: at % 101, count: 1 }
    case _:
      a = turned(play(depth-1, at * 3))
      b = turned(play(depth-1, at * 5 + 1))
      return better(a, b)

def main():
  return play(9, 12345)
";

#[test]
fn what_a_call_gives_of_parts_of_its_argument_is_parts_as_well() {
    let text = functions(TUPLES, &["play", "better", "turned"]);
    assert!(!text.contains("cell."), "{text}");
}

#[test]
fn what_main_gives_is_made_in_main() {
    for text in [TUPLES, OBJECTS] {
        let main = functions(text, &["main"]);
        assert!(main.contains("cell.new") && main.contains("term.pack"), "{main}");
        let play = functions(text, &["play"]);
        assert_eq!(head(&play), "fn @play(%p0: u32, %p1: u32) -> u32, u32 {");
    }
}

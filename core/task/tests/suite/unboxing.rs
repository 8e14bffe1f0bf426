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

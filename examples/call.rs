//! Calls a function of a Bend program from Rust, with a list of numbers.

use girih::{Error, Function, Options, Program};

const SORT: &str = "
def sort(numbers: List(u24)) -> List(u24):
  fold numbers:
    case List/Nil:
      return []
    case List/Cons:
      return insert(numbers.head, numbers.tail)

def insert(x: u24, xs: List(u24)) -> List(u24):
  match xs:
    case List/Nil:
      return [x]
    case List/Cons:
      if x < xs.head:
        return List/Cons(x, List/Cons(xs.head, xs.tail))
      else:
        return List/Cons(xs.head, insert(x, xs.tail))
";

/// Sorts a list.
pub fn main() -> Result<(), Error> {
    let program = Program::from_text("sort.bend", SORT, &Options::library());
    let sort: Function<(Vec<u32>,), Vec<u32>> = program.function("sort")?;
    let sorted = sort.call((vec![3, 1, 4, 1, 5, 9, 2, 6],))?;
    println!("{sorted:?}, by the {}", sort.choice().device);
    assert_eq!(sorted, [1, 1, 2, 3, 4, 5, 6, 9]);
    Ok(())
}

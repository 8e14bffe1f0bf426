//! Bend data types as Rust types: a Bend function takes an expression and returns a simpler one.

use girih::{Bend, Error, Function, Options, Program};

#[derive(Bend, Debug, PartialEq)]
enum Expr {
    Num { value: u32 },
    Add { left: Box<Expr>, right: Box<Expr> },
    Mul { left: Box<Expr>, right: Box<Expr> },
}

const FOLD: &str = "
type Expr:
  Num { value: u24 }
  Add { ~left: Expr, ~right: Expr }
  Mul { ~left: Expr, ~right: Expr }

def simple(expr: Expr) -> Expr:
  fold expr:
    case Expr/Num:
      return Expr/Num(expr.value)
    case Expr/Add:
      return Expr/Add(expr.left, expr.right)
    case Expr/Mul:
      return product(expr.left, expr.right)

product (Expr/Num 1) b = b
product a b = (Expr/Mul a b)
";

/// Simplifies a product.
pub fn main() -> Result<(), Error> {
    let program = Program::from_text("fold.bend", FOLD, &Options::library());
    let simple: Function<(Expr,), Expr> = program.function("simple")?;
    let number = |value| Box::new(Expr::Num { value });
    let found = simple.call((Expr::Mul { left: number(1), right: number(7) },))?;
    assert_eq!(found, *number(7));
    Ok(())
}

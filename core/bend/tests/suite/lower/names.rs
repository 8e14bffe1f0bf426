//! Names: what they mean, and what is said about those that mean nothing.

use super::{becomes, says};

becomes! {
    constructors_without_all_fields_are_functions: "def main():
  f = List/Cons
  g = f(1)
  h = List/Cons(2)
  return (g([]), h([]), Maybe/None, Maybe/Some(1, f), List/Cons/tag)
";
    named_arguments: "def f(a, b, c):
  return a
def main():
  return (f(1, c = 3, b = 2), List/Cons { tail: [], head: 1 }, List/Cons(tail = [], head = 2))
";
    locals_hide_definitions: "def f(x):
  return x
def main():
  g = f
  f = 1
  return (f, g(f))
";
    near_names_are_suggested: "def area(width, height):
  return widht * heigth
def main():
  return ara(1, x-1)
";
    one_report_for_each_name_and_definition: "f = (missing missing)
g = (missing 1)
main = (f g)
";
    types_of_annotations: "type Pair(A, B):
  Of { first: A, second: B, more: (A, u24 -> None) }
def f(x: Pair(T, u24), y: _, z) -> T:
  return x
h : (List a) -> a -> a = λx λy y
unchecked k : u24 = 1
def main():
  return f(h, k, 1)
";
    nets_refer_to_full_names: "hvm h -> (u24 -> u24):
  (a b) & @id ~ (a b)
id x = x
main = (h 1)
";
}

says! {
    an_unknown_type: "def f(x: Foo(u24)) -> u24:\n  return 1\ndef main():\n  return f(1)\n" => [UnboundType];
    an_undeclared_variable: "type T:\n  A { x: U }\ndef main():\n  return 1\n" => [UnboundType];
    a_type_without_its_arguments: "def f(x: List) -> u24:\n  return 1\ndef main():\n  return f(1)\n" => [TypeArity];
    a_name_of_the_prelude: "def Map/get(x):\n  return x\ndef main():\n  return 1\n" => [Redefinition];
    two_of_a_name: "def f(x):\n  return x\nf = 1\ndef main():\n  return f\n" => [Redefinition];
    a_definition_and_a_constructor: "type T:\n  A\ndef T/A():\n  return 1\ndef main():\n  return 1\n" => [Redefinition];
    a_definition_and_a_type: "type T:\n  A\ndef T():\n  return T/A\ndef main():\n  return T\n" => [];
    an_unknown_name_of_a_net: "hvm h:\n  @nope\ndef main():\n  return 1\n" => [UnboundName];
    a_definition_that_only_a_net_uses: "hvm h:\n  @f\nf = 1\nmain = h\n" => [];
    no_main: "def f():\n  return 1\n" => [MissingMain];
    two_mains: "main = 1\nMain = 2\n" => [ManyMains];
    a_main_of_rules: "main 0 = 1\nmain x = 2\n" => [MainPatterns];
    a_use_of_main: "f = main\nmain = 1\n" => [MainReferenced];
    an_unused_definition: "def f():\n  return 1\ndef main():\n  return 1\n" => [UnusedDefinition];
    a_missing_argument: "def f(a, b):\n  return a\ndef main():\n  return f(a = 1)\n" => [MissingField];
    an_argument_twice: "def f(a, b):\n  return a\ndef main():\n  return f(1, 2, a = 1)\n" => [DuplicateField];
    an_unknown_argument: "def f(a, b):\n  return a\ndef main():\n  return f(1, c = 1)\n" => [UnknownField];
    named_arguments_of_a_variable: "def main():\n  f = lambda x: x\n  return f(x = 1)\n" => [NotNamed];
    a_scopeless_variable_without_a_place: "main = $x\n" => [UnboundScopeless];
    a_scopeless_variable_without_a_use: "main = λ$x 1\n" => [UnboundScopeless];
    a_scopeless_variable_used_twice: "main = (λ$x $x $x)\n" => [UnboundScopeless];
}

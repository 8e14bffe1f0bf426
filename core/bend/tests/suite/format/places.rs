//! Comments in every place, and what a person would look at.

use super::{formatted, stable};
use girih_bend::parser::Dialect;

fn format(text: &str) -> String {
    stable(text, Dialect::User).unwrap_or_else(|said| panic!("{said}"))
}

#[test]
fn comments_in_blocks() {
    insta::assert_snapshot!(format(
        "# first\n\n\n# of f\ndef f(x):   # behind the head\n\n      # too deep\n  y = x+1   #{ inside #} \n\n\n  # below y\n  if y: # yes\n    return 1\n    # end of the branch\n# above else\n  else:\n    return 2;\n    # in else\n  # in f\n# after f\n\ndef g:\n  match m = h with a,b=2:\n    # above case\n    case A: # behind case\n      return (1,\n  # before two\n  2) # behind two\n    # between\n    case _:\n      return 3\n# last"
    ));
}

#[test]
fn comments_in_brackets() {
    insta::assert_snapshot!(format(
        "def main:\n  x = f(a, # first\n    b # second\n    , # third\n    # alone\n    c #{ inside #}, d)\n  y = [1, 2, #{ in #} 3]\n  z = {1: 2, # entry\n 3: 4}\n  w = T/C { # open\n    a: 1 }\n  return [# open\n   ]\n"
    ));
}

#[test]
fn comments_in_terms() {
    insta::assert_snapshot!(format(
        "f : # type\n  u24\n# above a rule\nf x = # behind equals\n  # alone\n  let y = (+ x # left\n  1); # behind let\n  # above body\n  (g # callee\n   y # last\n  )\n\ng x = match x { # open\n   # above A\n   A: 1 # behind A\n   ; B: 2\n   # at the end\n }\nh = λx # lambda\n  (x # arg\n  # alone\n  )\n"
    ));
}

#[test]
fn comments_in_types_and_imports() {
    insta::assert_snapshot!(format(
        "from a import (b, # b\n c as d)\nimport x # x\ntype T(a):   # head\n  # above\n  A {x:a,~y : T(a)} # behind\n\n\n  B\n  # end\nobject P { x # first\n , y }\ntype F = # equals\n  (C ~(x : (T a))) # c\n  | D\nhvm n -> u24:  # net\n  # in the net\n  (a  b)\n    & 1 ~ a // old\n# after\n"
    ));
}

#[test]
fn both_syntaxes() {
    insta::assert_snapshot!(format(
        "def f(a,b:u24) ->u24 ->List(u24):\n  (x,y)=(a*2,((b)))\n  m[ 1 ]+=f( )\n  use g=lambda x,y:x+y*(1-a)\n  with IO:\n    * <- print(\"a\\n\\u{41}\",'\\'')\n    return ![!x,! [1]]\n\n(k 0   )   = {1 2}\n(k (N n))=if (< n 0x1F) {1} elif x {2} else {3}\nlong = (function (argument_of_the_function one two three) (another_argument four five six) (and_one_more seven eight) nine)\nm = switch n {0:1 _:(k n-1)}\nb = bend x=0 y=1 {when (< x 3): (fork (+ x 1) y); else: x}\n"
    ));
}

#[test]
fn long_lines_and_lines_that_stay() {
    insta::assert_snapshot!(format(
        "def main:\n  table = [\n    1, 2, 3,\n    4, 5, 6\n  ]\n  kept = f(\n    1, 2)\n  a = function_of_a_long_name(first_argument_of_the_call + 1, second_argument_of_the_call * 2, third_argument_of_the_call)\n  return render(width, lambda x, y: look(\n    x,\n    y\n  ))\n"
    ));
}

#[test]
fn rules_keep_their_columns() {
    let text = "and Bool/True b = b\nand *         * = Bool/False\nx       = 1\nlonger  = 2\n\nother = 3\n";
    let expected = "and Bool/True b = b\nand * *         = Bool/False\nx      = 1\nlonger = 2\n\nother = 3\n";
    assert_eq!(format(text), expected);
}

#[test]
fn nothing_stays_nothing() {
    assert_eq!(format(""), "");
    assert_eq!(format("\n\n"), "");
    assert_eq!(format("# alone"), "# alone\n");
    assert_eq!(format("def main:\r\n  return 1\r\n"), "def main:\n  return 1\n");
}

#[test]
fn errors_are_those_of_the_parser() {
    let said = formatted("def main:\n  return (1\n", Dialect::User).expect_err("the bracket is open");
    assert!(said.contains("B0101") && said.contains("this is still open"), "{said}");
}

//! Damaged programs: the parser answers whatever it is given, soon, without a panic, and with errors that point into the
//! text.

use girih_base::diag::{Diagnostics, Style, render};
use girih_base::span::Sources;
use girih_bend::parser::{Dialect, parse_expr, parse_module};
use girih_bend::printer::print_module;
use girih_workbench::work::Watch;
use std::time::Duration;

const PROGRAMS: [&str; 4] = [
    r#"# A comment.
from lib/a import (b, c as d)
import ./e/f

type Tree(T):
  Node { value: T, ~left: Tree(T), ~right: Tree(T) }
  Leaf

object Pair(A, B) { fst: A, snd: B -> (A, u24) }

def checked sum(t: Tree(u24), start) -> u24:
  fold t with acc = start, i:
    case Tree/Node:
      return t.value + t.left(acc, i) * -2 ** t.right
    case Tree/Leaf:
      return 0

def main:
  x, (y, *) = f(1, b = [2.5, 'c', "d\n"])
  m = { 1: "a", `bc`: $q }
  m[1] @= lambda a, $b: !a
  m[0] += ![x, {y, z}]
  def local(x):
    return x
  if x == 0x1F & y < 3u32:
    r = [i + 1 for i in list if i > 2]
  elif m[1]:
    r = T/C { a: 1, b: 2 }
  else:
    r = *
  with IO:
    c <- IO/read(*)
    use k = c
    open Pair: p
    return wrap(p.fst)
"#,
    r#"type (List t) = (Cons (head: t) ~tail) | Nil

unchecked map : (List a) -> (a -> b) -> (List b)
map List/Nil f = List/Nil
map (List/Cons head tail) f = (List/Cons (f head) (map tail f))

(go (a: u24) b) : u24 = 3

Main = λ(a, b) @{c d} @$e
  let (x, *) = (+ 1 (* -2 +3.5));
  use y = #{ block #} [1 2, 3]
  ask z = (f x)
  open Pair p
  def aux 0 "s" = 'c'
      aux [] n = (aux n)
  switch n = (- x 1) with q = 2 {
    0: match q { A: 1; B: !2; _: * }
    1: ![1 {2 3}]
    _: if n-2 { bend i = 0 { when (< i 3): (fork i) else: `ab` } } elif x { 1 } else { with M { $e } }
  }
"#,
    r#"hvm link -> (u24 -> u24):
  ($([+1] ?(a *)) {a @f})
  & (b 1.5) ~ (b -2)
  &! [:-3] ~ [u24]

main = (link)
"#,
    "def main():\n  bend x = 0, y:\n    when x < 3:\n      z = fork(x + 1, y)\n    else:\n      z = \u{3bb}q: q\n  switch z:\n    case 0:\n      return 1;\n    case _:\n      return z-1\r\n",
];

const PIECES: [&str; 40] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "`",
    "#",
    "#{",
    "#}",
    ":",
    ";",
    ",",
    "=",
    "==",
    "->",
    "<-",
    "~",
    "*",
    "**",
    "$",
    "@",
    "λ",
    "!",
    "![",
    "|",
    "\n",
    "\n  ",
    "\n\n",
    "\t",
    " ",
    "def ",
    "case ",
    "else",
    "0x",
    "1.",
    "-",
    "\u{1f600}",
];

/// The same numbers in every run (SplitMix64).
struct Random(u64);

impl Random {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

/// Changes a text at a few places: pieces and lines are deleted, doubled, moved and put in.
fn mutate(random: &mut Random, text: &str) -> String {
    let mut parts: Vec<String> = split(text, random.below(3));
    for _ in 0..=random.below(5) {
        let at = random.below(parts.len() + 1);
        let other = random.below(parts.len() + 1);
        match random.below(6) {
            0 if at < parts.len() => drop(parts.remove(at)),
            1 if at < parts.len() => parts.insert(at, parts[at].clone()),
            2 if at < parts.len() && other < parts.len() => parts.swap(at, other),
            3 => parts.truncate(at),
            _ => parts.insert(at, PIECES[random.below(PIECES.len())].to_owned()),
        }
    }
    parts.concat()
}

/// Into characters, words or lines.
fn split(text: &str, how: usize) -> Vec<String> {
    match how {
        0 => text.chars().map(String::from).collect(),
        1 => text.split_inclusive(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect(),
        _ => text.split_inclusive('\n').map(str::to_owned).collect(),
    }
}

#[test]
fn damaged_programs_are_answered() {
    let mut random = Random(7);
    let mut refused = 0;
    for number in 0..1000 {
        let text = mutate(&mut random, PROGRAMS[number % PROGRAMS.len()]);
        let mut sources = Sources::default();
        let source = sources.add("damaged.bend", text.clone());
        let mut diags = Diagnostics::default();
        let dialect = if random.below(2) == 0 { Dialect::User } else { Dialect::Prelude };
        let watch = Watch::start();
        let module = parse_module(source, &text, dialect, &mut diags);
        _ = parse_expr(source, &text, &mut diags);
        _ = print_module(&module);
        assert!(watch.took() < Duration::from_secs(5), "program {number} took {:?}:\n{text}", watch.took());
        refused += u32::from(diags.has_errors());
        for diagnostic in diags.iter() {
            let places = diagnostic.labels.iter().map(|label| label.span.start as usize..label.span.end as usize);
            for place in places {
                assert!(text.get(place.clone()).is_some(), "program {number}: {place:?} is no place in\n{text}");
            }
            assert!(!render(diagnostic, &sources, Style::Plain).is_empty());
        }
    }
    assert!(refused > 500, "only {refused} programs were damaged enough to test anything");
}

#[test]
fn the_programs_are_right_before_they_are_damaged() {
    for text in PROGRAMS {
        let mut sources = Sources::default();
        let source = sources.add("program.bend", text);
        let mut diags = Diagnostics::default();
        parse_module(source, text, Dialect::User, &mut diags);
        let errors: Vec<String> = diags.iter().map(|found| render(found, &sources, Style::Plain)).collect();
        assert!(errors.is_empty(), "{}", errors.concat());
    }
}

//! Classes of a file in kernels, Python's modules around them, and what of Python's syntax takes tuples apart.

use super::run::{Arg, launch, try_launch};
use girih_ir::Scalar;
use girih_triton::{Alone, Constant};

const HEAD: &str = "import triton\nimport triton.language as tl\nimport enum, itertools
from functools import partial, reduce
from collections import namedtuple
from dataclasses import dataclass
from enum import Enum, IntEnum
from types import SimpleNamespace
from typing import NamedTuple
class State(NamedTuple):
    total: tl.tensor
    most: tl.tensor = 0
    @triton.jit
    def with_number(self, x):
        return State(self.total + x, tl.maximum(self.most, x))
Pair = namedtuple('Pair', 'a b', defaults=[7])
class Color(Enum):
    RED = 1
    GREEN = enum.auto()
    BLUE = enum.auto()
class Level(IntEnum):
    LOW = 0
    HIGH = 5
class Bits(enum.IntFlag):
    READ = enum.auto()
    WRITE = enum.auto()
    RUN = enum.auto()
class Options:
    WIDTH = 4
    DEPTH: tl.constexpr = WIDTH * 2
    NAMES = ('a', 'b')
    @staticmethod
    @triton.jit
    def twice(x):
        return x * 2
@dataclass(frozen=True)
class Shape:
    rows: int
    columns: int = 4
    @property
    def size(self):
        return self.rows * self.columns
TILE = Shape(2)
SPACE = SimpleNamespace(block=16, scale=3)
@tl.core._aggregate
class Span:
    first: tl.tensor
    step: tl.constexpr
    @triton.constexpr_function
    def __init__(self, first, step=2):
        \"\"\"A row of numbers.\"\"\"
        self.first = first
        self.step = step
    @triton.jit
    def at(self, i):
        return self.first + self.step * i
class Setup:
    def __init__(self, width):
        assert width > 0
        half = width // 2
        self.width = width
        self.half: int = half
        if width > 4:
            self.kind = 'wide'
        else:
            self.kind = 'narrow'
SETUP = Setup(8)
@triton.jit
def halves(pair):
    return Pair(b=pair.a // 2, a=pair.b // 2)
@triton.jit
def nested(a, b):
    return (a, b), Pair(b, (a + b, a))
@triton.jit
def call(function: tl.constexpr, x):
    return function(x)
@triton.jit
def thrice(x):
    return x * 3
";

/// What a body stores in `z`, 16 integers.
fn ints(body: &str, expected: &[i64]) {
    let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!("{HEAD}@triton.jit\ndef k(z, n, MODE: tl.constexpr, F: tl.constexpr):\n{lines}");
    let word = |text: &str| Arg::Const(Constant::Text(text.into()));
    let arguments = [
        ("z", Arg::Array(Scalar::I32, vec![0.0; 16])),
        ("n", Arg::Int(5)),
        ("MODE", word("Color.GREEN")),
        ("F", word("thrice")),
    ];
    let found = launch(&text, "k", [1; 3], &arguments).swap_remove(0);
    let expected: Vec<f64> = expected.iter().map(|n| *n as f64).collect();
    assert_eq!(found[..expected.len()], expected, "{body}");
}

#[test]
fn objects_are_carried_through_branches_loops_and_calls() {
    ints(
        "s = State(0)
for i in range(n):
    if i > 2:
        s = s.with_number(i * 10)
    else:
        s = s._replace(total=s.total + 1)
while s.total > 40:
    s = State(s.total - 7, s.most)
tl.store(z, s.total)
tl.store(z + 1, s.most)
total, most = s
tl.store(z + 2, total + s[1] + len(s))
h = halves(Pair(n))
tl.store(z + 3, h.a * 10 + h.b)
tl.static_assert(isinstance(h, Pair) and isinstance(h, tuple) and Pair._fields == ('a', 'b'))
tl.store(z + tl.arange(4, 8) if False else z + 4 + tl.arange(0, TILE.size // 2), TILE.rows)",
        &[38, 40, 80, 32, 2, 2, 2, 2],
    );
}

/// An `__init__` gives fields their values, of aggregates in a kernel and of objects around it.
#[test]
fn objects_are_initialised() {
    ints(
        "s = Span(n)
for i in range(2):
    s = Span(s.at(i), 2)
tl.store(z, s.first)
tl.store(z + 1, Span(step=3, first=1).at(n))
tl.static_assert(SETUP.width == 8 and SETUP.half == 4 and SETUP.kind == 'wide')
tl.store(z + 2, SETUP.half)",
        &[7, 16, 4],
    );
}

/// The class of an annotation says the fields of parts that have numbers; names of parts are those of fields without it.
#[test]
fn objects_are_arguments() {
    let array = |x: f64| Arg::Array(Scalar::F32, vec![x; 8]);
    let named = ["p.source", "p.to"];
    for (annotation, names) in [(": Arrays", ["p.0", "p.1"]), (": Arrays", named), ("", named)] {
        let text = format!(
            "{HEAD}class Arrays(NamedTuple):\n    source: tl.tensor\n    to: tl.tensor\n    by: tl.constexpr = 3
@triton.jit\ndef k(p{annotation}, n):\n    at = tl.arange(0, 8)\n    tl.store(p.to + at, tl.load(p.source + at) * n)\n"
        );
        let arguments = [(names[0], array(2.0)), (names[1], array(0.0)), ("n", Arg::Int(5))];
        assert_eq!(launch(&text, "k", [1; 3], &arguments)[1], vec![10.0; 8], "{annotation} {names:?}");
    }
}

#[test]
fn enumerations_and_constants_of_classes_are_known() {
    ints(
        "tl.static_assert(MODE == Color.GREEN and MODE is not Color.RED and Color(3) == Color.BLUE)
tl.static_assert(Color.RED.name == 'RED' and [c.value for c in Color] == [1, 2, 3] and len(Color) == 3 and Color.RED in Color)
tl.static_assert(isinstance(MODE, Color) and f'{MODE}' == 'Color.GREEN')
tl.static_assert(Bits.RUN == 4 and (Bits.READ | Bits.WRITE) == 3 and SPACE.block * SPACE.scale == 48)
tl.static_assert(Level.LOW < Level.HIGH and Options.NAMES[1] == 'b')
tl.store(z, Options.DEPTH + MODE.value + Level.HIGH)
tl.store(z + 1, Options.twice(n))
tl.store(z + 2, F(n) + call(F, n) + call(Options.twice, 1))",
        &[15, 10, 32],
    );
}

#[test]
fn tuples_are_taken_apart() {
    ints(
        "a, *b = (1, 2, 3, n)
*c, d = (1, 2, n)
e, *f, g = (1, 4)
tl.store(z, a + b[0] * 10 + b[2] * 100 + len(b) * 1000)
tl.store(z + 1, c[1] * 10 + d + len(f) * 100 + g)
(h, i), (j, (k_, l)) = nested(n, 3)
tl.store(z + 2, h + i + j + k_ + l)
t = (1, 2, n, 4)
tl.store(z + 3, t[::-1][1] * 10 + t[1:3][0] + len(t[::2]))
for first, (second, third) in ((1, (2, 3)), (4, (5, 6))):
    tl.store(z + first, second * 10 + third)",
        &[3521, 23, 24, 54, 56],
    );
}

#[test]
fn pythons_modules_and_formats_work_on_what_is_known() {
    ints(
        "tl.static_assert(len(list(itertools.product([1, 2], 'ab'))) == 4 and list(itertools.product([1, 2], repeat=2))[1] == (1, 2))
tl.static_assert(list(itertools.chain([1], (2, 3))) == [1, 2, 3] and len(itertools.combinations([1, 2, 3], 2)) == 3)
tl.static_assert(reduce(lambda a, b: a * b, [2, 3, 4]) == 24 and bin(5) == '0b101' and hex(255) == '0xff' and divmod(7, 2) == (3, 1))
tl.static_assert(f'{1 + 1:>4}|{3.14159:.2f}|{\"a\"!r}|{255:#x}' == '   2|3.14|\\'a\\'|0xff', f'{3.14159:.2f}')
tl.static_assert('%s-%02d' % ('a', 7) == 'a-07')
tl.static_assert('re' in 'relu' and 'relu'[1:3] == 'el' and 3 in {1, 3} and 'b' not in {'a'})
tl.store(z, partial(call, Options.twice)(n))
tl.store(z + 1, tl.sum(tl.arange(0, 4), 0) if callable(thrice) else 0)",
        &[10, 6],
    );
}

/// Hints of loops do not take part in counting, and steps do.
#[test]
fn loops_count_as_their_arguments_say() {
    ints(
        "s = 0
for i in tl.range(0, n, step=2, num_stages=3, loop_unroll_factor=2, flatten=True, warp_specialize=True, disallow_acc_multi_buffer=True):
    s += 1
for i in tl.range(start=1, end=n):
    s += 10
for i in tl.static_range(0, 4, step=3):
    s += 100
tl.store(z, s)",
        &[243],
    );
}

/// What a loop assigns in a branch that is not compiled does not hide a function of the file.
#[test]
fn names_of_the_file_keep_their_meaning_behind_loops() {
    ints("for i in range(n):\n    if MODE == Color.RED:\n        thrice = i\ntl.store(z, thrice(n))", &[15]);
}

#[test]
fn what_is_wrong_with_classes_and_calls_is_said() {
    let said = |body: &str| {
        let text =
            format!("{HEAD}@triton.jit\ndef loop(x):\n    return loop(x + 1)\n@triton.jit\ndef k(z, n):\n    {body}\n");
        let arguments = [("z", Arg::Array(Scalar::I32, vec![0.0; 16])), ("n", Arg::Int(5))];
        let Err((sources, found)) = try_launch(&text, "k", [1; 3], &arguments, &Alone) else {
            panic!("it is let through: {body}");
        };
        (
            sources.snippet(found[0].span()).to_owned(),
            found[0].message.clone(),
            found[0].hint.clone().unwrap_or_default(),
        )
    };
    let (place, message, hint) = said("s = State(total=n, mots=1)");
    assert_eq!((place.as_str(), hint.as_str()), ("mots=1", "did you mean `most`?"));
    assert_eq!(message, "`State` has no field `mots`");
    assert_eq!(said("tl.store(z, Options.WIDHT)").2, "did you mean `WIDTH`?");
    assert_eq!(said("o = Options()").1, "a kernel makes no objects of `Options`, a class that holds constants");
    assert_eq!(said("tl.store(z, thrice(y=n))").1, "`thrice` is missing its argument `x`");
    assert_eq!(said("tl.store(z, thrice(n, x=n))").0, "n");
    assert_eq!(said("tl.store(z, loop(n))").1, "`loop` calls itself with the same types and constants");
    let (place, message, hint) = said("for i in tl.range(0, n, num_stage=3): pass");
    assert_eq!((place.as_str(), message.as_str()), ("num_stage=3", "`range` has no argument `num_stage`"));
    assert!(hint.starts_with("did you mean `num_stages`?"), "{hint}");
    assert_eq!(said("tl.static_print(f'{(1,):>4d}')").1, "the format `>4d` is not known for a tuple of 1 element");
}

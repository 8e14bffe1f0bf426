"""Functions of Bend programs."""

import keyword
import pickle
import subprocess
import sys
import signal
import threading
import time

import girih
import numpy as np
import pytest
from girih.names import python_names

TEXT = """
type Shape:
  Circle { radius: f24 }
  Rectangle { width: f24, height: f24 }

type Chain:
  Link { value: u24, ~rest: Chain }
  End

def double(x: u24) -> u24:
  return x * 2

def squares(xs: List(u24)) -> List(u24):
  return [x * x for x in xs]

def greet(name: String) -> String:
  return name

def swap(pair: (u24, f24)) -> (f24, u24):
  (a, b) = pair
  return (b, a)

def twice(shape: Shape) -> Shape:
  match shape:
    case Shape/Circle:
      return Shape/Circle { radius: shape.radius * 2.0 }
    case Shape/Rectangle:
      return Shape/Rectangle { width: shape.width * 2.0, height: shape.height * 2.0 }

def sum(tree: Tree(u24)) -> u24:
  fold tree:
    case Tree/Node:
      return tree.left + tree.right
    case Tree/Leaf:
      return tree.value

def grow(n: u24) -> Tree(u24):
  switch n:
    case 0:
      return !1
    case _:
      return ![grow(n-1), grow(n-1)]

def chain(n: u24) -> Chain:
  switch n:
    case 0:
      return Chain/End
    case _:
      return Chain/Link { value: n-1, rest: chain(n-1) }

def same(x: a) -> a:
  return x

def divide(a: u24, b: u24) -> u24:
  return a / b

def forever(n: u24) -> u24:
  return forever(n + 1)
"""


@pytest.fixture(scope="module")
def program():
    return girih.bend(text=TEXT, device="cpu")


def test_numbers_texts_lists_and_tuples(program):
    assert program.double(21) == 42
    assert program.squares([1, 2, 3]) == [1, 4, 9]
    assert program.squares([]) == []
    assert program.greet("Grüße") == "Grüße"
    assert program.swap((1, 2.5)) == (2.5, 1)
    assert program.swap((1, 2)) == (2.0, 1)


def test_numpy_arrays_are_lists(program):
    assert program.squares(np.arange(5)) == [0, 1, 4, 9, 16]
    assert program.double(np.uint8(3)) == 6


def test_data_types_are_data_classes(program):
    shape = program.twice(program.Shape.Rectangle(1.0, 2.0))
    assert shape == program.Shape.Rectangle(width=2.0, height=4.0) and isinstance(shape, program.Shape)
    match program.twice(program.Shape.Circle(1.5)):
        case program.Shape.Circle(radius):
            assert radius == 3.0
        case _:
            pytest.fail("it is a circle")


def test_a_type_with_one_constructor_of_its_name_is_its_class():
    program = girih.bend(
        text="""
object Point { x: u24, y: u24 }

type Alone:
  Alone { left: u24 }

def flip(p: Point) -> Point:
  open Point: p
  return Point { x: p.y, y: p.x }

def left(a: Alone) -> u24:
  match a:
    case Alone/Alone:
      return a.left
""",
        device="cpu",
    )
    flipped = program.flip(program.Point(1, y=2))
    assert flipped == program.Point(2, 1) and type(flipped) is program.Point is program.Point.Point
    assert repr(flipped) == "Point(x=2, y=1)" and program.left(program.Alone(5)) == 5
    assert program.Point.__match_args__ == ("x", "y")


NAMES = """
type Odd:
  class { from: u24, left-child: u24, left_child: u24, left.child: u24, Plain: u24, --init--: u24 }
  Plain

def is() -> Odd:
  return Odd/class { from: 1, left-child: 2, left_child: 3, left.child: 4, Plain: 5, --init--: 6 }

def from-to(odd: Odd) -> u24:
  match odd:
    case Odd/class:
      return odd.from
    case Odd/Plain:
      return 0

def from_to(x: u24) -> u24:
  return x + 1

def _native(x: u24) -> u24:
  return x + 2
"""


def test_names_that_python_does_not_have():
    program = girih.bend(text=NAMES, device="cpu")
    odd = program.is_()
    assert odd == program["is"]() == program.Odd.class_(1, 2, 3, 4, 5, 6) and odd != program.Odd.Plain()
    assert odd.__match_args__ == ("from_", "left_child_", "left_child", "left_child__", "Plain", "__init___")
    assert (odd.from_, odd.left_child_, odd.left_child, odd.left_child__, odd.Plain) == (1, 2, 3, 4, 5)
    # A name that Python has stays, in whatever order they come.
    assert program.from_to(1) == 2 and program.from_to_(odd) == program["from-to"](odd) == 1
    assert program._native_(1) == program["_native"](1) == 3
    assert {"is_", "from_to_", "_native_", "Odd"} <= set(dir(program))
    assert program.Maybe.None_() == program.Maybe.None_() != program.Maybe.Some(1)


def test_no_two_names_become_one():
    names = ["a-b", "a.b", "a_b", "a_b_", "None", "None_", "2d", "_2d", "", "\ufb01", "fi", "__eq__", "x\u00b2"]
    called = python_names(names, taken=["fi", "x2"])
    assert list(called) == names and len(set(called.values())) == len(names)
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in called.values())
    kept = {name: called[name] for name in ("a_b", "a_b_", "None_", "_2d")}
    assert kept == {name: name for name in kept} and not {"fi", "x2", "__eq__"} & set(called.values())


def test_trees(program):
    assert program.sum(program.grow(5)) == 32
    tree = program.Tree
    assert program.sum(tree.Node(tree.Leaf(1), tree.Node(tree.Leaf(2), tree.Leaf(3)))) == 6


def test_what_is_given_decides_an_open_type(program):
    assert program.same(3) == 3
    assert program.same([1.5]) == [1.5]
    assert program.same(("a", [2])) == ("a", [2])


def test_deep_data_goes_out_and_in(program):
    chain = program.chain(50_000)
    assert chain.value == 49_999
    assert program.same(chain).rest.rest.value == 49_997
    # Python itself takes them apart one by one.
    while hasattr(chain, "rest"):
        chain = chain.rest


def test_what_contains_itself_is_refused(program):
    endless = [1, 2]
    endless.append(endless)
    with pytest.raises(girih.Error, match="the list contains itself"):
        program.sum(endless)
    shared = [1, 2]
    assert girih.bend(text="def main(a):\n  return a\n").main([shared, shared]) == [shared, shared]


def test_objects_of_another_program_are_refused():
    shapes = girih.bend(text="type Shape:\n  Circle { radius }\n  Square { side }\n\ndef main(s):\n  return s\n")
    colours = girih.bend(text="type Colour:\n  Red { r }\n  Blue { b }\n\ndef main(c):\n  return c\n")
    blue = colours.main(colours.Colour.Blue(7))
    assert blue == colours.Colour.Blue(7)
    with pytest.raises(girih.Error, match="the class `Square` belongs to another program"):
        colours.main(shapes.Shape.Square(7))


def test_errors(program):
    with pytest.raises(girih.Error, match="division by zero"):
        program.divide(1, 0)
    with pytest.raises(girih.Error, match="a text stands where `u24` is wanted"):
        program.double("two")
    with pytest.raises(girih.Error, match="out of the range"):
        program.double(-1)
    with pytest.raises(girih.Error, match="is given 2 arguments"):
        program.double(1, 2)
    with pytest.raises(girih.Error, match="no value of Bend"):
        program.double(object())
    with pytest.raises(AttributeError, match="its functions are double"):
        program.triple(1)
    with pytest.raises(girih.Error) as caught:
        girih.bend(text="def f(x: u24) -> u24:\n  return y\n")
    assert "return y" in caught.value.rendered and caught.value.code == "B0201"


def test_a_docstring_is_a_program():
    @girih.bend_function(device="cpu")
    def fib(n):
        """
        def fib(n: u24) -> u24:
          if n < 2:
            return n
          else:
            return fib(n - 1) + fib(n - 2)
        """

    assert fib(20) == 6765


def test_functions_are_pickled_by_their_source(program):
    assert pickle.loads(pickle.dumps(program.double))(4) == 8


def test_what_is_pickled_needs_no_files(tmp_path):
    (tmp_path / "shapes.bend").write_text("type Shape:\n  Square { side: u24 }\n\ndef area(s: Shape) -> u24:\n  match s:\n    case Shape/Square:\n      return s.side * s.side\n")
    main = tmp_path / "main.bend"
    main.write_text("from shapes import (Shape, area)\n\ndef twice(s: Shape) -> u24:\n  return area(s) * 2\n\ndef wider(s: Shape) -> Shape:\n  match s:\n    case Shape/Square:\n      return Shape/Square(s.side + 1)\n")
    program = girih.bend(main)
    square = program.wider(program["shapes/Shape"].Square(3))
    packed = pickle.dumps((program.twice, square))
    main.unlink()
    (tmp_path / "shapes.bend").unlink()
    twice, again = pickle.loads(packed)
    assert again == square and twice(again) == 32
    # In another process there is no such program yet.
    script = f"import pickle; twice, square = pickle.loads({packed!r}); print(twice(square), square.side)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "32 4\n"


def test_other_threads_go_on_and_ctrl_c_stops_a_call(program):
    import _thread

    ticks = []

    def tick():
        for _ in range(10):
            time.sleep(0.02)
            ticks.append(1)
        _thread.interrupt_main()

    # A process that a script has put into the background ignores Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    ticker = threading.Thread(target=tick)
    ticker.start()
    with pytest.raises(KeyboardInterrupt):
        program.forever(0)
    ticker.join()
    signal.signal(signal.SIGINT, before)
    assert len(ticks) == 10
    assert program.double(2) == 4


def test_functions_without_annotations_take_and_give_what_there_is():
    program = girih.bend(
        text="""
def sort(xs):
  return xs

def add(a, b):
  return a + b

def some(x):
  return (x, Maybe/Some(x), "text", [x, x])
""",
        device="cpu",
    )
    assert program.sort([3, 1, 2]) == [3, 1, 2]
    assert program.add(1, 2) == 3 and program.add(1.5, 2.0) == 3.5
    assert program.some(7) == (7, program.Maybe.Some(7), "text", [7, 7])


def test_functions_are_no_values():
    with pytest.raises(girih.Error, match="is given 1 argument"):
        girih.bend(text="def f(x: u24) -> (u24 -> u24):\n  return lambda y: x\n").f(3)


def test_effects_are_performed(capfd):
    program = girih.bend(
        text="def hello(name: String) -> IO(None):\n  with IO:\n    * <- IO/print(name)\n    return wrap(*)\n", device="cpu"
    )
    assert program.hello("hi\n") is None
    assert capfd.readouterr().out == "hi\n"

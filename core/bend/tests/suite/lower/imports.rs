//! Programs of several files.

use super::{codes, compiled, own_names, shown};
use girih_base::diag::Code;

const SHAPES: (&str, &str) = (
    "lib/shapes",
    "type Shape:\n  Circle { r }\n  Square { a }\nobject Pair { x, y }\ndef area(s):\n  match s:\n    case Shape/Circle:\n      return s.r * s.r * 3\n    case Shape/Square:\n      return s.a * s.a\nshapes = 1\n",
);

const FOLDER: (&str, &str) =
    ("lib/shapes/more", "from ../shapes import area\nmore x = (area x)\nhelper = 2\nmore/inner = 3\n");

#[test]
fn names_of_a_file() {
    let main = "from lib/shapes import (Shape, area as a, Pair)\ndef main():\n  p = Pair { x: 1, y: 2 }\n  return a(Shape/Circle(p))\n";
    insta::assert_snapshot!(shown(&[("main", main), SHAPES], &[]));
}

#[test]
fn a_type_under_another_name() {
    let main = "from lib/shapes import Shape as S\ndef main():\n  s = S/Square(1)\n  match s:\n    case S/Circle:\n      return s.r\n    case S/Square:\n      return (s.a, S/Square/tag)\n";
    insta::assert_snapshot!(shown(&[("main", main), SHAPES], &[]));
}

#[test]
fn a_file_binds_its_names_under_its_own() {
    let main = "import lib/shapes\ndef main():\n  return (shapes, shapes/area(shapes/Shape/Circle(1)))\n";
    assert_eq!(codes(&[("main", main), SHAPES]), []);
    let main = "import lib/shapes as s\ndef main():\n  return (s, s/area(s/Shape/Circle(1)))\n";
    assert_eq!(codes(&[("main", main), SHAPES]), []);
}

#[test]
fn names_inside_the_name_of_the_file_have_two_forms() {
    let main = "from lib/shapes import more\ndef main():\n  return (more, more/helper, more/inner, more/more/inner)\n";
    assert_eq!(codes(&[("main", main), SHAPES, FOLDER]), []);
}

#[test]
fn everything_of_a_file_and_its_folder() {
    let main =
        "from lib/shapes import *\ndef main():\n  return (area(Shape/Circle(1)), shapes, more(1), more/helper)\n";
    assert_eq!(codes(&[("main", main), SHAPES, FOLDER]), []);
}

#[test]
fn full_names_start_with_the_path() {
    let names = own_names(&[("main", "from lib/shapes import area\ndef main():\n  return area\n"), SHAPES]);
    assert_eq!(names, ["main", "lib/shapes/area", "lib/shapes/shapes"].map(Into::into) as [girih_base::name::Name; 3]);
}

#[test]
fn a_full_name_reaches_what_another_name_hides() {
    let main = "from lib/shapes import *\ndef area(x):\n  return lib/shapes/area(x)\ndef main():\n  return area(lib/shapes/Shape/Circle(1))\n";
    assert_eq!(codes(&[("main", main), SHAPES]), []);
    let main = "def main():\n  return lib/shapes/shapes\n";
    assert_eq!(codes(&[("main", main), SHAPES]), [Code::UnboundName]);
}

#[test]
fn files_may_import_each_other() {
    let odd = ("a/odd", "from ./even import even\nodd n = switch n { 0: 0; _: (even n-1) }\n");
    let even = ("a/even", "from a/odd import odd\neven n = switch n { 0: 1; _: (odd n-1) }\n");
    let main = "import (a/odd, a/even)\nmain = ((odd 3), (even 4))\n";
    assert_eq!(codes(&[("main", main), odd, even]), []);
}

#[test]
fn an_imported_file_may_have_names_of_the_prelude() {
    let list = ("my", "type List:\n  Empty\n  Full { x }\ndef List/length(x):\n  return (x, [1])\n");
    let main = "from my import (List, List/length)\ndef main():\n  return List/length(List/Full([2]))\n";
    insta::assert_snapshot!(shown(&[("main", main), list], &[]));
}

#[test]
fn a_later_import_hides_an_earlier_one() {
    let other = ("other", "area = 1\n");
    let main = "from lib/shapes import area\nfrom other import area\nmain = area\n";
    insta::assert_snapshot!(shown(&[("main", main), SHAPES, other], &[]));
    let twice = "from lib/shapes import area\nfrom lib/shapes import area\nmain = area\n";
    assert_eq!(codes(&[("main", twice), SHAPES]), []);
}

#[test]
fn what_cannot_be_imported() {
    let wrong = |import: &str| codes(&[("main", &format!("{import}\nmain = 1\n")), SHAPES, FOLDER]);
    assert_eq!(wrong("from lib/none import x"), [Code::ImportNotFound]);
    assert_eq!(wrong("import none"), [Code::ImportNotFound]);
    assert_eq!(wrong("from none import *"), [Code::ImportNotFound]);
    assert_eq!(wrong("from lib/shapes import (area, none)"), [Code::ImportMissingName]);
    assert_eq!(wrong("import main\nfrom ./main import main"), [Code::ImportMain, Code::ImportMain]);
    assert_eq!(wrong("from lib/shapes import area\narea = 1"), [Code::ImportConflict]);
}

#[test]
fn a_name_that_a_file_and_its_folder_have() {
    let more = ("lib/shapes/area", "x = 1\n");
    let main = "from lib/shapes import area\nmain = area\n";
    assert_eq!(codes(&[("main", main), SHAPES, more]), [Code::ImportConflict]);
    let main = "from lib/shapes import *\nmain = area\n";
    assert_eq!(codes(&[("main", main), SHAPES, more]), [Code::ImportConflict]);
}

#[test]
fn full_names_that_clash() {
    let main = "from a import b\na/c = 1\nmain = b\n";
    assert_eq!(codes(&[("main", main), ("a", "b = 1\nc = 2\n")])[..1], [Code::ImportConflict]);
}

#[test]
fn errors_in_an_imported_file_stand_there() {
    let compilation = compiled(&[("main", "from a import b\nmain = b\n"), ("a", "b = c\n")], &[]);
    let [error] = compilation.diagnostics.as_slice() else { panic!("one error: {:?}", compilation.diagnostics) };
    assert_eq!(compilation.sources.get(error.span().source).map(|s| s.name.as_str()), Some("a.bend"));
}

//! Image shaders through the library: contract, sizes, errors, reloading; and every shader in `shaders/` really paints.

use girih::devices::Selector;
use girih::render::{Frame, RenderOptions, Renderer, Shader, Size, times};
use girih::{Code, Error, Program, RunDevice, Watched};
use girih_machine::tasks::TaskSettings;
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn shader(text: &str) -> Result<Shader, Error> {
    Shader::new(&Program::from_text("test.bend", text, &Shader::options()))
}

fn renderer(text: &str, options: &RenderOptions) -> Result<Renderer, Error> {
    shader(text)?.renderer(options)
}

fn frame(text: &str, size: Option<&str>, time: f32) -> Result<Frame, Error> {
    let size = size.map(|size| size.parse().expect("a size"));
    renderer(text, &RenderOptions { size, threads: NonZeroUsize::new(2), ..RenderOptions::default() })?.frame(time)
}

/// The code and the message of the only error.
fn error(result: Result<Frame, Error>) -> (Code, String) {
    let report = result.expect_err("it goes wrong");
    assert_eq!(report.diagnostics.len(), 1, "{report}");
    assert!(format!("{report:#}").contains("hint: ") || report.diagnostics[0].code != Code::NotAShader, "{report}");
    (report.diagnostics[0].code, report.diagnostics[0].message.clone())
}

fn numbers(frame: &Frame) -> Vec<u32> {
    frame.pixels.iter().map(|&[r, g, b, _]| u32::from_be_bytes([0, r, g, b])).collect()
}

const COORDINATES: &str = "\
def shader(x: u24, y: u24, t: f24) -> u24:
  return x << 12 | y | f24/to_u24(t) << 8
";

/// Never ends.
const SPIN: &str = "def spin(n):\n  if n == 1:\n    return 0\n  else:\n    return spin(n)\n";

#[test]
fn a_pixel_is_what_the_shader_gives_for_its_place_and_time() {
    for (size, time) in [("1x1", 0.0), ("7x5", 1.0), ("100x3", 2.0), ("3x200", 3.0), ("64x64", 4.0)] {
        let frame = frame(COORDINATES, Some(size), time).expect("a picture");
        let (width, height) = (frame.size.width(), frame.size.height());
        let expected: Vec<u32> =
            (0..height).flat_map(|y| (0..width).map(move |x| x << 12 | y | (time as u32) << 8)).collect();
        assert_eq!(numbers(&frame), expected, "{size}");
    }
}

#[test]
fn time_is_a_number_of_24_bits() {
    let text = "def shader(x, y, t):\n  return f24/to_u24(t * 65536.0)\n";
    // 1 + 2^-17 lies in the middle between two f24, and the even one is 1.
    let frame = frame(text, Some("1x1"), 1.0 + 1.0 / 131_072.0).expect("a picture");
    assert_eq!(numbers(&frame), [65536]);
}

#[test]
fn frames_come_in_order_however_many_are_painted_at_once() {
    for text in [COORDINATES, "def render(depth, t):\n  return f24/to_u24(t) << 8\n"] {
        let size = Size::new(1, 1);
        let options = RenderOptions { size, threads: NonZeroUsize::new(3), ..RenderOptions::default() };
        let mut renderer = renderer(text, &options).expect("a renderer");
        let frames = renderer.frames(times(0.0, 1.0, 20));
        let seconds: Vec<u32> = frames.map(|frame| numbers(&frame.expect("a picture"))[0] >> 8).collect();
        assert_eq!(seconds, (0..20).collect::<Vec<u32>>());
    }
}

#[test]
fn trees_of_any_kind_are_pictures() {
    let pairs = "return ((1, 2), (3, (4, 5), 6))";
    let prelude = "return ![![1, 2], ![3, ![![4, 5], 6]]]";
    let own = "return T/B(T/B(T/L(1), T/L(2)), T/B(T/L(3), T/B(T/B(T/L(4), T/L(5)), T/L(six))))";
    let numbers_of_kinds = "return ((1, +2), (3u32, (+4i32, 5), 6))";
    for body in [pairs, prelude, own, numbers_of_kinds] {
        let text =
            format!("type T:\n  B {{ ~a, ~b }}\n  L {{ c }}\n\nsix = (+ 3 3)\n\ndef render(depth, t):\n  {body}\n");
        let frame = frame(&text, Some("3x2"), 0.0).expect(body);
        assert_eq!(numbers(&frame), [1, 2, 3, 4, 5, 6], "{body}");
    }
}

#[test]
fn compiled_pictures_are_those_of_the_evaluator() {
    let paths =
        std::fs::read_dir("shaders").expect("the project has shaders").map(|entry| entry.expect("an entry").path());
    for path in paths.filter(|path| path.extension().is_some_and(|e| e == "bend")) {
        let shader = Shader::open(&path).unwrap_or_else(|report| panic!("{report}"));
        let paint = |device| {
            let options = RenderOptions { size: Size::new(33, 17), device, ..RenderOptions::default() };
            shader.renderer(&options).expect("a renderer").frame(1.5).unwrap_or_else(|report| panic!("{report}"))
        };
        assert!(paint(RunDevice::Cpu) == paint(RunDevice::Evaluator), "{}", path.display());
    }
}

#[test]
fn pixels_in_step_are_those_of_each_alone() {
    let paths =
        std::fs::read_dir("shaders").expect("the project has shaders").map(|entry| entry.expect("an entry").path());
    for path in paths.filter(|path| path.extension().is_some_and(|e| e == "bend")) {
        let shader = Shader::open(&path).unwrap_or_else(|report| panic!("{report}"));
        for size in [Size::new(33, 17), Size::new(1, 1), Size::new(64, 3)] {
            let paint = |in_step| {
                let options = RenderOptions { size, in_step, device: RunDevice::Cpu, ..RenderOptions::default() };
                shader.renderer(&options).expect("a renderer").frame(2.5).unwrap_or_else(|report| panic!("{report}"))
            };
            assert!(paint(true) == paint(false), "{} {size:?}", path.display());
        }
    }
}

#[test]
fn the_reference_machine_paints_in_step_too() {
    let shader = Shader::open("shaders/mandelbrot256.bend").unwrap_or_else(|report| panic!("{report}"));
    let paint = |device| {
        let options = RenderOptions { size: Size::new(11, 7), device, ..RenderOptions::default() };
        shader.renderer(&options).expect("a renderer").frame(0.5).unwrap_or_else(|report| panic!("{report}"))
    };
    assert!(paint(RunDevice::Interpreter(TaskSettings::default())) == paint(RunDevice::Evaluator));
}

#[test]
fn a_lane_that_fails_or_waits_does_so_for_itself() {
    let text = "\
def shader(x: u24, y: u24, t: f24) -> u24:
  if x == 2:
    return wait(f24/to_u24(t), 5)
  else:
    return 100 / (x + f24/to_u24(t))

def wait(n: u24, more: u24) -> u24:
  if (n == 0) | (more == 0):
    return n
  else:
    return wait(n, more - 1)
";
    let painted = frame(text, Some("8x1"), 1.0).expect("a picture");
    assert_eq!(numbers(&painted), [100, 50, 1, 25, 20, 16, 14, 12]);
    assert_eq!(error(frame(text, Some("8x1"), 0.0)).0, Code::DivisionByZero);
}

#[test]
fn definitions_inside_of_a_tree_are_computed() {
    let text = "\
row = ((sum 1), (dark, dark))
sum = λx (+ x 1)
dark = (* 3 3)

def render(depth, t):
  return (row, (dark, row))
";
    let frame = frame(text, Some("7x1"), 0.0).expect("a picture");
    assert_eq!(numbers(&frame), [2, 9, 9, 9, 2, 9, 9]);
}

#[test]
fn the_depth_is_enough_for_all_pixels() {
    for (size, depth) in [("1x1", 0), ("3x1", 2), ("16x16", 8), ("17x16", 9)] {
        let text = "
def render(depth: u24, t: f24) -> Tree(u24):
  return grow(depth, depth)

def grow(depth: u24, colour: u24) -> Tree(u24):
  if depth == 0:
    return !colour
  else:
    return ![grow(depth - 1, colour), grow(depth - 1, colour)]
";
        let frame = frame(text, Some(size), 0.0).expect("a picture");
        assert!(numbers(&frame).into_iter().all(|number| number == depth), "{size}");
    }
}

/// A picture of one pixel that shows how often the state has been stepped, with whatever the state is.
fn counting(init: &str, step: &str, count: &str) -> String {
    format!(
        "def rate() -> u24:\n  return 10\n\ndef init(depth: u24):\n  return {init}\n\n\
         def step(state, t: f24):\n  return {step}\n\n\
         def count(state):\n  {count}\n\n\
         def render(depth: u24, t: f24, state):\n  return count(state)\n"
    )
}

#[test]
fn a_state_is_carried_from_picture_to_picture() {
    let number = counting("depth", "state + 1", "return state");
    let float = counting("0.0", "t", "return f24/to_u24(state * 10.0 + 0.5)");
    let wide = counting("0u32", "state + 1u32", "return state");
    let pair = counting("(depth, 7)", "next(state)", "(a, b) = state\n  return a + b - 7")
        + "\ndef next(state):\n  (a, b) = state\n  return (a + 1, b)\n";
    let list = counting("[]", "List/Cons(t, state)", "(length, _) = List/length(state)\n  return length");
    let function = counting("lambda x: x", "lambda x: state(x) + 1", "return state(0)");
    for text in [&number, &float, &wide, &pair, &list, &function] {
        let device = RunDevice::Device(Selector::parse("lowered:cpu").expect("it is a name"));
        for device in [RunDevice::Cpu, RunDevice::Evaluator, RunDevice::Interpreter(TaskSettings::default()), device] {
            let size = Size::new(1, 1);
            let options = RenderOptions { size, device, ..RenderOptions::default() };
            let mut renderer = renderer(text, &options).unwrap_or_else(|report| panic!("{report}"));
            // The state depends on the time alone, also if that goes back.
            for (time, steps) in [(0.0, 0), (0.05, 0), (0.7, 7), (3.0, 30), (3.05, 30), (0.3, 3), (0.4, 4), (-1.0, 0)] {
                let frame = renderer.frame(time).unwrap_or_else(|report| panic!("{report}"));
                assert_eq!(numbers(&frame), [steps], "{text} at {time} on {}", options.device);
            }
        }
    }
}

#[test]
fn a_device_paints_what_the_processor_paints() {
    let skewed = "def render(depth, t):\n  return ((1, 2), (3, (4, 5), 6))\n".to_owned();
    let boxed = "def render(depth, t):\n  return ((1u32, +2i32), (0xabcdefu32, 4u32))\n".to_owned();
    let one = "def render(depth, t):\n  return 0x123456\n".to_owned();
    for (text, size) in [(COORDINATES.to_owned(), "6x4"), (skewed, "3x2"), (boxed, "2x2"), (one, "1x1")] {
        let paint = |device| {
            let options =
                RenderOptions { size: Some(size.parse().expect("a size")), device, ..RenderOptions::default() };
            let mut renderer = renderer(&text, &options).unwrap_or_else(|report| panic!("{report}"));
            [1.0, 2.0].map(|time| renderer.frame(time).unwrap_or_else(|report| panic!("{report}")))
        };
        let device = Selector::parse("lowered:cpu").expect("it is a name");
        assert!(paint(RunDevice::Device(device)) == paint(RunDevice::Cpu), "{text}");
    }
}

#[test]
fn a_state_outlives_what_fills_the_heap_of_a_device() {
    // A state of 511 cells is made anew sixty times, which is more than may lie around.
    let text = counting("grow(9)", "raised(9, state)", "return sum(9, state)")
        + "\ndef grow(d):\n  switch d:\n    case 0:\n      return 1\n    case _:\n      return (grow(d-1), grow(d-1))\n\n\
           def raised(d, s):\n  switch d:\n    case 0:\n      return s + 1\n    case _:\n      (a, b) = s\n      return (raised(d-1, a), raised(d-1, b))\n\n\
           def sum(d, s):\n  switch d:\n    case 0:\n      return s\n    case _:\n      (a, b) = s\n      return sum(d-1, a) + sum(d-1, b)\n";
    let device = RunDevice::Device(Selector::parse("lowered:cpu").expect("it is a name"));
    let options = RenderOptions { size: Size::new(1, 1), device, ..RenderOptions::default() };
    let mut renderer = renderer(&text, &options).unwrap_or_else(|report| panic!("{report}"));
    for (time, steps) in [(0.0, 0), (6.0, 60), (6.1, 61)] {
        let frame = renderer.frame(time).unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(numbers(&frame), [512 * (steps + 1)], "{time}");
    }
}

#[test]
fn what_a_state_lacks_is_said() {
    let render = "def render(depth: u24, t: f24, state):\n  return state\n\n";
    let init = "def init(depth: u24):\n  return depth\n\n";
    let step = "def step(state, t: f24):\n  return state\n\n";
    for (text, message) in [
        (render.to_owned(), "`render` takes a state, but this file does not define `init`"),
        (format!("{render}{init}"), "`render` takes a state, but this file does not define `step`"),
        (format!("{render}{init}def step(state):\n  return state\n"), "`step` has 1 parameter instead of 2"),
        (format!("{render}{step}def init(d: f24):\n  return d\n"), "the parameter `d` of `init` cannot be a u24"),
        (format!("{render}{init}{step}def rate():\n  return 0\n"), "a second cannot have 0 states"),
    ] {
        assert_eq!(error(frame(&text, Some("1x1"), 0.0)), (Code::NotAShader, message.to_owned()), "{text}");
    }
    // Who carries no state may use the names for other things.
    let own = "def init():\n  return 3\n\ndef step(a, b, c):\n  return a\n\n\
               def render(depth: u24, t: f24):\n  return step(init, 1, 2)\n";
    assert_eq!(numbers(&frame(own, Some("1x1"), 0.0).expect("a picture")), [3]);
}

#[test]
fn a_step_that_fails_fails_again_from_the_beginning() {
    let text = counting("3", "7 / (state - 1) - 2 + state", "return state");
    let size = Size::new(1, 1);
    let mut renderer = renderer(&text, &RenderOptions { size, ..RenderOptions::default() }).expect("a renderer");
    assert_eq!(numbers(&renderer.frame(0.1).expect("a picture")), [4]);
    let text = counting("3", "1 / (state - 2) + state - 2", "return state");
    let mut failing = shader(&text).expect("a shader").renderer(&RenderOptions { size, ..RenderOptions::default() });
    let failing = failing.as_mut().expect("a renderer");
    assert_eq!(numbers(&failing.frame(0.1).expect("a picture")), [2]);
    for _ in 0..2 {
        assert_eq!(failing.frame(0.2).expect_err("it divides by zero").diagnostics[0].code, Code::DivisionByZero);
        assert_eq!(numbers(&failing.frame(0.0).expect("a picture")), [3]);
    }
}

#[test]
fn a_picture_says_how_many_cells_its_tree_has() {
    let cells = |text, size| frame(text, Some(size), 0.0).expect("a picture").cells;
    assert_eq!([cells(COORDINATES, "64x48"), cells(COORDINATES, "1x1")], [64 * 48 - 1, 0]);
    assert_eq!(cells("def render(depth, t):\n  return ((1, 2), (3, (4, 5), 6))\n", "3x2"), 5);
}

#[test]
fn a_shader_says_its_size_and_sees_another_one() {
    let text = "\
def width() -> u24:
  return 6

def height() -> u24:
  return width / 2

def shader(x: u24, y: u24, t: f24) -> u24:
  return width << 8 | height
";
    let own = frame(text, None, 0.0).expect("a picture");
    assert_eq!((own.size.to_string(), numbers(&own)[0]), ("6x3".to_owned(), 6 << 8 | 3));
    let other = frame(text, Some("10x4"), 0.0).expect("a picture");
    assert_eq!((other.size.to_string(), numbers(&other)[0]), ("10x4".to_owned(), 10 << 8 | 4));
    assert_eq!(frame(COORDINATES, None, 0.0).expect("a picture").size.to_string(), "256x256");
}

#[test]
fn what_is_no_shader_is_refused_with_a_reason() {
    let shader = "def shader(x, y, t):\n  return 0\n\n";
    for (text, message) in [
        ("def main():\n  return 0\n", "this file defines neither `shader` nor `render`"),
        ("def shader(x, y):\n  return 0\n", "`shader` has 2 parameters instead of 3"),
        ("def render(t):\n  return 0\n", "`render` has 1 parameter instead of 2"),
        ("def shader(x: f24, y: u24, t: f24) -> u24:\n  return y\n", "the parameter `x` of `shader` cannot be a u24"),
        ("def shader(x: u24, y: u24, t: u24) -> u24:\n  return t\n", "the parameter `t` of `shader` cannot be a f24"),
        ("def shader(x: u24, y: u24, t: f24) -> f24:\n  return t\n", "the result of `shader` is not a colour"),
        (&format!("{shader}def width() -> f24:\n  return 1.5\n"), "`width` is not a whole number"),
        (&format!("{shader}def width() -> u24:\n  return 0\n"), "there is no picture of 0 by 256 pixels"),
        (&format!("{shader}def width() -> u24:\n  return 65537\n"), "there is no picture of 65537 by 256 pixels"),
        (&format!("{shader}width = (spin 0)\n{SPIN}"), "`width` is not computed within 100 million calls"),
    ] {
        assert_eq!(error(frame(text, None, 0.0)), (Code::NotAShader, message.to_owned()), "{text}");
    }
}

#[test]
fn what_is_no_pixel_is_refused_when_it_comes() {
    for (body, message) in [
        ("1.5", "a pixel is the float 1.5, not a colour"),
        ("*", "a pixel is `*`, not a colour"),
        ("Maybe/None", "a pixel is `Maybe/None`, not a colour"),
        ("(lambda a: a, 1)", "a pixel is a function, not a colour"),
        ("render", "a pixel is a function, not a colour"),
        ("(1, 2, 3)", "the tree has 3 leaves, but the picture has 6 pixels"),
    ] {
        let text = format!("def render(depth, t):\n  return {body}\n");
        assert_eq!(error(frame(&text, Some("3x2"), 0.0)), (Code::NotAShader, message.to_owned()), "{body}");
    }
}

#[test]
fn run_time_errors_name_the_place() {
    let text = "def shader(x: u24, y: u24, t: f24) -> u24:\n  return 1 / (x - 20)\n";
    let report = frame(text, Some("40x30"), 0.0).expect_err("it divides by zero");
    assert_eq!(report.diagnostics[0].code, Code::DivisionByZero);
    assert!(format!("{report:#}").contains("test.bend:2"), "{report}");
}

#[test]
fn memory_is_bounded() {
    let text = "\
def shader(x: u24, y: u24, t: f24) -> u24:
  (length, _) = List/length(numbers(1000000))
  return length

def numbers(n):
  if n == 0:
    return []
  else:
    return List/Cons(n, numbers(n - 1))
";
    let options = RenderOptions {
        size: Size::new(2, 2),
        threads: NonZeroUsize::new(1),
        memory: 1 << 20,
        ..RenderOptions::default()
    };
    let result = renderer(text, &options).expect("a renderer").frame(0.0);
    let code = error(result).0;
    assert!([Code::OutOfMemory, Code::TooManyCalls].contains(&code), "{code:?}");
}

#[test]
fn a_shader_that_never_ends_is_stopped() {
    let text = &format!("def shader(x, y, t):\n  return spin(0)\n\n{SPIN}");
    let interrupt = Arc::new(AtomicBool::new(false));
    let options =
        RenderOptions { size: Size::new(20, 20), interrupt: Some(interrupt.clone()), ..RenderOptions::default() };
    let mut endless = renderer(text, &options).expect("a renderer");
    endless.submit(0.0);
    assert!(endless.poll().is_none());
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        interrupt.store(true, Ordering::Relaxed);
    });
    assert_eq!(error(endless.wait().expect("an end")).0, Code::Interrupted);
    // Dropping a renderer that is at work ends it, too.
    let mut endless = renderer(text, &RenderOptions::default()).expect("a renderer");
    endless.submit(0.0);
    drop(endless);
}

#[test]
fn changes_of_all_files_are_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file is written");
    write("main.bend", "from ./colours import (dark)\n\ndef shader(x, y, t):\n  return dark(x)\n");
    let mut watched = Watched::new(folder.path().join("main.bend"));
    assert_eq!(watched.open_shader().expect_err("a file is missing").diagnostics[0].code, Code::ImportNotFound);
    assert_eq!(watched.changed(), None);
    write("colours.bend", "def dark(x):\n  return 7\n");
    assert!(watched.changed().is_some(), "a file has appeared");
    let size = Size::new(1, 1).expect("a size");
    assert_eq!(numbers(&watched.open_shader().expect("a shader").frame(size, 0.0).expect("a picture")), [7]);
    assert_eq!(watched.changed(), None);
    write("colours.bend", "def dark(x):\n  return 800\n");
    assert!(watched.changed().is_some(), "an imported file has another length");
    assert_eq!(numbers(&watched.open_shader().expect("a shader").frame(size, 0.0).expect("a picture")), [800]);
}

#[test]
fn every_shader_of_the_project_paints_a_picture_that_moves() {
    let mut count = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders")).expect("the folder") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "bend") {
            continue;
        }
        count += 1;
        let shader = Shader::open(&path).unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(shader.warnings().to_string(), "", "{}", path.display());
        let size = Size::new(64, 64).expect("a size");
        let [first, second] = [1.0, 3.0].map(|t| shader.frame(size, t).unwrap_or_else(|report| panic!("{report}")));
        assert!(first != second, "{} stands still", path.display());
        for frame in [first, second] {
            let colours: HashSet<_> = frame.pixels.iter().collect();
            assert!(colours.len() > 50, "{} has {} colours", path.display(), colours.len());
        }
    }
    assert!(count >= 10);
}

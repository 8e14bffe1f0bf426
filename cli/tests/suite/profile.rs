//! `girih profile`: calls are those of the evaluator, cells those of the reference machine, times add up, and chains of calls are named.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a program does that a test profiles.
const PROGRAMS: [(&str, &str); 7] = [
    ("chain", CHAIN),
    (
        "fib",
        "def fib(n):\n  if n < 2:\n    return n\n  else:\n    return fib(n - 1) + fib(n - 2)\n\ndef main(n):\n  return fib(n)\n",
    ),
    (
        "tail",
        "def loop(n, x):\n  if n == 0:\n    return x\n  else:\n    return loop(n - 1, x ^ n)\n\ndef main(n):\n  return loop(n, 0)\n",
    ),
    (
        "mutual",
        "def even(n):\n  if n == 0:\n    return 1\n  else:\n    return odd(n - 1)\n\ndef odd(n):\n  if n == 0:\n    return 0\n  else:\n    return even(n - 1)\n\ndef main(n):\n  return even(n)\n",
    ),
    (
        "tree",
        "type T:\n  Leaf { value }\n  Node { ~left, ~right }\n\ndef tree(d):\n  if d == 0:\n    return T/Leaf(1)\n  else:\n    return T/Node(tree(d - 1), tree(d - 1))\n\ndef sum(t):\n  match t:\n    case T/Leaf:\n      return t.value\n    case T/Node:\n      return sum(t.left) + sum(t.right)\n\ndef main(n):\n  return sum(tree(n))\n",
    ),
    (
        "lent",
        "def list(n):\n  if n == 0:\n    return []\n  else:\n    return List/Cons(n, list(n - 1))\n\ndef sum(xs):\n  match xs:\n    case List/Nil:\n      return 0\n    case List/Cons:\n      return xs.head + sum(xs.tail)\n\ndef again(n, xs):\n  if n == 0:\n    return 0\n  else:\n    return sum(xs) + again(n - 1, xs)\n\ndef main(n):\n  return again(n, list(n))\n",
    ),
    (
        "reuse",
        "def flip(xs):\n  match xs:\n    case List/Nil:\n      return []\n    case List/Cons:\n      return List/Cons(1 - xs.head, flip(xs.tail))\n\ndef zeros(n):\n  if n == 0:\n    return []\n  else:\n    return List/Cons(0, zeros(n - 1))\n\ndef main(n):\n  return flip(flip(zeros(n)))\n",
    ),
];

/// Nothing of it can run at the same time.
const CHAIN: &str = "\
def count(n: u24) -> u24:
  if n < 2:
    return n
  else:
    return (count(n - 1) + count(n - 2)) & 7

def make(n: u24, x: u24) -> List(u24):
  if n == 0:
    return []
  else:
    return List/Cons(x * n, make(n - 1, x))

def total(xs: List(u24)) -> u24:
  match xs:
    case List/Nil:
      return 0
    case List/Cons:
      return xs.head + total(xs.tail)

def main(n: u24) -> u24:
  a = count(n)
  b = make(100 * n, a)
  return total(b)
";

fn girih(folder: &Path, arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_girih")).current_dir(folder).args(arguments).output();
    command.expect("the command was built with this test")
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = girih(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_slice(&output.stdout).expect("it is an object")
}

/// A folder with a program.
fn written(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().to_owned();
    std::fs::write(path.join(format!("{name}.bend")), text).expect("there is room");
    (folder, path)
}

fn rows<'v>(profile: &'v Value, list: &str) -> &'v [Value] {
    profile[list].as_array().expect("it is a list")
}

fn sum(rows: &[Value], key: &str) -> u64 {
    rows.iter().map(|row| row[key].as_u64().expect("it is a count")).sum()
}

#[test]
fn calls_are_those_of_the_evaluator_and_cells_those_of_the_reference_machine() {
    for (name, text) in PROGRAMS {
        let (_folder, path) = written(name, text);
        let file = format!("{name}.bend");
        let profiled = |size: &str| {
            let found = json(&path, &["profile", &file, size, "--json", "--quiet"]);
            (sum(rows(&found, "definitions"), "calls"), sum(rows(&found, "definitions"), "cells"))
        };
        let reference = |size: &str| {
            let stats = |device: &str| {
                let run = json(&path, &["run", &file, size, "--device", device, "--stats", "--json", "--quiet"]);
                move |key: &str| run["stats"][key].as_u64().expect("it is a count")
            };
            let (evaluator, machine) = (stats("evaluator"), stats("interpreter"));
            (evaluator("calls"), machine("allocated") + machine("reused"))
        };
        // They also count what reads the result, which is the same for both sizes.
        let growth = |small: (u64, u64), large: (u64, u64)| (large.0 - small.0, large.1 - small.1);
        let expected = growth(reference("4"), reference("11"));
        assert!(expected.0 > 0, "{name}");
        assert_eq!(growth(profiled("4"), profiled("11")), expected, "{name}");
    }
}

#[test]
fn each_definition_has_its_own_figures() {
    let (_folder, path) = written("chain", CHAIN);
    let found = json(&path, &["profile", "chain.bend", "16", "--json", "--quiet"]);
    let row = |name: &str| {
        let row = rows(&found, "definitions").iter().find(|row| row["name"] == name).expect("it has run");
        (row["calls"].as_u64(), row["cells"].as_u64(), row["place"].as_str())
    };
    // `count(n)` is called 2 * fib(n + 1) - 1 times in all, and the others once for each element and once for the end.
    assert_eq!(row("count"), (Some(3193), Some(0), Some("chain.bend:1:5")));
    assert_eq!(row("make"), (Some(1601), Some(1600), Some("chain.bend:7:5")));
    assert_eq!(row("total"), (Some(1601), Some(0), Some("chain.bend:13:5")));
    assert_eq!(row("main"), (Some(1), Some(0), Some("chain.bend:20:5")));
}

#[test]
fn times_add_up() {
    for (name, text) in PROGRAMS {
        let (_folder, path) = written(name, text);
        let found = json(&path, &["profile", &format!("{name}.bend"), "12", "--json", "--quiet"]);
        let number = |value: &Value| value.as_f64().expect("it is a number");
        let own = |list: &str| -> f64 { rows(&found, list).iter().map(|row| number(&row["own_seconds"])).sum() };
        let seconds = number(&found["seconds"]);
        for sum in [own("definitions"), own("frames"), number(&rows(&found, "frames")[0]["total_seconds"])] {
            assert!((sum - seconds).abs() <= 1e-6, "{name}: {sum} of {seconds}");
        }
    }
}

#[test]
fn a_chain_that_hides_parallelism_is_named() {
    let (_folder, path) = written("chain", CHAIN);
    let output = girih(&path, &["profile", "chain.bend", "16", "--svg", "chain.svg"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains(" in `main` (chain.bend:20:5): `count`, then `make`, then `total`\n"), "{text}");
    assert!(text.contains("22 │   b = make(100 * n, a)\n   │       ^^^^^^^^^^^^^^^^ "), "{text}");
    assert!(text.contains(" s, needs the result of `make` (22:7)"), "{text}");
    let svg = std::fs::read_to_string(path.join("chain.svg")).expect("it was written");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
}

#[test]
fn a_parallel_program_has_no_chains() {
    let (name, text) = PROGRAMS[1];
    let (_folder, path) = written(name, text);
    let found = json(&path, &["profile", "fib.bend", "15", "--json", "--quiet"]);
    assert_eq!(rows(&found, "chains").len(), 0);
    let output = girih(&path, &["profile", "fib.bend", "15"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.ends_with("No calls ran one after another because they wait for each other.\n"), "{text}");
}

#[test]
fn a_program_that_fails_gives_its_error() {
    let (_folder, path) = written("half", "def main(n):\n  return 1 / n\n");
    let output = girih(&path, &["profile", "half.bend", "0", "--svg", "half.svg"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("error[B0501]: division by zero"));
    assert!(!path.join("half.svg").exists());
}

#[test]
fn on_a_device_supersteps_have_times_that_add_up() {
    let (_folder, path) = written("chain", CHAIN);
    let profiled =
        json(&path, &["profile", "chain.bend", "5", "--device", "lowered:web", "--all", "--json", "--quiet"]);
    let run = json(&path, &["run", "chain.bend", "5", "--json", "--quiet"]);
    assert_eq!(profiled["text"], run["text"]);
    let (stats, slices) = (&profiled["stats"], rows(&profiled, "slices"));
    assert_eq!(stats["schedule"], "fork-join");
    assert_eq!(Some(sum(slices, "supersteps")), stats["steps"].as_u64());
    assert_eq!(Some(sum(slices, "tasks")), stats["tasks"].as_u64());
    let number = |value: &Value| value.as_f64().expect("it is a number");
    let supersteps: f64 = slices.iter().map(|slice| number(&slice["seconds"])).sum();
    let seconds = number(&profiled["seconds"]);
    assert!((supersteps + number(&profiled["outside_seconds"]) - seconds).abs() < 0.05 * seconds, "{profiled}");
    let is_part = |busy: f64| 0.0 < busy && busy <= 1.0;
    assert!(is_part(number(&profiled["busy"])) && slices.iter().all(|slice| is_part(number(&slice["busy"]))));
    assert!(number(&slices[slices.len() - 1]["bytes"]) > 0.0, "its list is in memory");
    let shown = girih(&path, &["profile", "chain.bend", "5", "--device", "lowered:web"]);
    let shown = String::from_utf8(shown.stdout).expect("it is text");
    for line in ["lanes with a task", "outside of supersteps", "`make` needs the result of `count`"] {
        assert!(shown.contains(line), "{shown}");
    }
}

#[test]
fn a_net_shows_its_rules() {
    let (_folder, path) = written("net", "def main():\n  x = {1 2}\n  return x + 1\n");
    let found = json(&path, &["profile", "net.bend", "--json", "--quiet"]);
    assert_eq!((&found["text"], &found["stats"]["tier"]), (&serde_json::json!("{2 3}"), &serde_json::json!("net")));
    assert!(found["stats"]["interactions"].as_u64().is_some_and(|count| count > 0), "{found}");
    let refused = girih(&path, &["profile", "net.bend", "--svg", "net.svg"]);
    assert!(!refused.status.success() && !path.join("net.svg").exists());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no flame graph"));
}

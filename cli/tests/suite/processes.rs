//! The command as a process among others: its streams, and what stops it.

use std::io::{Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A program of `tests/cli/run.in`, started with all its streams in pipes.
fn start(program: &str, options: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_girih"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/cli/run.in"))
        .args(["run", program])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built with this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn end(child: Child) -> Output {
    child.wait_with_output().expect("the command ends")
}

/// Waits until the program has written this to its standard output.
fn wait_for(child: &mut Child, expected: &str) {
    let mut found = vec![0; expected.len()];
    child.stdout.as_mut().expect("it is a pipe").read_exact(&mut found).expect("the program writes");
    assert_eq!(text(&found), expected);
}

#[test]
fn what_is_typed_is_read_and_the_question_is_seen_before() {
    for options in [&[][..], &["--device", "lowered:cpu"]] {
        let mut child = start("greet.bend", options);
        wait_for(&mut child, "What is your name?\n");
        child.stdin.take().expect("it is a pipe").write_all("Ada λ\n".as_bytes()).expect("the program reads");
        let output = end(child);
        assert_eq!(text(&output.stdout), "Hello, Ada λ!\nResult: IO/Done(IO/MAGIC, *)\n");
        assert_eq!(text(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn a_net_asks_and_is_answered() {
    for options in [&[][..], &["--device", "cpu"], &["--threads", "1"]] {
        let mut child = start("../net.in/greet.hvm", options);
        wait_for(&mut child, "? ");
        child.stdin.take().expect("it is a pipe").write_all(b"world and more").expect("the net reads");
        let output = end(child);
        assert_eq!(text(&output.stdout), "!worldResult: ((0 (@magic (7 v0))) v0)\n");
        assert_eq!(text(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn a_program_that_waits_for_input_ends_at_its_time_limit() {
    let mut child = start("greet.bend", &["--timeout", "3"]);
    wait_for(&mut child, "What is your name?\n");
    let stdin = child.stdin.take(); // Held open, so that there is no end of the input.
    let output = end(child);
    drop(stdin);
    assert!(text(&output.stderr).contains("B0509"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn nobody_has_to_listen() {
    let mut child = start("hello.bend", &[]);
    drop(child.stdout.take());
    let stderr = text(&end(child).stderr);
    assert!(!stderr.contains("panicked"), "{stderr}");
}

/// A result that got lost is no success, in either way of speaking.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    for options in [&["explain"][..], &["--json", "explain"], &["check", "--json", "hello.bend"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let output = Command::new(env!("CARGO_BIN_EXE_girih"))
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/cli/run.in"))
            .args(options)
            .stdout(full)
            .output()
            .expect("the command was built with this test");
        let stderr = text(&output.stderr);
        assert_eq!(stderr.matches("cannot write the result: ").count(), 1, "{stderr}");
        assert_eq!(output.status.code(), Some(1), "{options:?}");
    }
}

#[cfg(unix)]
mod interrupted {
    use super::*;

    fn interrupt(child: &Child) {
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(sent.expect("every Unix has it").success());
    }

    #[test]
    fn ctrl_c_stops_a_program_and_keeps_what_it_wrote() {
        let mut child = start("sleep.bend", &[]);
        wait_for(&mut child, "good night\n");
        interrupt(&child);
        let output = end(child);
        assert!(text(&output.stderr).contains("B0509"), "{}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(130));
    }

    #[test]
    fn ctrl_c_stops_a_program_that_computes() {
        for device in ["cpu", "evaluator", "lowered:cpu"] {
            let mut child = start("says_and_computes.bend", &["--device", device]);
            wait_for(&mut child, "now\n");
            interrupt(&child);
            let output = end(child);
            assert!(text(&output.stderr).contains("B0509"), "{}", text(&output.stderr));
            assert_eq!(output.status.code(), Some(130));
        }
    }

    #[test]
    fn a_watched_program_runs_again_when_a_file_of_it_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it can be written");
        write("main.bend", "from part import f\n\ndef main():\n  return f(1)\n");
        write("part.bend", "def f(x):\n  return x + 1\n");
        let mut child = Command::new(env!("CARGO_BIN_EXE_girih"))
            .current_dir(folder.path())
            .args(["run", "--watch", "main.bend"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built with this test");
        wait_for(&mut child, "Result: 2\n");
        // An imported file changes: a mistake is told, and the next change is waited for.
        write("part.bend", "def f(x):\n  return x +\n");
        wait_for_error(&mut child, "B0101");
        // A run that does not end is stopped by the next change.
        write("part.bend", "def f(x):\n  return f(x + 1)\n\n# endless\n");
        wait_for_error(&mut child, "part.bend has changed");
        write("part.bend", "def f(x):\n  return x + 4000\n");
        wait_for(&mut child, "Result: 4001\n");
        interrupt(&child);
        assert_eq!(end(child).status.code(), Some(130));
    }

    /// Waits until this has been written to standard error.
    fn wait_for_error(child: &mut Child, expected: &str) {
        let stream = child.stderr.as_mut().expect("it is a pipe");
        let (mut seen, mut byte) = (vec![], [0]);
        while !text(&seen).contains(expected) {
            stream.read_exact(&mut byte).unwrap_or_else(|error| panic!("{error}: {}", text(&seen)));
            seen.extend(byte);
        }
    }

    #[test]
    fn ctrl_c_leaves_the_reports_of_what_was_measured() {
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("stopped");
        // There is none the first time.
        let _ = std::fs::remove_dir_all(&folder);
        let mut child = Command::new(env!("CARGO_BIN_EXE_girih"))
            .args(["bench", "bend", "--tiny", "--device", "cpu", "--samples", "20", "--output"])
            .arg(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built with this test");
        let report = folder.join("bench.json");
        while !report.exists() {
            assert!(child.try_wait().expect("its state").is_none(), "it has ended, and no row has figures");
            std::thread::sleep(Duration::from_millis(10));
        }
        interrupt(&child);
        let output = end(child);
        let words = text(&output.stderr);
        assert!(words.contains("B0509") && words.contains("rows with figures"), "{words}");
        assert!(text(&output.stdout).contains("bitonic"), "{}", text(&output.stdout));
        assert_eq!(output.status.code(), Some(130));
        for name in ["bench.json", "bench.md", "bench.svg"] {
            let written = std::fs::read_to_string(folder.join(name)).expect("it was written");
            assert!(written.contains("bitonic"), "{name}: {written}");
        }
    }

    #[test]
    fn ctrl_c_stops_a_program_that_waits_for_input() {
        let mut child = start("greet.bend", &[]);
        wait_for(&mut child, "What is your name?\n");
        let stdin = child.stdin.take();
        interrupt(&child);
        let output = end(child);
        drop(stdin);
        assert!(text(&output.stderr).contains("B0509"), "{}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(130));
    }
}

/// `girih fmt` with this text on its standard input.
fn formatted(options: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_girih"))
        .args(["fmt", "-"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built with this test");
    child.stdin.take().expect("it is a pipe").write_all(input.as_bytes()).expect("the command reads");
    end(child)
}

#[test]
fn standard_input_is_formatted_to_standard_output() {
    let output = formatted(&[], "def main( ):\n  return f( 1,2 ) # two\n");
    assert_eq!(text(&output.stdout), "def main():\n  return f(1, 2)  # two\n");
    assert_eq!((text(&output.stderr).as_str(), output.status.code()), ("", Some(0)));
    let output = formatted(&["--stdin-name", "k.gir"], "fn @f( %a:u32 )->u32{\nreturn %a\n}");
    assert_eq!(text(&output.stdout), "fn @f(%a: u32) -> u32 {\n  return %a\n}\n");
    let output = formatted(&[], "def main( ):\r\n  # one\r\n  return \"a\r\nb\"\r\n");
    assert_eq!(text(&output.stdout), "def main():\r\n  # one\r\n  return \"a\r\nb\"\r\n");
    let output = formatted(&[], "def main(:\n");
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("", Some(1)));
    assert!(text(&output.stderr).contains("stdin.bend:1:10"), "{}", text(&output.stderr));
    let output = formatted(&["--check"], "def main( ):\n  return 1\n");
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("stdin.bend\n", Some(1)));
}

#[test]
fn a_write_protected_file_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kept.bend");
    std::fs::write(&path, "main = ( f  1 )\n").expect("it can be written");
    let mut permissions = std::fs::metadata(&path).expect("it is there").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).expect("it can be protected");
    let output = Command::new(env!("CARGO_BIN_EXE_girih")).arg("fmt").arg(&path).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("B0603"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(&path).expect("it is still there"), "main = ( f  1 )\n");
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is still there").count(), 1);
}

#[test]
fn there_is_a_manual_page_for_the_command_and_for_each_verb() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |into: &std::path::Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_girih"));
        command.arg("man").arg(into).output().expect("the command was built with this test")
    };
    let pages = folder.path().join("pages");
    assert!(write(&pages).status.success());
    let page = |name: &str| std::fs::read_to_string(pages.join(name)).expect("the page was written");
    assert!(page("girih.1").contains("girih\\-run(1)") && page("girih-run.1").contains("\\-\\-device"));
    let file = folder.path().join("file");
    std::fs::write(&file, "kept").expect("a file in a temporary folder");
    let output = write(&file);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot write manual pages"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(&file).expect("it is still there"), "kept");
}

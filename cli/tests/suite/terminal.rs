//! `girih repl` in a real terminal: tmux, whose screen is read.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often the screen is looked at for something.
const TRIES: usize = 600;

/// A session of tmux with a server of its own, which ends with it.
struct Terminal<'f> {
    folder: &'f Path,
}

impl Terminal<'_> {
    fn tmux(&self, words: &[&str]) -> String {
        let socket = self.folder.join("socket");
        let output = Command::new("tmux")
            .arg("-S")
            .arg(socket)
            .args(["-f", "/dev/null"])
            .args(words)
            .output()
            .expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-"])
    }

    /// Waits until the screen is as it should be.
    fn wait_for(&self, what: &str, seen: impl Fn(&str) -> bool) {
        for _ in 0..TRIES {
            if seen(&self.screen()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{what} does not come:\n{}", self.screen());
    }

    /// Types a line, and waits for a line that begins with the answer.
    fn enter(&self, line: &str, answer: &str) {
        self.wait_for("the prompt", |screen| screen.trim_end().ends_with(">>>"));
        self.tmux(&["send-keys", "-l", line]);
        self.tmux(&["send-keys", "Enter"]);
        // The line itself may be on the screen already; the answer stands on a line that it begins.
        self.wait_for(answer, |screen| screen.lines().any(|shown| shown.starts_with(answer)));
    }

    fn key(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn a_session_in_a_terminal() {
    if Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_err() {
        return girih_workbench::missing("`tmux` on the path", "GIRIH_REQUIRE_TERMINAL");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let terminal = Terminal { folder: folder.path() };
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/cli/run.in");
    let data = folder.path().display();
    let command = format!("TERM=screen XDG_DATA_HOME={data} GIRIH_CACHE={data} {} repl", env!("CARGO_BIN_EXE_girih"));
    terminal.tmux(&["new-session", "-d", "-x", "120", "-y", "50", "-c", programs, &command]);

    terminal.enter("1 + 2", "3 : u24");
    // A definition goes on until an empty line.
    terminal.wait_for("the prompt", |screen| screen.trim_end().ends_with(">>>"));
    for line in ["def next(x: u24) -> u24:", "  return x + 1"] {
        terminal.tmux(&["send-keys", "-l", line]);
        terminal.key("Enter");
        terminal.wait_for("the next line", |screen| screen.trim_end().ends_with("..."));
    }
    terminal.key("Enter");
    terminal.wait_for("the definition", |screen| screen.contains("defined: next"));
    terminal.enter("next(it)", "4 : u24");
    // A tab completes a name; Ctrl-C throws the line away.
    terminal.wait_for("the prompt", |screen| screen.trim_end().ends_with(">>>"));
    terminal.tmux(&["send-keys", "-l", "List/rever"]);
    terminal.key("Tab");
    terminal.wait_for("the completed name", |screen| screen.contains(">>> List/reverse"));
    terminal.key("C-c");
    // Ctrl-C stops a computation, and the session goes on.
    terminal.enter(":load says_and_computes.bend", "defined:");
    terminal.enter("main", "now");
    terminal.key("C-c");
    terminal.wait_for("the end of the computation", |screen| screen.contains("B0509"));
    terminal.enter("next(41)", "42 : u24");
    // The last input comes back.
    terminal.key("Up");
    terminal.wait_for("the last input", |screen| screen.trim_end().ends_with(">>> next(41)"));
    terminal.key("C-c");
    terminal.wait_for("the prompt", |screen| screen.trim_end().ends_with(">>>"));
    terminal.key("C-d");
    let history = folder.path().join("girih").join("history");
    let is_written = |_: &str| {
        std::fs::read_to_string(&history).is_ok_and(|text| text.contains("next(41)") && text.contains("1 + 2"))
    };
    terminal.wait_for("the history", is_written);
}

//! A real editor with `girih lsp`: Neovim, without a window.

use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn neovim_shows_a_mistake_and_jumps_to_a_definition() {
    if Command::new("nvim").arg("--version").stdout(Stdio::null()).status().is_err() {
        return girih_workbench::missing("`nvim` on the path", "GIRIH_REQUIRE_NEOVIM");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (program, output) = (folder.path().join("double.bend"), folder.path().join("seen"));
    let text = "def double(x: u24) -> u24:\n  return x * 2\n\ndef main() -> u24:\n  return double(2.5)\n";
    std::fs::write(&program, text).expect("it can be written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/editors/neovim.lua");
    let ended = Command::new("nvim")
        .args(["--headless", "--clean", "-n", "-c"])
        .arg(format!("luafile {}", script.display()))
        .arg(&program)
        .current_dir(folder.path())
        .env("GIRIH", env!("CARGO_BIN_EXE_girih"))
        .env("GIRIH_CACHE", folder.path())
        .env("OUTPUT", &output)
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("Neovim starts");
    let seen = std::fs::read_to_string(&output).unwrap_or_default();
    let expected = "B0301 at 5:17\ndefinition at 1:5\nnothing is wrong\n";
    assert_eq!(seen, expected, "{}", String::from_utf8_lossy(&ended.stderr));
}

//! `girih playground`: what is served, and the page in a real browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The command, serving a folder at a free port.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(folder: &Path) -> Served {
        let mut child = Command::new(env!("CARGO_BIN_EXE_girih"))
            .args(["playground", "--port", "0", "--folder"])
            .arg(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command was built with this test");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("the command says where it is");
        let address = line.trim().strip_prefix("The playground is at ").unwrap_or_default().to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{line}");
        Served { child, address }
    }

    /// The head and the body of the answer to a request line.
    fn asked(&self, request: &str) -> (String, String) {
        let host = self.address.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(host).expect("it is there");
        write!(stream, "{request} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("it is HTTP");
        (head.to_owned(), body.to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The policy that the page says of itself.
fn policy() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/page/index.html");
    let page = std::fs::read_to_string(page).expect("the repository has it");
    let (_, rest) = page.split_once("http-equiv=\"Content-Security-Policy\" content=\"").expect("it has a policy");
    rest.split_once('"').expect("the attribute ends").0.to_owned()
}

#[test]
fn files_of_the_folder_are_served_and_nothing_else() {
    let outer = tempfile::tempdir().expect("the system has a folder for temporary files");
    let folder = outer.path().join("page");
    std::fs::create_dir(&folder).expect("it is ours");
    for (place, text) in
        [("secret.txt", "secret"), ("page/index.html", "the page"), ("page/a.mjs", "1"), ("page/b.wasm", "2")]
    {
        std::fs::write(outer.path().join(place), text).expect("it is ours");
    }
    let served = Served::start(&folder);
    let policy = policy();
    for (request, kind, text) in [
        ("GET /", "text/html; charset=utf-8", "the page"),
        ("GET /a.mjs", "text/javascript; charset=utf-8", "1"),
        ("GET /b.wasm?x", "application/wasm", "2"),
        ("HEAD /", "text/html; charset=utf-8", ""),
    ] {
        let (head, body) = served.asked(request);
        assert!(head.starts_with("HTTP/1.1 200") && head.contains(&format!("Content-Type: {kind}")), "{head}");
        assert_eq!(body, text);
        assert!(head.contains(&format!("Content-Security-Policy: {policy}\r\n")), "{policy}\n{head}");
    }
    for request in ["GET /../secret.txt", "GET /%2e%2e/secret.txt", "GET /none.js", "GET //secret.txt"] {
        let (head, body) = served.asked(request);
        assert!(head.starts_with("HTTP/1.1 404") && !body.contains("secret"), "{request}: {head}\n{body}");
    }
    assert!(served.asked("POST /").0.starts_with("HTTP/1.1 405"));
}

#[test]
fn a_folder_without_the_page_is_refused() {
    let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
    let output =
        Command::new(env!("CARGO_BIN_EXE_girih")).arg("playground").arg("--folder").arg(folder.path()).output();
    let output = output.expect("the command was built with this test");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("has no page of the playground") && said.contains("web/build.sh"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

/// What drives the page, if it is all there: the page itself, Node with Playwright, and Chromium.
fn browser() -> Result<PathBuf, &'static str> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::env::var_os("GIRIH_PLAYGROUND").map_or_else(|| root.join("target/playground"), PathBuf::from);
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok_and(|it| it.status.success());
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned());
    let is_built = page.join("index.html").is_file() && page.with_file_name("npm").is_dir();
    if !is_built || !root.join("web/node_modules/playwright-core").is_dir() {
        return Err("page of the playground, which `web/build.sh` builds");
    }
    if !runs("node") {
        return Err("Node");
    }
    if !runs(&chromium) { Err("Chromium at /usr/bin/chromium or in `CHROMIUM`") } else { Ok(page) }
}

/// Runs a script of `web/tests`, which ends with an error if anything is not as it has to be; what it says.
fn script(name: &str, arguments: &[&std::ffi::OsStr]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/tests").join(name);
    let output = Command::new("node").arg(script).args(arguments).output().expect("Node is there");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{said}");
    said
}

/// Drives the page: some parts of `web/tests/page.mjs`, or all but some.
fn drive(parts: [&str; 2], last: &str) {
    let page = match browser() {
        Ok(page) => page,
        Err(thing) => return girih_workbench::missing(thing, "GIRIH_REQUIRE_BROWSER"),
    };
    let served = Served::start(&page);
    let words = [&*served.address, env!("CARGO_BIN_EXE_girih"), parts[0], parts[1]].map(AsRef::as_ref);
    let said = script("page.mjs", &words);
    assert!(said.contains(&format!("{last}: passed")), "{said}");
}

#[test]
fn the_page_runs_and_shows_every_example_in_a_browser() {
    drive(["programs", "forms"], "forms");
}

/// An error, a program that never ends, links, nets, the keyboard and every shader: `web/tests/page.mjs` says what has to come of them.
#[test]
fn the_page_works_in_a_browser() {
    drive(["-programs", "-forms"], "withoutWebgpu");
}

/// A link that must not run, endless output, a module that cannot be loaded, too little memory: `web/tests/troubles.mjs` says what the page makes of them.
#[test]
fn the_page_says_what_goes_wrong_in_a_browser() {
    let page = match browser() {
        Ok(page) => page,
        Err(thing) => return girih_workbench::missing(thing, "GIRIH_REQUIRE_BROWSER"),
    };
    let served = Served::start(&page);
    let said = script("troubles.mjs", &[served.address.as_ref()]);
    assert!(said.contains("fragments: passed"), "{said}");
}

#[test]
fn programs_give_their_values_in_a_browser() {
    let page = match browser() {
        Ok(page) => page,
        Err(thing) => return girih_workbench::missing(thing, "GIRIH_REQUIRE_BROWSER"),
    };
    let served = Served::start(&page);
    let said = script("programs.mjs", &[served.address.as_ref()]);
    assert!(said.contains(" programs passed, 0 failed"), "{said}");
}

/// The package is packed, its types fit a sample, and a page with `<girih-shader>` draws.
#[test]
fn the_package_works_in_a_browser() {
    let page = match browser() {
        Ok(page) => page,
        Err(thing) => return girih_workbench::missing(thing, "GIRIH_REQUIRE_BROWSER"),
    };
    // The build writes both beside each other.
    let said = script("package.mjs", &[page.with_file_name("npm").as_ref()]);
    assert!(said.contains("functions: passed"), "{said}");
}

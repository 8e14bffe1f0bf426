//! `girih playground`: serves the playground's page on the loopback address.
//!
//! Invariant: what is served is a file of one folder. A name that leads elsewhere is no name of a file: it has no `/`, and does not begin with a dot.

use crate::console::Console;
use crate::exit::Exit;
use clap::Args;
use girih::{Code, Diagnostic, Span};
use serde_json::json;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use tiny_http::{Header, Method, Request, Response, Server, StatusCode};

const EXAMPLES: &str = "\
Examples:
  web/build.sh                       builds the page into target/playground
  girih playground                   serves it, and says at which address
  girih playground --port 0          at a port that is free
  girih playground --folder public   a page that was built elsewhere";

/// The policy of the page, which `web/page/index.html` has too. Sent with each file: what a page says of itself does not hold for the workers that it loads.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; \
    style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Playground {
    /// The folder that `web/build.sh` has written
    #[arg(long, value_name = "DIR", default_value = "target/playground")]
    folder: PathBuf,
    /// The port; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 8017)]
    port: u16,
}

impl Playground {
    /// Serves the page until the command is stopped.
    pub fn run(&self, console: &Console) -> Exit {
        let server = match self.open() {
            Ok(server) => server,
            Err(error) => return console.fail(error.code, error.message, error.hint.as_deref()),
        };
        let address = server.server_addr().to_string();
        let url = format!("http://{address}/");
        console.result(&format!("The playground is at {url}"), || json!({"kind": "address", "url": url}));
        console.note("Ctrl-C stops it.");
        for request in server.incoming_requests() {
            // Whoever has gone away needs no answer.
            let _ = answer(request, &self.folder);
        }
        Exit::Ok
    }

    fn open(&self) -> Result<Server, Diagnostic> {
        if !self.folder.join("index.html").is_file() {
            let message = format!("`{}` has no page of the playground", self.folder.display());
            let hint = "build it with `web/build.sh`, or name the folder where it is with `--folder DIR`";
            return Err(Diagnostic::new(Code::CannotRead, Span::NONE, message).hint(hint));
        }
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        Server::http(address).map_err(|error| {
            let message = format!("nothing can be served at {address}: {error}");
            let hint = "name another port with `--port N`; 0 takes any that is free";
            Diagnostic::new(Code::BadArguments, Span::NONE, message).hint(hint)
        })
    }
}

/// Answers with a file, or says that there is none.
fn answer(request: Request, folder: &Path) -> std::io::Result<()> {
    let plain = |text: &str, status: u16| Response::from_string(text).with_status_code(StatusCode(status));
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(plain("only GET and HEAD are answered\n", 405));
    }
    let Some((name, kind)) = file_name(request.url()) else {
        return request.respond(plain("there is no such file\n", 404));
    };
    match File::open(folder.join(name)) {
        Ok(file) => {
            let mut response = Response::from_file(file);
            for (field, value) in [
                ("Content-Type", kind),
                ("Content-Security-Policy", POLICY),
                ("X-Content-Type-Options", "nosniff"),
                ("Cache-Control", "no-cache"),
            ] {
                response.add_header(Header::from_bytes(field, value).expect("these are ASCII"));
            }
            request.respond(response)
        }
        Err(_) => request.respond(plain("there is no such file\n", 404)),
    }
}

/// The file that an address names, and what it is; none if it is none that a page has.
fn file_name(url: &str) -> Option<(&str, &'static str)> {
    let path = url.split(['?', '#']).next()?.strip_prefix('/')?;
    let name = if path.is_empty() { "index.html" } else { path };
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    let (stem, extension) = name.rsplit_once('.')?;
    if !is_plain || stem.is_empty() || name.starts_with('.') {
        return None;
    }
    Some((name, kind(extension)?))
}

/// The media type of a file; none for what no page has.
fn kind(extension: &str) -> Option<&'static str> {
    match extension {
        "html" => Some("text/html; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "js" | "mjs" => Some("text/javascript; charset=utf-8"),
        "json" => Some("application/json"),
        "svg" => Some("image/svg+xml"),
        "txt" => Some("text/plain; charset=utf-8"),
        // Browsers compile WebAssembly while it arrives only if it is called so.
        "wasm" => Some("application/wasm"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_folder_have_names() {
        assert_eq!(file_name("/"), Some(("index.html", "text/html; charset=utf-8")));
        assert_eq!(file_name("/compiler_bg.wasm?1"), Some(("compiler_bg.wasm", "application/wasm")));
        assert_eq!(file_name("/page.mjs"), Some(("page.mjs", "text/javascript; charset=utf-8")));
        for url in [
            "",
            "index.html",
            "/../secret.txt",
            "/..%2fsecret.txt",
            "/a/b.js",
            "/.env.js",
            "/c:\\x.js",
            "/key",
            "/x.pem",
            "/..",
        ] {
            assert_eq!(file_name(url), None, "{url}");
        }
    }
}

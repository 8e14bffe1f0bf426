//! An editor that speaks the protocol to the command, over its standard input and output.
//!
//! Invariant: a server that says nothing more is ended, and the test says for what it waited.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How long a server may be silent. No answer takes a second, on a busy machine a few: this is for a server that would be silent for ever.
const SILENCE: Duration = Duration::from_secs(600);

/// A session with `girih lsp`.
pub struct Client {
    child: Child,
    /// The messages of the server, until it closes its output.
    messages: Receiver<Value>,
    requests: i64,
    /// Where the server keeps the prelude's files.
    _cache: tempfile::TempDir,
}

impl Client {
    /// Starts the server and says nothing.
    pub fn start() -> Client {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_girih"))
            .arg("lsp")
            .env("GIRIH_CACHE", cache.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built with this test");
        let mut output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let (send, messages) = channel();
        std::thread::spawn(move || {
            // A test that has ended listens no more.
            while read(&mut output).is_some_and(|message| send.send(message).is_ok()) {}
        });
        Client { child, messages, requests: 0, _cache: cache }
    }

    /// Starts the server and begins a session in a folder.
    pub fn begin(folder: &Path) -> Client {
        let mut client = Client::start();
        let root = url(folder);
        let answer = client.request("initialize", json!({"processId": null, "rootUri": root, "capabilities": {}}));
        assert_eq!(answer["serverInfo"]["name"], "girih");
        client.notify("initialized", json!({}));
        client
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        let input = self.child.stdin.as_mut().expect("it is a pipe");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads");
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.write(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    /// The next message of the server, which a test awaits for a reason.
    fn receive(&mut self, awaited: &str) -> Value {
        match self.messages.recv_timeout(SILENCE) {
            Ok(message) => message,
            Err(RecvTimeoutError::Disconnected) => panic!("the server has ended before {awaited}"),
            Err(RecvTimeoutError::Timeout) => self.silent(awaited),
        }
    }

    /// Ends a server that is silent, and fails.
    fn silent(&mut self, awaited: &str) -> ! {
        // It may have ended by itself just now.
        let _ = self.child.kill();
        panic!("the server was silent for {} s before {awaited}", SILENCE.as_secs());
    }

    /// The whole answer to a request. Reports that come in between are skipped.
    pub fn answer(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive(&format!("the answer to {method}"));
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The result of a request.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The code of the error that a request has.
    pub fn refused(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.answer(method, params);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method} is not refused: {answer}"))
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Opens a document, and returns what is wrong with it.
    pub fn open(&mut self, url: &str, text: &str) -> Vec<Value> {
        let document = json!({"uri": url, "languageId": "bend", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
        self.diagnostics(url, 1)
    }

    /// Replaces a range of a document, and returns what is wrong with it then.
    pub fn edit(&mut self, url: &str, version: i64, range: Value, text: &str) -> Vec<Value> {
        let document = json!({"uri": url, "version": version});
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": [{"range": range, "text": text}]}),
        );
        self.diagnostics(url, version)
    }

    /// The next report about a version of a document.
    pub fn diagnostics(&mut self, url: &str, version: i64) -> Vec<Value> {
        loop {
            let message = self.receive(&format!("a report about version {version} of {url}"));
            let params = &message["params"];
            if message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == url
                && params["version"] == version
            {
                return params["diagnostics"].as_array().expect("it is a list").clone();
            }
        }
    }

    /// The next message that the server shows to the user.
    pub fn shown(&mut self) -> String {
        loop {
            let message = self.receive("a message for the user");
            if message["method"] == "window/showMessage" {
                return message["params"]["message"].as_str().unwrap_or_default().to_owned();
            }
        }
    }

    /// Ends the session as the protocol says.
    pub fn end(mut self) {
        assert_eq!(self.request("shutdown", Value::Null), Value::Null);
        assert_eq!(self.refused("textDocument/hover", Value::Null), -32600, "nothing is answered after `shutdown`");
        self.notify("exit", Value::Null);
        let (status, errors) = self.wait();
        assert!(status.success(), "{errors}");
    }

    /// Waits until the server has ended; what it wrote to standard error.
    pub fn wait(mut self) -> (ExitStatus, String) {
        drop(self.child.stdin.take());
        loop {
            match self.messages.recv_timeout(SILENCE) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.silent("its end"),
            }
        }
        let mut errors = String::new();
        let mut stream = self.child.stderr.take().expect("it is a pipe");
        stream.read_to_string(&mut errors).expect("it writes text");
        (self.child.wait().expect("the server ends"), errors)
    }
}

/// The next message; none if the server has closed its output.
fn read(output: &mut BufReader<ChildStdout>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).expect("the server writes text") == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", number)) => length = number.parse().expect("it is a number"),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).expect("the server writes the whole message");
    Some(serde_json::from_slice(&body).expect("it is JSON"))
}

/// A path as a document of the protocol.
pub fn url(path: &Path) -> String {
    let path = path.canonicalize().expect("the path exists");
    format!("file://{}{}", if cfg!(windows) { "/" } else { "" }, path.display().to_string().replace('\\', "/"))
}

/// A place of the protocol.
pub fn position(line: u32, character: u32) -> Value {
    json!({"line": line, "character": character})
}

/// The place of the `number`-th occurrence of a text, in lines and UTF-16 columns.
pub fn place(text: &str, word: &str, number: usize) -> Value {
    let (at, _) = text.match_indices(word).nth(number).unwrap_or_else(|| panic!("`{word}` does not occur so often"));
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    position(before.matches('\n').count() as u32, before[line_start..].encode_utf16().count() as u32)
}

/// The parameters of a request about a place of a document.
pub fn at(url: &str, position: Value) -> Value {
    json!({"textDocument": {"uri": url}, "position": position})
}

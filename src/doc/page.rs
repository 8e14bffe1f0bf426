//! Pages of documentation as HTML: light and dark, without scripts but for the search of the index, and without anything from elsewhere.
//!
//! Invariant: text of a program is escaped wherever it stands.

use super::{Item, Page, Places, Topic};
use girih_base::lexer::is_name_char;
use girih_bend::analysis::outline::Kind;
use std::fmt::Write;

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --soft: #f3f3f0; --line: #d8d8d2; --link: #1a5fb4; --quiet: #666 }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e0; --paper: #17181a; --soft: #222426; --line: #3a3c3f; --link: #8ab8f0; --quiet: #9a9a96 } }
body { margin: 0 auto; max-width: 56rem; padding: 1rem 1.5rem 4rem; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
a { color: var(--link); text-decoration: none } a:hover, a:focus { text-decoration: underline }
pre, code { font-family: ui-monospace, monospace; font-size: 0.9em }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: 0.6rem 0.8rem; overflow-x: auto; margin: 0.4rem 0 }
h2 { font-size: 1.1rem; margin: 2rem 0 0.2rem; font-family: ui-monospace, monospace }
h2 a { color: inherit }
section:target > h2 { border-left: 4px solid var(--link); padding-left: 0.5rem }
summary, .quiet { color: var(--quiet); font-size: 0.9em; cursor: default } summary { cursor: pointer }
input { font: inherit; width: 100%; box-sizing: border-box; padding: 0.5rem 0.7rem; border: 1px solid var(--line); border-radius: 6px; background: var(--soft); color: inherit }
ul.names { list-style: none; padding: 0; columns: 16rem } ul.names li { break-inside: avoid; overflow-wrap: anywhere }
";

/// Shows the names that contain what is typed, and hides files without one.
const SEARCH: &str = "\
const field = document.querySelector('input');
field.addEventListener('input', () => {
  const wanted = field.value.toLowerCase();
  for (const file of document.querySelectorAll('section')) {
    let found = 0;
    for (const name of file.querySelectorAll('li')) found += !(name.hidden = !name.textContent.toLowerCase().includes(wanted));
    file.hidden = !found;
  }
});
";

/// Names as a page sees them: its own, before those of others.
struct Here<'p> {
    file: &'p str,
    places: &'p Places,
}

impl Here<'_> {
    fn get(&self, name: &str) -> Option<&(String, String)> {
        let all = self.places.get(name)?;
        all.iter().find(|(file, _)| file == self.file).or(all.first())
    }
}

/// The page of a file.
pub(super) fn topic(topic: &Topic, places: &Places) -> Page {
    let places = &Here { file: &topic.file, places };
    let mut body = format!("<p><a href=\"index.html\">Index</a></p>\n<h1>{}</h1>\n", escape(&topic.title));
    if let Some(about) = &topic.about {
        let _ = writeln!(body, "<p>{}</p>", prose(about, places));
    }
    for item in &topic.items {
        section(&mut body, topic, item, places);
    }
    Page { file: topic.file.clone(), text: whole(&topic.title, &body) }
}

fn section(body: &mut String, topic: &Topic, item: &Item, places: &Here<'_>) {
    let name = escape(&item.name);
    let _ = writeln!(body, "<section id=\"{name}\">\n<h2><a href=\"#{}\">{name}</a></h2>", address(&item.name));
    let _ = writeln!(body, "<pre>{}</pre>", linked(&item.code, Some(&item.name), places));
    for paragraph in item.comment.iter().flat_map(|comment| comment.split("\n\n")) {
        let _ = writeln!(body, "<p>{}</p>", prose(paragraph, places));
    }
    let (title, line) = (escape(&topic.title), item.line);
    let source = linked(&item.source, Some(&item.name), places);
    let _ = writeln!(
        body,
        "<details><summary>Source: {title}, line {line}</summary><pre>{source}</pre></details>\n</section>"
    );
}

/// The index of all pages: the programs before the prelude.
pub(super) fn index(topics: &[Topic]) -> Page {
    let mut body = "<h1>Documentation</h1>\n<input type=\"search\" placeholder=\"Search for a name\" aria-label=\"Search for a name\" autofocus>\n".to_owned();
    let (prelude, programs): (Vec<&Topic>, Vec<&Topic>) = topics.iter().partition(|topic| topic.is_prelude);
    for topic in programs.into_iter().chain(prelude) {
        let (file, title) = (address(&topic.file), escape(&topic.title));
        let _ = writeln!(body, "<section>\n<h2><a href=\"{file}\">{title}</a></h2>\n<ul class=\"names\">");
        for item in &topic.items {
            let kind = match item.kind {
                Kind::Type => " <span class=\"quiet\">type</span>",
                Kind::Function | Kind::Constructor | Kind::Field => "",
            };
            let (at, name) = (address(&item.name), escape(&item.name));
            let _ = writeln!(body, "<li><a href=\"{file}#{at}\">{name}</a>{kind}</li>");
        }
        body.push_str("</ul>\n</section>\n");
    }
    let _ = writeln!(body, "<script>\n{SEARCH}</script>");
    Page { file: "index.html".to_owned(), text: whole("Documentation", &body) }
}

fn whole(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(title)
    )
}

/// Bend, in which each name that is documented elsewhere leads there.
fn linked(code: &str, own: Option<&str>, places: &Here<'_>) -> String {
    let mut html = String::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_name = is_name_char(first);
        let end = rest.find(|c: char| is_name_char(c) != is_name).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = behind;
        // `/` is a division, too, and `List/Cons` one name.
        match places.get(word).filter(|_| is_name && own != Some(word)) {
            Some((file, at)) => {
                let _ = write!(html, "<a href=\"{}#{}\">{}</a>", address(file), address(at), escape(word));
            }
            None => html.push_str(&escape(word)),
        }
    }
    html
}

/// A comment: what stands between backquotes is Bend.
fn prose(text: &str, places: &Here<'_>) -> String {
    let parts = text.split('`').enumerate().map(|(number, part)| {
        if number % 2 == 1 { format!("<code>{}</code>", linked(part, None, places)) } else { escape(part) }
    });
    parts.collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A name as a part of an address.
fn address(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => text.push(char::from(byte)),
            _other => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

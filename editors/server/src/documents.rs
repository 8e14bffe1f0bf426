//! The open buffers. An edit replaces a range of a buffer; edits of one message are applied one after the other.

use crate::positions::Lines;
use lsp_types::{TextDocumentContentChangeEvent, Url};
use std::collections::BTreeMap;

/// What a document is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A Bend program.
    Bend,
    /// Kernels of the IR.
    Ir,
    /// A net.
    Net,
}

impl Language {
    /// The language of a document: as its name ends, or as the editor says.
    fn of(url: &Url, said: &str) -> Language {
        match url.path().rsplit_once('.').map_or(said, |(_, ending)| ending) {
            "gir" => Language::Ir,
            "hvm" => Language::Net,
            _bend => Language::Bend,
        }
    }
}

/// An open buffer.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it is written in.
    pub language: Language,
    /// Its text now.
    pub text: String,
    /// The number that the editor gave to this text.
    pub version: i32,
}

/// All open buffers.
#[derive(Debug, Default)]
pub struct Documents {
    open: BTreeMap<Url, Document>,
}

impl Documents {
    /// Adds a buffer.
    pub fn open(&mut self, url: Url, language: &str, version: i32, text: String) {
        let language = Language::of(&url, language);
        self.open.insert(url, Document { language, text, version });
    }

    /// Changes a buffer. A buffer that is not open stays so.
    pub fn change(&mut self, url: &Url, version: i32, changes: Vec<TextDocumentContentChangeEvent>) {
        let Some(document) = self.open.get_mut(url) else { return };
        document.version = version;
        for change in changes {
            let Some(range) = change.range else {
                document.text = change.text;
                continue;
            };
            let lines = Lines::new(&document.text);
            let (start, end) = (lines.byte(&document.text, range.start), lines.byte(&document.text, range.end));
            document.text.replace_range(start..end.max(start), &change.text);
        }
    }

    /// Removes a buffer.
    pub fn close(&mut self, url: &Url) {
        self.open.remove(url);
    }

    /// A buffer.
    pub fn get(&self, url: &Url) -> Option<&Document> {
        self.open.get(url)
    }

    /// All buffers.
    pub fn iter(&self) -> impl Iterator<Item = (&Url, &Document)> {
        self.open.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lsp_types::{Position, Range};

    /// From where to where, and what stands there then.
    type Change<'t> = ((u32, u32), (u32, u32), &'t str);

    fn edited(text: &str, changes: &[Change]) -> String {
        let url = Url::parse("untitled:a").expect("it is a URL");
        let mut documents = Documents::default();
        documents.open(url.clone(), "bend", 1, text.to_owned());
        let changes = changes.iter().map(|(start, end, text)| TextDocumentContentChangeEvent {
            range: Some(Range::new(Position::new(start.0, start.1), Position::new(end.0, end.1))),
            range_length: None,
            text: (*text).to_owned(),
        });
        documents.change(&url, 2, changes.collect());
        documents.get(&url).expect("it is open").text.clone()
    }

    #[test]
    fn edits_are_applied_in_order() {
        assert_eq!(
            edited("😀ab\r\ncd", &[((0, 2), (0, 3), "x"), ((1, 0), (1, 1), ""), ((1, 1), (9, 9), "é\n")]),
            "😀xb\r\ndé\n"
        );
    }

    #[test]
    fn an_edit_whose_end_comes_first_inserts() {
        assert_eq!(edited("abc", &[((0, 2), (0, 1), "x")]), "abxc");
    }
}

//! Formatting: a whole document in the layout of `girih fmt`, as one replacement.

use crate::documents::Language;
use crate::positions::Lines;
use crate::server::Server;
use girih::format::{self, format};
use lsp_types::{TextEdit, Url};

impl Server<'_> {
    /// What has to be replaced in a document. Nothing if it has its layout already, if its syntax is wrong, which has been reported, or if there is no formatter for what it is written in.
    pub fn formatted(&self, url: &Url) -> Option<Vec<TextEdit>> {
        let document = self.documents.get(url).filter(|_| self.prelude.topic(url).is_none())?;
        let language = match document.language {
            Language::Bend => format::Language::Bend,
            Language::Ir => format::Language::Ir,
            Language::Net => return None,
        };
        let text = &document.text;
        let formatted = format(url.path(), text, language).ok().filter(|formatted| formatted != text)?;
        let everything = Lines::new(text).range(text, 0, text.len());
        Some(vec![TextEdit::new(everything, formatted)])
    }
}

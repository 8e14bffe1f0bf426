//! Requests about the name at a place: what it is, where it is defined, where it is used.

use crate::known::Known;
use crate::server::Server;
use girih_base::span::SourceId;
use girih_bend::analysis::{MAIN, Target};
use lsp_types::{
    DocumentHighlight, DocumentHighlightKind, GotoDefinitionResponse, Hover, HoverContents, Location, MarkupContent,
    MarkupKind, ReferenceParams, TextDocumentPositionParams, Url,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

/// A place in what is known about a document.
pub struct Place {
    /// What is known.
    pub known: Rc<Known>,
    /// The source that the document is.
    pub source: SourceId,
    /// The byte.
    pub at: usize,
}

impl Server<'_> {
    /// The place that a request is about. A part of the prelude is looked up in what any program has.
    pub fn place(&mut self, params: &TextDocumentPositionParams) -> Option<Place> {
        let url = &params.text_document.uri;
        let known = self.known(url)?;
        let source = match self.prelude.topic(url) {
            Some(topic) => known.analysis.prelude_source(topic)?,
            None => MAIN,
        };
        let at = known.byte(source, params.position);
        Some(Place { known, source, at })
    }

    /// What a name is.
    pub fn hover(&mut self, params: &TextDocumentPositionParams) -> Option<Hover> {
        let Place { known, source, at } = self.place(params)?;
        let hover = known.analysis.hover(source, at)?;
        let comment = hover.comment.map_or(String::new(), |comment| format!("\n\n---\n\n{comment}"));
        let value = format!("```bend\n{}\n```{comment}", hover.code);
        let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
        Some(Hover { contents, range: Some(known.range(hover.span)) })
    }

    /// Where a name is defined.
    pub fn definition(&mut self, params: &TextDocumentPositionParams) -> Option<GotoDefinitionResponse> {
        let Place { known, source, at } = self.place(params)?;
        let (_, target) = known.analysis.target_at(source, at)?;
        let definition = known.analysis.definition(target);
        self.location(&known, definition).map(GotoDefinitionResponse::Scalar)
    }

    /// Where a name stands in its document.
    pub fn highlights(&mut self, params: &TextDocumentPositionParams) -> Option<Vec<DocumentHighlight>> {
        let Place { known, source, at } = self.place(params)?;
        let (_, target) = known.analysis.target_at(source, at)?;
        let definition = known.analysis.definition(target);
        let places = known.analysis.places(target).filter(|span| span.source == source);
        let highlight = |span| DocumentHighlight {
            range: known.range(span),
            kind: Some(if span == definition { DocumentHighlightKind::WRITE } else { DocumentHighlightKind::READ }),
        };
        Some(places.map(highlight).collect())
    }

    /// Where a name stands in all files of the workspace.
    pub fn references(&mut self, params: &ReferenceParams) -> Option<Vec<Location>> {
        let Place { known, source, at } = self.place(&params.text_document_position)?;
        let (_, target) = known.analysis.target_at(source, at)?;
        let definition = self.location(&known, known.analysis.definition(target))?;
        let mut found = BTreeSet::new();
        for (known, target) in self.everywhere(&known, target) {
            for span in known.analysis.places(target).filter(|span| known.analysis.prelude_file(span.source).is_none())
            {
                let Some(place) = self.location(&known, span) else { continue };
                let (start, end) = (place.range.start, place.range.end);
                found.insert((place.uri, (start.line, start.character), (end.line, end.character)));
            }
        }
        let place = |(url, start, end): (Url, (u32, u32), (u32, u32))| {
            let position = |(line, character)| lsp_types::Position::new(line, character);
            Location::new(url, lsp_types::Range::new(position(start), position(end)))
        };
        let places = found.into_iter().map(place);
        Some(places.filter(|place| params.context.include_declaration || *place != definition).collect())
    }

    /// What is known of all programs of the workspace in which something occurs, with what it is there. The program where it was asked
    /// for comes first.
    pub fn everywhere(&mut self, known: &Rc<Known>, target: Target) -> Vec<(Rc<Known>, Target)> {
        let mut found = vec![(Rc::clone(known), target)];
        let definition = known.analysis.definition(target);
        let file = known.analysis.sources.get(definition.source).map(|source| source.name.clone());
        let (Some(file), false) = (file, matches!(target, Target::Local(_))) else { return found };
        let name = known.analysis.sources.snippet(definition).to_owned();
        for url in self.bend_documents(&name) {
            let Some(other) = self.known(&url).filter(|other| !Rc::ptr_eq(other, known)) else { continue };
            let source = other.source_named(&file);
            let there = source.and_then(|source| other.analysis.use_at(source, definition.start as usize));
            if let Some(target) = there.map(|found| found.target) {
                found.push((other, target));
            }
        }
        found
    }

    /// The Bend documents that are open, and the files of the workspace that contain a text.
    fn bend_documents(&mut self, text: &str) -> BTreeSet<Url> {
        let contains = |path: &Path| std::fs::read_to_string(path).is_ok_and(|content| content.contains(text));
        let closed = self.closed_files().into_iter().filter(|(path, _)| contains(path)).map(|(_, url)| url);
        self.open_documents().into_iter().chain(closed).collect()
    }
}

//! Requests about a whole file or the whole workspace: what is defined there, and the types that nobody wrote.

use crate::documents::Language;
use crate::known::Known;
use crate::server::Server;
use crate::workspace::{Defined, defined_in};
use girih_bend::analysis::MAIN;
use girih_bend::analysis::outline::{Kind, Symbol};
use lsp_types::{
    DocumentSymbol, DocumentSymbolResponse, InlayHint, InlayHintKind, InlayHintLabel, InlayHintParams,
    SymbolInformation, SymbolKind, Url, WorkspaceSymbolParams,
};

impl Server<'_> {
    /// What a document defines.
    pub fn symbols(&mut self, url: &Url) -> Option<DocumentSymbolResponse> {
        let known = self.known(url)?;
        let source = match self.prelude.topic(url) {
            Some(topic) => known.analysis.prelude_source(topic)?,
            None => MAIN,
        };
        let symbols = known.analysis.outline(source);
        Some(DocumentSymbolResponse::Nested(symbols.iter().map(|symbol| nested(&known, symbol)).collect()))
    }

    /// The definitions of the workspace whose names contain a text, capital or small.
    pub fn workspace_symbols(&mut self, params: &WorkspaceSymbolParams) -> Vec<SymbolInformation> {
        let query = params.query.to_lowercase();
        let is_wanted = |defined: &&Defined| defined.symbol.name.to_lowercase().contains(&query);
        let mut found: Vec<SymbolInformation> = vec![];
        for url in self.open_documents() {
            let document = self.documents.get(&url).filter(|document| document.language == Language::Bend);
            let defined = document.map_or(vec![], |document| defined_in(&url, &document.text));
            found.extend(defined.iter().filter(is_wanted).map(information));
        }
        for (path, _) in self.closed_files() {
            found.extend(self.workspace.defined(&path).iter().filter(is_wanted).map(information));
        }
        found
    }

    /// The inferred types in a range of a document.
    pub fn inlays(&mut self, params: &InlayHintParams) -> Option<Vec<InlayHint>> {
        let url = &params.text_document.uri;
        let known = self.known(url).filter(|_| self.prelude.topic(url).is_none())?;
        let inlays = known.analysis.inlays(MAIN).into_iter().map(|inlay| InlayHint {
            position: known.range(inlay.at).start,
            label: InlayHintLabel::String(inlay.text),
            kind: Some(InlayHintKind::TYPE),
            text_edits: None,
            tooltip: None,
            padding_left: None,
            padding_right: None,
            data: None,
        });
        let is_inside = |hint: &InlayHint| params.range.start <= hint.position && hint.position <= params.range.end;
        Some(inlays.filter(is_inside).collect())
    }
}

#[allow(deprecated, reason = "the type has a field that is deprecated, and no other way to make it")]
fn nested(known: &Known, symbol: &Symbol) -> DocumentSymbol {
    let children: Vec<_> = symbol.children.iter().map(|child| nested(known, child)).collect();
    DocumentSymbol {
        name: symbol.name.to_string(),
        detail: None,
        kind: kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: known.range(symbol.span.to(symbol.name_span)),
        selection_range: known.range(symbol.name_span),
        children: (!children.is_empty()).then_some(children),
    }
}

#[allow(deprecated, reason = "the type has a field that is deprecated, and no other way to make it")]
fn information(defined: &Defined) -> SymbolInformation {
    let Defined { symbol, location } = defined;
    SymbolInformation {
        name: symbol.name.to_string(),
        kind: kind(symbol.kind),
        tags: None,
        deprecated: None,
        location: location.clone(),
        container_name: None,
    }
}

fn kind(kind: Kind) -> SymbolKind {
    match kind {
        Kind::Function => SymbolKind::FUNCTION,
        Kind::Type => SymbolKind::ENUM,
        Kind::Constructor => SymbolKind::ENUM_MEMBER,
        Kind::Field => SymbolKind::FIELD,
    }
}

//! Requests about what is being written: what can stand here, and which parameter comes next.

use crate::files::Buffers;
use crate::known::options;
use crate::navigation::Place;
use crate::server::Server;
use girih_base::span::Span;
use girih_bend::analysis::MAIN;
use girih_bend::analysis::completion::{Candidate, Kind, complete};
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionResponse, CompletionTextEdit, Documentation, MarkupContent,
    MarkupKind, ParameterInformation, ParameterLabel, SignatureHelp, SignatureInformation, TextDocumentPositionParams,
    TextEdit,
};

impl Server<'_> {
    /// What can be written at a place.
    pub fn completion(&mut self, params: &TextDocumentPositionParams) -> Option<CompletionResponse> {
        let Place { known, source, at } = self.place(params)?;
        if source != MAIN {
            return None;
        }
        let loader = Buffers::new(&self.documents, &params.text_document.uri)?;
        let completion = complete(&loader, &options(), at);
        let range = known.range(Span::new(MAIN, completion.start, at));
        let item = |(order, candidate): (usize, Candidate)| CompletionItem {
            kind: Some(kind(candidate.kind)),
            detail: candidate.detail,
            // Editors sort by the alphabet unless they are told: local names come first.
            sort_text: Some(format!("{order:05}")),
            filter_text: Some(candidate.text.clone()),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(range, candidate.text.clone()))),
            label: candidate.text,
            ..CompletionItem::default()
        };
        Some(CompletionResponse::Array(completion.candidates.into_iter().enumerate().map(item).collect()))
    }

    /// The call around a place.
    pub fn signature_help(&mut self, params: &TextDocumentPositionParams) -> Option<SignatureHelp> {
        let Place { known, source, at } = self.place(params)?;
        let signature = known.analysis.signature(source, at)?;
        let units = |byte: usize| signature.label[..byte].encode_utf16().count() as u32;
        let parameters = signature.parameters.iter().map(|(start, end)| ParameterInformation {
            label: ParameterLabel::LabelOffsets([units(*start), units(*end)]),
            documentation: None,
        });
        let parameters = parameters.collect();
        let documentation = signature
            .comment
            .clone()
            .map(|value| Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value }));
        let active = Some(signature.active as u32);
        let information = SignatureInformation {
            label: signature.label,
            documentation,
            parameters: Some(parameters),
            active_parameter: active,
        };
        Some(SignatureHelp { signatures: vec![information], active_signature: Some(0), active_parameter: active })
    }
}

fn kind(kind: Kind) -> CompletionItemKind {
    match kind {
        Kind::Variable => CompletionItemKind::VARIABLE,
        Kind::Field => CompletionItemKind::FIELD,
        Kind::Function => CompletionItemKind::FUNCTION,
        Kind::Constructor => CompletionItemKind::CONSTRUCTOR,
        Kind::Type => CompletionItemKind::CLASS,
        Kind::Keyword => CompletionItemKind::KEYWORD,
        Kind::File => CompletionItemKind::FILE,
    }
}

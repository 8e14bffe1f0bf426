//! Errors and warnings as the protocol has them: the place to blame, the sentence with its hint, and the other places as related information.
//!
//! What is wrong in a file that the document imports is said at the import that leads there, with the place itself as related information.

use crate::known::Known;
use crate::server::Server;
use girih::{Code, Diagnostic, Severity, Span};
use girih_base::diag::Fix;
use girih_bend::analysis::MAIN;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, DiagnosticRelatedInformation,
    DiagnosticSeverity, DiagnosticTag, Location, NumberOrString, Range, TextEdit, Url, WorkspaceEdit,
};
use std::collections::HashMap;

impl Server<'_> {
    /// What is wrong with a document.
    pub fn diagnostics(&mut self, url: &Url) -> Vec<lsp_types::Diagnostic> {
        let Some(known) = self.known(url) else { return vec![] };
        let diagnostics = known.analysis.diagnostics.iter();
        diagnostics.map(|diagnostic| self.diagnostic(&known, diagnostic)).collect()
    }

    fn diagnostic(&self, known: &Known, diagnostic: &Diagnostic) -> lsp_types::Diagnostic {
        let span = diagnostic.span();
        let is_here = span.source == MAIN;
        let mut message = diagnostic.message.clone();
        if let Some(at) = diagnostic.labels.first().filter(|label| !label.text.is_empty()) {
            message.push_str(&format!(": {}", at.text));
        }
        if let Some(hint) = &diagnostic.hint {
            message.push_str(&format!("\nhint: {hint}"));
        }
        let others = diagnostic.labels.iter().skip(usize::from(is_here));
        let related = others.filter_map(|label| {
            let message = if label.text.is_empty() { diagnostic.message.clone() } else { label.text.clone() };
            Some(DiagnosticRelatedInformation { location: self.location(known, label.span)?, message })
        });
        let related: Vec<_> = related.collect();
        lsp_types::Diagnostic {
            range: if is_here { known.range(span) } else { import_of(known, span) },
            severity: Some(match diagnostic.severity {
                Severity::Error => DiagnosticSeverity::ERROR,
                Severity::Warning => DiagnosticSeverity::WARNING,
            }),
            code: Some(NumberOrString::String(diagnostic.code.as_str().to_owned())),
            source: Some("girih".to_owned()),
            message,
            related_information: (!related.is_empty()).then_some(related),
            tags: is_unnecessary(diagnostic.code).then(|| vec![DiagnosticTag::UNNECESSARY]),
            ..lsp_types::Diagnostic::default()
        }
    }

    /// The place of a span; the prelude's are in its files.
    pub fn location(&self, known: &Known, span: Span) -> Option<Location> {
        let url = match known.analysis.prelude_file(span.source) {
            Some(topic) => self.prelude.url(topic)?,
            None => crate::files::url_of(&known.analysis.sources.get(span.source)?.name)?,
        };
        Some(Location::new(url, known.range(span)))
    }

    /// The changes that do what hints say, for the errors that a range touches.
    pub fn fixes(&mut self, params: CodeActionParams) -> Option<Vec<CodeActionOrCommand>> {
        let url = params.text_document.uri;
        let known = self.known(&url)?;
        let touches = |range: Range| range.start <= params.range.end && params.range.start <= range.end;
        let here =
            known.analysis.diagnostics.iter().filter(|d| d.span().source == MAIN && touches(known.range(d.span())));
        let action = |diagnostic: &Diagnostic, fix: &Fix| {
            let edit = TextEdit::new(known.range(fix.span), fix.text.clone());
            let old = known.analysis.sources.snippet(fix.span);
            CodeActionOrCommand::CodeAction(CodeAction {
                title: format!("Write `{}` instead of `{old}`", fix.text),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![self.diagnostic(&known, diagnostic)]),
                edit: Some(WorkspaceEdit::new(HashMap::from([(url.clone(), vec![edit])]))),
                is_preferred: Some(true),
                ..CodeAction::default()
            })
        };
        let fixed = here.filter_map(|diagnostic| Some(action(diagnostic, diagnostic.fix.as_ref()?)));
        Some(fixed.collect())
    }
}

/// Where the document imports the file of a span; its first line if that file is imported by another one, or if there is no place at all.
fn import_of(known: &Known, span: Span) -> Range {
    known.analysis.import_of(span.source).map_or(Range::default(), |import| known.range(import))
}

/// Whether a warning is about something that could be left out.
fn is_unnecessary(code: Code) -> bool {
    [Code::UnusedDefinition, Code::UnreachableMatch, Code::RedundantMatch, Code::UnreachableStatement].contains(&code)
}

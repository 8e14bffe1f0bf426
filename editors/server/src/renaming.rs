//! Requests to change a name. A name changes in all programs of the workspace, or, with a reason, in none.

use crate::files::Buffers;
use crate::known::options;
use crate::navigation::Place;
use crate::server::Server;
use crate::workspace::FILES_LIMIT;
use girih_bend::analysis::Target;
use lsp_types::{PrepareRenameResponse, RenameParams, TextDocumentPositionParams, TextEdit, WorkspaceEdit};
use std::collections::HashMap;

impl Server<'_> {
    /// The name that would be changed, or why it cannot be.
    pub fn prepare_rename(
        &mut self,
        params: &TextDocumentPositionParams,
    ) -> Result<Option<PrepareRenameResponse>, String> {
        let Some(Place { known, source, at }) = self.place(params) else { return Ok(None) };
        let (span, _) = known.analysis.renamable(source, at)?;
        let placeholder = known.analysis.sources.snippet(span).to_owned();
        Ok(Some(PrepareRenameResponse::RangeWithPlaceholder { range: known.range(span), placeholder }))
    }

    /// The changes that give a name another spelling, or why that cannot be.
    pub fn rename(&mut self, params: &RenameParams) -> Result<Option<WorkspaceEdit>, String> {
        // Edits at places of texts that others have changed since would damage these; not every editor tells of such changes.
        self.knowledge.clear();
        let Some(Place { known, source, at }) = self.place(&params.text_document_position) else { return Ok(None) };
        let (_, target) = known.analysis.renamable(source, at)?;
        let mut changes: HashMap<_, Vec<TextEdit>> = HashMap::new();
        let is_local = matches!(target, Target::Local(_));
        if !is_local && self.workspace.files().is_cut {
            return Err(format!(
                "the workspace has more than {FILES_LIMIT} Bend files, so some uses of the name might be missed: open a smaller folder"
            ));
        }
        for (known, target) in self.everywhere(&known, target) {
            let definition = known.analysis.definition(target);
            let main = known.analysis.sources.iter().next().and_then(|main| crate::files::url_of(&main.name));
            let loader = main.and_then(|main| Buffers::new(&self.documents, &main));
            let Some(loader) = loader else { continue };
            let edits = known.analysis.rename(
                &loader,
                &options(),
                definition.source,
                definition.start as usize,
                &params.new_name,
            )?;
            for edit in edits {
                let Some(place) = self.location(&known, edit.span) else { continue };
                let edits = changes.entry(place.uri).or_default();
                let edit = TextEdit::new(place.range, edit.text);
                if !edits.contains(&edit) {
                    edits.push(edit);
                }
            }
        }
        Ok(Some(WorkspaceEdit::new(changes)))
    }
}

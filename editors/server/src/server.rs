//! The life of a session. Messages are taken in the order in which they come; what is wrong with documents is reported when no message
//! waits, so that somebody who types fast does not wait for reports about texts that are gone.
//!
//! Invariant: every request gets one answer, also one that is unknown, cancelled, malformed, or out of turn.

use crate::documents::Documents;
use crate::known::{Knowledge, Known};
use crate::prelude::PreludeFiles;
use crate::workspace::{FILES_LIMIT, Workspace};
use lsp_server::{Connection, ErrorCode, ExtractError, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{self, Notification as _};
use lsp_types::request::{self, Request as _};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CompletionOptions, Diagnostic, InitializeParams,
    LogMessageParams, MessageType, OneOf, PublishDiagnosticsParams, RenameOptions, ServerCapabilities,
    ShowMessageParams, SignatureHelpOptions, TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions,
    Url,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;

/// A session with an editor.
pub struct Server<'c> {
    connection: &'c Connection,
    pub(crate) documents: Documents,
    pub(crate) prelude: PreludeFiles,
    pub(crate) knowledge: Knowledge,
    pub(crate) workspace: Workspace,
    /// Whether the user knows that the workspace has more files than are looked at.
    is_cut_known: bool,
    /// Documents about which there may be something new to report, the one that is being edited first.
    unreported: VecDeque<Url>,
    waiting: VecDeque<Message>,
    is_shut_down: bool,
}

/// Why a request has no result.
struct Refused {
    code: ErrorCode,
    message: String,
}

impl Refused {
    /// What the user asked for cannot be done, for this reason.
    fn because(message: String) -> Refused {
        Refused { code: ErrorCode::RequestFailed, message }
    }
}

type Answer = Result<Value, Refused>;

/// Serves an editor until it says that it is done.
///
/// # Errors
/// A plain sentence: the editor went away without a word, or began otherwise than the protocol says.
pub fn serve(connection: &Connection) -> Result<(), String> {
    let (id, params) = connection.initialize_start().map_err(|error| format!("the session does not begin: {error}"))?;
    let params: InitializeParams = match serde_json::from_value(params) {
        Ok(params) => params,
        Err(error) => {
            let message = format!("the parameters of `initialize` are wrong: {error}");
            let answer = Response::new_err(id, ErrorCode::InvalidParams as i32, message.clone());
            // If the other side is gone, nobody is there to be told.
            let _ = connection.sender.send(answer.into());
            return Err(message);
        }
    };
    let about = json!({"name": "girih", "version": env!("CARGO_PKG_VERSION")});
    let answer = json!({"capabilities": capabilities(), "serverInfo": about});
    connection.initialize_finish(id, answer).map_err(|error| format!("the session does not begin: {error}"))?;
    let mut server = Server {
        connection,
        documents: Documents::default(),
        prelude: PreludeFiles::new(),
        knowledge: Knowledge::default(),
        workspace: Workspace::new(roots(&params)),
        is_cut_known: false,
        unreported: VecDeque::new(),
        waiting: VecDeque::new(),
        is_shut_down: false,
    };
    server.run()
}

/// What the server can do.
fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            ..TextDocumentSyncOptions::default()
        })),
        hover_provider: Some(true.into()),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: Default::default(),
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![".".to_owned(), "/".to_owned()]),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: Some(vec!["(".to_owned(), ",".to_owned(), " ".to_owned()]),
            ..SignatureHelpOptions::default()
        }),
        inlay_hint_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        ..ServerCapabilities::default()
    }
}

#[allow(deprecated, reason = "editors that know no workspace folders name the one folder")]
fn roots(params: &InitializeParams) -> Vec<PathBuf> {
    let folders = params.workspace_folders.iter().flatten().map(|folder| &folder.uri);
    let mut roots: Vec<PathBuf> = folders.filter_map(|url| url.to_file_path().ok()).collect();
    if roots.is_empty() {
        roots.extend(params.root_uri.iter().filter_map(|url| url.to_file_path().ok()));
    }
    roots
}

impl Server<'_> {
    fn run(&mut self) -> Result<(), String> {
        loop {
            self.waiting.extend(self.connection.receiver.try_iter());
            let message = match self.waiting.pop_front() {
                Some(message) => message,
                None if !self.unreported.is_empty() => {
                    self.report_next()?;
                    continue;
                }
                None => {
                    self.connection.receiver.recv().map_err(|_| "the editor went away without `exit`".to_owned())?
                }
            };
            match message {
                Message::Request(request) => self.request(request)?,
                Message::Notification(notification) if notification.method == notification::Exit::METHOD => {
                    return if self.is_shut_down {
                        Ok(())
                    } else {
                        Err("the editor sent `exit` without `shutdown`".to_owned())
                    };
                }
                Message::Notification(notification) => {
                    let method = notification.method.clone();
                    if guarded(|| self.notification(notification)).is_none() {
                        self.log(&format!("`{method}` was not taken in whole"))?;
                    }
                }
                // The server asks nothing.
                Message::Response(_) => {}
            }
        }
    }

    fn send(&self, message: impl Into<Message>) -> Result<(), String> {
        self.connection.sender.send(message.into()).map_err(|_| "the editor reads no more messages".to_owned())
    }

    /// What is known about a document.
    pub(crate) fn known(&mut self, url: &Url) -> Option<Rc<Known>> {
        self.knowledge.of(&self.documents, url)
    }

    /// The Bend documents that are open, without parts of the prelude.
    pub(crate) fn open_documents(&self) -> BTreeSet<Url> {
        let open = self.documents.iter().map(|(url, _)| url).filter(|url| self.prelude.topic(url).is_none());
        open.cloned().collect()
    }

    /// The Bend files of the workspace that are not open. The user is told once if there are more than are looked at.
    pub(crate) fn closed_files(&mut self) -> Vec<(PathBuf, Url)> {
        let files = self.workspace.files();
        if files.is_cut && !std::mem::replace(&mut self.is_cut_known, true) {
            self.show(format!(
                "The workspace has more than {FILES_LIMIT} Bend files. References and symbols are looked for in {FILES_LIMIT} of them: open a smaller folder."
            ));
        }
        let open = self.open_documents();
        let with_url = |path: PathBuf| Url::from_file_path(&path).ok().map(|url| (path, url));
        files.paths.into_iter().filter_map(with_url).filter(|(_, url)| !open.contains(url)).collect()
    }

    /// Says something to the user. If the editor is gone, nobody is there to be told, and the next answer finds it out.
    fn show(&self, message: String) {
        let params = ShowMessageParams { typ: MessageType::WARNING, message };
        let _ = self.send(Notification::new(notification::ShowMessage::METHOD.to_owned(), params));
    }

    /// Reports what is wrong with one of the documents that may have changed.
    fn report_next(&mut self) -> Result<(), String> {
        let Some(url) = self.unreported.pop_front() else { return Ok(()) };
        self.report(url, Self::diagnostics)
    }

    /// Reports what is wrong with a document. If that cannot be found out for a mistake of ours, the editor keeps what it shows.
    fn report(&mut self, url: Url, find: impl FnOnce(&mut Self, &Url) -> Vec<Diagnostic>) -> Result<(), String> {
        let version = self.documents.get(&url).map(|document| document.version);
        let diagnostics = match version {
            Some(_) if self.prelude.topic(&url).is_none() => match guarded(|| find(self, &url)) {
                Some(diagnostics) => diagnostics,
                None => return self.log(&format!("what is wrong with {url} was not found out")),
            },
            // A part of the prelude is no program of its own; a closed document has nothing wrong.
            _other => vec![],
        };
        let params = PublishDiagnosticsParams::new(url, diagnostics, version);
        self.send(Notification::new(notification::PublishDiagnostics::METHOD.to_owned(), params))
    }

    /// Writes into the editor's log what a mistake of the server has prevented.
    fn log(&self, prevented: &str) -> Result<(), String> {
        let message =
            format!("{prevented}, because of a mistake of the server, which goes on; its standard error says where");
        let params = LogMessageParams { typ: MessageType::ERROR, message };
        self.send(Notification::new(notification::LogMessage::METHOD.to_owned(), params))
    }

    fn request(&mut self, request: Request) -> Result<(), String> {
        let Request { id, method, params } = request;
        let answer = if self.is_cancelled(&id) {
            Err(Refused { code: ErrorCode::RequestCanceled, message: "the request was cancelled".to_owned() })
        } else if self.is_shut_down {
            Err(Refused { code: ErrorCode::InvalidRequest, message: "the session is shut down".to_owned() })
        } else {
            guarded(|| self.answer(&method, params)).unwrap_or_else(|| {
                let message =
                    format!("`{method}` met a mistake of the server, which goes on; its standard error says where");
                Err(Refused { code: ErrorCode::InternalError, message })
            })
        };
        self.send(match answer {
            Ok(result) => Response::new_ok(id, result),
            Err(Refused { code, message }) => Response::new_err(id, code as i32, message),
        })
    }

    /// The one table of requests.
    fn answer(&mut self, method: &str, params: Value) -> Answer {
        match method {
            request::Shutdown::METHOD => {
                self.is_shut_down = true;
                Ok(Value::Null)
            }
            request::HoverRequest::METHOD => {
                let params: lsp_types::HoverParams = read(params)?;
                written(&self.hover(&params.text_document_position_params))
            }
            request::GotoDefinition::METHOD => {
                let params: lsp_types::GotoDefinitionParams = read(params)?;
                written(&self.definition(&params.text_document_position_params))
            }
            request::References::METHOD => written(&self.references(&read(params)?)),
            request::DocumentHighlightRequest::METHOD => {
                let params: lsp_types::DocumentHighlightParams = read(params)?;
                written(&self.highlights(&params.text_document_position_params))
            }
            request::PrepareRenameRequest::METHOD => {
                written(&self.prepare_rename(&read(params)?).map_err(Refused::because)?)
            }
            request::Rename::METHOD => written(&self.rename(&read(params)?).map_err(Refused::because)?),
            request::Completion::METHOD => {
                let params: lsp_types::CompletionParams = read(params)?;
                written(&self.completion(&params.text_document_position))
            }
            request::SignatureHelpRequest::METHOD => {
                let params: lsp_types::SignatureHelpParams = read(params)?;
                written(&self.signature_help(&params.text_document_position_params))
            }
            request::DocumentSymbolRequest::METHOD => {
                let params: lsp_types::DocumentSymbolParams = read(params)?;
                written(&self.symbols(&params.text_document.uri))
            }
            request::WorkspaceSymbolRequest::METHOD => written(&self.workspace_symbols(&read(params)?)),
            request::InlayHintRequest::METHOD => written(&self.inlays(&read(params)?)),
            request::CodeActionRequest::METHOD => written(&self.fixes(read(params)?)),
            request::Formatting::METHOD => {
                let params: lsp_types::DocumentFormattingParams = read(params)?;
                written(&self.formatted(&params.text_document.uri))
            }
            _unknown => {
                let message = format!("there is no request `{method}`");
                Err(Refused { code: ErrorCode::MethodNotFound, message })
            }
        }
    }

    /// The one table of notifications. One that is unknown or malformed is left alone, since notifications have no answers.
    fn notification(&mut self, notification: Notification) {
        let notification = match cast::<notification::DidOpenTextDocument>(notification) {
            Ok(params) => {
                let document = params.text_document;
                self.documents.open(document.uri.clone(), &document.language_id, document.version, document.text);
                return self.changed(document.uri);
            }
            Err(notification) => notification,
        };
        let notification = match cast::<notification::DidChangeTextDocument>(notification) {
            Ok(params) => {
                let document = params.text_document;
                self.documents.change(&document.uri, document.version, params.content_changes);
                return self.changed(document.uri);
            }
            Err(notification) => notification,
        };
        let notification = match cast::<notification::DidCloseTextDocument>(notification) {
            Ok(params) => {
                self.documents.close(&params.text_document.uri);
                return self.changed(params.text_document.uri);
            }
            Err(notification) => notification,
        };
        match notification.method.as_str() {
            notification::DidSaveTextDocument::METHOD | notification::DidChangeWatchedFiles::METHOD => {
                self.knowledge.clear();
                self.unreported = self.documents.iter().map(|(url, _)| url.clone()).collect();
            }
            _other => {}
        }
    }

    /// Forgets what may be different, and remembers to report it.
    fn changed(&mut self, url: Url) {
        let stale = self.knowledge.forget(&url);
        self.unreported.retain(|waiting| !stale.contains(waiting) && *waiting != url);
        let others = stale.into_iter().filter(|stale| *stale != url && self.documents.get(stale).is_some());
        self.unreported.extend(others);
        self.unreported.push_front(url);
    }

    /// Whether a message that waits cancels a request.
    fn is_cancelled(&self, id: &RequestId) -> bool {
        self.waiting.iter().any(|message| match message {
            Message::Notification(Notification { method, params }) if method == notification::Cancel::METHOD => {
                serde_json::from_value::<RequestId>(params["id"].clone()).is_ok_and(|cancelled| cancelled == *id)
            }
            _other => false,
        })
    }
}

/// The parameters of a request.
fn read<P: DeserializeOwned>(params: Value) -> Result<P, Refused> {
    let wrong =
        |error| Refused { code: ErrorCode::InvalidParams, message: format!("the parameters are wrong: {error}") };
    serde_json::from_value(params).map_err(wrong)
}

/// The result of a request; nothing is `null`.
fn written(result: &impl serde::Serialize) -> Answer {
    let wrong =
        |error| Refused { code: ErrorCode::InternalError, message: format!("the result cannot be written: {error}") };
    serde_json::to_value(result).map_err(wrong)
}

/// The parameters of a notification of one kind; otherwise the notification, of which nothing is left if they are malformed.
fn cast<N: notification::Notification>(notification: Notification) -> Result<N::Params, Notification> {
    notification.extract(N::METHOD).map_err(|error| match error {
        ExtractError::MethodMismatch(notification) => notification,
        ExtractError::JsonError { method, .. } => Notification { method, params: Value::Null },
    })
}

/// Does something; none if it panics, which is a mistake of ours. The session goes on.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(connection: &Connection) -> Server<'_> {
        Server {
            connection,
            documents: Documents::default(),
            prelude: PreludeFiles::new(),
            knowledge: Knowledge::default(),
            workspace: Workspace::default(),
            is_cut_known: false,
            unreported: VecDeque::new(),
            waiting: VecDeque::new(),
            is_shut_down: false,
        }
    }

    #[test]
    fn a_mistake_of_the_server_clears_no_diagnostics() {
        let (connection, editor) = Connection::memory();
        let mut server = server(&connection);
        let url = Url::parse("untitled:a.bend").expect("it is a URL");
        server.documents.open(url.clone(), "bend", 1, "def main():\n  return x\n".to_owned());
        server.report(url.clone(), |_, _| panic!("a mistake of ours")).expect("the session goes on");
        server.report(url, |_, _| vec![Diagnostic::default()]).expect("the session goes on");
        drop(server);
        drop(connection);
        let methods: Vec<String> = editor
            .receiver
            .iter()
            .map(|message| match message {
                Message::Notification(notification) => notification.method,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(methods, ["window/logMessage", "textDocument/publishDiagnostics"]);
    }
}

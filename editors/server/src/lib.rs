//! The language server: answers what editors ask about Bend programs, by the Language Server Protocol, and reports what is wrong with
//! Bend programs, kernels of the IR (`.gir`) and nets (`.hvm`) while they are written.
//!
//! What is known about a program comes from [`girih_bend::analysis`], which reads no files; this crate adds the protocol, files and open
//! buffers. Invariant: a buffer that is open in the editor counts, not its file.
//!
//! | module | its idea |
//! |---|---|
//! | [`server`] | the life of a session: which message is answered when, and by whom |
//! | [`documents`] | the open buffers, and how edits change them |
//! | [`positions`] | bytes of a text, and lines with UTF-16 columns |
//! | [`files`] | where sources come from, and how they are named in the protocol |
//! | [`prelude`] | the prelude as read-only files, so that every editor can show them |
//! | [`known`] | what is known about a document |
//! | [`workspace`] | the files that no editor has open, and what they define |
//! | [`diagnostics`] | errors and warnings, with their fixes |
//! | [`navigation`], [`renaming`], [`writing`], [`overview`], [`formatting`] | requests about a name, about a new name, about what is being written, about a whole file, and its layout |

mod diagnostics;
mod documents;
mod files;
mod formatting;
mod known;
mod navigation;
mod overview;
mod positions;
mod prelude;
mod renaming;
mod server;
mod workspace;
mod writing;

use lsp_server::Connection;

/// Serves an editor on standard input and output, until it says that it is done.
///
/// # Errors
/// A plain sentence: the other side broke the protocol, or went away without a word.
pub fn serve() -> Result<(), String> {
    let (connection, threads) = Connection::stdio();
    let served = girih::on_big_stack(|| server::serve(&connection));
    drop(connection);
    match (served, threads.join()) {
        (Ok(()), Ok(())) => Ok(()),
        // What the streams say is the reason why the conversation ended.
        (_, Err(error)) => Err(format!("the messages of the editor cannot be read: {error}")),
        (Err(error), Ok(())) => Err(error),
    }
}

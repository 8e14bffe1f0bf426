//! The integration tests of `girih-cli`, in one program.

mod commands;
mod lsp;
mod neovim;
mod new;
mod playground;
mod processes;
mod terminal;

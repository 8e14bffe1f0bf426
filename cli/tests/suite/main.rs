//! The integration tests of `girih-cli`, in one program.

mod commands;
mod doc;
mod lsp;
mod neovim;
mod new;
mod pages;
mod playground;
mod processes;
mod profile;
mod terminal;

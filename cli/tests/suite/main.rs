//! The integration tests of `girih-cli`, in one program.

mod commands;
mod playground;
mod processes;

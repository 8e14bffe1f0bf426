//! stub
use crate::{console::Console, exit::Exit};
/// x
#[derive(Debug, clap::Args)]
pub struct Render {
    file: std::path::PathBuf,
}
impl Render {
    pub fn run(&self, _c: &Console) -> Exit {
        let _ = &self.file;
        Exit::Ok
    }
}

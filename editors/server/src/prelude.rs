//! The prelude as files. It is a part of the program `girih`; editors show files. So it is written into a folder of the user's cache
//! when a definition of it is first looked up, read-only, and named by what it says: two versions do not meet.

use girih_base::hash::Mixer;
use girih_bend::prelude::FILES;
use lsp_types::Url;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

/// The folder with the prelude's files.
#[derive(Debug)]
pub struct PreludeFiles {
    folder: PathBuf,
}

impl PreludeFiles {
    /// The folder for this version of the prelude. Nothing is written yet.
    pub fn new() -> PreludeFiles {
        let cache = girih::devices::cache_folder().unwrap_or_else(|| std::env::temp_dir().join("girih"));
        let mut digest = Mixer::default();
        for (name, text) in FILES {
            digest.write(name.as_bytes());
            digest.write(text.as_bytes());
        }
        PreludeFiles { folder: cache.join("prelude").join(format!("{:016x}", digest.finish())) }
    }

    /// The document of a topic of the prelude, for example `list`; none if it cannot be written.
    pub fn url(&self, topic: &str) -> Option<Url> {
        let (_, text) = FILES.iter().find(|(name, _)| *name == topic)?;
        let path = topic.split('/').fold(self.folder.clone(), |path, part| path.join(part)).with_extension("bend");
        if std::fs::read_to_string(&path).ok().as_deref() != Some(text) {
            write(&path, text).ok()?;
        }
        Url::from_file_path(path).ok()
    }

    /// The topic that a document is, if it is a part of the prelude.
    pub fn topic(&self, url: &Url) -> Option<&'static str> {
        let path = url.to_file_path().ok()?;
        let topic = path.strip_prefix(&self.folder).ok()?.with_extension("");
        let topic = topic.to_str()?.replace(std::path::MAIN_SEPARATOR, "/");
        FILES.iter().map(|(name, _)| *name).find(|name| *name == topic)
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    if path.exists() {
        std::fs::remove_file(path)?;
    }
    girih::atomic_file::write_bytes(path, text)?;
    let mut permissions = std::fs::metadata(path)?.permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(path, permissions)
}

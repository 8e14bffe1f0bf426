//! A folder of files, each named by what it was made from.
//!
//! Invariant: the folder holds at most [`LIMIT`] bytes after each file that is written, and a key is found only where all that it was made from is the same.

use crate::{DIGEST, file};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes that the folder holds at most; the files that were written first go.
const LIMIT: u64 = 256 << 20;

/// A folder.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// What all that is kept depends on: who has made it, and for which device.
    context: String,
}

/// What something is named by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key([u8; DIGEST]);

impl Key {
    /// The key of these bytes, which [`as_ref`](Key::as_ref) gave; none if they are not as many.
    pub fn from_bytes(bytes: &[u8]) -> Option<Key> {
        bytes.try_into().ok().map(Key)
    }
}

impl AsRef<[u8]> for Key {
    /// A digest of the context and the parts.
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Cache {
    /// The cache of one kind of things, for one context, in a folder, which need not be there yet.
    pub fn new(folder: &Path, kind: &str, context: String) -> Cache {
        Cache { folder: folder.join(kind), context }
    }

    /// The key of what is made from these parts.
    pub fn key(&self, parts: &[&[u8]]) -> Key {
        let mut hash = Sha256::new();
        for part in std::iter::once(self.context.as_bytes()).chain(parts.iter().copied()) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Key(hash.finalize().into())
    }

    /// What is kept under a key, if it is there and whole.
    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        file::read(&self.path(key))
    }

    /// Keeps something.
    pub fn put(&self, key: Key, code: &[u8]) {
        if file::write(&self.path(key), code).is_ok() {
            self.prune();
        }
    }

    fn path(&self, key: Key) -> PathBuf {
        self.folder.join(format!("{}.kept", hex(&key.0)))
    }

    /// Removes the oldest files beyond the limit.
    fn prune(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let about = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
                Some((about.modified().ok()?, about.len(), entry.path()))
            })
            .collect();
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        files.sort();
        for (_, size, path) in files {
            if bytes <= LIMIT {
                return;
            }
            let _ = std::fs::remove_file(path);
            bytes -= size;
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(folder: &Path, context: &str) -> Cache {
        Cache::new(folder, "things", context.to_owned())
    }
    fn key(cache: &Cache, text: &str) -> Key {
        cache.key(&[text.as_bytes()])
    }

    #[test]
    fn what_is_kept_is_found_by_its_parts_and_its_context() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let old = cache(folder.path(), "driver 580");
        let name = key(&old, "text");
        assert_eq!(old.get(name), None);
        old.put(name, b"code");
        assert_eq!(old.get(name).as_deref(), Some(&b"code"[..]));
        assert_eq!(old.get(key(&old, "other text")), None);
        assert_ne!(old.key(&[b"te", b"xt"]), name, "parts do not run into each other");
        let newer = cache(folder.path(), "driver 590");
        assert_eq!(newer.get(key(&newer, "text")), None);
        assert_eq!(Cache::new(folder.path(), "others", "driver 580".into()).get(name), None);
    }

    #[test]
    fn a_damaged_file_is_as_if_it_were_not_there() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = cache(folder.path(), "driver 580");
        let key = key(&cache, "text");
        for damage in [&b""[..], b"short", &[7; 100]] {
            cache.put(key, b"code");
            std::fs::write(cache.path(key), damage).expect("the file can be written");
            assert_eq!(cache.get(key), None, "{damage:?}");
        }
        let mut whole = [&Sha256::digest(b"code")[..], b"code"].concat();
        whole[DIGEST] ^= 1;
        std::fs::write(cache.path(key), whole).expect("the file can be written");
        assert_eq!(cache.get(key), None);
        cache.put(key, b"code");
        assert_eq!(cache.get(key).as_deref(), Some(&b"code"[..]), "it is written again");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let cache = cache(file.path(), "driver 580");
        cache.put(key(&cache, "text"), b"code");
        assert_eq!(cache.get(key(&cache, "text")), None);
    }

    #[test]
    fn a_file_that_cannot_get_its_name_is_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = cache(folder.path(), "driver 580");
        let key = key(&cache, "text");
        // What stands at its place cannot be replaced by a file.
        std::fs::create_dir_all(cache.path(key).join("inside")).expect("a folder");
        cache.put(key, b"code");
        let left = std::fs::read_dir(&cache.folder).expect("the folder is there").count();
        assert_eq!(left, 1, "only what was there before");
    }

    #[test]
    fn threads_that_keep_the_same_do_not_meet() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = cache(folder.path(), "driver 580");
        let (key, code) = (key(&cache, "text"), vec![7; 100_000]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        cache.put(key, &code);
                        assert_eq!(cache.get(key).as_deref(), Some(&code[..]));
                    }
                });
            }
        });
    }
}

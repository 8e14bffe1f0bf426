//! Machine code that the driver has made, kept in a folder between runs.
//!
//! A file is named by what it was made from (the PTX, the driver, the card) and holds the machine code behind its own digest. Files
//! appear whole or not at all; one that does not match its digest is as if it were not there. A cache that cannot be read or
//! written is no error: it is only slower.

use girih_core::runtime::DeviceInfo;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes that the folder holds at most; the files that were written first go.
const LIMIT: u64 = 256 << 20;
const DIGEST: usize = 32;

/// A folder of machine code.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    /// What distinguishes drivers and cards.
    device: String,
}

/// What machine code is named by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key([u8; DIGEST]);

impl Cache {
    /// The cache of a device in a folder, which need not be there yet.
    pub fn new(folder: &Path, info: &DeviceInfo) -> Cache {
        Cache { folder: folder.join("cuda"), device: format!("{}\n{}\n{}", info.name, info.driver, info.backend) }
    }

    /// The key of a text.
    pub fn key(&self, ptx: &str) -> Key {
        let mut hash = Sha256::new();
        hash.update(self.device.as_bytes());
        hash.update([0]);
        hash.update(ptx.as_bytes());
        Key(hash.finalize().into())
    }

    /// The machine code of a key, if it is there and whole.
    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        let mut file = std::fs::read(self.path(key)).ok()?;
        if file.len() <= DIGEST {
            return None;
        }
        let code = file.split_off(DIGEST);
        (*Sha256::digest(&code) == *file).then_some(code)
    }

    /// Keeps machine code.
    pub fn put(&self, key: Key, code: &[u8]) {
        let written = std::fs::create_dir_all(&self.folder).and_then(|()| {
            // Another process may write the same key; each has a file of its own until the name is given.
            let temporary = self.folder.join(format!("{}.{}.new", hex(&key.0), std::process::id()));
            let whole = [&Sha256::digest(code)[..], code].concat();
            std::fs::write(&temporary, whole)?;
            std::fs::rename(&temporary, self.path(key)).inspect_err(|_| drop(std::fs::remove_file(&temporary)))
        });
        if written.is_ok() {
            self.prune();
        }
    }

    fn path(&self, key: Key) -> PathBuf {
        self.folder.join(format!("{}.cubin", hex(&key.0)))
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
    use girih_core::runtime::DeviceKind;

    fn info(driver: &str) -> DeviceInfo {
        DeviceInfo {
            kind: DeviceKind::Cuda,
            name: "card".into(),
            driver: driver.into(),
            backend: "CUDA 13.0 sm_90".into(),
        }
    }

    #[test]
    fn what_is_kept_is_found_by_text_driver_and_card() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::new(folder.path(), &info("580"));
        let key = cache.key("text");
        assert_eq!(cache.get(key), None);
        cache.put(key, b"code");
        assert_eq!(cache.get(key).as_deref(), Some(&b"code"[..]));
        assert_eq!(cache.get(cache.key("other text")), None);
        let newer = Cache::new(folder.path(), &info("590"));
        assert_eq!(newer.get(newer.key("text")), None);
    }

    #[test]
    fn a_damaged_file_is_as_if_it_were_not_there() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::new(folder.path(), &info("580"));
        let key = cache.key("text");
        for damage in [&b""[..], b"short", &[7; 100]] {
            cache.put(key, b"code");
            std::fs::write(cache.path(key), damage).expect("the file can be written");
            assert_eq!(cache.get(key), None, "{damage:?}");
        }
        let mut whole = [&Sha256::digest(b"code")[..], b"code"].concat();
        whole[DIGEST] ^= 1;
        std::fs::write(cache.path(key), whole).expect("the file can be written");
        assert_eq!(cache.get(key), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let cache = Cache::new(file.path(), &info("580"));
        cache.put(cache.key("text"), b"code");
        assert_eq!(cache.get(cache.key("text")), None);
    }
}

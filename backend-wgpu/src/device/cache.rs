//! The driver's compiled pipelines, kept in a folder between runs.
//!
//! A file holds them behind their own digest, because drivers trust what they are given. Files appear whole or not at all; one that does not match its
//! digest is as if it were not there. A cache that cannot be read, written or used is no error: it is only slower.

use super::health::Health;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};

const DIGEST: usize = 32;

/// The cache of one device.
#[derive(Debug)]
pub struct Cache {
    /// wgpu's cache.
    pub raw: wgpu::PipelineCache,
    path: PathBuf,
    written: usize,
}

impl Cache {
    /// Reads the cache of an adapter from a folder. None where the adapter has no caches, or makes none now.
    pub fn open(device: &wgpu::Device, health: &Health, info: &wgpu::AdapterInfo, folder: &Path) -> Option<Cache> {
        let key = wgpu::util::pipeline_cache_key(info)?;
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        // The driver checks its own version; one file a version, so that two do not overwrite each other's.
        let version: String =
            info.driver_info.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let path = folder.join(format!("{key}_{version}"));
        let kept = read(&path).and_then(|data| Some((make(device, health, Some(&data))?, data.len())));
        let (raw, written) = match kept {
            Some(kept) => kept,
            // Nothing is kept, or the driver does not want it.
            None => (make(device, health, None)?, 0),
        };
        Some(Cache { raw, path, written })
    }

    /// Writes what has been added.
    pub fn save(&mut self) {
        let Some(data) = self.raw.get_data().filter(|d| d.len() != self.written) else { return };
        if write(&self.path, &data).is_ok() {
            self.written = data.len();
        }
    }
}

/// wgpu's cache, with what was kept by an earlier one; none if the driver makes none of it.
fn make(device: &wgpu::Device, health: &Health, data: Option<&[u8]>) -> Option<wgpu::PipelineCache> {
    let made = health.run(device, || {
        let descriptor = wgpu::PipelineCacheDescriptor { label: None, data, fallback: true };
        // SAFETY: data must come from `PipelineCache::get_data` of the same kind of adapter. It comes from a file of this adapter and driver that
        // matches its digest, so it is what `save` wrote, all of it, unless somebody has forged it in the user's own folder; wgpu and
        // the driver compare its header with themselves besides.
        Ok(unsafe { device.create_pipeline_cache(&descriptor) })
    });
    made.ok()
}

/// What a file keeps, if it is there and whole.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut file = std::fs::read(path).ok()?;
    if file.len() <= DIGEST {
        return None;
    }
    let data = file.split_off(DIGEST);
    (*Sha256::digest(&data) == *file).then_some(data)
}

/// Whoever else writes the same file, in this process or another, has one of its own until the name is given; one that is not given its name is removed.
fn write(path: &Path, data: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().suffix(".new").tempfile_in(folder)?;
    file.write_all(&Sha256::digest(data))?;
    file.write_all(data)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_as_if_it_were_not_there() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("inside/driver");
        assert_eq!(read(&path), None);
        write(&path, b"pipelines").expect("the file can be written");
        assert_eq!(read(&path).as_deref(), Some(&b"pipelines"[..]));
        let whole = std::fs::read(&path).expect("it is there");
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).expect("the file can be written");
            assert_eq!(read(&path), None, "byte {at}");
        }
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("the file can be written");
            assert_eq!(read(&path), None, "{length} bytes");
        }
    }

    #[test]
    fn a_file_that_cannot_get_its_name_is_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("driver");
        // What stands at its place cannot be replaced by a file.
        std::fs::create_dir_all(path.join("inside")).expect("a folder");
        assert!(write(&path, b"pipelines").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 1);
    }
}

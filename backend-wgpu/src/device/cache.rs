//! The driver's compiled pipelines, kept in a folder between runs.
//!
//! One [checked file](girih_cache::file) for each adapter and version of its driver. A cache that cannot be read, written or used is no error: it is only slower.

use super::errors::Health;
use girih_cache::file;
use std::path::{Path, PathBuf};

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
        let kept = file::read(&path).and_then(|data| Some((make(device, health, Some(&data))?, data.len())));
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
        if file::write(&self.path, &data).is_ok() {
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

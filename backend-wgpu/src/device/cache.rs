//! The driver's compiled pipelines, kept in a folder between runs.

use super::health::Health;
use girih_core::diag::Diagnostic;
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
    /// Reads the cache of an adapter from a folder. None where the adapter has no caches.
    pub fn open(
        device: &wgpu::Device,
        health: &Health,
        info: &wgpu::AdapterInfo,
        folder: &Path,
    ) -> Result<Option<Cache>, Diagnostic> {
        let key =
            wgpu::util::pipeline_cache_key(info).filter(|_| device.features().contains(wgpu::Features::PIPELINE_CACHE));
        let Some(key) = key else { return Ok(None) };
        // The driver checks its own version; one file a version, so that two do not overwrite each other's.
        let version: String =
            info.driver_info.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let path = folder.join(format!("{key}_{version}"));
        let data = std::fs::read(&path).ok();
        let raw = health.run(device, || {
            let descriptor = wgpu::PipelineCacheDescriptor { label: None, data: data.as_deref(), fallback: true };
            // SAFETY: the data comes from `PipelineCache::get_data`, written by `save` below; wgpu and the driver check its header
            // and start afresh if it belongs to another driver.
            Ok(unsafe { device.create_pipeline_cache(&descriptor) })
        })?;
        Ok(Some(Cache { raw, path, written: data.map_or(0, |d| d.len()) }))
    }

    /// Writes what has been added. A cache that cannot be written is no error: it is only slower the next time.
    pub fn save(&mut self) {
        let Some(data) = self.raw.get_data().filter(|d| d.len() != self.written) else { return };
        let temporary = self.path.with_extension(format!("{}", std::process::id()));
        let folder = self.path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = folder.and_then(|()| std::fs::write(&temporary, &data));
        if written.and_then(|()| std::fs::rename(&temporary, &self.path)).is_ok() {
            self.written = data.len();
        }
    }
}

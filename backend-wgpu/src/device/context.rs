//! A device of wgpu as such: several [`Gpu`]s run kernels on it, and whoever has a window draws with it what these have computed.
//!
//! Invariant: there is one queue. What is submitted later sees what was submitted before, so a buffer that a kernel has filled can be drawn without
//! waiting, and filled again as soon as the drawing has been submitted.

use super::adapters::{self, Adapter};
#[cfg(waits)]
use super::blocking::block_on;
use super::errors::Health;
use super::{Gpu, Settings};
#[cfg(waits)]
use crate::emit::guard;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::{Caps, Feature};
use girih_runtime::{Buffer, DeviceInfo};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(target_arch = "wasm32"))]
use std::time::Duration;

/// An open device of wgpu. Clones are the same device.
#[derive(Clone)]
pub struct Context(Arc<Opened>);

struct Opened {
    adapter: Adapter,
    caps: Caps,
    device: wgpu::Device,
    queue: wgpu::Queue,
    health: Health,
    settings: Settings,
    /// Bytes that the host has read from it.
    read: AtomicU64,
}

/// An instance of wgpu for windows on a display, with what kernels need and nothing that slows them down.
pub fn instance_for(display: Box<dyn wgpu::wgt::WgpuHasDisplayHandle>) -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: adapters::BACKENDS,
        flags: adapters::FLAGS,
        ..wgpu::InstanceDescriptor::new_with_display_handle(display)
    })
}

impl Context {
    /// Opens an adapter, and waits until it is open.
    ///
    /// # Errors
    /// As [`opened`](Context::opened).
    #[cfg(waits)]
    pub fn open(adapter: Adapter, settings: &Settings) -> Result<Context, Diagnostic> {
        let settings = settings.clone();
        guard("wgpu", || block_on(async move { Context::opened(adapter, &settings).await }))
    }

    /// Opens an adapter.
    ///
    /// # Errors
    /// If it does not open. An adapter that can draw but runs no kernels does; then [`gpu`](Context::gpu) says why.
    pub async fn opened(adapter: Adapter, settings: &Settings) -> Result<Context, Diagnostic> {
        let own = adapter.caps.clone();
        let own = if settings.strict { own } else { own.without(Feature::StrictFloats) };
        let caps = settings.profile.as_ref().map_or(own.clone(), |profile| own.within(profile));
        let features = adapter.offer.features_for(&caps);
        let experimental = if features.contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX) {
            // SAFETY: of the experimental features only cooperative matrices are asked for, and kernels reach them through the
            // verifier, which knows the shapes that the adapter has.
            unsafe { wgpu::ExperimentalFeatures::enabled() }
        } else {
            wgpu::ExperimentalFeatures::disabled()
        };
        let descriptor = wgpu::DeviceDescriptor {
            label: None,
            required_features: features,
            required_limits: adapter.offer.limits_for(&caps),
            experimental_features: experimental,
            memory_hints: if adapter.offer.is_software() {
                wgpu::MemoryHints::MemoryUsage
            } else {
                wgpu::MemoryHints::Performance
            },
            trace: wgpu::Trace::Off,
        };
        let (device, queue) = adapter.raw.request_device(&descriptor).await.map_err(|error| {
            let message = format!("the adapter `{}` cannot be opened: {error}", adapter.info.name);
            Diagnostic::new(Code::NoDevice, Span::NONE, message).hint("`girih devices` lists all devices")
        })?;
        let (health, settings) = (Health::watch(&device), settings.clone());
        Ok(Context(Arc::new(Opened { adapter, caps, device, queue, health, settings, read: AtomicU64::new(0) })))
    }

    /// How long a wait may last.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn limit(&self) -> Duration {
        let usual =
            if self.0.adapter.offer.is_software() { Duration::from_secs(3600) } else { Duration::from_secs(300) };
        self.0.settings.limit.unwrap_or(usual)
    }

    /// Opens an adapter of an instance that can draw onto a surface: the one that a selector means, where that is such a one, else the one that the
    /// system prefers.
    ///
    /// # Errors
    /// If there is none, or it does not open.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn for_surface(
        instance: &wgpu::Instance,
        surface: &wgpu::Surface<'_>,
        wanted: Option<&str>,
        settings: &Settings,
    ) -> Result<Context, Diagnostic> {
        let info = wanted.and_then(|selector| adapters::select(selector).ok()).map(|adapter| adapter.offer.info);
        let raw = guard("wgpu", || {
            let all = block_on(instance.enumerate_adapters(wgpu::Backends::all()));
            let fits =
                |raw: &wgpu::Adapter| info.as_ref() == Some(&raw.get_info()) && raw.is_surface_supported(surface);
            if let Some(raw) = all.into_iter().find(fits) {
                return Ok(raw);
            }
            let options = wgpu::RequestAdapterOptions { compatible_surface: Some(surface), ..Default::default() };
            block_on(instance.request_adapter(&options)).map_err(|error| {
                let message = format!("there is no adapter that can draw into the window: {error}");
                Diagnostic::new(Code::NoDevice, Span::NONE, message).hint("install a Vulkan driver")
            })
        })?;
        Context::open(adapters::describe(0, raw), settings)
    }

    /// A device that runs kernels here. It has buffers and programs of its own.
    ///
    /// # Errors
    /// If the adapter runs no kernels, or is lost.
    pub fn gpu(&self) -> Result<Gpu, Diagnostic> {
        match &self.0.adapter.refused {
            Some(refused) => Err(refused.clone()),
            None => Gpu::new(self.clone()),
        }
    }

    /// What the adapter is.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.adapter.info
    }

    /// Why it runs no kernels, if it does not.
    pub fn refused(&self) -> Option<&Diagnostic> {
        self.0.adapter.refused.as_ref()
    }

    /// Whether a selector means this adapter.
    #[cfg(waits)]
    pub fn is(&self, selector: &str) -> bool {
        adapters::select(selector).is_ok_and(|adapter| adapter.offer.info == self.0.adapter.offer.info)
    }

    /// wgpu's adapter, which says what a surface may be.
    pub fn adapter(&self) -> &wgpu::Adapter {
        &self.0.adapter.raw
    }

    /// wgpu's device.
    pub fn device(&self) -> &wgpu::Device {
        &self.0.device
    }

    /// wgpu's queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.0.queue
    }

    /// What has gone wrong since the last time somebody asked; a lost device stays lost.
    ///
    /// # Errors
    /// If something has.
    pub fn check(&self) -> Result<(), Diagnostic> {
        self.0.health.check()
    }

    /// How many bytes the host has read from it.
    pub fn bytes_read(&self) -> u64 {
        self.0.read.load(Ordering::Relaxed)
    }

    /// Leaves device and queue to the process's end: work is on them that may never end, and wgpu waits for it when the queue is dropped.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn abandon(&self) {
        std::mem::forget(self.clone());
    }
    pub(super) fn count_read(&self, bytes: u64) {
        self.0.read.fetch_add(bytes, Ordering::Relaxed);
    }
    pub(super) fn health(&self) -> &Health {
        &self.0.health
    }
    pub(super) fn caps(&self) -> &Caps {
        &self.0.caps
    }
    pub(super) fn settings(&self) -> &Settings {
        &self.0.settings
    }
    pub(super) fn adapter_info(&self) -> &wgpu::AdapterInfo {
        &self.0.adapter.offer.info
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("info", self.info()).finish_non_exhaustive()
    }
}

/// A buffer of a [`Gpu`] that others on its context may read, too. It keeps the memory.
#[derive(Clone)]
pub struct SharedBuffer {
    gpu: Gpu,
    raw: wgpu::Buffer,
    offset: u64,
    buffer: Buffer,
}

impl SharedBuffer {
    pub(super) fn new(gpu: Gpu, raw: wgpu::Buffer, offset: u64, buffer: Buffer) -> SharedBuffer {
        SharedBuffer { gpu, raw, offset, buffer }
    }

    /// wgpu's buffer, which may be larger: for storage, and to copy from.
    pub fn raw(&self) -> &wgpu::Buffer {
        &self.raw
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.buffer.bytes()
    }

    /// Brings it to the host, after all work submitted so far.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<Vec<u8>, Diagnostic> {
        let mut bytes = vec![0; self.bytes().next_multiple_of(4) as usize];
        self.gpu.fetch(None, &mut [(self.raw.clone(), self.offset, &mut bytes)], None)?;
        bytes.truncate(self.bytes() as usize);
        Ok(bytes)
    }
}

impl std::fmt::Debug for SharedBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedBuffer").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

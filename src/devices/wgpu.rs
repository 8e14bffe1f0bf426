//! What wgpu reaches: adapters of Vulkan, Metal and DX12, and the shading languages.

#[cfg(not(target_arch = "wasm32"))]
use super::Selector;
use super::{Found, Sharing, cache_folder};
use girih_base::diag::{Code, Diagnostic, Errors};
use girih_base::span::Span;
use girih_ir::Caps;
use girih_lower::Compiled;
use girih_runtime::{Buffer, Device, DeviceKind};
use std::sync::Arc;

pub use girih_wgpu::{Context, Emitted, Language, SharedBuffer, instance_for};

fn settings() -> girih_wgpu::Settings {
    girih_wgpu::Settings { cache: cache_folder(), ..girih_wgpu::Settings::default() }
}

/// Names the code generator and its device by their sources.
pub const IDENTITY: &str = girih_wgpu::IDENTITY;

/// Opens the adapter of a number or a name, `auto` for the first that is no software, held to a profile if one is given.
///
/// # Errors
/// If there is no such adapter, or it cannot be used.
pub fn open(name: &str, profile: Option<Caps>) -> Result<Device, Diagnostic> {
    Ok(Device::new(girih_wgpu::open_with(name, &girih_wgpu::Settings { profile, ..settings() })?))
}

/// A device of wgpu that draws onto a surface, and on which shaders can run: the adapter that a selector means, if it can draw there.
///
/// # Errors
/// If no adapter can.
#[cfg(not(target_arch = "wasm32"))]
pub fn open_for(
    instance: &girih_wgpu::wgpu::Instance,
    surface: &girih_wgpu::wgpu::Surface<'_>,
    wanted: Option<&Selector>,
) -> Result<Context, Diagnostic> {
    let name = match wanted {
        Some(Selector::Wgpu(name)) => Some(name.as_deref().unwrap_or("auto")),
        _ => None,
    };
    Context::for_surface(instance, surface, name, &settings())
}

/// A device on a screen's adapter, with so many buffers that the screen sees, too. `make` makes one of them, whatever it is, and says which it is.
///
/// # Errors
/// If the device is lost, or does not have the memory.
pub fn sharing<T>(
    screen: &Context,
    count: usize,
    make: impl Fn(&Device) -> Result<(T, Buffer), Diagnostic>,
) -> Result<Sharing<T>, Diagnostic> {
    let gpu = screen.gpu()?;
    let device = Device::new(gpu.clone());
    let made = (0..count).map(|_| {
        let (made, buffer) = make(&device)?;
        Ok((made, Arc::new(gpu.share(&buffer)?)))
    });
    let made = made.collect::<Result<_, Diagnostic>>()?;
    Ok((device, made))
}

/// Which kind of device the adapter of a number or a name is, if it is there.
pub fn kind(name: &str) -> Option<DeviceKind> {
    girih_wgpu::kind(name)
}

/// Legal kernels in a shading language: text, or the words of SPIR-V as bytes, the lowest first.
///
/// # Errors
/// If the language does not have what they need.
pub fn emit(compiled: &Compiled, caps: &Caps, language: Language) -> Result<Vec<u8>, Errors> {
    Ok(girih_wgpu::emit(compiled, caps, language).map(Emitted::bytes)?)
}

/// All adapters, and why there is none.
pub(super) fn find() -> (Vec<Found>, Vec<Diagnostic>) {
    let adapters = girih_wgpu::adapters();
    let message = "wgpu finds no adapter: no driver for Vulkan, Metal or DX12 is installed";
    let missing = adapters.is_empty().then(|| Diagnostic::new(Code::NoDevice, Span::NONE, message));
    let found = adapters.into_iter().enumerate().map(|(i, adapter)| Found {
        name: format!("wgpu:{i}"),
        info: adapter.info,
        caps: adapter.caps,
        problem: adapter.refused,
    });
    (found.collect(), missing.into_iter().collect())
}

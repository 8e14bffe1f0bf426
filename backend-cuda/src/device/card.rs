//! Cards: how many there are, what each is and has.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::driver::{check, start, version};
use crate::ptx::Target;
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::{Caps, Feature};
use girih_runtime::{DeviceInfo, DeviceKind};

/// A card that the driver has.
#[derive(Debug)]
pub(super) struct Card {
    pub device: CUdevice,
    pub info: DeviceInfo,
    pub caps: Caps,
    pub target: Target,
    /// How many workgroups' homes it has.
    pub multiprocessors: u32,
}

/// How many cards there are.
pub(super) fn count() -> Result<usize, Diagnostic> {
    start()?;
    let mut count = 0;
    // SAFETY: the driver has been started; it writes one number.
    check(unsafe { sys::cuDeviceGetCount(&mut count) }, "count its devices")?;
    Ok(count.max(0) as usize)
}

impl Card {
    /// The card of a number.
    pub fn find(ordinal: usize) -> Result<Card, Diagnostic> {
        let count = count()?;
        if ordinal >= count {
            let message = format!("there is no CUDA device {ordinal}: the driver has {count}");
            return Err(Diagnostic::new(Code::NoDevice, Span::NONE, message).hint("`girih devices` lists all devices"));
        }
        let mut device = 0;
        // SAFETY: the driver writes one number, for an ordinal that it has.
        check(unsafe { sys::cuDeviceGet(&mut device, ordinal as i32) }, "open the device")?;
        let has = |attribute| attribute_of(device, attribute);
        use CUdevice_attribute as A;
        let major = has(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = has(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let (name, version) = (name(device)?, version()?);
        let sm = (major * 10 + minor) as u32;
        let Some(target) = Target::of_device(sm) else {
            let message = format!("`{name}` has compute capability {major}.{minor}, but 7.5 or later is needed");
            return Err(Diagnostic::new(Code::NoDevice, Span::NONE, message));
        };
        let mut caps = Caps::cuda(target.sm, target.specific);
        caps.name = format!("sm_{sm}");
        let shared = has(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as u32;
        (caps.shared_bytes, caps.dynamic_shared_bytes) = (shared, shared);
        let memory = total_memory(device)?;
        (caps.buffer_bytes, caps.binding_bytes) = (memory, memory);
        if has(A::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? == 0 {
            caps = caps.without(Feature::CooperativeLaunch);
        }
        let cuda = format!("{}.{}", version / 1000, version % 1000 / 10);
        let info = DeviceInfo {
            kind: DeviceKind::Cuda,
            name,
            driver: driver_version().unwrap_or_else(|| cuda.clone()),
            backend: format!("CUDA {cuda} sm_{sm}"),
        };
        let multiprocessors = has(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.max(1) as u32;
        Ok(Card { device, info, caps, target, multiprocessors })
    }
}

fn attribute_of(device: CUdevice, attribute: CUdevice_attribute) -> Result<i32, Diagnostic> {
    let mut value = 0;
    // SAFETY: the driver writes one number, for a device that it has given.
    check(unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) }, "describe the device")?;
    Ok(value)
}

fn total_memory(device: CUdevice) -> Result<u64, Diagnostic> {
    let mut bytes = 0usize;
    // SAFETY: the driver writes one number, for a device that it has given.
    check(unsafe { sys::cuDeviceTotalMem_v2(&mut bytes, device) }, "tell the device's memory")?;
    Ok(bytes as u64)
}

fn name(device: CUdevice) -> Result<String, Diagnostic> {
    let mut text = [0u8; 256];
    // SAFETY: the driver writes at most as many bytes as it is told that the array has, a zero at the end among them.
    let result = unsafe { sys::cuDeviceGetName(text.as_mut_ptr().cast(), text.len() as i32, device) };
    check(result, "tell the device's name")?;
    let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

/// The version of the driver itself, where the system tells it: two of them may compile differently.
fn driver_version() -> Option<String> {
    let text = std::fs::read_to_string("/sys/module/nvidia/version").ok()?;
    Some(text.trim().to_owned()).filter(|version| !version.is_empty())
}

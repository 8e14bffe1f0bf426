//! Which adapters there are, what they have, and why some cannot be used.

use super::caps::Offer;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::Caps;
use girih_runtime::{DeviceInfo, DeviceKind};
#[cfg(waits)]
use std::sync::OnceLock;

/// Mesa's software driver before this version ends a kernel silently after 65,535 loop iterations an invocation.
const LEAST_MESA: u32 = 25;

/// What is looked for.
#[cfg(not(target_arch = "wasm32"))]
pub(super) const BACKENDS: wgpu::Backends =
    wgpu::Backends::VULKAN.union(wgpu::Backends::METAL).union(wgpu::Backends::DX12);
#[cfg(target_arch = "wasm32")]
pub(super) const BACKENDS: wgpu::Backends = wgpu::Backends::BROWSER_WEBGPU;
/// Validation of indirect calls would put a kernel before each of them.
pub(super) const FLAGS: wgpu::InstanceFlags = wgpu::InstanceFlags::empty();

/// An adapter that was found.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// Its number, by which it can be opened.
    pub index: usize,
    /// What it is.
    pub info: DeviceInfo,
    /// What kernels could use on it.
    pub caps: Caps,
    /// wgpu's names of its features.
    pub features: Vec<String>,
    /// Why it cannot be used, if it cannot.
    pub refused: Option<Diagnostic>,
    pub(super) raw: wgpu::Adapter,
    pub(super) offer: Offer,
}

/// All adapters of an instance, also those that cannot be used: in a browser, the one that it offers.
pub async fn adapters_of(instance: &wgpu::Instance) -> Vec<Adapter> {
    let found = instance.enumerate_adapters(wgpu::Backends::all()).await;
    found.into_iter().enumerate().map(|(index, raw)| describe(index, raw)).collect()
}

/// All adapters of this machine.
#[cfg(waits)]
pub fn adapters() -> Vec<Adapter> {
    static INSTANCE: OnceLock<wgpu::Instance> = OnceLock::new();
    let found = crate::emit::guard("wgpu", || {
        let instance = INSTANCE.get_or_init(|| {
            wgpu::Instance::new(wgpu::InstanceDescriptor {
                backends: BACKENDS,
                flags: FLAGS,
                ..wgpu::InstanceDescriptor::new_without_display_handle()
            })
        });
        Ok(super::blocking::block_on(adapters_of(instance)))
    });
    // A driver that cannot even be asked is as good as none.
    found.unwrap_or_default()
}

/// What an adapter is.
pub(super) fn describe(index: usize, raw: wgpu::Adapter) -> Adapter {
    let offer = Offer::of(&raw);
    let kind = if offer.is_software() { DeviceKind::WgpuSoftware } else { DeviceKind::Wgpu };
    let driver = [&offer.info.driver, &offer.info.driver_info].map(|s| s.trim()).join(" ").trim().to_string();
    // A browser does not have to say what its adapter is.
    let unnamed = |text: String, instead: &str| if text.is_empty() { instead.to_owned() } else { text };
    let info = DeviceInfo {
        kind,
        name: unnamed(offer.info.name.clone(), "an adapter without a name"),
        driver: unnamed(driver, "driver not known"),
        backend: offer.info.backend.to_string(),
    };
    let features = offer.features.iter_names().map(|(name, _)| name.to_ascii_lowercase()).collect();
    let refused = refusal(&offer, &raw.get_downlevel_capabilities());
    Adapter { index, info, caps: offer.caps(), features, refused, raw, offer }
}

/// Why an adapter cannot be used.
fn refusal(offer: &Offer, downlevel: &wgpu::DownlevelCapabilities) -> Option<Diagnostic> {
    let no = |why: String, hint: &str| {
        let message = format!("the adapter `{}` cannot be used: {why}", offer.info.name);
        Some(Diagnostic::new(Code::NoDevice, Span::NONE, message).hint(hint))
    };
    if !downlevel.flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS) {
        return no("it runs no compute kernels".into(), "use another adapter");
    }
    if let Some(mesa) = mesa(&offer.info)
        && offer.is_software()
        && mesa < LEAST_MESA
    {
        let why = format!("Mesa {mesa} ends a kernel silently after 65,535 loop iterations");
        return no(why, "install Mesa 25 or newer (Debian 12: from bookworm-backports)");
    }
    None
}

/// Mesa's major version, if the driver is Mesa's.
fn mesa(info: &wgpu::AdapterInfo) -> Option<u32> {
    let after = info.driver_info.split("Mesa ").nth(1)?;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// What an adapter is that a selector means; none if there is no such adapter, or it cannot be used.
#[cfg(waits)]
pub fn kind(selector: &str) -> Option<DeviceKind> {
    select(selector).ok().map(|adapter| adapter.info.kind)
}

/// The adapter that a selector means: a number, a part of a name, or `auto` for the first that is no software.
#[cfg(waits)]
pub fn select(selector: &str) -> Result<Adapter, Diagnostic> {
    let all = adapters();
    let wanted = selector.trim().to_lowercase();
    let named = |a: &Adapter| {
        let i = &a.info;
        let lavapipe = if i.name.contains("llvmpipe") { "lavapipe" } else { "" };
        [&i.name, &i.driver, &i.backend].iter().any(|s| s.to_lowercase().contains(&wanted)) || lavapipe == wanted
    };
    let chosen = if matches!(wanted.as_str(), "" | "auto") {
        // Direct3D comes last: its compiler has no subgroups, unless a newer one is installed beside it.
        let rank = |a: &&Adapter| (a.refused.is_some(), a.offer.info.backend == wgpu::Backend::Dx12, a.index);
        all.iter().filter(|a| a.info.kind == DeviceKind::Wgpu).min_by_key(rank)
    } else if let Ok(index) = wanted.parse::<usize>() {
        all.get(index)
    } else {
        all.iter().filter(|a| named(a)).min_by_key(|a| a.refused.is_some())
    };
    let Some(adapter) = chosen else {
        let message = match wanted.as_str() {
            "" | "auto" => "wgpu finds no graphics card".to_string(),
            name => format!("wgpu finds no adapter `{name}`"),
        };
        let names: Vec<String> = all.iter().map(|a| format!("{}: {}", a.index, a.info.name)).collect();
        let hint = match &names[..] {
            [] => "install a Vulkan driver".to_string(),
            names => format!(
                "the adapters are: {}; one that computes in software must be named, for example `wgpu:0`",
                names.join(", ")
            ),
        };
        return Err(Diagnostic::new(Code::NoDevice, Span::NONE, message).hint(hint));
    };
    match &adapter.refused {
        Some(refused) => Err(refused.clone()),
        None => Ok(adapter.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_mesa_is_read() {
        let info = |text: &str| wgpu::AdapterInfo {
            driver_info: text.into(),
            ..wgpu::AdapterInfo::new(wgpu::DeviceType::Cpu, wgpu::Backend::Vulkan)
        };
        assert_eq!(mesa(&info("Mesa 22.3.6 (LLVM 15.0.6)")), Some(22));
        assert_eq!(mesa(&info("Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)")), Some(25));
        assert_eq!(mesa(&info("580.159.04")), None);
    }

    #[test]
    fn an_adapter_that_is_not_there_is_said_to_be_missing() {
        let error = select("no such adapter").unwrap_err();
        assert_eq!(error.code, Code::NoDevice);
        assert!(error.hint.is_some());
    }
}

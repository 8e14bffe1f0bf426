//! Where kernels run in tests: the devices of this machine, or those that `GIRIH_DEVICE` names, with commas.

use girih::devices::{self, Profile, Selector};
use girih::runtime::DeviceKind;

/// A device, within a profile perhaps.
pub type Place = (Selector, Option<Profile>);

/// The reference machine as programs are and as they are spread, the processor, PTX as it is read back, and adapters.
pub fn places() -> Vec<Place> {
    let named = |name: &str| (Selector::parse(name).expect("a device's name"), None);
    if let Ok(names) = std::env::var("GIRIH_DEVICE") {
        return names.split(',').map(named).collect();
    }
    let mut all: Vec<Place> =
        ["interpreter", "lowered:web", "lowered:sm_90", "cpu", "ptx:sm_75", "ptx:sm_90a"].map(named).to_vec();
    let adapters = adapters();
    all.extend(adapters.iter().map(|selector| (selector.clone(), None)));
    all.extend(adapters.into_iter().map(|selector| (selector, Some(Profile::Web))));
    all
}

/// The adapters of this machine; none is a failure if the variable asks for one.
fn adapters() -> Vec<Selector> {
    let (found, _) = devices::find();
    let kinds = [DeviceKind::Wgpu, DeviceKind::WgpuSoftware];
    let usable = found.into_iter().filter(|d| d.problem.is_none() && kinds.contains(&d.info.kind));
    let names: Vec<Selector> = usable.filter_map(|d| Selector::parse(&d.name).ok()).collect();
    if names.is_empty() {
        let required = std::env::var_os("GIRIH_REQUIRE_WGPU").is_some_and(|value| !value.is_empty() && value != "0");
        assert!(!required, "GIRIH_REQUIRE_WGPU is set, but there is no adapter");
        eprintln!("skipped: there is no adapter on this machine (GIRIH_REQUIRE_WGPU=1 makes that a failure)");
    }
    names
}

//! Where kernels run in tests: the devices of this machine, or those that `GIRIH_DEVICE` names, with commas.

use super::machine;
use girih::devices::{Profile, Selector};

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
    let adapters = machine::WGPU.some_devices();
    all.extend(adapters.iter().map(|selector| (selector.clone(), None)));
    all.extend(adapters.into_iter().map(|selector| (selector, Some(Profile::Web))));
    all
}

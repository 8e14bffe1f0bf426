//! The devices of this machine. One that is not there is said to be skipped, or is a failure if a variable asks for it.

use girih::devices::{self, Selector};
use girih_runtime::{Device, DeviceKind};
use girih_workbench::notes::{self, Note};

/// Devices of one interface, and the variable that asks for them.
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    kinds: &'static [DeviceKind],
    variable: &'static str,
    pub what: &'static str,
}

/// What wgpu reaches.
pub const WGPU: Interface = Interface {
    kinds: &[DeviceKind::Wgpu, DeviceKind::WgpuSoftware],
    variable: "GIRIH_REQUIRE_WGPU",
    what: "adapter for wgpu",
};

/// NVIDIA's cards through their own driver.
pub const CUDA: Interface = Interface { kinds: &[DeviceKind::Cuda], variable: "GIRIH_REQUIRE_CUDA", what: "CUDA card" };

impl Interface {
    pub const ALL: [Interface; 2] = [WGPU, CUDA];

    /// The interface of a device that is named.
    fn of(name: &str) -> Option<Interface> {
        let prefixes = [("wgpu:", WGPU), ("cuda", CUDA)];
        prefixes.into_iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, interface)| interface)
    }

    /// Whether tests may not go without.
    pub fn is_required(self) -> bool {
        notes::is_required(self.variable)
    }

    /// Says that there is none.
    ///
    /// # Panics
    /// If there has to be one.
    pub fn missing(self) {
        notes::missing(self.what, self.variable);
    }

    /// The devices that can be used, by name.
    pub fn devices(self) -> Vec<Selector> {
        let (found, _) = devices::find();
        let usable =
            found.into_iter().filter(|device| device.problem.is_none() && self.kinds.contains(&device.info.kind));
        usable.filter_map(|device| Selector::parse(&device.name).ok()).collect()
    }

    /// The same; that there are none is said, or is a failure.
    pub fn some_devices(self) -> Vec<Selector> {
        let devices = self.devices();
        if devices.is_empty() {
            self.missing();
        }
        devices
    }
}

/// A device by its name: an adapter or a CUDA device. None if this machine does not have it, which is said, or is a failure. `wgpu` alone is any
/// graphics card.
pub fn open(name: &str) -> Option<Device> {
    let selector = Selector::parse(name).expect("a device's name");
    match devices::open(&selector, None) {
        Ok(device) => Some(device),
        Err(error) => {
            let is_required = Interface::of(name).is_some_and(Interface::is_required);
            assert!(!is_required, "{name} is required: {}", error.message());
            eprintln!("skipped: without {name}: {}", error.message());
            notes::take(&Note::Without(format!("the device {name}")));
            None
        }
    }
}

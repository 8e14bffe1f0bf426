//! What stands for wgpu in a build without it. There are no adapters, so nothing is ever of their types.

use super::{Found, Sharing};
use crate::features::Feature;
use girih_base::diag::{Diagnostic, Errors};
use girih_ir::Caps;
use girih_lower::Compiled;
use girih_runtime::{Buffer, Device, DeviceKind};

/// There is no code generator to name.
pub const IDENTITY: &str = "";

/// A device for a screen, of which there is none.
#[derive(Clone, Debug)]
pub enum Context {}

/// A buffer that a screen sees, of which there is none.
#[derive(Debug)]
pub enum SharedBuffer {}

/// A shading language, of which there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {}

impl Context {
    /// Whether it is the adapter of a name.
    pub fn is(&self, _: &str) -> bool {
        match *self {}
    }
}

impl SharedBuffer {
    /// Its bytes.
    ///
    /// # Errors
    /// None: there is no such buffer.
    pub fn read(&self) -> Result<Vec<u8>, Diagnostic> {
        match *self {}
    }
}

/// Refuses to open an adapter.
///
/// # Errors
/// Always.
pub fn open(_: &str, _: Option<Caps>) -> Result<Device, Diagnostic> {
    Err(Feature::Wgpu.missing())
}

/// A device on a screen's adapter: there is none.
///
/// # Errors
/// None: there is no screen.
pub fn sharing<T>(
    screen: &Context,
    _: usize,
    _: impl Fn(&Device) -> Result<(T, Buffer), Diagnostic>,
) -> Result<Sharing<T>, Diagnostic> {
    match *screen {}
}

/// There is no adapter of any kind.
pub fn kind(_: &str) -> Option<DeviceKind> {
    None
}

/// Legal kernels in a shading language: there is none.
///
/// # Errors
/// None: there is no language.
pub fn emit(_: &Compiled, _: &Caps, language: Language) -> Result<Vec<u8>, Errors> {
    match language {}
}

/// Says what is missing.
pub(super) fn find() -> (Vec<Found>, Vec<Diagnostic>) {
    (vec![], vec![Feature::Wgpu.missing()])
}

//! Stub
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
/// x
pub struct SystemHost;
impl girih_core::term::io::Host for SystemHost {}
impl SystemHost {
    /// x
    pub fn new() -> Self {
        SystemHost
    }
    /// x
    pub fn interrupted_by(self, _: Arc<AtomicBool>) -> Self {
        self
    }
    /// x
    pub fn with_stdout(self, _: Box<dyn std::io::Write + Send>) -> Self {
        self
    }
}

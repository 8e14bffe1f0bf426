//! What goes wrong in the driver: caught, kept, and told to the caller of the next method.
//!
//! Without this wgpu would panic: on an error that nobody asked for, and on a lost device.

use crate::emit::guard;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::sync::{Arc, Mutex, PoisonError};

/// The state of a device, shared with wgpu's callbacks.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<Troubles>>);

#[derive(Debug, Default)]
struct Troubles {
    lost: Option<String>,
    error: Option<Diagnostic>,
    timed_out: bool,
}

impl Health {
    /// Listens to a device.
    pub fn watch(device: &wgpu::Device) -> Health {
        let health = Health::default();
        let noted = health.clone();
        device.set_device_lost_callback(move |reason, message| {
            // A device that is dropped is reported as lost, too.
            if reason != wgpu::DeviceLostReason::Destroyed {
                noted.with(|t| t.lost = Some(message));
            }
        });
        let noted = health.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            noted.with(|t| {
                t.error.get_or_insert_with(|| diagnostic(&error));
            });
        }));
        health
    }

    fn with<R>(&self, change: impl FnOnce(&mut Troubles) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What has gone wrong since the last time; a lost device stays lost.
    pub fn check(&self) -> Result<(), Diagnostic> {
        self.with(|t| {
            if let Some(message) = &t.lost {
                return Err(lost(message));
            }
            if t.timed_out {
                return Err(Diagnostic::new(Code::DeviceTimeout, Span::NONE, "an earlier launch has not finished")
                    .hint("open the device again"));
            }
            t.error.take().map_or(Ok(()), Err)
        })
    }

    /// Runs something that talks to the driver: its errors, and panics inside of wgpu, become diagnostics.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run<T>(&self, device: &wgpu::Device, what: impl FnOnce() -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
        self.check()?;
        let scopes = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Validation]
            .map(|filter| device.push_error_scope(filter));
        let result = guard("wgpu", what);
        let mut error = None;
        for scope in scopes.into_iter().rev() {
            // It is there: drivers outside of browsers check at once.
            let found = super::blocking::block_on(scope.pop());
            error = error.or(found);
        }
        self.check()?;
        match error {
            Some(error) => Err(diagnostic(&error)),
            None => result,
        }
    }

    /// The same in a browser, which tells errors later: the next call gives them.
    #[cfg(target_arch = "wasm32")]
    pub fn run<T>(&self, _: &wgpu::Device, what: impl FnOnce() -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
        self.check()?;
        let result = guard("wgpu", what);
        self.check()?;
        result
    }

    /// Lets wgpu tell what is done. Nothing waits.
    pub fn poll(&self, device: &wgpu::Device) -> Result<(), Diagnostic> {
        self.check()?;
        guard("wgpu", || {
            drop(device.poll(wgpu::PollType::Poll));
            Ok(())
        })?;
        self.check()
    }

    /// Work has not ended within the limit: nothing else is waited for.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn time_out(&self) {
        self.with(|t| t.timed_out = true);
    }
}

fn lost(message: &str) -> Diagnostic {
    let message = format!("the device was lost: {}", message.trim().trim_end_matches('.'));
    Diagnostic::new(Code::DeviceLost, Span::NONE, message)
        .hint("open the device again; a kernel that runs for seconds may be the cause")
}

fn diagnostic(error: &wgpu::Error) -> Diagnostic {
    match error {
        wgpu::Error::OutOfMemory { .. } => {
            Diagnostic::new(Code::DeviceMemory, Span::NONE, "the device does not have enough memory")
        }
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            let lines: Vec<&str> = description.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
            crate::emit::refused(Span::NONE, "wgpu", &lines.join("; "))
        }
    }
}

//! What stands for nets in a build without them. No program becomes one.

use super::RunOptions;
use super::select::Choice;
use super::stats::Stats;
use crate::features::Feature;
use girih_base::diag::Diagnostic;
use girih_term::Program;
use girih_term::code::Code;
use girih_term::io::Host;
use std::fmt;

/// A program as a net, of which there is none.
pub(super) enum NetEngine {}

/// What machines of nets have done: nothing.
#[derive(Clone, Copy, Debug)]
pub struct Counts;

/// What a net took on a device: nothing.
#[derive(Clone, Copy, Debug)]
pub struct DeviceStats;

/// Refuses a program that is to run as a net.
pub(super) fn ready(
    _: Option<&Code>,
    _: &Program,
    _: &RunOptions,
    _: &str,
) -> Result<(Choice, Box<NetEngine>), Vec<Diagnostic>> {
    Err(vec![Feature::Net.missing()])
}

impl NetEngine {
    /// Computes the program's value: there is no such program.
    pub fn run(
        &mut self,
        _: Option<&Code>,
        _: &RunOptions,
        _: &mut dyn Host,
    ) -> (Result<String, Diagnostic>, Counts, Option<DeviceStats>) {
        match *self {}
    }
}

/// What a reduction took: there was none.
pub(super) fn show(_: &Counts, _: Option<&DeviceStats>, _: &Stats, _: &mut fmt::Formatter<'_>) -> fmt::Result {
    Ok(())
}

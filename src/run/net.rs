//! Programs as interaction nets: on the cores of the host, or by kernels on a device, which is given the net again after each effect.

use super::RunOptions;
use girih_base::diag::Diagnostic;
use girih_net::device::{self, DeviceStats, Session};
use girih_net::lower::Lowered;
use girih_net::parallel::Cores;
use girih_net::reduce::{self, Counts, Reducer};
use girih_net::values::Values;
use girih_runtime::{Device, DeviceKind};
use girih_term::Program;
use girih_term::code::Code;
use girih_term::eval::{Limits, Machine};
use girih_term::io::Host;
use std::num::NonZeroUsize;

/// A program as a net.
pub(super) struct NetEngine {
    pub program: Program,
    pub lowered: Lowered,
    pub place: NetPlace,
}

/// Where it is reduced.
pub(super) enum NetPlace {
    /// On so many cores.
    Host(NonZeroUsize),
    /// By kernels.
    Device(Box<dyn Device>),
}

/// How large everything is on a kind of device.
pub(crate) fn sizes(kind: DeviceKind) -> device::Options {
    let sizes = |lanes, steps, memory| device::Options { lanes, steps, memory, ..device::Options::default() };
    match kind {
        // As many places as words can name.
        DeviceKind::Cuda | DeviceKind::Wgpu => sizes(1 << 16, 1 << 11, 6 << 30),
        // Some lanes for each core and each of its vectors.
        DeviceKind::WgpuSoftware | DeviceKind::Cpu => {
            device::Options { together: false, ..sizes(1 << 9, 1 << 12, 256 << 20) }
        }
        DeviceKind::Interpreter => sizes(1 << 6, 1 << 9, 16 << 20),
    }
}

impl NetEngine {
    /// Computes the program's value, with its effects, and its text; and says what that took.
    pub fn run(
        &mut self,
        code: Option<&Code>,
        options: &RunOptions,
        host: &mut dyn Host,
    ) -> (Result<String, Diagnostic>, Counts, Option<DeviceStats>) {
        let NetEngine { program, lowered, place } = self;
        match place {
            NetPlace::Host(threads) => {
                let (result, counts) = computed(program, lowered, code, options, &mut Cores::new(*threads), host);
                (result, counts, None)
            }
            NetPlace::Device(device) => {
                let sizes = sizes(device.info().kind);
                let sizes = device::Options { memory: options.heap.unwrap_or(sizes.memory), ..sizes };
                match Session::open(&lowered.book, &mut **device, &sizes, u64::MAX) {
                    Ok(mut session) => {
                        let (result, counts) = computed(program, lowered, code, options, &mut session, host);
                        (result, counts, Some(session.stats()))
                    }
                    Err(errors) => (Err(first(errors)), Counts::default(), None),
                }
            }
        }
    }
}

fn computed(
    program: &Program,
    lowered: &Lowered,
    code: Option<&Code>,
    options: &RunOptions,
    reducer: &mut dyn Reducer,
    host: &mut dyn Host,
) -> (Result<String, Diagnostic>, Counts) {
    let RunOptions { memory, interrupt, .. } = options;
    let limits = reduce::Limits { memory: *memory, interactions: None, interrupt: interrupt.clone() };
    let mut values = Values::new(program, lowered, limits, reducer);
    let result = values.run(host).and_then(|word| match code {
        Some(code) => values.show(&mut Machine::new(code, Limits { memory: *memory, ..Limits::default() }), word),
        None => values.show_net(word),
    });
    (result, values.counts())
}

/// The first of several errors; there is one.
fn first(errors: Vec<Diagnostic>) -> Diagnostic {
    use girih_base::diag::Code;
    use girih_base::span::Span;
    let none = || Diagnostic::new(Code::Internal, Span::NONE, "the device gave no kernels and no reason");
    errors.into_iter().next().unwrap_or_else(none)
}

//! How a program is run.

use super::device_race::Contest;
use crate::devices::Selector;
use girih_machine::tasks::TaskSettings;
#[cfg(doc)]
use girih_runtime::TaskOptions;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How a program is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The way in which it is compiled.
    pub tier: Tier,
    /// What runs it.
    pub device: RunDevice,
    /// The most bytes that its data may take on the host.
    pub memory: u64,
    /// The most bytes that its data may take on a device with a heap of its own; if none, what the device has room for.
    pub heap: Option<u64>,
    /// The most bytes that nested calls may take, on each thread. The evaluator keeps them within `memory`.
    pub stack: u64,
    /// How many threads run it on the processor; as many as there are cores if none.
    pub threads: Option<NonZeroUsize>,
    /// Raised from outside to stop it.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Whether the memory of a cell that is taken apart is used for the next one at once.
    pub reuse: bool,
    /// An artificial shortage of memory: see [`TaskOptions::fail_each`].
    pub fail_each: Option<u64>,
    /// Whether cells, forks and calls are counted: see [`TaskOptions::count`].
    pub count: bool,
    /// Whether a device is looked at after each superstep: see [`Executable::timeline`](super::Executable::timeline).
    pub timeline: bool,
    /// Whether the evaluator goes the way to an error again, if it gets there soon, to tell which calls led there.
    pub explain: bool,
    /// Whether the processor takes part where a card runs a program, and the first result counts: with `auto` it begins while a card is looked for;
    /// beside a card that was named it begins when the card does. Each effect is performed once. If none, a device runs the program alone. When
    /// the processor is done, a driver may still be at work on a thread: see [`leave`](crate::leave()).
    pub contest: Option<Contest>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            tier: Tier::Auto,
            device: RunDevice::Auto,
            memory: 4 << 30,
            heap: None,
            stack: 4 << 30,
            threads: None,
            interrupt: None,
            reuse: true,
            fail_each: None,
            count: false,
            timeline: false,
            explain: true,
            contest: None,
        }
    }
}

/// The way in which a program is compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// The best that can run the program.
    #[default]
    Auto,
    /// By value, as functions that work on a heap. Superpositions, scopeless variables and `hvm` definitions are refused.
    Direct,
    /// As an interaction net.
    Net,
}

/// What runs a program.
#[derive(Clone, Debug, Default)]
pub enum RunDevice {
    /// The best that there is.
    #[default]
    Auto,
    /// Native code on the cores of the processor.
    Cpu,
    /// The reference machine of the IR: slowly, and with a look at every access if its settings say so.
    Interpreter(TaskSettings),
    /// The evaluator, which compiles nothing. What it gives is what programs mean.
    Evaluator,
    /// A device that runs kernels, by fork-join: a graphics card.
    Device(Selector),
}

impl From<Selector> for RunDevice {
    /// What runs programs where kernels would run on this: the processor and the reference machine have better ways than kernels.
    fn from(selector: Selector) -> RunDevice {
        match selector {
            Selector::Auto => RunDevice::Auto,
            Selector::Cpu => RunDevice::Cpu,
            Selector::Interpreter(_) => RunDevice::Interpreter(TaskSettings { checked: true, seed: None, fuel: None }),
            Selector::Lowered(_) | Selector::Ptx(_) | Selector::Wgpu(_) | Selector::Cuda(_) => {
                RunDevice::Device(selector)
            }
        }
    }
}

impl std::fmt::Display for RunDevice {
    /// The name on a command line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunDevice::Auto => write!(f, "auto"),
            RunDevice::Cpu => write!(f, "cpu"),
            RunDevice::Interpreter(_) => write!(f, "interpreter"),
            RunDevice::Evaluator => write!(f, "evaluator"),
            RunDevice::Device(selector) => write!(f, "{selector}"),
        }
    }
}

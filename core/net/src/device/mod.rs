//! Nets on devices: the machine of [`supersteps`](super::supersteps) as kernels of the IR, and the host's part of it.
//!
//! | file | its idea |
//! |---|---|
//! | `reduce.gir` | the kernel of a superstep |
//! | `supersteps.gir` | the kernels before and after it |
//! | `reclaim_converged.gir`, `reclaim_alone.gir` | how free places are found |
//! | [`rules`] | the table of rules as words and as a function |
//! | [`definitions`] | the nets of definitions, as words |
//! | [`partial_reduction`] | the net of a definition, reduced by what a call knows about its caller |
//! | [`calls`] | the same as straight code |
//! | [`numbers`] | operations on numbers in words |
//! | [`session`] | the host's part: batches of supersteps, and transfers in both directions |
//! | [`buffers`] | the memory of a session |
//! | [`collect`] | the net that a port leads to, copied from a device |
//! | [`functions`] | numbers in nodes, and Bend's functions on all kinds |
//!
//! Memory is taken from the front until there is none left. Then a kernel lists what is free, between two supersteps, and memory is taken in that order. So nothing is reused in
//! the superstep in which it was freed. If hardly anything is free, the net does not fit, and the run ends.
//!
//! Invariant: between two supersteps each redex is in the ring or on the stack of a lane, or is a call that waits at the wire of an argument; and each place is used, free, or owned by
//! a lane that has not used it yet.

mod buffers;
mod calls;
mod collect;
mod definitions;
mod functions;
mod numbers;
mod partial_reduction;
mod rules;
mod session;

use super::book::Book;
use super::order;
use super::reduce::Machine;
use super::rules::Rule;
use calls::Calls;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::{Module, Verified, text, verify};
use girih_runtime::Device;
use girih_task::math;
use rules::Outcomes;

pub use session::Session;

/// `@call` for definitions that are code.
const CALLED: &str = include_str!("called.gir");
const KERNELS: &str = include_str!("reduce.gir");
const SUPERSTEPS: &str = include_str!("supersteps.gir");
/// `@reclaim` for workgroups whose invocations do it together, and for invocations alone.
const RECLAIM: [&str; 2] = [include_str!("reclaim_converged.gir"), include_str!("reclaim_alone.gir")];

/// The most parts of nodes of a book whose calls become straight code.
const MOST_STRAIGHT: usize = 3000;

/// The most nodes and wires of a definition: the words of its places have no top bit.
const MOST_PLACES: usize = 1 << 27;

/// How large everything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many lanes there are; rounded up to whole workgroups.
    pub lanes: u32,
    /// Interactions that a lane starts in a superstep at most.
    pub steps: u32,
    /// Bytes of nodes, wires and what belongs to them, at most.
    pub memory: u64,
    /// The most supersteps that are submitted at once.
    pub batch: usize,
    /// Whether definitions become straight code; never on devices that want short kernels.
    pub straight: bool,
    /// Whether the invocations of a workgroup look for free places together: those of a graphics card read and write side by side then, processors
    /// are slower.
    pub together: bool,
    /// After how many supersteps counters are emptied, if sooner than they have to be.
    pub drain: Option<u64>,
    /// Whether calls wait for their arguments from the beginning on, not only when memory has become scarce.
    pub waits: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            lanes: 1 << 8,
            steps: 1 << 10,
            memory: 64 << 20,
            batch: 32,
            straight: true,
            together: true,
            drain: None,
            waits: false,
        }
    }
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// Supersteps that had work.
    pub supersteps: u64,
    /// How often the counters of interactions were emptied.
    pub drains: u32,
    /// How often free places were listed.
    pub reclaims: u32,
    /// How many lanes there were.
    pub lanes: u32,
    /// Bytes of memory.
    pub memory: u64,
}

/// What a book needs on a device.
#[derive(Debug)]
pub struct Kernels {
    /// The kernels.
    pub module: Verified<Module>,
    /// The words that they read.
    pub words: Vec<u32>,
    /// The interactions of each way that calls take, beside those that are counted one by one.
    ways: Vec<[u32; Rule::ALL.len()]>,
    /// The most redexes that a call leaves.
    redexes: u32,
    /// Whether lanes take places in whole pieces.
    in_pieces: bool,
}

/// The kernels of a book, with straight code for calls or without it, and workgroups that find free places together or not.
///
/// # Errors
/// If the book has what devices do not compute.
pub fn kernels(book: &Book, straight: bool, together: bool) -> Result<Kernels, Vec<Diagnostic>> {
    check(book).map_err(|error| vec![error])?;
    let book = &order::by_dependence(book);
    let mut outcomes = Outcomes::default();
    let boxed = functions::are_boxed(book);
    let mut words = outcomes.table(book.semantics, boxed);
    let parts: usize = book.definitions.iter().map(|definition| 2 * definition.template.nodes.len()).sum();
    let calls = if straight && parts <= MOST_STRAIGHT { calls::of(book, !boxed) } else { None };
    let (ways, redexes, in_pieces, text) = match calls {
        Some(Calls { text, needs, ways, in_pieces }) => {
            definitions::entries(book, &needs, &mut words);
            let redexes = needs.iter().map(|need| need.redexes).max().unwrap_or(0);
            (ways, redexes, in_pieces, text + CALLED)
        }
        None => {
            definitions::words(book, &mut words);
            (vec![], definitions::most_redexes(book), false, definitions::LOOP.to_owned())
        }
    };
    let library: String = math::FILES.iter().map(|(_, text)| *text).collect();
    let texts = [
        library,
        functions::text(book),
        outcomes.function(),
        round(!ways.is_empty()),
        text,
        KERNELS.to_owned(),
        SUPERSTEPS.to_owned(),
        RECLAIM[usize::from(!together)].to_owned(),
    ];
    let module = text::parse(Span::NONE.source, &texts.concat())?.module;
    Ok(Kernels { module: verify(module)?, words, ways, redexes, in_pieces })
}

/// Interactions that a lane starts in a round, of books whose calls are words, and of those whose calls are straight code: that makes up to sixteen calls at once.
const ROUND: [u32; 2] = [8, LONGEST_ROUND];
const LONGEST_ROUND: u32 = 16;

/// The length of a round, for the kernels.
fn round(straight: bool) -> String {
    format!("fn @round() -> u32 {{\n  return {}\n}}\n", ROUND[usize::from(straight)])
}

/// Words for kernels have less room than those of the host: says which definition is too large, if one is.
///
/// # Errors
/// If there is one.
pub fn check(book: &Book) -> Result<(), Diagnostic> {
    for definition in book.definitions.iter() {
        let template = &definition.template;
        let most = [
            (template.links.len(), definitions::MOST_REDEXES as usize, "redexes"),
            (template.nodes.len().max(template.wires as usize), MOST_PLACES, "nodes or wires"),
        ];
        if let Some((_, most, what)) = most.into_iter().find(|(count, most, _)| count > most) {
            let message = format!("`@{}` has more than {most} {what}, which no device can run", definition.name);
            return Err(Diagnostic::new(Code::OverLimit, definition.span, message).hint("leave out `--device`"));
        }
    }
    Ok(())
}

/// Reduces the net of a machine on a device until nothing is left to be done, and gives it back.
///
/// # Errors
/// As [`Machine::run`]; if the device refuses the kernels or fails.
pub fn run(machine: &mut Machine<'_>, device: &Device, options: &Options) -> Result<DeviceStats, Vec<Diagnostic>> {
    let mut session = Session::open(machine.book(), device, options, machine.limits().memory)?;
    session.run(machine).map_err(|error| vec![error])?;
    Ok(session.stats())
}

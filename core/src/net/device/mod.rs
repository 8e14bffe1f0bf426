//! Nets on devices: the machine of [`epochs`](super::epochs) as kernels of the IR, and the host's part of it.
//!
//! | file | its idea |
//! |---|---|
//! | `reduce.gir` | the kernels: an epoch, what stands before it, and how free places are found |
//! | [`rules`] | the table of rules as words and as a function |
//! | [`definitions`] | the nets of definitions, as straight code or as words |
//! | [`numbers`] | operations on numbers |
//!
//! Memory is taken from the front until there is none left. Then what is free is listed, between two epochs, and is taken in that order; so nothing is used again in
//! the epoch in which it was freed. If hardly anything is free then, that is the end.
//!
//! Invariant: between two epochs all redexes are in the ring, and each place is used, free, or owned by a lane that has not used it yet.

mod definitions;
mod numbers;
mod rules;

use super::book::{Book, DefinitionId, Semantics};
use super::heap::Heap;
use super::number::{self, Meaning};
use super::reduce::{Counts, Machine};
use super::rules::{Rule, meeting};
use super::step::{Size, Stop};
use super::word::{INDICES, Kind, Word};
use crate::diag::{Code, Diagnostic};
use crate::direct::math;
use crate::ir::{Module, Type, Verified, text, verify};
use crate::net::ast::Operator;
use crate::num::{BinOp, NumError, NumKind};
use crate::runtime::{Argument, BufferId, Command, Constant, Device, Dispatch, Grid, LoadOptions, Memory, ProgramId};
use crate::span::Span;
use numbers::{Used, error};
use rules::Outcomes;
use std::sync::atomic::Ordering;

const KERNELS: &str = include_str!("reduce.gir");

/// Invocations of a workgroup.
const WORKGROUP: u32 = 64;
/// Bytes for each place: a node, a wire, the two lists, and half a redex of the ring.
const PLACE_BYTES: u64 = 24;
/// Fewer places than this are not worth a run.
const LEAST_PLACES: u64 = 1 << 10;
/// If less than this part of the places is free after they were listed, memory is full.
const LEAST_FREE: u32 = 16;
/// Levels of a lane's stack, at least.
const LEAST_DEPTH: u32 = 48;

/// Words of `control`.
mod control {
    pub const HEAD: usize = 0;
    pub const TAIL: usize = 1;
    pub const BASE: usize = 2;
    pub const LIMIT: usize = 3;
    pub const NODE: usize = 4;
    pub const NODE_END: usize = 5;
    pub const WIRE: usize = 6;
    pub const WIRE_END: usize = 7;
    pub const LISTED: usize = 8;
    pub const FAULT: usize = 10;
    pub const FULL: usize = 11;
    pub const EPOCHS: usize = 12;
    pub const PATIENCE: usize = 13;
    pub const STEPS: usize = 14;
    pub const WORKED: usize = 15;
    pub const MOST: usize = 17;
    pub const WORDS: usize = 18;
}

/// How large everything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many lanes there are; rounded up to whole workgroups.
    pub lanes: u32,
    /// Interactions that a lane starts in an epoch at most.
    pub steps: u32,
    /// Bytes of nodes, wires and what belongs to them, at most.
    pub memory: u64,
    /// The most epochs that are submitted at once.
    pub batch: usize,
    /// Whether definitions become straight code; never on devices that want short kernels.
    pub straight: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { lanes: 1 << 8, steps: 1 << 10, memory: 64 << 20, batch: 32, straight: true }
    }
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// Epochs that had work.
    pub epochs: u32,
    /// How often free places were listed.
    pub sweeps: u32,
    /// How many lanes there were.
    pub lanes: u32,
    /// Bytes of memory.
    pub memory: u64,
}

/// The kernels of a book, and the words that they read. A device that is `rolled` gets no straight code.
///
/// # Errors
/// If the book has what devices do not compute.
pub fn kernels(book: &Book, straight: bool) -> Result<(Verified<Module>, Vec<u32>), Vec<Diagnostic>> {
    check(book).map_err(|error| vec![error])?;
    let mut outcomes = Outcomes::default();
    let mut words = outcomes.table(book.semantics);
    definitions::words(book, &mut words);
    let library: String = math::FILES.iter().map(|(_, text)| *text).collect();
    let numbers = Used::of(book).functions();
    let texts = [library, numbers, outcomes.function(), definitions::function(book, straight), KERNELS.to_owned()];
    let module = text::parse(Span::NONE.source, &texts.concat())?.module;
    Ok((verify(module)?, words))
}

/// Devices compute upstream's numbers of 24 bits.
fn check(book: &Book) -> Result<(), Diagnostic> {
    if definitions::most_redexes(book) > definitions::MOST_REDEXES {
        let message = format!("a definition has more than {} redexes", definitions::MOST_REDEXES);
        return Err(Diagnostic::new(Code::OverLimit, Span::NONE, message).hint("leave out `--device`"));
    }
    for definition in book.definitions.iter() {
        let is_checked = |word: Word| {
            let is_number = word.kind() == Kind::Num;
            is_number && matches!(number::meaning(word), Meaning::Operator(Operator::Checked(_)))
        };
        let boxed = definition.template.nodes.iter().any(|(kind, _)| *kind == Kind::Box);
        if boxed || definition.template.words().any(is_checked) || book.semantics != Semantics::Net {
            let message = format!("`@{}` computes with more than 24-bit numbers", definition.name);
            return Err(Diagnostic::new(Code::NoDevice, definition.span, message)
                .hint("devices run nets with upstream's operators only; leave out `--device`"));
        }
    }
    Ok(())
}

/// Reduces the net of a machine on a device until nothing is left to be done, and gives it back.
///
/// # Errors
/// As [`Machine::run`]; if the device refuses the kernels or fails.
pub fn run(
    machine: &mut Machine<'_>,
    device: &mut dyn Device,
    options: &Options,
) -> Result<DeviceStats, Vec<Diagnostic>> {
    let straight = options.straight && !device.caps().rolled;
    let (module, words) = kernels(machine.book(), straight)?;
    let one = |error| vec![error];
    let shape = Shape::new(machine.book(), device, options, machine.limits().memory).map_err(one)?;
    let names: Vec<_> = module.kernels().collect();
    let programs = device.load(&module, &names, &LoadOptions::default())?;
    let mut run = match Run::open(device, programs, shape, &words) {
        Ok(run) => run,
        Err(error) => return Err(one(error)),
    };
    let result = run.all(machine, options.batch);
    run.close();
    result.map_err(one)
}

/// How large the buffers are.
#[derive(Clone, Copy, Debug)]
struct Shape {
    lanes: u32,
    depth: u32,
    /// Levels that must be free before an interaction.
    reserve: u32,
    places: u32,
    ring: u32,
    chunk: u32,
    steps: u32,
    memory: u64,
}

impl Shape {
    fn new(book: &Book, device: &dyn Device, options: &Options, limit: u64) -> Result<Shape, Diagnostic> {
        let caps = device.caps();
        let reach = caps.binding_bytes.min(caps.buffer_bytes);
        let memory = options.memory.min(limit);
        let places = (memory / PLACE_BYTES).min(reach / 8).min(u64::from(INDICES) - 1);
        if places < LEAST_PLACES {
            let message = format!("a net on a device needs {} KiB at least", (LEAST_PLACES * PLACE_BYTES) >> 10);
            return Err(Diagnostic::new(Code::OutOfMemory, Span::NONE, message).hint("allow more with `--memory`"));
        }
        let reserve = definitions::most_redexes(book).max(4) + 1;
        let depth = LEAST_DEPTH.max(2 * reserve);
        let row = u64::from(2 * depth) + 4 + Rule::ALL.len() as u64;
        let most = (reach / (4 * row)).min(u64::from(options.lanes)) as u32;
        let lanes = (most / WORKGROUP).max(1) * WORKGROUP;
        let places = places as u32;
        let ring = 1 << (places / 2).ilog2();
        let chunk = (places / lanes / 4).clamp(4, 32);
        let steps = options.steps;
        Ok(Shape { lanes, depth, reserve, places, ring, chunk, steps, memory: u64::from(places) * PLACE_BYTES })
    }

    /// Where the counts of rules are in `stack`.
    fn counts(&self) -> u64 {
        u64::from(self.lanes) * u64::from(2 * self.depth + 4)
    }
}

struct Buffers {
    nodes: BufferId,
    wires: BufferId,
    lists: BufferId,
    ring: BufferId,
    stack: BufferId,
    control: BufferId,
    book: BufferId,
    grid: BufferId,
}

struct Run<'d> {
    device: &'d mut dyn Device,
    programs: [ProgramId; 4],
    buffers: Buffers,
    shape: Shape,
    stats: DeviceStats,
    /// `control` as it was when the host last looked.
    control: Vec<u32>,
}

fn number(value: u32) -> Argument {
    Argument::Scalar(Constant { ty: Type::U32, bits: value.into() })
}

fn buffer(id: BufferId) -> Argument {
    Argument::Buffer(id, 0)
}

impl<'d> Run<'d> {
    fn open(
        device: &'d mut dyn Device,
        programs: Vec<ProgramId>,
        shape: Shape,
        words: &[u32],
    ) -> Result<Run<'d>, Diagnostic> {
        let missing = || Diagnostic::new(Code::Internal, Span::NONE, "the device gave no kernels");
        let programs: [ProgramId; 4] = programs.try_into().map_err(|_| missing())?;
        let (places, lanes) = (u64::from(shape.places), u64::from(shape.lanes));
        // Lanes look at places a little beyond those that they need.
        let sizes = [
            2 * places,
            places,
            2 * places + 8,
            2 * u64::from(shape.ring),
            shape.counts() + lanes * Rule::ALL.len() as u64,
            control::WORDS as u64,
            words.len() as u64,
        ];
        let mut ids = vec![];
        let mut failed = None;
        for (count, indirect) in sizes.into_iter().map(|count| (count, false)).chain([(3, true)]) {
            match device.allocate(Memory { bytes: 4 * count, indirect }) {
                Ok(id) => ids.push(id),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let [nodes, wires, lists, ring, stack, control, book, grid] = ids[..] else {
            ids.into_iter().for_each(|id| device.free(id));
            programs.into_iter().for_each(|program| device.unload(program));
            return Err(failed.unwrap_or_else(missing));
        };
        let buffers = Buffers { nodes, wires, lists, ring, stack, control, book, grid };
        let stats = DeviceStats { lanes: shape.lanes, memory: shape.memory, ..DeviceStats::default() };
        let mut run = Run { device, programs, buffers, shape, stats, control: vec![0; control::WORDS] };
        match run.write(run.buffers.book, 0, words) {
            Ok(()) => Ok(run),
            Err(error) => {
                run.close();
                Err(error)
            }
        }
    }

    fn close(&mut self) {
        let Buffers { nodes, wires, lists, ring, stack, control, book, grid } = self.buffers;
        [nodes, wires, lists, ring, stack, control, book, grid].into_iter().for_each(|id| self.device.free(id));
        self.programs.into_iter().for_each(|program| self.device.unload(program));
    }

    fn write(&mut self, to: BufferId, word: u64, words: &[u32]) -> Result<(), Diagnostic> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.device.write(to, 4 * word, &bytes)
    }

    fn read(&mut self, from: BufferId, word: u64, count: usize) -> Result<Vec<u32>, Diagnostic> {
        let mut bytes = vec![0; 4 * count];
        self.device.read(from, 4 * word, &mut bytes)?;
        let (chunks, _) = bytes.as_chunks::<4>();
        Ok(chunks.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    fn look(&mut self) -> Result<(), Diagnostic> {
        self.control = self.read(self.buffers.control, 0, control::WORDS)?;
        Ok(())
    }

    fn set(&mut self, word: usize, value: u32) -> Result<(), Diagnostic> {
        self.control[word] = value;
        self.write(self.buffers.control, word as u64, &[value])
    }

    fn dispatch(&self, program: usize, arguments: Vec<Argument>, grid: Grid) -> Command {
        Command::Dispatch(Dispatch { program: self.programs[program], arguments, grid })
    }

    fn epochs(&self, count: usize) -> Vec<Command> {
        let Buffers { nodes, wires, lists, ring, stack, control, book, grid } = self.buffers;
        let Shape { lanes, depth, reserve, ring: size, places, chunk, .. } = self.shape;
        let mut arguments = [nodes, wires, lists, ring, stack, control, book].map(buffer).to_vec();
        arguments.extend([lanes, depth, reserve, size - 1, places, chunk].map(number));
        let run = self.dispatch(0, arguments, Grid::Indirect(grid, 0));
        let plan = vec![buffer(control), buffer(grid), number(lanes)];
        let plan = self.dispatch(1, plan, Grid::Workgroups([1, 1, 1]));
        [plan, run].iter().cycle().take(2 * count).cloned().collect()
    }

    /// Uploads the net of a machine, reduces it, and gives it back.
    fn all(&mut self, machine: &mut Machine<'_>, batch: usize) -> Result<DeviceStats, Diagnostic> {
        let (heap, redexes) = machine.take();
        let result = self.upload(heap, &redexes).and_then(|()| self.reduce(machine, batch));
        let stop = result?;
        let counts = self.counts()?;
        self.stats.epochs = self.control[control::EPOCHS];
        if let Some(stop) = stop {
            machine.give(Heap::new(machine.limits().memory), vec![], &counts);
            let size = Size { interactions: machine.counts().total(), ..self.size() };
            return Err(stop.diagnostic(machine.book(), &size));
        }
        let heap = self.download(machine.limits().memory)?;
        machine.give(heap, vec![], &counts);
        Ok(self.stats)
    }

    fn upload(&mut self, heap: Heap, redexes: &[(Word, Word)]) -> Result<(), Diagnostic> {
        let (mut nodes, mut wires, [free_nodes, free_wires]) = heap.into_parts();
        free_nodes.into_iter().for_each(|i| nodes[i as usize] = [Word::NONE; 2]);
        free_wires.into_iter().for_each(|i| wires[i as usize] = FREE);
        let places = self.shape.places as usize;
        if nodes.len() > places || wires.len() > places || redexes.len() > self.shape.ring as usize {
            let size = Size { nodes: nodes.len(), wires: wires.len(), waiting: redexes.len(), ..self.size() };
            return Err(Stop::Memory.diagnostic(&Book::default(), &size));
        }
        let plain = |words: Vec<Word>| words.into_iter().map(|word| word.0).collect::<Vec<u32>>();
        let (used_nodes, used_wires) = (nodes.len() as u32, wires.len() as u32);
        self.write(self.buffers.nodes, 0, &plain(nodes.into_flattened()))?;
        self.write(self.buffers.wires, 0, &plain(wires))?;
        let redexes: Vec<u32> = redexes.iter().flat_map(|(a, b)| [a.0, b.0]).collect();
        self.write(self.buffers.ring, 0, &redexes)?;
        let mut words = vec![0; control::WORDS];
        let count = redexes.len() as u32 / 2;
        for (word, value) in [
            (control::TAIL, count),
            (control::LIMIT, 0),
            (control::NODE, used_nodes),
            (control::NODE_END, self.shape.places),
            (control::WIRE, used_wires),
            (control::WIRE_END, self.shape.places),
            (control::PATIENCE, 8),
            (control::STEPS, self.shape.steps),
        ] {
            words[word] = value;
        }
        self.write(self.buffers.control, 0, &words)?;
        self.control = words;
        Ok(())
    }

    /// Redexes that are in the ring.
    fn waiting(&self) -> u32 {
        let at = |word: usize| self.control[word];
        let given = at(control::LIMIT).wrapping_sub(at(control::BASE));
        let taken = at(control::HEAD).wrapping_sub(at(control::BASE)).min(given);
        at(control::TAIL).wrapping_sub(at(control::BASE).wrapping_add(taken))
    }

    /// Runs epochs until nothing is left to be done, or says why the net stops.
    fn reduce(&mut self, machine: &Machine<'_>, most: usize) -> Result<Option<Stop>, Diagnostic> {
        let limits = machine.limits();
        let mut batch = 2;
        loop {
            let commands = self.epochs(batch);
            self.device.submit(&commands)?;
            self.look()?;
            batch = (2 * batch).min(most.max(1));
            if self.control[control::FAULT] != 0 {
                return Ok(Some(stop(self.control[control::FAULT])));
            }
            if limits.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                return Ok(Some(Stop::Interrupted));
            }
            if let Some(most) = limits.interactions
                && machine.counts().total() + self.counts()?.total() >= most
            {
                return Ok(Some(Stop::Interactions));
            }
            if self.control[control::FULL] != 0 {
                if !self.sweep()? {
                    return Ok(Some(Stop::Memory));
                }
            } else if self.waiting() == 0 {
                return Ok(None);
            }
        }
    }

    /// Lists what is free. False if that is next to nothing, or if nothing was done since it was done before.
    fn sweep(&mut self) -> Result<bool, Diagnostic> {
        let Buffers { nodes, wires, lists, stack, control, .. } = self.buffers;
        let Shape { lanes, depth, places, .. } = self.shape;
        let worked = self.control[control::WORKED] != 0;
        let settle = [wires, lists, stack, control].map(buffer).into_iter();
        let settle = settle.chain([lanes, depth, places].map(number)).collect();
        let settle = self.dispatch(2, settle, Grid::Own);
        self.device.submit(&[settle])?;
        self.device.wait()?;
        for word in [control::NODE, control::NODE_END, control::WIRE, control::WIRE_END, control::FULL, control::WORKED]
        {
            self.set(word, 0)?;
        }
        self.set(control::LISTED, 1)?;
        let sweep = [nodes, wires, lists, control].map(buffer).into_iter();
        let sweep = self.dispatch(3, sweep.chain([places, places].map(number)).collect(), Grid::Own);
        self.device.submit(&[sweep])?;
        self.look()?;
        self.stats.sweeps += 1;
        let least = self.control[control::NODE_END].min(self.control[control::WIRE_END]);
        Ok(worked && least >= places / LEAST_FREE)
    }

    fn counts(&mut self) -> Result<Counts, Diagnostic> {
        let lanes = self.shape.lanes as usize;
        let words = self.read(self.buffers.stack, self.shape.counts(), lanes * Rule::ALL.len())?;
        let mut counts = Counts::default();
        for (rule, words) in Rule::ALL.into_iter().zip(words.chunks(lanes)) {
            counts.add(rule, words.iter().map(|word| u64::from(*word)).sum());
        }
        let Size { nodes, wires, .. } = self.size();
        counts.bytes = nodes as u64 * 8 + wires as u64 * 4;
        counts.waiting = self.control[control::MOST].into();
        Ok(counts)
    }

    /// How many places are in use or were.
    fn size(&self) -> Size {
        let used = |next: usize, end: usize| {
            let (next, end) = (self.control[next].min(self.control[end]), self.control[end]);
            let free = if self.control[control::LISTED] != 0 { end - next } else { self.shape.places - next };
            (self.shape.places - free) as usize
        };
        Size {
            nodes: used(control::NODE, control::NODE_END),
            wires: used(control::WIRE, control::WIRE_END),
            waiting: self.waiting() as usize,
            limit: self.shape.memory,
            interactions: 0,
        }
    }

    fn download(&mut self, limit: u64) -> Result<Heap, Diagnostic> {
        let listed = self.control[control::LISTED] != 0;
        let reached = |next: usize| if listed { self.shape.places } else { self.control[next].min(self.shape.places) };
        let (nodes, wires) = (reached(control::NODE) as usize, reached(control::WIRE) as usize);
        let nodes = self.read(self.buffers.nodes, 0, 2 * nodes)?;
        let wires = self.read(self.buffers.wires, 0, wires)?;
        let (pairs, _) = nodes.as_chunks::<2>();
        let nodes: Vec<[Word; 2]> = pairs.iter().map(|pair| pair.map(Word)).collect();
        let wires: Vec<Word> = wires.into_iter().map(Word).collect();
        let free = |is_free: &mut dyn Iterator<Item = bool>| {
            (0..).zip(is_free).filter(|(_, is_free)| *is_free).map(|(i, _)| i).collect::<Vec<u32>>()
        };
        let free_nodes = free(&mut nodes.iter().map(|parts| *parts == [Word::NONE; 2]));
        let free_wires = free(&mut wires.iter().map(|word| *word == FREE));
        Ok(Heap::of(nodes, wires, [free_nodes, free_wires], limit))
    }
}

/// A wire that is free.
const FREE: Word = Word(u32::MAX);

/// Why a run has ended, from the word that says so.
fn stop(fault: u32) -> Stop {
    match fault & 15 {
        error::DIVISION => Stop::Number(NumError::DivisionByZero),
        error::UNSUPPORTED => {
            let op = BinOp::ALL.get((fault >> 4 & 255) as usize).copied().unwrap_or(BinOp::Add);
            let kinds = [NumKind::U24, NumKind::I24, NumKind::F24];
            let kind = kinds.into_iter().find(|kind| number::code(*kind) == fault >> 12);
            Stop::Number(NumError::Unsupported(op, kind.unwrap_or(NumKind::U24)))
        }
        error::COPIED => Stop::Copied(DefinitionId::new(fault >> 4)),
        error::MISTAKE => {
            let kind = |bits: u32| Word(bits & 15).kind();
            let (a, b) = (kind(fault >> 4), kind(fault >> 8));
            Stop::Mistake(meeting(a, b).0.mistake.unwrap_or(Code::Internal), a, b)
        }
        _ => Stop::Memory,
    }
}

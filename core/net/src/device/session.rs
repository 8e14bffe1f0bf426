//! The host's part of nets on devices: batches of supersteps, what goes to the device and what comes back.
//!
//! A session keeps the kernels and the memory of a device, so that the net of a program with effects goes there again after each of them.

use super::buffers::{BLOCK, BufferSizes, Buffers, SUMS, control, missing};
use super::collect::{self, Arrays};
use super::numbers::error;
use super::{DeviceStats, Kernels, LONGEST_ROUND, Options, kernels};
use crate::book::{Book, DefinitionId};
use crate::heap::Heap;
use crate::reduce::{Counts, Machine, Reducer};
use crate::rule_matching::{Size, Stop};
use crate::rules::{Rule, meeting};
use crate::word::Word;
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::{BinOp, NumError, NumKind};
use girih_base::words;
use girih_runtime::{Argument, Buffer, Command, Device, Dispatch, Grid, LoadOptions, Program, Read};
use girih_task::device::{self, WordBuffer, buffer, number};
use std::sync::atomic::Ordering;

/// If less than this part of the places is free after they were listed, memory is full.
const LEAST_FREE: u32 = 16;
/// If less than this part of the places is free after they were listed, calls wait for their arguments from then on.
const SCARCE: u32 = 2;
/// How many calls do not wait for their arguments when nothing else is left to be done for the first time.
const FIRST_WOKEN: u32 = 64;
/// No less memory than this is asked for because a device has not more.
const LEAST_MEMORY: u64 = 64 << 20;

/// Kernels and memory of a device for the nets of a book.
pub struct Session {
    device: Device,
    programs: [Program; 6],
    buffers: Buffers,
    shape: BufferSizes,
    /// The interactions of each way that calls take.
    ways: Vec<[u32; Rule::ALL.len()]>,
    /// The most supersteps that are submitted at once.
    batch: usize,
    stats: DeviceStats,
    /// `control` as it was when the host last looked.
    control: Vec<u32>,
    /// Interactions that lanes have counted and handed over, in this run.
    counted: Counts,
    /// Supersteps since lanes have handed over what they count, and how many of them their counters are sure to hold.
    supersteps: u64,
    holds: u64,
    /// Places from which on all nodes and all wires are 0.
    used_nodes: usize,
    used_wires: usize,
    /// Whether that is so, and lanes own no places.
    is_settled: bool,
    /// Whether lanes may have redexes on their stacks that no run needs.
    has_stopped: bool,
    /// Whether calls wait from the beginning on.
    waits: bool,
    /// How many calls that wait are woken when nothing else is left to be done.
    woken: u32,
}

impl Session {
    /// Loads the kernels of a book. `limit` are the most bytes that its nets may take, if that is less than what the options say.
    ///
    /// # Errors
    /// If a definition is too large for a device, the device refuses the kernels or has no room.
    pub fn open(book: &Book, device: &Device, options: &Options, limit: u64) -> Result<Session, Vec<Diagnostic>> {
        let straight = options.straight && !device.caps().rolled;
        let kernels = kernels(book, straight, options.together)?;
        let one = |error| vec![error];
        let mut options = *options;
        let mut shape = BufferSizes::new(&kernels, device, &options, limit).map_err(one)?;
        let names: Vec<_> = kernels.module.kernels().collect();
        // `@run` comes first.
        let indirect = names.iter().take(1).copied().collect();
        let programs = device.load(&kernels.module, &names, &LoadOptions { indirect, ..LoadOptions::default() })?;
        let buffers = loop {
            match Buffers::new(device, &shape, kernels.words.len()) {
                Ok(buffers) => break buffers,
                // A device that has less is asked for less.
                Err(error) if error.code == Code::DeviceMemory && shape.memory >= LEAST_MEMORY => {
                    options.memory = shape.memory / 2;
                    shape = BufferSizes::new(&kernels, device, &options, limit).map_err(one)?;
                }
                Err(error) => return Err(one(error)),
            }
        };
        Session::new(device, programs, buffers, shape, &options, kernels).map_err(one)
    }

    fn new(
        device: &Device,
        programs: Vec<Program>,
        buffers: Buffers,
        shape: BufferSizes,
        options: &Options,
        Kernels { words, ways, .. }: Kernels,
    ) -> Result<Session, Diagnostic> {
        let programs: [Program; 6] = programs.try_into().map_err(|_| missing())?;
        let stats = DeviceStats { lanes: shape.lanes, memory: shape.memory, ..DeviceStats::default() };
        // A lane counts less than 64 interactions of a rule in a step, and may end a superstep two rounds late.
        let holds = u64::from(u32::MAX >> 6) / (u64::from(shape.steps) + 2 * u64::from(LONGEST_ROUND));
        let session = Session {
            device: device.clone(),
            programs,
            buffers,
            shape,
            ways,
            batch: options.batch.max(1),
            stats,
            control: vec![0; control::WORDS],
            counted: Counts::default(),
            supersteps: 0,
            holds: options.drain.map_or(holds, |supersteps| holds.min(supersteps)),
            used_nodes: 0,
            used_wires: 0,
            is_settled: true,
            has_stopped: false,
            waits: options.waits,
            woken: FIRST_WOKEN,
        };
        session.write(&session.buffers.book, 0, &words)?;
        Ok(session)
    }

    /// What all runs have taken.
    pub fn stats(&self) -> DeviceStats {
        self.stats
    }

    /// Reduces the net of a machine of the same book until nothing is left to be done, and gives it back.
    ///
    /// # Errors
    /// As [`Machine::run`]; if the device fails.
    pub fn run(&mut self, machine: &mut Machine<'_>) -> Result<(), Diagnostic> {
        let counts = self.counted(machine)?;
        let heap = self.download(machine.limits().memory)?;
        machine.give(heap, vec![], &counts);
        Ok(())
    }

    /// As [`run`](Session::run), but what comes back is the net that a port leads to, and no more; and the port is another one there.
    ///
    /// # Errors
    /// As [`run`](Session::run).
    pub fn run_for(&mut self, machine: &mut Machine<'_>, port: Word) -> Result<Word, Diagnostic> {
        let counts = self.counted(machine)?;
        let (port, heap) = collect::copied(self.arrays(), port, machine.limits().memory)?;
        // Most runs are the only ones: what has been used is looked at when there is another one.
        self.is_settled = false;
        machine.give(heap, vec![], &counts);
        Ok(port)
    }

    fn arrays(&self) -> Arrays<'_> {
        let (device, places) = (&self.device, self.shape.places as usize);
        let nodes = WordBuffer { device, buffer: &self.buffers.nodes, words: 2 * places };
        Arrays { nodes, wires: WordBuffer { device, buffer: &self.buffers.wires, words: places } }
    }

    /// Reduces the net of a machine, which is on the device then, and says what was done.
    fn counted(&mut self, machine: &mut Machine<'_>) -> Result<Counts, Diagnostic> {
        let (heap, redexes) = machine.take();
        self.counted = Counts::default();
        self.upload(heap, &redexes)?;
        self.has_stopped = true;
        let stop = self.reduce(machine)?;
        self.has_stopped = stop.is_some();
        let counts = self.counts()?;
        self.stats.supersteps += u64::from(self.control[control::SUPERSTEPS]);
        if let Some(stop) = stop {
            machine.give(Heap::new(machine.limits().memory), vec![], &counts);
            let size = Size { interactions: machine.counts().total(), ..self.size() };
            return Err(stop.diagnostic(machine.book(), &size));
        }
        Ok(counts)
    }

    fn write(&self, to: &Buffer, word: u64, words: &[u32]) -> Result<(), Diagnostic> {
        device::write(&self.device, to, 4 * word, words)
    }

    fn read(&self, from: &Buffer, word: u64, count: usize) -> Result<Vec<u32>, Diagnostic> {
        device::read(&self.device, from, 4 * word, count)
    }

    fn look(&mut self) -> Result<(), Diagnostic> {
        self.control = self.read(&self.buffers.control, 0, control::WORDS)?;
        Ok(())
    }

    fn set(&mut self, word: usize, value: u32) -> Result<(), Diagnostic> {
        self.control[word] = value;
        self.write(&self.buffers.control, word as u64, &[value])
    }

    fn dispatch(&self, program: usize, arguments: Vec<Argument>, grid: Grid) -> Command {
        Command::Dispatch(Dispatch { program: self.programs[program].clone(), arguments, grid })
    }

    /// So many supersteps.
    fn commands(&self, count: usize) -> Vec<Command> {
        let Buffers { nodes, wires, lists, ring, stack, control, book, grid, .. } = &self.buffers;
        let BufferSizes { lanes, depth, reserve, ring: size, places, chunk, .. } = self.shape;
        let mut arguments = [nodes, wires, lists, ring, stack, control, book].map(buffer).to_vec();
        arguments.extend([lanes, depth, reserve, size - 1, places, chunk, self.shape.tops() as u32].map(number));
        let run = self.dispatch(0, arguments, Grid::Indirect(grid.clone()));
        let plan = vec![buffer(control), buffer(grid), number(lanes)];
        let plan = self.dispatch(1, plan, Grid::Workgroups([1, 1, 1]));
        [plan, run].iter().cycle().take(2 * count).cloned().collect()
    }

    fn upload(&mut self, heap: Heap, redexes: &[(Word, Word)]) -> Result<(), Diagnostic> {
        if !self.is_settled {
            self.leave()?;
        }
        let (mut nodes, mut wires, [free_nodes, free_wires]) = heap.trimmed().into_parts();
        free_nodes.into_iter().for_each(|i| nodes[i as usize] = [Word::NONE; 2]);
        free_wires.into_iter().for_each(|i| wires[i as usize] = FREE);
        let places = self.shape.places as usize;
        if nodes.len() > places || wires.len() > places || redexes.len() > self.shape.ring as usize {
            let size = Size { nodes: nodes.len(), wires: wires.len(), waiting: redexes.len(), ..self.size() };
            return Err(Stop::Memory.diagnostic(&Book::default(), &size));
        }
        if self.has_stopped {
            self.write(&self.buffers.stack, self.shape.tops(), &vec![0; 2 * self.shape.lanes as usize])?;
        }
        let plain = |words: Vec<Word>| words.into_iter().map(|word| word.0).collect::<Vec<u32>>();
        // What is left of the last block is not taken before it is listed.
        let whole_blocks = |count: usize| count.next_multiple_of(BLOCK as usize).min(places);
        let (used_nodes, used_wires) = (whole_blocks(nodes.len()), whole_blocks(wires.len()));
        // Nodes that an earlier run has left behind these would be taken for new ones, which are 0.
        nodes.resize(nodes.len().max(self.used_nodes), [Word::NONE; 2]);
        self.used_nodes = used_nodes;
        self.write(&self.buffers.nodes, 0, &plain(nodes.into_flattened()))?;
        // What an earlier run has left behind these is no longer there.
        wires.resize(used_wires, FREE);
        wires.resize(used_wires.max(self.used_wires), Word::NONE);
        self.used_wires = used_wires;
        self.write(&self.buffers.wires, 0, &plain(wires))?;
        let redexes: Vec<u32> = redexes.iter().flat_map(|(a, b)| [a.0, b.0]).collect();
        self.write(&self.buffers.ring, 0, &redexes)?;
        let mut words = vec![0; control::WORDS];
        let count = redexes.len() as u32 / 2;
        for (word, value) in [
            (control::TAIL, count),
            (control::LIMIT, 0),
            (control::NODE, used_nodes as u32),
            (control::NODE_END, self.shape.places),
            (control::WIRE, used_wires as u32),
            (control::WIRE_END, self.shape.places),
            (control::PATIENCE, 8),
            (control::STEPS, self.shape.steps),
            (control::NEVER_WAIT, u32::from(!self.waits)),
        ] {
            words[word] = value;
        }
        self.write(&self.buffers.control, 0, &words)?;
        self.control = words;
        self.woken = FIRST_WOKEN;
        Ok(())
    }

    /// Redexes that are in the ring.
    fn waiting(&self) -> u32 {
        let at = |word: usize| self.control[word];
        let given = at(control::LIMIT).wrapping_sub(at(control::BASE));
        let taken = at(control::HEAD).wrapping_sub(at(control::BASE)).min(given);
        at(control::TAIL).wrapping_sub(at(control::BASE).wrapping_add(taken))
    }

    /// Runs supersteps until nothing is left to be done, or says why the net stops.
    fn reduce(&mut self, machine: &Machine<'_>) -> Result<Option<Stop>, Diagnostic> {
        let limits = machine.limits();
        let mut batch = 2.min(self.batch);
        loop {
            if self.supersteps + batch as u64 > self.holds {
                self.drain()?;
            }
            let commands = self.commands(batch);
            let mut bytes = [0; 4 * control::WORDS];
            let mut reads = [Read::new(&self.buffers.control, 0, &mut bytes)];
            self.device.submit_and_read(&commands, &mut reads)?;
            self.control = words::from_bytes(&bytes);
            self.supersteps += batch as u64;
            batch = (2 * batch).min(self.batch);
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
                if !self.reclaim()? {
                    return Ok(Some(Stop::Memory));
                }
            } else if self.waiting() == 0 && self.control[control::OWNERS] == 0 && !self.wake()? {
                return Ok(None);
            }
        }
    }

    /// Marks the places for wires that lanes have taken and not used as free, and forgets that lanes have any. So are those that nobody has
    /// taken, up to [`control::WIRE_END`].
    fn settle(&mut self) -> Result<(), Diagnostic> {
        let Buffers { wires, lists, stack, control, .. } = &self.buffers;
        let BufferSizes { lanes, depth, places, .. } = self.shape;
        let settle = [wires, lists, stack, control].map(buffer).into_iter();
        let settle = settle.chain([lanes, depth, places].map(number)).collect();
        let settle = self.dispatch(2, settle, Grid::Own);
        self.device.submit(&[settle])?;
        self.device.wait()
    }

    /// Nothing else is left to be done: some calls do not wait for their arguments, which may depend on them. More do each time, and in the end no call waits any more.
    /// False if none has waited.
    fn wake(&mut self) -> Result<bool, Diagnostic> {
        if self.control[control::HAVE_WAITED] == 0 {
            return Ok(false);
        }
        let Buffers { wires, ring, control, .. } = self.buffers.clone();
        if self.may_wait() {
            self.set(control::WOKEN, self.woken)?;
        } else {
            self.set(control::NEVER_WAIT, 1)?;
            self.set(control::WOKEN, i32::MAX as u32)?;
        }
        let wake = [wires, ring, control].iter().map(buffer).collect::<Vec<_>>().into_iter();
        let wake = wake.chain([self.shape.ring - 1, self.reached(control::WIRE)].map(number)).collect();
        self.device.submit(&[self.dispatch(4, wake, Grid::Own)])?;
        self.look()?;
        self.woken = self.woken.saturating_mul(8);
        Ok(self.waiting() != 0)
    }

    /// Whether calls may wait: not if most arguments of the calls that did depended on them.
    fn may_wait(&self) -> bool {
        self.woken < self.shape.lanes
    }

    /// Lists what is free. False if that is next to nothing, or if nothing was done since it was done before.
    fn reclaim(&mut self) -> Result<bool, Diagnostic> {
        let Buffers { nodes, wires, lists, control, .. } = self.buffers.clone();
        let places = self.shape.places;
        let worked = self.control[control::WORKED] != 0 || self.control[control::LISTED] == 0;
        self.settle()?;
        for word in [control::NODE, control::NODE_END, control::WIRE, control::WIRE_END, control::FULL, control::WORKED]
        {
            self.set(word, 0)?;
        }
        self.set(control::LISTED, 1)?;
        let reclaim = |words: &Buffer, wide: u32, first: u32, counter: usize| {
            let reclaim = [words, &lists, &control].map(buffer).into_iter();
            let reclaim = reclaim.chain([places, wide, first, counter as u32].map(number)).collect();
            self.dispatch(5, reclaim, Grid::Own)
        };
        let reclaims = [reclaim(&nodes, 1, 0, control::NODE_END), reclaim(&wires, 0, places, control::WIRE_END)];
        self.device.submit(&reclaims)?;
        self.look()?;
        self.stats.reclaims += 1;
        let least = self.control[control::NODE_END].min(self.control[control::WIRE_END]);
        if least < places / SCARCE && self.may_wait() {
            self.set(control::NEVER_WAIT, 0)?;
        }
        Ok(worked && least >= places / LEAST_FREE)
    }

    /// Takes over what lanes have counted, so that their counters, of 32 bits, never wrap around.
    fn drain(&mut self) -> Result<(), Diagnostic> {
        let BufferSizes { lanes, counters, .. } = self.shape;
        let count = [&self.buffers.stack, &self.buffers.sums].map(buffer).into_iter();
        let count = count.chain([lanes, self.shape.counts() as u32, counters].map(number)).collect();
        let count = self.dispatch(3, count, Grid::Own);
        self.device.submit(&[count])?;
        let words = self.read(&self.buffers.sums, 0, counters as usize * SUMS as usize)?;
        // The lower and the upper halves of the counters of some lanes.
        let sum = |words: &[u32]| -> u64 {
            let (pairs, _) = words.as_chunks::<2>();
            pairs.iter().map(|[low, high]| u64::from(*low) + (u64::from(*high) << 16)).sum()
        };
        let mut sums = words.chunks(SUMS as usize).map(sum);
        for (rule, sum) in Rule::ALL.into_iter().zip(sums.by_ref()) {
            self.counted.add(rule, sum);
        }
        for (way, sum) in self.ways.iter().zip(sums) {
            for (rule, count) in Rule::ALL.into_iter().zip(way) {
                self.counted.add(rule, u64::from(*count) * sum);
            }
        }
        self.supersteps = 0;
        self.stats.drains += 1;
        Ok(())
    }

    /// What this run has done so far.
    fn counts(&mut self) -> Result<Counts, Diagnostic> {
        self.drain()?;
        let Size { nodes, wires, .. } = self.size();
        let mut counts = self.counted;
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

    /// Places from which on none has been used: those behind the block of the next place, if it is none of a list.
    fn reached(&self, next: usize) -> u32 {
        let places = self.shape.places;
        let is_listed = self.control[control::LISTED] != 0;
        if is_listed { places } else { self.control[next].min(places).next_multiple_of(BLOCK) }
    }

    /// Ends a run: lanes own no places any more, and what has been used is known.
    fn leave(&mut self) -> Result<(), Diagnostic> {
        let [nodes, wires] = [control::NODE, control::WIRE].map(|next| self.reached(next));
        if self.control[control::LISTED] == 0 {
            self.set(control::WIRE_END, wires)?;
        }
        self.settle()?;
        (self.used_nodes, self.used_wires) = (nodes as usize, wires as usize);
        self.is_settled = true;
        Ok(())
    }

    fn download(&mut self, limit: u64) -> Result<Heap, Diagnostic> {
        self.leave()?;
        let nodes = self.read(&self.buffers.nodes, 0, 2 * self.used_nodes)?;
        let wires = self.read(&self.buffers.wires, 0, self.used_wires)?;
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

impl Reducer for Session {
    fn reduce(&mut self, machine: &mut Machine<'_>) -> Result<(), Diagnostic> {
        // What is in normal form need not go there.
        if machine.is_done() { Ok(()) } else { self.run(machine) }
    }

    fn reduce_for(&mut self, machine: &mut Machine<'_>, port: Word) -> Result<Word, Diagnostic> {
        if machine.is_done() { Ok(port) } else { self.run_for(machine, port) }
    }
}

/// A wire that is free.
const FREE: Word = Word(u32::MAX);

/// Why a run has ended, from the word that says so.
fn stop(fault: u32) -> Stop {
    let kind = |position: u32| NumKind::ALL.get((position & 15) as usize).copied().unwrap_or(NumKind::U24);
    let ports = [4, 8].map(|bit| Word(fault >> bit & 15).kind());
    match fault & 15 {
        error::DIVISION => Stop::Number(NumError::DivisionByZero),
        error::UNSUPPORTED => {
            let op = BinOp::ALL.get((fault >> 4 & 255) as usize).copied().unwrap_or(BinOp::Add);
            Stop::Number(NumError::Unsupported(op, kind(fault >> 12)))
        }
        error::MIXED => Stop::Number(NumError::Mixed(kind(fault >> 4), kind(fault >> 8))),
        error::NOT_FLOAT => Stop::Number(NumError::NotFloat(kind(fault >> 4))),
        error::COPIED => Stop::Copied(DefinitionId::new(fault >> 4)),
        error::MISTAKE => {
            Stop::Mistake(meeting(ports[0], ports[1]).0.mistake.unwrap_or(Code::Internal), ports[0], ports[1])
        }
        error::NOT_A_NUMBER => Stop::Mistake(Code::NotANumber, ports[0], ports[1]),
        error::FULL => Stop::Memory,
        // Lanes write no other.
        _ => Stop::Mistake(Code::Internal, ports[0], ports[1]),
    }
}

//! Collection: when a heap that may not grow any more is full, the cells that are still needed are found between two epochs, and moved to its
//! beginning.
//!
//! Cells that several words name are not given back when the last of these goes, so without this a program that shares much runs out of memory
//! though little of it is needed. The device does all the work (`collect.gir`): it marks what tasks, frames and globals lead to, adds up how much of that
//! comes before each place, and copies cells down, a part of the heap at a time, by a buffer of that size. What the heap held when the call
//! began the host may have words for, so it stays where it is, and is never given back here.
//!
//! Between two calls the same is done for what some words of the host lead to ([`keep`](super::keep)).
//!
//! Near the end of such a heap lanes run *tightly*: no segment begins that its workgroup's chunk might have no memory for, so nothing is given up half
//! done, and the epoch ends when there is no chunk left.
//!
//! Invariant: what is needed is exact. Each label says which of its words name cells, and each layout which of its fields.

use super::ForkJoinRunner;
use crate::device::{buffer, missing, number};
use crate::forkjoin::memory::{ProgramSizes, TIGHT, control, group, lane};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_base::words;
use girih_ir::{Type, text, verify};
use girih_runtime::Fault;
use girih_runtime::{Buffer, Command, Device, Dispatch, Grid, LoadOptions, Memory, Program, Read};
use std::sync::atomic::Ordering;

const KERNELS: &str = include_str!("collect.gir");
/// Invocations of a workgroup of these kernels.
const WORKGROUP: u32 = 64;
/// Most workgroups.
const GROUPS: u32 = 1 << 10;
/// How far a lane follows cells in a dispatch.
const STEPS: u32 = 1 << 10;
/// Dispatches that follow cells before the host looks; an even number, because they take turns.
const BATCH: usize = 16;
/// A collection that leaves less than this part of the heap free was the last one of a call.
const LEAST: u32 = 16;
/// Words of the list before its cells.
const LIST: u64 = 8;

/// The kernels, in the order of the text, and what they need to know of the program.
#[derive(Debug)]
pub(super) struct Collector {
    settle: Program,
    roots: Program,
    given: Program,
    trace: Program,
    rescan: Program,
    live: Program,
    sum: Program,
    before: Program,
    stay: Program,
    gather: Program,
    layouts: Buffer,
    pointers: Buffer,
    /// Words of a layout's row.
    stride: u32,
}

/// What leads to all cells that are needed.
pub(super) enum Roots {
    /// What lanes have left between two epochs.
    Lanes,
    /// So many words of the host, and nothing else.
    Words {
        /// The words.
        words: Buffer,
        /// How many there are.
        count: u32,
    },
}

/// What is there for one collection.
struct Sizes {
    /// The heap's units, and the first one that may move.
    units: u32,
    base: u32,
    /// Words that have a bit for each unit, and where in `marks` each kind of words begins.
    words: u32,
    live: u32,
    before: u32,
    blocks: u32,
    tops: u32,
    /// Cells that a half of the list has room for.
    capacity: u32,
    /// Units that are moved at once.
    part: u32,
    /// Invocations.
    lanes: u32,
}

/// Buffers of one collection.
struct Room {
    marks: Buffer,
    list: Buffer,
    copy: Buffer,
}

impl Collector {
    /// Loads the kernels.
    fn open(
        device: &Device,
        layouts: impl ExactSizeIterator<Item = Vec<u32>>,
        pointers: &[u32],
    ) -> Result<Collector, Vec<Diagnostic>> {
        let one = |diagnostic| vec![diagnostic];
        let module = verify(text::parse(Span::NONE.source, KERNELS)?.module)?;
        let kernels: Vec<_> = module.kernels().collect();
        let programs = device.load(&module, &kernels, &LoadOptions::default())?;
        let Ok([settle, roots, given, trace, rescan, live, sum, before, stay, gather]) =
            <[Program; 10]>::try_from(programs)
        else {
            return Err(one(missing()));
        };
        let rows: Vec<Vec<u32>> = layouts.collect();
        let stride = 1 + rows.iter().map(Vec::len).max().unwrap_or(0) as u32;
        let mut table = vec![0; rows.len() * stride as usize];
        for (to, row) in table.chunks_exact_mut(stride as usize).zip(&rows) {
            to[0] = row.len() as u32;
            to[1..=row.len()].copy_from_slice(row);
        }
        // A buffer has a word at least.
        let filled = |words: &[u32]| device.upload(&words::to_bytes(if words.is_empty() { &[0] } else { words }));
        let (layouts, pointers) = (filled(&table).map_err(one)?, filled(pointers).map_err(one)?);
        Ok(Collector {
            settle,
            roots,
            given,
            trace,
            rescan,
            live,
            sum,
            before,
            stay,
            gather,
            layouts,
            pointers,
            stride,
        })
    }
}

impl Sizes {
    fn of(units: u32, base: u32, lanes: u32) -> Sizes {
        // A word more than there are: whoever looks behind the last cell finds it.
        let words = units / 32 + 1;
        let blocks = 3 * words + 1;
        let part = (units / 16).clamp(1 << 10, 1 << 22).next_multiple_of(32);
        let capacity = (units / 256).clamp(1 << 6, 1 << 20);
        let lanes = (lanes / WORKGROUP).clamp(1, GROUPS) * WORKGROUP;
        let tops = blocks + words.div_ceil(256) + 1;
        Sizes { units, base, words, live: words, before: 2 * words, blocks, tops, capacity, part, lanes }
    }
    /// Words of `marks`.
    fn marks(&self) -> u64 {
        u64::from(self.tops) + u64::from(self.words / (256 * 256)) + 2
    }
    fn run(&self, program: &Program, buffers: &[&Buffer], numbers: &[u32]) -> Command {
        let numbers = numbers.iter().chain([&self.lanes]).map(|value| number(*value));
        let arguments = buffers.iter().map(|place| buffer(place)).chain(numbers).collect();
        let program = program.clone();
        Command::Dispatch(Dispatch { program, arguments, grid: Grid::Workgroups([self.lanes / WORKGROUP, 1, 1]) })
    }
}

/// Where a part of the heap begins: what comes before it of what is needed, and how many of its first units are those of a cell that begins before it.
#[derive(Clone, Copy)]
struct Border {
    unit: u32,
    before: u32,
    over: u32,
}

impl ForkJoinRunner {
    /// The heap is full and may not grow: from now on lanes run tightly; or it is collected. Says whether there is room again.
    pub(super) fn make_room(&mut self) -> Result<(), Fault> {
        if !self.tight {
            return self.run_tightly().map_err(Fault::Device);
        }
        let units = self.seen(control::HEAP_END);
        // What is left free is used up, and then that is said.
        self.gave_up = match self.collect() {
            // Nobody begins anything where a workgroup has no chunk for all of its lanes.
            Ok(live) => {
                units - live.min(units) <= (units / LEAST).max(self.shape.workgroup * self.shape.reserve.max(1))
            }
            Err(Fault::Device(error)) if error.code == Code::DeviceMemory => true,
            Err(fault) => return Err(fault),
        };
        self.set_end().map_err(Fault::Device)
    }

    /// From now on lanes run tightly. Their kernel is compiled when that happens first.
    pub(super) fn run_tightly(&mut self) -> Result<(), Diagnostic> {
        self.tight = true;
        let kernels = &mut self.kernels;
        if kernels.tight.is_none() {
            let specialisations = vec![(TIGHT.into(), 1)];
            let options = LoadOptions { specialisations, indirect: vec![kernels.run], ..LoadOptions::default() };
            let made = self.device.load(&kernels.module, &[kernels.run], &options);
            let made = made.map_err(|errors| errors.into_iter().next().unwrap_or_else(missing))?;
            kernels.tight = Some(made.into_iter().next().ok_or_else(missing)?);
        }
        self.set_end()
    }

    /// Frees what nobody needs; gives the first unit that is free then.
    fn collect(&mut self) -> Result<u32, Fault> {
        let top = self.reclaim(self.begun.top.max(self.shape.first_unit()), &Roots::Lanes)?;
        self.collections += 1;
        self.set(control::HEAP_TOP, top).map_err(Fault::Device)?;
        self.set(control::STARVED, 0).map_err(Fault::Device)?;
        Ok(top)
    }

    /// Moves what some roots need to the heap's beginning, from a unit on; gives the first unit that is free then. The roots name cells where they are
    /// then.
    pub(super) fn reclaim(&mut self, base: u32, roots: &Roots) -> Result<u32, Fault> {
        let one = |errors: Vec<Diagnostic>| Fault::Device(errors.into_iter().next().unwrap_or_else(missing));
        let collector = match self.collector.take() {
            Some(collector) => collector,
            None => {
                let terms = |layout: &girih_ir::heap::Layout| {
                    let fields = (0..).zip(&layout.fields).filter(|(_, ty)| **ty == Type::Term);
                    fields.map(|(field, _)| field).collect::<Vec<u32>>()
                };
                let rows: Vec<Vec<u32>> = self.layouts.iter().map(terms).collect();
                Collector::open(&self.device, rows.into_iter(), &self.pointers).map_err(one)?
            }
        };
        let units = self.seen(control::HEAP_TOP).min(self.seen(control::HEAP_END));
        let sizes = Sizes::of(units, base, self.options.lanes);
        let mut made = vec![];
        let bytes = [
            4 * sizes.marks(),
            4 * (LIST + 2 * u64::from(sizes.capacity)),
            8 * u64::from(sizes.part + self.shape.largest),
        ];
        let mut failed = None;
        for bytes in bytes {
            match self.device.zeroed(Memory { bytes, indirect: false }) {
                Ok(buffer) => made.push(buffer),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let result = match (failed, <[Buffer; 3]>::try_from(made)) {
            (None, Ok([marks, list, copy])) => self.reclaim_in(&collector, &sizes, &Room { marks, list, copy }, roots),
            (failed, _) => Err(Fault::Device(failed.unwrap_or_else(missing))),
        };
        self.collector = Some(collector);
        self.cells.borrow_mut().forget();
        result
    }

    fn reclaim_in(&mut self, collector: &Collector, sizes: &Sizes, room: &Room, roots: &Roots) -> Result<u32, Fault> {
        let mut commands = match roots {
            Roots::Lanes => self.settle(collector, sizes),
            Roots::Words { .. } => vec![],
        };
        commands.push(self.visit_roots(collector, sizes, room, roots, false));
        self.mark(collector, sizes, room, commands)?;
        let live = self.measure(collector, sizes, room).map_err(Fault::Device)?;
        self.move_cells(collector, sizes, room, roots).map_err(Fault::Device)?;
        Ok(sizes.base + live)
    }

    /// The dispatch that goes over all roots: to mark what they name, or when cells move.
    fn visit_roots(&self, collector: &Collector, sizes: &Sizes, room: &Room, roots: &Roots, moves: bool) -> Command {
        match roots {
            Roots::Lanes => self.visit_lanes(collector, sizes, room, moves),
            Roots::Words { words, count } => sizes.run(
                &collector.given,
                &[words, &room.marks, &room.list],
                &[
                    u32::from(moves),
                    self.shape.first_unit(),
                    sizes.capacity,
                    sizes.live,
                    sizes.before,
                    sizes.base,
                    *count,
                ],
            ),
        }
    }

    /// The same for all that lanes have left.
    fn visit_lanes(&self, collector: &Collector, sizes: &Sizes, room: &Room, moves: bool) -> Command {
        let ProgramSizes { registers, results, kept, globals, .. } = self.shape;
        let begin = self.seen(control::HEAD).wrapping_add(self.seen(control::HANDED));
        let tasks = self.seen(control::TAIL).wrapping_sub(begin);
        let (buffers, pool) = (&self.buffers, self.options.frames);
        sizes.run(
            &collector.roots,
            &[
                &buffers.frames,
                &buffers.pending,
                &buffers.queue,
                &buffers.control,
                &collector.pointers,
                &room.marks,
                &room.list,
            ],
            &[
                u32::from(moves),
                self.shape.first_unit(),
                sizes.capacity,
                sizes.live,
                sizes.before,
                sizes.base,
                pool,
                registers,
                results,
                kept,
                self.labels.len() as u32,
                begin,
                tasks,
                control::GLOBALS,
                2 * globals,
            ],
        )
    }

    /// What is free is known as such.
    fn settle(&self, collector: &Collector, sizes: &Sizes) -> Vec<Command> {
        let (pool, groups) = (self.options.frames, self.options.lanes / self.options.form.workgroup);
        let (taken, there) = (self.seen(control::FRAME_HEAD), self.seen(control::FRAME_LIMIT));
        let begin = if taken.wrapping_sub(there).cast_signed() > 0 { there } else { taken };
        let free = self.seen(control::FRAME_TAIL).wrapping_sub(begin);
        let (ring, kept) = (pool * self.shape.pool_frame(), group::KEPT.len() as u32);
        let settle = sizes.run(
            &collector.settle,
            &[&self.buffers.frames, &self.buffers.control],
            &[pool, ring, begin, free, self.shape.groups(), self.shape.group(), kept, groups],
        );
        // Cells that lanes had free are where others come.
        let lists = Command::clear(
            &self.buffers.frames,
            4 * u64::from(ring + 2 * pool),
            4 * u64::from(self.options.lanes * lane::CLASSES),
        );
        vec![settle, lists]
    }

    /// Marks all that is needed, behind commands that mark what the roots name.
    fn mark(
        &mut self,
        collector: &Collector,
        sizes: &Sizes,
        room: &Room,
        mut commands: Vec<Command>,
    ) -> Result<(), Fault> {
        let (first, heap) = (self.shape.first_unit(), self.buffers.heap.clone());
        let buffers = [&heap, &room.marks, &room.list, &collector.layouts];
        loop {
            for i in 0..BATCH as u32 {
                let half = i % 2;
                commands.push(Command::clear(&room.list, 4 * u64::from(1 - half), 4));
                let numbers = [half, first, sizes.capacity, collector.stride, STEPS];
                commands.push(sizes.run(&collector.trace, &buffers, &numbers));
            }
            let found = self.after(&commands, &[(&room.list, 0, 3)]).map_err(Fault::Device)?;
            if self.task.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                return Err(Fault::Interrupted);
            }
            commands.clear();
            match found[0][..] {
                [0, _, 0] => return Ok(()),
                // More was found than there was room for: all that is marked is looked at again.
                [0, _, _more] => {
                    commands.push(Command::clear(&room.list, 0, 12));
                    let numbers = [sizes.words, first, sizes.capacity, collector.stride];
                    commands.push(sizes.run(&collector.rescan, &buffers, &numbers));
                }
                _ => {}
            }
        }
    }

    /// Finds where what is needed comes; gives how many units it takes.
    fn measure(&mut self, collector: &Collector, sizes: &Sizes, room: &Room) -> Result<u32, Diagnostic> {
        let Sizes { words, live, before, blocks, tops, base, .. } = *sizes;
        let (many, few) = (words.div_ceil(256), words.div_ceil(256).div_ceil(256));
        let marks = [&room.marks];
        let commands = [
            sizes.run(&collector.live, &[&self.buffers.heap, &room.marks], &[words, live, base]),
            sizes.run(&collector.sum, &marks, &[live, blocks, words, 1]),
            sizes.run(&collector.sum, &marks, &[blocks, tops, many, 0]),
            sizes.run(&collector.before, &marks, &[tops, tops, tops, few, 0, 1]),
            sizes.run(&collector.before, &marks, &[blocks, tops, blocks, many, 0, 0]),
            sizes.run(&collector.before, &marks, &[live, blocks, before, words, 1, 0]),
        ];
        let found = self.after(&commands, &[(&room.marks, before + words, 1)])?;
        Ok(found[0][0])
    }

    /// Moves cells, and says so wherever they are named.
    fn move_cells(
        &mut self,
        collector: &Collector,
        sizes: &Sizes,
        room: &Room,
        roots: &Roots,
    ) -> Result<(), Diagnostic> {
        let Sizes { words, live, before, base, part, units, .. } = *sizes;
        let borders = self.borders(sizes, room)?;
        let mut commands = vec![self.visit_roots(collector, sizes, room, roots, true)];
        if base > self.shape.first_unit() {
            let numbers = [words, live, before, base, collector.stride];
            let buffers = [&self.buffers.heap, &room.marks, &collector.layouts];
            commands.push(sizes.run(&collector.stay, &buffers, &numbers));
        }
        for pair in borders.windows(2) {
            let [from, to] = [pair[0], pair[1]];
            // Cells that begin here, up to where the last one of them ends.
            let (begin, end) = (from.before + from.over, to.before + to.over);
            if begin == end {
                continue;
            }
            let numbers = [from.unit, to.unit.min(units), base + begin, live, before, base, collector.stride];
            let buffers = [&self.buffers.heap, &room.marks, &collector.layouts, &room.copy];
            debug_assert!(end - begin <= part + self.shape.largest);
            commands.push(sizes.run(&collector.gather, &buffers, &numbers));
            let to = (&self.buffers.heap, 8 * u64::from(base + begin));
            commands.push(Command::copy((&room.copy, 0), to, 8 * u64::from(end - begin)));
        }
        self.after(&commands, &[]).map(drop)
    }

    /// Where the parts of the heap begin that are moved at once, and where the last one ends.
    fn borders(&mut self, sizes: &Sizes, room: &Room) -> Result<Vec<Border>, Diagnostic> {
        let Sizes { words, live, before, part, .. } = *sizes;
        // As many words as the largest cell may reach into.
        let reach = self.shape.largest / 32 + 2;
        let all: Vec<u32> = (0..words).step_by(part as usize / 32).chain([words]).collect();
        let wanted = |at: &u32| {
            let count = reach.min(words - at) as usize;
            [(&room.marks, *at, count), (&room.marks, live + at, count), (&room.marks, before + at, 1)]
        };
        let places: Vec<(&Buffer, u32, usize)> = all.iter().flat_map(wanted).filter(|place| place.2 > 0).collect();
        let mut found = self.after(&[], &places)?.into_iter();
        let mut next = |is_there: bool| if is_there { found.next().unwrap_or_default() } else { vec![] };
        let border = |at: u32| {
            let (marks, lives, before) = (next(at < words), next(at < words), next(true));
            let mut over = 0;
            for (mark, live) in marks.iter().zip(&lives) {
                let here = (live & !mark).trailing_ones();
                over += here;
                if here < 32 {
                    break;
                }
            }
            Border { unit: 32 * at, before: before.first().copied().unwrap_or(0), over }
        };
        Ok(all.into_iter().map(border).collect())
    }

    /// Does something, and reads words that it has left.
    fn after(&mut self, commands: &[Command], places: &[(&Buffer, u32, usize)]) -> Result<Vec<Vec<u32>>, Diagnostic> {
        let mut bytes: Vec<Vec<u8>> = places.iter().map(|(_, _, count)| vec![0; 4 * count]).collect();
        let mut reads: Vec<Read<'_>> = (places.iter().zip(&mut bytes))
            .map(|((buffer, at, _), bytes)| Read::new(buffer, 4 * u64::from(*at), bytes))
            .collect();
        self.device.submit_and_read(commands, &mut reads)?;
        self.dispatches += commands.iter().filter(|command| matches!(command, Command::Dispatch(_))).count() as u64;
        self.submissions += 1;
        Ok(bytes.iter().map(|bytes| words::from_bytes(bytes)).collect())
    }
}

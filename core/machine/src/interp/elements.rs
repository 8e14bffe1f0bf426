//! Regions that run on elements of tiles: `tile.map`, `tile.reduce`, `tile.scan`.
//!
//! An operation under way keeps its elements in buffers and a schedule of evaluations. Each evaluation puts elements into the places of
//! the region's parameters and runs the region; what the region gives goes back into the buffers. Nothing recurses.

use super::code::{Action, Slot, Step};
use super::machine::Machine;
use girih_ir::eval::Function as Meaning;
use girih_ir::ops::Op;
use girih_ir::types::Type;

/// One run of a region: where its elements are, and where what it gives goes.
#[derive(Clone, Copy, Debug)]
struct Evaluation {
    first: usize,
    second: usize,
    to: usize,
}

/// In which order elements are combined.
#[derive(Clone, Copy, Debug)]
enum Schedule {
    /// Each by itself.
    Map,
    /// Neighbours first, as a tree: `rest` elements are left in each line.
    Reduce { rest: usize },
    /// Along the lines.
    Scan { reverse: bool },
}

/// An operation under way.
#[derive(Debug)]
pub(super) struct Elements {
    schedule: Schedule,
    /// Elements of each operand, or what they have become.
    buffers: Vec<Vec<u64>>,
    /// What `tile.map` has made.
    made: Vec<Vec<u64>>,
    /// Length of the axis, and of all dimensions behind it together.
    length: usize,
    inner: usize,
    /// Which evaluation comes next.
    next: usize,
    /// The one that runs.
    now: Evaluation,
    params: Vec<Slot>,
    results: Vec<Slot>,
    start: usize,
    end: usize,
}

impl Elements {
    /// How many lines there are.
    fn lines(&self) -> usize {
        self.buffers.first().map_or(0, Vec::len) / self.length.max(1)
    }

    /// Where an element of a line stands.
    fn place(&self, line: usize, at: usize) -> usize {
        (line / self.inner * self.length + at) * self.inner + line % self.inner
    }

    /// The evaluation that comes next, if one does.
    fn advance(&mut self) -> Option<Evaluation> {
        let lines = self.lines();
        let (next, elements) = (self.next, lines * self.length);
        self.next += 1;
        match self.schedule {
            Schedule::Map => (next < elements).then_some(Evaluation { first: next, second: next, to: next }),
            Schedule::Reduce { rest } if rest < 2 => None,
            Schedule::Reduce { rest } => {
                let (half, line) = (rest / 2, next % lines);
                let at = next / lines;
                if at + 1 == half && line + 1 == lines {
                    self.schedule = Schedule::Reduce { rest: half };
                    self.next = 0;
                }
                let (first, second) = (self.place(line, 2 * at), self.place(line, 2 * at + 1));
                Some(Evaluation { first, second, to: self.place(line, at) })
            }
            Schedule::Scan { reverse } => {
                let (at, line) = (next / lines + 1, next % lines);
                if at >= self.length {
                    return None;
                }
                let place = |at: usize| self.place(line, if reverse { self.length - 1 - at } else { at });
                Some(Evaluation { first: place(at - 1), second: place(at), to: place(at) })
            }
        }
    }

    /// What the operation gives: one list for each result.
    fn finish(self) -> Vec<Vec<u64>> {
        match self.schedule {
            Schedule::Map => self.made,
            Schedule::Scan { .. } => self.buffers,
            Schedule::Reduce { .. } => {
                let lines = self.lines();
                let firsts = |buffer: &Vec<u64>| (0..lines).map(|line| buffer[self.place(line, 0)]).collect();
                self.buffers.iter().map(firsts).collect()
            }
        }
    }
}

impl Machine<'_> {
    pub(super) fn begin_elements(&mut self, step: &Step, params: &[Slot], end: usize) {
        let inst = self.inst(step);
        let (axis, reverse) = (inst.axis() as usize, inst.has(girih_ir::AttrKind::Reverse));
        let function = &self.program.module.functions[self.activation.function];
        let shape = inst.operands.first().and_then(|v| function.ty(*v).shape()).map_or(vec![], |s| s.to_vec());
        let length = shape.get(axis).copied().unwrap_or(1) as usize;
        let inner = shape.get(axis + 1..).map_or(1, |rest| rest.iter().product::<u64>()) as usize;
        let values = |slot: &Slot| self.activation.values[slot.offset..slot.offset + slot.components].to_vec();
        let buffers: Vec<Vec<u64>> = step.operands.iter().map(values).collect();
        let schedule = match step.op {
            Op::TileReduce => Schedule::Reduce { rest: length },
            Op::TileScan => Schedule::Scan { reverse },
            Op::TileMap => Schedule::Map,
            other => unreachable!("`{}` runs no region on elements", other.name()),
        };
        let made = match schedule {
            Schedule::Map => step.results.iter().map(|slot| vec![0; slot.components]).collect(),
            Schedule::Reduce { .. } | Schedule::Scan { .. } => vec![],
        };
        let now = Evaluation { first: 0, second: 0, to: 0 };
        let (start, results) = (self.next, step.results.clone());
        let elements = Elements {
            schedule,
            buffers,
            made,
            length,
            inner,
            next: 0,
            now,
            params: params.to_vec(),
            results,
            start,
            end,
        };
        match self.single_operation(&elements) {
            Some(f) => self.combine_directly(elements, f),
            None => {
                self.elements.push(elements);
                self.next_element();
            }
        }
    }

    /// The region has given its values.
    pub(super) fn give_elements(&mut self, step: &Step) {
        let values: Vec<u64> = step.operands.iter().map(|slot| self.activation.values[slot.offset]).collect();
        let Some(elements) = self.elements.last_mut() else { return };
        let to = elements.now.to;
        let targets =
            if matches!(elements.schedule, Schedule::Map) { &mut elements.made } else { &mut elements.buffers };
        for (target, value) in targets.iter_mut().zip(values) {
            target[to] = value;
        }
        self.next_element();
    }

    /// Goes on with the innermost operation that works by element.
    fn next_element(&mut self) {
        let Some(elements) = self.elements.last_mut() else { return };
        let Some(now) = elements.advance() else {
            if let Some(elements) = self.elements.pop() {
                self.finish_elements(elements);
            }
            return;
        };
        elements.now = now;
        let (first, second) = elements.params.split_at(elements.buffers.len().min(elements.params.len()));
        for (slots, at) in [(first, now.first), (second, now.second)] {
            for (slot, buffer) in slots.iter().zip(&elements.buffers) {
                self.activation.values[slot.offset] = buffer[at];
                // Its place may have been that of a value that was undefined.
                if let Some(origin) = self.activation.origins.get_mut(slot.offset) {
                    *origin = 0;
                }
            }
        }
        self.next = elements.start;
    }

    fn finish_elements(&mut self, elements: Elements) {
        self.next = elements.end;
        let results = elements.results.clone();
        for (slot, values) in results.iter().zip(elements.finish()) {
            let places = slot.offset..slot.offset + slot.components;
            self.activation.values[places.clone()].copy_from_slice(&values);
            self.activation.origins.get_mut(places).into_iter().flatten().for_each(|origin| *origin = 0);
        }
    }

    /// The region's only operation, if it is arithmetic on its two parameters in order.
    fn single_operation(&self, elements: &Elements) -> Option<fn(u64, u64) -> u64> {
        let [step, end] = self.code.steps.get(elements.start..elements.end)? else { return None };
        let (Action::Apply(Meaning::Binary(f)), Action::Give) = (&step.action, &end.action) else { return None };
        let alone = elements.buffers.len() == 1 && step.operands == elements.params && step.results == end.operands;
        (alone && !matches!(step.ty, Type::Tile(_))).then_some(*f)
    }

    fn combine_directly(&mut self, mut elements: Elements, f: fn(u64, u64) -> u64) {
        while let Some(Evaluation { first, second, to }) = elements.advance() {
            let buffer = &mut elements.buffers[0];
            buffer[to] = f(buffer[first], buffer[second]);
        }
        self.finish_elements(elements);
    }

    /// Arithmetic on all elements of tiles, or on scalars of a program.
    pub(super) fn apply_to_tiles(&mut self, step: &Step, meaning: Meaning) {
        let values = &mut self.activation.values;
        let (to, count) = (step.results[0].offset, step.results[0].components);
        match (meaning, &step.operands[..]) {
            (Meaning::Unary(f), [a]) => (0..count).for_each(|i| values[to + i] = f(values[a.offset + i])),
            (Meaning::Binary(f), [a, b]) => {
                (0..count).for_each(|i| values[to + i] = f(values[a.offset + i], values[b.offset + i]));
            }
            (Meaning::Ternary(f), [a, b, c]) => {
                (0..count).for_each(|i| {
                    values[to + i] = f(values[a.offset + i], values[b.offset + i], values[c.offset + i]);
                });
            }
            // The verifier counts operands.
            (Meaning::Unary(_) | Meaning::Binary(_) | Meaning::Ternary(_), _) => {}
        }
    }
}

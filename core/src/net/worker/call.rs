//! Calls: a definition's net comes into being, and its root meets the caller's pairs at once.

use super::code::{Code, Node, Operand, Pattern};
use super::memory::Memory;
use super::{LEAST, Worker, is_pair};
use crate::net::rules::Rule;
use crate::net::word::{Kind, Word};

impl<'b, M: Memory> Worker<'b, M> {
    /// A definition meets a node that takes it apart.
    #[inline(always)]
    pub(super) fn call(&mut self, definition: Word, port: Word) {
        let code: &'b Code = &self.codes[definition.index()];
        if !self.begin(code) {
            return;
        }
        let unmet = self.meet(code, code.root, port, 0);
        self.make(code, unmet);
    }

    /// A definition meets a pair of these parts, which need not come into being.
    #[inline(always)]
    pub(super) fn call_with(&mut self, definition: Word, parts: [Word; 2]) {
        let code: &'b Code = &self.codes[definition.index()];
        if !self.begin(code) {
            return;
        }
        let unmet = match code.root {
            Pattern::Pair(at) => {
                self.counts.add(Rule::Annihilate, 1);
                let [first, second] = code.pairs[at as usize].parts;
                self.pending.push((second, parts[1]));
                self.meet(code, first, parts[0], 1 << at)
            }
            Pattern::Wire(..) | Pattern::Other(_) => {
                let pair = self.node(Kind::Con);
                self.write(pair, parts);
                self.meet(code, code.root, pair, 0)
            }
        };
        self.make(code, unmet);
    }

    /// Counts a call, and sees to it that there is room for it. False if there is none.
    #[inline(always)]
    fn begin(&mut self, code: &Code) -> bool {
        let (nodes, wires) = (code.nodes + LEAST, code.wires + LEAST);
        if (self.free_nodes.len() < nodes || self.free_wires.len() < wires)
            && let Err(stop) = self.refill(nodes, wires)
        {
            self.stop = Some(stop);
            return false;
        }
        self.counts.add(Rule::Call, 1);
        for register in &code.ends {
            self.registers[*register as usize] = Word::NONE;
        }
        true
    }

    /// The pattern meets what the caller has: pairs annihilate, and wires become what is there. `met` has a bit for each pair that was
    /// met; comes back with all of them. What is left to be linked is in `pending`.
    #[inline(always)]
    fn meet(&mut self, code: &Code, pattern: Pattern, port: Word, mut met: u64) -> u64 {
        let (mut pattern, mut port) = (pattern, port);
        // What cannot meet here stays at the lower end of the list.
        let mut kept = 0;
        loop {
            match pattern {
                Pattern::Wire(register, guarded) => {
                    let before = self.registers[register as usize];
                    if before != Word::NONE {
                        self.link(before, port);
                    } else {
                        let is_number = matches!(port.kind(), Kind::Num | Kind::Box);
                        self.registers[register as usize] = if guarded && is_number { self.behind(port) } else { port };
                    }
                }
                Pattern::Pair(at) => {
                    let end = self.enter(port);
                    if is_pair(end) {
                        self.counts.add(Rule::Annihilate, 1);
                        met |= 1 << at;
                        let parts = self.parts(end);
                        self.free(end);
                        let [first, second] = code.pairs[at as usize].parts;
                        self.pending.push((second, parts[1]));
                        (pattern, port) = (first, parts[0]);
                        continue;
                    }
                    self.keep(&mut kept, (pattern, end));
                }
                Pattern::Other(_) => self.keep(&mut kept, (pattern, port)),
            }
            if self.pending.len() == kept {
                return met;
            }
            // It is longer than what is kept.
            (pattern, port) = self.pending.pop().unwrap_or((pattern, port));
        }
    }

    #[inline(always)]
    fn keep(&mut self, kept: &mut usize, what: (Pattern, Word)) {
        self.pending.insert(*kept, what);
        *kept += 1;
    }

    /// A wire that is linked with a port already.
    #[cold]
    fn behind(&mut self, port: Word) -> Word {
        let wire = self.wire();
        self.memory.set(wire.index() as u32, port);
        wire
    }

    #[inline(always)]
    fn operand(&self, operand: Operand) -> Word {
        Word(operand.word | self.registers[operand.register as usize].0)
    }

    /// Puts what is left of a definition's net into the memory.
    #[inline(always)]
    fn make(&mut self, code: &Code, met: u64) {
        for register in &code.inner {
            self.registers[*register as usize] = self.wire();
        }
        for node in &code.body {
            self.registers[node.register as usize] = self.node(node.kind);
        }
        if met.count_ones() as usize != code.pairs.len() {
            self.make_pairs(code, met);
        }
        for node in &code.body {
            self.fill(node);
        }
        for (a, b) in &code.links {
            self.link(self.operand(*a), self.operand(*b));
        }
        while let Some((pattern, port)) = self.pending.pop() {
            let end = match pattern {
                Pattern::Wire(register, _) => self.registers[register as usize],
                Pattern::Pair(at) => self.registers[code.pairs[at as usize].node.register as usize],
                Pattern::Other(operand) => self.operand(operand),
            };
            self.link(end, port);
        }
    }

    #[inline(always)]
    fn fill(&mut self, node: &Node) {
        let parts = node.parts.map(|part| self.operand(part));
        self.write(self.registers[node.register as usize], parts);
    }

    /// The pairs of the pattern that have not met any, and the wires that nobody has given anything.
    #[cold]
    fn make_pairs(&mut self, code: &Code, met: u64) {
        for register in &code.ends {
            if self.registers[*register as usize] == Word::NONE {
                self.registers[*register as usize] = self.wire();
            }
        }
        let unmet = || code.pairs.iter().enumerate().filter(|(at, _)| met >> at & 1 == 0).map(|(_, pair)| &pair.node);
        for node in unmet() {
            self.registers[node.register as usize] = self.node(node.kind);
        }
        for node in unmet() {
            self.fill(node);
        }
    }
}

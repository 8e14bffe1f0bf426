//! Calls: a definition's net comes into being, and its root meets the caller's pairs at once.

use super::code::{Code, Node, Operand, Pattern, Waiting, What};
use super::memory::Memory;
use super::{LEAST, Worker, is_pair};
use crate::boxed::Computed;
use crate::rules::Rule;
use crate::word::{Kind, Word};

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
            Pattern::Wire(..) | Pattern::Copy(_) | Pattern::Other(_) => {
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
        self.registers[1..=code.wires].fill(Word::NONE);
        true
    }

    /// The pattern meets what the caller has: pairs annihilate, and wires become what is there. `met` has a bit for each pair that was
    /// met; comes back with all of them. What is left to be linked is in `unmet`.
    #[inline(always)]
    fn meet(&mut self, code: &Code, pattern: Pattern, port: Word, mut met: u64) -> u64 {
        let (mut pattern, mut port) = (pattern, port);
        loop {
            match pattern {
                Pattern::Wire(register, guarded) => {
                    let before = self.registers[register as usize];
                    if before != Word::NONE {
                        self.link(before, port);
                    } else {
                        self.name(register, guarded, port);
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
                    self.unmet.push((pattern, end));
                }
                Pattern::Copy(at) => {
                    let end = self.enter(port);
                    if end.kind() == Kind::Num {
                        self.counts.add(Rule::Erase, 1);
                        met |= 1 << at;
                        let [first, second] = code.pairs[at as usize].parts;
                        self.pending.push((second, end));
                        (pattern, port) = (first, end);
                        continue;
                    }
                    self.unmet.push((pattern, end));
                }
                Pattern::Other(_) => self.unmet.push((pattern, port)),
            }
            match self.pending.pop() {
                Some(next) => (pattern, port) = next,
                None => return met,
            }
        }
    }

    /// A wire becomes what is at its one end. At a place where it matters whether a number is there, it stays a wire.
    #[inline(always)]
    fn name(&mut self, register: u32, guarded: bool, port: Word) {
        let is_number = matches!(port.kind(), Kind::Num | Kind::Box);
        self.registers[register as usize] = if guarded && is_number { self.behind(port) } else { port };
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

    /// Computes what has its number, and puts what is left of a definition's net into the memory.
    #[inline(always)]
    fn make(&mut self, code: &Code, met: u64) {
        let mut late = 0u64;
        let mut chosen = None;
        for (at, waiting) in code.waiting.iter().enumerate() {
            let port = self.registers[waiting.port as usize];
            let number = if port == Word::NONE { port } else { self.enter(port) };
            self.registers[waiting.port as usize] = number;
            if number.kind() != Kind::Num {
                late |= 1 << at;
                continue;
            }
            match &waiting.what {
                What::Operate(nodes) => self.compute(code, at, number, nodes),
                What::Choose { .. } if chosen.is_some() => late |= 1 << at,
                What::Choose { choice, arms } => chosen = Some((number, choice, arms)),
            }
        }
        let joined = if late == 0 { 0 } else { self.place_waiting(code, late) };
        for register in 1..=code.wires {
            if self.registers[register] == Word::NONE {
                self.registers[register] = self.wire();
            }
        }
        for node in &code.body {
            self.registers[node.register as usize] = self.node(node.kind);
        }
        if met.count_ones() as usize != code.pairs.len() {
            self.make_pairs(code, met);
        }
        if late != 0 || !self.partial.is_empty() {
            self.make_waiting(code, late, joined);
        }
        for node in &code.body {
            self.fill(node);
        }
        for (a, b) in &code.links {
            self.link(self.operand(*a), self.operand(*b));
        }
        while let Some((pattern, port)) = self.unmet.pop() {
            let end = match pattern {
                Pattern::Wire(register, _) => self.registers[register as usize],
                Pattern::Pair(at) | Pattern::Copy(at) => self.registers[code.pairs[at as usize].node.register as usize],
                Pattern::Other(operand) => self.operand(operand),
            };
            self.link(end, port);
        }
        if let Some((number, choice, arms)) = chosen {
            let [zero, other] = arms.parts;
            let arms = [self.operand(zero), self.operand(other)];
            let result = self.operand(choice.parts[1]);
            self.choose(number, arms, result);
        }
    }

    /// Operations on a number, one after the other, as far as their operands stand in the definition.
    #[inline(always)]
    fn compute(&mut self, code: &Code, at: usize, number: Word, nodes: &[Node]) {
        let mut left = Computed::Word(number);
        let mut result = Operand { word: 0, register: 0 };
        for (done, node) in nodes.iter().enumerate() {
            let operand = Word(node.parts[0].word);
            self.counts.add(Rule::Operate, 1);
            if operand.kind() != Kind::Num {
                // Whoever gives the operand meets this operation, which has what is computed, and those behind it.
                let port = self.port(left);
                return self.partial.push((at, done, port));
            }
            left = match self.operated(left, operand) {
                Some(computed) => computed,
                None => return,
            };
            result = node.parts[1];
        }
        let port = self.port(left);
        let register = result.register as usize;
        if register == 0 {
            self.link(Word(result.word), port);
        } else if register > code.wires {
            self.unmet.push((Pattern::Other(result), port));
        } else if self.registers[register] == Word::NONE {
            self.name(result.register, code.guarded[register], port);
        } else {
            self.link(self.registers[register], port);
        }
    }

    #[inline(always)]
    fn fill(&mut self, node: &Node) {
        let [first, second] = node.parts;
        self.write(self.registers[node.register as usize], [self.operand(first), self.operand(second)]);
    }

    /// The nodes of the pattern that have not met any.
    #[cold]
    fn make_pairs(&mut self, code: &Code, met: u64) {
        let unmet = || code.pairs.iter().enumerate().filter(|(at, _)| met >> at & 1 == 0).map(|(_, pair)| &pair.node);
        for node in unmet() {
            self.registers[node.register as usize] = self.node(node.kind);
        }
        for node in unmet() {
            self.fill(node);
        }
    }

    /// Places for what waits for numbers that are not there. If its wire has no other end yet, it stands in the place of the wire; comes back with a bit for each
    /// that does.
    #[inline(never)]
    fn place_waiting(&mut self, code: &Code, late: u64) -> u64 {
        let mut joined = 0;
        for (at, Waiting { port, what }) in all_of(code, late) {
            for node in what.nodes() {
                self.registers[node.register as usize] = self.node(node.kind);
            }
            if self.registers[*port as usize] == Word::NONE
                && let Some(first) = what.nodes().next()
            {
                self.registers[*port as usize] = self.registers[first.register as usize];
                joined |= 1 << at;
            }
        }
        joined
    }

    /// What waits for numbers that are not there, and operations that wait for their second number.
    #[inline(never)]
    fn make_waiting(&mut self, code: &Code, late: u64, joined: u64) {
        for (at, Waiting { port, what }) in all_of(code, late) {
            for node in what.nodes() {
                self.fill(node);
            }
            if joined >> at & 1 == 0
                && let Some(first) = what.nodes().next()
            {
                self.link(self.registers[*port as usize], self.registers[first.register as usize]);
            }
        }
        while let Some((at, done, port)) = self.partial.pop() {
            let What::Operate(nodes) = &code.waiting[at].what else { continue };
            for node in &nodes[done..] {
                self.registers[node.register as usize] = self.node(node.kind);
            }
            for node in &nodes[done..] {
                self.fill(node);
            }
            let first = &nodes[done];
            let [operand, result] = first.parts;
            let node = self.registers[first.register as usize];
            self.write(node, [port, self.operand(result)]);
            self.link(self.operand(operand), node);
        }
    }
}

/// What waits in a definition, of which a word has a bit for each, and its position.
fn all_of(code: &Code, bits: u64) -> impl Iterator<Item = (usize, &Waiting)> {
    code.waiting.iter().enumerate().filter(move |(at, _)| bits >> at & 1 == 1)
}

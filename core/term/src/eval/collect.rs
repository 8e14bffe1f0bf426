//! Memory: the roots of a collection, and what happens when the limit is reached.

use super::value::{Packed, Word};
use super::{Machine, Root, Trap};
use crate::code::Address;
use girih_base::diag::{Code, Diagnostic};

/// The frame that runs while a collection happens.
#[derive(Clone, Copy)]
pub(super) struct Top {
    /// What is to blame if there is no memory.
    pub(super) pc: Address,
    /// Where its slots begin.
    pub(super) base: usize,
    /// How many slots may hold something.
    pub(super) count: usize,
    /// Which of the first 64 are needed.
    pub(super) live: u64,
}

impl Machine {
    /// Collects, so that there is room for cells of `words` words in all.
    #[cold]
    pub(super) fn collect(&mut self, words: usize, top: Top) -> Result<(), Trap> {
        let direct = if words > self.heap.nursery() { words } else { 0 };
        let stress = self.limits.stress;
        let most = self.most_old();
        let due = self.heap.is_full_due(direct, most) || stress && self.stats.minor_collections % 8 == 7;
        let grows = self.heap.grows();
        let full = due || grows;
        self.collect_now(full, top);
        if full {
            self.heap.plan(most);
            self.stats.largest_live = self.stats.largest_live.max(self.heap.old() as u64 * 8);
            // A full collection has to pay off: the last sixteenth of the memory is not worth collecting for. The one in which the nursery
            // grows pays off: there is room for it, whatever the limit is.
            if (!grows || direct > 0) && self.heap.old() + self.heap.nursery() + direct > most - most / 16 {
                return Err(self.out_of_memory(words, top.pc));
            }
        }
        self.heap.make_room(words, stress);
        Ok(())
    }

    fn collect_now(&mut self, full: bool, top: Top) {
        let tables = self.tables();
        let stress = self.limits.stress;
        let mut collector = self.heap.collector(&tables, full);
        let mut visit = |slots: &mut [Packed], live: u64| {
            for (slot, word) in slots.iter_mut().enumerate() {
                if slot >= 64 || live >> slot & 1 == 1 {
                    collector.root(word);
                } else if stress {
                    *word = Word::Moved(u32::MAX).into();
                }
            }
        };
        visit(&mut self.stack[top.base..top.base + top.count], top.live);
        let first = if full { 0 } else { self.untouched };
        let mut end = top.base;
        for frame in self.frames[first..].iter().rev() {
            let base = frame.base as usize;
            visit(&mut self.stack[base..end], tables.live[frame.pc as usize]);
            end = base;
        }
        self.untouched = self.frames.len();
        for &def in &self.done {
            if let super::Global::Done(word) = &mut self.globals[def] {
                *word = collector.word(*word);
            }
        }
        self.roots.retain(|root| std::sync::Arc::strong_count(&root.word) > 1);
        for root in &self.roots {
            let mut word = Root::lock(root);
            *word = collector.word(*word);
        }
        collector.finish();
        if full {
            self.stats.full_collections += 1;
        } else {
            self.stats.minor_collections += 1;
        }
        self.note_stack(top.base + top.count);
    }

    /// Whether a value of `words` words can be made from outside, without a collection.
    pub(super) fn room_outside(&self, words: usize) -> bool {
        self.heap.old() + words <= self.most_old()
    }

    /// How many words the old generation may have: a full collection needs as much again.
    fn most_old(&self) -> usize {
        self.limit().saturating_sub(self.stack_words() + 2 * self.heap.nursery()) / 2
    }

    /// The memory limit in words. Positions have 32 bits.
    fn limit(&self) -> usize {
        usize::try_from(self.limits.memory / 8).unwrap_or(usize::MAX).min(u32::MAX as usize)
    }

    fn stack_words(&self) -> usize {
        self.stack.len() + self.frames.capacity()
    }

    fn note_stack(&mut self, used: usize) {
        let bytes = (used + self.frames.len()) as u64 * 8;
        self.stats.largest_stack = self.stats.largest_stack.max(bytes);
    }

    /// Doubles the stack, or makes it `needed` long if that is more or memory is short.
    #[cold]
    pub(super) fn grow_stack(&mut self, needed: usize, pc: Address) -> Result<(), Trap> {
        self.note_stack(self.stack.len());
        let others = self.heap.size() + self.heap.old() + self.frames.capacity();
        let Some(free) = self.limit().checked_sub(others).filter(|&free| free >= needed) else {
            return Err(self.out_of_memory(needed, pc));
        };
        // Growing copies: for a moment both stacks are there.
        let doubled = (self.stack.len() * 2).max(needed);
        let size = if doubled + self.stack.len() <= free { doubled } else { needed.max(free.min(doubled)) };
        self.stack.resize(size, Packed::ERA);
        Ok(())
    }

    /// Whether the waiting calls alone have outgrown the limit.
    pub(super) fn check_frames(&self, pc: Address) -> Result<(), Trap> {
        if self.heap.size() + self.stack_words() > self.limit() { Err(self.out_of_memory(0, pc)) } else { Ok(()) }
    }

    fn out_of_memory(&self, words: usize, pc: Address) -> Trap {
        let mib = |words: usize| (words as u64 * 8).div_ceil(1 << 20);
        let live = self.heap.old() + self.stack_words();
        let limit = self.limits.memory.div_ceil(1 << 20);
        let message = format!("out of memory: {} of {limit} MiB live", mib(live));
        let hint = if self.stack_words() > live / 2 {
            let depth = self.frames.len();
            format!(
                "{depth} calls wait for others to return; if the recursion is meant to be this deep, raise `--memory`"
            )
        } else if words > self.heap.nursery() {
            format!("{} MiB are needed at once; raise `--memory`", mib(words))
        } else {
            "keep less data alive, or raise `--memory`".to_string()
        };
        Box::new(self.traced(Diagnostic::new(Code::OutOfMemory, self.span(pc), message).hint(hint)))
    }
}

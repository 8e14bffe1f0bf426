//! A lane's stack of calls that have not begun: the newest ones near, in shared memory, the others far, in private memory.
//!
//! Lanes of a subgroup are at different depths. Private memory is laid out by words, so that they would touch as many lines as there are lanes;
//! in shared memory a lane's words are all in banks of its own, whatever its depth.
//!
//! Entries have numbers: from `bottom` to `base` they are far, from `base` to `depth` near, and each part is a ring.

use super::Form;
use girih_ir::{Builder, Function, Op, Space, Type, ValueId};

/// Where entries stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stack {
    near: ValueId,
    far: ValueId,
    /// How many entries there is room for, powers of two.
    near_room: u32,
    pub far_room: u32,
    /// Words of an entry, and whether the first word of a task is among them: it is not if it is always the same.
    width: u32,
    has_heads: bool,
    workgroup: u32,
}

impl Stack {
    /// How many entries are near, for tasks of so many words; none if that is too few.
    pub fn near_room(form: &Form, width: u32, has_heads: bool, pushes: u32) -> Option<u32> {
        let entry = width - u32::from(!has_heads);
        let most = form.near / entry.max(1);
        let room = if most == 0 { 0 } else { 1 << most.ilog2() };
        (room > pushes).then_some(room.min(form.stack))
    }

    pub fn new(function: &mut Function, form: &Form, width: u32, has_heads: bool, near_room: u32) -> Stack {
        let width = width - u32::from(!has_heads);
        let mut memory = |name: &str, space: Space, words: u32| {
            let words = function.constant(Type::U32, u64::from(words.max(1)));
            function.memory(Some(name.into()), space, Type::U32, words)
        };
        let near = memory("near", Space::Shared, near_room * width * form.workgroup);
        let far = memory("far", Space::Private, form.stack * width);
        Stack { near, far, near_room, far_room: form.stack, width, has_heads, workgroup: form.workgroup }
    }

    fn near_word(&self, b: &mut Builder, local: ValueId, entry: ValueId, word: u32) -> ValueId {
        let at = self.ring_word(b, entry, self.near_room, word);
        let lanes = b.u32(self.workgroup);
        let row = b.op(Op::Mul, Type::U32, &[at, lanes]);
        b.op(Op::Add, Type::U32, &[row, local])
    }
    fn far_word(&self, b: &mut Builder, entry: ValueId, word: u32) -> ValueId {
        self.ring_word(b, entry, self.far_room, word)
    }
    fn ring_word(&self, b: &mut Builder, entry: ValueId, room: u32, word: u32) -> ValueId {
        let (mask, width, word) = (b.u32(room - 1), b.u32(self.width), b.u32(word));
        let entry = b.op(Op::And, Type::U32, &[entry, mask]);
        let first = b.op(Op::Mul, Type::U32, &[entry, width]);
        b.op(Op::Add, Type::U32, &[first, word])
    }
    fn skipped(&self) -> usize {
        usize::from(!self.has_heads)
    }
    /// The words of a task of which these are the entry.
    fn whole(&self, b: &mut Builder, words: Vec<ValueId>) -> Vec<ValueId> {
        if self.has_heads {
            return words;
        }
        let head = b.u32(0);
        [&[head], &words[..]].concat()
    }

    /// Writes a task near, where there is room.
    pub fn store(&self, b: &mut Builder, local: ValueId, entry: ValueId, task: &[ValueId]) {
        for (i, word) in (0..).zip(&task[self.skipped()..]) {
            let at = self.near_word(b, local, entry, i);
            b.store(Type::U32, self.near, at, *word);
        }
    }
    /// Writes a task far.
    pub fn store_far(&self, b: &mut Builder, entry: ValueId, task: &[ValueId]) {
        for (i, word) in (0..).zip(&task[self.skipped()..]) {
            let at = self.far_word(b, entry, i);
            b.store(Type::U32, self.far, at, *word);
        }
    }
    fn load_near(&self, b: &mut Builder, local: ValueId, entry: ValueId) -> Vec<ValueId> {
        let load = |i: u32| {
            let at = self.near_word(b, local, entry, i);
            b.load(Type::U32, self.near, at)
        };
        (0..self.width).map(load).collect()
    }
    fn load_far(&self, b: &mut Builder, entry: ValueId) -> Vec<ValueId> {
        let load = |i: u32| {
            let at = self.far_word(b, entry, i);
            b.load(Type::U32, self.far, at)
        };
        (0..self.width).map(load).collect()
    }

    /// The task of an entry, wherever it is.
    pub fn load(&self, b: &mut Builder, local: ValueId, entry: ValueId, base: ValueId) -> Vec<ValueId> {
        let left = b.op(Op::Sub, Type::U32, &[entry, base]);
        let left = b.op(Op::Bitcast, Type::I32, &[left]);
        let zero = b.constant(girih_ir::Scalar::I32, 0);
        let is_far = b.op(Op::Lt, Type::I32, &[left, zero]);
        let far = |b: &mut Builder| {
            let words = self.load_far(b, entry);
            b.end(Op::Yield, &words);
        };
        let near = |b: &mut Builder| {
            let words = self.load_near(b, local, entry);
            b.end(Op::Yield, &words);
        };
        let words = b.if_else(is_far, &vec![Type::U32; self.width as usize], far, near);
        self.whole(b, words)
    }

    /// Makes room near for so many entries: the oldest ones go far. Gives the new base.
    pub fn with_room(
        &self,
        b: &mut Builder,
        local: ValueId,
        (depth, base): (ValueId, ValueId),
        pushes: u32,
    ) -> ValueId {
        b.loop_with(&[base], &[Type::U32], |b, params| {
            let near = b.op(Op::Sub, Type::U32, &[depth, params[0]]);
            let most = b.u32(self.near_room - pushes);
            let fits = b.op(Op::Le, Type::U32, &[near, most]);
            b.if_else(fits, &[], |b| b.end(Op::Break, params), |b| b.end(Op::Yield, &[]));
            let words = self.load_near(b, local, params[0]);
            let words = self.whole(b, words);
            self.store_far(b, params[0], &words);
            let one = b.u32(1);
            let next = b.op(Op::Add, Type::U32, &[params[0], one]);
            b.end(Op::Continue, &[next]);
        })[0]
    }
}

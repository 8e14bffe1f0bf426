//! What code of a lane needs the names of, and what is written over and over.

use super::Form;
use super::memory::group;
use super::stack::Stack;
use girih_base::span::Span;
use girih_ir::attrs::{Attr, Dim, Spaces};
use girih_ir::{Builder, Function, Launch, Op, ParamAttrs, Scalar, Space, Type, ValueId};

/// The head of a lane that has nothing to do.
pub(super) const IDLE: u32 = u32::MAX;

/// What code of a lane needs the names of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub queue: ValueId,
    pub control: ValueId,
    /// What lanes keep between two epochs.
    pub kept: ValueId,
    pub stack: Stack,
    /// Words of a task.
    pub width: u32,
    /// The workgroup's words, in shared memory: counters, what one lane has found out for all, and tasks that go from one lane to another.
    pub group: ValueId,
    pub found: ValueId,
    pub post: ValueId,
    pub local: ValueId,
    /// How many tasks the queue has room for.
    pub tasks: ValueId,
    /// How many lanes there are at most, and which one this is.
    pub lanes: ValueId,
    pub number: ValueId,
}

impl Lane {
    pub fn new(form: &Form, width: u32, has_heads: bool, near: u32) -> (Builder, Lane) {
        let mut function = Function::new("run", Span::NONE);
        function.launch = Some(Launch { workgroup: [form.workgroup, 1, 1], ..Launch::default() });
        let mut buffer = |name: &str| function.param(name, Type::Memory(Space::Global), ParamAttrs::default());
        let (queue, control, kept) = (buffer("queue"), buffer("control"), buffer("kept"));
        let tasks = function.param("tasks", Type::U32, ParamAttrs::default());
        let lanes = function.param("lanes", Type::U32, ParamAttrs::default());
        let stack = Stack::new(&mut function, form, width, has_heads, near);
        let mut memory = |name: &str, words: u32| {
            let words = function.constant(Type::U32, u64::from(words));
            function.memory(Some(name.into()), Space::Shared, Type::U32, words)
        };
        let group = memory("group", group::WORDS);
        let found = memory("found", 3);
        let post = memory("post", form.workgroup * width);
        let mut b = Builder::new(function);
        let local = b.position(Op::LocalId, Dim::X);
        let number = b.position(Op::GlobalId, Dim::X);
        (b, Lane { queue, control, kept, stack, width, group, found, post, local, tasks, lanes, number })
    }

    /// Where a word of a task stands among tasks that stand one after the other.
    pub fn entry_word(&self, b: &mut Builder, place: ValueId, word: u32) -> ValueId {
        let (width, word) = (b.u32(self.width), b.u32(word));
        let first = b.op(Op::Mul, Type::U32, &[place, width]);
        b.op(Op::Add, Type::U32, &[first, word])
    }
    /// Where a word of what the lane keeps stands.
    pub fn kept_word(&self, b: &mut Builder, word: ValueId) -> ValueId {
        let row = b.op(Op::Mul, Type::U32, &[word, self.lanes]);
        b.op(Op::Add, Type::U32, &[row, self.number])
    }
    /// Where a word of a task that the lane keeps stands.
    pub fn kept_task_word(&self, b: &mut Builder, place: ValueId, word: u32) -> ValueId {
        let word = self.entry_word(b, place, 1 + word);
        self.kept_word(b, word)
    }
    /// Where a word of a task stands in the queue.
    pub fn task_word(&self, b: &mut Builder, place: ValueId, word: u32) -> ValueId {
        let one = b.u32(1);
        let mask = b.op(Op::Sub, Type::U32, &[self.tasks, one]);
        let place = b.op(Op::And, Type::U32, &[place, mask]);
        self.entry_word(b, place, word)
    }

    pub fn get(&self, b: &mut Builder, memory: ValueId, word: u32) -> ValueId {
        let at = b.u32(word);
        b.op(Op::AtomicLoad, Type::U32, &[memory, at])
    }
    pub fn set(&self, b: &mut Builder, memory: ValueId, word: u32, value: ValueId) {
        let at = b.u32(word);
        b.op_with(Op::AtomicStore, Some(Type::U32), &[memory, at, value], &[]);
    }
    pub fn add(&self, b: &mut Builder, memory: ValueId, word: u32, value: ValueId) -> ValueId {
        let at = b.u32(word);
        b.op(Op::AtomicAdd, Type::U32, &[memory, at, value])
    }
    pub fn barrier(b: &mut Builder) {
        b.op_with(Op::Barrier, None, &[], &[Attr::Spaces(Spaces { global: true, shared: true })]);
    }
    /// What one lane does.
    pub fn by_one(&self, b: &mut Builder, body: impl FnOnce(&mut Builder)) {
        let zero = b.u32(0);
        let is_first = b.op(Op::Eq, Type::U32, &[self.local, zero]);
        when(b, is_first, body);
    }
    /// Shows all lanes what one has found out.
    pub fn agree<const N: usize>(
        &self,
        b: &mut Builder,
        find: impl FnOnce(&mut Builder) -> [ValueId; N],
    ) -> [ValueId; N] {
        let places: [ValueId; N] = std::array::from_fn(|i| b.u32(i as u32));
        self.by_one(b, |b| {
            let words = find(b);
            for (place, word) in places.iter().zip(words) {
                b.store(Type::U32, self.found, *place, word);
            }
        });
        places.map(|place| b.op(Op::UniformLoad, Type::U32, &[self.found, place]))
    }
}

pub(super) fn op(b: &mut Builder, op: Op, x: ValueId, y: ValueId) -> ValueId {
    b.op(op, Type::U32, &[x, y])
}
pub(super) fn both(b: &mut Builder, op: Op, x: ValueId, y: ValueId) -> ValueId {
    b.op(op, Type::BOOL, &[x, y])
}
pub(super) fn is(b: &mut Builder, x: ValueId, constant: u32) -> ValueId {
    let constant = b.u32(constant);
    op(b, Op::Eq, x, constant)
}
pub(super) fn when(b: &mut Builder, condition: ValueId, body: impl FnOnce(&mut Builder)) {
    let then = |b: &mut Builder| {
        body(b);
        b.end(Op::Yield, &[]);
    };
    b.if_else(condition, &[], then, |b| b.end(Op::Yield, &[]));
}
/// Other words if a condition holds.
pub(super) fn change(
    b: &mut Builder,
    condition: ValueId,
    words: &[ValueId],
    then: impl FnOnce(&mut Builder) -> Vec<ValueId>,
) -> Vec<ValueId> {
    let types: Vec<Type> = words.iter().map(|word| b.ty(*word)).collect();
    let then = |b: &mut Builder| {
        let words = then(b);
        b.end(Op::Yield, &words);
    };
    b.if_else(condition, &types, then, |b| b.end(Op::Yield, words))
}
pub(super) fn leave_if(b: &mut Builder, condition: ValueId, words: &[ValueId]) {
    b.if_else(condition, &[], |b| b.end(Op::Break, words), |b| b.end(Op::Yield, &[]));
}
/// How much is left up to a place of the ring; nothing if it is behind.
pub(super) fn left(b: &mut Builder, place: ValueId, limit: ValueId) -> ValueId {
    let left = op(b, Op::Sub, limit, place);
    let signed = b.op(Op::Bitcast, Type::I32, &[left]);
    let none = b.constant(Scalar::I32, 0);
    let some = b.op(Op::Gt, Type::I32, &[signed, none]);
    let zero = b.u32(0);
    b.op(Op::Select, Type::U32, &[some, left, zero])
}

/// Does something for each number below another one.
pub(super) fn for_each(b: &mut Builder, count: ValueId, body: impl FnOnce(&mut Builder, ValueId)) {
    let zero = b.u32(0);
    b.loop_with(&[zero], &[Type::U32], |b, params| {
        let over = op(b, Op::Ge, params[0], count);
        leave_if(b, over, params);
        body(b, params[0]);
        let one = b.u32(1);
        let next = op(b, Op::Add, params[0], one);
        b.end(Op::Continue, &[next]);
    });
}

//! The kernel between two epochs.

use super::lane::{is, left, op};
use super::memory::control;
use girih_base::span::Span;
use girih_ir::{Builder, Function, Launch, Op, ParamAttrs, Space, Type, ValueId};

/// One invocation: what may be taken, and how many workgroups take it. The grid of the next dispatch stands in
/// its own buffer, three words.
pub(super) fn planner() -> Function {
    let mut function = Function::new("plan", Span::NONE);
    function.launch = Some(Launch { workgroup: [1, 1, 1], ..Launch::default() });
    let mut param = |name: &str| function.param(name, Type::Memory(Space::Global), ParamAttrs::default());
    let (words, grid) = (param("control"), param("grid"));
    let mut builder = Builder::new(function);
    let b = &mut builder;
    let get = |b: &mut Builder, word: u32| {
        let at = b.u32(word);
        b.op(Op::AtomicLoad, Type::U32, &[words, at])
    };
    let set = |b: &mut Builder, word: u32, value: ValueId| {
        let at = b.u32(word);
        b.op_with(Op::AtomicStore, Some(Type::U32), &[words, at, value], &[]);
    };
    let [head, limit, tail, fault, groups] =
        [control::HEAD, control::LIMIT, control::TAIL, control::FAULT, control::GROUPS].map(|word| get(b, word));
    // More may have been asked for than there was.
    let unread = left(b, head, limit);
    let head = op(b, Op::Sub, limit, unread);
    let tasks = op(b, Op::Sub, tail, head);
    let fine = is(b, fault, 0);
    let (zero, one) = (b.u32(0), b.u32(1));
    let tasks = b.op(Op::Select, Type::U32, &[fine, tasks, zero]);
    for (word, value) in [(control::HEAD, head), (control::FIRST, head), (control::LIMIT, tail)] {
        set(b, word, value);
    }
    // A workgroup fills its lanes from one task faster than a few workgroups fill the queue.
    let wanted = op(b, Op::Min, tasks, groups);
    let kept = get(b, control::KEPT);
    let some = op(b, Op::Min, kept, one);
    let all = op(b, Op::Mul, some, groups);
    let wanted = op(b, Op::Max, wanted, all);
    let wanted = b.op(Op::Select, Type::U32, &[fine, wanted, zero]);
    let takers = op(b, Op::Max, wanted, one);
    let share = op(b, Op::Add, tasks, takers);
    let share = op(b, Op::Div, share, takers);
    set(b, control::SHARE, share);
    set(b, control::KEPT, zero);
    let exited = op(b, Op::Sub, groups, wanted);
    set(b, control::EXITED, exited);
    let twice = op(b, Op::Add, wanted, wanted);
    let is_hungry = op(b, Op::Le, twice, groups);
    let is_hungry = b.op(Op::Convert, Type::U32, &[is_hungry]);
    set(b, control::HUNGRY, is_hungry);
    for (i, value) in (0..).zip([wanted, one, one]) {
        let at = b.u32(i);
        b.store(Type::U32, grid, at, value);
    }
    let some = op(b, Op::Min, wanted, one);
    for (word, by) in [(control::EPOCHS, some), (control::TASKS, tasks)] {
        let before = get(b, word);
        let after = op(b, Op::Add, before, by);
        set(b, word, after);
    }
    b.end(Op::Return, &[]);
    builder.function
}

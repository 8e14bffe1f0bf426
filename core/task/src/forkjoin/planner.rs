//! The kernel between two epochs, of one invocation: tasks are shared out among workgroups, and the next dispatch gets its size.

use super::memory::{ProgramSizes, control};
use super::rounds::{FEW, MOST_PATIENCE, PATIENCE};
use girih_base::span::Span;
use girih_ir::attrs::Attr;
use girih_ir::{Builder, Function, Launch, Op, ParamAttrs, Space, Type, ValueId};

/// Where the grid of the next dispatch stands in its own buffer: three words.
pub(super) fn planner(shape: &ProgramSizes) -> Function {
    let mut function = Function::new("plan", Span::NONE);
    function.launch = Some(Launch { workgroup: [1, 1, 1], ..Launch::default() });
    let mut param = |name: &str| function.param(name, Type::Memory(Space::Global), ParamAttrs::default());
    let (control, grid) = (param("control"), param("grid"));
    let mut p = Planner { b: Builder::new(function), control };
    p.write(shape, grid);
    p.b.function
}

struct Planner {
    b: Builder,
    control: ValueId,
}

impl Planner {
    fn get(&mut self, word: u32) -> ValueId {
        let at = self.b.u32(word);
        self.b.op(Op::AtomicLoad, Type::U32, &[self.control, at])
    }
    fn set(&mut self, word: u32, value: ValueId) {
        let at = self.b.u32(word);
        self.b.op_with(Op::AtomicStore, Some(Type::U32), &[self.control, at, value], &[] as &[Attr]);
    }
    fn op(&mut self, op: Op, x: ValueId, y: ValueId) -> ValueId {
        self.b.op(op, Type::U32, &[x, y])
    }
    fn both(&mut self, x: ValueId, y: ValueId) -> ValueId {
        self.b.op(Op::And, Type::BOOL, &[x, y])
    }
    fn select(&mut self, condition: ValueId, x: ValueId, y: ValueId) -> ValueId {
        self.b.op(Op::Select, Type::U32, &[condition, x, y])
    }
    fn divided_up(&mut self, x: ValueId, y: ValueId) -> ValueId {
        let one = self.b.u32(1);
        let more = self.op(Op::Add, x, y);
        let more = self.op(Op::Sub, more, one);
        self.op(Op::Div, more, y)
    }

    /// The ring of free frames begins behind what was taken, which is no more than there was, and ends where it was added to.
    fn turn_frames(&mut self) {
        let (taken, there, end) =
            (self.get(control::FRAME_HEAD), self.get(control::FRAME_LIMIT), self.get(control::FRAME_TAIL));
        let over = self.op(Op::Sub, taken, there);
        let over = self.b.op(Op::Bitcast, Type::I32, &[over]);
        let zero = self.b.constant(girih_ir::Scalar::I32, 0);
        let is_over = self.b.op(Op::Gt, Type::I32, &[over, zero]);
        let begin = self.select(is_over, there, taken);
        self.set(control::FRAME_HEAD, begin);
        self.set(control::FRAME_LIMIT, end);
    }

    /// Where tasks do not become more, workgroups wait longer before they give some away: a superstep costs as much as hundreds of steps.
    fn set_patience(&mut self, before: ValueId, handed: ValueId) {
        let patience = self.get(control::PATIENCE);
        let (one, few) = (self.b.u32(1), self.b.u32(FEW));
        let (least, most) = (self.b.u32(PATIENCE), self.b.u32(MOST_PATIENCE));
        let half = self.op(Op::Shr, before, one);
        let more = self.op(Op::Add, before, half);
        let has_more = self.b.op(Op::Gt, Type::U32, &[handed, more]);
        let has_many = self.b.op(Op::Gt, Type::U32, &[handed, few]);
        let spreads = self.both(has_more, has_many);
        let twice = self.op(Op::Add, patience, patience);
        let next = self.select(spreads, least, twice);
        let next = self.op(Op::Max, next, least);
        let next = self.op(Op::Min, next, most);
        self.set(control::PATIENCE, next);
    }

    fn write(&mut self, shape: &ProgramSizes, grid: ValueId) {
        self.turn_frames();
        let (zero, one) = (self.b.u32(0), self.b.u32(1));
        let (head, before) = (self.get(control::HEAD), self.get(control::HANDED));
        let head = self.op(Op::Add, head, before);
        self.set(control::HEAD, head);
        let tail = self.get(control::TAIL);
        let tasks = self.op(Op::Sub, tail, head);
        let (groups, flushed) = (self.get(control::GROUPS), self.get(control::FLUSHED));
        self.set(control::FLUSHED, zero);
        let (done, fault) = (self.get(control::DONE), self.get(control::FAULT));
        let ended = self.op(Op::Or, done, fault);
        let goes_on = self.b.op(Op::Eq, Type::U32, &[ended, zero]);
        let (top, soft) = (self.get(control::HEAP_TOP), self.get(control::HEAP_SOFT));
        let has_memory = self.b.op(Op::Le, Type::U32, &[top, soft]);
        let goes_on = self.both(goes_on, has_memory);
        let starved = self.get(control::STARVED);
        let is_fed = self.b.op(Op::Eq, Type::U32, &[starved, zero]);
        let goes_on = self.both(goes_on, is_fed);
        // Few tasks that were not given away to be shared out stay together: what comes of them is joined soon, and within a workgroup.
        let lanes = self.b.u32(shape.workgroup);
        let is_few = self.b.op(Op::Le, Type::U32, &[tasks, lanes]);
        let none_flushed = self.b.op(Op::Eq, Type::U32, &[flushed, zero]);
        let together = self.both(is_few, none_flushed);
        let each = self.divided_up(tasks, groups);
        let each = self.op(Op::Min, each, lanes);
        let share = self.select(together, tasks, each);
        let share = self.op(Op::Max, share, one);
        let most = self.op(Op::Mul, share, groups);
        let handed = self.op(Op::Min, tasks, most);
        let handed = self.select(goes_on, handed, zero);
        self.set(control::HANDED, handed);
        self.set(control::SHARE, share);
        let wanted = self.divided_up(handed, share);
        let twice = self.op(Op::Add, wanted, wanted);
        let is_hungry = self.b.op(Op::Le, Type::U32, &[twice, groups]);
        let want = self.select(is_hungry, lanes, zero);
        self.set(control::WANT, want);
        self.set_patience(before, handed);
        let idle = self.op(Op::Sub, groups, wanted);
        self.set(control::EXITED, idle);
        for i in 0..shape.globals {
            let made = self.get(control::GLOBALS + shape.globals + i);
            self.set(control::GLOBALS + i, made);
        }
        for (i, value) in (0..).zip([wanted, one, one]) {
            let at = self.b.u32(i);
            self.b.store(Type::U32, grid, at, value);
        }
        let epochs = self.get(control::EPOCHS);
        let is_one = self.b.op(Op::Ne, Type::U32, &[wanted, zero]);
        let counted = self.b.op(Op::Convert, Type::U32, &[is_one]);
        let epochs = self.op(Op::Add, epochs, counted);
        self.set(control::EPOCHS, epochs);
        let begun = self.get(control::TASKS);
        let begun = self.op(Op::Add, begun, handed);
        self.set(control::TASKS, begun);
        self.b.end(Op::Return, &[]);
    }
}

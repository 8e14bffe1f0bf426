//! The kernel between two epochs, of one invocation: queues begin where they ended, and the next dispatch gets its size.

use super::memory::{Shape, WORKGROUP, control};
use crate::ir::attrs::Attr;
use crate::ir::{Builder, Function, Launch, Op, ParamAttrs, Space, Type, ValueId};
use crate::span::Span;

/// Where the grid of the next dispatch stands in its own buffer: three words.
pub(super) fn planner(shape: &Shape) -> Function {
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

    /// A ring begins behind what was taken, which is no more than there was, and ends where it was added to.
    fn turn(&mut self, head: u32, limit: u32, tail: u32) -> ValueId {
        let (taken, there, end) = (self.get(head), self.get(limit), self.get(tail));
        let over = self.op(Op::Sub, taken, there);
        let over = self.b.op(Op::Bitcast, Type::I32, &[over]);
        let zero = self.b.constant(crate::ir::Scalar::I32, 0);
        let is_over = self.b.op(Op::Gt, Type::I32, &[over, zero]);
        let begin = self.b.op(Op::Select, Type::U32, &[is_over, there, taken]);
        self.set(head, begin);
        self.set(limit, end);
        self.op(Op::Sub, end, begin)
    }

    fn write(&mut self, shape: &Shape, grid: ValueId) {
        let tasks = self.turn(control::HEAD, control::LIMIT, control::TAIL);
        self.turn(control::FRAME_HEAD, control::FRAME_LIMIT, control::FRAME_TAIL);
        let busy = self.get(control::BUSY);
        let lanes = self.get(control::LANES);
        let zero = self.b.u32(0);
        self.set(control::BUSY, zero);
        let population = self.op(Op::Add, tasks, busy);
        let few = self.op(Op::Lt, population, lanes);
        let expand = self.b.op(Op::Convert, Type::U32, &[few]);
        self.set(control::EXPAND, expand);
        for i in 0..shape.globals {
            let made = self.get(control::GLOBALS + shape.globals + i);
            self.set(control::GLOBALS + i, made);
        }
        let (done, fault) = (self.get(control::DONE), self.get(control::FAULT));
        let ended = self.op(Op::Or, done, fault);
        let goes_on = self.b.op(Op::Eq, Type::U32, &[ended, zero]);
        // Lanes that are busy may be any; else as many begin as there are tasks.
        let is_idle = self.b.op(Op::Eq, Type::U32, &[busy, zero]);
        let wanted = self.op(Op::Min, tasks, lanes);
        let wanted = self.b.op(Op::Select, Type::U32, &[is_idle, wanted, lanes]);
        let wanted = self.b.op(Op::Select, Type::U32, &[goes_on, wanted, zero]);
        let (more, size) = (self.b.u32(WORKGROUP - 1), self.b.u32(WORKGROUP));
        let rounded = self.op(Op::Add, wanted, more);
        let groups = self.op(Op::Div, rounded, size);
        let one = self.b.u32(1);
        for (i, value) in (0..).zip([groups, one, one]) {
            let at = self.b.u32(i);
            self.b.store(Type::U32, grid, at, value);
        }
        let epochs = self.get(control::EPOCHS);
        let counted = self.b.op(Op::Convert, Type::U32, &[goes_on]);
        let epochs = self.op(Op::Add, epochs, counted);
        self.set(control::EPOCHS, epochs);
        let begun = self.get(control::TASKS);
        let begun = self.op(Op::Add, begun, tasks);
        self.set(control::TASKS, begun);
        self.b.end(Op::Return, &[]);
    }
}

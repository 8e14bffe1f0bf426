//! Evaluation with unknowns: the same calculus as the machine's, over an arena in which a value may also be *stuck*, that
//! is, waiting for a variable.
//!
//! It is a CEK machine (control, environment, continuation) over [`Term`]s with an explicit continuation, so that depth costs
//! memory, never native stack. Nodes are never freed; [`NODE_LIMIT`] bounds them, and with them the whole computation.

mod calls;
mod steps;

use crate::code::Code;
use crate::eval::{Machine, Value, View};
use crate::{Bind, CtorId, DefId, LocalId, Match, Program, Switch, Target, Term};
use girih_base::idx::IndexVec;
use girih_base::name::Name;
use girih_base::num::{BinOp, Num};
use girih_base::prim::Prim;

/// How many nodes and environment cells a readback may make before functions are shown without computing in them.
const NODE_LIMIT: usize = 12_000_000;

/// A node of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ref(u32);

/// A variable that stands for an unknown value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unknown(pub(super) u32);

/// A chain of bindings in the arena; the newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Env(u32);

const EMPTY: Env = Env(u32::MAX);

/// A value, perhaps stuck.
#[derive(Clone)]
pub(super) enum Node<'a> {
    /// A value of the machine's heap that has not been looked at.
    Heap(Value),
    Num(Num),
    Era,
    /// The characters of a text from a byte on.
    Str(&'a Name, usize),
    Ctor(CtorId, Box<[Ref]>),
    Pair(Ref, Ref),
    Closure(&'a [LocalId], &'a Term, Env),
    /// A function with fewer arguments than it has parameters.
    Partial(Ref, Box<[Ref]>),
    Global(DefId),
    /// A constructor as a function of its fields.
    Constructor(CtorId),
    // Stuck.
    Unknown(Unknown),
    Apply(Ref, Box<[Ref]>),
    Op(BinOp, Ref, Ref),
    Prim(Prim, Box<[Ref]>),
    Match(Ref, &'a Match, Env),
    Switch(Ref, &'a Switch, Env),
    /// A tuple pattern over a stuck value, with all that follows it.
    Split(Ref, Rest<'a>, Env),
}

/// What remains of a `Let` from a binding on, the binding included.
#[derive(Clone, Copy)]
pub(super) struct Rest<'a> {
    pub(super) binds: &'a [Bind],
    pub(super) body: &'a Term,
}

/// How far computation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Everything is unfolded.
    Unfold,
    /// Calls of recursive definitions stay calls.
    Frozen,
    /// All calls stay calls.
    Rigid,
}

enum Control<'a> {
    Eval(&'a Term, Env),
    Value(Ref),
}

/// What to do with the next value.
enum Continuation<'a> {
    /// Evaluate the other parts, then build.
    Parts {
        build: Build,
        terms: &'a [Term],
        env: Env,
        done: Vec<Ref>,
    },
    /// Evaluate the arguments, then apply.
    Arguments {
        terms: &'a [Term],
        env: Env,
    },
    /// Apply it to these.
    ApplyTo(Vec<Ref>),
    OpRight {
        op: BinOp,
        right: &'a Term,
        env: Env,
    },
    OpDone {
        op: BinOp,
        left: Ref,
    },
    Bind {
        rest: Rest<'a>,
        env: Env,
    },
    Match(&'a Match, Env),
    Switch(&'a Switch, Env),
}

/// Whether a function must be entered, because its own body is to be shown, or only if the mode says so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    Forced,
    Call,
}

/// What a list of evaluated parts becomes.
#[derive(Clone, Copy)]
enum Build {
    Ctor(CtorId),
    Tuple,
    List,
    Prim(Prim),
    /// The first part applied to the others.
    Apply,
}

/// More nodes than [`NODE_LIMIT`].
struct Exhausted;

pub(super) struct Normaliser<'a> {
    program: &'a Program,
    code: &'a Code,
    machine: &'a Machine,
    recursive: &'a IndexVec<DefId, bool>,
    nodes: Vec<Node<'a>>,
    envs: Vec<(LocalId, Ref, Env)>,
    exhausted: bool,
}

impl<'a> Normaliser<'a> {
    pub(super) fn new(code: &'a Code, machine: &'a Machine, recursive: &'a IndexVec<DefId, bool>) -> Self {
        let program = code.program();
        Normaliser { program, code, machine, recursive, nodes: vec![], envs: vec![], exhausted: false }
    }

    pub(super) fn add(&mut self, node: Node<'a>) -> Ref {
        self.nodes.push(node);
        Ref(self.nodes.len() as u32 - 1)
    }

    /// The node, with one level of a heap value or a text laid open.
    pub(super) fn open(&mut self, r: Ref) -> Node<'a> {
        match self.nodes[r.0 as usize].clone() {
            Node::Heap(value) => {
                let node = self.open_heap(value);
                self.nodes[r.0 as usize] = node.clone();
                node
            }
            Node::Str(text, from) => self.open_text(text, from),
            node => node,
        }
    }

    fn open_heap(&mut self, value: Value) -> Node<'a> {
        let code = self.code;
        match self.machine.view(value) {
            View::Num(n) => Node::Num(n),
            View::Era => Node::Era,
            View::Ctor(ctor, fields) => Node::Ctor(ctor, self.add_heap(fields)),
            View::Pair(left, right) => {
                let (left, right) = (self.add(Node::Heap(left)), self.add(Node::Heap(right)));
                Node::Pair(left, right)
            }
            View::Closure { lambda, captured, .. } => {
                let source = code.lambda(lambda);
                let mut env = EMPTY;
                for (local, value) in captured {
                    let value = self.add(Node::Heap(value));
                    env = self.bind(env, local, value);
                }
                Node::Closure(source.params, source.body, env)
            }
            View::Partial { function, args } => {
                let function = self.add(Node::Heap(function));
                Node::Partial(function, self.add_heap(args))
            }
            View::Global(def) => match self.machine.computed(def) {
                Some(computed) if !self.recursive[def] => self.open_heap(computed),
                Some(_) | None => Node::Global(def),
            },
            View::Constructor(ctor) => Node::Constructor(ctor),
            // It is made where a function is matched, and has no form in Bend.
            View::Selector(_) => Node::Era,
        }
    }

    fn add_heap(&mut self, values: Vec<Value>) -> Box<[Ref]> {
        values.into_iter().map(|v| self.add(Node::Heap(v))).collect()
    }

    fn open_text(&mut self, text: &'a Name, from: usize) -> Node<'a> {
        let known = &self.program.known;
        let (Some(nil), Some(cons)) = (known.string_nil, known.string_cons) else { return Node::Era };
        match text[from..].chars().next() {
            None => Node::Ctor(nil, Box::new([])),
            Some(c) => {
                let head = self.add(Node::Num(Num::U24(c as u32)));
                let tail = self.add(Node::Str(text, from + c.len_utf8()));
                Node::Ctor(cons, Box::new([head, tail]))
            }
        }
    }

    fn bind(&mut self, env: Env, local: LocalId, value: Ref) -> Env {
        self.envs.push((local, value, env));
        Env(self.envs.len() as u32 - 1)
    }

    fn lookup(&self, mut env: Env, local: LocalId) -> Option<Ref> {
        while env != EMPTY {
            let (bound, value, next) = self.envs[env.0 as usize];
            if bound == local {
                return Some(value);
            }
            env = next;
        }
        None
    }

    /// How many arguments a function waits for; none for what is not a function.
    pub(super) fn arity(&mut self, function: Ref) -> Option<usize> {
        match self.open(function) {
            Node::Closure(params, ..) => Some(params.len()),
            Node::Partial(function, args) => Some(self.arity(function)?.saturating_sub(args.len())),
            Node::Global(def) => Some(self.program.defs[def].params.len()).filter(|n| *n > 0),
            Node::Constructor(ctor) => Some(self.program.ctors[ctor].fields.len()),
            _ => None,
        }
    }

    /// The value of a function at these arguments.
    pub(super) fn apply(&mut self, function: Ref, args: &[Ref], mode: Mode) -> Ref {
        self.compute(mode, |this, mode, frames| Some(this.enter(function, args.to_vec(), Entry::Forced, mode, frames)))
    }

    /// The value of an arm of a stuck match when its fields are these; `whole` is the matched value.
    pub(super) fn arm(&mut self, m: &'a Match, arm: usize, env: Env, whole: Ref, fields: &[Ref], mode: Mode) -> Ref {
        let arm = &m.arms[arm];
        let mut env = env;
        for (local, value) in arm.fields.iter().zip(fields) {
            env = self.bind(env, *local, *value);
        }
        if let Some(local) = arm.whole {
            env = self.bind(env, local, whole);
        }
        self.term(&arm.body, env, mode)
    }

    /// The value of the default of a stuck switch.
    pub(super) fn switch_default(&mut self, s: &'a Switch, env: Env, pred: Ref, mode: Mode) -> Ref {
        let env = s.pred.map_or(env, |local| self.bind(env, local, pred));
        self.term(&s.default, env, mode)
    }

    /// What follows a stuck tuple pattern when its parts are these.
    pub(super) fn split(&mut self, rest: Rest<'a>, env: Env, parts: &[Ref], mode: Mode) -> Ref {
        let mut env = env;
        for (target, value) in targets(rest.binds).iter().zip(parts) {
            if let Some(local) = target {
                env = self.bind(env, *local, *value);
            }
        }
        let rest = Rest { binds: &rest.binds[1..], body: rest.body };
        self.compute(mode, |_, _, frames| {
            frames.push(Continuation::Bind { rest, env });
            None
        })
    }

    /// The value of a term.
    pub(super) fn term(&mut self, term: &'a Term, env: Env, mode: Mode) -> Ref {
        self.compute(mode, |_, _, _| Some(Control::Eval(term, env)))
    }

    /// Runs a computation to its end: in `mode` as long as nodes last, afterwards rigidly.
    fn compute(
        &mut self,
        mode: Mode,
        start: impl Fn(&mut Self, Mode, &mut Vec<Continuation<'a>>) -> Option<Control<'a>>,
    ) -> Ref {
        if !self.exhausted {
            let mut frames = vec![];
            let control = start(self, mode, &mut frames);
            match self.run(control, frames, mode) {
                Ok(value) => return value,
                Err(Exhausted) => self.exhausted = true,
            }
        }
        let (mut frames, room) = (vec![], self.nodes.len() + NODE_LIMIT / 4);
        let control = start(self, Mode::Rigid, &mut frames);
        self.run_within(control, frames, Mode::Rigid, room).unwrap_or_else(|Exhausted| self.add(Node::Era))
    }

    fn run(
        &mut self,
        control: Option<Control<'a>>,
        frames: Vec<Continuation<'a>>,
        mode: Mode,
    ) -> Result<Ref, Exhausted> {
        self.run_within(control, frames, mode, NODE_LIMIT)
    }

    fn run_within(
        &mut self,
        control: Option<Control<'a>>,
        mut frames: Vec<Continuation<'a>>,
        mode: Mode,
        limit: usize,
    ) -> Result<Ref, Exhausted> {
        // A computation that starts with a `Bind` frame has no control: it goes on with the rest of a `Let`.
        let mut control = match control {
            Some(control) => control,
            None => match frames.pop() {
                Some(Continuation::Bind { rest, env }) => self.next_bind(rest, env, &mut frames),
                _ => return Err(Exhausted),
            },
        };
        loop {
            if self.nodes.len() > limit || self.envs.len() > limit || frames.len() > limit {
                return Err(Exhausted);
            }
            control = match control {
                Control::Eval(term, env) => self.eval(term, env, &mut frames),
                Control::Value(value) => match frames.pop() {
                    None => return Ok(value),
                    Some(frame) => self.resume(frame, value, mode, &mut frames),
                },
            };
        }
    }
}

/// The first number after the switch's cases.
pub(super) fn cases_end(s: &Switch) -> u32 {
    s.cases.iter().map(|(case, _)| case.wrapping_add(1)).max().unwrap_or(0)
}

/// The parts that the first binding takes a tuple into.
pub(super) fn targets(binds: &[Bind]) -> &[Option<LocalId>] {
    match binds.first().map(|bind| &bind.target) {
        Some(Target::Tuple(parts)) => parts,
        _ => &[],
    }
}

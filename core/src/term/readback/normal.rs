//! Evaluation with unknowns: the same calculus as the machine's, over an arena in which a value may also be *stuck*, that
//! is, waiting for a variable.
//!
//! It is a CEK machine (control, environment, continuation) over [`Term`]s with an explicit continuation, so that depth costs
//! memory, never native stack. Nodes are never freed; [`NODE_LIMIT`] bounds them, and with them the whole computation.

use crate::idx::IndexVec;
use crate::name::Name;
use crate::num::{BinOp, Num};
use crate::prim::Prim;
use crate::term::code::Code;
use crate::term::eval::{Machine, Value, View};
use crate::term::{Bind, Body, CtorId, Def, DefId, LocalId, Match, Program, Switch, Target, Term, TermKind};

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
enum Frame<'a> {
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
            frames.push(Frame::Bind { rest, env });
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
        start: impl Fn(&mut Self, Mode, &mut Vec<Frame<'a>>) -> Option<Control<'a>>,
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

    fn run(&mut self, control: Option<Control<'a>>, frames: Vec<Frame<'a>>, mode: Mode) -> Result<Ref, Exhausted> {
        self.run_within(control, frames, mode, NODE_LIMIT)
    }

    fn run_within(
        &mut self,
        control: Option<Control<'a>>,
        mut frames: Vec<Frame<'a>>,
        mode: Mode,
        limit: usize,
    ) -> Result<Ref, Exhausted> {
        // A computation that starts with a `Bind` frame has no control: it goes on with the rest of a `Let`.
        let mut control = match control {
            Some(control) => control,
            None => match frames.pop() {
                Some(Frame::Bind { rest, env }) => self.next_bind(rest, env, &mut frames),
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

    fn value(&mut self, node: Node<'a>) -> Control<'a> {
        Control::Value(self.add(node))
    }

    fn eval(&mut self, term: &'a Term, env: Env, frames: &mut Vec<Frame<'a>>) -> Control<'a> {
        match &term.kind {
            TermKind::Local(local) => match self.lookup(env, *local) {
                Some(value) => Control::Value(value),
                None => self.value(Node::Era),
            },
            TermKind::Global(def) => self.global(*def),
            TermKind::Num(n) => self.value(Node::Num(*n)),
            TermKind::Str(text) => self.value(Node::Str(text, 0)),
            TermKind::List(terms) => self.parts(Build::List, terms, env, frames),
            TermKind::Ctor(ctor, terms) => self.parts(Build::Ctor(*ctor), terms, env, frames),
            TermKind::Tuple(terms) => self.parts(Build::Tuple, terms, env, frames),
            TermKind::Prim(prim, terms) => self.parts(Build::Prim(*prim), terms, env, frames),
            TermKind::Lambda(params, body) => self.value(Node::Closure(params, body, env)),
            TermKind::Apply(function, terms) => {
                frames.push(Frame::Arguments { terms, env });
                Control::Eval(function, env)
            }
            TermKind::Op(op, left, right) => {
                frames.push(Frame::OpRight { op: *op, right, env });
                Control::Eval(left, env)
            }
            TermKind::Let(binds, body) => self.next_bind(Rest { binds, body }, env, frames),
            TermKind::Match(m) => {
                frames.push(Frame::Match(m, env));
                Control::Eval(&m.scrutinee, env)
            }
            TermKind::Switch(s) => {
                frames.push(Frame::Switch(s, env));
                Control::Eval(&s.scrutinee, env)
            }
            // Programs in which these can be reached are refused before they run; literals are settled by the checker.
            TermKind::Sup(_) | TermKind::Link(_) | TermKind::Invalid | TermKind::Literal(_) | TermKind::Era => {
                self.value(Node::Era)
            }
        }
    }

    /// A reference to a definition: one without parameters is its value, unless it is recursive.
    fn global(&mut self, def: DefId) -> Control<'a> {
        let program = self.program;
        match &program.defs[def].body {
            Body::Term(body) if program.defs[def].params.is_empty() && !self.recursive[def] => {
                match self.machine.computed(def) {
                    Some(value) => self.value(Node::Heap(value)),
                    None => Control::Eval(body, EMPTY),
                }
            }
            Body::Term(_) | Body::Net(_) => self.value(Node::Global(def)),
        }
    }

    fn parts(&mut self, build: Build, terms: &'a [Term], env: Env, frames: &mut Vec<Frame<'a>>) -> Control<'a> {
        match terms.split_first() {
            None => self.build(build, vec![]),
            Some((first, terms)) => {
                frames.push(Frame::Parts { build, terms, env, done: vec![] });
                Control::Eval(first, env)
            }
        }
    }

    /// Builds data. An application is not data: [`resume`](Self::resume) enters it.
    fn build(&mut self, build: Build, parts: Vec<Ref>) -> Control<'a> {
        match build {
            Build::Ctor(ctor) => self.value(Node::Ctor(ctor, parts.into())),
            Build::Tuple => {
                let mut parts = parts.into_iter().rev();
                let last = parts.next().unwrap_or_else(|| self.add(Node::Era));
                Control::Value(parts.fold(last, |right, left| self.add(Node::Pair(left, right))))
            }
            Build::List => {
                let known = &self.program.known;
                let (Some(nil), Some(cons)) = (known.list_nil, known.list_cons) else { return self.value(Node::Era) };
                let nil = self.add(Node::Ctor(nil, Box::new([])));
                Control::Value(
                    parts.into_iter().rev().fold(nil, |tail, head| self.add(Node::Ctor(cons, Box::new([head, tail])))),
                )
            }
            Build::Prim(prim) => self.prim(prim, parts),
            Build::Apply => self.value(Node::Era),
        }
    }

    fn prim(&mut self, prim: Prim, args: Vec<Ref>) -> Control<'a> {
        let mut numbers = Vec::with_capacity(args.len());
        for &arg in &args {
            match self.open(arg) {
                Node::Num(n) => numbers.push(n),
                Node::Era => return self.value(Node::Era),
                _ => return self.value(Node::Prim(prim, args.into())),
            }
        }
        match prim.apply(&numbers) {
            Ok(n) => self.value(Node::Num(n)),
            Err(_) => self.value(Node::Prim(prim, args.into())),
        }
    }

    fn resume(&mut self, frame: Frame<'a>, value: Ref, mode: Mode, frames: &mut Vec<Frame<'a>>) -> Control<'a> {
        match frame {
            Frame::Parts { build, terms, env, mut done } => {
                done.push(value);
                if let Some((next, terms)) = terms.split_first() {
                    frames.push(Frame::Parts { build, terms, env, done });
                    return Control::Eval(next, env);
                }
                if let Build::Apply = build {
                    let args = done.split_off(1);
                    return self.enter(done[0], args, Entry::Call, mode, frames);
                }
                self.build(build, done)
            }
            Frame::Arguments { terms, env } => match terms.split_first() {
                None => self.enter(value, vec![], Entry::Call, mode, frames),
                Some((first, terms)) => {
                    frames.push(Frame::Parts { build: Build::Apply, terms, env, done: vec![value] });
                    Control::Eval(first, env)
                }
            },
            Frame::ApplyTo(args) => self.enter(value, args, Entry::Call, mode, frames),
            Frame::OpRight { op, right, env } => {
                frames.push(Frame::OpDone { op, left: value });
                Control::Eval(right, env)
            }
            Frame::OpDone { op, left } => self.op(op, left, value),
            Frame::Bind { rest, env } => self.bound(rest, env, value, frames),
            Frame::Match(m, env) => self.choose(m, env, value, mode, frames),
            Frame::Switch(s, env) => self.switch(s, env, value, mode, frames),
        }
    }

    fn op(&mut self, op: BinOp, left: Ref, right: Ref) -> Control<'a> {
        match (self.open(left), self.open(right)) {
            (Node::Era, _) | (_, Node::Era) => self.value(Node::Era),
            (Node::Num(a), Node::Num(b)) => match Num::apply(op, a, b) {
                Ok(n) => self.value(Node::Num(n)),
                Err(_) => self.value(Node::Op(op, left, right)),
            },
            _ => self.value(Node::Op(op, left, right)),
        }
    }

    fn next_bind(&mut self, rest: Rest<'a>, env: Env, frames: &mut Vec<Frame<'a>>) -> Control<'a> {
        match rest.binds.first() {
            None => Control::Eval(rest.body, env),
            Some(bind) => {
                frames.push(Frame::Bind { rest, env });
                Control::Eval(&bind.value, env)
            }
        }
    }

    /// The first of `rest.binds` has this value.
    fn bound(&mut self, rest: Rest<'a>, env: Env, value: Ref, frames: &mut Vec<Frame<'a>>) -> Control<'a> {
        let mut env = env;
        match &rest.binds[0].target {
            Target::Var(local) => env = self.bind(env, *local, value),
            Target::Dup(copies) => {
                for local in copies.iter().flatten() {
                    env = self.bind(env, *local, value);
                }
            }
            Target::Tuple(parts) => match self.parts_of(value, parts.len()) {
                Some(values) => {
                    for (target, value) in parts.iter().zip(values) {
                        if let Some(local) = target {
                            env = self.bind(env, *local, value);
                        }
                    }
                }
                None => return self.value(Node::Split(value, rest, env)),
            },
            Target::Link(_) => {}
        }
        self.next_bind(Rest { binds: &rest.binds[1..], body: rest.body }, env, frames)
    }

    /// The `count` parts of a value made of nested pairs; none if it is stuck or no tuple.
    fn parts_of(&mut self, value: Ref, count: usize) -> Option<Vec<Ref>> {
        let (mut parts, mut rest) = (Vec::with_capacity(count), value);
        while parts.len() + 1 < count {
            match self.open(rest) {
                Node::Pair(left, right) => {
                    parts.push(left);
                    rest = right;
                }
                Node::Era => {
                    parts.push(rest);
                }
                _ => return None,
            }
        }
        parts.push(rest);
        Some(parts)
    }

    fn choose(&mut self, m: &'a Match, env: Env, value: Ref, mode: Mode, frames: &mut Vec<Frame<'a>>) -> Control<'a> {
        match self.open(value) {
            Node::Era => self.value(Node::Era),
            Node::Ctor(ctor, fields) => {
                let Some(arm) = m.arms.iter().find(|arm| arm.ctor == ctor) else {
                    return match &m.default {
                        Some(default) => Control::Eval(default, env),
                        None => self.value(Node::Match(value, m, env)),
                    };
                };
                let mut env = env;
                for (local, field) in arm.fields.iter().zip(fields) {
                    env = self.bind(env, *local, field);
                }
                if let Some(local) = arm.whole {
                    env = self.bind(env, local, value);
                }
                Control::Eval(&arm.body, env)
            }
            Node::Global(def) => match self.unfold(def, mode) {
                Some(body) => {
                    frames.push(Frame::Match(m, env));
                    Control::Eval(body, EMPTY)
                }
                None => self.value(Node::Match(value, m, env)),
            },
            _ => self.value(Node::Match(value, m, env)),
        }
    }

    fn switch(&mut self, s: &'a Switch, env: Env, value: Ref, mode: Mode, frames: &mut Vec<Frame<'a>>) -> Control<'a> {
        match self.open(value) {
            Node::Era => self.value(Node::Era),
            Node::Num(n) => {
                if let Some((_, body)) = s.cases.iter().find(|(case, _)| *case == n.bits()) {
                    return Control::Eval(body, env);
                }
                let Some(local) = s.pred else { return Control::Eval(&s.default, env) };
                let pred = self.add(Node::Num(predecessor(n, s)));
                let env = self.bind(env, local, pred);
                Control::Eval(&s.default, env)
            }
            Node::Global(def) => match self.unfold(def, mode) {
                Some(body) => {
                    frames.push(Frame::Switch(s, env));
                    Control::Eval(body, EMPTY)
                }
                None => self.value(Node::Switch(value, s, env)),
            },
            _ => self.value(Node::Switch(value, s, env)),
        }
    }

    /// The body of a definition without parameters that is inspected, if the mode lets it be computed.
    fn unfold(&self, def: DefId, mode: Mode) -> Option<&'a Term> {
        let def = &self.program.defs[def];
        match &def.body {
            Body::Term(body) if def.params.is_empty() && mode == Mode::Unfold => Some(body),
            Body::Term(_) | Body::Net(_) => None,
        }
    }

    /// Applies a function to arguments, as far as it is known and the mode allows.
    fn enter(
        &mut self,
        function: Ref,
        args: Vec<Ref>,
        entry: Entry,
        mode: Mode,
        frames: &mut Vec<Frame<'a>>,
    ) -> Control<'a> {
        let enters = entry == Entry::Forced || mode != Mode::Rigid || args.is_empty();
        match self.open(function) {
            Node::Era => self.value(Node::Era),
            Node::Closure(params, body, env) if enters => self.enter_body(function, params, body, env, args, frames),
            Node::Global(def) if enters => self.enter_global(function, def, args, entry, mode, frames),
            _ if args.is_empty() => Control::Value(function),
            Node::Constructor(ctor) => self.construct(function, ctor, args, frames),
            Node::Partial(function, first) => {
                let args = first.into_vec().into_iter().chain(args).collect();
                self.enter(function, args, entry, mode, frames)
            }
            Node::Apply(head, first) => {
                let args = first.into_vec().into_iter().chain(args).collect();
                self.value(Node::Apply(head, args))
            }
            Node::Ctor(ctor, fields) => {
                let tag = self.add(Node::Num(Num::U24(self.program.ctors[ctor].tag)));
                let rest = args[1..].iter().copied();
                let all = [tag].into_iter().chain(fields).chain(rest).collect();
                self.enter(args[0], all, entry, mode, frames)
            }
            _ => self.value(Node::Apply(function, args.into())),
        }
    }

    fn construct(
        &mut self,
        function: Ref,
        ctor: CtorId,
        mut args: Vec<Ref>,
        frames: &mut Vec<Frame<'a>>,
    ) -> Control<'a> {
        let fields = self.program.ctors[ctor].fields.len();
        if args.len() < fields {
            return self.value(Node::Partial(function, args.into()));
        }
        let rest = args.split_off(fields);
        if !rest.is_empty() {
            frames.push(Frame::ApplyTo(rest));
        }
        self.value(Node::Ctor(ctor, args.into()))
    }

    fn enter_body(
        &mut self,
        function: Ref,
        params: &'a [LocalId],
        body: &'a Term,
        env: Env,
        mut args: Vec<Ref>,
        frames: &mut Vec<Frame<'a>>,
    ) -> Control<'a> {
        if args.len() < params.len() {
            return match args.is_empty() {
                true => Control::Value(function),
                false => self.value(Node::Partial(function, args.into())),
            };
        }
        let rest = args.split_off(params.len());
        if !rest.is_empty() {
            frames.push(Frame::ApplyTo(rest));
        }
        let mut env = env;
        for (param, arg) in params.iter().zip(args) {
            env = self.bind(env, *param, arg);
        }
        Control::Eval(body, env)
    }

    fn enter_global(
        &mut self,
        function: Ref,
        def: DefId,
        args: Vec<Ref>,
        entry: Entry,
        mode: Mode,
        frames: &mut Vec<Frame<'a>>,
    ) -> Control<'a> {
        let program = self.program;
        let Def { params, body, .. } = &program.defs[def];
        let stays = self.recursive[def] && mode != Mode::Unfold && entry == Entry::Call;
        match body {
            Body::Term(body) if params.is_empty() && !args.is_empty() && !stays => {
                frames.push(Frame::ApplyTo(args));
                Control::Eval(body, EMPTY)
            }
            Body::Term(body) if !params.is_empty() && (!stays || args.len() < params.len()) => {
                self.enter_body(function, params, body, EMPTY, args, frames)
            }
            Body::Term(_) | Body::Net(_) if args.is_empty() => Control::Value(function),
            Body::Term(_) | Body::Net(_) => self.value(Node::Apply(function, args.into())),
        }
    }
}

/// The number minus the first number after the switch's cases, as an unsigned number of the same width.
fn predecessor(n: Num, s: &Switch) -> Num {
    let bits = n.bits().wrapping_sub(cases_end(s));
    match n {
        Num::U24(_) | Num::I24(_) | Num::F24(_) => Num::U24(bits & 0xff_ffff),
        Num::U32(_) | Num::I32(_) | Num::F32(_) => Num::U32(bits),
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

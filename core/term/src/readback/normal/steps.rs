//! The transitions of the machine: what a term evaluates to, and what a continuation does with a value.

use super::{Build, Continuation, Control, EMPTY, Entry, Env, Mode, Node, Normaliser, Ref, Rest, cases_end};
use crate::{Body, DefId, Match, Switch, Target, Term, TermKind};
use girih_base::num::{BinOp, Num};
use girih_base::prim::Prim;

impl<'a> Normaliser<'a> {
    pub(super) fn value(&mut self, node: Node<'a>) -> Control<'a> {
        Control::Value(self.add(node))
    }

    pub(super) fn eval(&mut self, term: &'a Term, env: Env, frames: &mut Vec<Continuation<'a>>) -> Control<'a> {
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
                frames.push(Continuation::Arguments { terms, env });
                Control::Eval(function, env)
            }
            TermKind::Op(op, left, right) => {
                frames.push(Continuation::OpRight { op: *op, right, env });
                Control::Eval(left, env)
            }
            TermKind::Let(binds, body) => self.next_bind(Rest { binds, body }, env, frames),
            TermKind::Match(m) => {
                frames.push(Continuation::Match(m, env));
                Control::Eval(&m.scrutinee, env)
            }
            TermKind::Switch(s) => {
                frames.push(Continuation::Switch(s, env));
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

    fn parts(&mut self, build: Build, terms: &'a [Term], env: Env, frames: &mut Vec<Continuation<'a>>) -> Control<'a> {
        match terms.split_first() {
            None => self.build(build, vec![]),
            Some((first, terms)) => {
                frames.push(Continuation::Parts { build, terms, env, done: vec![] });
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

    pub(super) fn resume(
        &mut self,
        frame: Continuation<'a>,
        value: Ref,
        mode: Mode,
        frames: &mut Vec<Continuation<'a>>,
    ) -> Control<'a> {
        match frame {
            Continuation::Parts { build, terms, env, mut done } => {
                done.push(value);
                if let Some((next, terms)) = terms.split_first() {
                    frames.push(Continuation::Parts { build, terms, env, done });
                    return Control::Eval(next, env);
                }
                if let Build::Apply = build {
                    let args = done.split_off(1);
                    return self.enter(done[0], args, Entry::Call, mode, frames);
                }
                self.build(build, done)
            }
            Continuation::Arguments { terms, env } => match terms.split_first() {
                None => self.enter(value, vec![], Entry::Call, mode, frames),
                Some((first, terms)) => {
                    frames.push(Continuation::Parts { build: Build::Apply, terms, env, done: vec![value] });
                    Control::Eval(first, env)
                }
            },
            Continuation::ApplyTo(args) => self.enter(value, args, Entry::Call, mode, frames),
            Continuation::OpRight { op, right, env } => {
                frames.push(Continuation::OpDone { op, left: value });
                Control::Eval(right, env)
            }
            Continuation::OpDone { op, left } => self.op(op, left, value),
            Continuation::Bind { rest, env } => self.bound(rest, env, value, frames),
            Continuation::Match(m, env) => self.choose(m, env, value, mode, frames),
            Continuation::Switch(s, env) => self.switch(s, env, value, mode, frames),
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

    pub(super) fn next_bind(&mut self, rest: Rest<'a>, env: Env, frames: &mut Vec<Continuation<'a>>) -> Control<'a> {
        match rest.binds.first() {
            None => Control::Eval(rest.body, env),
            Some(bind) => {
                frames.push(Continuation::Bind { rest, env });
                Control::Eval(&bind.value, env)
            }
        }
    }

    /// The first of `rest.binds` has this value.
    fn bound(&mut self, rest: Rest<'a>, env: Env, value: Ref, frames: &mut Vec<Continuation<'a>>) -> Control<'a> {
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

    fn choose(
        &mut self,
        m: &'a Match,
        env: Env,
        value: Ref,
        mode: Mode,
        frames: &mut Vec<Continuation<'a>>,
    ) -> Control<'a> {
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
                    frames.push(Continuation::Match(m, env));
                    Control::Eval(body, EMPTY)
                }
                None => self.value(Node::Match(value, m, env)),
            },
            _ => self.value(Node::Match(value, m, env)),
        }
    }

    fn switch(
        &mut self,
        s: &'a Switch,
        env: Env,
        value: Ref,
        mode: Mode,
        frames: &mut Vec<Continuation<'a>>,
    ) -> Control<'a> {
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
                    frames.push(Continuation::Switch(s, env));
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
}

/// The number minus the first number after the switch's cases, as an unsigned number of the same width.
fn predecessor(n: Num, s: &Switch) -> Num {
    let bits = n.bits().wrapping_sub(cases_end(s));
    match n {
        Num::U24(_) | Num::I24(_) | Num::F24(_) => Num::U24(bits & 0xff_ffff),
        Num::U32(_) | Num::I32(_) | Num::F32(_) => Num::U32(bits),
    }
}

//! Application: of functions that are known, as far as the mode lets them be entered, and of what is stuck.

use super::{Continuation, Control, EMPTY, Entry, Env, Mode, Node, Normaliser, Ref};
use crate::{Body, CtorId, Def, DefId, LocalId, Term};
use girih_base::num::Num;

impl<'a> Normaliser<'a> {
    /// Applies a function to arguments, as far as it is known and the mode allows.
    pub(super) fn enter(
        &mut self,
        function: Ref,
        args: Vec<Ref>,
        entry: Entry,
        mode: Mode,
        frames: &mut Vec<Continuation<'a>>,
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
        frames: &mut Vec<Continuation<'a>>,
    ) -> Control<'a> {
        let fields = self.program.ctors[ctor].fields.len();
        if args.len() < fields {
            return self.value(Node::Partial(function, args.into()));
        }
        let rest = args.split_off(fields);
        if !rest.is_empty() {
            frames.push(Continuation::ApplyTo(rest));
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
        frames: &mut Vec<Continuation<'a>>,
    ) -> Control<'a> {
        if args.len() < params.len() {
            return match args.is_empty() {
                true => Control::Value(function),
                false => self.value(Node::Partial(function, args.into())),
            };
        }
        let rest = args.split_off(params.len());
        if !rest.is_empty() {
            frames.push(Continuation::ApplyTo(rest));
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
        frames: &mut Vec<Continuation<'a>>,
    ) -> Control<'a> {
        let program = self.program;
        let Def { params, body, .. } = &program.defs[def];
        let stays = self.recursive[def] && mode != Mode::Unfold && entry == Entry::Call;
        match body {
            Body::Term(body) if params.is_empty() && !args.is_empty() && !stays => {
                frames.push(Continuation::ApplyTo(args));
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

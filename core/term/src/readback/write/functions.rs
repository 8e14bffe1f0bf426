//! Functions and what is stuck: applied to variables, with the choices and tuples that wait for one.

use super::{Context, Item, Later, Task, ValueWriter};
use crate::readback::normal::{Env, Node, Ref, Rest, Unknown, cases_end, targets};
use crate::{Match, Switch};

impl<'a> ValueWriter<'a> {
    /// A function, applied to variables. If its body is stuck on one of them, the variables behind that one stand in the arms:
    /// `λa switch a { 0: λb b; _: λb (+ a-1 b) }`.
    pub(super) fn show_function(&mut self, function: Ref, context: Context) {
        let arity = self.normaliser.arity(function).unwrap_or(0);
        let args: Vec<Unknown> = (0..arity).map(|_| self.variable(None)).collect();
        let body = self.apply_to(function, &args, context);
        let stuck_on = match self.normaliser.open(body) {
            Node::Match(scrutinee, ..) | Node::Switch(scrutinee, ..) => self.position_in(scrutinee, &args),
            _ => None,
        };
        let shown = stuck_on.map_or(arity, |position| position + 1);
        let mut tasks: Vec<Task> =
            args[..shown].iter().flat_map(|v| [Task::Text("λ"), Task::Binder(*v), Task::Text(" ")]).collect();
        match shown == arity {
            true => tasks.push(Task::Show(Item::Node(body), context.body())),
            false => tasks.push(Task::Choice(Later { function, args: args[..shown].to_vec(), arity }, context)),
        }
        self.then(tasks);
    }

    fn apply_to(&mut self, function: Ref, args: &[Unknown], context: Context) -> Ref {
        let args: Vec<Ref> = args.iter().map(|v| self.normaliser.add(Node::Unknown(*v))).collect();
        self.normaliser.apply(function, &args, context.mode)
    }

    fn position_in(&mut self, node: Ref, args: &[Unknown]) -> Option<usize> {
        match self.normaliser.open(node) {
            Node::Unknown(v) => args.iter().position(|arg| *arg == v),
            _ => None,
        }
    }

    /// The choice that the body of a function is, whose last parameters stand in the arms.
    pub(super) fn choice(&mut self, later: Later, context: Context) {
        let mut tasks = vec![];
        let (body, _) = self.fresh_body(&later, context);
        match self.normaliser.open(body) {
            Node::Match(scrutinee, m, _) => {
                let (_, head) = self.scrutinee("match ", scrutinee, context.body());
                tasks.extend(head);
                for (i, arm) in m.arms.iter().enumerate() {
                    tasks.push(Task::Owned(format!("{}: ", self.program.ctors[arm.ctor].name)));
                    tasks.push(Task::LaterArm(later.clone(), Some(i), context));
                    tasks.push(Task::Text("; "));
                }
                if m.default.is_some() {
                    tasks.push(Task::Text("_: "));
                    tasks.push(Task::LaterArm(later, None, context));
                    tasks.push(Task::Text("; "));
                }
            }
            Node::Switch(scrutinee, s, _) => {
                let (_, head) = self.scrutinee("switch ", scrutinee, context.body());
                tasks.extend(head);
                for (i, (case, _)) in s.cases.iter().enumerate() {
                    tasks.push(Task::Owned(format!("{case}: ")));
                    tasks.push(Task::LaterArm(later.clone(), Some(i), context));
                    tasks.push(Task::Text("; "));
                }
                tasks.extend([Task::Text("_: "), Task::LaterArm(later, None, context), Task::Text("; ")]);
            }
            _ => {}
        }
        tasks.push(Task::Text("}"));
        self.then(tasks);
    }

    /// The body of a function at its shown arguments and new variables for the others.
    fn fresh_body(&mut self, later: &Later, context: Context) -> (Ref, Vec<Unknown>) {
        let others: Vec<Unknown> = (later.args.len()..later.arity).map(|_| self.variable(None)).collect();
        let all: Vec<Unknown> = later.args.iter().chain(&others).copied().collect();
        (self.apply_to(later.function, &all, context), others)
    }

    /// An arm (or none for the default) of such a choice: the function of the last parameters.
    pub(super) fn later_arm(&mut self, later: &Later, arm: Option<usize>, context: Context) {
        let (body, others) = self.fresh_body(later, context);
        let inner = context.body().arm();
        let mut tasks: Vec<Task> =
            others.iter().flat_map(|v| [Task::Text("λ"), Task::Binder(*v), Task::Text(" ")]).collect();
        match (self.normaliser.open(body), arm) {
            (Node::Match(scrutinee, m, env), Some(arm)) => {
                if let Node::Unknown(whole) = self.normaliser.open(scrutinee) {
                    tasks.push(Task::Arm(m, arm, env, whole, inner));
                }
            }
            (Node::Match(_, m, env), None) => {
                if let Some(default) = &m.default {
                    let body = self.normaliser.term(default, env, inner.mode);
                    tasks.push(Task::Show(Item::Node(body), inner));
                }
            }
            (Node::Switch(_, s, env), Some(case)) => {
                let body = self.normaliser.term(&s.cases[case].1, env, inner.mode);
                tasks.push(Task::Show(Item::Node(body), inner));
            }
            (Node::Switch(scrutinee, s, env), None) => {
                if let Node::Unknown(number) = self.normaliser.open(scrutinee) {
                    tasks.push(Task::SwitchDefault(s, env, number, inner));
                }
            }
            _ => {}
        }
        self.then(tasks);
    }

    pub(super) fn show_call(&mut self, function: Ref, args: &[Ref], context: Context) {
        let mut tasks = vec![Task::Text("("), Task::Show(Item::Node(function), context)];
        tasks.extend(args.iter().flat_map(|arg| [Task::Text(" "), Task::Show(Item::Node(*arg), context)]));
        tasks.push(Task::Text(")"));
        self.then(tasks);
    }

    /// `x` of a `match x = …` or `switch x = …`: the variable that is inspected, or a new one for what is.
    fn scrutinee(&mut self, keyword: &'static str, scrutinee: Ref, context: Context) -> (Unknown, Vec<Task<'a>>) {
        if let Node::Unknown(v) = self.normaliser.open(scrutinee) {
            return (v, vec![Task::Text(keyword), Task::Use(v), Task::Text(" = "), Task::Use(v), Task::Text(" { ")]);
        }
        let v = self.variable(None);
        let item = Item::Node(scrutinee);
        let tasks =
            vec![Task::Text(keyword), Task::Binder(v), Task::Text(" = "), Task::Show(item, context), Task::Text(" { ")];
        (v, tasks)
    }

    pub(super) fn show_match(&mut self, scrutinee: Ref, m: &'a Match, env: Env, context: Context) {
        let (whole, mut tasks) = self.scrutinee("match ", scrutinee, context);
        for (i, arm) in m.arms.iter().enumerate() {
            tasks.push(Task::Owned(format!("{}: ", self.program.ctors[arm.ctor].name)));
            tasks.push(Task::Arm(m, i, env, whole, context.arm()));
            tasks.push(Task::Text("; "));
        }
        if let Some(default) = &m.default {
            let body = self.normaliser.term(default, env, context.arm().mode);
            tasks.extend([Task::Text("_: "), Task::Show(Item::Node(body), context.arm()), Task::Text("; ")]);
        }
        tasks.push(Task::Text("}"));
        self.then(tasks);
    }

    pub(super) fn arm(&mut self, m: &'a Match, arm: usize, env: Env, whole: Unknown, context: Context) {
        let names = &self.program.ctors[m.arms[arm].ctor].fields;
        let mut fields = vec![];
        for field in names {
            let v = self.variable(Some((whole, format!(".{}", field.name))));
            fields.push(self.normaliser.add(Node::Unknown(v)));
        }
        let whole = self.normaliser.add(Node::Unknown(whole));
        let body = self.normaliser.arm(m, arm, env, whole, &fields, context.mode);
        self.tasks.push(Task::Show(Item::Node(body), context));
    }

    pub(super) fn show_switch(&mut self, scrutinee: Ref, s: &'a Switch, env: Env, context: Context) {
        let (number, mut tasks) = self.scrutinee("switch ", scrutinee, context);
        for (case, body) in &s.cases {
            let body = self.normaliser.term(body, env, context.arm().mode);
            tasks.push(Task::Owned(format!("{case}: ")));
            tasks.extend([Task::Show(Item::Node(body), context.arm()), Task::Text("; ")]);
        }
        tasks.extend([Task::Text("_: "), Task::SwitchDefault(s, env, number, context.arm()), Task::Text("; }")]);
        self.then(tasks);
    }

    pub(super) fn switch_default(&mut self, s: &'a Switch, env: Env, number: Unknown, context: Context) {
        let pred = self.variable(Some((number, format!("-{}", cases_end(s)))));
        let pred = self.normaliser.add(Node::Unknown(pred));
        let body = self.normaliser.switch_default(s, env, pred, context.mode);
        self.tasks.push(Task::Show(Item::Node(body), context));
    }

    /// Whether a node is the tuple of these parts.
    fn rebuilds(&mut self, node: Ref, parts: &[Ref]) -> bool {
        match (parts, self.normaliser.open(node)) {
            ([last], Node::Unknown(v)) => self.is_unknown(*last, v),
            ([first, rest @ ..], Node::Pair(left, right)) => match self.normaliser.open(left) {
                Node::Unknown(v) => self.is_unknown(*first, v) && self.rebuilds(right, rest),
                _ => false,
            },
            _ => false,
        }
    }

    fn is_unknown(&mut self, node: Ref, v: Unknown) -> bool {
        matches!(self.normaliser.open(node), Node::Unknown(other) if other == v)
    }

    pub(super) fn show_split(&mut self, value: Ref, rest: Rest<'a>, env: Env, context: Context) {
        let mut tasks = vec![Task::Text("let (")];
        let mut parts = vec![];
        for i in 0..targets(rest.binds).len() {
            let v = self.variable(None);
            parts.push(self.normaliser.add(Node::Unknown(v)));
            tasks.extend([Task::Text(if i > 0 { ", " } else { "" }), Task::Binder(v)]);
        }
        let body = self.normaliser.split(rest, env, &parts, context.mode);
        if self.rebuilds(body, &parts) {
            return self.tasks.push(Task::Show(Item::Node(value), context));
        }
        tasks.extend([Task::Text(") = "), Task::Show(Item::Node(value), context), Task::Text("; ")]);
        tasks.push(Task::Show(Item::Node(body), context));
        self.then(tasks);
    }
}

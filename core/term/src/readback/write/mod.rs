//! Writes a value piece by piece: what is still to be written is a list of tasks, so that neither deep data nor deep terms
//! need native stack. Variables get their names at the end, when it is known which of them are used.

mod functions;

use super::normal::{Env, Mode, Node, Normaliser, Ref, Unknown};
use crate::code::Code;
use crate::eval::{Machine, Value, View};
use crate::{CtorId, DefId, Known, Match, Program, Switch};
use girih_base::idx::IndexVec;
use girih_base::num::Num;

/// How many functions inside functions are computed before calls of recursive definitions stay calls.
const UNFOLDED_BINDERS: usize = 32;

/// The text of a value in which no definition is left to be computed.
pub(super) fn write(code: &Code, machine: &Machine, recursive: &IndexVec<DefId, bool>, value: Value) -> String {
    let program = code.program();
    let normaliser = Normaliser::new(code, machine, recursive);
    let mut writer =
        ValueWriter { program, machine, recursive, normaliser, pieces: vec![], variables: vec![], tasks: vec![] };
    writer.tasks.push(Task::Show(Item::Heap(value), Context { mode: Mode::Unfold, binders: 0, outermost: true }));
    while let Some(task) = writer.tasks.pop() {
        writer.perform(task);
    }
    writer.finish()
}

/// Where something stands.
#[derive(Clone, Copy)]
struct Context {
    mode: Mode,
    /// How many functions enclose it.
    binders: usize,
    /// Whether it is the whole result: a recursive function is then shown, not named.
    outermost: bool,
}

impl Context {
    fn inner(self) -> Context {
        Context { outermost: false, ..self }
    }

    /// Inside the body of a function.
    fn body(self) -> Context {
        let mode = if self.binders >= UNFOLDED_BINDERS && self.mode == Mode::Unfold { Mode::Frozen } else { self.mode };
        Context { mode, binders: self.binders + 1, outermost: false }
    }

    /// Inside an arm of a stuck match.
    fn arm(self) -> Context {
        let mode = if self.mode == Mode::Unfold { Mode::Frozen } else { self.mode };
        Context { mode, ..self.inner() }
    }
}

/// A value of the heap, or a node of the normaliser.
#[derive(Clone, Copy)]
enum Item {
    Heap(Value),
    Node(Ref),
}

/// Something still to be written. The last task comes first.
enum Task<'a> {
    Text(&'static str),
    Owned(String),
    Binder(Unknown),
    Use(Unknown),
    Show(Item, Context),
    /// An arm of a stuck match over a variable.
    Arm(&'a Match, usize, Env, Unknown, Context),
    /// The default of a stuck switch over a variable.
    SwitchDefault(&'a Switch, Env, Unknown, Context),
    /// The choice that a function's body is.
    Choice(Later, Context),
    /// An arm of that choice, or its default.
    LaterArm(Later, Option<usize>, Context),
}

/// A function whose body is a choice over the last of `args`; its other parameters stand in the arms.
#[derive(Clone)]
struct Later {
    function: Ref,
    args: Vec<Unknown>,
    arity: usize,
}

enum Piece {
    Text(&'static str),
    Owned(String),
    Binder(Unknown),
    Use(Unknown),
}

/// A variable of the text.
struct Variable {
    /// A part of another variable: `x.head`, `n-1`.
    part_of: Option<(Unknown, String)>,
    used: bool,
}

/// What an item is, one level deep.
enum ItemKind {
    Num(Num),
    Era,
    Ctor(CtorId, Vec<Item>),
    Pair(Item, Item),
    /// A function or something stuck.
    Other(Ref),
}

struct ValueWriter<'a> {
    program: &'a Program,
    machine: &'a Machine,
    recursive: &'a IndexVec<DefId, bool>,
    normaliser: Normaliser<'a>,
    pieces: Vec<Piece>,
    variables: Vec<Variable>,
    tasks: Vec<Task<'a>>,
}

impl<'a> ValueWriter<'a> {
    fn perform(&mut self, task: Task<'a>) {
        match task {
            Task::Text(text) => self.pieces.push(Piece::Text(text)),
            Task::Owned(text) => self.pieces.push(Piece::Owned(text)),
            Task::Binder(v) => self.pieces.push(Piece::Binder(v)),
            Task::Use(v) => self.mention(v),
            Task::Show(item, context) => self.show(item, context),
            Task::Arm(m, arm, env, whole, context) => self.arm(m, arm, env, whole, context),
            Task::SwitchDefault(s, env, number, context) => self.switch_default(s, env, number, context),
            Task::Choice(later, context) => self.choice(later, context),
            Task::LaterArm(later, arm, context) => self.later_arm(&later, arm, context),
        }
    }

    /// Schedules tasks; the first is performed first.
    fn then(&mut self, tasks: Vec<Task<'a>>) {
        self.tasks.extend(tasks.into_iter().rev());
    }

    fn variable(&mut self, part_of: Option<(Unknown, String)>) -> Unknown {
        self.variables.push(Variable { part_of, used: false });
        Unknown(self.variables.len() as u32 - 1)
    }

    fn mention(&mut self, v: Unknown) {
        self.pieces.push(Piece::Use(v));
        let mut next = Some(v);
        while let Some(v) = next {
            let variable = &mut self.variables[v.0 as usize];
            variable.used = true;
            next = variable.part_of.as_ref().map(|(whole, _)| *whole);
        }
    }

    /// Joins the pieces; used variables are named `a`, `b`, … in the order of their binders.
    fn finish(self) -> String {
        let mut names: Vec<Option<String>> = self.variables.iter().map(|_| None).collect();
        let mut count = 0;
        let mut out = String::new();
        for piece in &self.pieces {
            if let Piece::Binder(v) = piece
                && self.variables[v.0 as usize].used
            {
                names[v.0 as usize] = Some(letters(count));
                count += 1;
            }
        }
        for piece in self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Owned(text) => out.push_str(&text),
                Piece::Binder(v) => out.push_str(names[v.0 as usize].as_deref().unwrap_or("*")),
                Piece::Use(v) => out.push_str(&full_name(&self.variables, &names, v)),
            }
        }
        out
    }

    fn shape(&mut self, item: Item) -> ItemKind {
        match item {
            Item::Heap(value) => match self.machine.view(value) {
                View::Num(n) => ItemKind::Num(n),
                View::Era => ItemKind::Era,
                View::Ctor(ctor, fields) => ItemKind::Ctor(ctor, fields.into_iter().map(Item::Heap).collect()),
                View::Pair(left, right) => ItemKind::Pair(Item::Heap(left), Item::Heap(right)),
                View::Global(def) if !self.recursive[def] => match self.machine.computed(def) {
                    Some(value) => self.shape(Item::Heap(value)),
                    None => ItemKind::Other(self.normaliser.add(Node::Heap(value))),
                },
                View::Closure { .. }
                | View::Partial { .. }
                | View::Global(_)
                | View::Constructor(_)
                | View::Selector(_) => ItemKind::Other(self.normaliser.add(Node::Heap(value))),
            },
            Item::Node(node) => match self.normaliser.open(node) {
                Node::Num(n) => ItemKind::Num(n),
                Node::Era => ItemKind::Era,
                Node::Ctor(ctor, fields) => ItemKind::Ctor(ctor, fields.into_iter().map(Item::Node).collect()),
                Node::Pair(left, right) => ItemKind::Pair(Item::Node(left), Item::Node(right)),
                _ => ItemKind::Other(node),
            },
        }
    }

    fn show(&mut self, item: Item, context: Context) {
        match self.shape(item) {
            ItemKind::Num(n) => self.pieces.push(Piece::Owned(n.to_string())),
            ItemKind::Era => self.pieces.push(Piece::Text("*")),
            ItemKind::Pair(left, right) => {
                let inner = context.inner();
                self.then(vec![
                    Task::Text("("),
                    Task::Show(left, inner),
                    Task::Text(", "),
                    Task::Show(right, inner),
                    Task::Text(")"),
                ]);
            }
            ItemKind::Ctor(ctor, fields) => self.show_ctor(ctor, fields, context.inner()),
            ItemKind::Other(node) => self.show_other(node, context),
        }
    }

    fn show_ctor(&mut self, ctor: CtorId, fields: Vec<Item>, context: Context) {
        let Known { list_nil, list_cons, string_nil, string_cons, .. } = self.program.known;
        let ctor_is = |known: Option<CtorId>| known == Some(ctor);
        if ctor_is(list_nil) {
            self.pieces.push(Piece::Text("[]"));
        } else if ctor_is(string_nil) {
            self.pieces.push(Piece::Text("\"\""));
        } else if ctor_is(list_cons) {
            self.show_list(fields, context);
        } else if ctor_is(string_cons) {
            self.show_string(fields, context);
        } else {
            self.show_fields(ctor, fields, context);
        }
    }

    fn show_fields(&mut self, ctor: CtorId, mut fields: Vec<Item>, context: Context) {
        let mut tasks = vec![Task::Owned(self.program.ctors[ctor].name.to_string())];
        if !fields.is_empty() {
            tasks.push(Task::Text("("));
        }
        if self.is_io(ctor) && !fields.is_empty() && self.is_io_magic(fields[0]) {
            fields.remove(0);
            tasks.push(Task::Text("IO/MAGIC"));
            tasks.push(Task::Text(if fields.is_empty() { "" } else { ", " }));
        }
        let count = fields.len();
        for (i, field) in fields.into_iter().enumerate() {
            tasks.push(Task::Show(field, context));
            tasks.push(Task::Text(if i + 1 < count { ", " } else { "" }));
        }
        if !self.program.ctors[ctor].fields.is_empty() {
            tasks.push(Task::Text(")"));
        }
        self.then(tasks);
    }

    fn is_io(&self, ctor: CtorId) -> bool {
        let known = &self.program.known;
        Some(ctor) == known.io_done || Some(ctor) == known.io_call
    }

    /// Whether a field is the pair of numbers by which the runtime recognises IO; it is shown by its name.
    fn is_io_magic(&mut self, item: Item) -> bool {
        let ItemKind::Pair(left, right) = self.shape(item) else { return false };
        let magic = crate::IO_MAGIC;
        matches!(self.shape(left), ItemKind::Num(Num::U24(n)) if n == magic.0)
            && matches!(self.shape(right), ItemKind::Num(Num::U24(n)) if n == magic.1)
    }

    /// The heads of a chain of `cons` cells and the item after the last of them.
    fn chain(&mut self, cons: Option<CtorId>, fields: Vec<Item>) -> (Vec<Item>, Item) {
        let mut heads = vec![fields[0]];
        let mut tail = fields[1];
        loop {
            match self.shape(tail) {
                ItemKind::Ctor(ctor, fields) if Some(ctor) == cons => {
                    heads.push(fields[0]);
                    tail = fields[1];
                }
                _ => return (heads, tail),
            }
        }
    }

    fn ends_with(&mut self, tail: Item, nil: Option<CtorId>) -> bool {
        matches!(self.shape(tail), ItemKind::Ctor(ctor, _) if Some(ctor) == nil)
    }

    fn show_list(&mut self, fields: Vec<Item>, context: Context) {
        let (cons, nil) = (self.program.known.list_cons, self.program.known.list_nil);
        let (heads, tail) = self.chain(cons, fields);
        if !self.ends_with(tail, nil) {
            return self.show_open_chain(cons, heads, tail, context);
        }
        let mut tasks = vec![Task::Text("[")];
        for (i, head) in heads.into_iter().enumerate() {
            tasks.push(Task::Text(if i > 0 { ", " } else { "" }));
            tasks.push(Task::Show(head, context));
        }
        tasks.push(Task::Text("]"));
        self.then(tasks);
    }

    /// A text, as far from its end as it is made of characters; what stands before is shown cell by cell.
    fn show_string(&mut self, fields: Vec<Item>, context: Context) {
        let (cons, nil) = (self.program.known.string_cons, self.program.known.string_nil);
        let (mut heads, tail) = self.chain(cons, fields);
        if !self.ends_with(tail, nil) {
            return self.show_open_chain(cons, heads, tail, context);
        }
        let mut text = vec![];
        while let Some(&head) = heads.last()
            && let ItemKind::Num(Num::U24(code)) = self.shape(head)
            && let Some(c) = char::from_u32(code)
        {
            text.push(c);
            heads.pop();
        }
        let text: String = text.into_iter().rev().collect();
        let open = heads.len();
        let mut tasks = self.open_cells(cons, heads, context);
        tasks.push(Task::Owned(format!("{text:?}")));
        tasks.extend((0..open).map(|_| Task::Text(")")));
        self.then(tasks);
    }

    fn open_cells(&self, cons: Option<CtorId>, heads: Vec<Item>, context: Context) -> Vec<Task<'a>> {
        let name = cons.map(|cons| self.program.ctors[cons].name.to_string()).unwrap_or_default();
        let cell = |head| [Task::Owned(format!("{name}(")), Task::Show(head, context), Task::Text(", ")];
        heads.into_iter().flat_map(cell).collect()
    }

    /// A chain of cells that does not end in the empty list.
    fn show_open_chain(&mut self, cons: Option<CtorId>, heads: Vec<Item>, tail: Item, context: Context) {
        let open = heads.len();
        let mut tasks = self.open_cells(cons, heads, context);
        tasks.push(Task::Show(tail, context));
        tasks.extend((0..open).map(|_| Task::Text(")")));
        self.then(tasks);
    }

    fn show_other(&mut self, node: Ref, context: Context) {
        let inner = context.inner();
        match self.normaliser.open(node) {
            Node::Closure(..) | Node::Constructor(_) => self.show_function(node, context),
            Node::Global(def) => match self.program.defs[def].params.is_empty() || self.named(def, context) {
                true => self.pieces.push(Piece::Owned(self.program.defs[def].name.to_string())),
                false => self.show_function(node, context),
            },
            Node::Partial(function, args) => match self.normaliser.open(function) {
                Node::Global(def) if self.named(def, context) => self.show_call(function, &args, inner),
                _ => self.show_function(node, context),
            },
            Node::Unknown(v) => self.mention(v),
            Node::Apply(function, args) => self.show_call(function, &args, inner),
            Node::Op(op, left, right) => {
                // As upstream shows it: of a commutative operator a number comes first.
                let swaps = op.is_commutative() && matches!(self.normaliser.open(right), Node::Num(_));
                let (left, right) = if swaps { (right, left) } else { (left, right) };
                self.then(vec![
                    Task::Text("("),
                    Task::Text(op.symbol()),
                    Task::Text(" "),
                    Task::Show(Item::Node(left), inner),
                    Task::Text(" "),
                    Task::Show(Item::Node(right), inner),
                    Task::Text(")"),
                ]);
            }
            Node::Prim(prim, args) => {
                let mut tasks = vec![Task::Text("("), Task::Text(prim.name())];
                tasks.extend(args.iter().flat_map(|arg| [Task::Text(" "), Task::Show(Item::Node(*arg), inner)]));
                tasks.push(Task::Text(")"));
                self.then(tasks);
            }
            Node::Match(scrutinee, m, env) => self.show_match(scrutinee, m, env, inner),
            Node::Switch(scrutinee, s, env) => self.show_switch(scrutinee, s, env, inner),
            Node::Split(value, rest, env) => self.show_split(value, rest, env, inner),
            // `shape` has shown these.
            Node::Heap(_) | Node::Num(_) | Node::Era | Node::Str(..) | Node::Ctor(..) | Node::Pair(..) => {}
        }
    }

    fn named(&self, def: DefId, context: Context) -> bool {
        self.recursive[def] && !context.outermost
    }
}

/// `a`, …, `z`, `aa`, `ab`, …
fn letters(mut n: usize) -> String {
    let mut name = vec![];
    loop {
        name.push(b'a' + (n % 26) as u8);
        if n < 26 {
            break;
        }
        n = n / 26 - 1;
    }
    name.into_iter().rev().map(char::from).collect()
}

/// The name of a variable, or of a part of one.
fn full_name(variables: &[Variable], names: &[Option<String>], v: Unknown) -> String {
    let mut suffixes = vec![];
    let mut v = v;
    while let Some((whole, suffix)) = &variables[v.0 as usize].part_of {
        suffixes.push(suffix.as_str());
        v = *whole;
    }
    let mut name = names[v.0 as usize].clone().unwrap_or_else(|| "_".to_string());
    suffixes.iter().rev().for_each(|s| name.push_str(s));
    name
}

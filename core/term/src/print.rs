//! The text form of the lambda core, for people who want to see what became of a program.
//!
//! ```text
//! def sum: u24 -> u24 -> u24
//!   λ(depth, x)
//!     switch depth {
//!       0: x
//!       _ depth-1: (sum(depth-1, (x * 2)) + sum(depth-1, ((x * 2) + 1)))
//!     }
//! ```
//!
//! Variables keep their names; one that shares its name with another of its definition has its number behind it. What is
//! short stands on one line, except choices and bindings, which have a line for each part.

use super::groups::leaves;
use super::ty::{Scheme, Type, letter};
use super::{
    Arm, Bind, Body, CtorId, DataType, Def, DefId, LocalId, Match, Origin, Program, Switch, Target, Term, TermKind,
};
use girih_base::name::Name;
use girih_base::num::{Num, NumKind};
use std::collections::{HashMap, HashSet};

/// Lines are not broken before this column.
const WIDTH: usize = 100;

/// Prints the data types and definitions of the user's files and everything of the prelude that they need.
pub fn print_program(program: &Program) -> String {
    let wanted = wanted(program);
    let types = program.types.iter().filter(|ty| ty.origin != Origin::Prelude).map(|ty| print_type(program, ty));
    let defs =
        program.defs.iter_enumerated().filter(|(id, _)| wanted.contains(id)).map(|(_, def)| print_def(program, def));
    types.chain(defs).collect::<Vec<_>>().join("\n")
}

/// The user's definitions and all that they reach.
fn wanted(program: &Program) -> HashSet<DefId> {
    let mut wanted = HashSet::new();
    let mut work: Vec<DefId> = program
        .defs
        .iter_enumerated()
        .filter(|(_, def)| root_origin(program, def) == Origin::User)
        .map(|(id, _)| id)
        .collect();
    while let Some(id) = work.pop() {
        if wanted.insert(id)
            && let Body::Term(body) = &program.defs[id].body
        {
            globals(body, &mut work);
        }
    }
    wanted
}

/// Where a definition comes from, or for a part of another one, where that comes from.
fn root_origin(program: &Program, def: &Def) -> Origin {
    let mut origin = def.origin;
    while let Origin::Generated(parent) = origin {
        origin = program.defs[parent].origin;
    }
    origin
}

/// The definitions that a term names.
fn globals(term: &Term, found: &mut Vec<DefId>) {
    if let TermKind::Global(def) = term.kind {
        found.push(def);
    }
    term.children().into_iter().for_each(|child| globals(child, found));
}

fn print_type(program: &Program, ty: &DataType) -> String {
    let vars: Vec<&str> = ty.vars.iter().map(Name::as_str).collect();
    let mut text = format!("type {}{}\n", ty.name, in_parentheses(&vars));
    for &ctor in &ty.ctors {
        let ctor = &program.ctors[ctor];
        let fields: Vec<String> = ctor
            .fields
            .iter()
            .map(|field| {
                let mark = if field.recursive { "~" } else { "" };
                format!("{mark}{}: {}", field.name, show_type(program, &field.ty, &ty.vars))
            })
            .collect();
        text += &format!("  {}{}\n", ctor.name, in_parentheses(&fields));
    }
    text
}

/// `(a, b)`, or nothing.
fn in_parentheses<S: AsRef<str>>(parts: &[S]) -> String {
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    if parts.is_empty() { String::new() } else { format!("({})", parts.join(", ")) }
}

/// Prints one definition.
pub fn print_def(program: &Program, def: &Def) -> String {
    let mut text = format!("def {}: {}\n", def.name, show_scheme(program, &def.ty));
    match &def.body {
        Body::Net(_) => text += "  <net>\n",
        Body::Term(body) => {
            let mut printer = Printer { program, names: names(def), out: String::new() };
            if def.params.is_empty() {
                printer.start_line(1);
                printer.term(body, 1);
            } else {
                printer.start_line(1);
                printer.lambda(&def.params, body, 1);
            }
            text += printer.out.trim_start_matches('\n');
            text.push('\n');
        }
    }
    text
}

/// What each variable is called: its name, with its number if the name is not unique.
fn names(def: &Def) -> HashMap<LocalId, String> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for local in def.locals.iter() {
        *uses.entry(local.name.as_str()).or_default() += 1;
    }
    let name = |(id, local): (LocalId, &super::Local)| {
        let unique = uses.get(local.name.as_str()) == Some(&1);
        (id, if unique { local.name.to_string() } else { format!("{}#{}", local.name, id.index()) })
    };
    def.locals.iter_enumerated().map(name).collect()
}

/// A type as it is written in Bend.
pub fn show_scheme(program: &Program, scheme: &Scheme) -> String {
    show_type(program, &scheme.ty, &scheme.params)
}

fn show_type(program: &Program, ty: &Type, vars: &[Name]) -> String {
    let list = |types: &[Type]| types.iter().map(|ty| show_type(program, ty, vars)).collect::<Vec<_>>();
    match ty {
        Type::Any => "Any".to_owned(),
        Type::Hole => "_".to_owned(),
        Type::None => "None".to_owned(),
        Type::Num(kind) => kind.name().to_owned(),
        Type::Param(i) => vars.get(*i as usize).map_or_else(|| letter(*i as usize), |name| name.to_string()),
        Type::Var(i) => format!("?{i}"),
        Type::Data(id, arguments) => format!("{}{}", program.types[*id].name, in_parentheses(&list(arguments))),
        Type::Tuple(parts) => in_parentheses(&list(parts)),
        Type::Arrow(from, to) => {
            let left = show_type(program, from, vars);
            let left = if matches!(**from, Type::Arrow(..)) { format!("({left})") } else { left };
            format!("{left} -> {}", show_type(program, to, vars))
        }
    }
}

struct Printer<'p> {
    program: &'p Program,
    names: HashMap<LocalId, String>,
    out: String,
}

impl Printer<'_> {
    fn start_line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.push_str(&"  ".repeat(indent));
    }

    fn name(&self, local: LocalId) -> &str {
        self.names.get(&local).map_or("?", String::as_str)
    }

    fn ctor(&self, ctor: CtorId) -> &str {
        &self.program.ctors[ctor].name
    }

    /// Prints a term whose following lines are indented by `indent` steps.
    fn term(&mut self, term: &Term, indent: usize) {
        let mut line = String::new();
        if self.flat(term, &mut line, WIDTH.saturating_sub(2 * indent)) {
            self.out += &line;
        } else {
            self.tall(term, indent);
        }
    }

    /// Prints a term into `line` unless it needs several lines; whether it did.
    fn flat(&self, term: &Term, line: &mut String, width: usize) -> bool {
        match &term.kind {
            TermKind::Local(local) => *line += self.name(*local),
            TermKind::Global(def) => *line += &self.program.defs[*def].name,
            TermKind::Num(number) => *line += &show_number(*number),
            TermKind::Literal(literal) => *line += &literal.to_string(),
            TermKind::Str(text) => *line += &format!("{:?}", text.as_str()),
            TermKind::Era => line.push('*'),
            TermKind::Link(name) => *line += &format!("${name}"),
            TermKind::Invalid => *line += "<invalid>",
            TermKind::List(items) => return self.flat_list("[", items, "]", line, width),
            TermKind::Ctor(ctor, fields) if fields.is_empty() => *line += self.ctor(*ctor),
            TermKind::Ctor(ctor, fields) => {
                *line += self.ctor(*ctor);
                return self.flat_list("(", fields, ")", line, width);
            }
            TermKind::Tuple(parts) => return self.flat_list("(", parts, ")", line, width),
            TermKind::Sup(parts) => return self.flat_list("{", parts, "}", line, width),
            TermKind::Prim(prim, arguments) => {
                *line += &format!("%{}", prim.name());
                return self.flat_list("(", arguments, ")", line, width);
            }
            TermKind::Apply(function, arguments) => {
                return self.flat_head(function, line, width) && self.flat_list("(", arguments, ")", line, width);
            }
            TermKind::Op(op, left, right) => {
                line.push('(');
                if !self.flat(left, line, width) {
                    return false;
                }
                *line += &format!(" {} ", op.symbol());
                if !self.flat(right, line, width) {
                    return false;
                }
                line.push(')');
            }
            TermKind::Lambda(params, body) => {
                *line += &format!("{} ", self.lambda_head(params));
                return self.flat(body, line, width);
            }
            TermKind::Let(..) | TermKind::Match(_) | TermKind::Switch(_) => return false,
        }
        line.len() <= width
    }

    fn flat_list(&self, open: &str, items: &[Term], close: &str, line: &mut String, width: usize) -> bool {
        *line += open;
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                *line += ", ";
            }
            if !self.flat(item, line, width) {
                return false;
            }
        }
        *line += close;
        line.len() <= width
    }

    /// What is applied: in parentheses if its end could not be seen otherwise.
    fn flat_head(&self, function: &Term, line: &mut String, width: usize) -> bool {
        let open_ended = matches!(function.kind, TermKind::Lambda(..));
        if open_ended {
            line.push('(');
        }
        let fits = self.flat(function, line, width);
        if open_ended {
            line.push(')');
        }
        fits
    }

    fn lambda_head(&self, params: &[LocalId]) -> String {
        let params: Vec<&str> = params.iter().map(|param| self.name(*param)).collect();
        format!("λ({})", params.join(", "))
    }

    /// Prints a term on several lines.
    fn tall(&mut self, term: &Term, indent: usize) {
        match &term.kind {
            leaves!() => {
                // These have no parts, so they are printed whatever their width.
                let mut line = String::new();
                self.flat(term, &mut line, usize::MAX);
                self.out += &line;
            }
            TermKind::List(items) => self.tall_list("[", items, "]", indent),
            TermKind::Tuple(parts) => self.tall_list("(", parts, ")", indent),
            TermKind::Sup(parts) => self.tall_list("{", parts, "}", indent),
            TermKind::Ctor(ctor, fields) => {
                self.out += &self.program.ctors[*ctor].name;
                self.tall_list("(", fields, ")", indent);
            }
            TermKind::Prim(prim, arguments) => {
                self.out += &format!("%{}", prim.name());
                self.tall_list("(", arguments, ")", indent);
            }
            TermKind::Apply(function, arguments) => {
                self.parenthesised(function, indent);
                self.tall_list("(", arguments, ")", indent);
            }
            TermKind::Op(op, left, right) => {
                self.out.push('(');
                self.term(left, indent + 1);
                self.start_line(indent + 1);
                self.out += &format!("{} ", op.symbol());
                self.term(right, indent + 1);
                self.out.push(')');
            }
            TermKind::Lambda(params, body) => self.lambda(params, body, indent),
            TermKind::Let(binds, body) => {
                for bind in binds {
                    self.bind(bind, indent);
                    self.start_line(indent);
                }
                self.term(body, indent);
            }
            TermKind::Match(choice) => self.choice(choice, indent),
            TermKind::Switch(choice) => self.switch(choice, indent),
        }
    }

    fn tall_list(&mut self, open: &str, items: &[Term], close: &str, indent: usize) {
        self.out += open;
        for item in items {
            self.start_line(indent + 1);
            self.term(item, indent + 1);
            self.out.push(',');
        }
        self.start_line(indent);
        self.out += close;
    }

    fn parenthesised(&mut self, term: &Term, indent: usize) {
        let mut line = String::new();
        if self.flat_head(term, &mut line, WIDTH.saturating_sub(2 * indent)) {
            self.out += &line;
        } else {
            self.out.push('(');
            self.term(term, indent + 1);
            self.out.push(')');
        }
    }

    fn lambda(&mut self, params: &[LocalId], body: &Term, indent: usize) {
        self.out += &self.lambda_head(params);
        self.start_line(indent + 1);
        self.term(body, indent + 1);
    }

    fn bind(&mut self, bind: &Bind, indent: usize) {
        let parts = |parts: &[Option<LocalId>]| -> Vec<String> {
            parts.iter().map(|part| part.map_or("*", |local| self.name(local)).to_owned()).collect()
        };
        let target = match &bind.target {
            Target::Var(local) => self.name(*local).to_owned(),
            Target::Tuple(locals) => format!("({})", parts(locals).join(", ")),
            Target::Dup(locals) => format!("{{{}}}", parts(locals).join(", ")),
            Target::Link(name) => format!("${name}"),
        };
        self.out += &format!("{target} = ");
        self.term(&bind.value, indent + 1);
    }

    fn choice(&mut self, choice: &Match, indent: usize) {
        self.out += "match ";
        self.term(&choice.scrutinee, indent + 1);
        self.out += " {";
        for Arm { ctor, whole, fields, body } in &choice.arms {
            let fields: Vec<&str> = fields.iter().map(|field| self.name(*field)).collect();
            let whole = whole.map(|local| format!(" as {}", self.name(local))).unwrap_or_default();
            let head = format!("{}{}{whole}", self.ctor(*ctor), in_parentheses(&fields));
            self.arm(&head, body, indent);
        }
        if let Some(default) = &choice.default {
            self.arm("_", default, indent);
        }
        self.start_line(indent);
        self.out.push('}');
    }

    fn switch(&mut self, choice: &Switch, indent: usize) {
        self.out += "switch ";
        self.term(&choice.scrutinee, indent + 1);
        self.out += " {";
        for (value, body) in &choice.cases {
            self.arm(&value.to_string(), body, indent);
        }
        let head = choice.pred.map_or("_".to_owned(), |local| format!("_ {}", self.name(local)));
        self.arm(&head, &choice.default, indent);
        self.start_line(indent);
        self.out.push('}');
    }

    fn arm(&mut self, head: &str, body: &Term, indent: usize) {
        self.start_line(indent + 1);
        self.out += &format!("{head}: ");
        let mut line = String::new();
        if self.flat(body, &mut line, WIDTH.saturating_sub(2 * indent + head.len() + 4)) {
            self.out += &line;
        } else {
            self.out.truncate(self.out.trim_end().len());
            self.start_line(indent + 2);
            self.term(body, indent + 2);
        }
    }
}

/// A number as a literal: kinds of 32 bits have their suffix.
fn show_number(number: Num) -> String {
    match number {
        Num::U24(n) => n.to_string(),
        Num::I24(n) => format!("{n:+}"),
        Num::F24(x) => format!("{x:?}"),
        Num::U32(n) => format!("{n}{}", NumKind::U32.name()),
        Num::I32(n) => format!("{n:+}{}", NumKind::I32.name()),
        Num::F32(x) => format!("{x:?}{}", NumKind::F32.name()),
    }
}

//! Programs for tests, written as nested lists:
//!
//! `(type T (C x y) (D))`, `(def f (x y) body)`; in terms `x`, `5`, `1.5`, `5u32`, `"text"`, `*`, `(+ a b)`, `(f a b)`,
//! `(C a b)` and `D`, `(fn (x) e)`, `(force e)`, `(tuple a b)`, `(list a b)`, `(prim sin x)`, `(let x e body)`,
//! `(let (x _) e body)`, `(dup (x y) e body)`, `(sup a b)`, `(match T e ((C x y) body) ((C x y) as w body) (_ body))`,
//! `(switch e (0 a) (1 b) (_ p c))`.

use std::collections::HashMap;

use crate::ty::{Scheme, Type};
use crate::*;
use girih_base::idx::IndexVec;
use girih_base::name::Name;
use girih_base::num::{BinOp, Num, NumKind};
use girih_base::prim::Prim;
use girih_base::span::{SourceId, Span};

/// What every test program starts with.
const PRELUDE: &str = "
    (type String (String/Nil) (String/Cons head tail))
    (type List (List/Nil) (List/Cons head tail))
    (type Result (Result/Ok val) (Result/Err val))
    (type IO (IO/Done magic expr) (IO/Call magic func argm cont))
    (type IOError (IOError/Type) (IOError/Name) (IOError/Inner value))
    (def IO/MAGIC () (tuple 13683217 16719857))
";

#[derive(Clone, Debug)]
enum Tree {
    Atom(String, Span),
    Text(String, Span),
    List(Vec<Tree>, Span),
}

/// A program whose entry is `main`, and its text, which spans refer to.
pub fn program(text: &str) -> Program {
    let mut builder = Builder::default();
    let prelude = read(PRELUDE, Span::NONE.source);
    let trees: Vec<Tree> = prelude.into_iter().chain(read(text, SourceId::new(0))).collect();
    builder.declare(&trees);
    builder.define(&trees);
    let mut program = builder.program;
    program.entry = program.def_named("main");
    let ctor = |name: &str| program.ctors.iter_enumerated().find(|(_, c)| c.name == name).map(|(id, _)| id);
    program.known = Known {
        string_nil: ctor("String/Nil"),
        string_cons: ctor("String/Cons"),
        list_nil: ctor("List/Nil"),
        list_cons: ctor("List/Cons"),
        result_ok: ctor("Result/Ok"),
        result_err: ctor("Result/Err"),
        io_done: ctor("IO/Done"),
        io_call: ctor("IO/Call"),
        io_error_type: ctor("IOError/Type"),
        io_error_name: ctor("IOError/Name"),
        io_error_inner: ctor("IOError/Inner"),
        ..Known::default()
    };
    program
}

fn read(text: &str, source: SourceId) -> Vec<Tree> {
    let mut open: Vec<(Vec<Tree>, usize)> = vec![(vec![], 0)];
    let mut rest = text;
    let here = |rest: &str| text.len() - rest.len();
    loop {
        rest = rest.trim_start();
        let start = here(rest);
        let Some(first) = rest.chars().next() else { break };
        let length = match first {
            '(' | ')' => 1,
            '"' => rest[1..].find('"').expect("a closing quote") + 2,
            _ => rest.find(|c: char| c.is_whitespace() || "()".contains(c)).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        let span = Span::new(source, start, start + length);
        match first {
            '(' => open.push((vec![], start)),
            ')' => {
                let (items, start) = open.pop().expect("an opening parenthesis");
                let list = Tree::List(items, Span::new(source, start, here(rest)));
                open.last_mut().expect("an opening parenthesis").0.push(list);
            }
            '"' => open.last_mut().expect("a list").0.push(Tree::Text(token[1..length - 1].to_string(), span)),
            _ => open.last_mut().expect("a list").0.push(Tree::Atom(token.to_string(), span)),
        }
    }
    assert_eq!(open.len(), 1, "unclosed parenthesis");
    open.remove(0).0
}

impl Tree {
    fn atom(&self) -> &str {
        match self {
            Tree::Atom(text, _) => text,
            other => panic!("{other:?} is no atom"),
        }
    }
    fn list(&self) -> &[Tree] {
        match self {
            Tree::List(items, _) => items,
            other => panic!("{other:?} is no list"),
        }
    }
    fn span(&self) -> Span {
        match self {
            Tree::Atom(_, span) | Tree::Text(_, span) | Tree::List(_, span) => *span,
        }
    }
}

#[derive(Default)]
struct Builder {
    program: Program,
    ctors: HashMap<String, CtorId>,
    types: HashMap<String, TypeId>,
    defs: HashMap<String, DefId>,
    locals: IndexVec<LocalId, Local>,
    scope: Vec<(String, LocalId)>,
}

impl Builder {
    fn declare(&mut self, trees: &[Tree]) {
        for tree in trees {
            let items = tree.list();
            let name = items[1].atom();
            match items[0].atom() {
                "type" => self.declare_type(name, &items[2..], tree.span()),
                "def" => {
                    let def = Def {
                        name: Name::new(name),
                        span: items[1].span(),
                        origin: Origin::User,
                        check: false,
                        ty: Scheme::mono(Type::Any),
                        params: vec![],
                        locals: IndexVec::new(),
                        body: Body::Term(Term::new(TermKind::Invalid, Span::NONE)),
                    };
                    self.defs.insert(name.to_string(), self.program.defs.push(def));
                }
                other => panic!("{other}"),
            }
        }
    }

    fn declare_type(&mut self, name: &str, ctors: &[Tree], span: Span) {
        let ty = self.program.types.next_id();
        let mut ids = vec![];
        for (tag, ctor) in ctors.iter().enumerate() {
            let items = ctor.list();
            let field = |tree: &Tree| FieldInfo { name: Name::new(tree.atom()), ty: Type::Any, recursive: false };
            let id = self.program.ctors.push(Ctor {
                name: Name::new(items[0].atom()),
                span: ctor.span(),
                ty,
                tag: tag as u32,
                fields: items[1..].iter().map(field).collect(),
            });
            self.ctors.insert(items[0].atom().to_string(), id);
            ids.push(id);
        }
        self.types.insert(name.to_string(), ty);
        self.program.types.push(DataType {
            name: Name::new(name),
            span,
            origin: Origin::User,
            vars: vec![],
            ctors: ids,
        });
    }

    fn define(&mut self, trees: &[Tree]) {
        for tree in trees {
            let items = tree.list();
            if items[0].atom() != "def" {
                continue;
            }
            self.scope.clear();
            self.locals = IndexVec::new();
            let params = items[2].list().iter().map(|param| self.bind(param)).collect();
            let body = self.term(&items[3]);
            let def = &mut self.program.defs[self.defs[items[1].atom()]];
            def.params = params;
            def.body = Body::Term(body);
            def.locals = std::mem::take(&mut self.locals);
        }
    }

    fn bind(&mut self, tree: &Tree) -> LocalId {
        let local = self.locals.push(Local { name: Name::new(tree.atom()), span: tree.span() });
        self.scope.push((tree.atom().to_string(), local));
        local
    }

    fn terms(&mut self, trees: &[Tree]) -> Vec<Term> {
        trees.iter().map(|tree| self.term(tree)).collect()
    }

    fn term(&mut self, tree: &Tree) -> Term {
        let depth = self.scope.len();
        let kind = match tree {
            Tree::Atom(text, _) => self.atom(text),
            Tree::Text(text, _) => TermKind::Str(Name::new(text)),
            Tree::List(items, _) => self.form(items),
        };
        self.scope.truncate(depth);
        Term::new(kind, tree.span())
    }

    fn atom(&self, text: &str) -> TermKind {
        if let Some((_, local)) = self.scope.iter().rev().find(|(name, _)| name == text) {
            return TermKind::Local(*local);
        }
        if let Some(&ctor) = self.ctors.get(text) {
            return TermKind::Ctor(ctor, vec![]);
        }
        if let Some(&def) = self.defs.get(text) {
            return TermKind::Global(def);
        }
        if text == "*" { TermKind::Era } else { TermKind::Num(number(text)) }
    }

    fn form(&mut self, items: &[Tree]) -> TermKind {
        if let Tree::Atom(head, _) = &items[0]
            && let Some(form) = self.special(head, &items[1..])
        {
            return form;
        }
        let function = Box::new(self.term(&items[0]));
        TermKind::Apply(function, self.terms(&items[1..]))
    }

    fn special(&mut self, head: &str, rest: &[Tree]) -> Option<TermKind> {
        if let Some(op) = BinOp::ALL.into_iter().find(|op| op.symbol() == head) {
            let a = Box::new(self.term(&rest[0]));
            return Some(TermKind::Op(op, a, Box::new(self.term(&rest[1]))));
        }
        if let Some(&ctor) = self.ctors.get(head) {
            return Some(TermKind::Ctor(ctor, self.terms(rest)));
        }
        Some(match head {
            "fn" => {
                let params = rest[0].list().iter().map(|param| self.bind(param)).collect();
                TermKind::Lambda(params, Box::new(self.term(&rest[1])))
            }
            "force" => TermKind::Apply(Box::new(self.term(&rest[0])), vec![]),
            "tuple" => TermKind::Tuple(self.terms(rest)),
            "list" => TermKind::List(self.terms(rest)),
            "sup" => TermKind::Sup(self.terms(rest)),
            "prim" => TermKind::Prim(Prim::find(rest[0].atom()).expect("a primitive"), self.terms(&rest[1..])),
            "let" | "dup" => {
                let value = self.term(&rest[1]);
                let target = match (&rest[0], head) {
                    (Tree::List(parts, _), "let") => Target::Tuple(self.parts(parts)),
                    (Tree::List(parts, _), _) => Target::Dup(self.parts(parts)),
                    (name, _) => Target::Var(self.bind(name)),
                };
                TermKind::Let(vec![Bind { target, value }], Box::new(self.term(&rest[2])))
            }
            "match" => self.match_(rest),
            "switch" => self.switch(rest),
            _ => return None,
        })
    }

    fn parts(&mut self, parts: &[Tree]) -> Vec<Option<LocalId>> {
        parts.iter().map(|part| (part.atom() != "_").then(|| self.bind(part))).collect()
    }

    fn match_(&mut self, rest: &[Tree]) -> TermKind {
        let ty = self.types[rest[0].atom()];
        let scrutinee = self.term(&rest[1]);
        let mut arms = vec![];
        let mut default = None;
        for arm in &rest[2..] {
            let depth = self.scope.len();
            match arm.list() {
                [Tree::Atom(_, _), body] => default = Some(self.term(body)),
                [Tree::List(pattern, _), more @ ..] => {
                    let whole = (more.len() == 3).then(|| self.bind(&more[1]));
                    let fields = pattern[1..].iter().map(|field| self.bind(field)).collect();
                    let body = self.term(&more[more.len() - 1]);
                    arms.push(Arm { ctor: self.ctors[pattern[0].atom()], whole, fields, body });
                }
                other => panic!("{other:?}"),
            }
            self.scope.truncate(depth);
        }
        TermKind::Match(Box::new(Match { scrutinee, ty, arms, default }))
    }

    fn switch(&mut self, rest: &[Tree]) -> TermKind {
        let scrutinee = self.term(&rest[0]);
        let (last, cases) = rest[1..].split_last().expect("a default");
        let cases = cases
            .iter()
            .map(|case| (case.list()[0].atom().parse().expect("a number"), self.term(&case.list()[1])))
            .collect();
        let (pred, default) = match last.list() {
            [_, body] => (None, self.term(body)),
            [_, pred, body] => {
                let pred = self.bind(pred);
                (Some(pred), self.term(body))
            }
            other => panic!("{other:?}"),
        };
        TermKind::Switch(Box::new(Switch { scrutinee, cases, pred, default }))
    }
}

fn number(text: &str) -> Num {
    let kind = NumKind::ALL.into_iter().find(|kind| text.ends_with(kind.name()));
    let digits = kind.map_or(text, |kind| &text[..text.len() - kind.name().len()]);
    let kind = kind.unwrap_or(match digits {
        d if d.contains('.') => NumKind::F24,
        d if d.starts_with(['+', '-']) => NumKind::I24,
        _ => NumKind::U24,
    });
    let value: f64 = digits.parse().unwrap_or_else(|_| panic!("`{text}` is not defined"));
    if kind.is_float() { Num::F32(value as f32).to(kind) } else { Num::U32(value as i64 as u32).to(kind) }
}

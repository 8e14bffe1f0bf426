//! How often each kind of node of the syntax tree occurs in programs.
//!
//! A kind and its name stand in one row of a table, from which the list of all kinds is made too: a kind that is new in the
//! syntax tree does not compile here until it has a row, and then it has to occur.

use girih_base::diag::Diagnostics;
use girih_base::num::{LiteralValue, NumKind};
use girih_base::span::SourceId;
use girih_bend::ast::*;
use girih_bend::parser::{Dialect, parse_module};
use std::collections::BTreeMap;

/// Counts of kinds, by name.
#[derive(Default)]
pub struct Census {
    counts: BTreeMap<&'static str, u64>,
}

/// A function that names the kind of something, and the list of all names.
macro_rules! table {
    ($all:ident, $name:ident, $ty:ty, { $($pattern:pat => $text:literal,)* }) => {
        const $all: &[&str] = &[$($text),*];
        fn $name(kind: &$ty) -> &'static str {
            match kind {
                $($pattern => $text,)*
            }
        }
    };
}

table!(ITEMS, item, Item, {
    Item::Import(_) => "item: import",
    Item::Type(_) => "item: type",
    Item::Def(_) => "item: def",
    Item::Equations(_) => "item: equations",
    Item::Hvm(_) => "item: hvm",
});
table!(IMPORTS, import, Import, {
    Import { from: Some(_), names: ImportNames::All, .. } => "import: all of a file",
    Import { from: Some(_), names: ImportNames::One(_), .. } => "import: one name of a file",
    Import { from: Some(_), names: ImportNames::Many(_), .. } => "import: names of a file",
    Import { from: None, names: _, .. } => "import: a file",
});
table!(TYPE_SYNTAXES, type_syntax, TypeSyntax, {
    TypeSyntax::Imp => "type: imperative",
    TypeSyntax::Fun => "type: functional",
    TypeSyntax::Object => "type: object",
});
table!(CHECKS, check, Check, {
    Check::Default => "check: not said",
    Check::Checked => "check: checked",
    Check::Unchecked => "check: unchecked",
});
table!(FUNCTION_BODIES, function_body, FunBody, {
    FunBody::Equation(_) => "functional: one equation",
    FunBody::Rules(_) => "functional: rules",
});
table!(TYPES, type_kind, TypeKind, {
    TypeKind::Any => "type of: Any",
    TypeKind::Hole => "type of: _",
    TypeKind::None => "type of: None",
    TypeKind::Number(_) => "type of: number",
    TypeKind::Name(_) => "type of: name",
    TypeKind::Apply(..) => "type of: with arguments",
    TypeKind::Tuple(_) => "type of: tuple",
    TypeKind::Arrow(..) => "type of: function",
});
table!(NUMBERS, number, NumKind, {
    NumKind::U24 => "number type: u24",
    NumKind::I24 => "number type: i24",
    NumKind::F24 => "number type: f24",
    NumKind::U32 => "number type: u32",
    NumKind::I32 => "number type: i32",
    NumKind::F32 => "number type: f32",
});
table!(PATTERNS, pattern_kind, PatternKind, {
    PatternKind::Wild => "pattern: *",
    PatternKind::Var(_) => "pattern: variable",
    PatternKind::Link(_) => "pattern: scopeless variable",
    PatternKind::Tuple(_) => "pattern: tuple",
    PatternKind::Sup(_) => "pattern: copies",
    PatternKind::Ctor(..) => "pattern: constructor",
    PatternKind::List(_) => "pattern: list",
    PatternKind::Str(_) => "pattern: text",
    PatternKind::Num(_) => "pattern: number",
    PatternKind::Char(_) => "pattern: character",
});
table!(LITERALS, literal, LiteralValue, {
    LiteralValue::Unsigned(_) => "literal: unsigned",
    LiteralValue::Signed(_) => "literal: signed",
    LiteralValue::Float(_) => "literal: float",
});
table!(EXPRESSIONS, expression_kind, ExprKind, {
    ExprKind::Era => "expression: *",
    ExprKind::Var(_) => "expression: name",
    ExprKind::Link(_) => "expression: scopeless variable",
    ExprKind::Num(_) => "expression: number",
    ExprKind::Char(_) => "expression: character",
    ExprKind::Symbol(_) => "expression: symbol",
    ExprKind::Str(_) => "expression: text",
    ExprKind::List(_) => "expression: list",
    ExprKind::Tuple(_) => "expression: tuple",
    ExprKind::Sup(_) => "expression: superposition",
    ExprKind::TreeNode(..) => "expression: tree node",
    ExprKind::TreeLeaf(_) => "expression: tree leaf",
    ExprKind::Lambda(..) => "expression: lambda",
    ExprKind::Call(..) => "expression: call",
    ExprKind::Op(..) => "expression: operator",
    ExprKind::CallNamed(..) => "expression: call with names",
    ExprKind::Record(..) => "expression: record",
    ExprKind::Comprehension(_) => "expression: comprehension",
    ExprKind::Map(_) => "expression: map",
    ExprKind::MapGet(..) => "expression: value of a key",
    ExprKind::Nat(_) => "expression: natural number",
    ExprKind::Let(..) => "expression: let",
    ExprKind::If(_) => "expression: if",
    ExprKind::Match(_) => "expression: match",
    ExprKind::Switch(_) => "expression: switch",
    ExprKind::Fold(_) => "expression: fold",
    ExprKind::Bend(_) => "expression: bend",
    ExprKind::With(_) => "expression: with",
});
table!(OPERATORS, operator, BinOp, {
    BinOp::Add => "operator: +",
    BinOp::Sub => "operator: -",
    BinOp::Mul => "operator: *",
    BinOp::Div => "operator: /",
    BinOp::Rem => "operator: %",
    BinOp::Pow => "operator: **",
    BinOp::Eq => "operator: ==",
    BinOp::Ne => "operator: !=",
    BinOp::Lt => "operator: <",
    BinOp::Le => "operator: <=",
    BinOp::Gt => "operator: >",
    BinOp::Ge => "operator: >=",
    BinOp::And => "operator: &",
    BinOp::Or => "operator: |",
    BinOp::Xor => "operator: ^",
    BinOp::Shl => "operator: <<",
    BinOp::Shr => "operator: >>",
});
table!(BINDINGS, binding, FunBind, {
    FunBind::Let(..) => "binding: let",
    FunBind::Use(..) => "binding: use",
    FunBind::Ask(..) => "binding: ask",
    FunBind::Open(..) => "binding: open",
    FunBind::Def(_) => "binding: def",
});
table!(STATEMENTS, statement, StmtKind, {
    StmtKind::Assign(..) => "statement: assignment",
    StmtKind::Ask(..) => "statement: ask",
    StmtKind::InPlace(..) => "statement: in place",
    StmtKind::Use(..) => "statement: use",
    StmtKind::Open(..) => "statement: open",
    StmtKind::Def(_) => "statement: def",
    StmtKind::Return(_) => "statement: return",
    StmtKind::If(_) => "statement: if",
    StmtKind::Match(_) => "statement: match",
    StmtKind::Switch(_) => "statement: switch",
    StmtKind::Fold(_) => "statement: fold",
    StmtKind::Bend(_) => "statement: bend",
    StmtKind::With(_) => "statement: with",
});
table!(TARGETS, target, Target, {
    Target::Pattern(_) => "assigned: pattern",
    Target::MapSlot(..) => "assigned: key of a map",
});
table!(PLACES, place, InPlaceTarget, {
    InPlaceTarget::Var(_) => "in place: variable",
    InPlaceTarget::MapSlot(..) => "in place: key of a map",
});
table!(CHANGES, change, InPlaceOp, {
    InPlaceOp::Op(_) => "in place: operator",
    InPlaceOp::Map => "in place: function",
});
/// What a node may have or not.
const PARTS: &[&str] = &[
    "part: alias of an import",
    "part: type variables",
    "part: recursive field",
    "part: elif",
    "part: condition of a comprehension",
    "part: value of a choice",
    "part: variables of a choice, with values",
    "part: variables of a choice, from the scope",
    "part: arm for all others",
    "part: arm for all others, named",
    "part: state of a bend, with a value",
    "part: state of a bend, from the scope",
];

/// Names of all kinds.
pub fn kinds() -> Vec<&'static str> {
    [
        ITEMS,
        IMPORTS,
        TYPE_SYNTAXES,
        CHECKS,
        FUNCTION_BODIES,
        TYPES,
        NUMBERS,
        PATTERNS,
        LITERALS,
        EXPRESSIONS,
        OPERATORS,
        BINDINGS,
        STATEMENTS,
        TARGETS,
        PLACES,
        CHANGES,
        PARTS,
    ]
    .concat()
}

/// Code of either syntax: what arms and branches hold.
trait Code {
    fn count(&self, census: &mut Census);
}

impl Code for Expr {
    fn count(&self, census: &mut Census) {
        census.expression(self);
    }
}

impl Code for Block {
    fn count(&self, census: &mut Census) {
        self.iter().for_each(|statement| census.statement(&statement.node));
    }
}

impl Census {
    /// Counts the nodes of a program.
    pub fn program(&mut self, text: &str) {
        let mut diagnostics = Diagnostics::default();
        let module = parse_module(SourceId::new(0), text, Dialect::User, &mut diagnostics);
        module.items.iter().for_each(|item| self.item(item));
    }

    /// How often a kind occurs.
    pub fn of(&self, kind: &str) -> u64 {
        self.counts.get(kind).copied().unwrap_or(0)
    }

    fn add(&mut self, kind: &'static str) {
        *self.counts.entry(kind).or_default() += 1;
    }

    fn add_if(&mut self, holds: bool, kind: &'static str) {
        if holds {
            self.add(kind);
        }
    }

    fn item(&mut self, what: &Item) {
        self.add(item(what));
        match what {
            Item::Import(what) => {
                self.add(import(what));
                let names: &[ImportName] = match &what.names {
                    ImportNames::All => &[],
                    ImportNames::One(name) => std::slice::from_ref(name),
                    ImportNames::Many(names) => names,
                };
                self.add_if(names.iter().any(|name| name.alias.is_some()), "part: alias of an import");
            }
            Item::Type(TypeDef { syntax, vars, ctors, span: _, name: _ }) => {
                self.add(type_syntax(syntax));
                self.add_if(!vars.is_empty(), "part: type variables");
                for Field { ty, recursive, name: _ } in ctors.iter().flat_map(|ctor| &ctor.fields) {
                    self.add_if(*recursive, "part: recursive field");
                    ty.iter().for_each(|ty| self.ty(ty));
                }
            }
            Item::Def(def) => self.def(def),
            Item::Equations(def) => self.functional(def),
            Item::Hvm(_) => {}
        }
    }

    fn def(&mut self, ImpDef { check: checked, params, ret, body, span: _, name: _ }: &ImpDef) {
        self.add(check(checked));
        params.iter().filter_map(|param| param.ty.as_ref()).chain(ret).for_each(|ty| self.ty(ty));
        body.count(self);
    }

    fn functional(&mut self, FunDef { check: checked, signature, body, span: _, name: _ }: &FunDef) {
        self.add(check(checked));
        self.add(function_body(body));
        if let Some(Signature { params, ty }) = signature {
            params.iter().filter_map(|param| param.ty.as_ref()).chain([ty]).for_each(|ty| self.ty(ty));
        }
        match body {
            FunBody::Equation(body) => self.expression(body),
            FunBody::Rules(rules) => {
                for Rule { patterns, body, span: _ } in rules {
                    patterns.iter().for_each(|part| self.pattern(part));
                    self.expression(body);
                }
            }
        }
    }

    fn ty(&mut self, ty: &TypeExpr) {
        self.add(type_kind(&ty.node));
        match &ty.node {
            TypeKind::Any | TypeKind::Hole | TypeKind::None | TypeKind::Name(_) => {}
            TypeKind::Number(kind) => self.add(number(kind)),
            TypeKind::Apply(_, parts) | TypeKind::Tuple(parts) => parts.iter().for_each(|part| self.ty(part)),
            TypeKind::Arrow(a, b) => [a, b].into_iter().for_each(|part| self.ty(part)),
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        self.add(pattern_kind(&pattern.node));
        match &pattern.node {
            PatternKind::Wild
            | PatternKind::Var(_)
            | PatternKind::Link(_)
            | PatternKind::Str(_)
            | PatternKind::Num(_)
            | PatternKind::Char(_) => {}
            PatternKind::Tuple(parts)
            | PatternKind::Sup(parts)
            | PatternKind::Ctor(_, parts)
            | PatternKind::List(parts) => {
                parts.iter().for_each(|part| self.pattern(part));
            }
        }
    }

    fn expressions<'e>(&mut self, all: impl IntoIterator<Item = &'e Expr>) {
        all.into_iter().for_each(|one| self.expression(one));
    }

    fn expression(&mut self, what: &Expr) {
        self.add(expression_kind(&what.node));
        match &what.node {
            ExprKind::Era
            | ExprKind::Var(_)
            | ExprKind::Link(_)
            | ExprKind::Char(_)
            | ExprKind::Symbol(_)
            | ExprKind::Str(_)
            | ExprKind::Nat(_) => {}
            ExprKind::Num(value) => self.add(literal(&value.value)),
            ExprKind::List(parts) | ExprKind::Tuple(parts) | ExprKind::Sup(parts) => self.expressions(parts),
            ExprKind::TreeNode(a, b) => self.expressions([&**a, &**b]),
            ExprKind::TreeLeaf(value) => self.expression(value),
            ExprKind::Lambda(patterns, body) => {
                patterns.iter().for_each(|part| self.pattern(part));
                self.expression(body);
            }
            ExprKind::Call(function, args) => self.expressions(std::iter::once(&**function).chain(args)),
            ExprKind::Op(op, a, b) => {
                self.add(operator(op));
                self.expressions([&**a, &**b]);
            }
            ExprKind::CallNamed(function, args, named) => {
                let named = named.iter().map(|(_, value)| value);
                self.expressions(std::iter::once(&**function).chain(args).chain(named));
            }
            ExprKind::Record(_, fields) => self.expressions(fields.iter().map(|(_, value)| value)),
            ExprKind::Comprehension(what) => {
                let Comprehension { element, var: _, list, condition } = &**what;
                self.add_if(condition.is_some(), "part: condition of a comprehension");
                self.expressions([element, list].into_iter().chain(condition));
            }
            ExprKind::Map(entries) => self.expressions(entries.iter().flat_map(|(key, value)| [key, value])),
            ExprKind::MapGet(_, key) => self.expression(key),
            ExprKind::Let(binds, body) => {
                binds.iter().for_each(|bind| self.bind(bind));
                self.expression(body);
            }
            ExprKind::If(what) => self.branches(what),
            ExprKind::Match(what) | ExprKind::Fold(what) => self.choice(what),
            ExprKind::Switch(what) => self.switch(what),
            ExprKind::Bend(what) => self.bend(what),
            ExprKind::With(what) => self.expression(&what.body),
        }
    }

    fn bind(&mut self, bind: &FunBind) {
        self.add(binding(bind));
        match bind {
            FunBind::Let(pattern, value) | FunBind::Ask(pattern, value) => {
                self.pattern(pattern);
                self.expression(value);
            }
            FunBind::Use(_, value) => self.expression(value),
            FunBind::Open(..) => {}
            FunBind::Def(def) => self.functional(def),
        }
    }

    fn statement(&mut self, what: &StmtKind) {
        self.add(statement(what));
        match what {
            StmtKind::Assign(to, value) => {
                self.add(target(to));
                match to {
                    Target::Pattern(pattern) => self.pattern(pattern),
                    Target::MapSlot(_, key) => self.expression(key),
                }
                self.expression(value);
            }
            StmtKind::Ask(pattern, value) => {
                self.pattern(pattern);
                self.expression(value);
            }
            StmtKind::InPlace(to, op, value) => {
                self.add(place(to));
                self.add(change(op));
                if let InPlaceTarget::MapSlot(_, key) = to {
                    self.expression(key);
                }
                self.expression(value);
            }
            StmtKind::Use(_, value) | StmtKind::Return(value) => self.expression(value),
            StmtKind::Open(..) => {}
            StmtKind::Def(def) => self.def(def),
            StmtKind::If(what) => self.branches(what),
            StmtKind::Match(what) | StmtKind::Fold(what) => self.choice(what),
            StmtKind::Switch(what) => self.switch(what),
            StmtKind::Bend(what) => self.bend(what),
            StmtKind::With(what) => what.body.count(self),
        }
    }

    fn branches<B: Code>(&mut self, If { branches, otherwise }: &If<B>) {
        self.add_if(branches.len() > 1, "part: elif");
        for (condition, body) in branches {
            self.expression(condition);
            body.count(self);
        }
        otherwise.count(self);
    }

    fn head(&mut self, bind: &Option<Ident>, arg: &Expr, with: &[(Ident, Option<Expr>)]) {
        self.add_if(bind.is_some(), "part: value of a choice");
        self.expression(arg);
        for (_, value) in with {
            match value {
                Some(value) => {
                    self.add("part: variables of a choice, with values");
                    self.expression(value);
                }
                None => self.add("part: variables of a choice, from the scope"),
            }
        }
    }

    fn choice<B: Code>(&mut self, Match { bind, arg, with, arms }: &Match<B>) {
        self.head(bind, arg, with);
        for Arm { name, body, span: _ } in arms {
            match name {
                None => self.add("part: arm for all others"),
                Some(name) => self
                    .add_if(!name.node.contains('/') && !name.node.starts_with('D'), "part: arm for all others, named"),
            }
            body.count(self);
        }
    }

    fn switch<B: Code>(&mut self, Switch { bind, arg, with, cases, default }: &Switch<B>) {
        self.head(bind, arg, with);
        cases.iter().chain([default]).for_each(|body| body.count(self));
    }

    fn bend<B: Code>(&mut self, Bend { state, condition, step, base }: &Bend<B>) {
        for (_, value) in state {
            match value {
                Some(value) => {
                    self.add("part: state of a bend, with a value");
                    self.expression(value);
                }
                None => self.add("part: state of a bend, from the scope"),
            }
        }
        self.expression(condition);
        step.count(self);
        base.count(self);
    }
}

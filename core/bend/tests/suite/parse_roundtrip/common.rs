//! What both syntaxes share: names, literals, types, patterns.

use super::tape::Maker;
use girih_base::name::Name;
use girih_base::num::NumKind;
use girih_bend::ast::*;

/// Names that may stand everywhere.
pub const VARIABLES: &[&str] =
    &["x", "f", "xs.head", "a-1", "_", "lettuce", "List/Nil", "x.y-2", "if-", "ifx", "_0", "u24"];

/// Names of types and constructors.
pub const TYPES: &[&str] = &["T", "List", "Either/Left", "types/Map", "a", "u240", "Anything"];

/// Fields may be numbers.
pub const FIELDS: &[&str] = &["head", "0", "left-1", "x/y"];

const NUMBERS: &[&str] = &[
    "0",
    "5",
    "-3",
    "+3",
    "1.5",
    "-0.25",
    "+0.0",
    "0x1F",
    "0b101",
    "1_000",
    "0xA.8",
    "-0b1.1",
    "7u24",
    "7u32",
    "-7i24",
    "+7i32",
    "2.5f24",
    "2f32",
    "4294967295",
    "-2147483648",
];

const TEXTS: &[&str] = &["", "abc", "a \"quote\"", "\\", "line\nline\r\t\0", "λ → 🌍", "'", "#{ }", "\u{7f}\u{85}"];

const CHARS: &[char] = &['a', '\'', '"', '\\', '\n', '\0', 'λ', '🌍', '\u{1b}', ' '];

impl Maker<'_> {
    /// A name in an expression or a binding.
    pub fn variable(&mut self) -> Ident {
        self.ident(VARIABLES)
    }

    /// The name of a type or a constructor.
    pub fn type_ident(&mut self) -> Ident {
        self.ident(TYPES)
    }

    /// The name of a field.
    pub fn field_ident(&mut self) -> Ident {
        self.ident(FIELDS)
    }

    /// An expression that is the same in both syntaxes and has no parts.
    pub fn leaf(&mut self) -> Expr {
        let kind = match self.choose(8) {
            0 => ExprKind::Var(self.variable().node),
            1 => ExprKind::Num(self.number()),
            2 => ExprKind::Era,
            3 => ExprKind::Link(self.variable().node),
            4 => ExprKind::Char(self.pick(CHARS)),
            5 => ExprKind::Symbol(Name::new(self.pick(&["", "a", "Bz9+", "/"]))),
            6 => ExprKind::Str(self.text()),
            _ => ExprKind::Var(Name::new("%log")),
        };
        self.node(kind)
    }

    fn number(&mut self) -> Literal {
        let text = self.pick(NUMBERS);
        // Literals are equal if their spelling is: the value does not matter here.
        Literal { text: Name::new(text), value: LiteralValue::Unsigned(0), suffix: None }
    }

    fn text(&mut self) -> String {
        self.pick(TEXTS).to_owned()
    }

    /// A type; the functional syntax has no `T()`.
    pub fn ty(&mut self, functional: bool, depth: u32) -> TypeExpr {
        let inner = depth.saturating_sub(1);
        let kind = match self.choose(if depth == 0 { 5 } else { 8 }) {
            0 => TypeKind::Any,
            1 => TypeKind::Hole,
            2 => TypeKind::None,
            3 => TypeKind::Number(self.pick(&NumKind::ALL)),
            4 => TypeKind::Name(self.type_ident().node),
            5 => {
                let constructor = self.type_ident();
                TypeKind::Apply(constructor, self.several(usize::from(functional), 3, |m| m.ty(functional, inner)))
            }
            6 => TypeKind::Tuple(self.several(2, 3, |m| m.ty(functional, inner))),
            _ => TypeKind::Arrow(Box::new(self.ty(functional, inner)), Box::new(self.ty(functional, inner))),
        };
        self.node(kind)
    }

    /// A pattern without constructors and literals.
    pub fn simple_pattern(&mut self, depth: u32) -> Pattern {
        let inner = depth.saturating_sub(1);
        let kind = match self.choose(if depth == 0 { 3 } else { 5 }) {
            0 => PatternKind::Var(self.variable().node),
            1 => PatternKind::Wild,
            2 => PatternKind::Link(self.variable().node),
            3 => PatternKind::Tuple(self.several(2, 3, |m| m.simple_pattern(inner))),
            _ => PatternKind::Sup(self.several(2, 3, |m| m.simple_pattern(inner))),
        };
        self.node(kind)
    }

    /// A pattern of a rule.
    pub fn rule_pattern(&mut self, depth: u32) -> Pattern {
        let inner = depth.saturating_sub(1);
        let kind = match self.choose(if depth == 0 { 4 } else { 8 }) {
            0 => return self.simple_pattern(inner),
            1 => PatternKind::Num(self.pick(&[0, 7, u32::MAX])),
            2 => PatternKind::Char(self.pick(CHARS)),
            3 => PatternKind::Str(self.text()),
            4 => PatternKind::List(self.several(0, 3, |m| m.rule_pattern(inner))),
            5 => PatternKind::Tuple(self.several(2, 3, |m| m.rule_pattern(inner))),
            6 => PatternKind::Sup(self.several(2, 3, |m| m.rule_pattern(inner))),
            _ => {
                let constructor = self.type_ident();
                PatternKind::Ctor(constructor, self.several(0, 3, |m| m.rule_pattern(inner)))
            }
        };
        self.node(kind)
    }

    /// `checked`, `unchecked` or nothing.
    pub fn check(&mut self) -> Check {
        let check = self.pick(&[Check::Default, Check::Checked, Check::Unchecked]);
        self.counted(check)
    }

    /// Variables with or without values.
    pub fn state(&mut self, least: usize, mut value: impl FnMut(&mut Self) -> Expr) -> Vec<(Ident, Option<Expr>)> {
        self.several(least, 2, |m| (m.variable(), m.maybe(&mut value)))
    }

    /// The name of an arm, or none for `_`.
    pub fn arm_name(&mut self) -> Option<Ident> {
        self.maybe(Maker::type_ident)
    }
}

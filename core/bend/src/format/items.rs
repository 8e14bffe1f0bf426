//! Top-level items, and functional definitions inside of terms.

use super::lists::Brackets;
use super::statements::INDENTATION;
use super::types::Syntax;
use super::walker::Walker;
use crate::ast::*;
use crate::doc::{Doc, WIDTH, concat, group, nest, nothing, text};

/// A rule, or another thing that starts a line at the top level.
struct Row {
    /// What ends the line before it.
    before: Doc,
    /// What comes before the `=`.
    left: Doc,
    /// The rest.
    right: Doc,
    /// Of a rule: the byte at which its `=` was written, and the column.
    equals: Option<(usize, usize)>,
}

impl Row {
    /// How wide its two parts are if it is a rule on one line.
    fn widths(&self) -> Option<(usize, usize)> {
        self.equals?;
        let (left, right) = (self.left.layout(), self.right.layout());
        (!left.contains('\n') && !right.contains('\n')).then(|| (left.chars().count(), right.chars().count()))
    }

    /// Whether the `=` of the next rule was written below that of this one.
    fn is_above(&self, next: &Row, walker: &Walker) -> bool {
        let (Some((here, column)), Some((there, next_column))) = (self.equals, next.equals) else { return false };
        column == next_column && walker.text(here, there).matches('\n').count() == 1
    }
}

/// Rows one after the other. The `=` of rules on consecutive lines stand below each other if they were written so and each rule fits on a line.
fn aligned(rows: Vec<Row>, walker: &Walker) -> Doc {
    let widths: Vec<_> = rows.iter().map(Row::widths).collect();
    let mut docs = vec![];
    let mut end = 0;
    let mut column = 0;
    for i in 0..rows.len() {
        if i == end {
            let below = |j: &usize| widths[*j].is_some() && rows[*j - 1].is_above(&rows[*j], walker);
            end = if widths[i].is_some() { (i + 1..rows.len()).take_while(below).count() } else { 0 } + i + 1;
            column = widths[i..end].iter().flatten().map(|(left, _)| *left).max().unwrap_or(0);
            let widest = widths[i..end].iter().flatten().map(|(_, right)| column + right).max();
            if widest > Some(WIDTH) {
                column = 0;
            }
        }
        let space = widths[i].map_or(0, |(left, _)| column.saturating_sub(left));
        docs.push(text(" ".repeat(space)));
    }
    let spaced = rows.into_iter().zip(docs);
    concat(spaced.map(|(row, space)| concat([row.before, row.left, space, row.right])))
}

impl Walker<'_> {
    /// All items. Blank lines between them stay as they were written.
    pub fn module(&mut self, module: &Module) -> Doc {
        let mut rows = vec![];
        for (i, item) in module.items.iter().enumerate() {
            let before = if i == 0 { self.comments_above() } else { self.next_line() };
            match item {
                Item::Equations(def) => self.rows(before, def, &mut rows),
                Item::Import(_) | Item::Type(_) | Item::Def(_) | Item::Hvm(_) => {
                    rows.push(Row { before, left: self.item(item), right: nothing(), equals: None });
                }
            }
        }
        concat([aligned(rows, self), self.comments_above()])
    }

    fn item(&mut self, item: &Item) -> Doc {
        match item {
            Item::Import(import) => self.import(import),
            Item::Type(def) => match def.syntax {
                TypeSyntax::Imp => self.imp_type_def(def),
                TypeSyntax::Fun => self.fun_type_def(def),
                TypeSyntax::Object => self.object(def),
            },
            Item::Def(def) => self.imp_def(def, 0),
            Item::Equations(def) => self.equations(def),
            Item::Hvm(def) => self.hvm(def),
        }
    }

    fn import(&mut self, import: &Import) -> Doc {
        let mut docs = vec![];
        if let Some(path) = &import.from {
            docs.extend([self.token("from"), text(" "), self.token(&path.node), text(" ")]);
        }
        docs.extend([self.token("import"), text(" ")]);
        docs.push(match &import.names {
            ImportNames::All => self.token("*"),
            ImportNames::One(name) => self.import_name(name),
            ImportNames::Many(names) => self.list(Brackets::ROUND, names, Walker::import_name),
        });
        concat(docs)
    }

    fn import_name(&mut self, name: &ImportName) -> Doc {
        let mut docs = vec![self.token(&name.name.node)];
        if let Some(alias) = &name.alias {
            docs.extend([text(" "), self.token("as"), text(" "), self.token(&alias.node)]);
        }
        concat(docs)
    }

    /// `type T(a)` or `object T(a)`.
    fn type_head(&mut self, word: &str, def: &TypeDef) -> Doc {
        let mut docs = vec![self.token(word), text(" "), self.token(&def.name.node)];
        if self.comes("(") {
            docs.push(self.list(Brackets::ROUND, &def.vars, |walker, name| walker.token(&name.node)));
        }
        concat(docs)
    }

    fn imp_type_def(&mut self, def: &TypeDef) -> Doc {
        let head = self.type_head("type", def);
        let ctors = self.lines(&def.ctors, INDENTATION, |walker, ctor| {
            let name = walker.token(&ctor.name.node);
            concat([name, walker.imp_fields(&ctor.fields)])
        });
        concat([head, ctors])
    }

    fn object(&mut self, def: &TypeDef) -> Doc {
        let head = self.type_head("object", def);
        let fields = def.ctors.first().map_or(&[][..], |ctor| &ctor.fields);
        concat([head, self.imp_fields(fields)])
    }

    /// ` { x: T, ~y }`, if there are braces.
    fn imp_fields(&mut self, fields: &[Field]) -> Doc {
        if !self.comes("{") {
            return nothing();
        }
        let fields = self.list(Brackets::FIELDS, fields, |walker, field| {
            let mut docs = vec![walker.tilde(field), walker.token(&field.name.node)];
            if let Some(ty) = &field.ty {
                docs.extend([walker.token(":"), text(" "), walker.ty(ty, Syntax::Imperative)]);
            }
            concat(docs)
        });
        concat([text(" "), fields])
    }

    fn tilde(&mut self, field: &Field) -> Doc {
        if field.recursive { self.token("~") } else { nothing() }
    }

    /// `type (T a) = (C x) | D`: on one line, or with a constructor a line.
    fn fun_type_def(&mut self, def: &TypeDef) -> Doc {
        let mut docs = vec![self.token("type"), text(" ")];
        let name = |walker: &mut Self, i: usize| match i.checked_sub(1).and_then(|i| def.vars.get(i)) {
            Some(variable) => walker.token(&variable.node),
            None => walker.token(&def.name.node),
        };
        if self.comes("(") {
            docs.push(self.list_of(Brackets::SPACED, def.vars.len() + 1, name));
        } else {
            for i in 0..=def.vars.len() {
                docs.extend([if i > 0 { text(" ") } else { nothing() }, name(self, i)]);
            }
        }
        let mut ctors = vec![];
        if self.breaks_line_of_constructor() {
            ctors.push(Doc::Break);
        }
        for (i, ctor) in def.ctors.iter().enumerate() {
            ctors.extend([self.line(Doc::Line), self.token(if i == 0 { "=" } else { "|" }), text(" ")]);
            if i == 0 {
                ctors.push(self.drop_token("|"));
            }
            ctors.push(self.comments());
            ctors.push(self.fun_ctor(ctor));
        }
        docs.push(nest(concat(ctors)));
        group(concat(docs))
    }

    /// Whether the first constructor, or its `=`, was written on a further line.
    fn breaks_line_of_constructor(&self) -> bool {
        let next = self.next_at();
        self.breaks() || self.text(next, self.behind_next()).contains('\n')
    }

    fn fun_ctor(&mut self, ctor: &CtorDef) -> Doc {
        if !self.comes("(") {
            return self.token(&ctor.name.node);
        }
        self.list_of(Brackets::SPACED, ctor.fields.len() + 1, |walker, i| {
            match i.checked_sub(1).and_then(|i| ctor.fields.get(i)) {
                Some(field) => walker.fun_field(field),
                None => walker.token(&ctor.name.node),
            }
        })
    }

    /// `x`, `~x` or `~(x: T)`.
    fn fun_field(&mut self, field: &Field) -> Doc {
        let tilde = self.tilde(field);
        concat([tilde, self.annotated(&field.name, field.ty.as_ref())])
    }

    /// `x`, `(x)` or `(x: T)`.
    fn annotated(&mut self, name: &Ident, ty: Option<&TypeExpr>) -> Doc {
        if !self.comes("(") {
            return self.token(&name.node);
        }
        self.enclosed(Brackets::ROUND, |walker| {
            let mut docs = vec![walker.token(&name.node)];
            if let Some(ty) = ty {
                docs.extend([walker.token(":"), text(" "), walker.ty(ty, Syntax::Functional)]);
            }
            concat(docs)
        })
    }

    /// A functional definition: its signature, and its rules on lines of their own.
    pub fn equations(&mut self, def: &FunDef) -> Doc {
        let mut rows = vec![];
        self.rows(nothing(), def, &mut rows);
        concat(rows.into_iter().map(|row| concat([row.before, row.left, row.right])))
    }

    /// The signature and the rules of a functional definition.
    fn rows(&mut self, before: Doc, def: &FunDef, rows: &mut Vec<Row>) {
        let mut before = concat([before, self.check(def.check)]);
        if let Some(signature) = &def.signature {
            let head = self.head(&def.name, signature.params.len(), |walker, i| match signature.params.get(i) {
                Some(param) => walker.annotated(&param.name, param.ty.as_ref()),
                None => nothing(),
            });
            let ty = [text(" "), self.token(":"), text(" "), self.ty(&signature.ty, Syntax::Functional)];
            let left = concat([head, concat(ty)]);
            if let FunBody::Equation(body) = &def.body {
                return rows.push(Row { before, left, right: self.equals(body), equals: None });
            }
            rows.push(Row { before, left, right: nothing(), equals: None });
            before = self.next_line();
        }
        let FunBody::Rules(rules) = &def.body else { return };
        for (i, rule) in rules.iter().enumerate() {
            if i > 0 {
                before = self.next_line();
            }
            let (_, indentation) = self.next_place();
            let left = self.head(&def.name, rule.patterns.len(), |walker, i| match rule.patterns.get(i) {
                Some(pattern) => walker.pattern(pattern, Syntax::Functional),
                None => nothing(),
            });
            // A comment before the `=`, or a word before the name, moves it, so that it stands below others by accident.
            let is_plain = indentation == 0 && !self.comment_comes();
            let equals = is_plain.then(|| self.next_place());
            let right = self.equals(&rule.body);
            rows.push(Row { before: std::mem::replace(&mut before, nothing()), left, right, equals });
        }
    }

    /// `f x y` or `(f x y)`.
    fn head(&mut self, name: &Ident, parts: usize, mut each: impl FnMut(&mut Self, usize) -> Doc) -> Doc {
        if self.comes("(") {
            return self.list_of(Brackets::SPACED, parts + 1, |walker, i| match i.checked_sub(1) {
                Some(i) => each(walker, i),
                None => walker.token(&name.node),
            });
        }
        let name = self.token(&name.node);
        let mut docs = vec![];
        for i in 0..parts {
            docs.extend([self.line(Doc::Line), each(self, i)]);
        }
        group(concat([name, nest(concat(docs))]))
    }

    /// `hvm f -> T:` and a net, whose lines stay as they are but for their indentation.
    fn hvm(&mut self, def: &HvmDef) -> Doc {
        let mut docs = vec![self.token("hvm"), text(" "), self.token(&def.name.node)];
        if let Some(ty) = &def.ty {
            docs.extend([text(" "), self.token("->"), text(" "), self.ty(ty, Syntax::Imperative)]);
        }
        docs.extend([self.token(":"), self.trailing()]);
        self.open();
        docs.push(nest(self.next_line()));
        let net = self.net(def.span.end as usize);
        // A comment over several lines stays as it is, and so do the lines around it.
        let has_block = net.contains("#{");
        let mut lines = vec![];
        for line in net.lines() {
            if !lines.is_empty() {
                lines.push(if has_block { text("\n") } else { Doc::HardLine });
            }
            lines.push(text(if has_block { line.trim_end() } else { line.trim() }.to_owned()));
        }
        docs.push(nest(concat(lines)));
        concat(docs)
    }
}

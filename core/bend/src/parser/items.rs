//! Top-level items: imports, types, definitions and nets. The first word tells them apart.

use super::blocks::INDENTATION;
use super::{Parsed, Parser, Separator};
use crate::ast::*;
use girih_base::diag::{Code, Diagnostic};
use girih_base::lexer::Cursor;
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::hvm::parse::net_at;
use std::collections::HashMap;

impl Parser<'_, '_> {
    /// The item that comes next.
    pub(super) fn item(&mut self) -> Parsed<Item> {
        if self.cursor.at_keyword("def") {
            self.in_first_column("a `def`")?;
            let def = self.imp_def(0)?;
            self.in_column_of_items()?;
            return Ok(Item::Def(def));
        }
        if self.cursor.at_keyword("object") {
            self.in_first_column("an `object`")?;
            return Ok(Item::Type(self.object()?));
        }
        if self.cursor.at_keyword("type") {
            if !starts_imp_type(self.cursor) {
                return Ok(Item::Type(self.with_free_lines(Parser::fun_type_def)?));
            }
            self.in_first_column("a `type` with a colon")?;
            let def = self.imp_type_def()?;
            self.in_column_of_items()?;
            return Ok(Item::Type(def));
        }
        if self.cursor.at_keyword("hvm") {
            return Ok(Item::Hvm(self.hvm_def()?));
        }
        if self.cursor.at_keyword("from") {
            return Ok(Item::Import(self.import_of_names()?));
        }
        if self.cursor.at_keyword("import") {
            return Ok(Item::Import(self.import_of_paths()?));
        }
        self.not_in_a_term()?;
        self.misread = self.misread_item();
        if self.at_foreign_type() {
            return Err(self.expected("a definition"));
        }
        Ok(Item::Equations(self.equations()?))
    }

    /// What follows the one term of a definition is often meant to belong to it, but is written as in the other syntax.
    fn not_in_a_term(&mut self) -> Parsed<()> {
        let follows_name = self.cursor.text()[..self.cursor.at()].ends_with(|c: char| c.is_ascii_alphabetic());
        if self.cursor.starts_with("(") && follows_name {
            let hint = "in the functional syntax a call is written `(f x y)`";
            return Err(self.expected_with_hint("a definition", hint));
        }
        if let Some(op) = self.cursor.operator().filter(|_| self.cursor.word().is_empty()) {
            let hint = format!("in the functional syntax an operation is written `({} a b)`", op.symbol());
            return Err(self.expected_with_hint("a definition", &hint));
        }
        Ok(())
    }

    fn in_first_column(&mut self, what: &str) -> Parsed<()> {
        if self.cursor.column() == 0 {
            return Ok(());
        }
        let span = self.cursor.span(self.cursor.at(), self.cursor.at() + self.cursor.word().len());
        Err(self.error(Code::Indentation, span, format!("{what} at the top level starts in the first column")))
    }

    /// Checks that what follows a block of an item is not indented.
    fn in_column_of_items(&mut self) -> Parsed<()> {
        match self.column {
            None | Some(0) => Ok(()),
            Some(column) => Err(self.wrong_column(column, "0 or 2 spaces")),
        }
    }

    fn import_of_names(&mut self) -> Parsed<Import> {
        let start = self.cursor.at();
        self.expect_keyword("from")?;
        let path = self.name("the path of a file")?;
        self.expect_keyword("import")?;
        self.skip();
        let names = if self.cursor.eat("*") {
            ImportNames::All
        } else {
            self.import_names("the name of a definition, `(` or `*`")?
        };
        Ok(Import { span: self.cursor.span_from(start), from: Some(path), names })
    }

    fn import_of_paths(&mut self) -> Parsed<Import> {
        let start = self.cursor.at();
        self.expect_keyword("import")?;
        let names = self.import_names("the path of a file or `(`")?;
        Ok(Import { span: self.cursor.span_from(start), from: None, names })
    }

    fn import_names(&mut self, what: &str) -> Parsed<ImportNames> {
        self.skip();
        if !self.cursor.starts_with("(") {
            return Ok(ImportNames::One(self.import_name(what)?));
        }
        let start = self.cursor.at();
        let name = |p: &mut Self| p.import_name("a name");
        let names = self.bracketed("(", ")", |p| p.elements(Separator::OptionalComma, name))?;
        if names.is_empty() {
            let span = self.cursor.span_from(start);
            return Err(self.error(Code::UnexpectedText, span, "expected one or more names to import"));
        }
        Ok(ImportNames::Many(names))
    }

    fn import_name(&mut self, what: &str) -> Parsed<ImportName> {
        let name = self.name(what)?;
        let alias = if self.eat_keyword("as") { Some(self.name("a name for what is imported")?) } else { None };
        Ok(ImportName { name, alias })
    }

    /// `type T(a): …`.
    fn imp_type_def(&mut self) -> Parsed<TypeDef> {
        let start = self.cursor.at();
        self.expect_keyword("type")?;
        let name = self.name("the name of a type")?;
        let vars = self.type_variables()?;
        self.expect(":")?;
        self.start_block(INDENTATION, "a constructor")?;
        let mut ctors = vec![];
        while self.column == Some(INDENTATION) {
            let name = self.name("the name of a constructor")?;
            let fields = self.imp_fields()?;
            self.check_fields(&fields);
            self.end_of_constructor(&name)?;
            ctors.push(CtorDef { name, fields });
        }
        Ok(TypeDef { span: self.cursor.span_from(start), syntax: TypeSyntax::Imp, name, vars, ctors })
    }

    /// The end of the line of a constructor.
    fn end_of_constructor(&mut self, name: &Ident) -> Parsed<()> {
        self.skip();
        if self.cursor.starts_with("(") {
            let hint = format!("fields stand in braces: `{} {{ a: u24, b: u24 }}`", name.node);
            return Err(self.expected_with_hint("`{` or the end of the line", &hint));
        }
        self.end_of_line("`{` or the end of the line")
    }

    /// `object T(a) { x }`.
    fn object(&mut self) -> Parsed<TypeDef> {
        let start = self.cursor.at();
        self.expect_keyword("object")?;
        let name = self.name("the name of a type")?;
        let vars = self.type_variables()?;
        let fields = self.imp_fields()?;
        self.check_fields(&fields);
        let span = self.cursor.span_from(start);
        self.end_of_constructor(&name)?;
        let ctors = vec![CtorDef { name: name.clone(), fields }];
        Ok(TypeDef { span, syntax: TypeSyntax::Object, name, vars, ctors })
    }

    fn type_variables(&mut self) -> Parsed<Vec<Ident>> {
        self.skip();
        if !self.cursor.starts_with("(") {
            return Ok(vec![]);
        }
        self.bracketed("(", ")", |p| p.elements(Separator::Comma, |p| p.name("a type variable")))
    }

    fn imp_fields(&mut self) -> Parsed<Vec<Field>> {
        self.skip();
        if !self.cursor.starts_with("{") {
            return Ok(vec![]);
        }
        self.bracketed("{", "}", |p| {
            p.elements(Separator::Comma, |p| {
                let recursive = p.eat("~");
                let name = p.name("the name of a field")?;
                let ty = if p.eat(":") { Some(p.imp_type()?) } else { None };
                Ok(Field { name, ty, recursive })
            })
        })
    }

    /// `type (T a) = (C x) | D`.
    fn fun_type_def(&mut self) -> Parsed<TypeDef> {
        let start = self.cursor.at();
        self.expect_keyword("type")?;
        self.skip();
        let (name, vars) = if self.cursor.starts_with("(") {
            let variable = |p: &mut Self| p.name("a type variable");
            let head = self
                .bracketed("(", ")", |p| Ok((p.name("the name of a type")?, p.elements(Separator::None, variable)?)))?;
            self.expect("=")?;
            head
        } else {
            let name = self.name("the name of a type")?;
            let mut vars = vec![];
            while !self.eat("=") {
                vars.push(self.name("a type variable, `=` or `:`")?);
            }
            (name, vars)
        };
        self.eat("|");
        let mut ctors = vec![self.fun_ctor()?];
        while self.eat("|") {
            ctors.push(self.fun_ctor()?);
        }
        self.no_bare_fields(ctors.last().map(|ctor| &ctor.name))?;
        Ok(TypeDef { span: self.cursor.span_from(start), syntax: TypeSyntax::Fun, name, vars, ctors })
    }

    fn fun_ctor(&mut self) -> Parsed<CtorDef> {
        self.skip();
        if !self.cursor.starts_with("(") {
            let name = self.name("the name of a constructor")?;
            if self.cursor.starts_with("(") || self.cursor.starts_with("{") {
                let hint =
                    format!("a constructor with fields stands in parentheses as a whole: `({} left right)`", name.node);
                return Err(self.expected_with_hint("`|` or the end of the type", &hint));
            }
            return Ok(CtorDef { name, fields: vec![] });
        }
        self.bracketed("(", ")", |p| {
            let name = p.name("the name of a constructor")?;
            let fields = p.elements(Separator::None, Parser::fun_field)?;
            p.check_fields(&fields);
            Ok(CtorDef { name, fields })
        })
    }

    /// The error that fields stand behind a constructor without parentheses. What defines something is another item.
    fn no_bare_fields(&mut self, ctor: Option<&Ident>) -> Parsed<()> {
        let rest = self.cursor.rest().lines().next().unwrap_or_default();
        let line = &self.cursor.text()[self.cursor.line_start()..self.cursor.at()];
        let word = self.cursor.word();
        let is_field = word.starts_with(|c: char| c.is_ascii_alphabetic()) && !line.trim().is_empty();
        let Some(ctor) = ctor.filter(|_| is_field && !rest.contains(['=', ':'])) else { return Ok(()) };
        let hint = format!("fields need parentheses: `({} {word})`; `|` stands between constructors", ctor.node);
        Err(self.expected_with_hint("`|` or the end of the type", &hint))
    }

    /// Reports fields of one constructor that have the same name. The item is good for all else.
    fn check_fields(&mut self, fields: &[Field]) {
        let mut seen: HashMap<&Name, Span> = HashMap::new();
        for Field { name, .. } in fields {
            if let Some(first) = seen.insert(&name.node, name.span) {
                let message = format!("the field `{}` appears twice in this constructor", name.node);
                let diagnostic =
                    Diagnostic::new(Code::DuplicateField, name.span, message).label(first, "it stands here too");
                self.fail(diagnostic.hint("give each field a name of its own"));
            }
        }
    }

    /// `x`, `~x` or `~(x: T)`.
    fn fun_field(&mut self) -> Parsed<Field> {
        let recursive = self.eat("~");
        self.skip();
        if !self.cursor.starts_with("(") {
            return Ok(Field { name: self.name("the name of a field")?, ty: None, recursive });
        }
        self.bracketed("(", ")", |p| {
            let name = p.name("the name of a field")?;
            let ty = if p.eat(":") { Some(p.fun_type()?) } else { None };
            p.close("`:`")?;
            Ok(Field { name, ty, recursive })
        })
    }

    /// `hvm f -> T:` and a net.
    fn hvm_def(&mut self) -> Parsed<HvmDef> {
        let start = self.cursor.at();
        self.expect_keyword("hvm")?;
        let name = self.name("the name of a definition")?;
        let ty = if self.eat("->") { Some(self.imp_type()?) } else { None };
        self.expect(":")?;
        self.skip();
        if !self.cursor.skip_line_end() {
            return Err(self.expected_with_hint("the end of the line", "a net starts on a line of its own"));
        }
        match net_at(&mut self.cursor) {
            Ok(net) => Ok(HvmDef { span: self.cursor.span_from(start), name, ty, net }),
            Err(diagnostic) => Err(self.fail(*diagnostic)),
        }
    }
}

/// Whether `type T:` or `type T(` comes next.
fn starts_imp_type(mut cursor: Cursor) -> bool {
    cursor.advance("type".len());
    cursor.skip_inline();
    let name = cursor.word();
    cursor.advance(name.len());
    cursor.skip_inline();
    !name.is_empty() && (cursor.starts_with(":") || cursor.starts_with("("))
}

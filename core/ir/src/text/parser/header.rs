//! What stands before a body: names, parameters, results, and how a kernel is launched.

use super::cursor::{Cursor, Parse};
use crate::attrs::ParamAttrs;
use crate::function::{Def, Function, Launch, Specialisation, Value, ValueId};
use crate::text::lexer::Kind;
use crate::text::words::{is_number, unquoted};
use crate::types::Type;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::ops::Range;

/// The words that start what stands in a module.
const ITEMS: [&str; 4] = ["fn", "kernel", "layout", "global"];

/// A function without its body.
#[derive(Debug)]
pub struct Header<'a> {
    /// The function, with parameters, results, specialisations.
    pub function: Function,
    /// Names to be visible in the body.
    pub names: Vec<(&'a str, Span, ValueId)>,
    /// The tokens of the body, from `launch` or `{` on, and perhaps more behind it.
    pub body: Range<usize>,
}

impl<'a> Cursor<'a> {
    /// Whether all tokens have been taken.
    pub fn at_end(&self) -> bool {
        self.peek().kind == Kind::End
    }

    /// Whether a function, kernel, layout or global starts here, so that what stood before cannot go on.
    fn at_item(&self) -> bool {
        let token = self.peek();
        let word = token.kind == Kind::Word && token.first && ITEMS.contains(&self.slice(token));
        word && self.peek_at(1).kind == Kind::Function
    }

    /// The word and the name of what starts here.
    pub fn item_name(&self) -> Option<(&'a str, &'a str, Span)> {
        let name = self.peek_at(1);
        self.at_item().then(|| (self.slice(self.peek()), &self.slice(name)[1..], self.span(name)))
    }

    /// Goes to the next of these, but forward from `start` in any case.
    pub fn skip_item(&mut self, start: usize) {
        while !self.at_end() && (self.position() == start || !self.at_item()) {
            self.next();
        }
    }

    /// Skips `launch { .. } { .. }` or `{ .. }` and gives the position behind it: behind the brace that closes the body, or where the
    /// next function starts.
    fn skip_body(&mut self) -> usize {
        let mut bodies = if self.eat_word("launch") { 2 } else { 1 };
        let mut open = 0usize;
        while bodies > 0 && !self.at_end() && !self.at_item() {
            match self.next().kind {
                Kind::Sign(b'{') => open += 1,
                Kind::Sign(b'}') => {
                    open = open.saturating_sub(1);
                    bodies -= usize::from(open == 0);
                }
                _ => {}
            }
        }
        self.position()
    }
}

impl<'a> Header<'a> {
    /// Reads a header and skips the body.
    pub fn parse(cursor: &mut Cursor<'a>) -> Parse<Header<'a>> {
        let kernel = if cursor.eat_word("kernel") {
            true
        } else if cursor.eat_word("fn") {
            false
        } else {
            return cursor.unexpected("`fn`, `kernel`, `layout` or `global`");
        };
        let (name, span) = cursor.name(Kind::Function, "a name such as `@saxpy`")?;
        let function = Function::new(&*unquoted(name), span);
        let mut header = Header { function, names: vec![], body: 0..0 };
        if kernel {
            header.function.launch = Some(Launch::default());
        }
        header.params(cursor)?;
        if kernel {
            header.launch(cursor)?;
        } else if cursor.peek().kind == Kind::Arrow {
            cursor.next();
            header.function.results = cursor.list(Cursor::ty)?;
        }
        if !cursor.at_sign(b'{') && !cursor.at_word("launch") {
            return cursor.unexpected(if kernel {
                "`{`, `launch` or how the kernel is launched"
            } else {
                "`->` or `{`"
            });
        }
        let start = cursor.position();
        header.body = start..cursor.skip_body();
        Ok(header)
    }

    fn params(&mut self, cursor: &mut Cursor<'a>) -> Parse<()> {
        cursor.expect(b'(', "after the name")?;
        if !cursor.at_sign(b')') {
            cursor.list(|cursor| self.param(cursor))?;
        }
        cursor.expect(b')', "after the parameters")?;
        Ok(())
    }

    fn param(&mut self, cursor: &mut Cursor<'a>) -> Parse<()> {
        let (name, span) = cursor.name(Kind::Value, "a parameter such as `%n: u32`")?;
        cursor.expect(b':', "after the parameter's name")?;
        let ty = cursor.ty()?;
        let mut attrs = ParamAttrs::default();
        let mut traps = false;
        let mut words = vec![];
        while cursor.peek().kind == Kind::Word && !cursor.at_item() {
            let (word, span) = cursor.word("")?;
            cursor.once(&mut words, word, span)?;
            match word {
                "readonly" => attrs.readonly = true,
                "noalias" => attrs.noalias = true,
                "borrowed" => attrs.borrowed = true,
                "traps" => {
                    self.takes_traps(cursor, span)?;
                    traps = true;
                }
                "divisible" => attrs.divisible = cursor.at_least_1(word)?,
                "align" => attrs.align = cursor.at_least_1(word)?,
                _ => {
                    let message = format!("a parameter has no attribute `{word}`");
                    let known = ["readonly", "noalias", "borrowed", "divisible", "align", "traps"];
                    return cursor.unknown(Code::IrUnknown, span, message, word, known, "");
                }
            }
        }
        let value = self.define(cursor, name, span, ty, Def::Param(attrs))?;
        self.function.params.push(value);
        if let (true, Some(launch)) = (traps, &mut self.function.launch) {
            launch.traps = Some(value);
        }
        Ok(())
    }

    /// Whether a parameter can be the buffer in which traps are noted.
    fn takes_traps(&self, cursor: &mut Cursor<'a>, span: Span) -> Parse<()> {
        let message = match &self.function.launch {
            None => "a function notes no traps",
            Some(launch) if launch.traps.is_some() => "traps are noted in another parameter already",
            Some(_) => return Ok(()),
        };
        cursor.fail(Code::IrSyntax, span, message, "leave `traps` out: lowering adds the parameter")
    }

    fn define(&mut self, cursor: &mut Cursor<'a>, name: &'a str, span: Span, ty: Type, def: Def) -> Parse<ValueId> {
        if let Some((_, first, _)) = self.names.iter().find(|(n, ..)| *n == name) {
            let diagnostic = Diagnostic::new(Code::IrRedefinition, span, format!("`%{name}` is defined twice"));
            return Err(cursor.report(diagnostic.label(*first, "first here")));
        }
        let shown = (!is_number(name)).then(|| (&*unquoted(name)).into());
        let value = self.function.values.push(Value { ty, def, name: shown });
        self.function.set_span(value, span);
        self.names.push((name, span, value));
        Ok(value)
    }

    /// How the kernel is launched.
    fn launch(&mut self, cursor: &mut Cursor<'a>) -> Parse<()> {
        let mut launch = self.function.launch.take().unwrap_or_default();
        let mut words = vec![];
        while cursor.peek().kind == Kind::Word && !cursor.at_word("launch") && !cursor.at_item() {
            let start = cursor.peek();
            let (word, span) = cursor.word("")?;
            if word != "spec" {
                cursor.once(&mut words, word, span)?;
            }
            match word {
                "workgroup" => {
                    launch.workgroup = cursor.extent()?;
                    launch.places.workgroup = cursor.span_since(start);
                }
                "subgroup" => {
                    launch.subgroup = Some(cursor.in_parentheses(word)?);
                    launch.places.subgroup = cursor.span_since(start);
                }
                "registers" => {
                    launch.registers = Some(cursor.in_parentheses(word)?);
                    launch.places.registers = cursor.span_since(start);
                }
                "fold" => launch.fold = true,
                "cooperative" => launch.cooperative = true,
                "spec" => {
                    let specialisation = self.specialisation(cursor, launch.specialisations.len())?;
                    launch.specialisations.push(specialisation);
                }
                _ => {
                    let message = format!("a kernel has no attribute `{word}`");
                    let known = ["workgroup", "subgroup", "registers", "fold", "cooperative", "spec", "launch"];
                    return cursor.unknown(Code::IrUnknown, span, message, word, known, "");
                }
            }
        }
        if !words.contains(&"workgroup") {
            let message = format!("the kernel `@{}` does not say the size of its workgroups", self.function.name);
            let hint = "write `workgroup(256)`, or `workgroup(16, 16)`, after the parameters";
            return cursor.fail(Code::IrSyntax, self.function.span, message, hint);
        }
        self.function.launch = Some(launch);
        Ok(())
    }

    fn specialisation(&mut self, cursor: &mut Cursor<'a>, position: usize) -> Parse<Specialisation> {
        cursor.expect(b'(', "after `spec`")?;
        let (name, span) = cursor.name(Kind::Value, "a name such as `%BLOCK`")?;
        cursor.expect(b':', "after the name")?;
        let ty = cursor.scalar()?;
        cursor.expect(b'=', "after the type")?;
        let default = cursor.literal_of(ty)?;
        cursor.expect(b')', "after the default value")?;
        let value = self.define(cursor, name, span, Type::Scalar(ty), Def::Specialisation(position as u32))?;
        Ok(Specialisation { value, default })
    }
}

impl Cursor<'_> {
    /// Notes an attribute's word among those of the same thing, and says if it stands there already.
    pub fn once<'w>(&mut self, words: &mut Vec<&'w str>, word: &'w str, span: Span) -> Parse<()> {
        if words.contains(&word) {
            return self.fail(Code::IrRedefinition, span, format!("the attribute `{word}` appears twice"), "");
        }
        words.push(word);
        Ok(())
    }

    /// `(n)` behind a word that says nothing with 0.
    pub fn at_least_1(&mut self, word: &str) -> Parse<u32> {
        let start = self.peek();
        let n = self.in_parentheses(word)?;
        if n == 0 {
            let span = self.span_since(start);
            return self.fail(Code::IrLiteral, span, format!("`{word}(0)` says nothing"), "give at least 1");
        }
        Ok(n)
    }

    /// `(n)` behind a word.
    pub fn in_parentheses(&mut self, word: &str) -> Parse<u32> {
        self.expect(b'(', &format!("after `{word}`"))?;
        let n = self.count("a number")?;
        self.expect(b')', "after the number")?;
        Ok(n)
    }

    /// `(x)`, `(x, y)` or `(x, y, z)`; what is absent is 1.
    pub fn extent(&mut self) -> Parse<[u32; 3]> {
        let open = self.expect(b'(', "before the size")?;
        let sides = self.list(|c| c.count("a number"))?;
        self.expect(b')', "after the size")?;
        match sides[..] {
            [x] => Ok([x, 1, 1]),
            [x, y] => Ok([x, y, 1]),
            [x, y, z] => Ok([x, y, z]),
            _ => {
                let span = self.span_since(open);
                self.fail(Code::IrSyntax, span, "there are only three dimensions", "")
            }
        }
    }
}

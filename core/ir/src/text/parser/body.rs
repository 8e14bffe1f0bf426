//! Regions and statements.
//!
//! An error within a statement is said once: its results become the function's *poison*, a value about which nothing more is said, and
//! reading goes on with the next statement.

use super::Signatures;
use super::cursor::{Cursor, END_OF_LINE, Parse, counted};
use super::header::Header;
use super::scope::Scope;
use crate::Builder;
use crate::function::{Def, Function, Inst, RegionId, Value, ValueId, Values};
use crate::ops::Op;
use crate::text::lexer::{Kind, Token};
use crate::text::words::{is_number, unquoted};
use crate::types::{Space, Type};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;

/// A name on the left side of a statement.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The name as it is written.
    pub name: &'a str,
    /// Where it stands, without the type.
    pub span: Span,
    /// Its type, if that is written.
    pub ty: Option<Type>,
}

/// What region the parser is in, and what the jumps in it take.
#[derive(Debug)]
pub enum Enclosing {
    /// A function's body, with its results.
    Function(Vec<Type>),
    /// A kernel's `launch` region.
    Prologue,
    /// A region of an `if` or a `switch`, with its results.
    Arm(Vec<Type>),
    /// A loop.
    Loop(LoopFrame),
}

/// What is known about a loop while its region is read.
#[derive(Debug, Default)]
pub struct LoopFrame {
    /// Types of its parameters.
    pub params: Vec<Type>,
    /// Types of its results; if it has no names, what literals in a `break` are taken for.
    pub results: Vec<Type>,
    /// Whether it has names, so that its results are known.
    pub named: bool,
    /// Whether a `while` leaves it.
    pub has_while: bool,
    /// Types of what the first `break` gives.
    pub breaks: Option<Vec<Type>>,
}

/// The parser of one function.
pub struct Body<'c, 'a> {
    pub cursor: &'c mut Cursor<'a>,
    pub signatures: &'c Signatures,
    pub builder: Builder,
    pub names: Scope<'a>,
    pub frames: Vec<Enclosing>,
    poison: Option<ValueId>,
}

impl<'c, 'a> Body<'c, 'a> {
    /// Reads the body that belongs to a header.
    pub fn parse(cursor: &'c mut Cursor<'a>, signatures: &'c Signatures, header: Header<'a>) -> Function {
        if cursor.gave_up() {
            return header.function;
        }
        /// About so many tokens make an instruction.
        const TOKENS: usize = 6;
        cursor.restrict(header.body.start, header.body.end);
        let mut builder = Builder::new(header.function);
        builder.function.reserve(header.body.len() / TOKENS);
        let mut body = Body { cursor, signatures, builder, names: Scope::default(), frames: vec![], poison: None };
        for (name, span, value) in header.names {
            let fresh = body.names.define(name, span, value);
            debug_assert!(fresh.is_ok(), "the header has said that `%{name}` is defined twice");
        }
        // What is wrong has been said.
        let _ = body.whole();
        body.builder.function
    }

    fn function(&mut self) -> &mut Function {
        &mut self.builder.function
    }

    fn whole(&mut self) -> Parse<()> {
        if self.cursor.eat_word("launch") {
            self.prologue()?;
        }
        let results = self.builder.function.results.clone();
        let region = self.builder.function.body;
        self.frames.push(Enclosing::Function(results));
        let brace = self.cursor.expect(b'{', "before the body")?;
        self.memories()?;
        self.region(region, brace)?;
        self.frames.pop();
        if self.cursor.peek().kind != Kind::End {
            return self.cursor.unexpected("the end of the function");
        }
        Ok(())
    }

    /// The `launch` region. Its names stay visible.
    fn prologue(&mut self) -> Parse<()> {
        let region = self.builder.new_region(&[]);
        if let Some(launch) = &mut self.builder.function.launch {
            launch.prologue = Some(region);
        }
        self.frames.push(Enclosing::Prologue);
        let brace = self.cursor.expect(b'{', "after `launch`")?;
        self.region(region, brace)?;
        self.frames.pop();
        Ok(())
    }

    /// `{ .. }` as a new region, whose parameters have these names.
    pub fn inner(&mut self, frame: Enclosing, params: &[Named<'a>], after: &str) -> Parse<(RegionId, Enclosing)> {
        if !self.cursor.at_sign(b'{') {
            return self.cursor.unexpected(&format!("`{{` {after}"));
        }
        // Before the brace is taken: who skips the statement has to see it.
        self.cursor.deeper()?;
        let brace = self.cursor.next();
        let types: Vec<Type> = params.iter().filter_map(|p| p.ty).collect();
        let region = self.builder.new_region(&types);
        let values = self.builder.function.regions[region].params.clone();
        let start = self.names.enter();
        for (param, value) in params.iter().zip(values) {
            self.define(*param, value);
        }
        self.frames.push(frame);
        let done = self.region(region, brace);
        // Nothing else takes frames away.
        let frame = self.frames.pop().unwrap_or(Enclosing::Prologue);
        self.names.leave(start);
        self.cursor.shallower();
        done.map(|()| (region, frame))
    }

    /// Statements up to and with the `}` that belongs to a brace.
    fn region(&mut self, region: RegionId, brace: Token) -> Parse<()> {
        let outer = std::mem::replace(&mut self.builder.region, region);
        let before = self.cursor.errors.len();
        let mut end = None;
        while !self.cursor.at_sign(b'}') {
            if self.cursor.peek().kind == Kind::End {
                self.builder.region = outer;
                let error = self.cursor.instead_of("`}`").label(self.cursor.span(brace), "this is left open");
                return Err(self.cursor.report(error));
            }
            let start = self.cursor.position();
            if self.statement(&mut end).is_err() {
                self.cursor.skip_statement(start);
            } else if self.cursor.on_line() && !self.cursor.at_sign(b'}') {
                let _ = self.not_the_end();
                self.cursor.skip_statement(start);
            }
        }
        let close = self.cursor.next();
        if end.is_none() && self.cursor.errors.len() == before {
            // What is wrong has been said; the text goes on behind the brace all the same.
            let _ = self.implied_end(close);
        }
        self.builder.region = outer;
        Ok(())
    }

    /// Ends a region that has no terminator.
    fn implied_end(&mut self, close: Token) -> Parse<()> {
        let span = self.cursor.span(close);
        let (op, values) = match self.frames.last() {
            Some(Enclosing::Function(results)) => (Op::Return, results.len()),
            Some(Enclosing::Arm(results)) => (Op::Yield, results.len()),
            Some(Enclosing::Loop(frame)) => (Op::Continue, frame.params.len()),
            Some(Enclosing::Prologue) | None => {
                let hint = "say how many workgroups run: `grid %x, 1, 1`";
                return self.cursor.fail(Code::IrRegion, span, "a `launch` region ends with `grid`", hint);
            }
        };
        if values > 0 {
            let message = format!("this region has to end with `{}` and {}", op.name(), counted(values, "value"));
            let others = if op == Op::Continue { "or with `while`, `break` or `return`" } else { "" };
            return self.cursor.fail(Code::IrRegion, span, message, others);
        }
        self.builder.span = span;
        self.builder.end(op, &[]);
        Ok(())
    }

    /// `shared %tile: f32[256]`, at the top of a body.
    fn memories(&mut self) -> Parse<()> {
        loop {
            let space = match () {
                () if self.cursor.at_word("shared") => Space::Shared,
                () if self.cursor.at_word("private") => Space::Private,
                () => return Ok(()),
            };
            let start = self.cursor.position();
            self.cursor.next();
            if self.memory(space).is_err() {
                self.cursor.skip_statement(start);
            }
        }
    }

    fn memory(&mut self, space: Space) -> Parse<()> {
        let (name, span) = self.cursor.name(Kind::Value, "the memory's name")?;
        let named = Named { name, span, ty: None };
        let result = self.memory_rest(space, named);
        if result.is_err() && self.names.find(name).is_none() {
            self.poison_names(&[named]);
        }
        result
    }

    fn memory_rest(&mut self, space: Space, named: Named<'a>) -> Parse<()> {
        self.cursor.expect(b':', "after the memory's name")?;
        let element = self.cursor.ty()?;
        self.cursor.expect(b'[', "after the element's type")?;
        let length = self.operand()?;
        let length = self.typed(length, Some(Type::U32))?;
        self.cursor.expect(b']', "after the length")?;
        let name = (!is_number(named.name)).then(|| (&*unquoted(named.name)).into());
        let value = self.function().memory(name, space, element, length);
        let id = self.function().memories.ids().next_back();
        let mut words = vec![];
        while self.cursor.on_line() && self.cursor.peek().kind == Kind::Word {
            let (word, span) = self.cursor.word("")?;
            self.cursor.once(&mut words, word, span)?;
            match (word, id) {
                ("align", Some(id)) => self.builder.function.memories[id].align = self.cursor.in_parentheses(word)?,
                ("group", Some(id)) => self.builder.function.memories[id].group = self.cursor.in_parentheses(word)?,
                _ => {
                    let message = format!("a memory has no attribute `{word}`");
                    return self.cursor.unknown(Code::IrUnknown, span, message, word, ["align", "group"], "");
                }
            }
        }
        self.define(named, value);
        Ok(())
    }

    /// One statement. `end` is where the region's terminator stands, once it has one.
    fn statement(&mut self, end: &mut Option<Span>) -> Parse<()> {
        let start = self.cursor.peek();
        let names = if start.kind == Kind::Value { self.left_side()? } else { vec![] };
        let done = self.named_instruction(&names);
        match done {
            Ok(op) => {
                let span = self.cursor.span_since(start);
                if let Some(first) = end {
                    let message = "this can never run: the region has ended";
                    let diagnostic = Diagnostic::new(Code::IrRegion, span, message).label(*first, "by this");
                    return Err(self.cursor.report(diagnostic));
                }
                if op.is_some_and(Op::is_terminator) {
                    *end = Some(self.cursor.span(start));
                }
                Ok(())
            }
            Err(reported) => {
                self.poison_names(&names);
                // A terminator that could not be read is one all the same; nothing is said about a missing one after an error.
                Err(reported)
            }
        }
    }

    /// `%a, %b: f32 =`.
    fn left_side(&mut self) -> Parse<Vec<Named<'a>>> {
        let names = self.cursor.list(|cursor| {
            let (name, span) = cursor.name(Kind::Value, "a result's name")?;
            let ty = if cursor.eat(b':') { Some(cursor.ty()?) } else { None };
            Ok(Named { name, span, ty })
        })?;
        if let Err(reported) = self.cursor.expect(b'=', "after the results' names") {
            self.poison_names(&names);
            return Err(reported);
        }
        Ok(names)
    }

    /// What stands behind `=`, or alone. Gives the operation, or nothing for a named constant.
    fn named_instruction(&mut self, names: &[Named<'a>]) -> Parse<Option<Op>> {
        if let Some(value) = self.constant_word()? {
            let [name] = names else {
                let span = self.cursor.span(self.cursor.peek());
                return self.cursor.fail(
                    Code::IrArity,
                    span,
                    "a constant has one name",
                    "write `%pi = const.f32 3.14`",
                );
            };
            self.check_type(*name, value);
            self.define(*name, value);
            return Ok(None);
        }
        if !names.is_empty() {
            self.no_copy()?;
        }
        let done = self.instruction(names)?;
        if !names.is_empty() && names.len() != done.results.len() {
            let gives = counted(done.results.len(), "result");
            let message = format!("`{}` gives {gives}, not {}", done.op.name(), names.len());
            let span = names.iter().fold(names[0].span, |span, name| span.to(name.span));
            return self.cursor.fail(Code::IrArity, span, message, "");
        }
        for (name, value) in names.iter().zip(&done.results) {
            self.check_type(*name, *value);
            self.define(*name, *value);
        }
        Ok(Some(done.op))
    }

    /// Refuses a value or a literal where an instruction has to stand.
    fn no_copy(&mut self) -> Parse<()> {
        let token = self.cursor.peek();
        let text = self.cursor.slice(token);
        let hint = match token.kind {
            Kind::Value => format!("a value needs no second name: use `{text}`"),
            Kind::Number if text.contains('.') => format!("say its type: `const.f32 {text}`"),
            Kind::Number => format!("say its type: `const.u32 {text}`"),
            Kind::Sign(b'-') => {
                let number = self.cursor.slice(self.cursor.peek_at(1));
                let ty = if number.contains('.') { "f32" } else { "i32" };
                format!("say its type: `const.{ty} -{number}`")
            }
            _ => return Ok(()),
        };
        let error = self.cursor.instead_of("an operation").hint(hint);
        Err(self.cursor.report(error))
    }

    /// A statement goes on where its line should end.
    fn not_the_end(&mut self) -> Parse<()> {
        let error = self.cursor.instead_of(END_OF_LINE);
        let error = self.with_sign(error);
        Err(self.cursor.report(error))
    }

    /// Adds what is missing where the next token is the name of a value without its sign.
    pub fn with_sign(&self, error: Diagnostic) -> Diagnostic {
        if !self.at_bare_name() {
            return error;
        }
        let name = self.cursor.slice(self.cursor.peek());
        error.hint(format!("values start with `%`: `%{name}`?"))
    }

    /// Whether the next token is the name of a visible value without its sign.
    pub fn at_bare_name(&self) -> bool {
        let token = self.cursor.peek();
        token.kind == Kind::Word && self.names.find(self.cursor.slice(token)).is_some()
    }

    /// Holds a written type to what the operation gives.
    fn check_type(&mut self, named: Named<'a>, value: ValueId) {
        let ty = self.builder.ty(value);
        if let Some(written) = named.ty.filter(|t| *t != ty && !self.is_poison(value)) {
            let message = format!("`%{}` is of type `{ty}`, not `{written}`", named.name);
            let _ = self.cursor.fail::<()>(Code::IrType, named.span, message, "leave the type out");
        }
    }

    /// Makes a name visible.
    pub fn define(&mut self, named: Named<'a>, value: ValueId) {
        let Named { name, span, .. } = named;
        if let Err(first) = self.names.define(name, span, value) {
            let message = format!("`%{name}` is defined twice");
            let diagnostic = Diagnostic::new(Code::IrRedefinition, span, message).label(first, "first here");
            self.cursor.report(diagnostic);
        }
        let slot = &mut self.builder.function.values[value];
        if !matches!(slot.def, Def::Constant(_)) {
            slot.name = (!is_number(name)).then(|| (&*unquoted(name)).into());
            self.function().set_span(value, span);
        }
    }

    /// Makes names visible about whose values nothing is known.
    fn poison_names(&mut self, names: &[Named<'a>]) {
        let poison = self.poison();
        for named in names {
            // That it is defined twice matters less than what is wrong with this definition.
            let _ = self.names.define(named.name, named.span, poison);
        }
    }

    /// The value about which nothing is known. Functions that have it are not given to anyone.
    pub fn poison(&mut self) -> ValueId {
        let values = &mut self.builder.function.values;
        *self.poison.get_or_insert_with(|| values.push(Value { ty: Type::Token, def: Def::Constant(0), name: None }))
    }
    /// Whether nothing is known about a value.
    pub fn is_poison(&self, value: ValueId) -> bool {
        self.poison == Some(value)
    }

    /// Appends an instruction with results of these types.
    pub fn push(&mut self, inst: Inst, results: &[Type]) -> Values {
        let id = self.builder.push(inst, results);
        self.builder.function.insts[id].results.clone()
    }
}

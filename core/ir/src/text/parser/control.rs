//! Operations that have a syntax of their own: regions, calls, jumps.

use super::body::{Body, Enclosing, LoopFrame, Named};
use super::cursor::Parse;
use super::instruction::{Done, Head};
use super::operands::{Operand, Operands};
use crate::attrs::Attr;
use crate::function::{Inst, RegionId, Regions};
use crate::ops::Op;
use crate::text::lexer::Kind;
use crate::text::words::{Syntax, before_fields};
use crate::types::{Scalar, Shape, Type};
use girih_base::diag::Code;
use girih_base::span::Span;

/// `%name: type = operand`.
struct Carried<'a> {
    name: Named<'a>,
    initial: Operand<'a>,
}

impl<'a> Body<'_, 'a> {
    /// Takes what follows the name of such an operation.
    pub fn control(&mut self, syntax: Syntax, head: Head, names: &[Named<'a>]) -> Parse<Done> {
        match syntax {
            Syntax::If => self.if_else(head, names),
            Syntax::Switch => self.switch(head, names),
            Syntax::Loop => self.repeat(head, names),
            Syntax::Call => self.call(head),
            Syntax::Join => self.join(head),
            Syntax::Cell => self.cell(head),
            Syntax::Global => self.global(head),
            Syntax::Element => self.by_element(head, names),
            Syntax::While => self.while_next(head),
            Syntax::Jump => self.jump(head),
        }
    }

    /// The types that stand at the names of an `if` or `switch`.
    fn written_types(&mut self, op: Op, names: &[Named<'a>]) -> Parse<Vec<Type>> {
        let mut types = vec![];
        for named in names {
            match named.ty {
                Some(ty) => types.push(ty),
                None => {
                    let message = format!("a result of `{}` needs a type", op.name());
                    let hint = format!("write it after the name: `%{}: u32`", named.name);
                    return self.cursor.fail(Code::IrUntyped, named.span, message, &hint);
                }
            }
        }
        Ok(types)
    }

    /// The end of what stands before the regions.
    fn header_span(&self, head: Head) -> Span {
        head.span.to(self.cursor.span_before())
    }

    /// Appends an instruction with results of these types.
    fn append(&mut self, inst: Inst, results: &[Type]) -> Done {
        Done { op: inst.op, span: inst.span, results: self.push(inst, results) }
    }

    fn if_else(&mut self, head: Head, names: &[Named<'a>]) -> Parse<Done> {
        let condition = self.operand()?;
        let condition = self.typed(condition, Some(Type::BOOL))?;
        let span = self.header_span(head);
        let results = self.written_types(head.op, names)?;
        let (then, _) = self.inner(Enclosing::Arm(results.clone()), &[], "after the condition")?;
        let otherwise = if self.cursor.eat_word("else") {
            self.inner(Enclosing::Arm(results.clone()), &[], "after `else`")?.0
        } else {
            self.no_else(&results, span)?
        };
        let inst = Inst::new(head.op, None, &[condition], span);
        Ok(self.append(Inst { regions: Regions::from_slice(&[then, otherwise]), ..inst }, &results))
    }

    /// The second region of an `if` that has only one.
    fn no_else(&mut self, results: &[Type], span: Span) -> Parse<RegionId> {
        if !results.is_empty() {
            let message = "an `if` with results has an `else`";
            return self.cursor.fail(
                Code::IrRegion,
                span,
                message,
                "what is the result if the condition does not hold?",
            );
        }
        let region = self.builder.new_region(&[]);
        self.builder.span = span;
        self.builder.within(region, |b| b.end(Op::Yield, &[]));
        Ok(region)
    }

    fn switch(&mut self, head: Head, names: &[Named<'a>]) -> Parse<Done> {
        let value = self.operand()?;
        let Some(ty) = head.ty.or_else(|| self.known(&value)) else {
            let hint = "write the type after it: `switch.u32`";
            return self.cursor.fail(Code::IrUntyped, head.span, "nothing determines the type of `switch`", hint);
        };
        let value = self.typed(value, Some(ty))?;
        let span = self.header_span(head);
        let results = self.written_types(head.op, names)?;
        let scalar = ty.element().unwrap_or(Scalar::I64);
        let (mut regions, mut cases) = (vec![], vec![]);
        while self.cursor.eat_word("case") {
            cases.push(self.cursor.list(|cursor| cursor.literal_of(scalar).map(|bits| signed(bits, scalar)))?);
            regions.push(self.inner(Enclosing::Arm(results.clone()), &[], "after the cases")?.0);
        }
        if !self.cursor.eat_word("default") {
            return self.cursor.unexpected("`case` or `default`");
        }
        regions.push(self.inner(Enclosing::Arm(results.clone()), &[], "after `default`")?.0);
        let inst = Inst::new(head.op, Some(ty), &[value], span);
        Ok(self.append(Inst { regions: regions.into(), attrs: vec![Attr::Cases(cases)], ..inst }, &results))
    }

    fn repeat(&mut self, head: Head, names: &[Named<'a>]) -> Parse<Done> {
        let carried = self.carried()?;
        let params: Vec<Type> = carried.iter().filter_map(|c| c.name.ty).collect();
        let mut initial = vec![];
        for c in &carried {
            initial.push(self.typed(c.initial, c.name.ty)?);
        }
        let unroll = self.cursor.eat_word("unroll");
        let span = self.header_span(head);
        // Names without types take the parameters' types; a loop without names may give anything.
        let like_params = names.is_empty() || (names.len() == params.len() && names.iter().all(|n| n.ty.is_none()));
        let results = if like_params { params.clone() } else { self.written_types(head.op, names)? };
        let named = !names.is_empty();
        let frame = LoopFrame { params: params.clone(), results, named, has_while: false, breaks: None };
        let names_of_params: Vec<Named<'a>> = carried.iter().map(|c| c.name).collect();
        let (region, frame) = self.inner(Enclosing::Loop(frame), &names_of_params, "before the loop's body")?;
        let Enclosing::Loop(frame) = frame else { return Err(self.cursor.reported()) };
        let results = match (named, frame.has_while) {
            (true, _) => frame.results,
            (false, true) => params,
            (false, false) => frame.breaks.unwrap_or_default(),
        };
        let attrs = if unroll { vec![Attr::Unroll] } else { vec![] };
        let inst = Inst::new(head.op, None, &initial, span);
        Ok(self.append(Inst { regions: Regions::from_slice(&[region]), attrs, ..inst }, &results))
    }

    /// `(%i: u32 = 0, ..)` or nothing.
    fn carried(&mut self) -> Parse<Vec<Carried<'a>>> {
        let mut carried = vec![];
        if !self.cursor.eat(b'(') {
            return Ok(carried);
        }
        loop {
            let (name, span) = self.cursor.name(Kind::Value, "a parameter such as `%i: u32 = 0`")?;
            self.cursor.expect(b':', "and a type after the parameter's name")?;
            let ty = Some(self.cursor.ty()?);
            self.cursor.expect(b'=', "after the parameter's type")?;
            let initial = self.operand()?;
            carried.push(Carried { name: Named { name, span, ty }, initial });
            if !self.cursor.eat(b',') {
                self.cursor.expect(b')', "after the loop's parameters")?;
                return Ok(carried);
            }
        }
    }

    /// `tile.reduce %x, %y axis(1) (%a: f32, %b: i32, %c: f32, %d: i32) { .. }`.
    fn by_element(&mut self, head: Head, names: &[Named<'a>]) -> Parse<Done> {
        let operands = self.operands()?;
        let attrs = self.cursor.attributes(head.op)?;
        let values = self.typed_all((head.op.name(), head.span), &operands, &[], false)?;
        self.cursor.expect(b'(', "before the names of elements")?;
        let params = self.cursor.list(|cursor| {
            let (name, span) = cursor.name(Kind::Value, "an element's name such as `%a: f32`")?;
            cursor.expect(b':', "and a type after the element's name")?;
            Ok(Named { name, span, ty: Some(cursor.ty()?) })
        })?;
        self.cursor.expect(b')', "after the names of elements")?;
        let span = self.header_span(head);
        let first = values.first().map(|v| self.builder.ty(*v)).and_then(Type::shape);
        let mut inst = Inst::new(head.op, None, &values, span);
        attrs.into_iter().for_each(|attr| inst.set(attr));
        let less = |shape: Shape| shape.without(inst.axis() as usize);
        let shape = if head.op == Op::TileReduce { first.and_then(less) } else { first };
        let results: Vec<Type> = if head.op == Op::TileMap {
            self.written_types(head.op, names)?
        } else {
            let elements = inst.operands.iter().filter_map(|v| self.builder.ty(*v).element());
            elements.map(|element| Type::block(shape, element)).collect()
        };
        let elements = results.iter().filter_map(|ty| ty.element()).map(Type::Scalar).collect();
        let (region, _) = self.inner(Enclosing::Arm(elements), &params, "after the names of elements")?;
        inst.regions = [region].into_iter().collect();
        Ok(self.append(inst, &results))
    }

    fn call(&mut self, head: Head) -> Parse<Done> {
        let (name, span) = self.cursor.name(Kind::Function, "the function's name")?;
        let callee = self.signatures.functions.find(self.cursor, "function", name, span);
        self.cursor.expect(b'(', "after the function's name")?;
        let operands = if self.cursor.at_sign(b')') { Operands::default() } else { self.arguments()? };
        self.cursor.expect(b')', "after the arguments")?;
        let Some(callee) = callee? else { return Err(self.cursor.reported()) };
        let signature = &self.signatures.rows[callee];
        let what = format!("@{name}");
        let values = self.typed_all((&what, span), &operands, &signature.params, true)?;
        let span = self.header_span(head);
        let inst = Inst::new(head.op, None, &values, span);
        let results = match head.op {
            Op::Fork => vec![Type::Token],
            Op::Tail => vec![],
            Op::Call => signature.results.clone(),
            other => unreachable!("`{}` is not written like a call", other.name()),
        };
        Ok(self.append(Inst { attrs: vec![Attr::Callee(callee)], ..inst }, &results))
    }

    /// `join @f %token`.
    fn join(&mut self, head: Head) -> Parse<Done> {
        let (name, span) = self.cursor.name(Kind::Function, "the name of the function that was forked")?;
        let callee = self.signatures.functions.find(self.cursor, "function", name, span);
        let token = self.operand()?;
        let token = self.typed(token, Some(Type::Token))?;
        let Some(callee) = callee? else { return Err(self.cursor.reported()) };
        let inst = Inst::new(head.op, None, &[token], self.header_span(head));
        Ok(self.append(Inst { attrs: vec![Attr::Callee(callee)], ..inst }, &self.signatures.rows[callee].results))
    }

    /// `cell.new @node %a, 3` and the other operations on cells of a layout.
    fn cell(&mut self, head: Head) -> Parse<Done> {
        let (name, span) = self.cursor.name(Kind::Function, "the name of a layout")?;
        let layout = self.signatures.layouts.find(self.cursor, "layout", name, span);
        let operands = self.operands()?;
        let mut attrs = self.cursor.attributes(head.op)?;
        let Some(layout) = layout? else { return Err(self.cursor.reported()) };
        let fields = &self.signatures.fields[layout];
        let first = before_fields(head.op);
        let fills = matches!(head.op, Op::CellNew | Op::CellFill);
        let asked: Vec<Type> = if fills { first.iter().chain(fields).copied().collect() } else { first.to_vec() };
        let values = self.typed_all((head.op.name(), head.span), &operands, &asked, true)?;
        let mut inst = Inst::new(head.op, head.ty, &values, self.header_span(head));
        attrs.push(Attr::Cell(layout));
        attrs.into_iter().for_each(|attr| inst.set(attr));
        let results = match head.op {
            Op::CellGet => {
                inst.ty = inst.ty.or_else(|| fields.get(inst.field() as usize).copied());
                inst.ty.into_iter().collect()
            }
            Op::CellOpen => [Type::Term].iter().chain(fields).copied().collect(),
            Op::CellNew | Op::CellFill | Op::ChainGrow => vec![Type::Term],
            other => unreachable!("`{}` is not written with a layout", other.name()),
        };
        Ok(self.append(inst, &results))
    }

    /// `global.get @table`.
    fn global(&mut self, head: Head) -> Parse<Done> {
        let (name, span) = self.cursor.name(Kind::Function, "the name of a global")?;
        let Some(global) = self.signatures.globals.find(self.cursor, "global", name, span)? else {
            return Err(self.cursor.reported());
        };
        let inst = Inst::new(head.op, None, &[], self.header_span(head));
        Ok(self.append(Inst { attrs: vec![Attr::Global(global)], ..inst }, &[Type::Term]))
    }

    /// Operands that may start on a line of their own.
    fn arguments(&mut self) -> Parse<Operands<'a>> {
        let mut operands = Operands::default();
        loop {
            let operand = self.operand()?;
            operands.items.push(operand);
            if !self.cursor.eat(b',') {
                return Ok(operands);
            }
        }
    }

    /// The innermost loop that a jump can leave.
    fn innermost_loop(&mut self, head: Head) -> Parse<&mut LoopFrame> {
        let inside = self.frames.iter().rposition(|frame| !matches!(frame, Enclosing::Arm(_)));
        match inside.map(|i| &self.frames[i]) {
            Some(Enclosing::Loop(_)) => {}
            Some(Enclosing::Function(_) | Enclosing::Prologue | Enclosing::Arm(_)) | None => {
                let message = format!("`{}` is outside a loop", head.op.name());
                return self.cursor.fail(Code::IrRegion, head.span, message, "");
            }
        }
        match inside.and_then(|i| self.frames.get_mut(i)) {
            Some(Enclosing::Loop(frame)) => Ok(frame),
            _ => Err(self.cursor.reported()),
        }
    }

    fn while_next(&mut self, head: Head) -> Parse<Done> {
        let condition = self.operand()?;
        let next =
            if self.cursor.on_line() && self.cursor.eat_word("next") { self.operands()? } else { Operands::default() };
        let frame = self.innermost_loop(head)?;
        frame.has_while = true;
        let types = frame.params.clone();
        let mut values = vec![self.typed(condition, Some(Type::BOOL))?];
        values.extend(self.typed_all(("next", head.span), &next, &types, true)?);
        let span = self.header_span(head);
        Ok(self.append(Inst::new(head.op, None, &values, span), &[]))
    }

    fn jump(&mut self, head: Head) -> Parse<Done> {
        let operands = self.operands()?;
        let (types, exact) = self.jump_types(head)?;
        let values = self.typed_all((head.op.name(), head.span), &operands, &types, exact)?;
        if head.op == Op::Break {
            let given: Vec<Type> = values.iter().map(|v| self.builder.ty(*v)).collect();
            self.innermost_loop(head)?.breaks.get_or_insert(given);
        }
        let span = self.header_span(head);
        Ok(self.append(Inst::new(head.op, None, &values, span), &[]))
    }

    /// Of what types a jump's values are, and whether it has to give exactly these.
    fn jump_types(&mut self, head: Head) -> Parse<(Vec<Type>, bool)> {
        if head.op == Op::Break {
            let frame = self.innermost_loop(head)?;
            return Ok((frame.results.clone(), frame.named));
        }
        if head.op == Op::Continue {
            return Ok((self.innermost_loop(head)?.params.clone(), true));
        }
        let (outermost, innermost) = (self.frames.first(), self.frames.last());
        let message = match (head.op, outermost, innermost) {
            (Op::Return, Some(Enclosing::Function(results)), _) => return Ok((results.clone(), true)),
            (Op::Return, ..) => "a `launch` region ends with `grid`",
            (Op::Grid, _, Some(Enclosing::Prologue)) => return Ok((vec![Type::U32; 3], true)),
            (Op::Grid, ..) => "`grid` ends a kernel's `launch` region",
            (Op::Yield, _, Some(Enclosing::Arm(results))) => return Ok((results.clone(), true)),
            (Op::Yield, ..) => "`yield` ends a region of an `if` or a `switch`",
            (other, ..) => unreachable!("`{}` is no jump with values", other.name()),
        };
        self.cursor.fail(Code::IrRegion, head.span, message, "")
    }
}

/// A case's value as the table keeps it.
fn signed(bits: u64, ty: Scalar) -> i64 {
    let unused = 64 - ty.bits();
    if ty.is_signed() { ((bits << unused) as i64) >> unused } else { bits as i64 }
}

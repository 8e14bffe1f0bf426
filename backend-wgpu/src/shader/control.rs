//! Regions: `if`, `switch`, `loop`, their terminators, and calls.
//!
//! What regions yield and what loops carry goes through locals. Values are computed before any of these locals is written, so
//! that the assignment is parallel: a loop that swaps two values needs nothing special.
//!
//! In a shading language `break` leaves a `switch`. A `break` of the IR that stands in a switch raises a flag, leaves the switch, and
//! is repeated after it.

use super::types;
use super::writer::{Expr, ShaderWriter};
use super::{error, writer};
use girih_base::diag::Diagnostic;
use girih_ir::{Inst, Op, RegionId, Scalar, Type, ValueId};
use naga::{BinaryOperator, Expression, Handle, Literal, Statement, StructMember, SwitchCase, SwitchValue, TypeInner};

/// What a terminator refers to.
#[derive(Debug)]
pub enum JumpTarget {
    /// An `if` or `switch`: where what it yields goes.
    Yield(Vec<Expr>),
    /// A loop.
    Loop(Loop),
}

/// A loop whose body is being written.
#[derive(Debug)]
pub struct Loop {
    /// Where the next iteration's parameters go.
    params: Vec<Expr>,
    /// Where the results go. The same places, if a `while` gives the parameters as results.
    results: Vec<Expr>,
    /// How many switches of the shading language stand around the place, inside of the loop.
    switches: u32,
    /// Raised to leave the loop from inside a switch.
    flag: Option<Expr>,
    /// Whether a switch that is being written raises the flag.
    raised: bool,
}

impl ShaderWriter<'_, '_> {
    pub(super) fn if_else(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let condition = self.one(inst.operands[0])?;
        let places = self.places(&inst.results)?;
        self.frames.push(JumpTarget::Yield(places.clone()));
        let accept = self.block(|w| w.region(inst.regions[0]))?;
        let reject = match inst.regions.get(1) {
            Some(region) => self.block(|w| w.region(*region))?,
            None => naga::Block::new(),
        };
        self.frames.pop();
        self.statement(Statement::If { condition, accept, reject });
        self.take(&inst.results, &places)
    }

    pub(super) fn switch(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let selector = self.one(inst.operands[0])?;
        let places = self.places(&inst.results)?;
        self.frames.push(JumpTarget::Yield(places.clone()));
        match inst.element() {
            Scalar::U32 => self.native_switch(inst, selector, |v| SwitchValue::U32(v as u32))?,
            Scalar::I32 => self.native_switch(inst, selector, |v| SwitchValue::I32(v as i32))?,
            element => self.chain(inst, selector, element)?,
        }
        self.frames.pop();
        self.take(&inst.results, &places)
    }

    fn native_switch(
        &mut self,
        inst: &Inst,
        selector: Expr,
        value: impl Fn(i64) -> SwitchValue,
    ) -> Result<(), Diagnostic> {
        let outer = self.innermost().map(|l| {
            l.switches += 1;
            std::mem::take(&mut l.raised)
        });
        let mut cases = vec![];
        for (values, region) in inst.cases().iter().zip(&inst.regions) {
            let Some((last, first)) = values.split_last() else { continue };
            let fall = |v: &i64| SwitchCase { value: value(*v), body: naga::Block::new(), fall_through: true };
            cases.extend(first.iter().map(fall));
            let body = self.block(|w| w.region(*region))?;
            cases.push(SwitchCase { value: value(*last), body, fall_through: false });
        }
        let default =
            inst.regions.last().copied().ok_or_else(|| error::internal(self.span, "a switch has no default"))?;
        let body = self.block(|w| w.region(default))?;
        cases.push(SwitchCase { value: SwitchValue::Default, body, fall_through: false });
        // A shading language may take a constant for a mistake.
        let selector = self.at_run_time(selector);
        self.statement(Statement::Switch { selector, cases });
        let flag = self.innermost().and_then(|l| {
            l.switches -= 1;
            let raised = l.raised;
            l.raised = outer == Some(true) || (raised && l.switches > 0);
            l.flag.filter(|_| raised)
        });
        if let Some(flag) = flag {
            let condition = self.load(flag);
            let accept = self.block(|w| {
                w.statement(Statement::Break);
                Ok(())
            })?;
            self.statement(Statement::If { condition, accept, reject: naga::Block::new() });
        }
        Ok(())
    }

    /// A switch on what a shading language cannot switch on, as comparisons.
    fn chain(&mut self, inst: &Inst, selector: Expr, element: Scalar) -> Result<(), Diagnostic> {
        self.links(inst, selector, element, 0)
    }

    fn links(&mut self, inst: &Inst, selector: Expr, element: Scalar, position: usize) -> Result<(), Diagnostic> {
        let cases = inst.cases();
        let Some(values) = cases.get(position) else { return self.region(inst.regions[position]) };
        let mut condition = None;
        for value in values {
            let literal = match types::constant(element, *value as u64 & element.mask(), self.span)? {
                types::Constant::Literal(literal) => self.literal(literal),
                types::Constant::Bits(..) | types::Constant::Narrowed(_) => {
                    return Err(error::internal(self.span, "a case is no integer"));
                }
            };
            let equal = self.binary(BinaryOperator::Equal, selector, literal);
            condition = Some(match condition {
                None => equal,
                Some(other) => self.binary(BinaryOperator::LogicalOr, other, equal),
            });
        }
        let Some(condition) = condition else { return self.links(inst, selector, element, position + 1) };
        let accept = self.block(|w| w.region(inst.regions[position]))?;
        let reject = self.block(|w| w.links(inst, selector, element, position + 1))?;
        self.statement(Statement::If { condition, accept, reject });
        Ok(())
    }

    pub(super) fn loop_(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let source = self.source;
        let region = inst.regions[0];
        let carried = &source.regions[region].params;
        let params = self.places(carried)?;
        self.assign(&params, &inst.operands)?;
        let shared = self.leaves_by_while(region);
        let results = if shared { params.clone() } else { self.places(&inst.results)? };
        self.frames.push(JumpTarget::Loop(Loop {
            params: params.clone(),
            results: results.clone(),
            switches: 0,
            flag: None,
            raised: false,
        }));
        let body = self.block(|w| {
            w.take(carried, &params)?;
            w.region(region)
        })?;
        if let Some(JumpTarget::Loop(Loop { flag: Some(flag), .. })) = self.frames.pop() {
            let no = self.literal(Literal::Bool(false));
            self.store(flag, no);
        }
        self.statement(Statement::Loop { body, continuing: naga::Block::new(), break_if: None });
        self.take(&inst.results, &results)
    }

    /// Whether a `while` belongs to the loop of this region.
    fn leaves_by_while(&self, region: RegionId) -> bool {
        self.source.regions[region].insts.iter().map(|id| &self.source.insts[*id]).any(|inst| {
            inst.op == Op::While || (inst.op != Op::Loop && inst.regions.iter().any(|r| self.leaves_by_while(*r)))
        })
    }

    pub(super) fn yield_(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        match self.frames.last() {
            Some(JumpTarget::Yield(places)) => {
                let places = places.clone();
                self.assign(&places, &inst.operands)
            }
            Some(JumpTarget::Loop(_)) | None => Err(error::internal(self.span, "`yield` is outside `if` and `switch`")),
        }
    }

    pub(super) fn break_(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let results = self.enclosing()?.results.clone();
        self.assign(&results, &inst.operands)?;
        self.leave()
    }

    pub(super) fn continue_(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        self.next(&inst.operands)
    }

    pub(super) fn while_(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let condition = self.one(inst.operands[0])?;
        let reject = self.block(Self::leave)?;
        self.statement(Statement::If { condition, accept: naga::Block::new(), reject });
        self.next(&inst.operands[1..])
    }

    pub(super) fn return_(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let mut parts = vec![];
        for operand in &inst.operands {
            parts.extend(self.parts(*operand)?);
        }
        let value = match (&parts[..], self.out.result.as_ref().map(|r| r.ty)) {
            ([only], Some(_)) => Some(*only),
            (_, Some(ty)) => Some(self.add(Expression::Compose { ty, components: parts })),
            (_, None) => None,
        };
        self.statement(Statement::Return { value });
        Ok(())
    }

    /// Starts the next iteration.
    fn next(&mut self, values: &[ValueId]) -> Result<(), Diagnostic> {
        let params = self.enclosing()?.params.clone();
        self.assign(&params, values)?;
        // At the end of the body it comes by itself.
        let at_end = matches!(self.frames.last(), Some(JumpTarget::Loop(_)));
        if !at_end {
            self.statement(Statement::Continue);
        }
        Ok(())
    }

    /// Leaves the innermost loop, whose results are stored already.
    fn leave(&mut self) -> Result<(), Diagnostic> {
        if self.enclosing()?.switches > 0 {
            let flag = match self.enclosing()?.flag {
                Some(flag) => flag,
                None => {
                    let ty = self.scalar_type(naga::Scalar::BOOL);
                    self.local(Some("leave".into()), ty, None)
                }
            };
            let frame = self.enclosing()?;
            (frame.flag, frame.raised) = (Some(flag), true);
            let yes = self.literal(Literal::Bool(true));
            self.store(flag, yes);
        }
        self.statement(Statement::Break);
        Ok(())
    }

    fn innermost(&mut self) -> Option<&mut Loop> {
        self.frames.iter_mut().rev().find_map(|f| match f {
            JumpTarget::Loop(l) => Some(l),
            JumpTarget::Yield(_) => None,
        })
    }
    fn enclosing(&mut self) -> Result<&mut Loop, Diagnostic> {
        let span = self.span;
        self.innermost().ok_or_else(|| error::internal(span, "a jump stands outside of every loop"))
    }

    /// Locals for values: one a scalar.
    fn places(&mut self, values: &[ValueId]) -> Result<Vec<Expr>, Diagnostic> {
        let mut places = vec![];
        for value in values {
            let value = &self.source.values[*value];
            let name = value.name.as_ref().map(ToString::to_string);
            for inner in self.scalars_of(value.ty)? {
                let ty = self.ty(inner);
                places.push(self.local(name.clone(), ty, None));
            }
        }
        Ok(places)
    }

    /// Stores values, all of which are computed before.
    fn assign(&mut self, places: &[Expr], values: &[ValueId]) -> Result<(), Diagnostic> {
        let mut parts = vec![];
        for value in values {
            parts.extend(self.parts(*value)?);
        }
        for (place, part) in places.iter().zip(parts) {
            self.store(*place, part);
        }
        Ok(())
    }

    /// Loads values from their places and defines them.
    fn take(&mut self, values: &[ValueId], places: &[Expr]) -> Result<(), Diagnostic> {
        let mut places = places.iter();
        for value in values {
            let count = self.scalars_of(self.source.ty(*value))?.len();
            let parts = places.by_ref().take(count).map(|p| self.load(*p)).collect();
            self.define(*value, parts);
        }
        Ok(())
    }

    pub(super) fn call(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        let id = inst.callee().ok_or_else(|| error::internal(self.span, "a call names no function"))?;
        let function = writer::callee(self.context, id)?;
        let mut arguments = vec![];
        for operand in &inst.operands {
            arguments.extend(self.parts(*operand)?);
        }
        let positions: Vec<_> = self.context.positions.of(id).collect();
        for position in positions {
            arguments.push(self.position(position)?);
        }
        if inst.results.is_empty() {
            self.statement(Statement::Call { function, arguments, result: None });
            return Ok(());
        }
        let call = |result| Statement::Call { function, arguments, result: Some(result) };
        let whole = self.result_of(Expression::CallResult(function), call);
        let types: Vec<Type> = inst.results.iter().map(|v| self.source.ty(*v)).collect();
        let mut counts = vec![];
        for ty in &types {
            counts.push(self.scalars_of(*ty)?.len());
        }
        let one = counts.iter().sum::<usize>() == 1;
        let mut index = 0;
        for (value, count) in inst.results.iter().zip(counts) {
            let parts = (index..index + count as u32)
                .map(|index| if one { whole } else { self.add(Expression::AccessIndex { base: whole, index }) })
                .collect();
            index += count as u32;
            self.define(*value, parts);
        }
        Ok(())
    }

    /// The type that a function returns: nothing, a scalar, or a structure of the scalars of all results.
    pub(super) fn result_type(&mut self, results: &[Type]) -> Result<Option<Handle<naga::Type>>, Diagnostic> {
        let mut inners = vec![];
        for ty in results {
            inners.extend(self.scalars_of(*ty)?);
        }
        match &inners[..] {
            [] => return Ok(None),
            [only] => return Ok(Some(self.ty(only.clone()))),
            _ => {}
        }
        let (mut offset, mut align, mut members) = (0, 1, vec![]);
        for (i, inner) in inners.into_iter().enumerate() {
            let width = match &inner {
                TypeInner::Scalar(s) => u32::from(s.width),
                _ => return Err(error::illegal(self.span, "functions that return fragments among other values")),
            };
            offset = u32::next_multiple_of(offset, width);
            let ty = self.ty(inner);
            members.push(StructMember { name: Some(format!("r{i}")), ty, binding: None, offset });
            (offset, align) = (offset + width, align.max(width));
        }
        let span = offset.next_multiple_of(align);
        let name = Some("Results".to_string());
        let ty = naga::Type { name, inner: TypeInner::Struct { members, span } };
        Ok(Some(self.context.out.types.insert(ty, naga::Span::UNDEFINED)))
    }
}

//! Branches and loops of the device: which variables they carry, and that these keep their types.

use super::assignments::{assigned, last_assignment, names};
use super::body::{Body, Made};
use super::pointer::{BlockPointer, Buffers, Pointer};
use super::statement::Flow;
use super::value::{Tensor, Value, long_name};
use crate::python::ast::{Expr, Stmt};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::{Inst, Op, RegionId, Scalar, Shape, Type, ValueId};
use std::sync::Arc;

/// Whether the elements of two tuples are the same ones.
fn all_are(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(b))
}

impl Value {
    /// The values of the device that it is made of, but not buffers.
    pub(super) fn parts(&self, out: &mut Vec<ValueId>) {
        match self {
            Value::Tensor(t) => out.push(t.value),
            Value::Pointer(p) => out.extend(p.which.into_iter().chain(p.index)),
            Value::Tuple(items) | Value::Named(_, items) | Value::Partial(_, items) => {
                items.iter().for_each(|item| item.parts(out));
            }
            Value::Block(b) => {
                out.extend(b.base.which.into_iter().chain(b.base.index));
                out.extend(b.lengths.iter().chain(&b.strides).chain(&b.offsets));
            }
            _known_when_compiled => {}
        }
    }

    /// The same, made of other values.
    pub(super) fn rebuilt(&self, parts: &mut impl Iterator<Item = ValueId>) -> Value {
        let mut list = |old: &[ValueId]| old.iter().map(|v| parts.next().unwrap_or(*v)).collect::<Vec<_>>();
        match self {
            Value::Tensor(t) => Value::Tensor(Tensor { value: parts.next().unwrap_or(t.value), ty: t.ty }),
            Value::Pointer(p) => {
                let which = list(p.which.as_slice()).pop();
                Value::Pointer(Pointer { which, index: list(p.index.as_slice()).pop(), ..*p })
            }
            Value::Tuple(items) | Value::Named(_, items) | Value::Partial(_, items) => {
                self.with_elements(items.iter().map(|item| item.rebuilt(parts)).collect())
            }
            Value::Block(b) => {
                let which = list(b.base.which.as_slice()).pop();
                let base = Pointer { which, index: list(b.base.index.as_slice()).pop(), ..b.base };
                let (lengths, strides, offsets) = (list(&b.lengths), list(&b.strides), list(&b.offsets));
                Value::Block(Box::new(BlockPointer {
                    base,
                    lengths,
                    strides,
                    offsets,
                    block: b.block.clone(),
                    padding: b.padding,
                }))
            }
            constant => constant.clone(),
        }
    }

    /// Whether two values are one and the same.
    fn is(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Tensor(a), Value::Tensor(b)) => a == b,
            (Value::Pointer(a), Value::Pointer(b)) => a == b,
            (Value::Block(a), Value::Block(b)) => a == b,
            (Value::Tuple(a), Value::Tuple(b)) => all_are(a, b),
            (Value::Named(class, a), Value::Named(other, b)) => Arc::ptr_eq(class, other) && all_are(a, b),
            (Value::Partial(partial, a), Value::Partial(other, b)) => Arc::ptr_eq(partial, other) && all_are(a, b),
            (a, b) => a.is_constant() && a.equals(b) == Some(true) && a.kind() == b.kind(),
        }
    }
}

impl Body<'_, '_> {
    /// The form that regions give and take: indices of pointers are `i64`.
    pub(super) fn canonical(&mut self, value: &Value) -> Value {
        match value {
            Value::Pointer(p) => {
                let index = self.wide_index(p);
                Value::Pointer(Pointer { index: Some(index), ..*p })
            }
            Value::Block(b) => {
                let index = self.wide_index(&b.base);
                let mut block = (**b).clone();
                block.base.index = Some(index);
                Value::Block(Box::new(block))
            }
            Value::Tuple(items) | Value::Named(_, items) | Value::Partial(_, items) => {
                value.with_elements(items.iter().map(|item| self.canonical(item)).collect())
            }
            other => other.clone(),
        }
    }

    /// A value that takes the place of another: of the same type, in the same form.
    pub(super) fn like_template(&mut self, template: &Value, value: Value, span: Span) -> Made<Value> {
        let value = self.canonical(&value);
        let wrong = |what: &str| {
            let message = format!("{what}: it was {}, and becomes {}", template.kind(), value.kind());
            let hint = match (template, &value) {
                // The usual mistakes of sums: `acc = 0`.
                (Value::Tensor(number), Value::Tensor(sum))
                    if number.ty == Type::I32 && sum.ty == Type::Scalar(Scalar::F32) =>
                {
                    "write it as a float from the beginning: `0.0`, not `0`".to_owned()
                }
                (Value::Tensor(number), Value::Tensor(tile)) if number.shape().is_none() && tile.shape().is_some() => {
                    let lengths = tile.shape().map_or(vec![], Shape::to_vec);
                    format!("begin with a tile: `tl.zeros({lengths:?}, tl.{})`", long_name(tile.element()))
                }
                _ => "convert it to its first type, with `.to(..)` or `tl.broadcast_to(..)`".to_owned(),
            };
            girih_base::diag::Diagnostic::new(Code::KernelCarried, span, message).hint(hint)
        };
        match (template, &value) {
            (Value::Tensor(t), Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
                let number = self.tensor_of_constant(&value, span)?;
                if number.ty != t.ty {
                    return Err(wrong("a variable changes its type"));
                }
                Ok(Value::Tensor(number))
            }
            (Value::Tensor(a), Value::Tensor(b)) if a.ty == b.ty => Ok(value),
            (Value::Pointer(a), Value::Pointer(b)) if a.dtype() == b.dtype() && a.role == b.role => {
                self.like_pointer(a, b, span).map(Value::Pointer)
            }
            (Value::Block(a), Value::Block(b)) if a.block == b.block && a.offsets.len() == b.offsets.len() => {
                let base = self.like_pointer(&a.base, &b.base, span)?;
                Ok(Value::Block(Box::new(BlockPointer { base, ..(**b).clone() })))
            }
            (Value::Tuple(a), Value::Tuple(b)) if a.len() == b.len() => {
                let items: Vec<Value> =
                    a.iter().zip(b.clone()).map(|(a, b)| self.like_template(a, b, span)).collect::<Made<_>>()?;
                Ok(Value::Tuple(items))
            }
            (Value::Named(class, a), Value::Named(other, b)) if Arc::ptr_eq(class, other) => {
                let items = a.iter().zip(b.clone()).map(|(a, b)| self.like_template(a, b, span));
                Ok(Value::Named(class.clone(), items.collect::<Made<_>>()?))
            }
            (a, b) if a.is_constant() && a.is(b) => Ok(value),
            (_, _) => Err(wrong("a variable changes its type")),
        }
    }

    /// A pointer that takes the place of another: among the same buffers.
    fn like_pointer(&mut self, template: &Pointer, pointer: &Pointer, span: Span) -> Made<Pointer> {
        let tile = self.chosen_by_element(template);
        if (tile || !self.chosen_by_element(pointer))
            && let Some(pointer) = self.among(*pointer, template.buffers, tile)
        {
            return Ok(pointer);
        }
        let buffers = self.common_buffers(template, pointer, span)?;
        self.wanted = Some((buffers, tile || self.chosen_by_element(pointer)));
        let hint = "branch with `if` around the accesses instead, or use one buffer and two offsets";
        self.fail(Code::KernelPointer, span, "a pointer changes its buffer while the kernel runs", hint)
    }

    /// A value whose pointers may point into the buffers of another, too, which takes its place.
    fn among_both(&mut self, value: &Value, other: &Value, span: Span) -> Made<Value> {
        match (value, other) {
            (Value::Pointer(a), Value::Pointer(b)) if a.dtype() == b.dtype() && a.role == b.role => {
                let tile = self.chosen_by_element(a) || self.chosen_by_element(b);
                let buffers = self.common_buffers(a, b, span)?;
                Ok(Value::Pointer(self.among(*a, buffers, tile).unwrap_or(*a)))
            }
            (Value::Block(a), Value::Block(b)) if a.base.pointee == b.base.pointee => {
                let buffers = self.common_buffers(&a.base, &b.base, span)?;
                let base = self.among(a.base, buffers, false).unwrap_or(a.base);
                Ok(Value::Block(Box::new(BlockPointer { base, ..(**a).clone() })))
            }
            (Value::Tuple(a), Value::Tuple(b)) if a.len() == b.len() => {
                let items = a.iter().zip(b).map(|(a, b)| self.among_both(a, b, span));
                Ok(Value::Tuple(items.collect::<Made<_>>()?))
            }
            (Value::Named(class, a), Value::Named(other, b)) if Arc::ptr_eq(class, other) => {
                let items = a.iter().zip(b).map(|(a, b)| self.among_both(a, b, span));
                Ok(Value::Named(class.clone(), items.collect::<Made<_>>()?))
            }
            (value, _) => Ok(value.clone()),
        }
    }

    fn in_region<T>(&mut self, region: RegionId, inside: impl FnOnce(&mut Self) -> Made<T>) -> Made<T> {
        let outer = std::mem::replace(&mut self.b.region, region);
        let guards = self.guards.len();
        let result = inside(self);
        self.guards.truncate(guards);
        self.b.region = outer;
        result
    }

    /// `if` on a condition of the device.
    pub(super) fn branch(&mut self, condition: ValueId, then: &[Stmt], otherwise: &[Stmt], span: Span) -> Made<Flow> {
        let mut changed = vec![];
        assigned(then, &mut changed);
        assigned(otherwise, &mut changed);
        let before = self.scope.clone();
        let mut regions = vec![];
        let mut flows = vec![];
        let mut scopes = vec![];
        for list in [then, otherwise] {
            let region = self.b.new_region(&[]);
            self.scope = before.clone();
            self.branches += 1;
            let flow = self.in_region(region, |body| body.statements(list))?;
            self.branches -= 1;
            regions.push(region);
            flows.push(flow);
            scopes.push(std::mem::take(&mut self.scope));
        }
        self.scope = before;
        let live: Vec<usize> = (0..2).filter(|i| flows[*i] == Flow::Next).collect();
        let mut given: Vec<Vec<ValueId>> = vec![vec![], vec![]];
        let mut merged = vec![];
        for name in changed {
            let known = |v: &&Value| !matches!(v, Value::Unknown(_));
            let found: Vec<Option<Value>> = live.iter().map(|i| scopes[*i].get(&name).filter(known).cloned()).collect();
            let value = match &found[..] {
                [] => continue,
                [None] | [None, None] => continue,
                [Some(one)] => {
                    let value = self.in_region(regions[live[0]], |body| Ok(body.canonical(one)))?;
                    value.parts(&mut given[live[0]]);
                    value
                }
                [Some(a), Some(b)] if a.is(b) && a.is_constant() => a.clone(),
                [Some(a), Some(b)] => self.merge(&name, (a, b), (&regions, &mut given), span)?,
                _one_branch => Value::Unknown("it is assigned in only one branch of an `if`".into()),
            };
            merged.push((name, value));
        }
        for i in &live {
            let values = std::mem::take(&mut given[*i]);
            self.in_region(regions[*i], |body| {
                body.b.end(Op::Yield, &values);
                Ok(())
            })?;
            given[*i] = values;
        }
        let types: Vec<Type> = live.first().map_or(vec![], |i| given[*i].iter().map(|v| self.b.ty(*v)).collect());
        let mut inst = Inst::new(Op::If, None, &[condition], span);
        inst.regions = regions.into_iter().collect();
        let id = self.b.push(inst, &types);
        if live.is_empty() {
            self.unreachable();
            return Ok(Flow::Returned);
        }
        let mut results = self.b.function.insts[id].results.clone().into_iter();
        for (name, value) in merged {
            let value = value.rebuilt(&mut results);
            self.scope.insert(name, value);
        }
        Ok(Flow::Next)
    }

    /// What a variable is behind both branches.
    fn merge(
        &mut self,
        name: &str,
        (a, b): (&Value, &Value),
        (regions, given): (&[RegionId], &mut [Vec<ValueId>]),
        span: Span,
    ) -> Made<Value> {
        let first = self.in_region(regions[0], |body| {
            let a = body.assignable(a.clone(), span)?;
            let a = body.canonical(&a);
            body.among_both(&a, b, span)
        })?;
        let second = self.in_region(regions[1], |body| {
            let b = body.assignable(b.clone(), span)?;
            body.like_template(&first, b, span)
        });
        let second = second.map_err(|mut d| {
            d.message = format!("`{name}` is not the same kind of value after both branches; {}", d.message);
            d
        })?;
        first.parts(&mut given[0]);
        second.parts(&mut given[1]);
        Ok(first)
    }

    /// Both choices of `a if c else b`, where the condition is of the device.
    pub(super) fn conditional(&mut self, condition: ValueId, then: &Expr, otherwise: &Expr, span: Span) -> Made<Value> {
        let regions: Vec<RegionId> = (0..2).map(|_| self.b.new_region(&[])).collect();
        self.branches += 1;
        let mut values = vec![];
        for (region, e) in regions.iter().zip([then, otherwise]) {
            values.push(self.in_region(*region, |body| body.expr(e))?);
        }
        self.branches -= 1;
        let mut given = vec![vec![], vec![]];
        let value = self.merge("this", (&values[0], &values[1]), (&regions, &mut given), span)?;
        for (region, values) in regions.iter().zip(&given) {
            self.in_region(*region, |body| {
                body.b.end(Op::Yield, values);
                Ok(())
            })?;
        }
        let types: Vec<Type> = given[0].iter().map(|v| self.b.ty(*v)).collect();
        let mut inst = Inst::new(Op::If, None, &[condition], span);
        inst.regions = regions.into_iter().collect();
        let id = self.b.push(inst, &types);
        let results = self.b.function.insts[id].results.clone();
        Ok(value.rebuilt(&mut results.into_iter()))
    }

    /// Variables that a loop changes, with what they are before it.
    fn carried(&mut self, list: &[Stmt], span: Span) -> Made<Vec<(String, Value)>> {
        let mut changed = vec![];
        assigned(list, &mut changed);
        let mut out = vec![];
        for name in changed {
            // What is not known before the loop is of no iteration but its own.
            let before = self.scope.get(&name).filter(|v| !matches!(v, Value::Unknown(_)));
            if let Some(value) = before.cloned() {
                let value = self.assignable(value, span)?;
                let mut value = self.canonical(&value);
                let wider = self.widened.iter().rev().find(|(at, of, _)| *at == span && *of == name);
                if let Some((.., buffers)) = wider.cloned() {
                    value = self.widen(&value, buffers);
                }
                out.push((name, value));
            }
        }
        Ok(out)
    }

    /// Writes a loop, once more if a variable that it carries turns out to be a pointer into more buffers than it was before the loop.
    fn settled<T>(&mut self, mut write: impl FnMut(&mut Self) -> Made<T>) -> Made<T> {
        loop {
            let (known, scope) = (self.widened.clone(), self.scope.clone());
            let (branches, loops, depth, notes) =
                (self.branches, self.loops, self.module.depth, self.module.notes.len());
            let written = write(self);
            if written.is_ok() || self.widened == known {
                return written;
            }
            (self.scope, self.branches, self.loops, self.module.depth) = (scope, branches, loops, depth);
            self.module.notes.truncate(notes);
        }
    }

    /// The same value, whose pointers may point into these buffers, too.
    fn widen(&mut self, value: &Value, (buffers, tile): (Buffers, bool)) -> Value {
        let wide = |body: &mut Self, p: &Pointer| {
            let tile = tile && p.shape.is_some();
            body.among(*p, buffers, tile).unwrap_or(*p)
        };
        match value {
            Value::Pointer(p) => Value::Pointer(wide(self, p)),
            Value::Block(b) => Value::Block(Box::new(BlockPointer { base: wide(self, &b.base), ..(**b).clone() })),
            Value::Tuple(items) | Value::Named(_, items) | Value::Partial(_, items) => {
                value.with_elements(items.iter().map(|item| self.widen(item, (buffers, tile))).collect())
            }
            other => other.clone(),
        }
    }

    pub(super) fn for_loop(&mut self, target: &Expr, iterable: &Expr, list: &[Stmt], span: Span) -> Made<Flow> {
        self.settled(|body| body.for_loop_once(target, iterable, list, span))
    }

    pub(super) fn while_loop(&mut self, condition: &Expr, list: &[Stmt], span: Span) -> Made<()> {
        self.settled(|body| body.while_loop_once(condition, list, span))
    }

    fn for_loop_once(&mut self, target: &Expr, iterable: &Expr, list: &[Stmt], span: Span) -> Made<Flow> {
        let value = self.loop_range(iterable)?;
        let [start, end, step] = match value {
            LoopOver::Each(items) => return self.unrolled(target, items, list),
            LoopOver::Range(bounds) => *bounds,
        };
        let mut scalar = Scalar::I32;
        for bound in [&start, &end, &step] {
            let tensor = self.tensor(bound, iterable.span)?;
            if tensor.shape().is_some() || tensor.element().is_float() {
                let message = format!("a range counts integers, not {}", bound.kind());
                let hint = "`//` divides integers, and `.to(tl.int32)` makes one of a float";
                return self.fail(Code::KernelType, iterable.span, message, hint);
            }
            if tensor.element().bits() > 32 {
                scalar = Scalar::I64;
            }
        }
        let down = matches!(step, Value::Int(n) if n < 0);
        if let Value::Int(0) = step {
            return self.fail(Code::KernelArgument, iterable.span, "a range cannot have steps of 0", "");
        }
        let start = self.tensor_as(&start, scalar, iterable.span)?.value;
        let end = self.tensor_as(&end, scalar, iterable.span)?.value;
        let step = self.tensor_as(&step, scalar, iterable.span)?.value;
        let carried = self.carried(list, span)?;
        let mut initial = vec![start];
        carried.iter().for_each(|(_, value)| value.parts(&mut initial));
        let types: Vec<Type> = initial.iter().map(|v| self.b.ty(*v)).collect();
        let region = self.b.new_region(&types);
        let params = self.b.function.regions[region].params.clone();
        let before = self.scope.clone();
        self.loops += 1;
        self.in_region(region, |body| {
            let counter = params[0];
            let over = body.b.op(if down { Op::Le } else { Op::Ge }, scalar, &[counter, end]);
            body.leave_if(over, &params[1..]);
            body.enter(&carried, &params[1..]);
            let counted = Tensor { value: counter, ty: Type::Scalar(scalar) };
            body.assign(target, Value::Tensor(counted))?;
            body.statements(list)?;
            let mut next = vec![body.b.op(Op::Add, scalar, &[counter, step])];
            body.next_values(&carried, &mut next, (list, span))?;
            body.b.end(Op::Continue, &next);
            Ok(())
        })?;
        self.loops -= 1;
        self.close_loop(region, initial, &types[1..], before, &carried, span);
        self.forget_own(list, Some(target));
        Ok(Flow::Next)
    }

    /// Leaves the loop with these values if a condition holds.
    fn leave_if(&mut self, condition: ValueId, values: &[ValueId]) {
        let values = values.to_vec();
        self.b.if_else(condition, &[], |b| b.end(Op::Break, &values), |b| b.end(Op::Yield, &[]));
    }

    /// Gives the carried variables what the iteration begins with.
    fn enter(&mut self, carried: &[(String, Value)], params: &[ValueId]) {
        let mut params = params.iter().copied();
        for (name, value) in carried {
            let value = value.rebuilt(&mut params);
            self.scope.insert(name.clone(), value);
        }
    }

    /// What the next iteration begins with.
    fn next_values(
        &mut self,
        carried: &[(String, Value)],
        out: &mut Vec<ValueId>,
        (list, span): (&[Stmt], Span),
    ) -> Made<()> {
        for (name, first) in carried {
            let now = self.scope.get(name).cloned().unwrap_or(Value::None);
            self.wanted = None;
            let place = last_assignment(list, name).unwrap_or(span);
            let value = self.like_template(first, now, place);
            if let Some(wanted) = self.wanted.take() {
                let wider = (span, name.clone(), wanted);
                if !self.widened.contains(&wider) {
                    self.widened.push(wider);
                }
            }
            let value = value.map_err(|mut d| {
                let rest = d.message.strip_prefix("a variable changes its type: ").map(str::to_owned);
                let rest = rest.unwrap_or_else(|| d.message.clone());
                d.message = format!("`{name}` changes its type in this loop: {rest}");
                if place == span { d } else { d.label(span, "the loop carries it from one iteration to the next") }
            })?;
            value.parts(out);
        }
        Ok(())
    }

    fn close_loop(
        &mut self,
        region: RegionId,
        initial: Vec<ValueId>,
        types: &[Type],
        before: std::collections::HashMap<String, Value>,
        carried: &[(String, Value)],
        span: Span,
    ) {
        let mut inst = Inst::new(Op::Loop, None, &initial, span);
        inst.regions = [region].into_iter().collect();
        let id = self.b.push(inst, types);
        let results = self.b.function.insts[id].results.clone();
        self.scope = before;
        self.enter(carried, &results);
    }

    /// What a loop alone assigns has no value behind it: the loop may not run at all.
    fn forget_own(&mut self, list: &[Stmt], target: Option<&Expr>) {
        let mut own = vec![];
        assigned(list, &mut own);
        target.into_iter().for_each(|target| names(target, &mut own));
        // A name of the file keeps its meaning, as it does in Triton.
        let file = &self.module.files.files[self.file];
        own.retain(|name| file.meaning(name, u32::MAX).is_none());
        for name in own {
            let why = || Value::Unknown("it is assigned only in a loop, which may not run at all".into());
            self.scope.entry(name).or_insert_with(why);
        }
    }

    fn unrolled(&mut self, target: &Expr, items: Vec<Value>, list: &[Stmt]) -> Made<Flow> {
        for item in items {
            self.assign(target, item)?;
            if self.statements(list)? == Flow::Returned {
                return Ok(Flow::Returned);
            }
        }
        Ok(Flow::Next)
    }

    fn while_loop_once(&mut self, condition: &Expr, list: &[Stmt], span: Span) -> Made<()> {
        let carried = self.carried(list, span)?;
        let mut initial = vec![];
        carried.iter().for_each(|(_, value)| value.parts(&mut initial));
        let types: Vec<Type> = initial.iter().map(|v| self.b.ty(*v)).collect();
        let region = self.b.new_region(&types);
        let params = self.b.function.regions[region].params.clone();
        let before = self.scope.clone();
        self.loops += 1;
        let runs = self.in_region(region, |body| {
            body.enter(&carried, &params);
            let value = body.expr(condition)?;
            if value.is_constant() {
                if !body.constant_bool(&value, "this condition", condition.span)? {
                    return Ok(false);
                }
                return body.fail(
                    Code::KernelSyntax,
                    condition.span,
                    "this loop never ends",
                    "a loop ends by its condition",
                );
            }
            let goes_on = body.condition(&value, condition.span)?;
            let over = body.b.op(Op::Not, Scalar::Bool, &[goes_on]);
            body.leave_if(over, &params);
            body.statements(list)?;
            let mut next = vec![];
            body.next_values(&carried, &mut next, (list, span))?;
            body.b.end(Op::Continue, &next);
            Ok(true)
        })?;
        self.loops -= 1;
        if runs {
            self.close_loop(region, initial, &types, before, &carried, span);
            self.forget_own(list, None);
        } else {
            self.scope = before;
        }
        Ok(())
    }
}

/// What a `for` walks.
pub(super) enum LoopOver {
    /// Constants, one after another: the loop is written out.
    Each(Vec<Value>),
    /// Start, end, step.
    Range(Box<[Value; 3]>),
}

//! Writes a function, instruction by instruction. The verifier checks the result; the builder does not.

use super::attrs::{Attr, Dim};
use super::function::{Def, Function, FunctionId, Inst, InstId, Region, RegionId, Value, ValueId};
use super::heap::{GlobalId, LayoutId};
use super::ops::{Op, Pattern};
use super::types::{Scalar, Shape, Type};
use girih_base::span::Span;

/// A function under construction, and the region where the next instruction goes.
#[derive(Debug)]
pub struct Builder {
    /// The function so far.
    pub function: Function,
    /// Where the next instruction goes.
    pub region: RegionId,
    /// The place that new instructions are said to come from.
    pub span: Span,
}

impl Builder {
    /// Goes on at the end of a function's body.
    pub fn new(function: Function) -> Builder {
        let region = function.body;
        Builder { function, region, span: Span::NONE }
    }

    /// Type of a value.
    pub fn ty(&self, value: ValueId) -> Type {
        self.function.ty(value)
    }
    /// A constant of any scalar type.
    pub fn constant(&mut self, ty: Scalar, bits: u64) -> ValueId {
        self.function.constant(ty.into(), bits)
    }
    /// A `u32` constant.
    pub fn u32(&mut self, value: u32) -> ValueId {
        self.constant(Scalar::U32, u64::from(value))
    }
    /// An `f32` constant.
    pub fn f32(&mut self, value: f32) -> ValueId {
        self.constant(Scalar::F32, u64::from(value.to_bits()))
    }
    /// A truth value.
    pub fn bool(&mut self, value: bool) -> ValueId {
        self.constant(Scalar::Bool, u64::from(value))
    }

    /// A value of all zero bits; for what has none (tokens), a `u32` 0 that the verifier refuses.
    pub fn zero(&mut self, ty: Type) -> ValueId {
        let zero = self.constant(ty.element().unwrap_or(Scalar::U32), 0);
        match ty {
            Type::Vector(..) | Type::Regs(..) => self.op(Op::Splat, ty, &[zero]),
            Type::Coop(..) => self.op(Op::CoopSplat, ty, &[zero]),
            Type::Tile(_) => self.op(Op::TileSplat, ty, &[zero]),
            Type::Scalar(_) | Type::Token | Type::Term | Type::Memory(_) => zero,
        }
    }

    /// Appends an instruction; its results get these types.
    pub fn push(&mut self, mut inst: Inst, results: &[Type]) -> InstId {
        let id = self.function.insts.next_id();
        inst.results.reserve_exact(results.len());
        for (i, ty) in (0..).zip(results) {
            inst.results.push(self.function.values.push(Value { ty: *ty, def: Def::Result(id, i), name: None }));
        }
        self.append(inst);
        id
    }
    /// Appends an instruction whose results are there.
    pub fn append(&mut self, inst: Inst) -> InstId {
        let id = self.function.insts.push(inst);
        self.function.regions[self.region].insts.push(id);
        id
    }

    /// Result types by the table, for operations whose row fixes them; `Rest` gives none.
    pub fn result_types(&self, op: Op, ty: Option<Type>, operands: &[ValueId]) -> Vec<Type> {
        let one = |p: &Pattern| match p {
            Pattern::T => ty,
            Pattern::Element => ty.and_then(Type::element).map(Type::Scalar),
            Pattern::Bool => Some(ty.map_or(Type::BOOL, Type::truth)),
            Pattern::Block => ty.and_then(Type::half),
            Pattern::U32 | Pattern::Index => Some(Type::U32),
            Pattern::Ballot => Some(Type::Vector(Scalar::U32, 4)),
            Pattern::Mask => ty.map(|ty| ty.with_element(Scalar::U32)),
            Pattern::First => operands.first().map(|v| self.ty(*v)),
            Pattern::Token => Some(Type::Token),
            Pattern::Term => Some(Type::Term),
            Pattern::Rest
            | Pattern::Memory(_)
            | Pattern::Source
            | Pattern::Aggregate
            | Pattern::Fragment
            | Pattern::Parts
            | Pattern::AnyBlock
            | Pattern::Indices
            | Pattern::Inside
            | Pattern::Filler => None,
        };
        op.row().results.iter().filter_map(one).collect()
    }

    /// Appends an operation with attributes and gives its results.
    pub fn op_with(&mut self, op: Op, ty: Option<Type>, operands: &[ValueId], attrs: &[Attr]) -> InstId {
        let results = self.result_types(op, ty, operands);
        let mut inst = Inst::new(op, ty, operands, self.span);
        attrs.iter().for_each(|a| inst.set(a.clone()));
        self.push(inst, &results)
    }

    /// Appends an operation of one result.
    ///
    /// # Panics
    /// If the operation's row does not give exactly one result: a mistake of the caller.
    pub fn op(&mut self, op: Op, ty: impl Into<Type>, operands: &[ValueId]) -> ValueId {
        let id = self.op_with(op, Some(ty.into()), operands, &[]);
        self.function.insts[id].results[0]
    }

    /// A position in the launch.
    pub fn position(&mut self, op: Op, dim: Dim) -> ValueId {
        let id = self.op_with(op, None, &[], &[Attr::Dim(dim)]);
        self.function.insts[id].results[0]
    }
    /// Reads `memory[index]`.
    pub fn load(&mut self, ty: impl Into<Type>, memory: ValueId, index: ValueId) -> ValueId {
        self.op(Op::Load, ty, &[memory, index])
    }
    /// Writes `memory[index]`.
    pub fn store(&mut self, ty: impl Into<Type>, memory: ValueId, index: ValueId, value: ValueId) {
        self.op_with(Op::Store, Some(ty.into()), &[memory, index, value], &[]);
    }
    /// Calls a function of these result types.
    pub fn call(&mut self, callee: FunctionId, results: &[Type], operands: &[ValueId]) -> Vec<ValueId> {
        let mut inst = Inst::new(Op::Call, None, operands, self.span);
        inst.set(Attr::Callee(callee));
        let id = self.push(inst, results);
        self.function.insts[id].results.to_vec()
    }
    /// Appends a terminator (or any operation without suffix and results).
    pub fn end(&mut self, op: Op, operands: &[ValueId]) {
        self.op_with(op, None, operands, &[]);
    }

    /// Appends an operation with one attribute whose results are of these types.
    fn with(&mut self, op: Op, ty: Option<Type>, attr: Attr, operands: &[ValueId], results: &[Type]) -> Vec<ValueId> {
        let mut inst = Inst::new(op, ty, operands, self.span);
        inst.set(attr);
        let id = self.push(inst, results);
        self.function.insts[id].results.to_vec()
    }
    /// A new cell.
    pub fn cell_new(&mut self, layout: LayoutId, fields: &[ValueId]) -> ValueId {
        self.with(Op::CellNew, None, Attr::Cell(layout), fields, &[Type::Term])[0]
    }
    /// Reads a field, which is of this type.
    pub fn cell_get(&mut self, ty: Type, layout: LayoutId, field: u32, cell: ValueId) -> ValueId {
        let mut inst = Inst::new(Op::CellGet, Some(ty), &[cell], self.span);
        inst.set(Attr::Cell(layout));
        inst.set(Attr::Field(field));
        let id = self.push(inst, &[ty]);
        self.function.insts[id].results[0]
    }
    /// The number of a cell's layout.
    pub fn cell_layout(&mut self, cell: ValueId) -> ValueId {
        let id = self.op_with(Op::CellLayout, None, &[cell], &[]);
        self.function.insts[id].results[0]
    }
    /// Opens a cell whose fields are of these types: gives the reuse token and the fields.
    pub fn cell_open(&mut self, layout: LayoutId, fields: &[Type], cell: ValueId) -> (ValueId, Vec<ValueId>) {
        let types: Vec<Type> = [Type::Term].iter().chain(fields).copied().collect();
        let mut results = self.with(Op::CellOpen, None, Attr::Cell(layout), &[cell], &types);
        let fields = results.split_off(1);
        (results[0], fields)
    }
    /// A new cell in a reuse token.
    pub fn cell_fill(&mut self, layout: LayoutId, token: ValueId, fields: &[ValueId]) -> ValueId {
        let operands: Vec<ValueId> = [token].iter().chain(fields).copied().collect();
        self.with(Op::CellFill, None, Attr::Cell(layout), &operands, &[Type::Term])[0]
    }
    /// Gives a reuse token back.
    pub fn cell_free(&mut self, token: ValueId) {
        self.end(Op::CellFree, &[token]);
    }
    /// Two ownerships of one.
    pub fn share(&mut self, word: ValueId) -> (ValueId, ValueId) {
        let id = self.op_with(Op::TermShare, None, &[word], &[]);
        let results = &self.function.insts[id].results;
        (results[0], results[1])
    }
    /// Gives an ownership back.
    pub fn drop(&mut self, word: ValueId) {
        self.end(Op::TermDrop, &[word]);
    }
    /// Gives back a word that is known to name no cell.
    pub fn drop_flat(&mut self, word: ValueId) {
        self.op_with(Op::TermDrop, None, &[word], &[Attr::Flat]);
    }
    /// The reuse token that is none.
    pub fn no_reuse_token(&mut self) -> ValueId {
        let none = self.u32(0);
        self.pack(crate::heap::CELL, none)
    }
    /// The word of a tag, which is not that of cells, and a payload.
    pub fn pack(&mut self, tag: u32, payload: ValueId) -> ValueId {
        let tag = self.u32(tag);
        let id = self.op_with(Op::TermPack, None, &[tag, payload], &[]);
        self.function.insts[id].results[0]
    }
    /// The tag of a word.
    pub fn tag(&mut self, word: ValueId) -> ValueId {
        let id = self.op_with(Op::TermTag, None, &[word], &[]);
        self.function.insts[id].results[0]
    }
    /// The payload of a word.
    pub fn payload(&mut self, word: ValueId) -> ValueId {
        let id = self.op_with(Op::TermPayload, None, &[word], &[]);
        self.function.insts[id].results[0]
    }
    /// The value of a global.
    pub fn global_get(&mut self, global: GlobalId) -> ValueId {
        self.with(Op::GlobalGet, None, Attr::Global(global), &[], &[Type::Term])[0]
    }
    /// Forks a call; gives the token.
    pub fn fork(&mut self, callee: FunctionId, operands: &[ValueId]) -> ValueId {
        self.with(Op::Fork, None, Attr::Callee(callee), operands, &[Type::Token])[0]
    }
    /// Joins a forked call of a function of these result types.
    pub fn join(&mut self, callee: FunctionId, results: &[Type], token: ValueId) -> Vec<ValueId> {
        self.with(Op::Join, None, Attr::Callee(callee), &[token], results)
    }
    /// Ends the function with a call that takes no stack.
    pub fn tail(&mut self, callee: FunctionId, operands: &[ValueId]) {
        self.with(Op::Tail, None, Attr::Callee(callee), operands, &[]);
    }

    /// `tile.map`, `tile.reduce` or `tile.scan`: the region gets scalars (two of each operand for the last two) and gives those that it
    /// yields. Results are tiles of `shape`.
    pub fn by_element(
        &mut self,
        op: Op,
        attrs: &[Attr],
        operands: &[ValueId],
        shape: Option<Shape>,
        body: impl FnOnce(&mut Builder, &[ValueId]) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let elements = operands.iter().map(|v| Type::Scalar(self.ty(*v).element().unwrap_or(Scalar::U32)));
        let times = if op == Op::TileMap { 1 } else { 2 };
        let params: Vec<Type> = elements.clone().cycle().take(operands.len() * times).collect();
        let region = self.new_region(&params);
        let params = self.function.regions[region].params.clone();
        let yields = self.within(region, |b| {
            let yields = body(b, &params);
            b.end(Op::Yield, &yields);
            yields
        });
        let element = |v: &ValueId| self.ty(*v).element().unwrap_or(Scalar::U32);
        let results: Vec<Type> = yields.iter().map(|v| Type::block(shape, element(v))).collect();
        let mut inst = Inst::new(op, None, operands, self.span);
        attrs.iter().for_each(|a| inst.set(a.clone()));
        inst.regions = [region].into_iter().collect();
        let id = self.push(inst, &results);
        self.function.insts[id].results.to_vec()
    }
    /// A new region that nothing holds yet, with parameters of these types.
    pub fn new_region(&mut self, params: &[Type]) -> RegionId {
        let id = self.function.regions.push(Region::default());
        let params: Vec<ValueId> = (0..)
            .zip(params)
            .map(|(i, ty)| self.function.values.push(Value { ty: *ty, def: Def::Argument(id, i), name: None }))
            .collect();
        self.function.regions[id].params = params;
        id
    }
    /// Writes into a region by `body`, then goes on where it was.
    pub fn within<R>(&mut self, region: RegionId, body: impl FnOnce(&mut Builder) -> R) -> R {
        let outer = std::mem::replace(&mut self.region, region);
        let result = body(self);
        self.region = outer;
        result
    }
    /// An `if` of these result types; both arms end themselves (`yield`, `break`, ..).
    pub fn if_else(
        &mut self,
        condition: ValueId,
        results: &[Type],
        then: impl FnOnce(&mut Builder),
        otherwise: impl FnOnce(&mut Builder),
    ) -> Vec<ValueId> {
        let (a, b) = (self.new_region(&[]), self.new_region(&[]));
        self.within(a, then);
        self.within(b, otherwise);
        let mut inst = Inst::new(Op::If, None, &[condition], self.span);
        inst.regions.extend([a, b]);
        let id = self.push(inst, results);
        self.function.insts[id].results.to_vec()
    }
    /// A `loop` whose parameters start as `initial`; the body gets the parameters and ends itself.
    pub fn loop_with(
        &mut self,
        initial: &[ValueId],
        results: &[Type],
        body: impl FnOnce(&mut Builder, &[ValueId]),
    ) -> Vec<ValueId> {
        let types: Vec<Type> = initial.iter().map(|v| self.ty(*v)).collect();
        let region = self.new_region(&types);
        let params = self.function.regions[region].params.clone();
        self.within(region, |b| body(b, &params));
        let mut inst = Inst::new(Op::Loop, None, initial, self.span);
        inst.regions.extend([region]);
        let id = self.push(inst, results);
        self.function.insts[id].results.to_vec()
    }
}

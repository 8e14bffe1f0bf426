//! The state of writing one function, and what all parts of the code generator use: expressions and when they are computed,
//! locals, literals, blocks.
//!
//! naga computes an expression where an `Emit` statement lists it. [`ShaderWriter::add`] appends expressions, [`ShaderWriter::statement`] first
//! emits those that were added since, so that everything is computed in the order in which it was written.

use super::control::JumpTarget;
use super::layout::{Layout, Planned};
use super::nesting::{self, Nesting};
use super::positions::Position;
use super::shape::WorkgroupShape;
use super::storage::MemoryPlace;
use super::types::{self, Constant};
use super::{Context, Kernel, error};
use girih_base::diag::Diagnostic;
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::{Caps, Def, Function, FunctionId, Inst, InstId, Scalar, Type, ValueId};
use naga::{
    BinaryOperator, Binding, Block, Expression, FunctionArgument, Handle, Literal, LocalVariable, MathFunction,
    ScalarKind, ShaderStage, Statement, TypeInner, UnaryOperator,
};

/// An expression of the function that is written.
pub type Expr = Handle<Expression>;

/// What stands for a value of the IR.
#[derive(Clone, Debug)]
pub enum Value {
    /// A scalar or a fragment.
    One(Expr),
    /// The scalars of a vector or of `regs`.
    Many(Vec<Expr>),
}

/// Writes one function.
pub struct ShaderWriter<'c, 'a> {
    pub(super) context: &'c mut Context<'a>,
    pub(super) source: &'a Function,
    pub(super) out: naga::Function,
    pub(super) frames: Vec<JumpTarget>,
    /// Where the instruction that is written stands.
    pub(super) span: Span,
    pub(super) place: naga::Span,
    block: Block,
    /// The first expression that is not emitted yet.
    pending: Option<usize>,
    nesting: Nesting,
    values: IndexVec<ValueId, Option<Value>>,
    pub(super) memories: FastMap<ValueId, MemoryPlace>,
    positions: FastMap<Position, Expr>,
    literals: FastMap<(std::mem::Discriminant<Literal>, u64), Expr>,
    hidden: FastMap<(std::mem::Discriminant<Literal>, u64), Expr>,
}

/// Writes a kernel as an entry point.
pub fn kernel(context: &mut Context<'_>, id: FunctionId) -> Result<Kernel, Diagnostic> {
    let source = &context.source.functions[id];
    let launch = source.launch.as_ref().ok_or_else(|| error::internal(source.span, "a function is launched"))?;
    let Planned { layout, views } = Layout::plan(source, context.options.caps)?;
    let mut w = ShaderWriter::new(context, source);
    let shape = WorkgroupShape::of(launch.workgroup, w.context.positions.in_subgroups(id));
    w.ids(id, Some(&shape));
    w.buffers(&layout, views);
    w.scalars(&layout)?;
    w.body()?;
    let ShaderWriter { out: function, .. } = w;
    let entry = source.name.to_string();
    context.out.entry_points.push(naga::EntryPoint {
        name: entry.clone(),
        stage: ShaderStage::Compute,
        early_depth_test: None,
        workgroup_size: shape.entry(),
        workgroup_size_overrides: None,
        function,
        mesh_info: None,
        task_payload: None,
        incoming_ray_payload: None,
    });
    Ok(Kernel { entry, layout, workgroup: shape.entry() })
}

/// Writes a function that is called, unless that is done already.
pub fn callee(context: &mut Context<'_>, id: FunctionId) -> Result<Handle<naga::Function>, Diagnostic> {
    if let Some(handle) = context.functions.get(&id) {
        return Ok(*handle);
    }
    let source = &context.source.functions[id];
    let mut w = ShaderWriter::new(context, source);
    w.arguments()?;
    w.ids(id, None);
    w.result()?;
    w.body()?;
    let ShaderWriter { out: function, .. } = w;
    let place = context.places.note(source.span);
    let handle = context.out.functions.append(function, place);
    context.functions.insert(id, handle);
    Ok(handle)
}

impl<'c, 'a> ShaderWriter<'c, 'a> {
    fn new(context: &'c mut Context<'a>, source: &'a Function) -> Self {
        let out = naga::Function { name: Some(source.name.to_string()), ..naga::Function::default() };
        ShaderWriter {
            context,
            source,
            out,
            frames: vec![],
            span: source.span,
            place: naga::Span::UNDEFINED,
            block: Block::new(),
            pending: None,
            nesting: Nesting::default(),
            values: source.values.iter().map(|_| None).collect(),
            memories: FastMap::default(),
            positions: FastMap::default(),
            literals: FastMap::default(),
            hidden: FastMap::default(),
        }
    }

    pub(super) fn caps(&self) -> &'a Caps {
        self.context.options.caps
    }

    // Parameters.

    /// The ids that the function needs: as built-in arguments of an entry point, or as further arguments of a function.
    fn ids(&mut self, id: FunctionId, shape: Option<&WorkgroupShape>) {
        let needed: Vec<Position> = self.context.positions.of(id).collect();
        for position in needed {
            let value = match shape {
                Some(shape) => shape.position(self, position),
                None => self.argument(Some(position.name()), position.ty(), None),
            };
            self.positions.insert(position, value);
        }
    }

    /// An id of an entry point, as the device gives it; each is an argument once.
    pub(super) fn builtin(&mut self, position: Position) -> Expr {
        if let Some(known) = self.positions.get(&position) {
            return *known;
        }
        let id = self.argument(Some(position.name()), position.ty(), position.builtin().map(Binding::BuiltIn));
        self.positions.insert(position, id);
        id
    }

    fn argument(&mut self, name: Option<&str>, inner: TypeInner, binding: Option<Binding>) -> Expr {
        let ty = self.ty(inner);
        let index = self.out.arguments.len() as u32;
        self.out.arguments.push(FunctionArgument { name: name.map(str::to_string), ty, binding });
        self.add(Expression::FunctionArgument(index))
    }

    /// The parameters of a function that is called: a scalar each for the lanes of aggregates.
    fn arguments(&mut self) -> Result<(), Diagnostic> {
        for param in &self.source.params {
            let value = &self.source.values[*param];
            let parts = self.scalars_of(value.ty)?;
            let name = value.name.as_ref().map(ToString::to_string);
            let exprs = parts.iter().map(|s| self.argument(name.as_deref(), s.clone(), None)).collect();
            self.define(*param, exprs);
        }
        Ok(())
    }

    fn result(&mut self) -> Result<(), Diagnostic> {
        self.out.result = self.result_type(&self.source.results)?.map(|ty| naga::FunctionResult { ty, binding: None });
        Ok(())
    }

    // The body.

    fn body(&mut self) -> Result<(), Diagnostic> {
        self.locals_and_shared()?;
        self.region(self.source.body)?;
        self.flush();
        self.out.body = std::mem::take(&mut self.block);
        Ok(())
    }

    /// Writes the instructions of a region to the current block.
    pub(super) fn region(&mut self, region: girih_ir::RegionId) -> Result<(), Diagnostic> {
        let source = self.source;
        for id in &source.regions[region].insts {
            self.instruction(*id)?;
        }
        Ok(())
    }

    fn instruction(&mut self, id: InstId) -> Result<(), Diagnostic> {
        let source = self.source;
        let inst: &Inst = &source.insts[id];
        self.span = inst.span;
        self.place = self.context.places.note(inst.span);
        super::scalar::instruction(self, inst)
    }

    /// Writes a region to a block of its own.
    pub(super) fn block(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), Diagnostic>,
    ) -> Result<Block, Diagnostic> {
        self.flush();
        let outer = std::mem::take(&mut self.block);
        let place = (self.span, self.place);
        let result = write(self);
        self.flush();
        (self.span, self.place) = place;
        let inner = std::mem::replace(&mut self.block, outer);
        result.map(|()| inner)
    }

    /// Appends a statement, after the expressions that were added before it.
    pub(super) fn statement(&mut self, statement: Statement) {
        self.flush();
        self.block.push(statement, self.place);
    }

    fn flush(&mut self) {
        if let Some(start) = self.pending.take()
            && start < self.out.expressions.len()
        {
            let range = self.out.expressions.range_from(start);
            self.block.push(Statement::Emit(range), self.place);
        }
    }

    // Expressions.

    /// Appends an expression, to be computed here.
    pub(super) fn add(&mut self, expression: Expression) -> Expr {
        if expression.needs_pre_emit() {
            self.flush();
        } else if self.pending.is_none() {
            self.pending = Some(self.out.expressions.len());
        }
        self.append(expression)
    }

    fn append(&mut self, expression: Expression) -> Expr {
        let is_too_deep = self.nesting.append(&expression);
        let handle = self.out.expressions.append(expression, self.place);
        if is_too_deep {
            self.out.named_expressions.insert(handle, nesting::NAME.to_owned());
        }
        handle
    }

    /// Appends the expression that stands for the result of a statement, which computes it.
    pub(super) fn result_of(&mut self, expression: Expression, statement: impl FnOnce(Expr) -> Statement) -> Expr {
        self.flush();
        let result = self.append(expression);
        self.block.push(statement(result), self.place);
        result
    }

    pub(super) fn ty(&mut self, inner: TypeInner) -> Handle<naga::Type> {
        types::intern(&mut self.context.out.types, inner)
    }
    pub(super) fn scalar_type(&mut self, scalar: naga::Scalar) -> Handle<naga::Type> {
        self.ty(TypeInner::Scalar(scalar))
    }

    /// A literal, once in the function.
    pub(super) fn literal(&mut self, literal: Literal) -> Expr {
        let key = key(literal);
        if let Some(expr) = self.literals.get(&key) {
            return *expr;
        }
        let expr = self.add(Expression::Literal(literal));
        self.literals.insert(key, expr);
        expr
    }
    pub(super) fn u32(&mut self, value: u32) -> Expr {
        self.literal(Literal::U32(value))
    }

    /// A literal's value as something that is only known at run time: read from a local.
    pub(super) fn opaque(&mut self, literal: Literal) -> Expr {
        let key = key(literal);
        let pointer = match self.hidden.get(&key) {
            Some(pointer) => *pointer,
            None => {
                let init = self.literal(literal);
                let ty = self.scalar_type(literal.scalar());
                let local = LocalVariable { name: Some("constant".into()), ty, init: Some(init) };
                let local = self.out.local_variables.append(local, self.place);
                let pointer = self.add(Expression::LocalVariable(local));
                self.hidden.insert(key, pointer);
                pointer
            }
        };
        self.add(Expression::Load { pointer })
    }

    /// An operand that is not a constant expression, so that no compiler computes with it and refuses an overflow.
    pub(super) fn at_run_time(&mut self, expr: Expr) -> Expr {
        match self.out.expressions[expr] {
            Expression::Literal(literal) => self.opaque(literal),
            _ => expr,
        }
    }
    pub(super) fn is_constant(&self, expr: Expr) -> bool {
        types::is_constant(&self.out.expressions[expr])
    }
    /// The number of a `u32` literal.
    pub(super) fn as_u32(&self, expr: Expr) -> Option<u32> {
        match self.out.expressions[expr] {
            Expression::Literal(Literal::U32(n)) => Some(n),
            _ => None,
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOperator, left: Expr, right: Expr) -> Expr {
        let left = if self.is_constant(right) { self.at_run_time(left) } else { left };
        self.add(Expression::Binary { op, left, right })
    }
    pub(super) fn unary(&mut self, op: UnaryOperator, expr: Expr) -> Expr {
        let expr = self.at_run_time(expr);
        self.add(Expression::Unary { op, expr })
    }
    pub(super) fn math(&mut self, fun: MathFunction, args: &[Expr]) -> Expr {
        let arg = self.at_run_time(args[0]);
        let rest = |i: usize| args.get(i).copied();
        self.add(Expression::Math { fun, arg, arg1: rest(1), arg2: rest(2), arg3: rest(3) })
    }
    pub(super) fn select(&mut self, condition: Expr, accept: Expr, reject: Expr) -> Expr {
        self.add(Expression::Select { condition, accept, reject })
    }
    /// The number in another type.
    pub(super) fn convert(&mut self, expr: Expr, to: naga::Scalar) -> Expr {
        if to == naga::Scalar::F16 {
            // naga's WGSL enables `f16` where the module has it among its types, which a number that is nowhere kept need not be.
            self.scalar_type(to);
        }
        let expr = self.at_run_time(expr);
        self.add(Expression::As { expr, kind: to.kind, convert: Some(to.width) })
    }
    /// The bits as another type of the same width.
    pub(super) fn bitcast(&mut self, expr: Expr, from: naga::Scalar, to: naga::Scalar) -> Expr {
        if from == to {
            return expr;
        }
        let expr = self.at_run_time(expr);
        self.add(Expression::As { expr, kind: to.kind, convert: None })
    }

    // Locals.

    /// A local variable: the pointer to it.
    pub(super) fn local(&mut self, name: Option<String>, ty: Handle<naga::Type>, init: Option<Expr>) -> Expr {
        let local = self.out.local_variables.append(LocalVariable { name, ty, init }, self.place);
        self.add(Expression::LocalVariable(local))
    }
    pub(super) fn load(&mut self, pointer: Expr) -> Expr {
        self.add(Expression::Load { pointer })
    }
    pub(super) fn store(&mut self, pointer: Expr, value: Expr) {
        self.statement(Statement::Store { pointer, value });
    }

    // Values.

    /// The naga types of the scalars (or of the fragment) that stand for a type.
    pub(super) fn scalars_of(&mut self, ty: Type) -> Result<Vec<TypeInner>, Diagnostic> {
        match ty {
            Type::Scalar(s) | Type::Vector(s, _) | Type::Regs(s, _) => {
                let scalar = types::legal_scalar(s, self.span)?;
                Ok(vec![TypeInner::Scalar(scalar); ty.lanes() as usize])
            }
            Type::Coop(usage, shape, s) => Ok(vec![super::coop::fragment(usage, shape, s, self.span)?]),
            Type::Tile(_) | Type::Token | Type::Term | Type::Memory(_) => {
                Err(error::illegal(self.span, format!("values of type `{ty}`")))
            }
        }
    }

    /// Says which scalar stands for a value.
    pub(super) fn define_one(&mut self, value: ValueId, expr: Expr) {
        self.name(value, expr);
        self.values[value] = Some(Value::One(expr));
    }

    /// Says what stands for a value.
    pub(super) fn define(&mut self, value: ValueId, mut parts: Vec<Expr>) {
        let one = !matches!(self.source.ty(value), Type::Vector(..) | Type::Regs(..));
        self.values[value] = match parts.pop() {
            Some(only) if one && parts.is_empty() => return self.define_one(value, only),
            Some(last) => {
                parts.push(last);
                Some(Value::Many(parts))
            }
            None => Some(Value::Many(parts)),
        };
    }

    /// Keeps a value's name for those who read the text.
    fn name(&mut self, value: ValueId, expr: Expr) {
        if let Some(name) = &self.source.values[value].name
            && !self.out.expressions[expr].needs_pre_emit()
        {
            let known = self.out.named_expressions.entry(expr).or_insert_with(|| name.to_string());
            if known == nesting::NAME {
                *known = name.to_string();
            }
        }
    }

    /// The scalars that stand for a value.
    pub(super) fn parts(&mut self, value: ValueId) -> Result<Vec<Expr>, Diagnostic> {
        if let Some(known) = &self.values[value] {
            return Ok(match known {
                Value::One(expr) => vec![*expr],
                Value::Many(parts) => parts.clone(),
            });
        }
        Ok(vec![self.constant(value)?])
    }
    /// The scalar that stands for a value.
    pub(super) fn one(&mut self, value: ValueId) -> Result<Expr, Diagnostic> {
        if let Some(Value::One(expr)) = &self.values[value] {
            return Ok(*expr);
        }
        self.constant(value)
    }

    fn constant(&mut self, value: ValueId) -> Result<Expr, Diagnostic> {
        let Def::Constant(bits) = self.source.values[value].def else {
            return Err(error::internal(self.span, "a value is used that is not defined"));
        };
        let scalar = self.source.ty(value).element().unwrap_or(Scalar::U32);
        Ok(match types::constant(scalar, bits, self.span)? {
            Constant::Literal(literal) => self.literal(literal),
            Constant::Bits(literal, kind) => {
                let bits = self.opaque(literal);
                self.add(Expression::As { expr: bits, kind, convert: None })
            }
            Constant::Narrowed(bits) => {
                let bits = self.opaque(Literal::U32(bits));
                let wide = self.add(Expression::As { expr: bits, kind: ScalarKind::Float, convert: None });
                self.convert(wide, naga::Scalar::F16)
            }
        })
    }

    /// A whole id.
    pub(super) fn position(&mut self, position: Position) -> Result<Expr, Diagnostic> {
        let found = self.positions.get(&position).copied();
        found.ok_or_else(|| error::internal(self.span, format!("the id `{}` is missing", position.name())))
    }
}

/// Literals are equal if their bits are.
fn key(literal: Literal) -> (std::mem::Discriminant<Literal>, u64) {
    let bits = match literal {
        Literal::F64(v) => v.to_bits(),
        Literal::F32(v) => u64::from(v.to_bits()),
        Literal::F16(v) => u64::from(v.to_bits()),
        Literal::U16(v) => u64::from(v),
        Literal::I16(v) => v as u64,
        Literal::U32(v) => u64::from(v),
        Literal::I32(v) => v as u64,
        Literal::U64(v) => v,
        Literal::I64(v) | Literal::AbstractInt(v) => v as u64,
        Literal::Bool(v) => u64::from(v),
        Literal::AbstractFloat(v) => v.to_bits(),
    };
    (std::mem::discriminant(&literal), bits)
}

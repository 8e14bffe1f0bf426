//! Modules, functions, kernels: structured SSA in flat tables.
//!
//! A [`Function`] owns its values, instructions, regions and memories; everything refers by typed index. A value is
//! defined once: by a constant, a parameter, a memory, a region's parameter or an instruction, and is visible in the rest of the
//! region that defines it and in the regions inside. A region's last instruction, and no other, is a terminator. [`super::verify()`]
//! checks all of this.

use super::attrs::{Attr, AttrKind, Dim, ParamAttrs};
use super::heap::{Global, GlobalId, Layout, LayoutId};
use super::ops::{Effect, Op};
use super::types::{Scalar, Space, Type};
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_base::name::Name;
use girih_base::span::Span;
use smallvec::SmallVec;

index_type! {
    /// A function or kernel of a module.
    pub struct FunctionId;
}
index_type! {
    /// A value of a function.
    pub struct ValueId;
}
index_type! {
    /// An instruction of a function.
    pub struct InstId;
}
index_type! {
    /// A region of a function.
    pub struct RegionId;
}
index_type! {
    /// A shared or private memory of a function.
    pub struct MemoryId;
}

/// Functions and kernels that may call each other.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// In the order of the text.
    pub functions: IndexVec<FunctionId, Function>,
    /// Layouts of cells that functions in task form use.
    pub layouts: IndexVec<LayoutId, Layout>,
    /// Values that are computed once.
    pub globals: IndexVec<GlobalId, Global>,
}

impl Module {
    /// The function or kernel of this name.
    pub fn find(&self, name: &str) -> Option<FunctionId> {
        self.functions.iter_enumerated().find(|(_, f)| f.name == *name).map(|(id, _)| id)
    }
    /// A module of functions alone.
    pub fn of(functions: impl IntoIterator<Item = Function>) -> Module {
        Module { functions: functions.into_iter().collect(), ..Module::default() }
    }
    /// All kernels.
    pub fn kernels(&self) -> impl Iterator<Item = FunctionId> {
        self.functions.iter_enumerated().filter(|(_, f)| f.launch.is_some()).map(|(id, _)| id)
    }
}

/// A function, or a kernel if it has a [`Launch`].
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name, without `@`.
    pub name: Name,
    /// Where the name stands.
    pub span: Span,
    /// Parameters, in order.
    pub params: Vec<ValueId>,
    /// Types of the results; none for a kernel.
    pub results: Vec<Type>,
    /// How it is launched, for a kernel.
    pub launch: Option<Launch>,
    /// Shared and private arrays.
    pub memories: IndexVec<MemoryId, Memory>,
    /// All values.
    pub values: IndexVec<ValueId, Value>,
    /// All instructions, those no longer in a region included.
    pub insts: IndexVec<InstId, Inst>,
    /// All regions, likewise.
    pub regions: IndexVec<RegionId, Region>,
    /// The outermost region.
    pub body: RegionId,
    constants: FastMap<(Type, u64), ValueId>,
    /// Whether simplification for the device that the function is being lowered for has nothing more to do.
    pub simplified: bool,
    /// Where values are defined, as far as that is known; shorter than `values` if the last ones have no place.
    spans: Vec<Span>,
}

/// How a kernel is launched: what would otherwise be written again in every host program.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Invocations of a workgroup; all at least 1.
    pub workgroup: [u32; 3],
    /// Constants that are fixed when the kernel is compiled, with their defaults.
    pub specialisations: Vec<Specialisation>,
    /// A region that the host runs at each launch: pure instructions on scalar parameters, ended by `grid`. The
    /// values that it defines are visible in the body (*derived parameters*). Without it the caller says the grid.
    pub prologue: Option<RegionId>,
    /// Whether a grid larger than the device's dimensions is folded; ids in x are computed from all dimensions then.
    pub fold: bool,
    /// The width of subgroups that it was written for; any if absent.
    pub subgroup: Option<u32>,
    /// Whether all workgroups must run at once.
    pub cooperative: bool,
    /// Most registers an invocation may take; as the device likes if absent.
    pub registers: Option<u32>,
    /// Hidden parameter: the buffer in which traps are noted, once `girih_lower` has made it.
    pub traps: Option<ValueId>,
    /// Where the text says so.
    pub places: LaunchPlaces,
}

/// Where a text says how a kernel is launched; no place for what it does not say.
#[derive(Clone, Copy, Debug)]
pub struct LaunchPlaces {
    /// The size of workgroups.
    pub workgroup: Span,
    /// The width of subgroups.
    pub subgroup: Span,
    /// The most registers.
    pub registers: Span,
}

impl Default for LaunchPlaces {
    fn default() -> LaunchPlaces {
        LaunchPlaces { workgroup: Span::NONE, subgroup: Span::NONE, registers: Span::NONE }
    }
}

/// A constant that is fixed when the kernel is compiled.
#[derive(Clone, Debug)]
pub struct Specialisation {
    /// The value; its definition is [`Def::Specialisation`].
    pub value: ValueId,
    /// Its bits unless the caller says otherwise.
    pub default: u64,
}

/// A shared or private array.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Shared or private.
    pub space: Space,
    /// The handle.
    pub value: ValueId,
    /// Type of an element.
    pub element: Type,
    /// How many elements: a constant, a specialisation or a derived parameter (shared only), of type `u32`.
    pub length: ValueId,
    /// Alignment in bytes; at least the element's.
    pub align: u32,
    /// Allocations of one group (not 0) may overlap: their lives, which barriers separate, do not.
    pub group: u32,
}

/// A value.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its type.
    pub ty: Type,
    /// What defines it.
    pub def: Def,
    /// Its name, without `%`; printed as a number if absent. Need not be unique.
    pub name: Option<Name>,
}

/// What defines a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    /// A scalar constant: the value's bits, zero above the type's width.
    Constant(u64),
    /// The function's parameter.
    Param(ParamAttrs),
    /// The kernel's specialisation constant of this position.
    Specialisation(u32),
    /// The handle of a memory.
    Memory(MemoryId),
    /// A parameter of a region: of a loop's.
    Argument(RegionId, u32),
    /// A result of an instruction.
    Result(InstId, u32),
}

/// A sequence of instructions.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// Parameters.
    pub params: Vec<ValueId>,
    /// Instructions; the last is the terminator.
    pub insts: Vec<InstId>,
}

/// Values of an instruction. Few instructions have more than four, so they stand in the instruction itself: passes write and drop
/// thousands, and each list on the heap would cost more than what is done with it. Where many are copied, `from_slice` copies the words; `clone` goes from
/// element to element.
pub type Values = SmallVec<[ValueId; 4]>;

/// Regions of an instruction, likewise.
pub type Regions = SmallVec<[RegionId; 4]>;

/// An instruction.
#[derive(Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// The suffix type, for operations that have one.
    pub ty: Option<Type>,
    /// Operands. An access is a memory and an index.
    pub operands: Values,
    /// Results.
    pub results: Values,
    /// Attributes, each kind at most once, in [`AttrKind`]'s order.
    pub attrs: Vec<Attr>,
    /// Regions.
    pub regions: Regions,
    /// Where it stands in the text.
    pub span: Span,
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $ty:ty = $default:expr;)*) => {
        $($(#[$doc])* pub fn $name(&self) -> $ty {
            self.attrs.iter().find_map(|a| if let Attr::$variant(v) = a { Some(v.clone()) } else { None }).unwrap_or($default)
        })*
    };
}

/// By hand: the lists are copied as the few words that they are, not element by element.
impl Clone for Inst {
    fn clone(&self) -> Inst {
        let Inst { op, ty, operands, results, attrs, regions, span } = self;
        Inst {
            op: *op,
            ty: *ty,
            operands: Values::from_slice(operands),
            results: Values::from_slice(results),
            attrs: attrs.clone(),
            regions: Regions::from_slice(regions),
            span: *span,
        }
    }
}

impl Inst {
    /// An instruction without attributes, regions, results.
    pub fn new(op: Op, ty: Option<Type>, operands: &[ValueId], span: Span) -> Inst {
        let (results, regions) = (Values::new(), Regions::new());
        Inst { op, ty, operands: Values::from_slice(operands), results, attrs: vec![], regions, span }
    }

    /// The attribute of a kind.
    pub fn attr(&self, kind: AttrKind) -> Option<&Attr> {
        self.attrs.iter().find(|a| a.kind() == kind)
    }
    /// Whether it has an attribute of a kind.
    pub fn has(&self, kind: AttrKind) -> bool {
        self.attr(kind).is_some()
    }
    /// What it does besides giving results: its row says so, but a volatile load also looks for what others write meanwhile.
    pub fn effect(&self) -> Effect {
        match self.op.row().effect {
            Effect::Read if self.has(AttrKind::Volatile) => Effect::Sync,
            effect => effect,
        }
    }
    /// Adds an attribute or replaces the one of its kind.
    pub fn set(&mut self, attr: Attr) {
        self.attrs.retain(|a| a.kind() != attr.kind());
        self.attrs.push(attr);
        self.attrs.sort_by_key(|a| a.kind() as usize);
    }
    /// Removes an attribute.
    pub fn remove(&mut self, kind: AttrKind) {
        self.attrs.retain(|a| a.kind() != kind);
    }

    getters! {
        /// The dimension; x if absent.
        dim: Dim -> Dim = Dim::X;
        /// The constant part of the first access's index, in elements.
        offset: Offset -> i32 = 0;
        /// The constant part of the second access's index, in elements.
        source_offset: SourceOffset -> i32 = 0;
        /// How many groups may be pending after a wait.
        pending: Pending -> u32 = 0;
        /// The trap's code.
        code: Code -> u32 = 0;
        /// Values of each region but the last.
        cases: Cases -> Vec<Vec<i64>> = vec![];
        /// How it orders.
        order: Order -> super::attrs::Order = super::attrs::Order::Relaxed;
        /// Who sees the order.
        scope: Scope -> super::attrs::Scope = super::attrs::Scope::Device;
        /// Which memories a barrier orders.
        spaces: Spaces -> super::attrs::Spaces = super::attrs::Spaces { global: false, shared: true };
        /// Which field of a cell.
        field: Field -> u32 = 0;
        /// Along which dimension.
        axis: Axis -> u32 = 0;
        /// Which dimensions of the operand those of the result are.
        axes: Axes -> Vec<u32> = vec![];
        /// What an atomic operation on a tile writes.
        update: Update -> super::attrs::Update = super::attrs::Update::Exchange;
        /// How exactly factors are multiplied.
        precision: Precision -> super::attrs::Precision = super::attrs::Precision::Ieee;
        /// What is printed or said.
        text: Text -> Name = Name::from("");
        /// How a fragment lies in memory.
        layout: Layout -> super::attrs::MatrixLayout = super::attrs::MatrixLayout::Row;
    }

    /// The function that is called.
    pub fn callee(&self) -> Option<FunctionId> {
        self.attrs.iter().find_map(|a| if let Attr::Callee(id) = a { Some(*id) } else { None })
    }

    /// The layout of a cell.
    pub fn cell(&self) -> Option<LayoutId> {
        self.attrs.iter().find_map(|a| if let Attr::Cell(id) = a { Some(*id) } else { None })
    }
    /// The global.
    pub fn global(&self) -> Option<GlobalId> {
        self.attrs.iter().find_map(|a| if let Attr::Global(id) = a { Some(*id) } else { None })
    }

    /// Element type of the suffix. For operations whose row has a type suffix; `u32` otherwise.
    pub fn element(&self) -> Scalar {
        self.ty.and_then(Type::element).unwrap_or(Scalar::U32)
    }
}

impl Function {
    /// A function with an empty body and no parameters.
    pub fn new(name: impl Into<Name>, span: Span) -> Function {
        let mut regions = IndexVec::new();
        let body = regions.push(Region::default());
        Function {
            name: name.into(),
            span,
            params: vec![],
            results: vec![],
            launch: None,
            memories: IndexVec::new(),
            values: IndexVec::new(),
            insts: IndexVec::new(),
            regions,
            body,
            constants: FastMap::default(),
            simplified: false,
            spans: vec![],
        }
    }

    /// Makes room for what another function becomes: about as much as it has, or twice that. Room that is not used costs nothing, and moving
    /// instructions to where there is some costs more than writing them.
    pub fn reserve_like(&mut self, other: &Function) {
        self.values.reserve(2 * other.values.len());
        self.insts.reserve(2 * other.insts.len());
        self.regions.reserve(other.regions.len());
        self.constants.reserve(other.constants.len());
    }

    /// Makes room for so many instructions and their results.
    pub(crate) fn reserve(&mut self, insts: usize) {
        self.values.reserve(2 * insts);
        self.insts.reserve(insts);
    }

    /// The constant of a scalar type with these bits; bits above the type's width are dropped. Each exists once.
    pub fn constant(&mut self, ty: Type, bits: u64) -> ValueId {
        let bits = bits & ty.element().map_or(u64::MAX, Scalar::mask);
        let values = &mut self.values;
        *self
            .constants
            .entry((ty, bits))
            .or_insert_with(|| values.push(Value { ty, def: Def::Constant(bits), name: None }))
    }
    /// The bits of a constant.
    #[inline]
    pub fn as_constant(&self, value: ValueId) -> Option<u64> {
        match self.values[value].def {
            Def::Constant(bits) => Some(bits),
            Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) | Def::Result(..) => None,
        }
    }
    /// Says where a value is defined.
    pub fn set_span(&mut self, value: ValueId, span: Span) {
        if self.spans.len() <= value.index() {
            self.spans.resize(value.index() + 1, Span::NONE);
        }
        self.spans[value.index()] = span;
    }
    /// Where a value is defined: its name in the text, or else the instruction that gives it, or else the function's name.
    pub fn span_of(&self, value: ValueId) -> Span {
        let place = self.spans.get(value.index()).copied().unwrap_or(Span::NONE);
        match self.values[value].def {
            _ if !place.is_none() => place,
            Def::Result(inst, _) => self.insts[inst].span,
            Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) => self.span,
        }
    }
    /// Type of a value.
    #[inline]
    pub fn ty(&self, value: ValueId) -> Type {
        self.values[value].ty
    }
    /// Adds a parameter at the end.
    pub fn param(&mut self, name: impl Into<Name>, ty: Type, attrs: ParamAttrs) -> ValueId {
        let id = self.values.push(Value { ty, def: Def::Param(attrs), name: Some(name.into()) });
        self.params.push(id);
        id
    }
    /// What is known of a parameter; nothing for other values.
    pub fn param_attrs(&self, value: ValueId) -> ParamAttrs {
        match self.values[value].def {
            Def::Param(attrs) => attrs,
            Def::Constant(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) | Def::Result(..) => {
                ParamAttrs::default()
            }
        }
    }
    /// Adds a constant that is fixed when the kernel is compiled, with the bits that it has unless the caller says otherwise.
    pub fn specialisation(&mut self, name: impl Into<Name>, scalar: Scalar, default: u64) -> ValueId {
        let all = &mut self.launch.get_or_insert_default().specialisations;
        let def = Def::Specialisation(all.len() as u32);
        let value = self.values.push(Value { ty: Type::Scalar(scalar), def, name: Some(name.into()) });
        all.push(Specialisation { value, default });
        value
    }
    /// Adds a memory and gives its handle.
    pub fn memory(&mut self, name: Option<Name>, space: Space, element: Type, length: ValueId) -> ValueId {
        let id = self.memories.next_id();
        let value = self.values.push(Value { ty: Type::Memory(space), def: Def::Memory(id), name });
        self.memories.push(Memory { space, value, element, length, align: element.bytes(), group: 0 });
        value
    }
    /// The space of a memory handle. A value that is none is taken as private; the verifier refuses it.
    pub fn space(&self, handle: ValueId) -> Space {
        match self.ty(handle) {
            Type::Memory(space) => space,
            Type::Scalar(_)
            | Type::Vector(..)
            | Type::Regs(..)
            | Type::Coop(..)
            | Type::Tile(_)
            | Type::Token
            | Type::Term => Space::Private,
        }
    }
    /// The functions that it calls, forks or goes on with, each as often as it does.
    pub fn callees(&self) -> Vec<FunctionId> {
        let mut callees = vec![];
        self.walk(self.body, &mut |_, inst| callees.extend(inst.callee()));
        callees
    }
    /// The terminator of a region, if the region has one.
    pub fn terminator(&self, region: RegionId) -> Option<&Inst> {
        self.regions[region].insts.last().map(|i| &self.insts[*i]).filter(|i| i.op.is_terminator())
    }
    /// Whether an instruction of a region has regions of its own.
    pub fn holds_regions(&self, region: RegionId) -> bool {
        self.regions[region].insts.iter().any(|id| !self.insts[*id].regions.is_empty())
    }
    /// Calls `visit` for each instruction of a region and of the regions inside, in order, outer ones first.
    pub fn walk(&self, region: RegionId, visit: &mut impl FnMut(InstId, &Inst)) {
        for id in &self.regions[region].insts {
            let inst = &self.insts[*id];
            visit(*id, inst);
            for inner in &inst.regions {
                self.walk(*inner, visit);
            }
        }
    }
}

//! SPMD vectorisation: a function that only computes is made to do the same for four lanes at once. Numbers become vectors of four, conditions become masks.
//!
//! | file | its idea |
//! |---|---|
//! | this one | which functions can be vectorised, and their versions |
//! | [`varying`] | which values differ between lanes |
//! | [`lanes`] | values, and operations on them |
//! | [`calls`] | calls: of other versions, of plain functions lane by lane, or the callee's code in their place |
//! | [`state`] | which lanes run, the values of lanes that have left, and how these are merged again |
//! | [`control`] | choices and jumps |
//! | [`repeat`] | loops |
//!
//! A version of a function takes a mask of the lanes that run (a `u32x4`, all ones or 0) and then its parameters: those that differ between
//! lanes as vectors, a `bool` as a mask, the others as they are. Its results are vectors. The results of lanes that do not run are
//! meaningless.
//!
//! Invariant: a lane that runs gets the bits that the function gives for its arguments alone. A trap is reported if and only if a lane that runs
//! reaches one. Lanes that do not run neither trap nor keep a loop or a recursion going.

mod calls;
mod control;
pub(crate) mod lanes;
mod repeat;
mod state;
mod varying;

use girih_base::cycles;
use girih_base::idx::IndexVec;
use girih_base::name::Name;
use girih_base::span::Span;
use girih_ir::groups::{jumps, not_control};
use girih_ir::ops::{Effect, Family};
use girih_ir::{Builder, Function, FunctionId, Inst, Module, Op, ParamAttrs, Scalar, Type};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// How many lanes there are.
pub const LANES: u8 = 4;
/// The type of masks.
pub const MASK: Type = Type::Vector(Scalar::U32, LANES);
/// How many results a version may have: processors give vectors in as many registers.
const RESULTS: usize = 8;

/// Why a function cannot be vectorised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The function that has it.
    pub function: Name,
    /// What it has.
    pub what: String,
    /// Where that stands.
    pub span: Span,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`@{}` has {}", self.function, self.what)
    }
}

/// The type of a value that differs between lanes, if there is one.
pub fn vectorised(ty: Type) -> Option<Type> {
    match ty {
        Type::Scalar(Scalar::Bool) => Some(MASK),
        Type::Scalar(scalar @ (Scalar::U32 | Scalar::I32 | Scalar::F32)) => Some(Type::Vector(scalar, LANES)),
        Type::Scalar(_)
        | Type::Vector(..)
        | Type::Regs(..)
        | Type::Coop(..)
        | Type::Tile(_)
        | Type::Token
        | Type::Term
        | Type::Memory(_) => None,
    }
}

/// Adds the version of a function in which these parameters differ between lanes, and the versions that it needs.
///
/// # Errors
/// If the function, or one that it needs a version of, does something that lanes cannot do in step. The module stays as it was.
pub fn vectorise(module: &mut Module, function: FunctionId, varies: &[bool]) -> Result<FunctionId, Why> {
    let mut versions = Versions::of(module);
    let id = versions.version(function, varies)?;
    while let Some((function, varies, at)) = versions.queue.pop() {
        let written = control::write(&mut versions, function, &varies, at)?;
        versions.made[at] = written;
    }
    let made = versions.made;
    for function in made {
        module.functions.push(function);
    }
    Ok(id)
}

/// The functions of a module, and the versions that are made of them.
struct Versions<'m> {
    module: &'m Module,
    facts: LaneFacts,
    names: HashSet<Name>,
    known: HashMap<(FunctionId, Vec<bool>), FunctionId>,
    /// Versions, those that are not written yet without a body.
    made: Vec<Function>,
    /// What is not written yet: of which function, which parameters differ, its place in `made`.
    queue: Vec<(FunctionId, Vec<bool>, usize)>,
}

/// What is known of the functions of a module.
struct LaneFacts {
    /// Functions that reach each other have the same number.
    groups: IndexVec<FunctionId, usize>,
    recursive: IndexVec<FunctionId, bool>,
    /// Whether a call certainly ends, without a trap.
    total: IndexVec<FunctionId, bool>,
}

impl LaneFacts {
    fn of(module: &Module) -> LaneFacts {
        let edges: IndexVec<FunctionId, Vec<FunctionId>> = module.functions.iter().map(Function::callees).collect();
        let recursive = cycles::on_cycle(&edges);
        let mut total: IndexVec<FunctionId, bool> =
            module.functions.iter_enumerated().map(|(id, f)| !recursive[id] && is_plain(f)).collect();
        // What calls something that may not end may not end.
        let mut changed = true;
        while changed {
            changed = false;
            for id in module.functions.ids() {
                if total[id] && !edges[id].iter().all(|callee| total[*callee]) {
                    total[id] = false;
                    changed = true;
                }
            }
        }
        LaneFacts { groups: cycles::groups(&edges), recursive, total }
    }
}

/// Whether a function has nothing in itself that may trap or not end.
fn is_plain(function: &Function) -> bool {
    let mut plain = function.launch.is_none() && function.memories.is_empty();
    function.walk(function.body, &mut |_, inst| {
        plain &= match inst.op.row().effect {
            Effect::Pure => true,
            Effect::Control => certainly_goes_on(inst.op),
            Effect::Read | Effect::Write | Effect::Atomic | Effect::Sync | Effect::Trap | Effect::Heap => false,
        };
    });
    plain
}

/// Whether control goes on behind an operation, or behind the region that it ends, as far as the operation itself decides: callees are asked
/// for themselves.
fn certainly_goes_on(op: Op) -> bool {
    match op {
        Op::If | Op::Switch | Op::Call | Op::Return | Op::Grid | jumps!() => true,
        Op::Loop | Op::TrapIf | not_control!() => false,
    }
}

impl<'m> Versions<'m> {
    fn of(module: &'m Module) -> Versions<'m> {
        Versions {
            module,
            facts: LaneFacts::of(module),
            names: module.functions.iter().map(|f| f.name.clone()).collect(),
            known: HashMap::new(),
            made: vec![],
            queue: vec![],
        }
    }

    /// The version of a function in which these parameters differ; it will be written if it was not needed before.
    fn version(&mut self, id: FunctionId, varies: &[bool]) -> Result<FunctionId, Why> {
        let key = (id, varies.to_vec());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        self.fits(id)?;
        let declared = self.declare(&self.module.functions[id], varies);
        let at = self.made.len();
        let version = FunctionId::new(self.module.functions.len() as u32 + at as u32);
        self.names.insert(declared.name.clone());
        self.made.push(declared);
        self.queue.push((id, varies.to_vec(), at));
        self.known.insert(key, version);
        Ok(version)
    }

    /// A version without a body.
    fn declare(&self, function: &Function, varies: &[bool]) -> Function {
        let letters: String = varies.iter().map(|varies| if *varies { 'v' } else { 's' }).collect();
        let mut name: Name = format!("{}.lanes.{letters}", function.name).into();
        while self.names.contains(&name) {
            name = format!("{name}'").into();
        }
        let mut version = Function::new(name, function.span);
        version.param("mask", MASK, ParamAttrs::default());
        for (i, param) in function.params.iter().enumerate() {
            let ty = function.ty(*param);
            let ty = if varies.get(i) == Some(&true) { vectorised(ty).unwrap_or(ty) } else { ty };
            version.param(format!("p{i}"), ty, ParamAttrs::default());
        }
        version.results = function.results.iter().map(|ty| vectorised(*ty).unwrap_or(*ty)).collect();
        version
    }

    /// Whether a function can be vectorised.
    fn fits(&self, id: FunctionId) -> Result<(), Why> {
        let function = &self.module.functions[id];
        let why = |what: String, span| Err(Why { function: function.name.clone(), what, span });
        if function.launch.is_some() || !function.memories.is_empty() {
            return why("a launch or memory of its own".into(), function.span);
        }
        if function.results.len() > RESULTS {
            return why(format!("{} results", function.results.len()), function.span);
        }
        let types = function.params.iter().map(|v| function.ty(*v)).chain(function.results.iter().copied());
        if let Some(ty) = types.into_iter().find(|ty| vectorised(*ty).is_none()) {
            return why(format!("a parameter or result of type `{ty}`"), function.span);
        }
        let mut found = None;
        function.walk(function.body, &mut |_, inst| {
            if found.is_none() {
                found = self.hinders(id, function, inst).map(|what| (what, inst.span));
            }
        });
        found.map_or(Ok(()), |(what, span)| why(what, span))
    }

    /// What lanes cannot do in step.
    fn hinders(&self, id: FunctionId, function: &Function, inst: &Inst) -> Option<String> {
        let values = inst.operands.iter().chain(&inst.results);
        if let Some(ty) = values.map(|v| function.ty(*v)).find(|ty| vectorised(*ty).is_none()) {
            return Some(format!("a value of type `{ty}`"));
        }
        if inst.op == Op::Tail {
            let callee = inst.callee()?;
            let returns = callee != id && self.facts.groups[callee] == self.facts.groups[id];
            return returns.then(|| "a tail call of a function that calls back by another way".into());
        }
        let possible = match inst.op.row().family {
            Family::Control => inst.op != Op::Grid,
            Family::Scalar => !matches!(inst.op, Op::Vector | Op::Splat | Op::Extract | Op::Insert),
            Family::Memory | Family::Sync | Family::Tile => false,
            Family::Heap | Family::Task | Family::Mask => false,
        };
        (!possible).then(|| format!("`{}`", inst.op.name()))
    }
}

/// A vector or mask of zeros, or the zero of a plain type.
fn zero(b: &mut Builder, ty: Type) -> girih_ir::ValueId {
    b.zero(ty)
}

//! Which ids each function needs. A shading language gives ids to the entry point alone, so functions get them as further
//! arguments, in the order of [`Position`].

use super::subgroups;
use girih_base::idx::IndexVec;
use girih_ir::{Feature, FunctionId, Inst, Module, Op};
use naga::{BuiltIn, TypeInner, VectorSize};
use std::collections::BTreeSet;

/// An id, whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Position {
    /// Position in the grid, three dimensions.
    Global,
    /// Position in the workgroup, three dimensions.
    Local,
    /// The same as one number.
    LocalIndex,
    /// Position of the workgroup, three dimensions.
    Workgroup,
    /// How many workgroups, three dimensions.
    Workgroups,
    /// Invocations of the workgroup, three dimensions: no id, but it differs by kernel.
    WorkgroupSize,
    /// Lanes of the subgroup.
    SubgroupSize,
    /// Which subgroup of the workgroup.
    Subgroup,
    /// How many subgroups the workgroup has.
    Subgroups,
    /// Position in the subgroup.
    Lane,
}

impl Position {
    /// naga's name of it; none for what is no id.
    pub fn builtin(self) -> Option<BuiltIn> {
        Some(match self {
            Position::Global => BuiltIn::GlobalInvocationId,
            Position::Local => BuiltIn::LocalInvocationId,
            Position::LocalIndex => BuiltIn::LocalInvocationIndex,
            Position::Workgroup => BuiltIn::WorkGroupId,
            Position::Workgroups => BuiltIn::NumWorkGroups,
            Position::WorkgroupSize => return None,
            Position::SubgroupSize => BuiltIn::SubgroupSize,
            Position::Subgroup => BuiltIn::SubgroupId,
            Position::Subgroups => BuiltIn::NumSubgroups,
            Position::Lane => BuiltIn::SubgroupInvocationId,
        })
    }

    /// The argument's name.
    pub fn name(self) -> &'static str {
        match self {
            Position::Global => "global_id",
            Position::Local => "local_id",
            Position::LocalIndex => "local_index",
            Position::Workgroup => "workgroup_id",
            Position::Workgroups => "num_workgroups",
            Position::WorkgroupSize => "workgroup_size",
            Position::SubgroupSize => "subgroup_size",
            Position::Subgroup => "subgroup_id",
            Position::Subgroups => "num_subgroups",
            Position::Lane => "lane",
        }
    }

    /// Its type.
    pub fn ty(self) -> TypeInner {
        match self {
            Position::Global
            | Position::Local
            | Position::Workgroup
            | Position::Workgroups
            | Position::WorkgroupSize => TypeInner::Vector { size: VectorSize::Tri, scalar: naga::Scalar::U32 },
            Position::LocalIndex
            | Position::SubgroupSize
            | Position::Subgroup
            | Position::Subgroups
            | Position::Lane => TypeInner::Scalar(naga::Scalar::U32),
        }
    }
}

/// What a function needs, by itself or through what it calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Needs {
    positions: BTreeSet<Position>,
    /// Whether it has to do with subgroups.
    subgroups: bool,
}

impl Needs {
    fn add(&mut self, other: &Needs) {
        self.positions.extend(&other.positions);
        self.subgroups |= other.subgroups;
    }
}

/// The positions that each function needs.
#[derive(Debug)]
pub struct Positions(IndexVec<FunctionId, Needs>);

impl Positions {
    /// Finds them. A legal module is not recursive, so going over it once per level of calls is enough.
    pub fn find(module: &Module) -> Positions {
        let mut all: IndexVec<FunctionId, Needs> = module
            .functions
            .iter()
            .map(|f| {
                let mut own = Needs::default();
                f.walk(f.body, &mut |_, inst| {
                    own.positions.extend(used(inst));
                    own.subgroups |= inst.op.row().needs == Some(Feature::Subgroups);
                });
                own
            })
            .collect();
        loop {
            let mut changed = false;
            for (id, f) in module.functions.iter_enumerated() {
                f.walk(f.body, &mut |_, inst| {
                    let Some(callee) = inst.callee() else { return };
                    let (theirs, before) = (all[callee].clone(), all[id].clone());
                    all[id].add(&theirs);
                    changed |= all[id] != before;
                });
            }
            if !changed {
                return Positions(all);
            }
        }
    }

    /// Those of one function, in order.
    pub fn of(&self, function: FunctionId) -> impl Iterator<Item = Position> + '_ {
        self.0[function].positions.iter().copied()
    }

    /// Whether a function has to do with subgroups.
    pub fn in_subgroups(&self, function: FunctionId) -> bool {
        self.0[function].subgroups
    }
}

/// The operations that give a position.
const GIVEN: [(Op, Position); 10] = [
    (Op::GlobalId, Position::Global),
    (Op::LocalId, Position::Local),
    (Op::LocalIndex, Position::LocalIndex),
    (Op::WorkgroupId, Position::Workgroup),
    (Op::NumWorkgroups, Position::Workgroups),
    (Op::WorkgroupSize, Position::WorkgroupSize),
    (Op::SubgroupSize, Position::SubgroupSize),
    (Op::SubgroupId, Position::Subgroup),
    (Op::NumSubgroups, Position::Subgroups),
    (Op::Lane, Position::Lane),
];

/// The position that an operation gives, if it is one that does.
pub fn given(op: Op) -> Option<Position> {
    GIVEN.iter().find(|(o, _)| *o == op).map(|(_, p)| *p)
}

/// The positions that an instruction needs to be rendered.
fn used(inst: &Inst) -> Vec<Position> {
    match given(inst.op) {
        Some(position) => vec![position],
        None if subgroups::is_composed(inst) => vec![Position::SubgroupSize, Position::Lane],
        None => vec![],
    }
}

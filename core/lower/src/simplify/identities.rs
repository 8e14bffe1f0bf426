//! Which identities are tried for an operation, and what is known about positions in the launch.

use super::facts::Facts;
use super::forward::Forward;
use girih_ir::attrs::Dim;
use girih_ir::groups::compares;
use girih_ir::{Feature, InstId, Launch, Op, Scalar, Type, ValueId};

impl Forward<'_> {
    /// The simpler value that stands for an operation, if an identity gives one.
    pub(super) fn identity(&mut self, op: Op, ty: Option<Type>, operands: &[ValueId], nowrap: bool) -> Option<ValueId> {
        if matches!(op, Op::Extract | Op::Insert | Op::Vector) {
            return self.aggregate(op, ty, operands);
        }
        if op == Op::Bitcast {
            return self.same_bits(ty?, operands);
        }
        if let (Op::Select, &[condition, a, b]) = (op, operands) {
            return self.selection(ty?, condition, a, b);
        }
        let Some(Type::Scalar(s)) = ty else { return None };
        let integer = s.is_integer() || s == Scalar::Bool;
        match (op, operands) {
            (Op::Convert, &[a]) => return self.conversion(s, a),
            (compares!(), &[a, b]) if integer => return self.comparison(op, s, a, b),
            (Op::Div | Op::Rem, &[a, b]) if integer => return self.division(op, s, a, b),
            (Op::Mad, &[a, b, c]) if integer => return self.multiply_add(s, [a, b, c], nowrap),
            _no_rule => {}
        }
        match operands {
            &[a] if integer => self.integer_unary(op, s, a),
            &[a, b] if integer => self.integer(op, s, a, b, nowrap),
            &[a] => self.float_unary(op, s, a),
            &[a, b] => self.float(op, s, a, b),
            _none_or_more => None,
        }
    }

    fn same_bits(&mut self, ty: Type, operands: &[ValueId]) -> Option<ValueId> {
        let &[a] = operands else { return None };
        if self.f.ty(a) == ty {
            return Some(a);
        }
        let original = self.is_unary(a, Op::Bitcast)?;
        Some(self.emit(Op::Bitcast, ty, &[original], false))
    }

    /// A position that the launch record fixes.
    pub(super) fn position(&mut self, op: Op, id: InstId) -> Option<ValueId> {
        let launch = self.f.launch.as_ref()?;
        let dim = self.f.insts[id].dim();
        let size = launch.workgroup[dim as usize];
        match op {
            Op::WorkgroupSize => Some(self.constant(Type::U32, size.into())),
            Op::LocalId if size == 1 => Some(self.constant(Type::U32, 0)),
            _no_rule => None,
        }
    }

    /// The range of a position.
    pub(super) fn range_of_position(&self, op: Op, id: InstId) -> Option<Facts> {
        let launch = self.f.launch.as_ref()?;
        let dim = self.f.insts[id].dim();
        let size = u64::from(launch.workgroup[dim as usize]);
        let invocations: u64 = launch.workgroup.iter().map(|n| u64::from(*n)).product();
        let lanes = u64::from(launch.subgroup.unwrap_or(self.caps.subgroup.max));
        let subgroups = invocations.div_ceil(u64::from(self.least_lanes(launch)));
        let groups = self.workgroups(launch, dim);
        let below = |n: u64| (n > 0 && n <= 1 << 32).then(|| Facts::between(0, n - 1, Scalar::U32));
        let at_most = |n: u64| below(n.saturating_add(1)).map(|f| f.and(Facts::between(1, n, Scalar::U32)));
        match op {
            Op::GlobalId => below(groups?.saturating_mul(size)),
            Op::LocalId => below(size),
            Op::LocalIndex => below(invocations),
            Op::WorkgroupId => below(groups?),
            Op::NumWorkgroups => below(groups?.saturating_add(1)),
            Op::SubgroupSize => at_most(lanes),
            Op::Lane => below(lanes),
            Op::SubgroupId => below(subgroups),
            Op::NumSubgroups => at_most(subgroups),
            _no_rule => None,
        }
    }

    /// How many lanes a subgroup has at least, which may be made of shared memory.
    fn least_lanes(&self, launch: &Launch) -> u32 {
        let least = if self.caps.has(Feature::Subgroups) { self.caps.subgroup.min } else { 1 };
        launch.subgroup.map_or(least, |asked| asked.min(least)).max(1)
    }

    /// How many workgroups a dimension of the grid has at most; a grid that is still to be folded may have more than the device's.
    fn workgroups(&self, launch: &Launch, dim: Dim) -> Option<u64> {
        (!launch.fold || dim != Dim::X).then(|| u64::from(self.caps.grid[dim as usize]))
    }
}

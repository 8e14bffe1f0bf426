//! Cases from the table of operations: every pure scalar operation at every type on every pair of edge values, and with constants,
//! every atomic operation in both spaces, every subgroup operation.
//!
//! The kernels are tiny: an invocation loads its operands, applies the operation, stores the result. So each type's loads and
//! stores are tried too.

mod constants;

use super::compare::Agreement;
use super::edges::{self, Edges};
use super::{Case, CaseArgument, Expectation, Group, pack};
use girih_base::span::Span;
use girih_ir::attrs::Dim;
use girih_ir::ops::{Class, Family, Pattern, Suffix};
use girih_ir::{
    Builder, Function, FunctionId, Launch, Module, Op, ParamAttrs, Scalar, ScalarSet, Space, Type, ValueId, verify,
};
use girih_runtime::Constant;

/// Invocations of a workgroup.
const WORKGROUP: u32 = 64;

/// One group for each operation whose cases can be made from its row.
pub fn table_groups() -> Vec<Group> {
    Op::ALL.iter().filter_map(|op| group(*op)).collect()
}

fn group(op: Op) -> Option<Group> {
    let mut writer = CaseWriter { functions: Module::default(), cases: vec![] };
    match op.row().family {
        Family::Scalar => writer.elementwise(op),
        Family::Memory => writer.atomics(op),
        Family::Sync => writer.subgroup(op),
        Family::Control | Family::Tile | Family::Heap | Family::Task | Family::Mask => {}
    }
    if writer.cases.is_empty() {
        return None;
    }
    let module = match verify(writer.functions) {
        Ok(module) => module,
        Err(errors) => panic!("the kernel written for `{}` breaks a rule: {}", op.name(), errors[0].message),
    };
    Some(Group { name: op.name().to_owned(), module, cases: writer.cases })
}

struct CaseWriter {
    functions: Module,
    cases: Vec<Case>,
}

/// The scalars that an operation's suffix allows.
fn suffixes(op: Op) -> ScalarSet {
    match op.row().suffix {
        Suffix::Scalar(set) | Suffix::Lanes(set) | Suffix::Aggregate(set) => set,
        // What tiles give is said by programs of `tests/ir/tile`.
        Suffix::None | Suffix::Dim | Suffix::Coop | Suffix::Tile(_) | Suffix::Block(_) | Suffix::Any => ScalarSet::NONE,
    }
}

/// A kernel under construction: parameters, and the guard `global_id.x < n`.
struct Kernel {
    builder: Builder,
    id: ValueId,
    arguments: Vec<CaseArgument>,
}

impl Kernel {
    fn new(name: &str, workgroup: u32) -> Kernel {
        let mut function = Function::new(name, Span::NONE);
        function.launch = Some(Launch { workgroup: [workgroup, 1, 1], ..Launch::default() });
        let mut builder = Builder::new(function);
        let id = builder.position(Op::GlobalId, Dim::X);
        Kernel { builder, id, arguments: vec![] }
    }

    /// A buffer parameter that holds these values first.
    fn buffer(&mut self, name: &str, bytes: Vec<u8>, readonly: bool, expectation: Expectation) -> ValueId {
        self.arguments.push(CaseArgument::Buffer(bytes, expectation));
        let attrs = ParamAttrs { readonly, noalias: true, align: 16, ..ParamAttrs::default() };
        self.builder.function.param(name, Type::Memory(Space::Global), attrs)
    }

    /// The `u32` parameter that says how many invocations work.
    fn count(&mut self, n: usize) -> ValueId {
        self.arguments.push(CaseArgument::Scalar(Constant { ty: Type::U32, bits: n as u64 }));
        self.builder.function.param("n", Type::U32, ParamAttrs::default())
    }

    /// Loads element `id` of a memory as the type; truth values stand as `u32` in memory.
    fn load(&mut self, ty: Type, memory: ValueId) -> ValueId {
        if ty == Type::BOOL {
            let word = self.builder.load(Scalar::U32, memory, self.id);
            return self.builder.op(Op::Convert, Scalar::Bool, &[word]);
        }
        self.builder.load(ty, memory, self.id)
    }

    fn store(&mut self, ty: Type, memory: ValueId, value: ValueId) {
        self.store_at(ty, memory, self.id, value);
    }

    fn store_at(&mut self, ty: Type, memory: ValueId, index: ValueId, value: ValueId) {
        if ty == Type::BOOL {
            let word = self.builder.op(Op::Convert, Scalar::U32, &[value]);
            return self.builder.store(Scalar::U32, memory, index, word);
        }
        self.builder.store(ty, memory, index, value);
    }

    /// Stores the results of an invocation, one after another.
    fn store_all(&mut self, ty: Type, memory: ValueId, values: &[ValueId]) {
        if let [value] = values {
            return self.store(ty, memory, *value);
        }
        let stride = self.builder.u32(values.len() as u32);
        let first = self.builder.op(Op::Mul, Scalar::U32, &[self.id, stride]);
        for (i, value) in (0..).zip(values) {
            let offset = self.builder.u32(i);
            let index = self.builder.op(Op::Add, Scalar::U32, &[first, offset]);
            self.store_at(ty, memory, index, *value);
        }
    }

    /// Runs `body` where `id < n`.
    fn guarded(&mut self, n: ValueId, body: impl FnOnce(&mut Kernel)) {
        let inside = self.builder.op(Op::Lt, Scalar::U32, &[self.id, n]);
        let (then, otherwise) = (self.builder.new_region(&[]), self.builder.new_region(&[]));
        let outer = std::mem::replace(&mut self.builder.region, then);
        body(self);
        self.builder.end(Op::Yield, &[]);
        self.builder.region = outer;
        self.builder.within(otherwise, |b| b.end(Op::Yield, &[]));
        let mut inst = girih_ir::Inst::new(Op::If, None, &[inside], Span::NONE);
        inst.regions.extend([then, otherwise]);
        self.builder.push(inst, &[]);
    }
}

/// What a kernel computes: an operation on all combinations of values.
struct Combinations {
    op: Op,
    /// Of the result, unless that is a truth value.
    scalar: Scalar,
    /// How many elements an invocation has of each.
    lanes: u8,
    /// Of what is loaded.
    types: Vec<Scalar>,
    /// What is loaded.
    edges: Edges,
    /// How many results an invocation has.
    results: usize,
}

/// The types of an operation's operands.
fn operand_types(op: Op, scalar: Scalar, source: Scalar) -> Vec<Scalar> {
    let types = op.row().operands.iter().map(|pattern| match pattern {
        Pattern::Bool => Scalar::Bool,
        Pattern::Source => source,
        _ => scalar,
    });
    types.collect()
}

fn of_lanes(scalar: Scalar, lanes: u8) -> Type {
    if lanes == 1 { Type::Scalar(scalar) } else { Type::Vector(scalar, lanes) }
}

/// The scalar as which values stand in a buffer.
fn stored(scalar: Scalar) -> Scalar {
    if scalar == Scalar::Bool { Scalar::U32 } else { scalar }
}

impl CaseWriter {
    fn finish(&mut self, name: String, mut kernel: Kernel, grid: u32) {
        kernel.builder.end(Op::Return, &[]);
        let id = self.functions.functions.push(kernel.builder.function);
        self.case(name, id, kernel.arguments, grid);
    }

    fn case(&mut self, name: String, kernel: FunctionId, arguments: Vec<CaseArgument>, grid: u32) {
        self.cases.push(Case::new(name, kernel, arguments, Some([grid, 1, 1])));
    }

    fn elementwise(&mut self, op: Op) {
        let row = op.row();
        if row.class == Class::None {
            return;
        }
        let parts = |p: &Pattern| matches!(p, Pattern::Parts | Pattern::Element | Pattern::Aggregate);
        if row.operands.iter().any(parts) {
            return self.aggregates(op);
        }
        for scalar in suffixes(op).iter() {
            if row.operands.contains(&Pattern::Source) {
                let same_width = |s: &Scalar| op != Op::Bitcast || s.bits() == scalar.bits();
                let sources = if op == Op::Bitcast { ScalarSet::STORED } else { ScalarSet::ALL };
                sources.iter().filter(same_width).for_each(|s| self.scalar_case(op, scalar, s, 1));
            } else {
                self.scalar_case(op, scalar, scalar, 1);
                self.constant_cases(op, scalar);
                let vectors = matches!(row.suffix, Suffix::Lanes(_)) && Type::is_short_vector(scalar, 2);
                if vectors && matches!(op, Op::Add | Op::Mul | Op::Xor | Op::Select | Op::Min) {
                    self.scalar_case(op, scalar, scalar, 2);
                }
            }
        }
    }

    /// The operation on all combinations of edge values, `lanes` elements at a time.
    fn scalar_case(&mut self, op: Op, scalar: Scalar, source: Scalar, lanes: u8) {
        let types = operand_types(op, scalar, source);
        let ty = of_lanes(scalar, lanes);
        let name = if source == scalar { ty.to_string() } else { format!("{scalar} from {source}") };
        let edges = Edges::of(op, &types);
        let of = Combinations { op, scalar, lanes, types, edges, results: 1 };
        self.combinations(name, of, |k, values| vec![k.builder.op(op, ty, values)]);
    }

    /// A kernel that loads all combinations of values, does something with each, and stores so many results.
    fn combinations(
        &mut self,
        name: String,
        of: Combinations,
        body: impl FnOnce(&mut Kernel, &[ValueId]) -> Vec<ValueId>,
    ) {
        let (row, lanes) = (of.op.row(), usize::from(of.lanes));
        let mut columns = of.edges.columns();
        let n = columns[0].len() / lanes;
        columns.iter_mut().for_each(|column| column.truncate(n * lanes));
        let mut kernel = Kernel::new(&name.replace(' ', "_"), WORKGROUP);
        let inputs: Vec<ValueId> = (columns.into_iter().zip(&of.types).enumerate())
            .map(|(i, (column, scalar))| {
                let bytes = pack(stored(*scalar), column);
                kernel.buffer(&format!("in{i}"), bytes, true, Expectation::input(stored(*scalar)))
            })
            .collect();
        let result = if row.results == [Pattern::Bool] { Type::BOOL } else { of_lanes(of.scalar, of.lanes) };
        let element = stored(result.element().unwrap_or(Scalar::U32));
        let class = if of.op == Op::Mad && of.scalar.is_integer() { Class::Exact } else { row.class };
        let empty = pack(element, (0..n * lanes * of.results).map(|_| 0x5a5a_5a5a_5a5a_5a5a));
        let output = kernel.buffer("out", empty, false, Expectation::class(element, class));
        let count = kernel.count(n);
        kernel.guarded(count, |k| {
            // A condition is one truth value, of lane 0; its column is as long as the others.
            let ty = |scalar| if scalar == Scalar::Bool { Type::BOOL } else { of_lanes(scalar, of.lanes) };
            let loads = inputs.iter().zip(&of.types).map(|(memory, scalar)| k.load(ty(*scalar), *memory));
            let values: Vec<ValueId> = loads.collect();
            let results = body(k, &values);
            debug_assert_eq!(results.len(), of.results);
            k.store_all(result, output, &results);
        });
        self.finish(name, kernel, (n as u32).div_ceil(WORKGROUP));
    }

    /// Making and taking apart short vectors of each type.
    fn aggregates(&mut self, op: Op) {
        for scalar in suffixes(op).iter() {
            let lanes = (16 / scalar.bytes()).min(4) as u8;
            let vector = Type::Vector(scalar, lanes);
            let values = edges::values(scalar);
            let n = values.len() / usize::from(lanes);
            let mut kernel = Kernel::new(&format!("{vector}"), WORKGROUP);
            let bytes = pack(scalar, values[..n * usize::from(lanes)].iter().copied());
            let input = kernel.buffer("in", bytes.clone(), true, Expectation::exact(scalar));
            let output = kernel.buffer("out", vec![0; bytes.len()], false, Expectation::exact(scalar));
            let count = kernel.count(n);
            kernel.guarded(count, |k| {
                let loaded = k.load(vector, input);
                let part = |k: &mut Kernel, i: u8| {
                    let at = k.builder.u32(u32::from(i));
                    k.builder.op(Op::Extract, scalar, &[loaded, at])
                };
                let value = match op {
                    // Reversed, so that a lane in the wrong place shows.
                    Op::Vector => {
                        let parts: Vec<ValueId> = (0..lanes).rev().map(|i| part(k, i)).collect();
                        k.builder.op(Op::Vector, vector, &parts)
                    }
                    Op::Splat => {
                        let last = part(k, lanes - 1);
                        k.builder.op(Op::Splat, vector, &[last])
                    }
                    Op::Insert | Op::Extract => {
                        let last = part(k, lanes - 1);
                        let at = k.builder.u32(0);
                        k.builder.op(Op::Insert, scalar, &[loaded, at, last])
                    }
                    other => unreachable!("`{}` is of no vector", other.name()),
                };
                k.store(vector, output, value);
            });
            self.finish(format!("{vector}"), kernel, (n as u32).div_ceil(WORKGROUP));
        }
    }

    fn atomics(&mut self, op: Op) {
        if op.row().effect != girih_ir::ops::Effect::Atomic {
            return;
        }
        for scalar in suffixes(op).iter() {
            for space in [Space::Global, Space::Shared] {
                self.atomic_alone(op, scalar, space);
                let commutes =
                    !matches!(op, Op::AtomicLoad | Op::AtomicStore | Op::AtomicExchange | Op::AtomicCompareExchange);
                if commutes {
                    self.atomic_together(op, scalar, space);
                }
            }
        }
    }

    /// Each invocation has a place of its own, so that the old value is known.
    fn atomic_alone(&mut self, op: Op, scalar: Scalar, space: Space) {
        let row = op.row();
        let values = row.operands.len() - 2;
        let types = vec![scalar; values + 1];
        let columns = Edges::of(op, &types).columns();
        let n = columns[0].len();
        let name = format!("{scalar} {} alone", space.name());
        let mut kernel = Kernel::new(&name.replace(' ', "_"), WORKGROUP);
        let inputs: Vec<ValueId> = (columns.iter().enumerate())
            .map(|(i, c)| {
                kernel.buffer(&format!("in{i}"), pack(scalar, c.iter().copied()), true, Expectation::input(scalar))
            })
            .collect();
        let first = pack(scalar, columns[0].iter().copied());
        let empty = vec![0; n * scalar.bytes() as usize];
        let class = if scalar.is_float() { Class::Rounded } else { Class::Exact };
        let mut expectation = Expectation::class(scalar, class);
        expectation.input = Some(scalar);
        let memory = kernel.buffer("memory", first, false, expectation);
        let old = kernel.buffer("old", empty, false, Expectation::class(scalar, class));
        let count = kernel.count(n);
        let shared = (space == Space::Shared).then(|| {
            let length = kernel.builder.u32(WORKGROUP);
            kernel.builder.function.memory(Some("place".into()), Space::Shared, scalar.into(), length)
        });
        kernel.guarded(count, |k| {
            let local = k.builder.position(Op::LocalId, Dim::X);
            let (place, index) = shared.map_or((memory, k.id), |shared| (shared, local));
            if shared.is_some() {
                let first = k.load(scalar.into(), inputs[0]);
                k.put(scalar, place, index, first);
            }
            let mut operands = vec![place, index];
            operands.extend(inputs[1..].iter().map(|i| k.builder.load(scalar, *i, k.id)));
            let inst = k.builder.op_with(op, Some(scalar.into()), &operands, &[]);
            if let [result] = k.builder.function.insts[inst].results[..] {
                k.store(scalar.into(), old, result);
            }
            if shared.is_some() {
                let after = k.get(scalar, place, index);
                k.store(scalar.into(), memory, after);
            }
        });
        self.finish(name, kernel, (n as u32).div_ceil(WORKGROUP));
    }

    /// All invocations meet at four places; the operation commutes, so the end is known.
    fn atomic_together(&mut self, op: Op, scalar: Scalar, space: Space) {
        let name = format!("{scalar} {} together", space.name());
        let mut kernel = Kernel::new(&name.replace(' ', "_"), WORKGROUP);
        let n = 4 * WORKGROUP as usize;
        // Small whole numbers add exactly in any order, in floats too: sums stay below 2^8, which is what `bf16` has.
        let small = |i: usize| {
            let number = u64::from(((i * 7 % 4) as f32).to_bits());
            match girih_ir::eval::scalar(Op::Convert, scalar, Scalar::F32, &[number]).filter(|_| scalar.is_float()) {
                Some(bits) => bits,
                None => (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) & scalar.mask(),
            }
        };
        let bytes = pack(scalar, (0..n).map(small));
        let input = kernel.buffer("in", bytes, true, Expectation::input(scalar));
        let memory =
            kernel.buffer("memory", pack(scalar, (0..4).map(small)), false, Expectation::class(scalar, Class::Rounded));
        let count = kernel.count(n);
        let local = kernel.builder.position(Op::LocalId, Dim::X);
        let three = kernel.builder.u32(3);
        let place = kernel.builder.op(Op::And, Scalar::U32, &[local, three]);
        if space == Space::Global {
            kernel.guarded(count, |k| {
                let value = k.load(scalar.into(), input);
                k.builder.op_with(op, Some(scalar.into()), &[memory, place, value], &[]);
            });
        } else {
            // One workgroup: shared memory starts as the buffer does and is written back.
            let length = kernel.builder.u32(4);
            let shared = kernel.builder.function.memory(Some("place".into()), Space::Shared, scalar.into(), length);
            kernel.first_four(local, length, |k| {
                let value = k.builder.load(scalar, memory, local);
                k.put(scalar, shared, local, value);
            });
            kernel.builder.end(Op::Barrier, &[]);
            let value = kernel.builder.load(scalar, input, local);
            kernel.builder.op_with(op, Some(scalar.into()), &[shared, place, value], &[]);
            kernel.builder.end(Op::Barrier, &[]);
            kernel.first_four(local, length, |k| {
                let value = k.get(scalar, shared, local);
                k.builder.store(scalar, memory, local, value);
            });
        }
        let grid = if space == Space::Global { 4 } else { 1 };
        self.finish(name, kernel, grid);
    }

    /// A subgroup operation at each of its types, on whole and partly filled subgroups.
    fn subgroup(&mut self, op: Op) {
        let row = op.row();
        let plain = |p: &Pattern| matches!(p, Pattern::T | Pattern::U32 | Pattern::Bool);
        let is_subgroup = row.needs == Some(girih_ir::Feature::Subgroups);
        if !is_subgroup || !row.operands.iter().all(plain) || row.suffix == Suffix::Coop {
            return;
        }
        let scalars: Vec<Option<Scalar>> =
            if row.suffix == Suffix::None { vec![None] } else { suffixes(op).iter().map(Some).collect() };
        for scalar in scalars {
            for workgroup in [64, 48] {
                self.subgroup_case(op, scalar, workgroup);
            }
        }
    }

    fn subgroup_case(&mut self, op: Op, scalar: Option<Scalar>, workgroup: u32) {
        let row = op.row();
        let ty = scalar.map(Type::Scalar);
        let name = format!("{} of {workgroup}", scalar.map_or("words".to_owned(), |s| s.to_string()));
        let mut kernel = Kernel::new(&name.replace(' ', "_"), workgroup);
        let n = 2 * workgroup as usize;
        let input = scalar.unwrap_or(Scalar::U32);
        let bytes = pack(stored(input), (0..n).map(|i| edges::shared(op, input, i)));
        let values = kernel.buffer("in", bytes, true, Expectation::input(stored(input)));
        let sizes = kernel.buffer("size", vec![0; 4], false, Expectation::exact(Scalar::U32));
        let result = match row.results {
            [Pattern::Bool] => Type::BOOL,
            [Pattern::Ballot] => Type::Vector(Scalar::U32, 4),
            [Pattern::U32] => Type::U32,
            _ => ty.unwrap_or(Type::U32),
        };
        let element = stored(result.element().unwrap_or(Scalar::U32));
        let empty = vec![0; n * (element.bytes() * result.lanes()) as usize];
        let mut expectation = Expectation::class(element, Class::Rounded);
        if matches!(op, Op::ShuffleUp | Op::ShuffleDown) {
            expectation.agreement = Agreement::Class(Class::Rounded);
        }
        let output = kernel.buffer("out", empty, false, expectation);
        let b = &mut kernel.builder;
        let size = b.op_with(Op::SubgroupSize, None, &[], &[]);
        let size = b.function.insts[size].results[0];
        let zero = b.u32(0);
        let at_first = b.op(Op::Eq, Scalar::U32, &[kernel.id, zero]);
        let b = &mut kernel.builder;
        b.if_else(
            at_first,
            &[],
            |b| {
                b.store(Scalar::U32, sizes, zero, size);
                b.end(Op::Yield, &[]);
            },
            |b| b.end(Op::Yield, &[]),
        );
        let loaded = kernel.load(input.into(), values);
        let value = kernel.apply_subgroup(op, ty, loaded, size);
        kernel.store(result, output, value);
        self.finish(name, kernel, 2);
        if let Some(case) = self.cases.last_mut() {
            case.width = Some(1);
        }
    }
}

impl Kernel {
    /// Writes to a place that atomic operations use. There are no atomic stores of floats; nobody else is there yet.
    fn put(&mut self, scalar: Scalar, place: ValueId, index: ValueId, value: ValueId) {
        let op = if scalar.is_float() { Op::Store } else { Op::AtomicStore };
        self.builder.op_with(op, Some(scalar.into()), &[place, index, value], &[]);
    }

    /// Reads from a place that atomic operations have used.
    fn get(&mut self, scalar: Scalar, place: ValueId, index: ValueId) -> ValueId {
        self.builder.op(if scalar.is_float() { Op::Load } else { Op::AtomicLoad }, scalar, &[place, index])
    }

    /// Runs `body` in the first invocations of a workgroup.
    fn first_four(&mut self, local: ValueId, four: ValueId, body: impl FnOnce(&mut Kernel)) {
        let id = std::mem::replace(&mut self.id, local);
        self.guarded(four, body);
        self.id = id;
    }

    /// The operation, with lanes and distances that exist whatever the subgroup's width is: whole eights of lanes do, if there are so many.
    fn apply_subgroup(&mut self, op: Op, ty: Option<Type>, value: ValueId, size: ValueId) -> ValueId {
        let b = &mut self.builder;
        let lane = b.op_with(Op::Lane, None, &[], &[]);
        let lane = b.function.insts[lane].results[0];
        let (zero, one, three, eight) = (b.u32(0), b.u32(1), b.u32(3), b.u32(8));
        let last = {
            let most = b.op(Op::Min, Scalar::U32, &[size, eight]);
            b.op(Op::Sub, Scalar::U32, &[most, one])
        };
        let mut operands = vec![];
        // What a shuffle reads must be there: out of range, and in the empty part of a last subgroup, results are undefined.
        let mut keep = None;
        for pattern in op.row().operands {
            operands.push(match pattern {
                Pattern::Bool => {
                    let odd = b.op(Op::And, Scalar::U32, &[value, one]);
                    b.op(Op::Ne, Scalar::U32, &[odd, zero])
                }
                Pattern::U32 => match op {
                    // Each lane of an eight reads another one: three is odd.
                    Op::Shuffle => {
                        let outside = b.op(Op::Not, Scalar::U32, &[last]);
                        let eight = b.op(Op::And, Scalar::U32, &[lane, outside]);
                        let times = b.op(Op::Mul, Scalar::U32, &[lane, three]);
                        let from = b.op(Op::Add, Scalar::U32, &[times, one]);
                        let within = b.op(Op::And, Scalar::U32, &[from, last]);
                        b.op(Op::Or, Scalar::U32, &[eight, within])
                    }
                    Op::Broadcast => last,
                    Op::ShuffleXor => {
                        let five = b.u32(5);
                        b.op(Op::And, Scalar::U32, &[five, last])
                    }
                    Op::ShuffleUp => {
                        keep = Some(b.op(Op::Ge, Scalar::U32, &[lane, three]));
                        three
                    }
                    Op::ShuffleDown => {
                        let next = b.op(Op::Add, Scalar::U32, &[lane, three]);
                        let local = b.position(Op::LocalId, Dim::X);
                        let workgroup = b.position(Op::WorkgroupSize, Dim::X);
                        let after = b.op(Op::Add, Scalar::U32, &[local, three]);
                        let in_subgroup = b.op(Op::Lt, Scalar::U32, &[next, size]);
                        let in_workgroup = b.op(Op::Lt, Scalar::U32, &[after, workgroup]);
                        keep = Some(b.op(Op::And, Scalar::Bool, &[in_subgroup, in_workgroup]));
                        three
                    }
                    other => unreachable!("`{}` takes no lane", other.name()),
                },
                _ => value,
            });
        }
        let inst = b.op_with(op, ty, &operands, &[]);
        let result = b.function.insts[inst].results[0];
        match (keep, ty) {
            (Some(keep), Some(ty)) => b.op(Op::Select, ty, &[keep, result, value]),
            (Some(_), None) | (None, _) => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pure_operation_has_cases() {
        let groups = table_groups();
        for op in Op::ALL {
            let row = op.row();
            if row.family == Family::Scalar {
                assert!(groups.iter().any(|g| g.name == row.name), "`{}` has no cases", row.name);
            }
        }
        let cases: usize = groups.iter().map(|g| g.cases.len()).sum();
        assert!(cases > 800, "{cases}");
    }
}

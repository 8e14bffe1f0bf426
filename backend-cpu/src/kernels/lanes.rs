//! A kernel as one native function that runs a workgroup: `(context, x, y, z) -> fault`, 0 if all went well.
//!
//! A loop over the invocations stands around the body. If the kernel has barriers, a loop stands around that one: a *parallel region* takes every
//! invocation from one barrier to the next. At a barrier an invocation stores what it still needs into its frame and gives the
//! barrier's number; the next parallel region begins behind it. The verifier has proved that all invocations come to the same barrier.
//!
//! ```text
//! entry ─> parallel region(from) ─> lane ─┬─> body ──────────> lane's end(next) ─┬─> lane
//!             ^                 └─> behind barrier k ─^                └─> finished(next) ─> return
//!             └─────────────────────────────────────────────────────────────┘
//! ```

use super::barriers::{self, Point};
use super::context::{self, FrameLayout, SharedLayout, SharedPlace};
use super::{Compiling, FaultPlace};
use crate::translate::{Extent, Form, Place, Result, Translator, machine_type};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlags, Type as Machine, Value, types};
use cranelift_frontend::{FunctionBuilder, Switch};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::{Function, FunctionId, Inst, InstId, Op, Space, Type, ValueId};
use std::collections::BTreeMap;

/// The fault that is none: another thread has ended the launch.
pub(crate) const STOPPED: u32 = u32::MAX;

/// What a kernel's code is besides its address.
#[derive(Clone, Debug)]
pub(crate) struct KernelShape {
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
    /// Shared memories.
    pub shared: SharedLayout,
    /// Bytes of an invocation's frame.
    pub frame: u64,
    /// How many frames there are: invocations that share one do not wait for each other.
    pub frames: u64,
    /// How many parameters the legal kernel has.
    pub parameters: usize,
    /// Accesses by their fault's number, from 1 on.
    pub faults: Vec<FaultPlace>,
}

/// Where a kernel runs.
pub(crate) struct Lane {
    positions: Positions,
    stop: Value,
    context: Value,
    /// Ends the invocation: takes the number of the barrier that it has come to, 0 if it is done.
    end: Block,
    /// Ends the workgroup: takes the number of the fault and the element.
    fault: Block,
    /// Address of the invocation's frame, and barriers with the places of what is kept.
    barriers: Option<Barriers>,
    faults: Vec<FaultPlace>,
}

struct Barriers {
    frame: Value,
    points: Vec<Point>,
    behind: Vec<Block>,
    kept: BTreeMap<ValueId, i32>,
}

/// Where an invocation is; computed where it begins, so that it is known behind every barrier.
struct Positions {
    lane: Value,
    local: [Value; 3],
    workgroup: [Value; 3],
    global: [Value; 3],
    grid: [Value; 3],
    size: [Value; 3],
}

impl<'a> Form<'a> for Lane {
    fn barrier(t: &mut Translator<'a, '_, Self>, at: InstId, position: usize) -> Result<()> {
        let Some(barriers) = &t.form.barriers else { return Ok(()) };
        let found = barriers.points.iter().position(|p| p.at == at && p.position == position);
        let number = found.ok_or_else(|| broken(t.function, "a barrier is not known"))?;
        let (frame, behind) = (barriers.frame, barriers.behind[number]);
        let live: Vec<(ValueId, i32)> =
            barriers.points[number].live.iter().map(|v| (*v, barriers.kept.get(v).copied().unwrap_or(0))).collect();
        for (value, at) in &live {
            let value = t.get(*value)?;
            t.b.ins().store(kept_flags(), value, frame, *at);
        }
        let next = t.b.ins().iconst(types::I32, number as i64 + 1);
        t.b.ins().jump(t.form.end, &[BlockArg::Value(next)]);
        t.b.switch_to_block(behind);
        t.b.seal_block(behind);
        for (value, at) in &live {
            let ty = t.machine_type(*value)?;
            let again = t.b.ins().load(ty, kept_flags(), frame, *at);
            t.set(*value, again);
        }
        Ok(())
    }

    fn position(t: &mut Translator<'a, '_, Self>, inst: &Inst) -> Result<Value> {
        let dim = inst.dim() as usize;
        let p = &t.form.positions;
        Ok(match inst.op {
            Op::GlobalId => p.global[dim],
            Op::LocalId => p.local[dim],
            Op::LocalIndex => p.lane,
            Op::WorkgroupId => p.workgroup[dim],
            Op::NumWorkgroups => p.grid[dim],
            Op::WorkgroupSize => p.size[dim],
            _no_position => return Err(broken(t.function, "an operation that is no position")),
        })
    }

    fn leave(t: &mut Translator<'a, '_, Self>, _: &[Value]) -> Result<()> {
        let done = t.b.ins().iconst(types::I32, 0);
        t.b.ins().jump(t.form.end, &[BlockArg::Value(done)]);
        Ok(())
    }

    fn hidden(t: &mut Translator<'a, '_, Self>, callee: FunctionId) -> Result<Vec<Value>> {
        let Some(callee) = t.callees.get(callee).copied().flatten() else { return Ok(vec![]) };
        let mut hidden = vec![];
        if callee.context {
            hidden.push(t.form.context);
        }
        if callee.position {
            let p = &t.form.positions;
            hidden.push(p.lane);
            hidden.extend(p.local.iter().chain(&p.workgroup));
        }
        Ok(hidden)
    }

    fn outside(
        t: &mut Translator<'a, '_, Self>,
        inst: &Inst,
        memory: ValueId,
        is: Value,
        element: Value,
    ) -> Result<()> {
        t.form.faults.push(FaultPlace::of(t.function, inst, memory));
        let number = t.b.ins().iconst(types::I32, t.form.faults.len() as i64);
        let inside = t.b.create_block();
        let arguments = [number, element, t.form.positions.lane].map(BlockArg::Value);
        t.b.ins().brif(is, t.form.fault, &arguments, inside, &[]);
        t.b.seal_block(inside);
        t.b.switch_to_block(inside);
        Ok(())
    }

    fn poll(t: &mut Translator<'a, '_, Self>, repeats: &Inst) -> Result<()> {
        if t.ends_soon(repeats) {
            return Ok(());
        }
        let stop = t.b.ins().atomic_load(types::I32, MemFlags::trusted(), t.form.stop);
        let number = t.b.ins().iconst(types::I32, i64::from(STOPPED));
        let nothing = t.b.ins().iconst(types::I64, 0);
        let go_on = t.b.create_block();
        let arguments = [number, nothing, t.form.positions.lane].map(BlockArg::Value);
        t.b.ins().brif(stop, t.form.fault, &arguments, go_on, &[]);
        t.b.seal_block(go_on);
        t.b.switch_to_block(go_on);
        Ok(())
    }
}

/// Spilled values and private memory share a frame but not bytes.
fn kept_flags() -> MemFlags {
    MemFlags::trusted()
}

/// Writes a kernel's function; gives what is known of it besides.
pub(super) fn write(compiling: &mut Compiling<'_>, kernel: &Function) -> Result<KernelShape> {
    let points = barriers::points(kernel, is_position);
    let mut frame = FrameLayout::default();
    let kept = places_of_kept(kernel, &points, &mut frame)?;
    let private = private_memories(kernel, &mut frame);
    let workgroup = kernel.launch.as_ref().map_or([1; 3], |l| l.workgroup);
    let invocations = workgroup.iter().map(|n| u64::from(*n)).product();
    let frames = if points.is_empty() { 1 } else { invocations };
    let (shared, frame, parameters) = (SharedLayout::of(kernel), frame.stride(), kernel.params.len());
    let mut shape = KernelShape { workgroup, shared, frame, frames, parameters, faults: vec![] };

    let Compiling { context: code, builder, module, callees } = compiling;
    let mut b = FunctionBuilder::new(&mut code.func, builder);
    let mut given = Given::read(&mut b, kernel, &shape.shared)?;
    let blocks = Blocks::new(&mut b);
    let zero = b.ins().iconst(types::I32, 0);
    b.ins().jump(blocks.region, &[BlockArg::Value(zero)]);
    b.switch_to_block(blocks.region);
    b.ins().jump(blocks.head, &[BlockArg::Value(zero)]);

    b.switch_to_block(blocks.head);
    let frame = frame_address(&mut b, &given, &shape, blocks.lane);
    let positions = Positions::new(&mut b, &given, blocks.lane, workgroup);
    for (value, at, bytes) in private {
        let base = b.ins().iadd_imm(frame, at as i64);
        let place = Place { base, extent: Extent::Known(bytes), space: Space::Private, readonly: false };
        given.places.push((value, place));
    }
    let behind = blocks.begin(&mut b, points.len());
    let barriers = (!points.is_empty()).then(|| Barriers { frame, points, behind, kept: kept.clone() });
    let (stop, context) = (given.stop, given.context);
    let form = Lane { positions, stop, context, end: blocks.end, fault: blocks.fault, barriers, faults: vec![] };
    let mut t = Translator::new(b, kernel, &mut **module, callees, form);
    given.params.into_iter().for_each(|(param, value)| t.set(param, value));
    t.places.extend(given.places);
    kept.into_keys().try_for_each(|value| t.declare_variable(value))?;
    t.body()?;
    blocks.close(&mut t.b, context, invocations as i64, zero);
    shape.faults = std::mem::take(&mut t.form.faults);
    t.finish();
    Ok(shape)
}

/// What a workgroup is given: read once, where its function begins.
struct Given {
    context: Value,
    /// The workgroup's position.
    ids: [Value; 3],
    grid: [Value; 3],
    stop: Value,
    frames: Value,
    params: Vec<(ValueId, Value)>,
    places: Vec<(ValueId, Place)>,
}

impl Given {
    fn read(b: &mut FunctionBuilder<'_>, kernel: &Function, shared: &SharedLayout) -> Result<Given> {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let [context, x, y, z] = b.block_params(entry)[..] else {
            return Err(broken(kernel, "its signature is wrong"));
        };
        let mut load = |ty: Machine, word: usize| b.ins().load(ty, constant_flags(), context, 8 * word as i32);
        let (stop, frames) = (load(types::I64, context::STOP), load(types::I64, context::FRAMES));
        let grid = [0, 1, 2].map(|i| load(types::I32, context::GRID + i));
        let (mut params, mut places) = (vec![], vec![]);
        for (i, param) in kernel.params.iter().enumerate() {
            let word = context::parameter(i);
            match kernel.ty(*param) {
                Type::Memory(space) => {
                    let base = load(types::I64, word);
                    let extent = Extent::Value(load(types::I64, word + 1));
                    let readonly = kernel.param_attrs(*param).readonly;
                    places.push((*param, Place { base, extent, space, readonly }));
                }
                ty => {
                    let ty = machine_type(ty).ok_or_else(|| broken(kernel, "a parameter has no machine type"))?;
                    params.push((*param, load(ty, word)));
                }
            }
        }
        let mut given = Given { context, ids: [x, y, z], grid, stop, frames, params, places };
        given.shared(b, kernel, shared);
        Ok(given)
    }

    /// Adds the places of shared memories.
    fn shared(&mut self, b: &mut FunctionBuilder<'_>, kernel: &Function, shared: &SharedLayout) {
        let context = self.context;
        let load = |b: &mut FunctionBuilder<'_>, word: usize| {
            b.ins().load(types::I64, constant_flags(), context, 8 * word as i32)
        };
        let start = load(b, context::SHARED);
        for (id, place) in &shared.places {
            let (base, extent) = match place {
                SharedPlace::Fixed { at, bytes } => (b.ins().iadd_imm(start, *at as i64), Extent::Known(*bytes)),
                SharedPlace::Chosen(i) => {
                    let word = context::chosen(kernel.params.len(), *i);
                    let (at, bytes) = (load(b, word), load(b, word + 1));
                    (b.ins().iadd(start, at), Extent::Value(bytes))
                }
            };
            let place = Place { base, extent, space: Space::Shared, readonly: false };
            self.places.push((kernel.memories[*id].value, place));
        }
    }
}

/// The loops over parallel regions and invocations.
struct Blocks {
    region: Block,
    /// Behind which barrier the parallel region begins.
    from: Value,
    head: Block,
    lane: Value,
    body: Block,
    end: Block,
    /// To which barrier the invocation has come.
    next: Value,
    finished: Block,
    after: Value,
    fault: Block,
    /// The number of the fault, the element, the invocation.
    faulty: [Value; 3],
}

impl Blocks {
    fn new(b: &mut FunctionBuilder<'_>) -> Blocks {
        let mut block = |ty: Machine| {
            let block = b.create_block();
            (block, b.append_block_param(block, ty))
        };
        let ((region, from), (head, lane)) = (block(types::I32), block(types::I32));
        let ((end, next), (finished, after)) = (block(types::I32), block(types::I32));
        let (body, fault) = (b.create_block(), b.create_block());
        let faulty = [types::I32, types::I64, types::I32].map(|ty| b.append_block_param(fault, ty));
        b.set_cold_block(fault);
        Blocks { region, from, head, lane, body, end, next, finished, after, fault, faulty }
    }

    /// Begins an invocation, where it left off; gives a block behind each of so many barriers.
    fn begin(&self, b: &mut FunctionBuilder<'_>, barriers: usize) -> Vec<Block> {
        let behind: Vec<Block> = (0..barriers).map(|_| b.create_block()).collect();
        if behind.is_empty() {
            b.ins().jump(self.body, &[]);
        } else {
            let mut switch = Switch::new();
            behind.iter().zip(1..).for_each(|(block, number)| switch.set_entry(number, *block));
            switch.emit(b, self.from, self.body);
        }
        b.seal_block(self.body);
        b.switch_to_block(self.body);
        behind
    }

    /// Ends the loops, and the function.
    fn close(&self, b: &mut FunctionBuilder<'_>, context: Value, invocations: i64, zero: Value) {
        b.switch_to_block(self.end);
        let other = b.ins().iadd_imm(self.lane, 1);
        let more = b.ins().icmp_imm(IntCC::UnsignedLessThan, other, invocations);
        b.ins().brif(more, self.head, &[BlockArg::Value(other)], self.finished, &[BlockArg::Value(self.next)]);
        b.switch_to_block(self.finished);
        let done = b.create_block();
        b.ins().brif(self.after, self.region, &[BlockArg::Value(self.after)], done, &[]);
        b.switch_to_block(done);
        b.ins().return_(&[zero]);
        b.switch_to_block(self.fault);
        let [number, element, culprit] = self.faulty;
        b.ins().store(MemFlags::trusted(), element, context, 8 * context::ELEMENT as i32);
        b.ins().store(MemFlags::trusted(), culprit, context, 8 * context::LANE as i32);
        b.ins().return_(&[number]);
    }
}

impl Positions {
    fn new(b: &mut FunctionBuilder<'_>, given: &Given, lane: Value, workgroup: [u32; 3]) -> Positions {
        let local = local_position(b, lane, workgroup);
        let size = workgroup.map(|n| b.ins().iconst(types::I32, i64::from(n)));
        let global = [0, 1, 2].map(|i| {
            let start = b.ins().imul(given.ids[i], size[i]);
            b.ins().iadd(start, local[i])
        });
        Positions { lane, local, workgroup: given.ids, global, grid: given.grid, size }
    }
}

/// Where an invocation's frame begins.
fn frame_address(b: &mut FunctionBuilder<'_>, given: &Given, shape: &KernelShape, lane: Value) -> Value {
    if shape.frames == 1 {
        return given.frames;
    }
    let wide = b.ins().uextend(types::I64, lane);
    let distance = b.ins().imul_imm(wide, shape.frame as i64);
    b.ins().iadd(given.frames, distance)
}

/// A place in the frame for each value that is kept at some barrier.
fn places_of_kept(kernel: &Function, points: &[Point], frame: &mut FrameLayout) -> Result<BTreeMap<ValueId, i32>> {
    let mut kept: BTreeMap<ValueId, i32> = BTreeMap::new();
    for value in points.iter().flat_map(|p| &p.live) {
        let ty = machine_type(kernel.ty(*value)).ok_or_else(|| broken(kernel, "a kept value has no machine type"))?;
        let size = u64::from(ty.bytes());
        kept.entry(*value).or_insert_with(|| frame.add(size, size) as i32);
    }
    Ok(kept)
}

/// Words that stay what they are while a workgroup runs.
fn constant_flags() -> MemFlags {
    MemFlags::trusted().with_readonly().with_can_move()
}

pub(super) fn is_position(op: Op) -> bool {
    matches!(op, Op::GlobalId | Op::LocalId | Op::LocalIndex | Op::WorkgroupId | Op::NumWorkgroups | Op::WorkgroupSize)
}

/// The handles of a kernel's private memories, with their places in a frame and their bytes.
fn private_memories(kernel: &Function, frame: &mut FrameLayout) -> Vec<(ValueId, u64, u64)> {
    let private = kernel.memories.iter().filter(|m| m.space == Space::Private);
    let place = |m: &girih_ir::Memory| {
        let bytes = kernel.as_constant(m.length).unwrap_or(0) * u64::from(m.element.bytes());
        // Frames begin at multiples of 16 only, which is as much as an access needs.
        (m.value, frame.add(bytes, 16), bytes)
    };
    private.map(place).collect()
}

/// An invocation's position from its number: x fastest.
fn local_position(b: &mut FunctionBuilder<'_>, lane: Value, [x, y, z]: [u32; 3]) -> [Value; 3] {
    let zero = b.ins().iconst(types::I32, 0);
    let rows = if y * z > 1 { b.ins().udiv_imm(lane, i64::from(x)) } else { zero };
    let along = if y * z > 1 { b.ins().urem_imm(lane, i64::from(x)) } else { lane };
    let layer = if z > 1 { b.ins().udiv_imm(rows, i64::from(y)) } else { zero };
    let row = if z > 1 { b.ins().urem_imm(rows, i64::from(y)) } else { rows };
    [along, row, layer]
}

/// A mistake of this crate.
pub(super) fn broken(function: &Function, what: &str) -> Diagnostic {
    Diagnostic::new(Code::Internal, function.span, format!("`@{}`: {what}", function.name))
}

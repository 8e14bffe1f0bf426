//! A kernel as one native function that runs a workgroup: `(context, x, y, z) -> fault`, 0 if all went well.
//!
//! A loop over the invocations stands around the body. If the kernel has barriers, a loop stands around that one: a *sweep* takes every
//! invocation from one barrier to the next. At a barrier an invocation stores what it still needs into its frame and gives the
//! barrier's number; the next sweep begins behind it. The verifier has proved that all invocations come to the same barrier.
//!
//! ```text
//! entry ─> sweep(from) ─> lane ─┬─> body ──────────> lane's end(next) ─┬─> lane
//!             ^                 └─> behind barrier k ─^                └─> swept(next) ─> return
//!             └─────────────────────────────────────────────────────────────┘
//! ```

use super::barriers::{self, Point};
use super::context::{self, FrameLayout, SharedLayout, SharedPlace};
use super::{Compiling, FaultPlace};
use crate::translate::{Extent, Form, Place, Result, Translator, machine_type};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlags, Type as Machine, Value, types};
use cranelift_frontend::{FunctionBuilder, Switch};
use girih_core::diag::{Code, Diagnostic};
use girih_core::ir::{Function, FunctionId, Inst, InstId, Op, Space, Type, ValueId};
use std::collections::HashMap;

/// The fault that is none: another thread has ended the launch.
pub(crate) const STOPPED: u32 = u32::MAX;

/// What a kernel's code is besides its address.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
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
    kept: HashMap<ValueId, i32>,
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

impl Form for Lane {
    fn barrier(t: &mut Translator<'_, '_, Self>, at: InstId, position: usize) -> Result<()> {
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

    fn position(t: &mut Translator<'_, '_, Self>, inst: &Inst) -> Result<Value> {
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

    fn leave(t: &mut Translator<'_, '_, Self>, _: &[Value]) -> Result<()> {
        let done = t.b.ins().iconst(types::I32, 0);
        t.b.ins().jump(t.form.end, &[BlockArg::Value(done)]);
        Ok(())
    }

    fn hidden(t: &mut Translator<'_, '_, Self>, callee: FunctionId) -> Result<Vec<Value>> {
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
        t: &mut Translator<'_, '_, Self>,
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

    fn poll(t: &mut Translator<'_, '_, Self>) -> Result<()> {
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
pub(super) fn write(compiling: &mut Compiling<'_>, kernel: &Function) -> Result<Shape> {
    let workgroup = kernel.launch.as_ref().map_or([1; 3], |l| l.workgroup);
    let invocations: u64 = workgroup.iter().map(|n| u64::from(*n)).product();
    let points = barriers::points(kernel, is_position);
    let mut frame = FrameLayout::default();
    let mut kept: HashMap<ValueId, i32> = HashMap::new();
    for value in points.iter().flat_map(|p| &p.live) {
        let ty = machine_type(kernel.ty(*value)).ok_or_else(|| broken(kernel, "a kept value has no machine type"))?;
        let size = u64::from(ty.bytes());
        kept.entry(*value).or_insert_with(|| frame.add(size, size) as i32);
    }
    let private: Vec<(ValueId, u64, u64)> = private_memories(kernel, &mut frame);
    let shared = SharedLayout::of(kernel);
    let frames = if points.is_empty() { 1 } else { invocations };
    let mut shape =
        Shape { workgroup, shared, frame: frame.stride(), frames, parameters: kernel.params.len(), faults: vec![] };

    let Compiling { context: code, builder, module, callees } = compiling;
    let mut b = FunctionBuilder::new(&mut code.func, builder);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let [context, x, y, z] = b.block_params(entry)[..] else { return Err(broken(kernel, "its signature is wrong")) };
    let mut load = |ty: Machine, word: usize| b.ins().load(ty, constant_flags(), context, 8 * word as i32);
    let stop = load(types::I64, context::STOP);
    let shared_base = load(types::I64, context::SHARED);
    let frames_base = load(types::I64, context::FRAMES);
    let grid = [0, 1, 2].map(|i| load(types::I32, context::GRID + i));
    let mut params: Vec<(ValueId, Value)> = vec![];
    let mut places: Vec<(ValueId, Place)> = vec![];
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
    let chosen: Vec<[Value; 2]> = (0..shape.shared.chosen.len())
        .map(|i| context::chosen(kernel.params.len(), i))
        .map(|word| [load(types::I64, word), load(types::I64, word + 1)])
        .collect();
    for (id, place) in &shape.shared.places {
        let (base, extent) = match place {
            SharedPlace::Fixed { at, bytes } => (b.ins().iadd_imm(shared_base, *at as i64), Extent::Known(*bytes)),
            SharedPlace::Chosen(i) => (b.ins().iadd(shared_base, chosen[*i][0]), Extent::Value(chosen[*i][1])),
        };
        places.push((kernel.memories[*id].value, Place { base, extent, space: Space::Shared, readonly: false }));
    }

    // The loops over sweeps and invocations.
    let (sweep, head, body) = (b.create_block(), b.create_block(), b.create_block());
    let (end, swept, fault) = (b.create_block(), b.create_block(), b.create_block());
    let from = b.append_block_param(sweep, types::I32);
    let lane = b.append_block_param(head, types::I32);
    let next = b.append_block_param(end, types::I32);
    let after = b.append_block_param(swept, types::I32);
    let fault_params = [types::I32, types::I64, types::I32].map(|ty| b.append_block_param(fault, ty));
    b.set_cold_block(fault);
    let zero = b.ins().iconst(types::I32, 0);
    b.ins().jump(sweep, &[BlockArg::Value(zero)]);
    b.switch_to_block(sweep);
    b.ins().jump(head, &[BlockArg::Value(zero)]);

    b.switch_to_block(head);
    let frame_address = if frames == 1 {
        frames_base
    } else {
        let wide = b.ins().uextend(types::I64, lane);
        let distance = b.ins().imul_imm(wide, shape.frame as i64);
        b.ins().iadd(frames_base, distance)
    };
    let local = local_position(&mut b, lane, workgroup);
    let ids = [x, y, z];
    let size = workgroup.map(|n| b.ins().iconst(types::I32, i64::from(n)));
    let global = [0, 1, 2].map(|i| {
        let start = b.ins().imul_imm(ids[i], i64::from(workgroup[i]));
        b.ins().iadd(start, local[i])
    });
    for (value, at, bytes) in private {
        let base = b.ins().iadd_imm(frame_address, at as i64);
        places.push((value, Place { base, extent: Extent::Known(bytes), space: Space::Private, readonly: false }));
    }
    let behind: Vec<Block> = points.iter().map(|_| b.create_block()).collect();
    if behind.is_empty() {
        b.ins().jump(body, &[]);
    } else {
        let mut switch = Switch::new();
        behind.iter().zip(1u128..).for_each(|(block, number)| switch.set_entry(number, *block));
        switch.emit(&mut b, from, body);
    }
    b.seal_block(body);
    b.switch_to_block(body);
    let barriers = (!points.is_empty()).then_some(Barriers { frame: frame_address, points, behind, kept });
    let kept: Vec<ValueId> = barriers.as_ref().map_or(vec![], |b| b.kept.keys().copied().collect());
    let positions = Positions { lane, local, workgroup: ids, global, grid, size };
    let form = Lane { positions, stop, context, end, fault, barriers, faults: vec![] };
    let mut t = Translator::new(b, kernel, &mut **module, callees, form);
    params.into_iter().for_each(|(param, value)| t.set(param, value));
    t.places.extend(places);
    kept.into_iter().try_for_each(|value| t.declare_variable(value))?;
    t.body()?;

    t.b.switch_to_block(end);
    let other = t.b.ins().iadd_imm(lane, 1);
    let more = t.b.ins().icmp_imm(IntCC::UnsignedLessThan, other, invocations as i64);
    t.b.ins().brif(more, head, &[BlockArg::Value(other)], swept, &[BlockArg::Value(next)]);
    t.b.switch_to_block(swept);
    let done = t.b.create_block();
    t.b.ins().brif(after, sweep, &[BlockArg::Value(after)], done, &[]);
    t.b.switch_to_block(done);
    t.b.ins().return_(&[zero]);
    t.b.switch_to_block(fault);
    let [number, element, culprit] = fault_params;
    t.b.ins().store(MemFlags::trusted(), element, context, 8 * context::ELEMENT as i32);
    t.b.ins().store(MemFlags::trusted(), culprit, context, 8 * context::LANE as i32);
    t.b.ins().return_(&[number]);
    shape.faults = std::mem::take(&mut t.form.faults);
    t.finish();
    Ok(shape)
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
    let place = |m: &girih_core::ir::Memory| {
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

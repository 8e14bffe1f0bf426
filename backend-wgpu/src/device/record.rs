//! Commands become one command buffer: dispatches that follow each other share a pass, and wgpu puts the barriers between them that
//! their bindings ask for.

use super::State;
use super::programs::Program;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_lower::{Parameter, PlannedGrid};
use girih_runtime::driver::{BlockId, Command, Dispatch, ProgramId, Slice, bad_arguments};
use std::collections::HashMap;
use std::sync::Arc;

/// What a bind group is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    program: ProgramId,
    /// For each buffer parameter its memory; none for the traps.
    buffers: Vec<Option<Slice>>,
    /// The number of the buffer in which scalar parameters stand, if there are any.
    uniform: Option<usize>,
}

/// Bind groups that were made before, and the buffers in which scalar parameters stand.
#[derive(Debug, Default)]
pub struct Groups {
    made: HashMap<Key, wgpu::BindGroup>,
    uniforms: Vec<Option<wgpu::Buffer>>,
    /// Numbers of those that nobody has.
    free: Vec<usize>,
}

/// A buffer for scalar parameters, until what reads them is submitted: what is submitted later may write them again, for the queue is in order. So nothing is
/// locked meanwhile, when wgpu may call others back.
pub(super) struct Parameters<'a> {
    state: &'a State,
    uniform: usize,
}

impl Drop for Parameters<'_> {
    fn drop(&mut self) {
        self.state.groups().give_uniform(self.uniform);
    }
}

/// Commands that can be submitted.
pub(super) struct Recorded<'a> {
    pub commands: wgpu::CommandBuffer,
    /// Whether they may note traps.
    pub traps: bool,
    pub parameters: Parameters<'a>,
}

/// More bind groups than this are not kept.
const KEPT: usize = 4096;

impl Groups {
    /// The number of a buffer for scalar parameters that nobody has.
    pub fn take_uniform(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.uniforms.push(None);
            self.uniforms.len() - 1
        })
    }
    /// Takes one back.
    pub fn give_uniform(&mut self, uniform: usize) {
        self.free.push(uniform);
    }
    /// A block goes away.
    pub fn forget_block(&mut self, block: BlockId) {
        self.made.retain(|key, _| !key.buffers.iter().flatten().any(|slice| slice.block == block));
    }
    /// A program goes away.
    pub fn forget_program(&mut self, program: ProgramId) {
        self.made.retain(|key, _| key.program != program);
    }
}

/// A command with everything that recording it needs.
pub(super) enum Step {
    Run {
        program: Arc<Program>,
        group: wgpu::BindGroup,
        offset: Option<u32>,
        grid: StepGrid,
    },
    /// Within one buffer it goes `through` another one: wgpu does not copy from a buffer to itself.
    Copy {
        from: (wgpu::Buffer, u64),
        through: Option<wgpu::Buffer>,
        to: (wgpu::Buffer, u64),
        bytes: u64,
    },
    Clear {
        at: (wgpu::Buffer, u64),
        bytes: u64,
    },
}

pub(super) enum StepGrid {
    Workgroups([u32; 3]),
    Indirect(wgpu::Buffer, u64),
}

/// A dispatch that is checked, with its parameters.
pub(super) struct Prepared {
    program: Arc<Program>,
    key: Key,
    words: Vec<u8>,
    grid: StepGrid,
}

/// A command that is checked.
pub(super) enum Checked {
    Run(Prepared),
    Step(Step),
}

/// Where the times before and after the commands are noted.
#[derive(Clone, Copy, Debug)]
pub struct Timestamps<'a> {
    /// The set of queries.
    pub set: &'a wgpu::QuerySet,
    /// The query of the time before; that of the time after is the next one.
    pub first: u32,
}

impl State {
    /// Records commands; nothing is submitted.
    pub(super) fn recorded(&self, commands: &[Command]) -> Result<Recorded<'_>, Diagnostic> {
        let (steps, traps, parameters) = self.steps(commands)?;
        Ok(Recorded { commands: self.encoded(&steps, None)?, traps, parameters })
    }

    /// Commands, checked and bound, whether they may note traps, and where their parameters stand.
    pub(super) fn steps(&self, commands: &[Command]) -> Result<(Vec<Step>, bool, Parameters<'_>), Diagnostic> {
        let parameters = Parameters { state: self, uniform: self.groups().take_uniform() };
        let (steps, traps) = self.bound(commands, parameters.uniform)?;
        Ok((steps, traps, parameters))
    }

    /// Commands, checked and bound to a buffer for scalar parameters, and whether they may note traps.
    pub(super) fn bound(&self, commands: &[Command], uniform: usize) -> Result<(Vec<Step>, bool), Diagnostic> {
        let mut checked = vec![];
        for command in commands {
            checked.extend(self.check(command)?);
        }
        let steps = self.bind(&mut self.groups(), checked, uniform)?;
        let traps = steps.iter().any(|s| matches!(s, Step::Run { program, .. } if program.traps));
        Ok((steps, traps))
    }

    /// A command buffer of steps.
    pub(super) fn encoded(
        &self,
        steps: &[Step],
        timestamps: Option<Timestamps<'_>>,
    ) -> Result<wgpu::CommandBuffer, Diagnostic> {
        self.health.run(&self.device, || {
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            // What is one pass is timed by the pass: the barriers before it are not its own.
            let (inside, around) = match steps.iter().all(|step| matches!(step, Step::Run { .. })) && !steps.is_empty()
            {
                true => (timestamps, None),
                false => (None, timestamps),
            };
            if let Some(Timestamps { set, first }) = around {
                encoder.write_timestamp(set, first);
            }
            self.encode(&mut encoder, steps, inside)?;
            if let Some(Timestamps { set, first }) = around {
                encoder.write_timestamp(set, first + 1);
            }
            Ok(encoder.finish())
        })
    }

    /// Records steps. If they are one pass, it notes when it begins and ends.
    fn encode(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        steps: &[Step],
        timestamps: Option<Timestamps<'_>>,
    ) -> Result<(), Diagnostic> {
        let mut steps = steps.iter().peekable();
        while let Some(step) = steps.peek() {
            match step {
                Step::Copy { from, through, to, bytes } => {
                    let mut from = (&from.0, from.1);
                    if let Some(scratch) = through {
                        encoder.copy_buffer_to_buffer(from.0, from.1, scratch, 0, *bytes);
                        from = (scratch, 0);
                    }
                    encoder.copy_buffer_to_buffer(from.0, from.1, &to.0, to.1, *bytes);
                    steps.next();
                }
                Step::Clear { at, bytes } => {
                    encoder.clear_buffer(&at.0, at.1, Some(*bytes));
                    steps.next();
                }
                Step::Run { .. } => {
                    let timestamp_writes =
                        timestamps.map(|Timestamps { set, first }| wgpu::ComputePassTimestampWrites {
                            query_set: set,
                            beginning_of_pass_write_index: Some(first),
                            end_of_pass_write_index: Some(first + 1),
                        });
                    let mut pass =
                        encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes });
                    let mut current: Option<&Arc<Program>> = None;
                    while let Some(Step::Run { program, group, offset, grid }) =
                        steps.next_if(|s| matches!(s, Step::Run { .. }))
                    {
                        if current.is_none_or(|current| !Arc::ptr_eq(current, program)) {
                            pass.set_pipeline(&program.pipeline);
                            current = Some(program);
                        }
                        pass.set_bind_group(0, group, offset.as_slice());
                        match grid {
                            StepGrid::Workgroups([x, y, z]) => pass.dispatch_workgroups(*x, *y, *z),
                            StepGrid::Indirect(buffer, offset) => pass.dispatch_workgroups_indirect(buffer, *offset),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks a command. Nothing comes of one that does nothing.
    pub(super) fn check(&self, command: &Command) -> Result<Option<Checked>, Diagnostic> {
        Ok(match command {
            Command::Dispatch(dispatch) => self.prepare(dispatch)?.map(Checked::Run),
            Command::Copy { from, to } => {
                let bytes = from.bytes;
                let (source, target) = (self.blocks().place(*from)?, self.blocks().place(*to)?);
                let is_one = from.block == to.block;
                if is_one && from.offset < to.offset + bytes && to.offset < from.offset + bytes && bytes > 0 {
                    return Err(bad_arguments("a copy within one buffer overlaps itself"));
                }
                let through = if is_one && bytes > 0 { Some(self.scratch(bytes)?) } else { None };
                (bytes > 0).then_some(Checked::Step(Step::Copy { from: source, through, to: target, bytes }))
            }
            Command::Clear(at) => {
                let place = self.blocks().place(*at)?;
                (at.bytes > 0).then_some(Checked::Step(Step::Clear { at: place, bytes: at.bytes }))
            }
        })
    }

    /// Memory for the time of one copy.
    fn scratch(&self, bytes: u64) -> Result<wgpu::Buffer, Diagnostic> {
        self.health.run(&self.device, || {
            Ok(self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("scratch"),
                size: bytes,
                usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }))
        })
    }

    fn prepare(&self, dispatch: &Dispatch) -> Result<Option<Prepared>, Diagnostic> {
        let program = self.program(dispatch.program)?;
        // Bindings begin at multiples of this.
        let least = self.device.limits().min_storage_buffer_offset_alignment;
        if let Some(origin) = &program.origin {
            let load = |m: &_, k: &[_], o: &_| self.load_module(m, k, o);
            let held = (least, self.context.caps());
            if let Some(other) = origin.shifted(&program.entry, dispatch, held, load)? {
                return self.prepare(&other);
            }
        }
        let plan = program.entry.plan(&dispatch.arguments, dispatch.grid)?;
        let grid = match plan.grid {
            PlannedGrid::Workgroups(size) if size.contains(&0) => return Ok(None),
            PlannedGrid::Workgroups(size) => StepGrid::Workgroups(size),
            PlannedGrid::Indirect(slice) => {
                let (raw, offset) = self.blocks().place(slice)?;
                if !raw.usage().contains(wgpu::BufferUsages::INDIRECT) {
                    return Err(bad_arguments(
                        "the grid is in a buffer that was not allocated for indirect dispatches",
                    ));
                }
                StepGrid::Indirect(raw, offset)
            }
        };
        let read = if let PlannedGrid::Indirect(slice) = plan.grid { Some(slice.block) } else { None };
        check_aliases(&program, &plan.parameters, read)?;
        let mut buffers = vec![];
        for parameter in &plan.parameters {
            match *parameter {
                Parameter::Buffer(slice) => {
                    if slice.align < least {
                        let at = slice.offset;
                        let message = format!(
                            "a buffer is passed starting at byte {at}, but the device binds at multiples of {least}"
                        );
                        return Err(bad_arguments(message));
                    }
                    self.bindable(slice)?;
                    buffers.push(Some(slice));
                }
                Parameter::Traps => buffers.push(None),
                Parameter::Scalar(_) => {}
            }
        }
        let words = scalars(&program, &plan.parameters);
        Ok(Some(Prepared { program, key: Key { program: dispatch.program, buffers, uniform: None }, words, grid }))
    }

    /// How many bytes a binding of a slice has: whole vectors of four words, where these are there.
    fn bindable(&self, slice: Slice) -> Result<u64, Diagnostic> {
        let there = self.blocks().get(slice.block)?.size().saturating_sub(slice.offset);
        let bytes = slice.bytes.max(1).next_multiple_of(16).min(there);
        let most = self.context.caps().binding_bytes;
        if bytes == 0 {
            return Err(bad_arguments(format!("a buffer is passed from its end, byte {}, on", slice.offset)));
        }
        if bytes > most {
            let message = format!("a buffer of {bytes} bytes is passed to a kernel, but the device reaches {most}");
            return Err(Diagnostic::new(Code::OverLimit, Span::NONE, message)
                .hint("give the kernel several buffer parameters, one for each segment of the data"));
        }
        Ok(bytes)
    }

    /// Places the scalar parameters in a buffer and makes the bind groups.
    fn bind(&self, groups: &mut Groups, checked: Vec<Checked>, uniform: usize) -> Result<Vec<Step>, Diagnostic> {
        let align = u64::from(self.device.limits().min_uniform_buffer_offset_alignment).max(16) as usize;
        let mut block: Vec<u8> = vec![];
        let mut offsets = vec![];
        for command in &checked {
            let Checked::Run(Prepared { words, .. }) = command else { continue };
            if words.is_empty() {
                offsets.push(None);
            } else {
                block.resize(block.len().next_multiple_of(align), 0);
                offsets.push(Some(block.len() as u32));
                block.extend(words);
            }
        }
        self.fill_uniform(groups, uniform, &block)?;
        let mut offsets = offsets.into_iter();
        let mut steps = vec![];
        for command in checked {
            steps.push(match command {
                Checked::Step(step) => step,
                Checked::Run(Prepared { program, mut key, grid, .. }) => {
                    key.uniform = program.layout.uniform().map(|_| uniform);
                    let group = self.group(groups, &program, key)?;
                    Step::Run { program, group, offset: offsets.next().flatten(), grid }
                }
            });
        }
        Ok(steps)
    }

    fn fill_uniform(&self, groups: &mut Groups, uniform: usize, block: &[u8]) -> Result<(), Diagnostic> {
        if block.is_empty() {
            return Ok(());
        }
        let size = (block.len() as u64).max(64 << 10).next_power_of_two();
        if groups.uniforms[uniform].as_ref().is_none_or(|b| b.size() < size) {
            let buffer = self.health.run(&self.device, || {
                Ok(self.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("parameters"),
                    size,
                    usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                }))
            })?;
            groups.uniforms[uniform] = Some(buffer);
            groups.made.retain(|key, _| key.uniform != Some(uniform));
        }
        let Some(uniform) = &groups.uniforms[uniform] else { return Ok(()) };
        // In the queue's order: what was submitted before still reads what was written before.
        self.health.run(&self.device, || {
            self.queue.write_buffer(uniform, 0, block);
            Ok(())
        })
    }

    fn group(&self, groups: &mut Groups, program: &Program, key: Key) -> Result<wgpu::BindGroup, Diagnostic> {
        if let Some(group) = groups.made.get(&key) {
            return Ok(group.clone());
        }
        let (blocks, mut entries) = (self.blocks(), vec![]);
        // A binding names a parameter of the kernel; the key lists buffer parameters only.
        let positions: Vec<usize> = buffer_positions(program);
        for (i, binding) in (0..).zip(&program.layout.bindings) {
            let position = positions.iter().position(|p| *p == binding.param).unwrap_or(0);
            let (raw, offset, bytes) = match key.buffers.get(position).copied().flatten() {
                Some(slice) => (blocks.get(slice.block)?, slice.offset, self.bindable(slice)?),
                None => (&self.traps, 0, 16),
            };
            entries.push(entry(i, raw, offset, bytes));
        }
        let uniform = key.uniform.and_then(|uniform| groups.uniforms[uniform].as_ref());
        if let (Some(i), Some(uniform)) = (program.layout.uniform(), uniform) {
            entries.push(entry(i, uniform, 0, program.layout.uniform_bytes().into()));
        }
        let group = self.health.run(&self.device, || {
            Ok(self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &program.group,
                entries: &entries,
            }))
        })?;
        if groups.made.len() >= KEPT {
            groups.made.clear();
        }
        groups.made.insert(key, group.clone());
        Ok(group)
    }
}

/// wgpu does not take one buffer for reading and for writing in one dispatch, nor does it read the grid from a buffer that the
/// dispatch writes.
fn check_aliases(program: &Program, parameters: &[Parameter], grid: Option<BlockId>) -> Result<(), Diagnostic> {
    let bound = |readonly: bool| {
        let bindings = program.layout.bindings.iter().filter(move |b| b.readonly == readonly);
        bindings.filter_map(|b| match parameters.get(b.param) {
            Some(Parameter::Buffer(slice)) => Some(slice.block),
            Some(Parameter::Traps | Parameter::Scalar(_)) | None => None,
        })
    };
    if grid.is_some_and(|grid| bound(false).any(|id| id == grid)) {
        return Err(bad_arguments("the grid of an indirect dispatch is in a buffer that the kernel may write")
            .hint("keep the grid in a buffer of its own"));
    }
    if bound(true).any(|id| bound(false).any(|other| other == id)) {
        return Err(bad_arguments("one buffer is passed to a parameter that is `readonly` and to one that is not")
            .hint("leave `readonly` out, or pass different buffers"));
    }
    Ok(())
}

/// Positions of the buffer parameters.
fn buffer_positions(program: &Program) -> Vec<usize> {
    use girih_lower::Slot;
    let is_buffer = |slot: &Slot| matches!(slot, Slot::Buffer(_) | Slot::Traps);
    program.entry.slots.iter().enumerate().filter(|(_, s)| is_buffer(s)).map(|(i, _)| i).collect()
}

/// The scalar parameters, as the kernel reads them.
fn scalars(program: &Program, parameters: &[Parameter]) -> Vec<u8> {
    let mut bytes = vec![0; program.layout.uniform_bytes() as usize];
    for (i, parameter) in parameters.iter().enumerate() {
        let (Some(word), Parameter::Scalar(constant)) = (program.layout.word(i), parameter) else { continue };
        let at = word as usize * 4;
        let size = crate::shader::layout::Layout::words_of(constant.ty) as usize * 4;
        bytes[at..at + size].copy_from_slice(&constant.bits.to_le_bytes()[..size]);
    }
    bytes
}

fn entry(binding: u32, buffer: &wgpu::Buffer, offset: u64, bytes: u64) -> wgpu::BindGroupEntry<'_> {
    let size = std::num::NonZeroU64::new(bytes);
    wgpu::BindGroupEntry {
        binding,
        resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size }),
    }
}

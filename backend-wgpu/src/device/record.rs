//! Commands become one command buffer: dispatches that follow each other share a pass, and wgpu puts the barriers between them that
//! their bindings ask for.

use super::Gpu;
use super::programs::Program;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_lower::{Parameter, PlannedGrid};
use girih_runtime::{BufferId, Command, Dispatch, ProgramId};
use std::collections::HashMap;

/// What a bind group is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    program: ProgramId,
    /// For each buffer parameter: the buffer (none for the traps) and its first byte.
    buffers: Vec<(Option<BufferId>, u64)>,
}

/// Bind groups that were made before, and the buffer in which scalar parameters stand.
#[derive(Debug, Default)]
pub struct Groups {
    made: HashMap<Key, wgpu::BindGroup>,
    uniform: Option<wgpu::Buffer>,
}

/// More bind groups than this are not kept.
const KEPT: usize = 4096;

impl Groups {
    /// A buffer goes away.
    pub fn forget_buffer(&mut self, buffer: BufferId) {
        self.made.retain(|key, _| !key.buffers.iter().any(|(b, _)| *b == Some(buffer)));
    }
    /// A program goes away.
    pub fn forget_program(&mut self, program: ProgramId) {
        self.made.retain(|key, _| key.program != program);
    }
}

/// A command with everything that recording it needs.
pub(super) enum Step {
    Run {
        program: ProgramId,
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
struct Prepared {
    program: ProgramId,
    key: Key,
    words: Vec<u8>,
    grid: StepGrid,
}

/// A command that is checked.
enum Checked {
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

impl Gpu {
    /// Records commands; nothing is submitted. Gives the command buffer, and whether traps may be noted.
    pub(super) fn record(&mut self, commands: &[Command]) -> Result<(wgpu::CommandBuffer, bool), Diagnostic> {
        let (steps, traps) = self.steps(commands)?;
        Ok((self.encoded(&steps, None)?, traps))
    }

    /// Commands, checked and bound, and whether they may note traps.
    pub(super) fn steps(&mut self, commands: &[Command]) -> Result<(Vec<Step>, bool), Diagnostic> {
        let mut checked = vec![];
        for command in commands {
            checked.extend(self.check(command)?);
        }
        let steps = self.bind(checked)?;
        let traps = steps
            .iter()
            .any(|s| matches!(s, Step::Run { program, .. } if self.program(*program).is_ok_and(|p| p.traps)));
        Ok((steps, traps))
    }

    /// A command buffer of steps.
    pub(super) fn encoded(
        &mut self,
        steps: &[Step],
        timestamps: Option<Timestamps<'_>>,
    ) -> Result<wgpu::CommandBuffer, Diagnostic> {
        let dirty = self.buffers.take_dirty();
        let buffer = self.health.run(&self.device, || {
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            dirty.iter().for_each(|buffer| encoder.clear_buffer(buffer, 0, None));
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
        });
        if buffer.is_err() {
            self.buffers.put_back(dirty);
        }
        buffer
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
                    let mut current = None;
                    while let Some(Step::Run { program, group, offset, grid }) =
                        steps.next_if(|s| matches!(s, Step::Run { .. }))
                    {
                        if current != Some(*program) {
                            pass.set_pipeline(&self.program(*program)?.pipeline);
                            current = Some(*program);
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
    fn check(&self, command: &Command) -> Result<Option<Checked>, Diagnostic> {
        Ok(match command {
            Command::Dispatch(dispatch) => self.prepare(dispatch)?.map(Checked::Run),
            Command::Copy { from, to, bytes } => {
                let source = self.buffers.range(from.0, from.1, *bytes)?.raw.clone();
                let target = self.buffers.range(to.0, to.1, *bytes)?.raw.clone();
                let overlap = from.0 == to.0 && from.1 < to.1 + bytes && to.1 < from.1 + bytes;
                if overlap && *bytes > 0 {
                    return Err(bad("a copy within one buffer overlaps itself"));
                }
                let through = if from.0 == to.0 && *bytes > 0 { Some(self.scratch(*bytes)?) } else { None };
                let step = Step::Copy { from: (source, from.1), through, to: (target, to.1), bytes: *bytes };
                (*bytes > 0).then_some(Checked::Step(step))
            }
            Command::Clear { at, bytes } => {
                let raw = self.buffers.range(at.0, at.1, *bytes)?.raw.clone();
                (*bytes > 0).then_some(Checked::Step(Step::Clear { at: (raw, at.1), bytes: *bytes }))
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
        let plan = program.entry.plan(&dispatch.arguments, dispatch.grid)?;
        let grid = match plan.grid {
            PlannedGrid::Workgroups(size) if size.contains(&0) => return Ok(None),
            PlannedGrid::Workgroups(size) => StepGrid::Workgroups(size),
            PlannedGrid::Indirect(buffer, offset) => {
                let found = self.buffers.range(buffer, offset, 12)?;
                if !found.raw.usage().contains(wgpu::BufferUsages::INDIRECT) {
                    return Err(bad("the grid stands in a buffer that was not allocated for indirect dispatches"));
                }
                StepGrid::Indirect(found.raw.clone(), offset)
            }
        };
        let read = if let PlannedGrid::Indirect(buffer, _) = plan.grid { Some(buffer) } else { None };
        check_aliases(program, &plan.parameters, read)?;
        let mut buffers = vec![];
        for parameter in &plan.parameters {
            match *parameter {
                Parameter::Buffer(id, offset) => {
                    self.bindable(id, offset)?;
                    buffers.push((Some(id), offset));
                }
                Parameter::Traps => buffers.push((None, 0)),
                Parameter::Scalar(_) => {}
            }
        }
        let words = scalars(program, &plan.parameters);
        Ok(Some(Prepared { program: dispatch.program, key: Key { program: dispatch.program, buffers }, words, grid }))
    }

    /// A buffer from a byte on fits into a binding.
    fn bindable(&self, id: BufferId, offset: u64) -> Result<u64, Diagnostic> {
        let buffer = self.buffers.get(id)?;
        let bytes = buffer
            .bytes
            .checked_sub(offset)
            .filter(|n| *n > 0)
            .ok_or_else(|| bad(format!("a buffer of {} bytes is passed from byte {offset} on", buffer.bytes)))?;
        if bytes > self.context.caps().binding_bytes {
            let most = self.context.caps().binding_bytes;
            let message = format!("a buffer of {bytes} bytes is passed to a kernel, but the device reaches {most}");
            return Err(Diagnostic::new(Code::OverLimit, Span::NONE, message)
                .hint("give the kernel several buffer parameters, one for each segment of the data"));
        }
        Ok(bytes)
    }

    /// Places the scalar parameters and makes the bind groups.
    fn bind(&mut self, checked: Vec<Checked>) -> Result<Vec<Step>, Diagnostic> {
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
        self.fill_uniform(&block)?;
        let mut offsets = offsets.into_iter();
        let mut steps = vec![];
        for command in checked {
            steps.push(match command {
                Checked::Step(step) => step,
                Checked::Run(Prepared { program, key, grid, .. }) => {
                    let group = self.group(key)?;
                    Step::Run { program, group, offset: offsets.next().flatten(), grid }
                }
            });
        }
        Ok(steps)
    }

    fn fill_uniform(&mut self, block: &[u8]) -> Result<(), Diagnostic> {
        if block.is_empty() {
            return Ok(());
        }
        let size = (block.len() as u64).max(64 << 10).next_power_of_two();
        if self.groups.uniform.as_ref().is_none_or(|b| b.size() < size) {
            let buffer = self.health.run(&self.device, || {
                Ok(self.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("parameters"),
                    size,
                    usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                }))
            })?;
            self.groups.uniform = Some(buffer);
            self.groups.made.clear();
        }
        let Some(uniform) = &self.groups.uniform else { return Ok(()) };
        // In the queue's order: what was submitted before still reads what was written before.
        self.health.run(&self.device, || {
            self.queue.write_buffer(uniform, 0, block);
            Ok(())
        })
    }

    fn group(&mut self, key: Key) -> Result<wgpu::BindGroup, Diagnostic> {
        if let Some(group) = self.groups.made.get(&key) {
            return Ok(group.clone());
        }
        let program = self.program(key.program)?;
        let mut entries = vec![];
        // A binding names a parameter of the kernel; the key lists buffer parameters only.
        let positions: Vec<usize> = buffer_positions(program);
        for (i, binding) in (0..).zip(&program.layout.bindings) {
            let position = positions.iter().position(|p| *p == binding.param).unwrap_or(0);
            let (buffer, offset) = key.buffers.get(position).copied().unwrap_or((None, 0));
            let (raw, bytes) = match buffer {
                Some(id) => (&self.buffers.get(id)?.raw, self.bindable(id, offset)?),
                None => (&self.traps, 16),
            };
            entries.push(entry(i, raw, offset, bytes));
        }
        if let (Some(i), Some(uniform)) = (program.layout.uniform(), &self.groups.uniform) {
            entries.push(entry(i, uniform, 0, program.layout.uniform_bytes().into()));
        }
        let group = self.health.run(&self.device, || {
            Ok(self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &program.group,
                entries: &entries,
            }))
        })?;
        if self.groups.made.len() >= KEPT {
            self.groups.made.clear();
        }
        self.groups.made.insert(key, group.clone());
        Ok(group)
    }
}

/// wgpu does not take one buffer for reading and for writing in one dispatch, nor does it read the grid from a buffer that the
/// dispatch writes.
fn check_aliases(program: &Program, parameters: &[Parameter], grid: Option<BufferId>) -> Result<(), Diagnostic> {
    let bound = |readonly: bool| {
        let bindings = program.layout.bindings.iter().filter(move |b| b.readonly == readonly);
        bindings.filter_map(|b| match parameters.get(b.param) {
            Some(Parameter::Buffer(id, _)) => Some(*id),
            Some(Parameter::Traps | Parameter::Scalar(_)) | None => None,
        })
    };
    if grid.is_some_and(|grid| bound(false).any(|id| id == grid)) {
        return Err(bad("the grid of an indirect dispatch stands in a buffer that the kernel may write")
            .hint("keep the grid in a buffer of its own"));
    }
    if bound(true).any(|id| bound(false).any(|other| other == id)) {
        return Err(bad("one buffer is passed to a parameter that is `readonly` and to one that is not")
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

fn bad(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::BadArguments, Span::NONE, message)
}

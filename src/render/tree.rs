//! The trees of a shader's pictures, grown by compiled code, or by the evaluator if that is named.

use super::branch::Branch;
use super::contract::Kind;
use super::frame::{Pixel, Size};
use super::leaves;
use super::workers::{Motif, Painter};
use crate::run::{RunDevice, explain, open};
use crate::stack::on_big_stack;
use girih_core::diag::{Code as ErrorCode, Diagnostic};
use girih_core::direct::data::{Argument, Words};
use girih_core::direct::flow::{Numbers, Outside, Root};
use girih_core::direct::pixels::{PIXELS, pixels};
use girih_core::direct::{self, lower::Direct};
use girih_core::ir::FunctionId;
use girih_core::num::{Num, NumKind};
use girih_core::runtime::{Runner, TaskOptions};
use girih_core::span::Span;
use girih_core::term::code::Code;
use girih_core::term::eval::{Limits, Machine, Value};
use girih_core::term::{DefId, Program};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The tree of a shader's pictures.
pub(super) struct Tree {
    code: Code,
    /// None for the evaluator.
    direct: Option<Arc<Direct>>,
    /// The function that gives many pixels at once, if there is one.
    pixels: Option<FunctionId>,
    device: RunDevice,
    kind: Kind,
    size: Size,
    memory: u64,
    threads: NonZeroUsize,
}

impl Tree {
    /// Compiles a shader; each of the threads may take so much memory. `in_step` says whether pixels are painted in step where they can be.
    pub fn new(
        program: &Program,
        kind: Kind,
        size: Size,
        device: &RunDevice,
        memory: u64,
        threads: NonZeroUsize,
        in_step: bool,
    ) -> Result<Tree, Vec<Diagnostic>> {
        let compile = || {
            let code = Code::for_roots(program, &kind.definitions())?;
            let (direct, pixels) = match device {
                RunDevice::Evaluator => (None, None),
                RunDevice::Device(_) => return Err(vec![no_card(device)]),
                RunDevice::Auto | RunDevice::Cpu | RunDevice::Interpreter(_) => {
                    match kind.in_step(&code, in_step && girih_cpu::has_vectors()) {
                        Some((direct, pixels)) => (Some(direct), Some(pixels)),
                        None => (Some(direct::compile_for(&code, &[kind.root()])?), None),
                    }
                }
            };
            Ok::<_, Vec<Diagnostic>>((code, direct.map(Arc::new), pixels))
        };
        let (code, direct, pixels) = on_big_stack(compile)?;
        Ok(Tree { code, direct, pixels, device: device.clone(), kind, size, memory, threads })
    }
}

fn no_card(device: &RunDevice) -> Diagnostic {
    let message = format!("image shaders are painted by the processor in this version, not by `{device}`");
    Diagnostic::new(ErrorCode::NoDevice, Span::NONE, message).hint("leave `--device` out, or use `--device cpu`")
}

impl Kind {
    /// What is needed.
    fn definitions(self) -> Vec<DefId> {
        match self {
            Kind::Pixel { shader, frame } => vec![shader, frame],
            Kind::Tree { render } => vec![render],
        }
    }

    /// What is called, and with what.
    fn root(self) -> Root {
        let number = |kind| Outside::Number(Numbers::one(kind));
        let (u24, f24) = (number(NumKind::U24), number(NumKind::F24));
        match self {
            Kind::Pixel { shader, frame } => {
                Root { def: frame, arguments: vec![u24, u24, Outside::Definition(shader), f24, u24] }
            }
            Kind::Tree { render } => Root { def: render, arguments: vec![u24, f24] },
        }
    }

    /// What it is called with to grow a branch of the frame at a time.
    fn arguments(self, branch: Branch, size: Size, time: f32) -> Vec<Argument> {
        let number = |number| Argument::Number(Num::u24(number));
        let (depth, time) = (number(branch.depth), Argument::Number(Num::f24(time)));
        match self {
            Kind::Pixel { shader, .. } => {
                vec![depth, number(size.width()), Argument::Definition(shader), time, number(branch.path)]
            }
            Kind::Tree { .. } => vec![depth, time],
        }
    }

    /// The compiled shader with its function of many pixels; none if pixels cannot be computed in step.
    fn in_step(self, code: &Code, wanted: bool) -> Option<(Direct, FunctionId)> {
        let Kind::Pixel { shader, .. } = self else { return None };
        let number = |kind| Outside::Number(Numbers::one(kind));
        let arguments = vec![number(NumKind::U24), number(NumKind::U24), number(NumKind::F24)];
        // What is wrong with a shader is said when its whole picture is compiled.
        let mut direct = wanted.then(|| direct::compile_for(code, &[Root { def: shader, arguments }]).ok())??;
        let pixels = pixels(&mut direct, 0).ok()?;
        Some((direct, pixels))
    }

    /// The definition of the file that makes the pixels.
    fn made_by(self) -> DefId {
        match self {
            Kind::Pixel { shader, .. } => shader,
            Kind::Tree { render } => render,
        }
    }
}

impl Motif for Tree {
    fn branches(&self) -> Vec<Branch> {
        match self.kind {
            Kind::Pixel { .. } => Branch::cover(self.size, handy_depth(self.size, self.threads)),
            Kind::Tree { .. } => vec![Branch::whole(self.size)],
        }
    }

    fn painter(&self, interrupt: &Arc<AtomicBool>) -> Box<dyn Painter> {
        let Tree { kind, size, .. } = *self;
        let evaluated = Evaluated { kind, size };
        match &self.direct {
            None => {
                let limits =
                    Limits { memory: self.memory, interrupt: Some(Arc::clone(interrupt)), ..Limits::default() };
                Box::new(Evaluator { machine: Machine::new(&self.code, limits), evaluated })
            }
            Some(direct) => {
                let tasks = TaskOptions {
                    memory: self.memory,
                    stack: self.memory.min(TaskOptions::default().stack),
                    interrupt: Some(Arc::clone(interrupt)),
                    ..TaskOptions::default()
                };
                let (code, direct, device) = (self.code.clone(), Arc::clone(direct), self.device.clone());
                Box::new(Compiled { code, direct, pixels: self.pixels, device, tasks, runner: None, evaluated })
            }
        }
    }
}

/// How deep the branches are that threads take: about sixteen for each thread, since some are harder than others, but not
/// so many that handing them out takes longer than painting them.
fn handy_depth(size: Size, threads: NonZeroUsize) -> u32 {
    size.depth().saturating_sub(threads.get().ilog2() + 4).clamp(6, 16)
}

/// Grows branches by the evaluator.
#[derive(Clone, Copy)]
struct Evaluated {
    kind: Kind,
    size: Size,
}

impl Evaluated {
    fn paint(
        self,
        machine: &mut Machine,
        branch: Branch,
        time: f32,
        pixels: &mut Vec<Pixel>,
    ) -> Result<(), Diagnostic> {
        let mut values = vec![];
        for argument in self.kind.arguments(branch, self.size, time) {
            values.push(match argument {
                Argument::Number(number) => Value::from(number),
                Argument::Definition(def) => machine.call(def, &[])?,
            });
        }
        let tree = machine.call(self.kind.root().def, &values)?;
        let place = machine.code().program().defs[self.kind.made_by()].span;
        leaves::read(machine, &[tree], branch.pixels(self.size).len(), place, pixels)
    }
}

/// The evaluator on a thread.
struct Evaluator {
    machine: Machine,
    evaluated: Evaluated,
}

impl Painter for Evaluator {
    fn paint(&mut self, branch: Branch, time: f32, pixels: &mut Vec<Pixel>) -> Result<(), Diagnostic> {
        self.evaluated.paint(&mut self.machine, branch, time, pixels)
    }
}

/// Compiled code on a thread, with a heap of its own.
struct Compiled {
    code: Code,
    direct: Arc<Direct>,
    pixels: Option<FunctionId>,
    device: RunDevice,
    tasks: TaskOptions,
    /// None before the first branch, and after one that failed: a run that has ended is not gone on with.
    runner: Option<Box<dyn Runner + Send>>,
    /// Tells more about what goes wrong.
    evaluated: Evaluated,
}

impl Compiled {
    fn paint_compiled(&mut self, branch: Branch, time: f32, pixels: &mut Vec<Pixel>) -> Result<(), Diagnostic> {
        let mut runner = match self.runner.take() {
            Some(runner) => runner,
            None => open(&self.device, &self.direct.module, &self.tasks)?.runner,
        };
        let Evaluated { kind, size } = self.evaluated;
        let (program, direct) = (self.code.program(), &*self.direct);
        if let Some(function) = self.pixels {
            let wanted = branch.pixels(size);
            paint_in_step(&mut *runner, direct, function, wanted, size, time, pixels)?;
            self.runner = Some(runner);
            return Ok(());
        }
        let mut words = Words { program, direct, runner: &mut *runner, interrupt: self.tasks.interrupt.clone() };
        // There is one root.
        let tree = words.call_root(&direct.roots[0], &kind.arguments(branch, size, time))?;
        let place = program.defs[kind.made_by()].span;
        leaves::read(&mut words, &tree, branch.pixels(size).len(), place, pixels)?;
        tree.into_iter().for_each(|part| words.give_back(part));
        self.runner = Some(runner);
        Ok(())
    }
}

/// Paints pixels side by side by the function that gives many of them.
fn paint_in_step(
    runner: &mut dyn Runner,
    direct: &Direct,
    function: FunctionId,
    wanted: Range<usize>,
    size: Size,
    time: f32,
    pixels: &mut Vec<Pixel>,
) -> Result<(), Diagnostic> {
    // Numbers of pixels are u24.
    let last = wanted.end.saturating_sub(1) as u32;
    let (Num::F24(time) | Num::F32(time)) = Num::f24(time) else { return Ok(()) };
    for first in wanted.clone().step_by(PIXELS) {
        let given = [first as u32, last, size.width(), time.to_bits()];
        let colours = runner.call(function, &given).map_err(|fault| direct::run::diagnostic(direct, &fault))?;
        pixels.extend(colours.into_iter().take(wanted.end - first).map(leaves::pixel));
    }
    Ok(())
}

impl Painter for Compiled {
    fn paint(&mut self, branch: Branch, time: f32, pixels: &mut Vec<Pixel>) -> Result<(), Diagnostic> {
        self.paint_compiled(branch, time, pixels).map_err(|error| {
            let evaluated = self.evaluated;
            explain(&self.code, self.tasks.memory, error, |machine| evaluated.paint(machine, branch, time, &mut vec![]))
        })
    }
}

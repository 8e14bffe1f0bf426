//! The trees of a shader's pictures, grown by compiled code, or by the evaluator if that is named.

use super::branch::Branch;
use super::frame::{Pixel, Size};
use super::on_device::OnDevice;
use super::read_pixels;
use super::shader::RenderOptions;
use super::signature::Kind;
use super::workers::{Motif, Painter};
use crate::devices::{Context, cpu};
use crate::run::{self, RunDevice, explain, open};
use crate::stack::on_big_stack;
use girih_base::diag::{Code as ErrorCode, Diagnostic};
use girih_base::num::{Num, NumKind};
use girih_base::span::Span;
use girih_ir::{FunctionId, Module, Verified, text};
use girih_machine::tasks::{TaskMachine, TaskSettings};
use girih_runtime::{Runner, TaskOptions};
use girih_task::data::{Argument, Datum, Words};
use girih_task::flow::{Numbers, Outside, Root};
use girih_task::lower::Direct;
use girih_task::pixels::{PIXELS, pixels};
use girih_term::code::Code;
use girih_term::eval::{Limits, Machine, Root as Kept, Value};
use girih_term::{DefId, Program};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

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
    /// How many states follow in a second.
    rate: u32,
    memory: u64,
    threads: NonZeroUsize,
    screen: Option<Context>,
}

/// What a picture may be painted with.
pub(super) struct Resources {
    /// Bytes of data for each painter.
    pub memory: u64,
    /// How many threads paint.
    pub threads: NonZeroUsize,
}

impl Tree {
    /// Compiles a shader.
    pub fn new(
        program: &Program,
        kind: Kind,
        size: Size,
        rate: u32,
        resources: &Resources,
        RenderOptions { device, in_step, screen, .. }: &RenderOptions,
    ) -> Result<Tree, Vec<Diagnostic>> {
        let compile = || {
            let code = Code::for_roots(program, &kind.definitions())?;
            let (direct, pixels) = match device {
                RunDevice::Evaluator => (None, None),
                RunDevice::Device(_) => (Some(girih_task::compile_for_lanes(&code, &kind.roots())?), None),
                RunDevice::Auto | RunDevice::Cpu | RunDevice::Interpreter(_) => {
                    match kind.in_step(&code, *in_step && cpu::has_vectors()) {
                        Some((direct, pixels)) => (Some(direct), Some(pixels)),
                        None => (Some(girih_task::compile_for_threads(&code, &kind.roots())?), None),
                    }
                }
            };
            Ok::<_, Vec<Diagnostic>>((code, direct.map(Arc::new), pixels))
        };
        let (code, direct, pixels) = on_big_stack(compile)?;
        let Resources { memory, threads } = *resources;
        let (device, screen) = (device.clone(), screen.clone());
        Ok(Tree { code, direct, pixels, device, kind, size, rate, memory, threads, screen })
    }
}

/// A shader as devices get it: its functions in task form.
fn for_devices(program: &Program, kind: Kind) -> Result<(Code, Direct), Vec<Diagnostic>> {
    let mut program = program.clone();
    program.entry = None;
    let code = Code::for_roots(&program, &kind.definitions())?;
    let direct = girih_task::compile_for_lanes(&code, &kind.roots())?;
    Ok((code, direct))
}

/// The same as text.
pub(super) fn ir(program: &Program, kind: Kind) -> Result<String, Vec<Diagnostic>> {
    on_big_stack(|| Ok(text::print(&for_devices(program, kind)?.1.module)))
}

/// The kernel that a graphics card runs for a picture, and what it does, in some words.
pub(super) fn planned(
    program: &Program,
    kind: Kind,
    size: Size,
) -> Result<(Verified<Module>, String), Vec<Diagnostic>> {
    on_big_stack(|| {
        let (code, direct) = for_devices(program, kind)?;
        // Nothing runs: what it would be given is asked for.
        let one = |error| vec![error];
        let mut machine =
            TaskMachine::new(&direct.module, TaskOptions::default(), TaskSettings::default()).map_err(one)?;
        let mut words = Words { program: code.program(), direct: &direct, runner: &mut machine, interrupt: None };
        let given = words.passed_to(&direct.roots[0], &kind.arguments(Branch::whole(size), size, 0.0)).map_err(one)?;
        run::kernels_of_call(&direct, direct.roots[0].function, &given)
    })
}

impl Kind {
    /// What is needed.
    fn definitions(self) -> Vec<DefId> {
        match self {
            Kind::Pixel { shader, frame } => vec![shader, frame],
            Kind::Tree { render } => vec![render],
            Kind::Play { init, step, render } => vec![render, init, step],
        }
    }

    /// What is called, and with what: first what gives the picture.
    fn roots(self) -> Vec<Root> {
        let u24 = || Outside::Number(Numbers::one(NumKind::U24));
        let f24 = || Outside::Number(Numbers::one(NumKind::F24));
        match self {
            Kind::Pixel { shader, frame } => {
                vec![Root { def: frame, arguments: vec![u24(), u24(), Outside::Definition(shader), f24(), u24()] }]
            }
            Kind::Tree { render } => vec![Root { def: render, arguments: vec![u24(), f24()] }],
            Kind::Play { init, step, render } => {
                let state = || Outside::Result([init, step]);
                vec![
                    Root { def: render, arguments: vec![u24(), f24(), state()] },
                    Root { def: init, arguments: vec![u24()] },
                    Root { def: step, arguments: vec![state(), f24()] },
                ]
            }
        }
    }

    /// What it is called with to grow a branch of the frame at a time; a state comes after that.
    pub fn arguments(self, branch: Branch, size: Size, time: f32) -> Vec<Argument> {
        let number = |number| Argument::Number(Num::u24(number));
        let (depth, time) = (number(branch.depth), Argument::Number(Num::f24(time)));
        match self {
            Kind::Pixel { shader, .. } => {
                vec![depth, number(size.width()), Argument::Definition(shader), time, number(branch.path)]
            }
            Kind::Tree { .. } | Kind::Play { .. } => vec![depth, time],
        }
    }

    /// The compiled shader with its function of many pixels; none if pixels cannot be computed in step.
    fn in_step(self, code: &Code, wanted: bool) -> Option<(Direct, FunctionId)> {
        let Kind::Pixel { shader, .. } = self else { return None };
        let number = |kind| Outside::Number(Numbers::one(kind));
        let arguments = vec![number(NumKind::U24), number(NumKind::U24), number(NumKind::F24)];
        // What is wrong with a shader is said when its whole picture is compiled.
        let mut direct =
            wanted.then(|| girih_task::compile_for_threads(code, &[Root { def: shader, arguments }]).ok())??;
        let pixels = pixels(&mut direct, 0).ok()?;
        Some((direct, pixels))
    }

    /// The definition of the file that makes the pixels.
    pub fn made_by(self) -> DefId {
        match self {
            Kind::Pixel { shader, .. } => shader,
            Kind::Tree { render } | Kind::Play { render, .. } => render,
        }
    }
}

impl Motif for Tree {
    fn branches(&self) -> Vec<Branch> {
        if let RunDevice::Device(_) = self.device {
            // One tree, so that one plan is for all pictures; the few leaves behind the last pixel are not looked at.
            return vec![Branch::whole(self.size)];
        }
        match self.kind {
            Kind::Pixel { .. } => Branch::cover(self.size, handy_depth(self.size, self.threads)),
            Kind::Tree { .. } | Kind::Play { .. } => vec![Branch::whole(self.size)],
        }
    }

    fn painter(&self, interrupt: &Arc<AtomicBool>) -> Box<dyn Painter> {
        let Tree { kind, size, rate, .. } = *self;
        let evaluated = Evaluated { kind, size, rate };
        match &self.direct {
            None => {
                let limits =
                    Limits { memory: self.memory, interrupt: Some(Arc::clone(interrupt)), ..Limits::default() };
                Box::new(Evaluator { machine: Machine::new(&self.code, limits), evaluated, carried: None })
            }
            Some(direct) => {
                let tasks = TaskOptions {
                    memory: self.memory,
                    stack: self.memory.min(TaskOptions::default().stack),
                    interrupt: Some(Arc::clone(interrupt)),
                    threads: if matches!(kind, Kind::Play { .. }) { self.threads.get() } else { 1 },
                    ..TaskOptions::default()
                };
                let (code, direct, device) = (self.code.clone(), Arc::clone(direct), self.device.clone());
                if let RunDevice::Device(selector) = device {
                    return Box::new(OnDevice {
                        code,
                        direct,
                        selector,
                        tasks,
                        evaluated,
                        loaded: None,
                        carried: None,
                        evaluation: Duration::ZERO,
                        screen: self.screen.clone(),
                        kept: None,
                    });
                }
                let carried = None;
                Box::new(Compiled {
                    code,
                    direct,
                    pixels: self.pixels,
                    device,
                    tasks,
                    runner: None,
                    carried,
                    evaluated,
                })
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
pub(super) struct Evaluated {
    pub kind: Kind,
    pub size: Size,
    pub rate: u32,
}

/// A state, and its number from 0.
pub(super) struct Carried<S> {
    number: u32,
    pub state: S,
}

impl Evaluated {
    /// The number of the state that is seen at a time.
    fn number(self, time: f32) -> u32 {
        // A time is the float that is nearest to what is meant, which may be less; below zero there is the first state.
        (f64::from(time) * f64::from(self.rate) + 0.01) as u32
    }

    /// When a state begins.
    fn beginning(self, number: u32) -> Num {
        Num::f24((f64::from(number) / f64::from(self.rate.max(1))) as f32)
    }

    /// Brings the state up to a time.
    fn carry(
        self,
        machine: &mut Machine,
        branch: Branch,
        time: f32,
        carried: &mut Option<Carried<Kept>>,
    ) -> Result<Option<Value>, Diagnostic> {
        let Kind::Play { init, step, .. } = self.kind else { return Ok(None) };
        let wanted = self.number(time);
        let mut now = match carried.take().filter(|carried| carried.number <= wanted) {
            Some(carried) => carried,
            None => {
                let first = machine.call(init, &[Num::u24(branch.depth).into()])?;
                Carried { number: 0, state: machine.keep(first) }
            }
        };
        while now.number < wanted {
            let (number, state) = (now.number + 1, machine.value(&now.state));
            let next = machine.call(step, &[state, self.beginning(number).into()])?;
            now = Carried { number, state: machine.keep(next) };
        }
        let state = machine.value(&now.state);
        *carried = Some(now);
        Ok(Some(state))
    }

    /// Appends the pixels of a branch, and says how many cells it has.
    pub fn paint(
        self,
        machine: &mut Machine,
        branch: Branch,
        time: f32,
        carried: &mut Option<Carried<Kept>>,
        pixels: &mut Vec<Pixel>,
    ) -> Result<u64, Diagnostic> {
        let state = self.carry(machine, branch, time, carried)?;
        let mut values = vec![];
        for argument in self.kind.arguments(branch, self.size, time) {
            values.push(match argument {
                Argument::Number(number) => Value::from(number),
                Argument::Definition(def) => machine.call(def, &[])?,
                // There are no such arguments.
                Argument::Value(_) => continue,
            });
        }
        values.extend(state);
        let tree = machine.call(self.kind.roots()[0].def, &values)?;
        let place = machine.code().program().defs[self.kind.made_by()].span;
        read_pixels::read(machine, &[tree], branch.pixels(self.size).len(), place, pixels)
    }
}

/// The evaluator on a thread.
struct Evaluator {
    machine: Machine,
    evaluated: Evaluated,
    carried: Option<Carried<Kept>>,
}

impl Painter for Evaluator {
    fn paint(&mut self, branch: Branch, time: f32, pixels: &mut Vec<Pixel>) -> Result<u64, Diagnostic> {
        self.evaluated.paint(&mut self.machine, branch, time, &mut self.carried, pixels)
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
    /// The last state, if one is carried: it is in the runner's heap.
    carried: Option<Carried<Datum>>,
    /// Tells more about what goes wrong.
    evaluated: Evaluated,
}

impl Compiled {
    fn paint_compiled(&mut self, branch: Branch, time: f32, pixels: &mut Vec<Pixel>) -> Result<u64, Diagnostic> {
        let Evaluated { kind, size, .. } = self.evaluated;
        // What was carried by a run that has failed is gone with its heap.
        let carried = self.carried.take();
        let (mut runner, carried) = match self.runner.take() {
            Some(runner) => (runner, carried),
            None => (open(&self.device, &self.direct.module, &self.tasks)?.runner, None),
        };
        let (program, direct) = (self.code.program(), &*self.direct);
        if let Some(function) = self.pixels {
            let wanted = branch.pixels(size);
            paint_in_step(&mut *runner, direct, function, wanted, size, time, pixels)?;
            self.runner = Some(runner);
            // The tree of these pixels is perfect, and nobody has to make it.
            return Ok((branch.pixels(size).len() as u64).saturating_sub(1));
        }
        let mut words = Words { program, direct, runner: &mut *runner, interrupt: self.tasks.interrupt.clone() };
        let mut arguments = kind.arguments(branch, size, time);
        let carried = self.evaluated.carry_compiled(&mut words, branch, time, carried, &mut |_, state| Ok(state))?;
        arguments.extend(carried.iter().map(|now| Argument::Value(now.state)));
        // The first root gives the picture.
        let tree = words.call_root(&direct.roots[0], &arguments)?;
        let place = program.defs[kind.made_by()].span;
        let cells = read_pixels::read(&mut words, &tree, branch.pixels(size).len(), place, pixels)?;
        tree.into_iter().for_each(|part| words.give_back(part));
        (self.runner, self.carried) = (Some(runner), carried);
        Ok(cells)
    }
}

impl Evaluated {
    /// Brings the state up to a time. What is given is owned twice: by who carries it, and by the picture. `tidy` is called after each step; it may
    /// move the state.
    pub fn carry_compiled(
        self,
        words: &mut Words<'_>,
        branch: Branch,
        time: f32,
        carried: Option<Carried<Datum>>,
        tidy: &mut dyn FnMut(&mut Words<'_>, Datum) -> Result<Datum, Diagnostic>,
    ) -> Result<Option<Carried<Datum>>, Diagnostic> {
        let Kind::Play { .. } = self.kind else { return Ok(None) };
        let wanted = self.number(time);
        let roots = &words.direct.roots;
        let mut now = match carried {
            Some(carried) if carried.number <= wanted => carried,
            later => {
                later.into_iter().for_each(|later| words.give_back(later.state));
                let first = words.call_root(&roots[1], &[Argument::Number(Num::u24(branch.depth))])?;
                Carried { number: 0, state: whole(first)? }
            }
        };
        while now.number < wanted {
            let number = now.number + 1;
            let arguments = [Argument::Value(now.state), Argument::Number(self.beginning(number))];
            let state = whole(words.call_root(&roots[2], &arguments)?)?;
            now = Carried { number, state: tidy(words, state)? };
        }
        words.share(now.state);
        Ok(Some(now))
    }
}

/// A state, which is given in one piece.
fn whole(given: Vec<Datum>) -> Result<Datum, Diagnostic> {
    let [state] = given[..] else {
        return Err(Diagnostic::new(ErrorCode::Internal, Span::NONE, "a state is given in parts"));
    };
    Ok(state)
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
        let colours = runner.call(function, &given).map_err(|fault| girih_task::run::diagnostic(direct, &fault))?;
        pixels.extend(colours.into_iter().take(wanted.end - first).map(read_pixels::pixel));
    }
    Ok(())
}

impl Painter for Compiled {
    fn paint(&mut self, branch: Branch, time: f32, pixels: &mut Vec<Pixel>) -> Result<u64, Diagnostic> {
        self.paint_compiled(branch, time, pixels).map_err(|error| {
            let evaluated = self.evaluated;
            explain(&self.code, self.tasks.memory, error, |machine| {
                evaluated.paint(machine, branch, time, &mut None, &mut vec![]).map(drop)
            })
        })
    }
}

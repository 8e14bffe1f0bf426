//! Programs that are flattened or as reducers, where they can: what runs a program on a device is found out when it is opened, and, should it need more than
//! was foreseen, once more when it runs.

use super::device_sizes::Measures;
use girih_base::diag::{Code, Diagnostic};
use girih_ir::heap::{self, LayoutId};
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_runtime::{
    Device, DeviceHeap, DeviceKind, Fault, Memory, Reserved, Runner, TaskOptions, TaskStats, Timeline,
};
use girih_task::device::Ended;
use girih_task::flatten::known::{Known, ShapeId};
use girih_task::flatten::runner::FlattenedRunner;
use girih_task::flatten::{self, Flattened};
use girih_task::flow::What;
use girih_task::forkjoin::{self, runner::ForkJoinRunner};
use girih_task::lower::represent::Repr;
use girih_task::lower::words::Immediate;
use girih_task::lower::{Direct, Meaning};
use girih_task::reducer;
use girih_task::reducer::runner::ReducerRunner;
use girih_task::{Failure, Refusal};
use girih_term::Program;
use std::collections::HashSet;

/// Most plans of a program: whoever asks for more is served better by supersteps.
const PLANS: u32 = 8;
/// Bytes of a heap that every device has.
const MUCH: u64 = 256 << 20;

/// In which way a program runs that is a reducer, and why.
const AS_REDUCER: &str = "as a reducer, because the results of its recursion may be combined in any order";

/// A program on a device.
pub(crate) struct DeviceRunner {
    engine: Engine,
    module: Verified<Module>,
    /// The functions that work on what the others gave.
    helpers: [FunctionId; 2],
    called: Vec<FunctionId>,
    tasks: TaskOptions,
    heap: u64,
    measures: Measures,
    /// How often a call was planned.
    plans: u32,
    /// For each layout of cells that are data, which of their fields are words; of a whole program.
    data: Option<Vec<Option<Vec<bool>>>>,
    /// Why it does not run flattened or as reducers.
    refusal: Option<String>,
}

enum Engine {
    /// Nothing has been called yet.
    New(Device),
    Flattened(Box<FlattenedRunner>),
    Reducers(Box<ReducerRunner>),
    ForkJoin(Box<ForkJoinRunner>),
    /// It was between two of them when something went wrong.
    Lost,
}

impl DeviceRunner {
    /// A program that was compiled without loans, for calls of these functions.
    pub(super) fn new(
        direct: &Direct,
        called: Vec<FunctionId>,
        device: Device,
        tasks: &TaskOptions,
        (measures, heap): (Measures, u64),
    ) -> DeviceRunner {
        let (engine, tasks) = (Engine::New(device), tasks.clone());
        let (module, helpers) = (direct.module.clone(), [direct.apply, direct.force]);
        DeviceRunner { engine, module, helpers, called, tasks, heap, measures, plans: 0, data: None, refusal: None }
    }

    /// Loads what a whole program needs: its value is printed, and it may ask for effects.
    ///
    /// # Errors
    /// If the device refuses it, or does not have the memory.
    pub(super) fn open(
        direct: &Direct,
        program: &Program,
        device: Device,
        tasks: &TaskOptions,
        measured: (Measures, u64),
    ) -> Result<DeviceRunner, Vec<Diagnostic>> {
        let called = vec![direct.entry, direct.apply, direct.force];
        let mut runner = DeviceRunner::new(direct, called, device, tasks, measured);
        let is_data = |flattened: &Flattened| {
            let mut seen = HashSet::new();
            flattened.results.iter().all(|known| is_data(*known, flattened, direct, program, &mut seen))
        };
        runner.data = Some(direct.tables.layouts.iter().map(|meaning| data_fields(meaning, program)).collect());
        runner.prepare(direct.entry, &[], &is_data)?;
        Ok(runner)
    }

    /// Runs by fork-join from the beginning, where cells outlive a call.
    ///
    /// # Errors
    /// If the device refuses the kernels, or does not have the memory.
    pub(super) fn by_fork_join(mut self, why: &str) -> Result<DeviceRunner, Vec<Diagnostic>> {
        if let Engine::New(device) = std::mem::replace(&mut self.engine, Engine::Lost) {
            let fork_join = self.measures.fork_join(&self.module, &self.called, device, &self.tasks, self.heap)?;
            self.engine = Engine::ForkJoin(Box::new(fork_join));
            self.refusal = Some(why.to_owned());
        }
        Ok(self)
    }

    /// Compiles what a call of a root needs, unless that has been done.
    ///
    /// # Errors
    /// If the device refuses it, or does not have the memory.
    pub fn make_ready(&mut self, function: FunctionId, arguments: &[u32]) -> Result<(), Vec<Diagnostic>> {
        self.prepare(function, arguments, &|_| true)
    }

    /// How many lanes there are.
    pub fn lanes(&self) -> u32 {
        match &self.engine {
            Engine::Flattened(_) | Engine::New(_) => 1 << self.measures.flattened.lanes(),
            Engine::Reducers(_) => self.measures.reducers.lanes,
            Engine::ForkJoin(runner) => runner.options().lanes,
            Engine::Lost => 0,
        }
    }

    /// In which way the program runs, and why, in words.
    pub fn how(&self) -> String {
        match (&self.engine, &self.refusal) {
            (Engine::Reducers(_), _) => AS_REDUCER.to_owned(),
            (_, Some(why)) => format!("by fork-join, because {why}"),
            (_, None) => "flattened, because its control flow is known in advance".to_owned(),
        }
    }

    /// Makes ready for a call: flattened, if it can be planned and its value is `fine`.
    fn prepare(
        &mut self,
        function: FunctionId,
        arguments: &[u32],
        fine: &dyn Fn(&Flattened) -> bool,
    ) -> Result<(), Vec<Diagnostic>> {
        let device = match std::mem::replace(&mut self.engine, Engine::Lost) {
            Engine::New(device) => device,
            Engine::Flattened(runner) if runner.fits(function, arguments) => {
                self.engine = Engine::Flattened(runner);
                return Ok(());
            }
            Engine::Flattened(runner) => runner.close(),
            ready @ (Engine::Reducers(_) | Engine::ForkJoin(_) | Engine::Lost) => {
                self.engine = ready;
                return Ok(());
            }
        };
        self.plans += 1;
        let module = &self.module;
        let found = match self.plans {
            0..=PLANS => flatten::lower(module, function, arguments, &self.measures.flattened),
            _more => Err(Failure::Refused(Refusal::new("each of its calls takes another course"))),
        };
        let fitting = found.and_then(|flattened| match fine(&flattened) {
            true => fit(flattened, &device, self.heap),
            false => Err(Failure::Refused(Refusal::new("its value is more than data"))),
        });
        self.engine = match fitting {
            Ok(flattened) => {
                let options = (self.measures.flattened, self.heap.min(one_binding(device.caps())));
                Engine::Flattened(Box::new(FlattenedRunner::open(
                    (module, function),
                    flattened,
                    device,
                    &self.tasks,
                    options,
                )?))
            }
            Err(Failure::Refused(why)) => {
                self.refusal = Some(why.to_string());
                self.without_plan(function, device)?
            }
            Err(Failure::Wrong(errors)) => return Err(errors),
        };
        Ok(())
    }

    /// What does a call that cannot be planned: a whole program may be a reducer.
    fn without_plan(&mut self, function: FunctionId, device: Device) -> Result<Engine, Vec<Diagnostic>> {
        let (module, options) = (&self.module, self.measures.reducers);
        let found = self.data.as_ref().map(|_| reducer::lower(module, function, &options.form));
        match found {
            Some(Ok(reducers)) if fits(&reducers, &options, device.caps()) => {
                let runner = ReducerRunner::open(module, reducers, device, &self.tasks, options)?;
                return Ok(Engine::Reducers(Box::new(runner)));
            }
            Some(Err(Failure::Wrong(errors))) => return Err(errors),
            Some(Err(Failure::Refused(why))) => {
                let planned = self.refusal.take().unwrap_or_default();
                self.refusal = Some(format!("{planned}; it is not a reducer, because {why}"));
            }
            Some(Ok(_)) | None => {}
        }
        let fork_join = self.measures.fork_join(module, &self.called, device, &self.tasks, self.heap)?;
        Ok(Engine::ForkJoin(Box::new(fork_join)))
    }

    /// The program runs by fork-join from here on.
    fn change(&mut self, why: String) -> Result<(), Fault> {
        let engine = std::mem::replace(&mut self.engine, Engine::Lost);
        let device = match engine {
            Engine::Flattened(runner) => runner.close(),
            Engine::Reducers(runner) => runner.close().map_err(Fault::Device)?,
            other @ (Engine::New(_) | Engine::ForkJoin(_) | Engine::Lost) => {
                self.engine = other;
                return Ok(());
            }
        };
        let module = &self.module;
        let opened = self.measures.fork_join(module, &self.called, device, &self.tasks, self.heap);
        self.engine = Engine::ForkJoin(Box::new(opened.map_err(first)?));
        self.refusal = Some(why);
        Ok(())
    }

    /// Whether what a call gave is numbers, and cells of such.
    fn are_data(&self, words: &[u32]) -> bool {
        let (Some(runner), Some(data)) = (self.runner(), &self.data) else { return false };
        let mut next = words.to_vec();
        while let Some(word) = next.pop() {
            let tag = heap::tag(word);
            if tag < heap::IMMEDIATE {
                continue;
            }
            let fields = runner.layout(word).and_then(|layout| data.get(layout.index())?.as_ref());
            let (heap::CELL, Some(fields)) = (tag, fields) else { return false };
            next.extend(fields.iter().enumerate().filter(|(_, is_word)| **is_word).map(|(i, _)| runner.field(word, i)));
        }
        true
    }

    fn runner(&self) -> Option<&dyn Runner> {
        match &self.engine {
            Engine::Flattened(runner) => Some(&**runner),
            Engine::Reducers(runner) => Some(&**runner),
            Engine::ForkJoin(runner) => Some(&**runner),
            Engine::New(_) | Engine::Lost => None,
        }
    }
    fn runner_mut(&mut self) -> Option<&mut dyn Runner> {
        match &mut self.engine {
            Engine::Flattened(runner) => Some(&mut **runner),
            Engine::Reducers(runner) => Some(&mut **runner),
            Engine::ForkJoin(runner) => Some(&mut **runner),
            Engine::New(_) | Engine::Lost => None,
        }
    }
}

fn lost() -> Fault {
    let message = "the device that the program ran on is gone";
    Fault::Device(Diagnostic::new(Code::DeviceLost, girih_base::span::Span::NONE, message))
}

impl Runner for DeviceRunner {
    fn call(&mut self, function: FunctionId, arguments: &[u32]) -> Result<Vec<u32>, Fault> {
        let is_root = self.called.contains(&function) && !self.helpers.contains(&function);
        if is_root {
            self.prepare(function, arguments, &|_| true).map_err(first)?;
        }
        // What is no definition is computed already.
        if let (Engine::Flattened(_), true, [word]) = (&self.engine, function == self.helpers[1], arguments)
            && heap::tag(*word) != heap::IMMEDIATE
        {
            return Ok(vec![*word]);
        }
        if let Engine::Flattened(runner) = &mut self.engine
            && is_root
        {
            match runner.run(arguments) {
                Ok(words) => return Ok(words),
                Err(Ended::Fault(fault)) => return Err(fault),
                Err(Ended::Elsewhere(why)) => self.change(why)?,
            }
        }
        if let Engine::Reducers(runner) = &mut self.engine
            && is_root
        {
            match runner.run(function, arguments) {
                Ok(words) if self.are_data(&words) => return Ok(words),
                Ok(_) => self.change("its value is more than data".to_owned())?,
                Err(Ended::Fault(fault)) => return Err(fault),
                Err(Ended::Elsewhere(why)) => self.change(why)?,
            }
        }
        self.runner_mut().ok_or_else(lost)?.call(function, arguments)
    }
    fn layout(&self, cell: u32) -> Option<LayoutId> {
        self.runner()?.layout(cell)
    }
    fn field(&self, cell: u32, field: usize) -> u32 {
        self.runner().map_or(0, |runner| runner.field(cell, field))
    }
    fn new_cell(&mut self, layout: LayoutId, fields: &[u32]) -> Result<u32, Fault> {
        self.runner_mut().ok_or_else(lost)?.new_cell(layout, fields)
    }
    fn share(&mut self, word: u32) {
        if let Some(runner) = self.runner_mut() {
            runner.share(word);
        }
    }
    fn drop(&mut self, word: u32) {
        if let Some(runner) = self.runner_mut() {
            runner.drop(word);
        }
    }
    fn stats(&self) -> TaskStats {
        self.runner().map_or_else(TaskStats::default, Runner::stats)
    }
    fn trouble(&self) -> Option<Diagnostic> {
        self.runner()?.trouble()
    }
    fn timeline(&self) -> Option<Timeline> {
        self.runner()?.timeline()
    }
    fn device_heap(&mut self) -> Option<DeviceHeap> {
        self.runner_mut()?.device_heap()
    }
    fn reserve(&mut self, units: u32) -> Result<Option<Reserved>, Fault> {
        self.runner_mut().map_or(Ok(None), |runner| runner.reserve(units))
    }
    fn keep_only(&mut self, words: &[u32]) -> Result<Option<Vec<u32>>, Fault> {
        self.runner_mut().map_or(Ok(None), |runner| runner.keep_only(words))
    }
    fn is_crowded(&self) -> bool {
        self.runner().is_some_and(Runner::is_crowded)
    }
    fn renew(&mut self) -> Result<(), Fault> {
        self.runner_mut().map_or(Ok(()), Runner::renew)
    }
}

/// The kernels that a card would run for a call, by the schedule that it has there, and what they do, in some words.
pub(crate) fn kernels_of_call(
    direct: &Direct,
    function: FunctionId,
    arguments: &[u32],
) -> Result<(Verified<Module>, String), Vec<Diagnostic>> {
    let measures = Measures::of(DeviceKind::Cuda);
    let planned = match flatten::lower(&direct.module, function, arguments, &measures.flattened) {
        Ok(Flattened { module, plan, .. }) => return Ok((module, plan.to_string())),
        Err(Failure::Refused(why)) => why,
        Err(Failure::Wrong(errors)) => return Err(errors),
    };
    let reduced = match reducer::lower(&direct.module, function, &measures.reducers.form) {
        Ok(reducers) => return Ok((reducers.module, AS_REDUCER.to_owned())),
        Err(Failure::Refused(why)) => why,
        Err(Failure::Wrong(errors)) => return Err(errors),
    };
    let called = [function, direct.apply, direct.force];
    let lowered = forkjoin::lower(&direct.module, &called, &measures.form)?;
    Ok((lowered.module, format!("by fork-join, because {planned}; it is not a reducer, because {reduced}")))
}

/// The first of some errors.
fn first(errors: Vec<Diagnostic>) -> Fault {
    errors.into_iter().next().map_or_else(lost, Fault::Device)
}

/// Whether the buffers of reducers fit the device.
fn fits(reducers: &reducer::Reducers, options: &reducer::runner::ReducerOptions, caps: &Caps) -> bool {
    let most = one_binding(caps);
    ReducerRunner::bytes(reducers, options).iter().all(|bytes| *bytes <= most)
        && reducers.all.iter().all(|reducer| reducer.shared <= u64::from(caps.shared_bytes))
}

/// Bytes that one binding reaches.
fn one_binding(caps: &Caps) -> u64 {
    caps.binding_bytes.min(caps.buffer_bytes)
}

/// Flattened of which the buffers fit the device.
fn fit(flattened: Flattened, device: &Device, heap: u64) -> Result<Flattened, Failure> {
    let refused = |why: &'static str| Err(Failure::Refused(Refusal::new(why)));
    let caps = device.caps();
    if FlattenedRunner::bytes(&flattened) > one_binding(caps) {
        return refused("its frames are larger than what the device can bind");
    }
    // Supersteps say what there is to say of a heap that the device does not reach.
    if heap > device.reach() {
        return refused("the device does not reach the heap that `--memory` asks for");
    }
    // Such a kernel has many accesses: in parts each is several, and drivers compile that for minutes.
    if 8 * flattened.plan.units > one_binding(caps) {
        return refused("all that it makes is larger than what one binding reaches");
    }
    if flattened.plan.units > heap / 8 {
        return refused("there is too little memory for all that it makes");
    }
    // Others may have a part of the device's memory: what is much is tried out.
    let bytes = 8 * flattened.plan.units;
    if bytes > MUCH {
        match device.allocate(Memory::of(bytes)) {
            Ok(_) => {}
            Err(error) if error.code == Code::DeviceMemory => {
                return refused("the device has too little memory left for all that it makes");
            }
            Err(error) => return Err(Failure::Wrong(vec![error])),
        }
    }
    Ok(flattened)
}

/// Which fields of a cell are words, if it is data: a number, or what a program's own constructors make.
fn data_fields(meaning: &Meaning, program: &Program) -> Option<Vec<bool>> {
    let io = [program.known.io_done, program.known.io_call];
    match meaning {
        Meaning::Boxed(_) => Some(vec![false]),
        Meaning::Shape { what: What::Ctor(ctor), fields, .. } if !io.contains(&Some(*ctor)) => Some(words(fields)),
        Meaning::Shape { what: What::Pair, fields, .. } => Some(words(fields)),
        Meaning::Shape { .. } => None,
    }
}
fn words(fields: &[Repr]) -> Vec<bool> {
    fields.iter().map(|repr| matches!(repr, Repr::Term)).collect()
}

/// Whether a value is data: nothing in it is called to print it, and it asks for no effects.
fn is_data(
    known: Known,
    flattened: &Flattened,
    direct: &Direct,
    program: &Program,
    seen: &mut HashSet<ShapeId>,
) -> bool {
    match known {
        Known::Word(word) if heap::tag(word) == heap::IMMEDIATE => {
            let found = Immediate::of(heap::payload(word), &direct.tables);
            matches!(found, Some(Immediate::Era | Immediate::Unit(_)))
        }
        Known::Number(_) | Known::Word(_) => true,
        Known::Tagged(tag) => tag < heap::IMMEDIATE,
        Known::Cell { shape, .. } => {
            if !seen.insert(shape) {
                return true;
            }
            let shape = flattened.shapes.get(shape);
            let io = [program.known.io_done, program.known.io_call];
            let fields = match direct.tables.layouts.get(shape.layout) {
                Some(Meaning::Boxed(_)) => return true,
                Some(Meaning::Shape { what: What::Ctor(ctor), fields, .. }) if !io.contains(&Some(*ctor)) => fields,
                Some(Meaning::Shape { what: What::Pair, fields, .. }) => fields,
                Some(Meaning::Shape { .. }) | None => return false,
            };
            let words = shape.fields.iter().zip(fields).filter(|(_, repr)| matches!(repr, Repr::Term));
            words.map(|(known, _)| *known).all(|known| is_data(known, flattened, direct, program, seen))
        }
        Known::Linear { .. } => true,
        Known::Unknown | Known::Hole { .. } => false,
    }
}

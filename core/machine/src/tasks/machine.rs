//! The steps of functions, on a stack of activations that is the machine's own.
//!
//! Invariant: between calls of the host there are no activations. Whoever is to get the results of a activation stands in it.

use super::code::{self, Arg, TaskAction, TaskCode, TaskStep};
use super::forks::{Forks, Turn};
use super::heap::Heap;
use super::{TaskSettings, reference_counts};
use crate::interp;
use girih_base::diag::{Code as Error, Diagnostic};
use girih_base::idx::IndexVec;
use girih_ir::heap as words;
use girih_ir::heap::{GlobalId, LayoutId, tag};
use girih_ir::types::Type;
use girih_ir::verify::Verified;
use girih_ir::{FunctionId, Module};
use girih_lower::legalise;
use girih_runtime::{Fault, Runner, TaskOptions, TaskStats};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Steps between two looks at whether to stop.
const PATIENCE: u64 = 1 << 12;

/// The reference machine for functions in task form.
#[derive(Debug)]
pub struct TaskMachine {
    pub(super) program: Arc<TaskProgram>,
    options: TaskOptions,
    settings: TaskSettings,
    pub(super) heap: Heap,
    globals: Vec<Computed>,
    /// How many globals are being computed.
    computing: usize,
    forks: Forks,
    values: Vec<u64>,
    current: TaskActivation,
    callers: Vec<TaskActivation>,
    /// Operands of the step that is being done.
    scratch: Vec<u64>,
    steps: u64,
    calls: u64,
    forked: u64,
    /// How many ownerships of each cell the host has, in checked mode.
    host: HashMap<u32, u64>,
    /// Why nothing more can be run.
    ended: Option<Fault>,
    /// Who does some of the calls.
    elsewhere: Option<Box<dyn Elsewhere>>,
}

/// Does calls of some functions in the machine's stead.
pub trait Elsewhere: std::fmt::Debug + Send {
    /// The results of a call, as words; none if the function is not one of those.
    fn call(&mut self, function: FunctionId, arguments: &[u64]) -> Option<Result<Vec<u64>, Fault>>;
}

/// A module made ready.
#[derive(Debug)]
pub(super) struct TaskProgram {
    pub(super) module: Module,
    codes: IndexVec<FunctionId, Option<TaskCode>>,
}

/// The value of a global.
#[derive(Clone, Copy, Debug)]
enum Computed {
    NotYet,
    Now,
    Is(u32),
}

/// Who gets the results of a activation.
#[derive(Clone, Copy, Debug)]
enum Target {
    Host,
    /// The step before the caller's next one.
    Caller,
    /// Who joins this call.
    Task(u64),
    Global(GlobalId),
}

/// A function that has not returned.
#[derive(Clone, Copy, Debug)]
struct TaskActivation {
    function: FunctionId,
    next: usize,
    base: usize,
    target: Target,
}

/// How a run goes on behind a step.
enum Flow {
    /// With the current activation, which may be another one.
    On,
    /// Not: the host gets what is in `scratch`.
    End,
}

impl TaskMachine {
    /// A machine for the functions in task form of a module, with an empty heap.
    pub fn new(
        module: &Verified<Module>,
        options: TaskOptions,
        settings: TaskSettings,
    ) -> Result<TaskMachine, Diagnostic> {
        let mut module = (**module).clone();
        interp::link(&mut module)?;
        legalise::lane_by_lane(&mut module)?;
        let codes = code::prepare_all(&module);
        Ok(TaskMachine {
            heap: Heap::new(&module, &options, settings.checked),
            globals: vec![Computed::NotYet; module.globals.len()],
            computing: 0,
            forks: Forks::new(settings.seed),
            program: Arc::new(TaskProgram { module, codes }),
            options,
            settings,
            values: vec![],
            current: TaskActivation { function: FunctionId::new(0), next: 0, base: 0, target: Target::Host },
            callers: vec![],
            scratch: vec![],
            steps: 0,
            calls: 0,
            forked: 0,
            host: HashMap::new(),
            ended: None,
            elsewhere: None,
        })
    }

    /// The same machine, some of whose calls are done elsewhere.
    #[must_use]
    pub fn with_elsewhere(self, elsewhere: Box<dyn Elsewhere>) -> TaskMachine {
        TaskMachine { elsewhere: Some(elsewhere), ..self }
    }

    // Running.

    fn run(&mut self) -> Result<(), Fault> {
        let program = self.program.clone();
        loop {
            let code = program.codes.get(self.current.function).and_then(Option::as_ref);
            let Some(step) = code.and_then(|code| code.steps.get(self.current.next)) else {
                return Err(self.not_ready(self.current.function));
            };
            self.current.next += 1;
            self.steps += 1;
            if self.steps.is_multiple_of(PATIENCE) || self.settings.fuel.is_some() {
                self.look_around(step)?;
            }
            match self.step(step).map_err(|fault| at(fault, step))? {
                Flow::On => {}
                Flow::End => return Ok(()),
            }
        }
    }

    fn look_around(&self, step: &TaskStep) -> Result<(), Fault> {
        if self.options.interrupt.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Fault::Interrupted);
        }
        if self.settings.fuel.is_some_and(|fuel| self.steps > fuel) {
            let name = &self.program.module.functions[self.current.function].name;
            let message = format!("the step limit was reached in `@{name}`");
            return Err(Fault::Device(Diagnostic::new(Error::OutOfFuel, step.span, message)));
        }
        Ok(())
    }

    fn value(&self, arg: Arg) -> u64 {
        match arg {
            Arg::Slot(slot) => self.values[self.current.base + slot as usize],
            Arg::Constant(bits) => bits,
        }
    }
    fn word(&self, arg: Arg) -> u32 {
        self.value(arg) as u32
    }
    fn set(&mut self, slot: u32, value: u64) {
        self.values[self.current.base + slot as usize] = value;
    }
    /// Reads operands into `scratch`.
    fn gather(&mut self, args: &[Arg]) {
        self.scratch.clear();
        for arg in args {
            let value = self.value(*arg);
            self.scratch.push(value);
        }
    }
    fn scatter(&mut self, slots: &[u32]) {
        for (i, slot) in slots.iter().enumerate() {
            self.set(*slot, self.scratch.get(i).copied().unwrap_or(0));
        }
    }

    fn step(&mut self, step: &TaskStep) -> Result<Flow, Fault> {
        match &step.action {
            TaskAction::Unary(f, a, to) => self.set(*to, f(self.value(*a))),
            TaskAction::Binary(f, [a, b], to) => self.set(*to, f(self.value(*a), self.value(*b))),
            TaskAction::Ternary(f, [a, b, c], to) => self.set(*to, f(self.value(*a), self.value(*b), self.value(*c))),
            TaskAction::Go(moves, to) => {
                self.scratch.clear();
                for (from, _) in moves {
                    self.scratch.push(self.value(*from));
                }
                for (i, (_, slot)) in moves.iter().enumerate() {
                    self.set(*slot, self.scratch[i]);
                }
                self.current.next = *to;
            }
            TaskAction::Unless(condition, to) => {
                if self.value(*condition) == 0 {
                    self.current.next = *to;
                }
            }
            TaskAction::Table(value, table, default) => {
                let value = self.value(*value);
                let found = table.binary_search_by_key(&value, |(case, _)| *case);
                self.current.next = found.map_or(*default, |i| table[i].1);
            }
            TaskAction::Call { callee, arguments, .. } => {
                self.gather(arguments);
                self.enter(*callee, Target::Caller)?;
            }
            TaskAction::Tail { callee, arguments } => {
                self.gather(arguments);
                if self.is_done_elsewhere(*callee)? {
                    return Ok(self.leave());
                }
                self.replace(*callee)?;
            }
            TaskAction::Return(results) => {
                self.gather(results);
                return Ok(self.leave());
            }
            TaskAction::Fork { callee, arguments, token } => self.fork(*callee, arguments, *token)?,
            TaskAction::Join { token, results } => self.join(*token, results)?,
            TaskAction::Trap(condition, code) => {
                if self.value(*condition) != 0 {
                    return Err(Fault::Trap(*code));
                }
            }
            TaskAction::Global(id, to) => self.global(*id, *to)?,
            TaskAction::Impossible(op) => return Err(Fault::Device(code::impossible(*op, step.span))),
            cell => self.cell(cell)?,
        }
        Ok(Flow::On)
    }

    /// The operations on cells and words.
    fn cell(&mut self, action: &TaskAction) -> Result<(), Fault> {
        match action {
            TaskAction::New { layout, fields, to } => {
                self.gather(fields);
                let word = self.heap.new_cell(*layout, self.scratch.iter().map(|v| *v as u32))?;
                self.set(*to, word.into());
            }
            TaskAction::Get { layout, field, cell, to } => {
                let value = self.heap.get(self.word(*cell), *layout, *field)?;
                self.set(*to, value.into());
            }
            TaskAction::Layout { cell, to } => {
                let layout = self.heap.layout(self.word(*cell))?;
                self.set(*to, layout.into());
            }
            TaskAction::Open { layout, cell, token, fields } => {
                let (word, place) = self.heap.open(self.word(*cell), *layout)?;
                for (i, slot) in fields.iter().enumerate() {
                    self.set(*slot, self.heap.field_at(place, i).into());
                }
                self.set(*token, word.into());
            }
            TaskAction::Fill { layout, token, fields, to } => {
                self.gather(fields);
                let token = self.word(*token);
                let word = self.heap.fill(token, *layout, self.scratch.iter().map(|v| *v as u32))?;
                self.set(*to, word.into());
            }
            TaskAction::Free(token) => self.heap.free(self.word(*token))?,
            TaskAction::Grow { chain, open, cell, field, to } => {
                let (chain, open, cell) = (self.word(*chain), self.word(*open), self.word(*cell));
                self.heap.grow(chain, open as usize, cell, *field)?;
                self.set(*to, cell.into());
            }
            TaskAction::EndChain { chain, open, value, to } => {
                let (chain, open, value) = (self.word(*chain), self.word(*open), self.word(*value));
                let first = self.heap.put(chain, open as usize, value)?;
                self.set(*to, first.into());
            }
            TaskAction::Share(word, to) => {
                let word = self.word(*word);
                self.heap.share(word)?;
                to.iter().for_each(|to| self.set(*to, word.into()));
            }
            TaskAction::Drop(word) => self.heap.drop(self.word(*word))?,
            TaskAction::Flat(word, to) => {
                let word = self.word(*word);
                self.heap.check_flat(word)?;
                to.iter().for_each(|to| self.set(*to, word.into()));
            }
            _handled_by_the_caller => {}
        }
        Ok(())
    }

    // Frames.

    fn slots(&self, function: FunctionId) -> Result<usize, Fault> {
        let code = self.program.codes.get(function).and_then(Option::as_ref);
        code.map(|code| code.slots).ok_or_else(|| self.not_ready(function))
    }

    fn too_deep(&self) -> Fault {
        Fault::Stack { limit: self.options.stack, function: Some(self.current.function) }
    }

    /// Makes place for the values of a activation and puts the arguments, which are in `scratch`, there.
    fn open_activation(&mut self, base: usize, slots: usize) -> Result<(), Fault> {
        let short = self.too_deep();
        let bytes = (base + slots) * size_of::<u64>() + self.callers.len() * size_of::<TaskActivation>();
        let more = (base + slots).saturating_sub(self.values.len());
        if bytes as u64 > self.options.stack || self.values.try_reserve(more).is_err() {
            return Err(short);
        }
        self.values.truncate(base);
        self.values.extend_from_slice(&self.scratch);
        self.values.resize(base + slots, 0);
        self.calls += 1;
        Ok(())
    }

    /// Begins a function, whose arguments are in `scratch`, on top of the current one.
    fn enter(&mut self, function: FunctionId, target: Target) -> Result<(), Fault> {
        let base = self.values.len();
        if self.is_done_elsewhere(function)? {
            self.callers.push(self.current);
            self.current = TaskActivation { function, next: 0, base, target };
            self.leave();
            return Ok(());
        }
        let slots = self.slots(function)?;
        if self.callers.try_reserve(1).is_err() {
            return Err(self.too_deep());
        }
        self.callers.push(self.current);
        self.open_activation(base, slots)?;
        self.current = TaskActivation { function, next: 0, base, target };
        Ok(())
    }

    /// Has a call done elsewhere, if somebody does it; its arguments, and then its results, are in `scratch`.
    fn is_done_elsewhere(&mut self, function: FunctionId) -> Result<bool, Fault> {
        let Some(done) = self.elsewhere.as_mut().and_then(|other| other.call(function, &self.scratch)) else {
            return Ok(false);
        };
        self.scratch = done?;
        Ok(true)
    }

    /// Begins a function, whose arguments are in `scratch`, instead of the current one.
    fn replace(&mut self, function: FunctionId) -> Result<(), Fault> {
        let slots = self.slots(function)?;
        self.open_activation(self.current.base, slots)?;
        self.current = TaskActivation { function, next: 0, ..self.current };
        Ok(())
    }

    /// Ends the current function; its results are in `scratch`.
    fn leave(&mut self) -> Flow {
        let TaskActivation { base, target, .. } = self.current;
        self.values.truncate(base);
        let Some(caller) = self.callers.pop() else { return Flow::End };
        self.current = caller;
        match target {
            Target::Host => return Flow::End,
            Target::Task(token) => self.forks.end(token, self.scratch[..].into()),
            Target::Global(id) => {
                let word = self.scratch.first().copied().unwrap_or(0) as u32;
                self.globals[id.index()] = Computed::Is(word);
                self.computing -= 1;
            }
            Target::Caller => {
                let program = self.program.clone();
                let code = program.codes.get(caller.function).and_then(Option::as_ref);
                let step = code.and_then(|code| code.steps.get(caller.next.wrapping_sub(1)));
                if let Some(TaskAction::Call { results, .. } | TaskAction::Join { results, .. }) =
                    step.map(|s| &s.action)
                {
                    self.scatter(results);
                }
            }
        }
        Flow::On
    }

    fn global(&mut self, id: GlobalId, to: u32) -> Result<(), Fault> {
        match self.globals[id.index()] {
            Computed::Is(word) => {
                self.heap.share(word)?;
                self.set(to, word.into());
                Ok(())
            }
            Computed::Now => Err(Fault::SelfDependent(id)),
            Computed::NotYet => {
                self.globals[id.index()] = Computed::Now;
                self.computing += 1;
                let function = self.program.module.globals[id].function;
                // When it is there, this step comes again.
                self.current.next -= 1;
                self.scratch.clear();
                self.enter(function, Target::Global(id))
            }
        }
    }

    // Forked calls.

    fn fork(&mut self, callee: FunctionId, arguments: &[Arg], to: u32) -> Result<(), Fault> {
        self.gather(arguments);
        let (token, turn) = self.forks.fork(callee, self.scratch[..].into());
        self.set(to, token);
        self.forked += 1;
        match turn {
            Turn::Now => self.begin(token),
            Turn::Later => self.let_someone(),
        }
    }

    /// Lets another forked call run first, now and then; but none on top of a global that it may need.
    fn let_someone(&mut self) -> Result<(), Fault> {
        if self.computing > 0 {
            return Ok(());
        }
        match self.forks.someone() {
            Some(token) => self.begin(token),
            None => Ok(()),
        }
    }

    fn begin(&mut self, token: u64) -> Result<(), Fault> {
        let Some((callee, arguments)) = self.forks.begin(token) else { return Ok(()) };
        self.scratch.clear();
        self.scratch.extend_from_slice(&arguments);
        self.enter(callee, Target::Task(token))
    }

    fn join(&mut self, token: Arg, results: &[u32]) -> Result<(), Fault> {
        let token = self.value(token);
        if let Some(found) = self.forks.join(token) {
            self.scratch.clear();
            self.scratch.extend_from_slice(&found);
            self.scatter(results);
            return self.let_someone();
        }
        let Some((callee, arguments)) = self.forks.begin(token) else {
            let message = "this call has been joined, or is waited for by itself";
            return Err(Fault::Device(Diagnostic::new(Error::Internal, girih_base::span::Span::NONE, message)));
        };
        self.forks.forget(token);
        self.scratch.clear();
        self.scratch.extend_from_slice(&arguments);
        self.enter(callee, Target::Caller)
    }

    // The host.

    fn not_ready(&self, function: FunctionId) -> Fault {
        let f = self.program.module.functions.get(function);
        let name = f.map_or("?", |f| f.name.as_str());
        let span = f.map_or(girih_base::span::Span::NONE, |f| f.span);
        let message = format!("`@{name}` cannot be run in task form");
        Fault::Device(Diagnostic::new(Error::BadArguments, span, message).hint("kernels are launched on a device"))
    }

    /// Whether the host may call a function with so many arguments.
    fn check_call(&self, id: FunctionId, arguments: &[u32]) -> Result<(), Fault> {
        self.slots(id)?;
        let function = &self.program.module.functions[id];
        let passes = |ty: Type| words::FIELDS.contains(&ty) || ty == Type::BOOL;
        let wrong = |message: String| Err(Fault::Device(Diagnostic::new(Error::BadArguments, function.span, message)));
        if function.params.len() != arguments.len() {
            let (name, asked) = (&function.name, function.params.len());
            return wrong(format!("`@{name}` takes {asked} arguments, but {} were given", arguments.len()));
        }
        if function.params.iter().any(|param| function.param_attrs(*param).borrowed) {
            return wrong(format!("`@{}` borrows a parameter, so it cannot be called from outside", function.name));
        }
        let types = function.params.iter().map(|p| function.ty(*p)).chain(function.results.iter().copied());
        match types.into_iter().find(|ty| !passes(*ty)) {
            Some(ty) => {
                wrong(format!("`@{}` cannot be called from outside: `{ty}` is not a word of 32 bits", function.name))
            }
            None => Ok(()),
        }
    }

    fn call_checked(&mut self, function: FunctionId, arguments: &[u32]) -> Result<Vec<u32>, Fault> {
        self.check_call(function, arguments)?;
        let f = &self.program.module.functions[function];
        let owned: Vec<bool> = f.params.iter().map(|p| f.ty(*p) == Type::Term).collect();
        let gives: Vec<bool> = f.results.iter().map(|ty| *ty == Type::Term).collect();
        for (word, _) in arguments.iter().zip(owned).filter(|(_, owned)| *owned) {
            self.lose(*word);
        }
        self.scratch.clear();
        self.scratch.extend(arguments.iter().map(|word| u64::from(*word)));
        self.steps = 0;
        self.values.clear();
        self.callers.clear();
        let slots = self.slots(function)?;
        self.current = TaskActivation { function, next: 0, base: 0, target: Target::Host };
        self.open_activation(0, slots)?;
        self.run()?;
        let results: Vec<u32> = self.scratch.iter().map(|value| *value as u32).collect();
        for (word, _) in results.iter().zip(gives).filter(|(_, gives)| *gives) {
            self.gain(*word);
        }
        self.audit()?;
        Ok(results)
    }

    /// Counts who owns what, in checked mode.
    fn audit(&self) -> Result<(), Fault> {
        if !self.settings.checked {
            return Ok(());
        }
        let known = |global: &Computed| if let Computed::Is(word) = global { Some(*word) } else { None };
        let globals = self.globals.iter().filter_map(known);
        reference_counts::check(&self.program.module, &self.heap, globals, &self.host).map_err(Fault::Device)
    }

    fn gain(&mut self, word: u32) {
        if self.settings.checked && tag(word) == words::CELL {
            *self.host.entry(word).or_insert(0) += 1;
        }
    }
    fn lose(&mut self, word: u32) {
        if let Some(count) = self.host.get_mut(&word) {
            *count = count.saturating_sub(1);
        }
    }

    /// Remembers why nothing more can be run.
    fn end<T>(&mut self, result: Result<T, Fault>) -> Result<T, Fault> {
        if let Err(fault) = &result {
            self.ended = Some(fault.clone());
            self.values = vec![];
            self.callers = vec![];
        }
        result
    }
}

/// A fault with the place where it happened.
fn at(fault: Fault, step: &TaskStep) -> Fault {
    match fault {
        Fault::Device(diagnostic) if diagnostic.span().is_none() => {
            Fault::Device(Diagnostic::new(diagnostic.code, step.span, diagnostic.message))
        }
        other => other,
    }
}

impl Runner for TaskMachine {
    fn call(&mut self, function: FunctionId, arguments: &[u32]) -> Result<Vec<u32>, Fault> {
        if let Some(fault) = &self.ended {
            return Err(fault.clone());
        }
        let result = self.call_checked(function, arguments);
        self.end(result)
    }
    fn layout(&self, cell: u32) -> Option<LayoutId> {
        self.heap.place(cell).map(|place| self.heap.layout_at(place))
    }
    fn field(&self, cell: u32, field: usize) -> u32 {
        match self.heap.place(cell) {
            Some(place) if field < self.heap.fields(self.heap.layout_at(place)) => self.heap.field_at(place, field),
            _no_such_field => 0,
        }
    }
    fn new_cell(&mut self, layout: LayoutId, fields: &[u32]) -> Result<u32, Fault> {
        let Some(row) = self.program.module.layouts.get(layout).filter(|row| row.fields.len() == fields.len()) else {
            let message = format!("layout {} is not one of {} fields", layout.index(), fields.len());
            return Err(Fault::Device(Diagnostic::new(Error::BadArguments, girih_base::span::Span::NONE, message)));
        };
        let terms: Vec<bool> = row.fields.iter().map(|ty| *ty == Type::Term).collect();
        let made = self.heap.new_cell(layout, fields.iter().copied());
        let word = self.end(made)?;
        for (field, _) in fields.iter().zip(terms).filter(|(_, term)| *term) {
            self.lose(*field);
        }
        self.gain(word);
        Ok(word)
    }
    fn share(&mut self, word: u32) {
        let shared = self.heap.share(word);
        if self.end(shared).is_ok() {
            self.gain(word);
        }
    }
    fn drop(&mut self, word: u32) {
        self.lose(word);
        let dropped = self.heap.drop(word);
        let _told_by_the_next_call = self.end(dropped);
    }
    fn stats(&self) -> TaskStats {
        TaskStats { calls: self.calls, forks: self.forked, ..self.heap.stats }
    }
}

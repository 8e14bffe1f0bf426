//! The evaluator: a machine that runs compiled code by value, with an explicit stack and a collected heap.
//!
//! It is the oracle: what it computes is what a program means. Nothing in it recurses on the native stack, so neither
//! deep recursion of a program nor deep data can overflow it; [`Limits::memory`] bounds what it needs.

mod advice;
mod apply;
mod collect;
mod heap;
mod operate;
mod run;
mod trap;
mod value;
mod view;

#[cfg(test)]
pub(crate) mod tests;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

pub use value::Value;
pub(crate) use value::{Packed, Word};
pub use view::View;

use super::DefId;
use super::code::{Address, Code, Tables, stub};
use girih_base::diag::{self, Diagnostic};
use girih_base::idx::IndexVec;
use heap::Heap;

/// What a machine may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of memory for heap and stack together.
    pub memory: u64,
    /// Ends the run soon after it has become true.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Ends the run soon after so many calls, as if it were interrupted.
    pub calls: u64,
    /// Collects at every allocation and forgets all that is not needed: finds mistakes in the machine, slowly.
    pub stress: bool,
}

impl Default for Limits {
    /// 4 GiB, and as many calls as there are.
    fn default() -> Limits {
        Limits { memory: 4 << 30, interrupt: None, calls: u64::MAX, stress: false }
    }
}

/// What a machine has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Calls of functions.
    pub calls: u64,
    /// Allocations: constructors, pairs, closures, partial applications; a string or list literal counts as one.
    pub cells: u64,
    /// Words of 8 bytes in these.
    pub words: u64,
    /// Collections of the nursery.
    pub minor_collections: u64,
    /// Collections of the whole heap.
    pub full_collections: u64,
    /// The largest stack so far, in bytes; measured at collections and when the stack grows.
    pub largest_stack: u64,
    /// The largest live heap that a full collection has found, in bytes.
    pub largest_live: u64,
}

/// A value that a machine keeps: it stays valid as long as this handle lives.
#[derive(Clone, Debug)]
pub struct Root {
    word: Arc<Mutex<Word>>,
}

/// Runs code. A machine belongs to one thread at a time; many machines can share the code.
pub struct Machine {
    code: Code,
    limits: Limits,
    heap: Heap,
    /// The frames of all calls. All of it is initialised; the current frame starts at the base that `run` holds.
    stack: Vec<Packed>,
    /// The calls that wait for another one to return.
    frames: Vec<Activation>,
    /// How many of the waiting calls have not been returned to since the last collection: what they hold is old.
    untouched: usize,
    /// What is known of the definitions without parameters.
    globals: IndexVec<DefId, Global>,
    /// The definitions whose state is [`Global::Done`].
    done: Vec<DefId>,
    /// The definitions whose state is [`Global::Running`].
    running: Vec<DefId>,
    roots: Vec<Root>,
    /// Calls until the next look at the interrupt flag.
    fuel: u32,
    stats: Stats,
}

/// A call that waits.
#[derive(Clone, Copy, Debug)]
struct Activation {
    /// Where it goes on.
    pc: Address,
    /// Where its slots begin.
    base: u32,
}

/// A definition without parameters.
#[derive(Clone, Copy, Debug)]
enum Global {
    /// Not computed yet.
    Waiting,
    /// Being computed.
    Running,
    /// Computed.
    Done(Word),
}

/// Where the machine goes on.
#[derive(Clone, Copy, Debug)]
struct Place {
    pc: Address,
    base: usize,
}

/// What comes of asking for a value.
enum Step {
    /// This is it.
    Value(Word),
    /// Something has to run first.
    Enter(Place),
}

/// An error on its way out of the machine.
type Trap = Box<Diagnostic>;

/// How many slots above any frame are always there, for the frames of stubs.
const SLACK: usize = 8;

impl Machine {
    /// A machine for this code.
    pub fn new(code: &Code, limits: Limits) -> Machine {
        let words = usize::try_from(limits.memory / 8).unwrap_or(usize::MAX);
        Machine {
            heap: Heap::new(words, limits.stress),
            stack: vec![Packed::ERA; 1024],
            frames: Vec::with_capacity(256),
            untouched: 0,
            globals: code.tables.definitions.iter().map(|_| Global::Waiting).collect(),
            done: vec![],
            running: vec![],
            roots: vec![],
            fuel: run::POLL_INTERVAL,
            stats: Stats::default(),
            code: code.clone(),
            limits,
        }
    }

    /// The code that this machine runs.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Calls a definition with any number of arguments. Without arguments, a definition without parameters is computed
    /// (once: its value is kept), and a function is itself the result.
    ///
    /// # Errors
    /// If the program fails, needs too much memory, or is interrupted.
    pub fn call(&mut self, def: DefId, args: &[Value]) -> Result<Value, Diagnostic> {
        let function = Value(Word::Global(def));
        if args.is_empty() { self.force(function) } else { self.apply(function, args) }
    }

    /// Applies a value to arguments.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn apply(&mut self, function: Value, args: &[Value]) -> Result<Value, Diagnostic> {
        let start = [Word::U32(args.len() as u32), Word::U32(stub::RESUME)];
        let slots = start.into_iter().chain(args.iter().map(|arg| arg.0)).chain([function.0]);
        self.start(stub::RESUME, slots)
    }

    /// Computes a value that is a definition which waits to be computed; gives any other value back.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn force(&mut self, value: Value) -> Result<Value, Diagnostic> {
        match self.peek(value) {
            Some(value) => Ok(value),
            None => self.start(stub::FORCE, [value.0].into_iter()),
        }
    }

    /// The value, if it can be had without running anything: see [`force`](Self::force).
    pub fn peek(&self, value: Value) -> Option<Value> {
        match value.0 {
            Word::Global(def) => match self.global(def) {
                Some(Global::Done(word)) => Some(Value(word)),
                Some(Global::Waiting | Global::Running) => None,
                None => Some(value),
            },
            _ => Some(value),
        }
    }

    /// The value of a definition without parameters, if it has been computed.
    pub fn computed(&self, def: DefId) -> Option<Value> {
        match self.global(def) {
            Some(Global::Done(word)) => Some(Value(word)),
            Some(Global::Waiting | Global::Running) | None => None,
        }
    }

    /// The value of a definition without parameters, which was computed elsewhere.
    pub fn supply(&mut self, def: DefId, value: Value) {
        if let Some(Global::Waiting) = self.global(def) {
            self.globals[def] = Global::Done(value.0);
            self.done.push(def);
        }
    }

    /// Keeps a value valid while code runs.
    pub fn keep(&mut self, value: Value) -> Root {
        let root = Root { word: Arc::new(Mutex::new(value.0)) };
        self.roots.push(root.clone());
        root
    }

    /// A value that was kept by this machine, as it is now.
    pub fn value(&self, root: &Root) -> Value {
        Value(*root.lock())
    }

    /// What the machine has done so far.
    pub fn stats(&self) -> Stats {
        let since = u64::from(run::POLL_INTERVAL - self.fuel);
        Stats { calls: self.stats.calls + since, cells: self.heap.cells, words: self.heap.made(), ..self.stats }
    }

    /// The state of a definition without parameters; none for a function, which is a value already.
    fn global(&self, def: DefId) -> Option<Global> {
        match self.code.tables.definitions.get(def) {
            Some(Some(entry)) if entry.arity > 0 => None,
            _ => self.globals.get(def).copied(),
        }
    }

    fn start(&mut self, pc: Address, slots: impl Iterator<Item = Word>) -> Result<Value, Diagnostic> {
        let slots: Vec<Packed> = slots.map(Packed::from).collect();
        let result = self.ensure_stack(slots.len(), pc).and_then(|()| {
            self.stack[..slots.len()].copy_from_slice(&slots);
            self.frames.push(Activation { pc: stub::STOP, base: 0 });
            self.run(Place { pc, base: 0 })
        });
        result.map(Value).map_err(|trap| {
            self.reset();
            *trap
        })
    }

    /// After an error: nothing runs any more.
    fn reset(&mut self) {
        self.frames.clear();
        self.untouched = 0;
        for def in self.running.drain(..) {
            self.globals[def] = Global::Waiting;
        }
    }

    /// Makes the frame that ends at `end` possible.
    #[inline]
    fn ensure_stack(&mut self, end: usize, pc: Address) -> Result<(), Trap> {
        if end + SLACK > self.stack.len() { self.grow_stack(end + SLACK, pc) } else { Ok(()) }
    }

    fn tables(&self) -> Arc<Tables> {
        Arc::clone(&self.code.tables)
    }
}

impl Root {
    fn lock(&self) -> std::sync::MutexGuard<'_, Word> {
        self.word.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("limits", &self.limits).field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("instructions", &self.tables.instructions.len()).finish_non_exhaustive()
    }
}

/// The internal error of a definition that the code does not have.
fn not_compiled(name: &str) -> diag::Diagnostic {
    let message = format!("`{name}` is not part of the compiled code");
    Diagnostic::new(diag::Code::Internal, girih_base::span::Span::NONE, message)
        .hint("compile the code with it as a root")
}

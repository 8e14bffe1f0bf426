//! A function of a program as a function of Rust.

use super::bend::{Arguments, Bend};
use super::dynamic::{Value, Values};
use super::from_bend::{Misfit, Seen, Whole, take};
use super::names::{rust_for, rust_name};
use super::plan::{Mismatch, Plan, PlanId, Planner};
use super::store::Store;
use super::to_bend::{Failure, Give, give};
use crate::error::Error;
use crate::host::SystemHost;
use crate::program::Program;
use crate::run::{Choice, CompiledFunction, RunOptions, explain, function};
use crate::stack::on_big_stack;
use girih_base::diag::{Code as ErrorCode, Diagnostic, did_you_mean};
use girih_base::idx::IndexVec;
use girih_base::plural::counted;
use girih_base::span::{Sources, Span};
use girih_task::data::{Argument, Datum, Piece, Words};
use girih_task::flow::{Outside, Root, What};
use girih_term as term;
use girih_term::DefId;
use girih_term::code::Code;
use girih_term::eval::{Limits, Machine};
use girih_term::io::{Host, run_io};
use girih_term::print::show_scheme;
use girih_term::ty::Type;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

/// A function of a Bend program with arguments `A`, a tuple, and a result `R`: see [`Program::function`].
pub struct Function<A, R> {
    callable: Mutex<Callable>,
    /// Whose call runs now.
    caller: Mutex<Option<ThreadId>>,
    contract: Contract,
    choice: Choice,
    types: PhantomData<fn(A) -> R>,
}

/// What a function is and what its arguments and its result are.
struct Contract {
    name: String,
    def: DefId,
    sources: Sources,
    plans: IndexVec<PlanId, Plan>,
    arguments: Vec<PlanId>,
    result: PlanId,
    /// Whether the result is what an `IO` of the function ends with.
    performs: bool,
}

/// What runs the function. It is called by one thread at a time.
struct Callable {
    code: Code,
    def: DefId,
    place: Place,
    options: RunOptions,
    /// Whether the last call has.
    has_failed: bool,
}

enum Place {
    Evaluator(Box<Machine>),
    Compiled(CompiledFunction),
}

impl Program {
    /// A function of the program, as a function of Rust: numbers, tuples, lists, text and data go in and come out as they are.
    ///
    /// ```
    /// use girih::{Function, Options, Program};
    ///
    /// let text = "def squares(n: u24) -> List(u24):\n  return [x * x for x in [n, n + 1]]\n";
    /// let program = Program::from_text("squares.bend", text, &Options::library());
    /// let squares: Function<(u32,), Vec<u32>> = program.function("squares")?;
    /// assert_eq!(squares.call((3,))?, [9, 16]);
    /// # Ok::<(), girih::Error>(())
    /// ```
    ///
    /// The types are held to those of the function here, once. A function without annotations takes and gives what Rust says; then a result is
    /// looked at as it comes. A function whose result is an `IO` performs its effects when it is called. One that is given fewer
    /// arguments than it has parameters has a function as its result, which is no type of Rust.
    ///
    /// # Errors
    /// If the program has errors or no such function, or the types are not its own.
    pub fn function<A: Arguments, R: Bend>(&self, name: &str) -> Result<Function<A, R>, Error> {
        self.function_with(name, &RunOptions::default())
    }

    /// The same, run as the options say.
    ///
    /// # Errors
    /// As [`function`](Self::function), and if it cannot be run in that way.
    pub fn function_with<A: Arguments, R: Bend>(
        &self,
        name: &str,
        options: &RunOptions,
    ) -> Result<Function<A, R>, Error> {
        self.function_under(options, |program, sources| Contract::new::<A, R>(program, name, sources))
    }

    /// A function whose arguments are of these types, which values without types of Rust have.
    ///
    /// # Errors
    /// As [`function_with`](Self::function_with), and if a type is not known.
    pub(super) fn function_of_types(
        &self,
        name: &str,
        arguments: &[Type],
        options: &RunOptions,
    ) -> Result<Function<Values, Value>, Error> {
        self.function_under(options, |program, sources| Contract::of_types(program, name, arguments, sources))
    }

    fn function_under<A, R>(
        &self,
        options: &RunOptions,
        contract: impl FnOnce(&term::Program, Sources) -> Result<Contract, Vec<Diagnostic>> + Send,
    ) -> Result<Function<A, R>, Error> {
        let program = self.core_program()?;
        let sources = self.report().sources;
        let make = || {
            let contract = contract(program, sources.clone())?;
            let (callable, choice) = Callable::new(program, &contract, options)?;
            Ok((contract, callable, choice))
        };
        let made = on_big_stack(make).map_err(|diagnostics| Error::new(sources.clone(), diagnostics));
        made.map(|(contract, callable, choice)| Function {
            callable: Mutex::new(callable),
            caller: Mutex::default(),
            contract,
            choice,
            types: PhantomData,
        })
    }
}

impl<A: Arguments, R: Bend> Function<A, R> {
    /// Calls the function. Effects go to the system.
    ///
    /// # Errors
    /// If an argument is out of the range of its type, if the function fails, needs too much memory or is interrupted, or if a result
    /// without a type in Bend is no `R`.
    pub fn call(&self, arguments: A) -> Result<R, Error> {
        self.call_with(&arguments, &mut SystemHost::new())
    }

    /// The same with arguments that are kept. Effects go through `host`.
    ///
    /// # Errors
    /// As [`call`](Self::call), and if `host` itself calls the function that it is the host of.
    pub fn call_with(&self, arguments: &A, host: &mut dyn Host) -> Result<R, Error> {
        self.call_each(&arguments.each(), host)
    }
}

impl Function<Values, Value> {
    /// Calls the function with values of the types that it was looked up for. Effects go through `host`.
    ///
    /// # Errors
    /// As [`call_with`](Self::call_with).
    pub fn call_values(&self, arguments: &[Value], host: &mut dyn Host) -> Result<Value, Error> {
        let arguments: Vec<&dyn Give> = arguments.iter().map(|argument| argument as &dyn Give).collect();
        if arguments.len() != self.contract.arguments.len() {
            let message = format!("`{}` takes {} arguments", self.contract.name, self.contract.arguments.len());
            return Err(Error::from(Diagnostic::new(ErrorCode::BadArguments, Span::NONE, message)));
        }
        self.call_each(&arguments, host)
    }
}

impl<A, R: Bend> Function<A, R> {
    fn call_each(&self, arguments: &[&dyn Give], host: &mut dyn Host) -> Result<R, Error> {
        let mut call = || {
            if Caller::is_here(&self.caller) {
                return Err(self.contract.in_its_own_call());
            }
            let mut callable = self.callable.lock().unwrap_or_else(PoisonError::into_inner);
            let _caller = Caller::begin(&self.caller);
            callable.call::<R>(&self.contract, arguments, host)
        };
        call().map_err(|diagnostic| Error::new(self.contract.sources.clone(), vec![diagnostic]))
    }

    /// What runs it, and why.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }
}

/// A thread whose call of a function runs; dropped before another call can begin.
struct Caller<'f>(&'f Mutex<Option<ThreadId>>);

impl<'f> Caller<'f> {
    /// Whether it is this thread, which would wait for its own end.
    fn is_here(running: &Mutex<Option<ThreadId>>) -> bool {
        *running.lock().unwrap_or_else(PoisonError::into_inner) == Some(std::thread::current().id())
    }

    fn begin(running: &'f Mutex<Option<ThreadId>>) -> Caller<'f> {
        *running.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current().id());
        Caller(running)
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl<A, R> std::fmt::Debug for Function<A, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let types = format_args!("{}", std::any::type_name::<fn(A) -> R>()).to_string();
        f.debug_struct("Function").field("name", &self.contract.name).field("types", &types).finish_non_exhaustive()
    }
}

impl Contract {
    /// Holds Rust's types to those of a definition.
    fn new<A: Arguments, R: Bend>(
        program: &term::Program,
        name: &str,
        sources: Sources,
    ) -> Result<Contract, Vec<Diagnostic>> {
        let Some(def) = program.def_named(name) else { return Err(vec![no_function(program, name)]) };
        let scheme = &program.defs[def].ty;
        let mut planner = Planner::new(program, scheme);
        let parts = A::parts();
        let wrong = |why: String| {
            let rust = format!("Function<{}, {}>", tuple(parts.iter().map(|(_, name)| name.clone())), rust_name::<R>());
            vec![mismatched(program, def, parts.len(), &rust, why)]
        };
        let (mut ty, mut arguments) = (&scheme.ty, vec![]);
        for (number, (part, _)) in parts.iter().enumerate() {
            let given = match ty {
                Type::Arrow(given, rest) => {
                    ty = rest;
                    given
                }
                Type::Any | Type::Hole | Type::Var(_) | Type::Param(_) => &Type::Any,
                Type::None | Type::Num(_) | Type::Data(..) | Type::Tuple(_) => {
                    return Err(wrong(format!("it takes {}, not {}", counted(number, "argument"), parts.len())));
                }
            };
            let plan = part.plan(&mut planner, given);
            arguments.push(plan.map_err(|mismatch| wrong(format!("argument {}: {mismatch}", number + 1)))?);
        }
        let (performs, ty) = match ty {
            Type::Data(id, inner) if is_io(program, *id) => (true, inner.first().unwrap_or(&Type::Any)),
            other => (false, other),
        };
        let result = planner.plan::<R>(ty).map_err(|mismatch: Mismatch| wrong(format!("result: {mismatch}")))?;
        let plans = planner.finish();
        Ok(Contract { name: name.to_owned(), def, sources, plans, arguments, result, performs })
    }

    /// What values of these types go in, and what comes out.
    fn of_types(
        program: &term::Program,
        name: &str,
        given: &[Type],
        sources: Sources,
    ) -> Result<Contract, Vec<Diagnostic>> {
        let def = found(program, name).map_err(|error| vec![error])?;
        let scheme = &program.defs[def].ty;
        let wrong = |what: String, mismatch: Mismatch| {
            let (bend, why) = (mismatch.bend, mismatch.why);
            let message = format!("{what} of `{name}` is `{bend}`: {why}");
            let hint = "write the types of its parameters and of its result in its definition";
            vec![Diagnostic::new(ErrorCode::RustType, program.defs[def].span, message).hint(hint)]
        };
        // The variables become what the arguments are.
        let mut planner = Planner::new(program, scheme);
        let (mut ty, mut arguments) = (&scheme.ty, vec![]);
        for (number, own) in given.iter().enumerate() {
            let Type::Arrow(declared, rest) = ty else { return Err(vec![miscounted(program, def, given.len())]) };
            planner.bind(declared, own);
            let plan = planner.plan::<Value>(own);
            arguments.push(plan.map_err(|mismatch| wrong(format!("argument {}", number + 1), mismatch))?);
            ty = rest;
        }
        let (performs, ty) = match ty {
            Type::Data(id, inner) if is_io(program, *id) => (true, inner.first().unwrap_or(&Type::Any)),
            other => (false, other),
        };
        let result = planner.bound_in(ty);
        let result = planner.plan::<Value>(&result).map_err(|mismatch| wrong("the result".to_owned(), mismatch))?;
        let plans = planner.finish();
        Ok(Contract { name: name.to_owned(), def, sources, plans, arguments, result, performs })
    }

    /// That the function is called by the host of its own call.
    #[cold]
    fn in_its_own_call(&self) -> Diagnostic {
        let message = format!("`{}` is called by what performs the effects of its own call", self.name);
        let hint = "a `Function` runs one call at a time: look the function up a second time for calls by the host";
        Diagnostic::new(ErrorCode::BadArguments, Span::NONE, message).hint(hint)
    }

    /// That a value does not fit.
    fn misfit(&self, place: Span, misfit: &Misfit) -> Diagnostic {
        Diagnostic::new(ErrorCode::RustValue, place, format!("`{}`: {misfit}", self.name))
    }
}

fn is_io(program: &term::Program, id: term::TypeId) -> bool {
    program.known.io_done.is_some_and(|done| program.ctors[done].ty == id)
}

fn tuple(names: impl IntoIterator<Item = String>) -> String {
    let names: Vec<String> = names.into_iter().collect();
    if let [only] = &names[..] { format!("({only},)") } else { format!("({})", names.join(", ")) }
}

/// The definition of a name.
pub(super) fn found(program: &term::Program, name: &str) -> Result<DefId, Diagnostic> {
    program.def_named(name).ok_or_else(|| no_function(program, name))
}

/// That a function is given another number of arguments than it takes.
pub(super) fn miscounted(program: &term::Program, def: DefId, count: usize) -> Diagnostic {
    let term::Def { name, ty, span, .. } = &program.defs[def];
    let given = counted(count, "argument");
    let message = format!("`{name}` is `{}`, and is given {given}", show_scheme(program, ty));
    Diagnostic::new(ErrorCode::BadArguments, *span, message)
}

fn no_function(program: &term::Program, name: &str) -> Diagnostic {
    let known = program.defs.iter().filter(|def| !def.origin.is_generated()).map(|def| def.name.as_str());
    let error = Diagnostic::new(ErrorCode::UnboundName, Span::NONE, format!("the program has no function `{name}`"));
    match did_you_mean(name, known) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("a function of another file of the program has the name of the file before its own"),
    }
}

/// That Rust's types are not those of a definition. The hint shows types that are.
fn mismatched(program: &term::Program, def: DefId, count: usize, rust: &str, why: String) -> Diagnostic {
    let term::Def { name, ty: scheme, span, .. } = &program.defs[def];
    let message = format!("`{name}` is `{}` in Bend, and `{rust}` in Rust", show_scheme(program, scheme));
    let (mut ty, mut arguments) = (&scheme.ty, vec![]);
    while let Type::Arrow(from, to) = ty {
        if arguments.len() == count.max(program.defs[def].params.len()) {
            break;
        }
        arguments.push(rust_for(program, from));
        ty = to;
    }
    let hint = format!("look it up as `Function<{}, {}>`", tuple(arguments), rust_for(program, ty));
    Diagnostic::new(ErrorCode::RustType, *span, message).at(why).hint(hint)
}

impl Callable {
    fn new(
        program: &term::Program,
        contract: &Contract,
        options: &RunOptions,
    ) -> Result<(Callable, Choice), Vec<Diagnostic>> {
        let def = contract.def;
        let arguments = contract.arguments.iter().map(|plan| Outside::Typed(contract.plans[*plan].ty.clone()));
        let root = Root { def, arguments: arguments.collect() };
        let mut program = program.clone();
        program.entry = root.arguments.is_empty().then_some(def);
        let code = Code::for_roots(&program, &[def])?;
        let (choice, compiled) = function(&code, &root, options)?;
        let place = match compiled {
            Some(compiled) => Place::Compiled(compiled),
            None => Place::Evaluator(Box::new(Machine::new(&code, limits(options)))),
        };
        Ok((Callable { code, def, place, options: options.clone(), has_failed: false }, choice))
    }

    fn call<R: Bend>(
        &mut self,
        contract: &Contract,
        arguments: &[&dyn Give],
        host: &mut dyn Host,
    ) -> Result<R, Diagnostic> {
        let Callable { code, def, place, options, has_failed } = self;
        let result = match place {
            Place::Evaluator(machine) => return evaluate(machine, contract, *def, arguments, host),
            Place::Compiled(compiled) => {
                compiled.renew(std::mem::replace(has_failed, true))?;
                let (direct, runner) = (&compiled.direct, &mut *compiled.runner);
                let mut words = Words { program: code.program(), direct, runner, interrupt: options.interrupt.clone() };
                let result = run(&mut words, contract, arguments, host);
                // What could not be read looks like a mistake of the compiler.
                words.runner.trouble().map_or(result, Err)
            }
        };
        *has_failed = result.is_err();
        // Effects are not performed again.
        result.map_err(|error| match options.explain && !contract.performs {
            false => error,
            true => explain(code, options.memory, error, |machine| {
                let values = given(machine, contract, arguments)?;
                machine.call(*def, &values).map(drop)
            }),
        })
    }
}

fn limits(options: &RunOptions) -> Limits {
    Limits { memory: options.memory, interrupt: options.interrupt.clone(), ..Limits::default() }
}

/// The arguments as values of the program.
fn given<S: Store>(store: &mut S, contract: &Contract, arguments: &[&dyn Give]) -> Result<Vec<S::Value>, Diagnostic> {
    let mut values: Vec<S::Value> = vec![];
    for (number, (argument, plan)) in arguments.iter().zip(&contract.arguments).enumerate() {
        match give(store, &contract.plans, *argument, *plan) {
            Ok(value) => values.push(value),
            Err(Failure::Run(diagnostic)) => return Err(diagnostic),
            Err(Failure::Misfit(Misfit(why))) => {
                values.into_iter().for_each(|value| store.give_back(value));
                let place = store.program().defs[contract.def].span;
                return Err(contract.misfit(place, &Misfit(format!("in argument {}, {why}", number + 1))));
            }
        }
    }
    Ok(values)
}

/// The result as a value of Rust.
fn taken<S: Store, R: Bend>(
    store: &mut S,
    program: &term::Program,
    contract: &Contract,
    whole: Whole<S::Value>,
) -> Result<R, Diagnostic> {
    take(store, program, &contract.plans, whole, contract.result).map_err(|failure| match failure {
        Failure::Run(diagnostic) => diagnostic,
        Failure::Misfit(misfit) => contract.misfit(program.defs[contract.def].span, &misfit),
    })
}

/// Calls the function by the evaluator.
fn evaluate<R: Bend>(
    machine: &mut Machine,
    contract: &Contract,
    def: DefId,
    arguments: &[&dyn Give],
    host: &mut dyn Host,
) -> Result<R, Diagnostic> {
    let code = machine.code().clone();
    let values = given(machine, contract, arguments)?;
    let mut value = machine.call(def, &values)?;
    if contract.performs {
        value = machine.run_io(value, host)?;
        let _ = host.flush(1);
        value = inside(machine, value)?;
    }
    taken(machine, code.program(), contract, Whole::One(value))
}

/// Calls the compiled function.
fn run<R: Bend>(
    words: &mut Words<'_>,
    contract: &Contract,
    arguments: &[&dyn Give],
    host: &mut dyn Host,
) -> Result<R, Diagnostic> {
    let (program, direct) = (words.program, words.direct);
    let given: Vec<Argument> = given(words, contract, arguments)?.into_iter().map(Argument::Value).collect();
    let (mut owned, parts) = match direct.roots.first() {
        Some(root) => (words.call_root(root, &given)?, root.parts),
        None => (vec![words.call_entry()?], None),
    };
    let whole = match (parts, &mut owned[..]) {
        (None, [value]) if contract.performs => {
            let done = run_io(words, *value, host);
            // A reader that has gone away is none of the function's mistakes.
            let _ = host.flush(1);
            *value = done?;
            Whole::One(inside(words, *value)?)
        }
        (None, [value]) => Whole::One(*value),
        (Some(What::Pair), parts) => Whole::Parts(Seen::Pair, parts.to_vec()),
        // An `IO/Done`: what would be performed comes in one piece.
        (Some(What::Ctor(_)), [_magic, value]) if contract.performs => Whole::One(*value),
        (Some(What::Ctor(ctor)), parts) => Whole::Parts(Seen::Ctor(ctor), parts.to_vec()),
        (Some(What::Closure(_) | What::Partial(..)) | None, _) => return Err(in_pieces()),
    };
    let result = taken(words, program, contract, whole)?;
    owned.into_iter().for_each(|value: Datum| words.give_back(value));
    Ok(result)
}

/// What is inside the `IO/Done` that effects end with.
fn inside<S: Store>(store: &mut S, done: S::Value) -> Result<S::Value, Diagnostic> {
    let mut parts = vec![];
    match (store.piece(done, &mut parts)?, &parts[..]) {
        (Piece::Ctor(ctor), [value, _magic]) if Some(ctor) == store.program().known.io_done => Ok(*value),
        _ => Err(Diagnostic::new(
            ErrorCode::RustValue,
            Span::NONE,
            "effects have ended with something that is no `IO/Done`",
        )),
    }
}

#[cold]
fn in_pieces() -> Diagnostic {
    Diagnostic::new(ErrorCode::Internal, Span::NONE, "a function gave its result in pieces of nothing")
}

//! An interpreter of terms that does what the evaluator does, and looks each value up in the set that the analysis gives
//! for the place: variables, results, terms, fields of cells.
//!
//! It recurses for what is not a tail call, so it runs on a large stack and gives up when it is too deep.

mod choice;

use std::collections::HashSet;
use std::rc::Rc;

use girih_base::num::Num;
use girih_task::flow::{Callee, Flow, Instance, LambdaRef, Set, ShapeId, Site, What};
use girih_term::code::lambdas::Scopes;
use girih_term::{Body, CtorId, DefId, Known, LocalId, Program, Term, TermKind, TypeId};

/// A value.
#[derive(Clone)]
pub(super) enum Value<'p> {
    Num(Num),
    Era,
    Unit(CtorId),
    Cell(Rc<Cell<'p>>),
    Function(Instance),
    Thunk(DefId),
    Maker(CtorId),
    Selector(TypeId),
}

/// A cell, with the shape that the analysis gave to the place that made it.
pub(super) struct Cell<'p> {
    pub(super) shape: ShapeId,
    pub(super) what: What,
    pub(super) fields: Vec<Value<'p>>,
    /// The code of a closure.
    lambda: Option<Lambda<'p>>,
}

#[derive(Clone)]
struct Lambda<'p> {
    reference: LambdaRef,
    params: &'p [LocalId],
    body: &'p Term,
    captures: Rc<[LocalId]>,
}

/// Why the interpreter stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stop {
    /// The program fails.
    Trap,
    /// It takes too long.
    Steps,
    /// It recurses too deep.
    Depth,
}

/// The variables of a call.
struct Activation<'p> {
    instance: Instance,
    locals: Vec<Option<Value<'p>>>,
}

/// What a term in tail position gives.
enum Outcome<'p> {
    Value(Value<'p>),
    /// The application of a value to arguments.
    Tail(Value<'p>, Vec<Value<'p>>),
}

/// What an application comes to.
enum Entered<'p> {
    Value(Value<'p>),
    /// A call of code with all its arguments, and the arguments for its result.
    Call(Code<'p>, Vec<Value<'p>>, Vec<Value<'p>>),
}

enum Code<'p> {
    Definition(Instance),
    Lambda(Rc<Cell<'p>>, Lambda<'p>),
}

#[derive(Clone)]
enum Global<'p> {
    Waiting,
    Running,
    Done(Value<'p>),
}

/// What the lambdas of a definition capture, by addresses of their bodies.
type Captures = Vec<(usize, Rc<[LocalId]>)>;

pub(super) struct Interpreter<'p, 'f> {
    program: &'p Program,
    pub(super) flow: &'f Flow,
    /// The copies of definitions that can run.
    instances: HashSet<Instance>,
    globals: Vec<Global<'p>>,
    /// The lambdas of each definition: by address of the body, what they capture.
    lambdas: Vec<Option<Captures>>,
    steps_left: u64,
    depth: u32,
    /// How many values have been looked up.
    pub(super) checks: u64,
}

type Result<T> = std::result::Result<T, Stop>;

/// How deep the interpreter recurses.
const DEPTH: u32 = 20_000;

impl<'p, 'f> Interpreter<'p, 'f> {
    pub(super) fn new(program: &'p Program, flow: &'f Flow, steps: u64) -> Interpreter<'p, 'f> {
        Interpreter {
            program,
            flow,
            instances: flow.instances().iter().copied().collect(),
            globals: vec![Global::Waiting; program.defs.len()],
            lambdas: vec![None; program.defs.len()],
            steps_left: steps,
            depth: 0,
            checks: 0,
        }
    }

    /// A value must be in a set.
    fn check(&mut self, value: &Value<'p>, set: &Set, place: impl FnOnce() -> String) {
        self.checks += 1;
        let is_in = match value {
            Value::Num(number) => set.numbers.contains(number.kind()),
            Value::Era => set.era,
            Value::Unit(ctor) => set.units.contains(ctor),
            Value::Cell(cell) => set.shapes.contains(&cell.shape),
            Value::Function(instance) => set.functions.contains(instance),
            Value::Thunk(def) => set.thunks.contains(def),
            Value::Maker(ctor) => set.makers.contains(ctor),
            Value::Selector(ty) => set.selectors.contains(ty),
        };
        assert!(is_in, "{} is not in the set of {}: {set:?}", self.describe(value), place());
    }

    pub(super) fn describe(&self, value: &Value<'p>) -> String {
        match value {
            Value::Num(number) => format!("{number:?}"),
            Value::Era => "*".to_string(),
            Value::Unit(ctor) | Value::Maker(ctor) => self.program.ctors[*ctor].name.to_string(),
            Value::Cell(cell) => format!("{:?} of {:?}", cell.what, cell.shape),
            Value::Function(Instance { def, .. }) | Value::Thunk(def) => self.program.defs[*def].name.to_string(),
            Value::Selector(_) => "a selector".to_string(),
        }
    }

    pub(super) fn known(&self) -> &'p Known {
        &self.program.known
    }

    /// A new cell. It must be as its shape says.
    pub(super) fn cell(&mut self, site: Site<'_>, what: What, fields: Vec<Value<'p>>) -> Value<'p> {
        self.make(site, what, fields, None)
    }

    fn make(&mut self, site: Site<'_>, what: What, fields: Vec<Value<'p>>, lambda: Option<Lambda<'p>>) -> Value<'p> {
        let flow = self.flow;
        let shape = flow.shape(site).unwrap_or_else(|| panic!("{what:?} is made where nothing is: {site:?}"));
        let known = &flow.shapes()[shape];
        assert_eq!(known.what, what);
        assert_eq!(known.fields.len(), fields.len());
        for (field, set) in fields.iter().zip(&known.fields) {
            self.check(field, set, || format!("a field of {what:?} in {shape:?}"));
        }
        Value::Cell(Rc::new(Cell { shape, what, fields, lambda }))
    }

    fn bind(&mut self, frame: &mut Activation<'p>, local: LocalId, value: Value<'p>) {
        let def = &self.program.defs[frame.instance.def];
        let set = self.flow.local(frame.instance, local);
        self.check(&value, set, || format!("`{}` of `{}`", def.locals[local].name, def.name));
        frame.locals[local.index()] = Some(value);
    }

    /// The value of a definition without parameters, or the value itself.
    pub(super) fn force(&mut self, value: Value<'p>) -> Result<Value<'p>> {
        let Value::Thunk(def) = value else { return Ok(value) };
        match self.globals[def.index()].clone() {
            Global::Done(value) => return Ok(value),
            Global::Running => return Err(Stop::Trap),
            Global::Waiting => self.globals[def.index()] = Global::Running,
        }
        let value = self.call_all(Code::Definition(def.into()), vec![])?;
        let value = self.force(value)?;
        let name = &self.program.defs[def].name;
        self.check(&value, self.flow.result(def), || format!("the value of `{name}`"));
        self.globals[def.index()] = Global::Done(value.clone());
        Ok(value)
    }

    /// Applies a value.
    pub(super) fn apply(&mut self, function: Value<'p>, args: Vec<Value<'p>>) -> Result<Value<'p>> {
        self.run(function, args, vec![])
    }

    /// Applies a value; the result is to be in all of the sets.
    fn run(&mut self, function: Value<'p>, args: Vec<Value<'p>>, mut sets: Vec<&'f Set>) -> Result<Value<'p>> {
        if self.depth == DEPTH {
            return Err(Stop::Depth);
        }
        self.depth += 1;
        let (mut function, mut args) = (function, args);
        let value = loop {
            match self.enter(function, args)? {
                Entered::Value(value) => break value,
                Entered::Call(code, taken, left) if left.is_empty() => match self.call(code, taken, &mut sets)? {
                    Outcome::Value(value) => break value,
                    Outcome::Tail(next, more) => (function, args) = (next, more),
                },
                Entered::Call(code, taken, left) => {
                    function = self.call_all(code, taken)?;
                    args = left;
                }
            }
        };
        self.depth -= 1;
        for set in sets {
            self.check(&value, set, || "a result".to_string());
        }
        Ok(value)
    }

    fn call_all(&mut self, code: Code<'p>, args: Vec<Value<'p>>) -> Result<Value<'p>> {
        let mut sets = vec![];
        match self.call(code, args, &mut sets)? {
            Outcome::Tail(function, args) => self.run(function, args, sets),
            Outcome::Value(value) => {
                for set in sets {
                    self.check(&value, set, || "a result".to_string());
                }
                Ok(value)
            }
        }
    }

    /// Runs code. Its result, if it has no value yet, has to be in the sets too.
    fn call(&mut self, code: Code<'p>, args: Vec<Value<'p>>, sets: &mut Vec<&'f Set>) -> Result<Outcome<'p>> {
        let program = self.program;
        let (instance, params, body, result) = match &code {
            Code::Definition(instance) => {
                let def = &program.defs[instance.def];
                let Body::Term(body) = &def.body else { panic!("a net") };
                let result = (!def.params.is_empty()).then(|| self.flow.result(*instance));
                (*instance, &def.params[..], body, result)
            }
            Code::Lambda(_, lambda) => {
                let result = Some(self.flow.lambda_result(lambda.reference));
                (lambda.reference.instance, lambda.params, lambda.body, result)
            }
        };
        assert!(self.instances.contains(&instance), "{instance:?} runs");
        let mut frame = Activation { instance, locals: vec![None; program.defs[instance.def].locals.len()] };
        if let Code::Lambda(cell, lambda) = &code {
            for (&local, value) in lambda.captures.iter().zip(&cell.fields) {
                self.bind(&mut frame, local, value.clone());
            }
        }
        for (&param, arg) in params.iter().zip(args) {
            self.bind(&mut frame, param, arg);
        }
        result.into_iter().for_each(|set| add(sets, set));
        self.tail(&mut frame, body, sets)
    }

    /// What the machine does when a value is applied.
    fn enter(&mut self, function: Value<'p>, args: Vec<Value<'p>>) -> Result<Entered<'p>> {
        let (mut function, mut args) = (self.force(function)?, args);
        loop {
            self.step()?;
            let (callee, arity) = match &function {
                Value::Era => return Ok(Entered::Value(Value::Era)),
                Value::Function(instance) => {
                    (Callee::Definition(*instance), self.program.defs[instance.def].params.len())
                }
                Value::Maker(ctor) if !args.is_empty() => {
                    (Callee::Constructor(*ctor), self.program.ctors[*ctor].fields.len())
                }
                Value::Cell(cell) => match (&cell.lambda, cell.what) {
                    (Some(lambda), _) => (Callee::Lambda(lambda.reference), lambda.params.len()),
                    (None, What::Partial(callee, _)) => {
                        let mut fields = cell.fields.clone();
                        let inner = match callee {
                            Callee::Lambda(_) => fields.remove(0),
                            Callee::Definition(instance) => Value::Function(instance),
                            Callee::Constructor(ctor) => Value::Maker(ctor),
                        };
                        fields.append(&mut args);
                        (function, args) = (inner, fields);
                        continue;
                    }
                    (None, _) if args.is_empty() => return Ok(Entered::Value(function)),
                    (None, What::Ctor(ctor)) => {
                        (function, args) = self.apply_data(ctor, cell.fields.clone(), args)?;
                        continue;
                    }
                    (None, What::Pair | What::Closure(_)) => return Err(Stop::Trap),
                },
                _ if args.is_empty() => return Ok(Entered::Value(function)),
                Value::Unit(ctor) => {
                    (function, args) = self.apply_data(*ctor, vec![], args)?;
                    continue;
                }
                Value::Selector(ty) => {
                    let Value::Num(tag) = self.force(args.remove(0))? else { return Err(Stop::Trap) };
                    let ctors = &self.program.types[*ty].ctors;
                    let &ctor = ctors.get(tag.bits() as usize).ok_or(Stop::Trap)?;
                    let has_fields = !self.program.ctors[ctor].fields.is_empty();
                    function = if has_fields { Value::Maker(ctor) } else { Value::Unit(ctor) };
                    continue;
                }
                Value::Num(_) | Value::Maker(_) => return Err(Stop::Trap),
                Value::Thunk(_) => unreachable!("it is forced"),
            };
            if args.is_empty() && arity > 0 {
                return Ok(Entered::Value(function));
            }
            if args.len() < arity {
                return Ok(Entered::Value(self.partial(callee, function, args)));
            }
            let left = args.split_off(arity);
            match function {
                Value::Function(instance) => return Ok(Entered::Call(Code::Definition(instance), args, left)),
                Value::Maker(ctor) => {
                    function = self.cell(Site::Made(ctor), What::Ctor(ctor), args);
                    args = left;
                }
                Value::Cell(cell) => {
                    let lambda = cell.lambda.clone().expect("a closure");
                    return Ok(Entered::Call(Code::Lambda(cell, lambda), args, left));
                }
                _ => unreachable!("these have an arity"),
            }
        }
    }

    fn partial(&mut self, callee: Callee, function: Value<'p>, args: Vec<Value<'p>>) -> Value<'p> {
        let count = args.len() as u32;
        let function = matches!(callee, Callee::Lambda(_)).then_some(function);
        let fields = function.into_iter().chain(args).collect();
        self.cell(Site::Partial(callee, count), What::Partial(callee, count), fields)
    }

    /// Data that is applied applies its argument.
    fn apply_data(
        &mut self,
        ctor: CtorId,
        fields: Vec<Value<'p>>,
        mut args: Vec<Value<'p>>,
    ) -> Result<(Value<'p>, Vec<Value<'p>>)> {
        let function = args.remove(0);
        let tag = Value::Num(Num::U24(self.program.ctors[ctor].tag));
        let all = [tag].into_iter().chain(fields).chain(args).collect();
        Ok((self.force(function)?, all))
    }

    fn step(&mut self) -> Result<()> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(Stop::Steps)?;
        Ok(())
    }

    /// The value of a term.
    fn eval(&mut self, frame: &mut Activation<'p>, term: &'p Term) -> Result<Value<'p>> {
        if let TermKind::Local(local) = term.kind {
            return Ok(frame.locals[local.index()].clone().expect("a variable is bound before it is used"));
        }
        if self.depth == DEPTH {
            return Err(Stop::Depth);
        }
        self.depth += 1;
        let mut sets = vec![];
        let value = match self.tail(frame, term, &mut sets)? {
            Outcome::Tail(function, args) => self.run(function, args, sets)?,
            Outcome::Value(value) => {
                for set in sets {
                    self.check(&value, set, || "a term".to_string());
                }
                value
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn evals(&mut self, frame: &mut Activation<'p>, terms: &'p [Term]) -> Result<Vec<Value<'p>>> {
        terms.iter().map(|term| self.eval(frame, term)).collect()
    }

    /// The value of a term in tail position, or the call that gives it. It has to be in the term's set.
    fn tail(&mut self, frame: &mut Activation<'p>, term: &'p Term, sets: &mut Vec<&'f Set>) -> Result<Outcome<'p>> {
        self.step()?;
        let instance = frame.instance;
        if !matches!(term.kind, TermKind::Local(_)) {
            add(sets, self.flow.term(instance, term));
        }
        let value = match &term.kind {
            TermKind::Local(_) => self.eval(frame, term)?,
            TermKind::Global(def) if !self.program.defs[*def].params.is_empty() => Value::Function((*def).into()),
            TermKind::Global(def) if self.flow.is_constant(*def) => self.force(Value::Thunk(*def))?,
            TermKind::Global(def) => Value::Thunk(*def),
            TermKind::Num(number) => Value::Num(*number),
            TermKind::Era => Value::Era,
            TermKind::Str(text) => {
                let known = &self.program.known;
                let ctors = (known.string_cons.expect("strings"), known.string_nil.expect("strings"));
                let items = text.chars().map(|c| Value::Num(Num::U24(c.into()))).collect();
                self.chain(Site::Term(instance, term), ctors, items)
            }
            TermKind::List(items) => {
                let known = &self.program.known;
                let ctors = (known.list_cons.expect("lists"), known.list_nil.expect("lists"));
                let items = self.evals(frame, items)?;
                self.chain(Site::Term(instance, term), ctors, items)
            }
            TermKind::Ctor(ctor, fields) if fields.is_empty() => Value::Unit(*ctor),
            TermKind::Ctor(ctor, fields) => {
                let fields = self.evals(frame, fields)?;
                self.cell(Site::Term(instance, term), What::Ctor(*ctor), fields)
            }
            TermKind::Tuple(parts) => {
                let mut parts = self.evals(frame, parts)?;
                let mut rest = parts.pop().expect("a part");
                while let Some(first) = parts.pop() {
                    let site = Site::Pair(instance, term, parts.len());
                    rest = self.cell(site, What::Pair, vec![first, rest]);
                }
                rest
            }
            TermKind::Lambda(params, body) => self.closure(frame, term, params, body),
            TermKind::Apply(function, args) => return self.application(frame, term, function, args, sets),
            TermKind::Op(op, a, b) => {
                let operands = [self.eval(frame, a)?, self.eval(frame, b)?];
                match self.numbers(operands.to_vec())? {
                    Some(numbers) => Num::apply(*op, numbers[0], numbers[1]).map(Value::Num).map_err(|_| Stop::Trap)?,
                    None => Value::Era,
                }
            }
            TermKind::Prim(prim, args) => {
                let args = self.evals(frame, args)?;
                match self.numbers(args)? {
                    Some(numbers) => prim.apply(&numbers).map(Value::Num).map_err(|_| Stop::Trap)?,
                    None => Value::Era,
                }
            }
            TermKind::Let(binds, body) => {
                for bind in binds {
                    self.bind_target(frame, bind)?;
                }
                return self.tail(frame, body, sets);
            }
            TermKind::Match(choice) => return self.choose(frame, term, choice, sets),
            TermKind::Switch(choice) => return self.choose_number(frame, choice, sets),
            TermKind::Literal(_) | TermKind::Sup(_) | TermKind::Link(_) | TermKind::Invalid => {
                panic!("a program with this is refused")
            }
        };
        Ok(Outcome::Value(value))
    }

    pub(super) fn chain(&mut self, site: Site<'_>, (cons, nil): (CtorId, CtorId), items: Vec<Value<'p>>) -> Value<'p> {
        let mut rest = Value::Unit(nil);
        for item in items.into_iter().rev() {
            rest = self.cell(site, What::Ctor(cons), vec![item, rest]);
        }
        rest
    }

    fn closure(&mut self, frame: &Activation<'p>, term: &'p Term, params: &'p [LocalId], body: &'p Term) -> Value<'p> {
        let def = &self.program.defs[frame.instance.def];
        let address = |body: &Term| std::ptr::from_ref(body) as usize;
        let known = self.lambdas[frame.instance.def.index()].get_or_insert_with(|| {
            let Body::Term(whole) = &def.body else { panic!("a net") };
            let lambdas = Scopes::of(whole, &def.locals).lambdas;
            lambdas.into_iter().map(|lambda| (address(lambda.body), lambda.captures.into())).collect()
        });
        let ordinal = known.iter().position(|(at, _)| *at == address(body)).expect("a lambda of the definition");
        let captures = Rc::clone(&known[ordinal].1);
        let reference = LambdaRef { instance: frame.instance, ordinal };
        let fields = captures.iter().map(|local| frame.locals[local.index()].clone().expect("bound")).collect();
        let site = Site::Term(frame.instance, term);
        self.make(site, What::Closure(reference), fields, Some(Lambda { reference, params, body, captures }))
    }

    fn application(
        &mut self,
        frame: &mut Activation<'p>,
        term: &'p Term,
        function: &'p Term,
        args: &'p [Term],
        sets: &mut Vec<&'f Set>,
    ) -> Result<Outcome<'p>> {
        match &function.kind {
            TermKind::Lambda(params, body) if params.len() == args.len() => {
                for (&param, arg) in params.iter().zip(args) {
                    let arg = self.eval(frame, arg)?;
                    self.bind(frame, param, arg);
                }
                self.tail(frame, body, sets)
            }
            TermKind::Global(def) if !args.is_empty() && !self.program.defs[*def].params.is_empty() => {
                let callee = self.flow.callee(frame.instance, term).expect("a call is known");
                assert_eq!(callee.def, *def);
                let args = self.evals(frame, args)?;
                Ok(Outcome::Tail(Value::Function(callee), args))
            }
            _ => {
                let function = self.eval(frame, function)?;
                let args = self.evals(frame, args)?;
                Ok(Outcome::Tail(function, args))
            }
        }
    }

    /// The numbers; none if one of the values is `*`.
    fn numbers(&mut self, values: Vec<Value<'p>>) -> Result<Option<Vec<Num>>> {
        let mut numbers = vec![];
        for value in values {
            match self.force(value)? {
                Value::Num(number) => numbers.push(number),
                Value::Era => return Ok(None),
                _ => return Err(Stop::Trap),
            }
        }
        Ok(Some(numbers))
    }
}

/// Adds a set that a result has to be in. The analysis gives each set once, so there are few.
fn add<'f>(sets: &mut Vec<&'f Set>, set: &'f Set) {
    if !sets.iter().any(|other| std::ptr::eq(*other, set)) {
        sets.push(set);
    }
}

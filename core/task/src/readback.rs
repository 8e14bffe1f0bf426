//! Values of the compiled program as values of the evaluator, which prints them and performs what they ask for.
//!
//! Nothing here recurses on the native stack: data may be as deep as it likes.

use super::data::{broken, immediate_number, unboxed};
use super::flow::{Callee, LambdaRef, What};
use super::lower::represent::Repr;
use super::lower::words::{Immediate, tag};
use super::lower::{Direct, Meaning};
use girih_base::diag::Diagnostic;
use girih_ir::heap;
use girih_runtime::Runner;
use girih_term::eval::{Machine, Value};

/// A cell whose fields are being read.
struct Open<'d> {
    meaning: &'d Meaning,
    cell: u32,
    done: Vec<Value>,
}

/// The value of a word.
///
/// # Errors
/// If the machine's memory does not hold it.
pub fn value(machine: &mut Machine, direct: &Direct, runner: &dyn Runner, word: u32) -> Result<Value, Diagnostic> {
    let mut open: Vec<Open<'_>> = vec![];
    let mut next = Next::Word(word);
    loop {
        let mut finished = match next {
            Next::Value(value) => value,
            Next::Word(word) => match small(machine, direct, word)? {
                Some(value) => value,
                None => {
                    let layout = runner.layout(word).ok_or_else(broken)?;
                    let meaning = direct.tables.layouts.get(layout).ok_or_else(broken)?;
                    open.push(Open { meaning, cell: word, done: vec![] });
                    next = field(runner, &open)?;
                    continue;
                }
            },
        };
        loop {
            let Some(top) = open.last_mut() else { return Ok(finished) };
            top.done.push(finished);
            if top.done.len() < top.meaning.field_count() {
                break;
            }
            let Some(Open { meaning, done, .. }) = open.pop() else { return Err(broken()) };
            finished = whole(machine, direct, meaning, &done)?;
        }
        next = field(runner, &open)?;
    }
}

enum Next {
    Word(u32),
    Value(Value),
}

/// The next field of the cell on top.
fn field(runner: &dyn Runner, open: &[Open<'_>]) -> Result<Next, Diagnostic> {
    let top = open.last().ok_or_else(broken)?;
    let position = top.done.len();
    let word = runner.field(top.cell, position);
    let number = |kind| Next::Value(Value::from(unboxed(kind, word)));
    Ok(match top.meaning {
        Meaning::Boxed(kind) => number(*kind),
        Meaning::Shape { fields, .. } => match fields.get(position).ok_or_else(broken)? {
            Repr::Number(kind) => number(*kind),
            Repr::Term => Next::Word(word),
        },
    })
}

/// The value of a word that is no cell; none for a cell.
fn small(machine: &mut Machine, direct: &Direct, word: u32) -> Result<Option<Value>, Diagnostic> {
    if let Some(number) = immediate_number(word) {
        return Ok(Some(number.into()));
    }
    match heap::tag(word) {
        tag::IMMEDIATE => {
            let immediate = Immediate::of(heap::payload(word), &direct.tables).ok_or_else(broken)?;
            Ok(Some(match immediate {
                Immediate::Era => Value::ERA,
                Immediate::Unit(ctor) => machine.ctor(ctor, &[])?,
                Immediate::Make(ctor) => machine.maker(ctor),
                Immediate::Definition(def) => machine.definition(def),
                Immediate::Lambda(number) => closure(machine, direct, direct.tables.lambdas[number as usize], &[])?,
                Immediate::Select(ty) => machine.selector(ty),
            }))
        }
        _ => Ok(None),
    }
}

fn closure(machine: &mut Machine, direct: &Direct, lambda: LambdaRef, captured: &[Value]) -> Result<Value, Diagnostic> {
    let place = (lambda.instance.def, lambda.ordinal);
    let (def, ordinal) = direct.tables.sources.get(&place).copied().unwrap_or(place);
    let found = machine.code().lambda_at(def, ordinal).ok_or_else(broken)?;
    machine.closure(found, captured)
}

/// The value of a cell whose fields are known.
fn whole(machine: &mut Machine, direct: &Direct, meaning: &Meaning, fields: &[Value]) -> Result<Value, Diagnostic> {
    let what = match meaning {
        Meaning::Boxed(_) => return fields.first().copied().ok_or_else(broken),
        Meaning::Shape { what, .. } => *what,
    };
    match (what, fields) {
        (What::Ctor(ctor), fields) => machine.ctor(ctor, fields),
        (What::Pair, [first, second]) => machine.pair(*first, *second),
        (What::Pair, _) => Err(broken()),
        (What::Closure(lambda), fields) => closure(machine, direct, lambda, fields),
        (What::Partial(Callee::Lambda(_), _), [function, args @ ..]) => machine.given(*function, args),
        (What::Partial(Callee::Lambda(_), _), []) => Err(broken()),
        (What::Partial(Callee::Definition(instance), _), args) => {
            let function = machine.definition(instance.def);
            machine.given(function, args)
        }
        (What::Partial(Callee::Constructor(ctor), _), args) => {
            let function = machine.maker(ctor);
            machine.given(function, args)
        }
    }
}

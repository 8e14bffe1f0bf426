//! Every value that a program of the conformance suite computes is in the sets for its places.

use std::collections::HashSet;

use super::interpreter::{Interpreter, Stop, Value};
use super::programs::{files, load, on_large_stack, suite};
use girih_base::num::Num;
use girih_task::flow::{Flow, Instance, Precision, Root, Set, What, flow_with};
use girih_term::code::Code;
use girih_term::eval::{Limits, Machine, View};
use girih_term::{Body, CtorId, Program, Term, TermKind};

/// How many steps a program may take. Those that take more have computed plenty by then.
const STEPS: u64 = 300_000;

/// What a run was good for.
#[derive(Default, Debug)]
pub(super) struct Score {
    pub(super) programs: usize,
    pub(super) ended: usize,
    pub(super) stopped: usize,
    pub(super) checks: u64,
}

/// The root that a program is run from.
pub(super) fn entry(program: &Program) -> Root {
    Root { def: program.entry.expect("an entry"), arguments: vec![] }
}

/// Analyses a program and runs it.
pub(super) fn follow(program: &Program, precision: Precision, score: &mut Score) {
    let root = entry(program);
    let flow = flow_with(program, std::slice::from_ref(&root), precision);
    one_layout_at_each_match(program, &flow);
    let mut interpreter = Interpreter::new(program, &flow, STEPS);
    let value = interpreter.force(entry_value(program, &root));
    let value = value.and_then(|value| interpreter.perform(&program.known, value));
    score.programs += 1;
    match value {
        Ok(value) => {
            let seen = interpreter.visit(value.clone());
            score.ended += 1;
            if seen.is_ok() {
                same_as_the_machine(program, &mut interpreter, &root, value);
            }
        }
        Err(Stop::Trap) => score.ended += 1,
        Err(Stop::Steps | Stop::Depth) => score.stopped += 1,
    }
    score.checks += interpreter.checks;
}

fn entry_value<'p>(program: &Program, root: &Root) -> Value<'p> {
    match program.defs[root.def].params.is_empty() {
        true => Value::Thunk(root.def),
        false => Value::Function(root.def.into()),
    }
}

/// Where one constructor is inspected, it has one shape.
fn one_layout_at_each_match(program: &Program, flow: &Flow) {
    for &instance in flow.instances() {
        let Body::Term(body) = &program.defs[instance.def].body else { continue };
        let mut todo = vec![body];
        while let Some(term) = todo.pop() {
            // One that cannot run joins nothing.
            if let TermKind::Match(choice) = &term.kind
                && flow.can_run(instance, term)
            {
                let mut set = flow.forced(scrutinee(flow, instance, &choice.scrutinee));
                set.merge(&flow.forced(flow.delivered(instance, term)));
                let mut seen: HashSet<CtorId> = HashSet::new();
                for &shape in &set.shapes {
                    if let What::Ctor(ctor) = flow.shapes()[shape].what
                        && program.ctors[ctor].ty == choice.ty
                    {
                        assert!(seen.insert(ctor), "{} has two shapes at a match", program.ctors[ctor].name);
                    }
                }
            }
            todo.extend(term.children());
        }
    }
}

fn scrutinee<'f>(flow: &'f Flow, instance: Instance, term: &Term) -> &'f Set {
    match term.kind {
        TermKind::Local(local) => flow.local(instance, local),
        _ => flow.term(instance, term),
    }
}

/// The interpreter gives what the evaluator gives, where that performs no effects.
fn same_as_the_machine<'p>(program: &'p Program, interpreter: &mut Interpreter<'p, '_>, root: &Root, value: Value<'p>) {
    let Ok(code) = Code::new(program) else { return };
    let mut machine = Machine::new(&code, Limits { memory: 256 << 20, ..Limits::default() });
    let Ok(expected) = machine.call(root.def, &[]) else { return };
    if let View::Ctor(ctor, _) = machine.view(expected)
        && [program.known.io_call, program.known.io_done].contains(&Some(ctor))
    {
        return;
    }
    let mut todo = vec![(machine.keep(expected), value)];
    let mut seen = 0;
    while let Some((expected, value)) = todo.pop() {
        seen += 1;
        let expected = machine.value(&expected);
        let (Ok(expected), Ok(value)) = (machine.force(expected), interpreter.force(value)) else { return };
        let (parts, fields) = match (machine.view(expected), &value) {
            (View::Num(a), Value::Num(b)) => {
                let same = (a.kind(), a.bits()) == (b.kind(), b.bits());
                let nan = |n: Num| matches!(n, Num::F24(x) | Num::F32(x) if x.is_nan());
                assert!(same || nan(a) && nan(*b), "{a:?} and {b:?}");
                continue;
            }
            (View::Era, Value::Era) => continue,
            (View::Ctor(a, parts), Value::Unit(b)) if a == *b && parts.is_empty() => continue,
            (View::Ctor(a, parts), Value::Cell(cell)) if cell.what == What::Ctor(a) => (parts, &cell.fields),
            (View::Pair(a, b), Value::Cell(cell)) if cell.what == What::Pair => (vec![a, b], &cell.fields),
            (View::Closure { captured, .. }, Value::Cell(cell)) if matches!(cell.what, What::Closure(_)) => {
                (captured.into_iter().map(|(_, value)| value).collect(), &cell.fields)
            }
            (View::Partial { args, .. }, Value::Cell(cell)) if matches!(cell.what, What::Partial(..)) => {
                assert!(args.len() <= cell.fields.len());
                continue;
            }
            (View::Global(a), Value::Function(b)) if a == b.def => continue,
            (View::Constructor(a), Value::Maker(b)) if a == *b => continue,
            (View::Selector(a), Value::Selector(b)) if a == *b => continue,
            (view, value) => panic!("{view:?}, and {}", interpreter.describe(value)),
        };
        if seen > 10_000 {
            return;
        }
        assert_eq!(parts.len(), fields.len());
        for (&part, field) in parts.iter().zip(fields) {
            todo.push((machine.keep(part), field.clone()));
        }
    }
}

#[test]
fn values_of_the_suite_are_in_their_sets() {
    let mut score = Score::default();
    for path in files(&suite()) {
        on_large_stack(|| {
            let Some(program) = load(&path) else { return };
            let hint = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                follow(&program, Precision::default(), &mut score);
            }));
            assert!(hint.is_ok(), "in {}", path.display());
        });
    }
    println!("{score:?}");
    assert!(score.programs > 500, "{score:?}");
    assert!(score.ended * 10 > score.programs * 9, "{score:?}");
    assert!(score.checks > 1_000_000, "{score:?}");
}

//! Functions in step against the functions themselves: random ones, on the reference machine and natively.
//!
//! 150 functions, 2,000 with `GIRIH_TESTS=full`, or as many as `GIRIH_PROGRAMS` says; `GIRIH_SEED=7` takes other functions.

mod random;

use girih_base::span::SourceId;
use girih_ir::{FunctionId, Module, Op, Type, Verified, text, verify};
use girih_lower::spmd::{LANES, vectorise};
use girih_machine::tasks::{TaskMachine, TaskSettings};
use girih_runtime::{Fault, Runner, TaskOptions};
use girih_workbench::{number, sample};
use random::Random;
use std::collections::BTreeSet;

const STEPS: u64 = 2_000_000;

/// What becomes of a call: results, or the code of a trap; none if it takes too long.
type Outcome = Option<Result<Vec<u32>, u32>>;

fn reference(module: &Verified<Module>) -> TaskMachine {
    let settings = TaskSettings { checked: false, seed: None, fuel: Some(STEPS) };
    TaskMachine::new(module, TaskOptions::default(), settings).expect("it can be made ready")
}

fn outcome(found: Result<Vec<u32>, Fault>) -> Outcome {
    match found {
        Ok(results) => Some(Ok(results)),
        Err(Fault::Trap(code)) => Some(Err(code)),
        Err(Fault::Device(diagnostic)) if diagnostic.code == girih_base::diag::Code::OutOfFuel => None,
        Err(fault) => panic!("{fault:?}"),
    }
}

/// A call on a runner, which is opened anew behind one that went wrong.
struct Machine<R> {
    open: Box<dyn Fn() -> R>,
    runner: Option<R>,
}

impl<R: Runner> Machine<R> {
    fn new(open: impl Fn() -> R + 'static) -> Machine<R> {
        Machine { open: Box::new(open), runner: None }
    }
    fn call(&mut self, function: FunctionId, arguments: &[u32]) -> Outcome {
        let mut runner = self.runner.take().unwrap_or_else(|| (self.open)());
        let found = outcome(runner.call(function, arguments));
        if matches!(found, Some(Ok(_))) {
            self.runner = Some(runner);
        }
        found
    }
}

/// One call: for each lane whether it runs and its arguments.
struct Case {
    runs: Vec<bool>,
    lanes: Vec<Vec<u32>>,
    varies: Vec<bool>,
}

fn case(rng: &mut Random, types: &[Type], varies: &[bool]) -> Case {
    let runs = if rng.chance(50) { vec![true; 4] } else { (0..4).map(|_| rng.chance(60)).collect() };
    let mut lanes = vec![vec![]; usize::from(LANES)];
    for (ty, varies) in types.iter().zip(varies) {
        let same = rng.argument(*ty);
        for lane in &mut lanes {
            lane.push(if *varies && rng.chance(75) { rng.argument(*ty) } else { same });
        }
    }
    Case { runs, lanes, varies: varies.to_vec() }
}

impl Case {
    /// The arguments of the function in step.
    fn together(&self, types: &[Type]) -> Vec<u32> {
        let mut all: Vec<u32> = self.runs.iter().map(|runs| if *runs { u32::MAX } else { 0 }).collect();
        for (i, ty) in types.iter().enumerate() {
            let word = |lane: &Vec<u32>| if *ty == Type::BOOL { 0u32.wrapping_sub(lane[i]) } else { lane[i] };
            match self.varies[i] {
                true => all.extend(self.lanes.iter().map(word)),
                false => all.push(self.lanes[0][i]),
            }
        }
        all
    }
}

/// What is different, if anything is. The results of lanes that do not run mean nothing.
fn difference(case: &Case, results: &[Type], alone: &[Outcome], together: &Outcome, exact: bool) -> Option<String> {
    let traps: BTreeSet<u32> = alone.iter().flatten().filter_map(|outcome| outcome.clone().err()).collect();
    match together {
        None => Some("in step it takes too long".into()),
        Some(Err(code)) => (!traps.contains(code)).then(|| format!("trap {code} instead of {traps:?}")),
        Some(Ok(_)) if !traps.is_empty() => Some(format!("no trap instead of {traps:?}")),
        Some(Ok(found)) => {
            for (lane, expected) in alone.iter().enumerate().filter(|(lane, _)| case.runs[*lane]) {
                let Some(Ok(expected)) = expected else { continue };
                for (i, ty) in results.iter().enumerate() {
                    let word = found[i * usize::from(LANES) + lane];
                    let wanted = if *ty == Type::BOOL { 0u32.wrapping_sub(expected[i]) } else { expected[i] };
                    let nan = |bits: u32| f32::from_bits(bits).is_nan();
                    let both_nan = !exact && *ty == Type::F32 && nan(word) && nan(wanted);
                    if word != wanted && !both_nan {
                        return Some(format!("lane {lane}, result {i}: {word:#x} instead of {wanted:#x}"));
                    }
                }
            }
            None
        }
    }
}

#[test]
fn random_functions_in_step_give_what_they_give_alone() {
    let (seed, count) = (number("GIRIH_SEED").unwrap_or(1), sample("GIRIH_PROGRAMS", 150, 2000));
    let (mut seen, mut trapped, mut long, mut ops) = (0, 0, 0, BTreeSet::new());
    for program in 0..count {
        let mut rng = Random((seed << 32 | program).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let helpers = text::parse(SourceId::new(0), random::HELPERS).expect("the helpers are read").module;
        let of = ["round", "wide", "slow", "halvings", "either"].map(|name| helpers.find(name).expect("it is there"));
        let mut module = helpers;
        let own = FunctionId::new(module.functions.len() as u32);
        let made = random::function(&mut rng, "random", own, of);
        let types: Vec<Type> = made.params.iter().map(|v| made.ty(*v)).collect();
        let results = made.results.clone();
        made.walk(made.body, &mut |_, inst| {
            ops.insert(inst.op);
        });
        module.functions.push(made);
        let varies: Vec<bool> = types.iter().map(|_| rng.chance(70)).collect();
        let source = text::print(&module);
        let version = vectorise(&mut module, own, &varies).unwrap_or_else(|why| panic!("{why}\n{source}"));
        let printed = text::print(&module);
        let module = verify(module).unwrap_or_else(|errors| panic!("{errors:#?}\n{printed}"));
        let cloned = module.clone();
        let mut machine = Machine::new(move || reference(&cloned));
        let cloned = module.clone();
        let mut native =
            Machine::new(move || girih_cpu::tasks::open(&cloned, &TaskOptions::default()).expect("it is compiled"));
        for _ in 0..12 {
            let case = case(&mut rng, &types, &varies);
            let mut alone = vec![None; case.lanes.len()];
            for (lane, given) in case.lanes.iter().enumerate().filter(|(lane, _)| case.runs[*lane]) {
                alone[lane] = machine.call(own, given);
            }
            if (0..alone.len()).any(|lane| case.runs[lane] && alone[lane].is_none()) {
                long += 1;
                continue;
            }
            let given = case.together(&types);
            let told = |what: String| panic!("program {program}: {what}\n{given:x?} {:?}\n{printed}", case.runs);
            let together = machine.call(version, &given);
            if let Some(what) = difference(&case, &results, &alone, &together, true) {
                told(format!("reference: {what}"));
            }
            seen += 1;
            if !matches!(together, Some(Ok(_))) {
                trapped += 1;
                if trapped % 8 != 0 {
                    // Code is made anew behind each trap.
                    continue;
                }
            }
            let together = native.call(version, &given);
            if let Some(what) = difference(&case, &results, &alone, &together, false) {
                told(format!("native: {what}"));
            }
        }
    }
    assert!(seen > 8 * count && trapped > seen / 40 && long < seen / 10, "{seen} {trapped} {long}");
    for op in [Op::Loop, Op::While, Op::Break, Op::Continue, Op::Return, Op::Tail, Op::Call, Op::Switch, Op::TrapIf] {
        assert!(ops.contains(&op) || count < 100, "no random function has `{}`", op.name());
    }
}

fn why(source: &str) -> String {
    let mut module = text::parse(SourceId::new(0), source).expect("it is read").module;
    let before = text::print(&module);
    let id = module.find("f").expect("it is there");
    let varies = vec![true; module.functions[id].params.len()];
    let why = vectorise(&mut module, id, &varies).expect_err("it cannot be vectorised");
    assert_eq!(text::print(&module), before);
    why.to_string()
}

#[test]
fn what_cannot_be_done_in_step_is_said() {
    assert_eq!(why("fn @f(%x: u64) -> u32 {\n  return 1\n}"), "`@f` has a parameter or result of type `u64`");
    assert_eq!(
        why("fn @f(%x: u32) -> u32 {\n  %w = convert.u64 %x\n  return (convert.u32 %w)\n}"),
        "`@f` has a value of type `u64`"
    );
    assert_eq!(
        why("fn @f(%x: u32) -> u32 {\n  %t = term.pack 0, %x\n  return (term.payload %t)\n}"),
        "`@f` has a value of type `term`"
    );
    let ping = "fn @f(%x: u32) -> u32 {\n  tail @g(%x)\n}\nfn @g(%x: u32) -> u32 {\n  tail @f(%x)\n}";
    assert_eq!(why(ping), "`@f` has a tail call of a function that calls back by another way");
    let fork = "fn @f(%x: u32) -> u32 {\n  %t = fork @g(%x)\n  return (join @g %t)\n}\nfn @g(%x: u32) -> u32 {\n  return %x\n}";
    assert_eq!(why(fork), "`@f` has a value of type `token`");
}

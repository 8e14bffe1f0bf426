//! Wrong modules are refused: each `.gir` file of `tests/ir/bad` breaks one rule, and what is said about it is kept as a snapshot. What no
//! text can say is built here.

use girih_base::diag::{Code, Diagnostic, Stage, Style, render};
use girih_base::span::{Sources, Span};
use girih_ir::{
    Builder, Def, Function, Inst, InstId, Launch, Module, Op, ParamAttrs, RegionId, Scalar, Space, Type, ValueId,
    Values, text, verify,
};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = format!("{}/../../tests/ir/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).expect(&folder).map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "gir"));
    files.sort();
    files
}

fn parse(path: &PathBuf) -> (Sources, Result<Module, Vec<Diagnostic>>) {
    let mut sources = Sources::default();
    let text = fs::read_to_string(path).expect("a text file");
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    let source = sources.add(name, text.clone());
    (sources, text::parse(source, &text).map(|parsed| parsed.module))
}

fn refused(module: Module) -> Vec<Diagnostic> {
    verify(module).err().unwrap_or_default()
}

#[test]
fn what_is_said_about_wrong_modules() {
    let files = files("bad");
    assert!(files.len() >= 40, "only {} files", files.len());
    for path in files {
        let (sources, module) = parse(&path);
        let found = module.map_or_else(|found| found, refused);
        assert!(!found.is_empty(), "{} passes", path.display());
        let drawn: String = found.iter().map(|d| render(d, &sources, Style::Plain)).collect();
        insta::assert_snapshot!(path.file_stem().expect("a name").to_string_lossy().into_owned(), drawn);
    }
}

#[test]
fn every_diagnostic_points_into_the_text_and_helps() {
    for path in files("bad") {
        let Ok(module) = parse(&path).1 else { continue };
        for diagnostic in refused(module) {
            let what = format!("{}: {}", path.display(), diagnostic.message);
            assert!(!diagnostic.span().is_none(), "{what}: no place");
            assert!(!diagnostic.message.ends_with('.'), "{what}: a full stop");
        }
    }
}

#[test]
fn every_row_of_the_verifier_is_provoked() {
    let mut found: BTreeSet<Code> = BTreeSet::new();
    for path in files("bad") {
        found.extend(parse(&path).1.map_or_else(|found| found, refused).iter().map(|d| d.code));
    }
    for (_, module) in built() {
        found.extend(refused(module).iter().map(|d| d.code));
    }
    let is_verifier = |code: &Code| code.stage() == Stage::Ir && ("B0730".."B0780").contains(&code.as_str());
    for code in Code::ALL.iter().copied().filter(is_verifier) {
        assert!(found.contains(&code), "nothing provokes {code}: {}", code.title());
    }
}

#[test]
fn right_modules_pass() {
    for path in files("proofs") {
        let (sources, module) = parse(&path);
        let found = module.map_or_else(|found| found, refused);
        let drawn: String = found.iter().map(|d| render(d, &sources, Style::Plain)).collect();
        assert!(found.is_empty(), "{drawn}");
    }
}

/// A function of one `u32` to one, whose body is written by `body`.
fn function(body: impl FnOnce(&mut Builder, ValueId)) -> Module {
    let mut function = Function::new("f", Span::NONE);
    let x = function.param("x", Type::U32, ParamAttrs::default());
    function.results = vec![Type::U32];
    let mut builder = Builder::new(function);
    body(&mut builder, x);
    let mut module = Module::default();
    module.functions.push(builder.function);
    module
}

/// Modules that no text can say.
fn built() -> Vec<(&'static str, Module)> {
    let far = ValueId::new(1 << 30);
    let returns = |b: &mut Builder, x: ValueId| b.end(Op::Return, &[x]);
    let mut twice = function(returns);
    let copy = twice.functions.iter().next().expect("one").clone();
    twice.functions.push(copy);
    vec![
        ("an operand that does not exist", function(|b, _| b.end(Op::Return, &[far]))),
        ("a region that does not exist", {
            function(|b, x| {
                let mut inst = Inst::new(Op::Loop, None, &[], Span::NONE);
                inst.regions.extend([RegionId::new(77)]);
                b.push(inst, &[]);
                returns(b, x);
            })
        }),
        ("an instruction that does not exist", {
            function(|b, _| {
                let body = b.function.body;
                b.function.regions[body].insts.push(InstId::new(5));
            })
        }),
        ("a body inside itself", {
            function(|b, x| {
                let mut inst = Inst::new(Op::Loop, None, &[], Span::NONE);
                inst.regions.extend([b.function.body]);
                b.push(inst, &[]);
                returns(b, x);
            })
        }),
        ("an instruction in two places", {
            function(|b, x| {
                let one = b.op(Op::Add, Scalar::U32, &[x, x]);
                let body = b.function.body;
                let id = b.function.regions[body].insts[0];
                b.function.regions[body].insts.push(id);
                returns(b, one);
            })
        }),
        ("a result that another instruction has", {
            function(|b, x| {
                let one = b.op(Op::Add, Scalar::U32, &[x, x]);
                let two = b.op_with(Op::Add, Some(Type::U32), &[x, x], &[]);
                b.function.insts[two].results = Values::from_slice(&[one]);
                returns(b, one);
            })
        }),
        ("a parameter that is a constant", {
            function(|b, x| {
                let one = b.u32(1);
                b.function.params.push(one);
                returns(b, x);
            })
        }),
        ("one parameter twice", {
            function(|b, x| {
                b.function.params.push(x);
                returns(b, x);
            })
        }),
        ("a body without an end", function(|_, _| {})),
        ("an end before the end", {
            function(|b, x| {
                returns(b, x);
                b.op(Op::Add, Scalar::U32, &[x, x]);
                returns(b, x);
            })
        }),
        ("regions in regions", {
            function(|b, x| {
                let outer = b.region;
                for _ in 0..2000 {
                    let yes = b.bool(true);
                    let (then, otherwise) = (b.new_region(&[]), b.new_region(&[]));
                    let mut inst = Inst::new(Op::If, None, &[yes], Span::NONE);
                    inst.regions.extend([then, otherwise]);
                    b.push(inst, &[]);
                    b.within(otherwise, |b| b.end(Op::Yield, &[]));
                    b.end(
                        if b.region == outer { Op::Return } else { Op::Yield },
                        &[x][..usize::from(b.region == outer)],
                    );
                    b.region = then;
                }
                b.end(Op::Yield, &[]);
            })
        }),
        ("a value of a region that has ended", {
            function(|b, x| {
                let yes = b.bool(true);
                let mut inner = x;
                b.if_else(
                    yes,
                    &[],
                    |b| {
                        inner = b.op(Op::Add, Scalar::U32, &[x, x]);
                        b.end(Op::Yield, &[]);
                    },
                    |b| b.end(Op::Yield, &[]),
                );
                returns(b, inner);
            })
        }),
        ("a value before its definition", {
            function(|b, x| {
                let one = b.op(Op::Add, Scalar::U32, &[x, x]);
                let two = b.op(Op::Add, Scalar::U32, &[x, one]);
                let body = b.function.body;
                b.function.regions[body].insts.swap(0, 1);
                returns(b, two);
            })
        }),
        ("an `if` of one region", {
            function(|b, x| {
                let yes = b.bool(true);
                let then = b.new_region(&[]);
                b.within(then, |b| b.end(Op::Yield, &[]));
                let mut inst = Inst::new(Op::If, None, &[yes], Span::NONE);
                inst.regions.extend([then]);
                b.push(inst, &[]);
                returns(b, x);
            })
        }),
        (
            "an `add` of one operand",
            function(|b, x| {
                let one = b.op(Op::Add, Scalar::U32, &[x]);
                returns(b, one);
            }),
        ),
        ("two functions of one name", twice),
        ("two specialisation constants of one name", {
            let mut module = function(|b, _| b.end(Op::Return, &[]));
            let kernel = module.functions.iter_mut().next().expect("one");
            kernel.results.clear();
            let mut launch = Launch { workgroup: [1; 3], ..Launch::default() };
            for i in 0..2 {
                let value = girih_ir::Value { ty: Type::U32, def: Def::Specialisation(i), name: Some("n".into()) };
                let value = kernel.values.push(value);
                launch.specialisations.push(girih_ir::Specialisation { value, default: 1 << 40 });
            }
            kernel.launch = Some(launch);
            module
        }),
        (
            "a call of nothing",
            function(|b, x| {
                b.call(girih_ir::FunctionId::new(9), &[], &[]);
                returns(b, x);
            }),
        ),
        (
            "a memory of memories",
            function(|b, x| {
                let length = b.u32(u32::MAX);
                b.function.memory(None, Space::Global, Type::Memory(Space::Shared), length);
                returns(b, x);
            }),
        ),
    ]
}

#[test]
fn what_is_built_wrong_is_refused() {
    let mut all = String::new();
    for (what, module) in built() {
        let found = refused(module);
        assert!(!found.is_empty(), "{what} passes");
        for d in found {
            all += &format!("{what}: {}: {}\n", d.code, d.message);
        }
    }
    insta::assert_snapshot!("built", all);
}

/// Modules that are almost right: ids and types of good ones are exchanged at random. Nothing may panic, and what still passes has to
/// print as something that passes.
#[test]
fn no_module_panics() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n.max(1) as u64) as usize
    };
    let modules: Vec<Module> = files("proofs").iter().chain(&files("bad")).filter_map(|p| parse(p).1.ok()).collect();
    let mut passed = 0;
    for round in 0..4000 {
        let mut module = modules[round % modules.len()].clone();
        let which = random(module.functions.len());
        let Some(function) = module.functions.iter_mut().nth(which) else { continue };
        for _ in 0..=random(3) {
            mutate(function, &mut random);
        }
        passed += usize::from(verify(module).is_ok());
    }
    assert!(passed > 0, "all are refused: the mutations are too wild to say anything");
}

fn mutate(function: &mut Function, random: &mut impl FnMut(usize) -> usize) {
    let values = function.values.len();
    let regions = function.regions.len();
    let (at, to) = (random(function.insts.len()), random(values + 1) as u32);
    let pick = random(10);
    let types =
        [Type::U32, Type::F32, Type::BOOL, Type::Memory(Space::Shared), Type::Vector(Scalar::F32, 4), Type::Token];
    let ty = types[random(types.len())];
    let op = Op::ALL[random(Op::ALL.len())];
    let n = random(8);
    if pick == 0 {
        if let Some(value) = function.values.iter_mut().nth(to as usize) {
            value.ty = ty;
        }
        return;
    }
    if pick == 1 {
        if let Some(region) = function.regions.iter_mut().nth(random(regions)) {
            if region.insts.is_empty() {
                return;
            }
            let i = random(region.insts.len());
            region.insts.remove(i);
        }
        return;
    }
    let target = random(regions + 1) as u32;
    let Some(inst) = function.insts.iter_mut().nth(at) else { return };
    match pick {
        2 => inst.op = op,
        3 => inst.ty = Some(ty),
        4 => drop(inst.operands.pop()),
        5 => inst.operands.push(ValueId::new(to)),
        6 => drop(inst.attrs.pop()),
        7 => drop(inst.results.pop()),
        8 if !inst.regions.is_empty() => inst.regions[0] = RegionId::new(target),
        _ => {
            if let Some(operand) = inst.operands.get_mut(n) {
                *operand = ValueId::new(to);
            }
        }
    }
}

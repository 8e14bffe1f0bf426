//! What is written is accepted: by naga's validator, by its reader of WGSL, by `spirv-val`; and every language can be written.

use crate::support::validators::{nesting, reread, spirv_val};
use crate::support::{module, said, table};
use girih_base::span::Span;
use girih_ir::attrs::Precision;
use girih_ir::caps::{CoopProduct, SubgroupWidths};
use girih_ir::types::MatrixShape;
use girih_ir::{
    Builder, Caps, Feature, Function, Launch, Module, Op, ParamAttrs, Scalar, ScalarSet, Space, Type, ValueId,
    Verified, verify,
};
use girih_runtime::LoadOptions;
use girih_wgpu::{Emitted, Language, emit};

/// A device that has all that wgpu can offer.
fn rich() -> Caps {
    let mut caps = Caps::web();
    caps.name = "rich".into();
    let all =
        ScalarSet::WORDS.or(ScalarSet::WIDE).or(ScalarSet::of(&[Scalar::Bool, Scalar::F16, Scalar::F32, Scalar::F64]));
    caps.arithmetic = all;
    caps.atomic_floats = ScalarSet::of(&[Scalar::F32]);
    caps.storage = all.without(ScalarSet::BOOL);
    caps.local_storage = caps.storage;
    caps.subgroup = SubgroupWidths { min: 32, max: 32 };
    caps.buffer_views = true;
    caps.buffers = 32;
    caps.shared_bytes = 48 << 10;
    caps.invocations = 1024;
    let shape = MatrixShape { m: 16, n: 16, k: 16 };
    caps.coop = vec![CoopProduct { shape, factor: Scalar::F16, acc: Scalar::F32, precision: Precision::Ieee }];
    [Feature::Subgroups, Feature::Atomic64, Feature::StrictFloats, Feature::FusedFma, Feature::Calls]
        .into_iter()
        .fold(caps, Caps::with)
}

/// Compiles all kernels and writes them in a language.
fn write(module: &Verified<Module>, caps: &Caps, language: Language) -> Result<Emitted, String> {
    let kernels: Vec<_> = module.kernels().collect();
    let compiled = girih_lower::compile(module, &kernels, caps, &LoadOptions::default()).map_err(|e| said("", &e))?;
    emit(&compiled, caps, language).map_err(|e| format!("{language:?}: {}", said("", &e)))
}

fn text(emitted: Emitted) -> String {
    match emitted {
        Emitted::Text(text) => text,
        Emitted::Words(_) => panic!("words instead of text"),
    }
}

/// All languages of a module under some capabilities.
fn check(name: &str, module: &Verified<Module>, caps: &Caps, portable: bool) -> Result<(), String> {
    let wgsl = text(write(module, caps, Language::Wgsl)?);
    reread(&wgsl).map_err(|e| format!("{e}\n{wgsl}"))?;
    match write(module, caps, Language::Spirv)? {
        Emitted::Words(words) => spirv_val(&words, name)?,
        Emitted::Text(_) => return Err("text instead of words".into()),
    }
    if portable {
        write(module, caps, Language::Msl)?;
        write(module, caps, Language::Hlsl)?;
    }
    Ok(())
}

/// How many kernels of the table are written as one module.
const PACK: usize = 40;

/// A case of the table, and whether every language can say it.
struct Packed {
    case: table::Case,
    module: Verified<Module>,
    portable: bool,
}

/// Checks cases as one module, and one by one if that fails, to say which.
fn check_pack(pack: &[Packed], caps: &Caps, name: &str) -> Vec<String> {
    let functions = pack.iter().enumerate().map(|(i, p)| {
        let mut function = p.module.functions.iter().next().expect("a case has one kernel").clone();
        function.name = format!("case{i}").into();
        function
    });
    let together = verify(Module::of(functions)).expect("each kernel was verified");
    let portable = pack.iter().all(|p| p.portable);
    let Err(error) = check(name, &together, caps, portable) else { return vec![] };
    let alone: Vec<String> = (pack.iter())
        .filter_map(|p| check(name, &p.module, caps, p.portable).err().map(|e| format!("{}: {e}", p.case)))
        .collect();
    if alone.is_empty() { vec![format!("a module of several kernels: {error}")] } else { alone }
}

#[test]
fn every_operation_of_the_table_is_written_or_refused_by_name() {
    let mut written = 0;
    let mut failures = vec![];
    for caps in [Caps::web(), rich()] {
        let mut packed = vec![];
        for case in table::cases() {
            let module = table::kernel(case).unwrap_or_else(|e| panic!("{case}: {}", said("", &e)));
            let kernels: Vec<_> = module.kernels().collect();
            // What no shading language has is refused by legalisation, which says so.
            if girih_lower::compile(&module, &kernels, &caps, &LoadOptions::default()).is_ok() {
                let wide = |s: Scalar| s.bits() == 64 || s == Scalar::F16;
                let portable = !wide(case.source) && !case.ty.element().is_some_and(wide);
                packed.push(Packed { case, module, portable });
            }
        }
        written += packed.len();
        packed.sort_by_key(|p| p.portable);
        for (i, pack) in packed.chunks(PACK).enumerate() {
            failures.extend(check_pack(pack, &caps, &format!("table-{}-{i}", caps.name)));
        }
    }
    assert!(failures.is_empty(), "{} of {written}:\n{}", failures.len(), failures.join("\n"));
    assert!(written > 500, "{written}");
}

/// Kernels of some size, written by hand.
const PROOFS: [(&str, &str); 3] = [
    ("bitonic", include_str!("../../../tests/ir/proofs/bitonic.gir")),
    ("softmax", include_str!("../../../tests/ir/proofs/softmax.gir")),
    ("matmul", include_str!("../../../tests/ir/proofs/matmul_coop.gir")),
];

#[test]
fn kernels_of_some_size_are_written() {
    for (name, source) in PROOFS {
        let module = module(source);
        let fragments = name == "matmul";
        for caps in [rich(), Caps::web()] {
            let kernels: Vec<_> = module.kernels().collect();
            match girih_lower::compile(&module, &kernels, &caps, &LoadOptions::default()) {
                Ok(_) => check(name, &module, &caps, !fragments).unwrap_or_else(|e| panic!("{name}: {e}")),
                // WebGPU has no fragments, and less shared memory.
                Err(errors) => assert!(caps.name == "web", "{name}: {}", said(source, &errors)),
            }
        }
    }
}

/// A kernel of `shaders/` with these constants; pointers are `f16`, other arguments multiples of 16.
fn tiles(file: &str, constants: &[(&str, i64)], warps: u32) -> Verified<Module> {
    use girih_triton::{Alone, Argument, Constant, Request, compile, kernels};
    let path = format!("{}/../shaders/{file}.py", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect(&path);
    let mut sources = girih_base::span::Sources::default();
    let described = kernels(&mut sources, file, &text, &Alone).expect("kernels");
    let described = described.iter().find(|k| k.name == file).expect("the kernel");
    let mut request = Request { kernel: file.into(), num_warps: Some(warps), ..Request::default() };
    for p in &described.parameters {
        let constant = constants.iter().find(|(n, _)| *n == p.name).map(|(_, n)| *n);
        let argument = match constant {
            Some(n) if p.constexpr => Argument::Constant(Constant::Int(n.into())),
            Some(n) => Argument::Scalar(Scalar::I32, n as u64),
            None if p.name.ends_with("_ptr") => Argument::Buffer(Scalar::F16),
            None if p.constexpr => continue,
            None if p.name == "scale" => Argument::Scalar(Scalar::F32, 0x3f00_0000),
            None => Argument::Scalar(Scalar::I32, 1024),
        };
        request.arguments.push((p.name.clone(), argument));
    }
    let compiled = compile(&mut sources, file, &text, &Alone, &request).expect("nothing is wrong");
    compiled.module
}

#[test]
fn tile_kernels_with_fragments_are_written() {
    let matmul = |m: i64, n: i64, k: i64| {
        let strides = [("stride_ak", 1), ("stride_bn", 1), ("stride_cn", 1)];
        [&[("BLOCK_M", m), ("BLOCK_N", n), ("BLOCK_K", k), ("GROUP", 8)][..], &strides].concat()
    };
    let attention = vec![("BLOCK_M", 64), ("BLOCK_N", 32), ("HEAD", 64)];
    for (file, constants, warps) in [
        ("matmul", matmul(128, 128, 32), 4),
        ("matmul", matmul(64, 32, 16), 4),
        ("attention", attention, 4),
        ("matmul", matmul(128, 256, 64), 8),
    ] {
        let module = tiles(file, &constants, warps);
        let words = match write(&module, &rich(), Language::Spirv).unwrap_or_else(|e| panic!("{file}: {e}")) {
            Emitted::Words(words) => words,
            Emitted::Text(_) => panic!("text instead of words"),
        };
        spirv_val(&words, &format!("tiles-{file}-{}", constants[0].1)).unwrap_or_else(|e| panic!("{file}: {e}"));
        shared_arrays(&words, file);
        // `OpCooperativeMatrixMulAddKHR`; the last blocks are too large for shared memory.
        assert!(warps == 8 || words.iter().any(|word| word & 0xffff == 4459), "{file}: no products of fragments");
    }
}

/// A SPIR-V module's instructions: numbers of operations, and operands.
fn instructions(words: &[u32]) -> Vec<(u32, &[u32])> {
    let mut insts = vec![];
    let mut rest = &words[5..];
    while let Some(first) = rest.first() {
        let (inst, others) = rest.split_at((first >> 16) as usize);
        insts.push((first & 0xffff, &inst[1..]));
        rest = others;
    }
    insts
}

/// Fragments are loaded from arrays of vectors, which are there and not only shown to naga.
fn shared_arrays(words: &[u32], name: &str) {
    let insts = instructions(words);
    let of = |op: u32| insts.iter().filter(move |(found, _)| *found == op).map(|(_, operands)| *operands);
    // `OpVariable`, `OpAccessChain`, `OpCooperativeMatrixLoadKHR`, `OpTypePointer`, `OpTypeVector`, by the places of their results.
    let shared: Vec<u32> = of(59).filter(|v| v[2] == 4).map(|v| v[1]).collect();
    let chains: Vec<&[u32]> = of(65).collect();
    for load in of(4457) {
        let chain = chains.iter().find(|chain| chain[1] == load[2]).unwrap_or_else(|| panic!("{name}: no place"));
        assert!(shared.contains(&chain[2]), "{name}: a fragment from elsewhere");
        let pointer = of(32).find(|pointer| pointer[0] == chain[0]).expect("a pointer's type");
        assert!(of(23).any(|vector| vector[0] == pointer[2]), "{name}: a fragment from single numbers");
    }
}

/// The verifier lets regions be nested so deep.
const DEPTH: u32 = 250;

#[test]
fn regions_as_deep_as_the_verifier_allows_are_written() {
    // Unoptimised, naga's writers take more stack than a test's thread has.
    let run = std::thread::Builder::new().stack_size(64 << 20).spawn(write_deep_regions);
    run.expect("a thread").join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn write_deep_regions() {
    let module = deep(DEPTH);
    match write(&module, &Caps::web(), Language::Spirv).unwrap_or_else(|e| panic!("{e}")) {
        Emitted::Words(words) => spirv_val(&words, "deep").unwrap_or_else(|e| panic!("{e}")),
        Emitted::Text(_) => panic!("text instead of words"),
    }
    for language in [Language::Msl, Language::Hlsl] {
        write(&module, &Caps::web(), language).unwrap_or_else(|e| panic!("{e}"));
    }
    let refused = write(&module, &Caps::web(), Language::Wgsl).expect_err("browsers do not read it");
    assert!(refused.contains("B0747"), "{refused}");
    check("less-deep", &deep(DEPTH / 4), &Caps::web(), true).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn long_sums_are_not_deep() {
    // Values without names: those with one are written by it.
    let lines: String = (0..400).map(|i| format!("  %{} = add (xor %{i}, %i), {i}\n", i + 1)).collect();
    let source = format!(
        "kernel @long(%x: buffer) workgroup(64) {{\n  %i = global_id.x\n  %0 = add %i, 1\n{lines}  store.u32 %x[%i], %400\n}}\n",
    );
    for language in [Language::Wgsl, Language::Msl, Language::Hlsl] {
        let text = text(write(&module(&source), &Caps::web(), language).unwrap_or_else(|e| panic!("{e}")));
        assert!(nesting(&text) < 128, "{language:?}: {} brackets in each other", nesting(&text));
    }
}

/// A kernel of so many regions within each other.
fn deep(depth: u32) -> Verified<Module> {
    let mut function = Function::new("deep", Span::NONE);
    function.launch = Some(Launch { workgroup: [1; 3], ..Launch::default() });
    let out = function.param("out", Type::Memory(Space::Global), ParamAttrs::default());
    let n = function.param("n", Type::U32, ParamAttrs::default());
    let mut b = Builder::new(function);
    nest(&mut b, out, n, depth);
    b.end(Op::Return, &[]);
    verify(Module::of([b.function])).expect("it is right")
}

/// Loops and conditions in turn, on what only running tells.
fn nest(b: &mut Builder, out: ValueId, n: ValueId, depth: u32) {
    let level = b.u32(depth);
    if depth == 0 {
        return b.store(Type::U32, out, level, n);
    }
    let more = |b: &mut Builder| {
        let seen = b.load(Type::U32, out, level);
        b.op(Op::Gt, Type::U32, &[n, seen])
    };
    if depth.is_multiple_of(2) {
        b.loop_with(&[], &[], |b, _| {
            nest(b, out, n, depth - 1);
            let more = more(b);
            b.end(Op::While, &[more]);
        });
    } else {
        let more = more(b);
        let arm = |b: &mut Builder| {
            nest(b, out, n, depth - 1);
            b.end(Op::Yield, &[]);
        };
        b.if_else(more, &[], arm, |b| b.end(Op::Yield, &[]));
    }
}

/// The bytes of the arrays in shared memory.
fn shared_bytes(words: &[u32]) -> Vec<u32> {
    let insts = instructions(words);
    let by_id = |op: u32, id: u32, place: usize| {
        let is = |(found, operands): &&(u32, &[u32])| *found == op && operands[place] == id;
        insts.iter().find(is).map(|(_, operands)| *operands)
    };
    // `OpTypeFloat`, `OpTypeInt`, `OpTypeVector`.
    let scalar = |ty| by_id(22, ty, 0).or(by_id(21, ty, 0)).expect("a scalar")[1] / 8;
    let element = |ty| by_id(23, ty, 0).map_or_else(|| scalar(ty), |vector| scalar(vector[1]) * vector[2]);
    // `OpVariable` in the storage class `Workgroup`, `OpTypePointer`, `OpTypeArray`, `OpConstant`.
    let shared = insts.iter().filter(|(op, operands)| *op == 59 && operands[2] == 4);
    let array = |pointer| by_id(28, by_id(32, pointer, 0).expect("a pointer")[2], 0).expect("an array");
    let bytes = |array: &[u32]| element(array[1]) * by_id(43, array[2], 1).expect("a length")[2];
    shared.map(|(_, variable)| bytes(array(variable[0]))).collect()
}

/// The shared arrays of a kernel in tile form with products of fragments.
fn arrays_of(source: &str, name: &str) -> Vec<u32> {
    let words = match write(&module(source), &rich(), Language::Spirv).unwrap_or_else(|e| panic!("{name}: {e}")) {
        Emitted::Words(words) => words,
        Emitted::Text(_) => panic!("text instead of words"),
    };
    spirv_val(&words, name).unwrap_or_else(|e| panic!("{name}: {e}"));
    shared_arrays(&words, name);
    shared_bytes(&words)
}

#[test]
fn arrays_of_pairs_stay_what_they_are() {
    // The sums and both factors.
    let arrays = arrays_of(include_str!("../../../tests/ir/tile/products_of_pairs.gir"), "products-of-pairs");
    assert_eq!(arrays.len(), 3);
}

#[test]
fn fragments_are_aligned_beside_small_arrays() {
    // Two sums of warps are beside the three.
    let arrays = arrays_of(include_str!("../../../tests/ir/tile/product_and_sum.gir"), "product-and-sum");
    assert_eq!(arrays.len(), 4);
    assert!(arrays.iter().all(|bytes| bytes.is_multiple_of(16)), "{arrays:?}");
}

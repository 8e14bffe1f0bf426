//! The project's own kernels are distributed by layouts, not through shared memory, and are as they are meant to be.

mod canonicalise;
mod layout;
mod loop_nest;
mod product;

use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_base::span::Sources;
use girih_ir::attrs::Precision;
use girih_ir::{AttrKind, Caps, Function, Inst, Op, Scalar, Type};
use girih_lower::calls::inline;
use girih_lower::tile;
use girih_runtime::LoadOptions;
use girih_triton::{Alone, Argument, Constant, Request, compile};

/// A kernel of `shaders/` for its threads. Pointers are `f32` or what is said, other arguments multiples of 16.
fn distributed(file: &str, kernel: &str, pointers: Scalar, arguments: &[(&str, i64)], caps: &Caps) -> Function {
    let path = format!("{}/../../shaders/{file}.py", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect(&path);
    distributed_text((file, &text), kernel, pointers, arguments, caps)
}

/// The same for a kernel of a text.
fn distributed_text(
    (file, text): (&str, &str),
    kernel: &str,
    pointers: Scalar,
    arguments: &[(&str, i64)],
    caps: &Caps,
) -> Function {
    tile::in_layouts(&tile_form((file, text), kernel, pointers, arguments, caps), 128, caps)
        .expect("a layout for each tile")
}

/// A kernel of a text in tile form, without calls.
fn tile_form(
    (file, text): (&str, &str),
    kernel: &str,
    pointers: Scalar,
    arguments: &[(&str, i64)],
    caps: &Caps,
) -> Function {
    let mut sources = Sources::default();
    let kernels = girih_triton::kernels(&mut sources, file, text, &Alone).expect("kernels");
    let described = kernels.iter().find(|k| k.name == kernel).expect("the kernel");
    let given = |name: &str| arguments.iter().find(|(n, _)| *n == name).map(|(_, n)| *n);
    let mut request = Request { kernel: kernel.into(), num_warps: Some(4), ..Request::default() };
    for p in &described.parameters {
        let argument = match given(&p.name) {
            Some(n) if p.constexpr => Argument::Constant(Constant::Int(n.into())),
            Some(n) => Argument::Scalar(Scalar::I32, n as u64),
            None if p.name.ends_with("_ptr") => Argument::Buffer(pointers),
            None if p.constexpr => continue,
            None if ["eps", "p", "scale"].contains(&&*p.name) => Argument::Scalar(Scalar::F32, 0x3f00_0000),
            None => Argument::Scalar(Scalar::I32, 1024),
        };
        request.arguments.push((p.name.clone(), argument));
    }
    let compiled = compile(&mut sources, file, text, &Alone, &request).expect("nothing is wrong");
    let mut module = (*compiled.module).clone();
    inline::run(&mut module, &caps.clone().without(girih_ir::Feature::Calls)).expect("calls go");
    let kernel = &mut module.functions[compiled.kernel];
    tile::canonicalise::run(kernel).expect("it has no errors of its own");
    kernel.clone()
}

/// How often each operation stands in a kernel.
fn count(f: &Function) -> FastMap<Op, usize> {
    let mut counts = FastMap::default();
    f.walk(f.body, &mut |_, inst| *counts.entry(inst.op).or_default() += 1);
    counts
}

fn widest(f: &Function, op: Op) -> u32 {
    let mut widest = 0;
    f.walk(f.body, &mut |_, inst| {
        let global = inst.operands.first().is_some_and(|v| f.ty(*v) == Type::Memory(girih_ir::Space::Global));
        if inst.op == op && global {
            widest = widest.max(inst.ty.map_or(0, Type::bytes));
        }
    });
    widest
}

#[test]
fn accesses_are_wide_where_arguments_are_multiples() {
    let caps = Caps::cuda(90, true);
    let f = distributed("vector_add", "vector_add", Scalar::F32, &[("BLOCK", 1024)], &caps);
    let counts = count(&f);
    assert_eq!((counts[&Op::Load], counts[&Op::Store], counts.get(&Op::Barrier)), (4, 2, None));
    assert_eq!((widest(&f, Op::Load), widest(&f, Op::Store)), (16, 16));
    // An odd length has no such masks.
    let f = distributed("vector_add", "vector_add", Scalar::F32, &[("BLOCK", 1024), ("n", 1023)], &caps);
    assert_eq!(widest(&f, Op::Load), 4);
    let f = distributed("softmax", "softmax", Scalar::F32, &[("BLOCK", 4096)], &caps);
    assert_eq!((widest(&f, Op::Load), widest(&f, Op::Store)), (16, 16));
    let f = distributed("layer_norm", "layer_norm", Scalar::F16, &[("BLOCK", 1024)], &caps);
    assert_eq!((widest(&f, Op::Load), widest(&f, Op::Store)), (16, 16));
}

#[test]
fn factors_are_copied_ahead_to_the_matrix_unit() {
    let blocks = [
        ("BLOCK_M", 128),
        ("BLOCK_N", 128),
        ("BLOCK_K", 64),
        ("GROUP", 8),
        ("stride_ak", 1),
        ("stride_bn", 1),
        ("stride_cn", 1),
    ];
    let f = distributed("matmul", "matmul", Scalar::F16, &blocks, &Caps::cuda(90, true));
    let counts = count(&f);
    // Two pieces of 64 rows, four steps of 16.
    assert_eq!(counts[&Op::Wgmma], 8);
    assert!(counts[&Op::AsyncCopy] > 0 && counts[&Op::AsyncWait] == 2, "{counts:?}");
    assert_eq!(widest(&f, Op::Load), 0, "nothing else is loaded");
    assert_eq!(widest(&f, Op::Store), 16);
}

/// An adapter with products of fragments, and no copies that run beside the program.
fn fragments() -> Caps {
    use girih_ir::attrs::Precision;
    use girih_ir::caps::{CoopProduct, SubgroupWidths};
    use girih_ir::types::MatrixShape;
    let mut caps = Caps::web_extended();
    caps.subgroup = SubgroupWidths { min: 32, max: 32 };
    caps.shared_bytes = 48 << 10;
    let shape = MatrixShape { m: 16, n: 16, k: 16 };
    caps.coop = vec![CoopProduct { shape, factor: Scalar::F16, acc: Scalar::F32, precision: Precision::Ieee }];
    caps
}

#[test]
fn fragments_stay_in_registers_while_products_are_added() {
    let blocks = [
        ("BLOCK_M", 128),
        ("BLOCK_N", 128),
        ("BLOCK_K", 32),
        ("GROUP", 8),
        ("stride_ak", 1),
        ("stride_bn", 1),
        ("stride_cn", 1),
    ];
    for caps in [fragments(), Caps::cuda(80, false)] {
        let f = distributed("matmul", "matmul", Scalar::F16, &blocks, &caps);
        let counts = count(&f);
        // Each subgroup has 64 x 64: four by four fragments, two steps of 16.
        assert_eq!((counts[&Op::CoopMma], counts[&Op::CoopLoad], counts[&Op::CoopStore]), (32, 16, 16), "{counts:?}");
        assert_eq!(counts[&Op::CoopSplat], 1);
        assert_eq!(
            (widest(&f, Op::Store), counts.contains_key(&Op::AsyncCopy)),
            (16, caps.has(girih_ir::Feature::AsyncCopy))
        );
        // One barrier an iteration, one after the loop, and one each time that fragments become elements.
        assert!(counts[&Op::Barrier] <= 18, "{counts:?}");
    }
    // Where factors do not fit, they come in slices: two of 16.
    let mut little = fragments();
    little.shared_bytes = 24 << 10;
    let counts = count(&distributed("matmul", "matmul", Scalar::F16, &blocks, &little));
    assert_eq!((counts[&Op::CoopMma], counts[&Op::CoopLoad]), (32, 16), "{counts:?}");
    // Scores are computed with, and so are the sums between two products.
    let blocks = [("BLOCK_M", 64), ("BLOCK_N", 64), ("HEAD", 64)];
    let f = distributed("attention", "attention", Scalar::F16, &blocks, &fragments());
    assert!(count(&f)[&Op::CoopMma] >= 2);
}

#[test]
fn short_factors_are_multiplied_by_the_matrix_unit() {
    let blocks = [
        ("BLOCK_M", 128),
        ("BLOCK_N", 128),
        ("BLOCK_K", 32),
        ("GROUP", 8),
        ("stride_ak", 1),
        ("stride_bn", 1),
        ("stride_cn", 1),
    ];
    let matmul = |factor, caps: &Caps| count(&distributed("matmul", "matmul", factor, &blocks, caps));
    // Four by four fragments, four steps of 8: `f32` is taken as `tf32` unless a kernel says otherwise.
    let counts = matmul(Scalar::F32, &Caps::cuda(80, false));
    assert_eq!((counts[&Op::CoopMma], counts[&Op::CoopLoad]), (64, 32), "{counts:?}");
    assert!(!matmul(Scalar::F32, &Caps::cuda(75, false)).contains_key(&Op::CoopMma), "there is no unit for that");
    assert!(!matmul(Scalar::F32, &fragments()).contains_key(&Op::CoopMma), "there is no unit for that");
    // Eight bits are numbers of 16, too.
    for float in [Scalar::F8E4M3, Scalar::F8E5M2] {
        assert_eq!(matmul(float, &Caps::cuda(80, false))[&Op::CoopMma], 32, "{float}");
        assert_eq!(matmul(float, &fragments())[&Op::CoopMma], 32, "{float}");
        assert_eq!(matmul(float, &Caps::cuda(90, true))[&Op::Wgmma], 4, "{float}");
    }
    let text = "
import triton
import triton.language as tl

@triton.jit
def bytes(a_ptr, b_ptr, c_ptr):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at))
    tl.store(c_ptr + at, c.to(c_ptr.dtype.element_ty))
";
    for byte in [Scalar::I8, Scalar::U8] {
        for caps in [Caps::cuda(75, false), Caps::cuda(90, true)] {
            let counts = count(&distributed_text(("bytes.py", text), "bytes", byte, &[], &caps));
            // Four subgroups have two by two fragments each, four steps of 16.
            assert_eq!(counts.get(&Op::CoopMma), Some(&16), "{byte} on {}: {counts:?}", caps.name);
        }
    }
    // How exactly `f32` is taken stays with the products. Four subgroups have two by two fragments each, eight steps of 8.
    for (name, precision) in [("tf32", Some(Precision::Tf32)), ("tf32x3", Some(Precision::Tf32x3)), ("ieee", None)] {
        let text = text.replace("(b_ptr + at))", &format!("(b_ptr + at), input_precision=\"{name}\")"));
        let f = distributed_text(("precise.py", &text), "bytes", Scalar::F32, &[], &Caps::cuda(90, true));
        let mut found = vec![];
        f.walk(f.body, &mut |_, inst| found.extend((inst.op == Op::CoopMma).then(|| inst.precision())));
        assert_eq!(found, precision.map_or(vec![], |precision| vec![precision; 32]), "{name}");
    }
}

#[test]
fn kernels_of_the_project_have_layouts_on_every_device() {
    for caps in [
        Caps::web(),
        Caps::web_extended(),
        fragments(),
        Caps::cuda(75, false),
        Caps::cuda(90, true),
        Caps::everything(),
    ] {
        distributed("blur", "blur", Scalar::F32, &[], &caps);
        distributed("dropout", "dropout", Scalar::F32, &[], &caps);
        distributed("mandelbrot", "mandelbrot", Scalar::I32, &[], &caps);
        distributed("layer_norm", "layer_norm_backward", Scalar::F32, &[("BLOCK", 1024)], &caps);
        let blocks = [("BLOCK_M", 32), ("BLOCK_N", 32), ("BLOCK_K", 32), ("GROUP", 8)];
        distributed("matmul", "matmul", Scalar::F32, &blocks, &caps);
        distributed("attention", "attention", Scalar::F16, &[("BLOCK_M", 32), ("BLOCK_N", 32), ("HEAD", 32)], &caps);
    }
}

/// The kernel of a text, without calls.
fn written(body: &str) -> Function {
    let text = format!("import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(p, n):\n{body}");
    let arguments =
        vec![("p".to_owned(), Argument::Buffer(Scalar::I32)), ("n".into(), Argument::Scalar(Scalar::I32, 7))];
    let request = Request { kernel: "k".into(), arguments, ..Request::default() };
    let compiled = compile(&mut Sources::default(), "k.py", &text, &Alone, &request).expect("nothing is wrong");
    compiled.module.functions[compiled.kernel].clone()
}

/// A kernel's functions are those that it says, in layouts and out of them.
#[test]
fn functions_stay_what_the_kernel_says() {
    let text = "
import triton
import triton.language as tl

@triton.jit
def functions(x_ptr, y_ptr):
    at = tl.arange(0, 256)
    x = tl.load(x_ptr + at)
    y = tl.exp(x) + tl.exp2(x) + tl.rsqrt(x) + tl.log(x) + tl.log2(x) + tl.sin(x) + x / tl.sum(x, 0)
    tl.store(y_ptr + at, y)
";
    // The last one has one divisor for all.
    let says = [Op::ExpApprox, Op::Exp2Approx, Op::RsqrtApprox, Op::Log, Op::Log2, Op::Sin, Op::DivApprox];
    for caps in [Caps::cuda(90, true), Caps::web()] {
        let source = tile_form(("functions.py", text), "functions", Scalar::F32, &[], &caps);
        let layouts = tile::in_layouts(&source, 128, &caps).expect("a layout for each tile");
        let memory = tile::fallback::run(&source, 128, &caps).expect("the plain way is for all");
        for distributed in [layouts, memory] {
            let counts = count(&distributed);
            for op in says {
                assert_eq!(counts.get(&op), Some(&2), "{} on {}: {counts:?}", op.name(), caps.name);
            }
            let others = Op::ALL.iter().filter(|op| !says.contains(op) && op.row().approximates.is_some());
            assert!(others.clone().all(|op| !counts.contains_key(op)), "{counts:?}");
            let total = |f: &Function| {
                let mut all = true;
                f.walk(f.body, &mut |_, inst| {
                    all &= inst.op.row().approximates.is_none() || inst.has(girih_ir::AttrKind::Total);
                });
                all
            };
            assert!(total(&distributed));
        }
    }
}

const GATHERS: &str = "
import triton
import triton.language as tl

@triton.jit
def gathers(a_ptr, b_ptr, c_ptr):
    row, column = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    a = tl.load(a_ptr + row * 64 + column)
    a = tl.gather(a, (row + column) % 64, 1)
    c = tl.dot(a, tl.load(b_ptr + row * 64 + column))
    tl.store(c_ptr + row * 64 + column, c.to(c_ptr.dtype.element_ty))

@triton.jit
def four(a, b, c, d, x, y, z, w):
    return a + x, b + y, c + z, d + w

@triton.jit
def scans(a_ptr, b_ptr, c_ptr):
    row, column = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    a, b = tl.load(a_ptr + row * 64 + column), tl.load(b_ptr + row * 64 + column)
    c = tl.dot(a, b)
    at = tl.arange(0, 1024)
    line = tl.load(a_ptr + at)
    x, y, z, w = tl.associative_scan((line, line + 1, line + 2, line + 3), 0, four)
    p, q, s, t = tl.reduce((x, y, z, w), 0, four)
    tl.store(c_ptr + row * 64 + column, (c + p + q + s + t).to(c_ptr.dtype.element_ty))
    tl.store(c_ptr + 4096 + at, x + w)
";

/// An operation that finds elements by their numbers goes through shared memory by itself: a product beside it stays with the matrix unit.
#[test]
fn a_gather_leaves_a_product_to_the_matrix_unit() {
    for (caps, unit) in
        [(Caps::cuda(90, true), Op::Wgmma), (Caps::cuda(80, false), Op::CoopMma), (fragments(), Op::CoopMma)]
    {
        // So do scans and reductions of several values.
        for kernel in ["gathers", "scans"] {
            let f = distributed_text(("gathers.py", GATHERS), kernel, Scalar::F16, &[], &caps);
            let counts = count(&f);
            assert!(counts.contains_key(&unit), "{kernel} on {}: {counts:?}", caps.name);
            assert!(!counts.contains_key(&Op::TileGather) && counts.contains_key(&Op::Load), "{counts:?}");
        }
    }
}

/// A kernel that scans so many values together.
fn many(count: usize) -> String {
    let list = |item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>().join(", ");
    let (a, b) = (list(&|i| format!("a{i}")), list(&|i| format!("b{i}")));
    let (sums, all) = (list(&|i| format!("a{i} + b{i}")), list(&|i| format!("x + {i}")));
    format!(
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef add({a}, {b}):\n    return {sums}\n\n@triton.jit\ndef many(x_ptr, y_ptr):\n    at = tl.arange(0, 256)\n    x = tl.load(x_ptr + at)\n    found = tl.associative_scan(({all}), 0, add)\n    tl.store(y_ptr + at, found[0])\n"
    )
}

/// Why a kernel leaves the layouts is said, with the operation that makes it.
#[test]
fn what_leaves_the_layouts_is_said_with_its_place() {
    let caps = Caps::cuda(90, true);
    let mut sources = Sources::default();
    let arguments = ["x_ptr", "y_ptr"].map(|name| (name.to_owned(), Argument::Buffer(Scalar::F32)));
    let request = Request { kernel: "many".into(), arguments: arguments.to_vec(), ..Request::default() };
    let compiled = compile(&mut sources, "many.py", &many(17), &Alone, &request).expect("nothing is wrong");
    let notes = girih_lower::notes(&compiled.module, &[compiled.kernel], &caps).expect("it is possible");
    let [note] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!((note.code, note.severity), (Code::SharedMemory, girih_base::diag::Severity::Warning));
    assert!(note.message.contains("`@many`") && note.message.contains("17 values are scanned"), "{note:?}");
    let drawn = girih_base::diag::render(note, &sources, girih_base::diag::Style::Plain);
    assert!(drawn.contains("found = tl.associative_scan("), "{drawn}");
    // A kernel that stays in layouts has nothing to say.
    let arguments = ["a_ptr", "b_ptr", "c_ptr"].map(|name| (name.to_owned(), Argument::Buffer(Scalar::F16)));
    let request = Request { kernel: "gathers".into(), arguments: arguments.to_vec(), ..Request::default() };
    let compiled = compile(&mut sources, "gathers.py", GATHERS, &Alone, &request).expect("nothing is wrong");
    assert_eq!(girih_lower::notes(&compiled.module, &[compiled.kernel], &caps), Ok(vec![]));
}

/// Loops that wait for other programs.
const WAITING: &[&str] = &[
    "    while tl.atomic_cas(p, 0, 1) == 1:\n        pass\n",
    "    while tl.load(p, volatile=True) != n:\n        pass\n",
    "    while tl.atomic_add(p, 0) < n:\n        pass\n",
    "    seen = tl.atomic_xchg(p + 3, 1)\n    while seen == 1:\n        seen = tl.atomic_xchg(p + 3, 1)\n",
    "    for i in range(n):\n        while tl.atomic_cas(p + i, 0, 1) == 1:\n            pass\n",
];

#[test]
fn loops_that_wait_for_other_programs_are_found() {
    let waits = |body: &str| tile::spin_loops::waiting(&written(body)).is_some();
    for body in WAITING {
        assert!(waits(body), "{body}");
        let mut simpler = written(body);
        tile::canonicalise::run(&mut simpler).expect("it has no errors of its own");
        assert!(tile::spin_loops::waiting(&simpler).is_some(), "canonicalised: {body}");
    }
    for body in [
        "    for i in range(tl.load(p)):\n        tl.store(p + i, i)\n",
        "    i = 0\n    while i < tl.load(p):\n        i += 1\n",
        "    task = tl.atomic_add(p, 1)\n    while task < n:\n        task = tl.atomic_add(p, 1)\n",
        "    old = tl.load(p)\n    seen = tl.atomic_cas(p, old, old * n)\n    while seen != old:\n        old = seen\n        seen = tl.atomic_cas(p, old, old * n)\n",
        "    tries = 0\n    while (tl.atomic_cas(p, 0, 1) == 1) & (tries < 100):\n        tries += 1\n",
        "    while tl.load(p) < n:\n        tl.store(p, tl.load(p) + 1)\n",
    ] {
        assert!(!waits(body), "{body}");
    }
    let lock = written("    while tl.atomic_cas(p, 0, 1) == 1:\n        pass\n");
    assert!(tile::spin_loops::check(&lock, &Caps::cuda(80, false)).is_ok());
    let refused = tile::spin_loops::check(&lock, &Caps::web()).expect_err("workgroups may run one after the other");
    assert!(refused.message.contains("`@k`") && refused.message.contains("`forward_progress`"), "{refused:?}");
}

/// A kernel made legal for a device.
fn legal(body: &str, caps: &Caps) -> Result<Function, Vec<Diagnostic>> {
    let text = format!("import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(p, n):\n{body}");
    let arguments =
        vec![("p".to_owned(), Argument::Buffer(Scalar::I32)), ("n".into(), Argument::Scalar(Scalar::I32, 7))];
    let request = Request { kernel: "k".into(), arguments, ..Request::default() };
    let written = compile(&mut Sources::default(), "k.py", &text, &Alone, &request).expect("nothing is wrong");
    let legal = girih_lower::compile(&written.module, &[written.kernel], caps, &LoadOptions::default())?;
    Ok(legal.module.functions[legal.entries[0].kernel].clone())
}

/// Where the volatile loads of a kernel stand for a device: within a loop, and elsewhere.
fn volatile_loads(body: &str, caps: &Caps) -> (usize, usize) {
    let f = legal(body, caps).expect("it is legal");
    let volatile = |inst: &Inst| usize::from(inst.op == Op::Load && inst.has(AttrKind::Volatile));
    let (mut inner, mut all) = (0, 0);
    f.walk(f.body, &mut |_, inst| {
        all += volatile(inst);
        if inst.op == Op::Loop {
            f.walk(inst.regions[0], &mut |_, inst| inner += volatile(inst));
        }
    });
    (inner, all - inner)
}

/// What a program waits for is seen before anything leaves the loop.
#[test]
fn a_device_without_progress_refuses_every_loop_that_waits() {
    let plain = "    while tl.load(p) != n:\n        pass\n";
    for body in WAITING.iter().copied().chain([plain]) {
        let refused = legal(body, &Caps::web()).expect_err("workgroups may run one after the other");
        assert!(refused[0].message.contains("`forward_progress`"), "{body}: {refused:?}");
    }
}

/// A load that others write meanwhile stays where it is written, as often as it is written.
#[test]
fn volatile_loads_stay_where_they_are() {
    for caps in [Caps::cuda(80, false), Caps::cuda(90, true), Caps::everything()] {
        let found = |body: &str| volatile_loads(body, &caps);
        assert_eq!(found("    while tl.load(p, volatile=True) != n:\n        pass\n"), (1, 0), "{}", caps.name);
        let uncached = "    while tl.load(p, cache_modifier='.cv') != n:\n        pass\n";
        assert_eq!(found(uncached), (1, 0), "{}", caps.name);
        // Two questions may have two answers, and a store by this program does not answer for others.
        let twice = "    tl.store(p + 1, tl.load(p, volatile=True) - tl.load(p, volatile=True))\n";
        assert_eq!(found(twice), (0, 2), "{}", caps.name);
        let stored = "    tl.store(p, n)\n    tl.store(p + 1, tl.load(p, volatile=True))\n";
        assert_eq!(found(stored), (0, 1), "{}", caps.name);
    }
}

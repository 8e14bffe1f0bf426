//! The project's own kernels are distributed by layouts, not through shared memory, and are as they are meant to be.

use super::{canonical, in_layouts};
use crate::calls::inline;
use girih_base::hash::FastMap;
use girih_base::span::Sources;
use girih_ir::attrs::Precision;
use girih_ir::{Caps, Function, Op, Scalar, Type};
use girih_triton::{Alone, Argument, Constant, Request, compile};

/// A kernel of `shaders/` for its threads. Pointers are `f32` or what is said, other arguments multiples of 16.
pub(super) fn distributed(
    file: &str,
    kernel: &str,
    pointers: Scalar,
    arguments: &[(&str, i64)],
    caps: &Caps,
) -> Function {
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
    canonical::run(kernel).expect("it has no errors of its own");
    in_layouts(kernel, 128, caps).expect("a layout for each tile")
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

#[test]
fn loops_that_wait_for_other_programs_are_found() {
    let waits = |body: &str| super::waits::waiting(&written(body)).is_some();
    for body in [
        "    while tl.atomic_cas(p, 0, 1) == 1:\n        pass\n",
        "    while tl.load(p, volatile=True) != n:\n        pass\n",
        "    while tl.atomic_add(p, 0) < n:\n        pass\n",
        "    seen = tl.atomic_xchg(p + 3, 1)\n    while seen == 1:\n        seen = tl.atomic_xchg(p + 3, 1)\n",
        "    for i in range(n):\n        while tl.atomic_cas(p + i, 0, 1) == 1:\n            pass\n",
    ] {
        assert!(waits(body), "{body}");
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
    assert!(super::waits::check(&lock, &Caps::cuda(80, false)).is_ok());
    let refused = super::waits::check(&lock, &Caps::web()).expect_err("workgroups may run one after the other");
    assert!(refused.message.contains("`@k`") && refused.message.contains("`forward_progress`"), "{refused:?}");
}

//! What kernels know when they are compiled: constants, types, the machine; and functions of Python that are run then.

use super::run::{Arg, launch, try_launch};
use girih_ir::Scalar;
use girih_triton::{Alone, Argument, Card, Request, compile};

/// A kernel that asserts each of these, below these lines of its file.
fn asserts(head: &str, claims: &[&str]) -> String {
    let lines: String = claims
        .iter()
        .map(|claim| format!("    tl.static_assert({claim}, '{}')\n", claim.replace('\'', "\"")))
        .collect();
    format!(
        "import math\nimport torch\nimport triton\nimport triton.language as tl\n{head}\n
@triton.jit\ndef k(y, C: tl.constexpr, D: tl.constexpr):\n    at = tl.arange(0, 16)\n    v = at * 0.5\n{lines}"
    )
}

fn hold(head: &str, claims: &[&str]) {
    let text = |text: &str| Arg::Const(girih_triton::Constant::Text(text.into()));
    let arguments =
        [("y", Arg::Array(Scalar::F32, vec![0.0; 16])), ("C", super::run::constant(16)), ("D", text("tl.float16"))];
    launch(&asserts(head, claims), "k", [1; 3], &arguments);
}

#[test]
fn constants_and_types_have_their_attributes() {
    hold(
        "A = tl.constexpr(tl.float32)\nB = tl.constexpr(3)",
        &[
            "C.value == 16 and D.value == tl.float16 and A.value == tl.float32 and B.value + 1 == 4",
            "v.dtype.value.is_fp32()",
            "tl.float32.is_standard_floating() and not tl.float8e5.is_standard_floating()",
            "tl.float8e4nv.is_fp8() and tl.float8e4nv.is_fp8e4nv() and not tl.float8e4nv.is_fp8e4b15()",
            "tl.bfloat16.fp_mantissa_width == 7 and tl.float16.exponent_bias == 15",
            "tl.int32.int_signedness == tl.dtype.SIGNEDNESS.SIGNED and tl.uint8.int_signedness == tl.dtype.SIGNEDNESS.UNSIGNED",
            "tl.int16.get_int_max_value() == 32767 and tl.int8.get_int_min_value() == -128",
            "tl.int1.kind() == tl.dtype.KIND.BOOLEAN and tl.float16.kind() == tl.dtype.KIND.FLOATING",
            "tl.int32.is_int32() and tl.uint64.is_uint64() and not tl.int32.is_uint32()",
            "tl.core.get_int_dtype(bitwidth=v.dtype.primitive_bitwidth, signed=False) == tl.uint32",
            "tl.core.get_int_dtype(1, True) == tl.int1",
            "y.dtype.element_ty == tl.float32 and y.dtype.is_ptr() and v.type.is_block()",
            "0 < C <= 16 < 17 and not 0 < C < 16",
            "f'{C=}' == 'C=16'",
        ],
    );
}

#[test]
fn the_helpers_of_core_and_standard_are_known() {
    hold(
        "from triton.language.standard import _log2\nfrom triton.language import core",
        &[
            "_log2(C) == 4 and tl.standard._log2(1) == 0 and tl.standard._log2(17) == 4",
            "tl.standard._is_power_of_two(C) and not tl.standard._is_power_of_two(12)",
            "core._unwrap_if_constexpr(C) == 16",
            "tl.TRITON_MAX_TENSOR_NUMEL == 1048576 and tl.pi32_t.is_ptr()",
            "tl.reduce(v, 0, tl.standard._elementwise_max).dtype == tl.float32",
            "tl.full_like(v, 2).dtype == tl.float32",
            "tl.add(v, 1, sanitize_overflow=False).dtype == tl.float32 and (v > 0).logical_not().dtype == tl.int1",
        ],
    );
}

#[test]
fn pythons_math_and_the_limits_of_types_are_constants() {
    hold(
        "LN2 = math.log(2)\nfrom math import log2\nM: tl.constexpr = torch.finfo(torch.float32).max",
        &[
            "0.6931 < LN2 < 0.6932 and log2(8) == 3 and math.ceil(1.5) == 2 and math.prod((2, 3, 4)) == 24",
            "M > 3.4e38 and torch.finfo(torch.bfloat16).eps == 2 ** -7 and torch.finfo(torch.float16).tiny == 2 ** -14",
            "torch.iinfo(torch.int32).min == -2 ** 31 and torch.iinfo(torch.uint8).max == 255",
            "max(1, 2, 3) == 3 and min((4, 2)) == 2",
        ],
    );
}

#[test]
fn versions_and_capabilities_are_compared() {
    hold(
        "from packaging import version
NEW = version.parse(triton.__version__) >= version.parse('3.0.0')
OLD = version.parse(torch.__version__) < version.parse('2.6')
HOPPER = torch.cuda.get_device_capability() >= (9, 0)
try:
    from triton.language.extra.libdevice import tanh
except ImportError:
    from triton.language.math import tanh",
        &["NEW and not OLD and not HOPPER and tanh(v).dtype == tl.float32", "tl.target_info.is_cuda()"],
    );
}

#[test]
fn modules_are_looked_for() {
    hold(
        "import importlib.util
def find(name):
    for place in ('triton.language.extra.nowhere.libdevice', 'triton.language.extra.cuda.libdevice'):
        if found := importlib.util.find_spec(place):
            module = importlib.util.module_from_spec(found)
            assert found.loader is not None
            found.loader.exec_module(module)
            return getattr(module, name)
tanh = find('tanh')
OTHER = importlib.util.find_spec('nowhere')",
        &[
            "tanh(v).dtype == tl.float32 and OTHER is None",
            "tl.dtype('fp16') == tl.float16 and tl.core.dtype('int32') == tl.int32",
        ],
    );
}

/// What cannot be computed in a `try` counts as an exception.
#[test]
fn the_first_attempt_that_has_a_value_counts() {
    hold(
        "try:
    from nowhere import backend
    shim = backend.module()
except ImportError:
    shim = tl.math
try:
    import triton.language.extra.ascend.libdevice as ld
except ModuleNotFoundError:
    import triton.language.extra.libdevice as ld
try:
    from fast_tanh import tanh
except ImportError:
    from triton.language.extra.libdevice import tanh
module = None
def choose():
    global module, others
    module = __import__('backend')
def chosen():
    return module
try:
    choose()
    other = chosen()
except ImportError:
    other = tl.math
VALUE = 1
try:
    VALUE = 2
except ImportError:
    VALUE = 3
try:
    import nowhere
    FLAG = True
except ImportError:
    FLAG = False
LATER = False
try:
    EARLIER = True
    from nowhere import something
    LATER = True
except ImportError:
    pass
try:
    from triton.language.extra import libdevice
    HAS_LIBDEVICE = True
except ImportError:
    HAS_LIBDEVICE = False",
        &[
            "other.exp(v).dtype == tl.float32 and shim.exp(v).dtype == tl.float32 and ld.tanh(v).dtype == tl.float32 and tanh(v).dtype == tl.float32 and VALUE == 2",
            "not FLAG and EARLIER and not LATER and HAS_LIBDEVICE",
        ],
    );
}

/// The machine is the card of the request.
#[test]
fn the_card_is_that_of_the_request() {
    let head = "
P = torch.cuda.get_device_properties('cuda')
T = triton.runtime.driver.active.utils.get_device_properties(triton.runtime.driver.active.get_current_device())";
    let claims = [
        "P.multi_processor_count == 7 and P.major == 9 and P.warp_size == 32",
        "T['multiprocessor_count'] == 7 and T['max_shared_mem'] == 1000",
        "triton.runtime.driver.active.get_current_target().arch == 90",
    ];
    let text = |name: &str| Argument::Constant(girih_triton::Constant::Text(name.into()));
    let request = Request {
        kernel: "k".into(),
        arguments: vec![("y".into(), Argument::Buffer(Scalar::F32)), ("C".into(), text("a")), ("D".into(), text("b"))],
        capability: Some((9, 0)),
        card: Some(Card { multiprocessors: 7, shared_bytes: 1000 }),
        ..Request::default()
    };
    let mut sources = girih_base::span::Sources::default();
    compile(&mut sources, "k.py", &asserts(head, &claims), &Alone, &request).expect("it says what the request says");
}

/// What is wrong inside a function of the library is said at the call.
#[test]
fn mistakes_in_the_librarys_python_are_said_at_the_call() {
    let text = asserts("", &["tl.topk(v, 3).dtype == tl.float32"]);
    let arguments =
        [("y", Arg::Array(Scalar::F32, vec![0.0; 16])), ("C", super::run::constant(1)), ("D", super::run::constant(1))];
    let Err((sources, found)) = try_launch(&text, "k", [1; 3], &arguments, &Alone) else { panic!("it is let through") };
    assert!(found[0].message.contains("takes a power of two"), "{found:?}");
    assert_eq!(sources.snippet(found[0].span()), "tl.topk(v, 3)");
}

/// A tuple is given element by element.
#[test]
fn kernels_take_tuples() {
    let text = "import triton\nimport triton.language as tl
@triton.jit
def add(pair):
    a, b = pair
    return a + b

@triton.jit
def k(pointers, by, SHAPE: tl.constexpr):
    at = tl.arange(0, SHAPE[0] * SHAPE[1])
    tl.static_assert(len(pointers) == 2 and SHAPE == (2, 4))
    tl.store(pointers[1] + at, tl.load(pointers[0] + at) * add(by))
";
    let array = |x: f64| Arg::Array(Scalar::F32, vec![x; 8]);
    let full = [
        ("pointers.0", array(2.0)),
        ("pointers.1", array(0.0)),
        ("by.0", Arg::Int(3)),
        ("by.1", Arg::Float(0.5)),
        ("SHAPE.0", super::run::constant(2)),
        ("SHAPE.1", super::run::constant(4)),
    ];
    assert_eq!(launch(text, "k", [1; 3], &full)[1], vec![7.0; 8]);
    let mut some = full.to_vec();
    some[2].0 = "by.2";
    let Err((_, found)) = try_launch(text, "k", [1; 3], &some, &Alone) else { panic!("it is let through") };
    assert_eq!(found[0].message, "`by.0` is not given, but another part of `by` is");
}

//! What is said about wrong kernels. Each breaks one rule; what is drawn is kept as a snapshot.

use super::run::{Arg, constant, try_launch, zeros};
use girih_base::diag::{Style, render};
use girih_triton::Alone;

/// Name, and the body of a kernel of `x_ptr`, `y_ptr`, `n` and `BLOCK`.
const BAD: &[(&str, &str)] = &[
    ("unknown_name", "a = tl.arange(0, BLOCK)\nb = aa + 1"),
    ("unknown_operation", "a = tl.arang(0, BLOCK)"),
    ("not_a_power_of_two", "a = tl.arange(0, 100)"),
    ("not_constant", "a = tl.arange(0, n)"),
    ("number_variable_is_not_constant", "size = 64\na = tl.arange(0, size)"),
    ("shapes", "a = tl.arange(0, 64)\nb = tl.arange(0, 32)\nc = a + b"),
    ("tile_condition", "a = tl.arange(0, BLOCK)\nif a > 3:\n    tl.store(x_ptr, 1.0)"),
    ("loop_changes_type", "acc = 0\nfor i in range(n):\n    acc += 0.5"),
    ("loop_changes_shape", "acc = 0.0\nfor i in range(n):\n    acc += tl.zeros([16], tl.float32)"),
    ("branches_differ", "if n > 3:\n    a = 1\nelse:\n    a = 2.0\ntl.store(x_ptr, a)"),
    ("one_branch", "if n > 3:\n    a = 1\ntl.store(x_ptr, a)"),
    ("two_types_chosen", "p = tl.where(n > 3, x_ptr, y_ptr.to(tl.pointer_type(tl.int8)))\ntl.store(p, 1.0)"),
    (
        "two_types_in_branches",
        "if n > 3:\n    p = x_ptr\nelse:\n    p = y_ptr.to(tl.pointer_type(tl.int8))\ntl.store(p, 1.0)",
    ),
    ("two_types_in_a_loop", "p = x_ptr\nfor i in range(n):\n    p = y_ptr.to(tl.pointer_type(tl.int8))"),
    ("integer_to_pointer", "p = n.to(tl.pointer_type(tl.float32))"),
    ("store_to_integer", "tl.store(n, 1.0)"),
    ("mask_does_not_fit", "a = tl.arange(0, 64)\nb = tl.arange(0, 32)\nx = tl.load(x_ptr + a, mask=b < n)"),
    ("scalar_pointer_and_tile", "tl.store(x_ptr, tl.arange(0, BLOCK))"),
    ("other_without_mask", "x = tl.load(x_ptr, other=0.0)"),
    ("break_in_loop", "for i in range(n):\n    break"),
    ("return_in_loop", "for i in range(n):\n    return"),
    ("return_of_a_value", "return n"),
    ("with_statement", "with open('a') as f:\n    pass"),
    ("class_in_kernel", "class A:\n    pass"),
    ("try_statement", "try:\n    pass\nexcept E:\n    pass"),
    ("assign_to_element", "a = tl.arange(0, BLOCK)\na[0] = 1"),
    ("index_of_a_tile", "a = tl.arange(0, BLOCK)\nb = a[3]"),
    ("missing_argument", "a = tl.arange(0)"),
    ("extra_argument", "a = tl.program_id(0, 1)"),
    ("named_argument", "a = tl.load(x_ptr, maks=None)"),
    ("refused", "a = tl.inline_asm_elementwise('mov.u32 $0, %smid;', '=r', [], tl.int32, True, 1)"),
    ("dot_shapes", "a = tl.zeros([16, 32], tl.float16)\nb = tl.zeros([16, 32], tl.float16)\nc = tl.dot(a, b)"),
    ("dot_types", "a = tl.zeros([16, 16], tl.float16)\nb = tl.zeros([16, 16], tl.float32)\nc = tl.dot(a, b)"),
    ("static_assert", "tl.static_assert(BLOCK == 3, 'three')"),
    ("signedness", "a = n // tl.full([16], 3, tl.uint32)"),
    ("bits_of_floats", "a = tl.zeros([16], tl.float32) & 1"),
    ("axis", "a = tl.sum(tl.zeros([16], tl.float32), axis=1)"),
    ("host_function", "a = plain(n)"),
    ("endless", "while True:\n    pass"),
    ("recursion", "a = forever(n)"),
    ("assigned_in_a_loop", "for i in range(n):\n    a = i * 2\ntl.store(x_ptr, a)"),
    ("conditional_of_a_tile", "a = tl.arange(0, BLOCK)\nb = 1.0 if a > 3 else 0.0"),
    ("part_of_a_tile", "a = tl.arange(0, BLOCK)\nb = a[0:8]"),
    ("element_of_a_pointer", "a = tl.load(x_ptr[n])"),
    ("text_of_a_number", "tl.device_print(f'n is {n}')"),
    ("function_in_a_kernel", "def f(x):\n    return x"),
    ("precision", "a = tl.zeros([16, 16], tl.float32)\nb = tl.dot(a, a, input_precision='fp32')"),
    ("returns_differ", "a = uneven(n)"),
    ("return_missing", "a = unfinished(n)"),
    ("nothing_to_load", "b = None\na = tl.load(b)"),
    ("odd_shape", "a = tl.zeros([16, 80], tl.float32)"),
    ("no_python", "a = (1 +"),
];

const HEAD: &str = "\
import triton
import triton.language as tl

def plain(x):
    return x + 1

@triton.jit
def forever(x):
    return forever(x)

@triton.jit
def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
";

/// What stands behind the kernel.
const TAIL: &str = "
@triton.jit
def uneven(x):
    if x > 3:
        return x
    return 1.5

@triton.jit
def unfinished(x):
    if x > 3:
        return x
";

#[test]
fn what_is_said_about_wrong_kernels() {
    let mut all = String::new();
    for (name, body) in BAD {
        let tail = if name.starts_with("return") { TAIL } else { "" };
        let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
        let arguments = [("x_ptr", zeros(64)), ("y_ptr", zeros(64)), ("n", Arg::Int(5)), ("BLOCK", constant(64))];
        let Err((sources, found)) = try_launch(&format!("{HEAD}{lines}{tail}"), "k", [1; 3], &arguments, &Alone) else {
            panic!("`{name}` is let through");
        };
        for diagnostic in &found {
            assert!(!diagnostic.message.ends_with('.') && !diagnostic.span().is_none(), "{name}: {diagnostic:?}");
            assert!(diagnostic.code.as_str().starts_with("B10"), "{name}: {diagnostic:?}");
        }
        let drawn: String = found.iter().map(|d| render(d, &sources, Style::Plain)).collect();
        all.push_str(&format!("# {name}\n{drawn}\n"));
    }
    insta::assert_snapshot!("errors", all);
}

#[test]
fn what_is_said_about_arguments() {
    let source = format!("{HEAD}    tl.store(x_ptr, 1.0)\n");
    let full = [("x_ptr", zeros(4)), ("y_ptr", zeros(4)), ("n", Arg::Int(5)), ("BLOCK", constant(64))];
    let said = |kernel: &str, arguments: &[(&str, Arg)]| {
        let Err((_, found)) = try_launch(&source, kernel, [1; 3], arguments, &Alone) else { panic!("let through") };
        found[0].message.clone()
    };
    assert_eq!(said("kk", &full), "the file has no kernel `kk`");
    assert_eq!(said("plain", &full), "the file has no kernel `plain`");
    assert_eq!(said("k", &full[..3]), "the parameter `BLOCK` of `k` is not given");
    let extra = [full.to_vec(), vec![("z", Arg::Int(1))]].concat();
    assert_eq!(said("k", &extra), "`k` has no parameter `z`");
    let mut array = full.to_vec();
    array[3].1 = zeros(4);
    assert_eq!(said("k", &array), "`BLOCK` is a `tl.constexpr` and is given an array");
}

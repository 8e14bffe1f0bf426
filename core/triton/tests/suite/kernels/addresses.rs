//! Addresses as numbers, and tables of them: what kernels of groups of matrices and of caches in many parts do.

use super::run::{Arg, constant, f32s, launch, try_launch};
use girih_ir::Scalar;
use girih_triton::Alone;

const TEXT: &str = "
import triton
import triton.language as tl

@triton.jit
def grouped(ins, outs, lengths, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    source = tl.load(ins + group).to(tl.pointer_type(tl.float32))
    target = tl.multiple_of(tl.load(outs + group).to(tl.pointer_type(tl.float32)), 16)
    at = tl.arange(0, BLOCK)
    inside = at < tl.load(lengths + group)
    tl.store(target + at, tl.load(source + at, mask=inside, other=-1.0) * 2, mask=inside)

@triton.jit
def looped(table, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(n):
        p = tl.cast(tl.load(table + i), tl.pointer_type(tl.float32))
        total += tl.load(p + at)
    tl.store(out + at, total)

@triton.jit
def element(table, row):
    return (tl.load(table + row) + row * 4).to(tl.pointer_type(tl.float32))

@triton.jit
def first(table, out):
    head = tl.load(table).to(tl.pointer_type(tl.int32))
    tl.store(out, tl.load(head + 1))
    tl.store(out + 1, tl.load(element(table, 1)).to(tl.int32, bitcast=True))

@triton.jit
def by_lane(table, out, known, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.arange(0, ROWS)
    base = tl.load(table + rows, mask=rows < known, other=0) + rows.to(tl.int64) * 4
    at = tl.arange(0, BLOCK)
    p = (base[:, None] + (at * 4)[None, :]).to(tl.pointer_type(tl.float32))
    tl.store(out + rows[:, None] * BLOCK + at[None, :], tl.load(p, mask=at[None, :] < 2, other=-1.0))

@triton.jit
def chosen(a, b, out, which):
    p = tl.where(which > 0, a.to(tl.int64), (b + 1).to(tl.int64)).to(tl.pointer_type(tl.float32))
    tl.store(out, tl.load(p + 1))
";

#[test]
fn a_program_takes_the_arrays_of_its_group_from_a_table() {
    let given = [
        ("ins.0", f32s([1.0, 2.0, 3.0, 4.0])),
        ("ins.1", f32s([5.0, 6.0, 7.0, 8.0])),
        ("ins.2", f32s([9.0, 10.0, 11.0, 12.0])),
        ("outs.0", f32s([0.5; 4])),
        ("outs.1", f32s([0.5; 4])),
        ("outs.2", f32s([0.5; 4])),
        ("lengths", Arg::Array(Scalar::I32, vec![4.0, 1.0, 2.0])),
        ("BLOCK", constant(4)),
    ];
    let found = launch(TEXT, "grouped", [3, 1, 1], &given);
    assert_eq!(found[3], [2.0, 4.0, 6.0, 8.0]);
    assert_eq!(found[4], [10.0, 0.5, 0.5, 0.5]);
    assert_eq!(found[5], [18.0, 20.0, 0.5, 0.5]);
}

#[test]
fn a_loop_goes_through_a_table() {
    let given = [
        ("table.0", f32s([1.0, 2.0])),
        ("table.1", f32s([10.0, 20.0])),
        ("table.2", f32s([100.0, 200.0])),
        ("out", f32s([0.0; 2])),
        ("n", Arg::Int(3)),
        ("BLOCK", constant(2)),
    ];
    assert_eq!(launch(TEXT, "looped", [1; 3], &given)[3], [111.0, 222.0]);
}

#[test]
fn a_table_is_given_to_functions_and_addresses_move_by_bytes() {
    let table = [("table.0", f32s([1.0, 2.0])), ("table.1", f32s([3.0, 4.0]))];
    let given = [table[0].clone(), table[1].clone(), ("out", Arg::Array(Scalar::I32, vec![0.0; 2]))];
    let bits = |x: f32| f64::from(x.to_bits());
    assert_eq!(launch(TEXT, "first", [1; 3], &given)[2], [bits(2.0), bits(4.0)]);
}

#[test]
fn each_lane_has_its_own_array_and_a_place_outside_of_the_mask_has_none() {
    let given = [
        ("table.0", f32s([1.0, 2.0, 3.0, 4.0, 5.0])),
        ("table.1", f32s([6.0, 7.0, 8.0, 9.0, 10.0])),
        ("out", f32s([0.0; 16])),
        ("known", Arg::Int(2)),
        ("ROWS", constant(4)),
        ("BLOCK", constant(4)),
    ];
    let found = launch(TEXT, "by_lane", [1; 3], &given);
    let none = [-1.0, -1.0];
    let rows = [[1.0, 2.0], [7.0, 8.0], none, none].map(|row| [row, none].concat());
    assert_eq!(found[2], rows.concat());
}

#[test]
fn a_choice_among_addresses_is_one_among_pointers() {
    let given = |which| {
        [("a", f32s([1.0, 2.0, 3.0])), ("b", f32s([4.0, 5.0, 6.0])), ("out", f32s([0.0])), ("which", Arg::Int(which))]
    };
    assert_eq!(launch(TEXT, "chosen", [1; 3], &given(7))[2], [2.0]);
    assert_eq!(launch(TEXT, "chosen", [1; 3], &given(-7))[2], [6.0]);
}

/// A line of a kernel of a table, a number and an array, and what is said about it.
const REFUSED: &[(&str, &str)] = &[
    ("tl.store(table + n, 1)", "`store` takes a pointer, not a table of addresses"),
    ("x = tl.load(tl.load(table + n))", "`load` takes a pointer, not an address (`i64`)"),
    ("x = tl.load(table + n).to(tl.int32)", "a pointer cannot become `i32`"),
    ("p = (table + n).to(tl.pointer_type(tl.float32))", "a table of addresses cannot become `pointer<fp32>`"),
    ("x = tl.load(table + n, mask=n > 0, other=7)", "what is loaded in the place of an address is 0"),
    ("x = tl.load(table + n) * 2", "an address (`i64`) cannot be computed with"),
    ("p = n.to(tl.pointer_type(tl.float32))", "an integer cannot become a pointer"),
];

#[test]
fn what_is_no_pointer_is_said() {
    for (line, expected) in REFUSED {
        let text = format!(
            "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(table, n, out):\n    {line}\n    tl.store(out, 1.0)\n"
        );
        let given = [("table.0", f32s([1.0])), ("table.1", f32s([1.0])), ("n", Arg::Int(3)), ("out", f32s([0.0]))];
        let Err((_, found)) = try_launch(&text, "k", [1; 3], &given, &Alone) else {
            panic!("`{line}` is let through");
        };
        assert_eq!(found[0].message, *expected, "{line}");
    }
}

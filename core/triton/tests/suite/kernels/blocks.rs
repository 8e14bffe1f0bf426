//! Pointers to blocks and descriptors of matrices: what accesses by them touch.

use super::run::{Arg, launch, try_launch};
use girih_ir::Scalar;
use girih_triton::Alone;

/// Runs a body on `z`, 4 rows of 8 numbers that count from 0, of which a descriptor `d` of blocks of 4 by 4 sees 3 rows of 7.
fn run(body: &str, scalar: Scalar) -> Vec<f64> {
    let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!(
        "import triton\nimport triton.language as tl\n@triton.jit\ndef k(z, n):\n    four = tl.arange(0, 4)\n    v = four[:, None] * 4 + four[None, :]\n    d = tl.make_tensor_descriptor(z, [3, 7], [8, 1], [4, 4])\n{lines}"
    );
    let numbers = Arg::Array(scalar, (0..32).map(f64::from).collect());
    launch(&text, "k", [1; 3], &[("z", numbers), ("n", Arg::Int(5))]).swap_remove(0)
}

/// What that array holds if an operation is done on the block at row 1 and column 4, whose values count from 0.
fn expected(operation: impl Fn(i32, i32) -> i32) -> Vec<f64> {
    let element = |at: i32| {
        let (row, column) = (at / 8 - 1, at % 8 - 4);
        let inside = (0..2).contains(&row) && (0..3).contains(&column);
        f64::from(if inside { operation(at, row * 4 + column) } else { at })
    };
    (0..32).map(element).collect()
}

#[test]
fn descriptors_have_atomic_operations() {
    for (name, operation) in [
        ("add", &(|a, b| a + b) as &dyn Fn(i32, i32) -> i32),
        ("min", &|a, b| a.min(b)),
        ("max", &|a, b| a.max(b)),
        ("and", &|a, b| a & b),
        ("or", &|a, b| a | b),
        ("xor", &|a, b| a ^ b),
    ] {
        assert_eq!(run(&format!("d.atomic_{name}([1, 4], v)"), Scalar::I32), expected(operation), "{name}");
    }
    assert_eq!(run("d.atomic_add([n - 4, 4], v)", Scalar::F32), expected(|a, b| a + b), "floats");
    assert_eq!(run("d.atomic_max([n - 4, 4], v * 3)", Scalar::F32), expected(|a, b| a.max(3 * b)), "floats");
}

#[test]
fn rows_are_gathered_and_scattered() {
    let head = "r = tl.make_tensor_descriptor(z, [3, 7], [8, 1], [1, 4])\nrows = (four + 2) % 4\n";
    let found =
        run(&format!("{head}t = r.gather(rows, 4)\ntl.store(z + four[:, None] * 8 + four[None, :], t)"), Scalar::I32);
    // The fourth row is outside, and so is the eighth column.
    let row = |from: usize| (4..8).map(move |c| if from < 3 && c < 7 { (from * 8 + c) as f64 } else { 0.0 });
    for (to, from) in [2, 3, 0, 1].into_iter().enumerate() {
        assert!(found[to * 8..to * 8 + 4].iter().copied().eq(row(from)), "row {to}: {found:?}");
    }
    let found = run(&format!("{head}r.scatter(v + 100, rows, 4)"), Scalar::I32);
    let mut expected: Vec<f64> = (0..32).map(f64::from).collect();
    for (from, to) in [2usize, 3, 0, 1].into_iter().enumerate().filter(|(_, to)| *to < 3) {
        for column in 0..3 {
            expected[to * 8 + 4 + column] = (100 + from * 4 + column) as f64;
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn wrong_accesses_by_descriptors_are_said() {
    for (access, place, message) in [
        ("d.atomic_add([0], 1)", "[0]", "there is one offset for each dimension of the block: 2, not 1"),
        ("tl.load(d)", "d", "`tl.load` takes a pointer, and this is a descriptor"),
        ("tl.store(d, 1)", "d", "`tl.store` takes a pointer, and this is a descriptor"),
    ] {
        let text = format!(
            "import triton\nimport triton.language as tl\n@triton.jit\ndef k(z):\n    d = tl.make_tensor_descriptor(z, [3, 7], [8, 1], [4, 4])\n    {access}\n"
        );
        let arguments = [("z", Arg::Array(Scalar::I32, vec![0.0; 32]))];
        let Err((sources, found)) = try_launch(&text, "k", [1; 3], &arguments, &Alone) else {
            panic!("it is let through: {access}");
        };
        assert_eq!((sources.snippet(found[0].span()), found[0].message.as_str()), (place, message));
    }
}

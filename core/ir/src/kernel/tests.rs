//! What kernels come to as text, and what is said of mistakes.

use super::{Literal, Mask, Product, TileKernel};
use crate::attrs::{Attr, Dim, Precision, Update};
use crate::{Scalar, text};

#[test]
fn a_row_is_normalised() {
    let k = TileKernel::new("softmax", 4);
    let (out, input) = (k.buffer("out", Scalar::F32), k.buffer("input", Scalar::F32));
    let columns = k.number("columns", Scalar::I32);
    let column = k.iota(128);
    let (at, inside) = (k.program(Dim::X) * columns + column, column.lt(columns));
    let row = input.load_or(at, inside, k.constant(Scalar::F32, f64::NEG_INFINITY));
    let powers = (row - row.greatest(0)).exp();
    out.store(at, powers / powers.sum(0), inside);
    insta::assert_snapshot!(text::print(&k.into_module().expect("it is right")));
}

#[test]
fn every_operation_on_tiles_can_be_written() {
    let k = TileKernel::new("all", 1);
    let words = k.buffer("words", Scalar::I32);
    let n = k.number("n", Scalar::I32);
    let row = k.iota(16);
    let square = row.expand(1) * 16 + row;
    let loaded = words.load(square, square.lt(n)).hint(&[Attr::Multiple(vec![1, 1])]);
    let moved = loaded.transpose().reshape(&[4, 64]).permute(&[1, 0]).reshape(&[16, 16]);
    let [first, second] = moved.join(loaded).split();
    let both = first.cat(second).reshape(&[2, 16, 16]).sum(0);
    let picked = both.gather(0, square & 15);
    let counted = row.histogram(16, Mask::ALL);
    let factor = picked.to(Scalar::F32);
    let product = factor.dot(factor, None, Product { sum: Scalar::F32, precision: Some(Precision::Tf32) });
    let mapped = k.map(&[product], |p| vec![p[0].to(Scalar::I32), -p[0]]);
    let summed = mapped[0].scan(1, true, |a, b| a + b) + counted;
    let turned = k.for_range([n - n, n, k.constant(Scalar::I32, 2)], &[summed], |i, carried| vec![carried[0] + i]);
    let chosen = k.if_else(n.gt(3), || vec![turned[0]], || vec![k.zeros(&[16, 16], Scalar::I32)]);
    let halved = k.while_loop(&[n], |p| p[0].gt(10), |p| vec![p[0] / 2]);
    k.assume(n.ge(0));
    k.assert(square.ge(0), "an index is negative");
    k.print("halved", &halved);
    words.update(Update::Add, square, chosen[0], square.lt(n));
    words.compare_exchange(square, k.full(&[16, 16], n), square);
    words.store(square, k.full(&[16, 16], halved[0]), Mask::ALL);
    insta::assert_snapshot!(text::print(&k.into_module().unwrap_or_else(|errors| panic!("{}", errors[0].message))));
}

/// What is said of a kernel, without where in Rust.
fn wrong(write: impl FnOnce(&TileKernel)) -> String {
    let k = TileKernel::new("wrong", 4);
    write(&k);
    let error = k.finish().expect_err("it is wrong");
    let (place, message) = error.message.split_once(": ").expect("it has a place");
    assert!(place.starts_with(file!()), "{place}");
    message.to_owned()
}

#[test]
fn the_first_mistake_is_said() {
    let said = [
        wrong(|k| _ = k.iota(100)),
        wrong(|k| _ = k.iota(64) + k.iota(32)),
        wrong(|k| _ = k.iota(64) + k.iota(64).to(Scalar::F32)),
        wrong(|k| _ = k.iota(64) + 0.5),
        wrong(|k| _ = k.iota(64).exp()),
        wrong(|k| _ = k.iota(64) << (1_i64 << 40)),
        wrong(|k| _ = k.iota(64).sum(1)),
        wrong(|k| _ = k.iota(64).reshape(&[8, 4])),
        wrong(|k| _ = k.iota(64).broadcast_to(&[64, 4])),
        wrong(|k| _ = k.iota(64).permute(&[1])),
        wrong(|k| _ = k.iota(64).transpose()),
        wrong(|k| _ = k.iota(64).split()),
        wrong(|k| {
            _ = k.zeros(&[4, 8], Scalar::F16).dot(
                k.zeros(&[4, 8], Scalar::F16),
                None,
                Product { sum: Scalar::F32, precision: None },
            )
        }),
        wrong(|k| k.buffer("x", Scalar::F32).store(k.iota(4), k.iota(4), Mask::ALL)),
        wrong(|k| _ = k.buffer("x", Scalar::F32).load(k.zeros(&[4], Scalar::F32), Mask::ALL)),
        wrong(|k| _ = k.buffer("x", Scalar::F32).load(k.iota(4), k.iota(4))),
        wrong(|k| _ = k.if_else(k.iota(4).lt(2), Vec::new, Vec::new)),
        wrong(|k| _ = k.while_loop(&[k.number("n", Scalar::I32)], |p| p[0].gt(0), |_| vec![])),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn literals_are_numbers_of_a_type_or_none() {
    assert_eq!(Literal::from(-1).bits(Scalar::I8), Some(0xff));
    assert_eq!(Literal::from(-1).bits(Scalar::U8), None);
    assert_eq!(Literal::from(3).bits(Scalar::F32), Some(3.0_f32.to_bits().into()));
    assert_eq!(Literal::from(0.1).bits(Scalar::F32), Some(0.1_f32.to_bits().into()));
    assert_eq!(Literal::from(0.5).bits(Scalar::I32), None);
    assert_eq!(Literal::from(true).bits(Scalar::Bool), Some(1));
    assert_eq!(Literal::from(1).bits(Scalar::Bool), None);
}

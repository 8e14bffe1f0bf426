//! What kernels come to as text, and what is said of mistakes.

use girih_ir::attrs::{Attr, Dim, Order, Precision, Scope, Update};
use girih_ir::kernel::{Block, Literal, Mask, Product, TileKernel};
use girih_ir::{Op, Scalar, text};

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

#[test]
fn blocks_of_another_kernel_are_a_mistake() {
    let other = TileKernel::new("other", 4);
    // More values than the first kernel has: an index of one is none of the other.
    (0..20).for_each(|n| _ = other.iota(64) + n);
    let (tile, number) = (other.iota(64) + 1, other.number("m", Scalar::I32));
    let said = [
        wrong(|k| _ = k.iota(64) + tile),
        wrong(|k| _ = k.iota(64).select(tile, tile)),
        wrong(|k| _ = Block::apply(Op::Add, &[k.iota(64), tile])),
        wrong(|k| _ = k.buffer("x", Scalar::I32).load(tile, Mask::ALL)),
        wrong(|k| _ = k.buffer("x", Scalar::I32).load(k.iota(64), tile.lt(1))),
        wrong(|k| _ = k.buffer("x", Scalar::I32).load_or(k.iota(64), Mask::ALL, number)),
        wrong(|k| k.buffer("x", Scalar::I32).store(k.iota(64), tile, Mask::ALL)),
        wrong(|k| _ = k.buffer("x", Scalar::I32).compare_exchange(k.iota(64), number, number)),
        wrong(|k| _ = k.full(&[4], number)),
        wrong(|k| _ = k.iota(64).join(tile)),
        wrong(|k| _ = k.iota(64).gather(0, tile)),
        wrong(|k| _ = k.map(&[tile], <[Block<'_>]>::to_vec)),
        wrong(|k| _ = k.iota(64).reduce(0, |_, _| number)),
        wrong(|k| _ = k.for_range([k.constant(Scalar::I32, 0), number, number], &[], |_, _| vec![])),
        wrong(|k| _ = k.while_loop(&[number], |p| p[0].gt(0), |p| p.to_vec())),
        wrong(|k| _ = k.while_loop(&[], |_| number.gt(0), |_| vec![])),
        wrong(|k| _ = k.if_else(number.gt(0), Vec::new, Vec::new)),
        wrong(|k| _ = k.branch(k.constant(Scalar::Bool, true), |_| vec![number])),
        wrong(|k| k.assume(number.gt(0))),
        wrong(|k| k.print("m", &[number])),
    ];
    for said in said {
        assert!(said.ends_with("of the kernel `other` is used in the kernel `wrong`"), "{said}");
    }
    assert!(other.finish().is_ok());
}

#[test]
fn operations_that_give_no_element_and_second_names_are_mistakes() {
    let said = [
        wrong(|k| _ = Block::apply(Op::Store, &[k.iota(64), k.iota(64), k.iota(64)])),
        wrong(|k| _ = Block::apply(Op::Yield, &[k.iota(64)])),
        wrong(|k| _ = Block::apply(Op::TileSplit, &[k.iota(64)])),
        wrong(|k| _ = (k.buffer("x", Scalar::F32), k.number("x", Scalar::F32))),
        wrong(|k| _ = (k.number("n", Scalar::I32), k.buffer("n", Scalar::F32))),
        wrong(|k| _ = k.iota(64).lt(3).sum(0)),
    ];
    assert_eq!(
        said,
        [
            "`store` does not give one element for those of its operands",
            "`yield` does not give one element for those of its operands",
            "`tile.split` does not give one element for those of its operands",
            "a second parameter is called `x`",
            "a second parameter is called `n`",
            "`add` does not take `bool`, `bool`",
        ]
    );
}

#[test]
fn what_only_the_rules_find_has_its_line_of_rust() {
    let k = TileKernel::new("scopes", 4);
    let (x, n) = (k.buffer("x", Scalar::I32), k.number("n", Scalar::I32));
    let mut inner = None;
    k.if_else(
        n.gt(0),
        || {
            inner = Some(n + 1);
            vec![]
        },
        Vec::new,
    );
    let line = line!() + 1;
    x.store(k.iota(4), k.full(&[4], inner.expect("the arm is written")), Mask::ALL);
    let errors = k.into_module().expect_err("the value is gone");
    assert!(errors[0].message.starts_with(&format!("{}:{line}: ", file!())), "{errors}");
    let k = TileKernel::new("shapes", 4);
    let line = line!() + 1;
    let counted = k.zeros(&[4, 4], Scalar::I32).histogram(16, Mask::ALL);
    k.buffer("x", Scalar::I32).store(k.iota(16), counted, Mask::ALL);
    let errors = k.into_module().expect_err("it has one dimension");
    assert!(errors[0].message.starts_with(&format!("{}:{line}: ", file!())), "{errors}");
    assert!(errors.iter().all(|error| error.labels.is_empty()));
}

#[test]
fn accesses_can_be_ordered() {
    let k = TileKernel::new("lock", 4);
    let (x, zero) = (k.buffer("x", Scalar::I32), k.constant(Scalar::I32, 0));
    let seen = x.load_volatile(zero, Mask::ALL);
    x.compare_exchange_ordered(zero, seen, seen + 1, (Order::Acquire, Scope::Device));
    x.update_ordered(Update::Add, zero, seen, Mask::ALL, (Order::Release, Scope::Workgroup));
    let text = text::print(&k.into_module().unwrap_or_else(|errors| panic!("{errors}")));
    for attrs in ["volatile", "acquire", "release", "workgroup"] {
        assert!(text.contains(attrs), "{text}");
    }
}

//! Mistakes: the message has the caller's line and all shapes, and nothing panics before.

use crate::devices::cpu;
use girih_nn::{Diagnostic, Tensor, compile, concat};

/// The message of a tensor that is a mistake, with its line as the difference to another.
fn message(tensor: &Tensor, line: u32) -> String {
    let error = tensor.to_vec::<f32>().expect_err("it is a mistake");
    shown(&error, line)
}
fn shown(error: &Diagnostic, line: u32) -> String {
    let place = format!("{}:{line}: ", file!());
    let Some(sentence) = error.message.strip_prefix(&place) else { panic!("{} is not at {place}", error.message) };
    format!("{}: {sentence}", error.code)
}

#[test]
#[rustfmt::skip]
fn mistakes_have_both_shapes_and_the_callers_line() {
    let device = cpu();
    let (x, y) = (device.zeros([2, 3]), device.zeros([4, 5]));
    let pictures = device.zeros([1, 3, 8, 8]);
    let all = [
        message(&(&x + &y), line!()),
        message(&x.matmul(&y), line!()),
        message(&x.reshape([7]), line!()),
        message(&x.sum([2]), line!()),
        message(&x.softmax(-3), line!()),
        message(&x.narrow(1, 2, 9), line!()),
        message(&x.index_select(0, &y), line!()),
        message(&x.broadcast_to([5, 3]), line!()),
        message(&x.unsqueeze(4), line!()),
        message(&pictures.conv2d(&y, [1, 1], [0, 0], [1, 1], 1), line!()),
        message(&pictures.max_pool2d([2, 2], [2, 2], [2, 2]), line!()),
        message(&concat(&[&x, &y], 0).expect("there are two"), line!()),
        message(&x.select(&x, &y), line!()),
        message(&device.tensor(&[1.0_f32, 2.0], [3]), line!()),
        message(&device.tensor(&[1, 2], [2]).exp(), line!()),
        message(&x.grad(&[&x])[0], line!()),
        message(&x.sum_all().grad(&[&device.tensor(&[1], [1])])[0], line!()),
        message(&(&x + &cpu().zeros([2, 3])), line!()),
        shown(&x.to_vec::<i32>().expect_err("they are floats"), line!()),
        shown(&device.tensor(&[1.0_f64], [1]).exp().to_vec::<f64>().expect_err("kernels lack it"), line!()),
        shown(&x.item::<f32>().expect_err("there are several"), line!()),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

/// The mistake is that of the first operation, wherever its result goes.
#[test]
fn a_mistake_goes_on() {
    let device = cpu();
    let wrong = device.zeros([2]) + device.zeros([3]);
    let line = line!() - 1;
    let later = (wrong.relu() * 2.0).matmul(&device.zeros([3, 3])).sum_all();
    assert_eq!(message(&later, line), message(&wrong, line));
    assert_eq!(message(&later.grad(&[&wrong])[0], line), message(&wrong, line));
    let function = compile(|x: &[Tensor]| vec![&x[0] + &wrong]);
    let error = function.call(&[&device.zeros([2])]).expect_err("it is a mistake");
    assert_eq!(shown(&error, line), message(&wrong, line));
    assert_eq!(wrong.shape(), [0]);
}

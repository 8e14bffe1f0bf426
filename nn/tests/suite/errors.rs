//! Mistakes: the message has the caller's line and all shapes, and nothing panics before.

use crate::devices::cpu;
use girih_ir::Scalar;
use girih_nn::nn::Parameter;
use girih_nn::{Diagnostic, Random, Tensor, compile, concat, loss};

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
        message(&loss::mean_squared(&x, &y), line!()),
        message(&loss::mean_squared(&device.zeros([2, 1]), &device.zeros([2])), line!()),
        message(&loss::binary_cross_entropy(&device.zeros([2, 1]), &device.zeros([2])), line!()),
        message(&loss::cross_entropy(&x, &device.tensor(&[1, 2], [2, 1])), line!()),
        message(&loss::cross_entropy(&x, &device.zeros([2])), line!()),
        message(&device.tensor(&[1, 2], [2]).clamp(0.5, 2.5), line!()),
        message(&device.tensor(&[1, 2], [2]).pad([1], [0], 0.5), line!()),
        message(&(device.tensor(&[1_u8, 2], [2]) + 256), line!()),
        message(&Random::new(&device, 1).uniform([u64::MAX, 2], 0.0, 1.0), line!()),
        message(&device.zeros([u64::MAX, 2]).flatten(0), line!()),
        message(&device.zeros([3]).tril(), line!()),
        message(&x.squeeze(0), line!()),
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

/// A class that does not exist is a loss that is no number, not a smaller one.
#[test]
fn a_class_that_does_not_exist_is_seen() {
    let device = cpu();
    let lost = |class: i32| {
        let loss = loss::cross_entropy(&device.zeros([2, 3]), &device.tensor(&[0, class], [2]));
        loss.item::<f32>().expect("a number")
    };
    assert!((lost(2) - 3.0_f32.ln()).abs() < 1e-6);
    assert!(lost(3).is_nan() && lost(-1).is_nan());
}

#[test]
fn a_compiled_function_has_one_device_and_changes_nothing() {
    let (device, other) = (cpu(), cpu());
    let sum = compile(|x: &[Tensor]| vec![&x[0] + &x[1]]);
    let (x, y) = (device.ones([2]), other.ones([2]));
    sum.call(&[&x, &x]).expect("one device");
    let error = sum.call(&[&x, &y]).expect_err("two devices");
    let why = "a compiled function needs arguments of one device, and is given tensors of several";
    assert!(error.message.ends_with(why) && error.message.contains("errors.rs"), "{}", error.message);
    sum.call(&[&y, &y]).expect("the other device");
    sum.call(&[&x, &x]).expect("the first device");
    assert_eq!(sum.traces(), 2, "one for each device");
    let parameter = Parameter::new(device.zeros([2]));
    let changing = compile(|x: &[Tensor]| {
        parameter.set(&parameter.get() + &x[0]);
        vec![parameter.get()]
    });
    let error = changing.call(&[&x]).expect_err("it would change once");
    assert_eq!(error.message, "a compiled function changes a parameter, which only its first call would do");
    assert_eq!(device.arange(3, Scalar::I32).to_vec::<i32>().expect("the device still works"), [0, 1, 2]);
}

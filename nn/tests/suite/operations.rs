//! The methods of tensors, each against the oracle.

use crate::devices::{check, cpu, machine, wgpu};
use girih_ir::Scalar;
use girih_nn::{Device, Random, Tensor, compile, concat, stack};

/// A method without operands.
type Function = fn(&Tensor) -> Tensor;

/// Each method with operands that it takes.
#[rustfmt::skip]
fn all(device: &Device) -> Vec<(&'static str, Tensor)> {
    let random = Random::new(device, 5);
    let input = |shape: &[u64]| random.uniform(shape, -2.0, 2.0).detach().expect("numbers");
    let (x, y, row, column) = (input(&[3, 5]), input(&[3, 5]), input(&[5]), input(&[3, 1]));
    let positive = x.abs().detach().expect("numbers") + 0.5;
    let integers = device.tensor(&[7, -3, 2, 0], [4]);
    let positions = device.tensor(&[2_i64, 0, 1, 2], [4]);
    let at = device.tensor(&[0_i32, 2, 4], [3, 1]);
    let (pictures, weights, grouped) = (input(&[2, 4, 7, 6]), input(&[6, 4, 3, 3]), input(&[4, 2, 3, 3]));
    let truths = device.truths(&[true, false, true, true, false], [5]);
    let mut all = vec![
        ("add", &x + &row), ("sub", &column - &row), ("mul", x.clone() * &y), ("div", &x / &positive),
        ("number on the right", &x * 2.0 + 1), ("number on the left", 1.0 - &x), ("integers and a float", &integers * 0.5),
        ("integers", &integers / 2 + 3), ("neg", -&x), ("pow", positive.pow(1.5)), ("maximum", x.maximum(&row)),
        ("minimum", x.minimum(0.25)), ("modulo", integers.modulo(2)), ("clamp", x.clamp(-0.5, 0.75)),
        ("select", x.gt(&row).select(&x, 0.0)), ("select of numbers", x.lt(0.0).select(1.0, 2.0)),
        ("comparison", x.ge(&y).and(x.ne(0.0)).or(&truths)), ("converted", x.to(Scalar::I32)), ("truths", integers.to(Scalar::Bool)),
        ("sum", x.sum([0])), ("sum of all", x.sum_all()), ("mean", x.mean([-1])), ("prod", row.prod([0])), ("max", x.max([1])),
        ("min", x.min([0, 1])), ("var", x.var([1])), ("logsumexp", x.logsumexp([1])), ("any", truths.any([0])), ("all", truths.all([0])),
        ("softmax", x.softmax(-1)), ("log_softmax", x.log_softmax(0)), ("cumsum", x.cumsum(1)), ("normalise", x.normalise([1], 1e-5)),
        ("argmax", x.argmax(1)), ("argmin", x.argmin(0)), ("reshape", x.reshape([5, 3])), ("flatten", pictures.flatten(1)),
        ("unsqueeze", &x.unsqueeze(-1) + &row), ("broadcast", row.broadcast_to([2, 3, 5])), ("permute", pictures.permute([0, 2, 3, 1])),
        ("transpose", x.transpose(0, -1)), ("narrow", x.narrow(1, 1, 4)), ("slice", pictures.slice([0, 1, 0, 1], [2, 4, 7, 6], [1, 2, 3, 1])),
        ("pad", x.pad([1, 0], [0, 2], 3.0)), ("flip", x.flip([1])), ("index_select", x.index_select(0, &positions)), ("gather", x.gather(1, &at)),
        ("concat", concat(&[&x, &y.narrow(0, 0, 1)], 0).expect("there are some")), ("matmul", x.matmul(&y.transpose(0, 1))),
        ("row by matrix", row.matmul(&y.transpose(0, 1))), ("matrix by column", x.matmul(&row)), ("row by column", row.matmul(&row)),
        ("batches", input(&[2, 1, 3, 4]).matmul(&input(&[5, 4, 2]))),
        ("conv2d", pictures.conv2d(&weights, [2, 1], [1, 0], [1, 2], 1)), ("grouped conv2d", pictures.conv2d(&grouped, [1, 1], [1, 1], [1, 1], 2)),
        ("max_pool2d", pictures.max_pool2d([2, 3], [2, 2], [1, 1])), ("avg_pool2d", pictures.avg_pool2d([2, 2], [2, 2], [0, 1])),
        ("uniform", Random::new(device, 3).uniform([9], -1.0, 3.0)), ("normal", Random::new(device, 3).normal([9], 2.0, 0.5)),
        ("squeeze", column.squeeze(-1)), ("stack", stack(&[&x, &y], 1).expect("there are some")), ("split", x.split(1, 2).remove(2)),
        ("scatter_add", x.scatter_add(1, &at, &column)), ("masked_fill", x.masked_fill(&x.gt(0.0), 3.0)), ("one_hot", at.one_hot(5)), ("tril", x.tril()),
        ("std", x.std([1])), ("norm", x.norm()), ("sum of truths", truths.sum_all()), ("prod of integers", integers.prod([0])),
        ("atan2", x.atan2(&y)), ("not", truths.not()), ("number of 64 bits on the left", 2_i64 * &integers), ("categorical", Random::new(device, 3).categorical(&x)),
        ("full", device.full(2.5, [3])), ("arange", device.arange(6, Scalar::I64)),
    ];
    let functions: [(&'static str, Function); 32] = [
        ("erfc", Tensor::erfc), ("expm1", Tensor::expm1), ("log1p", Tensor::log1p), ("exp2", Tensor::exp2), ("sinh", Tensor::sinh), ("cosh", Tensor::cosh),
        ("asin", Tensor::asin), ("acos", Tensor::acos), ("atan", Tensor::atan),
        ("abs", Tensor::abs), ("floor", Tensor::floor), ("ceil", Tensor::ceil), ("round", Tensor::round), ("trunc", Tensor::trunc), ("exp", Tensor::exp),
        ("sin", Tensor::sin), ("cos", Tensor::cos), ("tan", Tensor::tan), ("tanh", Tensor::tanh), ("sign", Tensor::sign), ("square", Tensor::square),
        ("reciprocal", Tensor::reciprocal), ("erf", Tensor::erf), ("sigmoid", Tensor::sigmoid), ("relu", Tensor::relu), ("silu", Tensor::silu),
        ("gelu", Tensor::gelu), ("softplus", Tensor::softplus), ("is_nan", Tensor::is_nan), ("sqrt", Tensor::sqrt), ("log", Tensor::log), ("rsqrt", Tensor::rsqrt),
    ];
    all.extend(functions.iter().map(|(name, function)| (*name, function(&x))));
    all
}

fn methods(device: &Device) {
    for (name, tensor) in all(device) {
        check(name, &tensor);
    }
}

#[test]
fn methods_on_the_reference_machine() {
    methods(&machine());
}
#[test]
fn methods_on_the_processor() {
    methods(&cpu());
}
#[test]
fn methods_on_wgpu() {
    if let Some(device) = wgpu() {
        methods(&device);
    }
}

#[test]
fn a_graph_is_compiled_once_for_each_shape() {
    let device = cpu();
    let compute = |x: &[f32]| (device.tensor(x, [x.len() as u64]) * device.scalar(2.0_f32)).exp().to_vec::<f32>();
    for round in 0..3 {
        assert_eq!(compute(&[round as f32 * 0.0, 0.0]).expect("it is computed"), [1.0, 1.0]);
    }
    assert_eq!(device.compiled_graphs(), 1);
    assert_eq!(compute(&[0.0; 3]).expect("it is computed"), [1.0; 3]);
    assert_eq!(device.compiled_graphs(), 2);
}

/// Numbers that change from graph to graph do not fill the memory.
#[test]
fn a_device_keeps_the_graphs_that_were_used_last() {
    let device = cpu();
    let x = device.tensor(&[1.0_f32, 2.0], [2]);
    let double = |x: &Tensor| (x * 2.0).sum_all().item::<f32>().expect("a number");
    for number in 0..600 {
        let sum = (&x * (number + 3) as f32).sum_all().item::<f32>().expect("a number");
        assert_eq!(sum, 3.0 * (number + 3) as f32);
        assert_eq!(double(&x), 6.0);
    }
    assert_eq!((device.compiled_graphs(), device.kept_graphs()), (601, 512), "what is used often stays");
}

#[test]
fn sums_of_short_integers_and_truths_do_not_wrap() {
    let device = cpu();
    let bytes = device.tensor(&[200_u8; 10], [10]);
    assert_eq!(bytes.sum_all().item::<i64>().expect("a number"), 2000);
    assert_eq!(bytes.gt(100).sum([0]).item::<i64>().expect("a number"), 10);
    assert_eq!(bytes.cumsum(0).to_vec::<i64>().expect("numbers")[9], 2000);
}

#[test]
fn a_compiled_function_is_traced_once_for_each_shape() {
    let device = cpu();
    let calls = std::cell::Cell::new(0);
    let captured = device.tensor(&[10.0_f32], [1]);
    let function = compile(|x: &[Tensor]| {
        calls.set(calls.get() + 1);
        vec![&x[0] + &captured, x[0].sum_all(), x[0].clone()]
    });
    for x in [[1.0_f32, 2.0], [3.0, 4.0]] {
        let results = function.call(&[&device.tensor(&x, [2])]).expect("it is computed");
        assert_eq!(results[0].to_vec::<f32>().expect("numbers"), x.map(|x| x + 10.0));
        assert_eq!(results[1].item::<f32>().expect("a number"), x[0] + x[1]);
        assert_eq!(results[2].to_vec::<f32>().expect("numbers"), x);
    }
    assert_eq!(calls.get(), 1);
    function.call(&[&device.tensor(&[1.0_f32; 3], [3])]).expect("it is computed");
    assert_eq!((calls.get(), function.traces()), (2, 2));
}

#[test]
fn tensors_without_elements_and_one_that_is_given_are_read() {
    let device = cpu();
    assert_eq!(device.zeros([0, 3]).to_vec::<f32>().expect("nothing"), [] as [f32; 0]);
    assert_eq!((device.zeros([0, 3]) + 1.0).to_vec::<f32>().expect("nothing"), [] as [f32; 0]);
    assert_eq!(device.tensor(&[1_u8, 2, 3], [3]).to_vec::<u8>().expect("bytes"), [1, 2, 3]);
    let half = half::f16::from_f32(0.5);
    assert_eq!(
        (device.tensor(&[half; 3], [3]) + 1.0).to_vec::<half::f16>().expect("halves"),
        [half::f16::from_f32(1.5); 3]
    );
}

/// Runs of one plan by several threads each give what they should.
#[test]
fn threads_share_a_device() {
    let device = cpu();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let device = &device;
            scope.spawn(move || {
                for step in 0..20 {
                    let x = device.tensor(&[(number * 20 + step) as f32; 64], [8, 8]);
                    let y = x.matmul(&x).matmul(&x).sum_all().item::<f32>().expect("a number");
                    let wanted = 64.0 * 64.0 * ((number * 20 + step) as f32).powi(3);
                    assert!((y - wanted).abs() <= 1e-5 * wanted, "{y} is not {wanted}");
                }
            });
        }
    });
}

#[test]
fn a_computation_of_many_steps_is_freed() {
    let device = cpu();
    let mut x = device.tensor(&[1.0_f32], [1]);
    for _ in 0..200_000 {
        x = -x;
    }
    drop(x);
}

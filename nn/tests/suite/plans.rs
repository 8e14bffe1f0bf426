//! Graphs that are run on memory of the caller's.

use crate::devices::{cpu, machine, wgpu};
use girih_ir::Scalar;
use girih_nn::Device;
use girih_nn::graph::{Graph, Op, Plan};
use girih_runtime::{Buffer, Memory};

/// A graph of x that gives x, 2x twice, and the truth of x = 0.
fn graph() -> Graph {
    let mut graph = Graph::new();
    let x = graph.input(Scalar::F32, &[5]).expect("an input");
    let [one, other] = [0, 1].map(|_| graph.op(Op::Add, &[x, x]).expect("a sum"));
    let zero = graph.number(x, 0.0).expect("a number");
    let truth = graph.op(Op::Eq, &[x, zero]).expect("a comparison");
    graph.outputs = vec![x, one, other, truth];
    graph
}

fn floats(device: &Device, buffer: &Buffer) -> Vec<f32> {
    let mut bytes = vec![0; 20];
    device.runtime().read(buffer, 0, &mut bytes).expect("it is read");
    bytemuck::pod_collect_to_vec(&bytes)
}

fn check(device: &Device) {
    let plan = Plan::of(device, &graph()).expect("it becomes kernels");
    assert_eq!((plan.inputs(), plan.launches()), (1, 2));
    let numbers = [1.0_f32, 0.0, -2.5, 3.0, 0.0];
    let x = device.runtime().upload(bytemuck::cast_slice(&numbers)).expect("it is written");
    let room = |bytes: u64| device.runtime().allocate(Memory::of(bytes)).expect("there is memory");
    let outputs = [20, 20, 20, 8].map(room);
    plan.run_into(device, std::slice::from_ref(&x), &outputs).expect("it runs");
    let doubled = numbers.map(|number| number * 2.0);
    assert_eq!(
        outputs[..3].iter().map(|buffer| floats(device, buffer)).collect::<Vec<_>>(),
        [numbers, doubled, doubled]
    );
    let mut truths = [9; 8];
    device.runtime().read(&outputs[3], 0, &mut truths).expect("it is read");
    assert_eq!(truths[..5], [0, 1, 0, 0, 1]);
}

#[test]
fn outputs_go_where_the_caller_says() {
    [Some(machine()), Some(cpu()), wgpu()].iter().flatten().for_each(check);
}

#[test]
fn memory_that_does_not_fit_is_refused() {
    let device = cpu();
    let plan = Plan::of(&device, &graph()).expect("it becomes kernels");
    let room = |bytes: u64| device.runtime().allocate(Memory::of(bytes)).expect("there is memory");
    let refused = |inputs: &[Buffer], outputs: &[Buffer]| {
        plan.run_into(&device, inputs, outputs).expect_err("it does not fit").message
    };
    let x = [room(20)];
    assert_eq!(refused(&x, &[room(20)]), "memory of 1 outputs is given, and the graph has 4");
    assert_eq!(refused(&x, &[20, 20, 20, 4].map(room)), "memory of 4 bytes is given for an output of 8");
    assert_eq!(refused(&[], &[20, 20, 20, 8].map(room)), "0 inputs are given, and the graph has 1");
}

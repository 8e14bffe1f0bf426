//! Kernels of graphs on devices, compared with the oracle: each row of the table, and random graphs, fused and one operation at a time.

use crate::random;
use crate::samples::{Dice, sample};
use girih_ir::{Scalar, eval};
use girih_machine::interp::{Interpreter, Options};
use girih_runtime::{Argument, Command, Device, Dispatch, Grid, LoadOptions, Memory};
use girih_tensor::lower::{Lowered, Place, lower, lower_for, stored};
use girih_tensor::schedule::Fusion;
use girih_tensor::{Data, Graph, NodeId, Number, Op, TensorType, differentiate, interpret, text};

/// The bytes of elements.
fn bytes(data: &Data, ty: &TensorType) -> Vec<u8> {
    let element = stored(ty.element);
    let bits = |number: Number| match number {
        Number::Float(x) => eval::narrow(x, element),
        Number::Int(n) => n as u64 & element.mask(),
    };
    let size = element.bytes() as usize;
    let mut bytes: Vec<u8> = (0..data.len()).flat_map(|at| bits(data.get(at)).to_le_bytes()[..size].to_vec()).collect();
    bytes.resize(bytes.len().next_multiple_of(4).max(4), 0);
    bytes
}

/// The elements of bytes.
fn data(bytes: &[u8], ty: &TensorType) -> Data {
    let element = stored(ty.element);
    let number = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let bits = u64::from_le_bytes(word);
        if element.is_float() {
            Number::Float(eval::widen(bits, element))
        } else {
            Number::Int(eval::int_value(bits, element))
        }
    };
    let chunks = bytes.chunks_exact(element.bytes() as usize).take(ty.shape.elements() as usize);
    Data::of(ty.element, chunks.map(number))
}

/// Runs kernels on a device.
pub fn run(device: &Device, lowered: &Lowered, inputs: &[Data]) -> Vec<Data> {
    let kernels: Vec<_> = lowered.launches.iter().map(|launch| launch.kernel).collect();
    let programs = device
        .load(&lowered.module, &kernels, &LoadOptions::default())
        .unwrap_or_else(|found| panic!("{found:#?}\n{}", girih_ir::text::print(&lowered.module)));
    let buffer = |bytes: &[u8]| {
        let buffer = device.zeroed(Memory::of(bytes.len() as u64)).expect("memory");
        device.write(&buffer, 0, bytes).expect("it is written");
        buffer
    };
    let given: Vec<_> = inputs.iter().zip(&lowered.inputs).map(|(data, ty)| buffer(&bytes(data, ty))).collect();
    // What is not written must not be read: old values would be found.
    let slots: Vec<_> = lowered.slots.iter().map(|size| buffer(&vec![0x7b; *size as usize])).collect();
    let place = |place: &Place| match place {
        Place::Input(i) => given[*i].clone(),
        Place::Slot(i) => slots[*i].clone(),
    };
    let commands: Vec<Command> = lowered
        .launches
        .iter()
        .zip(programs)
        .map(|(launch, program)| {
            let arguments = launch.arguments.iter().map(|at| Argument::Buffer(place(at))).collect();
            Command::Dispatch(Dispatch { program, arguments, grid: Grid::Workgroups(launch.grid) })
        })
        .collect();
    device.submit(&commands).unwrap_or_else(|error| panic!("{}", error.message));
    let read = |(at, ty): &(Place, TensorType)| {
        let mut bytes = vec![0; place(at).bytes() as usize];
        device.read(&place(at), 0, &mut bytes).expect("it is read");
        data(&bytes, ty)
    };
    lowered.outputs.iter().map(read).collect()
}

/// How far floats may be from the oracle's.
fn bound(element: Scalar) -> f64 {
    match element {
        Scalar::F64 => 1e-11,
        Scalar::F16 => 2e-2,
        Scalar::Bf16 => 1e-1,
        _float_of_32_bits => 1e-4,
    }
}

pub fn compare(name: &str, graph: &Graph, found: &[Data], expected: &[Data]) {
    for (i, output) in graph.outputs.iter().enumerate() {
        let bound = bound(graph.ty(*output).element);
        match (&found[i], &expected[i]) {
            (Data::Floats(found), Data::Floats(expected)) => {
                for (at, (x, y)) in found.iter().zip(expected).enumerate() {
                    let close = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= bound * (1.0 + y.abs());
                    assert!(close, "{name}, output {i}, element {at}: {x} is not {y}\n{graph}");
                }
            }
            (found, expected) => assert_eq!(found, expected, "{name}, output {i}\n{graph}"),
        }
    }
}

/// The reference machine, which looks for faults.
pub fn machine() -> Device {
    Device::new(Interpreter::new(Options { checked: true, ..Options::default() }))
}
pub fn cpu() -> Device {
    Device::new(girih_cpu::open(&girih_cpu::Settings::default()).expect("native code"))
}
/// The adapter of the tests; none, with a note, if there is none.
pub fn wgpu() -> Option<Device> {
    let name = std::env::var("GIRIH_WGPU_ADAPTER").unwrap_or_else(|_| "lavapipe".into());
    match girih_wgpu::open(&name, None) {
        Ok(device) => Some(device),
        Err(error) => {
            assert!(std::env::var_os("GIRIH_REQUIRE_WGPU").is_none(), "{}", error.message);
            girih_workbench::missing(&format!("adapter `{name}` for wgpu"), "GIRIH_REQUIRE_WGPU");
            None
        }
    }
}

fn each_row(device: &Device, floats: &[Scalar]) {
    for op in Op::ALL {
        for float in floats {
            let (graph, inputs) = sample(*op, *float);
            let lowered = match lower(&graph, Fusion::Full) {
                Ok(lowered) => lowered,
                // The math library has no functions of 64 bits.
                Err(error) if *float == Scalar::F64 && error.message.starts_with("kernels have no") => continue,
                Err(error) => panic!("{}: {}", op.name(), error.message),
            };
            let expected = interpret(&graph, &inputs).expect("the oracle computes it");
            compare(&format!("{} of {float}", op.name()), &graph, &run(device, &lowered, &inputs), &expected);
        }
    }
}

fn random_graphs(device: &Device, count: u64) {
    for seed in 0..count {
        let (graph, inputs) = random::graph(seed, Scalar::F32, 10);
        let expected = interpret(&graph, &inputs).expect("the oracle computes it");
        for fusion in [Fusion::Full, Fusion::None] {
            let lowered = lower_for(&graph, fusion, device.caps())
                .unwrap_or_else(|error| panic!("seed {seed}: {}\n{graph}", error.message));
            compare(&format!("seed {seed}, {fusion:?}"), &graph, &run(device, &lowered, &inputs), &expected);
        }
    }
}

#[test]
fn each_row_on_the_reference_machine() {
    each_row(&machine(), &[Scalar::F32, Scalar::F64, Scalar::F16, Scalar::Bf16]);
}
#[test]
fn each_row_on_the_processor() {
    each_row(&cpu(), &[Scalar::F32]);
}
#[test]
fn each_row_on_wgpu() {
    if let Some(device) = wgpu() {
        each_row(&device, &[Scalar::F32]);
    }
}
#[test]
fn random_graphs_on_the_reference_machine() {
    random_graphs(&machine(), girih_workbench::sample("GIRIH_TENSOR_GRAPHS", 60, 500));
}
#[test]
fn random_graphs_on_the_processor() {
    random_graphs(&cpu(), girih_workbench::sample("GIRIH_TENSOR_GRAPHS", 12, 500));
}
#[test]
fn random_graphs_on_wgpu() {
    if let Some(device) = wgpu() {
        random_graphs(&device, girih_workbench::sample("GIRIH_TENSOR_GRAPHS", 4, 60));
    }
}

/// The kernels of a graph, by their names.
fn kernels(graph: &Graph, fusion: Fusion) -> Vec<String> {
    let lowered = lower(graph, fusion).expect("it becomes kernels");
    lowered.launches.iter().map(|launch| lowered.module.functions[launch.kernel].name.to_string()).collect()
}

#[test]
fn softmax_and_norms_are_one_kernel_each() {
    for op in [Op::Softmax, Op::LogSoftmax, Op::Normalise] {
        let (graph, _) = sample(op, Scalar::F32);
        assert_eq!(kernels(&graph, Fusion::Full).len(), 1, "{}", op.name());
        assert!(kernels(&graph, Fusion::None).len() > 4, "{}", op.name());
    }
}

#[test]
fn a_layer_is_one_kernel_with_its_epilogue() {
    let layer = text::parse(
        "%0: f32[40, 50] = input to(f32) sizes(40, 50)\n%1: f32[50, 70] = input to(f32) sizes(50, 70)\n%2: f32[1, 70] = input to(f32) sizes(1, 70)\n\
         %3: f32[40, 70] = matmul %0, %1\n%4: f32[40, 70] = broadcast %2 sizes(40, 70)\n%5: f32[40, 70] = add %3, %4\n%6: f32[40, 70] = gelu %5\nreturn %6",
    )
    .expect("it is a graph");
    assert_eq!(kernels(&layer, Fusion::Full).len(), 1);
    assert!(kernels(&layer, Fusion::None).len() > 20);
    let mut dice = Dice(3);
    let inputs: Vec<Data> = layer.inputs().iter().map(|id| dice.data(layer.ty(*id), -1.0, 1.0)).collect();
    let expected = interpret(&layer, &inputs).expect("the oracle computes it");
    for device in [machine(), cpu()] {
        let lowered = lower(&layer, Fusion::Full).expect("it becomes kernels");
        compare("layer", &layer, &run(&device, &lowered, &inputs), &expected);
    }
}

#[test]
fn long_rows_are_reduced_in_steps() {
    let mut graph = Graph::new();
    let x = graph.input(Scalar::F32, &[3, 5000]).expect("an input");
    let (sum, most) = (graph.along(Op::Sum, x, &[1]), graph.along(Op::ArgMax, x, &[1]));
    let soft = graph.along(Op::Softmax, x, &[1]);
    graph.outputs = [sum, most, soft].map(|made| made.expect("it fits")).to_vec();
    let inputs = [Dice(9).data(graph.ty(x), -1.0, 1.0)];
    let expected = interpret(&graph, &inputs).expect("the oracle computes it");
    let lowered = lower(&graph, Fusion::Full).expect("it becomes kernels");
    compare("long rows", &graph, &run(&cpu(), &lowered, &inputs), &expected);
}

/// Compares a graph whose inputs are small integers on the devices with the oracle; gives the names of its kernels.
fn on_devices(name: &str, graph: &Graph) -> Vec<String> {
    let mut dice = Dice(9);
    let inputs: Vec<Data> = graph.inputs().iter().map(|id| dice.data(graph.ty(*id), -1.0, 1.0)).collect();
    let expected = interpret(graph, &inputs).expect("the oracle computes it");
    for device in std::iter::once(cpu()).chain(wgpu()) {
        let lowered = lower_for(graph, Fusion::Full, device.caps());
        let lowered = lowered.unwrap_or_else(|error| panic!("{name}: {}", error.message));
        compare(name, graph, &run(&device, &lowered, &inputs), &expected);
    }
    kernels(graph, Fusion::Full)
}

#[test]
fn sums_along_long_axes_are_scans() {
    for (element, lengths, axis) in [
        (Scalar::F32, vec![47_000], 0),
        (Scalar::I32, vec![3, 1025, 2], 1),
        (Scalar::U8, vec![2, 1024], 1),
        (Scalar::F16, vec![1], 0),
        (Scalar::F32, vec![5, 1, 3], 1),
    ] {
        let mut graph = Graph::new();
        let x = graph.input(element, &lengths).expect("an input");
        graph.outputs = vec![graph.at_axis(Op::CumSum, &[x], axis).expect("sums")];
        let count = on_devices(&format!("{element}{lengths:?}"), &graph).len();
        assert!(count < 8, "{count} kernels");
    }
}

/// The derivative of an embedding: as many additions as elements, whatever the number of rows.
#[test]
fn elements_are_added_to_many_rows() {
    for (element, rows) in
        [(Scalar::F32, 50_257), (Scalar::U8, 300), (Scalar::I16, 7), (Scalar::F16, 5), (Scalar::F32, 1)]
    {
        let mut graph = Graph::new();
        let x = graph.input(element, &[rows, 2]).expect("an input");
        let flat = graph.input(Scalar::I32, &[256, 2]).expect("an input");
        let y = graph.input(element, &[256, 2]).expect("an input");
        // Positions from -1 to more than there are.
        let scale = graph.number(flat, rows as f64 / 2.0 + 1.0).expect("a number");
        let positions = graph.op(Op::Mul, &[flat, scale]).expect("positions");
        let one = graph.number(flat, 1.0).expect("a number");
        let positions = graph.op(Op::Sub, &[positions, one]).expect("positions");
        graph.outputs = vec![graph.at_axis(Op::ScatterAdd, &[x, positions, y], 0).expect("sums")];
        on_devices(&format!("{element}, {rows} rows"), &graph);
    }
}

#[test]
fn long_reductions_are_computed_in_parts() {
    let mut graph = Graph::new();
    let x = graph.input(Scalar::F32, &[2, 33_001]).expect("an input");
    let n = graph.input(Scalar::I32, &[90, 400]).expect("an input");
    let zero = graph.number(n, 0.0).expect("a number");
    let truths = graph.op(Op::Ge, &[n, zero]).expect("truths");
    let mut outputs = vec![];
    for (op, of, axes) in [
        (Op::Sum, x, vec![0, 1]),
        (Op::Mean, x, vec![1]),
        (Op::Amax, x, vec![1, 0]),
        (Op::LogSumExp, x, vec![0, 1]),
        (Op::Amin, n, vec![0, 1]),
        (Op::Sum, n, vec![1, 0]),
        (Op::All, truths, vec![0, 1]),
    ] {
        outputs.push(graph.along(op, of, &axes).expect("it fits"));
    }
    graph.outputs = outputs;
    on_devices("long reductions", &graph);
    let sum =
        text::parse("%0: f32[1000, 1000] = input to(f32) sizes(1000, 1000)\n%1: f32[] = sum %0 axes(0, 1)\nreturn %1")
            .expect("a graph");
    let lowered = lower(&sum, Fusion::Full).expect("it becomes kernels");
    assert_eq!((lowered.launches.len(), lowered.launches[0].grid[0] > 200), (2, true), "parts, and their sum");
}

/// Every device runs 65,535 programs along a dimension, and not every one more.
#[test]
fn many_programs_run_in_layers() {
    let mut graph = Graph::new();
    let x = graph.input(Scalar::F32, &[65_536 * 2 - 1, 1, 1]).expect("an input");
    graph.outputs = vec![graph.op(Op::Matmul, &[x, x]).expect("a product")];
    let inputs = [Dice(9).data(graph.ty(x), -1.0, 1.0)];
    let expected = interpret(&graph, &inputs).expect("the oracle computes it");
    let lowered = lower(&graph, Fusion::Full).expect("it becomes kernels");
    let [width, layers, _] = lowered.launches[0].grid;
    assert!(layers > 1 && width * layers > 65_536 * 2 - 1, "some programs have nothing to do");
    for device in std::iter::once(cpu()).chain(wgpu()) {
        compare("many programs", &graph, &run(&device, &lowered, &inputs), &expected);
    }
}

#[test]
fn equal_computations_are_one() {
    let mut graph = Graph::new();
    let x = graph.input(Scalar::F32, &[4]).expect("an input");
    let [a, b] = [Op::Exp, Op::Exp].map(|op| graph.op(op, &[x]).expect("a function"));
    let sum = graph.op(Op::Add, &[a, b]).expect("a sum");
    graph.outputs = vec![sum];
    let shared = girih_tensor::share(&graph);
    assert_eq!(shared.pruned().nodes.len(), 3, "{shared}");
    let inputs = [Dice(9).data(graph.ty(x), -1.0, 1.0)];
    assert_eq!(interpret(&shared, &inputs), interpret(&graph, &inputs));
}

#[test]
fn dead_values_give_their_memory_to_others() {
    let mut graph = Graph::new();
    let mut x = graph.input(Scalar::F32, &[64, 64]).expect("an input");
    for _ in 0..8 {
        x = graph.op(Op::Matmul, &[x, x]).expect("a product");
    }
    graph.outputs = vec![x];
    let lowered = lower(&graph, Fusion::Full).expect("it becomes kernels");
    // Two for what lies between, and one for the output.
    assert_eq!((lowered.launches.len(), lowered.slots.len()), (8, 3));
}

#[test]
fn a_step_of_training_is_kernels() {
    let mut graph = Graph::new();
    let input = |g: &mut Graph, lengths: &[u64]| g.input(Scalar::F32, lengths).expect("an input");
    let (x, w, v) = (input(&mut graph, &[8, 5]), input(&mut graph, &[5, 6]), input(&mut graph, &[6, 3]));
    let hidden = graph.op(Op::Matmul, &[x, w]).and_then(|y| graph.op(Op::Tanh, &[y])).expect("a layer");
    let logits = graph.op(Op::Matmul, &[hidden, v]).expect("a layer");
    let logs = graph.along(Op::LogSoftmax, logits, &[1]).expect("logarithms");
    graph.outputs = vec![graph.along(Op::Mean, logs, &[0, 1]).expect("a loss")];
    let graph = differentiate(&graph, 0, &[1, 2]).expect("derivatives");
    let mut dice = Dice(4);
    let inputs: Vec<Data> = graph.inputs().iter().map(|id| dice.data(graph.ty(*id), -1.0, 1.0)).collect();
    let expected = interpret(&graph, &inputs).expect("the oracle computes it");
    let (fused, plain) = (kernels(&graph, Fusion::Full).len(), kernels(&graph, Fusion::None).len());
    assert!(fused * 3 < plain, "{fused} kernels, and {plain} without fusion");
    let lowered = lower(&graph, Fusion::Full).expect("it becomes kernels");
    compare("training", &graph, &run(&cpu(), &lowered, &inputs), &expected);
}

/// Columns and windows: each result takes its elements one after the other, and what follows is computed with it.
#[test]
fn columns_and_windows_are_reduced_in_steps() {
    use girih_tensor::{Attr, AttrKind, Shape};
    let list = |kind: AttrKind, list: &[u64]| Attr::List(kind, list.to_vec());
    let window = [list(AttrKind::Window, &[3, 2]), list(AttrKind::Stride, &[1, 2]), list(AttrKind::Padding, &[1, 1])];
    let deep = [
        list(AttrKind::Stride, &[1, 2]),
        list(AttrKind::Padding, &[1, 1]),
        list(AttrKind::Dilation, &[2, 1]),
        list(AttrKind::Groups, &[6]),
    ];
    for element in [Scalar::F32, Scalar::F16] {
        let mut g = Graph::new();
        let x = g.input(element, &[2, 6, 7, 9]).expect("an input");
        let w = g.input(element, &[12, 1, 3, 2]).expect("an input");
        let bias = g.input(element, &[1, 12, 1, 1]).expect("an input");
        let y = g.push(Op::Conv2d, &[x, w], deep.to_vec()).expect("a convolution");
        let y = g.binary(Op::Add, y, bias).and_then(|y| g.op(Op::Relu, &[y])).expect("an epilogue");
        g.outputs = vec![y];
        assert_eq!(on_devices("a convolution of each channel", &g).len(), 1);
        g.outputs = vec![g.push(Op::MaxPool2d, &[x], window.to_vec()).expect("a pool")];
        assert_eq!(on_devices("a pool of the greatest", &g).len(), 1);
        g.outputs = vec![g.push(Op::AvgPool2d, &[x], window.to_vec()).expect("a pool")];
        assert_eq!(on_devices("a pool of means", &g).len(), 1);
        for (op, axes) in [(Op::Sum, [0, 2]), (Op::Amin, [1, 0]), (Op::Prod, [0, 1])] {
            g.outputs = vec![g.along(op, x, &axes).expect("a reduction")];
            on_devices(op.name(), &g);
        }
        g.outputs = [1, 2].map(|axis| g.along(Op::ArgMax, x, &[axis]).expect("positions")).to_vec();
        on_devices("positions in columns", &g);
    }
    // Products of all channels, and views between shapes of common factors.
    let mut g = Graph::new();
    let x = g.input(Scalar::F32, &[2, 8, 6, 5]).expect("an input");
    let w = g.input(Scalar::F32, &[12, 4, 3, 3]).expect("an input");
    let attrs = [AttrKind::Stride, AttrKind::Padding, AttrKind::Dilation].map(|kind| list(kind, &[1, 1]));
    let y = g.push(Op::Conv2d, &[x, w], [&attrs[..], &[list(AttrKind::Groups, &[2])]].concat()).expect("a convolution");
    let other = g.reshape(x, &Shape::of(&[4, 2, 2, 3, 10])).and_then(|x| g.permute(x, &[2, 0, 4, 1, 3]));
    let other = other.and_then(|x| g.reshape(x, &Shape::of(&[8, 10, 6]))).and_then(|x| g.op(Op::Neg, &[x]));
    g.outputs = vec![y, other.expect("views")];
    on_devices("a convolution of groups", &g);
    // A product is one kernel with what follows it, also where its columns are several axes; with many steps and tiles of all sizes.
    for (images, inner, outer, side) in [(1, 8, 70, 9), (1, 5, 16, 17), (2, 3, 33, 7)] {
        let mut g = Graph::new();
        let x = g.input(Scalar::F32, &[images, inner, side, side]).expect("an input");
        let w = g.input(Scalar::F32, &[outer, inner, 3, 3]).expect("an input");
        let bias = g.input(Scalar::F32, &[1, outer, 1, 1]).expect("an input");
        let attrs = [&attrs[..], &[list(AttrKind::Groups, &[1])]].concat();
        let y = g.push(Op::Conv2d, &[x, w], attrs).and_then(|y| g.binary(Op::Add, y, bias)).expect("a convolution");
        g.outputs = vec![g.op(Op::Relu, &[y]).expect("an epilogue")];
        let count = on_devices("a convolution and its epilogue", &g).len();
        assert_eq!(count, if images == 1 { 1 } else { 2 });
    }
}

/// More tensors than a kernel has buffers, and more parts of one than a kernel has steps.
#[test]
fn many_tensors_are_concatenated_in_parts() {
    let mut g = Graph::new();
    let inputs: Vec<NodeId> = (0..300).map(|i| g.input(Scalar::F32, &[2, i % 3]).expect("an input")).collect();
    let whole = g.at_axis(Op::Concat, &inputs, 1).expect("one tensor");
    let parts: Vec<NodeId> =
        (0..150).rev().map(|i| g.slice(whole, &[0, 2 * i], &[2, 2 * i + 2]).expect("a part")).collect();
    let turned = g.at_axis(Op::Concat, &parts, 1).expect("one tensor");
    g.outputs = vec![whole, turned];
    let count = on_devices("many tensors", &g).len();
    assert!(count < 40, "{count} kernels");
}

/// The weights of a layer as PyTorch has them: their rows are loaded as they lie.
#[test]
fn factors_that_lie_transposed_are_loaded_as_they_lie() {
    let mut g = Graph::new();
    let x = g.input(Scalar::F32, &[3, 20, 50]).expect("an input");
    let w = g.input(Scalar::F32, &[30, 50]).expect("an input");
    let weights = g.transpose(w).expect("a view");
    let layer = g.product(x, weights).expect("a product");
    let left = g.transpose(x).and_then(|x| g.slice(x, &[0, 1, 2], &[3, 41, 18])).expect("a view");
    let right = g.slice(x, &[0, 4, 0], &[3, 20, 50]).expect("a view");
    g.outputs = vec![layer, g.op(Op::Matmul, &[left, right]).expect("a product")];
    on_devices("transposed factors", &g);
    let lowered = lower(&g, Fusion::Full).expect("it becomes kernels");
    let text = girih_ir::text::print(&lowered.module);
    assert_eq!(text.matches("tile.permute").count(), 2, "{text}");
}

//! The devices of the tests, and the oracle beside them.

use girih_ir::Scalar;
use girih_machine::interp::{Interpreter, Options};
use girih_nn::{Device, Tensor};
use girih_tensor::{Data, Graph, Number, interpret};

/// The reference machine, which looks for faults.
pub fn machine() -> Device {
    Device::new(girih_runtime::Device::new(Interpreter::new(Options { checked: true, ..Options::default() })))
}
pub fn cpu() -> Device {
    let native = girih_cpu::open(&girih_cpu::Settings::default()).expect("native code");
    Device::new(girih_runtime::Device::new(native))
}
/// The adapter of the tests; none, with a note, if there is none.
pub fn wgpu() -> Option<Device> {
    let name = std::env::var("GIRIH_WGPU_ADAPTER").unwrap_or_else(|_| "lavapipe".into());
    match girih_wgpu::open(&name, None) {
        Ok(device) => Some(Device::new(device)),
        Err(error) => {
            assert!(std::env::var_os("GIRIH_REQUIRE_WGPU").is_none(), "{}", error.message);
            girih_workbench::missing(&format!("adapter `{name}` for wgpu"), "GIRIH_REQUIRE_WGPU");
            None
        }
    }
}

/// The elements of a tensor.
pub fn data(tensor: &Tensor) -> Data {
    let read = |found: girih_nn::Result<Vec<f64>>| found.unwrap_or_else(|error| panic!("{}", error.message));
    macro_rules! integers {
        ($ty:ty) => {{
            let all = tensor.to_vec::<$ty>().unwrap_or_else(|error| panic!("{}", error.message));
            Data::of(tensor.dtype(), all.into_iter().map(|n| Number::Int(n.into())))
        }};
    }
    match tensor.dtype() {
        Scalar::F32 => Data::Floats(read(tensor.to_vec::<f32>().map(|all| all.into_iter().map(f64::from).collect()))),
        Scalar::Bool => integers!(u8),
        Scalar::I32 => integers!(i32),
        Scalar::I64 => integers!(i64),
        Scalar::U64 => integers!(u64),
        other => panic!("the tests have no {other}"),
    }
}

/// A tensor's graph, and the elements of its inputs.
pub fn graph(tensor: &Tensor) -> (Graph, Vec<Data>) {
    let (graph, inputs) = tensor.graph().unwrap_or_else(|error| panic!("{}", error.message));
    let inputs = inputs.iter().map(data).collect();
    (graph, inputs)
}

/// Compares what a device computes with the oracle.
pub fn check(name: &str, tensor: &Tensor) {
    let (graph, inputs) = graph(tensor);
    let expected = interpret(&graph, &inputs).expect("the oracle computes it").remove(0);
    match (data(tensor), expected) {
        (Data::Floats(found), Data::Floats(expected)) => {
            assert_eq!(found.len(), expected.len(), "{name}");
            for (at, (x, y)) in found.iter().zip(&expected).enumerate() {
                let is_close = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 2e-4 * (1.0 + y.abs());
                assert!(is_close, "{name}, element {at}: {x} is not {y}\n{graph}");
            }
        }
        (found, expected) => assert_eq!(found, expected, "{name}\n{graph}"),
    }
}

//! ONNX models: small ones that are written here, and the standard's own test data, with the numbers that they record.

use crate::devices::{cpu, machine, wgpu};
use girih_ir::Scalar;
use girih_nn::onnx::{Dimension, Model};
use girih_nn::{Device, Tensor};
use girih_onnx::Constant;
use girih_onnx::proto::{
    AttributeProto, DimensionProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Numbers of `TensorProto.DataType`.
const FLOAT: i32 = 1;
const INT64: i32 = 7;

fn value(name: &str, element: i32, lengths: &[i64]) -> ValueInfoProto {
    let dim = |length: &i64| DimensionProto {
        value: (*length >= 0).then_some(girih_onnx::proto::Dimension::Length(*length)),
    };
    let shape = Some(TensorShapeProto { dim: lengths.iter().map(dim).collect() });
    let ty = Some(TypeProto { tensor_type: Some(TensorTypeProto { elem_type: element, shape }) });
    ValueInfoProto { name: name.into(), ty }
}
fn node(operator: &str, inputs: &[&str], outputs: &[&str], attribute: Vec<AttributeProto>) -> NodeProto {
    let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
    NodeProto {
        op_type: operator.into(),
        input: names(inputs),
        output: names(outputs),
        attribute,
        ..NodeProto::default()
    }
}
fn int(name: &str, number: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i: number, kind: 2, ..AttributeProto::default() }
}
fn floats(name: &str, lengths: &[i64], all: &[f32]) -> TensorProto {
    let float_data = all.to_vec();
    TensorProto { name: name.into(), dims: lengths.to_vec(), data_type: FLOAT, float_data, ..TensorProto::default() }
}
fn integers(name: &str, all: &[i64]) -> TensorProto {
    let (dims, int64_data) = (vec![all.len() as i64], all.to_vec());
    TensorProto { name: name.into(), dims, data_type: INT64, int64_data, ..TensorProto::default() }
}
fn model(graph: GraphProto) -> ModelProto {
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 17 }];
    ModelProto { graph: Some(graph), opset_import, ..ModelProto::default() }
}
fn read(model: &ModelProto) -> Model {
    Model::from_bytes(&model.encode_to_vec()).unwrap_or_else(|error| panic!("{}", error.message))
}
fn refusal<T>(outcome: girih_nn::Result<T>) -> String {
    match outcome {
        Ok(_) => panic!("it is not refused"),
        Err(error) => error.message,
    }
}

/// x * w + b, normalised by numbers that no input leads to, in a shape that an input says.
fn network() -> ModelProto {
    model(GraphProto {
        node: vec![
            node("MatMul", &["x", "w"], &["product"], vec![]),
            node("Sqrt", &["variance"], &["deviation"], vec![]),
            node("Div", &["product", "deviation"], &["scaled"], vec![]),
            node("Relu", &["scaled"], &["y"], vec![]),
            node("Reshape", &["y", "shape"], &["z"], vec![]),
        ],
        initializer: vec![floats("w", &[2, 2], &[1.0, -1.0, 2.0, 0.5]), floats("variance", &[2], &[4.0, 16.0])],
        input: vec![value("x", FLOAT, &[-1, 2]), value("shape", INT64, &[1])],
        output: vec![value("y", FLOAT, &[-1, 2]), value("z", FLOAT, &[-1])],
        ..GraphProto::default()
    })
}

#[test]
fn a_model_runs_on_every_device() {
    for device in [Some(machine()), Some(cpu()), wgpu()].into_iter().flatten() {
        let model = read(&network());
        assert_eq!(model.outputs(), ["y", "z"]);
        assert_eq!(model.inputs()[0].dimensions, Some(vec![Dimension::Any(String::new()), Dimension::Length(2)]));
        for rows in 1..4 {
            let numbers: Vec<f32> = (0..rows * 2).map(|at| at as f32).collect();
            let (x, shape) = (device.tensor(&numbers, [rows, 2]), device.tensor(&[-1_i64], [1]));
            // The second time nothing is compiled.
            for _ in 0..2 {
                let given = model.run(&device, &[("x", &x), ("shape", &shape)]).expect("it runs");
                let wanted: Vec<f32> = numbers
                    .chunks(2)
                    .flat_map(|row| [(row[0] + 2.0 * row[1]) / 2.0, (0.5 * row[1] - row[0]).max(0.0) / 4.0])
                    .collect();
                assert_eq!(given[0].shape(), [rows, 2]);
                assert_eq!(given[1].shape(), [rows * 2]);
                assert_eq!(given[0].to_vec::<f32>().expect("numbers"), wanted);
                assert_eq!(given[1].to_vec::<f32>().expect("numbers"), wanted);
            }
        }
        assert_eq!(model.compiled(), 3);
        // Another shape that an input says is another graph.
        let (x, shape) = (device.ones([2, 2]), device.tensor(&[4_i64], [1]));
        model.run(&device, &[("x", &x), ("shape", &shape)]).expect("it runs");
        assert_eq!(model.compiled(), 4);
    }
}

#[test]
fn functions_and_subgraphs_see_what_they_may() {
    let body = GraphProto {
        node: vec![
            node("Add", &["sum", "step"], &["next"], vec![]),
            node("Identity", &["goes_on"], &["goes_on_still"], vec![]),
        ],
        input: vec![value("turn", INT64, &[]), value("goes_on", 9, &[]), value("sum", FLOAT, &[2])],
        output: vec![value("goes_on_still", 9, &[]), value("next", FLOAT, &[2]), value("next", FLOAT, &[2])],
        ..GraphProto::default()
    };
    let body = AttributeProto { name: "body".into(), g: Some(body), kind: 5, ..AttributeProto::default() };
    let shifted =
        AttributeProto { name: "axis".into(), ref_attr_name: "along".into(), kind: 2, ..AttributeProto::default() };
    let function = FunctionProto {
        name: "Shares".into(),
        domain: "own".into(),
        input: vec!["given".into()],
        output: vec!["shares".into()],
        attribute: vec!["along".into()],
        node: vec![node("Softmax", &["given"], &["shares"], vec![shifted])],
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 13 }],
        ..FunctionProto::default()
    };
    let mut shares = node("Shares", &["all"], &["y"], vec![int("along", 0)]);
    shares.domain = "own".into();
    let mut model = model(GraphProto {
        node: vec![node("Loop", &["turns", "", "x"], &["last", "all"], vec![body]), shares],
        initializer: vec![integers("turns", &[3]), floats("step", &[2], &[0.0, 1.0])],
        input: vec![value("x", FLOAT, &[2])],
        output: vec![value("last", FLOAT, &[2]), value("y", FLOAT, &[3, 2])],
        ..GraphProto::default()
    });
    model.functions.push(function);
    let device = cpu();
    let x = device.tensor(&[5.0_f32, 0.0], [2]);
    let given = read(&model).run(&device, &[("x", &x)]).expect("it runs");
    assert_eq!(given[0].to_vec::<f32>().expect("numbers"), [5.0, 3.0]);
    let y = given[1].to_vec::<f32>().expect("numbers");
    let (third, sum) = (1.0 / 3.0, 1_f32.exp() + 2_f32.exp() + 3_f32.exp());
    for (at, wanted) in
        [third, 1_f32.exp() / sum, third, 2_f32.exp() / sum, third, 3_f32.exp() / sum].into_iter().enumerate()
    {
        assert!((y[at] - wanted).abs() < 1e-6, "{y:?}");
    }
}

#[test]
fn mistakes_are_told_with_the_node() {
    let device = cpu();
    assert!(refusal(Model::from_bytes(b"no model")).starts_with("this is no ONNX model"));
    let named = |mut node: NodeProto, name: &str| {
        node.name = name.into();
        node
    };
    let one = |node: NodeProto| {
        model(GraphProto {
            node: vec![node],
            input: vec![value("x", FLOAT, &[2])],
            output: vec![value("y", FLOAT, &[2])],
            ..GraphProto::default()
        })
    };
    let x = device.ones([2]);
    let run = |model: &ModelProto, inputs: &[(&str, &Tensor)]| refusal(read(model).run(&device, inputs));
    let cases = [
        (node("Bernoulli", &["x"], &["y"], vec![]), "node 0, Bernoulli: this operator is not there"),
        (
            named(node("Add", &["x", "z"], &["y"], vec![]), "sum"),
            "node `sum`, Add: it uses `z`, which nothing before it gives",
        ),
        (node("Add", &["x"], &["y"], vec![]), "node 0, Add: it needs input 1"),
        (
            node("Softmax", &["x"], &["y"], vec![int("axis", 2)]),
            "node 0, Softmax: it names axis 2 of a tensor of 1 dimensions",
        ),
        (
            node("BatchNormalization", &["x", "x", "x", "x", "x"], &["y"], vec![]),
            "node 0, BatchNormalization: it names axis 1 of a tensor of 1 dimensions",
        ),
    ];
    for (node, wanted) in cases {
        assert_eq!(run(&one(node), &[("x", &x)]), wanted);
    }
    let relu = one(node("Relu", &["x"], &["y"], vec![]));
    assert_eq!(run(&relu, &[]), "the model needs the input `x`");
    assert_eq!(run(&relu, &[("x", &x), ("x", &x)]), "the input `x` is given more than once");
    assert_eq!(run(&relu, &[("z", &x)]), "the model has no input `z`; it has `x`");
    let whole = device.tensor(&[1_i32, 2], [2]);
    assert_eq!(run(&relu, &[("x", &whole)]), "the input `x` has elements of type f32, and i32[2] is given");
    let mut beside = floats("w", &[2], &[]);
    beside.data_location = 1;
    beside.external_data = vec![StringStringEntryProto { key: "location".into(), value: "weights.bin".into() }];
    let mut with_weights = relu.clone();
    with_weights.graph.as_mut().expect("a graph").initializer.push(beside);
    let bytes = with_weights.encode_to_vec();
    assert_eq!(
        refusal(Model::from_bytes(&bytes)),
        "the tensor `w`: its elements are in the file `weights.bin`; open the model by its path"
    );
    let mut asked = vec![];
    Model::read(&bytes, &mut |file, from, count| {
        asked.push((file.to_owned(), from, count));
        Ok(vec![0; 8])
    })
    .expect("it is read");
    assert_eq!(asked, [("weights.bin".to_owned(), 0, None)]);
}

/// Where the standard's test data are, as `nn/tests/onnx_data.py` writes them by version 1.23.2 of the package `onnx`.
const DATA: &str = "GIRIH_ONNX_DATA";

/// The tests of a folder.
fn folders(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![];
    for kind in ["node", "simple", "pytorch-converted", "pytorch-operator"] {
        let entries = std::fs::read_dir(root.join(kind)).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
        folders.extend(
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.join("model.onnx").exists()),
        );
    }
    folders.sort();
    folders
}

fn constant(path: &Path) -> Option<Result<Constant, String>> {
    let bytes = std::fs::read(path).ok()?;
    Some(Constant::from_file(&bytes).map_err(|error| error.message))
}
/// The recorded data have the bits of `bf16` as integers.
fn retyped(mut constant: Constant, wanted: Scalar) -> Constant {
    if (constant.ty.element, wanted) == (Scalar::U16, Scalar::Bf16) {
        constant.ty.element = Scalar::Bf16;
    }
    constant
}

/// How far a recorded model's numbers are right: `Ok(None)` if they are, what differs, or why it is refused.
fn compare(device: &Device, folder: &Path) -> Result<Option<String>, String> {
    let said = |error: girih_nn::Diagnostic| error.message;
    let bytes = std::fs::read(folder.join("model.onnx")).map_err(|error| error.to_string())?;
    let model = Model::from_bytes(&bytes).map_err(said)?;
    let set = folder.join("test_data_set_0");
    let mut tensors = vec![];
    for (number, input) in model.inputs().iter().enumerate() {
        let given = constant(&set.join(format!("input_{number}.pb"))).ok_or("an input has no data")??;
        let given = retyped(given, input.element);
        tensors.push(device.tensor_of_bytes(given.ty.element, &given.bytes, given.ty.shape.lengths()));
    }
    let named: Vec<(&str, &Tensor)> = model.inputs().iter().map(|input| &*input.name).zip(&tensors).collect();
    for (number, output) in model.run(device, &named).map_err(said)?.iter().enumerate() {
        let Some(wanted) = constant(&set.join(format!("output_{number}.pb"))) else { continue };
        let wanted = retyped(wanted?, output.dtype());
        if (output.dtype(), output.shape()) != (wanted.ty.element, wanted.ty.shape.lengths()) {
            return Ok(Some(format!("output {number} is {}{:?}, not {}", output.dtype(), output.shape(), wanted.ty)));
        }
        let found = Constant { ty: wanted.ty.clone(), bytes: output.bytes().map_err(said)?.into() };
        // What the standard's own tests allow. Floats of 16 bits are rounded after each step there, and here once: they may differ in their last two digits.
        let most = match output.dtype() {
            Scalar::Bf16 => 2e-2,
            Scalar::F16 => 2e-3,
            _longer => 1e-3,
        };
        let (found, wanted) = (found.data(), wanted.data());
        for at in 0..found.len() {
            let (x, y) = (found.get(at).as_float(), wanted.get(at).as_float());
            if !(x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-5 + most * y.abs()) {
                return Ok(Some(format!("output {number}, element {at} is {x}, not {y}")));
            }
        }
    }
    Ok(None)
}

/// Runs models of the standard's test data: each gives the recorded numbers, or is refused. Gives the reasons.
fn refused(device: &Device, folders: &[PathBuf]) -> BTreeMap<String, String> {
    let (mut refused, mut wrong) = (BTreeMap::new(), vec![]);
    for folder in folders {
        let name = folder.file_name().expect("a name").to_string_lossy().trim_start_matches("test_").to_owned();
        match compare(device, folder) {
            Ok(None) => {}
            Ok(Some(how)) => wrong.push(format!("{name}: {how}")),
            Err(why) => {
                refused.insert(name, why);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    refused
}

/// The operator that a sentence says is not there.
fn missing_operator(why: &str) -> Option<String> {
    let (node, _) = why.split_once(": this operator")?;
    Some(node.rsplit(", ").next()?.to_owned())
}

#[test]
fn the_data_of_the_standard_have_their_numbers() {
    let Some(root) = std::env::var_os(DATA) else {
        girih_workbench::missing(&format!("test data of ONNX in `{DATA}`"), "GIRIH_REQUIRE_ONNX");
        return;
    };
    let folders = folders(Path::new(&root));
    let refused = self::refused(&cpu(), &folders);
    let operators: BTreeSet<String> = refused.values().filter_map(|why| missing_operator(why)).collect();
    let others: BTreeMap<&String, &String> =
        refused.iter().filter(|(_, why)| missing_operator(why).is_none()).collect();
    insta::assert_debug_snapshot!("onnx operators that are not there", operators);
    insta::assert_debug_snapshot!("onnx models that are refused otherwise", others);
    if let Some(wgpu) = wgpu() {
        let share = girih_workbench::share(4);
        let some: Vec<PathBuf> = share.of(folders).collect();
        self::refused(&wgpu, &some);
    }
}

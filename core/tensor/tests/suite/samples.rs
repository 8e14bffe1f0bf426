//! A small graph for each row of the table, and numbers for it.

use girih_ir::Scalar;
use girih_tensor::ops::Meaning;
use girih_tensor::{Attr, AttrKind, Data, Graph, Number, Op, TensorType};

/// Numbers that look random and are the same everywhere.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    pub fn float(&mut self, low: f64, high: f64) -> f64 {
        // Few bits, so that floats of 32 bits hold them.
        low + (high - low) * (self.below(1 << 12) as f64 / f64::from(1 << 12))
    }
    /// Elements of a type: floats in a range, small integers.
    pub fn data(&mut self, ty: &TensorType, low: f64, high: f64) -> Data {
        let number = |_| match ty.element {
            Scalar::Bool => Number::Int(self.below(2).into()),
            element if element.is_float() => Number::Float(self.float(low, high)),
            _integer => Number::Int(self.below(3).into()),
        };
        Data::of(ty.element, (0..ty.shape.elements()).map(number).collect::<Vec<_>>().into_iter())
    }
}

fn list(kind: AttrKind, list: &[u64]) -> Attr {
    Attr::List(kind, list.to_vec())
}

/// Lengths of the operands and attributes that an operation is tried with.
fn shapes(op: Op) -> (Vec<Vec<u64>>, Vec<Attr>) {
    use AttrKind as K;
    let axis = |n| list(K::Axis, &[n]);
    let to = |s| Attr::Element(K::To, s);
    let number = |x| Attr::Number(K::Value, Number::Float(x));
    match op {
        Op::Input => (vec![], vec![to(Scalar::F32), list(K::Sizes, &[3])]),
        Op::Full => (vec![], vec![to(Scalar::F32), list(K::Sizes, &[3]), number(2.5)]),
        Op::Iota => (vec![], vec![to(Scalar::F32), list(K::Sizes, &[3, 4]), axis(1)]),
        Op::Random => (vec![vec![], vec![]], vec![list(K::Sizes, &[5])]),
        Op::Convert => (vec![vec![5]], vec![to(Scalar::F32)]),
        Op::Clamp => (vec![vec![2, 4]], vec![number(0.6), Attr::Number(K::Above, Number::Float(0.8))]),
        Op::Sum | Op::Prod | Op::Amax | Op::Amin | Op::Mean | Op::Var | Op::LogSumExp | Op::Any | Op::All => {
            (vec![vec![2, 3, 5]], vec![list(K::Axes, &[1])])
        }
        Op::Softmax | Op::LogSoftmax => (vec![vec![2, 5]], vec![list(K::Axes, &[1])]),
        Op::Normalise => (vec![vec![2, 5]], vec![list(K::Axes, &[1]), number(0.1)]),
        Op::ArgMax | Op::ArgMin | Op::CumSum | Op::Scan => (vec![vec![2, 5]], vec![axis(1)]),
        Op::ArgSort | Op::ArgTop => (vec![vec![2, 5]], vec![axis(1), list(K::Length, &[3])]),
        Op::Merge | Op::MergeDown => (vec![vec![2, 2]], vec![list(K::Length, &[2])]),
        Op::Broadcast => (vec![vec![2, 1]], vec![list(K::Sizes, &[2, 3])]),
        Op::Reshape => (vec![vec![2, 6]], vec![list(K::Sizes, &[3, 4])]),
        Op::Permute => (vec![vec![2, 3, 4]], vec![list(K::Axes, &[2, 0, 1])]),
        Op::Slice => (vec![vec![4, 7]], vec![list(K::Start, &[1, 1]), list(K::End, &[3, 7]), list(K::Step, &[1, 2])]),
        Op::Pad => (vec![vec![2, 3]], vec![list(K::Low, &[1, 0]), list(K::High, &[0, 2]), number(1.5)]),
        Op::Flip => (vec![vec![2, 3]], vec![list(K::Axes, &[1])]),
        Op::Skew => {
            (vec![vec![7, 3]], vec![axis(0), list(K::Length, &[3]), list(K::Stride, &[2]), list(K::Dilation, &[1])])
        }
        Op::Unskew => {
            (vec![vec![3, 3]], vec![axis(0), list(K::Length, &[8]), list(K::Stride, &[2]), list(K::Dilation, &[1])])
        }
        Op::Windows => {
            (vec![vec![7]], vec![axis(0), list(K::Window, &[3]), list(K::Stride, &[2]), list(K::Dilation, &[1])])
        }
        Op::Concat => (vec![vec![2, 3], vec![2, 1]], vec![axis(1)]),
        Op::Gather => (vec![vec![3, 2], vec![4, 2]], vec![axis(0)]),
        Op::ScatterAdd | Op::AddAt => (vec![vec![3, 2], vec![4, 2], vec![4, 2]], vec![axis(0)]),
        Op::IndexSelect => (vec![vec![3, 2], vec![4]], vec![axis(0)]),
        Op::Matmul => (vec![vec![2, 3, 4], vec![2, 4, 5]], vec![]),
        Op::Conv2d => (
            vec![vec![2, 4, 5, 6], vec![2, 2, 3, 2]],
            vec![
                list(K::Stride, &[2, 1]),
                list(K::Padding, &[1, 1]),
                list(K::Dilation, &[1, 2]),
                list(K::Groups, &[2]),
            ],
        ),
        Op::AvgPool2d | Op::MaxPool2d => (
            vec![vec![1, 2, 4, 5]],
            vec![list(K::Window, &[2, 3]), list(K::Stride, &[2, 1]), list(K::Padding, &[0, 1])],
        ),
        pointwise => {
            let girih_tensor::ops::Arity::Exactly(count) = pointwise.row().arity else {
                panic!("{pointwise:?} needs a sample")
            };
            assert!(pointwise.row().attrs.is_empty(), "{pointwise:?} needs a sample");
            (vec![vec![2, 3]; count], vec![])
        }
    }
}

/// A graph of one operation on floats of this type where it takes floats, and numbers for it.
pub fn sample(op: Op, float: Scalar) -> (Graph, Vec<Data>) {
    let (lengths, mut attrs) = shapes(op);
    let element = match op.row().set {
        set if set.has(float) => float,
        set if set.has(Scalar::F32) => Scalar::F32,
        set if set.has(Scalar::I32) => Scalar::I32,
        set if set.has(Scalar::U64) => Scalar::U64,
        _truth => Scalar::Bool,
    };
    for attr in &mut attrs {
        if let Attr::Element(_, to) = attr {
            *to = float;
        }
    }
    let (mut graph, mut dice) = (Graph::new(), Dice(0x9E37_79B9 + op as u64));
    let mut operands = vec![];
    for (i, lengths) in lengths.iter().enumerate() {
        let element = match (op, i) {
            (Op::Where, 0) => Scalar::Bool,
            (Op::Gather | Op::ScatterAdd | Op::AddAt | Op::IndexSelect, 1) => Scalar::I64,
            _no_rule => element,
        };
        operands.push(graph.input(element, lengths).expect("an input"));
    }
    let node = graph.push(op, &operands, attrs).unwrap_or_else(|error| panic!("{}: {}", op.name(), error.message));
    graph.outputs = vec![node];
    // All functions are defined and smooth there.
    let mut inputs: Vec<Data> = operands.iter().map(|id| dice.data(graph.ty(*id), 0.3, 0.9)).collect();
    if let Meaning::Input = op.row().meaning {
        inputs.push(dice.data(graph.ty(node), 0.3, 0.9));
    }
    (graph, inputs)
}

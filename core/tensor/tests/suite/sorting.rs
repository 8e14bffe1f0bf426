//! Sorting of axes of all lengths, against a sort of the same numbers that stands here.

use crate::devices::{compare, cpu, machine, run, wgpu};
use crate::samples::Dice;
use girih_ir::Scalar;
use girih_tensor::lower::lower;
use girih_tensor::schedule::Fusion;
use girih_tensor::{Attr, AttrKind, Data, Graph, Meeting, Number, Op, TensorType, interpret};
use std::cmp::Ordering;

/// A graph that gives where the first elements of an axis are, and what they are.
fn graph(op: Op, ty: &TensorType, axis: usize, length: u64) -> Graph {
    let mut g = Graph::new();
    let x = g.input(ty.element, &ty.shape.lengths()).expect("an input");
    let attrs = vec![Attr::List(AttrKind::Axis, vec![axis as u64]), Attr::List(AttrKind::Length, vec![length])];
    let places = g.push(op, &[x], attrs).expect("places");
    let values = g.at_axis(Op::Gather, &[x, places], axis).expect("values");
    g.outputs = vec![places, values];
    g
}

/// Many equal numbers, and of floats those that are none.
fn numbers(ty: &TensorType, dice: &mut Dice) -> Data {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
    let number = |dice: &mut Dice| match ty.element.is_float() {
        true if dice.below(8) == 0 => Number::Float(special[dice.below(5) as usize]),
        true => Number::Float(dice.below(60) as f64 - 30.0),
        false => match dice.below(16) {
            0 => Number::Int(i128::MAX).within(ty.element),
            1 => Number::Int(i128::MIN).within(ty.element),
            _other => Number::Int(dice.below(60).into()),
        },
    };
    Data::of(ty.element, (0..ty.shape.elements()).map(|_| number(dice)).collect::<Vec<_>>().into_iter())
}

/// NaN is greater than all numbers.
fn order(a: Number, b: Number) -> Ordering {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a.cmp(&b),
        (a, b) => {
            let (a, b) = (a.as_float(), b.as_float());
            a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
    }
}

fn sorted(op: Op, ty: &TensorType, axis: usize, length: u64, data: &Data) -> Vec<i128> {
    let (lengths, stride) = (ty.shape.lengths(), ty.shape.strides()[axis] as usize);
    let along = lengths[axis] as usize;
    let mut result = vec![0; data.len() / along * length as usize];
    for row in 0..data.len() / along {
        let (outer, inner) = (row / stride, row % stride);
        let element = |at: &usize| data.get((outer * along + at) * stride + inner);
        let mut places: Vec<usize> = (0..along).collect();
        places.sort_by(|a, b| {
            let order = order(element(a), element(b));
            if op == Op::ArgTop { order.reverse() } else { order }
        });
        for (at, place) in places[..length as usize].iter().enumerate() {
            result[(outer * length as usize + at) * stride + inner] = *place as i128;
        }
    }
    result
}

/// Lengths of a shape, an axis, and how many elements are wanted.
const SHAPES: &[(&[u64], usize, u64)] = &[
    (&[1], 0, 1),
    (&[2], 0, 2),
    (&[3, 5], 0, 3),
    (&[32], 0, 32),
    (&[64], 0, 64),
    (&[33, 2], 0, 33),
    (&[2, 65], 1, 65),
    (&[129, 2], 0, 129),
    (&[300], 0, 7),
    (&[2, 700], 1, 1),
    (&[1030], 0, 600),
];

#[test]
fn axes_of_all_lengths_are_sorted() {
    let mut dice = Dice(41);
    for (i, (lengths, axis, wanted)) in SHAPES.iter().enumerate() {
        for op in [Op::ArgSort, Op::ArgTop] {
            let ty = TensorType::of([Scalar::F64, Scalar::I64][i % 2], lengths);
            let data = numbers(&ty, &mut dice);
            let found = interpret(&graph(op, &ty, *axis, *wanted), std::slice::from_ref(&data)).expect("it is sorted");
            assert_eq!(found[0], Data::Integers(sorted(op, &ty, *axis, *wanted, &data)), "{} of {ty}", op.name());
        }
    }
}

#[test]
fn devices_sort_all_types_of_elements() {
    let elements = [
        Scalar::F16,
        Scalar::Bf16,
        Scalar::F32,
        Scalar::F64,
        Scalar::I8,
        Scalar::U8,
        Scalar::I16,
        Scalar::U16,
        Scalar::I32,
        Scalar::U32,
        Scalar::I64,
        Scalar::U64,
    ];
    let mut dice = Dice(43);
    let sorts = |device: &girih_runtime::Device, op: Op, ty: &TensorType, wanted: u64, data: &Data| {
        let lowered =
            lower(&graph(op, ty, 1, wanted), Fusion::Full).unwrap_or_else(|error| panic!("{}", error.message));
        let found = run(device, &lowered, std::slice::from_ref(data));
        assert_eq!(found[0], Data::Integers(sorted(op, ty, 1, wanted, data)), "{} of {ty}", op.name());
    };
    for (i, element) in elements.into_iter().enumerate() {
        let ty = TensorType::of(element, &[2, 150]);
        let data = numbers(&ty, &mut dice);
        let op = [Op::ArgSort, Op::ArgTop][i % 2];
        sorts(&cpu(), op, &ty, 150, &data);
    }
    let ty = TensorType::of(Scalar::F32, &[2, 150]);
    let data = numbers(&ty, &mut dice);
    for device in [machine()].into_iter().chain(wgpu()) {
        sorts(&device, Op::ArgTop, &ty, 90, &data);
    }
    let ty = TensorType::of(Scalar::F32, &[1, 20_000]);
    let data = numbers(&ty, &mut dice);
    sorts(&cpu(), Op::ArgSort, &ty, 20_000, &data);
}

#[test]
fn more_elements_than_there_are_cannot_be_first() {
    let mut g = Graph::new();
    let x = g.input(Scalar::F32, &[2, 3]).expect("an input");
    let attrs = vec![Attr::List(AttrKind::Axis, vec![1]), Attr::List(AttrKind::Length, vec![4])];
    let error = g.push(Op::ArgSort, &[x], attrs).expect_err("there are three").message;
    assert_eq!(error, "`argsort` of f32[2, 3] has no 4 elements along axis 1");
}

/// Positions from -1 to one more than there are, most of them more than once, along each axis; few elements and many.
#[test]
fn elements_of_one_position_meet() {
    let mut dice = Dice(47);
    for (element, count, axis) in
        [(Scalar::I64, 9, 0), (Scalar::F64, 90, 0), (Scalar::I32, 200, 1), (Scalar::F32, 33, 1), (Scalar::U8, 70, 0)]
    {
        let lengths = |along: u64| if axis == 0 { [along, 2] } else { [2, along] };
        let mut g = Graph::new();
        let x = g.input(element, &lengths(12)).expect("an input");
        let index = g.input(Scalar::I32, &lengths(count)).expect("an input");
        let y = g.input(element, &lengths(count)).expect("an input");
        let ways = [Meeting::Sum, Meeting::Product, Meeting::Greatest, Meeting::Least];
        g.outputs = ways.map(|by| g.combined_at(by, [x, index, y], axis).expect("it fits")).to_vec();
        let wanted = |dice: &mut Dice| Number::Int(i128::from(dice.below(14)) - 1);
        let index = Data::of(Scalar::I32, (0..2 * count).map(|_| wanted(&mut dice)).collect::<Vec<_>>().into_iter());
        let inputs = [dice.data(g.ty(x), 0.5, 1.5), index, dice.data(g.ty(y), 0.5, 1.5)];
        let expected: Vec<Data> = ways.iter().map(|by| met(*by, &inputs, (element, axis, count as usize))).collect();
        let lowered = lower(&g, Fusion::Full).unwrap_or_else(|error| panic!("{}", error.message));
        compare("meetings", &g, &interpret(&g, &inputs).expect("the oracle computes it"), &expected);
        compare("meetings", &g, &run(&cpu(), &lowered, &inputs), &expected);
    }
}

/// What `combined_at` means, for two dimensions of which the axis has twelve elements.
fn met(by: Meeting, [x, index, y]: &[Data; 3], (element, axis, count): (Scalar, usize, usize)) -> Data {
    let mut all: Vec<Number> = (0..x.len()).map(|at| x.get(at)).collect();
    for at in 0..y.len() {
        let other = if axis == 0 { at % 2 } else { at / count };
        let wanted = index.get(at).as_int();
        if !(0..12).contains(&wanted) {
            continue;
        }
        let place = if axis == 0 { wanted as usize * 2 + other } else { other * 12 + wanted as usize };
        let own = &mut all[place];
        *own = match (*own, y.get(at)) {
            (Number::Int(a), Number::Int(b)) => {
                let both = match by {
                    Meeting::Sum => a + b,
                    Meeting::Product => a * b,
                    Meeting::Greatest => a.max(b),
                    Meeting::Least => a.min(b),
                };
                Data::of(element, std::iter::once(Number::Int(both))).get(0)
            }
            (a, b) => {
                let (a, b) = (a.as_float(), b.as_float());
                Number::Float(match by {
                    Meeting::Sum => a + b,
                    Meeting::Product => a * b,
                    Meeting::Greatest => a.max(b),
                    Meeting::Least => a.min(b),
                })
            }
        };
    }
    Data::of(element, all.into_iter())
}

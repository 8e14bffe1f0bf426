//! Random graphs: elements of one float type, smooth operations, shapes, views, reductions, products.

use crate::samples::Dice;
use girih_ir::Scalar;
use girih_tensor::{Data, Graph, NodeId, Number, Op, Shape};

/// A graph of about so many operations, and numbers for it. Its outputs are the nodes that no other uses.
pub fn graph(seed: u64, float: Scalar, size: usize) -> (Graph, Vec<Data>) {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    for _ in 0..4 {
        dice.next();
    }
    let mut graph = Graph::new();
    let mut pool = vec![];
    for _ in 0..=dice.below(3) {
        let lengths: Vec<u64> = (0..dice.below(4)).map(|_| 1 + dice.below(5)).collect();
        pool.push(graph.input(float, &lengths).expect("an input"));
    }
    for _ in 0..size {
        let node = step(&mut graph, &mut dice, &pool);
        pool.push(node);
    }
    let used: Vec<NodeId> = graph.nodes.iter().flat_map(|node| node.operands.clone()).collect();
    graph.outputs = pool.into_iter().filter(|id| !used.contains(id)).collect();
    let inputs = graph.inputs().iter().map(|id| dice.data(graph.ty(*id), -1.0, 1.0)).collect();
    (graph, inputs)
}

/// A node on random ones before.
fn step(g: &mut Graph, dice: &mut Dice, pool: &[NodeId]) -> NodeId {
    let x = pool[dice.below(pool.len() as u64) as usize];
    let shape = g.shape(x).clone();
    let (rank, lengths) = (shape.rank() as u64, shape.lengths());
    let made = match dice.below(12) {
        0 | 1 => {
            let smooth = [Op::Sin, Op::Cos, Op::Tanh, Op::Sigmoid, Op::Gelu, Op::Neg, Op::Softplus];
            g.op(smooth[dice.below(smooth.len() as u64) as usize], &[x])
        }
        2..=4 => {
            let fits = |id: &&NodeId| {
                let other = g.shape(**id);
                let both = (0..8).map(|i| (other.rank().checked_sub(i + 1), shape.rank().checked_sub(i + 1)));
                let length = |shape: &Shape, i: Option<usize>| i.map_or(1, |i| shape.length(i));
                both.map(|(a, b)| (length(other, a), length(&shape, b))).all(|(a, b)| a == b || a == 1 || b == 1)
            };
            let others: Vec<NodeId> = pool.iter().filter(fits).copied().collect();
            let other = others[dice.below(others.len() as u64) as usize];
            g.binary([Op::Add, Op::Sub, Op::Mul][dice.below(3) as usize], x, other)
        }
        5 => {
            let axes: Vec<u64> = (0..rank).filter(|_| dice.below(2) == 0).collect();
            let op = [Op::Sum, Op::Mean, Op::LogSumExp, Op::Amax][dice.below(4) as usize];
            g.along(op, x, &axes)
        }
        6 if rank > 0 => g.along(Op::Softmax, x, &[dice.below(rank)]),
        7 => {
            let mut axes: Vec<u64> = (0..rank).collect();
            (1..axes.len()).for_each(|i| axes.swap(i, dice.below(i as u64 + 1) as usize));
            g.permute(x, &axes)
        }
        8 if rank > 1 => {
            let joined: Vec<u64> = [lengths[0] * lengths[1]].into_iter().chain(lengths[2..].to_vec()).collect();
            g.reshape(x, &Shape::of(&joined))
        }
        9 => {
            let high: Vec<u64> = lengths.iter().map(|_| dice.below(2)).collect();
            let low: Vec<u64> = lengths.iter().map(|_| dice.below(2)).collect();
            g.pad(x, &low, &high, Number::Float(0.5))
        }
        10 => {
            let start: Vec<u64> = lengths.iter().map(|n| dice.below(*n)).collect();
            let step: Vec<u64> = lengths.iter().map(|_| 1 + dice.below(2)).collect();
            g.strided(x, &start, &lengths, &step)
        }
        11 if rank == 2 => {
            let t = g.transpose(x).expect("a transpose");
            g.op(Op::Matmul, &[x, t])
        }
        _other => g.op(Op::Square, &[x]),
    };
    made.expect("a random node fits")
}

#[test]
fn graphs_mean_the_same_after_decomposition_and_pruning() {
    for seed in 0..girih_workbench::sample("GIRIH_TENSOR_GRAPHS", 100, 5000) {
        let (graph, inputs) = graph(seed, Scalar::F64, 10);
        let plain = girih_tensor::decompose(&graph).expect("it is decomposed");
        assert!(plain.nodes.iter().all(|node| node.op.decomposition().is_none()));
        let types = |g: &Graph| g.outputs.iter().map(|id| g.ty(*id).clone()).collect::<Vec<_>>();
        assert_eq!(types(&graph), types(&plain), "seed {seed}");
        let results = girih_tensor::interpret(&graph, &inputs).expect("it is computed");
        assert_eq!(results, girih_tensor::interpret(&plain, &inputs).expect("it is computed"), "seed {seed}");
    }
}

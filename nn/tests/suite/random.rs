//! Random programs of tensors against the oracle. `GIRIH_TENSOR_GRAPHS` says how many.

use crate::devices::{check, cpu, wgpu};
use girih_nn::{Device, Random, Tensor, concat};

/// Random choices: Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % count
    }
}

/// A tensor of some random steps. All of its steps keep numbers small.
fn program(device: &Device, seed: u64) -> Tensor {
    let (mut dice, random) = (Dice(seed), Random::new(device, seed));
    let lengths: Vec<u64> = (0..1 + dice.below(3)).map(|_| 1 + dice.below(6)).collect();
    let input = |shape: &[u64]| random.uniform(shape, -1.0, 1.0).detach().expect("numbers");
    let mut x = input(&lengths);
    for _ in 0..8 {
        let shape = x.shape();
        let axis = dice.below(shape.len() as u64) as i64;
        let length = shape[axis as usize];
        let mut row = shape.clone();
        row[axis as usize] = 1;
        x = match dice.below(16) {
            0 => &x + &input(&row),
            1 => &x * &input(&shape[shape.len() - 1..]),
            2 => x.tanh(),
            3 => x.sin() * 0.5,
            4 => x.softmax(axis),
            5 => x.normalise([axis], 0.1),
            6 => &x - &x.mean([axis]).unsqueeze(axis),
            7 if shape.len() > 1 => x.sum([axis]) * 0.25,
            8 => x.flip([axis]),
            9 => x.transpose(0, axis),
            10 if length > 1 => x.narrow(axis, 1, length),
            11 => x.pad(vec![1; shape.len()], vec![0; shape.len()], 0.5),
            12 if length < 12 => concat(&[&x, &x.relu()], axis).expect("there are two"),
            13 if shape.len() > 1 => {
                let inner = shape[shape.len() - 1];
                x.matmul(&input(&[inner, 1 + dice.below(20)])) * 0.2
            }
            14 if shape.len() < 4 => x.unsqueeze(axis),
            15 => x.gt(0.1).select(&x, x.max([axis]).unsqueeze(axis) * 0.5),
            _too_small_or_large => x.gelu(),
        };
    }
    x
}

/// A tensor of some random steps of more kinds, in which one dimension may be longer than a tile has rows.
fn wide_program(device: &Device, seed: u64) -> Tensor {
    let (mut dice, random) = (Dice(seed ^ 0x5EED), Random::new(device, seed));
    let mut lengths: Vec<u64> = (0..1 + dice.below(3)).map(|_| 1 + dice.below(5)).collect();
    let long = dice.below(lengths.len() as u64) as usize;
    lengths[long] = [1, 17, 33, 64, 130, 1100][dice.below(6) as usize];
    let input = |shape: &[u64]| random.uniform(shape, -1.0, 1.0).detach().expect("numbers");
    let mut x = input(&lengths);
    for _ in 0..6 {
        let shape = x.shape();
        let rank = shape.len();
        let axis = dice.below(rank as u64) as i64;
        let length = shape[axis as usize];
        let small = x.len() < 3000;
        let positions = |dice: &mut Dice| {
            let all: Vec<i64> = (0..1 + dice.below(9)).map(|_| dice.below(length + 1) as i64 - 1).collect();
            device.tensor(&all, [all.len() as u64])
        };
        x = match dice.below(20) {
            0 => x.cumsum(axis) * 0.2,
            1 => x.index_select(axis, &positions(&mut dice)),
            2 => {
                let hot = input(&shape).argmax(axis).one_hot(length.min(7));
                &x.mean([axis]).unsqueeze(-1) + &hot * 0.5
            }
            3 => &x - &x.mean_all(),
            4 => x.flatten(dice.below(rank as u64)),
            5 => x.slice(vec![0; rank], shape.clone(), (0..rank).map(|_| 1 + dice.below(2)).collect::<Vec<_>>()),
            6 if rank > 1 => x.tril(),
            7 => x.masked_fill(&x.gt(0.5), -0.5),
            8 if rank > 1 => x.logsumexp([axis]) * 0.2,
            9 if rank > 1 => x.var([axis]),
            10 if small && rank < 4 => {
                x.unsqueeze(axis).broadcast_to([&shape[..axis as usize], &[3], &shape[axis as usize..]].concat())
            }
            11 if rank == 2 && small => x.matmul(&x.transpose(0, 1)).tanh(),
            12 if rank > 1 => x.permute((0..rank as i64).map(|i| (i + 1) % rank as i64).collect::<Vec<_>>()),
            13 if small => concat(&[&x.relu(), &x, &x.abs()], axis).expect("there are three"),
            14 => {
                let at = positions(&mut dice);
                let mut row = shape.clone();
                row[axis as usize] = at.len();
                let mut one = vec![1; rank];
                one[axis as usize] = at.len();
                x.scatter_add(axis, &at.reshape(one).broadcast_to(row.clone()), &input(&row))
            }
            15 => x.softmax(axis) + x.log_softmax(axis) * 0.1,
            16 if rank == 3 && shape[1] > 1 && shape[2] > 1 => {
                x.unsqueeze(0).max_pool2d([2, 2], [1, 1], [0, 1]).squeeze(0)
            }
            17 => x.clamp(-0.4, 0.6).sinh() * 0.5,
            18 if small => x.pad(vec![0; rank], vec![2; rank], -0.25),
            _rest => x.silu(),
        };
    }
    x
}

fn programs(device: &Device, count: u64, program: fn(&Device, u64) -> Tensor) {
    for seed in 0..count {
        let x = program(device, seed);
        check(&format!("seed {seed}"), &x);
        // Its derivative by the first input is a program, too.
        let (_, inputs) = x.graph().expect("it is right");
        check(&format!("derivative, seed {seed}"), &x.square().mean_all().grad(&[&inputs[0]])[0]);
    }
}

#[test]
fn random_programs_on_the_processor() {
    programs(&cpu(), girih_workbench::sample("GIRIH_TENSOR_GRAPHS", 12, 250), program);
}
#[test]
fn random_programs_on_wgpu() {
    if let Some(device) = wgpu() {
        programs(&device, girih_workbench::sample("GIRIH_TENSOR_GRAPHS", 2, 30), program);
    }
}
#[test]
fn wide_random_programs_on_the_processor() {
    programs(&cpu(), girih_workbench::sample("GIRIH_TENSOR_GRAPHS", 4, 60), wide_program);
}
#[test]
fn wide_random_programs_on_wgpu() {
    if let Some(device) = wgpu() {
        programs(&device, girih_workbench::sample("GIRIH_TENSOR_GRAPHS", 1, 15), wide_program);
    }
}

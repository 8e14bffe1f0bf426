//! The dense proofs: row softmax and the two matmuls, each against the same computed in f64.

use super::machine::{Machine, f16_bits, from_f16_bits};
use girih_runtime::{Argument, Command, Dispatch, Grid};
use std::time::Duration;

/// Numbers between -range and range that repeat for nobody: a counter, mixed.
pub fn numbers(count: usize, seed: u32, range: f32) -> Vec<f32> {
    (0..count as u32)
        .map(|i| {
            let mut x = i.wrapping_mul(0x9e37_79b1) ^ seed.wrapping_mul(0x85eb_ca6b);
            x = (x ^ x >> 15).wrapping_mul(0x2c1b_3c6d);
            x = (x ^ x >> 12).wrapping_mul(0x297a_2d39);
            ((x >> 8) as f32 / (1 << 23) as f32 - 1.0) * range
        })
        .collect()
}

/// The greatest difference between a device's softmax and the true one, and how long it took.
pub fn softmax(machine: &mut Machine, rows: usize, columns: usize) -> (f64, Duration) {
    let source = numbers(rows * columns, columns as u32, 8.0);
    let [program] = machine.load(include_str!("../../ir/proofs/softmax.gir"), ["softmax"]);
    let x = machine.buffer(&source.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
    let y = machine.buffer(&vec![f32::NAN.to_bits(); rows * columns]);
    let arguments =
        vec![Argument::buffer(&x), Argument::buffer(&y), Machine::u32(rows as u32), Machine::u32(columns as u32)];
    let elapsed = machine.median(Command::Dispatch(Dispatch { program, arguments, grid: Grid::Own }));
    let found = machine.read(&y, rows * columns);
    let mut worst = 0f64;
    for (row, found) in source.chunks(columns).zip(found.chunks(columns)) {
        let high = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> = row.iter().map(|v| (f64::from(*v) - f64::from(high)).exp()).collect();
        let sum: f64 = powers.iter().sum();
        for (p, f) in powers.iter().zip(found) {
            let difference = (p / sum - f64::from(f32::from_bits(*f))).abs() * columns as f64;
            // `max` would take a NaN for nothing.
            if difference.is_nan() || difference > worst {
                worst = difference;
            }
        }
    }
    (worst, elapsed)
}

/// A matmul of the proofs: which file, and what its sides are multiples of.
pub struct Matmul {
    pub text: &'static str,
    pub tile: [usize; 3],
}

/// By warpgroup products.
pub const WGMMA: Matmul = Matmul { text: include_str!("../../ir/proofs/matmul_wgmma.gir"), tile: [128, 256, 64] };
/// By cooperative matrices.
pub const COOP: Matmul = Matmul { text: include_str!("../../ir/proofs/matmul_coop.gir"), tile: [128, 128, 32] };

/// The relative error (Frobenius, over some rows) of c = a x b, and how long it took.
pub fn matmul(machine: &mut Machine, which: &Matmul, m: usize, n: usize, k: usize) -> (f64, Duration) {
    for (side, tile) in [m, n, k].into_iter().zip(which.tile) {
        assert_eq!(side % tile, 0);
    }
    let half = |v: &[f32]| v.iter().map(|x| f16_bits(*x)).collect::<Vec<u16>>();
    // a is m x k, b is n x k.
    let (a, b) = (half(&numbers(m * k, 1, 1.0)), half(&numbers(n * k, 2, 1.0)));
    let [program] = machine.load(which.text, ["matmul"]);
    let words = |v: &[u16]| v.chunks(2).map(|p| u32::from(p[0]) | u32::from(p[1]) << 16).collect::<Vec<u32>>();
    let (da, db) = (machine.buffer(&words(&a)), machine.buffer(&words(&b)));
    let dc = machine.buffer(&vec![0x7fff_7fff; m * n / 2]);
    let mut arguments: Vec<Argument> = [&da, &db, &dc].into_iter().map(Argument::buffer).collect();
    arguments.extend([m, n, k].map(|x| Machine::u32(x as u32)));
    let elapsed = machine.median(Command::Dispatch(Dispatch { program, arguments, grid: Grid::Own }));
    let c = machine.read(&dc, m * n / 2);

    let wide = |v: &[u16]| v.iter().map(|x| f64::from(from_f16_bits(*x))).collect::<Vec<f64>>();
    let (mut off, mut all) = (0f64, 0f64);
    let some_rows = (0..m).step_by((m / 37).max(1));
    let some_columns: Vec<usize> = (0..n).step_by((n / 101).max(1)).collect();
    for i in some_rows {
        let row = wide(&a[i * k..(i + 1) * k]);
        for j in &some_columns {
            let column = wide(&b[j * k..(j + 1) * k]);
            let wanted: f64 = row.iter().zip(&column).map(|(x, y)| x * y).sum();
            let at = i * n + j;
            let found = f64::from(from_f16_bits((c[at / 2] >> (16 * (at % 2))) as u16));
            off += (found - wanted) * (found - wanted);
            all += wanted * wanted;
        }
    }
    ((off / all).sqrt(), elapsed)
}

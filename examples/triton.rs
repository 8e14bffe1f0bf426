//! Launches a Triton kernel with Rust arrays: softmax of each row of a matrix.

use girih::devices::{Selector, open};
use girih::triton::KernelFile;
use girih::{Error, args};

const ROWS: u32 = 4;
const COLUMNS: u32 = 100;

/// Computes the softmax of four rows.
pub fn main() -> Result<(), Error> {
    let device = open(&Selector::Auto, None)?;
    let softmax = KernelFile::open("shaders/softmax.py")?.kernel("softmax")?;
    let input: Vec<f32> = (0..ROWS * COLUMNS).map(|i| (i % 7) as f32).collect();
    let mut output = vec![0.0_f32; input.len()];
    let arguments = args![&mut output, &input, COLUMNS, COLUMNS, ROWS, COLUMNS; BLOCK = 128];
    softmax.launch(&device, [ROWS, 1, 1], arguments)?;
    for row in output.chunks(COLUMNS as usize) {
        let sum: f32 = row.iter().sum();
        println!("{:?}.., in all {sum}", &row[..3]);
        assert!((sum - 1.0).abs() < 1e-5);
    }
    Ok(())
}

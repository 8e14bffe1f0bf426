//! Trains a network of two dense layers to read digits, saves it, loads it, and reads a digit that it has not seen.
//!
//! ```console
//! $ cargo run --release --example mnist_like
//! ```

mod digits;

use digits::{SIZE, drawn};
use girih::Error;
use girih::devices::Selector;
use girih::tensor::nn::Linear;
use girih::tensor::optim::Adam;
use girih::tensor::{self, Device, Module, Random, Tensor, loss};
use std::path::Path;

/// How many digits a step sees.
const BATCH: usize = 64;

/// Pictures to ten numbers each; the greatest says which digit it is.
#[derive(Module)]
struct Network {
    hidden: Linear,
    output: Linear,
}

impl Network {
    fn new(random: &Random) -> Network {
        Network { hidden: Linear::new(random, SIZE * SIZE, 64), output: Linear::new(random, 64, 10) }
    }
    fn forward(&self, pictures: &Tensor) -> Tensor {
        self.output.forward(&self.hidden.forward(pictures).relu())
    }
}

/// Trains with so many digits and saves the network in a folder. Gives the share of digits that it had not seen and reads right.
pub fn train(device: &Device, count: usize, folder: &Path) -> Result<f64, Error> {
    let random = Random::new(device, 1);
    let network = Network::new(&random);
    let mut adam = Adam::new(&network, 2e-3)?;
    let (pixels, wanted) = drawn(count, 1);
    for round in 0..5 {
        let mut last = 0.0;
        for (pixels, wanted) in pixels.chunks_exact(BATCH * (SIZE * SIZE) as usize).zip(wanted.chunks_exact(BATCH)) {
            let x = device.tensor(pixels, [BATCH as u64, SIZE * SIZE]);
            let classes = device.tensor(wanted, [BATCH as u64]);
            last = adam.step(&loss::cross_entropy(&network.forward(&x), &classes))?.item::<f32>()?;
        }
        eprintln!("round {}: loss {last:.3}", round + 1);
    }
    tensor::save(&network, folder.join("mnist_like.safetensors"))?;
    let (pixels, wanted) = drawn(1000, 2);
    let read = network.forward(&device.tensor(&pixels, [1000, SIZE * SIZE])).argmax(1).to_vec::<i64>()?;
    let right = read.iter().zip(&wanted).filter(|(read, wanted)| **read == i64::from(**wanted)).count();
    Ok(right as f64 / 1000.0)
}

/// Reads a digit by the network that was saved in a folder.
pub fn predict(device: &Device, folder: &Path, pixels: &[f32]) -> Result<i64, Error> {
    let network = Network::new(&Random::new(device, 0));
    tensor::load(&network, folder.join("mnist_like.safetensors"))?;
    Ok(network.forward(&device.tensor(pixels, [1, SIZE * SIZE])).argmax(1).item()?)
}

/// Trains with so many digits; then reads one. Gives the share of digits that are read right, the digit, and what it is read as.
pub fn run(count: usize, folder: &Path) -> Result<(f64, i32, i64), Error> {
    let device = tensor::open(&Selector::Auto)?;
    let accuracy = train(&device, count, folder)?;
    let (pixels, digit) = drawn(1, 3);
    Ok((accuracy, digit[0], predict(&device, folder, &pixels)?))
}

/// Runs the example with the arguments of the command line.
///
/// # Errors
/// What is wrong with them, or with the device.
pub fn main() -> Result<(), Error> {
    let (accuracy, digit, read) = run(6400, Path::new("."))?;
    println!("{:.1} % of digits that it had not seen are right; a {digit} is read as {read}", accuracy * 100.0);
    Ok(())
}

//! Training: shows all pictures in rounds, measures the network on pictures that it does not learn from, keeps weights and the curve.

use super::network::Network;
use super::pictures::{self, Picture, SIZE};
use super::{Settings, curve};
use girih::devices::Selector;
use girih::tensor::optim::Adam;
use girih::tensor::{self, Device, Random, Tensor, loss};
use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;

/// How many pictures a step sees.
const BATCH: usize = 50;

/// Trains a network and saves it. Gives the share of pictures that it had not seen and is right about.
pub fn train(settings: &Settings) -> Result<f64, Box<dyn Error>> {
    let mut all = match &settings.data {
        Some(folder) => pictures::of_folder(folder)?,
        None => pictures::drawn(settings.drawn),
    };
    pictures::shuffle(&mut all, 1);
    let held = all.split_off(all.len() - (all.len() / 5).max(1));
    if all.len() < BATCH {
        return Err(format!("training needs {BATCH} pictures or more, and there are {}", all.len()).into());
    }
    let device = tensor::open(&Selector::parse(&settings.device)?)?;
    let network = Network::new(&Random::new(&device, 1));
    let mut adam = Adam::new(&network, 2e-3)?;
    let bar = bar(settings.rounds * (all.len() / BATCH));
    let mut right = vec![];
    for round in 0..settings.rounds {
        pictures::shuffle(&mut all, 2 + round as u64);
        for batch in all.chunks_exact(BATCH) {
            let (x, wanted) = tensors(&device, batch);
            let lost = adam.step(&loss::binary_cross_entropy(&network.forward(&x), &wanted))?;
            bar.set_message(format!("loss {:.3}", lost.item::<f32>()?));
            bar.inc(1);
        }
        right.push(accuracy(&device, &network, &held)?);
    }
    bar.finish_and_clear();
    tensor::save(&network, settings.weights())?;
    let svg = curve::svg(&right);
    girih::atomic_file::write_bytes(&settings.out.join("cats_and_dogs.svg"), svg)?;
    Ok(right.last().copied().unwrap_or(0.0))
}

/// Pictures, and 1 for each dog.
fn tensors(device: &Device, batch: &[Picture]) -> (Tensor, Tensor) {
    let pixels: Vec<f32> = batch.iter().flat_map(|picture| picture.pixels.iter().copied()).collect();
    let dogs: Vec<f32> = batch.iter().map(|picture| f32::from(u8::from(picture.is_dog))).collect();
    let count = batch.len() as u64;
    (device.tensor(&pixels, [count, 3, SIZE, SIZE]), device.tensor(&dogs, [count]))
}

/// The share of pictures that a network is right about.
fn accuracy(device: &Device, network: &Network, held: &[Picture]) -> Result<f64, Box<dyn Error>> {
    let mut right = 0.0;
    for batch in held.chunks(BATCH) {
        let (x, wanted) = tensors(device, batch);
        let is_dog = network.forward(&x).gt(0.0);
        right += f64::from(is_dog.eq(wanted.gt(0.5)).select(1.0, 0.0).sum_all().item::<f32>()?);
    }
    Ok(right / held.len() as f64)
}

/// A bar on a terminal; nothing where errors go to a file.
fn bar(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg} {eta}");
    ProgressBar::new(steps as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

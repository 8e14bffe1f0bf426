//! Trains a network that tells cats from dogs, and says what it thinks of pictures.
//!
//! ```console
//! $ cargo run --release --example cats_and_dogs                            # with pictures that it draws
//! $ cargo run --release --example cats_and_dogs -- --data FOLDER           # with those of FOLDER/cats and FOLDER/dogs
//! $ cargo run --release --example cats_and_dogs -- --predict PICTURE.png   # by the weights that were saved
//! ```

mod curve;
mod network;
mod pictures;
mod training;

use clap::Parser;
use girih::devices::Selector;
use girih::tensor::{self, Random};
use network::Network;
use std::error::Error;
use std::path::PathBuf;
pub use training::train;

/// Tells cats from dogs.
#[derive(Parser)]
pub struct Settings {
    /// A folder with pictures in `cats` and `dogs`; without one, pictures are drawn.
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// How many pictures are drawn.
    #[arg(long, default_value_t = 2000)]
    pub drawn: usize,
    /// How often all pictures are shown.
    #[arg(long, default_value_t = 6)]
    pub rounds: usize,
    /// Where weights and the curve are written.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub out: PathBuf,
    /// What computes: `auto`, `cpu`, `cuda`, `wgpu`.
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// A picture to look at, by weights that were saved before.
    #[arg(long, value_name = "PICTURE")]
    pub predict: Option<PathBuf>,
}

impl Settings {
    /// Where weights are kept.
    pub fn weights(&self) -> PathBuf {
        self.out.join("cats_and_dogs.safetensors")
    }
}

/// How likely a picture shows a dog.
pub fn predict(settings: &Settings, picture: &std::path::Path) -> Result<f32, Box<dyn Error>> {
    let device = tensor::open(&Selector::parse(&settings.device)?)?;
    let network = Network::new(&Random::new(&device, 0));
    tensor::load(&network, settings.weights())?;
    let pixels = pictures::open(picture)?;
    Ok(network.forward(&device.tensor(&pixels, [1, 3, pictures::SIZE, pictures::SIZE])).sigmoid().item()?)
}

/// Runs the example with the arguments of the command line.
///
/// # Errors
/// What is wrong with them, or with the device.
pub fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings::parse();
    if let Some(picture) = &settings.predict {
        let dog = predict(&settings, picture)?;
        let (what, sure) = if dog > 0.5 { ("dog", dog) } else { ("cat", 1.0 - dog) };
        println!("{}: {what}, {:.0} %", picture.display(), sure * 100.0);
        return Ok(());
    }
    let accuracy = train(&settings)?;
    println!("{:.1} % of pictures that it had not seen are right", accuracy * 100.0);
    println!("weights: {}", settings.weights().display());
    Ok(())
}

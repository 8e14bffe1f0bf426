//! Trains a small GPT on the characters of a text, saves it, and writes text that looks like it.
//!
//! ```console
//! $ cargo run --release --example char_gpt                              # with a page of Girih's own documentation
//! $ cargo run --release --example char_gpt -- --text FILE --steps 2000  # with a text of yours
//! ```

mod network;
mod text;

use clap::Parser;
use girih::devices::Selector;
use girih::tensor::optim::Adam;
use girih::tensor::schedule::Schedule;
use girih::tensor::{self, Device, Random, loss};
use network::{Network, Sizes};
use std::error::Error;
use std::path::PathBuf;
use text::Text;

/// What the network learns where no text is given.
const PAGE: &str = include_str!("../../docs/guide.md");

/// Learns to write text, a character after the other.
#[derive(Parser)]
pub struct Settings {
    /// The text to learn; without one, a page of documentation.
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,
    /// How many steps it learns.
    #[arg(long, default_value_t = 1000)]
    pub steps: u64,
    /// How many pieces of text a step sees.
    #[arg(long, default_value_t = 16)]
    pub batch: u64,
    /// How many characters a piece has: as far as the network looks back.
    #[arg(long, default_value_t = 64)]
    pub length: u64,
    /// How many numbers stand for a character; a multiple of 4.
    #[arg(long, default_value_t = 64)]
    pub features: u64,
    /// How many blocks of attention there are.
    #[arg(long, default_value_t = 3)]
    pub blocks: u64,
    /// How many characters are written in the end.
    #[arg(long, default_value_t = 500)]
    pub write: u64,
    /// Below 1 likely characters become more likely.
    #[arg(long, default_value_t = 0.8)]
    pub temperature: f32,
    /// Where weights are written.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub out: PathBuf,
    /// What computes: `auto`, `cpu`, `cuda`, `wgpu`.
    #[arg(long, default_value = "auto")]
    pub device: String,
}

/// What training has given.
pub struct Learnt {
    /// The loss of the first steps, and of the last ones.
    pub losses: [f32; 2],
    /// What the network writes.
    pub written: String,
}

/// Trains a network, saves it, and lets it write.
///
/// # Errors
/// What is wrong with the text or the device.
pub fn learn(settings: &Settings) -> Result<Learnt, Box<dyn Error>> {
    let device = tensor::open(&Selector::parse(&settings.device)?)?;
    let page = match &settings.text {
        Some(file) => std::fs::read_to_string(file).map_err(|error| format!("`{}`: {error}", file.display()))?,
        None => PAGE.to_owned(),
    };
    let text = Text::new(&page, settings.length)?;
    let random = Random::new(&device, 1);
    let sizes = Sizes {
        characters: text.characters(),
        length: settings.length,
        features: settings.features,
        blocks: settings.blocks,
    };
    let network = Network::new(&random, sizes);
    let losses = train(&device, &network, &text, settings)?;
    tensor::save(&network, settings.out.join("char_gpt.safetensors"))?;
    Ok(Learnt { losses, written: write(&device, &network, &text, settings)? })
}

/// Trains; gives the mean losses of the first and the last ten steps.
fn train(device: &Device, network: &Network, text: &Text, settings: &Settings) -> Result<[f32; 2], Box<dyn Error>> {
    let mut adam = Adam::new(network, 0.0)?;
    (adam.decay, adam.clip) = (0.1, Some(1.0));
    let schedule = Schedule::Cosine { rate: 3e-3, warmup: settings.steps / 20, steps: settings.steps, least: 1e-4 };
    let mut losses = vec![];
    for step in 0..settings.steps {
        let (seen, next) = text.pieces(settings.batch, step);
        let [seen, next] = [seen, next].map(|all| device.tensor(&all, [settings.batch, settings.length]));
        adam.rate = schedule.at(step);
        losses.push(adam.step(&loss::cross_entropy(&network.forward(&seen), &next))?.item::<f32>()?);
        if (step + 1) % 100 == 0 {
            eprintln!("step {}: loss {:.3}", step + 1, losses[step as usize]);
        }
    }
    let mean = |some: &[f32]| some.iter().sum::<f32>() / some.len().max(1) as f32;
    let few = losses.len().min(10);
    Ok([mean(&losses[..few]), mean(&losses[losses.len() - few..])])
}

/// Lets a network write, from a new line on.
fn write(device: &Device, network: &Network, text: &Text, settings: &Settings) -> Result<String, Box<dyn Error>> {
    let random = Random::new(device, 2);
    let mut written: Vec<i32> = vec![text.start()];
    for _ in 0..settings.write {
        // The window has always the same length, so all characters run the same kernels; what stands behind the last one is not looked at.
        let from = written.len().saturating_sub(settings.length as usize);
        let mut window = written[from..].to_vec();
        let last = device.tensor(&[window.len() as i64 - 1], [1]);
        window.resize(settings.length as usize, 0);
        let logits = network.forward(&device.tensor(&window, [1, settings.length])).index_select(1, &last);
        let temperature = device.scalar(settings.temperature.max(1e-3));
        let next = random.categorical(&(logits / temperature)).item::<i64>()?;
        written.push(i32::try_from(next)?);
    }
    Ok(text.shown(&written[1..]))
}

/// Runs the example with the arguments of the command line.
///
/// # Errors
/// What is wrong with them, or with the device.
pub fn main() -> Result<(), Box<dyn Error>> {
    let learnt = learn(&Settings::parse())?;
    println!("the loss went from {:.3} to {:.3}; it writes:\n\n{}", learnt.losses[0], learnt.losses[1], learnt.written);
    Ok(())
}

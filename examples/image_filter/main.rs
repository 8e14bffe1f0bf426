//! Filters a picture on any device: sharper, softer, its edges, or as a relief. Without a picture it filters one that it draws.
//!
//! ```console
//! $ cargo run --release --example image_filter -- edges photo.jpg edges.png
//! ```

mod filters;

use clap::Parser;
pub use filters::Filter;
use girih::devices::Selector;
use girih::tensor::{self, Device};
use image::{Rgb, RgbImage};
use std::error::Error;
use std::path::PathBuf;

/// Filters a picture.
#[derive(Parser)]
pub struct Settings {
    /// What is done with it.
    #[arg(default_value = "edges")]
    pub filter: Filter,
    /// The picture, a PNG or JPEG file; without one, a picture is drawn.
    pub picture: Option<PathBuf>,
    /// Where the filtered picture is written.
    #[arg(default_value = "filtered.png")]
    pub out: PathBuf,
    /// What computes: `auto`, `cpu`, `cuda`, `wgpu`.
    #[arg(long, default_value = "auto")]
    pub device: String,
}

/// Rings that become narrower towards the edge.
pub fn drawn() -> RgbImage {
    RgbImage::from_fn(320, 240, |x, y| {
        let (across, down) = (f64::from(x) - 160.0, f64::from(y) - 120.0);
        let ring = ((across * across + down * down) / 400.0).sin();
        Rgb([if ring > 0.0 { 220 } else { 40 }, (x * 255 / 320) as u8, (y * 255 / 240) as u8])
    })
}

/// A picture, filtered on a device.
///
/// # Errors
/// What the device says.
pub fn filtered(device: &Device, filter: Filter, picture: &RgbImage) -> Result<RgbImage, Box<dyn Error>> {
    let (width, height) = picture.dimensions();
    let bytes: &[u8] = picture.as_raw();
    // From red, green and blue of each pixel to three pictures of one colour, from 0 to 1.
    let pixels = device.tensor(bytes, [height.into(), width.into(), 3]).to(girih::tensor::Scalar::F32) / 255.0;
    let colours = pixels.permute([2, 0, 1]);
    let bytes = (filter.apply(&colours).clamp(0.0, 1.0) * 255.0 + 0.5).permute([1, 2, 0]).to(girih::tensor::Scalar::U8);
    let pixels = bytes.to_vec::<u8>()?;
    RgbImage::from_raw(width, height, pixels).ok_or_else(|| "the picture has lost pixels".into())
}

/// Filters a picture, or one that is drawn, and writes it.
///
/// # Errors
/// If a file cannot be read or written, or what the device says.
pub fn run(settings: &Settings) -> Result<(), Box<dyn Error>> {
    let picture = match &settings.picture {
        Some(path) => image::open(path).map_err(|error| format!("{}: {error}", path.display()))?.to_rgb8(),
        None => drawn(),
    };
    let device = tensor::open(&Selector::parse(&settings.device)?)?;
    let out = &settings.out;
    filtered(&device, settings.filter, &picture)?.save(out).map_err(|error| format!("{}: {error}", out.display()))?;
    Ok(())
}

/// Runs the example with the arguments of the command line.
///
/// # Errors
/// As [`run`].
pub fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings::parse();
    run(&settings)?;
    println!("{} is written", settings.out.display());
    Ok(())
}

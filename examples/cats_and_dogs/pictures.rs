//! Pictures of cats and dogs: from a folder, or drawn.
//!
//! A drawn cat has pointed ears above its head and whiskers; a dog has ears that hang down beside it, and a muzzle. Colours, sizes, places and the grain are random.

use image::imageops::FilterType;
use std::error::Error;
use std::path::{Path, PathBuf};

/// Width and height of all pictures, in pixels.
pub const SIZE: u64 = 32;

/// A picture and what it shows.
pub struct Picture {
    /// Red, then green, then blue of all pixels, from -1 to 1.
    pub pixels: Vec<f32>,
    /// Whether it shows a dog, not a cat.
    pub is_dog: bool,
}

/// The pixels of a file.
pub fn open(path: &Path) -> Result<Vec<f32>, Box<dyn Error>> {
    let picture = image::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let picture = picture.resize_exact(SIZE as u32, SIZE as u32, FilterType::Triangle).to_rgb8();
    let channel = |channel: usize| picture.pixels().map(move |pixel| f32::from(pixel.0[channel]) / 127.5 - 1.0);
    Ok((0..3).flat_map(channel).collect())
}

/// The pictures in `cats` and `dogs` of a folder.
pub fn of_folder(folder: &Path) -> Result<Vec<Picture>, Box<dyn Error>> {
    let mut all = vec![];
    for (name, is_dog) in [("cats", false), ("dogs", true)] {
        let folder = folder.join(name);
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
        paths.sort();
        for path in paths {
            all.push(Picture { pixels: open(&path)?, is_dog });
        }
    }
    Ok(all)
}

/// So many drawn pictures, half of them dogs.
pub fn drawn(count: usize) -> Vec<Picture> {
    let mut dice = Dice(7);
    (0..count).map(|number| draw(&mut dice, number % 2 == 1)).collect()
}

/// Puts them into a random order.
pub fn shuffle(pictures: &mut [Picture], seed: u64) {
    let mut dice = Dice(seed);
    for last in (1..pictures.len()).rev() {
        pictures.swap(last, (dice.next() % (last as u64 + 1)) as usize);
    }
}

/// Random numbers: Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.next() >> 40) as f32 / (1 << 24) as f32
    }
    fn colour(&mut self) -> [f32; 3] {
        std::array::from_fn(|_| self.between(-1.0, 1.0))
    }
}

/// Draws one: what is nearest to the front at each pixel, and grain.
fn draw(dice: &mut Dice, is_dog: bool) -> Picture {
    let (ground, fur, ear) = (dice.colour(), dice.colour(), dice.colour());
    let (middle, size) = ([dice.between(-0.25, 0.25), dice.between(-0.15, 0.25)], dice.between(0.4, 0.6));
    let (tilt, grain) = (dice.between(-0.3, 0.3), dice.between(0.02, 0.2));
    let mut pixels = vec![0.0; 3 * (SIZE * SIZE) as usize];
    for at in 0..(SIZE * SIZE) as usize {
        let place = [at as u64 % SIZE, at as u64 / SIZE].map(|at| (at as f32 + 0.5) / (SIZE as f32 / 2.0) - 1.0);
        let (x, y) = ((place[0] - middle[0]) / size, (place[1] - middle[1]) / size);
        let (x, y) = (x * tilt.cos() + y * tilt.sin(), y * tilt.cos() - x * tilt.sin());
        let colour = part(is_dog, x.abs(), y, ear, fur).unwrap_or(ground);
        for (channel, colour) in colour.iter().enumerate() {
            pixels[channel * (SIZE * SIZE) as usize + at] = colour + dice.between(-grain, grain);
        }
    }
    Picture { pixels, is_dog }
}

/// The colour of an animal at a place beside its middle; none outside. The head has radius 1.
fn part(is_dog: bool, x: f32, y: f32, ear: [f32; 3], fur: [f32; 3]) -> Option<[f32; 3]> {
    let inside = |cx: f32, cy: f32, rx: f32, ry: f32| ((x - cx) / rx).powi(2) + ((y - cy) / ry).powi(2) < 1.0;
    let dark = [-0.9; 3];
    if inside(0.4, -0.2, 0.13, 0.16) || inside(0.0, 0.3, 0.15, 0.1) {
        return Some(dark);
    }
    let is_whisker = (0.3..1.3).contains(&x) && ((y - 0.35).abs() < 0.05 || (y - 0.35 - 0.25 * (x - 0.3)).abs() < 0.05);
    let is_pointed_ear = y < -0.5 && y > -1.6 && (x - 0.65).abs() < (y + 1.6) * 0.35;
    match is_dog {
        true if inside(0.95, 0.1, 0.28, 0.8) => Some(ear),
        true if inside(0.0, 0.5, 0.5, 0.4) => Some(fur.map(|part| part * 0.6 + 0.3)),
        false if is_whisker => Some(dark),
        false if is_pointed_ear => Some(ear),
        true | false => inside(0.0, 0.0, 1.0, 1.0).then_some(fur),
    }
}

//! Digits as small grey pictures: those of a font, moved, scaled, slanted and grained at random.

use font8x8::legacy::BASIC_LEGACY;

/// Width and height of all pictures, in pixels.
pub const SIZE: u64 = 16;

/// So many pictures, from 0 to 1, and the digits that they show. Another seed gives others.
pub fn drawn(count: usize, seed: u64) -> (Vec<f32>, Vec<i32>) {
    let mut dice = Dice(seed);
    let digits: Vec<i32> = (0..count).map(|_| (dice.unit() * 10.0) as i32).collect();
    let pixels = digits.iter().flat_map(|digit| draw(&mut dice, *digit as u8)).collect();
    (pixels, digits)
}

fn draw(dice: &mut Dice, digit: u8) -> Vec<f32> {
    let rows = BASIC_LEGACY[usize::from(b'0' + digit)];
    let (scale, slant) = (1.3 + 0.6 * dice.unit(), 0.6 * dice.unit() - 0.3);
    let (left, top) = (3.0 * dice.unit() - 0.5, 3.0 * dice.unit());
    let pixel = |at: u64| {
        let y = ((at / SIZE) as f32 - top) / scale;
        let x = ((at % SIZE) as f32 - left) / scale + slant * (y - 4.0);
        let is_inside = (0.0..8.0).contains(&x) && (0.0..8.0).contains(&y);
        let ink = if is_inside { rows[y as usize] >> x as u32 & 1 } else { 0 };
        0.8 * f32::from(ink) + 0.4 * (dice.unit() - 0.5)
    };
    (0..SIZE * SIZE).map(pixel).collect()
}

/// Random numbers in [0, 1): Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014.
struct Dice(u64);

impl Dice {
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32
    }
}

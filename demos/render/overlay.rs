//! Text over the picture: what is wrong with a shader is drawn in the window.

use font8x8::legacy::BASIC_LEGACY;
use girih::render::{Frame, Pixel, Size};
use std::time::Duration;

const INK: Pixel = [255, 236, 210, 255];
const PAPER: Pixel = [24, 12, 20, 225];
/// The side of a glyph, in its own dots.
const GLYPH: usize = 8;
/// The distance of lines, in dots.
const LINE: usize = 11;
/// The empty space around the text, in dots.
const MARGIN: usize = 8;

/// A picture of the text, of the size of the window.
pub fn draw(text: &str, size: Size) -> Frame {
    let (width, height) = (size.width() as usize, size.height() as usize);
    // Dots are enlarged where 80 columns still fit then.
    let dot = (width / (80 * GLYPH)).max(1);
    let columns = (width / dot).saturating_sub(2 * MARGIN) / GLYPH;
    let rows = (height / dot).saturating_sub(2 * MARGIN) / LINE;
    let mut pixels = vec![PAPER; width * height];
    let lines = text.lines().flat_map(|line| wrap(line, columns.max(1)));
    for (row, line) in lines.take(rows).enumerate() {
        for (column, glyph) in line.into_iter().enumerate() {
            let (left, top) = (MARGIN + column * GLYPH, MARGIN + row * LINE);
            for (y, bits) in glyph.into_iter().enumerate() {
                for x in (0..GLYPH).filter(|x| bits >> x & 1 != 0) {
                    fill(&mut pixels, width, ((left + x) * dot, (top + y) * dot), dot);
                }
            }
        }
    }
    Frame { size, pixels, cells: 0, evaluation: Duration::ZERO }
}

/// Fills a square that lies within the picture; a part that does not is left out.
fn fill(pixels: &mut [Pixel], width: usize, (left, top): (usize, usize), side: usize) {
    for row in pixels.chunks_exact_mut(width).skip(top).take(side) {
        row.iter_mut().skip(left).take(side).for_each(|pixel| *pixel = INK);
    }
}

/// The glyphs of a line, in pieces of so many columns.
fn wrap(line: &str, columns: usize) -> Vec<Vec<[u8; GLYPH]>> {
    let glyphs: Vec<[u8; GLYPH]> = line.chars().map(glyph).collect();
    if glyphs.is_empty() { vec![vec![]] } else { glyphs.chunks(columns).map(<[_]>::to_vec).collect() }
}

/// The font has ASCII; the lines that frame a message are drawn with its characters.
fn glyph(character: char) -> [u8; GLYPH] {
    let ascii = match character {
        '─' | '╭' | '╰' => '-',
        '│' | '┆' | '·' => '|',
        '┌' | '└' | '╯' | '╮' => '+',
        '‘' | '’' => '\'',
        _ => character,
    };
    BASIC_LEGACY.get(ascii as usize).copied().unwrap_or(BASIC_LEGACY['?' as usize])
}

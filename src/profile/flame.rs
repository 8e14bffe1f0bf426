//! A profile as a flame graph (Gregg 2011) in SVG, readable on light and on dark: a bar for each chain of definitions, as wide as the time that it took, on top of
//! the one that called it. Pointing at a bar tells its figures.
//!
//! Invariant: a bar lies within the width of the one below it.

use super::{Frame, Profile};
use std::fmt::Write;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 18.0;
/// Above the bars.
const HEAD: f64 = 28.0;
/// Bars that are narrower are left out.
const NARROW: f64 = 0.2;
/// How wide a letter is.
const LETTER: f64 = 6.7;
/// Colours on which black letters are readable.
const COLOURS: [&str; 6] = ["#8fb8de", "#86cdb2", "#e0bd72", "#d6a0c4", "#e0a19d", "#b3aae3"];

/// The drawing. The host is at the bottom.
pub fn draw(profile: &Profile) -> String {
    let frames = &profile.frames;
    let depths = depths(frames);
    let deepest = depths.iter().copied().max().unwrap_or(0);
    let height = HEAD + HEIGHT * (deepest + 1) as f64 + 4.0;
    let scale = WIDTH / profile.seconds.max(1e-12);
    // Where the next bar on top of each begins.
    let mut begins: Vec<f64> = vec![0.0; frames.len()];
    let mut body = String::new();
    for (at, frame) in frames.iter().enumerate() {
        let x = match frame.caller {
            Some(caller) => {
                let x = begins[caller];
                begins[caller] += frame.total * scale;
                x
            }
            None => 0.0,
        };
        begins[at] = x;
        let y = height - 4.0 - HEIGHT * (depths[at] + 1) as f64;
        if frame.total * scale >= NARROW {
            bar(&mut body, profile, frame, (x, y, frame.total * scale));
        }
    }
    let title = format!("{:.3} s on one core; a bar is as wide as the time that it took", profile.seconds);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         font-family=\"ui-monospace, monospace\" font-size=\"11\">\n<text x=\"0\" y=\"16\" fill=\"#808080\">{title}</text>\n{body}</svg>\n"
    )
}

fn depths(frames: &[Frame]) -> Vec<usize> {
    let mut depths: Vec<usize> = vec![];
    for frame in frames {
        depths.push(frame.caller.map_or(0, |caller| depths[caller] + 1));
    }
    depths
}

fn bar(body: &mut String, profile: &Profile, frame: &Frame, (x, y, width): (f64, f64, f64)) {
    let name = escape(&frame.name);
    let colour =
        COLOURS[frame.name.bytes().fold(7_usize, |sum, byte| sum.wrapping_mul(31) + usize::from(byte)) % COLOURS.len()];
    let percent = profile.percent(frame.total);
    let _ = write!(
        body,
        "<g><title>{name}: {:.3} s ({percent:.1} %), {:.3} s by itself, {} calls, {} cells</title>\
         <rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{:.1}\" fill=\"{colour}\"/>",
        frame.total,
        frame.own,
        frame.calls,
        frame.cells,
        HEIGHT - 1.0
    );
    let room = ((width - 6.0) / LETTER).max(0.0) as usize;
    if room >= 3 {
        let shown: String = frame.name.chars().take(room).collect();
        let _ =
            write!(body, "<text x=\"{:.2}\" y=\"{:.1}\" fill=\"#000\">{}</text>", x + 3.0, y + 12.5, escape(&shown));
    }
    body.push_str("</g>\n");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_lie_within_those_below_and_names_are_escaped() {
        let frame =
            |name: &str, caller, own, total| Frame { name: name.to_owned(), caller, calls: 1, cells: 2, own, total };
        let frames = vec![
            frame("host", None, 1.0, 4.0),
            frame("a<b", Some(0), 1.0, 2.0),
            frame("c", Some(0), 1.0, 1.0),
            frame("d", Some(1), 1.0, 1.0),
        ];
        let profile = Profile {
            text: String::new(),
            seconds: 4.0,
            samples: 4,
            definitions: vec![],
            frames,
            chains: vec![],
            is_full: false,
        };
        let svg = draw(&profile);
        let bars: Vec<&str> = svg.lines().filter(|line| line.starts_with("<g>")).collect();
        assert_eq!(bars.len(), 4);
        // The host is at the bottom, and what it calls stands on it.
        assert!(bars[0].contains("x=\"0.00\" y=\"64.0\" width=\"1200.00\""), "{svg}");
        assert!(
            bars[1].contains("a&lt;b: 2.000 s (50.0 %)") && bars[1].contains("x=\"0.00\" y=\"46.0\" width=\"600.00\""),
            "{svg}"
        );
        assert!(bars[2].contains("x=\"600.00\" y=\"46.0\" width=\"300.00\""), "{svg}");
        assert!(bars[3].contains("x=\"0.00\" y=\"28.0\" width=\"300.00\""), "{svg}");
    }
}

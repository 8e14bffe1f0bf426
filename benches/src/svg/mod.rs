//! Figures as one drawing in SVG, readable on light and on dark: for each suite, bars of its largest jobs for all contenders, and below
//! them curves of how the times grow with the size.
//!
//! | what | see |
//! |---|---|
//! | logarithmic axes | [`axis`] |
//! | bars | [`bars`] |
//! | curves over the size | [`curves`] |

mod axis;
mod bars;
mod curves;

use super::figures::{Figures, Row, on};
use std::fmt::Write;

const WIDTH: f64 = 900.0;
const INK: &str = "#808080";
/// Colours that stand out on white and on black.
const COLOURS: [&str; 6] = ["#3b82c4", "#2fa37c", "#c98a1b", "#b5579c", "#c0504d", "#7f6fc4"];

/// A row's time with its quartiles, if it has one.
type TimeOf<'f> = dyn Fn(&Row) -> Option<[f64; 3]> + 'f;

/// A contender: what it is called, and its times for a row, from the lower quartile over the median to the upper one.
struct Series<'f> {
    name: String,
    time: Box<TimeOf<'f>>,
}

/// The drawing.
pub fn draw(figures: &Figures) -> String {
    let mut body = String::new();
    let what = figures.card.as_ref().unwrap_or(&figures.machine.processor);
    put(
        &mut body,
        0.0,
        18.0,
        "start",
        &format!("Girih {} on {}: {what}, {}", figures.version, figures.device, figures.date),
    );
    let mut y = 34.0;
    for part in figures.rows.chunk_by(|a, b| a.suite == b.suite) {
        let series = series(figures, part);
        put(
            &mut body,
            0.0,
            y + 14.0,
            "start",
            &format!("{}: time of the largest jobs; the line is the middle half of the runs", part[0].suite),
        );
        legend(&mut body, &series, y + 24.0);
        y = bars::draw(&mut body, part, &series, y + 44.0);
        y = curves::draw(&mut body, part, &series, y) + 16.0;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y:.0}\" width=\"{WIDTH}\" height=\"{y:.0}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"{INK}\">\n{body}</svg>\n"
    )
}

/// Girih on each number of threads, and those who did any of the same jobs.
fn series<'f>(figures: &'f Figures, rows: &[Row]) -> Vec<Series<'f>> {
    let most = rows.iter().max_by_key(|row| row.runs.len());
    let threads: Vec<Option<usize>> = most.map_or_else(Vec::new, |row| row.runs.iter().map(|r| r.threads).collect());
    let ours = threads.into_iter().map(|threads| Series {
        name: format!("Girih, {}", on(threads)),
        time: Box::new(move |row| {
            let time = row.runs.iter().find(|run| run.threads == threads)?.time;
            Some([time.low, time.median, time.high])
        }),
    });
    let peers = figures.rivals.iter().map(|rival| Series {
        name: rival.name.clone(),
        time: Box::new(|row| row.peers.iter().find(|peer| peer.name == rival.name).map(|peer| [peer.seconds; 3])),
    });
    ours.chain(peers).filter(|series| rows.iter().any(|row| (series.time)(row).is_some())).collect()
}

fn legend(svg: &mut String, series: &[Series], y: f64) {
    for (i, series) in series.iter().enumerate() {
        let x = bars::LEFT + i as f64 * 150.0;
        let colour = colour(i);
        let _ = writeln!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>");
        put(svg, x + 18.0, y + 10.0, "start", &series.name);
    }
}

fn colour(position: usize) -> &'static str {
    COLOURS[position % COLOURS.len()]
}

fn put(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), opacity: f64) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{INK}\" stroke-opacity=\"{opacity}\"/>"
    );
}

//! Figures as bars in SVG, readable on light and on dark.
//!
//! Each program has a bar a contender: how long it takes beside C on one core, or, where C was not measured, in seconds. The
//! axis is logarithmic, because ratios go from parts of C's time to hundreds of it.

use super::figures::{Figures, Row, on};
use super::table::seconds;
use std::fmt::Write;

const LEFT: f64 = 110.0;
const WIDTH: f64 = 640.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 64.0;
const BAR: f64 = 12.0;
const GAP: f64 = 12.0;
/// Colours that stand out on white and on black.
const COLOURS: [&str; 4] = ["#3b82c4", "#2fa37c", "#c98a1b", "#b5579c"];
const INK: &str = "#808080";

/// A time among the figures.
type Seconds = Box<dyn Fn(&Row) -> Option<f64>>;

/// A contender: what it is called, and its time.
struct Series {
    name: String,
    seconds: Seconds,
}

/// The drawing.
pub fn draw(figures: &Figures) -> String {
    let series = series(figures);
    let beside_c = figures.cc.is_some();
    let bars: Vec<(&Row, Vec<Option<f64>>)> =
        figures.rows.iter().map(|row| (row, values(row, &series, beside_c))).collect();
    let all = bars.iter().flat_map(|(_, values)| values.iter().flatten().copied()).filter(|v| *v > 0.0);
    let (low, high) = all.fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
    let axis = Axis::around(low, high);
    let group = series.len() as f64 * BAR + GAP;
    let bottom = TOP + bars.len() as f64 * group;
    let (width, height) = (LEFT + WIDTH + RIGHT, bottom + 44.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"{INK}\">\n"
    );
    let title = if beside_c { "Time beside C on one core (1 is as fast as C, less is faster)" } else { "Time" };
    put(&mut svg, 0.0, 16.0, "start", &format!("{title} - {}, {}", figures.machine.processor, figures.date));
    legend(&mut svg, &series);
    axis.draw(&mut svg, bottom, beside_c);
    for (i, (row, values)) in bars.iter().enumerate() {
        let top = TOP + i as f64 * group + GAP / 2.0;
        put(&mut svg, LEFT - 8.0, top + (group - GAP) / 2.0 + 4.0, "end", &row.name);
        for (j, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let (y, length) = (top + j as f64 * BAR, axis.place(*value));
            let colour = COLOURS[j % COLOURS.len()];
            let thick = BAR - 2.0;
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"{thick}\" fill=\"{colour}\"/>"
            );
            let label = if beside_c { format!("{value:.2}") } else { seconds(*value) };
            put(&mut svg, LEFT + length + 4.0, y + thick - 0.5, "start", &label);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn series(figures: &Figures) -> Vec<Series> {
    let threads = figures.rows.first().map(|row| row.runs.iter().map(|r| r.threads).collect::<Vec<_>>());
    let ours = threads.unwrap_or_default().into_iter().enumerate().map(|(i, n)| Series {
        name: format!("Girih, {}", on(n)),
        seconds: Box::new(move |row| row.runs.get(i).map(|run| run.seconds)),
    });
    ours.collect()
}

fn values(row: &Row, series: &[Series], beside_c: bool) -> Vec<Option<f64>> {
    let scale = if beside_c { row.c } else { Some(1.0) };
    series.iter().map(|series| Some((series.seconds)(row)? / scale?.max(1e-9))).collect()
}

fn legend(svg: &mut String, series: &[Series]) {
    for (i, series) in series.iter().enumerate() {
        let x = LEFT + i as f64 * 150.0;
        let colour = COLOURS[i % COLOURS.len()];
        let _ = writeln!(svg, "<rect x=\"{x}\" y=\"30\" width=\"12\" height=\"12\" fill=\"{colour}\"/>");
        put(svg, x + 18.0, 40.0, "start", &series.name);
    }
}

/// A logarithmic axis between two powers of ten.
struct Axis {
    low: i32,
    high: i32,
}

impl Axis {
    fn around(low: f64, high: f64) -> Axis {
        if high <= 0.0 {
            return Axis { low: 0, high: 1 };
        }
        let (low, high) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        Axis { low, high: high.max(low + 1) }
    }

    /// How far from the left a value lies.
    fn place(&self, value: f64) -> f64 {
        let part = (value.max(1e-12).log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        part.clamp(0.0, 1.0) * WIDTH
    }

    fn draw(&self, svg: &mut String, bottom: f64, beside_c: bool) {
        for power in self.low..=self.high {
            let value = 10f64.powi(power);
            let x = LEFT + self.place(value);
            // C's own time is what others are read against.
            let strong = if beside_c && power == 0 { "1" } else { "0.3" };
            let top = TOP - 6.0;
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"{top}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"{INK}\" stroke-opacity=\"{strong}\"/>"
            );
            let label = if beside_c { format!("{value}") } else { seconds(value) };
            put(svg, x, bottom + 16.0, "middle", &label);
        }
        let name = if beside_c { "times C's" } else { "time" };
        put(svg, LEFT + WIDTH / 2.0, bottom + 34.0, "middle", name);
    }
}

fn put(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

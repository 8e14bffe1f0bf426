//! Bars: a group for each program at its largest size, a bar for each contender.

use super::super::figures::Row;
use super::super::table::seconds;
use super::axis::Axis;
use super::{Series, colour, line, put};
use std::fmt::Write;

/// Where bars begin: titles stand to the left.
pub(super) const LEFT: f64 = 190.0;
const LENGTH: f64 = 620.0;
const BAR: f64 = 12.0;
const GAP: f64 = 8.0;

/// Draws the bars from a height on, and says where they end.
pub(super) fn draw(svg: &mut String, rows: &[Row], series: &[Series], top: f64) -> f64 {
    let rows = largest(rows);
    let times = rows.iter().flat_map(|row| series.iter().filter_map(|series| (series.time)(row)));
    let axis = Axis::around(times.flatten(), LENGTH);
    let heights = rows.iter().map(|row| GAP + BAR * series.iter().filter(|s| (s.time)(row).is_some()).count() as f64);
    let bottom = top + heights.sum::<f64>();
    for mark in axis.marks(9) {
        let x = LEFT + axis.place(mark);
        line(svg, (x, top - 2.0), (x, bottom), 0.3);
        put(svg, x, bottom + 16.0, "middle", &seconds(mark));
    }
    let mut y = top + GAP / 2.0;
    for row in rows {
        put(svg, LEFT - 8.0, y + 10.0, "end", &row.title());
        for (i, series) in series.iter().enumerate() {
            let Some([low, median, high]) = (series.time)(row) else { continue };
            let (length, thick, colour) = (axis.place(median), BAR - 2.0, colour(i));
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"{thick}\" fill=\"{colour}\"/>"
            );
            let middle = y + thick / 2.0;
            line(svg, (LEFT + axis.place(low), middle), (LEFT + axis.place(high), middle), 1.0);
            put(svg, LEFT + axis.place(high) + 4.0, y + thick - 0.5, "start", &seconds(median));
            y += BAR;
        }
        y += GAP;
    }
    bottom + 24.0
}

/// Each program at its largest size that has times.
fn largest(rows: &[Row]) -> Vec<&Row> {
    let mut largest: Vec<&Row> = vec![];
    for row in rows.iter().filter(|row| !row.runs.is_empty()) {
        match largest.iter_mut().find(|other| other.name == row.name) {
            Some(other) if other.size.number <= row.size.number => *other = row,
            Some(_) => {}
            None => largest.push(row),
        }
    }
    largest
}

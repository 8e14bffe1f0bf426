//! Curves: a small chart for each program that was measured at several sizes, with a line for each contender.

use super::super::figures::Row;
use super::super::table::seconds;
use super::axis::Axis;
use super::{Series, WIDTH, colour, line, put};
use std::fmt::Write;

const COLUMNS: usize = 4;
/// The part of a chart that the axes enclose.
const SPAN: f64 = 140.0;
const RISE: f64 = 90.0;
/// Room to the left of a chart, and for its title and the sizes below.
const LEFT: f64 = 60.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 22.0;

/// Draws the charts from a height on, and says where they end.
pub(super) fn draw(svg: &mut String, rows: &[Row], series: &[Series], top: f64) -> f64 {
    let charts = charts(rows);
    for (i, chart) in charts.iter().enumerate() {
        let (column, line) = (i % COLUMNS, i / COLUMNS);
        let left = column as f64 * WIDTH / COLUMNS as f64 + LEFT;
        draw_one(svg, chart, series, (left, top + line as f64 * (ABOVE + RISE + BELOW) + ABOVE));
    }
    top + charts.len().div_ceil(COLUMNS) as f64 * (ABOVE + RISE + BELOW)
}

/// The rows of each program with several sizes.
fn charts(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut charts: Vec<Vec<&Row>> = vec![];
    for row in rows.iter().filter(|row| !row.runs.is_empty()) {
        match charts.iter_mut().find(|chart| chart[0].name == row.name) {
            Some(chart) => chart.push(row),
            None => charts.push(vec![row]),
        }
    }
    charts.retain(|chart| chart.len() > 1);
    charts.iter_mut().for_each(|chart| chart.sort_by(|a, b| a.size.number.total_cmp(&b.size.number)));
    charts
}

fn draw_one(svg: &mut String, rows: &[&Row], series: &[Series], (left, top): (f64, f64)) {
    let bottom = top + RISE;
    let across = Axis::around(rows.iter().map(|row| row.size.number), SPAN);
    let times = rows.iter().flat_map(|row| series.iter().filter_map(|series| (series.time)(row)));
    let up = Axis::around(times.flatten(), RISE);
    put(svg, left + SPAN / 2.0, top - 8.0, "middle", &rows[0].name);
    line(svg, (left, bottom), (left + SPAN, bottom), 0.6);
    line(svg, (left, top), (left, bottom), 0.6);
    for mark in up.marks(4) {
        let y = bottom - up.place(mark);
        line(svg, (left, y), (left + SPAN, y), 0.2);
        put(svg, left - 4.0, y + 4.0, "end", &seconds(mark));
    }
    // The smallest size and the largest one, at the ends, where they leave each other room.
    put(svg, left, bottom + 14.0, "start", &rows[0].size.label);
    put(svg, left + SPAN, bottom + 14.0, "end", &rows[rows.len() - 1].size.label);
    for (i, series) in series.iter().enumerate() {
        let points: Vec<(f64, f64)> = rows
            .iter()
            .filter_map(|row| {
                let [_, median, _] = (series.time)(row)?;
                Some((left + across.place(row.size.number), bottom - up.place(median)))
            })
            .collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let (colour, path) = (colour(i), path.join(" "));
        let _ = writeln!(svg, "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>");
        for (x, y) in points {
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{colour}\"/>");
        }
    }
}

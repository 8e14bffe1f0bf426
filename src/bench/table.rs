//! Figures as a table for people.

use super::figures::{Failed, Figures, Row, Together, on};

/// Spaces between columns.
const GAP: &str = "  ";

/// A column: its head, and what stands in a row.
struct Column {
    head: String,
    cell: Box<dyn Fn(&Row) -> String>,
}

impl Column {
    fn new(head: impl Into<String>, cell: impl Fn(&Row) -> String + 'static) -> Column {
        Column { head: head.into(), cell: Box::new(cell) }
    }
}

/// The table, a line a program, and a line about each thing that it was measured with.
pub fn table(figures: &Figures) -> String {
    let columns = columns(figures);
    let cells: Vec<Vec<String>> =
        figures.rows.iter().map(|row| columns.iter().map(|column| (column.cell)(row)).collect()).collect();
    let widths: Vec<usize> = columns.iter().enumerate().map(|(i, column)| width(&column.head, &cells, i)).collect();
    let mut text = line(&columns.iter().map(|column| column.head.clone()).collect::<Vec<_>>(), &widths);
    for row in &cells {
        text.push_str(&line(row, &widths));
    }
    text.push('\n');
    text.push_str(&footer(figures));
    text
}

fn columns(figures: &Figures) -> Vec<Column> {
    let mut columns = vec![
        Column::new("program", |row| row.name.clone()),
        Column::new("size", |row| row.size.to_string()),
        Column::new("compile", |row| seconds(row.compile)),
    ];
    let threads: Vec<Option<usize>> =
        figures.rows.first().map(|row| row.runs.iter().map(|r| r.threads).collect()).unwrap_or_default();
    for (i, n) in threads.iter().enumerate() {
        columns
            .push(Column::new(on(*n), move |row| row.runs.get(i).map_or_else(String::new, |run| seconds(run.seconds))));
    }
    if threads.len() > 1 {
        columns.push(Column::new("speed-up", |row| ratio(row.speedup())));
    }
    columns.push(Column::new("memory", |row| bytes(row.bytes)));
    if figures.cc.is_some() {
        columns.push(Column::new("C", |row| row.c.map_or_else(missing, seconds)));
        columns.push(Column::new("of C", |row| ratio(row.beside_c())));
    }
    if figures.upstream.is_some() {
        columns.push(Column::new("size", |row| row.upstream.map_or_else(missing, |b| b.size.to_string())));
        columns.push(Column::new("here", |row| row.upstream.map_or_else(missing, |b| seconds(b.ours))));
        columns.push(Column::new("run-c", |row| row.upstream.map_or_else(missing, |b| seconds(b.theirs))));
        columns.push(Column::new("faster", |row| ratio(row.upstream.map(|b| b.ratio()))));
    }
    columns
}

fn footer(figures: &Figures) -> String {
    let Figures { date, version, machine, device, card, samples, cc, upstream, together, rows: _, failed } = figures;
    let plural = if *samples == 1 { "run" } else { "runs" };
    let mut text = format!("{date}, Girih {version} on {device}, medians of {samples} {plural}\n{machine}\n");
    if let Some(card) = card {
        text.push_str(&format!("{device}: {card}\n"));
    }
    for Failed { name, why } in failed {
        text.push_str(&format!("{name} failed: {why}\n"));
    }
    if let Some(together) = together {
        let Together { lines, compile } = together;
        text.push_str(&format!("all programs as one of {lines} lines: compiled in {}\n", seconds(*compile)));
    }
    if let Some(cc) = cc {
        text.push_str(&format!("C: {cc}, -O2\n"));
    }
    if let Some(upstream) = upstream {
        text.push_str(&format!("run-c: {upstream}, all cores, by its own count\n"));
    }
    text
}

fn missing() -> String {
    "-".to_owned()
}

fn ratio(ratio: Option<f64>) -> String {
    match ratio {
        None => missing(),
        Some(ratio) if ratio >= 10.0 => format!("{ratio:.0}x"),
        Some(ratio) => format!("{ratio:.2}x"),
    }
}

/// A time with three digits.
pub fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

fn width(head: &str, cells: &[Vec<String>], column: usize) -> usize {
    cells.iter().map(|row| row[column].len()).chain([head.len()]).max().unwrap_or(0)
}

/// Names stand left, figures right.
fn line(cells: &[String], widths: &[usize]) -> String {
    let mut text = String::new();
    for (i, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let cell = if i == 0 { format!("{cell:<width$}") } else { format!("{GAP}{cell:>width$}") };
        text.push_str(&cell);
    }
    text.push('\n');
    text
}

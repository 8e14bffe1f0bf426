//! Figures as tables: for people at a terminal, and as Markdown.

use super::figures::{Calls, Ceilings, Failed, Figures, Rival, Row, Work, on};

/// Spaces between columns.
const GAP: &str = "  ";

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// What stands above the columns.
    pub head: Vec<String>,
    /// The cells, as many in each row as there are columns.
    pub rows: Vec<Vec<String>>,
    /// How many columns are names, which stand left; the others are figures, which stand right.
    pub names: usize,
}

impl Grid {
    /// Lines of columns that are as wide as they have to be.
    pub fn text(&self) -> String {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| lines().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = String::new();
        for line in lines() {
            let mut out = String::new();
            for (i, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let gap = if i == 0 { "" } else { GAP };
                let cell = if i < self.names { format!("{gap}{cell:<width$}") } else { format!("{gap}{cell:>width$}") };
                out.push_str(&cell);
            }
            text.push_str(out.trim_end());
            text.push('\n');
        }
        text
    }

    /// A table of Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = |i: usize| if i < self.names { "---|" } else { "---:|" };
        let rules: String = (0..self.head.len()).map(rule).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}|{rules}\n{rows}", line(&self.head))
    }
}

/// A column: its head, and what stands in a row.
struct Column<'f> {
    head: String,
    cell: Box<dyn Fn(&Row) -> String + 'f>,
}

impl<'f> Column<'f> {
    fn new(head: impl Into<String>, cell: impl Fn(&Row) -> String + 'f) -> Column<'f> {
        Column { head: head.into(), cell: Box::new(cell) }
    }
}

/// The table of each suite: its name, and a line a program and size.
pub fn grids(figures: &Figures) -> Vec<(String, Grid)> {
    let mut grids: Vec<(String, Grid)> = vec![];
    for part in figures.rows.chunk_by(|a, b| a.suite == b.suite) {
        let columns = columns(figures, part);
        let head = columns.iter().map(|column| column.head.clone()).collect();
        let rows = part.iter().map(|row| columns.iter().map(|column| (column.cell)(row)).collect()).collect();
        grids.push((part[0].suite.clone(), Grid { head, rows, names: 1 }));
    }
    grids
}

/// All of it for people at a terminal.
pub fn text(figures: &Figures) -> String {
    let mut text = String::new();
    for (_, grid) in grids(figures) {
        text.push_str(&grid.text());
        text.push('\n');
    }
    notes(figures).iter().for_each(|note| text.push_str(&format!("{note}\n")));
    text
}

/// All of it as a page of Markdown.
pub fn markdown(figures: &Figures) -> String {
    let mut text = String::from("# Benchmarks\n\n");
    notes(figures).iter().for_each(|note| text.push_str(&format!("- {note}\n")));
    for (suite, grid) in grids(figures) {
        text.push_str(&format!("\n## {suite}\n\n{}", grid.markdown()));
    }
    text
}

fn columns<'f>(figures: &'f Figures, rows: &[Row]) -> Vec<Column<'f>> {
    let has = |wanted: fn(&Row) -> bool| rows.iter().any(wanted);
    let mut columns =
        vec![Column::new("program", |row| row.name.clone()), Column::new("size", |row| row.size.label.clone())];
    if has(|row| row.compile.is_some()) {
        columns.push(Column::new("compile", |row| row.compile.map_or_else(missing, seconds)));
    }
    let most = rows.iter().max_by_key(|row| row.runs.len());
    let threads: Vec<Option<usize>> = most.map_or_else(Vec::new, |row| row.runs.iter().map(|r| r.threads).collect());
    for n in threads.iter().copied() {
        let run = move |row: &Row| row.runs.iter().find(|run| run.threads == n).copied();
        columns.push(Column::new(on(n), move |row| run(row).map_or_else(missing, |run| seconds(run.time.median))));
        columns.push(Column::new("±", move |row| {
            run(row).map_or_else(missing, |run| format!("{:.0}%", 100.0 * run.time.relative()))
        }));
    }
    if threads.len() > 1 {
        columns.push(Column::new("speed-up", |row| ratio(row.speedup())));
    }
    if has(|row| row.work.is_some()) {
        columns.push(Column::new("rate", |row| row.rate().map_or_else(missing, rate)));
    }
    if let Some(ceilings) = figures.ceilings
        && rows.iter().filter_map(Row::rate).any(|rate| ceilings.share(rate).is_some())
    {
        columns.push(Column::new("of ceiling", move |row| {
            let share = row.rate().and_then(|rate| ceilings.share(rate));
            share.map_or_else(missing, |(part, ceiling)| format!("{part:.2} of {ceiling}"))
        }));
    }
    if has(|row| row.way.is_some()) {
        columns.push(Column::new("by", |row| row.way.as_ref().map_or_else(missing, |way| way.name.clone())));
        let lanes = |row: &Row| row.way.as_ref()?.lanes;
        columns.push(Column::new("lanes", move |row| lanes(row).map_or_else(missing, |lanes| lanes.to_string())));
        let steps = |row: &Row| row.way.as_ref()?.steps;
        columns.push(Column::new("steps", move |row| steps(row).map_or_else(missing, |steps| steps.to_string())));
    }
    if has(|row| row.calls.is_some()) {
        let count =
            |row: &Row, of: fn(&Calls) -> usize| row.calls.as_ref().map_or_else(missing, |calls| of(calls).to_string());
        columns.push(Column::new("together", move |row| count(row, |calls| calls.together.len())));
        columns.push(Column::new("in order", move |row| count(row, |calls| calls.in_order.len())));
    }
    if has(|row| row.bytes.is_some()) {
        columns.push(Column::new("memory", |row| row.bytes.map_or_else(missing, bytes)));
    }
    for Rival { name, .. } in &figures.rivals {
        let peer = |row: &Row| row.peers.iter().find(|peer| peer.name == *name).cloned();
        if !rows.iter().any(|row| peer(row).is_some()) {
            continue;
        }
        columns.push(Column::new(name, move |row| peer(row).map_or_else(missing, |peer| seconds(peer.seconds))));
        columns.push(Column::new("faster", move |row| ratio(peer(row).and_then(|peer| row.beside(&peer)))));
    }
    columns
}

/// What everything was measured with, what to know of single figures, and what failed: a line each.
pub fn notes(figures: &Figures) -> Vec<String> {
    let Figures { date, version, machine, device, card, samples, rivals, ceilings, rows, failed } = figures;
    let plural = if *samples == 1 { "run" } else { "runs" };
    let spread = "± is half the distance of the quartiles";
    let mut notes = vec![
        format!("{date}, Girih {version} on {device}, medians of {samples} {plural}; {spread}"),
        machine.to_string(),
    ];
    notes.extend(card.iter().map(|card| format!("{device}: {card}")));
    notes.extend(ceilings.map(roofline));
    notes.extend(rivals.iter().map(|Rival { name, what }| format!("{name}: {what}")));
    notes.extend(rows.iter().flat_map(outliers));
    notes.extend(waiting(rows));
    notes.extend(failed.iter().map(|Failed { name, why, .. }| format!("{name} failed: {why}")));
    notes
}

fn roofline(Ceilings { copy, fma }: Ceilings) -> String {
    let (copy, fma) = (rate(Work::Bytes(copy)), rate(Work::Operations(fma)));
    format!("ceilings measured before: a copy {copy}, multiplications with additions (FMA) {fma}")
}

/// Of each program, the first call that waits for another one, and how many more there are.
fn waiting(rows: &[Row]) -> Vec<String> {
    let mut notes: Vec<(&str, String)> = vec![];
    for row in rows {
        let in_order = row.calls.as_ref().map_or(&[][..], |calls| &calls.in_order);
        if let [first, others @ ..] = in_order
            && notes.iter().all(|(name, _)| *name != row.name)
        {
            let more = if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) };
            notes.push((&row.name, format!("in order: {first}{more}")));
        }
    }
    notes.into_iter().map(|(_, note)| note).collect()
}

/// Runs that lie far from the others.
fn outliers(row: &Row) -> Vec<String> {
    let noted = row.runs.iter().filter(|run| run.time.outliers > 0);
    let note = |run: &super::figures::Run| {
        let (title, on, time) = (row.title(), on(run.threads), run.time);
        let (least, most) = (seconds(time.least), seconds(time.most));
        format!("{title}, {on}: {} of {} runs are far from the others ({least} to {most})", time.outliers, time.runs)
    };
    noted.map(note).collect()
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

/// A number with three digits.
fn three(value: f64) -> String {
    let digits = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}

/// What is done in a second.
pub fn rate(rate: Work) -> String {
    let scaled = |amount: f64, unit: &str| match amount {
        n if n < 1e9 => format!("{} M{unit}", three(n / 1e6)),
        n if n < 1e12 => format!("{} G{unit}", three(n / 1e9)),
        n => format!("{} T{unit}", three(n / 1e12)),
    };
    match rate {
        Work::Bytes(amount) => scaled(amount, "B/s"),
        Work::Operations(amount) | Work::Products(amount) => scaled(amount, "FLOP/s"),
        Work::Frames(amount) => format!("{} fps", three(amount)),
        Work::Interactions(amount) => scaled(amount, "/s"),
    }
}

/// A time with three digits.
pub fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    format!("{} {unit}", three(value))
}

/// Bytes for people.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

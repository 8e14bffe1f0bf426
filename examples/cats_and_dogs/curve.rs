//! The curve of a training as an SVG: the share of pictures that were right after each round.

/// A picture of shares from 0 to 1.
pub fn svg(shares: &[f64]) -> String {
    let (width, height, margin) = (480.0, 240.0, 40.0);
    let x = |round: usize| margin + (width - 2.0 * margin) * round as f64 / (shares.len().max(2) - 1) as f64;
    let y = |share: f64| height - margin - (height - 2.0 * margin) * share;
    let points: Vec<String> =
        shares.iter().enumerate().map(|(i, share)| format!("{:.1},{:.1}", x(i), y(*share))).collect();
    let mut lines = String::new();
    for percent in [0, 25, 50, 75, 100] {
        let at = y(f64::from(percent) / 100.0);
        lines += &format!(
            "<path d='M{margin} {at}H{:.1}' stroke='#ccc'/><text x='{:.1}' y='{:.1}' text-anchor='end'>{percent} %</text>\n",
            width - margin,
            margin - 6.0,
            at + 4.0
        );
    }
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' font-family='sans-serif' font-size='11'>\n\
         <rect width='100%' height='100%' fill='white'/>\n{lines}\
         <text x='{:.1}' y='{:.1}' text-anchor='middle'>right in pictures that it had not seen, after each of {} rounds</text>\n\
         <polyline points='{}' fill='none' stroke='#06c' stroke-width='2'/>\n</svg>\n",
        width / 2.0,
        height - 12.0,
        shares.len(),
        points.join(" ")
    )
}

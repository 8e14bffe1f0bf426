//! Drawings as SVG, readable on light and on dark: nodes are triangles that point at their principal port.

use super::layout::{Drawing, Figure};
use crate::word::Kind;
use std::collections::HashMap;
use std::fmt::Write;

const INK: &str = "#808080";
const MARGIN: f64 = 30.0;
/// Half the width of a node, and its height.
const NODE: (f64, f64) = (15.0, 24.0);

/// The colour of a kind; each stands out on white and on black.
fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Con => "#3b82c4",
        Kind::Dup => "#b5579c",
        Kind::Copy => "#d0728f",
        Kind::Opr => "#c98a1b",
        Kind::Swi => "#2fa37c",
        Kind::Clo => "#6a6fd0",
        Kind::Var | Kind::Ref | Kind::Era | Kind::Num | Kind::Box => INK,
    }
}

/// A picture that is being written.
pub struct Svg {
    text: String,
    width: f64,
    height: f64,
}

impl Svg {
    /// An empty one.
    pub fn new() -> Svg {
        Svg { text: String::new(), width: 0.0, height: 0.0 }
    }

    /// Writes a text; `x` is its middle.
    pub fn text(&mut self, x: f64, y: f64, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(self.text, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{text}</text>");
        self.grow(x, y);
    }

    fn grow(&mut self, x: f64, y: f64) {
        self.width = self.width.max(x);
        self.height = self.height.max(y);
    }

    /// Draws a net with its left upper corner at a place.
    pub fn drawing(&mut self, drawing: &Drawing, left: f64, top: f64) {
        let at = |mark: usize| drawing.marks.get(mark).map_or((left, top), |mark| (left + mark.x, top + mark.y));
        let mut ends: HashMap<&str, usize> = HashMap::new();
        let mut wires = vec![];
        for (i, mark) in drawing.marks.iter().enumerate() {
            let (x, y) = at(i);
            match &mark.shape {
                Figure::Node(kind, parts) => {
                    self.node(*kind, x, y);
                    for (part, side) in parts.iter().zip([-0.5, 0.5]) {
                        self.line((x + side * NODE.0, y + NODE.1), at(*part));
                    }
                }
                Figure::Leaf(text) => self.text(x, y + 12.0, text),
                Figure::End(name) => match ends.remove(name.as_str()) {
                    Some(other) => wires.push((other, i)),
                    None => _ = ends.insert(name, i),
                },
            }
        }
        for (a, b) in wires {
            self.curve(at(a), at(b), 26.0);
        }
        for (i, mark) in drawing.marks.iter().enumerate() {
            if let Figure::End(name) = &mark.shape
                && ends.get(name.as_str()) == Some(&i)
            {
                let (x, y) = at(i);
                self.text(x, y + 12.0, name);
            }
        }
        for (a, b) in &drawing.redexes {
            self.curve(at(*a), at(*b), -22.0);
        }
        if let Some(root) = drawing.root {
            let (x, y) = at(root);
            self.line((x, y), (x, y - 18.0));
        }
        self.grow(left + drawing.width, top + drawing.height);
    }

    fn node(&mut self, kind: Kind, x: f64, y: f64) {
        let (half, height) = NODE;
        let base = y + height;
        let _ = writeln!(
            self.text,
            "<path d=\"M{x:.1} {y:.1}L{:.1} {base:.1}L{:.1} {base:.1}Z\" fill=\"{}\"><title>{}</title></path>",
            x - half,
            x + half,
            colour(kind),
            kind.name()
        );
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = writeln!(self.text, "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" stroke=\"{INK}\" fill=\"none\"/>");
    }

    /// A wire that hangs between two places, or stands up if `depth` is negative.
    fn curve(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), depth: f64) {
        let (a, b) = (y1 + depth, y2 + depth);
        let _ = writeln!(
            self.text,
            "<path d=\"M{x1:.1} {y1:.1}C{x1:.1} {a:.1} {x2:.1} {b:.1} {x2:.1} {y2:.1}\" stroke=\"{INK}\" fill=\"none\"/>"
        );
        self.grow(x1.max(x2), y1.max(y2) + depth.max(0.0));
    }

    /// The whole file.
    pub fn finish(self) -> String {
        let (width, height) = (self.width + MARGIN, self.height + MARGIN);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" font-family=\"ui-monospace, monospace\" font-size=\"12\" fill=\"{INK}\" \
             stroke-width=\"1.5\">\n{}</svg>\n",
            self.text
        )
    }
}

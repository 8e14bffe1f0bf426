//! Pictures: of the rules, and of small nets.

mod layout;
pub mod rows;
mod svg;

use girih_term::hvm::ast::{Book, Tree};
use layout::Drawing;
use std::fmt::Write;
use svg::Svg;

/// The definitions of a book, one below the other.
pub fn svg(book: &Book) -> String {
    let mut svg = Svg::new();
    let mut top = 40.0;
    for definition in &book.definitions {
        let drawing = Drawing::new(Some(&definition.net.root), &definition.net.redexes);
        let name = format!("@{}", definition.name);
        svg.text(20.0 + 4.0 * name.len() as f64, top - 22.0, &name);
        svg.drawing(&drawing, 30.0, top + 14.0);
        top += drawing.height + 80.0;
    }
    svg.finish()
}

/// The definitions of a book as a graph for Graphviz: a cluster for each.
pub fn dot(book: &Book) -> String {
    let mut dot = Dot { text: String::from("graph net {\n  node [shape=plaintext];\n"), next: 0 };
    for (i, definition) in book.definitions.iter().enumerate() {
        let _ = writeln!(dot.text, "  subgraph cluster{i} {{\n    label={:?};", format!("@{}", definition.name));
        let mut ends = vec![];
        let root = dot.leaf("root");
        let top = dot.tree(&definition.net.root, &mut ends);
        dot.edge(root, top, "");
        for redex in &definition.net.redexes {
            let (left, right) = (dot.tree(&redex.left, &mut ends), dot.tree(&redex.right, &mut ends));
            dot.edge(left, right, " [style=bold]");
        }
        ends.sort();
        for pair in ends.chunk_by(|(a, _), (b, _)| a == b) {
            if let [(_, a), (_, b)] = pair {
                dot.edge(*a, *b, " [style=dashed, constraint=false]");
            }
        }
        dot.text.push_str("  }\n");
    }
    dot.text.push_str("}\n");
    dot.text
}

struct Dot {
    text: String,
    next: usize,
}

impl Dot {
    fn tree<'t>(&mut self, tree: &'t Tree, ends: &mut Vec<(&'t str, usize)>) -> usize {
        let label = match tree {
            Tree::Var(name) => name.to_string(),
            Tree::Ref(_) | Tree::Era | Tree::Num(_) | Tree::Operator(_) => tree.to_string(),
            Tree::Con(..) => "CON".to_owned(),
            Tree::Dup(..) => "DUP".to_owned(),
            Tree::Opr(..) => "OPR".to_owned(),
            Tree::Swi(..) => "SWI".to_owned(),
            Tree::Copy(..) => "COPY".to_owned(),
            Tree::Closure(..) => "CLO".to_owned(),
        };
        let own = self.leaf(&label);
        if let Tree::Var(name) = tree {
            ends.push((name, own));
        }
        for part in tree.parts() {
            let below = self.tree(part, ends);
            self.edge(own, below, "");
        }
        own
    }

    fn leaf(&mut self, label: &str) -> usize {
        self.next += 1;
        let _ = writeln!(self.text, "    n{} [label={label:?}];", self.next);
        self.next
    }

    fn edge(&mut self, a: usize, b: usize, style: &str) {
        let _ = writeln!(self.text, "    n{a} -- n{b}{style};");
    }
}

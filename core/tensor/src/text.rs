//! The text of graphs: a line for each node, read and printed.
//!
//! ```text
//! %0: f32[2, 3] = input to(f32) sizes(2, 3)
//! %1: f32[2] = sum %0 axes(1)
//! return %1
//! ```
//!
//! Invariant: what is printed is read back as the same graph.

use super::Made;
use super::attrs::{Attr, AttrKind, Holds, Number};
use super::graph::{Graph, NodeId};
use super::ops::Op;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::Scalar;
use std::fmt;

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |ids: &[NodeId]| ids.iter().map(|id| format!("%{}", id.index())).collect::<Vec<_>>().join(", ");
        for id in self.ids() {
            let node = &self.nodes[id];
            write!(f, "%{}: {} = {}", id.index(), node.ty, node.op.name())?;
            if !node.operands.is_empty() {
                write!(f, " {}", list(&node.operands))?;
            }
            node.attrs.iter().try_for_each(|attr| write!(f, " {attr}"))?;
            writeln!(f)?;
        }
        writeln!(f, "return {}", list(&self.outputs))
    }
}

/// Reads a graph.
///
/// # Errors
/// Where the text is none, and which line that is; where a node does not fit its operands.
pub fn parse(text: &str) -> Made<Graph> {
    let mut graph = Graph::new();
    let mut has_ended = false;
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(';')) {
        if has_ended {
            return error(number, "nothing follows `return`");
        }
        match line.strip_prefix("return") {
            Some(outputs) => {
                graph.outputs = ids(&graph, number, outputs)?;
                has_ended = true;
            }
            None => node(&mut graph, number, line)?,
        }
    }
    if has_ended { Ok(graph) } else { error(text.lines().count() + 1, "a graph ends with `return`") }
}

fn error<T>(line: usize, why: &str) -> Made<T> {
    Err(Diagnostic::new(Code::TensorText, Span::NONE, format!("line {line}: {why}")))
}

fn node(graph: &mut Graph, number: usize, line: &str) -> Made<()> {
    let Some((left, right)) = line.split_once('=') else {
        return error(number, "a node is `%name: type = operation ..`");
    };
    let Some((name, ty)) = left.split_once(':') else {
        return error(number, "a node says its type, `%0: f32[2] = ..`");
    };
    if name.trim() != format!("%{}", graph.nodes.len()) {
        return error(number, &format!("this node is `%{}`: nodes are numbered in order", graph.nodes.len()));
    }
    let right = right.trim();
    let (word, rest) = right.split_once(' ').unwrap_or((right, ""));
    let Some(op) = Op::from_name(word) else { return error(number, &format!("there is no operation `{word}`")) };
    let start = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let operands = ids(graph, number, &rest[..start])?;
    let attrs = attrs(number, &rest[start..])?;
    let id = graph.push(op, &operands, attrs)?;
    if graph.ty(id).to_string() != ty.trim() {
        return error(number, &format!("`{word}` gives {}, not {}", graph.ty(id), ty.trim()));
    }
    Ok(())
}

fn ids(graph: &Graph, number: usize, text: &str) -> Made<Vec<NodeId>> {
    let mut ids = vec![];
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let index = word.strip_prefix('%').and_then(|digits| digits.parse::<u32>().ok());
        match index.filter(|index| (*index as usize) < graph.nodes.len()) {
            Some(index) => ids.push(NodeId::new(index)),
            None => return error(number, &format!("`{word}` is no node before this one")),
        }
    }
    Ok(ids)
}

fn attrs(line: usize, text: &str) -> Made<Vec<Attr>> {
    let mut attrs = vec![];
    let mut rest = text.trim();
    while !rest.is_empty() {
        let Some((name, after)) = rest.split_once('(') else { return error(line, "an attribute is `name(..)`") };
        let Some((inside, after)) = after.split_once(')') else { return error(line, "a `)` is missing") };
        let Some(kind) = AttrKind::ALL.iter().copied().find(|kind| kind.name() == name.trim()) else {
            return error(line, &format!("there is no attribute `{}`", name.trim()));
        };
        let words = inside.split(',').map(str::trim).filter(|word| !word.is_empty());
        let attr = match kind.holds() {
            Holds::List => {
                words.map(|word| word.parse().ok()).collect::<Option<_>>().map(|list| Attr::List(kind, list))
            }
            Holds::Number => number(inside.trim()).map(|number| Attr::Number(kind, number)),
            Holds::Element => Scalar::from_name(inside.trim()).map(|scalar| Attr::Element(kind, scalar)),
        };
        match attr {
            Some(attr) => attrs.push(attr),
            None => return error(line, &format!("`{}` cannot be `{inside}`", kind.name())),
        }
        rest = after.trim();
    }
    Ok(attrs)
}

/// A float has a point, an exponent, or is no number that is finite.
fn number(text: &str) -> Option<Number> {
    match text.parse::<i128>() {
        Ok(n) => Some(Number::Int(n)),
        Err(_) => text.parse().ok().map(Number::Float),
    }
}

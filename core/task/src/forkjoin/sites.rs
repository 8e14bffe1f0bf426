//! Places in the source where memory may be lacking, by number: a lane that finds none leaves the number for the host.

use girih_base::hash::FastMap;
use girih_base::span::Span;
use girih_ir::{Module, Op};
use std::cell::Cell;

/// The places where cells are made.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    spans: Vec<Span>,
    numbers: FastMap<Span, u32>,
    /// Units of the cells for which code was written since this was 0.
    taken: Cell<u32>,
}

impl Sites {
    /// Those of a module. The first one stands for code that was made up.
    pub fn of(module: &Module) -> Sites {
        let mut sites = Sites { spans: vec![Span::NONE], numbers: FastMap::default(), taken: Cell::new(0) };
        for function in module.functions.iter() {
            function.walk(function.body, &mut |_, inst| {
                if matches!(inst.op, Op::CellNew | Op::CellFill) && !inst.span.is_none() {
                    let next = sites.spans.len() as u32;
                    let number = *sites.numbers.entry(inst.span).or_insert(next);
                    if number == next {
                        sites.spans.push(inst.span);
                    }
                }
            });
        }
        sites
    }

    /// The number of a place: from 1 on.
    pub fn number(&self, span: Span) -> u32 {
        1 + self.numbers.get(&span).copied().unwrap_or(0)
    }

    /// Code was written for a cell of so many units.
    pub fn take(&self, units: u32) {
        self.taken.set(self.taken.get() + units);
    }
    /// How many units that was, since this was asked last.
    pub fn taken(&self) -> u32 {
        self.taken.take()
    }

    /// The places, by their numbers less 1.
    pub fn spans(self) -> Vec<Span> {
        self.spans
    }
}

//! Which names are visible.
//!
//! A name has one meaning wherever it is visible: it cannot be given again before the region that defines it has ended. The same name
//! may stand in regions of which none holds the other, and for a result and within the region that gives it.

use crate::function::ValueId;
use girih_base::hash::FastMap;
use girih_base::span::Span;

/// The visible names, as they are written behind `%`.
#[derive(Debug, Default)]
pub struct Scope<'a> {
    names: FastMap<&'a str, (ValueId, Span)>,
    order: Vec<&'a str>,
    /// Where names were given that are visible no more.
    gone: FastMap<&'a str, Span>,
}

impl<'a> Scope<'a> {
    /// What a name stands for.
    pub fn find(&self, name: &str) -> Option<ValueId> {
        self.names.get(name).map(|(value, _)| *value)
    }
    /// Where a name was given last, in a region that has ended.
    pub fn was(&self, name: &str) -> Option<Span> {
        self.gone.get(name).copied()
    }
    /// Makes a name visible; or gives the place where it was given before.
    pub fn define(&mut self, name: &'a str, span: Span, value: ValueId) -> Result<(), Span> {
        if let Some((_, first)) = self.names.get(name) {
            return Err(*first);
        }
        self.names.insert(name, (value, span));
        self.order.push(name);
        Ok(())
    }
    /// The start of a region, to be given to [`leave`](Self::leave).
    pub fn enter(&self) -> usize {
        self.order.len()
    }
    /// Forgets the names of a region.
    pub fn leave(&mut self, start: usize) {
        for name in self.order.drain(start..) {
            if let Some((_, span)) = self.names.remove(name) {
                self.gone.insert(name, span);
            }
        }
    }
    /// All visible names.
    pub fn visible(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.order.iter().copied()
    }
}

//! Numbers that a model says, and limits on what is made of them.
//!
//! A file may say any number of 64 bits, and each node may make a tensor or many nodes of it. So operators read sizes and single numbers through the functions here, and ask for
//! room before they make elements.
//!
//! Invariant: a size that was read is at most [`MOST_SIZE`]: sums of products of two of them fit into 64 bits. No constant is computed whose elements were not counted before.

use crate::call::Call;
use crate::error::operator;
use crate::import::Importer;
use girih_base::diag::Diagnostic;
use girih_tensor::{Made, Number};

/// The largest size that a model may say: no tensor has more elements along a dimension.
pub(crate) const MOST_SIZE: u64 = (1 << 31) - 1;
/// The most elements of a constant that is computed while the graph is written. The interpreter keeps an element in 16 bytes.
pub(crate) const MOST_ELEMENTS: u64 = 1 << 24;
/// The most elements of all of them.
const MOST_IN_ALL: u64 = 1 << 27;
/// The most nodes of the graph, and the most nodes of the model that are written with those of functions and loops.
const MOST_NODES: usize = 1 << 20;

impl Importer<'_> {
    /// Makes room for a constant of so many elements, which is computed while the graph is written.
    ///
    /// # Errors
    /// If it is too large, or all of them are together.
    pub fn room(&mut self, lengths: &[u64]) -> Made<u64> {
        let hint = "let the model be given the tensor as an input, or as a weight of its file";
        let count = lengths.iter().copied().fold(1, u64::saturating_mul);
        if count > MOST_ELEMENTS {
            let why = format!(
                "it computes a constant of {count} elements, and one that is computed while the graph is written has at most {MOST_ELEMENTS}"
            );
            return Err(operator(why).hint(hint));
        }
        self.computed = self.computed.saturating_add(count);
        if self.computed > MOST_IN_ALL {
            let why = format!(
                "the constants up to it have {} elements, and all that are computed while the graph is written have at most {MOST_IN_ALL}",
                self.computed
            );
            return Err(operator(why).hint(hint));
        }
        Ok(count)
    }

    /// Counts a node of the model that is written.
    ///
    /// # Errors
    /// If there are too many, or too many of the graph were written for those before it.
    pub fn count_node(&mut self) -> Made<()> {
        self.written += 1;
        if self.written.max(self.graph.nodes.len()) <= MOST_NODES {
            return Ok(());
        }
        let why = format!(
            "the graph has more than {MOST_NODES} nodes, which is the most with functions and loops written out"
        );
        Err(operator(why).hint("let loops have fewer turns, or run a part of the model at a time"))
    }
}

impl Call<'_, '_> {
    /// The one number of an input that has to be known.
    pub fn single(&mut self, number: usize) -> Made<Number> {
        let node = self.input(number)?;
        let ty = self.ty(node);
        if ty.shape.elements() != 1 {
            return Err(operator(format!("its input {number} is one number, and {ty} is given")));
        }
        Ok(self.elements(node)?.get(0))
    }
    /// The same as an integer of 64 bits.
    pub fn single_int(&mut self, number: usize) -> Made<i64> {
        Ok(i64::try_from(self.single(number)?.as_int()).unwrap_or(i64::MAX))
    }
    /// The one integer of an input that may be missing.
    pub fn optional_int(&mut self, number: usize) -> Made<Option<i64>> {
        self.optional(number).map(|_| self.single_int(number)).transpose()
    }
    /// Room for a constant of these lengths; gives how many elements it has.
    pub fn room(&mut self, lengths: &[u64]) -> Made<u64> {
        self.importer.room(lengths)
    }
    /// A size that an attribute says: at least `least`.
    pub fn size(&self, name: &str, default: i64, least: u64) -> Made<u64> {
        at_least(self.int(name, default)?, least, &format!("its `{name}`"))
    }
}

fn no_size(number: i64, what: &str, least: u64) -> Diagnostic {
    operator(format!("{what} is {number}, and has to be from {least} to {MOST_SIZE}"))
}
/// A number as a size of at least `least`; `what` names it.
pub(crate) fn at_least(number: i64, least: u64, what: &str) -> Made<u64> {
    let size = u64::try_from(number).ok().filter(|size| (least..=MOST_SIZE).contains(size));
    size.ok_or_else(|| no_size(number, what, least))
}
/// Numbers as lengths of dimensions.
pub(crate) fn lengths(all: &[i64]) -> Made<Vec<u64>> {
    all.iter().map(|length| at_least(*length, 0, "a length")).collect()
}
/// Numbers of elements that are added, or cut off where they are negative.
pub(crate) fn amounts(all: Vec<i64>, what: &str) -> Made<Vec<i64>> {
    match all.iter().find(|number| number.unsigned_abs() > MOST_SIZE) {
        Some(number) => Err(operator(format!("{what} hold {number}, which is beyond {MOST_SIZE}"))),
        None => Ok(all),
    }
}
/// How many elements these lengths have: a number that an `i64` holds too.
pub(crate) fn counted(lengths: &[u64]) -> Made<u64> {
    let count = lengths.iter().try_fold(1_u64, |all, length| all.checked_mul(*length));
    let count = count.filter(|count| i64::try_from(*count).is_ok());
    count.ok_or_else(|| operator(format!("no tensor has the lengths {lengths:?}: their product is beyond 64 bits")))
}

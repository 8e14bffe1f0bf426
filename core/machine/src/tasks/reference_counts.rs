//! Who owns what when a call has ended: each cell has as many owners as its count says.

use super::heap::Heap;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::Module;
use girih_ir::heap::{CELL, pack};
use std::collections::HashMap;

/// Counts the owners of all cells: fields of cells, globals, the host.
pub(super) fn check(
    module: &Module,
    heap: &Heap,
    globals: impl Iterator<Item = u32>,
    host: &HashMap<u32, u64>,
) -> Result<(), Diagnostic> {
    let mut owners: HashMap<u32, u64> = host.clone();
    globals.for_each(|word| *owners.entry(word).or_insert(0) += 1);
    for place in heap.cells() {
        heap.terms_at(place).for_each(|word| *owners.entry(word).or_insert(0) += 1);
    }
    for place in heap.cells() {
        let found = owners.get(&pack(CELL, place as u32)).copied().unwrap_or(0);
        let count = heap.count(place);
        if found != u64::from(count) && count != u32::MAX {
            let layout = module.layouts.get(heap.layout_at(place));
            let (name, span) = layout.map_or(("?", Span::NONE), |layout| (layout.name.as_str(), layout.span));
            let message = format!("a cell `@{name}` has {found} owners at the end of the call, but counts {count}");
            return Err(Diagnostic::new(Code::Leak, span, message).hint("an ownership was lost, or made of nothing"));
        }
    }
    Ok(())
}

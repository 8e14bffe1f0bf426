//! Which words of lanes name cells: for each label, of its registers, and of what is kept. Whoever looks for all cells that are needed
//! reads this.

use super::labels::words;
use super::segments::SegmentWriter;
use girih_base::diag::Diagnostic;
use girih_ir::{Function, FunctionId, Inst, Op, Type, ValueId};
use std::collections::HashSet;

/// What a word is.
mod kind {
    /// A number.
    pub const NUMBER: u32 = 0;
    /// A word with a tag.
    pub const TERM: u32 = 1;
    /// The frame of a fork whose token is kept, 0 if the call was made at once.
    pub const FRAME: u32 = 2;
    /// A word with a tag that is there if the frame before it is 0.
    pub const RESULT: u32 = 3;
    /// Memory of a cell that has been opened: it names a cell no longer.
    pub const HOLE: u32 = 4;
    /// The frame of the fork that the label is behind, 0 if its call was made at once. It stands first, and says whether the results are
    /// there that the label is given; the frames of other forks, which may stand first behind a join, do not.
    pub const FORK: u32 = 5;
}

/// A row for each label: a word for each register, and for each word that is kept.
pub(super) fn pointers(writer: &mut SegmentWriter<'_, '_>, registers: u32, kept: u32) -> Result<Vec<u32>, Diagnostic> {
    let labels = writer.labels.all.clone();
    let mut rows = vec![];
    for (id, point) in labels {
        let mut row = vec![kind::NUMBER; (registers + kept) as usize];
        let function = &writer.module.functions[id];
        let holes = holes(function);
        let places = writer.places(id, point)?;
        for (value, first) in &places.given {
            let kinds = kinds(writer, id, *value, &holes);
            // Of a fork's token the frame stands with what is kept.
            let skipped = usize::from(places.is_fork);
            put(&mut row, *first, &kinds[skipped.min(kinds.len())..]);
        }
        let begin = if places.in_frame { registers } else { 0 };
        if places.is_fork {
            put(&mut row, begin, &[kind::FORK]);
        }
        for (value, first) in &places.kept {
            let kinds = kinds(writer, id, *value, &holes);
            put(&mut row, begin + first, &kinds);
        }
        rows.extend(row);
    }
    Ok(rows)
}

fn put(row: &mut [u32], first: u32, kinds: &[u32]) {
    row[first as usize..].iter_mut().zip(kinds).for_each(|(to, kind)| *to = *kind);
}

/// What the words of a value are.
fn kinds(writer: &SegmentWriter<'_, '_>, id: FunctionId, value: ValueId, holes: &HashSet<ValueId>) -> Vec<u32> {
    let function = &writer.module.functions[id];
    let is_token = function.ty(value) == Type::Token;
    let kind = |(i, ty): (usize, &Type)| match (is_token, i, *ty) {
        (true, 0, _) => kind::FRAME,
        (true, _, Type::Term) => kind::RESULT,
        (false, _, Type::Term) if holes.contains(&value) => kind::HOLE,
        (false, _, Type::Term) => kind::TERM,
        _numbers => kind::NUMBER,
    };
    words(writer.module, function, value).iter().enumerate().map(kind).collect()
}

/// The holes of a function: what `cell.open` gives first, and what choices give of these.
pub fn holes(function: &Function) -> HashSet<ValueId> {
    spread(function, |inst, holes| match inst.op {
        Op::CellOpen => holes.extend(inst.results.first()),
        // What is filled or freed is one wherever it comes from.
        Op::CellFill | Op::CellFree => holes.extend(inst.operands.first()),
        Op::Select if inst.operands[1..].iter().any(|value| holes.contains(value)) => {
            holes.extend(inst.results.first());
        }
        _others => {}
    })
}

/// The chains of a function. They are words like others to whoever looks for cells, but nothing else may stand for one.
pub fn chains(function: &Function) -> HashSet<ValueId> {
    spread(function, |inst, chains| match inst.op {
        Op::ChainNew => chains.extend(inst.results.first()),
        Op::ChainGrow => chains.extend(inst.operands.first().into_iter().chain(inst.results.first())),
        // What grows or ends is one wherever it comes from.
        Op::ChainEnd => chains.extend(inst.operands.first()),
        Op::Loop => {
            let params = &function.regions[inst.regions[0]].params;
            let carried = inst.operands.iter().zip(params).filter(|(value, _)| chains.contains(*value));
            let carried: Vec<ValueId> = carried.map(|(_, param)| *param).collect();
            chains.extend(carried);
        }
        _others => {}
    })
}

/// Values that are of one kind by what makes and uses them, and what choices give of these.
fn spread(function: &Function, one: impl Fn(&Inst, &mut HashSet<ValueId>)) -> HashSet<ValueId> {
    let mut found = HashSet::new();
    loop {
        let before = found.len();
        function.walk(function.body, &mut |_, inst| {
            one(inst, &mut found);
            if matches!(inst.op, Op::If | Op::Switch) {
                let ends = inst.regions.iter().filter_map(|region| function.terminator(*region));
                for end in ends.filter(|end| end.op == Op::Yield) {
                    let given = inst.results.iter().zip(&end.operands);
                    let more: Vec<ValueId> =
                        given.filter(|(_, value)| found.contains(*value)).map(|(result, _)| *result).collect();
                    found.extend(more);
                }
            }
        });
        if found.len() == before {
            return found;
        }
    }
}

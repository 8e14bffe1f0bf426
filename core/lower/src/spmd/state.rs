//! Which lanes run, and the values of lanes that have left: for the function's caller, for the code after a loop, and for a loop's next
//! iteration. Each of these is a value that every jump changes for its lanes, so regions yield those that they change.

use super::lanes::Wide;
use super::{MASK, zero};
use girih_ir::{Builder, Inst, Op, RegionId, Type, ValueId};
use std::iter::zip;

/// Which lanes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    /// None.
    Nobody,
    /// Those where this mask is ones.
    Where(ValueId),
}

/// Something that jumps leave behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(pub usize);

/// What is known where the writer stands.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The lanes that run.
    pub active: Mask,
    /// A mask of which some lane certainly runs.
    pub someone: Option<ValueId>,
    /// What is in the slots: none where no lane has left anything.
    slots: Vec<Option<ValueId>>,
    types: Vec<Type>,
}

impl State {
    /// These lanes run, and nothing is left behind.
    pub fn new(active: ValueId) -> State {
        State { active: Mask::Where(active), someone: None, slots: vec![], types: vec![] }
    }
    /// A new slot.
    pub fn slot(&mut self, ty: Type) -> Slot {
        self.slots.push(None);
        self.types.push(ty);
        Slot(self.slots.len() - 1)
    }
    /// Forgets the slots that were made last, from this number on.
    pub fn forget(&mut self, from: usize) {
        self.slots.truncate(from);
        self.types.truncate(from);
    }
    /// How many slots there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }
    /// What is in a slot.
    pub fn get(&self, slot: Slot) -> Option<ValueId> {
        self.slots[slot.0]
    }
    /// Puts something into a slot.
    pub fn put(&mut self, slot: Slot, value: Option<ValueId>) {
        self.slots[slot.0] = value;
    }
    /// The type of what is in a slot.
    pub fn ty(&self, slot: Slot) -> Type {
        self.types[slot.0]
    }
    /// What is in a slot, or zeros.
    pub fn value(&self, b: &mut Builder, slot: Slot) -> ValueId {
        self.get(slot).unwrap_or_else(|| zero(b, self.ty(slot)))
    }
    /// The mask of the lanes that run.
    pub fn mask(&self, b: &mut Builder) -> ValueId {
        match self.active {
            Mask::Nobody => zero(b, MASK),
            Mask::Where(mask) => mask,
        }
    }
}

/// How a row of instructions has ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// It yields these values.
    Yields(Vec<Wide>),
    /// All its lanes have jumped; what they left behind is in the slots.
    Jumped,
    /// A jump has been written; nothing follows.
    Left,
}

/// A region that has been written, but for its end.
#[derive(Debug)]
pub(super) struct Arm {
    pub region: RegionId,
    pub end: End,
    pub state: State,
}

/// Ends the arms of a choice, of which one alone is run, and writes the choice where the builder stands. Gives what the arms yield (in
/// vectors where `each` says so) and how it goes on.
pub(super) fn join(b: &mut Builder, inst: Inst, arms: Vec<Arm>, types: &[Type], each: &[bool]) -> (Vec<Wide>, State) {
    let mut open: Vec<&Arm> = arms.iter().filter(|arm| !matches!(arm.end, End::Left)).collect();
    let Some(first) = open.first().map(|arm| arm.state.clone()) else {
        // All arms have jumped by themselves: what follows is never reached.
        let mut state = arms.into_iter().next().map_or_else(|| unreachable!("a choice has regions"), |arm| arm.state);
        state.active = Mask::Nobody;
        b.push(inst, &[]);
        return (vec![], state);
    };
    let changed: Vec<Slot> = (0..first.len())
        .map(Slot)
        .filter(|slot| open.iter().any(|arm| arm.state.get(*slot) != first.get(*slot)))
        .collect();
    let moved = open.iter().any(|arm| arm.state.active != first.active);
    let yields = open.iter().any(|arm| matches!(arm.end, End::Yields(_)));
    let types = if yields { types } else { &[] };
    for arm in &mut open {
        b.within(arm.region, |b| {
            let mut values = vec![];
            for (i, ty) in types.iter().enumerate() {
                values.push(match &arm.end {
                    End::Yields(given) => given[i].shaped(b, each[i]),
                    End::Jumped | End::Left => zero(b, *ty),
                });
            }
            if moved {
                values.push(arm.state.mask(b));
            }
            values.extend(changed.iter().map(|slot| arm.state.value(b, *slot)));
            b.end(Op::Yield, &values);
        });
    }
    let mut all: Vec<Type> = types.to_vec();
    all.extend(moved.then_some(MASK));
    all.extend(changed.iter().map(|slot| first.ty(*slot)));
    let id = b.push(inst, &all);
    let results = b.function.insts[id].results.clone();
    let mut state = State { someone: None, ..first };
    let given = zip(&results, each).take(types.len()).map(|(value, each)| Wide::of(*value, *each)).collect();
    let mut rest = results[types.len()..].iter();
    if moved && let Some(mask) = rest.next() {
        state.active = Mask::Where(*mask);
    }
    zip(changed, rest).for_each(|(slot, value)| state.put(slot, Some(*value)));
    (given, state)
}

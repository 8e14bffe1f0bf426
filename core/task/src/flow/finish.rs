//! From the solved graph to the answers: each set once, shapes for cells.

use std::collections::HashMap;

use super::answer::{Flow, SetId};
use super::atoms::{Atom, CellId};
use super::clones::Copies;
use super::set::{Numbers, Set};
use super::shape::{CellClass, ShapeId};
use super::solve::{Node, Solver};
use crate::bits::Bits;
use girih_base::idx::IndexVec;

/// The sets that have been asked for.
struct Sets<'s, 'p> {
    solver: &'s Solver<'p>,
    shapes: &'s IndexVec<CellId, ShapeId>,
    list: Vec<Set>,
    ids: HashMap<Box<[u64]>, SetId>,
}

impl Sets<'_, '_> {
    fn of(&mut self, node: Node) -> SetId {
        let solver = self.solver;
        self.of_bits(solver.known(node))
    }

    fn of_bits(&mut self, bits: &Bits) -> SetId {
        if let Some(&id) = self.ids.get(bits.key()) {
            return id;
        }
        let set = self.set(bits);
        let id = self.list.len() as SetId;
        self.list.push(set);
        self.ids.insert(bits.key().into(), id);
        id
    }

    fn set(&self, bits: &Bits) -> Set {
        let mut set = Set::default();
        for id in bits.iter() {
            match self.solver.atoms.atom(id) {
                Atom::Number(kind) => set.numbers = set.numbers.union(Numbers::one(kind)),
                Atom::Era => set.era = true,
                Atom::External => set.external = true,
                Atom::Unit(ctor) => set.units.push(ctor),
                Atom::Cell(cell) => set.shapes.push(self.shapes[cell]),
                Atom::Function(instance) => set.functions.push(instance),
                Atom::Thunk(def) => set.thunks.push(def),
                Atom::Maker(ctor) => set.makers.push(ctor),
                Atom::Selector(ty) => set.selectors.push(ty),
            }
        }
        set.sort();
        set
    }
}

impl<'p> Solver<'p> {
    /// The answers, and the copies that they are for.
    pub(super) fn finish(mut self) -> (Flow, Copies) {
        let (shape_of, members) = self.shapes();
        let solver = &self;
        let mut sets =
            Sets { solver, shapes: &shape_of, list: vec![Set::default()], ids: HashMap::from([(Box::default(), 0)]) };
        let list = &solver.codes.list;
        let instance = |code: usize| list[code].instance;
        let entered = || solver.codes.entered.iter().map(|&(code, _)| &list[code]);
        let shapes = members.iter().map(|cells| solver.shape_of(cells, &mut sets)).collect();
        let mut locals = HashMap::new();
        let mut results = HashMap::new();
        for code in entered() {
            locals.insert(code.instance, code.locals.iter().map(|&local| sets.of(local)).collect());
            results.insert(code.instance, sets.of(code.value.unwrap_or(code.result)));
        }
        let lambda_results = solver.lambdas.iter().map(|(&lambda, code)| (lambda, sets.of(code.result))).collect();
        let terms = solver.terms.iter().map(|(&(code, term), &node)| ((instance(code), term), sets.of(node))).collect();
        let delivered = solver.deliveries().map(|(code, term, node)| ((instance(code), term), sets.of(node))).collect();
        let flow = Flow {
            instances: entered().map(|code| code.instance).collect(),
            locals,
            results,
            lambda_results,
            terms,
            delivered,
            callees: solver.callees.iter().map(|(&(code, term), &callee)| ((instance(code), term), callee)).collect(),
            sites: solver.sites.iter().map(|(&site, &cell)| (site, shape_of[cell])).collect(),
            shapes,
            sets: sets.list,
            constants: self.constants,
        };
        (flow, self.copies)
    }

    /// Numbers the shapes. Gives that of each cell, and the cells of each.
    fn shapes(&mut self) -> (IndexVec<CellId, ShapeId>, IndexVec<ShapeId, Vec<CellId>>) {
        let mut members: IndexVec<ShapeId, Vec<CellId>> = IndexVec::new();
        let mut shape_of: IndexVec<CellId, ShapeId> = IndexVec::new();
        for cell in self.atoms.cells.ids() {
            let first = self.atoms.shape(cell);
            // The cell that stands for a shape is its first one.
            let shape = if first == cell { members.push(vec![]) } else { shape_of[first] };
            members[shape].push(cell);
            shape_of.push(shape);
        }
        (shape_of, members)
    }

    fn shape_of(&self, cells: &[CellId], sets: &mut Sets<'_, '_>) -> CellClass {
        let cells: Vec<_> = cells.iter().map(|&cell| &self.atoms.cells[cell]).collect();
        let first = cells[0];
        let field = |position: usize| {
            let mut bits = Bits::default();
            cells.iter().for_each(|cell| bits.union(self.known(cell.fields[position])));
            bits
        };
        let fields = (0..first.fields.len()).map(|position| sets.of_bits(&field(position)));
        let fields: Vec<SetId> = fields.collect();
        let fields = fields.into_iter().map(|id| sets.list[id as usize].clone()).collect();
        CellClass { what: first.what, fields, external: cells.iter().any(|cell| cell.external) }
    }
}

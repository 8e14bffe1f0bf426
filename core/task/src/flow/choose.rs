//! Constraints of what looks at values: matches, switches, tuples that are taken apart, operators.

use super::answer::address;
use super::atoms::{self, Atom, AtomId, CellId, ERA};
use super::shape::What;
use super::solve::{Node, Solver, Use};
use super::{Numbers, operate};
use crate::bits::Bits;
use girih_base::num::BinOp;
use girih_base::prim::Prim;
use girih_term::{CtorId, Match, Switch, Term};

/// A match.
pub(super) struct Choice<'p> {
    code: usize,
    choice: &'p Match,
    /// Where the value of the match arrives.
    result: Node,
    /// Which arms can be chosen; the last one is the default.
    chosen: Vec<bool>,
    /// For each constructor that was met, a cell of it.
    met: Vec<(CtorId, CellId)>,
    /// What functions give that are matched.
    delivered: Option<Node>,
    pub(super) term: usize,
}

/// A switch.
pub(super) struct NumberChoice<'p> {
    code: usize,
    choice: &'p Switch,
    result: Node,
    entered: bool,
}

/// A pair that is taken apart.
pub(super) struct Untuple {
    first: Option<Node>,
    second: Node,
    /// A pair that was met.
    met: Option<CellId>,
}

/// An operator or a primitive.
pub(super) struct Operation {
    what: Operator,
    /// What has arrived of numbers and `*`, which are the first atoms.
    operands: Vec<u64>,
    result: Node,
}

#[derive(Clone, Copy)]
enum Operator {
    Binary(BinOp),
    Prim(Prim),
}

impl<'p> Solver<'p> {
    pub(super) fn add_choice(&mut self, code: usize, term: &'p Term, choice: &'p Match, result: Node) {
        let scrutinee = self.node_of(code, &choice.scrutinee);
        let chosen = vec![false; choice.arms.len() + 1];
        let term = address(term);
        let id = self.choices.len();
        self.choices.push(Choice { code, choice, result, chosen, met: vec![], delivered: None, term });
        self.put(scrutinee, Use::Match(id));
    }

    /// A value is matched.
    pub(super) fn choose(&mut self, id: usize, atom_id: AtomId, atom: Atom) {
        match atom {
            Atom::Era => self.add_id(self.choices[id].result, atom_id),
            Atom::Unit(ctor) => self.choose_arm(id, atom_id, ctor, None),
            Atom::Cell(cell) => match self.atoms.cells[cell].what {
                What::Ctor(ctor) => self.choose_arm(id, atom_id, ctor, Some(cell)),
                What::Closure(_) | What::Partial(..) => self.match_function(id, atom_id),
                What::Pair => {}
            },
            Atom::Function(_) => self.match_function(id, atom_id),
            // These are traps, or do not come alone.
            Atom::Number(_) | Atom::External | Atom::Thunk(_) | Atom::Maker(_) | Atom::Selector(_) => {}
        }
    }

    fn choose_arm(&mut self, id: usize, atom_id: AtomId, ctor: CtorId, cell: Option<CellId>) {
        let Choice { code, choice, result, .. } = self.choices[id];
        if self.program.ctors[ctor].ty != choice.ty {
            return;
        }
        if let Some(cell) = cell {
            self.meet(id, ctor, cell);
        }
        let position = choice.arms.iter().position(|arm| arm.ctor == ctor).unwrap_or(choice.arms.len());
        let arm = choice.arms.get(position);
        let Some(body) = arm.map(|arm| &arm.body).or(choice.default.as_ref()) else { return };
        if !std::mem::replace(&mut self.choices[id].chosen[position], true) {
            let body = self.node_of(code, body);
            self.copy(body, result);
        }
        let Some(arm) = arm else { return };
        if let Some(whole) = arm.whole {
            self.add_id(self.local(code, whole), atom_id);
        }
        if let Some(cell) = cell {
            for (position, &local) in arm.fields.iter().enumerate() {
                let field = self.atoms.cells[cell].fields[position];
                self.copy(field, self.local(code, local));
            }
        }
    }

    /// All cells of a constructor that one match meets are of one shape.
    fn meet(&mut self, id: usize, ctor: CtorId, cell: CellId) {
        let met = &mut self.choices[id].met;
        match met.iter().find(|(other, _)| *other == ctor) {
            Some(&(_, other)) => self.atoms.unite(other, cell),
            None => met.push((ctor, cell)),
        }
    }

    /// A function that stands in the place of data is applied to a selector.
    fn match_function(&mut self, id: usize, function: AtomId) {
        let Choice { choice, delivered, .. } = self.choices[id];
        let delivered = match delivered {
            Some(delivered) => delivered,
            None => {
                let delivered = self.node();
                self.choices[id].delivered = Some(delivered);
                self.put(delivered, Use::Deliver(id));
                delivered
            }
        };
        let selector = self.selector(choice.ty);
        let functions = self.applied_to(vec![selector], delivered);
        self.add_id(functions, function);
    }

    /// What such a function gave is matched in its place.
    pub(super) fn deliver(&mut self, id: usize, atom_id: AtomId, atom: Atom) {
        let is_data = match atom {
            Atom::Unit(_) | Atom::Era => true,
            Atom::Cell(cell) => matches!(self.atoms.cells[cell].what, What::Ctor(_)),
            Atom::Number(_)
            | Atom::External
            | Atom::Function(_)
            | Atom::Thunk(_)
            | Atom::Maker(_)
            | Atom::Selector(_) => false,
        };
        if is_data {
            self.choose(id, atom_id, atom);
        }
    }

    /// What functions gave that were matched, with the copy of the definition and the match.
    pub(super) fn deliveries(&self) -> impl Iterator<Item = (usize, usize, Node)> {
        self.choices.iter().filter_map(|choice| Some((choice.code, choice.term, choice.delivered?)))
    }

    pub(super) fn add_number_choice(&mut self, code: usize, choice: &'p Switch, result: Node) {
        let scrutinee = self.node_of(code, &choice.scrutinee);
        let id = self.number_choices.len();
        self.number_choices.push(NumberChoice { code, choice, result, entered: false });
        self.put(scrutinee, Use::Switch(id));
    }

    /// A value is switched on.
    pub(super) fn choose_number(&mut self, id: usize, atom: Atom) {
        let NumberChoice { code, choice, result, .. } = self.number_choices[id];
        match atom {
            Atom::Era => self.add(result, Atom::Era),
            Atom::Number(kind) => {
                if !std::mem::replace(&mut self.number_choices[id].entered, true) {
                    for body in choice.cases.iter().map(|(_, body)| body).chain([&choice.default]) {
                        let body = self.node_of(code, body);
                        self.copy(body, result);
                    }
                }
                if let Some(pred) = choice.pred {
                    self.add(self.local(code, pred), Atom::Number(operate::predecessor(kind)));
                }
            }
            Atom::Unit(_)
            | Atom::Cell(_)
            | Atom::External
            | Atom::Function(_)
            | Atom::Thunk(_)
            | Atom::Maker(_)
            | Atom::Selector(_) => {}
        }
    }

    pub(super) fn add_untuple(&mut self, first: Option<Node>, second: Node) -> usize {
        self.untuples.push(Untuple { first, second, met: None });
        self.untuples.len() - 1
    }

    /// A value is taken apart as a pair.
    pub(super) fn untuple(&mut self, id: usize, atom: Atom) {
        let Untuple { first, second, met } = self.untuples[id];
        match atom {
            Atom::Era => first.iter().chain([&second]).for_each(|&part| self.add(part, Atom::Era)),
            Atom::Cell(cell) if self.atoms.cells[cell].what == What::Pair => {
                let fields = [0, 1].map(|position| self.atoms.cells[cell].fields[position]);
                first.iter().for_each(|&first| self.copy(fields[0], first));
                self.copy(fields[1], second);
                match met {
                    Some(other) => self.atoms.unite(other, cell),
                    None => self.untuples[id].met = Some(cell),
                }
            }
            Atom::Number(_)
            | Atom::Cell(_)
            | Atom::Unit(_)
            | Atom::External
            | Atom::Function(_)
            | Atom::Thunk(_)
            | Atom::Maker(_)
            | Atom::Selector(_) => {}
        }
    }

    pub(super) fn operator(&mut self, op: BinOp, operands: [Node; 2], result: Node) {
        self.add_operation(Operator::Binary(op), &operands, result);
    }

    pub(super) fn primitive(&mut self, prim: Prim, operands: &[Node], result: Node) {
        self.add_operation(Operator::Prim(prim), operands, result);
    }

    fn add_operation(&mut self, what: Operator, operands: &[Node], result: Node) {
        let id = self.operations.len();
        self.operations.push(Operation { what, operands: vec![0; operands.len()], result });
        for (position, &operand) in operands.iter().enumerate() {
            self.put(operand, Use::Operand(id, position));
        }
    }

    /// Values arrive at an operand.
    pub(super) fn operand(&mut self, id: usize, position: usize, new: &Bits) {
        let Operation { what, operands, result } = &mut self.operations[id];
        let result = *result;
        let before = operands[position];
        operands[position] |= new.first_word() & ((1 << (ERA + 1)) - 1);
        if operands[position] == before {
            return;
        }
        // The operands are looked at in order, up to one that is `*`.
        let mut until = operands.iter().scan(true, |goes_on, &word| {
            let looked_at = std::mem::replace(goes_on, *goes_on && !atoms::numbers(word).is_empty());
            looked_at.then_some(word)
        });
        let is_era = until.any(|word| word >> ERA & 1 != 0);
        let kinds: Vec<Numbers> = operands.iter().map(|&word| atoms::numbers(word)).collect();
        let numbers = match (*what, &kinds[..]) {
            (Operator::Binary(op), &[a, b]) => operate::operator(op, a, b),
            (Operator::Binary(_), _) => Numbers::NONE,
            (Operator::Prim(prim), kinds) => operate::primitive(prim, kinds),
        };
        numbers.iter().for_each(|kind| self.add(result, Atom::Number(kind)));
        if is_era {
            self.add(result, Atom::Era);
        }
    }
}

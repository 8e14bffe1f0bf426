//! The solver: a graph of nodes, each with a set of abstract values, and what becomes of a value that arrives at a node.
//!
//! A node hands on only what is new to it, so each use of a node sees each value once. Code becomes constraints when it
//! is first entered, and the terms of code are taken from a list: nothing recurses.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use super::answer::{Address, SiteKey};
use super::apply::{Application, Coarse};
use super::atoms::{Atom, AtomId, Atoms, CellId};
use super::choose::{Choice, NumberChoice, Operation, Untuple};
use super::clones::Copies;
use super::code::{Codes, DefCode};
use super::constants::constants;
use super::host::Host;
use super::{Flow, Instance, LambdaRef, Root};
use crate::bits::Bits;
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_term::{DefId, Program, Term, TypeId};

index_type! {
    /// A node of the graph: something that has a set.
    pub struct Node;
}

/// What a value does that arrives at a node. The numbers are positions in the tables of the [`Solver`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    /// It arrives at another node too.
    Copy(Node),
    /// It does, with thunks replaced by what they give.
    Force(Node),
    /// It is matched.
    Match(usize),
    /// It is what a function gave that is matched.
    Deliver(usize),
    /// It is switched on.
    Switch(usize),
    /// It is taken apart as a pair.
    Untuple(usize),
    /// It is this operand of an operator or a primitive.
    Operand(usize, usize),
    /// It is applied.
    Apply(usize),
    /// It is applied to an unknown number of arguments.
    Coarse(usize),
    /// The host sees it.
    Visible,
    /// The host performs it, if it is an `IO`.
    Perform,
}

#[derive(Default)]
struct Knot {
    known: Bits,
    pending: Bits,
    uses: Vec<Use>,
    is_waiting: bool,
}

/// A lambda whose closures can exist.
pub(super) struct LambdaCode<'p> {
    /// The copy of the definition that it stands in, by position.
    pub(super) code: usize,
    /// What makes its closures.
    pub(super) site: SiteKey,
    pub(super) params: Vec<Node>,
    pub(super) body: &'p Term,
    pub(super) result: Node,
    pub(super) entered: bool,
}

/// Analyses a program with these copies of its definitions.
pub(super) fn solve(program: &Program, roots: &[Root], copies: Copies) -> (Flow, Copies) {
    let mut solver = Solver::new(program, copies);
    for root in roots.iter().filter(|root| program.defs.get(root.def).is_some()) {
        solver.root(root);
    }
    solver.run();
    solver.finish()
}

/// The state of the analysis.
pub(super) struct Solver<'p> {
    pub(super) program: &'p Program,
    pub(super) constants: IndexVec<DefId, bool>,
    pub(super) copies: Copies,
    pub(super) atoms: Atoms,
    knots: IndexVec<Node, Knot>,
    waiting: VecDeque<Node>,
    copied: HashSet<(Node, Node)>,
    /// Terms that have a node, and no constraints yet.
    pub(super) todo: Vec<(usize, &'p Term, Node)>,
    pub(super) terms: HashMap<(usize, Address), Node>,
    pub(super) codes: Codes<'p>,
    pub(super) lambdas: HashMap<LambdaRef, LambdaCode<'p>>,
    pub(super) sites: HashMap<SiteKey, CellId>,
    pub(super) callees: HashMap<(usize, Address), Instance>,
    pub(super) choices: Vec<Choice<'p>>,
    pub(super) number_choices: Vec<NumberChoice<'p>>,
    pub(super) untuples: Vec<Untuple>,
    pub(super) operations: Vec<Operation>,
    pub(super) applications: Vec<Rc<Application>>,
    /// The node for the functions that are applied to these arguments with a result here.
    pub(super) applied: HashMap<(Vec<Node>, Node), Node>,
    pub(super) coarse: Vec<Coarse>,
    /// The nodes for what a match applies functions to.
    pub(super) selectors: HashMap<TypeId, Node>,
    pub(super) host: Host,
}

impl<'p> Solver<'p> {
    fn new(program: &'p Program, copies: Copies) -> Solver<'p> {
        Solver {
            program,
            constants: constants(program),
            copies,
            atoms: Atoms::new(),
            knots: IndexVec::new(),
            waiting: VecDeque::new(),
            copied: HashSet::new(),
            todo: vec![],
            terms: HashMap::new(),
            codes: Codes::default(),
            lambdas: HashMap::new(),
            sites: HashMap::new(),
            callees: HashMap::new(),
            choices: vec![],
            number_choices: vec![],
            untuples: vec![],
            operations: vec![],
            applications: vec![],
            applied: HashMap::new(),
            coarse: vec![],
            selectors: HashMap::new(),
            host: Host::default(),
        }
    }

    /// A new node with nothing in its set.
    pub(super) fn node(&mut self) -> Node {
        self.knots.push(Knot::default())
    }

    /// New nodes in a row.
    pub(super) fn nodes(&mut self, count: usize) -> Vec<Node> {
        (0..count).map(|_| self.node()).collect()
    }

    /// What has arrived at a node.
    pub(super) fn known(&self, node: Node) -> &Bits {
        &self.knots[node].known
    }

    /// A value arrives at a node.
    pub(super) fn add(&mut self, node: Node, atom: Atom) {
        let id = self.atoms.id(atom);
        self.add_id(node, id);
    }

    pub(super) fn add_id(&mut self, node: Node, id: AtomId) {
        let knot = &mut self.knots[node];
        if !knot.known.contains(id) && knot.pending.insert(id) {
            self.wait(node);
        }
    }

    fn wait(&mut self, node: Node) {
        if !std::mem::replace(&mut self.knots[node].is_waiting, true) {
            self.waiting.push_back(node);
        }
    }

    /// What arrives at `from` arrives at `to` too.
    pub(super) fn copy(&mut self, from: Node, to: Node) {
        if from != to && self.copied.insert((from, to)) {
            self.put(from, Use::Copy(to));
        }
    }

    /// Adds a use to a node: it sees all that has arrived, and all that will.
    pub(super) fn put(&mut self, node: Node, used: Use) {
        self.knots[node].uses.push(used);
        if !self.knots[node].known.is_empty() {
            let known = self.knots[node].known.clone();
            self.arrive(used, &known);
        }
    }

    /// Runs until nothing is new anywhere.
    fn run(&mut self) {
        loop {
            while let Some((code, term, node)) = self.todo.pop() {
                self.term(code, term, node);
            }
            let Some(node) = self.waiting.pop_front() else { return };
            let knot = &mut self.knots[node];
            knot.is_waiting = false;
            let new = std::mem::take(&mut knot.pending);
            knot.known.union(&new);
            // Uses that are added meanwhile see these values when they are added.
            for position in 0..knot.uses.len() {
                let used = self.knots[node].uses[position];
                self.arrive(used, &new);
            }
        }
    }

    fn arrive(&mut self, used: Use, new: &Bits) {
        match used {
            Use::Copy(to) => {
                let knot = &mut self.knots[to];
                if knot.pending.union_without(new, &knot.known) {
                    self.wait(to);
                }
            }
            Use::Operand(operation, position) => self.operand(operation, position, new),
            _ => {
                for id in new.iter() {
                    self.inspect(used, id);
                }
                return;
            }
        }
        if let Use::Operand(..) = used {
            self.force_all(used, new);
        }
    }

    /// Has the values of all thunks among these used in the same way.
    fn force_all(&mut self, used: Use, new: &Bits) {
        for id in new.iter() {
            if let Atom::Thunk(def) = self.atoms.atom(id) {
                let value = self.value(def);
                self.put(value, used);
            }
        }
    }

    /// One value arrives at a use that looks at it.
    fn inspect(&mut self, used: Use, id: AtomId) {
        let atom = self.atoms.atom(id);
        if let Atom::Thunk(def) = atom {
            let value = self.value(def);
            self.put(value, used);
            return;
        }
        match used {
            Use::Force(to) => self.add_id(to, id),
            Use::Match(choice) => self.choose(choice, id, atom),
            Use::Deliver(choice) => self.deliver(choice, id, atom),
            Use::Switch(choice) => self.choose_number(choice, atom),
            Use::Untuple(at) => self.untuple(at, atom),
            Use::Apply(application) => self.apply(application, id, atom),
            Use::Coarse(at) => self.apply_coarsely(at, id, atom),
            Use::Visible => self.show(id, atom),
            Use::Perform => self.perform(atom),
            Use::Copy(_) | Use::Operand(..) => unreachable!("these take all values at once"),
        }
    }

    /// The node for the value of a definition without parameters, which is computed now. It has no thunks.
    pub(super) fn value(&mut self, def: DefId) -> Node {
        let code = self.enter(Instance::from(def));
        let DefCode { result, value, .. } = self.codes.list[code];
        match value {
            Some(value) => value,
            None => {
                let value = self.node();
                self.codes.list[code].value = Some(value);
                self.put(result, Use::Force(value));
                value
            }
        }
    }
}

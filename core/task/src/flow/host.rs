//! The host: what it gives to the program, and what it sees.
//!
//! It sees the results of the roots, with all that these are made of. If such a result is an `IO/Call`, it performs it
//! and applies the continuation to the answer; the continuation itself it does not look into.

use std::collections::{HashMap, HashSet};

use super::answer::SiteKey;
use super::atoms::{Atom, AtomId};
use super::shape::What;
use super::solve::{Node, Solver, Use};
use super::{Outside, Root};
use girih_base::num::NumKind;
use girih_term::ty::Type;
use girih_term::{CtorId, DefId};

/// Types of what the host gives that are told apart. Only a type whose fields are of ever larger types comes to more.
const MOST_TYPES: usize = 1000;

/// What the analysis knows of the host.
#[derive(Default)]
pub(super) struct Host {
    /// What the host may give where it may give anything.
    anything: Option<Node>,
    /// What the host answers to an `IO/Call`, and the node for what continuations give.
    answer: Option<Node>,
    results: Option<Node>,
    /// What the roots of a definition give.
    given: HashMap<DefId, Node>,
    /// The nodes whose values it sees.
    shown: HashSet<Node>,
    /// What it gives where it gives data of a type.
    typed: HashMap<Type, Node>,
}

impl<'p> Solver<'p> {
    /// What the host needs.
    pub(super) fn root(&mut self, root: &Root) {
        let atom = self.global_atom(root.def);
        let function = self.constant(atom);
        let args: Vec<Node> = root.arguments.iter().map(|given| self.given(given)).collect();
        let result = self.result_of(root.def);
        if args.is_empty() {
            // A value that is only looked at is not applied, not even to no arguments.
            self.copy(function, result);
        } else {
            self.apply_node(function, args, result);
        }
    }

    /// What the roots of a definition give to the host.
    fn result_of(&mut self, def: DefId) -> Node {
        if let Some(result) = self.host.given.get(&def) {
            return *result;
        }
        let (result, results) = (self.node(), self.results());
        self.host.given.insert(def, result);
        self.copy(result, results);
        result
    }

    /// What the host gets and goes on with.
    fn results(&mut self) -> Node {
        if let Some(results) = self.host.results {
            return results;
        }
        let results = self.node();
        self.host.results = Some(results);
        self.put(results, Use::Visible);
        self.put(results, Use::Perform);
        results
    }

    fn given(&mut self, given: &Outside) -> Node {
        match given {
            Outside::Anything => self.anything(),
            Outside::Definition(def) => self.constant(self.global_atom(*def)),
            Outside::Typed(ty) => self.typed(ty),
            Outside::Number(kinds) => {
                let node = self.node();
                kinds.iter().for_each(|kind| self.add(node, Atom::Number(kind)));
                node
            }
            Outside::Result(roots) => {
                let node = self.node();
                for root in roots {
                    let result = self.result_of(*root);
                    self.copy(result, node);
                }
                node
            }
        }
    }

    /// Data of a type. Cells of a constructor are alike whatever type the host makes them for, so that it has one layout for them.
    fn typed(&mut self, ty: &Type) -> Node {
        if let Some(node) = self.host.typed.get(ty) {
            return *node;
        }
        if self.host.typed.len() == MOST_TYPES {
            return self.anything();
        }
        let node = match ty {
            Type::Any | Type::Hole | Type::Param(_) | Type::Var(_) | Type::Arrow(..) => self.anything(),
            Type::Num(kind) => self.constant(Atom::Number(*kind)),
            Type::None => self.constant(Atom::Era),
            Type::Tuple(_) | Type::Data(..) => self.node(),
        };
        // Before its parts, which may be of the same type.
        self.host.typed.insert(ty.clone(), node);
        match ty {
            Type::Tuple(parts) => {
                let mut parts: Vec<Node> = parts.iter().map(|part| self.typed(part)).collect();
                while let (Some(last), Some(before)) = (parts.pop(), parts.pop()) {
                    let pair = if parts.is_empty() { node } else { self.node() };
                    self.give_pair([before, last], pair);
                    parts.extend((!parts.is_empty()).then_some(pair));
                }
            }
            Type::Data(id, arguments) => {
                for ctor in self.program.types[*id].ctors.clone() {
                    let fields = &self.program.ctors[ctor].fields;
                    let fields: Vec<Type> = fields.iter().map(|field| field.ty.with(arguments)).collect();
                    let fields: Vec<Node> = fields.iter().map(|field| self.typed(field)).collect();
                    self.give_ctor(ctor, &fields, node);
                }
            }
            Type::Any | Type::Hole | Type::Param(_) | Type::Var(_) | Type::Arrow(..) | Type::Num(_) | Type::None => {}
        }
        node
    }

    /// All data that can be made, and all that the host has seen.
    fn anything(&mut self) -> Node {
        if let Some(anything) = self.host.anything {
            return anything;
        }
        let anything = self.node();
        self.host.anything = Some(anything);
        NumKind::ALL.into_iter().for_each(|kind| self.add(anything, Atom::Number(kind)));
        self.add(anything, Atom::Era);
        self.add(anything, Atom::External);
        for ctor in self.program.ctors.ids() {
            let fields = vec![anything; self.program.ctors[ctor].fields.len()];
            self.give_ctor(ctor, &fields, anything);
        }
        self.give_pair([anything; 2], anything);
        anything
    }

    /// A constructor that the host makes.
    fn give_ctor(&mut self, ctor: CtorId, fields: &[Node], to: Node) {
        if fields.is_empty() {
            self.add(to, Atom::Unit(ctor));
            return;
        }
        self.give(SiteKey::HostCtor(ctor), What::Ctor(ctor), fields, to);
    }

    fn give_pair(&mut self, parts: [Node; 2], to: Node) {
        self.give(SiteKey::HostPair, What::Pair, &parts, to);
    }

    fn give(&mut self, site: SiteKey, what: What, fields: &[Node], to: Node) {
        let cell = match self.sites.get(&site) {
            Some(&cell) => cell,
            None => {
                let own = self.nodes(fields.len());
                let cell = self.atoms.cell(what, own, true);
                self.sites.insert(site, cell);
                cell
            }
        };
        for (position, &field) in fields.iter().enumerate() {
            let own = self.atoms.cells[cell].fields[position];
            self.copy(field, own);
        }
        self.add(to, Atom::Cell(cell));
    }

    /// The host sees a value.
    pub(super) fn show(&mut self, id: AtomId, atom: Atom) {
        if let Some(anything) = self.host.anything {
            self.add_id(anything, id);
        }
        let Atom::Cell(cell) = atom else { return };
        if std::mem::replace(&mut self.atoms.cells[cell].external, true) {
            return;
        }
        let seen = match self.atoms.cells[cell].what {
            What::Ctor(ctor) if Some(ctor) == self.program.known.io_call => 3,
            What::Ctor(_) | What::Pair | What::Closure(_) | What::Partial(..) => usize::MAX,
        };
        for field in self.atoms.cells[cell].fields.clone().into_iter().take(seen) {
            if self.host.shown.insert(field) {
                self.put(field, Use::Visible);
            }
        }
    }

    /// The host performs a value if it is an `IO/Call`, and has the continuation's value next.
    pub(super) fn perform(&mut self, atom: Atom) {
        let Atom::Cell(cell) = atom else { return };
        let What::Ctor(ctor) = self.atoms.cells[cell].what else { return };
        if Some(ctor) != self.program.known.io_call {
            return;
        }
        let Some(&next) = self.atoms.cells[cell].fields.last() else { return };
        let (answer, results) = (self.answer(), self.results());
        let functions = self.applied_to(vec![answer], results);
        self.copy(next, functions);
    }

    /// A `Result`: `*`, a number, bytes or a pair of numbers, or an `IOError`.
    fn answer(&mut self) -> Node {
        if let Some(answer) = self.host.answer {
            return answer;
        }
        let answer = self.node();
        self.host.answer = Some(answer);
        let known = &self.program.known;
        let (ok, err) = (known.result_ok, known.result_err);
        let (value, error) = (self.good_answer(), self.io_error());
        for (ctor, inner) in [(ok, value), (err, error)] {
            ctor.iter().for_each(|&ctor| self.give_ctor(ctor, &[inner], answer));
        }
        answer
    }

    fn good_answer(&mut self) -> Node {
        let known = &self.program.known;
        let (cons, nil) = (known.list_cons, known.list_nil);
        let value = self.constant(Atom::Era);
        let number = self.constant(Atom::Number(NumKind::U24));
        self.copy(number, value);
        self.give_chain(cons.zip(nil), number, value);
        self.give_pair([number; 2], value);
        value
    }

    fn io_error(&mut self) -> Node {
        let known = &self.program.known;
        let units = [known.io_error_type, known.io_error_name];
        let (inner, cons, nil) = (known.io_error_inner, known.string_cons, known.string_nil);
        let error = self.node();
        units.into_iter().flatten().for_each(|ctor| self.add(error, Atom::Unit(ctor)));
        let what = self.constant(Atom::Number(NumKind::U24));
        let character = self.constant(Atom::Number(NumKind::U24));
        self.give_chain(cons.zip(nil), character, what);
        inner.iter().for_each(|&inner| self.give_ctor(inner, &[what], error));
        error
    }

    /// A list or a text.
    fn give_chain(&mut self, ctors: Option<(CtorId, CtorId)>, head: Node, to: Node) {
        let Some((cons, nil)) = ctors else { return };
        let chain = self.constant(Atom::Unit(nil));
        self.give_ctor(cons, &[head, chain], chain);
        self.copy(chain, to);
    }
}

//! Terms to constraints.

use super::Callee;
use super::answer::{SiteKey, address};
use super::atoms::{Atom, CellId};
use super::shape::What;
use super::solve::{LambdaCode, Node, Solver, Use};
use girih_base::num::NumKind;
use girih_term::{Bind, CtorId, DefId, LocalId, Target, Term, TermKind};

impl<'p> Solver<'p> {
    /// The node for what a term gives. Its constraints are made soon.
    pub(super) fn node_of(&mut self, code: usize, term: &'p Term) -> Node {
        if let TermKind::Local(local) = term.kind {
            return self.local(code, local);
        }
        if let Some(&node) = self.terms.get(&(code, address(term))) {
            return node;
        }
        let node = self.node();
        self.terms.insert((code, address(term)), node);
        self.todo.push((code, term, node));
        node
    }

    pub(super) fn nodes_of(&mut self, code: usize, terms: &'p [Term]) -> Vec<Node> {
        terms.iter().map(|term| self.node_of(code, term)).collect()
    }

    /// A node with just this value.
    pub(super) fn constant(&mut self, atom: Atom) -> Node {
        let node = self.node();
        self.add(node, atom);
        node
    }

    /// Makes the constraints of a term, whose values are to arrive at a node.
    pub(super) fn term(&mut self, code: usize, term: &'p Term, node: Node) {
        match &term.kind {
            TermKind::Local(local) => self.copy(self.local(code, *local), node),
            TermKind::Global(def) => self.global(*def, node),
            TermKind::Num(number) => self.add(node, Atom::Number(number.kind())),
            TermKind::Era => self.add(node, Atom::Era),
            TermKind::Str(text) => self.text(code, term, text.is_empty(), node),
            TermKind::List(items) => self.list(code, term, items, node),
            TermKind::Ctor(ctor, fields) if fields.is_empty() => self.add(node, Atom::Unit(*ctor)),
            TermKind::Ctor(ctor, fields) => {
                let fields = self.nodes_of(code, fields);
                self.made_at(code, term, What::Ctor(*ctor), fields, node);
            }
            TermKind::Tuple(parts) => self.tuple(code, term, parts, node),
            TermKind::Lambda(params, body) => self.closure(code, term, params, body, node),
            TermKind::Apply(function, args) => self.application(code, term, function, args, node),
            TermKind::Op(op, a, b) => {
                let operands = [a, b].map(|operand| self.node_of(code, operand));
                self.operator(*op, operands, node);
            }
            TermKind::Prim(prim, args) => {
                let operands = self.nodes_of(code, args);
                self.primitive(*prim, &operands, node);
            }
            TermKind::Let(binds, body) => {
                binds.iter().for_each(|bind| self.bind(code, bind));
                let body = self.node_of(code, body);
                self.copy(body, node);
            }
            TermKind::Match(choice) => self.add_choice(code, term, choice, node),
            TermKind::Switch(choice) => self.add_number_choice(code, choice, node),
            // A program with one of these is refused before it runs.
            TermKind::Literal(_) | TermKind::Sup(_) | TermKind::Link(_) | TermKind::Invalid => {}
        }
    }

    fn global(&mut self, def: DefId, node: Node) {
        let atom = self.global_atom(def);
        match atom {
            Atom::Thunk(def) if self.constants[def] => {
                let value = self.value(def);
                self.copy(value, node);
            }
            _ => self.add(node, atom),
        }
    }

    /// What a definition is as a value.
    pub(super) fn global_atom(&self, def: DefId) -> Atom {
        if self.program.defs[def].params.is_empty() { Atom::Thunk(def) } else { Atom::Function(def.into()) }
    }

    /// A cell that a term makes.
    fn made_at(&mut self, code: usize, term: &Term, what: What, fields: Vec<Node>, node: Node) -> CellId {
        let site = SiteKey::Term(self.codes.list[code].instance, address(term));
        self.made(site, what, fields, node)
    }

    fn made(&mut self, site: SiteKey, what: What, fields: Vec<Node>, node: Node) -> CellId {
        let cell = self.atoms.cell(what, fields, false);
        self.sites.insert(site, cell);
        self.add(node, Atom::Cell(cell));
        cell
    }

    fn text(&mut self, code: usize, term: &Term, is_empty: bool, node: Node) {
        let (cons, nil) = (self.program.known.string_cons, self.program.known.string_nil);
        let character = (!is_empty).then(|| self.constant(Atom::Number(NumKind::U24)));
        self.chain(code, term, cons.zip(nil), character, node);
    }

    fn list(&mut self, code: usize, term: &Term, items: &'p [Term], node: Node) {
        let (cons, nil) = (self.program.known.list_cons, self.program.known.list_nil);
        let items = self.nodes_of(code, items);
        let head = (!items.is_empty()).then(|| self.node());
        for item in items {
            head.iter().for_each(|&head| self.copy(item, head));
        }
        self.chain(code, term, cons.zip(nil), head, node);
    }

    /// A list or a text. All its links are one cell here.
    fn chain(&mut self, code: usize, term: &Term, ctors: Option<(CtorId, CtorId)>, head: Option<Node>, node: Node) {
        // Without these in the prelude, the program is refused before it runs.
        let Some((cons, nil)) = ctors else { return };
        match head {
            None => self.add(node, Atom::Unit(nil)),
            Some(head) => {
                let tail = self.constant(Atom::Unit(nil));
                let cell = self.made_at(code, term, What::Ctor(cons), vec![head, tail], node);
                self.add(tail, Atom::Cell(cell));
            }
        }
    }

    fn tuple(&mut self, code: usize, term: &Term, parts: &'p [Term], node: Node) {
        let instance = self.codes.list[code].instance;
        let parts = self.nodes_of(code, parts);
        let Some((&last, firsts)) = parts.split_last() else { return };
        let mut rest = last;
        for (position, &part) in firsts.iter().enumerate().rev() {
            let pair = if position == 0 { node } else { self.node() };
            let site = SiteKey::Pair(instance, address(term), position);
            self.made(site, What::Pair, vec![part, rest], pair);
            rest = pair;
        }
        if firsts.is_empty() {
            self.copy(last, node);
        }
    }

    fn closure(&mut self, code: usize, term: &Term, params: &[LocalId], body: &'p Term, node: Node) {
        let lambda = self.lambda(code, body);
        let fields = self.captures(code, lambda);
        self.made_at(code, term, What::Closure(lambda), fields, node);
        let params = params.iter().map(|&param| self.local(code, param)).collect();
        let result = self.node();
        let site = SiteKey::Term(lambda.instance, address(term));
        self.lambdas.insert(lambda, LambdaCode { code, site, params, body, result, entered: false });
    }

    fn application(&mut self, code: usize, term: &'p Term, function: &'p Term, args: &'p [Term], node: Node) {
        match &function.kind {
            TermKind::Lambda(params, body) if params.len() == args.len() => {
                let args = self.nodes_of(code, args);
                for (&param, arg) in params.iter().zip(args) {
                    self.copy(arg, self.local(code, param));
                }
                let body = self.node_of(code, body);
                self.copy(body, node);
            }
            TermKind::Global(def) if !args.is_empty() && !self.program.defs[*def].params.is_empty() => {
                let caller = self.codes.list[code].instance;
                let callee = self.copies.callee(caller, term, *def);
                self.callees.insert((code, address(term)), callee);
                let args = self.nodes_of(code, args);
                self.call(Callee::Definition(callee), None, &args, node);
            }
            _ => {
                let function = self.node_of(code, function);
                let args = self.nodes_of(code, args);
                self.apply_node(function, args, node);
            }
        }
    }

    fn bind(&mut self, code: usize, bind: &'p Bind) {
        let Bind { target, value } = bind;
        match target {
            Target::Tuple(targets) => {
                let value = self.node_of(code, value);
                self.take_apart(code, value, targets);
            }
            Target::Var(local) => {
                let value = self.node_of(code, value);
                self.copy(value, self.local(code, *local));
            }
            Target::Dup(copies) => {
                let value = self.node_of(code, value);
                for &local in copies.iter().flatten() {
                    self.copy(value, self.local(code, local));
                }
            }
            // A program with one of these is refused before it runs.
            Target::Link(_) => {}
        }
    }

    fn take_apart(&mut self, code: usize, value: Node, targets: &[Option<LocalId>]) {
        let Some((last, firsts)) = targets.split_last() else { return };
        let mut rest = value;
        for (position, target) in firsts.iter().enumerate() {
            let first = target.map(|local| self.local(code, local));
            let is_last = position + 1 == firsts.len();
            let second = match last {
                Some(local) if is_last => self.local(code, *local),
                _ => self.node(),
            };
            let at = self.add_untuple(first, second);
            self.put(rest, Use::Untuple(at));
            rest = second;
        }
    }
}

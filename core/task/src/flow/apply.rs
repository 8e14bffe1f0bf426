//! Application: what is applied meets its arguments.
//!
//! An application to more arguments than a function takes applies the result to those that are left, which are the last
//! of the given ones: so there are only finitely many. Only data that is applied brings more arguments in; that is made
//! [`Coarse`].

use std::rc::Rc;

use super::Callee;
use super::answer::SiteKey;
use super::atoms::{Atom, AtomId, CellId};
use super::shape::What;
use super::solve::{Node, Solver, Use};
use girih_base::num::NumKind;
use girih_term::{CtorId, TypeId};

/// An application.
pub(super) struct Application {
    args: Vec<Node>,
    /// Where its value arrives.
    result: Node,
}

/// An application to any number of arguments, all from one set.
#[derive(Clone, Copy)]
pub(super) struct Coarse {
    /// What is applied.
    functions: Node,
    args: Node,
    result: Node,
}

impl<'p> Solver<'p> {
    /// Applies all that arrives at a node.
    pub(super) fn apply_node(&mut self, functions: Node, args: Vec<Node>, result: Node) {
        let id = self.applications.len();
        self.applications.push(Rc::new(Application { args, result }));
        self.put(functions, Use::Apply(id));
    }

    /// The node all of whose values are applied to these arguments with a result there.
    pub(super) fn applied_to(&mut self, args: Vec<Node>, result: Node) -> Node {
        let key = (args, result);
        if let Some(&functions) = self.applied.get(&key) {
            return functions;
        }
        let functions = self.node();
        self.applied.insert(key.clone(), functions);
        self.apply_node(functions, key.0, result);
        functions
    }

    /// A value is applied.
    pub(super) fn apply(&mut self, id: usize, function: AtomId, atom: Atom) {
        let application = Rc::clone(&self.applications[id]);
        let Application { args, result } = &*application;
        match atom {
            Atom::Era => self.add_id(*result, function),
            Atom::Function(instance) => self.call(Callee::Definition(instance), Some(function), args, *result),
            Atom::Cell(cell) => match self.atoms.cells[cell].what {
                What::Closure(lambda) => self.call(Callee::Lambda(lambda), Some(function), args, *result),
                What::Partial(callee, _) => {
                    let (function, mut all) = self.stored(callee, cell);
                    all.extend_from_slice(args);
                    self.call(callee, function, &all, *result);
                }
                What::Ctor(_) | What::Pair if args.is_empty() => self.add_id(*result, function),
                What::Ctor(_) => self.apply_data(Some(cell), args, *result),
                What::Pair => {}
            },
            Atom::Number(_) | Atom::Unit(_) | Atom::Selector(_) if args.is_empty() => self.add_id(*result, function),
            Atom::Unit(_) => self.apply_data(None, args, *result),
            Atom::Maker(ctor) => self.call(Callee::Constructor(ctor), Some(function), args, *result),
            Atom::Selector(ty) => {
                for maker in self.selected(ty) {
                    self.apply_rest(maker, &args[1..], *result);
                }
            }
            Atom::Number(_) | Atom::External | Atom::Thunk(_) => {}
        }
    }

    /// Applies a value to the arguments that are left, if there are any.
    fn apply_rest(&mut self, function: Atom, args: &[Node], result: Node) {
        let to = if args.is_empty() { result } else { self.applied_to(args.to_vec(), result) };
        self.add(to, function);
    }

    /// How many arguments a function takes.
    fn arity(&self, callee: Callee) -> usize {
        match callee {
            Callee::Definition(instance) => self.program.defs[instance.def].params.len(),
            Callee::Lambda(lambda) => self.lambdas[&lambda].params.len(),
            Callee::Constructor(ctor) => self.program.ctors[ctor].fields.len(),
        }
    }

    /// Calls a known function. It is needed as a value too if it has captures, or may be given back.
    pub(super) fn call(&mut self, callee: Callee, function: Option<AtomId>, args: &[Node], result: Node) {
        let arity = self.arity(callee);
        if args.is_empty() && arity > 0 {
            function.iter().for_each(|&function| self.add_id(result, function));
            return;
        }
        if args.len() < arity {
            let partial = self.partial(callee, function, args.len());
            let first = self.atoms.cells[partial].fields.len() - args.len();
            for (position, &arg) in args.iter().enumerate() {
                let field = self.atoms.cells[partial].fields[first + position];
                self.copy(arg, field);
            }
            self.add(result, Atom::Cell(partial));
            return;
        }
        let (taken, left) = args.split_at(arity);
        let given = self.body(callee, taken);
        let to = if left.is_empty() { result } else { self.applied_to(left.to_vec(), result) };
        self.copy(given, to);
    }

    /// What a function gives for as many arguments as it takes.
    fn body(&mut self, callee: Callee, args: &[Node]) -> Node {
        let (params, result) = match callee {
            Callee::Definition(instance) => {
                let code = self.enter(instance);
                let params = &self.program.defs[instance.def].params;
                let params = params.iter().map(|&param| self.local(code, param)).collect();
                (params, self.codes.list[code].result)
            }
            Callee::Lambda(lambda) => {
                let found = self.lambdas.get_mut(&lambda).expect("a closure is made after its lambda is known");
                let (code, body, result) = (found.code, found.body, found.result);
                let params = found.params.clone();
                if !std::mem::replace(&mut found.entered, true) {
                    let body = self.node_of(code, body);
                    self.copy(body, result);
                }
                (params, result)
            }
            Callee::Constructor(ctor) => self.maker_body(ctor),
        };
        for (&arg, param) in args.iter().zip(params) {
            self.copy(arg, param);
        }
        result
    }

    /// The fields of what a constructor makes that is applied, and the node for it.
    fn maker_body(&mut self, ctor: CtorId) -> (Vec<Node>, Node) {
        let site = SiteKey::Made(ctor);
        let cell = match self.sites.get(&site) {
            Some(&cell) => cell,
            None => {
                let fields = self.nodes(self.program.ctors[ctor].fields.len());
                let cell = self.atoms.cell(What::Ctor(ctor), fields, false);
                self.sites.insert(site, cell);
                cell
            }
        };
        (self.atoms.cells[cell].fields.clone(), self.constant(Atom::Cell(cell)))
    }

    /// The cell for a function with this number of arguments. Its fields are the function, if that is a closure, and the
    /// arguments.
    fn partial(&mut self, callee: Callee, function: Option<AtomId>, count: usize) -> CellId {
        let what = What::Partial(callee, count as u32);
        let site = SiteKey::Partial(callee, count as u32);
        if let Some(&cell) = self.sites.get(&site) {
            return cell;
        }
        let mut fields = vec![];
        if let Callee::Lambda(_) = callee {
            let closure = self.node();
            function.iter().for_each(|&function| self.add_id(closure, function));
            fields.push(closure);
        }
        fields.extend(self.nodes(count));
        let cell = self.atoms.cell(what, fields, false);
        self.sites.insert(site, cell);
        cell
    }

    /// The function in a partial application, as a value if that is needed, and its arguments.
    fn stored(&mut self, callee: Callee, partial: CellId) -> (Option<AtomId>, Vec<Node>) {
        let fields = self.atoms.cells[partial].fields.clone();
        match callee {
            Callee::Lambda(lambda) => {
                let site = self.lambdas[&lambda].site;
                let function = self.sites.get(&site).map(|&cell| self.atoms.id(Atom::Cell(cell)));
                (function, fields[1..].to_vec())
            }
            Callee::Definition(_) | Callee::Constructor(_) => (None, fields),
        }
    }

    /// The node for what a match on a type applies functions to.
    pub(super) fn selector(&mut self, ty: TypeId) -> Node {
        if let Some(&node) = self.selectors.get(&ty) {
            return node;
        }
        let node = self.constant(Atom::Selector(ty));
        self.selectors.insert(ty, node);
        node
    }

    /// What a selector gives.
    fn selected(&self, ty: TypeId) -> Vec<Atom> {
        let maker = |&ctor: &CtorId| match self.program.ctors[ctor].fields.len() {
            0 => Atom::Unit(ctor),
            _ => Atom::Maker(ctor),
        };
        self.program.types[ty].ctors.iter().map(maker).collect()
    }

    /// Data is applied: its first argument is applied to the constructor's tag, the fields and the rest.
    fn apply_data(&mut self, data: Option<CellId>, args: &[Node], result: Node) {
        let Some((&function, rest)) = args.split_first() else { return };
        let all = self.constant(Atom::Number(NumKind::U24));
        let fields = data.map_or(vec![], |cell| self.atoms.cells[cell].fields.clone());
        for &more in fields.iter().chain(rest) {
            self.copy(more, all);
        }
        let functions = self.applied_coarsely(all, result);
        self.copy(function, functions);
    }

    /// The node all of whose values are applied to any number of arguments from a node, with a result there.
    fn applied_coarsely(&mut self, args: Node, result: Node) -> Node {
        let functions = self.node();
        let id = self.coarse.len();
        self.coarse.push(Coarse { functions, args, result });
        self.put(functions, Use::Coarse(id));
        functions
    }

    /// A value is applied to any number of arguments, none too.
    pub(super) fn apply_coarsely(&mut self, id: usize, function: AtomId, atom: Atom) {
        let Coarse { functions, args, result } = self.coarse[id];
        self.add_id(result, function);
        match atom {
            Atom::Function(instance) => self.call_coarsely(Callee::Definition(instance), Some(function), id),
            Atom::Maker(ctor) => self.call_coarsely(Callee::Constructor(ctor), Some(function), id),
            Atom::Unit(_) => self.apply_data_coarsely(vec![], id),
            Atom::Selector(ty) => self.selected(ty).into_iter().for_each(|maker| self.add(functions, maker)),
            Atom::Cell(cell) => match self.atoms.cells[cell].what {
                What::Closure(lambda) => self.call_coarsely(Callee::Lambda(lambda), Some(function), id),
                What::Ctor(_) => self.apply_data_coarsely(self.atoms.cells[cell].fields.clone(), id),
                What::Partial(callee, _) => {
                    let (function, stored) = self.stored(callee, cell);
                    stored.into_iter().for_each(|arg| self.copy(arg, args));
                    self.call_coarsely(callee, function, id);
                }
                What::Pair => {}
            },
            Atom::Number(_) | Atom::Era | Atom::External | Atom::Thunk(_) => {}
        }
    }

    fn call_coarsely(&mut self, callee: Callee, function: Option<AtomId>, id: usize) {
        let Coarse { functions, args, result } = self.coarse[id];
        let arity = self.arity(callee);
        for count in 1..arity {
            self.call(callee, function, &vec![args; count], result);
        }
        self.call(callee, function, &vec![args; arity], functions);
    }

    fn apply_data_coarsely(&mut self, fields: Vec<Node>, id: usize) {
        let Coarse { functions, args, .. } = self.coarse[id];
        self.add(args, Atom::Number(NumKind::U24));
        fields.into_iter().for_each(|field| self.copy(field, args));
        self.copy(args, functions);
    }
}

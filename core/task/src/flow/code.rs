//! The copies of definitions that take part in the analysis, with their nodes.

use std::collections::HashMap;
use std::rc::Rc;

use super::answer::{Address, address};
use super::solve::{Node, Solver};
use super::{Instance, LambdaRef};
use girih_term::code::lambdas::Scopes;
use girih_term::{Body, DefId, LocalId, Term};

/// A copy of a definition.
pub(super) struct DefCode {
    pub(super) instance: Instance,
    /// The node of each variable.
    pub(super) locals: Vec<Node>,
    /// What the body gives.
    pub(super) result: Node,
    /// Of a definition without parameters: what it gives when it is inspected.
    pub(super) value: Option<Node>,
    pub(super) entered: bool,
    pub(super) lambdas: Rc<Lambdas>,
}

/// The lambdas of a definition.
#[derive(Default)]
pub(super) struct Lambdas {
    /// The position of each in the walk over the definition, by its body.
    ordinals: HashMap<Address, usize>,
    /// What each captures.
    captures: Vec<Vec<LocalId>>,
}

/// All copies.
#[derive(Default)]
pub(super) struct Codes<'p> {
    pub(super) list: Vec<DefCode>,
    ids: HashMap<Instance, usize>,
    /// The bodies of all entered ones, in the order in which they were.
    pub(super) entered: Vec<(usize, &'p Term)>,
    lambdas: HashMap<DefId, Rc<Lambdas>>,
}

impl<'p> Solver<'p> {
    /// The copy of a definition, by position in the table.
    pub(super) fn code(&mut self, instance: Instance) -> usize {
        if let Some(&code) = self.codes.ids.get(&instance) {
            return code;
        }
        let def = &self.program.defs[instance.def];
        let lambdas = self.codes.lambdas.entry(instance.def).or_insert_with(|| {
            Rc::new(match &def.body {
                Body::Term(body) => Lambdas::of(Scopes::of(body, &def.locals)),
                Body::Net(_) => Lambdas::default(),
            })
        });
        let lambdas = Rc::clone(lambdas);
        let locals = self.nodes(def.locals.len());
        let result = self.node();
        let code = self.codes.list.len();
        self.codes.list.push(DefCode { instance, locals, result, value: None, entered: false, lambdas });
        self.codes.ids.insert(instance, code);
        code
    }

    /// The copy of a definition, whose body can run from now on.
    pub(super) fn enter(&mut self, instance: Instance) -> usize {
        let code = self.code(instance);
        if std::mem::replace(&mut self.codes.list[code].entered, true) {
            return code;
        }
        // The body of a net gives nothing: a program that needs it is refused before it runs.
        if let Body::Term(body) = &self.program.defs[instance.def].body {
            self.codes.entered.push((code, body));
            let node = self.node_of(code, body);
            let result = self.codes.list[code].result;
            self.copy(node, result);
        }
        code
    }

    /// The node of a variable.
    pub(super) fn local(&self, code: usize, local: LocalId) -> Node {
        self.codes.list[code].locals[local.index()]
    }

    /// The lambda with this body.
    pub(super) fn lambda(&self, code: usize, body: &Term) -> LambdaRef {
        let code = &self.codes.list[code];
        LambdaRef { instance: code.instance, ordinal: code.lambdas.ordinals[&address(body)] }
    }

    /// The nodes of the variables that a lambda captures.
    pub(super) fn captures(&self, code: usize, lambda: LambdaRef) -> Vec<Node> {
        let code = &self.codes.list[code];
        code.lambdas.captures[lambda.ordinal].iter().map(|local| code.locals[local.index()]).collect()
    }
}

impl Lambdas {
    fn of(scopes: Scopes<'_>) -> Lambdas {
        let mut lambdas = Lambdas::default();
        for (ordinal, lambda) in scopes.lambdas.into_iter().enumerate() {
            lambdas.ordinals.insert(address(lambda.body), ordinal);
            lambdas.captures.push(lambda.captures);
        }
        lambdas
    }
}

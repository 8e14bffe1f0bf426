//! From a model to a graph: nodes in order, names to nodes of the graph, subgraphs and functions written where they are used.
//!
//! Invariant: a node of the graph is constant if no input of the model leads to it. Elements of constants are computed by the interpreter, once, and only where an operator
//! asks for them.

use crate::call::Call;
use crate::constant::Constant;
use crate::error::{file, missing, operator};
use crate::model::Model;
use crate::operators;
use crate::proto::{AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto};
use girih_tensor::{Data, Graph, Made, NodeId, TensorType, interpret};
use std::collections::HashMap;

/// A model as a graph, for inputs of certain types.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The graph. Its inputs are those of the model that are not among `fixed`, in order, and then the weights.
    pub graph: Graph,
    /// The weights.
    pub weights: Vec<Constant>,
    /// The inputs of the model whose elements have decided about the graph: it is right for these alone.
    pub fixed: Vec<(usize, Constant)>,
}

impl Model {
    /// Writes the graph for inputs of these types. `elements` is asked for the elements of inputs that decide about shapes; where it gives none, the model is refused.
    ///
    /// # Errors
    /// If the inputs do not fit, or an operator is not there or cannot be written.
    pub fn graph(
        &self,
        inputs: &[TensorType],
        elements: &mut dyn FnMut(usize) -> Made<Option<Constant>>,
    ) -> Made<Imported> {
        if inputs.len() != self.inputs().len() {
            let (given, wanted) = (inputs.len(), self.inputs().len());
            let names: Vec<String> = self.inputs().iter().map(|input| format!("`{}`", input.name)).collect();
            return Err(file(format!("the model has {wanted} inputs, and {given} are given"))
                .hint(format!("give one tensor for each of {}", names.join(", "))));
        }
        let mut fixed: Vec<(usize, Constant)> = vec![];
        loop {
            let mut importer = Importer::new(self);
            let outcome = importer.all(inputs, &fixed);
            let Some(wanted) = importer.wanted.take() else { return outcome.map(|()| importer.finish(fixed)) };
            let refused = outcome.err().unwrap_or_else(|| operator("an input has to be known"));
            for input in wanted {
                fixed.push((input, elements(input)?.ok_or_else(|| refused.clone())?));
            }
        }
    }
}

/// Names that are known at a place.
struct Scope<'a> {
    values: HashMap<&'a str, NodeId>,
    /// Whether the names of the scope around it are known, too: of a subgraph, not of a function.
    sees_outer: bool,
    opsets: &'a [OperatorSetIdProto],
    /// What a function was given.
    attributes: HashMap<&'a str, &'a AttributeProto>,
}

/// What a graph is written by.
pub(crate) struct Importer<'a> {
    model: &'a Model,
    pub graph: Graph,
    scopes: Vec<Scope<'a>>,
    /// Inputs of the graph that are inputs of the model, by their numbers.
    given: HashMap<NodeId, usize>,
    /// Inputs of the graph whose elements are known.
    constants: HashMap<NodeId, Constant>,
    /// Elements that were computed already.
    known: HashMap<NodeId, Data>,
    /// Inputs of the model whose elements an operator has asked for in vain.
    wanted: Option<Vec<usize>>,
}

impl<'a> Importer<'a> {
    fn new(model: &'a Model) -> Importer<'a> {
        let scope =
            Scope { values: HashMap::new(), sees_outer: false, opsets: &model.opsets, attributes: HashMap::new() };
        let (given, constants, known) = (HashMap::new(), HashMap::new(), HashMap::new());
        Importer { model, graph: Graph::new(), scopes: vec![scope], given, constants, known, wanted: None }
    }

    fn all(&mut self, inputs: &[TensorType], fixed: &[(usize, Constant)]) -> Made<()> {
        let model = self.model;
        for (number, (ty, input)) in inputs.iter().zip(model.inputs()).enumerate() {
            input.takes(ty)?;
            let node = match fixed.iter().find(|(fixed, _)| *fixed == number) {
                Some((_, constant)) => self.constant(constant.clone())?,
                None => {
                    let node = self.graph.input(ty.element, &ty.shape.lengths())?;
                    self.given.insert(node, number);
                    node
                }
            };
            self.bind(&input.name, node);
        }
        // In order, so that one model gives one graph.
        let mut names: Vec<&String> = model.weights.keys().collect();
        names.sort_unstable();
        for name in names {
            let node = self.constant(model.weights[name].clone())?;
            self.bind(name, node);
        }
        self.graph.outputs = self.body(&model.graph)?;
        Ok(())
    }

    /// The nodes of a graph, whose inputs are known already. Gives its outputs.
    fn body(&mut self, graph: &'a GraphProto) -> Made<Vec<NodeId>> {
        for tensor in &graph.initializer {
            let constant = Constant::read(tensor, &mut |_, _, _| Err("a subgraph has weights in another file".into()))?;
            let node = self.constant(constant)?;
            self.bind(&tensor.name, node);
        }
        for (number, node) in graph.node.iter().enumerate() {
            self.node(node, number)?;
        }
        graph.output.iter().map(|output| self.value(&output.name)).collect()
    }

    fn node(&mut self, node: &'a NodeProto, number: usize) -> Made<()> {
        let outputs = self.outputs(node).map_err(|mut refused| {
            let name = if node.name.is_empty() { format!("node {number}") } else { format!("node `{}`", node.name) };
            refused.message = format!("{name}, {}: {}", node.op_type, refused.message);
            refused
        })?;
        for (name, output) in node.output.iter().zip(outputs).filter(|(name, _)| !name.is_empty()) {
            self.bind(name, output);
        }
        Ok(())
    }

    fn outputs(&mut self, node: &'a NodeProto) -> Made<Vec<NodeId>> {
        let input = |name: &'a String| if name.is_empty() { Ok(None) } else { self.value(name).map(Some) };
        let inputs = node.input.iter().map(input).collect::<Made<Vec<_>>>()?;
        let outputs = match self.function(node)? {
            Some(function) => self.inlined(function, node, &inputs)?,
            None => {
                let domain = domain(&node.domain);
                let row = operators::find(domain, &node.op_type).ok_or_else(|| missing(domain, &node.op_type))?;
                let version = self.version(domain)?;
                (row.write)(&mut Call { importer: self, node, inputs, version })?
            }
        };
        if let Some(name) = node.output.get(outputs.len()..).and_then(|more| more.iter().find(|name| !name.is_empty()))
        {
            return Err(operator(format!("its output `{name}` is not there")));
        }
        Ok(outputs)
    }

    fn version(&self, domain: &str) -> Made<i64> {
        let opsets = self.scopes.last().map_or(&[][..], |scope| scope.opsets);
        let same = |set: &&OperatorSetIdProto| set.domain == domain || (domain.is_empty() && set.domain == "ai.onnx");
        match opsets.iter().find(same) {
            Some(set) => Ok(set.version),
            None => Err(file(format!("the model names no version of the domain `{domain}`"))
                .hint("write its version to the model's `opset_import`, as `onnx.helper.make_model` does")),
        }
    }

    /// The function of the model that a node calls, by its domain, name and overload; none if it is an operator.
    fn function(&self, node: &NodeProto) -> Made<Option<&'a FunctionProto>> {
        let is_named = |function: &&FunctionProto| {
            function.name == node.op_type && domain(&function.domain) == domain(&node.domain)
        };
        let mut named = self.model.functions.iter().filter(is_named).peekable();
        let is_there = named.peek().is_some();
        match named.find(|function| function.overload == node.overload) {
            None if is_there => {
                let (name, overload) = (&node.op_type, &node.overload);
                Err(file(format!("the model has functions `{name}`, and none of the overload `{overload}`")))
            }
            found => Ok(found),
        }
    }

    fn inlined(
        &mut self,
        function: &'a FunctionProto,
        node: &'a NodeProto,
        inputs: &[Option<NodeId>],
    ) -> Made<Vec<NodeId>> {
        if self.scopes.len() > DEEPEST {
            return Err(file(format!("functions and subgraphs are nested more than {DEEPEST} deep")));
        }
        let defaults = function.attribute_proto.iter().map(|attribute| (&*attribute.name, attribute));
        let mut attributes: HashMap<&str, &AttributeProto> = defaults.collect();
        attributes
            .extend(node.attribute.iter().filter_map(|attribute| Some((&*attribute.name, self.resolved(attribute)?))));
        let names = function.input.iter().zip(inputs).filter_map(|(name, input)| Some((&**name, (*input)?)));
        let opsets = &function.opset_import;
        self.scopes.push(Scope { values: names.collect(), sees_outer: false, opsets, attributes });
        let mut write = || {
            for (number, node) in function.node.iter().enumerate() {
                self.node(node, number)?;
            }
            function.output.iter().map(|name| self.value(name)).collect()
        };
        let outputs = write();
        self.scopes.pop();
        outputs
    }

    /// A subgraph, given values for its inputs.
    pub fn subgraph(&mut self, graph: &'a GraphProto, inputs: &[NodeId]) -> Made<Vec<NodeId>> {
        if self.scopes.len() > DEEPEST {
            return Err(file(format!("functions and subgraphs are nested more than {DEEPEST} deep")));
        }
        if graph.input.len() != inputs.len() {
            let (wanted, given) = (graph.input.len(), inputs.len());
            return Err(file(format!("its subgraph has {wanted} inputs, and {given} are given")));
        }
        let values = graph.input.iter().zip(inputs).map(|(input, node)| (&*input.name, *node)).collect();
        let opsets = self.scopes.last().map_or(&[][..], |scope| scope.opsets);
        let attributes = self.scopes.last().map(|scope| scope.attributes.clone()).unwrap_or_default();
        self.scopes.push(Scope { values, sees_outer: true, opsets, attributes });
        let outputs = self.body(graph);
        self.scopes.pop();
        outputs
    }

    /// An attribute as it was written, or as the function was given it; none if it was not given.
    pub fn resolved(&self, attribute: &'a AttributeProto) -> Option<&'a AttributeProto> {
        if attribute.ref_attr_name.is_empty() {
            return Some(attribute);
        }
        self.scopes.last().and_then(|scope| scope.attributes.get(&*attribute.ref_attr_name).copied())
    }

    fn bind(&mut self, name: &'a str, node: NodeId) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.values.insert(name, node);
        }
    }

    fn value(&self, name: &str) -> Made<NodeId> {
        for scope in self.scopes.iter().rev() {
            if let Some(node) = scope.values.get(name) {
                return Ok(*node);
            }
            if !scope.sees_outer {
                break;
            }
        }
        Err(file(format!("it uses `{name}`, which nothing before it gives")).hint(
            "nodes stand after those whose values they use: `onnx.checker.check_model` finds names that nothing gives",
        ))
    }

    /// A node whose elements are known.
    pub fn constant(&mut self, constant: Constant) -> Made<NodeId> {
        let node = self.graph.input(constant.ty.element, &constant.ty.shape.lengths())?;
        self.constants.insert(node, constant);
        Ok(node)
    }

    /// The elements of a node that no input leads to.
    ///
    /// # Errors
    /// If inputs do: those are asked for.
    pub fn elements(&mut self, node: NodeId) -> Made<Data> {
        if let Some(known) = self.known.get(&node) {
            return Ok(known.clone());
        }
        let (part, inputs) = self.before(node)?;
        let data = interpret(&part, &inputs)?.swap_remove(0);
        self.known.insert(node, data.clone());
        Ok(data)
    }

    /// The graph that gives a node alone, and its inputs: constants, and what was computed already.
    fn before(&mut self, root: NodeId) -> Made<(Graph, Vec<Data>)> {
        let mut needed = vec![false; self.graph.nodes.len()];
        needed[root.index()] = true;
        for id in self.graph.ids().rev().filter(|id| id.index() <= root.index()) {
            if needed[id.index()] && !self.known.contains_key(&id) {
                self.graph.nodes[id].operands.iter().for_each(|operand| needed[operand.index()] = true);
            }
        }
        let needed: Vec<NodeId> = self.graph.ids().filter(|id| needed[id.index()]).collect();
        let wanted: Vec<usize> = needed.iter().filter_map(|id| self.given.get(id).copied()).collect();
        if !wanted.is_empty() {
            let names: Vec<String> =
                wanted.iter().map(|input| format!("`{}`", self.model.inputs()[*input].name)).collect();
            let which = if names.len() == 1 { "the input" } else { "the inputs" };
            self.wanted = Some(wanted);
            return Err(operator(format!(
                "a shape or a choice depends on the elements of {which} {}, which have to be known when the model is compiled",
                names.join(", ")
            ))
            .hint("give these elements where the model is compiled, or write them to its file as a weight"));
        }
        let (mut part, mut inputs, mut moved) = (Graph::new(), vec![], HashMap::new());
        for id in needed {
            let node = &self.graph.nodes[id];
            let elements = self.known.get(&id).cloned().or_else(|| self.constants.get(&id).map(Constant::data));
            let copy = match elements {
                Some(elements) => {
                    inputs.push(elements);
                    part.input(node.ty.element, &node.ty.shape.lengths())?
                }
                None => {
                    let operands: Vec<NodeId> = node.operands.iter().map(|operand| moved[operand]).collect();
                    part.push(node.op, &operands, node.attrs.clone())?
                }
            };
            moved.insert(id, copy);
        }
        part.outputs = vec![moved[&root]];
        Ok((part, inputs))
    }

    /// Whether no input of the model leads to a node.
    pub fn is_constant(&self, root: NodeId) -> bool {
        let mut open = vec![root];
        let mut seen = vec![false; self.graph.nodes.len()];
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut seen[id.index()], true) || self.known.contains_key(&id) {
                continue;
            }
            if self.given.contains_key(&id) {
                return false;
            }
            open.extend(&self.graph.nodes[id].operands);
        }
        true
    }

    /// The graph without what no output needs, its inputs first, then the weights.
    fn finish(mut self, fixed: Vec<(usize, Constant)>) -> Imported {
        let needed = self.graph.needed();
        let is_used = |id: &NodeId| needed[id.index()] || self.given.contains_key(id);
        let used: Vec<NodeId> = self.graph.ids().filter(is_used).collect();
        let rank = |id: &NodeId| match (self.given.contains_key(id), self.constants.contains_key(id)) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        let mut order = used;
        order.sort_by_key(rank);
        let (mut graph, mut moved, mut weights) = (Graph::new(), HashMap::new(), vec![]);
        for id in order {
            let mut node = self.graph.nodes[id].clone();
            node.operands.iter_mut().for_each(|operand| *operand = moved[operand]);
            weights.extend(self.constants.remove(&id));
            moved.insert(id, graph.nodes.push(node));
        }
        graph.outputs = self.graph.outputs.iter().map(|output| moved[output]).collect();
        Imported { graph, weights, fixed }
    }
}

/// A domain of operators; ONNX's own has two names.
fn domain(name: &str) -> &str {
    if name == "ai.onnx" { "" } else { name }
}

/// How deep subgraphs and functions may be nested.
const DEEPEST: usize = 64;

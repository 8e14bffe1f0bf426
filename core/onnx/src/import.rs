//! From a model to a graph: nodes in order, names to nodes of the graph, subgraphs and functions written where they are used.
//!
//! Invariant: a node of the graph is constant if no input of the model leads to it. Elements of constants are computed by the interpreter, once, and only where an operator
//! asks for them. What is computed and how many nodes are written is counted before, see `size`.

use crate::call::Call;
use crate::constant::Constant;
use crate::error::{file, missing, operator};
use crate::model::Model;
use crate::operators;
use crate::proto::{AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto};
use girih_tensor::ops::Meaning;
use girih_tensor::{Data, Graph, Made, NodeId, TensorType, decompose, interpret};
use std::collections::{HashMap, HashSet};

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
    /// How many elements constants have that were computed.
    pub computed: u64,
    /// How many nodes of the model were written, each as often as functions and loops repeat it.
    pub written: usize,
    /// Whether an error names its node already.
    is_blamed: bool,
}

impl<'a> Importer<'a> {
    fn new(model: &'a Model) -> Importer<'a> {
        let scope =
            Scope { values: HashMap::new(), sees_outer: false, opsets: &model.opsets, attributes: HashMap::new() };
        let (given, constants, known) = (HashMap::new(), HashMap::new(), HashMap::new());
        let graph = Graph::new();
        Importer {
            model,
            graph,
            scopes: vec![scope],
            given,
            constants,
            known,
            wanted: None,
            computed: 0,
            written: 0,
            is_blamed: false,
        }
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
        self.written_node(node).map_err(|mut refused| {
            // Deep inside, only the node itself is named, and not each function around it.
            if std::mem::replace(&mut self.is_blamed, true) && self.scopes.len() > MOST_BLAMED {
                return refused;
            }
            let name = if node.name.is_empty() { format!("node {number}") } else { format!("node `{}`", node.name) };
            refused.message = format!("{name}, {}: {}", node.op_type, refused.message);
            refused
        })
    }

    fn written_node(&mut self, node: &'a NodeProto) -> Made<()> {
        self.count_node()?;
        let outputs = self.outputs(node)?;
        for (name, output) in node.output.iter().zip(outputs).filter(|(name, _)| !name.is_empty()) {
            if self.scopes.last().is_some_and(|scope| scope.values.contains_key(&**name)) {
                let why = format!("it gives `{name}`, which something before it gives already");
                return Err(file(why).hint("give each value of a graph a name of its own"));
            }
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
        let (part, given, inputs) = self.before(node)?;
        for (id, data) in given.into_iter().zip(interpret(&part, &inputs)?) {
            self.known.insert(id, data);
        }
        self.known.get(&node).cloned().ok_or_else(|| operator("it has no elements"))
    }

    /// The nodes that lead to one, as far as their elements are not known, in order: no other node is looked at, since loops ask in each of their turns.
    fn leading_to(&self, root: NodeId) -> Vec<NodeId> {
        let (mut seen, mut open) = (HashSet::from([root]), vec![root]);
        while let Some(id) = open.pop() {
            if !self.known.contains_key(&id) {
                open.extend(self.graph.nodes[id].operands.iter().filter(|operand| seen.insert(**operand)));
            }
        }
        let mut found: Vec<NodeId> = seen.into_iter().collect();
        found.sort_unstable();
        found
    }

    /// Makes room for all that the interpreter makes of a graph, and for the products that sums of matrices add up.
    fn room_for(&mut self, part: &Graph) -> Made<()> {
        let part = decompose(part)?;
        for node in part.ids().map(|id| &part.nodes[id]) {
            let depth = match node.op.row().meaning {
                // Inputs were counted before.
                Meaning::Input => continue,
                Meaning::Matmul => part.shape(node.operands[0]).length(node.ty.shape.rank() - 1),
                Meaning::Full
                | Meaning::Iota
                | Meaning::Pointwise(_)
                | Meaning::Convert
                | Meaning::Reduce(_)
                | Meaning::View(_)
                | Meaning::Concat
                | Meaning::Gather
                | Meaning::Scan
                | Meaning::Merge(_)
                | Meaning::AddAt
                | Meaning::Compound(_) => 1,
            };
            self.room(&[node.ty.shape.elements(), depth])?;
        }
        Ok(())
    }

    /// The graph that gives a node, the nodes that it gives, and its inputs: constants, and what was computed already. It gives small nodes on the way too, which a loop goes on with.
    fn before(&mut self, root: NodeId) -> Made<(Graph, Vec<NodeId>, Vec<Data>)> {
        let needed = self.leading_to(root);
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
        let (mut part, mut given, mut inputs, mut moved) = (Graph::new(), vec![], vec![], HashMap::new());
        for id in needed {
            let count = self.graph.shape(id).elements();
            let is_computed = !self.known.contains_key(&id) && !self.constants.contains_key(&id);
            if !is_computed {
                self.room(&[count])?;
            }
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
            if id == root || (is_computed && count <= MOST_KEPT) {
                part.outputs.push(copy);
                given.push(id);
            }
        }
        self.room_for(&part)?;
        Ok((part, given, inputs))
    }

    /// Whether no input of the model leads to a node.
    pub fn is_constant(&self, root: NodeId) -> bool {
        let mut open = vec![root];
        let mut seen = HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) || self.known.contains_key(&id) {
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

/// How many of the nodes around a mistake its error names.
const MOST_BLAMED: usize = 3;
/// The most elements of a node that are kept though no operator has asked for them.
const MOST_KEPT: u64 = 64;
/// How deep subgraphs and functions may be nested.
const DEEPEST: usize = 64;

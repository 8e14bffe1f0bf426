//! The text form of what the analysis has found, for people who want to see how precise it is.
//!
//! ```text
//! sum -> u24
//!   depth: u24
//!   tree: Tree/Leaf.0 | Tree/Node.1
//! Tree/Leaf.0(u24)
//! Tree/Node.1(Tree/Leaf.0 | Tree/Node.1, Tree/Leaf.0 | Tree/Node.1)
//! ```
//!
//! First come definitions with their variables, copies with their number behind a `#`; then the shapes, numbered in the
//! order in which they are mentioned. The host sees those with a `!`.

use std::collections::HashMap;

use super::{Callee, Flow, Instance, LambdaRef, Set, ShapeId, What};
use girih_term::{DefId, Program};

impl Flow {
    /// The text form of what was found for some of the definitions.
    pub fn print(&self, program: &Program, is_wanted: impl Fn(DefId) -> bool) -> String {
        let mut printer = Printer { program, flow: self, numbers: HashMap::new(), mentioned: vec![] };
        let mut text = String::new();
        for &instance in self.instances().iter().filter(|instance| is_wanted(instance.def)) {
            text += &printer.definition(instance);
        }
        let mut next = 0;
        while let Some(&shape) = printer.mentioned.get(next) {
            text += &printer.shape(shape);
            next += 1;
        }
        text
    }
}

struct Printer<'a> {
    program: &'a Program,
    flow: &'a Flow,
    numbers: HashMap<ShapeId, usize>,
    mentioned: Vec<ShapeId>,
}

impl Printer<'_> {
    fn definition(&mut self, instance: Instance) -> String {
        let (program, flow) = (self.program, self.flow);
        let result = self.set(flow.result(instance));
        let constant = if flow.is_constant(instance.def) { " (constant)" } else { "" };
        let mut text = format!("{}{constant} -> {result}\n", self.instance(instance));
        for (local, known) in program.defs[instance.def].locals.iter_enumerated() {
            let set = flow.local(instance, local);
            if !set.is_empty() {
                text += &format!("  {}: {}\n", known.name, self.set(set));
            }
        }
        text
    }

    fn shape(&mut self, id: ShapeId) -> String {
        let flow = self.flow;
        let shape = &flow.shapes()[id];
        let fields: Vec<String> = shape.fields.iter().map(|field| self.set(field)).collect();
        let external = if shape.external { "!" } else { "" };
        format!("{}{external}({})\n", self.mention(id), fields.join(", "))
    }

    fn mention(&mut self, id: ShapeId) -> String {
        let next = self.mentioned.len();
        let number = *self.numbers.entry(id).or_insert(next);
        if number == next {
            self.mentioned.push(id);
        }
        match self.flow.shapes()[id].what {
            What::Ctor(ctor) => format!("{}.{number}", self.program.ctors[ctor].name),
            What::Pair => format!("pair.{number}"),
            What::Closure(lambda) => format!("{}.{number}", self.lambda(lambda)),
            What::Partial(callee, count) => format!("{}/{count}.{number}", self.callee(callee)),
        }
    }

    fn instance(&self, Instance { def, clone }: Instance) -> String {
        let name = &self.program.defs[def].name;
        if clone == 0 { name.to_string() } else { format!("{name}#{clone}") }
    }

    fn lambda(&self, LambdaRef { instance, ordinal }: LambdaRef) -> String {
        format!("λ{ordinal}:{}", self.instance(instance))
    }

    fn callee(&self, callee: Callee) -> String {
        match callee {
            Callee::Definition(instance) => self.instance(instance),
            Callee::Lambda(lambda) => self.lambda(lambda),
            Callee::Constructor(ctor) => self.program.ctors[ctor].name.to_string(),
        }
    }

    fn set(&mut self, set: &Set) -> String {
        let program = self.program;
        let Set { numbers, era, units, shapes, functions, thunks, makers, selectors, external } = set;
        let mut parts: Vec<String> = numbers.iter().map(|kind| kind.name().to_string()).collect();
        parts.extend(era.then(|| "*".to_string()));
        parts.extend(units.iter().map(|&ctor| program.ctors[ctor].name.to_string()));
        parts.extend(shapes.iter().map(|&shape| self.mention(shape)));
        parts.extend(functions.iter().map(|&function| self.instance(function)));
        parts.extend(thunks.iter().map(|&def| format!("thunk {}", program.defs[def].name)));
        parts.extend(makers.iter().map(|&ctor| format!("make {}", program.ctors[ctor].name)));
        parts.extend(selectors.iter().map(|&ty| format!("select {}", program.types[ty].name)));
        parts.extend(external.then(|| "host".to_string()));
        if parts.is_empty() { "nothing".to_string() } else { parts.join(" | ") }
    }
}

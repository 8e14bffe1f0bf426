//! A definition's net as a call meets it, reduced as far as what a call can look at decides: the caller's pairs, and numbers.
//!
//! The rules are those of the table, on a net whose ports may be values that only the kernel knows. What a node holds is never replaced by what it is
//! linked with, as everywhere, so the interactions are those of the machine, and they are counted.

use crate::book::{Book, DefinitionId, Semantics, Template};
use crate::number::{self, Meaning};
use crate::rules::Rule;
use crate::word::{Kind, Word};
use girih_base::num::BinOp;
use girih_term::hvm::ast::Operator;
use girih_term::hvm::function::Function;

/// The most definitions that are put into another one, and the most nodes that there are then.
const MOST_INSIDE: usize = 6;
const MOST_NODES: usize = 96;
/// The lower bits of a u24.
pub const U24: u32 = 1 << 3 | Kind::Num as u32;

/// What stands at an end of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// A word without parts.
    Word(Word),
    /// A u24 that the kernel knows: the name of its word.
    Number(u32),
    /// An operator's code, and the name of the word of its first operand, a u24.
    Partial(u32, u32),
    /// What the caller has here: the name of a word of any kind.
    Given(u32),
    /// A wire.
    Wire(usize),
    /// The principal port of a node.
    Node(usize),
}

/// What has to be known, or computed, before a net can go on.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// Nothing: it is as small as it gets.
    Done,
    /// Whether the caller has a pair here, which meets the pair of this node.
    Pair(u32, usize),
    /// Whether the caller has a number here, which meets this node.
    Number(u32, usize),
    /// Whether this number, which meets a choice, is zero.
    Choice(u32, usize),
    /// An operator on two u24, given as ports; and the port that the result is linked with.
    Compute(BinOp, [Port; 2], Port),
}

/// A net.
#[derive(Clone, Debug)]
pub struct Net<'b> {
    book: &'b Book,
    /// Whether numbers and definitions are looked at, and not pairs alone.
    numbers: bool,
    /// The nodes; those that are gone are none.
    pub nodes: Vec<Option<(Kind, [Port; 2])>>,
    /// What each wire is linked with at the end that somebody has been at.
    pub wires: Vec<Option<Port>>,
    pending: Vec<(Port, Port)>,
    /// What stays to be linked.
    pub rest: Vec<(Port, Port)>,
    /// Interactions, beside the call of the definition itself.
    pub counts: [u32; Rule::ALL.len()],
    inside: Vec<DefinitionId>,
    /// Whether nothing more is asked about what the kernel knows.
    pub is_final: bool,
    /// Whether a wire was linked with itself.
    pub is_circular: bool,
}

impl<'b> Net<'b> {
    /// The net of a definition, whose root meets what the caller has.
    pub fn new(book: &'b Book, id: DefinitionId, caller: u32, numbers: bool) -> Net<'b> {
        let mut net = Net {
            book,
            numbers: numbers && book.semantics == Semantics::Net,
            nodes: vec![],
            wires: vec![],
            pending: vec![],
            rest: vec![],
            counts: [0; Rule::ALL.len()],
            inside: vec![],
            is_final: false,
            is_circular: false,
        };
        net.expand(id, Port::Given(caller));
        net
    }

    fn count(&mut self, rule: Rule) {
        self.counts[rule as usize] += 1;
    }

    /// Puts a definition's net here; its root meets a port. Calls that it makes itself stay calls.
    fn expand(&mut self, id: DefinitionId, port: Port) {
        let book = self.book;
        let Template { nodes, wires, links, root } = &book.definitions[id].template;
        self.inside.push(id);
        let (first_node, first_wire) = (self.nodes.len(), self.wires.len());
        let place = |word: Word| match word.kind() {
            Kind::Var => Port::Wire(first_wire + word.index()),
            Kind::Ref | Kind::Era | Kind::Num => Port::Word(word),
            Kind::Con | Kind::Dup | Kind::Opr | Kind::Swi | Kind::Copy | Kind::Clo | Kind::Box => {
                Port::Node(first_node + word.index())
            }
        };
        self.wires.resize(first_wire + *wires as usize, None);
        self.nodes.extend(nodes.iter().map(|(kind, parts)| {
            Some((*kind, if *kind == Kind::Box { parts.map(Port::Word) } else { parts.map(place) }))
        }));
        let is_name = |word: Word| word.kind() == Kind::Ref;
        let (calls, others): (Vec<_>, Vec<_>) = links
            .iter()
            .copied()
            .partition(|(a, b)| (is_name(*a) && b.kind().is_node()) || (is_name(*b) && a.kind().is_node()));
        // Calls stay in their order: the last one is made first. What asks for a result stands before what gives it (`order`).
        self.rest.extend(calls.into_iter().map(|(a, b)| (place(a), place(b))));
        for (a, b) in others.into_iter().rev() {
            self.link(place(a), place(b));
        }
        self.link(place(*root), port);
    }

    /// Joins two ports.
    pub fn link(&mut self, mut a: Port, mut b: Port) {
        loop {
            if let Port::Wire(wire) = b
                && let Some(beyond) = self.wires[wire].take()
            {
                b = beyond;
                continue;
            }
            match (a, b) {
                (Port::Wire(wire), _) => match self.wires[wire].take() {
                    Some(beyond) => a = beyond,
                    None => {
                        self.is_circular |= a == b;
                        self.wires[wire] = Some(b);
                        return;
                    }
                },
                (_, Port::Wire(_)) => std::mem::swap(&mut a, &mut b),
                (_, _) => return self.pending.push((a, b)),
            }
        }
    }

    /// Reduces until something has to be known.
    pub fn next(&mut self) -> Next {
        while let Some((a, b)) = self.pending.pop() {
            let next = match (a, b) {
                (Port::Node(a), Port::Node(b)) => self.meet(a, b),
                (Port::Node(node), other) | (other, Port::Node(node)) => self.at(other, node),
                (Port::Given(_), _) | (_, Port::Given(_)) => self.stays(a, b),
                (_, _) if self.numbers => {
                    self.count(Rule::Void);
                    None
                }
                (_, _) => self.stays(a, b),
            };
            if let Some(next) = next {
                return next;
            }
        }
        Next::Done
    }

    fn stays(&mut self, a: Port, b: Port) -> Option<Next> {
        self.rest.push((a, b));
        None
    }

    fn kind(&self, node: usize) -> Kind {
        // A port that leads to a node that is gone is gone itself.
        self.nodes[node].map_or(Kind::Era, |(kind, _)| kind)
    }

    fn take(&mut self, node: usize) -> [Port; 2] {
        self.nodes[node].take().map_or([Port::Word(Word::ERA); 2], |(_, parts)| parts)
    }

    fn make(&mut self, kind: Kind, parts: [Port; 2]) -> Port {
        self.nodes.push(Some((kind, parts)));
        Port::Node(self.nodes.len() - 1)
    }

    fn meet(&mut self, a: usize, b: usize) -> Option<Next> {
        let kind = self.kind(a);
        let annihilates = match kind {
            Kind::Con => true,
            Kind::Dup | Kind::Copy | Kind::Opr | Kind::Swi => self.numbers,
            Kind::Var | Kind::Ref | Kind::Era | Kind::Num | Kind::Clo | Kind::Box => false,
        };
        if kind != self.kind(b) || !annihilates {
            return self.stays(Port::Node(a), Port::Node(b));
        }
        self.count(Rule::Annihilate);
        let ([a1, a2], [b1, b2]) = (self.take(a), self.take(b));
        self.link(a2, b2);
        self.link(a1, b1);
        None
    }

    /// What is no node meets one.
    fn at(&mut self, port: Port, node: usize) -> Option<Next> {
        let kind = self.kind(node);
        match (port, kind) {
            (Port::Given(given), Kind::Con) if !self.is_final => Some(Next::Pair(given, node)),
            (_, _) if !self.numbers => self.stays(port, Port::Node(node)),
            (Port::Given(given), Kind::Opr | Kind::Swi | Kind::Dup | Kind::Copy) if !self.is_final => {
                Some(Next::Number(given, node))
            }
            (Port::Given(_), _) => self.stays(port, Port::Node(node)),
            (Port::Word(word), _) if word.kind() == Kind::Ref => self.name(word, node),
            (_, Kind::Dup | Kind::Copy | Kind::Con) => self.erase(port, node),
            (Port::Word(word), Kind::Opr | Kind::Swi) if word.kind() == Kind::Era => self.erase(port, node),
            (_, Kind::Opr) => self.operate(port, node),
            (_, Kind::Swi) => self.choose(port, node),
            (_, Kind::Var | Kind::Ref | Kind::Era | Kind::Num | Kind::Clo | Kind::Box) => {
                self.stays(port, Port::Node(node))
            }
        }
    }

    /// What has no parts goes to both parts of a node.
    fn erase(&mut self, port: Port, node: usize) -> Option<Next> {
        self.count(Rule::Erase);
        let [first, second] = self.take(node);
        self.link(port, second);
        self.link(port, first);
        None
    }

    /// A definition that is not called by name meets a node.
    fn name(&mut self, word: Word, node: usize) -> Option<Next> {
        let id = DefinitionId::new(word.index() as u32);
        let definition = &self.book.definitions[id];
        match self.kind(node) {
            Kind::Dup if !definition.affine => self.stays(Port::Word(word), Port::Node(node)),
            Kind::Dup | Kind::Copy => self.erase(Port::Word(word), node),
            Kind::Con | Kind::Opr | Kind::Swi => {
                let Template { nodes, links, root, .. } = &definition.template;
                if nodes.is_empty() && links.is_empty() && root.kind() == Kind::Num {
                    self.count(Rule::Call);
                    self.pending.push((Port::Word(*root), Port::Node(node)));
                    return None;
                }
                let size = self.nodes.len() + nodes.len();
                if self.inside.contains(&id) || self.inside.len() > MOST_INSIDE || size > MOST_NODES {
                    return self.stays(Port::Word(word), Port::Node(node));
                }
                self.count(Rule::Call);
                self.expand(id, Port::Node(node));
                None
            }
            Kind::Var | Kind::Ref | Kind::Era | Kind::Num | Kind::Clo | Kind::Box => {
                self.stays(Port::Word(word), Port::Node(node))
            }
        }
    }

    fn operate(&mut self, port: Port, node: usize) -> Option<Next> {
        let (_, [first, result]) = self.nodes[node]?;
        let is_number = match first {
            Port::Word(word) => word.kind() == Kind::Num,
            Port::Number(_) | Port::Partial(..) => true,
            Port::Given(_) | Port::Wire(_) | Port::Node(_) => false,
        };
        if !is_number {
            self.count(Rule::Operate);
            self.take(node);
            let waiting = self.make(Kind::Opr, [port, result]);
            self.link(first, waiting);
            return None;
        }
        let next = match given(port, first) {
            Some(Given::Port(computed)) => {
                self.link(computed, result);
                None
            }
            Some(Given::Operator(op, ports)) => Some(Next::Compute(op, ports, result)),
            None => return self.stays(port, Port::Node(node)),
        };
        self.count(Rule::Operate);
        self.take(node);
        next
    }

    fn choose(&mut self, port: Port, node: usize) -> Option<Next> {
        match port {
            Port::Word(word) => {
                let choice = number::choice(word);
                let less = choice.checked_sub(1).map(|less| Port::Word(number::unsigned(less)));
                self.chosen(node, less);
                None
            }
            Port::Number(name) if !self.is_final => Some(Next::Choice(name, node)),
            Port::Number(_) | Port::Partial(..) | Port::Given(_) | Port::Wire(_) | Port::Node(_) => {
                self.stays(port, Port::Node(node))
            }
        }
    }

    /// A choice is made: the number was zero, or it is the one behind this.
    pub fn chosen(&mut self, node: usize, less: Option<Port>) {
        self.count(Rule::Switch);
        let [arms, result] = self.take(node);
        let era = Port::Word(Word::ERA);
        let chosen = match less {
            None => self.make(Kind::Con, [result, era]),
            Some(less) => {
                let inner = self.make(Kind::Con, [less, result]);
                self.make(Kind::Con, [era, inner])
            }
        };
        self.link(chosen, arms);
    }

    /// The caller has a pair of these parts where the pair of a node is.
    pub fn paired(&mut self, node: usize, parts: [u32; 2]) {
        self.count(Rule::Annihilate);
        let [first, second] = self.take(node);
        self.link(Port::Given(parts[1]), second);
        self.link(Port::Given(parts[0]), first);
    }

    /// The caller has a number where a node is.
    pub fn numbered(&mut self, node: usize, name: u32) {
        self.pending.push((Port::Number(name), Port::Node(node)));
    }

    /// What the caller has stays unknown: nothing more is asked.
    pub fn unknown(&mut self, port: Port, node: usize) {
        self.rest.push((port, Port::Node(node)));
        self.is_final = true;
    }

    /// What a port comes to along wires that are linked already; none if it comes to itself.
    pub fn end(&self, mut port: Port) -> Option<Port> {
        for _ in 0..=self.wires.len() {
            match port {
                Port::Wire(wire) => match self.wires[wire] {
                    Some(beyond) => port = beyond,
                    None => return Some(port),
                },
                Port::Word(_) | Port::Number(_) | Port::Partial(..) | Port::Given(_) | Port::Node(_) => {
                    return Some(port);
                }
            }
        }
        None
    }
}

enum Given {
    Port(Port),
    Operator(BinOp, [Port; 2]),
}

/// What two numbers or operators give; none if kernels had better see.
fn given(a: Port, b: Port) -> Option<Given> {
    if let (Port::Word(a), Port::Word(b)) = (a, b) {
        return number::operate(a, b).ok().map(|word| Given::Port(Port::Word(word)));
    }
    let is_u24 = |port: Port| match port {
        Port::Word(word) => word.0 & 0xFF == U24,
        Port::Number(_) => true,
        Port::Partial(..) | Port::Given(_) | Port::Wire(_) | Port::Node(_) => false,
    };
    let (operator, operand) = if is_u24(b) { (a, b) } else { (b, a) };
    if !is_u24(operand) {
        return None;
    }
    let ((op, flipped), left) = match operator {
        Port::Word(word) => match number::meaning(word) {
            Meaning::Operator(Operator::Symbol(op)) => return partial(op, false, operand),
            Meaning::Operator(Operator::FlippedSymbol(op)) => return partial(op, true, operand),
            Meaning::Operator(Operator::Partial(op, value)) => {
                ((op, false), Port::Word(number::unsigned(value.bits())))
            }
            Meaning::Operator(Operator::Flipped(op, value)) => ((op, true), Port::Word(number::unsigned(value.bits()))),
            Meaning::Operator(Operator::Cast(_) | Operator::Checked(Function::Op(_) | Function::Prim(_)))
            | Meaning::Number(_)
            | Meaning::Nonsense => return None,
        },
        Port::Partial(code, name) => (number::partial(code)?, Port::Number(name)),
        Port::Number(_) | Port::Given(_) | Port::Wire(_) | Port::Node(_) => return None,
    };
    let ports = if flipped { [operand, left] } else { [left, operand] };
    let divides = matches!(ports[1], Port::Word(word) if word.0 >> 8 != 0);
    match op {
        BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor => {}
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Gt => {}
        BinOp::Div | BinOp::Rem if divides => {}
        BinOp::Div | BinOp::Rem | BinOp::Pow | BinOp::Le | BinOp::Ge | BinOp::Shl | BinOp::Shr => return None,
    }
    Some(Given::Operator(op, ports))
}

/// An operator that has its first operand.
fn partial(op: BinOp, flipped: bool, operand: Port) -> Option<Given> {
    let code = number::operator_code(op, flipped)?;
    match operand {
        Port::Number(name) => Some(Given::Port(Port::Partial(code, name))),
        Port::Word(_) | Port::Partial(..) | Port::Given(_) | Port::Wire(_) | Port::Node(_) => None,
    }
}

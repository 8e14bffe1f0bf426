//! A net as text again: its normal form as a tree, as upstream prints it, or what it is in the middle of its reduction.

use super::boxed::{self, Operand};
use super::number::{self, Meaning};
use super::reduce::Machine;
use super::word::{Kind, Word};
use girih_base::name::Name;
use girih_term::hvm::ast::{Net, Redex, Tree};
use std::collections::HashMap;

/// The tree that hangs at a port. Wires whose other end is in the tree too, or nowhere, are named in the order in which they are met.
pub fn tree(machine: &Machine<'_>, root: Word) -> Tree {
    Reader { machine, names: HashMap::new() }.tree(root)
}

/// A net in the middle of its reduction: what hangs at its root, and what waits, the next redex first.
pub fn net(machine: &Machine<'_>, root: Word) -> Net {
    let mut reader = Reader { machine, names: HashMap::new() };
    let root = reader.tree(root);
    let redex = |(left, right)| Redex { parallel: false, left: reader.tree(left), right: reader.tree(right) };
    Net { root, redexes: machine.waiting().map(redex).collect() }
}

/// Reads trees that share wires.
struct Reader<'m, 'b> {
    machine: &'m Machine<'b>,
    names: HashMap<u32, Name>,
}

impl Reader<'_, '_> {
    fn tree(&mut self, root: Word) -> Tree {
        let machine = self.machine;
        let mut done: Vec<Tree> = vec![];
        let mut tasks = vec![Task::Read(root)];
        while let Some(task) = tasks.pop() {
            let word = match task {
                Task::Read(word) => machine.heap.look(word),
                Task::Node(build) => {
                    // Both parts have been read before.
                    if let (Some(second), Some(first)) = (done.pop(), done.pop()) {
                        done.push(build(Box::new(first), Box::new(second)));
                    }
                    continue;
                }
            };
            let mut node = |build: fn(Box<Tree>, Box<Tree>) -> Tree| {
                let [first, second] = machine.heap.parts(word);
                tasks.extend([Task::Node(build), Task::Read(second), Task::Read(first)]);
            };
            match word.kind() {
                Kind::Con => node(Tree::Con),
                Kind::Dup => node(Tree::Dup),
                Kind::Opr => node(Tree::Opr),
                Kind::Swi => node(Tree::Swi),
                Kind::Copy => node(Tree::Copy),
                Kind::Clo => node(Tree::Closure),
                Kind::Var => {
                    let next = self.names.len();
                    let name = self.names.entry(word.0).or_insert_with(|| Name::from(format!("v{next}")));
                    done.push(Tree::Var(name.clone()));
                }
                Kind::Ref | Kind::Era | Kind::Num | Kind::Box => done.push(leaf(machine, word)),
            }
        }
        done.pop().unwrap_or(Tree::Era)
    }
}

enum Task {
    Read(Word),
    Node(fn(Box<Tree>, Box<Tree>) -> Tree),
}

fn leaf(machine: &Machine<'_>, word: Word) -> Tree {
    match word.kind() {
        Kind::Ref => {
            let definition = machine.book().definitions.get(super::book::DefinitionId::new(word.index() as u32));
            Tree::Ref(definition.map_or_else(|| Name::new("?"), |definition| definition.name.clone()))
        }
        Kind::Num => match number::meaning(word) {
            Meaning::Number(number) => Tree::Num(number),
            Meaning::Operator(operator) => Tree::Operator(operator),
            Meaning::Nonsense => Tree::Var(Name::new("?")),
        },
        Kind::Box => match boxed::operand(machine.heap.parts(word)) {
            Some(Operand::Number(number)) => Tree::Num(number),
            Some(Operand::Partial(function, _)) => Tree::Operator(girih_term::hvm::ast::Operator::Checked(function)),
            None => Tree::Era,
        },
        Kind::Era | Kind::Var | Kind::Con | Kind::Dup | Kind::Opr | Kind::Swi | Kind::Copy | Kind::Clo => Tree::Era,
    }
}

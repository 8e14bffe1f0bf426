//! A definition of a net that is being made: its redexes, its wires and who uses which variable.

use girih_base::name::Name;
use girih_term::LocalId;
use girih_term::hvm::ast::{Net, Redex, Tree};
use std::collections::HashMap;

/// A net without its root.
#[derive(Default)]
pub struct Unit {
    redexes: Vec<Redex>,
    count: usize,
    uses: HashMap<LocalId, Vec<Name>>,
    links: HashMap<Name, Name>,
}

impl Unit {
    /// A new wire's name.
    pub fn wire(&mut self) -> Name {
        let mut number = self.count;
        self.count += 1;
        let mut letters = vec![];
        loop {
            letters.push(b'a' + (number % 26) as u8);
            match number / 26 {
                0 => break,
                next => number = next - 1,
            }
        }
        letters.reverse();
        Name::from(letters.into_iter().map(char::from).collect::<String>())
    }

    /// Several.
    pub fn wires(&mut self, count: usize) -> Vec<Name> {
        (0..count).map(|_| self.wire()).collect()
    }

    /// Links two trees.
    pub fn link(&mut self, left: Tree, right: Tree) {
        self.redexes.push(Redex { parallel: false, left, right });
    }

    /// What a function gives for arguments; without any it is given `*`.
    pub fn apply(&mut self, function: Tree, args: Vec<Tree>) -> Tree {
        let result = self.wire();
        let args = if args.is_empty() { vec![Tree::Era] } else { args };
        let call = self::function(vec![], args, Tree::Var(result.clone()));
        self.link(function, call);
        Tree::Var(result)
    }

    /// A use of a variable.
    pub fn take(&mut self, local: LocalId) -> Tree {
        let wire = self.wire();
        self.uses.entry(local).or_default().push(wire.clone());
        Tree::Var(wire)
    }

    /// What binds a variable, when all its uses are known: nothing, a wire, or copies.
    pub fn binder(&mut self, local: LocalId) -> Tree {
        let uses = self.uses.remove(&local).unwrap_or_default();
        let mut uses = uses.into_iter().rev().map(Tree::Var);
        let last = uses.next().unwrap_or(Tree::Era);
        uses.fold(last, |rest, wire| Tree::Copy(Box::new(wire), Box::new(rest)))
    }

    /// An end of a scopeless variable.
    pub fn scopeless(&mut self, name: &Name) -> Tree {
        if let Some(wire) = self.links.remove(name) {
            return Tree::Var(wire);
        }
        let wire = self.wire();
        self.links.insert(name.clone(), wire.clone());
        Tree::Var(wire)
    }

    /// The whole net. What has one end only is erased.
    pub fn net(mut self, root: Tree) -> Net {
        let loose: Vec<Name> = self.links.drain().map(|(_, wire)| wire).collect();
        for wire in loose {
            self.link(Tree::Var(wire), Tree::Era);
        }
        Net { root, redexes: self.redexes }
    }
}

/// `(a (b c))`.
pub fn tuple(mut parts: Vec<Tree>) -> Tree {
    let last = parts.pop().unwrap_or(Tree::Era);
    parts.into_iter().rev().fold(last, |rest, part| Tree::Con(Box::new(part), Box::new(rest)))
}

/// `(captured (a (b result)))`, where several captured values are a tuple.
pub fn function(captured: Vec<Tree>, params: Vec<Tree>, result: Tree) -> Tree {
    let body = params.into_iter().rev().fold(result, |rest, param| Tree::Con(Box::new(param), Box::new(rest)));
    if captured.is_empty() { body } else { Tree::Con(Box::new(tuple(captured)), Box::new(body)) }
}

//! Types as they are written in Bend, for messages.
//!
//! Variables of an annotation have the names that they have there. Variables that are still open are `_`, or, where it matters
//! which is which, get the letters a, b, c, … in the order in which they are shown.

use super::infer::{Infer, RigidVariable};
use super::types::{KindSet, Node, Parts, Ty, Types, Variable};
use girih_base::name::Name;
use girih_term::ty::letter;

/// How many nodes of a type are shown before the rest becomes `…`.
const LIMIT: usize = 60;

/// Names for the open variables of the types of one message.
pub(super) enum Letters {
    /// All are `_`.
    Blank,
    /// Each has its own.
    Distinct(Vec<Ty>),
}

impl Infer<'_> {
    /// A type in the notation of annotations.
    pub fn show(&mut self, ty: Ty, letters: &mut Letters) -> String {
        let mut out = String::new();
        self.write(ty, letters, &mut LIMIT.clone(), &mut out);
        out
    }

    fn write(&mut self, ty: Ty, letters: &mut Letters, left: &mut usize, out: &mut String) {
        if *left == 0 {
            out.push('…');
            return;
        }
        *left -= 1;
        let ty = self.types.resolve(ty);
        match self.types.node(ty) {
            Node::Any => out.push_str("Any"),
            Node::None => out.push_str("None"),
            Node::Number(kind) => out.push_str(kind.name()),
            Node::Rigid(id) => out.push_str(&self.rigid_name(id)),
            Node::Variable(variable) => out.push_str(&self.variable_name(ty, variable, letters)),
            Node::Data(id, arguments) => {
                out.push_str(&self.program.types[id].name);
                if arguments.len() > 0 {
                    self.write_parts(arguments, letters, left, out);
                }
            }
            Node::Tuple(parts) => self.write_parts(parts, letters, left, out),
            Node::Arrow(from, to) => {
                let is_function = matches!(self.types.node(from), Node::Arrow(..));
                out.push_str(if is_function { "(" } else { "" });
                self.write(from, letters, left, out);
                out.push_str(if is_function { ") -> " } else { " -> " });
                self.write(to, letters, left, out);
            }
            Node::Link(_) => unreachable!("a resolved type is not a link"),
        }
    }

    /// What a variable of an annotation is called there.
    pub fn rigid_name(&self, id: u32) -> Name {
        let RigidVariable { def, index } = self.rigid[id as usize];
        self.program.defs[def].ty.params[index as usize].clone()
    }

    fn rigid_names(&self) -> Vec<Name> {
        (0..self.rigid.len()).map(|id| self.rigid_name(id as u32)).collect()
    }

    fn write_parts(&mut self, parts: Parts, letters: &mut Letters, left: &mut usize, out: &mut String) {
        out.push('(');
        for i in 0..parts.len() {
            if i > 0 {
                out.push_str(", ");
            }
            if *left == 0 {
                out.push('…');
                break;
            }
            self.write(self.types.part(parts, i), letters, left, out);
        }
        out.push(')');
    }

    fn variable_name(&mut self, ty: Ty, variable: Variable, letters: &mut Letters) -> String {
        match variable.kinds {
            Some(kinds) if variable.defaults => kinds.first().name().to_string(),
            Some(kinds) => number_name(kinds).to_string(),
            None => match letters {
                Letters::Blank => "_".to_string(),
                Letters::Distinct(open) => {
                    let position = open.iter().position(|t| *t == ty).unwrap_or_else(|| {
                        open.push(ty);
                        open.len() - 1
                    });
                    free_letters(self.rigid_names()).nth(position).unwrap_or_default()
                }
            },
        }
    }
}

/// The letters that are not names already.
pub(super) fn free_letters(taken: Vec<Name>) -> impl Iterator<Item = String> {
    (0..).map(letter).filter(move |letter| taken.iter().all(|name| name != letter.as_str()))
}

/// What a number must be, as a word that stands for a type.
pub(super) fn number_name(kinds: KindSet) -> &'static str {
    if kinds == KindSet::NUMBER {
        "Number"
    } else if KindSet::FLOAT.meet(kinds) == Some(kinds) {
        "Float"
    } else if KindSet::FLOAT.meet(kinds).is_none() {
        "Integer"
    } else {
        "Number"
    }
}

impl Types {
    /// Whether a type is a data type.
    pub fn is_data(&mut self, ty: Ty) -> bool {
        matches!(self.node(ty), Node::Data(..))
    }
}

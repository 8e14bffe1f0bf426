//! Definitions ready to be called: each is a template of nodes, wires and links whose words count from the place where a call puts them.

use super::boxed;
use super::number;
use super::word::{INDICES, Kind, Word};
use girih_base::diag::{Code, Diagnostic, did_you_mean};
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_base::name::Name;
use girih_base::plural::counted;
use girih_base::span::Span;
use girih_term::hvm::ast::{self, Net, Tree};
use std::collections::HashMap;

index_type! {
    /// A definition of a [`Book`].
    pub struct DefinitionId;
}

/// Definitions of nets.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// All of them.
    pub definitions: IndexVec<DefinitionId, Definition>,
    /// Where the names are.
    names: HashMap<Name, DefinitionId>,
    /// What it means that things meet which are not made for each other.
    pub semantics: Semantics,
}

/// What it means that things meet which are not made for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Semantics {
    /// Nodes are just nodes, as upstream has it; a definition that duplicates may not be duplicated.
    #[default]
    Net,
    /// The same for a Bend program with nets in it. Its definitions may be copied, because implicit copies have a label of their own.
    Bend,
    /// A Bend program without nets: the rows with mistakes are errors.
    Values,
}

/// A definition.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name.
    pub name: Name,
    /// Where its name stands.
    pub span: Span,
    /// Its net.
    pub template: Template,
    /// Whether its name may be duplicated by `{a b}`: neither it nor what it refers to duplicates, which would use the same label again.
    pub affine: bool,
}

/// A net whose words count from where it is put: nodes and wires from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    /// The nodes.
    pub nodes: Vec<(Kind, [Word; 2])>,
    /// How many wires there are.
    pub wires: u32,
    /// What is linked with what.
    pub links: Vec<(Word, Word)>,
    /// The root.
    pub root: Word,
}

impl Default for Word {
    #[inline]
    fn default() -> Word {
        Word::NONE
    }
}

impl Book {
    /// The definitions of a text.
    ///
    /// # Errors
    /// One for each name that is defined twice or not at all, and for each wire that has not two ends.
    pub fn new(book: &ast::Book) -> Result<Book, Vec<Diagnostic>> {
        let mut names = HashMap::new();
        let mut errors = vec![];
        for (i, definition) in book.definitions.iter().enumerate() {
            if let Some(first) = names.insert(definition.name.clone(), DefinitionId::new(i as u32)) {
                let message = format!("`@{}` is defined twice", definition.name);
                let first = book.definitions[first.index()].span;
                errors.push(Diagnostic::new(Code::Redefinition, definition.span, message).label(first, "first here"));
            }
        }
        if book.definitions.len() >= INDICES as usize {
            errors.push(Diagnostic::new(Code::TooLarge, Span::NONE, "there are too many definitions"));
        }
        let mut definitions = IndexVec::new();
        for definition in &book.definitions {
            let mut builder =
                Builder { names: &names, definition, ends: HashMap::new(), template: Template::default() };
            match builder.net(&definition.net) {
                Ok(()) => {
                    errors.extend(builder.loose_ends());
                    definitions.push(Definition {
                        name: definition.name.clone(),
                        span: definition.span,
                        template: builder.template,
                        affine: true,
                    });
                }
                Err(error) => errors.push(*error),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut book = Book { definitions, names, semantics: Semantics::Net };
        book.find_affine();
        Ok(book)
    }

    /// The definition of this name.
    pub fn named(&self, name: &str) -> Option<DefinitionId> {
        self.names.get(name).copied()
    }

    /// Marks the definitions that duplicate, and those that refer to them.
    fn find_affine(&mut self) {
        let mut users: Vec<Vec<usize>> = vec![vec![]; self.definitions.len()];
        let mut pending = vec![];
        for (id, definition) in self.definitions.iter_enumerated() {
            for word in definition.template.words() {
                if word.kind() == Kind::Ref
                    && let Some(users) = users.get_mut(word.index())
                {
                    users.push(id.index());
                }
            }
            if definition.template.nodes.iter().any(|(kind, _)| *kind == Kind::Dup) {
                pending.push(id.index());
            }
        }
        while let Some(index) = pending.pop() {
            let definition = &mut self.definitions[DefinitionId::new(index as u32)];
            if std::mem::replace(&mut definition.affine, false) {
                pending.extend(&users[index]);
            }
        }
    }
}

impl Template {
    /// All words of its wires; those of boxed numbers are none.
    pub(super) fn words(&self) -> impl Iterator<Item = Word> {
        let nodes = self.nodes.iter().filter(|(kind, _)| *kind != Kind::Box).flat_map(|(_, parts)| *parts);
        let links = self.links.iter().flat_map(|(a, b)| [*a, *b]);
        nodes.chain(links).chain([self.root])
    }
}

type Built<T> = Result<T, Box<Diagnostic>>;

/// A net that is being made from a tree.
struct Builder<'b> {
    names: &'b HashMap<Name, DefinitionId>,
    definition: &'b ast::Definition,
    /// For each wire, its index and how many ends it has.
    ends: HashMap<Name, (u32, u32)>,
    template: Template,
}

impl Builder<'_> {
    fn net(&mut self, net: &Net) -> Built<()> {
        self.template.root = self.tree(&net.root)?;
        for redex in &net.redexes {
            let left = self.tree(&redex.left)?;
            let right = self.tree(&redex.right)?;
            self.template.links.push((left, right));
        }
        if self.template.nodes.len() >= INDICES as usize || self.template.wires >= INDICES {
            return Err(Box::new(Diagnostic::new(Code::TooLarge, self.definition.span, "this net is too large")));
        }
        Ok(())
    }

    fn tree(&mut self, tree: &Tree) -> Built<Word> {
        Ok(match tree {
            Tree::Var(name) => {
                let next = self.template.wires;
                let end = self.ends.entry(name.clone()).or_insert((next, 0));
                end.1 += 1;
                self.template.wires = next.max(end.0 + 1);
                Word::new(Kind::Var, end.0)
            }
            Tree::Ref(name) => match self.names.get(name) {
                Some(id) => Word::new(Kind::Ref, id.index() as u32),
                None => return Err(self.unbound(name)),
            },
            Tree::Era => Word::ERA,
            Tree::Num(value) => match boxed::packed(*value) {
                boxed::Computed::Word(word) => word,
                boxed::Computed::Box(words) => self.push(Kind::Box, words),
            },
            Tree::Operator(operator) => match number::operator(*operator) {
                Some(word) => word,
                None => {
                    let message = format!("nets have no operator `{operator}`");
                    return Err(Box::new(Diagnostic::new(Code::UnsupportedOperation, self.definition.span, message)));
                }
            },
            Tree::Con(a, b) => self.node(Kind::Con, a, b)?,
            Tree::Dup(a, b) => self.node(Kind::Dup, a, b)?,
            Tree::Opr(a, b) => self.node(Kind::Opr, a, b)?,
            Tree::Swi(a, b) => self.node(Kind::Swi, a, b)?,
            Tree::Copy(a, b) => self.node(Kind::Copy, a, b)?,
            // Copies of a closure have the same function, so it may have no wires.
            Tree::Closure(a, _) if !matches!(**a, Tree::Ref(_)) => {
                let message = format!("`<{a} …>` in `@{}` is no closure of a definition", self.definition.name);
                let hint = "a closure is written `<@f a>`";
                return Err(Box::new(Diagnostic::new(Code::UnexpectedText, self.definition.span, message).hint(hint)));
            }
            Tree::Closure(a, b) => self.node(Kind::Clo, a, b)?,
        })
    }

    fn node(&mut self, kind: Kind, a: &Tree, b: &Tree) -> Built<Word> {
        let node = self.push(kind, [Word::NONE; 2]);
        let parts = [self.tree(a)?, self.tree(b)?];
        self.template.nodes[node.index()].1 = parts;
        Ok(node)
    }

    fn push(&mut self, kind: Kind, parts: [Word; 2]) -> Word {
        self.template.nodes.push((kind, parts));
        Word::new(kind, (self.template.nodes.len() - 1) as u32)
    }

    fn span_of(&self, name: &Name, definition: bool) -> Span {
        let wanted = |mention: &&ast::Mention| mention.name == *name && mention.definition == definition;
        self.definition.mentions.iter().find(wanted).map_or(self.definition.span, |mention| mention.span)
    }

    #[cold]
    fn unbound(&self, name: &Name) -> Box<Diagnostic> {
        let message = format!("`@{name}` is not defined");
        let error = Diagnostic::new(Code::UnboundName, self.span_of(name, true), message);
        Box::new(match did_you_mean(name, self.names.keys().map(Name::as_str)) {
            Some(near) => error.hint(format!("did you mean `@{near}`?")),
            None => error.hint("each name after `@` needs a definition `@name = …`"),
        })
    }

    /// An error for each wire that has not two ends.
    fn loose_ends(&self) -> Vec<Diagnostic> {
        let mut loose: Vec<(&Name, u32)> =
            self.ends.iter().filter(|(_, (_, ends))| *ends != 2).map(|(name, (_, ends))| (name, *ends)).collect();
        loose.sort();
        let error = |(name, ends): (&Name, u32)| {
            let message = format!("the wire `{name}` of `@{}` has {}", self.definition.name, counted(ends, "end"));
            Diagnostic::new(Code::LooseWire, self.span_of(name, false), message)
                .hint("a wire has two ends; link an end that is not needed with `*`")
        };
        loose.into_iter().map(error).collect()
    }
}

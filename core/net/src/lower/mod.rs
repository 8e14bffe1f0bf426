//! Bend programs as interaction nets.
//!
//! | Bend | net |
//! |---|---|
//! | a function | a definition that takes its arguments one by one, `@f = (a (b result))` |
//! | a call of a known function with all its arguments | `@f ~ (a (b result))` |
//! | a function as a value | `@f` if it has one parameter; else `@f__P0`, which gives `<@f__P1 a>`, and so on |
//! | a lambda | a definition of its own, `<@f__L0 captured>`; but one that a scopeless variable leaves or enters stays inline |
//! | a variable that is used several times | `^{a b}`, which copies values |
//! | `{a b}`, `let {a b} = v` | `{a b}`: all have the same label |
//! | a pair | `(a b)` |
//! | a constructor | the function that applies its argument to the tag and the fields, `((@T/C/tag (a (b r))) r)` |
//! | a match, a switch | the arms are definitions, so that only the chosen one is called |
//! | an operation | `[.+]`, which checks the kinds of its operands |
//!
//! Only values are copied, never a function that is still being reduced. So a program without superpositions, scopeless variables and nets of
//! its own gives what the calculus says.

mod body;
mod choices;
mod scope;
mod unit;

use super::book::{Book, DefinitionId, Semantics};
use girih_base::diag::{Code, Diagnostic};
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::hvm::ast::{self, Net, Tree};
use girih_term::{Body, CtorId, DefId, Program};
use std::collections::HashMap;
use unit::Unit;

/// What a definition of a lowered program stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A definition of the program, with so many of its arguments.
    Definition(DefId, usize),
    /// A lambda of a definition, by its position in the walk over them, with so many captured values and arguments.
    Lambda {
        /// The definition.
        def: DefId,
        /// Which lambda.
        ordinal: usize,
        /// How many values it has captured.
        captured: usize,
        /// How many arguments it has.
        given: usize,
    },
    /// The number of a constructor.
    Tag(CtorId),
    /// A constructor as a function of its fields.
    Constructor(CtorId),
    /// An arm of a choice.
    Arm,
}

/// A program as a net.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// As text.
    pub text: ast::Book,
    /// Ready to be called.
    pub book: Book,
    /// What the definitions stand for.
    pub meanings: HashMap<DefinitionId, Meaning>,
    /// The tags of constructors.
    pub tags: HashMap<CtorId, DefinitionId>,
    /// Where a run starts.
    pub entry: DefinitionId,
}

/// Whether a program keeps to what can be run by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calculus {
    /// It does: `let {a b} = v` copies a value.
    ByValue,
    /// It has superpositions, scopeless variables or nets.
    Nets,
}

/// Makes a net of what the entry of a program needs.
///
/// # Errors
/// If there is no entry, or a net of the program refers to what does not exist.
pub fn lower(program: &Program, calculus: Calculus) -> Result<Lowered, Vec<Diagnostic>> {
    let Some(entry) = program.entry else {
        let message = "there is no definition to start from";
        return Err(vec![Diagnostic::new(Code::MissingMain, Span::NONE, message).hint("define `main`")]);
    };
    let mut lowering = Lowering {
        program,
        calculus,
        text: ast::Book::default(),
        meanings: HashMap::new(),
        pending: vec![],
        names: names(program),
    };
    let Tree::Ref(start) = lowering.function(entry) else { return Err(vec![]) };
    while let Some(def) = lowering.pending.pop() {
        lowering.definition(def);
    }
    lowering.host_constructors();
    let Lowering { text, meanings, .. } = lowering;
    let mut book = Book::new(&text)?;
    book.semantics = match calculus {
        Calculus::ByValue => Semantics::Values,
        Calculus::Nets => Semantics::Bend,
    };
    let found = |name: &Name| book.named(name);
    let meanings: HashMap<DefinitionId, Meaning> =
        meanings.iter().filter_map(|(name, meaning)| Some((found(name)?, *meaning))).collect();
    let tag = |(id, meaning): (&DefinitionId, &Meaning)| match meaning {
        Meaning::Tag(ctor) => Some((*ctor, *id)),
        Meaning::Definition(..) | Meaning::Lambda { .. } | Meaning::Constructor(_) | Meaning::Arm => None,
    };
    let tags = meanings.iter().filter_map(tag).collect();
    let entry = found(&start).ok_or_else(Vec::new)?;
    Ok(Lowered { text, book, meanings, tags, entry })
}

/// What the names in nets of a program mean.
fn names(program: &Program) -> HashMap<Name, Named> {
    let defs = program.defs.iter_enumerated().map(|(id, def)| (def.name.clone(), Named::Definition(id)));
    let ctors = program.ctors.iter_enumerated().flat_map(|(id, ctor)| {
        [(ctor.name.clone(), Named::Constructor(id)), (Name::from(format!("{}/tag", ctor.name)), Named::Tag(id))]
    });
    defs.chain(ctors).collect()
}

#[derive(Clone, Copy)]
enum Named {
    Definition(DefId),
    Constructor(CtorId),
    Tag(CtorId),
}

/// The state of a lowering.
struct Lowering<'p> {
    program: &'p Program,
    calculus: Calculus,
    text: ast::Book,
    /// What has been made or will be.
    meanings: HashMap<Name, Meaning>,
    /// The definitions that are still to be made.
    pending: Vec<DefId>,
    names: HashMap<Name, Named>,
}

impl<'p> Lowering<'p> {
    /// Adds a definition.
    fn push(&mut self, name: Name, span: Span, net: Net) {
        self.text.definitions.push(ast::Definition { name, span, net, mentions: vec![] });
    }

    /// Whether something of this name is to be made now: nobody has asked for it before.
    fn is_new(&mut self, name: &Name, meaning: Meaning) -> bool {
        self.meanings.insert(name.clone(), meaning).is_none()
    }

    /// The entry of a definition that takes all its arguments.
    fn entry(&mut self, def: DefId) -> Tree {
        let name = self.program.defs[def].name.clone();
        if self.is_new(&name, Meaning::Definition(def, 0)) {
            self.pending.push(def);
        }
        Tree::Ref(name)
    }

    /// A definition as a value.
    fn function(&mut self, def: DefId) -> Tree {
        let definition = &self.program.defs[def];
        match (&definition.body, definition.params.len()) {
            (Body::Net(_), _) | (Body::Term(_), 0 | 1) => self.entry(def),
            (Body::Term(_), _) => self.given(def, 0),
        }
    }

    /// The definition that stands for another one of several parameters with some of its arguments, fewer than it has.
    fn given(&mut self, def: DefId, count: usize) -> Tree {
        let definition = &self.program.defs[def];
        let stage = |count: usize| Name::from(format!("{}__P{count}", definition.name));
        let name = stage(count);
        if self.is_new(&name, Meaning::Definition(def, count)) {
            let mut unit = Unit::default();
            let before = unit.wires(count);
            let last = unit.wire();
            let args: Vec<Name> = before.iter().chain([&last]).cloned().collect();
            let result = if count + 1 == definition.params.len() {
                let entry = self.entry(def);
                unit.apply(entry, args.into_iter().map(Tree::Var).collect())
            } else {
                let next = self.given(def, count + 1);
                Tree::Closure(Box::new(next), Box::new(unit::tuple(args.into_iter().map(Tree::Var).collect())))
            };
            let root = unit::function(captured(before), vec![Tree::Var(last)], result);
            self.push(name.clone(), definition.span, unit.net(root));
        }
        Tree::Ref(name)
    }

    /// The number of a constructor.
    fn tag(&mut self, ctor: CtorId) -> Tree {
        let info = &self.program.ctors[ctor];
        let name = Name::from(format!("{}/tag", info.name));
        if self.is_new(&name, Meaning::Tag(ctor)) {
            let net = Net { root: Tree::Num(girih_base::num::Num::u24(info.tag)), redexes: vec![] };
            self.push(name.clone(), info.span, net);
        }
        Tree::Ref(name)
    }

    /// A constructor as a function.
    fn constructor(&mut self, ctor: CtorId) -> Tree {
        let info = &self.program.ctors[ctor];
        let name = info.name.clone();
        if self.is_new(&name, Meaning::Constructor(ctor)) {
            let mut unit = Unit::default();
            let fields: Vec<Tree> = unit.wires(info.fields.len()).into_iter().map(Tree::Var).collect();
            let value = self.data(&mut unit, ctor, fields.clone());
            let root = unit::function(vec![], fields, value);
            self.push(name.clone(), info.span, unit.net(root));
        }
        Tree::Ref(name)
    }

    /// A value of a data type.
    fn data(&mut self, unit: &mut Unit, ctor: CtorId, mut fields: Vec<Tree>) -> Tree {
        let result = unit.wire();
        fields.insert(0, self.tag(ctor));
        let inner = unit::function(vec![], fields, Tree::Var(result.clone()));
        Tree::Con(Box::new(inner), Box::new(Tree::Var(result)))
    }

    /// A definition of the program.
    fn definition(&mut self, def: DefId) {
        let definition = &self.program.defs[def];
        match &definition.body {
            Body::Net(net) => {
                for name in net.references() {
                    match self.names.get(name).copied() {
                        Some(Named::Definition(def)) => _ = self.entry(def),
                        Some(Named::Constructor(ctor)) => _ = self.constructor(ctor),
                        Some(Named::Tag(ctor)) => _ = self.tag(ctor),
                        // The book says that it is not defined.
                        None => {}
                    }
                }
                self.push(definition.name.clone(), definition.span, net.clone());
            }
            Body::Term(body) => body::Lowerer::definition(self, def, body),
        }
    }

    /// The tags of the constructors that effects answer with, if there are effects.
    fn host_constructors(&mut self) {
        let known = &self.program.known;
        let ctors = [
            known.string_nil,
            known.string_cons,
            known.list_nil,
            known.list_cons,
            known.result_ok,
            known.result_err,
            known.io_error_type,
            known.io_error_name,
            known.io_error_inner,
        ];
        if self.meanings.values().any(|meaning| known.io_call.is_some_and(|call| *meaning == Meaning::Tag(call))) {
            ctors.into_iter().flatten().for_each(|ctor| _ = self.tag(ctor));
        }
    }
}

fn captured(names: Vec<Name>) -> Vec<Tree> {
    names.into_iter().map(Tree::Var).collect()
}

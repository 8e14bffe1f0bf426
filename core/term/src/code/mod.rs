//! Compiled code: a program as flat instructions for the [`Machine`](super::eval::Machine).
//!
//! Only what the roots reach is compiled, after unused bindings have been removed. Code is immutable and shared by all
//! machines that run it, on any threads.

mod choices;
mod compile;
mod instruction;
pub mod lambdas;
mod liveness;
mod terms;

use std::sync::{Arc, OnceLock};

pub(crate) use instruction::{Address, Instruction, Slot, SmallCtor, stub};

use super::{Body, CtorId, DefId, Known, LocalId, Program, Term, reachability, simplify};
use girih_base::cycles::on_cycle;
use girih_base::diag::{self, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_base::name::Name;
use girih_base::span::Span;

index_type! {
    /// A lambda of compiled code.
    pub struct LambdaId;
}

/// A compiled program; cheap to clone.
#[derive(Clone)]
pub struct Code {
    pub(crate) tables: Arc<Tables>,
}

/// What a lambda was made from.
#[derive(Clone, Copy, Debug)]
pub struct LambdaSource<'c> {
    /// The definition it stands in.
    pub def: DefId,
    /// Its parameters.
    pub params: &'c [LocalId],
    /// Its body.
    pub body: &'c Term,
    /// The variables of the definition that it captures, in the order of the captured values.
    pub captures: &'c [LocalId],
}

/// The content of [`Code`].
pub(crate) struct Tables {
    /// The program, simplified where it is reachable.
    pub(crate) program: Program,
    /// All instructions: the stubs, then function after function.
    pub(crate) instructions: Vec<Instruction>,
    /// For each instruction, the slots below 64 that are read from it on before they are written.
    pub(crate) live: Vec<u64>,
    /// For each instruction, how many slots have been written when it runs: all below this one.
    pub(crate) heights: Vec<u32>,
    /// For each instruction, its place in the source.
    pub(crate) spans: Vec<Span>,
    /// Where table jumps go.
    pub(crate) targets: Vec<Address>,
    /// The keys of [`Instruction::Search`].
    pub(crate) keys: Vec<Box<[u32]>>,
    /// String literals.
    pub(crate) texts: Vec<Name>,
    /// All functions in the order of their code, which has no gaps.
    pub(crate) functions: Vec<Function>,
    /// The code of definitions; none for those that the roots do not reach.
    pub(crate) definitions: IndexVec<DefId, Option<Entry>>,
    /// The code of lambdas.
    pub(crate) lambdas: IndexVec<LambdaId, Lambda>,
    /// How many fields each constructor has.
    pub(crate) fields: Vec<u16>,
    /// Where a choice goes on that met `*`, by the address of its instruction, sorted.
    pub(crate) absorbing: Vec<(Address, Absorb)>,
    /// The definitions that reach themselves, once somebody has asked.
    recursive: OnceLock<IndexVec<DefId, bool>>,
}

/// A stretch of code with frames of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    /// Its first instruction.
    pub(crate) entry: Address,
    /// The definition it was made from.
    pub(crate) def: DefId,
}

/// How to call something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its first instruction.
    pub(crate) entry: Address,
    /// How many slots its frames have.
    pub(crate) frame: u32,
    /// How many parameters it has.
    pub(crate) arity: u32,
}

/// A compiled lambda.
#[derive(Clone, Debug)]
pub(crate) struct Lambda {
    /// How to call it. The captured values stand behind the arguments.
    pub(crate) entry: Entry,
    /// The slots that its closure takes its captured values from, in the frame that makes it.
    pub(crate) slots: Box<[Slot]>,
    /// The variables that these are.
    pub captures: Box<[LocalId]>,
    /// The definition it stands in.
    pub(crate) def: DefId,
    /// Its position in the walk over the definition's lambdas.
    pub(crate) ordinal: usize,
}

/// The constructors that lists or strings are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    /// A link: the head, then the rest.
    pub(crate) cons: SmallCtor,
    /// The end.
    pub(crate) nil: SmallCtor,
}

impl Chain {
    /// Strings, if there are any.
    pub(crate) fn text(known: &Known) -> Option<Chain> {
        Chain::of(known.string_cons, known.string_nil)
    }

    /// Lists, if there are any.
    pub(crate) fn list(known: &Known) -> Option<Chain> {
        Chain::of(known.list_cons, known.list_nil)
    }

    fn of(cons: Option<CtorId>, nil: Option<CtorId>) -> Option<Chain> {
        Some(Chain { cons: cons?.index() as SmallCtor, nil: nil?.index() as SmallCtor })
    }
}

/// What a choice does that met `*`: the value of the whole choice is `*`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Absorb {
    /// Where the value of the choice belongs.
    pub(crate) dst: Slot,
    /// Where it goes on.
    pub(crate) join: Address,
}

impl Code {
    /// Compiles what the entry of a program needs.
    ///
    /// # Errors
    /// If there is no entry, or it reaches something that only nets can run.
    pub fn new(program: &Program) -> Result<Code, Vec<Diagnostic>> {
        match program.entry {
            Some(entry) => Code::for_roots(program, &[entry]),
            None => {
                let message = "there is no definition to start from";
                Err(vec![Diagnostic::new(diag::Code::MissingMain, Span::NONE, message).hint("define `main`")])
            }
        }
    }

    /// Compiles what these definitions need, so that each of them can be called.
    ///
    /// # Errors
    /// If they reach something that only nets can run.
    pub fn for_roots(program: &Program, roots: &[DefId]) -> Result<Code, Vec<Diagnostic>> {
        let mut program = program.clone();
        program.defs.iter_mut().for_each(simplify::simplify);
        let reached = reachability::reach(&program, roots)?;
        Ok(Code { tables: Arc::new(compile::compile(program, &reached)?) })
    }

    /// The program, without what simplification has removed.
    pub fn program(&self) -> &Program {
        &self.tables.program
    }

    /// Whether a definition reaches itself, for each of them. Found when it is first asked for: only printing does.
    pub(crate) fn recursive(&self) -> &IndexVec<DefId, bool> {
        self.tables.recursive.get_or_init(|| on_cycle(&references(self.program())))
    }

    /// The lambda at a position in the walk over a definition's lambdas, if it has been compiled.
    pub fn lambda_at(&self, def: DefId, ordinal: usize) -> Option<LambdaId> {
        let lambdas = self.tables.lambdas.iter_enumerated();
        lambdas.filter(|(_, lambda)| (lambda.def, lambda.ordinal) == (def, ordinal)).map(|(id, _)| id).next()
    }

    pub(crate) fn lambda_def(&self, id: LambdaId) -> DefId {
        self.tables.lambdas[id].def
    }

    /// What a lambda was made from.
    pub fn lambda(&self, id: LambdaId) -> LambdaSource<'_> {
        let lambda = &self.tables.lambdas[id];
        let body = match &self.tables.program.defs[lambda.def].body {
            Body::Term(body) => body,
            Body::Net(_) => unreachable!("a net has no lambdas"),
        };
        let (params, body) =
            lambdas::find(body, lambda.ordinal).expect("the walk found this lambda when it compiled it");
        LambdaSource { def: lambda.def, params, body, captures: &lambda.captures }
    }
}

/// For every definition, those that it mentions.
fn references(program: &Program) -> IndexVec<DefId, Vec<DefId>> {
    let mentions = |body: &Body| match body {
        Body::Term(term) => term.globals(),
        Body::Net(_) => vec![],
    };
    program.defs.iter().map(|def| mentions(&def.body)).collect()
}

impl Tables {
    /// The function that an instruction belongs to; none for the stubs.
    pub(crate) fn function_at(&self, address: Address) -> Option<&Function> {
        let after = self.functions.partition_point(|function| function.entry <= address);
        self.functions[..after].last()
    }

    /// What the choice at this address does when it meets `*`.
    pub(crate) fn absorb(&self, address: Address) -> Option<Absorb> {
        let at = self.absorbing.binary_search_by_key(&address, |&(address, _)| address).ok()?;
        self.absorbing.get(at).map(|&(_, absorb)| absorb)
    }

    /// The name of a constructor.
    pub(crate) fn ctor_name(&self, ctor: SmallCtor) -> &str {
        let id = CtorId::new(u32::from(ctor));
        self.program.ctors.get(id).map_or("", |ctor| &ctor.name)
    }
}

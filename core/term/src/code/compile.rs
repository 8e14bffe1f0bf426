//! Definitions to code: one function for the body of a definition and one for each lambda in it.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::instruction::{STUB_HEIGHTS, STUBS, Slot};
use super::lambdas::Scopes;
use super::terms::Builder;
use super::{Address, Chain, Entry, Function, Instruction, Lambda, LambdaId, Tables, liveness, stub};
use crate::{Body, DefId, LocalId, Program, Term, TermKind};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;

/// What instructions can count with 16 bits: constructors, fields and parameters.
const MOST: usize = u16::MAX as usize;

/// Compiles the reached definitions of a program.
///
/// # Errors
/// If something is too large for the form of the instructions.
pub(super) fn compile(program: Program, reached: &[DefId]) -> Result<Tables, Vec<Diagnostic>> {
    check_sizes(&program, reached)?;
    let fields = program.ctors.iter().map(|ctor| ctor.fields.len() as u16).collect();
    let mut assembler = Assembler {
        program: &program,
        tables: Tables {
            program: Program::default(),
            instructions: STUBS.to_vec(),
            live: vec![u64::MAX; STUBS.len()],
            heights: STUB_HEIGHTS.to_vec(),
            spans: vec![Span::NONE; STUBS.len()],
            targets: vec![],
            keys: vec![],
            texts: vec![],
            functions: vec![],
            definitions: program.defs.iter().map(|_| None).collect(),
            lambdas: IndexVec::new(),
            fields,
            absorbing: vec![],
            recursive: OnceLock::new(),
        },
    };
    for &def in reached {
        assembler.definition(def);
    }
    assembler.resolve_calls();
    assembler.tables.absorbing.sort_by_key(|&(at, _)| at);
    let tables = assembler.tables;
    Ok(Tables { program, ..tables })
}

fn check_sizes(program: &Program, reached: &[DefId]) -> Result<(), Vec<Diagnostic>> {
    let too_large = |span, what: &str| {
        let message = format!("more than {MOST} {what}");
        Diagnostic::new(Code::TooLarge, span, message).hint("divide it into smaller parts")
    };
    let mut errors = vec![];
    if let Some(ctor) = program.ctors.iter().nth(MOST) {
        errors.push(too_large(ctor.span, "constructors in a program"));
    }
    errors.extend(program.ctors.iter().filter(|c| c.fields.len() > MOST).map(|c| too_large(c.span, "fields")));
    for &id in reached {
        let def = &program.defs[id];
        if def.params.len() > MOST {
            errors.push(too_large(def.span, "parameters"));
        }
        let Body::Term(body) = &def.body else { continue };
        let mut todo = vec![body];
        while let Some(term) = todo.pop() {
            match &term.kind {
                TermKind::Lambda(params, _) if params.len() > MOST => errors.push(too_large(term.span, "parameters")),
                TermKind::Str(_) => errors.extend(missing(Chain::text(&program.known), "strings", term.span)),
                TermKind::List(_) => errors.extend(missing(Chain::list(&program.known), "lists", term.span)),
                _ => {}
            }
            todo.extend(term.children());
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn missing(chain: Option<Chain>, what: &str, span: Span) -> Option<Diagnostic> {
    let message = format!("the program has {what}, but its prelude does not define them");
    let error = Diagnostic::new(Code::Internal, span, message).hint("compile it together with the prelude");
    chain.is_none().then_some(error)
}

struct Assembler<'p> {
    program: &'p Program,
    tables: Tables,
}

/// What a definition shares among its functions.
struct Shared<'p> {
    def: DefId,
    scopes: Scopes<'p>,
    lambdas: HashMap<usize, LambdaId>,
}

impl<'p> Assembler<'p> {
    fn definition(&mut self, id: DefId) {
        let def = &self.program.defs[id];
        let Body::Term(body) = &def.body else { return };
        let scopes = Scopes::of(body, &def.locals);
        let lambdas = self.reserve_lambdas(id, &scopes);
        let shared = Shared { def: id, scopes, lambdas };
        let mut slots = vec![0; def.locals.len()];
        let entry = self.function(&shared, &mut slots, &def.params, &[], body);
        self.tables.definitions[id] = Some(entry);
        for lambda in &shared.scopes.lambdas {
            let compiled = shared.lambdas[&address(lambda.body)];
            let entry = self.function(&shared, &mut slots, lambda.params, &lambda.captures, lambda.body);
            self.tables.lambdas[compiled].entry = entry;
        }
    }

    fn reserve_lambdas(&mut self, def: DefId, scopes: &Scopes<'p>) -> HashMap<usize, LambdaId> {
        let mut ids = HashMap::new();
        for (ordinal, lambda) in scopes.lambdas.iter().enumerate() {
            let id = self.tables.lambdas.push(Lambda {
                entry: Entry { entry: stub::STOP, frame: 0, arity: lambda.params.len() as u32 },
                slots: Box::default(),
                captures: lambda.captures.clone().into_boxed_slice(),
                def,
                ordinal,
            });
            ids.insert(address(lambda.body), id);
        }
        ids
    }

    fn function(
        &mut self,
        Shared { def, scopes, lambdas }: &Shared<'p>,
        slots: &mut [Slot],
        params: &[LocalId],
        captures: &[LocalId],
        body: &'p Term,
    ) -> Entry {
        let start = self.tables.instructions.len();
        let mut builder = Builder::new(self.program, &mut self.tables, &scopes.used, lambdas, slots);
        builder.body(params.iter().chain(captures), body);
        let frame = liveness::frame(&self.tables, start).max((params.len() + captures.len()) as u32);
        liveness::compute(&mut self.tables, start);
        let entry = start as Address;
        self.tables.functions.push(Function { entry, def: *def });
        Entry { entry, frame, arity: params.len() as u32 }
    }

    /// Calls were made with the number of the definition in the place of its entry, which was not known yet.
    fn resolve_calls(&mut self) {
        let definitions = &self.tables.definitions;
        for instruction in &mut self.tables.instructions {
            if let Instruction::Call { entry, frame, .. } | Instruction::TailCall { entry, frame, .. } = instruction {
                let def = DefId::new(*entry);
                let target = definitions[def].expect("a definition that is called is reached");
                (*entry, *frame) = (target.entry, target.frame);
            }
        }
    }
}

/// What identifies a lambda while the program does not move: where its body lies.
pub(super) fn address(body: &Term) -> usize {
    std::ptr::from_ref(body) as usize
}

//! Calls with more arguments than the function has parameters, where it can be seen that nothing takes the others.
//!
//! The checker reports such calls of functions with types. Of all other functions only those are reported that cannot work: a number or a tuple is
//! never called, and data only with a function, to which it gives its tag and its fields.

use super::results::{self, Gives};
use girih_base::diag::{Code, Diagnostic, Diagnostics};
use girih_base::plural::counted;
use girih_base::span::Sources;
use girih_term::{Body, CtorId, DefId, Origin, Program, Term, TermKind};

/// Reports the calls in what is not the prelude's.
pub(super) fn excess_arguments(program: &Program, sources: &Sources, diags: &mut Diagnostics) {
    for (id, def) in program.defs.iter_enumerated() {
        // The arguments of the program itself stand in no file: they are judged when it runs.
        let is_run = def.origin.is_generated() && program.entry == Some(id);
        if def.origin == Origin::Prelude || is_run {
            continue;
        }
        let Body::Term(body) = &def.body else { continue };
        let mut pending = vec![body];
        while let Some(term) = pending.pop() {
            pending.extend(term.children());
            if let TermKind::Apply(head, args) = &term.kind {
                diags.extend(excess(program, sources, term, head, args));
            }
        }
    }
}

/// What takes arguments.
enum Callee {
    Def(DefId),
    Ctor(CtorId),
}

/// The error of a call, if it is one.
fn excess(program: &Program, sources: &Sources, call: &Term, head: &Term, args: &[Term]) -> Option<Diagnostic> {
    match &head.kind {
        TermKind::Global(def) => {
            let taken = program.defs[*def].params.len();
            // What the compiler makes has parameters that nobody wrote.
            let extra = args.get(taken).filter(|_| !program.defs[*def].origin.is_generated())?;
            let gives = results::of_call(program, *def);
            let error = cannot_take(program, &gives, extra)
                .then(|| report(program, &Callee::Def(*def), taken, args.len(), extra, &gives))?;
            Some(error.hint(hint(program, sources, &Callee::Def(*def), call)))
        }
        // What a constructor takes is not among the arguments that are left.
        TermKind::Ctor(ctor, fields) => {
            let extra = args.first()?;
            let gives = [Gives::Data(program.ctors[*ctor].ty)];
            let given = fields.len() + args.len();
            let error = cannot_take(program, &gives, extra)
                .then(|| report(program, &Callee::Ctor(*ctor), fields.len(), given, extra, &gives))?;
            Some(error.hint(hint(program, sources, &Callee::Ctor(*ctor), call)))
        }
        _ => None,
    }
}

/// Whether something that is given cannot be applied to an argument.
fn cannot_take(program: &Program, gives: &[Gives], extra: &Term) -> bool {
    let is_value = |gives: &[Gives]| !gives.is_empty() && !gives.contains(&Gives::Unknown);
    let has_data = gives.iter().any(|gives| matches!(gives, Gives::Data(_)));
    is_value(gives) && (!has_data || is_value(&results::of_term(program, extra)))
}

fn report(program: &Program, callee: &Callee, taken: usize, given: usize, extra: &Term, gives: &[Gives]) -> Diagnostic {
    let name = match callee {
        Callee::Def(def) => &program.defs[*def].name,
        Callee::Ctor(ctor) => &program.ctors[*ctor].name,
    };
    let are = if given == 1 { "is" } else { "are" };
    let message = match (callee, taken) {
        (Callee::Def(_), 0) => format!("`{name}` is called like a function, but is {}", shown(program, gives)),
        (Callee::Ctor(_), 0) => format!("`{name}` has no fields, but {} {are} given", counted(given, "argument")),
        (_, taken) => format!("`{name}` takes {}, but {given} {are} given", counted(taken, "argument")),
    };
    let error = Diagnostic::new(Code::TypeMismatch, extra.span, message);
    let error = error.at(format!("the call gives {} without this argument", shown(program, gives)));
    match callee {
        Callee::Def(def) if program.defs[*def].origin == Origin::User => {
            error.label(program.defs[*def].span, format!("`{name}` is defined here"))
        }
        Callee::Ctor(ctor) if program.types[program.ctors[*ctor].ty].origin == Origin::User => {
            error.label(program.ctors[*ctor].span, format!("`{name}` is defined here"))
        }
        Callee::Def(_) | Callee::Ctor(_) => error,
    }
}

/// What is given, in words.
fn shown(program: &Program, gives: &[Gives]) -> String {
    match gives {
        [Gives::Number] => "a number".to_owned(),
        [Gives::Tuple] => "a tuple".to_owned(),
        [Gives::Data(ty)] => format!("`{}`", program.types[*ty].name),
        _several => "a value that is no function".to_owned(),
    }
}

/// How the callee is called, in the syntax of the call.
fn hint(program: &Program, sources: &Sources, callee: &Callee, call: &Term) -> String {
    let (name, parameters): (_, Vec<&str>) = match callee {
        Callee::Def(def) => {
            let def = &program.defs[*def];
            (&def.name, def.params.iter().map(|param| def.locals[*param].name.as_str()).collect())
        }
        Callee::Ctor(ctor) => {
            let ctor = &program.ctors[*ctor];
            (&ctor.name, ctor.fields.iter().map(|field| field.name.as_str()).collect())
        }
    };
    if parameters.is_empty() {
        return format!("write `{name}` alone");
    }
    if parameters.iter().any(|parameter| parameter.contains('%')) {
        return "leave this argument out".to_owned();
    }
    match sources.snippet(call.span).starts_with('(') {
        true => format!("leave this argument out: `({name} {})`", parameters.join(" ")),
        false => format!("leave this argument out: `{name}({})`", parameters.join(", ")),
    }
}

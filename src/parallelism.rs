//! Which calls of a program run at the same time, and which stay in order and why.

use girih_base::span::{Sources, Span};
use girih_ir::{Function, Module, Op};
use girih_task::discover::{Discovered, Waiting, Why};
use girih_term::{DefId, Origin, Program};
use std::collections::HashSet;
use std::fmt;

/// What was found of a program's parallelism. Displayed, it is text for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parallelism {
    /// Calls that run at the same time.
    pub together: Vec<Together>,
    /// Calls that wait for others.
    pub in_order: Vec<InOrder>,
}

/// Calls that a function makes and that run at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together {
    /// File, line and column of one of them.
    pub place: String,
    /// The function that makes them.
    pub function: String,
    /// What is called.
    pub calls: Vec<String>,
}

/// A call that waits for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InOrder {
    /// File, line and column of the call.
    pub place: String,
    /// What is called.
    pub call: String,
    /// What it waits for: what is called, and line and column.
    pub on: (String, String),
    /// Whether it is given what the other gives; if not, it is made in an arm of a choice that looks at that.
    pub needs_result: bool,
}

impl Parallelism {
    /// What was found of a program, and what became of it.
    pub(crate) fn of(
        program: &Program,
        found: &Discovered,
        reached: &[DefId],
        module: &Module,
        sources: &Sources,
    ) -> Parallelism {
        let is_own = |def: DefId| program.defs.get(def).is_some_and(|def| def.origin != Origin::Prelude);
        let own: HashSet<DefId> = reached.iter().copied().filter(|def| is_own(*def)).collect();
        // Loops over ranges run in halves: the next iteration does not wait.
        let is_range = |def: DefId| module.find(&girih_task::loops::ranges::name(&program.defs[def].name)).is_some();
        let goes_on = |waiting: &Waiting| waiting.call.name == program.defs[waiting.def].name && is_range(waiting.def);
        let in_order = found.waiting.iter().filter(|waiting| own.contains(&waiting.def) && !goes_on(waiting));
        let named = |defs: &mut dyn Iterator<Item = DefId>| -> HashSet<String> {
            defs.map(|def| program.defs[def].name.to_string()).collect()
        };
        let (names, all) = (named(&mut own.iter().copied()), named(&mut program.defs.ids()));
        let mut together: Vec<(Span, Together)> = vec![];
        for function in module.functions.iter().filter(|function| names.contains(base(&function.name, &all))) {
            for (span, calls) in groups(module, function, &all) {
                let place = place(sources, span);
                let group = Together { place, function: base(&function.name, &all).to_owned(), calls };
                // Copies of a function make the same calls.
                if !together.iter().any(|(_, other)| *other == group) {
                    together.push((span, group));
                }
            }
        }
        together.sort_by_key(|(span, _)| (span.source, span.start));
        let together = together.into_iter().map(|(_, group)| group).collect();
        Parallelism { together, in_order: in_order.map(|waiting| in_order_of(waiting, sources)).collect() }
    }
}

fn in_order_of(waiting: &Waiting, sources: &Sources) -> InOrder {
    let Waiting { call, on, why, .. } = waiting;
    let (line, column) = sources.line_column(on.span.source, on.span.start);
    InOrder {
        place: place(sources, call.span),
        call: call.name.to_string(),
        on: (on.name.to_string(), format!("{line}:{column}")),
        needs_result: *why == Why::Result,
    }
}

/// The name of the definition that a function was made of, one of these: a function may be a part of a definition, or a copy of it.
pub(crate) fn base<'n>(name: &'n str, definitions: &HashSet<String>) -> &'n str {
    let mut name = name;
    while !definitions.contains(name)
        && let Some((front, back)) = name.rsplit_once('.')
        && (is_part_name(back) || is_copy_name(back))
    {
        name = front;
    }
    name
}

/// Whether what follows a definition's name in a function's name says that the function is a part of it. A copy, also one that only looks at what it is given, is the
/// whole definition.
pub(crate) fn is_part(rest: &str) -> bool {
    rest.split('.').any(|word| ["part", "range", "lambda", "given", "value"].iter().any(|part| word.starts_with(part)))
}

fn is_part_name(word: &str) -> bool {
    ["part", "range", "look", "lambda", "given", "value", "girih"].iter().any(|part| word.starts_with(part))
}

fn is_copy_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The groups of calls that a function makes at the same time: those that are forked, and those that are made before the first of them is joined.
fn groups(module: &Module, function: &Function, definitions: &HashSet<String>) -> Vec<(Span, Vec<String>)> {
    let (mut groups, mut open, mut tokens, mut span) = (vec![], vec![], 0, Span::NONE);
    function.walk(function.body, &mut |_, inst| {
        let name =
            || inst.callee().map_or(String::new(), |id| base(&module.functions[id].name, definitions).to_owned());
        match inst.op {
            Op::Fork => {
                if tokens == 0 {
                    span = inst.span;
                }
                tokens += 1;
                open.push(name());
            }
            Op::Call if tokens > 0 => open.push(name()),
            Op::Join => {
                tokens -= 1;
                if tokens == 0 {
                    groups.push((span, std::mem::take(&mut open)));
                }
            }
            _no_rule => {}
        }
    });
    groups
}

/// File, line and column.
pub(crate) fn place(sources: &Sources, span: Span) -> String {
    let (line, column) = sources.line_column(span.source, span.start);
    let name = sources.get(span.source).map_or("", |source| &source.name);
    format!("{name}:{line}:{column}")
}

impl fmt::Display for Parallelism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.together.is_empty() {
            write!(f, "no calls run at the same time")?;
        } else {
            write!(f, "calls that run at the same time:")?;
        }
        for group in &self.together {
            write!(f, "\n  {group}")?;
        }
        if !self.in_order.is_empty() {
            write!(f, "\ncalls that wait for others:")?;
        }
        for call in &self.in_order {
            write!(f, "\n  {call}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Together { place, function, calls } = self;
        let calls: Vec<String> = calls.iter().map(|call| format!("`{call}`")).collect();
        write!(f, "{place}: in `{function}`: {}", calls.join(", "))
    }
}

impl fmt::Display for InOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InOrder { place, call, on: (on, at), needs_result } = self;
        if *needs_result {
            write!(f, "{place}: `{call}` needs the result of `{on}` ({at})")
        } else {
            write!(f, "{place}: whether `{call}` is called depends on the result of `{on}` ({at})")
        }
    }
}

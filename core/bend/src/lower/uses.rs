//! Which name in the text stands for what, noted while names are resolved.
//!
//! A compilation that is not asked for this notes nothing. A local variable is known by the place of the name that binds it;
//! a construct that binds a name again where it only mentions it, such as `match x:` or `x += 1`, goes on with the same variable,
//! and a name `x.field` mentions the variable `x` and the field.

use crate::modules::ModuleId;
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::{CtorId, DefId, LocalId, TypeId};
use std::collections::HashMap;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// A top-level definition.
    Def(DefId),
    /// A constructor.
    Ctor(CtorId),
    /// A data type.
    Type(TypeId),
    /// A field of a constructor, by its position.
    Field(CtorId, usize),
    /// What is bound inside a definition, by the place of its name: a variable, a local function.
    Local(Span),
    /// A file of the program.
    Module(ModuleId),
}

/// A local variable of the lambda core.
pub type Variable = (DefId, LocalId);

/// A name in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Where it stands; of a name `x.field` this is a part.
    pub span: Span,
    /// What it stands for.
    pub target: Target,
    /// The variable whose type is the type of this name.
    pub variable: Option<Variable>,
}

/// A name that is in scope at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visible {
    /// The name.
    pub name: Name,
    /// Where it is bound.
    pub at: Span,
    /// The variable that it is.
    pub variable: Option<Variable>,
}

/// A name of a local scope where it stands.
#[derive(Clone, Debug)]
struct Mention {
    name: Name,
    span: Span,
    /// Where the name is bound.
    at: Span,
    variable: Option<Variable>,
}

/// A name that is made of the name of a variable, which stands before it.
#[derive(Clone, Debug)]
struct Part {
    owner: (Span, Name),
    field: Option<(CtorId, usize)>,
}

/// Collects the uses of names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    is_wanted: bool,
    probe: Option<Span>,
    found: Vec<Use>,
    mentions: Vec<Mention>,
    /// For the place of a name: where the variable that it mentions is bound, and under which name.
    continued: HashMap<Span, (Span, Name)>,
    parts: HashMap<(Span, Name), Part>,
    /// The variable of the name at a place.
    variables: HashMap<Span, Variable>,
    visible: Vec<Visible>,
}

impl Uses {
    /// Notes all uses, and what is in scope at the name that touches `probe`.
    pub(crate) fn wanted(probe: Option<Span>) -> Uses {
        Uses { is_wanted: true, probe, ..Uses::default() }
    }

    /// Notes what a name stands for that is not local.
    pub(super) fn note(&mut self, span: Span, target: Target) {
        if self.is_wanted && !span.is_none() {
            self.found.push(Use { span, target, variable: None });
        }
    }

    /// Notes a name that is bound here.
    pub(super) fn bind(&mut self, name: &Name, at: Span, variable: Option<Variable>) {
        if self.is_wanted && !at.is_none() && !name.contains(['%', '.']) {
            self.variables.extend(variable.map(|variable| (at, variable)));
            self.mentions.push(Mention { name: name.clone(), span: at, at, variable });
        }
    }

    /// Notes a mention of a name that is bound at `at`.
    pub(super) fn mention(&mut self, name: &Name, span: Span, at: Span, variable: Option<Variable>) {
        if self.is_wanted && !at.is_none() && !span.is_none() {
            if let Some(variable) = variable {
                self.variables.entry(span).or_insert(variable);
            }
            self.continued.entry(span).or_insert_with(|| (at, name.clone()));
            self.mentions.push(Mention { name: name.clone(), span, at, variable });
        }
    }

    /// Notes that the name `whole`, bound at `at`, is made of the variable `owner`.
    pub(super) fn part(&mut self, whole: &Name, at: Span, owner: (Span, Name), field: Option<(CtorId, usize)>) {
        if self.is_wanted && !at.is_none() {
            self.parts.insert((at, whole.clone()), Part { owner, field });
        }
    }

    /// Whether anything is noted.
    pub(super) fn are_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Whether somebody asks what is in scope where this name stands.
    pub(super) fn is_probed(&self, span: Span) -> bool {
        let touches = |probe: Span| probe.source == span.source && span.start <= probe.start && probe.end <= span.end;
        self.is_wanted && self.visible.is_empty() && self.probe.is_some_and(touches)
    }

    /// Notes what is in scope there.
    pub(super) fn see(&mut self, visible: Vec<Visible>) {
        self.visible = visible;
    }

    /// All uses in the order of the text, and what is in scope at the probe.
    pub(crate) fn finish(mut self) -> (Vec<Use>, Vec<Visible>) {
        let mentions = std::mem::take(&mut self.mentions);
        for mention in mentions {
            self.resolve(mention);
        }
        // Of two things that are noted for one name the later counts: a type that is imported brings its constructors along.
        self.found.sort_by_key(|found| found.span);
        self.found.reverse();
        self.found.dedup_by_key(|found| found.span);
        self.found.reverse();
        (self.found, self.visible)
    }

    /// Follows a mention to where its variable is bound first. Each step goes to a name that was noted before, so there are no more
    /// steps than names.
    fn resolve(&mut self, mention: Mention) {
        let Mention { mut name, mut span, mut at, mut variable } = mention;
        for _ in 0..=self.parts.len() + self.continued.len() {
            if let Some(Part { owner, field }) = self.parts.get(&(at, name.clone())).cloned() {
                if let Some((ctor, index)) = field {
                    let length = (name.len() - owner.1.len()).saturating_sub(1) as u32;
                    let span = Span { start: span.end.saturating_sub(length), ..span };
                    self.found.push(Use { span, target: Target::Field(ctor, index), variable });
                }
                variable = self.variables.get(&owner.0).copied();
                span.end = span.start + owner.1.len() as u32;
                (at, name) = owner;
                continue;
            }
            match self.continued.get(&at) {
                Some((earlier, next)) if *earlier != at => (at, name) = (*earlier, next.clone()),
                Some(_) | None => break,
            }
        }
        self.found.push(Use { span, target: Target::Local(at), variable });
    }
}

//! Names that mean nothing: what is said of them, and what was probably meant.

use super::{Entity, Lowering, invalid};
use crate::habits::{METHODS, MISREAD, NAMES, NUMBER_AS_VALUE, NUMBERS, hint};
use girih_base::diag::{Code, Diagnostic, did_you_mean};
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::Term;

/// How many unknown names of a program are compared with all known ones. So what errors cost does not grow with the square of the program; nobody
/// reads on behind so many.
const SEARCHES: usize = 100;

/// How many functions of a type a hint names.
const SHOWN: usize = 6;

/// Of a key that is a name without a value.
const KEYS: &str = "the keys of a map are numbers, and a name is the value of a variable; a value with named fields is an `object`:\n  \
     object Point { x, y }\nand `Point { x: 1, y: 2 }` makes one";

/// What is said of an unknown name, and what was meant where that is certain enough to be put in its place.
struct Advice {
    hint: String,
    meant: Option<String>,
}

impl From<String> for Advice {
    fn from(hint: String) -> Advice {
        Advice { hint, meant: None }
    }
}

impl Advice {
    fn did_you_mean(name: String) -> Advice {
        Advice { hint: format!("did you mean `{name}`?"), meant: Some(name) }
    }
}

/// The number that a truth value of other languages is.
fn truth(name: &str) -> Option<String> {
    match name {
        "True" | "true" => Some("1".to_owned()),
        "False" | "false" => Some("0".to_owned()),
        _ => None,
    }
}

impl Lowering<'_> {
    /// Reports a name that is not defined, once in a definition.
    pub(super) fn unbound(&mut self, name: &Name, span: Span) -> Term {
        if self.unbound.insert(name.clone()) {
            let diagnostic = match name.as_str() {
                "fork" => Diagnostic::new(Code::ForkOutside, span, "`fork` is outside the `when` arm of a `bend`")
                    .hint("`fork` is the recursive call of the `bend` around it"),
                _ => {
                    let Advice { hint, meant } = self.advice(name);
                    let diagnostic = Diagnostic::new(Code::UnboundName, span, format!("`{name}` is not defined"));
                    meant.into_iter().fold(diagnostic.hint(hint), |diagnostic, meant| diagnostic.fix(span, meant))
                }
            };
            self.report(diagnostic);
        }
        invalid(span)
    }

    fn advice(&mut self, name: &Name) -> Advice {
        if name.as_str() == "wrap" {
            let in_monad = !self.innermost().monads.is_empty();
            let hint = match in_monad {
                true => "the type of this `with` block has no `wrap` function: define `Type/wrap`",
                false => "`wrap` exists inside a `with` block: outside, write `IO/wrap` and the like",
            };
            return Advice::from(hint.to_owned());
        }
        if NUMBERS.contains(&name.as_str()) {
            return Advice::from(NUMBER_AS_VALUE.to_owned());
        }
        if !self.may_search() {
            return Advice::from(hint(NAMES, name).map_or_else(|| define(name), str::to_owned));
        }
        if let Some(digits) = name.strip_prefix('.').filter(|digits| is_digits(digits)) {
            return Advice {
                hint: format!("a digit stands before the point: `0.{digits}`"),
                meant: Some(format!("0.{digits}")),
            };
        }
        let slashed = name.replace('.', "/");
        if slashed != **name && self.find_entity(&slashed).is_some() {
            return Advice::did_you_mean(slashed);
        }
        if let Some(field) = self.field_named(name) {
            return Advice::did_you_mean(field.to_string());
        }
        let near = self.near(name);
        if self.in_key && near.is_none() {
            return Advice::from(KEYS.to_owned());
        }
        // A name that is written just so but for its type is meant, whatever other languages call so.
        // What other languages call so is not a function on effects.
        let is_same = |near: &str| near.rsplit('/').next() == Some(name.as_str()) && !near.starts_with("IO/");
        let is_local = |near: &str| self.local_names().any(|local| local.as_str() == near);
        match (near, hint(NAMES, name)) {
            (Some(near), Some(habit)) if is_same(&near) && !habit.contains(&near) => Advice::did_you_mean(near),
            (Some(near), Some(_)) if is_local(&near) => Advice::did_you_mean(near),
            (_, Some(habit)) => Advice { hint: habit.to_owned(), meant: truth(name) },
            (Some(near), None) => Advice::did_you_mean(near),
            (None, None) => Advice::from(self.unfamiliar(name)),
        }
    }

    /// The field `x.name` of a value in scope.
    fn field_named(&self, name: &str) -> Option<Name> {
        let is_field = |local: &&Name| {
            local.rsplit_once('.').is_some_and(|(value, field)| field == name && !value.starts_with('%'))
        };
        self.local_names().filter(is_field).last().cloned()
    }

    /// Whether one more unknown name is compared with all known ones.
    pub(super) fn may_search(&mut self) -> bool {
        self.searches += 1;
        self.searches <= SEARCHES
    }

    /// The known name that is nearest to an unknown one.
    fn near(&self, name: &Name) -> Option<String> {
        let own = self.local_names().chain(self.scopes[self.module()].values.keys()).map(Name::as_str);
        let prelude = self.prelude.values.keys().map(Name::as_str);
        let is_field = name.contains('.');
        let visible = |n: &&str| !n.contains('%') && n.contains('.') == is_field && !n.ends_with("/tag");
        // The name of a type before the last `/` makes long names of it, which are not nearer to each other for that.
        let owner =
            name.rsplit_once('/').map(|(owner, _)| &name[..=owner.len()]).filter(|owner| own_names(self, owner));
        let nearest = |names: &mut dyn Iterator<Item = &str>| -> Option<String> {
            match owner {
                Some(owner) => {
                    let tails: Vec<&str> = names.filter_map(|n| n.strip_prefix(owner)).collect();
                    did_you_mean(&name[owner.len()..], tails).map(|tail| format!("{owner}{tail}"))
                }
                None => did_you_mean(name, names).map(str::to_owned),
            }
        };
        nearest(&mut own.filter(visible)).or_else(|| nearest(&mut prelude.filter(visible)))
    }

    /// A hint for a name that is like no other.
    fn unfamiliar(&self, name: &Name) -> String {
        if let Some((owner, member)) = name.rsplit_once('/')
            && let Some(functions) = self.functions_of(owner)
        {
            let habit = hint(METHODS, member).or_else(|| hint(NAMES, member)).filter(|_| owner == "List");
            return habit.map_or_else(|| format!("`{owner}` has {functions}"), str::to_owned);
        }
        if let Some(habit) = self.misread(name) {
            return habit.to_owned();
        }
        if let Some((value, member)) = name.split_once('.') {
            if let Some(hint) = hint(METHODS, member) {
                return format!("there are no methods: {}", hint.replace("xs", value));
            }
            let fields: Vec<String> = self
                .local_names()
                .filter(|local| local.strip_prefix(value).is_some_and(|field| field.starts_with('.')))
                .map(|local| format!("`{local}`"))
                .collect();
            if !fields.is_empty() {
                return format!("the fields of `{value}` here are {}", fields.join(", "));
            }
            if self.local_names().any(|local| local.as_str() == value) {
                return format!(
                    "the fields of `{value}` have names below `match {value}:` and after `open Type: {value}`; a function is called as `{member}({value})`"
                );
            }
        }
        if name.contains('-') {
            return "`-` is part of names: put spaces around it for a subtraction".to_owned();
        }
        define(name)
    }

    /// What to say of a name that is a parameter of a definition which was meant for something else.
    fn misread(&self, name: &Name) -> Option<&'static str> {
        MISREAD.iter().find_map(|(word, hint)| {
            let Some(Entity::Def(def)) = self.scopes[self.module()].values.get(*word) else { return None };
            let parameters = self.parameters.get(def)?;
            parameters.iter().flatten().any(|parameter| parameter.node == *name).then_some(*hint)
        })
    }

    /// The names of what begins with `owner/`, some of them if they are many; none if there is no such name.
    pub(super) fn functions_of(&self, owner: &str) -> Option<String> {
        let names = self.scopes[self.module()].values.keys().chain(self.prelude.values.keys());
        let is_function = |tail: &&str| !tail.contains('/') && !tail.contains('.') && !tail.starts_with('%');
        let tails = names.filter_map(|n| n.strip_prefix(owner)?.strip_prefix('/')).filter(is_function);
        let mut names: Vec<String> = tails.map(|tail| format!("`{owner}/{tail}`")).collect();
        names.sort();
        names.dedup();
        let others = names.len().saturating_sub(SHOWN);
        names.truncate(SHOWN);
        let others = if others == 0 { String::new() } else { format!(" and {others} more") };
        (!names.is_empty()).then(|| format!("{}{others}", names.join(", ")))
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn define(name: &Name) -> String {
    format!(
        "define it: `def {name}(…): …` for a function, `{name} = …` for a value; or import it: `from file import {name}`"
    )
}

/// Whether a name begins with `owner`, which ends with `/`.
fn own_names(lowering: &Lowering<'_>, owner: &str) -> bool {
    let names = lowering.scopes[lowering.module()].values.keys().chain(lowering.prelude.values.keys());
    names.into_iter().any(|name| name.starts_with(owner))
}

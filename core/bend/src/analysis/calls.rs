//! The call that a place is in, in either syntax, read from the text alone: while a call is being written, nothing parses.

use super::{Analysis, Target};
use girih_base::lexer::{COMMENT_END, is_name_char};
use girih_base::span::{SourceId, Span};
use girih_term::print::show_scheme;
use girih_term::ty::{Scheme, Type};

/// A bracket that is open at a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// Its byte.
    pub at: usize,
    /// Which one it is.
    pub bracket: char,
    /// Commas directly inside it, so far.
    commas: usize,
    /// Elements that have begun directly inside it, so far.
    elements: usize,
}

/// What a text ends in.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// The brackets that are open, outermost first.
    pub open: Vec<Open>,
    /// Whether it ends inside a comment, a text, a character or a symbol.
    pub is_quoted: bool,
}

/// Reads a text up to its end.
pub(super) fn read(text: &str) -> State {
    let mut state = State::default();
    let mut rest = text.char_indices().peekable();
    let mut between = true;
    while let Some((at, c)) = rest.next() {
        let starts_element = between && !c.is_whitespace() && !matches!(c, ',' | ')' | ']' | '}' | '#');
        if let (Some(open), true) = (state.open.last_mut(), starts_element) {
            open.elements += 1;
        }
        between = c.is_whitespace() || c == ',';
        match c {
            '#' => {
                let comment = &text[at..];
                let length = match comment.strip_prefix("#{") {
                    Some(inside) => inside.find(COMMENT_END).map(|end| "#{".len() + end + COMMENT_END.len()),
                    None => comment.find('\n'),
                };
                let Some(length) = length else {
                    state.is_quoted = true;
                    return state;
                };
                while rest.next_if(|(next, _)| *next < at + length).is_some() {}
                between = true;
            }
            '"' | '\'' | '`' => {
                let mut is_closed = false;
                while let Some((_, inner)) = rest.next() {
                    match inner {
                        '\\' => _ = rest.next(),
                        '\n' if c != '"' => break,
                        inner if inner == c => {
                            is_closed = true;
                            break;
                        }
                        _other => {}
                    }
                }
                if !is_closed && rest.peek().is_none() {
                    state.is_quoted = true;
                }
            }
            '(' | '[' | '{' => {
                state.open.push(Open { at, bracket: c, commas: 0, elements: 0 });
                between = true;
            }
            ')' | ']' | '}' => _ = state.open.pop(),
            ',' => {
                if let Some(open) = state.open.last_mut() {
                    open.commas += 1;
                }
            }
            _other => {}
        }
    }
    state
}

/// What a call calls, with the parameter that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name, the parameters and the result, on one line.
    pub label: String,
    /// The bytes of the label where each parameter stands.
    pub parameters: Vec<(usize, usize)>,
    /// The parameter at the place; beyond the last if there are too many arguments.
    pub active: usize,
    /// The comment that documents it.
    pub comment: Option<String>,
}

/// The name that is called at the end of a text, and the number of the argument that is being written.
fn callee(text: &str) -> Option<(usize, usize, usize)> {
    let state = read(text);
    let open = state.open.last().filter(|open| open.bracket == '(' && !state.is_quoted)?;
    let before = text[..open.at].chars().rev().take_while(|c| is_name_char(*c)).count();
    if before > 0 {
        return Some((open.at - before, open.at, open.commas));
    }
    let inside = &text[open.at + 1..];
    let start = open.at + 1 + inside.len() - inside.trim_start().len();
    let end = start + text[start..].chars().take_while(|c| is_name_char(*c)).count();
    let is_between = text.ends_with(|c: char| c.is_whitespace() || c == '(');
    let argument = (open.elements + usize::from(is_between)).checked_sub(2)?;
    (start < end && open.commas == 0).then_some((start, end, argument))
}

impl Analysis {
    /// The signature of the function or constructor that is called around the byte `at` of a source.
    pub fn signature(&self, source: SourceId, at: usize) -> Option<Signature> {
        let text = self.sources.get(source)?.text.get(..at)?;
        let (start, end, active) = callee(text)?;
        let name = &text[start..end];
        let known = self.use_at(source, start).filter(|found| found.span == Span::new(source, start, end));
        let by_name = || self.names.iter().find(|(known, _)| known == name).map(|(_, target)| *target);
        let target = known.map(|found| found.target).or_else(by_name)?;
        let (parameters, result) = self.parameters(target)?;
        let mut label = format!("{name}(");
        let mut places = vec![];
        for (i, parameter) in parameters.iter().enumerate() {
            label.push_str(if i == 0 { "" } else { ", " });
            places.push((label.len(), label.len() + parameter.len()));
            label.push_str(parameter);
        }
        label.push_str(&format!(") -> {result}"));
        Some(Signature { label, parameters: places, active, comment: self.comment(target) })
    }

    /// The parameters of what is called, each as `name: type`, and the type of its result.
    fn parameters(&self, target: Target) -> Option<(Vec<String>, String)> {
        let def = match target {
            Target::Def(id) => id,
            Target::Local(at) => self.local_function(at)?,
            Target::Ctor(id) => {
                let ctor = &self.program.ctors[id];
                let ty = &self.program.types[ctor.ty];
                let shown =
                    |field: &Type| show_scheme(&self.program, &Scheme { params: ty.vars.clone(), ty: field.clone() });
                let fields = ctor.fields.iter().map(|field| format!("{}: {}", field.name, shown(&field.ty)));
                return Some((fields.collect(), ty.name.to_string()));
            }
            Target::Type(_) | Target::Field(..) | Target::Module(_) => return None,
        };
        let names: Vec<String> = self.parameter_names(def);
        let mut ty = self.type_without_captures(def);
        let mut parameters = vec![];
        for name in names {
            let (from, to) = match &ty.ty {
                Type::Arrow(from, to) => ((**from).clone(), (**to).clone()),
                _unknown => (Type::Any, ty.ty.clone()),
            };
            let shown = show_scheme(&self.program, &Scheme { params: ty.params.clone(), ty: from });
            parameters.push(format!("{name}: {shown}"));
            ty.ty = to;
        }
        Some((parameters, show_scheme(&self.program, &ty)))
    }
}

//! Arguments that consist of parts: tuples, also in one another and with names for their elements, and tensor descriptors that the host makes.
//!
//! Invariant: a part is an argument under the name of the whole, a dot and its own: `t.0`, `p.weight`, `d.shape.1`. So launches, caches and heads know only single arguments.

use super::body::{Body, Made};
use super::classes::{Class, Kind};
use super::kernel::{Argument, Request, parameter};
use super::pointer::BlockPointer;
use super::value::Value;
use crate::python::ast::Expr;
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::Scalar;
use std::sync::Arc;

/// What the parts of a parameter are read from.
pub(super) struct Parts<'r> {
    pub request: &'r Request,
    /// Whether the parameter is a `tl.constexpr`.
    pub constexpr: bool,
    /// Where it stands.
    pub span: Span,
    /// The class whose object it is, if its annotation names one.
    pub class: Option<Arc<Class>>,
}

impl Parts<'_> {
    /// What is given in parts under a name; none if no part is. The names of the device's parameters are added to `left`.
    pub(super) fn of(&self, body: &mut Body<'_, '_>, name: &str, left: &mut Vec<String>) -> Made<Option<Value>> {
        let names = self.names(name);
        if names.is_empty() {
            return Ok(None);
        }
        if names.contains(&"base") {
            return self.descriptor(body, name, left).map(Some);
        }
        if self.class.is_some() || names.iter().any(|name| name.parse::<usize>().is_err()) {
            return self.object(body, name, &names, left).map(Some);
        }
        if let Some(missing) = (0..names.len()).find(|i| !names.contains(&&*i.to_string())) {
            let message = format!("`{name}.{missing}` is not given, but another part of `{name}` is");
            let hint =
                format!("the elements of a tuple are `{name}.0`, `{name}.1` and so on; {}", descriptor_hint(name));
            return body.fail(Code::BadArguments, self.span, message, &hint);
        }
        let elements = (0..names.len()).map(|i| self.part(body, &format!("{name}.{i}"), left));
        elements.collect::<Made<_>>().map(|elements| Some(Value::Tuple(elements)))
    }

    /// An object whose fields are given by their names, or by their places in the class.
    fn object(&self, body: &mut Body<'_, '_>, whole: &str, names: &[&str], left: &mut Vec<String>) -> Made<Value> {
        // Parts of parts are no objects of that class.
        let parts = Parts { class: None, ..*self };
        let class = match &self.class {
            Some(class) => class.clone(),
            None => {
                let fields = names.iter().map(|name| ((*name).to_owned(), None)).collect();
                Arc::new(Class::of_fields(whole, fields))
            }
        };
        let known = |name: &&&str| {
            let place = name.parse().is_ok_and(|at: usize| at < class.fields.len());
            place || class.fields.iter().any(|(field, _)| field == **name)
        };
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            let fields: Vec<String> = class.fields.iter().map(|(field, _)| format!("`{whole}.{field}`")).collect();
            let message = format!("`{whole}.{unknown}` is no field of the class `{}`", class.name);
            return body.fail(Code::BadArguments, self.span, message, &format!("its fields are {}", fields.join(", ")));
        }
        let mut items = vec![];
        for (i, (field, default)) in class.fields.iter().enumerate() {
            let number = i.to_string();
            let given = names.iter().find(|name| **name == field.as_str() || **name == number);
            items.push(match (given, default) {
                (Some(given), _) => parts.part(body, &format!("{whole}.{given}"), left)?,
                (None, Some(default)) => default.clone(),
                (None, None) => {
                    let message = format!("`{whole}.{field}` is not given, but another part of `{whole}` is");
                    return body.fail(Code::BadArguments, self.span, message, "");
                }
            });
        }
        Ok(Value::Named(class, items))
    }

    /// The names behind that of the whole, each once.
    fn names(&self, whole: &str) -> Vec<&str> {
        let behind = |(name, _): &'_ (String, Argument)| -> Option<usize> {
            name.strip_prefix(whole)?.strip_prefix('.').map(|rest| name.len() - rest.len())
        };
        let mut names: Vec<&str> = vec![];
        for given in &self.request.arguments {
            let Some(at) = behind(given) else { continue };
            let first = given.0[at..].split('.').next().unwrap_or_default();
            if !names.contains(&first) {
                names.push(first);
            }
        }
        names
    }

    /// A part, which may have parts.
    fn part(&self, body: &mut Body<'_, '_>, name: &str, left: &mut Vec<String>) -> Made<Value> {
        match self.request.arguments.iter().find(|(given, _)| given == name) {
            Some((_, argument)) => parameter(body, name, argument, self.constexpr, self.span, left),
            None => self.of(body, name, left)?.map_or_else(|| self.missing(body, name), Ok),
        }
    }

    fn missing(&self, body: &Body<'_, '_>, name: &str) -> Made<Value> {
        let whole = name.split('.').next().unwrap_or(name);
        body.fail(Code::BadArguments, self.span, format!("`{name}` is not given"), &descriptor_hint(whole))
    }

    fn descriptor(&self, body: &mut Body<'_, '_>, name: &str, left: &mut Vec<String>) -> Made<Value> {
        let base = self.part(body, &format!("{name}.base"), left)?;
        let base = body.pointer(&base, "a descriptor", self.span)?;
        let mut integers = |body: &mut Body<'_, '_>, part: &str| {
            let numbers = self.part(body, &format!("{name}.{part}"), left)?;
            body.integers(&numbers, Scalar::I64, &format!("`{name}.{part}`"), self.span)
        };
        let (lengths, strides) = (integers(body, "shape")?, integers(body, "strides")?);
        let block = self.part(body, &format!("{name}.block_shape"), left)?;
        let block = body.constant_ints(&block, &format!("`{name}.block_shape`"), self.span)?;
        let block = body.shape_of(&block, self.span)?.map_or(vec![], |shape| shape.to_vec());
        if lengths.len() != block.len() || strides.len() != block.len() {
            let message = format!("the parts of the descriptor `{name}` have different numbers of dimensions");
            return body.fail(Code::BadArguments, self.span, message, &descriptor_hint(name));
        }
        let has_padding = self.names(name).contains(&"padding");
        let padding = if has_padding { self.part(body, &format!("{name}.padding"), left)? } else { Value::None };
        let padding = body.padding_of(&padding, base.pointee, self.span)?;
        Ok(Value::Block(Box::new(BlockPointer { base, lengths, strides, offsets: vec![], block, padding })))
    }
}

/// The class that an annotation names, if objects of it have fields.
pub(super) fn class_of(body: &mut Body<'_, '_>, annotation: Option<&Expr>) -> Option<Arc<Class>> {
    match body.expr(annotation?) {
        Ok(Value::Class(class)) if class.kind == Kind::Fields => Some(class),
        _no_class => None,
    }
}

fn descriptor_hint(name: &str) -> String {
    format!("a descriptor is `{name}.base`, `{name}.shape.0` .., `{name}.strides.0` .. and `{name}.block_shape.0` ..")
}

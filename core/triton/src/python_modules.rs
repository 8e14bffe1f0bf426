//! Functions of Python's own modules that files call around kernels: `itertools`, `functools`, `collections`.
//!
//! Invariant: they work on what is known when a kernel is compiled, and give lists where Python gives iterators.

use super::body::{Body, Made};
use super::classes::{AUTO, Class, Partial};
use super::value::{Placed, Value};
use crate::python::ast::BinaryOp;
use girih_base::diag::Code;
use girih_base::span::Span;
use std::sync::Arc;

impl Body<'_, '_> {
    /// What a function of a module gives; none if it is not known here.
    pub(super) fn python_call(
        &mut self,
        path: &str,
        positional: &[Placed],
        named: &[(String, Placed)],
        span: Span,
    ) -> Made<Option<Value>> {
        let given: Vec<Value> = positional.iter().map(|placed| placed.value.clone()).collect();
        let by_name = |name: &str| named.iter().find(|(own, _)| own == name).map(|(_, placed)| placed.value.clone());
        Ok(Some(match (path, &given[..]) {
            (AUTO, []) => Value::Library(AUTO.to_owned()),
            ("itertools.product", lists) => {
                let times = match by_name("repeat") {
                    Some(n) => self.constant_int(&n, "`repeat`", span)?.clamp(0, 16) as usize,
                    None => 1,
                };
                let lists = self.lists(lists, span)?;
                let lists: Vec<Vec<Value>> = std::iter::repeat_n(lists, times).flatten().collect();
                self.product(&lists, span)?
            }
            ("itertools.chain", lists) => Value::Tuple(self.lists(lists, span)?.concat()),
            ("itertools.chain.from_iterable", [lists]) => {
                let lists = self.iterate(lists.clone(), span)?;
                Value::Tuple(self.lists(&lists, span)?.concat())
            }
            ("itertools.combinations", [list, Value::Int(n)]) => {
                let list = self.iterate(list.clone(), span)?;
                self.combinations(&list, usize::try_from(*n).unwrap_or(0), span)?
            }
            ("itertools.repeat", [value, Value::Int(n)]) => {
                Value::Tuple(vec![value.clone(); usize::try_from(*n).unwrap_or(0).min(1 << 16)])
            }
            ("itertools.accumulate", [list]) => {
                let (mut sums, mut sum) = (vec![], None);
                for item in self.iterate(list.clone(), span)? {
                    let next = match sum {
                        Some(before) => self.binary(BinaryOp::Add, &before, &item, span)?,
                        None => item,
                    };
                    sums.push(next.clone());
                    sum = Some(next);
                }
                Value::Tuple(sums)
            }
            ("functools.reduce", [function, list, rest @ ..]) => {
                let mut items = self.iterate(list.clone(), span)?.into_iter();
                let Some(mut made) = rest.first().cloned().or_else(|| items.next()) else {
                    return self.fail(Code::KernelArgument, span, "there is nothing to be reduced", "");
                };
                for item in items {
                    made = self.call_value(function, vec![made, item], span)?;
                }
                made
            }
            ("functools.partial", [callee, first @ ..]) => {
                let named = named.iter().map(|(name, placed)| (name.clone(), placed.value.clone())).collect();
                Value::Partial(Arc::new(Partial { callee: callee.clone(), named }), first.to_vec())
            }
            ("collections.namedtuple" | "typing.NamedTuple", [Value::Str(name), fields]) => {
                let defaults = match by_name("defaults") {
                    Some(list) => self.iterate(list, span)?,
                    None => vec![],
                };
                let fields = self.field_names(fields, span)?;
                let first = fields.len().saturating_sub(defaults.len());
                let mut with_defaults = vec![];
                for (i, field) in fields.into_iter().enumerate() {
                    let default = i.checked_sub(first).and_then(|i| defaults.get(i).cloned());
                    with_defaults.push((field, default));
                }
                Value::Class(Arc::new(Class::of_fields(name, with_defaults)))
            }
            ("types.SimpleNamespace", []) => {
                let fields = named.iter().map(|(name, _)| (name.clone(), None)).collect();
                let items = named.iter().map(|(_, placed)| placed.value.clone()).collect();
                Value::Named(Arc::new(Class::of_fields("SimpleNamespace", fields)), items)
            }
            ("collections.OrderedDict", [value]) => value.clone(),
            ("collections.OrderedDict", []) => Value::Dict(vec![]),
            (_, _) => return Ok(None),
        }))
    }

    fn lists(&mut self, values: &[Value], span: Span) -> Made<Vec<Vec<Value>>> {
        values.iter().map(|value| self.iterate(value.clone(), span)).collect()
    }

    /// One element of each list, in all ways; the last one changes first.
    fn product(&mut self, lists: &[Vec<Value>], span: Span) -> Made<Value> {
        let mut rows = vec![vec![]];
        for list in lists {
            let mut longer = vec![];
            for row in &rows {
                for item in list {
                    self.spend(span)?;
                    longer.push(row.iter().chain([item]).cloned().collect::<Vec<Value>>());
                }
            }
            rows = longer;
        }
        Ok(Value::Tuple(rows.into_iter().map(Value::Tuple).collect()))
    }

    /// So many elements of a list, in its order, in all ways.
    fn combinations(&mut self, list: &[Value], count: usize, span: Span) -> Made<Value> {
        let mut rows: Vec<(usize, Vec<Value>)> = vec![(0, vec![])];
        for _ in 0..count.min(list.len() + 1) {
            let mut longer = vec![];
            for (from, row) in &rows {
                for (at, item) in list.iter().enumerate().skip(*from) {
                    self.spend(span)?;
                    longer.push((at + 1, row.iter().chain([item]).cloned().collect()));
                }
            }
            rows = longer;
        }
        Ok(Value::Tuple(rows.into_iter().map(|(_, row)| Value::Tuple(row)).collect()))
    }

    /// The names of fields: `"a b"`, `"a, b"`, `["a", "b"]` or `[("a", int)]`.
    fn field_names(&mut self, fields: &Value, span: Span) -> Made<Vec<String>> {
        if let Value::Str(text) = fields {
            return Ok(text.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect());
        }
        let name = |item: Value| match item {
            Value::Tuple(pair) => pair.first().map_or(String::new(), ToString::to_string),
            one => one.to_string(),
        };
        Ok(self.iterate(fields.clone(), span)?.into_iter().map(name).collect())
    }
}

//! Python's objects as values of Bend, and back.
//!
//! Invariant: nothing here recurses, so data may be as deep as it likes. A value of a data type is an object whose class is the program's own one for the
//! constructor: it has `__bend_ctor__`, the constructor's number, and `__match_args__`, the names of its fields, as data classes do.

use crate::error::wrong;
use girih::typed::{CtorId, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple};
use std::collections::HashSet;

/// The constructors of a program, and the class of each one's values.
pub(crate) struct Classes<'a, 'py> {
    pub ctors: &'a [CtorId],
    pub classes: Bound<'py, PyList>,
}

impl<'py> Classes<'_, 'py> {
    /// The constructor of an object whose class says that it is of this number.
    fn ctor(&self, object: &Bound<'py, PyAny>, number: usize) -> PyResult<CtorId> {
        let own = self.classes.get_item(number).is_ok_and(|class| object.get_type().is(&class));
        match self.ctors.get(number) {
            Some(ctor) if own => Ok(*ctor),
            _ => {
                let message = format!("the class `{}` belongs to another program", object.get_type().name()?);
                let hint =
                    "make it by a class of the program whose function is called; each `girih.bend(..)` has its own";
                Err(wrong(message, Some(hint)))
            }
        }
    }

    /// The class of a constructor's values.
    pub fn class(&self, ctor: CtorId) -> PyResult<Bound<'py, PyAny>> {
        let position = self.ctors.iter().position(|known| *known == ctor);
        position.map_or_else(|| Err(wrong("a constructor has no class", None)), |at| self.classes.get_item(at))
    }
}

/// How many objects are read before Python looks whether the user has pressed Ctrl-C.
const GLANCE: usize = 1 << 16;

/// What is made of the values before it.
enum Step<'py> {
    Object(Bound<'py, PyAny>),
    /// The value before it is that of an array.
    Array,
    List(usize),
    Tuple(usize),
    Data(CtorId, usize),
}

/// Containers whose parts are being read, each within the one before.
#[derive(Default)]
struct Open<'py> {
    containers: Vec<Bound<'py, PyAny>>,
    addresses: HashSet<usize>,
}

impl<'py> Open<'py> {
    fn enter(&mut self, container: Bound<'py, PyAny>) -> PyResult<()> {
        if !self.addresses.insert(container.as_ptr().addr()) {
            let message = format!("the {} contains itself", container.get_type().name()?);
            return Err(wrong(message, Some("values of Bend are finite")));
        }
        self.containers.push(container);
        Ok(())
    }

    fn leave(&mut self) {
        if let Some(container) = self.containers.pop() {
            self.addresses.remove(&container.as_ptr().addr());
        }
    }

    /// The values of the parts of the innermost container, which ends here.
    fn parts(&mut self, made: &mut Vec<Value>, count: usize) -> Vec<Value> {
        self.leave();
        made.split_off(made.len().saturating_sub(count))
    }
}

/// The value that an object stands for.
///
/// # Errors
/// If it stands for none, or contains itself; or the user has pressed Ctrl-C.
pub(crate) fn from_python<'py>(object: &Bound<'py, PyAny>, known: &Classes<'_, 'py>) -> PyResult<Value> {
    let (mut steps, mut made, mut open) = (vec![Step::Object(object.clone())], vec![], Open::default());
    let mut seen = 0_usize;
    while let Some(step) = steps.pop() {
        let value = match step {
            Step::Object(object) => {
                seen += 1;
                if seen.is_multiple_of(GLANCE) {
                    object.py().check_signals()?;
                }
                match leaf(&object)? {
                    Some(value) => value,
                    None => {
                        inside(&object, known, &mut steps)?;
                        open.enter(object)?;
                        continue;
                    }
                }
            }
            Step::Array => {
                open.leave();
                continue;
            }
            Step::List(count) => Value::List(open.parts(&mut made, count)),
            Step::Tuple(count) => Value::Tuple(open.parts(&mut made, count)),
            Step::Data(ctor, count) => Value::Data(ctor, open.parts(&mut made, count)),
        };
        made.push(value);
    }
    made.pop().ok_or_else(|| wrong("no value was made", None))
}

/// The value of an object that has no parts; none if it has.
fn leaf(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if object.is_none() {
        return Ok(Some(Value::None));
    }
    // A truth value is an integer, too: 0 or 1, as in Bend.
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Some(Value::Integer(truth.is_true().into())));
    }
    if object.is_instance_of::<PyInt>() {
        let hint = "numbers of Bend have at most 32 bits";
        return object
            .extract()
            .map(|number| Some(Value::Integer(number)))
            .map_err(|_| wrong(format!("{object} is too large"), Some(hint)));
    }
    if let Ok(float) = object.cast::<PyFloat>() {
        return Ok(Some(Value::Float(float.value())));
    }
    match object.cast::<PyString>() {
        Ok(text) => Ok(Some(Value::Text(text.to_str()?.to_owned()))),
        Err(_) => Ok(None),
    }
}

/// The steps for the parts of an object.
fn inside<'py>(object: &Bound<'py, PyAny>, known: &Classes<'_, 'py>, steps: &mut Vec<Step<'py>>) -> PyResult<()> {
    let py = object.py();
    let parts: Vec<Bound<'py, PyAny>> = if let Ok(list) = object.cast::<PyList>() {
        steps.push(Step::List(list.len()));
        list.iter().collect()
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        steps.push(Step::Tuple(tuple.len()));
        tuple.iter().collect()
    } else if let Some(number) = object.getattr_opt(pyo3::intern!(py, "__bend_ctor__"))? {
        let ctor = known.ctor(object, number.extract()?)?;
        let names = object.getattr(pyo3::intern!(py, "__match_args__"))?.cast_into::<PyTuple>()?;
        steps.push(Step::Data(ctor, names.len()));
        names.iter().map(|name| object.getattr(name.cast::<PyString>()?)).collect::<PyResult<_>>()?
    } else if let Some(to_list) = object.getattr_opt(pyo3::intern!(py, "tolist"))? {
        // Arrays and numbers of NumPy.
        steps.extend([Step::Array, Step::Object(to_list.call0()?)]);
        return Ok(());
    } else {
        let message = format!("an object of the type `{}` is no value of Bend", object.get_type().name()?);
        let hint = "give numbers, texts, lists, tuples, arrays, `None`, or objects of the program's own classes";
        return Err(wrong(message, Some(hint)));
    };
    steps.extend(parts.into_iter().rev().map(Step::Object));
    Ok(())
}

/// What is made of the objects before it, of which there are so many.
enum Build<'v> {
    Value(&'v Value),
    List(usize),
    Tuple(usize),
    Data(CtorId, usize),
}

/// The object that stands for a value.
///
/// # Errors
/// If a class refuses its fields.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value, known: &Classes<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let (mut steps, mut made): (_, Vec<Bound<'py, PyAny>>) = (vec![Build::Value(value)], vec![]);
    while let Some(step) = steps.pop() {
        let gathered =
            |made: &mut Vec<Bound<'py, PyAny>>, count: usize| made.split_off(made.len().saturating_sub(count));
        let object = match step {
            Build::Value(Value::None) => PyNone::get(py).to_owned().into_any(),
            Build::Value(Value::Integer(number)) => number.into_pyobject(py)?.into_any(),
            Build::Value(Value::Float(number)) => PyFloat::new(py, *number).into_any(),
            Build::Value(Value::Text(text)) => PyString::new(py, text).into_any(),
            Build::Value(Value::List(parts)) => {
                steps.push(Build::List(parts.len()));
                steps.extend(parts.iter().rev().map(Build::Value));
                continue;
            }
            Build::Value(Value::Tuple(parts)) => {
                steps.push(Build::Tuple(parts.len()));
                steps.extend(parts.iter().rev().map(Build::Value));
                continue;
            }
            Build::Value(Value::Data(ctor, parts)) => {
                steps.push(Build::Data(*ctor, parts.len()));
                steps.extend(parts.iter().rev().map(Build::Value));
                continue;
            }
            Build::List(count) => PyList::new(py, gathered(&mut made, count))?.into_any(),
            Build::Tuple(count) => PyTuple::new(py, gathered(&mut made, count))?.into_any(),
            Build::Data(ctor, count) => known.class(ctor)?.call1(PyTuple::new(py, gathered(&mut made, count))?)?,
        };
        made.push(object);
    }
    made.pop().ok_or_else(|| wrong("no object was made", None))
}

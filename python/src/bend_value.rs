//! Python's objects as values of Bend, and back.
//!
//! Invariant: nothing here recurses, so data may be as deep as it likes. A value of a data type is an object whose class has `__bend_ctor__`, the number of the
//! constructor, and `__match_args__`, the names of its fields, as data classes do.

use crate::error::wrong;
use girih::typed::{CtorId, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple};

/// What is made of the values before it.
enum Step<'py> {
    Object(Bound<'py, PyAny>),
    List(usize),
    Tuple(usize),
    Data(CtorId, usize),
}

/// The value that an object stands for.
///
/// # Errors
/// If it stands for none.
pub(crate) fn from_python(object: &Bound<'_, PyAny>, ctors: &[CtorId]) -> PyResult<Value> {
    let (mut steps, mut made) = (vec![Step::Object(object.clone())], vec![]);
    while let Some(step) = steps.pop() {
        let gathered = |made: &mut Vec<Value>, count: usize| made.split_off(made.len().saturating_sub(count));
        let value = match step {
            Step::Object(object) => match leaf(&object)? {
                Some(value) => value,
                None => {
                    inside(&object, ctors, &mut steps)?;
                    continue;
                }
            },
            Step::List(count) => Value::List(gathered(&mut made, count)),
            Step::Tuple(count) => Value::Tuple(gathered(&mut made, count)),
            Step::Data(ctor, count) => Value::Data(ctor, gathered(&mut made, count)),
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
fn inside<'py>(object: &Bound<'py, PyAny>, ctors: &[CtorId], steps: &mut Vec<Step<'py>>) -> PyResult<()> {
    let py = object.py();
    let parts: Vec<Bound<'py, PyAny>> = if let Ok(list) = object.cast::<PyList>() {
        steps.push(Step::List(list.len()));
        list.iter().collect()
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        steps.push(Step::Tuple(tuple.len()));
        tuple.iter().collect()
    } else if let Some(number) = object.getattr_opt(pyo3::intern!(py, "__bend_ctor__"))? {
        let ctor = ctors.get(number.extract::<usize>()?).copied();
        let ctor = ctor.ok_or_else(|| wrong("the object's class belongs to another program", None))?;
        let names = object.getattr(pyo3::intern!(py, "__match_args__"))?.cast_into::<PyTuple>()?;
        steps.push(Step::Data(ctor, names.len()));
        names.iter().map(|name| object.getattr(name.cast::<PyString>()?)).collect::<PyResult<_>>()?
    } else if let Some(to_list) = object.getattr_opt(pyo3::intern!(py, "tolist"))? {
        // Arrays and numbers of NumPy.
        steps.push(Step::Object(to_list.call0()?));
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

/// The object that stands for a value; `class` is that of a constructor.
///
/// # Errors
/// If a class refuses its fields.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &Value,
    class: impl Fn(CtorId) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
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
            Build::Data(ctor, count) => class(ctor)?.call1(PyTuple::new(py, gathered(&mut made, count))?)?,
        };
        made.push(object);
    }
    made.pop().ok_or_else(|| wrong("no object was made", None))
}

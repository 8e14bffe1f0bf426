//! The library's errors as exceptions of Python.

use girih::{Code, Diagnostic, Style};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyIndexError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

create_exception!(girih, Error, PyException, "Why something could not be done: `code`, `message`, `hint`, `rendered`.");
create_exception!(girih, OutOfMemory, Error, "A device, or the host, has not as much memory.");

create_exception!(girih, AssertionFailed, Error, "An assertion of a kernel does not hold for some element.");

/// How Inductor's assertions about indices begin.
const INDEX: &str = "index out of bounds";

/// The class `OutOfBounds`: an `AssertionFailed` about an index, which is an `IndexError`, too.
pub(crate) fn out_of_bounds(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let make = || {
        let bases = PyTuple::new(py, [py.get_type::<AssertionFailed>(), py.get_type::<PyIndexError>()])?;
        let dict = PyDict::new(py);
        dict.set_item("__module__", "girih")?;
        dict.set_item("__doc__", "An index of a kernel is beyond what it is for.")?;
        let made = py.get_type::<PyType>().call1(("OutOfBounds", bases, dict))?;
        made.cast_into::<PyType>().map(Bound::unbind).map_err(PyErr::from)
    };
    Ok(CLASS.get_or_try_init(py, make)?.bind(py).clone())
}

/// The exception for a failed assertion.
fn failed(message: &str, rendered: String) -> PyErr {
    if !message.contains(INDEX) {
        return AssertionFailed::new_err(rendered);
    }
    Python::attach(|py| out_of_bounds(py).map_or_else(|failed| failed, |class| PyErr::from_type(class, rendered)))
}

/// What the library says, as an exception. Its text is what the command shows: code, line and underline.
pub(crate) fn exception(error: impl Into<girih::Error>) -> PyErr {
    let error = error.into();
    let rendered = error.render(Style::Plain).trim_end().to_owned();
    let code = error.code();
    let exception = match code {
        Some(Code::OutOfMemory) => OutOfMemory::new_err(rendered.clone()),
        Some(Code::AssertionFailed) => failed(error.message(), rendered.clone()),
        Some(_) | None => Error::new_err(rendered.clone()),
    };
    Python::attach(|py| {
        let value = exception.value(py);
        let code = code.map(|code| code.to_string());
        let set = value
            .setattr("code", code)
            .and_then(|()| value.setattr("message", error.message()))
            .and_then(|()| value.setattr("hint", error.hint()))
            .and_then(|()| value.setattr("rendered", rendered));
        // What cannot be set is said instead.
        set.map_or_else(|failed| failed, |()| exception.clone_ref(py))
    })
}

/// An exception about what was given.
pub(crate) fn wrong(message: impl Into<String>, hint: Option<&str>) -> PyErr {
    let error = Diagnostic::new(Code::BadArguments, girih::Span::NONE, message);
    exception(match hint {
        Some(hint) => error.hint(hint),
        None => error,
    })
}

//! The library's errors as exceptions of Python.

use girih::{Code, Diagnostic, Style};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(girih, Error, PyException, "Why something could not be done: `code`, `message`, `hint`, `rendered`.");
create_exception!(girih, OutOfMemory, Error, "A device, or the host, has not as much memory.");

/// What the library says, as an exception. Its text is what the command shows: code, line and underline.
pub(crate) fn exception(error: impl Into<girih::Error>) -> PyErr {
    let error = error.into();
    let rendered = error.render(Style::Plain).trim_end().to_owned();
    let code = error.code();
    let exception = match code {
        Some(Code::OutOfMemory) => OutOfMemory::new_err(rendered.clone()),
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

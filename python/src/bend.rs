//! Bend programs, and calls of their functions.
//!
//! Invariant: a function is compiled once for each device and types of arguments, and once more for calls at the same time. A call runs on a thread of its
//! own, so that Ctrl-C stops it alone.

use crate::bend_value::{Classes, from_python, to_python};
use crate::error::{exception, wrong};
use crate::sources::{Found, Recorded, Recorder};
use girih::devices::Selector;
use girih::typed::{CtorId, Function, Type, Value, Values};
use girih::{Options, Program, RunDevice, RunOptions, SystemHost};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How long at most nobody looks whether Ctrl-C was pressed.
const GLANCE: Duration = Duration::from_millis(50);

/// A function that is compiled.
struct Compiled {
    name: String,
    types: Vec<Type>,
    device: Selector,
    function: Function<Values, Value>,
    interrupt: Arc<AtomicBool>,
    /// Whether a call of it goes on: what stops a call would stop another one, too.
    in_use: AtomicBool,
}

/// A Bend program. Without a text it is the file of that name; with sources it is made of these.
#[pyclass(frozen, module = "girih._native")]
pub(crate) struct BendProgram {
    program: Program,
    sources: Found,
    ctors: Vec<CtorId>,
    /// For each constructor the class of its values.
    classes: OnceLock<Py<PyList>>,
    compiled: Mutex<Vec<Arc<Compiled>>>,
}

#[pymethods]
impl BendProgram {
    #[new]
    #[pyo3(signature = (name, text = None, sources = None))]
    fn new(py: Python<'_>, name: &str, text: Option<&str>, sources: Option<Found>) -> PyResult<BendProgram> {
        let open = || {
            let (program, sources) = match sources {
                Some(found) => (Program::load(&Recorded(&found), &Options::library()), found),
                None => {
                    let recorder = Recorder::new(name, text);
                    (Program::load(&recorder, &Options::library()), recorder.found())
                }
            };
            let ctors = program.constructors()?.into_iter().map(|known| known.ctor).collect();
            Ok((program, ctors, sources))
        };
        let (program, ctors, sources) = py.detach(open).map_err(|error: girih::Error| exception(error))?;
        Ok(BendProgram { program, sources, ctors, classes: OnceLock::new(), compiled: Mutex::default() })
    }

    /// Its files as they were found, from which it can be made again anywhere.
    fn sources(&self) -> Found {
        self.sources.clone()
    }

    /// Its functions: names, and types as Bend writes them.
    fn functions(&self) -> PyResult<Vec<(String, String)>> {
        let all = self.program.signatures().map_err(exception)?;
        Ok(all.into_iter().map(|function| (function.name, function.ty)).collect())
    }

    /// All constructors: full names, and the names of their fields.
    fn constructors(&self) -> PyResult<Vec<(String, Vec<String>)>> {
        let all = self.program.constructors().map_err(exception)?;
        Ok(all.into_iter().map(|ctor| (ctor.name, ctor.fields)).collect())
    }

    /// Says what the values of each constructor are made by, in the order of `constructors`. Once.
    fn use_classes(&self, classes: Py<PyList>) -> PyResult<()> {
        self.classes.set(classes).map_err(|_| wrong("the classes of the program are known", None))
    }

    /// Calls a function.
    #[pyo3(signature = (name, arguments, device = None))]
    fn call<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        arguments: &Bound<'py, PyTuple>,
        device: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let device = Selector::parse(device.unwrap_or("auto")).map_err(exception)?;
        let classes = self.classes.get().ok_or_else(|| wrong("the classes of the program are not known", None))?;
        let known = Classes { ctors: &self.ctors, classes: classes.bind(py).clone() };
        let values = arguments.iter().map(|given| from_python(&given, &known)).collect::<PyResult<Vec<Value>>>()?;
        let compiled = py.detach(|| self.compiled(name, &values, device)).map_err(exception)?;
        let result = py.detach(|| compiled.call(&values));
        compiled.in_use.store(false, Ordering::Release);
        to_python(py, &result?, &known)
    }
}

impl BendProgram {
    /// A function, compiled for such arguments. It is in use until the caller says otherwise.
    fn compiled(&self, name: &str, values: &[Value], device: Selector) -> Result<Arc<Compiled>, girih::Error> {
        let types = self.program.types_of(name, values)?;
        let mut all = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &&Arc<Compiled>| known.name == name && known.types == types && known.device == device;
        let found = all.iter().filter(is_same).find(|known| !known.in_use.swap(true, Ordering::Acquire));
        if let Some(found) = found {
            return Ok(found.clone());
        }
        let interrupt = Arc::new(AtomicBool::new(false));
        let run_on = RunDevice::from(device.clone());
        let options = RunOptions { device: run_on, interrupt: Some(interrupt.clone()), ..RunOptions::default() };
        let function = self.program.dynamic_function(name, &types, &options)?;
        let made = Arc::new(Compiled {
            name: name.to_owned(),
            types,
            device,
            function,
            interrupt,
            in_use: AtomicBool::new(true),
        });
        all.push(made.clone());
        Ok(made)
    }
}

impl Compiled {
    /// Calls it, and looks now and then whether the user has pressed Ctrl-C.
    fn call(&self, values: &[Value]) -> PyResult<Value> {
        std::thread::scope(|threads| {
            let (done, waiting) = channel();
            let thread = threads.spawn(move || done.send(self.function.call_values(values, &mut SystemHost::new())));
            loop {
                match waiting.recv_timeout(GLANCE) {
                    Ok(result) => return result.map_err(exception),
                    Err(RecvTimeoutError::Disconnected) => {
                        // A thread that panicked and is not joined here makes this one panic, too.
                        drop(thread.join());
                        return Err(wrong("the call has ended without a result", None));
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(stopped) = Python::attach(|py| py.check_signals()) {
                            self.interrupt.store(true, Ordering::Relaxed);
                            let _ = waiting.recv();
                            self.interrupt.store(false, Ordering::Relaxed);
                            return Err(stopped);
                        }
                    }
                }
            }
        })
    }
}

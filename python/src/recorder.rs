//! What a call does to a device, noted while it runs: memory that it makes, kernels that it launches, bytes that it copies.
//!
//! Invariant: a recording holds all that the call has done to the device, each memory named by where it comes from, so that doing it again with other
//! inputs of the same layout does the same. A call that does anything else to a device is not recorded.

use crate::buffer::Buffer;
use crate::device::Device;
use crate::prepared::Prepared;
use crate::recording::{Input, Memory, Origin, Output, Place, Recording, Step, Tensor, View};
use crate::storage::{Layout, address, memory_of, place_of};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyTuple};
use std::cell::RefCell;
use std::collections::HashMap;

thread_local! {
    /// The recorder of this thread. Compiled calls run on one thread each.
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
}

/// Notes what this thread does to a device.
struct Recorder {
    device: Device,
    memories: Vec<Memory>,
    /// By its serial number: which of the memories it is.
    known: HashMap<u64, usize>,
    inputs: Vec<Input>,
    steps: Vec<Step>,
    /// Whether something was done that is not recorded.
    is_spoilt: bool,
}

/// Does something to the recorder of this thread, if there is one.
fn with_recorder(note: impl FnOnce(&mut Recorder)) {
    RECORDER.with_borrow_mut(|recorder| recorder.as_mut().map(note));
}

/// Something was done that is not recorded.
pub(crate) fn spoil() {
    with_recorder(|recorder| recorder.is_spoilt = true);
}

/// Memory was made for a tensor of a layout.
pub(crate) fn made(buffer: &Buffer, layout: &Layout) {
    with_recorder(|recorder| {
        recorder.is_spoilt |= *buffer.owner() != recorder.device;
        let memory = recorder.add(buffer, Origin::Made(layout.clone()));
        recorder.steps.push(Step::Make { memory, bytes: buffer.bytes() });
    });
}

/// A launch was queued with memory at these addresses.
pub(crate) fn launched(launch: &Py<Prepared>, py: Python<'_>, addresses: &[u64]) {
    with_recorder(|recorder| {
        let places = addresses.iter().map(|address| recorder.place(*address)).collect::<Option<Vec<Place>>>();
        match places {
            Some(places) => recorder.steps.push(Step::Launch { launch: launch.clone_ref(py), places }),
            None => recorder.is_spoilt = true,
        }
    });
}

/// Bytes from a byte of a buffer on were filled with zero.
pub(crate) fn cleared(buffer: &Buffer, offset: u64, bytes: u64) {
    with_recorder(|recorder| {
        recorder.is_spoilt |= *buffer.owner() != recorder.device;
        let at = recorder.place_in(buffer, offset);
        recorder.steps.push(Step::Clear { at, bytes });
    });
}

/// Bytes were copied from one buffer of the device to another.
pub(crate) fn copied(from: (&Buffer, u64), to: (&Buffer, u64), bytes: u64) {
    with_recorder(|recorder| {
        recorder.is_spoilt |= *to.0.owner() != recorder.device;
        let (from, to) = (recorder.place_in(from.0, from.1), recorder.place_in(to.0, to.1));
        recorder.steps.push(Step::Copy { from, to, bytes });
    });
}

/// Calls a function with the buffer and the byte that an address stands for. Where the call around it is recorded, each repetition calls it, too; what it does to the device meanwhile is its own matter.
#[pyfunction]
pub(crate) fn host_step(py: Python<'_>, address: u64, function: Py<PyAny>) -> PyResult<()> {
    let around = RECORDER.take();
    let found = memory_of(address);
    let done = found.clone().map_or(Ok(py.None()), |(buffer, offset)| function.call1(py, (buffer, offset)));
    RECORDER.set(around);
    done?;
    with_recorder(|recorder| match found {
        Some((buffer, offset)) => {
            let at = recorder.place_in(&buffer, offset);
            recorder.steps.push(Step::Host { function, at });
        }
        None => recorder.is_spoilt = true,
    });
    Ok(())
}

/// Whether this thread records a call.
#[pyfunction]
pub(crate) fn is_recording() -> bool {
    RECORDER.with_borrow(Option::is_some)
}

/// Records what a function does with a list of arguments, which it may empty: gives its results, and the recording, or `None` where the call cannot be repeated by one. `codes` are
/// the types of elements as DLPack has them.
#[pyfunction]
pub(crate) fn record<'py>(
    function: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyList>,
    codes: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, Option<Recording>)> {
    let Some((recorder, given)) = Recorder::of(arguments)? else { return Ok((function.call1((arguments,))?, None)) };
    RECORDER.set(Some(recorder));
    let results = function.call1((arguments,));
    let recorder = RECORDER.take();
    let results = results?;
    let recorder = recorder.filter(|recorder| !recorder.is_spoilt);
    let recording = match (recorder, results.cast::<PyTuple>()) {
        (Some(recorder), Ok(results)) => recorder.finish(results, &given, codes)?,
        _ => None,
    };
    Ok((results, recording))
}

/// For each argument that is a tensor, a weak reference: whether a result is an argument is asked when the function may have let go of it.
type Given<'py> = Vec<Option<Bound<'py, PyAny>>>;

impl Recorder {
    /// A recorder for a call with such arguments; none if one of them is neither a tensor of one device nor a whole number.
    fn of<'py>(arguments: &Bound<'py, PyList>) -> PyResult<Option<(Recorder, Given<'py>)>> {
        let weak =
            arguments.py().import(intern!(arguments.py(), "weakref"))?.getattr(intern!(arguments.py(), "ref"))?;
        let (mut found, mut inputs, mut given): (Option<Recorder>, Vec<Input>, Given<'py>) = (None, vec![], vec![]);
        for (number, argument) in arguments.iter().enumerate() {
            if argument.is_instance_of::<PyInt>() {
                inputs.push(Input::Number(argument.unbind()));
                given.push(None);
                continue;
            }
            // What has no address is no plain tensor.
            let Some((buffer, first)) = address(&argument).ok().and_then(place_of) else { return Ok(None) };
            let recorder = found.get_or_insert_with(|| Recorder::on(buffer.owner()));
            if *buffer.owner() != recorder.device {
                return Ok(None);
            }
            // Memory that several tensors share is named by the first one.
            let memory = match recorder.known.get(&buffer.serial()) {
                Some(memory) => *memory,
                None => recorder.add(&buffer, Origin::Input { number, first }),
            };
            let from = recorder.memories[memory].origin.first();
            inputs.push(Input::Tensor(Tensor::of(&argument, memory, first as i64 - from as i64)?));
            given.push(Some(weak.call1((argument,))?));
        }
        Ok(found.map(|recorder| (Recorder { inputs, ..recorder }, given)))
    }

    fn on(device: &Device) -> Recorder {
        Recorder {
            device: device.clone(),
            memories: vec![],
            known: HashMap::new(),
            inputs: vec![],
            steps: vec![],
            is_spoilt: false,
        }
    }

    /// Names a memory.
    fn add(&mut self, buffer: &Buffer, origin: Origin) -> usize {
        let memory = self.memories.len();
        self.known.insert(buffer.serial(), memory);
        self.memories.push(Memory { origin, last: self.steps.len(), is_result: false });
        memory
    }

    /// The place of a byte in a buffer. Memory that the call has neither been given nor made stays what it is.
    fn place_in(&mut self, buffer: &Buffer, offset: u64) -> Place {
        let memory = match self.known.get(&buffer.serial()) {
            Some(memory) => *memory,
            None => self.add(buffer, Origin::Held(buffer.whole().clone())),
        };
        let memory_now = &mut self.memories[memory];
        memory_now.last = self.steps.len();
        Place { memory, offset: (buffer.first_byte() + offset) as i64 - memory_now.origin.first() as i64 }
    }

    fn place(&mut self, address: u64) -> Option<Place> {
        let (buffer, offset) = memory_of(address)?;
        (*buffer.owner() == self.device).then(|| self.place_in(&buffer, offset))
    }

    /// The recording, if all results are numbers, arguments, or tensors in memory that was given or made.
    fn finish(
        mut self,
        results: &Bound<'_, PyTuple>,
        given: &[Option<Bound<'_, PyAny>>],
        codes: &Bound<'_, PyDict>,
    ) -> PyResult<Option<Recording>> {
        let mut outputs = Vec::with_capacity(results.len());
        for result in results.iter() {
            let Some(output) = self.output(&result, given, codes)? else { return Ok(None) };
            outputs.push(output);
        }
        let Recorder { device, memories, inputs, steps, .. } = self;
        Recording::new(device, memories, inputs, steps, outputs).map(Some)
    }

    fn output(
        &mut self,
        result: &Bound<'_, PyAny>,
        given: &[Option<Bound<'_, PyAny>>],
        codes: &Bound<'_, PyDict>,
    ) -> PyResult<Option<Output>> {
        if result.is_none() || result.is_instance_of::<PyInt>() || result.is_instance_of::<PyFloat>() {
            return Ok(Some(Output::Number(result.clone().unbind())));
        }
        if !result.hasattr(intern!(result.py(), "data_ptr"))? {
            return Ok(None);
        }
        for (number, weak) in given.iter().enumerate() {
            if let Some(weak) = weak
                && weak.call0()?.is(result)
            {
                return Ok(Some(Output::Argument(number)));
            }
        }
        let Some((buffer, first)) = place_of(address(result)?) else { return Ok(None) };
        let Some(memory) = self.known.get(&buffer.serial()).copied() else { return Ok(None) };
        let Some(code) = codes.get_item(result.getattr(intern!(result.py(), "dtype"))?)? else { return Ok(None) };
        let view =
            View::of(result, memory, first as i64 - self.memories[memory].origin.first() as i64, code.extract()?)?;
        // What is in memory of neither kind is not the call's own.
        let is_known = match &self.memories[memory].origin {
            Origin::Made(layout) => layout.element == view.layout.element,
            Origin::Input { number, .. } => match &self.inputs[*number] {
                Input::Tensor(tensor) => tensor.is_of_type(result)?,
                Input::Number(_) => false,
            },
            Origin::Held(_) => false,
        };
        self.memories[memory].is_result = true;
        Ok(is_known.then_some(Output::View(view)))
    }
}

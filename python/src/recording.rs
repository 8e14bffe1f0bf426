//! A call of a compiled function as what it does to a device, done again with other inputs: no Python runs between its launches.
//!
//! Invariant: it is repeated only with inputs of the layouts that it was recorded with, which share memory with each other as those did. Memory goes as
//! soon as nothing uses it any more.

use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::exception;
use crate::prepared::Prepared;
use crate::storage::{Layout, address, capsule, place_of};
use crate::wait::wait;
use girih::runtime::{self, Command, DeviceKind, Memory as Bytes};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};

/// A memory that a call uses.
pub(crate) struct Memory {
    pub origin: Origin,
    /// The last step that uses it.
    pub last: usize,
    /// Whether a result is in it.
    pub is_result: bool,
}

/// Where a memory comes from.
pub(crate) enum Origin {
    /// An argument, and the byte where the argument began when the call was recorded: places are counted from there.
    Input { number: usize, first: u64 },
    /// The call makes it, for a tensor of such a layout.
    Made(Layout),
    /// It is no part of the call, and always the same.
    Held(runtime::Buffer),
}

impl Origin {
    /// The byte from which places are counted.
    pub fn first(&self) -> u64 {
        match self {
            Origin::Input { first, .. } => *first,
            Origin::Made(_) | Origin::Held(_) => 0,
        }
    }
}

/// A byte of a memory, counted from where its argument begins.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub memory: usize,
    pub offset: i64,
}

/// Something that a call does.
pub(crate) enum Step {
    /// It makes memory of so many bytes.
    Make {
        memory: usize,
        bytes: u64,
    },
    Launch {
        launch: Py<Prepared>,
        places: Vec<Place>,
    },
    Clear {
        at: Place,
        bytes: u64,
    },
    Copy {
        from: Place,
        to: Place,
        bytes: u64,
    },
    /// It calls a function of Python with a buffer and a byte.
    Host {
        function: Py<PyAny>,
        at: Place,
    },
}

/// What an argument has to be.
pub(crate) enum Input {
    /// This number.
    Number(Py<PyAny>),
    Tensor(Tensor),
}

/// What a tensor has to be that is an argument.
pub(crate) struct Tensor {
    memory: usize,
    /// How many bytes it begins behind the argument that its memory is named by.
    behind: i64,
    size: Py<PyAny>,
    stride: Py<PyAny>,
    dtype: Py<PyAny>,
}

impl Tensor {
    pub fn of(tensor: &Bound<'_, PyAny>, memory: usize, behind: i64) -> PyResult<Tensor> {
        let py = tensor.py();
        let size = tensor.getattr(intern!(py, "shape"))?.unbind();
        let stride = tensor.call_method0(intern!(py, "stride"))?.unbind();
        Ok(Tensor { memory, behind, size, stride, dtype: tensor.getattr(intern!(py, "dtype"))?.unbind() })
    }

    /// Whether a tensor has the same type of elements.
    pub fn is_of_type(&self, tensor: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(tensor.getattr(intern!(tensor.py(), "dtype"))?.is(&self.dtype))
    }

    /// Whether a tensor has the same layout.
    fn is_like(&self, tensor: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = tensor.py();
        Ok(self.is_of_type(tensor)?
            && tensor.getattr(intern!(py, "shape"))?.eq(&self.size)?
            && tensor.call_method0(intern!(py, "stride"))?.eq(&self.stride)?)
    }
}

/// A result.
pub(crate) enum Output {
    /// A number, or none.
    Number(Py<PyAny>),
    /// An argument itself.
    Argument(usize),
    View(View),
}

/// A tensor over memory of the call.
pub(crate) struct View {
    pub memory: usize,
    /// Where it begins, in bytes.
    pub offset: i64,
    pub layout: Layout,
}

impl View {
    pub fn of(tensor: &Bound<'_, PyAny>, memory: usize, offset: i64, element: (u8, u8)) -> PyResult<View> {
        let py = tensor.py();
        let size = tensor.getattr(intern!(py, "shape"))?.extract()?;
        let stride = tensor.call_method0(intern!(py, "stride"))?.extract()?;
        Ok(View { memory, offset, layout: Layout { size, stride, element } })
    }

    /// The same view of a tensor over its memory, whose argument begins at an element.
    fn taken<'py>(&self, tensor: &Bound<'py, PyAny>, first: i64) -> PyResult<Bound<'py, PyAny>> {
        let Layout { size, stride, element: (_, bits) } = &self.layout;
        let offset = first + self.offset / i64::from(*bits / 8).max(1);
        tensor.call_method1(intern!(tensor.py(), "as_strided"), (size.clone(), stride.clone(), offset))
    }
}

/// Memory while a call is repeated, and the byte from which places in it are counted.
#[derive(Clone)]
struct Room {
    buffer: runtime::Buffer,
    first: u64,
}

/// How many launches are given to a device of wgpu at once: each time costs it more than a launch.
const TOGETHER: usize = 16;

/// What a call does, for inputs of one layout.
#[pyclass(frozen, module = "girih")]
pub(crate) struct Recording {
    device: Device,
    memories: Vec<Memory>,
    inputs: Vec<Input>,
    steps: Vec<Step>,
    outputs: Vec<Output>,
    /// For each step the memories that nothing uses afterwards.
    ends: Vec<Vec<usize>>,
    together: usize,
}

impl Recording {
    pub fn new(
        device: Device,
        memories: Vec<Memory>,
        inputs: Vec<Input>,
        steps: Vec<Step>,
        outputs: Vec<Output>,
    ) -> PyResult<Recording> {
        let mut ends = vec![vec![]; steps.len()];
        for (number, memory) in memories.iter().enumerate() {
            if let (false, Some(end)) = (memory.is_result, ends.get_mut(memory.last)) {
                end.push(number);
            }
        }
        let together = match device.get()?.info().kind {
            DeviceKind::Wgpu | DeviceKind::WgpuSoftware => TOGETHER,
            DeviceKind::Cuda | DeviceKind::Cpu | DeviceKind::Interpreter => 1,
        };
        Ok(Recording { device, memories, inputs, steps, outputs, ends, together })
    }
}

#[pymethods]
impl Recording {
    /// Repeats the call with other arguments, and gives its results; `None` if it was recorded for arguments of other layouts. The list of arguments is empty then, so that
    /// tensors go which nobody else has.
    fn run<'py>(&self, arguments: &Bound<'py, PyList>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let py = arguments.py();
        let Some(mut rooms) = self.rooms(arguments)? else { return Ok(None) };
        let mut kept = vec![];
        for output in &self.outputs {
            let number = match output {
                Output::Number(_) => None,
                Output::Argument(number) => Some(*number),
                Output::View(view) => self.argument_of(view.memory),
            };
            kept.push(number.map(|number| arguments.get_item(number)).transpose()?);
        }
        arguments.call_method0(intern!(py, "clear"))?;
        let made = py.detach(|| self.repeat(&mut rooms))?;
        self.results(py, kept, made)
    }
}

impl Recording {
    /// The argument that a memory is named by.
    fn argument_of(&self, memory: usize) -> Option<usize> {
        match self.memories[memory].origin {
            Origin::Input { number, .. } => Some(number),
            Origin::Made(_) | Origin::Held(_) => None,
        }
    }

    /// The memories that are there when a call begins; none if its arguments are of other layouts.
    fn rooms(&self, arguments: &Bound<'_, PyList>) -> PyResult<Option<Vec<Option<Room>>>> {
        if arguments.len() != self.inputs.len() {
            return Ok(None);
        }
        let held = |memory: &Memory| match &memory.origin {
            Origin::Held(buffer) => Some(Room { buffer: buffer.clone(), first: 0 }),
            Origin::Input { .. } | Origin::Made(_) => None,
        };
        let mut rooms: Vec<Option<Room>> = self.memories.iter().map(held).collect();
        for (number, (argument, input)) in arguments.iter().zip(&self.inputs).enumerate() {
            let fits = match input {
                Input::Number(wanted) => argument.is_instance_of::<PyInt>() && argument.eq(wanted)?,
                Input::Tensor(tensor) => {
                    tensor.is_like(&argument)? && self.enter(number, tensor, &argument, &mut rooms)?
                }
            };
            if !fits {
                return Ok(None);
            }
        }
        Ok(Some(rooms))
    }

    /// Finds the memory of an argument; says whether it shares memory with others as it did.
    fn enter(
        &self,
        number: usize,
        tensor: &Tensor,
        argument: &Bound<'_, PyAny>,
        rooms: &mut [Option<Room>],
    ) -> PyResult<bool> {
        let Some((buffer, first)) = place_of(address(argument)?) else { return Ok(false) };
        if *buffer.owner() != self.device {
            return Ok(false);
        }
        if self.argument_of(tensor.memory) == Some(number) {
            rooms[tensor.memory] = Some(Room { buffer: buffer.whole().clone(), first });
            return Ok(true);
        }
        let Some(room) = &rooms[tensor.memory] else { return Ok(false) };
        let is_same = room.buffer.shares_memory_with(buffer.whole());
        Ok(is_same && first as i64 - room.first as i64 == tensor.behind)
    }

    /// Does all steps; gives the memories that results are in.
    fn repeat(&self, rooms: &mut [Option<Room>]) -> PyResult<Vec<(usize, Buffer)>> {
        let device = self.device.get()?;
        let (mut made, mut queued) = (vec![], Vec::with_capacity(self.together));
        for (step, ends) in self.steps.iter().zip(&self.ends) {
            match step {
                Step::Make { memory, bytes } => {
                    let buffer = if self.memories[*memory].is_result {
                        let buffer = Buffer::make(&self.device, *bytes)?;
                        made.push((*memory, buffer.clone()));
                        buffer.whole().clone()
                    } else {
                        device.allocate(Bytes::of(*bytes)).map_err(exception)?
                    };
                    rooms[*memory] = Some(Room { buffer, first: 0 });
                }
                Step::Launch { launch, places } => {
                    let launch = launch.get();
                    let memory = places.iter().map(|place| at(rooms, *place)).collect::<PyResult<Vec<_>>>()?;
                    queued.extend(launch.launch.command(&memory).map_err(exception)?);
                    if launch.waits {
                        submit(device, &mut queued)?;
                        Python::attach(|py| wait(py, device))?;
                    }
                }
                Step::Clear { at: place, bytes } => {
                    queued.push(Command::clear(&at(rooms, *place)?, 0, *bytes));
                }
                Step::Copy { from, to, bytes } => {
                    queued.push(Command::copy((&at(rooms, *from)?, 0), (&at(rooms, *to)?, 0), *bytes));
                }
                Step::Host { function, at: place } => {
                    submit(device, &mut queued)?;
                    let buffer = Buffer::of(&self.device, at(rooms, *place)?);
                    Python::attach(|py| function.call1(py, (buffer, 0)))?;
                }
            }
            if queued.len() >= self.together {
                submit(device, &mut queued)?;
            }
            for memory in ends {
                rooms[*memory] = None;
            }
        }
        submit(device, &mut queued)?;
        Ok(made)
    }

    /// The results, with the arguments that some of them are or lie in.
    fn results<'py>(
        &self,
        py: Python<'py>,
        kept: Vec<Option<Bound<'py, PyAny>>>,
        made: Vec<(usize, Buffer)>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let taken = py.import(intern!(py, "torch._C"))?.getattr(intern!(py, "_from_dlpack"))?;
        let mut whole: Vec<Option<(Bound<'py, PyAny>, &Layout)>> = self.memories.iter().map(|_| None).collect();
        for (memory, buffer) in made {
            if let Origin::Made(layout) = &self.memories[memory].origin {
                whole[memory] = Some((taken.call1((capsule(py, buffer, layout)?,))?, layout));
            }
        }
        let mut results = Vec::with_capacity(self.outputs.len());
        for (output, argument) in self.outputs.iter().zip(kept) {
            results.push(match (output, argument) {
                (Output::Number(number), _) => number.bind(py).clone(),
                (Output::Argument(_), Some(argument)) => argument,
                (Output::View(view), Some(argument)) => {
                    let first: i64 = argument.call_method0(intern!(py, "storage_offset"))?.extract()?;
                    view.taken(&argument, first)?
                }
                (Output::View(view), None) => match &whole[view.memory] {
                    Some((tensor, layout)) if view.offset == 0 && **layout == view.layout => tensor.clone(),
                    Some((tensor, _)) => view.taken(tensor, 0)?,
                    None => return Ok(None),
                },
                (Output::Argument(_), None) => return Ok(None),
            });
        }
        PyTuple::new(py, results).map(Some)
    }
}

/// Memory from a place on.
fn at(rooms: &[Option<Room>], place: Place) -> PyResult<runtime::Buffer> {
    let none = || crate::error::wrong("a recorded call uses memory that it does not have".to_owned(), None);
    let room = rooms[place.memory].as_ref().ok_or_else(none)?;
    let first = room.first.checked_add_signed(place.offset).ok_or_else(none)?;
    Ok(room.buffer.from_byte(first))
}

/// Queues commands.
fn submit(device: &runtime::Device, commands: &mut Vec<Command>) -> PyResult<()> {
    if commands.is_empty() {
        return Ok(());
    }
    let done = device.submit(commands).map_err(exception);
    commands.clear();
    done
}

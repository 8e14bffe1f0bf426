//! Launches of a Triton kernel that are the same but for their memory: all that does not change is looked at once.
//!
//! Invariant: what was compiled for memory that begins at multiples of 16 bytes, or that does not overlap, runs with no other memory.

use super::arguments::{Arg, Given};
use super::triton::{Specialised, TritonKernel, are_apart, is_aligned, singles};
use crate::error::Error;
use girih_ir::Scalar;
use girih_runtime::{self as runtime, Buffer, Command, Device};
use std::sync::{Arc, Mutex, PoisonError};

/// An argument of each launch.
pub enum Slot {
    /// The same one.
    Fixed(Arg<'static>),
    /// Memory of such elements, which each launch gives.
    Memory(Scalar),
    /// None.
    Absent,
}

/// A kernel with its grid and with all arguments but memory.
pub struct PreparedLaunch {
    kernel: Arc<TritonKernel>,
    device: Device,
    grid: [u32; 3],
    slots: Vec<Slot>,
    /// How many slots are memory.
    memories: usize,
    bound: Mutex<Vec<Arc<Bound>>>,
}

/// What was compiled for memory of one kind, with all that it is given.
struct Bound {
    /// For each memory whether it begins at a multiple of 16 bytes.
    aligned: Vec<bool>,
    apart: bool,
    specialised: Arc<Specialised>,
    values: Vec<Value>,
}

/// What a parameter of the compiled kernel is given.
enum Value {
    /// The memory of this number.
    Memory(usize),
    /// The same in each launch.
    Fixed(runtime::Argument),
}

impl PreparedLaunch {
    /// A launch of so many programs with a slot for each of the kernel's [parameters](TritonKernel::parameters), in order. Nothing is compiled yet.
    pub fn new(kernel: Arc<TritonKernel>, device: &Device, grid: [u32; 3], slots: Vec<Slot>) -> PreparedLaunch {
        let memories = slots.iter().filter(|slot| matches!(slot, Slot::Memory(_))).count();
        PreparedLaunch { kernel, device: device.clone(), grid, slots, memories, bound: Mutex::default() }
    }

    /// How many memories each launch gives.
    pub fn memories(&self) -> usize {
        self.memories
    }

    /// Compiles the kernel for memory that begins at multiples of 16 bytes and does not overlap, as most launches have it. A launch that comes meanwhile waits for it.
    ///
    /// # Errors
    /// What is wrong with the kernel or the arguments.
    pub fn compile(&self) -> Result<(), Error> {
        let given = self.slots.iter().map(|slot| match slot {
            Slot::Fixed(argument) => argument.again(),
            Slot::Absent => None,
            Slot::Memory(scalar) => Some(Arg(Given::Read(*scalar, &[]))),
        });
        self.kernel.specialised(&self.device, &singles(given.collect()), true).map(|_| ())
    }

    /// Runs the kernel behind all work so far, with memory for each slot of memory, in order. The work is queued, and what it fails with is told by the device's next wait. As in
    /// Triton, nothing runs where the grid has no programs.
    ///
    /// # Errors
    /// What is wrong with the kernel, the arguments, or the launch.
    pub fn launch(&self, memory: &[Buffer]) -> Result<(), Error> {
        let Some((command, bound)) = self.bound_command(memory)? else { return Ok(()) };
        self.device.submit(&[command]).map_err(|error| bound.specialised.report(error))
    }

    /// The same as a command, for whoever queues several at once; none where nothing runs.
    ///
    /// # Errors
    /// As [`launch`](Self::launch), but for what the device says.
    pub fn command(&self, memory: &[Buffer]) -> Result<Option<Command>, Error> {
        self.bound_command(memory).map(|made| made.map(|(command, _)| command))
    }

    fn bound_command(&self, memory: &[Buffer]) -> Result<Option<(Command, Arc<Bound>)>, Error> {
        if memory.len() != self.memories {
            let (given, wanted) = (memory.len(), self.memories);
            return Err(self.kernel.refused(&format!("the launch takes {wanted} memories, and is given {given}")));
        }
        if self.grid.contains(&0) {
            return Ok(None);
        }
        let bound = self.bound(memory)?;
        let value = |value: &Value| match value {
            Value::Memory(place) => runtime::Argument::buffer(&memory[*place]),
            Value::Fixed(argument) => argument.clone(),
        };
        let command = bound.specialised.command(self.grid, bound.values.iter().map(value).collect())?;
        Ok(Some((command, bound)))
    }

    /// What was compiled for such memory, or is compiled for it.
    fn bound(&self, memory: &[Buffer]) -> Result<Arc<Bound>, Error> {
        let apart = are_apart(memory.iter());
        let is_right = |bound: &&Arc<Bound>| {
            bound.apart == apart
                && memory.iter().zip(&bound.aligned).all(|(buffer, aligned)| is_aligned(buffer) == *aligned)
        };
        let lock = || self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bound) = lock().iter().find(is_right) {
            return Ok(bound.clone());
        }
        // Others launch meanwhile: compiling takes its time.
        let made = Arc::new(self.bind(memory, apart)?);
        lock().push(made.clone());
        Ok(made)
    }

    fn bind(&self, memory: &[Buffer], apart: bool) -> Result<Bound, Error> {
        let mut places = 0..;
        let mut given: Vec<(Option<Arg<'static>>, Option<usize>)> = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            given.push(match slot {
                Slot::Fixed(argument) => (argument.again(), None),
                Slot::Absent => (None, None),
                Slot::Memory(scalar) => {
                    let place = places.next();
                    (place.map(|place| Arg::of_elements(*scalar, memory[place].clone())), place)
                }
            });
        }
        let (arguments, places): (Vec<_>, Vec<_>) = given.into_iter().unzip();
        // Memory has no parts, so a slot that each launch gives is one argument.
        let arguments = singles(arguments);
        let specialised = self.kernel.specialised(&self.device, &arguments, apart)?;
        let value = |(argument, ty): (&usize, &girih_ir::Type)| {
            let single = &arguments[*argument];
            match places[single.slot] {
                Some(place) => Ok(Value::Memory(place)),
                None => self.kernel.in_place(single, *ty).map(Value::Fixed),
            }
        };
        let values = specialised.parameters().map(value).collect::<Result<_, _>>()?;
        Ok(Bound { aligned: memory.iter().map(is_aligned).collect(), apart, specialised, values })
    }
}

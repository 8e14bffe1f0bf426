//! Plans: the kernels of a graph on a device, with the memory between them. A plan is made once for each graph with its shapes.
//!
//! Invariant: values between kernels lie in one pool that belongs to the plan. Work of one stream is in order, so the next run may write it. What a run gives has memory of
//! its own, and so never changes.

use crate::device::Device;
use crate::error;
use crate::tensor::Tensor;
use crate::trace::Trace;
use girih_base::diag::Diagnostic;
use girih_runtime::{Argument, Buffer, Command, Dispatch, Grid, LoadOptions, Memory, Program};
use girih_tensor::Graph;
use girih_tensor::lower::{Lowered, Place, lower};
use girih_tensor::schedule::Fusion;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// Places in a pool begin at multiples of this many bytes, which suits every device.
const ALIGN: u64 = 256;

/// The plans of a device, by the text of their graphs.
#[derive(Default)]
pub(crate) struct Plans(Mutex<HashMap<String, Arc<Plan>>>);

impl Plans {
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
    /// The plan of a graph, which is compiled if there is none yet.
    pub fn of(&self, device: &Device, graph: &Graph) -> Result<Arc<Plan>, Diagnostic> {
        let key = graph.to_string();
        if let Some(plan) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(Plan::new(device, lower(graph, Fusion::Full)?)?);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, plan.clone());
        Ok(plan)
    }
}

/// Where a value lies.
enum Slot {
    /// In the plan's pool.
    Pooled(Buffer),
    /// In memory of its own, so many bytes.
    Own(u64),
}

/// A graph, ready to run.
pub(crate) struct Plan {
    launches: Vec<(Program, Vec<Place>, [u32; 3])>,
    slots: Vec<Slot>,
    outputs: Vec<Place>,
    /// Held while a run is queued: runs of several threads must not mix in the pool.
    queueing: Mutex<()>,
}

impl Plan {
    fn new(device: &Device, lowered: Lowered) -> Result<Plan, Diagnostic> {
        let kernels: Vec<_> = lowered.launches.iter().map(|launch| launch.kernel).collect();
        let programs = device
            .runtime()
            .load(&lowered.module, &kernels, &LoadOptions::default())
            .map_err(|mut found| found.swap_remove(0))?;
        let outputs: Vec<Place> = lowered.outputs.iter().map(|(place, _)| *place).collect();
        let slots = slots(device, &lowered.slots, &outputs)?;
        let launches = lowered.launches.into_iter().zip(programs);
        let launches = launches.map(|(launch, program)| (program, launch.arguments, launch.grid)).collect();
        Ok(Plan { launches, slots, outputs, queueing: Mutex::default() })
    }

    /// Computes the outputs.
    pub fn run(&self, device: &Device, inputs: &[Buffer]) -> Result<Vec<Buffer>, Diagnostic> {
        let runtime = device.runtime();
        let memory = |slot: &Slot| match slot {
            Slot::Pooled(buffer) => Ok(buffer.clone()),
            Slot::Own(bytes) => runtime.allocate(Memory::of(*bytes)),
        };
        let slots = self.slots.iter().map(memory).collect::<Result<Vec<_>, _>>()?;
        let place = |place: &Place| match place {
            Place::Input(i) => inputs[*i].clone(),
            Place::Slot(i) => slots[*i].clone(),
        };
        let command = |(program, arguments, grid): &(Program, Vec<Place>, [u32; 3])| {
            let arguments = arguments.iter().map(|at| Argument::Buffer(place(at))).collect();
            Command::Dispatch(Dispatch { program: program.clone(), arguments, grid: Grid::Workgroups(*grid) })
        };
        let commands: Vec<Command> = self.launches.iter().map(command).collect();
        let queueing = self.queueing.lock().unwrap_or_else(PoisonError::into_inner);
        runtime.submit(&commands)?;
        drop(queueing);
        Ok(self.outputs.iter().map(place).collect())
    }
}

/// Memory for slots: one pool for all that hold no output.
fn slots(device: &Device, sizes: &[u64], outputs: &[Place]) -> Result<Vec<Slot>, Diagnostic> {
    let is_own = |slot: usize| outputs.contains(&Place::Slot(slot));
    let mut pooled = 0;
    let mut offsets = vec![];
    for (slot, bytes) in sizes.iter().enumerate() {
        offsets.push(pooled);
        pooled += if is_own(slot) { 0 } else { bytes.next_multiple_of(ALIGN) };
    }
    let pool = device.runtime().allocate(Memory::of(pooled.max(ALIGN)))?;
    let slot = |(slot, bytes): (usize, &u64)| {
        if is_own(slot) { Slot::Own(*bytes) } else { Slot::Pooled(pool.slice(offsets[slot], *bytes)) }
    };
    Ok(sizes.iter().enumerate().map(slot).collect())
}

/// Computes tensors together.
///
/// # Errors
/// A mistake that one comes from, a limit of kernels, or what the device says.
#[track_caller]
pub(crate) fn realize(tensors: &[&Tensor]) -> Result<(), Diagnostic> {
    let place = Location::caller();
    let mut left: Vec<&Tensor> = vec![];
    for tensor in tensors.iter().copied().filter(|tensor| tensor.0.value.get().is_none()) {
        if !left.iter().any(|known| Arc::ptr_eq(&known.0, &tensor.0)) {
            left.push(tensor);
        }
    }
    let Some(first) = left.first() else { return Ok(()) };
    let device = first.device().clone();
    let mut trace = Trace::default();
    for tensor in &left {
        let id = trace.write(tensor, |tensor| tensor.0.value.get().is_some())?;
        trace.graph.outputs.push(id);
    }
    let inputs = trace.inputs.iter().map(|input| value(input)).collect::<Result<Vec<_>, _>>()?;
    let plan = device.plans().of(&device, &trace.graph).map_err(|limit| error::placed(limit, place))?;
    let values = plan.run(&device, &inputs)?;
    for (tensor, value) in left.iter().zip(values) {
        // Another thread may have computed it meanwhile: its elements are the same.
        let _ = tensor.0.value.set(value);
    }
    Ok(())
}

/// The elements of a tensor, computed if they were not.
#[track_caller]
pub(crate) fn value(tensor: &Tensor) -> Result<Buffer, Diagnostic> {
    if let Some(value) = tensor.0.value.get() {
        return Ok(value.clone());
    }
    realize(&[tensor])?;
    value(tensor)
}

//! Plans: the kernels of a graph on a device, with the memory between them. A plan is made once for each graph with its shapes.
//!
//! Invariant: values between kernels lie in one pool that all plans of a device share. Work of one stream is in order, so the next run may write it. What a run gives has memory of
//! its own, new or given by the caller, and so never changes. A device keeps the plans that were used last, and its pool is as large as its largest run asked for.

use crate::device::Device;
use crate::error;
use crate::tensor::Tensor;
use crate::trace::Trace;
use girih_base::diag::Diagnostic;
use girih_runtime::{Argument, Buffer, Command, Dispatch, Grid, LoadOptions, Memory, Program};
use girih_tensor::Graph;
use girih_tensor::lower::{Lowered, Place, lower_for};
use girih_tensor::schedule::Fusion;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places in a pool begin at multiples of this many bytes, which suits every device.
const ALIGN: u64 = 256;

/// How many plans a device keeps. A program that writes a number into each of its graphs makes a plan for each.
const MOST_PLANS: usize = 512;

/// The plans of a device, by the text of their graphs, and the memory that they share.
#[derive(Default)]
pub(crate) struct Plans {
    known: Mutex<Known>,
    /// Held while a run is queued: runs of several threads must not mix in the pool.
    pool: Mutex<Option<Buffer>>,
}

#[derive(Default)]
struct Known {
    /// Plans with the number of their last use.
    plans: HashMap<String, (Arc<Plan>, u64)>,
    uses: u64,
    compiled: usize,
}

impl Known {
    fn get(&mut self, key: &str) -> Option<Arc<Plan>> {
        self.uses += 1;
        let (plan, used) = self.plans.get_mut(key)?;
        *used = self.uses;
        Some(plan.clone())
    }
    /// Keeps a plan, and forgets the one whose last use is longest ago if there are too many.
    fn insert(&mut self, key: String, plan: Arc<Plan>) {
        self.compiled += 1;
        if self.plans.len() >= MOST_PLANS {
            let oldest = self.plans.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            oldest.and_then(|key| self.plans.remove(&key));
        }
        self.plans.insert(key, (plan, self.uses));
    }
}

impl Plans {
    /// How many were compiled.
    pub fn compiled(&self) -> usize {
        self.known().compiled
    }
    /// How many are kept.
    pub fn kept(&self) -> usize {
        self.known().plans.len()
    }
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The plan of a graph, which is compiled if there is none yet.
    pub fn of(&self, device: &Device, graph: &Graph) -> Result<Arc<Plan>, Diagnostic> {
        let key = graph.to_string();
        if let Some(plan) = self.known().get(&key) {
            return Ok(plan);
        }
        let plan = Arc::new(Plan::new(device, lower_for(graph, Fusion::Full, device.runtime().caps())?)?);
        self.known().insert(key, plan.clone());
        Ok(plan)
    }
}

/// Where a value lies.
enum Slot {
    /// In the pool, from a byte on, so many bytes.
    Pooled(u64, u64),
    /// In memory of its own, so many bytes.
    Own(u64),
}

/// A graph, ready to run on a device.
pub struct Plan {
    launches: Vec<(Program, Vec<Place>, [u32; 3])>,
    /// How many inputs the graph has.
    inputs: usize,
    slots: Vec<Slot>,
    outputs: Vec<Place>,
    /// How many bytes of the pool it needs.
    pooled: u64,
}

impl Plan {
    /// The plan of a graph. It is compiled if the device keeps none of the same text.
    ///
    /// # Errors
    /// If kernels lack an operation on a type, or what the device says.
    pub fn of(device: &Device, graph: &Graph) -> Result<Arc<Plan>, Diagnostic> {
        device.plans().of(device, graph)
    }
    /// How many kernels a run starts.
    pub fn launches(&self) -> usize {
        self.launches.len()
    }
    /// How many inputs a run takes.
    pub fn inputs(&self) -> usize {
        self.inputs
    }
    fn new(device: &Device, lowered: Lowered) -> Result<Plan, Diagnostic> {
        let kernels: Vec<_> = lowered.launches.iter().map(|launch| launch.kernel).collect();
        let programs = device
            .runtime()
            .load(&lowered.module, &kernels, &LoadOptions::default())
            .map_err(|mut found| found.swap_remove(0))?;
        let outputs: Vec<Place> = lowered.outputs.iter().map(|(place, _)| *place).collect();
        let (slots, pooled) = slots(&lowered.slots, &outputs);
        let inputs = lowered.inputs.len();
        let launches = lowered.launches.into_iter().zip(programs);
        let launches = launches.map(|(launch, program)| (program, launch.arguments, launch.grid)).collect();
        Ok(Plan { launches, inputs, slots, outputs, pooled })
    }

    /// Computes the outputs, in new memory; an output that is an input is its memory.
    ///
    /// # Errors
    /// If there are not as many inputs, or what the device says.
    pub fn run(&self, device: &Device, inputs: &[Buffer]) -> Result<Vec<Buffer>, Diagnostic> {
        let own = |slot: &Slot| match slot {
            Slot::Pooled(..) => Ok(None),
            Slot::Own(bytes) => device.runtime().allocate(Memory::of(*bytes)).map(Some),
        };
        let own = self.slots.iter().map(own).collect::<Result<Vec<_>, _>>()?;
        self.submit(device, inputs, &own, &[])?;
        let output = |place: &Place| match place {
            Place::Input(i) => Some(inputs[*i].clone()),
            Place::Slot(i) => own[*i].clone(),
        };
        Ok(self.outputs.iter().filter_map(output).collect())
    }

    /// Computes the outputs in memory that is given for each, in whole words of four bytes, and shared with no input and no other output.
    ///
    /// # Errors
    /// If there are not as many inputs or outputs, an output's memory is too small, or what the device says.
    pub fn run_into(&self, device: &Device, inputs: &[Buffer], outputs: &[Buffer]) -> Result<(), Diagnostic> {
        if outputs.len() != self.outputs.len() {
            let (given, needed) = (outputs.len(), self.outputs.len());
            return Err(error::data(format!("memory of {given} outputs is given, and the graph has {needed}")));
        }
        let mut own: Vec<Option<Buffer>> = vec![None; self.slots.len()];
        let mut copies = vec![];
        for (place, memory) in self.outputs.iter().zip(outputs) {
            let (from, bytes) = match place {
                Place::Input(i) => (inputs.get(*i).cloned(), memory.bytes()),
                Place::Slot(i) => match self.slots[*i] {
                    Slot::Own(bytes) | Slot::Pooled(_, bytes) => (own[*i].clone(), bytes),
                },
            };
            if memory.bytes() < bytes {
                let given = memory.bytes();
                return Err(error::data(format!("memory of {given} bytes is given for an output of {bytes}")));
            }
            match (from, place) {
                (Some(from), _) => copies.push(Command::copy((&from, 0), (memory, 0), bytes)),
                (None, Place::Slot(i)) => own[*i] = Some(memory.clone()),
                // Too few inputs are refused below.
                (None, Place::Input(_)) => {}
            }
        }
        self.submit(device, inputs, &own, &copies)
    }

    /// Starts all kernels, and copies after them. Slots that are not in the pool have the memory `own`.
    fn submit(
        &self,
        device: &Device,
        inputs: &[Buffer],
        own: &[Option<Buffer>],
        after: &[Command],
    ) -> Result<(), Diagnostic> {
        if inputs.len() != self.inputs {
            let (given, needed) = (inputs.len(), self.inputs);
            return Err(error::data(format!("{given} inputs are given, and the graph has {needed}")));
        }
        let runtime = device.runtime();
        let mut pool = device.plans().pool.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = match pool.take().filter(|pool| pool.bytes() >= self.pooled) {
            Some(large_enough) => large_enough,
            None => runtime.allocate(Memory::of(self.pooled))?,
        };
        let memory = |(slot, own): (&Slot, &Option<Buffer>)| match (slot, own) {
            (_, Some(own)) => own.clone(),
            (Slot::Pooled(from, bytes), None) => shared.slice(*from, *bytes),
            // No kernel writes an output of no elements.
            (Slot::Own(_), None) => shared.clone(),
        };
        let slots: Vec<Buffer> = self.slots.iter().zip(own).map(memory).collect();
        let place = |place: &Place| match place {
            Place::Input(i) => inputs[*i].clone(),
            Place::Slot(i) => slots[*i].clone(),
        };
        let command = |(program, arguments, grid): &(Program, Vec<Place>, [u32; 3])| {
            let arguments = arguments.iter().map(|at| Argument::Buffer(place(at))).collect();
            Command::Dispatch(Dispatch { program: program.clone(), arguments, grid: Grid::Workgroups(*grid) })
        };
        let commands: Vec<Command> = self.launches.iter().map(command).chain(after.iter().cloned()).collect();
        runtime.submit(&commands)?;
        *pool = Some(shared.clone());
        Ok(())
    }
}

/// Where slots lie: in the pool if they hold no output. Gives how many bytes of it they need, too.
fn slots(sizes: &[u64], outputs: &[Place]) -> (Vec<Slot>, u64) {
    let is_own = |slot: usize| outputs.contains(&Place::Slot(slot));
    let mut pooled = 0;
    let mut offsets = vec![];
    for (slot, bytes) in sizes.iter().enumerate() {
        offsets.push(pooled);
        pooled += if is_own(slot) { 0 } else { bytes.next_multiple_of(ALIGN) };
    }
    let slot = |(slot, bytes): (usize, &u64)| {
        if is_own(slot) { Slot::Own(*bytes) } else { Slot::Pooled(offsets[slot], *bytes) }
    };
    (sizes.iter().enumerate().map(slot).collect(), pooled.max(ALIGN))
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

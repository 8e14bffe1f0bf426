//! Sizes: what a kernel asks for, compared with what the device has.
//!
//! Invariant: nothing in a kernel that passes prevents its launch on the device.

use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_ir::attrs::Dim;
use girih_ir::{Caps, Feature, Function, Space, Type};

/// Checks a kernel as it was written.
pub(super) fn launch(kernel: &Function, caps: &Caps) -> Vec<Diagnostic> {
    let mut errors = vec![];
    let Some(launch) = &kernel.launch else { return errors };
    for (dim, (size, most)) in Dim::ALL.iter().zip(launch.workgroup.into_iter().zip(caps.workgroup)) {
        let what = format!("a workgroup of {size} in {}", dim.name());
        errors.extend(over(kernel, caps, u64::from(size), u64::from(most), &what, "write a smaller `workgroup`"));
    }
    errors.extend(invocations(kernel, caps, caps.invocations));
    let buffers = kernel.params.iter().filter(|p| kernel.ty(**p) == Type::Memory(Space::Global)).count() as u64;
    let what = format!("{buffers} buffers");
    errors.extend(over(
        kernel,
        caps,
        buffers,
        u64::from(caps.buffers),
        &what,
        "combine several arrays into one buffer",
    ));
    errors
}

/// Checks a kernel in tile form: its invocations are laid along the first dimension.
pub(crate) fn program(kernel: &Function, caps: &Caps) -> Option<Diagnostic> {
    invocations(kernel, caps, caps.invocations.min(caps.workgroup[0]))
}

fn invocations(kernel: &Function, caps: &Caps, most: u32) -> Option<Diagnostic> {
    let invocations = kernel.launch.as_ref()?.workgroup.iter().map(|n| u64::from(*n)).product();
    let what = format!("a workgroup of {invocations} invocations");
    over(kernel, caps, invocations, most.into(), &what, "write a smaller `workgroup`")
}

/// Checks a legal kernel: repacked memories and split parameters may be larger.
pub(super) fn memory(kernel: &Function, caps: &Caps) -> Vec<Diagnostic> {
    let parameters = kernel.params.iter().map(|p| u64::from(kernel.ty(*p).bytes())).sum();
    let what = format!("parameters of {parameters} bytes");
    let most = u64::from(caps.parameter_bytes);
    let mut errors: Vec<Diagnostic> =
        over(kernel, caps, parameters, most, &what, "pass numbers in a buffer").into_iter().collect();
    let shared = shared_bytes(kernel);
    let what = format!("{shared} bytes of shared memory");
    let most = if caps.has(Feature::DynamicShared) {
        caps.shared_bytes.max(caps.dynamic_shared_bytes)
    } else {
        caps.shared_bytes
    };
    errors.extend(over(kernel, caps, shared, u64::from(most), &what, "make the shared arrays smaller"));
    errors
}

/// Bytes of the shared memories of known length, each aligned; of a group that overlaps the largest.
fn shared_bytes(kernel: &Function) -> u64 {
    let mut total = 0;
    let mut groups: FastMap<u32, u64> = FastMap::default();
    for memory in kernel.memories.iter().filter(|m| m.space == Space::Shared) {
        let length = kernel.as_constant(memory.length).unwrap_or(0);
        let align = u64::from(memory.align.max(1));
        let bytes = (length * u64::from(memory.element.bytes())).next_multiple_of(align);
        if memory.group == 0 {
            total += bytes;
        } else {
            let largest = groups.entry(memory.group).or_default();
            *largest = bytes.max(*largest);
        }
    }
    total + groups.values().sum::<u64>()
}

fn over(kernel: &Function, caps: &Caps, asked: u64, most: u64, what: &str, hint: &str) -> Option<Diagnostic> {
    (asked > most).then(|| {
        let message = format!("kernel `@{}` has {what}, but `{}` allows {most}", kernel.name, caps.name);
        Diagnostic::new(Code::OverLimit, kernel.span, message).hint(hint)
    })
}

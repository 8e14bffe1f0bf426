//! What native code does well: whole numbers and floats of 32 and 64 bits, memory as bytes, calls. Subgroups of one invocation: several are
//! made of barriers.

use girih_ir::caps::SubgroupWidths;
use girih_ir::{Caps, Feature, Scalar, ScalarSet};

/// Bytes of shared memory of a workgroup: it stays in the second cache.
const SHARED: u32 = 256 << 10;

/// What a processor has, which may have a product and sum that is rounded once.
pub fn caps(fused_fma: bool) -> Caps {
    let features = [
        Feature::Atomic64,
        Feature::AtomicFloat,
        Feature::OrderedAtomics,
        Feature::ExactDivision,
        Feature::ExactConversions,
        Feature::RoundedConversions,
        Feature::MulHi,
        Feature::StrictFloats,
        Feature::Denormals,
        Feature::Calls,
        Feature::DynamicShared,
        Feature::Index64,
        // A thread that has begun a workgroup ends it, and the system runs all threads.
        Feature::ForwardProgress,
    ];
    let words = ScalarSet::WORDS.or(ScalarSet::WIDE);
    let arithmetic = words.or(ScalarSet::BOOL).or(ScalarSet::of(&[Scalar::F32, Scalar::F64]));
    let mut caps = Caps::web();
    caps.name = "cpu".into();
    caps.arithmetic = arithmetic;
    caps.storage = ScalarSet::STORED;
    caps.local_storage = ScalarSet::STORED;
    caps.vector_lanes = 16;
    caps.local_views = true;
    caps.subgroup = SubgroupWidths { min: 1, max: 1 };
    caps.buffer_views = true;
    caps.buffers = 256;
    caps.binding_bytes = 1 << 46;
    caps.buffer_bytes = 1 << 46;
    caps.shared_bytes = SHARED;
    caps.dynamic_shared_bytes = SHARED;
    caps.invocations = 1024;
    caps.workgroup = [1024; 3];
    // The number of workgroups fits 64 bits.
    caps.grid = [u32::MAX, 65_535, 65_535];
    caps.parameter_bytes = 4 << 10;
    let caps = features.into_iter().fold(caps, Caps::with);
    if fused_fma { caps.with(Feature::FusedFma) } else { caps }
}

//! What a device has and requires: the input of legalisation.
//!
//! A code generator gets only kernels that are legal for its [`Caps`]: `girih_lower::legalise` rewrites the
//! rest or refuses it by name.

use super::attrs::Precision;
use super::types::{MatrixShape, Scalar, ScalarSet};

macro_rules! features {
    ($($variant:ident $name:literal $doc:literal;)*) => {
        /// Something that a device has or lacks and that an operation may need.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Feature { $(#[doc = $doc] $variant,)* }

        impl Feature {
            /// All features.
            pub const ALL: &[Feature] = &[$(Feature::$variant,)*];
            /// The printed name.
            pub const fn name(self) -> &'static str {
                match self { $(Feature::$variant => $name,)* }
            }
            /// What it is, in a few words.
            pub const fn doc(self) -> &'static str {
                match self { $(Feature::$variant => $doc,)* }
            }
        }
    };
}

features! {
    Subgroups "subgroups" "ballot, shuffles, reductions and scans over a subgroup; otherwise emulated";
    Atomic64 "atomic64" "atomic operations on 64-bit integers";
    Atomic16 "atomic16" "loads, stores and compare-exchanges of 16 bits in one step; otherwise of the word around them";
    OrderedAtomics "ordered_atomics" "atomics and fences that are stronger than relaxed, at device scope";
    FusedFma "fused_fma" "a native `fma` that rounds once; otherwise emulated";
    ExactDivision "exact_division" "native `f32` division and square root that round correctly; otherwise emulated";
    ExactConversions "exact_conversions" "float to integer saturates and NaN gives 0 natively; otherwise guarded";
    RoundedConversions "rounded_conversions" "a number rounded to `f16` stays rounded when it is converted back; otherwise it is rounded beforehand";
    TotalDivision "total_division" "integer division by zero is defined as the IR says; otherwise guarded";
    SignedRemainder "signed_remainder" "remainders of negative integers natively; otherwise from quotients, since SPIR-V and HLSL leave them undefined";
    MulHi "mulhi" "the upper half of 32-bit products natively; otherwise rewritten";
    StrictFloats "strict_floats" "float operations are neither contracted nor reordered";
    Denormals "denormals" "denormal `f32` numbers are kept";
    Calls "calls" "functions are called; otherwise all are inlined";
    AsyncCopy "async_copy" "copies from buffers to shared memory that run beside the program (`cp.async`)";
    Mbarrier "mbarrier" "barriers in shared memory with phases (`mbarrier`)";
    Wgmma "wgmma" "warpgroup matrix products on shared memory (`wgmma`)";
    DynamicShared "dynamic_shared" "shared memory whose size is chosen at launch";
    CooperativeLaunch "cooperative_launch" "launches whose workgroups all run at once";
    Index64 "index64" "64-bit indices into buffers";
    NativeMath "native_math" "`.approx` operations that keep their bounds for all arguments, infinities and NaN included; elsewhere those that are `total` are computed exactly";
    ForwardProgress "forward_progress" "other workgroups that run at the same time make progress while one of them waits in a loop";
    Vectors "vectors" "arithmetic on vectors of four 32-bit numbers, and programs in tile form as loops over these; otherwise lane by lane";
    Gemm "gemm" "products of matrices in memory, by one invocation (`gemm`)";
}

/// A matrix product that a device has for fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CoopProduct {
    /// Its shape.
    pub shape: MatrixShape,
    /// The factors' element.
    pub factor: Scalar,
    /// The accumulator's element.
    pub acc: Scalar,
    /// How exactly it takes the factors.
    pub precision: Precision,
}

/// The widths that a subgroup may have: equal on devices where the width is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubgroupWidths {
    /// Smallest.
    pub min: u32,
    /// Largest.
    pub max: u32,
}

/// What a device has and wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The profile's name, for messages and cache keys.
    pub name: String,
    features: u64,
    /// Scalars that have native arithmetic. `bool`, `i32`, `u32` and `f32` always do.
    pub arithmetic: ScalarSet,
    /// Short floats that the device converts from and to `f32` itself, whether it computes with them or not.
    pub conversions: ScalarSet,
    /// Floats that the device adds in one step; others are added by compare-exchanges.
    pub atomic_floats: ScalarSet,
    /// Scalars that a buffer can be read and written as. `u32` always is; others go through words.
    pub storage: ScalarSet,
    /// Scalars that shared and private memory can hold.
    pub local_storage: ScalarSet,
    /// Largest access, in bytes: 4, 8 or 16.
    pub access_bytes: u32,
    /// Most lanes of an access: a vector of 8 or 16 bytes may have more than the device's own vectors do.
    pub vector_lanes: u32,
    /// Whether memory is bytes: shared and private memory is accessed as vectors too, and vectors may be of scalars that are
    /// stored only.
    pub local_views: bool,
    /// Widths of subgroups, native or emulated.
    pub subgroup: SubgroupWidths,
    /// Whether unrolling stays undone, because compile time grows with the number of memory operations.
    pub rolled: bool,
    /// Whether one buffer may be bound under several views in a launch.
    pub buffer_views: bool,
    /// Buffers (bindings, views counted) a kernel can have.
    pub buffers: u32,
    /// Bytes that one binding reaches.
    pub binding_bytes: u64,
    /// Bytes of one buffer.
    pub buffer_bytes: u64,
    /// Bytes of shared memory of a workgroup, fixed allocations.
    pub shared_bytes: u32,
    /// Bytes of shared memory of a workgroup when asked for at launch.
    pub dynamic_shared_bytes: u32,
    /// Invocations of a workgroup.
    pub invocations: u32,
    /// Largest workgroup in each dimension.
    pub workgroup: [u32; 3],
    /// Largest grid in each dimension.
    pub grid: [u32; 3],
    /// Bytes of scalar parameters.
    pub parameter_bytes: u32,
    /// Matrix products for fragments.
    pub coop: Vec<CoopProduct>,
}

impl Caps {
    /// What every device has, WebGPU's defaults: the portable floor from which others are made.
    pub fn web() -> Caps {
        let words = ScalarSet::WORDS.or(ScalarSet::of(&[Scalar::F32]));
        Caps {
            name: "web".into(),
            // Every shading language has functions.
            features: 1 << Feature::Calls as u32,
            arithmetic: words.or(ScalarSet::BOOL),
            conversions: ScalarSet::NONE,
            atomic_floats: ScalarSet::NONE,
            storage: words,
            local_storage: words,
            access_bytes: 16,
            vector_lanes: 4,
            local_views: false,
            subgroup: SubgroupWidths { min: 1, max: 32 },
            rolled: false,
            buffer_views: false,
            buffers: 8,
            binding_bytes: 128 << 20,
            buffer_bytes: 256 << 20,
            shared_bytes: 16 << 10,
            dynamic_shared_bytes: 0,
            invocations: 256,
            workgroup: [256, 256, 64],
            grid: [65_535; 3],
            parameter_bytes: 16 << 10,
            coop: vec![],
        }
    }

    /// WebGPU's defaults and all that browsers offer beyond them that kernels can use: `f16`, subgroups.
    pub fn web_extended() -> Caps {
        let mut caps = Caps::web().with(Feature::Subgroups);
        let half = ScalarSet::of(&[Scalar::F16]);
        caps.name = "web-extended".into();
        caps.arithmetic = caps.arithmetic.or(half);
        caps.storage = caps.storage.or(half);
        caps.local_storage = caps.local_storage.or(half);
        caps.subgroup = SubgroupWidths { min: 4, max: 128 };
        caps
    }

    /// Everything, without limits that matter: the interpreter's own, so that nothing is rewritten before it.
    pub fn everything() -> Caps {
        Caps {
            name: "interpreter".into(),
            features: u64::MAX,
            arithmetic: ScalarSet::ALL,
            conversions: ScalarSet::STORED,
            atomic_floats: ScalarSet::FLOATS,
            storage: ScalarSet::STORED,
            local_storage: ScalarSet::STORED,
            access_bytes: 16,
            vector_lanes: 16,
            local_views: true,
            subgroup: SubgroupWidths { min: 1, max: 64 },
            rolled: true,
            buffer_views: true,
            buffers: 64,
            binding_bytes: 1 << 40,
            buffer_bytes: 1 << 40,
            shared_bytes: 256 << 10,
            dynamic_shared_bytes: 256 << 10,
            invocations: 1024,
            workgroup: [1024, 1024, 64],
            grid: [u32::MAX, 65_535, 65_535],
            parameter_bytes: 4 << 10,
            coop: vec![],
        }
    }

    /// A card of compute capability `sm` (75, 80, 90, ..), driven by PTX. `own` says whether its architecture's own
    /// instructions may be used (`sm_90a`), which no other runs.
    pub fn cuda(sm: u32, own: bool) -> Caps {
        let common = [
            Feature::Subgroups,
            Feature::Atomic64,
            Feature::Atomic16,
            Feature::OrderedAtomics,
            Feature::FusedFma,
            Feature::ExactDivision,
            Feature::ExactConversions,
            Feature::RoundedConversions,
            Feature::SignedRemainder,
            Feature::MulHi,
            Feature::StrictFloats,
            Feature::Denormals,
            Feature::Calls,
            Feature::DynamicShared,
            Feature::CooperativeLaunch,
            Feature::Index64,
            Feature::NativeMath,
            Feature::ForwardProgress,
        ];
        let ampere: &[Feature] = if sm >= 80 { &[Feature::AsyncCopy, Feature::Mbarrier] } else { &[] };
        let hopper: &[Feature] = if sm == 90 && own { &[Feature::Wgmma] } else { &[] };
        let features = common.iter().chain(ampere).chain(hopper);
        let narrow = [Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16];
        let arithmetic = ScalarSet::ALL.without(ScalarSet::of(&narrow)).without(ScalarSet::FLOATS8);
        let short = ScalarSet::of(&[Scalar::F16, Scalar::Bf16]);
        let conversions = match sm {
            ..80 => ScalarSet::of(&[Scalar::F16]),
            80..89 => short,
            89.. => short.or(ScalarSet::FLOATS8),
        };
        // Arithmetic on `bf16` came with Hopper.
        let missing = if sm >= 90 { ScalarSet::NONE } else { ScalarSet::of(&[Scalar::Bf16]) };
        Caps {
            name: format!("sm_{sm}{}", if own { "a" } else { "" }),
            features: features.fold(0, |bits, f| bits | 1 << *f as u32),
            arithmetic: arithmetic.without(missing),
            conversions,
            atomic_floats: ScalarSet::FLOATS.without(missing),
            storage: ScalarSet::STORED,
            local_storage: ScalarSet::STORED,
            access_bytes: 16,
            vector_lanes: 16,
            local_views: true,
            subgroup: SubgroupWidths { min: 32, max: 32 },
            rolled: false,
            buffer_views: true,
            buffers: 256,
            binding_bytes: 1 << 46,
            buffer_bytes: 1 << 46,
            // Arrays beyond 48 KiB are asked for at launch by the device itself.
            shared_bytes: dynamic_shared(sm),
            dynamic_shared_bytes: dynamic_shared(sm),
            invocations: 1024,
            workgroup: [1024, 1024, 64],
            grid: [i32::MAX as u32, 65_535, 65_535],
            parameter_bytes: 4 << 10,
            coop: tensor_products(sm),
        }
    }

    /// What native code does well on any processor: whole numbers and floats of 32 and 64 bits, memory as bytes, calls. Subgroups have one invocation:
    /// several are made of barriers. `fused_fma` says whether the processor has a product and sum that is rounded once.
    pub fn cpu(fused_fma: bool) -> Caps {
        let features = [
            Feature::Atomic64,
            Feature::Atomic16,
            Feature::OrderedAtomics,
            Feature::ExactDivision,
            Feature::ExactConversions,
            Feature::RoundedConversions,
            Feature::SignedRemainder,
            Feature::MulHi,
            Feature::StrictFloats,
            Feature::Denormals,
            Feature::Calls,
            Feature::DynamicShared,
            Feature::Index64,
            // A thread that has begun a workgroup ends it, and the system runs all threads.
            Feature::ForwardProgress,
            Feature::Gemm,
        ];
        let words = ScalarSet::WORDS.or(ScalarSet::WIDE);
        let arithmetic = words.or(ScalarSet::BOOL).or(ScalarSet::of(&[Scalar::F32, Scalar::F64]));
        let mut caps = Caps::web();
        caps.name = "cpu".into();
        caps.arithmetic = arithmetic;
        caps.atomic_floats = ScalarSet::of(&[Scalar::F32]);
        caps.storage = ScalarSet::STORED;
        caps.local_storage = ScalarSet::STORED;
        caps.vector_lanes = 16;
        caps.local_views = true;
        caps.subgroup = SubgroupWidths { min: 1, max: 1 };
        caps.buffer_views = true;
        caps.buffers = 256;
        caps.binding_bytes = 1 << 46;
        caps.buffer_bytes = 1 << 46;
        caps.shared_bytes = PROCESSOR_SHARED;
        caps.dynamic_shared_bytes = PROCESSOR_SHARED;
        caps.invocations = 1024;
        caps.workgroup = [1024; 3];
        // The number of workgroups fits 64 bits.
        caps.grid = [u32::MAX, 65_535, 65_535];
        caps.parameter_bytes = 4 << 10;
        let caps = features.into_iter().fold(caps, Caps::with);
        if fused_fma { caps.with(Feature::FusedFma) } else { caps }
    }

    /// Whether the device has a feature.
    pub const fn has(&self, feature: Feature) -> bool {
        self.features >> feature as u32 & 1 == 1
    }

    /// The same with a feature.
    pub fn with(mut self, feature: Feature) -> Caps {
        self.features |= 1 << feature as u32;
        self
    }

    /// The same without a feature.
    pub fn without(mut self, feature: Feature) -> Caps {
        self.features &= !(1 << feature as u32);
        self
    }

    /// What both have: limits are the smaller ones. Used to hold a device to a profile (`--caps web`).
    pub fn within(&self, profile: &Caps) -> Caps {
        let set = |a: ScalarSet, b: ScalarSet| a.without(a.without(b));
        let three = |a: [u32; 3], b: [u32; 3]| [a[0].min(b[0]), a[1].min(b[1]), a[2].min(b[2])];
        let natural = ["strict_floats", "denormals", "fused_fma", "exact_division"];
        // What is a property of the hardware's rounding is kept: a profile cannot take it away.
        let kept = Feature::ALL.iter().filter(|f| natural.contains(&f.name())).fold(0, |bits, f| bits | 1 << *f as u32);
        Caps {
            name: format!("{}-{}", self.name, profile.name),
            features: self.features & (profile.features | kept),
            arithmetic: set(self.arithmetic, profile.arithmetic),
            conversions: set(self.conversions, profile.conversions),
            atomic_floats: set(self.atomic_floats, profile.atomic_floats),
            storage: set(self.storage, profile.storage),
            local_storage: set(self.local_storage, profile.local_storage),
            access_bytes: self.access_bytes.min(profile.access_bytes),
            vector_lanes: self.vector_lanes.min(profile.vector_lanes),
            local_views: self.local_views && profile.local_views,
            subgroup: if profile.has(Feature::Subgroups) { self.subgroup } else { profile.subgroup },
            rolled: self.rolled || profile.rolled,
            buffer_views: self.buffer_views && profile.buffer_views,
            buffers: self.buffers.min(profile.buffers),
            binding_bytes: self.binding_bytes.min(profile.binding_bytes),
            buffer_bytes: self.buffer_bytes.min(profile.buffer_bytes),
            shared_bytes: self.shared_bytes.min(profile.shared_bytes),
            dynamic_shared_bytes: self.dynamic_shared_bytes.min(profile.dynamic_shared_bytes),
            invocations: self.invocations.min(profile.invocations),
            workgroup: three(self.workgroup, profile.workgroup),
            grid: three(self.grid, profile.grid),
            parameter_bytes: self.parameter_bytes.min(profile.parameter_bytes),
            coop: self.coop.iter().filter(|c| profile.coop.contains(c)).copied().collect(),
        }
    }
}

/// Bytes of shared memory of a workgroup on a processor: it stays in the second cache.
const PROCESSOR_SHARED: u32 = 1 << 20;

/// Bytes of shared memory that a workgroup can ask for at launch, by compute capability.
const fn dynamic_shared(sm: u32) -> u32 {
    let kib = match sm {
        0..=74 => 48,
        75..=79 => 64,
        86 | 89 | 120.. => 99,
        80..=88 => 163,
        90..=119 => 227,
    };
    kib << 10
}

/// Matrix products of fragments (`wmma`) by compute capability: halves everywhere, the others as they came.
fn tensor_products(sm: u32) -> Vec<CoopProduct> {
    let sizes = [(16, 16, 16), (32, 8, 16), (8, 32, 16)];
    let mut found = vec![];
    let mut all = |factor, acc, sizes: &[(u16, u16, u16)]| {
        let precisions: &[Precision] =
            if factor == Scalar::F32 { &[Precision::Tf32, Precision::Tf32x3] } else { &[Precision::Ieee] };
        found.extend(sizes.iter().flat_map(|(m, n, k)| {
            let shape = MatrixShape { m: *m, n: *n, k: *k };
            precisions.iter().map(move |precision| CoopProduct { shape, factor, acc, precision: *precision })
        }));
    };
    all(Scalar::F16, Scalar::F32, &sizes);
    all(Scalar::F16, Scalar::F16, &sizes);
    all(Scalar::I8, Scalar::I32, &sizes);
    all(Scalar::U8, Scalar::I32, &sizes);
    if sm >= 80 {
        all(Scalar::Bf16, Scalar::F32, &sizes);
        all(Scalar::F64, Scalar::F64, &[(8, 8, 4)]);
        all(Scalar::F32, Scalar::F32, &[(16, 16, 8)]);
    }
    found
}

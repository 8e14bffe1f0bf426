//! What an adapter has, in the terms of the IR; and what is asked of wgpu for it.
//!
//! Invariant: a device is created with exactly the features and limits that its [`Caps`] speak of, so that a profile is held to by
//! wgpu, too. What a device needs beside them (timestamps, a pipeline cache, passthrough of SPIR-V) is asked for where it is offered.

use girih_ir::attrs::Precision;
use girih_ir::caps::{CoopProduct, SubgroupWidths};
use girih_ir::types::MatrixShape;
use girih_ir::{Caps, Feature, Scalar, ScalarSet};
use wgpu::Features as F;

/// What an adapter says about itself.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Name, driver, interface.
    pub info: wgpu::AdapterInfo,
    /// Features.
    pub features: F,
    /// Limits.
    pub limits: wgpu::Limits,
    /// Fragments.
    pub coop: Vec<CoopProduct>,
}

/// The vendor's number in Vulkan.
const NVIDIA: u32 = 0x10de;

/// Features that the device uses for itself.
const OWN: [F; 4] = [F::TIMESTAMP_QUERY, F::TIMESTAMP_QUERY_INSIDE_ENCODERS, F::PIPELINE_CACHE, F::PASSTHROUGH_SHADERS];

impl Offer {
    /// Asks an adapter.
    pub fn of(adapter: &wgpu::Adapter) -> Offer {
        let coop = adapter.cooperative_matrix_properties().iter().filter_map(product).collect();
        Offer { info: adapter.get_info(), features: adapter.features(), limits: adapter.limits(), coop }
    }

    /// Whether it computes on the CPU.
    pub fn is_software(&self) -> bool {
        self.info.device_type == wgpu::DeviceType::Cpu
    }
    fn is(&self, backend: wgpu::Backend) -> bool {
        self.info.backend == backend
    }
    fn strict(&self) -> bool {
        self.is(wgpu::Backend::Vulkan) && self.features.contains(F::PASSTHROUGH_SHADERS)
    }

    /// What kernels can use.
    pub fn caps(&self) -> Caps {
        let l = &self.limits;
        let mut caps = Caps::web();
        caps.name = format!("{}", self.info.backend);
        caps.arithmetic = self.scalars();
        if self.features.contains(F::SHADER_FLOAT32_ATOMIC) {
            caps.atomic_floats = ScalarSet::of(&[Scalar::F32]);
        }
        caps.storage = self.scalars().without(ScalarSet::BOOL);
        caps.local_storage = self.scalars().without(ScalarSet::BOOL);
        caps.subgroup = SubgroupWidths { min: self.info.subgroup_min_size.max(1), max: self.info.subgroup_max_size };
        caps.rolled = self.is_software();
        caps.buffer_views = !self.is(wgpu::Backend::BrowserWebGpu);
        caps.buffers = l.max_storage_buffers_per_shader_stage.min(l.max_bindings_per_bind_group.saturating_sub(1));
        caps.binding_bytes = l.max_storage_buffer_binding_size & !15;
        caps.buffer_bytes = l.max_buffer_size & !15;
        caps.shared_bytes = l.max_compute_workgroup_storage_size;
        caps.invocations = l.max_compute_invocations_per_workgroup;
        caps.workgroup =
            [l.max_compute_workgroup_size_x, l.max_compute_workgroup_size_y, l.max_compute_workgroup_size_z];
        caps.grid = [l.max_compute_workgroups_per_dimension; 3];
        caps.parameter_bytes = u32::try_from(l.max_uniform_buffer_binding_size).unwrap_or(u32::MAX).min(64 << 10);
        caps.coop = self.coop.clone();
        if self.is_software() {
            caps.name.push_str("-software");
        }
        for (feature, present) in self.abilities() {
            caps = if present { caps.with(feature) } else { caps.without(feature) };
        }
        caps
    }

    fn scalars(&self) -> ScalarSet {
        let has = |f| self.features.contains(f);
        let mut set = ScalarSet::WORDS.or(ScalarSet::of(&[Scalar::Bool, Scalar::F32]));
        if has(F::SHADER_F16) {
            set = set.or(ScalarSet::of(&[Scalar::F16]));
        }
        if has(F::SHADER_INT64) {
            set = set.or(ScalarSet::WIDE);
            // Doubles go through memory as 64-bit integers.
            if has(F::SHADER_F64) {
                set = set.or(ScalarSet::of(&[Scalar::F64]));
            }
        }
        set
    }

    /// Each feature, and whether it is there.
    fn abilities(&self) -> Vec<(Feature, bool)> {
        let present = |feature| match feature {
            Feature::Subgroups => self.features.contains(F::SUBGROUP),
            Feature::Atomic64 => self.features.contains(F::SHADER_INT64 | F::SHADER_INT64_ATOMIC_ALL_OPS),
            // Software adapters multiply and add in two steps, and Direct3D promises nothing.
            Feature::FusedFma => {
                !self.is_software() && (self.is(wgpu::Backend::Vulkan) || self.is(wgpu::Backend::Metal))
            }
            Feature::StrictFloats => self.strict(),
            // NVIDIA's driver has for them what its cards have, as under CUDA; of others nothing is known.
            Feature::NativeMath => self.is(wgpu::Backend::Vulkan) && self.info.vendor == NVIDIA && !self.is_software(),
            Feature::Calls => true,
            Feature::OrderedAtomics
            | Feature::Atomic16
            | Feature::ExactDivision
            | Feature::ExactConversions
            | Feature::RoundedConversions
            | Feature::TotalDivision
            | Feature::SignedRemainder
            | Feature::MulHi
            | Feature::Denormals
            | Feature::AsyncCopy
            | Feature::Mbarrier
            | Feature::Wgmma
            | Feature::DynamicShared
            | Feature::CooperativeLaunch
            | Feature::Index64
            | Feature::ForwardProgress
            | Feature::Vectors
            | Feature::Gemm => false,
        };
        Feature::ALL.iter().map(|f| (*f, present(*f))).collect()
    }

    /// The features to ask for, so that a device has these capabilities and no more.
    pub fn features_for(&self, caps: &Caps) -> F {
        let wanted = [
            (F::SUBGROUP, caps.has(Feature::Subgroups)),
            (F::SHADER_F16, caps.arithmetic.has(Scalar::F16)),
            (F::SHADER_INT64, caps.arithmetic.has(Scalar::U64)),
            (F::SHADER_F64, caps.arithmetic.has(Scalar::F64)),
            (F::SHADER_INT64_ATOMIC_ALL_OPS, caps.has(Feature::Atomic64)),
            (F::SHADER_INT64_ATOMIC_MIN_MAX, caps.has(Feature::Atomic64)),
            (F::SHADER_FLOAT32_ATOMIC, caps.atomic_floats.has(Scalar::F32)),
            (F::EXPERIMENTAL_COOPERATIVE_MATRIX, !caps.coop.is_empty()),
        ];
        let asked = wanted.iter().filter(|(_, wanted)| *wanted).map(|(f, _)| *f);
        asked.chain(OWN).fold(F::empty(), |all, f| all | f) & self.features
    }

    /// The limits to ask for.
    pub fn limits_for(&self, caps: &Caps) -> wgpu::Limits {
        let own = &self.limits;
        wgpu::Limits {
            max_storage_buffers_per_shader_stage: own.max_storage_buffers_per_shader_stage.min(caps.buffers),
            max_storage_buffer_binding_size: own.max_storage_buffer_binding_size.min(caps.binding_bytes),
            max_buffer_size: own.max_buffer_size.min(caps.buffer_bytes),
            max_compute_workgroup_storage_size: own.max_compute_workgroup_storage_size.min(caps.shared_bytes),
            max_compute_invocations_per_workgroup: own.max_compute_invocations_per_workgroup.min(caps.invocations),
            max_compute_workgroup_size_x: own.max_compute_workgroup_size_x.min(caps.workgroup[0]),
            max_compute_workgroup_size_y: own.max_compute_workgroup_size_y.min(caps.workgroup[1]),
            max_compute_workgroup_size_z: own.max_compute_workgroup_size_z.min(caps.workgroup[2]),
            max_compute_workgroups_per_dimension: caps
                .grid
                .iter()
                .copied()
                .fold(own.max_compute_workgroups_per_dimension, u32::min),
            max_uniform_buffer_binding_size: own.max_uniform_buffer_binding_size.min(caps.parameter_bytes.into()),
            ..own.clone()
        }
    }
}

fn product(p: &wgpu::CooperativeMatrixProperties) -> Option<CoopProduct> {
    let scalar = |s| match s {
        wgpu::CooperativeScalarType::F16 => Some(Scalar::F16),
        wgpu::CooperativeScalarType::F32 => Some(Scalar::F32),
        _ => None,
    };
    let side = |n: u32| u16::try_from(n).ok().filter(|n| matches!(n, 8 | 16));
    let shape = MatrixShape { m: side(p.m_size)?, n: side(p.n_size)?, k: side(p.k_size)? };
    if p.saturating_accumulation {
        return None;
    }
    Some(CoopProduct { shape, factor: scalar(p.ab_type)?, acc: scalar(p.cr_type)?, precision: Precision::Ieee })
}

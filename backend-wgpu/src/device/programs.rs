//! Programs: legal kernels become pipelines.

use super::errors::Health;
use crate::emit::{self, Guards};
use crate::shader::layout::Layout;
use crate::shader::{Kernel, Options, Shader, render_module};
use girih_base::diag::Diagnostic;
use girih_ir::{Caps, Feature};
use girih_lower::{Compiled, Entry, Origin};
use naga::valid::ModuleInfo;
use std::borrow::Cow;
use std::sync::Arc;

/// A kernel that can be launched.
#[derive(Debug)]
pub struct Program {
    /// How arguments become parameters.
    pub entry: Entry,
    /// Where the parameters go.
    pub layout: Layout,
    /// What the pipeline binds.
    pub group: wgpu::BindGroupLayout,
    /// The pipeline.
    pub pipeline: wgpu::ComputePipeline,
    /// Whether it notes traps.
    pub traps: bool,
    /// What it was made of, if that is known.
    pub origin: Option<Arc<Origin>>,
}

/// What is needed to make programs.
pub struct Maker<'a> {
    /// The device.
    pub device: &'a wgpu::Device,
    /// Its state.
    pub health: &'a Health,
    /// What kernels were made legal for.
    pub caps: &'a Caps,
    /// The driver's cache of pipelines.
    pub cache: Option<&'a wgpu::PipelineCache>,
    /// Whether guards against wrong accesses stay.
    pub checked: bool,
}

impl Maker<'_> {
    /// Makes a program of each kernel.
    ///
    /// Each is a module of its own: fragments ask for another memory model, and for a version of SPIR-V, that hold for a whole module, and kernels
    /// without any must not be held to these.
    pub fn programs(&self, compiled: &Compiled) -> Result<Vec<Program>, Vec<Diagnostic>> {
        let mut errors = vec![];
        let mut programs = vec![];
        for entry in &compiled.entries {
            match self.kernel(compiled, entry) {
                Ok(program) => programs.push(program),
                Err(found) => errors.extend(found),
            }
        }
        if errors.is_empty() { Ok(programs) } else { Err(errors) }
    }

    fn kernel(&self, compiled: &Compiled, entry: &Entry) -> Result<Program, Vec<Diagnostic>> {
        // Strict kernels go to the driver as SPIR-V.
        let strict = !emit::IN_A_PAGE && self.caps.has(Feature::StrictFloats);
        let shader = render_module(&compiled.module, &[entry.kernel], Options { caps: self.caps, strict })?;
        let one = |error: Diagnostic| vec![error];
        let info = emit::validate(&shader).map_err(one)?;
        let module = self.module(&shader, &info, strict).map_err(one)?;
        let program = self.program(&module, &shader.kernels[0], entry);
        // A driver's compiler knows no lines: the kernel is all that can be pointed at.
        program.map_err(|error| one(error.label(entry.source.span, "in this kernel")))
    }

    fn module(&self, shader: &Shader, info: &ModuleInfo, strict: bool) -> Result<wgpu::ShaderModule, Diagnostic> {
        if strict {
            let words = emit::spirv(shader, info, self.guards())?;
            let entry = |k: &Kernel| wgpu::PassthroughShaderEntryPoint {
                name: Cow::Owned(k.entry.clone()),
                workgroup_size: k.workgroup.into(),
            };
            let descriptor = wgpu::ShaderModuleDescriptorPassthrough {
                label: None,
                entry_points: shader.kernels.iter().map(entry).collect::<Vec<_>>().into(),
                spirv: Some(Cow::Owned(words)),
                ..Default::default()
            };
            return self.health.run(self.device, || {
                // SAFETY: the words are naga's own SPIR-V for a module that naga has validated, with decorations added.
                Ok(unsafe { self.device.create_shader_module_passthrough(descriptor) })
            });
        }
        let descriptor = wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Naga(Cow::Owned(shader.module.clone())),
        };
        let unchecked = wgpu::ShaderRuntimeChecks::unchecked();
        let checks = match self.guards() {
            Guards::All => wgpu::ShaderRuntimeChecks::checked(),
            Guards::Arrays => wgpu::ShaderRuntimeChecks { bounds_checks: true, ..unchecked },
            Guards::None => unchecked,
        };
        self.health.run(self.device, || {
            // SAFETY: that a kernel stays inside of its buffers and ends is the promise of whoever loads it without
            // `checked`, as for every compiled language.
            Ok(unsafe { self.device.create_shader_module_trusted(descriptor, checks) })
        })
    }

    fn guards(&self) -> Guards {
        match self.checked {
            true => Guards::All,
            // Software keeps shared memory among its own.
            false if self.caps.rolled => Guards::Arrays,
            false => Guards::None,
        }
    }

    fn program(&self, module: &wgpu::ShaderModule, kernel: &Kernel, entry: &Entry) -> Result<Program, Diagnostic> {
        self.health.run(self.device, || {
            let entries = bindings(&kernel.layout);
            let group = self
                .device
                .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
            let layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&group)],
                immediate_size: 0,
            });
            // It is the only one. On its way into a browser the module is written as WGSL, in which its name may be another.
            let entry_point = (!cfg!(target_arch = "wasm32")).then_some(&*kernel.entry);
            let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(&kernel.entry),
                layout: Some(&layout),
                module,
                entry_point,
                compilation_options: wgpu::PipelineCompilationOptions {
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: self.cache,
            });
            let traps = entry.slots.contains(&girih_lower::Slot::Traps);
            Ok(Program { entry: entry.clone(), layout: kernel.layout.clone(), group, pipeline, traps, origin: None })
        })
    }
}

fn bindings(layout: &Layout) -> Vec<wgpu::BindGroupLayoutEntry> {
    let entry = |binding, ty, has_dynamic_offset| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
        count: None,
    };
    let storage = (0..)
        .zip(&layout.bindings)
        .map(|(i, b)| entry(i, wgpu::BufferBindingType::Storage { read_only: b.readonly }, false));
    let uniform = layout.uniform().map(|i| entry(i, wgpu::BufferBindingType::Uniform, true));
    storage.chain(uniform).collect()
}

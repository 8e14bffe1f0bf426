//! Pictures on the GPU, as textures that came from the host or as buffers that a kernel has filled, and the pipelines that draw them.

use girih::devices::SharedBuffer;
use girih::render::{Pixel, Size};
use std::sync::Arc;

/// Draws pictures into targets of one format.
pub struct Blit {
    textures: Way,
    buffers: Way,
    sampler: wgpu::Sampler,
    texture_format: wgpu::TextureFormat,
    /// Whether the target encodes colours.
    is_light: bool,
}

/// How pictures of one kind are drawn.
struct Way {
    pipeline: wgpu::RenderPipeline,
    layout: wgpu::BindGroupLayout,
}

/// A picture on the GPU.
pub struct Picture {
    size: Size,
    source: Source,
    place: wgpu::Buffer,
    bindings: wgpu::BindGroup,
}

/// What a picture is.
enum Source {
    Texture(wgpu::Texture),
    /// Held as long as it is drawn, so that no painter uses it meanwhile.
    Buffer {
        _held: Arc<SharedBuffer>,
    },
}

/// Bytes of the shader's `Place`.
const PLACE: u64 = 24;

impl Blit {
    /// Pipelines for targets of this format.
    pub fn new(device: &wgpu::Device, target: wgpu::TextureFormat) -> Blit {
        let shader = device.create_shader_module(wgpu::include_wgsl!("../../shaders/blit.wgsl"));
        // Enlarged pixels stay squares.
        let sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("picture"),
            mag_filter: wgpu::FilterMode::Nearest,
            min_filter: wgpu::FilterMode::Linear,
            ..wgpu::SamplerDescriptor::default()
        });
        // Colours go to the display as they are: decoded here if and only if the target encodes them again.
        let is_light = target.is_srgb();
        let texture_format =
            if is_light { wgpu::TextureFormat::Rgba8UnormSrgb } else { wgpu::TextureFormat::Rgba8Unorm };
        Blit {
            textures: Way::new(device, &shader, "colour_of_texture", target, &[texture_entry(), sampler_entry()]),
            buffers: Way::new(device, &shader, "colour_of_buffer", target, &[buffer_entry()]),
            sampler,
            texture_format,
            is_light,
        }
    }

    /// Puts pixels of the host into `picture`, which is made anew if its size differs.
    pub fn upload(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        picture: &mut Option<Picture>,
        size: Size,
        pixels: &[Pixel],
    ) {
        let fits = |picture: &Picture| picture.size == size && matches!(picture.source, Source::Texture(_));
        if !picture.as_ref().is_some_and(fits) {
            *picture = Some(self.texture(device, size));
        }
        let Some(Picture { source: Source::Texture(texture), .. }) = picture else { return };
        let rows = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(4 * size.width()),
            rows_per_image: Some(size.height()),
        };
        queue.write_texture(texture.as_image_copy(), pixels.as_flattened(), rows, texture.size());
    }

    /// A picture whose pixels are in a buffer of the same device.
    pub fn buffer(&self, device: &wgpu::Device, size: Size, buffer: &Arc<SharedBuffer>) -> Picture {
        let pixels = wgpu::BufferBinding {
            buffer: buffer.raw(),
            offset: 0,
            size: std::num::NonZeroU64::new(4 * u64::from(size.pixels())),
        };
        let entries = [wgpu::BindGroupEntry { binding: 3, resource: wgpu::BindingResource::Buffer(pixels) }];
        let (place, bindings) = self.buffers.bind(device, &entries);
        Picture { size, source: Source::Buffer { _held: Arc::clone(buffer) }, place, bindings }
    }

    fn texture(&self, device: &wgpu::Device, size: Size) -> Picture {
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: wgpu::Extent3d { width: size.width(), height: size.height(), depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: self.texture_format,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let entries = [
            wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::TextureView(&view) },
            wgpu::BindGroupEntry { binding: 2, resource: wgpu::BindingResource::Sampler(&self.sampler) },
        ];
        let (place, bindings) = self.textures.bind(device, &entries);
        Picture { size, source: Source::Texture(texture), place, bindings }
    }

    /// Draws pictures over each other, each as large as fits into a window of this size.
    pub fn draw<'a>(
        &self,
        queue: &wgpu::Queue,
        pass: &mut wgpu::RenderPass<'_>,
        pictures: impl IntoIterator<Item = &'a Picture>,
        (width, height): (u32, u32),
    ) {
        for picture in pictures {
            let size = picture.size;
            let (x, y) = (width as f32 / size.width() as f32, height as f32 / size.height() as f32);
            // The part of the window that a picture covers which keeps its proportions.
            let scale = x.min(y);
            let words = [
                (scale / x).to_bits(),
                (scale / y).to_bits(),
                size.width(),
                size.height(),
                u32::from(scale < 1.0),
                u32::from(self.is_light),
            ];
            queue.write_buffer(&picture.place, 0, words.map(u32::to_le_bytes).as_flattened());
            let way = match picture.source {
                Source::Texture(_) => &self.textures,
                Source::Buffer { .. } => &self.buffers,
            };
            pass.set_pipeline(&way.pipeline);
            pass.set_bind_group(0, &picture.bindings, &[]);
            pass.draw(0..4, 0..1);
        }
    }
}

impl Way {
    fn new(
        device: &wgpu::Device,
        shader: &wgpu::ShaderModule,
        colour: &str,
        target: wgpu::TextureFormat,
        source: &[wgpu::BindGroupLayoutEntry],
    ) -> Way {
        let entries: Vec<_> = std::iter::once(place_entry()).chain(source.iter().copied()).collect();
        let layout = device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("picture"), entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("blit"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some("blit"),
            layout: Some(&pipeline_layout),
            vertex: wgpu::VertexState {
                module: shader,
                entry_point: Some("corner"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                buffers: &[],
            },
            primitive: wgpu::PrimitiveState {
                topology: wgpu::PrimitiveTopology::TriangleStrip,
                ..wgpu::PrimitiveState::default()
            },
            depth_stencil: None,
            multisample: wgpu::MultisampleState::default(),
            fragment: Some(wgpu::FragmentState {
                module: shader,
                entry_point: Some(colour),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                targets: &[Some(wgpu::ColorTargetState {
                    format: target,
                    blend: Some(wgpu::BlendState::ALPHA_BLENDING),
                    write_mask: wgpu::ColorWrites::ALL,
                })],
            }),
            multiview_mask: None,
            cache: None,
        });
        Way { pipeline, layout }
    }

    /// A place in the window, and what is bound to draw there.
    fn bind(&self, device: &wgpu::Device, source: &[wgpu::BindGroupEntry<'_>]) -> (wgpu::Buffer, wgpu::BindGroup) {
        let place = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("place"),
            size: PLACE,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let first = wgpu::BindGroupEntry { binding: 0, resource: place.as_entire_binding() };
        let entries: Vec<_> = std::iter::once(first).chain(source.iter().cloned()).collect();
        let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("picture"),
            layout: &self.layout,
            entries: &entries,
        });
        (place, bindings)
    }
}

fn entry(binding: u32, visibility: wgpu::ShaderStages, ty: wgpu::BindingType) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None }
}

fn place_entry() -> wgpu::BindGroupLayoutEntry {
    let uniform = wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Uniform,
        has_dynamic_offset: false,
        min_binding_size: None,
    };
    entry(0, wgpu::ShaderStages::VERTEX_FRAGMENT, uniform)
}

fn texture_entry() -> wgpu::BindGroupLayoutEntry {
    let texture = wgpu::BindingType::Texture {
        sample_type: wgpu::TextureSampleType::Float { filterable: true },
        view_dimension: wgpu::TextureViewDimension::D2,
        multisampled: false,
    };
    entry(1, wgpu::ShaderStages::FRAGMENT, texture)
}

fn sampler_entry() -> wgpu::BindGroupLayoutEntry {
    entry(2, wgpu::ShaderStages::FRAGMENT, wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering))
}

fn buffer_entry() -> wgpu::BindGroupLayoutEntry {
    let storage = wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Storage { read_only: true },
        has_dynamic_offset: false,
        min_binding_size: None,
    };
    entry(3, wgpu::ShaderStages::FRAGMENT, storage)
}

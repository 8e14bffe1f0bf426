//! Pictures on the GPU: textures, and the pipeline that draws them.

use girih::render::{Frame, Size};

/// Draws pictures into targets of one format.
pub struct Blit {
    pipeline: wgpu::RenderPipeline,
    layout: wgpu::BindGroupLayout,
    sampler: wgpu::Sampler,
    texture_format: wgpu::TextureFormat,
}

/// A picture on the GPU.
pub struct Picture {
    size: Size,
    texture: wgpu::Texture,
    cover: wgpu::Buffer,
    bindings: wgpu::BindGroup,
}

impl Blit {
    /// A pipeline for targets of this format.
    pub fn new(device: &wgpu::Device, target: wgpu::TextureFormat) -> Blit {
        let shader = device.create_shader_module(wgpu::include_wgsl!("../../shaders/blit.wgsl"));
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("picture"),
            entries: &bindings(),
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("blit"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some("blit"),
            layout: Some(&pipeline_layout),
            vertex: wgpu::VertexState {
                module: &shader,
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
                module: &shader,
                entry_point: Some("colour"),
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
        // Enlarged pixels stay squares.
        let sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("picture"),
            mag_filter: wgpu::FilterMode::Nearest,
            min_filter: wgpu::FilterMode::Linear,
            ..wgpu::SamplerDescriptor::default()
        });
        // Colours go to the display as they are: decoded here if and only if the target encodes them again.
        let texture_format =
            if target.is_srgb() { wgpu::TextureFormat::Rgba8UnormSrgb } else { wgpu::TextureFormat::Rgba8Unorm };
        Blit { pipeline, layout, sampler, texture_format }
    }

    /// Puts a frame into `picture`, which is made anew if its size differs.
    pub fn upload(&self, device: &wgpu::Device, queue: &wgpu::Queue, picture: &mut Option<Picture>, frame: &Frame) {
        if picture.as_ref().is_none_or(|picture| picture.size != frame.size) {
            *picture = Some(self.picture(device, frame.size));
        }
        let Some(picture) = picture else { return };
        let rows = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(4 * frame.size.width()),
            rows_per_image: Some(frame.size.height()),
        };
        queue.write_texture(picture.texture.as_image_copy(), frame.bytes(), rows, picture.texture.size());
    }

    fn picture(&self, device: &wgpu::Device, size: Size) -> Picture {
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
        let cover = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("cover"),
            size: 16,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("picture"),
            layout: &self.layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: cover.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::TextureView(&view) },
                wgpu::BindGroupEntry { binding: 2, resource: wgpu::BindingResource::Sampler(&self.sampler) },
            ],
        });
        Picture { size, texture, cover, bindings }
    }

    /// Draws pictures over each other, each as large as fits into a window of this size.
    pub fn draw<'a>(
        &self,
        queue: &wgpu::Queue,
        pass: &mut wgpu::RenderPass<'_>,
        pictures: impl IntoIterator<Item = &'a Picture>,
        (width, height): (u32, u32),
    ) {
        pass.set_pipeline(&self.pipeline);
        for picture in pictures {
            let [x, y] = cover(picture.size, width, height);
            let bytes: Vec<u8> = [x, y, 0.0, 0.0].into_iter().flat_map(f32::to_le_bytes).collect();
            queue.write_buffer(&picture.cover, 0, &bytes);
            pass.set_bind_group(0, &picture.bindings, &[]);
            pass.draw(0..4, 0..1);
        }
    }
}

fn bindings() -> [wgpu::BindGroupLayoutEntry; 3] {
    let entry = |binding, visibility, ty| wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None };
    let uniform = wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Uniform,
        has_dynamic_offset: false,
        min_binding_size: None,
    };
    let texture = wgpu::BindingType::Texture {
        sample_type: wgpu::TextureSampleType::Float { filterable: true },
        view_dimension: wgpu::TextureViewDimension::D2,
        multisampled: false,
    };
    let sampler = wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering);
    [
        entry(0, wgpu::ShaderStages::VERTEX, uniform),
        entry(1, wgpu::ShaderStages::FRAGMENT, texture),
        entry(2, wgpu::ShaderStages::FRAGMENT, sampler),
    ]
}

/// The part of a window, in each direction, that a picture covers which keeps its proportions.
fn cover(size: Size, width: u32, height: u32) -> [f32; 2] {
    let (x, y) = (width as f32 / size.width() as f32, height as f32 / size.height() as f32);
    let scale = x.min(y);
    [scale / x, scale / y]
}

//! The GPU behind the window: found, configured, and replaced when it is lost. Shaders may run on it, too: then their pictures are drawn from where they were
//! painted.

use crate::Failure;
use crate::blit::{Blit, Picture};
use girih::devices::{Context, Selector, instance_for, open_for};
use girih::render::{self, Frame, Pixels};
use std::sync::Arc;
use winit::event_loop::OwnedDisplayHandle;
use winit::window::Window;

/// What is drawn behind the pictures.
const BACKGROUND: wgpu::Color = wgpu::Color { r: 0.005, g: 0.005, b: 0.008, a: 1.0 };

/// A device that draws into a window.
pub struct Gpu {
    window: Arc<Window>,
    instance: wgpu::Instance,
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    context: Context,
    blit: Blit,
    picture: Option<Picture>,
    overlay: Option<Picture>,
    /// How many pictures have come from the host.
    copied: u64,
}

/// What came of drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// The picture is on the way to the window.
    Shown,
    /// The window cannot be seen, or was not ready: nothing was drawn.
    Skipped,
    /// The window has changed meanwhile: draw again.
    Again,
    /// The device cannot be used any more: make a new one.
    Broken,
}

impl Gpu {
    /// Finds a device for the window: the one that is wanted, if it can draw there.
    pub fn new(window: Arc<Window>, display: OwnedDisplayHandle, wanted: Option<&Selector>) -> Result<Gpu, Failure> {
        let no_device = |error: &dyn std::fmt::Display| {
            let advice = "`--headless` writes pictures without a GPU";
            Failure::NoDevice(format!("error: nothing can be drawn into the window: {error}\n{advice}"))
        };
        let instance = instance_for(Box::new(display));
        let surface = instance.create_surface(Arc::clone(&window)).map_err(|error| no_device(&error))?;
        let context = open_for(&instance, &surface, wanted).map_err(|error| no_device(&error.message))?;
        let config =
            configuration(&surface, context.adapter()).ok_or_else(|| no_device(&"the GPU offers no format for it"))?;
        let blit = Blit::new(context.device(), config.format);
        let mut gpu = Gpu { window, instance, surface, config, context, blit, picture: None, overlay: None, copied: 0 };
        gpu.resize();
        Ok(gpu)
    }

    /// The device, on which shaders can run, too.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// How many pictures have come from the host.
    pub fn copied(&self) -> u64 {
        self.copied
    }

    /// The largest side of a picture.
    pub fn largest_side(&self) -> u32 {
        self.context.device().limits().max_texture_dimension_2d
    }

    /// The picture from here on; none for an empty window. Neither side may be larger than the largest one.
    pub fn set_picture(&mut self, picture: Option<&render::Picture>) {
        let (device, queue) = (self.context.device(), self.context.queue());
        match picture {
            None => self.picture = None,
            Some(render::Picture { size, pixels: Pixels::Device(buffer), .. }) => {
                self.picture = Some(self.blit.buffer(device, *size, buffer));
            }
            Some(render::Picture { size, pixels: Pixels::Host(pixels), .. }) => {
                self.blit.upload(device, queue, &mut self.picture, *size, pixels);
                self.copied += 1;
            }
        }
    }

    /// What is drawn over the picture from here on.
    pub fn set_overlay(&mut self, frame: Option<&Frame>) {
        match frame {
            Some(Frame { size, pixels, .. }) => {
                let (device, queue) = (self.context.device(), self.context.queue());
                self.blit.upload(device, queue, &mut self.overlay, *size, pixels);
            }
            None => self.overlay = None,
        }
    }

    /// Follows the size of the window.
    pub fn resize(&mut self) {
        let size = self.window.inner_size();
        let largest = self.largest_side();
        self.config.width = size.width.min(largest);
        self.config.height = size.height.min(largest);
        self.configure();
    }

    /// A minimised window has no pixels, and a surface without pixels cannot be configured.
    fn is_empty(&self) -> bool {
        self.config.width == 0 || self.config.height == 0
    }

    fn configure(&self) {
        if !self.is_empty() {
            self.surface.configure(self.context.device(), &self.config);
        }
    }

    /// Draws the window.
    pub fn draw(&mut self) -> Drawn {
        if let Err(error) = self.context.check() {
            eprintln!("the GPU cannot be used any more: {}", error.message);
            return Drawn::Broken;
        }
        if self.is_empty() {
            return Drawn::Skipped;
        }
        use wgpu::CurrentSurfaceTexture as Current;
        match self.surface.get_current_texture() {
            Current::Success(target) => {
                self.draw_into(target);
                Drawn::Shown
            }
            Current::Suboptimal(target) => {
                self.draw_into(target);
                self.configure();
                Drawn::Shown
            }
            Current::Timeout | Current::Occluded => Drawn::Skipped,
            Current::Outdated => {
                self.configure();
                Drawn::Again
            }
            Current::Lost => match self.instance.create_surface(Arc::clone(&self.window)) {
                Ok(surface) => {
                    self.surface = surface;
                    self.configure();
                    Drawn::Again
                }
                Err(_) => Drawn::Broken,
            },
            Current::Validation => Drawn::Broken,
        }
    }

    fn draw_into(&self, target: wgpu::SurfaceTexture) {
        let (device, queue) = (self.context.device(), self.context.queue());
        let view = target.texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("window"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(BACKGROUND), store: wgpu::StoreOp::Store },
            })],
            ..wgpu::RenderPassDescriptor::default()
        });
        let pictures = self.picture.iter().chain(&self.overlay);
        self.blit.draw(queue, &mut pass, pictures, (self.config.width, self.config.height));
        drop(pass);
        queue.submit([encoder.finish()]);
        self.window.pre_present_notify();
        queue.present(target);
    }
}

/// How the window's surface is used; none if the adapter has no format for it. An sRGB format is preferred, in which
/// reduced pictures are averaged as light.
fn configuration(surface: &wgpu::Surface<'_>, adapter: &wgpu::Adapter) -> Option<wgpu::SurfaceConfiguration> {
    let capabilities = surface.get_capabilities(adapter);
    let mut config = surface.get_default_config(adapter, 1, 1)?;
    if let Some(format) = capabilities.formats.iter().copied().find(wgpu::TextureFormat::is_srgb) {
        config.format = format;
    }
    config.present_mode = wgpu::PresentMode::AutoVsync;
    Some(config)
}

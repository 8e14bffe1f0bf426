//! The GPU behind the window: found, configured, and replaced when it is lost.

use crate::Failure;
use crate::blit::{Blit, Picture};
use girih::render::Frame;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    device: wgpu::Device,
    queue: wgpu::Queue,
    blit: Blit,
    picture: Option<Picture>,
    overlay: Option<Picture>,
    /// Raised when the device is lost or has refused something.
    broken: Arc<AtomicBool>,
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
    /// Finds a device for the window.
    pub fn new(window: Arc<Window>, display: OwnedDisplayHandle) -> Result<Gpu, Failure> {
        let no_device = |what: &str, error: &dyn std::fmt::Display| {
            let advice = "`--headless` writes pictures without a GPU";
            Failure::NoDevice(format!("error: {what}: {error}\n{advice}"))
        };
        let instance =
            wgpu::Instance::new(wgpu::InstanceDescriptor::new_with_display_handle_from_env(Box::new(display)));
        let surface = instance
            .create_surface(Arc::clone(&window))
            .map_err(|error| no_device("nothing can be drawn into the window", &error))?;
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions {
            compatible_surface: Some(&surface),
            ..wgpu::RequestAdapterOptions::default()
        }))
        .map_err(|error| no_device("there is no GPU that can draw into the window", &error))?;
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            required_limits: wgpu::Limits::downlevel_defaults().using_resolution(adapter.limits()),
            ..wgpu::DeviceDescriptor::default()
        }))
        .map_err(|error| no_device("the GPU cannot be used", &error))?;
        let broken = watch(&device);
        let config = configuration(&surface, &adapter)
            .ok_or_else(|| no_device("the GPU cannot draw into the window", &"it offers no format for it"))?;
        let blit = Blit::new(&device, config.format);
        let mut gpu =
            Gpu { window, instance, surface, config, device, queue, blit, picture: None, overlay: None, broken };
        gpu.resize();
        Ok(gpu)
    }

    /// The largest side of a picture.
    pub fn largest_side(&self) -> u32 {
        self.device.limits().max_texture_dimension_2d
    }

    /// The picture from here on; none for an empty window. Neither side may be larger than the largest one.
    pub fn set_picture(&mut self, frame: Option<&Frame>) {
        Gpu::set(&self.device, &self.queue, &self.blit, &mut self.picture, frame);
    }

    /// What is drawn over the picture from here on.
    pub fn set_overlay(&mut self, frame: Option<&Frame>) {
        Gpu::set(&self.device, &self.queue, &self.blit, &mut self.overlay, frame);
    }

    fn set(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        blit: &Blit,
        picture: &mut Option<Picture>,
        frame: Option<&Frame>,
    ) {
        match frame {
            Some(frame) => blit.upload(device, queue, picture, frame),
            None => *picture = None,
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
            self.surface.configure(&self.device, &self.config);
        }
    }

    /// Draws the window.
    pub fn draw(&mut self) -> Drawn {
        if self.broken.load(Ordering::Relaxed) {
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
        let view = target.texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
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
        self.blit.draw(&self.queue, &mut pass, pictures, (self.config.width, self.config.height));
        drop(pass);
        self.queue.submit([encoder.finish()]);
        self.window.pre_present_notify();
        self.queue.present(target);
    }
}

/// Notices when the device is lost or refuses something; without this, wgpu would panic.
fn watch(device: &wgpu::Device) -> Arc<AtomicBool> {
    let broken = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&broken);
    device.set_device_lost_callback(move |reason, message| {
        // A device that is dropped is reported as lost too.
        if reason != wgpu::DeviceLostReason::Destroyed && !raised.swap(true, Ordering::Relaxed) {
            eprintln!("the GPU was lost: {message}");
        }
    });
    let raised = Arc::clone(&broken);
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        if !raised.swap(true, Ordering::Relaxed) {
            eprintln!("the GPU refused something: {error}");
        }
    }));
    broken
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

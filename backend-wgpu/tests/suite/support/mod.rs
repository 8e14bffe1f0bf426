//! What the tests of this crate share: modules from text, the machine's software adapter, and the interpreter as the oracle.

#![allow(dead_code)] // Each test file uses a part.

pub mod table;
pub mod validators;

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::{SourceId, Span};
use girih_ir::{Caps, Module, Verified, text, verify};
use girih_runtime::{Argument, Buffer, Command, Constant, Device, Dispatch, Grid, LoadOptions, Memory, Program};
use girih_wgpu::{Settings, open_with};

/// A verified module from its text.
pub fn module(source: &str) -> Verified<Module> {
    let parsed = text::parse(SourceId::new(0), source).unwrap_or_else(|e| panic!("{}", said(source, &e)));
    verify(parsed.module).unwrap_or_else(|e| panic!("{}", said(source, &e)))
}

/// Errors with the text that they are about.
pub fn said(source: &str, errors: &[Diagnostic]) -> String {
    let line = |d: &Diagnostic| {
        let span = d.span();
        let place = if span.is_none() { "" } else { source.get(span.start as usize..span.end as usize).unwrap_or("") };
        format!("{} {}: `{place}`", d.code, d.message)
    };
    errors.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The adapter on which tests run: the one that `GIRIH_WGPU_ADAPTER` names, otherwise Mesa's software adapter. None, with a note on
/// standard error, if there is none; an error if `GIRIH_REQUIRE_WGPU` is set.
pub fn gpu(profile: Option<Caps>) -> Option<Device> {
    gpu_with(Settings { profile, ..Settings::default() })
}

/// The same with all settings.
pub fn gpu_with(settings: Settings) -> Option<Device> {
    let selector = std::env::var("GIRIH_WGPU_ADAPTER").unwrap_or_else(|_| "lavapipe".into());
    match open_with(&selector, &settings) {
        Ok(gpu) => Some(Device::new(gpu)),
        Err(error) if error.code == Code::NoDevice => {
            eprintln!("{}", error.message);
            girih_workbench::missing(&format!("adapter `{selector}` for wgpu"), "GIRIH_REQUIRE_WGPU");
            None
        }
        Err(error) => panic!("{}: {} ({:?})", error.code, error.message, error.hint),
    }
}

/// Runs a test on the adapter as it is, held to WebGPU's defaults, and without our own strict SPIR-V.
pub fn on_all(test: impl Fn(&Device)) {
    let web = Settings { profile: Some(Caps::web()), ..Settings::default() };
    let loose = Settings { strict: false, ..Settings::default() };
    for settings in [Settings::default(), web, loose] {
        if let Some(gpu) = gpu_with(settings) {
            test(&gpu);
        }
    }
}

/// Loads all kernels of a text, in its order.
pub fn load(device: &Device, source: &str) -> Vec<Program> {
    let module = module(source);
    let kernels: Vec<_> = module.kernels().collect();
    let loaded = device.load(&module, &kernels, &LoadOptions::default());
    loaded.unwrap_or_else(|e| panic!("{}", said(source, &e)))
}

/// A buffer with these words.
pub fn words(device: &Device, words: &[u32]) -> Buffer {
    let bytes = words.len() as u64 * 4;
    let buffer = device.zeroed(Memory::of(bytes)).unwrap();
    device.write(&buffer, 0, bytemuck::cast_slice(words)).unwrap();
    buffer
}

/// The first words of a buffer.
pub fn read(device: &Device, buffer: &Buffer, count: usize) -> Vec<u32> {
    let mut words = vec![0; count];
    device.read(buffer, 0, bytemuck::cast_slice_mut(&mut words)).unwrap();
    words
}

/// A `u32` argument.
pub fn number(n: u32) -> Argument {
    Argument::Scalar(Constant { ty: girih_ir::Type::U32, bits: n.into() })
}

/// A dispatch.
pub fn dispatch(program: &Program, grid: [u32; 3], arguments: &[Argument]) -> Command {
    Command::Dispatch(Dispatch {
        program: program.clone(),
        arguments: arguments.to_vec(),
        grid: Grid::Workgroups(grid),
    })
}

/// Runs commands to their end.
pub fn run(device: &Device, commands: &[Command]) {
    device.submit(commands).unwrap_or_else(|e| panic!("{}: {}", e.code, e.message));
    device.wait().unwrap_or_else(|e| panic!("{}: {}", e.code, e.message));
}

/// The place of nothing.
pub const NOWHERE: Span = Span::NONE;

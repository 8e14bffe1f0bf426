//! Pictures of image shaders, as bytes.

use crate::error::{exception, wrong};
use crate::host_memory::HostMemory;
use girih::devices::Selector;
use girih::render::{Frame, RenderOptions, Renderer, Shader, Size, png_bytes};
use girih::{Program, RunDevice};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long nobody looks whether a picture is done, or Ctrl-C was pressed.
const GLANCE: Duration = Duration::from_millis(1);

/// A picture of a shader at a time in seconds: width, height, and four bytes (red, green, blue, opacity) for each pixel, row after row.
///
/// The program is the text; without it, the file `name`.
#[pyfunction]
#[pyo3(signature = (name, text = None, size = None, time = 0.0, device = None))]
pub(crate) fn render<'py>(
    py: Python<'py>,
    name: &str,
    text: Option<&str>,
    size: Option<(u32, u32)>,
    time: f32,
    device: Option<&str>,
) -> PyResult<(u32, u32, Bound<'py, PyBytes>)> {
    let size = size.map(|(width, height)| sized(width, height)).transpose()?;
    let device = RunDevice::from(Selector::parse(device.unwrap_or("auto")).map_err(exception)?);
    let interrupt = Arc::new(AtomicBool::new(false));
    let options = RenderOptions { size, device, interrupt: Some(interrupt.clone()), ..RenderOptions::default() };
    let open = || {
        let program = match text {
            Some(text) => Program::from_text(name, text, &Shader::options()),
            None => Program::open(name, &Shader::options()),
        };
        Shader::new(&program)?.renderer(&options)
    };
    let mut renderer: Renderer = py.detach(open).map_err(exception)?;
    renderer.submit(time);
    let picture = loop {
        if let Some(picture) = renderer.poll() {
            break picture.map_err(exception)?;
        }
        py.detach(|| std::thread::sleep(GLANCE));
        if let Err(stopped) = py.check_signals() {
            // The painter ends before the exception goes on.
            interrupt.store(true, Ordering::Relaxed);
            let _ = py.detach(|| renderer.wait());
            return Err(stopped);
        }
    };
    let frame = py.detach(|| picture.into_frame()).map_err(exception)?;
    Ok((frame.size.width(), frame.size.height(), PyBytes::new(py, frame.bytes())))
}

/// The bytes of a PNG file with such a picture.
#[pyfunction]
pub(crate) fn png<'py>(
    py: Python<'py>,
    width: u32,
    height: u32,
    pixels: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (size, memory) = (sized(width, height)?, HostMemory::of(pixels)?);
    let (pixels, rest) = memory.bytes().as_chunks();
    if pixels.len() != size.pixels() as usize || !rest.is_empty() {
        let given = memory.bytes().len();
        return Err(wrong(
            format!("a picture of {width} x {height} pixels has four bytes for each, not {given}"),
            None,
        ));
    }
    let frame = Frame { size, pixels: pixels.to_vec(), cells: 0, evaluation: Duration::ZERO };
    let bytes = py.detach(|| png_bytes(&frame)).map_err(exception)?;
    Ok(PyBytes::new(py, &bytes))
}

fn sized(width: u32, height: u32) -> PyResult<Size> {
    Size::checked(width, height).map_err(|message| wrong(message, None))
}

//! Tensors: arrays of numbers on a device, with derivatives, modules and optimisers. The page `docs/tensors.md` shows how they are used.
//!
//! ```
//! use girih::devices::Selector;
//! use girih::tensor;
//!
//! let device = tensor::open(&Selector::Cpu)?;
//! let x = device.tensor(&[1.0_f32, 2.0, 3.0, 4.0], [2, 2]);
//! let y = (x.matmul(&x) + 1.0).sum([0]);
//! assert_eq!(y.to_vec::<f32>()?, [24.0, 34.0]);
//! # Ok::<(), girih::Error>(())
//! ```

pub use girih_derive::Module;
pub use girih_nn::*;

use crate::atomic_file;
use crate::devices::{Selector, open_device};
use crate::error::Error;
use girih_base::span::Span;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};
use std::sync::{Mutex, PoisonError};

/// The devices that are open for tensors, by the names that they were opened with.
static OPENED: Mutex<Vec<(Selector, WeakDevice)>> = Mutex::new(vec![]);

/// Opens a device for tensors. One that is open by this name already is the same device, so its tensors can be combined; another name, as `auto`, is another device with
/// memory of its own.
///
/// ```
/// use girih::devices::Selector;
/// use girih::tensor;
///
/// let [x, y] = [1.0, 2.0].map(|number| tensor::open(&Selector::Cpu).map(|device| device.full(number, [2])));
/// assert_eq!((x? + y?).to_vec::<f32>()?, [3.0, 3.0]);
/// # Ok::<(), girih::Error>(())
/// ```
///
/// # Errors
/// If it is not there.
pub fn open(selector: &Selector) -> std::result::Result<Device, Error> {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    opened.retain(|(_, device)| device.upgrade().is_some());
    let known = opened.iter().find(|(name, _)| name == selector);
    if let Some(device) = known.and_then(|(_, device)| device.upgrade()) {
        return Ok(device);
    }
    let device = Device::new(open_device(selector, None)?);
    opened.push((selector.clone(), device.downgrade()));
    Ok(device)
}

/// Writes the parameters of a module into a file of the format safetensors, completely or not at all.
///
/// # Errors
/// What the device or the system says.
pub fn save(module: &impl nn::Module, path: impl AsRef<Path>) -> std::result::Result<(), Error> {
    let path = path.as_ref();
    let bytes = weights::to_bytes(module)?;
    Ok(atomic_file::write_bytes(path, bytes).map_err(|error| unusable("written", path, &error))?)
}

/// Gives a module the parameters of a file: all of them, or none.
///
/// # Errors
/// If the file cannot be read, or has not the parameters of such a module.
pub fn load(module: &impl nn::Module, path: impl AsRef<Path>) -> std::result::Result<(), Error> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|error| unusable("read", path, &error))?;
    Ok(weights::from_bytes(module, &bytes)?)
}

/// Opens a model of an ONNX file. Weights that large models keep in files beside it are read from there.
///
/// ```no_run
/// use girih::devices::Selector;
/// use girih::tensor;
///
/// let device = tensor::open(&Selector::Auto)?;
/// let model = tensor::open_onnx("resnet50.onnx")?;
/// let classes = model.run(&device, &[("input", &device.zeros([1, 3, 224, 224]))])?.remove(0);
/// # Ok::<(), girih::Error>(())
/// ```
///
/// # Errors
/// If a file cannot be read, or is no such model.
pub fn open_onnx(path: impl AsRef<Path>) -> std::result::Result<onnx::Model, Error> {
    let path = path.as_ref();
    let folder = path.parent().unwrap_or(Path::new(""));
    let bytes = std::fs::read(path).map_err(|error| unusable("read", path, &error))?;
    let mut external = |name: &str, from: u64, count: Option<u64>| beside(folder, name, from, count);
    Ok(onnx::Model::read(&bytes, &mut external)?)
}

/// Bytes of a file in a folder, or in one below it: a model cannot have the command read what is elsewhere.
fn beside(folder: &Path, name: &str, from: u64, count: Option<u64>) -> std::result::Result<Vec<u8>, String> {
    let relative = Path::new(name);
    if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(format!("its elements are in `{name}`, which is not beside the model"));
    }
    let path = folder.join(relative);
    let read = || {
        let mut file = File::open(&path)?;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = vec![];
        file.take(count.unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
        std::io::Result::Ok(bytes)
    };
    read().map_err(|error| format!("its elements in `{}` cannot be read: {error}", path.display()))
}

fn unusable(how: &str, path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::new(Code::TensorData, Span::NONE, format!("`{}` cannot be {how}: {error}", path.display()))
}
